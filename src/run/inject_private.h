/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of the collector, for the files that implement it. */
#pragma once

#include "agent/protocol.h"
#include "base/vec.h"
#include "run/host_call_service.h"
#include "run/inject.h"
#include "run/inject_sites.h"
#include "run/recovered.h"

enum {
	GT_INJECT_MAX_KERNELS = 1 << 20, /* whose names are kept */
	GT_INJECT_MAX_CONTROLS = 16,     /* connections of 'gputap probe' */
};

/* The address at which processes map the maps: far from programs, loaders and drivers. */
#define GT_INJECT_MAP_ADDRESS UINT64_C(0x2f0000000000)

/* One image of one process. */
struct gt_inject_connection {
	int fd;
	uid_t user;                    /* of the process */
	bool answered;                 /* the result is awaited */
	struct gt_inject_job *job;     /* its image is not answered yet; NULL: none */
	struct gt_inject_known *known; /* its patched form; NULL: none is kept */
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
 * The memory that the traced processes share: a page with the switches, a u32 per program, then the
 * maps, one after the other, the area of host calls and the shapes of launches, one for each map.
 */
struct gt_inject_memory {
	int fd;
	uint8_t *data; /* mapped */
	size_t size;
	size_t *offsets; /* by map; SIZE_MAX: not used; then that of the output ring */
	uint32_t *copies;
	uint64_t (*words)[2];
	size_t shapes;                 /* the offset of struct gt_patch_shape, by map */
	struct gt_bpf_map_grid *grids; /* by map: for views */
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
	struct gt_inject_memory memory;
	struct gt_inject_calls host_calls;
	struct gt_ring_reader *readers; /* by map, then the output ring; of rings alone */
	uint32_t map_count;
	struct gt_inject_program programs[GT_PATCH_MAX_PROGRAMS];
	struct gt_inject_control control;
	int listener, epoll;
	char socket[96]; /* its name, a '/', and the token of requests */
	struct gt_inject_connection *connections;
	size_t connection_count;
	struct gt_inject_jobs jobs;
	uint32_t next_site, next_kernel;
	GT_VEC(struct gt_inject_kernel) kernels; /* by number, of the first MAX_KERNELS */
	struct gt_inject_sites *sites;
	struct gt_inject_reuse *reuse;
	struct gt_recovered *recovered; /* the PTX of cubins */
	bool recover_always;
	struct gt_inject_events *events; /* NULL: processes get no rings */
	struct gt_inject_coverage coverage;
	uint64_t patching; /* as in gt_inject_progress */
	GT_VEC(struct gt_inject_reason) reasons;
	uint64_t reasons_dropped;
};

/* inject_memory.c: allocate and initialise the maps. 0 or -Exxx; close after errors, too. */
int gt_inject_memory_open(struct gt_inject *inject, struct gt_diag *diag);
void gt_inject_memory_close(struct gt_inject *inject);
/* Send the files of the maps to an agent that asks for them. */
bool gt_inject_memory_send(const struct gt_inject *inject, int socket);

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
void gt_inject_events_send(struct gt_inject_events *events, pid_t pid, bool is_foreign, int socket);

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
