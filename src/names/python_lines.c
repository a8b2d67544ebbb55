/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/python.h"

/* 3.9: pairs {bytes from the last entry, lines from it}. */
static uint32_t line_by_addresses(uint32_t line, const uint8_t *table, size_t size, int32_t offset)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += (uint32_t)(int8_t)table[i + 1];
	}
	return line;
}

/* 3.10: pairs {bytes of the range, lines from the last one}; -128: the range has no line. */
static uint32_t line_by_ranges(uint32_t line, const uint8_t *table, size_t size, int32_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != -128)
			line += (uint32_t)delta;
		if (offset < end)
			return delta == -128 ? 0 : line;
	}
	return 0;
}

struct byte_reader {
	const uint8_t *at, *end;
};

static uint8_t next_byte(struct byte_reader *reader)
{
	return reader->at < reader->end ? *reader->at++ : 0;
}

/* Six bits a byte, the lowest first; 0x40: more follow. */
static uint32_t next_varint(struct byte_reader *reader)
{
	uint32_t value = 0;
	uint8_t byte;
	unsigned shift = 0;

	do {
		byte = next_byte(reader);
		if (shift < 32)
			value |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return value;
}

static uint32_t next_signed_varint(struct byte_reader *reader)
{
	uint32_t value = next_varint(reader);

	return value & 1 ? -(value >> 1) : value >> 1;
}

/* 3.11 on: entries {0x80 | kind << 3 | code units - 1, what the kind defines}. */
static uint32_t line_by_locations(uint32_t line, const uint8_t *table, size_t size, int32_t offset)
{
	struct byte_reader reader = {table, table + size};
	int64_t end = 0;

	while (reader.at < reader.end) {
		uint8_t first = next_byte(&reader), kind = first >> 3 & 15;

		if (kind <= 9) {
			next_byte(&reader);
		} else if (kind <= 12) {
			line += kind - 10;
			next_byte(&reader);
			next_byte(&reader);
		} else if (kind <= 14) {
			line += next_signed_varint(&reader);
			for (int i = 0; kind == 14 && i < 3; i++)
				next_varint(&reader);
		}
		end += ((first & 7) + 1) * 2;
		if (offset < end)
			return kind == 15 ? 0 : line;
	}
	return 0;
}

uint32_t gt_python_line(unsigned minor, uint32_t first_line, const uint8_t *table, size_t size,
			int32_t offset)
{
	if (offset < 0)
		return first_line;
	/* Code of one line has an empty table in 3.9. */
	if (!size)
		return minor <= 9 ? first_line : 0;
	if (minor <= 9)
		return line_by_addresses(first_line, table, size, offset);
	if (minor == 10)
		return line_by_ranges(first_line, table, size, offset);
	return line_by_locations(first_line, table, size, offset);
}
