/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs of OpenCL whose kernels `gputap run` counts, and what it must not disturb. Each checks
 * its results and what OpenCL says of its kernels, launches kernels of 64 work-items, and prints
 * "right".
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "opencl_device.h"

enum {
	MANY = 200, /* kernels of a program */
	THREADS = 4,
};

static bool run_plain(void)
{
	cl_program program = create(source);

	return !clBuildProgram(program, 1, &device, NULL, NULL, NULL) &&
	       launch_by_name(program, "number", 5, 1) && !clReleaseProgram(program);
}

/* ---- building ---- */

/* For all devices, with options, and again with others. */
static bool run_options(void)
{
	cl_program program = create(source);
	bool right = !clBuildProgram(program, 0, NULL, "-D STEP=3 -cl-mad-enable", NULL, NULL) &&
		     launch_by_name(program, "number", 5, 3) &&
		     !clBuildProgram(program, 1, &device, "-DSTEP=7 -w", NULL, NULL) &&
		     launch_by_name(program, "number", 5, 7);

	return right && !clReleaseProgram(program);
}

/* Functions that C would take from another file where they are not inlined. */
static bool run_inline(void)
{
	cl_program program = create("inline int twice(int i) { return 2 * i; }\n"
				    "extern inline int thrice(int i) { return 3 * i; }\n"
				    "static inline int once(int i) { return i; }\n"
				    "__kernel void number(__global int *numbers, int first) {\n"
				    "	int i = get_global_id(0);\n"
				    "	numbers[i] = first + once(i) + twice(i) + thrice(i);\n"
				    "}\n");

	return !clBuildProgram(program, 1, &device, NULL, NULL, NULL) &&
	       launch_by_name(program, "number", 2, 6) && !clReleaseProgram(program);
}

/*
 * What the device's compiler defines, by extensions that some devices have, and features: each that
 * is defined changes the step.
 */
static const char defined_text[] = "int step(void) {\n"
				   "	int step = __OPENCL_VERSION__ + __IMAGE_SUPPORT__ * 2;\n"
				   "#ifdef cl_khr_fp16\n"
				   "	step += 1000;\n"
				   "#endif\n"
				   "#ifdef cl_khr_fp64\n"
				   "	step += 2000;\n"
				   "#endif\n"
				   "#ifdef cl_khr_subgroups\n"
				   "	step += 4000;\n"
				   "#endif\n"
				   "#ifdef cl_khr_mipmap_image\n"
				   "	step += 8000;\n"
				   "#endif\n"
				   "	return step;\n"
				   "}\n"
				   "__kernel void number(__global int *numbers, int first) {\n"
				   "	int i = get_global_id(0);\n"
				   "	numbers[i] = first + i * step();\n"
				   "}\n";

static bool has_extension(const char *name)
{
	static char extensions[1 << 14];

	return !clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions,
				NULL) &&
	       strstr(extensions, name);
}

static bool run_defined(void)
{
	static const char *const names[] = {"cl_khr_fp16", "cl_khr_fp64", "cl_khr_subgroups",
					    "cl_khr_mipmap_image"};
	cl_program program = create(defined_text);
	unsigned major = 0, minor = 0;
	cl_bool images = CL_FALSE;
	char version[128];
	int step;

	if (clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version), version, NULL) ||
	    clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL) ||
	    sscanf(version, "OpenCL %u.%u", &major, &minor) != 2)
		return false;
	step = (int)(major * 100 + minor * 10) + images * 2;
	for (int i = 0; i < 4; i++)
		step += has_extension(names[i]) ? 1000 << i : 0;
	return !clBuildProgram(program, 1, &device, NULL, NULL, NULL) &&
	       launch_by_name(program, "number", 1, step) && !clReleaseProgram(program);
}

static bool run_include(void)
{
	cl_program program = create("#include \"opencl_number.h\"\n");

	return !clBuildProgram(program, 1, &device, "-I .", NULL, NULL) &&
	       launch_by_name(program, "number", 0, 1) && !clReleaseProgram(program);
}

