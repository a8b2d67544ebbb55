/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the parts of the interpreter share: the decoded form of functions, and the state of
 * grids, blocks, warps and groups of lanes.
 *
 * A warp's registers are a file of slots; a slot holds the 32 lanes of one register side by
 * side: 32 × 2, 4 or 8 bytes, 2 × 32 × 8 bytes for .b128, and one 32-bit mask for a predicate.
 * Immediates, symbols and the special registers that do not change are slots too, filled when
 * a block starts, so that every operand of a decoded instruction is a slot's place in the
 * frame.
 *
 * Lanes of a warp that share a program counter and call depth are a group and run together.
 * A function's code is laid out so that a place where paths meet again comes after them all
 * (layout.h); the group that is deepest in calls and then lowest in the code runs first, and
 * groups merge where they meet.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "exec/exec.h"
#include "ptx/ptx.h"

#define SG_FULL 0xffffffffu
#define SG_NO_SLOT UINT32_MAX
/* Every frame begins with a slot for what is written to `_`. */
#define SG_SINK 0u
#define SG_SINK_SIZE 512u
#define sg_likely(condition) __builtin_expect(!!(condition), 1)
#define sg_unlikely(condition) __builtin_expect(!!(condition), 0)

enum {
	SG_BARRIERS = 16,          /* of a block */
	SG_MAX_DEPTH = 8192,       /* calls within calls */
	SG_CALL_COST = 32,         /* bytes of stack that a call takes beside the callee's frame */
	SG_WINDOW_SIZE = 16 << 20, /* bytes of each window */
	SG_CODE_STRIDE = 16,       /* bytes between the addresses of functions */
	SG_MOST_REGISTERS = 64 << 10, /* 32-bit registers of a multiprocessor */
	SG_MAX_ELEMENTS = 8,          /* of a vector operand */
	SG_RESERVED_SHARED = 1 << 10, /* bytes of a block's shared memory, for the system */
};

struct sg_block;
struct sg_cluster;
struct sg_grid;
struct sg_instruction;
struct sg_warp;

/* Executes an instruction for the lanes of warp->exec; returns the next one, NULL to stop. */
typedef const struct sg_instruction *sg_run(struct sg_warp *warp, const struct sg_instruction *at);

/* ---- decoded code ---------------------------------------------------------------------- */

/* Where the addresses of a memory access come from; fills pointers of this process. */
struct sg_access;
typedef bool sg_resolve(struct sg_warp *warp, const struct sg_instruction *at,
			struct sg_access *access);

struct sg_instruction {
	sg_run *run;
	uint32_t d, a, b, c; /* slots: destination and sources, as places in the frame */
	uint32_t e;          /* a second destination or a fourth source */
	uint32_t flags;      /* enum sg_flag */
	uint64_t immediate;
	union {
		const struct sg_instruction *target; /* of a branch */
		sg_resolve *resolve;                 /* of a memory access */
		const struct sg_call *call;
		const struct sg_jump_table *table;
	};
	union {
		const uint32_t *list;              /* slots of a vector operand */
		const struct sg_instruction *next; /* of a branch that is not taken */
	};
	uint32_t line;    /* of the PTX */
	uint8_t size;     /* bytes of an access, of one element */
	uint8_t count;    /* elements of a vector operand; instructions under a guard */
	uint8_t space;    /* enum gt_ptx_space of an access */
	uint8_t selector; /* small numbers: comparison, function, mode */
};

