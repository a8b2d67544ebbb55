/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * python3.<MINOR> [wait | exec PROGRAM… | fork PROGRAM…]: an interpreter without a language. It has
 * the runtime, the thread state, the frames, the code objects and the line tables of CPython
 * 3.<MINOR> in memory, as far as a tool that walks frames needs them, and calls cudaMalloc from
 * Python functions and lines that the tests know (tests/cli/python-versions.bats), with the number
 * of the stack as the size.
 *
 * wait: prints its process id before it executes the first Python function, and waits for a line
 * then, and for another one or the input's end before it ends.
 * exec: replaces itself with the program afterwards; fork: runs it in a child.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "extension.h"

#ifndef RELEASE /* 0xa1: first alpha … 0xf0: final */
#define RELEASE 0xf0
#endif
#ifndef FREE_THREADED
#define FREE_THREADED 0
#endif
#ifndef CLAIMED_MINOR
#define CLAIMED_MINOR MINOR
#endif
#define VERSION (3 << 24 | CLAIMED_MINOR << 16 | 1 << 8 | RELEASE)

#include "layout.h"
#include "scripts.h"

#ifdef STATIC_RUNTIME
#define EXPORT
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define RUNTIME_SIZE 4096
#define PAGE 4096ul

#if MINOR >= 11
EXPORT const unsigned long Py_Version = VERSION;
#endif

/* Initialized, since debuggers read it from the file. */
EXPORT union {
#if MINOR >= 13
	struct debug_offsets offsets;
#endif
	char bytes[RUNTIME_SIZE];
} _PyRuntime
#if MINOR >= 10
	__attribute__((section(".PyRuntime")))
#endif
	= {
#if MINOR >= 13
		DEBUG_OFFSETS
#else
		.bytes = {1}
#endif
};

static _Thread_local char *thread; /* its PyThreadState */

/* Zeroed memory that ends where unmapped memory begins: to read beyond it is an error. */
static char *place(size_t size)
{
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;
	char *memory = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + pages, PAGE, PROT_NONE))
		abort();
	return memory + pages - (size + 7) / 8 * 8;
}

