/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The report "why" of system calls, page faults, jobs of the DRM scheduler and Xids, on events
 * written by hand.
 */
#include "report/breakdown.h"

#include "timeline.h"

static struct {
	struct gt_report_options options;
	void *state;
} shown;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_report_why.event(shown.state, names, event);
}

static void start_with(const struct gt_report_options *options)
{
	if (shown.state)
		gt_report_why.close(shown.state);
	shown.options = *options;
	shown.options.final = true;
	CHECK_INT(gt_report_why.open(&shown.options, &shown.state), 0);
	STREAM_INTO(NULL, take);
	register_kernel(KERNEL, "steps");
}

static void start(unsigned events, uint64_t top)
{
	start_with(&(struct gt_report_options){.events.kinds = events, .top = top});
}

static void expect(const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;

	CHECK_INT(gt_report_why.put_text(shown.state, &shown.options, stream.names, stream.now,
					 &report),
		  0);
	CHECK_STR(gt_strbuf_string(&report), expected);
	CHECK_INT(gt_report_why.check(shown.state, &shown.options, NULL), 0);
}

static void expect_json(const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&report);

	gt_json_object_begin(&json, NULL);
	CHECK_INT(gt_report_why.put_json(shown.state, &shown.options, stream.names, stream.now,
					 &json),
		  0);
	gt_json_object_end(&json);
	if (!strstr(gt_strbuf_string(&report), expected))
		TAP_FAIL("'%s' is not in %s", expected, gt_strbuf_string(&report));
}

static void expect_missing(const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	CHECK_INT(gt_report_why.put_text(shown.state, &shown.options, stream.names, stream.now,
					 &report),
		  0);
	CHECK_INT(gt_report_why.check(shown.state, &shown.options, &diag), -ENOENT);
	CHECK_STR(diag.text, expected);
}

static void feed_at(struct gt_event *event, uint64_t time, uint32_t process)
{
	event->process = event->thread = process;
	event->time = time;
	feed_event(event);
}

/* ---- page faults ------------------------------------------------------------------------ */

static void feed_fault(uint64_t begin, uint64_t end, uint64_t address)
{
	struct gt_event_page_fault fault = {
		.head = {.kind = GT_EVENT_page_fault, .size = sizeof(fault)},
		.duration = end - begin,
		.address = address,
	};

	feed_at(&fault.head, end, 100);
}

static void feed_io(uint64_t begin, uint64_t end)
{
	const char disk[GT_DEVICE_NAME_SIZE] = "nvme0n1";
	gt_autofree struct gt_event *request = gt_event_new(GT_EVENT_block_io, disk, sizeof(disk));

	((struct gt_event_block_io *)request)->duration = end - begin;
	((struct gt_event_block_io *)request)->bytes = 4096;
	feed_at(request, end, 100);
}

static void feed_sleep(uint64_t begin, uint64_t end)
{
	gt_autofree struct gt_event *sleep = gt_event_new(GT_EVENT_off_cpu, "kworker", 7);

	((struct gt_event_off_cpu *)sleep)->duration = end - begin;
	((struct gt_event_off_cpu *)sleep)->state = 2;
	((struct gt_event_off_cpu *)sleep)->waker_thread = 55;
	feed_at(sleep, end, 100);
}

/* One in a call, with a sleep for the disk; a short one outside of calls. */
static void feed_faults(void)
{
	uint64_t zero = stream.now;

	feed_io(zero + 12000, zero + 30000);
	feed_sleep(zero + 11000, zero + 31000);
	feed_fault(zero + 10000, zero + 32000, 0x7f001000);
	stream.now = zero + 4000;
	stream.duration = 40000;
	call_with("cudaFree", "devPtr", DEVICE, 0); /* from 5000 to 45000 */
	feed_fault(zero + 50000, zero + 51000, 0x7f002000);
	feed_fault(zero + 60000, zero + 60000, 0x7f003000); /* its duration is not known */
	stream.duration = 1000;
	stream.now = zero + 70000;
	call_with("cudaGetLastError", NULL, 0, 0);
}

/* Of the faults above. */
#define FIRST_FAULT                                                                                \
	"100 train: 2 page faults, the longest first\n"                                            \
	"fault 1 at T+12.0 µs: page fault of thread 100 at 0x7f001000 took 22.0 µs.\n"           \
	"  1 request of block I/O, 4.00 KiB, of 18.0 µs\n"                                        \
	"  off-CPU for 20.0 µs, of it waiting for a CPU 0 ns\n"                                   \
	"  T+12.0 µs  thread 100 spent 22.0 µs in cudaFree\n"                                    \
	"      1 page fault of 22.0 µs\n"                                                         \
	"      1 request of block I/O, 4.00 KiB, of 18.0 µs\n"                                    \
	"      off-CPU for 20.0 µs, of it waiting for a CPU 0 ns\n"

