/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the interpreters of this folder execute: functions with their line tables, and stacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_UNITS 160 /* code units of two bytes of each function */

/* Characters of a str; `latin`: of one byte, and not all of them ASCII. */
struct text_data {
	const void *characters;
	size_t count;
	int width;
	bool latin;
};

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) / sizeof(*(literal)) - 1, sizeof(*(literal)), false       \
	}
#define LATIN_TEXT(literal)                                                                        \
	{                                                                                          \
		literal, sizeof(literal) - 1, 1, true                                              \
	}

struct table_data {
	const uint8_t *bytes;
	size_t size;
};

#define TABLE(table)                                                                               \
	{                                                                                          \
		table, sizeof(table)                                                               \
	}

struct function {
	struct text_data file, name, qualname;
	int first_line;
	struct table_data table;
	char *code; /* NULL: not made yet */
};

/* A frame of a function at a code unit; -1: it has not begun. */
struct call {
	struct function *function;
	int unit;
	bool generator;
};

/* Frames that one call of the interpreter executes, the outermost first. */
struct run {
	const struct call *calls;
	size_t count;
	size_t size;            /* of cudaMalloc; 0: the next run is executed instead, … */
	bool through_extension; /* … by a function of an extension module */
};

/*
 * Lines of most functions: units 0 and 1 are at the first line, units 2 to 5 a line after it, those
 * from 6 on 11 lines after it.
 */
static const uint8_t plain_table[] = {
#if MINOR == 9
	4,
	1,
	8,
	10,
#elif MINOR == 10
	4, 0, 8, 1, 100, 10,
#else
	0x81, 0x00, 0xdb, 4, 9, 0xef, 20, 0xf7, 0x00, 0x00, 1, 1,
#endif
};

/*
 * Entries of every kind. Units and lines, where the first line is 100: 0: 105, 1: 106, 2: 103, 3 to
 * 132: 330, 133: 331, 134: 203, 135: none (203 in 3.9, which always has one), 136: 205.
 */
static const uint8_t full_table[] = {
#if MINOR == 9
	/* An increment of more than 127 lines, one of more than 255 bytes, and negative ones. */
	0, 5, 2, 1, 2, 0xfd, 2, 127, 0, 100, 255, 0, 5, 1, 2, 0x80, 4, 2,
#elif MINOR == 10
	/* Ranges of more than 254 bytes, empty ones for more than 127 lines, one without a line. */
	2, 5, 2, 1, 2, 0xfd, 0, 127, 254, 100, 6, 0, 2, 1, 0, 0x9c, 2, 0xe4, 2, 0x80, 2, 2,
#else
	0xe8, 10,                                             /* no columns: +5 */
	0xd8, 4,    9,                                        /* one line, +1 */
	0xf0, 7,    0,    0x41, 0x01, 3,                      /* long: -3 */
	0xf7, 0x46, 0x07, 0x41, 0x20, 0x7f, 0x01, 0x46, 0x06, /* long, varints of two bytes: +227 */
	0x87, 0x12, 0x8f, 0x12, 0x97, 0x12, 0x9f, 0x12, 0xa7, 0x12, /* short forms 0 to 4, … */
	0xaf, 0x12, 0xb7, 0x12, 0xbf, 0x12, 0xc7, 0x12, 0xcf, 0x12, /* … 5 to 9 */
	0xd7, 4,    9,                                              /* one line, +0 */
	0xef, 0,                                                    /* no columns: +0 */
	0x87, 0x12, 0x87, 0x12, 0x87, 0x12, 0x81, 0x12,             /* to unit 132 */
	0xd8, 4,    9,                                              /* one line, +1 */
	0xe8, 0x41, 0x04,                                           /* no columns: -128 */
	0xf8,                                                       /* no line */
	0xe0, 4,    9,                                              /* one line, +2 */
#endif
};

#define FILE_NAME TEXT("/app/train.py")

static struct function module = {.file = FILE_NAME,
				 .name = TEXT("<module>"),
				 .qualname = TEXT("<module>"),
				 .first_line = 1,
				 .table = TABLE(plain_table)};
static struct function train = {.file = FILE_NAME,
				.name = TEXT("train"),
				.qualname = TEXT("Trainer.train"),
				.first_line = 20,
				.table = TABLE(plain_table)};
