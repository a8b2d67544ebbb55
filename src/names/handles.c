/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/handles.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "E8__handle"
#define STUB "__device_stub_"

/* The length of an identifier with its digits before it (Itanium C++ ABI, <source-name>). */
static size_t take_length(const char **text)
{
	char *end;
	unsigned long length;

	if (**text < '0' || **text > '9')
		return 0;
	length = strtoul(*text, &end, 10);
	*text = end;
	return length <= strlen(end) ? length : 0;
}

/* How many of its functions have that name. */
static size_t count_functions(struct gt_elf *elf, const char *name)
{
	const struct gt_elf_symbol *const *symbols;
	size_t count = gt_elf_lookup(elf, name, &symbols), functions = 0;

	for (size_t i = 0; i < count; i++)
		functions += symbols[i]->kind == GT_ELF_FUNCTION;
	return functions;
}

/* nvcc mangles the stub's name also where the kernel's, and so its host function's, is plain. */
static bool is_plain(struct gt_elf *elf, const char *mangled, struct gt_strbuf *name)
{
	const char *text = mangled + 2;
	size_t length = take_length(&text);
	gt_auto_strbuf other = GT_STRBUF_INIT;

	if (!length)
		return false;
	gt_strbuf_printf(&other, "_ZL%s", mangled + 2); /* a function of its file alone */
	if (count_functions(elf, mangled) || count_functions(elf, gt_strbuf_string(&other)))
		return false;
	gt_strbuf_printf(name, "%.*s", (int)length, text);
	if (count_functions(elf, gt_strbuf_string(name)))
		return true;
	gt_strbuf_clear(name);
	return false;
}

bool gt_handle_kernel(struct gt_elf *elf, const char *variable, struct gt_strbuf *name)
{
	gt_auto_strbuf mangled = GT_STRBUF_INIT, plain = GT_STRBUF_INIT;
	size_t whole = strlen(variable), length;

	if (strncmp(variable, "_ZZ", 3) || whole <= strlen(VARIABLE) ||
	    strcmp(variable + whole - strlen(VARIABLE), VARIABLE))
		return false;
	variable += variable[3] == 'L' ? 4 : 3;
	length = take_length(&variable);
	if (length <= strlen(STUB "_Z") || strncmp(variable, STUB "_Z", strlen(STUB "_Z")))
		return false;
	gt_strbuf_printf(&mangled, "%.*s", (int)(length - strlen(STUB)), variable + strlen(STUB));
	gt_strbuf_puts(name, is_plain(elf, gt_strbuf_string(&mangled), &plain)
				     ? gt_strbuf_string(&plain)
				     : gt_strbuf_string(&mangled));
	return true;
}

void gt_handles_read(const struct gt_proc_maps *maps,
		     void (*found)(void *context, uint64_t handle, const char *kernel),
		     void *context)
{
	gt_auto_strbuf path = GT_STRBUF_INIT, kernel = GT_STRBUF_INIT;
	gt_autoclose int memory = -1;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)maps->pid);
	memory = open(name, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < maps->count && memory >= 0; i++) {
		const struct gt_proc_mapping *mapping = &maps->items[i];
		const struct gt_elf_symbol *symbols;
		gt_auto(elf) struct gt_elf *elf = NULL;
		uint64_t offset, size, first, handle;
		size_t count = 0;

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping) ||
		    gt_proc_mapping_path(maps, mapping, &path, NULL) ||
		    gt_elf_open(gt_strbuf_string(&path), &elf, NULL) ||
		    gt_elf_section(elf, ".nvFatBinSegment", &offset, &size) ||
		    gt_elf_symbols(elf, &symbols, &count, NULL))
			continue;
		first = gt_elf_address(elf, mapping->offset);
		for (size_t k = 0; k < count && first != GT_ELF_NO_OFFSET; k++) {
			uint64_t at = mapping->start - first + symbols[k].value;

			gt_strbuf_clear(&kernel);
			if (symbols[k].kind == GT_ELF_OBJECT &&
			    gt_handle_kernel(elf, symbols[k].name, &kernel) &&
			    pread(memory, &handle, sizeof(handle), (off_t)at) == sizeof(handle) &&
			    handle)
				found(context, handle, gt_strbuf_string(&kernel));
		}
	}
}
