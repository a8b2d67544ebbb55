/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sections, contexts, maps and helpers of GPU programs in eBPF, for `clang -target bpf -O2 -g`. A
 * program needs no other header. If it also uses <bpf/bpf_helpers.h> of libbpf, for host programs
 * in the same file, include that first.
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
 * See docs/ebpf.md. `gputap verify FILE.o` reports whether a program is safe, and why not.
 */
#pragma once

/* ---- sections --------------------------------------------------------------------------- */

/*
 * SEC("gpu/<kind>[.warp|.block][/<glob>]"): the sites in a kernel at which a program runs, its
 * level, and the kernels.
 *
 *	kind         runs                                         r1 is a pointer to a
 *	entry        at the start of a kernel                     struct gputap_context
 *	exit         at the end of a thread of a kernel           struct gputap_context
 *	finish       as exit, and before branches to the end      struct gputap_context
 *	block_begin  as entry, once per block                     struct gputap_context
 *	block_end    as exit, once per block                      struct gputap_context
 *	load_begin   before ld; value is not available            struct gputap_memory
 *	load         after ld: global, shared, local, generic     struct gputap_memory
 *	store        before st                                    struct gputap_memory
 *	memory       at both                                      struct gputap_memory
 *	atomic       after atom, red                              struct gputap_memory
 *	copy         before cp.async                              struct gputap_memory
 *	barrier      before bar, barrier                          struct gputap_barrier
 *	barrier_end  after bar, barrier                           struct gputap_barrier
 *	branch       before a conditional branch                  struct gputap_branch
 *	loop         at the back edge of a loop                   struct gputap_context
 *	loop_end     where a thread leaves a loop                 struct gputap_context
 *	line         where a source line starts                   struct gputap_context
 *	basic_block  where a basic block of the PTX starts        struct gputap_context
 *	call         where a device function starts               struct gputap_context
 *	return       at the return from a device function         struct gputap_context
 *	run          standalone (`gputap gpurun`); r1 is memory, r2 its size: see below
 *
 * Lanes that branch to the end of a kernel may wait there for the other lanes of their warp. A
 * finish program runs before they wait. In kernels with one, so do programs of exit and block_end.
 *
 * The level is how often a program runs. Default: once per thread. ".warp": once per group of
 * active lanes of a warp. ".block" (entry and exit; the level of block_begin and block_end): once
 * per block, at entry in its first thread, at exit in its last.
 *
 * <glob> ("*", "?", "[…]") matches the mangled name of a kernel, its demangled name, or the
 * demangled name up to the "(". It is required for entry, exit, finish, call and return, where the
 * latter two take device functions.
 *
 * Sections of bpftime: "kprobe/<names>" is entry and "kretprobe/<names>" exit, with names of
 * kernels separated by commas, which may begin with "cuda_"; "kprobe/__memcapture", without other
 * names, is memory, and "kprobe/__directly_run" is run. "kprobe/<kernel>__BB<n>", as the only name,
 * is the basic block n of a kernel; "__<register>" may follow, for each register of PTX that
 * bpf_get_register reads, without its "%". They are GPU sections if a name begins with "_Z", if the
 * function's name contains "cuda__" or "__cuda", or if it calls a helper that Linux does not have.
 *
 * loop_end is for natural loops: those that are entered at their label only. Others are rejected
 * there; a function with an indirect branch has none. A thread that leaves several loops at once
 * runs the program for each, the inner ones first; one that ends in a loop with an exit of a device
 * function runs none.
 *
 * line is for code with line information (-lineinfo): before the first instruction of a line in the
 * text of the PTX, as with a breakpoint; inlined copies of a line are lines of their own. Copies of
 * an unrolled loop and other instructions of the line are not counted. bpf_source_line has the
 * line.
 *
 * basic_block is before the first instruction of a block: the first of the kernel, one at a label
 * that branches lead to, or one after a conditional branch. Blocks are numbered from 0 in the order
 * of the text.
 *
 * Programs of all other sections are host programs and may be in the same file. They share arrays
 * (GPUTAP_SHARED_ARRAY) and global variables with GPU programs: see docs/ebpf.md.
 */
