// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "fatbin/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <zstd.h>

#include "fixture.h"
#include "toolkit.h"

#define TEXT(target) "//\n.version 7.8\n.target " target "\n.address_size 64\n.entry k() { ret; }\n"

static const char text[] = TEXT("sm_75");

static struct gt_fatbin_source ptx(const char *of)
{
	return (struct gt_fatbin_source){
		.kind = GT_FATBIN_KIND_PTX, .data = of, .size = strlen(of)};
}

/* A container of one PTX text; to be freed. */
static char *make(const char *of, enum gt_fatbin_compression compression, size_t *ret_size)
{
	struct gt_strbuf buffer = GT_STRBUF_INIT;
	struct gt_fatbin_source source = ptx(of);
	struct gt_diag diag = {0};

	if (gt_fatbin_write(&source, 1, compression, &buffer, &diag)) {
		TAP_FAIL("%s", diag.text);
		exit(99);
	}
	*ret_size = buffer.length;
	return gt_strbuf_steal(&buffer);
}

static struct gt_fatbin *open_bytes(const void *data, size_t size)
{
	struct gt_fatbin *fatbin = NULL;
	struct gt_diag diag = {0};

	if (gt_fatbin_open(data, size, &fatbin, &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		exit(99);
	}
	return fatbin;
}

static void check_payload(const struct gt_fatbin_entry *entry, const char *expected)
{
	gt_auto_fatbin_payload payload = {0};
	struct gt_diag diag = {0};

	if (gt_fatbin_extract(entry, &payload, &diag)) {
		TAP_FAIL("%s", diag.text);
		return;
	}
	CHECK_STR(payload.data, expected);
	CHECK_INT(payload.size, strlen(expected));
}

static void check_rejected(const void *data, size_t size, int error, const char *place,
			   const char *message)
{
	struct gt_fatbin *fatbin = NULL;
	struct gt_diag diag = {0};

	CHECK_INT(gt_fatbin_open(data, size, &fatbin, &diag), error);
	CHECK(!fatbin);
	CHECK_STR(diag.stage, "fatbin");
	CHECK_STR(diag.place, place);
	CHECK_STR(diag.text, message);
	gt_fatbin_free(fatbin);
}

TEST("the type of an image is known by its first bytes")
{
	static const struct {
		const char *bytes;
		size_t size;
		enum gt_fatbin_image image;
	} cases[] = {
		{"", 0, GT_FATBIN_IMAGE_UNKNOWN},
		{"\xb1\x43\x62\x46\1\0\0", 8, GT_FATBIN_IMAGE_WRAPPER},
		{"\x50\xed\x55\xba\1\0\x10", 8, GT_FATBIN_IMAGE_FATBIN},
		{"\x7f"
		 "ELF\2\1\1",
		 8, GT_FATBIN_IMAGE_ELF},
		{"!<arch>\n", 8, GT_FATBIN_IMAGE_ARCHIVE},
		{"!<arch>", 7, GT_FATBIN_IMAGE_UNKNOWN},
		{text, sizeof(text), GT_FATBIN_IMAGE_PTX},
		{"\n\n/* x */ // y\n.version", 23, GT_FATBIN_IMAGE_PTX},
		{"/* .version", 11, GT_FATBIN_IMAGE_UNKNOWN},
		{"#include", 8, GT_FATBIN_IMAGE_UNKNOWN},
	};

	for (size_t i = 0; i < gt_countof(cases); i++)
		CHECK_INT(gt_fatbin_classify(cases[i].bytes, cases[i].size), cases[i].image);
}

TEST("what is written is read again, with each compression")
{
	for (int compression = GT_FATBIN_COMPRESSION_NONE;
	     compression <= GT_FATBIN_COMPRESSION_ZSTD; compression++) {
		size_t size;
		gt_autofree char *data = make(text, compression, &size);
		gt_auto(fatbin) struct gt_fatbin *fatbin = open_bytes(data, size);
		const struct gt_fatbin_entry *entry = fatbin->entries;

		CHECK_INT(fatbin->image, GT_FATBIN_IMAGE_FATBIN);
		CHECK_INT(fatbin->entry_count, 1);
		CHECK_INT(entry->kind, GT_FATBIN_KIND_PTX);
		CHECK_INT(entry->compression, compression);
		CHECK_INT(entry->version_major, 7);
		CHECK_INT(entry->version_minor, 8);
		CHECK_INT(entry->architecture, 75);
		CHECK(!entry->name);
		CHECK(!entry->options);
		check_payload(entry, text);
		CHECK_INT(size % 8, 0);
	}
}

TEST("name, options, flags and a cubin's bytes are kept")
{
	const struct gt_fatbin_source sources[] = {
		{.kind = GT_FATBIN_KIND_PTX,
		 .flags = GT_FATBIN_FLAG_64BIT | GT_FATBIN_FLAG_DEBUG | GT_FATBIN_FLAG_LZ4,
		 .architecture = 80,
		 .version_major = 9,
		 .name = "some.cu?",
		 .name_length = 7,
		 .options = "-O1 -maxrregcount=32",
		 .options_length = 20,
		 .data = text,
		 .size = sizeof(text)},
		{.kind = GT_FATBIN_KIND_ELF, .architecture = 90, .data = "\1\0\2\0", .size = 4},
	};
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	const struct gt_fatbin_entry *entries;

	CHECK_INT(gt_fatbin_write(sources, 2, GT_FATBIN_COMPRESSION_ZSTD, &buffer, NULL), 0);
	fatbin = open_bytes(buffer.data, buffer.length);
	entries = fatbin->entries;
	CHECK_INT(fatbin->entry_count, 2);
	CHECK_INT(entries[0].flags,
		  GT_FATBIN_FLAG_64BIT | GT_FATBIN_FLAG_DEBUG | GT_FATBIN_FLAG_ZSTD);
	CHECK_INT(entries[0].architecture, 80);
	CHECK_INT(entries[0].version_major, 9);
	CHECK_INT(entries[0].name_length, 7);
	CHECK(!memcmp(entries[0].name, "some.cu", 8));
	CHECK_INT(entries[0].options_length, 20);
	CHECK(!memcmp(entries[0].options, "-O1 -maxrregcount=32", 21));
	check_payload(&entries[0], text);
	CHECK_INT(entries[1].kind, GT_FATBIN_KIND_ELF);
	CHECK_INT(gt_fatbin_extract(&entries[1], &payload, NULL), 0);
	CHECK_INT(payload.size, 4);
	CHECK(!memcmp(payload.data, "\1\0\2\0", 5));
}

TEST("PTX without .version and .target is not written")
{
	static const char *const texts[] = {"", ".version 7.5", ".version 7.5\n.target debug",
					    ".target sm_75"};

	for (size_t i = 0; i < gt_countof(texts); i++) {
		struct gt_fatbin_source source = ptx(texts[i]);
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_diag diag = {0};

		CHECK_INT(gt_fatbin_write(&source, 1, 0, &buffer, &diag), -EINVAL);
		CHECK_STR(diag.text, "a PTX text does not begin with .version and .target sm_…");
		CHECK_INT(buffer.length, 0);
	}
}

TEST("containers in a row are read as one, zeros between them or not")
{
	size_t first_size, second_size;
	gt_autofree char *first = make(TEXT("sm_75"), GT_FATBIN_COMPRESSION_ZSTD, &first_size);
	gt_autofree char *second = make(TEXT("sm_90a"), GT_FATBIN_COMPRESSION_LZ4, &second_size);

	for (size_t gap = 0; gap <= 16; gap += 8) {
		gt_autofree char *both = calloc(1, first_size + gap + second_size + 8);

		memcpy(both, first, first_size);
		memcpy(both + first_size + gap, second, second_size);
		gt_auto(fatbin) struct gt_fatbin *fatbin =
			open_bytes(both, first_size + gap + second_size + 8);

		CHECK_INT(fatbin->entry_count, 2);
		CHECK_INT(fatbin->entries[1].architecture, 90);
		CHECK(fatbin->entries[1].flags & GT_FATBIN_FLAG_ARCH_A);
		check_payload(&fatbin->entries[1], TEXT("sm_90a"));
	}
}

TEST("PTX text and a cubin are images of one entry")
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8},
			     .e_machine = 190,
			     .e_flags = 0x6005a04};
	gt_auto(fatbin) struct gt_fatbin *bare = open_bytes(text, sizeof(text));
	gt_auto(fatbin) struct gt_fatbin *cubin = open_bytes(&header, sizeof(header));

	CHECK_INT(bare->image, GT_FATBIN_IMAGE_PTX);
	CHECK_INT(bare->entry_count, 1);
	CHECK_INT(bare->entries[0].architecture, 75);
	check_payload(&bare->entries[0], text);
	CHECK_INT(cubin->entries[0].kind, GT_FATBIN_KIND_ELF);
	CHECK_INT(cubin->entries[0].architecture, 90);
	header.e_machine = EM_X86_64;
	check_rejected(&header, sizeof(header), -EINVAL, "offset 0x0",
		       "an ELF file for machine 62, CUDA's is 190");
	check_rejected(&header, 20, -EINVAL, "offset 0x0", "an ELF file of only 20 bytes");
}

struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *const *containers;
};

TEST("the wrappers that programs register lead to their containers")
{
	size_t first_size, second_size;
	gt_autofree char *first = make(TEXT("sm_75"), GT_FATBIN_COMPRESSION_NONE, &first_size);
	gt_autofree char *second = make(TEXT("sm_80"), GT_FATBIN_COMPRESSION_ZSTD, &second_size);
	const void *containers[] = {second, first, NULL};
	struct wrapper old = {0x466243b1, 1, first, NULL};
	struct wrapper relocatable = {0x466243b1, 2, first, containers};
	struct wrapper future = {0x466243b1, 3, first, NULL};
	struct gt_fatbin *fatbin = NULL;
	struct gt_diag diag = {0};

	CHECK_INT(gt_fatbin_open_image(&old, &fatbin, NULL), 0);
	CHECK_INT(fatbin->entry_count, 1);
	check_payload(&fatbin->entries[0], TEXT("sm_75"));
	gt_fatbin_free(fatbin);
	CHECK_INT(gt_fatbin_open_image(&relocatable, &fatbin, NULL), 0);
	CHECK_INT(fatbin->image, GT_FATBIN_IMAGE_WRAPPER);
	CHECK_INT(fatbin->entry_count, 3);
	check_payload(&fatbin->entries[1], TEXT("sm_80"));
	gt_fatbin_free(fatbin);
	CHECK_INT(gt_fatbin_open_image(&future, &fatbin, &diag), -EINVAL);
	CHECK_STR(diag.text, "a fatbin wrapper of version 3, only 1 and 2 are known");
	check_rejected(&old, sizeof(old), -ENOTSUP, "",
		       "a fatbin wrapper: its pointers mean nothing outside of its process");
}

