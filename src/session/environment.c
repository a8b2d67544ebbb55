/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

#define LIBRARY_PATH "LD_LIBRARY_PATH="

void gt_surroundings_free(struct gt_surroundings *surroundings)
{
	for (char **entry = surroundings->environment; entry && *entry; entry++)
		free(*entry);
	free(surroundings->environment);
	free(surroundings->remark);
	*surroundings = (struct gt_surroundings){0};
}

static int copy_environment(struct gt_surroundings *surroundings)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	surroundings->environment = calloc(count + 2, sizeof(char *));
	if (!surroundings->environment)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		surroundings->environment[i] = strdup(environ[i]);
		if (!surroundings->environment[i])
			return -ENOMEM;
	}
	return 0;
}

/* Puts a directory to the front of LD_LIBRARY_PATH. The array has room for one entry more. */
static int prepend_library_path(char **environment, const char *directory)
{
	gt_auto_strbuf value = GT_STRBUF_INIT;
	char **entry = environment;

	while (*entry && strncmp(*entry, LIBRARY_PATH, strlen(LIBRARY_PATH)))
		entry++;
	gt_strbuf_printf(&value, LIBRARY_PATH "%s", directory);
	if (*entry && (*entry)[strlen(LIBRARY_PATH)])
		gt_strbuf_printf(&value, ":%s", *entry + strlen(LIBRARY_PATH));
	free(*entry);
	*entry = gt_strbuf_steal(&value);
	return *entry ? 0 : -ENOMEM;
}

static int use_soft_gpu(const struct gt_session_options *options,
			struct gt_surroundings *surroundings, struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	int error = gt_gpu_soft_directory(&directory, diag);

	if (error)
		return error;
	surroundings->remark =
		strdup(options->gpu == GT_GPU_SOFT
			       ? "using the software GPU: a development device, whose times say "
				 "nothing about GPUs"
			       : "no NVIDIA driver here: using the software GPU, a development "
				 "device, whose times say nothing about GPUs");
	return prepend_library_path(surroundings->environment, directory);
}

static int give_gpu(const struct gt_session_options *options, const struct gt_command *command,
		    struct gt_surroundings *surroundings, struct gt_diag *diag)
{
	const char *program = command->paths[command->count - 1];

	switch (gt_gpu_decide(options->gpu, program)) {
	case GT_GPU_AS_IT_IS:
		if (!gt_gpu_has_nvidia())
			surroundings->remark = strdup(
				"no NVIDIA driver here, though --gpu nvidia asks for it: the "
				"command finds no GPU unless it brings a driver along; load the "
				"driver ('nvidia-smi' shows whether it works), or use --gpu soft");
		return 0;
	case GT_GPU_RELINK:
		surroundings->remark = strdup(
			"the program has NVIDIA's CUDA runtime linked in statically, which cannot "
			"use the software GPU: relink it with 'nvcc -cudart shared'");
		return 0;
	case GT_GPU_USE_SOFT:
		break;
	}
	return use_soft_gpu(options, surroundings, diag);
}

int gt_surroundings_make(const struct gt_session_options *options,
			 struct gt_surroundings *ret_surroundings, struct gt_command *ret_command,
			 struct gt_diag *diag)
{
	struct gt_surroundings surroundings = {0};
	struct gt_command command = {0};
	int error = gt_command_find(options->command[0], getenv("PATH"), &command, diag);

	if (!error)
		error = copy_environment(&surroundings);
	if (!error)
		error = give_gpu(options, &command, &surroundings, diag);
	if (error) {
		gt_surroundings_free(&surroundings);
		gt_command_free(&command);
		return gt_diag(diag, error, "command", options->command[0], "%s", strerror(-error));
	}
	*ret_surroundings = surroundings;
	*ret_command = command;
	return 0;
}
