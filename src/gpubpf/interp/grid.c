/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grids on the interpreter: contexts, levels, and lanes that synchronise. */
#include <errno.h>
#include <string.h>

#include "base/launch_limits.h"
#include "gpubpf/helpers.h"
#include "gpubpf/interp/private.h"

static enum gt_level level_of(const struct gt_interp_grid *grid)
{
	return grid->section ? grid->section->level : GT_LEVEL_THREAD;
}

static unsigned lane_of(const struct gt_interp_machine *machine)
{
	return (unsigned)(gt_interp_in_block(&machine->thread) % GT_WARP_SIZE);
}

static const struct gt_interp_machine *find_lane(const struct gt_interp_machine *const *group,
						 uint64_t lane)
{
	for (unsigned i = 0; group[i]; i++)
		if (lane_of(group[i]) == lane)
			return group[i];
	return NULL;
}

/* The result of a collective helper for one lane. */
static uint64_t group_result(const struct gt_interp_machine *lane,
			     const struct gt_interp_machine *const *group)
{
	const struct gt_interp_machine *other;
	uint64_t result = 0;

	if (lane->waits_for == GT_HELPER_warp_shuffle) {
		other = find_lane(group, lane->registers[2]);
		return (other ? other : lane)->registers[1];
	}
	/* One lane runs for its group, or there is no grid. */
	if (lane->waits_for == GT_HELPER_warp_active_mask &&
	    (!lane->grid || level_of(lane->grid) != GT_LEVEL_THREAD))
		return lane->thread.mask;
	for (unsigned i = 0; group[i]; i++) {
		if (lane->waits_for == GT_HELPER_warp_sum)
			result += group[i]->registers[1];
		else if (lane->waits_for == GT_HELPER_warp_active_mask || group[i]->registers[1])
			result |= UINT64_C(1) << lane_of(group[i]);
	}
	return result;
}

void gt_interp_resume_group(struct gt_interp_warp *warp, unsigned waiting)
{
	const struct gt_interp_machine *group[GT_WARP_SIZE + 1] = {0},
							     *first = &warp->lanes[waiting];
	uint64_t results[GT_WARP_SIZE];
	unsigned count = 0;

	for (unsigned i = waiting; i < warp->count; i++)
		if (warp->lanes[i].state == GT_INTERP_WAITING && warp->lanes[i].at == first->at &&
		    warp->lanes[i].frame == first->frame)
			group[count++] = &warp->lanes[i];
	for (unsigned i = 0; i < count; i++)
		results[i] = group_result(group[i], group);
	for (unsigned i = 0; i < count; i++) {
		struct gt_interp_machine *lane = &warp->lanes[group[i] - warp->lanes];

		lane->registers[0] = results[i];
		gt_interp_drop_arguments(lane);
		lane->state = GT_INTERP_RUNNING;
	}
}

/* ---- contexts --------------------------------------------------------------------------- */

static uint64_t lane_source(const struct gt_interp_site *site, enum gt_context_source source,
			    const struct gt_interp_thread *thread)
{
	return site->lane ? site->lane(site->data, source, thread) : 0;
}

static uint64_t taken_mask(const struct gt_interp_machine *machine,
			   const struct gt_interp_site *site)
{
	const struct gt_interp_thread *thread = &machine->thread;
	struct gt_interp_thread other = *thread;
	uint64_t first = gt_interp_in_block(thread) / GT_WARP_SIZE * GT_WARP_SIZE, mask = 0;

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		if (!(thread->mask >> lane & 1))
			continue;
		gt_interp_set_thread(&other, first + lane);
		if (lane_source(site, GT_SOURCE_TAKEN, &other))
			mask |= UINT64_C(1) << lane;
	}
	return mask;
}

static uint64_t site_source(const struct gt_interp_machine *machine,
			    const struct gt_interp_site *site, enum gt_context_source source,
			    uint32_t index, const struct gt_interp_thread *thread)
{
	const struct gt_section *section = machine->grid->section;

	switch (source) {
	case GT_SOURCE_KERNEL:
		return site->kernel;
	case GT_SOURCE_ARGUMENT_COUNT:
		return site->argument_count;
	case GT_SOURCE_ARGUMENT_SIZE:
		return index < site->argument_count ? site->argument_sizes[index] : 0;
	case GT_SOURCE_ARGUMENT:
		return index < site->argument_count ? site->arguments[index] : 0;
	case GT_SOURCE_SITE:
		return site->site;
	case GT_SOURCE_LINE:
		return site->line;
	case GT_SOURCE_VALUE_SIZE:
		return site->value_size;
	case GT_SOURCE_WIDTH:
		return site->width;
	case GT_SOURCE_SPACE:
		return site->space;
	case GT_SOURCE_ACCESS:
		return site->access;
	case GT_SOURCE_BARRIER:
		return site->barrier;
	case GT_SOURCE_TAKEN:
		return lane_source(site, source, thread) != 0;
	case GT_SOURCE_TAKEN_MASK:
		return taken_mask(machine, site);
	case GT_SOURCE_PREDICATE:
		return section->kind != GT_KIND_BRANCH ||
		       lane_source(site, GT_SOURCE_TAKEN, thread) != 0;
	default:
		return lane_source(site, source, thread);
	}
}

