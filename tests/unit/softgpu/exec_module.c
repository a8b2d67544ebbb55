/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "exec_fixture.h"
#include "large_ptx.h"
#include "ptx/ptx.h"

#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1)\n{\n"                            \
	"	.reg .pred %p<10>;\n	.reg .b32 %r<20>;\n	.reg .b64 %rd<20>;\n"                           \
	"	.reg .f64 %fd<4>;\n	.local .align 8 .b8 args[64];\n"                                     \
	"	ld.param.u64 %rd0, [p0];\n	ld.param.u64 %rd1, [p1];\n"                                   \
	"	mov.u32 %r0, %tid.x;\n" body "	ret;\n}\n"

/* ---- linking --------------------------------------------------------------------------- */

static int load_all(struct device *device, const char *const *texts, size_t count,
		    struct sg_module **ret_module, struct gt_diag *diag)
{
	struct gt_ptx_module *parsed[4] = {0};
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		remember_text(texts[i]);
		error = gt_ptx_parse(texts[i], strlen(texts[i]), &parsed[i], diag);
	}
	if (!error)
		error = sg_module_load(device->machine, (const struct gt_ptx_module *const *)parsed,
				       count, NULL, ret_module, diag);
	for (size_t i = 0; i < count; i++)
		gt_ptx_free(parsed[i]);
	return error;
}

TEST("modules find each other's functions and variables, and weak ones merge")
{
	static const char *const texts[] = {
		PTX_HEADER
		".extern .func (.param .u32 r) far(.param .u32 a);\n"
		".extern .global .align 4 .u32 shared_cell;\n"
		".weak .func (.param .u32 r) weak()\n"
		"{ st.param.u32 [r], 1; ret; }\n"
		".func (.param .u32 r) own()\n{ st.param.u32 [r], 5; ret; }\n" KERNEL(
			"first", "	{ .param .u32 a; .param .u32 b; st.param.u32 [a], 7;\n"
				 "	call (b), far, (a); ld.param.u32 %r1, [b]; }\n"
				 "	{ .param .u32 b; call (b), weak; ld.param.u32 %r2, [b]; }\n"
				 "	{ .param .u32 b; call (b), own; ld.param.u32 %r3, [b]; }\n"
				 "	ld.global.u32 %r4, [shared_cell];\n"
				 "	st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};\n"),
		PTX_HEADER
		".visible .global .align 4 .u32 shared_cell = 40;\n"
		".visible .func (.param .u32 r) weak()\n"
		"{ st.param.u32 [r], 2; ret; }\n"
		".func (.param .u32 r) own()\n{ st.param.u32 [r], 6; ret; }\n"
		".visible .func (.param .u32 r) far(.param .u32 a)\n"
		"{ .reg .u32 %r<3>; ld.param.u32 %r1, [a];\n"
		"	mul.lo.u32 %r1, %r1, 3; st.param.u32 [r], %r1; ret; }\n" KERNEL(
			"second", "	{ .param .u32 b; call (b), own; ld.param.u32 %r3, [b]; }\n"
				  "	st.global.u32 [%rd0], %r3;\n	st.global.u32 "
				  "[shared_cell], 41;\n"),
	};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	struct sg_variable_info info;
	uint32_t *out;

	device_open(&device);
	CHECK_INT(load_all(&device, texts, 2, &module, &diag), 0);
	CHECK_STR(diag.text, "");
	out = device_memory(&device, 64);
	device_run(&device, module, "first", 1, 1, address_of(out), 0);
	CHECK_INT(out[0], 21);
	CHECK_INT(out[1], 2);
	CHECK_INT(out[2], 5);
	CHECK_INT(out[3], 40);
	device_run(&device, module, "second", 1, 1, address_of(out), 0);
	CHECK_INT(out[0], 6);
	CHECK_INT(sg_module_variable(module, "shared_cell", &info), 0);
	CHECK_INT(info.size, 4);
	CHECK_INT(*(uint32_t *)(uintptr_t)info.address, 41);
	CHECK_INT(sg_module_variable(module, "nothing", &info), -ENOENT);
	CHECK_STR(sg_module_variable_at(module, 0, &info) ? "" : info.name, "shared_cell");
	CHECK_INT(sg_module_variable_at(module, 1, &info), -ENOENT);
	CHECK(sg_module_function_at(module, 0) == sg_module_function(module, "first"));
	CHECK(sg_module_function_at(module, 1) == sg_module_function(module, "second"));
	CHECK(sg_module_function_at(module, 2) == NULL);
	CHECK(sg_module_function(module, "far") == NULL);
	CHECK(sg_function_module(sg_module_function(module, "first")) == module);
}

