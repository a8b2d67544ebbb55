/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls. Every function has one frame of registers in a warp, at any call depth. A recursive
 * function saves the lanes' registers when it is called and restores them when it returns.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

static char *local_of(const struct sg_warp *warp, uint32_t lane, uint64_t offset)
{
	return warp->local + lane * warp->grid->local_stride + offset;
}

/* Returns the memory of a value that a call passes, for one lane of the caller: pass->size bytes.
 */
static char *passed(const struct sg_warp *warp, const struct sg_pass *pass, uint32_t lane)
{
	return pass->is_register ? warp->frame + pass->offset + lane * pass->size
				 : local_of(warp, lane, warp->stack[lane] + pass->offset);
}

static size_t size_of_number(const struct sg_pass *pass)
{
	return pass->size < sizeof(uint64_t) ? pass->size : sizeof(uint64_t);
}

uint64_t sg_call_argument(const struct sg_warp *warp, const struct sg_instruction *at,
			  uint32_t index, uint32_t lane)
{
	const struct sg_pass *pass;
	uint64_t value = 0;

	if (index >= at->call->argument_count)
		return 0;
	pass = &at->call->arguments[index];
	memcpy(&value, passed(warp, pass, lane), size_of_number(pass));
	return value;
}

void sg_call_read(const struct sg_warp *warp, const struct sg_pass *pass, uint32_t lane, void *to,
		  uint32_t size)
{
	if (!pass->is_register && size <= pass->size)
		memcpy(to, passed(warp, pass, lane), size);
	else
		memset(to, 0, size);
}

void sg_call_return(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		    uint64_t value)
{
	const struct sg_pass *pass = at->call->returns;

	if (at->call->return_count)
		memcpy(passed(warp, pass, lane), &value, size_of_number(pass));
}

/* ---- frames ---------------------------------------------------------------------------- */

static struct sg_call_level *level_at(struct sg_warp *warp, uint32_t depth)
{
	if (depth >= warp->level_count) {
		uint32_t count = depth < 8 ? 8 : depth * 2;
		struct sg_call_level **levels =
			reallocarray(warp->levels, count, sizeof(struct sg_call_level *));

		if (!levels)
			return NULL;
		memset(levels + warp->level_count, 0,
		       (count - warp->level_count) * sizeof(struct sg_call_level *));
		warp->levels = levels;
		warp->level_count = count;
	}
	if (!warp->levels[depth])
		warp->levels[depth] = calloc(1, sizeof(struct sg_call_level));
	return warp->levels[depth];
}

static int save_frame(struct sg_warp *warp, struct sg_call_level *level,
		      const struct sg_function *function, uint32_t lanes)
{
	struct sg_saved_frame *saved = NULL;
	size_t size = (sizeof(*saved) + function->frame_size + 63) & ~(size_t)63;

	saved = aligned_alloc(64, size);
	if (!saved)
		return -ENOMEM;
	saved->function = function;
	saved->mask = lanes;
	saved->next = level->saved;
	memcpy(saved->slots, sg_warp_frame(warp, function), function->frame_size);
	level->saved = saved;
	return 0;
}

static void restore_lanes(char *to, const char *from, const struct sg_slot *slot, uint32_t lanes)
{
	uint32_t size = slot->width < 8 ? slot->width : 8;

	if (!slot->width) {
		uint32_t *p = (uint32_t *)(void *)(to + slot->offset);
		uint32_t before = *(const uint32_t *)(const void *)(from + slot->offset);

		*p = (*p & ~lanes) | (before & lanes);
		return;
	}
	for (; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes), offset = slot->offset + lane * size;

		memcpy(to + offset, from + offset, size);
		if (slot->width == 16)
			memcpy(to + offset + 256, from + offset + 256, 8);
	}
}

