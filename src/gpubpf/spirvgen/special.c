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
static uint32_t use_builtin(struct gt_spirvgen *gen, unsigned builtin)
{
	uint32_t *variable = &gen->builtins[builtin];

	if (!*variable) {
		*variable = gt_spirv_builtin(gen->builder, builtin);
		if (gt_vec_push(&gen->interface, *variable))
			gen->code.failed = true;
	}
	return *variable;
}

uint32_t gt_spirvgen_builtin(struct gt_spirvgen *gen, unsigned builtin, unsigned component)
{
	uint32_t wide = gt_spirvgen_int(gen, 64);
	uint32_t variable = use_builtin(gen, builtin), whole;

	if (!gen->vector)
		gen->vector = gt_spirv_type_vector(gen->builder, wide, 3);
	whole = gt_spirvgen_emit(gen, SpvOpLoad, gen->vector, variable);
	return gt_spirvgen_emit(gen, SpvOpCompositeExtract, wide, whole, component);
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
	uint32_t index = gt_spirvgen_convert(gen, gt_spirvgen_local_index(gen), 64, 32, false);

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

/* The lanes of the warp that the work-group has: all but in its last warp. */
static uint32_t emit_warp_mask(struct gt_spirvgen *gen)
{
	uint32_t index = gt_spirvgen_local_index(gen), size = gt_spirvgen_local_size(gen);
	uint32_t first = gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 64, index,
					    gt_spirvgen_constant(gen, 64, ~UINT64_C(31)));
	uint32_t count = gt_spirvgen_binary(gen, SpvOpISub, 64, size, first), limit, some;

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

/* ---- clocks ---- */

static uint32_t emit_ticks(struct gt_spirvgen *gen)
{
	uint32_t wide = gt_spirvgen_int(gen, 64);

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

/* Those that are calculated, and those that OpenCL does not have. */
static const struct {
	const char *name;
	uint32_t (*emit)(struct gt_spirvgen *gen);
	unsigned bits;
	bool is_clock; /* where the device has one */
	const char *missing;
} others[] = {
	{"%laneid", emit_lane, 32, false, NULL},
	{"%lanemask_eq", emit_lane_bit, 32, false, NULL},
	{"%lanemask_lt", emit_lanes_below, 32, false, NULL},
	{GT_PTXGEN_WARP_MASK, emit_warp_mask, 32, false, NULL},
	{"%smid", NULL, 0, false, "the number of the multiprocessor"},
	{"%gridid", NULL, 0, false, "the number of the launch"},
	{"%total_smem_size", NULL, 0, false, "the size of shared memory"},
	{"%clock", emit_ticks, 64, true, GT_SPIRVGEN_NO_CLOCK},
	{"%clock64", emit_ticks, 64, true, GT_SPIRVGEN_NO_CLOCK},
	{"%globaltimer", emit_time, 64, true, GT_SPIRVGEN_NO_CLOCK},
	{"%globaltimer_lo", emit_time, 64, true, GT_SPIRVGEN_NO_CLOCK},
};

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
		if (others[i].emit && (!others[i].is_clock || gen->options->clock))
			return gt_spirvgen_convert(gen, others[i].emit(gen), others[i].bits, bits,
						   false);
		gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not have %s",
				 others[i].missing);
		return gt_spirvgen_constant(gen, bits, 0);
	}
	if (isdigit((unsigned char)*name))
		return gt_spirvgen_constant(gen, bits, strtoul(name, NULL, 10));
	gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not have %s", name);
	return gt_spirvgen_constant(gen, bits, 0);
}
