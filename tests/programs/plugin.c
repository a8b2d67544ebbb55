/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* plugin LIBRARY: opens a library, and calls its function use_gpu. */
#include <dlfcn.h>
#include <stdio.h>

typedef int use_function(void);

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	use_function *use = library ? (use_function *)dlsym(library, "use_gpu") : NULL;

	if (!use) {
		fprintf(stderr, "plugin: %s\n", argc == 2 ? dlerror() : "usage: plugin LIBRARY");
		return 2;
	}
	return use();
}
