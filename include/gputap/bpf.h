/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an eBPF program for the GPU needs, for `clang -target bpf -O2 -g`. Nothing else has to be
 * included. Where <bpf/bpf_helpers.h> of libbpf is wanted too (for programs for Linux in the same
 * file), include it, and what it needs, before this header.
 *
 *	#include <gputap/bpf.h>
 *
 *	GPUTAP_ARRAY(sizes, unsigned long long, 64);
 *
 *	SEC("gpu/load/gemm*")
 *	int count(struct gputap_memory *ctx)
 *	{
 *		bpf_hist_add(&sizes, ctx->width);
 *		return 0;
 *	}
 *
 *	char LICENSE[] SEC("license") = "GPL";
 *
 * docs/ebpf.md tells more; `gputap verify FILE.o` tells whether a program is safe, and why not.
 */
#pragma once

/* ---- sections --------------------------------------------------------------------------- */

/*
 * SEC("gpu/<kind>[.warp|.block][/<glob>]"): where a program runs, how often, and in which kernels.
 *
 *	kind         runs                                         r1 is a pointer to a
 *	entry        where a kernel begins                        struct gputap_context
 *	exit         where a thread of a kernel ends              struct gputap_context
 *	block_begin  as entry, once a block                       struct gputap_context
 *	block_end    as exit, once a block                        struct gputap_context
 *	load         after ld: global, shared, local, generic     struct gputap_memory
 *	store        before st                                    struct gputap_memory
 *	memory       at both                                      struct gputap_memory
 *	atomic       after atom, red                              struct gputap_memory
 *	copy         before cp.async                              struct gputap_memory
 *	barrier      before bar, barrier                          struct gputap_barrier
 *	branch       before a branch that is conditional          struct gputap_branch
 *	loop         where a loop goes back to its start          struct gputap_context
 *	call         where a device function is called            struct gputap_context
 *	return       where it returns                             struct gputap_context
 *	run          by itself (`gputap exec`); r1 is memory, r2 its size: see below
 *
 * Without a level a program runs once a thread. ".warp": once for each group of lanes of a warp
 * that come by together; ".block" (entry, exit; block_begin and block_end are so anyway): once a
 * block, at entry in its first thread, at exit in its last.
 *
 * <glob> ("*", "?", "[…]") matches the mangled name of a kernel, its demangled name, or that up to
 * the "(". It is needed at entry, exit, call and return, where the latter two take functions.
 *
 * As bpftime has them: "kprobe/<names>" is entry and "kretprobe/<names>" exit, with mangled names
 * that have commas between them, and "kprobe/__memcapture", which stands alone, is memory. They
 * are for the GPU if a name begins with "_Z" or the function's name has "cuda__" or "__cuda" in it.
 *
 * All other sections are for Linux and may stand in the same file. Arrays that are shared
 * (GPUTAP_SHARED_ARRAY) and global variables are the same for both: see docs/ebpf.md.
 */
#ifndef SEC
#define SEC(name) __attribute__((section(name), used))
#endif

/* ---- contexts --------------------------------------------------------------------------- */

/*
 * Contexts are read only, and no context is ever in memory: a read of a field becomes the register
 * or kernel parameter that it stands for. Read fields one at a time (they are volatile, so that
 * the compiler does not put two reads together).
 *
 * Fields marked [thread] are there in programs that run once a thread only: they differ between
 * lanes. Programs that run once a warp get them by bpf_warp_lane_value. [warp]: once a warp only.
 */
typedef const volatile unsigned int gputap_u32;
typedef const volatile unsigned long long gputap_u64;

enum {
	GPUTAP_ARGUMENTS = 32, /* kernel arguments in a context */
};

