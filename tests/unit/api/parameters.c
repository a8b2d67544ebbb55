/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/parameters.h"

#include <errno.h>
#include <math.h>

#include "api/kernels/arguments.h"
#include "api/kernels/library.h"
#include "api/kernels/search.h"
#include "cubin.h"
#include "fatbin/cubin.h"
#include "fatbin/fatbin.h"
#include "fixture.h"
#include "toolkit.h"

/* Where CUDA's tools are looked for, beside PATH. */

/* add<float>(float*, float const*, float, unsigned long) and plain(char, double, S12, S20, bool) */
#define ADD "_Z3addIfEvPT_PKS0_S0_m"

static const struct made_kernel kernels[] = {
	{ADD, 4, {0, 8, 16, 24}, {8, 8, 4, 8}, 10, 0, 256, 0, 0},
	{"plain", 5, {0, 8, 16, 32, 56}, {1, 8, 12, 24, 1}, 24, 32, 0, 0, 0},
	{"_Z4nonev", 0, {0}, {0}, 4, 0, 0, 0, 0},
	{"_Z5large3BigiPi", 3, {0, 4400, 4408}, {4400, 4, 8}, 14, 0, 0, 1, 0},
	{"_Z6helperi", 1, {0}, {4}, 8, 0, 0, 0, 1},
};

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry " ADD "(.param .u64 .ptr .align 1 a, .param .u64 b, .param .f32 c, "
	".param .u64 d) { ret; }\n"
	".visible .entry plain(.param .u8 a, .param .f64 b, .param .align 4 .b8 c[12], "
	".param .align 8 .b8 d[24], .param .u8 e) { ret; }\n"
	".visible .entry only_ptx(.param .u32 a, .param .u64 .ptr .global .align 4 b, "
	".param .align 16 .b8 c[48], .param .f32 d) { ret; }\n"
	".func helper(.param .u32 a) { ret; }\n";

static char *usual_cubin(size_t *ret_size)
{
	return make_cubin(kernels, gt_countof(kernels), 0, ret_size);
}

static struct gt_fatbin_source source_of(uint16_t kind, uint32_t architecture, const void *data,
					 size_t size)
{
	return (struct gt_fatbin_source){.kind = kind,
					 .architecture = architecture,
					 .version_major = 1,
					 .data = data,
					 .size = size};
}

/* A container with the cubin for sm_75 and the PTX. */
static void make_container(struct gt_strbuf *buffer)
{
	struct gt_fatbin_source sources[2];
	struct gt_diag diag = {0};
	size_t size;
	gt_autofree char *cubin = usual_cubin(&size);

	sources[0] = source_of(GT_FATBIN_KIND_ELF, 75, cubin, size);
	sources[1] = source_of(GT_FATBIN_KIND_PTX, 0, ptx, strlen(ptx));
	sources[1].version_major = 0;
	if (gt_fatbin_write(sources, 2, GT_FATBIN_COMPRESSION_ZSTD, buffer, &diag))
		TAP_FAIL("%s", diag.text);
}

/* "offset:size:type …" */
static void check_parameters(const struct gt_kernel *kernel, const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!kernel) {
		TAP_FAIL("there is no such kernel (%s)", expected);
		return;
	}
	for (size_t i = 0; i < kernel->parameter_count; i++)
		gt_strbuf_printf(&text, "%s%u:%u:%s", i ? " " : "", kernel->parameters[i].offset,
				 kernel->parameters[i].size,
				 kernel->parameters[i].type ? kernel->parameters[i].type : "-");
	CHECK_STR(gt_strbuf_string(&text), expected);
}

static void check_usage(const struct gt_kernel *kernel, uint32_t device, uint32_t registers,
			uint32_t shared, uint32_t local)
{
	struct gt_kernel_usage usage;

	CHECK(kernel != NULL);
	if (!kernel)
		return;
	usage = gt_kernel_usage_on(kernel, device);
	CHECK_INT(usage.registers, registers);
	CHECK_INT(usage.shared_bytes, shared);
	CHECK_INT(usage.local_bytes, local);
}

static struct gt_parameters *of_image(const void *data, size_t size)
{
	struct gt_parameters *parameters = gt_parameters_new();
	struct gt_diag diag = {0};

