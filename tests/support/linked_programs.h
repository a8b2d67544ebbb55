/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs (exec_programs.h) that are linked from several modules: kernels and functions
 * call functions by their names, aliases, addresses, and tables of addresses. A name may be defined
 * in several modules. A walk in C computes what each kernel computes, and counts what it executes
 * in each definition.
 */
#pragma once

#include "exec_programs.h"

enum {
	MAX_PARTS = 4,
	MAX_KERNELS = 4,
	MAX_FUNCTIONS = 6,
	MAX_NAMES = MAX_KERNELS + MAX_FUNCTIONS, /* kernels are the first ones */
	GLOBALS = 2,                             /* variables at module scope */
	MAX_CALLS = 8000,                        /* that all threads of a kernel execute */
};

/* What a module has of a name. */
enum linked_linkage {
	LINKED_EXTERN,
	LINKED_STATIC,
	LINKED_WEAK,
	LINKED_VISIBLE,
};

/* How a function is called. */
enum linked_method {
	BY_NAME,
	BY_ALIAS,
	BY_ADDRESS,
	BY_TABLE,
	BY_TABLE_OF_THREAD, /* threads with odd numbers call the function after it */
	BY_TABLE_OF_OTHER,  /* of the next module */
	LINKED_METHODS,
};

/* What the threads of a kernel execute in a definition. */
struct linked_counts {
	struct program_counts walked;
	uint64_t runs, loads, stores, bytes;
};

struct linked_definition {
	struct program_node *body;
	uint32_t initial[VARIABLES];
	bool uses_global;
	uint32_t global; /* the number of the variable */
};

struct linked_table {
	bool is_literal; /* has the name of what compilers make up; no other module can use it */
	bool is_const;
};

/* Words of a thread beside its variables: one, which functions load and store. */
struct linked_memory {
	uint32_t variables[THREADS * VARIABLES];
	uint32_t words[THREADS];
};

static struct linked_program {
	uint32_t parts, kernels, names;
	enum linked_linkage linkages[MAX_NAMES][MAX_PARTS];
	struct linked_definition definitions[MAX_NAMES][MAX_PARTS];
	bool has_alias[MAX_NAMES]; /* of the visible definition */
	bool no_aliases;           /* set before it is made: it has none */
	enum linked_linkage globals[GLOBALS][MAX_PARTS];
	struct linked_table tables[MAX_PARTS];
	uint32_t named; /* a module with a name like those that are added; MAX_PARTS…: none */
	/* Results of the walk. */
	struct linked_memory memory;
	struct linked_counts counts[MAX_NAMES][MAX_PARTS];
	/* Of the walk and of the writer. */
	uint32_t part, thread, calls;
	struct linked_counts *running; /* the counts of the definition that the walk is in */
} linked;

static inline bool is_kernel(uint32_t name)
{
	return name < linked.kernels;
}

/* k0 and f0, and so on. */
static inline const char *linked_name(uint32_t name)
{
	static char texts[4][16];
	static unsigned turn;
	char *text = texts[turn++ % 4];

	snprintf(text, sizeof(texts[0]), "%c%u", is_kernel(name) ? 'k' : 'f',
		 is_kernel(name) ? name : name - linked.kernels);
	return text;
}

/* ---- linking --------------------------------------------------------------------------- */

/* The module whose definition the linker takes: the visible one, or else the first weak one. */
static inline uint32_t linked_part(const enum linked_linkage *linkages)
{
	for (uint32_t part = 0; part < linked.parts; part++)
		if (linkages[part] == LINKED_VISIBLE)
			return part;
	for (uint32_t part = 0; part < linked.parts; part++)
		if (linkages[part] == LINKED_WEAK)
			return part;
	return 0;
}

/* The module whose definition a module refers to. */
static inline uint32_t referred_part(const enum linked_linkage *linkages, uint32_t part)
{
	return linkages[part] == LINKED_STATIC ? part : linked_part(linkages);
}

static inline uint32_t definition_part(uint32_t name, uint32_t part)
{
	return referred_part(linked.linkages[name], part);
}

static inline uint32_t taken_part(uint32_t name)
{
	return linked_part(linked.linkages[name]);
}

