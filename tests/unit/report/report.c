/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/report.h"

#include "analysis.h"
#include "cubin.h"
#include "fixture.h"
#include "names/kept.h"
#include "report/table.h"

static struct {
	const struct gt_report *report;
	struct gt_report_options options;
	void *state;
} shown;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return shown.report->event(shown.state, names, event);
}

static void start(const struct gt_report *report, enum gt_by by)
{
	if (shown.report)
		shown.report->close(shown.state);
	shown.report = report;
	shown.options = (struct gt_report_options){.by = by, .max_copies = 100};
	CHECK_INT(report->open(&shown.options, &shown.state), 0);
	STREAM_INTO(NULL, take);
}

static int put(bool final, bool json, struct gt_strbuf *buffer)
{
	return gt_report_put(shown.report, shown.state, &shown.options, stream.names,
			     &(struct gt_report_format){.now = stream.now,
							.start = gt_names_start_time(stream.names),
							.final = final,
							.json = json},
			     buffer);
}

static void expect(bool final, const char *expected)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;

	if (final)
		session_ends();
	CHECK_INT(put(final, false, &report), 0);
	CHECK_STR(gt_strbuf_string(&report), expected);
}

TEST("a table's columns are as wide as their widest cell, in characters")
{
	static const struct gt_column columns[] = {{"TIME", false}, {"NAME", true}, {"LAST", true}};
	gt_auto_strbuf whole = GT_STRBUF_INIT;
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_table_duration(&table, 12300);
	gt_table_text(&table, "ä");
	gt_table_number(&table, 5);
	gt_table_bytes(&table, 1536);
	gt_table_text(&table, "longer");
	gt_table_text(&table, "");
	gt_table_put(&table, &whole);
	CHECK_STR(gt_strbuf_string(&whole), "    TIME  NAME    LAST\n"
					    " 12.3 µs  ä       5\n"
					    "1.50 KiB  longer\n");
}

TEST("text of 64 characters is whole in a table, and longer text if nothing follows it")
{
#define TEN "äbcdefghi("
	static const char fits[] = TEN TEN TEN TEN TEN TEN "1234";
	static const char longer[] = TEN TEN TEN TEN TEN TEN "12345";
	static const struct gt_column columns[] = {{"NAME", true}, {"LAST", true}};
	gt_auto_strbuf whole = GT_STRBUF_INIT, expected = GT_STRBUF_INIT;
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_table_text(&table, fits);
	gt_table_text(&table, longer);
	gt_table_text(&table, longer);
	gt_table_text(&table, "x");
	gt_table_put(&table, &whole);
	gt_strbuf_printf(&expected, "NAME%60s  LAST\n%s  %s\n%s…%s  x\n", "", fits, longer,
			 TEN TEN TEN TEN "äb", "efghi(" TEN "12345");
	CHECK_STR(gt_strbuf_string(&whole), gt_strbuf_string(&expected));
#undef TEN
}

#define HOST_TIMES                                                                                 \
	"TOTAL to SINCE are times of the launching calls on the host, not of the kernels.\n"
#define NO_NAME "REGS of 1 row: unknown, since the kernel's name is unknown.\n"
#define NO_NAMES "REGS of 2 rows: unknown, since the kernel's name is unknown.\n"

TEST("kernels: a row a kernel")
{
	start(&gt_report_kernels, GT_BY_NOTHING);
	launch(0xaaa, 4, 256, 0, 0);
	launch(0xaaa, 4, 256, 0, 0);
	launch(0xaaa, 1, 32, 0, 9);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99    SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  KERNEL\n"
	       "       2       1  2.00 µs  1.00 µs  1.00 µs  1.00 µs  2.00 µs     4    256     -  "
	       "     -      0 B  0xaaa\n" HOST_TIMES NO_NAME "Complete: 0 calls, none lost.\n");
}

/* Kernels of which two differ in their parameters alone. */
static void start_overloads(const struct gt_report *report)
{
	start(report, GT_BY_NOTHING);
	register_kernel(0xaaa, "_Z5scalePf");
	register_kernel(0xbbb, "_Z5scalePd");
	register_kernel(0xccc, "_Z3addPf");
}

