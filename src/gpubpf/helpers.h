/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helper functions: one row each (helpers.def), with what does it in each engine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GT_HELPER_ARGUMENTS 5

/* What a helper takes, as the verifier checks it. */
enum gt_helper_argument {
	GT_ARG_NONE,
	GT_ARG_ANYTHING,     /* any initialised register */
	GT_ARG_SCALAR,       /* a number that others will see: no address */
	GT_ARG_KEY_SCALAR,   /* the same, and it says which value of an array is meant */
	GT_ARG_OPTIONAL,     /* a number as GT_ARG_SCALAR, or not set */
	GT_ARG_MAP,          /* a map with lookup: ld_imm64 of a map index */
	GT_ARG_RING,         /* a map that takes records */
	GT_ARG_KEY,          /* readable memory of the map's key size */
	GT_ARG_VALUE,        /* readable memory of the map's value size */
	GT_ARG_MEMORY,       /* readable memory of the size in the next argument */
	GT_ARG_SIZE,         /* that size: at least 1 */
	GT_ARG_SIZE_OR_ZERO, /* that size: 0 allowed */
	GT_ARG_RECORD_SIZE,  /* a known size of a record */
	GT_ARG_RECORD,       /* the start of a reserved record; released by the call */
	GT_ARG_CONTEXT,      /* the context, unmoved */
	GT_ARG_RESULT_U64,   /* memory of 8 bytes that is written */
	GT_ARG_LANE_FIELD,   /* a known gt_lane_field (context.h) that the section has */
	GT_ARG_STRING,       /* a NUL-terminated string in a constant map */
};

enum gt_helper_result {
	GT_RESULT_SCALAR,
	GT_RESULT_NOTHING,        /* r0 is not set */
	GT_RESULT_VALUE_OR_NULL,  /* of the map in the first argument */
	GT_RESULT_RECORD_OR_NULL, /* to be released */
};

/* How the result relates to the lanes of a warp. */
enum gt_helper_lanes {
	GT_LANES_SAME,    /* the same in all of them */
	GT_LANES_VARYING, /* may differ */
	GT_LANES_INPUTS,  /* may differ if an argument does */
};

enum gt_helper_trait {
	GT_TRAIT_NONE = 0,
	GT_TRAIT_COLLECTIVE = 1,    /* all lanes of the group must be there: they wait */
	GT_TRAIT_CONTROL = 2,       /* changes what the kernel does: --allow-control */
	GT_TRAIT_SERIALISES = 4,    /* costs one lane after the other where lanes differ */
	GT_TRAIT_GROUP = 16,        /* only in programs that run once a group of lanes */
	GT_TRAIT_LANES_DIFFER = 32, /* what it writes to memory differs between lanes */
	GT_TRAIT_WRITES = 8, /* changes the map: not allowed where programs may only read it */
	GT_TRAIT_ENDS = 64,  /* ends the thread: what it has reserved must have been released */
	GT_TRAIT_ADDS = 128, /* adds to a value of a map in one step */
};

/* Numbers by name: GT_HELPER_map_lookup_elem == 1. */
enum gt_helper_number {
#define HELPER(number, name, ...) GT_HELPER_##name = (number),
#include "gpubpf/helpers.def"
#undef HELPER
};

struct gt_helper {
	uint32_t number;
	const char *name; /* without "bpf_" */
	enum gt_helper_result result;
	enum gt_helper_lanes lanes;
	unsigned traits; /* gt_helper_trait */
	enum gt_helper_argument arguments[GT_HELPER_ARGUMENTS];
};

/* The row of a number, or NULL. */
const struct gt_helper *gt_helper(uint32_t number);
