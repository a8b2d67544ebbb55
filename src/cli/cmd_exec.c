/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": runs an eBPF program by itself, on the CPU or on GPUs. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/exec.h"
#include "cli/programs.h"
#include "cli/refusal.h"
#include "gpubpf/object/object.h"
#include "gpubpf/verify/verify.h"
#include "launch/gpu.h"

/* What stands for options that are not given. */
#define NO_TIME_LIMIT UINT64_MAX
#define NO_GPU (-1)

#define AT(field) offsetof(struct gt_exec_options, field)

static const struct gt_option options[] = {
	{0, "raw", NULL, "the program is on the standard input, as hex digits", GT_OPTION_FLAG,
	 AT(raw), NULL},
	{0, "on", "ENGINE", "what runs it: interp (this CPU) or gpu", GT_OPTION_CHOICE, AT(engine),
	 gt_exec_engines},
	{0, "gpu", "WHICH", "with --on gpu: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "device", "N,…",
	 "with --on gpu: the numbers of the GPUs that run it at once, or all (0)", GT_OPTION_LIST,
	 AT(devices), NULL},
	{0, "linux", NULL, "attach the object's programs for Linux (uprobe/… and others) meanwhile",
	 GT_OPTION_FLAG, AT(with_host), NULL},
	{0, "meanwhile", NULL, "run the program while CMD runs, not after its end", GT_OPTION_FLAG,
	 AT(meanwhile), NULL},
	{0, "prog", "NAME", "the program of the object, if it has several", GT_OPTION_STRING,
	 AT(program), NULL},
	GT_CLI_OPTION_AS(AT(as)),
	{0, "mem", "HEX", "what is in the memory of a program of gpu/run", GT_OPTION_STRING,
	 AT(memory), NULL},
	{0, "grid", "XxYxZ", "blocks of the grid (1); 16777216 threads at most in all",
	 GT_OPTION_STRING, AT(grid), NULL},
	{0, "block", "XxYxZ", "threads of each block (1)", GT_OPTION_STRING, AT(block), NULL},
	{0, "all", NULL, "r0 of all threads, warps or blocks that ran it, not of the first alone",
	 GT_OPTION_FLAG, AT(all), NULL},
	{0, "show-memory", NULL, "the memory after the run, too", GT_OPTION_FLAG, AT(show_memory),
	 NULL},
	{0, "maps", NULL, "the maps after the run, too", GT_OPTION_FLAG, AT(maps), NULL},
	{0, "json", NULL, "as JSON", GT_OPTION_FLAG, AT(json), NULL},
	{0, "time-limit", "TIME", "give up if a GPU is not done after TIME (60s; 0: never)",
	 GT_OPTION_DURATION, AT(time_limit), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that change what a kernel does", GT_OPTION_FLAG,
	 AT(allow_control), NULL},
};

static const char *const examples[] = {
	"echo 'b7000000 2a000000 95000000 00000000' | gputap exec --raw    # prints 2a",
	"gputap exec --raw 0a0b0c0d < PROGRAM                             # with four bytes of "
	"memory",
	"gputap exec --on gpu --grid 4 --block 64 --maps probe.bpf.o      # on 256 threads",
	"sudo gputap exec --on gpu --linux --maps probe.bpf.o -- ./app    # what Linux saw of app, "
	"too",
	NULL,
};

/* The program's memory, which the caller frees. GT_GO_ON, or the exit status. */
static int read_memory(const struct gt_cli_command *self, const char *hex, uint8_t **ret_memory,
		       uint32_t *ret_size)
{
	uint8_t *memory;
	size_t size, wrong;
	int error = gt_parse_hex(hex, &memory, &size, &wrong);

	if (error == -ENOMEM) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	if (error)
		return gt_cli_usage_error(self, "'%.60s%s' is no memory: two hex digits a byte",
					  hex, strlen(hex) > 60 ? "…" : "");
	*ret_memory = memory;
	*ret_size = (uint32_t)size;
	return GT_GO_ON;
}

