/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the agent, in the traced process, and the collector, in gputap, say to each other: for each
 * image that the program loads one connection of a SOCK_SEQPACKET socket. Both run on one machine.
 *
 *	agent                                   collector
 *	gt_agent_request, a memfd: the image ►
 *	                                      ◄ gt_agent_reply, a memfd: the patched image and the
 *	                                        names of the kernels that programs match
 *	gt_agent_result                       ►
 *
 * Neither trusts the other: sizes are checked against the files, and a file's size against its
 * limits. The memory of maps is two areas, which the agent asks for by requests without an image,
 * and maps at the addresses that the collector names. So the text of a patched module is the same
 * on each run, and the driver's cache of compiled modules works.
 *
 * The host area is a memfd. Maps that host programs use, too, are arrays of the kernel: they
 * follow, each in a reply of its own, and replace pages of the memfd. The device area is memory of
 * a GPU, which the collector owns, so that what is there outlives the process; or, where it cannot
 * be, another part of the memfd.
 */
#pragma once

#include <linux/types.h>

/*
 * The environment variable that has the name of the collector's socket, in the abstract namespace,
 * a
 * '/' and the token that each request begins with. Every process can read the names of sockets, the
 * environment of the command only those of its user.
 */
#define GT_AGENT_SOCKET "GPUTAP_AGENT_SOCKET"
/* How many system call filters gputap runs under (filters.h); 0 by default. */
#define GT_AGENT_FILTERS "GPUTAP_AGENT_FILTERS"
/* Optional: 1, the work of GPUs is timed (work.h); n: every n-th operation; 0, as by default: not.
 */
#define GT_AGENT_GPU_TIMES "GPUTAP_AGENT_GPU_TIMES"
/* Optional: 0, images are not passed to the collector. */
#define GT_AGENT_IMAGES "GPUTAP_AGENT_IMAGES"
/* Optional: 1, launches are hooked, since programs ask for the number of their GPU. */
#define GT_AGENT_NUMBERS "GPUTAP_AGENT_NUMBERS"
/* Optional: how many milliseconds a process waits for an answer, 30,000 by default. */
#define GT_AGENT_DEADLINE "GPUTAP_AGENT_DEADLINE"

enum gt_agent_limits {
	GT_AGENT_MAGIC = 0x67544147,
	GT_AGENT_VERSION = 16,
	GT_AGENT_TOKEN = 32,          /* characters */
	GT_AGENT_SYMBOL = 40,         /* bytes of a name, with its NUL */
	GT_AGENT_MAX_IMAGE = 1 << 30, /* bytes */
	GT_AGENT_MAX_NAMES = 1 << 26, /* bytes of kernels' names */
	GT_AGENT_MAX_ARRAYS = 64,     /* of the kernel */
	GT_AGENT_MAX_LIST = 1 << 20,  /* bytes of GT_AGENT_NAMES */
	GT_AGENT_LARGE = 32 << 10, /* bytes of an image from which GT_AGENT_FINGERPRINT is of use */
};

/* Bytes of an area of the maps. */
#define GT_AGENT_MAX_AREA ((__u64)1 << 34)

enum gt_agent_operation {
	GT_AGENT_MAPS = 1, /* the host area of the maps */
	GT_AGENT_IMAGE,    /* an image to be patched */
	GT_AGENT_COMPILED, /* a cubin, and what the program compiled it from */
	/*
	 * The names that a long PTX text has, so that it is not copied where nothing matches: each
	 * is an 'e' (kernel) or 'f' (function), the mangled name and a NUL. The answer is ORIGINAL,
	 * or WANTED: the image is to follow, in a request of its own.
	 */
	GT_AGENT_NAMES,
	/*
	 * The ring for events of the process (ring.h), which has none yet: an earlier one is over.
	 */
	GT_AGENT_EVENTS,
	/*
	 * The fingerprint of a large image, so that it is not copied where it is known that nothing
	 * matches. The answer is as that of NAMES.
	 */
	GT_AGENT_FINGERPRINT,
	GT_AGENT_CALLS, /* the table of the calls to be recorded (call_table.h) */
	/*
	 * An OpenCL program that the process has built, or linked of several, or a module of Level
	 * Zero that it has created: gt_agent_chunk. The answer is as that of IMAGE.
	 */
	GT_AGENT_PROGRAM,
	/* The device area of the maps: in the memory of the GPU `device` if `capability` is not 0
	 */
	GT_AGENT_DEVICE_MAPS,
};

/* What the devices of a program take, or why it is not to be patched. */
enum gt_agent_form {
	GT_AGENT_FORM_NONE, /* neither of these */
	GT_AGENT_FORM_SPIRV,
	GT_AGENT_FORM_SPIR,
	/* Modules of Level Zero: */
	GT_AGENT_FORM_IMPORTS, /* other modules, which are linked later, have functions of it */
	GT_AGENT_FORM_SEVERAL, /* one call creates it of several (ze_module_program_exp_desc_t) */
	/* OpenCL, beside one of these: the maps are copied to the devices (opencl/copies.h). */
	GT_AGENT_FORM_COPIED = 0x100,
};

struct gt_agent_request {
	__u32 magic;
	__u16 version;
	__u16 operation;       /* gt_agent_operation */
	__u64 size;            /* of the image; the file may be longer */
	__u32 capability;      /* of the device: 75 for 7.5 */
	__u32 thread, process; /* as the agent sees them */
	__u32 form;            /* of GT_AGENT_PROGRAM: gt_agent_form */
	union {
		__u64 fingerprint[2]; /* of GT_AGENT_FINGERPRINT (base/fingerprint.h) */
		__u8 device[16];      /* of GT_AGENT_DEVICE_MAPS: its UUID */
	};
	char token[GT_AGENT_TOKEN];
};

