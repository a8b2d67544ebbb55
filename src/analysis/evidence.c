/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/evidence.h"

#include <inttypes.h>

#include "base/launch_limits.h"
#include "base/text.h"

static void put_bytes(struct gt_strbuf *text, const char *before, uint64_t bytes, const char *after)
{
	gt_strbuf_puts(text, before);
	gt_format_bytes(text, bytes);
	gt_strbuf_puts(text, after);
}

static void put_took(struct gt_strbuf *text, const char *before, uint64_t ns)
{
	gt_strbuf_puts(text, before);
	gt_format_duration(text, ns);
}

static void put_times(struct gt_strbuf *text, uint64_t times)
{
	if (times == 1)
		gt_strbuf_puts(text, "once");
	else
		gt_strbuf_printf(text, "%" PRIu64 " times", times);
}

char *gt_evidence_text(const struct gt_evidence *evidence)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	switch (evidence->kind) {
	case GT_FINDING_sticky_error:
		gt_strbuf_puts(&text, evidence->text);
		break;
	case GT_FINDING_freed_twice:
		gt_strbuf_printf(&text, "%s was called with memory that was already freed, ",
				 evidence->function);
		put_times(&text, evidence->count);
		break;
	case GT_FINDING_freed_foreign:
		gt_strbuf_printf(&text, "%s was called with a pointer that was never allocated, ",
				 evidence->function);
		put_times(&text, evidence->count);
		break;
	case GT_FINDING_allocation_retried:
		gt_strbuf_printf(&text, "%s failed and was retried ", evidence->function);
		put_times(&text, evidence->count);
		if (evidence->count == evidence->all) {
			gt_strbuf_puts(&text, ", then succeeded");
			break;
		}
		gt_strbuf_puts(&text, ", without success ");
		put_times(&text, evidence->count - evidence->all);
		break;
	case GT_FINDING_allocation_in_loop:
		gt_strbuf_printf(&text, "%" PRIu64 " times %s of ", evidence->count,
				 evidence->function);
		put_bytes(&text, "", evidence->bytes, " was freed again");
		put_took(&text, "; the calls took ", evidence->ns);
		break;
	case GT_FINDING_sync_after_launch:
		gt_strbuf_printf(&text,
				 "%s waited %" PRIu64 " times for a single launch, of %" PRIu64
				 " launches in total",
				 evidence->function, evidence->count, evidence->launches);
		put_took(&text, ", and took ", evidence->ns);
		break;
	case GT_FINDING_tiny_copies:
		gt_strbuf_printf(&text, "%" PRIu64 " of %" PRIu64 " copies by %s had ",
				 evidence->count, evidence->all, evidence->function);
		put_bytes(&text, "at most ", GT_TINY_COPY, "");
		put_bytes(&text, ", together ", evidence->bytes, "");
		put_took(&text, " in ", evidence->ns);
		break;
	case GT_FINDING_small_launches:
		gt_strbuf_printf(&text, "%s was launched with fewer than %d threads in a block, ",
				 evidence->text, GT_WARP_SIZE);
		put_times(&text, evidence->count);
		break;
	case GT_FINDINGS:
		break;
	}
	return gt_strbuf_steal(&text);
}
