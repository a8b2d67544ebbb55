/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of Xids: those of NVIDIA's document and catalog. */
#include "kernel/xid.h"

#include <ctype.h>
#include <limits.h>

#include "base/clean.h"
#include "tap.h"

TEST("Xids have the meaning that NVIDIA's document gives them")
{
	CHECK_STR(gt_xid_name(13), "graphics engine exception");
	CHECK_STR(gt_xid_name(31), "GPU memory page fault");
	CHECK_STR(gt_xid_name(48), "double bit ECC error");
	CHECK_STR(gt_xid_name(79), "GPU has fallen off the bus");
	CHECK_STR(gt_xid_name(95), "uncontained memory error");
	CHECK_STR(gt_xid_name(119), "GSP RPC timeout");
	CHECK_STR(gt_xid_name(143), "GPU initialization error");
}

TEST("copy engines have Xids in four ranges")
{
	CHECK_STR(gt_xid_name(39), "copy engine exception");
	CHECK_STR(gt_xid_name(70), "CE3: unknown error");
	CHECK_STR(gt_xid_name(85), "CE9: unknown error");
	CHECK_STR(gt_xid_name(126), "CE10: unknown error");
	CHECK_STR(gt_xid_name(135), "CE19: unknown error");
}

TEST("Xids of power smoothing are those of the catalog")
{
	CHECK_STR(gt_xid_name(162), "power smoothing HW circuitry capability reengaged");
	CHECK_STR(gt_xid_name(163), "power smoothing HW circuitry capability disengaged");
	CHECK_STR(gt_xid_name(165), "power smoothing HW circuitry lifetime exhausted");
}

TEST("numbers that are unused, reserved or not assigned have no meaning")
{
	static const unsigned none[] = {0,  5,  10, 14, 15,  17,  23,  49,  53,
					55, 87, 90, 91, 108, 138, 173, 256, UINT_MAX};

	for (size_t i = 0; i < gt_countof(none); i++)
		CHECK(!gt_xid_name(none[i]));
}

TEST("each meaning is one line of text without a full stop")
{
	for (unsigned code = 0; code < 256; code++) {
		const char *name = gt_xid_name(code);

		if (!name)
			continue;
		CHECK(strlen(name) > 4 && name[strlen(name) - 1] != '.');
		for (const char *at = name; *at; at++)
			CHECK(isprint((unsigned char)*at));
	}
}

TEST_MAIN