static bool run_malformed(void)
{
	cl_program program = create("__kernel void number(__global int *numbers { }\n");
	size_t size = 0;
	cl_int error;

	return clBuildProgram(program, 1, &device, NULL, NULL, NULL) == CL_BUILD_PROGRAM_FAILURE &&
	       !clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) &&
	       size > 1 && !clCreateKernel(program, "number", &error) &&
	       error == CL_INVALID_PROGRAM_EXECUTABLE && !clReleaseProgram(program);
}

static void CL_CALLBACK launch_built(cl_program program, void *data)
{
	*(bool *)data = launch_by_name(program, "number", 1, 1);
}

static bool run_callback(void)
{
	cl_program program = create(source);
	bool right = false;

	/* The callback's launch is over when PoCL returns: it builds at once. */
	return !clBuildProgram(program, 1, &device, NULL, launch_built, &right) && right &&
	       !clReleaseProgram(program);
}

static void *build_and_run(void *right)
{
	cl_program program = create(source);
	cl_kernel kernel;

	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL))
		return NULL;
	kernel = clCreateKernel(program, "number", NULL);
	*(bool *)right = kernel && launch(kernel, 3, 1) && !clReleaseKernel(kernel) &&
			 !clReleaseProgram(program);
	return NULL;
}

static bool run_threads(void)
{
	pthread_t threads[THREADS];
	bool right[THREADS] = {false}, all = true;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, build_and_run, &right[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all &= right[i];
	}
	return all;
}

static bool run_many(void)
{
	static char text[MANY * 256];
	cl_kernel kernels[MANY];
	cl_uint count = 0;
	size_t at = 0;
	cl_program program;

	for (int i = 0; i < MANY; i++)
		at += (size_t)snprintf(
			text + at, sizeof(text) - at,
			"__kernel void number%d(__global int *numbers, int first) {\n"
			"	numbers[get_global_id(0)] = first + "
			"(int)get_global_id(0) * %d;\n}\n",
			i, i);
	program = create(text);
	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL) ||
	    clCreateKernelsInProgram(program, MANY, kernels, &count) || count != MANY)
		return false;
	for (int i = 0; i < MANY; i++)
		clReleaseKernel(kernels[i]);
	return launch_by_name(program, "number0", 4, 0) &&
	       launch_by_name(program, "number199", 4, 199) && !clReleaseProgram(program);
}

/* Launch the kernel `number` of a program, and print a number that all its results change. */
static bool print_results(const char *text, const char *options)
{
	const size_t items = ITEMS, group = 16;
	cl_program program = create(text);
	unsigned numbers[ITEMS], all = 0;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, NULL);
	const int first = 3;
	cl_kernel kernel;

	if (clBuildProgram(program, 1, &device, options, NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	if (clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) ||
	    clSetKernelArg(kernel, 1, sizeof(first), &first) ||
	    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) ||
	    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL, NULL))
		return false;
	for (int i = 0; i < ITEMS; i++)
		all = all * 31 + numbers[i];
	printf("%08x\n", all);
	return !clReleaseMemObject(buffer) && !clReleaseKernel(kernel) &&
	       !clReleaseProgram(program);
}

/* Products with sums, and functions. */
static bool run_rounding(void)
{
	return print_results("__kernel void number(__global int *numbers, int first) {\n"
			     "	int i = get_global_id(0);\n"
			     "	float x = 0.1f + i * 0.01237f, y = x * 1.7f + 0.3f, sum = first;\n"
			     "	for (int k = 0; k < 8; k++) {\n"
			     "		sum += x * y - sum * x;\n"
			     "		y = y * x + sin(y) / sqrt(x) - exp(x) * 0.1f;\n"
			     "	}\n"
			     "	numbers[i] = as_int(sum + y);\n"
			     "}\n",
			     NULL);
}

