/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The collector: patches the images that the agents of traced processes hand over
 * (agent/protocol.h) and owns the memory of the programs' maps, which these processes share.
 * Whatever comes from a process is hostile: it is bounded and parsed, and only the bytes that were
 * parsed are returned.
 *
 * Maps are in the memory of the GPUs that execute patched code. Those that host programs access,
 * too, are in host memory that the GPUs reach, and so are all where gputap cannot share memory of a
 * GPU with the command. Every process has them at the same address.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent/ring.h"
#include "gpubpf/filter.h"
#include "gpubpf/map/ring_reader.h"
#include "patch/image.h"

/* The outcome for an image that a process loads. */
struct gt_inject_module {
	pid_t pid;
	uint32_t number;           /* counts images from 1 */
	enum gt_patch_scope scope; /* NONE: the original was loaded */
	bool cached;               /* the patched text was made before, possibly by another run */
	bool copied;               /* its device gets copies of the maps (opencl/merge.h) */
	const char *whole_reason;  /* WHOLE: why the matched kernels alone would not do */
	uint32_t kernels;          /* matched */
	uint32_t module_kernels;   /* of the module, matched or not */
	uint32_t compiled;         /* of those, in the patched module */
	uint32_t found, patched, rejected;
	const char *reason; /* why the original was loaded, or programs were rejected; or NULL */
};

/* Sums over all images. */
struct gt_inject_coverage {
	uint32_t modules;         /* handed over */
	uint32_t modules_patched; /* loaded with programs: side and whole modules */
	uint32_t modules_side;    /* of those, the matched kernels alone beside the original */
	uint32_t modules_copied;  /* of those, with devices that get copies of the maps */
	uint32_t modules_sass;    /* without PTX for the device */
	uint32_t modules_source;  /* in OpenCL C, which cannot be compiled here */
	uint32_t modules_binary;  /* of OpenCL, without portable intermediate code */
	uint32_t modules_failed;  /* malformed, or rejected by the driver once patched */
	uint32_t kernels;         /* matched, in the modules that were patched */
	uint32_t compiled;        /* kernels of these modules that were compiled again */
	uint64_t found, patched, rejected;
	/* Of those patched: in bodies of OpenCL kernels, of programs that run once per warp. There
	 * each work-item is a group of its own: what they say of other lanes is not known. */
	uint64_t by_work_item;
	/* Not accepted: out of memory, or too many at once. Their originals were loaded. */
	uint64_t connections_dropped;
	uint64_t ptx_dropped; /* of cubins, to limit the memory: they are SASS only */
};

struct gt_host_group;

struct gt_inject_options {
	const struct gt_bpf_object *object;
	const struct gt_patch_program *programs; /* verified */
	uint32_t program_count;
	uint32_t threads;           /* of a launch: copies of maps that have one per thread */
	const char *const *kernels; /* as in gt_patch_options */
	uint32_t kernel_count;
	bool switchable;      /* gt_inject_switch, 'gputap probe on' and 'off' */
	bool switched_off;    /* initially */
	bool host_maps;       /* keep all maps in host memory */
	bool reads_registers; /* gt_inject_registers */
	/* By program, as inserted before it (gpubpf/filter.h); NULL: none. Changed by 'gputap
	 * probe'. */
	struct gt_bpf_filter *filters;
	/* Those of the object, loaded; NULL: none. Maps that they share are the kernel's. */
	struct gt_host_group *host_programs;
	/* Where files for later runs are kept, in directories of their own (base/file_cache.h);
	 * NULL: nowhere. */
	const char *cache;
	/*
	 * A directory, created if there is none, to which each module that is loaded with programs
	 * is written by its number: module-N.ptx (several that are linked: module-N-1.ptx, …), or
	 * of OpenCL module-N.spv; NULL: none.
	 */
	const char *save_in;
	/*
	 * Bytes of data of the ring that each process gets for its events (agent/ring.h), a power
	 * of 2; 0: processes get none.
	 */
	uint32_t event_bytes;
	/* Called for each image with its outcome; may be NULL. */
	void (*report)(void *context, const struct gt_inject_module *module);
	/* Called before an image is patched; may be NULL. */
	void (*progress)(void *context);
	void *context;
};

struct gt_inject;

/*
 * Give stripes (gpubpf/program.h) to the maps of the object to which the verified programs only
 * add, before gt_inject_open: an atomic addition to one address delays all multiprocessors.
 */
void gt_inject_stripe_maps(struct gt_bpf_object *object, const struct gt_patch_program *programs,
			   uint32_t count);

