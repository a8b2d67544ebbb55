/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The page of `gputap export --format html` with a million intervals (--quick: 100,000) in headless
 * Chromium: from the start of the page to the first picture of the timeline, and the longest time
 * of a picture while zooming from all to a millionth. Goals: 3 s and 200 ms. Also the time of the
 * export and the size of the page.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define INTERVALS_OF_STEP 16
#define READY "Number(document.documentElement.dataset.readyMs)"
#define COUNT "gputap.capture.slices.count"
#define ZOOM                                                                                       \
	"(() => { const {first, last} = gputap.capture; let worst = 0;"                            \
	" for (let factor = 1; factor < 2 ** 20; factor *= 2) {"                                   \
	"  const from = first + (last - first) / 2;"                                               \
	"  const begin = performance.now();"                                                       \
	"  setRange(gputap, from, from + (last - first) / factor); draw(gputap);"                  \
	"  worst = Math.max(worst, performance.now() - begin); }"                                  \
	" return worst; })()"

/* Run a command in a folder. */
static int run_in(const char *folder, const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd '%s' && %s", folder, command);
	return system(text);
}

/* Print what the page reports. 0, or 1 if it cannot be shown. */
static int measure_page(const char *folder)
{
	double ready, worst, count;
	char command[2048];
	FILE *output;
	int fields;

	snprintf(command, sizeof(command), "'%s' '%s/page.html' '%s' '%s' '%s'", BROWSER, folder,
		 READY, ZOOM, COUNT);
	output = popen(command, "r");
	fields = output ? fscanf(output, "%lf %lf %lf", &ready, &worst, &count) : 0;
	if (!output || pclose(output) || fields != 3)
		return 1;
	printf("html_intervals %.0f intervals\n", count);
	printf("html_first_picture %.0f ms (goal: 3000)\n", ready);
	printf("html_zoom_worst %.1f ms (goal: 200)\n", worst);
	return 0;
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	char folder[] = P_tmpdir "/gputap-html-XXXXXX", page[64], synthetic[512];
	unsigned steps = (quick ? 100000 : 1000000) / INTERVALS_OF_STEP;
	struct stat status;
	uint64_t begin;
	int failed;

	if (system("command -v chromium >/dev/null")) {
		printf("html_first_picture skip chromium is not installed\n");
		return 0;
	}
	if (!mkdtemp(folder))
		return 1;
	snprintf(synthetic, sizeof(synthetic), "'" SYNTHETIC "' run.gtap %u", steps);
	failed = run_in(folder, synthetic);
	begin = gt_clock_monotonic();
	failed = failed || run_in(folder, "'" GPUTAP "' export --format html -o page.html run.gtap "
					  "2>/dev/null");
	printf("html_export %.3f s\n", (double)(gt_clock_monotonic() - begin) / 1e9);
	snprintf(page, sizeof(page), "%s/page.html", folder);
	if (!failed && !stat(page, &status))
		printf("html_size %.1f MiB\n", (double)status.st_size / (1 << 20));
	failed = failed || measure_page(folder);
	if (failed)
		fprintf(stderr, "html: the page cannot be made or shown\n");
	run_in(folder, "rm -f run.gtap page.html");
	rmdir(folder);
	return failed;
}