TEST("an image in memory needs no size: container, text or cubin")
{
	size_t size;
	gt_autofree char *container = make(text, GT_FATBIN_COMPRESSION_LZ4, &size);
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr section;
		char bytes[24];
	} cubin = {{.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8},
		    .e_machine = 190,
		    .e_flags = 0x4b00,
		    .e_shoff = sizeof(Elf64_Ehdr),
		    .e_shnum = 1},
		   {.sh_type = SHT_PROGBITS,
		    .sh_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr),
		    .sh_size = 24},
		   ""};
	const void *images[] = {container, text, &cubin};
	const size_t sizes[] = {0, strlen(text), sizeof(cubin)};
	struct gt_fatbin *fatbin = NULL;
	struct gt_diag diag = {0};

	for (size_t i = 0; i < gt_countof(images); i++) {
		CHECK_INT(gt_fatbin_open_image(images[i], &fatbin, NULL), 0);
		CHECK_INT(fatbin->entry_count, 1);
		CHECK_INT(fatbin->entries[0].architecture, 75);
		if (sizes[i])
			CHECK_INT(fatbin->entries[0].size, sizes[i]);
		gt_fatbin_free(fatbin);
	}
	CHECK_INT(gt_fatbin_open_image("garbage", &fatbin, &diag), -EINVAL);
	CHECK_STR(diag.text, "neither a fatbin nor a cubin nor PTX text");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_fatbin_open_image("!<arch>\n", &fatbin, &diag), -ENOTSUP);
	CHECK_STR(diag.text, "an archive of object files: link it first");
}

