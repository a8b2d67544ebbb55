/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long a kernel is sought in the libraries of a CUDA toolkit, as `gputap kernels` does for the
 * registers of what a program launches: CPU time until a name that is in none of them is known to
 * be missing, and once more for another one. Each library alone.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "api/kernels/search.h"
#include "base/clock.h"

static const char *const libraries[] = {"libcublasLt.so.1?", "libcudnn_engines_precompiled.so.?",
					"libnccl.so.?", "libcusparse.so.1?"};

static uint64_t search_ns(struct gt_kernel_search *search, const char *name)
{
	uint64_t start = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	gt_kernel_search_find(search, name, NULL);
	return gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static int measure(const char *pattern)
{
	char where[128], name[64];
	glob_t found = {0};

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(pattern, "."), pattern);
	snprintf(where, sizeof(where), "/usr/local/cuda*/lib*/%s", pattern);
	if (glob(where, 0, NULL, &found) || !found.gl_pathc) {
		printf("search_%s skip %s is not installed\n", name, where);
	} else {
		gt_auto(kernel_search) struct gt_kernel_search *search =
			gt_kernel_search_new(GT_KERNEL_SEARCH_LIMIT);

		if (!search ||
		    gt_kernel_search_add(search, found.gl_pathv[0], strlen(found.gl_pathv[0])))
			return 1;
		printf("search_%s %.1f ms\n", name, (double)search_ns(search, "first") / 1e6);
		printf("search_%s_again %.3f ms\n", name,
		       (double)search_ns(search, "second") / 1e6);
	}
	globfree(&found);
	return 0;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 && !strcmp(argv[1], "--quick") ? 1 : gt_countof(libraries);
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		failed |= measure(libraries[i]);
	return failed;
}