static void expect_json(const char *expected)
{
	gt_auto_strbuf json = GT_STRBUF_INIT;

	CHECK_INT(put(true, true, &json), 0);
	if (!strstr(gt_strbuf_string(&json), expected))
		TAP_FAIL("'%s' is not in %s", expected, gt_strbuf_string(&json));
}

/* The rows of the table end so, in this order; lines of notes follow. */
static void expect_ends(const char *const *ends, size_t count)
{
	gt_auto_strbuf table = GT_STRBUF_INIT;
	const char *line;

	CHECK_INT(put(true, false, &table), 0);
	line = strchr(gt_strbuf_string(&table), '\n');
	for (size_t i = 0; i < count && line; i++) {
		const char *end = strchr(line + 1, '\n');
		size_t length = strlen(ends[i]);

		if (!end || end < line + length || strncmp(end - length, ends[i], length))
			TAP_FAIL("row %zu does not end in '%s':\n%s", i, ends[i],
				 gt_strbuf_string(&table));
		line = end;
	}
	CHECK(line);
}

static void expect_has(const char *expected)
{
	gt_auto_strbuf table = GT_STRBUF_INIT;

	CHECK_INT(put(true, false, &table), 0);
	if (!strstr(gt_strbuf_string(&table), expected))
		TAP_FAIL("'%s' is not in\n%s", expected, gt_strbuf_string(&table));
}

TEST("kernels: names have parameters where rows differ in these alone, and all in JSON")
{
	start_overloads(&gt_report_kernels);
	for (unsigned i = 0; i < 3; i++) {
		launch(0xccc, 4, 256, 0, 0);
		if (i < 2)
			launch(0xaaa, 4, 256, 0, 0);
		if (i < 1)
			launch(0xbbb, 4, 256, 0, 0);
	}
	expect_ends((const char *const[]){" add", " scale(float*)", " scale(double*)"}, 3);
	expect_json("\"kernel\":\"add(float*)\"");
	/* What is not launched is not shown, nor are the parameters by which another differs. */
	start_overloads(&gt_report_kernels);
	launch(0xaaa, 4, 256, 0, 0);
	expect_ends((const char *const[]){" scale"}, 1);
	expect_json("\"kernel\":\"scale(float*)\"");
}

TEST("errors: kernels have parameters where rows differ in these alone, and all in JSON")
{
	start_overloads(&gt_report_errors);
	launch(0xccc, 4, 256, 0, 9);
	expect_has(" add\n");
	expect_json("\"kernel\":\"add(float*)\"");
	launch(0xaaa, 4, 256, 0, 9);
	launch(0xbbb, 4, 256, 0, 9);
	expect_has(" scale(float*)\n");
	expect_has(" scale(double*)\n");
}

TEST("kernels: split rows say by what")
{
	start(&gt_report_kernels, GT_BY_STREAM);
	launch(0xaaa, 4, 256, 0x11, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  STREAM       KERNEL\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256     -  "
	       "     -      0 B  stream 0x11  0xaaa\n" HOST_TIMES NO_NAME
	       "Complete: 0 calls, none lost.\n");
}

/* A file of kernels that the process has mapped. */
static void map_file(const char *path)
{
	struct gt_event_mapping *event = (void *)gt_event_new(GT_EVENT_mapping, path, strlen(path));

	event->head.process = stream.process;
	event->start = 0x400000;
	event->end = 0x500000;
	event->inode = 7;
	feed_event(&event->head);
	free(event);
}

TEST("kernels: registers and static shared memory come from the program's file")
{
	static const struct made_kernel kernel = {"plain", 0, {0}, {0}, 24, 8, 1024, 0, 0};
	gt_auto_strbuf path = GT_STRBUF_INIT;
	size_t size;
	gt_autofree char *cubin = make_cubin(&kernel, 1, 0, &size);

	gt_strbuf_printf(&path, "%s/kernels.cubin", fixture());
	write_file("kernels.cubin", cubin, size);
	start(&gt_report_kernels, GT_BY_NOTHING);
	map_file(gt_strbuf_string(&path));
	register_kernel(0xaaa, "plain");
	launch(0xaaa, 4, 256, 0, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  REGS    "
	       "SHARED  DYNAMIC  KERNEL\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256    24  "
	       "1.00 KiB      0 B  plain\n" HOST_TIMES "Complete: 0 calls, none lost.\n");
}

