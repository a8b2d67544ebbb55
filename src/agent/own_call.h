/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the driver that the agent makes and the program does not: probes ignore them. */
#pragma once

#include <stdint.h>

#include "base/own_call.h"

enum {
	GT_OWN_ARGUMENTS = 8,
};

/* Call a function of the driver with these arguments, integers or pointers, or the first of them.
 */
int gt_agent_own_call(const uintptr_t arguments[GT_OWN_ARGUMENTS], void *function);

#define GT_OWN_WORDS(a, b, c, d, e, f, g, h, ...)                                                  \
	((const uintptr_t[GT_OWN_ARGUMENTS]){(uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c),       \
					     (uintptr_t)(d), (uintptr_t)(e), (uintptr_t)(f),       \
					     (uintptr_t)(g), (uintptr_t)(h)})
#define GT_OWN_CALL(function, ...)                                                                 \
	gt_agent_own_call(GT_OWN_WORDS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0), (void *)(function))
#define OWN1(name, a) GT_OWN_CALL(gt_driver.name, a)
#define OWN2(name, a, b) GT_OWN_CALL(gt_driver.name, a, b)
#define OWN3(name, a, b, c) GT_OWN_CALL(gt_driver.name, a, b, c)
#define OWN4(name, a, b, c, d) GT_OWN_CALL(gt_driver.name, a, b, c, d)
#define OWN5(name, a, b, c, d, e) GT_OWN_CALL(gt_driver.name, a, b, c, d, e)
#define OWN8(name, a, b, c, d, e, f, g, h) GT_OWN_CALL(gt_driver.name, a, b, c, d, e, f, g, h)
