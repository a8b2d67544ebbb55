/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which calls prove that asynchronous copies are complete. */
#include "copies.h"

TEST("a wait for a stream ends that stream's copies, and the time from their call is the bound")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x12);
	stream.duration = 7000;
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect_done(1);
	/* 1000 of the call itself, a gap, the other copy with a gap, 7000 of the wait. */
	CHECK_INT(rows[0]->bound.max, 1000 + 2000 + 1000 + 7000);
	call_with("cudaStreamSynchronize", "stream", 0x12, 0);
	expect_done(2);
}

TEST("a wait for the device ends the copies of all its streams, not those of another device")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x12);
	stream.device = 1;
	copy_async(DEVICE, PINNED, 64, H2D, 0x13);
	stream.device = 0;
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	expect_done(2);
	call_with("cudaDeviceSynchronize", NULL, 0, 700);
	expect_done(2);
}

TEST("a query proves as much as a wait, if it finds the stream idle")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	call_with("cudaStreamQuery", "stream", 0x11, 600); /* not ready */
	expect_done(0);
	call_with("cudaStreamQuery", "stream", 0x11, 0);
	expect_done(1);
}

static void record_event(uint64_t event, uint64_t in_stream)
{
	struct built built = begin("cudaEventRecord");

	pass(&built, "event", event);
	pass(&built, "stream", in_stream);
	returns(&built, 0);
}

static void wait_event(uint64_t in_stream, uint64_t event)
{
	struct built built = begin("cudaStreamWaitEvent");

	pass(&built, "stream", in_stream);
	pass(&built, "event", event);
	pass(&built, "flags", 0);
	returns(&built, 0);
}

TEST("a wait for an event ends what was in its stream when it was recorded")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	record_event(0xe1, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	call_with("cudaEventSynchronize", "event", 0xe1, 0);
	expect_done(1);
	call_with("cudaEventSynchronize", "event", 0xe2, 0); /* never recorded */
	expect_done(1);
}

TEST("a stream that waits for an event comes after what the event comes after")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	record_event(0xe1, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	wait_event(0x12, 0xe1);
	call_with("cudaStreamSynchronize", "stream", 0x12, 0);
	expect_done(1);
}

static void create_stream(uint64_t handle, uint64_t flags)
{
	struct built built = begin("cudaStreamCreateWithFlags");

	pass(&built, "flags", flags);
	point(&built, "pStream", &handle, sizeof(handle));
	returns(&built, 0);
}

TEST("the default stream waits for blocking streams, and not for others")
{
	start();
	create_stream(0x11, 0);
	create_stream(0x12, 1); /* non-blocking */
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x12);
	call_with("cudaStreamSynchronize", "stream", 0, 0);
	expect_done(0); /* nothing was put into the default stream behind them */
	launch(0x4000, 1, 32, 0, 0);
	call_with("cudaStreamSynchronize", "stream", 0, 0);
	expect_done(1);
}

TEST("what blocking streams do comes after what the default stream did before")
{
	start();
	create_stream(0x11, 0);
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	launch(0x4000, 1, 32, 0x11, 0);
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect_done(1);
}

TEST("a copy without a stream that waits ends what the default stream held")
{
	start();
	create_stream(0x11, 0);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	copy(DEVICE, PINNED, 64, H2D);
	expect_done(2);
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	copy(DEVICE, DEVICE + 4096, 64, D2D); /* this one does not wait */
	look();
	CHECK_INT(totals.in_flight, 2);
}

TEST("threads have default streams of their own where they ask for them")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 2);
	stream.thread = 101;
	copy_async(DEVICE, PINNED, 64, H2D, 2);
	call_with("cudaStreamSynchronize", "stream", 2, 0);
	expect_done(1);
}

TEST("functions of per-thread default streams mean the thread's own by none and by 0")
{
	start();
	stream.per_thread = true;
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	copy(DEVICE, DEVICE + 4096, 64, D2D);
	stream.thread = 101;
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	call_with("cudaStreamSynchronize", "stream", 0, 0);
	look();
	CHECK_INT(totals.in_flight, 2);
	stream.thread = 100;
	call_with("cudaStreamSynchronize", "stream", 0, 0);
	look();
	CHECK_INT(totals.in_flight, 0);
	start_with(GT_BY_STREAM, 100);
	stream.per_thread = true;
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	stream.thread = 101;
	copy_async(DEVICE, PINNED, 64, H2D, 0);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	look();
	CHECK_INT(count, 3);
}

TEST("a wait that began before a copy was issued says nothing of it")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	stream.thread = 101;
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	stream.thread = 100;
	stream.gap = 0;
	stream.duration = 1500; /* began while the second was being issued */
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect_done(2);
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	stream.gap = 0;
	stream.now -= 500;
	call_with("cudaStreamSynchronize", "stream", 0x11, 0);
	expect_done(1);
}

TEST("what a stream was made to wait for during a wait for that stream proves nothing")
{
	start();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	record_event(0xe1, 0x11);
	stream.thread = 101;
	wait_event(0x12, 0xe1);
	stream.thread = 100;
	stream.gap = 0;
	stream.now -= 500;
	call_with("cudaStreamSynchronize", "stream", 0x12, 0); /* began before the other returned */
	expect_done(0);
}

TEST("an event that is recorded again during a wait for it proves nothing")
{
	start();
	record_event(0xe1, 0x11);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	stream.thread = 101;
	record_event(0xe1, 0x11);
	stream.thread = 100;
	stream.gap = 0;
	stream.now -= 500;
	call_with("cudaEventSynchronize", "event", 0xe1, 0);
	expect_done(0);
}

TEST("copies in flight are kept up to a number, and the oldest is given up beyond")
{
	start_with(GT_BY_NOTHING, 3);
	for (int i = 0; i < 5; i++)
		copy_async(DEVICE, PINNED, 64, H2D, 0x11 + i % 2);
	look();
	CHECK_INT(totals.in_flight, 3);
	CHECK_INT(totals.evicted, 2);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bound.count, 3);
	CHECK_INT(totals.in_flight, 0);
	start_with(GT_BY_NOTHING, 0);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	look();
	CHECK_INT(totals.evicted, 1);
	CHECK_INT(totals.in_flight, 0);
}

TEST("ten thousand copies in a hundred streams are matched to the one wait")
{
	start();
	for (int i = 0; i < 10000; i++)
		copy_async(DEVICE, PINNED, 64, H2D, 0x100 + (uint64_t)i % 300);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	expect_done(10000);
}

TEST_MAIN