TEST("kernels: a kernel whose code is in no file has a reason for its unknown registers")
{
	start(&gt_report_kernels, GT_BY_NOTHING);
	register_kernel(0xaaa, "plain");
	launch(0xaaa, 4, 256, 0, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  KERNEL\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256     -  "
	       "     -      0 B  plain\n" HOST_TIMES
	       "REGS of 1 row: unknown, since no file with the kernel's code was found.\n"
	       "Complete: 0 calls, none lost.\n");
}

/* A kernel "plain", as a capture keeps what its file states. */
static void keep_kernel(const struct gt_kernel_usage *usages, size_t count)
{
	const struct gt_kernel kernel = {
		.name = "plain", .usages = usages, .usage_count = count, .ptx_shared_bytes = 64};
	gt_autofree struct gt_event *event = gt_kept_resources_event(&kernel);

	CHECK(event);
	event->process = stream.process;
	feed_event(event);
	register_kernel(0xaaa, "plain");
	launch(0xaaa, 4, 256, 0, 0);
}

static void expect_unknown_registers(const char *reason)
{
	gt_auto_strbuf expected = GT_STRBUF_INIT;

	gt_strbuf_printf(
		&expected,
		"LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  "
		"REGS  SHARED  DYNAMIC  KERNEL\n"
		"       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256  "
		"   -    64 B      0 B  plain\n" HOST_TIMES
		"REGS of 1 row: unknown, since %s.\nComplete: 0 calls, none lost.\n",
		reason);
	expect(true, gt_strbuf_string(&expected));
}

TEST("kernels: registers are unknown for a reason")
{
	const struct gt_kernel_usage different[] = {{75, 24, 64, 0}, {90, 32, 64, 0}};
	const struct gt_kernel_usage silent = {90, GT_KERNEL_UNKNOWN, 64, 0};

	start(&gt_report_kernels, GT_BY_NOTHING);
	keep_kernel(NULL, 0);
	expect_unknown_registers("the kernel exists only as PTX, which the driver compiles");
	start(&gt_report_kernels, GT_BY_NOTHING);
	keep_kernel(different, gt_countof(different));
	expect_unknown_registers("the values of the cubins differ");
	start(&gt_report_kernels, GT_BY_NOTHING);
	keep_kernel(&silent, 1);
	expect_unknown_registers("the cubin does not state them");
}

TEST("kernels: rows by device and by context say which")
{
	start(&gt_report_kernels, GT_BY_DEVICE);
	feed_device(0, "0123456789abcdef");
	launch(0xaaa, 4, 256, 0, 0);
	stream.device = 1;
	launch(0xaaa, 4, 256, 0, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99    SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  DEVICE                                             KERNEL\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs        -     4    256     -  "
	       "     -      0 B  device 0 GPU-30313233-3435-3637-3839-616263646566  0xaaa\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs  2.00 µs     4    256     -  "
	       "     -      0 B  device 1                                           "
	       "0xaaa\n" HOST_TIMES NO_NAMES "Complete: 0 calls, none lost.\n");
	start(&gt_report_kernels, GT_BY_CONTEXT);
	feed_context(1, 0x500, GT_CONTEXT_PRIMARY);
	stream.context = 1;
	launch(0xaaa, 4, 256, 0, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  CONTEXT                      KERNEL\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256     -  "
	       "     -      0 B  primary context of device 0  0xaaa\n" HOST_TIMES NO_NAME
	       "Complete: 0 calls, none lost.\n");
}

TEST("kernels: rows that look alike say of which process they are, where there are several")
{
	start(&gt_report_kernels, GT_BY_STREAM);
	launch(0xaaa, 4, 256, 0, 0);
	switch_process(200, "serve");
	launch(0xaaa, 4, 256, 0, 0);
	expect(true,
	       "LAUNCHES  FAILED    TOTAL     MEAN      P50      P99  SINCE  GRID  BLOCK  REGS  "
	       "SHARED  DYNAMIC  STREAM      KERNEL  PROCESS\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256     -  "
	       "     -      0 B  stream 0x0  0xaaa   100 train\n"
	       "       1       0  1.00 µs  1.00 µs  1.00 µs  1.00 µs      -     4    256     -  "
	       "     -      0 B  stream 0x0  0xaaa   200 serve\n" HOST_TIMES NO_NAMES
	       "Complete: 0 calls, none lost.\n");
}

