/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the patcher: matching, the choice of the scope, the insertion. */
#pragma once

#include "patch/blocks.h"
#include "patch/graph.h"
#include "patch/lines.h"
#include "patch/loops.h"
#include "patch/patch.h"
#include "patch/values.h"

/* What is known of a function of the module. */
struct gt_patch_function {
	uint64_t matched;    /* programs whose section matches its name */
	uint64_t programs;   /* programs with sites in it */
	uint64_t called;     /* those that its sites call */
	uint32_t first_site; /* index into the result's sites; UINT32_MAX: it has none */
	uint32_t kernel;     /* a kernel's number */
	uint32_t first_loop; /* index into the patcher's loops, of those whose ends are sites */
	uint32_t loop_count;
	uint64_t shaped;      /* a kernel's programs that need the shape of its launch */
	bool kept;            /* it is printed */
	bool unwanted;        /* a kernel that the options exclude */
	bool runs_programs;   /* a kernel that has sites, or calls a function that does */
	uint32_t import;      /* index + 1 of the import from here; 0: none */
	bool repeated;        /* a kernel of this name is in an earlier module */
	bool called_by_code;  /* by the machine code, or launched by it; or it may be */
	bool defined_by_code; /* machine code has a function of this name */
};

/* A body as a function: a program with the constants of some of its sites. */
struct gt_patch_variant {
	uint64_t program;
	uint64_t constants[4]; /* call.c */
};

struct gt_patch_set;

struct gt_patcher {
	const struct gt_patch_set *set;
	uint32_t index;      /* in the set */
	uint32_t first_site; /* the number of its first site */
	const struct gt_ptx_module *module;
	const struct gt_patch_options *options;
	struct gt_patch_result *result;
	struct gt_patch_graph *graph;
	struct gt_patch_function *functions;    /* by number */
	struct gt_translation translation;      /* of all programs */
	struct gt_strbuf *bodies;               /* one per program */
	struct gt_patch_uses *uses;             /* one per program */
	uint32_t stacks[GT_PATCH_MAX_PROGRAMS]; /* bytes of memory, one per program */
	uint64_t rejoining;                     /* programs after which lanes wait for each other */
	bool matches_callees;                   /* a program matches a device function */
	bool private_arrays; /* variables in .local, and sm before GT_OFFSET_TABLE_END */
	uint64_t rejected;   /* programs that cannot be translated */
	GT_VEC(struct gt_patch_variant) variants;
	GT_VEC(const struct gt_ptx_label *) loops; /* in the order of the functions */
	uint32_t cursor;                           /* the next site to print */
	uint32_t loop_cursor;                      /* the next loop to print */
	int error;
	struct gt_diag *diag;
};

/*
 * A function whose definition is in another module of the set, or another one, of which the linker
 * takes one: these are a ring.
 */
struct gt_patch_import {
	uint32_t from, to; /* modules */
	const struct gt_ptx_function *function, *definition;
	uint32_t next; /* index + 1 of another import from this function, which has aliases */
};

/* What can be reached, by module. */
struct gt_patch_reaches {
	struct gt_patch_reach *items;
};

/* The modules that are patched together. Reaches and programs are those of all. */
struct gt_patch_set {
	struct gt_patcher *patchers; /* by module */
	uint32_t count;
	const struct gt_patch_code *code;
	GT_VEC(struct gt_patch_import) imports;
	struct gt_patch_reaches kept;        /* of a side module */
	struct gt_patch_reaches called;      /* by the machine code */
	struct gt_patch_reaches from_kernel; /* of the last gt_patch_reach_kernel */
	bool symbols_global;                 /* added symbols are .global, in all modules */
};

#define gt_patch_each(patcher, set)                                                                \
	for (struct gt_patcher *patcher = (set)->patchers;                                         \
	     patcher < (set)->patchers + (set)->count; patcher++)

/* set.c: find the imports, and what the machine code calls, after the graphs. 0 or -ENOMEM. */
int gt_patch_link(struct gt_patch_set *set);
/* Empty reaches. 0 or -ENOMEM. The caller clears them, also after an error. */
int gt_patch_reaches_new(const struct gt_patch_set *set, struct gt_patch_reaches *ret_reaches);
void gt_patch_reaches_clear(const struct gt_patch_set *set, struct gt_patch_reaches *reaches);
/* Add what can be reached in other modules. 0 or -ENOMEM. */
int gt_patch_reaches_follow(const struct gt_patch_set *set, struct gt_patch_reaches *reaches);
/* Add a function of a module and all that it can reach in the set. 0 or -ENOMEM. */
int gt_patch_reaches_add(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			 const struct gt_ptx_function *function, struct gt_patch_reaches *reaches);
/* Find what a kernel can reach: set->from_kernel. 0 or -ENOMEM. */
int gt_patch_reach_kernel(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			  const struct gt_ptx_function *kernel);
/* Whether a function is in the reaches. */
static inline bool gt_patch_reached(const struct gt_patch_reaches *reaches,
				    const struct gt_patcher *patcher,
				    const struct gt_ptx_function *function)
{
	return reaches->items[patcher->index].functions[function->number];
}
/* Whether functions of the machine code are among them. */
bool gt_patch_calls_code(const struct gt_patch_set *set, const struct gt_patch_reaches *reaches);
/* The programs in the functions that are reached; of kernels, in this one alone. */
uint64_t gt_patch_programs_in(const struct gt_patch_set *set,
			      const struct gt_patch_reaches *reaches,
			      const struct gt_ptx_function *kernel);

/* Whether machine code that is linked is part of what is loaded in place of, or beside the
 * original. */
