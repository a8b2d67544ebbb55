/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads, stores, atomic operations and fences, by storage class. */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <string.h>

#include "gpubpf/spirvgen/private.h"

enum storage {
	STORAGE_GLOBAL, /* CrossWorkgroup */
	STORAGE_LOCAL,  /* the array of the stack */
};

/* ---- addresses ---- */

static uint32_t stack_bytes(const struct gt_spirvgen *gen)
{
	return (gen->selection->stack_bytes + 7) & ~7u;
}

uint32_t gt_spirvgen_local_bytes(const struct gt_spirvgen *gen)
{
	return stack_bytes(gen) + ((gen->selection->copy_bytes + 7) & ~7u);
}

uint64_t gt_spirvgen_symbol_address(const struct gt_spirvgen *gen, const char *name)
{
	return GT_SPIRVGEN_LOCAL + (strcmp(name, "copies") ? 0 : stack_bytes(gen));
}

uint32_t gt_spirvgen_is_local(struct gt_spirvgen *gen, uint32_t address)
{
	return gt_spirvgen_emit(gen, SpvOpUGreaterThanEqual, gt_spirv_type_bool(gen->builder),
				address, gt_spirvgen_constant(gen, 64, GT_SPIRVGEN_LOCAL));
}

/* The operand of an access that is its address. */
static const struct gt_ptxgen_operand *address_operand(const struct gt_ptxgen_row *row)
{
	return row->operands[0].form == GT_PTXGEN_ADDRESS ? &row->operands[0] : &row->operands[1];
}

static uint32_t emit_address(struct gt_spirvgen *gen)
{
	const struct gt_ptxgen_operand *operand = address_operand(gen->row);
	uint32_t base = gt_spirvgen_read(gen, operand->value, 64);

	if (!operand->offset)
		return base;
	return gt_spirvgen_emit(gen, SpvOpIAdd, gt_spirvgen_int(gen, 64), base,
				gt_spirvgen_constant(gen, 64, (uint64_t)(int64_t)operand->offset));
}

/* A pointer to `bits` bits, some bytes after a pointer to bytes. */
static uint32_t emit_pointer_after(struct gt_spirvgen *gen, unsigned class, uint32_t bytes,
				   uint32_t offset, unsigned bits)
{
	uint32_t type = gt_spirv_type_pointer(gen->builder, class, gt_spirvgen_int(gen, bits));
	uint32_t byte_type = gt_spirv_type_pointer(gen->builder, class, gt_spirvgen_int(gen, 8));
	uint32_t pointer =
		gt_spirvgen_emit(gen, SpvOpInBoundsPtrAccessChain, byte_type, bytes, offset);

	return bits == 8 ? pointer : gt_spirvgen_emit(gen, SpvOpBitcast, type, pointer);
}

static uint32_t emit_pointer(struct gt_spirvgen *gen, enum storage storage, uint32_t address,
			     unsigned bits)
{
	uint32_t type, offset;

	if (storage == STORAGE_GLOBAL) {
		type = gt_spirv_type_pointer(gen->builder, SpvStorageClassCrossWorkgroup,
					     gt_spirvgen_int(gen, bits));
		return gt_spirvgen_emit(gen, SpvOpConvertUToPtr, type, address);
	}
	offset = gt_spirvgen_emit(gen, SpvOpISub, gt_spirvgen_int(gen, 64), address,
				  gt_spirvgen_constant(gen, 64, GT_SPIRVGEN_LOCAL));
	return emit_pointer_after(gen, SpvStorageClassFunction, gen->local, offset, bits);
}

uint32_t gt_spirvgen_host_address(struct gt_spirvgen *gen, uint32_t address)
{
	return gen->base ? gt_spirvgen_binary(gen, SpvOpIAdd, 64, gen->base, address) : address;
}

/* ---- order ---- */

static uint32_t scope_of(struct gt_spirvgen *gen)
{
	return gt_spirvgen_constant(gen, 32,
				    gen->row->opcode.scope == GT_PTXGEN_SYS ? SpvScopeCrossDevice
									    : SpvScopeDevice);
}

