/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fatbin/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "fatbin/layout.h"

int fatbin_fail(struct gt_diag *diag, int error, uint64_t offset, const char *format, ...)
{
	char place[32], text[sizeof(diag->text)];
	va_list arguments;

	snprintf(place, sizeof(place), "offset 0x%" PRIx64, offset);
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return gt_diag(diag, error, "fatbin", place, "%s", text);
}

enum gt_fatbin_image gt_fatbin_classify(const void *data, size_t size)
{
	uint32_t magic = size >= 4 ? fatbin_get32(data) : 0;

	if (magic == (uint32_t)WRAPPER_MAGIC)
		return GT_FATBIN_IMAGE_WRAPPER;
	if (magic == (uint32_t)CONTAINER_MAGIC)
		return GT_FATBIN_IMAGE_FATBIN;
	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG))
		return GT_FATBIN_IMAGE_ELF;
	if (size >= 8 && !memcmp(data, "!<arch>\n", 8))
		return GT_FATBIN_IMAGE_ARCHIVE;
	if (fatbin_is_ptx(data, size))
		return GT_FATBIN_IMAGE_PTX;
	return GT_FATBIN_IMAGE_UNKNOWN;
}

/* The payload's size: exact, or with padding if only that is known. */
static int read_payload(struct gt_fatbin_entry *entry, const uint8_t *header, uint64_t offset,
			struct gt_diag *diag)
{
	uint64_t padded = fatbin_get64(header + ENTRY_PAYLOAD_SIZE);
	uint32_t compressed = fatbin_get32(header + ENTRY_COMPRESSED_SIZE);
	bool lz4 = entry->flags & GT_FATBIN_FLAG_LZ4, zstd = entry->flags & GT_FATBIN_FLAG_ZSTD;

	entry->payload = header + fatbin_get32(header + ENTRY_HEADER_SIZE);
	entry->payload_size = padded;
	entry->size = padded;
	if (!lz4 && !zstd)
		return 0;
	if (lz4 && zstd)
		return fatbin_fail(diag, -EINVAL, offset,
				   "an entry says that it is both LZ4 and zstd");
	if (compressed > padded)
		return fatbin_fail(diag, -EINVAL, offset,
				   "an entry has %" PRIu32 " compressed bytes in a payload of "
				   "%" PRIu64,
				   compressed, padded);
	entry->compression = lz4 ? GT_FATBIN_COMPRESSION_LZ4 : GT_FATBIN_COMPRESSION_ZSTD;
	entry->payload_size = compressed ? compressed : padded;
	entry->size = fatbin_get64(header + ENTRY_SIZE);
	return 0;
}

/* A part of the entry's header, such as its name. */
static int read_text(const uint8_t *header, uint32_t start, uint32_t length, uint64_t offset,
		     const char *what, const char **ret_text, struct gt_diag *diag)
{
	uint32_t size = fatbin_get32(header + ENTRY_HEADER_SIZE);

	if (start > size || length > size - start)
		return fatbin_fail(diag, -EINVAL, offset, "%s outside of its header", what);
	*ret_text = (const char *)header + start;
	return 0;
}

static int read_texts(struct gt_fatbin_entry *entry, const uint8_t *header, uint64_t offset,
		      struct gt_diag *diag)
{
	uint32_t size = fatbin_get32(header + ENTRY_HEADER_SIZE);
	uint32_t descriptor = fatbin_get32(header + ENTRY_OPTIONS), length;
	uint32_t name_length = fatbin_get32(header + ENTRY_NAME_LENGTH);
	int error = 0;

	if (name_length) {
		entry->name_length = name_length;
		error = read_text(header, fatbin_get32(header + ENTRY_NAME), name_length, offset,
				  "the name of an entry is", &entry->name, diag);
	}
	/* Those of a cubin are a table of attributes, not text. */
	if (error || !descriptor || entry->kind != GT_FATBIN_KIND_PTX)
		return error;
	if (descriptor > size || size - descriptor < DESCRIPTOR)
		return fatbin_fail(diag, -EINVAL, offset,
				   "the options of an entry are outside of its header");
	length = fatbin_get32(header + descriptor + 4);
	if (!length)
		return 0;
	entry->options_length = length;
	return read_text(header, fatbin_get32(header + descriptor), length, offset,
			 "the options of an entry are", &entry->options, diag);
}

