/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Layer sources: sources of the kernel's own events (system calls, PCIe, fences, DRM, drivers).
 * Each is a folder with a BPF object (layer.bpf.h) and a table of hooks; this file does the rest:
 * it attaches what the running kernel has, attaches hooks of modules that are loaded later,
 * explains what is missing, and counts.
 *
 * The events are kinds of event.def; src/layers/ has how they are shown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "probe/sample.h"
#include "probe/source.h"

struct bpf_object;

enum gt_hook_kind {
	GT_HOOK_TRACEPOINT,     /* a raw tracepoint: SEC("raw_tp") */
	GT_HOOK_TRACE_EVENT,    /* "group/name" of tracefs, with what it formats: SEC("tp") */
	GT_HOOK_BTF_TRACEPOINT, /* with typed arguments, built into the kernel: SEC("tp_btf") */
	GT_HOOK_ENTRY,          /* of a function: SEC("kprobe") */
	GT_HOOK_RETURN,         /* SEC("kretprobe") */
	/* Of a function built into the kernel, by its trampoline: SEC("fentry"), SEC("fexit"). */
	GT_HOOK_TYPED_ENTRY,
	GT_HOOK_EXIT, /* with the arguments */
};

/* One BPF program of a layer source, and the point in the kernel where it is attached. */
struct gt_hook {
	const char *program; /* in the BPF object */
	enum gt_hook_kind kind;
	const char *point; /* the tracepoint, or the function without a compiler's suffix */
	/* The module that has it, and the types that the program reads; NULL: the kernel itself.
	 * The program is loaded once the module is. */
	const char *module;
	/* Whether this kernel has what the program refers to; NULL: it has. */
	bool (*can_load)(struct gt_kernel_types *types);
	/* Not attached where threads are preempted in programs of raw tracepoints (layer.bpf.h). */
	bool unless_preemptible;
	/*
	 * The program in whose place this one is attached, where that cannot be; NULL: none. That
	 * one may itself be in the place of another. In place of a trampoline's it is loaded only
	 * then.
	 */
	const char *fallback_of;
	/*
	 * The program of a raw tracepoint whose omissions this one of the same trace event handles
	 * (is_first_at() or is_first_of_pair() in layer.bpf.h), where these are preemptible; NULL:
	 * none. It follows that one in the table. What the kernel omits of its own calls is no
	 * loss.
	 */
	const char *recovers;
	/*
	 * The program that sees the same as this one by other means, where threads are preempted
	 * in the kernel; NULL: none. The kernel omits each for reasons of its own: a hit is lost
	 * only if it omits both.
	 */
	const char *second_of;
	/* What is not shown without it, "the ends of waits"; NULL: nothing, it is optional. */
	const char *lacks;
};

/* Events of a layer source that user space makes, beside those of its BPF programs. */
struct gt_layer_extra {
	/*
	 * Emit the first events, and count them in *ret_emitted. `poll` is called when *ret_fd is
	 * readable; -1: never. 0 or -ENOMEM.
	 */
	int (*open)(const struct gt_host *host, void **ret_data, int *ret_fd,
		    uint64_t *ret_emitted);
	/* Return the number of events that it emitted. `final`: it is the last call. */
	uint64_t (*poll)(void *data, struct bpf_object *object, bool final);
	void (*close)(void *data);
};

#define GT_MAX_LRU_MAPS 2 /* of a source */

struct gt_layer {
	const char *name;                        /* of the source */
	const void *(*object)(size_t *ret_size); /* the ELF: NAME_bpf__elf_bytes of the skeleton */
	/* In the order in which they are attached; they are detached in the reverse order. */
	const struct gt_hook *hooks;
	size_t hook_count;
	/* Set constants (gt_load_set_constant) and sizes of maps, before the object is loaded; may
	 * be NULL. */
	int (*prepare)(const struct gt_host *host, struct bpf_object *object, struct gt_diag *diag);
	/* Called once it is loaded, before it is attached; may be NULL. */
	int (*start)(const struct gt_host *host, struct bpf_object *object, struct gt_diag *diag);
	/* Called once the programs are detached: write to the ring what began and did not end; may
	 * be NULL. */
	void (*finish)(const struct gt_host *host, struct bpf_object *object);
	const struct gt_layer_extra *extra; /* NULL: none */
	/* Maps of the type LRU_HASH whose evictions are counted (add_lru_entry). */
	const char *lru_maps[GT_MAX_LRU_MAPS];
	/* Events that is_sampled() of the BPF programs selects, by their order here; see --sample.
	 */
	const struct gt_sampled *sampled;
	size_t sampled_count; /* at most GT_MAX_SAMPLED */
};

struct gt_layer_counts;
struct gt_hook_state;

/*
 * Add the counts of an object's BPF programs; evictions of LRU maps are in `evicted`. `states`, of
 * all hooks; NULL: none was attached.
 */
void gt_layer_add_counts(const struct gt_layer *layer, const struct gt_hook_state *states,
			 struct bpf_object *object, struct gt_layer_counts *counts);

/* The functions of a struct gt_source; `state` is a struct gt_layer_state. */
int gt_layer_check(const struct gt_layer *layer, struct gt_kernel_types *types,
		   struct gt_diag *diag);
int gt_layer_open(const struct gt_layer *layer, const struct gt_host *host, void **ret_state,
		  struct gt_diag *diag);
void gt_layer_missing(void *state, struct gt_strbuf *text);
int gt_layer_wait_on(void *state);
void gt_layer_poll(void *state);
void gt_layer_detach(void *state);
void gt_layer_collect(void *state);
void gt_layer_count(void *state, struct gt_counts *counts);
void gt_layer_cost(void *state, struct gt_probe_cost *cost);
void gt_layer_close(void *state);

/*
 * Define gt_source_NAME of NAME_layer, a struct gt_layer. `text` is the summary, `requirement` what
 * it needs of the kernel, beside BTF and the privileges; further fields may follow.
 */
/* clang-format off */
#define GT_DEFINE_LAYER_SOURCE(identifier, text, requirement, ...)                                 \
	static int identifier##_check(struct gt_kernel_types *types, struct gt_diag *diag)         \
	{                                                                                          \
		return gt_layer_check(&identifier##_layer, types, diag);                           \
	}                                                                                          \
	static int identifier##_open(const struct gt_host *host, void **ret_state,                 \
				     struct gt_diag *diag)                                         \
	{                                                                                          \
		return gt_layer_open(&identifier##_layer, host, ret_state, diag);                  \
	}                                                                                          \
	const struct gt_source gt_source_##identifier = {                                          \
		.name = #identifier,                                                               \
		.summary = text,                                                                   \
		.needs = requirement,                                                              \
		.layer = &identifier##_layer,                                                      \
		.check = identifier##_check,                                                       \
		.open = identifier##_open,                                                         \
		.missing = gt_layer_missing,                                                       \
		.wait_on = gt_layer_wait_on,                                                       \
		.poll = gt_layer_poll,                                                             \
		.detach = gt_layer_detach,                                                         \
		.collect = gt_layer_collect,                                                       \
		.count = gt_layer_count,                                                           \
		.cost = gt_layer_cost,                                                             \
		.close = gt_layer_close,                                                           \
		__VA_ARGS__                                                                        \
	}
/* clang-format on */
