/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/nvidia/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "event/kinds.h"
#include "probe/nvidia/nvidia.h"

#define PERIOD_NS 200000000
#define MAX_LINE 8192    /* CONSOLE_EXT_LOG_MAX of the kernel */
#define MAX_PENDING 1024 /* lines of one period */

/* A line is shown a period after it was read: then the tracepoint has fired, if there is one. */
struct pending_xid {
	struct gt_event_nvidia_xid *event; /* owned */
	uint32_t code;
};

struct nvidia_log {
	const struct gt_host *host;
	int log, timer;
	uint64_t lines[NVIDIA_MAX_XID_CODE + 1]; /* by code; see `xids` of nvidia.bpf.c */
	GT_VEC(struct pending_xid) pending;
};

static void log_close(void *opaque)
{
	struct nvidia_log *log = opaque;

	if (!log)
		return;
	gt_vec_each (xid, &log->pending)
		free(xid->event);
	gt_vec_free(&log->pending);
	if (log->log >= 0)
		close(log->log);
	if (log->timer >= 0)
		close(log->timer);
	free(log);
}

static int log_open(const struct gt_host *host, void **ret_data, int *ret_fd, uint64_t *ret_emitted)
{
	const struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	struct nvidia_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	log->host = host;
	log->timer = -1;
	log->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* Only what is logged from now on. */
	if (log->log >= 0 && lseek(log->log, 0, SEEK_END) >= 0)
		log->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (log->timer >= 0)
		timerfd_settime(log->timer, 0, &period, NULL);
	*ret_data = log;
	*ret_fd = log->timer;
	*ret_emitted = 0;
	return 0;
}

/* "0000:65:00" has no function: that of a GPU is 0. */
static void complete_address(char address[32])
{
	size_t length = strlen(address);

	if (!strchr(address, '.') && length + 2 < 32)
		strcpy(address + length, ".0");
}

/* Keep the Xid of a record of the log: "6,339,5140900,-;NVRM: Xid (PCI:0000:65:00): 79, …". */
static void take_line(struct nvidia_log *log, char *line)
{
	char address[32], text[sizeof(address) + MAX_LINE];
	struct pending_xid xid = {0};
	char *message = strchr(line, ';');
	int end = 0;

	if (!message || log->pending.count >= MAX_PENDING ||
	    sscanf(message + 1, "NVRM: Xid (PCI:%29[0-9a-fA-F:.]): %u, %n", address, &xid.code,
		   &end) < 2)
		return;
	complete_address(address);
	message += 1 + end;
	message[strcspn(message, "\n")] = '\0';
	snprintf(text, sizeof(text), "%s %s", address, end ? message : "");
	xid.event = (void *)gt_event_new(GT_EVENT_nvidia_xid, text, strlen(text));
	if (xid.event) {
		xid.event->head.time = gt_clock_monotonic();
		xid.event->code = xid.code;
		xid.event->from_log = 1;
	}
	if (!xid.event || gt_vec_push(&log->pending, xid)) {
		free(xid.event);
		gt_event_queue_push(log->host->events, NULL);
	}
}

static void read_lines(struct nvidia_log *log)
{
	char line[MAX_LINE + 1];

	for (;;) {
		ssize_t size = read(log->log, line, MAX_LINE);

		if (size > 0) {
			line[size] = '\0';
			take_line(log, line);
		} else if (size == 0 || (errno != EPIPE && errno != EINTR)) {
			return; /* EPIPE: lines were overwritten; the next read continues */
		}
	}
}

/* Emit the lines that no tracepoint accounts for. */
static uint64_t emit_pending(struct nvidia_log *log, struct bpf_object *object)
{
	int map = bpf_object__find_map_fd_by_name(object, "xids");
	uint64_t emitted = 0;

	gt_vec_each (xid, &log->pending) {
		uint32_t code = xid->code < NVIDIA_MAX_XID_CODE ? xid->code : NVIDIA_MAX_XID_CODE;
		uint64_t traced = 0;

		bpf_map_lookup_elem(map, &code, &traced);
		if (++log->lines[code] <= traced) {
			free(xid->event);
			continue;
		}
		/* So that it is not missing from those that the tracepoint reports later. */
		log->lines[code]--;
		gt_event_queue_push(log->host->events, &xid->event->head);
		emitted++;
	}
	log->pending.count = 0;
	return emitted;
}

static uint64_t log_poll(void *opaque, struct bpf_object *object, bool final)
{
	struct nvidia_log *log = opaque;
	uint64_t expirations, emitted;
	ssize_t size = log->timer >= 0 ? read(log->timer, &expirations, sizeof(expirations)) : -1;

	if (log->timer < 0 || (!final && size != sizeof(expirations)))
		return 0;
	if (final)
		read_lines(log);
	emitted = emit_pending(log, object);
	if (!final)
		read_lines(log);
	return emitted;
}

const struct gt_layer_extra gt_nvidia_log = {log_open, log_poll, log_close};
