/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How long the images are that programs pass to the driver. */
#include <elf.h>

#include "agent/agent.h"
#include "agent/protocol.h"
#include "tap.h"

struct fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
	char content[24];
};

static const struct fatbin container = {0xba55ed50, 1, 16, 24, "content"};

TEST("a fatbin states its own size, also behind a wrapper")
{
	const struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, &container, NULL};
	struct gt_agent_image image;

	CHECK(gt_agent_measure(&container, &image));
	CHECK(image.data == &container && image.size == 40);
	CHECK(gt_agent_measure(&wrapper, &image));
	CHECK(image.data == &container && image.size == 40);
}

TEST("the fatbins that a wrapper lists are copied one after the other")
{
	static const struct fatbin second = {0xba55ed50, 1, 16, 3, "end"};
	static const void *const fatbins[] = {&container, &second, NULL}, *const none[] = {NULL};
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 2, NULL, fatbins};
	struct gt_agent_image image;

	CHECK(gt_agent_measure(&wrapper, &image));
	CHECK_INT(image.size, 40 + 24);
	CHECK(!memcmp(image.data, &container, 40));
	CHECK(!memcmp((const char *)image.data + 40, &second, 19));
	gt_agent_release_image(&image);

	wrapper.data = &second;
	CHECK(gt_agent_measure(&wrapper, &image));
	CHECK_INT(image.size, 24 + 40 + 24);
	gt_agent_release_image(&image);

	wrapper.more = none;
	CHECK(gt_agent_measure(&wrapper, &image));
	CHECK_INT(image.size, 24);
	gt_agent_release_image(&image);

	wrapper.data = NULL;
	CHECK(!gt_agent_measure(&wrapper, &image));
	wrapper.more = (const void *[]){"no fatbin, but long enough", NULL};
	CHECK(!gt_agent_measure(&wrapper, &image));
}

TEST("a fatbin that states more than a limit is no image")
{
	struct fatbin large = container;
	struct gt_agent_image image;

	large.size = (uint64_t)GT_AGENT_MAX_IMAGE + 1;
	CHECK(!gt_agent_measure(&large, &image));
	large.size = UINT64_MAX;
	CHECK(!gt_agent_measure(&large, &image));
}

TEST("PTX is text that ends with a NUL, however short it is")
{
	static const char text[] = ".version 8.0\n";
	struct gt_agent_image image;

	CHECK(gt_agent_measure(text, &image) && image.size == strlen(text));
	CHECK(gt_agent_measure("\n", &image) && image.size == 1);
	CHECK(gt_agent_measure("// comment\n.version 8.0", &image));
}

TEST("a cubin ends where its last section or its section headers end")
{
	struct {
		Elf64_Ehdr header;
		char text[32];
		Elf64_Shdr sections[3];
	} cubin = {0};
	struct gt_agent_image image;

	memcpy(cubin.header.e_ident, ELFMAG, SELFMAG);
	cubin.header.e_ident[EI_CLASS] = ELFCLASS64;
	cubin.header.e_machine = 190;
	cubin.header.e_shoff = offsetof(__typeof__(cubin), sections);
	cubin.header.e_shentsize = sizeof(Elf64_Shdr);
	cubin.header.e_shnum = 3;
	cubin.sections[1].sh_type = SHT_PROGBITS;
	cubin.sections[1].sh_offset = offsetof(__typeof__(cubin), text);
	cubin.sections[1].sh_size = sizeof(cubin.text);
	cubin.sections[2].sh_type = SHT_NOBITS;
	cubin.sections[2].sh_offset = 1 << 20;
	cubin.sections[2].sh_size = 1 << 20;
	CHECK(gt_agent_measure(&cubin, &image) && image.size == sizeof(cubin));
	cubin.sections[1].sh_size = sizeof(cubin);
	CHECK(gt_agent_measure(&cubin, &image) &&
	      image.size == offsetof(__typeof__(cubin), text) + sizeof(cubin));
	cubin.sections[1].sh_size = UINT64_MAX;
	CHECK(!gt_agent_measure(&cubin, &image));
	/* The program itself, say: the driver rejects it without a look at its sections. */
	cubin.header.e_machine = EM_X86_64;
	cubin.header.e_shoff = 1 << 29;
	CHECK(!gt_agent_measure(&cubin, &image));
}

TEST("what is no image is none")
{
	static const uint64_t words[8] = {0x1234567812345678};
	struct gt_agent_image image;

	CHECK(!gt_agent_measure(NULL, &image));
	CHECK(!gt_agent_measure(words, &image));
	CHECK(!gt_agent_measure("!<arch>\n", &image));
}

TEST("what PTX is for, which may be one architecture or family alone, is known of its fatbin")
{
	enum { ARCHITECTURE_OFFSET = 44, FLAGS_OFFSET = 56 };
	static const struct {
		uint64_t flags;
		bool is_specific;
	} rows[] = {{0x11, false}, {0x100011, true}, {0x200011, true}};
	unsigned char fatbin[80] = {0};
	struct gt_agent_target target;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(fatbin + FLAGS_OFFSET, &rows[i].flags, sizeof(rows[i].flags));
		fatbin[ARCHITECTURE_OFFSET] = 90;
		target = gt_agent_target_of(fatbin, sizeof(fatbin));
		CHECK(target.is_specific == rows[i].is_specific && target.capability == 90);
	}
	target = gt_agent_target_of(fatbin, FLAGS_OFFSET + 7);
	CHECK(!target.is_specific && !target.capability);
}

TEST_MAIN
