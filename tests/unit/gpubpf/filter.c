/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Filters before programs: conditions, sampling, and changes while programs run. */
#include <errno.h>

#include "assemble.h"
#include "gpubpf/filter.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/map/map.h"
#include "gpubpf/verify/verify.h"
#include "tap.h"

enum {
	BLOCKS = 4,
	THREADS = 40,
	RUNS = BLOCKS * THREADS,
};

/* A program that returns 1, its filter, and the memory of the map. */
struct filtered_program {
	struct gt_section section;
	struct gt_bpf_object object;
	struct gt_bpf_program program;
	struct gt_bpf_filter filter;
	struct gt_facts facts;
	void *memory;
	uint64_t results[RUNS];
};

static void filtered_clear(struct filtered_program *self)
{
	for (uint32_t i = 0; i < self->object.map_count; i++)
		free(self->object.maps[i].initial);
	free(self->object.maps);
	gt_facts_clear(&self->facts);
	gt_bpf_program_clear(&self->program);
	free(self->memory);
}
#define auto_filtered __attribute__((cleanup(filtered_clear))) struct filtered_program

static bool filtered_open(struct filtered_program *self, const char *section, const char *when,
			  uint32_t period)
{
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT, .section = &self->section};
	struct gt_diag diag = {0};

	self->filter.period = period;
	if (gt_section_read(section, "p", &self->section, &diag) ||
	    gt_bpf_assemble("mov r0, 1\nexit", &self->program.insns, &self->program.count, &diag) ||
	    (when && gt_bpf_filter_parse(when, &self->section, &self->filter, &diag)) ||
	    gt_bpf_filter_insert(&self->object, &self->program, &self->section, RUNS, &self->filter,
				 &diag) ||
	    gt_verify(&self->object, &self->program, &options, &self->facts, NULL, &diag)) {
		TAP_FAIL("%s: %s", section, diag.text);
		return false;
	}
	self->memory = calloc(1, gt_bpf_map_bytes(&self->object.maps[0], 1));
	gt_bpf_map_initialise(&self->object.maps[0], 1, self->memory);
	return true;
}

/* Launch all threads once: how many runs passed. */
static unsigned launch(struct filtered_program *self)
{
	const struct gt_interp_options options = {.object = &self->object,
						  .map_memory = &self->memory};
	const struct gt_interp_grid grid = {.block_size = {THREADS, 1, 1},
					    .grid_size = {BLOCKS, 1, 1},
					    .section = &self->section,
					    .results = self->results};
	struct gt_interp_result result;
	struct gt_diag diag = {0};
	unsigned passed = 0;

	memset(self->results, 0, sizeof(self->results));
	if (gt_interp_run_grid(&self->program, &options, &grid, &result, &diag))
		TAP_FAIL("%s", diag.text);
	for (unsigned i = 0; i < RUNS; i++)
		passed += self->results[i] == 1;
	return passed;
}

static unsigned passed_of(const char *section, const char *when)
{
	auto_filtered self = {0};

	return filtered_open(&self, section, when, 0) ? launch(&self) : UINT32_MAX;
}

static void expect_error(const char *section_name, const char *when, const char *text)
{
	struct gt_section section = {0};
	struct gt_bpf_filter filter = {0};
	struct gt_diag diag = {0};

	CHECK(!gt_section_read(section_name, "p", &section, &diag));
	CHECK_INT(gt_bpf_filter_parse(when, &section, &filter, &diag), -EINVAL);
	CHECK_STR(diag.text, text);
	CHECK(!filter.term_count);
}