/* The memory of --mem, or that all arguments behind --raw are together. */
static int take_memory(const struct gt_cli_command *self, const struct gt_exec_options *given,
		       int count, char **words, uint8_t **ret_memory, uint32_t *ret_size)
{
	gt_auto_strbuf hex = GT_STRBUF_INIT;

	if (!given->raw || !count)
		return given->memory ? read_memory(self, given->memory, ret_memory, ret_size)
				     : GT_GO_ON;
	if (given->memory)
		return gt_cli_usage_error(self, "the memory is told twice: --mem and '%s'",
					  words[0]);
	for (int i = 0; i < count; i++)
		gt_strbuf_printf(&hex, "%s%s", i ? " " : "", words[i]);
	return read_memory(self, gt_strbuf_string(&hex), ret_memory, ret_size);
}

/* "4", "4x2" or "4x2x1"; NULL: 1. */
static int read_size(const char *text, uint32_t *ret_size)
{
	unsigned count = 0;
	char *end;

	ret_size[0] = ret_size[1] = ret_size[2] = 1;
	for (; text && count < 3; text = *end ? end + 1 : NULL) {
		unsigned long size = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

		if (!size || size > UINT32_MAX || (*end && *end != 'x'))
			return -EINVAL;
		ret_size[count++] = (uint32_t)size;
	}
	return text ? -EINVAL : 0;
}

/* Whether --device says what devices are; else the reason is printed. */
static bool are_devices(const struct gt_cli_command *self, const struct gt_strings *devices)
{
	const char *const *words = devices->words.items;
	size_t count = devices->words.count;

	for (size_t i = 0; i < count; i++) {
		uint64_t number, other;

		if (!strcmp(words[i], "all") && count == 1)
			return true;
		if (gt_parse_u64(words[i], &number)) {
			gt_cli_usage_error(self,
					   "--device takes numbers with commas, or 'all', not '%s'",
					   words[i]);
			return false;
		}
		for (size_t k = 0; k < i; k++) {
			if (gt_parse_u64(words[k], &other) || other != number)
				continue;
			gt_cli_usage_error(self, "--device names the device %s twice", words[i]);
			return false;
		}
	}
	return true;
}

/* ---- running --------------------------------------------------------------------------- */

/* As `verify --json` tells it. */
static void print_refused(const struct gt_bpf_program *program, const struct gt_section *section,
			  const struct gt_diag *diag, const struct gt_verify_error *refusal)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "program", program->name ? program->name : "raw");
	gt_json_string(&json, "section", program->section ? program->section : section->text);
	gt_json_bool(&json, "safe", false);
	gt_cli_json_refusal(&json, diag, refusal);
	gt_json_object_end(&json);
	printf("%s\n", gt_strbuf_string(&text));
}

static int refuse_file(const struct gt_exec *exec, const struct gt_diag *diag)
{
	gt_cli_diag(diag);
	if (exec->given->json)
		gt_cli_print_bad_file(exec->path ? exec->path : "-", diag);
	return GT_EXIT_USAGE;
}

/* Verifies the program, runs it and shows what came of it. The exit status. */
static int run(struct gt_exec *exec, const struct gt_section *section)
{
	struct gt_verify_options check = {
		.max_executed = exec->given->max_insns,
		.allow_control = exec->given->allow_control,
		.strict = exec->given->raw,
	};
	struct gt_execution *execution = &exec->execution;
	struct gt_verify_error refusal = {0};
	gt_auto_strbuf where = GT_STRBUF_INIT;
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	int status, error = gt_exec_open_linux(exec, &diag);

	gt_cli_set_input(&check, section, execution->memory_size);
	if (!error) {
		error = gt_verify(execution->object, execution->program, &check, &facts, &refusal,
				  &diag);
		if (error && exec->given->json)
			print_refused(execution->program, section, &diag, &refusal);
	}
	execution->facts = &facts;
	execution->section = check.section;
	if (!error)
		error = gt_exec_run(exec, &diag);
	gt_facts_clear(&facts);
	if (error)
		gt_cli_diag(&diag);
	status = !error                 ? gt_exec_show(exec)
		 : exec->command_status ? exec->command_status
					: GT_EXIT_FAILED;
	gt_cli_put_refusal(&where, execution->program, &refusal);
	if (refusal.is_at_insn && execution->object)
		gt_strbuf_printf(&where, "  'gputap verify --log' shows how it came about\n");
	fputs(gt_strbuf_string(&where), stderr);
	gt_exec_clear(exec);
	return status;
}

