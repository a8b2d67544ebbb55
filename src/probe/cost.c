/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/cost.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "base/clock.h"
#include "probe/api/multi_link.h"
#include "probe/api/perf_link.h"

/* Last: it uses the types above. */
#include "trap.skel.h"

enum {
	BATCHES = 5,
	CALLS = 200, /* of a batch */
};

int gt_probe_cost_start(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -1 : fd;
}

/* Of all kinds of uprobes: "uprobe", "uretprobe.multi" … */
static bool is_reached_by_trap(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strncmp(section, "uprobe", 6) || !strncmp(section, "uretprobe", 9);
}

void gt_probe_cost_add(const struct bpf_object *object, struct gt_probe_cost *cost)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		cost->runs += info.run_cnt;
		cost->run_ns += info.run_time_ns;
		if (is_reached_by_trap(program))
			cost->traps += info.run_cnt;
	}
}

/* ---- the price of a trap ------------------------------------------------------------------ */

/*
 * The function that is probed. It begins with an instruction that the kernel emulates, as most
 * functions do: others are executed out of line and take a second trap.
 */
__attribute__((noinline)) static void call_probed(void)
{
	__asm__ volatile("nop" ::: "memory");
}

struct probed_place {
	uint64_t address, offset; /* in memory, in the file */
	bool found;
};

/* The program comes first, and this file is part of it. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *opaque)
{
	struct probed_place *place = opaque;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !place->found; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || place->address < start ||
		    place->address >= start + part->p_filesz)
			continue;
		place->offset = place->address - start + part->p_offset;
		place->found = true;
	}
	return 1;
}

/* The time of a call: the least of the batches, ns. */
static uint64_t time_call(void)
{
	uint64_t least = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = gt_clock_monotonic(), ns;

		for (int i = 0; i < CALLS; i++)
			call_probed();
		ns = (gt_clock_monotonic() - start) / CALLS;
		least = ns < least ? ns : least;
	}
	return least;
}

static int link_program(const struct bpf_program *program, bool multi, uint64_t offset,
			bool is_return)
{
	static const char self[] = "/proc/self/exe";
	const enum gt_multi_link kind = is_return ? GT_MULTI_RETURN : GT_MULTI_ENTRY;
	const uint64_t cookie = 0;
	int fd = bpf_program__fd(program);

	return multi ? gt_multi_link_functions(fd, self, &offset, &cookie, 1, kind)
		     : gt_perf_link_function(fd, self, offset, cookie, is_return);
}

static uint64_t measure_pair(const struct trap_bpf *skeleton, bool multi, uint64_t offset)
{
	uint64_t without = time_call(), with = 0;
	gt_autoclose int entry = link_program(skeleton->progs.at_entry, multi, offset, false);
	gt_autoclose int at_return = link_program(skeleton->progs.at_return, multi, offset, true);

	if (entry >= 0 && at_return >= 0)
		with = time_call();
	return with > without ? with - without : 0;
}

static struct trap_bpf *load_programs(bool multi)
{
	struct trap_bpf *skeleton = trap_bpf__open();

	if (!skeleton)
		return NULL;
	if (multi) {
		gt_multi_link_prepare(skeleton->progs.at_entry, GT_MULTI_ENTRY);
		gt_multi_link_prepare(skeleton->progs.at_return, GT_MULTI_RETURN);
	}
	if (!trap_bpf__load(skeleton))
		return skeleton;
	trap_bpf__destroy(skeleton);
	return NULL;
}

static uint64_t measure_price(void)
{
	struct probed_place place = {.address = (uint64_t)(uintptr_t)call_probed};
	bool multi = !gt_multi_link_check(GT_MULTI_ENTRY);
	struct trap_bpf *skeleton;
	uint64_t price = 0;

	dl_iterate_phdr(find_offset, &place);
	skeleton = place.found ? load_programs(multi) : NULL;
	if (skeleton)
		price = measure_pair(skeleton, multi, place.offset) / 2;
	trap_bpf__destroy(skeleton);
	return price;
}

uint64_t gt_probe_trap_ns(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool is_measured;
	static uint64_t price;

	pthread_mutex_lock(&lock);
	if (!is_measured)
		price = measure_price();
	is_measured = true;
	pthread_mutex_unlock(&lock);
	return price;
}