TEST("a condition selects threads by fields of the context, with each operator")
{
	CHECK_INT(passed_of("gpu/entry/k", "thread_x < 3"), 3 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x <= 3"), 4 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x > 3"), 36 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x >= 3"), 37 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x = 3"), BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x != 3"), 39 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x != 0"), 39 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x >= 0"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "blockDim.x == 40 && gridDim.x == 4 && blockIdx.x<1"),
		  THREADS);
	CHECK_INT(passed_of("gpu/entry/k", "lane == 0"), 2 * BLOCKS);
	CHECK_INT(passed_of("gpu/entry/k", "arguments[1]==0 && argument_sizes[0] == 0"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x < 3 && threadIdx.x > 5"), 0);
	CHECK_INT(passed_of("gpu/entry.warp/k", "warp == 1"), BLOCKS);
	CHECK_INT(passed_of("gpu/entry.block/k", "blockIdx.x != 2"), BLOCKS - 1);
}

static void expect_printed(const char *when, const char *text)
{
	struct gt_section section = {0};
	struct gt_bpf_filter filter = {0};
	gt_auto_strbuf printed = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	CHECK(!gt_section_read("gpu/entry/k", "p", &section, &diag));
	CHECK(!gt_bpf_filter_parse(when, &section, &filter, &diag));
	gt_bpf_filter_print(&filter, &printed);
	CHECK_STR(gt_strbuf_string(&printed), text);
}

TEST("conditions on fields of 4 bytes hold up to 2^32 - 1, those on 8 bytes beyond it")
{
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x < 4294967296"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x <= 18446744073709551615"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x != 4294967296"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x != 4294967299"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x != 4294967295"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "threadIdx.x > 4294967294"), 0);
	CHECK_INT(passed_of("gpu/entry/k", "arguments[1] < 4294967296"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "arguments[1] != 4294967296"), RUNS);
	CHECK_INT(passed_of("gpu/entry/k", "arguments[1] == 4294967296"), 0);
	CHECK_INT(passed_of("gpu/entry/k", "arguments[1] >= 4294967296"), 0);
	expect_error("gpu/entry/k", "lane == 4294967296",
		     "no value of lane fulfills the condition");
	expect_error("gpu/entry/k", "lane > 4294967295", "no value of lane fulfills the condition");
	expect_error("gpu/entry/k", "lane >= 4294967296",
		     "no value of lane fulfills the condition");
	expect_printed("lane != 4294967295 && lane != 0 && lane >= 1 && lane <= 4294967294",
		       "lane != 4294967295 && lane != 0 && lane != 0 && lane != 4294967295");
	expect_printed("lane < 4294967297 && arguments[1] < 4294967297",
		       "lane >= 0 && arguments[1] <= 4294967296");
}

TEST("a condition that cannot be meant is rejected with the reason")
{
	expect_error(
		"gpu/entry/k", "thread == 0",
		"unknown field 'thread' (such as blockIdx.x, threadIdx.x, lane, warp, sm, line, "
		"arguments[0]; include/gputap/bpf.h lists them)");
	expect_error("gpu/entry/k", "lane[1] == 0",
		     "unknown field 'lane[1]' (such as blockIdx.x, threadIdx.x, lane, warp, sm, "
		     "line, arguments[0]; include/gputap/bpf.h lists them)");
	expect_error("gpu/entry/k", "width == 4", "programs of gpu/entry have no field 'width'");
	expect_error("gpu/entry.warp/k", "lane == 0",
		     "field 'lane' differs between threads, but programs of 'gpu/entry.warp/k' run "
		     "once per warp");
	expect_error("gpu/entry/k", "lane == x",
		     "invalid value 'x' for lane (an unsigned integer)");
	expect_error("gpu/entry/k", "lane < 0", "no value of lane fulfills the condition");
	expect_error("gpu/entry/k", "lane",
		     "no comparison in 'lane', use one such as 'blockIdx.x==0' (operators: < <= == "
		     "!= >= >)");
}

TEST("sampling lets the first run of each thread pass, and each Nth after it")
{
	auto_filtered self = {0};

	if (!filtered_open(&self, "gpu/entry/k", NULL, 3))
		return;
	CHECK_INT(launch(&self), RUNS);
	CHECK_INT(launch(&self), 0);
	CHECK_INT(launch(&self), 0);
	CHECK_INT(launch(&self), RUNS);
	CHECK_INT((int64_t)gt_bpf_filter_skipped(&self.filter, self.memory), 2 * RUNS);
}

TEST("programs that run once per warp or block are sampled by warp or block")
{
	static const struct {
		const char *section;
		unsigned runs;
	} levels[] = {{"gpu/entry.warp/k", 2 * BLOCKS}, {"gpu/entry.block/k", BLOCKS}};

	for (size_t i = 0; i < gt_countof(levels); i++) {
		auto_filtered self = {0};

		if (!filtered_open(&self, levels[i].section, NULL, 2))
			return;
		CHECK_INT(launch(&self), levels[i].runs);
		CHECK_INT(launch(&self), 0);
		CHECK_INT(launch(&self), levels[i].runs);
	}
}

TEST("the condition and the period change between runs of one program")
{
	auto_filtered self = {0};
	struct gt_bpf_filter wanted = {0};
	struct gt_diag diag = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!filtered_open(&self, "gpu/entry/k", "lane >= 0 && blockIdx.x == 0", 1))
		return;
	CHECK_INT(launch(&self), THREADS);
	CHECK_INT(launch(&self), THREADS);
	CHECK(!gt_bpf_filter_parse("lane < 2", &self.section, &wanted, &diag));
	CHECK(!gt_bpf_filter_change(&self.filter, &wanted, true, self.memory, &diag));
	CHECK_INT(launch(&self), 4 * BLOCKS);
	wanted = (struct gt_bpf_filter){.period = 2};
	CHECK(!gt_bpf_filter_change(&self.filter, &wanted, false, self.memory, &diag));
	CHECK_INT(launch(&self), 4 * BLOCKS);
	CHECK_INT(launch(&self), 0);
	gt_bpf_filter_print(&self.filter, &text);
	CHECK_STR(gt_strbuf_string(&text), "lane <= 1 && block_x >= 0");
	CHECK(!gt_bpf_filter_parse("lane < 2 && lane > 0", &self.section, &wanted, &diag));
	CHECK_INT(gt_bpf_filter_change(&self.filter, &wanted, true, self.memory, &diag), -EINVAL);
	CHECK_STR(diag.text, "it was started with fewer comparisons of 'lane' in --when");
	CHECK_INT(self.filter.period, 2);
}

TEST("periods are N or 1/N, from 1 on")
{
	uint32_t period = 77;

	CHECK(!gt_bpf_filter_parse_period("1/100", &period) && period == 100);
	CHECK(!gt_bpf_filter_parse_period("7", &period) && period == 7);
	CHECK_INT(gt_bpf_filter_parse_period("0", &period), -EINVAL);
	CHECK_INT(gt_bpf_filter_parse_period("2/3", &period), -EINVAL);
	CHECK_INT(gt_bpf_filter_parse_period("1/4294967296", &period), -EINVAL);
	CHECK_INT(period, 7);
}

TEST_MAIN
