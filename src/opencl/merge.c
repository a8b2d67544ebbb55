/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "opencl/merge.h"

void gt_cl_read_words(uint64_t *to, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
}

void gt_cl_merge_words(uint64_t *words, uint64_t *base, const uint64_t *device, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		if (device[i] == base[i])
			continue;
		__atomic_fetch_add(&words[i], device[i] - base[i], __ATOMIC_RELEASE);
		base[i] = device[i];
	}
}
