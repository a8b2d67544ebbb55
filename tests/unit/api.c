/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>

#include "api/value.h"
#include "tap.h"

/* A record being built: what a probe would write on this machine. */
struct built {
	union {
		struct gt_event_call call;
		uint64_t space[128];
	};
	const struct gt_api_function *function;
	struct gt_api_layout layout;
	uint64_t copies[GT_PLAN_MAX_COPIES][GT_PLAN_MAX_COPIED];
};

static const struct gt_api_function *row(const char *name)
{
	int number = gt_api_find(name);

	if (number < 0) {
		TAP_FAIL("no row for %s", name);
		number = 0;
	}
	return gt_api_function((unsigned)number);
}

static struct built begin(const char *name)
{
	struct built built = {.function = row(name)};

	gt_api_lay_out(built.function, GT_MACHINE_HERE, &built.layout);
	built.call.head.kind = GT_EVENT_enter;
	built.call.slots = (__u8)(built.layout.plan.registers + built.layout.plan.stack);
	for (unsigned i = 0; i < built.call.slots; i++)
		built.call.words[i] =
			0xdddddddddddddddd; /* what registers carry that are not set */
	return built;
}

static unsigned argument_of(const struct built *built, const char *name)
{
	for (unsigned i = 0; i < built->function->argument_count; i++)
		if (!strcmp(built->function->arguments[i].name, name))
			return i;
	TAP_FAIL("%s has no argument %s", built->function->name, name);
	return 0;
}

/* An argument that is passed; what is shorter than its slots leaves the rest as it was. */
static void pass_bytes(struct built *built, const char *name, const void *data, size_t size)
{
	const struct gt_api_place *place = &built->layout.places[argument_of(built, name)];

	if (place->reference) {
		memcpy(built->copies[place->copy], data, size);
		built->call.copied |= (__u8)(1u << place->copy);
	} else {
		memcpy(&built->call.words[place->slot], data, size);
	}
}

static void pass(struct built *built, const char *name, uint64_t value)
{
	const struct gt_api_type *type = built->function->arguments[argument_of(built, name)].type;

	pass_bytes(built, name, &value, type->size);
}

/* Memory behind an argument. */
static void point(struct built *built, const char *name, const void *data, size_t size)
{
	const struct gt_api_place *place = &built->layout.places[argument_of(built, name)];

	if (place->copy < 0) {
		TAP_FAIL("%s is not copied", name);
		return;
	}
	memcpy(built->copies[place->copy], data, size);
	built->call.copied |= (__u8)(1u << place->copy);
}

static void back(struct built *built, uint64_t result)
{
	built->call.head.kind = GT_EVENT_call;
	built->call.result = result;
}

/* Puts the copies behind the slots and says how long the record is. */
static const struct gt_event_call *finish(struct built *built)
{
	unsigned words = built->call.slots;

	for (unsigned i = 0; i < built->layout.plan.copies; i++) {
		unsigned count = (built->layout.plan.copy[i].bytes + 7u) / 8;

		if (!(built->call.copied & 1u << i))
			continue;
		memcpy(&built->call.words[words], built->copies[i], count * 8);
		words += count;
	}
	built->call.head.size = (__u16)(sizeof(built->call) + words * 8);
	return &built->call;
}

static char text[4096];

static const char *keep(struct gt_strbuf *buffer)
{
	snprintf(text, sizeof(text), "%s", gt_strbuf_string(buffer));
	return text;
}

static const char *details(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_api_format_details(&buffer, built->function, finish(built),
			      built->call.head.kind == GT_EVENT_enter);
	return keep(&buffer);
}

static const char *arguments(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_api_format_arguments(&buffer, built->function, finish(built));
	return keep(&buffer);
}

static const char *json(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&buffer);

	gt_api_json_arguments(&writer, NULL, built->function, finish(built));
	return keep(&buffer);
}

static const char *result(const char *name, uint64_t value, bool in_short)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_api_format_result(&buffer, row(name), value, in_short);
	return keep(&buffer);
}

/* --- rows ------------------------------------------------------------------------------- */

TEST("each row is found by its name, with its own number")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		if (gt_api_find(gt_api_function(i)->name) != (int)i)
			TAP_FAIL("%s is found as %d, not %u", gt_api_function(i)->name,
				 gt_api_find(gt_api_function(i)->name), i);
	CHECK(gt_api_count() > 900);
}

TEST("the rows of a library are sorted by name")
{
	for (unsigned i = 1; i < gt_api_count(); i++) {
		const struct gt_api_function *a = gt_api_function(i - 1), *b = gt_api_function(i);

		if (!strcmp(a->library, b->library) && strcmp(a->name, b->name) >= 0)
			TAP_FAIL("%s stands before %s", a->name, b->name);
	}
}

TEST("a number that is no row is nothing")
{
	CHECK(gt_api_function(gt_api_count()) == NULL);
	CHECK(gt_api_function(UINT32_MAX) == NULL);
}

TEST("a per-thread-default-stream twin is its function")
{
	CHECK_INT(gt_api_find("cudaMemcpyAsync_ptsz"), gt_api_find("cudaMemcpyAsync"));
	CHECK_INT(gt_api_find("cudaMemcpy_ptds"), gt_api_find("cudaMemcpy"));
	CHECK_INT(gt_api_find("__cudaLaunchKernel_ptsz"), gt_api_find("__cudaLaunchKernel"));
	CHECK_INT(gt_api_find("cuMemcpyHtoD_v2_ptds"), gt_api_find("cuMemcpyHtoD_v2"));
	CHECK(gt_api_find("cuMemcpyHtoD_v2") != gt_api_find("cuMemcpyHtoD"));
}

TEST("a name that is none of ours is refused")
{
	static const char *const names[] = {"",      "cuda",   "cudaMallo", "cudaMallocX",
					    "_ptsz", "malloc", "zzz",       "cudaMalloc_ptsz_ptsz",
					    "cu",    "__cuda", "cudaFree_"};

	for (size_t i = 0; i < gt_countof(names); i++)
		if (gt_api_find(names[i]) != -ENOENT)
			TAP_FAIL("\"%s\" is found as %d", names[i], gt_api_find(names[i]));
}

TEST("each meaning that a row has, has a name")
{
	CHECK_STR(gt_api_meaning_name(GT_MEANS_ALLOC), "alloc");
	CHECK_STR(gt_api_meaning_name(GT_MEANS_MEMORY), "memory");
	CHECK_STR(gt_api_meaning_name((enum gt_api_meaning)1000), "unknown");
	for (unsigned i = 0; i < gt_api_count(); i++)
		CHECK(strcmp(gt_api_meaning_name(gt_api_function(i)->meaning), "unknown"));
	for (unsigned i = 0; i < GT_MEANS_COUNT; i++)
		CHECK(gt_api_meaning_name((enum gt_api_meaning)i) != NULL);
}

