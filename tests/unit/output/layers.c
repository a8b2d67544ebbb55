/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How outputs show events of layers: system calls that block, events inside calls, chains of jobs.
 */
#include <errno.h>

#include "api_record.h"
#include "output_stream.h"

#define THREAD 4712

#define CLOSE 3

static void pass_wait(struct stream *stream, enum gt_event_kind kind, __u64 time, __u64 duration)
{
	struct built call = begin("cudaDeviceSynchronize");

	pass_text(stream, GT_EVENT_function, call.function->name,
		  (__u32)gt_api_find(call.function->name));
	finish(&call);
	call.call.head.kind = (__u16)kind;
	call.call.head.time = time;
	call.call.head.process = PROCESS;
	call.call.head.thread = THREAD;
	call.call.head.device = GT_DEVICE_UNKNOWN;
	call.call.function = (__u32)gt_api_find(call.function->name);
	call.call.duration = duration;
	CHECK_INT(pass_event(stream, &call.call.head), 0);
}

static void pass_syscall(struct stream *stream, enum gt_event_kind kind, __u32 number, __u64 time,
			 __u64 duration)
{
	struct gt_event_syscall call = {
		.head = {.time = time,
			 .process = PROCESS,
			 .thread = THREAD,
			 .kind = (__u16)kind,
			 .size = sizeof(call),
			 .device = GT_DEVICE_UNKNOWN},
		.duration = duration,
		.call = 500 + number,
		.argument0 = 3,
		.argument1 = 0x1234,
		.number = number,
	};

	CHECK_INT(pass_event(stream, &call.head), 0);
}

static void pass_job(struct stream *stream, unsigned operation, __u64 time)
{
	struct gt_event_drm_job job = {
		.head = {.time = time,
			 .process = PROCESS,
			 .thread = THREAD,
			 .kind = GT_EVENT_drm_job,
			 .size = sizeof(job),
			 .device = GT_DEVICE_UNKNOWN},
		.context = 7,
		.seqno = 1,
		.operation = (__u16)operation,
	};

	CHECK_INT(pass_event(stream, &job.head), 0);
}

static void pass_interrupt(struct stream *stream, __u64 time)
{
	struct gt_event *event = gt_event_new(GT_EVENT_fence_interrupt, "gpu0", 4);
	struct gt_event_fence_interrupt *interrupt = (void *)event;

	event->time = time;
	event->process = PROCESS;
	event->thread = THREAD;
	interrupt->context = 7;
	interrupt->seqno = 1;
	interrupt->irq = 24;
	interrupt->delay = 100;
	CHECK_INT(pass_event(stream, event), 0);
	free(event);
}

static void pass_end(struct stream *stream)
{
	struct gt_event_account account = {
		.head = {.time = 9000000, .kind = GT_EVENT_account, .size = sizeof(account)}};

	CHECK_INT(pass_event(stream, &account.head), 0);
}

static struct stream begin_text(const struct gt_output *output)
{
	struct stream stream = begin_stream(
		output,
		(struct gt_output_options){.returns = true, .entries = true, .time = GT_TIME_NONE});

	pass_clock(&stream);
	pass_text(&stream, GT_EVENT_process, "train", 0);
	return stream;
}

#define LINES_HEAD "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
#define ONE_LINE_HEAD "PROCESS          PID     CALL\n"

TEST("a system call that returns before anything else happens is one line")
{
	struct stream stream = begin_text(&gt_output_lines);

	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 2000, 0);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 3000, 1000);
	end_stream(
		&stream, LINES_HEAD
		"train            4711    close                    [SYSCALL]  (3) = 0 (1.00 µs)\n");
}

TEST("a system call in which something happens has a line before and one after that")
{
	struct stream stream = begin_text(&gt_output_lines);

	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 2000, 0);
	pass_job(&stream, GT_DRM_QUEUE, 2500);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 3000, 1000);
	end_stream(
		&stream, LINES_HEAD
		"train            4711    close                    [SYSCALL]  (3 <unfinished ...>\n"
		"train            4711      queue                  [DRM]    job=7:1 depth=0 "
		"hardware=0\n"
		"train            4711    close                    [SYSCALL]  <... resumed> (3) = "
		"0 "
		"(1.00 µs)\n");
}

TEST("a system call that blocks is shown before it returns, also where nothing else happens")
{
	struct stream stream = begin_text(&gt_output_lines);

	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 2000, 0);
	CHECK_INT(stream.output->flush(stream.state), 0);
	end_stream(&stream, LINES_HEAD "train            4711    close                    "
				       "[SYSCALL]  (3 <unfinished ...>\n");
}

