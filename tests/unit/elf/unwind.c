/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library is built and loaded; its functions call back from some depth, where the registers
 * and the stack are copied. What the unwinder makes of them is compared with what glibc's
 * backtrace(3) found at the same place.
 */
#include "elf/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <ucontext.h>

#include "elf/expression.h"
#include "elf/proc_maps.h"
#include "fixture.h"

#define DEPTH 128

static const char library_source[] =
	"#if defined(__x86_64__)\n"
	"#define TRAP \"ud2\"\n"
	"#else\n"
	"#define TRAP \"udf #0\"\n"
	"#endif\n"
	"#include <signal.h>\n"
	"#include <stdlib.h>\n"
	"#include <string.h>\n"
	"typedef void callback(void);\n"
	"static volatile int sink;\n"
	"static callback *to_call;\n"
	"__attribute__((noinline)) int deep(int depth, callback *call)\n"
	"{\n"
	"	int mine[4] = {depth, depth + 1, sink, 3};\n"
	"	if (depth > 0) mine[0] += deep(depth - 1, call); else call();\n"
	"	sink = mine[0] + mine[3];\n"
	"	return mine[sink & 3];\n"
	"}\n"
	/* A frame whose size is not known before: by the frame pointer. */
	"__attribute__((noinline)) int varying(int size, callback *call)\n"
	"{\n"
	"	char *bytes = __builtin_alloca(size);\n"
	"	memset(bytes, size, size);\n"
	"	deep(2, call);\n"
	"	return bytes[size / 2];\n"
	"}\n"
	"static int compare(const void *a, const void *b)\n"
	"{\n"
	"	if (to_call) { callback *call = to_call; to_call = 0; deep(3, call); }\n"
	"	return *(const int *)a - *(const int *)b;\n"
	"}\n"
	"void sorting(callback *call)\n"
	"{\n"
	"	int numbers[] = {5, 3, 8, 1};\n"
	"	to_call = call;\n"
	"	qsort(numbers, 4, sizeof(int), compare);\n"
	"	sink = numbers[0];\n"
	"}\n"
	"static void handler(int number) { callback *call = to_call; call(); sink = number; }\n"
	"void signalled(callback *call)\n"
	"{\n"
	"	to_call = call;\n"
	"	signal(SIGUSR1, handler);\n"
	"	raise(SIGUSR1);\n"
	"	sink = 7;\n"
	"}\n"
	/* The call is the last instruction: it would return into the function that follows. */
	"__attribute__((noinline, noreturn)) void ending(callback *call)\n"
	"{\n"
	"	volatile int mine[20] = {sink};\n"
	"	sink = mine[3];\n"
	"	((__attribute__((noreturn)) callback *)call)();\n"
	"}\n"
	/* A function that is interrupted at its first instruction; what is before has other rules.
	 */
	"__asm__(\".text\\n.cfi_startproc\\n.cfi_def_cfa_offset 64\\nnop\\n.cfi_endproc\\n\"\n"
	"	\"trapping: .cfi_startproc\\n\" TRAP \"\\n.cfi_endproc\\n\");\n"
	"void trapping(void);\n"
	"void trapped(callback *call)\n"
	"{\n"
	"	to_call = call;\n"
	"	signal(SIGILL, handler);\n"
	"	trapping();\n"
	"	sink = 8;\n"
	"}\n";

/* What was found at the last call back. */
static struct {
	struct gt_unwind_registers registers;
	uint64_t start;
	uint8_t bytes[256 << 10];
	size_t size;
	void *all[DEPTH], **expected; /* from call_back's caller on */
	size_t expected_count;
} seen;

#if defined(__x86_64__)
static void take_registers(const ucontext_t *context)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (size_t i = 0; i < gt_countof(order); i++)
		seen.registers.values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	seen.registers.pc = seen.registers.values[GT_CFI_RETURN];
}
#else
static void take_registers(const ucontext_t *context)
{
	for (size_t i = 0; i < 31; i++)
		seen.registers.values[i] = context->uc_mcontext.regs[i];
	seen.registers.values[GT_CFI_STACK] = context->uc_mcontext.sp;
	seen.registers.pc = context->uc_mcontext.pc;
}
#endif

