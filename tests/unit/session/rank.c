/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rank of a process, from environments as launchers make them. */
#include "session/rank.h"
#include "tap.h"

static struct gt_rank rank;

/* The literal's own NUL ends its last variable. */
#define FIND(text) (rank = (struct gt_rank){0}, gt_rank_find(text, sizeof(text), &rank))

TEST("each launcher's variables have the rank and the number of ranks")
{
	CHECK(FIND("A=b\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=8"));
	CHECK_INT(rank.rank, 3);
	CHECK_INT(rank.ranks, 8);
	CHECK_STR(rank.variable, "OMPI_COMM_WORLD_RANK");
	CHECK(FIND("PMI_RANK=0\0PMI_SIZE=2"));
	CHECK_STR(rank.variable, "PMI_RANK");
	CHECK_INT(rank.rank, 0);
	CHECK(FIND("PMIX_RANK=1"));
	CHECK_INT(rank.ranks, 0);
	CHECK(FIND("SLURM_NTASKS=4\0SLURM_PROCID=2"));
	CHECK_INT(rank.rank, 2);
	CHECK_INT(rank.ranks, 4);
	CHECK(FIND("RANK=5\0WORLD_SIZE=6"));
	CHECK_INT(rank.rank, 5);
	CHECK(FIND("RANK=5"));
	CHECK_INT(rank.rank, 5);
}

TEST("torchrun's rank is taken before that of srun, which started it")
{
	CHECK(FIND("SLURM_PROCID=1\0SLURM_NTASKS=2\0RANK=9\0WORLD_SIZE=16"));
	CHECK_INT(rank.rank, 9);
	CHECK_STR(rank.variable, "RANK");
}

TEST("a RANK without a WORLD_SIZE is taken after those of launchers")
{
	CHECK(FIND("RANK=9\0PMI_RANK=1"));
	CHECK_INT(rank.rank, 1);
}

TEST("what is no rank is not taken for one")
{
	CHECK(!FIND(""));
	CHECK(!FIND("RANK="));
	CHECK(!FIND("RANK=first"));
	CHECK(!FIND("RANK=-1"));
	CHECK(!FIND("RANK=4294967296"));
	CHECK(!FIND("RANK"));
	CHECK(!FIND("MY_RANK=1\0PMI_RANKS=2\0X=RANK=3"));
	CHECK(!gt_rank_find("RANK=12", 7, &rank)); /* its end is missing: it may be 123 */
	CHECK(!gt_rank_find("RANK=12", 0, &rank));
}

TEST_MAIN
