// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What it costs to verify and translate programs of 50, 500 and 5,000 instructions; and how good
 * the code is: instructions (.text / 16 less trailing NOPs), registers and stack of the probes in
 * translate-probes.c, next to the same source through clang's nvptx64 target. Needs clang and
 * ptxas for the latter. The kernels are the probes and nothing else.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "gpubpf/object.h"
#include "gpubpf/translate.h"

#define TOOLS "PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" "

/* ---- time ------------------------------------------------------------------------------ */

/* A counter of a map, a branch, arithmetic and the stack: 25 instructions of everything. */
static const struct bpf_insn part[] = {
	{BPF_STX | BPF_MEM | BPF_W, 10, 7, -4, 0},
	{BPF_LD | BPF_IMM | BPF_DW, 1, GT_BPF_IMM_MAP_INDEX, 0, 0},
	{0, 0, 0, 0, 0},
	{BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0},
	{BPF_ALU64 | BPF_ADD, 2, 0, 0, -4},
	{BPF_JMP | BPF_CALL, 0, 0, 0, 1},
	{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0},
	{BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1},
	{BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD},
	{BPF_LDX | BPF_MEM | BPF_DW, 3, 0, 0, 0},
	{BPF_ALU64 | BPF_ADD | BPF_X, 8, 3, 0, 0},
	{BPF_LDX | BPF_MEM | BPF_DW, 4, 6, 0, 0},
	{BPF_LDX | BPF_MEM | BPF_W, 5, 6, 8, 0},
	{BPF_ALU64 | BPF_XOR | BPF_X, 8, 4, 0, 0},
	{BPF_ALU64 | BPF_RSH | BPF_K, 4, 0, 0, 7},
	{BPF_ALU | BPF_MUL | BPF_X, 5, 4, 0, 0},
	{BPF_JMP | BPF_JGT | BPF_K, 5, 0, 1, 100},
	{BPF_ALU64 | BPF_ADD, 5, 0, 0, 3},
	{BPF_STX | BPF_MEM | BPF_DW, 10, 5, -16, 0},
	{BPF_ALU64 | BPF_AND | BPF_K, 4, 0, 0, 31},
	{BPF_LDX | BPF_MEM | BPF_DW, 5, 10, -16, 0},
	{BPF_ALU64 | BPF_ADD | BPF_X, 8, 5, 0, 0},
	{BPF_ALU64 | BPF_MOV | BPF_X, 7, 4, 0, 0},
	{BPF_ALU64 | BPF_OR | BPF_K, 7, 0, 0, 1},
	{BPF_STX | BPF_MEM | BPF_DW, 6, 8, 16, 0},
};