__attribute__((noinline)) static void call_back(void)
{
	gt_auto_proc_maps maps = {0};
	const struct gt_proc_mapping *stack;
	gt_autoclose int memory = -1;
	ucontext_t context;

	getcontext(&context);
	seen.registers = (struct gt_unwind_registers){.known = UINT64_MAX};
	take_registers(&context);
	seen.start = seen.registers.values[GT_CFI_STACK];
	seen.size = sizeof(seen.bytes);
	if (!gt_proc_maps_read(getpid(), &maps, NULL)) {
		stack = gt_proc_maps_at(&maps, seen.start);
		if (stack && stack->end - seen.start < seen.size)
			seen.size = stack->end - seen.start;
	}
	/* As another process reads it: a sanitizer forbids this one to. */
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0 || pread(memory, seen.bytes, seen.size, (off_t)seen.start) < 0)
		TAP_FAIL("the stack cannot be read");
	seen.expected_count = (size_t)backtrace(seen.all, DEPTH);
	/* The frames of call_back itself and of a sanitizer's backtrace(3) come before. */
	for (seen.expected = seen.all; seen.expected_count; seen.expected_count--) {
		if (*seen.expected == __builtin_return_address(0))
			break;
		seen.expected++;
	}
}

static sigjmp_buf left;

/* For those who may not be returned to. */
__attribute__((noinline)) static void call_back_and_leave(void)
{
	call_back();
	siglongjmp(left, 1);
}

static struct gt_space *own_space(const char *path, const char *instead)
{
	gt_auto_proc_maps maps = {0};
	struct gt_space *space = gt_space_new();

	CHECK_INT(gt_proc_maps_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];
		const char *end = strrchr(mapping->path, '/');
		bool other = path && end && !strcmp(end + 1, path);
		const char *name = other ? instead : mapping->path;

		if (mapping->executable)
			CHECK_INT(gt_space_map(space, 1,
					       &(struct gt_space_request){
						       .start = mapping->start,
						       .end = mapping->end,
						       .offset = mapping->offset,
						       .inode = other ? 0 : mapping->inode,
						       .path = name,
						       .length = strlen(name)}),
				  0);
	}
	return space;
}

static void *load(const char *name, const char *options)
{
	char text[512];
	void *library;

	fixture();
	snprintf(text, sizeof(text), "-shared -fPIC -fno-optimize-sibling-calls %s -o %s", options,
		 name);
	compile(library_source, text);
	snprintf(text, sizeof(text), "%s/%s", fixture(), name);
	library = dlopen(text, RTLD_NOW);
	if (!library) {
		TAP_FAIL("%s", dlerror());
		exit(99);
	}
	return library;
}

static void *usual_library(void)
{
	static void *library;

	if (!library)
		library = load("libusual.so", "-O2 -fomit-frame-pointer");
	return library;
}

/* A call that does not continue after the callback. */
static void call_and_leave(void *library, const char *name)
{
	void (*function)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, name);

	if (!function)
		TAP_FAIL("no function %s", name);
	else if (!sigsetjmp(left, 1))
		function(call_back_and_leave);
}

/* Any function of the library, by its name: they differ in what they take before the callback. */
static void call(void *library, const char *name, int number)
{
	void *function = dlsym(library, name);

	if (!function)
		TAP_FAIL("no function %s", name);
	else if (number < 0)
		((void (*)(void (*)(void)))function)(call_back);
	else
		((int (*)(int, void (*)(void)))function)(number, call_back);
}

static struct gt_unwound unwind_size(struct gt_unwinder *unwinder, size_t size,
				     uint64_t addresses[DEPTH])
{
	struct gt_unwind_stack stack = {seen.start, seen.bytes, size};
	struct gt_unwound unwound;

	gt_unwind(unwinder, 1, &seen.registers, &stack, addresses, DEPTH, &unwound);
	return unwound;
}

/* Whether the same callers were found as by glibc. */
static void check_same(const uint64_t *addresses, const struct gt_unwound *unwound)
{
	CHECK_INT(unwound->count, seen.expected_count);
	for (size_t i = 0; i < unwound->count && i < seen.expected_count; i++)
		CHECK_INT(addresses[i], (uintptr_t)seen.expected[i]);
}

