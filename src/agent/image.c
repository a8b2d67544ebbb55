/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <elf.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/protocol.h"

/* As src/fatbin/fatbin.h describes them. */
enum {
	WRAPPER_MAGIC = 0x466243b1,
	FATBIN_HEADER = 16,
#ifndef EM_CUDA
	EM_CUDA = 190,
#endif
};
#define FATBIN_MAGIC 0xba55ed50u

struct agent_wrapper {
	uint32_t magic, version;
	const void *data;
};

struct agent_fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* of what follows */
};

static bool measure_fatbin(const void *data, struct gt_agent_image *image)
{
	struct agent_fatbin header;

	memcpy(&header, data, sizeof(header));
	if (header.magic != FATBIN_MAGIC || header.header_size != FATBIN_HEADER ||
	    header.size > GT_AGENT_MAX_IMAGE)
		return false;
	image->data = data;
	image->size = FATBIN_HEADER + header.size;
	return true;
}

/* A cubin ends with its section headers or its last section. */
static bool measure_elf(const void *data, struct gt_agent_image *image)
{
	const unsigned char *bytes = data;
	Elf64_Ehdr header;
	uint64_t end;

	if (memcmp(data, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64)
		return false;
	memcpy(&header, data, sizeof(header));
	if (header.e_machine != EM_CUDA || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shoff > GT_AGENT_MAX_IMAGE)
		return false;
	end = header.e_shoff + (uint64_t)header.e_shnum * sizeof(Elf64_Shdr);
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, bytes + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type == SHT_NOBITS)
			continue;
		if (section.sh_offset > GT_AGENT_MAX_IMAGE || section.sh_size > GT_AGENT_MAX_IMAGE)
			return false;
		if (section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	if (end > GT_AGENT_MAX_IMAGE)
		return false;
	image->data = data;
	image->size = end;
	return true;
}

/* PTX is text that ends with a NUL. Its first directive is .version, after blanks and comments. */
static bool measure_text(const char *text, struct gt_agent_image *image)
{
	size_t length;

	if (*text != '.' && *text != '/' && *text != ' ' && *text != '\t' && *text != '\n' &&
	    *text != '\r')
		return false;
	length = strnlen(text, GT_AGENT_MAX_IMAGE);
	if (length == GT_AGENT_MAX_IMAGE)
		return false;
	image->data = text;
	image->size = length;
	return true;
}

bool gt_agent_measure(const void *data, struct gt_agent_image *ret_image)
{
	struct agent_wrapper wrapper;
	uint32_t magic;

	if (!data)
		return false;
	/* A text may be shorter than a word. */
	if (measure_text(data, ret_image))
		return true;
	memcpy(&magic, data, sizeof(magic));
	if (magic == WRAPPER_MAGIC) {
		memcpy(&wrapper, data, sizeof(wrapper));
		return wrapper.version == 1 && wrapper.data &&
		       measure_fatbin(wrapper.data, ret_image);
	}
	return magic == FATBIN_MAGIC ? measure_fatbin(data, ret_image)
				     : measure_elf(data, ret_image);
}