/* The module whose table a call uses. */
static inline uint32_t table_part(enum linked_method method)
{
	uint32_t other = (linked.part + 1) % linked.parts;

	return method == BY_TABLE_OF_OTHER && !linked.tables[other].is_literal ? other
									       : linked.part;
}

/* ---- making ---------------------------------------------------------------------------- */

static inline void make_linkages(enum linked_linkage *linkages, bool may_be_static)
{
	uint32_t owner = random_number(linked.parts);

	for (uint32_t part = 0; part < linked.parts; part++) {
		uint32_t choice = random_number(5);

		linkages[part] = choice == 0                    ? LINKED_WEAK
				 : choice == 1 && may_be_static ? LINKED_STATIC
								: LINKED_EXTERN;
	}
	linkages[owner] = random_number(3) ? LINKED_VISIBLE : LINKED_WEAK;
}

static inline void make_definition(uint32_t name, struct linked_definition *definition,
				   bool has_globals)
{
	uint32_t first = is_kernel(name) ? linked.kernels : name + 1;

	callees.first = first;
	callees.count = linked.names - first;
	definition->body = make_list(is_kernel(name) ? (int)random_number(2) : 2, false);
	for (int i = 0; i < VARIABLES; i++)
		definition->initial[i] = random_number(1000);
	definition->uses_global = has_globals && !random_number(3);
	definition->global = random_number(GLOBALS);
}

static inline void make_name(uint32_t name, bool has_globals)
{
	struct linked_definition *definitions = linked.definitions[name];
	enum linked_linkage *linkages = linked.linkages[name];
	bool are_equal = random_number(2);
	uint32_t first = MAX_PARTS;

	make_linkages(linkages, !is_kernel(name));
	for (uint32_t part = 0; part < linked.parts; part++) {
		if (first < MAX_PARTS && are_equal)
			definitions[part] = definitions[first];
		else if (linkages[part] != LINKED_EXTERN)
			make_definition(name, &definitions[part], has_globals);
		if (first == MAX_PARTS && linkages[part] != LINKED_EXTERN)
			first = part;
	}
	linked.has_alias[name] = !linked.no_aliases && !is_kernel(name) &&
				 linkages[linked_part(linkages)] == LINKED_VISIBLE &&
				 !random_number(3);
}

static inline void make_linked(void)
{
	bool has_globals = !random_number(3);

	linked = (struct linked_program){.no_aliases = linked.no_aliases};
	node_count = 0;
	linked.parts = 2 + random_number(MAX_PARTS - 1);
	linked.kernels = 2 + random_number(MAX_KERNELS - 1);
	linked.names = linked.kernels + 1 + random_number(MAX_FUNCTIONS);
	for (uint32_t name = 0; name < linked.names; name++)
		make_name(name, has_globals);
	linked.named = random_number(2 * MAX_PARTS);
	for (int global = 0; global < GLOBALS; global++)
		make_linkages(linked.globals[global], true);
	for (uint32_t part = 0; part < linked.parts; part++)
		linked.tables[part] =
			(struct linked_table){.is_literal = !has_globals || random_number(2),
					      .is_const = random_number(2)};
}

/* ---- walking --------------------------------------------------------------------------- */

static inline uint32_t global_value(uint32_t global, uint32_t part)
{
	return 1000 * referred_part(linked.globals[global], part) + global;
}

/* Count accesses of the definition that the walk is in. */
static inline void count_accesses(uint32_t loads, uint32_t stores, uint32_t width)
{
	linked.running->loads += loads;
	linked.running->stores += stores;
	linked.running->bytes += (uint64_t)(loads + stores) * width;
}

/* Walk a definition with what its variables are at the start. */
static inline void walk_definition(uint32_t name, uint32_t part, uint32_t *variables)
{
	const struct linked_definition *definition = &linked.definitions[name][part];
	struct linked_counts *caller = linked.running;
	struct program_counts outer = walked;
	uint32_t outer_part = linked.part;

	linked.running = &linked.counts[name][part];
	linked.running->runs++;
	linked.part = part;
	if (is_kernel(name))
		count_accesses(VARIABLES, VARIABLES, 4);
	else
		count_accesses(1 + definition->uses_global, 1, 4);
	walked = linked.running->walked;
	walk(definition->body, variables);
	linked.running->walked = walked;
	linked.running = caller;
	linked.part = outer_part;
	walked = outer;
}

