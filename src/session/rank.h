/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rank of a process in a parallel program, from its environment: that of Open MPI
 * (OMPI_COMM_WORLD_RANK), PMIx and PMI (MPICH, Intel MPI), Slurm (SLURM_PROCID) and torchrun
 * (RANK).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_rank {
	uint32_t rank;
	uint32_t ranks;       /* how many there are; 0: unknown */
	const char *variable; /* that has the rank; static */
};

/*
 * Find the rank in an environment: "NAME=VALUE", each with a NUL, as in /proc/PID/environ. Where
 * several variables have one, the launcher that is nearest to the program is taken: torchrun can
 * run under srun, which has one task per machine then. False: there is none.
 */
bool gt_rank_find(const char *environment, size_t size, struct gt_rank *ret_rank);
