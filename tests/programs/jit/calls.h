/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of a library that a program is linked with, or, with -DDLOPEN, opens itself. */
#pragma once

#ifdef DLOPEN
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static inline void *find(const char *name)
{
	void *function = dlsym(library, name);

	if (!function || dlerror()) {
		fprintf(stderr, "%s is not there\n", name);
		exit(1);
	}
	return function;
}

static inline void open_library(const char *file)
{
	library = dlopen(file, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

#define CALL(name) ((__typeof__(&name))find(#name))
#else
static inline void open_library(const char *file)
{
	(void)file;
}

#define CALL(name) name
#endif
