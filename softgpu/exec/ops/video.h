/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The video instructions (vadd, vabsdiff4 …; PTX ISA 9.0, 9.7.16), encoded in 64 bits. */
#pragma once

#include <stdint.h>

enum sg_video_operation {
	SG_VIDEO_ADD,
	SG_VIDEO_SUB,
	SG_VIDEO_ABSDIFF,
	SG_VIDEO_MIN,
	SG_VIDEO_MAX,
	SG_VIDEO_SHL,
	SG_VIDEO_SHR,
	SG_VIDEO_MAD,
	SG_VIDEO_SET,
	SG_VIDEO_AVERAGE,
};

enum sg_video_second {
	SG_VIDEO_SECOND_NONE,
	SG_VIDEO_SECOND_ADD,
	SG_VIDEO_SECOND_MIN,
	SG_VIDEO_SECOND_MAX,
	SG_VIDEO_SECOND_MERGE, /* the result replaces a part of c */
};

enum sg_video_comparison {
	SG_VIDEO_EQ,
	SG_VIDEO_NE,
	SG_VIDEO_LT,
	SG_VIDEO_LE,
	SG_VIDEO_GT,
	SG_VIDEO_GE,
};

/* Laid out in the 64 bits of an instruction's immediate. */
union sg_video {
	uint64_t bits;
	struct {
		uint64_t operation : 4;
		uint64_t lanes : 3; /* 1, 2 or 4 parts of a word */
		uint64_t signed_a : 1;
		uint64_t signed_b : 1;
		uint64_t signed_c : 1;
		uint64_t signed_d : 1;
		uint64_t saturate : 1;
		uint64_t wraps : 1;
		uint64_t plus_one : 1;
		uint64_t negate_product : 1;
		uint64_t negate_c : 1;
		uint64_t shift_right : 4;
		uint64_t comparison : 3;
		uint64_t second : 3;
		uint64_t select_d : 4;  /* one part: which; else a mask of parts */
		uint64_t select_a : 16; /* one part: which; else 4 bits a part */
		uint64_t select_b : 16;
	};
};

/* Returns the result of an instruction for one lane's a, b and c. */
uint32_t sg_video_compute(uint64_t bits, uint32_t a, uint32_t b, uint32_t c);
