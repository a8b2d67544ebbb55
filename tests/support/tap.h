/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unit tests in TAP. A test is a sentence:
 *
 *	TEST("a map finds what was put into it")
 *	{
 *		CHECK(gt_hash_get_str(map, "x") == &x);
 *		CHECK_STR(text, "expected");
 *	}
 *	TEST_MAIN
 *
 * A CHECK that fails prints what was compared and fails the test; the test goes on.
 * SKIP("reason") ends a test as skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*run)(void);
	struct tap_test *next;
};

static struct tap_test *tap_first, **tap_last = &tap_first;
static bool tap_failed;
static const char *tap_skipped;

static inline void tap_register(struct tap_test *test)
{
	*tap_last = test;
	tap_last = &test->next;
}

#define TAP_JOIN_(a, b) a##b
#define TAP_JOIN(a, b) TAP_JOIN_(a, b)
#define TEST(sentence) TAP_TEST(sentence, __LINE__)
#define TAP_TEST(sentence, line)                                                                   \
	static void TAP_JOIN(tap_run_, line)(void);                                                \
	static struct tap_test TAP_JOIN(tap_test_, line) = {sentence, TAP_JOIN(tap_run_, line),    \
							    NULL};                                 \
	__attribute__((constructor)) static void TAP_JOIN(tap_add_, line)(void)                    \
	{                                                                                          \
		tap_register(&TAP_JOIN(tap_test_, line));                                          \
	}                                                                                          \
	static void TAP_JOIN(tap_run_, line)(void)

#define TAP_FAIL(...)                                                                              \
	do {                                                                                       \
		tap_failed = true;                                                                 \
		printf("# %s:%d: ", __FILE__, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
	} while (0)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			TAP_FAIL("not true: %s", #condition);                                      \
	} while (0)

#define CHECK_INT(actual, expected)                                                                \
	do {                                                                                       \
		long long tap_a = (long long)(actual), tap_e = (long long)(expected);              \
		if (tap_a != tap_e)                                                                \
			TAP_FAIL("%s is %lld, not %lld", #actual, tap_a, tap_e);                   \
	} while (0)

#define CHECK_STR(actual, expected)                                                                \
	do {                                                                                       \
		const char *tap_a = (actual), *tap_e = (expected);                                 \
		if (!tap_a || strcmp(tap_a, tap_e))                                                \
			TAP_FAIL("%s is \"%s\", not \"%s\"", #actual, tap_a ? tap_a : "(null)",    \
				 tap_e);                                                           \
	} while (0)

#define SKIP(reason)                                                                               \
	do {                                                                                       \
		tap_skipped = reason;                                                              \
		return;                                                                            \
	} while (0)

static inline int tap_main(void)
{
	int number = 0, failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct tap_test *test = tap_first; test; test = test->next) {
		tap_failed = false;
		tap_skipped = NULL;
		test->run();
		failures += tap_failed;
		printf("%s %d - %s", tap_failed ? "not ok" : "ok", ++number, test->name);
		if (tap_skipped && !tap_failed)
			printf(" # SKIP %s", tap_skipped);
		printf("\n");
	}
	printf("1..%d\n", number);
	return failures != 0;
}

#define TEST_MAIN                                                                                  \
	int main(void)                                                                             \
	{                                                                                          \
		return tap_main();                                                                 \
	}
