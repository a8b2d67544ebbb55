/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether text is JSON as RFC 8259 has it, in one line. */
#include <ctype.h>
#include <string.h>

#include "base/json.h"

enum {
	MAX_DEPTH = 64,
};

struct json_scan {
	const char *at, *end;
	unsigned depth;
};

static bool scan_value(struct json_scan *scan);

static bool scan_byte(struct json_scan *scan, char byte)
{
	if (scan->at == scan->end || *scan->at != byte)
		return false;
	scan->at++;
	return true;
}

static void scan_blanks(struct json_scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
}

static bool scan_word(struct json_scan *scan, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
		return false;
	scan->at += length;
	return true;
}

/* ASCII alone: the project's writer escapes nothing else, and a check of UTF-8 is elsewhere. */
static bool scan_escape(struct json_scan *scan)
{
	if (scan->at == scan->end)
		return false;
	if (*scan->at != 'u')
		return strchr("\"\\/bfnrt", *scan->at) && *scan->at++;
	for (int i = 1; i <= 4; i++)
		if (scan->end - scan->at <= i || !isxdigit((unsigned char)scan->at[i]))
			return false;
	scan->at += 5;
	return true;
}

static bool scan_string(struct json_scan *scan)
{
	if (!scan_byte(scan, '"'))
		return false;
	while (scan->at < scan->end && *scan->at != '"') {
		unsigned char byte = (unsigned char)*scan->at++;

		if (byte < ' ' || byte == 0x7f || (byte == '\\' && !scan_escape(scan)))
			return false;
	}
	return scan_byte(scan, '"');
}

static bool scan_digits(struct json_scan *scan)
{
	const char *start = scan->at;

	while (scan->at < scan->end && isdigit((unsigned char)*scan->at))
		scan->at++;
	return scan->at > start;
}

static bool scan_number(struct json_scan *scan)
{
	scan_byte(scan, '-');
	if (!scan_byte(scan, '0') && !scan_digits(scan))
		return false;
	if (scan_byte(scan, '.') && !scan_digits(scan))
		return false;
	if (!scan_byte(scan, 'e') && !scan_byte(scan, 'E'))
		return true;
	if (!scan_byte(scan, '+'))
		scan_byte(scan, '-');
	return scan_digits(scan);
}

/* The items of an array, or the members of an object, up to the bracket. */
static bool scan_items(struct json_scan *scan, char bracket, bool has_keys)
{
	scan_blanks(scan);
	if (scan_byte(scan, bracket))
		return true;
	do {
		scan_blanks(scan);
		if (has_keys) {
			if (!scan_string(scan))
				return false;
			scan_blanks(scan);
			if (!scan_byte(scan, ':'))
				return false;
		}
		if (!scan_value(scan))
			return false;
	} while (scan_byte(scan, ','));
	return scan_byte(scan, bracket);
}

static bool scan_value(struct json_scan *scan)
{
	bool is_valid;

	scan_blanks(scan);
	if (scan->at == scan->end || ++scan->depth > MAX_DEPTH)
		return false;
	if (scan_byte(scan, '['))
		is_valid = scan_items(scan, ']', false);
	else if (scan_byte(scan, '{'))
		is_valid = scan_items(scan, '}', true);
	else if (*scan->at == '"')
		is_valid = scan_string(scan);
	else
		is_valid = scan_word(scan, "true") || scan_word(scan, "false") ||
			   scan_word(scan, "null") || scan_number(scan);
	scan->depth--;
	scan_blanks(scan);
	return is_valid;
}

bool gt_json_is_value(const char *text, size_t length)
{
	struct json_scan scan = {.at = text, .end = text + length};

	return scan_value(&scan) && scan.at == scan.end;
}