#define SECOND_FAULT                                                                               \
	"fault 2 at T+52.0 µs: page fault of thread 100 at 0x7f002000 took 1.00 µs.\n"           \
	"  T+52.0 µs  thread 100 computed for 1.00 µs\n"

TEST("page faults are explained by the call, and by what was seen in them, the longest first")
{
	start(GT_EXPLAIN_FAULTS, 0);
	feed_faults();
	expect(FIRST_FAULT SECOND_FAULT);
	expect_json("\"explained_faults\":2,\"faults\":[{\"start\":");
	expect_json(
		"\"name\":\"page fault\",\"failed\":false,\"address\":\"0x7f001000\",\"inside\":{"
		"\"syscall\":null,\"syscall_time\":0,\"jobs\":0,\"job\":null,\"page_faults\":0");
}

TEST("of page faults only as many as are asked for are kept, and all are counted")
{
	start(GT_EXPLAIN_FAULTS, 1);
	feed_faults();
	expect(FIRST_FAULT);
}

TEST("of page faults only the one is explained whose number is asked for")
{
	start_with(&(struct gt_report_options){
		.events.kinds = GT_EXPLAIN_FAULTS, .number = 2, .top = 1});
	feed_faults();
	expect("100 train: 2 page faults, the longest first\n" SECOND_FAULT);
	expect_json("\"explained_faults\":2,\"faults\":[{\"start\":52000,");
	start_with(&(struct gt_report_options){.events.kinds = GT_EXPLAIN_FAULTS, .number = 3});
	feed_faults();
	expect_missing("there is no fault 3: at most 2 page faults of a process");
}

/* ---- system calls ----------------------------------------------------------------------- */

static void feed_syscall(uint64_t begin, uint64_t end, unsigned number, int64_t result)
{
	struct gt_event_syscall event = {
		.head = {.kind = GT_EVENT_syscall, .size = sizeof(event)},
		.duration = end - begin,
		.number = (__u16)number,
		.result = result,
	};

	feed_at(&event.head, end, 100);
}

/* As of x86-64. */
enum { READ = 0, FUTEX = 202 };

/* A read in a call, with a sleep for the disk, and a futex outside of calls, which fails. */
static void feed_syscalls(void)
{
	uint64_t zero = stream.now;

	feed_io(zero + 12000, zero + 30000);
	feed_sleep(zero + 11000, zero + 31000);
	feed_syscall(zero + 10000, zero + 32000, READ, 4096);
	stream.now = zero + 4000;
	stream.duration = 40000;
	call_with("cudaFree", "devPtr", DEVICE, 0); /* from 5000 to 45000 */
	feed_syscall(zero + 50000, zero + 53000, FUTEX, -11);
	stream.duration = 1000;
	stream.now = zero + 70000;
	call_with("cudaGetLastError", NULL, 0, 0);
}

#define READ_SYSCALL(n)                                                                            \
	"syscall " n " at T+12.0 µs: read of thread 100 took 22.0 µs.\n"                         \
	"  1 request of block I/O, 4.00 KiB, of 18.0 µs\n"                                        \
	"  off-CPU for 20.0 µs, of it waiting for a CPU 0 ns\n"                                   \
	"  T+12.0 µs  thread 100 spent 22.0 µs in cudaFree\n"                                    \
	"      read took 22.0 µs\n"                                                               \
	"      1 request of block I/O, 4.00 KiB, of 18.0 µs\n"                                    \
	"      off-CPU for 20.0 µs, of it waiting for a CPU 0 ns\n"
#define FUTEX_SYSCALL(n)                                                                           \
	"syscall " n " at T+52.0 µs: futex of thread 100 took 3.00 µs and failed.\n"             \
	"  T+52.0 µs  thread 100 spent 3.00 µs in futex\n"

