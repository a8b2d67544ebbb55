/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps, the context, and memory behind pointers of all types. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/ptxgen/map.h"
#include "gpubpf/ptxgen/select.h"

/* ---- maps ---- */

enum gt_ptxgen_space gt_ptxgen_symbol_space(const struct gt_ptxgen *gen)
{
	return gen->options->symbols_global ? GT_PTXGEN_GLOBAL : GT_PTXGEN_CONST;
}

/* The initial value of a symbol, or NULL. */
static const uint64_t *initial_words(const struct gt_ptxgen *gen, struct gt_ptxgen_value symbol)
{
	const struct gt_symbol_values *values = gen->options->symbols;

	if (!values)
		return NULL;
	if (symbol.class == GT_PTXGEN_MAP_SYMBOL)
		return values->maps ? values->maps[symbol.id] : NULL;
	return gt_symbol_words(values, (const char *)(uintptr_t)symbol.id);
}

static void print_initial_words(struct gt_strbuf *declarations, const uint64_t *words,
				unsigned count)
{
	for (unsigned i = 0; words && i < count; i++)
		gt_strbuf_printf(declarations, "%s0x%" PRIx64, i ? ", " : " = {", words[i]);
	if (words)
		gt_strbuf_putc(declarations, '}');
}

struct gt_ptxgen_operand gt_ptxgen_declared(struct gt_ptxgen *gen, struct gt_ptxgen_value symbol,
					    unsigned words)
{
	char name[32];
	struct gt_strbuf *declarations;

	if (symbol.class == GT_PTXGEN_MAP_SYMBOL)
		snprintf(name, sizeof(name), "map_%u", (unsigned)symbol.id);
	else
		snprintf(name, sizeof(name), "%s", (const char *)(uintptr_t)symbol.id);
	declarations = gt_ptxgen_declare(gen, name);
	if (declarations) {
		gt_strbuf_printf(declarations, ".weak .%s .align 8 .b64 %s%s[%u]",
				 gen->options->symbols_global ? "global" : "const", gen->prefix,
				 name, words);
		print_initial_words(declarations, initial_words(gen, symbol), words);
		gt_strbuf_puts(declarations, ";\n");
	}
	return gt_ptxgen_at(symbol, 0);
}

/* A word of a symbol of two words. */
static struct gt_ptxgen_value emit_symbol_load(struct gt_ptxgen *gen, struct gt_ptxgen_value symbol,
					       unsigned word)
{
	struct gt_ptxgen_operand address = gt_ptxgen_declared(gen, symbol, 2);
	struct gt_ptxgen_value value = gt_ptxgen_b64(gen);

	address.offset = (int32_t)(8 * word);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", gt_ptxgen_symbol_space(gen), 'u', 64), value,
		       address);
	return value;
}

static struct gt_ptxgen_value emit_symbol_address(struct gt_ptxgen *gen,
						  struct gt_ptxgen_value symbol)
{
	struct gt_ptxgen_value address = emit_symbol_load(gen, symbol, 0);

	if (!gen->generic)
		gt_ptxgen_emit(gen, "cvta.to.global.u64", address, address);
	return address;
}

/* The address of the multiprocessor's stripe. */
static struct gt_ptxgen_value emit_stripe(struct gt_ptxgen *gen, const struct gt_bpf_map *map,
					  struct gt_ptxgen_value address)
{
	struct gt_ptxgen_value number = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", number, gt_ptxgen_text("%smid"));
	gt_ptxgen_emit(gen, "and.b32", number, number, map->stripes - 1);
	gt_ptxgen_emit(gen, "mad.wide.u32", address, number, (int64_t)gt_bpf_map_stripe_bytes(map),
		       address);
	return address;
}

struct gt_ptxgen_value gt_ptxgen_map_address(struct gt_ptxgen *gen, int32_t map)
{
	const struct gt_bpf_map *known = &gen->object->maps[map];
	struct gt_ptxgen_value address = emit_symbol_address(gen, gt_ptxgen_map_symbol(map));

	/* Other targets have no number of the multiprocessor: they use the first stripe. */
	return known->stripes && !gen->without_lanes ? emit_stripe(gen, known, address) : address;
}

struct gt_ptxgen_value gt_ptxgen_map_copies(struct gt_ptxgen *gen, int32_t map)
{
	return emit_symbol_load(gen, gt_ptxgen_map_symbol(map), 1);
}

struct gt_ptxgen_value gt_ptxgen_output_address(struct gt_ptxgen *gen)
{
	return emit_symbol_address(gen, gt_ptxgen_symbol("output"));
}

