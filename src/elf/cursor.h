/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bounded reading of little-endian integers and LEB128 (DWARF 5, section 7.6). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A read past the end sets `bad`; from then on every read returns 0. */
struct elf_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline const uint8_t *cursor_skip(struct elf_cursor *cursor, uint64_t size)
{
	const uint8_t *start = cursor->at;

	if (cursor->bad || size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += size;
	return start;
}

static inline uint64_t cursor_number(struct elf_cursor *cursor, size_t size)
{
	const uint8_t *bytes = cursor_skip(cursor, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline int64_t cursor_signed(struct elf_cursor *cursor, size_t size)
{
	unsigned int unused = 64 - 8 * (unsigned int)size;

	return (int64_t)(cursor_number(cursor, size) << unused) >> unused;
}

/* Bits beyond 64 are dropped. */
static inline uint64_t cursor_leb(struct elf_cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)cursor_number(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return cursor->bad ? 0 : value;
}

static inline uint64_t cursor_uleb(struct elf_cursor *cursor)
{
	return cursor_leb(cursor, false);
}

static inline int64_t cursor_sleb(struct elf_cursor *cursor)
{
	return (int64_t)cursor_leb(cursor, true);
}

/* Returns the string at the cursor, or NULL if it has more than `limit` bytes. */
static inline const char *cursor_string(struct elf_cursor *cursor, size_t limit)
{
	const char *start = (const char *)cursor->at;
	size_t left = (size_t)(cursor->end - cursor->at);
	size_t length = left ? strnlen(start, left < limit + 1 ? left : limit + 1) : 0;

	if (length > limit)
		cursor->bad = true;
	return cursor_skip(cursor, (uint64_t)length + 1) ? start : NULL;
}
