/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sass.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"

struct sass_code *sass_find(sass_codes *codes, const char *name)
{
	gt_vec_each (code, codes)
		if (!strncmp(code->name, name, sizeof(code->name) - 1))
			return code;
	return NULL;
}

/* Instructions of 16 bytes up to the last one that is no NOP. */
static unsigned count_instructions(const uint8_t *text, size_t size)
{
	size_t count = size / 16;

	while (count && (text[16 * (count - 1)] | (text[16 * count - 15] & 15) << 8) == 0x918)
		count--;
	return (unsigned)count;
}

/* The kernels of a cubin. */
static int read_cubin(const char *path, sass_codes *codes)
{
	gt_auto_file file = {0};
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const char *names;

	if (gt_file_read(path, 1 << 26, &file, NULL) || file.size < sizeof(*header))
		return -EINVAL;
	header = (const void *)file.data;
	sections = (const void *)(file.data + header->e_shoff);
	names = (const char *)file.data + sections[header->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		struct sass_code code = {0};

		if (strncmp(names + sections[i].sh_name, ".text.", 6))
			continue;
		snprintf(code.name, sizeof(code.name), "%s", names + sections[i].sh_name + 6);
		code.instructions =
			count_instructions(file.data + sections[i].sh_offset, sections[i].sh_size);
		if (gt_vec_push(codes, code))
			return -ENOMEM;
	}
	return 0;
}

/* What ptxas -v says: registers and stack of the kernels. */
static void read_report(FILE *report, sass_codes *codes)
{
	char line[512], name[128];
	struct sass_code *code = NULL;

	while (fgets(line, sizeof(line), report)) {
		const char *used = strstr(line, "Used ");

		if (strstr(line, "error"))
			fputs(line, stderr);
		if (sscanf(line, "ptxas info : Function properties for %127s", name) == 1)
			code = sass_find(codes, name);
		if (code)
			sscanf(line, " %u bytes stack frame, %u bytes spill stores", &code->stack,
			       &code->spills);
		if (code && used)
			sscanf(used, "Used %u registers", &code->registers);
	}
}

int sass_assemble(const char *directory, const char *name, unsigned sm, sass_codes *codes)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	char path[256];
	FILE *report;
	int error;

	gt_strbuf_printf(&command,
			 SASS_TOOLS "ptxas -arch=sm_%u -v -o %s/%s.cubin %s/%s.ptx 2>%s/report", sm,
			 directory, name, directory, name, directory);
	if (system(gt_strbuf_string(&command)))
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%s.cubin", directory, name);
	error = read_cubin(path, codes);
	snprintf(path, sizeof(path), "%s/report", directory);
	report = error ? NULL : fopen(path, "r");
	if (!report)
		return -EINVAL;
	read_report(report, codes);
	fclose(report);
	return 0;
}
