/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": runs an eBPF program by itself, on the CPU or on a GPU. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/programs.h"
#include "cli/refusal.h"
#include "device/device.h"
#include "gpubpf/execute.h"
#include "gpubpf/object.h"
#include "gpubpf/verify.h"
#include "session/gpu.h"

enum engine {
	ENGINE_INTERP,
	ENGINE_GPU,
};

struct exec_options {
	bool raw, all, show_memory, maps, json, allow_control;
	int engine, gpu;
	const char *program, *memory, *grid, *block, *as;
	uint64_t device, max_insns, time_limit;
};

#define AT(field) offsetof(struct exec_options, field)

static const char *const engines[] = {"interp", "gpu", NULL};

static const struct gt_option options[] = {
	{0, "raw", NULL, "the program is on the standard input, as hex digits", GT_OPTION_FLAG,
	 AT(raw), NULL},
	{0, "on", "ENGINE", "what runs it: interp (this CPU) or gpu", GT_OPTION_CHOICE, AT(engine),
	 engines},
	{0, "gpu", "WHICH", "with --on gpu: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "device", "N", "with --on gpu: the GPU's number (0)", GT_OPTION_NUMBER, AT(device),
	 NULL},
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
	{0, "max-insns", "N", "refuse programs that may execute more instructions than this",
	 GT_OPTION_NUMBER, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that change what a kernel does", GT_OPTION_FLAG,
	 AT(allow_control), NULL},
};

static const char *const examples[] = {
	"echo 'b7000000 2a000000 95000000 00000000' | gputap exec --raw    # prints 2a",
	"gputap exec --raw 0a0b0c0d < PROGRAM                             # with four bytes of "
	"memory",
	"gputap exec --on gpu --grid 4 --block 64 --maps probe.bpf.o      # on 256 threads",
	NULL,
};

