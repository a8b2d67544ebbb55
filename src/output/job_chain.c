/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/job_chain.h"

#include <string.h>

#include "kernel/syscalls.h"

static void put_time(struct gt_json *json, const char *key, uint64_t time)
{
	if (time)
		gt_json_u64(json, key, time);
	else
		gt_json_null(json, key);
}

static void put_name(struct gt_json *json, const char *key, const char *name, size_t size)
{
	size_t length = strnlen(name, size);

	if (length)
		gt_json_string_bytes(json, key, name, length);
	else
		gt_json_null(json, key);
}

static void put_call(struct gt_json *json, const char *key, const struct gt_names *names,
		     const struct gt_job_chain_call *call)
{
	if (!call->start) {
		gt_json_null(json, key);
		return;
	}
	gt_json_object_begin(json, key);
	gt_json_string(json, "name", gt_names_function(names, call->function));
	gt_json_u64(json, "time", call->start);
	if (call->end)
		gt_json_u64(json, "duration", call->end - call->start);
	else
		gt_json_null(json, "duration");
	gt_json_object_end(json);
}

static void put_syscall(struct gt_json *json, const struct gt_job_chain_syscall *call)
{
	if (!call->start) {
		gt_json_null(json, "syscall");
		return;
	}
	gt_json_object_begin(json, "syscall");
	gt_json_string(json, "name", call->name);
	gt_json_u64(json, "call", call->id);
	gt_json_u64(json, "time", call->start);
	gt_json_u64(json, "duration", call->end - call->start);
	gt_json_object_end(json);
}

static void put_interrupt(struct gt_json *json, const struct gt_job_chain_interrupt *interrupt)
{
	if (!interrupt->start) {
		gt_json_null(json, "interrupt");
		return;
	}
	gt_json_object_begin(json, "interrupt");
	gt_json_u64(json, "time", interrupt->start);
	gt_json_u64(json, "irq", interrupt->irq);
	put_name(json, "handler", interrupt->handler, sizeof(interrupt->handler));
	gt_json_object_end(json);
}

void gt_json_job_chain(struct gt_json *json, const struct gt_names *names,
		       const struct gt_job_chain *chain)
{
	gt_json_u64(json, "time", gt_job_chain_start(chain));
	gt_json_string(json, "clock", "monotonic");
	gt_json_u64(json, "pid", gt_id_number(chain->process));
	gt_json_u64(json, "tid", gt_id_number(chain->thread));
	gt_json_string(json, "process", gt_names_process(names, chain->process));
	gt_json_rank(json, names, chain->process);
	gt_json_u64(json, "context", chain->context);
	gt_json_u64(json, "seqno", chain->seqno);
	put_name(json, "ring", chain->names, GT_DRM_NAME_SIZE);
	put_name(json, "device", chain->names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
	put_call(json, "call", names, &chain->outermost);
	put_call(json, "inner_call", names, &chain->innermost);
	put_syscall(json, &chain->syscall);
	put_time(json, "queue", chain->queued);
	put_time(json, "run", chain->run);
	gt_json_u64(json, "blocked", chain->blocked);
	put_interrupt(json, &chain->interrupt);
	put_time(json, "done", chain->done);
	put_time(json, "signaled", chain->signaled);
	if (chain->error && gt_errno_name(-chain->error))
		gt_json_string(json, "error", gt_errno_name(-chain->error));
	else
		gt_json_null(json, "error");
	gt_json_bool(json, "timed_out", chain->timed_out);
	gt_json_bool(json, "canceled", chain->canceled);
}
