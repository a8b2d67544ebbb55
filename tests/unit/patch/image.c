/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images as they reach the driver: which PTX is patched, and what is loaded in its place. */
#include <errno.h>

#include "base/link_input.h"
#include "base/register_limit.h"
#include "cubin.h"
#include "fatbin/fatbin.h"
#include "fixture.h"
#include "patch/image.h"
#include "patch_probes.h"
#include "ptxas.h"
#include "toolkit.h"

#define KERNEL(sm, name)                                                                           \
	".version 7.8\n.target " sm "\n.address_size 64\n.visible .entry " name "()\n{\n\tret;\n}" \
	"\n"

struct patched_image {
	struct patched_module programs;
	struct gt_patch_image image;
	struct gt_diag diag;
	int error;
};

static void patched_image_clear(struct patched_image *patched)
{
	gt_patch_image_clear(&patched->image);
	patched_clear(&patched->programs);
}
#define auto_patched_image __attribute__((cleanup(patched_image_clear))) struct patched_image

static void patch_data(struct patched_image *patched, const char *section, const void *data,
		       size_t size, uint32_t device)
{
	struct gt_patch_options options = {.object = &object};

	add_probe(&patched->programs, section, NULL);
	options.programs = patched->programs.programs;
	options.program_count = patched->programs.count;
	patched->error =
		gt_patch_image(data, size, device, &options, &patched->image, &patched->diag);
}

static const struct gt_fatbin_source sources[] = {
	{.kind = GT_FATBIN_KIND_ELF, .architecture = 75, .data = "\177ELF no code", .size = 12},
	{.kind = GT_FATBIN_KIND_PTX,
	 .data = KERNEL("sm_75", "turing"),
	 .size = sizeof(KERNEL("sm_75", "turing")) - 1,
	 .options = "-maxrregcount 32",
	 .options_length = 16},
	{.kind = GT_FATBIN_KIND_PTX,
	 .data = KERNEL("sm_90", "hopper"),
	 .size = sizeof(KERNEL("sm_90", "hopper")) - 1},
};

/* The entries of what is loaded in place of an image with these sources. */
static struct gt_fatbin *patch_sources(struct patched_image *patched, const char *section,
				       enum gt_fatbin_compression compression, uint32_t device)
{
	gt_auto_strbuf data = GT_STRBUF_INIT;
	struct gt_fatbin *fatbin = NULL;

	CHECK(!gt_fatbin_write(sources, gt_countof(sources), compression, &data, &patched->diag));
	patch_data(patched, section, data.data, data.length, device);
	CHECK(!patched->error);
	if (patched->image.fatbin.length)
		CHECK(!gt_fatbin_open(patched->image.fatbin.data, patched->image.fatbin.length,
				      &fatbin, NULL));
	return fatbin;
}

TEST("the PTX that the driver would compile is patched, whatever its compression")
{
	for (int i = GT_FATBIN_COMPRESSION_NONE; i <= GT_FATBIN_COMPRESSION_ZSTD; i++) {
		auto_patched_image old = {0}, new = {0};
		gt_auto(fatbin) struct gt_fatbin *for_old = NULL, *for_new = NULL;

		for_old = patch_sources(&old, "gpu/entry/*", (enum gt_fatbin_compression)i, 86);
		for_new = patch_sources(&new, "gpu/entry/*", (enum gt_fatbin_compression)i, 90);
		CHECK(for_old && for_old->entry_count == 1 && for_new && for_new->entry_count == 1);
		if (!for_old || !for_new)
			return;
		CHECK(for_old->entries[0].kind == GT_FATBIN_KIND_PTX);
		CHECK(for_old->entries[0].architecture == 75);
		CHECK(for_new->entries[0].architecture == 90);
		CHECK_STR(old.image.result.kernels.items[0].name, "turing");
		CHECK_STR(new.image.result.kernels.items[0].name, "hopper");
	}
}

TEST("the options of the PTX entry are kept")
{
	auto_patched_image patched = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;

	fatbin = patch_sources(&patched, "gpu/entry/*", GT_FATBIN_COMPRESSION_ZSTD, 75);
	CHECK(fatbin && fatbin->entries[0].options_length == 16);
	if (fatbin && fatbin->entries[0].options_length == 16)
		CHECK(!memcmp(fatbin->entries[0].options, "-maxrregcount 32", 16));
}

TEST("PTX text is patched, too")
{
	static const char text[] = KERNEL("sm_75", "k");
	auto_patched_image patched = {0};

	patch_data(&patched, "gpu/exit/k", text, sizeof(text), 90);
	CHECK(!patched.error && patched.image.result.patched == 1);
	CHECK(patched.image.fatbin.length);
}

/* One kernel of an old architecture, patched for a device. */
static void patch_old(struct patched_image *patched, const char *version, const char *target,
		      uint32_t device)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text,
			 ".version %s\n.target %s\n.address_size 64\n"
			 ".visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %%r<2>;\n"
			 "\t.reg .b64 %%rd<2>;\n\tld.param.u64 %%rd1, [p];\n"
			 "\tatom.add.u32 %%r1, [%%rd1], 1;\n\tret;\n}\n",
			 version, target);
	patch_data(patched, "gpu/atomic/k", text.data, text.length + 1, device);
}

