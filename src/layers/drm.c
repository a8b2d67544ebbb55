/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "drm". */
#include "base/text.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "layers/padded.h"

static const char *job_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_DRM_QUEUE] = "queue",       [GT_DRM_RUN] = "run",
		[GT_DRM_DONE] = "done",         [GT_DRM_TIMEOUT] = "timeout",
		[GT_DRM_CANCELED] = "canceled",
	};
	const struct gt_event_drm_job *job = (const void *)event;

	return job->operation < gt_countof(names) ? names[job->operation] : "unknown";
}

static const char *dependency_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_DRM_DEPENDS] = "dependency",
		[GT_DRM_BLOCKED] = "blocked",
		[GT_DRM_UNBLOCKED] = "unblocked",
	};
	const struct gt_event_drm_dependency *dependency = (const void *)event;

	return dependency->operation < gt_countof(names) ? names[dependency->operation] : "unknown";
}

static void put_ring(struct gt_strbuf *text, const struct gt_event *event)
{
	gt_put_padded(text, "ring", event, 0, GT_DRM_NAME_SIZE);
	gt_put_padded(text, "device", event, GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
}

static void put_time(struct gt_strbuf *text, const char *key, uint64_t ns)
{
	if (!ns)
		return;
	gt_strbuf_printf(text, " %s=", key);
	gt_format_duration(text, ns);
}

static void job_text(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *event)
{
	const struct gt_event_drm_job *job = (const void *)event;

	gt_put_fence_key(text, "job", job->context, job->seqno);
	put_ring(text, event);
	if (job->operation == GT_DRM_QUEUE || job->operation == GT_DRM_RUN)
		gt_strbuf_printf(text, " depth=%u", job->depth);
	gt_strbuf_printf(text, " hardware=%u", job->hardware);
	put_time(text, "queued", job->queued);
	put_time(text, "blocked", job->blocked);
	put_time(text, "ran", job->ran);
	if (job->error) {
		gt_strbuf_puts(text, " error=");
		gt_put_errno(text, job->error);
	}
}

static void dependency_text(struct gt_strbuf *text, const struct gt_names *names,
			    const struct gt_event *event)
{
	const struct gt_event_drm_dependency *dependency = (const void *)event;

	gt_put_fence_key(text, "job", dependency->context, dependency->seqno);
	gt_put_fence_key(text, " on", dependency->on_context, dependency->on_seqno);
	put_ring(text, event);
	if (dependency->operation == GT_DRM_UNBLOCKED)
		put_time(text, "blocked", dependency->blocked);
}

static void json_ring(struct gt_json *json, const struct gt_names *names,
		      const struct gt_event *event)
{
	gt_json_padded(json, "ring", event, 0, GT_DRM_NAME_SIZE);
	gt_json_padded(json, "device", event, GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
}

static void put_job_operation(struct gt_strbuf *text, const struct gt_names *names,
			      const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, job_variant(event));
}

static void put_dependency_operation(struct gt_strbuf *text, const struct gt_names *names,
				     const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, dependency_variant(event));
}

static const struct gt_layer_field job_fields[] = {
	{"error", gt_put_error_field},
	{"operation", put_job_operation},
};

static const struct gt_layer_field dependency_fields[] = {
	{"operation", put_dependency_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_drm_job,
		.source = "drm",
		.variant = job_variant,
		.fields = job_fields,
		.field_count = gt_countof(job_fields),
		.text = job_text,
		.json = json_ring,
	},
	{
		.kind = GT_EVENT_drm_dependency,
		.source = "drm",
		.variant = dependency_variant,
		.fields = dependency_fields,
		.field_count = gt_countof(dependency_fields),
		.text = dependency_text,
		.json = json_ring,
	},
};

const struct gt_layer_kinds gt_layer_drm = {kinds, gt_countof(kinds)};
