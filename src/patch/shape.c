/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Recording the shapes of launches: the first thread of each grid adds its grid's and its block's
 * dimensions to the minima and maxima of the maps with a value per thread or warp. This needs no
 * knowledge of how the kernel was launched: by which function, from a graph, or from a kernel.
 */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/map.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

static bool uses_map(const struct gt_bpf_program *program, uint32_t map)
{
	for (uint32_t at = 0; at < program->count; at++) {
		const struct bpf_insn *insn = &program->insns[at];

		if (!gt_bpf_is_wide(insn))
			continue;
		if (insn->src_reg && (uint32_t)insn->imm == map)
			return true;
		at++;
	}
	return false;
}

static bool has_coordinates(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	return !map->host_only && !map->internal && kind &&
	       (kind->copies == GT_COPY_THREAD || kind->copies == GT_COPY_WARP);
}

/* Whether one of these programs uses a map whose copies have coordinates. */
static bool use_copies(const struct gt_patcher *patcher, uint64_t programs, uint32_t map)
{
	const struct gt_patch_options *options = patcher->options;

	for (uint32_t i = 0; i < options->program_count; i++)
		if (programs & PROGRAM(i) && options->programs[i].program &&
		    uses_map(options->programs[i].program, map))
			return true;
	return false;
}

/* The programs that use such maps. */
static uint64_t find_programs(const struct gt_patcher *patcher)
{
	const struct gt_bpf_object *object = patcher->options->object;
	uint64_t programs = 0;

	for (uint32_t map = 0; object && map < object->map_count; map++)
		for (uint32_t i = 0; i < patcher->options->program_count; i++)
			if (has_coordinates(&object->maps[map]) &&
			    use_copies(patcher, PROGRAM(i), map))
				programs |= PROGRAM(i);
	return programs;
}

/* The programs in a kernel and in the functions that it calls. */
static int find_reached(struct gt_patcher *patcher, const struct gt_ptx_function *kernel,
			uint64_t *ret_programs)
{
	const struct gt_patch_set *set = patcher->set;
	int error = gt_patch_reach_kernel(set, patcher, kernel);

	if (!error)
		*ret_programs = gt_patch_programs_in(set, &set->from_kernel, kernel);
	return error;
}

int gt_patch_plan_shapes(struct gt_patcher *patcher)
{
	const struct gt_patch_set *set = patcher->set;
	uint64_t programs = find_programs(patcher) & ~patcher->rejected, reached;
	int error = 0;

	/* Nothing records the launches of machine code that calls functions with programs. */
	if (gt_patch_runs_code(patcher))
		programs &= ~gt_patch_programs_in(set, &set->called, NULL);

	/* red.max.u64 */
	if (!patcher->options->shapes || !programs || patcher->module->sm < 32)
		return 0;
	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		if (!function->is_entry || !patcher->functions[function->number].kept)
			continue;
		error = find_reached(patcher, function, &reached);
		if (!error)
			patcher->functions[function->number].shaped = reached & programs;
	}
	return error;
}

bool gt_patch_records_shapes(const struct gt_patcher *patcher)
{
	for (uint32_t i = 0; i < patcher->module->function_count; i++)
		if (patcher->functions[i].shaped)
			return true;
	return false;
}

/* ---- text ------------------------------------------------------------------------------ */

/* OR a special register into a word, from a bit on. */
static void put_dimension(const char *prefix, const char *word, const char *name, unsigned shift,
			  struct gt_strbuf *buffer)
{
	const char *p = prefix;

	gt_strbuf_printf(buffer, "\tmov.u32 %sat_a, %%%s;\n\tcvt.u64.u32 %sat_part, %sat_a;\n", p,
			 name, p, p);
	if (shift)
		gt_strbuf_printf(buffer, "\tshl.b64 %sat_part, %sat_part, %u;\n", p, p, shift);
	gt_strbuf_printf(buffer, "\tor.b64 %sat_%s, %sat_%s, %sat_part;\n", p, word, p, word, p);
}

/* Branch in all threads of a grid but the first. */
static void put_first_of_grid_test(const char *prefix, struct gt_strbuf *buffer)
{
	static const char *const others[] = {"ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z"};
	const char *p = prefix;

	gt_strbuf_printf(buffer, "\tmov.u32 %sat_a, %%ctaid.x;\n", p);
	for (size_t i = 0; i < gt_countof(others); i++)
		gt_strbuf_printf(buffer,
				 "\tmov.u32 %sat_b, %%%s;\n\tor.b32 %sat_a, %sat_a, %sat_b;\n", p,
				 others[i], p, p, p);
	gt_strbuf_printf(buffer,
			 "\tsetp.ne.u32 %sat_other, %sat_a, 0;\n@%sat_other bra %sshaped;\n", p, p,
			 p, p);
}

