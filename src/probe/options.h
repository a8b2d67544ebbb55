/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The options of tracing, one row each. From a row come a field of struct gt_trace_options, which
 * is passed from the command line through the session down to the sources, and a row of the option
 * tables of commands (src/cli/target.h). So a new option is a row here and the place that uses it.
 *
 * A row is OPTION(command, kind, field, letter, name, value, choices, scope, help). LAST is the
 * last row of a list, so that a table can have commas between the rows.
 *
 * - command: what an expansion needs of the command, passed through
 * - kind: FLAG (bool), STRING, LIST (struct gt_strings), CHOICE (int: index in `choices`), COUNT,
 *   BYTES, PERIOD (ns); the last three are uint64_t, 0 if not given
 * - letter, name, value, choices, help: as in struct gt_option (src/cli/cli.h)
 * - scope: LIVE (cannot be applied to a capture) or ANY
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string_list.h"

/* clang-format off */
/* What is traced, and for how long. */
#define GT_TRACE_OPTIONS_OF_TARGET(OPTION, LAST, command) \
	OPTION(command, STRING, path, 'p', "path", "PATH", NULL, LIVE, \
	       "attach to this library or program only") \
	OPTION(command, LIST, pids, 'd', "pid", "PID,…", NULL, ANY, \
	       "trace these processes, their threads and children") \
	OPTION(command, LIST, names, 0, "comm", "NAME,…", NULL, ANY, \
	       "trace only processes of these names, which may end in '*'") \
	OPTION(command, LIST, cgroups_traced, 0, "cgroup", "PATH,…", NULL, LIVE, \
	       "trace only processes in these cgroups (v2) or below") \
	OPTION(command, LIST, users, 0, "uid", "USER,…", NULL, LIVE, \
	       "trace only processes of these users: numbers or names") \
	LAST(command, PERIOD, duration, 0, "duration", "TIME", NULL, ANY, \
	       "stop after this time: 500ms, 10s; the default unit is s (CMD continues until its end)")

/* Which calls are traced; for commands that do not choose the calls themselves; `default_sources` is
 * the text of the command's default of -e. */
#define GT_TRACE_OPTIONS_OF_CALLS(OPTION, LAST, command, default_sources) \
	OPTION(command, LIST, sources, 'e', "event", "SOURCE,…", NULL, LIVE, \
	       "enable these sources (default: " default_sources "); all: every one that works here") \
	OPTION(command, LIST, functions, 'f', "function", "NAME,…", NULL, ANY, \
	       "trace these functions instead of those traced by default ('gputap list " \
	       "--functions'): globs such as 'cudaMem*', or '*' for all; '!cudaGet*' excludes") \
	OPTION(command, LIST, syscalls, 0, "syscall", "NAME,…", NULL, LIVE, \
	       "with -e syscall: trace these system calls (default: all): globs such as 'epoll_*'; " \
	       "'!futex' excludes") \
	OPTION(command, FLAG, failed_only, 0, "failed", NULL, NULL, ANY, \
	       "show only calls that return an error (\"not ready\" is no error)") \
	OPTION(command, STRING, condition, 0, "when", "CONDITION", NULL, ANY, \
	       "show only calls that match: 'duration>1ms && (size>=1MiB || kernel==gemm*)'; fields: " \
	       "duration, result (a number or an error's name), depth, tid, size, stream, kernel, " \
	       "grid and block (a product, or as '16x16x1')") \
	OPTION(command, LIST, sample, 0, "sample", "NAME=RATE", NULL, LIVE, \
	       "record only a part of these events, and count the rest: ioctl=1% (names: docs/layers.md)") \
	LAST(command, COUNT, max_events, 0, "max-events", "N", NULL, ANY, \
	       "stop after N calls")

/* Which part of a capture is read; `where` begins the help. */
#define GT_TRACE_OPTIONS_OF_RANGE(OPTION, command, where) \
	OPTION(command, PERIOD, start, 0, "start", "TIME", NULL, ANY, \
	       where "only what ended this long after the beginning of the capture, or later") \
	OPTION(command, PERIOD, end, 0, "end", "TIME", NULL, ANY, \
	       where "only what began at most this long after the beginning of the capture")