#ifndef SEC
#define SEC(name) __attribute__((section(name), used))
#endif

/* ---- contexts --------------------------------------------------------------------------- */

/*
 * Contexts are read only, and not in memory: a read of a field becomes a register, a kernel
 * parameter or a constant. Each read must be within one field (fields are volatile, so that the
 * compiler does not combine reads).
 *
 * Fields marked [thread] exist only in programs that run once per thread: they differ between
 * lanes. Programs that run once per warp read them with bpf_warp_lane_value. [warp]: only in
 * programs that run once per warp.
 */
typedef const volatile unsigned int gputap_u32;
typedef const volatile unsigned long long gputap_u64;

/* OpenCL devices do not say which compute unit a block is on. */
#define GPUTAP_SM_UNKNOWN 1023

enum {
	GPUTAP_ARGUMENTS = 32, /* kernel arguments in a context */
};

/* The fields that all contexts begin with. */
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
	/* The multiprocessor that the block is on: 0 to 1022; else GPUTAP_SM_UNKNOWN. */          \
	gputap_u32 sm;                                                                             \
	/* Blocks in the grid (gridDim). */                                                        \
	gputap_u32 grid_size_x, grid_size_y, grid_size_z;                                          \
	/* [warp] The active lanes; bit n is lane n. */                                            \
	gputap_u32 mask;                                                                           \
	/* The launch id (%gridid), which increases with every launch of the process. */           \
	gputap_u64 launch;                                                                         \
	/* gputap's id of the kernel. It is not known in device functions of modules with several  \
	 * kernels that have programs: programs that read it are rejected there (OpenCL: 0). */    \
	gputap_u32 kernel;                                                                         \
	/* The number of kernel arguments; 0 in device functions, where they are not known. */     \
	gputap_u32 argument_count;                                                                 \
	/* The size of each argument in bytes; 0 after the last. */                                \
	gputap_u32 argument_sizes[GPUTAP_ARGUMENTS];                                               \
	/* The arguments, zero-extended; of structures the first 8 bytes; 0 after the last. */     \
	gputap_u64 arguments[GPUTAP_ARGUMENTS];                                                    \
	/* gputap's id of this site in the code. */                                                \
	gputap_u32 site;                                                                           \
	/* The line in the module's PTX text. */                                                   \
	gputap_u32 line

/* entry, exit, finish, block_begin, block_end, loop, loop_end, line, basic_block, call, return */
struct gputap_context {
	GPUTAP_CONTEXT;
};

