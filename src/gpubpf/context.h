/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts, to which r1 of programs points: fields at offsets (context.def). On a GPU a context is
 * not in memory: a load from it becomes the register, parameter or constant of the field's source.
 * Contexts are read only, and a load must be within one field.
 */
#pragma once

#include "base/launch_limits.h"
#include "gpubpf/section.h"

/* Kinds of programs as a set: bit n is kind n. */
enum gt_context_kinds {
	GT_IN_ALL = (1 << GT_KIND_COUNT) - 1 - (1 << GT_KIND_RUN),
	GT_IN_MEMORY = 1 << GT_KIND_LOAD | 1 << GT_KIND_STORE | 1 << GT_KIND_MEMORY |
		       1 << GT_KIND_ATOMIC | 1 << GT_KIND_COPY,
	GT_IN_ACCESS = GT_IN_MEMORY | 1 << GT_KIND_LOAD_BEGIN, /* the value may not be there yet */
	GT_IN_BRANCH = 1 << GT_KIND_BRANCH,
	GT_IN_BARRIER = 1 << GT_KIND_BARRIER | 1 << GT_KIND_BARRIER_END,
};

/* Whether the value may differ between the lanes of a warp. */
enum gt_field_lanes {
	GT_FIELD_UNIFORM,
	GT_FIELD_VARYING,
};

/*
 * The source of a field's value. Constants are known when the program is inserted into a kernel.
 */
enum gt_context_source {
	GT_SOURCE_THREAD_X, /* %tid.x */
	GT_SOURCE_THREAD_Y,
	GT_SOURCE_THREAD_Z,
	GT_SOURCE_LANE,    /* %laneid */
	GT_SOURCE_BLOCK_X, /* %ctaid.x */
	GT_SOURCE_BLOCK_Y,
	GT_SOURCE_BLOCK_Z,
	GT_SOURCE_WARP,         /* the flat thread number in the block / 32 */
	GT_SOURCE_BLOCK_SIZE_X, /* %ntid.x */
	GT_SOURCE_BLOCK_SIZE_Y,
	GT_SOURCE_BLOCK_SIZE_Z,
	GT_SOURCE_SM,          /* %smid */
	GT_SOURCE_GRID_SIZE_X, /* %nctaid.x */
	GT_SOURCE_GRID_SIZE_Y,
	GT_SOURCE_GRID_SIZE_Z,
	GT_SOURCE_MASK,           /* the lanes of the group */
	GT_SOURCE_LAUNCH,         /* %gridid */
	GT_SOURCE_KERNEL,         /* constant: the kernel's number */
	GT_SOURCE_ARGUMENT_COUNT, /* constant: 0 in device functions */
	GT_SOURCE_ARGUMENT_SIZE,  /* constant, by index: 0 after the last */
	GT_SOURCE_ARGUMENT,       /* ld.param, by index: the first 8 bytes; 0 after the last */
	GT_SOURCE_SITE,           /* constant: the id of the site in the module */
	GT_SOURCE_LINE,        /* constant: of the PTX text; entry, exit …: of the body's start */
	GT_SOURCE_ADDRESS,     /* the instruction's address with its offset added */
	GT_SOURCE_VALUE,       /* loaded, stored or the atomic's operand: the first 8 bytes */
	GT_SOURCE_VALUE_HIGH,  /* and the 8 after these */
	GT_SOURCE_VALUE_SIZE,  /* constant: valid bytes of these: 0 to 16 */
	GT_SOURCE_WIDTH,       /* constant: bytes accessed */
	GT_SOURCE_SPACE,       /* constant: gt_bpf_space */
	GT_SOURCE_ACCESS,      /* constant: gt_memory_access */
	GT_SOURCE_TAKEN,       /* 1 if the branch is taken, else 0 */
	GT_SOURCE_TAKEN_MASK,  /* the lanes of the group that take it */
	GT_SOURCE_BARRIER,     /* the number of the barrier */
	GT_SOURCE_CYCLES,      /* clock cycles that the instruction took; by helper 533 only */
	GT_SOURCE_TRIPS,       /* passes of the start of the loop that ends; by helper 534 only */
	GT_SOURCE_SOURCE_LINE, /* constant: of the source, 0: not known; by helper 535 only */
	GT_SOURCE_REGISTER,    /* by index: of PTX, that the section lists; by helper 512 only */
	GT_SOURCE_SHARED_SIZE, /* %total_smem_size; by helper 532 only */
	GT_SOURCE_PREDICATE,   /* by lane only: see GT_LANE_PREDICATE */
	GT_SOURCE_NONE,
};

