// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * fire COMMAND…: make the modules of tests/guest/modules cause events, or print their ledgers.
 * `fire` prints the commands. It links no library, so that nothing else appears in a trace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

/* Of drm/drm.h, which not every machine has. */
struct fire_vblank {
	unsigned type, sequence;
	long value[2];
};

struct fire_syncobj {
	__u32 handle, flags;
};

struct fire_syncobj_fd {
	__u32 handle, flags;
	__s32 fd;
	__u32 padding;
};

struct fire_syncobj_wait {
	__u64 handles;
	__s64 timeout_ns;
	__u32 count, flags, first_signaled, padding;
};

#define IOCTL_WAIT_VBLANK DRM_IOWR(0x3a, struct fire_vblank)
#define IOCTL_SYNCOBJ_CREATE DRM_IOWR(0xbf, struct fire_syncobj)
#define IOCTL_SYNCOBJ_FROM_FD DRM_IOWR(0xc2, struct fire_syncobj_fd)
#define IOCTL_SYNCOBJ_WAIT DRM_IOWR(0xc3, struct fire_syncobj_wait)
#define VBLANK_RELATIVE 1
#define VBLANK_EVENT 0x4000000
#define SYNCOBJ_IMPORT_SYNC_FILE 1

#define DEBUGFS "/sys/kernel/debug/"

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (*end || !*text) {
		fprintf(stderr, "fire: invalid number '%s'\n", text);
		exit(2);
	}
	return value;
}

/* Commands; each has the arguments that its row in `commands` describes. */

static void fire_submit(char **arguments)
{
	int fd = open_render();
	unsigned ring = number(arguments[0]);

	submit(fd, ring, number(arguments[1]), number(arguments[2]), 0, -1);
	wait_for_ring(fd, ring);
}

/* Ring 1 waits for ring 0 at each step, by the driver. */
static void fire_chain(char **arguments)
{
	int fd = open_render();

	for (unsigned long i = 0; i < number(arguments[0]); i++) {
		submit(fd, 0, 1, number(arguments[1]), 0, -1);
		submit(fd, 1, 1, 10, FAKEGPU_AFTER_OTHER, -1);
	}
	wait_for_ring(fd, 1);
}

/* The same, but the first job runs until the second one is blocked by it. */
static void fire_blocked(char **arguments)
{
	int fd = open_render();

	for (unsigned long i = 0; i < number(arguments[0]); i++) {
		submit(fd, 0, 1, number(arguments[1]), FAKEGPU_HOLD, -1);
		submit(fd, 1, 1, 10, FAKEGPU_AFTER_OTHER, -1);
		release_when_blocked(fd, 1);
		wait_for_ring(fd, 1);
	}
}

/* The engine starts the job when the wait begins. */
static void fire_wait(char **arguments)
{
	int fd = open_render();

	submit(fd, 0, 1, number(arguments[0]), FAKEGPU_HOLD, -1);
	wait_for_ring(fd, 0);
}

/*
 * A job of another process, and another file, is what the job of this one waits for. It runs until
 * the other one is blocked, however late that is.
 */
static void fire_sync_file(char **arguments)
{
	struct fakegpu_submit first = submit(open_render(), 0, 1, number(arguments[0]),
					     FAKEGPU_OUT_FENCE | FAKEGPU_HOLD, -1);
	struct pollfd done = {.fd = first.out_fence, .events = POLLIN};
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		int fd = open_render();

		submit(fd, 1, 1, 10, 0, first.out_fence);
		release_when_blocked(fd, 1);
		wait_for_ring(fd, 1);
		_exit(0);
	}
	if (poll(&done, 1, 60000) != 1 || waitpid(child, &status, 0) != child || status != 0)
		die("sync-file");
}

static void fire_syncobj(char **arguments)
{
	int fd = open_render();
	struct fakegpu_submit job = submit(fd, 0, 1, number(arguments[0]), FAKEGPU_OUT_FENCE, -1);
	struct fire_syncobj created = {0};
	struct fire_syncobj_fd import = {.flags = SYNCOBJ_IMPORT_SYNC_FILE, .fd = job.out_fence};
	struct fire_syncobj_wait wait = {
		.handles = (uintptr_t)&created.handle, .timeout_ns = INT64_MAX, .count = 1};

	call_ioctl(fd, IOCTL_SYNCOBJ_CREATE, &created, "create a syncobj");
	import.handle = created.handle;
	call_ioctl(fd, IOCTL_SYNCOBJ_FROM_FD, &import, "import a fence");
	call_ioctl(fd, IOCTL_SYNCOBJ_WAIT, &wait, "wait for a syncobj");
}

