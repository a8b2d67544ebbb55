/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parse and match section names. */
#include "gpubpf/section.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/strbuf.h"
#include "base/text.h"

enum {
	MAX_BLOCK_DIGITS = 9,
};

#define REGISTER_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static const struct gt_section_row rows[] = {
#define SECTION(kind, name, glob, levels, traits) {name, glob, levels, traits},
#include "gpubpf/section.def"
#undef SECTION
};

const struct gt_section_row *gt_section_row(enum gt_section_kind kind)
{
	return &rows[kind];
}

const char *gt_level_name(enum gt_level level)
{
	static const char *const names[] = {"thread", "warp", "block"};

	return names[level];
}

static int reject_section(struct gt_diag *diag, const char *section, const char *reason)
{
	return gt_diag(diag, -EINVAL, "section", section, "%s", reason);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* bpftime's sections that are for the kernel's loader, too, have "cuda_" before mangled names. */
static const char kernel_prefix[] = "cuda__Z";

/* Where a basic block follows the name of a kernel, "__BB<n>", in `length` characters; or NULL. */
static const char *find_block(const char *name, size_t length)
{
	for (size_t i = 1; i + 4 < length; i++)
		if (!strncmp(name + i, "__BB", 4) && isdigit((unsigned char)name[i + 4]))
			return name + i;
	return NULL;
}

bool gt_section_next_name(const char **list, const char **ret_name, size_t *ret_length)
{
	const char *name = *list, *block;
	size_t length;

	if (!name)
		return false;
	length = strcspn(name, ",");
	*list = name[length] ? name + length + 1 : NULL;
	for (; length && is_blank(*name); name++)
		length--;
	while (length && is_blank(name[length - 1]))
		length--;
	if (length > strlen(kernel_prefix) &&
	    !strncmp(name, kernel_prefix, strlen(kernel_prefix))) {
		name += strlen("cuda_");
		length -= strlen("cuda_");
	}
	block = find_block(name, length);
	if (block)
		length = (size_t)(block - name);
	*ret_name = name;
	*ret_length = length;
	return true;
}

/* Whether a comma-separated list has the name or, with `prefix`, a name that begins with it. */
static bool has_name(const char *list, const char *name, bool prefix)
{
	size_t wanted = strlen(name), length;
	const char *one;

	while (gt_section_next_name(&list, &one, &length))
		if (length >= wanted && (prefix || length == wanted) && !strncmp(one, name, wanted))
			return true;
	return false;
}

bool gt_section_register(const struct gt_section *section, uint64_t number, const char **ret_name,
			 size_t *ret_length)
{
	const char *name = section->registers, *end;

	for (; name; name = end) {
		name += strlen("__");
		end = strstr(name, "__");
		if (!number--) {
			*ret_name = name;
			*ret_length = end ? (size_t)(end - name) : strlen(name);
			return true;
		}
	}
	return false;
}

/* Whether the rest of a section after the number of a basic block is a list of registers. */
static bool is_register_list(const char *text)
{
	struct gt_section section = {.registers = text};
	const char *name;
	uint64_t count = 0;
	size_t length;

	if (strncmp(text, "__", 2) != 0 || text[strspn(text, REGISTER_CHARACTERS)])
		return false;
	while (gt_section_register(&section, count, &name, &length)) {
		if (!length || ++count > GT_MAX_SECTION_REGISTERS)
			return false;
	}
	return true;
}

/* The basic block and the registers in "<kernel>__BB<n>__<register>…". */
static int read_block(const char *block, struct gt_section *section, struct gt_diag *diag)
{
	const char *number = block + strlen("__BB");
	size_t digits = strspn(number, "0123456789");

	if (digits > MAX_BLOCK_DIGITS)
		return reject_section(diag, section->text,
				      "the number of the basic block is too large");
	if (number[digits] && !is_register_list(number + digits))
		return reject_section(
			diag, section->text,
			"names of up to 32 registers of PTX, without their '%', may follow the "
			"basic block: <kernel>__BB<n>__<register>__<register>");
	section->kind = GT_KIND_BASIC_BLOCK;
	section->block = 1 + (uint32_t)strtoul(number, NULL, 10);
	section->registers = number[digits] ? number + digits : NULL;
	return 0;
}

/* "kprobe/<list>" (ENTRY) and "kretprobe/<list>" (EXIT). */
static int read_compatible(const char *list, const char *program, enum gt_section_kind kind,
			   struct gt_section *section, struct gt_diag *diag)
{
	const char *block = find_block(list, strlen(list));
	bool memory = has_name(list, "__memcapture", false);
	bool alone = has_name(list, "__directly_run", false);

	if (program && !memory && !alone && !has_name(list, "_Z", true) &&
	    !strstr(program, "cuda__") && !strstr(program, "__cuda"))
		return 0;
	if (has_name(list, "", false))
		return reject_section(
			diag, section->text,
			"a name is empty: names of kernels, separated by commas, must follow "
			"the '/'");
	if (memory && strchr(list, ','))
		return reject_section(
			diag, section->text,
			"__memcapture matches all accesses to memory in all kernels: it must be "
			"the only name; use another section for programs at kernels' entries");
	if (memory && kind != GT_KIND_ENTRY)
		return reject_section(
			diag, section->text,
			"accesses to memory do not return: use __memcapture with kprobe/ only");
	if (block && (strchr(list, ',') || kind != GT_KIND_ENTRY))
		return reject_section(diag, section->text,
				      "a basic block (__BB<n>) is one of a single kernel, and does "
				      "not return: use it with kprobe/, and as the only name");
	if (alone && (strchr(list, ',') || kind != GT_KIND_ENTRY))
		return reject_section(
			diag, section->text,
			"__directly_run is a program without a kernel: use it with kprobe/, and as "
			"the only name");
	section->kind = memory ? GT_KIND_MEMORY : alone ? GT_KIND_RUN : kind;
	section->list = !memory && !alone;
	section->pattern = section->list ? list : "*";
	return block ? read_block(block, section, diag) : 0;
}

static int reject_kind(struct gt_diag *diag, const char *section)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, typed = GT_STRBUF_INIT;
	const char *names[gt_countof(rows)], *nearest;
	const char *kind = section + strlen("gpu/");

	for (size_t i = 0; i < gt_countof(rows); i++)
		names[i] = rows[i].name;
	gt_strbuf_printf(&typed, "%.*s", (int)strcspn(kind, "./"), kind);
	nearest = gt_nearest(gt_strbuf_string(&typed), names, gt_countof(names));
	gt_strbuf_puts(&text, "unknown GPU section");
	if (nearest)
		gt_strbuf_printf(&text, ", did you mean gpu/%s?", nearest);
	gt_strbuf_puts(&text, " (one of:");
	for (size_t i = 0; i < gt_countof(rows); i++)
		gt_strbuf_printf(&text, "%s gpu/%s", i ? "," : "", rows[i].name);
	gt_strbuf_putc(&text, ')');
	return reject_section(diag, section, gt_strbuf_string(&text));
}

