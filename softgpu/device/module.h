/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code on the device. A library is a set of parsed PTX modules that belongs to no context; a module
 * is a library loaded into a context. cuModuleLoad creates both.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <cuda.h>

#include "base/diag.h"
#include "base/vec.h"
#include "device/context.h"
#include "exec/exec.h"

struct gt_ptx_module;

struct CUfunc_st {
	CUmodule module;
	const struct sg_function *code;
	struct sg_function_info info;
	struct sg_parameter_info *parameters; /* info.parameter_count */
	uint32_t max_dynamic_shared;          /* bytes; CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED… */
	int carveout;
	bool non_portable_cluster; /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
	CUfunc_cache cache_config;
};

struct CUmod_st {
	CUcontext context;
	CUlibrary library;
	bool owns_library; /* created by cuModuleLoad: it owns its library */
	struct sg_module *code;
	GT_VEC(CUfunction) functions; /* all kernels, in the order of the text */
	CUtexref references;          /* that the program asked for, of both kinds */
};

struct CUkern_st {
	CUlibrary library;
	const char *name;       /* the library's */
	int max_dynamic_shared; /* what was set by cuKernelSetAttribute; -1: nothing */
	int carveout;
	bool non_portable_cluster;
	CUfunc_cache cache_config;
};

struct CUlib_st {
	pthread_mutex_t lock;
	GT_VEC(struct gt_ptx_module *) parsed;
	GT_VEC(CUkernel) kernels;
	GT_VEC(CUmodule) modules;  /* one for each context that uses it */
	struct sg_managed managed; /* of its modules */
	uint32_t max_registers;    /* that its kernels report; 0: no limit */
};

/* The JIT options of a load. */
struct sg_jit {
	char *error_log, *info_log; /* or NULL */
	size_t error_size, info_size;
	size_t *error_used, *info_used; /* receives the number of bytes written; or NULL */
	float *wall_time;               /* ms; or NULL */
	uint32_t max_registers;         /* CU_JIT_MAX_REGISTERS; 0: no limit */
};

/* Read cuModuleLoadDataEx's arrays. CUDA_ERROR_INVALID_VALUE: an unknown option. */
CUresult sg_jit_options(unsigned int count, const CUjit_option *options, void **values,
			struct sg_jit *ret_jit);
/* Write a failure into the error log. */
void sg_jit_report(const struct sg_jit *jit, const struct gt_diag *diag);

/*
 * Create a library from an image: PTX text, a fatbin, a fatbin's wrapper. size 0: unknown, as
 * CUDA's calls pass it. CUDA_ERROR_INVALID_PTX, INVALID_IMAGE, NO_BINARY_FOR_GPU with *diag.
 */
CUresult sg_library_load(const void *image, size_t size, CUlibrary *ret_library,
			 struct gt_diag *diag);
/* Create a library from parsed modules, which it takes over on success. */
CUresult sg_library_from_parsed(struct gt_ptx_module **parsed, size_t count,
				CUlibrary *ret_library);
void sg_library_unload(CUlibrary library);
/* Return the kernel with that name, or NULL. */
CUkernel sg_library_kernel(CUlibrary library, const char *name);

/* Return the module of a library in a context; load it at the first use. */
CUresult sg_library_module(CUlibrary library, CUcontext context, CUmodule *ret_module,
			   struct gt_diag *diag);
/* Unload a module, and its library if it owns it. */
void sg_module_unload(CUmodule module);
CUfunction sg_module_find(CUmodule module, const char *name);

/* Return the function that a handle denotes in a context: it may be a kernel of a library. */
CUresult sg_function_resolve(CUcontext context, CUfunction handle, CUfunction *ret_function);

/* Of a block of a kernel (SOFTGPU_REGISTERS). */
uint32_t sg_function_max_threads(const struct CUfunc_st *function);
/* Get and set an attribute of a function. */
CUresult sg_function_attribute(const struct CUfunc_st *function, CUfunction_attribute attribute,
			       int *ret_value);
CUresult sg_function_set(CUfunction function, CUfunction_attribute attribute, int value);
