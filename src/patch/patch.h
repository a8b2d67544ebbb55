/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Insert verified eBPF programs into the kernels of a PTX module.
 *
 * The patcher works on the syntax tree of src/ptx. A program's body (translate.h, the form
 * "splice") is printed in a scope of its own at each of its sites. The kernel's statements,
 * parameters, control flow and barriers stay as they are. The printed module keeps its version,
 * target and directives; image.c raises the target of an old one before.
 *
 *	entry, block_begin   after the `{` of a kernel
 *	line                 before the first instruction of a source line (lines.h)
 *	exit, block_end      before each ret and exit, and at the end of a body
 *	finish               as exit, and before branches to the end of a kernel, which then end
 *	                     there for the lanes that take them: so do exit and block_end
 *	load                 after ld: global, shared, local, generic
 *	store                before st to these
 *	memory               at both
 *	atomic               after atom and red
 *	copy                 before cp.async, not before its bulk forms
 *	barrier              before bar and barrier of a block
 *	barrier_end          after them
 *	branch               before a conditional bra
 *	loop                 before a bra to an earlier label, where it is taken
 *	loop_end             before and after a branch, on the path that leaves a loop: once for
 *	                     each natural loop that is left
 *	call, return         after the `{` of a device function; before its rets, at its end
 *
 * Sites of kernels are also those of the device functions that they call. What is not patched is
 * counted and has a reason: found = patched + rejected.
 *
 * Costs of the forms were measured with ptxas 13.0: a nested scope costs no instruction. Programs
 * of some size at accesses and branches are functions that their sites call (call.c).
 */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "gpubpf/translate.h"
#include "ptx/ptx.h"

enum {
	GT_PATCH_MAX_PROGRAMS = 64, /* in one module */
	GT_PATCH_MAX_SITES = 1 << 20,
	/* Programs of as many PTX instructions are functions that are called: src/patch/call.c. */
	GT_PATCH_CALL_INSTRUCTIONS = 32,
	/* At the start and end of kernels, from so many sites in a function on. */
	GT_PATCH_CALL_SITES = 4,
};

/* A program to insert. Everything is borrowed. */
struct gt_patch_program {
	const struct gt_bpf_program *program; /* NULL: insert nothing, to measure the method */
	const struct gt_facts *facts;         /* of this program, verified with this section */
	struct gt_section section;            /* not GT_KIND_RUN, not GT_KIND_HOST */
};

struct gt_patch_recovery;

/* Notices the names of the kernels and functions that modules declare. */
struct gt_patch_observer {
	void (*see)(void *context, const char *mangled, const char *demangled, bool is_entry);
	void *context;
};

/* The text depends on all of it; src/run/inject_reuse.c has the key of texts that are kept. */
struct gt_patch_options {
	const struct gt_bpf_object *object; /* of all programs; their maps; may be NULL */
	const struct gt_patch_program *programs;
	uint32_t program_count; /* at most GT_PATCH_MAX_PROGRAMS */
	/* Globs of names as in sections: other kernels stay as they are; NULL: all kernels. */
	const char *const *kernels;
	uint32_t kernel_count;
	uint32_t first_site;   /* the context's `site` of the module's first site */
	uint32_t first_kernel; /* the context's `kernel` of the module's first kernel */
	uint32_t output_bytes; /* as in gt_translate_options */
	/* 0: GT_PATCH_CALL_SITES, GT_PATCH_CALL_INSTRUCTIONS */
	uint32_t call_sites, call_instructions;
	bool symbols_global;                      /* as in gt_translate_options */
	const struct gt_symbol_values *symbols;   /* as in gt_translate_options */
	const struct gt_patch_recovery *recovery; /* for gt_patch_select; may be NULL */
	const struct gt_patch_observer *observer; /* for the functions of image.h; may be NULL */
	bool switchable;                          /* each site tests its program's switch */
	uint64_t switches; /* the initial value of the symbol <prefix>switches */
	uint64_t shapes;   /* the initial value of the symbol <prefix>shapes; 0: there is none */
	bool whole;        /* never a side module: the original cannot be loaded beside it */
	/* OpenCL: as in gt_translate_options */
	const struct gt_cycle_clock *clock;
	uint64_t clock_address;
	bool relative; /* symbols and switches, too */
	unsigned features;
};

/*
 * The shapes of the launches whose programs use a map with a value per thread or warp, of all these
 * launches: equal minima and maxima mean one shape. Sizes are packed in words.
 */
struct gt_patch_shape {
	uint64_t max_grid, min_grid;
	uint64_t max_block, min_block;
};
/* The lowest bits of sizes in these words; those of x are at 0. */
enum {
	GT_PATCH_GRID_Y = 31,
	GT_PATCH_GRID_Z = 47,
	GT_PATCH_BLOCK_Y = 16,
	GT_PATCH_BLOCK_Z = 32,
};

/* No launch yet. */
void gt_patch_shape_clear(struct gt_patch_shape *shape);
/* Add the launches of another record. */
void gt_patch_shape_add(struct gt_patch_shape *shape, const struct gt_patch_shape *other);
/*
 * The shape of all launches. 0; -ENOENT: none was recorded; -EEXIST: they differ. The memory may be
 * shared with a process that is not trusted.
 */
