/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions that --via agent hooks, against the API tables: each is hooked under its names,
 * gets all that its caller passes, and its record has the words that the table says.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/call_table.h"
#include "agent/calls/calls.h"
#include "agent/ring_map.h"
#include "agent/services.h"
#include "api/layout.h"
#include "base/clean.h"
#include "tap.h"

enum {
	REGISTERS = 6,
	FLOATS = 8,       /* in registers; no function has more */
	STACK_WORDS = 36, /* no function has more */
	RING_BYTES = 1 << 16,
};

/* The code that programs call in place of a function, under each of its names. */
#define SYMBOL(function, name) extern const char hooked_##name[] __asm__(#name);
#include "agent/calls/symbols.def"

static const struct hooked_symbol {
	const char *name, *function;
	const char *code;
} symbols[] = {
#define SYMBOL(function, name) {#name, #function, hooked_##name},
#include "agent/calls/symbols.def"
};

/* ---- gputap's side: a table of all functions, and a ring ------------------------------------ */

static struct {
	struct gt_agent_ring ring;
	gt_agent_wrap_function *wrap;
	struct gt_agent_call_table *table;
	unsigned sleeps; /* of the hooks */
} side;

/* In place of the C library's: only the hooks sleep here. */
int nanosleep(const struct timespec *time, struct timespec *ret_rest)
{
	side.sleeps++;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, time, ret_rest);
}

static const struct gt_agent_call_table *make_table(size_t *ret_size)
{
	unsigned count = gt_api_count();
	size_t size = sizeof(struct gt_agent_call_table) + count * sizeof(struct gt_agent_call_row);
	struct gt_agent_call_table *table = calloc(1, size);

	if (!table)
		return NULL;
	table->row_count = count;
	for (unsigned i = 0; i < count; i++) {
		table->rows[i].flags = GT_AGENT_CALL_HOOKED;
		table->rows[i].stack_words = gt_api_stack_words(gt_api_function(i));
		gt_api_plan(gt_api_function(i), &table->rows[i].plan);
	}
	*ret_size = size;
	side.table = table;
	return table;
}

static const struct gt_agent_ring *make_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (!side.ring.head && fd >= 0 && !ftruncate(fd, GT_AGENT_RING_PAGE + RING_BYTES))
		gt_agent_ring_map(fd, RING_BYTES, &side.ring);
	if (fd >= 0)
		close(fd);
	return side.ring.head ? &side.ring : NULL;
}

static void *open_library(const char *path, int mode)
{
	return dlopen(path, mode);
}

