/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules, launches and the errors of kernels on the software device. */
#include "base/strbuf.h"
#include "driver.h"
#include "fatbin/fatbin.h"
#include "gate.h"
#include "ptxas.h"
#include <elf.h>

TEST("a kernel gets its arguments, one by one or as a buffer")
{
	struct driver driver = begin();
	unsigned int first = 100, n = 5;
	void *arguments[] = {&driver.memory, &first, &n};
	struct {
		CUdeviceptr place;
		unsigned int first, n;
	} buffer = {driver.memory, 200, 3};
	size_t size = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};

	CHECK_OK(launch(find(&driver, "fill"), 2, 4, NULL, arguments));
	CHECK_INT(value(&driver, 4), 104);
	CHECK_INT(value(&driver, 5), 0);
	CHECK_OK(cuLaunchKernel(find(&driver, "fill"), 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
	CHECK_INT(value(&driver, 2), 202);
	CHECK_INT(value(&driver, 3), 103);
	size = 12;
	CHECK_CUDA(cuLaunchKernel(find(&driver, "fill"), 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(find(&driver, "fill"), 1, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a launch of an invalid shape fails, and the context stays usable")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "count"), bounded = find(&driver, "bounded");
	void *arguments[] = {&driver.memory};

	CHECK_CUDA(launch(function, 0, 1, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(function, 1, 0, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(function, 1, 1025, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(bounded, 1, 65, NULL, arguments), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	CHECK_CUDA(launch((CUfunction)&driver, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(launch(NULL, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(launch(bounded, 1, 64, NULL, arguments));
	CHECK_INT(value(&driver, 0), 64);
	end(&driver);
}

TEST("more than 48 KiB of shared memory require opting in")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "shared");
	void *arguments[] = {&driver.memory};
	int bytes = -1;

	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 48 << 10, NULL, arguments, NULL));
	CHECK_INT(value(&driver, 15), 15);
	CHECK_CUDA(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64 << 10, NULL, arguments, NULL),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				    64 << 10));
	CHECK_OK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				    function));
	CHECK_INT(bytes, 64 << 10);
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64 << 10, NULL, arguments, NULL));
	CHECK_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				      1 << 20),
		   CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a cooperative launch that does not fit on the device is too large")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "count");
	void *arguments[] = {&driver.memory};
	int blocks = 0, multiprocessors = 0;

	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
	CHECK_OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				      0));
	CHECK(blocks > 0 && multiprocessors > 0);
	blocks *= multiprocessors;
	CHECK_OK(cuLaunchCooperativeKernel(function, (unsigned int)blocks, 1, 1, 256, 1, 1, 0, NULL,
					   arguments));
	CHECK_CUDA(cuLaunchCooperativeKernel(function, (unsigned int)blocks + 1, 1, 1, 256, 1, 1, 0,
					     NULL, arguments),
		   CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	CHECK_INT(value(&driver, 0), blocks * 256);
	end(&driver);
}

/* A fault of a kernel affects its context and no other. */
static void check_sticky(const char *kernel, CUdeviceptr argument, CUresult expected)
{
	struct driver other = begin();
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUdeviceptr memory;
	CUevent event;
	int byte;

	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate)); /* the calls come before the fault */
	CHECK_OK(launch(find(&driver, kernel), 1, 1, NULL, (void *[]){&argument}));
	CHECK_OK(cuEventRecord(event, NULL));
	atomic_store(&gate.open, true);
	CHECK_CUDA(cuCtxSynchronize(), expected);
	CHECK_CUDA(cuCtxSynchronize(), expected);
	CHECK_CUDA(cuEventQuery(event), expected);
	CHECK_CUDA(cuMemAlloc(&memory, 4), expected);
	CHECK_CUDA(cuMemFree(driver.memory), expected);
	CHECK_CUDA(cuMemcpyDtoH(&byte, driver.memory, 1), expected);
	CHECK_CUDA(cuStreamCreate(&(CUstream){0}, 0), expected);
	end(&driver);
	CHECK_OK(cuCtxSetCurrent(other.context));
	CHECK_OK(count(&other, 0, NULL));
	CHECK_INT(value(&other, 0), 1);
	end(&other);
}

