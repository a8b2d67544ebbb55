/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/clock.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "device/stream.h"

/*
 * The model: 1 GHz, so that a cycle takes 1 ns; 16 bytes copied per ns; a fixed cost per operation.
 */
enum {
	KERNEL_COST_NS = 2000,
	COPY_COST_NS = 1000,
	COPY_BYTES_PER_NS = 16,
	SET_BYTES_PER_NS = 64,
	TIMER_STEP_NS = 1000,
};

static uint64_t began_ns;              /* CLOCK_MONOTONIC at the device's start */
static atomic_uint_least64_t host_ns;  /* the host's virtual time */
static atomic_uint_least64_t timer_ns; /* the last value of %globaltimer in virtual time */
static __thread uint64_t kernel_ns;    /* of the kernel that the calling thread ran last */
static __thread uint64_t nested_ns;    /* of the works within the operation under way */

void sg_clock_begin(void)
{
	began_ns = gt_clock_monotonic();
	atomic_store(&host_ns, began_ns);
}

uint64_t sg_clock_device(uint64_t ns)
{
	double extra = 0;

	/* Programs that wait at an mbarrier read the timer each time. */
	if (sg_state.config.clock_drift != 0)
		extra = (double)(ns - began_ns) * sg_state.config.clock_drift / 1e6;
	return ns + (uint64_t)sg_state.config.clock_offset_ns + (uint64_t)(int64_t)extra;
}

uint64_t sg_clock_timer(void *unused)
{
	uint64_t ns;

	if (!sg_state.config.virtual_time)
		return sg_clock_device(gt_clock_monotonic());
	ns = atomic_fetch_add(&timer_ns, TIMER_STEP_NS);
	return sg_clock_device(ns);
}

static void raise_to(uint64_t *time, uint64_t other)
{
	if (other > *time)
		*time = other;
}

static void raise_shared(atomic_uint_least64_t *time, uint64_t other)
{
	uint64_t before = atomic_load(time);

	while (other > before && !atomic_compare_exchange_weak(time, &before, other))
		;
}

uint64_t sg_clock_submit(struct sg_operation *operation)
{
	return sg_state.config.virtual_time ? atomic_load(&host_ns) : gt_clock_monotonic();
}

/*
 * Operations carry unadjusted times; sg_clock_device is applied where a program reads them
 * (events).
 */
uint64_t sg_clock_start(struct sg_operation *operation)
{
	uint64_t start = gt_clock_monotonic();

	if (sg_state.config.virtual_time) {
		start = operation->submitted_ns;
		raise_to(&start, operation->stream->virtual_ns);
		gt_vec_each (other, &operation->waits)
			raise_to(&start, (*other)->end_ns);
		raise_shared(&timer_ns, start);
	}
	operation->start_ns = start;
	kernel_ns = nested_ns = 0;
	return start;
}

static uint64_t modelled_duration(const struct sg_work *work)
{
	switch (work->kind) {
	case SG_WORK_KERNEL:
		return KERNEL_COST_NS + kernel_ns;
	case SG_WORK_COPY:
		return COPY_COST_NS +
		       work->copy.width * work->copy.height * work->copy.depth / COPY_BYTES_PER_NS;
	case SG_WORK_SET:
		return COPY_COST_NS + work->set.width * work->set.height * work->set.element_size /
					      SET_BYTES_PER_NS;
	case SG_WORK_CONDITION:
		return nested_ns;
	default:
		return 0;
	}
}

uint64_t sg_clock_nested_start(uint64_t start)
{
	if (!sg_state.config.virtual_time)
		return gt_clock_monotonic();
	raise_shared(&timer_ns, start + nested_ns);
	kernel_ns = 0;
	return start + nested_ns;
}

uint64_t sg_clock_nested_end(uint64_t start, const struct sg_work *work)
{
	if (!sg_state.config.virtual_time)
		return gt_clock_monotonic();
	/* A nested condition has added its own works already. */
	if (work->kind != SG_WORK_CONDITION)
		nested_ns += modelled_duration(work);
	return start + nested_ns;
}

uint64_t sg_clock_end(struct sg_operation *operation)
{
	if (sg_state.config.virtual_time) {
		operation->end_ns = operation->start_ns + modelled_duration(&operation->work);
		operation->stream->virtual_ns = operation->end_ns;
	} else {
		operation->end_ns = gt_clock_monotonic();
	}
	return operation->end_ns;
}

void sg_clock_joined(const struct sg_operation *operation)
{
	raise_shared(&host_ns, operation->end_ns);
}

void sg_clock_kernel_took(const struct sg_grid_result *result)
{
	kernel_ns = result->cycles;
}
