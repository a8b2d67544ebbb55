/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helper functions: one row each (helpers.def), with the functions that implement it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpubpf/context.h"
#include "gpubpf/facts.h"

#define GT_HELPER_ARGUMENTS 5

/* Argument types, as the verifier checks them. */
enum gt_helper_argument {
	GT_ARG_NONE,
	GT_ARG_ANYTHING,      /* any initialised register */
	GT_ARG_SCALAR,        /* a scalar that becomes visible to others: no address */
	GT_ARG_KEY_SCALAR,    /* the same, and it selects a value of an array */
	GT_ARG_OPTIONAL,      /* as GT_ARG_SCALAR, or not initialised */
	GT_ARG_MAP,           /* a map with lookup: ld_imm64 of a map index */
	GT_ARG_RING,          /* a map that takes records */
	GT_ARG_KEY,           /* readable memory of the map's key size */
	GT_ARG_VALUE,         /* readable memory of the map's value size */
	GT_ARG_MEMORY,        /* readable memory of the size in the next argument */
	GT_ARG_SIZE,          /* that size: at least 1 */
	GT_ARG_SIZE_OR_ZERO,  /* that size: 0 allowed */
	GT_ARG_RECORD_SIZE,   /* a known size of a record */
	GT_ARG_RECORD,        /* the start of a reserved record, which the call releases */
	GT_ARG_CONTEXT,       /* on GPUs anything; else the unmodified context */
	GT_ARG_RESULT_U64,    /* memory of 8 bytes that is written */
	GT_ARG_PREFETCH,      /* a known gt_prefetch */
	GT_ARG_LANE_FIELD,    /* a known gt_lane_field (context.h) that the section has */
	GT_ARG_REGISTER,      /* a known number of a register that the section lists */
	GT_ARG_COUNT,         /* a scalar: how often a function is called */
	GT_ARG_FUNCTION,      /* a function that the helper calls */
	GT_ARG_STACK_OR_NULL, /* a pointer to the stack, passed to that function */
	GT_ARG_STRING,        /* a NUL-terminated string in a constant map */
};

/* Where helper 550 (prefetch) brings a line of memory, and how long it is to stay there. */
enum gt_prefetch {
	GT_PREFETCH_L1,
	GT_PREFETCH_L2,
	GT_PREFETCH_KEEP,    /* L2, to be evicted last */
	GT_PREFETCH_RELEASE, /* L2, to be evicted as others are */
	GT_PREFETCH_COUNT,
};

enum gt_helper_result {
	GT_RESULT_SCALAR,
	GT_RESULT_NOTHING,        /* r0 is not set */
	GT_RESULT_VALUE_OR_NULL,  /* of the map in the first argument */
	GT_RESULT_RECORD_OR_NULL, /* must be released */
};

/* Whether the result differs between the lanes of a warp. */
enum gt_helper_lanes {
	GT_LANES_SAME,    /* it does not */
	GT_LANES_VARYING, /* it may */
	GT_LANES_INPUTS,  /* it may if an argument does */
};

enum gt_helper_trait {
	GT_TRAIT_NONE = 0,
	GT_TRAIT_COLLECTIVE = 1, /* waits for all lanes of the group */
	GT_TRAIT_CONTROL = 2,    /* changes the execution of the kernel: --allow-control */
	GT_TRAIT_SERIALISES = 4, /* lanes execute it one after the other if their values differ */
	GT_TRAIT_GROUP = 16,     /* only in programs that run once per group of lanes */
	GT_TRAIT_LANES_DIFFER = 32, /* the values that it writes differ between lanes */
	GT_TRAIT_WRITES = 8,        /* changes the map: rejected for read-only maps */
	GT_TRAIT_ENDS = 64,         /* ends the thread, which must have released its records */
	GT_TRAIT_ADDS = 128,        /* adds atomically to a value of a map */
	GT_TRAIT_CLOCK = 256,       /* reads a clock of the GPU */
	GT_TRAIT_ACTIVE = 512,      /* reads which lanes are active */
	GT_TRAIT_DEVICE = 1024,     /* reads the number of the device, or may */
};

enum {
	GT_FIRST_GPU_HELPER = 501, /* helpers below are those of Linux */
};

/* Helper numbers by name: GT_HELPER_map_lookup_elem == 1. */
enum gt_helper_number {
#define HELPER(number, name, ...) GT_HELPER_##name = (number),
#include "gpubpf/helpers.def"
#undef HELPER
};

struct gt_helper {
	uint32_t number;
	const char *name; /* without "bpf_" */
	/* What a helper without arguments returns, or one with arguments stores; or NONE. */
	enum gt_context_source source;
	enum gt_helper_result result;
	enum gt_helper_lanes lanes;
	unsigned traits; /* gt_helper_trait */
	enum gt_helper_argument arguments[GT_HELPER_ARGUMENTS];
};

/* The row of a helper number, or NULL. */
const struct gt_helper *gt_helper(uint32_t number);
/* Whether a verified program may call a helper with one of the traits. */
bool gt_helpers_used(const struct gt_bpf_program *program, const struct gt_facts *facts,
		     unsigned traits);