enum sg_flag {
	SG_FLAG_RZ = 1 << 0, /* rounding; none of the three: to nearest even */
	SG_FLAG_RM = 1 << 1,
	SG_FLAG_RP = 1 << 2,
	SG_FLAG_FTZ = 1 << 3,
	SG_FLAG_SAT = 1 << 4,
	SG_FLAG_ACQUIRE = 1 << 5,
	SG_FLAG_RELEASE = 1 << 6,
	SG_FLAG_ATOMIC = 1 << 7,  /* .volatile, .relaxed and stronger */
	SG_FLAG_NEGATE = 1 << 8,  /* the predicate source */
	SG_FLAG_SPIN = 1 << 9,    /* a branch back, in a loop that may wait for another thread */
	SG_FLAG_NARROW = 1 << 10, /* the address register has 32 bits */
	SG_FLAG_SYNC = 1 << 11,
	SG_FLAG_CARRY_IN = 1 << 12,
	SG_FLAG_CARRY_OUT = 1 << 13,
	SG_FLAG_NAN = 1 << 14,
	SG_FLAG_ABS = 1 << 15,
	SG_FLAG_RELU = 1 << 16,
	SG_FLAG_XORSIGN = 1 << 17,
	SG_FLAG_SPIN_SLOW = 1 << 18, /* as SPIN, less likely */
	SG_FLAG_MODES = SG_FLAG_RZ | SG_FLAG_RM | SG_FLAG_RP | SG_FLAG_FTZ | SG_FLAG_SAT |
			SG_FLAG_NAN | SG_FLAG_ABS | SG_FLAG_RELU | SG_FLAG_XORSIGN,
};

/* What setp does with its third source. */
enum sg_boolean {
	SG_BOOLEAN_NONE,
	SG_BOOLEAN_AND,
	SG_BOOLEAN_OR,
	SG_BOOLEAN_XOR,
};

/* A slot that is filled when a block's registers are made. */
enum sg_fill_kind {
	SG_FILL_CONSTANT, /* value in every lane */
	SG_FILL_SHARED,   /* the shared variable number `value`, plus addend */
	SG_FILL_LANE,     /* a special register that depends on the lane */
	SG_FILL_GRID,     /* one that is the same in the whole grid */
	SG_FILL_BLOCK,    /* one that is the same in the whole block */
};

struct sg_fill {
	uint32_t slot;
	uint8_t kind;
	uint8_t width;    /* bytes of a lane: 2, 4, 8, 16; 0: a predicate */
	uint8_t selector; /* of a special register */
	uint16_t special;
	uint64_t value;
	uint64_t high; /* of a .b128 */
	int64_t addend;
};

/* An argument or a result at its caller: a register, an immediate's slot, or a .param variable. */
struct sg_pass {
	bool is_register;
	uint32_t place; /* slot, or bytes into the local frame */
	uint32_t size;  /* bytes; a register's: of its lane */
};

struct sg_call {
	const struct sg_function *callee; /* NULL: indirect, or built in */
	uint32_t target;                  /* slot of the function's address, if indirect */
	uint32_t argument_count, return_count;
	struct sg_pass *arguments, *returns;
	struct sg_call *next; /* in the function */
};

struct sg_jump_table {
	uint32_t count;
	const struct sg_instruction **targets;
	struct sg_jump_table *next;
};

/* A parameter or result of a function. */
struct sg_formal {
	bool is_register;
	bool is_pointer;
	uint32_t place; /* slot, or bytes into the local frame (device), the buffer (kernel) */
	uint32_t size;  /* bytes; a register's: of its lane */
	uint32_t alignment;
};

/* A register's slot. */
struct sg_slot {
	uint32_t place;
	uint32_t width; /* bytes of a lane: 2, 4, 8, 16; 0: a predicate */
};

/* Slot lists of vector operands. */
struct sg_lists {
	struct sg_lists *next;
	uint32_t used;
	uint32_t items[1022];
};

/* A shared variable of the module. */
struct sg_shared_variable {
	const char *name;
	uint64_t size; /* 0: dynamic */
	uint32_t alignment;
};

struct sg_function {
	struct sg_module *module;
	char *name;
	uint32_t number; /* among the module's functions; kernels come last */
	bool is_kernel;
	bool is_recursive;
	bool has_indirect_call;
	bool is_address_taken;
	bool uses_stack_pointer;   /* alloca and the like */
	bool uses_reserved_shared; /* asks where the system's shared memory is */
	bool uses_cluster_barrier;
	bool is_global; /* seen by other modules */
	bool is_weak;

	struct sg_instruction *code;
	uint32_t code_count;
	uint32_t frame_size; /* bytes of slots */
	GT_VEC(struct sg_fill) fills;
	size_t block_fills;           /* of those, the first ones change from block to block */
	GT_VEC(struct sg_slot) slots; /* of registers: what a recursive call saves */
	struct sg_lists *lists;
	uint32_t local_size; /* bytes of the local frame: parameters, results, .local, .param */
	struct sg_formal *parameters, *returns;
	uint32_t parameter_count, return_count;
	uint32_t parameter_size; /* kernel */
	struct sg_call *calls;
	struct sg_jump_table *tables;
	GT_VEC(const struct sg_function *) callees;
	GT_VEC(uint32_t) shared_used; /* numbers of shared variables */

