/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ranges of all units are read at once, since .debug_aranges may be missing; the functions of a
 * unit at the first lookup in it; inlined functions at each lookup.
 */
#include "elf/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "elf/cursor.h"
#include "elf/supplement.h"

#define MAX_RANGES (8u << 20)
#define MAX_NESTING 128                /* nested blocks and inlined functions */
#define MAX_SCOPES 32                  /* nested namespaces and classes */
#define MAX_LINE_PROGRAM (8u << 20)    /* bytes, of one unit */
#define FULL (16u << 20)               /* bytes of line programs; rows take 25 times that */
#define MAX_TIME UINT64_C(20000000000) /* ns for one file in total */
#define TIME_EVERY 256                 /* entries between two readings of the clock */
#define OVERLAPS 32 /* ranges that may start between an address and the start of its range */

struct line_extent {
	uint64_t start, end;
	size_t index; /* of the unit or function */
};

struct line_extents {
	struct line_extent *items;
	size_t count, capacity;
};

struct line_unit {
	Dwarf_Die die;
	bool read, has_lines;
	struct line_extents ranges; /* of functions, by start */
	GT_VEC(Dwarf_Die) functions;
};

struct gt_lines {
	struct elf_file file, supplement;
	Dwarf *dwarf, *other;
	GT_VEC(struct line_unit) units;
	struct line_extents ranges; /* of units, by start */
	uint64_t *spent, begun;     /* ns */
	size_t entries;             /* since the clock was read */
	size_t line_bytes;          /* of line programs that were read */
	bool late;
};

static void begin_time(struct gt_lines *lines)
{
	lines->begun = gt_clock_monotonic();
	lines->late = *lines->spent > MAX_TIME;
}

static void end_time(struct gt_lines *lines)
{
	*lines->spent += gt_clock_monotonic() - lines->begun;
}

/* Counts a visited entry; true: the time is over. */
static bool is_late(struct gt_lines *lines)
{
	if (++lines->entries % TIME_EVERY == 0 && !lines->late)
		lines->late = *lines->spent + (gt_clock_monotonic() - lines->begun) > MAX_TIME;
	return lines->late;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct line_extent *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Returns the smallest range that contains an address, of those that start shortly before; or NULL.
 */
static const struct line_extent *find_range(const struct line_extents *list, uint64_t address)
{
	const struct line_extent *ranges = list->items;
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < OVERLAPS && low > i; i++)
		if (address < ranges[low - 1 - i].end)
			return &ranges[low - 1 - i];
	return NULL;
}

/* Adds the ranges of a unit's or function's code. */
static int add_ranges(struct gt_lines *lines, Dwarf_Die *die, size_t index,
		      struct line_extents *ranges)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (!is_late(lines) && ranges->count < MAX_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		/* Address 0: discarded by the linker. */
		if (start && start < end &&
		    gt_vec_push(ranges, (struct line_extent){start, end, index}))
			return -ENOMEM;
	return 0;
}

static void sort_ranges(struct line_extents *ranges)
{
	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof(struct line_extent), compare_ranges);
}

static int read_units(struct gt_lines *lines)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	while (!is_late(lines) &&
	       dwarf_get_units(lines->dwarf, unit, &next, &version, &type, &die, NULL) == 0) {
		unit = next;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (gt_vec_push(&lines->units, (struct line_unit){.die = die}) ||
		    add_ranges(lines, &die, lines->units.count - 1, &lines->ranges))
			return -ENOMEM;
	}
	sort_ranges(&lines->ranges);
	return 0;
}

/* Moves to the next sibling; one that points backwards ends the list. */
static bool next_sibling(struct gt_lines *lines, Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);
	Dwarf_Die next;

	if (is_late(lines) || dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= before)
		return false;
	*die = next;
	return true;
}

static bool is_scope(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
		return dwarf_haschildren(die) > 0;
	}
	return false;
}

