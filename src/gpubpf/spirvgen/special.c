/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Special registers of PTX from the built-in values of SPIR-V. */
#include <ctype.h>
#include <errno.h>
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/spirvgen/private.h"

/* Note an input variable that the kernel uses. */
static uint32_t use_builtin(struct gt_spirvgen *gen, unsigned builtin,
			    uint32_t (*declare)(struct gt_spirv_builder *builder, unsigned builtin))
{
	uint32_t *variable = &gen->builtins[builtin];

	if (!*variable) {
		*variable = declare(gen->builder, builtin);
		if (gt_vec_push(&gen->interface, *variable))
			gen->code.failed = true;
	}
	return *variable;
}

uint32_t gt_spirvgen_builtin(struct gt_spirvgen *gen, unsigned builtin, unsigned component)
{
	uint32_t wide = gt_spirvgen_int(gen, 64);
	uint32_t variable = use_builtin(gen, builtin, gt_spirv_builtin), whole;

	if (!gen->vector)
		gen->vector = gt_spirv_type_vector(gen->builder, wide, 3);
	whole = gt_spirvgen_emit(gen, SpvOpLoad, gen->vector, variable);
	return gt_spirvgen_emit(gen, SpvOpCompositeExtract, wide, whole, component);
}

uint32_t gt_spirvgen_builtin_word(struct gt_spirvgen *gen, unsigned builtin)
{
	return gt_spirvgen_emit(gen, SpvOpLoad, gt_spirvgen_int(gen, 32),
				use_builtin(gen, builtin, gt_spirv_builtin_word));
}

uint32_t gt_spirvgen_local_index(struct gt_spirvgen *gen)
{
	uint32_t index = gt_spirvgen_builtin(gen, SpvBuiltInLocalInvocationId, 2);

	for (unsigned i = 2; i-- > 0;) {
		index = gt_spirvgen_binary(gen, SpvOpIMul, 64, index,
					   gt_spirvgen_builtin(gen, SpvBuiltInWorkgroupSize, i));
		index = gt_spirvgen_binary(
			gen, SpvOpIAdd, 64, index,
			gt_spirvgen_builtin(gen, SpvBuiltInLocalInvocationId, i));
	}
	return index;
}

uint32_t gt_spirvgen_local_size(struct gt_spirvgen *gen)
{
	uint32_t size = gt_spirvgen_builtin(gen, SpvBuiltInWorkgroupSize, 0);

	for (unsigned i = 1; i < 3; i++)
		size = gt_spirvgen_binary(gen, SpvOpIMul, 64, size,
					  gt_spirvgen_builtin(gen, SpvBuiltInWorkgroupSize, i));
	return size;
}

static uint32_t emit_lane(struct gt_spirvgen *gen)
{
	uint32_t index;

	if (gt_spirvgen_counts_in_sub_groups(gen))
		return gt_spirvgen_lane(gen);
	index = gt_spirvgen_convert(gen, gt_spirvgen_local_index(gen), 64, 32, false);
	return gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, index,
				  gt_spirvgen_constant(gen, 32, 31));
}

/* (1 << bits) - 1 */
static uint32_t emit_low_bits(struct gt_spirvgen *gen, uint32_t bits)
{
	uint32_t one = gt_spirvgen_constant(gen, 32, 1);

	return gt_spirvgen_binary(gen, SpvOpISub, 32,
				  gt_spirvgen_binary(gen, SpvOpShiftLeftLogical, 32, one, bits),
				  one);
}

/* The work-items of the work-group from the warp's first one on, of 64 bits. */
static uint32_t emit_rest_of_group(struct gt_spirvgen *gen)
{
	uint32_t index = gt_spirvgen_local_index(gen), size = gt_spirvgen_local_size(gen);
	uint32_t first = gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 64, index,
					    gt_spirvgen_constant(gen, 64, ~UINT64_C(31)));

	return gt_spirvgen_binary(gen, SpvOpISub, 64, size, first);
}