struct gt_ptxgen_value gt_ptxgen_calls_address(struct gt_ptxgen *gen)
{
	return emit_symbol_address(gen, gt_ptxgen_symbol("calls"));
}

uint32_t gt_ptxgen_output_bytes(const struct gt_ptxgen *gen)
{
	return gen->options->output_bytes ? gen->options->output_bytes : GT_OUTPUT_BYTES;
}

enum gt_ptxgen_space gt_ptxgen_global(const struct gt_ptxgen *gen)
{
	return gen->generic ? GT_PTXGEN_GENERIC : GT_PTXGEN_GLOBAL;
}

/* Whether a map (-1: one of several) is in memory shared with the host. */
static bool is_shared(const struct gt_ptxgen *gen, int32_t map)
{
	for (uint32_t i = 0; gen->object && i < gen->object->map_count; i++) {
		const struct gt_bpf_map *one = &gen->object->maps[i];

		if ((map < 0 || (uint32_t)map == i) && gt_bpf_map_kind(one->type) &&
		    gt_bpf_map_place(one) == GT_BPF_MAP_SHARED)
			return true;
	}
	return false;
}

enum gt_ptxgen_scope gt_ptxgen_scope(const struct gt_ptxgen *gen, int32_t map)
{
	if (is_shared(gen, map))
		return GT_PTXGEN_SYS;
	return gt_ptxgen_is_modern(gen) ? GT_PTXGEN_GPU : GT_PTXGEN_NO_SCOPE;
}

/* ---- the context ---- */

/* Values that are special registers of 32 bits. */
static const char *const special[] = {
	[GT_SOURCE_THREAD_X] = "%tid.x",
	[GT_SOURCE_THREAD_Y] = "%tid.y",
	[GT_SOURCE_THREAD_Z] = "%tid.z",
	[GT_SOURCE_LANE] = "%laneid",
	[GT_SOURCE_BLOCK_X] = "%ctaid.x",
	[GT_SOURCE_BLOCK_Y] = "%ctaid.y",
	[GT_SOURCE_BLOCK_Z] = "%ctaid.z",
	[GT_SOURCE_BLOCK_SIZE_X] = "%ntid.x",
	[GT_SOURCE_BLOCK_SIZE_Y] = "%ntid.y",
	[GT_SOURCE_BLOCK_SIZE_Z] = "%ntid.z",
	[GT_SOURCE_SM] = "%smid",
	[GT_SOURCE_GRID_SIZE_X] = "%nctaid.x",
	[GT_SOURCE_GRID_SIZE_Y] = "%nctaid.y",
	[GT_SOURCE_GRID_SIZE_Z] = "%nctaid.z",
	[GT_SOURCE_SHARED_SIZE] = "%total_smem_size",
};

/* A fresh .b64 with an operand of 16, 32 or 64 bits. */
static struct gt_ptxgen_value emit_widened(struct gt_ptxgen *gen, struct gt_ptxgen_value operand,
					   unsigned bits)
{
	struct gt_ptxgen_value value = bits == 64 ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen), half;

	if (bits == 16) {
		half = gt_ptxgen_temporary(gen, GT_PTXGEN_B16);
		gt_ptxgen_emit(gen, "mov.u16", half, operand);
		gt_ptxgen_emit(gen, "cvt.u32.u16", value, half);
	} else {
		gt_ptxgen_emit(gen, gt_ptxgen_typed("mov", 'u', bits), value, operand);
	}
	return bits == 64 ? value : gt_ptxgen_widen(gen, value);
}

/* A fresh .b64 with `bits` bits of memory; the opcode has no type yet. */
static struct gt_ptxgen_value emit_load(struct gt_ptxgen *gen, struct gt_ptxgen_opcode opcode,
					unsigned bits, struct gt_ptxgen_operand address)
{
	struct gt_ptxgen_value value = bits == 64 ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen);

	opcode.name = "ld";
	opcode.suffix = gt_ptxgen_type('u', bits);
	gt_ptxgen_emit(gen, opcode, value, address);
	return bits == 64 ? value : gt_ptxgen_widen(gen, value);
}

static const struct gt_ptxgen_opcode parameter = {.space = GT_PTXGEN_PARAM};

