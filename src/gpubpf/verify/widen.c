/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Widening: states at the headers of loops, and what is learnt from the paths back to them. */
#include "gpubpf/verify/widen.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_STEP_GROWTH = 4,
	MAX_HULL_GROWTH = 2,
};

struct gt_value *gt_location_value(struct gt_state *state, unsigned location,
				   struct gt_slot **ret_slot)
{
	unsigned depth = location / GT_FRAME_LOCATIONS, index = location % GT_FRAME_LOCATIONS;
	struct gt_verify_frame *frame = &state->frames[depth];
	struct gt_slot *slot;

	if (ret_slot)
		*ret_slot = NULL;
	if (depth > state->depth)
		return NULL;
	if (index < GT_BPF_REGISTERS)
		return &frame->registers[index];
	index -= GT_BPF_REGISTERS;
	if (index >= frame->slot_count)
		return NULL;
	slot = &frame->slots[index];
	if (ret_slot)
		*ret_slot = slot;
	return gt_slot_width(slot) ? &slot->value : NULL;
}

static bool is_register(unsigned location)
{
	return location % GT_FRAME_LOCATIONS < GT_BPF_REGISTERS;
}

/* Whether a location is read after the header; slots always are. */
static bool is_live(const struct gt_verifier *verifier, unsigned location)
{
	const struct gt_state *state = verifier->state;
	unsigned depth = location / GT_FRAME_LOCATIONS, index = location % GT_FRAME_LOCATIONS;

	if (!is_register(location))
		return true;
	if (depth == state->depth)
		return verifier->aux[verifier->at].live >> index & 1;
	if (index < 6 && !state->frames[depth + 1].called_back)
		return false;
	return verifier->aux[state->frames[depth + 1].return_insn].live >> index & 1;
}

/* ---- learning ---- */

/* The value of a location before the loop, or rather of all iterations, and after one. */
struct loop_back {
	struct gt_verifier *verifier;
	struct gt_widened *widened;
	bool changed;
};

static void set_change(struct loop_back *back, struct gt_loop_value *known,
		       enum gt_loop_change change)
{
	known->change = change;
	known->growth = 0;
	back->changed = true;
}

static void learn_any(struct loop_back *back, struct gt_loop_value *known, bool address)
{
	known->address |= address;
	set_change(back, known, GT_CHANGE_ANY);
}

static void learn_hull(struct loop_back *back, struct gt_loop_value *known,
		       const struct gt_value *value)
{
	known->address |= value->address;
	if (known->change != GT_CHANGE_HULL) {
		known->hull = value->scalar;
		set_change(back, known, GT_CHANGE_HULL);
	} else if (known->growth++ >= MAX_HULL_GROWTH) {
		learn_any(back, known, value->address);
	} else {
		known->hull = gt_scalar_union(&known->hull, &value->scalar);
		back->changed = true;
	}
}

static void learn_step(struct loop_back *back, struct gt_loop_value *known,
		       const struct gt_value *value, int64_t step, uint8_t bits)
{
	int64_t max;

	if (__builtin_add_overflow(step, value->spread, &max)) {
		learn_any(back, known, true);
		return;
	}
	if (known->change == GT_CHANGE_NONE) {
		known->min = step;
		known->max = max;
		known->bits = bits;
		set_change(back, known, GT_CHANGE_STEP);
		return;
	}
	if (bits == 32 && known->bits == 64) {
		known->bits = 32;
		back->changed = true;
	}
	if (step >= known->min && max <= known->max)
		return;
	back->changed = true;
	if (known->growth++ < MAX_STEP_GROWTH) {
		known->min = step < known->min ? step : known->min;
		known->max = max > known->max ? max : known->max;
	} else if (value->type == GT_REG_SCALAR) {
		learn_hull(back, known, value);
	} else {
		learn_any(back, known, true);
	}
}

/* Whether both are pointers to the same object. */
static bool is_same_object(const struct gt_value *one, const struct gt_value *other)
{
	return gt_is_pointer(one) && one->type == other->type && one->map == other->map &&
	       one->frame == other->frame && one->size == other->size &&
	       one->reference == other->reference && !one->maybe_null && !other->maybe_null;
}

static bool is_own_origin(const struct gt_widened *widened, const struct gt_value *value)
{
	return value->origin >= widened->first_origin &&
	       value->origin < widened->first_origin + GT_LOCATIONS;
}