TEST("a module of an architecture before sm_60 is patched as one of sm_60 on a device that has it")
{
	static const struct {
		const char *version, *target, *expected;
	} rows[] = {
		{"4.0", "sm_50", ".version 5.0\n.target sm_60\n"},
		{"4.3", "sm_52, texmode_independent",
		 ".version 5.0\n.target sm_60, texmode_independent\n"},
		{"6.5", "sm_53", ".version 6.5\n.target sm_60\n"},
		{"3.1", "sm_20", ".version 5.0\n.target sm_60\n"},
		{"5.0", "sm_61", ".version 5.0\n.target sm_61\n"},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		auto_patched_image patched = {0};
		const struct gt_strbuf *text = &patched.image.result.text;

		patch_old(&patched, rows[i].version, rows[i].target, 90);
		CHECK_INT(patched.error, 0);
		CHECK_INT(patched.image.result.patched, 1);
		CHECK(!strncmp(gt_strbuf_string(text), rows[i].expected, strlen(rows[i].expected)));
		if (have_tool("ptxas"))
			check_text_with_ptxas(gt_strbuf_string(text));
	}
}

TEST("a module of an architecture before sm_60 stays as it is on such a device")
{
	auto_patched_image patched = {0};

	patch_old(&patched, "8.0", "sm_50", 52);
	CHECK_INT(patched.error, 0);
	CHECK_INT(patched.image.result.patched, 0);
	CHECK_INT(patched.image.result.rejected, 1);
	CHECK(strstr(patched.image.result.rejections.items[0].reason, "invalid GPU sm_50"));
	CHECK(!patched.image.fatbin.length);
}

TEST("an image that no program matches is not parsed and stays as it is")
{
	auto_patched_image patched = {0};

	CHECK(!patch_sources(&patched, "gpu/entry/other", GT_FATBIN_COMPRESSION_LZ4, 90));
	CHECK(!patched.image.module && !patched.image.fatbin.length);
}

TEST("an image without PTX for the device is reported as SASS only")
{
	auto_patched_image patched = {0};
	gt_auto_strbuf data = GT_STRBUF_INIT;

	CHECK(!gt_fatbin_write(sources, 1, GT_FATBIN_COMPRESSION_NONE, &data, NULL));
	patch_data(&patched, "gpu/entry/*", data.data, data.length, 75);
	CHECK(patched.error == -ENODATA);
	CHECK_STR(patched.diag.text, "SASS only: the module has no PTX for sm_75");
}

/* The cubin of two kernels whose PTX is `text`. */
static void patch_cubin_of(struct patched_image *patched, const char *section, const char *text)
{
	static const struct made_kernel kernels[] = {{.name = "k"}, {.name = "l"}};
	const struct made_source source = {.texts = {{".nv_debug_ptx_txt", text}},
					   .tool = "ptxas",
					   .options = "-maxrregcount 40 -arch sm_90 "};
	size_t size;
	gt_autofree char *cubin = make_cubin_with(kernels, 2, 0, &source, &size);

	/* The architecture, in the flags. */
	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	patch_data(patched, section, cubin, size, 90);
}

TEST("the PTX that a cubin carries is patched, with the options of the cubin")
{
	auto_patched_image patched = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;

	patch_cubin_of(&patched, "gpu/entry/k",
		       KERNEL("sm_90", "k") ".visible .entry l()\n{\n\tret;\n}\n");
	CHECK_INT(patched.error, 0);
	CHECK_INT(patched.image.result.patched, 1);
	CHECK(!gt_fatbin_open(patched.image.fatbin.data, patched.image.fatbin.length, &fatbin,
			      NULL));
	if (!fatbin)
		return;
	CHECK_INT(fatbin->entry_count, 1);
	CHECK_INT(fatbin->entries[0].kind, GT_FATBIN_KIND_PTX);
	CHECK_INT(fatbin->entries[0].options_length, strlen("-maxrregcount 40"));
	if (fatbin->entries[0].options_length == strlen("-maxrregcount 40"))
		CHECK(!memcmp(fatbin->entries[0].options, "-maxrregcount 40", 16));
}

TEST("a cubin whose PTX has not all of its kernels stays as it is")
{
	auto_patched_image patched = {0};

	patch_cubin_of(&patched, "gpu/entry/k", KERNEL("sm_90", "k"));
	CHECK_INT(patched.error, -ENODATA);
	CHECK_STR(patched.diag.text, "SASS only: the PTX of kernel l is missing");
	CHECK(!patched.image.fatbin.length);
}

TEST("a cubin whose PTX lacks a variable of another module stays as it is")
{
	auto_patched_image patched = {0};

	patch_cubin_of(&patched, "gpu/entry/k",
		       KERNEL("sm_90", "k") ".visible .entry l()\n{\n\tret;\n}\n"
					    ".extern .shared .b8 launched[];\n"
					    ".extern .global .b32 offset;\n");
	CHECK_INT(patched.error, -ENODATA);
	CHECK_STR(patched.diag.text, "SASS only: the definition of variable offset is missing");
	CHECK(!patched.image.fatbin.length);
}

