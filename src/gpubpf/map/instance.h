/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps of an object in one context, of a device or of the interpreter. The instance owns the
 * memory of the context's own maps, and writes the addresses of all maps into the symbols of the
 * context's modules. Maps that all contexts have in common are in `shared` (shared.h).
 */
#pragma once

#include "gpubpf/map/host_calls.h"
#include "gpubpf/map/ring_reader.h"
#include "gpubpf/map/shared.h"

struct gt_instance_map {
	struct gt_region *region;          /* NULL: the map is in device memory */
	struct gt_device_memory on_device; /* allocated by the first module that uses the map */
};

struct gt_instance {
	const struct gt_bpf_object *object; /* NULL: no maps */
	struct gt_shared *shared;
	struct gt_device *device; /* NULL: the interpreter */
	struct gt_bpf_map_grid grid;
	/*
	 * Per map of the object. memory: on the host (layout: map.h); for maps in device memory, a
	 * copy from the last fetch. NULL: no GPU program uses the map.
	 */
	void **memory;
	uint32_t *copies;
	struct gt_instance_map *maps;
	struct gt_region *output; /* the output ring; NULL: no module prints */
	/* Host calls; NULL: no module makes any. They are served by a gt_host_call_service or the
	 * like.
	 */
	struct gt_region *call_area;
	struct gt_host_calls calls;
};

/*
 * Allocates the maps, with their initial values, and as many copies as `grid` requires. The object,
 * `shared` and the device must outlive the instance. 0, -ENOMEM.
 */
int gt_instance_open(const struct gt_bpf_object *object, struct gt_shared *shared,
		     struct gt_device *device, const struct gt_bpf_map_grid *grid,
		     struct gt_instance **ret_instance, struct gt_diag *diag);
void gt_instance_close(struct gt_instance *instance);
GT_DEFINE_AUTO(instance, struct gt_instance, gt_instance_close)

/*
 * Writes the symbols of a module (translate.h): the addresses of the maps and of the output ring,
 * the device's number, and the launching thread as process id << 32 | thread id. Call it once for
 * each module of the context, after loading it and before its first launch, with the device in use.
 */
int gt_instance_bind(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		     uint64_t pid_tgid, struct gt_diag *diag);

struct gt_symbol_values;

/*
 * The values of all symbols for code that accesses the memory of this process: an instance without
 * a device. *ret_maps, which the caller frees, has those of the maps; symbols->maps points to it.
 * 0 or -ENOMEM.
 */
int gt_instance_symbols(struct gt_instance *instance, struct gt_symbol_values *symbols,
			uint64_t (**ret_maps)[2], struct gt_diag *diag);

/* Copies the maps in device memory to the host; waits for running kernels. */
int gt_instance_fetch(struct gt_instance *instance, struct gt_diag *diag);

/* Whether a map belongs to the context alone, and GPU programs use it. */
bool gt_instance_owns(const struct gt_instance *instance, uint32_t map);
/* The contents of such a map: current, or as of the last fetch. */
struct gt_bpf_map_view gt_instance_view(const struct gt_instance *instance, uint32_t map);

/*
 * Appends the output since the last call, as lines. *ret_lost: calls of trace_printk and puts that
 * were dropped since the start (buffer full). 0 or the ring's error.
 */
int gt_instance_print(struct gt_instance *instance, struct gt_strbuf *text, uint64_t *ret_lost,
		      struct gt_diag *diag);
