/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/vec.h"

#include <stdint.h>

int gt_vec_grow(void **items, size_t *capacity, size_t count, size_t item_size)
{
	size_t wanted = count < 8 ? 8 : count * 2;
	void *grown;

	if (wanted > SIZE_MAX / item_size)
		return -ENOMEM;
	grown = realloc(*items, wanted * item_size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*capacity = wanted;
	return 0;
}
