/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chains: what submitted a job of the DRM scheduler, and what completed it. A chain joins events of
 * several sources:
 *
 *	API call ⊃ system call ⊃ queue     by thread and time
 *	queue → run → done → signaled      by the key of the job's fence (context, seqno)
 *	interrupt                          by the same key
 *
 * Sources that are not traced leave their part of a chain empty. The events come in the order of
 * their times; calls and system calls come when they return. Where the stream has entries of calls
 * (live text), the outermost call is known from the submission on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"

/* A traced API call that encloses the submission. Times are ns on CLOCK_MONOTONIC. */
struct gt_job_chain_call {
	uint64_t start;    /* 0: there is none */
	uint64_t end;      /* 0: it has not returned */
	uint32_t function; /* as in the event: gt_names_function */
};

struct gt_job_chain_syscall {
	uint64_t start; /* 0: it was not seen */
	uint64_t end;
	uint64_t id;      /* as in the event: `call` */
	const char *name; /* "ioctl DRM_IOCTL_…"; valid as long as the analysis */
};

/* The completion interrupt: a fence of the job was signaled in its handler. */
struct gt_job_chain_interrupt {
	uint64_t start; /* of the handler; 0: it was not seen */
	uint32_t irq;
	char handler[GT_INTERRUPT_NAME_SIZE]; /* may have no NUL */
};

/* The fence that a job waited for longest: `blocked` ns. */
struct gt_job_chain_dependency {
	uint64_t context, seqno; /* 0: none */
	uint64_t blocked;
	uint32_t process, thread; /* that submitted the job of this fence; 0: not known */
};

/* A job, in the order of what happened. Times are 0 where an event was not seen. */
struct gt_job_chain {
	uint64_t context, seqno;          /* the key */
	uint32_t process, thread;         /* that submitted it; 0: unknown */
	char names[2 * GT_DRM_NAME_SIZE]; /* of the ring, and of the device; padded with NULs */
	struct gt_job_chain_call outermost;
	struct gt_job_chain_call innermost; /* the same where calls are not nested */
	struct gt_job_chain_syscall syscall;
	uint64_t queued;
	uint64_t run;
	uint64_t blocked; /* ns between these two, by dependencies */
	struct gt_job_chain_dependency dependency;
	struct gt_job_chain_interrupt interrupt;
	uint64_t done;
	uint64_t signaled;
	int error; /* a negative errno; 0: none */
	bool timed_out;
	bool canceled; /* its fence was signaled, and the hardware had not finished it */
};

/* Where a chain begins and ends: its first and last event that were seen. */
uint64_t gt_job_chain_start(const struct gt_job_chain *chain);
uint64_t gt_job_chain_end(const struct gt_job_chain *chain);

/* At most so many chains are open at a time; the oldest ones are completed as they are. */
#define GT_MAX_OPEN_JOB_CHAINS 65536

struct gt_job_chains;

/*
 * Called once for each chain: when its job has ended and no call that is still running can enclose
 * its submission. 0 or -ENOMEM.
 */
typedef int (*gt_job_chain_sink)(void *context, const struct gt_job_chain *chain);

/* NULL: out of memory. */
struct gt_job_chains *gt_job_chains_new(gt_job_chain_sink sink, void *context);
void gt_job_chains_free(struct gt_job_chains *chains);
GT_DEFINE_AUTO(job_chains, struct gt_job_chains, gt_job_chains_free)

/* Take an event; those of other sources are ignored. 0, -ENOMEM, or the result of the sink. */
int gt_job_chains_take(struct gt_job_chains *chains, const struct gt_event *event);
/* At the end of the stream: complete the chains that are open. The same results. */
int gt_job_chains_finish(struct gt_job_chains *chains);

/*
 * The chain of a job, as far as it is known, also that which the last event has ended; NULL: none.
 * Valid until the next event.
 */
const struct gt_job_chain *gt_job_chains_find(const struct gt_job_chains *chains, uint64_t context,
					      uint64_t seqno);
/* The key of the job or fence that an event is about; false: it is about none. */
bool gt_job_chain_key(const struct gt_event *event, uint64_t *ret_context, uint64_t *ret_seqno);
