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
	gt_auto(kernel_symbols) struct gt_kernel_symbols *symbols = gt_kernel_symbols_new();
	__u64 addresses[gt_countof(names)] = {1, 1, 1, 1, 1, 1}, kept[gt_countof(names)];

	if (gt_kernel_symbols_find_addresses(symbols, names, gt_countof(names), addresses))
		SKIP("/proc/kallsyms cannot be read");
	CHECK_INT(addresses[4], 0);
	CHECK_INT(addresses[5], 0);
	CHECK_INT(gt_kernel_symbols_find_addresses(symbols, names, gt_countof(names), kept), 0);
	CHECK(!memcmp(kept, addresses, sizeof(kept)));
	if (!addresses[0])
		SKIP("the kernel shows us no addresses");
	CHECK(addresses[0] <= addresses[1]);
	CHECK(addresses[1] < addresses[2]);
	CHECK(addresses[2] <= addresses[3]);
}

TEST("a function has its exact name, else one with a suffix of a compiler")
{
	static const char *const names[] = {"schedule", NULL, "no_such_function"};
	gt_auto(kernel_symbols) struct gt_kernel_symbols *symbols = gt_kernel_symbols_new();
	char *found[gt_countof(names)];

	if (!gt_kernel_symbols_has(symbols, "schedule"))
		SKIP("/proc/kallsyms cannot be read");
	CHECK(!gt_kernel_symbols_has(symbols, "schedul"));
	CHECK_INT(gt_kernel_symbols_find(symbols, names, gt_countof(names), found), 0);
	CHECK_STR(found[0], "schedule");
	CHECK(!found[1] && !found[2]);
	free(found[0]);
}

TEST_MAIN
