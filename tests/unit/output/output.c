/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What outputs make of a stream of events: exact lines, JSON, tables. */
#include <errno.h>
#include <signal.h>

#include "api_record.h"
#include "output_stream.h"

/* The call at `time`, which took `duration`. */
static void pass_call(struct stream *stream, struct built *call, __u64 time, __u64 duration)
{
	pass_text(stream, GT_EVENT_function, call->function->name,
		  (__u32)gt_api_find(call->function->name));
	finish(call);
	call->call.head.time = time;
	call->call.head.process = PROCESS;
	call->call.head.thread = PROCESS + 1;
	call->call.head.device = GT_DEVICE_UNKNOWN;
	call->call.function = (__u32)gt_api_find(call->function->name);
	call->call.duration = duration;
	CHECK_INT(pass_event(stream, &call->call.head), 0);
}

static void pass_malloc(struct stream *stream, enum gt_event_kind kind)
{
	struct built call = begin("cudaMalloc");

	pass(&call, "devPtr", 0x7ffc00001000);
	pass(&call, "size", 4000);
	if (kind == GT_EVENT_call) {
		point(&call, "devPtr", &(uint64_t){0x7f0000000200}, 8);
		back(&call, 0);
	}
	pass_call(stream, &call, kind == GT_EVENT_call ? 3500 : 2000,
		  kind == GT_EVENT_call ? 1500 : 0);
}

static void pass_failed_free(struct stream *stream)
{
	struct built call = begin("cudaFree");

	pass(&call, "devPtr", 0x1234);
	back(&call, 1);
	call.call.depth = 1;
	call.call.state = GT_CALL_NESTED;
	pass_call(stream, &call, 9000, 250);
}

static void pass_unfinished(struct stream *stream)
{
	struct built call = begin("cudaDeviceSynchronize");

	back(&call, 0);
	call.call.state = GT_CALL_UNFINISHED;
	pass_call(stream, &call, 5000000, 4000000);
}

static void pass_account(struct stream *stream)
{
	struct gt_event_account account = {
		.head = {.time = 6000000,
			 .kind = GT_EVENT_account,
			 .size = sizeof(account),
			 .device = GT_DEVICE_UNKNOWN},
		.made = 10,
		.complete = 2,
		.unfinished = 1,
		.lost = 3,
		.filtered = 4,
		.orphans = 5,
		.entries_lost = 6,
		.others_lost = 7,
	};

	CHECK_INT(pass_event(stream, &account.head), 0);
}

static struct stream begin_lines(struct gt_output_options options)
{
	struct stream stream = begin_stream(&gt_output_lines, options);

	pass_clock(&stream);
	pass_text(&stream, GT_EVENT_process, "vectoradd", 0);
	return stream;
}

#define WALL_HEAD                                                                                  \
	"TIME            PROCESS          PID     EVENT                    TYPE     DETAILS\n"

TEST("a call has a line at its entry and one at its return, at its times")
{
	struct stream stream =
		begin_lines((struct gt_output_options){.returns = true, .entries = true});

	pass_malloc(&stream, GT_EVENT_entry);
	pass_malloc(&stream, GT_EVENT_call);
	end_stream(&stream, WALL_HEAD
		   "12:00:00.000002 vectoradd        4711    cudaMalloc               [ENTER]  "
		   "size=4000 bytes\n"
		   "12:00:00.000003 vectoradd        4711    cudaMalloc               [EXIT]   "
		   "returned=Success devPtr=0x7f0000000200 (1.50 µs)\n");
}

TEST("without entry events the line of the return has the arguments, too")
{
	struct stream stream =
		begin_lines((struct gt_output_options){.returns = true, .time = GT_TIME_NONE});

	pass_malloc(&stream, GT_EVENT_call);
	end_stream(&stream,
		   "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		   "vectoradd        4711    cudaMalloc               [EXIT]   size=4000 bytes "
		   "returned=Success devPtr=0x7f0000000200 (1.50 µs)\n");
}