static void restore_frame(struct sg_warp *warp, struct sg_call_level *level,
			  const struct sg_function *function, uint32_t lanes)
{
	struct sg_saved_frame **link = &level->saved;
	char *frame = sg_warp_frame(warp, function);

	while (*link) {
		struct sg_saved_frame *saved = *link;
		uint32_t mine = saved->function == function ? saved->mask & lanes : 0;

		if (mine && mine == warp->live)
			memcpy(frame, saved->slots, function->frame_size);
		else if (mine)
			for (size_t i = 0; i < function->slots.count; i++)
				restore_lanes(frame, saved->slots, &function->slots.items[i], mine);
		saved->mask &= ~mine;
		if (mine && !(saved->mask & warp->live)) {
			*link = saved->next;
			free(saved);
			continue;
		}
		link = &saved->next;
	}
}

/* ---- arguments and results ------------------------------------------------------------- */

static bool fits(const struct sg_pass *pass, const struct sg_formal *formal)
{
	return pass->size == formal->size;
}

bool sg_call_fits(const struct sg_call *call, const struct sg_function *callee)
{
	if (call->argument_count != callee->parameter_count ||
	    call->return_count != callee->return_count)
		return false;
	for (uint32_t i = 0; i < call->argument_count; i++)
		if (!fits(&call->arguments[i], &callee->parameters[i]))
			return false;
	for (uint32_t i = 0; i < call->return_count; i++)
		if (!fits(&call->returns[i], &callee->returns[i]))
			return false;
	return true;
}

/* A value of one lane: in a register of a frame, or in local memory. */
struct value_location {
	char *base; /* of the frame, or of the lane's local memory */
	uint32_t offset;
	bool is_register;
};

/* Returns 8 bytes of a value from byte `part` on; the halves of a 16-byte register are apart. */
static char *value_part(const struct value_location *value, uint32_t size, uint32_t lane,
			uint32_t part)
{
	if (!value->is_register)
		return value->base + value->offset + part;
	return value->base + value->offset + (part ? 256 : 0) + lane * (size < 8 ? size : 8);
}

static void copy_predicate(const struct value_location *to, const struct value_location *from,
			   uint32_t lane)
{
	uint32_t *p = (uint32_t *)(void *)(to->base + to->offset);
	uint32_t value = *(const uint32_t *)(const void *)(from->base + from->offset);

	*p = (*p & ~(1u << lane)) | (value & 1u << lane);
}

static void copy_value(struct value_location to, struct value_location from, uint32_t size,
		       uint32_t lane)
{
	if (!size && to.is_register && from.is_register)
		copy_predicate(&to, &from, lane);
	if (!to.is_register && !from.is_register) {
		memcpy(to.base + to.offset, from.base + from.offset, size);
		return;
	}
	for (uint32_t part = 0; part < size; part += 8)
		memcpy(value_part(&to, size, lane, part), value_part(&from, size, lane, part),
		       size - part < 8 ? size - part : 8);
}

/* Passes the arguments of one lane. */
static void pass_arguments(struct sg_warp *warp, const struct sg_call *call,
			   const struct sg_function *callee, char *callee_frame, uint32_t lane)
{
	for (uint32_t i = 0; i < call->argument_count; i++) {
		const struct sg_pass *pass = &call->arguments[i];
		const struct sg_formal *formal = &callee->parameters[i];
		struct value_location from = {
			.base = pass->is_register ? warp->frame
						  : local_of(warp, lane, warp->stack[lane]),
			.offset = pass->offset,
			.is_register = pass->is_register};
		struct value_location to = {.base = formal->is_register
							    ? callee_frame
							    : local_of(warp, lane, warp->top[lane]),
					    .offset = formal->offset,
					    .is_register = formal->is_register};

		copy_value(to, from, pass->size, lane);
	}
}

/*
 * Enters a function. One that calls itself and has .reg parameters reads its arguments from the
 * saved copy of the frame, since it overwrites the frame.
 */
