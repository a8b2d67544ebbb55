/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "vblank". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "vblank.skel.h"

#define MODULE "drm"

static const struct gt_hook hooks[] = {
	{.program = "handle_crtc",
	 .kind = GT_HOOK_ENTRY,
	 .point = "drm_crtc_handle_vblank",
	 .module = MODULE,
	 .lacks = "devices of vblanks"},
	{.program = "handle_device",
	 .kind = GT_HOOK_ENTRY,
	 .point = "drm_handle_vblank",
	 .module = MODULE},
	{.program = "vblank",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "drm_vblank_event",
	 .module = MODULE,
	 .lacks = "vblanks"},
	{.program = "vblank_delivered",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "drm_vblank_event_delivered",
	 .module = MODULE,
	 .lacks = "delivered events"},
	{.program = "vblank_queued",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "drm_vblank_event_queued",
	 .module = MODULE,
	 .lacks = "queued events"},
};

static const struct gt_layer vblank_layer = {
	.name = "vblank",
	.object = vblank_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
	.lru_maps = {"queue"},
};

GT_DEFINE_LAYER_SOURCE(vblank, "vertical blanks of displays, and the delivery of their events",
		       "the module drm; kprobes for the devices of vblanks");