int gt_patch_shape_read(const struct gt_patch_shape *shape, uint32_t ret_grid[3],
			uint32_t ret_block[3]);

/* What the text of a patched module holds. */
enum gt_patch_scope {
	GT_PATCH_NONE,  /* no program matches: no text */
	GT_PATCH_SIDE,  /* the matched kernels alone, for a module beside the original */
	GT_PATCH_WHOLE, /* the whole module, in place of the original */
};

/* A place in the module where programs run. */
struct gt_patch_site {
	const char *function;                     /* mangled name; the parsed module's */
	const struct gt_ptx_statement *statement; /* NULL: the start or the end of the body */
	const struct gt_ptx_label *loop;          /* at a loop's end: of its header; or NULL */
	const struct gt_ptx_label *back;          /* there: that it branches back to (loops.h) */
	const struct gt_ptx_loc *loc;             /* its source position; NULL: unknown */
	uint32_t number;                          /* the context's `site` */
	const char *opcode; /* of SPIR-V, static: of the instruction; NULL: an end of a kernel */
	/* The context's `line`: of the PTX text; of SPIR-V, the number of the instruction. */
	uint32_t line;
	uint32_t kinds;    /* bit n: of gt_section_kind n */
	bool after;        /* the programs run after the statement */
	uint64_t programs; /* bit n: program n runs here */
};

/* A kernel that at least one program matches. */
struct gt_patch_kernel {
	const char *name;  /* mangled; the parsed module's */
	uint32_t number;   /* the context's `kernel` */
	uint64_t programs; /* bit n: program n matches */
};

struct gt_patch_rejection {
	uint32_t program;
	const char *function; /* NULL: everywhere */
	uint32_t sites;       /* of this program */
	char reason[160];
};

/* Counts are of pairs of a site and a program. */
struct gt_patch_result {
	enum gt_patch_scope scope;
	const char *whole_reason; /* WHOLE: why no side module will do; static, or the module's */
	struct gt_strbuf text;    /* PTX */
	char prefix[GT_MAX_PREFIX + 1]; /* of all names that were added; one for all modules */
	uint32_t found, patched, rejected;
	uint32_t module_kernels; /* of the module, matched or not */
	uint32_t compiled;       /* kernels in the text */
	bool calls_code;         /* SIDE: functions of the machine code that it is linked with */
	bool reads_device;       /* the text has the symbol <prefix>device (translate.h) */
	bool by_work_item;       /* SPIR-V: in bodies, work-items are groups of their own */
	GT_VEC(struct gt_patch_kernel) kernels;
	GT_VEC(struct gt_patch_site) sites; /* by number, from first_site without gaps */
	GT_VEC(struct gt_patch_rejection) rejections;
};

/*
 * Patch `module`, which must outlive the result. 0, also where nothing matches or everything is
 * rejected (scope NONE); -EINVAL: options that make no sense; -E2BIG: too many programs or sites;
 * -ENOMEM. The caller clears the result, also after an error.
 *
 * SYMBOLS of the patched module, beside those of translate.h, where `switchable` is set:
 *
 *	.weak .const .align 8 .b64 <prefix>switches[1];
 *
 * It is the device address of an array of u32 in memory shared with the host. Program n runs while
 * word n is not 0. Each site loads its word, so that a change is seen by running kernels, too. The
 * symbol is .global where those of translate.h are.
 *
 * Where `shapes` is set, and programs use maps with a value per thread or warp:
 *
 *	.weak .const .align 8 .b64 <prefix>shapes[1];
 *
 * It is the device address of an array of struct gt_patch_shape, one for each map of the object.
 */
int gt_patch_module(const struct gt_ptx_module *module, const struct gt_patch_options *options,
		    struct gt_patch_result *ret_result, struct gt_diag *diag);
void gt_patch_result_clear(struct gt_patch_result *result);

/* Machine code that modules are linked with, as patch/objects.h reads it. */
struct gt_patch_code {
	/* The functions that others can name, and that it needs of others; NULL: no machine code */
	struct gt_hash *functions; /* name -> enum gt_patch_code_function */
	uint64_t constant_bytes;   /* of its variables in constant memory */
	struct gt_strbuf names;    /* that have "gputap" in them, a line each */
	bool has_variables;        /* that may be written */
	bool has_others;           /* than the device runtime, which calls no function of others */
	bool is_incomplete;        /* something could not be read */
	bool failed;               /* no memory; for the reader */
};

enum gt_patch_code_function {
	GT_PATCH_CODE_CALLS = 1,
	GT_PATCH_CODE_DEFINES,
};

/* One of several modules that are linked. */
struct gt_patch_part {
	struct gt_ptx_module *module;
	struct gt_patch_result result;
};

/*
 * The same for modules that are linked with each other and with machine code. Functions are those
 * of the program: calls and launches lead from one module to another. Either the whole modules are
 * patched, where those with the scope NONE stay as they are, or those with the scope SIDE are for a
 * side module, and the others are not part of it.
 */
int gt_patch_modules(struct gt_patch_part *parts, uint32_t count, const struct gt_patch_code *code,
		     const struct gt_patch_options *options, struct gt_diag *diag);