/* What all contexts begin with. */
#define GPUTAP_CONTEXT                                                                             \
	/* [thread] The thread's index in its block (threadIdx). */                                \
	gputap_u32 thread_x, thread_y, thread_z;                                                   \
	/* [thread] The thread's lane in its warp: 0 to 31. */                                     \
	gputap_u32 lane;                                                                           \
	/* The block's index in the grid (blockIdx). */                                            \
	gputap_u32 block_x, block_y, block_z;                                                      \
	/* [thread, warp] The warp's number in its block: the flat thread number / 32. */          \
	gputap_u32 warp;                                                                           \
	/* Threads in a block (blockDim). */                                                       \
	gputap_u32 block_size_x, block_size_y, block_size_z;                                       \
	/* The multiprocessor that the block is on. */                                             \
	gputap_u32 sm;                                                                             \
	/* Blocks in the grid (gridDim). */                                                        \
	gputap_u32 grid_size_x, grid_size_y, grid_size_z;                                          \
	/* [warp] The lanes that come by together; bit n is lane n. */                             \
	gputap_u32 mask;                                                                           \
	/* The number of the launch (%gridid): grows by every launch of the process. */            \
	gputap_u64 launch;                                                                         \
	/* gputap's number of the kernel. */                                                       \
	gputap_u32 kernel;                                                                         \
	/* The kernel's arguments. Inside of device functions they are not known: 0. */            \
	gputap_u32 argument_count;                                                                 \
	/* Bytes of each argument; 0 behind the last. */                                           \
	gputap_u32 argument_sizes[GPUTAP_ARGUMENTS];                                               \
	/* The arguments, with zeros above; of structures the first 8 bytes; 0 behind the last. */ \
	gputap_u64 arguments[GPUTAP_ARGUMENTS];                                                    \
	/* gputap's number of this place in the code. */                                           \
	gputap_u32 site;                                                                           \
	/* The line in the module's PTX text. */                                                   \
	gputap_u32 line

/* entry, exit, block_begin, block_end, loop, call, return */
struct gputap_context {
	GPUTAP_CONTEXT;
};

enum gputap_space {
	GPUTAP_SPACE_GENERIC, /* not told by the instruction */
	GPUTAP_SPACE_GLOBAL,
	GPUTAP_SPACE_SHARED,
	GPUTAP_SPACE_LOCAL,
	GPUTAP_SPACE_CONST,
	GPUTAP_SPACE_PARAM,
};

enum gputap_access {
	GPUTAP_LOAD = 1,
	GPUTAP_STORE,
	GPUTAP_ATOMIC,
	GPUTAP_COPY,
};

/* load, store, memory, atomic, copy */
struct gputap_memory {
	GPUTAP_CONTEXT;
	/* [thread] The address; of copies, that which is read. A number, no pointer to be followed.
	 */
	gputap_u64 address;
	/*
	 * [thread] What was loaded, is stored, or is the atomic operation's operand: the first 8
	 * bytes and the next 8, with zeros above. 0 where there is no value in a register.
	 */
	gputap_u64 value, value_high;
	/* How many bytes of value and value_high there are: 0 to 16. */
	gputap_u32 value_size;
	/* Bytes that are accessed. */
	gputap_u32 width;
	/* enum gputap_space */
	gputap_u32 space;
	/* enum gputap_access */
	gputap_u32 access;
};

/* branch */
struct gputap_branch {
	GPUTAP_CONTEXT;
	/* [thread] 1: this thread takes the branch; 0: it does not. */
	gputap_u32 taken;
	/* [warp] The lanes of the group that take it. */
	gputap_u32 taken_mask;
};

/* barrier */
struct gputap_barrier {
	GPUTAP_CONTEXT;
	/* The number of the barrier: 0 of __syncthreads. */
	gputap_u32 barrier;
};

/*
 * run: a program has two arguments, memory that it may read and write and the number of its bytes,
 * which is fixed when it is verified:
 *
 *	SEC("gpu/run") long sum(unsigned char *memory, unsigned long size)
 */

/* ---- maps ------------------------------------------------------------------------------- */

