/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as PTX; the kernels of what loads are run. Nothing outside of an arena may be touched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/exec.h"
#include "exec/texture.h"

enum {
	ARENA = 1 << 20,
	USABLE = 256 << 10, /* of it, from its start; the rest is never allowed */
	THREADS = 40,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sg_machine *machine;
static char *arena;
static uint64_t used;

static int allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address)
{
	uint64_t place;

	if (alignment > ARENA)
		return -ENOMEM;
	place = (used + alignment - 1) & ~(alignment - 1);
	if (size > USABLE || place + size > USABLE)
		return -ENOMEM;
	used = place + size;
	*ret_address = (uint64_t)(uintptr_t)arena + place;
	return sg_memory_allow(machine, *ret_address, size);
}

static void release(void *user, uint64_t address, uint64_t size)
{
	sg_memory_deny(machine, address, size);
}

/*
 * A texture and a surface of two levels of 6 layers, with handles 0x100000 and 0x200001. Pages that
 * cannot be accessed surround their memory.
 */
static void add_images(void)
{
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_SINT16,
			  .channels = 2,
			  .element = 4,
			  .is_layered = true,
			  .is_cube = true,
			  .level_count = 2},
		.sampler = {.address = {SG_ADDRESS_WRAP, SG_ADDRESS_MIRROR, SG_ADDRESS_CLAMP},
			    .is_linear = true,
			    .is_mip_linear = true,
			    .is_normalized = true,
			    .reads_floats = true,
			    .is_seamless = true,
			    .max = 9}};
	enum { PAGE = 4096, SIDE = 8, LAYERS = 6 };
	char *memory = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t handle;
	uint32_t used_bytes = 0;

	if (memory == MAP_FAILED || mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE))
		abort();
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t side = SIDE >> i, size = side * side * LAYERS * 4;

		used_bytes += size;
		/* The first level ends where the memory does. */
		texture.image.levels[i] = (struct sg_texture_level){
			.address = (uint64_t)(uintptr_t)memory + 2 * PAGE - used_bytes,
			.pitch = side * 4,
			.slice_pitch = side * side * 4,
			.width = side,
			.height = side,
			.slices = LAYERS};
	}
	for (int i = 0; i < 2; i++) {
		texture.is_surface = i;
		if (sg_texture_add(machine, &texture, &handle) ||
		    handle != (i ? 0x200001 : 0x100000))
			abort();
	}
}

static void open_machine(void)
{
	struct sg_machine_options options = {
		.workers = 1,
		.multiprocessors = 1,
		.arena_size = ARENA,
		.timeout_ns = 5000000,
		.host = {.allocate = allocate, .release = release},
	};

	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	options.arena_address = (uint64_t)(uintptr_t)arena;
	if (arena == MAP_FAILED || sg_machine_new(&options, &machine, NULL))
		abort();
	/* What is not allowed cannot be reached at all: a stray access ends the fuzzer. */
	if (mprotect(arena + USABLE, ARENA - USABLE, PROT_NONE))
		abort();
	if (sg_machine_set_heap_size(machine, 4096))
		abort();
	add_images();
}

/* in_clusters: of two blocks, unless the kernel says how many itself. */
static void run(const struct sg_function *function, bool in_clusters)
{
	static uint8_t parameters[SG_MAX_PARAMETER_SIZE];
	struct sg_function_info info;
	struct sg_grid_result result;
	struct sg_launch launch = {.function = function,
				   .shape.grid = {2, 1, 1},
				   .shape.block = {THREADS, 1, 1},
				   .shape.dynamic_shared = 64,
				   .parameters = parameters};
	uint64_t first = (uint64_t)(uintptr_t)arena;

	sg_function_describe(function, &info);
	memset(parameters, 0, sizeof(parameters));
	for (uint32_t i = 0; i + 8 <= info.parameter_size; i += 8)
		memcpy(parameters + i, &first, 8);
	launch.parameter_size = info.parameter_size;
	if (info.required_block[0])
		memcpy(launch.shape.block, info.required_block, sizeof(launch.shape.block));
	if (info.required_cluster[0])
		memcpy(launch.shape.grid, info.required_cluster, sizeof(launch.shape.grid));
	else if (in_clusters)
		memcpy(launch.shape.cluster, launch.shape.grid, sizeof(launch.shape.cluster));
	if (sg_grid_run(machine, &launch, &result) == -EFAULT && !result.fault.kind)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	const struct sg_function *function;

	if (!machine)
		open_machine();
	used = 0;
	if (sg_memory_allow(machine, (uint64_t)(uintptr_t)arena, 4096))
		abort();
	if (sg_module_load_text(machine, (const char *)data, size, &module, &diag)) {
		if (module || !gt_diag_is_set(&diag))
			abort();
		return 0;
	}
	for (size_t i = 0; i < 4 && (function = sg_module_function_at(module, i)); i++)
		run(function, i % 2);
	return 0;
}
