/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host programs of an object: loaded into the kernel, and attached to the targets that their
 * sections name. An array that both host and GPU programs use is in the kernel's memory, and the
 * GPU accesses it there. A hash that both use is the kernel's, and the GPU accesses it by calls.
 */
#pragma once

#include "gpubpf/map/map.h"
#include "run/host_uprobes.h"

struct gt_host_programs;

/*
 * Finds the host programs and the maps that they use; it asks the kernel for nothing yet. Call it
 * before verifying or translating the GPU programs: it sets `with_host` in the shared maps of
 * `object`, which must outlive the result and whose bytes are used, not the file.
 * 0; -ENOENT: there are no host programs; -EOPNOTSUPP: they use a map in an impossible way; errors
 * of gt_bpf_object_open_all. `pins`: maps with LIBBPF_PIN_BY_NAME are those in /sys/fs/bpf, and
 * stay there; else they are as other maps.
 */
int gt_host_programs_open(struct gt_bpf_object *object, bool pins,
			  struct gt_host_programs **ret_programs, struct gt_diag *diag);
/* Detaches and unloads them. */
void gt_host_programs_close(struct gt_host_programs *programs);
GT_DEFINE_AUTO(host_programs, struct gt_host_programs, gt_host_programs_close)

/* Has the kernel verify and load them. 0, -EPERM, or the kernel's error. */
int gt_host_programs_load(struct gt_host_programs *programs, struct gt_diag *diag);
/* The same, to be attached by gt_host_programs_attach_command. */
int gt_host_programs_load_for_command(struct gt_host_programs *programs, struct gt_diag *diag);
/*
 * Use a map of other host programs, which are loaded, in place of one of these, which are not. 0,
 * or the error of libbpf. Nothing if one of them does not use it.
 */
int gt_host_programs_share(struct gt_host_programs *programs, uint32_t map,
			   const struct gt_host_programs *other, uint32_t other_map,
			   struct gt_diag *diag);
/* Whether there is a program of this name. */
bool gt_host_programs_have(const struct gt_host_programs *programs, const char *name);
/*
 * Descriptors for gt_shared_open, valid after loading: one per map of the object, -1 for maps that
 * are not shared. Owned by `programs`.
 */
const int *gt_host_programs_arrays(const struct gt_host_programs *programs);

/* Attaches all of them, or none. */
int gt_host_programs_attach(struct gt_host_programs *programs, struct gt_diag *diag);
/*
 * The same beside a command, which is not executed yet: programs of uprobes see the calls of the
 * command and its children alone (host_uprobes.h), other programs the whole system.
 */
int gt_host_programs_attach_command(struct gt_host_programs *programs,
				    const struct gt_host_command *command, struct gt_diag *diag);
/* Attach uprobes to the libraries that a process of the command has loaded since. */
void gt_host_programs_attach_process(struct gt_host_programs *programs, pid_t pid);
/*
 * Append what host programs may have missed, a line each: uprobes that found no library (unless
 * these are optional), attachments that failed, processes that were not followed. Nothing if there
 * is nothing to report.
 */
void gt_host_programs_account(const struct gt_host_programs *programs, bool targets_are_optional,
			      struct gt_strbuf *text);
void gt_host_programs_detach(struct gt_host_programs *programs);

/*
 * Call `record` for each new record of the rings that only host programs use. 0; -ENOMEM; an error
 * of libbpf. The kernel counts no records that a full ring drops: the program that writes them gets
 * -EAGAIN.
 */
int gt_host_programs_read_rings(struct gt_host_programs *programs,
				void (*record)(void *context, uint32_t map, const void *data,
					       uint32_t size),
				void *context);

/* Whether a map is the kernel's alone: GPU programs do not use it, or use it by calls. */
bool gt_host_programs_own(const struct gt_host_programs *programs, uint32_t map);
/* Whether a map is a ring, whose records gt_host_programs_read_rings reads. */
bool gt_host_programs_is_ring(const struct gt_host_programs *programs, uint32_t map);
/*
 * Copies the contents of such a map from the kernel; the caller frees view.memory. -EOPNOTSUPP:
 * maps of its type cannot be shown.
 */
int gt_host_programs_read(const struct gt_host_programs *programs, uint32_t map,
			  struct gt_bpf_map_view *ret_view, struct gt_diag *diag);