static uint32_t semantics_of(struct gt_spirvgen *gen)
{
	uint32_t semantics = SpvMemorySemanticsMaskNone;

	if (gen->row->opcode.order == GT_PTXGEN_ACQUIRE)
		semantics = SpvMemorySemanticsAcquireMask;
	else if (gen->row->opcode.order == GT_PTXGEN_RELEASE)
		semantics = SpvMemorySemanticsReleaseMask;
	if (semantics)
		semantics |= SpvMemorySemanticsCrossWorkgroupMemoryMask;
	return gt_spirvgen_constant(gen, 32, semantics);
}

/*
 * OpenCL 2.0's atomic_work_item_fence: PoCL 3.1 has it for SPIR, but not mem_fence, which
 * OpMemoryBarrier becomes. Devices with memory of their own may be older (Oclgrind): they have
 * that.
 */
static void emit_fence_call(struct gt_spirvgen *gen)
{
	enum {
		GLOBAL_MEMORY = 2, /* CLK_GLOBAL_MEM_FENCE */
		ACQUIRE_RELEASE = 4,
		ALL_DEVICES = 3,
	};
	uint32_t nothing = gt_spirv_type_void(gen->builder);
	uint32_t function = gt_spirv_import(
		gen->builder, "_Z22atomic_work_item_fencej12memory_order12memory_scope", nothing,
		3);

	gt_spirvgen_emit(gen, SpvOpFunctionCall, nothing, function,
			 gt_spirvgen_constant(gen, 32, GLOBAL_MEMORY),
			 gt_spirvgen_constant(gen, 32, ACQUIRE_RELEASE),
			 gt_spirvgen_constant(gen, 32, ALL_DEVICES));
}

static void emit_barrier(struct gt_spirvgen *gen, uint32_t scope)
{
	if (gen->options->for_spir && !gen->options->relative) {
		emit_fence_call(gen);
		return;
	}
	gt_spirv_emit(&gen->code, SpvOpMemoryBarrier, scope,
		      gt_spirvgen_constant(gen, 32,
					   SpvMemorySemanticsAcquireReleaseMask |
						   SpvMemorySemanticsCrossWorkgroupMemoryMask));
}

void gt_spirvgen_fence(struct gt_spirvgen *gen, bool system)
{
	emit_barrier(gen,
		     gt_spirvgen_constant(gen, 32, system ? SpvScopeCrossDevice : SpvScopeDevice));
}

/* Whether an access is one of an atomic instruction: these have 32 and 64 bits. */
static bool is_atomic(struct gt_spirvgen *gen, enum storage storage, unsigned bits)
{
	if (storage != STORAGE_GLOBAL || bits < 32 || gen->row->opcode.order == GT_PTXGEN_WEAK)
		return false;
	if (bits == 64)
		gt_spirv_require(gen->builder, SpvCapabilityInt64Atomics);
	return true;
}

static uint32_t access_flags(const struct gt_spirvgen *gen)
{
	return SpvMemoryAccessAlignedMask |
	       (gen->row->opcode.order == GT_PTXGEN_WEAK ? 0 : SpvMemoryAccessVolatileMask);
}

/* ---- loads ---- */

static void load_from(struct gt_spirvgen *gen, struct gt_spirvgen_type type, enum storage storage,
		      uint32_t address)
{
	uint32_t pointer = emit_pointer(gen, storage, address, type.bits), id;
	uint32_t result = gt_spirvgen_int(gen, type.bits);

	if (is_atomic(gen, storage, type.bits))
		id = gt_spirvgen_emit(gen, SpvOpAtomicLoad, result, pointer, scope_of(gen),
				      semantics_of(gen));
	else
		id = gt_spirvgen_emit(gen, SpvOpLoad, result, pointer, access_flags(gen),
				      type.bits / 8);
	gt_spirvgen_write(gen, gen->row->operands[0].value, id, type.bits, type.letter == 's');
	if (gen->row->opcode.order == GT_PTXGEN_ACQUIRE && type.bits < 32)
		emit_barrier(gen, scope_of(gen));
}