/* Compare the value after an iteration with that of the header. */
static void learn_value(struct loop_back *back, struct gt_loop_value *known,
			const struct gt_value *header, const struct gt_value *value)
{
	bool scalars = header->type == GT_REG_SCALAR && value->type == GT_REG_SCALAR;
	bool narrow = header->origin_bits == 32 || value->origin_bits == 32;
	int64_t step;

	if (header->type == GT_REG_UNSET || known->change == GT_CHANGE_ANY)
		return;
	if (header->origin && header->origin == value->origin && !header->shifted &&
	    !value->shifted && known->change <= GT_CHANGE_STEP &&
	    (scalars || is_same_object(header, value))) {
		step = (int64_t)((uint64_t)value->change - (uint64_t)header->change);
		if (narrow)
			step = (int32_t)step;
		if (step || value->spread || narrow != (header->origin_bits == 32) ||
		    known->change == GT_CHANGE_STEP)
			learn_step(back, known, value, step, narrow ? 32 : 64);
		return;
	}
	if (gt_is_pointer(header) && known->change == GT_CHANGE_NONE &&
	    (!header->origin || is_own_origin(back->widened, header)) &&
	    gt_value_subsumes(header, value))
		return;
	if (!scalars) {
		learn_any(back, known, true);
		return;
	}
	if (known->change != GT_CHANGE_STEP &&
	    gt_scalar_contains(&header->scalar, &value->scalar) &&
	    (header->address || !value->address) &&
	    (known->change == GT_CHANGE_HULL || !header->origin ||
	     is_own_origin(back->widened, header)))
		return;
	learn_hull(back, known, value);
}

static void learn_location(struct loop_back *back, unsigned location)
{
	struct gt_loop_value *known = &back->widened->loop->values[location];
	struct gt_slot *header_slot, *slot;
	struct gt_value *header = gt_location_value(back->widened->state, location, &header_slot);
	struct gt_value *value = gt_location_value(back->verifier->state, location, &slot);

	if (is_register(location)) {
		learn_value(back, known, header, value);
		return;
	}
	if (header && value && gt_slot_width(header_slot) == gt_slot_width(slot)) {
		learn_value(back, known, header, value);
		return;
	}
	if ((known->change != GT_CHANGE_ANY || !known->address) &&
	    !gt_slot_subsumes(header_slot, slot))
		learn_any(back, known, known->change == GT_CHANGE_ANY);
}

/* ---- a path that comes back ---- */

struct gt_widened *gt_widened_here(const struct gt_verifier *verifier)
{
	const struct gt_state *state = verifier->state;
	struct gt_widened *top =
		state->widened_count ? state->widened[state->widened_count - 1] : NULL;

	if (!top || top->loop->header != verifier->at || top->depth != state->depth ||
	    (top->loop->is_call && !state->frames[state->depth].iterations))
		return NULL;
	return top;
}

/* Replace what was proved of the values after an iteration by the header's. */
static void apply_proof(const struct gt_widened *widened, struct gt_state *state)
{
	for (unsigned i = 0; i < (widened->depth + 1) * GT_FRAME_LOCATIONS; i++) {
		const struct gt_loop_value *known = &widened->loop->values[i];
		struct gt_value *header = gt_location_value(widened->state, i, NULL);
		struct gt_value *value = gt_location_value(state, i, NULL);

		if (!header || !value || header->type == GT_REG_UNSET)
			continue;
		/* With the same origin and no change, it is the same value. */
		if (known->change == GT_CHANGE_STEP ||
		    (header->origin && header->type == value->type &&
		     gt_origin_is_same(header, value)))
			*value = *header;
		else if (is_own_origin(widened, header))
			gt_origin_copy(header, value);
	}
	for (unsigned i = 0; i <= state->depth; i++)
		state->frames[i].may_gotos = widened->state->frames[i].may_gotos;
	state->ordered = widened->state->ordered;
	state->ranked[widened->level] = widened->state->ranked[widened->level];
}

/* Whether the widened state subsumes that of the path that came back. */
static int compare_with_header(struct gt_verifier *verifier, const struct gt_widened *widened)
{
	struct gt_state *state = gt_state_copy(verifier->state);
	bool subsumed;

	if (!state)
		return gt_verifier_no_memory(verifier);
	apply_proof(widened, state);
	subsumed = gt_state_subsumes(verifier, widened->state, state, false);
	gt_state_free(state);
	return subsumed;
}

int gt_widen_come_back(struct gt_verifier *verifier)
{
	struct gt_widened *widened = gt_widened_here(verifier);
	struct gt_loop *loop = widened->loop;
	struct loop_back back = {verifier, widened, false};
	int subsumed;

	for (unsigned i = 0; i < (widened->depth + 1) * GT_FRAME_LOCATIONS; i++)
		if (is_live(verifier, i))
			learn_location(&back, i);
	if (back.changed)
		return -EAGAIN;
	subsumed = compare_with_header(verifier, widened);
	if (subsumed < 0)
		return subsumed;
	if (subsumed && gt_rank_decreases(widened, verifier->state)) {
		if (widened->rank.iterations > loop->iterations)
			loop->iterations = widened->rank.iterations;
		return 1;
	}
	if (subsumed && widened->rank.kind == GT_RANK_VALUE)
		widened->rank.test->useless = true;
	else if (subsumed && widened->rank.kind == GT_RANK_BUDGET)
		loop->no_budget = true;
	else if (!subsumed && !loop->no_links)
		loop->no_links = true;
	else
		loop->exact = true;
	return -EAGAIN;
}