	if (gt_parameters_add_image(parameters, data, size, NULL, &diag))
		TAP_FAIL("%s: %s", diag.stage, diag.text);
	return parameters;
}

TEST("a cubin has its kernels' parameters, and not those of device functions")
{
	size_t size;
	gt_autofree char *bytes = usual_cubin(&size);
	gt_auto_cubin cubin = {0};

	CHECK_INT(gt_cubin_read(bytes, size, &cubin, NULL), 0);
	CHECK_INT(cubin.count, 4);
	CHECK_STR(cubin.kernels[1].name, "plain");
	CHECK_INT(cubin.kernels[1].parameter_count, 5);
	CHECK_INT(cubin.kernels[1].parameters[3].offset, 32);
	CHECK_INT(cubin.kernels[1].parameters[3].size, 24);
	CHECK_INT(cubin.kernels[1].parameter_bytes, 57);
	CHECK_INT(cubin.kernels[2].parameter_count, 0);
	CHECK_INT(cubin.kernels[3].parameters[0].size, 4400);
	CHECK_INT(cubin.kernels[3].parameters[2].offset, 4408);
}

TEST("a cubin has registers, local and shared memory")
{
	for (int reserved = 0; reserved < 2; reserved++) {
		size_t size;
		gt_autofree char *bytes = make_cubin(kernels, gt_countof(kernels), reserved, &size);
		gt_auto_cubin cubin = {0};

		CHECK_INT(gt_cubin_read(bytes, size, &cubin, NULL), 0);
		CHECK_INT(cubin.kernels[0].registers, 10);
		CHECK_INT(cubin.kernels[0].shared_bytes, 256);
		CHECK_INT(cubin.kernels[1].registers, 24);
		CHECK_INT(cubin.kernels[1].local_bytes, 32);
		CHECK_INT(cubin.kernels[1].shared_bytes, 0);
	}
}

static void check_rejected(const void *bytes, size_t size, int error, const char *text)
{
	gt_auto_cubin cubin = {0};
	struct gt_diag diag = {0};

	CHECK_INT(gt_cubin_read(bytes, size, &cubin, &diag), error);
	CHECK_STR(diag.text, text);
	CHECK(cubin.kernels == NULL);
}

TEST("what is no cubin is rejected")
{
	size_t size;
	gt_autofree char *bytes = usual_cubin(&size);

	check_rejected("hello", 5, -ENOEXEC, "no cubin: too short for an ELF header");
	bytes[18] = 62;
	check_rejected(bytes, size, -ENOEXEC, "no cubin: not a 64-bit ELF for CUDA");
	bytes[18] = (char)190;
	check_rejected(bytes, size - 1, -EBADMSG,
		       "truncated cubin: it ends within section headers");
	memset(bytes + 40, 0, 8);
	check_rejected(bytes, size, -EBADMSG, "malformed cubin: it has no section headers");
}

TEST("a kernel whose parameters are malformed is omitted")
{
	size_t size;
	gt_autofree char *bytes = usual_cubin(&size);
	gt_auto_cubin cubin = {0};
	/* The first record of `plain`: its last parameter, number 4; now there are two of number 3.
	 */
	char *record = memmem(bytes, size, "\4\x17\x0c\0\0\0\0\0\4\0\x38", 11);

	CHECK(record != NULL);
	if (record)
		record[8] = 3;
	CHECK_INT(gt_cubin_read(bytes, size, &cubin, NULL), 0);
	CHECK_INT(cubin.count, 3);
	CHECK_STR(cubin.kernels[1].name, "_Z4nonev");
}

TEST("malformed cubins do no harm")
{
	size_t size;
	gt_autofree char *bytes = usual_cubin(&size);
	unsigned int seed = 1, fewer = 0;

	for (int i = 0; i < 2000; i++) {
		gt_autofree char *copy = malloc(size);
		gt_auto_cubin cubin = {0};

		memcpy(copy, bytes, size);
		for (int change = 0; change < 1 + i % 30; change++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 4) % size] ^= (char)(1u << (seed >> 28 & 7));
		}
		fewer += gt_cubin_read(copy, size - (i % 3 ? 0 : seed % size), &cubin, NULL) ||
			 cubin.count < 4;
	}
	CHECK(fewer > 200);
}