TEST("system calls are explained by the call, and by what was seen in them, the longest first")
{
	start(GT_EXPLAIN_SYSCALLS, 0);
	feed_syscalls();
	expect("100 train: 2 system calls, the longest first\n" READ_SYSCALL("1")
		       FUTEX_SYSCALL("2"));
	expect_json("\"explained_syscalls\":2,\"syscalls\":[{\"start\":12000,\"duration\":22000,"
		    "\"operation\":null,\"name\":\"read\",\"failed\":false,\"inside\":{"
		    "\"syscall\":null,\"syscall_time\":0,\"jobs\":0,\"job\":null,"
		    "\"page_faults\":0,\"page_fault_time\":0,\"io\":1,");
}

TEST("of a system call that is longer than what is explained, the part and the duration are shown")
{
	uint64_t zero;

	start(GT_EXPLAIN_FAULTS, 0);
	zero = stream.now;
	feed_fault(zero + 10000, zero + 32000, 0x7f001000);
	feed_syscall(zero + 6000, zero + 40000, READ, 4096);
	stream.now = zero + 4000;
	stream.duration = 40000;
	call_with("cudaFree", "devPtr", DEVICE, 0); /* from 5000 to 45000 */
	stream.duration = 1000;
	expect("100 train: 1 page fault\n"
	       "fault 1 at T+12.0 µs: page fault of thread 100 at 0x7f001000 took 22.0 µs.\n"
	       "  read took 34.0 µs, of it in this time 22.0 µs\n"
	       "  T+12.0 µs  thread 100 spent 22.0 µs in cudaFree\n"
	       "      read took 34.0 µs, of it in this time 22.0 µs\n"
	       "      1 page fault of 22.0 µs\n");
}

TEST("of system calls only those of the names that are asked for are explained")
{
	struct gt_strings names = {0};
	struct gt_report_options options = {.events.kinds = GT_EXPLAIN_SYSCALLS,
					    .events.syscalls = &names};

	CHECK_INT(gt_strings_add(&names, "!read", 5), 0);
	start_with(&options);
	feed_syscalls();
	expect("100 train: 1 system call\n" FUTEX_SYSCALL("1"));
	gt_strings_free(&names);
	CHECK_INT(gt_strings_add(&names, "fut*", 4), 0);
	start_with(&options);
	feed_syscalls();
	expect("100 train: 1 system call\n" FUTEX_SYSCALL("1"));
	gt_strings_free(&names);
	CHECK_INT(gt_strings_add(&names, "write", 5), 0);
	start_with(&options);
	feed_syscalls();
	expect_missing("no such system call was seen: this needs the source syscall (-e)");
	gt_strings_free(&names);
}

TEST("of system calls only the one is explained whose number is asked for")
{
	start_with(&(struct gt_report_options){
		.events.kinds = GT_EXPLAIN_SYSCALLS, .number = 2, .top = 1});
	feed_syscalls();
	expect("100 train: 2 system calls, the longest first\n" FUTEX_SYSCALL("2"));
	start_with(&(struct gt_report_options){.events.kinds = GT_EXPLAIN_SYSCALLS, .number = 3});
	feed_syscalls();
	expect_missing("there is no syscall 3: at most 2 system calls of a process");
}

/* ---- jobs ------------------------------------------------------------------------------- */

static void feed_job(uint64_t context, uint64_t time, uint32_t process, unsigned operation)
{
	const char names[2 * GT_DRM_NAME_SIZE] = "gfx";
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_drm_job, names, sizeof(names));
	struct gt_event_drm_job *job = (void *)event;

	job->context = context;
	job->seqno = 1;
	job->operation = (__u16)operation;
	feed_at(event, time, process);
}

static void feed_dependency(uint64_t context, uint64_t on_context, uint64_t time,
			    unsigned operation, uint64_t blocked)
{
	struct gt_event_drm_dependency event = {
		.head = {.kind = GT_EVENT_drm_dependency, .size = sizeof(event)},
		.context = context,
		.seqno = 1,
		.on_context = on_context,
		.on_seqno = 1,
		.operation = operation,
		.blocked = blocked,
	};

	feed_at(&event.head, time, 0);
}

