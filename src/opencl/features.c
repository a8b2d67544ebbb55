/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a device has beyond OpenCL 1.2: by its extensions. That sub-groups are 32 work-items in a
 * row, or several times as many, and that their operations do what they should, a kernel shows.
 */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/launch_limits.h"
#include "opencl/private.h"
#include "spirv/builder.h"

/* Of OpenCL 2.1, cl_intel_required_subgroup_size and cl_khr_kernel_clock. */
#define DEVICE_MAX_NUM_SUB_GROUPS 0x105c
#define DEVICE_SUB_GROUP_SIZES 0x4108
#define DEVICE_CLOCK_CAPABILITIES 0x1076

enum {
	CLOCK_OF_DEVICE = 1,
	CLOCK_OF_SUB_GROUP = 4,

	ITEMS = 64,     /* of the work-group that is examined */
	VALUES = 3,     /* that each of them stores */
	MAX_SIZES = 64, /* of sub-groups */
	LIMIT_S = 15,   /* of a launch: of the first one the device compiles the kernel */
};

static const uint32_t group_size[3] = {8, 4, 2};
static const char kernel_name[] = "gputap_sub_groups";

/* ---- what the device reports ---- */

static bool has_extension(const char *extensions, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = extensions; at && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == length && !memcmp(at, name, length))
			return true;
	}
	return false;
}

/* A number that the device reports, or 0. */
static uint64_t read_number(const struct gt_cl_device *device, cl_device_info which, size_t size)
{
	uint64_t number = 0;

	if (device->cl->call.clGetDeviceInfo(device->id, which, size, &number, NULL))
		return 0;
	return number;
}

static bool can_have_32(const struct gt_cl_device *device)
{
	size_t sizes[MAX_SIZES] = {0}, bytes = 0;

	if (device->cl->call.clGetDeviceInfo(device->id, DEVICE_SUB_GROUP_SIZES, sizeof(sizes),
					     sizes, &bytes))
		return false;
	for (size_t i = 0; i < MAX_SIZES && i < bytes / sizeof(*sizes); i++)
		if (sizes[i] == GT_WARP_SIZE)
			return true;
	return false;
}

static unsigned reported_sub_groups(const struct gt_cl_device *device, const char *extensions)
{
	unsigned features;

	if (!read_number(device, DEVICE_MAX_NUM_SUB_GROUPS, sizeof(cl_uint)) ||
	    !has_extension(extensions, "cl_khr_subgroup_ballot") ||
	    !has_extension(extensions, "cl_khr_subgroup_shuffle"))
		return 0;
	/* PoCL waits for all work-items of the work-group. */
	features = read_number(device, CL_DEVICE_TYPE, sizeof(cl_device_type)) & CL_DEVICE_TYPE_CPU
			   ? GT_SPIRV_UNIFORM_SUB_GROUPS
			   : GT_SPIRV_SUB_GROUPS;
	if (has_extension(extensions, "cl_intel_required_subgroup_size") && can_have_32(device))
		features |= GT_SPIRV_SUB_GROUPS_OF_32;
	return features;
}

static unsigned reported_clocks(const struct gt_cl_device *device, const char *extensions)
{
	uint64_t clocks;
	unsigned features = 0;

	if (!has_extension(extensions, "cl_khr_kernel_clock"))
		return 0;
	clocks = read_number(device, DEVICE_CLOCK_CAPABILITIES, sizeof(cl_bitfield));
	if (clocks & CLOCK_OF_DEVICE)
		features |= GT_SPIRV_DEVICE_CLOCK;
	if (clocks & CLOCK_OF_SUB_GROUP)
		features |= GT_SPIRV_SUB_GROUP_CLOCK;
	return features;
}

/* ---- a kernel ---- */

/* The kernel that is built. */
struct examining_kernel {
	struct gt_spirv_builder builder;
	struct gt_spirv_words code;
	uint32_t inputs[2];
	uint32_t count; /* of the inputs */
};

#define emit(kernel, opcode, type, ...)                                                            \
	({                                                                                         \
		uint32_t emitted = gt_spirv_id(&(kernel)->builder);                                \
		gt_spirv_emit(&(kernel)->code, (opcode), (type), emitted, __VA_ARGS__);            \
		emitted;                                                                           \
	})

