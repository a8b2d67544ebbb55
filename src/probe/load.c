/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "probe/source.h"

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0;
}

static int print_all(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

void gt_load_set_verbose(int verbose)
{
	libbpf_set_print(verbose ? print_all : print_nothing);
}

int gt_load_failed(int error, const char *what, struct gt_diag *diag)
{
	if (error == -EPERM)
		return gt_diag(diag, error, what, NULL,
			       "no privilege to load BPF programs: run as root (sudo), or give "
			       "gputap CAP_BPF and CAP_PERFMON");
	if (error == -ESRCH || error == -ENOENT)
		return gt_diag(diag, error, what, NULL,
			       "the kernel has no BTF (/sys/kernel/btf/vmlinux): a kernel built "
			       "with CONFIG_DEBUG_INFO_BTF is needed");
	return gt_diag(diag, error, what, NULL,
		       "the kernel rejects the BPF programs: %s ('gputap doctor' shows what works "
		       "here)",
		       strerror(-error));
}

int gt_load_check(struct gt_diag *diag)
{
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return gt_load_failed(-ENOENT, "bpf", diag);
	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL", instructions, 2, NULL);
	if (program < 0)
		return gt_load_failed(program, "bpf", diag);
	close(program);
	return 0;
}

int gt_load_shared_maps(struct bpf_map *events, struct bpf_map *processes,
			const struct gt_host *host, struct gt_diag *diag)
{
	int error = bpf_map__reuse_fd(events, host->ring_fd);

	if (!error)
		error = bpf_map__reuse_fd(processes, host->processes_fd);
	return error ? gt_diag(diag, error, "bpf", NULL, "the session's maps cannot be shared: %s",
			       strerror(-error))
		     : 0;
}

/* The map of constants; libbpf names it after the object and the section. */
static struct bpf_map *find_constants(const struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		const char *section = strstr(bpf_map__name(map), ".rodata");

		if (section && !strcmp(section, ".rodata"))
			return map;
	}
	return NULL;
}

/* The place of a variable in the section of constants, or NULL. */
static const struct btf_var_secinfo *find_constant(const struct btf *btf, const char *name)
{
	int section = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -ENOENT;
	const struct btf_type *type = section < 0 ? NULL : btf__type_by_id(btf, section);

	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *variable = &btf_var_secinfos(type)[i];
		const struct btf_type *named = btf__type_by_id(btf, variable->type);

		if (named && !strcmp(btf__name_by_offset(btf, named->name_off), name))
			return variable;
	}
	return NULL;
}

int gt_load_set_constant(struct bpf_object *object, const char *name, const void *value,
			 size_t size, struct gt_diag *diag)
{
	struct bpf_map *map = find_constants(object);
	const struct btf_var_secinfo *variable = find_constant(bpf_object__btf(object), name);
	size_t available = 0;
	char *data = map ? (char *)bpf_map__initial_value(map, &available) : NULL;

	if (!data || !variable || variable->size != size || variable->offset > available ||
	    size > available - variable->offset)
		return gt_diag(diag, -ENOENT, "bpf", NULL,
			       "the BPF object has no constant %s of %zu bytes", name, size);
	memcpy(data + variable->offset, value, size);
	return 0;
}

bool gt_host_traces(const struct gt_host *host, __u32 process)
{
	uint8_t traced;

	/* The command is known even if it ended before its first event was read. */
	return !host->filter.by_process || (host->command && (pid_t)process == host->command) ||
	       !bpf_map_lookup_elem(host->processes_fd, &process, &traced) ||
	       gt_hash_get_u64(host->named, process);
}

int gt_load_sum_counters(int map_fd, void *sums, size_t count)
{
	int cpus = libbpf_num_possible_cpus();
	gt_autofree uint64_t *values = NULL;
	uint64_t *sum = sums;
	uint32_t zero = 0;
	int error;

	if (cpus < 0)
		return cpus;
	values = calloc(cpus, count * sizeof(*values));
	if (!values)
		return -ENOMEM;
	error = bpf_map_lookup_elem(map_fd, &zero, values);
	if (error)
		return error;
	for (size_t i = 0; i < cpus * count; i++)
		sum[i % count] += values[i];
	return 0;
}

int gt_load_fill_array(const struct bpf_map *map, const void *values)
{
	uint32_t count = bpf_map__max_entries(map);
	gt_autofree uint32_t *keys = calloc(count, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = i;
	return bpf_map_update_batch(bpf_map__fd(map), keys, values, &count, NULL);
}

uint64_t gt_load_count_entries(const struct bpf_map *map)
{
	uint32_t max = map ? bpf_map__max_entries(map) : 0, count = max, batch;
	gt_autofree void *keys = calloc(max, map ? bpf_map__key_size(map) : 0);
	gt_autofree void *values = calloc(max, map ? bpf_map__value_size(map) : 0);
	int error;

	if (!keys || !values || !max)
		return 0;
	error = bpf_map_lookup_batch(bpf_map__fd(map), NULL, &batch, keys, values, &count, NULL);
	/* -ENOENT: that was all. */
	return error && error != -ENOENT ? 0 : count;
}

int gt_load_run_iterator(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
	int error = fd < 0 ? -errno : 0;
	char buffer[64];

	if (fd >= 0) {
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
		close(fd);
	}
	bpf_link__destroy(link);
	return error;
}
