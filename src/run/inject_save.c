/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The directory to which patched modules are written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_limit.h"
#include "base/link_input.h"
#include "run/inject_job.h"

int gt_inject_save_open(struct gt_inject *inject, struct gt_diag *diag)
{
	const char *path = inject->options.save_in;

	if (!path)
		return 0;
	if (!mkdir(path, 0777) || errno == EEXIST)
		inject->save.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (inject->save.directory >= 0)
		return 0;
	return gt_diag(diag, -errno, "run", NULL,
		       "cannot save modules in '%s': %s; name a directory that you may write to",
		       path, strerror(errno));
}

/* Keep the first error. */
static void keep_error(struct gt_inject *inject, int error)
{
	char *remark = inject->save.remark;

	if (!*remark)
		snprintf(remark, sizeof(inject->save.remark),
			 "not all patched modules were saved in '%.400s': %s",
			 inject->options.save_in, strerror(-error));
}

static int write_file(int directory, const char *name, const void *data, size_t size)
{
	gt_autoclose int fd = openat(directory, name,
				     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return -errno;
	return gt_may_write(size) ? gt_write_all(fd, data, size) : -EFBIG;
}

/* part: of a module that is linked from several, from 1; 0: it is not. */
static void save_module(const struct gt_inject_job *job, uint32_t part, const char *suffix,
			const void *data, size_t size)
{
	uint32_t number = job->connection->module.number;
	char name[64];
	int error;

	if (part)
		snprintf(name, sizeof(name), "module-%u-%u.%s", number, part, suffix);
	else
		snprintf(name, sizeof(name), "module-%u.%s", number, suffix);
	error = write_file(job->inject->save.directory, name, data, size);
	if (error)
		keep_error(job->inject, error);
}

/* What the process links. */
static void save_inputs(const struct gt_inject_job *job, const struct gt_inject_bytes *bytes)
{
	const char *at = bytes->data, *end = at + bytes->size;
	static const char *const suffixes[] = {
		[GT_LINK_PTX] = "ptx",
		[GT_LINK_CUBIN] = "cubin",
		[GT_LINK_ARCHIVE] = "a",
	};
	struct gt_link_input input;

	for (uint32_t part = 1; gt_link_next(&at, end, &input); part++)
		save_module(job, part, suffixes[input.kind], input.data,
			    input.size - (input.kind == GT_LINK_PTX));
}

/* The PTX of a fatbin that gputap has written. */
static void save_fatbin(const struct gt_inject_job *job, const struct gt_inject_bytes *bytes)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	int error = gt_fatbin_open(bytes->data, bytes->size, &fatbin, NULL);

	if (!error)
		error = gt_fatbin_extract(&fatbin->entries[0], &payload, NULL);
	if (error)
		keep_error(job->inject, error);
	else
		save_module(job, 0, "ptx", payload.data, payload.size);
}

void gt_inject_save(const struct gt_inject_job *job)
{
	bool is_program = job->request.operation == GT_AGENT_PROGRAM;
	const struct gt_strbuf *program = job->spirv.length ? &job->spirv : &job->image.fatbin;
	struct gt_inject_bytes bytes = {0};

	if (job->inject->save.directory < 0 || job->patched < 0)
		return;
	if (is_program)
		save_module(job, 0, "spv", program->data, program->length);
	else if (!gt_inject_bytes_read(job->patched, job->reply.size, &bytes))
		keep_error(job->inject, -ENOMEM);
	else if (job->reply.flags & GT_AGENT_LINKED)
		save_inputs(job, &bytes);
	else
		save_fatbin(job, &bytes);
	gt_inject_bytes_clear(&bytes);
}

const char *gt_inject_save_remark(const struct gt_inject *inject)
{
	return *inject->save.remark ? inject->save.remark : NULL;
}