static uint32_t word(struct examining_kernel *kernel)
{
	return gt_spirv_type_int(&kernel->builder, 32);
}

static uint32_t number(struct examining_kernel *kernel, uint32_t value)
{
	return gt_spirv_constant(&kernel->builder, 32, value);
}

static uint32_t binary(struct examining_kernel *kernel, unsigned opcode, uint32_t left,
		       uint32_t right)
{
	return emit(kernel, opcode, word(kernel), left, right);
}

static uint32_t read_input(struct examining_kernel *kernel, uint32_t type, uint32_t input)
{
	kernel->inputs[kernel->count++] = input;
	return emit(kernel, SpvOpLoad, type, input);
}

/* The number of the work-item in its work-group, whose sizes are powers of two. */
static uint32_t put_item(struct examining_kernel *kernel)
{
	struct gt_spirv_builder *builder = &kernel->builder;
	uint32_t wide = gt_spirv_type_int(builder, 64), item = number(kernel, 0);
	uint32_t id = read_input(kernel, gt_spirv_type_vector(builder, wide, 3),
				 gt_spirv_builtin(builder, SpvBuiltInLocalInvocationId));

	for (unsigned i = 3; i-- > 0;) {
		uint32_t part = emit(kernel, SpvOpCompositeExtract, wide, id, i);

		part = emit(kernel, SpvOpUConvert, word(kernel), part);
		item = binary(kernel, SpvOpIMul, item, number(kernel, group_size[i]));
		item = binary(kernel, SpvOpIAdd, item, part);
	}
	return item;
}

/* The word of a ballot that has the warp's lanes, of all of them but the first one. */
static uint32_t put_ballot(struct examining_kernel *kernel, uint32_t lane)
{
	struct gt_spirv_builder *builder = &kernel->builder;
	uint32_t in_warp = binary(kernel, SpvOpBitwiseAnd, lane, number(kernel, GT_WARP_SIZE - 1));
	uint32_t is_other = emit(kernel, SpvOpINotEqual, gt_spirv_type_bool(builder), in_warp,
				 number(kernel, 0));
	uint32_t all = emit(kernel, SpvOpGroupNonUniformBallot,
			    gt_spirv_type_vector(builder, word(kernel), 4),
			    number(kernel, SpvScopeSubgroup), is_other);

	return emit(kernel, SpvOpVectorExtractDynamic, word(kernel), all,
		    binary(kernel, SpvOpShiftRightLogical, lane, number(kernel, 5)));
}

/* The number that the first lane of the warp has. */
static uint32_t put_shuffle(struct examining_kernel *kernel, uint32_t lane, uint32_t item)
{
	uint32_t first = binary(kernel, SpvOpBitwiseAnd, lane,
				number(kernel, ~(uint32_t)(GT_WARP_SIZE - 1)));

	return emit(kernel, SpvOpGroupNonUniformShuffle, word(kernel),
		    number(kernel, SpvScopeSubgroup), item, first);
}

/* For each work-item: the ballot, the result of the shuffle and the lane. */
static void put_code(struct examining_kernel *kernel, uint32_t to, uint32_t pointer)
{
	uint32_t lane = read_input(
		kernel, word(kernel),
		gt_spirv_builtin_word(&kernel->builder, SpvBuiltInSubgroupLocalInvocationId));
	uint32_t item = put_item(kernel);
	uint32_t values[VALUES] = {put_ballot(kernel, lane), put_shuffle(kernel, lane, item), lane};

	for (uint32_t i = 0; i < VALUES; i++) {
		uint32_t index = binary(kernel, SpvOpIAdd, item, number(kernel, i * ITEMS));
		uint32_t wide =
			emit(kernel, SpvOpUConvert, gt_spirv_type_int(&kernel->builder, 64), index);
		uint32_t at = emit(kernel, SpvOpInBoundsPtrAccessChain, pointer, to, wide);

		gt_spirv_emit(&kernel->code, SpvOpStore, at, values[i], SpvMemoryAccessAlignedMask,
			      sizeof(uint32_t));
	}
}

