/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why sites were rejected and modules loaded as they are, summed up over the run. */
#include "run/inject_private.h"

#include <string.h>

enum {
	MAX_REASONS = 256, /* different ones; texts of modules are part of some */
};

static struct gt_inject_reason *find_reason(struct gt_inject *inject, uint32_t program,
					    const char *text)
{
	gt_vec_each (reason, &inject->reasons)
		if (reason->program == program && !strcmp(reason->text, text))
			return reason;
	return NULL;
}

static struct gt_inject_reason *add_reason(struct gt_inject *inject, uint32_t program,
					   const char *text, const char *function)
{
	struct gt_inject_reason reason = {.program = program, .text = strdup(text)};

	if (!reason.text || inject->reasons.count == MAX_REASONS ||
	    gt_vec_push(&inject->reasons, reason)) {
		free((char *)reason.text);
		return NULL;
	}
	inject->reasons.items[inject->reasons.count - 1].function =
		function ? strdup(function) : NULL;
	return &inject->reasons.items[inject->reasons.count - 1];
}

void gt_inject_reason_add(struct gt_inject *inject, uint32_t program, const char *text,
			  const char *function, uint32_t sites, uint32_t modules)
{
	struct gt_inject_reason *reason = find_reason(inject, program, text);

	if (!reason)
		reason = add_reason(inject, program, text, function);
	if (!reason) {
		inject->reasons_dropped++;
		return;
	}
	reason->sites += sites;
	reason->modules += modules;
}

void gt_inject_reasons_clear(struct gt_inject *inject)
{
	gt_vec_each (reason, &inject->reasons) {
		free((char *)reason->text);
		free((char *)reason->function);
	}
	gt_vec_free(&inject->reasons);
}

size_t gt_inject_reasons(const struct gt_inject *inject,
			 const struct gt_inject_reason **ret_reasons, uint64_t *ret_dropped)
{
	*ret_reasons = inject->reasons.items;
	*ret_dropped = inject->reasons_dropped;
	return inject->reasons.count;
}