TEST("the main functions mean what they do")
{
	static const struct {
		const char *name;
		enum gt_api_meaning meaning;
	} rows[] = {
		{"cudaMalloc", GT_MEANS_ALLOC},
		{"cudaMallocManaged", GT_MEANS_ALLOC},
		{"cudaHostAlloc", GT_MEANS_ALLOC},
		{"cudaMallocAsync", GT_MEANS_ALLOC},
		{"cuMemAlloc_v2", GT_MEANS_ALLOC},
		{"cuMemCreate", GT_MEANS_ALLOC},
		{"cuArray3DCreate_v2", GT_MEANS_ALLOC},
		{"cudaFree", GT_MEANS_FREE},
		{"cudaFreeHost", GT_MEANS_FREE},
		{"cuMemFree_v2", GT_MEANS_FREE},
		{"cuMemRelease", GT_MEANS_FREE},
		{"cudaMemcpy3DPeerAsync", GT_MEANS_COPY},
		{"cuMemcpyDtoHAsync_v2", GT_MEANS_COPY},
		{"cudaMemset", GT_MEANS_SET},
		{"cuMemsetD32_v2", GT_MEANS_SET},
		{"cudaLaunchKernel", GT_MEANS_LAUNCH},
		{"__cudaLaunchKernel", GT_MEANS_LAUNCH},
		{"cudaLaunchKernelExC", GT_MEANS_LAUNCH},
		{"cudaLaunchCooperativeKernel", GT_MEANS_LAUNCH},
		{"cuLaunch", GT_MEANS_LAUNCH},
		{"cuLaunchKernel", GT_MEANS_LAUNCH},
		{"cuLaunchKernelEx", GT_MEANS_LAUNCH},
		{"cudaGraphLaunch", GT_MEANS_LAUNCH},
		{"cuGraphLaunch", GT_MEANS_LAUNCH},
		{"cudaLaunchHostFunc", GT_MEANS_STREAM},
		{"cuLaunchHostFunc", GT_MEANS_STREAM},
		{"cudaStreamWaitEvent", GT_MEANS_STREAM},
		{"cudaStreamSynchronize", GT_MEANS_SYNC},
		{"cudaDeviceSynchronize", GT_MEANS_SYNC},
		{"cuCtxSynchronize", GT_MEANS_SYNC},
		{"cudaEventRecord", GT_MEANS_EVENT},
		{"cuEventElapsedTime_v2", GT_MEANS_EVENT},
		{"cudaGraphAddKernelNode", GT_MEANS_GRAPH},
		{"cudaStreamBeginCapture", GT_MEANS_GRAPH},
		{"cudaSetDevice", GT_MEANS_DEVICE},
		{"cuDeviceGet", GT_MEANS_DEVICE},
		{"cuCtxCreate_v4", GT_MEANS_CONTEXT},
		{"cudaDeviceReset", GT_MEANS_CONTEXT},
		{"cuModuleLoadData", GT_MEANS_MODULE},
		{"cuLibraryLoadData", GT_MEANS_MODULE},
		{"cudaLibraryGetKernel", GT_MEANS_MODULE},
		{"cuMemMap", GT_MEANS_MEMORY},
		{"cudaHostRegister", GT_MEANS_MEMORY},
		{"cudaGetLastError", GT_MEANS_NOTHING},
		{"__cudaPushCallConfiguration", GT_MEANS_NOTHING},
		{"__cudaRegisterFunction", GT_MEANS_NOTHING},
		{"cudaGraphicsMapResources", GT_MEANS_NOTHING},
	};

	for (size_t i = 0; i < gt_countof(rows); i++)
		if (row(rows[i].name)->meaning != rows[i].meaning)
			TAP_FAIL("%s means %s, not %s", rows[i].name,
				 gt_api_meaning_name(row(rows[i].name)->meaning),
				 gt_api_meaning_name(rows[i].meaning));
}

TEST("every allocation gives back an address or a handle, every free takes one")
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		const struct gt_api_function *function = gt_api_function(i);
		bool found = false;

		for (unsigned j = 0; j < function->argument_count; j++) {
			enum gt_api_role role = function->arguments[j].role;

			if (function->meaning == GT_MEANS_ALLOC)
				found |= role == GT_ROLE_OUT;
			else
				found |= role == GT_ROLE_DEVICE_POINTER ||
					 role == GT_ROLE_HOST_POINTER || role == GT_ROLE_HANDLE;
		}
		if (!found &&
		    (function->meaning == GT_MEANS_ALLOC || function->meaning == GT_MEANS_FREE))
			TAP_FAIL("%s does not", function->name);
	}
}

TEST("a library's file name says which API it has")
{
	CHECK_STR(gt_api_library_of("libcudart.so.13.0.96"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart.so.12"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart.so"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart-d0da41ae.so.11.0"), "cudart");
	CHECK_STR(gt_api_library_of("/usr/lib/x86_64-linux-gnu/libcuda.so.1"), "cuda");
	CHECK_STR(gt_api_library_of("libcuda.so.580.65"), "cuda");
	CHECK(gt_api_library_of("libcudart_static.a") == NULL);
	CHECK(gt_api_library_of("libcudadebugger.so.1") == NULL);
	CHECK(gt_api_library_of("libcuda.sock") == NULL);
	CHECK(gt_api_library_of("libcudart") == NULL);
	CHECK(gt_api_library_of("vectoradd") == NULL);
	CHECK(gt_api_library_of("") == NULL);
	CHECK(gt_api_library_of("libcuda.so.1/x") == NULL);
}

/* --- plans ------------------------------------------------------------------------------ */

static void check_plan(const struct gt_api_function *function, const struct gt_plan *plan)
{
	unsigned words = 0, slots = plan->registers + plan->stack;

	if (plan->registers > GT_PLAN_MAX_REGISTERS || plan->stack > GT_PLAN_MAX_STACK ||
	    slots > GT_PLAN_MAX_SLOTS || plan->copies > GT_PLAN_MAX_COPIES)
		TAP_FAIL("%s: %u registers, %u stack words, %u copies", function->name,
			 plan->registers, plan->stack, plan->copies);
	for (unsigned i = 0; i < plan->copies; i++) {
		if (!plan->copy[i].bytes || plan->copy[i].slot >= slots)
			TAP_FAIL("%s: copy %u of %u bytes behind slot %u", function->name, i,
				 plan->copy[i].bytes, plan->copy[i].slot);
		if (i && plan->copy[i - 1].when > plan->copy[i].when)
			TAP_FAIL("%s: a copy at success stands before one at entry",
				 function->name);
		words += (plan->copy[i].bytes + 7u) / 8;
	}
	if (words > GT_PLAN_MAX_COPIED)
		TAP_FAIL("%s: %u words are copied", function->name, words);
}

TEST("the plan of each row keeps to the limits, on both machines")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_layout layout;

			gt_api_lay_out(gt_api_function(i), (enum gt_machine)machine, &layout);
			check_plan(gt_api_function(i), &layout.plan);
		}
}