TEST("an illegal access makes its context unusable, and only that")
{
	check_sticky("store", 16, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST("a misaligned access, a trap and a failed assertion make their context unusable, too")
{
	struct driver driver = begin();
	CUdeviceptr odd = driver.memory + 2;

	check_sticky("store", odd, CUDA_ERROR_MISALIGNED_ADDRESS);
	check_sticky("stop", 0, CUDA_ERROR_LAUNCH_FAILED);
	check_sticky("fail", 0, CUDA_ERROR_ASSERT);
	end(&driver);
}

TEST("an access past the end of an allocation is illegal")
{
	struct driver driver = begin();
	CUdeviceptr past = driver.memory + 4096;

	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, (void *[]){&past}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(&driver);
}

TEST("work that is queued when a kernel fails is not run")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUdeviceptr wrong = 8;
	int *pinned;

	CHECK_OK(cuMemAllocHost((void **)&pinned, 4));
	*pinned = 5;
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, (void *[]){&wrong}));
	CHECK_OK(cuMemcpyDtoHAsync(pinned, driver.memory, 4, NULL));
	atomic_store(&gate.open, true);
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_INT(*pinned, 5);
	end(&driver);
}

/* ---- modules --------------------------------------------------------------------------- */

TEST("a module's variables can be found, read and written")
{
	struct driver driver = begin();
	CUdeviceptr table = 0, total = 0;
	size_t size = 0;
	int seen[4] = {0};

	CHECK_OK(cuModuleGetGlobal(&table, &size, driver.module, "table"));
	CHECK_INT(size, 16);
	CHECK_OK(cuMemcpyDtoH(seen, table, 16));
	CHECK_INT(seen[3], 13);
	CHECK_OK(cuModuleGetGlobal(&total, NULL, driver.module, "total"));
	CHECK_OK(launch(find(&driver, "count"), 3, 1, NULL, (void *[]){&total}));
	CHECK_OK(cuMemcpyDtoH(seen, total, 4));
	CHECK_INT(seen[0], 3);
	CHECK_CUDA(cuModuleGetGlobal(&table, &size, driver.module, "nothing"),
		   CUDA_ERROR_NOT_FOUND);
	CHECK_CUDA(cuMemFree(total), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a missing function is not found, nor any of an unloaded module")
{
	struct driver driver = begin();
	CUfunction function, counting = find(&driver, "count");
	void *arguments[] = {&driver.memory};

	CHECK_CUDA(cuModuleGetFunction(&function, driver.module, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuModuleUnload(driver.module));
	CHECK_CUDA(cuModuleUnload(driver.module), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuModuleGetFunction(&function, driver.module, "count"),
		   CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(launch(counting, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

TEST("a function has a name, parameters and limits")
{
	struct driver driver = begin();
	CUfunction fill = find(&driver, "fill"), bounded = find(&driver, "bounded");
	const char *name = NULL;
	size_t offset = 0, size = 0;
	int threads = 0;

	CHECK_OK(cuFuncGetName(&name, fill));
	CHECK_STR(name, "fill");
	CHECK_OK(cuFuncGetParamInfo(fill, 2, &offset, &size));
	CHECK_INT(offset, 12);
	CHECK_INT(size, 4);
	CHECK_CUDA(cuFuncGetParamInfo(fill, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_INT(threads, 64);
	end(&driver);
}

static CUresult load_with_log(const char *image, char *log, size_t size)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)size};
	CUmodule module;

	return cuModuleLoadDataEx(&module, image, 2, options, values);
}

static int registers_of(CUmodule module)
{
	CUfunction function;
	int registers = 0;

	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	return registers;
}

TEST("a limit of registers limits those that a kernel reports")
{
	static const char text[] = PTX_HEADER ".visible .entry k()\n{\n\tret;\n}\n",
			  limited[] = PTX_HEADER ".visible .entry k() .maxnreg 8\n{\n\tret;\n}\n";
	struct driver driver = begin();
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)10;
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, text));
	CHECK(registers_of(module) > 10);
	CHECK_OK(cuModuleLoadDataEx(&module, text, 1, &option, &value));
	CHECK_INT(registers_of(module), 10);
	CHECK_OK(cuModuleLoadData(&module, limited));
	CHECK_INT(registers_of(module), 8);
	end(&driver);
}

TEST("invalid PTX is an error with a log")
{
	struct driver driver = begin();
	char log[300] = "before", small[8];

	CHECK_CUDA(load_with_log(PTX_HEADER ".visible .entry k()\n{\n\tfrobnicate.u32 1;\n}\n", log,
				 sizeof(log)),
		   CUDA_ERROR_INVALID_PTX);
	CHECK_STR(log, "6:2: unknown opcode \"frobnicate\" in function \"k\"\n");
	CHECK_CUDA(load_with_log(PTX_HEADER
				 ".visible .entry k()\n{\n\twgmma.fence.sync.aligned;\n}\n",
				 log, sizeof(log)),
		   CUDA_ERROR_INVALID_PTX);
	CHECK_STR(log, "line 6: opcode 'wgmma' in function 'k' is not supported by the software "
		       "device\n");
	CHECK_CUDA(load_with_log("this is no PTX", log, sizeof(log)), CUDA_ERROR_INVALID_PTX);
	CHECK(log[0]);
	CHECK_CUDA(load_with_log("this is no PTX", small, sizeof(small)), CUDA_ERROR_INVALID_PTX);
	CHECK_INT(strlen(small), 7);
	CHECK_OK(load_with_log(kernels_ptx, log, sizeof(log)));
	CHECK_STR(log, "");
	end(&driver);
}

TEST("PTX for a newer device cannot be loaded")
{
	struct driver driver = begin();
	CUmodule module;

	CHECK_CUDA(cuModuleLoadData(&module, ".version 8.7\n.target sm_120\n.address_size 64\n"),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	end(&driver);
}

TEST("PTX of every toolkit of CUDA 13 can be loaded, that of a later major version cannot")
{
	struct driver driver = begin();
	char log[512];

	CHECK_OK(
		load_with_log(".version 9.3\n.target sm_75\n.address_size 64\n", log, sizeof(log)));
	CHECK_CUDA(
		load_with_log(".version 10.0\n.target sm_75\n.address_size 64\n", log, sizeof(log)),
		CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	CHECK_STR(log, "the PTX is of version 10.0, this device knows those up to 9\n");
	end(&driver);
}

/* A fatbin with the kernels; the caller frees. */
static struct gt_strbuf make_fatbin(enum gt_fatbin_compression compression)
{
	struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX,
		.data = kernels_ptx,
		.size = sizeof(kernels_ptx) - 1,
	};
	struct gt_strbuf image = GT_STRBUF_INIT;

	CHECK_INT(gt_fatbin_write(&source, 1, compression, &image, NULL), 0);
	return image;
}

struct wrapper {
	uint32_t magic, version;
	const void *data, *unused;
};

TEST("modules are loaded from fatbins, compressed or not, wrapped or not")
{
	struct driver driver = begin();

	for (int i = GT_FATBIN_COMPRESSION_NONE; i <= GT_FATBIN_COMPRESSION_ZSTD; i++) {
		struct gt_strbuf image = make_fatbin((enum gt_fatbin_compression)i);
		struct wrapper wrapper = {0x466243b1, 1, image.data, NULL};
		CUmodule module;

		CHECK_OK(cuModuleLoadFatBinary(&module, image.data));
		CHECK_OK(cuModuleUnload(module));
		CHECK_OK(cuModuleLoadData(&driver.module, &wrapper));
		gt_strbuf_free(&image);
		CHECK_OK(count(&driver, 0, NULL));
		CHECK_INT(value(&driver, 0), i + 1);
	}
	end(&driver);
}

TEST("a corrupt fatbin is an invalid image and does not crash")
{
	struct driver driver = begin();
	struct gt_strbuf image = make_fatbin(GT_FATBIN_COMPRESSION_ZSTD);
	int rejected = 0;
	CUmodule module;

	for (size_t at = 16; at < image.length; at += 7) {
		CUresult result;

		image.data[at] ^= 0x55;
		result = cuModuleLoadData(&module, image.data);
		rejected += result != CUDA_SUCCESS;
		CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_IMAGE ||
		      result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NO_BINARY_FOR_GPU);
		image.data[at] ^= 0x55;
	}
	CHECK(rejected > 10);
	CHECK_CUDA(cuModuleLoadData(&module, "\1\2\3\4 something else, with no meaning at all"),
		   CUDA_ERROR_INVALID_IMAGE);
	CHECK_CUDA(cuModuleLoad(&module, "/nothing/there"), CUDA_ERROR_FILE_NOT_FOUND);
	gt_strbuf_free(&image);
	end(&driver);
}

TEST("a kernel of a library runs in every context")
{
	struct driver first = begin();
	struct driver second;
	CUlibrary library;
	CUkernel kernel;
	unsigned int kernels = 0;
	const char *name = NULL;

	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetKernelCount(&kernels, library));
	CHECK_INT(kernels, 9);
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "count"));
	CHECK_CUDA(cuLibraryGetKernel(&(CUkernel){0}, library, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuKernelGetName(&name, kernel));
	CHECK_STR(name, "count");
	CHECK_OK(launch((CUfunction)kernel, 1, 2, NULL, (void *[]){&first.memory}));
	CHECK_INT(value(&first, 0), 2);
	second = begin();
	CHECK_OK(launch((CUfunction)kernel, 1, 3, NULL, (void *[]){&second.memory}));
	CHECK_INT(value(&second, 0), 3);
	end(&second);
	CHECK_OK(cuCtxSetCurrent(first.context));
	CHECK_OK(cuLibraryUnload(library));
	CHECK_CUDA(launch((CUfunction)kernel, 1, 1, NULL, (void *[]){&first.memory}),
		   CUDA_ERROR_INVALID_HANDLE);
	end(&first);
}

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

TEST("every function of the driver API is found by name")
{
	CUdriverProcAddressQueryResult status;
	void *plain = NULL, *per_thread = NULL, *address = NULL;
	CUresult (*unknown)(void);

	CHECK_OK(cuGetProcAddress("cuMemAlloc", &plain, 13000, 0, &status));
	CHECK(plain == (void *)cuMemAlloc);
	CHECK_OK(cuGetProcAddress("cuStreamSynchronize", &plain, 13000, 0, &status));
	CHECK_OK(cuGetProcAddress("cuStreamSynchronize", &per_thread, 13000,
				  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	CHECK(plain && per_thread && plain != per_thread);
	CHECK_CUDA(cuGetProcAddress("cuLibraryLoadData", &address, 11000, 0, &status),
		   CUDA_ERROR_NOT_FOUND);
	CHECK_INT(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CHECK_CUDA(cuGetProcAddress("printf", &address, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_OK(cuGetProcAddress("cuSomethingOfTheFuture", &address, 13000, 0, &status));
	memcpy(&unknown, &address, sizeof(address));
	CHECK_CUDA(unknown(), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_OK(cuGetProcAddress("cuTensorMapEncodeTiled", &address, 13000, 0, &status));
	memcpy(&unknown, &address, sizeof(address));
	CHECK_CUDA(unknown(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST("every error has a name and a text, and no other value has")
{
	const char *text = NULL;

	CHECK_OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	CHECK_STR(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
	CHECK_OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	CHECK_STR(text, "an illegal memory access was encountered");
	CHECK_CUDA(cuGetErrorName((CUresult)9, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(!text);
	CHECK_CUDA(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(kernels_ptx);
	remember_text(caller_ptx);
	remember_text(callee_ptx);
	check_with_ptxas();
}

TEST_MAIN