static uint32_t make_program(struct bpf_insn *insns, uint32_t wanted)
{
	uint32_t count = 0;

	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 8, 0, 0, 0};
	while (count + gt_countof(part) + 2 <= wanted) {
		memcpy(insns + count, part, sizeof(part));
		count += gt_countof(part);
	}
	insns[count++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 0, 8, 0, 0};
	insns[count++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	return count;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Milliseconds to verify and translate once, or a negative number. */
static double take(const struct gt_bpf_object *object, const struct gt_bpf_program *program)
{
	struct gt_verify_options check = {.input = GT_INPUT_MEMORY, .memory_size = 64};
	struct gt_translate_options options = {.sm = 90};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_facts facts = {0};
	struct gt_translate_job job = {.program = program, .facts = &facts, .memory_size = 64};
	struct gt_diag diag = {0};
	double start = now(), ms;
	int error = gt_verify(object, program, &check, &facts, NULL, &diag);

	if (!error)
		error = gt_target_ptx.translate(&options, object, &job, &translation, &diag);
	if (!error)
		error = gt_target_ptx.finish(&options, &translation, &text, &diag);
	ms = now() - start;
	gt_facts_clear(&facts);
	gt_translation_clear(&translation);
	if (!error)
		return ms;
	fprintf(stderr, "translate: %s: %s\n", diag.place, diag.text);
	return -1;
}

static int measure_time(void)
{
	static const uint32_t sizes[] = {50, 500, 5000};
	struct gt_bpf_map map = {
		.name = "counts", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 64};
	struct gt_bpf_object object = {.maps = &map, .map_count = 1};

	for (size_t i = 0; i < gt_countof(sizes); i++) {
		gt_autofree struct bpf_insn *insns = calloc(sizes[i], sizeof(*insns));
		struct gt_bpf_program program = {.insns = insns};
		double least = 1e9;

		program.count = make_program(insns, sizes[i]);
		for (int j = 0; j < 5; j++) {
			double ms = take(&object, &program);

			if (ms < 0)
				return 1;
			least = ms < least ? ms : least;
		}
		printf("verify-and-translate-%u %.4f ms\n", sizes[i], least);
	}
	return 0;
}

/* ---- code ------------------------------------------------------------------------------ */

struct code {
	char name[64];
	unsigned instructions, registers, stack;
};
typedef GT_VEC(struct code) codes;

static struct code *find_code(codes *all, const char *name)
{
	gt_vec_each (code, all)
		if (!strcmp(code->name, name))
			return code;
	return NULL;
}

/* Instructions of 16 bytes up to the last one that is no NOP. */
static unsigned count_instructions(const uint8_t *text, size_t size)
{
	size_t count = size / 16;

	while (count && (text[16 * (count - 1)] | (text[16 * count - 15] & 15) << 8) == 0x918)
		count--;
	return (unsigned)count;
}

/* The kernels of a cubin. */
static int read_cubin(const char *path, codes *all)
{
	gt_auto_file file = {0};
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const char *names;

	if (gt_file_read(path, 1 << 26, &file, NULL) || file.size < sizeof(*header))
		return -EINVAL;
	header = (const void *)file.data;
	sections = (const void *)(file.data + header->e_shoff);
	names = (const char *)file.data + sections[header->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		struct code code = {0};

		if (strncmp(names + sections[i].sh_name, ".text.", 6))
			continue;
		snprintf(code.name, sizeof(code.name), "%s", names + sections[i].sh_name + 6);
		code.instructions =
			count_instructions(file.data + sections[i].sh_offset, sections[i].sh_size);
		if (gt_vec_push(all, code))
			return -ENOMEM;
	}
	return 0;
}

/* What ptxas -v says: registers and stack of the kernels. */
static void read_report(FILE *report, codes *all)
{
	char line[512], name[64];
	struct code *code = NULL;

	while (fgets(line, sizeof(line), report)) {
		const char *used = strstr(line, "Used ");

		if (strstr(line, "error"))
			fputs(line, stderr);
		if (sscanf(line, "ptxas info : Function properties for %63s", name) == 1)
			code = find_code(all, name);
		if (code)
			sscanf(line, " %u bytes stack frame", &code->stack);
		if (code && used)
			sscanf(used, "Used %u registers", &code->registers);
	}
}

/* Assembles; the codes are in *all. */
static int assemble(const char *directory, const char *name, codes *all)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	char path[256];
	FILE *report;
	int error;

	gt_strbuf_printf(&command,
			 TOOLS "ptxas -arch=sm_90 -v -o %s/%s.cubin %s/%s.ptx 2>%s/report",
			 directory, name, directory, name, directory);
	if (system(gt_strbuf_string(&command)))
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%s.cubin", directory, name);
	error = read_cubin(path, all);
	snprintf(path, sizeof(path), "%s/report", directory);
	report = error ? NULL : fopen(path, "r");
	if (!report)
		return -EINVAL;
	read_report(report, all);
	fclose(report);
	return 0;
}

static int run(const char *format, const char *directory)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;

	gt_strbuf_printf(&command, "clang -O2 %s", format);
	gt_strbuf_printf(&command, " " PROBES " -o %s/%s >%s/report 2>&1", directory,
			 strstr(format, "bpf") ? "probes.o" : "clang.ptx", directory);
	return system(gt_strbuf_string(&command)) ? -EINVAL : 0;
}

/* The values of a site: what no thread knows itself is in the kernel's parameter. */
static uint32_t make_site(const struct gt_section *section, struct gt_site_value *values,
			  char (*operands)[32], uint32_t limit)
{
	uint32_t count = 0;

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (!(field->kinds >> section->kind & 1) || field->source <= GT_SOURCE_LAUNCH ||
		    count == limit)
			continue;
		snprintf(operands[count], 32, "context+%u", field->offset);
		values[count] = (struct gt_site_value){field->source, 0, GT_SITE_PARAMETER,
						       field->size * 8, operands[count]};
		count++;
	}
	return count;
}