/* Allocate the maps and listen. Everything in the options must outlive the result. 0 or -Exxx. */
int gt_inject_open(const struct gt_inject_options *options, struct gt_inject **ret_inject,
		   struct gt_diag *diag);
void gt_inject_close(struct gt_inject *inject);
GT_DEFINE_AUTO(inject, struct gt_inject, gt_inject_close)

/*
 * Set the table of the calls that the processes record (agent/call_table.h), which is copied.
 * Before the command starts. 0 or -Exxx.
 */
int gt_inject_set_calls(struct gt_inject *inject, const void *table, size_t size,
			struct gt_diag *diag);

/* The value of the environment variable GT_AGENT_SOCKET. */
const char *gt_inject_socket(const struct gt_inject *inject);

/*
 * Whether cubins whose PTX is known are replaced by it even where nothing is inserted: for devices
 * that execute PTX alone.
 */
void gt_inject_recover_always(struct gt_inject *inject, bool always);

/*
 * The driver of the command's GPU, by which gputap shares its memory: soft: the software GPU. Else
 * all maps are in host memory. 0 or -Exxx.
 */
int gt_inject_use_driver(struct gt_inject *inject, bool soft, struct gt_diag *diag);

/* Readable when there is something to do. */
int gt_inject_fd(const struct gt_inject *inject);
/* Do it. 0 or -Exxx; errors of single processes are part of the coverage. */
int gt_inject_poll(struct gt_inject *inject, struct gt_diag *diag);
/* The same, and wait for the modules that are being patched. */
int gt_inject_finish(struct gt_inject *inject, struct gt_diag *diag);

/* Switch a program on or off, also in kernels that run. The options have `switchable`. */
void gt_inject_switch(struct gt_inject *inject, uint32_t program, bool on);
/*
 * Change a program's filter, also in kernels that run. when: a condition (gt_bpf_filter_parse), or
 * NULL: as it is; period: 0: as it is. 0; -EPERM: the program has no filter; errors of
 * gt_bpf_filter_change.
 */
int gt_inject_change_filter(struct gt_inject *inject, uint32_t program, const char *when,
			    uint32_t period, struct gt_diag *diag);
/* A program's filter, or NULL. */
struct gt_bpf_filter *gt_inject_filter(const struct gt_inject *inject, uint32_t program);
/* The runs of a program that sampling skipped. */
uint64_t gt_inject_skipped(struct gt_inject *inject, uint32_t program);

/* Of all processes. */
struct gt_inject_event_counts {
	uint64_t counts[GT_AGENT_COUNTS]; /* by the processes */
	uint64_t malformed;               /* records, and rings that are not read any more */
	uint64_t unread;                  /* records that were begun, and not completed */
	uint32_t rings, rings_dropped;    /* processes that got a ring, or none: too many */
};

/*
 * Read the events in the rings: their header's process is set, they are checked (gt_event_check),
 * and valid during the call. ring: counts the rings from 1. event NULL: no more follow in a ring.
 * An event `exit` before that: its process has ended, and did not execute another program. Returns
 * whether more may be there: a round is bounded.
 */
typedef void gt_inject_take_event(void *context, uint64_t ring, const struct gt_event *event);
bool gt_inject_read_events(struct gt_inject *inject, gt_inject_take_event *take, void *context);
struct gt_inject_event_counts gt_inject_event_counts(const struct gt_inject *inject);
/* Processes whose agents have connected, and that have not ended. */
unsigned gt_inject_count_running(const struct gt_inject *inject);
/* The same, at the end of the command of gt_inject_run. */
unsigned gt_inject_still_running(const struct gt_inject *inject);
/* Change what happens to calls of APIs, in running processes and in later ones. */
void gt_inject_set_calls_mode(struct gt_inject *inject, enum gt_agent_calls_mode mode);

struct gt_inject_coverage gt_inject_coverage(const struct gt_inject *inject);

enum {
	GT_INJECT_NEAREST = 3,
};
#define GT_INJECT_OPTION UINT32_MAX

/*
 * A glob, or one name of a list, in a program's section or in the options' kernels. It matches a
 * kernel that a section and the kernels both select.
 */
struct gt_inject_pattern {
	uint32_t program; /* in the options; GT_INJECT_OPTION: a glob of the options' kernels */
	const char *text;
	bool of_functions; /* of device functions, not of kernels */
	/* The most similar names that modules had, from a process: hostile; NULL: no more. */
	const char *nearest[GT_INJECT_NEAREST];
};
/*
 * The next pattern that matched nothing so far, in the modules whose PTX or SPIR-V was examined.
 * *cursor is 0 at first. Valid until the next gt_inject_poll. False: no more.
 */