static struct function train_step = {.file = FILE_NAME,
				     .name = TEXT("train_step"),
				     .qualname = TEXT("Trainer.train_step"),
				     .first_line = 30,
				     .table = TABLE(plain_table)};
static struct function by_norm = {.file = FILE_NAME,
				  .name = TEXT("by_norm"),
				  .qualname = TEXT("by_norm"),
				  .first_line = 60,
				  .table = TABLE(plain_table)};
static struct function batches = {.file = FILE_NAME,
				  .name = TEXT("batches"),
				  .qualname = TEXT("batches"),
				  .first_line = 80,
				  .table = TABLE(plain_table)};
static struct function every_entry = {.file = FILE_NAME,
				      .name = TEXT("every_entry"),
				      .qualname = TEXT("every_entry"),
				      .first_line = 100,
				      .table = TABLE(full_table)};
static struct function latin = {.file = LATIN_TEXT("/app/na\xefve.py"),
				.name = LATIN_TEXT("caf\xe9"),
				.qualname = LATIN_TEXT("caf\xe9"),
				.first_line = 400,
				.table = TABLE(plain_table)};
static struct function wide = {.file = TEXT(u"/app/日本.py"),
			       .name = TEXT(u"訓練"),
			       .qualname = TEXT(u"訓練"),
			       .first_line = 500,
			       .table = TABLE(plain_table)};
static struct function widest = {.file = TEXT(U"/app/𐐀.py"),
				 .name = TEXT(U"𐐨"),
				 .qualname = TEXT(U"𐐨"),
				 .first_line = 600,
				 .table = TABLE(plain_table)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN(calls, ...)                                                                            \
	{                                                                                          \
		(calls), COUNT(calls), __VA_ARGS__                                                 \
	}

/* Sizes of calls without a Python function. */
enum {
	SIZE_BEFORE = 1,   /* before the interpreter has a key for thread states */
	SIZE_NO_STATE,     /* the thread has no state yet */
	SIZE_NO_FRAME,     /* it executes nothing yet */
	SIZE_OTHER_THREAD, /* a thread that the interpreter does not know */
};

/* train_step ← train ← <module>, all of them executed by one native call from 3.11 on. */
static const struct call step_calls[] = {
	{&module, 7, false}, {&train, 3, false}, {&train_step, 6, false}};
static const struct run step_script[] = {RUN(step_calls, 10, false)};

/* by_norm is called by an extension, which train called. */
static const struct call sort_calls[] = {{&module, 0, false}, {&train, 6, false}};
static const struct call norm_calls[] = {{&by_norm, 2, false}};
static const struct run sort_script[] = {RUN(sort_calls, 0, true), RUN(norm_calls, 11, false)};

/* Three calls of the interpreter, the last two without an extension between them. */
static const struct call nested_calls[] = {{&batches, 5, false}, {&train_step, 1, false}};
static const struct run nested_script[] = {RUN(sort_calls, 0, true), RUN(norm_calls, 0, false),
					   RUN(nested_calls, 12, false)};

/* A generator. */
static const struct call generator_calls[] = {
	{&train, 6, false}, {&batches, 6, true}, {&train_step, 2, false}};
static const struct run generator_script[] = {RUN(generator_calls, 13, false)};

static const struct call text_calls[] = {
	{&latin, 6, false}, {&wide, 6, false}, {&widest, 6, false}};
static const struct run text_script[] = {RUN(text_calls, 14, false)};

static const struct call entry_calls[] = {{&every_entry, 136, false}, {&every_entry, 135, false},
					  {&every_entry, 134, false}, {&every_entry, 133, false},
					  {&every_entry, 132, false}, {&every_entry, 3, false},
					  {&every_entry, 2, false},   {&every_entry, 1, false},
					  {&every_entry, 0, false},   {&every_entry, -1, false}};
static const struct run entry_script[] = {RUN(entry_calls, 15, false)};

static const struct run *const scripts[] = {step_script,      sort_script, nested_script,
					    generator_script, text_script, entry_script};

static const struct call thread_calls[] = {{&by_norm, 6, false}};
static const struct run script_of_thread[] = {RUN(thread_calls, 16, false)};
static const struct run script_of_foreign_state[] = {RUN(thread_calls, 17, false)};
static const struct run script_of_child[] = {RUN(thread_calls, 18, false)};