/* The number of the warp in its block. */
static struct gt_ptxgen_value emit_warp_number(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value x = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_value y = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_value size = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);

	gt_ptxgen_emit(gen, "mov.u32", x, gt_ptxgen_text("%tid.y"));
	gt_ptxgen_emit(gen, "mov.u32", y, gt_ptxgen_text("%tid.z"));
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.y"));
	gt_ptxgen_emit(gen, "mad.lo.u32", x, y, size, x);
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.x"));
	gt_ptxgen_emit(gen, "mov.u32", y, gt_ptxgen_text("%tid.x"));
	gt_ptxgen_emit(gen, "mad.lo.u32", x, x, size, y);
	gt_ptxgen_emit(gen, "shr.u32", x, x, 5);
	return emit_widened(gen, x, 32);
}

static struct gt_ptxgen_value emit_own_mask(struct gt_ptxgen *gen)
{
	return emit_widened(gen,
			    gen->lanes == GT_PTXGEN_EACH ? gt_ptxgen_active_mask(gen)
							 : gt_ptxgen_of_group(GT_PTXGEN_GROUP),
			    32);
}

/* Load a value from the parameter `context`, in the form "kernel". */
static struct gt_ptxgen_value emit_context_load(struct gt_ptxgen *gen,
						enum gt_context_source source, uint32_t index)
{
	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (field->source != source || index >= field->count ||
		    !(field->kinds >> gen->job->section->kind & 1))
			continue;
		return emit_load(gen, parameter, field->size * 8,
				 gt_ptxgen_at(gt_ptxgen_symbol("context"),
					      field->offset + index * field->size));
	}
	return emit_widened(gen, gt_ptxgen_signed(0), 64);
}

static struct gt_ptxgen_value emit_own_source(struct gt_ptxgen *gen, enum gt_context_source source,
					      uint32_t index)
{
	for (uint32_t i = 0; i < gen->job->value_count; i++) {
		const struct gt_site_value *site = &gen->job->values[i];

		if (site->source != source || site->index != index)
			continue;
		if (site->kind == GT_SITE_OPERAND)
			return emit_widened(gen, gt_ptxgen_text(site->operand), site->bits);
		return emit_load(gen, parameter, site->bits,
				 gt_ptxgen_at(gt_ptxgen_text(site->operand), 0));
	}
	if (source < gt_countof(special) && special[source])
		return emit_widened(gen, gt_ptxgen_text(special[source]), 32);
	if (source == GT_SOURCE_WARP && gen->without_lanes)
		return emit_widened(gen, gt_ptxgen_text(GT_PTXGEN_WARP_NUMBER), 32);
	if (source == GT_SOURCE_WARP)
		return emit_warp_number(gen);
	if (source == GT_SOURCE_LAUNCH)
		return emit_widened(gen, gt_ptxgen_text("%gridid"), 64);
	if (source == GT_SOURCE_MASK)
		return emit_own_mask(gen);
	if (source == GT_SOURCE_PREDICATE && gen->job->section->kind != GT_KIND_BRANCH)
		return emit_widened(gen, gt_ptxgen_signed(1), 64);
	if (source == GT_SOURCE_PREDICATE)
		return emit_own_source(gen, GT_SOURCE_TAKEN, 0);
	if (gen->options->form == GT_FORM_KERNEL)
		return emit_context_load(gen, source, index);
	return emit_widened(gen, gt_ptxgen_signed(0), 64);
}

/* Whether a value of the thread differs between the lanes of a warp. */
static bool differs_between_lanes(enum gt_context_source source)
{
	return source <= GT_SOURCE_LANE || source == GT_SOURCE_CYCLES ||
	       source == GT_SOURCE_TRIPS || source == GT_SOURCE_REGISTER;
}

struct gt_ptxgen_value gt_ptxgen_bounded_source(struct gt_ptxgen *gen,
						enum gt_context_source source, uint32_t index)
{
	struct gt_ptxgen_value value = gt_ptxgen_source(gen, source, index), bounded;

	if (source != GT_SOURCE_SM)
		return value;
	bounded = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "min.u32", bounded, gt_ptxgen_low_half(gen, value), GT_MAX_SM);
	return gt_ptxgen_widen(gen, bounded);
}

struct gt_ptxgen_value gt_ptxgen_source(struct gt_ptxgen *gen, enum gt_context_source source,
					uint32_t index)
{
	struct gt_ptxgen_value value = emit_own_source(gen, source, index);

	if (gen->lanes == GT_PTXGEN_ALL && !gen->by_leader && differs_between_lanes(source))
		return gt_ptxgen_of_leader(gen, value);
	return value;
}

