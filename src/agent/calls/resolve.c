/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/call_table.h"
#include "agent/calls/calls.h"
#include "agent/calls/slots.h"

enum symbol_row {
#define FUNCTION(name, ...) ROW_##name,
#include "api/libraries.def"
};

static const struct call_symbol {
	const char *name;
	uint16_t row;
	uint16_t base_length; /* of the function's name; shorter than the name: a variant */
} symbols[] = {
#define SYMBOL(function, name) {#name, ROW_##function, sizeof(#function) - 1},
#include "agent/calls/symbols.def"
};

enum {
	SYMBOLS = sizeof(symbols) / sizeof(symbols[0]),
	NAME_BUCKETS = 8192, /* powers of two, more than twice the entries */
	ADDRESS_BUCKETS = 16384,
	LOCK_ATTEMPTS = 10000,
};
_Static_assert(2 * SYMBOLS < NAME_BUCKETS, "larger hash tables are needed");

struct gt_call_slot gt_call_slots[SYMBOLS + GT_SPARE_SLOTS];

/* 16 bytes each (stubs.S). */
extern char gt_call_stubs[] __attribute__((visibility("hidden")));

static struct {
	atomic_flag lock;
	uint16_t by_name[NAME_BUCKETS]; /* 1 + the number of a symbol */
	struct {
		void *function;
		uint16_t symbol; /* 1 + its number */
	} by_address[ADDRESS_BUCKETS];
	bool has_names, has_addresses;
	uint32_t spare; /* slots that are used */
} hooks = {.lock = ATOMIC_FLAG_INIT};

static void *stub_of(const struct gt_call_slot *slot)
{
	return gt_call_stubs + (slot - gt_call_slots) * 16;
}

static bool is_stub(const void *function)
{
	return (const char *)function >= gt_call_stubs &&
	       (const char *)function < gt_call_stubs + sizeof(gt_call_slots);
}

static uint32_t hash_name(const char *name, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static void fill_names(void)
{
	for (size_t i = 0; i < SYMBOLS; i++) {
		uint32_t at = hash_name(symbols[i].name, strlen(symbols[i].name));

		while (hooks.by_name[at % NAME_BUCKETS])
			at++;
		hooks.by_name[at % NAME_BUCKETS] = (uint16_t)(i + 1);
	}
	hooks.has_names = true;
}

/* The number of a symbol, or -1. */
static int find_symbol(const char *name)
{
	uint32_t at = hash_name(name, strlen(name));

	if (!hooks.has_names)
		fill_names();
	for (; hooks.by_name[at % NAME_BUCKETS]; at++) {
		int number = hooks.by_name[at % NAME_BUCKETS] - 1;

		if (!strcmp(symbols[number].name, name))
			return number;
	}
	return -1;
}

/* ---- slots ----------------------------------------------------------------------------- */

/*
 * What is called where no library has a function, by the start of its name: MISSING(start, the
 * error code that it returns). The last one is for all others.
 */
#define MISSING_FUNCTIONS                                                                          \
	MISSING(hiprtc, 11)     /* HIPRTC_ERROR_INTERNAL_ERROR */                                  \
	MISSING(cl, -59)        /* CL_INVALID_OPERATION */                                         \
	MISSING(ze, 0x78000003) /* ZE_RESULT_ERROR_UNSUPPORTED_FEATURE */                          \
	MISSING(rocblas, 2)     /* rocblas_status_not_implemented */                               \
	MISSING(miopen, 6)      /* miopenStatusNotImplemented */                                   \
	MISSING(, 500) /* CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound, hipErrorNotFound */

#define MISSING(start, code)                                                                       \
	static int missing_##start(void)                                                           \
	{                                                                                          \
		return code;                                                                       \
	}
MISSING_FUNCTIONS
#undef MISSING

static const struct {
	const char *start;
	int (*function)(void);
} missing[] = {
#define MISSING(start, code) {#start, missing_##start},
	MISSING_FUNCTIONS
#undef MISSING
};

static void *missing_pointer(void)
{
	return NULL;
}

static void *missing_function(const char *name)
{
	size_t i = 0;

	while (strncmp(name, missing[i].start, strlen(missing[i].start)) != 0)
		i++;
	return (void *)missing[i].function;
}

static void publish_slot(struct gt_call_slot *slot, const struct call_symbol *symbol,
			 void *function)
{
	const struct gt_agent_call_row *row = gt_call_row(symbol->row);

	slot->row = symbol->row;
	slot->per_thread = symbol->name[symbol->base_length] != '\0';
	if (!function)
		function = row && row->plan.result != GT_RESULT_ERROR
				   ? (void *)missing_pointer
				   : missing_function(symbol->name);
	else
		gt_call_report_library(symbol->row, function);
	atomic_store_explicit(&slot->function, function, memory_order_relaxed);
	atomic_store_explicit(&slot->state,
			      row && row->flags & GT_AGENT_CALL_HOOKED ? GT_SLOT_TRACED
								       : GT_SLOT_PASSES,
			      memory_order_release);
}

/* A function of the library at an address, or of what this library needs; NULL: none. */
static void *find_beside(const void *address, const char *name)
{
	Dl_info info;
	void *handle, *function;

	if (!dladdr(address, &info) || !info.dli_fname || !info.dli_fname[0])
		return NULL;
	handle = gt_call_services->dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	function = gt_call_services->dlsym(handle, name);
	dlclose(handle);
	return is_stub(function) ? NULL : function;
}

static void *find_driver_function(const char *name)
{
	static void *_Atomic driver;
	void *handle = atomic_load(&driver);

	if (!handle) {
		handle = gt_call_services->dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		atomic_store(&driver, handle);
	}
	return handle ? gt_call_services->dlsym(handle, name) : NULL;
}

/* The next one in the order of the loader: the agent's hook, or that of a library. */
static void *find_next(const char *name)
{
	/* A call that is left by a jump would have another caller. */
	void *function = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : "+r"(function));
	return function;
}

