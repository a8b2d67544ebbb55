/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Linking PTX, objects and archives into a module on the software device. */
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cubin.h"
#include "driver.h"
#include "fatbin/fatbin.h"
#include "ptxas.h"

static const char caller_ptx[] = PTX_HEADER ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
					    ".visible .entry call(.param .u64 p)\n"
					    "{\n"
					    "	.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
					    "	ld.param.u64 %rd0, [p];\n"
					    "	mov.u32 %r0, 21;\n"
					    "	{\n"
					    "	.param .b32 a;\n"
					    "	.param .b32 b;\n"
					    "	st.param.b32 [a], %r0;\n"
					    "	call.uni (b), twice, (a);\n"
					    "	ld.param.b32 %r1, [b];\n"
					    "	}\n"
					    "	st.global.u32 [%rd0], %r1;\n"
					    "	ret;\n"
					    "}\n";
static const char callee_ptx[] = PTX_HEADER ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
					    "{\n"
					    "	.reg .b32 %r<2>;\n"
					    "	ld.param.b32 %r0, [x];\n"
					    "	add.u32 %r1, %r0, %r0;\n"
					    "	st.param.b32 [r], %r1;\n"
					    "	ret;\n"
					    "}\n";

TEST("two PTX modules are linked into one image")
{
	struct driver driver = begin();
	char log[300];
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUlinkState link;
	CUfunction function;
	CUmodule module;
	void *image;
	size_t size;

	CHECK_OK(cuLinkCreate(2, options, values, &link));
	CHECK_OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller_ptx, sizeof(caller_ptx),
			       "caller", 0, NULL, NULL));
	CHECK_CUDA(cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_PTX);
	CHECK(strstr(log, "twice"));
	CHECK_OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)callee_ptx, sizeof(callee_ptx),
			       "callee", 0, NULL, NULL));
	CHECK_OK(cuLinkComplete(link, &image, &size));
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(link));
	CHECK_OK(cuModuleGetFunction(&function, module, "call"));
	CHECK_OK(launch(function, 1, 1, NULL, (void *[]){&driver.memory}));
	CHECK_INT(value(&driver, 0), 42);
	end(&driver);
}

/* Link the caller with an image of the callee, and return the registers that the kernel reports. */
static int linked_registers(unsigned int limit, const struct gt_strbuf *callee)
{
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)(uintptr_t)limit, *image;
	int registers = 0;
	CUfunction function;
	CUlinkState link;
	CUmodule module;
	size_t size;

	CHECK_OK(cuLinkCreate(limit ? 1 : 0, &option, &value, &link));
	CHECK_OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller_ptx, sizeof(caller_ptx),
			       "caller", 0, NULL, NULL));
	CHECK_OK(cuLinkAddData(link, CU_JIT_INPUT_FATBINARY, callee->data, callee->length, "callee",
			       0, NULL, NULL));
	CHECK_OK(cuLinkComplete(link, &image, &size));
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(link));
	CHECK_OK(cuModuleGetFunction(&function, module, "call"));
	CHECK_OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	return registers;
}

static struct gt_strbuf make_callee(const char *options)
{
	struct gt_fatbin_source source = {.kind = GT_FATBIN_KIND_PTX,
					  .options = options,
					  .options_length = (uint32_t)strlen(options),
					  .data = callee_ptx,
					  .size = sizeof(callee_ptx) - 1};
	struct gt_strbuf image = GT_STRBUF_INIT;

	CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, &image, NULL), 0);
	return image;
}

TEST("a limit of registers of a link or of an input limits those that its kernels report")
{
	gt_auto_strbuf plain = make_callee(""), limited = make_callee(" -maxrregcount=11 ");
	struct driver driver = begin();

	CHECK(linked_registers(0, &plain) > 11);
	CHECK_INT(linked_registers(10, &plain), 10);
	CHECK_INT(linked_registers(0, &limited), 11);
	CHECK_INT(linked_registers(10, &limited), 10);
	end(&driver);
}

/* ---- archives of host objects ---------------------------------------------------------- */