/* The lanes of the warp that the work-group has: all but in its last warp. */
static uint32_t emit_warp_mask(struct gt_spirvgen *gen)
{
	uint32_t count, limit, some;

	count = gt_spirvgen_counts_in_sub_groups(gen)
			? gt_spirvgen_convert(gen, gt_spirvgen_warp_size(gen), 32, 64, false)
			: emit_rest_of_group(gen);
	limit = gt_spirvgen_constant(gen, 64, 31);
	some = gt_spirvgen_emit(gen, SpvOpULessThanEqual, gt_spirv_type_bool(gen->builder), count,
				limit);
	/* A shift by 32 has no defined result: it is not the one that is selected. */
	count = gt_spirvgen_emit(gen, SpvOpSelect, gt_spirvgen_int(gen, 64), some, count, limit);
	count = gt_spirvgen_convert(gen, count, 64, 32, false);
	return gt_spirvgen_emit(gen, SpvOpSelect, gt_spirvgen_int(gen, 32), some,
				emit_low_bits(gen, count),
				gt_spirvgen_constant(gen, 32, UINT32_MAX));
}

static uint32_t emit_lanes_below(struct gt_spirvgen *gen)
{
	return emit_low_bits(gen, emit_lane(gen));
}

static uint32_t emit_lane_bit(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpShiftLeftLogical, 32, gt_spirvgen_constant(gen, 32, 1),
				  emit_lane(gen));
}

static uint32_t emit_warp_number(struct gt_spirvgen *gen)
{
	uint32_t index;

	if (gt_spirvgen_counts_in_sub_groups(gen))
		return gt_spirvgen_warp_number(gen);
	index = gt_spirvgen_convert(gen, gt_spirvgen_local_index(gen), 64, 32, false);
	return gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 32, index,
				  gt_spirvgen_constant(gen, 32, 5));
}

static uint32_t emit_warp_count(struct gt_spirvgen *gen)
{
	uint32_t size;

	if (gt_spirvgen_counts_in_sub_groups(gen))
		return gt_spirvgen_warp_count(gen);
	size = gt_spirvgen_convert(gen, gt_spirvgen_local_size(gen), 64, 32, false);
	size = gt_spirvgen_binary(gen, SpvOpIAdd, 32, size, gt_spirvgen_constant(gen, 32, 31));
	return gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 32, size,
				  gt_spirvgen_constant(gen, 32, 5));
}

/* ---- clocks ---- */

/* SPV_KHR_shader_clock: the counter that fewer work-items have in common is read faster. */
static uint32_t emit_device_ticks(struct gt_spirvgen *gen)
{
	bool is_narrow = gen->options->features & GT_SPIRV_SUB_GROUP_CLOCK;

	gt_spirv_require_extension(gen->builder, "SPV_KHR_shader_clock");
	gt_spirv_require(gen->builder, SpvCapabilityShaderClockKHR);
	return gt_spirvgen_emit(
		gen, SpvOpReadClockKHR, gt_spirvgen_int(gen, 64),
		gt_spirvgen_constant(gen, 32, is_narrow ? SpvScopeSubgroup : SpvScopeDevice));
}

static uint32_t emit_ticks(struct gt_spirvgen *gen)
{
	uint32_t wide = gt_spirvgen_int(gen, 64);

	if (!gen->options->clock)
		return emit_device_ticks(gen);
	return gt_spirvgen_emit(gen, SpvOpFunctionCall, wide,
				gt_spirv_import(gen->builder, GT_SPIRV_CYCLE_COUNTER, wide, 0));
}

/* A word of the clock: from its address, or a constant. */
static uint32_t emit_clock_word(struct gt_spirvgen *gen, size_t offset)
{
	const char *clock = (const char *)gen->options->clock;
	uint64_t address = gen->options->clock_address, value;

	if (address)
		return gt_spirvgen_load_shared(gen, address + offset, 64);
	memcpy(&value, clock + offset, sizeof(value));
	return gt_spirvgen_constant(gen, 64, value);
}

/* In ns: base/cycle_clock.h. */
static uint32_t emit_time(struct gt_spirvgen *gen)
{
	uint32_t start = emit_clock_word(gen, offsetof(struct gt_cycle_clock, start.ticks));
	uint32_t passed = gt_spirvgen_binary(gen, SpvOpISub, 64, emit_ticks(gen), start);

	passed = gt_spirvgen_emit(gen, SpvOpExtInst, gt_spirvgen_int(gen, 64),
				  gt_spirv_extended(gen->builder), OpenCLstd_UMul_hi, passed,
				  emit_clock_word(gen, offsetof(struct gt_cycle_clock, rate)));
	return gt_spirvgen_binary(
		gen, SpvOpIAdd, 64, passed,
		emit_clock_word(gen, offsetof(struct gt_cycle_clock, start.time)));
}

/* Only random numbers are made of it. */
static uint32_t emit_time_or_ticks(struct gt_spirvgen *gen)
{
	return gen->options->clock ? emit_time(gen) : emit_device_ticks(gen);
}