/* Types of maps. Those of Linux by their numbers there, those of bpftime by its, and ours. */
enum gputap_map_type {
	GPUTAP_MAP_HASH = 1,             /* keys of any size */
	GPUTAP_MAP_ARRAY = 2,            /* keys are unsigned int, 0 to max_entries - 1 */
	GPUTAP_MAP_PERF_EVENT_ARRAY = 4, /* one ring; max_entries does not matter */
	GPUTAP_MAP_SM_ARRAY = 6,         /* PERCPU_ARRAY: one a multiprocessor; atomics needed */
	GPUTAP_MAP_RING = 27,            /* max_entries: bytes; see GPUTAP_RING */
	GPUTAP_MAP_GPU_HASH = 1501,      /* as HASH */
	GPUTAP_MAP_THREAD_ARRAY = 1502,  /* one a thread of the grid: plain stores are safe */
	GPUTAP_MAP_GPU_ARRAY = 1503,     /* as ARRAY */
	GPUTAP_MAP_HOST_ARRAY = 1504,    /* an array in memory shared with the host */
	GPUTAP_MAP_HOST_THREAD_ARRAY = 1512, /* THREAD_ARRAY in memory shared with the host */
	GPUTAP_MAP_HOST_GPU_ARRAY = 1513,    /* as HOST_ARRAY */
	GPUTAP_MAP_GPU_RING = 1527,          /* as RING */
	GPUTAP_MAP_WARP_ARRAY = 1540,        /* one a warp: plain stores are safe once a warp */
};

/* Flags of arrays. */
enum {
	GPUTAP_SHARED = 1 << 10, /* BPF_F_MMAPABLE: in memory shared with the host */
};

#ifndef __uint
#define __uint(name, value) int(*name)[value]
#endif
#ifndef __type
#define __type(name, value) __typeof__(value) *name
#endif

/* A map: GPUTAP_MAP(seen, GPUTAP_MAP_HASH, struct key, unsigned long long, 1024); */
#define GPUTAP_MAP(name, map_type, key_type, value_type, entries)                                  \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

#define GPUTAP_HASH(name, key_type, value_type, entries)                                           \
	GPUTAP_MAP(name, GPUTAP_MAP_HASH, key_type, value_type, entries)
#define GPUTAP_ARRAY(name, value_type, entries)                                                    \
	GPUTAP_MAP(name, GPUTAP_MAP_ARRAY, unsigned int, value_type, entries)
#define GPUTAP_SM_ARRAY(name, value_type, entries)                                                 \
	GPUTAP_MAP(name, GPUTAP_MAP_SM_ARRAY, unsigned int, value_type, entries)
#define GPUTAP_WARP_ARRAY(name, value_type, entries)                                               \
	GPUTAP_MAP(name, GPUTAP_MAP_WARP_ARRAY, unsigned int, value_type, entries)
#define GPUTAP_THREAD_ARRAY(name, value_type, entries)                                             \
	GPUTAP_MAP(name, GPUTAP_MAP_THREAD_ARRAY, unsigned int, value_type, entries)

/*
 * An array in memory that the host shares while kernels run: one for all GPUs, and for programs for
 * Linux in the same file. Slower than device memory.
 */
#define GPUTAP_SHARED_ARRAY(name, value_type, entries)                                             \
	struct {                                                                                   \
		__uint(type, GPUTAP_MAP_ARRAY);                                                    \
		__uint(map_flags, GPUTAP_SHARED);                                                  \
		__uint(max_entries, entries);                                                      \
		__type(key, unsigned int);                                                         \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

/*
 * A ring of records of so many bytes: a power of two, and whole pages. libbpf makes it more where
 * it is not, so 1000 bytes become 4096.
 */
#define GPUTAP_RING(name, bytes)                                                                   \
	struct {                                                                                   \
		__uint(type, GPUTAP_MAP_RING);                                                     \
		__uint(max_entries, bytes);                                                        \
	} name SEC(".maps")

/* Flags of bpf_map_update_elem. */
enum {
	GPUTAP_ANY = 0,     /* whether the key is there or not */
	GPUTAP_NOEXIST = 1, /* only a new key; else -EEXIST */
	GPUTAP_EXIST = 2,   /* only a key that is there; else -ENOENT */
};

/* ---- helpers ---------------------------------------------------------------------------- */

#define GPUTAP_HELPER static __attribute__((unused))

/* Helpers of Linux. <bpf/bpf_helpers.h> has them all. */
#ifndef __BPF_HELPERS__
/* The value of a key, or NULL. In arrays of copies, in the copy of whoever asks. */
GPUTAP_HELPER void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
/*
 * 0; -EEXIST, -ENOENT (see flags); -E2BIG: the hash is full, or the key is behind the array;
 * -EINVAL: other flags.
 */
GPUTAP_HELPER long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
					  unsigned long long flags) = (void *)2;
