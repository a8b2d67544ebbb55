/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps, and memory behind pointers of every kind. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/ptxgen/map.h"

/* ---- maps ---- */

static const char *symbol_space(const struct gt_ptxgen *gen)
{
	return gen->options->symbols_global ? "global" : "const";
}

/* Word `word` of a symbol, which is declared if it was not. */
static struct gt_ptxgen_name load_symbol(struct gt_ptxgen *gen, const char *name, unsigned word)
{
	struct gt_strbuf *declarations = gt_ptxgen_declare(gen, name);
	struct gt_ptxgen_name value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

	if (declarations)
		gt_strbuf_printf(declarations, ".weak .%s .align 8 .b64 %s%s[2];\n",
				 symbol_space(gen), gen->prefix, name);
	gt_ptxgen_emit(gen, "ld.%s.u64 %s, [%s%s+%u]", symbol_space(gen), value.text, gen->prefix,
		       name, 8 * word);
	return value;
}

static struct gt_ptxgen_name load_address(struct gt_ptxgen *gen, const char *name)
{
	struct gt_ptxgen_name address = load_symbol(gen, name, 0);

	if (!gen->generic)
		gt_ptxgen_emit(gen, "cvta.to.global.u64 %s, %s", address.text, address.text);
	return address;
}

static struct gt_ptxgen_name map_symbol(int32_t map)
{
	struct gt_ptxgen_name name;

	snprintf(name.text, sizeof(name.text), "map_%d", map);
	return name;
}

struct gt_ptxgen_name gt_ptxgen_map_address(struct gt_ptxgen *gen, int32_t map)
{
	return load_address(gen, map_symbol(map).text);
}

struct gt_ptxgen_name gt_ptxgen_map_copies(struct gt_ptxgen *gen, int32_t map)
{
	return load_symbol(gen, map_symbol(map).text, 1);
}

struct gt_ptxgen_name gt_ptxgen_output_address(struct gt_ptxgen *gen)
{
	return load_address(gen, "output");
}

uint32_t gt_ptxgen_output_bytes(const struct gt_ptxgen *gen)
{
	return gen->options->output_bytes ? gen->options->output_bytes : GT_OUTPUT_BYTES;
}

const char *gt_ptxgen_global(const struct gt_ptxgen *gen)
{
	return gen->generic ? "" : ".global";
}

/* Whether a map, or one of several that it may be, is in memory shared with the host. */
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

const char *gt_ptxgen_scope(const struct gt_ptxgen *gen, int32_t map)
{
	if (is_shared(gen, map))
		return ".sys";
	return gt_ptxgen_is_modern(gen) ? ".gpu" : "";
}

/* ---- the context ---- */

/* What a thread knows by itself: special registers of 32 bits, but %gridid. */
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
};

static struct gt_ptxgen_name widen(struct gt_ptxgen *gen, const char *operand, unsigned bits)
{
	struct gt_ptxgen_name value = gt_ptxgen_temporary(gen, bits == 64 ? GT_PTXGEN_B64
									  : GT_PTXGEN_B32),
			      half;

	if (bits == 16) {
		half = gt_ptxgen_temporary(gen, GT_PTXGEN_B16);
		gt_ptxgen_emit(gen, "mov.u16 %s, %s", half.text, operand);
		gt_ptxgen_emit(gen, "cvt.u32.u16 %s, %s", value.text, half.text);
	} else {
		gt_ptxgen_emit(gen, "mov.u%u %s, %s", bits, value.text, operand);
	}
	return bits == 64 ? value : gt_ptxgen_widen(gen, &value);
}

/* "ld<how>.u<bits>" of memory at `place`, as a .b64. */
static struct gt_ptxgen_name load_bits(struct gt_ptxgen *gen, const char *how, unsigned bits,
				       const char *place)
{
	struct gt_ptxgen_name value =
		gt_ptxgen_temporary(gen, bits == 64 ? GT_PTXGEN_B64 : GT_PTXGEN_B32);

	gt_ptxgen_emit(gen, "ld%s.u%u %s, [%s]", how, bits, value.text, place);
	return bits == 64 ? value : gt_ptxgen_widen(gen, &value);
}

/* The number of the thread in its block, divided by the lanes of a warp. */
static struct gt_ptxgen_name warp_number(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name x = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_name y = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_name size = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);

	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.y", x.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.z", y.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.y", size.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, %s, %s", x.text, y.text, size.text, x.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.x", size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.x", y.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, %s, %s", x.text, x.text, size.text, y.text);
	gt_ptxgen_emit(gen, "shr.u32 %s, %s, 5", x.text, x.text);
	return widen(gen, x.text, 32);
}

