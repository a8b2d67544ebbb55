/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions of --when. */
#include <errno.h>

#include "probe/api/condition.h"
#include "tap.h"

static struct gt_condition conditions[GT_MAX_CONDITIONS];
static __u32 count;
static struct gt_diag diag;

static int parse(const char *text)
{
	count = 99;
	diag = (struct gt_diag){0};
	return gt_conditions_parse(text, conditions, &count, &diag);
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
	CHECK_INT(count, 99);
	CHECK_STR(diag.stage, "when");
	CHECK_STR(diag.text, message);
}

static bool holds(const char *text, uint64_t duration, uint64_t result, unsigned depth)
{
	struct gt_event_call call = {.duration = duration, .result = result, .depth = depth};

	CHECK_INT(parse(text), 0);
	return gt_conditions_hold(conditions, count, &call);
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

TEST("up to four comparisons are joined, and a fifth is rejected")
{
	CHECK_INT(parse("duration>1 && duration<9&&result!=0 &&depth==1"), 0);
	CHECK_INT(count, 4);
	CHECK_INT(conditions[3].field, GT_CONDITION_DEPTH);
	expect_error("depth>0&&depth>0&&depth>0&&depth>0&&depth>0", -E2BIG,
		     "more than 4 comparisons");
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
		     "no comparison in ' ', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
	expect_error("depth ! 0", -EINVAL,
		     "no comparison in 'depth ! 0', use one such as 'duration>1ms' "
		     "(operators: < <= == != >= >)");
}

TEST("an unknown field is rejected")
{
	expect_error("size>4", -EINVAL,
		     "unknown field 'size' (one of: duration, result, depth, tid)");
	expect_error(">4", -EINVAL, "unknown field '' (one of: duration, result, depth, tid)");
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
	CHECK(gt_conditions_hold(conditions, 0, &(struct gt_event_call){0}));
}

TEST_MAIN
