/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* States of the verifier: allocation, copies, text. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

struct gt_value gt_value_scalar(struct gt_scalar scalar)
{
	return (struct gt_value){.type = GT_REG_SCALAR, .scalar = scalar};
}

struct gt_scalar gt_value_offset(const struct gt_value *pointer)
{
	static const struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	struct gt_scalar fixed;

	if (!pointer->fixed_offset)
		return pointer->scalar;
	fixed = gt_scalar_constant((uint64_t)pointer->fixed_offset);
	return gt_scalar_alu(&add, &pointer->scalar, &fixed);
}

static struct gt_state *allocate_state(unsigned frames)
{
	struct gt_state *state = malloc(sizeof(*state) + frames * sizeof(struct gt_verify_frame));

	if (state)
		state->capacity = frames;
	return state;
}

struct gt_state *gt_state_new(void)
{
	struct gt_state *state = allocate_state(1);

	if (state) {
		*state = (struct gt_state){.capacity = state->capacity};
		state->frames[0] = (struct gt_verify_frame){0};
	}
	return state;
}

void gt_state_free(struct gt_state *state)
{
	if (!state)
		return;
	for (unsigned i = 0; i <= state->depth; i++)
		free(state->frames[i].slots);
	free(state);
}

struct gt_state *gt_state_push(struct gt_state *state)
{
	unsigned capacity = state->depth + 2;

	if (capacity > state->capacity) {
		struct gt_state *grown =
			realloc(state, sizeof(*state) + capacity * sizeof(struct gt_verify_frame));

		if (!grown)
			return NULL;
		state = grown;
		state->capacity = capacity;
	}
	state->frames[++state->depth] = (struct gt_verify_frame){0};
	return state;
}

void gt_state_pop(struct gt_state *state)
{
	free(state->frames[state->depth--].slots);
}

int gt_frame_grow(struct gt_verify_frame *frame, uint32_t slots)
{
	struct gt_slot *grown;

	if (slots <= frame->slot_count)
		return 0;
	grown = realloc(frame->slots, slots * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + frame->slot_count, 0, (slots - frame->slot_count) * sizeof(*grown));
	frame->slots = grown;
	frame->slot_count = slots;
	return 0;
}

/* Copy a frame. False: there is no memory, and the copy has no slots. */
static bool copy_frame(struct gt_verify_frame *copy, const struct gt_verify_frame *frame)
{
	size_t size = frame->slot_count * sizeof(*frame->slots);

	*copy = *frame;
	copy->slots = size ? malloc(size) : NULL;
	if (!copy->slots)
		copy->slot_count = 0;
	else
		memcpy(copy->slots, frame->slots, size);
	return copy->slots || !size;
}

struct gt_state *gt_state_copy(const struct gt_state *state)
{
	struct gt_state *copy = allocate_state(state->depth + 1);

	if (!copy)
		return NULL;
	copy->reference_count = state->reference_count;
	copy->unrolled = state->unrolled;
	copy->widened_count = state->widened_count;
	copy->ordered = state->ordered;
	memcpy(copy->widened, state->widened, sizeof(copy->widened));
	memcpy(copy->ranked, state->ranked, state->widened_count * sizeof(copy->ranked[0]));
	memcpy(copy->references, state->references, sizeof(copy->references));
	memcpy(copy->reference_insns, state->reference_insns, sizeof(copy->reference_insns));
	for (unsigned i = 0; i <= state->depth; i++) {
		copy->depth = i;
		if (!copy_frame(&copy->frames[i], &state->frames[i])) {
			gt_state_free(copy);
			return NULL;
		}
	}
	return copy;
}

uint64_t gt_state_work(const struct gt_state *state)
{
	uint64_t work = 1;

	for (unsigned i = 0; i <= state->depth; i++)
		work += state->frames[i].slot_count / 8;
	return work;
}

uint64_t gt_state_bytes(const struct gt_state *state)
{
	uint64_t bytes = sizeof(*state) + state->capacity * sizeof(state->frames[0]);

	for (unsigned i = 0; i <= state->depth; i++)
		bytes += state->frames[i].slot_count * sizeof(struct gt_slot);
	return bytes;
}

static bool is_spilled_slot(const struct gt_slot *slot)
{
	return gt_slot_width(slot) != 0;
}

/* Call visit for each value of a state. */
static void for_each_value(struct gt_state *state,
			   void (*visit)(struct gt_value *value, void *data), void *data)
{
	for (unsigned i = 0; i <= state->depth; i++) {
		struct gt_verify_frame *frame = &state->frames[i];

		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++)
			visit(&frame->registers[j], data);
		for (uint32_t j = 0; j < frame->slot_count; j++)
			if (is_spilled_slot(&frame->slots[j]))
				visit(&frame->slots[j].value, data);
	}
}

