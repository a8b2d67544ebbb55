/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of which a device has a copy, since it does not access that of this process (sharing.h).
 * It is copied to the device before a launch and merged after it, by words of 64 bits: a three-way
 * merge of the words as they were copied (base), as the device returns them, and as they are now.
 * It needs libc alone: the layer inside traced processes has it, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Read words that others may change meanwhile, the first one first: what was stored before a value
 * that is read is in the words after it. Rings need this: a reader clears records before it returns
 * their credit, which is at the beginning.
 */
void gt_cl_read_words(uint64_t *to, const uint64_t *words, size_t count);
/*
 * Add to each word what the device added to it since `base`, atomically, and make `base` that of
 * the device. Words that only one side has changed get its value; one that both have changed gets
 * the sum of the changes, which is exact for counts. The last word is stored first: records of
 * rings become complete by their headers, which precede them.
 */
void gt_cl_merge_words(uint64_t *words, uint64_t *base, const uint64_t *device, size_t count);
