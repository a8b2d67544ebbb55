/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What ptxas makes of PTX: instructions, registers and stack of each kernel. */
#pragma once

#include "base/vec.h"

/* Runs commands with the CUDA toolkit's directory in PATH. */
#define SASS_TOOLS "PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" "

struct sass_code {
	char name[128];        /* mangled; longer names are truncated */
	unsigned instructions; /* of 16 bytes, up to the last one that is no NOP */
	unsigned registers;    /* as `ptxas -v` reports */
	unsigned stack;        /* bytes */
	unsigned spills;       /* bytes of spill stores */
};
typedef GT_VEC(struct sass_code) sass_codes;

/* Assemble <directory>/<name>.ptx for sm_<sm> and add its kernels to *codes. 0 or -Exxx. */
int sass_assemble(const char *directory, const char *name, unsigned sm, sass_codes *codes);
/* NULL: there is none of that name. */
struct sass_code *sass_find(sass_codes *codes, const char *name);
