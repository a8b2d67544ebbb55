/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How programs get to the functions of a table: compilers.def, or lineinfo.def.
 *
 * A program that is linked with such a library finds the agent's functions first, since the agent
 * is preloaded. The library's own are those that the caller's dependencies have. dlsym on a
 * library's handle finds the library's own: so dlsym is hooked, too, and returns one of several
 * copies of a hook. Each copy belongs to one library.
 */
#include "agent/compilers.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/caller.h"
#include "agent/lookup.h"
#include "agent/report.h"

#define EXPORT __attribute__((visibility("default")))

/* Of nvrtcResult and nvJitLinkResult: internal errors. */
enum {
	NVRTC_ERROR = 11,
	JITLINK_ERROR = 6,
};

enum { LIBRARIES = 8 }; /* whose hooks dlsym returns */

#define FOR_LIBRARIES(X, ...)                                                                      \
	X(0, __VA_ARGS__)                                                                          \
	X(1, __VA_ARGS__)                                                                          \
	X(2, __VA_ARGS__)                                                                          \
	X(3, __VA_ARGS__)                                                                          \
	X(4, __VA_ARGS__)                                                                          \
	X(5, __VA_ARGS__)                                                                          \
	X(6, __VA_ARGS__)                                                                          \
	X(7, __VA_ARGS__)

/* ---- other libraries ------------------------------------------------------------------- */

/* A function of the library at an address, or of what this library needs; NULL: none. */
static void *find_beside(const void *address, const char *name)
{
	Dl_info info;
	void *handle, *function;

	if (!dladdr(address, &info) || !info.dli_fname || !info.dli_fname[0])
		return NULL;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	function = gt_agent_real_dlsym(handle, name);
	dlclose(handle);
	return function;
}

/* The library's own function that a caller means by a name; NULL: none. */
static void *find_for_caller(const void *caller, const char *name)
{
	void *function = find_beside(caller, name);

	return function && !gt_agent_is_own(function) ? function
						      : gt_agent_real_dlsym(RTLD_NEXT, name);
}

/* ---- names ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset; /* in struct gt_compiler */
} functions[] = {
#define HOOKED(name, failure, parameters, arguments) CALLED(name, parameters)
#define CALLED(name, parameters) {#name, offsetof(struct gt_compiler, name)},
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* "_13_0" */
static bool is_suffix(const char *text)
{
	const char *minor;

	if (text[0] != '_' || strlen(text) >= sizeof(((struct gt_compiler *)0)->suffix))
		return false;
	minor = text + 1 + strspn(text + 1, "0123456789");
	return minor > text + 1 && *minor == '_' && minor[1] &&
	       !minor[1 + strspn(minor + 1, "0123456789")];
}

/* The function of a name, with or without a version; -1: another function. */
static int find_function(const char *name, const char **ret_suffix)
{
	const char *base = strncmp(name, "__nvJitLink", 11) ? name : name + 2;

	if (strncmp(base, "nvrtc", 5) && strncmp(base, "nvJitLink", 9))
		return -1;
	for (int i = 0; i < FUNCTIONS; i++) {
		size_t length = strlen(functions[i].name);

		if (strncmp(base, functions[i].name, length) != 0)
			continue;
		*ret_suffix = base + length;
		if (base == name ? !base[length] : is_suffix(base + length))
			return i;
	}
	return -1;
}

/* ---- libraries ------------------------------------------------------------------------- */

static void **function_of(struct gt_compiler *compiler, size_t number)
{
	return (void **)((char *)compiler + functions[number].offset);
}

/*
 * Find all functions of the library that has `function`, which has a number. Of a library in
 * another namespace (dlmopen) only this one is known.
 */
static bool read_library(void *function, int number, const char *suffix,
			 struct gt_compiler *compiler)
{
	Dl_info info;

	*compiler = (struct gt_compiler){0};
	if (!dladdr(function, &info))
		return false;
	compiler->base = info.dli_fbase;
	snprintf(compiler->suffix, sizeof(compiler->suffix), "%s", suffix);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", *suffix ? "__" : "", functions[i].name,
			 suffix);
		*function_of(compiler, i) = find_beside(function, name);
	}
	*function_of(compiler, (size_t)number) = function;
	return true;
}

static _Atomic(const struct gt_compiler *) libraries[LIBRARIES];

/* The number of a library's copies of the hooks; -1: all are taken. */
static int find_library(void *function, int number, const char *suffix)
{
	struct gt_compiler *compiler = gt_agent_allocate(sizeof(*compiler));

	if (!compiler || !read_library(function, number, suffix, compiler)) {
		gt_agent_release(compiler, sizeof(*compiler));
		return -1;
	}
	for (int i = 0; i < LIBRARIES; i++) {
		const struct gt_compiler *known = NULL;

		/* One that was closed and opened again may have the same functions. */
		if (atomic_compare_exchange_strong(&libraries[i], &known, compiler))
			return i;
		if (!memcmp(known, compiler, sizeof(*known))) {
			gt_agent_release(compiler, sizeof(*compiler));
			return i;
		}
	}
	gt_agent_release(compiler, sizeof(*compiler));
	return -1;
}

