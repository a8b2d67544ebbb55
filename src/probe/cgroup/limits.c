/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/cgroup/limits.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/vec.h"
#include "event/kinds.h"

#define PERIOD_NS 100000000
#define MAX_CGROUPS 64
#define MAX_PROCESSES 4096 /* whose cgroups are looked up in a period */
#define MAX_LINE 256
#define NS_PER_US 1000

/* The counters of a cgroup that are compared. Durations in ns. */
enum limit_counter {
	THROTTLED_PERIODS,
	THROTTLED_TIME,
	MEMORY_HIGH,
	MEMORY_MAX,
	OOM_KILLS,
	CPU_STALL,
	MEMORY_STALL,
	IO_STALL,
	LIMIT_COUNTERS,
};

/* A line "key value" of a file of a cgroup; of version 1 there is only the first file. */
static const struct limit_source {
	const char *file;
	const char *key; /* the value follows a blank, or after total= */
	enum limit_counter counter;
	uint64_t unit; /* of a value, in ns; 1: a count, or ns */
} limit_sources[] = {
	{"cpu.stat", "nr_throttled", THROTTLED_PERIODS, 1},
	{"cpu.stat", "throttled_usec", THROTTLED_TIME, NS_PER_US},
	{"cpu.stat", "throttled_time", THROTTLED_TIME, 1}, /* version 1 */
	{"memory.events", "high", MEMORY_HIGH, 1},
	{"memory.events", "max", MEMORY_MAX, 1},
	{"memory.events", "oom_kill", OOM_KILLS, 1},
	{"cpu.pressure", "some", CPU_STALL, NS_PER_US},
	{"memory.pressure", "some", MEMORY_STALL, NS_PER_US},
	{"io.pressure", "some", IO_STALL, NS_PER_US},
};

struct limited_cgroup {
	char *root; /* the mount, and the path in it */
	char *path;
	uint64_t inode;
	uint64_t values[LIMIT_COUNTERS];
};

struct cgroup_limits {
	const struct gt_host *host;
	int timer;
	char *roots[2]; /* where the version 2 hierarchy and version 1's cpu are mounted; or NULL */
	uint64_t emitted;
	GT_VEC(struct limited_cgroup) cgroups;
};

static uint64_t parse_value(const char *line, const struct limit_source *source)
{
	size_t length = strlen(source->key);
	const char *total = strstr(line, "total=");

	if (strncmp(line, source->key, length) != 0 || line[length] != ' ')
		return 0;
	return strtoull(total ? total + strlen("total=") : line + length, NULL, 10) * source->unit;
}

/* Each file once; a file that does not exist leaves its counters at 0. */
static void read_values(const struct limited_cgroup *cgroup, uint64_t values[LIMIT_COUNTERS])
{
	memset(values, 0, LIMIT_COUNTERS * sizeof(*values));
	for (size_t i = 0; i < gt_countof(limit_sources); i++) {
		const struct limit_source *source = &limit_sources[i];
		char path[PATH_MAX], line[MAX_LINE];
		FILE *file;

		if (i && !strcmp(source->file, source[-1].file))
			continue;
		snprintf(path, sizeof(path), "%s%s/%s", cgroup->root, cgroup->path, source->file);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			for (size_t k = i; k < gt_countof(limit_sources) &&
					   !strcmp(limit_sources[k].file, source->file);
			     k++)
				values[limit_sources[k].counter] +=
					parse_value(line, &limit_sources[k]);
		if (file)
			fclose(file);
	}
}

static void emit(struct cgroup_limits *limits, const struct limited_cgroup *cgroup,
		 enum gt_cgroup_operation operation, uint64_t count, uint64_t duration)
{
	struct gt_event_cgroup_state *event =
		(void *)gt_event_new(GT_EVENT_cgroup_state, cgroup->path, strlen(cgroup->path));

	if (event) {
		event->operation = operation;
		event->count = count;
		event->duration = duration;
		event->cgroup = cgroup->inode;
	}
	gt_event_queue_push(limits->host->events, event ? &event->head : NULL);
	limits->emitted++;
}

/* Report what has increased. A stall below a millisecond is noise. */
static void compare_values(struct cgroup_limits *limits, struct limited_cgroup *cgroup)
{
	static const struct {
		enum limit_counter count, duration;
		enum gt_cgroup_operation operation;
		uint64_t min;
	} reports[] = {
		{THROTTLED_PERIODS, THROTTLED_TIME, GT_CGROUP_THROTTLED, 1},
		{MEMORY_HIGH, LIMIT_COUNTERS, GT_CGROUP_MEMORY_HIGH, 1},
		{MEMORY_MAX, LIMIT_COUNTERS, GT_CGROUP_MEMORY_MAX, 1},
		{OOM_KILLS, LIMIT_COUNTERS, GT_CGROUP_OOM_KILL, 1},
		{LIMIT_COUNTERS, CPU_STALL, GT_CGROUP_CPU_STALL, 1000000},
		{LIMIT_COUNTERS, MEMORY_STALL, GT_CGROUP_MEMORY_STALL, 1000000},
		{LIMIT_COUNTERS, IO_STALL, GT_CGROUP_IO_STALL, 1000000},
	};
	uint64_t now[LIMIT_COUNTERS], changed[LIMIT_COUNTERS + 1] = {0};

	read_values(cgroup, now);
	for (size_t i = 0; i < LIMIT_COUNTERS; i++)
		changed[i] = now[i] > cgroup->values[i] ? now[i] - cgroup->values[i] : 0;
	for (size_t i = 0; i < gt_countof(reports); i++) {
		uint64_t count = changed[reports[i].count], time = changed[reports[i].duration];

		if (reports[i].count == LIMIT_COUNTERS ? time < reports[i].min : count < 1)
			continue;
		emit(limits, cgroup, reports[i].operation, count, time);
		if (reports[i].count < LIMIT_COUNTERS)
			cgroup->values[reports[i].count] = now[reports[i].count];
		if (reports[i].duration < LIMIT_COUNTERS)
			cgroup->values[reports[i].duration] = now[reports[i].duration];
	}
}

