/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules of SPIR-V that other compilers wrote: reading them, and programs at the entry and exit of
 * their kernels, which run on an OpenCL device (PoCL).
 */
#include <fcntl.h>
#include <unistd.h>

#include "amount.h"
#include "assemble.h"
#include "base/file.h"
#include "gpubpf/spirvgen/wrap.h"
#include "gpubpf/verify/verify.h"
#include "opencl/opencl.h"
#include "tap.h"

enum {
	ITEMS = 96,
	GROUP = 32,
};

/* Kernels with an early return, a barrier, a constant work-group size, a function of their own. */
static const char source[] =
	"__kernel void add(__global const int *a, __global const int *b, __global int *sum) {\n"
	"	size_t i = get_global_id(0);\n"
	"	if (i % 3 == 0) { sum[i] = -1; return; }\n"
	"	sum[i] = a[i] + b[i];\n"
	"}\n"
	"int twice(int x) { return x * 2; }\n"
	"__kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
	"void reduce(__global const int *a, __global const int *unused, __global int *sum) {\n"
	"	__local int parts[32];\n"
	"	size_t i = get_local_id(0);\n"
	"	parts[i] = twice(a[get_global_id(0)]);\n"
	"	for (int step = 16; step; step /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (i < step) parts[i] += parts[i + step];\n"
	"	}\n"
	"	if (!i) sum[get_group_id(0)] = parts[0];\n"
	"}\n";

/* ---- modules ---- */

/* The module of the kernels; false: clang or llvm-spirv is missing. */
static bool compile_module(struct gt_file *ret_file)
{
	static const char command[] =
		"cd %s && clang -c -x cl -cl-std=CL1.2 -O0 -target spir64 -emit-llvm "
		"-Xclang -finclude-default-header kernels.cl -o kernels.bc 2>messages && "
		"llvm-spirv-14 --spirv-max-version=1.1 kernels.bc -o kernels.spv 2>>messages";
	char folder[] = "/tmp/gputap-XXXXXX", path[64], text[sizeof(command) + 64];
	int error, file;

	if (system("command -v clang llvm-spirv-14 >/dev/null") || !mkdtemp(folder))
		return false;
	snprintf(path, sizeof(path), "%s/kernels.cl", folder);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(file >= 0 && !gt_write_all(file, source, sizeof(source) - 1));
	close(file);
	snprintf(text, sizeof(text), command, folder);
	error = system(text);
	snprintf(path, sizeof(path), "%s/kernels.spv", folder);
	if (!error)
		error = gt_file_read(path, 1 << 20, ret_file, NULL);
	CHECK(!error);
	snprintf(text, sizeof(text), "rm -r %s", folder);
	CHECK(!system(text));
	return !error;
}

static void check_validity(const struct gt_strbuf *module)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	char path[] = "/tmp/gputap-XXXXXX";
	int file = mkstemp(path);

	CHECK(file >= 0 && !gt_write_all(file, module->data, module->length));
	close(file);
	gt_strbuf_printf(&command, "spirv-val --target-env spv1.1 %s", path);
	if (!system("command -v spirv-val >/dev/null"))
		CHECK(!system(gt_strbuf_string(&command)));
	unlink(path);
}

TEST("a module has its kernels and functions, and is written as it was read")
{
	gt_auto(spirv_module) struct gt_spirv_module *module = NULL;
	gt_auto_strbuf again = GT_STRBUF_INIT;
	struct gt_spirv_builder builder;
	struct gt_diag diag = {0};
	struct gt_file file;

	if (!compile_module(&file))
		SKIP("clang or llvm-spirv-14 is not installed");
	CHECK(!gt_spirv_parse(file.data, file.size, &module, &diag));
	CHECK_INT(module->address_bits, 64);
	CHECK_INT(module->entries.count, 2);
	CHECK_STR(module->entries.items[0].name, "add");
	CHECK_STR(module->entries.items[1].name, "reduce");
	CHECK(module->functions.count >= 2);
	gt_spirv_init_from(&builder, module);
	CHECK(!gt_spirv_finish(&builder, &again));
	CHECK_INT(again.length, file.size);
	CHECK(!memcmp(again.data, file.data, file.size));
	gt_spirv_clear(&builder);
	gt_file_free(&file);
}