/* Adds a kernel that is a program's site and nothing else. */
static int translate_probe(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
			   struct gt_translation *translation, struct gt_diag *diag)
{
	struct gt_translate_options options = {.form = GT_FORM_SPLICE, .sm = 90};
	struct gt_verify_options check = {.input = GT_INPUT_CONTEXT};
	struct gt_translate_job job = {.program = program};
	struct gt_site_value values[32];
	char operands[32][32];
	struct gt_section section;
	struct gt_facts facts = {0};
	int error = gt_section_read(program->section, program->name, &section, diag);

	if (error)
		return error;
	check.section = job.section = &section;
	job.facts = &facts;
	job.values = values;
	job.value_count = make_site(&section, values, operands, 32);
	error = gt_verify(object, program, &check, &facts, NULL, diag);
	gt_strbuf_printf(&translation->text,
			 ".visible .entry gputap_%s(.param .align 8 .b8 context[%d])\n{\n",
			 program->name, GT_CONTEXT_SIZE);
	if (!error)
		error = gt_target_ptx.translate(&options, object, &job, translation, diag);
	gt_strbuf_puts(&translation->text, "\tret;\n}\n");
	gt_facts_clear(&facts);
	return error;
}

/* All programs of <directory>/probes.o into <directory>/gputap.ptx. */
static int translate_probes(const char *directory)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_translate_options options = {.sm = 90};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	gt_autofclose FILE *file = NULL;
	char path[256];
	int error;

	snprintf(path, sizeof(path), "%s/probes.o", directory);
	error = gt_bpf_object_open(path, false, &object, &diag);
	for (uint32_t i = 0; !error && i < object->program_count; i++)
		error = translate_probe(object, &object->programs[i], &translation, &diag);
	if (!error)
		error = gt_target_ptx.finish(&options, &translation, &text, &diag);
	gt_translation_clear(&translation);
	snprintf(path, sizeof(path), "%s/gputap.ptx", directory);
	file = error ? NULL : fopen(path, "w");
	if (!file) {
		fprintf(stderr, "translate: %s: %s\n", diag.place, diag.text);
		return -EINVAL;
	}
	fputs(gt_strbuf_string(&text), file);
	return 0;
}

static void print_codes(codes *ours, codes *theirs)
{
	gt_vec_each (code, ours) {
		const struct code *other = find_code(theirs, code->name);
		const char *name = code->name + strlen("gputap_");

		printf("%s-instructions %u SASS\n", name, code->instructions);
		if (other)
			printf("%s-instructions-clang %u SASS\n", name, other->instructions);
		printf("%s-registers %u registers\n", name, code->registers);
		if (other)
			printf("%s-registers-clang %u registers\n", name, other->registers);
		printf("%s-stack %u bytes\n", name, code->stack);
	}
}

static int measure_code(void)
{
	char directory[] = "/dev/shm/gputap-bench-XXXXXX", command[64];
	codes ours = {0}, theirs = {0};
	int error = 0;

	if (system(TOOLS "command -v ptxas >/dev/null && command -v clang >/dev/null")) {
		printf("probes skip clang and ptxas are not both installed\n");
		return 0;
	}
	if (!mkdtemp(directory))
		return 1;
	error = run("-target bpf -mcpu=v3 -g -c", directory);
	if (!error)
		error = translate_probes(directory);
	/* Without clang's nvptx64 target there is nothing to compare with. */
	if (!error && !run("-x cuda --cuda-device-only -nocudainc -nocudalib "
			   "--cuda-gpu-arch=sm_75 -Xclang -target-feature -Xclang +ptx63 -S",
			   directory))
		error = assemble(directory, "clang", &theirs);
	if (!error)
		error = assemble(directory, "gputap", &ours);
	if (!error)
		print_codes(&ours, &theirs);
	gt_vec_free(&ours);
	gt_vec_free(&theirs);
	snprintf(command, sizeof(command), "%s %s", getenv("KEEP") ? "ls" : "rm -r", directory);
	return system(command) || error;
}

int main(void)
{
	return measure_time() || measure_code();
}
