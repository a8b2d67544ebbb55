/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Translators generate code for a GPU from a verified program. They rely on the facts of the
 * verifier and check nothing again, so program and facts must belong together. The same input has
 * the same result, always.
 *
 * FORM "kernel": each program becomes a kernel that runs it once per thread, warp or block.
 *
 *	.visible .entry <prefix><name>(
 *		.param .u64 memory,       // for r1: device memory, aligned to 8
 *		.param .u64 memory_size,  // the job's memory_size
 *		.param .u64 results       // one u64 per thread, aligned to 8
 *		[, .param .align 8 .b8 context[512]]) // GT_CONTEXT_SIZE
 *
 *   <name> is the job's name; every character that is not a letter, a digit or '_' becomes '_'.
 *   The offsets of the parameters are 0, 8, 16 and 24.
 *   A program without a section, or with one of the kind RUN, has r1 = memory and r2 = memory_size;
 *   r1 is 0 if the job's memory_size is 0. The program must have been verified with the same
 *   memory_size. All threads share the memory.
 *   A program with a section of another kind has no memory (pass 0, 0) and has the parameter
 *   `context`: values of the thread (GT_SOURCE_THREAD_X to GT_SOURCE_LAUNCH) come from special
 *   registers, all others from `context` at their offsets (context.def).
 *   At the end results[t] is r0, where t = block * threads_of_a_block + thread; blocks and threads
 *   are counted x first, then y, then z. A program of the level warp runs once per warp and its r0
 *   is results[block * warps_of_a_block + thread / 32]. The first thread of a block runs a program
 *   of the level block (the last thread one for the end), and its r0 is results[block].
 *
 * FORM "splice": a job becomes a body in a nested { }, to be inserted into a kernel.
 *   All names that it declares begin with the prefix, registers and labels too. The values of the
 *   context are operands at the site of the insertion (gt_site_value).
 *   All lanes of the group must execute the body of a program of the level warp, which runs the
 *   program once. One thread must execute that of the level block.
 *   With stack_outside the scopes around the body declare its stack, if it has one:
 *   .local .align 8 .b8 <prefix>stack[stack_bytes]. Bodies that run one after the other may share
 *   it. GT_SOURCE_TAKEN_MASK is a value of the site; GT_SOURCE_MASK is one if the active lanes are
 *   not the group.
 *
 * SYMBOLS of both forms, declared for the module, before everything else:
 *
 *	.weak .const .align 8 .b64 <prefix>map_<n>[2];
 *	.weak .const .align 8 .b64 <prefix>output[2];
 *	.weak .const .align 8 .b64 <prefix>calls[2];
 *	.weak .const .align 8 .b64 <prefix>pid_tgid[1];
 *	.weak .const .align 8 .b64 <prefix>device[1];
 *
 *   <n> is the map's number in the object; only maps that are used have a symbol. Word 0 is the
 *   device address of the map's memory (layout: map/map.h), aligned to 8; word 1 is the number of
 *   its copies there (GT_COPY_ONE: 1; others are consecutive: gt_bpf_map_copies_for).
 *   The host writes both words after loading the module and before the first launch, unless
 *   `symbols` has their values. With symbols_global the symbols are .global instead of .const.
 *   `output` is the map of trace_printk and puts: type 27 (ringbuf), max_entries = output_bytes, in
 *   memory shared with the host. Word 1 is 1.
 *   `calls` is the memory of host calls (map/host_calls.h), shared with the host, aligned to 64,
 * where the program uses maps of the host. Word 1 is 1. `pid_tgid` is one word, for helper 14:
 * process id << 32 | thread id. `device` is one, for helper 536: the number of the device, as
 * cuCtxGetDevice (cuda.h) returns it. It differs between the contexts of a library, each of which
 * has the symbol.
 *
 * The TARGET spirv has the form "kernel" alone. The kernel's parameters are `memory` and `results`
 * (pointers in CrossWorkgroup), and `context` is a pointer to 512 bytes there. Words of the symbols
 * are constants if `symbols` has their values; else specialization constants of 64 bits whose
 * SpecId is 2 n + word for map n, and GT_SPEC_OUTPUT, GT_SPEC_CALLS (+ word) and GT_SPEC_PID_TGID.
 * Lanes are the numbers of work-items in their work-group modulo 32, or those in their sub-group
 * where `features` has these: a warp is 32 work-items of a sub-group in a row, or all of it. With
 * `relative`, for maps that are copied to the device, the words are offsets in the memory that the
 * last parameter points to.
 *
 * All words are little-endian.
 */
#pragma once

#include <string.h>

#include "base/cycle_clock.h"
#include "base/vec.h"
#include "gpubpf/context.h"
#include "gpubpf/facts.h"
#include "gpubpf/map/map.h"
#include "gpubpf/program.h"
#include "gpubpf/verify/verify.h"
#include "spirv/device_features.h"

struct gt_spirv_builder;

enum {
	/* The target spirv: the specialization constants that follow those of maps. */
	GT_SPEC_OUTPUT = 0x10000,
	GT_SPEC_CALLS = 0x10002,
	GT_SPEC_PID_TGID = 0x10004,

