/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/kernel_symbol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"

/* The parts of a split function (.part, .cold) are not entered at its beginning. */
static bool is_whole_function(const char *suffix)
{
	static const char *const whole[] = {".isra.", ".constprop.", ".llvm."};

	if (!*suffix)
		return true;
	if (strstr(suffix, ".part.") || strstr(suffix, ".cold"))
		return false;
	for (size_t i = 0; i < gt_countof(whole); i++)
		if (!strncmp(suffix, whole[i], strlen(whole[i])))
			return true;
	return false;
}

int gt_kernel_symbol_find(const char *function, char *ret_name, size_t size)
{
	size_t length = strlen(function);
	gt_autofree char *line = NULL;
	size_t capacity = 0;
	int result = -ENOENT;
	FILE *symbols = fopen("/proc/kallsyms", "re");

	if (!symbols)
		return -errno;
	/* "ffffffff81000000 T name [module]" */
	while (result && getline(&line, &capacity, symbols) > 0) {
		char type, name[256];

		if (sscanf(line, "%*s %c %255s", &type, name) != 2 || !strchr("tTwW", type) ||
		    strncmp(name, function, length) || !is_whole_function(name + length) ||
		    strlen(name) >= size)
			continue;
		strcpy(ret_name, name);
		result = 0;
	}
	fclose(symbols);
	return result;
}

bool gt_kernel_symbol_exists(const char *wanted)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	gt_autofree char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (symbols && !found && getline(&line, &capacity, symbols) > 0) {
		char name[256];

		found = sscanf(line, "%*s %*c %255s", name) == 1 && !strcmp(name, wanted);
	}
	if (symbols)
		fclose(symbols);
	return found;
}
