/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of the machine, grids, blocks, warps and groups of lanes.
 *
 * Lanes of a warp that share a program counter and call depth are a group and run together.
 * A function's code is laid out so that the point where paths reconverge comes after all of them
 * (decode/layout.h). The group that is deepest in calls and then lowest in the code runs first;
 * groups merge when they reach the same point.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exec/engine/code.h"
#include "exec/engine/memory.h"
#include "exec/engine/texture.h"
#include "exec/exec.h"

#define SG_FULL 0xffffffffu
#define sg_likely(condition) __builtin_expect(!!(condition), 1)
#define sg_unlikely(condition) __builtin_expect(!!(condition), 0)

enum {
	SG_BARRIERS = 16,             /* of a block */
	SG_MAX_ERROR = 1001,          /* values of cudaError_t; the last one: unknown */
	SG_MAX_DEPTH = 8192,          /* nested calls */
	SG_CALL_COST = 32,            /* bytes of stack of a call beside the callee's frame */
	SG_WINDOW_SIZE = 16 << 20,    /* bytes of each window */
	SG_MAX_REGISTERS = 64 << 10,  /* 32-bit registers of a multiprocessor */
	SG_RESERVED_SHARED = 1 << 10, /* bytes of a block's shared memory, for the system */
};

struct sg_block;
struct sg_cluster;
struct sg_grid;

struct sg_access {
	uint64_t address[SG_WARP_SIZE]; /* in this process; inactive lanes have that of an active
					   one */
	uint8_t pattern;                /* enum sg_pattern */
};

enum sg_pattern {
	SG_PATTERN_ANY,
	SG_PATTERN_UNIFORM,    /* one address for all lanes */
	SG_PATTERN_CONTIGUOUS, /* ascending by lane; only if all lanes are active */
};

enum sg_group_state {
	SG_GROUP_READY,
	SG_GROUP_BARRIER, /* waits at a barrier of the block */
	SG_GROUP_SYNC,    /* waits for lanes of its warp */
};

/* Lanes at the same point of the program. */
struct sg_group {
	const struct sg_instruction *at; /* to run next; of a waiting group: where it waits */
	const struct sg_function *function;
	char *frame;
	uint32_t mask;
	uint32_t depth;
	uint8_t state;
	uint8_t barrier;
};

/* The operands and results of the lanes of an instruction that exchanges values. */
struct sg_exchange {
	uint64_t value[SG_WARP_SIZE];
	uint32_t members[SG_WARP_SIZE];
	uint32_t b[SG_WARP_SIZE];
	uint32_t c[SG_WARP_SIZE];
	uint64_t result[SG_WARP_SIZE];
	uint32_t predicates; /* one bit per lane, in */
	uint32_t predicate_result;
};

/* Registers that a recursive call saves for its caller. */
struct sg_saved_frame {
	const struct sg_function *function;
	uint32_t mask;
	struct sg_saved_frame *next;
	char slots[] __attribute__((aligned(64)));
};

/* Where the lanes at one call depth return to. */
struct sg_call_level {
	const struct sg_instruction *call[SG_WARP_SIZE];
	const struct sg_function *function[SG_WARP_SIZE];
	uint32_t stack[SG_WARP_SIZE]; /* the caller's frame in local memory */
	uint32_t top[SG_WARP_SIZE];
	struct sg_saved_frame *saved;
};

enum sg_stop {
	SG_STOP_NONE,
	SG_STOP_YIELD,   /* its turn is over */
	SG_STOP_SPIN,    /* its turn is over, and it appears to wait for another thread */
	SG_STOP_BLOCKED, /* all groups wait */
	SG_STOP_DONE,    /* all lanes have exited */
	SG_STOP_FAULT,
};

/*
 * What a warp waits for: that (*word & mask) is no longer `value`. It is no more than a hint: the
 * warp runs again after some turns of the others, or if no other can run.
 */
struct sg_park {
	const uint64_t *word; /* in the block's shared memory; NULL: the warp is not parked */
	uint64_t mask, value;
	const struct sg_instruction *at; /* the instruction that parked the warp; NULL: none */
	uint32_t lanes;                  /* that execute it */
	uint32_t turns;                  /* that it was skipped */
	bool is_over; /* the instruction completes now, although the word has not changed */
};

struct sg_warp {
	char *frame;   /* of the running group */
	uint32_t exec; /* active lanes of the current instruction */
	uint32_t mask; /* lanes of the running group */
	/* The lowest point of another ready group: there sg_warp_reconverge is called. */
	const struct sg_instruction *reconvergence;
	int32_t ticks;   /* backward branches until the turn is over */
	uint32_t carry;  /* CC.CF of each lane */
	uint64_t issued; /* instructions of this turn */
	uint64_t pseudo; /* of those, instructions that are not in the PTX */

