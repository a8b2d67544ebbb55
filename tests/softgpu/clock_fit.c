/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fit of a GPU's clock recovers the offset and the drift of the virtual clock exactly: in
 * virtual time it is known to the nanosecond when a kernel begins and ends.
 */
#include "analysis/clock_fit.h"

#include <inttypes.h>
#include <math.h>

#include "base/strbuf.h"
#include "child.h"
#include "driver.h"
#include "ptxas.h"

enum {
	LAUNCHES = 20,
	/* The model: a kernel takes 2 us and 1 ns per instruction; a read of the timer adds 1 us.
	 */
	READS = 4,
	KERNEL_NS = 2000,
	READ_NS = 1000,
};

#define OFFSET INT64_C(-86400000012345)
#define DRIFT 123

static struct temporary log_file;

/* Reads the timer when it begins, and again so that the last time is that of its end. */
static void put_kernel(struct gt_strbuf *text, unsigned filler)
{
	gt_strbuf_puts(text, PTX_HEADER ".visible .entry bounds(.param .u64 p)\n{\n"
					"	.reg .b64 %rd<9>;\n"
					"	ld.param.u64 %rd0, [p];\n"
					"	mov.u64 %rd1, %globaltimer;\n"
					"	mov.u64 %rd2, %globaltimer;\n"
					"	mov.u64 %rd3, %globaltimer;\n"
					"	mov.u64 %rd4, %globaltimer;\n"
					"	st.global.u64 [%rd0], %rd1;\n"
					"	st.global.u64 [%rd0+8], %rd4;\n");
	for (unsigned i = 0; i < filler; i++)
		gt_strbuf_puts(text, "	add.u64 %rd2, %rd2, %rd3;\n");
	gt_strbuf_puts(text, "	ret;\n}\n");
}

static const char work_ptx[] = PTX_HEADER ".visible .entry work()\n{\n"
					  "	.reg .b32 %r<2>;\n	.reg .pred %p;\n"
					  "	mov.u32 %r0, 0;\n"
					  "$loop:\n"
					  "	add.u32 %r0, %r0, 1;\n"
					  "	setp.lt.u32 %p, %r0, 300000;\n"
					  "	@%p bra $loop;\n"
					  "	ret;\n}\n";

/* When the last kernel of the log began and ended, on the host's virtual clock. */
static void read_last(const char *log, uint64_t *ret_start, uint64_t *ret_end)
{
	char line[4096];
	FILE *file = fopen(log, "re");

	*ret_start = *ret_end = 0;
	while (file && fgets(line, sizeof(line), file)) {
		const char *start = strstr(line, "\"start\":"), *end = strstr(line, "\"end\":");

		if (!strstr(line, "\"op\":\"kernel\"") || !start || !end)
			continue;
		sscanf(start, "\"start\":%" SCNu64, ret_start);
		sscanf(end, "\"end\":%" SCNu64, ret_end);
	}
	if (file)
		fclose(file);
}

/* When the device's clock began: when the first operation was submitted. */
static uint64_t read_began(const char *log)
{
	uint64_t began = 0;
	char line[4096];
	FILE *file = fopen(log, "re");

	while (file && !began && fgets(line, sizeof(line), file))
		if (strstr(line, "\"op\":\"set\""))
			sscanf(strstr(line, "\"submitted\":"), "\"submitted\":%" SCNu64, &began);
	if (file)
		fclose(file);
	return began;
}

static CUfunction load(const char *text, const char *name)
{
	CUfunction function = NULL;
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, text));
	CHECK_OK(cuModuleGetFunction(&function, module, name));
	return function;
}

static CUfunction load_bounds(unsigned filler)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_kernel(&text, filler);
	return load(gt_strbuf_string(&text), "bounds");
}

static void run_bounds(const struct driver *driver, CUfunction function, uint64_t timers[2])
{
	CUdeviceptr memory = driver->memory;

	CHECK_OK(launch(function, 1, 1, NULL, (void *[]){&memory}));
	CHECK_OK(cuMemcpyDtoH(timers, driver->memory, 2 * sizeof(*timers)));
}

static void check_fit(struct gt_clock_fit *fit, uint64_t began, uint64_t ended)
{
	double since = (double)(began - read_began(log_file.path));

	CHECK(!gt_clock_fit_solve(fit));
	CHECK(!fit->violations);
	CHECK(fit->error <= 2);
	CHECK(fabs(fit->drift - DRIFT) < 0.1 && fabs(fit->drift - DRIFT) <= fit->drift_error);
	CHECK(fit->drift_error < 0.5);
	CHECK(llabs(fit->offset - OFFSET - llround(since * DRIFT / 1e6)) <= 1);
	CHECK(llabs((int64_t)(gt_clock_fit_host(fit, fit->first_gpu) - began)) <= 1);
	CHECK(llabs((int64_t)(gt_clock_fit_host(fit, fit->first_gpu + (uint64_t)fit->latest) -
			      ended)) <= 1);
}

static int run_program(void)
{
	struct gt_clock_fit fit = {.step = 1};
	struct driver driver = begin();
	uint64_t timers[2], start, stop, began = 0;
	CUfunction bounds, work;

	/* The kernel's instructions take as long as the reads of the timer after the first. */
	bounds = load_bounds(0);
	run_bounds(&driver, bounds, timers);
	read_last(log_file.path, &start, &stop);
	bounds = load_bounds((unsigned)((READS - 1) * READ_NS - (stop - start)));
	work = load(work_ptx, "work");
	for (int i = 0; i < LAUNCHES; i++) {
		/* The timer may be ahead after a kernel that reads it often. */
		CHECK_OK(launch(work, 1, 1, NULL, NULL));
		CHECK_OK(cuCtxSynchronize());
		run_bounds(&driver, bounds, timers);
		read_last(log_file.path, &start, &stop);
		CHECK(stop - start == (READS - 1) * READ_NS);
		CHECK(!gt_clock_fit_add_before(&fit, start, timers[0]));
		CHECK(!gt_clock_fit_add_after(&fit, timers[1], stop));
		began = began ? began : start;
	}
	check_fit(&fit, began, stop);
	gt_clock_fit_clear(&fit);
	end(&driver);
	return tap_failed;
}

TEST("the fit of the clocks recovers offset and drift of the virtual clock to the nanosecond")
{
	char offset[32], drift[32];
	int fd = make_temporary_file(&log_file);

	CHECK(fd >= 0);
	snprintf(offset, sizeof(offset), "%" PRId64 "ns", OFFSET);
	snprintf(drift, sizeof(drift), "%d", DRIFT);
	setenv("SOFTGPU_TIME", "virtual", 1);
	setenv("SOFTGPU_CLOCK_OFFSET", offset, 1);
	setenv("SOFTGPU_CLOCK_DRIFT", drift, 1);
	setenv("SOFTGPU_LOG", log_file.path, 1);
	CHECK_INT(in_child(run_program), 0);
	unlink(log_file.path);
	close(fd);
}

TEST_MAIN
