/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fatbin container: code for several GPU architectures, as PTX text and as cubins (ELF),
 * each compressed or not; and the other images that cuModuleLoadData accepts. NVIDIA does not
 * document it: the layout is that of nvcc 13.0.88, found by comparing its outputs.
 *
 * Numbers are little-endian. Offsets within an entry count from the start of its header.
 *
 *   container  u32 magic 0xBA55ED50, u16 version 1, u16 header size 16, u64 bytes that follow
 *   entry      64 bytes or more, then the payload, padded to 8:
 *      0 u16 kind      2 u16 0x0101     4 u32 header size    8 u64 payload size, padded
 *     16 u32 compressed size            20 u32 offset of the options' descriptor, or 0
 *     24 u16 minor    26 u16 major      28 u32 architecture
 *     32 u32 name offset  36 u32 name length  40 u64 flags  48 u64 0  56 u64 uncompressed size
 *   options' descriptor  u32 offset of the text, u32 its length
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

/* Limits of untrusted input; -E2BIG above. */
enum {
	GT_FATBIN_MAX_PAYLOAD = 256 << 20, /* bytes of one payload, uncompressed */
	GT_FATBIN_MAX_ENTRIES = 65536,     /* of all containers together */
	GT_FATBIN_MAX_CONTAINERS = 4096,   /* of a wrapper of version 2 */
};

#define GT_FATBIN_MAX_SIZE (UINT64_C(4) << 30) /* bytes of one container */

/* The type of an image, by its first bytes. */
enum gt_fatbin_image {
	GT_FATBIN_IMAGE_UNKNOWN,
	GT_FATBIN_IMAGE_WRAPPER, /* 24 bytes with pointers, magic 0x466243B1 */
	GT_FATBIN_IMAGE_FATBIN,  /* a container */
	GT_FATBIN_IMAGE_ELF,     /* a cubin, or another ELF file */
	GT_FATBIN_IMAGE_ARCHIVE, /* !<arch> */
	GT_FATBIN_IMAGE_PTX,     /* text: .version after white space and comments */
};

enum gt_fatbin_kind {
	GT_FATBIN_KIND_PTX = 1,
	GT_FATBIN_KIND_ELF = 2,
};

enum gt_fatbin_compression {
	GT_FATBIN_COMPRESSION_NONE,
	GT_FATBIN_COMPRESSION_LZ4, /* one block without a frame */
	GT_FATBIN_COMPRESSION_ZSTD,
};

#define GT_FATBIN_FLAG_64BIT UINT64_C(0x1)
#define GT_FATBIN_FLAG_DEBUG UINT64_C(0x2)
#define GT_FATBIN_FLAG_LINUX UINT64_C(0x10)
#define GT_FATBIN_FLAG_LZ4 UINT64_C(0x2000)
#define GT_FATBIN_FLAG_ZSTD UINT64_C(0x8000)
#define GT_FATBIN_FLAG_ARCH_A UINT64_C(0x100000) /* sm_90a: for this architecture alone */
#define GT_FATBIN_FLAG_ARCH_F UINT64_C(0x200000) /* sm_100f: for this family */

/* Pointers point into the caller's memory; strings are not NUL-terminated. */
struct gt_fatbin_entry {
	uint32_t container;     /* its number, from 0; bare images: 0 */
	uint16_t kind;          /* enum gt_fatbin_kind, or an unknown kind */
	uint16_t version_major; /* of the PTX (8.3), or of the ELF's ABI; 0.0: unknown */
	uint16_t version_minor;
	uint32_t architecture; /* 75; 0: unknown */
	uint64_t flags;        /* GT_FATBIN_FLAG_*; 0 for bare images */
	enum gt_fatbin_compression compression;
	const char *name; /* of the source; NULL: none */
	uint32_t name_length;
	const char *options; /* "-O1 -g", of ptxas; NULL: none */
	uint32_t options_length;
	const uint8_t *payload; /* as stored, without padding if that is known */
	size_t payload_size;
	uint64_t size; /* bytes uncompressed, according to the entry */
};

struct gt_fatbin {
	enum gt_fatbin_image image;            /* its type */
	const struct gt_fatbin_entry *entries; /* in their order; a bare image has one */
	size_t entry_count;
};

/* A payload, uncompressed. */
struct gt_fatbin_payload {
	char *data;  /* followed by a NUL, which `size` does not include */
	size_t size; /* of PTX without the NULs at its end */
};

enum gt_fatbin_image gt_fatbin_classify(const void *data, size_t size);

