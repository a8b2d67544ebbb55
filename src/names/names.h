/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of the numbers in events: processes, functions, libraries, kernels, stacks …, learnt from
 * the events of the stream. Outputs look them up here.
 */
#pragma once

#include <stddef.h>

#include "api/api.h"
#include "api/call.h"
#include "api/kernels/arguments.h"
#include "api/kernels/parameters.h"
#include "base/clean.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "elf/symbolize.h"
#include "event/event.h"
#include "names/devices.h"

struct gt_names;

struct gt_names *gt_names_new(void);
void gt_names_free(struct gt_names *names);
GT_DEFINE_AUTO(names, struct gt_names, gt_names_free)

/*
 * Look also into /tmp/perf-PID.map for functions that processes compile: where the processes are
 * those of this machine, now. 0 or -ENOMEM.
 */
int gt_names_read_perf_maps(struct gt_names *names);

/* Learn from an event; call it with each, before any look-up. 0 or -ENOMEM. */
int gt_names_take(struct gt_names *names, const struct gt_event *event);

/* The name of a process at this point of the stream; "?" if it is unknown. */
const char *gt_names_process(const struct gt_names *names, __u32 process);
/* The name of a function; "?" if it is unknown. It lives as the names. */
const char *gt_names_function(const struct gt_names *names, __u32 function);
/* Its row in this gputap's tables: found by its name, since the numbers may be another
 * version's; NULL if there is none. */
const struct gt_api_function *gt_names_api(const struct gt_names *names, __u32 function);
/*
 * The mangled name of the kernel of a handle (or host function) in a process, from registrations
 * and look-ups in the process itself or in an ancestor, else from the symbol of the host function.
 * NULL: unknown. It lives as the names.
 */
const char *gt_names_kernel(const struct gt_names *names, __u32 process, __u64 handle);
/* Decodes a call of a traced function, with the strings that are known of it. */
void gt_names_decode(const struct gt_names *names, const struct gt_event_call *event,
		     struct gt_call *ret_call);
/* The kernel that a call launches; NULL if it launches none or its name is unknown. */
const char *gt_names_launched(const struct gt_names *names, const struct gt_call *call);
/*
 * The kernel that a call is about: what it launches; else the mangled name that it was given to
 * look one up or to register it, while it is the latest such call of its thread. NULL: none, or
 * unknown.
 */
const char *gt_names_call_kernel(const struct gt_names *names, const struct gt_call *call);
/*
 * What the kernel of a launch was given: 8 bytes from where each argument lies, or what calls have
 * set until now (OpenCL, Level Zero). False if that was not taken, or if this is not the latest
 * launch of its thread.
 */
bool gt_names_launch_arguments(const struct gt_names *names, const struct gt_call *call,
			       struct gt_launch_arguments *ret_arguments);
/*
 * The parameters of a kernel by its mangled name, from the files that were mapped. NULL: unknown.
 * The first time, they are searched.
 */
const struct gt_kernel *gt_names_parameters(const struct gt_names *names, const char *kernel);
/* Whether these files have more code than is searched for kernels (GT_KERNEL_SEARCH_LIMIT). */
bool gt_names_search_is_limited(const struct gt_names *names);
/*
 * The registers of a thread of a kernel by its mangled name, as a call has read them from the
 * driver. GT_KERNEL_UNKNOWN: none has, or those of several devices differ.
 */
uint32_t gt_names_registers(const struct gt_names *names, const char *kernel);
/*
 * The callers of a call by the number of its stack: addresses in the process, the innermost
 * first. NULL: unknown. They belong to the names.
 */
const __u64 *gt_names_stack(const struct gt_names *names, __u32 process, __u64 stack,
			    size_t *ret_count);
/* Whether there were more callers than the stack has. */
bool gt_names_stack_is_truncated(const struct gt_names *names, __u32 process, __u64 stack);
/*
 * What stands at an address of a process, at a caller's (is_return) the call before it: file,
 * function, inlined functions, source lines. It lives as the names.
 */
void gt_names_location(const struct gt_names *names, __u32 process, __u64 address, bool is_return,
		       struct gt_location *ret_location);
/*
 * How often that, or the stack of a number, may have changed until now. What was made of them is
 * valid while this is the same.
 */
uint64_t gt_names_code_changes(const struct gt_names *names);
/*
 * Adds a frame in a few words: "train (train.cu:120)", "train+0x1f (libtrain.so)",
 * "libtrain.so+0x4711", "0x7f…".
 */
void gt_put_frame(struct gt_strbuf *text, const struct gt_location *location,
		  const struct gt_source_frame *frame, __u64 address);
/* The parent of a process; 0: unknown. */
__u32 gt_names_parent(const struct gt_names *names, __u32 process);
/*
 * Find a device by its ordinal in a process (`device` in the header of an event). False: unknown.
 */
bool gt_names_device(const struct gt_names *names, __u32 process, int ordinal,
		     struct gt_known_device *ret_device);
/* The CUDA context that was current in the thread of a call. NULL: it is not known. */
const struct gt_context *gt_names_context(const struct gt_names *names,
					  const struct gt_event_call *call);