TEST("layouts come from the cubin and types from the PTX")
{
	gt_auto_strbuf container = GT_STRBUF_INIT;

	make_container(&container);
	gt_auto(parameters) struct gt_parameters *parameters =
		of_image(container.data, container.length);

	CHECK_INT(gt_parameters_count(parameters), 5);
	check_parameters(gt_parameters_find(parameters, ADD),
			 "0:8:.u64 .ptr 8:8:.u64 16:4:.f32 24:8:.u64");
	check_parameters(gt_parameters_find(parameters, "plain"),
			 "0:1:.u8 8:8:.f64 16:12:.b8[12] 32:24:.b8[24] 56:1:.u8");
	check_parameters(gt_parameters_find(parameters, "_Z4nonev"), "");
	check_parameters(gt_parameters_find(parameters, "_Z5large3BigiPi"),
			 "0:4400:- 4400:4:- 4408:8:-");
	CHECK(gt_parameters_find(parameters, "_Z6helperi") == NULL);
	CHECK(gt_parameters_find(parameters, "helper") == NULL);
}

TEST("a kernel that is only in PTX has its layout and shared memory from there, and no registers")
{
	gt_auto(parameters) struct gt_parameters *parameters = of_image(ptx, strlen(ptx));
	const struct gt_kernel *kernel = gt_parameters_find(parameters, "only_ptx");

	check_parameters(kernel, "0:4:.u32 8:8:.u64 .ptr 16:48:.b8[48] 64:4:.f32");
	check_usage(kernel, 75, GT_KERNEL_UNKNOWN, 0, GT_KERNEL_UNKNOWN);
	check_usage(kernel, 0, GT_KERNEL_UNKNOWN, 0, GT_KERNEL_UNKNOWN);
}

static const char shared_ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".shared .align 4 .b8 common[6];\n"
	".shared .align 16 .b8 called[32];\n"
	".shared .align 8 .b8 never[4096];\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".func inner() { .reg .b64 %r<2>; mov.u64 %r0, called; ret; }\n"
	".func outer() { call inner, (); ret; }\n"
	".visible .entry uses() {\n"
	"	.reg .b64 %r<3>;\n	.reg .f32 %f<2>;\n	.shared .align 4 .f32 own[8];\n"
	"	mov.u64 %r0, dynamic;\n	ld.shared.b8 %r1, [common+2];\n"
	"	ld.shared.b8 %r1, [common];\n	call outer, ();\n	ret;\n}\n"
	".visible .entry none() { ret; }\n"
	".visible .entry indirect() {\n	.reg .b64 %r<2>;\n"
	"p: .callprototype _ ();\n	call %r0, (), p;\n	ret;\n}\n";

TEST("the shared memory of PTX is what a kernel and all that it calls name, each once and aligned")
{
	gt_auto(parameters) struct gt_parameters *parameters =
		of_image(shared_ptx, strlen(shared_ptx));

	/* own, common at 32, called at 48 */
	check_usage(gt_parameters_find(parameters, "uses"), 0, GT_KERNEL_UNKNOWN, 80,
		    GT_KERNEL_UNKNOWN);
	check_usage(gt_parameters_find(parameters, "none"), 0, GT_KERNEL_UNKNOWN, 0,
		    GT_KERNEL_UNKNOWN);
	check_usage(gt_parameters_find(parameters, "indirect"), 0, GT_KERNEL_UNKNOWN,
		    GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN);
}

TEST("what a kernel uses is reported for the architecture that the driver takes")
{
	static const uint32_t architectures[] = {86, 75, 80};
	gt_auto_strbuf container = GT_STRBUF_INIT;
	struct gt_fatbin_source sources[3];
	gt_autofree char *first = NULL, *second = NULL, *third = NULL;
	char **all[] = {&first, &second, &third};
	struct made_kernel kernel = kernels[0];

	for (size_t i = 0; i < 3; i++) {
		size_t size;

		kernel.registers = architectures[i];
		*all[i] = make_cubin(&kernel, 1, 0, &size);
		sources[i] = source_of(GT_FATBIN_KIND_ELF, architectures[i], *all[i], size);
	}
	CHECK_INT(gt_fatbin_write(sources, 3, GT_FATBIN_COMPRESSION_LZ4, &container, NULL), 0);
	gt_auto(parameters) struct gt_parameters *parameters =
		of_image(container.data, container.length);
	const struct gt_kernel *found = gt_parameters_find(parameters, ADD);

	CHECK_INT(found->usage_count, 3);
	check_usage(found, 75, 75, 256, 0);
	check_usage(found, 80, 80, 256, 0);
	check_usage(found, 89, 86, 256, 0);
	check_usage(found, 70, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN);
	check_usage(found, 90, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN);
	/* Not known for which: what all agree on. */
	check_usage(found, 0, GT_KERNEL_UNKNOWN, 256, 0);
}

