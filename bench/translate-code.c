/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The code of the probes from our translator and from clang, both assembled by ptxas. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "gpubpf/object/object.h"
#include "gpubpf/translate.h"
#include "sass.h"
#include "translate-code.h"

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
	sass_codes ours = {0}, theirs = {0};
	int error = translate_probes(directory, sm);

	if (!error)
		error = sass_assemble(directory, "gputap", sm, &ours);
	if (!error && has_clang)
		error = sass_assemble(directory, "clang", sm, &theirs);
	for (size_t i = 0; !error && i < ours.count; i++) {
		const struct sass_code *code = &ours.items[i],
				       *other = sass_find(&theirs, code->name);
		struct probe_code both = {code->name + strlen("gputap_"), sm, other, *code,
					  other ? *other : (struct sass_code){{0}}};

		error = use(&both, user);
	}
	gt_vec_free(&ours);
	gt_vec_free(&theirs);
	return error;
}

const char *probe_tools_missing(void)
{
	return system(SASS_TOOLS "command -v ptxas >/dev/null && command -v clang >/dev/null")
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
