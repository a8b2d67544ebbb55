/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The types of values in modules of SPIR-V: sizes in memory, and values as integers. */
#pragma once

#include "spirv/builder.h"
#include "spirv/module.h"

/* The instruction of a value's type; NULL: the id has none. */
const struct gt_spirv_instruction *gt_spirv_type_of(const struct gt_spirv_module *module,
						    uint32_t id);
/*
 * What a pointer of the type OpTypePointer refers to: its storage class and the type. 0; -ENOENT:
 * the id is no such pointer.
 */
int gt_spirv_pointer_of(const struct gt_spirv_module *module, uint32_t id, uint32_t *ret_storage,
			uint32_t *ret_type);
/*
 * The bytes that a value of a type takes in memory, without those that align what follows it; 0:
 * not known, or none. Vectors of three have three elements.
 */
uint64_t gt_spirv_type_size(const struct gt_spirv_module *module, uint32_t type);
/* A constant of at most 64 bits. 0; -ENOENT: the id is none. */
int gt_spirv_constant_of(const struct gt_spirv_module *module, uint32_t id, uint64_t *ret_value);

/* A value as in memory: ids of integers of 64 bits, its first 8 bytes and the 8 after these. */
struct gt_spirv_bits {
	uint32_t low, high;
	uint32_t size; /* bytes that are valid: 0 to 16 */
};

/*
 * Add instructions to `words` that pack a value of a type: a number, a pointer or a vector of them.
 * Values of other types have no valid bytes, and are 0.
 */
struct gt_spirv_bits gt_spirv_put_bits(struct gt_spirv_builder *builder,
				       const struct gt_spirv_module *module,
				       struct gt_spirv_words *words, uint32_t type, uint32_t value);

/* The bytes of an argument of a kernel, by the type of its parameter. Images and samplers have 0.
 */
uint32_t gt_spirv_argument_size(const struct gt_spirv_module *module, uint32_t type);
/* Add instructions that make an integer of 64 bits of an argument: its first 8 bytes. */
uint32_t gt_spirv_put_argument(struct gt_spirv_builder *builder,
			       const struct gt_spirv_module *module, struct gt_spirv_words *words,
			       uint32_t type, uint32_t value);