/* Seeks a kernel in a file without a limit. */
static int find_in(const char *path, const char *name, struct gt_parameters *parameters,
		   struct gt_diag *diag)
{
	gt_auto(kernel_library) struct gt_kernel_library *library = NULL;
	uint64_t budget = UINT64_MAX;
	int error = gt_kernel_library_open(path, &library, diag);

	if (!error)
		error = gt_kernel_library_find(library, name, GT_KERNEL_FIRST_ENTRIES, &budget,
					       parameters, diag);
	if (error == -ENOENT && library)
		error = gt_kernel_library_find(library, name, GT_KERNEL_ALL_ENTRIES, &budget,
					       parameters, diag);
	return error;
}

static void pad_container(struct gt_strbuf *section)
{
	while (section->length % 8)
		gt_strbuf_putc(section, 0);
}

/* Adds a container with the cubin of one kernel for each architecture, 0 at the end. */
static void add_container(struct gt_strbuf *section, const char *name,
			  const uint32_t *architectures)
{
	struct gt_fatbin_source sources[4] = {0};
	char *cubins[4];
	size_t count = 0;

	for (; architectures[count]; count++) {
		struct made_kernel kernel = {name, 1, {0}, {4}, architectures[count], 0, 0, 0, 0};
		size_t size;

		cubins[count] = make_cubin(&kernel, 1, 0, &size);
		sources[count] =
			source_of(GT_FATBIN_KIND_ELF, architectures[count], cubins[count], size);
	}
	CHECK_INT(gt_fatbin_write(sources, count, GT_FATBIN_COMPRESSION_ZSTD, section, NULL), 0);
	for (size_t i = 0; i < count; i++)
		free(cubins[i]);
	pad_container(section);
}

static void make_program(const char *path, const struct gt_strbuf *section)
{
	char options[64];

	write_file("section", section->data, section->length);
	snprintf(options, sizeof(options), "-o %s", path);
	compile("int main(void) { return 0; }\n", options);
	CHECK_INT(run(NULL, "objcopy --add-section .nv_fatbin=section %s", path), 0);
}

TEST("a program's kernels are found in its section, each with its container's")
{
	gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
	gt_auto_strbuf section = GT_STRBUF_INIT;

	make_container(&section);
	pad_container(&section);
	add_container(&section, "other", (uint32_t[]){75, 0});
	make_program("program", &section);
	CHECK_INT(find_in("program", "other", parameters, NULL), 0);
	check_parameters(gt_parameters_find(parameters, "other"), "0:4:-");
	CHECK_INT(gt_parameters_count(parameters), 1);
	CHECK_INT(find_in("program", "only_ptx", parameters, NULL), 0);
	check_parameters(gt_parameters_find(parameters, "only_ptx"),
			 "0:4:.u32 8:8:.u64 .ptr 16:48:.b8[48] 64:4:.f32");
	check_parameters(gt_parameters_find(parameters, ADD),
			 "0:8:.u64 .ptr 8:8:.u64 16:4:.f32 24:8:.u64");
	CHECK_INT(gt_parameters_count(parameters), 6);
	CHECK_INT(find_in("program", "absent", parameters, NULL), -ENOENT);
}