TEST("a cubin that no program matches stays as it is")
{
	auto_patched_image patched = {0};

	patch_cubin_of(&patched, "gpu/entry/other", KERNEL("sm_90", "k"));
	CHECK_INT(patched.error, 0);
	CHECK(!patched.image.module && !patched.image.fatbin.length);
}

TEST("a cubin for another architecture than the device's stays as it is")
{
	static const struct made_kernel kernel = {.name = "k"};
	const struct made_source source = {.texts = {{".nv_debug_ptx_txt", KERNEL("sm_75", "k")}}};
	size_t size;
	gt_autofree char *cubin = make_cubin_with(&kernel, 1, 0, &source, &size);
	auto_patched_image other = {0}, newer = {0};

	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 75;
	patch_data(&other, "gpu/entry/k", cubin, size, 86);
	CHECK_INT(other.error, -ENODATA);
	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 80;
	patch_data(&newer, "gpu/entry/k", cubin, size, 86);
	CHECK_INT(newer.error, 0);
}

/* The inputs of the link, which are `count`. */
static void read_inputs(const struct patched_image *patched, struct gt_link_input *inputs,
			size_t count)
{
	const char *at = patched->image.inputs.data, *end = at + patched->image.inputs.length;

	for (size_t i = 0; i < count; i++)
		if (!gt_link_next(&at, end, &inputs[i])) {
			TAP_FAIL("the link has %zu inputs, not %zu", i, count);
			inputs[i] = (struct gt_link_input){.data = ""};
		}
	CHECK(at == end);
}

#define STATE_KERNEL(sm, name)                                                                     \
	".version 7.8\n.target " sm "\n.address_size 64\n.global .u32 state;\n.visible "           \
	".entry " name "()\n{\n\tst.global.u32 [state], 1;\n\tret;\n}\n"

/* A cubin with kernels k and l that was linked from two modules; what is loaded in its place. */
static void patch_linked(struct patched_image *patched, const char *section, const char *first,
			 const char *second)
{
	static const struct made_kernel kernels[] = {{.name = "k"}, {.name = "l"}};
	const struct made_source source = {
		.texts = {{".nv_debug_ptx_txt.1", first}, {".nv_debug_ptx_txt.2", second}},
		.tool = "ptxas",
		.options = "-maxrregcount 40 "};
	size_t size;
	gt_autofree char *cubin = make_cubin_with(kernels, 2, 0, &source, &size);

	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	patch_data(patched, section, cubin, size, 90);
	CHECK_INT(patched->error, 0);
}

TEST("the modules that a cubin was linked from are patched, and the others are kept")
{
	auto_patched_image both = {0}, second = {0}, none = {0};
	struct gt_link_input inputs[2];

	patch_linked(&both, "gpu/entry/*", KERNEL("sm_90", "k"), KERNEL("sm_90", "l"));
	CHECK_INT(both.image.result.scope, GT_PATCH_WHOLE);
	CHECK_STR(both.image.result.whole_reason, "every kernel matches");
	CHECK_INT(both.image.result.patched, 2);
	CHECK_INT(both.image.result.kernels.count, 2);
	CHECK_INT(both.image.result.kernels.items[1].number, 1);
	CHECK_INT(both.image.result.sites.items[1].number, 1);
	CHECK(!both.image.fatbin.length);
	read_inputs(&both, inputs, 2);
	CHECK_INT(inputs[0].max_registers, 40);
	CHECK_INT(inputs[1].max_registers, 40);

	patch_linked(&second, "gpu/entry/l", KERNEL("sm_90", "k"), STATE_KERNEL("sm_90", "l"));
	CHECK_INT(second.image.result.scope, GT_PATCH_WHOLE);
	CHECK_INT(second.image.result.patched, 1);
	CHECK_INT(second.image.result.compiled, 2);
	read_inputs(&second, inputs, 2);
	CHECK_STR(inputs[0].data, KERNEL("sm_90", "k"));
	CHECK(strstr(inputs[1].data, ".entry l"));

	patch_linked(&none, "gpu/entry/other", KERNEL("sm_90", "k"), KERNEL("sm_90", "l"));
	CHECK(!none.image.inputs.length && !none.image.fatbin.length);
}

/* The kernel k calls a function of the other module. */
static void patch_calling(struct patched_image *patched, const char *section)
{
	patch_linked(patched, section,
		     ".version 7.8\n.target sm_90\n.address_size 64\n.extern .func f();\n"
		     ".visible .entry k()\n{\n\tcall f;\n\tret;\n}\n",
		     KERNEL("sm_90", "l") ".visible .func f()\n{\n\tret;\n}\n");
	CHECK_INT(patched->image.result.scope, GT_PATCH_SIDE);
	CHECK_INT(patched->image.result.compiled, 1);
	CHECK_INT(patched->image.result.module_kernels, 2);
}