static bool is_of_driver(const struct call_symbol *symbol)
{
	return symbol->name[0] == 'c' && symbol->name[1] == 'u' && symbol->name[2] >= 'A' &&
	       symbol->name[2] <= 'Z';
}

void gt_call_resolve(struct gt_call_slot *slot, const void *caller)
{
	const struct call_symbol *symbol = &symbols[slot - gt_call_slots];
	void *function;
	int error = errno;

	/* Spare slots are published with their function. */
	if (slot - gt_call_slots >= SYMBOLS)
		return;
	function = find_next(symbol->name);
	if (!function)
		function = find_beside(caller, symbol->name);
	if (!function && is_of_driver(symbol))
		function = find_driver_function(symbol->name);
	/* What was not found on the way is no error of the program's call. */
	dlerror();
	publish_slot(slot, symbol, function);
	errno = error;
}

/* ---- functions that programs look up --------------------------------------------------- */

static void add_address(void *function, int symbol)
{
	uint64_t at = (uintptr_t)function * 0x9e3779b97f4a7c15ull >> 40;

	if (!function || is_stub(function))
		return;
	for (;; at++) {
		uint64_t bucket = at % ADDRESS_BUCKETS;

		if (hooks.by_address[bucket].function == function)
			return;
		if (hooks.by_address[bucket].function)
			continue;
		hooks.by_address[bucket].function = function;
		hooks.by_address[bucket].symbol = (uint16_t)(symbol + 1);
		return;
	}
}

/* The symbol of a function of the driver, or -1: it exports none. */
static int find_address(void *function)
{
	uint64_t at = (uintptr_t)function * 0x9e3779b97f4a7c15ull >> 40;

	if (!hooks.has_addresses) {
		for (int i = 0; i < SYMBOLS; i++) {
			if (!is_of_driver(&symbols[i]))
				continue;
			add_address(find_driver_function(symbols[i].name), i);
			add_address(find_next(symbols[i].name), i);
		}
		dlerror();
		hooks.has_addresses = true;
	}
	for (;; at++) {
		uint64_t bucket = at % ADDRESS_BUCKETS;

		if (!hooks.by_address[bucket].function)
			return -1;
		if (hooks.by_address[bucket].function == function)
			return hooks.by_address[bucket].symbol - 1;
	}
}

/* The slot of a symbol with this function; NULL: none is left. */
static struct gt_call_slot *find_slot(int symbol, void *function)
{
	struct gt_call_slot *slot = &gt_call_slots[symbol];

	if (atomic_load(&slot->state) == GT_SLOT_UNRESOLVED) {
		publish_slot(slot, &symbols[symbol], function);
		return slot;
	}
	if (atomic_load(&slot->function) == function)
		return slot;
	for (uint32_t i = 0; i < hooks.spare; i++) {
		slot = &gt_call_slots[SYMBOLS + i];
		if (slot->row == symbols[symbol].row && atomic_load(&slot->function) == function)
			return slot;
	}
	if (hooks.spare == GT_SPARE_SLOTS)
		return NULL;
	slot = &gt_call_slots[SYMBOLS + hooks.spare++];
	publish_slot(slot, &symbols[symbol], function);
	return slot;
}

/* Not for ever: the holder may be the thread that a signal handler has interrupted. */
static bool lock_hooks(void)
{
	for (int i = 0; i < LOCK_ATTEMPTS; i++) {
		if (!atomic_flag_test_and_set(&hooks.lock))
			return true;
		sched_yield();
	}
	return false;
}

void *gt_call_wrap(const char *name, void *function, const void *caller)
{
	const struct gt_agent_call_row *row;
	struct gt_call_slot *slot = NULL;
	int symbol, error = errno;

	if (!function || !name || is_stub(function) || !gt_call_is_active())
		return function;
	if (!lock_hooks()) {
		gt_call_count_unhooked();
		return function;
	}
	symbol = caller ? find_symbol(name) : find_address(function);
	row = symbol >= 0 ? gt_call_row(symbols[symbol].row) : NULL;
	if (row && row->flags & GT_AGENT_CALL_HOOKED) {
		slot = find_slot(symbol, function);
		if (!slot)
			gt_call_count_unhooked();
	}
	atomic_flag_clear(&hooks.lock);
	if (symbol >= 0 && caller && is_of_driver(&symbols[symbol]))
		gt_call_report_caller(caller);
	errno = error;
	return slot ? stub_of(slot) : function;
}

void gt_call_slots_forked(void)
{
	atomic_flag_clear(&hooks.lock);
}
