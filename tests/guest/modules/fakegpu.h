/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ioctls of fakegpu.ko, on its render node and its card node. The ledger of what happened is in
 * /sys/kernel/debug/fakegpu/: jobs, vblanks and fences, one JSON object per line; a write to
 * `reset` empties it.
 */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include <linux/types.h>
#include <sys/ioctl.h>

/* Of drm/drm.h, which not every machine has. */
#define DRM_IOWR(number, type) _IOWR('d', number, type)
#define DRM_IOW(number, type) _IOW('d', number, type)
#define DRM_COMMAND_BASE 0x40
#endif

#define FAKEGPU_RINGS 2

enum fakegpu_flags {
	FAKEGPU_AFTER_OTHER =
		1,        /* depend on the last job that this file submitted to the other ring */
	FAKEGPU_HANG = 2, /* the job never completes: the scheduler's timeout ends it */
	FAKEGPU_OUT_FENCE = 4, /* return a sync_file of the last job's fence */
	FAKEGPU_HOLD = 8,      /* the ring's engine starts no job until a FAKEGPU_RELEASE, a
				  FAKEGPU_WAIT of this file, or the end of this file */
};

struct fakegpu_submit {
	__u32 ring;
	__u32 count;       /* of jobs */
	__u32 duration_us; /* of each on the engine */
	__u32 flags;
	__s32 in_fence;  /* sync_file that the first job depends on, or -1 */
	__s32 out_fence; /* returned */
	__u64 context;   /* returned: of the finished fences of the jobs */
	__u64 seqno;     /* returned: of the last */
};

struct fakegpu_wait {
	__u32 ring; /* waits for the last job that this file submitted to it */
	__u32 timeout_ms;
};

/* Waits until a dependency blocks a job that this file submitted to a ring, then lets all engines
 * start. */
struct fakegpu_release {
	__u32 ring;
	__u32 timeout_ms;
};

/*
 * Creates fences of a context of its own, one at a time: init, enable_signal, signaled (after a
 * wait if `wait` is set: a kernel thread signals it), destroy.
 */
struct fakegpu_fences {
	__u32 count;
	__u32 wait;
	__u64 context; /* returned */
};

/* Reads or writes the configuration space of a device by pci_bus_{read,write}_config_*. */
struct fakegpu_config {
	__u32 domain;
	__u32 bus;
	__u32 devfn;
	__u32 reg;
	__u32 size; /* 1, 2 or 4 */
	__u32 write;
	__u32 value;
	__s32 result; /* returned: the function's */
};

#define FAKEGPU_SUBMIT 0x00
#define FAKEGPU_WAIT 0x01
#define FAKEGPU_FENCES 0x02
#define FAKEGPU_CONFIG 0x03
#define FAKEGPU_RELEASE 0x04

#define DRM_IOCTL_FAKEGPU_SUBMIT DRM_IOWR(DRM_COMMAND_BASE + FAKEGPU_SUBMIT, struct fakegpu_submit)
#define DRM_IOCTL_FAKEGPU_WAIT DRM_IOW(DRM_COMMAND_BASE + FAKEGPU_WAIT, struct fakegpu_wait)
#define DRM_IOCTL_FAKEGPU_FENCES DRM_IOWR(DRM_COMMAND_BASE + FAKEGPU_FENCES, struct fakegpu_fences)
#define DRM_IOCTL_FAKEGPU_CONFIG DRM_IOWR(DRM_COMMAND_BASE + FAKEGPU_CONFIG, struct fakegpu_config)
#define DRM_IOCTL_FAKEGPU_RELEASE                                                                  \
	DRM_IOW(DRM_COMMAND_BASE + FAKEGPU_RELEASE, struct fakegpu_release)

#endif
