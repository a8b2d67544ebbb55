/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes exactly so many calls of one cheap CUDA function, cudaGetDevice, and says how long they
 * took. See usage() for what can be varied.
 *
 * Built with LATE it is calls-late, which is not linked with the CUDA runtime: it opens it some
 * seconds after its start.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LATE
#define NAME "calls-late"
#else
#define NAME "calls"
#endif

struct options {
	long calls;
	long threads;
	long rate; /* calls per second of all threads together; 0: no limit */
	long forks;
	long wait_ms; /* before the first call, and in calls-late before the library is opened */
	const char *wait_for; /* a file that must exist before that */
	long signal;          /* the signal that it sends itself after the last call */
};

struct worker {
	pthread_t thread;
	const struct options *options;
	long calls;
	double ns;
	int failed;
};

static cudaError_t (*get_device)(int *device);

static void usage(FILE *stream)
{
	fprintf(stream,
		"usage: " NAME " [options] [CALLS]\n"
		"Makes CALLS calls of cudaGetDevice (default: 1000).\n"
		"  --threads N   share them among N threads (default: 1)\n"
		"  --rate N      make N of them a second (default: as fast as it goes)\n"
		"  --forks N     N children make CALLS calls each, the parent none\n"
		"  --wait MS     wait so long first (default: %s)\n"
		"  --wait-for FILE  wait until the file exists first\n"
		"  --signal N    after the last call, die by signal N\n",
#ifdef LATE
		"2000, and then open the library"
#else
		"0"
#endif
	);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void sleep_until(double when_ns)
{
	struct timespec when = {.tv_sec = (time_t)(when_ns / 1e9)};

	when.tv_nsec = (long)(when_ns - (double)when.tv_sec * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

static void make_calls(struct worker *worker, long count)
{
	int device = -1;

	for (long i = 0; i < count; i++) {
		if (get_device(&device) != cudaSuccess)
			worker->failed = 1;
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	double start = now_ns(), busy = 0;
	double rate = (double)worker->options->rate / (double)worker->options->threads;
	long made = 0;

	if (!worker->options->rate) {
		make_calls(worker, worker->calls);
		worker->ns = now_ns() - start;
		return NULL;
	}
	/* In bursts, a millisecond apart: to sleep between two calls takes too long. */
	for (long tick = 1; made < worker->calls; tick++) {
		long due = (long)((double)tick * 1e-3 * rate);
		double burst = now_ns();

		if (due > worker->calls)
			due = worker->calls;
		make_calls(worker, due - made);
		made = due;
		busy += now_ns() - burst;
		sleep_until(start + (double)tick * 1e6);
	}
	worker->ns = busy;
	return NULL;
}

/* Make the calls and return the nanoseconds per call; negative if one failed. */
static double run(const struct options *options)
{
	struct worker *workers = calloc((size_t)options->threads, sizeof(*workers));
	double ns = 0;
	int failed = 0;

	if (!workers)
		exit(1);
	for (long i = 0; i < options->threads; i++) {
		workers[i].options = options;
		workers[i].calls = options->calls * (i + 1) / options->threads -
				   options->calls * i / options->threads;
		if (i && pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			fprintf(stderr, NAME ": cannot start thread %ld\n", i);
			exit(1);
		}
	}
	work(&workers[0]);
	for (long i = 0; i < options->threads; i++) {
		if (i)
			pthread_join(workers[i].thread, NULL);
		ns += workers[i].ns;
		failed |= workers[i].failed;
	}
	free(workers);
	if (failed)
		return -1;
	return options->calls ? ns / (double)options->calls : 0;
}

static int run_forks(const struct options *options)
{
	int status, failed = 0;

	for (long i = 0; i < options->forks; i++) {
		pid_t child = fork();

		if (child < 0) {
			fprintf(stderr, NAME ": fork: %s\n", strerror(errno));
			return 1;
		}
		if (!child)
			_exit(run(options) < 0);
	}
	for (long i = 0; i < options->forks; i++) {
		if (wait(&status) < 0 || status)
			failed = 1;
	}
	printf(NAME ": %ld calls in %ld processes%s\n", options->calls * options->forks,
	       options->forks, failed ? ", some failed" : "");
	return failed;
}

static int parse(int argc, char **argv, struct options *options)
{
	const struct {
		const char *name;
		long *value, least;
	} known[] = {
		{"--threads", &options->threads, 1}, {"--rate", &options->rate, 1},
		{"--forks", &options->forks, 1},     {"--wait", &options->wait_ms, 0},
		{"--signal", &options->signal, 1},
	};

	for (int i = 1; i < argc; i++) {
		long *value = &options->calls, least = 0;
		char *end;

		if (!strcmp(argv[i], "--wait-for") && i + 1 < argc) {
			options->wait_for = argv[++i];
			continue;
		}
		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
			if (!strcmp(argv[i], known[k].name)) {
				value = known[k].value;
				least = known[k].least;
				if (++i == argc)
					return -EINVAL;
				break;
			}
		}
		*value = strtol(argv[i], &end, 10);
		if (*end || end == argv[i] || *value < least)
			return -EINVAL;
	}
	return 0;
}

static int find_function(void)
{
#ifdef LATE
	void *library = dlopen("libcudart.so.13", RTLD_NOW);

	if (library)
		get_device = (cudaError_t(*)(int *))dlsym(library, "cudaGetDevice");
	if (!get_device) {
		fprintf(stderr, NAME ": %s\n", dlerror());
		return -ENOENT;
	}
#else
	get_device = cudaGetDevice;
#endif
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.calls = 1000, .threads = 1};
	double ns;

#ifdef LATE
	options.wait_ms = 2000;
#endif
	if (argc > 1 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (parse(argc, argv, &options)) {
		usage(stderr);
		return 2;
	}
	while (options.wait_for && access(options.wait_for, F_OK))
		sleep_until(now_ns() + 1e7);
	sleep_until(now_ns() + (double)options.wait_ms * 1e6);
	if (find_function())
		return 1;
	if (options.forks)
		return run_forks(&options);
	ns = run(&options);
	if (ns < 0) {
		fprintf(stderr, NAME ": a call failed\n");
		return 1;
	}
	printf(NAME ": %ld calls, %.1f ns each\n", options.calls, ns);
	fflush(stdout);
	if (options.signal) {
		signal((int)options.signal, SIG_DFL);
		raise((int)options.signal);
	}
	return 0;
}
