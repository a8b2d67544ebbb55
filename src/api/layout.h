/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the arguments of a function lie: slots and copies, by the calling convention of a
 * machine. Inside src/api, and for its tests.
 *
 * Sources: System V ABI, AMD64 Supplement, 3.2.3; Procedure Call Standard for the Arm 64-bit
 * Architecture, 6.8. The tables have no structure with floats that is passed by value
 * (tools/gen-api rejects one), so a structure of at most 16 bytes goes into integer registers.
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

/* Where the value of an argument is. */
struct gt_api_location {
	int8_t slot;    /* the first one; GT_LAYOUT_NONE: the argument is not captured */
	uint8_t slots;  /* number of captured slots */
	int8_t copy;    /* number of the copy of what it points to, or GT_LAYOUT_NONE */
	bool reference; /* a structure passed by reference: the copy is its value */
};

/* A row of transfers.def. */
struct gt_transfer {
	const char *function;
	int direction; /* as gt_call_direction */
	const char *source, *target;
};
/* NULL: it has none. */
const struct gt_transfer *gt_api_transfer(const struct gt_api_function *function);

/* A row of settings.def; settings.c knows what is in it. */
struct gt_setting;
/* NULL: it has none. */
const struct gt_setting *gt_api_setting(const struct gt_api_function *function);

/* A row of sizes.def; sizes.c knows what is in it. */
struct gt_sized;
/* NULL: it has none. */
const struct gt_sized *gt_api_sized(const struct gt_api_function *function);

/* How calls of a function are recorded: computed once, used for each of its calls. */
struct gt_api_layout {
	const struct gt_api_function *function;
	struct gt_plan plan;
	struct gt_api_location locations[GT_API_MAX_ARGUMENTS];
	int8_t kernel, kernel_name;         /* arguments of these roles, or GT_LAYOUT_NONE */
	const struct gt_transfer *transfer; /* of a row in transfers.def, else NULL */
	const struct gt_setting *setting;   /* of a row in settings.def, else NULL */
	const struct gt_sized *sized;       /* of a row in sizes.def, else NULL */
	int8_t blocking;    /* the argument that makes a copy wait, or GT_LAYOUT_NONE */
	bool names_kernels; /* its calls give handles to kernels: gt_call_naming */
};

void gt_api_lay_out(const struct gt_api_function *function, enum gt_machine machine,
		    struct gt_api_layout *ret_layout);
/* As gt_api_kernel_name_slot. */
int gt_layout_kernel_name_slot(const struct gt_api_layout *layout);
/* The first argument of a role, or -1. */
int gt_api_find_role(const struct gt_api_function *function, enum gt_api_role role);
/* The argument that has the number of elements of an array, or -1: it has as many as its type. */
int gt_api_count_argument(const struct gt_api_function *function, unsigned argument);
/* Whether calls of the function give handles to kernels. */
bool gt_api_names_kernels(const struct gt_api_function *function);
/* Whether calls of the function set the size of a kernel's groups. */
bool gt_api_sets_groups(const struct gt_api_function *function);
/* Adds the effect of the function's calls to the plan. */
void gt_api_plan_effect(const struct gt_api_function *function, struct gt_api_layout *layout);
/* Whether its effect changes what is known, so that its calls are traced implicitly. */
bool gt_api_has_effect(const struct gt_api_function *function);