/* 0; -ENOENT: it is not there; -EINVAL: of arrays nothing is deleted. */
GPUTAP_HELPER long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
/* ns, by the GPU's global timer. */
GPUTAP_HELPER unsigned long long (*bpf_ktime_get_ns)(void) = (void *)5;
/*
 * Prints, with up to three numbers: %d %i %u %x %X %c, with flags, a width, l and ll; %p, which is
 * 16 hex digits; %%. Anything else is left as it stands, %s too. Each is a line, as in Linux,
 * whether its format ends with \n or not. Numbers that are not given are 0. Slow. 0, or -EAGAIN: no
 * room, counted as lost. See bpf_printk.
 */
GPUTAP_HELPER long (*bpf_trace_printk)(const char *format, unsigned int size, ...) = (void *)6;
/* A number by chance. */
GPUTAP_HELPER unsigned int (*bpf_get_prandom_u32)(void) = (void *)7;
/* The number of the multiprocessor. */
GPUTAP_HELPER unsigned int (*bpf_get_smp_processor_id)(void) = (void *)8;
/* Process id << 32 | thread id of who launched the kernel, or 0 where that is not known. */
GPUTAP_HELPER unsigned long long (*bpf_get_current_pid_tgid)(void) = (void *)14;
/*
 * Writes a record; flags do not matter. 0; -EAGAIN: no room, -E2BIG: longer than all the room there
 * is; both are counted as lost.
 * The context is what the program was given: programs of gpu/run have none and cannot call it.
 */
GPUTAP_HELPER long (*bpf_perf_event_output)(void *context, void *map, unsigned long long flags,
					    void *data, unsigned long long size) = (void *)25;
/* The same into a ring. */
GPUTAP_HELPER long (*bpf_ringbuf_output)(void *ring, void *data, unsigned long long size,
					 unsigned long long flags) = (void *)130;
/* Room for a record of a size that is known when it is compiled, or NULL: counted as lost. */
GPUTAP_HELPER void *(*bpf_ringbuf_reserve)(void *ring, unsigned long long size,
					   unsigned long long flags) = (void *)131;
/* Every record that was reserved must be given to one of these. */
GPUTAP_HELPER void (*bpf_ringbuf_submit)(void *record, unsigned long long flags) = (void *)132;
GPUTAP_HELPER void (*bpf_ringbuf_discard)(void *record, unsigned long long flags) = (void *)133;
#endif

