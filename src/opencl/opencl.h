/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * OpenCL devices, accessed through the ICD loader, libOpenCL.so.1, which is loaded at run time.
 * Programs are SPIR-V. A device that takes no SPIR-V (PoCL 3.1) gets SPIR 1.2 bitcode
 * (cl_khr_spir), which llvm-spirv makes of it.
 *
 * If a call fails, the result is -EIO (-ENOMEM: out of memory), the diag's place is the function,
 * and its text begins with the name of the error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cycle_clock.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "spirv/device_features.h"

struct gt_cl;
struct gt_cl_device;
struct gt_cl_program;

/*
 * Load the library and list the devices of all platforms. -ENOENT: there is no library; -ENOTSUP:
 * it lacks a function; -ENODEV: there is no device. The library stays loaded until the process
 * ends.
 */
int gt_cl_open(struct gt_cl **ret_cl, struct gt_diag *diag);
void gt_cl_free(struct gt_cl *cl);
GT_DEFINE_AUTO(cl, struct gt_cl, gt_cl_free)

/* Devices are numbered from 0, in the order of the platforms. */
unsigned gt_cl_device_count(const struct gt_cl *cl);

enum {
	GT_CL_IDENTITY = 512, /* bytes */
};

struct gt_cl_device_info {
	char name[256], platform[128];
	char identity[GT_CL_IDENTITY]; /* CL_DEVICE_NAME, a line break, CL_DEVICE_VERSION */
	unsigned compute_units;
	size_t max_group; /* work-items of a work-group */
	bool takes_spirv; /* clCreateProgramWithIL */
	bool takes_spir;  /* cl_khr_spir */
};

/* Open a device: a context and a queue of its own. -ENODEV: there is no such device. */
int gt_cl_device_open(struct gt_cl *cl, unsigned number, struct gt_cl_device **ret_device,
		      struct gt_diag *diag);
void gt_cl_device_close(struct gt_cl_device *device);
GT_DEFINE_AUTO(cl_device, struct gt_cl_device, gt_cl_device_close)
const struct gt_cl_device_info *gt_cl_device_info(const struct gt_cl_device *device);
/*
 * Whether kernels access the memory of this process by its addresses (sharing.h). The first call
 * may build and execute a kernel.
 */
bool gt_cl_device_shares_memory(struct gt_cl_device *device);

/*
 * The clock that kernels of the device read by GT_SPIRV_CYCLE_COUNTER (spirv/builder.h): a kernel
 * is built and executed to see that it does. -EOPNOTSUPP, or an error of building: there is none.
 */
int gt_cl_device_clock(struct gt_cl_device *device, struct gt_cycle_clock *ret_clock,
		       struct gt_diag *diag);

/*
 * What the device has (gt_spirv_feature). A kernel is built and executed to see that sub-groups do
 * what they should.
 */
unsigned gt_cl_device_features(struct gt_cl_device *device);

/*
 * Build a program from a module of SPIR-V. The messages of the device's compiler are appended to
 * *ret_log where it fails. -EOPNOTSUPP: the device takes neither SPIR-V nor SPIR; -ENOENT: it takes
 * SPIR, and there is no llvm-spirv. The device must outlive the program.
 */
int gt_cl_program_load(struct gt_cl_device *device, const void *module, size_t size,
		       struct gt_cl_program **ret_program, struct gt_strbuf *ret_log,
		       struct gt_diag *diag);
void gt_cl_program_free(struct gt_cl_program *program);
GT_DEFINE_AUTO(cl_program, struct gt_cl_program, gt_cl_program_free)

/* An argument of a kernel: memory that is copied to the device and back, or a value. */
struct gt_cl_argument {
	void *bytes;
	size_t size;
	bool is_memory; /* a pointer to device memory; size may be 0 */
};

enum {
	GT_CL_MAX_ARGUMENTS = 8,
};

/*
 * Launch a kernel without waiting; memory of the arguments is copied to the device. -E2BIG: a
 * work-group is too large; -EBUSY: a launch of this program has not been waited for.
 */
int gt_cl_launch(struct gt_cl_program *program, const char *kernel, const uint32_t *groups,
		 const uint32_t *group_size, const struct gt_cl_argument *arguments, size_t count,
		 struct gt_diag *diag);
/*
 * Wait for the end of the launch and copy the memory of its arguments back. -ETIME: it has not
 * ended after `limit` ns (0: no limit). Then it still runs: see gt_cl_device_abandon.
 */
int gt_cl_wait(struct gt_cl_program *program, uint64_t limit, struct gt_diag *diag);
/* From now on, closing the device and its programs does not touch the library. */
void gt_cl_device_abandon(struct gt_cl_device *device);

/*
 * Convert SPIR-V to SPIR 1.2 bitcode by llvm-spirv. 0; -ENOENT: it is not installed; -EINVAL: it
 * fails, its messages are appended to *ret_log.
 */
int gt_cl_convert(const void *module, size_t size, struct gt_strbuf *ret_bitcode,
		  struct gt_strbuf *ret_log, struct gt_diag *diag);

enum gt_cl_language {
	GT_CL_SOURCE, /* OpenCL C */
	GT_CL_SPIR,   /* bitcode of SPIR 1.2 */
	GT_CL_SPIRV,
};

/* A header that the source includes by its name, in front of all files of that name. */
struct gt_cl_header {
	const char *name; /* length bytes */
	size_t length;
	const void *text;
	size_t size;
};

/* A program, or a part of one. */
struct gt_cl_source {
	enum gt_cl_language language;
	const void *bytes;
	size_t size;
	/* Of OpenCL C: */
	const char *options; /* as clBuildProgram takes them */
	const struct gt_cl_header *headers;
	size_t header_count;
};

struct gt_cl_compilation {
	const struct gt_cl_source *sources; /* linked where there are several */
	size_t count;
	const char *device_options; /* for all sources, before their own; NULL: none */
	/* The device's compiler fuses products with sums where the language allows it. */
	bool fuses;
	int directory;  /* that relative names of included files are in; -1: this process's */
	uint64_t limit; /* ns that each tool may take; 0: a minute */
};

enum {
	GT_CL_MAX_SOURCES = 256,
	GT_CL_MAX_HEADERS = 256, /* of a source */
};

/*
 * Compile to SPIR-V 1.0 by clang and llvm-spirv. 0; -ENOENT: they are not installed; -EINVAL: one
 * fails, or does not end, its messages are appended to *ret_log, or an option is not known; -E2BIG;
 * -ENOMEM.
 */
int gt_cl_compile(const struct gt_cl_compilation *compilation, struct gt_strbuf *ret_module,
		  struct gt_strbuf *ret_log, struct gt_diag *diag);
/* The name of an error code, or NULL. */
const char *gt_cl_error_name(int code);
