/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine with an arena, for tests of the interpreter. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "exec/exec.h"
#include "opcode_record.h"
#include "ptxas.h"
#include "tap.h"

enum {
	ARENA_SIZE = 64 << 20,
};

#define HANG_NS 300000000000 /* after which a grid hangs, on the slowest machine */

struct device {
	struct sg_machine *machine;
	char *arena;
	uint64_t used;
	struct gt_strbuf output; /* what kernels printed */
	pthread_mutex_t lock;
};

static int device_allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address)
{
	struct device *device = user;
	uint64_t place;

	pthread_mutex_lock(&device->lock);
	alignment = alignment < SG_GRANULE ? SG_GRANULE : alignment;
	place = (device->used + alignment - 1) & ~(alignment - 1);
	if (place + size > ARENA_SIZE) {
		pthread_mutex_unlock(&device->lock);
		return -ENOMEM;
	}
	device->used = place + size;
	pthread_mutex_unlock(&device->lock);
	*ret_address = (uint64_t)(uintptr_t)device->arena + place;
	return sg_memory_allow(device->machine, *ret_address, size);
}

static void device_release(void *user, uint64_t address, uint64_t size)
{
	struct device *device = user;

	sg_memory_deny(device->machine, address, size);
}

static void device_output(void *user, enum sg_output output, const char *text, size_t length)
{
	struct device *device = user;

	pthread_mutex_lock(&device->lock);
	gt_strbuf_add(&device->output, text, length);
	pthread_mutex_unlock(&device->lock);
}

/*
 * Open a device whose arena is at an address; NULL, or if others are there: anywhere. Of the host's
 * functions only `clock` is that of the options; it gets the device.
 */
static void device_open_at(struct device *device, void *address, struct sg_machine_options options)
{
	struct gt_diag diag = {0};

	memset(device, 0, sizeof(*device));
	pthread_mutex_init(&device->lock, NULL);
	device->arena = mmap(address, ARENA_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	options.arena_address = (uint64_t)(uintptr_t)device->arena;
	options.arena_size = ARENA_SIZE;
	options.host = (struct sg_host){.user = device,
					.allocate = device_allocate,
					.release = device_release,
					.output = device_output,
					.clock = options.host.clock};
	if (sg_machine_new(&options, &device->machine, &diag)) {
		printf("Bail out! %s\n", diag.text);
		exit(1);
	}
}

static inline void device_open_with(struct device *device, struct sg_machine_options options)
{
	device_open_at(device, NULL, options);
}

static inline void device_open(struct device *device)
{
	device_open_with(device, (struct sg_machine_options){.timeout_ns = HANG_NS});
}

static void device_close(struct device *device)
{
	sg_machine_free(device->machine);
	munmap(device->arena, ARENA_SIZE);
	gt_strbuf_free(&device->output);
	pthread_mutex_destroy(&device->lock);
}

static inline void cleanup_device(struct device *device)
{
	if (device->machine)
		device_close(device);
}
#define auto_device __attribute__((cleanup(cleanup_device))) struct device

/* Device memory, cleared. */
static inline void *device_memory(struct device *device, size_t size)
{
	uint64_t address = 0;

	if (device_allocate(device, size, SG_GRANULE, &address)) {
		printf("Bail out! no memory in the test's arena\n");
		exit(1);
	}
	return memset((void *)(uintptr_t)address, 0, size);
}

/* ---- modules and grids ----------------------------------------------------------------- */

/* Loads a module; a text that does not load fails the test. */
static inline struct sg_module *device_load(struct device *device, const char *text)
{
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};

	remember_text(text);
	if (sg_module_load_text(device->machine, text, strlen(text), &module, &diag))
		TAP_FAIL("the module does not load: %s %s", diag.place, diag.text);
	else
		record_module(module, text);
	return module;
}

/* Runs a kernel whose parameters are `count` 64-bit words. */
static inline int device_run_with(struct device *device, struct sg_module *module, const char *name,
				  struct sg_launch launch, const uint64_t *parameters, size_t count,
				  struct sg_grid_result *result)
{
	memset(result, 0, sizeof(*result));
	launch.function = module ? sg_module_function(module, name) : NULL;
	if (!launch.function) {
		TAP_FAIL("there is no kernel %s", name);
		return -ENOENT;
	}
	for (int i = 0; i < 3; i++) {
		launch.shape.grid[i] = launch.shape.grid[i] ? launch.shape.grid[i] : 1;
		launch.shape.block[i] = launch.shape.block[i] ? launch.shape.block[i] : 1;
	}
	launch.parameters = parameters;
	launch.parameter_size = count * sizeof(*parameters);
	record_launch(module, name);
	return sg_grid_run(device->machine, &launch, result);
}

/* blocks × threads, parameters of 64 bits; what goes wrong fails the test. */
#define device_run(device, module, name, blocks, threads, ...)                                     \
	({                                                                                         \
		const uint64_t run_parameters[] = {__VA_ARGS__};                                   \
		struct sg_grid_result run_result;                                                  \
		int run_error = device_run_with(                                                   \
			device, module, name,                                                      \
			(struct sg_launch){.shape.grid = {blocks}, .shape.block = {threads}},      \
			run_parameters, sizeof(run_parameters) / sizeof(run_parameters[0]),        \
			&run_result);                                                              \
		if (run_error)                                                                     \
			TAP_FAIL("%s: error %d, %s", name, run_error, run_result.fault.text);      \
		run_error;                                                                         \
	})

#define address_of(pointer) ((uint64_t)(uintptr_t)(pointer))

#define PTX_HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_HEADER_90 ".version 8.0\n.target sm_90\n.address_size 64\n"