/* The level in ".warp" and ".block" of `length` characters; 0 or -EINVAL. */
static int read_level(const char *text, size_t length, enum gt_level *ret_level)
{
	for (int level = GT_LEVEL_THREAD; level <= GT_LEVEL_BLOCK; level++) {
		const char *name = gt_level_name((enum gt_level)level);

		if (length == strlen(name) && !strncmp(text, name, length)) {
			*ret_level = (enum gt_level)level;
			return 0;
		}
	}
	return -EINVAL;
}

static enum gt_level first_level(unsigned levels)
{
	return levels & GT_AT_THREAD ? GT_LEVEL_THREAD
	       : levels & GT_AT_WARP ? GT_LEVEL_WARP
				     : GT_LEVEL_BLOCK;
}

/* Parse the part after "gpu/". */
static int read_gpu(const char *text, struct gt_section *section, struct gt_diag *diag)
{
	size_t end = strcspn(text, "/"), kind = strcspn(text, "./"), row = 0;
	char reason[160];

	while (row < gt_countof(rows) &&
	       (strlen(rows[row].name) != kind || strncmp(rows[row].name, text, kind)))
		row++;
	if (row == gt_countof(rows))
		return reject_kind(diag, section->text);
	section->kind = (enum gt_section_kind)row;
	section->level = first_level(rows[row].levels);
	if (kind < end && read_level(text + kind + 1, end - kind - 1, &section->level))
		return reject_section(diag, section->text,
				      "invalid level after the '.' (one of: thread, warp, block)");
	if (!(rows[row].levels >> section->level & 1)) {
		snprintf(reason, sizeof(reason), "gpu/%s cannot run once per %s", rows[row].name,
			 gt_level_name(section->level));
		return reject_section(diag, section->text, reason);
	}
	section->pattern = text[end] && text[end + 1] ? text + end + 1 : NULL;
	if (section->pattern && rows[row].glob == GT_GLOB_NONE)
		return reject_section(diag, section->text,
				      "gpu/run belongs to no kernel: nothing may follow");
	if (!section->pattern && rows[row].glob == GT_GLOB_NEEDED) {
		snprintf(reason, sizeof(reason), "the names of %s must follow, as in gpu/%s/<glob>",
			 row == GT_KIND_CALL || row == GT_KIND_RETURN ? "functions" : "kernels",
			 rows[row].name);
		return reject_section(diag, section->text, reason);
	}
	if (!section->pattern)
		section->pattern = "*";
	return 0;
}

int gt_section_read(const char *section, const char *program, struct gt_section *ret_section,
		    struct gt_diag *diag)
{
	struct gt_section result = {.kind = GT_KIND_HOST, .text = section, .pattern = "*"};
	int error = 0;

	if (!strncmp(section, "gpu/", 4))
		error = read_gpu(section + 4, &result, diag);
	else if (!strncmp(section, "kprobe/", 7))
		error = read_compatible(section + 7, program, GT_KIND_ENTRY, &result, diag);
	else if (!strncmp(section, "kretprobe/", 10))
		error = read_compatible(section + 10, program, GT_KIND_EXIT, &result, diag);
	if (!error)
		*ret_section = result;
	return error;
}

/* Whether one of the names, or the glob, matches. */
static bool matches_name(const struct gt_section *section, const char *name)
{
	return section->list ? has_name(section->pattern, name, false)
			     : !fnmatch(section->pattern, name, 0);
}

static bool matches_without_parameters(const struct gt_section *section, const char *demangled)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	gt_strbuf_printf(&name, "%.*s", (int)strcspn(demangled, "("), demangled);
	return matches_name(section, gt_strbuf_string(&name));
}

bool gt_section_matches(const struct gt_section *section, const char *mangled,
			const char *demangled)
{
	if (mangled && matches_name(section, mangled))
		return true;
	return demangled &&
	       (matches_name(section, demangled) || matches_without_parameters(section, demangled));
}