/* Adds the functions with code below `parent`, including those in nested namespaces. */
static int read_functions(struct gt_lines *lines, struct line_unit *unit, Dwarf_Die *parent,
			  int depth)
{
	Dwarf_Die die;
	int error = 0;

	if (dwarf_child(parent, &die) != 0)
		return 0;
	do {
		size_t before = unit->ranges.count;

		if (dwarf_tag(&die) == DW_TAG_subprogram) {
			error = add_ranges(lines, &die, unit->functions.count, &unit->ranges);
			if (!error && unit->ranges.count > before)
				error = gt_vec_push(&unit->functions, die);
		} else if (depth < MAX_SCOPES && is_scope(&die)) {
			error = read_functions(lines, unit, &die, depth + 1);
		}
	} while (!error && next_sibling(lines, &die));
	return error;
}

/* Returns the bytes of the unit's line program; 0: none, or malformed. */
static uint64_t line_program_size(struct gt_lines *lines, Dwarf_Die *unit)
{
	Elf *elf = lines->file.elf;
	Elf_Scn *section = NULL;
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	size_t names;

	if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) ||
	    dwarf_formudata(&attribute, &offset) || elf_getshdrstrndx(elf, &names))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		const char *name;
		struct elf_cursor cursor;
		uint64_t size;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strcmp(name, ".debug_line"))
			continue;
		data = elf_getdata(section, NULL);
		if (!data || !data->d_buf || offset >= data->d_size)
			return 0;
		cursor = (struct elf_cursor){(uint8_t *)data->d_buf + offset,
					     (uint8_t *)data->d_buf + data->d_size, false};
		size = cursor_number(&cursor, 4);
		return size == UINT32_MAX ? cursor_number(&cursor, 8) : size;
	}
	return 0;
}

static void read_unit(struct gt_lines *lines, struct line_unit *unit)
{
	uint64_t size = line_program_size(lines, &unit->die);

	unit->read = true;
	unit->has_lines = size && size <= MAX_LINE_PROGRAM;
	if (unit->has_lines)
		lines->line_bytes += size;
	/* Out of memory: fewer functions are known. */
	read_functions(lines, unit, &unit->die, 0);
	sort_ranges(&unit->ranges);
}

/* Finds the functions inlined at an address of a function, outermost first; returns their number.
 */
static size_t find_inlined(struct gt_lines *lines, Dwarf_Die *function, uint64_t address,
			   Dwarf_Die chain[GT_LINES_MAX_FRAMES])
{
	Dwarf_Die die, parent = *function;
	size_t count = 0;

	for (int depth = 0; depth < MAX_NESTING && count < GT_LINES_MAX_FRAMES - 1; depth++) {
		bool found = false;

		if (dwarf_child(&parent, &die) != 0)
			break;
		do {
			int tag = dwarf_tag(&die);

			if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
			    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
				continue;
			if (dwarf_haspc(&die, address) <= 0)
				continue;
			if (tag == DW_TAG_inlined_subroutine)
				chain[count++] = die;
			parent = die;
			found = true;
			break;
		} while (next_sibling(lines, &die));
		if (!found)
			break;
	}
	return count;
}

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));

	return text && *text ? text : NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void name_frame(struct gt_line_frame *frame, Dwarf_Die *die)
{
	frame->linkage = string_of(die, DW_AT_linkage_name);
	if (!frame->linkage)
		frame->linkage = string_of(die, DW_AT_MIPS_linkage_name);
	frame->name = string_of(die, DW_AT_name);
}