/* ---- hooks ----------------------------------------------------------------------------- */

/* The copies of the hooks, which dlsym returns. */
#define COPY(number, name, parameters, arguments)                                                  \
	static int name##_##number parameters                                                      \
	{                                                                                          \
		return gt_hook_##name(atomic_load(&libraries[number]), UNPACK arguments);          \
	}
#define HOOKED(name, failure, parameters, arguments)                                               \
	FOR_LIBRARIES(COPY, name, parameters, arguments)
#define CALLED(name, parameters)
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED

#define COPY_ADDRESS(number, name) (void *)name##_##number,
static void *const hooks[FUNCTIONS][LIBRARIES] = {
#define HOOKED(name, failure, parameters, arguments) {FOR_LIBRARIES(COPY_ADDRESS, name)},
#define CALLED(name, parameters) {NULL},
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED
};

/* Find the library that a caller is linked with. */
__attribute__((noinline)) static bool find_linked(const void *caller_address, const char *name,
						  const char *suffix, struct gt_compiler *compiler)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	void *function = find_for_caller(caller_address, name);
	const char *end;
	int number = find_function(name, &end);
	bool found = function && number >= 0 && read_library(function, number, suffix, compiler);

	gt_agent_restore_caller(&caller);
	return found;
}

/* The functions that programs are linked with. */
#define DEFINE(symbol, suffix, name, failure, parameters, arguments)                               \
	EXPORT int symbol parameters;                                                              \
	int symbol parameters                                                                      \
	{                                                                                          \
		struct gt_compiler compiler;                                                       \
                                                                                                   \
		if (!find_linked(__builtin_return_address(0), #symbol, suffix, &compiler))         \
			return failure;                                                            \
		return gt_hook_##name(&compiler, UNPACK arguments);                                \
	}
#define HOOKED(name, failure, parameters, arguments)                                               \
	DEFINE(name, "", name, failure, parameters, arguments)
#define CALLED(name, parameters)
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED

/* The header of nvJitLink makes calls of versioned functions. */
#define DEFINE_VERSION(version, name, failure, parameters, arguments)                              \
	DEFINE(__##name##_##version, "_" #version, name, failure, parameters, arguments)
#define FOR_VERSIONS(X, ...)                                                                       \
	FOR_MINORS(X, 12, __VA_ARGS__)                                                             \
	FOR_MINORS(X, 13, __VA_ARGS__)                                                             \
	FOR_MINORS(X, 14, __VA_ARGS__)
#define FOR_MINORS(X, major, ...)                                                                  \
	X(major##_0, __VA_ARGS__)                                                                  \
	X(major##_1, __VA_ARGS__)                                                                  \
	X(major##_2, __VA_ARGS__)                                                                  \
	X(major##_3, __VA_ARGS__)                                                                  \
	X(major##_4, __VA_ARGS__)                                                                  \
	X(major##_5, __VA_ARGS__)                                                                  \
	X(major##_6, __VA_ARGS__)                                                                  \
	X(major##_7, __VA_ARGS__)                                                                  \
	X(major##_8, __VA_ARGS__)                                                                  \
	X(major##_9, __VA_ARGS__)
#define VERSIONED(name, failure, parameters, arguments)                                            \
	FOR_VERSIONS(DEFINE_VERSION, name, failure, parameters, arguments)
#define HOOKED(name, failure, parameters, arguments)                                               \
	HOOKED_##failure(name, failure, parameters, arguments)
#define HOOKED_NVRTC_ERROR(...)
#define HOOKED_JITLINK_ERROR(name, failure, parameters, arguments)                                 \
	VERSIONED(name, failure, parameters, arguments)
#define CALLED(name, parameters)
#include GT_COMPILERS_DEF
#undef HOOKED
#undef CALLED

/* The hook in place of a library's own function, or NULL. */
static void *find_hook(void *function, int number, const char *suffix)
{
	int library;

	if (!hooks[number][0])
		return NULL;
	library = find_library(function, number, suffix);
	return library < 0 ? NULL : hooks[number][library];
}

bool gt_compiler_is_hooked(const void *handle, const char *name)
{
	const char *suffix;

	return find_function(name, &suffix) >= 0;
}

void *gt_compiler_find(void *handle, const char *name, const void *address)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	void *function = gt_agent_is_global(handle) ? find_for_caller(address, name)
						    : gt_agent_real_dlsym(handle, name);
	/* The handle of the program finds the agent's own. */
	void *own = function && gt_agent_is_own(function) ? gt_agent_real_dlsym(RTLD_NEXT, name)
							  : function;
	const char *suffix;
	int number = find_function(name, &suffix);
	void *hook = own ? find_hook(own, number, suffix) : NULL;

	/* What was not found on the way is no error of the program's call. */
	if (own)
		dlerror();
	gt_agent_restore_caller(&caller);
	return hook ? hook : own;
}