/* ---- entering a loop ---- */

/* The sum of the steps of so many iterations, or of fewer. */
static struct gt_scalar sum_of_steps(const struct gt_loop_value *known, uint64_t iterations)
{
	__int128 min = known->min < 0 ? (__int128)known->min * iterations : 0;
	__int128 max = known->max > 0 ? (__int128)known->max * iterations : 0;
	struct gt_scalar sum = gt_scalar_unknown();

	if (known->min == known->max && known->min)
		sum.mask = ~((UINT64_C(1) << __builtin_ctzll((uint64_t)known->min)) - 1);
	if (min >= INT64_MIN && max <= INT64_MAX) {
		sum.all.smin = (int64_t)min;
		sum.all.smax = (int64_t)max;
	}
	gt_scalar_sync_bounds(&sum);
	return sum;
}

static void widen_by_steps(struct gt_value *value, const struct gt_loop_value *known,
			   uint64_t iterations)
{
	struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	struct gt_scalar sum = sum_of_steps(known, iterations), result;

	if (known->bits == 32 && value->type == GT_REG_SCALAR)
		add.code = BPF_ALU | BPF_ADD | BPF_X;
	result = gt_scalar_alu(&add, &value->scalar, &sum);
	/* The first value may have more than 32 bits. */
	value->scalar = known->bits == 32 ? gt_scalar_union(&value->scalar, &result) : result;
}

static void widen_to_any(struct gt_verifier *verifier, unsigned location, struct gt_value *value,
			 struct gt_slot *slot, const struct gt_loop_value *known)
{
	unsigned frame = location / GT_FRAME_LOCATIONS;
	bool address = known->address;

	if (is_register(location)) {
		bool scalar = value->type == GT_REG_SCALAR && !known->address;

		*value = scalar ? gt_value_scalar(gt_scalar_unknown()) : (struct gt_value){0};
		return;
	}
	for (unsigned i = 0; i < 8; i++) {
		if (slot->bytes[i] == GT_BYTE_UNSET)
			gt_facts_read_early(verifier, frame,
					    location % GT_FRAME_LOCATIONS - GT_BPF_REGISTERS);
		address |= slot->bytes[i] == GT_BYTE_ADDRESS;
	}
	address |= value && (gt_is_pointer(value) || value->address);
	memset(slot->bytes, address ? GT_BYTE_ADDRESS : GT_BYTE_SCALAR, 8);
}

/* Give a value of the header an origin of its own. */
static void begin_origin(const struct gt_widened *widened, unsigned location,
			 struct gt_value *value)
{
	value->origin = widened->first_origin + location;
	value->origin_bits = 64;
	value->shifted = 0;
	value->change = 0;
	value->spread = 0;
	value->sum = 0;
}

static int widen_location(struct gt_verifier *verifier, const struct gt_widened *widened,
			  unsigned location)
{
	const struct gt_loop_value *known = &widened->loop->values[location];
	unsigned index = location % GT_FRAME_LOCATIONS;
	struct gt_slot *slot;
	struct gt_value *value;

	if (!is_register(location) && known->change == GT_CHANGE_ANY &&
	    gt_frame_grow(&verifier->state->frames[location / GT_FRAME_LOCATIONS],
			  index - GT_BPF_REGISTERS + 1))
		return gt_verifier_no_memory(verifier);
	value = gt_location_value(verifier->state, location, &slot);
	if (known->change == GT_CHANGE_ANY) {
		if (slot || value->type != GT_REG_UNSET)
			widen_to_any(verifier, location, value, slot, known);
		return 0;
	}
	if (!value || value->type == GT_REG_UNSET || (is_register(location) && index == 10))
		return 0;
	if (value->type == GT_REG_SCALAR &&
	    (known->change != GT_CHANGE_NONE || widened->loop->no_links)) {
		value->id = 0;
		value->delta_bits = 0;
		value->delta = 0;
	}
	if (known->change == GT_CHANGE_NONE) {
		if (!value->origin || value->shifted || value->spread)
			begin_origin(widened, location, value);
		return 0;
	}
	if (known->change == GT_CHANGE_STEP)
		widen_by_steps(value, known, widened->rank.iterations);
	else if (value->type == GT_REG_SCALAR)
		value->scalar = gt_scalar_union(&value->scalar, &known->hull);
	value->address |= known->address;
	begin_origin(widened, location, value);
	return 0;
}