	struct sg_block *block;
	struct sg_grid *grid;
	struct sg_machine *machine;
	char *registers;
	char *local;      /* lane by lane, grid->local_stride each */
	uint32_t number;  /* in the block */
	uint32_t live;    /* lanes that have not exited */
	uint32_t depth;   /* of the running group */
	uint32_t current; /* index of the running group; UINT32_MAX: none */
	uint32_t waited;  /* index of the group that started to wait last */
	uint32_t group_count;
	uint32_t ready;         /* groups that can run */
	uint32_t promoted;      /* reconvergence points that the running group still passes */
	uint32_t patience;      /* `promoted` of the next promotion */
	uint32_t last_promoted; /* lowest lane of the group that was promoted */
	uint32_t turns_in_step; /* without promotions, in code for old targets */
	uint32_t rejoined;      /* turns that sg_warp_rejoin has ended */
	uint8_t stop;
	bool spinning;
	bool overtakes; /* a promoted group runs while others compute rather than spin */
	struct sg_park park;
	uint64_t counted; /* `issued` when lanes were last counted */
	uint64_t lane_instructions;
	const struct sg_function *function;
	struct sg_group groups[SG_WARP_SIZE + 1];
	uint32_t stack[SG_WARP_SIZE]; /* the running functions' frames in local memory */
	uint32_t top[SG_WARP_SIZE];   /* where the next frame starts */
	uint32_t arrived[SG_BARRIERS];
	uint32_t cluster_arrived; /* lanes that have arrived at the cluster's barrier */
	uint32_t cluster_phase[SG_WARP_SIZE];
	struct sg_call_level **levels;
	uint32_t level_count;
	struct sg_exchange exchange;
};

struct sg_barrier {
	uint32_t expected; /* threads; 0: all of the block */
	bool is_used;      /* a thread has arrived */
	uint32_t votes;    /* threads whose predicate was true */
	uint32_t voters;
};

struct sg_block {
	struct sg_grid *grid;
	struct sg_cluster *cluster; /* NULL: none */
	uint32_t index[3];
	uint32_t multiprocessor;
	uint32_t warp_count;
	uint32_t done; /* warps */
	uint32_t turn; /* the warp that runs next */
	char *shared;
	uint64_t clock_base; /* of its multiprocessor, at the start of this turn of a warp */
	struct sg_barrier barriers[SG_BARRIERS];
	uint64_t warp_instructions, thread_instructions;
	struct sg_block *next; /* suspended or free */
	bool has_fills;
	uint64_t memory_size;
	struct sg_warp warps[];
};

/* Windows of generic addresses, one after the other. */
struct sg_windows {
	uint64_t shared, local, parameter, code, end;
};

struct sg_heap;
struct sg_lane_table;

struct sg_nested;

struct sg_nested_list {
	struct sg_nested *first, *last;
};

struct sg_grid {
	struct sg_machine *machine;
	const struct sg_function *kernel;
	struct sg_launch launch;
	uint8_t *parameters;
	uint32_t *workspace; /* of cooperative grids: see grid.c */
	uint64_t block_count;
	uint32_t threads, warps;
	uint32_t shared_size;     /* all that may be accessed */
	uint32_t reserved_offset; /* of the system's part, which comes last */
	uint64_t registers_size, local_stride, local_size, block_size;
	uint64_t shared_offset, local_offset, registers_offset; /* in a block's memory */
	uint64_t deadline;                                      /* CLOCK_MONOTONIC ns; 0: none */
	uint64_t next_block;
	uint64_t finished;
	uint64_t resident_limit, resident;
	uint32_t stop;    /* after a fault: all blocks stop */
	uint32_t workers; /* threads that run it */
	struct sg_block *suspended, **suspended_last;
	struct sg_block *free_blocks;
	bool has_clusters;
	uint32_t cluster_size; /* blocks */
	struct sg_cluster *clusters, *free_clusters, *open_cluster;
	uint64_t *cycles; /* by multiprocessor */
	uint64_t warp_instructions, thread_instructions;
	bool out_of_memory;
	struct sg_fault fault;
	/* Launches by its kernels: see nested.c. */
	uint32_t depth; /* 0: the host launched it */
	uint32_t nested_count;
	uint32_t launch_error; /* cudaError_t */
	struct sg_nested *prepared;
	struct sg_nested_list launches, tail_launches;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sg_grid *next; /* of the machine's */
};

