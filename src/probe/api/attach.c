/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "probe/api/calls.h"
#include "probe/api/multi_link.h"
#include "probe/api/perf_link.h"
#include "probe/api/trace_event.h"

struct gt_attachment {
	GT_VEC(int) entries, returns; /* links */
	GT_VEC(unsigned) events;      /* of tracefs, that links are to */
	size_t count;
};

struct probe {
	const struct gt_site *site;
	uint32_t group; /* probes of a group can share a link */
	bool failed;
};

/* One half of the work: entry or return programs. Sessions have entries alone. */
struct half {
	struct gt_attacher *attacher;
	struct gt_attachment *made;
	const char *path;
	int file;
	bool is_return;
	struct probe *probes; /* by groups */
	size_t count;
	uint64_t *offsets, *cookies; /* of the probes */
	int error;                   /* of the last site that failed */
};

static int program_of(const struct half *half)
{
	return bpf_program__fd(half->is_return ? half->attacher->at_return : half->attacher->entry);
}

/* One trace event for these probes, all of one group. */
static int create_event_link(struct half *half, size_t from, size_t count)
{
	uint32_t group = half->probes[from].group;
	uint64_t cookie = half->is_return ? GT_COOKIE(0, 0, group | GT_COOKIE_GROUP)
					  : GT_COOKIE((uint64_t)group, 0, GT_COOKIE_GROUP);
	unsigned number = half->attacher->events++;
	int id = gt_trace_event_create(number, half->file, half->offsets + from, count,
				       half->is_return);
	int link;

	if (id < 0)
		return -EOPNOTSUPP; /* the caller attaches one by one */
	link = gt_perf_link_event(program_of(half), id, cookie);
	if (link < 0 || gt_vec_push(&half->made->events, number)) {
		if (link >= 0)
			close(link);
		gt_trace_event_remove(number);
		return link < 0 ? link : -ENOMEM;
	}
	return link;
}

static int create_link(struct half *half, size_t from, size_t count)
{
	enum gt_multi_link kind = half->attacher->method == GT_ATTACH_SESSION ? GT_MULTI_SESSION
				  : half->is_return                           ? GT_MULTI_RETURN
									      : GT_MULTI_ENTRY;

	if (half->attacher->method != GT_ATTACH_PERF)
		return gt_multi_link_functions(program_of(half), half->path, half->offsets + from,
					       half->cookies + from, count, kind);
	if (count > 1)
		return create_event_link(half, from, count);
	return gt_perf_link_function(program_of(half), half->path, half->offsets[from],
				     half->cookies[from], half->is_return);
}

static bool is_permanent(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOENT || error == -ENOMEM ||
	       error == -EMFILE || error == -ENFILE;
}

/* One bad offset makes a whole link fail: bisect the list until the bad ones are isolated. */
static int attach_range(struct half *half, size_t from, size_t count)
{
	int fd, error;

	if (!count || (count == 1 && half->probes[from].failed))
		return 0;
	fd = create_link(half, from, count);
	if (fd >= 0) {
		error = half->is_return ? gt_vec_push(&half->made->returns, fd)
					: gt_vec_push(&half->made->entries, fd);
		if (error)
			close(fd);
		return error;
	}
	if (is_permanent(fd))
		return fd;
	if (count == 1) {
		half->probes[from].failed = true;
		half->error = fd;
		return 0;
	}
	error = attach_range(half, from, count / 2);
	return error ? error : attach_range(half, from + count / 2, count - count / 2);
}

static int compare_groups(const void *a, const void *b)
{
	const struct probe *left = a, *right = b;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->site->offset > right->site->offset) -
	       (left->site->offset < right->site->offset);
}

/*
 * A return is identified by the call that returns: groups differ in their flags only. An entry is
 * identified by its offset in its page, which is the same in every process: functions with equal
 * offsets are in different groups.
 */