/* ---- by name ---- */

/* The built-in values that are special registers, one for each component. */
static const struct {
	const char *name; /* without the component */
	unsigned builtin;
} vectors[] = {
	{"%tid.", SpvBuiltInLocalInvocationId},
	{"%ntid.", SpvBuiltInWorkgroupSize},
	{"%ctaid.", SpvBuiltInWorkgroupId},
	{"%nctaid.", SpvBuiltInNumWorkgroups},
};

/* What a special register needs of the device. */
enum special_need {
	NEEDS_NOTHING,
	NEEDS_SUPPORT, /* that no device has */
	NEEDS_COUNTER,
	NEEDS_TIME, /* a counter of which the relation to CLOCK_MONOTONIC is known */
};

/* Those that are calculated, and those that OpenCL does not have. */
static const struct {
	const char *name;
	uint32_t (*emit)(struct gt_spirvgen *gen);
	unsigned bits;
	enum special_need need;
	const char *missing;
} others[] = {
	{"%laneid", emit_lane, 32, NEEDS_NOTHING, NULL},
	{"%lanemask_eq", emit_lane_bit, 32, NEEDS_NOTHING, NULL},
	{"%lanemask_lt", emit_lanes_below, 32, NEEDS_NOTHING, NULL},
	{GT_PTXGEN_WARP_MASK, emit_warp_mask, 32, NEEDS_NOTHING, NULL},
	{GT_PTXGEN_WARP_NUMBER, emit_warp_number, 32, NEEDS_NOTHING, NULL},
	{GT_PTXGEN_WARP_COUNT, emit_warp_count, 32, NEEDS_NOTHING, NULL},
	{"%smid", NULL, 0, NEEDS_SUPPORT, "the number of the multiprocessor"},
	{"%gridid", NULL, 0, NEEDS_SUPPORT, "the number of the launch"},
	{"%total_smem_size", NULL, 0, NEEDS_SUPPORT, "the size of shared memory"},
	{"%clock", emit_ticks, 64, NEEDS_COUNTER, GT_SPIRVGEN_NO_CLOCK},
	{"%clock64", emit_ticks, 64, NEEDS_COUNTER, GT_SPIRVGEN_NO_CLOCK},
	{"%globaltimer", emit_time, 64, NEEDS_TIME, GT_SPIRVGEN_NO_CLOCK},
	{"%globaltimer_lo", emit_time_or_ticks, 64, NEEDS_COUNTER, GT_SPIRVGEN_NO_CLOCK},
};

static bool has_need(const struct gt_spirvgen *gen, enum special_need need)
{
	switch (need) {
	case NEEDS_NOTHING:
		return true;
	case NEEDS_SUPPORT:
		return false;
	case NEEDS_COUNTER:
		return gen->options->clock || gen->options->features & GT_SPIRV_ANY_CLOCK;
	case NEEDS_TIME:
		return gen->options->clock;
	}
	return false;
}

/* A component of a vector, or 0. */
static uint32_t emit_component(struct gt_spirvgen *gen, const char *name)
{
	for (size_t i = 0; i < gt_countof(vectors); i++) {
		size_t length = strlen(vectors[i].name);

		if (!strncmp(name, vectors[i].name, length))
			return gt_spirvgen_builtin(gen, vectors[i].builtin,
						   (unsigned)(name[length] - 'x'));
	}
	return 0;
}

uint32_t gt_spirvgen_special(struct gt_spirvgen *gen, const char *name, unsigned bits)
{
	uint32_t component = emit_component(gen, name);

	if (component)
		return gt_spirvgen_convert(gen, gt_spirvgen_convert(gen, component, 64, 32, false),
					   32, bits, false);
	for (size_t i = 0; i < gt_countof(others); i++) {
		if (strcmp(name, others[i].name) != 0)
			continue;
		if (has_need(gen, others[i].need))
			return gt_spirvgen_convert(gen, others[i].emit(gen), others[i].bits, bits,
						   false);
		gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not have %s%s",
				 others[i].missing,
				 others[i].need == NEEDS_TIME && has_need(gen, NEEDS_COUNTER)
					 ? " in nanoseconds"
					 : "");
		return gt_spirvgen_constant(gen, bits, 0);
	}
	if (isdigit((unsigned char)*name))
		return gt_spirvgen_constant(gen, bits, strtoul(name, NULL, 10));
	gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not have %s", name);
	return gt_spirvgen_constant(gen, bits, 0);
}