static inline bool gt_patch_runs_code(const struct gt_patcher *patcher)
{
	return patcher->result->scope == GT_PATCH_WHOLE || patcher->result->calls_code;
}

int gt_patch_fail_memory(struct gt_diag *diag);

/* Programs whose section names device functions rather than kernels. */
static inline bool gt_patch_names_functions(const struct gt_section *section)
{
	return section->kind == GT_KIND_CALL || section->kind == GT_KIND_RETURN;
}

/* Whether the options include a kernel of these names. */
static inline bool gt_patch_wants(const struct gt_patch_options *options, const char *mangled,
				  const char *demangled)
{
	for (uint32_t i = 0; i < options->kernel_count; i++) {
		const struct gt_section glob = {.pattern = options->kernels[i]};

		if (gt_section_matches(&glob, mangled, demangled))
			return true;
	}
	return !options->kernel_count;
}

/* Whether a module may use activemask and vote.sync. */
static inline bool gt_patch_has_sync(const struct gt_ptx_module *module)
{
	return module->version_major * 10 + module->version_minor >= 62;
}

/*
 * Declare the stack that the bodies of programs share: ptxas does not overlay variables of scopes
 * that follow each other.
 */
void gt_patch_put_stack(const struct gt_patcher *patcher, uint64_t programs,
			struct gt_strbuf *buffer);

/* Count `sites` of a program as found and rejected, with a reason. */
void gt_patch_reject(struct gt_patcher *patcher, uint32_t program, const char *function,
		     uint32_t sites, const char *format, ...) gt_printf(5, 6);

/* The programs that run at a site of the module. */
uint64_t gt_patch_programs_with_sites(const struct gt_patcher *patcher);

/* Whether programs of the kind FINISH run in a function: early exits are sites then. */
bool gt_patch_finishes(const struct gt_patcher *patcher, const struct gt_ptx_function *function);

/* match.c: fill in `matched`, `programs` and the scope. 0 or -ENOMEM. */
int gt_patch_match(struct gt_patch_set *set);

/* side.c: what a side module of the matched kernels has (set->kept). 0, also if there can be none:
 * *ret_reason says why then, else it is NULL. -ENOMEM. */
int gt_patch_plan_side(struct gt_patch_set *set, const char **ret_reason);
/* Whether compilers make up the name for data that nothing writes. */
bool gt_patch_is_literal(const char *name);
/* Whether the driver itself provides a function without a body. */
bool gt_patch_is_system_call(const char *name);
/* Whether an item is part of the text. */
bool gt_patch_keeps(const struct gt_patcher *patcher, const struct gt_ptx_item *item);

/* block_end.c */
bool gt_patch_is_block_end(const struct gt_section *section);
/* Whether a program can end the threads that run it. */
bool gt_patch_ends_threads(const struct gt_patch_program *program);
bool gt_patch_has_block_end(const struct gt_patcher *patcher, uint64_t programs);
/* Reject the programs that a kernel cannot have. 0 or -ENOMEM. */
int gt_patch_check_block_ends(struct gt_patcher *patcher);

/* exit_counter.c: whether the threads that leave a kernel are counted. */
bool gt_patch_counts_exits(const struct gt_patcher *patcher,
			   const struct gt_ptx_function *function);
/* At module scope: the counters, if there is such a kernel. */
void gt_patch_declare_exit_counters(const struct gt_patcher *patcher, struct gt_strbuf *buffer);
/* At such a kernel's start: the block's counter. */
void gt_patch_put_exit_counter(const struct gt_patcher *patcher, struct gt_strbuf *buffer);
/* At a site: <prefix>at_last, whether this thread is the last one of its block to leave. */
void gt_patch_put_last_thread(const struct gt_patcher *patcher, const struct gt_patch_site *site,
			      struct gt_strbuf *buffer);

/* call.c: decide which programs are called (`called`), and which functions there are for them. */
void gt_patch_plan_calls(struct gt_patcher *patcher);
int gt_patch_add_variants(struct gt_patcher *patcher, const struct gt_patch_site *site,
			  const struct gt_patch_value_site *at);
/* Print the functions; a call at a site. False: the program is inserted there. */
void gt_patch_put_functions(const struct gt_patcher *patcher, struct gt_strbuf *buffer);
bool gt_patch_put_call(const struct gt_patcher *patcher, uint32_t program,
		       const struct gt_patch_value_site *at, struct gt_strbuf *buffer);

/*
 * shape.c: decide which kernels record the shapes of their launches (`shaped`). 0 or -ENOMEM.
 */
int gt_patch_plan_shapes(struct gt_patcher *patcher);
bool gt_patch_records_shapes(const struct gt_patcher *patcher);
/* At a kernel's start: record the shape. */
void gt_patch_put_shape(const struct gt_patcher *patcher, const struct gt_ptx_function *kernel,
			struct gt_strbuf *buffer);

/*
 * symbols.c: choose the space of the added symbols (`symbols_global`), once the sites are found and
 * before programs are translated.
 */
void gt_patch_choose_symbol_space(struct gt_patch_set *set);
/* "const" or "global". */
const char *gt_patch_symbol_space(const struct gt_patcher *patcher);
/* At module scope: the symbols, and the functions of programs. A callback of the printer. */
void gt_patch_declare_symbols(void *patcher, struct gt_strbuf *buffer);

/* insert.c: translate the programs that have sites; print the module. 0 or -Exxx. */
int gt_patch_translate(struct gt_patcher *patcher);
int gt_patch_print(struct gt_patcher *patcher);

/* Branch to a label where the instruction's guard does not hold. */
void gt_patch_put_guard(const struct gt_ptx_instruction *instruction, const char *label,
			struct gt_strbuf *buffer);
