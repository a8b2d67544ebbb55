/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libgputap-driver.so: nothing of its own. See hooks.c. */
typedef int gt_agent_driver_is_empty;
