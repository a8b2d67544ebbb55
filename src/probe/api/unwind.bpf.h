/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The callers of a function at its entry, by the unwinding rules of the files that its process
 * maps, and by frame pointers where there are none. Each address is that of executable memory.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "base/walk.h"
#include "elf/unwind_row.h"
#include "probe/api/unwind.h"

#define VM_EXEC 4
#define PAGE_SHIFT 12
#define EBUSY 16

/* struct ucontext at the stack pointer, as x86-64's kernel stores it for a signal's handler. */
#define SIGNAL_BASE 120
#define SIGNAL_STACK 160
#define SIGNAL_PC 168

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_unwind_row);
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct gt_unwind_file);
	__type(value, struct gt_unwind_range);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct gt_code_block_key);
	__type(value, struct gt_code_block);
} code_blocks SEC(".maps");

/*
 * Rules that were found, by file and offset, since call stacks are alike: each entry is
 * {file, upper bits of the offset, rule} in one word, so that threads on several CPUs can share
 * it. The rest of the offset is in the index. 0: unused.
 */
#define RULE_CACHE_BITS GT_UNWIND_FILE_BITS
#define RULE_CACHE_ENTRIES (1u << RULE_CACHE_BITS)
__u64 rule_cache[RULE_CACHE_ENTRIES];

/* The state of a walk. */
struct caller_walk {
	__u64 pc, stack, base; /* of the caller that was found last */
	__u64 trampoline; /* replaces return addresses of functions with probes; 0: none does */
	struct gt_code_mapping code; /* with `pc` */
	__u32 process;
	__u8 interrupted; /* `pc` is no return address */
	__u8 truncated;   /* there are more callers */
	__u8 padding[2];
	struct gt_window window;
};

static long take_mapping(struct task_struct *task, struct vm_area_struct *mapping,
			 struct gt_code_mapping *code)
{
	struct gt_unwind_file key = {};
	struct gt_unwind_range *range;
	struct file *file;

	if (!(mapping->vm_flags & VM_EXEC))
		return 0;
	code->start = mapping->vm_start;
	code->end = mapping->vm_end;
	code->offset = mapping->vm_pgoff << PAGE_SHIFT;
	file = mapping->vm_file;
	if (!file)
		return 0;
	key.inode = file->f_inode->i_ino;
	key.size = file->f_inode->i_size;
	range = bpf_map_lookup_elem(&unwind_files, &key);
	if (range)
		code->range = *range;
	return 0;
}

/* Find the mapping of an instruction as user space knows it. */
static __always_inline void find_known_code(struct caller_walk *walk, __u64 at)
{
	struct gt_code_block_key key = {.block = at >> GT_CODE_BLOCK_SHIFT,
					.process = walk->process};
	struct gt_code_block *block = bpf_map_lookup_elem(&code_blocks, &key);

	for (int i = 0; block && i < GT_CODE_BLOCK_MAPPINGS; i++) {
		const struct gt_code_mapping *mapping = &block->mappings[i];

		if (at < mapping->start || at >= mapping->end)
			continue;
		walk->code = *mapping;
		break;
	}
}

/* Find the mapping of an instruction. Whether it is executable. */
static __always_inline bool find_code(struct caller_walk *walk, __u64 at)
{
	struct gt_code_mapping code = {};
	long error;

	if (at >= walk->code.start && at < walk->code.end)
		return true;
	error = bpf_find_vma(bpf_get_current_task_btf(), at, take_mapping, &code, 0);
	walk->code = code;
	if (error == -EBUSY)
		find_known_code(walk, at);
	return at >= walk->code.start && at < walk->code.end;
}

/* The rule at an offset of a file. Not static, so that it is verified once, not once a frame. */
__noinline __u32 gt_find_rule(__u32 first, __u32 count, __u32 offset)
{
	__u32 rule = GT_UNWIND_BY_FRAME;

	for (int i = 0; i <= GT_UNWIND_MAX_ROWS_BITS && count; i++) {
		__u32 half = count / 2, key = first + half;
		struct gt_unwind_row *row = bpf_map_lookup_elem(&unwind_rows, &key);

		if (!row)
			break;
		if (row->offset > offset) {
			count = half;
			continue;
		}
		rule = row->rule;
		first = key + 1;
		count -= half + 1;
	}
	return rule;
}

