/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_fixture.h"

#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0)\n{\n"                                            \
	"	.reg .pred %p<10>;\n	.reg .b32 %r<20>;\n	.reg .b64 %rd<20>;\n"                           \
	"	ld.param.u64 %rd0, [p0];\n	mov.u32 %r0, %tid.x;\n" body "	ret;\n}\n"

/* Lines are counted from PTX_HEADER's three; every body below begins at line 9. */
static const char faults[] =
	PTX_HEADER ".visible .entry bad(.param .u64 p0, .param .u64 p1)\n{\n"
		   "	.reg .b64 %rd<20>;\n	.reg .b32 %r<20>;\n	.reg .pred %p<9>;\n"
		   "	ld.param.u64 %rd0, [p0];\n"                                    /* 9 */
		   "	mov.u32 %r0, %tid.x;\n	mov.u32 %r2, %ctaid.y;\n"              /* 10, 11 */
		   "	setp.lt.u32 %p0, %r0, 37;\n	@%p0 bra END;\n"               /* 12, 13 */
		   "	mad.wide.u32 %rd1, %r0, 4, %rd0;\n"                            /* 14 */
		   "	st.global.u32 [%rd1+8], %r0;\n"                                /* 15 */
		   "END:	ret;\n}\n"                                             /* 16, 17 */
		   ".func deep(.param .u64 a)\n{\n	.reg .b64 %rd<3>;\n"           /* 18 - 20 */
		   "	ld.param.u64 %rd1, [a];\n	ld.global.u32 %rd2, [%rd1];\n" /* 21, 22 */
		   "	ret;\n}\n"                                                     /* 23, 24 */
	KERNEL("called", "	{ .param .u64 a; st.param.u64 [a], %rd0; call deep, (a); }\n")
		KERNEL("odd",
		       "	ld.global.u32 %r1, [%rd0+2];\n	st.global.u32 [%rd0], "
		       "%r1;\n") KERNEL("oddv"
					"ecto"
					"r",
					"	ld."
					"glob"
					"al."
					"v2."
					"u32 "
					"{%"
					"r1, "
					"%r2}"
					", "
					"[%"
					"rd0+"
					"4];"
					"\n"
					"	st."
					"glob"
					"al."
					"v2."
					"u32 "
					"[%"
					"rd0]"
					", "
					"{%"
					"r1, "
					"%r2}"
					";\n") KERNEL("shared",
						      "	.shared .align 4 .b8 s[16];\n	mov.u32 "
						      "%r1, s;\n"
						      "	mad.lo.u32 %r1, %r0, 4, %r1;\n	"
						      "st.shared.u32 [%r1], "
						      "%r0;\n") KERNEL("local",
								       "	.local .align 4 "
								       ".b8 s[16];\n	mov.u64 "
								       "%rd1, s;\n"
								       "	add.u64 %rd1, "
								       "%rd1, 4096;\n	"
								       "st.local.u32 [%rd1], "
								       "%r0;\n") KERNEL("atomic",
											"	red"
											".global."
											"add.u32 "
											"[%rd0], "
											"1;\n")
			KERNEL("trap", "	setp.ne.u32 %p0, %r0, 3;\n	@%p0 bra END;\n	"
				       "trap;\nEND:\n") KERNEL("breakpoint", "	brkpt;\n")
				KERNEL("wild", "	{ .param .u32 a; .param .u32 b; "
					       "st.param.u32 [a], 1;\n"
					       "	p: .callprototype (.param .u32 _) "
					       "_ (.param .u32 _);\n"
					       "	call (b), %rd0, (a), p; }\n")
					KERNEL("stuck", "	setp.ne.u32 %p0, "
							"%r0, 0;\n	@%p0 bra "
							"END;\n	bar.sync "
							"1, 64;\n"
							"END:	bar.sync "
							"0;\n") KERNEL("forever", "TOP:	bra TOP;\n")
						KERNEL("spinning",
						       "TOP:	ld.volatile.global.u32 "
						       "%r1, [%rd0];\n"
						       "	setp.eq.u32 %p0, %r1, "
						       "0;\n	@%p0 bra TOP;\n")
							KERNEL("good",
							       "	st.global.u32 "
							       "[%rd0], 5;\n") ".func "
									       "endless(."
									       "param .u64 "
									       "a)\n{\n	"
									       ".reg .b64 "
									       "%rd<3>;"
									       "\n	"
									       ".local "
									       ".align 8 "
									       ".b8 "
									       "s[64];\n"
									       "	ld."
									       "param."
									       "u64 %rd1, "
									       "[a];\n	"
									       "st.local."
									       "u64 "
									       "[s], "
									       "%rd1;\n"
									       "	{ "
									       ".param "
									       ".u64 b; "
									       "st.param."
									       "u64 "
									       "[b], %rd1; "
									       "call "
									       "endless, "
									       "(b); }\n"
									       "	ret"
									       ";\n}"
									       "\n" KERNEL("ove"
											   "rf"
											   "lo"
											   "w",
											   "	{ "
											   ".pa"
											   "ra"
											   "m "
											   ".u6"
											   "4 "
											   "a; "
											   "st."
											   "par"
											   "am"
											   ".u6"
											   "4 "
											   "[a]"
											   ", "
											   "%rd"
											   "0;"
											   " ca"
											   "ll"
											   " en"
											   "dl"
											   "ess"
											   ", "
											   "(a)"
											   "; "
											   "}"
											   "\n");