TEST("without returns a call has its entry only, be there entry events or not")
{
	struct stream marked =
		begin_lines((struct gt_output_options){.entries = true, .time = GT_TIME_NS});
	struct stream unmarked = begin_lines((struct gt_output_options){.time = GT_TIME_NS});
	const char *expected =
		"TIME                PROCESS          PID     EVENT                    TYPE     "
		"DETAILS\n"
		"2000                vectoradd        4711    cudaMalloc               [ENTER]  "
		"size=4000 bytes\n";

	pass_malloc(&marked, GT_EVENT_entry);
	pass_malloc(&marked, GT_EVENT_call);
	end_stream(&marked, expected);
	pass_malloc(&unmarked, GT_EVENT_call);
	end_stream(&unmarked, expected);
}

TEST("a failed call has the error's name, a nested one is indented, one that was left says so")
{
	struct stream stream =
		begin_lines((struct gt_output_options){.returns = true, .time = GT_TIME_RELATIVE});

	pass_failed_free(&stream);
	pass_unfinished(&stream);
	end_stream(
		&stream,
		"SINCE START   PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		"0.000008      vectoradd        4711      cudaFree               [EXIT]   "
		"ptr=0x1234 returned=InvalidValue (250 ns)\n"
		"0.004999      vectoradd        4711    cudaDeviceSynchronize    [EXIT]   "
		"unfinished: abandoned without returning (4.00 ms)\n");
}

TEST("a function that the tables do not have is shown with its raw result")
{
	struct stream stream =
		begin_lines((struct gt_output_options){.returns = true, .time = GT_TIME_NONE});
	struct gt_event_call call = {
		.head = {.time = 9, .process = 12, .kind = GT_EVENT_call, .size = sizeof(call)},
		.function = 3000,
		.result = 0x1f,
	};

	pass_text(&stream, GT_EVENT_function, "cudaOfTheFuture", 3000);
	CHECK_INT(pass_event(&stream, &call.head), 0);
	end_stream(&stream, "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
			    "?                12      cudaOfTheFuture          [EXIT]   "
			    "returned=0x1f (0 ns)\n");
}

TEST("names that would steer the terminal are made harmless")
{
	struct stream stream =
		begin_stream(&gt_output_lines,
			     (struct gt_output_options){.returns = true, .time = GT_TIME_NONE});

	pass_text(&stream, GT_EVENT_process, "\033[2Jevil", 0);
	pass_failed_free(&stream);
	end_stream(&stream, "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
			    "?[2Jevil         4711      cudaFree               [EXIT]   ptr=0x1234 "
			    "returned=InvalidValue (250 ns)\n");
}

TEST("processes are shown only to who wants all")
{
	struct gt_event_exit end = {
		.head = {.time = 2000,
			 .process = PROCESS,
			 .kind = GT_EVENT_exit,
			 .size = sizeof(end)},
		.status = 7 << 8,
	};
	struct stream stream = begin_lines((struct gt_output_options){
		.returns = true, .processes = true, .time = GT_TIME_NONE});

	CHECK_INT(pass_event(&stream, &end.head), 0);
	end.status = SIGSEGV | 0x80;
	CHECK_INT(pass_event(&stream, &end.head), 0);
	end_stream(
		&stream,
		"PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		"vectoradd        4711    process                           parent=0 uid=0\n"
		"vectoradd        4711    process                           ended with status 7\n"
		"vectoradd        4711    process                           ended by signal 11\n");
}

static void pass_retain(struct stream *stream, unsigned depth)
{
	struct built call = begin("cuDevicePrimaryCtxRetain");

	pass(&call, "dev", 3);
	call.call.depth = (__u8)depth;
	back(&call, 101);
	pass_call(stream, &call, 2000, 0);
}