/* Reads one entry at data; *ret_used: bytes of its header and payload. */
static int read_entry(struct fatbin_reader *reader, const uint8_t *data, uint64_t size,
		      uint64_t offset, uint64_t *ret_used)
{
	struct gt_fatbin_entry entry = {.container = reader->containers};
	uint64_t payload;
	uint32_t header;
	int error;

	if (size < ENTRY_HEADER)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "an entry is truncated: %" PRIu64 " bytes remain, its header "
				   "takes %d",
				   size, ENTRY_HEADER);
	header = fatbin_get32(data + ENTRY_HEADER_SIZE);
	payload = fatbin_get64(data + ENTRY_PAYLOAD_SIZE);
	if (header < ENTRY_HEADER || header > size || payload > size - header)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "an entry takes %" PRIu32 " + %" PRIu64 " bytes, %" PRIu64
				   " are left",
				   header, payload, size);
	if (reader->entries.count >= GT_FATBIN_MAX_ENTRIES)
		return fatbin_fail(reader->diag, -E2BIG, offset, "more than %d entries",
				   GT_FATBIN_MAX_ENTRIES);
	entry.kind = fatbin_get16(data + ENTRY_KIND);
	entry.version_minor = fatbin_get16(data + ENTRY_MINOR);
	entry.version_major = fatbin_get16(data + ENTRY_MAJOR);
	entry.architecture = fatbin_get32(data + ENTRY_ARCHITECTURE);
	entry.flags = fatbin_get64(data + ENTRY_FLAGS);
	error = read_payload(&entry, data, offset, reader->diag);
	if (!error)
		error = read_texts(&entry, data, offset, reader->diag);
	if (error)
		return error;
	*ret_used = header + payload;
	if (gt_vec_push(&reader->entries, entry))
		return fatbin_fail(reader->diag, -ENOMEM, offset, "out of memory");
	return 0;
}

int fatbin_read_container(struct fatbin_reader *reader, const uint8_t *data, uint64_t size,
			  uint64_t offset, uint64_t *ret_used)
{
	uint64_t header, body, used = 0;

	if (size < CONTAINER_HEADER)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "a container is truncated: %" PRIu64 " bytes remain, its "
				   "header takes %d",
				   size, CONTAINER_HEADER);
	header = fatbin_get16(data + 6);
	body = fatbin_get64(data + 8);
	if (fatbin_get32(data) != (uint32_t)CONTAINER_MAGIC)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "no container begins here: 0x%08" PRIx32
				   " in place of 0xba55ed50",
				   fatbin_get32(data));
	if (fatbin_get16(data + 4) != CONTAINER_VERSION)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "a container of version %d, only %d is known",
				   fatbin_get16(data + 4), CONTAINER_VERSION);
	if (header < CONTAINER_HEADER || header > size || body > size - header)
		return fatbin_fail(reader->diag, -EINVAL, offset,
				   "a container takes %" PRIu64 " + %" PRIu64 " bytes, %" PRIu64
				   " are left",
				   header, body, size);
	for (uint64_t at = header; at < header + body; at += used) {
		int error = read_entry(reader, data + at, header + body - at, offset + at, &used);

		if (error)
			return error;
	}
	reader->containers++;
	*ret_used = header + body;
	return 0;
}

/* Reads all containers, which are padded with zeros to a multiple of 8. */
static int read_containers(struct fatbin_reader *reader, const uint8_t *data, size_t size)
{
	uint64_t offset = 0, used = 0;

	while (offset < size) {
		int error;

		if (!data[offset] && offset) {
			offset++;
			continue;
		}
		error = fatbin_read_container(reader, data + offset, size - offset, offset, &used);
		if (error)
			return error;
		offset += used;
	}
	return 0;
}

/*
 * Returns the architecture of a cubin: bits 8 to 15 of the flags if its ABI (in the ident) is 8 or
 * later, as of nvcc 13, else bits 0 to 7.
 */
