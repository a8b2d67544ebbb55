/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the arguments of a function lie: slots and copies, by the calling convention of a
 * machine. Inside src/api, and for its tests.
 *
 * Sources: System V ABI, AMD64 Supplement, 3.2.3; Procedure Call Standard for the Arm 64-bit
 * Architecture, 6.8. The tables have no structure with floats that is passed by value
 * (tools/gen-api refuses one), so a structure of at most 16 bytes goes into integer registers.
 */
#pragma once

#include "api/tables.h"

enum gt_machine {
	GT_MACHINE_X86_64,
	GT_MACHINE_AARCH64,
	GT_MACHINES,
};

#if defined(__x86_64__)
#define GT_MACHINE_HERE GT_MACHINE_X86_64
#elif defined(__aarch64__)
#define GT_MACHINE_HERE GT_MACHINE_AARCH64
#else
#error "gputap knows the calling conventions of x86-64 and aarch64 Linux: see src/api/layout.c"
#endif

#define GT_LAYOUT_NONE (-1)

struct gt_api_place {
	int8_t slot;    /* the first one; GT_LAYOUT_NONE: the argument is not captured */
	uint8_t slots;  /* that it takes and that are captured */
	int8_t copy;    /* of what it points to; GT_LAYOUT_NONE */
	bool reference; /* a structure passed by reference: the copy is its value */
};

struct gt_api_layout {
	struct gt_plan plan;
	struct gt_api_place places[GT_API_MAX_ARGUMENTS];
};

void gt_api_lay_out(const struct gt_api_function *function, enum gt_machine machine,
		    struct gt_api_layout *ret_layout);
/* Adds to the plan what calls of the function tell of threads and devices. */
void gt_api_plan_told(const struct gt_api_function *function, struct gt_api_layout *layout);
/* Whether such calls are worth a probe of their own. */
bool gt_api_tells_state(const struct gt_api_function *function);
