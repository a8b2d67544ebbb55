/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The probes through our translator and through clang, both through ptxas. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "gpubpf/object/object.h"
#include "gpubpf/translate.h"
#include "translate-code.h"

#define TOOLS "PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" "

/* ---- what ptxas makes ------------------------------------------------------------------ */

struct code {
	char name[64];
	struct code_figures figures;
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
		code.figures.instructions =
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
			sscanf(line, " %u bytes stack frame", &code->figures.stack);
		if (code && used)
			sscanf(used, "Used %u registers", &code->figures.registers);
	}
}

/* Assembles <directory>/<name>.ptx; the codes are in *all. */
static int assemble(const char *directory, const char *name, unsigned sm, codes *all)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	char path[256];
	FILE *report;
	int error;

	gt_strbuf_printf(&command,
			 TOOLS "ptxas -arch=sm_%u -v -o %s/%s.cubin %s/%s.ptx 2>%s/report", sm,
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

/* ---- what is given to it --------------------------------------------------------------- */

static int compile(const char *format, const char *directory, const char *output)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;

	gt_strbuf_printf(&command, "clang -O2 %s " PROBES " -o %s/%s >%s/report 2>&1", format,
			 directory, output, directory);
	return system(gt_strbuf_string(&command)) ? -EINVAL : 0;
}

static int compile_cuda(const char *directory)
{
	return compile("-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 "
		       "-Xclang -target-feature -Xclang +ptx63 -S",
		       directory, "clang.ptx");
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
		if (section->level == GT_LEVEL_WARP && field->source == GT_SOURCE_ADDRESS) {
			values[count].kind = GT_SITE_OPERAND;
			values[count].operand = "lane_address";
		}
		count++;
	}
	return count;
}

/* Lanes of a warp have addresses of their own, as OF_LANE says for clang. */
static const char lane_address[] = "\t.reg .b64 lane_address, lane_offset;\n"
				   "\t.reg .b32 lane_number;\n"
				   "\tmov.u32 lane_number, %laneid;\n"
				   "\tmul.wide.u32 lane_offset, lane_number, 4;\n"
				   "\tld.param.u64 lane_address, [context+472];\n"
				   "\tadd.s64 lane_address, lane_address, lane_offset;\n";

/* Adds a kernel that is a program's site and nothing else. */
static int translate_probe(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
			   unsigned sm, struct gt_translation *translation, struct gt_diag *diag)
{
	struct gt_translate_options options = {.form = GT_FORM_SPLICE, .sm = sm};
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
	if (section.level == GT_LEVEL_WARP)
		gt_strbuf_puts(&translation->text, lane_address);
	if (!error)
		error = gt_target_ptx.translate(&options, object, &job, translation, diag);
	gt_strbuf_puts(&translation->text, "\tret;\n}\n");
	gt_facts_clear(&facts);
	return error;
}

/* All programs of <directory>/probes.o into <directory>/gputap.ptx. */
static int translate_probes(const char *directory, unsigned sm)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_translate_options options = {.sm = sm};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	gt_autofclose FILE *file = NULL;
	char path[256];
	int error;

	snprintf(path, sizeof(path), "%s/probes.o", directory);
	error = gt_bpf_object_open(path, false, &object, &diag);
	for (uint32_t i = 0; !error && i < object->program_count; i++)
		error = translate_probe(object, &object->programs[i], sm, &translation, &diag);
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

/* ---- both ------------------------------------------------------------------------------ */

/* One instruction set each: Turing, Hopper, Blackwell. */
static const unsigned gpus[] = {75, 90, 120};

static int compare(const char *directory, unsigned sm, bool has_clang,
		   int (*use)(const struct probe_code *code, void *user), void *user)
{
	codes ours = {0}, theirs = {0};
	int error = translate_probes(directory, sm);

	if (!error)
		error = assemble(directory, "gputap", sm, &ours);
	if (!error && has_clang)
		error = assemble(directory, "clang", sm, &theirs);
	for (size_t i = 0; !error && i < ours.count; i++) {
		const struct code *code = &ours.items[i], *other = find_code(&theirs, code->name);
		struct probe_code both = {code->name + strlen("gputap_"), sm, other, code->figures,
					  other ? other->figures : (struct code_figures){0}};

		error = use(&both, user);
	}
	gt_vec_free(&ours);
	gt_vec_free(&theirs);
	return error;
}

const char *probe_tools_missing(void)
{
	return system(TOOLS "command -v ptxas >/dev/null && command -v clang >/dev/null")
		       ? "clang and ptxas are not both installed"
		       : NULL;
}

int measure_probes(int (*use)(const struct probe_code *code, void *user), void *user)
{
	char directory[] = "/dev/shm/gputap-bench-XXXXXX", command[64];
	bool has_clang;
	int error;

	if (!mkdtemp(directory))
		return -errno;
	error = compile("-target bpf -mcpu=v3 -g -c", directory, "probes.o");
	/* Without clang's nvptx64 target there is nothing to compare with. */
	has_clang = !error && !compile_cuda(directory);
	for (size_t i = 0; !error && i < gt_countof(gpus); i++)
		error = compare(directory, gpus[i], has_clang, use, user);
	fflush(stdout);
	snprintf(command, sizeof(command), "%s %s", getenv("KEEP") ? "ls" : "rm -r", directory);
	return system(command) ? -EINVAL : error;
}
