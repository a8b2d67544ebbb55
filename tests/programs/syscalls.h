/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the program "syscalls". */
#pragma once

/* Calls whose results are structures: addresses, options, sets, times. */
void use_results(void);