static const struct sg_instruction *enter(struct sg_warp *warp, const struct sg_instruction *at,
					  const struct sg_function *callee)
{
	uint32_t lanes = warp->exec, rest = warp->mask & ~lanes;
	char *frame = sg_warp_frame(warp, callee);
	struct sg_call_level *level = level_at(warp, warp->depth);
	const char *caller_frame = warp->frame;
	uint32_t size = ((callee->local_size + 15) & ~15u) + SG_CALL_COST;

	if (!level || (callee->is_recursive && save_frame(warp, level, callee, lanes)))
		return sg_warp_fault(warp, at, SG_FAULT_STACK_OVERFLOW,
				     (uint32_t)__builtin_ctz(lanes), 0);
	if (callee == warp->function)
		warp->frame = level->saved->slots;
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (warp->depth >= SG_MAX_DEPTH ||
		    warp->top[lane] + (uint64_t)size > warp->grid->local_size) {
			warp->frame = (char *)caller_frame;
			return sg_warp_fault(warp, at, SG_FAULT_STACK_OVERFLOW, lane, 0);
		}
		pass_arguments(warp, at->call, callee, frame, lane);
		level->call[lane] = at;
		level->function[lane] = warp->function;
		level->stack[lane] = warp->stack[lane];
		level->top[lane] = warp->top[lane];
		warp->stack[lane] = warp->top[lane];
		warp->top[lane] += size;
	}
	warp->frame = (char *)caller_frame;
	sg_warp_count(warp);
	warp->mask = lanes;
	if (rest)
		sg_warp_split(warp, rest, at + 1, warp->function, warp->frame, warp->depth);
	warp->function = callee;
	warp->frame = frame;
	warp->exec = lanes;
	warp->depth++;
	if (--warp->ticks <= 0)
		return sg_warp_tick(warp, callee->code);
	return warp->group_count > 1 ? sg_warp_reconverge(warp, callee->code) : callee->code;
}

static const struct sg_instruction *run_call(struct sg_warp *warp, const struct sg_instruction *at)
{
	return enter(warp, at, at->call->callee);
}

static const struct sg_function *function_at(const struct sg_warp *warp, uint64_t address)
{
	const struct sg_module *module = warp->function->module;
	uint64_t offset = address - warp->machine->windows.code;
	uint64_t number = offset / SG_CODE_STRIDE - module->first_address_number;

	if (offset % SG_CODE_STRIDE || number >= module->first_kernel)
		return NULL;
	return module->functions.items[number];
}

static const struct sg_instruction *run_call_indirect(struct sg_warp *warp,
						      const struct sg_instruction *at)
{
	const uint64_t *target = (uint64_t *)(void *)(warp->frame + at->call->target);
	uint32_t first = (uint32_t)__builtin_ctz(warp->exec), same = 0, others;
	const struct sg_function *callee = function_at(warp, target[first]);

	if (!callee || warp->grid->kernel->frame_offsets[callee->number] == UINT32_MAX ||
	    !sg_call_fits(at->call, callee))
		return sg_warp_fault(warp, at, SG_FAULT_INVALID_PC, first, target[first]);
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		same |= (uint32_t)(target[lane] == target[first]) << lane;
	others = warp->exec & ~same;
	if (others) {
		/* The other active lanes execute the call again. */
		sg_warp_count(warp);
		warp->mask &= ~others;
		warp->exec &= same;
		sg_warp_split(warp, others, at, warp->function, warp->frame, warp->depth);
	}
	return enter(warp, at, callee);
}

/* Passes the results of one lane to its caller. */
static void pass_returns(struct sg_warp *warp, const struct sg_call_level *level,
			 const struct sg_call *call, const struct sg_function *callee,
			 char *callee_frame, char *caller_frame, uint32_t lane)
{
	for (uint32_t i = 0; i < call->return_count; i++) {
		const struct sg_pass *pass = &call->returns[i];
		const struct sg_formal *formal = &callee->returns[i];
		struct value_location from = {
			.base = formal->is_register ? callee_frame
						    : local_of(warp, lane, warp->stack[lane]),
			.offset = formal->offset,
			.is_register = formal->is_register};
		struct value_location to = {
			.base = pass->is_register ? caller_frame
						  : local_of(warp, lane, level->stack[lane]),
			.offset = pass->offset,
			.is_register = pass->is_register};

		copy_value(to, from, pass->size, lane);
	}
}

