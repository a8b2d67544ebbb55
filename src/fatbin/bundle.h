/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Offload bundles: the code objects of a HIP program for several targets, in its section
 * .hip_fatbin, one bundle after the other. The layout is that of clang's documentation (Clang
 * Offload Bundler), numbers are little-endian:
 *
 *   24 bytes "__CLANG_OFFLOAD_BUNDLE__", u64 number of code objects, then for each
 *   u64 offset from the start of the bundle, u64 size, u64 length of the id, the id
 *
 * An id is <kind>-<architecture>-<vendor>-<system>-<environment>[-<processor>], with an optional
 * environment: "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
 * "hip-spirv64-amd-amdhsa--amdgcnspirv", "hip-spirv64----generic",
 * "host-x86_64-unknown-linux--". Compressed bundles (version 1 has no size of all):
 *
 *   4 bytes "CCOB", u16 version (1 to 3), u16 method (0 zlib, 1 zstd), size of all, size
 *   decompressed (u32 each; u64 in version 3), u64 hash, the compressed bundle
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/strbuf.h"

enum gt_bundle_code {
	GT_BUNDLE_HOST,    /* of the host: without bytes, mostly */
	GT_BUNDLE_MACHINE, /* of the instruction set of a GPU */
	GT_BUNDLE_SPIRV,   /* by its first word */
	GT_BUNDLE_UNKNOWN, /* neither; an id that names SPIR-V, too */
};

/* A code object; pointers point into the caller's memory. */
struct gt_bundle_entry {
	enum gt_bundle_code code;
	const char *id; /* id_length bytes of any value */
	size_t id_length;
	const char *processor; /* the last part of the id, "gfx90a:xnack+"; may be empty */
	size_t processor_length;
	const uint8_t *bytes;
	size_t size;
};

/* The bundles in some bytes. */
struct gt_bundles {
	const uint8_t *bytes;
	size_t size;
	/* Of gt_bundles_next: */
	size_t bundle, next; /* offsets: of the bundle, of the next entry's row */
	uint64_t left;       /* entries of the bundle */
	size_t end;          /* of what the bundle's entries so far refer to */
};

/* 0; -ENOENT: there is no bundle; -EOPNOTSUPP: it is compressed. */
int gt_bundles_open(const void *bytes, size_t size, struct gt_bundles *ret_bundles,
		    struct gt_diag *diag);
/*
 * Adds what the compressed bundles in some bytes hold to `bundles`, which has at most `max` bytes
 * then (below 4 GiB). 0; -EINVAL: one is malformed; -EOPNOTSUPP: one has an unknown version or
 * method; -E2BIG; -ENOMEM.
 */
int gt_bundles_decompress(const void *bytes, size_t size, size_t max, struct gt_strbuf *bundles,
			  struct gt_diag *diag);
/* 1; 0 at the end; -EINVAL: the bundle is malformed. */
int gt_bundles_next(struct gt_bundles *bundles, struct gt_bundle_entry *ret_entry,
		    struct gt_diag *diag);