/* The specialization constant of the first word of a symbol. */
static uint32_t find_spec_id(const char *name)
{
	if (!strcmp(name, "output"))
		return GT_SPEC_OUTPUT;
	return !strcmp(name, "calls") ? GT_SPEC_CALLS : GT_SPEC_PID_TGID;
}

/* Whether the device can have the value of a symbol. */
static void check_symbol(struct gt_spirvgen *gen, const char *name)
{
	if (!strcmp(name, "device"))
		gt_spirvgen_fail(gen, -EOPNOTSUPP,
				 "the target spirv does not know the number of the device "
				 "(get_device)");
	if (!strcmp(name, "calls") && gen->options->relative)
		gt_spirvgen_fail(gen, -EOPNOTSUPP,
				 "a map on the host needs a device that accesses the memory of "
				 "the process");
}

/* A word of a symbol: a constant where its address is known, else a specialization constant. */
static uint32_t symbol_word(struct gt_spirvgen *gen, const struct gt_ptxgen_operand *operand)
{
	const struct gt_symbol_values *values = gen->options->symbols;
	unsigned word = (unsigned)operand->offset / 8;
	const char *name = (const char *)(uintptr_t)operand->value.id;
	uint64_t value = 0;
	uint32_t spec_id, id;

	if (operand->value.class == GT_PTXGEN_MAP_SYMBOL) {
		spec_id = 2 * (uint32_t)operand->value.id + word;
		value = values && values->maps ? values->maps[operand->value.id][word] : 0;
	} else {
		check_symbol(gen, name);
		spec_id = find_spec_id(name) + word;
		value = values ? gt_symbol_words(values, name)[word] : 0;
	}
	id = values ? gt_spirvgen_constant(gen, 64, value)
		    : gt_spirv_spec_constant(gen->builder, spec_id, 0);
	return word || spec_id == GT_SPEC_PID_TGID ? id : gt_spirvgen_host_address(gen, id);
}

/* A value of the parameter `context`. */
static uint32_t context_value(struct gt_spirvgen *gen, const struct gt_ptxgen_operand *operand,
			      unsigned bits)
{
	uint32_t offset = gt_spirvgen_constant(gen, 64, (uint32_t)operand->offset);
	uint32_t pointer =
		emit_pointer_after(gen, SpvStorageClassCrossWorkgroup, gen->context, offset, bits);

	return gt_spirvgen_emit(gen, SpvOpLoad, gt_spirvgen_int(gen, bits), pointer,
				SpvMemoryAccessAlignedMask, bits / 8);
}

/* Do the same in both storage classes, of which the address selects one. */
static void in_either_storage(struct gt_spirvgen *gen, struct gt_spirvgen_type type,
			      void (*access)(struct gt_spirvgen *gen, struct gt_spirvgen_type type,
					     enum storage storage, uint32_t address))
{
	uint32_t local = gt_spirv_id(gen->builder), global = gt_spirv_id(gen->builder);
	uint32_t done = gt_spirv_id(gen->builder), address = emit_address(gen);

	if (!gen->local) {
		access(gen, type, STORAGE_GLOBAL, address);
		return;
	}
	gt_spirvgen_branch_if(gen, gt_spirvgen_is_local(gen, address), local, global);
	gt_spirvgen_begin_block(gen, local);
	access(gen, type, STORAGE_LOCAL, address);
	gt_spirvgen_branch(gen, done);
	gt_spirvgen_begin_block(gen, global);
	access(gen, type, STORAGE_GLOBAL, address);
	gt_spirvgen_begin_block(gen, done);
}