/* Sizes and numbers of work-items in dimensions that there are, and in others. */
static bool run_dimensions(void)
{
	return print_results(
		"int sizes(uint n) {\n"
		"	return get_global_size(n) + 3 * get_local_size(n) + 5 * "
		"get_num_groups(n);\n"
		"}\n"
		"int places(uint n) {\n"
		"	return get_global_id(n) + 3 * get_local_id(n) + 5 * get_group_id(n) +\n"
		"	       7 * get_global_offset(n);\n"
		"}\n"
		"__kernel void number(__global int *numbers, int first) {\n"
		"	int i = get_global_id(0);\n"
		"	numbers[i] = get_global_size(3) + 3 * get_local_size(4) + 5 * "
		"get_num_groups(7) +\n"
		"		     9 * (get_global_id(3) + get_local_id(5) + get_group_id(6) +\n"
		"			  get_global_offset(8));\n"
		"	for (int k = 0; k < first + 2; k++)\n"
		"		numbers[i] = numbers[i] * 31 + sizes(k) * places(k) + sizes(i) - "
		"places(i);\n"
		"}\n",
		NULL);
}

/* OpenCL C 2.0 on a device that may have no generic pointers: functions that take pointers. */
static bool run_pointers(void)
{
	return print_results(
		"__kernel void number(__global int *numbers, int first) {\n"
		"	int i = get_global_id(0), exponent, pairs[4];\n"
		"	__local int part[16];\n"
		"	float x = first + i * 0.37f, cosine, whole;\n"
		"	float sum = sincos(x, &cosine) + frexp(x, &exponent) + modf(x, &whole);\n"
		"	vstore2((int2)(first, i), 1, pairs);\n"
		"	int2 pair = vload2(1, pairs);\n"
		"	part[get_local_id(0)] = as_int(sum + cosine + exponent + whole) + pair.x * "
		"pair.y;\n"
		"	barrier(CLK_LOCAL_MEM_FENCE);\n"
		"	event_t event = async_work_group_copy(numbers + get_group_id(0) * 16, "
		"part, 16, 0);\n"
		"	wait_group_events(1, &event);\n"
		"}\n",
		"-cl-std=CL2.0");
}

/* A generic pointer whose address space is not known in the function. */
static bool run_generic(void)
{
	return print_results("void wait(event_t *event) { wait_group_events(1, event); }\n"
			     "__kernel void number(__global int *numbers, int first) {\n"
			     "	__local int part[16];\n"
			     "	part[get_local_id(0)] = first + get_global_id(0);\n"
			     "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "	event_t event = async_work_group_copy(numbers + get_group_id(0) * "
			     "16, part, 16, 0);\n"
			     "	wait(&event);\n"
			     "}\n",
			     "-cl-std=CL2.0");
}

/* ---- the device's library, and its local memory ---- */

/* Functions that compilers treat specially, or that one form of a library lacks. */
static const char library_text[] =
	"#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
	"__kernel void image(__write_only image3d_t to) {\n"
	"	write_imagei(to, (int4)(get_global_id(0)), (int4)(1));\n"
	"	write_imageui(to, (int4)(get_global_id(0)), (uint4)(1));\n"
	"}\n"
	"__kernel void other(__global int *numbers, __local int *more) {\n"
	"	__local int all[64];\n"
	"	all[get_local_id(0)] = more[get_local_id(0)] = numbers[0];\n"
	"	mem_fence(CLK_LOCAL_MEM_FENCE);\n"
	"	numbers[get_global_id(0)] = all[0] + more[0];\n"
	"}\n"
	"__kernel void number(__global int *numbers, int first) {\n"
	"	__local int part[16];\n"
	"	int i = get_global_id(0), local_i = get_local_id(0);\n"
	"	numbers[i] = i * (int)(half_sqrt(4.0f) + 0.5f);\n"
	"	barrier(CLK_GLOBAL_MEM_FENCE);\n"
	"	event_t event = async_work_group_copy(part, numbers + i - local_i, 16, 0);\n"
	"	wait_group_events(1, &event);\n"
	"	vstore_half((float)part[local_i], 2 * i, (__global half *)numbers);\n"
	"	numbers[i] = first + (int)vload_half(2 * i, (__global half *)numbers);\n"
	"}\n";

static cl_ulong local_memory(cl_kernel kernel)
{
	cl_ulong size = 0;

	clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(size), &size,
				 NULL);
	return size;
}

