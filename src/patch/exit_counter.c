/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which thread of a block is the last one to leave: the one whose addition to the block's counter
 * makes it the number of the block's threads. Nobody waits at the end, since threads that wait have
 * not left.
 *
 * The counters are an array in global memory: shared memory may be used up by the kernel, or by
 * the launch. A block claims a counter when it begins, and its last thread frees it. The first
 * thread claims it and sends its number to the others through the sums of barriers (PTX ISA,
 * bar.red.popc), which need no memory: five bits at a time, for each of which as many threads of
 * the first warp vote.
 */
#include <stdarg.h>
#include <stdio.h>

#include "patch/private.h"

enum {
	DIGIT_BITS = 5, /* a warp has 32 threads */
	DIGITS = 3,
	/* More than the blocks that a GPU executes: 32 on each multiprocessor. */
	COUNTERS = 1 << (DIGIT_BITS * DIGITS),
};

/*
 * Add formatted text in which $ is the prefix of the patcher's names. It takes longer than the form
 * with an argument for each, and is for what a kernel has few of.
 */
static gt_printf(3, 4) void put(const struct gt_patcher *patcher, struct gt_strbuf *buffer,
				const char *format, ...)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	va_list arguments;

	va_start(arguments, format);
	gt_strbuf_vprintf(&text, format, arguments);
	va_end(arguments);
	buffer->failed |= text.failed;
	for (const char *at = gt_strbuf_string(&text); *at; at++)
		if (*at == '$')
			gt_strbuf_puts(buffer, patcher->result->prefix);
		else
			gt_strbuf_putc(buffer, *at);
}

bool gt_patch_counts_exits(const struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	uint64_t programs = patcher->functions[function->number].programs & ~patcher->rejected;

	return function->is_entry && gt_patch_has_block_end(patcher, programs);
}

void gt_patch_declare_exit_counters(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		if (function->body && patcher->functions[function->number].kept &&
		    gt_patch_counts_exits(patcher, function)) {
			put(patcher, buffer, ".weak .global .align 4 .b32 $exits[%d];\n", COUNTERS);
			return;
		}
}

/* at_threads: the number of threads of the block. */
static void put_thread_count(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	put(patcher, buffer,
	    "\t.reg .b32 $at_threads, $at_size;\n"
	    "\tmov.u32 $at_threads, %%ntid.x;\n"
	    "\tmov.u32 $at_size, %%ntid.y;\n\tmul.lo.u32 $at_threads, $at_threads, $at_size;\n"
	    "\tmov.u32 $at_size, %%ntid.z;\n\tmul.lo.u32 $at_threads, $at_threads, $at_size;\n");
}

/* at_thread: the number of the thread in the block. */
static void put_thread_number(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	put(patcher, buffer,
	    "\t.reg .b32 $at_thread, $at_place;\n"
	    "\tmov.u32 $at_thread, %%tid.z;\n"
	    "\tmov.u32 $at_size, %%ntid.y;\n\tmov.u32 $at_place, %%tid.y;\n"
	    "\tmad.lo.u32 $at_thread, $at_thread, $at_size, $at_place;\n"
	    "\tmov.u32 $at_size, %%ntid.x;\n\tmov.u32 $at_place, %%tid.x;\n"
	    "\tmad.lo.u32 $at_thread, $at_thread, $at_size, $at_place;\n");
}

/*
 * In the first thread: claim a counter, in turn from a number on that each block increases. The
 * first word of the array is this number, and never a counter: 0 is claimed if all are used.
 */
static void put_claim(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	put(patcher, buffer,
	    "\tsetp.ne.u32 $at_other, $at_thread, 0;\n@$at_other bra $claimed;\n"
	    "\tmov.u32 $at_tries, 0;\n\tmov.u64 $at_array, $exits;\n"
	    "$claim:\n"
	    "\tatom.global.add.u32 $counter, [$at_array], 1;\n"
	    "\tand.b32 $counter, $counter, %d;\n\tmax.u32 $counter, $counter, 1;\n"
	    "\tmul.wide.u32 $at_address, $counter, 4;\n"
	    "\tadd.u64 $at_address, $at_array, $at_address;\n"
	    "\tatom.global.cas.b32 $at_old, [$at_address], 0, 1;\n"
	    "\tsetp.eq.u32 $at_other, $at_old, 0;\n@$at_other bra $claimed;\n"
	    "\tmov.u32 $counter, 0;\n\tadd.u32 $at_tries, $at_tries, 1;\n"
	    "\tsetp.lt.u32 $at_other, $at_tries, %d;\n@$at_other bra $claim;\n"
	    "$claimed:\n",
	    COUNTERS - 1, COUNTERS);
}