enum gputap_space {
	/* Not specified by the instruction: generic, and not all lanes' are shared or local. */
	GPUTAP_SPACE_GENERIC,
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
	/* [thread] The address; for copies, the source. A scalar, which cannot be dereferenced. */
	gputap_u64 address;
	/*
	 * [thread] The loaded or stored value, or the operand of the atomic operation: the first 8
	 * bytes and the next 8, zero-extended. 0 if the value is not in a register.
	 */
	gputap_u64 value, value_high;
	/* The valid bytes of value and value_high: 0 to 16. */
	gputap_u32 value_size;
	/* The size of the access in bytes. */
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

/* barrier, barrier_end */
struct gputap_barrier {
	GPUTAP_CONTEXT;
	/* The barrier number; that of __syncthreads is 0. */
	gputap_u32 barrier;
};

/*
 * run: a program has two arguments, memory that it can read and write, and its size in bytes, which
 * is fixed at verification:
 *
 *	SEC("gpu/run") long sum(unsigned char *memory, unsigned long size)
 */

/* ---- maps ------------------------------------------------------------------------------- */

/*
 * Map types. Types of Linux and bpftime have the same numbers there.
 *
 * Maps on the host are in memory that GPUs do not access: each helper on them is a call of the
 * host, of several microseconds. A lookup returns a copy of the value, one for each lookup in the
 * program, until it is executed again. The copy is read only; change the map with
 * bpf_map_update_elem, bpf_map_delete_elem and bpf_map_add, which are atomic. Where the host does
 * not answer, a lookup returns NULL and other helpers -EAGAIN; this is counted. Values have at most
 * 4096 bytes. So are hashes, LRU hashes and LPM tries that host programs of the object use, too:
 * these are maps of the kernel, without bpf_map_add.
 */
enum gputap_map_type {
	GPUTAP_MAP_HASH = 1,             /* keys of any size */
	GPUTAP_MAP_ARRAY = 2,            /* keys are unsigned int, 0 to max_entries - 1 */
	GPUTAP_MAP_PERF_EVENT_ARRAY = 4, /* one ring; max_entries is ignored */
	GPUTAP_MAP_HOST_HASH = 5,        /* PERCPU_HASH: a hash on the host, see below */
	GPUTAP_MAP_SM_ARRAY = 6,         /* PERCPU_ARRAY: one per multiprocessor; needs atomics */
	GPUTAP_MAP_LRU_HASH = 9,         /* on the host; a full one evicts entries */
	GPUTAP_MAP_LRU_HOST_HASH = 10,   /* LRU_PERCPU_HASH: as LRU_HASH */
	GPUTAP_MAP_LPM_TRIE = 11,        /* on the host; longest prefix match, keys as in Linux */
	GPUTAP_MAP_RING = 27,            /* max_entries: bytes; see GPUTAP_RING */
	GPUTAP_MAP_GPU_HASH = 1501,      /* as HASH */
	GPUTAP_MAP_THREAD_ARRAY = 1502,  /* one per thread of the grid: plain stores are safe */
	GPUTAP_MAP_GPU_ARRAY = 1503,     /* as ARRAY */
	GPUTAP_MAP_HOST_ARRAY = 1504,    /* an array in memory shared with the host */
	GPUTAP_MAP_HOST_THREAD_ARRAY = 1512, /* THREAD_ARRAY in memory shared with the host */
	GPUTAP_MAP_HOST_GPU_ARRAY = 1513,    /* as HOST_ARRAY */
	GPUTAP_MAP_GPU_RING = 1527,   /* max_entries: records of value_size bytes per thread */
	GPUTAP_MAP_WARP_ARRAY = 1540, /* one per warp: plain stores are safe at level warp */
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

/*
 * __uint(pinning, GPUTAP_PIN_BY_NAME) in a map, as libbpf's LIBBPF_PIN_BY_NAME: all objects of a
 * run that declare it so, with the same type and sizes, have one map of this name.
 */
#define GPUTAP_PIN_BY_NAME 1

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
 * An array in memory that is shared with the host while kernels run: common to all GPUs and to host
 * programs in the same file. Slower than device memory.
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
 * A ring buffer of `bytes`: a power of two, and whole pages. libbpf rounds other sizes up: 1000
 * bytes become 4096.
 */
#define GPUTAP_RING(name, bytes)                                                                   \
	struct {                                                                                   \
		__uint(type, GPUTAP_MAP_RING);                                                     \
		__uint(max_entries, bytes);                                                        \
	} name SEC(".maps")

/*
 * The same with the type of its records, by which 'gputap run' and 'gputap exec' print them:
 * GPUTAP_RING_OF(events, struct event, 1 << 20); A structure may end with an array of no fixed
 * size.
 */
#define GPUTAP_RING_OF(name, record_type, bytes)                                                   \
	struct {                                                                                   \
		__uint(type, GPUTAP_MAP_RING);                                                     \
		__uint(max_entries, bytes);                                                        \
		__type(value, record_type);                                                        \
	} name SEC(".maps")

/*
 * A histogram of powers of two for bpf_hist_add, printed as bars. Every array that a program passes
 * to bpf_hist_add is printed in this way; the type marks those that host programs count in.
 */
typedef unsigned long long gputap_histogram;
#define GPUTAP_HISTOGRAM(name, entries) GPUTAP_ARRAY(name, gputap_histogram, entries)

/* Flags of bpf_map_update_elem. */
enum {
	GPUTAP_ANY = 0,     /* insert or update */
	GPUTAP_NOEXIST = 1, /* insert a new key; else -EEXIST */
	GPUTAP_EXIST = 2,   /* update an existing key; else -ENOENT */
};

/* ---- helpers ---------------------------------------------------------------------------- */

#define GPUTAP_HELPER static __attribute__((unused))

/* Helpers of Linux, which <bpf/bpf_helpers.h> declares, too. */
#ifndef __BPF_HELPERS__
/* Return the value of a key, or NULL. Arrays with copies: in the copy of the caller. */
GPUTAP_HELPER void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
/*
 * Set the value of a key. Returns 0; -EEXIST, -ENOENT: see flags; -E2BIG: the hash is full, or the
 * key is beyond the end of the array; -EINVAL: invalid flags.
 */
GPUTAP_HELPER long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
					  unsigned long long flags) = (void *)2;
/* Delete a key. Returns 0; -ENOENT: there is no such key; -EINVAL: the map is an array. */
GPUTAP_HELPER long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
/* Return the GPU's global timer in ns. */
GPUTAP_HELPER unsigned long long (*bpf_ktime_get_ns)(void) = (void *)5;
/*
 * Print a line with up to three scalars. Conversions: %d %i %u %x %X %c with flags, width, l and
 * ll; %p, which is 16 hex digits; %%. Others, such as %s, are printed unchanged. As in Linux, each
 * call prints its own line, whether the format ends with \n or not. Missing arguments are 0. Slow.
 * Returns 0, or -EAGAIN: dropped (buffer full), and counted as lost. See bpf_printk.
 */
GPUTAP_HELPER long (*bpf_trace_printk)(const char *format, unsigned int size, ...) = (void *)6;
/* Return a pseudo-random number. */
GPUTAP_HELPER unsigned int (*bpf_get_prandom_u32)(void) = (void *)7;
/* Return the number of the multiprocessor, or GPUTAP_SM_UNKNOWN. */
GPUTAP_HELPER unsigned int (*bpf_get_smp_processor_id)(void) = (void *)8;
/* Return process id << 32 | thread id of the thread that launched the kernel; 0: not known. */
GPUTAP_HELPER unsigned long long (*bpf_get_current_pid_tgid)(void) = (void *)14;
/*
 * Write a record of `size` bytes; flags are ignored. Returns 0; -EAGAIN: the ring is full; -E2BIG:
 * the record is larger than the ring. Both count as lost. `context` is not used and may be NULL.
 */
GPUTAP_HELPER long (*bpf_perf_event_output)(void *context, void *map, unsigned long long flags,
					    void *data, unsigned long long size) = (void *)25;
/* Write a record to a ring. Results as above. */
GPUTAP_HELPER long (*bpf_ringbuf_output)(void *ring, void *data, unsigned long long size,
					 unsigned long long flags) = (void *)130;
/* Reserve a record of constant size. Returns NULL if the ring is full, and counts it as lost. */
GPUTAP_HELPER void *(*bpf_ringbuf_reserve)(void *ring, unsigned long long size,
					   unsigned long long flags) = (void *)131;
/* Submit or discard a record. Every reserved record must be passed to one of these. */
GPUTAP_HELPER void (*bpf_ringbuf_submit)(void *record, unsigned long long flags) = (void *)132;
GPUTAP_HELPER void (*bpf_ringbuf_discard)(void *record, unsigned long long flags) = (void *)133;
/*
 * Call function(index, context) for the indexes 0 to count - 1, until it returns 1. It is a static
 * function of the program that returns 0 (continue) or 1 (stop); context points to the stack or is
 * NULL. Returns the number of calls; -EINVAL: flags is not 0; -E2BIG: more than 8,388,608.
 */
GPUTAP_HELPER long (*bpf_loop)(unsigned int count, void *function, void *context,
			       unsigned long long flags) = (void *)181;
#endif

/*
 * A condition of loops, `for (…; i < n && can_loop; …)`: true, except from the 8,388,608th time on
 * in a call of the function. A loop with it may have any limit. `cond_break;` leaves the loop then.
 * The instruction is may_goto of Linux 6.9.
 */
#ifndef can_loop
#define can_loop                                                                                   \
	({                                                                                         \
		__label__ gputap_stop, gputap_next;                                                \
		int gputap_continues = 1;                                                          \
		__asm__ goto("1: .byte 0xe5; .byte 0; .long ((%l[gputap_stop] - 1b - 8) / 8) & "   \
			     "0xffff; .short 0"                                                    \
			     :                                                                     \
			     :                                                                     \
			     :                                                                     \
			     : gputap_stop);                                                       \
		goto gputap_next;                                                                  \
	gputap_stop:                                                                               \
		gputap_continues = 0;                                                              \
	gputap_next:;                                                                              \
		gputap_continues;                                                                  \
	})
#endif
#ifndef cond_break
#define cond_break                                                                                 \
	({                                                                                         \
		if (!can_loop)                                                                     \
			break;                                                                     \
	})
#endif

/*
 * for loops as libbpf has them: `bpf_for(i, start, end)` sets i to start, … end - 1,
 * `bpf_repeat(n)` executes its body n times. Any start, end and n will do, unknown ones included,
 * since the loops contain can_loop. Changes of i in the body do not count. They replace those of
 * libbpf's bpf_helpers.h, which call functions of the kernel: GPUs have none.
 */
#undef bpf_for
#define bpf_for(i, start, end)                                                                     \
	for (int gputap_index = (start), gputap_end = (end);                                       \
	     gputap_index < gputap_end && can_loop && ((i) = gputap_index, 1); gputap_index++)
#undef bpf_repeat
#define bpf_repeat(count)                                                                          \
	for (int gputap_left = (count); gputap_left > 0 && can_loop; gputap_left--)

#ifndef bpf_printk
#define bpf_printk(format, ...)                                                                    \
	({                                                                                         \
		static const char gputap_format[] = format;                                        \
		bpf_trace_printk(gputap_format, sizeof(gputap_format), ##__VA_ARGS__);             \
	})
#endif

/* Helpers of bpftime. */
/* Print a constant string as a line. Returns 0, or -EAGAIN: dropped (buffer full), and counted. */
GPUTAP_HELPER long (*bpf_puts)(const char *text) = (void *)501;
/* Return %globaltimer in ns; on many GPUs it advances in steps of a microsecond. */
GPUTAP_HELPER unsigned long long (*bpf_get_globaltimer)(void) = (void *)502;
/* Each writes x, y and z, and returns 0. */
GPUTAP_HELPER long (*bpf_get_block_idx)(unsigned long long *x, unsigned long long *y,
					unsigned long long *z) = (void *)503;
GPUTAP_HELPER long (*bpf_get_block_dim)(unsigned long long *x, unsigned long long *y,
					unsigned long long *z) = (void *)504;
GPUTAP_HELPER long (*bpf_get_thread_idx)(unsigned long long *x, unsigned long long *y,
					 unsigned long long *z) = (void *)505;
GPUTAP_HELPER long (*bpf_get_grid_dim)(unsigned long long *x, unsigned long long *y,
				       unsigned long long *z) = (void *)508;
/* A memory barrier for the whole system. It does not wait for other threads. Returns 0. */
GPUTAP_HELPER long (*bpf_membar)(void) = (void *)506;
/*
 * End the thread; in a program that runs once per warp, the lanes of the group. Rejected without
 * --allow-control, and in programs that run once per block. A block whose threads all call it in
 * a gpu/entry program is skipped. Exit programs do not run for these threads, and block_end
 * programs are not inserted into such kernels.
 */
GPUTAP_HELPER long (*bpf_exit)(void) = (void *)507;
GPUTAP_HELPER unsigned long long (*bpf_get_sm_id)(void) = (void *)509;
/* Return the warp's number in its block, and the lane in the warp. */
GPUTAP_HELPER unsigned long long (*bpf_get_warp_id)(void) = (void *)510;
GPUTAP_HELPER unsigned long long (*bpf_get_lane_id)(void) = (void *)511;
/*
 * Return the bits of a register of PTX, extended with zeros, or 0 or 1 of a predicate, at a basic
 * block whose section lists the register: number 0 is the first of the list. The number must be
 * constant. It may be a register that the kernel has not written yet. At sections that list no
 * registers it is bpf_get_device, as programs for bpftime use it.
 */
GPUTAP_HELPER unsigned long long (*bpf_get_register)(unsigned long long number) = (void *)512;

/* Helpers of gputap. */
/* Return the active lanes; bit n is lane n. */
GPUTAP_HELPER unsigned long long (*bpf_warp_active_mask)(void) = (void *)520;
/*
 * These three wait for all lanes of the warp that run the program. So they are rejected in
 * divergent code, after a divergent bpf_exit, in programs that run when threads end (exit,
 * finish, block_end, return), and in programs that run once per warp or block. Helpers on hashes
 * are accepted there: a lane that holds the lock of a bucket does not wait for other lanes.
 */
/* Return the lanes whose value is not 0. */
GPUTAP_HELPER unsigned long long (*bpf_warp_ballot)(unsigned long long value) = (void *)521;
/* Return the value of another lane; its own if that lane is not active. */
GPUTAP_HELPER unsigned long long (*bpf_warp_shuffle)(unsigned long long value,
						     unsigned long long lane) = (void *)522;
/* Return the sum of the values of all lanes. */
GPUTAP_HELPER unsigned long long (*bpf_warp_sum)(unsigned long long value) = (void *)523;

/* The fields of bpf_warp_lane_value. */
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
 * Return a field of a lane, in programs that run once per warp; 0 for lanes that are not in
 * ctx->mask. The field must be constant. Rejected in programs that run when threads end (exit,
 * return).
 */
GPUTAP_HELPER unsigned long long (*bpf_warp_lane_value)(enum gputap_lane_field field,
							unsigned long long lane) = (void *)524;
/* Iterate over the lanes of a mask: gputap_each_lane (lane, ctx->mask) { … } */
#define gputap_each_lane(name, mask)                                                               \
	for (unsigned int name = 0; name < 32; name++)                                             \
		if ((mask) >> name & 1)

/* Return the clock of the multiprocessor (%clock64). */
GPUTAP_HELPER unsigned long long (*bpf_clock64)(void) = (void *)525;
/* Return the launch id, as in the context. */
GPUTAP_HELPER unsigned long long (*bpf_launch_id)(void) = (void *)526;
/*
 * Return numbers in the grid: flat block * threads per block + flat thread, and so on; in flat
 * numbers x varies fastest, then y, then z.
 */
GPUTAP_HELPER unsigned long long (*bpf_flat_thread_id)(void) = (void *)527;
GPUTAP_HELPER unsigned long long (*bpf_flat_block_id)(void) = (void *)528;
GPUTAP_HELPER unsigned long long (*bpf_flat_warp_id)(void) = (void *)529;
/*
 * Count a number in a histogram of powers of two, an array of unsigned int or unsigned long long:
 * add 1 to value k for 2^k to 2^(k+1) - 1. Value 0 also counts 0, and the last all greater numbers.
 * Returns as bpf_map_add.
 */
GPUTAP_HELPER long (*bpf_hist_add)(void *map, unsigned long long number) = (void *)530;
/*
 * Atomically add a number to a key's value: a u32 if the value has 4 bytes, else the u64 in its
 * first 8 bytes. A key that is not in a hash is inserted. Returns 0; -E2BIG, -ENOENT as
 * bpf_map_update_elem.
 */
GPUTAP_HELPER long (*bpf_map_add)(void *map, const void *key,
				  unsigned long long number) = (void *)531;
/* Return the bytes of shared memory of the block, static and dynamic (%total_smem_size). */
GPUTAP_HELPER unsigned long long (*bpf_shared_size)(void) = (void *)532;
/*
 * Return how many clock cycles (%clock64) the instruction took, in programs of load, atomic and
 * barrier_end: until its result has arrived, or all threads at the barrier. 0 elsewhere. The two
 * reads of the clock are included. red has no result to wait for.
 */
GPUTAP_HELPER unsigned long long (*bpf_instruction_cycles)(void) = (void *)533;
/*
 * Return how often the thread has passed the start of the loop that it leaves since it entered it,
 * in programs of loop_end: 1 or more. 0 elsewhere.
 */
GPUTAP_HELPER unsigned long long (*bpf_loop_trips)(void) = (void *)534;
/*
 * Return the line of the source file at the site, a constant there: of the innermost function, if
 * calls were inlined. 0 if the module has no line information (nvcc -lineinfo), and in OpenCL.
 */
GPUTAP_HELPER unsigned long long (*bpf_source_line)(void) = (void *)535;
/*
 * Return the number of the GPU in its process, from 0, as cuDeviceGet and cudaSetDevice number
 * them. Processes may number the same GPUs differently (CUDA_VISIBLE_DEVICES). Rejected in OpenCL.
 */
GPUTAP_HELPER unsigned long long (*bpf_get_device)(void) = (void *)536;

/*
 * Compare a field of the lanes in ctx->mask, in programs that run once per warp. The field must be
 * constant. Rejected as bpf_warp_lane_value.
 */
/* Return how many different numbers field >> shift are: of addresses, 5 counts sectors. */
GPUTAP_HELPER unsigned long long (*bpf_warp_distinct)(enum gputap_lane_field field,
						      unsigned long long shift) = (void *)540;
/*
 * Return the difference between the field of an active lane and that of the active lane before it,
 * if all are the same; else GPUTAP_NO_STRIDE. 0 if one lane is active.
 */
GPUTAP_HELPER unsigned long long (*bpf_warp_stride)(enum gputap_lane_field field) = (void *)541;
#define GPUTAP_NO_STRIDE (1ull << 63)
/*
 * Return how many passes shared memory takes for accesses of `width` bytes at the addresses in a
 * field: 32 banks of 4 bytes, of which a pass accesses each once. Without conflicts, 1; for widths
 * of 8 and 16, which are accessed for half and a quarter of a warp at a time, 2 and 4, or less if
 * parts of the warp are not active.
 */
GPUTAP_HELPER unsigned long long (*bpf_warp_bank_passes)(enum gputap_lane_field field,
							 unsigned long long width) = (void *)542;

/*
 * Prefetch the line of memory at an address of the kernel, generic or of global memory, such as
 * ctx->address of a load or an argument plus an offset. `where` must be constant. Hints on eviction
 * need sm_80 and PTX 7.4, and are GPUTAP_PREFETCH_L2 elsewhere. Returns 0. Rejected without
 * --allow-control.
 */
enum gputap_prefetch {
	GPUTAP_PREFETCH_L1,
	GPUTAP_PREFETCH_L2,
	GPUTAP_PREFETCH_KEEP,    /* L2; the line is evicted last */
	GPUTAP_PREFETCH_RELEASE, /* L2; the line is evicted as others are */
};
GPUTAP_HELPER long (*bpf_prefetch)(unsigned long long address,
				   enum gputap_prefetch where) = (void *)550;
