/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PTX that a cubin with line information carries. Measured with ptxas, NVRTC and nvJitLink of
 * CUDA 13.0.88:
 *
 *   .nv_debug_ptx_txt           by ptxas and NVRTC with -lineinfo, or where the PTX has .loc
 *   .nv_debug_ptx_txt.<number>  by nvJitLink, one for each linked input
 *
 * Such a section is a whole PTX module, not compressed: each line ends in NUL. It has neither
 * comments nor .file and .loc directives.
 *
 * The compiler's options are in the notes of .note.nv.tkinfo (name "NVIDIA Corp", type 2000), one
 * for each tool: u32 2, u32 0, then four offsets in the strings that follow (u32 each): the tool
 * ("ptxas"), its version, its build, its options ("-maxrregcount 40 -O 1 -arch sm_90 "). Cubins of
 * older toolkits have no such note. Their register limit is attribute 0x1b (format 3) in
 * .nv.info.KERNEL: 255 where there is none, or where the kernel has launch bounds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	GT_CUBIN_MAX_TEXTS = 256, /* in one cubin */
};

struct gt_cubin_text {
	char *text; /* NUL-terminated; an archive may have others */
	size_t length;
};

struct gt_cubin_texts {
	struct gt_cubin_text *items;
	size_t count, capacity;
};

struct gt_cubin_ptx {
	struct gt_cubin_texts texts; /* in the order of their sections */
	/* Archives that it was linked with, which it does not carry (run/recovered.h). */
	struct gt_cubin_texts archives;
	/* Options of ptxas that change the code: "-maxrregcount 40 -O1"; possibly empty */
	struct gt_strbuf options;
};

/* Append a copy of text[0..length). 0 or -ENOMEM. */
int gt_cubin_texts_add(struct gt_cubin_texts *texts, const char *text, size_t length);

/*
 * The bytes of a cubin, by its section headers and sections; 0: malformed. Files and buffers may
 * have more.
 */
size_t gt_cubin_size(const void *data, size_t size);

/*
 * Read the PTX and the options of a cubin. 0; -ENODATA: it carries no PTX; as gt_cubin_read. The
 * options are read in both cases. The caller clears the result, also after an error.
 */
int gt_cubin_ptx_read(const void *data, size_t size, struct gt_cubin_ptx *ret_ptx,
		      struct gt_diag *diag);
void gt_cubin_texts_clear(struct gt_cubin_texts *texts);
void gt_cubin_ptx_clear(struct gt_cubin_ptx *ptx);
#define gt_auto_cubin_ptx __attribute__((cleanup(gt_cubin_ptx_clear))) struct gt_cubin_ptx
