/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/rank.h"

#include <string.h>

#include "base/clean.h"
#include "base/text.h"

/* The first one that is found is taken. */
static const struct rank_source {
	const char *rank, *ranks;
	bool needs_ranks; /* other programs have a variable of this name, too */
} sources[] = {
	{"RANK", "WORLD_SIZE", true},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
	{"PMIX_RANK", "PMIX_SIZE", false},
	{"PMI_RANK", "PMI_SIZE", false},
	{"SLURM_PROCID", "SLURM_NTASKS", false},
	{"RANK", NULL, false},
};

/* The value of a variable; NULL: it is not set, or its end is missing. */
static const char *find_variable(const char *environment, size_t size, const char *name)
{
	size_t length = strlen(name);

	while (size) {
		const char *end = memchr(environment, 0, size);

		if (!end)
			return NULL;
		if ((size_t)(end - environment) > length && environment[length] == '=' &&
		    !memcmp(environment, name, length))
			return environment + length + 1;
		size -= (size_t)(end + 1 - environment);
		environment = end + 1;
	}
	return NULL;
}

static bool read_variable(const char *environment, size_t size, const char *name,
			  uint32_t *ret_value)
{
	const char *text = name ? find_variable(environment, size, name) : NULL;
	uint64_t value;

	if (!text || gt_parse_u64(text, &value) || value > INT32_MAX)
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

bool gt_rank_find(const char *environment, size_t size, struct gt_rank *ret_rank)
{
	for (size_t i = 0; i < gt_countof(sources); i++) {
		struct gt_rank rank = {.variable = sources[i].rank};

		if (!read_variable(environment, size, sources[i].rank, &rank.rank) ||
		    (!read_variable(environment, size, sources[i].ranks, &rank.ranks) &&
		     sources[i].needs_ranks))
			continue;
		*ret_rank = rank;
		return true;
	}
	return false;
}