TEST("every argument but a float is captured, on both machines")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			const struct gt_api_function *function = gt_api_function(i);
			struct gt_api_layout layout;

			gt_api_lay_out(function, (enum gt_machine)machine, &layout);
			for (unsigned j = 0; j < function->argument_count; j++) {
				bool is_float = function->arguments[j].type->kind == GT_KIND_FLOAT;

				if ((layout.places[j].slot < 0) != is_float)
					TAP_FAIL("%s: %s is in slot %d", function->name,
						 function->arguments[j].name,
						 layout.places[j].slot);
			}
		}
}

static struct gt_api_layout laid_out(const char *name, enum gt_machine machine)
{
	struct gt_api_layout layout;

	gt_api_lay_out(row(name), machine, &layout);
	return layout;
}

static void check_slots(const char *name, enum gt_machine machine, unsigned registers,
			unsigned stack, const int *slots)
{
	struct gt_api_layout layout = laid_out(name, machine);

	if (layout.plan.registers != registers || layout.plan.stack != stack)
		TAP_FAIL("%s: %u registers and %u stack words", name, layout.plan.registers,
			 layout.plan.stack);
	for (unsigned i = 0; i < row(name)->argument_count; i++)
		if (layout.places[i].slot != slots[i])
			TAP_FAIL("%s: %s is in slot %d, not %d", name, row(name)->arguments[i].name,
				 layout.places[i].slot, slots[i]);
}

TEST("a runtime launch takes six registers and two stack words on x86-64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_X86_64, 6, 2, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a runtime launch takes eight registers on aarch64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_AARCH64, 8, 0, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a driver launch has its last arguments on the stack, on both machines")
{
	static const int slots[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

	check_slots("cuLaunchKernel", GT_MACHINE_X86_64, 6, 5, slots);
	check_slots("cuLaunchKernel", GT_MACHINE_AARCH64, 8, 3, slots);
}

TEST("a structure over 16 bytes is on the stack on x86-64, later arguments keep registers")
{
	/* pitchedDevPtr (32 bytes), value, extent (24 bytes), stream */
	check_slots("cudaMemset3DAsync", GT_MACHINE_X86_64, 2, 7, (int[]){2, 0, 6, 1});
}

TEST("a structure over 16 bytes is copied from where its reference points on aarch64")
{
	struct gt_api_layout layout = laid_out("cudaMemset3DAsync", GT_MACHINE_AARCH64);

	check_slots("cudaMemset3DAsync", GT_MACHINE_AARCH64, 4, 0, (int[]){0, 1, 2, 3});
	CHECK(layout.places[0].reference && layout.places[2].reference);
	CHECK_INT(layout.plan.copies, 2);
	CHECK_INT(layout.plan.copy[0].bytes, 32);
	CHECK_INT(layout.plan.copy[1].bytes, 24);
	CHECK_INT(layout.plan.copy[1].when, GT_COPY_AT_ENTRY);
}

TEST("a structure that finds too few registers goes to the stack as a whole")
{
	const struct gt_api_argument *launch = row("cudaLaunchKernel")->arguments;
	struct gt_api_argument list[] = {launch[4], launch[1], launch[1],
					 launch[1], launch[1], launch[4]};
	struct gt_api_function function = *row("cudaLaunchKernel");
	struct gt_api_layout layout;

	function.arguments = list;
	function.argument_count = gt_countof(list);
	gt_api_lay_out(&function, GT_MACHINE_X86_64, &layout);
	CHECK_INT(layout.places[2].slot, 3);
	CHECK_INT(layout.places[3].slot, 6);
	CHECK_INT(layout.places[4].slot, 8);
	CHECK_INT(layout.places[5].slot, 5); /* the register that was left */
	gt_api_lay_out(&function, GT_MACHINE_AARCH64, &layout);
	CHECK_INT(layout.places[3].slot, 5);
	CHECK_INT(layout.places[4].slot, 7);
	CHECK_INT(layout.places[5].slot, 9); /* registers were closed */
	CHECK_INT(layout.plan.registers, 7);
	CHECK_INT(layout.plan.stack, 3);
}

TEST("a structure given back takes the first argument register on x86-64 only")
{
	check_slots("cudaCreateChannelDesc", GT_MACHINE_X86_64, 6, 0, (int[]){1, 2, 3, 4, 5});
	check_slots("cudaCreateChannelDesc", GT_MACHINE_AARCH64, 5, 0, (int[]){0, 1, 2, 3, 4});
}

TEST("what a call gives back is copied at success, in its own size")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaMallocPitch"), &plan);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_SUCCESS);
	CHECK_INT(plan.copy[0].bytes, 8);
	CHECK_INT(plan.copy[1].slot, 1);
	gt_api_plan(row("cudaGetDevice"), &plan);
	CHECK_INT(plan.copy[0].bytes, 4);
	CHECK_INT(plan.error_result, 1);
	gt_api_plan(row("__cudaPushCallConfiguration"), &plan);
	CHECK_INT(plan.error_result, 0);
	gt_api_plan(row("cudaGetLastError"), &plan);
	CHECK_INT(plan.error_result, 0);
}

TEST("a handle given back is kept when big structures are read, too")
{
	struct gt_api_layout layout = laid_out("cudaCreateTextureObject", GT_MACHINE_X86_64);

	CHECK(layout.places[0].copy >= 0);
	CHECK_INT(layout.plan.copy[layout.places[0].copy].when, GT_COPY_AT_SUCCESS);
}

TEST("structures that a call reads are copied at entry")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaLaunchKernelExC"), &plan);
	CHECK_INT(plan.copies, 1);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_ENTRY);
	CHECK_INT(plan.copy[0].slot, 0);
	CHECK_INT(plan.copy[0].bytes, 56);
	gt_api_plan(row("cudaMemcpy3D"), &plan);
	CHECK_INT(plan.copy[0].bytes, 160);
	gt_api_plan(row("cuMemcpy2D_v2"), &plan);
	CHECK_INT(plan.copy[0].bytes, 128);
}

/* --- results ---------------------------------------------------------------------------- */

TEST("results have the names of the headers, and short ones")
{
	CHECK_STR(result("cudaMalloc", 0, true), "Success");
	CHECK_STR(result("cudaMalloc", 0, false), "cudaSuccess");
	CHECK_STR(result("cudaMalloc", 2, true), "MemoryAllocation");
	CHECK_STR(result("cudaMalloc", 2, false), "cudaErrorMemoryAllocation");
	CHECK_STR(result("cudaMalloc", 35, true), "InsufficientDriver");
	CHECK_STR(result("cuMemAlloc_v2", 0, true), "Success");
	CHECK_STR(result("cuMemAlloc_v2", 0, false), "CUDA_SUCCESS");
	CHECK_STR(result("cuMemAlloc_v2", 2, true), "OUT_OF_MEMORY");
	CHECK_STR(result("cuMemAlloc_v2", 2, false), "CUDA_ERROR_OUT_OF_MEMORY");
	CHECK_STR(result("cuMemAlloc_v2", 700, true), "ILLEGAL_ADDRESS");
}

