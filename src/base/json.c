/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* Adds one character that is not plain text; returns its length in bytes. */
static size_t put_special(struct gt_strbuf *buffer, const char *text, size_t length)
{
	static const char short_escape[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const unsigned char *byte = (const unsigned char *)text;
	size_t step = gt_utf8_length(text, length);

	for (const char *pair = short_escape; *pair; pair += 2) {
		if (*pair != *text)
			continue;
		gt_strbuf_putc(buffer, '\\');
		gt_strbuf_putc(buffer, pair[1]);
		return 1;
	}
	if (*byte < 0x20 || *byte == 0x7f)
		gt_strbuf_printf(buffer, "\\u%04x", *byte);
	else if (step)
		gt_strbuf_add(buffer, text, step);
	else
		gt_strbuf_puts(buffer, "\\ufffd");
	return step ? step : 1;
}

static bool is_plain(char character)
{
	return character >= 0x20 && character < 0x7f && character != '"' && character != '\\';
}

static void put_quoted(struct gt_strbuf *buffer, const char *text, size_t length)
{
	gt_strbuf_putc(buffer, '"');
	for (size_t i = 0; i < length;) {
		size_t plain = i;

		while (plain < length && is_plain(text[plain]))
			plain++;
		gt_strbuf_add(buffer, text + i, plain - i);
		i = plain;
		if (i < length)
			i += put_special(buffer, text + i, length - i);
	}
	gt_strbuf_putc(buffer, '"');
}

static void begin_value(struct gt_json *json, const char *key)
{
	if (json->comma)
		gt_strbuf_putc(json->buffer, ',');
	json->comma = true;
	if (!key)
		return;
	put_quoted(json->buffer, key, strlen(key));
	gt_strbuf_putc(json->buffer, ':');
}

static void open_group(struct gt_json *json, const char *key, char bracket)
{
	begin_value(json, key);
	gt_strbuf_putc(json->buffer, bracket);
	json->comma = false;
}

static void close_group(struct gt_json *json, char bracket)
{
	gt_strbuf_putc(json->buffer, bracket);
	json->comma = true;
}

void gt_json_object_begin(struct gt_json *json, const char *key)
{
	open_group(json, key, '{');
}

void gt_json_object_end(struct gt_json *json)
{
	close_group(json, '}');
}

void gt_json_array_begin(struct gt_json *json, const char *key)
{
	open_group(json, key, '[');
}

void gt_json_array_end(struct gt_json *json)
{
	close_group(json, ']');
}

void gt_json_string(struct gt_json *json, const char *key, const char *value)
{
	gt_json_string_bytes(json, key, value, strlen(value));
}

void gt_json_string_bytes(struct gt_json *json, const char *key, const char *value, size_t length)
{
	begin_value(json, key);
	put_quoted(json->buffer, value, length);
}

void gt_json_u64(struct gt_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	gt_strbuf_u64(json->buffer, value);
}

void gt_json_i64(struct gt_json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	gt_strbuf_i64(json->buffer, value);
}

void gt_json_double(struct gt_json *json, const char *key, double value)
{
	begin_value(json, key);
	if (isfinite(value))
		gt_strbuf_printf(json->buffer, "%.12g", value);
	else
		gt_strbuf_puts(json->buffer, "null");
}

void gt_json_bool(struct gt_json *json, const char *key, bool value)
{
	begin_value(json, key);
	gt_strbuf_puts(json->buffer, value ? "true" : "false");
}

void gt_json_null(struct gt_json *json, const char *key)
{
	begin_value(json, key);
	gt_strbuf_puts(json->buffer, "null");
}

void gt_json_hex(struct gt_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	gt_strbuf_putc(json->buffer, '"');
	gt_strbuf_hex(json->buffer, value);
	gt_strbuf_putc(json->buffer, '"');
}

void gt_json_value(struct gt_json *json, const char *key, const char *value, size_t length)
{
	bool is_utf8 = true;

	for (size_t i = 0, size; i < length && is_utf8; i += size) {
		size = gt_utf8_length(value + i, length - i);
		is_utf8 = size;
	}
	if (!is_utf8 || !gt_json_is_value(value, length)) {
		gt_json_string_bytes(json, key, value, length);
		return;
	}
	begin_value(json, key);
	gt_strbuf_add(json->buffer, value, length);
}
