/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/values.h"

#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/helpers.h"
#include "patch/blocks.h"

#define SOURCE(name) (UINT64_C(1) << GT_SOURCE_##name)

/* Those of a site; what a thread knows itself the translator reads. */
static const struct patch_value_row {
	enum gt_context_source source;
	const char *name;
	unsigned bits;
} value_rows[] = {
	{GT_SOURCE_KERNEL, "kernel", 32},
	{GT_SOURCE_ARGUMENT_COUNT, "argument_count", 32},
	{GT_SOURCE_SITE, "site", 32},
	{GT_SOURCE_LINE, "line", 32},
	{GT_SOURCE_ADDRESS, "address", 64},
	{GT_SOURCE_VALUE, "value", 64},
	{GT_SOURCE_VALUE_HIGH, "value_high", 64},
	{GT_SOURCE_VALUE_SIZE, "value_size", 32},
	{GT_SOURCE_WIDTH, "width", 32},
	{GT_SOURCE_SPACE, "space", 32},
	{GT_SOURCE_ACCESS, "access", 32},
	{GT_SOURCE_TAKEN, "taken", 32},
	{GT_SOURCE_TAKEN_MASK, "taken_mask", 32},
	{GT_SOURCE_BARRIER, "barrier", 32},
	{GT_SOURCE_CYCLES, "cycles", 64},
	{GT_SOURCE_TRIPS, "trips", 32},
	{GT_SOURCE_SOURCE_LINE, "source_line", 32},
};

/* ---- what programs read ---------------------------------------------------------------- */

static void add_use(struct gt_patch_uses *uses, enum gt_context_source source, uint32_t index)
{
	if (source == GT_SOURCE_ARGUMENT)
		uses->arguments |= 1u << index;
	else if (source == GT_SOURCE_ARGUMENT_SIZE)
		uses->argument_sizes |= 1u << index;
	else if (source == GT_SOURCE_REGISTER)
		uses->registers |= 1u << index;
	else
		uses->sources |= UINT64_C(1) << source;
}

/* Sources that helpers return, of those that differ between sites or targets. */
static const uint64_t returned = SOURCE(CYCLES) | SOURCE(TRIPS) | SOURCE(SOURCE_LINE) | SOURCE(SM) |
				 SOURCE(LAUNCH) | SOURCE(SHARED_SIZE);

/* The source that a helper reads: a lane field, or what it returns. False: none. */
static bool find_helper_source(const struct bpf_insn *insn, const struct gt_insn_facts *facts,
			       const struct gt_section *section, enum gt_context_source *ret_source)
{
	const struct gt_helper *helper;

	if (insn->code != (BPF_JMP | BPF_CALL) || gt_bpf_is_subprogram_call(insn))
		return false;
	helper = gt_helper((uint32_t)insn->imm);
	if (helper && returned >> helper->source & 1) {
		*ret_source = helper->source;
		return true;
	}
	return helper && helper->arguments[0] == GT_ARG_LANE_FIELD &&
	       !gt_lane_source(section, (uint64_t)facts->registers[1].min, ret_source);
}

/* The registers that a call of helper 512 can return. */
static void add_registers(struct gt_patch_uses *uses, const struct bpf_insn *insn,
			  const struct gt_insn_facts *facts, const struct gt_section *section)
{
	const struct gt_register_fact *number = &facts->registers[1];

	if (insn->code != (BPF_JMP | BPF_CALL) || gt_bpf_is_subprogram_call(insn) ||
	    insn->imm != GT_HELPER_get_register || !gt_section_lists_registers(section))
		return;
	for (int64_t i = number->min; i <= number->max && i < GT_MAX_SECTION_REGISTERS; i++)
		add_use(uses, GT_SOURCE_REGISTER, (uint32_t)i);
}

