/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls nvrtcGetCUBIN of two libraries that imitate NVRTC, by dlopen and dlsym and through
 * libraries that are linked with them. Prints which library was called each time.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int get_cubin(void *program, char *cubin);

static void print_call(get_cubin *function)
{
	char which = '?';

	if (!function || function(NULL, &which))
		which = '!';
	printf(" %c", which);
}

int main(int count, char **words)
{
	for (int i = 1; i < count; i++) {
		void *library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
		get_cubin *call = library ? (get_cubin *)dlsym(library, "call_nvrtc") : NULL;

		print_call(call ? call : (get_cubin *)dlsym(library, "nvrtcGetCUBIN"));
	}
	printf("\n");
	return 0;
}