/* What was seen last is unwound as glibc does it. */
static void check_seen(size_t min_frames)
{
	uint64_t addresses[DEPTH];
	struct gt_unwound unwound;
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	unwound = unwind_size(unwinder, seen.size, addresses);
	CHECK(unwound.count >= min_frames);
	CHECK_INT(unwound.end, GT_UNWIND_OUTERMOST);
	CHECK_INT(unwound.guessed, 0);
	check_same(addresses, &unwound);
}

static void check_all(const char *name, int number, size_t min_frames)
{
	call(usual_library(), name, number);
	check_seen(min_frames);
}

TEST("functions without frame pointers are unwound to the first one")
{
	check_all("deep", 20, 22);
}

TEST("a frame of varying size is unwound")
{
	check_all("varying", 1000, 5);
}

TEST("a callback is unwound through the C library")
{
	check_all("sorting", -1, 7);
}

TEST("a signal handler is unwound to the function that was interrupted")
{
	check_all("signalled", -1, 4);
}

TEST("a call at the end of a function belongs to it, not to the function that follows")
{
	void *library = load("libending.so", "-O2 -fomit-frame-pointer -falign-functions=1");

	call_and_leave(library, "ending");
	check_seen(5);
}

TEST("a function that is interrupted at its first instruction is unwound by its own rules")
{
	call_and_leave(usual_library(), "trapped");
	check_seen(6);
}

TEST("the registers of a frame are enough where functions keep no others")
{
	uint64_t addresses[DEPTH];
	struct gt_unwind_registers all;
	struct gt_unwound unwound;

	call(usual_library(), "deep", 10);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	all = seen.registers;
	gt_unwind_registers_set(&seen.registers, all.pc, all.values[GT_CFI_STACK],
				all.values[GT_CFI_FRAME],
				GT_CFI_RETURN == 30 ? all.values[GT_CFI_RETURN] : 0);
	unwound = unwind_size(unwinder, seen.size, addresses);
	CHECK_INT(unwound.end, GT_UNWIND_OUTERMOST);
	check_same(addresses, &unwound);
}

TEST("rules are found without the linker's table")
{
	void *library = load("libtableless.so", "-O2 -fomit-frame-pointer -Wl,--no-eh-frame-hdr");
	uint64_t addresses[DEPTH], expected[DEPTH];
	struct gt_unwound unwound;
	size_t count = 0;

	call(library, "deep", 10);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	/* glibc cannot unwind it, so the functions' names are compared. */
	unwound = unwind_size(unwinder, seen.size, addresses);
	for (; count < unwound.count; count++) {
		Dl_info info = {0};

		expected[count] = addresses[count];
		if (!dladdr((void *)addresses[count], &info) || !info.dli_sname ||
		    strcmp(info.dli_sname, "deep"))
			break;
	}
	CHECK_INT(count, 11);
	CHECK_INT(expected[0], addresses[0]);
	CHECK_INT(unwound.end, GT_UNWIND_OUTERMOST);
	CHECK_INT(unwound.guessed, 0);
}

TEST("without rules frame pointers are followed and counted")
{
	void *library =
		load("libruleless.so", "-O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer "
				       "-fno-asynchronous-unwind-tables -fno-unwind-tables");
	uint64_t addresses[DEPTH];
	struct gt_unwound unwound;

	call(library, "deep", 10);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	unwound = unwind_size(unwinder, seen.size, addresses);
	CHECK_INT(unwound.guessed, 11);
	CHECK(unwound.count > 12);
	CHECK_INT(unwound.end, GT_UNWIND_OUTERMOST);
}

TEST("a function without rules that has not begun is left to its caller, whatever its frame "
     "pointer")
{
	void *library =
		load("libunbegun.so", "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables");
	uint64_t pc = (uint64_t)(uintptr_t)dlsym(library, "deep"), caller = pc + 9, address = 0;
	struct gt_unwind_stack stack = {.start = 0x1000, .data = &caller, .size = sizeof(caller)};
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);
	struct gt_unwind_registers registers;
	struct gt_unwound unwound;

	for (int is_entry = 0; is_entry < 2; is_entry++) {
		gt_unwind_registers_set(&registers, pc, stack.start, 0, caller);
		registers.is_entry = is_entry;
		gt_unwind(unwinder, 1, &registers, &stack, &address, 1, &unwound);
		CHECK_INT(unwound.count, is_entry);
		CHECK_INT(unwound.guessed, 0);
	}
	CHECK_INT(address, caller);
}