/* How often the loop can be repeated at most, whatever its values are. 0: not known. */
static uint64_t budget_of(const struct gt_verifier *verifier, const struct gt_loop *loop)
{
	uint64_t count;

	if (loop->is_call) {
		count = verifier->state->frames[verifier->state->depth]
				.registers[1]
				.scalar.all.umax;
		return count > GT_BPF_MAX_LOOPS ? GT_BPF_MAX_LOOPS : count ? count : 1;
	}
	return loop->has_may_goto && !loop->no_budget ? GT_BPF_MAX_LOOPS : 0;
}

static bool has_steps(const struct gt_loop *loop)
{
	for (unsigned i = 0; i < GT_LOCATIONS; i++)
		if (loop->values[i].change == GT_CHANGE_STEP)
			return true;
	return false;
}

static struct gt_widened *begin_widened(struct gt_verifier *verifier, struct gt_loop *loop)
{
	struct gt_widened *widened = calloc(1, sizeof(*widened));
	const struct gt_state *state = verifier->state;

	if (!widened)
		return NULL;
	widened->loop = loop;
	widened->depth = state->depth;
	widened->level = state->widened_count;
	widened->invocation = state->frames[state->depth].invocation;
	widened->first_origin = verifier->next_id + 1;
	verifier->next_id += GT_LOCATIONS;
	widened->next = verifier->all_widened;
	verifier->all_widened = widened;
	return widened;
}

static int widen_state(struct gt_verifier *verifier, struct gt_widened *widened)
{
	struct gt_state *state = verifier->state;
	int error = 0;

	for (unsigned i = 0; !error && i < (state->depth + 1) * GT_FRAME_LOCATIONS; i++) {
		if (is_live(verifier, i))
			error = widen_location(verifier, widened, i);
		else if (i / GT_FRAME_LOCATIONS == state->depth)
			*gt_location_value(state, i, NULL) = (struct gt_value){0};
	}
	if (error)
		return error;
	state->ranked[state->widened_count] = gt_rank_narrow(widened, state);
	state->widened[state->widened_count++] = widened;
	state->ordered &= ~(1u << widened->level);
	widened->state = gt_state_copy(state);
	return widened->state ? 0 : gt_verifier_no_memory(verifier);
}

int gt_widen_enter(struct gt_verifier *verifier)
{
	struct gt_loop *loop = gt_loop_at(verifier, verifier->at);
	uint64_t max = verifier->options->max_iterations;
	struct gt_widened *widened;

	if (!loop || loop->exact || verifier->state->widened_count == GT_MAX_NEST)
		return 0;
	if (!loop->values)
		loop->values = calloc(GT_LOCATIONS, sizeof(*loop->values));
	widened = loop->values ? begin_widened(verifier, loop) : NULL;
	if (!widened)
		return gt_verifier_no_memory(verifier);
	gt_rank_choose(widened, verifier->state, budget_of(verifier, loop),
		       max ? max : GT_BPF_MAX_LOOPS);
	if (widened->rank.kind == GT_RANK_NONE && has_steps(loop)) {
		loop->exact = true;
		return -EAGAIN;
	}
	return widen_state(verifier, widened);
}

void gt_widen_leave(struct gt_verifier *verifier)
{
	struct gt_state *state = verifier->state;

	for (unsigned i = 0; i < state->widened_count; i++) {
		const struct gt_widened *widened = state->widened[i];

		if (state->depth >= widened->depth &&
		    state->frames[widened->depth].invocation == widened->invocation &&
		    (state->depth > widened->depth ||
		     gt_loop_contains(widened->loop, verifier->at)))
			continue;
		while (state->widened_count > i) {
			state->widened_count--;
			gt_origin_forget(state, state->widened[state->widened_count]->first_origin);
		}
		state->ordered &= (1u << i) - 1;
	}
}

bool gt_widen_less(struct gt_verifier *verifier)
{
	const struct gt_state *state = verifier->state;
	struct gt_loop *loop = NULL;

	if (state && state->widened_count)
		loop = state->widened[state->widened_count - 1]->loop;
	for (struct gt_widened *widened = verifier->all_widened; widened && !loop;
	     widened = widened->next)
		if (!widened->loop->exact)
			loop = widened->loop;
	if (loop)
		loop->exact = true;
	return loop;
}

void gt_widen_clear(struct gt_verifier *verifier)
{
	while (verifier->all_widened) {
		struct gt_widened *widened = verifier->all_widened;

		verifier->all_widened = widened->next;
		gt_state_free(widened->state);
		free(widened);
	}
}
