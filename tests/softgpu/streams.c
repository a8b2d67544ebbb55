/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams and events of the software device: concurrency and order. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "gate.h"

TEST("a launch returns before the kernel is done")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUstream stream;

	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuLaunchHostFunc(stream, pass_gate, &gate));
	CHECK_OK(count(&driver, 0, stream));
	CHECK_CUDA(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuStreamQuery(stream));
	CHECK_INT(value(&driver, 0), 1);
	end(&driver);
}

TEST("work of one stream is done in its order")
{
	struct driver driver = begin();
	CUstream stream;
	int seen[100];

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 100; i++) {
		CHECK_OK(cuMemsetD32Async(driver.memory, (unsigned int)i, 1, stream));
		CHECK_OK(count(&driver, 0, stream));
		CHECK_OK(cuMemcpyDtoDAsync(driver.memory + 400 + 4 * (unsigned int)i, driver.memory,
					   4, stream));
	}
	CHECK_OK(cuMemcpyDtoHAsync(seen, driver.memory + 400, sizeof(seen), stream));
	CHECK_OK(cuStreamSynchronize(stream));
	for (int i = 0; i < 100; i++)
		CHECK_INT(seen[i], i + 1);
	end(&driver);
}

TEST("two streams do not wait for each other")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUstream first, second;

	CHECK_OK(cuStreamCreate(&first, 0));
	CHECK_OK(cuStreamCreate(&second, 0));
	CHECK_OK(cuLaunchHostFunc(first, pass_gate, &gate));
	CHECK_OK(count(&driver, 0, second));
	CHECK_OK(cuStreamSynchronize(second));
	CHECK_CUDA(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_OK(cuStreamSynchronize(first));
	end(&driver);
}

TEST("the default stream waits for blocking streams, and they for it")
{
	struct driver driver = begin();
	struct gate gate = {false, false}, second_gate = {false, false};
	CUstream blocking;

	CHECK_OK(cuStreamCreate(&blocking, 0));
	CHECK_OK(cuLaunchHostFunc(blocking, pass_gate, &gate));
	CHECK_OK(count(&driver, 0, NULL));
	usleep(20000);
	CHECK_CUDA(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_OK(cuStreamSynchronize(NULL));

	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &second_gate));
	CHECK_OK(count(&driver, 0, blocking));
	usleep(20000);
	CHECK_CUDA(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
	atomic_store(&second_gate.open, true);
	CHECK_OK(cuStreamSynchronize(blocking));
	CHECK_INT(value(&driver, 0), 2);
	end(&driver);
}

TEST("the default stream and a non-blocking one do not wait for each other")
{
	struct driver driver = begin();
	struct gate gate = {false, false}, second_gate = {false, false};
	CUstream free_stream;

	CHECK_OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuLaunchHostFunc(free_stream, pass_gate, &gate));
	CHECK_OK(count(&driver, 0, NULL));
	CHECK_OK(cuStreamSynchronize(NULL));
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &second_gate));
	atomic_store(&gate.open, true);
	CHECK_OK(count(&driver, 0, free_stream));
	CHECK_OK(cuStreamSynchronize(free_stream));
	atomic_store(&second_gate.open, true);
	CHECK_INT(value(&driver, 0), 2);
	end(&driver);
}

static void *in_own_stream(void *data)
{
	const struct driver *driver = data;

	CHECK_OK(cuCtxSetCurrent(driver->context));
	for (int i = 0; i < 50; i++)
		CHECK_OK(count(driver, 0, CU_STREAM_PER_THREAD));
	CHECK_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

TEST("every thread has a default stream of its own")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	pthread_t threads[4];
	unsigned long long mine = 0, legacy = 0;

	CHECK_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
	CHECK_OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
	CHECK(mine && legacy && mine != legacy);
	CHECK_OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, pass_gate, &gate));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, in_own_stream, &driver));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_CUDA(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_INT(value(&driver, 0), 200);
	end(&driver);
}