/* Adds a host object whose section `name` has these bytes. */
static void add_object(struct gt_strbuf *object, const char *name, const struct gt_strbuf *code)
{
	char names[64] = "\0.strtab\0";
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_REL,
			     .e_machine = EM_X86_64,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3,
			     .e_shstrndx = 2};
	Elf64_Shdr sections[3] = {{0}};

	snprintf(names + 9, sizeof(names) - 9, "%s", name);
	sections[1] = (Elf64_Shdr){.sh_name = 9,
				   .sh_type = SHT_PROGBITS,
				   .sh_offset = sizeof(header),
				   .sh_size = code->length};
	sections[2] = (Elf64_Shdr){.sh_name = 1,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = sizeof(header) + code->length,
				   .sh_size = sizeof(names)};
	header.e_shoff = sizeof(header) + code->length + sizeof(names);
	gt_strbuf_add(object, (const char *)&header, sizeof(header));
	gt_strbuf_add(object, code->data, code->length);
	gt_strbuf_add(object, names, sizeof(names));
	gt_strbuf_add(object, (const char *)sections, sizeof(sections));
}

static void add_member(struct gt_strbuf *archive, const char *name, const char *data, size_t size)
{
	if (!archive->length)
		gt_strbuf_puts(archive, "!<arch>\n");
	gt_strbuf_printf(archive, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 644, size);
	gt_strbuf_add(archive, data, size);
	if (size & 1)
		gt_strbuf_putc(archive, '\n');
}

/* An object with the PTX, or with SASS alone. */
static struct gt_strbuf make_object(const char *section, const char *ptx)
{
	static const char sass[64] = "\x7f"
				     "ELF\2\1\1";
	struct gt_fatbin_source source = {.kind = ptx ? GT_FATBIN_KIND_PTX : GT_FATBIN_KIND_ELF,
					  .version_major = ptx ? 0 : 1,
					  .architecture = ptx ? 0 : 90,
					  .data = ptx ? ptx : sass,
					  .size = ptx ? strlen(ptx) : sizeof(sass)};
	struct gt_strbuf code = GT_STRBUF_INIT, object = GT_STRBUF_INIT;

	CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_ZSTD, &code, NULL), 0);
	add_object(&object, section, &code);
	gt_strbuf_free(&code);
	return object;
}

/* An archive: symbols, long names, the device runtime, an object without device code, and `ptx`. */
static struct gt_strbuf make_archive(const char *ptx)
{
	static const char long_names[] = "cuda_device_runtime.o/\na_member_with_a_long_name.o/\n";
	struct gt_strbuf archive = GT_STRBUF_INIT, sass = make_object("__nv_relfatbin", NULL),
			 plain = make_object(".text", NULL),
			 object = make_object("__nv_relfatbin", ptx);

	add_member(&archive, "/", "\0\0\0\0", 4);
	add_member(&archive, "//", long_names, sizeof(long_names) - 1);
	add_member(&archive, "/0", sass.data, sass.length);
	add_member(&archive, "plain.o/", plain.data, plain.length);
	add_member(&archive, "/23", object.data, object.length);
	add_member(&archive, "notes.txt/", "what", 4);
	gt_strbuf_free(&sass);
	gt_strbuf_free(&plain);
	gt_strbuf_free(&object);
	return archive;
}

struct library_link {
	CUlinkState link;
	char log[300];
	CUjit_option options[2];
	void *values[2];
};

static void open_link(struct library_link *library)
{
	*library = (struct library_link){
		.options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES},
		.values = {library->log, (void *)sizeof(library->log)}};
	CHECK_OK(cuLinkCreate(2, library->options, library->values, &library->link));
}

static CUresult add_library(struct library_link *library, CUjitInputType type,
			    const struct gt_strbuf *data)
{
	return cuLinkAddData(library->link, type, data->data, data->length, "library", 0, NULL,
			     NULL);
}

