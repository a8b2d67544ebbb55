/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An OpenCL program of a process: from its source to what its devices take. */
#include "run/inject_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "opencl/opencl.h"
#include "patch/spirv.h"

/* A request: the build options, a NUL, and the program. */
struct program_request {
	const char *options;
	const uint8_t *bytes;
	size_t size;
};

static bool read_request(const struct gt_inject_job *job, struct program_request *ret_request)
{
	const char *text = job->bytes.data;
	size_t length = strnlen(text, job->bytes.size);

	*ret_request = (struct program_request){
		.options = text,
		.bytes = (const uint8_t *)text + length + 1,
		.size = job->bytes.size - length - 1,
	};
	return length < job->bytes.size && ret_request->size;
}

static bool begins_with(const struct program_request *request, const void *bytes, size_t size)
{
	return request->size >= size && !memcmp(request->bytes, bytes, size);
}

static bool is_spirv(const struct program_request *request)
{
	static const uint8_t little[] = {3, 2, 0x23, 7}, big[] = {7, 0x23, 2, 3};

	return begins_with(request, little, 4) || begins_with(request, big, 4);
}

/* The first line of what a compiler wrote, as a part of the reason. */
static void add_message(const struct gt_strbuf *log, struct gt_diag *diag)
{
	const char *text = gt_strbuf_string(log);
	size_t length = strlen(diag->text);

	if (*text)
		snprintf(diag->text + length, sizeof(diag->text) - length, ": %.*s",
			 (int)strcspn(text, "\n"), text);
}

/* Whether PoCL's compiler, which takes SPIR, fuses products with sums on this CPU. */
static bool cpu_fuses(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("fma");
#else
	return true;
#endif
}

/*
 * Compile what is no SPIR-V. Source includes the files that its compiler may read, so that the
 * compiler of another user than the process's is not used.
 */
static int compile(const struct gt_inject_job *job, const struct program_request *request,
		   struct gt_strbuf *ret_module, struct gt_diag *diag)
{
	char path[32];
	gt_autoclose int directory = -1;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_cl_source source = {
		.bytes = request->bytes,
		.size = request->size,
		.is_text = !begins_with(request, "BC\xc0\xde", 4),
		.fuses = job->request.form == GT_AGENT_FORM_SPIR && cpu_fuses(),
		.options = request->options,
	};
	int error;

	if (job->connection->user != geteuid())
		return gt_diag(diag, -ENODATA, "run", NULL,
			       "source only: it is not compiled for a process of another user");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)job->connection->module.pid);
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	source.directory = directory;
	error = gt_cl_compile(&source, ret_module, &log, diag);
	if (error == -EINVAL)
		add_message(&log, diag);
	return error == -ENOENT ? -ENODATA : error;
}

/* Replace the module by what a device takes. */
static int convert(struct gt_inject_job *job, struct gt_strbuf *module)
{
	gt_auto_strbuf bitcode = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	int error;

	if (job->request.form != GT_AGENT_FORM_SPIR || !module->length)
		return 0;
	error = gt_cl_convert(module->data, module->length, &bitcode, &log, &job->diag);
	if (error == -EINVAL)
		add_message(&log, &job->diag);
	if (!error) {
		gt_strbuf_free(module);
		*module = bitcode;
		bitcode = (struct gt_strbuf)GT_STRBUF_INIT;
	}
	return error;
}

void gt_inject_program_patch(struct gt_inject_job *job, const struct gt_patch_options *options)
{
	bool for_spir = job->request.form == GT_AGENT_FORM_SPIR;
	gt_auto_strbuf compiled = GT_STRBUF_INIT;
	struct program_request request;

	if (!read_request(job, &request)) {
		job->error =
			gt_diag(&job->diag, -EINVAL, "run", NULL, "the program could not be read");
		return;
	}
	if (job->request.form != GT_AGENT_FORM_SPIRV && !for_spir) {
		job->error = gt_diag(&job->diag, -ENODATA, "run", NULL,
				     "the device takes neither SPIR-V nor SPIR");
		return;
	}
	if (!is_spirv(&request)) {
		job->error = compile(job, &request, &compiled, &job->diag);
		request.bytes = (const uint8_t *)compiled.data;
		request.size = compiled.length;
	}
	if (!job->error)
		job->error = gt_patch_spirv(request.bytes, request.size, for_spir, options,
					    &job->image, &job->diag);
	if (!job->error)
		job->error = convert(job, &job->image.fatbin);
}
