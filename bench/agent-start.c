/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the agent costs a program in whose modules nothing matches: the time of its start and of
 * loading a module, with the agent and a collector, less that without. The driver does nothing.
 * Medians of pairs.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/protocol.h"
#include "base/clock.h"
#include "fatbin/fatbin.h"
#include "large_ptx.h"
#include "patch_counter.h"
#include "run/inject.h"

enum {
	STARTS = 101,
	LOADS = 101,
	KERNELS = 101, /* of about 1,000 lines each */
};

/* ---- the program that is measured ------------------------------------------------------- */

typedef int init_function(unsigned flags);
typedef int load_function(void **module, const void *image);

static int compare_times(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static double median_of(double *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return times[count / 2];
}

static double now_ms(void)
{
	return (double)gt_clock_monotonic() * 1e-6;
}

/* Give registers random numbers, so that the text is compressed as that of other kernels is. */
static void vary_registers(struct gt_strbuf *text)
{
	uint32_t random = 1;
	bool is_register = false;

	for (size_t i = 0; i < text->length; i++) {
		char *at = &text->data[i];

		is_register = *at == '%' || (is_register && (isalnum((unsigned char)*at)));
		if (!is_register || !isdigit((unsigned char)*at))
			continue;
		random = random * 1664525 + 1013904223;
		*at = (char)('0' + (random >> 16) % 10);
	}
}

#define NAME "00000000"

/* Make the image of a module: PTX text, or a compressed fatbin. */
static int make_image(const struct gt_strbuf *text, const char *form, struct gt_strbuf *image)
{
	const struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX,
		.name = NAME,
		.name_length = strlen(NAME),
		.data = text->data,
		.size = text->length,
	};

	if (strcmp(form, "text") != 0)
		return gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_ZSTD, image, NULL);
	gt_strbuf_add(image, text->data, text->length + 1);
	return image->failed ? -ENOMEM : 0;
}

/* Change the name in a fatbin: its bytes are those of no fatbin before. */
static void write_name(char *name, size_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%08zx", number);
	memcpy(name, digits, strlen(NAME));
}

/*
 * Prints the median time of loading a module of so many kernels, in ms. form: "text"; "known", a
 * fatbin that is the same each time; "new", one that was never loaded before.
 */
static int measure_loads(int kernels, const char *form)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
	init_function *init = driver ? (init_function *)dlsym(driver, "cuInit") : NULL;
	load_function *load = driver ? (load_function *)dlsym(driver, "cuModuleLoadData") : NULL;
	gt_auto_strbuf text = GT_STRBUF_INIT, image = GT_STRBUF_INIT;
	double times[LOADS], start;
	char *name = NULL;

	if (!init || !load || init(0))
		return 1;
	write_kernels(&text, kernels);
	vary_registers(&text);
	if (make_image(&text, form, &image))
		return 1;
	if (!strcmp(form, "new"))
		name = memmem(image.data, image.length, NAME, strlen(NAME));
	for (size_t i = 0; i < LOADS; i++) {
		if (name)
			write_name(name, i + 1);
		start = now_ms();
		if (load(&module, image.data))
			return 1;
		times[i] = now_ms() - start;
	}
	printf("%.6f\n", median_of(times, LOADS));
	return 0;
}

static int start_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	init_function *init = driver ? (init_function *)dlsym(driver, "cuInit") : NULL;

	return !init || init(0);
}

/* ---- the collector ---------------------------------------------------------------------- */

struct collector {
	struct gt_inject *inject;
	pthread_t thread;
	atomic_bool stop;
};

static void *serve_agents(void *context)
{
	struct collector *collector = context;
	struct pollfd ready = {.fd = gt_inject_fd(collector->inject), .events = POLLIN};

	while (!collector->stop)
		if (poll(&ready, 1, 50) > 0)
			gt_inject_poll(collector->inject, NULL);
	return NULL;
}

static int start_collector(struct collector *collector, const struct patch_counter *counter,
			   struct gt_diag *diag)
{
	const struct gt_inject_options options = {
		.object = counter->object,
		.programs = &counter->inserted,
		.program_count = 1,
		.threads = 1 << 20,
	};
	int error = gt_inject_open(&options, &collector->inject, diag);

	if (!error)
		error = -pthread_create(&collector->thread, NULL, serve_agents, collector);
	return error;
}

static void stop_collector(struct collector *collector)
{
	collector->stop = true;
	pthread_join(collector->thread, NULL);
	gt_inject_close(collector->inject);
}

/* ---- starts ----------------------------------------------------------------------------- */

static void set_environment(const struct collector *collector, bool with_agent)
{
	setenv("LD_LIBRARY_PATH", DRIVER_DIRECTORY, 1);
	if (with_agent) {
		setenv("LD_PRELOAD", AGENT, 1);
		setenv(GT_AGENT_SOCKET, gt_inject_socket(collector->inject), 1);
	} else {
		unsetenv("LD_PRELOAD");
	}
}