/* Whether the program gets the memory that is given, if any is; else the reason is printed. */
static bool is_with_memory(const struct gt_section *section, const struct gt_execution *execution)
{
	if (section->kind == GT_KIND_RUN || !execution->memory_size)
		return true;
	gt_cli_error("only programs of gpu/run have memory, and this one is of %s", section->text);
	return false;
}

static int run_raw(struct gt_exec *exec)
{
	const char *as = exec->given->as ? exec->given->as : "gpu/run";
	struct gt_bpf_program program = {0};
	struct gt_section section;
	struct gt_diag diag = {0};
	int status = GT_EXIT_FAILED;

	if (gt_cli_read_hex(&program, &diag) || gt_cli_section_of(&program, as, &section, &diag)) {
		status = refuse_file(exec, &diag);
	} else if (is_with_memory(&section, &exec->execution)) {
		gt_bpf_canonicalize(program.insns, program.count);
		exec->execution.program = &program;
		status = run(exec, &section);
	}
	gt_bpf_program_clear(&program);
	return status;
}

/* The program that is meant, or NULL with the reason printed. */
static const struct gt_bpf_program *choose(const struct gt_exec_options *given, const char *path,
					   const struct gt_bpf_object *object)
{
	if (!given->program && object->program_count == 1)
		return &object->programs[0];
	for (uint32_t i = 0; given->program && i < object->program_count; i++)
		if (!strcmp(object->programs[i].name, given->program))
			return &object->programs[i];
	if (given->program)
		gt_cli_error("%s: there is no program '%s' for the GPU", path, given->program);
	else if (!object->program_count)
		gt_cli_error("%s: there is no program for the GPU", path);
	else
		gt_cli_error("%s: there are %u programs: choose one with --prog, as %s", path,
			     object->program_count, object->programs[0].name);
	return NULL;
}