/* Memory for the program from hex digits; white space is ignored. */
static int read_memory(const char *hex, uint8_t **ret_memory, uint32_t *ret_size)
{
	size_t digits = 0;
	uint8_t *memory = calloc(strlen(hex) / 2 + 1, 1);

	if (!memory)
		return -ENOMEM;
	for (const char *at = hex; *at; at++) {
		unsigned value;

		if (isspace((unsigned char)*at))
			continue;
		if (!isxdigit((unsigned char)*at)) {
			free(memory);
			return -EINVAL;
		}
		value = isdigit((unsigned char)*at) ? (unsigned)(*at - '0')
						    : (unsigned)(tolower(*at) - 'a' + 10);
		memory[digits / 2] |= (uint8_t)(digits % 2 ? value : value << 4);
		digits++;
	}
	if (digits % 2) {
		free(memory);
		return -EINVAL;
	}
	*ret_memory = memory;
	*ret_size = (uint32_t)(digits / 2);
	return 0;
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

/* ---- what came of it ------------------------------------------------------------------- */

static void put_bytes(struct gt_strbuf *text, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		gt_strbuf_printf(text, "%02x", bytes[i]);
}

/* Whether a map is shown: constants are as the object has them, strings of printk most of all. */
static bool is_shown(const struct gt_bpf_map *map)
{
	return !map->host_only && !map->constant;
}

static struct gt_map_view view_of(const struct gt_execution *execution, uint32_t map)
{
	return (struct gt_map_view){
		.map = &execution->object->maps[map],
		.memory = execution->map_memory[map],
		.copies = execution->map_copies[map],
	};
}

static void put_text(struct gt_strbuf *text, const struct exec_options *given,
		     const struct gt_execution *execution)
{
	if (!given->all)
		gt_strbuf_printf(text, "%" PRIx64 "\n", execution->results[0]);
	for (uint32_t i = 0; given->all && i < execution->result_count; i++)
		gt_strbuf_printf(text, "%u: %" PRIx64 "\n", i, execution->results[i]);
	if (given->show_memory) {
		gt_strbuf_puts(text, "memory: ");
		put_bytes(text, execution->memory, execution->memory_size);
		gt_strbuf_putc(text, '\n');
	}
	for (uint32_t i = 0; given->maps && i < execution->map_count; i++) {
		struct gt_map_view view = view_of(execution, i);

		if (is_shown(view.map))
			gt_map_print(&view, text);
	}
}

static void put_json(struct gt_strbuf *text, const struct exec_options *given,
		     const struct gt_execution *execution, const char *device)
{
	struct gt_json json = GT_JSON_INIT(text);
	gt_auto_strbuf memory = GT_STRBUF_INIT;

	gt_json_object_begin(&json, NULL);
	if (execution->program->name)
		gt_json_string(&json, "program", execution->program->name);
	gt_json_string(&json, "on", engines[given->engine]);
	if (device)
		gt_json_string(&json, "device", device);
	gt_json_hex(&json, "r0", execution->results[0]);
	if (given->all) {
		gt_json_array_begin(&json, "results");
		for (uint32_t i = 0; i < execution->result_count; i++)
			gt_json_hex(&json, NULL, execution->results[i]);
		gt_json_array_end(&json);
	}
	if (given->show_memory) {
		put_bytes(&memory, execution->memory, execution->memory_size);
		gt_json_string(&json, "memory", gt_strbuf_string(&memory));
	}
	gt_json_string(&json, "output", gt_strbuf_string(&execution->output));
	gt_json_u64(&json, "output_lost", execution->output_lost);
	if (given->maps) {
		gt_json_array_begin(&json, "maps");
		for (uint32_t i = 0; i < execution->map_count; i++) {
			struct gt_map_view view = view_of(execution, i);

			if (is_shown(view.map))
				gt_map_print_json(&view, &json, NULL);
		}
		gt_json_array_end(&json);
	}
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

/* Results go to stdout; what the program printed goes to stderr, or into the JSON. */
static int show(const struct exec_options *given, const struct gt_execution *execution,
		const char *device)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (given->json) {
		put_json(&text, given, execution, device);
	} else {
		fputs(gt_strbuf_string(&execution->output), stderr);
		if (execution->output_lost)
			gt_cli_error("%" PRIu64 " lines that the program printed found no room",
				     execution->output_lost);
		put_text(&text, given, execution);
	}
	if (text.failed) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	fputs(gt_strbuf_string(&text), stdout);
	return GT_EXIT_OK;
}

/* ---- running --------------------------------------------------------------------------- */

static int open_driver(const struct exec_options *given, const char *library,
		       struct gt_driver **ret_driver, struct gt_diag *diag)
{
	struct gt_diag missing = {0};
	int error = gt_driver_open(library, ret_driver, &missing);

	if (!error)
		return 0;
	return gt_diag(diag, error, missing.stage, missing.place, "%s%s", missing.text,
		       given->gpu == GT_GPU_NVIDIA
			       ? "; load the driver ('nvidia-smi' shows whether it works), or use "
				 "--gpu soft"
			       : "");
}

static int run_on_gpu(const struct exec_options *given, struct gt_execution *execution,
		      char *ret_name, size_t size, struct gt_diag *diag)
{
	gt_auto(driver) struct gt_driver *driver = NULL;
	gt_auto(device) struct gt_device *device = NULL;
	gt_autofree char *library = NULL;
	int error = gt_gpu_driver_library(given->gpu, &library, diag);

	if (error)
		return error;
	if (library && given->gpu == GT_GPU_AUTO)
		gt_cli_error("no NVIDIA driver here: the software GPU runs it");
	error = open_driver(given, library, &driver, diag);
	if (!error)
		error = gt_device_open(
			driver, given->device < UINT32_MAX ? (unsigned)given->device : UINT32_MAX,
			&device, diag);
	if (error)
		return error;
	snprintf(ret_name, size, "%s", gt_device_info(device)->name);
	error = gt_execute_on_device(execution, device, diag);
	if (error && execution->log.length)
		fprintf(stderr, "%s\n", gt_strbuf_string(&execution->log));
	return error;
}

/* Verifies a program, runs it as planned and shows what came of it. The exit status. */
static int run(const struct exec_options *given, const struct gt_execution *plan,
	       const struct gt_section *section)
{
	struct gt_execution execution = *plan;
	struct gt_verify_options check = {
		.max_executed = given->max_insns,
		.allow_control = given->allow_control,
	};
	struct gt_verify_error refusal = {0};
	gt_auto_strbuf where = GT_STRBUF_INIT;
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	char device[256] = "";
	int status = GT_EXIT_FAILED, error;

	gt_cli_set_input(&check, section, plan->memory_size);
	error = gt_verify(plan->object, plan->program, &check, &facts, &refusal, &diag);
	execution.facts = &facts;
	execution.section = check.section;
	if (!error)
		error = given->engine == ENGINE_GPU
				? run_on_gpu(given, &execution, device, sizeof(device), &diag)
				: gt_execute_on_interp(&execution, &diag);
	gt_facts_clear(&facts);
	if (!error)
		status = show(given, &execution, device[0] ? device : NULL);
	else
		gt_cli_diag(&diag);
	gt_cli_put_refusal(&where, plan->program, &refusal);
	if (refusal.is_at_insn && plan->object)
		gt_strbuf_printf(&where, "  'gputap verify --log' shows how it came about\n");
	fputs(gt_strbuf_string(&where), stderr);
	gt_execution_clear(&execution);
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

static int run_raw(const struct exec_options *given, const struct gt_execution *plan)
{
	struct gt_execution execution = *plan;
	struct gt_bpf_program program = {0};
	struct gt_section section;
	struct gt_diag diag = {0};
	int status = GT_EXIT_FAILED;

	if (gt_cli_read_hex(&program, &diag) ||
	    gt_cli_section_of(&program, given->as ? given->as : "gpu/run", &section, &diag)) {
		gt_cli_diag(&diag);
	} else if (is_with_memory(&section, &execution)) {
		execution.program = &program;
		status = run(given, &execution, &section);
	}
	gt_bpf_program_clear(&program);
	return status;
}

/* The program that is meant, or NULL with the reason printed. */
static const struct gt_bpf_program *choose(const struct exec_options *given, const char *path,
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

static int run_object(const struct exec_options *given, const char *path,
		      const struct gt_execution *plan)
{
	struct gt_execution execution = *plan;
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_section section;
	struct gt_diag diag = {0};
	int error = gt_bpf_object_open(path, given->as, &object, &diag);

	if (error) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	execution.program = choose(given, path, object);
	if (!execution.program)
		return GT_EXIT_FAILED;
	if (gt_cli_section_of(execution.program, given->as, &section, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (!is_with_memory(&section, &execution))
		return GT_EXIT_FAILED;
	execution.object = object;
	return run(given, &execution, &section);
}

static int run_exec(const struct gt_cli_command *self, int count, char **arguments)
{
	struct exec_options given = {.time_limit = UINT64_C(60) * 1000000000};
	struct gt_execution execution = {0};
	gt_autofree uint8_t *memory = NULL;
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status != GT_GO_ON)
		return status;
	if (!given.raw && rest == count)
		return gt_cli_usage_error(self, "one FILE is needed, or --raw");
	if (rest + 1 < count)
		return gt_cli_usage_error(self, "one %s at a time, not '%s' too",
					  given.raw ? "MEMHEX" : "FILE", arguments[rest + 1]);
	if (given.raw && rest < count)
		given.memory = arguments[rest];
	if (given.memory && read_memory(given.memory, &memory, &execution.memory_size))
		return gt_cli_usage_error(self, "'%s' is no memory: two hex digits a byte",
					  given.memory);
	if (read_size(given.grid, execution.grid))
		return gt_cli_usage_error(self, "'%s' is no grid: as 4, 4x2 or 4x2x1", given.grid);
	if (read_size(given.block, execution.block))
		return gt_cli_usage_error(self, "'%s' is no block: as 64, 8x8 or 4x4x4",
					  given.block);
	execution.memory = memory;
	execution.time_limit = given.time_limit;
	return given.raw ? run_raw(&given, &execution)
			 : run_object(&given, arguments[rest], &execution);
}

const struct gt_cli_command gt_command_exec = {
	.name = "exec",
	.summary = "verifies an eBPF program and runs it by itself",
	.usage = "[options] FILE | --raw [options] [MEMHEX]",
	.description =
		"Runs a program for the GPU from an object of 'clang -target bpf', or, with "
		"--raw, a program that is on the standard input as hex digits, eight bytes an "
		"instruction, white space ignored. It runs in an interpreter, or, with --on gpu, "
		"translated to PTX, on a GPU or on the software GPU. Programs of gpu/run and raw "
		"ones have memory: r1 points to the bytes given, which may be read and written, "
		"and r2 is their number; without any both are 0. Other programs have a context "
		"in which only what a thread knows of itself is set: no kernel is around them. "
		"With --grid and --block many threads run the program, with one memory and the "
		"same maps. With --as any program of the object is taken as one of that section; "
		"with "
		"'--as linux' r1 is 0, and only r1 is set. What r0 is at the end is printed in "
		"hex, of the first thread unless "
		"--all is given; what the program prints goes to stderr. A program that the "
		"verifier refuses is not run: the reason is told, and the exit status is 1. Exit "
		"status 2: the object is damaged.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_exec,
};