#define OF_ALL_CALLS                                                                               \
	"MEAN to FAILED cover all allocating calls of a process: durations on the host, and "      \
	"failures.\n"

TEST("leaks: rows by stack of a recording without stacks say how to record them")
{
	start(&gt_report_leaks, GT_BY_STACK);
	shown.options.captured = true;
	cuda_malloc(0x1000, 100);
	ends(100);
	expect(true,
	       "1 allocation of 100 B (100 bytes): not freed before the process ended.\n"
	       "COUNT  BYTES  MEMORY  STATE     OLDEST  PID  PROCESS  FUNCTION    CALLED BY\n"
	       "    1    100  device  at exit  1.00 µs  100  train    cudaMalloc  -\n"
	       "Callers are unknown: no stacks were recorded (record with 'gputap trace --stack "
	       "mixed "
	       "-o "
	       "FILE.gtap').\n"
	       "\n"
	       "PID  PROCESS  MEMORY  CURRENT   PEAK  ALLOCS  FREES   ALLOCS/S     MEAN      P50  "
	       "    P99  FAILED\n"
	       "100  train    device      0 B  100 B       1      0  1000000.0  1.00 µs  1.00 µs  "
	       "1.00 µs       0\n" OF_ALL_CALLS "Complete: 0 calls, none lost.\n");
}

TEST("leaks: in between it is reported how long that was after the start")
{
	start(&gt_report_leaks, GT_BY_SIZE);
	cuda_malloc(0x1000, 1536);
	stream.now += 2500000000;
	expect(false,
	       "After 2.500 s:\n"
	       "1 allocation of 1.50 KiB (1536 bytes): still allocated.\n"
	       "COUNT  BYTES  MEMORY  STATE  OLDEST  PID  PROCESS  SIZE\n"
	       "    1   1536  device  live   2.50 s  100  train    1.50 KiB\n"
	       "\n"
	       "PID  PROCESS  MEMORY   CURRENT      PEAK  ALLOCS  FREES  ALLOCS/S     MEAN      "
	       "P50      P99  FAILED\n"
	       "100  train    device  1.50 KiB  1.50 KiB       1      0         -  1.00 µs  1.00 "
	       "µs  1.00 µs       0\n" OF_ALL_CALLS "\n");
}

TEST("leaks: unfreed allocations by process, and errors")
{
	start(&gt_report_leaks, GT_BY_PROCESS);
	cuda_malloc(0x1000, 100);
	call_with("cudaDeviceReset", NULL, 0, 0);
	cuda_malloc(0x2000, 10);
	cuda_malloc(0x3000, 10);
	cuda_free(0x9000);
	call_with("cudaFree", "devPtr", 0x9000, 1);
	call_with("cudaFree", "devPtr", 0x8000, 1);
	ends(100);
	expect(true,
	       "2 allocations of 20 B (20 bytes): not freed before the process ended.\n"
	       "1 allocation of 100 B (100 bytes): not freed before cudaDeviceReset.\n"
	       "COUNT  BYTES  MEMORY  STATE      OLDEST  PID  PROCESS\n"
	       "    1    100  device  at reset  2.00 µs  100  train\n"
	       "    2     20  device  at exit   9.00 µs  100  train\n"
	       "\n"
	       "PID  PROCESS  MEMORY  CURRENT   PEAK  ALLOCS  FREES  ALLOCS/S     MEAN      P50    "
	       "  P99  FAILED\n"
	       "100  train    device      0 B  100 B       3      0  230769.2  1.00 µs  1.00 µs  "
	       "1.00 µs       0\n" OF_ALL_CALLS "100 train: pointers freed twice: 1\n"
	       "100 train: pointers freed that were never allocated: 1\n"
	       "100 train: frees of memory whose allocation was not seen: 1\n"
	       "Complete: 0 calls, none lost.\n");
}