TEST("a search uncompresses one cubin of each container, and all of the one with the kernel")
{
	gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
	gt_auto(kernel_library) struct gt_kernel_library *library = NULL;
	gt_auto_strbuf section = GT_STRBUF_INIT;
	const uint64_t all = UINT64_C(1) << 30;
	uint64_t budget = all, first;

	add_container(&section, "one", (uint32_t[]){75, 80, 90, 0});
	add_container(&section, "two", (uint32_t[]){75, 80, 90, 0});
	add_container(&section, "six", (uint32_t[]){75, 80, 90, 0});
	make_program("three", &section);
	CHECK_INT(gt_kernel_library_open("three", &library, NULL), 0);
	CHECK_INT(gt_kernel_library_find(library, "one", GT_KERNEL_FIRST_ENTRIES, &budget,
					 parameters, NULL),
		  0);
	first = all - budget;
	CHECK(first > 0);
	CHECK_INT(gt_kernel_library_find(library, "six", GT_KERNEL_FIRST_ENTRIES, &budget,
					 parameters, NULL),
		  0);
	CHECK_INT(all - budget, 3 * first);
	CHECK_INT(gt_parameters_find(parameters, "six")->usage_count, 3);
	check_usage(gt_parameters_find(parameters, "six"), 90, 90, 0, 0);
	CHECK(gt_parameters_find(parameters, "two") == NULL);
	CHECK_INT(gt_kernel_library_find(library, "absent", GT_KERNEL_FIRST_ENTRIES, &budget,
					 parameters, NULL),
		  -ENOENT);
	CHECK_INT(all - budget, 3 * first);
	CHECK_INT(gt_kernel_library_find(library, "absent", GT_KERNEL_ALL_ENTRIES, &budget,
					 parameters, NULL),
		  -ENOENT);
	CHECK_INT(all - budget, 9 * first);
	CHECK_INT(gt_kernel_library_find(library, "absent", GT_KERNEL_ALL_ENTRIES, &budget,
					 parameters, NULL),
		  -ENOENT);
	CHECK_INT(all - budget, 9 * first);
}

TEST("a search ends at its limit, and what was found before stays")
{
	gt_auto(kernel_search) struct gt_kernel_search *search = gt_kernel_search_new(1 << 20);
	gt_auto(kernel_search) struct gt_kernel_search *small = gt_kernel_search_new(1600);
	gt_auto_strbuf one = GT_STRBUF_INIT, many = GT_STRBUF_INIT;
	struct gt_kernel_search *both[] = {search, small};
	char name[16];

	add_container(&one, "one", (uint32_t[]){75, 0});
	make_program("small", &one);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		add_container(&many, name, (uint32_t[]){75, 0});
	}
	make_program("large", &many);
	for (size_t i = 0; i < 2; i++) {
		CHECK_INT(gt_kernel_search_add(both[i], "large", 5), 0);
		CHECK_INT(gt_kernel_search_add(both[i], "small and more", 5), 0);
		CHECK_INT(gt_kernel_search_add(both[i], "missing", 7), 0);
		/* The one with less code is first. */
		CHECK(gt_kernel_search_find(both[i], "one", NULL) != NULL);
		CHECK(!gt_kernel_search_is_limited(both[i]));
	}
	CHECK(gt_kernel_search_find(search, "many19", NULL) != NULL);
	CHECK(gt_kernel_search_find(search, "absent", NULL) == NULL);
	CHECK(!gt_kernel_search_is_limited(search));
	CHECK(gt_kernel_search_find(small, "many19", NULL) == NULL);
	CHECK(gt_kernel_search_is_limited(small));
	CHECK(gt_kernel_search_find(small, "one", NULL) != NULL);
}

TEST("a kernel is sought first in the file of its host function")
{
	gt_auto(kernel_search) struct gt_kernel_search *search = gt_kernel_search_new(1 << 20);
	gt_auto_strbuf first = GT_STRBUF_INIT, second = GT_STRBUF_INIT;

	add_container(&first, "same", (uint32_t[]){75, 0});
	make_program("first", &first);
	add_container(&second, "same", (uint32_t[]){80, 90, 0});
	make_program("second", &second);
	CHECK_INT(gt_kernel_search_add(search, "first", 5), 0);
	CHECK_INT(gt_kernel_search_add(search, "second", 6), 0);
	CHECK_INT(gt_kernel_search_find(search, "same", "second")->usage_count, 2);
	CHECK_INT(gt_kernel_search_find(search, "same", NULL)->usage_count, 2);
}