static struct sg_fault run_bad(struct device *device, struct sg_module *module, const char *name,
			       struct sg_launch launch, uint64_t parameter)
{
	struct sg_grid_result result;
	int error = device_run_with(device, module, name, launch, (uint64_t[]){parameter, 0}, 2,
				    &result);

	if (error != -EFAULT)
		TAP_FAIL("%s: error %d, not a fault", name, error);
	return result.fault;
}

TEST("an illegal address is reported with its kernel, block, thread, line and address")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_fault fault;

	device_open(&device);
	module = device_load(&device, faults);
	fault = run_bad(&device, module, "bad", (struct sg_launch){.shape.block = {38, 2, 2}},
			0x1000);
	CHECK_INT(fault.kind, SG_FAULT_ILLEGAL_ADDRESS);
	CHECK_STR(fault.function, "bad");
	CHECK_INT(fault.line, 15);
	CHECK_INT(fault.block[0], 0);
	CHECK_INT(fault.thread[0], 37);
	CHECK(fault.thread[1] < 2 && fault.thread[2] < 2);
	CHECK_INT(fault.address, 0x1000 + 37 * 4 + 8);
	fault = run_bad(&device, module, "bad", (struct sg_launch){.shape.block = {40}}, 0x2000);
	CHECK_STR(fault.text, "illegal memory access at 0x209c in kernel bad, block (0,0,0), "
			      "thread (37,0,0), line 15");
	CHECK_INT(sg_fault_code(fault.kind), 700);
	fault = run_bad(&device, module, "called", (struct sg_launch){.shape.block = {1}}, 0x3000);
	CHECK_STR(fault.function, "deep");
	CHECK_INT(fault.line, 22);
	CHECK_STR(fault.text, "illegal memory access at 0x3000 in kernel called, block (0,0,0), "
			      "thread (0,0,0), line 22 in function deep");
}