TEST("a side module of one module is loaded as it is, with its options; of several it is linked")
{
	auto_patched_image one = {0}, several = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct gt_link_input inputs[2];

	patch_calling(&one, "gpu/entry/l");
	CHECK(!one.image.inputs.length);
	CHECK_INT(gt_fatbin_open(one.image.fatbin.data, one.image.fatbin.length, &fatbin, NULL), 0);
	if (fatbin) {
		CHECK_INT(fatbin->entry_count, 1);
		CHECK_INT(gt_fatbin_max_registers(fatbin->entries[0].options,
						  fatbin->entries[0].options_length),
			  40);
	}
	patch_calling(&several, "gpu/entry/k");
	CHECK(!several.image.fatbin.length);
	read_inputs(&several, inputs, 2);
	CHECK_INT(inputs[0].max_registers, 40);
	CHECK(strstr(inputs[0].data, ".entry k") && strstr(inputs[1].data, ".func f"));
	CHECK(!strstr(inputs[1].data, ".entry l"));
}

TEST("several PTX entries for one architecture are linked")
{
	static const struct gt_fatbin_source parts[] = {
		{.kind = GT_FATBIN_KIND_PTX,
		 .data = KERNEL("sm_75", "k"),
		 .size = sizeof(KERNEL("sm_75", "k")) - 1},
		{.kind = GT_FATBIN_KIND_PTX,
		 .data = STATE_KERNEL("sm_75", "l"),
		 .size = sizeof(STATE_KERNEL("sm_75", "l")) - 1},
	};
	auto_patched_image patched = {0};
	gt_auto_strbuf data = GT_STRBUF_INIT;

	CHECK(!gt_fatbin_write(parts, 2, GT_FATBIN_COMPRESSION_LZ4, &data, NULL));
	patch_data(&patched, "gpu/entry/l", data.data, data.length, 90);
	CHECK_INT(patched.error, 0);
	CHECK_INT(patched.image.parts.count, 2);
	CHECK_INT(patched.image.result.patched, 1);
	CHECK(patched.image.inputs.length);
}