TEST("leaks: what is of all calls of a process is reported once")
{
	start(&gt_report_leaks, GT_BY_PROCESS);
	cuda_malloc(0x1000, 100);
	cuda_free(0x1000);
	allocate("cudaMallocHost", "size", 0x2000, 10, 0);
	cuda_free(0x2000);
	allocate("cudaMalloc", "size", 0, 100, 2);
	expect(true,
	       "All allocations were freed.\n"
	       "\n"
	       "PID  PROCESS  MEMORY  CURRENT   PEAK  ALLOCS  FREES  ALLOCS/S     MEAN      P50    "
	       "  P99  FAILED\n"
	       "100  train    device      0 B  100 B       1      1  125000.0  1.00 µs  1.00 µs  "
	       "1.00 µs       1\n"
	       "100  train    host        0 B   10 B       1      1  125000.0\n" OF_ALL_CALLS
	       "Complete: 0 calls, none lost.\n");
}

TEST("leaks: that everything was freed is reported only where something was allocated")
{
	start(&gt_report_leaks, GT_BY_PROCESS);
	expect(true, "No allocation was seen.\nComplete: 0 calls, none lost.\n");
	start(&gt_report_leaks, GT_BY_PROCESS);
	allocate("cudaMalloc", "size", 0, 100, 35);
	expect(true,
	       "1 allocation failed, none succeeded.\n"
	       "\n"
	       "PID  PROCESS  MEMORY  CURRENT  PEAK  ALLOCS  FREES  ALLOCS/S  MEAN  P50  P99  "
	       "FAILED\n"
	       "100  train    -           0 B   0 B       0      0         -     -    -    -  "
	       "     1\n" OF_ALL_CALLS "Complete: 0 calls, none lost.\n");
	start(&gt_report_leaks, GT_BY_PROCESS);
	cuda_malloc(0x1000, 100);
	cuda_free(0x1000);
	expect(true, "All allocations were freed.\n"
		     "\n"
		     "PID  PROCESS  MEMORY  CURRENT   PEAK  ALLOCS  FREES  ALLOCS/S     MEAN      "
		     "P50      P99  FAILED\n"
		     "100  train    device      0 B  100 B       1      1  500000.0  1.00 µs  1.00 "
		     "µs  1.00 µs       0\n" OF_ALL_CALLS "Complete: 0 calls, none lost.\n");
}

TEST("leaks: what could not be followed is not reported as freed")
{
	start(&gt_report_leaks, GT_BY_PROCESS);
	call_with("cudaMalloc", "size", 100, 0);
	call_with("cudaMalloc", "size", 100, 0);
	expect(true, "No allocation could be tracked.\n"
		     "100 train: allocations whose address could not be read: 2\n"
		     "Complete: 0 calls, none lost.\n");
	start(&gt_report_leaks, GT_BY_PROCESS);
	call_with("cudaMalloc", "size", 100, 0);
	cuda_malloc(0x1000, 100);
	cuda_free(0x1000);
	expect(true, "All tracked allocations were freed.\n"
		     "\n"
		     "PID  PROCESS  MEMORY  CURRENT   PEAK  ALLOCS  FREES  ALLOCS/S     MEAN      "
		     "P50      P99  FAILED\n"
		     "100  train    device      0 B  100 B       1      1  250000.0  1.00 µs  1.00 "
		     "µs  1.00 µs       0\n" OF_ALL_CALLS
		     "100 train: allocations whose address could not be read: 1\n"
		     "Complete: 0 calls, none lost.\n");
	start(&gt_report_leaks, GT_BY_PROCESS);
	cuda_free(0x1000);
	expect(true, "No allocation was seen.\n"
		     "100 train: frees of memory whose allocation was not seen: 1\n"
		     "Complete: 0 calls, none lost.\n");
}