/* Returns from a function; all lanes return to the same call. */
static const struct sg_instruction *leave(struct sg_warp *warp, struct sg_call_level *level,
					  const struct sg_instruction *call, uint32_t lanes)
{
	const struct sg_function *callee = warp->function;
	uint32_t first = (uint32_t)__builtin_ctz(lanes);
	const struct sg_function *caller = level->function[first];
	char *caller_frame = sg_warp_frame(warp, caller);
	gt_autofree char *copy = NULL;
	char *frame = warp->frame;
	bool in_registers = false;

	for (uint32_t i = 0; i < callee->return_count; i++)
		in_registers |= callee->returns[i].is_register;
	if (callee->is_recursive && in_registers) {
		copy = malloc(callee->frame_size);
		if (!copy)
			return sg_warp_fault(warp, call, SG_FAULT_STACK_OVERFLOW, first, 0);
		frame = memcpy(copy, frame, callee->frame_size);
	}
	if (callee->is_recursive)
		restore_frame(warp, level, callee, lanes);
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		pass_returns(warp, level, call->call, callee, frame, caller_frame, lane);
		warp->stack[lane] = level->stack[lane];
		warp->top[lane] = level->top[lane];
	}
	warp->function = caller;
	warp->frame = caller_frame;
	warp->exec = warp->mask = lanes;
	warp->depth--;
	return warp->group_count > 1 ? sg_warp_reconverge(warp, call + 1) : call + 1;
}

const struct sg_instruction *sg_run_ret(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t lanes = warp->exec, first = (uint32_t)__builtin_ctz(lanes), same = 0;
	struct sg_call_level *level;
	const struct sg_instruction *call;

	if (!warp->depth)
		return sg_warp_exit(warp, at, lanes);
	level = warp->levels[warp->depth - 1];
	call = level->call[first];
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		same |= (uint32_t)(level->call[lane] == call) << lane;
	same &= lanes;
	sg_warp_count(warp);
	if (warp->mask & ~lanes)
		sg_warp_split(warp, warp->mask & ~lanes, at + 1, warp->function, warp->frame,
			      warp->depth);
	if (lanes & ~same)
		sg_warp_split(warp, lanes & ~same, at, warp->function, warp->frame, warp->depth);
	return leave(warp, level, call, same);
}

/* ---- the stack pointer ----------------------------------------------------------------- */

static const struct sg_instruction *run_alloca(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	uint64_t alignment = at->immediate;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t offset = (warp->top[lane] + alignment - 1) & ~(alignment - 1);
		uint64_t size = 0, bytes;

		memcpy(&size, warp->frame + at->a + lane * at->size, at->size);
		bytes = (size + 15) & ~15ull;
		if (size > SG_MAX_LOCAL_SIZE || offset + bytes > warp->grid->local_size)
			return sg_warp_fault(warp, at, SG_FAULT_STACK_OVERFLOW, lane, 0);
		memcpy(warp->frame + at->d + lane * at->size, &offset, at->size);
		warp->top[lane] = (uint32_t)(offset + bytes);
	}
	return at + 1;
}

static const struct sg_instruction *run_stack_save(struct sg_warp *warp,
						   const struct sg_instruction *at)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t top = warp->top[lane];

		memcpy(warp->frame + at->d + lane * at->size, &top, at->size);
	}
	return at + 1;
}

