/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software device and processes: forks, exits, memory of other processes, its log. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "driver.h"
#include "ptxas.h"

static int fork_after_init(void)
{
	struct driver driver = begin();
	CUdeviceptr memory;
	int status = -1, device_count = 0, *flag;
	pid_t child;

	/* A kernel that runs when the process forks must not block the child. */
	CHECK_OK(cuMemHostAlloc((void **)&flag, sizeof(*flag), 0));
	*flag = 0;
	CHECK_OK(await(&driver, 0, flag, NULL));
	child = fork();
	if (!child) {
		alarm(HANG_SECONDS);
		CHECK_CUDA(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_CUDA(cuMemAlloc(&memory, 4), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_CUDA(cuDeviceGetCount(&device_count), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
		fflush(stdout);
		_exit(tap_failed);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	CHECK_INT(value(&driver, 0), 1);
	return tap_failed;
}

TEST("a child of a process that uses the device gets an initialization error")
{
	CHECK_INT(in_child(fork_after_init), 0);
}

static int exit_while_running(void)
{
	struct driver driver = begin();

	CHECK_OK(spin(&driver, 0, SPIN_FOREVER, NULL));
	CHECK_OK(count(&driver, 0, NULL));
	exit(7);
}

TEST("a process ends at once although a kernel runs")
{
	CHECK_INT(in_child(exit_while_running), 7);
}

static int without_init(void)
{
	CUdeviceptr memory;
	CUcontext context;

	CHECK_CUDA(cuMemAlloc(&memory, 4), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_CUDA(cuDeviceGet(&(CUdevice){0}, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_CUDA(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuInit(0));
	CHECK_CUDA(cuMemAlloc(&memory, 4), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuMemAlloc(&memory, 4));
	CHECK_OK(cuDevicePrimaryCtxRelease(0));
	CHECK_CUDA(cuMemAlloc(&memory, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	return tap_failed;
}

TEST("calls need cuInit first, then a context")
{
	CHECK_INT(in_child(without_init), 0);
}

static int no_devices(void)
{
	setenv("SOFTGPU_DEVICES", "0", 1);
	CHECK_CUDA(cuInit(0), CUDA_ERROR_NO_DEVICE);
	return tap_failed;
}

static int three_devices(void)
{
	CUcontext first, second;
	CUdeviceptr a, b;
	CUevent event;
	int devices = 0, can = 0, seen = 0;
	CUdevice device;

	setenv("SOFTGPU_DEVICES", "3", 1);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGetCount(&devices));
	CHECK_INT(devices, 3);
	CHECK_CUDA(cuDeviceGet(&device, 3), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuCtxCreate(&first, NULL, 0, 0));
	CHECK_OK(cuMemAlloc(&a, 4));
	CHECK_OK(cuMemsetD32(a, 5, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuCtxCreate(&second, NULL, 0, 2));
	CHECK_OK(cuMemAlloc(&b, 4));
	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuDeviceCanAccessPeer(&can, 0, 2));
	CHECK_INT(can, 1);
	CHECK_OK(cuMemcpyPeer(b, second, a, first, 4));
	CHECK_OK(cuMemcpyDtoH(&seen, b, 4));
	CHECK_INT(seen, 5);
	CHECK_OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
	CHECK_INT(device, 2);
	CHECK_OK(cuCtxSetCurrent(first));
	CHECK_CUDA(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	return tap_failed;
}

TEST("SOFTGPU_DEVICES sets the number of devices")
{
	CHECK_INT(in_child(no_devices), 0);
	CHECK_INT(in_child(three_devices), 0);
}

static int bad_setting(void)
{
	int pipes[2];
	char text[200] = "";
	ssize_t length;

	CHECK(!pipe(pipes));
	dup2(pipes[1], STDERR_FILENO);
	setenv("SOFTGPU_MEMORY", "lots", 1);
	CHECK_CUDA(cuInit(0), CUDA_ERROR_INVALID_VALUE);
	length = read(pipes[0], text, sizeof(text) - 1);
	CHECK(length > 0);
	CHECK_STR(text,
		  "softgpu: SOFTGPU_MEMORY: invalid value 'lots' (a size from 1M to 1024G)\n");
	return tap_failed;
}

TEST("an invalid setting is reported with its name")
{
	CHECK_INT(in_child(bad_setting), 0);
}

static struct temporary log_file;

static int write_log(void)
{
	struct driver driver;
	CUstream stream;

	setenv("SOFTGPU_LOG", log_file.path, 1);
	driver = begin();
	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(count(&driver, 3, stream));
	CHECK_INT(value(&driver, 3), 1);
	CHECK_CUDA(cuMemFree(12), CUDA_ERROR_INVALID_VALUE);
	return tap_failed;
}

static int lines_with(const char *text)
{
	FILE *file = fopen(log_file.path, "r");
	char line[2000];
	int count_found = 0;

	while (file && fgets(line, sizeof(line), file))
		count_found += strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return count_found;
}

TEST("the log has a line for every operation")
{
	int fd = make_temporary_file(&log_file);

	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(in_child(write_log), 0);
	CHECK_INT(lines_with("{\"op\":\"kernel\",\"name\":\"count\""), 1);
	CHECK_INT(lines_with("\"grid\":[1,1,1],\"block\":[1,1,1],\"shared\":0,\"result\":0}"), 1);
	CHECK_INT(lines_with("{\"op\":\"set\""), 1);
	CHECK_INT(lines_with("{\"op\":\"copy\",\"kind\":\"D2H\""), 1);
	CHECK_INT(lines_with("{\"op\":\"alloc\",\"kind\":\"device\""), 1);
	CHECK_INT(lines_with("{\"op\":\"free\""), 1);
	CHECK_INT(lines_with("\"result\":1}"), 1);
	CHECK_INT(lines_with("\"bytes\":4096,"), 2);
	unlink(log_file.path);
}

static float virtual_time(void)
{
	struct driver driver = begin();
	CUevent start, stop;
	CUstream first, second;
	float ms = -1;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&start, 0));
	CHECK_OK(cuEventCreate(&stop, 0));
	CHECK_OK(cuEventRecord(start, first));
	CHECK_OK(spin(&driver, 0, SPIN_SHORT, first));
	CHECK_OK(spin(&driver, 1, SPIN_SHORT, second));
	CHECK_OK(cuEventRecord(stop, second));
	CHECK_OK(cuStreamWaitEvent(first, stop, 0));
	CHECK_OK(cuEventRecord(stop, first));
	CHECK_OK(cuEventSynchronize(stop));
	CHECK_OK(cuEventElapsedTime(&ms, start, stop));
	return ms;
}

/* Reads %globaltimer twice. */
static const char timer_ptx[] = PTX_HEADER ".visible .entry read_timer(.param .u64 p)\n"
					   "{\n"
					   "	.reg .b64 %rd<3>;\n"
					   "	ld.param.u64 %rd0, [p];\n"
					   "	mov.u64 %rd1, %globaltimer;\n"
					   "	st.global.u64 [%rd0], %rd1;\n"
					   "	mov.u64 %rd2, %globaltimer;\n"
					   "	st.global.u64 [%rd0+8], %rd2;\n"
					   "	ret;\n"
					   "}\n";

static int read_moved_timer(void)
{
	struct timespec before, after;
	struct driver driver;
	CUfunction function;
	CUmodule module;
	uint64_t seen[2] = {0}, from, to;

	setenv("SOFTGPU_CLOCK_OFFSET", "1000s", 1);
	setenv("SOFTGPU_CLOCK_DRIFT", "500", 1);
	clock_gettime(CLOCK_MONOTONIC, &before);
	driver = begin();
	CHECK_OK(cuModuleLoadData(&module, timer_ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, "read_timer"));
	CHECK_OK(launch(function, 1, 1, NULL, (void *[]){&driver.memory}));
	CHECK_OK(cuCtxSynchronize());
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK_OK(cuMemcpyDtoH(seen, driver.memory, sizeof(seen)));
	from = (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec;
	to = (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec;
	from += 1000000000000u;
	to += 1000000000000u + (to - from) / 2000 + 1000;
	CHECK(seen[0] >= from && seen[1] <= to && seen[0] <= seen[1]);
	return tap_failed;
}

TEST("SOFTGPU_CLOCK_OFFSET and SOFTGPU_CLOCK_DRIFT set the device's clock")
{
	CHECK_INT(in_child(read_moved_timer), 0);
}

static int run_too_long(void)
{
	struct driver driver;

	setenv("SOFTGPU_TIMEOUT", "50ms", 1);
	driver = begin();
	CHECK_OK(spin(&driver, 0, SPIN_FOREVER, NULL));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
	CHECK_CUDA(cuMemFree(driver.memory), CUDA_ERROR_LAUNCH_TIMEOUT);
	return tap_failed;
}

TEST("a kernel that runs for longer than SOFTGPU_TIMEOUT fails, and stays failed")
{
	CHECK_INT(in_child(run_too_long), 0);
}

static int run_large_block(void)
{
	static const char text[] = PTX_HEADER ".visible .entry k()\n{\n\tret;\n}\n",
			  limited[] = PTX_HEADER ".visible .entry k() .maxnreg 32 .maxnreg 8\n"
						 "{\n\tret;\n}\n";
	struct driver driver;
	CUfunction function;
	CUmodule module;
	int value = 0;

	/* 8 for each of 1024 threads, of which each has 16 at least. */
	setenv("SOFTGPU_REGISTERS", "8192", 1);
	driver = begin();
	CHECK_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 0));
	CHECK_INT(value, 8192);
	CHECK_OK(cuModuleLoadData(&module, text));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
	CHECK_INT(value, 512);
	CHECK_OK(launch(function, 1, 512, NULL, NULL));
	CHECK_CUDA(launch(function, 1, 544, NULL, NULL), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	CHECK_OK(cuModuleLoadData(&module, limited));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(launch(function, 1, 1024, NULL, NULL));
	end(&driver);
	return tap_failed;
}

TEST("SOFTGPU_REGISTERS limits the threads of a block by the registers that they need")
{
	CHECK_INT(in_child(run_large_block), 0);
}

/* A faulty kernel, and the report of its fault; `instruction`: the text at the reported line. */
struct expected_fault {
	const char *kernel, *instruction;
	CUdeviceptr argument;
	CUresult result;
	const char *text;
};

static const struct expected_fault faults[] = {
	{"store", "st.global.u32 [%rd0], 1;", 16, CUDA_ERROR_ILLEGAL_ADDRESS,
	 "softgpu: illegal memory access at 0x10 in kernel store, block (0,0,0), thread (0,0,0)"},
	{"store", "st.global.u32 [%rd0], 1;", 18, CUDA_ERROR_MISALIGNED_ADDRESS,
	 "softgpu: misaligned address at 0x12 in kernel store, block (0,0,0), thread (0,0,0)"},
	{"stop", "trap;", 0, CUDA_ERROR_LAUNCH_FAILED,
	 "softgpu: trap instruction in kernel stop, block (0,0,0), thread (0,0,0)"},
	{"fail", "call.uni __assertfail", 3, CUDA_ERROR_ASSERT,
	 "a > b:7: a > b: block: [0,0,0], thread: [3,0,0] Assertion `a > b` failed.\n"
	 "softgpu: device-side assert triggered in kernel fail, block (0,0,0), thread (3,0,0)"},
	{"spin", NULL, 0, CUDA_ERROR_LAUNCH_TIMEOUT,
	 "softgpu: the launch timed out in kernel spin"},
};

static unsigned int line_of(const char *instruction)
{
	const char *place = strstr(kernels_ptx, instruction);
	unsigned int line = 1;

	for (const char *p = kernels_ptx; p < place; p++)
		line += *p == '\n';
	return line;
}

static const struct expected_fault *current_fault;

static int report_fault(void)
{
	unsigned int rounds = SPIN_FOREVER;
	char text[600] = "", expected[600];
	struct driver driver;
	int pipes[2];

	CHECK(!pipe(pipes));
	dup2(pipes[1], STDERR_FILENO);
	setenv("SOFTGPU_VERBOSE", "1", 1);
	if (current_fault->result == CUDA_ERROR_LAUNCH_TIMEOUT)
		setenv("SOFTGPU_TIMEOUT", "200ms", 1);
	driver = begin();
	CHECK_OK(launch(find(&driver, current_fault->kernel), 1, 4, NULL,
			(void *[]){(void *)&current_fault->argument, &rounds}));
	CHECK_CUDA(cuCtxSynchronize(), current_fault->result);
	CHECK(read(pipes[0], text, sizeof(text) - 1) > 0);
	if (current_fault->instruction)
		snprintf(expected, sizeof(expected), "%s, line %u\n", current_fault->text,
			 line_of(current_fault->instruction));
	else
		snprintf(expected, sizeof(expected), "%s", current_fault->text);
	text[current_fault->instruction ? strlen(text) : strlen(expected)] = 0;
	CHECK_STR(text, expected);
	CHECK_CUDA(cuMemFree(driver.memory), current_fault->result);
	return tap_failed;
}

TEST("with SOFTGPU_VERBOSE, faults of kernels are reported on stderr")
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		current_fault = &faults[i];
		CHECK_INT(in_child(report_fault), 0);
	}
}

/* Not in the software GPU's cuda.h. */
CUresult cuTensorMapEncodeTiled(void);

/* What is printed while a child fails to load an image, or calls what is not supported. */
static int report_failure(void)
{
	char text[600] = "";
	CUmodule module;
	struct driver driver;
	int pipes[2];

	CHECK(!pipe(pipes));
	dup2(pipes[1], STDERR_FILENO);
	setenv("SOFTGPU_VERBOSE", "1", 1);
	driver = begin();
	CHECK_CUDA(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n"
					     ".entry k()\n{\n	wgmma.fence.sync.aligned;\n}\n"),
		   CUDA_ERROR_INVALID_PTX);
	CHECK_CUDA(cuTensorMapEncodeTiled(), CUDA_ERROR_NOT_SUPPORTED);
	CHECK(read(pipes[0], text, sizeof(text) - 1) > 0);
	CHECK(strstr(text, "softgpu: CUDA_ERROR_INVALID_PTX (218): "));
	CHECK(strstr(text, "line 6: opcode 'wgmma' in function 'k' is not supported"));
	CHECK(strstr(text, "softgpu: CUDA_ERROR_NOT_SUPPORTED (801): cuTensorMapEncodeTiled is not "
			   "supported\n"));
	end(&driver);
	return tap_failed;
}

TEST("with SOFTGPU_VERBOSE, the reasons of rejected modules and calls are reported on stderr")
{
	CHECK_INT(in_child(report_failure), 0);
}

static int print_virtual_time(void)
{
	int pipe_end = atoi(getenv("RESULT"));
	float ms;

	setenv("SOFTGPU_TIME", "virtual", 1);
	ms = virtual_time();
	return write(pipe_end, &ms, sizeof(ms)) == sizeof(ms) ? tap_failed : 1;
}

TEST("in virtual time a program takes the same time in every run, and streams overlap")
{
	float first = -1, second = -2;
	char text[16];
	int pipes[2];

	CHECK(!pipe(pipes));
	snprintf(text, sizeof(text), "%d", pipes[1]);
	setenv("RESULT", text, 1);
	CHECK_INT(in_child(print_virtual_time), 0);
	CHECK_INT(in_child(print_virtual_time), 0);
	CHECK(read(pipes[0], &first, sizeof(first)) == sizeof(first));
	CHECK(read(pipes[0], &second, sizeof(second)) == sizeof(second));
	CHECK(first > 0.01f && first == second);
	unsetenv("RESULT");
}

/*
 * The last test: this process uses the device itself, and then its children cannot.
 */
TEST("another process writes into memory through its handle")
{
	struct driver driver;
	CUipcMemHandle handle;
	int to_child[2], from_child[2], status = -1, seen = 0;
	char byte = 0;
	pid_t child;

	CHECK(!pipe(to_child) && !pipe(from_child));
	child = fork();
	if (!child) {
		CUcontext context;
		CUdeviceptr memory;
		int ok = read(to_child[0], &handle, sizeof(handle)) == sizeof(handle) &&
			 !cuInit(0) && !cuCtxCreate(&context, NULL, 0, 0) &&
			 !cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) &&
			 !cuMemsetD32(memory, 4711, 1) && !cuCtxSynchronize() &&
			 !cuIpcCloseMemHandle(memory);

		_exit(write(from_child[1], "x", 1) == 1 && ok ? 0 : 1);
	}
	driver = begin();
	CHECK_OK(cuIpcGetMemHandle(&handle, driver.memory));
	CHECK(write(to_child[1], &handle, sizeof(handle)) == sizeof(handle));
	CHECK(read(from_child[0], &byte, 1) == 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK_OK(cuMemcpyDtoH(&seen, driver.memory, 4));
	CHECK_INT(seen, 4711);
	end(&driver);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(timer_ptx);
	check_with_ptxas();
}

TEST_MAIN
