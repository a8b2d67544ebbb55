/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Building modules of SPIR-V, in the flavour of OpenCL: capabilities Kernel and Addresses,
 * addressing model Physical64, memory model OpenCL. The order of a module's sections is that of the
 * SPIR-V specification, 2.4 "Logical Layout of a Module".
 *
 * Ids are numbers from 1 on. When memory runs out, or a module gets larger than its limit, the
 * builder is marked as failed, which is checked once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "spirv/module.h"

/* A part of a module: instructions. */
struct gt_spirv_words {
	GT_VEC(uint32_t) words;
	bool failed; /* out of memory: later instructions are missing */
};

/* A constant that was used, to find it again without a search. */
struct gt_spirv_recent {
	uint64_t value;
	uint32_t bits, id; /* bits: 0: none */
};
enum {
	GT_SPIRV_RECENT = 64,
};

struct gt_spirv_builder {
	struct gt_spirv_words sections[GT_SPIRV_SECTIONS];
	struct gt_spirv_words processed;    /* at the end of the debug information */
	struct gt_spirv_words declarations; /* of functions: they precede all definitions */
	uint32_t version;                   /* 0x10000 is 1.0 */
	uint32_t generator;
	uint32_t bound;                /* all ids are below */
	uint32_t extended;             /* the instruction set OpenCL.std; 0: not imported yet */
	uint32_t integers[5], boolean; /* types that were declared; 0: not yet */
	struct gt_hash *known;         /* types and constants: from their instruction to the id */
	struct gt_spirv_recent recent[GT_SPIRV_RECENT]; /* constants, by their lowest bits */
	bool failed;
};

/* An empty module of SPIR-V 1.0. */
void gt_spirv_init(struct gt_spirv_builder *builder);
/*
 * A module to add to: its types, constants and built-in values are used again, since the types of a
 * module must not be duplicated. It may be freed afterwards.
 */
void gt_spirv_init_from(struct gt_spirv_builder *builder, const struct gt_spirv_module *module);
void gt_spirv_clear(struct gt_spirv_builder *builder);
/* Declare a capability, once; those of integers and of kernels are there from the start. */
void gt_spirv_require(struct gt_spirv_builder *builder, unsigned capability);
/* Declare an extension, once. */
void gt_spirv_require_extension(struct gt_spirv_builder *builder, const char *name);
/* Require a version at least. */
enum { GT_SPIRV_1_3 = 0x10300 };
void gt_spirv_require_version(struct gt_spirv_builder *builder, uint32_t version);

/* A fresh id. */
static inline uint32_t gt_spirv_id(struct gt_spirv_builder *builder)
{
	if (builder->bound < GT_SPIRV_MAX_BOUND)
		return builder->bound++;
	builder->failed = true;
	return builder->bound - 1;
}

/* The same as gt_spirv_reserve(), which calls it where words must move. */
uint32_t *gt_spirv_grow(struct gt_spirv_words *words, size_t count);
/* Room for `count` more words; NULL: out of memory, now or before. */
static inline uint32_t *gt_spirv_reserve(struct gt_spirv_words *words, size_t count)
{
	size_t at = words->words.count;

	if (words->failed || count > words->words.capacity - at)
		return gt_spirv_grow(words, count);
	words->words.count = at + count;
	return words->words.items + at;
}

/* The upper half of an instruction's first word is its length in words. */
#define GT_SPIRV_LENGTH_SHIFT 16
/* Allocate the room for `count` words that will be added, at once. */
static inline void gt_spirv_expect(struct gt_spirv_words *words, size_t count)
{
	if (gt_spirv_reserve(words, count))
		words->words.count -= count;
}

/* Begin an instruction: the room for its `count` operands. NULL: out of memory. */
static inline uint32_t *gt_spirv_begin(struct gt_spirv_words *words, unsigned opcode, size_t count)
{
	uint32_t *room = gt_spirv_reserve(words, count + 1);

	if (!room)
		return NULL;
	words->failed |= count >= UINT16_MAX;
	*room = (uint32_t)(count + 1) << GT_SPIRV_LENGTH_SHIFT | opcode;
	return room + 1;
}

