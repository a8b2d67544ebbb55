/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads, blocks and times by kernel: the program programs/cudacounter.bpf.c. */
#include "base/clean.h"
#include "programs.h"
#include "report/gpu.h"
#include "report/table.h"

/* Calls `use` for each kernel that ran. */
static void each_kernel(const struct gt_gpu_run *run,
			void (*use)(void *context, const char *name,
				    const struct cudacounter_kernel *kernel),
			void *context)
{
	uint32_t count;
	const struct cudacounter_kernel *kernels =
		gt_gpu_report_values(run, "kernels", sizeof(struct cudacounter_kernel), &count);

	for (uint32_t i = 0; kernels && i < count; i++) {
		const char *name = gt_inject_kernel(run->inject, i);

		if (name && kernels[i].entries)
			use(context, name, &kernels[i]);
	}
}

/* Kernels that were loaded when all counters had been given away. */
static uint32_t count_uncounted(const struct gt_gpu_run *run)
{
	uint32_t count = 0, number;

	gt_gpu_report_values(run, "kernels", sizeof(struct cudacounter_kernel), &count);
	for (number = count; gt_inject_kernel(run->inject, number); number++)
		continue;
	return number - count;
}

/* All threads that started have ended. */
static bool has_time(const struct cudacounter_kernel *kernel)
{
	return kernel->entries && kernel->entries == kernel->exits;
}

/* All blocks have ended, and gputap has seen where: it does not in every kernel. */
static bool has_block_time(const struct cudacounter_kernel *kernel)
{
	return kernel->blocks && kernel->blocks == kernel->blocks_ended;
}

static void put_time(struct gt_table *table, bool is_known, uint64_t ns)
{
	if (is_known)
		gt_table_duration(table, ns);
	else
		gt_table_text(table, "-");
}

struct kernel_rows {
	const struct gt_gpu_run *run;
	struct gt_table table;
};

static void put_row(void *context, const char *name, const struct cudacounter_kernel *kernel)
{
	struct kernel_rows *rows = context;
	struct gt_table *table = &rows->table;

	gt_table_number(table, kernel->entries);
	gt_table_number(table, kernel->exits);
	gt_table_number(table, kernel->blocks);
	put_time(table, has_time(kernel), kernel->time);
	put_time(table, has_block_time(kernel),
		 kernel->blocks ? kernel->block_time / kernel->blocks : 0);
	gt_table_number(table, kernel->warps ? kernel->cycles / kernel->warps : 0);
	gt_gpu_report_put_name(rows->run, name, gt_table_cell(table));
	gt_table_end_cell(table);
}

static void put_kernels(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"ENTRIES", false, false},    {"EXITS", false, false},
		{"BLOCKS", false, false},     {"TIME", false, false},
		{"TIME/BLOCK", false, false}, {"CYCLES/WARP", false, false},
		{"KERNEL", true, false},
	};
	uint32_t uncounted = count_uncounted(run);
	struct kernel_rows rows = {.run = run};

	gt_table_begin(&rows.table, columns, gt_countof(columns));
	each_kernel(run, put_row, &rows);
	gt_table_put(&rows.table, text);
	if (uncounted)
		gt_strbuf_printf(text,
				 "not counted: %u kernels that were loaded after the first %d\n",
				 uncounted, CUDACOUNTER_KERNELS);
}

static void json_time(struct gt_json *json, const char *key, bool is_known, uint64_t ns)
{
	if (is_known)
		gt_json_u64(json, key, ns);
	else
		gt_json_null(json, key);
}

static void json_kernel(void *context, const char *name, const struct cudacounter_kernel *kernel)
{
	struct gt_json *json = context;

	gt_json_object_begin(json, NULL);
	gt_json_string(json, "kernel", name);
	gt_json_u64(json, "entries", kernel->entries);
	gt_json_u64(json, "exits", kernel->exits);
	gt_json_u64(json, "blocks", kernel->blocks);
	json_time(json, "time", has_time(kernel), kernel->time);
	json_time(json, "block_time", has_block_time(kernel), kernel->block_time);
	gt_json_u64(json, "warps", kernel->warps);
	gt_json_u64(json, "cycles", kernel->cycles);
	gt_json_object_end(json);
}

static void json_kernels(const struct gt_gpu_run *run, struct gt_json *json)
{
	gt_json_array_begin(json, "kernels");
	each_kernel(run, json_kernel, json);
	gt_json_array_end(json);
	gt_json_u64(json, "kernels_not_counted", count_uncounted(run));
}

const struct gt_gpu_report gt_gpu_report_cudacounter = {
	.name = "cudacounter",
	.put = put_kernels,
	.put_json = json_kernels,
};