TEST("what was in no file is found in one that is added later")
{
	gt_auto(kernel_search) struct gt_kernel_search *search = gt_kernel_search_new(1 << 20);
	gt_auto_strbuf section = GT_STRBUF_INIT;

	add_container(&section, "late", (uint32_t[]){75, 0});
	make_program("later", &section);
	CHECK(gt_kernel_search_find(search, "late", NULL) == NULL);
	CHECK_INT(gt_kernel_search_add(search, "later", 5), 0);
	CHECK(gt_kernel_search_find(search, "late", NULL) != NULL);
}

TEST("a program without kernels is known as one before anything is sought in it")
{
	gt_auto(kernel_library) struct gt_kernel_library *library = NULL;

	compile("int main(void) { return 0; }\n", "-o bare");
	CHECK_INT(gt_kernel_library_open("bare", &library, NULL), -ENOENT);
}

static void check_file_rejected(const char *path, int error, const char *text)
{
	gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
	struct gt_diag diag = {0};

	CHECK_INT(find_in(path, "k", parameters, &diag), error);
	CHECK_STR(diag.text, text);
}

TEST("a file without modules is rejected, and one that is malformed")
{
	gt_auto_strbuf container = GT_STRBUF_INIT;

	fixture();
	write_text("text", "hello\n");
	check_file_rejected("text", -ENOEXEC, "neither a fatbin nor a cubin nor PTX text");
	check_file_rejected("missing", -ENOENT,
			    "cannot be opened: No such file or directory: check the path");
	write_text("broken.ptx", ".version 8.0\n.target sm_75\n.entry k( { }\n");
	check_file_rejected("broken.ptx", -EBADMSG, "expected a state space, found \"{\"");
	make_container(&container);
	write_file("cut", container.data, container.length - 8);
	compile("int main(void) { return 0; }\n", "-o malformed");
	CHECK_INT(run(NULL, "objcopy --add-section .nv_fatbin=cut malformed"), 0);
	check_file_rejected("malformed", -EBADMSG,
			    "malformed .nv_fatbin: a container is longer than the section");
}

