/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions of --when. */
#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "event/kinds.h"
#include "session/when.h"
#include "tap.h"

static struct gt_when *when;
static struct gt_condition conditions[GT_MAX_CONDITIONS];
static __u32 count;
static struct gt_diag diag;

static int parse(const char *text)
{
	int error;

	gt_when_free(when);
	when = NULL;
	diag = (struct gt_diag){0};
	error = gt_when_parse(text, &when, &diag);
	if (!error)
		gt_when_kernel_part(when, conditions, &count);
	return error;
}

static void expect_one(const char *text, enum gt_condition_field field,
		       enum gt_comparison_operator compare, uint64_t value)
{
	CHECK_INT(parse(text), 0);
	CHECK_INT(count, 1);
	CHECK_INT(conditions[0].field, field);
	CHECK_INT(conditions[0].compare, compare);
	CHECK_INT(conditions[0].value, value);
}

static void expect_error(const char *text, int error, const char *message)
{
	CHECK_INT(parse(text), error);
	CHECK(!when);
	CHECK_STR(diag.stage, "when");
	CHECK_STR(diag.text, message);
}

/* A call of no function that is in the tables. */
static bool holds(const char *text, uint64_t duration, uint64_t result, unsigned depth)
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_call call = {
		.head = {.kind = GT_EVENT_call, .size = sizeof(call), .thread = 77},
		.duration = duration,
		.result = result,
		.depth = depth,
		.function = UINT32_MAX,
	};

	CHECK_INT(parse(text), 0);
	return gt_when_holds(when, names, &call);
}

TEST("a duration has a unit, or is one of ns")
{
	expect_one("duration>1ms", GT_CONDITION_DURATION, GT_GREATER, 1000000);
	expect_one("duration>1.5us", GT_CONDITION_DURATION, GT_GREATER, 1500);
	expect_one("duration>2s", GT_CONDITION_DURATION, GT_GREATER, 2000000000);
	expect_one("duration>7ns", GT_CONDITION_DURATION, GT_GREATER, 7);
	expect_one("duration>250", GT_CONDITION_DURATION, GT_GREATER, 250);
}

TEST("every operator is known, also the one that is the beginning of another")
{
	expect_one("result<1", GT_CONDITION_RESULT, GT_LESS, 1);
	expect_one("result<=1", GT_CONDITION_RESULT, GT_LESS_OR_EQUAL, 1);
	expect_one("result=1", GT_CONDITION_RESULT, GT_EQUAL, 1);
	expect_one("result==1", GT_CONDITION_RESULT, GT_EQUAL, 1);
	expect_one("result!=1", GT_CONDITION_RESULT, GT_NOT_EQUAL, 1);
	expect_one("result>=1", GT_CONDITION_RESULT, GT_GREATER_OR_EQUAL, 1);
	expect_one("result>1", GT_CONDITION_RESULT, GT_GREATER, 1);
}

TEST("spaces may stand anywhere between words")
{
	expect_one("  depth  ==  0 ", GT_CONDITION_DEPTH, GT_EQUAL, 0);
}

TEST("a result may be hexadecimal")
{
	expect_one("result==0x2bc", GT_CONDITION_RESULT, GT_EQUAL, 700);
}

TEST("the kernel tests up to four comparisons that must hold, and the pipeline all")
{
	CHECK_INT(parse("duration>1 && duration<9&&result!=0 &&depth==1"), 0);
	CHECK_INT(count, 4);
	CHECK_INT(conditions[3].field, GT_CONDITION_DEPTH);
	CHECK(gt_when_is_for_kernel("duration>1 && (duration<9&&result!=0) &&depth==1"));
	CHECK(!gt_when_is_for_kernel("depth>0&&depth>0&&depth>0&&depth>0&&depth>0"));
	CHECK_INT(parse("depth>0&&depth>0&&depth>0&&depth>0&&depth>0"), 0);
	CHECK_INT(count, 4);
	CHECK(!gt_when_is_for_kernel("duration>1 || depth==1"));
	CHECK_INT(parse("duration>1 || depth==1"), 0);
	CHECK_INT(count, 0);
	CHECK(!gt_when_is_for_kernel("duration>1 && size>3"));
	CHECK_INT(parse("size>3 && duration>1 && (depth==1 || depth==2)"), 0);
	CHECK_INT(count, 1);
	CHECK(!gt_when_is_for_kernel("!(duration>1)"));
	CHECK(gt_when_is_for_kernel(NULL));
}

