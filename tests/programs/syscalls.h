/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the program "syscalls". */
#pragma once

/* Calls whose results are structures: addresses, options, sets, times. */
void use_results(void);
/* Calls with arrays of structures, or with memory of other processes and of nodes. */
void use_arrays(void);
