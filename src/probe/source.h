/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A source: something that can be enabled and then yields events. All sources are in one list
 * (src/probe/sources.c); the session opens the requested ones, and uses them by this interface
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/hash.h"
#include "event/event.h"
#include "event/queue.h"
#include "probe/filter.h"
#include "probe/options.h"

struct gt_condition;
struct gt_probe_cost;
struct gt_kernel_types;
struct gt_strbuf;
struct gt_target;
struct gt_hold;
struct gt_pythons;
struct gt_layer;
struct gt_unwind_maps;

/* The environment of a source. Owned by the session, valid until the source is closed. */
struct gt_host {
	int ring_fd;      /* BPF_MAP_TYPE_RINGBUF: records go there */
	int processes_fd; /* BPF_MAP_TYPE_HASH, __u32 process id -> __u8: see task.bpf.h */
	struct gt_pythons *pythons; /* the processes with an interpreter; NULL: not wanted */
	struct gt_unwind_maps *unwind_maps; /* NULL: the stack method needs none */
	struct gt_kernel_types *types;
	struct gt_filter filter;
	uint64_t wakeup_bytes; /* bytes in the ring at which BPF programs wake the reader */
	const struct gt_trace_options *options;
	const struct gt_target *target;
	const struct gt_condition *conditions; /* of calls; all must hold (probe/api/calls.h) */
	__u32 condition_count;                 /* at most GT_MAX_CONDITIONS */
	unsigned groups; /* of enabled API functions: bits of gt_api_group_bit */

	struct gt_event_queue *events; /* events from user space go there */
	const struct gt_hash *named;   /* processes with a `process` event: process id -> any */
	pid_t command;                 /* the process that the session started; 0: none */
	struct gt_hold *hold;          /* of the command; NULL: none */
};

/* Whether a process is traced, or was before it ended. */
bool gt_host_traces(const struct gt_host *host, __u32 process);

/*
 * Whether a traced process passes the rest of the filter now; true where that is not known, as
 * after its end.
 */
bool gt_host_passes(const struct gt_host *host, pid_t process);

/* The counts of a source: added to the session's account. */
struct gt_counts {
	uint64_t made;
	uint64_t complete; /* in `sums` events; those with records are counted as these pass */
	uint64_t unfinished;
	uint64_t lost;
	uint64_t filtered;
	uint64_t orphans;
	uint64_t entries_lost;
	uint64_t others_lost;
	uint64_t untraced; /* processes that are not traced, since the map was full */
};

struct gt_source {
	const char *name;    /* as in -e */
	const char *summary; /* one line */
	const char *needs;   /* what it needs of kernel and privileges, one line */
	/* The group of API functions that it traces; NULL: none. All such sources are opened as
	 * one. */
	const char *group;
	bool on_request;              /* -e all does not enable it */
	const struct gt_layer *layer; /* of a layer source (probe/layer.h); NULL: it is none */
	/* Check whether it can work here: 0, with what of it is optional and missing, if anything;
	 * or -Exxx with the reason and advice. */
	int (*check)(struct gt_kernel_types *types, struct gt_diag *diag);
	/* Load and attach. 0, and a state for `close`. */
	int (*open)(const struct gt_host *host, void **ret_state, struct gt_diag *diag);
	/* Add what it cannot show here, and why; may be NULL: it shows all. */
	void (*missing)(void *state, struct gt_strbuf *text);
	/* A descriptor that epoll can wait on for poll to have work; may be NULL. */
	int (*wait_on)(void *state);
	/* Called when that is readable, and before events that depend on it; may be NULL. */
	void (*poll)(void *state);
	/* Detach the probes; then no more records are written, and the counts are final. */
	void (*detach)(void *state);
	/*
	 * Detach the probes for a while, or attach them again; NULL: that would give wrong data,
	 * as of events that are paired. What happens meanwhile is not counted.
	 */
	void (*pause)(void *state, bool is_paused);
	/* Emit events that hold totals so far, such as `sums`. At any time; may be NULL. */
	void (*collect)(void *state);
	/* Add the counts so far. May be called at any time. */
	void (*count)(void *state, struct gt_counts *counts);
	/* Add what its probes cost so far; may be NULL: nothing. */
	void (*cost)(void *state, struct gt_probe_cost *cost);
	void (*close)(void *state);
};

#define GT_ALL_SOURCES "all" /* in -e: every source that works here */

/* All sources; *ret_count of them. The first one, "cuda", is the default of -e. */
const struct gt_source *const *gt_sources(size_t *ret_count);
/* NULL if there is none of that name. */
const struct gt_source *gt_source_find(const char *name);

extern const struct gt_source gt_source_cuda;
extern const struct gt_source gt_source_cublas;
extern const struct gt_source gt_source_opencl;
extern const struct gt_source gt_source_hip;
extern const struct gt_source gt_source_hiprtc;
extern const struct gt_source gt_source_rocblas;
extern const struct gt_source gt_source_miopen;
extern const struct gt_source gt_source_level_zero;
extern const struct gt_source gt_source_cudnn;
extern const struct gt_source gt_source_nccl;
extern const struct gt_source gt_source_process;
extern const struct gt_source gt_source_sched;
extern const struct gt_source gt_source_nvml;
extern const struct gt_source gt_source_fault;
extern const struct gt_source gt_source_block;
extern const struct gt_source gt_source_cgroup;
extern const struct gt_source gt_source_power;
extern const struct gt_source gt_source_fence;
extern const struct gt_source gt_source_drm;
extern const struct gt_source gt_source_i915;
extern const struct gt_source gt_source_xe;
extern const struct gt_source gt_source_amdgpu;
extern const struct gt_source gt_source_pcie;
extern const struct gt_source gt_source_vblank;
extern const struct gt_source gt_source_syscall;
extern const struct gt_source gt_source_nvidia;
extern const struct gt_source gt_source_nvlink;
