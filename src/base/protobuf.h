/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Encoding of Protocol Buffers messages into a string buffer
 * (https://protobuf.dev/programming-guides/encoding/). The caller knows the numbers and types of
 * the fields. A generated encoder is not used: it would build each message in memory, and then
 * count and copy its bytes.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

enum gt_pb_wire_type {
	GT_PB_VARINT = 0,
	GT_PB_FIXED64 = 1,
	GT_PB_LENGTH = 2,
};

#define GT_PB_MAX_VARINT 10 /* bytes */

static inline unsigned gt_pb_encode_varint(unsigned char *bytes, uint64_t value)
{
	unsigned count = 0;

	while (value >= 0x80) {
		bytes[count++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	bytes[count++] = (unsigned char)value;
	return count;
}

static inline void gt_pb_varint(struct gt_strbuf *buffer, uint64_t value)
{
	if (!gt_strbuf_reserve(buffer, GT_PB_MAX_VARINT))
		return;
	buffer->length +=
		gt_pb_encode_varint((unsigned char *)buffer->data + buffer->length, value);
	buffer->data[buffer->length] = '\0';
}

static inline void gt_pb_key(struct gt_strbuf *buffer, unsigned field, enum gt_pb_wire_type type)
{
	gt_pb_varint(buffer, field << 3 | (unsigned)type);
}

/* A field of type uint32, uint64, bool or an enum. */
static inline void gt_pb_uint(struct gt_strbuf *buffer, unsigned field, uint64_t value)
{
	gt_pb_key(buffer, field, GT_PB_VARINT);
	gt_pb_varint(buffer, value);
}

/* A field of type int32 or int64. */
static inline void gt_pb_int(struct gt_strbuf *buffer, unsigned field, int64_t value)
{
	gt_pb_uint(buffer, field, (uint64_t)value);
}

static inline void gt_pb_fixed64(struct gt_strbuf *buffer, unsigned field, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	gt_pb_key(buffer, field, GT_PB_FIXED64);
	gt_strbuf_add(buffer, (const char *)bytes, sizeof(bytes));
}

static inline void gt_pb_double(struct gt_strbuf *buffer, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	gt_pb_fixed64(buffer, field, bits);
}

/* Begin a field that is a message, or packed values. Return what gt_pb_end needs. */
static inline size_t gt_pb_begin(struct gt_strbuf *buffer, unsigned field)
{
	gt_pb_key(buffer, field, GT_PB_LENGTH);
	gt_strbuf_putc(buffer, '\0'); /* its length, if one byte is enough */
	return buffer->length;
}

static inline void gt_pb_end(struct gt_strbuf *buffer, size_t begin)
{
	unsigned char bytes[GT_PB_MAX_VARINT];
	size_t length;
	unsigned count;

	if (buffer->failed)
		return;
	length = buffer->length - begin;
	count = gt_pb_encode_varint(bytes, length);
	if (count > 1) {
		if (!gt_strbuf_reserve(buffer, count))
			return;
		memmove(buffer->data + begin + count - 1, buffer->data + begin, length);
		buffer->length += count - 1;
		buffer->data[buffer->length] = '\0';
	}
	memcpy(buffer->data + begin - 1, bytes, count);
}

/* A field of type bytes, or a message that is encoded already. */
static inline void gt_pb_bytes(struct gt_strbuf *buffer, unsigned field, const void *data,
			       size_t length)
{
	gt_pb_key(buffer, field, GT_PB_LENGTH);
	gt_pb_varint(buffer, length);
	gt_strbuf_add(buffer, data, length);
}

/* A field of type string: bytes that are not UTF-8 are written as U+FFFD. */
static inline void gt_pb_string(struct gt_strbuf *buffer, unsigned field, const char *text)
{
	size_t begin = gt_pb_begin(buffer, field);

	gt_put_utf8(buffer, text, strlen(text));
	gt_pb_end(buffer, begin);
}
