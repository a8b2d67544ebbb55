/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * nvjitlink METHOD FILE… [-- OPTIONS…]: links PTX (.ptx), LTO-IR (.ltoir, .any), fatbins (.fatbin),
 * archives (.a) and cubins by nvJitLink for this device, loads the cubin by METHOD and runs its
 * kernel `add`. With -DDLOPEN, the program opens nvJitLink itself, and uses the functions without a
 * version.
 */
#include <nvJitLink.h>

#include "calls.h"
#include "run.h"

static nvJitLinkInputType type_of(const char *path)
{
	const char *end = strrchr(path, '.');

	if (end && !strcmp(end, ".ptx"))
		return NVJITLINK_INPUT_PTX;
	if (end && !strcmp(end, ".fatbin"))
		return NVJITLINK_INPUT_FATBIN;
	if (end && !strcmp(end, ".any"))
		return NVJITLINK_INPUT_ANY;
	if (end && !strcmp(end, ".a"))
		return NVJITLINK_INPUT_LIBRARY;
	return end && !strcmp(end, ".ltoir") ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_CUBIN;
}

static void add_input(nvJitLinkHandle link, const char *path, int by_path)
{
	size_t size;
	void *data = read_whole(path, &size);

	if (by_path)
		CHECK(CALL(nvJitLinkAddFile)(link, type_of(path), path));
	else
		CHECK(CALL(nvJitLinkAddData)(link, type_of(path), data, size, path));
	memset(data, 0, size);
	free(data);
}

int main(int count, char **words)
{
	const char *options[16] = {NULL};
	char architecture[32];
	nvJitLinkHandle link;
	int used = 0, files = 2;
	size_t size;
	void *cubin;

	if (count < 3)
		return 2;
	open_library("libnvJitLink.so.13");
	start_cuda();
	snprintf(architecture, sizeof(architecture), "-arch=%s", device_architecture());
	options[used++] = architecture;
	while (files < count && strcmp(words[files], "--") != 0)
		files++;
	for (int i = files + 1; i < count && used < 16; i++)
		options[used++] = words[i];
	CHECK(CALL(nvJitLinkCreate)(&link, (uint32_t)used, options));
	for (int i = 2; i < files; i++)
		add_input(link, words[i], i % 2);
	CHECK(CALL(nvJitLinkComplete)(link));
	CHECK(CALL(nvJitLinkGetLinkedCubinSize)(link, &size));
	cubin = malloc(size);
	CHECK(CALL(nvJitLinkGetLinkedCubin)(link, cubin));
	CHECK(CALL(nvJitLinkDestroy)(&link));
	run_add(load_image(words[1], cubin, "add"));
	return 0;
}
