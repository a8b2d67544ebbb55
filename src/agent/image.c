/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/protocol.h"

/* As src/fatbin/fatbin.h describes them. */
enum {
	WRAPPER_MAGIC = 0x466243b1,
	LINKED_WRAPPER = 2, /* a version */
	MAX_FATBINS = 4096,
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

/* Version 2. */
struct agent_linked_wrapper {
	struct agent_wrapper wrapper;
	const void *const *fatbins; /* up to NULL */
};

struct agent_fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* of what follows */
};

struct gt_agent_target gt_agent_target_of(const void *fatbin, size_t size)
{
	enum {
		ARCHITECTURE_OFFSET = FATBIN_HEADER + 28,
		FLAGS_OFFSET = FATBIN_HEADER + 40,
		ARCH_A = 0x100000,
		ARCH_F = 0x200000,
	};
	struct gt_agent_target target = {0};
	uint64_t flags;

	if (size < FLAGS_OFFSET + sizeof(flags))
		return target;
	memcpy(&target.capability, (const char *)fatbin + ARCHITECTURE_OFFSET,
	       sizeof(target.capability));
	memcpy(&flags, (const char *)fatbin + FLAGS_OFFSET, sizeof(flags));
	target.is_specific = flags & (ARCH_A | ARCH_F);
	return target;
}

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
	image->is_text = true;
	return true;
}

/* ---- linked programs -------------------------------------------------------------------- */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* A fatbin of a wrapper: its own, the result of the link, or one of those that it lists. */
static const void *fatbin_at(const struct agent_linked_wrapper *linked, size_t index)
{
	if (!index)
		return linked->wrapper.data;
	return linked->fatbins ? linked->fatbins[index - 1] : NULL;
}

/* The bytes of all fatbins, each padded; 0: one of them is none, or they are too many. */
static size_t measure_fatbins(const struct agent_linked_wrapper *linked)
{
	struct gt_agent_image image;
	size_t size = 0;

	for (size_t i = 0; !i || fatbin_at(linked, i); i++) {
		if (i > MAX_FATBINS || size > GT_AGENT_MAX_IMAGE)
			return 0;
		if (!fatbin_at(linked, i))
			continue;
		if (!measure_fatbin(fatbin_at(linked, i), &image))
			return 0;
		size += padded(image.size);
	}
	return size <= GT_AGENT_MAX_IMAGE ? size : 0;
}

/* Copy the fatbins of a wrapper of version 2. */
static bool copy_fatbins(const void *data, struct gt_agent_image *ret_image)
{
	struct agent_linked_wrapper linked;
	struct gt_agent_image image;
	size_t size, left;
	char *copy;

	memcpy(&linked, data, sizeof(linked));
	left = size = measure_fatbins(&linked);
	copy = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		    : MAP_FAILED;
	if (copy == MAP_FAILED)
		return false;
	*ret_image = (struct gt_agent_image){.data = copy, .size = size, .is_copy = true};
	for (size_t i = 0; !i || fatbin_at(&linked, i); i++) {
		if (!fatbin_at(&linked, i) || !measure_fatbin(fatbin_at(&linked, i), &image) ||
		    padded(image.size) > left)
			continue;
		memcpy(copy, image.data, image.size);
		copy += padded(image.size);
		left -= padded(image.size);
	}
	return true;
}

void gt_agent_release_image(struct gt_agent_image *image)
{
	if (image->is_copy)
		munmap((void *)image->data, image->size);
	image->is_copy = false;
}

bool gt_agent_measure(const void *data, struct gt_agent_image *ret_image)
{
	struct agent_wrapper wrapper;
	uint32_t magic;

	ret_image->is_copy = ret_image->is_text = false;
	if (!data)
		return false;
	/* A text may be shorter than a word. */
	if (measure_text(data, ret_image))
		return true;
	memcpy(&magic, data, sizeof(magic));
	if (magic == WRAPPER_MAGIC) {
		memcpy(&wrapper, data, sizeof(wrapper));
		if (wrapper.version == LINKED_WRAPPER)
			return copy_fatbins(data, ret_image);
		return wrapper.version == 1 && wrapper.data &&
		       measure_fatbin(wrapper.data, ret_image);
	}
	return magic == FATBIN_MAGIC ? measure_fatbin(data, ret_image)
				     : measure_elf(data, ret_image);
}