TEST("a short copy of the stack yields its callers, and the reason of the end")
{
	uint64_t all[DEPTH], some[DEPTH];
	struct gt_unwound whole, part;
	size_t before = 0;

	call(usual_library(), "deep", 10);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	whole = unwind_size(unwinder, seen.size, all);
	for (size_t size = 0; size < 4096 && size < seen.size; size++) {
		part = unwind_size(unwinder, size, some);
		CHECK(part.count >= before && part.count <= whole.count);
		CHECK(!memcmp(some, all, part.count * sizeof(all[0])));
		if (part.count < whole.count)
			CHECK_INT(part.end, GT_UNWIND_STACK_END);
		before = part.count;
	}
	CHECK(before > 5);
}

TEST("an array that is too short is filled, and the end is reported")
{
	struct gt_unwind_stack stack = {0};
	struct gt_unwound unwound;
	uint64_t addresses[4] = {0, 0, 0, 42};

	call(usual_library(), "deep", 10);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	stack = (struct gt_unwind_stack){seen.start, seen.bytes, seen.size};
	gt_unwind(unwinder, 1, &seen.registers, &stack, addresses, 3, &unwound);
	CHECK_INT(unwound.count, 3);
	CHECK_INT(unwound.end, GT_UNWIND_FULL);
	CHECK_INT(addresses[2], (uintptr_t)seen.expected[2]);
	CHECK_INT(addresses[3], 42);
}

TEST("an address that is not mapped has no callers")
{
	uint64_t addresses[DEPTH];
	struct gt_unwound unwound;

	call(usual_library(), "deep", 1);
	gt_auto(space) struct gt_space *space = gt_space_new();
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	unwound = unwind_size(unwinder, seen.size, addresses);
	CHECK_INT(unwound.count, 0);
	CHECK_INT(unwound.end, GT_UNWIND_NO_CODE);
}

TEST("a replaced file is not used")
{
	uint64_t addresses[DEPTH];
	struct gt_unwound unwound;
	struct stat status;

	call(usual_library(), "deep", 10);
	CHECK_INT(run(NULL, "cp libusual.so libother.so"), 0);
	CHECK_INT(stat("libusual.so", &status), 0);
	gt_auto(space) struct gt_space *space = own_space("libusual.so", "/nowhere/libusual.so");
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	unwound = unwind_size(unwinder, seen.size, addresses);
	CHECK(unwound.count <= 1 || unwound.guessed > 0);

	gt_auto(space) struct gt_space *other = gt_space_new();
	gt_auto(unwinder) struct gt_unwinder *second = gt_unwinder_new(other);

	CHECK_INT(gt_space_map(other, 1,
			       &(struct gt_space_request){.start = 0,
							  .end = UINT64_MAX,
							  .offset = 0,
							  .inode = status.st_ino,
							  .path = "/proc/self/exe",
							  .length = 14}),
		  0);
	unwound = unwind_size(second, seen.size, addresses);
	CHECK(unwound.end == GT_UNWIND_NO_RULES || unwound.guessed == unwound.count);
}

/* The library with every n-th byte of a stretch changed. */
static void write_malformed(size_t offset, size_t size, unsigned int seed)
{
	gt_auto_file file = {0};

	CHECK_INT(gt_file_read("libusual.so", 1 << 20, &file, NULL), 0);
	for (size_t i = 0; i < size && offset + i < file.size; i++) {
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			file.data[offset + i] ^= (uint8_t)(1u << (seed >> 20 & 7));
	}
	write_file("malformed.so", file.data, file.size);
}

TEST("malformed rules shorten the list and do no harm")
{
	gt_autofree char *text = NULL;
	uint64_t addresses[DEPTH];
	struct gt_unwound unwound;
	unsigned long offset = 0, size = 0, differing = 0;

	call(usual_library(), "deep", 10);
	run(&text, "readelf -SW libusual.so | sed -n 's/.* \\.eh_frame  *[A-Z_0-9]*//p' | "
		   "awk '{print $2, $3}'");
	if (sscanf(text, "%lx %lx", &offset, &size) != 2)
		SKIP("readelf does not show the address of .eh_frame");
	for (unsigned int seed = 1; seed <= 200; seed++) {
		char path[512];

		write_malformed(offset - (seed % 2 ? 64 : 0), size + 64, seed);
		snprintf(path, sizeof(path), "%s/malformed.so", fixture());
		gt_auto(space) struct gt_space *space = own_space("libusual.so", path);
		gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

		unwound = unwind_size(unwinder, seen.size, addresses);
		CHECK(unwound.count <= DEPTH);
		differing += unwound.count != seen.expected_count;
	}
	CHECK(differing > 100);
}

