/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cases of eBPF programs as text (tests/data/ebpf/, one file per topic; lines with # are comments):
 *
 *	case a sentence            starts a case
 *	map TYPE KEY VALUE ENTRIES a map; the first has index 0. "read-only" may follow, or
 *	                           "constant HEX": read-only with this value
 *	memory 0a0b0c              what r1 points to; r2 is its size
 *		mov r0, 1          indented: the program (tests/support/assemble.h)
 *	result 0x1                 r0 at the end
 *	after 0a0b0d               the memory at the end
 *	rejected insn 3: the text  instead of a result: the message of the verifier
 *	linux accepts: because     Linux has another verdict ("rejects"), and why
 *	linux runs: because        the same verdict, and another result
 *	strict                     all instructions that RFC 9669 allows are accepted
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
	char rejection[512];     /* "" if it is accepted */
	char linux_verdict[256]; /* "accepts: …", "rejects: …", "runs: …", or "" if it is the same
				  */
	char other_message[256]; /* why Linux rejects it with another message, or "" */
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

/* Parse a line of a case; false if it is invalid. */
static inline bool case_line(struct bpf_case *one, const char *line)
{
	if (line[0] == '\t' || line[0] == ' ' || strchr(line, ':') == line + strlen(line) - 1) {
		gt_strbuf_printf(&one->text, "%s\n", line);
	} else if (!strncmp(line, "memory ", 7)) {
		one->memory_size = case_bytes(line + 7, one->memory);
	} else if (!strncmp(line, "after ", 6)) {
		one->has_after = case_bytes(line + 6, one->after) == one->memory_size;
		return one->has_after;
	} else if (!strncmp(line, "result ", 7)) {
		one->result = strtoull(line + 7, NULL, 0);
	} else if (!strncmp(line, "rejected ", 9)) {
		snprintf(one->rejection, sizeof(one->rejection), "%s", line + 9);
	} else if (!strncmp(line, "linux ", 6)) {
		snprintf(one->linux_verdict, sizeof(one->linux_verdict), "%s", line + 6);
	} else if (!strncmp(line, "message: ", 9)) {
		snprintf(one->other_message, sizeof(one->other_message), "%s", line + 9);
	} else if (!strcmp(line, "strict")) {
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

/* Call run for each case of a file. Returns how many, or -1 with a line printed. */
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
			printf("# %s:%d: invalid line: %s\n", path, number, line);
			return -1;
		}
	}
	if (one) {
		run(path, one);
		case_free(one);
	}
	return count;
}
