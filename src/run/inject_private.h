/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of the collector, for the files that implement it. */
#pragma once

#include "agent/protocol.h"
#include "base/vec.h"
#include "cuda/device.h"
#include "run/host_call_service.h"
#include "run/inject.h"
#include "run/inject_processes.h"
#include "run/inject_sites.h"
#include "run/recovered.h"

enum {
	GT_INJECT_MAX_KERNELS = 1 << 20, /* whose names are kept */
	GT_INJECT_MAX_CONTROLS = 16,     /* connections of 'gputap probe' */
};

/*
 * The addresses at which processes map the two areas of the maps (struct gt_inject_memory): far
 * from programs, loaders and drivers, and from each other, since a driver reserves more than it is
 * asked for.
 */
#define GT_INJECT_HOST_ADDRESS UINT64_C(0x2f0000000000)
#define GT_INJECT_DEVICE_ADDRESS UINT64_C(0x2d0000000000)

/* One image of one process. */
struct gt_inject_connection {
	int fd;
	uid_t user;                        /* of the process */
	bool answered;                     /* the result is awaited */
	struct gt_inject_process *process; /* NULL: it is not followed */
	struct gt_inject_job *job;         /* its image is not answered yet; NULL: none */
	struct gt_inject_known *known;     /* its patched form; NULL: none is kept */
	struct gt_inject_module module;
	uint32_t first_kernel;
	char reason[512]; /* as long as a diag's text */
	char whole_reason[160];
	uint32_t sites[GT_PATCH_MAX_PROGRAMS], kernels[GT_PATCH_MAX_PROGRAMS]; /* by program */
	struct gt_inject_connection *next;
};

/* A program of the session. */
struct gt_inject_program {
	bool off;
	uint32_t kernels;
	uint64_t sites; /* patched */
};

/* Maps on the host, by map, or NULL: none. The area of calls is at `offset` in the memory. */
struct gt_inject_calls {
	void **maps;
	void **copies; /* of these maps, for views */
	size_t offset;
	struct gt_host_calls calls;
	struct gt_host_call_service *service;
};

/* The socket of 'gputap probe'. */
struct gt_inject_control {
	int listener, epoll;
	int fds[GT_INJECT_MAX_CONTROLS];
	uint32_t next; /* the one to be replaced */
};

/*
 * The memory that the traced processes share, a file of two areas.
 *
 * The host area: maps that host programs or the program's own threads access, too, the area of
 * host calls, and the clocks of OpenCL devices, where a program reads one. It is host memory that
 * GPUs reach.
 *
 * The device area: the other maps, the switches, a u32 per program, and the shapes of launches, one
 * for each map. It is memory of a GPU (inject_devices.c); processes that cannot map that have the
 * area in the file.
 */
struct gt_inject_memory {
	int fd;
	uint8_t *data; /* mapped */
	size_t size, host_size;
	size_t *offsets; /* by map; SIZE_MAX: not used; then that of the output ring */
	uint32_t *copies;
	uint64_t (*words)[2];
	size_t switches, shapes;         /* offsets; of struct gt_patch_shape, by map */
	size_t clocks;                   /* of struct gt_cycle_clock, by the number of the device */
	struct gt_bpf_map_grid *grids;   /* by map: for views */
	struct gt_inject_merged *merged; /* by map: for views of several areas */
	struct gt_sparse *sparse;        /* by map: for views */
	bool device_in_file;             /* a process has the device area in the file */
	bool is_accessed;                /* patched code accesses the memory itself */
	pid_t copied_by;                 /* the process whose devices get copies of it; 0: none */
};

/* What a map has in several areas together: a file, mapped. Without memory there is none yet. */
struct gt_inject_merged {
	uint8_t *memory;
	size_t size;
	int fd;
};

/* A ring in the memory of a GPU. */
struct gt_inject_ring {
	struct gt_ring_reader reader; /* of the mirror */
	uint64_t returned;            /* the tail up to which credit was returned */
	uint32_t round;               /* the last one in which it was read */
};

/* The device area in the memory of a GPU. */
struct gt_inject_copy {
	uint8_t uuid[16];
	struct gt_device *device;
	struct gt_device_memory memory;
	int fd;          /* by which processes map it */
	uint8_t *mirror; /* what was read of it last; a file's, mapped */
	uint8_t *pages;  /* for large reads; NULL: none yet */
	int mirror_fd;   /* its holes are known */
	size_t size;
	struct gt_inject_ring *rings; /* by map, then the output ring */
	bool failed;                  /* it cannot be read any more */
};