static int64_t evaluate(const char *bytes, size_t size, uint64_t initial, uint64_t *ret_value)
{
	static const uint64_t memory[] = {0x1122334455667788, 42};
	struct gt_unwind_stack stack = {0x1000, memory, sizeof(memory)};
	struct gt_unwind_registers registers = {.known = 1u << 3};

	registers.values[3] = 0x1000;
	return gt_expression_evaluate((const uint8_t *)bytes, size, &initial, &registers, &stack,
				      ret_value);
}
#define EVALUATE(bytes) evaluate(bytes, sizeof(bytes) - 1, 100, &value)

TEST("an expression computes")
{
	uint64_t value = 0;

	CHECK_INT(EVALUATE(""), 0);
	CHECK_INT(value, 100);
	CHECK_INT(EVALUATE("\x73\x08\x06"), 0); /* breg3+8 deref */
	CHECK_INT(value, 42);
	CHECK_INT(EVALUATE("\x73\0\x94\x02"), 0); /* breg3 deref_size 2 */
	CHECK_INT(value, 0x7788);
	CHECK_INT(EVALUATE("\x35\x33\x16\x1c"), 0); /* lit5 lit3 swap minus */
	CHECK_INT(value, -2);
	CHECK_INT(EVALUATE("\x23\x81\x01"), 0); /* plus_uconst 129 */
	CHECK_INT(value, 229);
	CHECK_INT(EVALUATE("\x31\x32\x33\x17\x1e\x22"), 0); /* 1 2 3 rot: 3 1 2, mul, plus */
	CHECK_INT(value, 5);
	CHECK_INT(EVALUATE("\x09\x80\x34\x26"), 0); /* const1s -128, lit4, shra */
	CHECK_INT(value, -8);
	CHECK_INT(EVALUATE("\x09\x80\x08\xff\x26"), 0); /* by 255 */
	CHECK_INT(value, -1);
	/* bra over lit1: 100 is not 0 */
	CHECK_INT(EVALUATE("\x12\x28\x01\0\x31\x32\x22"), 0);
	CHECK_INT(value, 102);
}

TEST("a malformed expression is rejected")
{
	uint64_t value = 7;

	CHECK_INT(EVALUATE("\x13"), 0 - EBADMSG);          /* drop: nothing is left */
	CHECK_INT(EVALUATE("\x22"), -EBADMSG);             /* plus with one value */
	CHECK_INT(EVALUATE("\x0e\1\2"), -EBADMSG);         /* truncated const8u */
	CHECK_INT(EVALUATE("\x2f\xfd\xff"), -EBADMSG);     /* skip to itself for ever */
	CHECK_INT(EVALUATE("\x2f\x80\x00"), -EBADMSG);     /* skip beyond the end */
	CHECK_INT(EVALUATE("\xff"), -EBADMSG);             /* no operation */
	CHECK_INT(EVALUATE("\x12\x2f\xfc\xff"), -EBADMSG); /* dup for ever */
	CHECK_INT(EVALUATE("\x72\0"), -ENXIO);             /* breg2 is not known */
	CHECK_INT(EVALUATE("\x73\x10\x06"), -ENODATA);     /* behind the copy */
	CHECK_INT(EVALUATE("\x30\x06"), -EFAULT);          /* address 0 */
	CHECK_INT(EVALUATE("\x73\0\x94\x09"), -EBADMSG);   /* 9 bytes */
	CHECK_INT(value, 7);
}

TEST("unwinding again finds the same callers")
{
	uint64_t addresses[DEPTH];

	call(usual_library(), "deep", 12);
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);

	for (int i = 0; i < 20; i++) {
		struct gt_unwound unwound = unwind_size(unwinder, seen.size, addresses);

		check_same(addresses, &unwound);
	}
}

TEST_MAIN
