/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What relocatable cubins have at module scope, and what they need from others. */
#include "fatbin/cubin_symbols.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "cubin.h"
#include "tap.h"
#include "temporary.h"
#include "toolkit.h"

/* One word a symbol: its kind (f or v), + if it is defined, its name, and :BYTES of constants. */
static int put_symbol(void *context, const struct gt_cubin_symbol *symbol)
{
	struct gt_strbuf *text = context;

	gt_strbuf_printf(text, "%s%c%c%s", text->length ? " " : "", symbol->is_function ? 'f' : 'v',
			 symbol->is_defined ? '+' : '-', symbol->name ? symbol->name : "?");
	if (symbol->constant_bytes)
		gt_strbuf_printf(text, ":%llu", (unsigned long long)symbol->constant_bytes);
	return 0;
}

TEST("a cubin has functions and variables, and needs others")
{
	static const struct made_kernel symbols[] = {
		{.name = "kernel"},
		{.name = "function", .is_device = 1},
		{.name = "missing", .is_device = 1, .is_undefined = 1},
		{.name = "variable", .is_variable = 1},
		{.name = "far", .is_variable = 1, .is_undefined = 1},
		{.name = "constant", .is_variable = 1, .constant_bytes = 24},
	};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	size_t size;
	gt_autofree char *cubin = make_cubin(symbols, 6, 0, &size);

	CHECK_INT(gt_cubin_each_symbol(cubin, size, put_symbol, &text, NULL), 0);
	CHECK_STR(gt_strbuf_string(&text),
		  "f+kernel f+function f-missing v+variable v-far v+constant:24");
	CHECK_INT(gt_cubin_each_symbol("text", 4, put_symbol, &text, NULL), -ENOEXEC);
}

static int stop(void *context, const struct gt_cubin_symbol *symbol)
{
	++*(int *)context;
	return -EINTR;
}

TEST("a visit may end the iteration")
{
	static const struct made_kernel symbols[] = {{.name = "a"}, {.name = "b"}};
	int count = 0;
	size_t size;
	gt_autofree char *cubin = make_cubin(symbols, 2, 0, &size);

	CHECK_INT(gt_cubin_each_symbol(cubin, size, stop, &count, NULL), -EINTR);
	CHECK_INT(count, 1);
}

static bool has_symbol(const struct gt_strbuf *text, const char *symbol)
{
	size_t length = strlen(symbol);

	for (const char *at = gt_strbuf_string(text); (at = strstr(at, symbol)); at += length)
		if ((at == text->data || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Read the cubin that nvcc makes of a source. False: it makes none. */
static bool compile_source(const char *source, struct gt_file *ret_cubin)
{
	struct temporary input, output;
	char command[1024];
	int fd = make_temporary_file(&input);
	size_t length = strlen(source);
	bool good = fd >= 0 && write(fd, source, length) == (ssize_t)length && !close(fd) &&
		    make_empty_file(&output);

	snprintf(command, sizeof(command),
		 TOOLS "nvcc -x cu -rdc=true -arch=sm_75 -cubin -o %s %s >/dev/null 2>&1",
		 output.path, input.path);
	good = good && !system(command) && !gt_file_read(output.path, 1 << 20, ret_cubin, NULL);
	unlink(input.path);
	unlink(output.path);
	return good;
}

TEST("what nvcc keeps in shared and local memory and parameters is no variable of the module")
{
	static const char source[] =
		"extern __device__ int far;\n"
		"extern __device__ int call(int);\n"
		"extern __global__ void launched(int *);\n"
		"__device__ int own = 1;\n"
		"__constant__ int constant[4];\n"
		"__global__ void k(int *p)\n{\n"
		"	__shared__ int shared[32];\n"
		"	int local[8];\n"
		"	static __device__ int kept;\n"
		"	for (int i = 0; i < 8; i++) local[i] = p[i];\n"
		"	shared[threadIdx.x] = local[p[9] & 7] + far + own + constant[p[0] & 3];\n"
		"	__syncthreads();\n"
		"	p[threadIdx.x] = call(shared[31 - threadIdx.x]) + kept++;\n"
		"	launched<<<1, 1>>>(p);\n}\n";
	static const char *const symbols[] = {"f+_Z1kPi", "f-_Z4calli", "f-_Z8launchedPi",
					      "v-far",    "v+own",      "v+constant:16"};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto_file cubin = {0};

	NEED_TOOL("nvcc");
	if (!compile_source(source, &cubin))
		SKIP("nvcc cannot compile here");
	CHECK_INT(gt_cubin_each_symbol(cubin.data, cubin.size, put_symbol, &text, NULL), 0);
	for (size_t i = 0; i < gt_countof(symbols); i++)
		if (!has_symbol(&text, symbols[i]))
			TAP_FAIL("no %s in %s", symbols[i], gt_strbuf_string(&text));
	CHECK(strstr(gt_strbuf_string(&text), "kept"));
	CHECK(!strstr(gt_strbuf_string(&text), "shared"));
	CHECK(!strstr(gt_strbuf_string(&text), "local"));
	CHECK(!strstr(gt_strbuf_string(&text), "param"));
	CHECK(!strstr(gt_strbuf_string(&text), "UFT"));
}

TEST_MAIN
