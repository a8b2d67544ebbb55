/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/chains.h"

#include "analysis.h"
#include "analysis/analysis.h"
#include "analysis/kernels.h"
#include "analysis/label_cache.h"
#include "analysis/leaks.h"
#include "names/kept.h"
#include "probe/python/python.h"

/* A caller of a process at an address of a file; of train.c if it has a line. */
static void feed_caller_in(uint32_t process, const char *path, uint64_t address,
			   const char *function, uint32_t line)
{
	const struct gt_source_frame frame = {.function = function,
					      .symbol = function,
					      .file = line ? "train.c" : NULL,
					      .offset = line ? 0 : 16,
					      .line = line};
	const struct gt_location location = {
		.path = path, .offset = address, .frames = &frame, .frame_count = 1};
	gt_autofree struct gt_event *event = gt_kept_location_event(process, address, &location);

	CHECK(event);
	feed_event(event);
}

static void feed_caller(uint32_t process, uint64_t address, const char *function, uint32_t line)
{
	feed_caller_in(process, "/bin/train", address, function, line);
}

static void feed_stack(uint32_t process, uint64_t number, const uint64_t *callers, size_t count)
{
	gt_autofree struct gt_event_stack *event = (void *)gt_event_new(
		GT_EVENT_stack, (const char *)callers, count * sizeof(*callers));

	CHECK(event);
	event->head.process = process;
	event->number = number;
	feed_event(&event->head);
}

#define STACK(process, number, ...)                                                                \
	feed_stack(process, number, (const uint64_t[]){__VA_ARGS__},                               \
		   sizeof((uint64_t[]){__VA_ARGS__}) / 8)

enum { ALLOC = 0x1000, LOAD_A = 0x2000, LOAD_B = 0x2100, LOAD_B_AGAIN = 0x2200, MAIN = 0x3000 };

static int ignore(void *context, const struct gt_names *names, const struct gt_event *event)
{
	return 0;
}

static void feed_callers(uint32_t process)
{
	feed_caller(process, ALLOC, "my_alloc", 3);
	feed_caller(process, LOAD_A, "loadA", 9);
	feed_caller(process, LOAD_B, "loadB", 12);
	feed_caller(process, LOAD_B_AGAIN, "loadB", 12);
	feed_caller(process, MAIN, "main", 20);
}

static void start(void)
{
	STREAM_INTO(NULL, ignore);
	feed_callers(100);
}

static void expect_shown(const struct gt_chains *chains, uint32_t process, uint64_t stack,
			 const char *expected)
{
	gt_auto_strbuf put = GT_STRBUF_INIT;

	gt_chains_put(chains, &put, process, stack);
	CHECK_STR(gt_strbuf_string(&put), expected);
}

TEST("a stack shows as many callers as distinguish it from the others")
{
	gt_auto(chains) struct gt_chains *chains = NULL;

	start();
	STACK(100, 1, ALLOC, LOAD_A, MAIN);
	STACK(100, 2, ALLOC, LOAD_B, MAIN);
	STACK(100, 3, ALLOC, LOAD_B, LOAD_A, MAIN);
	STACK(100, 4, LOAD_A, MAIN);
	STACK(100, 5, ALLOC);
	chains = gt_chains_new(stream.names);
	for (uint64_t stack = 1; stack <= 5; stack++)
		CHECK_INT(gt_chains_add(chains, 100, stack, NULL), 0);
	expect_shown(chains, 100, 1, "my_alloc (train.c:3)");
	CHECK_INT(gt_chains_distinguish(chains), 0);
	expect_shown(chains, 100, 1, "my_alloc (train.c:3) ← loadA (train.c:9)");
	expect_shown(chains, 100, 2,
		     "my_alloc (train.c:3) ← loadB (train.c:12) ← main (train.c:20)");
	expect_shown(chains, 100, 3,
		     "my_alloc (train.c:3) ← loadB (train.c:12) ← loadA (train.c:9)");
	expect_shown(chains, 100, 4, "loadA (train.c:9)");
	expect_shown(chains, 100, 5, "my_alloc (train.c:3)");
}

