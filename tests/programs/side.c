/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looks kernels up in modules and libraries, in every manner, and checks handles and results. The
 * argument is the name of a scenario.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS = 100, THREADS = 32, ROUNDS = 50, WORKERS = 4 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_) {                                                                     \
			printf("line %d: %s: %d\n", __LINE__, #call, result_);                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define EXPECT(condition) CHECK(!(condition))

/* k0, k1 …: each thread of kN adds 1 to word N; kN with an even N by an atomic operation. */
static char *make_module(unsigned kernels, int is_atomic)
{
	static const char head[] = ".version 7.0\n.target sm_75\n.address_size 64\n";
	char *text = malloc(sizeof(head) + kernels * 400), *end = text;

	end += sprintf(end, head);
	for (unsigned i = 0; i < kernels; i++) {
		end += sprintf(end,
			       ".visible .entry k%u(.param .u64 words)\n{\n\t.reg .u64 %%a;\n"
			       "\t.reg .u32 %%v;\n\tld.param.u64 %%a, [words];\n"
			       "\tcvta.to.global.u64 %%a, %%a;\n",
			       i);
		end += sprintf(end,
			       is_atomic ? "\tred.global.add.u32 [%%a+%u], 1;\n\tret;\n}\n"
					 : "\tmov.u32 %%v, 5;\n\tst.global.u32 [%%a+%u], %%v;\n"
					   "\tret;\n}\n",
			       4 * i);
	}
	return text;
}

static CUdeviceptr words;

static CUcontext begin(void)
{
	CUcontext context;

	CHECK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK(cuMemAlloc(&words, 4 * KERNELS));
	CHECK(cuMemsetD32(words, 0, KERNELS));
	return context;
}

static void launch(CUfunction function)
{
	void *arguments[] = {&words};

	CHECK(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
}

static unsigned word(unsigned number)
{
	unsigned values[KERNELS];

	CHECK(cuMemcpyDtoH(values, words, sizeof(values)));
	return values[number];
}

static unsigned number_of(const char *name)
{
	return (unsigned)atoi(name + 1);
}

static CUfunction find_function(CUmodule module, unsigned number)
{
	CUfunction function;
	char name[16];

	snprintf(name, sizeof(name), "k%u", number);
	CHECK(cuModuleGetFunction(&function, module, name));
	return function;
}

static CUkernel find_kernel(CUlibrary library, unsigned number)
{
	CUkernel kernel;
	char name[16];

	snprintf(name, sizeof(name), "k%u", number);
	CHECK(cuLibraryGetKernel(&kernel, library, name));
	return kernel;
}

/* The kernels of a module, by name and by enumeration: 2 launches of each. */
static void use_module(CUmodule module)
{
	CUfunction functions[KERNELS + 1], missing;
	const char *name;
	CUmodule owner;
	unsigned count;

	CHECK(cuModuleGetFunctionCount(&count, module));
	EXPECT(count == KERNELS);
	functions[KERNELS] = NULL;
	CHECK(cuModuleEnumerateFunctions(functions, KERNELS + 1, module));
	EXPECT(!functions[KERNELS]);
	for (unsigned i = 0; i < KERNELS; i++) {
		CHECK(cuFuncGetName(&name, functions[i]));
		EXPECT(functions[i] == find_function(module, number_of(name)));
		CHECK(cuFuncGetModule(&owner, functions[i]));
		EXPECT(owner == module);
		launch(functions[i]);
		launch(find_function(module, i));
	}
	EXPECT(cuModuleGetFunction(&missing, module, "none") == CUDA_ERROR_NOT_FOUND);
}

static void check_words(unsigned launches)
{
	for (unsigned i = 0; i < KERNELS; i++)
		EXPECT(word(i) == launches * THREADS);
}

static void test_module(void)
{
	char *text = make_module(KERNELS, 1);
	CUfunction function;
	CUmodule module;

	begin();
	CHECK(cuModuleLoadData(&module, text));
	use_module(module);
	check_words(2);
	CHECK(cuModuleUnload(module));
	EXPECT(cuModuleGetFunction(&function, module, "k0"));
	EXPECT(cuModuleUnload(module));
}

/* The kernels of a library, by name, by enumeration and in its module: 4 launches of each. */
static void use_library(CUlibrary library)
{
	CUkernel kernels[KERNELS];
	CUfunction function;
	CUlibrary owner;
	CUmodule module;
	const char *name;

	/* Before anything asks for the module of the library. */
	CHECK(cuKernelGetFunction(&function, find_kernel(library, 7)));
	CHECK(cuFuncGetModule(&module, function));
	EXPECT(find_function(module, 7) == function);
	CHECK(cuLibraryEnumerateKernels(kernels, KERNELS, library));
	for (unsigned i = 0; i < KERNELS; i++) {
		CHECK(cuKernelGetName(&name, kernels[i]));
		EXPECT(kernels[i] == find_kernel(library, number_of(name)));
		CHECK(cuKernelGetLibrary(&owner, kernels[i]));
		EXPECT(owner == library);
		CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024,
					   kernels[i], 0));
		launch((CUfunction)kernels[i]);
		CHECK(cuKernelGetFunction(&function, kernels[i]));
		launch(function);
	}
	check_words(2);
	CHECK(cuLibraryGetModule(&module, library));
	use_module(module);
	check_words(4);
}

static CUlibrary begin_library(void)
{
	CUlibrary library;

	begin();
	CHECK(cuLibraryLoadData(&library, make_module(KERNELS, 1), NULL, NULL, 0, NULL, NULL, 0));
	return library;
}

static void test_library(void)
{
	CUlibrary library = begin_library();

	use_library(library);
	CHECK(cuLibraryUnload(library));
}

/* Handles of what was unloaded; NVIDIA's driver does not always recognize them. */
static void test_unloaded(void)
{
	CUlibrary library = begin_library();
	CUfunction function;
	CUmodule module;
	CUkernel kernel;

	use_library(library);
	CHECK(cuLibraryGetModule(&module, library));
	EXPECT(cuModuleUnload(module));
	CHECK(cuLibraryUnload(library));
	EXPECT(cuLibraryGetKernel(&kernel, library, "k7"));
	EXPECT(cuModuleGetFunction(&function, module, "k7"));
}

/* Handles that the driver uses again belong to modules that no program matches (gpu/atomic). */
static void test_reused(void)
{
	char *counted = make_module(2, 1), *other = make_module(2, 0);
	unsigned same = 0;

	begin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		CUlibrary first_library, library;
		CUmodule first, second;
		CUcontext context;

		CHECK(cuModuleLoadData(&first, counted));
		CHECK(cuModuleUnload(first));
		CHECK(cuModuleLoadData(&second, other));
		same += first == second;
		launch(find_function(second, 1));
		EXPECT(word(1) == 5);
		CHECK(cuModuleUnload(second));

		CHECK(cuLibraryLoadData(&first_library, counted, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cuLibraryGetModule(&first, first_library));
		CHECK(cuLibraryUnload(first_library));
		CHECK(cuLibraryLoadData(&library, other, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cuLibraryGetModule(&second, library));
		same += first_library == library || first == second;
		launch((CUfunction)find_kernel(library, 1));
		launch(find_function(second, 1));
		EXPECT(word(1) == 5);
		CHECK(cuLibraryUnload(library));

		CHECK(cuCtxCreate(&context, NULL, 0, 0));
		CHECK(cuModuleLoadData(&first, counted));
		CHECK(cuCtxDestroy(context));
		CHECK(cuCtxCreate(&context, NULL, 0, 0));
		CHECK(cuLibraryLoadData(&library, other, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cuKernelGetFunction((CUfunction *)&second, find_kernel(library, 1)));
		CHECK(cuFuncGetModule(&second, (CUfunction)second));
		same += first == second;
		launch(find_function(second, 1));
		EXPECT(word(1) == 5);
		CHECK(cuCtxDestroy(context));
		CHECK(cuLibraryUnload(library));
	}
	EXPECT(same);
}

static void *load_and_unload(void *context)
{
	char *text = make_module(KERNELS, 1);
	CUlibrary library;
	CUmodule module;

	CHECK(cuCtxSetCurrent(context));
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK(cuModuleLoadData(&module, text));
		CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
		launch(find_function(module, 7));
		launch((CUfunction)find_kernel(library, 7));
		CHECK(cuCtxSynchronize());
		CHECK(cuModuleUnload(module));
		CHECK(cuLibraryUnload(library));
	}
	return NULL;
}

static void fork_child(CUmodule module)
{
	CUfunction function;
	int status;
	pid_t child = fork();

	if (!child) {
		cuModuleGetFunction(&function, module, "k7");
		cuModuleLoadData(&module, "no module");
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
}

/* Threads that load and unload, and children of the process meanwhile. */
static void test_threads(void)
{
	CUcontext context = begin();
	pthread_t threads[WORKERS];
	CUmodule module;

	CHECK(cuModuleLoadData(&module, make_module(KERNELS, 1)));
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&threads[i], NULL, load_and_unload, context));
	for (int i = 0; i < ROUNDS; i++)
		fork_child(module);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(threads[i], NULL));
	EXPECT(word(7) == 2 * WORKERS * ROUNDS * THREADS);
}