static inline uint32_t walk_function(uint32_t name, uint32_t part, uint32_t a, uint32_t b)
{
	const struct linked_definition *definition = &linked.definitions[name][part];
	uint32_t *word = &linked.memory.words[linked.thread];
	uint32_t variables[VARIABLES];

	memcpy(variables, definition->initial, sizeof(variables));
	variables[0] = a;
	variables[1] = b;
	variables[2] = *word;
	if (definition->uses_global)
		variables[3] = global_value(definition->global, part);
	walk_definition(name, part, variables);
	*word = variables[4];
	return variables[5];
}

static inline uint32_t walk_call(const struct program_node *node, uint32_t a, uint32_t b)
{
	uint32_t name = node->callee, part = linked.part;

	if (linked.calls >= MAX_CALLS)
		return 0;
	linked.calls++;
	if (node->method >= BY_TABLE) {
		part = table_part(node->method);
		if (!linked.tables[part].is_const)
			count_accesses(1, 0, 8);
		if (node->method == BY_TABLE_OF_THREAD && name + 1 < linked.names)
			name += linked.thread % 2;
	}
	part = node->method == BY_ALIAS && linked.has_alias[name] ? taken_part(name)
								  : definition_part(name, part);
	return walk_function(name, part, a, b);
}

/* Walk all threads of a kernel. False: they call too often. */
static inline bool walk_kernel(uint32_t kernel, uint64_t seed)
{
	memset(linked.counts, 0, sizeof(linked.counts));
	memset(&linked.memory, 0, sizeof(linked.memory));
	set_up(linked.memory.variables, seed);
	walked = (struct program_counts){0};
	linked.calls = 0;
	for (linked.thread = 0; linked.thread < THREADS; linked.thread++)
		walk_definition(kernel, taken_part(kernel),
				linked.memory.variables + linked.thread * VARIABLES);
	return linked.calls < MAX_CALLS;
}

/* ---- reach ----------------------------------------------------------------------------- */

/* Add the names that a list refers to (bit n: name n). A call by an address may lead to all. */
static inline uint32_t referred_names(const struct program_node *node)
{
	uint32_t names = 0;

	for (; node; node = node->next) {
		if (node->kind == CALL && node->method >= BY_ADDRESS)
			return (1u << linked.names) - (1u << linked.kernels);
		if (node->kind == CALL)
			names |= 1u << node->callee;
		if (node->kind == BRANCH || node->kind == LOOP)
			names |= referred_names(node->first);
		if (node->kind == BRANCH)
			names |= referred_names(node->other);
	}
	return names;
}

/* The names that a kernel may reach, whichever definitions the linker takes. */
static inline uint32_t reached_names(uint32_t kernel)
{
	uint32_t names = 1u << kernel;

	/* Functions call those after them. */
	for (uint32_t name = 0; name < linked.names; name++)
		for (uint32_t part = 0; part < linked.parts && names >> name & 1; part++)
			names |= referred_names(linked.definitions[name][part].body);
	return names;
}

/* ---- writing --------------------------------------------------------------------------- */

static const char *const linkage_texts[] = {
	[LINKED_EXTERN] = ".extern ",
	[LINKED_STATIC] = "",
	[LINKED_WEAK] = ".weak ",
	[LINKED_VISIBLE] = ".visible ",
};

static inline const char *table_name(uint32_t part)
{
	static char text[24];

	snprintf(text, sizeof(text), "%s%u", linked.tables[part].is_literal ? "__const_$_t" : "t",
		 part);
	return text;
}