static int run_object(struct gt_exec *exec)
{
	const struct gt_exec_options *given = exec->given;
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_section section;
	struct gt_diag diag = {0};

	if (gt_bpf_object_open(exec->path, given->as, &object, &diag))
		return refuse_file(exec, &diag);
	exec->execution.program = choose(given, exec->path, object);
	if (!exec->execution.program)
		return GT_EXIT_FAILED;
	if (gt_cli_section_of(exec->execution.program, given->as, &section, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (!is_with_memory(&section, &exec->execution))
		return GT_EXIT_FAILED;
	exec->object = object;
	exec->execution.object = object;
	return run(exec, &section);
}

/* Options that would do nothing are refused; those for GPUs get what they are if not given. */
static int check_engine(const struct gt_cli_command *self, struct gt_exec_options *given,
			bool has_command)
{
	bool on_gpu = given->engine == GT_EXEC_GPU;
	const char *idle = given->devices.words.count           ? "device"
			   : given->time_limit != NO_TIME_LIMIT ? "time-limit"
								: NULL;

	if (!on_gpu && idle)
		return gt_cli_usage_error(
			self, "--%s is for --on gpu: the interpreter runs the program", idle);
	if (!on_gpu && !has_command && given->gpu != NO_GPU)
		return gt_cli_usage_error(self, "--gpu is for --on gpu or a command");
	if (given->gpu == NO_GPU)
		given->gpu = GT_GPU_AUTO;
	if (given->time_limit == NO_TIME_LIMIT)
		given->time_limit = UINT64_C(60) * 1000000000;
	return GT_GO_ON;
}

/* Takes what stands behind the options. GT_GO_ON, or the status of an error that was printed. */
static int read_operands(const struct gt_cli_command *self, int count, char **arguments,
			 struct gt_exec_options *given, struct gt_exec *exec)
{
	bool has_command = count > 1 && !strcmp(arguments[1], "--");

	if (given->raw && (given->with_host || has_command))
		return gt_cli_usage_error(self, "--raw is one program alone: nothing for --linux");
	if (given->raw && given->program)
		return gt_cli_usage_error(self, "--raw is one program alone: nothing for --prog");
	if (!given->raw && !count)
		return gt_cli_usage_error(self, "one FILE is needed, or --raw");
	if (count > 1 && !has_command && !given->raw)
		return gt_cli_usage_error(self, "one FILE at a time, not '%s' too", arguments[1]);
	if (has_command && !given->with_host)
		return gt_cli_usage_error(self, "a command is for --linux: nothing sees it");
	if (given->meanwhile && !has_command)
		return gt_cli_usage_error(self, "--meanwhile needs a command: -- CMD");
	if (given->with_host && given->as)
		return gt_cli_usage_error(self, "--as leaves no programs for --linux");
	if (!given->raw)
		exec->path = arguments[0];
	if (has_command)
		exec->command = arguments + 2;
	return check_engine(self, given, has_command);
}

static int run_given(const struct gt_cli_command *self, int count, char **arguments,
		     struct gt_exec_options *given)
{
	struct gt_exec exec = {.given = given};
	gt_autofree uint8_t *memory = NULL;
	struct gt_execution *execution = &exec.execution;
	int status = read_operands(self, count, arguments, given, &exec);

	if (status == GT_GO_ON)
		status = gt_cli_check_as(self, given->as);
	if (status != GT_GO_ON)
		return status;
	if (!are_devices(self, &given->devices))
		return GT_EXIT_USAGE;
	status = take_memory(self, given, count, arguments, &memory, &execution->memory_size);
	execution->memory = memory;
	if (status != GT_GO_ON)
		return status;
	if (read_size(given->grid, execution->grid))
		return gt_cli_usage_error(self, "'%s' is no grid: as 4, 4x2 or 4x2x1", given->grid);
	if (read_size(given->block, execution->block))
		return gt_cli_usage_error(self, "'%s' is no block: as 64, 8x8 or 4x4x4",
					  given->block);
	execution->time_limit = given->time_limit;
	return given->raw ? run_raw(&exec) : run_object(&exec);
}

static int run_exec(const struct gt_cli_command *self, int count, char **arguments)
{
	struct gt_exec_options given = {.time_limit = NO_TIME_LIMIT, .gpu = NO_GPU};
	int rest, status = gt_cli_parse(self, count, arguments, &given, &rest);

	if (status == GT_GO_ON)
		status = run_given(self, count - rest, arguments + rest, &given);
	gt_strings_free(&given.devices);
	return status;
}

const struct gt_cli_command gt_command_exec = {
	.name = "exec",
	.summary = "verifies an eBPF program and runs it by itself",
	.usage = "[options] FILE [-- CMD ARGS] | --raw [options] [MEMHEX…]",
	.description =
		"Runs a program for the GPU from an object of 'clang -target bpf', or, with "
		"--raw, a program that is on the standard input as hex digits, eight bytes an "
		"instruction. White space and commas between digits and 0x before them do not "
		"matter, and several MEMHEX are put together. It runs in an interpreter, or, with "
		"--on gpu, "
		"translated to PTX, on a GPU or on the software GPU. Programs of gpu/run and raw "
		"ones have memory: r1 points to the bytes given, which may be read and written, "
		"and r2 is their number; without any both are 0. Other programs have a context "
		"in which only what a thread knows of itself is set: no kernel is around them. "
		"With --grid and --block many threads run the program, with one memory and the "
		"same maps. With --device several GPUs run it at once, each with maps of its own "
		"but for those that are shared. With --linux the object's programs for Linux are "
		"loaded and attached meanwhile, as root, and the arrays that they share with the "
		"program are the kernel's; the program runs once CMD, if there is one, has ended. "
		"With --as any program of the object is taken as one of that section; with "
		"'--as linux' r1 is 0, and only r1 is set. What r0 is at the end is printed in "
		"hex, of the first thread unless --all is given; what the program prints goes to "
		"stderr. A program that the verifier refuses is not run: the reason is told, and "
		"the exit status is 1. With --json it is told as by 'verify --json'. Exit status "
		"2: the "
		"object is damaged, or the digits are no program. Without an error it "
		"is that of CMD.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_exec,
};