/* One launch of each kernel: with a library, and with JIT options. */
static void test_options(void)
{
	char *text = make_module(KERNELS, 1), log[256] = "";
	CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_ERROR_LOG_BUFFER,
				  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {(void *)32, log, (void *)sizeof(log)};
	CUlibrary library;
	CUmodule module;

	begin();
	CHECK(cuModuleLoadDataEx(&module, text, 3, options, values));
	launch(find_function(module, 7));
	values[2] = (void *)sizeof(log);
	CHECK(cuLibraryLoadData(&library, text, options, values, 3, NULL, NULL, 0));
	launch((CUfunction)find_kernel(library, 7));
	EXPECT(word(7) == 2 * THREADS && !*log);
}

/* Two launches of k7 with the largest block that there is, which leaves threads few registers. */
static void launch_large(const char *text)
{
	enum { LARGE = 1024 };
	void *arguments[] = {&words};
	CUlibrary library;
	CUmodule module;

	begin();
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLaunchKernel(find_function(module, 7), 1, 1, 1, LARGE, 1, 1, 0, NULL, arguments,
			     NULL));
	CHECK(cuLaunchKernel((CUfunction)find_kernel(library, 7), 1, 1, 1, LARGE, 1, 1, 0, NULL,
			     arguments, NULL));
	EXPECT(word(7) == 2 * LARGE);
}