uint64_t gt_interp_source(const struct gt_interp_machine *machine, enum gt_context_source source,
			  uint32_t index, const struct gt_interp_thread *thread)
{
	static const struct gt_interp_site no_site;

	switch (source) {
	case GT_SOURCE_THREAD_X:
	case GT_SOURCE_THREAD_Y:
	case GT_SOURCE_THREAD_Z:
		return thread->thread[source - GT_SOURCE_THREAD_X];
	case GT_SOURCE_LANE:
		return gt_interp_in_block(thread) % GT_WARP_SIZE;
	case GT_SOURCE_BLOCK_X:
	case GT_SOURCE_BLOCK_Y:
	case GT_SOURCE_BLOCK_Z:
		return thread->block[source - GT_SOURCE_BLOCK_X];
	case GT_SOURCE_WARP:
		return gt_interp_in_block(thread) / GT_WARP_SIZE;
	case GT_SOURCE_BLOCK_SIZE_X:
	case GT_SOURCE_BLOCK_SIZE_Y:
	case GT_SOURCE_BLOCK_SIZE_Z:
		return thread->block_size[source - GT_SOURCE_BLOCK_SIZE_X];
	case GT_SOURCE_SM:
		return thread->sm < GT_MAX_SM ? thread->sm : GT_MAX_SM;
	case GT_SOURCE_GRID_SIZE_X:
	case GT_SOURCE_GRID_SIZE_Y:
	case GT_SOURCE_GRID_SIZE_Z:
		return thread->grid_size[source - GT_SOURCE_GRID_SIZE_X];
	case GT_SOURCE_MASK:
		return thread->mask;
	case GT_SOURCE_LAUNCH:
		return thread->launch;
	case GT_SOURCE_SHARED_SIZE:
		return 0; /* there is none */
	default:
		return site_source(machine, machine->grid->site ? machine->grid->site : &no_site,
				   source, index, thread);
	}
}

static void build_context(const struct gt_interp_machine *machine, uint8_t context[GT_CONTEXT_SIZE])
{
	const struct gt_section *section = machine->grid->section;

	memset(context, 0, GT_CONTEXT_SIZE);
	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (!(field->kinds >> section->kind & 1) || !(field->levels >> section->level & 1))
			continue;
		for (uint32_t i = 0; i < field->count; i++) {
			uint64_t value =
				gt_interp_source(machine, field->source, i, &machine->thread);

			memcpy(context + field->offset + i * field->size, &value, field->size);
		}
	}
}

/* ---- grids ------------------------------------------------------------------------------ */

/* A grid that is being run. */
struct grid_run {
	const struct gt_bpf_program *program;
	const struct gt_interp_options *options;
	const struct gt_interp_grid *grid;
	struct gt_interp_thread thread;  /* the first of the warp */
	struct gt_interp_machine *lanes; /* [GT_WARP_SIZE] */
	uint8_t (*contexts)[GT_CONTEXT_SIZE];
	struct gt_interp_result result;
	struct gt_diag *diag;
};

static bool has_context(const struct gt_interp_grid *grid)
{
	return grid->section && !(gt_section_row(grid->section->kind)->traits & GT_SECTION_ALONE);
}

/* Initialise a lane of the warp as thread `number` of the block. */
static void start_lane(struct grid_run *run, unsigned lane, uint64_t number, uint32_t mask)
{
	struct gt_interp_machine *machine = &run->lanes[lane];
	struct gt_interp_thread *thread = &machine->thread;
	const struct gt_interp_grid *grid = run->grid;

	gt_interp_start(machine, run->program, run->options, run->diag);
	*thread = run->thread;
	thread->mask = mask;
	gt_interp_set_thread(thread, number);
	machine->grid = grid;
	machine->run = level_of(grid) == GT_LEVEL_THREAD ? gt_interp_flat_thread(thread)
		       : level_of(grid) == GT_LEVEL_WARP
			       ? gt_interp_flat_warp(thread)
			       : gt_interp_flatten(thread->block, thread->grid_size);
	machine->random ^= machine->run;
	if (!has_context(grid)) {
		gt_interp_set_memory(machine);
		return;
	}
	build_context(machine, run->contexts[lane]);
	machine->context = run->contexts[lane];
	machine->context_size = gt_context_size(grid->section->kind);
	machine->registers[1] = gt_region_address(run->options, GT_REGION_CONTEXT, 0);
}

static int run_lanes(struct grid_run *run, unsigned count)
{
	struct gt_interp_warp warp = {run->lanes, count};
	int error = gt_interp_run_warp(&warp);

	if (error)
		return error;
	for (unsigned i = 0; i < count; i++) {
		const struct gt_interp_machine *lane = &run->lanes[i];

		run->result.r0 = lane->registers[0];
		if (lane->executed > run->result.executed)
			run->result.executed = lane->executed;
		if (run->grid->results)
			run->grid->results[lane->run] = lane->registers[0];
	}
	return 0;
}

