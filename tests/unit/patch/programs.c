/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The programs that ship ($PROGRAMS), inserted into the kernels that nvcc makes of
 * tests/data/ptx/kernels.cu ($TEST_DATA): ptxas accepts them for each generation of GPUs, and keeps
 * a kernel's array where it was.
 */
#include <dirent.h>

#include "fixture.h"
#include "gpubpf/object/object.h"
#include "patch/patch.h"
#include "tap.h"
#include "toolkit.h"

/* An object with its programs, verified. */
struct shipped_object {
	struct gt_bpf_object *object;
	struct gt_patch_program programs[GT_PATCH_MAX_PROGRAMS];
	struct gt_facts facts[GT_PATCH_MAX_PROGRAMS];
	uint32_t count;
};

static void shipped_clear(struct shipped_object *shipped)
{
	for (uint32_t i = 0; i < shipped->count; i++)
		gt_facts_clear(&shipped->facts[i]);
	gt_bpf_object_free(shipped->object);
}
#define auto_shipped __attribute__((cleanup(shipped_clear))) struct shipped_object

static bool shipped_open(struct shipped_object *shipped, const char *path)
{
	struct gt_diag diag = {0};
	int error = gt_bpf_object_open(path, false, &shipped->object, &diag);

	for (uint32_t i = 0; !error && i < shipped->object->program_count; i++) {
		const struct gt_bpf_program *program = &shipped->object->programs[i];
		struct gt_patch_program *inserted = &shipped->programs[shipped->count];
		struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
						    .section = &inserted->section};

		error = gt_section_read(program->section, program->name, &inserted->section, &diag);
		/* Programs for "gputap gpurun" run in no kernel. */
		if (error || inserted->section.kind >= GT_KIND_RUN)
			continue;
		error = gt_verify(shipped->object, program, &options,
				  &shipped->facts[shipped->count], NULL, &diag);
		inserted->program = program;
		inserted->facts = &shipped->facts[shipped->count];
		shipped->count += !error;
	}
	if (error)
		TAP_FAIL("%s: %s", path, diag.text);
	return !error;
}

static void check_assembles(const char *path, const struct gt_patch_result *result, unsigned sm)
{
	gt_autofree char *output = NULL;

	write_text("patched.ptx", gt_strbuf_string(&result->text));
	if (run(&output, TOOLS "ptxas -arch=sm_%u patched.ptx -o patched.cubin 2>&1", sm))
		TAP_FAIL("%s, sm_%u: %.2000s", path, sm, output);
}

/* Insert the programs of an object. Returns whether that was possible. */
static bool insert_programs(const char *path, const struct gt_ptx_module *module,
			    struct gt_patch_result *result)
{
	auto_shipped shipped = {0};
	struct gt_patch_options options = {.whole = true};
	struct gt_diag diag = {0};
	int error;

	if (!shipped_open(&shipped, path) || !shipped.count)
		return false;
	options.object = shipped.object;
	options.programs = shipped.programs;
	options.program_count = shipped.count;
	error = gt_patch_module(module, &options, result, &diag);
	if (error)
		TAP_FAIL("%s: %s", path, diag.text);
	CHECK(result->patched > 0 && result->found == result->patched + result->rejected);
	return !error;
}

static void check_program(const char *path, const struct gt_ptx_module *module, unsigned sm)
{
	struct gt_patch_result result = {0};

	if (insert_programs(path, module, &result))
		check_assembles(path, &result, sm);
	gt_patch_result_clear(&result);
}

static unsigned check_programs(const struct gt_ptx_module *module, unsigned sm)
{
	const char *folder = getenv("PROGRAMS");
	DIR *directory = opendir(folder ? folder : "");
	unsigned count = 0;
	struct dirent *entry;
	char path[4096];

	while (directory && (entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".o") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		check_program(path, module, sm);
		count++;
	}
	if (directory)
		closedir(directory);
	return count;
}

/* What nvcc makes of a source, also in compiled.ptx; or NULL. */
static struct gt_ptx_module *ptx_of(const char *source, unsigned sm)
{
	struct gt_ptx_module *module = NULL;
	gt_autofree char *output = NULL;
	gt_auto_file file = {0};

	if (run(&output,
		TOOLS "nvcc -std=c++17 -arch=sm_%u -lineinfo -ptx '%s' -o compiled.ptx 2>&1", sm,
		source))
		TAP_FAIL("%s", output);
	else if (gt_file_read("compiled.ptx", GT_PTX_MAX_TEXT, &file, NULL) ||
		 gt_ptx_parse((const char *)file.data, file.size, &module, NULL))
		TAP_FAIL("the text of nvcc cannot be parsed");
	return module;
}

TEST("ptxas accepts the kernels of nvcc with each program that ships")
{
	static const unsigned gpus[] = {75, 90, 120};
	char source[4096];

	NEED_TOOL("nvcc");
	NEED_TOOL("ptxas");
	snprintf(source, sizeof(source), "%s/ptx/kernels.cu", getenv("TEST_DATA"));
	for (size_t i = 0; i < gt_countof(gpus); i++) {
		gt_auto(ptx) struct gt_ptx_module *module = ptx_of(source, gpus[i]);

		CHECK(module && check_programs(module, gpus[i]) >= 5);
	}
}

static const char chosen[] =
	"__global__ void choose(float *values, int index)\n"
	"{\n"
	"	const float special[16] = {0, -0.0f, 1, -1, 0.5f, 2, 1e-45f, 1e30f,\n"
	"				   -1e30f, 88, -88, 100, -7.5f, 1e-10f, 0.1f, 3};\n"
	"	int thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	values[thread] = special[(thread + index) & 15];\n"
	"}\n";

/* The bytes of local memory that ptxas gives to the only kernel of a text. */
static int local_bytes(const char *name, unsigned sm)
{
	gt_autofree char *output = NULL;
	const char *line;
	int bytes = -1;

	if (run(&output, TOOLS "ptxas -arch=sm_%u -v %s -o /dev/null 2>&1", sm, name))
		TAP_FAIL("%s, sm_%u: %.2000s", name, sm, output);
	line = output ? strstr(output, "bytes stack frame") : NULL;
	while (line && line > output && line[-1] != '\n')
		line--;
	if (!line || sscanf(line, " %d bytes stack frame", &bytes) != 1)
		TAP_FAIL("%s, sm_%u: ptxas prints no stack frame", name, sm);
	return bytes;
}

TEST("an array that ptxas keeps in registers stays there beside a program that writes records")
{
	static const unsigned gpus[] = {75, 80, 89, 90};
	char path[4096];

	NEED_TOOL("nvcc");
	NEED_TOOL("ptxas");
	write_text("chosen.cu", chosen);
	snprintf(path, sizeof(path), "%s/kernelretsnoop.bpf.o", getenv("PROGRAMS"));
	for (size_t i = 0; i < gt_countof(gpus); i++) {
		gt_auto(ptx) struct gt_ptx_module *module = ptx_of("chosen.cu", gpus[i]);
		struct gt_patch_result result = {0};
		int plain = module ? local_bytes("compiled.ptx", gpus[i]) : -1;

		CHECK(module && insert_programs(path, module, &result));
		write_text("patched.ptx", gt_strbuf_string(&result.text));
		CHECK_INT(local_bytes("patched.ptx", gpus[i]), plain);
		gt_patch_result_clear(&result);
	}
}

TEST_MAIN
