/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SHA-256 (FIPS 180-4): names for contents that somebody else chooses. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_sha256 {
	uint8_t bytes[32];
};

/* Compute the digest of data[0..size). */
struct gt_sha256 gt_sha256(const void *data, size_t size);
