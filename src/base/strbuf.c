/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and a NUL. */
static bool reserve(struct gt_strbuf *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 64;
	char *grown;

	if (buffer->failed)
		return false;
	if (more < buffer->capacity - buffer->length)
		return true;
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

void gt_strbuf_add(struct gt_strbuf *buffer, const char *data, size_t length)
{
	if (!reserve(buffer, length))
		return;
	if (length)
		memcpy(buffer->data + buffer->length, data, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
}

void gt_strbuf_puts(struct gt_strbuf *buffer, const char *text)
{
	gt_strbuf_add(buffer, text, strlen(text));
}

void gt_strbuf_putc(struct gt_strbuf *buffer, char character)
{
	gt_strbuf_add(buffer, &character, 1);
}

void gt_strbuf_vprintf(struct gt_strbuf *buffer, const char *format, va_list arguments)
{
	va_list again;
	size_t room;
	int length;

	if (!reserve(buffer, 64))
		return;
	va_copy(again, arguments);
	room = buffer->capacity - buffer->length;
	length = vsnprintf(buffer->data + buffer->length, room, format, arguments);
	if (length >= 0 && (size_t)length >= room) {
		if (reserve(buffer, length))
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

void gt_strbuf_pad(struct gt_strbuf *buffer, size_t start, size_t column)
{
	size_t columns = 0;

	for (size_t i = start; i < buffer->length; i++)
		columns += (buffer->data[i] & 0xc0) != 0x80; /* not inside a UTF-8 character */
	do
		gt_strbuf_putc(buffer, ' ');
	while (!buffer->failed && ++columns < column);
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