static void test_large(void)
{
	launch_large(make_module(KERNELS, 1));
}

/* k7 keeps so many values that it needs nearly all registers that a thread of such a block has. */
static void test_values(void)
{
	enum { VALUES = 54, FIRST = 8 };
	char text[8192], *end = text;

	end += sprintf(end,
		       ".version 7.0\n.target sm_75\n.address_size 64\n"
		       ".visible .entry k7(.param .u64 words)\n{\n\t.reg .u64 %%a;\n"
		       "\t.reg .u32 %%v<%d>;\n\tld.param.u64 %%a, [words];\n",
		       VALUES);
	for (int i = 0; i < VALUES; i++)
		end += sprintf(end, "\tld.volatile.global.u32 %%v%d, [%%a+%d];\n", i,
			       4 * (FIRST + i));
	end += sprintf(end, "\tred.global.add.u32 [%%a+28], 1;\n");
	for (int i = 0; i < VALUES; i++)
		end += sprintf(end, "\tst.volatile.global.u32 [%%a+%d], %%v%d;\n", 4 * (FIRST + i),
			       i);
	sprintf(end, "\tret;\n}\n");
	launch_large(text);
}

/* A library that is loaded before there is a context, used on each of two devices. */
static void test_devices(void)
{
	char *text = make_module(KERNELS, 1);
	CUlibrary library;
	CUcontext context;
	CUmodule module;

	CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	for (int device = 1; device >= 0; device--) {
		CHECK(cuDevicePrimaryCtxRetain(&context, device));
		CHECK(cuCtxSetCurrent(context));
		CHECK(cuMemAlloc(&words, 4 * KERNELS));
		CHECK(cuMemsetD32(words, 0, KERNELS));
		launch((CUfunction)find_kernel(library, 7));
		EXPECT(word(7) == THREADS);
		CHECK(cuLibraryGetModule(&module, library));
		launch(find_function(module, 7));
		EXPECT(word(7) == 2 * THREADS);
	}
	/* The context of the second device is the one that is left. */
	CHECK(cuDevicePrimaryCtxReset(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 1));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&words, 4 * KERNELS));
	launch((CUfunction)find_kernel(library, 7));
	CHECK(cuCtxSynchronize());
}

