/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The summary of the sources i915, xe and amdgpu. */
#include "layers/drivers.h"
#include "summary.h"

#define MIB (1ull << 20)

static uint64_t now;

/* What differs from a buffer of 1 MiB at 0xb0 of process 7 on "gpu". */
struct buffer_step {
	unsigned kind, process, operation, from, to, flags;
	uint64_t buffer, offset, bytes;
};

static void take_buffer(struct buffer_step step)
{
	struct gt_event_i915_buffer *buffer =
		new_named(step.kind ? step.kind : GT_EVENT_amdgpu_buffer, "gpu", "");

	buffer->head.time = now += 1000;
	buffer->head.process = step.process ? step.process : 7;
	buffer->buffer = step.buffer ? step.buffer : 0xb0;
	buffer->bytes = step.bytes ? step.bytes : MIB;
	buffer->offset = step.offset;
	buffer->operation = step.operation;
	buffer->from = step.from;
	buffer->to = step.to;
	buffer->flags = step.flags;
	take(&buffer->head);
}

#define BUFFER(...) take_buffer((struct buffer_step){__VA_ARGS__})

static void take_request(unsigned process, uint64_t seqno, unsigned operation, uint64_t delay,
			 uint64_t ran)
{
	struct gt_event_amdgpu_request *request = new_named(GT_EVENT_amdgpu_request, "gfx", "gpu");

	request->head.time = now += 1000;
	request->head.process = process;
	request->context = 5;
	request->seqno = seqno;
	request->operation = operation;
	request->delay = delay;
	request->count = 2;
	request->ran = ran;
	request->duration = operation == GT_DRIVER_WAIT ? 2000 : 0;
	take(&request->head);
}

static void take_interrupt(unsigned process, unsigned source)
{
	struct gt_event_amdgpu_interrupt *event =
		(void *)gt_event_new(GT_EVENT_amdgpu_interrupt, NULL, 0);

	event->head.time = now += 500000;
	event->head.process = process;
	event->client = 20;
	event->interrupt = source;
	take(&event->head);
}

TEST("buffers that are destroyed and bindings that end are subtracted, by device and process")
{
	open_report(&gt_report_drivers);
	BUFFER(.operation = GT_DRIVER_CREATE, .bytes = 3 * MIB, .to = GT_DRIVER_NO_MEMORY,
	       .flags = GT_DRIVER_VISIBLE);
	BUFFER(.operation = GT_DRIVER_CREATE, .buffer = 0xc0, .process = 8,
	       .to = GT_DRIVER_NO_MEMORY);
	BUFFER(.operation = GT_DRIVER_BIND, .offset = 0x1000);
	BUFFER(.operation = GT_DRIVER_BIND, .offset = 0x2000);
	BUFFER(.operation = GT_DRIVER_BIND, .offset = 0x2000); /* it is bound there already */
	BUFFER(.operation = GT_DRIVER_UNBIND, .offset = 0x1000);
	BUFFER(.operation = GT_DRIVER_UNBIND, .offset = 0x9000); /* older than the session */
	BUFFER(.operation = GT_DRIVER_BIND, .buffer = 0xc0, .process = 8);
	BUFFER(.operation = GT_DRIVER_DESTROY, .buffer = 0xc0, .process = 8); /* and its binding */
	expect_text("DEVICE  CREATED     BYTES  DESTROYED     BYTES      LIVE  MAX LIVE     BOUND  "
		    "MAX BOUND\n"
		    "gpu           2  4.00 MiB          1  1.00 MiB  3.00 MiB  4.00 MiB  1.00 MiB  "
		    " 2.00 MiB\n"
		    "\n"
		    "DEVICE  OPERATION  COUNT     BYTES  VISIBLE\n"
		    "gpu     create         2  4.00 MiB        1\n"
		    "gpu     bind           4  4.00 MiB        0\n"
		    "gpu     unbind         2  2.00 MiB        0\n"
		    "gpu     destroy        1  1.00 MiB        0\n"
		    "\n"
		    "PROCESS  CREATED     BYTES  DESTROYED     BYTES      LIVE  MAX LIVE     BOUND "
		    " MAX BOUND  MOVED  REQUESTS\n"
		    "7 ?            1  3.00 MiB          0       0 B  3.00 MiB  3.00 MiB  1.00 MiB "
		    "  2.00 MiB    0 B         0\n"
		    "8 ?            1  1.00 MiB          1  1.00 MiB       0 B  1.00 MiB       0 B "
		    "  1.00 MiB    0 B         0\n");
	close_report();
}