/* A cubin for sm_90; is_linked: not to be linked with others. */
static char *make_object(const struct made_kernel *kernel, bool is_linked,
			 const struct made_source *source, size_t *ret_size)
{
	char *cubin = make_cubin_with(kernel, 1, 0, source, ret_size);
	const Elf64_Half type = is_linked ? ET_EXEC : ET_REL;

	memcpy(cubin + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	return cubin;
}

/* Add a container with a cubin and, if it is not NULL, PTX. */
static void add_container(struct gt_strbuf *data, const char *cubin, size_t size, const char *text)
{
	const struct gt_fatbin_source entries[] = {
		{.kind = GT_FATBIN_KIND_ELF, .architecture = 90, .data = cubin, .size = size},
		{.kind = GT_FATBIN_KIND_PTX, .data = text, .size = text ? strlen(text) : 0},
	};

	CHECK_INT(gt_fatbin_write(entries, text ? 2 : 1, GT_FATBIN_COMPRESSION_ZSTD, data, NULL),
		  0);
}

/*
 * A program of two parts: a kernel with PTX, and functions with machine code alone, as the device
 * runtime has them. The first container has the result of the link.
 */
static void patch_with_runtime(struct patched_image *patched, const char *section,
			       const char *runtime_text)
{
	static const struct made_source none;
	gt_auto_strbuf data = GT_STRBUF_INIT;
	size_t linked_size, part_size, runtime_size;
	gt_autofree char *linked = make_object(
		&(struct made_kernel){.name = "whole", .is_device = 1}, true, &none, &linked_size);
	gt_autofree char *part = make_object(&(struct made_kernel){.name = "part", .is_device = 1},
					     false, &none, &part_size);
	gt_autofree char *runtime =
		make_object(&(struct made_kernel){.name = "runtime", .is_device = 1}, false, &none,
			    &runtime_size);

	add_container(&data, linked, linked_size, NULL);
	add_container(&data, part, part_size, KERNEL("sm_75", "k"));
	add_container(&data, runtime, runtime_size, runtime_text);
	patch_data(patched, section, data.data, data.length, 90);
	CHECK_INT(patched->error, 0);
}

TEST("a part with machine code alone, such as the device runtime, is linked with the patched PTX")
{
	auto_patched_image patched = {0}, none = {0};
	static const struct made_source source;
	struct gt_link_input inputs[2];
	size_t size;
	gt_autofree char *runtime = make_object(
		&(struct made_kernel){.name = "runtime", .is_device = 1}, false, &source, &size);

	patch_with_runtime(&patched, "gpu/entry/k", NULL);
	CHECK_INT(patched.image.result.scope, GT_PATCH_WHOLE);
	CHECK_INT(patched.image.result.patched, 1);
	CHECK(!patched.image.fatbin.length);
	read_inputs(&patched, inputs, 2);
	CHECK_INT(inputs[0].kind, GT_LINK_PTX);
	CHECK(strstr(inputs[0].data, ".entry k"));
	CHECK_INT(inputs[1].kind, GT_LINK_CUBIN);
	CHECK_INT(inputs[1].size, size);
	CHECK(inputs[1].size == size && !memcmp(inputs[1].data, runtime, size));

	patch_with_runtime(&none, "gpu/entry/other", NULL);
	CHECK(!none.image.inputs.length && !none.image.fatbin.length);
}

TEST("a program of which a part cannot be linked for the device is not replaced")
{
	static const struct made_source none;
	const struct gt_fatbin_source newer = {.kind = GT_FATBIN_KIND_PTX,
					       .architecture = 120,
					       .data = KERNEL("sm_120", "second"),
					       .size = strlen(KERNEL("sm_120", "second"))};
	size_t linked_size, part_size;
	gt_autofree char *linked = make_object(
		&(struct made_kernel){.name = "whole", .is_device = 1}, true, &none, &linked_size);
	gt_autofree char *part = make_object(&(struct made_kernel){.name = "part", .is_device = 1},
					     false, &none, &part_size);

	for (unsigned is_linked = 0; is_linked < 2; is_linked++) {
		gt_auto_strbuf data = GT_STRBUF_INIT;
		auto_patched_image patched = {0};

		if (is_linked)
			add_container(&data, linked, linked_size, NULL);
		add_container(&data, part, part_size, KERNEL("sm_75", "k"));
		CHECK_INT(gt_fatbin_write(&newer, 1, GT_FATBIN_COMPRESSION_NONE, &data, NULL), 0);
		patch_data(&patched, "gpu/entry/k", data.data, data.length, 90);
		CHECK_INT(patched.error, is_linked ? -ENODATA : 0);
		if (is_linked)
			CHECK_STR(patched.diag.text,
				  "SASS only: a part of the module has no PTX for sm_90");
	}
}

TEST("a linked cubin that carries all PTX is replaced, whatever its parts are")
{
	static const struct made_kernel kernel = {.name = "k"};
	const struct made_source source = {.texts = {{".nv_debug_ptx_txt", KERNEL("sm_90", "k")}}};
	const struct gt_fatbin_source newer = {.kind = GT_FATBIN_KIND_PTX,
					       .architecture = 120,
					       .data = KERNEL("sm_120", "k"),
					       .size = strlen(KERNEL("sm_120", "k"))};
	gt_auto_strbuf data = GT_STRBUF_INIT;
	auto_patched_image patched = {0};
	size_t size;
	gt_autofree char *linked = make_object(&kernel, true, &source, &size);

	add_container(&data, linked, size, NULL);
	CHECK_INT(gt_fatbin_write(&newer, 1, GT_FATBIN_COMPRESSION_NONE, &data, NULL), 0);
	patch_data(&patched, "gpu/entry/k", data.data, data.length, 90);
	CHECK_INT(patched.error, 0);
	CHECK_INT(patched.image.result.scope, GT_PATCH_WHOLE);
	CHECK_INT(patched.image.result.patched, 1);
}

/* A program of two parts: k has a limit of registers, l a level of optimization. */
static void patch_with_options(struct patched_image *patched, const char *section)
{
	static const struct {
		const char *text, *options;
	} parts[] = {
		{KERNEL("sm_75", "k"), "-maxrregcount=32"},
		{KERNEL("sm_75", "l") ".visible .entry m()\n{\n\tret;\n}\n", "-O0"},
	};
	gt_auto_strbuf data = GT_STRBUF_INIT;

	for (size_t i = 0; i < gt_countof(parts); i++) {
		const struct gt_fatbin_source entry = {
			.kind = GT_FATBIN_KIND_PTX,
			.data = parts[i].text,
			.size = strlen(parts[i].text),
			.options = parts[i].options,
			.options_length = (uint32_t)strlen(parts[i].options),
		};

		CHECK_INT(gt_fatbin_write(&entry, 1, GT_FATBIN_COMPRESSION_NONE, &data, NULL), 0);
	}
	patch_data(patched, section, data.data, data.length, 90);
	CHECK_INT(patched->error, 0);
}

TEST("each part of a linked program is compiled with its own options")
{
	auto_patched_image whole = {0}, side = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct gt_link_input inputs[2];

	patch_with_options(&whole, "gpu/entry/*");
	read_inputs(&whole, inputs, 2);
	CHECK_INT(inputs[0].max_registers, 32);
	CHECK_INT(inputs[0].optimization, 0);
	CHECK_INT(inputs[1].max_registers, 0);
	CHECK_INT(inputs[1].optimization, 1);

	patch_with_options(&side, "gpu/entry/l");
	CHECK_INT(side.image.result.scope, GT_PATCH_SIDE);
	CHECK_INT(gt_fatbin_open(side.image.fatbin.data, side.image.fatbin.length, &fatbin, NULL),
		  0);
	if (fatbin && fatbin->entry_count == 1 && fatbin->entries[0].options_length == 3)
		CHECK(!memcmp(fatbin->entries[0].options, "-O0", 3));
	else
		TAP_FAIL("the side module has other options");
}

/* A program of a kernel k with PTX, and of another with machine code alone. */
static void patch_with_code(struct patched_image *patched, const char *section, const char *kernel)
{
	static const struct made_source none;
	gt_auto_strbuf data = GT_STRBUF_INIT;
	size_t size;
	gt_autofree char *code =
		make_object(&(struct made_kernel){.name = kernel}, false, &none, &size);

	add_container(&data, code, size, KERNEL("sm_75", "k"));
	add_container(&data, code, size, NULL);
	patch_data(patched, section, data.data, data.length, 90);
	CHECK_INT(patched->error, 0);
	CHECK_INT(patched->image.result.found,
		  patched->image.result.patched + patched->image.result.rejected);
}

TEST("a kernel of a linked part with machine code alone is found and rejected as SASS only")
{
	auto_patched_image both = {0}, alone = {0}, other = {0}, function = {0};
	const struct gt_patch_rejection *rejection;

	patch_with_code(&both, "gpu/entry/*", "_Z4codePf");
	CHECK_INT(both.image.result.scope, GT_PATCH_WHOLE);
	CHECK_INT(both.image.result.patched, 1);
	CHECK_INT(both.image.result.rejected, 1);
	CHECK_INT(both.image.result.rejections.count, 1);
	rejection = both.image.result.rejections.items;
	CHECK_STR(rejection->function, "_Z4codePf");
	CHECK_STR(rejection->reason, "SASS only: the linked part has no PTX for sm_90");
	CHECK_INT(rejection->sites, 1);

	/* By its demangled name, and though no kernel with PTX matches. */
	patch_with_code(&alone, "gpu/entry/code(*", "_Z4codePf");
	CHECK_INT(alone.image.result.scope, GT_PATCH_NONE);
	CHECK_INT(alone.image.result.rejected, 1);
	CHECK(!alone.image.inputs.length && !alone.image.fatbin.length);

	patch_with_code(&other, "gpu/entry/k", "_Z4codePf");
	CHECK_INT(other.image.result.patched, 1);
	CHECK_INT(other.image.result.rejections.count, 0);
	/* Programs at device functions are for no kernel. */
	patch_with_code(&function, "gpu/call/code*", "_Z4codePf");
	CHECK_INT(function.image.result.found, 0);
}

TEST("the device runtime's own kernels are not among those of a linked program")
{
	auto_patched_image runtime = {0}, user = {0};

	patch_with_code(&runtime, "gpu/entry/*",
			"__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245__"
			"Z16memset_3d_deviceIjLi0ELi0ELi0EEv12MemsetParamsIT_E");
	CHECK_INT(runtime.image.result.patched, 1);
	CHECK_INT(runtime.image.result.rejected, 0);
	patch_with_code(&user, "gpu/entry/*",
			"__nv_static_40__f4510a67_10_my_file_cu_3ecce0c0_2317245__Z4codePf");
	CHECK_INT(user.image.result.rejected, 1);
}

TEST("each part of a linked program has PTX for the best architecture of its own")
{
	auto_patched_image patched = {0};
	struct gt_link_input inputs[2];

	patch_with_runtime(&patched, "gpu/entry/*", KERNEL("sm_90", "runtime"));
	read_inputs(&patched, inputs, 2);
	CHECK(strstr(inputs[0].data, ".target sm_75"));
	CHECK(strstr(inputs[1].data, ".target sm_90") && strstr(inputs[1].data, ".entry runtime"));
}

TEST("a part whose PTX the linked cubin carries is not linked twice; others may lack PTX")
{
	static const struct made_kernel kernels[] = {{.name = "k"}, {.name = "of_other"}};
	const struct made_source source = {
		.texts = {{".nv_debug_ptx_txt.1", KERNEL("sm_90", "k")}}};
	auto_patched_image patched = {0};
	gt_auto_strbuf data = GT_STRBUF_INIT;
	struct gt_link_input inputs[2];
	size_t sizes[3];
	gt_autofree char *linked = make_cubin_with(kernels, 2, 0, &source, &sizes[0]);
	gt_autofree char *part = make_object(&kernels[0], false, &source, &sizes[1]);
	gt_autofree char *other =
		make_object(&kernels[1], false, &(struct made_source){0}, &sizes[2]);

	add_container(&data, linked, sizes[0], NULL);
	add_container(&data, part, sizes[1], NULL);
	add_container(&data, other, sizes[2], NULL);
	patch_data(&patched, "gpu/entry/k", data.data, data.length, 90);
	CHECK_INT(patched.error, 0);
	read_inputs(&patched, inputs, 2);
	CHECK_INT(inputs[0].kind, GT_LINK_PTX);
	CHECK_INT(inputs[1].kind, GT_LINK_CUBIN);
	CHECK_INT(inputs[1].size, sizes[2]);
}

TEST("PTX of all parts of a linked program has a limit, however small it is when compressed")
{
	enum { PART = 16 << 20, PARTS = (256 << 20) / PART };
	static const char kernel[] = KERNEL("sm_75", "k");
	gt_autofree char *text = malloc(PART);
	const struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX, .architecture = 75, .data = text, .size = PART};
	gt_auto_strbuf part = GT_STRBUF_INIT, all = GT_STRBUF_INIT;
	auto_patched_image patched = {0};

	if (!text)
		SKIP("out of memory");
	memset(text, ' ', PART);
	memcpy(text, kernel, sizeof(kernel) - 1);
	CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_ZSTD, &part, NULL), 0);
	for (size_t i = 0; i <= PARTS; i++)
		gt_strbuf_add(&all, part.data, part.length);
	patch_data(&patched, "gpu/entry/k", all.data, all.length, 90);
	CHECK_INT(patched.error, -E2BIG);
	CHECK_STR(patched.diag.text, "the module is linked from more than 256 MiB of PTX");
}