TEST("a name that is wider than its column moves only the rest of its line")
{
	struct stream stream = begin_lines((struct gt_output_options){.time = GT_TIME_NONE});

	pass_failed_free(&stream);
	pass_retain(&stream, 1);
	pass_failed_free(&stream);
	end_stream(&stream,
		   "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		   "vectoradd        4711      cudaFree               [ENTER]  ptr=0x1234\n"
		   "vectoradd        4711      cuDevicePrimaryCtxRetain [ENTER]  dev=3\n"
		   "vectoradd        4711      cudaFree               [ENTER]  ptr=0x1234\n");
}

TEST("names that no function can have leave the columns alone")
{
	struct stream stream = begin_lines((struct gt_output_options){.time = GT_TIME_NONE});

	pass_retain(&stream, 21);
	pass_failed_free(&stream);
	end_stream(&stream,
		   "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		   "vectoradd        4711                                              "
		   "cuDevicePrimaryCtxRetain "
		   "[ENTER]  dev=3\n"
		   "vectoradd        4711      cudaFree               [ENTER]  ptr=0x1234\n");
}

/* The entry (GT_EVENT_entry) or the return of a call of another thread of the process. */
static void pass_sync(struct stream *stream, enum gt_event_kind kind, __u32 thread, __u64 time,
		      __u64 duration, __u8 depth)
{
	struct built call = begin("cudaStreamSynchronize");

	pass(&call, "stream", 0x70);
	if (kind == GT_EVENT_call)
		back(&call, 0);
	finish(&call);
	call.call.head.kind = kind;
	call.call.head.time = time;
	call.call.head.process = PROCESS;
	call.call.head.thread = thread;
	call.call.head.device = GT_DEVICE_UNKNOWN;
	call.call.function = (__u32)gt_api_find("cudaStreamSynchronize");
	call.call.duration = duration;
	call.call.depth = depth;
	call.call.sequence = depth;
	pass_text(stream, GT_EVENT_function, "cudaStreamSynchronize", call.call.function);
	CHECK_INT(pass_event(stream, &call.call.head), 0);
}

TEST("once a second thread makes calls, lines have the thread, below new titles")
{
	struct stream stream = begin_lines(
		(struct gt_output_options){.entries = true, .time = GT_TIME_NONE, .returns = true});

	pass_sync(&stream, GT_EVENT_entry, 7, 2000, 0, 0);
	pass_sync(&stream, GT_EVENT_entry, 8, 2500, 0, 0);
	pass_sync(&stream, GT_EVENT_call, 7, 3000, 1000, 0);
	end_stream(
		&stream,
		"PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		"vectoradd        4711    cudaStreamSynchronize    [ENTER]  stream=0x70\n"
		"PROCESS          PID     TID     EVENT                    TYPE     DETAILS\n"
		"vectoradd        4711    8       cudaStreamSynchronize    [ENTER]  stream=0x70\n"
		"vectoradd        4711    7       cudaStreamSynchronize    [EXIT]   "
		"returned=Success (1.00 µs)\n");
}

static struct stream begin_one_line(bool entries)
{
	struct stream stream =
		begin_stream(&gt_output_one_line,
			     (struct gt_output_options){.entries = entries, .time = GT_TIME_NONE});

	pass_clock(&stream);
	pass_text(&stream, GT_EVENT_process, "vectoradd", 0);
	return stream;
}

TEST("one-line: a call is one line, with the names of the header, result and duration")
{
	for (int entries = 0; entries < 2; entries++) {
		struct stream stream = begin_one_line(entries);

		if (entries)
			pass_malloc(&stream, GT_EVENT_entry);
		pass_malloc(&stream, GT_EVENT_call);
		end_stream(&stream, "PROCESS          PID     CALL\n"
				    "vectoradd        4711    cudaMalloc(devPtr=0x7f0000000200, "
				    "size=4000) = Success <1.50 µs>\n");
	}
}

TEST("one-line: failed and abandoned calls are shown as such, nested ones are indented")
{
	struct stream stream = begin_one_line(false);

	pass_failed_free(&stream);
	pass_unfinished(&stream);
	end_stream(&stream, "PROCESS          PID     CALL\n"
			    "vectoradd        4711      cudaFree(devPtr=0x1234) = InvalidValue "
			    "<250 ns>\n"
			    "vectoradd        4711    cudaDeviceSynchronize() = ? (abandoned "
			    "without returning) <4.00 ms>\n");
}

