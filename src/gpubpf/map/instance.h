/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps of an object in one context, which is a device's or the interpreter's: what is the
 * context's own has its memory here, and modules of the context are told where all maps are.
 * What all contexts have in common is in `shared` (shared.h).
 */
#pragma once

#include "gpubpf/map/ring_reader.h"
#include "gpubpf/map/shared.h"

struct gt_instance_map {
	struct gt_region *region;          /* NULL: it is in the device's memory */
	struct gt_device_memory on_device; /* from the first module on that uses the map */
};

struct gt_instance {
	const struct gt_bpf_object *object; /* NULL: there are no maps */
	struct gt_shared *shared;
	struct gt_device *device; /* NULL: the interpreter's */
	/*
	 * One a map of the object. memory: on the host, as maps.h says; what is in the device's
	 * memory is there as it was when it was fetched. NULL: no program for the GPU uses the map.
	 */
	void **memory;
	uint32_t *copies;
	struct gt_instance_map *maps;
	struct gt_region *output; /* what is printed; NULL: no module prints */
};

/*
 * Makes the memory of the maps, with their initial values; `grid` says how many copies. The object,
 * `shared` and the device must outlive the instance. -ENOMEM.
 */
int gt_instance_open(const struct gt_bpf_object *object, struct gt_shared *shared,
		     struct gt_device *device, const struct gt_bpf_map_grid *grid,
		     struct gt_instance **ret_instance, struct gt_diag *diag);
void gt_instance_close(struct gt_instance *instance);
GT_DEFINE_AUTO(instance, struct gt_instance, gt_instance_close)

/*
 * Writes into a module's symbols (translate.h) where the maps are, where what is printed goes, and
 * who launches: process id << 32 | thread id. Once for each module of the context, after it was
 * loaded and before its first launch. The device must be in use.
 */
int gt_instance_bind(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		     uint64_t pid_tgid, struct gt_diag *diag);

/* Copies what is in the device's memory to the host; waits for what runs there. */
int gt_instance_fetch(struct gt_instance *instance, struct gt_diag *diag);

/* Whether a map is the context's own and used by programs for the GPU. */
bool gt_instance_owns(const struct gt_instance *instance, uint32_t map);
/* One that is, as it is now or was fetched. */
struct gt_bpf_map_view gt_instance_view(const struct gt_instance *instance, uint32_t map);

/*
 * Adds what was printed since the last time, as lines. *ret_lost: of such calls, those that found
 * no room, from the start. 0 or the ring's error.
 */
int gt_instance_print(struct gt_instance *instance, struct gt_strbuf *text, uint64_t *ret_lost,
		      struct gt_diag *diag);
