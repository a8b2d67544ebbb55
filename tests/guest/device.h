/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening fakegpu and submitting jobs to it; errors end the program. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "modules/fakegpu.h"

/* Of drm/drm.h, which not every machine has. */
struct fire_version {
	int major, minor, patch;
	size_t name_length;
	char *name;
	size_t date_length;
	char *date;
	size_t description_length;
	char *description;
};

#define IOCTL_VERSION DRM_IOWR(0x00, struct fire_version)

static inline void die(const char *what)
{
	fprintf(stderr, "fire: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		die(path);
	return fd;
}

static inline void call_ioctl(int fd, unsigned long command, void *argument, const char *what)
{
	if (ioctl(fd, command, argument) < 0)
		die(what);
}

/* Open the node of fakegpu among /dev/dri/PREFIX*. */
static inline int open_gpu(const char *prefix, int first)
{
	for (int i = first; i < first + 16; i++) {
		char path[64], name[16] = "";
		struct fire_version version = {.name_length = sizeof(name) - 1, .name = name};
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/%s%d", prefix, i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, IOCTL_VERSION, &version) == 0 &&
		    strcmp(name, "fakegpu") == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	fputs("fire: there is no fakegpu: modprobe fakegpu\n", stderr);
	exit(1);
}

static inline int open_render(void)
{
	return open_gpu("renderD", 128);
}

static inline struct fakegpu_submit submit(int fd, unsigned ring, unsigned count,
					   unsigned duration_us, unsigned flags, int in_fence)
{
	struct fakegpu_submit request = {
		.ring = ring,
		.count = count,
		.duration_us = duration_us,
		.flags = flags,
		.in_fence = in_fence,
	};

	call_ioctl(fd, DRM_IOCTL_FAKEGPU_SUBMIT, &request, "submit");
	return request;
}

/* Release all rings once a job of this file waits for another one. */
static inline void release_when_blocked(int fd, unsigned ring)
{
	struct fakegpu_release request = {.ring = ring, .timeout_ms = 60000};

	call_ioctl(fd, DRM_IOCTL_FAKEGPU_RELEASE, &request, "release");
}

static inline void wait_for_ring(int fd, unsigned ring)
{
	struct fakegpu_wait request = {.ring = ring, .timeout_ms = 60000};

	call_ioctl(fd, DRM_IOCTL_FAKEGPU_WAIT, &request, "wait");
}
