/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": execute an eBPF program standalone, on the CPU or on GPUs. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/exec.h"
#include "cli/programs.h"
#include "cli/rejection.h"
#include "gpubpf/object/object.h"
#include "gpubpf/verify/verify.h"

enum {
	MAX_MEMORY = 256 << 20, /* bytes of a file or of --mem-size */
};

#define AT(field) offsetof(struct gt_cli_exec_options, field)

static const struct gt_option option_table[] = {
	{0, "raw", NULL, "read the program from standard input, as hex digits", GT_OPTION_FLAG,
	 AT(raw), NULL},
	{0, "on", "ENGINE", "run it on interp (the CPU), gpu, opencl or opencl:N, a device",
	 GT_OPTION_STRING, AT(on), gt_exec_engines},
	{0, "gpu", "GPU", "with --on gpu: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "device", "N,…", "run on these GPUs or OpenCL devices at once, or on all (0)",
	 GT_OPTION_LIST, AT(devices), NULL},
	{0, "linux", NULL, "attach the object's host programs (uprobe/… and others) meanwhile",
	 GT_OPTION_FLAG, AT(host_programs), NULL},
	{0, "meanwhile", NULL, "run the program while CMD runs, not after it", GT_OPTION_FLAG,
	 AT(meanwhile), NULL},
	{0, "prog", "NAME", "run this program of the object, if it has several", GT_OPTION_STRING,
	 AT(program), NULL},
	GT_CLI_OPTION_AS(AT(as)),
	{0, "mem", "HEX", "contents of the memory of a program of gpu/run", GT_OPTION_STRING,
	 AT(memory), NULL},
	{0, "mem-file", "FILE", "the same from a file, as bytes", GT_OPTION_STRING, AT(memory_file),
	 NULL},
	{0, "mem-size", "SIZE", "the same: SIZE bytes that are zero", GT_OPTION_SIZE,
	 AT(memory_size), NULL},
	{0, "mem-out", "FILE", "write the memory after the run to FILE", GT_OPTION_STRING,
	 AT(memory_output), NULL},
	GT_CLI_OPTION_SET(AT(values)),
	{0, "grid", "XxYxZ", "blocks of the grid (1); at most 16777216 threads in all",
	 GT_OPTION_STRING, AT(grid), NULL},
	{0, "block", "XxYxZ", "threads of each block (1)", GT_OPTION_STRING, AT(block), NULL},
	{0, "all", NULL, "print r0 of all threads, warps or blocks, not only of the first",
	 GT_OPTION_FLAG, AT(all), NULL},
	{0, "show-memory", NULL, "print the memory after the run", GT_OPTION_FLAG, AT(show_memory),
	 NULL},
	{0, "maps", NULL, "print the maps after the run", GT_OPTION_FLAG, AT(maps), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	{0, "time-limit", "TIME", "give up if a GPU is not done after TIME (60s; 0: never)",
	 GT_OPTION_DURATION, AT(time_limit), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that change what the kernel does",
	 GT_OPTION_FLAG, AT(allow_control), NULL},
};

static const char *const examples[] = {
	"echo 'b7000000 2a000000 95000000 00000000' | gputap exec --raw    # prints 2a",
	"gputap exec --raw 0a0b0c0d < PROGRAM                             # with four bytes of "
	"memory",
	"gputap exec --on gpu --grid 4 --block 64 --maps probe.bpf.o      # on 256 threads",
	"sudo gputap exec --on gpu --linux --maps probe.bpf.o -- ./app    # with host programs on "
	"app",
	NULL,
};

/* The memory as bytes, which the caller frees. GT_GO_ON, or the exit status. */
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
		return gt_cli_usage_error(self, "invalid memory '%.60s%s': two hex digits a byte",
					  hex, strlen(hex) > 60 ? "…" : "");
	*ret_memory = memory;
	*ret_size = (uint32_t)size;
	return GT_GO_ON;
}

