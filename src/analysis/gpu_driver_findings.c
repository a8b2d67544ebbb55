/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sentences of the findings about GPU drivers. */
#include <inttypes.h>

#include "analysis/gpu_drivers.h"
#include "base/text.h"

static const struct {
	const char *name, *advice;
} kinds[GT_DRIVER_FINDINGS] = {
	[GT_DRIVER_FINDING_REBOUND] =
		{"rebound", "The buffers in use do not fit into the address space or the "
			    "memory at a time: use smaller or fewer ones, or reuse "
			    "those that are bound."},
	[GT_DRIVER_FINDING_MOVED] = {"moved",
				     "The buffers in use do not fit into VRAM at a time: each move "
				     "is a copy over PCIe; use smaller or fewer ones."},
	[GT_DRIVER_FINDING_SHRUNK] = {"shrunk",
				      "The system's memory is short: buffers that are reclaimed "
				      "have to be made resident again, which stalls the GPU."},
	[GT_DRIVER_FINDING_MISPLACED] = {"misplaced",
					 "VRAM was exhausted: the GPU accesses these buffers over "
					 "PCIe; free VRAM or allocate less of it."},
	[GT_DRIVER_FINDING_LATE] = {"late_submission",
				    "The requests waited in the kernel: for dependencies, for "
				    "others on the engine, or for the scheduler's thread "
				    "(gputap stat -e drm,sched)."},
};

const char *gt_driver_finding_name(unsigned kind)
{
	return kind < GT_DRIVER_FINDINGS ? kinds[kind].name : "unknown";
}

const char *gt_driver_finding_advice(unsigned kind)
{
	return kind < GT_DRIVER_FINDINGS ? kinds[kind].advice : "";
}

bool gt_driver_finding_holds(const struct gt_driver_finding *finding)
{
	bool is_thrash = finding->key.kind == GT_DRIVER_FINDING_REBOUND ||
			 finding->key.kind == GT_DRIVER_FINDING_MOVED;

	return is_thrash ? finding->buffers > 0 : finding->count > 0;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "buffers were bound again 12 times (1.0 MiB), 0xffff888100002000 9 times …" */
static void put_repeats(struct gt_strbuf *text, const struct gt_driver_finding *finding,
			const char *done)
{
	gt_strbuf_printf(text, "buffers were %s again %" PRIu64 " time%s (", done, finding->count,
			 plural(finding->count));
	gt_format_bytes(text, finding->bytes);
	gt_strbuf_printf(text,
			 "), 0x%" PRIx64 " alone %" PRIu64 " times, and %" PRIu64
			 " of them at least %d times",
			 finding->buffer, finding->repeats, finding->buffers, GT_THRASH_REPEATS);
}

void gt_driver_finding_put(struct gt_strbuf *text, const struct gt_driver_finding *finding)
{
	switch (finding->key.kind) {
	case GT_DRIVER_FINDING_REBOUND:
		put_repeats(text, finding, "bound");
		break;
	case GT_DRIVER_FINDING_MOVED:
		put_repeats(text, finding, "moved");
		break;
	case GT_DRIVER_FINDING_SHRUNK:
		gt_strbuf_printf(text, "the kernel wanted memory back %" PRIu64 " time%s (",
				 finding->count, plural(finding->count));
		gt_format_bytes(text, finding->bytes);
		gt_strbuf_putc(text, ')');
		break;
	case GT_DRIVER_FINDING_MISPLACED:
		gt_strbuf_printf(text, "%" PRIu64 " buffer%s (", finding->count,
				 plural(finding->count));
		gt_format_bytes(text, finding->bytes);
		gt_strbuf_printf(text,
				 ") for which VRAM was asked got other memory, first 0x%" PRIx64,
				 finding->buffer);
		break;
	case GT_DRIVER_FINDING_LATE:
		gt_strbuf_printf(text,
				 "%" PRIu64 " of %" PRIu64
				 " requests ran more than %d µs after their submission, request "
				 "%" PRIu64 ":%" PRIu64 " after ",
				 finding->count, finding->of, GT_LATE_SUBMISSION / 1000,
				 finding->context, finding->seqno);
		gt_format_duration(text, finding->max);
		break;
	}
}