TEST("moves are added by direction; those without contents copy nothing")
{
	open_report(&gt_report_drivers);
	BUFFER(.operation = GT_DRIVER_MOVE, .from = GT_DRIVER_MEMORY_SYSTEM,
	       .to = GT_DRIVER_MEMORY_VRAM, .flags = GT_DRIVER_NO_COPY);
	BUFFER(.operation = GT_DRIVER_MOVE, .from = GT_DRIVER_MEMORY_VRAM,
	       .to = GT_DRIVER_MEMORY_GTT);
	BUFFER(.operation = GT_DRIVER_MOVE, .from = GT_DRIVER_MEMORY_VRAM,
	       .to = GT_DRIVER_MEMORY_GTT);
	BUFFER(.operation = GT_DRIVER_FAULT, .flags = GT_DRIVER_WRITE);
	BUFFER(.operation = GT_DRIVER_FAULT);
	expect_text("DEVICE  CREATED  BYTES  DESTROYED  BYTES  LIVE  MAX LIVE  BOUND  MAX BOUND\n"
		    "gpu           0    0 B          0    0 B   0 B       0 B    0 B        0 B\n"
		    "\n"
		    "DEVICE  OPERATION           COUNT     BYTES  WRITES  NO COPY\n"
		    "gpu     move system → VRAM      1  1.00 MiB       0        1\n"
		    "gpu     move VRAM → GTT         2  2.00 MiB       0        0\n"
		    "gpu     fault                   2  2.00 MiB       1        0\n"
		    "\n"
		    "PROCESS  CREATED  BYTES  DESTROYED  BYTES  LIVE  MAX LIVE  BOUND  MAX BOUND   "
		    "  MOVED  FAULTS  REQUESTS\n"
		    "7 ?            0    0 B          0    0 B   0 B       0 B    0 B        0 B  "
		    "2.00 MiB       2         0\n");
	close_report();
}

TEST("a buffer that is bound again eight times is thrash; one that is bound seven times is not")
{
	now = 0;
	open_report(&gt_report_drivers);
	for (unsigned i = 0; i < 8; i++) /* the first one is no repeat */
		BUFFER(.kind = GT_EVENT_i915_buffer, .operation = GT_DRIVER_BIND);
	BUFFER(.kind = GT_EVENT_i915_buffer, .operation = GT_DRIVER_BIND, .buffer = 0xd0);
	expect_json_part("findings", "[]");
	BUFFER(.kind = GT_EVENT_i915_buffer, .operation = GT_DRIVER_REBIND);
	expect_json_part("findings",
			 "[{\"finding\":\"rebound\",\"pid\":7,\"process\":\"?\",\"device\":\"gpu\","
			 "\"engine\":null,\"count\":8,\"bytes\":8388608,\"buffer\":\"0xb0\","
			 "\"repeats\":8,\"buffers\":1,\"first\":2000,\"last\":10000,\"evidence\":"
			 "\"buffers were bound again 8 times (8.00 MiB), 0xb0 alone 8 times, and 1 "
			 "of them at least 8 times\",\"advice\":\"The buffers in use do not fit "
			 "into the address space or the memory at a time: use smaller or fewer "
			 "ones, or reuse those that are bound.\"}],\"unfollowed\":0}");
	close_report();
}

TEST("memory that the kernel wants back, and VRAM that was asked for in vain, are findings")
{
	const unsigned vram = GT_DRIVER_DOMAIN_VRAM, either = vram | GT_DRIVER_DOMAIN_GTT;

	open_report(&gt_report_drivers);
	BUFFER(.operation = GT_DRIVER_SHRINK, .bytes = 16 * MIB);
	BUFFER(.operation = GT_DRIVER_CREATE, .from = vram, .to = GT_DRIVER_MEMORY_VRAM);
	BUFFER(.operation = GT_DRIVER_CREATE, .from = either, .to = GT_DRIVER_MEMORY_GTT);
	BUFFER(.operation = GT_DRIVER_CREATE, .from = vram, .to = GT_DRIVER_NO_MEMORY);
	BUFFER(.operation = GT_DRIVER_CREATE, .from = vram, .to = GT_DRIVER_MEMORY_GTT,
	       .buffer = 0xe0, .process = 9);
	BUFFER(.operation = GT_DRIVER_CREATE, .from = vram, .to = GT_DRIVER_MEMORY_SYSTEM,
	       .buffer = 0xf0, .process = 9);
	expect_text_end("7 ? on gpu: the kernel wanted memory back 1 time (16.0 MiB).\n"
			"  The system's memory is short: buffers that are reclaimed have to be "
			"made resident again, which stalls the GPU.\n"
			"\n"
			"9 ? on gpu: 2 buffers (2.00 MiB) for which VRAM was asked got other "
			"memory, first 0xe0; within 1.00 µs.\n"
			"  VRAM was exhausted: the GPU accesses these buffers over PCIe; free VRAM "
			"or allocate less of it.\n");
	close_report();
}