/* From the first thread to the first warp, and from there to the other warps if there are any. */
static void put_sending(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	if (gt_patch_has_sync(patcher->module))
		put(patcher, buffer, "\tshfl.sync.idx.b32 $counter, $counter, 0, 31, $at_lanes;\n");
	else
		put(patcher, buffer, "\tshfl.idx.b32 $counter, $counter, 0, 31;\n");
	put(patcher, buffer, "\tsetp.le.u32 $at_other, $at_threads, 32;\n@$at_other bra $sent;\n");
	for (unsigned digit = 0; digit < DIGITS; digit++)
		put(patcher, buffer,
		    "\tbfe.u32 $at_old, $counter, %u, %d;\n"
		    "\tsetp.lt.u32 $at_other, $at_thread, $at_old;\n"
		    "\tbar.red.popc.u32 $at_digit%u, 0, $at_other;\n",
		    digit * DIGIT_BITS, DIGIT_BITS, digit);
	put(patcher, buffer, "\tmov.u32 $counter, $at_digit0;\n");
	for (unsigned digit = 1; digit < DIGITS; digit++)
		put(patcher, buffer, "\tmad.lo.u32 $counter, $at_digit%u, %u, $counter;\n", digit,
		    1U << (digit * DIGIT_BITS));
	put(patcher, buffer, "$sent:\n");
}

void gt_patch_put_exit_counter(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	put(patcher, buffer,
	    "\t.reg .b32 $counter;\n\tmov.u32 $counter, 0;\n"
	    "{\n\t.reg .b32 $at_tries, $at_old, $at_lanes, $at_digit<%d>;\n"
	    "\t.reg .b64 $at_array, $at_address;\n\t.reg .pred $at_other;\n",
	    DIGITS);
	if (gt_patch_has_sync(patcher->module))
		put(patcher, buffer, "\tactivemask.b32 $at_lanes;\n");
	put_thread_count(patcher, buffer);
	put_thread_number(patcher, buffer);
	put_claim(patcher, buffer);
	put_sending(patcher, buffer);
	put(patcher, buffer, "}\n");
}

/* at_leaving: how many lanes leave here together; the first one continues, the others skip. */
static void put_leaving(const struct gt_patcher *patcher, const char *skip,
			struct gt_strbuf *buffer)
{
	put(patcher, buffer, "\t.reg .b32 $at_leaving, $at_below;\n\t.reg .pred $at_other;\n");
	if (gt_patch_has_sync(patcher->module))
		put(patcher, buffer, "\tactivemask.b32 $at_leaving;\n");
	else
		put(patcher, buffer,
		    "\tsetp.eq.u32 $at_other, 0, 0;\n\tvote.ballot.b32 $at_leaving, $at_other;\n");
	put(patcher, buffer,
	    "\tmov.u32 $at_below, %%lanemask_lt;\n\tand.b32 $at_below, $at_below, $at_leaving;\n"
	    "\tsetp.ne.u32 $at_other, $at_below, 0;\n@$at_other bra %s;\n"
	    "\tsetp.eq.u32 $at_other, $counter, 0;\n@$at_other bra %s;\n"
	    "\tpopc.b32 $at_leaving, $at_leaving;\n",
	    skip, skip);
}

void gt_patch_put_last_thread(const struct gt_patcher *patcher, const struct gt_patch_site *site,
			      struct gt_strbuf *buffer)
{
	char label[GT_MAX_PREFIX + 40];

	snprintf(label, sizeof(label), "%slast_%u", patcher->result->prefix, site->number);
	put(patcher, buffer, "\t.reg .pred $at_last;\n\tsetp.ne.u32 $at_last, 0, 0;\n");
	if (site->statement && site->statement->instruction.guard)
		gt_patch_put_guard(&site->statement->instruction, label, buffer);
	put(patcher, buffer, "{\n\t.reg .b64 $at_array, $at_address;\n");
	put_leaving(patcher, label, buffer);
	put_thread_count(patcher, buffer);
	/* The counter is 1 when it is claimed. */
	put(patcher, buffer,
	    "\tmov.u64 $at_array, $exits;\n\tmul.wide.u32 $at_address, $counter, 4;\n"
	    "\tadd.u64 $at_address, $at_array, $at_address;\n"
	    "\tatom.global.add.u32 $at_below, [$at_address], $at_leaving;\n"
	    "\tadd.u32 $at_below, $at_below, $at_leaving;\n\tsub.u32 $at_below, $at_below, 1;\n"
	    "\tsetp.eq.u32 $at_last, $at_below, $at_threads;\n"
	    "@$at_last red.global.and.b32 [$at_address], 0;\n}\n%s:\n",
	    label);
}