/* Reads the call site of an inlined function. */
static void place_call(struct line_unit *unit, Dwarf_Die *inlined, struct gt_line_frame *frame)
{
	uint32_t number = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	frame->line = number_of(inlined, DW_AT_call_line);
	frame->column = number_of(inlined, DW_AT_call_column);
	if (unit->has_lines && !dwarf_getsrcfiles(&unit->die, &files, &count) && number < count)
		frame->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void place_address(struct line_unit *unit, uint64_t address, struct gt_line_frame *frame)
{
	Dwarf_Line *line = unit->has_lines ? dwarf_getsrc_die(&unit->die, address) : NULL;
	int number = 0, column = 0;

	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	dwarf_linecol(line, &column);
	frame->file = dwarf_linesrc(line, NULL, NULL);
	frame->line = (uint32_t)number;
	frame->column = column > 0 ? (uint32_t)column : 0;
}

static size_t find_frames(struct gt_lines *lines, struct line_unit *unit, uint64_t address,
			  struct gt_line_frame frames[GT_LINES_MAX_FRAMES])
{
	const struct line_extent *range = find_range(&unit->ranges, address);
	Dwarf_Die chain[GT_LINES_MAX_FRAMES], *function;
	size_t inlined = 0;

	memset(frames, 0, GT_LINES_MAX_FRAMES * sizeof(*frames));
	place_address(unit, address, &frames[0]);
	if (!range || range->index >= unit->functions.count)
		return frames[0].file ? 1 : 0;
	function = &unit->functions.items[range->index];
	inlined = find_inlined(lines, function, address, chain);
	for (size_t i = 0; i < inlined; i++) {
		name_frame(&frames[i], &chain[inlined - 1 - i]);
		frames[i].inlined = true;
		place_call(unit, &chain[inlined - 1 - i], &frames[i + 1]);
	}
	name_frame(&frames[inlined], function);
	frames[inlined].start = range->start;
	return inlined + 1;
}

size_t gt_lines_find(struct gt_lines *lines, uint64_t address,
		     struct gt_line_frame frames[GT_LINES_MAX_FRAMES])
{
	const struct line_extent *range = find_range(&lines->ranges, address);
	struct line_unit *unit;
	size_t count = 0;

	if (!range)
		return 0;
	unit = &lines->units.items[range->index];
	begin_time(lines);
	if (!lines->late && !unit->read)
		read_unit(lines, unit);
	if (!lines->late)
		count = find_frames(lines, unit, address, frames);
	end_time(lines);
	return count;
}

bool gt_lines_is_full(const struct gt_lines *lines)
{
	return lines->line_bytes > FULL;
}

static int open_dwarf(struct gt_lines *lines, const struct gt_elf *elf, const char *debug_directory)
{
	int fd, error;

	if (elf->memory) {
		elf_version(EV_CURRENT);
		lines->file.elf = elf_memory((char *)elf->memory, elf->info.size);
		if (!lines->file.elf || !elf_file_is_sane(lines->file.elf))
			return -ENOENT;
	} else {
		fd = fcntl(elf->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0 || elf_file_begin(fd, &lines->file))
			return -ENOENT;
	}
	lines->dwarf = dwarf_begin_elf(lines->file.elf, DWARF_C_READ, NULL);
	if (!lines->dwarf)
		return -ENOENT;
	error = elf_file_supplement(lines->dwarf, elf->info.path, debug_directory,
				    &lines->supplement);
	if (error || !lines->supplement.elf)
		return error;
	lines->other = dwarf_begin_elf(lines->supplement.elf, DWARF_C_READ, NULL);
	if (!lines->other)
		return -ENOENT;
	dwarf_setalt(lines->dwarf, lines->other);
	return 0;
}

int gt_lines_open(const struct gt_elf *elf, const char *debug_directory, uint64_t *spent,
		  struct gt_lines **ret_lines)
{
	gt_auto(lines) struct gt_lines *lines = calloc(1, sizeof(*lines));
	int error;

	if (!lines)
		return -ENOMEM;
	lines->file.fd = lines->supplement.fd = -1;
	lines->spent = spent;
	begin_time(lines);
	if (lines->late)
		return -ETIME;
	error = open_dwarf(lines, elf, debug_directory);
	if (!error)
		error = read_units(lines);
	end_time(lines);
	if (!error && lines->late)
		error = -ETIME;
	if (!error && !lines->ranges.count)
		error = -ENOENT;
	if (!error)
		*ret_lines = gt_take(lines);
	return error;
}

void gt_lines_free(struct gt_lines *lines)
{
	if (!lines)
		return;
	gt_vec_each (unit, &lines->units) {
		gt_vec_free(&unit->ranges);
		gt_vec_free(&unit->functions);
	}
	gt_vec_free(&lines->units);
	gt_vec_free(&lines->ranges);
	if (lines->dwarf)
		dwarf_end(lines->dwarf);
	if (lines->other)
		dwarf_end(lines->other);
	elf_file_end(&lines->file);
	elf_file_end(&lines->supplement);
	free(lines);
}
