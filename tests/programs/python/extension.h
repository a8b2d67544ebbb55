/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#pragma once

struct run;

/* Calls a function of the interpreter with a run of its frames. */
__attribute__((visibility("default"))) void apply(void (*function)(const struct run *),
						  const struct run *run);
