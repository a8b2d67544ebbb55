/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs at every site of whole texts: those in tests/data/ptx ($TEST_DATA), and what compilers
 * make here. The printed modules are modules again, and ptxas accepts them where it is installed.
 */
#include <dirent.h>

#include "fixture.h"
#include "patch_probes.h"
#include "toolkit.h"

/* One set of programs for each level, with one program for each kind of sites. */
static const char *const sections[][19] = {
	{"gpu/entry/*", "gpu/exit/*", "gpu/load_begin", "gpu/load", "gpu/store", "gpu/memory",
	 "gpu/atomic", "gpu/copy", "gpu/barrier", "gpu/barrier_end", "gpu/branch", "gpu/loop",
	 "gpu/call/*", "gpu/return/*", "gpu/finish/*", "gpu/loop_end", "gpu/line",
	 "gpu/basic_block"},
	{"gpu/entry.warp/*", "gpu/exit.warp/*", "gpu/load_begin.warp", "gpu/load.warp",
	 "gpu/store.warp", "gpu/memory.warp", "gpu/atomic.warp", "gpu/copy.warp",
	 "gpu/barrier.warp", "gpu/barrier_end.warp", "gpu/branch.warp", "gpu/loop.warp",
	 "gpu/call.warp/*", "gpu/return.warp/*", "gpu/finish.warp/*", "gpu/loop_end.warp",
	 "gpu/line.warp", "gpu/basic_block.warp"},
	{"gpu/entry.block/*", "gpu/exit.block/*", "gpu/block_begin", "gpu/block_end"},
};

#define CYCLES "call 533\nadd r6, r0"

/* Reads of all that the context of a kind has beside what a thread knows itself. */
static const char *reads_of(const char *section)
{
	bool is_thread = !strchr(section, '.');

	if (strstr(section, "load_begin"))
		return is_thread ? "ldxdw r6, [r1+472]\nldxw r7, [r1+500]\nadd r6, r7"
				 : "ldxw r6, [r1+500]\nldxw r7, [r1+496]\nadd r6, r7";
	if (strstr(section, "load") || strstr(section, "store") || strstr(section, "memory") ||
	    strstr(section, "atomic") || strstr(section, "copy"))
		return is_thread ? "ldxdw r6, [r1+472]\nldxdw r7, [r1+480]\nxor r6, r7\n"
				   "ldxdw r7, [r1+488]\nxor r6, r7\nldxw r7, [r1+464]\nadd r6, r7\n"
				   "ldxw r7, [r1+504]\nadd r6, r7\n" CYCLES
				 : "ldxw r6, [r1+500]\nldxw r7, [r1+496]\nadd r6, r7\n"
				   "ldxw r7, [r1+504]\nadd r6, r7\n" CYCLES;
	if (strstr(section, "loop_end"))
		return "call 534\nmov r6, r0";
	if (strstr(section, "branch"))
		return is_thread ? "ldxw r6, [r1+472]" : "ldxw r6, [r1+476]";
	if (strstr(section, "barrier"))
		return "ldxw r6, [r1+472]\n" CYCLES;
	return "ldxw r6, [r1+464]\nldxw r7, [r1+468]\nadd r6, r7\nldxdw r7, [r1+208]\nadd r6, r7\n"
	       "ldxw r7, [r1+80]\nadd r6, r7";
}

/* Assemble patched.ptx for a GPU. */
static void check_assembles_for(const char *path, const char *gpu, bool debug)
{
	gt_autofree char *output = NULL;

	if (run(&output, TOOLS "ptxas %s -arch=%s -c patched.ptx -o patched.cubin 2>&1",
		debug ? "-g" : "", gpu))
		TAP_FAIL("%s for %s: %.2000s", path, gpu, output);
}

/* For the target of the text, and for the newest instruction set. */
static void check_assembles(const char *path, const struct patched_module *patched)
{
	const struct gt_ptx_module *module = patched->module;
	bool debug = module->target_count > 1 && !strcmp(module->targets[1], "debug");

	check_assembles_for(path, module->sm < 75 ? "sm_75" : module->targets[0], debug);
	/* Code for sm_90a and the like is for that GPU alone. */
	if (module->sm < 120 && !module->sm_suffix)
		check_assembles_for(path, "sm_120", debug);
}

static void check_text(const char *path, const char *text, size_t level,
		       struct gt_patch_options options)
{
	auto_patched patched = {0};
	gt_auto(ptx) struct gt_ptx_module *again = NULL;
	struct gt_diag diag = {0};
	uint64_t reasons = 0;

	for (size_t i = 0; sections[level][i]; i++)
		add_probe(&patched, sections[level][i], reads_of(sections[level][i]));
	if (!patch_text(&patched, text, options))
		return;
	gt_vec_each (rejection, &patched.result.rejections)
		reasons += rejection->sites;
	CHECK(reasons == patched.result.rejected);
	if (patched.result.scope == GT_PATCH_NONE)
		return;
	write_text("patched.ptx", gt_strbuf_string(&patched.result.text));
	if (gt_ptx_parse(patched.result.text.data, patched.result.text.length, &again, &diag))
		TAP_FAIL("%s: the patched text, line %s: %s", path, diag.place, diag.text);
	else if (have_tool("ptxas"))
		check_assembles(path, &patched);
}