static uint32_t elf_architecture(const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_ABIVERSION] >= 8)
		return header->e_flags >> 8 & 0xff;
	return header->e_flags & 0xff;
}

int fatbin_read_elf(struct fatbin_reader *reader, const uint8_t *data, size_t size)
{
	struct gt_fatbin_entry entry = {
		.kind = GT_FATBIN_KIND_ELF, .payload = data, .payload_size = size, .size = size};
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return fatbin_fail(reader->diag, -EINVAL, 0, "an ELF file of only %zu bytes", size);
	memcpy(&header, data, sizeof(header));
	if (header.e_machine != ELF_MACHINE_CUDA)
		return fatbin_fail(reader->diag, -EINVAL, 0,
				   "an ELF file for machine %d, CUDA's is %d", header.e_machine,
				   ELF_MACHINE_CUDA);
	entry.architecture = elf_architecture(&header);
	if (gt_vec_push(&reader->entries, entry))
		return fatbin_fail(reader->diag, -ENOMEM, 0, "out of memory");
	return 0;
}

int fatbin_read_ptx(struct fatbin_reader *reader, const uint8_t *data, size_t size)
{
	size_t length = strnlen((const char *)data, size);
	struct gt_fatbin_entry entry = {.kind = GT_FATBIN_KIND_PTX,
					.payload = data,
					.payload_size = length,
					.size = length};
	struct fatbin_ptx ptx;

	if (length > GT_FATBIN_MAX_PAYLOAD)
		return fatbin_fail(reader->diag, -E2BIG, 0, "a PTX text of more than %d MiB",
				   GT_FATBIN_MAX_PAYLOAD >> 20);
	if (fatbin_scan_ptx((const char *)data, length, &ptx)) {
		entry.version_major = ptx.version_major;
		entry.version_minor = ptx.version_minor;
		entry.architecture = ptx.architecture;
		entry.flags = ptx.flags;
	}
	if (gt_vec_push(&reader->entries, entry))
		return fatbin_fail(reader->diag, -ENOMEM, 0, "out of memory");
	return 0;
}

int fatbin_finish(struct fatbin_reader *reader, enum gt_fatbin_image image, int error,
		  struct gt_fatbin **ret_fatbin)
{
	struct gt_fatbin *fatbin = NULL;

	if (!error) {
		fatbin = calloc(1, sizeof(*fatbin));
		if (!fatbin)
			error = gt_diag(reader->diag, -ENOMEM, "fatbin", NULL, "out of memory");
	}
	if (error) {
		gt_vec_free(&reader->entries);
		return error;
	}
	*fatbin = (struct gt_fatbin){.image = image,
				     .entries = reader->entries.items,
				     .entry_count = reader->entries.count};
	*ret_fatbin = fatbin;
	return 0;
}

int gt_fatbin_open(const void *data, size_t size, struct gt_fatbin **ret_fatbin,
		   struct gt_diag *diag)
{
	struct fatbin_reader reader = {.diag = diag};
	enum gt_fatbin_image image = gt_fatbin_classify(data, size);
	int error;

	switch (image) {
	case GT_FATBIN_IMAGE_FATBIN:
		error = read_containers(&reader, data, size);
		break;
	case GT_FATBIN_IMAGE_ELF:
		error = fatbin_read_elf(&reader, data, size);
		break;
	case GT_FATBIN_IMAGE_PTX:
		error = fatbin_read_ptx(&reader, data, size);
		break;
	case GT_FATBIN_IMAGE_WRAPPER:
		error = gt_diag(
			diag, -ENOTSUP, "fatbin", NULL,
			"a fatbin wrapper: its pointers mean nothing outside of its process");
		break;
	case GT_FATBIN_IMAGE_ARCHIVE:
		error = gt_diag(diag, -ENOTSUP, "fatbin", NULL,
				"an archive of object files: link it first");
		break;
	default:
		error = gt_diag(diag, -EINVAL, "fatbin", NULL,
				"neither a fatbin nor a cubin nor PTX text");
	}
	return fatbin_finish(&reader, image, error, ret_fatbin);
}

