/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the driver that the agent makes and the program does not: probes ignore them. */
#pragma once

#include <stdint.h>

#include "base/own_call.h"

/* Call a function of the driver with up to five arguments, integers or pointers. */
int gt_agent_own_call(const void *a, const void *b, const void *c, const void *d, const void *e,
		      void *function);

#define GT_OWN_WORD(value) ((const void *)(uintptr_t)(value))
#define GT_OWN_CALL(function, a, b, c, d, e)                                                       \
	gt_agent_own_call(GT_OWN_WORD(a), GT_OWN_WORD(b), GT_OWN_WORD(c), GT_OWN_WORD(d),          \
			  GT_OWN_WORD(e), (void *)(function))
#define OWN1(name, a) GT_OWN_CALL(gt_driver.name, a, 0, 0, 0, 0)
#define OWN2(name, a, b) GT_OWN_CALL(gt_driver.name, a, b, 0, 0, 0)
#define OWN3(name, a, b, c) GT_OWN_CALL(gt_driver.name, a, b, c, 0, 0)
#define OWN4(name, a, b, c, d) GT_OWN_CALL(gt_driver.name, a, b, c, d, 0)
#define OWN5(name, a, b, c, d, e) GT_OWN_CALL(gt_driver.name, a, b, c, d, e)
