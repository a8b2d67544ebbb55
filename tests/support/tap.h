/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unit tests that print TAP. A test is a sentence:
 *
 *	TEST("a map finds what was put into it")
 *	{
 *		CHECK(gt_hash_get_str(map, "x") == &x);
 *		CHECK_STR(text, "expected");
 *	}
 *	TEST_MAIN
 *
 * A CHECK that fails prints what it compared and fails the test; the test continues.
 * SKIP("reason") ends a test as skipped.
 *
 * The program runs all of its tests, or those whose sentence matches one of the patterns that are
 * its arguments: `test-elf "stripped"`, `test-elf 'a * without symbols*'`.
 */
#pragma once

#include <fnmatch.h>
#include <malloc.h>
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

/* A pattern with '*', '?' or '[' matches a whole sentence (fnmatch), any other a part of it. */
static inline bool tap_matches(const char *sentence, const char *pattern)
{
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, sentence, FNM_CASEFOLD);
	return strcasestr(sentence, pattern) != NULL;
}

/* Whether one of the patterns matches, or there is none. */
static inline bool tap_is_selected(const char *sentence, char *const *patterns)
{
	if (!*patterns)
		return true;
	for (; *patterns; patterns++)
		if (tap_matches(sentence, *patterns))
			return true;
	return false;
}

/* Whether patterns select tests. */
static bool tap_has_patterns;

/* Run a test and print its result; true if it failed. */
static inline bool tap_run(struct tap_test *test, int number)
{
	tap_failed = false;
	tap_skipped = NULL;
	test->run();
	printf("%s %d - %s", tap_failed ? "not ok" : "ok", number, test->name);
	if (tap_skipped && !tap_failed)
		printf(" # SKIP %s", tap_skipped);
	printf("\n");
	return tap_failed;
}

static inline int tap_usage(const char *program)
{
	printf("Usage: %s [PATTERN...]\n"
	       "Run the tests whose sentence matches a PATTERN; all tests without one.\n"
	       "A PATTERN is a part of the sentence, or with '*', '?' or '[' a pattern for all of "
	       "it;\ncase does not matter.\n",
	       program);
	return 0;
}

/*
 * Keep memory that a test freed for the next one: to return it to the kernel and to fault it in
 * again took most of the time of tests that allocate much. Values: mallopt(3).
 */
static inline void tap_keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/* The program's exit status: 1 if a test failed, 2 if no test matches a pattern. */
static inline int tap_main(char *const *arguments)
{
	const char *program = arguments[0];
	char *const *patterns = arguments + 1;
	int number = 0, failures = 0;

	if (*patterns && (!strcmp(*patterns, "-h") || !strcmp(*patterns, "--help")))
		return tap_usage(program);
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_keep_memory();
	tap_has_patterns = *patterns != NULL;
	for (struct tap_test *test = tap_first; test; test = test->next)
		if (tap_is_selected(test->name, patterns))
			failures += tap_run(test, ++number);
	printf("1..%d\n", number);
	if (number)
		return failures != 0;
	fprintf(stderr, "%s: no test matches '%s'\n", program, *patterns ? *patterns : "");
	return 2;
}

#define TEST_MAIN                                                                                  \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return tap_main(argv);                                                             \
	}