struct gt_patch_uses gt_patch_find_uses(const struct gt_bpf_program *program,
					const struct gt_facts *facts,
					const struct gt_section *section)
{
	struct gt_patch_uses uses = {0};

	for (uint32_t at = 0; at < facts->insn_count; at++) {
		const struct bpf_insn *insn = &program->insns[at];
		const struct gt_register_fact *base = &facts->insns[at].registers[insn->src_reg];
		struct gt_context_load load;
		enum gt_context_source source;

		if (!facts->insns[at].reached)
			continue;
		add_registers(&uses, insn, &facts->insns[at], section);
		if (find_helper_source(insn, &facts->insns[at], section, &source))
			add_use(&uses, source == GT_SOURCE_PREDICATE ? GT_SOURCE_TAKEN : source, 0);
		if (BPF_CLASS(insn->code) != BPF_LDX || base->type != GT_REG_CONTEXT)
			continue;
		if (!gt_context_find(section, (uint32_t)(base->min + insn->off),
				     gt_bpf_access_size(insn), &load))
			add_use(&uses, load.field->source, load.index);
	}
	return uses;
}

struct gt_patch_uses gt_patch_join_uses(struct gt_patch_uses a, struct gt_patch_uses b)
{
	return (struct gt_patch_uses){
		.sources = a.sources | b.sources,
		.arguments = a.arguments | b.arguments,
		.argument_sizes = a.argument_sizes | b.argument_sizes,
		.registers = a.registers | b.registers,
	};
}

/* ---- names ----------------------------------------------------------------------------- */

static void list_value(const char *prefix, enum gt_context_source source, uint32_t index,
		       unsigned bits, const char *name, struct gt_patch_values *values)
{
	char *text = values->names[values->count];

	snprintf(text, GT_PATCH_MAX_NAME, "%sat_%s", prefix, name);
	values->items[values->count++] = (struct gt_site_value){
		.source = source,
		.index = index,
		.kind = GT_SITE_OPERAND,
		.bits = bits,
		.operand = text,
	};
}

void gt_patch_list_values(const char *prefix, struct gt_patch_uses uses,
			  struct gt_patch_values *ret_values)
{
	char name[24];

	ret_values->count = 0;
	for (size_t i = 0; i < gt_countof(value_rows); i++)
		if (uses.sources >> value_rows[i].source & 1)
			list_value(prefix, value_rows[i].source, 0, value_rows[i].bits,
				   value_rows[i].name, ret_values);
	for (uint32_t i = 0; i < GT_CONTEXT_ARGUMENTS; i++) {
		if (uses.arguments >> i & 1) {
			snprintf(name, sizeof(name), "argument%u", i);
			list_value(prefix, GT_SOURCE_ARGUMENT, i, 64, name, ret_values);
		}
		if (uses.argument_sizes >> i & 1) {
			snprintf(name, sizeof(name), "argument_size%u", i);
			list_value(prefix, GT_SOURCE_ARGUMENT_SIZE, i, 32, name, ret_values);
		}
	}
	for (uint32_t i = 0; i < GT_MAX_SECTION_REGISTERS; i++) {
		if (!(uses.registers >> i & 1))
			continue;
		snprintf(name, sizeof(name), "register%u", i);
		list_value(prefix, GT_SOURCE_REGISTER, i, 64, name, ret_values);
	}
}

/* ---- constants ------------------------------------------------------------------------- */

static const struct gt_ptx_variable *find_parameter(const struct gt_ptx_function *function,
						    uint32_t index)
{
	const struct gt_ptx_variable *parameter = function->is_entry ? function->parameters : NULL;

	while (parameter && index--)
		parameter = parameter->next;
	return parameter;
}

static uint32_t parameter_size(const struct gt_ptx_function *function, uint32_t index)
{
	const struct gt_ptx_variable *parameter = find_parameter(function, index);

	return parameter ? (uint32_t)gt_ptx_variable_size(parameter) : 0;
}

/* The number of a barrier that is a constant; others are registers. */
static const struct gt_ptx_operand *barrier_operand(const struct gt_ptx_instruction *instruction)
{
	const struct gt_ptx_operand *first = instruction->operands;

	/* bar.red has a destination before it. */
	if (gt_ptx_form_has(instruction->form, GT_PTX_MOD_RED) && instruction->operand_count > 1)
		first++;
	return instruction->operand_count ? first : NULL;
}

static uint32_t value_size(const struct gt_patch_access *access)
{
	if (!access->value)
		return 0;
	return access->width < 16 ? access->width : 16;
}

uint64_t gt_patch_constant_value(const struct gt_patch_value_site *at,
				 enum gt_context_source source)
{
	struct gt_patch_access access = {0};

