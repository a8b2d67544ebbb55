/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How kernels get their names, and what calls bring with them is found. */
#include "api_record.h"

#include <unistd.h>

#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "names/names.h"

#define PROCESS 100
#define CHILD 101

/* Host functions as nvcc and clang name them, in this program itself. */
void _Z5lateAPf(void);
void _Z5lateAPf(void)
{
}
void _Z20__device_stub__lateBPf(void);
void _Z20__device_stub__lateBPf(void)
{
}

/* Emits the mappings of this program, as for a process that was attached to late. */
static void emit_own_mappings(struct gt_names *names)
{
	gt_auto_proc_maps maps = {0};

	CHECK_INT(gt_proc_maps_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];
		struct gt_event_mapping *event;

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping))
			continue;
		event = (void *)gt_event_new(GT_EVENT_mapping, mapping->path,
					     strlen(mapping->path));
		event->head.process = PROCESS;
		event->start = mapping->start;
		event->end = mapping->end;
		event->offset = mapping->offset;
		event->inode = mapping->inode;
		CHECK_INT(gt_names_take(names, &event->head), 0);
		free(event);
	}
}

/* Emits the function of a call, so that its number has a name. */
static void emit_function(struct gt_names *names, const char *name)
{
	struct gt_event_function *event =
		(void *)gt_event_new(GT_EVENT_function, name, strlen(name));

	event->number = (__u32)gt_api_find(name);
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
}

static void take_process(struct gt_names *names, __u32 process, __u32 parent)
{
	struct gt_event_process *event = (void *)gt_event_new(GT_EVENT_process, "a", 1);

	event->head.process = process;
	event->parent = parent;
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
}

/* The string argument of the call that comes next. */
static void take_string(struct gt_names *names, const struct built *call, const char *name)
{
	struct gt_event_string *event = (void *)gt_event_new(GT_EVENT_string, name, strlen(name));

	event->head.process = event->head.thread = PROCESS;
	event->function = (__u32)gt_api_find(call->function->name);
	event->sequence = call->call.sequence;
	event->slot = (__u8)gt_api_kernel_name_slot(call->function);
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
}

static void take_call(struct gt_names *names, struct built *call, enum gt_event_kind kind)
{
	emit_function(names, call->function->name);
	call->call.head.kind = (__u16)kind;
	call->call.head.process = call->call.head.thread = PROCESS;
	call->call.function = (__u32)gt_api_find(call->function->name);
	finish(call);
	CHECK_INT(gt_names_take(names, &call->call.head), 0);
}

static void register_kernel(struct gt_names *names, uint64_t stub, const char *name)
{
	struct built call = begin("__cudaRegisterFunction");

	pass(&call, "hostFun", stub);
	call.call.sequence = 7;
	back(&call, 0);
	take_string(names, &call, name);
	take_call(names, &call, GT_EVENT_implicit);
}

/* out = function(…, in): another handle of the same kernel, or the handle of a name. */
static void give_handle(struct gt_names *names, const char *function, const char *out,
			uint64_t handle, const char *in, uint64_t from, uint64_t result)
{
	struct built call = begin(function);

	pass(&call, in, from);
	back(&call, result);
	point(&call, out, &handle, sizeof(handle));
	take_call(names, &call, GT_EVENT_implicit);
}

/* The call, decoded with the strings that the names know; valid until the next one. */
static const struct gt_call *with_names(const struct gt_names *names, const struct built *built)
{
	static struct gt_call call;

	gt_names_decode(names, &built->call, &call);
	return &call;
}

static const char *launched(struct gt_names *names, const char *function, const char *argument,
			    uint64_t handle)
{
	struct built call = begin(function);

	pass(&call, argument, handle);
	back(&call, 0);
	take_call(names, &call, GT_EVENT_call);
	return gt_names_launched(names, with_names(names, &call));
}

TEST("a launch by a host function has the name that it was registered with")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	register_kernel(names, 0x401000, "_Z3addPf");
	CHECK_STR(launched(names, "cudaLaunchKernel", "func", 0x401000), "_Z3addPf");
	CHECK(launched(names, "cudaLaunchKernel", "func", 0x402000) == NULL);
}

TEST("a launch by the handle of __cudaGetKernel has the name of the host function")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	register_kernel(names, 0x401000, "_Z3addPf");
	give_handle(names, "__cudaGetKernel", "kernel", 0x9000, "entryFuncAddr", 0x401000, 0);
	CHECK_STR(launched(names, "__cudaLaunchKernel", "kernel", 0x9000), "_Z3addPf");
}