/* Of commands that can read a capture instead. */
#define GT_TRACE_OPTIONS_OF_CAPTURE(OPTION, command) \
	OPTION(command, STRING, from, 0, "from", "FILE", NULL, ANY, \
	       "read events from a capture instead of tracing") \
	GT_TRACE_OPTIONS_OF_RANGE(OPTION, command, "with --from: ")

/* How it is traced; `ring` is the text of the command's default of --ring-size. */
#define GT_TRACE_OPTIONS_OF_RUN(OPTION, LAST, command, ring) \
	OPTION(command, FLAG, verbose, 'v', "verbose", NULL, NULL, ANY, \
	       "show all API layers, stubs and wrappers in stacks, processes, and attach statistics") \
	OPTION(command, CHOICE, gpu, 0, "gpu", "GPU", gt_gpu_names, LIVE, \
	       "GPU of the command: auto, nvidia or soft") \
	OPTION(command, CHOICE, stack, 0, "stack", "METHOD", gt_stack_methods, LIVE, \
	       "callers of each call: none, fp (frame pointers), dwarf (.eh_frame, by copies of the " \
	       "stack), mixed (.eh_frame in the kernel, fp where it has no rule), or auto: mixed if " \
	       "the command prints callers, else none (default: auto)") \
	OPTION(command, COUNT, stack_depth, 0, "stack-depth", "N", NULL, LIVE, \
	       "maximum number of callers (default: 64; up to 127)") \
	OPTION(command, CHOICE, python, 0, "python", "WHEN", gt_python_choices, LIVE, \
	       "Python callers in stacks: on (where there is an interpreter) or off (default: on)") \
	OPTION(command, FLAG, kernel_arguments, 0, "kernel-args", NULL, NULL, LIVE, \
	       "record the arguments of kernel launches") \
	OPTION(command, FLAG, cgroups, 0, "containers", NULL, NULL, LIVE, \
	       "record the cgroup of each process, and its container") \
	OPTION(command, STRING, gpu_times, 0, "gpu-times", "WHICH", NULL, LIVE, \
	       "time the copies, memsets, kernels and graphs of CMD on the GPU: off, all, sampled=N " \
	       "(every N-th), or exact: all, and kernels by programs in them (default: all in " \
	       "record, report and why, else off)") \
	OPTION(command, CHOICE, via, 0, "via", "METHOD", gt_via_methods, LIVE, \
	       "who sees calls of APIs: kernel (uprobes), agent (in the processes of CMD, without " \
	       "privilege), or auto: kernel if permitted, else agent (default: auto)") \
	OPTION(command, CHOICE, full_ring, 0, "full-ring", "WHAT", gt_full_ring_choices, LIVE, \
	       "with --via agent, a thread whose process has a full ring: wait (for gputap, at most " \
	       "0.3 s while it reads nothing) or drop (the record, at once) (default: wait)") \
	OPTION(command, STRING, max_overhead, 0, "max-overhead", "N%", NULL, LIVE, \
	       "limit what probes cost to this part of the time of a CPU, such as 2%: calls are traced " \
	       "a part of the time, other sources dropped (docs/cost.md)") \
	OPTION(command, CHOICE, attach, 0, "attach", "METHOD", gt_attach_methods, LIVE, \
	       "attach method: session (uprobe sessions), multi (uprobe_multi links), perf (perf events), " \
	       "or auto: the first one that the kernel has (default: auto)") \
	OPTION(command, BYTES, buffer_size, 0, "buffer-size", "SIZE", NULL, LIVE, \
	       "bytes of memory for events that wait to be written (default: 256M)") \
	OPTION(command, CHOICE, late, 0, "late-libs", "METHOD", gt_late_methods, LIVE, \
	       "libraries that the command opens itself (dlopen): hold it until they are traced, " \
	       "watch (the first calls may be missed), or auto: hold if possible (default: auto)") \
	LAST(command, BYTES, ring_size, 0, "ring-size", "SIZE", NULL, LIVE, \
	       "bytes of the ring between kernel and gputap (default: " ring "; with --stack dwarf 64M)")
/* clang-format on */

#define GT_TRACE_OPTIONS(OPTION)                                                                   \
	GT_TRACE_OPTIONS_OF_TARGET(OPTION, OPTION, )                                               \
	GT_TRACE_OPTIONS_OF_CALLS(OPTION, OPTION, , "")                                            \
	GT_TRACE_OPTIONS_OF_CAPTURE(OPTION, )                                                      \
	GT_TRACE_OPTIONS_OF_RUN(OPTION, OPTION, , "")