/* Of its variables and its argument, not of those of another kernel. */
static bool has_local_memory(cl_program program)
{
	cl_kernel number = clCreateKernel(program, "number", NULL);
	cl_kernel other = clCreateKernel(program, "other", NULL);

	return local_memory(number) == 64 && local_memory(other) == 256 &&
	       !clSetKernelArg(other, 1, 128, NULL) && local_memory(other) == 384 &&
	       !clReleaseKernel(number) && !clReleaseKernel(other);
}

static bool run_library(void)
{
	cl_program program = create(library_text);

	return !clBuildProgram(program, 1, &device, "-g -cl-denorms-are-zero -Werror", NULL,
			       NULL) &&
	       launch_by_name(program, "number", 5, 2) && has_local_memory(program) &&
	       !clReleaseProgram(program);
}

/* Fences of OpenCL 1.2, and that of 2.0. */
static bool run_fences(void)
{
	static const char text[] =
		"__kernel void number(__global int *numbers, int first) {\n"
		"	int i = get_global_id(0);\n"
		"	numbers[i] = first;\n"
		"	mem_fence(CLK_GLOBAL_MEM_FENCE);\n"
		"	numbers[i] += i;\n"
		"	read_mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
		"	write_mem_fence(CLK_GLOBAL_MEM_FENCE);\n"
		"	atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel,\n"
		"			       memory_scope_device);\n"
		"	numbers[i] += i;\n"
		"}\n";
	cl_program program = create(text);

	return !clBuildProgram(program, 1, &device, "-cl-std=CL2.0", NULL, NULL) &&
	       launch_by_name(program, "number", 5, 2) && !clReleaseProgram(program);
}

/* The device has not the local memory of both kernels. */
static bool run_local(void)
{
	static const char text[] = "__kernel void other(__global int *numbers, int first) {\n"
				   "	__local int part[PART];\n"
				   "	part[get_local_id(0)] = first;\n"
				   "	barrier(CLK_LOCAL_MEM_FENCE);\n"
				   "	numbers[get_global_id(0)] = part[15 - get_local_id(0)] + "
				   "get_global_id(0);\n"
				   "}\n"
				   "__kernel void number(__global int *numbers, int first) {\n"
				   "	__local int part[PART];\n"
				   "	part[get_local_id(0)] = first;\n"
				   "	barrier(CLK_LOCAL_MEM_FENCE);\n"
				   "	numbers[get_global_id(0)] = part[15 - get_local_id(0)] + "
				   "get_global_id(0);\n"
				   "}\n";
	cl_program program = create(text);
	cl_ulong size = 0;
	char options[64];

	clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(size), &size, NULL);
	snprintf(options, sizeof(options), "-DPART=%lu", (unsigned long)(size / 16 * 3));
	return !clBuildProgram(program, 1, &device, options, NULL, NULL) &&
	       launch_by_name(program, "number", 5, 1) && !clReleaseProgram(program);
}

/* ---- what OpenCL says ---- */

static bool is_described(cl_kernel kernel, cl_program program, cl_uint references)
{
	cl_uint arguments = 0, count = 0;
	cl_program of = NULL;
	char name[16] = "";

	return !clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(of), &of, NULL) &&
	       of == program &&
	       !clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL) &&
	       arguments == 2 &&
	       !clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL) &&
	       !strcmp(name, "number") &&
	       !clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof(count), &count, NULL) &&
	       count == references;
}

static bool has_argument_name(cl_kernel kernel)
{
	char name[16] = "";

	return !clGetKernelArgInfo(kernel, 1, CL_KERNEL_ARG_NAME, sizeof(name), name, NULL) &&
	       !strcmp(name, "first");
}