TEST("where no registration was seen, the symbol of the host function names the kernel")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	emit_own_mappings(names);
	CHECK_STR(launched(names, "cudaLaunchKernel", "func", (uintptr_t)_Z5lateAPf), "_Z5lateAPf");
	CHECK_STR(
		launched(names, "cudaLaunchKernel", "func", (uintptr_t)_Z20__device_stub__lateBPf),
		"_Z5lateBPf");
	CHECK(launched(names, "cudaLaunchKernel", "func", (uintptr_t)_Z5lateAPf + 1) == NULL);
}

TEST("a look-up that failed names nothing")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	register_kernel(names, 0x401000, "_Z3addPf");
	give_handle(names, "__cudaGetKernel", "kernel", 0x9000, "entryFuncAddr", 0x401000, 98);
	CHECK(launched(names, "__cudaLaunchKernel", "kernel", 0x9000) == NULL);
}

TEST("a launch by a driver handle has the name that it was looked up by")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built call = begin("cuModuleGetFunction");
	uint64_t handle = 0x5550;

	call.call.sequence = 3;
	pass(&call, "hmod", 0x1000);
	back(&call, 0);
	point(&call, "hfunc", &handle, sizeof(handle));
	take_string(names, &call, "scale");
	take_call(names, &call, GT_EVENT_call);
	CHECK_STR(gt_names_call_kernel(names, with_names(names, &call)), "scale");
	call.call.sequence = 4;
	CHECK(gt_names_call_kernel(names, with_names(names, &call)) == NULL);
	CHECK_STR(launched(names, "cuLaunchKernel", "f", 0x5550), "scale");
}

/* A string of a look-up by name: what it shows is in *ret_text. */
static void look_up(struct gt_names *names, struct built *call, const char *string, bool truncated,
		    char *ret_text, size_t size)
{
	struct gt_event_string *event =
		(void *)gt_event_new(GT_EVENT_string, string, strlen(string));
	gt_auto_strbuf shown = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&shown);

	event->head.process = event->head.thread = PROCESS;
	event->function = (__u32)gt_api_find(call->function->name);
	event->sequence = call->call.sequence;
	event->slot = 3;
	event->truncated = truncated;
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
	take_call(names, call, GT_EVENT_entry);
	gt_call_format_entry(&shown, with_names(names, call));
	gt_strbuf_putc(&shown, ' ');
	gt_call_json_arguments(&json, NULL, with_names(names, call));
	snprintf(ret_text, size, "%s", gt_strbuf_string(&shown));
}

TEST("the variable that a call looks up is reported by its name, which is no kernel's")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built call = begin("cuModuleGetGlobal_v2");
	char shown_text[256];

	call.call.sequence = 3;
	pass(&call, "hmod", 0x1000);
	pass(&call, "name", 0x2000);
	look_up(names, &call, "coun\x1bter", false, shown_text, sizeof(shown_text));
	CHECK_STR(shown_text, "hmod=0x1000 name=\"coun?ter\" {\"dptr\":null,\"bytes\":null,"
			      "\"hmod\":\"0x1000\",\"name\":\"coun\\u001bter\"}");
	CHECK(gt_names_call_kernel(names, with_names(names, &call)) == NULL);
	look_up(names, &call, "long", true, shown_text, sizeof(shown_text));
	CHECK(strstr(shown_text, " name=\"long…\" ") != NULL);
}

TEST("a string that is unknown is its address, and that of an outer call outlives an inner one's")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built outer = begin("cuModuleGetGlobal_v2"), inner = begin("cuModuleGetGlobal_v2");
	gt_auto_strbuf shown = GT_STRBUF_INIT, unknown = GT_STRBUF_INIT;
	char shown_text[256];

	outer.call.sequence = 3;
	inner.call.sequence = 4;
	pass(&outer, "name", 0x2000);
	pass(&inner, "name", 0x3000);
	look_up(names, &outer, "one", false, shown_text, sizeof(shown_text));
	look_up(names, &inner, "two", false, shown_text, sizeof(shown_text));
	gt_call_format_entry(&shown, with_names(names, &outer));
	CHECK(strstr(gt_strbuf_string(&shown), "name=\"one\"") != NULL);
	outer.call.sequence = 5;
	gt_call_format_entry(&unknown, with_names(names, &outer));
	CHECK(strstr(gt_strbuf_string(&unknown), "name=0x2000") != NULL);
}

