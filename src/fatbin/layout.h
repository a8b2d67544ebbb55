/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layout of a container; internals of its readers and its writer. */
#pragma once

#include <string.h>

#include "base/vec.h"
#include "fatbin/fatbin.h"

enum {
	WRAPPER_MAGIC = 0x466243b1,
	CONTAINER_MAGIC = (int)0xba55ed50u,
	CONTAINER_VERSION = 1,
	CONTAINER_HEADER = 16,
	ENTRY_VERSION = 0x0101,
	ENTRY_HEADER = 64,
	DESCRIPTOR = 8, /* of the options */
	ELF_MACHINE_CUDA = 190,
};

enum {
	ENTRY_KIND = 0,
	ENTRY_FORMAT = 2,
	ENTRY_HEADER_SIZE = 4,
	ENTRY_PAYLOAD_SIZE = 8,
	ENTRY_COMPRESSED_SIZE = 16,
	ENTRY_OPTIONS = 20,
	ENTRY_MINOR = 24,
	ENTRY_MAJOR = 26,
	ENTRY_ARCHITECTURE = 28,
	ENTRY_NAME = 32,
	ENTRY_NAME_LENGTH = 36,
	ENTRY_FLAGS = 40,
	ENTRY_SIZE = 56,
};

static inline uint16_t fatbin_get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t fatbin_get32(const uint8_t *bytes)
{
	return fatbin_get16(bytes) | (uint32_t)fatbin_get16(bytes + 2) << 16;
}

static inline uint64_t fatbin_get64(const uint8_t *bytes)
{
	return fatbin_get32(bytes) | (uint64_t)fatbin_get32(bytes + 4) << 32;
}

static inline void fatbin_put16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
}

static inline void fatbin_put32(uint8_t *bytes, uint32_t value)
{
	fatbin_put16(bytes, (uint16_t)value);
	fatbin_put16(bytes + 2, (uint16_t)(value >> 16));
}

static inline void fatbin_put64(uint8_t *bytes, uint64_t value)
{
	fatbin_put32(bytes, (uint32_t)value);
	fatbin_put32(bytes + 4, (uint32_t)(value >> 32));
}

/* The state of reading a fatbin. */
struct fatbin_reader {
	GT_VEC(struct gt_fatbin_entry) entries;
	uint32_t containers; /* so far */
	struct gt_diag *diag;
};

/* Sets a message with "offset 0x…"; returns the error. */
int fatbin_fail(struct gt_diag *diag, int error, uint64_t offset, const char *format, ...)
	gt_printf(4, 5);
/* Reads one container at data, of at most `size` bytes; *ret_used: its size. */
int fatbin_read_container(struct fatbin_reader *reader, const uint8_t *data, uint64_t size,
			  uint64_t offset, uint64_t *ret_used);
/* Adds a bare cubin or PTX text as the only entry. */
int fatbin_read_elf(struct fatbin_reader *reader, const uint8_t *data, size_t size);
int fatbin_read_ptx(struct fatbin_reader *reader, const uint8_t *data, size_t size);
/* Creates the result and takes ownership of the reader's entries. */
int fatbin_finish(struct fatbin_reader *reader, enum gt_fatbin_image image, int error,
		  struct gt_fatbin **ret_fatbin);

/* The first directives of a PTX text. */
struct fatbin_ptx {
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t architecture;
	uint64_t flags; /* GT_FATBIN_FLAG_ARCH_*, GT_FATBIN_FLAG_DEBUG */
};

/* Reads them; false: the text does not begin with .version and .target. */
bool fatbin_scan_ptx(const char *text, size_t length, struct fatbin_ptx *ret_ptx);
/* Returns whether the text begins with .version after white space and comments. */
bool fatbin_is_ptx(const char *text, size_t length);