bool gt_inject_unmatched_pattern(const struct gt_inject *inject, size_t *cursor,
				 struct gt_inject_pattern *ret_pattern);

/* Why sites were rejected, or modules were loaded as they are. */
struct gt_inject_reason {
	uint32_t program;     /* in the options; GT_INJECT_MODULE: it concerns modules as a whole */
	const char *text;     /* from the patcher, the driver or a module: hostile */
	const char *function; /* mangled, the first one with such sites; NULL: none */
	uint64_t sites;
	uint32_t modules; /* GT_INJECT_MODULE: how many */
};
#define GT_INJECT_MODULE UINT32_MAX
/*
 * The reasons so far, in the order in which they occurred, owned by `inject`. *ret_dropped: how
 * often there was no room for another reason.
 */
size_t gt_inject_reasons(const struct gt_inject *inject,
			 const struct gt_inject_reason **ret_reasons, uint64_t *ret_dropped);

/* The work on modules. */
struct gt_inject_progress {
	uint32_t modules;   /* done */
	uint32_t kernels;   /* matched, in these */
	uint32_t compiling; /* patched modules that processes compile and load */
	const char *kernel; /* mangled, in one of these; NULL: none is known */
	uint64_t patching;  /* size of the image that is being patched; 0: none */
};
struct gt_inject_progress gt_inject_progress(const struct gt_inject *inject);

/* Calls of GPU programs to the host, for maps on the host, that were not answered. */
uint64_t gt_inject_calls_lost(const struct gt_inject *inject);

/* The mangled name of a kernel by the context's `kernel`; NULL: there is none of that number. */
const char *gt_inject_kernel(const struct gt_inject *inject, uint32_t number);
/* The compute capability of the device that it was loaded for, 75 for 7.5; 0: unknown. */
uint32_t gt_inject_capability(const struct gt_inject *inject, uint32_t number);
/*
 * The registers of a thread of the kernel without programs, from the code that the driver would
 * choose for this device; 0: unknown: the driver compiles it from PTX, or they are not read.
 */
uint32_t gt_inject_registers(const struct gt_inject *inject, uint32_t number);

/* A position in a source file. */
struct gt_inject_location {
	const char *file;     /* as the compiler wrote it; "?": unknown */
	const char *function; /* mangled, of an inlined function; NULL: not inlined, or unknown */
	uint32_t line, column;
};

/* A site of a module that was patched. */
struct gt_inject_site {
	const char *function; /* mangled: a kernel, or a device function */
	bool is_kernel;
	uint32_t kinds;   /* bit n: of gt_section_kind n */
	uint32_t line;    /* of the PTX text */
	const char *text; /* the PTX instruction, shortened; "": the start or end of the function */
	/* At a branch back to the start of a loop, and at its ends: the PTX line of its label, or
	 * 0.
	 */
	uint32_t loop_line;
	/* The source line, then those of the calls that were inlined; none without line
	 * information. */
	const struct gt_inject_location *locations;
	uint32_t location_count;
};

/*
 * The site of the context's `site`. The texts come from the traced process; they are valid until
 * the next gt_inject_poll. False: there is none of that number, or no memory was left for it.
 */
bool gt_inject_site(const struct gt_inject *inject, uint32_t number,
		    struct gt_inject_site *ret_site);
/* Sites up to now; those from *ret_kept on are not kept. */
uint32_t gt_inject_site_count(const struct gt_inject *inject, uint32_t *ret_kept);

/*
 * That maps are in host memory although they need not be, or could not be read, and why; NULL:
 * neither is the case.
 */
const char *gt_inject_map_remark(const struct gt_inject *inject);
/* That patched modules could not be saved, and why; NULL: they were, or need not be. */
const char *gt_inject_save_remark(const struct gt_inject *inject);
/* Whether a ring had records since the last gt_inject_poll: there may be more soon. */
bool gt_inject_is_busy(const struct gt_inject *inject);

/* Whether programs use a map; it is one of the object. */
bool gt_inject_has_map(const struct gt_inject *inject, uint32_t map);
/* The map as it is now; `grid`, and `memory` on the host, are valid until its next view. */
struct gt_bpf_map_view gt_inject_view(struct gt_inject *inject, uint32_t map);
/* The next record of a ring: as gt_ring_reader_next. */
int gt_inject_next_record(struct gt_inject *inject, uint32_t map, const void **ret_record,
			  uint32_t *ret_size);
/* Append the output since the last call. *ret_lost: lines that were dropped since the start. */
int gt_inject_print(struct gt_inject *inject, struct gt_strbuf *text, uint64_t *ret_lost);