TEST("the string of another call is not taken for a kernel's name")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built call = begin("__cudaRegisterFunction");

	pass(&call, "hostFun", 0x401000);
	call.call.sequence = 7;
	take_string(names, &call, "_Z3addPf");
	call.call.sequence = 8;
	back(&call, 0);
	take_call(names, &call, GT_EVENT_implicit);
	CHECK(gt_names_kernel(names, PROCESS, 0x401000) == NULL);
}

TEST("a forked process knows the kernels of its parent, and another one does not")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_process(names, CHILD, PROCESS);
	register_kernel(names, 0x401000, "_Z3addPf");
	CHECK_STR(gt_names_kernel(names, CHILD, 0x401000), "_Z3addPf");
	CHECK(gt_names_kernel(names, 999, 0x401000) == NULL);
}

TEST("processes that are each other's parents do not hang the search")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_process(names, CHILD, PROCESS);
	take_process(names, PROCESS, CHILD);
	CHECK(gt_names_kernel(names, CHILD, 1) == NULL);
}

TEST("a stack that was recorded is found by its number, in its process only")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	__u64 record[8] = {0};
	struct gt_event_stack *event = (void *)record;
	size_t count = 0;
	const __u64 *addresses;

	event->head.kind = GT_EVENT_stack;
	event->head.size = sizeof(*event) + 2 * sizeof(__u64);
	event->head.process = PROCESS;
	event->number = 42;
	event->addresses[0] = 0x1000;
	event->addresses[1] = 0x2000;
	CHECK_INT(gt_names_take(names, &event->head), 0);
	addresses = gt_names_stack(names, PROCESS, 42, &count);
	CHECK_INT(count, 2);
	CHECK(addresses && addresses[0] == 0x1000 && addresses[1] == 0x2000);
	CHECK(gt_names_stack(names, CHILD, 42, &count) == NULL);
}

TEST("the arguments of a launch are found by its call, and not by another one")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built call = begin("cudaLaunchKernel");
	__u64 record[8] = {0};
	struct gt_event_arguments *event = (void *)record;
	struct gt_launch_arguments taken = {0};

	event->head.kind = GT_EVENT_arguments;
	event->head.size = sizeof(*event) + 2 * sizeof(__u64);
	event->head.thread = PROCESS;
	event->function = (__u32)gt_api_find("cudaLaunchKernel");
	event->sequence = 5;
	event->readable = 1;
	event->values[0] = 77;
	CHECK_INT(gt_names_take(names, &event->head), 0);
	call.call.head.thread = PROCESS;
	call.call.function = event->function;
	call.call.sequence = 5;
	CHECK(gt_names_launch_arguments(names, with_names(names, &call), &taken));
	CHECK_INT(taken.valid, 1);
	CHECK_INT(taken.words[0], 77);
	call.call.sequence = 6;
	CHECK(!gt_names_launch_arguments(names, with_names(names, &call), &taken));
}

/* A call that succeeded. */
static void succeed(struct gt_names *names, struct built *built, uint64_t result)
{
	back(built, result);
	take_call(names, built, GT_EVENT_call);
}

static void set_argument(struct gt_names *names, uint64_t kernel, uint32_t index, uint64_t size,
			 const void *value)
{
	struct built built = begin("clSetKernelArg");

	pass(&built, "kernel", kernel);
	pass(&built, "arg_index", index);
	pass(&built, "arg_size", size);
	pass(&built, "arg_value", value ? 0x7fff0000 : 0);
	if (value)
		point(&built, "arg_value", value, size < 8 ? size : 8);
	succeed(names, &built, 0);
}

/* The arguments of a launch of a kernel, as text. */
static const char *launched_with(struct gt_names *names, uint64_t kernel)
{
	struct built built = begin("clEnqueueNDRangeKernel");
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_launch_arguments taken;

	pass(&built, "kernel", kernel);
	succeed(names, &built, 0);
	if (!gt_names_launch_arguments(names, with_names(names, &built), &taken))
		return "none";
	gt_kernel_format_arguments(&buffer, "scale", NULL, &taken);
	return keep(&buffer);
}