/* ---- which cgroups ------------------------------------------------------------------------ */

static void find_mounts(struct cgroup_limits *limits)
{
	FILE *file = setmntent("/proc/mounts", "re");
	struct mntent *mount;

	while (file && (mount = getmntent(file))) {
		char **root = !strcmp(mount->mnt_type, "cgroup2") ? &limits->roots[0]
			      : !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "cpu")
				      ? &limits->roots[1]
				      : NULL;

		if (root && !*root)
			*root = strdup(mount->mnt_dir);
	}
	if (file)
		endmntent(file);
}

static void add_cgroup(struct cgroup_limits *limits, char *root, const char *path)
{
	struct limited_cgroup cgroup = {.root = root};
	char full[PATH_MAX];
	struct stat status;

	gt_vec_each (known, &limits->cgroups)
		if (known->root == root && !strcmp(known->path, path))
			return;
	if (!root || limits->cgroups.count >= MAX_CGROUPS)
		return;
	snprintf(full, sizeof(full), "%s%s", root, path);
	if (stat(full, &status))
		return;
	cgroup.inode = status.st_ino;
	cgroup.path = strdup(path);
	if (!cgroup.path)
		return;
	read_values(&cgroup, cgroup.values);
	if (gt_vec_push(&limits->cgroups, cgroup))
		free(cgroup.path);
}

/* A line of /proc/PID/cgroup: "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1. */
static void add_line(struct cgroup_limits *limits, char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return;
	*path++ = '\0';
	controllers++;
	path[strcspn(path, "\n")] = '\0';
	if (!*controllers)
		add_cgroup(limits, limits->roots[0], path);
	else if (!strcmp(controllers, "cpu") || !strncmp(controllers, "cpu,", 4) ||
		 strstr(controllers, ",cpu,"))
		add_cgroup(limits, limits->roots[1], path);
}

static void add_process(struct cgroup_limits *limits, uint32_t process)
{
	char path[64], line[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", process);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		add_line(limits, line);
	if (file)
		fclose(file);
}

static void add_processes(struct cgroup_limits *limits)
{
	int map = limits->host->processes_fd;
	uint32_t key, *previous = NULL;

	if (limits->host->command)
		add_process(limits, limits->host->command);
	if (!limits->host->filter.by_process)
		return;
	for (size_t i = 0; i < MAX_PROCESSES && !bpf_map_get_next_key(map, previous, &key); i++) {
		add_process(limits, key);
		previous = &key;
	}
}

/* ---- the extra part of the source --------------------------------------------------------- */

static void limits_close(void *opaque)
{
	struct cgroup_limits *limits = opaque;

	if (!limits)
		return;
	if (limits->timer >= 0)
		close(limits->timer);
	gt_vec_each (cgroup, &limits->cgroups)
		free(cgroup->path);
	gt_vec_free(&limits->cgroups);
	free(limits->roots[0]);
	free(limits->roots[1]);
	free(limits);
}

static int limits_open(const struct gt_host *host, void **ret_data, int *ret_fd,
		       uint64_t *ret_emitted)
{
	const struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	struct cgroup_limits *limits = calloc(1, sizeof(*limits));

	if (!limits)
		return -ENOMEM;
	limits->host = host;
	find_mounts(limits);
	add_processes(limits);
	limits->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (limits->timer >= 0)
		timerfd_settime(limits->timer, 0, &period, NULL);
	*ret_data = limits;
	*ret_fd = limits->timer;
	*ret_emitted = 0;
	return 0;
}

static uint64_t limits_poll(void *opaque, struct bpf_object *object, bool final)
{
	struct cgroup_limits *limits = opaque;
	uint64_t expirations;

	if (limits->timer < 0 ||
	    (read(limits->timer, &expirations, sizeof(expirations)) != sizeof(expirations) &&
	     !final))
		return 0;
	limits->emitted = 0;
	add_processes(limits);
	gt_vec_each (cgroup, &limits->cgroups)
		compare_values(limits, cgroup);
	return limits->emitted;
}

const struct gt_layer_extra gt_cgroup_limits = {limits_open, limits_poll, limits_close};
