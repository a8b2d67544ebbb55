/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events and pools between processes. In each test the device is used by children only. */
#include <sys/socket.h>

#include "child.h"
#include "driver.h"
#include "gate.h"

/* The two ends of a connection, over which files can be passed. */
static int ends[2];

static void send_data(int end, const void *data, size_t size)
{
	CHECK(write(ends[end], data, size) == (ssize_t)size);
}

static void receive_data(int end, void *data, size_t size)
{
	CHECK(read(ends[end], data, size) == (ssize_t)size);
}

static void send_file(int end, int file)
{
	char byte = 0, control[CMSG_SPACE(sizeof(file))] = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	CHECK(sendmsg(ends[end], &message, 0) == 1);
}

static int receive_file(int end)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	int file = -1;

	CHECK(recvmsg(ends[end], &message, 0) == 1);
	if (CMSG_FIRSTHDR(&message))
		memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
	return file;
}

/* Run both concurrently, each in a process of its own. */
static void run_two(int (*first)(void), int (*second)(void))
{
	int status = -1;
	pid_t child;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	child = fork();
	if (!child) {
		alarm(HANG_SECONDS);
		_exit(second());
	}
	CHECK_INT(in_child(first), 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	close(ends[0]);
	close(ends[1]);
}

static int own_event(void)
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUipcEventHandle handle;
	CUipcMemHandle memory;
	CUevent event, plain;
	char byte;

	CHECK_OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	CHECK_CUDA(cuIpcGetEventHandle(&handle, plain), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
	CHECK_OK(cuEventQuery(event));
	CHECK_OK(cuIpcGetEventHandle(&handle, event));
	CHECK_CUDA(cuIpcOpenEventHandle(&plain, handle), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuIpcGetMemHandle(&memory, driver.memory));
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(count(&driver, 0, NULL));
	CHECK_OK(cuEventRecord(event, NULL));
	send_data(0, &handle, sizeof(handle));
	send_data(0, &memory, sizeof(memory));
	/* By now the other process has recorded it after a kernel of its own, which waits for it.
	 */
	receive_data(0, &byte, 1);
	CHECK_CUDA(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	atomic_store(&gate.open, true);
	CHECK_OK(cuEventSynchronize(event));
	CHECK_INT(value(&driver, 1), 1);
	CHECK_OK(cuEventQuery(event));
	send_data(0, &byte, 1);
	CHECK_OK(cuEventDestroy(event));
	end(&driver);
	return tap_failed;
}

static int others_event(void)
{
	struct driver driver = begin(), shared;
	CUipcEventHandle handle, wrong;
	CUipcMemHandle memory;
	CUstream stream;
	CUevent event;
	char byte = 0;
	int *seen;

	receive_data(1, &handle, sizeof(handle));
	receive_data(1, &memory, sizeof(memory));
	wrong = handle;
	wrong.reserved[0] ^= 1;
	CHECK_CUDA(cuIpcOpenEventHandle(&event, wrong), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuIpcOpenEventHandle(&event, handle));
	shared = driver;
	CHECK_OK(cuIpcOpenMemHandle(&shared.memory, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	/* A copy into memory that is not pinned would wait for the event. */
	CHECK_OK(cuMemHostAlloc((void **)&seen, sizeof(*seen), 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamWaitEvent(stream, event, 0));
	CHECK_OK(cuMemcpyDtoHAsync(seen, shared.memory, 4, stream));
	CHECK_OK(spin(&shared, 1, SPIN_SHORT, stream));
	CHECK_OK(cuEventRecord(event, stream));
	send_data(1, &byte, 1);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(*seen, 1);
	receive_data(1, &byte, 1);
	CHECK_OK(cuIpcCloseMemHandle(shared.memory));
	end(&driver);
	return tap_failed;
}

TEST("an event is recorded and waited for by two processes")
{
	run_two(own_event, others_event);
}

static int own_memory(void)
{
	struct driver driver = begin();
	CUipcMemHandle handle;
	char byte;

	CHECK_OK(cuIpcGetMemHandle(&handle, driver.memory));
	send_data(0, &handle, sizeof(handle));
	receive_data(0, &byte, 1);
	CHECK_INT(value(&driver, 0), 0x07070707);
	end(&driver);
	return tap_failed;
}

static int others_memory(void)
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUipcMemHandle handle;
	CUdeviceptr memory;
	CUcontext other;
	CUstream stream;
	pthread_t thread;
	char byte = 0;

	receive_data(1, &handle, sizeof(handle));
	CHECK_OK(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuLaunchHostFunc(stream, pass_gate, &gate));
	CHECK_OK(cuMemsetD8Async(memory, 7, 4096, stream));
	CHECK_OK(cuCtxSetCurrent(driver.context));
	CHECK(!pthread_create(&thread, NULL, open_gate_later, &gate));
	CHECK_OK(cuIpcCloseMemHandle(memory));
	CHECK(atomic_load(&gate.open));
	pthread_join(thread, NULL);
	CHECK_OK(cuStreamSynchronize(stream));
	send_data(1, &byte, 1);
	end(&driver);
	return tap_failed;
}

TEST("closing the memory of another process waits for the work of every context")
{
	run_two(own_memory, others_memory);
}

static const CUmemPoolProps shareable = {
	.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};

static int own_pool(void)
{
	struct driver driver = begin();
	CUmemPoolPtrExportData data;
	CUmemoryPool pool, plain;
	CUdeviceptr memory;
	int file, seen = 0;
	char byte;

	CHECK_OK(cuDeviceGetDefaultMemPool(&plain, 0));
	CHECK_CUDA(cuMemPoolExportToShareableHandle(&file, plain,
						    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolCreate(&pool, &shareable));
	CHECK_OK(cuMemPoolExportToShareableHandle(&file, pool,
						  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CHECK_OK(cuMemAllocFromPoolAsync(&memory, 4096, pool, NULL));
	CHECK_OK(cuMemsetD32Async(memory, 40, 1024, NULL));
	CHECK_OK(cuStreamSynchronize(NULL));
	CHECK_CUDA(cuMemPoolExportPointer(&data, driver.memory), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolExportPointer(&data, memory));
	send_file(0, file);
	send_data(0, &data, sizeof(data));
	receive_data(0, &byte, 1);
	CHECK_OK(cuMemcpyDtoH(&seen, memory, 4));
	CHECK_INT(seen, 42);
	CHECK_OK(cuMemFreeAsync(memory, NULL));
	CHECK_OK(cuMemPoolDestroy(pool));
	end(&driver);
	return tap_failed;
}

static int others_pool(void)
{
	struct driver driver = begin();
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr memory, mine;
	int file = receive_file(1);
	char byte = 0;

	receive_data(1, &data, sizeof(data));
	CHECK_CUDA(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)ends[1],
						      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file,
						    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CHECK_CUDA(cuMemAllocFromPoolAsync(&mine, 64, pool, NULL), CUDA_ERROR_NOT_PERMITTED);
	CHECK_OK(cuMemPoolImportPointer(&memory, pool, &data));
	CHECK_OK(launch(find(&driver, "count"), 1, 2, NULL, (void *[]){&memory}));
	CHECK_OK(cuMemFreeAsync(memory, NULL));
	CHECK_OK(cuStreamSynchronize(NULL));
	CHECK_CUDA(cuMemsetD32(memory, 1, 1), CUDA_ERROR_INVALID_VALUE);
	/* An offset outside of the file. */
	memset((char *)&data + 16, 0x7f, 8);
	CHECK_CUDA(cuMemPoolImportPointer(&memory, pool, &data), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolDestroy(pool));
	send_data(1, &byte, 1);
	end(&driver);
	return tap_failed;
}

TEST("memory of a pool is used by another process, which frees only its own view")
{
	run_two(own_pool, others_pool);
}

TEST_MAIN