enum gt_bpf_space {
	GT_SPACE_GENERIC,
	GT_SPACE_GLOBAL,
	GT_SPACE_SHARED,
	GT_SPACE_LOCAL,
	GT_SPACE_CONST,
	GT_SPACE_PARAM,
};

enum gt_memory_access {
	GT_MEMORY_LOAD = 1,
	GT_MEMORY_STORE,
	GT_MEMORY_ATOMIC, /* atom, red */
	GT_MEMORY_COPY,   /* cp.async: the address is the source */
};

enum {
	GT_CONTEXT_ARGUMENTS = 32,
	GT_CONTEXT_SIZE = 512, /* all fields of all kinds end before it */
	/* Of the values of fields. */
	/* Multiprocessors that are not known, or have a larger number, have this one. */
	GT_MAX_SM = 1023,
	GT_MAX_VALUE_SIZE = 16,
	GT_MAX_ACCESS_WIDTH = 32, /* ld.v4.b64, ld.v8.b32 */
	GT_MAX_BARRIER = 15,      /* PTX ISA, "bar" */
};

struct gt_context_field {
	const char *name;
	uint32_t offset, size, count;
	enum gt_context_source source;
	enum gt_field_lanes lanes;
	unsigned kinds;    /* gt_context_kinds */
	unsigned levels;   /* gt_level_set */
	uint64_t min, max; /* of an element */
};

/* The element that a load from a context reads. */
struct gt_context_load {
	const struct gt_context_field *field;
	uint32_t index; /* in arrays */
	uint32_t shift; /* bits: the value is the element >> shift, truncated to `size` bytes */
	uint32_t size;  /* bytes */
};

/* All fields, ended by one whose name is NULL. */
extern const struct gt_context_field gt_context_fields[];

/* Return the field with a source, or NULL. */
const struct gt_context_field *gt_context_field_of(enum gt_context_source source);

/* The size of a kind's context in bytes; 0 for kinds without one. */
uint32_t gt_context_size(enum gt_section_kind kind);

/*
 * Find the field of `size` bytes at `offset` in the context of a section. 0; -ENOENT: no field, or
 * more than one; -EACCES: the field does not exist at this level.
 */
int gt_context_find(const struct gt_section *section, uint32_t offset, uint32_t size,
		    struct gt_context_load *ret_load);

/*
 * The first argument of helpers 524 and 540 to 542: fields that differ between lanes.
 */
enum gt_lane_field {
	GT_LANE_ADDRESS, /* memory accesses */
	GT_LANE_VALUE,
	GT_LANE_VALUE_HIGH,
	/* Branches: whether the lane takes it. Otherwise: whether it is in the group. */
	GT_LANE_PREDICATE,
	GT_LANE_THREAD_X,
	GT_LANE_THREAD_Y,
	GT_LANE_THREAD_Z,
	GT_LANE_COUNT,
};

/* The result of helper 541 (warp_stride) where the lanes have no common stride. */
#define GT_LANE_NO_STRIDE (UINT64_C(1) << 63)

/*
 * Helper 542 (warp_bank_passes): shared memory has 32 banks of 4 bytes. A pass accesses each bank
 * once: units of `width` bytes, at least 4, for 128 / width lanes of the warp.
 */
enum {
	GT_BANK_BYTES = 128,
};
/* log2 of the unit's bytes: 2 to 7. */
static inline unsigned gt_bank_unit_shift(uint32_t width)
{
	unsigned shift = width > 4 ? 31 - (unsigned)__builtin_clz(width) : 2;

	return shift < 7 ? shift : 7;
}

/* Find the source of a lane field. 0; -ENOENT: no such field in this kind of section. */
int gt_lane_source(const struct gt_section *section, uint64_t field,
		   enum gt_context_source *ret_source);

/* "address"; NULL if the field does not exist. */
const char *gt_lane_field_name(uint64_t field);