struct sg_machine {
	struct sg_memory memory;
	struct sg_textures textures;
	struct sg_windows windows;
	struct sg_host host;
	uint32_t multiprocessors;
	uint32_t worker_count;
	pthread_t *workers;
	pthread_mutex_t lock; /* of all members below */
	pthread_cond_t work;
	struct sg_grid *grids;
	bool ends;
	bool interrupted;
	uint64_t error_texts[2][SG_MAX_ERROR]; /* of cudaGetErrorString, cudaGetErrorName; or 0 */
	uint64_t timeout_ns, stack_size;
	uint64_t *clocks; /* cycles of each multiprocessor */
	uint32_t next_address_number;
	struct sg_heap *heap;
	struct sg_block *cached_blocks; /* memory of blocks of finished grids */
	size_t cached_bytes;
	uint64_t fence;
	uint64_t last_grid; /* id */
	const struct sg_lane_table *lanes;
};

/* ---- warps (warp.c) -------------------------------------------------------------------- */

/* Continues at `to`, where other groups may be: merges with them, or runs a lower group. */
const struct sg_instruction *sg_warp_reconverge(struct sg_warp *warp,
						const struct sg_instruction *to);
/* Lanes `taken` continue at `to`, the others of the running group at `otherwise`. */
const struct sg_instruction *sg_warp_diverge(struct sg_warp *warp, uint32_t taken,
					     const struct sg_instruction *to,
					     const struct sg_instruction *otherwise);
/* Ends the turn, when ticks ran out; the group continues at `to`. */
const struct sg_instruction *sg_warp_tick(struct sg_warp *warp, const struct sg_instruction *to);
/*
 * For an instruction that depends on which lanes execute it together: end the turn if the running
 * group was promoted, so that the groups that it has overtaken come to `at`, too, and if another
 * group has ended its turn there. False: it is to be executed by the active lanes.
 */
bool sg_warp_rejoin(struct sg_warp *warp, const struct sg_instruction *at);
/*
 * Whether a warp may be parked at an instruction, on a word of memory: it has no other work, and
 * the word lives as long as the block.
 */
bool sg_warp_can_park(const struct sg_warp *warp, const void *word);
/* End the turn; the warp executes `at` again when the word has changed. Returns NULL. */
const struct sg_instruction *sg_warp_park(struct sg_warp *warp, const struct sg_instruction *at,
					  const uint64_t *word, uint64_t mask);
/* Removes lanes that have exited. */
const struct sg_instruction *sg_warp_exit(struct sg_warp *warp, const struct sg_instruction *at,
					  uint32_t lanes);
/*
 * The active lanes wait at `at` in a state of enum sg_group_state, as group warp->waited; the
 * others of the running group will continue after it. No group runs then.
 */
void sg_warp_wait(struct sg_warp *warp, const struct sg_instruction *at, enum sg_group_state state);
/* Releases lanes of the waiting group `index`; they continue at `to`. */
void sg_warp_release(struct sg_warp *warp, uint32_t index, uint32_t lanes,
		     const struct sg_instruction *to);
/* Selects the group that runs next, after a release; returns where it continues. */
const struct sg_instruction *sg_warp_select(struct sg_warp *warp);
/* Makes lanes of the running group a separate group that is ready at `to`. */
void sg_warp_split(struct sg_warp *warp, uint32_t lanes, const struct sg_instruction *to,
		   const struct sg_function *function, char *frame, uint32_t depth);
/* Ends the grid with a fault. lane: the lowest that caused it. Returns NULL. */
const struct sg_instruction *sg_warp_fault(struct sg_warp *warp, const struct sg_instruction *at,
					   enum sg_fault_kind kind, uint32_t lane,
					   uint64_t address);
/* The same with a specific text instead of the fault's. */
const struct sg_instruction *sg_warp_fault_text(struct sg_warp *warp,
						const struct sg_instruction *at,
						enum sg_fault_kind kind, uint32_t lane,
						uint64_t address, const char *text);
/* Counts the issued instructions of the lanes; called before the group's lanes change. */
void sg_warp_count(struct sg_warp *warp);
/* Runs until it stops; warp->stop is the reason. */
void sg_warp_run(struct sg_warp *warp);
/* Prepares a warp to run the kernel from its start. */
void sg_warp_start(struct sg_warp *warp, uint32_t lanes);
void sg_warp_clear(struct sg_warp *warp);

static inline const struct sg_instruction *sg_warp_go(struct sg_warp *warp,
						      const struct sg_instruction *to)
{
	return sg_unlikely(to >= warp->reconvergence) ? sg_warp_reconverge(warp, to) : to;
}