typedef int find_ptx(void *context, const void *cubin, size_t size, struct gt_cubin_ptx *ptx);

/* The texts of any cubin, as if they had been recorded. */
static int find_text(void *context, const void *cubin, size_t size, struct gt_cubin_ptx *ptx)
{
	const char *text = context;

	return text ? gt_cubin_texts_add(&ptx->texts, text, strlen(text)) : -ENODATA;
}

static void patch_recovered(struct patched_image *patched, const char *section, find_ptx *find,
			    const char *text, bool always)
{
	static const struct made_kernel kernel = {.name = "k"};
	const struct gt_patch_recovery recovery = {
		.find = find, .context = (void *)text, .always = always};
	struct gt_patch_options options = {.object = &object, .recovery = &recovery};
	size_t size;
	gt_autofree char *cubin = make_cubin(&kernel, 1, 0, &size);

	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	add_probe(&patched->programs, section, NULL);
	options.programs = patched->programs.programs;
	options.program_count = patched->programs.count;
	patched->error = gt_patch_image(cubin, size, 90, &options, &patched->image, &patched->diag);
}

TEST("the PTX that is known of a cubin is patched; without a match it is loaded on demand")
{
	auto_patched_image patched = {0}, unknown = {0}, other = {0}, always = {0};

	patch_recovered(&patched, "gpu/entry/k", find_text, KERNEL("sm_90", "k"), false);
	CHECK_INT(patched.error, 0);
	CHECK_INT(patched.image.result.patched, 1);
	patch_recovered(&unknown, "gpu/entry/k", find_text, NULL, true);
	CHECK_INT(unknown.error, -ENODATA);
	patch_recovered(&other, "gpu/entry/other", find_text, KERNEL("sm_90", "k"), false);
	CHECK(!other.error && !other.image.fatbin.length);
	patch_recovered(&always, "gpu/entry/other", find_text, KERNEL("sm_90", "k"), true);
	CHECK(!always.error && always.image.fatbin.length);
	CHECK_INT(always.image.result.scope, GT_PATCH_NONE);
}