struct id_list {
	uint32_t seen[GT_BPF_MAX_FRAMES * (GT_BPF_REGISTERS + GT_BPF_STACK_SLOTS)];
	unsigned count;
};

static void collect_id(struct gt_value *value, void *data)
{
	struct id_list *ids = data;

	if (value->type == GT_REG_SCALAR && value->id)
		ids->seen[ids->count++] = value->id;
}

static void clear_singular_id(struct gt_value *value, void *data)
{
	const struct id_list *ids = data;
	unsigned found = 0;

	if (value->type != GT_REG_SCALAR || !value->id)
		return;
	for (unsigned i = 0; i < ids->count && found < 2; i++)
		found += ids->seen[i] == value->id;
	if (found < 2)
		value->id = 0;
}

void gt_state_clear_singular_ids(struct gt_state *state)
{
	struct id_list ids;

	ids.count = 0;
	for_each_value(state, collect_id, &ids);
	if (ids.count)
		for_each_value(state, clear_singular_id, &ids);
}

const char *gt_register_type_name(const struct gt_value *value)
{
	switch (value->type) {
	case GT_REG_SCALAR:
		return "scalar";
	case GT_REG_STACK:
		return "fp";
	case GT_REG_CONTEXT:
		return "ctx";
	case GT_REG_MAP:
		return "map_ptr";
	case GT_REG_MAP_VALUE:
		return value->maybe_null ? "map_value_or_null" : "map_value";
	case GT_REG_RECORD:
		return value->maybe_null ? "ringbuf_mem_or_null" : "ringbuf_mem";
	case GT_REG_MEMORY:
		return "mem";
	case GT_REG_FUNCTION:
		return "func";
	default:
		return "?";
	}
}

static void put_scalar(struct gt_strbuf *text, const struct gt_scalar *scalar)
{
	const struct gt_interval *all = &scalar->all;
	const char *comma = "";

	gt_strbuf_putc(text, '(');
	if (all->smin != INT64_MIN || all->smax != INT64_MAX) {
		gt_strbuf_printf(text, "smin=%" PRId64 ",smax=%" PRId64, all->smin, all->smax);
		comma = ",";
	}
	if ((all->umin || all->umax != UINT64_MAX) &&
	    (all->smin < 0 || all->umin != (uint64_t)all->smin ||
	     all->umax != (uint64_t)all->smax)) {
		gt_strbuf_printf(text, "%sumin=%" PRIu64 ",umax=%" PRIu64, comma, all->umin,
				 all->umax);
		comma = ",";
	}
	if (scalar->mask != UINT64_MAX)
		gt_strbuf_printf(text, "%svar_off=(0x%" PRIx64 "; 0x%" PRIx64 ")", comma,
				 scalar->value, scalar->mask);
	gt_strbuf_putc(text, ')');
}

static void put_value(struct gt_strbuf *text, const struct gt_value *value)
{
	const struct gt_scalar *scalar = &value->scalar;
	struct gt_scalar offset;

	if (value->type == GT_REG_SCALAR) {
		if (gt_scalar_is_constant(scalar)) {
			gt_strbuf_printf(text, "%" PRId64, (int64_t)scalar->value);
			return;
		}
		gt_strbuf_puts(text, "scalar");
		put_scalar(text, scalar);
		return;
	}
	offset = gt_value_offset(value);
	gt_strbuf_puts(text, gt_register_type_name(value));
	if (!gt_scalar_is_constant(&offset))
		put_scalar(text, &offset);
	else if (value->type == GT_REG_STACK || offset.value)
		gt_strbuf_printf(text, value->type == GT_REG_STACK ? "%" PRId64 : "+%" PRId64,
				 (int64_t)offset.value);
}

void gt_state_put(struct gt_strbuf *text, const struct gt_state *state)
{
	const struct gt_verify_frame *frame = &state->frames[state->depth];
	const char *space = "";

	if (state->depth) {
		gt_strbuf_printf(text, "frame%u:", state->depth);
		space = " ";
	}
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		if (frame->registers[i].type == GT_REG_UNSET)
			continue;
		gt_strbuf_printf(text, "%sR%u=", space, i);
		put_value(text, &frame->registers[i]);
		space = " ";
	}
	for (uint32_t i = 0; i < frame->slot_count; i++) {
		if (!is_spilled_slot(&frame->slots[i]))
			continue;
		gt_strbuf_printf(text, "%sfp-%u=", space, 8 * (i + 1));
		put_value(text, &frame->slots[i].value);
		space = " ";
	}
}
