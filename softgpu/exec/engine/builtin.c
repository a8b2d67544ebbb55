/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Built-in functions: vprintf, malloc, free, __assertfail. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "exec/decode/decode.h"
#include "exec/engine/heap.h"
#include "exec/engine/nested.h"
#include "exec/ops/ops.h"

enum {
	MAX_TEXT = 64 << 10, /* bytes of a string in device memory */
	MAX_SPECIFICATION = 48,
	MAX_WIDTH = 9999, /* characters of a width or precision */
};

/* Reads a string in device memory; false: invalid access at *address. */
static bool read_text(struct sg_warp *warp, uint32_t lane, uint64_t *address,
		      struct gt_strbuf *buffer)
{
	for (uint32_t i = 0; i < MAX_TEXT; i++, ++*address) {
		uint64_t pointer = sg_warp_pointer(warp, lane, *address, 1);
		char character;

		if (!pointer)
			return false;
		character = *(const char *)(uintptr_t)pointer;
		if (!character)
			return true;
		gt_strbuf_putc(buffer, character);
	}
	return true;
}

/* ---- printf ---------------------------------------------------------------------------- */

/* The arguments of one printf: in local memory, each aligned to its size. */
struct printf_arguments {
	struct sg_warp *warp;
	uint32_t lane;
	uint64_t address;
	bool failed;
};

static uint64_t next_argument(struct printf_arguments *arguments, uint32_t size)
{
	uint64_t value = 0, pointer;

	arguments->address = (arguments->address + size - 1) & ~(uint64_t)(size - 1);
	pointer = sg_warp_pointer(arguments->warp, arguments->lane, arguments->address, size);
	if (!pointer) {
		arguments->failed = true;
		return 0;
	}
	memcpy(&value, (const void *)(uintptr_t)pointer, size);
	arguments->address += size;
	return value;
}

/* A conversion such as %5.*lld, without length modifiers: the host's are added when it prints. */
struct printf_specification {
	char text[MAX_SPECIFICATION]; /* "%5.7" */
	bool is_long;                 /* 64 bits */
	bool is_short, is_char;
	char conversion;
};

static void append(struct printf_specification *specification, const char *text)
{
	size_t used = strlen(specification->text);

	snprintf(specification->text + used, sizeof(specification->text) - used, "%s", text);
}

/* Reads a width or precision, from the format or the arguments; it is limited to MAX_WIDTH. */
static const char *read_width(const char *format, struct printf_arguments *arguments,
			      int *ret_width)
{
	int64_t value = 0;

	if (*format == '*') {
		value = (int32_t)next_argument(arguments, 4);
		format++;
	}
	for (; *format >= '0' && *format <= '9'; format++)
		if (value <= MAX_WIDTH)
			value = value * 10 + *format - '0';
	*ret_width = (int)(value > MAX_WIDTH ? MAX_WIDTH : value < -MAX_WIDTH ? -MAX_WIDTH : value);
	return format;
}

static const char *read_specification(const char *format, struct printf_arguments *arguments,
				      struct printf_specification *ret)
{
	char piece[16] = {0};
	int width, precision = -1;

	*ret = (struct printf_specification){.text = "%"};
	for (; *format && strchr("-+ #0", *format); format++) {
		piece[0] = *format;
		if (!strchr(ret->text, *format))
			append(ret, piece);
	}
	format = read_width(format, arguments, &width);
	if (*format == '.')
		format = read_width(format + 1, arguments, &precision);
	snprintf(piece, sizeof(piece), "%d", width);
	if (width)
		append(ret, piece);
	/* A negative precision counts as missing. */
	snprintf(piece, sizeof(piece), ".%d", precision);
	if (precision >= 0)
		append(ret, piece);
	for (; *format && strchr("hlLqjzt", *format); format++) {
		if (*format != 'h')
			ret->is_long = true;
		ret->is_char = *format == 'h' && ret->is_short;
		ret->is_short = *format == 'h';
	}
	ret->conversion = *format;
	return *format ? format + 1 : format;
}

static void print_integer(struct gt_strbuf *buffer, struct printf_specification *specification,
			  struct printf_arguments *arguments)
{
	bool is_signed = specification->conversion == 'd' || specification->conversion == 'i';
	uint64_t value = next_argument(arguments, specification->is_long ? 8 : 4);
	char end[4] = {'l', 'l', specification->conversion, 0};

	if (!specification->is_long)
		value = is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
	if (specification->is_char)
		value = is_signed ? (uint64_t)(int64_t)(int8_t)value : (uint8_t)value;
	else if (specification->is_short)
		value = is_signed ? (uint64_t)(int64_t)(int16_t)value : (uint16_t)value;
	append(specification, end);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	gt_strbuf_printf(buffer, specification->text, (long long)value);
#pragma GCC diagnostic pop
}

static void print_number(struct gt_strbuf *buffer, struct printf_specification *specification,
			 struct printf_arguments *arguments)
{
	uint64_t bits = next_argument(arguments, 8);
	char end[2] = {specification->conversion, 0};
	double value;

	memcpy(&value, &bits, sizeof(value));
	append(specification, end);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	gt_strbuf_printf(buffer, specification->text, value);
#pragma GCC diagnostic pop
}