TEST("requests that run more than 100 µs after their submission are a finding of their engine")
{
	now = 0;
	open_report(&gt_report_drivers);
	take_request(7, 1, GT_DRIVER_SUBMIT, 0, 0);
	take_request(7, 1, GT_DRIVER_RUN, 100000, 0);
	take_request(7, 2, GT_DRIVER_SUBMIT, 0, 0);
	take_request(7, 2, GT_DRIVER_RUN, 300000, 0);
	take_request(7, 1, GT_DRIVER_DONE, 100000, 5000);
	take_request(7, 2, GT_DRIVER_DONE, 300000, 7000);
	take_request(7, 2, GT_DRIVER_WAIT, 0, 0);
	take_request(7, 3, GT_DRIVER_TIMEOUT, 0, 0);
	take_interrupt(7, 42);
	take_interrupt(0, 42);
	take_interrupt(0, 42);
	expect_text("DEVICE  ENGINE  SUBMITTED  BUFFERS  RUN  DONE  OVER 100 µs  TIMEOUTS\n"
		    "gpu     gfx             2        4    2     2            1         1\n"
		    "\n"
		    "DEVICE  ENGINE  TIME           COUNT    TOTAL     MEAN      P50      P99      "
		    "MAX\n"
		    "gpu     gfx     submit to run      2   400 µs   200 µs   100 µs   300 µs   "
		    "300 µs\n"
		    "gpu     gfx     ran                2  12.0 µs  6.00 µs  5.00 µs  7.00 µs  "
		    "7.00 µs\n"
		    "gpu     gfx     waited for         1  2.00 µs  2.00 µs  2.00 µs  2.00 µs  "
		    "2.00 µs\n"
		    "\n"
		    "PROCESS  CREATED  BYTES  DESTROYED  BYTES  LIVE  MAX LIVE  BOUND  MAX BOUND  "
		    "MOVED  REQUESTS  INTERRUPTS\n"
		    "7 ?            0    0 B          0    0 B   0 B       0 B    0 B        0 B   "
		    " 0 B         2           1\n"
		    "-              0    0 B          0    0 B   0 B       0 B    0 B        0 B   "
		    " 0 B         0           2\n"
		    "\n"
		    "INTERRUPTS OF CLIENT  SOURCE  RING  HANDLER  COUNT      RATE\n"
		    "                  20      42     0        0      3  2000.0/s\n"
		    "\n"
		    "7 ? on gpu gfx: 1 of 2 requests ran more than 100 µs after their submission, "
		    "request 5:2 after 300 µs.\n"
		    "  The requests waited in the kernel: for dependencies, for others on the "
		    "engine, or for the scheduler's thread (gputap stat -e drm,sched).\n");
	close_report();
}

TEST("a buffer with many bindings is unbound in any order, and destroyed with the others")
{
	const unsigned count = 50000;

	open_report(&gt_report_drivers);
	for (unsigned i = 0; i < count; i++)
		BUFFER(.operation = GT_DRIVER_BIND, .offset = i * 4096ull, .bytes = 4096);
	for (unsigned i = 0; i < count; i += 2)
		BUFFER(.operation = GT_DRIVER_UNBIND, .offset = i * 4096ull, .bytes = 4096);
	expect_json_part("devices",
			 "[{\"device\":\"gpu\",\"created\":0,\"created_bytes\":0,"
			 "\"destroyed\":0,\"destroyed_bytes\":0,\"live\":0,\"max_live\":0,"
			 "\"bound\":102400000,\"max_bound\":204800000,");
	BUFFER(.operation = GT_DRIVER_DESTROY);
	expect_json_part("devices", "[{\"device\":\"gpu\",\"created\":0,\"created_bytes\":0,"
				    "\"destroyed\":1,\"destroyed_bytes\":1048576,\"live\":0,"
				    "\"max_live\":0,\"bound\":0,\"max_bound\":204800000,");
	close_report();
}

TEST("the summary of no events of a driver is empty")
{
	open_report(&gt_report_drivers);
	expect_json("{\"devices\":[],\"operations\":[],\"engines\":[],\"processes\":[],"
		    "\"interrupts\":[],\"findings\":[],\"unfollowed\":0}");
	close_report();
}

TEST_MAIN
