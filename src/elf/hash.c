/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The number of dynamic symbols, for files whose section headers were removed. */
#include "elf/private.h"

#define COUNT_LIMIT (1u << 24) /* of symbols and of buckets */

static bool read_u32(const struct gt_elf *elf, uint64_t address, uint32_t *ret_value)
{
	uint64_t offset = gt_elf_offset(elf, address);

	return offset != GT_ELF_NO_OFFSET &&
	       !gt_elf_read(elf, offset, ret_value, sizeof(*ret_value));
}

/* gABI ch. 5, "Hash Table": buckets, chains; there is a chain entry for each symbol. */
static uint64_t count_of_hash(const struct gt_elf *elf)
{
	uint32_t count;

	return read_u32(elf, elf->hash + 4, &count) && count <= COUNT_LIMIT ? count : 0;
}

/*
 * DT_GNU_HASH: bucket count, index of the first hashed symbol, bloom words (of 8 bytes), bloom
 * shift; bloom filter; buckets with the first symbol of each chain; a hash for each symbol, its
 * lowest bit set at a chain's end. The last chain ends with the last symbol.
 */
static uint64_t count_of_gnu_hash(const struct gt_elf *elf)
{
	uint32_t buckets, first, bloom, bucket, hash, last = 0;
	uint64_t table = elf->gnu_hash, bucket_table, chain_table;

	if (!read_u32(elf, table, &buckets) || !read_u32(elf, table + 4, &first) ||
	    !read_u32(elf, table + 8, &bloom) || buckets > COUNT_LIMIT)
		return 0;
	bucket_table = table + 16 + 8 * (uint64_t)bloom;
	chain_table = bucket_table + 4 * (uint64_t)buckets;
	for (uint32_t i = 0; i < buckets; i++) {
		if (!read_u32(elf, bucket_table + 4 * (uint64_t)i, &bucket))
			return 0;
		if (bucket > last)
			last = bucket;
	}
	if (last < first || last >= COUNT_LIMIT)
		return first <= COUNT_LIMIT ? first : 0;
	do {
		if (!read_u32(elf, chain_table + 4 * (uint64_t)(last - first), &hash))
			return 0;
		last++;
	} while (!(hash & 1) && last < COUNT_LIMIT);
	return last;
}

uint64_t gt_elf_hashed_symbols(const struct gt_elf *elf)
{
	if (elf->hash)
		return count_of_hash(elf);
	return elf->gnu_hash ? count_of_gnu_hash(elf) : 0;
}