static int make_groups(struct half *half)
{
	gt_autofree uint32_t *same_offset = calloc(GT_SITE_PAGE, sizeof(*same_offset));
	uint32_t groups = 0;

	if (!same_offset)
		return -ENOMEM;
	for (size_t i = 0; i < half->count; i++) {
		struct probe *probe = &half->probes[i];
		uint32_t earlier = same_offset[probe->site->offset % GT_SITE_PAGE]++;
		uint32_t group = half->attacher->groups + earlier;
		uint32_t key = GT_SITE_KEY(group, probe->site->offset);

		probe->group = half->is_return ? probe->site->cookie >> 48 : group;
		if (!half->is_return &&
		    bpf_map_update_elem(half->attacher->sites, &key, &probe->site->cookie, BPF_ANY))
			return -errno;
		if (groups <= earlier)
			groups = earlier + 1;
	}
	if (!half->is_return)
		half->attacher->groups += groups;
	qsort(half->probes, half->count, sizeof(*half->probes), compare_groups);
	return 0;
}

static int attach_half(struct half *half)
{
	size_t end;
	int error = half->attacher->method == GT_ATTACH_PERF ? make_groups(half) : 0;

	for (size_t i = 0; i < half->count; i++) {
		half->offsets[i] = half->probes[i].site->offset;
		half->cookies[i] = half->probes[i].site->cookie;
	}
	for (size_t from = 0; from < half->count && !error; from = end) {
		for (end = from + 1; end < half->count; end++)
			if (half->probes[end].group != half->probes[from].group)
				break;
		error = attach_range(half, from, end - from);
	}
	return error;
}

/* Returns first: no call may begin whose return would be missed. */
static int attach_both(struct half *half)
{
	int error = 0;

	if (half->attacher->method == GT_ATTACH_PERF) {
		gt_perf_link_allow_many();
		if (!half->attacher->events)
			gt_trace_events_sweep();
	}
	if (half->attacher->method != GT_ATTACH_SESSION) {
		half->is_return = true;
		error = attach_half(half);
		half->is_return = false;
	}
	return error ? error : attach_half(half);
}

int gt_attach(struct gt_attacher *attacher, const struct gt_attach_request *request,
	      struct gt_attachment **ret_attachment, struct gt_diag *diag)
{
	const char *path = request->path;
	size_t count = request->count, room = count ? count : 1;
	gt_auto(attachment) struct gt_attachment *made = calloc(1, sizeof(*made));
	gt_autofree uint64_t *numbers = calloc(room, 2 * sizeof(*numbers));
	gt_autofree struct probe *probes = calloc(room, sizeof(*probes));
	gt_autoclose int file = open(path, O_RDONLY | O_CLOEXEC);
	struct half half = {
		.attacher = attacher,
		.made = made,
		.path = path,
		.file = file,
		.probes = probes,
		.count = count,
		.offsets = numbers,
		.cookies = numbers ? numbers + count : NULL,
	};
	int error;

	if (!made || !numbers || !probes)
		return gt_diag(diag, -ENOMEM, "attach", path, "out of memory");
	for (size_t i = 0; i < count; i++)
		probes[i].site = &request->sites[i];
	error = attach_both(&half);
	if (error)
		return gt_diag(diag, error, "attach", path, "cannot attach uprobes: %s",
			       strerror(-error));
	for (size_t i = 0; i < count; i++) {
		if (probes[i].failed)
			request->failed(request->context, probes[i].site, half.error);
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

void gt_detach(struct gt_attachment *attachment)
{
	if (!attachment)
		return;
	gt_vec_each (link, &attachment->entries)
		close(*link);
	gt_vec_each (link, &attachment->returns)
		close(*link);
	gt_vec_each (event, &attachment->events)
		gt_trace_event_remove(*event);
	gt_vec_free(&attachment->entries);
	gt_vec_free(&attachment->returns);
	gt_vec_free(&attachment->events);
	free(attachment);
}