enum gt_agent_verdict {
	GT_AGENT_ORIGINAL, /* load the original */
	GT_AGENT_WHOLE,    /* load the attached image in place of the original */
	GT_AGENT_SIDE,     /* load both; look-ups of the kernels find those of the attached image */
	GT_AGENT_MEMORY,   /* map the file that is attached, from `offset` on, at `address` */
	/* of GT_AGENT_COMPILED: the PTX of this cubin is not known yet; of NAMES, FINGERPRINT */
	GT_AGENT_WANTED,
	GT_AGENT_ARRAY,  /* map the array of the kernel that is attached over that memory */
	GT_AGENT_RING,   /* map the ring that is attached; `size` is that of its data */
	GT_AGENT_TABLE,  /* map the table that is attached, to be read */
	GT_AGENT_HANDLE, /* map the memory of a GPU whose shareable handle is attached */
};

enum gt_agent_reply_flags {
	GT_AGENT_UNPATCHED = 1, /* WHOLE: no program is in the image, and there are no names */
	GT_AGENT_LINKED = 2,    /* WHOLE, SIDE: what is linked first (base/link_input.h) */
};

struct gt_agent_reply {
	__u32 magic;
	__u32 verdict; /* gt_agent_verdict */
	__u64 size;    /* of the attached image or memory, at the start of the file */
	__u64 address; /* MEMORY, ARRAY, HANDLE */
	__u32 arrays;  /* MEMORY: replies that follow */
	/* WHOLE, SIDE: after the image this many mangled names with a NUL each, sorted. */
	__u32 kernels;
	__u32 names_size; /* bytes */
	__u32 flags;      /* gt_agent_reply_flags */
	__u64 offset;     /* MEMORY */
	/* WHOLE, SIDE: the variable of 8 bytes that has the number of the device; "": none. */
	char device_symbol[GT_AGENT_SYMBOL];
};

/* Errors of the agent, beside those of the driver. */
enum gt_agent_error {
	GT_AGENT_NO_MEMORY = -1,   /* the patched image could not be mapped */
	GT_AGENT_NO_MAPS = -2,     /* the GPU does not reach the memory of the maps */
	GT_AGENT_NO_ORIGINAL = -3, /* the driver rejected the original of a side module */
	GT_AGENT_MAPS_ON_GPU = -4, /* the maps are in memory of the GPU, for CUDA kernels */
	/* The maps are copied to devices of another context of the process. */
	GT_AGENT_COPIED_ELSEWHERE = -5,
	GT_AGENT_BAD_REPLY = -6,      /* the reply or its file is not as it is described here */
	GT_AGENT_DEVICES_DIFFER = -7, /* the image would be for some of the library's devices */
	GT_AGENT_NO_NUMBER = -8,      /* the number of the device could not be written */
	GT_AGENT_SMALLER_BLOCKS = -9, /* patched kernels cannot have blocks as large as before */
	GT_AGENT_OPENCL = -1000,      /* and below: this and an error code of OpenCL */
};

/* The outcome for a patched image. */
struct gt_agent_result {
	__u32 magic;
	__s32 error; /* the driver's CUresult for the patched image or gt_agent_error; 0: it is
			loaded */
};

/* ---- compiled ------------------------------------------------------------------------- */

enum {
	GT_AGENT_MAX_INPUTS = 64,
	GT_AGENT_MAX_COMPILED = 256 << 20, /* bytes of the cubin and its inputs */
};

enum gt_agent_input_kind {
	GT_AGENT_INPUT_PTX = 1,
	GT_AGENT_INPUT_LTOIR,
	GT_AGENT_INPUT_LIBRARY, /* an archive */
	GT_AGENT_INPUT_CODE,    /* a cubin, a fatbin, or another type that its bytes show */
};

/* A part of the file of GT_AGENT_COMPILED. */
struct gt_agent_part {
	__u64 offset, size;
};

/*
 * The last bytes of that file. The request is answered without a file, so the cubin cannot be
 * loaded before it is known.
 */
struct gt_agent_compiled {
	__u32 magic;
	__u32 input_count;
	struct gt_agent_part cubin;
	struct gt_agent_part inputs[GT_AGENT_MAX_INPUTS];
	__u32 kinds[GT_AGENT_MAX_INPUTS]; /* gt_agent_input_kind */
};

/* ---- programs of OpenCL --------------------------------------------------------------- */

/*
 * The file of GT_AGENT_PROGRAM is chunks, each followed by its bytes. Code ends a unit, to which
 * the options and headers before it belong; the units are linked.
 */
enum gt_agent_chunk_kind {
	GT_AGENT_CHUNK_OPTIONS = 1, /* of clBuildProgram or clCompileProgram */
	GT_AGENT_CHUNK_HEADER_NAME, /* as source includes it; the header's text follows */
	GT_AGENT_CHUNK_HEADER,
	GT_AGENT_CHUNK_SOURCE, /* code: OpenCL C */
	/* Code: SPIR-V, the bitcode of SPIR, or, of another binary, its first bytes or none. */
	GT_AGENT_CHUNK_BINARY,
	/* Options that the device's compiler has without being given them, for all source. */
	GT_AGENT_CHUNK_DEVICE,
	/*
	 * Where all devices have the same: CL_DEVICE_NAME, a line break, CL_DEVICE_VERSION. Of
	 * Level Zero the name alone.
	 */
	GT_AGENT_CHUNK_DEVICE_NAME,
};

struct gt_agent_chunk {
	__u32 kind; /* gt_agent_chunk_kind */
	__u32 reserved;
	__u64 size; /* of the bytes */
};