	uint32_t max_threads, required_block[3], required_cluster[3];
	uint32_t instructions, register_words; /* of a thread, 32 bits each */
	uint32_t address_number; /* address = code window + number × SG_CODE_STRIDE */

	/* Kernels only: what a launch needs of all functions that can be reached. */
	const struct sg_function **reached;
	uint32_t reached_count;
	uint32_t *frame_places;  /* of what is called, by number; UINT32_MAX: not reached */
	uint32_t called_count;   /* functions of the module that are no kernels */
	uint64_t registers_size; /* bytes of all frames */
	uint64_t stack_need;     /* bytes of local memory without recursion */
	bool needs_stack;        /* recursion or indirect calls */
	bool needs_reserved_shared;
	bool needs_cluster;      /* of one block, where there are none */
	uint32_t *shared_places; /* by shared variable number */
	uint32_t shared_static;  /* bytes */
};

struct sg_module_variable_entry {
	char *name;
	uint64_t address, size;
	bool is_const, is_managed;
};

struct sg_module {
	struct sg_machine *machine;
	GT_VEC(struct sg_function *) functions; /* kernels last */
	size_t first_kernel;
	GT_VEC(struct sg_module_variable_entry) variables;
	GT_VEC(struct sg_shared_variable) shared;
	struct gt_map *kernel_names;          /* to struct sg_function */
	struct gt_map *variable_names;        /* to its number + 1 */
	uint64_t memory_address, memory_size; /* of the variables */
	uint32_t const_size;
	uint32_t ptx_version, target;
	uint32_t first_address_number;
};

/* ---- running --------------------------------------------------------------------------- */

struct sg_access {
	uint64_t address[SG_WARP_SIZE]; /* of this process; inactive lanes: of an active one */
	uint8_t pattern;                /* enum sg_pattern */
};

enum sg_pattern {
	SG_PATTERN_ANY,
	SG_PATTERN_UNIFORM,    /* one address for all lanes */
	SG_PATTERN_CONTIGUOUS, /* lane after lane; only where all lanes are active */
};

enum sg_group_state {
	SG_GROUP_READY,
	SG_GROUP_BARRIER, /* waits at a barrier of the block */
	SG_GROUP_SYNC,    /* waits for lanes of its warp */
};

/* Lanes at the same place. */
struct sg_group {
	const struct sg_instruction *at; /* to run next; waiting: what waits */
	const struct sg_function *function;
	char *frame;
	uint32_t mask;
	uint32_t depth;
	uint8_t state;
	uint8_t barrier;
};

/* What lanes bring to an instruction that exchanges values, and what they get. */
struct sg_exchange {
	uint64_t value[SG_WARP_SIZE];
	uint32_t members[SG_WARP_SIZE];
	uint32_t b[SG_WARP_SIZE];
	uint32_t c[SG_WARP_SIZE];
	uint64_t result[SG_WARP_SIZE];
	uint32_t predicates; /* one bit a lane, in */
	uint32_t predicate_result;
};

/* Registers that a recursive call keeps for its caller. */
struct sg_saved_frame {
	const struct sg_function *function;
	uint32_t mask;
	struct sg_saved_frame *next;
	char slots[] __attribute__((aligned(64)));
};

/* What the lanes that are at one call depth go back to. */
struct sg_call_level {
	const struct sg_instruction *back[SG_WARP_SIZE]; /* the call itself */
	const struct sg_function *function[SG_WARP_SIZE];
	uint32_t stack[SG_WARP_SIZE]; /* the caller's frame in local memory */
	uint32_t top[SG_WARP_SIZE];
	struct sg_saved_frame *saved;
};

enum sg_stop {
	SG_STOP_NONE,
	SG_STOP_YIELD,   /* its turn is over */
	SG_STOP_SPIN,    /* its turn is over and it seems to wait for somebody */
	SG_STOP_BLOCKED, /* every group waits */
	SG_STOP_DONE,    /* all lanes have exited */
	SG_STOP_FAULT,
};