	if (at->instruction)
		gt_patch_read_access(at->instruction, &access);
	switch (source) {
	case GT_SOURCE_KERNEL:
		return at->kernel;
	case GT_SOURCE_ARGUMENT_COUNT:
		return at->function->is_entry ? at->function->parameter_count : 0;
	case GT_SOURCE_SITE:
		return at->site;
	case GT_SOURCE_LINE:
		return at->line;
	case GT_SOURCE_SOURCE_LINE:
		return at->source_line;
	case GT_SOURCE_VALUE_SIZE:
		return value_size(&access);
	case GT_SOURCE_WIDTH:
		return access.width;
	case GT_SOURCE_SPACE:
		return access.space;
	case GT_SOURCE_ACCESS:
		return access.kind;
	default:
		return 0;
	}
}

/* ---- addresses, branches, arguments ---------------------------------------------------- */

static void put_address(const struct gt_patch_value_site *at, const struct gt_ptx_operand *address,
			struct gt_strbuf *buffer)
{
	char name[GT_PATCH_MAX_NAME];
	int64_t offset = 0;

	snprintf(name, sizeof(name), "%sat_address", at->prefix);
	if (address->kind == GT_PTX_OPERAND_SYMBOL) {
		gt_strbuf_printf(buffer, "\tmov.u64 %s, %s;\n", name, address->variable->name);
		offset = address->offset;
	} else {
		struct gt_ptx_operand base = *address;

		if (address->kind == GT_PTX_OPERAND_REGISTER &&
		    address->selector != GT_PTX_SELECT_OTHER) {
			offset = address->offset;
			base.offset = 0;
		}
		gt_patch_put_bits(at, name, &base, 64, buffer);
	}
	if (offset)
		gt_strbuf_printf(buffer, "\tadd.s64 %s, %s, %" PRId64 ";\n", name, name, offset);
}

/* Whether the space of an access is known when it is executed, by a generic address of 64 bits. */
static bool has_generic_address(const struct gt_patch_access *access)
{
	const struct gt_ptx_operand *address = access->address;

	return access->space == GT_SPACE_GENERIC && address->kind == GT_PTX_OPERAND_REGISTER &&
	       gt_ptx_type_info(address->variable->type)->bits == 64;
}

/* The space is `space` if that of all lanes that execute the access is `name`. */
static void put_space_test(const struct gt_patch_value_site *at, const char *name,
			   enum gt_bpf_space space, struct gt_strbuf *buffer)
{
	const struct gt_ptx_operand *guard = at->instruction->guard;
	const char *p = at->prefix;

	gt_strbuf_printf(buffer,
			 "\tisspacep.%s %sat_other, %sat_address;\n"
			 "\tselp.u32 %sat_t32, 0, 1, %sat_other;\n",
			 name, p, p, p, p);
	if (guard) {
		struct gt_ptx_operand inverse = *guard;

		inverse.negated = !inverse.negated;
		gt_strbuf_putc(buffer, '@');
		gt_ptx_print_operand(&inverse, buffer);
		gt_strbuf_printf(buffer, " mov.u32 %sat_t32, 0;\n", p);
	}
	gt_strbuf_printf(buffer, "\tsetp.ne.u32 %sat_other, %sat_t32, 0;\n", p, p);
	if (at->has_sync)
		gt_strbuf_printf(buffer,
				 "\tactivemask.b32 %sat_t32;\n"
				 "\tvote.sync.any.pred %sat_other, %sat_other, %sat_t32;\n",
				 p, p, p, p);
	else
		gt_strbuf_printf(buffer, "\tvote.any.pred %sat_other, %sat_other;\n", p, p);
	gt_strbuf_printf(buffer, "@!%sat_other mov.u32 %sat_space, %d;\n", p, p, space);
}

/* The space of a generic address: the same in all lanes, as programs expect. */
static void put_space(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	gt_strbuf_printf(buffer, "{\n\t.reg .pred %sat_other;\n", at->prefix);
	put_space_test(at, "shared", GT_SPACE_SHARED, buffer);
	put_space_test(at, "local", GT_SPACE_LOCAL, buffer);
	gt_strbuf_puts(buffer, "}\n");
}