/* The command line of a process, its arguments separated by blanks; NULL: unknown. */
const char *gt_names_command(const struct gt_names *names, __u32 process);
/*
 * The cgroup of a process, and the id of the container in it (gt_container_id). NULL: not asked
 * for (--containers), not readable, or no container.
 */
const char *gt_names_cgroup(const struct gt_names *names, __u32 process);
const char *gt_names_container(const struct gt_names *names, __u32 process);
/* The rank of a process in a parallel program. False: unknown. */
bool gt_names_rank(const struct gt_names *names, __u32 process, __u32 *ret_rank);
/* Add ", rank 3" if it is known, and " on node1" if the capture is of several machines. */
void gt_put_rank(struct gt_strbuf *text, const struct gt_names *names, __u32 process);
/* Add the keys "machine", unless it is 0, and "rank", if it is known, of a process. */
void gt_json_rank(struct gt_json *json, const struct gt_names *names, __u32 process);
/* The path of a library; "?" if it is unknown. */
const char *gt_names_library(const struct gt_names *names, __u32 library);
/* CLOCK_REALTIME at a CLOCK_MONOTONIC time, ns; 0 if no clock event came yet. */
__u64 gt_names_wall_time(const struct gt_names *names, __u64 time);
/* The time of the first event that had one. */
__u64 gt_names_start_time(const struct gt_names *names);
/* The last account that passed, or NULL. */
const struct gt_event_account *gt_names_account(const struct gt_names *names);

/*
 * How calls were recorded: "kernel", "agent", or "both" in a merged capture. NULL: no calls were
 * recorded, or it is not known.
 */
const char *gt_names_via(const struct gt_names *names);
/* Add the key "via": that, or null. */
void gt_json_via(struct gt_json *json, const struct gt_names *names);

/* What tracing cost, as it was measured last, or NULL. */
const struct gt_event_overhead *gt_names_overhead(const struct gt_names *names);
/* That of a session of this process, with the CPU time of what it did after its last event. */
struct gt_event_overhead gt_overhead_until_now(const struct gt_event_overhead *overhead);
/* Add "probes took 0.35 % of the time of a CPU: …". */
void gt_put_overhead(struct gt_strbuf *text, const struct gt_event_overhead *overhead);
/* Add an object, or null without an overhead. */
void gt_json_overhead(struct gt_json *json, const char *key,
		      const struct gt_event_overhead *overhead);
/* The part of the time of a CPU that the probes took; 0 where it was not measured. */
double gt_overhead_share(const struct gt_event_overhead *overhead);

/* The machines on which the events were recorded: `machine` events, at most 256 of them. */
const struct gt_event_machine *const *gt_names_machines(const struct gt_names *names,
							size_t *ret_count);

#define GT_MAX_TOTALS 64 /* sources whose totals are kept */

/* The totals of a layer source: a `totals` event. */
struct gt_known_totals {
	const char *source; /* belongs to the names */
	uint64_t recorded, lost, unsampled, evicted, unattributed;
};

/* The latest totals of each layer source. */
const struct gt_known_totals *gt_names_totals(const struct gt_names *names, size_t *ret_count);
/* Whether there are totals of layer sources, and no call to account for. */
bool gt_names_has_only_layers(const struct gt_names *names);
/* Add "sched: 12 events: 12 recorded, 0 lost". */
void gt_put_totals(struct gt_strbuf *text, const struct gt_known_totals *totals);

/* Add the key "totals": an array of objects. */
void gt_json_totals(struct gt_json *json, const struct gt_names *names);

/* What may be missing, since probes were not in place in time: a `gap` event. */
struct gt_known_gap {
	__u32 process; /* 0: not that of one */
	enum gt_gap_reason reason;
	__u64 start, end;    /* as in the event */
	const char *name;    /* of the process; "": unknown */
	const char *library; /* "": any */
};

/* The gaps so far, at most GT_MAX_GAPS of them; *ret_omitted is the number of further ones. */
#define GT_MAX_GAPS 256
const struct gt_known_gap *gt_names_gaps(const struct gt_names *names, size_t *ret_count,
					 __u64 *ret_omitted);
/*
 * Whether calls or other events are missing, or may be: there are gaps, or the account has losses,
 * or there is no account.
 */
bool gt_names_is_incomplete(const struct gt_names *names);
/*
 * Add the gaps in a few words: "calls may be missing from train (123), in 12 ms before the probes
 * in libcudart.so.13 were attached". Nothing without gaps.
 */
void gt_put_gaps(struct gt_strbuf *text, const struct gt_names *names);
/* Add them as a sentence on a line of its own. */
void gt_put_gaps_line(struct gt_strbuf *text, const struct gt_names *names);
/*
 * Add how complete the recording is, each sentence on a line of its own: "Complete: 3 calls, none
 * lost.", or what was lost, and the gaps.
 */
void gt_put_losses(struct gt_strbuf *text, const struct gt_names *names);
/* Add what is missing on one line, "incomplete: 1 of 3 calls was lost, …"; nothing if nothing is.
 */
void gt_put_incomplete(struct gt_strbuf *text, const struct gt_names *names);
/* Add the keys "incomplete", "gaps" and "gaps_omitted" to an object. */
void gt_json_gaps(struct gt_json *json, const struct gt_names *names);