TEST("every fault has its kind, and the machine works after it")
{
	static const struct {
		const char *name;
		enum sg_fault_kind kind;
		uint32_t threads;
		int code;
		uint32_t thread;
	} rows[] = {
		{"odd", SG_FAULT_MISALIGNED, 1, 716, 0},
		{"oddvector", SG_FAULT_MISALIGNED, 1, 716, 0},
		{"shared", SG_FAULT_ILLEGAL_ADDRESS, 32, 700, 4},
		{"local", SG_FAULT_ILLEGAL_ADDRESS, 3, 700, 0},
		{"atomic", SG_FAULT_ILLEGAL_ADDRESS, 3, 700, 0},
		{"trap", SG_FAULT_TRAP, 40, 719, 3},
		{"breakpoint", SG_FAULT_BREAKPOINT, 1, 719, 0},
		{"wild", SG_FAULT_INVALID_PC, 1, 718, 0},
		{"overflow", SG_FAULT_STACK_OVERFLOW, 5, 714, 0},
		{"stuck", SG_FAULT_DEADLOCK, 40, 702, 0},
	};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint32_t *memory;

	device_open(&device);
	module = device_load(&device, faults);
	memory = device_memory(&device, 64);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_wild = !strcmp(rows[i].name, "atomic");
		struct sg_fault fault =
			run_bad(&device, module, rows[i].name,
				(struct sg_launch){.shape.block = {rows[i].threads}},
				is_wild ? 0x10 : address_of(memory));

		CHECK_INT(fault.kind, rows[i].kind);
		CHECK_INT(sg_fault_code(fault.kind), rows[i].code);
		CHECK_INT(fault.thread[0], rows[i].thread);
	}
	device_run(&device, module, "good", 1, 1, address_of(memory), 0);
	CHECK_INT(memory[0], 5);
}

TEST("a grid that takes too long ends, also if it waits")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_fault fault;
	uint32_t *memory;

	device_open_with(&device, (struct sg_machine_options){.timeout_ns = 50000000});
	module = device_load(&device, faults);
	memory = device_memory(&device, 64);
	fault = run_bad(&device, module, "forever",
			(struct sg_launch){.shape.grid = {20}, .shape.block = {64}}, 0);
	CHECK_INT(fault.kind, SG_FAULT_TIMEOUT);
	CHECK_STR(fault.text, "the launch timed out in kernel forever");
	fault = run_bad(&device, module, "spinning",
			(struct sg_launch){.shape.grid = {1000}, .shape.block = {64}},
			address_of(memory));
	CHECK_INT(fault.kind, SG_FAULT_TIMEOUT);
}

struct waiter {
	struct device *device;
	struct sg_module *module;
	uint32_t *flag;
	int error;
	struct sg_grid_result result;
};

static void *run_spinning(void *context)
{
	struct waiter *waiter = context;
	uint64_t parameters[] = {address_of(waiter->flag), 0};

	waiter->error = device_run_with(waiter->device, waiter->module, "spinning",
					(struct sg_launch){.shape.grid = {3}, .shape.block = {64}},
					parameters, 2, &waiter->result);
	return NULL;
}

TEST("a kernel sees what the host writes while it runs, and an interruption ends it")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct waiter waiter = {.device = &device};
	pthread_t thread;

	device_open(&device);
	waiter.module = module = device_load(&device, faults);
	waiter.flag = device_memory(&device, 64);
	pthread_create(&thread, NULL, run_spinning, &waiter);
	usleep(20000);
	__atomic_store_n(waiter.flag, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CHECK_INT(waiter.error, 0);
	*waiter.flag = 0;
	pthread_create(&thread, NULL, run_spinning, &waiter);
	usleep(20000);
	sg_machine_interrupt(device.machine, true);
	pthread_join(thread, NULL);
	CHECK_INT(waiter.error, -EFAULT);
	CHECK_INT(waiter.result.fault.kind, SG_FAULT_TIMEOUT);
	sg_machine_interrupt(device.machine, false);
	device_run(&device, module, "good", 1, 1, address_of(waiter.flag), 0);
}

/* ---- launches that cannot be ----------------------------------------------------------- */