static int read_memory_file(const char *path, uint8_t **ret_memory, uint32_t *ret_size)
{
	struct gt_diag diag = {0};
	struct gt_file file;

	if (gt_file_read(path, MAX_MEMORY, &file, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	*ret_memory = file.data;
	*ret_size = (uint32_t)file.size;
	return GT_GO_ON;
}

/* The memory of --mem, --mem-file or --mem-size. */
static int make_memory(const struct gt_cli_command *self, const struct gt_cli_exec_options *given,
		       uint8_t **ret_memory, uint32_t *ret_size)
{
	uint8_t *memory;

	if (!!given->memory + !!given->memory_file + !!given->memory_size > 1)
		return gt_cli_usage_error(self, "--mem, --mem-file and --mem-size exclude each "
						"other");
	if (given->memory)
		return read_memory(self, given->memory, ret_memory, ret_size);
	if (given->memory_file)
		return read_memory_file(given->memory_file, ret_memory, ret_size);
	if (!given->memory_size)
		return GT_GO_ON;
	if (given->memory_size > MAX_MEMORY)
		return gt_cli_usage_error(self, "--mem-size is at most 256M");
	memory = calloc(1, given->memory_size);
	if (!memory) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	*ret_memory = memory;
	*ret_size = (uint32_t)given->memory_size;
	return GT_GO_ON;
}

/* The memory of the options, or of all arguments after --raw together. */
static int take_memory(const struct gt_cli_command *self, const struct gt_cli_exec_options *given,
		       int count, char **words, uint8_t **ret_memory, uint32_t *ret_size)
{
	gt_auto_strbuf hex = GT_STRBUF_INIT;

	if (!given->raw || !count)
		return make_memory(self, given, ret_memory, ret_size);
	if (given->memory || given->memory_file || given->memory_size)
		return gt_cli_usage_error(self, "the memory is given twice: --mem%s and '%s'",
					  given->memory        ? ""
					  : given->memory_file ? "-file"
							       : "-size",
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

/* The device numbers of --device, which the caller frees. GT_GO_ON, or the exit status. */
static int read_devices(const struct gt_cli_command *self, const struct gt_strings *given,
			unsigned **ret_devices, struct gt_exec_options *options)
{
	const char *const *words = given->words.items;
	size_t count = given->words.count;
	gt_autofree unsigned *devices = calloc(count + 1, sizeof(*devices));

	if (!devices) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	options->all_devices = count == 1 && !strcmp(words[0], "all");
	for (size_t i = 0; i < count && !options->all_devices; i++) {
		uint64_t number;

		if (gt_parse_u64(words[i], &number))
			return gt_cli_usage_error(self,
						  "invalid value '%s' for --device (numbers "
						  "separated by commas, or all)",
						  words[i]);
		devices[i] = number < UINT32_MAX ? (unsigned)number : UINT32_MAX;
		for (size_t k = 0; k < i; k++)
			if (devices[k] == devices[i])
				return gt_cli_usage_error(self, "--device names device %s twice",
							  words[i]);
	}
	if (!options->all_devices)
		options->device_count = count;
	options->devices = *ret_devices = gt_take(devices);
	return GT_GO_ON;
}

/* ---- running --------------------------------------------------------------------------- */

/* The JSON of `verify --json` for a rejected program. */
static void print_rejected(const struct gt_bpf_program *program, const struct gt_section *section,
			   const struct gt_diag *diag, const struct gt_verify_error *rejection)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "program", program->name ? program->name : "raw");
	gt_json_string(&json, "section", program->section ? program->section : section->text);
	gt_json_bool(&json, "safe", false);
	gt_cli_json_rejection(&json, diag, rejection);
	gt_json_object_end(&json);
	printf("%s\n", gt_strbuf_string(&text));
}

static int reject_file(const struct gt_cli_exec *self, const struct gt_diag *diag)
{
	gt_cli_diag(diag);
	if (self->given->json)
		gt_cli_print_bad_file(self->path ? self->path : "-", diag);
	return GT_EXIT_USAGE;
}

static void print_notes(const struct gt_exec *exec)
{
	if (exec->gpu_remark)
		gt_cli_error("%s", exec->gpu_remark);
	if (exec->chose_soft_gpu)
		gt_cli_error("no NVIDIA driver here: the software GPU runs the program");
	for (size_t i = 0; i < exec->device_count; i++) {
		const struct gt_exec_device *device = &exec->devices[i];

		if (device->run.copies)
			gt_cli_error("%s does not access the memory of this process: the maps are "
				     "copied to it before the program runs, and back at its end",
				     gt_standalone_target_name(&device->target));
		if (device->run.log.length)
			fprintf(stderr, "%s\n", gt_strbuf_string(&device->run.log));
	}
}

static int run_verified(struct gt_exec *exec, struct gt_diag *diag)
{
	int error = gt_exec_prepare(exec, diag);

	print_notes(exec);
	if (error)
		return error;
	error = gt_exec_run(exec, diag);
	if (exec->command_ran && exec->command_status)
		gt_cli_error("%s ended with status %d", exec->options.command[0],
			     exec->command_status);
	return error;
}

/* Verify the program, run it and show the results. The exit status. */
static int run_program(struct gt_cli_exec *self, const struct gt_section *section)
{
	struct gt_verify_options check = {
		.max_executed = self->given->max_insns,
		.allow_control = self->given->allow_control,
		.strict = self->given->raw,
	};
	struct gt_exec *exec = &self->exec;
	struct gt_standalone_program *program = &exec->program;
	struct gt_verify_error rejection = {0};
	gt_auto_strbuf where = GT_STRBUF_INIT;
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	int status, error = gt_exec_open(exec, &diag);

	gt_cli_set_input(&check, section, program->memory_size);
	if (!error) {
		error = gt_verify(program->object, program->program, &check, &facts, &rejection,
				  &diag);
		if (error && self->given->json)
			print_rejected(program->program, section, &diag, &rejection);
	}
	program->facts = &facts;
	program->section = check.section;
	if (!error)
		error = run_verified(exec, &diag);
	gt_facts_clear(&facts);
	if (error)
		gt_cli_diag(&diag);
	status = !error                 ? gt_cli_exec_show(self)
		 : exec->command_status ? exec->command_status
					: GT_EXIT_FAILED;
	gt_cli_put_rejection(&where, program->program, &rejection);
	if (rejection.is_at_insn && program->object)
		gt_strbuf_printf(&where, "  'gputap verify --log' shows each step\n");
	fputs(gt_strbuf_string(&where), stderr);
	gt_exec_close(exec);
	return status;
}

/* Whether the program can have the memory that is given, if any; else the reason is printed. */
static bool accepts_memory(const struct gt_section *section,
			   const struct gt_standalone_program *program)
{
	if (section->kind == GT_KIND_RUN || !program->memory_size)
		return true;
	gt_cli_error("only programs of gpu/run have memory, not those of %s", section->text);
	return false;
}

static int run_raw(struct gt_cli_exec *self)
{
	const char *as = self->given->as ? self->given->as : "gpu/run";
	struct gt_bpf_program program = {0};
	struct gt_section section;
	struct gt_diag diag = {0};
	int status = GT_EXIT_FAILED;

	if (gt_cli_read_hex(&program, &diag) || gt_cli_section_of(&program, as, &section, &diag)) {
		status = reject_file(self, &diag);
	} else if (accepts_memory(&section, &self->exec.program)) {
		gt_bpf_canonicalize(program.insns, program.count);
		self->exec.program.program = &program;
		status = run_program(self, &section);
	}
	gt_bpf_program_clear(&program);
	return status;
}

/* The program to run, or NULL with the reason printed. */
static const struct gt_bpf_program *choose_program(const struct gt_cli_exec_options *given,
						   const char *path,
						   const struct gt_bpf_object *object)
{
	if (!given->program && object->program_count == 1)
		return &object->programs[0];
	for (uint32_t i = 0; given->program && i < object->program_count; i++)
		if (!strcmp(object->programs[i].name, given->program))
			return &object->programs[i];
	if (given->program)
		gt_cli_error("%s: no GPU program '%s'", path, given->program);
	else if (!object->program_count)
		gt_cli_error("%s: no GPU programs", path);
	else
		gt_cli_error("%s: %u GPU programs: choose one, such as --prog %s", path,
			     object->program_count, object->programs[0].name);
	return NULL;
}

static int run_object(struct gt_cli_exec *self)
{
	const struct gt_cli_exec_options *given = self->given;
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_standalone_program *program = &self->exec.program;
	struct gt_section section;
	struct gt_diag diag = {0};

	if (gt_bpf_object_open(self->path, given->as, &object, &diag))
		return reject_file(self, &diag);
	if (gt_cli_set_maps(object, &given->values, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	program->program = choose_program(given, self->path, object);
	if (!program->program)
		return GT_EXIT_FAILED;
	if (gt_cli_section_of(program->program, given->as, &section, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (!accepts_memory(&section, program))
		return GT_EXIT_FAILED;
	self->exec.object = object;
	program->object = object;
	return run_program(self, &section);
}

/* Read --on: an engine, with a device's number if it is opencl:N. */
static int read_engine(const struct gt_cli_command *self, struct gt_cli_exec_options *given)
{
	const char *number = given->on ? strchr(given->on, ':') : NULL;
	size_t length = !given->on ? 0 : number ? (size_t)(number - given->on) : strlen(given->on);

	for (int i = 0; given->on && gt_exec_engines[i]; i++) {
		if (strlen(gt_exec_engines[i]) != length ||
		    strncmp(given->on, gt_exec_engines[i], length) != 0 ||
		    (number && i != GT_EXEC_OPENCL))
			continue;
		given->engine = i;
		if (!number)
			return GT_GO_ON;
		if (given->devices.words.count)
			return gt_cli_usage_error(self,
						  "the device is given twice: --on %s and "
						  "--device",
						  given->on);
		if (!gt_strings_add(&given->devices, number + 1, strlen(number + 1)))
			return GT_GO_ON;
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	return given->on ? gt_cli_usage_error(self,
					      "invalid value '%s' for --on (one of: interp, gpu, "
					      "opencl, opencl:N)",
					      given->on)
			 : GT_GO_ON;
}

/* Reject options without an effect, and set the defaults of the others. */
static int check_engine(const struct gt_cli_command *self, struct gt_cli_exec_options *given,
			bool has_command)
{
	bool on_gpu = given->engine == GT_EXEC_GPU;
	bool on_device = given->engine != GT_EXEC_INTERP;
	const char *idle = given->devices.words.count                       ? "device"
			   : given->time_limit != GT_CLI_EXEC_NO_TIME_LIMIT ? "time-limit"
									    : NULL;

	if (!on_device && idle)
		return gt_cli_usage_error(self, "--%s needs --on gpu or --on opencl", idle);
	if (!on_gpu && !has_command && given->gpu != GT_CLI_EXEC_NO_GPU)
		return gt_cli_usage_error(self, "--gpu needs --on gpu or a command");
	if (given->gpu == GT_CLI_EXEC_NO_GPU)
		given->gpu = GT_GPU_AUTO;
	if (given->time_limit == GT_CLI_EXEC_NO_TIME_LIMIT)
		given->time_limit = UINT64_C(60) * 1000000000;
	return GT_GO_ON;
}

/* Read the arguments after the options. GT_GO_ON, or the exit status. */
static int read_operands(const struct gt_cli_command *command, int count, char **arguments,
			 struct gt_cli_exec_options *given, struct gt_cli_exec *self)
{
	bool has_command = count > 1 && !strcmp(arguments[1], "--");
	int status;

	if (given->raw && (given->host_programs || has_command))
		return gt_cli_usage_error(command, "--raw reads one program: --linux needs FILE");
	if (given->raw && given->program)
		return gt_cli_usage_error(command, "--raw reads one program: --prog needs FILE");
	if (given->raw && given->values.words.count)
		return gt_cli_usage_error(command, "--raw reads one program: --set needs FILE");
	if (given->memory_output &&
	    (given->devices.words.count > 1 ||
	     (given->devices.words.count && !strcmp(given->devices.words.items[0], "all"))))
		return gt_cli_usage_error(command, "--mem-out needs a single device");
	if (!given->raw && !count)
		return gt_cli_usage_error(command, "one FILE is needed, or --raw");
	if (count > 1 && !has_command && !given->raw)
		return gt_cli_usage_error(command, "only one FILE can be given, not also '%s'",
					  arguments[1]);
	if (has_command && !given->host_programs)
		return gt_cli_usage_error(command, "a command needs --linux");
	if (given->meanwhile && !has_command)
		return gt_cli_usage_error(command, "--meanwhile needs a command: -- CMD");
	if (given->host_programs && given->as)
		return gt_cli_usage_error(command,
					  "--linux and --as exclude each other: with --as there "
					  "are no host programs");
	status = read_engine(command, given);
	if (status != GT_GO_ON)
		return status;
	if (!given->raw)
		self->path = arguments[0];
	if (has_command)
		self->exec.options.command = arguments + 2;
	return check_engine(command, given, has_command);
}

static int run_given(const struct gt_cli_command *command, int count, char **arguments,
		     struct gt_cli_exec_options *given)
{
	struct gt_cli_exec self = {.given = given};
	struct gt_exec_options *options = &self.exec.options;
	struct gt_standalone_program *program = &self.exec.program;
	gt_autofree uint8_t *memory = NULL;
	gt_autofree unsigned *devices = NULL;
	int status = read_operands(command, count, arguments, given, &self);

	if (status == GT_GO_ON)
		status = gt_cli_check_as(command, given->as);
	if (status == GT_GO_ON)
		status = read_devices(command, &given->devices, &devices, options);
	if (status == GT_GO_ON)
		status = take_memory(command, given, count, arguments, &memory,
				     &program->memory_size);
	if (status != GT_GO_ON)
		return status;
	if (read_size(given->grid, program->grid))
		return gt_cli_usage_error(command,
					  "invalid value '%s' for --grid (such as 4, 4x2 or 4x2x1)",
					  given->grid);
	if (read_size(given->block, program->block))
		return gt_cli_usage_error(
			command, "invalid value '%s' for --block (such as 64, 8x8 or 4x4x4)",
			given->block);
	program->memory = memory;
	program->time_limit = given->time_limit;
	options->engine = (enum gt_exec_engine)given->engine;
	options->gpu = (enum gt_gpu)given->gpu;
	options->host_programs = given->host_programs;
	options->meanwhile = given->meanwhile;
	return given->raw ? run_raw(&self) : run_object(&self);
}

int gt_cli_exec_run(const struct gt_cli_command *command, int count, char **arguments,
		    struct gt_cli_exec_options *given)
{
	int rest, status = gt_cli_parse(command, count, arguments, given, &rest);

	if (status == GT_GO_ON)
		status = run_given(command, count - rest, arguments + rest, given);
	gt_strings_free(&given->devices);
	gt_strings_free(&given->values);
	return status;
}

static int run_exec(const struct gt_cli_command *self, int count, char **arguments)
{
	struct gt_cli_exec_options given = {.time_limit = GT_CLI_EXEC_NO_TIME_LIMIT,
					    .gpu = GT_CLI_EXEC_NO_GPU};

	return gt_cli_exec_run(self, count, arguments, &given);
}

const struct gt_cli_command gt_command_exec = {
	.name = "exec",
	.summary = "Execute an eBPF program standalone, on the CPU or on GPUs",
	.usage = "[options] FILE [-- CMD ARGS] | --raw [options] [MEMHEX…]",
	.description =
		"Verifies and runs a GPU program of an object made by 'clang -target bpf' or, with "
		"--raw, a program read from standard input as hex digits, eight bytes per "
		"instruction. White space and commas between digits and 0x before them are "
		"ignored; several MEMHEX are concatenated. The program runs in an interpreter or, "
		"with --on gpu, translated to PTX, on a GPU or the software GPU, or, with --on "
		"opencl, translated to SPIR-V, on an OpenCL device. Programs of "
		"gpu/run and raw programs have memory: r1 points to the given bytes, which can be "
		"read and written, and r2 is their size; without any both are 0. Other programs "
		"have a context with the fields that describe the thread; there is no kernel "
		"around them, so the other fields are 0. With --grid and --block many threads run "
		"the program, with the same memory and maps. With --device several GPUs run it at "
		"once, each with its own maps except for shared ones. With --linux, as root, the "
		"object's host programs are loaded and attached meanwhile, and arrays that they "
		"share with the program are those of the kernel; the program runs after CMD, if "
		"there is one, has ended. With --as, any program of the object is taken as one of "
		"SECTION; with '--as linux' r1 is 0, and only r1 is set. Prints the final r0 in "
		"hex, of the first thread unless --all is given; output of the program goes to "
		"standard error. A program that the verifier rejects does not run: the reason is "
		"printed, with --json as by 'verify --json', and the exit status is 1. Exit status "
		"2: the object or the hex digits are malformed. Without an error it is that of "
		"CMD.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_exec,
};