TEST("a result is 32 bits wide: what stands above it does not count")
{
	CHECK_STR(result("cudaMalloc", 0xffffffff00000000, true), "Success");
	CHECK(!gt_api_failed(row("cudaMalloc"), 0xffffffff00000000));
	CHECK(gt_api_failed(row("cudaMalloc"), 0xffffffff00000002));
}

TEST("an unknown error is its number")
{
	CHECK_STR(result("cudaMalloc", 12345, true), "error 12345");
	CHECK_STR(result("cuInit", 4294967295, false), "error 4294967295");
}

TEST("results that are no errors are numbers, addresses or void")
{
	CHECK_STR(result("__cudaPushCallConfiguration", 0xdddddddd00000001, true), "1");
	CHECK_STR(result("__cudaRegisterFatBinary", 0x7f0000001000, true), "0x7f0000001000");
	CHECK_STR(result("__cudaRegisterFunction", 77, true), "void");
	CHECK_STR(result("cudaGetErrorString", 0x400000, false), "0x400000");
}

TEST("only errors are failures, and not being ready is none")
{
	CHECK(!gt_api_failed(row("cudaStreamQuery"), 0));
	CHECK(!gt_api_failed(row("cudaStreamQuery"), 600));
	CHECK(gt_api_failed(row("cudaStreamQuery"), 700));
	CHECK(!gt_api_failed(row("cuEventQuery"), 600));
	CHECK(gt_api_failed(row("cuEventQuery"), 1));
	CHECK(!gt_api_failed(row("__cudaRegisterFatBinary"), 0x7f0000001000));
	CHECK(!gt_api_failed(row("__cudaPushCallConfiguration"), 1));
}

TEST("a call that reports the last error has not failed itself")
{
	CHECK(!gt_api_failed(row("cudaGetLastError"), 2));
	CHECK_STR(result("cudaGetLastError", 2, true), "MemoryAllocation");
	CHECK_STR(result("cudaPeekAtLastError", 2, false), "cudaErrorMemoryAllocation");
}

/* --- the runtime's functions ------------------------------------------------------------ */

TEST("cudaMalloc shows its size, then its result and what it gave back")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "devPtr", 0x7ffc00001000);
	pass(&call, "size", 4000);
	CHECK_STR(details(&call), "size=4000 bytes");
	CHECK_STR(arguments(&call), "size=4000 bytes");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=Success devPtr=0x7f1234568000");
	CHECK_STR(arguments(&call), "devPtr=0x7f1234568000, size=4000 bytes");
	CHECK_STR(json(&call), "{\"devPtr\":\"0x7f1234568000\",\"size\":4000}");
}

TEST("a failed cudaMalloc gives nothing back, whatever the record holds")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 2);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=MemoryAllocation");
	CHECK_STR(arguments(&call), "size=4000 bytes");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
}

TEST("a call that was left is unfinished and has no result")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	call.call.state = GT_CALL_UNFINISHED;
	CHECK_STR(details(&call), "unfinished");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
}

TEST("cudaMallocPitch shows the pitch that it chose")
{
	struct built call = begin("cudaMallocPitch");
	uint64_t pointer = 0x7f1234568000, pitch = 512;

	pass(&call, "width", 400);
	pass(&call, "height", 10);
	CHECK_STR(details(&call), "width=400 bytes height=10");
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	point(&call, "pitch", &pitch, sizeof(pitch));
	CHECK_STR(details(&call), "returned=Success devPtr=0x7f1234568000 pitch=512");
}

TEST("cudaMalloc3D takes its extent by value and gives a pitched pointer back")
{
	struct built call = begin("cudaMalloc3D");
	uint64_t extent[] = {64, 32, 2}, pitched[] = {0x7f1234568000, 512, 64, 32}, bytes;

	pass_bytes(&call, "extent", extent, sizeof(extent));
	CHECK_STR(details(&call), "extent=64x32x2");
	CHECK(gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(bytes, 64 * 32 * 2);
	back(&call, 0);
	point(&call, "pitchedDevPtr", pitched, sizeof(pitched));
	CHECK_STR(json(&call), "{\"pitchedDevPtr\":{\"ptr\":\"0x7f1234568000\",\"pitch\":512,"
			       "\"xsize\":64,\"ysize\":32},"
			       "\"extent\":{\"width\":64,\"height\":32,\"depth\":2}}");
}

TEST("cudaHostAlloc and cudaMallocManaged show their flags by name")
{
	struct built host = begin("cudaHostAlloc"), managed = begin("cudaMallocManaged");

	pass(&host, "size", 16);
	pass(&host, "flags", 5);
	CHECK_STR(details(&host),
		  "size=16 bytes flags=cudaHostAllocPortable|cudaHostAllocWriteCombined");
	pass(&host, "flags", 0);
	CHECK_STR(details(&host), "size=16 bytes flags=cudaHostAllocDefault");
	pass(&host, "flags", 0x1001);
	CHECK_STR(details(&host), "size=16 bytes flags=cudaHostAllocPortable|0x1000");
	pass(&managed, "size", 16);
	pass(&managed, "flags", 1);
	CHECK_STR(json(&managed),
		  "{\"devPtr\":null,\"size\":16,\"flags\":\"cudaMemAttachGlobal\"}");
}

TEST("cudaFree shows the address")
{
	struct built call = begin("cudaFree"), later = begin("cudaFreeAsync");

	pass(&call, "devPtr", 0x7f1234568000);
	CHECK_STR(details(&call), "ptr=0x7f1234568000");
	CHECK_STR(arguments(&call), "devPtr=0x7f1234568000");
	CHECK_STR(json(&call), "{\"devPtr\":\"0x7f1234568000\"}");
	back(&call, 0);
	CHECK_STR(details(&call), "returned=Success");
	pass(&later, "devPtr", 0x7f1234568000);
	pass(&later, "hStream", 0x55aa00);
	CHECK_STR(details(&later), "ptr=0x7f1234568000 stream=0x55aa00");
}

TEST("cudaMemcpy shows its size and its direction in short")
{
	static const char *const kinds[] = {"H2H", "H2D", "D2H", "D2D", "default"};

	for (unsigned kind = 0; kind < gt_countof(kinds); kind++) {
		struct built call = begin("cudaMemcpy");
		char expected[64];

		pass(&call, "dst", 0x7f1234568000);
		pass(&call, "src", 0x55aa00001000);
		pass(&call, "count", 4000);
		pass(&call, "kind", kind);
		snprintf(expected, sizeof(expected), "size=4000 bytes kind=%s", kinds[kind]);
		CHECK_STR(details(&call), expected);
		snprintf(expected, sizeof(expected), "%u", kind);
		CHECK_INT(gt_api_direction(call.function, finish(&call)), kind);
	}
}

TEST("a copy's arguments have the names of the header")
{
	struct built call = begin("cudaMemcpyAsync");

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "count", 4000);
	pass(&call, "kind", 1);
	pass(&call, "stream", 0);
	CHECK_STR(details(&call), "size=4000 bytes kind=H2D stream=0x0");
	CHECK_STR(arguments(&call), "dst=0x7f1234568000, src=0x55aa00001000, count=4000 bytes, "
				    "kind=H2D, stream=0x0");
	CHECK_STR(json(&call), "{\"dst\":\"0x7f1234568000\",\"src\":\"0x55aa00001000\","
			       "\"count\":4000,\"kind\":\"H2D\",\"stream\":\"0x0\"}");
}