void gt_fatbin_free(struct gt_fatbin *fatbin)
{
	if (!fatbin)
		return;
	free((void *)fatbin->entries);
	free(fatbin);
}

bool gt_fatbin_next_container(const struct gt_fatbin *fatbin, size_t *cursor,
			      struct gt_fatbin *ret_container)
{
	const struct gt_fatbin_entry *first;
	size_t end = *cursor;

	if (end >= fatbin->entry_count)
		return false;
	first = &fatbin->entries[end];
	while (end < fatbin->entry_count && fatbin->entries[end].container == first->container)
		end++;
	*ret_container = (struct gt_fatbin){
		.image = fatbin->image,
		.entries = first,
		.entry_count = end - *cursor,
	};
	*cursor = end;
	return true;
}

static bool suits(const struct gt_fatbin_entry *entry, enum gt_fatbin_kind kind, uint32_t device)
{
	bool is_family = entry->architecture / 10 == device / 10;

	if (entry->kind != kind || entry->architecture > device)
		return false;
	if (entry->flags & GT_FATBIN_FLAG_ARCH_A)
		return entry->architecture == device;
	return is_family || (kind == GT_FATBIN_KIND_PTX && !(entry->flags & GT_FATBIN_FLAG_ARCH_F));
}

/* Of equal architectures, the more specific code: nvcc adds sm_90 to sm_90a. */
static uint64_t preference(const struct gt_fatbin_entry *entry)
{
	bool is_exact = entry->flags & GT_FATBIN_FLAG_ARCH_A;
	bool is_family = entry->flags & GT_FATBIN_FLAG_ARCH_F;

	return (uint64_t)entry->architecture * 3 + (is_exact ? 2 : is_family);
}

static const struct gt_fatbin_entry *find_best(const struct gt_fatbin *fatbin,
					       enum gt_fatbin_kind kind, uint32_t device)
{
	const struct gt_fatbin_entry *best = NULL;

	for (size_t i = 0; i < fatbin->entry_count; i++) {
		const struct gt_fatbin_entry *entry = &fatbin->entries[i];

		if (suits(entry, kind, device) && (!best || preference(entry) > preference(best)))
			best = entry;
	}
	return best;
}

const struct gt_fatbin_entry *gt_fatbin_best_ptx(const struct gt_fatbin *fatbin, uint32_t device)
{
	return find_best(fatbin, GT_FATBIN_KIND_PTX, device);
}

const struct gt_fatbin_entry *gt_fatbin_best_cubin(const struct gt_fatbin *fatbin, uint32_t device)
{
	return find_best(fatbin, GT_FATBIN_KIND_ELF, device);
}

bool gt_fatbin_is_part(const struct gt_fatbin_entry *entry, const struct gt_fatbin_entry *best)
{
	const uint64_t flags = GT_FATBIN_FLAG_ARCH_A | GT_FATBIN_FLAG_ARCH_F;

	return entry->kind == best->kind && entry->architecture == best->architecture &&
	       (entry->flags & flags) == (best->flags & flags);
}

uint32_t gt_fatbin_max_registers(const char *options, size_t length)
{
	static const char name[] = "-maxrregcount";
	const char *found = length ? memmem(options, length, name, sizeof(name) - 1) : NULL;
	const char *end;
	uint32_t limit = 0;

	if (!found)
		return 0;
	end = options + length;
	found += sizeof(name) - 1;
	if (found < end && (*found == '=' || *found == ' '))
		found++;
	for (; found < end && *found >= '0' && *found <= '9' && limit < 1000; found++)
		limit = limit * 10 + (uint32_t)(*found - '0');
	return limit;
}

int gt_fatbin_optimization(const char *options, size_t length)
{
	enum { MAX_LEVEL = 4 };
	int level = -1;

	for (size_t i = 0; i + 2 < length; i++) {
		bool is_word = (!i || options[i - 1] == ' ') &&
			       (i + 3 == length || options[i + 3] == ' ' || !options[i + 3]);

		if (is_word && options[i] == '-' && options[i + 1] == 'O' &&
		    options[i + 2] >= '0' && options[i + 2] <= '0' + MAX_LEVEL)
			level = options[i + 2] - '0';
	}
	return level;
}