/*
 * Reads an image: one or more containers (8-aligned, padded with zeros), PTX text, or a cubin.
 * Nothing outside of data[0..size) is read; data must outlive *ret_fatbin. 0; -EINVAL: malformed,
 * or another type; -ENOTSUP: a wrapper or an archive; -E2BIG: a limit; -ENOMEM.
 */
int gt_fatbin_open(const void *data, size_t size, struct gt_fatbin **ret_fatbin,
		   struct gt_diag *diag);

/*
 * The same for an image of unknown size in this process's memory, as it is passed to
 * cuModuleLoadData and __cudaRegisterFatBinary; also a wrapper of version 1 or 2, whose pointers
 * are followed. Trusts the image's sizes, as the CUDA driver does: not for untrusted data.
 */
int gt_fatbin_open_image(const void *image, struct gt_fatbin **ret_fatbin, struct gt_diag *diag);

void gt_fatbin_free(struct gt_fatbin *fatbin);
GT_DEFINE_AUTO(fatbin, struct gt_fatbin, gt_fatbin_free)

/* Uncompresses the payload of an entry. 0, -EINVAL (malformed), -E2BIG, -ENOMEM. */
int gt_fatbin_extract(const struct gt_fatbin_entry *entry, struct gt_fatbin_payload *ret_payload,
		      struct gt_diag *diag);
void gt_fatbin_payload_free(struct gt_fatbin_payload *payload);
/*
 * Uncompresses only the first bytes of a payload. Returns their number, at most `size`; 0 if it is
 * malformed, and without memory.
 */
size_t gt_fatbin_extract_start(const struct gt_fatbin_entry *entry, void *start, size_t size);

/*
 * Iterates over the containers: start with *cursor = 0. *ret_container refers to the entries of the
 * fatbin, and is not freed. Of a linked program each part has a container of its own. False: the
 * end. A container without entries is skipped.
 */
bool gt_fatbin_next_container(const struct gt_fatbin *fatbin, size_t *cursor,
			      struct gt_fatbin *ret_container);

/*
 * Selects the PTX for a device as the CUDA driver does: the highest architecture that is not above
 * the device's; one with `a` only for exactly this device, one with `f` only in its family; of
 * equal ones that with `a`, then that with `f`. NULL: none. device: compute capability, 75 for 7.5.
 */
const struct gt_fatbin_entry *gt_fatbin_best_ptx(const struct gt_fatbin *fatbin, uint32_t device);

/*
 * Selects the cubin that a device executes: the highest architecture of its major version that is
 * not above the device's; `a` and `f` as above. NULL: none.
 */
const struct gt_fatbin_entry *gt_fatbin_best_cubin(const struct gt_fatbin *fatbin, uint32_t device);
/*
 * Return whether an entry is of the same kind and for the same target as the best one of its
 * container: it is linked with it.
 */
bool gt_fatbin_is_part(const struct gt_fatbin_entry *entry, const struct gt_fatbin_entry *best);

/*
 * The limit of registers among options of nvcc or ptxas: "-maxrregcount=32", "-maxrregcount 32". 0:
 * none. options may be NULL if length is 0.
 */
uint32_t gt_fatbin_max_registers(const char *options, size_t length);
/* The level of optimization, 0 to 4, among them: "-O1". -1: none. */
int gt_fatbin_optimization(const char *options, size_t length);

/* The source of an entry. */
struct gt_fatbin_source {
	uint16_t kind;
	/* 0: read from .version and .target, for PTX; the flags of the architecture likewise */
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t architecture;
	uint64_t flags;   /* except those of the compression; 0: 64-bit, Linux */
	const char *name; /* or NULL */
	uint32_t name_length;
	const char *options; /* or NULL */
	uint32_t options_length;
	const void *data;
	size_t size;
};

/*
 * Adds a container with these entries to the buffer, each with its compression. 0; -EINVAL: PTX
 * without .version and .target; -E2BIG; -ENOMEM. On failure the buffer is not changed.
 */
int gt_fatbin_write(const struct gt_fatbin_source *sources, size_t count,
		    enum gt_fatbin_compression compression, struct gt_strbuf *buffer,
		    struct gt_diag *diag);

/* Parses "none", "lz4" or "zstd". 0 or -EINVAL. */
int gt_fatbin_compression_parse(const char *text, enum gt_fatbin_compression *ret_compression);

static inline void gt_cleanup_fatbin_payload(struct gt_fatbin_payload *payload)
{
	gt_fatbin_payload_free(payload);
}
#define gt_auto_fatbin_payload                                                                     \
	__attribute__((cleanup(gt_cleanup_fatbin_payload))) struct gt_fatbin_payload