static void check_text(const char *name, const struct gt_kernel *kernel, const uint64_t *words,
		       uint64_t valid, const char *expected)
{
	struct gt_launch_arguments arguments = {.valid = valid};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	memcpy(arguments.words, words, sizeof(arguments.words));
	gt_kernel_format_arguments(&text, name, kernel, &arguments);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

static uint64_t real(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

TEST("arguments are truncated to their sizes and shown by the types of the mangled name")
{
	/* Above the 4 bytes of 0.1f lies what happened to be on the stack. */
	const uint64_t words[GT_ARGUMENT_WORDS] = {0x7f0c2a000000, 0x7f0c2b000000,
						   0xdeadbeef3dcccccd, 1024};
	gt_auto_strbuf container = GT_STRBUF_INIT;

	make_container(&container);
	gt_auto(parameters) struct gt_parameters *parameters =
		of_image(container.data, container.length);

	check_text(ADD, gt_parameters_find(parameters, ADD), words, 15,
		   "0x7f0c2a000000, 0x7f0c2b000000, 0.1, 1024");
	check_text(ADD, gt_parameters_find(parameters, ADD), words, 11,
		   "0x7f0c2a000000, 0x7f0c2b000000, ?, 1024");
	check_text("_Z4nonev", gt_parameters_find(parameters, "_Z4nonev"), words, 15, "");
}

TEST("arguments of a kernel without C++ name are shown by the types of its PTX")
{
	const uint64_t words[GT_ARGUMENT_WORDS] = {0xffffffffffffffc8, real(-2.5),
						   0x4030201003020100, 7, 0xabcdef01};
	gt_auto_strbuf container = GT_STRBUF_INIT;

	make_container(&container);
	gt_auto(parameters) struct gt_parameters *parameters =
		of_image(container.data, container.length);

	check_text("plain", gt_parameters_find(parameters, "plain"), words, 31,
		   "200, -2.5, {00 01 02 03 10 20 30 40 ...}, {07 00 00 00 00 00 00 00 ...}, 1");
}

TEST("where only the name is known its types give the sizes")
{
	const uint64_t words[GT_ARGUMENT_WORDS] = {0xffffffff00000100, 0xaaaaaaaafffffffe, 0x1ff,
						   0x8000000000000000, 42};
	const uint64_t other[GT_ARGUMENT_WORDS] = {0xff01};

	check_text("_Z1fbihm3Foo", NULL, words, 31, "false, -2, 255, 9223372036854775808, ?");
	check_text("_Z1fb", NULL, other, 1, "true");
	check_text("unknown", NULL, words, 31, "...");
	check_text(NULL, NULL, words, 31, "...");
}

TEST("half and brain floats are numbers")
{
	const uint64_t words[GT_ARGUMENT_WORDS] = {0xffff3c00, 0xc000, 0x7c00, 0x0001, 0x3fc0};

	check_text("_Z1f6__halfS_S_S_13__nv_bfloat16", NULL, words, 31,
		   "1, -2, inf, 5.9604645e-08, 1.5");
}

TEST("a type whose size is not the module's is not believed")
{
	const struct gt_parameter layout[] = {{0, 4, NULL}, {4, 4, ".u32"}};
	const struct gt_kernel kernel = {.parameters = layout, .parameter_count = 2};
	const uint64_t words[GT_ARGUMENT_WORDS] = {0x11223344, 5};

	/* A long of 4 bytes; an enumeration, which PTX declares as a number. */
	check_text("_Z1fl4Mode", &kernel, words, 3, "{44 33 22 11}, 5");
	/* A name with another count of parameters is not of this kernel. */
	check_text("_Z1ff", &kernel, words, 3, "{44 33 22 11}, 5");
}

TEST("a template of function pointers is no pointer")
{
	const struct gt_parameter layout[] = {{0, 2, NULL}, {8, 8, NULL}};
	const struct gt_kernel kernel = {.parameters = layout, .parameter_count = 2};
	const uint64_t words[GT_ARGUMENT_WORDS] = {0x1122, 0x5000};

	check_text("_Z1f3FooIPFviEES1_", &kernel, words, 3, "{22 11}, 0x5000");
}

TEST("more arguments than a launch copies are not known")
{
	const uint64_t words[GT_ARGUMENT_WORDS] = {1, 2,  3,  4,  5,  6,  7,  8,
						   9, 10, 11, 12, 13, 14, 15, 16};

	check_text("_Z1fiiiiiiiiiiiiiiiiii", NULL, words, UINT64_MAX,
		   "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ?, ?");
}

TEST("arguments are reported in JSON by type, size and value")
{
	struct gt_launch_arguments arguments = {
		.words = {0x7f00, 0x3f800000, (uint64_t)-1, 1, 0x0102},
		.valid = 0x1f,
	};
	const struct gt_parameter layout[] = {{0, 8, NULL},  {8, 4, NULL},  {16, 8, NULL},
					      {24, 1, NULL}, {26, 2, NULL}, {28, 4, NULL}};
	const struct gt_kernel kernel = {.parameters = layout, .parameter_count = 6};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_kernel_json_arguments(&json, NULL, "_Z1fPflmb3Fooi", &kernel, &arguments);
	CHECK_STR(gt_strbuf_string(&text),
		  "[{\"type\":\"float*\",\"size\":8,\"value\":\"0x7f00\"},"
		  "{\"type\":\"long\",\"size\":4,\"value\":\"0000803f\"},"
		  "{\"type\":\"unsigned long\",\"size\":8,\"value\":18446744073709551615},"
		  "{\"type\":\"bool\",\"size\":1,\"value\":true},"
		  "{\"type\":\"Foo\",\"size\":2,\"value\":\"0201\"},"
		  "{\"type\":\"int\",\"size\":4,\"value\":null}]");
}

static const char source[] =
	"struct Twelve { int a, b, c; };\n"
	"struct TwentyFour { char c; double d; short s; };\n"
	"struct Big { int v[1100]; };\n"
	"template <typename T> __global__ void add(T *out, const T *in, T scale, unsigned long n)\n"
	"{ __shared__ T s[64]; int i = threadIdx.x; s[i] = in[i]; __syncthreads();\n"
	"  if (i < n) out[i] = s[63 - i] * scale; }\n"
	"template __global__ void add<float>(float *, const float *, float, unsigned long);\n"
	"extern \"C\" __global__ void plain(char c, double d, Twelve s, TwentyFour t, bool b)\n"
	"{ if (b) *(double *)s.a = d + t.d + c; }\n"
	"__global__ void none() {}\n"
	"__global__ void large(Big b, int k, int *o) { o[0] = b.v[k]; }\n"
	"int main() { return 0; }\n";

static void build_with_nvcc(const char *options)
{
	fixture();
	write_text("source.cu", source);
	if (run(NULL, TOOLS "nvcc %s source.cu 2>nvcc.log", options)) {
		TAP_FAIL("nvcc failed: %s", options);
		run(NULL, "sed 's/^/# /' nvcc.log >&2");
	}
}

/* Some versions of nvcc mark pointers as such. */
static void check_unmarked(const struct gt_parameters *parameters, const char *name,
			   const char *expected)
{
	static const char mark[] = " .ptr";
	const struct gt_kernel *kernel = gt_parameters_find(parameters, name);

	for (size_t i = 0; kernel && i < kernel->parameter_count; i++) {
		const char *type = kernel->parameters[i].type;
		char *found = type ? strstr(type, mark) : NULL;

		if (found)
			*found = 0;
	}
	check_parameters(kernel, expected);
}

/* A cubin has no types. */
static void check_built(const char *path, bool has_types)
{
	gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
	struct gt_diag diag = {0};

	static const char *const names[] = {ADD, "plain", "_Z4nonev", "_Z5large3BigiPi"};

	for (size_t i = 0; i < gt_countof(names); i++)
		CHECK_INT(find_in(path, names[i], parameters, &diag), 0);
	CHECK_INT(gt_parameters_count(parameters), 4);
	check_unmarked(parameters, ADD,
		       has_types ? "0:8:.u64 8:8:.u64 16:4:.f32 24:8:.u64"
				 : "0:8:- 8:8:- 16:4:- 24:8:-");
	check_unmarked(parameters, "plain",
		       has_types ? "0:1:.u8 8:8:.f64 16:12:.b8[12] 32:24:.b8[24] 56:1:.u8"
				 : "0:1:- 8:8:- 16:12:- 32:24:- 56:1:-");
	check_unmarked(parameters, "_Z4nonev", "");
	check_unmarked(parameters, "_Z5large3BigiPi",
		       has_types ? "0:4400:.b8[4400] 4400:4:.u32 4408:8:.u64"
				 : "0:4400:- 4400:4:- 4408:8:-");
}

TEST("cubins of nvcc are read for every architecture, and say what ptxas says")
{
	static const unsigned int architectures[] = {75, 80, 90, 100, 120};

	NEED_TOOL("nvcc");
	fixture();
	for (size_t i = 0; i < gt_countof(architectures); i++) {
		gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
		gt_autofree char *said = NULL;
		unsigned int registers = 0, shared = 0;
		char options[128];

		snprintf(options, sizeof(options), "-cubin -o built.cubin -Xptxas -v -arch=sm_%u",
			 architectures[i]);
		build_with_nvcc(options);
		check_built("built.cubin", false);
		CHECK_INT(find_in("built.cubin", ADD, parameters, NULL), 0);
		run(&said, "grep -A9 'for " ADD "' nvcc.log | sed -n 's/.*Used \\([0-9]*\\) "
			   "registers.* \\([0-9]*\\) bytes smem.*/\\1 \\2/p' | head -1");
		CHECK_INT(sscanf(said, "%u %u", &registers, &shared), 2);
		check_usage(gt_parameters_find(parameters, ADD), 0, registers, shared, 0);
		CHECK_INT(shared, 256);
	}
}

TEST("programs of nvcc are read, compressed, stripped, and separately compiled ones")
{
	NEED_TOOL("nvcc");
	fixture();
	build_with_nvcc("-o built -gencode arch=compute_75,code=[sm_75,compute_75] -gencode "
			"arch=compute_90,code=sm_90");
	check_built("built", true);
	CHECK_INT(run(NULL, "strip built"), 0);
	check_built("built", true);
	build_with_nvcc("-o size -arch=sm_75 -Xfatbin -compress-mode=size");
	check_built("size", true);
	build_with_nvcc("-o separate -arch=sm_75 -rdc=true");
	check_built("separate", true);
	build_with_nvcc("-ptx -o built.ptx -arch=sm_75");
	check_built("built.ptx", true);
}

TEST_MAIN