void gt_spirvgen_load(struct gt_spirvgen *gen, struct gt_spirvgen_type type)
{
	const struct gt_ptxgen_operand *operand = address_operand(gen->row);
	struct gt_ptxgen_value target = gen->row->operands[0].value;

	switch (gen->row->opcode.space) {
	case GT_PTXGEN_GENERIC:
		in_either_storage(gen, type, load_from);
		break;
	case GT_PTXGEN_CONST:
		gt_spirvgen_write(gen, target, symbol_word(gen, operand), 64, false);
		break;
	case GT_PTXGEN_PARAM:
		gt_spirvgen_write(gen, target, context_value(gen, operand, type.bits), type.bits,
				  false);
		break;
	case GT_PTXGEN_LOCAL:
		load_from(gen, type, STORAGE_LOCAL, emit_address(gen));
		break;
	case GT_PTXGEN_GLOBAL:
		load_from(gen, type, STORAGE_GLOBAL, emit_address(gen));
		break;
	}
}

uint32_t gt_spirvgen_load_shared(struct gt_spirvgen *gen, uint64_t address, unsigned bits)
{
	uint32_t value = gt_spirvgen_host_address(gen, gt_spirvgen_constant(gen, 64, address));

	return gt_spirvgen_emit(gen, SpvOpLoad, gt_spirvgen_int(gen, bits),
				emit_pointer(gen, STORAGE_GLOBAL, value, bits),
				SpvMemoryAccessAlignedMask | SpvMemoryAccessVolatileMask, bits / 8);
}

/* ---- stores ---- */

static void store_to(struct gt_spirvgen *gen, struct gt_spirvgen_type type, enum storage storage,
		     uint32_t address)
{
	uint32_t value = gt_spirvgen_read(gen, gen->row->operands[1].value, type.bits);
	uint32_t pointer = emit_pointer(gen, storage, address, type.bits);

	if (gen->row->opcode.order == GT_PTXGEN_RELEASE && type.bits < 32)
		emit_barrier(gen, scope_of(gen));
	if (is_atomic(gen, storage, type.bits))
		gt_spirv_emit(&gen->code, SpvOpAtomicStore, pointer, scope_of(gen),
			      semantics_of(gen), value);
	else
		gt_spirv_emit(&gen->code, SpvOpStore, pointer, value, access_flags(gen),
			      type.bits / 8);
}

void gt_spirvgen_store(struct gt_spirvgen *gen, struct gt_spirvgen_type type)
{
	if (gen->row->opcode.space == GT_PTXGEN_GENERIC)
		in_either_storage(gen, type, store_to);
	else
		store_to(gen, type,
			 gen->row->opcode.space == GT_PTXGEN_LOCAL ? STORAGE_LOCAL : STORAGE_GLOBAL,
			 emit_address(gen));
}

/* ---- atomic operations ---- */

void gt_spirvgen_atomic(struct gt_spirvgen *gen, struct gt_spirvgen_type type, unsigned opcode)
{
	const struct gt_ptxgen_operand *operands = gen->row->operands;
	bool has_result = operands[0].form != GT_PTXGEN_ADDRESS;
	uint32_t pointer = emit_pointer(gen, STORAGE_GLOBAL, emit_address(gen), type.bits);
	uint32_t value = gt_spirvgen_read(gen, operands[has_result ? 2 : 1].value, type.bits);
	uint32_t result = gt_spirvgen_int(gen, type.bits), id;

	if (type.bits == 64)
		gt_spirv_require(gen->builder, SpvCapabilityInt64Atomics);
	if (opcode == SpvOpAtomicCompareExchange)
		/* A failed exchange has at most the order of a load. */
		id = gt_spirvgen_emit(gen, opcode, result, pointer, scope_of(gen),
				      semantics_of(gen), gt_spirvgen_constant(gen, 32, 0),
				      gt_spirvgen_read(gen, operands[3].value, type.bits), value);
	else
		id = gt_spirvgen_emit(gen, opcode, result, pointer, scope_of(gen),
				      semantics_of(gen), value);
	if (has_result)
		gt_spirvgen_write(gen, operands[0].value, id, type.bits, false);
}
