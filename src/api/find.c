/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "api/tables.h"

const char *gt_api_category_name(enum gt_api_category category)
{
	static const char *const names[GT_CATEGORY_COUNT] = {
		[GT_CATEGORY_NONE] = "none",       [GT_CATEGORY_ALLOC] = "alloc",
		[GT_CATEGORY_FREE] = "free",       [GT_CATEGORY_COPY] = "copy",
		[GT_CATEGORY_SET] = "set",         [GT_CATEGORY_LAUNCH] = "launch",
		[GT_CATEGORY_STREAM] = "stream",   [GT_CATEGORY_EVENT] = "event",
		[GT_CATEGORY_SYNC] = "sync",       [GT_CATEGORY_GRAPH] = "graph",
		[GT_CATEGORY_DEVICE] = "device",   [GT_CATEGORY_CONTEXT] = "context",
		[GT_CATEGORY_MODULE] = "module",   [GT_CATEGORY_MEMORY] = "memory",
		[GT_CATEGORY_COMPUTE] = "compute", [GT_CATEGORY_COMMUNICATE] = "communicate",
	};

	return (unsigned)category < GT_CATEGORY_COUNT ? names[category] : "unknown";
}

unsigned gt_api_count(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < gt_api_table_count; i++)
		count += gt_api_tables[i].count;
	return count;
}

const struct gt_api_function *gt_api_function(unsigned number)
{
	for (unsigned i = 0; i < gt_api_table_count; i++) {
		if (number < gt_api_tables[i].count)
			return &gt_api_tables[i].functions[number];
		number -= gt_api_tables[i].count;
	}
	return NULL;
}

static size_t length_without_variant(const char *name)
{
	size_t length = strlen(name);

	if (length > 5 &&
	    (!strcmp(name + length - 5, "_ptsz") || !strcmp(name + length - 5, "_ptds")))
		length -= 5;
	return length;
}

bool gt_api_is_per_thread(const char *exported_name)
{
	return !!exported_name[length_without_variant(exported_name)];
}

/* Functions of C++ alone, as their names begin in a library (Itanium C++ ABI, 5.1.2). */
static const struct {
	const char *mangled, *name;
} mangled_names[] = {
	{"_Z24hipExtModuleLaunchKernel", "hipExtModuleLaunchKernel"},
	{"_Z24hipHccModuleLaunchKernel", "hipHccModuleLaunchKernel"},
};

/* The name in the tables of an exported one: its first *ret_length characters. */
static const char *plain_name(const char *exported_name, size_t *ret_length)
{
	const char *name = exported_name;

	for (size_t i = 0; i < gt_countof(mangled_names); i++)
		if (!strncmp(exported_name, mangled_names[i].mangled,
			     strlen(mangled_names[i].mangled)))
			name = mangled_names[i].name;
	*ret_length = length_without_variant(name);
	return name;
}

/* As strcmp does, with the first name cut to a length. */
static int compare_names(const char *name, size_t length, const char *other)
{
	int order = strncmp(name, other, length);

	return order ? order : -(other[length] != 0);
}

int gt_api_find(const char *exported_name)
{
	size_t length;
	const char *name = plain_name(exported_name, &length);
	unsigned first = 0;

	for (unsigned i = 0; i < gt_api_table_count; i++) {
		unsigned low = 0, high = gt_api_tables[i].count;

		while (low < high) {
			unsigned middle = low + (high - low) / 2;
			int order = compare_names(name, length,
						  gt_api_tables[i].functions[middle].name);

			if (!order)
				return (int)(first + middle);
			if (order < 0)
				high = middle;
			else
				low = middle + 1;
		}
		first += gt_api_tables[i].count;
	}
	return -ENOENT;
}

/*
 * Libraries that have the functions of another one, with the same arguments. RCCL (rccl.h) declares
 * those of NCCL.
 */
static const struct {
	const char *prefix, *library;
} same_functions[] = {{"librccl.so", "nccl"}};

const char *gt_api_library_of(const char *file_name)
{
	const char *slash = strrchr(file_name, '/');
	const char *name = slash ? slash + 1 : file_name;

	if (strncmp(name, "lib", 3))
		return NULL;
	for (unsigned i = 0; i < gt_api_table_count; i++) {
		size_t length = strlen(gt_api_tables[i].library);
		const char *rest = name + 3 + length;

		if (strncmp(name + 3, gt_api_tables[i].library, length))
			continue;
		/* Python wheels put a hash before the suffix: libcudart-d0da41ae.so.11.0 */
		if (*rest == '-')
			rest += strcspn(rest, ".");
		if (!strncmp(rest, ".so", 3) && (!rest[3] || rest[3] == '.'))
			return gt_api_tables[i].library;
	}
	for (size_t i = 0; i < gt_countof(same_functions); i++) {
		size_t length = strlen(same_functions[i].prefix);

		if (!strncmp(name, same_functions[i].prefix, length) &&
		    (!name[length] || name[length] == '.'))
			return same_functions[i].library;
	}
	return NULL;
}

const char *gt_api_group_of(const char *library)
{
	for (unsigned i = 0; i < gt_api_table_count; i++)
		if (!strcmp(gt_api_tables[i].library, library))
			return gt_api_tables[i].group;
	return NULL;
}

bool gt_api_is_portable(const char *library)
{
	static const char *const libraries[] = {"OpenCL", "amdhip64", "hiprtc", "ze_loader"};

	for (size_t i = 0; i < gt_countof(libraries); i++)
		if (!strcmp(libraries[i], library))
			return true;
	return false;
}

int gt_api_find_argument(const struct gt_api_function *function, const char *name)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (!strcmp(function->arguments[i].name, name))
			return (int)i;
	return -1;
}

unsigned gt_api_default_groups(void)
{
	return GT_API_GROUP_CUDA | gt_api_group_bit("opencl") | gt_api_group_bit("hip") |
	       gt_api_group_bit("level-zero");
}

bool gt_api_contains(const char *library, const char *other)
{
	return !strcmp(library, other) ||
	       (!strcmp(library, "amdhip64") && !strcmp(other, "hiprtc"));
}

unsigned gt_api_group_bit(const char *library)
{
	unsigned number = 0;

	for (unsigned i = 0; i < gt_api_table_count; i++) {
		if (i && strcmp(gt_api_tables[i].group, gt_api_tables[i - 1].group))
			number++;
		if (!strcmp(gt_api_tables[i].library, library) ||
		    !strcmp(gt_api_tables[i].group, library))
			return 1U << number;
	}
	return 0;
}