/* Load the address of a function into %rd2. */
static inline void write_address(struct gt_strbuf *text, const struct program_node *node)
{
	uint32_t part = table_part(node->method);
	bool is_next = node->method == BY_TABLE_OF_THREAD && node->callee + 1 < linked.names;
	uint32_t offset = 8 * (node->callee - linked.kernels);

	if (node->method == BY_ADDRESS) {
		gt_strbuf_printf(text, "	mov.u64 %%rd2, %s;\n", linked_name(node->callee));
		return;
	}
	gt_strbuf_printf(text, "	mov.u64 %%rd2, %s;\n", table_name(part));
	if (is_next)
		gt_strbuf_puts(text, "	mov.u32 %t0, %tid.x;\n	and.b32 %t0, %t0, 1;\n"
				     "	mad.wide.u32 %rd2, %t0, 8, %rd2;\n");
	gt_strbuf_printf(text, "	ld.%s.u64 %%rd2, [%%rd2+%u];\n",
			 linked.tables[part].is_const ? "const" : "global", offset);
}

static inline void write_call(struct gt_strbuf *text, const struct program_node *node)
{
	bool is_alias = node->method == BY_ALIAS && linked.has_alias[node->callee];
	bool is_indirect = node->method >= BY_ADDRESS;

	if (is_indirect)
		write_address(text, node);
	gt_strbuf_puts(text, "	{\n	.param .b32 cr;\n	.param .b64 cp;\n"
			     "	.param .b32 ca;\n	.param .b32 cb;\n"
			     "	st.param.b64 [cp], %rd1;\n	st.param.b32 [ca], ");
	write_operand(text, node->a);
	gt_strbuf_puts(text, ";\n	st.param.b32 [cb], ");
	write_operand(text, node->b);
	gt_strbuf_printf(text, ";\n	call (cr), %s%s, (cp, ca, cb)%s;\n", is_alias ? "a" : "",
			 is_indirect ? "%rd2" : linked_name(node->callee),
			 is_indirect ? ", prototype" : "");
	gt_strbuf_printf(text, "	ld.param.b32 %%v%u, [cr];\n	}\n", node->target);
}

static inline void write_registers(struct gt_strbuf *text)
{
	gt_strbuf_printf(text,
			 "{\n	.reg .b64 %%rd<4>;\n	.reg .b32 %%v<%d>;\n"
			 "	.reg .b32 %%t<2>;\n	.reg .b32 %%c<%d>;\n"
			 "	.reg .pred %%p<%d>;\n	.reg .pred %%q<1>;\n"
			 "prototype: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 "
			 "_, .param .b32 _);\n",
			 VARIABLES, node_count + 1, node_count + 1);
}

/* %rd3: the thread's variables; %rd1: its word. */
static inline void write_kernel_definition(struct gt_strbuf *text, uint32_t name)
{
	const struct linked_definition *definition = &linked.definitions[name][linked.part];

	gt_strbuf_printf(text, "%s.entry %s(.param .u64 p0)\n",
			 linkage_texts[linked.linkages[name][linked.part]], linked_name(name));
	write_registers(text);
	gt_strbuf_printf(text,
			 "	ld.param.u64 %%rd0, [p0];\n	mov.u32 %%t0, %%tid.x;\n"
			 "	mad.wide.u32 %%rd3, %%t0, %d, %%rd0;\n"
			 "	mad.wide.u32 %%rd1, %%t0, 4, %%rd0;\n"
			 "	add.u64 %%rd1, %%rd1, %zu;\n",
			 VARIABLES * 4, offsetof(struct linked_memory, words));
	for (int i = 0; i < VARIABLES; i++)
		gt_strbuf_printf(text, "	ld.global.u32 %%v%d, [%%rd3+%d];\n", i, 4 * i);
	write_list(text, definition->body, 0);
	for (int i = 0; i < VARIABLES; i++)
		gt_strbuf_printf(text, "	st.global.u32 [%%rd3+%d], %%v%d;\n", 4 * i, i);
	gt_strbuf_puts(text, "	ret;\n}\n");
}

/* .func (…) NAME(…), with a letter before the name */
static inline void write_declaration(struct gt_strbuf *text, enum linked_linkage linkage,
				     const char *letter, uint32_t name)
{
	gt_strbuf_printf(
		text, "%s.func (.param .b32 r) %s%s(.param .b64 p, .param .b32 a, .param .b32 b)",
		linkage_texts[linkage], letter, linked_name(name));
}

