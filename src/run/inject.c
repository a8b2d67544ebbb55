/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "launch/gpu.h"
#include "run/inject_names.h"
#include "run/inject_opencl.h"
#include "run/inject_private.h"
#include "run/inject_reuse.h"

static struct gt_recovered *open_recovered(const char *cache)
{
	gt_auto_strbuf directory = GT_STRBUF_INIT;

	if (cache)
		gt_strbuf_printf(&directory, "%s/ptx", cache);
	return gt_recovered_new(directory.failed ? NULL : directory.data);
}

/* Whether a program reads a clock: OpenCL devices may have none. */
static bool reads_clock(const struct gt_patch_program *program)
{
	return program->program &&
	       gt_helpers_used(program->program, program->facts, GT_TRAIT_CLOCK);
}

/* Whether a program reads values of other lanes, or runs once for several. */
static bool reads_lanes(const struct gt_patch_program *program)
{
	return program->program && (program->section.level == GT_LEVEL_WARP ||
				    gt_helpers_used(program->program, program->facts,
						    GT_TRAIT_COLLECTIVE | GT_TRAIT_ACTIVE));
}

/* What is to be known of OpenCL devices; NULL: nothing. */
static struct gt_inject_opencl *open_opencl(const struct gt_inject_options *options)
{
	bool clock = false, lanes = false;

	for (uint32_t i = 0; i < options->program_count; i++) {
		clock |= reads_clock(&options->programs[i]);
		lanes |= reads_lanes(&options->programs[i]);
	}
	return clock || lanes ? gt_inject_opencl_new(clock) : NULL;
}

int gt_inject_open(const struct gt_inject_options *options, struct gt_inject **ret_inject,
		   struct gt_diag *diag)
{
	gt_auto(inject) struct gt_inject *inject = calloc(1, sizeof(*inject));
	int error;

	if (!inject)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	inject->options = *options;
	inject->opencl = open_opencl(options);
	inject->map_count = options->object ? options->object->map_count : 0;
	inject->listener = inject->epoll = inject->memory.fd = inject->save.directory = -1;
	inject->control.listener = inject->control.epoll = -1;
	for (uint32_t i = 0; i < GT_INJECT_MAX_CONTROLS; i++)
		inject->control.fds[i] = -1;
	inject->recovered = open_recovered(options->cache);
	if (!inject->recovered || gt_inject_sites_new(&inject->sites) ||
	    gt_inject_names_new(options, &inject->names))
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	inject->processes = gt_inject_processes_new();
	if (!inject->processes)
		return gt_diag(diag, -errno, "run", NULL, "cannot follow processes: %s",
			       strerror(errno));
	if (options->event_bytes) {
		inject->events = gt_inject_events_new(options->event_bytes);
		if (!inject->events)
			return gt_diag(diag, -errno, "run", NULL,
				       "cannot allocate rings for events: %s", strerror(errno));
	}
	error = gt_inject_save_open(inject, diag);
	if (!error)
		error = gt_inject_memory_open(inject, diag);
	if (!error && gt_inject_reuse_new(inject, &inject->reuse))
		error = gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	if (!error)
		error = gt_inject_control_open(inject, diag);
	if (!error)
		error = gt_inject_jobs_open(inject, diag);
	if (!error)
		error = gt_inject_listen(inject, diag);
	if (!error)
		*ret_inject = gt_take(inject);
	return error;
}

void gt_inject_close(struct gt_inject *inject)
{
	if (!inject)
		return;
	gt_inject_jobs_close(inject);
	while (inject->connections)
		gt_inject_disconnect(inject, inject->connections);
	gt_inject_control_close(inject);
	gt_inject_memory_close(inject);
	gt_inject_events_free(inject->events);
	gt_inject_processes_free(inject->processes);
	gt_cleanup_close(&inject->listener);
	gt_cleanup_close(&inject->epoll);
	gt_cleanup_close(&inject->save.directory);
	gt_vec_each (kernel, &inject->kernels)
		free(kernel->name);
	gt_vec_free(&inject->kernels);
	gt_inject_reasons_clear(inject);
	gt_inject_sites_free(inject->sites);
	gt_inject_names_free(inject->names);
	gt_recovered_free(inject->recovered);
	gt_inject_reuse_free(inject->reuse);
	gt_inject_opencl_free(inject->opencl);
	free(inject);
}

bool gt_inject_unmatched_pattern(const struct gt_inject *inject, size_t *cursor,
				 struct gt_inject_pattern *ret_pattern)
{
	return gt_inject_names_unmatched(inject->names, cursor, ret_pattern);
}

unsigned gt_inject_count_running(const struct gt_inject *inject)
{
	return gt_inject_processes_count(inject->processes);
}

unsigned gt_inject_still_running(const struct gt_inject *inject)
{
	return inject->still_running;
}

void gt_inject_recover_always(struct gt_inject *inject, bool always)
{
	inject->recover_always = always;
}

int gt_inject_use_driver(struct gt_inject *inject, bool soft, struct gt_diag *diag)
{
	inject->devices.enabled = !inject->options.host_maps;
	free(inject->devices.library);
	inject->devices.library = NULL;
	return gt_gpu_driver_library(soft ? GT_GPU_SOFT : GT_GPU_NVIDIA, &inject->devices.library,
				     diag);
}

const char *gt_inject_map_remark(const struct gt_inject *inject)
{
	return *inject->devices.remark ? inject->devices.remark : NULL;
}

bool gt_inject_is_busy(const struct gt_inject *inject)
{
	return inject->devices.busy;
}

const char *gt_inject_socket(const struct gt_inject *inject)
{
	return inject->socket;
}

int gt_inject_fd(const struct gt_inject *inject)
{
	return inject->epoll;
}

struct gt_inject_progress gt_inject_progress(const struct gt_inject *inject)
{
	struct gt_inject_progress progress = {
		.modules = inject->coverage.modules,
		.kernels = inject->coverage.kernels,
		.patching = inject->patching,
	};

	for (const struct gt_inject_connection *connection = inject->connections; connection;
	     connection = connection->next) {
		if (!connection->answered)
			continue;
		progress.modules--;
		progress.compiling++;
		progress.kernel = gt_inject_kernel(inject, connection->first_kernel);
	}
	return progress;
}

struct gt_inject_coverage gt_inject_coverage(const struct gt_inject *inject)
{
	struct gt_inject_coverage coverage = inject->coverage;

	coverage.ptx_dropped = gt_recovered_dropped(inject->recovered);
	return coverage;
}

const char *gt_inject_kernel(const struct gt_inject *inject, uint32_t number)
{
	if (number >= inject->kernels.count)
		return NULL;
	return inject->kernels.items[number].name ? inject->kernels.items[number].name : "?";
}

uint32_t gt_inject_capability(const struct gt_inject *inject, uint32_t number)
{
	return number < inject->kernels.count ? inject->kernels.items[number].capability : 0;
}

uint32_t gt_inject_registers(const struct gt_inject *inject, uint32_t number)
{
	return number < inject->kernels.count ? inject->kernels.items[number].registers : 0;
}

bool gt_inject_site(const struct gt_inject *inject, uint32_t number,
		    struct gt_inject_site *ret_site)
{
	return gt_inject_sites_get(inject->sites, number, ret_site);
}

uint32_t gt_inject_site_count(const struct gt_inject *inject, uint32_t *ret_kept)
{
	*ret_kept = gt_inject_sites_kept(inject->sites);
	return inject->next_site;
}
