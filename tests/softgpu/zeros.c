/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every function of both APIs is called with nothing but zeros and NULL, and with arguments that
 * point nowhere but are no handles: it may fail, and must not crash.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "driver.h"

static const char *const driver_names[] = {
#define SG_FUNCTION(name, since, symbol) #symbol,
#define SG_PER_THREAD(name, since, symbol) #symbol,
#define SG_UNSUPPORTED(name, since, symbol) #symbol,
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) #symbol,
#include "driver/functions.def"
};

/* Functions of the runtime that programs call themselves; compilers know what they pass. */
static const char *const runtime_names[] = {
#define SG_CALLED(symbol) #symbol,
#include "runtime_functions.def"
};

/* Some take structures by value: what would be in them is zeros as well. */
struct zeros {
	uintptr_t words[64];
};

typedef long (*any_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			     struct zeros);

static sigjmp_buf crash;

static void note_crash(int signal_number)
{
	siglongjmp(crash, signal_number);
}

/* A buffer of zeros, for functions that return something through their first argument. */
static uint64_t place[512];

/* The signal that a call ends with; 0: none. */
static int try_call(void *address, uintptr_t first, uintptr_t second)
{
	int signal_number = sigsetjmp(crash, 1);

	if (!signal_number)
		((any_function)(uintptr_t)address)(first, second, 0, 0, 0, 0, (struct zeros){{0}});
	return signal_number;
}

static void call_all(void *library, const char *const *names, size_t count, CUcontext context,
		     uintptr_t first, uintptr_t second)
{
	signal(SIGSEGV, note_crash);
	signal(SIGBUS, note_crash);
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, names[i]);
		int signal_number;

		if (!address) {
			TAP_FAIL("%s is missing", names[i]);
			continue;
		}
		/* Its first argument is the number of items at the second, which it trusts. */
		if (first && second && strstr(names[i], "3DBatchAsync"))
			continue;
		memset(place, 0, sizeof(place));
		if (context)
			cuCtxSetCurrent(context);
		signal_number = try_call(address, first, second);
		if (signal_number)
			TAP_FAIL("%s crashes with signal %d", names[i], signal_number);
	}
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
}

static void call_driver(uintptr_t first, uintptr_t second)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	struct driver driver = begin();

	CHECK(library != NULL);
	call_all(library, driver_names, sizeof(driver_names) / sizeof(driver_names[0]),
		 driver.context, first, second);
	CHECK_OK(cuCtxSetCurrent(driver.context));
	/* With zeros a capture of the thread's own stream begins. */
	cuStreamEndCapture(CU_STREAM_PER_THREAD, &(CUgraph){0});
	CHECK_OK(count(&driver, 0, NULL));
	CHECK_INT(value(&driver, 0), 1);
	end(&driver);
}

TEST("no function of the driver API crashes on zeros")
{
	call_driver(0, 0);
}

TEST("no function of the driver API crashes if only its first argument is valid")
{
	call_driver((uintptr_t)place, 0);
}

TEST("no function of the driver API crashes on invalid handles")
{
	call_driver((uintptr_t)place, (uintptr_t)place);
}

TEST("no function of the runtime API crashes on zeros")
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW);

	CHECK(library != NULL);
	for (int i = 0; library && i < 3; i++)
		call_all(library, runtime_names, sizeof(runtime_names) / sizeof(runtime_names[0]),
			 NULL, i > 0 ? (uintptr_t)place : 0, i > 1 ? (uintptr_t)place : 0);
}

TEST_MAIN
