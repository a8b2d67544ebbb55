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
	MAX_QUEUE = 1 << 20,
	MIN_REGISTERS = 8 << 10,
	MAX_REGISTERS = 64 << 10,
	MIN_ARCH = 30,
	MAX_ARCH = 999,
};

static const uint64_t default_memory = UINT64_C(4) << 30;
static const uint64_t min_memory = UINT64_C(1) << 20;
static const uint64_t max_memory = UINT64_C(1) << 40;

/* A variable that is set and not empty, or NULL. */
static const char *get_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static int reject_value(struct gt_diag *diag, const char *name, const char *expected)
{
	return gt_diag(diag, -EINVAL, "softgpu", name, "invalid value '%s' (%s)", getenv(name),
		       expected);
}

static int read_count(const char *name, uint32_t min, uint32_t max, uint32_t *count,
		      struct gt_diag *diag)
{
	char expected[64];
	uint64_t number;

	if (!get_variable(name))
		return 0;
	if (gt_parse_u64(get_variable(name), &number) || number < min || number > max) {
		snprintf(expected, sizeof(expected), "a number from %u to %u", min, max);
		return reject_value(diag, name, expected);
	}
	*count = (uint32_t)number;
	return 0;
}

static int read_memory(struct sg_config *config, struct gt_diag *diag)
{
	uint64_t bytes;

	if (!get_variable("SOFTGPU_MEMORY"))
		return 0;
	if (gt_parse_size(get_variable("SOFTGPU_MEMORY"), &bytes) || bytes < min_memory ||
	    bytes > max_memory)
		return reject_value(diag, "SOFTGPU_MEMORY", "a size from 1M to 1024G");
	config->memory = bytes & ~UINT64_C(0xffff);
	return 0;
}

static int read_time(struct sg_config *config, struct gt_diag *diag)
{
	const char *text = get_variable("SOFTGPU_TIME");
	char *end;

	if (text && strcmp(text, "real") && strcmp(text, "virtual"))
		return reject_value(diag, "SOFTGPU_TIME", "one of: real, virtual");
	config->virtual_time = text && !strcmp(text, "virtual");
	text = get_variable("SOFTGPU_CLOCK_OFFSET");
	if (text) {
		bool negative = text[0] == '-';
		uint64_t ns;

		if (gt_parse_duration(text + negative, &ns) || ns > INT64_MAX)
			return reject_value(diag, "SOFTGPU_CLOCK_OFFSET",
					    "a time such as 10s or 500ms");
		config->clock_offset_ns = negative ? -(int64_t)ns : (int64_t)ns;
	}
	text = get_variable("SOFTGPU_CLOCK_DRIFT");
	if (text) {
		config->clock_drift = strtod(text, &end);
		if (*end || !(config->clock_drift > -1e5 && config->clock_drift < 1e5))
			return reject_value(diag, "SOFTGPU_CLOCK_DRIFT",
					    "parts per million, less than 100000");
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
		.log = get_variable("SOFTGPU_LOG"),
		.reject = get_variable("SOFTGPU_REJECT"),
		.reports = get_variable("SOFTGPU_REPORTS"),
		.verbose =
			get_variable("SOFTGPU_VERBOSE") && strcmp(getenv("SOFTGPU_VERBOSE"), "0"),
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
	if (!error)
		error = read_count("SOFTGPU_REGISTERS", MIN_REGISTERS, MAX_REGISTERS,
				   &config.registers, diag);
	if (!error)
		error = read_count("SOFTGPU_QUEUE", 1, MAX_QUEUE, &config.queue, diag);
	if (!error && get_variable("SOFTGPU_TIMEOUT") &&
	    gt_parse_duration(get_variable("SOFTGPU_TIMEOUT"), &config.timeout_ns))
		error = reject_value(diag, "SOFTGPU_TIMEOUT", "a time such as 10s or 500ms");
	if (!error)
		error = read_time(&config, diag);
	if (!error)
		*ret_config = config;
	return error;
}