static struct gt_ptxgen_value emit_field_load(struct gt_ptxgen *gen, int64_t offset, unsigned width)
{
	struct gt_context_load load;
	struct gt_ptxgen_value value = gt_ptxgen_signed(0), moved, part;

	if (!gen->job->section ||
	    gt_context_find(gen->job->section, (uint32_t)offset, width, &load)) {
		gt_ptxgen_fail(gen, -EINVAL, "the context has no field at %" PRId64, offset);
		return value;
	}
	value = gt_ptxgen_bounded_source(gen, load.field->source, load.index);
	if (width == load.field->size)
		return value;
	moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "shr.u64", moved, value, load.shift);
	part = gt_ptxgen_low_half(gen, moved);
	if (width < 4)
		gt_ptxgen_emit(gen, "and.b32", part, part, gt_ptxgen_hex((1u << 8 * width) - 1));
	return gt_ptxgen_widen(gen, part);
}

/* ---- pointers ---- */

const struct gt_register_fact *gt_ptxgen_fact(const struct gt_ptxgen *gen, unsigned number)
{
	return &gen->facts->insns[gen->at].registers[number];
}

/* Whether a pointer refers, or may refer, to the copy of a value of the host, in local memory. */
static bool may_be_copy(const struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	if (!gen->has_calls || (fact->type != GT_REG_MAP_VALUE && fact->type != GT_REG_MIXED))
		return false;
	return fact->type == GT_REG_MIXED || fact->map < 0 ||
	       gt_bpf_map_is_on_host(&gen->object->maps[fact->map]);
}

static enum gt_ptxgen_space space_of(const struct gt_ptxgen *gen,
				     const struct gt_register_fact *fact)
{
	if (gen->generic || may_be_copy(gen, fact))
		return GT_PTXGEN_GENERIC;
	return fact->type == GT_REG_STACK ? GT_PTXGEN_LOCAL : GT_PTXGEN_GLOBAL;
}

/*
 * The order, scope and state space of a load or store. Other threads change maps at the same time:
 * accesses to them are strong, so that they see the changes and are not torn. No other thread
 * changes the memory of raw programs and the records of rings.
 */
static struct gt_ptxgen_opcode access_opcode(const struct gt_ptxgen *gen,
					     const struct gt_register_fact *fact)
{
	struct gt_ptxgen_opcode opcode = {.space = space_of(gen, fact)};

	if (fact->type != GT_REG_MAP_VALUE || may_be_copy(gen, fact) ||
	    (fact->map >= 0 && gen->object->maps[fact->map].read_only))
		return opcode;
	opcode.order = GT_PTXGEN_VOLATILE;
	if (gt_ptxgen_is_modern(gen)) {
		opcode.order = GT_PTXGEN_RELAXED;
		opcode.scope = is_shared(gen, fact->map) ? GT_PTXGEN_SYS : GT_PTXGEN_GPU;
	}
	return opcode;
}

/* The value of bytes at a constant offset of a constant map. */
static bool known_bytes(const struct gt_ptxgen *gen, const struct gt_register_fact *fact,
			int64_t offset, unsigned width, uint64_t *ret_value)
{
	const struct gt_bpf_map *map;
	int64_t at = fact->min + offset;

	if (fact->type != GT_REG_MAP_VALUE || fact->map < 0 || fact->min != fact->max)
		return false;
	map = &gen->object->maps[fact->map];
	if (!map->constant || map->max_entries != 1 || at < 0 || at + width > map->value_size)
		return false;
	*ret_value = 0;
	if (map->initial)
		memcpy(ret_value, map->initial + at, width);
	return true;
}

/* The width of the aligned accesses that make an access of `width` bytes. */
static unsigned aligned_width(const struct gt_register_fact *fact, int64_t offset, unsigned width)
{
	unsigned alignment = gt_ptxgen_alignment((int64_t)fact->alignment | offset);

	return alignment < width ? alignment : width;
}

struct gt_ptxgen_value gt_ptxgen_load(struct gt_ptxgen *gen, unsigned number, int64_t offset,
				      unsigned width)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	unsigned part = aligned_width(fact, offset, width);
	struct gt_ptxgen_value parts[8], base;
	uint64_t known;

	if (fact->type == GT_REG_CONTEXT)
		return emit_field_load(gen, fact->min + offset, width);
	if (gt_ptxgen_is_own_stack(fact))
		return gt_ptxgen_stack_load(gen, fact->min + offset, width);
	if (known_bytes(gen, fact, offset, width, &known)) {
		parts[0] = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "mov.b64", parts[0], gt_ptxgen_hex(known));
		return parts[0];
	}
	base = gt_ptxgen_reg64(gen, number);
	for (unsigned i = 0; i < width / part; i++)
		parts[i] = emit_load(gen, access_opcode(gen, fact), part * 8,
				     gt_ptxgen_at(base, offset + i * part));
	return gt_ptxgen_combine(gen, parts, width / part, part);
}

