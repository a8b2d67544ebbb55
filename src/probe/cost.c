/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/cost.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clean.h"

int gt_probe_cost_start(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -1 : fd;
}

/* The kernel prints the statistics of a BPF program in the fdinfo of its descriptors. */
static void add_descriptor(const char *name, uint64_t *runs, uint64_t *ns)
{
	char path[64], line[128];
	gt_autofclose FILE *file = NULL;
	uint64_t value;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.16s", name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "run_time_ns: %" SCNu64, &value) == 1)
			*ns += value;
		else if (sscanf(line, "run_cnt: %" SCNu64, &value) == 1)
			*runs += value;
	}
}

void gt_probe_cost(uint64_t *ret_runs, uint64_t *ret_ns)
{
	DIR *folder = opendir("/proc/self/fdinfo");
	const struct dirent *entry;
	uint64_t runs = 0, ns = 0;

	while (folder && (entry = readdir(folder)))
		add_descriptor(entry->d_name, &runs, &ns);
	if (folder)
		closedir(folder);
	*ret_runs = runs;
	*ret_ns = ns;
}