struct sg_warp {
	char *frame;   /* of the running group */
	uint32_t exec; /* lanes that the current instruction is for */
	uint32_t mask; /* lanes of the running group */
	/* Other groups wait from here on: whoever gets here must look (sg_warp_meet). */
	const struct sg_instruction *meet;
	int32_t ticks;   /* branches back until the turn is over */
	uint32_t carry;  /* CC.CF of each lane */
	uint64_t issued; /* instructions of this turn */
	uint64_t pseudo; /* of those, ones that are not in the PTX */

	struct sg_block *block;
	struct sg_grid *grid;
	struct sg_machine *machine;
	char *registers;
	char *local;      /* lane after lane, grid->local_stride each */
	uint32_t number;  /* in the block */
	uint32_t live;    /* lanes that have not exited */
	uint32_t depth;   /* of the running group */
	uint32_t current; /* index of the running group; UINT32_MAX: none */
	uint32_t waited;  /* index of the group that began to wait last */
	uint32_t group_count;
	uint32_t ready;         /* groups that can run */
	uint32_t promoted;      /* meetings for which the running group is not put back */
	uint32_t patience;      /* how many it gets next time */
	uint32_t last_promoted; /* lowest lane of the group that was */
	uint32_t turns_in_step; /* without promotions, in code for old targets */
	uint8_t stop;
	bool spinning;
	uint64_t counted; /* issued when lanes were last counted */
	uint64_t lane_instructions;
	const struct sg_function *function;
	struct sg_group groups[SG_WARP_SIZE + 1];
	uint32_t stack[SG_WARP_SIZE]; /* the running functions' frames in local memory */
	uint32_t top[SG_WARP_SIZE];   /* where the next frame would start */
	uint32_t arrived[SG_BARRIERS];
	uint32_t cluster_arrived; /* lanes that have arrived at the cluster's barrier */
	uint32_t cluster_phase[SG_WARP_SIZE];
	struct sg_call_level **levels;
	uint32_t level_count;
	struct sg_exchange exchange;
};

struct sg_barrier {
	uint32_t expected; /* threads; 0: all of the block */
	bool is_used;      /* somebody has arrived */
	uint32_t votes;    /* threads whose predicate was true */
	uint32_t voters;
};

struct sg_block {
	struct sg_grid *grid;
	struct sg_cluster *cluster; /* NULL: the block is alone */
	uint32_t index[3];
	uint32_t multiprocessor;
	uint32_t warp_count;
	uint32_t done; /* warps */
	uint32_t turn; /* warp that runs next */
	char *shared;
	uint64_t clock_base; /* of its multiprocessor, at the start of this turn of a warp */
	struct sg_barrier barriers[SG_BARRIERS];
	uint64_t warp_instructions, thread_instructions;
	struct sg_block *next; /* suspended or free */
	bool has_fills;
	uint64_t memory_size;
	struct sg_warp warps[];
};

/* A range of memory outside of the arena. */
struct sg_range {
	uint64_t address, end;
};

struct sg_ranges {
	struct sg_ranges *next; /* retired */
	size_t count;
	struct sg_range items[];
};

struct sg_memory {
	uint64_t arena_address, arena_size;
	uint8_t *granules; /* of the arena: 1 may be touched */
	size_t granules_size;
	struct sg_ranges *ranges; /* sorted; replaced as a whole */
	struct sg_ranges *retired;
	uint32_t readers; /* grids that run */
	pthread_mutex_t lock;
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
	uint32_t shared_size;    /* all that may be touched */
	uint32_t reserved_place; /* of the system's part of it, which comes last */
	uint64_t registers_size, local_stride, local_size, block_size;
	uint64_t shared_place, local_place, registers_place; /* in a block's memory */
	uint64_t deadline;                                   /* CLOCK_MONOTONIC ns; 0: none */
	uint64_t next_block;
	uint64_t finished;
	uint64_t resident_limit, resident;
	uint32_t stop;    /* a fault: everybody stops */
	uint32_t workers; /* threads that are in it */
	struct sg_block *suspended, **suspended_last;
	struct sg_block *free_blocks;
	bool has_clusters;
	uint32_t cluster_size; /* blocks */
	struct sg_cluster *clusters, *free_clusters, *open_cluster;
	uint64_t *cycles; /* by multiprocessor */
	uint64_t warp_instructions, thread_instructions;
	bool out_of_memory;
	struct sg_fault fault;
	/* What its kernels launch: see nested.c. */
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
	struct sg_windows windows;
	struct sg_host host;
	uint32_t multiprocessors;
	uint32_t worker_count;
	pthread_t *workers;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t work;
	struct sg_grid *grids;
	bool ends;
	bool interrupted;
	uint64_t timeout_ns, stack_size;
	uint64_t *clocks; /* cycles of each multiprocessor */
	uint32_t next_address_number;
	struct sg_heap *heap;
	struct sg_block *spare_blocks; /* memory of blocks of grids that have ended */
	size_t spare_bytes;
	uint64_t fence;
	const struct sg_lane_table *lanes;
};

