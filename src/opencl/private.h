/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#pragma once

#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "base/vec.h"
#include "opencl/opencl.h"

struct gt_cl_functions {
#define FUNCTION(name) __typeof__(&(name)) name;
#include "opencl/functions.def"
#undef FUNCTION
	__typeof__(&clCreateProgramWithIL) clCreateProgramWithIL; /* NULL before OpenCL 2.1 */
};

struct gt_cl {
	void *library;
	struct gt_cl_functions call;
	GT_VEC(cl_device_id) devices;
};

enum gt_cl_sharing {
	GT_CL_NOT_CHECKED,
	GT_CL_SHARED,
	GT_CL_NOT_SHARED,
};

struct gt_cl_device {
	struct gt_cl *cl;
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	struct gt_cl_device_info info;
	enum gt_cl_sharing sharing;
	bool is_abandoned;
};

struct gt_cl_program {
	struct gt_cl_device *device;
	cl_program program;
	/* The launch that runs. */
	cl_kernel kernel;
	cl_event event; /* its end; NULL: none runs */
	struct gt_cl_argument arguments[GT_CL_MAX_ARGUMENTS];
	cl_mem memory[GT_CL_MAX_ARGUMENTS];
	size_t argument_count;
};

/* 0, or the error of a result, with its name in the diag. */
int gt_cl_check(cl_int result, const char *function, struct gt_diag *diag);

/* A text about the device, or "". The caller frees it; NULL: out of memory. */
char *gt_cl_read_text(const struct gt_cl *cl, cl_device_id id, cl_device_info which);

/* ---- tool.c ---- */

/* The files of a tool, in memory: the standard ones, and others, which it opens by /proc/self/fd.
 */
struct gt_cl_files {
	int input, output, messages;
	GT_VEC(int) others;
	uint64_t limit; /* ns that the tool may take; 0: a minute */
};
#define GT_CL_FILES_NONE                                                                           \
	{                                                                                          \
		.input = -1, .output = -1, .messages = -1                                          \
	}
#define gt_auto_cl_files __attribute__((cleanup(gt_cl_files_close))) struct gt_cl_files

/* 0 or -ENOMEM; close after errors, too. */
int gt_cl_files_open(struct gt_cl_files *files, const void *input, size_t size,
		     struct gt_diag *diag);
void gt_cl_files_close(struct gt_cl_files *files);
/* Another file with `size` bytes: its descriptor, or -ENOMEM. */
int gt_cl_files_add(struct gt_cl_files *files, const void *bytes, size_t size);
/* Append the bytes of one of them. 0 or -Exxx. */
int gt_cl_files_append(int file, struct gt_strbuf *text);
/*
 * Run a tool in a directory (-1: this process's). Its exit status; -ENOENT: it is not installed;
 * -EINVAL: it was ended by a signal; -ETIME: by its limit.
 */
int gt_cl_run_tool(const char *const *words, const struct gt_cl_files *files, int directory);

/* ---- headers.c ---- */

enum {
	GT_CL_HEADER_PATH = 32, /* characters of a path below */
};
/* The folder that clang finds the headers in. */
#define GT_CL_HEADERS "/gputap/a/b/c/d/e/f/g/headers"

/*
 * Give clang the headers of a source, as files below GT_CL_HEADERS, which exist for it alone:
 * `overlay` is the file for -ivfsoverlay. 0; -E2BIG; -ENOMEM.
 */
int gt_cl_headers_add(const struct gt_cl_source *source, struct gt_cl_files *files,
		      char overlay[GT_CL_HEADER_PATH], struct gt_diag *diag);
