/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of `gputap report`, on events written by hand. */
#include "report/breakdown.h"

#include "breakdown.h"

static struct {
	struct gt_report_options options;
	void *state;
} shown;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_report_breakdown.event(shown.state, names, event);
}

static void start(void)
{
	if (shown.state)
		gt_report_breakdown.close(shown.state);
	shown.options = (struct gt_report_options){.top = 10, .final = true};
	CHECK_INT(gt_report_breakdown.open(&shown.options, &shown.state), 0);
	STREAM_INTO(NULL, take);
	register_kernel(KERNEL, "steps");
}

/* The lines of the report from the one with these words on, up to an empty line. */
static void expect_table(const char *title, const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;
	const char *begin, *end;

	CHECK_INT(gt_report_breakdown.put_text(shown.state, &shown.options, stream.names,
					       stream.now, &report),
		  0);
	begin = strstr(gt_strbuf_string(&report), title);
	while (begin && begin > gt_strbuf_string(&report) && begin[-1] != '\n')
		begin--;
	end = begin ? strstr(begin, "\n\n") : NULL;
	if (!end || (size_t)(end + 1 - begin) != strlen(expected) ||
	    strncmp(begin, expected, strlen(expected)))
		TAP_FAIL("not in the report:\n%s\nbut:\n%s", expected, gt_strbuf_string(&report));
}

static void expect_json(const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&report);

	gt_json_object_begin(&json, NULL);
	CHECK_INT(gt_report_breakdown.put_json(shown.state, &shown.options, stream.names,
					       stream.now, &json),
		  0);
	gt_json_object_end(&json);
	if (!strstr(gt_strbuf_string(&report), expected))
		TAP_FAIL("'%s' is not in %s", expected, gt_strbuf_string(&report));
}

/* Two kernels and a copy to the host; the call after each waits for it, and returns later. */
static void run_steps(void)
{
	start();
	for (unsigned i = 0; i < 2; i++) {
		launch_kernel(0x11, stream.now + 2000, stream.now + 12000);
		wait_until(0x11, stream.now + 14000);
	}
	stream.duration = 5000;
	copy(HOST, DEVICE, 64, D2H);
	feed_work(GT_GPU_COPY_TO_HOST, stream.now - 4000, stream.now - 3000, stream.now - 1000);
	stream.duration = 1000;
}

TEST("report: functions that wait have a row, with the time in which a GPU worked for them")
{
	run_steps();
	expect_table(
		"WAITED IN",
		"WAITED IN              COUNT    TOTAL     MEAN      P50      P99  FOR THE GPU\n"
		"cudaStreamSynchronize      2  26.0 µs  13.0 µs  13.0 µs  13.0 µs      18.0 µs\n"
		"cudaMemcpy                 1  5.00 µs  5.00 µs  5.00 µs  5.00 µs      4.00 µs\n");
	expect_json("\"waits\":[{\"function\":\"cudaStreamSynchronize\",\"total\":26000,"
		    "\"for_gpu\":18000,\"duration\":{\"count\":2,\"mean\":13000,");
	expect_json("{\"function\":\"cudaMemcpy\",\"total\":5000,\"for_gpu\":4000,");
}

TEST("report: the parts of the wall time, the kernels and the copies have rows with their times")
{
	run_steps();
	expect_table("WALL TIME", "WALL TIME                TIME    SHARE  GPU IDLE\n"
				  "CPU                   4.00 µs   10.0 %   4.00 µs\n"
				  "API overhead          1.00 µs    2.5 %   1.00 µs\n"
				  "launch                1.00 µs    2.5 %   1.00 µs\n"
				  "copy calls            1.00 µs    2.5 %   1.00 µs\n"
				  "synchronization wait  9.00 µs   22.5 %   9.00 µs\n"
				  "queue                 2.00 µs    5.0 %   2.00 µs\n"
				  "kernel                20.0 µs   50.0 %         -\n"
				  "D2H                   2.00 µs    5.0 %         -\n"
				  "total                 40.0 µs  100.0 %   18.0 µs\n");
	expect_table("KERNEL  ",
		     "KERNEL  COUNT    TOTAL     MEAN      P50      P99  QUEUED  TIMES\n"
		     "steps       2  20.0 µs  10.0 µs  10.0 µs  10.0 µs  500 ns  measured\n");
	expect_table(
		"COPY  ",
		"COPY  HOST MEMORY  COUNT    TOTAL     MEAN      P50      P99  BYTES       RATE  "
		"WITH KERNELS\n"
		"D2H   pageable         1  2.00 µs  2.00 µs  2.00 µs  2.00 µs   64 B  0.03 GB/s  "
		"       0.0 %\n");
}

TEST("report: kernels have parameters where two of a process differ in these alone, all in JSON")
{
	run_steps();
	register_kernel(KERNEL, "_Z5stepsPf");
	launch_kernel(0x11, stream.now + 2000, stream.now + 12000);
	expect_table(
		"KERNEL  ",
		"KERNEL         COUNT    TOTAL     MEAN      P50      P99  QUEUED  TIMES\n"
		"steps              2  20.0 µs  10.0 µs  10.0 µs  10.0 µs  500 ns  measured\n"
		"steps(float*)      1  10.0 µs  10.0 µs  10.0 µs  10.0 µs  500 ns  measured\n");
	expect_json("\"kernel\":\"steps(float*)\"");
	start();
	register_kernel(KERNEL, "_Z5stepsPf");
	launch_kernel(0x11, stream.now + 2000, stream.now + 12000);
	expect_table("KERNEL  ",
		     "KERNEL  COUNT    TOTAL     MEAN      P50      P99  QUEUED  TIMES\n"
		     "steps       1  10.0 µs  10.0 µs  10.0 µs  10.0 µs  500 ns  measured\n");
	expect_json("\"kernel\":\"steps(float*)\"");
	gt_report_breakdown.close(shown.state);
	gt_names_free(stream.names);
}

TEST_MAIN