static void print_text(struct gt_strbuf *buffer, struct printf_specification *specification,
		       struct printf_arguments *arguments)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	uint64_t address = next_argument(arguments, 8);

	if (!address)
		gt_strbuf_puts(&text, "(null)");
	else if (!read_text(arguments->warp, arguments->lane, &address, &text)) {
		arguments->address = address;
		arguments->failed = true;
	}
	append(specification, "s");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	gt_strbuf_printf(buffer, specification->text, gt_strbuf_string(&text));
#pragma GCC diagnostic pop
}

static void print_one(struct gt_strbuf *buffer, struct printf_specification *specification,
		      struct printf_arguments *arguments)
{
	switch (specification->conversion) {
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		print_integer(buffer, specification, arguments);
		return;
	case 'c':
		gt_strbuf_putc(buffer, (char)next_argument(arguments, 4));
		return;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		print_number(buffer, specification, arguments);
		return;
	case 's':
		print_text(buffer, specification, arguments);
		return;
	case 'p':
		gt_strbuf_printf(buffer, "0x%llx", (unsigned long long)next_argument(arguments, 8));
		return;
	case '%':
		gt_strbuf_putc(buffer, '%');
		return;
	default:
		gt_strbuf_puts(buffer, specification->text);
		if (specification->conversion)
			gt_strbuf_putc(buffer, specification->conversion);
		return;
	}
}

/* Formats the text of one thread's printf; returns the number of conversions. */
static uint32_t format_text(struct gt_strbuf *buffer, const char *format,
			    struct printf_arguments *arguments)
{
	uint32_t count = 0;

	while (*format && !arguments->failed) {
		struct printf_specification specification;
		size_t plain = strcspn(format, "%");

		gt_strbuf_add(buffer, format, plain);
		format += plain;
		if (!*format)
			break;
		format = read_specification(format + 1, arguments, &specification);
		print_one(buffer, &specification, arguments);
		count += specification.conversion != '%';
	}
	return count;
}

/* vprintf(format, arguments) */
static const struct sg_instruction *run_vprintf(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const struct sg_host *host = &warp->machine->host;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes), count;
		gt_auto_strbuf format = GT_STRBUF_INIT;
		gt_auto_strbuf text = GT_STRBUF_INIT;
		uint64_t address = sg_call_argument(warp, at, 0, lane);
		struct printf_arguments arguments = {
			.warp = warp, .lane = lane, .address = sg_call_argument(warp, at, 1, lane)};

		if (!read_text(warp, lane, &address, &format))
			return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane, address);
		count = format_text(&text, gt_strbuf_string(&format), &arguments);
		if (arguments.failed)
			return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane,
					     arguments.address);
		if (host->output && text.length)
			host->output(host->user, SG_OUTPUT_PRINT, text.data, text.length);
		sg_call_return(warp, at, lane, count);
	}
	return at + 1;
}

/* ---- memory ---------------------------------------------------------------------------- */

static const struct sg_instruction *run_malloc(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		sg_call_return(warp, at, lane,
			       sg_heap_allocate(warp->machine->heap, &warp->machine->host,
						sg_call_argument(warp, at, 0, lane)));
	}
	return at + 1;
}

static const struct sg_instruction *run_free(struct sg_warp *warp, const struct sg_instruction *at)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = sg_call_argument(warp, at, 0, lane);

		if (address && !sg_heap_release(warp->machine->heap, address))
			return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane, address);
	}
	return at + 1;
}

/* ---- assertions ------------------------------------------------------------------------ */

/* __assertfail(message, file, line, function, size of a character) */
static const struct sg_instruction *run_assertfail(struct sg_warp *warp,
						   const struct sg_instruction *at)
{
	const struct sg_host *host = &warp->machine->host;
	const uint32_t *size = warp->grid->launch.shape.block, *block = warp->block->index;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint32_t thread = warp->number * SG_WARP_SIZE + lane;
		gt_auto_strbuf message = GT_STRBUF_INIT, file = GT_STRBUF_INIT;
		gt_auto_strbuf function = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
		uint64_t locations[] = {sg_call_argument(warp, at, 0, lane),
					sg_call_argument(warp, at, 1, lane),
					sg_call_argument(warp, at, 3, lane)};

		if (!read_text(warp, lane, &locations[0], &message) ||
		    !read_text(warp, lane, &locations[1], &file) ||
		    !read_text(warp, lane, &locations[2], &function))
			gt_strbuf_puts(&message, "?");
		gt_strbuf_printf(
			&text,
			"%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
			gt_strbuf_string(&file), (uint32_t)sg_call_argument(warp, at, 2, lane),
			gt_strbuf_string(&function), block[0], block[1], block[2], thread % size[0],
			thread / size[0] % size[1], thread / size[0] / size[1],
			gt_strbuf_string(&message));
		if (host->output && text.length)
			host->output(host->user, SG_OUTPUT_ASSERT, text.data, text.length);
	}
	return sg_warp_fault(warp, at, SG_FAULT_ASSERT, (uint32_t)__builtin_ctz(warp->exec), 0);
}

static const struct {
	const char *name;
	sg_run *run;
} builtins[] = {
	{"vprintf", run_vprintf},
	{"malloc", run_malloc},
	{"free", run_free},
	{"__assertfail", run_assertfail},
};

sg_run *sg_builtin_find(const char *name)
{
	for (size_t i = 0; i < gt_countof(builtins); i++)
		if (!strcmp(builtins[i].name, name))
			return builtins[i].run;
	return sg_nested_find(name);
}