TEST("a direction that does not exist is its number")
{
	struct built call = begin("cudaMemcpy");

	pass(&call, "dst", 1);
	pass(&call, "src", 2);
	pass(&call, "count", 3);
	pass(&call, "kind", 77);
	CHECK_STR(details(&call), "size=3 bytes kind=77");
	CHECK_STR(json(&call), "{\"dst\":\"0x1\",\"src\":\"0x2\",\"count\":3,\"kind\":77}");
	CHECK_INT(gt_api_direction(call.function, finish(&call)), -1);
}

TEST("cudaMemcpy2D's bytes are its width times its height")
{
	struct built call = begin("cudaMemcpy2D");
	uint64_t bytes;

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "dpitch", 512);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "spitch", 400);
	pass(&call, "width", 400);
	pass(&call, "height", 10);
	pass(&call, "kind", 2);
	CHECK_STR(details(&call), "width=400 bytes height=10 kind=D2H");
	CHECK(gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(bytes, 4000);
}

TEST("cudaMemcpyToSymbol shows size and direction")
{
	struct built call = begin("cudaMemcpyToSymbol");

	pass(&call, "symbol", 0x404040);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "count", 64);
	pass(&call, "offset", 0);
	pass(&call, "kind", 1);
	CHECK_STR(details(&call), "size=64 bytes kind=H2D");
}

TEST("cudaMemcpyPeer goes from device to device")
{
	struct built call = begin("cudaMemcpyPeer");

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "dstDevice", 1);
	pass(&call, "src", 0x7f2234568000);
	pass(&call, "srcDevice", 0);
	pass(&call, "count", 64);
	CHECK_STR(details(&call), "size=64 bytes kind=D2D");
	CHECK_INT(gt_api_direction(call.function, finish(&call)), 3);
}

/* struct cudaMemcpy3DParms as the runtime reads it. */
struct parms3d {
	uint64_t source_array, source_position[3], source[4];
	uint64_t target_array, target_position[3], target[4];
	uint64_t extent[3];
	uint32_t kind, padding;
};

