/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/spirv/access.h"

#include <errno.h>
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "spirv/types.h"

#define KIND(name) (1u << GT_KIND_##name)

/* ---- memory accesses ------------------------------------------------------------------- */

/* Where the operands of an access are, as words of the instruction; 0: it has none. */
#define ROW(name) SpvOp##name, "Op" #name
static const struct access_row {
	unsigned opcode;
	const char *name;
	enum gt_memory_access kind;
	uint8_t pointer, value;
} access_rows[] = {
	{ROW(Load), GT_MEMORY_LOAD, 3, 2},
	{ROW(Store), GT_MEMORY_STORE, 1, 2},
	{ROW(AtomicLoad), GT_MEMORY_LOAD, 3, 2},
	{ROW(AtomicStore), GT_MEMORY_STORE, 1, 4},
	{ROW(AtomicExchange), GT_MEMORY_ATOMIC, 3, 6},
	/* The value that is compared, as the first operand of PTX's atom.cas. */
	{ROW(AtomicCompareExchange), GT_MEMORY_ATOMIC, 3, 8},
	{ROW(AtomicCompareExchangeWeak), GT_MEMORY_ATOMIC, 3, 8},
	{ROW(AtomicIIncrement), GT_MEMORY_ATOMIC, 3, 0},
	{ROW(AtomicIDecrement), GT_MEMORY_ATOMIC, 3, 0},
	{ROW(AtomicIAdd), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicISub), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicSMin), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicUMin), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicSMax), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicUMax), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicAnd), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicOr), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicXor), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicFlagTestAndSet), GT_MEMORY_ATOMIC, 3, 0},
	{ROW(AtomicFlagClear), GT_MEMORY_ATOMIC, 1, 0},
	{ROW(AtomicFMinEXT), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicFMaxEXT), GT_MEMORY_ATOMIC, 3, 6},
	{ROW(AtomicFAddEXT), GT_MEMORY_ATOMIC, 3, 6},
};

static const struct access_row *find_access_row(unsigned opcode)
{
	for (size_t i = 0; i < gt_countof(access_rows); i++)
		if (access_rows[i].opcode == opcode)
			return &access_rows[i];
	return NULL;
}

const char *gt_spirv_opcode_name(unsigned opcode)
{
	const struct access_row *row = find_access_row(opcode);

	switch (opcode) {
	case SpvOpExtInst:
		return "OpExtInst";
	case SpvOpControlBarrier:
		return "OpControlBarrier";
	case SpvOpBranch:
		return "OpBranch";
	case SpvOpBranchConditional:
		return "OpBranchConditional";
	default:
		return row ? row->name : "";
	}
}

uint32_t gt_spirv_extended_opcode(const struct gt_spirv_module *module,
				  const struct gt_spirv_instruction *instruction)
{
	const struct gt_spirv_instruction *set;

	if (instruction->opcode != SpvOpExtInst || instruction->count < 5)
		return UINT32_MAX;
	set = gt_spirv_definition(module, instruction->words[3]);
	if (!set || set->opcode != SpvOpExtInstImport || set->count != 5 ||
	    memcmp(set->words + 2, "OpenCL.std", sizeof("OpenCL.std")) != 0)
		return UINT32_MAX;
	return instruction->words[4];
}

/* vloadn: offset, pointer, n; vstoren: value, offset, pointer. */
static bool read_extended(const struct gt_spirv_module *module,
			  const struct gt_spirv_instruction *instruction,
			  struct gt_spirv_access *access)
{
	const uint32_t *words = instruction->words;

	switch (gt_spirv_extended_opcode(module, instruction)) {
	case OpenCLstd_Vloadn:
		access->kind = GT_MEMORY_LOAD;
		access->value = words[2];
		access->offset = instruction->count == 8 ? words[5] : 0;
		access->pointer = words[6];
		return access->offset;
	case OpenCLstd_Vstoren:
		access->kind = GT_MEMORY_STORE;
		access->value = instruction->count == 8 ? words[5] : 0;
		access->offset = words[6];
		access->pointer = words[7];
		return access->value;
	default:
		return false;
	}
}

static bool read_operands(const struct gt_spirv_module *module,
			  const struct gt_spirv_instruction *instruction,
			  struct gt_spirv_access *access)
{
	const struct access_row *row = find_access_row(instruction->opcode);

	if (instruction->opcode == SpvOpExtInst)
		return read_extended(module, instruction, access);
	if (!row || instruction->count <= row->pointer || instruction->count <= row->value)
		return false;
	access->kind = row->kind;
	access->pointer = instruction->words[row->pointer];
	access->value = row->value ? instruction->words[row->value] : 0;
	return true;
}

