/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "gpurun": run a GPU program standalone over a grid, with the options of "exec". */
#include "cli/exec.h"
#include "cli/programs.h"

#define AT(field) offsetof(struct gt_cli_exec_options, field)

static const struct gt_option option_table[] = {
	{0, "grid", "XxYxZ", "blocks of the grid (1); at most 16777216 threads in all",
	 GT_OPTION_STRING, AT(grid), NULL},
	{0, "block", "XxYxZ", "threads of each block (1)", GT_OPTION_STRING, AT(block), NULL},
	{0, "prog", "NAME", "run this program of the object, if it has several", GT_OPTION_STRING,
	 AT(program), NULL},
	{0, "mem-file", "FILE", "contents of the program's memory, as bytes", GT_OPTION_STRING,
	 AT(memory_file), NULL},
	{0, "mem", "HEX", "the same, as hex digits", GT_OPTION_STRING, AT(memory), NULL},
	{0, "mem-size", "SIZE", "the same: SIZE bytes that are zero", GT_OPTION_SIZE,
	 AT(memory_size), NULL},
	{0, "mem-out", "FILE", "write the memory after the run to FILE", GT_OPTION_STRING,
	 AT(memory_output), NULL},
	{0, "show-memory", NULL, "print the memory after the run", GT_OPTION_FLAG, AT(show_memory),
	 NULL},
	GT_CLI_OPTION_SET(AT(values)),
	{0, "all", NULL, "print r0 of all threads", GT_OPTION_FLAG, AT(all), NULL},
	{0, "json", NULL, "print JSON, as 'exec --json --maps'", GT_OPTION_FLAG, AT(json), NULL},
	{0, "on", "ENGINE", "run it on gpu, opencl or interp (the CPU)", GT_OPTION_STRING, AT(on),
	 gt_exec_engines},
	{0, "gpu", "GPU", "the GPU: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu), gt_gpu_names},
	{0, "device", "N,…", "run on these devices at once, or on all (0)", GT_OPTION_LIST,
	 AT(devices), NULL},
	{0, "time-limit", "TIME", "give up if a GPU is not done after TIME (60s; 0: never)",
	 GT_OPTION_DURATION, AT(time_limit), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that end threads", GT_OPTION_FLAG,
	 AT(allow_control), NULL},
};

static const char *const examples[] = {
	"gputap gpurun --grid 4 --block 256 --mem-file in --mem-out out vectoradd.bpf.o",
	"gputap gpurun --block 32 --mem-file README.md histogram.bpf.o     # prints its maps",
	"gputap gpurun --block 64 --prog cuda__vec_add --set 'vec_N[0]=64' directly_run.bpf.o",
	NULL,
};

static int run_gpurun(const struct gt_cli_command *self, int count, char **arguments)
{
	struct gt_cli_exec_options given = {
		.engine = GT_EXEC_GPU,
		.gpu = GT_CLI_EXEC_NO_GPU,
		.time_limit = GT_CLI_EXEC_NO_TIME_LIMIT,
		.maps = true,
		.no_result = true,
	};

	return gt_cli_exec_run(self, count, arguments, &given);
}

const struct gt_cli_command gt_command_gpurun = {
	.name = "gpurun",
	.summary = "Run a GPU program standalone over a grid of threads",
	.usage = "[options] FILE",
	.description =
		"Verifies a GPU program of an object made by 'clang -target bpf', translates it to "
		"PTX, runs it in every thread of a grid on a GPU or the software GPU, and prints "
		"its maps. Programs of gpu/run, and of kprobe/__directly_run as bpftime has them, "
		"have memory that all threads share: r1 points to it, and r2 is its size. Input "
		"comes from --mem-file, or from --set into maps; --mem-out writes the memory to a "
		"file. 'gputap exec' has more options for one program: hex digits, host programs "
		"beside it, other sections.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_gpurun,
};