TEST("events in a call are indented, and later steps of its job name it")
{
	struct stream stream = begin_text(&gt_output_lines);

	pass_wait(&stream, GT_EVENT_entry, 1500, 0);
	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 2000, 0);
	pass_job(&stream, GT_DRM_QUEUE, 2500);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 3000, 1000);
	pass_job(&stream, GT_DRM_RUN, 3100);
	pass_interrupt(&stream, 3200);
	pass_wait(&stream, GT_EVENT_call, 3300, 1800);
	pass_job(&stream, GT_DRM_DONE, 3400);
	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 4000, 0);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 5000, 1000);
	end_stream(
		&stream, LINES_HEAD
		"train            4711    cudaDeviceSynchronize    [ENTER]\n"
		"train            4711      close                  [SYSCALL]  (3 <unfinished ...>\n"
		"train            4711        queue                [DRM]    job=7:1 depth=0 "
		"hardware=0\n"
		"train            4711      close                  [SYSCALL]  <... resumed> (3) = "
		"0 "
		"(1.00 µs)\n"
		"train            4711    run                      [DRM]    job=7:1 depth=0 "
		"hardware=0 "
		"call=cudaDeviceSynchronize\n"
		"train            4711    interrupt                [FENCE]  fence=7:1 irq=24 cpu=0 "
		"handler=gpu0 delay=100 ns call=cudaDeviceSynchronize\n"
		"train            4711    cudaDeviceSynchronize    [EXIT]   returned=Success (1.80 "
		"µs)\n"
		"train            4711    done                     [DRM]    job=7:1 hardware=0 "
		"call=cudaDeviceSynchronize\n"
		"train            4711    close                    [SYSCALL]  (3) = 0 (1.00 µs)\n");
}

TEST("with one line for each call, system calls that block are unfinished and resumed, too")
{
	struct stream stream = begin_text(&gt_output_one_line);

	pass_wait(&stream, GT_EVENT_entry, 1500, 0);
	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 2000, 0);
	pass_job(&stream, GT_DRM_QUEUE, 2500);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 3000, 1000);
	pass_wait(&stream, GT_EVENT_call, 3300, 1800);
	pass_syscall(&stream, GT_EVENT_syscall_entry, CLOSE, 4000, 0);
	pass_syscall(&stream, GT_EVENT_syscall, CLOSE, 5000, 1000);
	end_stream(
		&stream, ONE_LINE_HEAD
		"train            4711    cudaDeviceSynchronize( <unfinished …>\n"
		"train            4711      syscall close: (3 <unfinished ...>\n"
		"train            4711        drm queue: job=7:1 depth=0 hardware=0\n"
		"train            4711      syscall close: <... resumed> (3) = 0 (1.00 µs)\n"
		"train            4711    <… cudaDeviceSynchronize resumed>) = Success <1.80 µs>\n"
		"train            4711    syscall close: (3) = 0 (1.00 µs)\n");
}

TEST("JSON has the chain of a job once it is complete, and no entries")
{
	struct stream stream =
		begin_stream(&gt_output_json, (struct gt_output_options){.returns = true});

	pass_clock(&stream);
	pass_text(&stream, GT_EVENT_process, "train", 0);
	pass_job(&stream, GT_DRM_QUEUE, 2500);
	pass_interrupt(&stream, 3200);
	pass_job(&stream, GT_DRM_DONE, 3300);
	pass_end(&stream);
	CHECK_INT(stream.output->flush(stream.state), 0);
	{
		gt_auto_file file = {0};
		char path[32];
		char *chain;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", stream.fd);
		CHECK_INT(gt_file_read(path, 1 << 20, &file, NULL), 0);
		chain = strstr((char *)file.data, "{\"schema\":\"gputap.chain.1\"");
		CHECK(chain);
		if (chain)
			chain[strcspn(chain, "\n") + 1] = '\0';
		CHECK_STR(
			chain ? chain : "",
			"{\"schema\":\"gputap.chain.1\",\"time\":2500,\"clock\":\"monotonic\","
			"\"pid\":4711,\"tid\":4712,\"process\":\"train\",\"context\":7,\"seqno\":1,"
			"\"ring\":null,\"device\":null,\"call\":null,\"inner_call\":null,"
			"\"syscall\":null,\"queue\":2500,\"run\":null,\"blocked\":0,"
			"\"interrupt\":{\"time\":3200,\"irq\":24,\"handler\":\"gpu0\"},"
			"\"done\":3300,\"signaled\":null,\"error\":null,\"timed_out\":false,"
			"\"canceled\":false}\n");
	}
	CHECK_INT(stream.output->close(stream.state, NULL), 0);
	gt_names_free(stream.names);
	close(stream.fd);
}

TEST_MAIN