static struct gt_ptxgen_name own_mask(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name group;

	if (gen->lanes == GT_PTXGEN_EACH) {
		group = gt_ptxgen_active_mask(gen);
	} else {
		snprintf(group.text, sizeof(group.text), "%sgroup", gen->prefix);
	}
	return widen(gen, group.text, 32);
}

/* The field of the parameter `context` with a value, in the form "kernel". */
static struct gt_ptxgen_name load_context(struct gt_ptxgen *gen, enum gt_context_source source,
					  uint32_t index)
{
	char place[64];

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (field->source != source || index >= field->count ||
		    !(field->kinds >> gen->job->section->kind & 1))
			continue;
		snprintf(place, sizeof(place), "%scontext+%u", gen->prefix,
			 field->offset + index * field->size);
		return load_bits(gen, ".param", field->size * 8, place);
	}
	return widen(gen, "0", 64);
}

static struct gt_ptxgen_name own_source(struct gt_ptxgen *gen, enum gt_context_source source,
					uint32_t index)
{
	for (uint32_t i = 0; i < gen->job->value_count; i++) {
		const struct gt_site_value *site = &gen->job->values[i];

		if (site->source != source || site->index != index)
			continue;
		if (site->kind == GT_SITE_OPERAND)
			return widen(gen, site->operand, site->bits);
		return load_bits(gen, ".param", site->bits, site->operand);
	}
	if (source < gt_countof(special) && special[source])
		return widen(gen, special[source], 32);
	if (source == GT_SOURCE_WARP)
		return warp_number(gen);
	if (source == GT_SOURCE_LAUNCH)
		return widen(gen, "%gridid", 64);
	if (source == GT_SOURCE_MASK)
		return own_mask(gen);
	if (source == GT_SOURCE_PREDICATE && gen->job->section->kind != GT_KIND_BRANCH)
		return widen(gen, "1", 64);
	if (source == GT_SOURCE_PREDICATE)
		return own_source(gen, GT_SOURCE_TAKEN, 0);
	if (gen->options->form == GT_FORM_KERNEL)
		return load_context(gen, source, index);
	return widen(gen, "0", 64);
}

/* Whether lanes of a warp have values of their own of what a thread knows itself. */
static bool is_lanes_own(enum gt_context_source source)
{
	return source <= GT_SOURCE_LANE;
}

struct gt_ptxgen_name gt_ptxgen_source(struct gt_ptxgen *gen, enum gt_context_source source,
				       uint32_t index)
{
	struct gt_ptxgen_name value = own_source(gen, source, index);

	if (gen->lanes == GT_PTXGEN_ALL && !gen->by_leader && is_lanes_own(source))
		return gt_ptxgen_of_leader(gen, &value);
	return value;
}

static struct gt_ptxgen_name load_field(struct gt_ptxgen *gen, int64_t offset, unsigned width)
{
	struct gt_context_load load;
	struct gt_ptxgen_name value = {"0"}, moved, part;

	if (!gen->job->section ||
	    gt_context_find(gen->job->section, (uint32_t)offset, width, &load)) {
		gt_ptxgen_fail(gen, -EINVAL, "there is no field at %" PRId64 " of the context",
			       offset);
		return value;
	}
	value = gt_ptxgen_source(gen, load.field->source, load.index);
	if (width == load.field->size)
		return value;
	moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "shr.u64 %s, %s, %u", moved.text, value.text, load.shift);
	part = gt_ptxgen_low(gen, moved.text);
	if (width < 4)
		gt_ptxgen_emit(gen, "and.b32 %s, %s, 0x%x", part.text, part.text,
			       (1u << 8 * width) - 1);
	return gt_ptxgen_widen(gen, &part);
}

/* ---- pointers ---- */

const struct gt_register_fact *gt_ptxgen_fact(const struct gt_ptxgen *gen, unsigned number)
{
	return &gen->facts->insns[gen->at].registers[number];
}

static const char *space_of(const struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	if (gen->generic)
		return "";
	return fact->type == GT_REG_STACK ? ".local" : ".global";
}

/*
 * Others change maps at the same time: such accesses are "strong", so that they see it and are not
 * torn. The memory of raw programs and the records of rings are nobody else's.
 */
static const char *strength(const struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	const struct gt_bpf_object *object = gen->object;

	if (fact->type != GT_REG_MAP_VALUE || (fact->map >= 0 && object->maps[fact->map].read_only))
		return "";
	if (!gt_ptxgen_is_modern(gen))
		return ".volatile";
	return is_shared(gen, fact->map) ? ".relaxed.sys" : ".relaxed.gpu";
}

/* The value of a constant map's bytes, where it is known which. */
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

/* How wide the accesses may be for an access of `width` bytes. */
static unsigned aligned_width(const struct gt_register_fact *fact, int64_t offset, unsigned width)
{
	unsigned alignment = gt_ptxgen_alignment((int64_t)fact->alignment | offset);

	return alignment < width ? alignment : width;
}