/* Execute this program with arguments; its output goes to `output`. The time until its end, or < 0.
 */
static double run_self(const struct collector *collector, bool with_agent, const char *what,
		       const char *kernels, const char *form, int output)
{
	double start = now_ms();
	int status = -1;
	pid_t child = fork();

	if (!child) {
		set_environment(collector, with_agent);
		if (output >= 0)
			dup2(output, STDOUT_FILENO);
		execl("/proc/self/exe", "agent-start", what, kernels, form, (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status ? -1 : now_ms() - start;
}

/* Print by how much the agent delays the start and the end of a program, of pairs of runs. */
static int measure_starts(const struct collector *collector, const char *name, const char *what)
{
	double differences[STARTS];

	for (size_t i = 0; i < STARTS; i++) {
		double without = run_self(collector, false, what, NULL, NULL, -1);
		double with = run_self(collector, true, what, NULL, NULL, -1);

		if (with < 0 || without < 0)
			return -EIO;
		differences[i] = with - without;
	}
	printf("%s %.3f ms\n", name, median_of(differences, STARTS));
	return 0;
}

static int read_time(const struct collector *collector, bool with_agent, const char *kernels,
		     const char *form, double *ret_time)
{
	char line[64] = "";
	int ends[2], error = -EIO;

	if (pipe(ends) < 0)
		return -errno;
	if (run_self(collector, with_agent, "load", kernels, form, ends[1]) >= 0 &&
	    read(ends[0], line, sizeof(line) - 1) > 0 && sscanf(line, "%lf", ret_time) == 1)
		error = 0;
	close(ends[0]);
	close(ends[1]);
	return error;
}

/* Print what the agent adds to the time of loading a module of so many kernels. */
static int measure_loading(const struct collector *collector, const char *name, const char *kernels,
			   const char *form)
{
	double without, with;
	int error = read_time(collector, false, kernels, form, &without);

	if (!error)
		error = read_time(collector, true, kernels, form, &with);
	if (!error)
		printf("%s %.3f ms\n", name, with - without);
	return error;
}

/* Print the time of one pass over the longest text: what no method can do without. */
static void measure_pass(void)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	double times[LOADS], start;

	write_kernels(&text, KERNELS);
	for (size_t i = 0; i < LOADS; i++) {
		start = now_ms();
		if (memchr(text.data, 0, text.length))
			return;
		times[i] = now_ms() - start;
	}
	printf("memory-pass-100000-lines %.3f ms\n", median_of(times, LOADS));
}

static int extract_ptx(const struct gt_strbuf *image)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct gt_fatbin_payload payload = {0};
	int error = gt_fatbin_open(image->data, image->length, &fatbin, NULL);

	if (!error)
		error = gt_fatbin_extract(&fatbin->entries[0], &payload, NULL);
	gt_fatbin_payload_free(&payload);
	return error;
}

/* Print the time of decompressing the fatbin: its kernels' names are not known without that. */
static void measure_decompression(void)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, image = GT_STRBUF_INIT;
	double times[LOADS], start;

	write_kernels(&text, KERNELS);
	vary_registers(&text);
	if (make_image(&text, "new", &image))
		return;
	for (size_t i = 0; i < LOADS; i++) {
		start = now_ms();
		if (extract_ptx(&image))
			return;
		times[i] = now_ms() - start;
	}
	printf("decompression-100000-lines %.3f ms\n", median_of(times, LOADS));
}

static int measure_all(const struct collector *collector)
{
	static const struct {
		const char *name, *kernels, *form;
	} loads[] = {
		{"agent-module-1000-lines", "1", "text"},
		{"agent-module-10000-lines", "10", "text"},
		{"agent-module-100000-lines", "101", "text"},
		{"agent-fatbin-10000-lines", "10", "known"},
		{"agent-fatbin-100000-lines", "101", "known"},
		{"agent-new-fatbin-10000-lines", "10", "new"},
		{"agent-new-fatbin-100000-lines", "101", "new"},
	};
	int error = measure_starts(collector, "agent-start", "nothing");

	if (!error)
		error = measure_starts(collector, "agent-start-driver", "driver");
	for (size_t i = 0; i < gt_countof(loads) && !error; i++)
		error = measure_loading(collector, loads[i].name, loads[i].kernels, loads[i].form);
	measure_pass();
	measure_decompression();
	return error;
}

int main(int argc, char *argv[])
{
	struct collector collector = {0};
	auto_patch_counter counter = {0};
	struct gt_diag diag = {0};
	int error;

	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "driver"))
		return start_driver();
	if (argc > 3 && !strcmp(argv[1], "load"))
		return measure_loads(atoi(argv[2]), argv[3]);
	error = patch_counter_make(&counter, "gpu/entry/none", &diag);
	if (!error)
		error = start_collector(&collector, &counter, &diag);
	if (!error) {
		error = measure_all(&collector);
		stop_collector(&collector);
	}
	if (error)
		fprintf(stderr, "agent-start: %s: %s\n", diag.text, strerror(-error));
	return !!error;
}