void gt_ptxgen_store(struct gt_ptxgen *gen, unsigned number, int64_t offset, unsigned width,
		     struct gt_ptxgen_value value)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	unsigned part = aligned_width(fact, offset, width);
	struct gt_ptxgen_value base, moved;
	struct gt_ptxgen_opcode opcode;

	if (gt_ptxgen_is_own_stack(fact)) {
		gt_ptxgen_stack_store(gen, fact->min + offset, width, value);
		return;
	}
	base = gt_ptxgen_reg64(gen, number);
	opcode = access_opcode(gen, fact);
	opcode.name = "st";
	opcode.suffix = gt_ptxgen_type('u', part * 8);
	for (unsigned i = 0; i < width / part; i++) {
		moved = value;
		if (i) {
			moved = gt_ptxgen_b64(gen);
			gt_ptxgen_emit(gen, "shr.u64", moved, value, 8 * part * i);
		}
		gt_ptxgen_emit(gen, opcode, gt_ptxgen_at(base, offset + i * part), moved);
	}
}

unsigned gt_ptxgen_access_width(const struct gt_ptxgen *gen, unsigned number, uint32_t size)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int64_t alignment =
		gt_ptxgen_is_own_stack(fact) ? fact->min : (int64_t)(uint64_t)fact->alignment;

	return gt_ptxgen_alignment(alignment | (int64_t)size);
}

struct gt_ptxgen_value gt_ptxgen_pointer(struct gt_ptxgen *gen, unsigned number,
					 enum gt_ptxgen_space *ret_space)
{
	*ret_space = space_of(gen, gt_ptxgen_fact(gen, number));
	return gt_ptxgen_reg64(gen, number);
}

/* ---- instructions ---- */

/*
 * The value of a register that is stored. An index of the thread is read again (rematerialization:
 * Muchnick, Advanced Compiler Design and Implementation, 16.3), so that it needs no register from
 * the load to the store. ptxas would read it early and keep it.
 */
static struct gt_ptxgen_value emit_stored_value(struct gt_ptxgen *gen, unsigned number)
{
	enum gt_context_source source = gt_ptxgen_stored_source(gen);

	if (source == GT_SOURCE_NONE || gen->lanes == GT_PTXGEN_ALL)
		return gt_ptxgen_reg64(gen, number);
	return gt_ptxgen_source(gen, source, 0);
}

void gt_ptxgen_access(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned width = gt_bpf_access_size(insn);
	struct gt_ptxgen_value value, wide;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		value = gt_ptxgen_load(gen, insn->src_reg, insn->off, width);
		if (BPF_MODE(insn->code) == BPF_MEMSX) {
			wide = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
			gt_ptxgen_emit(gen, gt_ptxgen_typed("cvt.s64", 's', width * 8), wide,
				       value);
			value = wide;
		}
		gt_ptxgen_write_reg64(gen, insn->dst_reg, value);
		break;
	case BPF_ST:
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "mov.b64", value, insn->imm);
		gt_ptxgen_store(gen, insn->dst_reg, insn->off, width, value);
		break;
	default:
		gt_ptxgen_store(gen, insn->dst_reg, insn->off, width,
				emit_stored_value(gen, insn->src_reg));
	}
}

void gt_ptxgen_lddw(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint64_t low = (uint32_t)insn->imm, high = (uint32_t)insn[1].imm;
	struct gt_ptxgen_value value, base;

	if (gt_bpf_is_function(insn)) {
		value = gt_ptxgen_function_address(
			(uint32_t)gt_bpf_jump_target(gen->job->program->insns, gen->at));
	} else if (insn->src_reg == GT_BPF_IMM_SCALAR) {
		value = gt_ptxgen_hex(high << 32 | low);
	} else if (insn->src_reg == GT_BPF_IMM_MAP_INDEX) {
		value = gt_ptxgen_map_handle((uint32_t)low);
	} else {
		base = gt_ptxgen_map_address(gen, insn->imm);
		value = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "add.s64", value, base, high);
	}
	gt_ptxgen_write_reg64(gen, insn->dst_reg, value);
}