/* The context: the text of a cubin that was linked with an archive. */
static int find_with_archive(void *context, const void *cubin, size_t size,
			     struct gt_cubin_ptx *ptx)
{
	const char *text = context;

	CHECK_INT(gt_cubin_texts_add(&ptx->texts, text, strlen(text)), 0);
	return gt_cubin_texts_add(&ptx->archives, "!<arch>\n", 8);
}

TEST("an archive is linked with PTX that uses a function or variable it does not have")
{
	static const char *const texts[] = {
		KERNEL("sm_90", "k") ".func other()\n{\n\tret;\n}\n",
		KERNEL("sm_90", "k") ".extern .func (.param .b32 r) vprintf(.param .b64 f);\n",
		KERNEL("sm_90", "k") ".extern .shared .b8 launched[];\n",
		KERNEL("sm_90", "k") ".extern .func other();\n",
		KERNEL("sm_90", "k") ".extern .global .b32 offset;\n",
	};

	for (size_t i = 0; i < gt_countof(texts); i++) {
		auto_patched_image patched = {0};
		struct gt_link_input inputs[2];

		patch_recovered(&patched, "gpu/entry/k", find_with_archive, texts[i], false);
		CHECK_INT(patched.error, 0);
		CHECK_INT(patched.image.result.patched, 1);
		CHECK_INT(patched.image.fatbin.length != 0, i < 3);
		if (i < 3)
			continue;
		read_inputs(&patched, inputs, 2);
		CHECK_INT(inputs[1].kind, GT_LINK_ARCHIVE);
		CHECK(inputs[1].size == 8 && !memcmp(inputs[1].data, "!<arch>\n", 8));
	}
}

TEST("the PTX that is known of a cubin is preferred to what the cubin carries")
{
	static const struct made_kernel kernel = {.name = "k"};
	const struct made_source source = {.texts = {{".nv_debug_ptx_txt", KERNEL("sm_90", "k")}}};
	const struct gt_patch_recovery recovery = {
		.find = find_text, .context = (void *)("\n\n" KERNEL("sm_90", "k"))};
	struct gt_patch_options options = {.object = &object, .recovery = &recovery};
	auto_patched_image patched = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin_with(&kernel, 1, 0, &source, &size);

	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	add_probe(&patched.programs, "gpu/exit/k", NULL);
	options.programs = patched.programs.programs;
	options.program_count = patched.programs.count;
	CHECK_INT(gt_patch_image(cubin, size, 90, &options, &patched.image, &patched.diag), 0);
	CHECK(patched.image.result.sites.count == 1);
	if (patched.image.result.sites.count)
		CHECK_INT(patched.image.result.sites.items[0].line, 8);
}

/* Patch the PTX in a cubin that nvcc made, and assemble what is loaded in its place. */
static void check_compiled(const char *options)
{
	auto_patched_image patched = {0};
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	gt_auto_file file = {0};

	if (run(NULL, TOOLS "nvcc -arch=sm_90 %s -cubin -o k.cubin k.cu", options) ||
	    gt_file_read("k.cubin", 1 << 20, &file, NULL)) {
		TAP_FAIL("nvcc %s", options);
		return;
	}
	patch_data(&patched, "gpu/memory/*", file.data, file.size, 90);
	CHECK_INT(patched.error, 0);
	CHECK(patched.image.result.patched >= 4);
	if (gt_fatbin_open(patched.image.fatbin.data, patched.image.fatbin.length, &fatbin, NULL) ||
	    gt_fatbin_extract(&fatbin->entries[0], &payload, NULL)) {
		TAP_FAIL("%s: nothing was patched", options);
		return;
	}
	write_file("k.ptx", payload.data, payload.size);
	CHECK(!run(NULL, TOOLS "ptxas -arch=sm_90 %.*s -o out.cubin k.ptx",
		   (int)fatbin->entries[0].options_length, fatbin->entries[0].options));
}

