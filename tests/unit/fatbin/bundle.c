// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Offload bundles, made up as clang's documentation describes them. */
#include "fatbin/bundle.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "base/clean.h"
#include "base/strbuf.h"
#include "tap.h"

struct bundled {
	const char *id, *bytes;
	size_t size;
};

static void put_word(struct gt_strbuf *bytes, uint64_t word)
{
	gt_strbuf_add(bytes, (const char *)&word, sizeof(word));
}

static void put_bundle(struct gt_strbuf *bytes, const struct bundled *code, size_t count)
{
	uint64_t offset = 32;

	for (size_t i = 0; i < count; i++)
		offset += 24 + strlen(code[i].id);
	gt_strbuf_puts(bytes, "__CLANG_OFFLOAD_BUNDLE__");
	put_word(bytes, count);
	for (size_t i = 0; i < count; i++) {
		put_word(bytes, offset);
		put_word(bytes, code[i].size);
		put_word(bytes, strlen(code[i].id));
		gt_strbuf_puts(bytes, code[i].id);
		offset += code[i].size;
	}
	for (size_t i = 0; i < count; i++)
		gt_strbuf_add(bytes, code[i].bytes, code[i].size);
}

static const struct bundled objects[] = {
	{"host-x86_64-unknown-linux--", "", 0},
	{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "\177ELF", 4},
	{"hip-spirv64-amd-amdhsa--amdgcnspirv", "\3\2\x23\7code", 8},
	{"hip-spirv64----generic", "\7\x23\2\3", 4},
	{"hip-spirv64-amd-amdhsa--amdgcnspirv", "BC\xc0\xde", 4},
};

static void check_entries(struct gt_bundles *bundles)
{
	static const struct {
		enum gt_bundle_code code;
		const char *processor;
	} expected[] = {
		{GT_BUNDLE_HOST, ""},
		{GT_BUNDLE_MACHINE, "gfx90a:xnack+"},
		{GT_BUNDLE_SPIRV, "amdgcnspirv"},
		{GT_BUNDLE_SPIRV, "generic"},
		{GT_BUNDLE_UNKNOWN, "amdgcnspirv"},
	};
	struct gt_bundle_entry entry;

	for (size_t i = 0; i < gt_countof(expected); i++) {
		CHECK_INT(gt_bundles_next(bundles, &entry, NULL), 1);
		CHECK_INT(entry.code, expected[i].code);
		CHECK(entry.processor_length == strlen(expected[i].processor) &&
		      !memcmp(entry.processor, expected[i].processor, entry.processor_length));
		CHECK(entry.size == objects[i].size &&
		      !memcmp(entry.bytes, objects[i].bytes, entry.size));
	}
}

TEST("code objects are known by their ids, and SPIR-V by its first word in both byte orders")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_bundle_entry entry;
	struct gt_bundles bundles;

	put_bundle(&bytes, objects, gt_countof(objects));
	CHECK_INT(gt_bundles_open(bytes.data, bytes.length, &bundles, NULL), 0);
	check_entries(&bundles);
	CHECK_INT(gt_bundles_next(&bundles, &entry, NULL), 0);
}

TEST("bundles follow each other, with bytes between them and code objects that look like one")
{
	const struct bundled confusing = {"hip-amdgcn-amd-amdhsa--gfx900",
					  "__CLANG_OFFLOAD_BUNDLE__\1\0\0\0\0\0\0\0", 32};
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_bundle_entry entry;
	struct gt_bundles bundles;

	put_bundle(&bytes, &confusing, 1);
	gt_strbuf_add(&bytes, "\0\0\0", 3);
	put_bundle(&bytes, objects, gt_countof(objects));
	CHECK_INT(gt_bundles_open(bytes.data, bytes.length, &bundles, NULL), 0);
	CHECK_INT(gt_bundles_next(&bundles, &entry, NULL), 1);
	CHECK_INT(entry.size, 32);
	check_entries(&bundles);
	CHECK_INT(gt_bundles_next(&bundles, &entry, NULL), 0);
}

TEST("other bytes are no bundle, and a compressed one is said to be")
{
	struct gt_bundles bundles;
	struct gt_diag diag = {0};

	CHECK_INT(gt_bundles_open("\177ELF", 4, &bundles, &diag), -ENOENT);
	CHECK_STR(diag.text, "there is no offload bundle");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_bundles_open("CCOB\2", 5, &bundles, &diag), -EOPNOTSUPP);
	CHECK_STR(diag.text, "the offload bundle is compressed");
	CHECK_INT(gt_bundles_open("", 0, &bundles, NULL), -ENOENT);
}

/* ---- compressed bundles ---- */

enum {
	ZLIB,
	ZSTD,
	MAX_SIZE = 1 << 20,
};

static void put_number(struct gt_strbuf *bytes, uint64_t number, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		gt_strbuf_putc(bytes, (char)(number >> 8 * i));
}

/* Add bundled objects, compressed; `size` is that of the header, 0: the right one. */
static void put_compressed(struct gt_strbuf *bytes, unsigned version, unsigned method, size_t size)
{
	unsigned width = version == 3 ? 8 : 4;
	gt_auto_strbuf bundle = GT_STRBUF_INIT;
	char payload[2000];
	uLongf length = sizeof(payload);

	put_bundle(&bundle, objects, gt_countof(objects));
	if (method == ZLIB)
		compress((Bytef *)payload, &length, (Bytef *)bundle.data, bundle.length);
	else
		length = ZSTD_compress(payload, sizeof(payload), bundle.data, bundle.length, 1);
	gt_strbuf_puts(bytes, "CCOB");
	put_number(bytes, version, 2);
	put_number(bytes, method, 2);
	if (version > 1)
		put_number(bytes, 8 + 2 * width + 8 + length, width);
	put_number(bytes, size ? size : bundle.length, width);
	put_number(bytes, 0, 8);
	gt_strbuf_add(bytes, payload, length);
}