TEST("a module is read in both byte orders")
{
	gt_auto(spirv_module) struct gt_spirv_module *module = NULL;
	struct gt_file file;
	uint32_t *words;

	if (!compile_module(&file))
		SKIP("clang or llvm-spirv-14 is not installed");
	words = (uint32_t *)file.data;
	for (size_t i = 0; i < file.size / 4; i++)
		words[i] = __builtin_bswap32(words[i]);
	CHECK(!gt_spirv_parse(file.data, file.size, &module, NULL));
	CHECK_INT(module->entries.count, 2);
	gt_file_free(&file);
}

TEST("a module that is truncated, or has a wrong word, is rejected or read, never beyond its end")
{
	struct gt_file file;

	if (!compile_module(&file))
		SKIP("clang or llvm-spirv-14 is not installed");
	for (size_t size = 0; size < file.size; size += 4) {
		/* Exactly as large as the bytes, so that a read beyond them is found. */
		gt_autofree uint8_t *copy = memcpy(malloc(size + 1), file.data, size);
		struct gt_spirv_module *module = NULL;

		if (!gt_spirv_parse(copy, size, &module, NULL))
			gt_spirv_module_free(module);
	}
	for (size_t at = 0; at < file.size; at += 4)
		for (unsigned bit = 0; bit < 32; bit += 5) {
			struct gt_spirv_module *module = NULL;

			file.data[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (!gt_spirv_parse(file.data, file.size, &module, NULL))
				gt_spirv_module_free(module);
			file.data[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	gt_file_free(&file);
}

static const struct {
	const char *text;
	uint32_t words[16];
	unsigned count;
} malformed[] = {
	{"this is no SPIR-V", {1, 0x10000, 0, 5, 0}, 5},
	{"version 1.7 is not supported (1.0 to 1.6 are)", {0x7230203, 0x10700, 0, 5, 0}, 5},
	{"the bound of ids is 0, not 1 to 4194303", {0x7230203, 0x10000, 0, 0, 0}, 5},
	{"the instruction schema is 1, not 0", {0x7230203, 0x10000, 0, 5, 1}, 5},
	{"an instruction of 0 words does not fit", {0x7230203, 0x10000, 0, 5, 0, 17}, 6},
	{"an instruction of 2 words does not fit", {0x7230203, 0x10000, 0, 5, 0, 0x20011}, 6},
	{"there is no memory model", {0x7230203, 0x10000, 0, 5, 0, 0x20011, 6}, 7},
	{"opcode 17 is not allowed after section 3",
	 {0x7230203, 0x10000, 0, 5, 0, 0x3000e, 2, 2, 0x20011, 6},
	 10},
	{"id 5 is out of bounds", {0x7230203, 0x10000, 0, 5, 0, 0x3000e, 2, 2, 0x20013, 5}, 10},
	{"id 1 is defined twice",
	 {0x7230203, 0x10000, 0, 5, 0, 0x3000e, 2, 2, 0x20013, 1, 0x20014, 1},
	 12},
	{"the module is not one of OpenCL: memory model 1, addressing model 0",
	 {0x7230203, 0x10000, 0, 5, 0, 0x3000e, 0, 1},
	 8},
	{"opcode 248 is outside of a function",
	 {0x7230203, 0x10000, 0, 5, 0, 0x3000e, 2, 2, 0x50036, 1, 2, 0, 3, 0x10038, 0x200f8, 4},
	 16},
};

TEST("a malformed module is rejected with its reason")
{
	for (size_t i = 0; i < gt_countof(malformed); i++) {
		struct gt_spirv_module *module = NULL;
		struct gt_diag diag = {0};

		CHECK(gt_spirv_parse(malformed[i].words, malformed[i].count * 4u, &module, &diag) <
		      0);
		CHECK_STR(diag.text, malformed[i].text);
	}
}

/* ---- programs in kernels ---- */

/* A program that adds r6 to element 0 of a map, assembled and verified. */
struct counter {
	struct gt_bpf_map map;
	struct gt_bpf_object object;
	struct gt_bpf_program program;
	struct gt_section section;
	struct gt_facts facts;
	struct gt_translate_job job;
	uint64_t words[2][2], *memory;
	struct gt_symbol_values symbols;
	struct gt_translate_options options;
	uint64_t switch_address;
};

static void counter_open(struct counter *counter, const char *section, const char *text)
{
	struct gt_verify_options options = {.section = &counter->section};
	struct gt_diag diag = {0};

	*counter = (struct counter){
		.map = {.name = "counts",
			.type = BPF_MAP_TYPE_ARRAY,
			.key_size = 4,
			.value_size = 8,
			.max_entries = 4},
	};
	counter->object = (struct gt_bpf_object){.maps = &counter->map, .map_count = 1};
	CHECK(!gt_section_read(section, "count", &counter->section, &diag));
	if (gt_bpf_assemble(text, &counter->program.insns, &counter->program.count, &diag) ||
	    gt_verify(&counter->object, &counter->program, &options, &counter->facts, NULL, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	counter->memory = calloc(1, gt_bpf_map_bytes(&counter->map, 1));
	gt_bpf_map_initialise(&counter->map, 1, counter->memory);
	counter->words[0][0] = (uintptr_t)counter->memory;
	counter->words[0][1] = 1;
	counter->symbols = (struct gt_symbol_values){.maps = (const uint64_t(*)[2])counter->words};
	counter->options =
		(struct gt_translate_options){.symbols = &counter->symbols, .for_spir = true};
	counter->job = (struct gt_translate_job){.program = &counter->program,
						 .facts = &counter->facts,
						 .section = &counter->section};
}

static void counter_clear(struct counter *counter)
{
	gt_facts_clear(&counter->facts);
	gt_bpf_program_clear(&counter->program);
	free(counter->memory);
}

/* One more in element `key`. */
#define COUNT(key)                                                                                 \
	"	stw [r10-4], " key "\n"                                                            \
	"	ldmap r1, 0\n"                                                                           \
	"	mov r2, r10\n"                                                                           \
	"	add r2, -4\n"                                                                            \
	"	call 1\n"                                                                                \
	"	jeq r0, 0, +2\n"                                                                         \
	"	mov r1, 1\n"                                                                             \
	"	lock add [r0], r1\n"                                                                     \
	"	mov r0, 0\n"                                                                             \
	"	exit\n"

static uint64_t count_of(const struct counter *counter, uint32_t key)
{
	uint64_t value;

	memcpy(&value,
	       (const uint8_t *)counter->memory + key * gt_bpf_map_stride(counter->map.value_size),
	       sizeof(value));
	return value;
}

/* Both kernels of the module with all programs. False: the tools are missing. */
static bool wrap_module(struct counter *counters, size_t count, struct gt_strbuf *ret_binary)
{
	gt_auto(spirv_module) struct gt_spirv_module *module = NULL;
	struct gt_spirv_program programs[4];
	struct gt_spirv_builder builder;
	struct gt_diag diag = {0};
	struct gt_file file;

	if (!compile_module(&file))
		return false;
	for (size_t i = 0; i < count; i++)
		programs[i] = (struct gt_spirv_program){
			.object = &counters[i].object,
			.job = &counters[i].job,
			.options = &counters[i].options,
			.switch_address = counters[i].switch_address,
		};
	CHECK(!gt_spirv_parse(file.data, file.size, &module, &diag));
	gt_spirv_init_from(&builder, module);
	gt_vec_each (entry, &module->entries)
		if (gt_spirv_wrap(&builder, module, entry, programs, count, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
	CHECK(!gt_spirv_finish(&builder, ret_binary));
	check_validity(ret_binary);
	gt_spirv_clear(&builder);
	gt_file_free(&file);
	return true;
}

static struct gt_cl *cl;

static struct gt_cl_device *open_device(void)
{
	struct gt_cl_device *device = NULL;

	if (IS_SANITIZED)
		return NULL;
	setenv("POCL_KERNEL_CACHE", "0", 1);
	if ((!cl && gt_cl_open(&cl, NULL)) || gt_cl_device_open(cl, 0, &device, NULL))
		return NULL;
	return device;
}

/* Run a kernel on numbers, and check its results. */
static void run_kernel(struct gt_cl_program *program, const char *name)
{
	static const uint32_t groups[3] = {ITEMS / GROUP, 1, 1}, group[3] = {GROUP, 1, 1};
	int32_t a[ITEMS], b[ITEMS], sum[ITEMS] = {0}, wanted[ITEMS] = {0};
	struct gt_cl_argument arguments[] = {
		{a, sizeof(a), true}, {b, sizeof(b), true}, {sum, sizeof(sum), true}};
	struct gt_diag diag = {0};

	for (int i = 0; i < ITEMS; i++) {
		a[i] = i * 7;
		b[i] = 1000 - i;
		if (!strcmp(name, "add"))
			wanted[i] = i % 3 ? a[i] + b[i] : -1;
		else
			wanted[i / GROUP] += 2 * a[i];
	}
	if (gt_cl_launch(program, name, groups, group, arguments, 3, &diag) ||
	    gt_cl_wait(program, 0, &diag))
		TAP_FAIL("%s: %s: %s", name, diag.place, diag.text);
	CHECK(!memcmp(sum, wanted, sizeof(sum)));
}

TEST("wrapped kernels have their results, and programs see each work-item, warp and work-group")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf binary = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	struct counter counters[4];
	struct gt_diag diag = {0};

	if (!device)
		SKIP("there is no OpenCL device");
	counter_open(&counters[0], "gpu/entry/*", COUNT("0"));
	counter_open(&counters[1], "gpu/exit/*", COUNT("1"));
	counter_open(&counters[2], "gpu/exit.block/*", COUNT("2"));
	counter_open(&counters[3], "gpu/entry.warp/*", COUNT("3"));
	if (!wrap_module(counters, 4, &binary))
		SKIP("clang or llvm-spirv-14 is not installed");
	if (gt_cl_program_load(device, binary.data, binary.length, &program, &log, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	for (unsigned runs = 1; program && runs <= 2; runs++) {
		run_kernel(program, runs == 1 ? "add" : "reduce");
		CHECK_INT(count_of(&counters[0], 0), ITEMS * runs);
		CHECK_INT(count_of(&counters[1], 1), ITEMS * runs);
		CHECK_INT(count_of(&counters[2], 2), ITEMS / GROUP * runs);
		CHECK_INT(count_of(&counters[3], 3), ITEMS / 32 * runs);
	}
	for (unsigned i = 0; i < 4; i++)
		counter_clear(&counters[i]);
}

/* Adds the number of its kernel to element 0, and that of its site to element 1. */
#define ADD_FIELD(key, offset)                                                                     \
	"	ldxw r6, [r1+" offset "]\n"                                                        \
	"	stw [r10-4], " key "\n"                                                            \
	"	ldmap r1, 0\n"                                                                           \
	"	mov r2, r10\n"                                                                           \
	"	add r2, -4\n"                                                                            \
	"	call 1\n"                                                                                \
	"	jeq r0, 0, +1\n"                                                                         \
	"	lock add [r0], r6\n"                                                                     \
	"	mov r0, 0\n"                                                                             \
	"	exit\n"

TEST("programs read the numbers of their site, and run while their switch is on")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf binary = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	const struct gt_site_value values[] = {
		{.source = GT_SOURCE_KERNEL, .bits = 32, .operand = "7"},
		{.source = GT_SOURCE_SITE, .bits = 32, .operand = "40"},
	};
	uint32_t switches[2] = {1, 1};
	struct counter counters[2];
	struct gt_diag diag = {0};

	if (!device)
		SKIP("there is no OpenCL device");
	counter_open(&counters[0], "gpu/block_begin", ADD_FIELD("0", "72"));
	counter_open(&counters[1], "gpu/finish.warp/*", ADD_FIELD("1", "464"));
	for (unsigned i = 0; i < 2; i++) {
		counters[i].job.values = values;
		counters[i].job.value_count = gt_countof(values);
		counters[i].switch_address = (uintptr_t)&switches[i];
	}
	if (!wrap_module(counters, 2, &binary))
		SKIP("clang or llvm-spirv-14 is not installed");
	if (gt_cl_program_load(device, binary.data, binary.length, &program, &log, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	run_kernel(program, "add");
	switches[1] = 0;
	run_kernel(program, "add");
	CHECK_INT(count_of(&counters[0], 0), 7 * 2 * (ITEMS / GROUP));
	CHECK_INT(count_of(&counters[1], 1), 40 * (ITEMS / 32));
	for (unsigned i = 0; i < 2; i++)
		counter_clear(&counters[i]);
}

TEST("a program of another section is rejected by name")
{
	struct gt_strbuf binary = GT_STRBUF_INIT;
	struct gt_spirv_builder builder;
	gt_auto(spirv_module) struct gt_spirv_module *module = NULL;
	struct counter counter;
	struct gt_spirv_program program = {
		.object = &counter.object, .job = &counter.job, .options = &counter.options};
	struct gt_diag diag = {0};
	struct gt_file file;

	counter_open(&counter, "gpu/load/*", COUNT("0"));
	if (!compile_module(&file))
		SKIP("clang or llvm-spirv-14 is not installed");
	CHECK(!gt_spirv_parse(file.data, file.size, &module, &diag));
	gt_spirv_init_from(&builder, module);
	CHECK_INT(gt_spirv_wrap(&builder, module, module->entries.items, &program, 1, &diag),
		  -EOPNOTSUPP);
	CHECK_STR(diag.text, "programs run at the entry and exit of OpenCL kernels only");
	gt_spirv_clear(&builder);
	gt_strbuf_free(&binary);
	gt_file_free(&file);
	counter_clear(&counter);
}

TEST_MAIN