#define NUMBERED(name, number) name "()\n{ st.param.u32 [r], " number "; ret; }\n"
#define CALL_INTO(register, name)                                                                  \
	"	{ .param .u32 b; call (b), " name "; ld.param.u32 " register ", [b]; }\n"

TEST("modules find each other's functions by their aliases")
{
	static const char *const texts[] = {
		PTX_HEADER
		".extern .func (.param .u32 r) other();\n"
		".weak .func (.param .u32 r) " NUMBERED("taken", "4") KERNEL(
			"k", CALL_INTO("%r1", "other") CALL_INTO(
				     "%r2", "taken") "	st.global.v2.u32 [%rd0], {%r1, %r2};\n"),
		PTX_HEADER ".visible .func (.param .u32 r) " NUMBERED(
			"f", "1") ".visible .func (.param .u32 r) other();\n.alias other, f;\n"
				  ".visible .func (.param .u32 r) taken();\n.alias taken, f;\n",
		PTX_HEADER ".visible .func (.param .u32 r) " NUMBERED(
			"f2", "3") ".visible .func (.param .u32 r) other();\n.alias other, f2;\n",
		/* nvlink does not find this one, either. */
		PTX_HEADER ".func (.param .u32 r) " NUMBERED(
			"f", "2") ".visible .func (.param .u32 r) other();\n.alias other, f;\n",
	};
	auto_device device;
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	uint32_t *out;

	device_open(&device);
	CHECK_INT(load_all(&device, texts, 2, &module, &diag), 0);
	CHECK_STR(diag.text, "");
	out = device_memory(&device, 64);
	device_run(&device, module, "k", 1, 1, address_of(out), 0);
	CHECK_INT(out[0], 1);
	CHECK_INT(out[1], 1);
	sg_module_free(module);
	module = NULL;
	CHECK_INT(load_all(&device, texts, 3, &module, &diag), -EEXIST);
	CHECK_STR(diag.text, "function 'other' is defined more than once");
	diag = (struct gt_diag){0};
	CHECK_INT(load_all(&device, (const char *const[]){texts[0], texts[3]}, 2, &module, &diag),
		  -ENOENT);
	CHECK_STR(diag.text, "line 17: function 'other', used in function 'k', is not defined");
}

TEST("a name that two modules define is rejected")
{
	static const char *const texts[] = {
		PTX_HEADER ".visible .global .u32 x;\n" KERNEL("one", ""),
		PTX_HEADER ".visible .global .u32 x;\n" KERNEL("two", ""),
		PTX_HEADER KERNEL("one", ""),
	};
	auto_device device;
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};

	device_open(&device);
	CHECK_INT(load_all(&device, texts, 2, &module, &diag), -EEXIST);
	CHECK_STR(diag.text, "variable 'x' is defined more than once");
	diag = (struct gt_diag){0};
	CHECK_INT(load_all(&device, texts + 1, 2, &module, &diag), 0);
	sg_module_free(module);
	module = NULL;
	CHECK_INT(load_all(&device, (const char *const[]){texts[0], texts[2]}, 2, &module, &diag),
		  -EEXIST);
	CHECK_STR(diag.text, "kernel 'one' is defined more than once");
	CHECK(module == NULL);
}