TEST("copies: rates by calls that wait, bounds of those that do not, and a word on pinning")
{
	start(&gt_report_copies, GT_BY_NOTHING);
	allocate("cudaMallocHost", "size", 0x200000000, 1 << 20, 0);
	stream.duration = 4000;
	copy(0x1000, 0x5555, 4096, 1);
	copy(0x1000, 0x5555, 4096, 1);
	stream.duration = 1000;
	copy(0x1000, 0x200000000, 4096, 1);
	copy_async(0x1000, 0x200000000, 100, 1, 0x11);
	copy_async(0x1000, 0x200000000, 100, 1, 0x12);
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect(true,
	       "COPIES  COUNT     BYTES  FAILED  WAITED     TIME      RATE  ASYNC  DONE   MEAN <   "
	       " "
	       "P99 <    PINNED  PAGEABLE\n"
	       "H2D         5  12.2 KiB       0       3  9.00 µs  1.4 GB/s      2     1  5.00 µs  "
	       "5.00 µs  4.20 KiB  8.00 KiB\n"
	       "H2D sizes:  64-128 B: 2  4.00-8.00 KiB: 3\n"
	       "H2D: most bytes are in pageable memory. 1.0 GB/s were reached, and 4.1 GB/s with "
	       "pinned memory in copies of the same sizes: pinning (cudaMallocHost, "
	       "cudaHostRegister) would save 6.00 µs of 8.00 µs.\n"
	       "Asynchronous copies not yet synchronized: 1.\n"
	       "Complete: 0 calls, none lost.\n");
}

TEST("copies: sizes are reported from a power of two to the next, and no time where none waited")
{
	start(&gt_report_copies, GT_BY_NOTHING);
	copy_async(0x1000, 0x5555, 0, 1, 0x11);
	copy_async(0x1000, 0x5555, 1000, 1, 0x11);
	copy_async(0x1000, 0x5555, 4000, 1, 0x11);
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect(true,
	       "COPIES  COUNT     BYTES  FAILED  WAITED  TIME  RATE  ASYNC  DONE   MEAN <    P99 <"
	       "  PINNED  PAGEABLE\n"
	       "H2D         3  4.88 KiB       0       0     -     -      3     3  5.00 µs  7.00 µs"
	       "     0 B  4.88 KiB\n"
	       "H2D sizes:  0-2 B: 1  512 B-1.00 KiB: 1  2.00-4.00 KiB: 1\n"
	       "H2D: most bytes are in pageable memory. The gain of pinning is unknown: no "
	       "synchronous copy of such a size used pinned memory.\n"
	       "Complete: 0 calls, none lost.\n");
}

TEST("errors: rows by stack without stacks say how to take them now")
{
	start(&gt_report_errors, GT_BY_STACK);
	call_with("cudaSetDevice", "device", 9, 101);
	expect(true, "COUNT  FUNCTION       ERROR                     PID  PROCESS  CALLED BY\n"
		     "    1  cudaSetDevice  cudaErrorInvalidDevice    100  train    -\n"
		     "Callers are unknown: no stacks were recorded (use --stack mixed).\n"
		     "Complete: 0 calls, none lost.\n");
}

TEST("errors: failed calls, then findings with their places and an advice")
{
	start(&gt_report_errors, GT_BY_PROCESS);
	cuda_malloc(0x1000, 10);
	cuda_free(0x1000);
	call_with("cudaFree", "devPtr", 0x1000, 1);
	call_with("cudaFree", "devPtr", 0x1000, 1);
	expect(true, "COUNT  FUNCTION  ERROR                    PID  PROCESS\n"
		     "    2  cudaFree  cudaErrorInvalidValue    100  train\n"
		     "\n"
		     "100 train: cudaFree was called with memory that was already freed, 2 times.\n"
		     "  Free memory where it is owned, and set the pointer to null there.\n"
		     "\n"
		     "Complete: 0 calls, none lost.\n");
}