static inline void write_function_definition(struct gt_strbuf *text, uint32_t name)
{
	const struct linked_definition *definition = &linked.definitions[name][linked.part];

	write_declaration(text, linked.linkages[name][linked.part], "", name);
	gt_strbuf_puts(text, "\n");
	write_registers(text);
	gt_strbuf_puts(text, "	ld.param.u64 %rd1, [p];\n	ld.param.u32 %v0, [a];\n"
			     "	ld.param.u32 %v1, [b];\n	ld.global.u32 %v2, [%rd1];\n");
	for (int i = 3; i < VARIABLES; i++)
		if (i == 3 && definition->uses_global)
			gt_strbuf_printf(text, "	ld.global.u32 %%v3, [g%u];\n",
					 definition->global);
		else
			gt_strbuf_printf(text, "	mov.u32 %%v%d, %u;\n", i,
					 definition->initial[i]);
	write_list(text, definition->body, 0);
	gt_strbuf_puts(text, "	st.global.u32 [%rd1], %v4;\n	st.param.b32 [r], %v5;\n"
			     "	ret;\n}\n");
}

/* Declarations come before what calls them, and aliases after what they are of. */
static inline void write_declarations(struct gt_strbuf *text)
{
	for (uint32_t name = linked.kernels; name < linked.names; name++) {
		enum linked_linkage linkage = linked.linkages[name][linked.part];

		write_declaration(text, linkage, "", name);
		gt_strbuf_puts(text, ";\n");
		if (!linked.has_alias[name])
			continue;
		write_declaration(text, linkage == LINKED_VISIBLE ? LINKED_VISIBLE : LINKED_EXTERN,
				  "a", name);
		gt_strbuf_puts(text, ";\n");
	}
}

static inline void write_aliases(struct gt_strbuf *text)
{
	for (uint32_t name = linked.kernels; name < linked.names; name++)
		if (linked.has_alias[name] && linked.linkages[name][linked.part] == LINKED_VISIBLE)
			gt_strbuf_printf(text, ".alias a%s, %s;\n", linked_name(name),
					 linked_name(name));
}

static inline void write_globals(struct gt_strbuf *text)
{
	for (uint32_t global = 0; global < GLOBALS; global++) {
		enum linked_linkage linkage = linked.globals[global][linked.part];

		gt_strbuf_printf(text, "%s.global .align 4 .u32 g%u", linkage_texts[linkage],
				 global);
		if (linkage != LINKED_EXTERN)
			gt_strbuf_printf(text, " = %u", global_value(global, linked.part));
		gt_strbuf_puts(text, ";\n");
	}
}

static inline void write_table_head(struct gt_strbuf *text, uint32_t part, const char *linkage)
{
	gt_strbuf_printf(text, "%s%s .align 8 .u64 %s[%u]", linkage,
			 linked.tables[part].is_const ? ".const" : ".global", table_name(part),
			 linked.names - linked.kernels);
}

static inline void write_tables(struct gt_strbuf *text)
{
	for (uint32_t part = 0; part < linked.parts; part++)
		if (part != linked.part && !linked.tables[part].is_literal) {
			write_table_head(text, part, ".extern ");
			gt_strbuf_puts(text, ";\n");
		}
	write_table_head(text, linked.part,
			 linked.tables[linked.part].is_literal ? "" : ".visible ");
	for (uint32_t name = linked.kernels; name < linked.names; name++)
		gt_strbuf_printf(text, "%s%s", name == linked.kernels ? " = {" : ", ",
				 linked_name(name));
	gt_strbuf_puts(text, "};\n");
}

/* The text of a module. */
static inline void write_part(struct gt_strbuf *text, uint32_t part)
{
	linked.part = part;
	gt_strbuf_puts(text, PTX_HEADER);
	if (part == linked.named)
		gt_strbuf_puts(text, ".visible .const .align 8 .b64 gputap_map_0[2];\n");
	write_declarations(text);
	write_globals(text);
	write_tables(text);
	for (uint32_t name = linked.names; name--;) {
		if (linked.linkages[name][part] == LINKED_EXTERN)
			continue;
		if (is_kernel(name))
			write_kernel_definition(text, name);
		else
			write_function_definition(text, name);
	}
	write_aliases(text);
}