TEST("a function that is declared with other parameters than it has is rejected")
{
	static const char *const texts[] = {
		PTX_HEADER ".extern .func far(.param .align 8 .b8 a[4096]);\n" KERNEL(
			"first", "	{ .param .align 8 .b8 a[4096]; call far, (a); }\n"),
		PTX_HEADER ".visible .func far(.param .u32 a)\n{ ret; }\n",
	};
	auto_device device;
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};

	device_open(&device);
	CHECK_INT(load_all(&device, texts, 2, &module, &diag), -EINVAL);
	CHECK_STR(diag.text, "'first' calls 'far' with other parameters or results than it has");
	sg_module_free(module);
}

TEST("a module's memory is released with it, and is an error if the machine has none")
{
	static const char text[] =
		PTX_HEADER ".visible .global .u32 x = 3;\n.const .u32 y[9];\n"
			   ".global .attribute(.managed) .u32 z;\n" KERNEL("k", "");
	auto_device device;
	gt_auto(sg_machine) struct sg_machine *bare = NULL;
	struct sg_module *module;
	struct sg_variable_info x, y, z;
	struct sg_function_info info;
	struct gt_diag diag = {0};

	device_open(&device);
	module = device_load(&device, text);
	CHECK_INT(sg_module_variable(module, "x", &x), 0);
	CHECK_INT(sg_module_variable(module, "y", &y), 0);
	CHECK_INT(sg_module_variable(module, "z", &z), 0);
	CHECK_INT(y.size, 36);
	CHECK(y.is_const && !x.is_const && z.is_managed && !x.is_managed);
	sg_function_describe(sg_module_function(module, "k"), &info);
	CHECK_INT(info.const_size, 36);
	CHECK_INT(info.parameter_size, 16);
	CHECK_INT(info.parameter_count, 2);
	CHECK_INT(info.ptx_version, 80);
	CHECK_INT(info.target, 80);
	CHECK_STR(info.name, "k");
	CHECK(sg_memory_is_allowed(device.machine, x.address, 4));
	sg_module_free(module);
	CHECK(!sg_memory_is_allowed(device.machine, x.address, 4));
	CHECK_INT(sg_machine_new(&(struct sg_machine_options){0}, &bare, NULL), 0);
	CHECK_INT(sg_module_load_text(bare, text, strlen(text), &module, &diag), -ENOMEM);
	CHECK_STR(diag.text, "no device memory for the module's variables");
}

/* ---- what is built in ------------------------------------------------------------------ */

#define VPRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
#define CALL_VPRINTF(format)                                                                       \
	"	mov.u64 %rd5, " format ";\n	cvta.global.u64 %rd5, %rd5;\n"                         \
	"	mov.u64 %rd6, args;\n	cvta.local.u64 %rd6, %rd6;\n	{\n"                                  \
	"	.param .b64 f;\n	.param .b64 a;\n	.param .b32 r;\n"                                      \
	"	st.param.b64 [f], %rd5;\n	st.param.b64 [a], %rd6;\n"                                     \
	"	call (r), vprintf, (f, a);\n	ld.param.b32 %r9, [r];\n	}\n"

