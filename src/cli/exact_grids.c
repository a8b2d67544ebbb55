/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/exact_grids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/installed.h"
#include "cli/cli.h"
#include "cli/injection.h"
#include "exacttimes.h"

enum {
	MAX_PROCESSES = 1024,  /* with grids; those of others are dropped */
	MAX_RECORDS = 1 << 17, /* in one round: more than the ring has room for */
};

struct gt_exact_grids {
	struct gt_cli_injection_options given;
	struct gt_cli_injection injection; /* without a companion */
	char *path;
	struct gt_inject *inject;
	bool owns_inject;
	uint32_t map;
	struct gt_hash *processes; /* gt_exact_times by process */
	uint64_t last_read;        /* CLOCK_MONOTONIC */
	uint64_t invalid;
};

int gt_exact_grids_object(char **ret_path, struct gt_diag *diag)
{
	return gt_installed_file("programs", "programs", "exacttimes.bpf.o", ret_path, diag);
}

static int open_collector(struct gt_exact_grids *grids, uint32_t event_bytes, bool verbose,
			  struct gt_diag *diag)
{
	int error = gt_exact_grids_object(&grids->path, diag);

	if (error)
		return error;
	grids->given = (struct gt_cli_injection_options){
		.own = grids->path,
		.threads = GT_CLI_INJECTION_THREADS,
		.event_bytes = event_bytes,
		.verbose = verbose,
	};
	grids->injection.given = &grids->given;
	if (gt_cli_injection_read(&grids->injection, NULL, 0) != GT_GO_ON)
		return gt_diag(diag, -EINVAL, "gpu", grids->path, "not loaded");
	grids->map = gt_cli_injection_own_map(&grids->injection, GT_EXACT_GRIDS_MAP);
	grids->owns_inject = true;
	return gt_cli_injection_open(&grids->injection, &grids->inject, diag);
}

int gt_exact_grids_open(const struct gt_companion *inner, uint32_t event_bytes, bool verbose,
			struct gt_exact_grids **ret_grids, struct gt_diag *diag)
{
	gt_auto(exact_grids) struct gt_exact_grids *grids = calloc(1, sizeof(*grids));
	int error = 0;

	if (grids)
		grids->processes = gt_hash_new();
	if (!grids || !grids->processes)
		return gt_diag(diag, -ENOMEM, "gpu", NULL, "out of memory");
	grids->last_read = gt_clock_monotonic();
	if (inner) {
		grids->inject = inner->inject;
		grids->map = inner->exact_map;
	} else {
		error = open_collector(grids, event_bytes, verbose, diag);
	}
	if (!error)
		*ret_grids = gt_take(grids);
	return error;
}

static void free_times(void *times)
{
	gt_exact_times_free(times);
}

void gt_exact_grids_close(struct gt_exact_grids *grids)
{
	if (!grids)
		return;
	if (grids->owns_inject) {
		gt_inject_close(grids->inject);
		gt_cli_injection_free(&grids->injection);
	}
	gt_hash_free_with(grids->processes, free_times);
	free(grids->path);
	free(grids);
}

struct gt_inject *gt_exact_grids_inject(const struct gt_exact_grids *grids)
{
	return grids->inject;
}

/* NULL: no memory, or too many processes. */
static struct gt_exact_times *find_times(struct gt_exact_grids *grids, uint32_t process)
{
	struct gt_exact_times *times = gt_hash_get_u64(grids->processes, process);

	if (times || gt_hash_count(grids->processes) == MAX_PROCESSES)
		return times;
	times = gt_exact_times_new();
	if (times && gt_hash_set_u64(grids->processes, process, times)) {
		gt_exact_times_free(times);
		times = NULL;
	}
	return times;
}

static bool take_grid(struct gt_exact_grids *grids, const void *bytes, uint32_t size, uint64_t now)
{
	struct exacttimes_grid record;
	struct gt_exact_times *times;
	struct gt_exact_grid grid;

	if (size != sizeof(record))
		return false;
	memcpy(&record, bytes, sizeof(record));
	grid = (struct gt_exact_grid){
		.launch = record.launch,
		.first = record.first,
		.last = record.last,
		.not_before = grids->last_read,
		.not_after = now,
		.kernel = record.kernel,
	};
	times = find_times(grids, record.pid);
	return times && !gt_exact_times_add(times, &grid);
}

void gt_exact_grids_read(struct gt_exact_grids *grids)
{
	uint64_t begin = gt_clock_monotonic();
	uint32_t size, records = 0;
	const void *record;

	if (!gt_inject_has_map(grids->inject, grids->map))
		return;
	while (records++ < MAX_RECORDS &&
	       gt_inject_next_record(grids->inject, grids->map, &record, &size) == 1)
		grids->invalid += !take_grid(grids, record, size, gt_clock_monotonic());
	/* What this round did not read was written after it began. */
	if (records <= MAX_RECORDS)
		grids->last_read = begin;
}

struct gt_exact_times *gt_exact_grids_of(const struct gt_exact_grids *grids, uint32_t process)
{
	return gt_hash_get_u64(grids->processes, process);
}

void gt_exact_grids_forget(struct gt_exact_grids *grids, uint32_t process)
{
	gt_exact_times_free(gt_hash_remove_u64(grids->processes, process));
}

uint64_t gt_exact_grids_lost(const struct gt_exact_grids *grids)
{
	struct gt_bpf_map_view view;

	if (!gt_inject_has_map(grids->inject, grids->map))
		return grids->invalid;
	view = gt_inject_view(grids->inject, grids->map);
	return grids->invalid + gt_bpf_map_losses(&view).lost;
}