TEST("a launch has the arguments that were set for its kernel until then")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const uint64_t buffer = 0x55550000;
	const uint32_t count = 1024;
	const float many[4] = {1, 2, 3, 4};

	CHECK_STR(launched_with(names, 0xa1), "none");
	set_argument(names, 0xa1, 0, 8, &buffer);
	set_argument(names, 0xa1, 2, 4, &count);
	set_argument(names, 0xa1, 3, 4096, NULL);
	set_argument(names, 0xa1, 4, 16, many);
	CHECK_STR(launched_with(names, 0xa1),
		  "0x55550000, ?, 0x400, local[4096], {00 00 80 3f 00 00 00 40 ...}");
	CHECK_STR(launched_with(names, 0xa2), "none");
	set_argument(names, 0xa1, 1, 4, &count);
	set_argument(names, 0xa1, 3, 4, &count);
	CHECK_STR(launched_with(names, 0xa1),
		  "0x55550000, 0x400, 0x400, 0x400, {00 00 80 3f 00 00 00 40 ...}");
	/* An index of no kernel, which a hostile capture may have. */
	set_argument(names, 0xa3, UINT32_MAX, 4, &count);
	CHECK_STR(launched_with(names, 0xa3), "none");
}

static void name_kernel(struct gt_names *names, uint64_t kernel, uint64_t source)
{
	struct built built = begin(source ? "clCloneKernel" : "clCreateKernel");

	if (source)
		pass(&built, "source_kernel", source);
	succeed(names, &built, kernel);
}

TEST("a new kernel has no arguments, whichever handle it has, and a clone those of its original")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const uint32_t count = 7;

	set_argument(names, 0xa1, 0, 4, &count);
	name_kernel(names, 0xa2, 0xa1);
	CHECK_STR(launched_with(names, 0xa2), "0x7");
	name_kernel(names, 0xa1, 0);
	CHECK_STR(launched_with(names, 0xa1), "none");
	CHECK_STR(launched_with(names, 0xa2), "0x7");
}

static void set_group(struct gt_names *names, uint64_t kernel, const uint32_t size[3])
{
	struct built built = begin("zeKernelSetGroupSize");

	pass(&built, "hKernel", kernel);
	pass(&built, "groupSizeX", size[0]);
	pass(&built, "groupSizeY", size[1]);
	pass(&built, "groupSizeZ", size[2]);
	succeed(names, &built, 0);
}

TEST("a launch of Level Zero has the group size that was set for its kernel")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built built = begin("zeCommandListAppendLaunchKernel");
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_call_launch launch;

	pass(&built, "hCommandList", 0x51);
	pass(&built, "hKernel", 0xb1);
	pass(&built, "hSignalEvent", 0);
	point(&built, "pLaunchFuncArgs", (uint32_t[]){8, 2, 1}, 12);
	succeed(names, &built, 0);
	CHECK(gt_call_launch(with_names(names, &built), &launch));
	CHECK_INT(launch.block[0], 1);
	set_group(names, 0xb1, (uint32_t[]){64, 4, 1});
	set_group(names, 0xb2, (uint32_t[]){16, 1, 1});
	CHECK(gt_call_launch(with_names(names, &built), &launch));
	CHECK_INT(launch.grid[0], 8);
	CHECK_INT(launch.grid[1], 2);
	CHECK_INT(launch.block[0], 64);
	CHECK_INT(launch.block[1], 4);
	gt_call_format_entry(&buffer, with_names(names, &built));
	CHECK_STR(gt_strbuf_string(&buffer),
		  "list=0x51 func=0xb1 grid=8x2x1 hSignalEvent=0x0 block=64x4x1");
	/* `kernels` needs the size, and asks for launches alone. */
	CHECK(gt_api_is_implicit(row("zeKernelSetGroupSize")));
	CHECK(!gt_api_is_implicit(row("clSetKernelArg")));
}

