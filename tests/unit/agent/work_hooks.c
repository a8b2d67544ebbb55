/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hooks of work.def, each of them: what the driver gets, and the stream, kind, object and bytes
 * of the operation that is timed. The table here is written from CUDA's headers, not from work.def.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/work.h"
#include "api/api.h"
#include "base/clean.h"
#include "base/strbuf.h"
#include "tap.h"

enum {
	WORDS = 11, /* no function has more arguments */
	SIZES = 3,
	FAILED = 700,
	NO_WORD = -1,
};

/* The word that is passed as argument i, unless it has to be an address. */
#define WORD(i) (0x10u + (unsigned)(i))

/* ---- the driver, and the agent's side ----------------------------------------------------------
 */

struct gt_agent_functions gt_driver;

static struct {
	unsigned calls, begun, ended; /* of the driver, of gt_agent_work_begin and _end */
	unsigned numbered;            /* gt_agent_number_launch before the driver */
	const char *name;             /* the driver's function that was called … */
	uint64_t words[WORDS];        /* … and its arguments */
	unsigned word_count;
	void *stream;
	bool per_thread;
	int error;
	enum gt_gpu_operation operation;
	uint64_t object, bytes;
} seen;

static bool is_timed;
static int driver_error;

void gt_agent_find_driver(void)
{
}

void gt_agent_number_launch(const void *kernel, void *stream)
{
	seen.numbered += !seen.calls;
}

bool gt_agent_work_begin(struct gt_agent_work *work, void *stream, bool per_thread)
{
	seen.begun = seen.begun * 10 + seen.calls + 1; /* 1: once, before the driver */
	seen.stream = stream;
	seen.per_thread = per_thread;
	return is_timed;
}

void gt_agent_work_end(struct gt_agent_work *work, int error, enum gt_gpu_operation operation,
		       uint64_t object, uint64_t bytes)
{
	seen.ended = seen.ended * 10 + seen.calls;
	seen.error = error;
	seen.operation = operation;
	seen.object = object;
	seen.bytes = bytes;
}

/* Memory types by address; 0: the driver does not know it. */
static unsigned type_at(uint64_t address)
{
	return address >= 0x5000 ? 0 : address >= 0x4000 ? 1 : 2;
}

int gt_agent_own_call(const uintptr_t arguments[GT_OWN_ARGUMENTS], void *function)
{
	*(unsigned *)arguments[0] = type_at(arguments[2]);
	return !type_at(arguments[2]);
}

#define AS_WORD(x) (uint64_t)(uintptr_t)(x)
#define MAP_1(x) AS_WORD(x)
#define MAP_2(x, ...) AS_WORD(x), MAP_1(__VA_ARGS__)
#define MAP_3(x, ...) AS_WORD(x), MAP_2(__VA_ARGS__)
#define MAP_4(x, ...) AS_WORD(x), MAP_3(__VA_ARGS__)
#define MAP_5(x, ...) AS_WORD(x), MAP_4(__VA_ARGS__)
#define MAP_6(x, ...) AS_WORD(x), MAP_5(__VA_ARGS__)
#define MAP_7(x, ...) AS_WORD(x), MAP_6(__VA_ARGS__)
#define MAP_8(x, ...) AS_WORD(x), MAP_7(__VA_ARGS__)
#define MAP_9(x, ...) AS_WORD(x), MAP_8(__VA_ARGS__)
#define MAP_10(x, ...) AS_WORD(x), MAP_9(__VA_ARGS__)
#define MAP_11(x, ...) AS_WORD(x), MAP_10(__VA_ARGS__)
#define MAP_OF(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, map, ...) map
#define TO_WORDS(...)                                                                              \
	MAP_OF(__VA_ARGS__, MAP_11, MAP_10, MAP_9, MAP_8, MAP_7, MAP_6, MAP_5, MAP_4, MAP_3,       \
	       MAP_2, MAP_1)                                                                       \
	(__VA_ARGS__)