/* The guard's predicate as it is tested: "%p1" or "!%p1". */
static void put_taken(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	const struct gt_ptx_operand *guard = at->instruction->guard;
	struct gt_ptx_operand plain = *guard;

	plain.negated = false;
	gt_strbuf_printf(buffer, "\tselp.u32 %sat_taken, %u, %u, ", at->prefix, !guard->negated,
			 guard->negated);
	gt_ptx_print_operand(&plain, buffer);
	gt_strbuf_puts(buffer, ";\n");
}

static void put_taken_mask(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	const char *p = at->prefix;

	if (at->has_sync)
		gt_strbuf_printf(buffer,
				 "\tactivemask.b32 %sat_t32;\n"
				 "\tvote.sync.ballot.b32 %sat_taken_mask, ",
				 p, p);
	else
		gt_strbuf_printf(buffer, "\tvote.ballot.b32 %sat_taken_mask, ", p);
	gt_ptx_print_operand(at->instruction->guard, buffer);
	gt_strbuf_printf(buffer, at->has_sync ? ", %sat_t32;\n" : ";\n", p);
}

static void put_barrier(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	const struct gt_ptx_operand *barrier = barrier_operand(at->instruction);

	bool known = barrier && (barrier->kind == GT_PTX_OPERAND_REGISTER ||
				 gt_patch_is_constant_operand(barrier));

	gt_strbuf_printf(buffer, "\tmov.b32 %sat_barrier, ", at->prefix);
	if (known)
		gt_ptx_print_operand(barrier, buffer);
	else
		gt_strbuf_putc(buffer, '0');
	gt_strbuf_puts(buffer, ";\n");
	if (known)
		gt_strbuf_printf(buffer, "\tmin.u32 %sat_barrier, %sat_barrier, %d;\n", at->prefix,
				 at->prefix, GT_MAX_BARRIER);
}

/* The first 8 bytes of a parameter, read in pieces that are aligned. */
static void put_argument(const struct gt_patch_value_site *at, uint32_t index,
			 struct gt_strbuf *buffer)
{
	const struct gt_ptx_variable *parameter = find_parameter(at->function, index);
	uint64_t size = parameter ? gt_ptx_variable_size(parameter) : 0, piece;
	const char *p = at->prefix;

	gt_strbuf_printf(buffer, "\tmov.b64 %sat_argument%u, 0;\n", p, index);
	if (!size)
		return;
	size = size < 8 ? size : 8;
	for (piece = 8;
	     piece > 1 && (size % piece || gt_ptx_variable_alignment(parameter) % piece);)
		piece /= 2;
	for (uint64_t i = 0; i < size; i += piece) {
		gt_strbuf_printf(buffer, "\tld.param.u%" PRIu64 " %sat_t64, [%s+%" PRIu64 "];\n",
				 piece * 8, p, parameter->name, i);
		if (i)
			gt_strbuf_printf(buffer, "\tshl.b64 %sat_t64, %sat_t64, %" PRIu64 ";\n", p,
					 p, i * 8);
		gt_strbuf_printf(buffer, "\tor.b64 %sat_argument%u, %sat_argument%u, %sat_t64;\n",
				 p, index, p, index, p);
	}
}

/* ---- registers -------------------------------------------------------------------------- */

/* The bits of a register that the section lists: those of a predicate are 0 or 1. */
static void put_register(const struct gt_patch_value_site *at, uint32_t number,
			 struct gt_strbuf *buffer)
{
	struct gt_ptx_operand operand;
	char name[GT_PATCH_MAX_NAME];
	const char *listed;
	size_t length;

	snprintf(name, sizeof(name), "%sat_register%u", at->prefix, number);
	if (!gt_section_register(at->section, number, &listed, &length) ||
	    !gt_patch_find_register(at->statement, listed, length, &operand)) {
		gt_strbuf_printf(buffer, "\tmov.b64 %s, 0;\n", name);
	} else if (operand.variable->type == GT_PTX_TYPE_PRED) {
		gt_strbuf_printf(buffer, "\tselp.b64 %s, 1, 0, ", name);
		gt_ptx_print_operand(&operand, buffer);
		gt_strbuf_puts(buffer, ";\n");
	} else {
		gt_patch_put_bits(at, name, &operand, 64, buffer);
	}
}