/* -ENOENT: accesses to this storage class are no sites. */
static int read_space(uint32_t storage, enum gt_bpf_space *ret_space)
{
	switch (storage) {
	case SpvStorageClassCrossWorkgroup:
		*ret_space = GT_SPACE_GLOBAL;
		return 0;
	case SpvStorageClassWorkgroup:
		*ret_space = GT_SPACE_SHARED;
		return 0;
	case SpvStorageClassFunction:
		*ret_space = GT_SPACE_LOCAL;
		return 0;
	case SpvStorageClassGeneric:
		*ret_space = GT_SPACE_GENERIC;
		return 0;
	default:
		return -ENOENT;
	}
}

int gt_spirv_read_access(const struct gt_spirv_module *module,
			 const struct gt_spirv_instruction *instruction,
			 struct gt_spirv_access *ret_access)
{
	struct gt_spirv_access access = {0};
	const struct gt_spirv_instruction *value;
	uint32_t storage, type;
	uint64_t width;

	if (!read_operands(module, instruction, &access) ||
	    gt_spirv_pointer_of(module, access.pointer, &storage, &type) ||
	    read_space(storage, &access.space))
		return -ENOENT;
	value = access.value ? gt_spirv_definition(module, access.value) : NULL;
	access.value_type = value && value->count > 2 && gt_spirv_type_of(module, access.value)
				    ? value->words[1]
				    : 0;
	if (!access.value_type)
		access.value = 0;
	width = gt_spirv_type_size(module, access.value ? access.value_type : type);
	if (!width || width > GT_MAX_ACCESS_WIDTH)
		return -E2BIG;
	access.width = (uint32_t)width;
	*ret_access = access;
	return 0;
}

/* ---- registers ------------------------------------------------------------------------- */

struct register_search {
	const struct gt_spirv_module *module;
	uint32_t *roots;  /* by id of a pointer: the variable that it is into; 0: none */
	uint8_t *escaped; /* by id of a variable */
};

static uint32_t root_of(const struct register_search *search, uint32_t id)
{
	return id < search->module->bound ? search->roots[id] : 0;
}

static void mark_escaped(struct register_search *search, uint32_t id)
{
	search->escaped[root_of(search, id)] = 1;
}

/* A pointer into a variable, whose place there is known unless an index is not constant. */
static void follow_chain(struct register_search *search,
			 const struct gt_spirv_instruction *instruction)
{
	uint32_t root = instruction->count > 3 ? root_of(search, instruction->words[3]) : 0;
	uint64_t index;

	if (!root)
		return;
	search->roots[instruction->words[2]] = root;
	for (unsigned i = 4; i < instruction->count; i++)
		if (gt_spirv_constant_of(search->module, instruction->words[i], &index))
			search->escaped[root] = 1;
}

/* Instructions with numbers as operands, and those that refer to a variable without accessing it.
 */
static bool is_harmless(unsigned opcode)
{
	switch (opcode) {
	case SpvOpLoad:
	case SpvOpCompositeExtract:
	case SpvOpVectorShuffle:
	case SpvOpBranch:
	case SpvOpBranchConditional:
	case SpvOpSwitch:
	case SpvOpLoopMerge:
	case SpvOpSelectionMerge:
	case SpvOpLine:
	case SpvOpNoLine:
	case SpvOpLifetimeStart:
	case SpvOpLifetimeStop:
		return true;
	default:
		return false;
	}
}

static void examine_pointers(struct register_search *search,
			     const struct gt_spirv_instruction *instruction)
{
	bool has_type, has_result;

	switch (instruction->opcode) {
	case SpvOpVariable:
		if (instruction->count > 3 && instruction->words[3] == SpvStorageClassFunction)
			search->roots[instruction->words[2]] = instruction->words[2];
		return;
	case SpvOpStore:
		if (instruction->count > 2)
			mark_escaped(search, instruction->words[2]);
		return;
	case SpvOpBitcast:
	case SpvOpAccessChain:
	case SpvOpInBoundsAccessChain:
	case SpvOpPtrAccessChain:
	case SpvOpInBoundsPtrAccessChain:
		follow_chain(search, instruction);
		return;
	default:
		break;
	}
	if (is_harmless(instruction->opcode))
		return;
	gt_spirv_results(instruction->opcode, &has_type, &has_result);
	for (unsigned i = 1u + has_type + has_result; i < instruction->count; i++)
		mark_escaped(search, instruction->words[i]);
}

uint8_t *gt_spirv_find_registers(const struct gt_spirv_module *module)
{
	gt_autofree uint32_t *roots = calloc(module->bound, sizeof(*roots));
	gt_autofree uint8_t *escaped = calloc(module->bound, 1);
	struct register_search search = {module, roots, escaped};
	uint8_t *registers = calloc(module->bound, 1);

	if (!roots || !escaped || !registers) {
		free(registers);
		return NULL;
	}
	for (size_t i = module->sections[GT_SPIRV_FUNCTIONS]; i < module->instructions.count; i++)
		examine_pointers(&search, &module->instructions.items[i]);
	for (uint32_t id = 1; id < module->bound; id++)
		registers[id] = roots[id] && !escaped[roots[id]];
	return registers;
}

