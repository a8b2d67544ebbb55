/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/vendor_runtimes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

enum {
	TIME_LIMIT = 5000, /* ms */
	MAX_PLATFORMS = 8,
	MAX_DEVICES = 16,
	MAX_ANSWER = 4096, /* bytes */
};

/* What a child exits with. */
enum child_status {
	CHILD_HAS_DEVICE,
	CHILD_NO_DEVICE,
};

/* cl.h: CL_PLATFORM_NAME, CL_DEVICE_NAME, CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU, …_ALL */
#define PLATFORM_NAME 0x0902
#define DEVICE_NAME 0x102B
#define DEVICE_TYPE 0x1000
#define TYPE_CPU 2u
#define TYPE_ALL 0xFFFFFFFFu

struct opencl_functions {
	int32_t (*platforms)(uint32_t count, void **platforms, uint32_t *ret_count);
	int32_t (*platform_info)(void *platform, uint32_t name, size_t size, void *value,
				 size_t *ret_size);
	int32_t (*devices)(void *platform, uint64_t type, uint32_t count, void **devices,
			   uint32_t *ret_count);
	int32_t (*device_info)(void *device, uint32_t name, size_t size, void *value,
			       size_t *ret_size);
};

static void find_function(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
}

static void describe_device(const struct opencl_functions *functions, void *device)
{
	char name[128] = "?";
	uint64_t type = 0;

	functions->device_info(device, DEVICE_NAME, sizeof(name) - 1, name, NULL);
	functions->device_info(device, DEVICE_TYPE, sizeof(type), &type, NULL);
	name[sizeof(name) - 1] = 0;
	printf("%s (%s)", name, type & TYPE_CPU ? "a CPU, no hardware of its own" : "hardware");
}

static enum child_status examine_opencl(void *library)
{
	struct opencl_functions functions;
	void *platforms[MAX_PLATFORMS], *devices[MAX_DEVICES];
	uint32_t count = 0, device_count = 0, total = 0;

	find_function(library, "clGetPlatformIDs", &functions.platforms);
	find_function(library, "clGetPlatformInfo", &functions.platform_info);
	find_function(library, "clGetDeviceIDs", &functions.devices);
	find_function(library, "clGetDeviceInfo", &functions.device_info);
	if (!functions.platforms || !functions.platform_info || !functions.devices ||
	    !functions.device_info || functions.platforms(MAX_PLATFORMS, platforms, &count))
		count = 0;
	for (uint32_t i = 0; i < count && i < MAX_PLATFORMS; i++) {
		char name[128] = "?";

		functions.platform_info(platforms[i], PLATFORM_NAME, sizeof(name) - 1, name, NULL);
		name[sizeof(name) - 1] = 0;
		printf("%s%s: ", i ? "; " : "", name);
		device_count = 0;
		if (functions.devices(platforms[i], TYPE_ALL, MAX_DEVICES, devices, &device_count))
			device_count = 0;
		for (uint32_t j = 0; j < device_count && j < MAX_DEVICES; j++) {
			fputs(j ? ", " : "", stdout);
			describe_device(&functions, devices[j]);
		}
		if (!device_count)
			fputs("no device", stdout);
		total += device_count;
	}
	if (!count)
		fputs("no platform: install a driver (on a CPU: pocl-opencl-icd)", stdout);
	return total ? CHILD_HAS_DEVICE : CHILD_NO_DEVICE;
}

/* The number of a version is 10000000 * major + 100000 * minor + patch (hip_version.h). */
static void describe_hip_version(void *library)
{
	int (*runtime_version)(int *ret_version), version = 0;

	find_function(library, "hipRuntimeGetVersion", &runtime_version);
	if (runtime_version && !runtime_version(&version) && version > 0)
		printf("HIP %d.%d: ", version / 10000000, version / 100000 % 100);
}

static enum child_status examine_hip(void *library)
{
	int (*count_devices)(int *ret_count);
	int count = 0, error;

	describe_hip_version(library);
	find_function(library, "hipGetDeviceCount", &count_devices);
	error = count_devices ? count_devices(&count) : -1;
	if (!error && count > 0) {
		printf("%d device%s", count, count == 1 ? "" : "s");
		return CHILD_HAS_DEVICE;
	}
	printf("no hardware: hipGetDeviceCount returned %d (an AMD GPU and the kernel's amdgpu "
	       "driver "
	       "are needed)",
	       error);
	return CHILD_NO_DEVICE;
}