/* ---- sites ----------------------------------------------------------------------------- */

static bool is_used(const struct gt_patch_value_site *at, enum gt_context_source source)
{
	return at->uses.sources >> source & 1;
}

static bool uses_value(const struct gt_patch_value_site *at)
{
	return at->uses.sources & (SOURCE(VALUE) | SOURCE(VALUE_HIGH));
}

static bool computes_space(const struct gt_patch_value_site *at,
			   const struct gt_patch_access *access)
{
	return is_used(at, GT_SOURCE_SPACE) && has_generic_address(access);
}

static void put_declarations(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	struct gt_patch_uses uses = at->uses;
	struct gt_patch_access access;
	struct gt_patch_values values;

	if (uses_value(at))
		uses.sources |= SOURCE(VALUE) | SOURCE(VALUE_HIGH);
	if (at->instruction && !gt_patch_read_access(at->instruction, &access) &&
	    computes_space(at, &access))
		uses.sources |= SOURCE(ADDRESS);
	gt_patch_list_values(at->prefix, uses, &values);
	if (!values.count)
		return;
	gt_strbuf_printf(buffer,
			 "\t.reg .b16 %sat_t16;\n\t.reg .b32 %sat_t32;\n\t.reg .b64 %sat_t64;\n",
			 at->prefix, at->prefix, at->prefix);
	for (uint32_t i = 0; i < values.count; i++)
		gt_strbuf_printf(buffer, "\t.reg .b%u %s;\n", values.items[i].bits,
				 values.items[i].operand);
	if (is_used(at, GT_SOURCE_CYCLES))
		gt_strbuf_printf(buffer, "\t.reg .pred %sat_arrived;\n", at->prefix);
}

/* Sources whose value is computed; all others are constants at the site. */
static const uint64_t computed = SOURCE(ADDRESS) | SOURCE(VALUE) | SOURCE(VALUE_HIGH) |
				 SOURCE(TAKEN) | SOURCE(TAKEN_MASK) | SOURCE(BARRIER) |
				 SOURCE(CYCLES) | SOURCE(TRIPS);

static void put_constants(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	for (size_t i = 0; i < gt_countof(value_rows); i++)
		if (is_used(at, value_rows[i].source) && !(computed >> value_rows[i].source & 1))
			gt_strbuf_printf(buffer, "\tmov.u32 %sat_%s, %" PRIu64 ";\n", at->prefix,
					 value_rows[i].name,
					 gt_patch_constant_value(at, value_rows[i].source));
	for (uint32_t i = 0; i < GT_CONTEXT_ARGUMENTS; i++)
		if (at->uses.argument_sizes >> i & 1)
			gt_strbuf_printf(buffer, "\tmov.u32 %sat_argument_size%u, %u;\n",
					 at->prefix, i, parameter_size(at->function, i));
}

/* Sources that this kind of site does not have are 0. */
static void put_absent(const struct gt_patch_value_site *at, uint64_t absent,
		       struct gt_strbuf *buffer)
{
	for (size_t i = 0; i < gt_countof(value_rows); i++)
		if (at->uses.sources & absent & UINT64_C(1) << value_rows[i].source)
			gt_strbuf_printf(buffer, "\tmov.b%u %sat_%s, 0;\n", value_rows[i].bits,
					 at->prefix, value_rows[i].name);
}

/* ---- time ------------------------------------------------------------------------------ */

static bool is_barrier(const struct gt_ptx_instruction *instruction)
{
	return instruction->form->opcode == GT_PTX_OP_BAR ||
	       instruction->form->opcode == GT_PTX_OP_BARRIER;
}

/* Whether programs ask for the time that the instruction took, and it is known. */
static bool is_timed(const struct gt_patch_value_site *at)
{
	return at->after && is_used(at, GT_SOURCE_CYCLES);
}

void gt_patch_put_start(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	if (is_timed(at))
		gt_strbuf_printf(buffer, "\tmov.u64 %sat_cycles, %%clock64;\n", at->prefix);
}

/* The register that the instruction writes, or the first of several; NULL: none. */
static const struct gt_ptx_operand *find_result(const struct gt_ptx_instruction *instruction,
						struct gt_ptx_operand *element)
{
	const struct gt_ptx_operand *result = instruction->operands;

