/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "base/vec.h"

#define UPROBE_EVENTS "/sys/bus/event_source/devices/uprobe/"
#define MOST_FILES (1 << 20) /* that Linux lets a process open (/proc/sys/fs/nr_open) */

/* From include/uapi/linux/bpf.h of Linux 6.6; the headers of Debian 12 are older. */
#define TRACE_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1

struct uprobe_multi_link {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t padding;
};

typedef GT_VEC(int) link_fds;

struct gt_attachment {
	link_fds entries, returns;
	size_t count;
};

/* What a perf event has to say for a uprobe, as this kernel numbers it. */
struct perf_kind {
	uint32_t type;
	unsigned return_bit; /* of `config` */
};

/* One half of the work: entry or return programs. */
struct half {
	const char *path;
	struct perf_kind kind; /* for perf events */
	struct bpf_program *program;
	bool is_return;
	const uint64_t *offsets;
	const uint64_t *cookies;
	bool *bad; /* per site: refused */
	int error; /* of the last refused one */
	link_fds *links;
};

static int create_multi_link(int program, const char *path, const uint64_t *offsets,
			     const uint64_t *cookies, size_t count, bool is_return)
{
	struct uprobe_multi_link link = {
		.program = program,
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = is_return ? UPROBE_MULTI_RETURN : 0,
	};
	int fd = syscall(__NR_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	return fd < 0 ? -errno : fd;
}

int gt_attach_check_multi(void)
{
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = TRACE_UPROBE_MULTI);
	uint64_t offset = 0;
	int error;
	gt_autoclose int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL",
						 instructions, gt_countof(instructions), &options);

	if (program < 0)
		return program;
	/* A directory cannot be probed: a kernel that knows the link says so, an older one
	 * does not come that far. */
	error = create_multi_link(program, "/", &offset, NULL, 1, false);
	return error == -EBADF ? 0 : error < 0 ? error : -EOPNOTSUPP;
}

void gt_attach_prepare_multi(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, TRACE_UPROBE_MULTI);
}

/* One bad offset refuses a whole link: halves the list until the bad ones stand alone. */
static int attach_range(struct half *half, size_t from, size_t count)
{
	int fd, error;

	if (!count || (count == 1 && half->bad[from]))
		return 0;
	fd = create_multi_link(bpf_program__fd(half->program), half->path, half->offsets + from,
			       half->cookies + from, count, half->is_return);
	if (fd >= 0) {
		error = gt_vec_push(half->links, fd);
		if (error)
			close(fd);
		return error;
	}
	if (count == 1) {
		half->bad[from] = true;
		half->error = fd;
		return 0;
	}
	if (fd == -EPERM || fd == -EACCES || fd == -ENOENT || fd == -ENOMEM)
		return fd;
	error = attach_range(half, from, count / 2);
	return error ? error : attach_range(half, from + count / 2, count - count / 2);
}

/* A number that stands in a file of sysfs, in this form. */
static int read_number(const char *path, const char *form, unsigned *ret_number)
{
	FILE *file = fopen(path, "re");
	int error = !file ? -errno : fscanf(file, form, ret_number) == 1 ? 0 : -EINVAL;

	if (file)
		fclose(file);
	return error;
}

static int find_perf_kind(struct perf_kind *kind)
{
	int error = read_number(UPROBE_EVENTS "type", "%u", &kind->type);

	return error ? error
		     : read_number(UPROBE_EVENTS "format/retprobe", "config:%u", &kind->return_bit);
}

/*
 * Each probe is an open file, and there may be thousands. The command of the session has its own
 * limit: it is made before anything is attached.
 */
static void allow_many_files(void)
{
	struct rlimit limit = {.rlim_cur = MOST_FILES, .rlim_max = MOST_FILES};

	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The link keeps the perf event, so that one descriptor is enough for both. */
static int create_perf_link(const struct half *half, size_t site)
{
	struct perf_event_attr event = {
		.type = half->kind.type,
		.size = sizeof(event),
		.config = half->is_return ? 1ull << half->kind.return_bit : 0,
		.uprobe_path = (uintptr_t)half->path,
		.probe_offset = half->offsets[site],
	};
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = half->cookies[site]);
	/* On one CPU by name, on all by nature: programs run wherever the breakpoint is hit. */
	gt_autoclose int fd = syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	return bpf_link_create(bpf_program__fd(half->program), fd, BPF_PERF_EVENT, &options);
}

static bool is_lasting(int error)
{
	return error == -EPERM || error == -EACCES || error == -EMFILE || error == -ENFILE ||
	       error == -ENOMEM;
}

static int attach_perf(struct half *half, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fd;

		if (half->bad[i])
			continue;
		fd = create_perf_link(half, i);
		if (fd >= 0 && gt_vec_push(half->links, fd)) {
			close(fd);
			return -ENOMEM;
		}
		if (is_lasting(fd))
			return fd;
		if (fd < 0) {
			half->bad[i] = true;
			half->error = fd;
		}
	}
	return 0;
}

static int attach_half(struct half *half, size_t count, bool multi)
{
	return multi ? attach_range(half, 0, count) : attach_perf(half, count);
}

int gt_attach(const char *path, const struct gt_site *sites, size_t count, bool multi,
	      struct bpf_program *entry, struct bpf_program *at_return,
	      void (*refused)(void *context, const struct gt_site *site, int error), void *context,
	      struct gt_attachment **ret_attachment, struct gt_diag *diag)
{
	gt_auto(attachment) struct gt_attachment *made = calloc(1, sizeof(*made));
	gt_autofree uint64_t *numbers = calloc(count ? count : 1, 2 * sizeof(*numbers));
	gt_autofree bool *bad = calloc(count ? count : 1, sizeof(*bad));
	struct half half = {.path = path, .bad = bad, .offsets = numbers};
	int error;

	if (!made || !numbers || !bad)
		return gt_diag(diag, -ENOMEM, "attach", path, "out of memory");
	for (size_t i = 0; i < count; i++) {
		numbers[i] = sites[i].offset;
		numbers[count + i] = sites[i].cookie;
	}
	half.cookies = numbers + count;
	if (!multi) {
		allow_many_files();
		error = find_perf_kind(&half.kind);
		if (error)
			return gt_diag(diag, error, "attach", path,
				       "the kernel has no uprobes (" UPROBE_EVENTS "): %s",
				       strerror(-error));
	}

	/* Returns first: a call must not begin that could not be seen to end. */
	half.program = at_return;
	half.is_return = true;
	half.links = &made->returns;
	error = attach_half(&half, count, multi);
	if (!error) {
		half.program = entry;
		half.is_return = false;
		half.links = &made->entries;
		error = attach_half(&half, count, multi);
	}
	if (error)
		return gt_diag(diag, error, "attach", path, "uprobes are refused: %s",
			       strerror(-error));
	for (size_t i = 0; i < count; i++) {
		if (bad[i])
			refused(context, &sites[i], half.error);
		else
			made->count++;
	}
	if (!made->count)
		return gt_diag(diag, half.error ? half.error : -ENOENT, "attach", path,
			       "none of %zu functions can be probed: %s", count,
			       strerror(half.error ? -half.error : ENOENT));
	*ret_attachment = gt_take(made);
	return 0;
}

size_t gt_attachment_count(const struct gt_attachment *attachment)
{
	return attachment->count;
}

static void close_links(link_fds *links)
{
	gt_vec_each (fd, links)
		close(*fd);
	gt_vec_free(links);
}

void gt_detach(struct gt_attachment *attachment)
{
	if (!attachment)
		return;
	close_links(&attachment->entries);
	close_links(&attachment->returns);
	free(attachment);
}
