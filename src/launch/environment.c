/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clean.h"
#include "base/strbuf.h"

void gt_environment_free(struct gt_environment *environment)
{
	for (char **entry = environment->variables; entry && *entry; entry++)
		free(*entry);
	free(environment->variables);
	free(environment->remark);
	gt_soft_reports_close(environment->reports);
	*environment = (struct gt_environment){0};
}

static int copy_environment(struct gt_environment *environment)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	environment->variables = calloc(count + 2, sizeof(char *));
	if (!environment->variables)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		environment->variables[i] = strdup(environ[i]);
		if (!environment->variables[i])
			return -ENOMEM;
	}
	return 0;
}

/* The entry of a variable, which is NULL at the end if there is none. */
static char **find_variable(const struct gt_environment *environment, const char *name)
{
	size_t length = strlen(name);
	char **entry = environment->variables;

	while (*entry && (strncmp(*entry, name, length) || (*entry)[length] != '='))
		entry++;
	return entry;
}

/* Put "NAME=value" in place of an entry, or at the end. */
static int put_variable(struct gt_environment *environment, char **entry, char *variable)
{
	size_t count = 0;
	char **larger;

	if (!variable)
		return -ENOMEM;
	if (*entry) {
		free(*entry);
		*entry = variable;
		return 0;
	}
	while (environment->variables[count])
		count++;
	larger = realloc(environment->variables, (count + 2) * sizeof(char *));
	if (!larger) {
		free(variable);
		return -ENOMEM;
	}
	environment->variables = larger;
	larger[count] = variable;
	larger[count + 1] = NULL;
	return 0;
}

int gt_environment_set(struct gt_environment *environment, const char *name, const char *value)
{
	gt_auto_strbuf variable = GT_STRBUF_INIT;

	gt_strbuf_printf(&variable, "%s=%s", name, value);
	return put_variable(environment, find_variable(environment, name),
			    gt_strbuf_steal(&variable));
}

int gt_environment_prepend(struct gt_environment *environment, const char *name, char separator,
			   const char *value)
{
	gt_auto_strbuf variable = GT_STRBUF_INIT;
	char **entry = find_variable(environment, name);
	const char *old = *entry ? *entry + strlen(name) + 1 : "";

	gt_strbuf_printf(&variable, "%s=%s", name, value);
	if (*old)
		gt_strbuf_printf(&variable, "%c%s", separator, old);
	return put_variable(environment, entry, gt_strbuf_steal(&variable));
}

static const char *find_value(const struct gt_environment *environment, const char *name)
{
	char **entry = find_variable(environment, name);

	return *entry ? *entry + strlen(name) + 1 : "";
}

/* Whether a file, by its name, is a library whose functions preloaded ones replace: 1, 0, -ENOMEM.
 */
static int is_replaced(const char *path, size_t length)
{
	static const char *const compilers[] = {"libnvrtc.so", "libnvJitLink.so"};
	gt_autofree char *copy = strndup(path, length);
	const char *slash, *name;

	if (!copy)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
		if (!strncmp(name, compilers[i], strlen(compilers[i])))
			return 1;
	return gt_api_library_of(name) != NULL;
}

/* The length of the part of LD_PRELOAD that a library comes after, or -ENOMEM. */
static ssize_t find_preload_place(const char *list)
{
	static const char separators[] = " :";
	const char *at = list + strspn(list, separators);

	while (*at) {
		size_t length = strcspn(at, separators);
		int found = is_replaced(at, length);

		if (found < 0)
			return found;
		if (found)
			break;
		at += length;
		at += strspn(at, separators);
	}
	return at - list;
}

/* The runtime of AddressSanitizer ends a program in which another library precedes it. */
static int permit_sanitizer(struct gt_environment *environment)
{
	static const char option[] = "verify_asan_link_order";

	return strstr(find_value(environment, "ASAN_OPTIONS"), option)
		       ? 0
		       : gt_environment_prepend(environment, "ASAN_OPTIONS", ':',
						"verify_asan_link_order=0");
}

int gt_environment_preload(struct gt_environment *environment, const char *path)
{
	const char *list = find_value(environment, "LD_PRELOAD");
	ssize_t place = find_preload_place(list);
	gt_auto_strbuf variable = GT_STRBUF_INIT;
	int error;

	if (place < 0)
		return (int)place;
	gt_strbuf_printf(&variable, "LD_PRELOAD=%.*s%s%s%s%s", (int)place, list,
			 place && !list[place] ? ":" : "", path, list[place] ? ":" : "",
			 list + place);
	error = put_variable(environment, find_variable(environment, "LD_PRELOAD"),
			     gt_strbuf_steal(&variable));
	return error ? error : permit_sanitizer(environment);
}

static int use_soft_gpu(enum gt_gpu gpu, struct gt_environment *environment, struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	int error = gt_gpu_soft_directory(&directory, diag);

	if (error)
		return error;
	environment->soft_gpu = true;
	/* Whether the command uses CUDA is not known yet. */
	environment->remark =
		strdup(gpu == GT_GPU_SOFT
			       ? "CUDA calls go to the software GPU, whose times say nothing about "
				 "real GPUs"
			       : "no NVIDIA driver found: CUDA calls go to the software GPU, whose "
				 "times say nothing about real GPUs");
	environment->reports = gt_soft_reports_open();
	if (environment->reports)
		error = gt_environment_set(environment, "SOFTGPU_REPORTS",
					   gt_soft_reports_name(environment->reports));
	return error ? error
		     : gt_environment_prepend(environment, "LD_LIBRARY_PATH", ':', directory);
}

static int give_gpu(enum gt_gpu gpu, const struct gt_command *command,
		    struct gt_environment *environment, struct gt_diag *diag)
{
	const char *program = command->paths[command->count - 1];

	switch (gt_gpu_decide(gpu, program)) {
	case GT_GPU_AS_IT_IS:
		if (!gt_gpu_has_nvidia())
			environment->remark = strdup(
				"no NVIDIA driver found: the command has no GPU unless it brings "
				"a driver; load the driver ('nvidia-smi' shows whether it works), "
				"or use --gpu soft");
		return 0;
	case GT_GPU_RELINK:
		environment->remark = strdup(
			"NVIDIA's CUDA runtime is statically linked into the program and cannot "
			"use the software GPU: relink it with 'nvcc -cudart shared'");
		return 0;
	case GT_GPU_USE_SOFT:
		break;
	}
	return use_soft_gpu(gpu, environment, diag);
}

int gt_environment_make(const char *name, enum gt_gpu gpu, struct gt_environment *ret_environment,
			struct gt_command *ret_command, struct gt_diag *diag)
{
	struct gt_environment environment = {0};
	struct gt_command command = {0};
	int error = gt_command_find(name, getenv("PATH"), &command, diag);

	if (!error)
		error = copy_environment(&environment);
	if (!error)
		error = give_gpu(gpu, &command, &environment, diag);
	if (error) {
		gt_environment_free(&environment);
		gt_command_free(&command);
		return gt_diag(diag, error, "command", name, "%s", strerror(-error));
	}
	*ret_environment = environment;
	*ret_command = command;
	return 0;
}
