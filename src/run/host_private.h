/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of host programs, for the files that implement them. */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "run/host_programs.h"

struct gt_host_ring {
	uint32_t map;
	struct ring_buffer *buffer;
	struct gt_host_ring_reader *reader;
};

/* Whom the records of a ring are for. */
struct gt_host_ring_reader {
	uint32_t map;
	unsigned count; /* of records in this round */
	void (*record)(void *context, uint32_t map, const void *data, uint32_t size);
	void *context;
};

struct gt_host_programs {
	struct gt_bpf_object *object;
	struct bpf_object *source;
	libbpf_print_fn_t printer; /* libbpf's previous one; it has one per process */
	bool *uses;                /* per map: host programs use it */
	int *arrays;               /* per map: descriptor, or -1 */
	char *log;                 /* of the kernel's verifier */
	bool multi;                /* programs of uprobes were prepared for uprobe_multi links */
	GT_VEC(struct bpf_link *) links;
	struct gt_host_uprobes *uprobes; /* beside a command */
	struct gt_diag late;             /* the first error of a late attachment */
	/* Rings that only host programs use, open after the first read. */
	GT_VEC(struct gt_host_ring) rings;
	bool rings_are_open;
};

static inline int gt_host_no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "linux", NULL, "out of memory");
}

/* Whether libbpf loads the program. */
static inline bool gt_host_is_wanted(const struct bpf_program *program)
{
	return bpf_program__autoload(program);
}

/* Whether Linux has a value for each CPU in such maps. */
static inline bool gt_host_is_per_cpu(const struct gt_bpf_map_kind *kind)
{
	return kind->host_type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       kind->host_type == BPF_MAP_TYPE_PERCPU_HASH ||
	       kind->host_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* host_maps.c: a map of the object, as libbpf has it. */
struct bpf_map *gt_host_find_map(const struct gt_host_programs *programs, uint32_t map);
/* Close the rings that were read. */
void gt_host_rings_close(struct gt_host_programs *programs);
