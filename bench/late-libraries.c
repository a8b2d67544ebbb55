/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a library that a command opens costs it: dlopen(3) of a CUDA runtime that no one has seen
 * before, a mapping of a known file for execution, and a system call; without gputap, and with each
 * --late-libs METHOD.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/load.h"

#define OPENINGS 5 /* a run of gputap measures so many */
#define MAPPINGS 200
#define CALLS 200000

static bool copy_file(const char *from, const char *to)
{
	char command[2048];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	return !system(command);
}

static double time_openings(const char *folder)
{
	uint64_t sum = 0;

	for (int i = 0; i < OPENINGS; i++) {
		char path[1024];
		uint64_t start;
		void *library;

		snprintf(path, sizeof(path), "%s/%d.libcudart.so.13", folder, i);
		start = gt_clock_monotonic();
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		sum += gt_clock_monotonic() - start;
		if (!library) {
			fprintf(stderr, "late-libraries: %s\n", dlerror());
			exit(1);
		}
	}
	return (double)sum / OPENINGS / 1e6;
}

static double time_mappings(const char *folder)
{
	char path[1024];
	uint64_t start;
	int fd;

	snprintf(path, sizeof(path), "%s/0.libcudart.so.13", folder);
	fd = open(path, O_RDONLY);
	start = gt_clock_monotonic();
	for (int i = 0; i < MAPPINGS; i++)
		munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), 4096);
	close(fd);
	return (double)(gt_clock_monotonic() - start) / MAPPINGS / 1e3;
}

static double time_calls(void)
{
	uint64_t start = gt_clock_monotonic();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (double)(gt_clock_monotonic() - start) / CALLS;
}

/* As the command: measure and print. */
static int measure(const char *method, const char *folder)
{
	printf("late_dlopen_%s %.3f ms\n", method, time_openings(folder));
	printf("late_exec_mmap_%s %.2f us\n", method, time_mappings(folder));
	printf("late_system_call_%s %.1f ns\n", method, time_calls());
	return 0;
}

static int run_command(const char *self, const char *method, const char *folder)
{
	char command[4096];
	int length = 0;

	for (int i = 0; i < OPENINGS; i++) {
		char path[1024];

		snprintf(path, sizeof(path), "%s/%d.libcudart.so.13", folder, i);
		unlink(path);
		if (!copy_file(STANDIN "/libcudart.so.13", path))
			return 1;
	}
	if (strcmp(method, "untraced") != 0)
		length = snprintf(command, sizeof(command),
				  "'%s' trace -c --gpu nvidia --late-libs %s -- ", GPUTAP, method);
	snprintf(command + length, sizeof(command) - (size_t)length, "'%s' %s '%s' 2>/dev/null",
		 self, method, folder);
	return system(command);
}

int main(int argc, char **argv)
{
	static const char *const methods[] = {"untraced", "watch", "hold"};
	const char *parent = getenv("TMPDIR");
	char folder[512], command[1024];
	int error = 0;

	if (argc == 3)
		return measure(argv[1], argv[2]);
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("late_dlopen_hold skip BPF programs cannot be loaded here\n");
		return 0;
	}
	snprintf(folder, sizeof(folder), "%s/late-libraries-XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < gt_countof(methods) && !error; i++)
		error = run_command(argv[0], methods[i], folder);
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	if (system(command) || error)
		fprintf(stderr, "late-libraries: a trace failed\n");
	return error ? 1 : 0;
}