/* ---- kinds ----------------------------------------------------------------------------- */

static uint32_t kinds_of_access(enum gt_memory_access kind)
{
	switch (kind) {
	case GT_MEMORY_LOAD:
		return KIND(LOAD) | KIND(LOAD_BEGIN);
	case GT_MEMORY_STORE:
		return KIND(STORE);
	case GT_MEMORY_ATOMIC:
		return KIND(ATOMIC);
	default:
		return 0;
	}
}

static bool is_register(const uint8_t *registers, const struct gt_spirv_module *module,
			uint32_t pointer)
{
	return pointer < module->bound && registers[pointer];
}

/* Whether a barrier is one of a work-group. */
static bool is_group_barrier(const struct gt_spirv_module *module,
			     const struct gt_spirv_instruction *instruction)
{
	uint64_t scope;

	return instruction->count == 4 &&
	       (gt_spirv_constant_of(module, instruction->words[1], &scope) ||
		scope == SpvScopeWorkgroup);
}

uint32_t gt_spirv_instruction_kinds(const struct gt_spirv_module *module,
				    const struct gt_spirv_instruction *instruction,
				    const uint8_t *registers)
{
	struct gt_spirv_access access;

	if (instruction->opcode == SpvOpControlBarrier)
		return is_group_barrier(module, instruction) ? KIND(BARRIER) | KIND(BARRIER_END)
							     : 0;
	if (gt_spirv_read_access(module, instruction, &access) ||
	    is_register(registers, module, access.pointer))
		return 0;
	return kinds_of_access(access.kind);
}

/* ---- what is rejected ------------------------------------------------------------------ */

/* Extended instructions that convert what they load or store. */
static uint32_t converting_kinds(uint32_t opcode)
{
	switch (opcode) {
	case OpenCLstd_Vload_half:
	case OpenCLstd_Vload_halfn:
	case OpenCLstd_Vloada_halfn:
		return KIND(LOAD) | KIND(LOAD_BEGIN);
	case OpenCLstd_Vstore_half:
	case OpenCLstd_Vstore_half_r:
	case OpenCLstd_Vstore_halfn:
	case OpenCLstd_Vstore_halfn_r:
	case OpenCLstd_Vstorea_halfn:
	case OpenCLstd_Vstorea_halfn_r:
		return KIND(STORE);
	default:
		return 0;
	}
}

/* The kinds of an access by a pointer: none to constants, built-in values and registers. */
static uint32_t pointer_kinds(const struct gt_spirv_module *module, const uint8_t *registers,
			      uint32_t pointer, uint32_t kinds)
{
	enum gt_bpf_space space;
	uint32_t storage, type;

	if (gt_spirv_pointer_of(module, pointer, &storage, &type) || read_space(storage, &space))
		return 0;
	return is_register(registers, module, pointer) ? 0 : kinds;
}

/* Copies from one pointer to another. */
static uint32_t copying_kinds(const struct gt_spirv_module *module,
			      const struct gt_spirv_instruction *instruction,
			      const uint8_t *registers)
{
	if (instruction->count < 3)
		return 0;
	return pointer_kinds(module, registers, instruction->words[1], KIND(STORE)) |
	       pointer_kinds(module, registers, instruction->words[2],
			     KIND(LOAD) | KIND(LOAD_BEGIN));
}

static uint32_t oversized_kinds(const struct gt_spirv_module *module,
				const struct gt_spirv_instruction *instruction,
				const uint8_t *registers)
{
	struct gt_spirv_access access = {0};

	if (gt_spirv_read_access(module, instruction, &access) != -E2BIG ||
	    !read_operands(module, instruction, &access))
		return 0;
	return pointer_kinds(module, registers, access.pointer, kinds_of_access(access.kind));
}

uint32_t gt_spirv_rejected_kinds(const struct gt_spirv_module *module,
				 const struct gt_spirv_instruction *instruction,
				 const uint8_t *registers, const char **ret_reason)
{
	switch (instruction->opcode) {
	case SpvOpSwitch:
		*ret_reason = "branches to one of several targets (OpSwitch) are no sites";
		return KIND(BRANCH) | KIND(LOOP);
	case SpvOpCopyMemory:
	case SpvOpCopyMemorySized:
		*ret_reason = "copies from memory to memory (OpCopyMemory) are no sites";
		return copying_kinds(module, instruction, registers);
	case SpvOpGroupAsyncCopy:
		*ret_reason = "copies by a work-group (async_work_group_copy) are no sites";
		return KIND(COPY);
	case SpvOpExtInst:
		*ret_reason = "accesses that convert half numbers (vload_half …) are no sites";
		if (converting_kinds(gt_spirv_extended_opcode(module, instruction)))
			return converting_kinds(gt_spirv_extended_opcode(module, instruction));
		break;
	default:
		break;
	}
	*ret_reason = "accesses of more than 32 bytes, or of an unknown size, are no sites";
	return oversized_kinds(module, instruction, registers);
}
