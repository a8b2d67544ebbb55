/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shapes of launches, which kernels record for maps with a value per thread. */
#include <errno.h>

#include "exec_fixture.h"
#include "patch_probes.h"
#include "ptxas.h"

enum {
	THREAD_ARRAY = 1512, /* in memory shared with the host */
	ARRAY = 2,
};

/* k matches no program, and calls f, which has one; other calls nothing. */
static const char module_text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
				  ".func f()\n{\n\tret;\n}\n"
				  ".visible .entry k(.param .u64 p)\n{\n\tcall f;\n\tret;\n}\n"
				  ".visible .entry other(.param .u64 p)\n{\n\tret;\n}\n";

static size_t count_text(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		count++;
	return count;
}

/* Launch k of the patched module once for each number of blocks; 0 ends them. */
static void run_launches(struct gt_patch_options options, const unsigned *blocks,
			 struct gt_patch_shape *ret_shape, size_t *ret_records)
{
	auto_patched patched = {0};
	auto_device device = {0};
	uint64_t words[1][2] = {{0, 1000}};
	const struct gt_symbol_values symbols = {.maps = words};
	struct gt_patch_shape *shape;
	struct sg_module *module;

	device_open(&device);
	words[0][0] = address_of(device_memory(&device, gt_bpf_map_bytes(&maps[0], 1000)));
	shape = device_memory(&device, sizeof(*shape));
	gt_patch_shape_clear(shape);
	options.symbols = &symbols;
	options.shapes = address_of(shape);
	add_probe(&patched, "gpu/call/f", NULL);
	CHECK(patch_text(&patched, module_text, options));
	*ret_records = count_text(gt_strbuf_string(&patched.result.text), "shaped:");
	remember_text(gt_strbuf_string(&patched.result.text));
	module = device_load(&device, gt_strbuf_string(&patched.result.text));
	for (; *blocks; blocks++) {
		device_run(&device, module, "other", 77, 1, 0);
		device_run(&device, module, "k", *blocks, 5, 0);
	}
	*ret_shape = *shape;
	sg_module_free(module);
}

static int read_shape(const struct gt_patch_shape *shape, uint32_t sizes[6])
{
	return gt_patch_shape_read(shape, sizes, sizes + 3);
}

TEST("a kernel records the shape of its launches where what it calls has a value per thread")
{
	struct gt_patch_shape shape;
	uint32_t sizes[6] = {0};
	size_t records;

	maps[0].type = THREAD_ARRAY;
	run_launches((struct gt_patch_options){.whole = true}, (const unsigned[]){3, 3, 0}, &shape,
		     &records);
	CHECK(records == 1);
	CHECK(!read_shape(&shape, sizes));
	CHECK(sizes[0] == 3 && sizes[1] == 1 && sizes[2] == 1);
	CHECK(sizes[3] == 5 && sizes[4] == 1 && sizes[5] == 1);
	maps[0].type = ARRAY;
}

TEST("launches of different shapes are known to differ")
{
	struct gt_patch_shape shape;
	uint32_t sizes[6] = {0};
	size_t records;

	maps[0].type = THREAD_ARRAY;
	run_launches((struct gt_patch_options){.whole = true}, (const unsigned[]){3, 2, 3, 0},
		     &shape, &records);
	CHECK(read_shape(&shape, sizes) == -EEXIST);
	CHECK(!sizes[0]);
	maps[0].type = ARRAY;
}

TEST("without such a map nothing is recorded")
{
	struct gt_patch_shape shape;
	uint32_t sizes[6];
	size_t records;

	run_launches((struct gt_patch_options){.whole = true}, (const unsigned[]){3, 0}, &shape,
		     &records);
	CHECK(!records);
	CHECK(read_shape(&shape, sizes) == -ENOENT);
}

TEST("a shape that no launch can have is not read")
{
	uint32_t sizes[6] = {0};
	struct gt_patch_shape shape = {1, 1, 1, 1};

	CHECK(read_shape(&shape, sizes) == -ENOENT);
	shape.max_grid = shape.min_grid = UINT64_MAX;
	CHECK(read_shape(&shape, sizes) == -ENOENT);
	CHECK(!sizes[0]);
}

TEST("ptxas accepts kernels that record their shape")
{
	check_with_ptxas();
}

TEST_MAIN