/* Add an instruction with `count` operands; ids of type and result come first. */
static inline void gt_spirv_add(struct gt_spirv_words *words, unsigned opcode,
				const uint32_t *operands, size_t count)
{
	uint32_t *room = gt_spirv_begin(words, opcode, count);

	for (size_t i = 0; room && i < count; i++)
		room[i] = operands[i];
}
#define gt_spirv_emit(words, opcode, ...)                                                          \
	gt_spirv_add((words), (opcode), (const uint32_t[]){__VA_ARGS__},                           \
		     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
/* The same with operands of two arrays. */
void gt_spirv_add_more(struct gt_spirv_words *words, unsigned opcode, const uint32_t *operands,
		       size_t count, const uint32_t *more, size_t more_count);
/* The same with `count` operands, a string and `more_count` operands. */
void gt_spirv_add_string(struct gt_spirv_words *words, unsigned opcode, const uint32_t *operands,
			 size_t count, const char *string, const uint32_t *more, size_t more_count);
/* Add the words from `begin` to `end` of others. */
void gt_spirv_append(struct gt_spirv_words *words, const struct gt_spirv_words *others,
		     size_t begin, size_t end);
void gt_spirv_words_clear(struct gt_spirv_words *words);

/*
 * The id of a type or constant; the instruction is added the first time. Operands are those after
 * the result; `type` is 0 for types.
 */
uint32_t gt_spirv_global(struct gt_spirv_builder *builder, unsigned opcode, uint32_t type,
			 const uint32_t *operands, size_t count);

uint32_t gt_spirv_type_void(struct gt_spirv_builder *builder);
uint32_t gt_spirv_type_bool(struct gt_spirv_builder *builder);
/* Integers of 8, 16, 32 and 64 bits; those of the Kernel flavour have no sign. */
uint32_t gt_spirv_type_int(struct gt_spirv_builder *builder, unsigned bits);
uint32_t gt_spirv_type_vector(struct gt_spirv_builder *builder, uint32_t element, unsigned count);
uint32_t gt_spirv_type_array(struct gt_spirv_builder *builder, uint32_t element, uint32_t count);
uint32_t gt_spirv_type_pointer(struct gt_spirv_builder *builder, unsigned storage, uint32_t type);
uint32_t gt_spirv_constant(struct gt_spirv_builder *builder, unsigned bits, uint64_t value);
uint32_t gt_spirv_bool(struct gt_spirv_builder *builder, bool value);
/* A constant of 64 bits that the host can set before it builds the program. */
uint32_t gt_spirv_spec_constant(struct gt_spirv_builder *builder, uint32_t spec_id, uint64_t value);
/* The input variable of a built-in value: of the type vec3 of 64 bits. */
uint32_t gt_spirv_builtin(struct gt_spirv_builder *builder, unsigned builtin);
/* The same of the type i32. */
uint32_t gt_spirv_builtin_word(struct gt_spirv_builder *builder, unsigned builtin);
/* The instruction set OpenCL.std. */
uint32_t gt_spirv_extended(struct gt_spirv_builder *builder);

/*
 * The id of a function of the device's library, by the name that it has there: with parameters of
 * 32 bits, and a result of the type `result`.
 */
uint32_t gt_spirv_import(struct gt_spirv_builder *builder, const char *name, uint32_t result,
			 unsigned parameters);
/*
 * A function without parameters whose result of 64 bits is the CPU's counter of cycles (LLVM
 * Language Reference, "llvm.readcyclecounter"), where the device's compiler is LLVM and passes its
 * name on.
 */
#define GT_SPIRV_CYCLE_COUNTER "llvm.readcyclecounter"

/*
 * Adds a kernel's entry point: `interface` are the input variables that it uses. The kernel's name
 * is its OpName, too.
 */
void gt_spirv_add_entry_point(struct gt_spirv_builder *builder, uint32_t function, const char *name,
			      const uint32_t *interface, size_t count);

/* Adds the module, as little-endian words, to `binary`. 0 or -ENOMEM. */
int gt_spirv_finish(const struct gt_spirv_builder *builder, struct gt_strbuf *binary);
