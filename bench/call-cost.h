/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What benches of traced calls share: the calls, pairs of probes without gputap, the time of
 * programs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls that are timed together: fewer than a thread makes before another one gets its CPU. */
#define CALL_WINDOW 20
#define PROGRAM_WINDOWS 500

/* Calls of the stand-in runtime: one with a number, one that returns a number through a pointer. */
void call_plain(void);
void call_with_result(void);
/* A call that gputap does not trace here. */
void call_reference(void);

/* The lower quartile; the values are sorted. */
double lower_quartile(double *values, size_t count);

/*
 * The time of a call, in ns, in the programs that run at each one, as the kernel measures it, the
 * traps not included: the lower quartile of PROGRAM_WINDOWS windows. It has the price of the
 * measurement, which is that of an empty pair.
 */
double ns_in_programs(void (*call)(void));

/* Probes on cudaSetDevice with two programs, which are prepared before they are loaded. */
struct bpf_program;
struct probe_pair;
void prepare_programs(struct bpf_program *entry, struct bpf_program *at_return);
/* NULL: not possible. */
struct probe_pair *attach_programs(struct bpf_program *entry, struct bpf_program *at_return);
/* The pairs of empty.bpf.c. */
enum pair_kind {
	PAIR_REFERENCE, /* empty, on cudaDeviceSynchronize, in every process: call_reference() */
	PAIR_TIMED,     /* takes the time stamps of a duration */
	PAIR_RECORDING, /* and writes a record */
};
struct probe_pair *attach_pair(enum pair_kind kind);
void detach_pair(struct probe_pair *pair);

/*
 * Start `gputap trace` with more arguments, up to a NULL, on the calls of this process. 0 or -Exxx;
 * stop_tracing() waits for its end.
 */
int start_tracing(const char *const more[3], const char *stack, pid_t *ret_pid);
void stop_tracing(pid_t gputap);
