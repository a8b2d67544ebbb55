/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Graphs: work whose order is given by edges, launched as one. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <cuda.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "device/work.h"

struct CUgraphNode_st {
	CUgraph graph;
	struct sg_work work;
	GT_VEC(CUgraphNode) dependencies;
	CUgraphNode original; /* the node that this is a clone of, or NULL */
	bool enabled;         /* false: an executable graph skips its work */
	uint64_t id;
	/* For walks over the graph; meaningless between them. */
	size_t index;
	struct sg_operation *operation;
};

/* An object that graphs keep alive: cuUserObjectCreate. */
struct CUuserObject_st {
	void *object;
	CUhostFn destroy;
	unsigned int references;
};

struct sg_retained {
	CUuserObject object;
	unsigned int count;
};

struct CUgraph_st {
	GT_VEC(CUgraphNode) nodes; /* in the order of creation */
	GT_VEC(struct sg_retained) objects;
	GT_VEC(struct sg_condition *) conditions; /* references */
	CUgraph original;
	bool is_child; /* owned by a node: not the program's to destroy */
};

struct CUgraphExec_st {
	pthread_mutex_t lock; /* one launch at a time is put into streams */
	CUgraph graph;        /* a clone */
	unsigned long long flags;
	CUcontext context;
	GT_VEC(CUstream)
	lanes; /* streams for branches that run concurrently with the launching stream */
	struct sg_operation *last; /* the last operation of the last launch; a reference, or NULL */
};

CUgraph sg_graph_new(void);
/* Copy a graph. NULL: no memory. */
CUgraph sg_graph_clone(CUgraph graph);
/* Takes NULL. */
void sg_graph_free(CUgraph graph);
/*
 * Add a node, which takes over the work (it is cleared, also on failure). CUDA_ERROR_INVALID_VALUE:
 * a dependency is not of this graph.
 */
CUresult sg_graph_add(CUgraph graph, const CUgraphNode *dependencies, size_t count,
		      struct sg_work *work, CUgraphNode *ret_node);
/* Remove a node and its edges. */
void sg_node_free(CUgraphNode node);
/* Replace the work of a node, which takes it over. */
void sg_node_set(CUgraphNode node, struct sg_work *work);
CUresult sg_graph_connect(CUgraph graph, CUgraphNode from, CUgraphNode to);
CUresult sg_graph_disconnect(CUgraph graph, CUgraphNode from, CUgraphNode to);
/* Return the node of a clone that corresponds to a node of the original graph, or NULL. */
CUgraphNode sg_graph_find(CUgraph clone, CUgraphNode original);
/* Return whether a node depends on `other`, directly or not. */
bool sg_node_depends_on(CUgraphNode node, CUgraphNode other);
/*
 * Return the nodes in topological order; the caller frees the array. NULL: no memory, or a cycle
 * (*ret_cycle).
 */
CUgraphNode *sg_graph_sort(CUgraph graph, bool *ret_cycle);
/* Return the CUDA type of a node. */
CUgraphNodeType sg_node_type(const struct CUgraphNode_st *node);
/* Print the graph in the DOT language. */
void sg_graph_print(CUgraph graph, struct gt_strbuf *buffer);

CUresult sg_executable_new(CUgraph graph, unsigned long long flags, CUgraphExec *ret_executable);
/* Wait for its last launch, then free it. */
void sg_executable_free(CUgraphExec executable);
CUresult sg_executable_launch(CUgraphExec executable, CUstream stream);
/* Take over the work of the graph's nodes, if its topology is the same. */
CUresult sg_executable_update(CUgraphExec executable, CUgraph graph,
			      CUgraphExecUpdateResultInfo *ret_info);

/* Memory of a graph. */
CUresult sg_graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS *parameters,
			     struct sg_allocate_work *ret_allocation);
void sg_graph_memory_reference(struct sg_graph_memory *memory);
void sg_graph_memory_unreference(struct sg_graph_memory *memory);

CUresult sg_user_object_new(void *object, CUhostFn destroy, unsigned int references,
			    CUuserObject *ret_object);
void sg_user_object_release(CUuserObject object, unsigned int count);
