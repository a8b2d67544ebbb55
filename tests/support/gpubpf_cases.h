/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cases of eBPF programs as text (tests/data/ebpf/, one file a topic; lines with # are remarks):
 *
 *	case a sentence            begins a case
 *	map TYPE KEY VALUE ENTRIES a map; the first is number 0. Behind it may stand "read-only", or
 *	                           "constant HEX": read only, and its value is known
 *	memory 0a0b0c              what r1 points to; r2 is its size
 *		mov r0, 1          indented: the program (tests/support/assemble.h)
 *	gives 0x1                  what r0 is at the end
 *	after 0a0b0d               what the memory is then
 *	refused insn 3: the text   or: why the verifier refuses it
 *	linux accepts: because     if Linux does not agree ("refuses"), and why not
 *	to the letter              it is for who asks for all that RFC 9669 allows
 */
#pragma once

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "gpubpf/map/map.h"

enum {
	CASE_MEMORY = 4096,
	CASE_MAPS = 8,
};

struct bpf_case {
	char title[160];
	struct gt_bpf_map maps[CASE_MAPS];
	uint32_t map_count;
	uint8_t memory[CASE_MEMORY], after[CASE_MEMORY];
	uint32_t memory_size;
	bool has_after, strict;
	uint64_t result;
	char refusal[512];    /* "" if it is to run */
	char linux_says[256]; /* "accepts: …", "refuses: …", or "" if it agrees */
	char words[256];      /* why the refusal is not in Linux' words, or "" */
	struct gt_strbuf text;
};

static inline uint32_t case_bytes(const char *hex, uint8_t *bytes)
{
	uint32_t count = 0;

	while (count < CASE_MEMORY && isxdigit((unsigned char)hex[0]) &&
	       isxdigit((unsigned char)hex[1])) {
		char pair[3] = {hex[0], hex[1], 0};

		bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
		hex += 2;
		while (*hex == ' ')
			hex++;
	}
	return count;
}

static inline bool case_map(struct bpf_case *one, const char *line)
{
	struct gt_bpf_map *map = &one->maps[one->map_count];
	uint8_t bytes[CASE_MEMORY];
	int end = 0;

	if (sscanf(line, "%u %u %u %u%n", &map->type, &map->key_size, &map->value_size,
		   &map->max_entries, &end) != 4)
		return false;
	snprintf(map->name, sizeof(map->name), "map%u", one->map_count++);
	line += end;
	map->read_only = !strcmp(line, " read-only") || !strncmp(line, " constant ", 10);
	map->constant = !strncmp(line, " constant ", 10);
	if (map->constant) {
		if (case_bytes(line + 10, bytes) != map->value_size)
			return false;
		map->initial = malloc(map->value_size);
		memcpy(map->initial, bytes, map->value_size);
	}
	return !line[0] || map->read_only;
}

/* A line of a case; false if it is none that is known. */
static inline bool case_line(struct bpf_case *one, const char *line)
{
	if (line[0] == '\t' || line[0] == ' ' || strchr(line, ':') == line + strlen(line) - 1) {
		gt_strbuf_printf(&one->text, "%s\n", line);
	} else if (!strncmp(line, "memory ", 7)) {
		one->memory_size = case_bytes(line + 7, one->memory);
	} else if (!strncmp(line, "after ", 6)) {
		one->has_after = case_bytes(line + 6, one->after) == one->memory_size;
		return one->has_after;
	} else if (!strncmp(line, "gives ", 6)) {
		one->result = strtoull(line + 6, NULL, 0);
	} else if (!strncmp(line, "refused ", 8)) {
		snprintf(one->refusal, sizeof(one->refusal), "%s", line + 8);
	} else if (!strncmp(line, "linux ", 6)) {
		snprintf(one->linux_says, sizeof(one->linux_says), "%s", line + 6);
	} else if (!strncmp(line, "words: ", 7)) {
		snprintf(one->words, sizeof(one->words), "%s", line + 7);
	} else if (!strcmp(line, "to the letter")) {
		one->strict = true;
	} else if (!strncmp(line, "map ", 4) && one->map_count < CASE_MAPS) {
		return case_map(one, line + 4);
	} else {
		return line[0] == '#' || !line[0];
	}
	return true;
}

static inline void case_free(struct bpf_case *one)
{
	for (uint32_t i = 0; i < one->map_count; i++)
		free(one->maps[i].initial);
	gt_strbuf_free(&one->text);
	free(one);
}

/* Reads the cases of a file and calls run for each; returns how many, or -1 with a line printed. */
static inline int each_case(const char *path, void (*run)(const char *path, struct bpf_case *one))
{
	gt_auto_file file = {0};
	struct bpf_case *one = NULL;
	int count = 0, number = 0;
	char *rest, *line;

	if (gt_file_read(path, 1 << 24, &file, NULL))
		return -1;
	rest = (char *)file.data;
	while ((line = strsep(&rest, "\n"))) {
		number++;
		if (!strncmp(line, "case ", 5)) {
			if (one) {
				run(path, one);
				case_free(one);
			}
			one = calloc(1, sizeof(*one));
			snprintf(one->title, sizeof(one->title), "%s", line + 5);
			count++;
		} else if (one ? !case_line(one, line) : line[0] && line[0] != '#') {
			printf("# %s:%d: not understood: %s\n", path, number, line);
			return -1;
		}
	}
	if (one) {
		run(path, one);
		case_free(one);
	}
	return count;
}
