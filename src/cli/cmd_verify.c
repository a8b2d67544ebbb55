/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "verify": whether the GPU programs of an object are safe, and why not. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/programs.h"
#include "cli/rejection.h"
#include "gpubpf/object/object.h"
#include "gpubpf/verify/verify.h"

enum {
	MAX_SIZE = 4096, /* instructions of a GPU program */
	MAX_MEMORY = 1 << 28,
};

struct verify_options {
	bool json, log, allow_control, raw;
	const char *as;
	uint64_t max_insns, max_size, mem_size;
};

#define AT(field) offsetof(struct verify_options, field)

static const struct gt_option options[] = {
	{0, "raw", NULL, "read the program from standard input, as hex digits", GT_OPTION_FLAG,
	 AT(raw), NULL},
	GT_CLI_OPTION_AS(AT(as)),
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	{0, "log", NULL, "print every instruction that is visited, with the registers",
	 GT_OPTION_FLAG, AT(log), NULL},
	{0, "allow-control", NULL, "accept helpers that change what the kernel does",
	 GT_OPTION_FLAG, AT(allow_control), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "max-size", "N", "reject programs of more than N instructions (4096)", GT_OPTION_COUNT,
	 AT(max_size), NULL},
	{0, "mem-size", "SIZE", "bytes of the memory of gpu/run programs, or of the context (0)",
	 GT_OPTION_SIZE, AT(mem_size), NULL},
};

static const char *const examples[] = {
	"gputap verify probe.bpf.o            # the verdicts, with bounds on executed instructions",
	"gputap verify --log probe.bpf.o      # with every step of the verifier",
	"gputap verify --as gpu/run filter.o  # host programs as if they ran on a GPU",
	NULL,
};

/* A verdict and its reasons. */
struct verify_verdict {
	const struct gt_bpf_object *object;
	const struct gt_bpf_program *program;
	struct gt_section section;
	bool is_section; /* the section exists */
	bool accepted;
	struct gt_facts facts;
	struct gt_verify_error error;
	struct gt_diag diag;
	struct gt_strbuf log;
};

/* Whether a program uses a map. */
static bool uses_map(const struct gt_bpf_program *program, uint32_t map)
{
	for (uint32_t at = 0; at < program->count; at++) {
		if (!gt_bpf_is_wide(&program->insns[at]))
			continue;
		if (program->insns[at].src_reg != GT_BPF_IMM_SCALAR &&
		    (uint32_t)program->insns[at].imm == map)
			return true;
		at++;
	}
	return false;
}

static void print_position(const struct gt_bpf_program *program, uint32_t insn)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(program, insn);

	if (line)
		printf("%s:%u (insn %u)", line->file, line->line, insn);
	else
		printf("insn %u", insn);
}

static void print_safe(const struct verify_verdict *verdict)
{
	const struct gt_bpf_program *program = verdict->program;
	const struct gt_facts *facts = &verdict->facts;
	const char *comma = "; maps: ";

	printf("%s (%s): safe; %u instructions, at most %" PRIu64 " executed, %" PRIu64
	       " visited\n",
	       program->name, program->section, program->count, facts->bound, facts->visited);
	if (verdict->section.kind == GT_KIND_HOST)
		fputs("  linux", stdout);
	else
		printf("  gpu/%s, once per %s", gt_section_row(verdict->section.kind)->name,
		       gt_level_name(verdict->section.level));
	for (uint32_t i = 0; verdict->object && i < verdict->object->map_count; i++) {
		if (!uses_map(program, i))
			continue;
		printf("%s%s", comma, verdict->object->maps[i].name);
		comma = ", ";
	}
	putchar('\n');
	for (uint32_t at = 0; at < facts->insn_count; at++) {
		if (!facts->insns[at].diverges && !facts->insns[at].many_keys)
			continue;
		fputs(facts->insns[at].diverges ? "  lanes may diverge at "
						: "  lanes may have different keys at ",
		      stdout);
		print_position(program, at);
		putchar('\n');
	}
	for (uint32_t i = 0; i < facts->warning_count; i++) {
		fputs("  warning: ", stdout);
		print_position(program, facts->warnings[i].insn);
		printf(": %s\n", facts->warnings[i].text);
	}
}

