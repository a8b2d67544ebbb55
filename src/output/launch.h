/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel that a call launches, as text. */
#pragma once

#include "elf/demangle.h"
#include "names/names.h"

/* Add "kernel=NAME", with the arguments of the launch in parentheses where they were recorded. */
void gt_put_launched_kernel(struct gt_strbuf *text, struct gt_demangler *demangler,
			    const struct gt_names *names, const struct gt_call *call,
			    const char *kernel);
