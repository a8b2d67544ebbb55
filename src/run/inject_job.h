/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An image on its way from the request to the reply. The caller's thread selects the PTX of the
 * image: one that no program matches, or that was patched before, is answered at once, also while
 * another one is patched. A worker patches the others, one after the other, so that kernels and
 * sites can be numbered: the smallest first, since a process waits for each, but those of one
 * process in the order of their requests. The caller's thread counts and answers.
 */
#pragma once

#include "run/inject_private.h"
#include "run/inject_reuse.h"

/* The bytes of an image: mapped from a file that nobody can change, or copied. */
struct gt_inject_bytes {
	void *data;
	size_t size;
	bool is_mapped;
};

struct gt_inject_job {
	struct gt_inject *inject;
	struct gt_inject_connection *connection;
	struct gt_agent_request request;
	int file; /* the request's; owned; -1: none */

	/* inject_image.c */
	struct gt_inject_bytes bytes;
	struct gt_patch_selection selection;
	struct gt_inject_query query;
	bool is_known; /* the result is that of an earlier image */
	struct gt_patch_image image;
	int error;
	struct gt_diag diag;
	struct gt_agent_reply reply;
	int patched; /* the reply's file; owned; -1: none */
	struct gt_strbuf
		spirv; /* the patched OpenCL program, before it becomes what a device takes */

	struct gt_inject_job *next;
	unsigned overtaken; /* how many later jobs were started while it waited */
};

/* inject_image.c: the bytes of a file. False: they cannot be read. The caller clears them. */
bool gt_inject_bytes_read(int fd, uint64_t size, struct gt_inject_bytes *bytes);
void gt_inject_bytes_clear(struct gt_inject_bytes *bytes);

/* inject_save.c: write the patched module of a job that was answered, as the options ask. */
void gt_inject_save(const struct gt_inject_job *job);

/*
 * inject_program.c: patch an OpenCL program into job->image; the worker does that. The options are
 * for the job. job->error is -ENOENT where its source cannot be compiled here, and -ENOEXEC where
 * it is a binary alone.
 */
void gt_inject_program_patch(struct gt_inject_job *job, const struct gt_patch_options *options);

/*
 * inject_image.c: read the image and select its PTX. True: gt_inject_image_patch is due; else the
 * job can be answered.
 */
bool gt_inject_image_select(struct gt_inject_job *job);
/* Forget the selection and the bytes, which take memory. */
void gt_inject_image_deselect(struct gt_inject_job *job);
/* Patch what was selected: in the worker. */
void gt_inject_image_patch(struct gt_inject_job *job);
/*
 * Count the outcome, and send the reply. True: a patched image was sent, and its result is awaited.
 */
bool gt_inject_image_answer(struct gt_inject_job *job);
void gt_inject_image_clear(struct gt_inject_job *job);