static void put_record(const struct gt_patcher *patcher, uint32_t map, struct gt_strbuf *buffer)
{
	static const char *const operations[] = {"max", "min"}, *const words[] = {"grid", "block"};
	const struct gt_ptx_module *module = patcher->module;
	bool is_modern = module->sm >= 70 && module->version_major >= 6;
	const char *p = patcher->result->prefix;

	for (uint32_t word = 0; word < 2; word++)
		for (uint32_t i = 0; i < 2; i++)
			gt_strbuf_printf(buffer,
					 "\tred%s.global.%s.u64 [%sat_shapes+%zu], %sat_%s;\n",
					 is_modern ? ".relaxed.sys" : "", operations[i], p,
					 map * sizeof(struct gt_patch_shape) +
						 (word * 2 + i) * sizeof(uint64_t),
					 p, words[word]);
}

void gt_patch_put_shape(const struct gt_patcher *patcher, const struct gt_ptx_function *kernel,
			struct gt_strbuf *buffer)
{
	uint64_t programs = patcher->functions[kernel->number].shaped;
	const struct gt_bpf_object *object = patcher->options->object;
	const char *p = patcher->result->prefix;

	if (!programs)
		return;
	gt_strbuf_printf(buffer,
			 "{\n\t.reg .b32 %sat_a, %sat_b;\n\t.reg .pred %sat_other;\n"
			 "\t.reg .b64 %sat_shapes, %sat_grid, %sat_block, %sat_part;\n",
			 p, p, p, p, p, p, p);
	put_first_of_grid_test(p, buffer);
	gt_strbuf_printf(buffer,
			 "\tld.%s.u64 %sat_shapes, [%sshapes];\n"
			 "\tmov.u64 %sat_grid, 0;\n\tmov.u64 %sat_block, 0;\n",
			 gt_patch_symbol_space(patcher), p, p, p, p);
	put_dimension(p, "grid", "nctaid.x", 0, buffer);
	put_dimension(p, "grid", "nctaid.y", GT_PATCH_GRID_Y, buffer);
	put_dimension(p, "grid", "nctaid.z", GT_PATCH_GRID_Z, buffer);
	put_dimension(p, "block", "ntid.x", 0, buffer);
	put_dimension(p, "block", "ntid.y", GT_PATCH_BLOCK_Y, buffer);
	put_dimension(p, "block", "ntid.z", GT_PATCH_BLOCK_Z, buffer);
	for (uint32_t map = 0; map < object->map_count; map++)
		if (has_coordinates(&object->maps[map]) && use_copies(patcher, programs, map))
			put_record(patcher, map, buffer);
	gt_strbuf_printf(buffer, "%sshaped:\n}\n", p);
}

/* ---- reading ---------------------------------------------------------------------------- */

static void split_grid(uint64_t word, uint32_t ret_grid[3])
{
	ret_grid[0] = (uint32_t)(word & 0x7fffffff);
	ret_grid[1] = (uint32_t)(word >> GT_PATCH_GRID_Y & 0xffff);
	ret_grid[2] = (uint32_t)(word >> GT_PATCH_GRID_Z & 0xffff);
}

static void split_block(uint64_t word, uint32_t ret_block[3])
{
	ret_block[0] = (uint32_t)(word & 0xffff);
	ret_block[1] = (uint32_t)(word >> GT_PATCH_BLOCK_Y & 0xffff);
	ret_block[2] = (uint32_t)(word >> GT_PATCH_BLOCK_Z & 0xffff);
}

void gt_patch_shape_clear(struct gt_patch_shape *shape)
{
	*shape = (struct gt_patch_shape){.min_grid = UINT64_MAX, .min_block = UINT64_MAX};
}

static void raise(uint64_t *max, uint64_t other)
{
	if (*max < other)
		*max = other;
}

static void lower(uint64_t *min, uint64_t other)
{
	if (*min > other)
		*min = other;
}

void gt_patch_shape_add(struct gt_patch_shape *shape, const struct gt_patch_shape *other)
{
	raise(&shape->max_grid, other->max_grid);
	lower(&shape->min_grid, other->min_grid);
	raise(&shape->max_block, other->max_block);
	lower(&shape->min_block, other->min_block);
}

int gt_patch_shape_read(const struct gt_patch_shape *shape, uint32_t ret_grid[3],
			uint32_t ret_block[3])
{
	/* Once each: other processes can write to this memory. */
	const uint64_t max_grid = __atomic_load_n(&shape->max_grid, __ATOMIC_RELAXED);
	const uint64_t min_grid = __atomic_load_n(&shape->min_grid, __ATOMIC_RELAXED);
	const uint64_t max_block = __atomic_load_n(&shape->max_block, __ATOMIC_RELAXED);
	const uint64_t min_block = __atomic_load_n(&shape->min_block, __ATOMIC_RELAXED);
	uint32_t grid[3], block[3];

	if (!max_grid && !max_block)
		return -ENOENT;
	if (max_grid != min_grid || max_block != min_block)
		return -EEXIST;
	split_grid(max_grid, grid);
	split_block(max_block, block);
	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return -ENOENT;
	memcpy(ret_grid, grid, sizeof(grid));
	memcpy(ret_block, block, sizeof(block));
	return 0;
}