TEST("a launch of several kernels of Level Zero has the handles of all and the first one's name")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct built built = begin("zeCommandListAppendLaunchMultipleKernelsIndirect");
	uint64_t kernels[GT_API_MAX_LIST + 1] = {0xb1, 0xb2, 0xb3};
	gt_auto_strbuf buffer = GT_STRBUF_INIT, many = GT_STRBUF_INIT;
	uint64_t handle = 0;

	pass(&built, "hCommandList", 0x51);
	pass(&built, "numKernels", 3);
	pass(&built, "phKernels", 0x7000);
	pass(&built, "pCountBuffer", 0x8000);
	pass(&built, "pLaunchArgumentsBuffer", 0x9000);
	pass(&built, "hSignalEvent", 0);
	point(&built, "phKernels", kernels, 3 * sizeof(*kernels));
	succeed(names, &built, 0);
	CHECK(gt_call_kernel(with_names(names, &built), &handle));
	CHECK_INT(handle, 0xb1);
	gt_call_format_entry(&buffer, with_names(names, &built));
	CHECK_STR(gt_strbuf_string(&buffer),
		  "list=0x51 numKernels=3 func=[0xb1, 0xb2, 0xb3] pCountBuffer=0x8000 "
		  "pLaunchArgumentsBuffer=0x9000 hSignalEvent=0x0");
	/* Without kernels, and with more than are copied. */
	pass(&built, "numKernels", 0);
	succeed(names, &built, 0);
	CHECK(!gt_call_kernel(with_names(names, &built), &handle));
	pass(&built, "numKernels", UINT32_MAX);
	point(&built, "phKernels", kernels, GT_API_MAX_LIST * sizeof(*kernels));
	succeed(names, &built, 0);
	gt_call_format_entry(&many, with_names(names, &built));
	CHECK(strstr(gt_strbuf_string(&many), "func=[0xb1, 0xb2, 0xb3, 0x0, 0x0, 0x0, 0x0, 0x0]"));
}

TEST("a launch on several devices has the first one's kernel and sizes")
{
	const struct {
		uint64_t function;
		uint32_t grid[3], block[3];
		uint64_t arguments, shared, stream;
	} runtime = {0xf1, {8, 2, 1}, {64, 4, 1}, 0x7000, 512, 0x51};
	const struct {
		uint64_t function;
		uint32_t grid[3], block[3], shared;
		uint64_t stream, arguments;
	} driver = {0xf2, {8, 2, 1}, {64, 4, 1}, 512, 0x51, 0x7000};
	const struct {
		const char *name;
		const void *data;
		size_t size;
		uint64_t kernel;
	} calls[] = {
		{"cudaLaunchCooperativeKernelMultiDevice", &runtime, sizeof(runtime), 0xf1},
		{"cuLaunchCooperativeKernelMultiDevice", &driver, sizeof(driver), 0xf2},
		{"hipLaunchCooperativeKernelMultiDevice", &runtime, sizeof(runtime), 0xf1},
		{"hipExtLaunchMultiKernelMultiDevice", &runtime, sizeof(runtime), 0xf1},
	};

	for (size_t i = 0; i < gt_countof(calls); i++) {
		gt_auto(names) struct gt_names *names = gt_names_new();
		struct built built = begin(calls[i].name);
		struct gt_call_launch launch;
		uint64_t handle = 0;

		pass(&built, "launchParamsList", 0x6000);
		pass(&built, "numDevices", 2);
		pass(&built, "flags", 0);
		point(&built, "launchParamsList", calls[i].data, calls[i].size);
		succeed(names, &built, 0);
		CHECK(gt_call_kernel(with_names(names, &built), &handle));
		CHECK_INT(handle, calls[i].kernel);
		CHECK(gt_call_launch(with_names(names, &built), &launch));
		CHECK_INT(launch.grid[0], 8);
		CHECK_INT(launch.grid[1], 2);
		CHECK_INT(launch.block[1], 4);
		CHECK_INT(launch.shared, 512);
	}
}

/* cl_image_format and cl_image_desc. */
struct image_format {
	uint32_t order, type;
};
struct image_shape {
	uint64_t type, width, height, depth, layers, rest[4];
};

#define CL_RGBA 0x10b5
#define CL_FLOAT 0x10de
#define CL_IMAGE2D 0x10f1

static struct built creation_of(const struct image_format *format, const struct image_shape *shape)
{
	struct built built = begin("clCreateImage");

	pass(&built, "image_format", 0x7fff0000);
	point(&built, "image_format", format, sizeof(*format));
	pass(&built, "image_desc", 0x7fff1000);
	point(&built, "image_desc", shape, sizeof(*shape));
	return built;
}

/* The bytes of a call, 0: unknown. */
static uint64_t bytes_with_names(struct gt_names *names, struct built *built)
{
	uint64_t bytes = 0;

	finish(built);
	return gt_call_allocated_bytes(with_names(names, built), &bytes) ||
			       gt_call_bytes(with_names(names, built), &bytes)
		       ? bytes
		       : 0;
}

