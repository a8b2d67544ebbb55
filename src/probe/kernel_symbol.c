/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/kernel_symbol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The kernel writes lines, of which there are hundreds of thousands, in pages. */
static FILE *open_symbols(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");

	if (symbols)
		setvbuf(symbols, NULL, _IOFBF, 65536);
	return symbols;
}

/*
 * The name in a line "ffffffff81000000 T name\t[module]" of a function whose name begins as one of
 * `functions`, entries of which can be NULL; NULL: there is none.
 */
static char *find_candidate(const char *const *functions, size_t count, char *line)
{
	char *type = strchr(line, ' ');

	if (!type || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		/* Nearly all differ in the first letters. */
		if (!functions[i] || functions[i][0] != type[3] ||
		    strncmp(type + 3, functions[i], strlen(functions[i])) != 0)
			continue;
		type[3 + strcspn(type + 3, "\t \n")] = '\0';
		return type + 3;
	}
	return NULL;
}

/* The exact name is preferred to one with a suffix. */
static int take_symbol(const char *const *functions, size_t count, const char *symbol, char **names)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = functions[i] ? strlen(functions[i]) : 0;
		char *copy;

		if (!length || strncmp(symbol, functions[i], length) ||
		    !is_whole_function(symbol + length) || (names[i] && symbol[length]))
			continue;
		copy = strdup(symbol);
		if (!copy)
			return -ENOMEM;
		free(names[i]);
		names[i] = copy;
	}
	return 0;
}

int gt_kernel_symbols_find(const char *const *functions, size_t count, char **ret_names)
{
	FILE *symbols = open_symbols();
	gt_autofree char *line = NULL;
	size_t capacity = 0;
	int error = 0;

	memset(ret_names, 0, count * sizeof(*ret_names));
	if (!symbols)
		return -errno;
	while (!error && getline(&line, &capacity, symbols) > 0) {
		const char *symbol = find_candidate(functions, count, line);

		if (symbol)
			error = take_symbol(functions, count, symbol, ret_names);
	}
	fclose(symbols);
	return error;
}

bool gt_kernel_has_function(const char *name)
{
	FILE *symbols = open_symbols();
	gt_autofree char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (symbols && !found && getline(&line, &capacity, symbols) > 0) {
		const char *symbol = find_candidate(&name, 1, line);

		found = symbol && !strcmp(symbol, name);
	}
	if (symbols)
		fclose(symbols);
	return found;
}

int gt_kernel_symbols_find_addresses(const char *const *names, size_t count, __u64 *ret_addresses)
{
	FILE *symbols = open_symbols();
	gt_autofree char *line = NULL;
	size_t capacity = 0;

	memset(ret_addresses, 0, count * sizeof(*ret_addresses));
	if (!symbols)
		return -errno;
	while (getline(&line, &capacity, symbols) > 0) {
		/* "ffffffff81000000 T name" */
		const char *type = strchr(line, ' ');
		const char *name = type && type[1] && type[2] ? type + 3 : "";
		const size_t length = strcspn(name, "\t \n");

		for (size_t i = 0; i < count; i++)
			if (!strncmp(name, names[i], length) && !names[i][length])
				ret_addresses[i] = strtoull(line, NULL, 16);
	}
	fclose(symbols);
	return 0;
}