static int run_block(struct grid_run *run)
{
	const struct gt_interp_grid *grid = run->grid;
	uint64_t threads = gt_interp_threads(&run->thread);
	bool leaves =
		grid->section && (gt_section_row(grid->section->kind)->traits & GT_SECTION_LEAVES);
	int error = 0;

	if (level_of(grid) == GT_LEVEL_BLOCK) {
		uint64_t number = leaves ? threads - 1 : 0;

		start_lane(run, 0, number, UINT32_C(1) << number % GT_WARP_SIZE);
		return run_lanes(run, 1);
	}
	for (uint64_t first = 0; !error && first < threads; first += GT_WARP_SIZE) {
		unsigned count =
			threads - first < GT_WARP_SIZE ? (unsigned)(threads - first) : GT_WARP_SIZE;
		uint32_t mask = count == GT_WARP_SIZE ? UINT32_MAX : (UINT32_C(1) << count) - 1;

		if (level_of(grid) == GT_LEVEL_WARP)
			count = 1;
		for (unsigned lane = 0; lane < count; lane++)
			start_lane(run, lane, first + lane, mask);
		error = run_lanes(run, count);
	}
	return error;
}

uint64_t gt_interp_grid_runs(const struct gt_interp_grid *grid)
{
	const uint32_t *block = grid->block_size, *size = grid->grid_size;
	uint64_t threads, blocks, runs;

	if (!gt_launch_grid_is_valid(size) || !gt_launch_block_is_valid(block))
		return 0;
	threads = (uint64_t)block[0] * block[1] * block[2];
	if (__builtin_mul_overflow((uint64_t)size[0] * size[1], size[2], &blocks))
		return 0;
	if (level_of(grid) == GT_LEVEL_WARP)
		threads = (threads + GT_WARP_SIZE - 1) / GT_WARP_SIZE;
	else if (level_of(grid) == GT_LEVEL_BLOCK)
		threads = 1;
	return __builtin_mul_overflow(blocks, threads, &runs) ? 0 : runs;
}

static int run_blocks(struct grid_run *run)
{
	const uint32_t *size = run->grid->grid_size;
	uint64_t blocks = (uint64_t)size[0] * size[1] * size[2];
	uint32_t sms = run->grid->sms ? run->grid->sms : 1;
	int error = 0;

	for (uint64_t block = 0; !error && block < blocks; block++) {
		run->thread.block[0] = (uint32_t)(block % size[0]);
		run->thread.block[1] = (uint32_t)(block / size[0] % size[1]);
		run->thread.block[2] = (uint32_t)(block / size[0] / size[1]);
		run->thread.sm = (uint32_t)(block % sms);
		error = run_block(run);
	}
	return error;
}

/* The verifier relies on the bounds of fields. */
static int check_site(const struct gt_interp_site *site, struct gt_diag *diag)
{
	const struct {
		enum gt_context_source source;
		uint32_t value;
	} values[] = {
		{GT_SOURCE_VALUE_SIZE, site->value_size}, {GT_SOURCE_WIDTH, site->width},
		{GT_SOURCE_SPACE, site->space},           {GT_SOURCE_ACCESS, site->access},
		{GT_SOURCE_BARRIER, site->barrier},
	};

	for (size_t i = 0; i < gt_countof(values); i++) {
		const struct gt_context_field *field = gt_context_field_of(values[i].source);

		if (values[i].value > field->max)
			return gt_diag(diag, -EINVAL, "run", NULL,
				       "invalid %s %u of the site: at most %u", field->name,
				       values[i].value, (unsigned)field->max);
	}
	return 0;
}

int gt_interp_run_grid(const struct gt_bpf_program *program,
		       const struct gt_interp_options *options, const struct gt_interp_grid *grid,
		       struct gt_interp_result *ret_result, struct gt_diag *diag)
{
	gt_autofree struct gt_interp_machine *lanes = calloc(GT_WARP_SIZE, sizeof(*lanes));
	gt_autofree uint8_t(*contexts)[GT_CONTEXT_SIZE] = calloc(GT_WARP_SIZE, GT_CONTEXT_SIZE);
	struct grid_run run = {
		.program = program,
		.options = options,
		.grid = grid,
		.lanes = lanes,
		.contexts = contexts,
		.thread.launch = grid->launch,
		.diag = diag,
	};
	int error;

	if (!gt_interp_grid_runs(grid))
		return gt_diag(diag, -EINVAL, "run", NULL,
			       "invalid grid of %ux%ux%u blocks of %ux%ux%u threads",
			       grid->grid_size[0], grid->grid_size[1], grid->grid_size[2],
			       grid->block_size[0], grid->block_size[1], grid->block_size[2]);
	error = grid->site ? check_site(grid->site, diag) : 0;
	if (error)
		return error;
	if (!lanes || !contexts)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	memcpy(run.thread.block_size, grid->block_size, sizeof(run.thread.block_size));
	memcpy(run.thread.grid_size, grid->grid_size, sizeof(run.thread.grid_size));
	error = run_blocks(&run);
	if (!error)
		*ret_result = run.result;
	return error;
}