/* ---- warps (warp.c) -------------------------------------------------------------------- */

/* Goes on at `to`, where other groups may be: merges, or lets a lower one run. */
const struct sg_instruction *sg_warp_meet(struct sg_warp *warp, const struct sg_instruction *to);
/* Lanes `taken` go to `to`, the others of the running group to `otherwise`. */
const struct sg_instruction *sg_warp_diverge(struct sg_warp *warp, uint32_t taken,
					     const struct sg_instruction *to,
					     const struct sg_instruction *otherwise);
/* The turn is over: called where ticks ran out, with the place to go on at. */
const struct sg_instruction *sg_warp_tick(struct sg_warp *warp, const struct sg_instruction *to);
/* Lanes have exited. */
const struct sg_instruction *sg_warp_exit(struct sg_warp *warp, const struct sg_instruction *at,
					  uint32_t lanes);
/*
 * The lanes of warp->exec wait at `at` in a state of enum sg_group_state; the others of the
 * running group will go on after it. They are group warp->waited; no group runs now.
 */
void sg_warp_wait(struct sg_warp *warp, const struct sg_instruction *at, enum sg_group_state state);
/* Lanes of group `index` that waited go on at `to`. */
void sg_warp_release(struct sg_warp *warp, uint32_t index, uint32_t lanes,
		     const struct sg_instruction *to);
/* Looks at the groups anew, after a release; returns where the running one goes on. */
const struct sg_instruction *sg_warp_choose(struct sg_warp *warp);
/* Makes lanes of the running group a group of its own that is ready at `to`. */
void sg_warp_split(struct sg_warp *warp, uint32_t lanes, const struct sg_instruction *to,
		   const struct sg_function *function, char *frame, uint32_t depth);
/* Ends the grid. lane: the lowest that is at fault. Returns NULL. */
const struct sg_instruction *sg_warp_fault(struct sg_warp *warp, const struct sg_instruction *at,
					   enum sg_fault_kind kind, uint32_t lane,
					   uint64_t address);
/* The same with words of its own, in place of the fault's text. */
const struct sg_instruction *sg_warp_fault_text(struct sg_warp *warp,
						const struct sg_instruction *at,
						enum sg_fault_kind kind, uint32_t lane,
						uint64_t address, const char *text);
/* Counts what was issued, before lanes change. */
void sg_warp_count(struct sg_warp *warp);
/* Runs until it stops; warp->stop says why. */
void sg_warp_run(struct sg_warp *warp);
/* Ready to run the kernel from its start. */
void sg_warp_start(struct sg_warp *warp, uint32_t lanes);
void sg_warp_clear(struct sg_warp *warp);

static inline const struct sg_instruction *sg_warp_go(struct sg_warp *warp,
						      const struct sg_instruction *to)
{
	return sg_unlikely(to >= warp->meet) ? sg_warp_meet(warp, to) : to;
}

/* ---- modules (module.c, link.c, callgraph.c) ---------------------------------------------------
 */

/* Fills a new module from parsed ones; on failure the caller frees it. */
int sg_module_link(struct sg_module *module, const struct gt_ptx_module *const *parsed,
		   size_t count, struct gt_diag *diag);