TEST("stacks whose callers read alike are one in a process, not of two")
{
	gt_auto(chains) struct gt_chains *chains = NULL;
	uint64_t first = 0;

	start();
	feed_callers(101);
	STACK(100, 1, ALLOC, LOAD_B, MAIN);
	STACK(100, 2, ALLOC, LOAD_B_AGAIN, MAIN);
	STACK(101, 3, ALLOC, LOAD_B, MAIN);
	STACK(101, 4, ALLOC, LOAD_A, MAIN);
	chains = gt_chains_new(stream.names);
	CHECK_INT(gt_chains_add(chains, 100, 1, &first), 0);
	CHECK_INT(first, 1);
	CHECK_INT(gt_chains_add(chains, 100, 2, &first), 0);
	CHECK_INT(first, 1);
	CHECK_INT(gt_chains_add(chains, 101, 3, &first), 0);
	CHECK_INT(first, 3);
	CHECK_INT(gt_chains_add(chains, 101, 4, NULL), 0);
	CHECK_INT(gt_chains_distinguish(chains), 0);
	for (uint32_t i = 0; i < 2; i++)
		expect_shown(chains, 100 + i, i ? 3 : 2,
			     "my_alloc (train.c:3) ← loadB (train.c:12)");
}

TEST("the callers begin after wrappers, which all callers have")
{
	gt_auto(chains) struct gt_chains *chains = NULL;
	gt_auto_strbuf whole = GT_STRBUF_INIT;

	start();
	feed_caller(100, 0x500, "cudaMalloc", 0);
	STACK(100, 1, 0x500, ALLOC, MAIN);
	STACK(100, 2, 0x500);
	chains = gt_chains_new(stream.names);
	CHECK_INT(gt_chains_add(chains, 100, 1, NULL), 0);
	CHECK_INT(gt_chains_add(chains, 100, 2, NULL), 0);
	CHECK_INT(gt_chains_add(chains, 100, 0, NULL), 0);
	CHECK_INT(gt_chains_add(chains, 100, 0x77, NULL), 0);
	CHECK_INT(gt_chains_distinguish(chains), 0);
	expect_shown(chains, 100, 1, "my_alloc (train.c:3)");
	expect_shown(chains, 100, 2, "cudaMalloc+0x10 (train)");
	expect_shown(chains, 100, 0, "-");
	expect_shown(chains, 100, 0x77, "stack 0x77");
	gt_chain_put_whole(&whole, stream.names, 100, 1);
	CHECK_STR(gt_strbuf_string(&whole),
		  "cudaMalloc+0x10 (train) ← my_alloc (train.c:3) ← main (train.c:20)");
}

TEST("addresses in no file are no callers, unless there is no other")
{
	gt_auto(chains) struct gt_chains *chains = NULL;
	gt_auto_strbuf whole = GT_STRBUF_INIT;

	start();
	STACK(100, 1, ALLOC, 0x7ffc1230, LOAD_A, 0x7ffc1240);
	STACK(100, 2, ALLOC, LOAD_B);
	STACK(100, 3, 0x7ffc1230);
	chains = gt_chains_new(stream.names);
	for (uint64_t stack = 1; stack <= 3; stack++)
		CHECK_INT(gt_chains_add(chains, 100, stack, NULL), 0);
	CHECK_INT(gt_chains_distinguish(chains), 0);
	expect_shown(chains, 100, 1, "my_alloc (train.c:3) ← loadA (train.c:9)");
	expect_shown(chains, 100, 3, "0x7ffc1230");
	gt_chain_put_whole(&whole, stream.names, 100, 1);
	CHECK_STR(gt_strbuf_string(&whole),
		  "my_alloc (train.c:3) ← 0x7ffc1230 ← loadA (train.c:9) ← 0x7ffc1240");
}

/* A code object of Python 3.9 with one line, and the Python frames of a stack: inner to outer. */
static void feed_code(uint64_t number, const char *function, uint32_t line)
{
	char texts[GT_PYTHON_NAME + GT_PYTHON_FILE] = {0};
	gt_autofree struct gt_event_code *event = NULL;

	snprintf(texts, GT_PYTHON_NAME, "%s", function);
	snprintf(texts + GT_PYTHON_NAME, GT_PYTHON_FILE, "train.py");
	event = (void *)gt_event_new(GT_EVENT_code, texts, sizeof(texts));
	CHECK(event);
	event->number = number;
	event->first_line = line;
	event->minor = 9;
	event->name_width = event->file_width = 1;
	event->name_size = strlen(function);
	event->file_size = strlen("train.py");
	feed_event(&event->head);
}

static void add_caller(void *callers, const struct gt_strbuf *caller)
{
	gt_strbuf_printf(callers, "%s ", gt_strbuf_string(caller));
}