TEST("a launch that no block can satisfy is rejected before it runs")
{
	static const char text[] = PTX_HEADER
		".visible .entry limited(.param .u64 p0)\n.maxntid 64, 2, 1\n{ ret; }\n"
		".visible .entry exact(.param .u64 p0)\n.reqntid 32, 2\n{ ret; }\n"
		".visible .entry big(.param .u64 p0)\n{ .shared .align 4 .b8 s[40000];\n"
		" .reg .b32 %r<2>; ld.shared.u32 %r1, [s]; st.shared.u32 [s], %r1; ret; }\n";
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_grid_result result;
	struct sg_fault fault;
	struct sg_function_info info;
	uint64_t none[] = {0, 0};

	device_open(&device);
	module = device_load(&device, text);
	fault = run_bad(&device, module, "limited", (struct sg_launch){.shape.block = {129}}, 0);
	CHECK_INT(fault.kind, SG_FAULT_OUT_OF_RESOURCES);
	CHECK_STR(fault.text, "too many resources requested for launch in kernel limited: more "
			      "threads than .maxntid");
	fault = run_bad(&device, module, "exact", (struct sg_launch){.shape.block = {64}}, 0);
	CHECK_STR(fault.text, "too many resources requested for launch in kernel exact: the "
			      "block differs from .reqntid");
	fault = run_bad(&device, module, "big",
			(struct sg_launch){.shape.block = {1}, .shape.dynamic_shared = 200000}, 0);
	CHECK_STR(fault.text, "too many resources requested for launch in kernel big: too much "
			      "shared memory");
	CHECK_INT(device_run_with(&device, module, "exact",
				  (struct sg_launch){.shape.block = {32, 2}}, none, 1, &result),
		  0);
	CHECK_INT(device_run_with(&device, module, "big", (struct sg_launch){.shape.block = {1025}},
				  none, 1, &result),
		  -EINVAL);
	CHECK_INT(device_run_with(&device, module, "big",
				  (struct sg_launch){.shape.grid = {1, 65536}, .shape.block = {1}},
				  none, 1, &result),
		  -EINVAL);
	CHECK_INT(device_run_with(&device, module, "big",
				  (struct sg_launch){.shape.grid = {3},
						     .shape.block = {1},
						     .shape.cluster = {2, 1, 1}},
				  none, 1, &result),
		  -EINVAL);
	sg_function_describe(sg_module_function(module, "limited"), &info);
	CHECK_INT(info.max_threads, 128);
	sg_function_describe(sg_module_function(module, "exact"), &info);
	CHECK_INT(info.required_block[1], 2);
	CHECK_INT(sg_function_occupancy(sg_module_function(module, "big"), 32, 0), 5);
	CHECK_INT(sg_function_occupancy(sg_module_function(module, "limited"), 256, 0), 0);
	CHECK_INT(sg_function_occupancy(sg_module_function(module, "limited"), 128, 0), 12);
}

/* ---- modules that cannot be loaded ----------------------------------------------------- */

static void check_rejected(struct device *device, const char *text, int error, const char *words)
{
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	int actual = sg_module_load_text(device->machine, text, strlen(text), &module, &diag);

	CHECK_INT(actual, error);
	CHECK_STR(diag.text, words);
	CHECK(module == NULL);
	sg_module_free(module);
}

#define BODY_HEAD                                                                                  \
	PTX_HEADER ".visible .entry k(.param .u64 p0)\n{\n"                                        \
		   "	.reg .pred %p<4>;\n	.reg .b32 %r<8>;\n	.reg .b64 %rd<8>;\n"                   \
		   "	.reg .f32 %f<4>;\n"
#define BODY_END "\n	ret;\n}\n"
#define BODY(body) BODY_HEAD body BODY_END