bool sg_module_is_const(const struct sg_module *module, uint64_t address);
void sg_function_free(struct sg_function *function);
/* Who calls whom: recursion, stacks, what each kernel needs. 0, -ENOMEM, -E2BIG. */
int sg_module_find_calls(struct sg_module *module, struct gt_diag *diag);

/* A function's registers: the kernel's come first. */
static inline char *sg_warp_frame(const struct sg_warp *warp, const struct sg_function *function)
{
	return warp->registers +
	       (function->is_kernel ? 0 : warp->grid->kernel->frame_places[function->number]);
}

/* ---- blocks (block.c) ------------------------------------------------------------------ */

enum sg_block_end {
	SG_BLOCK_DONE,
	SG_BLOCK_SUSPENDED,
	SG_BLOCK_FAULT,
};

struct sg_block *sg_block_new(struct sg_grid *grid);
void sg_block_free(struct sg_block *block);
void sg_block_free_spare(struct sg_machine *machine);
/* number: in the order in which blocks are taken. */
void sg_block_start(struct sg_block *block, uint64_t number);
/* Runs until it ends or others should run; *ret_spins: all that it does is wait. */
enum sg_block_end sg_block_run(struct sg_block *block, bool *ret_spins);
/* Releases who waits at a barrier that is complete now. */
void sg_block_check_barrier(struct sg_block *block, uint32_t number);
void sg_block_check_barriers(struct sg_block *block);
/* What the lanes of a group that waited get from bar.red (sync.c). */
void sg_barrier_result(struct sg_group *group, const struct sg_barrier *barrier);
/* Checks exchanges of a warp whose lanes became fewer (sync.c). */
void sg_exchange_check(struct sg_warp *warp);

/* ---- grids (grid.c) -------------------------------------------------------------------- */

void *sg_worker_run(void *machine);
/* Whether the grid must stop: fault, deadline, interruption. Sets the fault where it is late. */
bool sg_grid_must_stop(struct sg_grid *grid);
uint64_t sg_monotonic_ns(void);
uint64_t sg_machine_clock(const struct sg_machine *machine);

/* ---- memory (memory.c) ----------------------------------------------------------------- */

bool sg_memory_check(const struct sg_memory *memory, uint64_t address, uint64_t size);
/* The range outside of the arena that holds the address; end 0: none. */
struct sg_range sg_memory_range(const struct sg_memory *memory, uint64_t address);
int sg_memory_open(struct sg_memory *memory, uint64_t arena_address, uint64_t arena_size);
void sg_memory_close(struct sg_memory *memory);
/* Between them nothing that a reader may look at is freed. */
void sg_memory_enter(struct sg_memory *memory);
void sg_memory_leave(struct sg_memory *memory);

static inline bool sg_memory_in_arena(const struct sg_memory *memory, uint64_t address)
{
	uint64_t place = address - memory->arena_address;

	return place < memory->arena_size &&
	       __atomic_load_n(&memory->granules[place / SG_GRANULE], __ATOMIC_RELAXED);
}

/*
 * The address in this process of a generic device address, for one lane of the running group;
 * 0 if `size` bytes there may not be touched.
 */
uint64_t sg_warp_pointer(struct sg_warp *warp, uint32_t lane, uint64_t address, uint64_t size);

/* Resolves lane by lane, in every space; faults where a lane may not. (access.c) */
sg_resolve sg_resolve_slow, sg_resolve_shared_slow, sg_resolve_local, sg_resolve_frame,
	sg_resolve_parameter;

/* Whether only the thread that runs the block can see that memory. */
static inline bool sg_is_private(const struct sg_warp *warp, uint64_t address)
{
	return warp->grid->cluster_size == 1 &&
	       address - (uint64_t)(uintptr_t)warp->block->shared < warp->grid->shared_size;
}

/* What orders memory between threads. (access.c) */
void sg_fence(struct sg_machine *machine);

/* ---- heap (heap.c) --------------------------------------------------------------------- */

struct sg_heap *sg_heap_new(void);
void sg_heap_free(struct sg_heap *heap, const struct sg_host *host);
uint64_t sg_heap_allocate(struct sg_heap *heap, const struct sg_host *host, uint64_t size);
/* false: not an allocation. */
bool sg_heap_release(struct sg_heap *heap, uint64_t address);
int sg_heap_set_size(struct sg_heap *heap, uint64_t size);
