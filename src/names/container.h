/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The id of a container, extracted from the path of a cgroup. */
#pragma once

#include <stdbool.h>

#define GT_CONTAINER_ID 65 /* 64 hexadecimal digits and a NUL */

/*
 * Container engines name a cgroup after the container, each in its own way: docker-ID.scope,
 * docker/ID, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, kubepods/…/pod…/ID,
 * …slice:cri-containerd:ID. Of nested ones the innermost counts. False, and nothing is changed: the
 * path names none.
 */
bool gt_container_id(const char *path, char ret_id[GT_CONTAINER_ID]);