TEST("one-line: a call around others, and one that a later call overtakes, is resumed")
{
	struct stream stream = begin_one_line(true);

	pass_sync(&stream, GT_EVENT_entry, 7, 2000, 0, 0);
	pass_sync(&stream, GT_EVENT_entry, 7, 2100, 0, 1);
	pass_sync(&stream, GT_EVENT_call, 7, 2200, 100, 1);
	pass_sync(&stream, GT_EVENT_entry, 8, 2300, 0, 0);
	pass_sync(&stream, GT_EVENT_call, 7, 3000, 1000, 0);
	pass_sync(&stream, GT_EVENT_call, 8, 3300, 1000, 0);
	end_stream(&stream,
		   "PROCESS          PID     CALL\n"
		   "vectoradd        4711    cudaStreamSynchronize(stream=0x70 <unfinished …>\n"
		   "vectoradd        4711      cudaStreamSynchronize(stream=0x70) = Success "
		   "<100 ns>\n"
		   "PROCESS          PID     TID     CALL\n"
		   "vectoradd        4711    8       cudaStreamSynchronize(stream=0x70 "
		   "<unfinished …>\n"
		   "vectoradd        4711    7       <… cudaStreamSynchronize resumed>) = Success "
		   "<1.00 µs>\n"
		   "vectoradd        4711    8       <… cudaStreamSynchronize resumed>) = Success "
		   "<1.00 µs>\n");
}

TEST("one-line: calls that overlap are whole lines where they return in their order")
{
	struct stream stream = begin_one_line(true);

	pass_sync(&stream, GT_EVENT_entry, 7, 2000, 0, 0);
	pass_sync(&stream, GT_EVENT_entry, 8, 2300, 0, 0);
	pass_sync(&stream, GT_EVENT_call, 7, 3000, 1000, 0);
	pass_sync(&stream, GT_EVENT_call, 8, 3300, 1000, 0);
	end_stream(&stream, "PROCESS          PID     TID     CALL\n"
			    "vectoradd        4711    7       cudaStreamSynchronize(stream=0x70) = "
			    "Success <1.00 µs>\n"
			    "vectoradd        4711    8       cudaStreamSynchronize(stream=0x70) = "
			    "Success <1.00 µs>\n");
}

TEST("one-line: a call that blocks for long is shown while it does, and at the end")
{
	struct stream stream = begin_one_line(true);

	pass_sync(&stream, GT_EVENT_entry, 7, 2000, 0, 0); /* long ago */
	CHECK_INT(stream.output->flush(stream.state), 0);
	CHECK_INT((int)lseek(stream.fd, 0, SEEK_END), 106);
	pass_sync(&stream, GT_EVENT_entry, 7, UINT64_MAX / 4, 0, 1);
	CHECK_INT(stream.output->flush(stream.state), 0);
	CHECK_INT((int)lseek(stream.fd, 0, SEEK_END), 106);
	end_stream(&stream,
		   "PROCESS          PID     CALL\n"
		   "vectoradd        4711    cudaStreamSynchronize(stream=0x70 <unfinished …>\n"
		   "vectoradd        4711      cudaStreamSynchronize(stream=0x70 <unfinished …>\n");
}

TEST("a stream without calls has its head line, at the end")
{
	struct stream stream = begin_lines((struct gt_output_options){.returns = true});

	pass_account(&stream);
	end_stream(&stream, WALL_HEAD);
}

