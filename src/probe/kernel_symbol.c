/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/kernel_symbol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"

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

#define MAX_MODULES (16 << 20) /* bytes of the list */

struct gt_kernel_symbols {
	struct gt_strbuf functions; /* of each the address, a __u64, and the name with its NUL */
	struct gt_file modules;     /* the list of modules at that time */
	bool were_read;
};

struct gt_kernel_symbols *gt_kernel_symbols_new(void)
{
	return calloc(1, sizeof(struct gt_kernel_symbols));
}

void gt_kernel_symbols_free(struct gt_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	gt_strbuf_free(&symbols->functions);
	gt_file_free(&symbols->modules);
	free(symbols);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Keep a line "ffffffff81000000 T name\t[module]" if it is of a function. */
static void keep_function(struct gt_strbuf *functions, const char *line)
{
	char *type;
	__u64 address = strtoull(line, &type, 16);

	if (type == line || *type != ' ' || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ')
		return;
	gt_strbuf_add(functions, (const char *)&address, sizeof(address));
	gt_strbuf_add(functions, type + 3, strcspn(type + 3, "\t \n"));
	gt_strbuf_putc(functions, '\0');
}

/* The kernel writes lines, of which there are hundreds of thousands, in pages. */
static int read_functions(struct gt_strbuf *functions)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	gt_autofree char *line = NULL;
	size_t capacity = 0;

	if (!file)
		return -errno;
	setvbuf(file, NULL, _IOFBF, 65536);
	while (getline(&line, &capacity, file) > 0)
		keep_function(functions, line);
	fclose(file);
	return functions->failed ? -ENOMEM : 0;
}

/* Read the symbols, unless those that are kept are of the modules that are loaded now. */
static int read_symbols(struct gt_kernel_symbols *symbols)
{
	struct gt_file modules = {0}; /* stays empty where the kernel has none */
	int error;

	gt_file_read("/proc/modules", MAX_MODULES, &modules, NULL);
	if (symbols->were_read && modules.size == symbols->modules.size &&
	    (!modules.size || !memcmp(modules.data, symbols->modules.data, modules.size))) {
		gt_file_free(&modules);
		return 0;
	}
	gt_file_free(&symbols->modules);
	gt_strbuf_free(&symbols->functions);
	symbols->modules = modules;
	error = read_functions(&symbols->functions);
	symbols->were_read = !error;
	return error;
}

/* The name of the function after this one, and its address; `name` NULL: of the first. NULL: no
 * more. */
static const char *next_function(const struct gt_kernel_symbols *symbols, const char *name,
				 __u64 *ret_address)
{
	const struct gt_strbuf *functions = &symbols->functions;
	const char *next = name ? name + strlen(name) + 1 : functions->data;

	if (!functions->length || next == functions->data + functions->length)
		return NULL;
	memcpy(ret_address, next, sizeof(*ret_address));
	return next + sizeof(*ret_address);
}

/* ---- search ------------------------------------------------------------------------------- */

/* The exact name is preferred to one with a suffix. */
static int take_symbol(const char *const *functions, size_t count, const char *symbol, char **names)
{
	for (size_t i = 0; i < count; i++) {
		size_t length;
		char *copy;

		/* Nearly all differ in the first letters. */
		if (!functions[i] || functions[i][0] != symbol[0])
			continue;
		length = strlen(functions[i]);
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

int gt_kernel_symbols_find(struct gt_kernel_symbols *symbols, const char *const *functions,
			   size_t count, char **ret_names)
{
	int error = read_symbols(symbols);
	const char *symbol = NULL;
	__u64 address;

	memset(ret_names, 0, count * sizeof(*ret_names));
	while (!error && (symbol = next_function(symbols, symbol, &address)))
		error = take_symbol(functions, count, symbol, ret_names);
	return error;
}

int gt_kernel_symbols_find_addresses(struct gt_kernel_symbols *symbols, const char *const *names,
				     size_t count, __u64 *ret_addresses)
{
	int error = read_symbols(symbols);
	const char *symbol = NULL;
	__u64 address;

	memset(ret_addresses, 0, count * sizeof(*ret_addresses));
	while (!error && (symbol = next_function(symbols, symbol, &address)))
		for (size_t i = 0; i < count; i++)
			if (!ret_addresses[i] && !strcmp(symbol, names[i]))
				ret_addresses[i] = address;
	return error;
}

bool gt_kernel_symbols_has(struct gt_kernel_symbols *symbols, const char *name)
{
	const char *symbol = NULL;
	__u64 address;

	if (read_symbols(symbols))
		return false;
	while ((symbol = next_function(symbols, symbol, &address)))
		if (!strcmp(symbol, name))
			return true;
	return false;
}