	GT_MAX_PREFIX = 24, /* characters of a prefix */
	/* ptxgen/constants.c: of constant memory, at most once, and the first sm without them. */
	GT_OFFSET_TABLE_BYTES = 1024,
	GT_OFFSET_TABLE_END = 90,
	GT_OUTPUT_BYTES = 1 << 20,    /* of the output ring by default */
	GT_MAX_TRANSLATED = 32 << 20, /* bytes of text by default */
};

enum gt_translation_form {
	GT_FORM_KERNEL,
	GT_FORM_SPLICE,
};

/* Initial values of the symbols, for maps whose addresses are known before the module is loaded. */
struct gt_symbol_values {
	const uint64_t (*maps)[2]; /* by map number */
	uint64_t output[2];
	uint64_t calls[2];
	uint64_t pid_tgid;
	uint64_t device;
};

/* The words of a symbol, other than those of maps. */
static inline const uint64_t *gt_symbol_words(const struct gt_symbol_values *values,
					      const char *name)
{
	if (!strcmp(name, "output"))
		return values->output;
	if (!strcmp(name, "calls"))
		return values->calls;
	return !strcmp(name, "device") ? &values->device : &values->pid_tgid;
}

struct gt_translate_options {
	enum gt_translation_form form;
	unsigned sm;           /* 90: .target sm_90; 0: 60, the oldest */
	char sm_suffix;        /* 'a' of sm_90a, or 0 */
	unsigned version;      /* 78: .version 7.8; 0: what sm needs, 6.2 at least */
	const char *prefix;    /* of all names; NULL: "gputap_" */
	uint32_t output_bytes; /* 0: GT_OUTPUT_BYTES; a power of two */
	size_t max_text;       /* bytes of a job's text; 0: GT_MAX_TRANSLATED */
	bool symbols_global;   /* symbols are .global: the constant bank is full */
	bool private_arrays;   /* functions around the body have arrays: see ptxgen/constants.c */
	bool for_spir;         /* spirv: for conversion to SPIR 1.2 (opencl/opencl.h) */
	bool relative;         /* spirv: addresses of the host are offsets from a parameter */
	unsigned features;     /* spirv: what the device has, gt_spirv_feature */
	const struct gt_cycle_clock
		*clock; /* spirv: that of the device (base/cycle_clock.h); NULL: none */
	/* Where kernels read *clock; 0: its values are constants of the module. */
	uint64_t clock_address;
	bool stack_outside; /* "splice": the stack is declared around the body */
	const struct gt_symbol_values *symbols; /* NULL: zeros */
};

/* How a value is accessed at the site. */
enum gt_site_kind {
	GT_SITE_OPERAND,   /* `operand` is a register, special register or constant */
	GT_SITE_PARAMETER, /* `operand` is an address for ld.param: "kernel_param_0+4" */
};

struct gt_site_value {
	enum gt_context_source source;
	uint32_t index; /* GT_SOURCE_ARGUMENT, GT_SOURCE_ARGUMENT_SIZE: which; else 0 */
	enum gt_site_kind kind;
	unsigned bits; /* of the operand: 16, 32 or 64; extended with zeros */
	const char *operand;
};

/* A program to be translated. */
struct gt_translate_job {
	const struct gt_bpf_program *program;
	const struct gt_facts *facts;
	const char *name; /* NULL: the program's, or "program" where that has none */
	/* As it was verified. NULL: a raw program, whose r1 is memory. */
	const struct gt_section *section;
	uint32_t memory_size;
	/*
	 * The values of the site. Those of the thread may be missing; in the form "splice" any
	 * other value that a program reads is 0 if it is missing.
	 */
	const struct gt_site_value *values;
	uint32_t value_count;
};

/* The code of the jobs of a module. Initialise with zeros. */
struct gt_translation {
	struct gt_strbuf declarations;  /* symbols and functions that bodies use */
	struct gt_strbuf text;          /* kernels or bodies */
	GT_VEC(char *) declared;        /* names that are in declarations */
	uint32_t stack_bytes;           /* of the last job, in memory */
	bool waits;                     /* the last job may wait for the host or for threads */
	bool reads_device;              /* the last job reads the symbol `device` */
	struct gt_spirv_builder *spirv; /* of the target spirv */
};
void gt_translation_clear(struct gt_translation *translation);

struct gt_code_target {
	const char *name;
	/*
	 * Translate a job of `object` (NULL: it has no maps) and add its code. 0; -EINVAL: invalid
	 * options; -EOPNOTSUPP: the target does not support the program; -E2BIG: longer than
	 * max_text; -ENOMEM. On failure, nothing is added.
	 */
	int (*translate)(const struct gt_translate_options *options,
			 const struct gt_bpf_object *object, const struct gt_translate_job *job,
			 struct gt_translation *translation, struct gt_diag *diag);
	/* Add the whole module of the form "kernel" to `module`. 0 or -Exxx. */
	int (*finish)(const struct gt_translate_options *options,
		      const struct gt_translation *translation, struct gt_strbuf *module,
		      struct gt_diag *diag);
};

#define TARGET(name) extern const struct gt_code_target gt_target_##name;
#include "gpubpf/targets.def"
#undef TARGET

/* The target of that name, or NULL. */
const struct gt_code_target *gt_code_target_find(const char *name);
