/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * culink METHOD FILE…: links PTX by the driver, loads the result by METHOD and runs its kernel
 * `add`. Every second file is added by its path.
 */
#include "run.h"

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
			CHECK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, words[i], 0, NULL, NULL));
		else
			CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, data, size + 1, words[i], 0,
					    NULL, NULL));
		free(data);
	}
	CHECK(cuLinkComplete(link, &image, &size));
	run_add(load_image(words[1], image, "add"));
	CHECK(cuLinkDestroy(link));
	return 0;
}
