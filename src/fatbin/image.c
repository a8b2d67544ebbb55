/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images of unknown size in this process's memory. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "fatbin/layout.h"

/* As __fatBinC_Wrapper_t of crt/fatBinary_section.h and the code nvcc generates for it. */
struct fatbin_wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	const void *const *containers; /* version 2: of the linked modules, up to NULL */
};

static uint64_t farther(uint64_t end, uint64_t offset, uint64_t size)
{
	uint64_t sum;

	if (__builtin_add_overflow(offset, size, &sum))
		return UINT64_MAX;
	return sum > end ? sum : end;
}

/* Returns the size of an ELF file, by its headers and sections. */
static uint64_t elf_size(const uint8_t *data)
{
	uint64_t end = sizeof(Elf64_Ehdr);
	Elf64_Ehdr header;

	memcpy(&header, data, sizeof(header));
	end = farther(end, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr));
	end = farther(end, header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr));
	if (end > GT_FATBIN_MAX_SIZE)
		return end;
	for (size_t i = 0; header.e_shoff && i < header.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS)
			end = farther(end, section.sh_offset, section.sh_size);
	}
	return end;
}

static int read_elf(struct fatbin_reader *reader, const uint8_t *data)
{
	uint64_t size = elf_size(data);

	if (size > GT_FATBIN_MAX_SIZE)
		return fatbin_fail(reader->diag, -E2BIG, 0, "an ELF file of %" PRIu64 " bytes",
				   size);
	return fatbin_read_elf(reader, data, size);
}

static int read_container(struct fatbin_reader *reader, const uint8_t *data)
{
	uint64_t size = CONTAINER_HEADER, body, used;

	if (fatbin_get32(data) == (uint32_t)CONTAINER_MAGIC) {
		body = fatbin_get64(data + 8);
		if (body > GT_FATBIN_MAX_SIZE)
			return fatbin_fail(reader->diag, -E2BIG, 0,
					   "a container of %" PRIu64 " bytes", body);
		size = body + fatbin_get16(data + 6);
	}
	return fatbin_read_container(reader, data, size, 0, &used);
}

static int read_wrapper(struct fatbin_reader *reader, const void *image)
{
	struct fatbin_wrapper wrapper;
	int error = 0;

	memcpy(&wrapper, image, sizeof(wrapper));
	if (wrapper.version != 1 && wrapper.version != 2)
		return gt_diag(reader->diag, -EINVAL, "fatbin", NULL,
			       "a fatbin wrapper of version %" PRIu32 ", only 1 and 2 are known",
			       wrapper.version);
	if (wrapper.data)
		error = read_container(reader, wrapper.data);
	if (error || wrapper.version == 1 || !wrapper.containers)
		return error;
	for (size_t i = 0; wrapper.containers[i]; i++) {
		if (i == GT_FATBIN_MAX_CONTAINERS)
			return gt_diag(reader->diag, -E2BIG, "fatbin", NULL,
				       "more than %d containers behind a wrapper",
				       GT_FATBIN_MAX_CONTAINERS);
		error = read_container(reader, wrapper.containers[i]);
		if (error)
			return error;
	}
	return 0;
}

/* No magic number contains a zero byte, so nothing after a NUL is read. */
static enum gt_fatbin_image classify(const char *image)
{
	size_t known = strnlen(image, 8);
	enum gt_fatbin_image kind = gt_fatbin_classify(image, known);

	if (kind == GT_FATBIN_IMAGE_UNKNOWN && known == 8)
		kind = gt_fatbin_classify(image, strlen(image));
	return kind;
}

int gt_fatbin_open_image(const void *image, struct gt_fatbin **ret_fatbin, struct gt_diag *diag)
{
	struct fatbin_reader reader = {.diag = diag};
	enum gt_fatbin_image kind = classify(image);
	int error;

	switch (kind) {
	case GT_FATBIN_IMAGE_WRAPPER:
		error = read_wrapper(&reader, image);
		break;
	case GT_FATBIN_IMAGE_FATBIN:
		error = read_container(&reader, image);
		break;
	case GT_FATBIN_IMAGE_ELF:
		error = read_elf(&reader, image);
		break;
	case GT_FATBIN_IMAGE_PTX:
		error = fatbin_read_ptx(&reader, image, strlen(image));
		break;
	case GT_FATBIN_IMAGE_ARCHIVE:
		error = gt_diag(diag, -ENOTSUP, "fatbin", NULL,
				"an archive of object files: link it first");
		break;
	default:
		error = gt_diag(diag, -EINVAL, "fatbin", NULL,
				"neither a fatbin nor a cubin nor PTX text");
	}
	return fatbin_finish(&reader, kind, error, ret_fatbin);
}
