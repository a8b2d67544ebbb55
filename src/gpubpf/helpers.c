/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of helpers. */
#include "gpubpf/helpers.h"

#include <stddef.h>

#include "base/clean.h"

static const struct gt_helper helpers[] = {
#define HELPER(number, name, does, source, result, lanes, traits, ...)                             \
	{(number), #name, GT_SOURCE_##source, result, lanes, traits, {__VA_ARGS__}},
#include "gpubpf/helpers.def"
#undef HELPER
};

const struct gt_helper *gt_helper(uint32_t number)
{
	for (size_t i = 0; i < gt_countof(helpers); i++)
		if (helpers[i].number == number)
			return &helpers[i];
	return NULL;
}