static void *find_symbol_in(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static void set_wrap(gt_agent_wrap_function *wrap)
{
	side.wrap = wrap;
}

static void ignore_fork(void)
{
}

const struct gt_agent_services *gt_agent_services(void)
{
	static const struct gt_agent_services services = {
		.dlopen = open_library,
		.dlsym = find_symbol_in,
		.wait_for_ring = make_ring,
		.request_calls = make_table,
		.forked = ignore_fork,
		.set_wrap = set_wrap,
	};

	return &services;
}

/* Copy the record of the call that has returned. False: there is none. */
static bool take_call(struct gt_event_call *ret_call, uint64_t *ret_words)
{
	struct gt_agent_ring_head *head = side.ring.head;
	bool is_found = false;

	while (head && head->released < head->reserved) {
		uint64_t *record = (void *)gt_agent_ring_word(&side.ring, head->released);
		const struct gt_event *event = (const void *)(record + 1);
		size_t size = event->size + sizeof(uint64_t);

		if (event->kind == GT_EVENT_call) {
			is_found = true;
			memcpy(ret_call, event, sizeof(*ret_call));
			memcpy(ret_words, (const char *)event + sizeof(*ret_call),
			       ret_call->slots * sizeof(uint64_t));
		}
		memset(record, 0, size);
		head->released += size;
	}
	return is_found;
}

/* ---- a function that programs call ---------------------------------------------------------- */

struct call_result {
	uint64_t first, second; /* in %rax and %rdx */
};

#define WORDS_1 uint64_t
#define WORDS_2 WORDS_1, WORDS_1
#define WORDS_6 WORDS_2, WORDS_2, WORDS_2
#define WORDS_36 WORDS_6, WORDS_6, WORDS_6, WORDS_6, WORDS_6, WORDS_6
#define DOUBLES_2 double, double
#define DOUBLES_8 DOUBLES_2, DOUBLES_2, DOUBLES_2, DOUBLES_2
typedef struct call_result called_function(WORDS_6, DOUBLES_8, WORDS_36);

static struct {
	unsigned calls;
	uint64_t registers[REGISTERS], stack[STACK_WORDS];
	double floats[FLOATS];
} received;

/* A failure of each API, which has no such error code: no memory is read. */
static const struct call_result returned = {(uint64_t)-1000, 0x5ec0};

#define NAMED_2(type, name, a, b) type name##a, type name##b
#define NAMED_6(name, a, b, c, d, e, f)                                                            \
	NAMED_2(uint64_t, name, a, b), NAMED_2(uint64_t, name, c, d), NAMED_2(uint64_t, name, e, f)

static struct call_result
receive(NAMED_6(r, 0, 1, 2, 3, 4, 5), NAMED_2(double, f, 0, 1), NAMED_2(double, f, 2, 3),
	NAMED_2(double, f, 4, 5), NAMED_2(double, f, 6, 7), NAMED_6(s, 0, 1, 2, 3, 4, 5),
	NAMED_6(s, 6, 7, 8, 9, 10, 11), NAMED_6(s, 12, 13, 14, 15, 16, 17),
	NAMED_6(s, 18, 19, 20, 21, 22, 23), NAMED_6(s, 24, 25, 26, 27, 28, 29),
	NAMED_6(s, 30, 31, 32, 33, 34, 35))
{
	received.calls++;
	memcpy(received.registers, (uint64_t[]){r0, r1, r2, r3, r4, r5},
	       sizeof(received.registers));
	memcpy(received.floats, (double[]){f0, f1, f2, f3, f4, f5, f6, f7},
	       sizeof(received.floats));
	memcpy(received.stack,
	       (uint64_t[]){s0,  s1,  s2,  s3,  s4,  s5,  s6,  s7,  s8,  s9,  s10, s11,
			    s12, s13, s14, s15, s16, s17, s18, s19, s20, s21, s22, s23,
			    s24, s25, s26, s27, s28, s29, s30, s31, s32, s33, s34, s35},
	       sizeof(received.stack));
	return returned;
}

/* What a call passes: no memory is there. */
#define REGISTER(number) (0x1000 + (number))
#define STACK(number) (0x2000 + (number))
#define FLOAT(number) (0.5 + (number))

static struct call_result call_hooked(const struct hooked_symbol *symbol)
{
	called_function *function = (called_function *)(uintptr_t)symbol->code;

	return function(REGISTER(0), REGISTER(1), REGISTER(2), REGISTER(3), REGISTER(4),
			REGISTER(5), FLOAT(0), FLOAT(1), FLOAT(2), FLOAT(3), FLOAT(4), FLOAT(5),
			FLOAT(6), FLOAT(7), STACK(0), STACK(1), STACK(2), STACK(3), STACK(4),
			STACK(5), STACK(6), STACK(7), STACK(8), STACK(9), STACK(10), STACK(11),
			STACK(12), STACK(13), STACK(14), STACK(15), STACK(16), STACK(17), STACK(18),
			STACK(19), STACK(20), STACK(21), STACK(22), STACK(23), STACK(24), STACK(25),
			STACK(26), STACK(27), STACK(28), STACK(29), STACK(30), STACK(31), STACK(32),
			STACK(33), STACK(34), STACK(35));
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Words of arguments on the stack, of the types in the table: System V ABI, AMD64. */
static unsigned count_stack_words(const struct gt_api_function *function)
{
	unsigned registers = gt_api_is_struct(function->result) && function->result->size > 16;
	unsigned stack = 0, floats = 0;

	for (unsigned i = 0; i < function->argument_count; i++) {
		const struct gt_api_type *type = function->arguments[i].type;
		unsigned words = gt_api_is_struct(type) ? (type->size + 7) / 8 : 1;

		if (type->kind == GT_KIND_FLOAT)
			floats++;
		else if (words <= 2 && registers + words <= REGISTERS)
			registers += words;
		else
			stack += words;
	}
	return stack + (floats > FLOATS ? floats - FLOATS : 0);
}

static void check_passed(const struct hooked_symbol *symbol, struct call_result result,
			 const struct gt_api_function *function)
{
	unsigned stack = count_stack_words(function);
	bool is_same = result.first == returned.first && result.second == returned.second;

	for (unsigned i = 0; i < REGISTERS; i++)
		is_same &= received.registers[i] == REGISTER(i);
	for (unsigned i = 0; i < FLOATS; i++)
		is_same &= received.floats[i] == FLOAT(i);
	CHECK(stack <= STACK_WORDS);
	for (unsigned i = 0; i < stack && i < STACK_WORDS; i++)
		is_same &= received.stack[i] == STACK(i);
	if (!is_same)
		TAP_FAIL("%s: an argument or the result is not what was passed", symbol->name);
}

static void check_record(const struct hooked_symbol *symbol, int row, const struct gt_plan *plan)
{
	struct gt_event_call call = {0};
	uint64_t words[GT_CALL_MAX_SLOTS] = {0};
	bool is_variant = strcmp(symbol->name, symbol->function) != 0;

	if (!take_call(&call, words)) {
		TAP_FAIL("%s: no record", symbol->name);
		return;
	}
	if (call.function != (unsigned)row || call.result != returned.first ||
	    call.slots != plan->registers + plan->stack ||
	    !!(call.state & GT_CALL_PER_THREAD) != is_variant)
		TAP_FAIL("%s: the record is of row %u, with %u words", symbol->name, call.function,
			 call.slots);
	for (unsigned i = 0; i < call.slots; i++)
		if (words[i] != (i < plan->registers ? REGISTER(i) : STACK(i - plan->registers)))
			TAP_FAIL("%s: word %u is 0x%llx", symbol->name, i,
				 (unsigned long long)words[i]);
}

static void check_symbol(const struct hooked_symbol *symbol)
{
	int row = gt_api_find(symbol->name);
	struct call_result result;
	struct gt_plan plan;

	if (row < 0 || row != gt_api_find(symbol->function)) {
		TAP_FAIL("%s: no row of its function", symbol->name);
		return;
	}
	if (side.wrap(symbol->name, (void *)receive, (void *)check_symbol) != symbol->code) {
		TAP_FAIL("%s: a look-up by this name finds other code", symbol->name);
		return;
	}
	gt_api_plan(gt_api_function((unsigned)row), &plan);
	received.calls = 0;
	result = call_hooked(symbol);
	CHECK_INT(received.calls, 1);
	check_passed(symbol, result, gt_api_function((unsigned)row));
	check_record(symbol, row, &plan);
}

TEST("each hooked function gets what its caller passes, and its record has the words of the table")
{
	if (!side.wrap)
		TAP_FAIL("the hooks are not installed");
	for (size_t i = 0; side.wrap && i < gt_countof(symbols); i++)
		check_symbol(&symbols[i]);
	CHECK_INT(side.ring.head->counts[GT_AGENT_CALLS_MADE], gt_countof(symbols));
	CHECK_INT(side.ring.head->counts[GT_AGENT_CALLS_LOST], 0);
}

/* Call a function until a record is dropped. The number of calls; 0: each found room. */
static unsigned fill_ring(const struct hooked_symbol *symbol)
{
	uint64_t lost = side.ring.head->counts[GT_AGENT_CALLS_LOST];

	for (unsigned calls = 1; calls < RING_BYTES; calls++) {
		call_hooked(symbol);
		if (side.ring.head->counts[GT_AGENT_CALLS_LOST] != lost)
			return calls;
	}
	return 0;
}

TEST("a thread whose ring is full waits for the reader, or drops the record at once on request")
{
	struct gt_event_call call;
	uint64_t words[GT_CALL_MAX_SLOTS];
	unsigned calls;

	if (!side.wrap || !side.wrap(symbols[0].name, (void *)receive, (void *)fill_ring)) {
		TAP_FAIL("the hooks are not installed");
		return;
	}
	take_call(&call, words);
	side.table->drops = 1;
	side.sleeps = 0;
	calls = fill_ring(&symbols[0]);
	CHECK(calls > 1);
	CHECK_INT(side.sleeps, 0);
	CHECK_INT(side.ring.head->counts[GT_AGENT_CALL_WAIT_NS], 0);
	CHECK(take_call(&call, words));

	side.table->drops = 0;
	CHECK_INT(fill_ring(&symbols[0]), calls);
	CHECK(side.sleeps > 0);
	/* Waiting is measured always, and not in what is measured of a part of the calls. */
	CHECK(side.ring.head->counts[GT_AGENT_CALL_WAIT_NS] > side.sleeps * 50000ull);
	CHECK(side.ring.head->counts[GT_AGENT_CALL_RUN_NS] <=
	      side.ring.head->counts[GT_AGENT_CALL_RUNS] * 50000);
	/* The reader has not read since: nobody waits again. */
	side.sleeps = 0;
	call_hooked(&symbols[0]);
	CHECK_INT(side.sleeps, 0);
}

/* ---- calls that are paused ------------------------------------------------------------------ */

static void set_mode(enum gt_agent_calls_mode mode)
{
	__atomic_store_n(&side.ring.head->calls_mode, mode, __ATOMIC_RELAXED);
}

/* The stub of a function of the table, which has these flags, for code in its place. */
static int (*hook_of(const char *name, unsigned flags, int (*code)(int argument)))(int)
{
	int row = gt_api_find(name);
	void *stub = NULL;

	if (row >= 0 && side.wrap) {
		side.table->rows[row].flags = (uint16_t)(GT_AGENT_CALL_HOOKED | flags);
		stub = side.wrap(name, (void *)code, (void *)set_mode);
	}
	if (!stub || stub == (void *)code)
		TAP_FAIL("%s is not hooked", name);
	return (int (*)(int))stub;
}

static int succeed(int argument)
{
	return 0;
}

static struct {
	int (*driver)(int);
	enum gt_agent_calls_mode next; /* is set inside the call of the runtime */
	uint64_t made;                 /* calls up to the last take_row */
} inside;

/* A function of the runtime that calls the driver. */
static int call_driver(int argument)
{
	int result;

	set_mode(inside.next);
	result = inside.driver(0);
	__asm__ volatile("" : "+r"(result)); /* no jump in place of the call */
	return result;
}

/* One that leaves by a jump to it. */
static int jump_to_driver(int argument)
{
	set_mode(inside.next);
	return inside.driver(0);
}

/* The row of the only record since the last time, whose device is *ret_device; -1: none. */
static int take_row(int *ret_device)
{
	uint64_t words[GT_CALL_MAX_SLOTS], made = side.ring.head->counts[GT_AGENT_CALLS_MADE];
	struct gt_event_call call;
	bool is_found = take_call(&call, words);

	CHECK_INT(made - inside.made, is_found);
	inside.made = made;
	*ret_device = is_found ? call.head.device : -2;
	return is_found ? (int)call.function : -1;
}

TEST("of calls while they are paused there is no record, but the device that they select is known")
{
	const unsigned runtime = GT_AGENT_CALL_RUNTIME;
	int (*allocate)(int) = hook_of("cudaMalloc", runtime, succeed);
	int (*select)(int) = hook_of("cudaSetDevice", runtime, succeed);
	int (*outer)(int) = hook_of("cudaFree", runtime, call_driver);
	int (*jumping)(int) = hook_of("cudaMallocHost", runtime, jump_to_driver);
	int (*destroy)(int) = hook_of("cublasDestroy_v2", GT_AGENT_CALL_LIBRARY, succeed);
	uint64_t words[GT_CALL_MAX_SLOTS];
	struct gt_event_call call;
	int device;

	inside.driver = hook_of("cuCtxSynchronize", GT_AGENT_CALL_OUTERMOST, succeed);
	take_call(&call, words);
	inside.made = side.ring.head->counts[GT_AGENT_CALLS_MADE];
	allocate(0);
	CHECK_INT(take_row(&device), gt_api_find("cudaMalloc"));
	select(1);
	CHECK_INT(take_row(&device), gt_api_find("cudaSetDevice"));
	set_mode(GT_AGENT_CALLS_PAUSED);
	CHECK_INT(allocate(0), 0);
	CHECK_INT(destroy(0), 0);
	CHECK_INT(inside.driver(0), 0);
	CHECK_INT(select(3), 0);
	CHECK_INT(take_row(&device), -1);
	set_mode(GT_AGENT_CALLS_RECORDED);
	CHECK_INT(allocate(0), 0);
	CHECK_INT(take_row(&device), gt_api_find("cudaMalloc"));
	CHECK_INT(device, 3);

	/* A call that runs when the pause ends still hides those of the driver inside it. */
	set_mode(GT_AGENT_CALLS_PAUSED);
	inside.next = GT_AGENT_CALLS_RECORDED;
	CHECK_INT(outer(0), 0);
	CHECK_INT(take_row(&device), -1);
	set_mode(GT_AGENT_CALLS_PAUSED);
	CHECK_INT(jumping(0), 0);
	CHECK_INT(take_row(&device), -1);
	CHECK_INT(inside.driver(0), 0);
	CHECK_INT(take_row(&device), gt_api_find("cuCtxSynchronize"));
	/* One that runs when it begins is complete. */
	inside.next = GT_AGENT_CALLS_PAUSED;
	CHECK_INT(outer(0), 0);
	CHECK_INT(take_row(&device), gt_api_find("cudaFree"));
	set_mode(GT_AGENT_CALLS_RECORDED);
}

TEST("once calls are recorded no more, the hooks let them pass for good")
{
	int (*function)(int) = hook_of("cudaFreeHost", GT_AGENT_CALL_RUNTIME, succeed);
	uint64_t runs = side.ring.head->counts[GT_AGENT_CALL_RUNS];
	int device;

	function(0);
	CHECK_INT(take_row(&device), gt_api_find("cudaFreeHost"));
	set_mode(GT_AGENT_CALLS_OFF);
	CHECK_INT(function(0), 0);
	CHECK_INT(take_row(&device), -1);
	/* The hook is not entered any more. */
	set_mode(GT_AGENT_CALLS_RECORDED);
	for (int i = 0; i < 2 * GT_AGENT_COST_PERIOD; i++)
		CHECK_INT(function(0), 0);
	CHECK_INT(take_row(&device), -1);
	CHECK(side.ring.head->counts[GT_AGENT_CALL_RUNS] <= runs + 1);
}

static bool has_symbol(const char *name, const char *function)
{
	for (size_t i = 0; i < gt_countof(symbols); i++)
		if (!strcmp(symbols[i].name, name))
			return !strcmp(symbols[i].function, function);
	return false;
}

static void check_names(const struct gt_api_function *function)
{
	static const char *const suffixes[] = {"_ptsz", "_ptds"};
	bool is_cuda = gt_api_group_bit(function->library) == GT_API_GROUP_CUDA;

	if (!has_symbol(function->name, function->name))
		TAP_FAIL("%s is not hooked", function->name);
	for (size_t i = 0; i < gt_countof(suffixes); i++) {
		gt_auto_strbuf variant = GT_STRBUF_INIT;

		gt_strbuf_printf(&variant, "%s%s", function->name, suffixes[i]);
		if (has_symbol(gt_strbuf_string(&variant), function->name) != is_cuda)
			TAP_FAIL("%s is %shooked", gt_strbuf_string(&variant),
				 is_cuda ? "not " : "");
	}
}

TEST("the functions of all APIs are hooked, those of CUDA with their variants")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		check_names(gt_api_function(i));
}

TEST("the library exports each function that it hooks")
{
	void *library = dlopen(getenv("LIBGPUTAP_CALLS"), RTLD_NOW | RTLD_LOCAL);

	if (!library)
		TAP_FAIL("%s", dlerror());
	for (size_t i = 0; library && i < gt_countof(symbols); i++)
		if (!dlsym(library, symbols[i].name))
			TAP_FAIL("%s is not exported", symbols[i].name);
	if (library)
		dlclose(library);
}

TEST_MAIN