static void print_text(const struct verify_verdict *verdict)
{
	const struct gt_bpf_program *program = verdict->program;
	gt_auto_strbuf where = GT_STRBUF_INIT;

	fputs(gt_strbuf_string(&verdict->log), stdout);
	if (verdict->accepted) {
		print_safe(verdict);
		return;
	}
	printf("%s (%s): rejected: %s%s%s\n", program->name, program->section, verdict->diag.place,
	       verdict->diag.place[0] ? ": " : "", verdict->diag.text);
	gt_cli_put_rejection(&where, program, &verdict->error);
	fputs(gt_strbuf_string(&where), stdout);
}

static void put_position(struct gt_json *json, const struct gt_bpf_program *program, uint32_t insn)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(program, insn);

	gt_json_u64(json, "instruction", insn);
	if (line) {
		gt_json_string(json, "file", line->file);
		gt_json_u64(json, "line", line->line);
	}
}

/* The instructions where lanes diverge, or where their keys differ. */
static void put_divergence(struct gt_json *json, const struct verify_verdict *verdict, bool keys)
{
	const struct gt_facts *facts = &verdict->facts;

	gt_json_array_begin(json, keys ? "varying_keys" : "divergent_branches");
	for (uint32_t at = 0; at < facts->insn_count; at++) {
		if (!(keys ? facts->insns[at].many_keys : facts->insns[at].diverges))
			continue;
		gt_json_object_begin(json, NULL);
		put_position(json, verdict->program, at);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void put_safe(struct gt_json *json, const struct verify_verdict *verdict)
{
	const struct gt_facts *facts = &verdict->facts;

	gt_json_u64(json, "bound", facts->bound);
	gt_json_u64(json, "visited", facts->visited);
	gt_json_array_begin(json, "maps");
	for (uint32_t i = 0; verdict->object && i < verdict->object->map_count; i++)
		if (uses_map(verdict->program, i))
			gt_json_string(json, NULL, verdict->object->maps[i].name);
	gt_json_array_end(json);
	put_divergence(json, verdict, false);
	put_divergence(json, verdict, true);
	gt_json_array_begin(json, "warnings");
	for (uint32_t i = 0; i < facts->warning_count; i++) {
		gt_json_object_begin(json, NULL);
		put_position(json, verdict->program, facts->warnings[i].insn);
		gt_json_string(json, "text", facts->warnings[i].text);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void put_json(struct gt_json *json, const struct verify_verdict *verdict)
{
	const struct gt_section *section = &verdict->section;

	gt_json_object_begin(json, NULL);
	gt_json_string(json, "program", verdict->program->name);
	gt_json_string(json, "section", verdict->program->section);
	if (section->kind == GT_KIND_HOST && verdict->is_section) {
		gt_json_string(json, "kind", "linux");
	} else if (section->kind < GT_KIND_COUNT) {
		gt_json_string(json, "kind", gt_section_row(section->kind)->name);
		gt_json_string(json, "level", gt_level_name(section->level));
		gt_json_string(json, "pattern", section->pattern);
	}
	gt_json_bool(json, "safe", verdict->accepted);
	gt_json_u64(json, "instructions", verdict->program->count);
	if (verdict->accepted)
		put_safe(json, verdict);
	else
		gt_cli_json_rejection(json, &verdict->diag, &verdict->error);
	if (verdict->log.length)
		gt_json_string(json, "log", gt_strbuf_string(&verdict->log));
	gt_json_object_end(json);
}

static bool verify_program(const struct verify_options *given, struct verify_verdict *verdict)
{
	const struct gt_bpf_program *program = verdict->program;
	struct gt_verify_options check = {
		.max_size = (uint32_t)given->max_size,
		.max_executed = given->max_insns,
		.allow_control = given->allow_control,
		.log = given->log ? &verdict->log : NULL,
	};

	verdict->section.kind = GT_KIND_HOST;
	if (gt_cli_section_of(program, given->as, &verdict->section, &verdict->diag)) {
		verdict->diag.place[0] = '\0'; /* the section is printed anyway */
		return false;
	}
	verdict->is_section = true;
	gt_cli_set_input(&check, &verdict->section, given->mem_size);
	return !gt_verify(verdict->object, program, &check, &verdict->facts, &verdict->error,
			  &verdict->diag);
}

/* Verify a program and print the verdict, or add it to the JSON. Whether it is safe. */
static bool report_program(const struct verify_options *given, const struct gt_bpf_object *object,
			   const struct gt_bpf_program *program, struct gt_json *json)
{
	struct verify_verdict verdict = {.object = object, .program = program};

	verdict.accepted = verify_program(given, &verdict);
	if (given->json)
		put_json(json, &verdict);
	else
		print_text(&verdict);
	gt_facts_clear(&verdict.facts);
	gt_strbuf_free(&verdict.log);
	return verdict.accepted;
}

static void report_host_program(const struct verify_options *given,
				const struct gt_bpf_host_program *program, struct gt_json *json)
{
	if (!given->json) {
		printf("%s (%s): host program, verified by the kernel\n", program->name,
		       program->section);
		return;
	}
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "program", program->name);
	gt_json_string(json, "section", program->section);
	gt_json_string(json, "kind", "linux");
	gt_json_object_end(json);
}

static int report_all(const struct verify_options *given, const struct gt_bpf_object *object)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);
	bool safe = true;

	gt_json_array_begin(&json, NULL);
	for (uint32_t i = 0; i < object->program_count; i++)
		safe &= report_program(given, object, &object->programs[i], &json);
	for (uint32_t i = 0; i < object->host_program_count; i++)
		report_host_program(given, &object->host_programs[i], &json);
	gt_json_array_end(&json);
	if (given->json)
		printf("%s\n", gt_strbuf_string(&text));
	return safe ? GT_EXIT_OK : GT_EXIT_FAILED;
}

/* Report an object or a raw program that cannot be read. */
static int reject_file(const struct verify_options *given, const char *path,
		       const struct gt_diag *diag)
{
	gt_cli_diag(diag);
	if (given->json)
		gt_cli_print_bad_file(path, diag);
	return GT_EXIT_USAGE;
}

static int verify_object(const struct verify_options *given, const char *path)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_diag diag = {0};
	int status;

	if (gt_bpf_object_open(path, given->as, &object, &diag))
		return reject_file(given, path, &diag);
	status = report_all(given, object);
	if (object->program_count)
		return status;
	if (given->as)
		gt_cli_error("%s: no programs", path);
	else /* A misspelt section name is likely. */
		gt_cli_error("%s: no GPU programs: their sections begin with 'gpu/', or name "
			     "kernels by kprobe/_Z…; --as verifies other programs as such",
			     path);
	return GT_EXIT_FAILED;
}

