/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_opencl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/clock.h"
#include "base/vec.h"
#include "opencl/opencl.h"

enum {
	LIMIT_MS = 30000, /* of examining all devices */
};

/* What the process writes for each device that has a clock or features. */
struct examined_device {
	char device[GT_CL_IDENTITY];
	struct gt_cycle_clock clock;
	bool has_clock;
	unsigned features;
};

struct gt_inject_opencl {
	pid_t pid;
	int fd; /* -1: the devices were examined */
	GT_VEC(struct examined_device) devices;
};

/* ---- the process ---- */

static void examine_device(struct gt_cl *cl, unsigned number, bool reads_clock, int answer)
{
	gt_auto(cl_device) struct gt_cl_device *device = NULL;
	struct examined_device found = {0};
	struct gt_diag ignored = {0};

	if (gt_cl_device_open(cl, number, &device, &ignored))
		return;
	found.has_clock = reads_clock && !gt_cl_device_clock(device, &found.clock, &ignored);
	/* The control flow of kernels that others made is not known. */
	found.features = gt_cl_device_features(device) & ~(unsigned)GT_SPIRV_UNIFORM_SUB_GROUPS;
	if (!found.has_clock && !found.features)
		return;
	strcpy(found.device, gt_cl_device_info(device)->identity);
	if (write(answer, &found, sizeof(found)) != sizeof(found))
		_exit(1);
}

/* What drivers print is not for the user. */
static void silence(void)
{
	gt_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static __attribute__((noreturn)) void run_process(int fd, pid_t parent, bool reads_clock)
{
	gt_auto(cl) struct gt_cl *cl = NULL;
	struct gt_diag ignored = {0};
	char wanted;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	silence();
	if (getppid() != parent || read(fd, &wanted, 1) != 1 || gt_cl_open(&cl, &ignored))
		_exit(0);
	for (unsigned i = 0; i < gt_cl_device_count(cl) && i < GT_INJECT_MAX_OPENCL; i++)
		examine_device(cl, i, reads_clock, fd);
	_exit(0);
}

struct gt_inject_opencl *gt_inject_opencl_new(bool reads_clock)
{
	struct gt_inject_opencl *opencl = calloc(1, sizeof(*opencl));
	pid_t parent = getpid();
	int ends[2];

	if (!opencl || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(opencl);
		return NULL;
	}
	opencl->pid = fork();
	if (!opencl->pid)
		run_process(ends[1], parent, reads_clock);
	close(ends[1]);
	opencl->fd = ends[0];
	if (opencl->pid > 0)
		return opencl;
	close(ends[0]);
	free(opencl);
	return NULL;
}

/* ---- asking it ---- */

static void end_process(struct gt_inject_opencl *opencl)
{
	if (opencl->fd < 0)
		return;
	gt_cleanup_close(&opencl->fd);
	opencl->fd = -1;
	kill(opencl->pid, SIGKILL);
	while (waitpid(opencl->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* False: no more follow, or the limit has expired. */
static bool read_device(struct gt_inject_opencl *opencl, uint64_t end)
{
	uint64_t now = gt_clock_monotonic();
	struct pollfd waited = {.fd = opencl->fd, .events = POLLIN};
	struct examined_device found;
	int ready = now < end ? poll(&waited, 1, (int)((end - now) / 1000000)) : 0;

	if (ready < 0 && errno == EINTR)
		return true;
	if (ready <= 0 || recv(opencl->fd, &found, sizeof(found), 0) != sizeof(found))
		return false;
	found.device[sizeof(found.device) - 1] = 0;
	return !gt_vec_push(&opencl->devices, found);
}

static void examine(struct gt_inject_opencl *opencl)
{
	uint64_t end = gt_clock_monotonic() + LIMIT_MS * UINT64_C(1000000);

	if (send(opencl->fd, "", 1, MSG_NOSIGNAL) == 1)
		while (opencl->devices.count < GT_INJECT_MAX_OPENCL && read_device(opencl, end))
			continue;
	end_process(opencl);
}

/* Whether a device has this name; one without a version is of Level Zero. */
static bool is_device(const struct examined_device *found, const char *device)
{
	size_t length = strlen(device);

	return !strncmp(found->device, device, length) &&
	       (!found->device[length] || (found->device[length] == '\n' && !strchr(device, '\n')));
}

const struct gt_cycle_clock *gt_inject_opencl_clock(struct gt_inject_opencl *opencl,
						    const char *device, size_t *ret_number)
{
	if (!opencl)
		return NULL;
	if (opencl->fd >= 0)
		examine(opencl);
	gt_vec_each (found, &opencl->devices) {
		if (!found->has_clock || (device && !is_device(found, device)))
			continue;
		if (ret_number)
			*ret_number = (size_t)(found - opencl->devices.items);
		return &found->clock;
	}
	return NULL;
}

unsigned gt_inject_opencl_features(struct gt_inject_opencl *opencl, const char *device)
{
	unsigned features = 0;

	if (!opencl)
		return 0;
	if (opencl->fd >= 0)
		examine(opencl);
	gt_vec_each (found, &opencl->devices)
		if (!device || is_device(found, device))
			features |= found->features;
	return features;
}

void gt_inject_opencl_free(struct gt_inject_opencl *opencl)
{
	if (!opencl)
		return;
	end_process(opencl);
	gt_vec_free(&opencl->devices);
	free(opencl);
}