TEST("the best PTX is the highest that the device can run")
{
	const struct gt_fatbin_source sources[] = {
		{.kind = GT_FATBIN_KIND_ELF, .architecture = 75, .data = "", .size = 0},
		ptx(TEXT("sm_50")),
		ptx(TEXT("sm_75")),
		ptx(TEXT("sm_90a")),
		ptx(TEXT("sm_80")),
		ptx(TEXT("sm_100f")),
	};
	static const struct {
		uint32_t device;
		uint32_t best;
	} cases[] = {{35, 0},  {61, 50},   {75, 75},   {86, 80}, {89, 80},
		     {90, 90}, {100, 100}, {103, 100}, {120, 80}};
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;

	CHECK_INT(gt_fatbin_write(sources, gt_countof(sources), 0, &buffer, NULL), 0);
	fatbin = open_bytes(buffer.data, buffer.length);
	for (size_t i = 0; i < gt_countof(cases); i++) {
		const struct gt_fatbin_entry *best = gt_fatbin_best_ptx(fatbin, cases[i].device);

		CHECK_INT(best ? best->architecture : 0, cases[i].best);
	}
}

TEST("the first bytes of a payload are uncompressed alone, as far as they are there")
{
	char long_text[4096], start[64];

	snprintf(long_text, sizeof(long_text), ".version 8.0 .target sm_75 %4000d", 0);
	for (int i = GT_FATBIN_COMPRESSION_NONE; i <= GT_FATBIN_COMPRESSION_ZSTD; i++) {
		const struct gt_fatbin_source source = {
			.kind = GT_FATBIN_KIND_PTX, .data = long_text, .size = strlen(long_text)};
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
		struct gt_fatbin_entry entry;

		CHECK_INT(gt_fatbin_write(&source, 1, (enum gt_fatbin_compression)i, &buffer, NULL),
			  0);
		fatbin = open_bytes(buffer.data, buffer.length);
		memset(start, 0, sizeof(start));
		CHECK_INT(gt_fatbin_extract_start(fatbin->entries, start, sizeof(start)), 64);
		CHECK(!memcmp(start, long_text, sizeof(start)));
		/* A truncated or malformed one is never read outside. */
		for (size_t size = 0; size < fatbin->entries->payload_size; size += 7) {
			gt_autofree uint8_t *copy = malloc(size + 1);

			entry = *fatbin->entries;
			memcpy(copy, entry.payload, size);
			entry.payload = copy;
			entry.payload_size = size;
			if (i == GT_FATBIN_COMPRESSION_NONE)
				entry.size = size;
			CHECK(gt_fatbin_extract_start(&entry, start, sizeof(start)) <= 64);
		}
	}
}