static void check_file(const char *path)
{
	gt_auto_file file = {0};
	gt_autofree char *text = NULL;

	if (gt_file_read(path, GT_PTX_MAX_TEXT, &file, NULL)) {
		TAP_FAIL("%s cannot be read", path);
		return;
	}
	text = strndup((const char *)file.data, file.size);
	/* Switches need a vote where programs run once per warp. */
	for (size_t level = 0; text && level < gt_countof(sections); level++)
		check_text(path, text, level, (struct gt_patch_options){.switchable = level == 1});
	if (text)
		check_text(path, text, 0,
			   (struct gt_patch_options){.call_sites = 1, .call_instructions = 1});
}

/* A program at the entry of one kernel alone. Returns the scope that this took. */
static enum gt_patch_scope check_kernel(const char *path, const char *text, const char *kernel)
{
	auto_patched patched = {0};
	gt_auto(ptx) struct gt_ptx_module *again = NULL;
	gt_auto_strbuf section = GT_STRBUF_INIT;

	gt_strbuf_printf(&section, "gpu/entry/%s", kernel);
	add_probe(&patched, gt_strbuf_string(&section), NULL);
	if (!patch_text(&patched, text, (struct gt_patch_options){0}))
		return GT_PATCH_NONE;
	CHECK(patched.result.kernels.count == 1 && patched.result.patched == 1);
	write_text("patched.ptx", gt_strbuf_string(&patched.result.text));
	if (have_tool("ptxas"))
		check_assembles(path, &patched);
	CHECK(!gt_ptx_parse(patched.result.text.data, patched.result.text.length, &again, NULL));
	for (const struct gt_ptx_function *function = again ? again->functions : NULL;
	     patched.result.scope == GT_PATCH_SIDE && function; function = function->next)
		CHECK(!function->is_entry || !strcmp(function->name, kernel));
	return patched.result.scope;
}

/* How many kernels of a text become side modules. */
static unsigned count_side_modules(const char *path)
{
	gt_auto_file file = {0};
	gt_autofree char *text = NULL;
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	unsigned count = 0;

	if (gt_file_read(path, GT_PTX_MAX_TEXT, &file, NULL)) {
		TAP_FAIL("%s cannot be read", path);
		return 0;
	}
	text = strndup((const char *)file.data, file.size);
	CHECK(text && !gt_ptx_parse(text, strlen(text), &module, NULL));
	for (const struct gt_ptx_function *function = module ? module->functions : NULL; function;
	     function = function->next)
		if (function->is_entry && function->body)
			count += check_kernel(path, text, function->name) == GT_PATCH_SIDE;
	return count;
}

static void data_path(char path[4096])
{
	snprintf(path, 4096, "%s/ptx", getenv("TEST_DATA"));
}

TEST("every text of the tests is a module again with programs at all of its sites")
{
	struct dirent *entry;
	unsigned count = 0;
	char folder[4096], path[8192];
	DIR *directory;

	data_path(folder);
	directory = opendir(folder);
	if (!directory) {
		TAP_FAIL("TEST_DATA names no directory with ptx/");
		return;
	}
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".ptx") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		check_file(path);
		count++;
	}
	closedir(directory);
	CHECK(count >= 11);
}

static void check_compiled(const char *command, const char *options)
{
	gt_autofree char *output = NULL;

	if (run(&output, TOOLS "%s %s -o compiled.ptx 2>&1", command, options))
		TAP_FAIL("%s %s: %s", command, options, output);
	else
		check_file("compiled.ptx");
}

TEST("what nvcc makes of C++ takes programs at all of its sites")
{
	static const char *const options[] = {"-arch=sm_75", "-arch=sm_90 -lineinfo -src-in-ptx",
					      "-arch=sm_120", "-arch=sm_80 -G -rdc=true"};
	char command[8192], folder[4096];

	NEED_TOOL("nvcc");
	data_path(folder);
	snprintf(command, sizeof(command), "nvcc -std=c++17 -ptx '%s/kernels.cu'", folder);
	for (size_t i = 0; i < gt_countof(options); i++)
		check_compiled(command, options[i]);
}

TEST("a kernel of nvcc that shares no state becomes a module of its own that assembles")
{
	char folder[4096];
	gt_autofree char *output = NULL;

	NEED_TOOL("nvcc");
	data_path(folder);
	if (run(&output,
		TOOLS "nvcc -std=c++17 -arch=sm_90 -lineinfo -ptx '%s/kernels.cu' "
		      "-o compiled.ptx 2>&1",
		folder))
		TAP_FAIL("%s", output);
	else
		CHECK(count_side_modules("compiled.ptx") >= 5);
}

TEST("what clang makes of CUDA takes programs at all of its sites")
{
	static const char *const options[] = {"-O2", "-O0 -g", "-O2 -gline-tables-only"};
	char command[8192], folder[4096];

	NEED_TOOL("clang");
	if (run(NULL, "clang --print-targets 2>/dev/null | grep -q nvptx64"))
		SKIP("no clang that makes PTX is installed");
	data_path(folder);
	snprintf(command, sizeof(command),
		 "clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 "
		 "-Xclang -target-sdk-version=11.5 -S '%s/clang.cu'",
		 folder);
	for (size_t i = 0; i < gt_countof(options); i++)
		check_compiled(command, options[i]);
}

TEST_MAIN
