/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a driver links to one module, as the collector passes it to the agent: inputs one after the
 * other, each with this in front of its bytes, which are padded with zeros to a multiple of 16.
 * Inline, since the agent depends on libc alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum gt_link_input_kind {
	GT_LINK_PTX = 1, /* its last byte is a NUL, which the size includes */
	GT_LINK_CUBIN,   /* relocatable */
	GT_LINK_ARCHIVE, /* of objects (.a) */
};

enum {
	GT_LINK_ALIGNMENT = 16, /* of the header and the bytes */
};

struct gt_link_header {
	uint32_t kind;          /* enum gt_link_input_kind */
	uint16_t max_registers; /* of PTX; 0: no limit */
	uint8_t optimization;   /* of PTX: 1 + the level; 0: the driver's */
	uint8_t reserved;
	uint64_t size; /* of the bytes, without padding */
};

struct gt_link_input {
	enum gt_link_input_kind kind;
	uint16_t max_registers; /* as above */
	uint8_t optimization;
	const char *data;
	size_t size;
};

/* The bytes that follow those of an input. */
static inline size_t gt_link_padding(uint64_t size)
{
	return (size_t)(-size % GT_LINK_ALIGNMENT);
}

/* The input at *at, which then is the next one. False: malformed, or the end, where *at is end. */
static inline bool gt_link_next(const char **at, const char *end, struct gt_link_input *ret_input)
{
	struct gt_link_header header;
	size_t left = (size_t)(end - *at);
	const char *data;

	if (left < sizeof(header))
		return false;
	memcpy(&header, *at, sizeof(header));
	data = *at + sizeof(header);
	left -= sizeof(header);
	if (!header.size || header.size > left ||
	    gt_link_padding(header.size) > left - header.size || header.kind < GT_LINK_PTX ||
	    header.kind > GT_LINK_ARCHIVE || (header.kind == GT_LINK_PTX && data[header.size - 1]))
		return false;
	*ret_input = (struct gt_link_input){
		.kind = (enum gt_link_input_kind)header.kind,
		.max_registers = header.max_registers,
		.optimization = header.optimization,
		.data = data,
		.size = header.size,
	};
	*at = data + header.size + gt_link_padding(header.size);
	return true;
}