/* Read a word of the stack; false: it cannot be read. */
static __always_inline bool read_word(struct caller_walk *walk, __u64 at, __u64 *word)
{
	if (at & 7 || !gt_window_reach(&walk->window, at))
		return false;
	*word = walk->window.words[(at - walk->window.base) / 8 & (GT_WINDOW_WORDS - 1)];
	return true;
}

static __always_inline __u32 rule_of(struct caller_walk *walk)
{
	const struct gt_code_mapping *code = &walk->code;
	__u32 offset = walk->pc - !walk->interrupted - code->start + code->offset;
	__u64 tag = (__u64)(code->range.file << (32 - RULE_CACHE_BITS) | offset >> RULE_CACHE_BITS)
		    << 32;
	volatile __u64 *cached =
		&rule_cache[(offset ^ code->range.file) & (RULE_CACHE_ENTRIES - 1)];
	__u64 known = *cached;
	__u32 rule;

	if (!code->range.count)
		return GT_UNWIND_BY_FRAME;
	if (known && known >> 32 << 32 == tag)
		return known;
	rule = gt_find_rule(code->range.first, code->range.count, offset);
	*cached = tag | rule;
	return rule;
}

static __always_inline bool leave_signal(struct caller_walk *walk)
{
	__u64 stack = walk->stack;

	walk->interrupted = 1;
	return read_word(walk, stack + SIGNAL_BASE, &walk->base) &&
	       read_word(walk, stack + SIGNAL_STACK, &walk->stack) &&
	       read_word(walk, stack + SIGNAL_PC, &walk->pc);
}

/* Move to the caller of a function by its rule, or by its frame pointer. */
static __always_inline bool leave_function(struct caller_walk *walk, __u32 rule)
{
	__u64 slot = GT_UNWIND_SLOT(rule), base = walk->base, cfa;

	switch (GT_UNWIND_KIND(rule)) {
	case GT_UNWIND_BY_STACK:
		cfa = walk->stack + GT_UNWIND_OFFSET(rule);
		break;
	case GT_UNWIND_BY_BASE:
		cfa = base + GT_UNWIND_OFFSET(rule);
		break;
	case GT_UNWIND_BY_POINTER:
		if (!read_word(walk, base + GT_UNWIND_OFFSET(rule), &cfa))
			return false;
		slot = cfa - base;
		break;
	default:
		cfa = base + 16;
		slot = 16;
	}
	if (cfa <= walk->stack || (slot && !read_word(walk, cfa - slot, &walk->base)) ||
	    !read_word(walk, cfa - 8, &walk->pc))
		return false;
	walk->stack = cfa;
	walk->interrupted = 0;
	return true;
}

/*
 * Move to the caller; 0: there is none. Not static, so that it is verified once, not once a frame.
 */
__noinline int gt_unwind_step(struct caller_walk *walk)
{
	__u32 rule;

	if (!walk)
		return 0;
	rule = rule_of(walk);
	if (GT_UNWIND_KIND(rule) == GT_UNWIND_ENDS)
		return 0;
	if (GT_UNWIND_KIND(rule) == GT_UNWIND_BY_SIGNAL ? !leave_signal(walk)
							: !leave_function(walk, rule)) {
		walk->truncated = GT_UNWIND_KIND(rule) != GT_UNWIND_BY_FRAME;
		return 0;
	}
	/* The return address was at the stack pointer that the caller had before its call. */
	if (walk->trampoline && walk->pc == walk->trampoline)
		walk->pc = gt_probed_return(walk->stack - 16);
	if (!walk->pc || !find_code(walk, walk->pc - !walk->interrupted)) {
		walk->truncated = walk->pc != 0;
		return 0;
	}
	return 1;
}

/* The same as gt_walk_frames. The state is kept in `walk`. */
static __always_inline struct gt_walk unwind_frames(struct caller_walk *walk, __u64 *addresses,
						    __u32 room, __u32 depth)
{
	struct gt_walk result = {.hash = 0x9e3779b97f4a7c15ull};

	gt_window_move(&walk->window, walk->stack & ~7ull);
	walk->code = (struct gt_code_mapping){};
	walk->interrupted = walk->truncated = 0;
	find_code(walk, walk->pc - 1);
	for (__u32 i = 0; i < room; i++) {
		if (i >= depth) {
			walk->truncated = 1;
			break;
		}
		addresses[i] = walk->pc;
		result.count = i + 1;
		result.hash = gt_hash_mix(result.hash, walk->pc);
		if (!gt_unwind_step(walk))
			break;
	}
	result.truncated = walk->truncated;
	if (!result.hash)
		result.hash = 1;
	return result;
}