TEST("the PTX in objects and archives is linked; the device has libcudadevrt itself")
{
	struct driver driver = begin();
	struct gt_strbuf archive = make_archive(callee_ptx);
	struct gt_strbuf object = make_object(".nv_fatbin", caller_ptx);
	struct library_link library;
	CUfunction function;
	CUmodule module;
	void *image;

	open_link(&library);
	CHECK_OK(add_library(&library, CU_JIT_INPUT_OBJECT, &object));
	CHECK_OK(add_library(&library, CU_JIT_INPUT_LIBRARY, &archive));
	CHECK_OK(cuLinkComplete(library.link, &image, NULL));
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(library.link));
	CHECK_OK(cuModuleGetFunction(&function, module, "call"));
	CHECK_OK(launch(function, 1, 1, NULL, (void *[]){&driver.memory}));
	CHECK_INT(value(&driver, 0), 42);
	gt_strbuf_free(&archive);
	gt_strbuf_free(&object);
	end(&driver);
}

TEST("an archive with SASS alone or a malformed one is rejected with the reason")
{
	struct driver driver = begin();
	struct gt_strbuf archive = make_archive(NULL);
	struct library_link library;
	size_t length = archive.length, malformed = 0;

	open_link(&library);
	CHECK_CUDA(add_library(&library, CU_JIT_INPUT_LIBRARY, &archive),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	CHECK_STR(library.log,
		  "a_member_with_a_long_name.o: only SASS for sm_90, no PTX: build with "
		  "-gencode arch=compute_90,code=compute_90, or with -lineinfo\n");
	CHECK_CUDA(add_library(&library, CU_JIT_INPUT_NVVM, &archive),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	CHECK_STR(library.log, "LTO-IR is not supported: link PTX\n");
	/* A truncated archive is read as far as it goes, and never outside. */
	for (size_t i = 9; i < length; i += 3) {
		char *copy = malloc(i);
		CUresult result;

		memcpy(copy, archive.data, i);
		result = cuLinkAddData(library.link, CU_JIT_INPUT_LIBRARY, copy, i, "", 0, NULL,
				       NULL);
		malformed += result == CUDA_ERROR_INVALID_IMAGE;
		CHECK(result == CUDA_ERROR_INVALID_IMAGE ||
		      result == CUDA_ERROR_NO_BINARY_FOR_GPU || !result);
		free(copy);
	}
	CHECK(malformed > length / 3 / 2);
	archive.length = length - 40;
	CHECK_CUDA(add_library(&library, CU_JIT_INPUT_LIBRARY, &archive),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	CHECK_OK(cuLinkDestroy(library.link));
	gt_strbuf_free(&archive);
	end(&driver);
}

/* ---- the device runtime of a JIT compiler's cooperative groups --------------------------- */

/* Each thread counts in place[r], where r is what the synchronization of its grid returns. */
static const char meet_ptx[] = PTX_HEADER
	".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".visible .entry meet(.param .u64 place)\n"
	"{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd0, [place];\n"
	"	{ .param .b32 s; .param .b64 h;\n"
	"	st.param.b32 [s], 1;\n"
	"	call.uni (h), cudaCGGetIntrinsicHandle, (s);\n"
	"	ld.param.b64 %rd1, [h]; }\n"
	"	{ .param .b64 h; .param .b32 f; .param .b32 r;\n"
	"	st.param.b64 [h], %rd1; st.param.b32 [f], 0;\n"
	"	call.uni (r), cudaCGSynchronize, (h, f);\n"
	"	ld.param.b32 %r0, [r]; }\n"
	"	mad.wide.u32 %rd2, %r0, 4, %rd0;\n"
	"	red.global.add.u32 [%rd2], 1;\n"
	"	ret;\n"
	"}\n";

static void open_meet(struct library_link *library)
{
	open_link(library);
	CHECK_OK(cuLinkAddData(library->link, CU_JIT_INPUT_PTX, (void *)meet_ptx, sizeof(meet_ptx),
			       "meet", 0, NULL, NULL));
}

/* Links the kernel with what was added, and runs it as one grid and as blocks. */
static void meet(struct driver *driver, struct library_link *library)
{
	void *arguments[] = {&driver->memory};
	CUfunction function;
	CUmodule module;
	void *image;

	CHECK_OK(cuLinkComplete(library->link, &image, NULL));
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(library->link));
	CHECK_OK(cuModuleGetFunction(&function, module, "meet"));
	CHECK_OK(cuLaunchCooperativeKernel(function, 3, 1, 1, 64, 1, 1, 0, NULL, arguments));
	CHECK_INT(value(driver, 0), 192);
	CHECK_INT(value(driver, 1), 0);
	/* A grid that was not launched for it cannot meet: an invalid value. */
	CHECK_OK(launch(function, 2, 32, NULL, arguments));
	CHECK_INT(value(driver, 0), 192);
	CHECK_INT(value(driver, 1), 64);
}

/* The same with a library, as Numba does. */
static void meet_with_library(const char *path)
{
	struct driver driver = begin();
	struct library_link library;

	open_meet(&library);
	CHECK_OK(cuLinkAddFile(library.link, CU_JIT_INPUT_LIBRARY, path, 0, NULL, NULL));
	meet(&driver, &library);
	end(&driver);
}

/* A cubin that is to be linked, with machine code alone. */
static char *make_code(const char *name, size_t *ret_size)
{
	const struct made_kernel kernel = {.name = name};
	const Elf64_Half type = ET_REL;
	char *code = make_cubin(&kernel, 1, 0, ret_size);

	memcpy(code + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	return code;
}

TEST("a kernel is linked with the cubin of the device runtime; other machine code is rejected")
{
	struct driver driver = begin();
	struct library_link library;
	size_t size;
	char *code = make_code("__nv_static_1__0_22_cuda_device_runtime_cu_0__Z3setv", &size);

	open_meet(&library);
	CHECK_OK(cuLinkAddData(library.link, CU_JIT_INPUT_CUBIN, code, size, NULL, 0, NULL, NULL));
	/* A truncated one is read as far as it goes, and never outside. */
	for (size_t i = 1; i < size; i += 3) {
		char *copy = malloc(i);

		memcpy(copy, code, i);
		cuLinkAddData(library.link, CU_JIT_INPUT_CUBIN, copy, i, NULL, 0, NULL, NULL);
		free(copy);
	}
	free(code);
	CHECK_CUDA(cuLinkAddData(library.link, CU_JIT_INPUT_CUBIN, (void *)"\1no code", 8, NULL, 0,
				 NULL, NULL),
		   CUDA_ERROR_INVALID_IMAGE);
	code = make_code("other", &size);
	CHECK_CUDA(cuLinkAddData(library.link, CU_JIT_INPUT_CUBIN, code, size, NULL, 0, NULL, NULL),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	free(code);
	meet(&driver, &library);
	end(&driver);
}

TEST("a kernel is linked with the file of a device runtime that has only SASS")
{
	struct gt_strbuf archive = make_archive(callee_ptx);
	struct temporary library;
	int fd = make_temporary_file(&library);

	CHECK(fd >= 0 && write(fd, archive.data, archive.length) == (ssize_t)archive.length);
	close(fd);
	meet_with_library(library.path);
	unlink(library.path);
	gt_strbuf_free(&archive);
}

/* The toolkit's own; NULL: there is none. */
static const char *find_device_runtime(char path[PATH_MAX])
{
	static const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
	const char *home = getenv("CUDA_HOME");

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, PATH_MAX, "%s/%s/libcudadevrt.a", home ? home : "/usr/local/cuda",
			 folders[i]);
		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

TEST("a kernel is linked with the toolkit's libcudadevrt.a")
{
	char path[PATH_MAX];

	if (!find_device_runtime(path))
		SKIP("libcudadevrt.a of a CUDA toolkit is not installed");
	meet_with_library(path);
}

TEST("a file to link must exist")
{
	struct driver driver = begin();
	struct library_link library;

	open_link(&library);
	CHECK_CUDA(cuLinkAddFile(library.link, CU_JIT_INPUT_LIBRARY, "/nowhere/libcudadevrt.a", 0,
				 NULL, NULL),
		   CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_CUDA(cuLinkAddFile(library.link, CU_JIT_INPUT_LIBRARY, "/tmp", 0, NULL, NULL),
		   CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_CUDA(cuLinkAddFile(library.link, CU_JIT_INPUT_LIBRARY, NULL, 0, NULL, NULL),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuLinkDestroy(library.link));
	end(&driver);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(caller_ptx);
	remember_text(callee_ptx);
	remember_text(meet_ptx);
	check_with_ptxas();
}

TEST_MAIN