static const struct sg_instruction *run_stack_restore(struct sg_warp *warp,
						      const struct sg_instruction *at)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t top = 0;

		memcpy(&top, warp->frame + at->a + lane * at->size, at->size);
		if (top < warp->stack[lane] || top > warp->top[lane])
			return sg_warp_fault(warp, at, SG_FAULT_STACK_OVERFLOW, lane, top);
		warp->top[lane] = (uint32_t)top;
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

static int read_pass(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     const struct gt_ptx_variable *formal, struct sg_pass *pass)
{
	enum gt_ptx_type type;
	uint32_t width;
	int error;

	if (operand->kind == GT_PTX_OPERAND_SYMBOL) {
		if (operand->variable->space != GT_PTX_SPACE_PARAM || operand->offset)
			return sg_decode_error(decoder, "an argument is not a .param variable");
		pass->is_register = false;
		pass->offset = (uint32_t)decoder->unit->locations[operand->variable->number];
		pass->size = (uint32_t)gt_ptx_variable_size(operand->variable);
		return 0;
	}
	pass->is_register = true;
	if (operand->kind == GT_PTX_OPERAND_REGISTER && !gt_ptx_operand_offset(operand)) {
		error = sg_decode_register(decoder, operand, &pass->offset, &type);
		pass->size = sg_type_width(type);
		return error;
	}
	if (operand->kind == GT_PTX_OPERAND_SINK) {
		pass->offset = SG_SINK;
		pass->size = formal ? sg_decode_formal_size(formal) : 4;
		return 0;
	}
	type = formal && gt_ptx_variable_size(formal) <= 8 ? formal->type : GT_PTX_TYPE_B32;
	error = sg_decode_source_operand(decoder, operand, 0, type, false, &pass->offset, &width);
	pass->size = width;
	return error;
}

/* The arguments or the results of a call. */
struct call_passes {
	GT_VEC(struct sg_pass) list;
};

/* Appends an operand; each element of a vector is passed separately. */
static int add_passes(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		      const struct gt_ptx_variable *formal, struct call_passes *passes)
{
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t count, wanted = formal ? sg_decode_formal_elements(formal) : 0;
	int error = sg_decode_elements_of(decoder, operand, 0, items, &count);

	/* One sink takes all elements of a vector. */
	for (; !error && operand->kind == GT_PTX_OPERAND_SINK && count < wanted &&
	       count < SG_MAX_ELEMENTS;
	     count++)
		items[count] = operand;
	if (!error && formal && count != wanted)
		error = sg_decode_error(decoder, "a call passes a vector of the wrong length");
	for (uint32_t i = 0; i < count && !error; i++) {
		struct sg_pass pass = {0};

		error = read_pass(decoder, items[i], formal, &pass);
		if (!error && formal && pass.size != sg_decode_formal_size(formal))
			error = sg_decode_error(decoder, "a call passes a value of %u bytes as %u",
						pass.size, sg_decode_formal_size(formal));
		if (!error && gt_vec_push(&passes->list, pass))
			error = -ENOMEM;
	}
	return error;
}

static int read_passes(struct sg_decoder *decoder, const struct gt_ptx_operand *operands,
		       uint32_t count, const struct gt_ptx_variable *formals,
		       struct sg_pass **ret_passes, uint32_t *ret_count)
{
	struct call_passes passes = {0};
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		error = add_passes(decoder, &operands[i], formals, &passes);
		formals = formals ? formals->next : NULL;
	}
	if (error) {
		gt_vec_free(&passes.list);
		return error;
	}
	*ret_count = (uint32_t)passes.list.count;
	*ret_passes = passes.list.items;
	return 0;
}

/* Returns the declaration or prototype of the callee, or NULL. */
static const struct gt_ptx_function *signature_of(const struct gt_ptx_call *call)
{
	if (call->target->kind == GT_PTX_OPERAND_FUNCTION)
		return call->target->function;
	if (call->prototype && call->prototype->kind == GT_PTX_OPERAND_LABEL)
		return call->prototype->label->prototype;
	return NULL;
}