struct gt_ptxgen_name gt_ptxgen_load(struct gt_ptxgen *gen, unsigned number, int64_t offset,
				     unsigned width)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	unsigned part = aligned_width(fact, offset, width);
	struct gt_ptxgen_name parts[8], base;
	struct gt_ptxgen_text how, place;
	uint64_t known;

	if (fact->type == GT_REG_CONTEXT)
		return load_field(gen, fact->min + offset, width);
	if (gt_ptxgen_is_own_stack(fact))
		return gt_ptxgen_stack_load(gen, fact->min + offset, width);
	if (known_bytes(gen, fact, offset, width, &known)) {
		parts[0] = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "mov.b64 %s, 0x%" PRIx64, parts[0].text, known);
		return parts[0];
	}
	base = gt_ptxgen_register(gen, number);
	snprintf(how.text, sizeof(how.text), "%s%s", strength(gen, fact), space_of(gen, fact));
	for (unsigned i = 0; i < width / part; i++) {
		snprintf(place.text, sizeof(place.text), "%s+%" PRId64, base.text,
			 offset + i * part);
		parts[i] = load_bits(gen, how.text, part * 8, place.text);
	}
	return gt_ptxgen_combine(gen, parts, width / part, part);
}

void gt_ptxgen_store(struct gt_ptxgen *gen, unsigned number, int64_t offset, unsigned width,
		     const char *value)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	unsigned part = aligned_width(fact, offset, width);
	struct gt_ptxgen_name base, moved;

	if (gt_ptxgen_is_own_stack(fact)) {
		gt_ptxgen_limit_stack(gen, fact->min + offset, width, UINT64_MAX, NULL);
		gt_ptxgen_stack_store(gen, fact->min + offset, width, value);
		return;
	}
	base = gt_ptxgen_register(gen, number);
	for (unsigned i = 0; i < width / part; i++) {
		snprintf(moved.text, sizeof(moved.text), "%s", value);
		if (i) {
			moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
			gt_ptxgen_emit(gen, "shr.u64 %s, %s, %u", moved.text, value, 8 * part * i);
		}
		gt_ptxgen_emit(gen, "st%s%s.u%u [%s+%" PRId64 "], %s", strength(gen, fact),
			       space_of(gen, fact), part * 8, base.text, offset + i * part,
			       moved.text);
	}
}

unsigned gt_ptxgen_access_width(const struct gt_ptxgen *gen, unsigned number, uint32_t size)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int64_t alignment =
		gt_ptxgen_is_own_stack(fact) ? fact->min : (int64_t)(uint64_t)fact->alignment;

	return gt_ptxgen_alignment(alignment | (int64_t)size);
}

struct gt_ptxgen_name gt_ptxgen_pointer(struct gt_ptxgen *gen, unsigned number,
					const char **ret_space)
{
	*ret_space = space_of(gen, gt_ptxgen_fact(gen, number));
	return gt_ptxgen_register(gen, number);
}

/* ---- instructions ---- */

void gt_ptxgen_access(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned width = gt_bpf_access_size(insn);
	struct gt_ptxgen_name value, wide;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		value = gt_ptxgen_load(gen, insn->src_reg, insn->off, width);
		if (BPF_MODE(insn->code) == BPF_MEMSX) {
			wide = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
			gt_ptxgen_emit(gen, "cvt.s64.s%u %s, %s", width * 8, wide.text, value.text);
			value = wide;
		}
		gt_ptxgen_give_wide(gen, insn->dst_reg, value.text);
		break;
	case BPF_ST:
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "mov.b64 %s, %d", value.text, insn->imm);
		gt_ptxgen_store(gen, insn->dst_reg, insn->off, width, value.text);
		break;
	default:
		value = gt_ptxgen_register(gen, insn->src_reg);
		gt_ptxgen_store(gen, insn->dst_reg, insn->off, width, value.text);
	}
}

void gt_ptxgen_wide(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint64_t low = (uint32_t)insn->imm, high = (uint32_t)insn[1].imm;
	struct gt_ptxgen_name value = {""}, base;

	if (insn->src_reg == GT_BPF_IMM_SCALAR) {
		snprintf(value.text, sizeof(value.text), "0x%" PRIx64, high << 32 | low);
	} else if (insn->src_reg == GT_BPF_IMM_MAP_INDEX) {
		snprintf(value.text, sizeof(value.text), "%" PRIu64, low);
	} else {
		base = gt_ptxgen_map_address(gen, insn->imm);
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "add.s64 %s, %s, %" PRIu64, value.text, base.text, high);
	}
	gt_ptxgen_give_wide(gen, insn->dst_reg, value.text);
}
