/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gt_strbuf_grow(struct gt_strbuf *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 64;
	char *grown;

	if (buffer->failed)
		return false;
	while (capacity - buffer->length <= more)
		capacity *= 2;
	grown = realloc(buffer->data, capacity);
	if (!grown) {
		buffer->failed = true;
		return false;
	}
	buffer->data = grown;
	buffer->capacity = capacity;
	return true;
}

void gt_strbuf_vprintf(struct gt_strbuf *buffer, const char *format, va_list arguments)
{
	va_list again;
	size_t room;
	int length;

	if (!gt_strbuf_reserve(buffer, 64))
		return;
	va_copy(again, arguments);
	room = buffer->capacity - buffer->length;
	length = vsnprintf(buffer->data + buffer->length, room, format, arguments);
	if (length >= 0 && (size_t)length >= room) {
		if (gt_strbuf_reserve(buffer, length))
			vsnprintf(buffer->data + buffer->length, length + 1, format, again);
		else
			length = 0;
	}
	va_end(again);
	if (length > 0)
		buffer->length += length;
	buffer->data[buffer->length] = '\0';
}

void gt_strbuf_printf(struct gt_strbuf *buffer, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	gt_strbuf_vprintf(buffer, format, arguments);
	va_end(arguments);
}

#define MAX_DIGITS 20 /* of 2^64 - 1 */

void gt_strbuf_u64(struct gt_strbuf *buffer, uint64_t number)
{
	char digits[MAX_DIGITS];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	gt_strbuf_add(buffer, digits + first, sizeof(digits) - first);
}

void gt_strbuf_i64(struct gt_strbuf *buffer, int64_t number)
{
	if (number < 0)
		gt_strbuf_putc(buffer, '-');
	gt_strbuf_u64(buffer, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void gt_strbuf_hex(struct gt_strbuf *buffer, uint64_t number)
{
	char digits[18];
	size_t first = sizeof(digits);

	do {
		digits[--first] = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	digits[--first] = 'x';
	digits[--first] = '0';
	gt_strbuf_add(buffer, digits + first, sizeof(digits) - first);
}

void gt_strbuf_digits(struct gt_strbuf *buffer, uint64_t number, unsigned digits)
{
	char text[MAX_DIGITS];

	for (unsigned i = digits; i-- > 0; number /= 10)
		text[i] = (char)('0' + number % 10);
	gt_strbuf_add(buffer, text, digits);
}

void gt_strbuf_pad(struct gt_strbuf *buffer, size_t start, size_t column)
{
	size_t columns = 0, spaces;

	for (size_t i = start; i < buffer->length; i++)
		columns += (buffer->data[i] & 0xc0) != 0x80; /* not inside a UTF-8 character */
	spaces = columns < column ? column - columns : 1;
	if (!gt_strbuf_reserve(buffer, spaces))
		return;
	memset(buffer->data + buffer->length, ' ', spaces);
	buffer->length += spaces;
	buffer->data[buffer->length] = '\0';
}

void gt_strbuf_clear(struct gt_strbuf *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
	if (buffer->data)
		buffer->data[0] = '\0';
}

void gt_strbuf_free(struct gt_strbuf *buffer)
{
	free(buffer->data);
	*buffer = GT_STRBUF_INIT;
}

const char *gt_strbuf_string(const struct gt_strbuf *buffer)
{
	return buffer->data ? buffer->data : "";
}

char *gt_strbuf_steal(struct gt_strbuf *buffer)
{
	char *data = NULL;

	gt_strbuf_add(buffer, "", 0);
	if (buffer->failed)
		gt_strbuf_free(buffer);
	else
		data = buffer->data;
	*buffer = GT_STRBUF_INIT;
	return data;
}
