/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The first lines of PTX: enough to label it, without reading all of it. */
#include "fatbin/layout.h"

struct fatbin_scan {
	const char *text;
	size_t length;
	size_t offset;
};

static char at(const struct fatbin_scan *scan, size_t ahead)
{
	return ahead < scan->length - scan->offset ? scan->text[scan->offset + ahead] : 0;
}

static void skip_line(struct fatbin_scan *scan)
{
	while (scan->offset < scan->length && scan->text[scan->offset] != '\n')
		scan->offset++;
}

static void skip_comment(struct fatbin_scan *scan)
{
	for (scan->offset += 2; scan->offset < scan->length; scan->offset++)
		if (at(scan, 0) == '*' && at(scan, 1) == '/') {
			scan->offset += 2;
			return;
		}
}

static void skip_space(struct fatbin_scan *scan)
{
	while (scan->offset < scan->length) {
		char character = at(scan, 0);

		if (character == '/' && at(scan, 1) == '/')
			skip_line(scan);
		else if (character == '/' && at(scan, 1) == '*')
			skip_comment(scan);
		else if (strchr(" \t\r\n\f\v", character) && character)
			scan->offset++;
		else
			return;
	}
}

static bool take(struct fatbin_scan *scan, const char *word)
{
	size_t length = strlen(word);

	if (scan->length - scan->offset < length ||
	    memcmp(scan->text + scan->offset, word, length) != 0)
		return false;
	scan->offset += length;
	return true;
}

static bool take_number(struct fatbin_scan *scan, uint32_t *ret_number)
{
	uint32_t number = 0;
	size_t digits = 0;

	for (; at(scan, 0) >= '0' && at(scan, 0) <= '9' && digits < 5; digits++) {
		number = number * 10 + (uint32_t)(at(scan, 0) - '0');
		scan->offset++;
	}
	*ret_number = number;
	return digits > 0 && digits < 5;
}

static void scan_target_words(struct fatbin_scan *scan, struct fatbin_ptx *ptx)
{
	do {
		skip_space(scan);
		if (take(scan, "sm_") && take_number(scan, &ptx->architecture)) {
			if (take(scan, "a"))
				ptx->flags |= GT_FATBIN_FLAG_ARCH_A;
			else if (take(scan, "f"))
				ptx->flags |= GT_FATBIN_FLAG_ARCH_F;
		} else if (take(scan, "debug")) {
			ptx->flags |= GT_FATBIN_FLAG_DEBUG;
		} else {
			while (at(scan, 0) == '_' || (at(scan, 0) >= '0' && at(scan, 0) <= '9') ||
			       (at(scan, 0) >= 'a' && at(scan, 0) <= 'z'))
				scan->offset++;
		}
		skip_space(scan);
	} while (take(scan, ","));
}

bool fatbin_is_ptx(const char *text, size_t length)
{
	struct fatbin_scan scan = {.text = text, .length = length};

	skip_space(&scan);
	return take(&scan, ".version");
}

bool fatbin_scan_ptx(const char *text, size_t length, struct fatbin_ptx *ret_ptx)
{
	struct fatbin_scan scan = {.text = text, .length = length};
	struct fatbin_ptx ptx = {0};
	uint32_t major, minor;

	skip_space(&scan);
	if (!take(&scan, ".version"))
		return false;
	skip_space(&scan);
	if (!take_number(&scan, &major) || !take(&scan, ".") || !take_number(&scan, &minor))
		return false;
	skip_space(&scan);
	if (!take(&scan, ".target"))
		return false;
	scan_target_words(&scan, &ptx);
	ptx.version_major = (uint16_t)major;
	ptx.version_minor = (uint16_t)minor;
	*ret_ptx = ptx;
	return ptx.architecture != 0;
}