/* Returns a function's registers; the kernel's come first. */
static inline char *sg_warp_frame(const struct sg_warp *warp, const struct sg_function *function)
{
	return warp->registers +
	       (function->is_kernel ? 0 : warp->grid->kernel->frame_offsets[function->number]);
}

/* ---- blocks (block.c) ------------------------------------------------------------------ */

enum sg_block_end {
	SG_BLOCK_DONE,
	SG_BLOCK_SUSPENDED,
	SG_BLOCK_FAULT,
};

struct sg_block *sg_block_new(struct sg_grid *grid);
void sg_block_free(struct sg_block *block);
void sg_block_free_cache(struct sg_machine *machine);
/* number: the block's index in the order in which blocks are started. */
void sg_block_start(struct sg_block *block, uint64_t number);
/* Runs until it ends or its turn is over; *ret_spins: all its warps only waited. */
enum sg_block_end sg_block_run(struct sg_block *block, bool *ret_spins);
/* Releases the groups that wait at a barrier, if it is complete. */
void sg_block_check_barrier(struct sg_block *block, uint32_t number);
void sg_block_check_barriers(struct sg_block *block);
/* Stores the result of bar.red for the lanes of a group that waited (ops/barrier.c). */
void sg_barrier_result(struct sg_group *group, const struct sg_barrier *barrier);

/* ---- exchanges between lanes (exchange.c) ---------------------------------------------- */

/*
 * Exchanges values between the lanes of a warp, as at->combine says. a: the value, of size bytes,
 * or with size 0 a predicate; b, c: further operands; e: the members, where the flags have SYNC.
 * d: slot of the result, or SG_NO_SLOT; immediate: slot of the predicate result + 1, or 0.
 */
sg_run sg_run_exchange;
/* Completes the exchanges that only waited for lanes that have exited. */
void sg_exchange_check(struct sg_warp *warp);

/* ---- grids (grid.c) -------------------------------------------------------------------- */

void *sg_worker_run(void *machine);
/* Returns whether the grid must stop: fault, deadline, interruption. Records a timeout. */
bool sg_grid_must_stop(struct sg_grid *grid);
uint64_t sg_machine_clock(const struct sg_machine *machine);

/* ---- accesses (access.c) --------------------------------------------------------------- */

/*
 * Translates a generic device address of one lane to an address in this process; 0: `size` bytes
 * there may not be accessed.
 */
uint64_t sg_warp_pointer(struct sg_warp *warp, uint32_t lane, uint64_t address, uint64_t size);

/* Resolve addresses lane by lane; an invalid access is a fault. */
sg_resolve sg_resolve_slow, sg_resolve_shared_slow, sg_resolve_local, sg_resolve_parameter,
	sg_resolve_generic;

/* Returns the number of lanes; mostly all, and popcount is a function without SSE4.2. */
static inline uint32_t sg_lane_count(uint32_t lanes)
{
	return lanes == SG_FULL ? SG_WARP_SIZE : (uint32_t)__builtin_popcount(lanes);
}

/* Returns whether only the thread that runs the block can access that memory. */
static inline bool sg_is_private(const struct sg_warp *warp, uint64_t address)
{
	return warp->grid->cluster_size == 1 &&
	       address - (uint64_t)(uintptr_t)warp->block->shared < warp->grid->shared_size;
}

/* Orders the memory accesses of this thread before those that follow. */
void sg_fence(struct sg_machine *machine);

/* ---- slots ----------------------------------------------------------------------------- */

/* A slot as 32-bit lanes, or as the mask of a predicate. */
static inline uint32_t *sg_slot32(const char *frame, uint32_t slot)
{
	return (uint32_t *)(void *)((char *)frame + slot);
}

/* Reads `size` bytes of one lane, at most 8; zero-extended. */
static inline uint64_t sg_read_lane(const struct sg_warp *warp, uint32_t slot, uint32_t size,
				    uint32_t lane)
{
	uint64_t value = 0;

	memcpy(&value, warp->frame + slot + lane * size, size);
	return value;
}

/* Reads a lane's address: a register of 32 bits, with the offset added in 32 bits, or of 64. */
static inline uint64_t sg_read_address(const struct sg_warp *warp, uint32_t slot, bool is_narrow,
				       uint64_t offset, uint32_t lane)
{
	uint64_t address = sg_read_lane(warp, slot, is_narrow ? 4 : 8, lane) + offset;

	return is_narrow ? (uint32_t)address : address;
}

/* Writes a predicate for the active lanes. */
static inline void sg_write_predicate(struct sg_warp *warp, uint32_t slot, uint32_t value)
{
	uint32_t *p = sg_slot32(warp->frame, slot);

	*p = (*p & ~warp->exec) | (value & warp->exec);
}