TEST("containers are read one by one, those without entries are skipped")
{
	static const uint32_t architectures[][2] = {{75, 80}, {0, 0}, {90, 0}};
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct gt_fatbin container;
	size_t cursor = 0;

	for (size_t i = 0; i < gt_countof(architectures); i++) {
		struct gt_fatbin_source sources[2] = {0};
		size_t count = 0;

		for (; count < 2 && architectures[i][count]; count++)
			sources[count] = (struct gt_fatbin_source){
				.kind = GT_FATBIN_KIND_PTX,
				.version_major = 8,
				.architecture = architectures[i][count],
				.data = "x",
				.size = 1,
			};
		CHECK_INT(gt_fatbin_write(sources, count, 0, &buffer, NULL), 0);
	}
	fatbin = open_bytes(buffer.data, buffer.length);
	CHECK(gt_fatbin_next_container(fatbin, &cursor, &container));
	CHECK_INT(container.entry_count, 2);
	CHECK_INT(gt_fatbin_best_ptx(&container, 90)->architecture, 80);
	CHECK(gt_fatbin_next_container(fatbin, &cursor, &container));
	CHECK_INT(container.entry_count, 1);
	CHECK_INT(container.entries->architecture, 90);
	CHECK(!gt_fatbin_next_container(fatbin, &cursor, &container));
}

TEST("of PTX or cubins for one architecture the most specific one is the best, in any order")
{
	enum { A = GT_FATBIN_FLAG_ARCH_A, F = GT_FATBIN_FLAG_ARCH_F };
	static const struct gt_fatbin_entry targets[] = {
		{.architecture = 100, .flags = A},
		{.architecture = 100, .flags = F},
		{.architecture = 100},
		{.architecture = 90},
	};
	static const struct {
		uint32_t device;
		int ptx, cubin; /* index in `targets`; -1: none */
	} cases[] = {{90, 3, 3}, {100, 0, 0}, {103, 1, 1}, {120, 2, -1}};

	for (size_t turn = 0; turn < 4; turn++) {
		struct gt_fatbin_entry entries[8];
		const struct gt_fatbin fatbin = {.entries = entries, .entry_count = 8};

		for (size_t i = 0; i < 8; i++) {
			entries[i] = targets[(i + turn) % 4];
			entries[i].kind = i < 4 ? GT_FATBIN_KIND_ELF : GT_FATBIN_KIND_PTX;
			entries[i].version_minor = (uint16_t)((i + turn) % 4);
		}
		for (size_t i = 0; i < gt_countof(cases); i++) {
			const struct gt_fatbin_entry *found[] = {
				gt_fatbin_best_ptx(&fatbin, cases[i].device),
				gt_fatbin_best_cubin(&fatbin, cases[i].device)};

			CHECK_INT(found[0] ? found[0]->version_minor : -1, cases[i].ptx);
			CHECK_INT(found[1] ? found[1]->version_minor : -1, cases[i].cubin);
		}
	}
}

TEST("a container truncated at any byte is rejected")
{
	size_t size;
	gt_autofree char *data = make(text, GT_FATBIN_COMPRESSION_ZSTD, &size);

	for (size_t length = 0; length < size; length++) {
		gt_autofree char *part = malloc(length + 1);
		struct gt_fatbin *fatbin = NULL;

		memcpy(part, data, length);
		CHECK_INT(gt_fatbin_open(part, length, &fatbin, NULL), -EINVAL);
		gt_fatbin_free(fatbin);
	}
}

/* Changes one integer of a container, which is then rejected. */
static void check_malformed(size_t offset, uint64_t value, size_t bytes, const char *place,
			    const char *message)
{
	size_t size;
	gt_autofree char *data = make(text, GT_FATBIN_COMPRESSION_NONE, &size);

	memcpy(data + offset, &value, bytes);
	check_rejected(data, size, -EINVAL, place, message);
}