TEST("ptxas accepts the patched PTX of cubins that nvcc made, and their options")
{
	static const char source[] =
		"__constant__ float table[16];\n"
		"__device__ __forceinline__ float f(float x) { return x * x + 1; }\n"
		"__device__ __noinline__ float g(float x) { return f(x) * 3; }\n"
		"__global__ void k(float *a, int n) {\n"
		"	__shared__ float s[64];\n"
		"	int i = threadIdx.x;\n"
		"	s[i % 64] = f(a[i]);\n"
		"	__syncthreads();\n"
		"	if (i < n) a[i] = g(s[i % 7]) + table[i % 16];\n"
		"}\n";

	NEED_TOOL("nvcc");
	write_file("k.cu", source, strlen(source));
	check_compiled("-lineinfo");
	check_compiled("-lineinfo -maxrregcount 40 -Xptxas -O1,-dlcm=cg");
	check_compiled("-G");
}

/* A kernel that needs a register for each of 64 values, with a limit of its own. */
static void write_values_kernel(struct gt_strbuf *text)
{
	enum { VALUES = 64 };

	gt_strbuf_puts(text, ".version 7.8\n.target sm_90\n.address_size 64\n"
			     ".visible .entry k(.param .u64 p)\n.maxnreg 128\n{\n"
			     "\t.reg .b64 %a;\n\t.reg .b32 %v<64>;\n\tld.param.u64 %a, [p];\n");
	for (unsigned i = 0; i < VALUES; i++)
		gt_strbuf_printf(text, "\tld.volatile.global.u32 %%v%u, [%%a+%u];\n", i, 4 * i);
	for (unsigned i = 0; i < VALUES; i++)
		gt_strbuf_printf(text, "\tst.volatile.global.u32 [%%a+%u], %%v%u;\n", 4 * i, i);
	gt_strbuf_puts(text, "\tret;\n}\n");
}

/* The registers that ptxas gives the patched kernel. */
static int compiled_registers(const char *text)
{
	gt_autofree char *output = NULL;
	const char *used;

	write_file("k.ptx", text, strlen(text));
	if (run(&output, TOOLS "ptxas -arch=sm_90 -v -maxrregcount=160 -o k.cubin k.ptx 2>&1")) {
		TAP_FAIL("ptxas: %s", output);
		return 0;
	}
	used = strstr(output, "Used ");
	return used ? atoi(used + strlen("Used ")) : 0;
}

TEST("ptxas takes the limit of registers that is written into a patched kernel")
{
	char limit[GT_REGISTER_COMMENT_LENGTH + 1], *text, *at;
	gt_auto_strbuf original = GT_STRBUF_INIT;
	auto_patched_image patched = {0};

	NEED_TOOL("ptxas");
	write_values_kernel(&original);
	patch_data(&patched, "gpu/entry/k", original.data, original.length + 1, 90);
	CHECK_INT(patched.error, 0);
	text = (char *)gt_strbuf_string(&patched.image.result.text);
	CHECK(compiled_registers(text) > 64);
	at = strstr(text, GT_REGISTER_COMMENT);
	CHECK(at);
	if (!at)
		return;
	snprintf(limit, sizeof(limit), GT_REGISTER_LIMIT, (unsigned char)40);
	memcpy(at, limit, GT_REGISTER_COMMENT_LENGTH);
	CHECK_INT(compiled_registers(text), 40);
}

TEST("malformed PTX is rejected with its line")
{
	static const char text[] =
		".version 7.8\n.target sm_75\n.entry k()\n{\n\tadd.u32 %r1;\n}\n";
	auto_patched_image patched = {0};

	patch_data(&patched, "gpu/entry/k", text, sizeof(text), 75);
	CHECK(patched.error == -EINVAL);
	CHECK_STR(patched.diag.place, "5:10");
}

TEST("names are found after return values and attributes")
{
	static const struct {
		const char *text;
		bool may;
	} cases[] = {
		{".func (.reg .u32 r) wanted(.reg .u32 a)", true},
		{".func wanted", true},
		{".visible .entry\n\twanted(", true},
		{".entry other()", false},
		{".func .attribute(.unified(1, 2)) other", true},
		{".entry /* a comment */ other", true},
		{"", false},
		{".entry", true},
	};
	auto_patched patched = {0};
	struct gt_patch_options options = {.programs = patched.programs, .program_count = 1};

	add_probe(&patched, "gpu/entry/wanted", NULL);
	for (size_t i = 0; i < gt_countof(cases); i++)
		if (gt_patch_may_match(cases[i].text, strlen(cases[i].text), &options) !=
		    cases[i].may)
			TAP_FAIL("%s", cases[i].text);
}

TEST_MAIN