static void put_capabilities(struct gt_spirv_builder *builder, uint32_t function, unsigned features)
{
	static const uint32_t capabilities[] = {SpvCapabilityGroupNonUniform,
						SpvCapabilityGroupNonUniformBallot,
						SpvCapabilityGroupNonUniformShuffle};

	for (size_t i = 0; i < gt_countof(capabilities); i++)
		gt_spirv_require(builder, capabilities[i]);
	gt_spirv_require_version(builder, GT_SPIRV_1_3);
	if (!(features & GT_SPIRV_SUB_GROUPS_OF_32))
		return;
	gt_spirv_require(builder, SpvCapabilitySubgroupDispatch);
	gt_spirv_emit(&builder->sections[GT_SPIRV_MODES], SpvOpExecutionMode, function,
		      SpvExecutionModeSubgroupSize, GT_WARP_SIZE);
}

/* A kernel that stores ballots and shuffles where its argument points to. 0 or -ENOMEM. */
static int make_module(unsigned features, struct gt_strbuf *ret_module)
{
	struct examining_kernel kernel = {0};
	struct gt_spirv_builder *builder = &kernel.builder;
	struct gt_spirv_words *functions = &builder->sections[GT_SPIRV_FUNCTIONS];
	uint32_t nothing, pointer, function, to;
	int error;

	gt_spirv_init(builder);
	nothing = gt_spirv_type_void(builder);
	pointer = gt_spirv_type_pointer(builder, SpvStorageClassCrossWorkgroup, word(&kernel));
	function = gt_spirv_id(builder);
	to = gt_spirv_id(builder);
	gt_spirv_emit(
		functions, SpvOpFunction, nothing, function, SpvFunctionControlMaskNone,
		gt_spirv_global(builder, SpvOpTypeFunction, 0, (uint32_t[]){nothing, pointer}, 2));
	gt_spirv_emit(functions, SpvOpFunctionParameter, pointer, to);
	gt_spirv_emit(functions, SpvOpLabel, gt_spirv_id(builder));
	put_code(&kernel, to, pointer);
	gt_spirv_append(functions, &kernel.code, 0, kernel.code.words.count);
	gt_spirv_words_clear(&kernel.code);
	gt_spirv_add(functions, SpvOpReturn, NULL, 0);
	gt_spirv_add(functions, SpvOpFunctionEnd, NULL, 0);
	put_capabilities(builder, function, features);
	gt_spirv_add_entry_point(builder, function, kernel_name, kernel.inputs, kernel.count);
	error = gt_spirv_finish(builder, ret_module);
	gt_spirv_clear(builder);
	return error;
}

/* Whether each 32 work-items in a row are lanes of one sub-group, in their order. */
static bool are_right(const uint32_t *results)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		if (results[i] != UINT32_MAX - 1 ||
		    results[ITEMS + i] != i / GT_WARP_SIZE * GT_WARP_SIZE ||
		    results[2 * ITEMS + i] % GT_WARP_SIZE != i % GT_WARP_SIZE)
			return false;
	return true;
}

static bool executes(struct gt_cl_device *device, unsigned features)
{
	static const uint32_t one[3] = {1, 1, 1};
	uint32_t results[VALUES * ITEMS] = {0};
	struct gt_cl_argument argument = {results, sizeof(results), true};
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf module = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	struct gt_diag ignored = {0};
	int error;

	if (make_module(features, &module) ||
	    gt_cl_program_load(device, module.data, module.length, &program, &log, &ignored))
		return false;
	error = gt_cl_launch(program, kernel_name, one, group_size, &argument, 1, &ignored);
	if (!error)
		error = gt_cl_wait(program, LIMIT_S * GT_SECOND_NS, &ignored);
	if (error == -ETIME)
		gt_cl_device_abandon(device);
	return !error && are_right(results);
}

unsigned gt_cl_device_features(struct gt_cl_device *device)
{
	gt_autofree char *extensions =
		gt_cl_read_text(device->cl, device->id, CL_DEVICE_EXTENSIONS);
	unsigned sub_groups, clocks;

	if (!extensions || !device->info.takes_spirv)
		return 0;
	sub_groups = reported_sub_groups(device, extensions);
	clocks = reported_clocks(device, extensions);
	if (sub_groups && (device->info.max_group < ITEMS || !executes(device, sub_groups)))
		sub_groups = 0;
	return sub_groups | clocks;
}