/* Job 7 of train waits for job 8 of another process, and this one for job 9 of a third one. */
static void feed_jobs(void)
{
	uint64_t zero = stream.now;
	struct gt_event_syscall ioctl = {
		.head = {.kind = GT_EVENT_syscall, .size = sizeof(ioctl)},
		.duration = 3000,
		.number = 16, /* ioctl on x86-64 */
		.argument1 = 0xc0104640,
	};

	switch_process(4711, "compositor");
	switch_process(4712, "decoder");
	switch_process(100, "train");
	feed_job(5, zero + 100, 100, GT_DRM_QUEUE);
	feed_job(5, zero + 200, 100, GT_DRM_RUN);
	feed_job(5, zero + 300, 100, GT_DRM_DONE);
	feed_job(9, zero + 500, 4712, GT_DRM_QUEUE);
	feed_job(9, zero + 600, 4712, GT_DRM_RUN);
	feed_job(8, zero + 700, 4711, GT_DRM_QUEUE);
	feed_dependency(8, 9, zero + 710, GT_DRM_DEPENDS, 0);
	feed_job(7, zero + 3000, 100, GT_DRM_QUEUE);
	feed_dependency(7, 8, zero + 3010, GT_DRM_DEPENDS, 0);
	feed_at(&ioctl.head, zero + 4000, 100);
	stream.now = zero;
	stream.duration = 4000;
	call_with("cudaFree", "devPtr", DEVICE, 0); /* from 1000 to 5000 */
	feed_job(9, zero + 20000, 4712, GT_DRM_DONE);
	feed_dependency(8, 9, zero + 20000, GT_DRM_UNBLOCKED, 19300);
	feed_job(8, zero + 20000, 4711, GT_DRM_RUN);
	feed_job(8, zero + 40000, 4711, GT_DRM_DONE);
	feed_dependency(7, 8, zero + 40000, GT_DRM_UNBLOCKED, 37000);
	feed_job(7, zero + 40000, 100, GT_DRM_RUN);
	feed_job(7, zero + 45000, 100, GT_DRM_DONE);
}

TEST("a job is explained by its submission, and by the jobs whose fences it waited for")
{
	start(GT_EXPLAIN_JOBS, 0);
	feed_jobs();
	expect("100 train: 2 jobs, the longest first\n"
	       "job 1 at T+3.00 µs: job 7:1 of ring gfx: queued, waited 37.0 µs for fence 8:1 of "
	       "process 4711, ran after 37.0 µs, done after 42.0 µs.\n"
	       "  submitted by thread 100 in cudaFree, by ioctl _IOC(_IOC_READ|_IOC_WRITE, 0x46, "
	       "0x40, 0x10)\n"
	       "  waited for job 8:1 of ring gfx: queued, waited 19.3 µs for fence 9:1 of process "
	       "4712, ran after 19.3 µs, done after 39.3 µs, of process 4711 compositor\n"
	       "  waited for job 9:1 of ring gfx: queued, ran after 100 ns, done after 19.5 µs, of "
	       "process 4712 decoder\n"
	       "job 2 at T+2.10 µs: job 5:1 of ring gfx: queued, ran after 100 ns, "
	       "done after 200 ns.\n"
	       "  submitted by thread 100\n"
	       "4711 compositor: 1 job\n"
	       "job 1 at T+700 ns: job 8:1 of ring gfx: queued, waited 19.3 µs for fence 9:1 of "
	       "process 4712, ran after 19.3 µs, done after 39.3 µs.\n"
	       "  submitted by thread 4711\n"
	       "  waited for job 9:1 of ring gfx: queued, ran after 100 ns, done after 19.5 µs, of "
	       "process 4712 decoder\n"
	       "4712 decoder: 1 job\n"
	       "job 1 at T+500 ns: job 9:1 of ring gfx: queued, ran after 100 ns, done after 19.5 "
	       "µs.\n"
	       "  submitted by thread 4712\n");
}

TEST("of jobs only the one is explained that has the fence, or the number, that is asked for")
{
	const struct gt_report_options fence = {
		.events = {.kinds = GT_EXPLAIN_JOBS, .fence_context = 5, .fence_seqno = 1}};
	const struct gt_report_options number = {.events.kinds = GT_EXPLAIN_JOBS, .number = 2};

	start_with(&fence);
	feed_jobs();
	expect("100 train: 1 job\n"
	       "job 1 at T+2.10 µs: job 5:1 of ring gfx: queued, ran after 100 ns, "
	       "done after 200 ns.\n"
	       "  submitted by thread 100\n");
	start_with(&number);
	feed_jobs();
	expect("100 train: 2 jobs, the longest first\n"
	       "job 2 at T+2.10 µs: job 5:1 of ring gfx: queued, ran after 100 ns, "
	       "done after 200 ns.\n"
	       "  submitted by thread 100\n");
	start_with(&fence);
	feed_faults();
	expect_missing("no job with the fence 5:1 was seen: 'gputap trace -e drm' prints jobs with "
		       "theirs");
}

/* ---- Xids ------------------------------------------------------------------------------- */

