/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls that `gputap trace` loses of a program that makes 1,000,000 (--quick: 100,000): into a
 * capture at 100,000 calls per second, and as text and as JSON at full speed. The goal is none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "probe/load.h"

static const struct {
	const char *name;
	const char *options; /* of gputap trace */
	const char *rate;    /* options of the program */
} rate_cases[] = {
	{"trace_rate_lost", "", "--rate 100000"},
	{"trace_full_speed_text_lost", "-t", ""},
	{"trace_full_speed_json_lost", "--json", ""},
};

/* The calls that were lost; -1: the trace failed. */
static long count_lost(const char *options, const char *rate, int calls)
{
	unsigned long lost = 0, complete = 0;
	char command[1024], line[512];
	FILE *output;

	snprintf(command, sizeof(command),
		 "'%s' trace %s --gpu nvidia -o /dev/null -- '%s' %s %d 2>&1 >/dev/null", GPUTAP,
		 options, CALLS, rate, calls);
	output = popen(command, "r");
	while (output && fgets(line, sizeof(line), output))
		if (!sscanf(line, "gputap: %*u calls: %lu complete, %*u unfinished, %lu lost",
			    &complete, &lost))
			sscanf(line,
			       "gputap: incomplete: %*u calls: %lu complete, %*u unfinished, %lu "
			       "lost",
			       &complete, &lost);
	return output && !pclose(output) && complete ? (long)lost : -1;
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;

	setenv("LD_LIBRARY_PATH", STANDIN, 1);
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("trace_rate_lost skip BPF programs cannot be loaded here\n");
		return 0;
	}
	for (size_t i = 0; i < gt_countof(rate_cases); i++) {
		long lost = count_lost(rate_cases[i].options, rate_cases[i].rate,
				       quick ? 100000 : 1000000);

		if (lost < 0) {
			fprintf(stderr, "trace-rate: the trace failed\n");
			return 1;
		}
		printf("%s %ld calls (goal: 0)\n", rate_cases[i].name, lost);
	}
	return 0;
}