TEST("a malformed header is rejected with its offset")
{
	size_t size;
	gt_autofree char *data = make(text, GT_FATBIN_COMPRESSION_NONE, &size);
	char message[128];

	check_malformed(4, 2, 2, "offset 0x0", "a container of version 2, only 1 is known");
	check_malformed(6, 8, 2, "offset 0x0", "a container takes 8 + 152 bytes, 168 are left");
	check_malformed(8, UINT64_MAX, 8, "offset 0x0",
			"a container takes 16 + 18446744073709551615 bytes, 168 are left");
	check_malformed(8, 20, 8, "offset 0x10",
			"an entry is truncated: 20 bytes remain, its header takes 64");
	check_malformed(16 + 4, 63, 4, "offset 0x10", "an entry takes 63 + 72 bytes, 152 are left");
	check_malformed(16 + 8, UINT64_MAX, 8, "offset 0x10",
			"an entry takes 80 + 18446744073709551615 bytes, 152 are left");
	check_malformed(16 + 20, 73, 4, "offset 0x10",
			"the options of an entry are outside of its header");
	check_malformed(16 + 64, UINT64_C(9) << 32 | 72, 8, "offset 0x10",
			"the options of an entry are outside of its header");
	check_malformed(16 + 32, UINT64_C(1) << 32 | 80, 8, "offset 0x10",
			"the name of an entry is outside of its header");
	check_malformed(16 + 40, 0xa011, 8, "offset 0x10",
			"an entry says that it is both LZ4 and zstd");
	snprintf(message, sizeof(message),
		 "no container begins here: 0x%08x in place of 0xba55ed50", 0xba55ed01);
	data[0] = 1;
	gt_autofree char *both = calloc(2, size);
	memcpy(both + size, data, size);
	data[0] = 0x50;
	memcpy(both, data, size);
	check_rejected(both, 2 * size, -EINVAL, "offset 0xa8", message);
	check_rejected("hello", 5, -EINVAL, "", "neither a fatbin nor a cubin nor PTX text");
	check_rejected("!<arch>\n", 8, -ENOTSUP, "", "an archive of object files: link it first");
}

/* An entry whose payload is rejected. */
static void check_not_extracted(const char *payload, size_t payload_size, uint64_t size,
				enum gt_fatbin_compression compression, int error,
				const char *message)
{
	struct gt_fatbin_entry entry = {.kind = GT_FATBIN_KIND_PTX,
					.compression = compression,
					.payload = (const uint8_t *)payload,
					.payload_size = payload_size,
					.size = size};
	struct gt_fatbin_payload result = {0};
	struct gt_diag diag = {0};

	CHECK_INT(gt_fatbin_extract(&entry, &result, &diag), error);
	CHECK(!result.data);
	CHECK_STR(diag.text, message);
}

TEST("compressed bytes beyond the payload are rejected")
{
	size_t size;
	gt_autofree char *data = make(text, GT_FATBIN_COMPRESSION_NONE, &size);
	const uint32_t flags = 0x8011, compressed = 73;

	memcpy(data + 16 + 40, &flags, 4);
	memcpy(data + 16 + 16, &compressed, 4);
	check_rejected(data, size, -EINVAL, "offset 0x10",
		       "an entry has 73 compressed bytes in a payload of 72");
}

TEST("a payload that does not match its entry is rejected")
{
	size_t zeros_size = 1 << 20, bound = ZSTD_compressBound(zeros_size), packed_size;
	gt_autofree char *zeros = calloc(1, zeros_size), *packed = malloc(bound);

	packed_size = ZSTD_compress(packed, bound, zeros, zeros_size, 3);
	check_not_extracted("\xff\xff\xff", 3, 100, GT_FATBIN_COMPRESSION_LZ4, -EINVAL,
			    "an LZ4 payload of 3 bytes is corrupt: not 100 bytes uncompressed");
	check_not_extracted("\x10"
			    "a",
			    2, 2, GT_FATBIN_COMPRESSION_LZ4, -EINVAL,
			    "an LZ4 payload of 2 bytes is corrupt: not 2 bytes uncompressed");
	check_not_extracted("aaaaaaaaaaaaaaaa", 16, 100, GT_FATBIN_COMPRESSION_ZSTD, -EINVAL,
			    "a zstd payload of 16 bytes is corrupt: Unknown frame descriptor");
	check_not_extracted(packed, packed_size, zeros_size + 1, GT_FATBIN_COMPRESSION_ZSTD,
			    -EINVAL, "a zstd payload holds 1048576 bytes, its entry says 1048577");
}