static uint64_t bytes_of_region(struct gt_names *names, uint64_t image, const uint64_t region[3])
{
	struct built built = begin("clEnqueueReadImage");

	pass(&built, "image", image);
	pass(&built, "region", 0x7fff2000);
	point(&built, "region", region, 24);
	succeed(names, &built, 0);
	return bytes_with_names(names, &built);
}

TEST("the bytes of an image are those of its pixels, by the sizes that images of its type have")
{
	static const struct {
		struct image_format format;
		struct image_shape shape;
		uint64_t bytes;
	} cases[] = {
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D, 16, 8, 0, 0, {0}}, 2048},
		/* What the type does not have may be anything. */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D, 16, 8, 99, 99, {0}}, 2048},
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D + 1, 16, 8, 2, 99, {0}}, 4096},  /* 3D */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D + 2, 16, 8, 99, 3, {0}}, 6144},  /* array */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D + 3, 16, 99, 99, 99, {0}}, 256}, /* 1D */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D + 4, 16, 99, 99, 2, {0}}, 512},
		{{0x10b4, 0x10d4}, {CL_IMAGE2D, 16, 8, 0, 0, {0}}, 256}, /* RGB, 565 */
		{{0x10b0, 0x10d3}, {CL_IMAGE2D, 16, 8, 0, 0, {0}}, 256}, /* R, 16 bits */
		/* Memory of a buffer; unknown types and formats. */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D + 5, 16, 0, 0, 0, {0}}, 0},
		{{CL_RGBA, CL_FLOAT}, {0, 16, 8, 0, 0, {0}}, 0},
		{{1, CL_FLOAT}, {CL_IMAGE2D, 16, 8, 0, 0, {0}}, 0},
		{{CL_RGBA, 1}, {CL_IMAGE2D, 16, 8, 0, 0, {0}}, 0},
		/* Beyond 64 bits. */
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D, UINT64_MAX, 8, 0, 0, {0}}, 0},
		{{CL_RGBA, CL_FLOAT}, {CL_IMAGE2D, UINT64_C(1) << 60, 1, 0, 0, {0}}, 0},
	};
	gt_auto(names) struct gt_names *names = gt_names_new();

	for (size_t i = 0; i < gt_countof(cases); i++) {
		struct built built = creation_of(&cases[i].format, &cases[i].shape);

		succeed(names, &built, 0x1000);
		CHECK_INT(bytes_with_names(names, &built), cases[i].bytes);
	}
}

TEST("the bytes of copies of images and of unmaps follow from the calls before them")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const struct image_format format = {CL_RGBA, CL_FLOAT};
	const struct image_shape shape = {CL_IMAGE2D, 16, 8, 0, 0, {0}};
	struct built created = creation_of(&format, &shape), mapped = begin("clEnqueueMapBuffer"),
		     unmapped = begin("clEnqueueUnmapMemObject");

	CHECK_INT(bytes_of_region(names, 0x1000, (uint64_t[]){2, 2, 1}), 0);
	succeed(names, &created, 0x1000);
	CHECK_INT(bytes_of_region(names, 0x1000, (uint64_t[]){2, 2, 1}), 64);
	CHECK_INT(bytes_of_region(names, 0x2000, (uint64_t[]){2, 2, 1}), 0);
	CHECK_INT(bytes_of_region(names, 0x1000, (uint64_t[]){UINT64_MAX, 2, 1}), 0);
	CHECK_INT(bytes_of_region(names, 0x1000, (uint64_t[]){UINT64_C(1) << 60, 1, 1}), 0);
	pass(&unmapped, "mapped_ptr", 0x3000);
	succeed(names, &unmapped, 0);
	CHECK_INT(bytes_with_names(names, &unmapped), 0);
	pass(&mapped, "size", 512);
	succeed(names, &mapped, 0x3000);
	CHECK_INT(bytes_with_names(names, &unmapped), 512);
	/* The same address again, with another size. */
	pass(&mapped, "size", 100);
	succeed(names, &mapped, 0x3000);
	CHECK_INT(bytes_with_names(names, &unmapped), 100);
	pass(&unmapped, "mapped_ptr", 0x4000);
	CHECK_INT(bytes_with_names(names, &unmapped), 0);
}

TEST_MAIN