static CUresult take_driver_call(const char *name, const uint64_t *words, size_t size)
{
	seen.calls++;
	seen.name = name;
	seen.word_count = (unsigned)(size / sizeof(*words));
	memcpy(seen.words, words, size);
	return driver_error;
}

/* The driver's function: its arguments as it sees them, in its types. */
#define WORK(base, since, name, per_thread, parameters, arguments, ...)                            \
	static CUresult driver_##name parameters                                                   \
	{                                                                                          \
		const uint64_t words[] = {TO_WORDS arguments};                                     \
                                                                                                   \
		return take_driver_call(#name, words, sizeof(words));                              \
	}
#include "agent/work.def"
#undef WORK

#define WORD_1 uint64_t
#define WORDS_11                                                                                   \
	WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1, WORD_1
typedef CUresult called_function(WORDS_11);

static const struct hook {
	const char *name, *base;
	bool per_thread;
	called_function *hook, *driver;
} hooks[] = {
#define WORK(base, since, name, per_thread, ...)                                                   \
	{#name, #base, per_thread, (called_function *)(void *)name,                                \
	 (called_function *)(void *)driver_##name},
#include "agent/work.def"
#undef WORK
};

static CUresult call_function(called_function *function, const uint64_t *words)
{
	return function(words[0], words[1], words[2], words[3], words[4], words[5], words[6],
			words[7], words[8], words[9], words[10]);
}

/* ---- what is expected ---------------------------------------------------------------------------
 */

/* Structures that arguments point to. */
static const size_t sizes[SIZES] = {100, 20, 3};
static const struct gt_agent_launch launch = {.stream = (void *)0x77};
static const struct gt_agent_copy_2d copy_2d = {
	.source_type = 1, /* host to device */
	.target_type = 2,
	.width = 30,
	.height = 5,
};
static const struct gt_agent_copy_3d copy_3d = {
	.source_type = 3, /* array to host */
	.target_type = 1,
	.width = 10,
	.height = 4,
	.depth = 2,
};

enum {
	SYNC = -2,     /* the default stream, and the driver returns when the work is done */
	DEFAULT = -1,  /* the default stream */
	IN_LAUNCH = -3 /* that of `launch` */
};

/* `stream`, `object`: the argument, by its index. */
struct expected_work {
	const char *base;
	int stream;
	enum gt_gpu_operation operation;
	int object;
	uint64_t bytes;
	const void *structure; /* that the first argument points to; NULL: it is no address */
};

static const struct expected_work expected_works[] = {
	{"cuLaunch", DEFAULT, GT_GPU_KERNEL, 0, 0, NULL},
	{"cuLaunchGrid", DEFAULT, GT_GPU_KERNEL, 0, 0, NULL},
	{"cuLaunchGridAsync", 3, GT_GPU_KERNEL, 0, 0, NULL},
	{"cuLaunchKernel", 8, GT_GPU_KERNEL, 0, 0, NULL},
	{"cuLaunchKernelEx", IN_LAUNCH, GT_GPU_KERNEL, 1, 0, &launch},
	{"cuLaunchCooperativeKernel", 8, GT_GPU_KERNEL, 0, 0, NULL},
	{"cuGraphLaunch", 1, GT_GPU_GRAPH, 0, 0, NULL},

	{"cuMemcpy", SYNC, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyHtoD", SYNC, GT_GPU_COPY_TO_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyDtoH", SYNC, GT_GPU_COPY_TO_HOST, NO_WORD, WORD(2), NULL},
	{"cuMemcpyDtoD", SYNC, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyDtoA", SYNC, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(3), NULL},
	{"cuMemcpyAtoD", SYNC, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(3), NULL},
	{"cuMemcpyHtoA", SYNC, GT_GPU_COPY_TO_DEVICE, NO_WORD, WORD(3), NULL},
	{"cuMemcpyAtoH", SYNC, GT_GPU_COPY_TO_HOST, NO_WORD, WORD(3), NULL},
	{"cuMemcpyAtoA", SYNC, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(4), NULL},
	{"cuMemcpyPeer", SYNC, GT_GPU_COPY_PEER, NO_WORD, WORD(4), NULL},
	{"cuMemcpy2D", SYNC, GT_GPU_COPY_TO_DEVICE, NO_WORD, 150, &copy_2d},
	{"cuMemcpy2DUnaligned", SYNC, GT_GPU_COPY_TO_DEVICE, NO_WORD, 150, &copy_2d},
	{"cuMemcpy3D", SYNC, GT_GPU_COPY_TO_HOST, NO_WORD, 80, &copy_3d},
	{"cuMemcpy3DPeer", SYNC, GT_GPU_COPY_PEER, NO_WORD, 80, &copy_3d},

	{"cuMemcpyAsync", 3, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyHtoDAsync", 3, GT_GPU_COPY_TO_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyDtoHAsync", 3, GT_GPU_COPY_TO_HOST, NO_WORD, WORD(2), NULL},
	{"cuMemcpyDtoDAsync", 3, GT_GPU_COPY_ON_DEVICE, NO_WORD, WORD(2), NULL},
	{"cuMemcpyHtoAAsync", 4, GT_GPU_COPY_TO_DEVICE, NO_WORD, WORD(3), NULL},
	{"cuMemcpyAtoHAsync", 4, GT_GPU_COPY_TO_HOST, NO_WORD, WORD(3), NULL},
	{"cuMemcpyPeerAsync", 5, GT_GPU_COPY_PEER, NO_WORD, WORD(4), NULL},
	{"cuMemcpy2DAsync", 1, GT_GPU_COPY_TO_DEVICE, NO_WORD, 150, &copy_2d},
	{"cuMemcpy3DAsync", 1, GT_GPU_COPY_TO_HOST, NO_WORD, 80, &copy_3d},
	{"cuMemcpy3DPeerAsync", 1, GT_GPU_COPY_PEER, NO_WORD, 80, &copy_3d},
	/* The stream is the last argument; version 2 has one argument less. */
	{"cuMemcpyBatchAsync", 8, GT_GPU_COPY, NO_WORD, 123, NULL},
	{"cuMemcpy3DBatchAsync", 4, GT_GPU_COPY, NO_WORD, 0, NULL},

	{"cuMemsetD8", DEFAULT, GT_GPU_SET, NO_WORD, WORD(2), NULL},
	{"cuMemsetD8Async", 3, GT_GPU_SET, NO_WORD, WORD(2), NULL},
	{"cuMemsetD16", DEFAULT, GT_GPU_SET, NO_WORD, 2 * WORD(2), NULL},
	{"cuMemsetD16Async", 3, GT_GPU_SET, NO_WORD, 2 * WORD(2), NULL},
	{"cuMemsetD32", DEFAULT, GT_GPU_SET, NO_WORD, 4 * WORD(2), NULL},
	{"cuMemsetD32Async", 3, GT_GPU_SET, NO_WORD, 4 * WORD(2), NULL},
	{"cuMemsetD2D8", DEFAULT, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4), NULL},
	{"cuMemsetD2D8Async", 5, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4), NULL},
	{"cuMemsetD2D16", DEFAULT, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4) * 2, NULL},
	{"cuMemsetD2D16Async", 5, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4) * 2, NULL},
	{"cuMemsetD2D32", DEFAULT, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4) * 4, NULL},
	{"cuMemsetD2D32Async", 5, GT_GPU_SET, NO_WORD, WORD(3) * WORD(4) * 4, NULL},
};

