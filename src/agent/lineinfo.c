/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Preloaded into commands on the software GPU, which executes PTX alone: NVRTC, nvJitLink and ptxas
 * get the option -lineinfo, by which a cubin carries its PTX. The code is the same. A cubin that a
 * program keeps on disk carries it, too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/caller.h"
#include "agent/compilers.h"
#include "agent/lookup.h"
#include "agent/report.h"

/* Of the driver nothing is called. */
struct gt_agent_functions gt_driver;

const struct gt_agent_hooked gt_agent_hooked[] = {
	{"nvrtc", gt_compiler_is_hooked, gt_compiler_find},
	{"nvJitLink", gt_compiler_is_hooked, gt_compiler_find},
	{"__nvJitLink", gt_compiler_is_hooked, gt_compiler_find},
	{NULL, NULL, NULL},
};

static const char lineinfo[] = "-lineinfo";

void *gt_agent_allocate(size_t size)
{
	return malloc(size);
}

void gt_agent_release(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

/* Whether an option makes the compiler keep the PTX already. */
static bool keeps_ptx(const char *option)
{
	static const char *const options[] = {
		"-lineinfo", "--lineinfo", "-generate-line-info", "--generate-line-info",
		"-G",        "-g",         "--device-debug",      "-device-debug",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(option, options[i]))
			return true;
	return false;
}

/* The options with -lineinfo, NULL at the end; NULL: they keep the PTX as they are. Freed by free.
 */
static const char **add_option(size_t count, const char *const *options)
{
	const char **more;

	for (size_t i = 0; i < count; i++)
		if (!options || !options[i] || keeps_ptx(options[i]))
			return NULL;
	more = malloc((count + 2) * sizeof(*more));
	if (!more)
		return NULL;
	if (count)
		memcpy(more, options, count * sizeof(*more));
	more[count] = lineinfo;
	more[count + 1] = NULL;
	return more;
}

int gt_hook_nvrtcCompileProgram(const struct gt_compiler *compiler, void *program, int count,
				const char *const *options)
{
	const char **more = count < 0 ? NULL : add_option((size_t)count, options);
	int error = compiler->nvrtcCompileProgram(program, more ? count + 1 : count,
						  more ? more : options);

	free(more);
	return error;
}

int gt_hook_nvJitLinkCreate(const struct gt_compiler *compiler, void **link, uint32_t count,
			    const char **options)
{
	const char **more = add_option(count, options);
	int error =
		compiler->nvJitLinkCreate(link, more ? count + 1 : count, more ? more : options);

	free(more);
	return error;
}

/* ---- ptxas ----------------------------------------------------------------------------- */

/* Whether the words are a command line of ptxas: by its name, and an option that each has. */
static bool is_ptxas(int count, char **words)
{
	static const char *const options[] = {"-arch", "--gpu-name", "-o", "--output-file",
					      "--options-file"};
	const char *slash = strrchr(words[0], '/');
	bool has_option = false;

	for (int i = 1; i < count; i++)
		for (size_t option = 0; option < sizeof(options) / sizeof(options[0]); option++)
			has_option |= !strncmp(words[i], options[option], strlen(options[option]));
	return has_option && !strcmp(slash ? slash + 1 : words[0], "ptxas");
}

/* Before main, ptxas executes itself again with the option; if it cannot, it continues without. */
__attribute__((constructor)) static void extend_arguments(int count, char **words)
{
	const char **more;

	if (count < 2 || !is_ptxas(count, words))
		return;
	more = add_option((size_t)count, (const char *const *)words);
	if (more)
		execv("/proc/self/exe", (char *const *)more);
	free(more);
}