/* A kernel of the first device is used on the second one, with the attributes that were set. */
static void test_second(void)
{
	enum { SHARED = 1234 };
	CUcontext context;
	CUfunction function;
	CUlibrary library;
	CUkernel kernel;
	int value;

	begin();
	CHECK(cuLibraryLoadData(&library, make_module(KERNELS, 1), NULL, NULL, 0, NULL, NULL, 0));
	kernel = find_kernel(library, 7);
	launch((CUfunction)kernel);
	EXPECT(word(7) == THREADS);
	CHECK(cuDevicePrimaryCtxRetain(&context, 1));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&words, 4 * KERNELS));
	CHECK(cuMemsetD32(words, 0, KERNELS));
	CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED, kernel,
				   1));
	CHECK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 1));
	CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
				   1));
	EXPECT(value == SHARED);
	CHECK(cuKernelGetFunction(&function, kernel));
	CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				 function));
	EXPECT(value == SHARED);
	launch(function);
	EXPECT(word(7) == THREADS);
}

/* The primary context of a device, which may be new, with memory for the words. */
static void use_device(int device)
{
	CUcontext context;

	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&words, 4 * KERNELS));
}

static void launch_kernel(CUlibrary library, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		launch((CUfunction)find_kernel(library, 7));
	CHECK(cuCtxSynchronize());
}

/* k7 in a stream of the current context, while that of device 0 is selected. */
static void launch_from_first(CUlibrary library)
{
	CUstream stream;
	CUcontext first;
	void *arguments[] = {&words};

	CHECK(cuStreamCreate(&stream, 0));
	CHECK(cuDevicePrimaryCtxRetain(&first, 0));
	CHECK(cuCtxPushCurrent(first));
	CHECK(cuLaunchKernel((CUfunction)find_kernel(library, 7), 1, 1, 1, THREADS, 1, 1, 0, stream,
			     arguments, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuCtxPopCurrent(&first));
}

/*
 * The same code on three devices, in contexts that are there before it is loaded or come later:
 * k7 is launched twice on device 0, 5 times on device 1, 7 times on device 2.
 */
static void test_numbers(void)
{
	char *text = make_module(KERNELS, 1);
	CUlibrary library, other;
	CUmodule module;

	use_device(2);
	CHECK(cuLibraryLoadData(&other, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	launch_kernel(library, 4);
	use_device(0);
	launch_kernel(library, 2);
	use_device(1);
	launch_from_first(library);
	launch_kernel(library, 3);
	use_device(2);
	CHECK(cuModuleLoadData(&module, text));
	launch(find_function(module, 7));
	CHECK(cuLibraryUnload(other));
	CHECK(cuDevicePrimaryCtxReset(1));
	use_device(1);
	launch_kernel(library, 1);
	CHECK(cuDevicePrimaryCtxReset(2));
	CHECK(cuLibraryUnload(library));
	use_device(2);
	CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	launch_kernel(library, 2);
}

static CUlibrary shared_library;

/* k7 on device 2, in a context that the threads get at once. */
static void *launch_on_second(void *barrier)
{
	CUcontext context;
	CUdeviceptr own;
	void *arguments[] = {&own};

	pthread_barrier_wait(barrier);
	CHECK(cuDevicePrimaryCtxRetain(&context, 2));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&own, 4 * KERNELS));
	CHECK(cuLaunchKernel((CUfunction)find_kernel(shared_library, 7), 1, 1, 1, THREADS, 1, 1, 0,
			     NULL, arguments, NULL));
	CHECK(cuCtxSynchronize());
	return NULL;
}

static atomic_int loads_left = ROUNDS;

/* Contexts of another device begin and end, with launches of k7. */
static void *change_contexts(void *unused)
{
	CUcontext context;
	CUdeviceptr own;
	void *arguments[] = {&own};

	do {
		CHECK(cuCtxCreate(&context, NULL, 0, 1));
		CHECK(cuMemAlloc(&own, 4 * KERNELS));
		CHECK(cuLaunchKernel((CUfunction)find_kernel(shared_library, 7), 1, 1, 1, THREADS,
				     1, 1, 0, NULL, arguments, NULL));
		CHECK(cuCtxSynchronize());
		CHECK(cuCtxDestroy(context));
	} while (loads_left > 0);
	return NULL;
}

/* Contexts that begin and end in some threads while others launch, or load libraries. */
static void test_changes(void)
{
	char *text = make_module(KERNELS, 1);
	pthread_t threads[WORKERS];
	pthread_barrier_t barrier;
	CUlibrary library;

	use_device(0);
	CHECK(cuMemsetD32(words, 0, KERNELS));
	CHECK(cuLibraryLoadData(&shared_library, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(pthread_barrier_init(&barrier, NULL, WORKERS));
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&threads[i], NULL, launch_on_second, &barrier));
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(threads[i], NULL));
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, change_contexts, NULL));
	for (; loads_left > 0; loads_left--) {
		CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
		launch_kernel(library, 1);
		CHECK(cuLibraryUnload(library));
	}
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL));
	EXPECT(word(7) == ROUNDS * THREADS);
}