/* Finds the called function, or the built-in function of its name. */
static int find_callee(struct sg_decoder *decoder, const struct gt_ptx_call *source,
		       struct sg_call *call, sg_run **ret_run)
{
	struct sg_function *function = decoder->function;
	enum gt_ptx_type type;

	if (source->target->kind == GT_PTX_OPERAND_REGISTER) {
		function->has_indirect_call = true;
		*ret_run = run_call_indirect;
		if (sg_decode_register(decoder, source->target, &call->target, &type) ||
		    sg_type_width(type) != 8)
			return sg_decode_bad_operand(decoder, 0);
		return 0;
	}
	call->callee = decoder->unit->functions[source->target->function->number];
	*ret_run = call->callee ? run_call : sg_builtin_find(source->target->function->name);
	if (!*ret_run)
		return sg_decode_missing(decoder, "function", source->target->function->name);
	if (call->callee && call->callee->is_kernel)
		return sg_decode_error(decoder, "kernel '%s' is called", call->callee->name);
	return call->callee ? gt_vec_push(&function->callees, call->callee) : 0;
}

int sg_decode_call(struct sg_decoder *decoder)
{
	const struct gt_ptx_call *source = decoder->instruction->call;
	const struct gt_ptx_function *signature = signature_of(source);
	struct sg_call *call = calloc(1, sizeof(*call));
	sg_run *run = NULL;
	int error;

	if (!call)
		return -ENOMEM;
	call->next = decoder->function->calls;
	decoder->function->calls = call;
	error = find_callee(decoder, source, call, &run);
	if (!error && signature &&
	    (signature->parameter_count != source->argument_count ||
	     signature->return_count != source->return_count))
		error = sg_decode_error(decoder, "a call has the wrong number of arguments");
	if (!error)
		error = read_passes(decoder, source->arguments, source->argument_count,
				    signature ? signature->parameters : NULL, &call->arguments,
				    &call->argument_count);
	if (!error)
		error = read_passes(decoder, source->returns, source->return_count,
				    signature ? signature->returns : NULL, &call->returns,
				    &call->return_count);
	if (error)
		return error;
	return sg_decode_emit_step(decoder, run, &(struct sg_instruction){.call = call});
}

int sg_decode_ret(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, sg_run_ret);
}

/* alloca.u64 p, size{, alignment}; stacksave.u64 d; stackrestore.u64 a */
int sg_decode_stack(struct sg_decoder *decoder)
{
	enum gt_ptx_opcode opcode = sg_decode_form(decoder)->opcode;
	const struct gt_ptx_operand *third = sg_decode_operand(decoder, 2);
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction step = {.immediate = 8, .size = (uint8_t)sg_type_width(type)};
	sg_run *run = opcode == GT_PTX_OP_ALLOCA      ? run_alloca
		      : opcode == GT_PTX_OP_STACKSAVE ? run_stack_save
						      : run_stack_restore;
	int error = 0;

	if (step.size != 4 && step.size != 8)
		return sg_decode_bad_form(decoder);
	if (opcode != GT_PTX_OP_STACKRESTORE)
		error = sg_decode_destination(decoder, 0, type, &step.d);
	if (!error && opcode != GT_PTX_OP_STACKSAVE)
		error = sg_decode_source(decoder, opcode == GT_PTX_OP_ALLOCA, type, &step.a);
	if (error)
		return error;
	if (opcode == GT_PTX_OP_ALLOCA && decoder->instruction->operand_count == 3) {
		step.immediate = third->integer;
		if (third->kind != GT_PTX_OPERAND_INTEGER || !step.immediate ||
		    (step.immediate & (step.immediate - 1)) || step.immediate > 1 << 16)
			return sg_decode_bad_operand(decoder, 2);
	}
	decoder->function->uses_stack_pointer = true;
	return sg_decode_emit_step(decoder, run, &step);
}
