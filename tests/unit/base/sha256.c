// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Digests, against the examples of FIPS 180-4 and sha256sum. */
#include "base/sha256.h"

#include "fixture.h"

static void check_digest(const char *data, size_t size, const char *expected)
{
	struct gt_sha256 digest = gt_sha256(data, size);
	char text[65];

	for (size_t i = 0; i < sizeof(digest.bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", digest.bytes[i]);
	CHECK_STR(text, expected);
}

TEST("digests are those of the standard's examples")
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest(two, sizeof(two) - 1,
		     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST("digests are those of sha256sum for each length around the blocks")
{
	char data[200];

	if (run(NULL, "command -v sha256sum >/dev/null"))
		SKIP("sha256sum is not installed");
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	for (size_t size = 50; size < 140; size += size == 70 ? 45 : 1) {
		gt_autofree char *expected = NULL;

		write_file("data", data, size);
		CHECK(!run(&expected, "sha256sum <data"));
		expected[64] = 0;
		check_digest(data, size, expected);
	}
}

TEST_MAIN
