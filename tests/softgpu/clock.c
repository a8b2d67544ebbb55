/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The virtual clock: modelled times in events and %globaltimer. */
#include "child.h"
#include "driver.h"
#include "ptxas.h"

enum { BYTES = 1 << 20 };

static const char timer_ptx[] = PTX_HEADER ".visible .entry read_timer(.param .u64 p)\n"
					   "{\n"
					   "	.reg .b64 %rd<3>;\n"
					   "	ld.param.u64 %rd0, [p];\n"
					   "	mov.u64 %rd1, %globaltimer;\n"
					   "	st.global.u64 [%rd0], %rd1;\n"
					   "	ret;\n"
					   "}\n";

/* The times that one run of the program below reads. */
struct times {
	float set, copy, kernel; /* ms between the events round each */
	uint64_t timers[2];      /* of two kernels with a memset between them */
};

static float elapsed(CUevent from, CUevent to)
{
	float ms = -1;

	CHECK_OK(cuEventElapsedTime(&ms, from, to));
	return ms;
}

static void run_program(struct times *ret_times)
{
	struct driver driver = begin();
	CUdeviceptr memory, places[2];
	CUfunction function;
	CUmodule module;
	CUevent events[4];
	CUstream stream;

	CHECK_OK(cuModuleLoadData(&module, timer_ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, "read_timer"));
	CHECK_OK(cuMemAlloc(&memory, 2 * BYTES));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 4; i++)
		CHECK_OK(cuEventCreate(&events[i], 0));
	places[0] = driver.memory;
	places[1] = driver.memory + 8;
	CHECK_OK(launch(function, 1, 1, stream, (void *[]){&places[0]}));
	CHECK_OK(cuEventRecord(events[0], stream));
	CHECK_OK(cuMemsetD8Async(memory, 1, BYTES, stream));
	CHECK_OK(cuEventRecord(events[1], stream));
	CHECK_OK(cuMemcpyDtoDAsync(memory + BYTES, memory, BYTES, stream));
	CHECK_OK(cuEventRecord(events[2], stream));
	CHECK_OK(launch(function, 1, 1, stream, (void *[]){&places[1]}));
	CHECK_OK(cuEventRecord(events[3], stream));
	CHECK_OK(cuStreamSynchronize(stream));
	ret_times->set = elapsed(events[0], events[1]);
	ret_times->copy = elapsed(events[1], events[2]);
	ret_times->kernel = elapsed(events[2], events[3]);
	CHECK_OK(cuMemcpyDtoH(ret_times->timers, driver.memory, sizeof(ret_times->timers)));
	end(&driver);
}

/* In a child, which returns the times through a pipe. */
static int pipe_end;

static int run_and_report(void)
{
	struct times times = {0};

	run_program(&times);
	return write(pipe_end, &times, sizeof(times)) == sizeof(times) ? tap_failed : 1;
}

static struct times run_virtually(const char *drift, const char *offset)
{
	struct times times = {0};
	int pipes[2];

	CHECK(!pipe(pipes));
	pipe_end = pipes[1];
	setenv("SOFTGPU_TIME", "virtual", 1);
	setenv("SOFTGPU_CLOCK_DRIFT", drift, 1);
	setenv("SOFTGPU_CLOCK_OFFSET", offset, 1);
	CHECK_INT(in_child(run_and_report), 0);
	CHECK(read(pipes[0], &times, sizeof(times)) == sizeof(times));
	close(pipes[0]);
	close(pipes[1]);
	return times;
}

static bool near(double value, double expected)
{
	return value > expected * 0.99999 && value < expected * 1.00001;
}

TEST("in virtual time memsets and copies take the modelled times, in every run")
{
	struct times first = run_virtually("0", "0"), second = run_virtually("0", "0");

	/* 1 µs each, and 64 or 16 bytes a ns. */
	CHECK(near(first.set, (1000 + BYTES / 64.) / 1e6));
	CHECK(near(first.copy, (1000 + BYTES / 16.) / 1e6));
	CHECK(first.kernel >= 0.002f);
	CHECK(first.set == second.set && first.copy == second.copy &&
	      first.kernel == second.kernel);
}

TEST("in virtual time %globaltimer advances by the work between two kernels")
{
	struct times times = run_virtually("0", "0");
	uint64_t between = times.timers[1] - times.timers[0];
	uint64_t work = (uint64_t)((double)(times.set + times.copy + times.kernel) * 1e6);

	/* From the start of one kernel to that of the other; a read adds up to 1 µs. */
	CHECK(between + 1 >= work && between <= work + 1000);
}

TEST("in virtual time, too, everything takes longer by a fast clock")
{
	struct times right = run_virtually("0", "0"), fast = run_virtually("10000", "0");

	CHECK(near(fast.set, right.set * 1.01));
	CHECK(near(fast.copy, right.copy * 1.01));
	CHECK(near((double)(fast.timers[1] - fast.timers[0]),
		   (double)(right.timers[1] - right.timers[0]) * 1.01));
}

TEST("in virtual time, too, the clock has the configured offset")
{
	struct times right = run_virtually("0", "0"), ahead = run_virtually("0", "1000s");
	uint64_t moved = ahead.timers[0] - right.timers[0];

	/* The second run began later, by less than a minute. */
	CHECK(moved >= UINT64_C(1000000000000) && moved < UINT64_C(1060000000000));
	CHECK(ahead.set == right.set);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(timer_ptx);
	check_with_ptxas();
}

TEST_MAIN