TEST("errors: what the runtime releases after the driver has shut down is no failure")
{
	static const char *const functions[] = {"cuLibraryUnload", "cuModuleUnload",
						"cuDevicePrimaryCtxRelease_v2",
						"cuDevicePrimaryCtxRelease"};

	start(&gt_report_errors, GT_BY_PROCESS);
	for (size_t i = 0; i < 4; i++)
		call_with(functions[i], i == 0 ? "library" : i == 1 ? "hmod" : "dev", 0, 4);
	expect(true, "No call failed.\nComplete: 0 calls, none lost.\n");
	call_with("cuLibraryUnload", "library", 0, 400);
	call_with("cuMemFree_v2", "dptr", 0x1000, 4);
	expect(true, "COUNT  FUNCTION         ERROR                        PID  PROCESS\n"
		     "    1  cuLibraryUnload  CUDA_ERROR_INVALID_HANDLE    100  train\n"
		     "    1  cuMemFree_v2     CUDA_ERROR_DEINITIALIZED     100  train\n"
		     "Complete: 0 calls, none lost.\n");
}

TEST("errors: a call without a stream is of none, and not of the default stream")
{
	gt_auto_strbuf json = GT_STRBUF_INIT;

	start(&gt_report_errors, GT_BY_STREAM);
	call_with("cudaSetDevice", "device", 9, 101);
	call_with("cudaStreamSynchronize", "stream", 0, 400);
	CHECK_INT(put(false, true, &json), 0);
	CHECK(strstr(gt_strbuf_string(&json), "\"stream\":null"));
	CHECK(strstr(gt_strbuf_string(&json), "\"stream\":\"0x0\""));
	expect(true,
	       "COUNT  FUNCTION               ERROR                             PID  PROCESS  "
	       "STREAM\n"
	       "    1  cudaSetDevice          cudaErrorInvalidDevice            100  train    -\n"
	       "    1  cudaStreamSynchronize  cudaErrorInvalidResourceHandle    100  train    "
	       "stream 0x0\n"
	       "Complete: 0 calls, none lost.\n");
}

TEST("errors: none is reported as none, but where no call was seen")
{
	start(&gt_report_errors, GT_BY_STACK);
	expect(true, "No failed call was seen.\nComplete: 0 calls, none lost.\n");
	start(&gt_report_errors, GT_BY_STACK);
	cuda_malloc(0x1000, 10);
	expect(true, "No call failed.\nComplete: 0 calls, none lost.\n");
	start(&gt_report_errors, GT_BY_STACK);
	shown.options.captured = true;
	cuda_malloc(0x1000, 10);
	expect(true, "No recorded call failed.\nComplete: 0 calls, none lost.\n");
}

/* Whether the report of seven findings of one kind has this many, and ends a kind like this. */
static void expect_findings(uint64_t top, size_t findings, const char *rest)
{
	gt_auto_strbuf report = GT_STRBUF_INIT;
	size_t found = 0;

	start(&gt_report_errors, GT_BY_STACK);
	shown.options.top = top;
	for (uint64_t kernel = 1; kernel <= 7; kernel++)
		launch(kernel, 64, 8, 0, 0);
	CHECK_INT(put(true, false, &report), 0);
	for (const char *at = gt_strbuf_string(&report);
	     (at = strstr(at, "fewer than 32 threads in")); at++)
		found++;
	CHECK_INT(found, findings);
	CHECK(!rest == !strstr(gt_strbuf_string(&report), "more finding"));
	CHECK(!rest || strstr(gt_strbuf_string(&report), rest));
}

TEST("errors: five findings of a kind are printed, or as many as --top says")
{
	expect_findings(0, 5, "\n… and 2 more findings of this kind (small_launches; --top N)\n");
	expect_findings(6, 6, "\n… and 1 more finding of this kind (small_launches; --top N)\n");
	expect_findings(7, 7, NULL);
}

TEST("the last report of several says that it is the last")
{
	start(&gt_report_errors, GT_BY_STACK);
	stream.now += 1500000000;
	expect(false, "After 1.500 s:\nNo failed call was seen.\n\n");
	shown.options.continued = true;
	expect(false, "After 1.500 s:\nNo failed call was seen.\n\n");
	expect(true, "At the end:\nNo failed call was seen.\nComplete: 0 calls, none lost.\n");
}

