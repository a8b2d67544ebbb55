/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a report about a cubin, as an agent sends it. */
#include <stdlib.h>

#include "run/recovered.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	struct gt_recovered_search search = {.recovered = recovered};
	gt_auto_cubin_ptx ptx = {0};

	if (!recovered)
		return 0;
	if (gt_recovered_take(recovered, 0, data, size) && gt_recovered_count(recovered))
		abort();
	gt_recovered_find(&search, data, size, &ptx);
	return 0;
}
