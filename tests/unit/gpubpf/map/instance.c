/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instances of maps, one per context, and shared maps, on two devices of the software GPU (LIBCUDA
 * is its driver library). The modules are hand-written, with the symbols that translate.h
 * specifies.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "gpubpf/map/instance.h"
#include "tap.h"

enum {
	DEVICES = 2,
	PAGE = 4096,
};

/* Adds 1 to the first value of both arrays. */
static const char counting[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
			       ".weak .const .align 8 .b64 test_map_0[2];\n"
			       ".weak .const .align 8 .b64 test_map_1[2];\n"
			       ".weak .const .align 8 .b64 test_pid_tgid[1];\n"
			       ".visible .entry count()\n"
			       "{\n"
			       ".reg .u64 %rd<4>;\n"
			       "ld.const.u64 %rd1, [test_map_0];\n"
			       "ld.const.u64 %rd2, [test_map_1];\n"
			       "ld.const.u64 %rd3, [test_pid_tgid];\n"
			       "red.gpu.global.add.u64 [%rd1], %rd3;\n"
			       "red.sys.global.add.u64 [%rd2], 1;\n"
			       "ret;\n"
			       "}\n";
/* Uses the ring, and prints. */
static const char writing[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
			      ".weak .const .align 8 .b64 test_map_2[2];\n"
			      ".weak .const .align 8 .b64 test_output[2];\n"
			      ".visible .entry write()\n"
			      "{\n"
			      "ret;\n"
			      "}\n";
static const char wrong[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
			    ".visible .const .align 8 .b64 test_map_0[1];\n";

static struct gt_bpf_map maps[] = {
	{.name = "own",
	 .type = BPF_MAP_TYPE_ARRAY,
	 .key_size = 4,
	 .value_size = 8,
	 .max_entries = 2},
	{.name = "shared",
	 .type = BPF_MAP_TYPE_ARRAY,
	 .key_size = 4,
	 .value_size = 8,
	 .max_entries = 2,
	 .flags = BPF_F_MMAPABLE},
	{.name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = PAGE},
	{.name = "of Linux", .type = BPF_MAP_TYPE_LRU_HASH, .host_only = true},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};

/* Both devices with an instance each. */
struct fixture {
	struct gt_driver *driver;
	struct gt_device *devices[DEVICES];
	struct gt_shared *shared;
	struct gt_instance *instances[DEVICES];
	struct gt_module *modules[4];
	unsigned module_count;
	struct gt_diag diag;
};

static bool set_up(struct fixture *fixture, const int *arrays)
{
	static const struct gt_bpf_map_grid grid = {
		.multiprocessors = 4, .grid = {1, 1, 1}, .block = {1, 1, 1}};

	*fixture = (struct fixture){0};
	setenv("SOFTGPU_DEVICES", "2", 1);
	if (gt_driver_open(getenv("LIBCUDA"), &fixture->driver, &fixture->diag) ||
	    gt_shared_open(&object, arrays, &fixture->shared, &fixture->diag))
		goto failed;
	for (unsigned i = 0; i < DEVICES; i++)
		if (gt_device_open(fixture->driver, i, &fixture->devices[i], &fixture->diag) ||
		    gt_instance_open(&object, fixture->shared, fixture->devices[i], &grid,
				     &fixture->instances[i], &fixture->diag))
			goto failed;
	return true;
failed:
	TAP_FAIL("%s: %s", fixture->diag.place, fixture->diag.text);
	return false;
}

static void tear_down(struct fixture *fixture)
{
	for (unsigned i = 0; i < fixture->module_count; i++)
		gt_module_free(fixture->modules[i]);
	for (unsigned i = 0; i < DEVICES; i++)
		gt_instance_close(fixture->instances[i]);
	gt_shared_close(fixture->shared);
	for (unsigned i = 0; i < DEVICES; i++)
		gt_device_close(fixture->devices[i]);
	gt_driver_free(fixture->driver);
}

/* Loads a module on a device and binds the device's instance to it. */
static int load(struct fixture *fixture, unsigned device, const char *text, uint64_t thread)
{
	struct gt_module **module = &fixture->modules[fixture->module_count];
	int error = gt_device_use(fixture->devices[device], &fixture->diag);

	if (!error)
		error = gt_module_load(fixture->devices[device], text, module, NULL,
				       &fixture->diag);
	if (error)
		return error;
	fixture->module_count++;
	return gt_instance_bind(fixture->instances[device], *module, "test_", thread,
				&fixture->diag);
}

static int run_last(struct fixture *fixture, unsigned device)
{
	struct gt_launch launch = {.kernel = "count", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	int error = gt_module_launch(fixture->modules[fixture->module_count - 1], &launch,
				     &fixture->diag);

	return error ? error : gt_device_wait(fixture->devices[device], 0, &fixture->diag);
}

static uint64_t first_of(struct gt_bpf_map_view view)
{
	return *(const uint64_t *)view.memory;
}

TEST("modules of a context have the same maps, and all contexts have shared maps in common")
{
	struct fixture fixture;

	if (!set_up(&fixture, NULL))
		return;
	CHECK(!load(&fixture, 0, counting, 10));
	CHECK(!run_last(&fixture, 0));
	CHECK(!load(&fixture, 0, counting, 7));
	CHECK(!run_last(&fixture, 0));
	CHECK(!gt_instance_fetch(fixture.instances[0], &fixture.diag));
	CHECK(!load(&fixture, 1, counting, 100));
	CHECK(!run_last(&fixture, 1));
	CHECK(!gt_instance_fetch(fixture.instances[1], &fixture.diag));
	CHECK_STR(fixture.diag.text, "");
	CHECK_INT(first_of(gt_instance_view(fixture.instances[0], 0)), 17);
	CHECK_INT(first_of(gt_instance_view(fixture.instances[1], 0)), 100);
	CHECK_INT(first_of(gt_shared_view(fixture.shared, 1)), 3);
	CHECK(fixture.instances[0]->memory[1] == fixture.instances[1]->memory[1]);
	tear_down(&fixture);
}

TEST("only arrays are common, and maps of host programs only are not allocated")
{
	struct fixture fixture;

	if (!set_up(&fixture, NULL))
		return;
	for (uint32_t map = 0; map < gt_countof(maps); map++) {
		CHECK_INT(!!gt_shared_map(fixture.shared, map), map == 1);
		CHECK_INT(gt_instance_owns(fixture.instances[0], map), map == 0 || map == 2);
	}
	CHECK(!fixture.instances[0]->memory[3]);
	tear_down(&fixture);
}

TEST("a module that uses no map allocates none on the device")
{
	static const char nothing[] = ".version 7.0\n.target sm_60\n.address_size 64\n"
				      ".visible .entry count()\n{\nret;\n}\n";
	struct fixture fixture;

	if (!set_up(&fixture, NULL))
		return;
	CHECK(!load(&fixture, 0, nothing, 1));
	CHECK(!run_last(&fixture, 0));
	for (uint32_t map = 0; map < gt_countof(maps); map++)
		CHECK_INT(fixture.instances[0]->maps[map].on_device.size, 0);
	CHECK(!fixture.instances[0]->output);
	CHECK(!gt_shared_map(fixture.shared, 1)->registered_by);
	tear_down(&fixture);
}

TEST("a symbol of another size is rejected")
{
	struct fixture fixture;

	if (!set_up(&fixture, NULL))
		return;
	CHECK_INT(load(&fixture, 0, wrong, 0), -EINVAL);
	CHECK_STR(fixture.diag.place, "test_map_0");
	CHECK_STR(fixture.diag.text, "the symbol has 8 bytes instead of 16");
	tear_down(&fixture);
}

TEST("closing a context frees its own rings only")
{
	struct fixture fixture;
	uint64_t address;
	void *ring, *output;

	if (!set_up(&fixture, NULL))
		return;
	CHECK(!load(&fixture, 0, writing, 0));
	CHECK(!load(&fixture, 1, writing, 0));
	ring = fixture.instances[0]->memory[2];
	output = fixture.instances[0]->output->memory;
	CHECK(ring != fixture.instances[1]->memory[2]);
	CHECK(!gt_device_address(fixture.devices[0], ring, &address, NULL));
	CHECK(!gt_device_address(fixture.devices[0], output, &address, NULL));
	gt_instance_close(gt_take(fixture.instances[0]));
	CHECK_INT(gt_device_address(fixture.devices[0], ring, &address, NULL), -EIO);
	CHECK_INT(gt_device_address(fixture.devices[0], output, &address, NULL), -EIO);
	CHECK(!gt_device_address(fixture.devices[1], fixture.instances[1]->memory[2], &address,
				 NULL));
	tear_down(&fixture);
}

TEST("a map of a descriptor is the file's memory with its contents")
{
	int arrays[] = {-1, memfd_create("array", MFD_CLOEXEC), -1, -1};
	struct fixture fixture;
	uint64_t number = 41;

	CHECK_INT(pwrite(arrays[1], &number, sizeof(number), 0), sizeof(number));
	CHECK(!ftruncate(arrays[1], PAGE));
	if (!set_up(&fixture, arrays))
		return;
	CHECK(!load(&fixture, 1, counting, 0));
	CHECK(!run_last(&fixture, 1));
	CHECK_INT(pread(arrays[1], &number, sizeof(number), 0), sizeof(number));
	CHECK_INT(number, 42);
	tear_down(&fixture);
	CHECK_INT(fcntl(arrays[1], F_GETFD), FD_CLOEXEC); /* it is still ours */
	close(arrays[1]);
}

TEST("a descriptor that cannot be mapped is reported with the map's name")
{
	struct gt_shared *shared = NULL;
	struct gt_diag diag = {0};
	int arrays[] = {-1, eventfd(0, EFD_CLOEXEC), -1, -1};

	CHECK_INT(gt_shared_open(&object, arrays, &shared, &diag), -ENODEV);
	CHECK_STR(diag.place, "shared");
	CHECK_STR(diag.text, "cannot map 4096 bytes: No such device");
	CHECK(!shared);
	close(arrays[1]);
}

TEST("memory that may still be written to stays mapped after the close")
{
	struct fixture fixture;
	uint64_t *memory;

	if (!set_up(&fixture, NULL))
		return;
	memory = gt_shared_map(fixture.shared, 1)->memory;
	gt_shared_abandon(fixture.shared);
	tear_down(&fixture);
	memory[0] = 1;
	CHECK_INT(memory[0], 1);
	munmap(memory, PAGE);
}

TEST_MAIN
