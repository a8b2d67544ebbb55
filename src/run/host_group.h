/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host programs of several objects (gpubpf/object/merge.h), as gt_host_programs has those of
 * one. Maps have their numbers in the whole.
 */
#pragma once

#include "gpubpf/object/merge.h"
#include "run/host_programs.h"

struct gt_host_group;

/*
 * Find the host programs of all parts, and the maps that they use: before the parts are merged. 0;
 * -ENOENT: none has host programs; errors of gt_host_programs_open. `parts` must outlive the group.
 */
int gt_host_group_open(const struct gt_bpf_parts *parts, struct gt_host_group **ret_group,
		       struct gt_diag *diag);
void gt_host_group_close(struct gt_host_group *group);
GT_DEFINE_AUTO(host_group, struct gt_host_group, gt_host_group_close)

/* As the functions of gt_host_programs; a map that parts share is created once. */
int gt_host_group_load_for_command(struct gt_host_group *group, struct gt_diag *diag);
const int *gt_host_group_arrays(const struct gt_host_group *group);
int gt_host_group_attach_command(struct gt_host_group *group, const struct gt_host_command *command,
				 struct gt_diag *diag);
void gt_host_group_attach_process(struct gt_host_group *group, pid_t pid);
void gt_host_group_account(const struct gt_host_group *group, bool targets_are_optional,
			   struct gt_strbuf *text);
void gt_host_group_detach(struct gt_host_group *group);
int gt_host_group_read_rings(struct gt_host_group *group,
			     void (*record)(void *context, uint32_t map, const void *data,
					    uint32_t size),
			     void *context);

/*
 * The host programs that alone use a map of the whole, with its number in their object. NULL: GPU
 * programs use it, or no host program does.
 */
const struct gt_host_programs *gt_host_group_owner(const struct gt_host_group *group, uint32_t map,
						   uint32_t *ret_number);
