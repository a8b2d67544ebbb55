/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device's compiler defines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/units.h"

enum {
	MAX_TEXT = 16 << 10, /* bytes of the options */
};

/* Options that are being written; what does not fit is dropped. */
struct option_text {
	char bytes[MAX_TEXT];
	size_t size;
};

static void put_text(struct option_text *text, const char *bytes, size_t size)
{
	if (size > MAX_TEXT - text->size)
		return;
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static bool is_name(const char *name, size_t length)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return length && strspn(name, letters) >= length;
}

/* The extension or feature is on: ",+name". */
static void put_name(struct option_text *text, const char *name, size_t length)
{
	if (!is_name(name, length) || length + 2 > MAX_TEXT - text->size)
		return;
	put_text(text, ",+", 2);
	put_text(text, name, length);
}

/* An answer that the caller frees, or NULL. */
static char *ask_device(cl_device_id device, cl_device_info which, size_t *ret_size)
{
	char *answer;

	if (gt_cl_target->clGetDeviceInfo(device, which, 0, NULL, ret_size) || !*ret_size)
		return NULL;
	answer = calloc(1, *ret_size + 1);
	if (answer && gt_cl_target->clGetDeviceInfo(device, which, *ret_size, answer, NULL)) {
		free(answer);
		answer = NULL;
	}
	return answer;
}

/*
 * PoCL's library lacks these as functions of SPIR ("Cannot find symbol _Z8half_expf in kernel
 * library"). It has them by the names that its own compiler gives them. The default header, which
 * comes after the options, declares those then.
 */
static void put_renamed_functions(struct option_text *text)
{
	static const char *const names[] = {
		"half_cos",        "half_divide",  "half_exp",      "half_exp2",
		"half_exp10",      "half_log",     "half_log2",     "half_log10",
		"half_powr",       "half_recip",   "half_rsqrt",    "half_sin",
		"half_sqrt",       "half_tan",     "mem_fence",     "read_mem_fence",
		"write_mem_fence", "write_imagei", "write_imageui", "atomic_work_item_fence",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char option[64];
		int length = snprintf(option, sizeof(option), "-D%s=_cl_%s ", names[i], names[i]);

		put_text(text, option, (size_t)length);
	}
}

/*
 * In OpenCL C 2.0, clang's header declares functions with pointers (sincos, vload4) for generic
 * ones alone, which a device need not have since OpenCL 3.0. This declares them for pointers with
 * address spaces as well, which are preferred.
 */
static void put_pointers(struct option_text *text, cl_device_id device)
{
	static const char option[] = "-D__opencl_c_named_address_space_builtins=1 ";
	cl_bool has_generic = CL_TRUE;

	if (!gt_cl_target->clGetDeviceInfo(device, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT,
					   sizeof(has_generic), &has_generic, NULL) &&
	    !has_generic)
		put_text(text, option, sizeof(option) - 1);
}

static void put_version(struct option_text *text, cl_device_id device)
{
	size_t size = 0;
	char *version = ask_device(device, CL_DEVICE_VERSION, &size);
	unsigned major, minor;
	char option[64] = "";
	int length = 0;

	if (version && strstr(version, "PoCL"))
		put_renamed_functions(text);
	if (version && sscanf(version, "OpenCL %2u.%1u", &major, &minor) == 2)
		length =
			snprintf(option, sizeof(option),
				 "-D__OPENCL_VERSION__=%u%u0 -D__ENDIAN_LITTLE__=1 ", major, minor);
	put_text(text, option, (size_t)length);
	free(version);
}

static void put_images(struct option_text *text, cl_device_id device)
{
	static const char option[] = "-D__IMAGE_SUPPORT__=1 ";
	cl_bool has_images = CL_FALSE;

	gt_cl_target->clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has_images),
				      &has_images, NULL);
	if (has_images)
		put_text(text, option, sizeof(option) - 1);
}

static void put_extensions(struct option_text *text, cl_device_id device)
{
	static const char none[] = "-cl-ext=-all";
	size_t size = 0;
	char *names = ask_device(device, CL_DEVICE_EXTENSIONS, &size);

	if (names)
		put_text(text, none, sizeof(none) - 1);
	for (const char *name = names; name && *name;) {
		size_t length = strcspn(name, " ");

		put_name(text, name, length);
		name += length + (name[length] == ' ');
	}
	free(names);
}

/* Before OpenCL 3.0 there are none. */
static void put_features(struct option_text *text, cl_device_id device)
{
	size_t size = 0;
	char *answer = ask_device(device, CL_DEVICE_OPENCL_C_FEATURES, &size);
	cl_name_version feature;

	for (size_t at = 0; answer && at + sizeof(feature) <= size; at += sizeof(feature)) {
		memcpy(&feature, answer + at, sizeof(feature));
		put_name(text, feature.name, strnlen(feature.name, sizeof(feature.name)));
	}
	free(answer);
}

void gt_cl_units_add_device(struct gt_agent_units *units, cl_device_id device)
{
	struct option_text *text = calloc(1, sizeof(*text));

	if (!text) {
		units->failed = true;
		return;
	}
	put_version(text, device);
	put_images(text, device);
	put_pointers(text, device);
	put_extensions(text, device);
	put_features(text, device);
	gt_agent_units_add(units, GT_AGENT_CHUNK_DEVICE, text->bytes, text->size);
	free(text);
}

/* "NAME\nVERSION", which the caller frees, or NULL. */
static char *make_device_name(cl_device_id device)
{
	size_t name_size = 0, version_size = 0, length;
	char *name = ask_device(device, CL_DEVICE_NAME, &name_size);
	char *version = ask_device(device, CL_DEVICE_VERSION, &version_size), *both = NULL;

	if (name && version)
		both = malloc(name_size + version_size + 2);
	if (both) {
		length = strlen(name);
		memcpy(both, name, length);
		both[length] = '\n';
		strcpy(both + length + 1, version);
	}
	free(name);
	free(version);
	return both;
}

void gt_cl_units_add_device_name(struct gt_agent_units *units, const cl_device_id *devices,
				 cl_uint count)
{
	char *first = make_device_name(devices[0]);
	bool is_same = first;

	for (cl_uint i = 1; i < count && is_same; i++) {
		char *other = make_device_name(devices[i]);

		is_same = other && !strcmp(other, first);
		free(other);
	}
	if (is_same)
		gt_agent_units_add(units, GT_AGENT_CHUNK_DEVICE_NAME, first, strlen(first));
	free(first);
}
