/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Translators: a verified program becomes code for a GPU. They rest on the verifier's facts and
 * check nothing again, so programs and facts must belong together.
 *
 * The same program gives the same text, always.
 *
 * THE FORM "kernel": each program is a kernel that runs it once a thread, warp or block.
 *
 *	.visible .entry <prefix><name>(
 *		.param .u64 memory,       // for r1: device memory, aligned to 8
 *		.param .u64 memory_size,  // the job's memory_size
 *		.param .u64 results       // one u64 a thread, aligned to 8
 *		[, .param .align 8 .b8 context[512]]) // GT_CONTEXT_SIZE
 *
 *   <name> is the job's name with every character that is not a letter, a digit or '_' made '_'.
 *   Parameters lie at the offsets 0, 8, 16 and, where there is one, 24.
 *   A program without a section, or with one of the kind RUN, has r1 = memory and r2 = memory_size;
 *   r1 is 0 if the job's memory_size is 0. memory_size must be what it was verified with. All
 *   threads share the memory.
 *   A program with a section of another kind has no memory (pass 0, 0) and has the parameter
 *   `context`: fields that a thread knows itself (GT_SOURCE_THREAD_X to GT_SOURCE_LAUNCH) are its
 *   own, all others are read from `context` at their offsets (context.def).
 *   At the end results[t] is r0, where t = block * threads_of_a_block + thread, block and thread
 *   counted x first, then y, then z. A program of the level warp is run once a warp and its r0 is
 *   results[block * warps_of_a_block + thread / 32]; one of the level block is run by the first
 *   thread, or the last if it is one for the end, and its r0 is results[block].
 *
 * THE FORM "splice": a job gives only its body, in a nested { }, to be put into somebody's kernel.
 *   All names that it declares begin with the prefix, registers and labels too. The values of the
 *   context are operands that stand at the site (gt_site_value).
 *   A program of the level warp is put where all lanes of the group come by: the body itself sees
 *   to it that it is run once. One of the level block is put where one thread comes by.
 *   GT_SOURCE_TAKEN_MASK is a value of the site, GT_SOURCE_MASK only if the lanes that come by are
 *   not the group.
 *
 * SYMBOLS of both forms, declared for the module, before everything else:
 *
 *	.weak .const .align 8 .b64 <prefix>map_<n>[2];
 *	.weak .const .align 8 .b64 <prefix>output[2];
 *	.weak .const .align 8 .b64 <prefix>pid_tgid[1];
 *
 *   <n> is the map's number in the object; only maps that are used have one. Word 0 is the device
 *   address of the map's memory, laid out as maps.h says, aligned to 8; word 1 is the number of
 *   copies there (GT_COPY_ONE: 1; of arrays one behind the other: gt_bpf_map_copies_for).
 *   The host writes both words after loading the module and before the first launch. With
 *   symbols_global the symbols are .global instead of .const.
 *   `output` is what trace_printk and puts write to: a map of type 27 (ringbuf) with max_entries =
 *   output_bytes, in memory shared with the host. Word 1 is 1.
 *   `pid_tgid` is one word, for helper 14: process id << 32 | thread id; 0 if nobody writes it.
 *
 * All words are little-endian.
 */
#pragma once

#include "base/vec.h"
#include "gpubpf/context.h"
#include "gpubpf/facts.h"
#include "gpubpf/map/map.h"
#include "gpubpf/program.h"
#include "gpubpf/verify/verify.h"

enum {
	GT_MAX_PREFIX = 24,           /* characters of a prefix */
	GT_OUTPUT_BYTES = 1 << 20,    /* of the output ring, unless said otherwise */
	GT_MAX_TRANSLATED = 32 << 20, /* bytes of text, unless said otherwise */
};

enum gt_translation_form {
	GT_FORM_KERNEL,
	GT_FORM_SPLICE,
};

/* Initial values of the symbols, for maps whose addresses are known before the module is loaded. */
struct gt_symbol_values {
	const uint64_t (*maps)[2]; /* by map number */
	uint64_t output[2];
	uint64_t pid_tgid;
};

struct gt_translate_options {
	enum gt_translation_form form;
	unsigned sm;           /* 90: .target sm_90; 0: 60, the oldest */
	char sm_suffix;        /* 'a' of sm_90a, or 0 */
	unsigned version;      /* 78: .version 7.8; 0: what sm needs, 6.2 at least */
	const char *prefix;    /* of all names; NULL: "gputap_" */
	uint32_t output_bytes; /* 0: GT_OUTPUT_BYTES; a power of two */
	size_t max_text;       /* bytes of a job's text; 0: GT_MAX_TRANSLATED */
	bool symbols_global;   /* symbols are .global: the constant bank is full */
	const struct gt_symbol_values *symbols; /* NULL: zeros */
};

/* Where a value is at the site. */
enum gt_site_kind {
	GT_SITE_OPERAND,   /* `operand` is a register, special register or number */
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
	 * The values of the site. What a thread knows itself need not be there; in the form
	 * "splice" any other value that a program reads and that is not there is 0.
	 */
	const struct gt_site_value *values;
	uint32_t value_count;
};

/* What jobs of one module become. All zeros at the start; text is for the module. */
struct gt_translation {
	struct gt_strbuf declarations; /* symbols and functions that bodies use */
	struct gt_strbuf text;         /* kernels or bodies, one behind the other */
	GT_VEC(char *) declared;       /* names that are in declarations */
};
void gt_translation_clear(struct gt_translation *translation);

struct gt_code_target {
	const char *name;
	/*
	 * Adds a job of `object` (NULL: it has no maps). 0; -EINVAL: options that make no sense;
	 * -EOPNOTSUPP: the target cannot do it; -E2BIG: longer than max_text; -ENOMEM.
	 * What was added before is untouched after an error.
	 */
	int (*translate)(const struct gt_translate_options *options,
			 const struct gt_bpf_object *object, const struct gt_translate_job *job,
			 struct gt_translation *translation, struct gt_diag *diag);
	/* The whole module of the form "kernel", added to `module`. 0 or -Exxx. */
	int (*finish)(const struct gt_translate_options *options,
		      const struct gt_translation *translation, struct gt_strbuf *module,
		      struct gt_diag *diag);
};

#define TARGET(name) extern const struct gt_code_target gt_target_##name;
#include "gpubpf/targets.def"
#undef TARGET

/* By name, or NULL. */
const struct gt_code_target *gt_code_target_find(const char *name);
