/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/sha256.h"

#include <assert.h>
#include <nettle/sha2.h>

static_assert(sizeof(struct gt_sha256) == SHA256_DIGEST_SIZE, "the digest is stored whole");

struct gt_sha256 gt_sha256(const void *data, size_t size)
{
	struct sha256_ctx context;
	struct gt_sha256 digest;

	sha256_init(&context);
	sha256_update(&context, size, data);
	sha256_digest(&context, sizeof(digest.bytes), digest.bytes);
	return digest;
}