TEST("compressed bundles of each version and method follow each other, with bytes between them")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT, plain = GT_STRBUF_INIT;
	struct gt_bundle_entry entry;
	struct gt_bundles bundles;

	for (unsigned version = 1; version <= 3; version++)
		for (unsigned method = ZLIB; method <= ZSTD; method++) {
			put_compressed(&bytes, version, method, 0);
			gt_strbuf_add(&bytes, "\0\0\0", version);
		}
	CHECK_INT(gt_bundles_decompress(bytes.data, bytes.length, MAX_SIZE, &plain, NULL), 0);
	CHECK_INT(gt_bundles_open(plain.data, plain.length, &bundles, NULL), 0);
	for (int i = 0; i < 6; i++)
		check_entries(&bundles);
	CHECK_INT(gt_bundles_next(&bundles, &entry, NULL), 0);
}

TEST("a compressed bundle that ends early, at any byte, is malformed")
{
	for (unsigned i = 0; i < 6; i++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT;

		put_compressed(&bytes, 1 + i / 2, i % 2, 0);
		for (size_t size = 4; size < bytes.length; size++) {
			gt_auto_strbuf plain = GT_STRBUF_INIT;
			gt_autofree uint8_t *copy = malloc(size);
			struct gt_diag diag = {0};

			memcpy(copy, bytes.data, size);
			CHECK_INT(gt_bundles_decompress(copy, size, MAX_SIZE, &plain, &diag),
				  -EINVAL);
			CHECK_STR(diag.text,
				  "the compressed offload bundle at byte 0 is malformed");
			CHECK_INT(plain.length, 0);
		}
	}
}

TEST("a compressed bundle that says to be larger than the bytes there are is malformed")
{
	for (unsigned version = 2; version <= 3; version++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT, plain = GT_STRBUF_INIT;

		put_compressed(&bytes, version, ZSTD, 0);
		bytes.data[9]++;
		CHECK_INT(gt_bundles_decompress(bytes.data, bytes.length, MAX_SIZE, &plain, NULL),
			  -EINVAL);
	}
}

TEST("a compressed bundle whose size, version or method is not supported is rejected by name")
{
	static const struct {
		unsigned version, method;
		size_t size;
		int error;
		const char *text;
	} rows[] = {
		{2, ZLIB, 7, -EINVAL, "the compressed offload bundle at byte 0 is malformed"},
		{3, ZSTD, 9999, -EINVAL, "the compressed offload bundle at byte 0 is malformed"},
		{3, ZSTD, (2 << 20) + 1, -E2BIG,
		 "the offload bundle has 2097153 bytes decompressed, at most 1 MiB are read"},
		{4, ZSTD, 0, -EOPNOTSUPP,
		 "the compressed offload bundle has the unknown version 4"},
		{0, ZSTD, 0, -EOPNOTSUPP,
		 "the compressed offload bundle has the unknown version 0"},
		{2, 2, 0, -EOPNOTSUPP, "the offload bundle is compressed by the unknown method 2"},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT, plain = GT_STRBUF_INIT;
		struct gt_diag diag = {0};

		put_compressed(&bytes, rows[i].version, rows[i].method, rows[i].size);
		CHECK_INT(gt_bundles_decompress(bytes.data, bytes.length, MAX_SIZE, &plain, &diag),
			  rows[i].error);
		CHECK_STR(diag.text, rows[i].text);
	}
}

TEST("a bundle that ends early, at any byte, is malformed or has fewer code objects")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;

	put_bundle(&bytes, objects, gt_countof(objects));
	for (size_t size = 24; size < bytes.length; size++) {
		gt_autofree uint8_t *copy = malloc(size);
		struct gt_bundle_entry entry;
		struct gt_bundles bundles;
		struct gt_diag diag = {0};
		int result;

		memcpy(copy, bytes.data, size);
		result = gt_bundles_open(copy, size, &bundles, &diag);
		while (!result && (result = gt_bundles_next(&bundles, &entry, &diag)) == 1)
			result = 0;
		CHECK_INT(result, -EINVAL);
		CHECK_STR(diag.text, "the offload bundle at byte 0 is malformed");
	}
}

TEST("offsets, sizes and lengths outside of the bytes are malformed, however large")
{
	static const uint64_t large[] = {1000, UINT64_MAX, UINT64_MAX - 31, UINT64_C(1) << 63};

	for (size_t i = 0; i < gt_countof(large); i++)
		for (size_t field = 0; field < 3; field++) {
			gt_auto_strbuf bytes = GT_STRBUF_INIT;
			struct gt_bundle_entry entry;
			struct gt_bundles bundles;

			put_bundle(&bytes, &objects[1], 1);
			memcpy(bytes.data + 32 + 8 * field, &large[i], sizeof(large[i]));
			CHECK_INT(gt_bundles_open(bytes.data, bytes.length, &bundles, NULL), 0);
			CHECK_INT(gt_bundles_next(&bundles, &entry, NULL), -EINVAL);
		}
}

TEST_MAIN