TEST("every report states what was lost")
{
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
		.made = 100,
		.complete = 80,
		.lost = 11,
		.unfinished = 2,
		.filtered = 7,
		.others_lost = 3,
		.orphans = 4,
	};
	gt_auto_strbuf report = GT_STRBUF_INIT;

	start(&gt_report_errors, GT_BY_STACK);
	feed_event(&account.head);
	CHECK_INT(put(true, false, &report), 0);
	CHECK_STR(gt_strbuf_string(&report),
		  "No failed call was seen.\n"
		  "Incomplete: 11 of 100 calls were lost, 7 filtered, 2 unfinished; 3 other events "
		  "were lost.\n"
		  "4 calls began before the probes were attached.\n");
}

TEST("the CPU time of gputap includes its report, but in a capture it is that of the recording")
{
	struct gt_event_overhead overhead = {
		.head = {.kind = GT_EVENT_overhead, .size = sizeof(overhead)},
		.own_time = 7,
	};
	static const char captured[] = "gputap used 7 ns of CPU time.\n";

	for (int is_captured = 0; is_captured < 2; is_captured++) {
		gt_auto_strbuf report = GT_STRBUF_INIT, json = GT_STRBUF_INIT;

		start(&gt_report_errors, GT_BY_STACK);
		shown.options.captured = is_captured;
		feed_event(&overhead.head);
		CHECK_INT(put(true, false, &report), 0);
		CHECK(strstr(gt_strbuf_string(&report), "gputap used "));
		CHECK(!strstr(gt_strbuf_string(&report), captured) == !is_captured);
		CHECK_INT(put(true, true, &json), 0);
		CHECK(!strstr(gt_strbuf_string(&json), "\"cpu\":7}") == !is_captured);
	}
}

TEST("a report with a gap is not complete, even if no call was lost")
{
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
		.made = 2,
		.complete = 2,
	};
	struct gt_event_gap *gap = (void *)gt_event_new(GT_EVENT_gap, "/x/libcudart.so.13", 18);
	gt_auto_strbuf report = GT_STRBUF_INIT;

	start(&gt_report_errors, GT_BY_STACK);
	gap->head.process = 12;
	gap->start = 1000;
	gap->end = 6000;
	feed_event(&gap->head);
	free(gap);
	feed_event(&account.head);
	CHECK_INT(put(true, false, &report), 0);
	CHECK_STR(gt_strbuf_string(&report),
		  "No failed call was seen.\n"
		  "Incomplete: 2 calls, none lost.\n"
		  "Calls may be missing from process (12), in 5.00 µs before the probes in "
		  "libcudart.so.13 were attached.\n");
}

TEST("a report of a truncated capture has its gaps, too")
{
	struct gt_event_gap *gap = (void *)gt_event_new(GT_EVENT_gap, "", 0);
	gt_auto_strbuf report = GT_STRBUF_INIT;

	start(&gt_report_errors, GT_BY_STACK);
	gap->reason = GT_GAP_UNWATCHED;
	feed_event(&gap->head);
	free(gap);
	CHECK_INT(put(true, false, &report), 0);
	CHECK_STR(gt_strbuf_string(&report),
		  "No failed call was seen.\n"
		  "The capture is truncated: its losses are unknown.\n"
		  "Calls may be missing from libraries that were opened later.\n");
}

TEST("one call is counted as one")
{
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
		.made = 1,
		.complete = 1,
	};
	gt_auto_strbuf whole = GT_STRBUF_INIT, lossy = GT_STRBUF_INIT;

	start(&gt_report_errors, GT_BY_STACK);
	feed_event(&account.head);
	CHECK_INT(put(true, false, &whole), 0);
	CHECK_STR(gt_strbuf_string(&whole), "No failed call was seen.\n"
					    "Complete: 1 call, none lost.\n");
	account.complete = 0;
	account.lost = account.others_lost = account.orphans = 1;
	start(&gt_report_errors, GT_BY_STACK);
	feed_event(&account.head);
	CHECK_INT(put(true, false, &lossy), 0);
	CHECK_STR(gt_strbuf_string(&lossy),
		  "No failed call was seen.\n"
		  "Incomplete: 1 of 1 call was lost, 0 filtered, 0 unfinished; 1 other event was "
		  "lost.\n"
		  "1 call began before the probes were attached.\n");
	shown.report->close(shown.state);
	gt_names_free(stream.names);
	shown.report = NULL;
	stream.names = NULL;
}

TEST_MAIN