TEST("unsupported code is rejected when the module is loaded, with line and function")
{
	auto_device device;

	device_open(&device);
	check_rejected(&device, BODY("	wgmma.fence.sync.aligned;"), -EINVAL,
		       "line 10: opcode 'wgmma' in function 'k' is not supported by the software "
		       "device");
	check_rejected(&device, BODY("	add.u8 %r1, %r2, %r3;"), -EINVAL,
		       "line 10: 'add.u8' in function 'k' is not supported by the software device");
	check_rejected(&device, BODY("	add.sat.u32 %r1, %r2, %r3;"), -EINVAL,
		       "line 10: 'add.sat.u32' in function 'k' is not supported by the software "
		       "device");
	check_rejected(
		&device, BODY("	add.u32 %r1, %rd2, %r3;"), -EINVAL,
		"line 10: operand 2 of 'add.u32' in function 'k' is missing or has the wrong "
		"kind or size");
	check_rejected(&device, BODY("	add.u32 %r1, %r2;"), -EINVAL,
		       "line 10: 'add.u32' takes 3 operands, not 2 in function 'k'");
	check_rejected(&device, BODY("	ld.global.v4.u32 {%r1, %r2}, [%rd1];"), -EINVAL,
		       "line 10: operand 1 of 'ld.global.v4.u32' in function 'k' is missing or has "
		       "the wrong kind or size");
	check_rejected(&device, BODY("	ld.param.u64 %rd1, [p0+4];"), -EINVAL,
		       "line 10: a load is outside of the parameters in function 'k'");
	check_rejected(&device, BODY("	atom.global.inc.u64 %rd1, [%rd2], %rd3;"), -EINVAL,
		       "line 10: 'atom.global.inc.u64' in function 'k' is not supported by the "
		       "software device");
	check_rejected(
		&device, BODY("	mov.u32 %r1, %p1;"), -EINVAL,
		"line 10: operand 2 of 'mov.u32' in function 'k' is missing or has the wrong "
		"kind or size");
	check_rejected(&device,
		       PTX_HEADER ".extern .func (.param .u32 r) elsewhere(.param .u32 a);\n"
				  ".visible .entry k()\n{ .param .u32 a; .param .u32 r;\n"
				  "	call (r), elsewhere, (a);\n	ret;\n}\n",
		       -ENOENT,
		       "line 7: function 'elsewhere', used in function 'k', is not defined");
	check_rejected(&device,
		       PTX_HEADER ".extern .global .u32 far;\n.visible .entry k()\n"
				  "{ .reg .b32 %r<2>;\n	ld.global.u32 %r1, [far];\n	ret;\n}\n",
		       -ENOENT, "line 7: variable 'far', used in function 'k', is not defined");
	check_rejected(&device, ".version 7.0\n.target sm_75\n.address_size 32\n", -EINVAL,
		       "addresses of 32 bits are not supported by the software device "
		       "(.address_size 32)");
}

TEST("an immediate of another kind than its operand is rejected, as by ptxas")
{
	static const char *const rejected[] = {
		"mov.f32 %f1, 1;",           "add.f32 %f1, %f1, WARP_SZ;",
		"mov.u32 %r1, 1.5;",         "mov.b32 %r1, 1.5;",
		"mov.b64 %rd1, 0f3F800000;", "st.global.f32 [%rd1], 1;",
		"setp.eq.f32 %p1, %f1, 0;",  "shl.b32 %r1, %r1, 1.5;",
	};
	static const char *const accepted[] = {
		"mov.b32 %r1, 0f3F800000;",
		"mov.b64 %rd1, 1.5;",
		"mov.f32 %f1, 0d3FF0000000000000;",
		"cvt.rn.f32.s32 %f1, 5;",
	};
	auto_device device;

	device_open(&device);
	for (size_t i = 0; i < gt_countof(rejected) + gt_countof(accepted); i++) {
		bool is_rejected = i < gt_countof(rejected);
		const char *body = is_rejected ? rejected[i] : accepted[i - gt_countof(rejected)];
		struct sg_module *module = NULL;
		struct gt_diag diag = {0};
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s", BODY_HEAD, body, BODY_END);
		if (!is_rejected)
			remember_text(text);
		if (sg_module_load_text(device.machine, text, strlen(text), &module, &diag) !=
		    (is_rejected ? -EINVAL : 0))
			TAP_FAIL("%s: %s", body, module ? "is accepted" : diag.text);
		sg_module_free(module);
	}
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