static const struct expected_work *find_expected(const char *base)
{
	for (size_t i = 0; i < gt_countof(expected_works); i++)
		if (!strcmp(expected_works[i].base, base))
			return &expected_works[i];
	return NULL;
}

static void make_words(const struct expected_work *expected, uint64_t *ret_words)
{
	for (int i = 0; i < WORDS; i++)
		ret_words[i] = WORD(i);
	if (expected->structure)
		ret_words[0] = (uintptr_t)expected->structure;
	if (!strcmp(expected->base, "cuMemcpyBatchAsync")) {
		ret_words[2] = (uintptr_t)sizes;
		ret_words[3] = SIZES;
	}
}

static void *expected_stream(const struct hook *hook, const struct expected_work *expected)
{
	bool is_second_batch = strstr(hook->name, "BatchAsync_v2");

	switch (expected->stream) {
	case SYNC:
		return SYNCHRONOUS;
	case DEFAULT:
		return NULL;
	case IN_LAUNCH:
		return launch.stream;
	default:
		return (void *)(uintptr_t)WORD(expected->stream - is_second_batch);
	}
}

static void reset(bool timed, int error)
{
	memset(&seen, 0, sizeof(seen));
	is_timed = timed;
	driver_error = error;
#define WORK(base, since, name, ...) gt_driver.name = driver_##name;
#include "agent/work.def"
#undef WORK
	/* Called by gt_agent_own_call, above. */
	gt_driver.cuPointerGetAttribute = (void *)take_driver_call;
}