TEST("JSON has an object for a call, with arguments and result")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});

	pass_text(&stream, GT_EVENT_process, "vectoradd", 0);
	pass_malloc(&stream, GT_EVENT_entry);
	pass_malloc(&stream, GT_EVENT_call);
	end_stream(&stream,
		   "{\"schema\":\"gputap.call.1\",\"time\":2000,\"clock\":\"monotonic\","
		   "\"duration\":1500,\"pid\":4711,\"tid\":4712,\"process\":\"vectoradd\","
		   "\"parent\":0,"
		   "\"device\":null,\"context\":null,\"name\":\"cudaMalloc\",\"args\":{\"devPtr\":"
		   "\"0x7f0000000200\",\"size\":4000},\"operation\":\"alloc\","
		   "\"address\":\"0x7f0000000200\",\"bytes\":4000,\"result\":\"cudaSuccess\","
		   "\"nested\":false}\n");
}

TEST("JSON shows nested, failed and unfinished calls")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});

	pass_failed_free(&stream);
	pass_unfinished(&stream);
	end_stream(
		&stream,
		"{\"schema\":\"gputap.call.1\",\"time\":8750,\"clock\":\"monotonic\","
		"\"duration\":250,\"pid\":4711,\"tid\":4712,\"process\":\"?\",\"parent\":0,"
		"\"device\":null,"
		"\"context\":null,\"name\":\"cudaFree\",\"args\":{\"devPtr\":\"0x1234\"},"
		"\"operation\":\"free\",\"address\":\"0x1234\","
		"\"result\":\"cudaErrorInvalidValue\",\"nested\":true}\n"
		"{\"schema\":\"gputap.call.1\",\"time\":1000000,\"clock\":\"monotonic\","
		"\"duration\":4000000,\"pid\":4711,\"tid\":4712,\"process\":\"?\",\"parent\":0,"
		"\"device\":null,\"context\":null,\"name\":\"cudaDeviceSynchronize\",\"args\":{},"
		"\"result\":null,\"nested\":false,\"unfinished\":true}\n");
}

TEST("JSON shows the context, the device's UUID, the direction and the thread's own stream")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});
	static const uint8_t uuid[16] = {0xab, [15] = 0xcd};
	gt_autofree struct gt_event *device = gt_device_event(PROCESS, 1, uuid, "NVIDIA H200");
	struct gt_event_context context = {
		.head = {.time = 1,
			 .process = PROCESS,
			 .kind = GT_EVENT_context,
			 .size = sizeof(context),
			 .device = 1},
		.handle = 0x55aa00,
		.number = 7,
	};
	struct built call = begin("cudaMemcpyAsync");

	CHECK_INT(pass_event(&stream, device), 0);
	CHECK_INT(pass_event(&stream, &context.head), 0);
	pass_text(&stream, GT_EVENT_function, "cudaMemcpyAsync",
		  (__u32)gt_api_find("cudaMemcpyAsync"));
	pass(&call, "dst", 0x1000);
	pass(&call, "src", 0x2000);
	pass(&call, "count", 64);
	pass(&call, "kind", 1);
	pass(&call, "stream", 0);
	back(&call, 0);
	finish(&call);
	call.call.head = (struct gt_event){.time = 3000,
					   .process = PROCESS,
					   .thread = PROCESS,
					   .kind = GT_EVENT_call,
					   .size = call.call.head.size,
					   .device = 1};
	call.call.function = (__u32)gt_api_find("cudaMemcpyAsync");
	call.call.duration = 1000;
	call.call.context = 7;
	call.call.state = GT_CALL_PER_THREAD;
	CHECK_INT(pass_event(&stream, &call.call.head), 0);
	end_stream(&stream,
		   "{\"schema\":\"gputap.call.1\",\"time\":2000,\"clock\":\"monotonic\","
		   "\"duration\":1000,\"pid\":4711,\"tid\":4711,\"process\":\"?\",\"parent\":0,"
		   "\"device\":1,\"context\":\"0x55aa00\","
		   "\"device_uuid\":\"ab000000-0000-0000-0000-0000000000cd\","
		   "\"name\":\"cudaMemcpyAsync\",\"args\":{\"dst\":\"0x1000\",\"src\":\"0x2000\","
		   "\"count\":64,\"kind\":\"H2D\",\"stream\":\"per-thread\"},"
		   "\"direction\":\"H2D\",\"operation\":\"copy\",\"destination\":\"0x1000\","
		   "\"source\":\"0x2000\",\"bytes\":64,\"stream\":\"per-thread\","
		   "\"result\":\"cudaSuccess\",\"nested\":false,"
		   "\"per_thread\":true}\n");
}

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST("JSON and lines show a process's cgroup and container once they are known")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});

	pass_text(&stream, GT_EVENT_process, "vectoradd", 0);
	pass_text(&stream, GT_EVENT_cgroup, "/user.slice", 0);
	pass_text(&stream, GT_EVENT_command, "./vectoradd", 0);
	pass_text(&stream, GT_EVENT_cgroup, "/docker/" CONTAINER, 0);
	end_stream(&stream,
		   "{\"schema\":\"gputap.process.1\",\"time\":1000,\"clock\":\"monotonic\","
		   "\"pid\":4711,\"process\":\"vectoradd\",\"parent\":0,\"command\":null,"
		   "\"cgroup\":\"/user.slice\",\"container\":null}\n"
		   "{\"schema\":\"gputap.process.1\",\"time\":1000,\"clock\":\"monotonic\","
		   "\"pid\":4711,\"process\":\"vectoradd\",\"parent\":0,"
		   "\"command\":\"./vectoradd\",\"cgroup\":\"/docker/" CONTAINER "\","
		   "\"container\":\"" CONTAINER "\"}\n");
	stream = begin_lines((struct gt_output_options){.returns = true, .time = GT_TIME_NONE});
	pass_text(&stream, GT_EVENT_cgroup, "/docker/" CONTAINER, 0);
	end_stream(&stream,
		   "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
		   "vectoradd        4711    process                           container=" CONTAINER
		   " cgroup=/docker/" CONTAINER "\n");
}

