/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/event_ring.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "probe/load.h"

#define MAX_RING (1u << 31)

/* A ring has a power of two of pages. */
static int choose_ring_size(const struct gt_trace_options *options, uint32_t *ret_size,
			    struct gt_diag *diag)
{
	uint64_t usual =
		options->stack == GT_STACK_DWARF ? GT_DEFAULT_COPY_RING_SIZE : GT_DEFAULT_RING_SIZE;
	uint64_t wanted = options->ring_size ? options->ring_size : usual;
	uint64_t size = sysconf(_SC_PAGESIZE);

	if (wanted < size || wanted > MAX_RING)
		return gt_diag(diag, -EINVAL, "session", NULL,
			       "invalid value '%" PRIu64 "' for --ring-size (%" PRIu64
			       ", a page, to %" PRIu64 " bytes)",
			       wanted, size, (uint64_t)MAX_RING);
	while (size < wanted)
		size *= 2;
	*ret_size = (uint32_t)size;
	return 0;
}

int gt_event_ring_create(const struct gt_trace_options *options, int *ret_fd, uint32_t *ret_size,
			 struct gt_diag *diag)
{
	uint32_t size = 0;
	int fd, error = choose_ring_size(options, &size, diag);

	if (error)
		return error;
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gputap_events", 0, 0, size, NULL);
	if (fd < 0)
		return gt_load_failed(-errno, "session", diag);
	*ret_fd = fd;
	*ret_size = size;
	return 0;
}
