/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/proc_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_STATUS_BYTES (1 << 16)

static uint32_t number_of_line(const char *line, bool last)
{
	uint32_t number = 0;
	char *end;

	do {
		unsigned long value;

		line += strspn(line, " \t");
		value = strtoul(line, &end, 10);
		if (end == line)
			break;
		number = (uint32_t)value;
		line = end;
	} while (last && *line != '\n');
	return number;
}

uint32_t gt_proc_status_number(const char *directory, const char *name, bool last)
{
	gt_auto_file status = {0};
	char path[64], start[32];
	const char *line;

	if (snprintf(path, sizeof(path), "%s/status", directory) >= (int)sizeof(path) ||
	    snprintf(start, sizeof(start), "\n%s:", name) >= (int)sizeof(start) ||
	    gt_file_read(path, MAX_STATUS_BYTES, &status, NULL))
		return 0;
	line = strstr((const char *)status.data, start);
	return line ? number_of_line(line + strlen(start), last) : 0;
}