#ifndef bpf_printk
#define bpf_printk(format, ...)                                                                    \
	({                                                                                         \
		static const char gputap_format[] = format;                                        \
		bpf_trace_printk(gputap_format, sizeof(gputap_format), ##__VA_ARGS__);             \
	})
#endif

/* Helpers of bpftime. */
/* Prints a string that is constant, as a line. 0, or -EAGAIN: no room, counted as lost. */
GPUTAP_HELPER long (*bpf_puts)(const char *text) = (void *)501;
/* ns (%globaltimer); on many GPUs it moves in steps of a microsecond. */
GPUTAP_HELPER unsigned long long (*bpf_get_globaltimer)(void) = (void *)502;
/* Each writes three numbers: x, y and z. */
GPUTAP_HELPER long (*bpf_get_block_idx)(unsigned long long *x, unsigned long long *y,
					unsigned long long *z) = (void *)503;
GPUTAP_HELPER long (*bpf_get_block_dim)(unsigned long long *x, unsigned long long *y,
					unsigned long long *z) = (void *)504;
GPUTAP_HELPER long (*bpf_get_thread_idx)(unsigned long long *x, unsigned long long *y,
					 unsigned long long *z) = (void *)505;
GPUTAP_HELPER long (*bpf_get_grid_dim)(unsigned long long *x, unsigned long long *y,
				       unsigned long long *z) = (void *)508;
/* A memory barrier for the whole system. It waits for no other thread. */
GPUTAP_HELPER long (*bpf_membar)(void) = (void *)506;
/* Ends the thread. Refused without --allow-control. */
GPUTAP_HELPER long (*bpf_exit)(void) = (void *)507;
GPUTAP_HELPER unsigned long long (*bpf_get_sm_id)(void) = (void *)509;
/* The warp's number in its block, and the lane in it. */
GPUTAP_HELPER unsigned long long (*bpf_get_warp_id)(void) = (void *)510;
GPUTAP_HELPER unsigned long long (*bpf_get_lane_id)(void) = (void *)511;

/* Helpers of gputap. */
/* The lanes that are here together; bit n is lane n. */
GPUTAP_HELPER unsigned long long (*bpf_warp_active_mask)(void) = (void *)520;
/*
 * These three need all lanes of the warp that run the program, so they must not stand where only
 * some of them may come, nor in programs that run as threads leave (exit, block_end, return), nor
 * in programs that run once a warp or block, nor behind a bpf_exit of some.
 * (Helpers of hashes may stand there: who holds the lock of a bucket waits for no lane.)
 */
/* The lanes whose value is not 0. */
GPUTAP_HELPER unsigned long long (*bpf_warp_ballot)(unsigned long long value) = (void *)521;
/* The value of another lane; its own if that lane is not there. */
GPUTAP_HELPER unsigned long long (*bpf_warp_shuffle)(unsigned long long value,
						     unsigned long long lane) = (void *)522;
/* The sum of the values of all lanes. */
GPUTAP_HELPER unsigned long long (*bpf_warp_sum)(unsigned long long value) = (void *)523;

/* What bpf_warp_lane_value can be asked for. */
enum gputap_lane_field {
	GPUTAP_LANE_ADDRESS,    /* memory kinds: gputap_memory.address */
	GPUTAP_LANE_VALUE,      /* memory kinds */
	GPUTAP_LANE_VALUE_HIGH, /* memory kinds */
	GPUTAP_LANE_PREDICATE,  /* branches: taken; elsewhere 1 */
	GPUTAP_LANE_THREAD_X,
	GPUTAP_LANE_THREAD_Y,
	GPUTAP_LANE_THREAD_Z,
};
/*
 * In programs that run once a warp: a field of one of its lanes; 0 of lanes that are not in
 * ctx->mask. The field must be constant. Not as threads leave (exit, return).
 */
GPUTAP_HELPER unsigned long long (*bpf_warp_lane_value)(enum gputap_lane_field field,
							unsigned long long lane) = (void *)524;
/* for each lane of a mask: gputap_each_lane (lane, ctx->mask) { … } */
#define gputap_each_lane(name, mask)                                                               \
	for (unsigned int name = 0; name < 32; name++)                                             \
		if ((mask) >> name & 1)

/* The clock of the multiprocessor (%clock64). */
GPUTAP_HELPER unsigned long long (*bpf_clock64)(void) = (void *)525;
/* As the context's launch. */
GPUTAP_HELPER unsigned long long (*bpf_launch_id)(void) = (void *)526;
/* Numbers in the whole grid: block * threads of a block + thread, with x first, then y, then z. */
GPUTAP_HELPER unsigned long long (*bpf_flat_thread_id)(void) = (void *)527;
GPUTAP_HELPER unsigned long long (*bpf_flat_block_id)(void) = (void *)528;
GPUTAP_HELPER unsigned long long (*bpf_flat_warp_id)(void) = (void *)529;
/*
 * A histogram of powers of two in an array of unsigned int or unsigned long long: adds 1 to value
 * k for numbers from 2^k to 2^(k+1) - 1; 0 counts in the first, what is above the last in the last.
 */
GPUTAP_HELPER long (*bpf_hist_add)(void *map, unsigned long long number) = (void *)530;
/*
 * Adds a number to a key's value, which is 4 bytes or begins with 8 that are added to, in one step
 * that no other thread comes between; a hash gets the key if it does not have it. 0, or -E2BIG,
 * -ENOENT as bpf_map_update_elem.
 */
GPUTAP_HELPER long (*bpf_map_add)(void *map, const void *key,
				  unsigned long long number) = (void *)531;