TEST("conditions nest, && binds closer than ||, and ! negates")
{
	CHECK(holds("depth==1 || depth==2 && result==9", 0, 0, 1));
	CHECK(!holds("(depth==1 || depth==2) && result==9", 0, 0, 1));
	CHECK(holds("(depth==1 || depth==2) && result==9", 0, 9, 2));
	CHECK(holds("!(depth==1 || depth==2)", 0, 0, 3));
	CHECK(!holds("!(depth==1 || depth==2)", 0, 0, 2));
	CHECK(holds("! ! (depth==2)", 0, 0, 2));
	CHECK(holds("((((depth!=1))))", 0, 0, 2));
	CHECK(holds("tid==77 && !(tid!=77)", 0, 0, 2));
}

TEST("what a call does not have is neither equal nor unequal to anything")
{
	CHECK(!holds("size>=0", 0, 0, 0));
	CHECK(!holds("size!=5", 0, 0, 0));
	CHECK(!holds("kernel==*", 0, 0, 0));
	CHECK(!holds("kernel!=x", 0, 0, 0));
	CHECK(holds("!(stream==0)", 0, 0, 0));
	CHECK(holds("grid>0 || depth==0", 0, 0, 0));
}

/* Through the tables, as the session evaluates them. */
TEST("the size of an allocation and the stream of a copy are compared")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_autofree struct gt_event *function =
		gt_event_new(GT_EVENT_function, "cudaMalloc", strlen("cudaMalloc"));
	__u64 record[sizeof(struct gt_event_call) / sizeof(__u64) + 3] = {0};
	struct gt_event_call *call = (void *)record;
	int row = gt_api_find("cudaMalloc");

	call->head.kind = GT_EVENT_call;
	call->head.size = sizeof(record);
	call->slots = 2;
	memcpy(call->words, (__u64[]){0x1000, 1 << 20, 0x7f00}, 3 * sizeof(__u64));
	CHECK(row >= 0);
	call->function = ((struct gt_event_function *)function)->number = (__u32)row;
	CHECK_INT(gt_names_take(names, function), 0);
	CHECK_INT(parse("size==1MiB"), 0);
	CHECK(gt_when_holds(when, names, call));
	CHECK_INT(parse("size>1MiB || kernel==x"), 0);
	CHECK(!gt_when_holds(when, names, call));
}

/* A launch of the given grid, in blocks of 16x8x1. */
static bool launch_holds(const char *text, uint32_t x, uint32_t y, uint32_t z)
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_autofree struct gt_event *function =
		gt_event_new(GT_EVENT_function, "cuLaunchKernel", strlen("cuLaunchKernel"));
	__u64 record[sizeof(struct gt_event_call) / sizeof(__u64) + 12] = {0};
	struct gt_event_call *call = (void *)record;
	int row = gt_api_find("cuLaunchKernel");

	call->head.kind = GT_EVENT_call;
	call->head.size = sizeof(record);
	call->slots = 11;
	memcpy(call->words, (__u64[]){0x1000, x, y, z, 16, 8, 1, 0, 0, 0, 0}, 11 * sizeof(__u64));
	CHECK(row >= 0);
	call->function = ((struct gt_event_function *)function)->number = (__u32)row;
	CHECK_INT(gt_names_take(names, function), 0);
	CHECK_INT(parse(text), 0);
	return gt_when_holds(when, names, call);
}

TEST("a grid is compared by its product, or by its dimensions as lines print them")
{
	CHECK(launch_holds("grid==24", 2, 3, 4));
	CHECK(launch_holds("grid==2x3x4", 2, 3, 4));
	CHECK(!launch_holds("grid==2x3x5", 2, 3, 4));
	CHECK(!launch_holds("grid==4x3x2", 2, 3, 4));
	CHECK(launch_holds("grid!=4x3x2", 2, 3, 4));
	CHECK(!launch_holds("grid!=2x3x4", 2, 3, 4));
	CHECK(launch_holds("grid==6x4", 6, 4, 1));
	CHECK(!launch_holds("grid==6x4", 6, 4, 2));
	CHECK(launch_holds("block==16x8x1 && block==128 && block<=128", 2, 3, 4));
	CHECK(!launch_holds("block==16x8x2", 2, 3, 4));
	CHECK(!holds("grid!=1x1x1", 0, 0, 0));
	expect_error("grid>=2x3x4", -EINVAL,
		     "the dimensions of a grid are compared by == or !=, their product, such as "
		     "'256', by every operator");
	expect_error("grid==2x3x4x5", -EINVAL,
		     "invalid value '2x3x4x5' for grid, use one such as '256'");
	expect_error("grid==2x", -EINVAL, "invalid value '2x' for grid, use one such as '256'");
	expect_error("grid==2x-3", -EINVAL, "invalid value '2x-3' for grid, use one such as '256'");
	expect_error("block==4294967296x1", -EINVAL,
		     "invalid value '4294967296x1' for block, use one such as '256'");
}