TEST("a payload that is too large is rejected before memory is allocated")
{
	check_not_extracted("x", 1, UINT64_C(1) << 40, GT_FATBIN_COMPRESSION_ZSTD, -E2BIG,
			    "a payload of 1099511627776 bytes, at most 256 MiB are read");
	check_not_extracted("xxxx", 4, 256 << 20, GT_FATBIN_COMPRESSION_LZ4, -EINVAL,
			    "an LZ4 payload of 4 bytes cannot hold 268435456 bytes");
}

static char *first_ptx(const char *path, uint16_t *ret_kinds)
{
	gt_auto_file file = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	const struct gt_fatbin_entry *best;
	struct gt_diag diag = {0};

	if (gt_file_read(path, 1 << 24, &file, &diag) ||
	    gt_fatbin_open(file.data, file.size, &fatbin, &diag)) {
		TAP_FAIL("%s: %s", path, diag.text);
		return NULL;
	}
	for (size_t i = 0; i < fatbin->entry_count; i++)
		*ret_kinds |= (uint16_t)(1 << fatbin->entries[i].kind);
	best = gt_fatbin_best_ptx(fatbin, 75);
	if (!best || gt_fatbin_extract(best, &payload, &diag)) {
		TAP_FAIL("%s: %s", path, diag.text);
		return NULL;
	}
	return gt_take(payload.data);
}

TEST("nvcc's fatbins hold the same PTX, however they are compressed")
{
	static const char *const options[] = {"",
					      "-compress-mode=none",
					      "-compress-mode=size",
					      "-compress-mode=speed",
					      "-compress-mode=balance",
					      "--no-compress"};
	gt_autofree char *expected = NULL;

	NEED_TOOL("nvcc");
	write_text("k.cu", "__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n");
	for (size_t i = 0; i < gt_countof(options); i++) {
		gt_autofree char *found = NULL, *log = NULL;
		uint16_t kinds = 0;

		if (run(&log, TOOLS "nvcc -fatbin -arch=sm_75 %s k.cu -o k.fatbin 2>&1",
			options[i])) {
			TAP_FAIL("%s: %s", options[i], log);
			continue;
		}
		found = first_ptx("k.fatbin", &kinds);
		CHECK_INT(kinds, 1 << GT_FATBIN_KIND_PTX | 1 << GT_FATBIN_KIND_ELF);
		if (!expected)
			expected = gt_take(found);
		else
			CHECK_STR(found, expected);
	}
	CHECK(expected && strstr(expected, ".entry _Z1kPf("));
}

TEST("a limit of registers is found among options, in each form")
{
	static const struct {
		const char *options;
		uint32_t limit;
	} cases[] = {
		{"-maxrregcount=32", 32},
		{" -maxrregcount=24 ", 24},
		{"-O1 -maxrregcount 40 -g", 40},
		{"-maxrregcount40", 40},
		{"-O1 -g", 0},
		{"-maxrregcount", 0},
		{"-maxrregcount=", 0},
		{"-maxrregcount=bad", 0},
		{"", 0},
	};

	for (size_t i = 0; i < gt_countof(cases); i++)
		CHECK_INT(gt_fatbin_max_registers(cases[i].options, strlen(cases[i].options)),
			  cases[i].limit);
	CHECK_INT(gt_fatbin_max_registers("-maxrregcount=321", 16), 32);
	CHECK_INT(gt_fatbin_max_registers(NULL, 0), 0);
}

