/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clean.h"

struct size_unit {
	const char *name;
	double scale;
};

static const struct size_unit size_units[] = {
	{"", 1},           {"b", 1},          {"bytes", 1},       {"k", 1024},
	{"kb", 1024},      {"kib", 1024},     {"m", 0x100000},    {"mb", 0x100000},
	{"mib", 0x100000}, {"g", 0x40000000}, {"gb", 0x40000000}, {"gib", 0x40000000},
};

static const struct size_unit duration_units[] = {
	{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1},
};

int gt_parse_u64(const char *text, uint64_t *ret_value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, hex ? 16 : 10);
	if (*end || end == text)
		return -EINVAL;
	if (errno == ERANGE)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int parse_scaled(const char *text, const struct size_unit *units, size_t count,
			uint64_t *ret)
{
	double number, scaled;
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	number = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(end, units[i].name))
			continue;
		scaled = number * units[i].scale;
		if (!(scaled < 0x1p63))
			return -ERANGE;
		*ret = (uint64_t)llround(scaled);
		return 0;
	}
	return -EINVAL;
}

int gt_parse_size(const char *text, uint64_t *ret_bytes)
{
	return parse_scaled(text, size_units, gt_countof(size_units), ret_bytes);
}

int gt_parse_duration(const char *text, uint64_t *ret_ns)
{
	return parse_scaled(text, duration_units, gt_countof(duration_units), ret_ns);
}

/* Three significant digits, as in 1.23, 12.3, 123. */
static void put_significant(struct gt_strbuf *buffer, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	gt_strbuf_printf(buffer, "%.*f %s", decimals, value, unit);
}

/* The same for ns / scale, if integer arithmetic gives the same digits as put_significant. */
static bool put_significant_integer(struct gt_strbuf *buffer, uint64_t ns, uint64_t scale,
				    const char *unit)
{
	unsigned decimals = ns < scale / 1000 * 9995 ? 2 : ns < scale / 100 * 9995 ? 1 : 0;
	uint64_t power = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	uint64_t step = scale / power, rounded = (ns + step / 2) / step;

	/* Ties, and values that a double cannot represent, are left to printf. */
	if (ns >> 53 || ns % step * 2 == step)
		return false;
	gt_strbuf_u64(buffer, rounded / power);
	if (decimals) {
		gt_strbuf_putc(buffer, '.');
		gt_strbuf_digits(buffer, rounded, decimals);
	}
	gt_strbuf_putc(buffer, ' ');
	gt_strbuf_puts(buffer, unit);
	return true;
}

void gt_format_duration(struct gt_strbuf *buffer, uint64_t ns)
{
	uint64_t scale = ns < 999500 ? 1000 : ns < 999500000 ? 1000000 : 1000000000;
	const char *unit = ns < 999500 ? "µs" : ns < 999500000 ? "ms" : "s";

	if (ns < 1000) {
		gt_strbuf_u64(buffer, ns);
		gt_strbuf_puts(buffer, " ns");
	} else if (!put_significant_integer(buffer, ns, scale, unit)) {
		put_significant(buffer, (double)ns / (double)scale, unit);
	}
}

void gt_format_bytes(struct gt_strbuf *buffer, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = bytes / 1024.0;
	size_t unit = 0;

	if (bytes < 1024) {
		gt_strbuf_printf(buffer, "%" PRIu64 " B", bytes);
		return;
	}
	while (value >= 1023.5 && unit + 1 < gt_countof(units)) {
		value /= 1024;
		unit++;
	}
	put_significant(buffer, value, units[unit]);
}

void gt_put_printable(struct gt_strbuf *buffer, const char *text)
{
	while (*text) {
		size_t plain = 0;

		while (text[plain] && !iscntrl((unsigned char)text[plain]))
			plain++;
		gt_strbuf_add(buffer, text, plain);
		text += plain;
		if (*text) {
			gt_strbuf_putc(buffer, '?');
			text++;
		}
	}
}

size_t gt_utf8_length(const char *text, size_t available)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t length = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;

	if (length == 1)
		return 1;
	if (byte[0] < 0xc2 || byte[0] > 0xf4 || length > available)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
	if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
	    (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f))
		return 0;
	return length;
}

void gt_put_utf8(struct gt_strbuf *buffer, const char *text, size_t length)
{
	size_t start = 0, i = 0;

	while (i < length) {
		size_t step = gt_utf8_length(text + i, length - i);

		if (!step) {
			gt_strbuf_add(buffer, text + start, i - start);
			gt_strbuf_puts(buffer, "\xef\xbf\xbd");
			start = i + 1;
		}
		i += step ? step : 1;
	}
	gt_strbuf_add(buffer, text + start, length - start);
}

bool gt_glob(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

bool gt_globs_select(const char *const *globs, size_t count, const char *text, bool initial)
{
	bool selected = initial && (!count || globs[0][0] == '!');

	for (size_t i = 0; i < count; i++)
		if (gt_glob(globs[i] + (globs[i][0] == '!'), text))
			selected = globs[i][0] != '!';
	return selected;
}

#define MAX_NAME 64

/* Optimal string alignment distance. */
size_t gt_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_NAME + 1];
	size_t a_length = strnlen(a, MAX_NAME), b_length = strnlen(b, MAX_NAME);
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	for (size_t j = 0; j <= b_length; j++) {
		last[j] = j;
		before[j] = 0;
	}
	for (size_t i = 1; i <= a_length; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b_length];
}

const char *gt_nearest(const char *typed, const char *const *names, size_t count)
{
	size_t limit = strlen(typed) < 5 ? 1 : 1 + strlen(typed) / 4;
	size_t best = limit + 1;
	const char *nearest = NULL;

	for (size_t i = 0; strnlen(typed, MAX_NAME + 1) <= MAX_NAME && i < count; i++) {
		size_t d = strnlen(names[i], MAX_NAME + 1) > MAX_NAME
				   ? SIZE_MAX
				   : gt_distance(typed, names[i]);

		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

static int digit_of(unsigned char character)
{
	if (isdigit(character))
		return character - '0';
	return isxdigit(character) ? tolower(character) - 'a' + 10 : -1;
}

int gt_parse_hex(const char *text, uint8_t **ret_bytes, size_t *ret_size, size_t *ret_wrong)
{
	uint8_t *bytes = calloc(strlen(text) / 2 + 1, 1);
	size_t digits = 0, at = 0;

	if (!bytes)
		return -ENOMEM;
	for (bool begins = true; text[at]; at++) {
		int digit = digit_of((unsigned char)text[at]);

		if (begins && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X') &&
		    digits % 2 == 0) {
			at++;
			begins = false;
			continue;
		}
		begins = isspace((unsigned char)text[at]) || text[at] == ',';
		if (begins)
			continue;
		if (digit < 0)
			break;
		bytes[digits / 2] |= (uint8_t)(digits % 2 ? digit : digit << 4);
		digits++;
	}
	if (text[at] || digits % 2) {
		free(bytes);
		*ret_wrong = at;
		return -EINVAL;
	}
	*ret_bytes = bytes;
	*ret_size = digits / 2;
	return 0;
}
