/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where CPython 3.<MINOR> has what in its structures, in bytes on x86-64. Source: its headers
 * Include/cpython/{pystate,code,frameobject,unicodeobject}.h and
 * Include/internal/pycore_{runtime,frame}.h. Kept apart from the table of src/probe/python, which
 * is compared with this one by every test that runs an interpreter of this folder.
 */
#pragma once

#include <stdint.h>

#if MINOR <= 10
enum runtime { TSS_KEY = 584 };
enum thread {
	THREAD_FRAME = 24,
	THREAD_CFRAME = MINOR == 9 ? 0 : 48,
	THREAD_ID = 176,
	THREAD_SIZE = 184
};
enum cframe { CFRAME_CURRENT = 16, CFRAME_PREVIOUS = 8 }; /* CURRENT: none in 3.10, unused here */
enum frame {
	FRAME_PREVIOUS = 24,
	FRAME_CODE = 32,
	FRAME_LASTI = MINOR == 9 ? 104 : 96,
	FRAME_ENTRY = 0, /* none, nor an owner */
	FRAME_OWNER = 0,
	FRAME_SIZE = 112
};
enum code { CODE_FIRST_LINE = 40, CODE_FILE = 104, CODE_NAME = 112, CODE_QUALNAME = 0 };
enum code_end { CODE_TABLE = 120, CODE_INSTRUCTIONS = 176 };
#elif MINOR == 11
enum runtime { TSS_KEY = 592 };
enum thread { THREAD_FRAME = 0, THREAD_CFRAME = 56, THREAD_ID = 152, THREAD_SIZE = 168 };
enum cframe { CFRAME_CURRENT = 8, CFRAME_PREVIOUS = 16 };
enum frame {
	FRAME_PREVIOUS = 48,
	FRAME_CODE = 32,
	FRAME_LASTI = 56,
	FRAME_ENTRY = 68,
	FRAME_OWNER = 69,
	FRAME_SIZE = 72
};
enum code { CODE_FIRST_LINE = 72, CODE_FILE = 112, CODE_NAME = 120, CODE_QUALNAME = 128 };
enum code_end { CODE_TABLE = 136, CODE_INSTRUCTIONS = 184 };
#else
enum frame {
	FRAME_PREVIOUS = 8,
	FRAME_CODE = 0,
	FRAME_LASTI = 56,
	FRAME_ENTRY = 0, /* none */
	FRAME_OWNER = 70,
	FRAME_SIZE = 72
};
enum code { CODE_FIRST_LINE = 68, CODE_FILE = 112, CODE_NAME = 120, CODE_QUALNAME = 128 };
enum cframe { CFRAME_CURRENT = 0, CFRAME_PREVIOUS = 8 };
#if MINOR == 12
enum runtime { TSS_KEY = 1544 };
enum thread { THREAD_FRAME = 0, THREAD_CFRAME = 56, THREAD_ID = 136, THREAD_SIZE = 152 };
enum code_end { CODE_TABLE = 136, CODE_INSTRUCTIONS = 192 };
#else
enum runtime { TSS_KEY = 2160 };
enum thread { THREAD_FRAME = 72, THREAD_CFRAME = 0, THREAD_ID = 152, THREAD_SIZE = 168 };
enum code_end { CODE_TABLE = 136, CODE_INSTRUCTIONS = 200 };
#endif
#endif

enum text { TEXT_LENGTH = 16, TEXT_STATE = 32, TEXT_ASCII = MINOR < 12 ? 48 : 40 };
enum text_end { TEXT_WIDE = MINOR < 12 ? 72 : 56 };
enum bytes { BYTES_SIZE = 16, BYTES_DATA = 32 };

/* Of a frame: by whom it is owned. */
enum owner { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_C_STACK = 3 };

#if MINOR >= 13
/*
 * _Py_DebugOffsets, with which _PyRuntime begins in 3.13: what a debugger is to know, a word each.
 * Zero here: what this interpreter does not have.
 */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime[3];
	uint64_t interpreter[13];
	uint64_t thread[9];
	uint64_t frame[6];
	uint64_t code[10];
	uint64_t object[2], type[4], tuple[3], list[3], dict[3], floating[2], integer[3];
	uint64_t bytes[3];
	uint64_t text[4];
	uint64_t collector[2];
};

/* UNLIKE: what an interpreter built from changed sources would have. */
#ifdef UNLIKE
#define DEBUG_FRAME_OWNER (FRAME_OWNER + 4)
#else
#define DEBUG_FRAME_OWNER FRAME_OWNER
#endif

#define DEBUG_OFFSETS                                                                              \
	{                                                                                          \
		.cookie = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'}, .version = VERSION,            \
		.free_threaded = FREE_THREADED, .runtime = {0, 616, 632},                          \
		.thread = {THREAD_SIZE, 0, 8, 16, THREAD_FRAME, THREAD_ID, 160},                   \
		.frame = {FRAME_SIZE, FRAME_PREVIOUS,   FRAME_CODE, FRAME_LASTI,                   \
			  72,         DEBUG_FRAME_OWNER},                                          \
		.code = {0,  CODE_FILE, CODE_NAME, CODE_QUALNAME,    CODE_TABLE, CODE_FIRST_LINE,  \
			 52, 96,        104,       CODE_INSTRUCTIONS},                             \
		.bytes = {BYTES_DATA + 1, BYTES_SIZE, BYTES_DATA},                                 \
		.text = {64, TEXT_STATE, TEXT_LENGTH, TEXT_ASCII},                                 \
	}
#endif