/* A library that a context does not use is unloaded while a kernel runs there. */
static void test_unused(void)
{
	static const char waiting[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k7(.param .u64 flag)\n{\n\t.reg .u64 %a;\n\t.reg .u32 %v;\n"
		"\t.reg .pred %p;\n\tld.param.u64 %a, [flag];\n"
		"again:\n\tld.volatile.u32 %v, [%a];\n\tsetp.eq.u32 %p, %v, 0;\n"
		"\t@%p bra again;\n\tret;\n}\n";
	CUlibrary library, other;
	volatile unsigned *flag;
	void *arguments[] = {&words};

	alarm(120);
	use_device(0);
	CHECK(cuLibraryLoadData(&library, waiting, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryLoadData(&other, make_module(KERNELS, 1), NULL, NULL, 0, NULL, NULL, 0));
	launch_kernel(other, 1);
	use_device(1);
	CHECK(cuMemHostAlloc((void **)&flag, sizeof(*flag), CU_MEMHOSTALLOC_DEVICEMAP));
	*flag = 0;
	words = (CUdeviceptr)(uintptr_t)flag;
	CHECK(cuLaunchKernel((CUfunction)find_kernel(library, 7), 1, 1, 1, 1, 1, 1, 0, NULL,
			     arguments, NULL));
	CHECK(cuLibraryUnload(other));
	*flag = 1;
	CHECK(cuCtxSynchronize());
}

/* What programs get the driver's functions from. */
static void *find_by_name(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	return driver ? dlsym(driver, name) : NULL;
}

static void *find_by_version(const char *name)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	CHECK(cuGetProcAddress_v2(name, &function, 13000, 0, &status));
	return function;
}

static void *find_by_first_version(const char *name)
{
	CUresult (*get)(const char *, void **, int, cuuint64_t) = find_by_name("cuGetProcAddress");
	void *function = NULL;

	CHECK(get(name, &function, 13000, 0));
	return function;
}

static void *find_by_found(const char *name)
{
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
		find_by_version("cuGetProcAddress");
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	CHECK(get(name, &function, 13000, 0, &status));
	return function;
}

/* Two launches with functions of each origin. */
static void test_origins(void)
{
	static void *(*const origins[])(const char *) = {find_by_name, find_by_version,
							 find_by_first_version, find_by_found};
	char *text = make_module(KERNELS, 1);

	begin();
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		CUresult (*load_module)(CUmodule *, const void *) = origins[i]("cuModuleLoadData");
		CUresult (*get_function)(CUfunction *, CUmodule, const char *) =
			origins[i]("cuModuleGetFunction");
		CUresult (*load_library)(CUlibrary *, const void *, void *, void *, unsigned,
					 void *, void *, unsigned) =
			origins[i]("cuLibraryLoadData");
		CUresult (*get_kernel)(CUkernel *, CUlibrary, const char *) =
			origins[i]("cuLibraryGetKernel");
		CUfunction function;
		CUlibrary library;
		CUmodule module;
		CUkernel kernel;

		CHECK(load_module(&module, text));
		CHECK(get_function(&function, module, "k7"));
		launch(function);
		CHECK(load_library(&library, text, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(get_kernel(&kernel, library, "k7"));
		launch((CUfunction)kernel);
	}
	EXPECT(word(7) == 8 * THREADS);
}

int main(int count, char **words_given)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{"module", test_module},   {"library", test_library}, {"unloaded", test_unloaded},
		{"reused", test_reused},   {"threads", test_threads}, {"options", test_options},
		{"origins", test_origins}, {"devices", test_devices}, {"second", test_second},
		{"numbers", test_numbers}, {"large", test_large},     {"values", test_values},
		{"changes", test_changes}, {"unused", test_unused},
	};

	CHECK(cuInit(0));
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (count != 2 || strcmp(words_given[1], tests[i].name) != 0)
			continue;
		tests[i].run();
		printf("%s: right\n", tests[i].name);
		return 0;
	}
	return 2;
}