struct gt_inject_devices {
	bool enabled;
	char *library; /* of the driver; NULL: by the loader */
	struct gt_driver *driver;
	GT_VEC(struct gt_inject_copy) copies;
	char remark[640]; /* gt_inject_map_remark; "": none */
	uint32_t round;   /* counts gt_inject_poll */
	bool busy;        /* a ring had records in this round */
};

/* The directory that modules are saved in. */
struct gt_inject_save {
	int directory;    /* -1: none */
	char remark[640]; /* gt_inject_save_remark; "": none */
};

/* Images that are not answered yet (inject_job.h). */
struct gt_inject_jobs {
	struct gt_inject_worker *worker;
	struct gt_inject_job *patching;     /* NULL: the worker has nothing to do */
	struct gt_inject_job *first, *last; /* that wait */
	size_t count;
};

/* A kernel that has programs. */
struct gt_inject_kernel {
	char *name; /* mangled; NULL: out of memory */
	uint32_t capability;
	uint32_t registers; /* gt_inject_registers */
};

struct gt_inject {
	struct gt_inject_options options;
	struct gt_inject_opencl *opencl; /* NULL: no program depends on the device */
	struct gt_inject_memory memory;
	struct gt_inject_devices devices;
	struct gt_inject_calls host_calls;
	struct gt_ring_reader *readers; /* by map, then the output ring; of rings alone */
	uint32_t map_count;
	struct gt_inject_program programs[GT_PATCH_MAX_PROGRAMS];
	struct gt_inject_control control;
	int listener, epoll;
	char socket[96]; /* its name, a '/', and the token of requests */
	struct gt_inject_connection *connections;
	size_t connection_count;
	struct gt_inject_processes *processes; /* that have connected */
	unsigned still_running;                /* gt_inject_still_running */
	struct gt_inject_jobs jobs;
	struct gt_inject_save save;
	uint32_t next_site, next_kernel;
	GT_VEC(struct gt_inject_kernel) kernels; /* by number, of the first MAX_KERNELS */
	struct gt_inject_sites *sites;
	struct gt_inject_reuse *reuse;
	struct gt_recovered *recovered; /* the PTX of cubins */
	bool recover_always;
	struct gt_inject_events *events; /* NULL: processes get no rings */
	struct gt_inject_names *names;
	struct gt_inject_coverage coverage;
	uint64_t patching; /* as in gt_inject_progress */
	GT_VEC(struct gt_inject_reason) reasons;
	uint64_t reasons_dropped;
};