static int verify_raw(const struct verify_options *given)
{
	struct verify_options wanted = *given;
	struct gt_bpf_object object = {.program_count = 1};
	struct gt_bpf_program program = {0};
	struct gt_diag diag = {0};
	int status;

	if (gt_cli_read_hex(&program, &diag))
		return reject_file(given, "-", &diag);
	if (!wanted.as)
		wanted.as = "gpu/run";
	program.name = strdup("raw");
	program.section = strdup(wanted.as);
	object.programs = &program;
	status = program.name && program.section ? report_all(&wanted, &object) : GT_EXIT_FAILED;
	gt_bpf_program_clear(&program);
	return status;
}

static int run_verify(const struct gt_cli_command *self, int count, char **arguments)
{
	struct verify_options given = {.max_size = MAX_SIZE};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status != GT_GO_ON)
		return status;
	if (rest + !given.raw != count)
		return gt_cli_usage_error(self, given.raw ? "--raw takes no FILE, but hex digits "
							    "on standard input"
							  : "one FILE is needed, or --raw");
	if (given.max_size > GT_BPF_MAX_INSNS)
		return gt_cli_usage_error(self, "--max-size must be at most %d", GT_BPF_MAX_INSNS);
	if (given.mem_size > MAX_MEMORY)
		return gt_cli_usage_error(self, "--mem-size must be at most %d", MAX_MEMORY);
	status = gt_cli_check_as(self, given.as);
	if (status != GT_GO_ON)
		return status;
	return given.raw ? verify_raw(&given) : verify_object(&given, arguments[rest]);
}

const struct gt_cli_command gt_command_verify = {
	.name = "verify",
	.summary = "Verify the GPU programs of an eBPF object",
	.usage = "[options] FILE | --raw [options]",
	.description =
		"Verifies the GPU programs of an object made by 'clang -target bpf': that they "
		"end, access only valid memory, and store no address in a map. Reports where the "
		"lanes of a warp may diverge, and what they execute one after the other. Host "
		"programs in the same object are listed: the kernel verifies them. With --as, "
		"every program of the object is verified as one of SECTION; 'linux' is the state "
		"in which host programs start: r1 is a context of --mem-size readable bytes, and "
		"r2 to r9 are not set. With --raw, a program of gpu/run is read from standard "
		"input as hex digits, eight bytes per instruction; white space, commas and 0x "
		"before digits are ignored. Exit status 0: all programs are safe; 1: one is "
		"rejected, and the reason is printed with the instruction, the line and the "
		"registers, or there are no GPU programs; 2: the object is malformed.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_verify,
};
