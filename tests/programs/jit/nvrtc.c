/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * nvrtc SOURCE METHOD [OPTIONS…]: compiles a source by NVRTC for this device, loads the cubin by
 * METHOD and runs its kernel `add`. METHOD save:FILE writes the cubin to a file instead, ltoir:FILE
 * the LTO-IR. With -DDLOPEN, the program opens NVRTC itself.
 */
#include <nvrtc.h>

#include "calls.h"
#include "run.h"

int main(int count, char **words)
{
	const char *options[16] = {NULL};
	char architecture[32];
	nvrtcProgram program;
	size_t size;
	char *cubin;
	int used = 0;

	if (count < 3)
		return 2;
	open_library("libnvrtc.so.13");
	start_cuda();
	snprintf(architecture, sizeof(architecture), "-arch=%s", device_architecture());
	options[used++] = architecture;
	for (int i = 3; i < count && used < 16; i++)
		options[used++] = words[i];
	CHECK(CALL(nvrtcCreateProgram)(&program, read_whole(words[1], &size), "kernels.cu", 0, NULL,
				       NULL));
	CHECK(CALL(nvrtcCompileProgram)(program, used, options));
	if (!strncmp(words[2], "ltoir:", 6)) {
		CHECK(CALL(nvrtcGetLTOIRSize)(program, &size));
		cubin = malloc(size);
		CHECK(CALL(nvrtcGetLTOIR)(program, cubin));
		write_whole(words[2] + 6, cubin, size);
		return 0;
	}
	CHECK(CALL(nvrtcGetCUBINSize)(program, &size));
	cubin = malloc(size);
	CHECK(CALL(nvrtcGetCUBIN)(program, cubin));
	CHECK(CALL(nvrtcDestroyProgram)(&program));
	if (!strncmp(words[2], "save:", 5))
		write_whole(words[2] + 5, cubin, size);
	else
		run_add(load_image(words[2], cubin, "add"));
	return 0;
}