static bool run_information(void)
{
	cl_program program = create(source);
	char text[sizeof(source)] = "";
	cl_int error = 0;
	cl_kernel kernel;

	if (clBuildProgram(program, 1, &device, "-cl-kernel-arg-info", NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", &error);
	return !error && !clCreateKernel(program, "missing", &error) &&
	       error == CL_INVALID_KERNEL_NAME && is_described(kernel, program, 1) &&
	       !clRetainKernel(kernel) && is_described(kernel, program, 2) &&
	       !clReleaseKernel(kernel) && is_described(kernel, program, 1) &&
	       has_argument_name(kernel) &&
	       !clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, NULL) &&
	       !strcmp(text, source) && launch(kernel, 1, 1) && !clReleaseKernel(kernel) &&
	       !clReleaseProgram(program);
}

/* What the device prints, of numbers, strings and vectors. */
static bool run_printf(void)
{
	cl_program program = create(
		"__kernel void number(__global int *numbers, int first) {\n"
		"	int i = get_global_id(0);\n"
		"	uchar c = i;\n"
		"	numbers[i] = first + i;\n"
		"	if (i != 5) return;\n"
		"	printf(\"%d %4d|%-4d|%04d %+d %x %#X %o %u %c %%\\n\", i, i, i, i, i, 250 "
		"+ i,\n"
		"	       250 + i, 3 + i, 7u, 'c');\n"
		"	printf(\"%s %f %.2f %e %g %ld %lu\\n\", \"text\", 0.5f * i, i / 3.0f, 1e9f "
		"* i,\n"
		"	       0.1f * i, 1000000000000L * i, 1UL);\n"
		"	printf(\"%v2hhd %v3hhd %v4hhd %v2hd %v4hd %v8hhd\\n\", (uchar2)(c, 1),\n"
		"	       (uchar3)(c, 1, 2), (uchar4)(c, 1, 2, 3), (short2)(i, -1),\n"
		"	       (short4)(i, 1, 2, -3), (uchar8)(c, 1, 2, 3, 4, 5, 6, 7));\n"
		"	printf(\"%v2hld %v4hld %v4hlf\\n\", (int2)(i, 1), (int4)(i, 1, 2, 3),\n"
		"	       (float4)(i, 1, 2, 3));\n"
		"}\n");

	return !clBuildProgram(program, 1, &device, "-w", NULL, NULL) &&
	       launch_by_name(program, "number", 1, 1) && !clReleaseProgram(program);
}

/* Kernels are valid after the program's last reference, which a second one precedes. */
static bool run_references(void)
{
	cl_program program = create(source);
	cl_kernel kernel;

	if (clRetainProgram(program) || clBuildProgram(program, 1, &device, NULL, NULL, NULL) ||
	    clReleaseProgram(program))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	return kernel && !clReleaseProgram(program) && launch(kernel, 9, 1) &&
	       !clReleaseKernel(kernel);
}

/* ---- without gputap, which is the parent ---- */

static bool run_orphaned(void)
{
	kill(getppid(), SIGKILL);
	return run_plain();
}

static bool run_orphaned_later(void)
{
	cl_program program = create(source);
	cl_kernel kernel;

	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	kill(getppid(), SIGKILL);
	return launch(kernel, 1, 1) && launch(kernel, 2, 1) && run_plain();
}

int main(int count, char **arguments)
{
	static const struct named_program programs[] = {
		{"plain", run_plain},
		{"options", run_options},
		{"include", run_include},
		{"inline", run_inline},
		{"defined", run_defined},
		{"malformed", run_malformed},
		{"callback", run_callback},
		{"threads", run_threads},
		{"many", run_many},
		{"rounding", run_rounding},
		{"dimensions", run_dimensions},
		{"pointers", run_pointers},
		{"printf", run_printf},
		{"generic", run_generic},
		{"library", run_library},
		{"fences", run_fences},
		{"local", run_local},
		{"information", run_information},
		{"references", run_references},
		{"orphaned", run_orphaned},
		{"orphaned-later", run_orphaned_later},
	};

	return run_named(programs, sizeof(programs) / sizeof(*programs),
			 count == 2 ? arguments[1] : NULL);
}
