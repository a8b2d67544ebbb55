/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * culink METHOD FILE…: links PTX (.ptx) and cubins by the driver, loads the result by METHOD and
 * runs its kernel `add`. Every second file is added by its path.
 */
#include "run.h"

static CUjitInputType type_of(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && !strcmp(end, ".ptx") ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_CUBIN;
}

int main(int count, char **words)
{
	CUlinkState link;
	size_t size;
	void *image;

	if (count < 3)
		return 2;
	start_cuda();
	CHECK(cuLinkCreate(0, NULL, NULL, &link));
	for (int i = 2; i < count; i++) {
		void *data = read_whole(words[i], &size);

		if (i % 2)
			CHECK(cuLinkAddFile(link, type_of(words[i]), words[i], 0, NULL, NULL));
		else
			CHECK(cuLinkAddData(link, type_of(words[i]), data, size + 1, words[i], 0,
					    NULL, NULL));
		free(data);
	}
	CHECK(cuLinkComplete(link, &image, &size));
	run_add(load_image(words[1], image, "add"));
	CHECK(cuLinkDestroy(link));
	return 0;
}