/* inject_memory.c: allocate and initialise the maps. 0 or -Exxx; close after errors, too. */
int gt_inject_memory_open(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_memory_close(struct gt_inject *inject);
/* Send the files of the host area to an agent that asks for them. */
bool gt_inject_memory_send(const struct gt_inject *inject, int socket);
/* The same of the device area: on the GPU that the request names, or in the file. */
bool gt_inject_memory_send_device(struct gt_inject *inject, const struct gt_agent_request *request,
				  int socket);
/* The address of an offset in the traced processes. */
uint64_t gt_inject_address(const struct gt_inject *inject, size_t offset);
/* A map of the object, or the output ring. */
const struct gt_bpf_map *gt_inject_map(const struct gt_inject *inject, uint32_t number);
/* The kernel's array of a map, or -1. */
int gt_inject_array_of(const struct gt_inject *inject, uint32_t number);
/*
 * Code of a module is to access the maps. Devices that get copies of them need them alone, since
 * writers of rings do not see each other. 0, or -EBUSY: the maps cannot be shared with the others.
 */
int gt_inject_memory_take(struct gt_inject *inject, const struct gt_inject_module *module,
			  struct gt_diag *diag);
/* Initialise the device area, all zeros, for processes that begin to use it. */
void gt_inject_memory_initialise(const struct gt_inject *inject, uint8_t *area);

/* inject_devices.c: keep a remark on the maps, of which the first counts, and why it is so. */
#define GT_INJECT_ON_HOST "maps are in host memory, which is slow"
#define GT_INJECT_NOT_READ "maps were not read to the end"
void gt_inject_maps_failed(struct gt_inject *inject, const char *what, const char *reason);
/* No process maps the memory any more. */
void gt_inject_devices_close(struct gt_inject *inject);
/*
 * The device area on a GPU, which is made if there is none. NULL: it cannot be, or the maps are to
 * be in host memory. Valid until the next call.
 */
const struct gt_inject_copy *gt_inject_copy_on(struct gt_inject *inject, const uint8_t uuid[16]);
/* Read a part of the file's device area from a copy: where it is in the mirror. */
const uint8_t *gt_inject_copy_read(struct gt_inject *inject, struct gt_inject_copy *copy,
				   size_t offset, size_t size);
/* Write a part of the file's device area to all copies. */
void gt_inject_copies_write(struct gt_inject *inject, size_t offset, size_t size);
/* The next record of a ring in a copy: as gt_ring_reader_next, but each is read once per round. */
int gt_inject_copy_next(struct gt_inject *inject, struct gt_inject_copy *copy, uint32_t map,
			const void **ret_record, uint32_t *ret_size);

/* inject_map_use.c: whether all programs only add to the values of a map. */
bool gt_inject_is_sum(const struct gt_inject_options *options, uint32_t map);

/* inject_maps.c: free what views need. */
void gt_inject_maps_close(struct gt_inject *inject);

/* inject_calls.c: allocate a map on the host; serve its calls, once the memory is there; end. */
int gt_inject_calls_plan(struct gt_inject *inject, uint32_t number, struct gt_diag *diag);
int gt_inject_calls_start(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_calls_stop(struct gt_inject *inject);
/* Copy a map on the host while no call changes it. Valid until the next copy. */
const void *gt_inject_calls_read(struct gt_inject *inject, uint32_t number);

/* inject_control.c: create the socket of 'gputap probe'. 0 or -Exxx; close after errors, too. */
int gt_inject_control_open(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_control_close(struct gt_inject *inject);
/* Answer requests that have arrived. */
void gt_inject_control_poll(struct gt_inject *inject);

/* inject_events.c: rings of `capacity` bytes. NULL: errno says why. */
struct gt_inject_events *gt_inject_events_new(uint32_t capacity);
void gt_inject_events_free(struct gt_inject_events *events);
/* Answer a request for the table of calls. */
void gt_inject_events_send_table(struct gt_inject_events *events, int socket);
/* Send a new ring to the agent of a process. is_foreign: it is in another pid namespace. */
void gt_inject_events_send(struct gt_inject_events *events,
			   const struct gt_inject_connection *connection, bool is_foreign);

/* inject_reasons.c: count a reason as in gt_inject_reason. */
void gt_inject_reason_add(struct gt_inject *inject, uint32_t program, const char *text,
			  const char *function, uint32_t sites, uint32_t modules);
void gt_inject_reasons_clear(struct gt_inject *inject);

/* inject_listen.c: create the socket. 0 or -Exxx. */
int gt_inject_listen(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_disconnect(struct gt_inject *inject, struct gt_inject_connection *connection);

/* The image of a connection is answered: wait for the result, or disconnect. */
void gt_inject_answered(struct gt_inject *inject, struct gt_inject_connection *connection);

/* inject_job.c: start the worker. 0 or -Exxx; close after errors, too. */
int gt_inject_jobs_open(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_jobs_close(struct gt_inject *inject);
/* Readable when gt_inject_jobs_poll has something to do. */
int gt_inject_jobs_fd(const struct gt_inject *inject);
void gt_inject_jobs_poll(struct gt_inject *inject);
/* Answer all, however long it takes. */
void gt_inject_jobs_finish(struct gt_inject *inject);
/*
 * Answer a request with the image in `file`, which it owns from now on: at once, or later. False:
 * no memory.
 */
bool gt_inject_jobs_add(struct gt_inject *inject, struct gt_inject_connection *connection,
			const struct gt_agent_request *request, int file);

/* inject_save.c: open the directory of the options, if any. 0 or -Exxx. */
int gt_inject_save_open(struct gt_inject *inject, struct gt_diag *diag);

/* inject_image.c */
/* Take the report about a cubin in `file`, and reply. */
void gt_inject_image_compiled(struct gt_inject *inject, struct gt_inject_connection *connection,
			      const struct gt_agent_request *request, int file);
/* Reply whether a program may match one of the names in `file`. */
void gt_inject_image_names(struct gt_inject *inject, struct gt_inject_connection *connection,
			   const struct gt_agent_request *request, int file);
/* Reply whether nothing is known to be inserted into the image of a fingerprint. */
void gt_inject_image_fingerprint(struct gt_inject *inject, struct gt_inject_connection *connection,
				 const struct gt_agent_request *request);
/* The process loads the original although there is a patched image. */
void gt_inject_image_reject(struct gt_inject *inject, struct gt_inject_connection *connection,
			    const char *reason);
/* The same, because of an error of the driver (CUresult) or the agent. */
void gt_inject_image_fail(struct gt_inject *inject, struct gt_inject_connection *connection,
			  int error);