TEST("JSON has notes and the account, and of other events nothing")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});

	pass_clock(&stream);
	pass_text(&stream, GT_EVENT_library, "/lib/x.so", 0);
	pass_text(&stream, GT_EVENT_note, "a \"gap\"\n", 0);
	pass_account(&stream);
	end_stream(&stream,
		   "{\"schema\":\"gputap.note.1\",\"time\":1000,\"clock\":\"monotonic\","
		   "\"text\":\"a \\\"gap\\\"\\n\"}\n"
		   "{\"schema\":\"gputap.account.1\",\"time\":6000000,\"clock\":\"monotonic\","
		   "\"via\":null,\"made\":10,\"complete\":2,\"unfinished\":1,\"lost\":3,"
		   "\"filtered\":4,"
		   "\"orphans\":5,\"entries_lost\":6,\"others_lost\":7,\"incomplete\":true,"
		   "\"gaps\":[],\"gaps_omitted\":0}\n");
}

/* A record event of these parts, which may claim to be longer than they are. */
static void pass_record(struct stream *stream, const char *parts, uint16_t name_length,
			uint32_t text_length)
{
	struct gt_event_record *event = (void *)gt_event_new(GT_EVENT_record, parts, strlen(parts));

	event->head.time = 2000;
	event->gpu_time = name_length ? 77 : 0;
	event->name_length = name_length;
	event->text_length = text_length;
	CHECK(!gt_event_check(&event->head, event->head.size));
	CHECK_INT(pass_event(stream, &event->head), 0);
	free(event);
}

static void pass_records(struct stream *stream)
{
	pass_clock(stream);
	pass_record(stream, "ring{ .a = 1 }{\"a\":1}", 4, 10);
	pass_record(stream, "block\t9\"block 9\"", 0, 7);
	/* Of a capture that is not trusted. */
	pass_record(stream, "ring1{\"a\":", 4, 1);
	pass_record(stream, "ring", 65535, UINT32_MAX);
}