TEST("a stream waits for an event of another one")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUstream first, second;
	CUevent event;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuStreamWaitEvent(second, event, 0)); /* never recorded: nothing to wait for */
	CHECK_OK(cuStreamSynchronize(second));
	CHECK_OK(cuLaunchHostFunc(first, pass_gate, &gate));
	CHECK_OK(cuEventRecord(event, first));
	CHECK_OK(cuStreamWaitEvent(second, event, 0));
	CHECK_OK(count(&driver, 0, second));
	CHECK_CUDA(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	usleep(20000);
	CHECK_CUDA(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_OK(cuEventSynchronize(event));
	CHECK_OK(cuEventQuery(event));
	CHECK_INT(value(&driver, 0), 1);
	end(&driver);
}

TEST("the time between two events is that of the work between them")
{
	struct driver driver = begin();
	struct timespec begin_time, end_time;
	struct gate gate = {false, false};
	CUevent start, stop;
	float ms = -1, host_ms;

	CHECK_OK(cuEventCreate(&start, 0));
	CHECK_OK(cuEventCreate(&stop, 0));
	CHECK_CUDA(cuEventElapsedTime(&ms, start, stop), CUDA_ERROR_INVALID_HANDLE);
	clock_gettime(CLOCK_MONOTONIC, &begin_time);
	CHECK_OK(cuEventRecord(start, NULL));
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(spin(&driver, 0, SPIN_SHORT, NULL));
	CHECK_OK(cuEventRecord(stop, NULL));
	CHECK_CUDA(cuEventElapsedTime(&ms, start, stop), CUDA_ERROR_NOT_READY);
	/* The first event is recorded before the host function begins. */
	while (!atomic_load(&gate.entered))
		usleep(100);
	usleep(10000);
	atomic_store(&gate.open, true);
	CHECK_OK(cuEventSynchronize(stop));
	clock_gettime(CLOCK_MONOTONIC, &end_time);
	CHECK_OK(cuEventElapsedTime(&ms, start, stop));
	host_ms = (float)(end_time.tv_sec - begin_time.tv_sec) * 1e3f +
		  (float)(end_time.tv_nsec - begin_time.tv_nsec) / 1e6f;
	CHECK(ms >= 10 && ms <= host_ms);
	end(&driver);
}

TEST("an event without timing has no time")
{
	struct driver driver = begin();
	CUevent start, stop;
	float ms;

	CHECK_OK(cuEventCreate(&start, 0));
	CHECK_OK(cuEventCreate(&stop, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventRecord(start, NULL));
	CHECK_OK(cuEventRecord(stop, NULL));
	CHECK_OK(cuCtxSynchronize());
	CHECK_CUDA(cuEventElapsedTime(&ms, start, stop), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

static CUresult seen_in_function;

static void call_cuda(void *data)
{
	seen_in_function = cuCtxSynchronize();
}

TEST("a host function of a stream may not call CUDA")
{
	struct driver driver = begin();

	CHECK_OK(cuLaunchHostFunc(NULL, call_cuda, NULL));
	CHECK_OK(cuCtxSynchronize());
	CHECK_CUDA(seen_in_function, CUDA_ERROR_NOT_PERMITTED);
	end(&driver);
}

static void note_callback(CUstream stream, CUresult status, void *data)
{
	((CUstream *)data)[0] = stream;
	((int *)data)[2] = status;
}

TEST("a callback receives its stream and its status")
{
	struct driver driver = begin();
	struct {
		CUstream stream;
		int status;
	} seen = {NULL, -1};
	CUstream stream;

	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuStreamAddCallback(stream, note_callback, &seen, 0));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(seen.stream == stream);
	CHECK_INT(seen.status, 0);
	end(&driver);
}

TEST("a stream that is destroyed finishes its work, and its context waits for it")
{
	struct driver driver = begin();
	CUstream stream;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(spin(&driver, 0, SPIN_SHORT, stream));
	CHECK_OK(count(&driver, 0, stream));
	CHECK_OK(cuStreamDestroy(stream));
	CHECK_CUDA(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(value(&driver, 0), 2);
	end(&driver);
}

TEST("an asynchronous copy from pageable memory has read it when it returns")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	int source = 17;

	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(cuMemcpyHtoDAsync(driver.memory, &source, 4, NULL));
	source = 0;
	atomic_store(&gate.open, true);
	CHECK_INT(value(&driver, 0), 17);
	end(&driver);
}

TEST("an asynchronous copy to pinned memory returns before it is done")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	int *pinned;

	CHECK_OK(cuMemAllocHost((void **)&pinned, 4));
	*pinned = -1;
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(cuMemcpyDtoHAsync(pinned, driver.memory, 4, NULL));
	CHECK_INT(*pinned, -1);
	atomic_store(&gate.open, true);
	CHECK_OK(cuStreamSynchronize(NULL));
	CHECK_INT(*pinned, 0);
	end(&driver);
}

TEST("a stream waits for a value in memory, and writes one")
{
	struct driver driver = begin();
	CUstream first, second;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamWaitValue32(first, driver.memory, 3, CU_STREAM_WAIT_VALUE_GEQ));
	CHECK_OK(count(&driver, 1, first));
	CHECK_OK(cuStreamWriteValue32(second, driver.memory, 2, 0));
	CHECK_OK(cuStreamSynchronize(second));
	usleep(10000);
	CHECK_CUDA(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuStreamWriteValue32(second, driver.memory, 3, 0));
	CHECK_INT(value(&driver, 1), 1);
	end(&driver);
}

TEST_MAIN
