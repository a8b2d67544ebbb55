/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls that `gputap trace -o FILE` loses of a program that makes 100,000 calls per second for
 * ten seconds (--quick: one). The goal is none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/load.h"

int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	unsigned long lost = 0, complete = 0;
	char command[1024], line[512];
	FILE *output;

	setenv("LD_LIBRARY_PATH", STANDIN, 1);
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("trace_rate_lost skip BPF programs cannot be loaded here\n");
		return 0;
	}
	snprintf(command, sizeof(command),
		 "'%s' trace --gpu nvidia -o /dev/null -- '%s' --rate 100000 %d 2>&1 >/dev/null",
		 GPUTAP, CALLS, quick ? 100000 : 1000000);
	output = popen(command, "r");
	while (output && fgets(line, sizeof(line), output))
		if (!sscanf(line, "gputap: %*u calls: %lu complete, %*u unfinished, %lu lost",
			    &complete, &lost))
			sscanf(line,
			       "gputap: incomplete: %*u calls: %lu complete, %*u unfinished, %lu "
			       "lost",
			       &complete, &lost);
	if (!output || pclose(output) || !complete) {
		fprintf(stderr, "trace-rate: the trace failed\n");
		return 1;
	}
	printf("trace_rate_lost %lu calls (goal: 0)\n", lost);
	return 0;
}
