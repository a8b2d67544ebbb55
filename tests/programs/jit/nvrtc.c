/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * nvrtc SOURCE METHOD [OPTIONS…]: compiles a source by NVRTC for this device, loads the cubin by
 * METHOD and runs its kernel `add`. METHOD save:FILE writes the cubin to a file instead, ltoir:FILE
 * the LTO-IR. With -DDLOPEN, the program opens NVRTC itself.
 */
#ifdef DLOPEN
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include <nvrtc.h>

#include "run.h"

#ifdef DLOPEN
static void *library;

static void *find(const char *name)
{
	void *function = dlsym(library, name);

	if (!function || dlerror()) {
		fprintf(stderr, "%s is not there\n", name);
		exit(1);
	}
	return function;
}

#define CALL(name) ((__typeof__(&name))find(#name))
#else
#define CALL(name) name
#endif

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
#ifdef DLOPEN
	library = dlopen("libnvrtc.so.13", RTLD_NOW);
#endif
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