/* The version of the API that a driver has: 65536 * major + minor (ze_api.h). */
static void describe_level_zero_version(void *library, void *driver)
{
	int (*api_version)(void *driver, uint32_t *ret_version);
	uint32_t version = 0;

	find_function(library, "zeDriverGetApiVersion", &api_version);
	if (api_version && !api_version(driver, &version))
		printf(", the first with version %u.%u of the API", version >> 16,
		       version & 0xffff);
}

static enum child_status examine_level_zero(void *library)
{
	int (*initialize)(uint32_t flags), (*drivers)(uint32_t * count, void **drivers);
	uint32_t count = 0, one = 1;
	void *driver;
	int error;

	find_function(library, "zeInit", &initialize);
	find_function(library, "zeDriverGet", &drivers);
	error = initialize ? initialize(0) : -1;
	if (!error && drivers && !drivers(&count, NULL) && count) {
		printf("%u driver%s", count, count == 1 ? "" : "s");
		if (!drivers(&one, &driver))
			describe_level_zero_version(library, driver);
		return CHILD_HAS_DEVICE;
	}
	printf("no hardware: zeInit returned 0x%x (an Intel GPU and libze-intel-gpu1 are needed)",
	       (unsigned)error);
	return CHILD_NO_DEVICE;
}

static const struct vendor_runtime {
	const char *library;
	enum child_status (*examine)(void *library);
} runtimes[] = {
	[GT_VENDOR_OPENCL] = {"libOpenCL.so.1", examine_opencl},
	[GT_VENDOR_HIP] = {"libamdhip64.so", examine_hip},
	[GT_VENDOR_LEVEL_ZERO] = {"libze_loader.so.1", examine_level_zero},
};

static void *open_runtime(const char *name)
{
	static const char *const versions[] = {"", ".7", ".6", ".5"};
	char versioned[64];
	void *library = NULL;

	for (size_t i = 0; i < gt_countof(versions) && !library; i++) {
		snprintf(versioned, sizeof(versioned), "%s%s", name, versions[i]);
		library = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

/* In the child: only the answer reaches the parent, whatever a driver prints. */
static __attribute__((noreturn)) void run_child(const struct vendor_runtime *runtime, int answer)
{
	const struct rlimit no_core = {0, 0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	enum child_status status = CHILD_NO_DEVICE;
	void *library;

	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(answer, STDOUT_FILENO);
	library = open_runtime(runtime->library);
	if (library)
		status = runtime->examine(library);
	else
		printf("%s is not installed", runtime->library);
	gt_cli_flush_output();
	_exit(status);
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Read until the child closes the pipe. False: it did not within the limit. */
static bool read_answer(int fd, struct gt_strbuf *answer)
{
	int64_t end = now_ms() + TIME_LIMIT;
	char buffer[512];

	for (;;) {
		struct pollfd waited = {.fd = fd, .events = POLLIN};
		int64_t left = end - now_ms();
		ssize_t got;

		if (left <= 0 || answer->length > MAX_ANSWER)
			return false;
		if (poll(&waited, 1, (int)left) <= 0)
			continue;
		got = read(fd, buffer, sizeof(buffer));
		if (got <= 0)
			return true;
		gt_strbuf_add(answer, buffer, (size_t)got);
	}
}

bool gt_vendor_runtime(enum gt_vendor_api api, struct gt_strbuf *text)
{
	const struct vendor_runtime *runtime = &runtimes[api];
	gt_auto_strbuf answer = GT_STRBUF_INIT;
	int pipe_ends[2], status = 0;
	bool answered;
	pid_t child;

	gt_cli_flush_output();
	if (pipe2(pipe_ends, O_CLOEXEC) < 0) {
		gt_strbuf_printf(text, "pipe2: %s", strerror(errno));
		return false;
	}
	child = fork();
	if (!child)
		run_child(runtime, pipe_ends[1]);
	close(pipe_ends[1]);
	answered = child > 0 && read_answer(pipe_ends[0], &answer);
	close(pipe_ends[0]);
	if (child > 0) {
		if (!answered)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	gt_put_printable(text, gt_strbuf_string(&answer));
	if (!answered)
		gt_strbuf_printf(text, "%s did not answer within %d s: its driver hangs",
				 runtime->library, TIME_LIMIT / 1000);
	else if (WIFSIGNALED(status))
		gt_strbuf_printf(text, "%s%s crashed: %s", answer.length ? "; " : "",
				 runtime->library, strsignal(WTERMSIG(status)));
	return answered && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_HAS_DEVICE;
}