/* Whether the driver's own function was called, once, with what the caller passed. */
static void check_driver_call(const struct hook *hook, const uint64_t *words)
{
	uint64_t passed[WORDS];
	unsigned count = seen.word_count;

	if (seen.calls != 1 || strcmp(seen.name, hook->name) != 0) {
		TAP_FAIL("%s: %u calls of the driver, the last one of %s", hook->name, seen.calls,
			 seen.name ? seen.name : "none");
		return;
	}
	memcpy(passed, seen.words, sizeof(passed));
	call_function(hook->driver, words);
	CHECK_INT(seen.word_count, count);
	if (memcmp(passed, seen.words, count * sizeof(*passed)) != 0)
		TAP_FAIL("%s: the driver got other arguments than the caller passed", hook->name);
	for (unsigned i = 0; i < count; i++)
		if (passed[i] != words[i])
			TAP_FAIL("%s: argument %u is 0x%llx", hook->name, i,
				 (unsigned long long)passed[i]);
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static void check_hook(const struct hook *hook, const struct expected_work *expected)
{
	uint64_t words[WORDS], object;

	make_words(expected, words);
	object = expected->object == NO_WORD ? 0 : words[expected->object];
	reset(true, 0);
	CHECK_INT(call_function(hook->hook, words), 0);
	CHECK_INT(seen.numbered, object != 0);
	if (seen.begun != 1 || seen.ended != 1)
		TAP_FAIL("%s: not begun before and ended after the call", hook->name);
	if (seen.stream != expected_stream(hook, expected) || seen.per_thread != hook->per_thread)
		TAP_FAIL("%s: stream %p%s", hook->name, seen.stream,
			 seen.per_thread ? ", of the thread" : "");
	if (seen.error || seen.operation != expected->operation || seen.object != object ||
	    seen.bytes != expected->bytes)
		TAP_FAIL("%s: operation %d of 0x%llx, %llu bytes", hook->name, seen.operation,
			 (unsigned long long)seen.object, (unsigned long long)seen.bytes);
	check_driver_call(hook, words);
}

TEST("each function of work.def passes its arguments on, and the operation is the function's")
{
	for (size_t i = 0; i < gt_countof(hooks); i++) {
		const struct expected_work *expected = find_expected(hooks[i].base);

		if (expected)
			check_hook(&hooks[i], expected);
		else
			TAP_FAIL("%s: nothing is expected of it", hooks[i].name);
	}
}

/* What the arguments point to may be what the driver has rejected. */
TEST("of a call that failed no argument is examined, and the error is the caller's")
{
	const uint64_t words[WORDS] = {0};

	for (size_t i = 0; i < gt_countof(hooks); i++) {
		reset(true, FAILED);
		CHECK_INT(call_function(hooks[i].hook, words), FAILED);
		CHECK_INT(seen.calls, 1);
		CHECK_INT(seen.ended, 1);
		CHECK_INT(seen.error, FAILED);
		CHECK_INT(seen.bytes, 0);
	}
}

TEST("an operation that is not timed is only passed on")
{
	for (size_t i = 0; i < gt_countof(hooks); i++) {
		const struct expected_work *expected = find_expected(hooks[i].base);
		uint64_t words[WORDS];

		if (!expected)
			continue;
		make_words(expected, words);
		reset(false, 0);
		CHECK_INT(call_function(hooks[i].hook, words), 0);
		CHECK_INT(seen.ended, 0);
		check_driver_call(&hooks[i], words);
	}
}

TEST("a function that the driver does not have is reported as not found")
{
	const uint64_t words[WORDS] = {0};

	reset(true, 0);
	memset(&gt_driver, 0, sizeof(gt_driver));
	for (size_t i = 0; i < gt_countof(hooks); i++)
		CHECK_INT(call_function(hooks[i].hook, words), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(seen.calls, 0);
	CHECK_INT(seen.begun, 0);
}

static bool is_hooked(const char *name)
{
	for (size_t i = 0; i < gt_countof(hooks); i++)
		if (!strcmp(hooks[i].name, name))
			return true;
	return false;
}

/* docs/gpu-times.md: launches on several devices, and functions that CUDA 3.2 replaced. */
static bool is_documented(const char *name)
{
	gt_auto_strbuf successor = GT_STRBUF_INIT;

	gt_strbuf_printf(&successor, "%s_v2", name);
	return !strcmp(name, "cuLaunchCooperativeKernelMultiDevice") ||
	       (gt_api_find(gt_strbuf_string(&successor)) >= 0 &&
		is_hooked(gt_strbuf_string(&successor)));
}

TEST("each function that copies, sets or launches is timed, but for those that are documented")
{
	unsigned count = 0;

	for (unsigned row = 0; row < gt_api_count(); row++) {
		const struct gt_api_function *function = gt_api_function(row);

		if (strcmp(gt_api_group_of(function->library), "cuda") != 0 ||
		    !strncmp(function->name, "cuda", 4) || !strncmp(function->name, "__cuda", 6) ||
		    (function->category != GT_CATEGORY_COPY &&
		     function->category != GT_CATEGORY_SET &&
		     function->category != GT_CATEGORY_LAUNCH))
			continue;
		count++;
		if (!is_hooked(function->name) && !is_documented(function->name))
			TAP_FAIL("%s is not timed", function->name);
	}
	CHECK(count > 50);
}

/* 0x1000 is the device's, 0x4000 the host's, 0x5000 not known. */
TEST("the direction of a copy is that of the memory at its addresses")
{
	reset(true, 0);
	CHECK_INT(gt_agent_copy_of(0x1000, 0x2000), GT_GPU_COPY_ON_DEVICE);
	CHECK_INT(gt_agent_copy_of(0x1000, 0x4000), GT_GPU_COPY_TO_DEVICE);
	CHECK_INT(gt_agent_copy_of(0x4000, 0x1000), GT_GPU_COPY_TO_HOST);
	CHECK_INT(gt_agent_copy_of(0x4000, 0x4000), GT_GPU_COPY);
	/* The driver does not know pageable memory. */
	CHECK_INT(gt_agent_copy_of(0x1000, 0x5000), GT_GPU_COPY_TO_DEVICE);
	CHECK_INT(gt_agent_copy_of(0x5000, 0x1000), GT_GPU_COPY_TO_HOST);
}

TEST("the direction of a copy of unified addresses is that of the memory at the address")
{
	struct gt_agent_copy_2d flat = {.source_type = 4,
					.source_device = 0x4000,
					.target_type = 4,
					.target_device = 0x1000};
	struct gt_agent_copy_3d deep = {
		.source_type = 4, .source_device = 0x1000, .target_type = 3};

	reset(true, 0);
	CHECK_INT(gt_agent_copy_of_2d(&flat), GT_GPU_COPY_TO_DEVICE);
	CHECK_INT(gt_agent_copy_of_3d(&deep), GT_GPU_COPY_ON_DEVICE);
}

TEST_MAIN