TEST("records are lines, and JSON that is valid whatever a capture has")
{
	struct stream lines =
		begin_stream(&gt_output_lines, (struct gt_output_options){.time = GT_TIME_NONE});
	struct stream json = begin_stream(&gt_output_json, (struct gt_output_options){0});

	pass_records(&lines);
	end_stream(&lines, "PROCESS          PID     EVENT                    TYPE     DETAILS\n"
			   "-                -       ring                     [GPU]    { .a = 1 }\n"
			   "-                -       printk                   [GPU]    block?9\n"
			   "-                -       ring                     [GPU]    1\n"
			   "-                -       ring                     [GPU]\n");
	pass_records(&json);
#define RECORD "{\"schema\":\"gputap.record.1\",\"time\":2000,\"clock\":\"monotonic\",\"ring\":"
	end_stream(&json, RECORD "\"ring\",\"gpu_time\":77,\"record\":{\"a\":1}}\n" RECORD
				 "null,\"gpu_time\":null,\"record\":\"block 9\"}\n" RECORD
				 "\"ring\",\"gpu_time\":77,\"record\":\"{\\\"a\\\":\"}\n" RECORD
				 "\"ring\",\"gpu_time\":77,\"record\":\"\"}\n");
#undef RECORD
}

TEST("the table counts calls, errors and abandoned calls, the longest total first")
{
	struct stream stream = begin_stream(&gt_output_counts, (struct gt_output_options){0});

	pass_failed_free(&stream);
	pass_malloc(&stream, GT_EVENT_entry);
	pass_malloc(&stream, GT_EVENT_call);
	pass_malloc(&stream, GT_EVENT_call);
	pass_unfinished(&stream);
	end_stream(
		&stream,
		"     CALLS   ERRORS     TOTAL      MEAN       P50       P99       MAX  FUNCTION\n"
		"         2        0   3.00 µs   1.50 µs   1.41 µs   1.50 µs   1.50 µs  "
		"cudaMalloc\n"
		"         1        1    250 ns    250 ns    250 ns    250 ns    250 ns  cudaFree\n"
		"         1        0      0 ns      0 ns      0 ns      0 ns      0 ns  "
		"cudaDeviceSynchronize "
		"(1 unfinished)\n");
}

TEST("a table of nothing has its head")
{
	struct stream stream = begin_stream(&gt_output_counts, (struct gt_output_options){0});

	end_stream(&stream, "     CALLS   ERRORS     TOTAL      MEAN       P50       P99       "
			    "MAX  FUNCTION\n");
}

TEST("a pipe that nobody reads is reported as such, and stays so")
{
	struct stream stream = begin_stream(&gt_output_json, (struct gt_output_options){0});
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	CHECK_INT(pipe(ends), 0);
	close(ends[0]);
	dup2(ends[1], stream.fd);
	pass_failed_free(&stream);
	CHECK_INT(stream.output->flush(stream.state), -EPIPE);
	CHECK_INT(stream.output->flush(stream.state), -EPIPE);
	CHECK_INT(stream.output->close(stream.state, NULL), -EPIPE);
	close(ends[1]);
	close(stream.fd);
	gt_names_free(stream.names);
}

TEST("a file in a directory that is not there is rejected, with its name")
{
	const struct gt_output *outputs[] = {&gt_output_lines, &gt_output_json, &gt_output_counts,
					     &gt_output_capture};

	for (size_t i = 0; i < gt_countof(outputs); i++) {
		struct gt_output_options options = {.path = "/nowhere/file"};
		struct gt_diag diag = {0};
		void *state;

		CHECK_INT(outputs[i]->open(&options, &state, &diag), -ENOENT);
		CHECK_STR(diag.place, "/nowhere/file");
		CHECK_STR(diag.text,
			  "No such file or directory: create its folder, or choose another file");
	}
}

TEST("every output has a name by which it is found, and a line of help")
{
	size_t count;
	const struct gt_output *const *outputs = gt_outputs(&count);

	CHECK(count >= 4);
	for (size_t i = 0; i < count; i++) {
		CHECK(gt_output_find(outputs[i]->name) == outputs[i]);
		CHECK(*outputs[i]->help);
	}
	CHECK(gt_output_find("telegram") == NULL);
}

TEST_MAIN
