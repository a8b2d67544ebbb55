/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* src/cuda on the software GPU, whose driver library is LIBCUDA. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cuda/device.h"
#include "tap.h"

static const char doubling[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
			       ".visible .global .align 8 .b8 table[24];\n"
			       ".visible .entry twice(.param .u64 where, .param .u64 number)\n"
			       "{\n"
			       ".reg .u64 %rd<4>;\n"
			       "ld.param.u64 %rd1, [where];\n"
			       "ld.param.u64 %rd2, [number];\n"
			       "add.u64 %rd3, %rd2, %rd2;\n"
			       "st.global.u64 [%rd1], %rd3;\n"
			       "ret;\n"
			       "}\n"
			       ".visible .entry forever()\n"
			       "{\n"
			       "again:\n"
			       "bra again;\n"
			       "}\n";

/* A device of the software GPU. */
struct opened {
	struct gt_driver *driver;
	struct gt_device *device;
	struct gt_diag diag;
};

static bool open_device(struct opened *opened)
{
	*opened = (struct opened){0};
	if (!gt_driver_open(getenv("LIBCUDA"), &opened->driver, &opened->diag) &&
	    !gt_device_open(opened->driver, 0, &opened->device, &opened->diag))
		return true;
	TAP_FAIL("%s: %s", opened->diag.place, opened->diag.text);
	return false;
}

static void close_device(struct opened *opened)
{
	gt_device_close(opened->device);
	gt_driver_free(opened->driver);
}

TEST("a missing driver library is reported")
{
	struct gt_driver *driver = NULL;
	struct gt_diag diag = {0};

	CHECK_INT(gt_driver_open("/nowhere/libcuda.so.1", &driver, &diag), -ENOENT);
	CHECK_STR(
		diag.text,
		"cannot load the driver library: /nowhere/libcuda.so.1: cannot open shared object "
		"file: No such file or directory");
	CHECK(!driver);
}

TEST("a library that is not a driver is reported with a function that it lacks")
{
	struct gt_driver *driver = NULL;
	struct gt_diag diag = {0};

	CHECK_INT(gt_driver_open("libc.so.6", &driver, &diag), -ENOTSUP);
	CHECK_STR(diag.place, "libc.so.6");
	CHECK_STR(diag.text,
		  "the driver library has no cuInit: install a driver for CUDA 11.4 or newer");
}

TEST("a device has a name, an id and a compute capability")
{
	static const uint8_t nothing[16];
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK_INT(gt_driver_device_count(opened.driver), 1);
	CHECK(gt_driver_version(opened.driver) >= 11040);
	CHECK_STR(gt_device_info(opened.device)->name, "gputap software GPU");
	CHECK(memcmp(gt_device_info(opened.device)->uuid, nothing, 16));
	CHECK_INT(gt_device_info(opened.device)->sm, 90);
	CHECK_INT(gt_device_info(opened.device)->multiprocessors, 4);
	CHECK_INT(gt_device_info(opened.device)->max_block_threads, 1024);
	close_device(&opened);
}

TEST("memory of a device is zeros, and keeps the bytes that are written")
{
	uint8_t bytes[64], back[64];
	struct gt_device_memory memory = {0};
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK(!gt_device_allocate(opened.device, 64, &memory, &opened.diag));
	memset(bytes, 0, sizeof(bytes));
	memset(back, 1, sizeof(back));
	CHECK(!gt_device_read(opened.device, memory.address, back, 64, &opened.diag));
	CHECK(!memcmp(bytes, back, 64));
	memset(bytes, 7, sizeof(bytes));
	CHECK(!gt_device_write(opened.device, memory.address + 8, bytes, 8, &opened.diag));
	CHECK(!gt_device_read(opened.device, memory.address, back, 64, &opened.diag));
	CHECK(!back[7] && back[8] == 7 && back[15] == 7 && !back[16]);
	CHECK_INT(gt_device_write(opened.device, memory.address + 4096 * 4096, bytes, 8,
				  &opened.diag),
		  -EIO);
	CHECK_STR(opened.diag.place, "cuMemcpyHtoD");
	CHECK_STR(opened.diag.text, "CUDA_ERROR_INVALID_VALUE: invalid argument");
	gt_device_free(opened.device, &memory);
	CHECK(!memory.address && !memory.size);
	close_device(&opened);
}

TEST("memory that is shared is zeros, and another process that has its handle sees what is written")
{
	const size_t size = 2 * GT_DEVICE_SHARED_UNIT;
	struct gt_device_memory memory = {0};
	uint64_t number = 77, *other;
	struct opened opened;
	struct stat status;
	int fd = -1;

	if (!open_device(&opened))
		return;
	CHECK(!gt_device_share(opened.device, size, &memory, &fd, &opened.diag));
	/* The handles of the software GPU are files, without pages so far. */
	CHECK(!fstat(fd, &status) && !status.st_blocks);
	other = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(other != MAP_FAILED);
	if (other != MAP_FAILED) {
		CHECK(!other[0] && !other[size / sizeof(*other) - 1]);
		CHECK(!gt_device_write(opened.device, memory.address + size - 8, &number, 8,
				       &opened.diag));
		CHECK_INT(other[size / sizeof(*other) - 1], 77);
		other[3] = 78;
		CHECK(!gt_device_read(opened.device, memory.address + 24, &number, 8,
				      &opened.diag));
		CHECK_INT(number, 78);
		munmap(other, size);
	}
	close(fd);
	gt_device_unshare(opened.device, &memory);
	CHECK(!memory.address && !memory.size);
	CHECK(gt_device_share(opened.device, (size_t)1 << 50, &memory, &fd, &opened.diag));
	CHECK_STR(opened.diag.place, "cuMemCreate");
	close_device(&opened);
}

TEST("allocating more memory than there is fails")
{
	struct gt_device_memory memory = {0};
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK_INT(gt_device_allocate(opened.device, (size_t)1 << 50, &memory, &opened.diag),
		  -ENOMEM);
	CHECK_STR(opened.diag.text, "CUDA_ERROR_OUT_OF_MEMORY: out of memory");
	CHECK(!memory.address);
	close_device(&opened);
}

/* Launch twice(where, 21), and wait for it. */
static int run_twice(struct opened *opened, struct gt_module *module, uint64_t where)
{
	uint64_t number = 21;
	void *arguments[] = {&where, &number};
	struct gt_launch launch = {
		.kernel = "twice", .grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = arguments};
	int error = gt_module_launch(module, &launch, &opened->diag);

	return error ? error : gt_device_wait(opened->device, 0, &opened->diag);
}

TEST("a kernel writes memory of the device and registered memory of the host")
{
	struct gt_device_memory memory = {0};
	struct gt_module *module = NULL;
	struct opened opened;
	uint64_t result = 0, address = 0, *page;

	if (!open_device(&opened))
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(!gt_module_load(opened.device, doubling, &module, NULL, &opened.diag));
	CHECK(!gt_device_allocate(opened.device, 8, &memory, &opened.diag));
	CHECK(!gt_device_register(opened.device, page, 4096, &opened.diag));
	CHECK(!gt_device_address(opened.device, page, &address, &opened.diag));
	CHECK(!run_twice(&opened, module, memory.address));
	CHECK(!gt_device_read(opened.device, memory.address, &result, 8, &opened.diag));
	CHECK_INT(result, 42);
	CHECK_INT(page[0], 0);
	CHECK(!run_twice(&opened, module, address));
	CHECK_INT(page[0], 42);
	gt_device_unregister(opened.device, page);
	munmap(page, 4096);
	gt_device_free(opened.device, &memory);
	gt_module_free(module);
	close_device(&opened);
}

TEST("memory of the host is registered once, and has no address before and after")
{
	struct opened opened;
	uint64_t address = 0;
	void *page;

	if (!open_device(&opened))
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_INT(gt_device_address(opened.device, page, &address, NULL), -EIO);
	CHECK(!gt_device_register(opened.device, page, 4096, &opened.diag));
	CHECK_INT(gt_device_register(opened.device, page, 4096, &opened.diag), -EIO);
	CHECK_STR(opened.diag.place, "cuMemHostRegister");
	CHECK(strstr(opened.diag.text, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED") ==
	      opened.diag.text);
	gt_device_unregister(opened.device, page);
	CHECK_INT(gt_device_address(opened.device, page, &address, NULL), -EIO);
	CHECK_INT(address, 0);
	munmap(page, 4096);
	close_device(&opened);
}

TEST("a module's variables are found by name, and a missing one is reported")
{
	struct gt_launch launch = {.kernel = "thrice", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct gt_module *module = NULL;
	struct gt_diag diag = {0};
	struct opened opened;
	uint64_t address = 0;
	size_t size = 0;

	if (!open_device(&opened))
		return;
	CHECK(!gt_module_load(opened.device, doubling, &module, NULL, &opened.diag));
	CHECK(!gt_module_symbol(module, "table", &address, &size, &opened.diag));
	CHECK(address);
	CHECK_INT(size, 24);
	CHECK_INT(gt_module_symbol(module, "chair", &address, &size, &diag), -ENOENT);
	CHECK_STR(diag.place, "chair");
	CHECK_STR(diag.text, "the module has no such variable");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_module_launch(module, &launch, &diag), -ENOENT);
	CHECK_STR(diag.text, "the module has no such kernel");
	gt_module_free(module);
	close_device(&opened);
}

TEST("invalid PTX is rejected with the compiler's reason")
{
	static const char wrong[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
				    ".visible .entry bad() { add.u64 %rd1; }\n";
	struct gt_module *module = NULL;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK_INT(gt_module_load(opened.device, wrong, &module, &log, &opened.diag), -EIO);
	CHECK_STR(opened.diag.place, "cuModuleLoadDataEx");
	CHECK(!strncmp(opened.diag.text, "CUDA_ERROR_INVALID_PTX: ", 24));
	CHECK(log.length && strstr(opened.diag.text, "; "));
	CHECK(!module);
	close_device(&opened);
}

TEST("a kernel's illegal address is an error with CUDA's name")
{
	struct gt_module *module = NULL;
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK(!gt_module_load(opened.device, doubling, &module, NULL, &opened.diag));
	CHECK_INT(run_twice(&opened, module, 64), -EIO);
	CHECK_STR(opened.diag.text,
		  "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
	gt_module_free(module);
	close_device(&opened);
}

/* The last one: the kernel runs until the process ends. */
TEST("waiting for a kernel that does not end has a limit")
{
	struct gt_launch launch = {.kernel = "forever", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct gt_module *module = NULL;
	struct opened opened;

	if (!open_device(&opened))
		return;
	CHECK(!gt_module_load(opened.device, doubling, &module, NULL, &opened.diag));
	CHECK(!gt_module_launch(module, &launch, &opened.diag));
	CHECK_INT(gt_device_wait(opened.device, 50 * 1000 * 1000, &opened.diag), -ETIME);
	CHECK_STR(opened.diag.text, "the program did not end within 50 ms");
	gt_device_abandon(opened.device);
	gt_module_free(module);
	close_device(&opened);
}

TEST_MAIN