TEST("cudaMemcpy3D shows the extent and the kind that its structure holds")
{
	struct built call = begin("cudaMemcpy3D");
	struct parms3d parms = {.source = {0x55aa00001000, 64, 64, 32},
				.target = {0x7f1234568000, 512, 64, 32},
				.extent = {64, 32, 2},
				.kind = 1};
	uint64_t bytes;

	pass(&call, "p", 0x7ffc00002000);
	CHECK_STR(details(&call), "p=0x7ffc00002000");
	CHECK_INT(gt_api_direction(call.function, finish(&call)), -1);
	CHECK(!gt_api_bytes(call.function, finish(&call), &bytes));
	point(&call, "p", &parms, sizeof(parms));
	CHECK_STR(details(&call), "extent=64x32x2 kind=H2D");
	CHECK_INT(gt_api_direction(call.function, finish(&call)), 1);
	CHECK(gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(bytes, 4096);
	CHECK_STR(json(&call),
		  "{\"p\":{\"srcArray\":\"0x0\",\"srcPos\":[0,0,0],\"srcPtr\":{\"ptr\":"
		  "\"0x55aa00001000\",\"pitch\":64,\"xsize\":64,\"ysize\":32},\"dstArray\":\"0x0\","
		  "\"dstPos\":[0,0,0],\"dstPtr\":{\"ptr\":\"0x7f1234568000\",\"pitch\":512,"
		  "\"xsize\":64,\"ysize\":32},\"extent\":{\"width\":64,\"height\":32,\"depth\":2},"
		  "\"kind\":\"H2D\"}}");
	parms.target_array = 0x55bb00;
	point(&call, "p", &parms, sizeof(parms));
	CHECK(!gt_api_bytes(call.function, finish(&call), &bytes)); /* elements, not bytes */
}

TEST("cudaMemset shows address, value and size")
{
	struct built call = begin("cudaMemset"), big = begin("cudaMemset3D");
	uint64_t pitched[] = {0x7f1234568000, 512, 64, 32}, extent[] = {64, 32, 2}, bytes;

	pass(&call, "devPtr", 0x7f1234568000);
	pass(&call, "value", (uint32_t)-1);
	pass(&call, "count", 4096);
	CHECK_STR(details(&call), "ptr=0x7f1234568000 value=-1 size=4096 bytes");
	pass_bytes(&big, "pitchedDevPtr", pitched, sizeof(pitched));
	pass(&big, "value", 0);
	pass_bytes(&big, "extent", extent, sizeof(extent));
	CHECK_STR(details(&big), "ptr=0x7f1234568000 value=0 extent=64x32x2");
	CHECK(gt_api_bytes(big.function, finish(&big), &bytes));
	CHECK_INT(bytes, 4096);
}

static void pass_launch(struct built *call)
{
	pass_bytes(call, "gridDim", (uint32_t[]){4, 1, 1}, 12);
	pass_bytes(call, "blockDim", (uint32_t[]){256, 2, 1}, 12);
	pass(call, "args", 0x7ffc00003000);
	pass(call, "sharedMem", 1024);
	pass(call, "stream", 0);
}

TEST("a launch shows function, grid, block, shared memory and stream")
{
	struct built call = begin("cudaLaunchKernel");

	pass(&call, "func", 0x401136);
	pass_launch(&call);
	CHECK_STR(details(&call), "func=0x401136 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
	CHECK_STR(arguments(&call), "func=0x401136, gridDim=4x1x1, blockDim=256x2x1, "
				    "args=0x7ffc00003000, sharedMem=1024, stream=0x0");
	CHECK_STR(json(&call),
		  "{\"func\":\"0x401136\",\"gridDim\":[4,1,1],\"blockDim\":[256,2,1],"
		  "\"args\":\"0x7ffc00003000\",\"sharedMem\":1024,\"stream\":\"0x0\"}");
	back(&call, 9);
	CHECK_STR(details(&call), "returned=InvalidConfiguration");
}

TEST("CUDA 13's launch and the cooperative one look the same")
{
	struct built thirteen = begin("__cudaLaunchKernel_ptsz");
	struct built cooperative = begin("cudaLaunchCooperativeKernel");

	pass(&thirteen, "kernel", 0x55cc00);
	pass_launch(&thirteen);
	CHECK_STR(details(&thirteen),
		  "func=0x55cc00 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
	pass(&cooperative, "func", 0x401136);
	pass_launch(&cooperative);
	CHECK_STR(details(&cooperative),
		  "func=0x401136 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
}

/* cudaLaunchConfig_t, and CUlaunchConfig with its names. */
struct launch_config {
	uint32_t grid[3], block[3];
	uint64_t shared, stream, attributes;
	uint32_t count, padding;
};

TEST("an extended launch shows what its configuration holds")
{
	struct built runtime = begin("cudaLaunchKernelExC"), driver = begin("cuLaunchKernelEx");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	pass(&runtime, "config", 0x7ffc00004000);
	pass(&runtime, "func", 0x401136);
	pass(&runtime, "args", 0x7ffc00003000);
	CHECK_STR(details(&runtime), "config=0x7ffc00004000 func=0x401136");
	point(&runtime, "config", &config, sizeof(config));
	CHECK_STR(details(&runtime),
		  "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=0x401136");
	pass(&driver, "config", 0x7ffc00004000);
	pass(&driver, "f", 0x55cc00);
	point(&driver, "config", &config, sizeof(config));
	CHECK_STR(details(&driver),
		  "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=0x55cc00");
}

TEST("streams and events are shown by handle, flags by name")
{
	struct built stream = begin("cudaStreamCreateWithFlags");
	struct built event = begin("cudaEventCreateWithFlags");
	struct built wait = begin("cudaStreamWaitEvent"), time = begin("cudaEventElapsedTime");
	uint64_t handle = 0x55aa00;
	float ms = 1.5f;

	pass(&stream, "flags", 1);
	CHECK_STR(details(&stream), "flags=cudaStreamNonBlocking");
	back(&stream, 0);
	point(&stream, "pStream", &handle, sizeof(handle));
	CHECK_STR(details(&stream), "returned=Success pStream=0x55aa00");
	pass(&event, "flags", 3);
	CHECK_STR(details(&event), "flags=cudaEventBlockingSync|cudaEventDisableTiming");
	pass(&wait, "stream", 0x55aa00);
	pass(&wait, "event", 0x55bb00);
	pass(&wait, "flags", 0);
	CHECK_STR(details(&wait), "stream=0x55aa00 event=0x55bb00 flags=cudaEventWaitDefault");
	pass(&time, "start", 0x1000);
	pass(&time, "end", 0x2000);
	CHECK_STR(details(&time), "start=0x1000 end=0x2000");
	back(&time, 0);
	point(&time, "ms", &ms, sizeof(ms));
	CHECK_STR(details(&time), "returned=Success ms=1.5");
	CHECK_STR(json(&time), "{\"ms\":1.5,\"start\":\"0x1000\",\"end\":\"0x2000\"}");
}

TEST("cudaGetDevice gives a number back that is 32 bits wide")
{
	struct built call = begin("cudaGetDevice"), set = begin("cudaSetDevice");
	uint64_t device = 0xffffffff00000003, number;

	back(&call, 0);
	point(&call, "device", &device, 4);
	CHECK_STR(details(&call), "returned=Success device=3");
	CHECK(gt_api_argument_number(call.function, finish(&call), 0, &number));
	CHECK_INT(number, 3);
	pass(&set, "device", 1);
	CHECK_STR(details(&set), "device=1");
}

TEST("attributes of devices are shown by name")
{
	struct built call = begin("cudaDeviceGetAttribute");

	pass(&call, "attr", 16);
	pass(&call, "device", 0);
	CHECK_STR(details(&call), "attr=cudaDevAttrMultiProcessorCount device=0");
}

TEST("functions without arguments show nothing, and return")
{
	struct built call = begin("cudaDeviceSynchronize"),
		     internal = begin("__cudaRegisterFatBinaryEnd");

	CHECK_STR(details(&call), "");
	CHECK_STR(arguments(&call), "");
	CHECK_STR(json(&call), "{}");
	back(&call, 719);
	CHECK_STR(details(&call), "returned=LaunchFailure");
	pass(&internal, "fatCubinHandle", 0x55dd00);
	CHECK_STR(details(&internal), "fatCubinHandle=0x55dd00");
	back(&internal, 77);
	CHECK_STR(details(&internal), "returned");
}

TEST("the launch configuration that is popped is what the call gave back")
{
	struct built call = begin("__cudaPopCallConfiguration");
	uint64_t shared = 64, stream = 0;

	back(&call, 0);
	point(&call, "gridDim", (uint32_t[]){4, 1, 1}, 12);
	point(&call, "blockDim", (uint32_t[]){256, 1, 1}, 12);
	point(&call, "sharedMem", &shared, sizeof(shared));
	point(&call, "stream", &stream, sizeof(stream));
	CHECK_STR(details(&call), "returned=Success gridDim=4x1x1 blockDim=256x1x1 shared=64 "
				  "stream=0x0");
	CHECK_STR(json(&call), "{\"gridDim\":[4,1,1],\"blockDim\":[256,1,1],\"sharedMem\":64,"
			       "\"stream\":\"0x0\"}");
}

/* --- the driver's functions ------------------------------------------------------------- */

TEST("cuMemAlloc_v2 shows its size and the address that it gave back")
{
	struct built call = begin("cuMemAlloc_v2"), release = begin("cuMemFree_v2");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "bytesize", 4000);
	CHECK_STR(details(&call), "size=4000 bytes");
	back(&call, 0);
	point(&call, "dptr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=Success dptr=0x7f1234568000");
	CHECK_STR(json(&call), "{\"dptr\":\"0x7f1234568000\",\"bytesize\":4000}");
	back(&call, 2);
	CHECK_STR(details(&call), "returned=OUT_OF_MEMORY");
	pass(&release, "dptr", pointer);
	CHECK_STR(details(&release), "ptr=0x7f1234568000");
}

TEST("the driver's copies tell their direction by their ends")
{
	static const struct {
		const char *name, *target, *source, *text;
		int direction;
	} copies[] = {
		{"cuMemcpyHtoD_v2", "dstDevice", "srcHost", "size=4000 bytes kind=H2D", 1},
		{"cuMemcpyDtoH_v2", "dstHost", "srcDevice", "size=4000 bytes kind=D2H", 2},
		{"cuMemcpyDtoD_v2", "dstDevice", "srcDevice", "size=4000 bytes kind=D2D", 3},
		{"cuMemcpy", "dst", "src", "size=4000 bytes kind=default", 4},
	};

	for (size_t i = 0; i < gt_countof(copies); i++) {
		struct built call = begin(copies[i].name);

		pass(&call, copies[i].target, 0x7f1234568000);
		pass(&call, copies[i].source, 0x55aa00001000);
		pass(&call, "ByteCount", 4000);
		CHECK_STR(details(&call), copies[i].text);
		CHECK_INT(gt_api_direction(call.function, finish(&call)), copies[i].direction);
	}
}

TEST("an asynchronous driver copy shows its stream last")
{
	struct built call = begin("cuMemcpyDtoHAsync_v2");

	pass(&call, "dstHost", 0x55aa00001000);
	pass(&call, "srcDevice", 0x7f1234568000);
	pass(&call, "ByteCount", 4000);
	pass(&call, "hStream", 0x55aa00);
	CHECK_STR(details(&call), "size=4000 bytes kind=D2H stream=0x55aa00");
}

/* CUDA_MEMCPY2D */
struct driver_2d {
	uint64_t source_x, source_y;
	uint32_t source_type, padding1;
	uint64_t source_host, source_device, source_array, source_pitch;
	uint64_t target_x, target_y;
	uint32_t target_type, padding2;
	uint64_t target_host, target_device, target_array, target_pitch;
	uint64_t width, height;
};

TEST("cuMemcpy2D_v2 shows what its structure holds")
{
	struct built call = begin("cuMemcpy2D_v2");
	struct driver_2d copy = {.source_type = 2,
				 .source_device = 0x7f1234568000,
				 .target_type = 1,
				 .target_host = 0x55aa00001000,
				 .width = 400,
				 .height = 10};
	uint64_t bytes;

	pass(&call, "pCopy", 0x7ffc00005000);
	point(&call, "pCopy", &copy, sizeof(copy));
	CHECK_STR(details(&call), "width=400 bytes height=10 kind=D2H");
	CHECK(gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(bytes, 4000);
	copy.target_type = 4;
	point(&call, "pCopy", &copy, sizeof(copy));
	CHECK_INT(gt_api_direction(call.function, finish(&call)), 4);
}

TEST("a fill's bytes are its elements times the width of its pattern")
{
	struct built bytes = begin("cuMemsetD8_v2"), words = begin("cuMemsetD32_v2");
	struct built rows = begin("cuMemsetD2D16_v2");
	uint64_t size;

	pass(&bytes, "dstDevice", 0x7f1234568000);
	pass(&bytes, "uc", 0xab);
	pass(&bytes, "N", 4096);
	CHECK_STR(details(&bytes), "ptr=0x7f1234568000 value=171 size=4096 bytes");
	CHECK(gt_api_bytes(bytes.function, finish(&bytes), &size));
	CHECK_INT(size, 4096);
	pass(&words, "dstDevice", 0x7f1234568000);
	pass(&words, "ui", 0xffffffff);
	pass(&words, "N", 1024);
	CHECK_STR(details(&words), "ptr=0x7f1234568000 value=4294967295 count=1024");
	CHECK(gt_api_bytes(words.function, finish(&words), &size));
	CHECK_INT(size, 4096);
	pass(&rows, "dstDevice", 0x7f1234568000);
	pass(&rows, "dstPitch", 512);
	pass(&rows, "us", 7);
	pass(&rows, "Width", 100);
	pass(&rows, "Height", 3);
	CHECK_STR(details(&rows), "ptr=0x7f1234568000 value=7 width=100 height=3");
	CHECK(gt_api_bytes(rows.function, finish(&rows), &size));
	CHECK_INT(size, 600);
}

TEST("cuLaunchKernel joins its dimensions")
{
	static const char *const names[] = {"gridDimX",  "gridDimY",  "gridDimZ",
					    "blockDimX", "blockDimY", "blockDimZ"};
	struct built call = begin("cuLaunchKernel");

	pass(&call, "f", 0x55cc00);
	for (unsigned i = 0; i < gt_countof(names); i++)
		pass(&call, names[i], i + 1);
	pass(&call, "sharedMemBytes", 48);
	pass(&call, "hStream", 0x2);
	pass(&call, "kernelParams", 0x7ffc00003000);
	pass(&call, "extra", 0);
	CHECK_STR(details(&call), "func=0x55cc00 grid=1x2x3 block=4x5x6 shared=48 stream=0x2");
	CHECK_STR(json(&call),
		  "{\"f\":\"0x55cc00\",\"gridDimX\":1,\"gridDimY\":2,\"gridDimZ\":3,"
		  "\"blockDimX\":4,\"blockDimY\":5,\"blockDimZ\":6,\"sharedMemBytes\":48,"
		  "\"hStream\":\"0x2\",\"kernelParams\":\"0x7ffc00003000\",\"extra\":\"0x0\"}");
}

TEST("graph launches show graph and stream")
{
	struct built runtime = begin("cudaGraphLaunch"), driver = begin("cuGraphLaunch");

	pass(&runtime, "graphExec", 0x55ee00);
	pass(&runtime, "stream", 0);
	CHECK_STR(details(&runtime), "graph=0x55ee00 stream=0x0");
	pass(&driver, "hGraph", 0x55ee00);
	pass(&driver, "hStream", 0);
	CHECK_STR(details(&driver), "graph=0x55ee00 stream=0x0");
}

TEST("virtual memory shows handle, size and what it is made of")
{
	struct built create = begin("cuMemCreate"), map = begin("cuMemMap");
	uint64_t handle = 0x1d0000;
	struct {
		uint32_t type, handles, location_type, location;
		uint64_t metadata;
		uint8_t compression, rdma;
		uint16_t usage;
		uint8_t reserved[4];
	} property = {.type = 1, .location_type = 1, .location = 2};

	pass(&create, "size", 2097152);
	pass(&create, "prop", 0x7ffc00006000);
	pass(&create, "flags", 0);
	CHECK_STR(details(&create), "size=2097152 bytes prop=0x7ffc00006000 flags=0");
	point(&create, "prop", &property, sizeof(property));
	back(&create, 0);
	point(&create, "handle", &handle, sizeof(handle));
	CHECK_STR(details(&create), "returned=Success handle=0x1d0000");
	CHECK_STR(json(&create),
		  "{\"handle\":\"0x1d0000\",\"size\":2097152,\"prop\":{\"type\":"
		  "\"CU_MEM_ALLOCATION_TYPE_PINNED\",\"requestedHandleTypes\":"
		  "\"CU_MEM_HANDLE_TYPE_NONE\",\"location\":{\"type\":"
		  "\"CU_MEM_LOCATION_TYPE_DEVICE\",\"id\":2},\"win32HandleMetaData\":\"0x0\","
		  "\"allocFlags\":{\"compressionType\":0,\"gpuDirectRDMACapable\":0,"
		  "\"usage\":0}},\"flags\":0}");
	pass(&map, "ptr", 0x7f0000000000);
	pass(&map, "size", 2097152);
	pass(&map, "offset", 0);
	pass(&map, "handle", handle);
	pass(&map, "flags", 0);
	CHECK_STR(details(&map), "ptr=0x7f0000000000 size=2097152 bytes offset=0 handle=0x1d0000 "
				 "flags=0");
}

TEST("an identifier is shown as its bytes")
{
	struct built call = begin("cuDeviceGetUuid_v2");
	uint8_t bytes[16] = {0x01, 0x23, [15] = 0xff};

	back(&call, 0);
	point(&call, "uuid", bytes, sizeof(bytes));
	pass(&call, "dev", 0);
	CHECK_STR(json(&call),
		  "{\"uuid\":{\"bytes\":\"0x012300000000000000000000000000ff\"},\"dev\":0}");
}

TEST("a float that is passed is told as not captured")
{
	struct built call = begin("cuParamSetf");

	pass(&call, "hfunc", 0x55cc00);
	pass(&call, "offset", 8);
	CHECK_STR(details(&call), "hfunc=0x55cc00 offset=8 value=?");
	CHECK_STR(json(&call), "{\"hfunc\":\"0x55cc00\",\"offset\":8,\"value\":null}");
}

TEST("calls that move nothing have no bytes and no direction")
{
	struct built call = begin("cudaSetDevice"), batch = begin("cudaMemcpyBatchAsync");
	uint64_t bytes;

	pass(&call, "device", 1);
	CHECK(!gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(gt_api_direction(call.function, finish(&call)), -1);
	pass(&batch, "count", 3);
	pass(&batch, "stream", 0);
	CHECK(!gt_api_bytes(batch.function, finish(&batch), &bytes));
	CHECK_STR(details(&batch), "count=3 stream=0x0");
}

/* --- hostile records -------------------------------------------------------------------- */

TEST("a size that overflows is not known")
{
	struct built call = begin("cudaMemcpy2D");
	uint64_t bytes = 7;

	pass(&call, "width", UINT64_MAX);
	pass(&call, "height", 2);
	CHECK(!gt_api_bytes(call.function, finish(&call), &bytes));
	CHECK_INT(bytes, 7);
}

TEST("slots that a record lacks are unknown, not read")
{
	struct built call = begin("cudaMemcpyAsync");

	pass(&call, "dst", 1);
	pass(&call, "src", 2);
	pass(&call, "count", 3);
	call.call.slots = 2;
	CHECK_STR(details(&call), "size=? bytes kind=? stream=?");
	CHECK_STR(json(&call), "{\"dst\":\"0x1\",\"src\":\"0x2\",\"count\":null,\"kind\":null,"
			       "\"stream\":null}");
	CHECK_INT(gt_api_direction(call.function, finish(&call)), -1);
}

TEST("a record that claims more slots than it has words is cut where it ends")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	finish(&call);
	call.call.slots = 255;
	call.call.head.size = (__u16)(sizeof(call.call) + 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		uint64_t number;

		gt_api_format_arguments(&buffer, call.function, &call.call);
		CHECK_STR(gt_strbuf_string(&buffer), "size=? bytes");
		CHECK(!gt_api_argument_number(call.function, &call.call, 1, &number));
		CHECK(!gt_api_argument_number(call.function, &call.call, 0, &number));
		CHECK(!gt_api_argument_number(call.function, &call.call, 99, &number));
	}
}

TEST("copies that a record claims and does not have are unknown")
{
	struct built call = begin("cudaLaunchKernelExC");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	pass(&call, "config", 0x7ffc00004000);
	pass(&call, "func", 0x401136);
	call.call.copied = 0xff;
	memcpy(call.copies[0], &config, sizeof(config));
	finish(&call);
	call.call.head.size = (__u16)(sizeof(call.call) + (call.call.slots + 2u) * 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;

		gt_api_format_details(&buffer, call.function, &call.call, true);
		CHECK_STR(gt_strbuf_string(&buffer),
			  "grid=4x2x1 block=256x?x? shared=? stream=? func=0x401136");
	}
}

TEST("a structure by value that is cut shows what is there")
{
	struct built call = begin("cudaLaunchKernel");

	pass(&call, "func", 0x401136);
	pass_launch(&call);
	call.call.slots = 2;
	CHECK_STR(details(&call), "func=0x401136 grid=4x1x? block=?x?x? shared=? stream=?");
	CHECK_STR(json(&call), "{\"func\":\"0x401136\",\"gridDim\":[4,1,null],\"blockDim\":null,"
			       "\"args\":null,\"sharedMem\":null,\"stream\":null}");
}

/* Decodes one record as every row would, on both machines. */
static void decode_as_all(const struct gt_event_call *call)
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		const struct gt_api_function *function = gt_api_function(i);
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_json writer = GT_JSON_INIT(&buffer);
		uint64_t number;

		gt_api_format_arguments(&buffer, function, call);
		gt_api_format_details(&buffer, function, call, true);
		gt_api_format_details(&buffer, function, call, false);
		gt_api_json_arguments(&writer, NULL, function, call);
		gt_api_bytes(function, call, &number);
		gt_api_direction(function, call);
		for (unsigned j = 0; j < function->argument_count; j++)
			gt_api_argument_number(function, call, j, &number);
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_record record;

			gt_api_open_record(&record, function, call, (enum gt_machine)machine);
			for (unsigned j = 0; j < function->argument_count; j++) {
				struct gt_api_value value = gt_api_argument_value(&record, j);
				struct gt_api_value pointed = gt_api_pointed_value(&record, j);

				CHECK(value.size <= value.type->size);
				CHECK(!pointed.size || pointed.size <= pointed.type->size);
			}
		}
		CHECK(!buffer.failed);
	}
}

TEST("records of every size and every claim are decoded as every row within their bounds")
{
	static const uint8_t slots[] = {0, 1, 7, 16, 64, 255};
	uint64_t state = 88172645463325252;

	for (unsigned words = 0; words <= 48; words += words < 4 ? 1 : 11) {
		size_t size = sizeof(struct gt_event_call) + (size_t)words * 8;
		/* Of exactly this size, so that a sanitizer sees a read past the end. */
		gt_autofree struct gt_event_call *call = malloc(size);

		for (size_t i = 0; i < gt_countof(slots); i++) {
			for (size_t j = 0; j < size / 8; j++) {
				state ^= state << 13, state ^= state >> 7, state ^= state << 17;
				((uint64_t *)call)[j] = state;
			}
			call->head.size = (__u16)size;
			call->head.kind = i % 2 ? GT_EVENT_call : GT_EVENT_enter;
			call->slots = slots[i];
			call->copied = i % 3 ? 0xff : 0x5;
			call->result = i % 2 ? 0 : call->result;
			call->state = 0;
			decode_as_all(call);
		}
	}
}

TEST("a record shorter than its head has no words")
{
	struct built call = begin("cudaMalloc");
	struct gt_api_record record;

	finish(&call);
	call.call.head.size = 8;
	gt_api_open_record(&record, call.function, &call.call, GT_MACHINE_HERE);
	CHECK_INT(record.words, 0);
}

TEST_MAIN
