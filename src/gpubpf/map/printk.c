/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/printk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	MAX_WIDTH = 64,
};

/* A conversion: "%-8lld". */
struct conversion {
	const char *end; /* after it */
	char flags[8];
	unsigned width;
	unsigned longs; /* l or ll */
	char letter;
};

static bool is_flag(char letter)
{
	return letter && strchr("0+- #", letter);
}

/* Parse a conversion after its '%'. False if it is not supported. */
static bool read_conversion(const char *at, const char *end, struct conversion *conversion)
{
	size_t flags = 0;

	*conversion = (struct conversion){0};
	for (; at < end && is_flag(*at) && flags < sizeof(conversion->flags) - 1; at++)
		conversion->flags[flags++] = *at;
	for (; at < end && *at >= '0' && *at <= '9' && conversion->width <= MAX_WIDTH; at++)
		conversion->width = conversion->width * 10 + (unsigned)(*at - '0');
	if (conversion->width > MAX_WIDTH)
		conversion->width = MAX_WIDTH;
	for (; at < end && *at == 'l' && conversion->longs < 2; at++)
		conversion->longs++;
	if (at == end || !*at || !strchr("diuxXcp%", *at))
		return false;
	conversion->letter = *at;
	conversion->end = at + 1;
	return true;
}

static void put_number(struct gt_strbuf *text, const struct conversion *conversion, uint64_t number)
{
	bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';
	char format[32];

	if (!conversion->longs)
		number = is_signed ? (uint64_t)(int64_t)(int32_t)number : (uint32_t)number;
	snprintf(format, sizeof(format), "%%%s*ll%c", conversion->flags, conversion->letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	gt_strbuf_printf(text, format, (int)conversion->width, (unsigned long long)number);
#pragma GCC diagnostic pop
}

static void put_conversion(struct gt_strbuf *text, const struct conversion *conversion,
			   uint64_t argument)
{
	if (conversion->letter == 'p')
		gt_strbuf_printf(text, "%016" PRIx64, argument);
	else if (conversion->letter == 'c')
		gt_strbuf_putc(text, (char)argument);
	else
		put_number(text, conversion, argument);
}

void gt_print_format(struct gt_strbuf *text, const char *format, size_t size,
		     const uint64_t *arguments)
{
	const char *at = format, *end = format + strnlen(format, size);
	struct conversion conversion;
	unsigned used = 0;

	while (at < end) {
		if (*at != '%' || !read_conversion(at + 1, end, &conversion) ||
		    (conversion.letter != '%' && used == GT_PRINT_ARGUMENTS)) {
			gt_strbuf_putc(text, *at++);
			continue;
		}
		if (conversion.letter == '%')
			gt_strbuf_putc(text, '%');
		else
			put_conversion(text, &conversion, arguments[used++]);
		at = conversion.end;
	}
}

void gt_print_line_end(struct gt_strbuf *text)
{
	if (text->length && text->data[text->length - 1] != '\n')
		gt_strbuf_putc(text, '\n');
}

int gt_print_record(struct gt_strbuf *text, const void *record, size_t size)
{
	struct gt_print_record head;

	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, record, sizeof(head));
	if (head.format_size > size - sizeof(head))
		return -EBADMSG;
	gt_print_format(text, (const char *)record + sizeof(head), head.format_size,
			head.arguments);
	gt_print_line_end(text);
	return 0;
}