static void fire_hang(char **arguments)
{
	int fd = open_render();

	submit(fd, number(arguments[0]), 1, 10, FAKEGPU_HANG, -1);
	submit(fd, number(arguments[0]), 1, 10, 0, -1);
	wait_for_ring(fd, number(arguments[0]));
}

static void fire_fences(char **arguments)
{
	struct fakegpu_fences request = {.count = number(arguments[0]),
					 .wait = number(arguments[1])};

	call_ioctl(open_render(), DRM_IOCTL_FAKEGPU_FENCES, &request, "fences");
	printf("%llu\n", (unsigned long long)request.context);
}

static void fire_vblank(char **arguments)
{
	int fd = open_gpu("card", 0);

	for (unsigned long i = 0; i < number(arguments[0]); i++) {
		struct fire_vblank wait = {.type = VBLANK_RELATIVE, .sequence = 1};
		struct fire_vblank event = {
			.type = VBLANK_RELATIVE | VBLANK_EVENT, .sequence = 1, .value = {77}};
		char data[64];

		call_ioctl(fd, IOCTL_WAIT_VBLANK, &wait, "wait for a vblank");
		call_ioctl(fd, IOCTL_WAIT_VBLANK, &event, "ask for a vblank event");
		if (read(fd, data, sizeof(data)) <= 0)
			die("read a vblank event");
	}
}

/* Through pci_bus_{read,write}_config_*, of device 0:0.0. */
static void fire_config(char **arguments)
{
	int fd = open_render();
	unsigned reg = number(arguments[0]), size = number(arguments[1]);

	for (unsigned long i = 0; i < number(arguments[2]); i++) {
		struct fakegpu_config request = {.reg = reg, .size = size};

		call_ioctl(fd, DRM_IOCTL_FAKEGPU_CONFIG, &request, "read the configuration space");
		request.write = 1;
		call_ioctl(fd, DRM_IOCTL_FAKEGPU_CONFIG, &request, "write the configuration space");
		if (i == 0)
			printf("0x%x\n", request.value);
	}
}

/* Through pci_user_read_config_*, in one read. */
static void fire_sysfs_config(char **arguments)
{
	unsigned char data[4096];
	int fd = open_file("/sys/bus/pci/devices/0000:00:00.0/config", O_RDONLY);
	ssize_t size = pread(fd, data, number(arguments[0]), 0);

	if (size < 2)
		die("read the configuration space");
	printf("0x%x\n", data[0] | data[1] << 8);
}

/* open, count ioctls by number, poll, mmap of some pages that are all written, close. */
static void use_device(const char *path, unsigned long command, unsigned long count, size_t pages)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	uint32_t parameters[8] = {0, 0, 0x20800110};
	int fd = open_file(path, O_RDWR);
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char *mapped;

	for (unsigned long i = 0; i < count; i++)
		ioctl(fd, command, parameters);
	poll(&polled, 1, 0);
	if (pages) {
		mapped = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * page);
		if (mapped == MAP_FAILED)
			die("mmap");
		for (size_t i = 0; i < pages; i++)
			mapped[i * page] = 1;
		munmap(mapped, pages * page);
	}
	close(fd);
}

static void fire_device(char **arguments)
{
	use_device(arguments[0], number(arguments[1]), number(arguments[2]), number(arguments[3]));
}

/* RM control on the control node and memory of device 0, unified memory's calls. */
static void fire_cuda(char **arguments)
{
	const unsigned long rm_control = _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2a, 32);
	const unsigned long uvm_initialize = 0x30000001;

	use_device("/dev/nvidiactl", rm_control, number(arguments[0]), 0);
	use_device("/dev/nvidia0", rm_control, number(arguments[0]), 3);
	use_device("/dev/nvidia-uvm", uvm_initialize, number(arguments[0]), 2);
}