#define GT_TRACE_OPTION_FLAG bool
#define GT_TRACE_OPTION_STRING const char *
#define GT_TRACE_OPTION_LIST struct gt_strings
#define GT_TRACE_OPTION_CHOICE int
#define GT_TRACE_OPTION_COUNT uint64_t
#define GT_TRACE_OPTION_BYTES uint64_t
#define GT_TRACE_OPTION_PERIOD uint64_t
#define GT_TRACE_OPTION_FIELD(command, kind, field, ...) GT_TRACE_OPTION_##kind field;

struct gt_companion;

struct gt_trace_options {
	GT_TRACE_OPTIONS(GT_TRACE_OPTION_FIELD)

	char *const *command; /* a program and its arguments, ended by NULL; NULL: none */
	pid_t *processes;     /* the numbers of `pids`; owned */
	size_t process_count;
	bool via_is_chosen; /* `via` was auto, and is the agent since uprobes are not permitted */
	bool gpu_times_default;    /* time the work of a command unless --gpu-times is given */
	uint64_t gpu_times_period; /* `gpu_times`: 0: off; every n-th operation is timed */
	bool gpu_times_exact;      /* kernels record their first and last instruction, too */
	bool entries;              /* write entry events, for live text */
	bool failures;             /* also calls of unselected functions, if they return an error */
	bool capture;              /* the events are stored, and may be analysed elsewhere */
	bool sums;                 /* calls are wanted as sums by function only (`sums` events) */
	/* Emit the totals so far (`account`, `totals`, `sums`) at this interval, ns; 0: at the end
	 * only. */
	uint64_t totals_interval;
	const struct gt_companion *companion; /* session/companion.h; NULL: none. Not owned. */
};

/* --stack; `stack_depth` is 0 with GT_STACK_NONE once gt_trace_options_resolve was called. */
enum gt_stack_method {
	GT_STACK_AUTO,
	GT_STACK_NONE,
	GT_STACK_FRAME_POINTERS,
	GT_STACK_DWARF, /* copy the stack, and unwind it by .eh_frame */
	GT_STACK_MIXED, /* .eh_frame in the kernel, and frame pointers where it has no rule */
};

/* --via; resolved by gt_target_complete (cli/target.h). */
enum gt_via_method {
	GT_VIA_AUTO,
	GT_VIA_KERNEL, /* uprobes */
	GT_VIA_AGENT,  /* functions that are hooked in the processes of a command */
};

/* --attach */
enum gt_attach_method {
	GT_ATTACH_AUTO,
	GT_ATTACH_SESSION, /* one uprobe session link per library */
	GT_ATTACH_MULTI,   /* two uprobe_multi links per library: entries and returns */
	GT_ATTACH_PERF,    /* perf events */
};

/* --late-libs */
enum gt_late_method {
	GT_LATE_AUTO,
	GT_LATE_HOLD,  /* hold the command where it maps a file for execution; fail if impossible */
	GT_LATE_WATCH, /* attach once the kernel has reported the mapping */
};

/* --python */
enum gt_python_choice {
	GT_PYTHON_ON,
	GT_PYTHON_OFF,
};

/* --full-ring */
enum gt_full_ring_choice {
	GT_FULL_RING_WAIT,
	GT_FULL_RING_DROP,
};

/* Choices of --python, --stack, --late-libs, --attach, --via and --full-ring, ended by NULL. */
extern const char *const gt_python_choices[];
extern const char *const gt_stack_methods[];
extern const char *const gt_late_methods[];
extern const char *const gt_attach_methods[];
extern const char *const gt_via_methods[];
extern const char *const gt_full_ring_choices[];

#define GT_DEFAULT_STACK_DEPTH 64

/* Resolve `stack` and `stack_depth`: --stack auto records callers if `callers`. */
void gt_trace_options_resolve(struct gt_trace_options *options, bool callers);
/* Whether calls are counted by the BPF programs (`sums`); the agent records each. */
static inline bool gt_trace_options_has_sums(const struct gt_trace_options *options)
{
	return options->sums && options->via != GT_VIA_AGENT;
}
/* The name of a given option that cannot be applied to a capture ("uid"), or NULL. */
const char *gt_trace_options_live(const struct gt_trace_options *options);
/* Free the lists and the processes. */
void gt_trace_options_free(struct gt_trace_options *options);