TEST("beside Python callers, perf trampolines and other code without lines are no callers")
{
	const uint64_t frames[] = {1, 0 | GT_PYTHON_ENTRY, 2, 0 | GT_PYTHON_ENTRY};
	gt_autofree struct gt_event_python *python =
		(void *)gt_event_new(GT_EVENT_python, (const char *)frames, sizeof(frames));
	gt_auto(chains) struct gt_chains *chains = NULL;
	gt_auto_strbuf callers = GT_STRBUF_INIT;

	start();
	feed_code(1, "allocate", 5);
	feed_code(2, "train_step", 7);
	python->head.process = 100;
	python->number = 1;
	feed_event(&python->head);
	feed_caller_in(100, "/lib/libffi.so.8", 0x500, "ffi_call", 0);
	feed_caller_in(100, "/bin/python3.12", 0x600, "_PyEval_EvalFrameDefault", 0);
	feed_caller_in(100, "/tmp/perf-100.map", 0x700, "py::allocate:train.py", 0);
	feed_caller_in(100, "/tmp/perf-100.map", 0x800, "py::train_step:train.py", 0);
	STACK(100, 1, 0x500, 0x600, 0x700, 0x600, 0x800, MAIN);
	STACK(100, 2, LOAD_A, MAIN);
	chains = gt_chains_new(stream.names);
	CHECK_INT(gt_chains_add(chains, 100, 1, NULL), 0);
	CHECK_INT(gt_chains_add(chains, 100, 2, NULL), 0);
	expect_shown(chains, 100, 1, "allocate (train.py:5)");
	gt_label_callers(stream.names, 100, 1, add_caller, &callers);
	CHECK_STR(gt_strbuf_string(&callers),
		  "allocate (train.py:5) train_step (train.py:7) main (train.c:20) ");
}

static int take_leak(void *leaks, const struct gt_names *names, const struct gt_event *event)
{
	return gt_leaks_take(leaks, names, event);
}

TEST("unfreed allocations of stacks that read alike are one row")
{
	gt_auto(leaks) struct gt_leaks *leaks = gt_leaks_new(GT_BY_STACK);
	struct gt_leaks_totals totals;
	const struct gt_leak *rows;
	size_t count;

	STREAM_INTO(leaks, take_leak);
	feed_callers(100);
	STACK(100, 1, ALLOC, LOAD_B, MAIN);
	STACK(100, 2, ALLOC, LOAD_B_AGAIN, MAIN);
	STACK(100, 3, ALLOC, LOAD_A, MAIN);
	for (uint64_t stack = 1; stack <= 3; stack++) {
		stream.stack = stack;
		cuda_malloc(0x1000 * stack, 100);
	}
	CHECK_INT(gt_leaks_rows(leaks, stream.names, stream.now, &rows, &count, &totals), 0);
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].count, 2);
	CHECK_INT(rows[0].bytes, 200);
	CHECK_INT(rows[0].group.number, 1);
	CHECK(rows[0].oldest > rows[0].newest);
	CHECK_INT(rows[1].group.number, 3);
}

static int take_kernel(void *kernels, const struct gt_names *names, const struct gt_event *event)
{
	return gt_kernels_take(kernels, names, event);
}

TEST("launches of stacks that read alike are one row")
{
	gt_auto(kernels) struct gt_kernels *kernels = gt_kernels_new(GT_BY_STACK);
	const struct gt_kernel_row *const *rows;
	size_t count;

	STREAM_INTO(kernels, take_kernel);
	feed_callers(100);
	STACK(100, 1, LOAD_B, MAIN);
	STACK(100, 2, LOAD_B_AGAIN, MAIN);
	for (uint64_t stack = 1; stack <= 2; stack++) {
		stream.stack = stack;
		launch(0xaaa, 1, 32, 0, 0);
	}
	CHECK_INT(gt_kernels_rows(kernels, stream.names, &rows, &count), 0);
	CHECK_INT(count, 1);
	CHECK_INT(rows[0]->launches, 2);
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST("a kept label of a stack is made anew when its callers, or the stack, become known or change")
{
	gt_auto(label_cache) struct gt_label_cache *cache = gt_label_cache_new();

	STREAM_INTO(NULL, ignore);
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 7), "stack 0x7");
	STACK(100, 7, LOAD_A, MAIN);
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 7), "0x2000");
	feed_caller(100, LOAD_A, "loadA", 9);
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 7), "loadA (train.c:9)");
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 0), "-");
	STACK(100, 7, LOAD_B, MAIN);
	feed_caller(101, LOAD_B, "other", 1);
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 7), "0x2100");
	feed_caller(100, LOAD_B, "loadB", 12);
	CHECK_STR(gt_label_cache_stack(cache, stream.names, 100, 7), "loadB (train.c:12)");
}

TEST_MAIN