/* What nvidia.ko does of its own: see modules/nvidia_driver.c. */
static void fire_nvidia(char **arguments)
{
	int fd = open_file(DEBUGFS "nvidia/do", O_WRONLY);

	if (write(fd, arguments[0], strlen(arguments[0])) < 0)
		die(arguments[0]);
}

/* open, ioctl, close: for measuring. */
static void fire_loop(char **arguments)
{
	for (unsigned long i = 0; i < number(arguments[1]); i++) {
		int fd = open_file(arguments[0], O_RDWR);

		ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2a, 32), NULL);
		close(fd);
	}
}

/* Print a file of JSON lines as an array. */
static void print_array(const char *name, const char *path, const char *before)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	bool first = true;

	if (!file)
		return;
	printf("%s\"%s\": [", before, name);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		printf("%s\n%s", first ? "" : ",", line);
		first = false;
	}
	printf("]");
	fclose(file);
}

static void fire_ledger(char **arguments)
{
	printf("{\"ledger\": 1");
	print_array("jobs", DEBUGFS "fakegpu/jobs", ",\n");
	print_array("vblanks", DEBUGFS "fakegpu/vblanks", ",\n");
	print_array("fences", DEBUGFS "fakegpu/fences", ",\n");
	print_array("nvidia", DEBUGFS "nvidia/calls", ",\n");
	print_array("uvm", DEBUGFS "nvidia-uvm/calls", ",\n");
	printf("}\n");
}

static void fire_reset(char **arguments)
{
	static const char *const paths[] = {DEBUGFS "fakegpu/reset", DEBUGFS "nvidia/reset",
					    DEBUGFS "nvidia-uvm/reset"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, "1", 1) != 1)
			die(paths[i]);
	}
}

static const struct fire_command {
	const char *name;
	int count;
	const char *arguments;
	const char *summary;
	void (*run)(char **arguments);
} commands[] = {
	{"submit", 3, "RING COUNT MICROSECONDS", "jobs on a ring, then wait for the last",
	 fire_submit},
	{"chain", 2, "COUNT MICROSECONDS", "pairs of jobs, the second after the first", fire_chain},
	{"blocked", 2, "COUNT MICROSECONDS", "pairs of jobs, the second blocked by the first",
	 fire_blocked},
	{"wait", 1, "MICROSECONDS", "a job that starts when it is waited for", fire_wait},
	{"sync-file", 1, "MICROSECONDS", "a job that depends on another process's", fire_sync_file},
	{"syncobj", 1, "MICROSECONDS", "a job, awaited by a syncobj", fire_syncobj},
	{"hang", 1, "RING", "a job that never completes, and one after it", fire_hang},
	{"fences", 2, "COUNT WAIT", "fences, each awaited if WAIT is 1; prints their context",
	 fire_fences},
	{"vblank", 1, "COUNT", "wait for a vblank and receive an event, each time", fire_vblank},
	{"config", 3, "REGISTER SIZE COUNT", "read and write back, in the kernel", fire_config},
	{"sysfs-config", 1, "SIZE", "read the configuration space by sysfs", fire_sysfs_config},
	{"device", 4, "PATH COMMAND COUNT PAGES", "open, ioctls, poll, mmap, close", fire_device},
	{"cuda", 1, "COUNT", "the same on NVIDIA's control, device and UVM nodes", fire_cuda},
	{"nvidia", 1, "ACTION", "an action of nvidia.ko", fire_nvidia},
	{"loop", 2, "PATH COUNT", "open, ioctl, close", fire_loop},
	{"ledger", 0, "", "print the ledgers as JSON", fire_ledger},
	{"reset", 0, "", "empty the ledgers", fire_reset},
};

static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static int print_commands(void)
{
	for (size_t i = 0; i < command_count; i++)
		fprintf(stderr, "fire %s %s: %s\n", commands[i].name, commands[i].arguments,
			commands[i].summary);
	return 2;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < command_count; i++) {
		if (strcmp(argv[1], commands[i].name) == 0 && argc == 2 + commands[i].count) {
			commands[i].run(argv + 2);
			return 0;
		}
	}
	return print_commands();
}
