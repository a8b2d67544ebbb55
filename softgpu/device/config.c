/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
	MAX_DEVICES = 16,
	MAX_MULTIPROCESSORS = 1024,
	MAX_WORKERS = 1024,
	MIN_ARCH = 30,
	MAX_ARCH = 999,
};

static const uint64_t default_memory = UINT64_C(4) << 30;
static const uint64_t least_memory = UINT64_C(1) << 20;
static const uint64_t most_memory = UINT64_C(1) << 40;

/* A variable that is set and not empty, or NULL. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static int refuse(struct gt_diag *diag, const char *name, const char *expected)
{
	return gt_diag(diag, -EINVAL, "softgpu", name, "%s expected, not '%s'", expected,
		       getenv(name));
}

static int read_count(const char *name, uint64_t least, uint64_t most, uint32_t *count,
		      struct gt_diag *diag)
{
	uint64_t number;

	if (!variable(name))
		return 0;
	if (gt_parse_u64(variable(name), &number) || number < least || number > most)
		return refuse(diag, name, "a number in range");
	*count = (uint32_t)number;
	return 0;
}

static int read_memory(struct sg_config *config, struct gt_diag *diag)
{
	uint64_t bytes;

	if (!variable("SOFTGPU_MEMORY"))
		return 0;
	if (gt_parse_size(variable("SOFTGPU_MEMORY"), &bytes) || bytes < least_memory ||
	    bytes > most_memory)
		return refuse(diag, "SOFTGPU_MEMORY", "a size from 1M to 1024G");
	config->memory = bytes & ~UINT64_C(0xffff);
	return 0;
}

static int read_time(struct sg_config *config, struct gt_diag *diag)
{
	const char *text = variable("SOFTGPU_TIME");
	char *end;

	if (text && strcmp(text, "real") && strcmp(text, "virtual"))
		return refuse(diag, "SOFTGPU_TIME", "'real' or 'virtual'");
	config->virtual_time = text && !strcmp(text, "virtual");
	text = variable("SOFTGPU_CLOCK_OFFSET");
	if (text) {
		bool negative = text[0] == '-';
		uint64_t ns;

		if (gt_parse_duration(text + negative, &ns) || ns > INT64_MAX)
			return refuse(diag, "SOFTGPU_CLOCK_OFFSET", "a duration");
		config->clock_offset_ns = negative ? -(int64_t)ns : (int64_t)ns;
	}
	text = variable("SOFTGPU_CLOCK_DRIFT");
	if (text) {
		config->clock_drift = strtod(text, &end);
		if (*end || !(config->clock_drift > -1e5 && config->clock_drift < 1e5))
			return refuse(diag, "SOFTGPU_CLOCK_DRIFT", "parts per million");
	}
	return 0;
}

int sg_config_read(struct sg_config *ret_config, struct gt_diag *diag)
{
	struct sg_config config = {
		.memory = default_memory,
		.devices = 1,
		.multiprocessors = 4,
		.arch = 90,
		.log = variable("SOFTGPU_LOG"),
		.verbose = variable("SOFTGPU_VERBOSE") && strcmp(getenv("SOFTGPU_VERBOSE"), "0"),
	};
	int error;

	error = read_memory(&config, diag);
	if (!error)
		error = read_count("SOFTGPU_DEVICES", 0, MAX_DEVICES, &config.devices, diag);
	if (!error)
		error = read_count("SOFTGPU_MULTIPROCESSORS", 1, MAX_MULTIPROCESSORS,
				   &config.multiprocessors, diag);
	if (!error)
		error = read_count("SOFTGPU_WORKERS", 1, MAX_WORKERS, &config.workers, diag);
	if (!error)
		error = read_count("SOFTGPU_ARCH", MIN_ARCH, MAX_ARCH, &config.arch, diag);
	if (!error && variable("SOFTGPU_TIMEOUT") &&
	    gt_parse_duration(variable("SOFTGPU_TIMEOUT"), &config.timeout_ns))
		error = refuse(diag, "SOFTGPU_TIMEOUT", "a duration");
	if (!error)
		error = read_time(&config, diag);
	if (!error)
		*ret_config = config;
	return error;
}