TEST("printf in a kernel prints every conversion and returns their number")
{
	static const char text[] = PTX_HEADER VPRINTF
		/* "%d|%5u|%-4x|%lld|%c|%s|%.3f|%e|%p|%%|%*d|%hhd|%q" */
		".global .align 1 .b8 format[53] = {37,100,124,37,53,117,124,37,45,52,120,124,37,"
		"108,108,100,124,37,99,124,37,115,124,37,46,51,102,124,37,101,124,37,112,124,37,37,"
		"124,37,42,100,124,37,104,104,100,124,37,107,10,0};\n"
		".global .align 1 .b8 word[4] = {97,98,99,0};\n"
		".global .align 1 .b8 where[7] = {37,117,44,37,117,59,0};\n" KERNEL(
			"all",
			"	mov.u64 %rd3, word;\n	cvta.global.u64 %rd3, %rd3;\n"
			"	st.local.u32 [args], -5;\n	st.local.u32 [args+4], 42;\n"
			"	st.local.u32 [args+8], 255;\n	st.local.u64 [args+16], "
			"-5000000000;\n"
			"	st.local.u32 [args+24], 88;\n	st.local.u64 [args+32], %rd3;\n"
			"	st.local.f64 [args+40], 0d3FF8000000000000;\n"
			"	st.local.f64 [args+48], 0d40F86A0000000000;\n"
			"	st.local.u64 [args+56], 4096;\n" CALL_VPRINTF(
				"format") "	st.global.u32 [%rd0], %r9;\n")
			KERNEL("each",
			       "	st.local.u32 [args], %r0;\n	mov.u32 %r1, %ctaid.x;\n"
			       "	st.local.u32 [args+4], %r1;\n" CALL_VPRINTF("where"))
				KERNEL("wild",
				       "	mov.u64 %rd5, 64;\n	{\n	.param .b64 f;\n"
				       "	.param .b64 a;\n	.param .b32 r;\n"
				       "	st.param.b64 [f], %rd5;\n"
				       "	st.param.b64 [a], %rd5;\n"
				       "	call (r), vprintf, (f, a);\n	}\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_grid_result result;
	uint32_t *out;

	device_open(&device);
	module = device_load(&device, text);
	out = device_memory(&device, 64);
	/* The last argument but one is past the buffer: local memory ends there. */
	device_run_with(&device, module, "all", (struct sg_launch){.shape.block = {1}},
			(uint64_t[]){address_of(out), 0}, 2, &result);
	CHECK_INT(result.fault.kind, SG_FAULT_NONE);
	CHECK(strstr(gt_strbuf_string(&device.output),
		     "-5|   42|ff  |-5000000000|X|abc|1.500|1.000000e+05|0x1000|%|") ==
	      gt_strbuf_string(&device.output));
	CHECK(strstr(gt_strbuf_string(&device.output), "|%k\n") != NULL);
	CHECK_INT(out[0], 12);
	gt_strbuf_clear(&device.output);
	device_run(&device, module, "each", 1, 3, 0, 0);
	CHECK_STR(gt_strbuf_string(&device.output), "0,0;1,0;2,0;");
	CHECK_INT(device_run_with(&device, module, "wild", (struct sg_launch){.shape.block = {1}},
				  (uint64_t[]){0, 0}, 2, &result),
		  -EFAULT);
	CHECK_INT(result.fault.address, 64);
}

TEST("kernels allocate memory that outlives them, free it, and get 0 when there is no more")
{
	static const char text[] = PTX_HEADER
		".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
		".extern .func free(.param .b64 p);\n" KERNEL(
			"take",
			"	mad.wide.u32 %rd3, %r0, 8, %rd0;\n	{\n	.param .b64 n;\n"
			"	.param .b64 r;\n	st.param.b64 [n], %rd1;\n"
			"	call (r), malloc, (n);\n	ld.param.b64 %rd4, [r];\n	}\n"
			"	st.global.u64 [%rd3], %rd4;\n	setp.eq.u64 %p0, %rd4, 0;\n"
			"	@!%p0 st.u32 [%rd4], %r0;\n")
			KERNEL("give",
			       "	mad.wide.u32 %rd3, %r0, 8, %rd0;\n	ld.global.u64 "
			       "%rd4, [%rd3];\n"
			       "	add.u64 %rd4, %rd4, %rd1;\n	{\n	.param .b64 p;\n"
			       "	st.param.b64 [p], %rd4;\n	call free, (p);\n	"
			       "}\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_grid_result result;
	uint64_t *places;

	device_open(&device);
	module = device_load(&device, text);
	places = device_memory(&device, 8 * 100);
	CHECK_INT(sg_machine_set_heap_size(device.machine, 64 << 10), 0);
	device_run(&device, module, "take", 1, 100, address_of(places), 100);
	for (uint32_t i = 0; i < 100; i++) {
		CHECK(places[i] != 0 && places[i] % 16 == 0);
		CHECK_INT(*(uint32_t *)(uintptr_t)places[i], i);
		for (uint32_t j = 0; j < i; j++)
			CHECK(places[i] >= places[j] + 100 || places[j] >= places[i] + 100);
	}
	CHECK_INT(sg_machine_set_heap_size(device.machine, 1 << 20), -EBUSY);
	CHECK_INT(device_run_with(&device, module, "give", (struct sg_launch){.shape.block = {1}},
				  (uint64_t[]){address_of(places), 8}, 2, &result),
		  -EFAULT);
	device_run(&device, module, "give", 1, 100, address_of(places), 0);
	device_run(&device, module, "take", 1, 1, address_of(places), 60000);
	CHECK(places[0] != 0);
	device_run(&device, module, "take", 1, 1, address_of(places), 60000);
	CHECK_INT(places[0], 0);
}

TEST("a failed assertion reports its condition, location and thread, and ends the grid")
{
	static const char text[] = PTX_HEADER
		".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l,"
		" .param .b64 n, .param .b64 s);\n"
		".global .align 1 .b8 message[6] = {120,32,62,32,49,0};\n"
		".global .align 1 .b8 file[5] = {97,46,99,117,0};\n"
		".global .align 1 .b8 name[2] = {107,0};\n" KERNEL(
			"k", "	setp.ne.u32 %p0, %r0, 2;\n	@%p0 bra END;\n	{\n"
			     "	.param .b64 m;\n	.param .b64 f;\n	.param .b32 l;\n"
			     "	.param .b64 n;\n	.param .b64 s;\n"
			     "	mov.u64 %rd3, message;\n	cvta.global.u64 %rd3, %rd3;\n"
			     "	st.param.b64 [m], %rd3;\n	mov.u64 %rd3, file;\n"
			     "	cvta.global.u64 %rd3, %rd3;\n	st.param.b64 [f], %rd3;\n"
			     "	st.param.b32 [l], 12;\n	mov.u64 %rd3, name;\n"
			     "	cvta.global.u64 %rd3, %rd3;\n	st.param.b64 [n], %rd3;\n"
			     "	st.param.b64 [s], 1;\n	call __assertfail, (m, f, l, n, s);\n	}\n"
			     "END:\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_grid_result result;

	device_open(&device);
	module = device_load(&device, text);
	CHECK_INT(device_run_with(&device, module, "k", (struct sg_launch){.shape.block = {4}},
				  (uint64_t[]){0, 0}, 2, &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ASSERT);
	CHECK_INT(sg_fault_code(result.fault.kind), 710);
	CHECK_STR(gt_strbuf_string(&device.output),
		  "a.cu:12: k: block: [0,0,0], thread: [2,0,0] Assertion `x > 1` failed.\n");
}

/* ---- several at once ------------------------------------------------------------------- */

struct runner {
	struct device *device;
	struct sg_module *module;
	uint32_t *cell;
	uint32_t *out;
};

static void *run_grids(void *context)
{
	struct runner *runner = context;

	for (int i = 0; i < 50; i++) {
		struct sg_grid_result result;

		if (device_run_with(runner->device, runner->module, "k",
				    (struct sg_launch){.shape.grid = {40}, .shape.block = {64}},
				    (uint64_t[]){address_of(runner->cell), address_of(runner->out)},
				    2, &result))
			TAP_FAIL("%s", result.fault.text);
	}
	return NULL;
}

TEST("grids of several host threads run at once, while memory is allowed and denied")
{
	enum { THREADS = 4 };
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	red.global.add.u32 [%rd0], 1;\n	mov.u32 %r1, %ctaid.x;\n"
		     "	mad.lo.u32 %r2, %r1, 64, %r0;\n	mad.wide.u32 %rd3, %r2, 4, %rd1;\n"
		     "	ld.global.u32 %r3, [%rd3];\n	add.u32 %r3, %r3, 1;\n"
		     "	st.global.u32 [%rd3], %r3;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct runner runners[THREADS];
	pthread_t threads[THREADS];
	static char ranges[64][512];
	uint32_t *cell;

	device_open(&device);
	module = device_load(&device, text);
	cell = device_memory(&device, 4);
	for (int i = 0; i < THREADS; i++) {
		runners[i] =
			(struct runner){&device, module, cell, device_memory(&device, 40 * 64 * 4)};
		pthread_create(&threads[i], NULL, run_grids, &runners[i]);
	}
	for (int i = 0; i < 500; i++) {
		uint64_t address = address_of(ranges[i % 64]);

		CHECK_INT(sg_memory_allow(device.machine, address, 512), 0);
		CHECK_INT(sg_memory_deny(device.machine, address, 512), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(*cell, THREADS * 50 * 40 * 64);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < 40 * 64; j++)
			CHECK_INT(runners[i].out[j], 50);
}

/* ---- large modules --------------------------------------------------------------------- */

TEST("a module of 100,000 lines is loaded")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	size_t lines = 0;

	device_open(&device);
	write_kernels(&text, 1);
	remember_text(gt_strbuf_string(&text));
	gt_strbuf_clear(&text);
	write_kernels(&text, 101);
	for (const char *p = gt_strbuf_string(&text); (p = strchr(p, '\n')); p++)
		lines++;
	CHECK(lines > 100000);
	CHECK_INT(sg_module_load_text(device.machine, gt_strbuf_string(&text), text.length, &module,
				      &diag),
		  0);
	CHECK_STR(diag.text, "");
	CHECK(sg_module_function(module, "k100") != NULL);
}

TEST("registers of scopes share their slots in a kernel of 40,000 blocks")
{
	enum { SCOPES = 20000, THREADS = 8 };
	gt_auto_strbuf text = GT_STRBUF_INIT;
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	uint32_t *out;

	gt_strbuf_puts(&text,
		       PTX_HEADER ".visible .entry scopes(.param .u64 p)\n{\n"
				  "	.reg .u64 %rd;\n	.reg .u32 %sum, %t;\n"
				  "	ld.param.u64 %rd, [p];\n	mov.u32 %t, %tid.x;\n"
				  "	mov.u32 %sum, 0;\n");
	for (unsigned i = 0; i < SCOPES; i++)
		gt_strbuf_printf(
			&text,
			"{\n	.reg .pred %%p;\n	.reg .u32 %%a, %%b, %%c, %%d, %%e;\n"
			"	and.b32 %%a, %%t, %u;\n	mov.u32 %%b, 1;\n"
			"	mov.u32 %%c, 2;\n	mov.u32 %%d, 3;\n	mov.u32 %%e, 4;\n"
			"	setp.eq.u32 %%p, %%a, 0;\n	@%%p bra L%u;\n"
			"	add.u32 %%b, %%b, %%c;\n	add.u32 %%d, %%d, %%e;\n"
			"	add.u32 %%sum, %%sum, %%d;\nL%u:\n"
			"	add.u32 %%sum, %%sum, %%b;\n}\n",
			1u << i % 3, i, i);
	gt_strbuf_puts(&text, "	mad.wide.u32 %rd, %t, 4, %rd;\n"
			      "	st.global.u32 [%rd], %sum;\n	ret;\n}\n");
	CHECK(!text.failed);
	device_open(&device);
	/* Not remembered: ptxas takes minutes. */
	CHECK_INT(sg_module_load_text(device.machine, gt_strbuf_string(&text), text.length, &module,
				      &diag),
		  0);
	CHECK_STR(diag.text, "");
	out = device_memory(&device, THREADS * sizeof(*out));
	device_run(&device, module, "scopes", 1, THREADS, address_of(out));
	for (unsigned thread = 0; thread < THREADS; thread++) {
		uint32_t sum = 0;

		for (unsigned i = 0; i < SCOPES; i++)
			sum += thread >> i % 3 & 1 ? 10 : 1;
		CHECK_INT(out[thread], sum);
	}
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