	if (is_barrier(instruction) || instruction->form->opcode == GT_PTX_OP_RED)
		return NULL;
	if (result->kind == GT_PTX_OPERAND_VECTOR && !result->count)
		return NULL;
	*element = gt_patch_element_of(result, 0);
	if (element->kind != GT_PTX_OPERAND_REGISTER ||
	    gt_ptx_type_info(element->variable->type)->bits > 64)
		return NULL;
	return element;
}

/*
 * The clock is read when the result has arrived: under a predicate that depends on it, one way or
 * the other. The constant is of no importance; ptxas cannot know which way it is.
 */
void gt_patch_put_end(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	struct gt_ptx_operand element;
	const struct gt_ptx_operand *result;
	char wide[GT_PATCH_MAX_NAME];
	const char *p = at->prefix;

	if (!is_timed(at))
		return;
	result = find_result(at->instruction, &element);
	snprintf(wide, sizeof(wide), "%sat_t64", p);
	if (result) {
		gt_patch_put_bits(at, wide, result, 64, buffer);
		gt_strbuf_printf(buffer,
				 "\tsetp.eq.u64 %sat_arrived, %s, 0x5bd1e995;\n"
				 "@%sat_arrived mov.u64 %s, %%clock64;\n"
				 "@!%sat_arrived mov.u64 %s, %%clock64;\n",
				 p, wide, p, wide, p, wide);
	} else {
		gt_strbuf_printf(buffer, "\tmov.u64 %s, %%clock64;\n", wide);
	}
	gt_strbuf_printf(buffer, "\tsub.u64 %sat_cycles, %s, %sat_cycles;\n", p, wide, p);
}

/* ---- sites ----------------------------------------------------------------------------- */

void gt_patch_put_values(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	struct gt_patch_access access;
	uint64_t absent = computed;

	put_declarations(at, buffer);
	put_constants(at, buffer);
	for (uint32_t i = 0; i < GT_CONTEXT_ARGUMENTS; i++)
		if (at->uses.arguments >> i & 1)
			put_argument(at, i, buffer);
	for (uint32_t i = 0; i < GT_MAX_SECTION_REGISTERS; i++)
		if (at->uses.registers >> i & 1)
			put_register(at, i, buffer);
	if (at->instruction && !gt_patch_read_access(at->instruction, &access)) {
		absent &= ~(SOURCE(ADDRESS) | SOURCE(VALUE) | SOURCE(VALUE_HIGH));
		if (is_used(at, GT_SOURCE_ADDRESS) || computes_space(at, &access))
			put_address(at, access.address, buffer);
		if (computes_space(at, &access))
			put_space(at, buffer);
		/* An atomic may overwrite its operand; what is loaded is not there yet. */
		if (uses_value(at) && access.kind != GT_MEMORY_LOAD)
			gt_patch_put_value(at, &access, buffer);
	}
	if (at->instruction && at->instruction->form->opcode == GT_PTX_OP_BRA &&
	    at->instruction->guard) {
		absent &= ~(SOURCE(TAKEN) | SOURCE(TAKEN_MASK));
		if (is_used(at, GT_SOURCE_TAKEN))
			put_taken(at, buffer);
		if (is_used(at, GT_SOURCE_TAKEN_MASK))
			put_taken_mask(at, buffer);
	}
	if (is_timed(at))
		absent &= ~SOURCE(CYCLES);
	if (at->instruction && is_barrier(at->instruction)) {
		absent &= ~SOURCE(BARRIER);
		if (is_used(at, GT_SOURCE_BARRIER))
			put_barrier(at, buffer);
	}
	if (at->loop) {
		absent &= ~SOURCE(TRIPS);
		if (is_used(at, GT_SOURCE_TRIPS))
			gt_strbuf_printf(buffer, "\tmov.u32 %sat_trips, %strips_%u;\n", at->prefix,
					 at->prefix, at->loop->number);
	}
	put_absent(at, absent, buffer);
}

void gt_patch_put_loaded(const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	struct gt_patch_access access;

	if (uses_value(at) && at->instruction && !gt_patch_read_access(at->instruction, &access) &&
	    access.kind == GT_MEMORY_LOAD)
		gt_patch_put_value(at, &access, buffer);
}
