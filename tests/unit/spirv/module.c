/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules of SPIR-V that other compilers wrote are read, and written again. */
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "spirv/builder.h"
#include "tap.h"
#include "temporary.h"

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
	char path[TEMPORARY_PATH + 16], text[sizeof(command) + TEMPORARY_PATH];
	struct temporary folder;
	int error, file;

	if (system("command -v clang llvm-spirv-14 >/dev/null") ||
	    !make_temporary_directory(&folder))
		return false;
	snprintf(path, sizeof(path), "%s/kernels.cl", folder.path);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(file >= 0 && !gt_write_all(file, source, sizeof(source) - 1));
	close(file);
	snprintf(text, sizeof(text), command, folder.path);
	error = system(text);
	snprintf(path, sizeof(path), "%s/kernels.spv", folder.path);
	if (!error)
		error = gt_file_read(path, 1 << 20, ret_file, NULL);
	CHECK(!error);
	CHECK(remove_temporary_directory(&folder));
	return !error;
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

TEST_MAIN