static void put_pointer(char *object, int offset, const void *value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static void put_int(char *object, int offset, int value)
{
	memcpy(object + offset, &value, sizeof(value));
}

static char *get_pointer(const char *object, int offset)
{
	char *value;

	memcpy(&value, object + offset, sizeof(value));
	return value;
}

/* A str of so many characters of `width` bytes. */
static char *make_text(const struct text_data *data)
{
	bool ascii = data->width == 1 && !data->latin;
	int begin = ascii ? TEXT_ASCII : TEXT_WIDE;
	size_t size = data->count * data->width;
	char *text = place(begin + size + 7);

	put_pointer(text, TEXT_LENGTH, (void *)data->count);
	put_int(text, TEXT_STATE, (MINOR < 12) << 7 | ascii << 6 | 1 << 5 | data->width << 2 | 1);
	memcpy(text + begin, data->characters, size);
	return text;
}

static char *make_bytes(const struct table_data *data)
{
	char *bytes = place(BYTES_DATA + data->size);

	put_pointer(bytes, BYTES_SIZE, (void *)data->size);
	memcpy(bytes + BYTES_DATA, data->bytes, data->size);
	return bytes;
}

/* A code object, made when it is first called. */
static char *code_of(struct function *function)
{
	char *code = function->code;

	if (code)
		return code;
	code = place(CODE_INSTRUCTIONS + 2 * MAX_UNITS);
	put_int(code, CODE_FIRST_LINE, function->first_line);
	put_pointer(code, CODE_FILE, make_text(&function->file));
	put_pointer(code, CODE_NAME, make_text(&function->name));
	if (CODE_QUALNAME)
		put_pointer(code, CODE_QUALNAME, make_text(&function->qualname));
	put_pointer(code, CODE_TABLE, make_bytes(&function->table));
	function->code = code;
	return code;
}

/* The object with the pointer to the innermost frame, and the pointer's offset. */
static char *top(int *ret_offset)
{
	bool has_cframe = MINOR == 11 || MINOR == 12;

	*ret_offset = has_cframe ? (int)CFRAME_CURRENT : (int)THREAD_FRAME;
	return has_cframe ? get_pointer(thread, THREAD_CFRAME) : thread;
}

static char *current_frame(void)
{
	int offset;
	char *object = top(&offset);

	return get_pointer(object, offset);
}

static void set_current_frame(const char *frame)
{
	int offset;
	char *object = top(&offset);

	put_pointer(object, offset, frame);
}

static void put_instruction(char *frame, char *code, int unit)
{
	if (MINOR >= 11)
		put_pointer(frame, FRAME_LASTI, code + CODE_INSTRUCTIONS + 2 * unit);
	else if (MINOR == 10 || unit < 0)
		put_int(frame, FRAME_LASTI, unit);
	else
		put_int(frame, FRAME_LASTI, 2 * unit);
}

static void push_frame(const struct call *call, bool entry)
{
	char *frame = place(FRAME_SIZE), *code = code_of(call->function);

	put_pointer(frame, FRAME_PREVIOUS, current_frame());
	put_pointer(frame, FRAME_CODE, code);
	put_instruction(frame, code, call->unit);
	if (FRAME_ENTRY)
		frame[FRAME_ENTRY] = entry;
	if (FRAME_OWNER)
		frame[FRAME_OWNER] = (char)(call->generator ? OWNER_GENERATOR : OWNER_THREAD);
	set_current_frame(frame);
}

static void resume(const struct run *run);
void _PyEval_EvalFrameDefault(const struct run *run, size_t first);

/* What the innermost function of a run does. */
static void leave(const struct run *run)
{
	void *memory;

	if (run->size)
		cudaMalloc(&memory, run->size);
	else if (run->through_extension)
		apply(resume, run + 1);
	else
		resume(run + 1);
}

/* From 3.10 on, a cframe is on the C stack; from 3.12 on, a frame that is no Python function's. */
static void enter(char *cframe, char *shim)
{
	char *outer = current_frame();

	if (THREAD_CFRAME) {
		put_pointer(cframe, CFRAME_PREVIOUS, get_pointer(thread, THREAD_CFRAME));
		put_pointer(thread, THREAD_CFRAME, cframe);
		set_current_frame(outer);
	}
	if (MINOR < 12)
		return;
	put_pointer(shim, FRAME_PREVIOUS, outer);
	put_pointer(shim, FRAME_CODE, &_PyRuntime); /* as None: an object, and no code */
	shim[FRAME_OWNER] = OWNER_C_STACK;
	set_current_frame(shim);
}

/* Executes a run of frames, the outermost first; until 3.10, one frame and those within it. */
EXPORT void _PyEval_EvalFrameDefault(const struct run *run, size_t first)
{
	char cframe[24] = {0}, shim[FRAME_SIZE] = {0}, *outer = current_frame();
	size_t end = MINOR <= 10 ? first + 1 : run->count;

	enter(cframe, shim);
	for (size_t i = first; i < end; i++)
		push_frame(&run->calls[i], i == first);
	if (end < run->count)
		_PyEval_EvalFrameDefault(run, end);
	else
		leave(run);
	if (THREAD_CFRAME)
		put_pointer(thread, THREAD_CFRAME, get_pointer(cframe, CFRAME_PREVIOUS));
	set_current_frame(outer);
}

static void resume(const struct run *run)
{
	_PyEval_EvalFrameDefault(run, 0);
}

static void make_key(pthread_key_t *key)
{
	/* Beyond the first 32 keys, whose values are elsewhere. */
	for (int i = 0; i < 40; i++)
		if (pthread_key_create(key, NULL))
			abort();
	put_int(_PyRuntime.bytes, TSS_KEY + 4, (int)*key);
	put_int(_PyRuntime.bytes, TSS_KEY, 1);
}

static pthread_key_t key;

static void make_thread(pthread_t self)
{
	thread = place(THREAD_SIZE);
	if (THREAD_CFRAME)
		put_pointer(thread, THREAD_CFRAME, place(24));
	put_pointer(thread, THREAD_ID, (void *)self);
	if (pthread_setspecific(key, thread))
		abort();
}

static void call_natively(size_t size)
{
	void *memory;

	cudaMalloc(&memory, size);
}

static void *run_without_python(void *unused)
{
	call_natively(SIZE_OTHER_THREAD);
	return unused;
}

static void *run_with_python(void *unused)
{
	make_thread(pthread_self());
	resume(script_of_thread);
	return unused;
}

/* Its thread state is another thread's: its frames may change. */
static void *run_with_foreign_state(void *other)
{
	make_thread((pthread_t)other);
	resume(script_of_foreign_state);
	return NULL;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t other;

	if (pthread_create(&other, NULL, function, (void *)pthread_self()) ||
	    pthread_join(other, NULL))
		abort();
}

static void wait_for_line(void)
{
	while (getchar() != '\n' && !feof(stdin))
		;
}

static void run_scripts(bool waits)
{
	call_natively(SIZE_BEFORE);
	make_key(&key);
	call_natively(SIZE_NO_STATE);
	make_thread(pthread_self());
	call_natively(SIZE_NO_FRAME);
	if (waits) {
		printf("%d\n", getpid());
		fflush(stdout);
		wait_for_line();
	}
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		resume(scripts[i]);
	run_thread(run_without_python);
	run_thread(run_with_python);
	run_thread(run_with_foreign_state);
}

static int run_command(char **arguments, bool forks)
{
	pid_t child = forks ? fork() : 0;
	int status = 1;

	if (!child) {
		if (forks)
			resume(script_of_child);
		execv(arguments[0], arguments);
		perror(arguments[0]);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status != 0;
}

#ifdef EMBEDDED /* in a library; the program is another file */
#define main Py_BytesMain
EXPORT int Py_BytesMain(int argc, char **argv);
#endif

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	run_scripts(!strcmp(mode, "wait"));
	if (!strcmp(mode, "wait"))
		wait_for_line();
	if (argc > 2)
		return run_command(argv + 2, !strcmp(mode, "fork"));
	return 0;
}
