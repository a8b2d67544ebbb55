/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of the running kernel's symbols. */
#include "probe/kernel_symbol.h"
#include "base/clean.h"
#include "tap.h"

TEST("symbols have their addresses by exact names, and none without one")
{
	static const char *const names[] = {
		"_stext", "__irqentry_text_start", "__irqentry_text_end",
		"_etext", "__irqentry_text",       "no_such_symbol"};
	__u64 addresses[gt_countof(names)] = {1, 1, 1, 1, 1, 1};

	if (gt_kernel_symbols_find_addresses(names, gt_countof(names), addresses))
		SKIP("/proc/kallsyms cannot be read");
	CHECK_INT(addresses[4], 0);
	CHECK_INT(addresses[5], 0);
	if (!addresses[0])
		SKIP("the kernel shows us no addresses");
	CHECK(addresses[0] <= addresses[1]);
	CHECK(addresses[1] < addresses[2]);
	CHECK(addresses[2] <= addresses[3]);
}

TEST_MAIN