TEST("a level of optimization is found among options")
{
	static const struct {
		const char *options;
		int level;
	} cases[] = {
		{"-O0", 0},     {" -g -O1 ", 1}, {"-O4 -maxrregcount 40", 4},
		{"-O1 -O2", 2}, {"-O5", -1},     {"-O", -1},
		{"-O12", -1},   {"--O1", -1},    {"-Ofast", -1},
		{"", -1},
	};

	for (size_t i = 0; i < gt_countof(cases); i++)
		CHECK_INT(gt_fatbin_optimization(cases[i].options, strlen(cases[i].options)),
			  cases[i].level);
	CHECK_INT(gt_fatbin_optimization("-O10", 3), 1);
	CHECK_INT(gt_fatbin_optimization(NULL, 0), -1);
}

TEST("nvcc's options for ptxas are found in its fatbins")
{
	gt_auto_file file = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	bool found = false;

	NEED_TOOL("nvcc");
	write_text("k.cu", "__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n");
	CHECK_INT(run(NULL, TOOLS "nvcc -fatbin -lineinfo -maxrregcount=32 k.cu -o k.fatbin"), 0);
	CHECK_INT(gt_file_read("k.fatbin", 1 << 24, &file, NULL), 0);
	fatbin = open_bytes(file.data, file.size);
	for (size_t i = 0; i < fatbin->entry_count; i++) {
		const struct gt_fatbin_entry *entry = &fatbin->entries[i];

		CHECK_INT(entry->name_length, 4);
		CHECK(!memcmp(entry->name, "k.cu", 4));
		if (entry->options)
			found = memmem(entry->options, entry->options_length, "-maxrregcount=32",
				       16) != NULL;
	}
	CHECK(found);
}

TEST("nvlink reads what is written, with each compression")
{
	NEED_TOOL("nvlink");
	for (int compression = GT_FATBIN_COMPRESSION_NONE;
	     compression <= GT_FATBIN_COMPRESSION_ZSTD; compression++) {
		size_t size;
		gt_autofree char *data = make(text, compression, &size), *log = NULL;

		write_file("written.fatbin", data, size);
		if (run(&log, TOOLS "nvlink -arch=sm_75 written.fatbin -o linked.cubin 2>&1"))
			TAP_FAIL("%s", log);
		CHECK_INT(run(NULL, "grep -q '.text.k' linked.cubin"), 0);
	}
}

TEST("mkfatbin writes a container of PTX files")
{
	const char *tool = getenv("MKFATBIN");
	gt_autofree char *log = NULL, *found = NULL;
	uint16_t kinds = 0;

	if (!tool)
		SKIP("MKFATBIN names no program");
	write_text("one.ptx", text);
	write_text("two.ptx", TEXT("sm_90"));
	CHECK_INT(run(&log, "%s --compress lz4 -o out.fatbin two.ptx one.ptx 2>&1", tool), 0);
	CHECK_STR(log, "");
	found = first_ptx("out.fatbin", &kinds);
	CHECK_STR(found, text);
}

static void check_mkfatbin(const char *arguments, int status, const char *message)
{
	gt_autofree char *log = NULL;

	CHECK_INT(WEXITSTATUS(run(&log, "%s %s 2>&1", getenv("MKFATBIN"), arguments)), status);
	CHECK_STR(log, message);
}

TEST("mkfatbin reports errors")
{
	if (!getenv("MKFATBIN"))
		SKIP("MKFATBIN names no program");
	write_text("not.ptx", "hello");
	check_mkfatbin("-o out.fatbin", 2,
		       "usage: mkfatbin [--compress none|lz4|zstd] [--arch 75] -o OUT.fatbin "
		       "IN.ptx…\n");
	check_mkfatbin("-o out.fatbin not.ptx", 1, "mkfatbin: not.ptx: no PTX text\n");
	check_mkfatbin("-o out.fatbin missing.ptx", 1,
		       "mkfatbin: missing.ptx: No such file or directory: check the path\n");
	check_mkfatbin("--compress rar -o out.fatbin not.ptx", 2,
		       "mkfatbin: \"rar\" is no value for --compress\n"
		       "usage: mkfatbin [--compress none|lz4|zstd] [--arch 75] -o OUT.fatbin "
		       "IN.ptx…\n");
}

TEST_MAIN