static void feed_xid(uint64_t time, uint32_t process, uint32_t code)
{
	gt_autofree struct gt_event *event =
		gt_event_new(GT_EVENT_nvidia_xid, "0000:01:00.0 MMU fault", 22);

	((struct gt_event_nvidia_xid *)event)->code = code;
	feed_at(event, time, process);
}

static void feed_fatal_kernel(uint32_t process)
{
	uint64_t zero = stream.now;

	launch(KERNEL, 1, 64, 0x11, 0); /* from 1000 to 2000: it ends before */
	feed_work(GT_GPU_KERNEL, zero + 1500, zero + 1600, zero + 1700);
	launch(KERNEL, 1, 64, 0x11, 0); /* from 3000 to 4000 */
	feed_work(GT_GPU_KERNEL, zero + 3500, zero + 3600, zero + 9000);
	feed_xid(zero + 5000, process, 31);
	stream.now = zero + 3500;
	stream.duration = 5500;
	call_with("cudaDeviceSynchronize", NULL, 0, 700); /* from 4500 to 10000 */
	stream.duration = 1000;
	call_with("cudaFree", "devPtr", DEVICE, 700);
	call_with("cudaGetLastError", NULL, 0, 0);
}

TEST("an Xid is explained by the operation and the call before it, and the failures after it")
{
	start(GT_EXPLAIN_XIDS, 0);
	feed_fatal_kernel(100);
	expect("100 train: 1 Xid\n"
	       "Xid 1 at T+7.00 µs: 31 (GPU memory page fault): 0000:01:00.0 MMU fault\n"
	       "  1 operation had been submitted and had not ended, last steps #2, 1.50 µs before\n"
	       "  cudaDeviceSynchronize of thread 100 began 500 ns before and returned 5.00 µs "
	       "after\n"
	       "  2 calls failed after it, first cudaDeviceSynchronize of thread 100, 5.00 µs "
	       "after\n");
}

TEST("an Xid of another process is not a traced process's, and one of no process is")
{
	start(GT_EXPLAIN_XIDS, 0);
	feed_fatal_kernel(0);
	feed_xid(stream.now + 10, 4711, 43);
	expect("100 train: 1 Xid\n"
	       "Xid 1 at T+7.00 µs: 31 (GPU memory page fault): 0000:01:00.0 MMU fault\n"
	       "  1 operation had been submitted and had not ended, last steps #2, 1.50 µs before\n"
	       "  cudaDeviceSynchronize of thread 100 began 500 ns before and returned 5.00 µs "
	       "after\n"
	       "  2 calls failed after it, first cudaDeviceSynchronize of thread 100, 5.00 µs "
	       "after\n"
	       "4711 ?: 1 Xid\n"
	       "Xid 1 at T+0 ns: 43 (GPU stopped processing): 0000:01:00.0 MMU fault\n");
}

TEST("of Xids only the one is explained whose number is asked for")
{
	uint64_t zero;

	start_with(&(struct gt_report_options){.events.kinds = GT_EXPLAIN_XIDS, .number = 2});
	call_with("cudaGetLastError", NULL, 0, 0);
	zero = stream.now;
	feed_xid(zero + 1000, 100, 31);
	feed_xid(zero + 2000, 100, 43);
	stream.now = zero + 5000;
	call_with("cudaGetLastError", NULL, 0, 0);
	expect("100 train: 2 Xids, the earliest first\n"
	       "Xid 2 at T+6.00 µs: 43 (GPU stopped processing): 0000:01:00.0 MMU fault\n"
	       "  cudaGetLastError of thread 100 began 3.00 µs before and returned 2.00 µs "
	       "before\n");
}

/* ---- all -------------------------------------------------------------------------------- */

TEST("what is asked for and was not seen is an error that names its source")
{
	start(GT_EXPLAIN_FAULTS, 0);
	call_with("cudaGetLastError", NULL, 0, 0);
	expect_missing("no page fault with a known duration was seen: this needs the source fault "
		       "(-e)");
	start(GT_EXPLAIN_JOBS, 0);
	feed_faults();
	expect_missing("no job of the DRM scheduler was seen: this needs the source drm (-e)");
	start(GT_EXPLAIN_FAULTS | GT_EXPLAIN_XIDS, 0);
	feed_faults();
	expect_missing("no Xid was seen: this needs the source nvidia (-e)");
	gt_report_why.close(shown.state);
	gt_names_free(stream.names);
}

TEST_MAIN
