/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all commands share that look at a session: the options that say what is traced and how,
 * and the run itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "event/event.h"
#include "names/names.h"
#include "session/session.h"

struct gt_target_options {
	struct gt_strings pids;
	const char *path, *name, *cgroup, *uid;
	const char *output, *from;
	bool json, verbose, kernel_arguments, containers;
	int gpu, attach, stack;
	uint64_t duration, ring_size, stack_depth;
};

/* clang-format off */
/*
 * Rows of a command's option table; `at` is the offset of its struct gt_target_options. First what
 * is traced, and for how long …
 */
#define GT_TARGET_OPTIONS(at) \
	{'p', "path", "PATH", "attach to this library or program only", GT_OPTION_STRING, \
	 (at) + offsetof(struct gt_target_options, path), NULL}, \
	{'d', "pid", "PID,…", "trace these processes, their threads and children", \
	 GT_OPTION_LIST, (at) + offsetof(struct gt_target_options, pids), NULL}, \
	{0, "comm", "NAME", "only processes of this name; may end in '*'", GT_OPTION_STRING, \
	 (at) + offsetof(struct gt_target_options, name), NULL}, \
	{0, "cgroup", "PATH", "only processes in this cgroup (v2) or below", GT_OPTION_STRING, \
	 (at) + offsetof(struct gt_target_options, cgroup), NULL}, \
	{0, "uid", "USER", "only this user's processes: a number or a name", GT_OPTION_STRING, \
	 (at) + offsetof(struct gt_target_options, uid), NULL}, \
	{0, "duration", "TIME", "end after this time: 500ms, 10s; without a unit seconds (CMD goes on until its end)", \
	 GT_OPTION_PERIOD, \
	 (at) + offsetof(struct gt_target_options, duration), NULL}

/*
 * … then how; `ring` is the text of the command's default of --ring-size. The command itself says
 * what -o and --json do.
 */
#define GT_RUN_OPTIONS(at, ring) \
	{0, "from", "FILE", "show a capture instead of what happens now", GT_OPTION_STRING, \
	 (at) + offsetof(struct gt_target_options, from), NULL}, \
	{'v', "verbose", NULL, \
	 "all API layers, stubs and wrappers in stacks, processes, and what is done to attach", \
	 GT_OPTION_FLAG, (at) + offsetof(struct gt_target_options, verbose), NULL}, \
	{0, "gpu", "WHICH", "GPU of the command: auto, nvidia or soft", GT_OPTION_CHOICE, \
	 (at) + offsetof(struct gt_target_options, gpu), gt_target_gpus}, \
	{0, "stack", "WAY", \
	 "callers of each call: none, fp (frame pointers), dwarf (.eh_frame), or auto: fp where " \
	 "the command shows callers, else none (default: auto)", \
	 GT_OPTION_CHOICE, (at) + offsetof(struct gt_target_options, stack), gt_target_stacks}, \
	{0, "stack-depth", "N", "callers to take at most (default: 64; up to 127)", \
	 GT_OPTION_COUNT, (at) + offsetof(struct gt_target_options, stack_depth), NULL}, \
	{0, "kernel-args", NULL, "take what kernels are launched with", GT_OPTION_FLAG, \
	 (at) + offsetof(struct gt_target_options, kernel_arguments), NULL}, \
	{0, "containers", NULL, "tell the cgroup of each process, and the container in it", \
	 GT_OPTION_FLAG, (at) + offsetof(struct gt_target_options, containers), NULL}, \
	{0, "attach", "WAY", "attach by auto, multi (uprobe_multi) or perf", GT_OPTION_CHOICE, \
	 (at) + offsetof(struct gt_target_options, attach), gt_target_ways}, \
	{0, "ring-size", "SIZE", "bytes of the ring between kernel and gputap (default: " ring "; with --stack dwarf 64M)", \
	 GT_OPTION_SIZE, (at) + offsetof(struct gt_target_options, ring_size), NULL}
/* clang-format on */

extern const char *const gt_target_gpus[];
extern const char *const gt_target_ways[];
extern const char *const gt_target_stacks[];

/* --stack: what stands at these places of gt_target_stacks. */
enum gt_target_stack {
	GT_STACK_DEFAULT, /* as the command has it */
	GT_STACK_NONE,
	GT_STACK_FRAME_POINTERS,
	GT_STACK_EH_FRAME,
};
#define GT_DEFAULT_STACK_DEPTH 64

/*
 * Checks what the user said and fills in what a session takes from it; `command` is NULL if none
 * was given. The session's options point into `options`, and to *ret_pids, which the caller frees.
 * GT_EXIT_OK, or the status of an error that was printed.
 */
int gt_target_apply(const struct gt_cli_command *self, const struct gt_target_options *options,
		    char *const *command, struct gt_session_options *session, pid_t **ret_pids);
void gt_target_free(struct gt_target_options *options);
/* Whether -o names a file for a capture: its name ends in ".gtap". */
bool gt_target_makes_capture(const struct gt_target_options *options);

/* What a command makes of a session's events. */
struct gt_run {
	void *context;
	/* Called once the session is open, and so its target sound. */
	int (*open)(void *context, struct gt_diag *diag);
	/* `names` has learnt from the event. */
	int (*event)(void *context, const struct gt_names *names, const struct gt_event *event);
	int (*flush)(void *context);
	/* Called at the end of every run that was opened. */
	int (*close)(void *context, const struct gt_names *names, struct gt_diag *diag);
	bool tells_totals; /* what it prints does, to where the notes go or to stdout */
};

/*
 * Runs a session to its end. Notes, errors and the totals go to stderr, so that no form of output
 * hides a loss; totals without one are not told a second time. Returns the exit status: the traced
 * command's, if there is one.
 */
int gt_target_run(const struct gt_session_options *options, const struct gt_run *run);