TEST("values are accepted as lines print them")
{
	expect_one("duration>4.2 µs", GT_CONDITION_DURATION, GT_GREATER, 4200);
	expect_one("result==error 12345", GT_CONDITION_RESULT, GT_EQUAL, 12345);
	CHECK_INT(parse("size==1048576 bytes"), 0);
	CHECK(launch_holds("stream==0x0", 1, 1, 1));
	CHECK(launch_holds("stream==legacy", 1, 1, 1));
	CHECK(!launch_holds("stream==per-thread", 1, 1, 1));
}

TEST("quotes keep operators in a value")
{
	CHECK_INT(parse("kernel=='add(float*, int) || x' && depth>0"), 0);
	CHECK_INT(count, 1);
	CHECK_INT(parse("kernel==\"a)b\""), 0);
}

TEST("parentheses must be in pairs, and '!' is for them")
{
	expect_error("(depth>0", -EINVAL, "a '(' has no ')'");
	expect_error("depth>0)", -EINVAL, "a ')' has no '('");
	expect_error("!depth>0", -EINVAL, "'!' must be followed by '('");
	expect_error("kernel>a", -EINVAL,
		     "kernel is compared by == or !=, with a glob such as 'gemm*'");
	expect_error("kernel==", -EINVAL, "invalid value '' for kernel, use one such as 'gemm*'");
}

TEST("a condition of any length or depth is bounded")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	for (int i = 0; i < 40; i++)
		gt_strbuf_puts(&text, "depth>0 && ");
	gt_strbuf_puts(&text, "depth>0");
	CHECK_INT(parse(gt_strbuf_string(&text)), -E2BIG);
	gt_strbuf_clear(&text);
	for (int i = 0; i < 100000; i++)
		gt_strbuf_putc(&text, '(');
	CHECK_INT(parse(gt_strbuf_string(&text)), -E2BIG);
	CHECK_STR(diag.text, "more than 16 nested parentheses");
}

TEST("text without a comparison is rejected")
{
	expect_error("", -EINVAL,
		     "no comparison in '', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
	expect_error("duration", -EINVAL,
		     "no comparison in 'duration', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
	expect_error("depth>0 && ", -EINVAL,
		     "no comparison in '', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
	expect_error("depth ! 0", -EINVAL,
		     "no comparison in 'depth ! 0', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
}

TEST("an unknown field is rejected")
{
	expect_error("sizes>4", -EINVAL,
		     "unknown field 'sizes' (one of: duration, result, depth, tid, size, stream, "
		     "grid, block, kernel)");
	expect_error(">4", -EINVAL,
		     "unknown field '' (one of: duration, result, depth, tid, size, stream, grid, "
		     "block, kernel)");
}

TEST("an invalid value is rejected with an example")
{
	expect_error("duration>soon", -EINVAL,
		     "invalid value 'soon' for duration, use one such as '1ms'");
	expect_error("result==", -EINVAL, "invalid value '' for result, use one such as '2'");
	expect_error("result==-1", -EINVAL, "invalid value '-1' for result, use one such as '2'");
	expect_error("depth>1ms", -EINVAL, "invalid value '1ms' for depth, use one such as '2'");
	expect_error("result=>1", -EINVAL, "invalid value '>1' for result, use one such as '2'");
}

TEST("a condition holds on both sides of its border as it says")
{
	CHECK(!holds("duration>100", 100, 0, 0));
	CHECK(holds("duration>100", 101, 0, 0));
	CHECK(holds("duration>=100", 100, 0, 0));
	CHECK(!holds("duration<100", 100, 0, 0));
	CHECK(holds("duration<=100", 100, 0, 0));
	CHECK(holds("result!=0", 0, 2, 0));
	CHECK(!holds("result!=0", 0, 0, 0));
	CHECK(holds("depth=3", 0, 0, 3));
	CHECK(!holds("depth=3", 0, 0, 2));
}

TEST("several conditions hold only together, and none always")
{
	CHECK(holds("duration>10 && result==1", 11, 1, 0));
	CHECK(!holds("duration>10 && result==1", 11, 2, 0));
	CHECK(!holds("duration>10 && result==1", 10, 1, 0));
	CHECK(gt_when_holds(NULL, NULL, NULL));
}

TEST_MAIN
