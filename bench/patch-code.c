// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The code that inserted programs add to kernels: instructions, registers and spills of the patched
 * kernel less those of the same text without programs, over all kernels that nvcc compiles from the
 * examples and of tests/data/ptx/kernels.cu. For programs at memory accesses, instructions per
 * site. One GPU of each instruction set. Needs clang, nvcc and ptxas.
 *
 *	build/bench/patch-code [--quick] [--kernels] [--set=NAME]
 *
 * --quick: the tests' kernels on one GPU. --set: this set alone. --kernels: a row for each set and
 * kernel, too, with what the kernel has before and after: kernel SET GPU NAME sites N registers N N
 * instructions N N.
 *
 * The sets "call…" are what ptxas makes of less than a program: of a function that each access
 * calls and that is empty, stores one word, or compares the lanes' addresses and stores the result.
 * "stored" and "shuffled" are one store at the start.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "gpubpf/filter.h"
#include "gpubpf/object/object.h"
#include "patch/patch.h"
#include "sass.h"

/*
 * Code in place of the store in the function of floor_memory: the lanes whose addresses are in the
 * same 32 bytes, by all bits of the address, or by 32 of them.
 */
static const char match_64[] = "\t.reg .b32 lanes, same;\n\t.reg .b64 key;\n"
			       "\tactivemask.b32 lanes;\n"
			       "\tshr.u64 key, gputap_at_address, 5;\n"
			       "\tmatch.any.sync.b64 same, key, lanes;\n"
			       "\tst.global.u32 [gputap_r0], same;\n";
static const char match_32[] = "\t.reg .b32 lanes, same, low;\n\t.reg .b64 key;\n"
			       "\tactivemask.b32 lanes;\n"
			       "\tshr.u64 key, gputap_at_address, 5;\n"
			       "\tcvt.u32.u64 low, key;\n"
			       "\tmatch.any.sync.b32 same, low, lanes;\n"
			       "\tst.global.u32 [gputap_r0], same;\n";

/* Programs whose names begin with one of these are inserted together. */
static const struct patch_set {
	const char *name;
	bool per_site;    /* of memory accesses */
	bool switchable;  /* as with --switchable */
	const char *when; /* as --when; NULL: none */
	uint32_t period;  /* as --sample; 0: none */
	bool called;      /* floor_memory, as a function that its sites call */
	const char *code; /* in place of its store; NULL: the store */
} sets[] = {
	{.name = "empty"},
	{.name = "counter"},
	{.name = "switched", .switchable = true},
	{.name = "filtered", .when = "blockIdx.x==0"},
	{.name = "sampled", .period = 10},
	{.name = "histogram"},
	{.name = "ring"},
	{.name = "accesses", .per_site = true},
	{.name = "sectors", .per_site = true},
	{.name = "call-empty", .per_site = true, .called = true, .code = ""},
	{.name = "call-store", .per_site = true, .called = true},
	{.name = "call-match-32", .per_site = true, .called = true, .code = match_32},
	{.name = "call-match-64", .per_site = true, .called = true, .code = match_64},
	{.name = "stored"},
	{.name = "shuffled"},
};

/* What one kernel has more with a set. */
struct addition {
	int instructions, registers, spills;
	int sites, all; /* instructions at all sites */
};
typedef GT_VEC(struct addition) additions;

static const unsigned gpus[] = {75, 90, 120};

/* ---- programs -------------------------------------------------------------------------- */

enum {
	MAX_SET = 4,
};

struct verified_set {
	struct gt_patch_program programs[MAX_SET];
	struct gt_facts facts[MAX_SET];
	uint32_t count;
};

static void verified_set_clear(struct verified_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		gt_facts_clear(&set->facts[i]);
}
#define auto_verified_set __attribute__((cleanup(verified_set_clear))) struct verified_set

/* Insert the filter of a set before its programs, once. */
static int add_filters(struct gt_bpf_object *object, const struct patch_set *set,
		       struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; i < object->program_count && !error; i++) {
		struct gt_bpf_program *program = &object->programs[i];
		struct gt_bpf_filter filter = {.period = set->period};
		struct gt_section section;

		if ((!set->when && !set->period) ||
		    strncmp(program->name, set->name, strlen(set->name)))
			continue;
		error = gt_section_read(program->section, program->name, &section, diag);
		if (!error && set->when)
			error = gt_bpf_filter_parse(set->when, &section, &filter, diag);
		if (!error)
			error = gt_bpf_filter_insert(object, program, &section, 1 << 20, &filter,
						     diag);
	}
	return error;
}

static int verify_set(const struct gt_bpf_object *object, const char *name,
		      struct verified_set *set, struct gt_diag *diag)
{
	for (uint32_t i = 0; i < object->program_count && set->count < MAX_SET; i++) {
		const struct gt_bpf_program *program = &object->programs[i];
		struct gt_patch_program *inserted = &set->programs[set->count];
		struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
						    .section = &inserted->section};
		int error;

		if (strncmp(program->name, name, strlen(name)) ||
		    program->name[strlen(name)] != '_')
			continue;
		error = gt_section_read(program->section, program->name, &inserted->section, diag);
		if (!error)
			error = gt_verify(object, program, &options, &set->facts[set->count], NULL,
					  diag);
		if (error)
			return error;
		inserted->program = program;
		inserted->facts = &set->facts[set->count++];
	}
	return 0;
}

/* ---- kernels --------------------------------------------------------------------------- */

struct bench {
	char directory[32];
	struct gt_bpf_object *object;
	additions added[gt_countof(sets)];
	unsigned kernels, skipped; /* of the current GPU; sources that are not for it */
	bool prints_kernels;
	const char *only; /* the set; NULL: all */
	struct gt_diag diag;
};

/* A set, inserted into the kernels of a source. */
struct measurement {
	const struct patch_set *set;
	unsigned sm;
	sass_codes *plain; /* the kernels as they are */
};

static int write_ptx(const struct bench *bench, const char *name, const struct gt_strbuf *text)
{
	char path[128];
	FILE *file;
	bool written;

	snprintf(path, sizeof(path), "%s/%s.ptx", bench->directory, name);
	file = fopen(path, "w");
	written = file && fputs(gt_strbuf_string(text), file) >= 0;
	return file && !fclose(file) && written ? 0 : -EIO;
}

/* How many sites of the set a kernel has in the result. */
static int count_sites(const struct gt_patch_result *result, const char *kernel)
{
	int count = 0;

	gt_vec_each (site, &result->sites)
		count += !strcmp(site->function, kernel);
	return count;
}

static void print_kernel(const struct measurement *measurement, const struct sass_code *before,
			 const struct sass_code *after, int sites)
{
	printf("kernel %s sm_%u %s sites %d registers %u %u instructions %u %u\n",
	       measurement->set->name, measurement->sm, before->name, sites, before->registers,
	       after->registers, before->instructions, after->instructions);
}

static int compare_kernels(struct bench *bench, const struct measurement *measurement,
			   sass_codes *patched, const struct gt_patch_result *result)
{
	const struct patch_set *set = measurement->set;
	additions *added = &bench->added[set - sets];

	gt_vec_each (kernel, &result->kernels) {
		const struct sass_code *before = sass_find(measurement->plain, kernel->name),
				       *after = sass_find(patched, kernel->name);
		int sites = set->per_site ? count_sites(result, kernel->name) : 1;
		struct addition addition;

		if (!before || !after || !sites)
			continue;
		addition = (struct addition){
			.instructions =
				((int)after->instructions - (int)before->instructions) / sites,
			.sites = sites,
			.all = (int)after->instructions - (int)before->instructions,
			.registers = (int)after->registers - (int)before->registers,
			.spills = (int)after->spills - (int)before->spills,
		};
		if (bench->prints_kernels)
			print_kernel(measurement, before, after, sites);
		if (gt_vec_push(added, addition))
			return -ENOMEM;
	}
	return 0;
}

/* Put `code` in place of the store in each function that sites call. */
static void replace_stores(const char *text, const char *code, struct gt_strbuf *replaced)
{
	const char *function, *store, *next;

	while ((function = strstr(text, ".func gputap_call_")) &&
	       (store = strstr(function, "\tst.")) && (next = strchr(store, '\n'))) {
		gt_strbuf_add(replaced, text, (size_t)(store - text));
		gt_strbuf_puts(replaced, code);
		text = next + 1;
	}
	gt_strbuf_puts(replaced, text);
}

/* The instructions of the sets "call…" are not in older modules. */
static bool measures(const struct bench *bench, const struct patch_set *set,
		     const struct gt_ptx_module *module)
{
	if (bench->only && strcmp(set->name, bench->only))
		return false;
	return !set->called || (module->sm >= 70 && module->version_major >= 7);
}

/* Assemble the patched text and compare its kernels. */
static int measure_text(struct bench *bench, const struct measurement *measurement,
			const struct gt_patch_result *result)
{
	gt_auto_strbuf replaced = GT_STRBUF_INIT;
	const char *code = measurement->set->code;
	sass_codes patched = {0};
	int error;

	if (code)
		replace_stores(gt_strbuf_string(&result->text), code, &replaced);
	error = write_ptx(bench, "patched", code ? &replaced : &result->text);
	if (!error)
		error = sass_assemble(bench->directory, "patched", measurement->sm, &patched);
	if (!error)
		error = compare_kernels(bench, measurement, &patched, result);
	gt_vec_free(&patched);
	return error;
}

static int measure_set(struct bench *bench, const struct gt_ptx_module *module,
		       const struct measurement *measurement)
{
	const struct patch_set *measured = measurement->set;
	auto_verified_set set = {0};
	struct gt_patch_result result = {0};
	struct gt_patch_options options = {.object = bench->object,
					   .switchable = measured->switchable,
					   .call_instructions = measured->called,
					   .whole = true};
	int error;

	if (!measures(bench, measured, module))
		return 0;
	error = verify_set(bench->object, measured->called ? "floor" : measured->name, &set,
			   &bench->diag);
	options.programs = set.programs;
	options.program_count = set.count;
	if (!error)
		error = gt_patch_module(module, &options, &result, &bench->diag);
	if (!error && result.text.length)
		error = measure_text(bench, measurement, &result);
	gt_patch_result_clear(&result);
	return error;
}

/* The PTX of a source for a GPU. -ENODATA: its compiler rejects it, or is not installed. */
static int compile_source(struct bench *bench, const char *source, unsigned sm)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;

	if (strstr(source, ".ptx"))
		gt_strbuf_printf(&command, "cp '%s' %s/source.ptx", source, bench->directory);
	else if (strstr(source, "clang.cu"))
		gt_strbuf_printf(&command,
				 "clang -x cuda --cuda-device-only -nocudainc -nocudalib -O2 "
				 "--cuda-gpu-arch=sm_75 -Xclang -target-sdk-version=11.5 -S '%s' "
				 "-o %s/source.ptx",
				 source, bench->directory);
	else
		gt_strbuf_printf(&command,
				 SASS_TOOLS
				 "nvcc -std=c++17 -arch=sm_%u -ptx '%s' -o %s/source.ptx",
				 sm, source, bench->directory);
	gt_strbuf_printf(&command, " >/dev/null 2>&1");
	return system(gt_strbuf_string(&command)) ? -ENODATA : 0;
}

/* The module in source.ptx and its code. -ENODATA: it is not for this GPU. */
static int read_source(struct bench *bench, unsigned sm, struct gt_ptx_module **ret_module,
		       sass_codes *plain)
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto_file file = {0};
	char path[128];
	int error;

	snprintf(path, sizeof(path), "%s/source.ptx", bench->directory);
	error = gt_file_read(path, GT_PTX_MAX_TEXT, &file, &bench->diag);
	if (!error)
		error = gt_ptx_parse((const char *)file.data, file.size, &module, &bench->diag);
	if (error)
		return error;
	gt_ptx_print(module, &text);
	error = write_ptx(bench, "plain", &text);
	if (!error && sass_assemble(bench->directory, "plain", sm, plain))
		error = -ENODATA;
	if (!error)
		*ret_module = gt_take(module);
	return error;
}

/* One source, compiled for one GPU. */
static int measure_source(struct bench *bench, const char *source, unsigned sm)
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	sass_codes plain = {0};
	int error = compile_source(bench, source, sm);

	if (!error)
		error = read_source(bench, sm, &module, &plain);
	for (size_t i = 0; !error && i < gt_countof(sets); i++)
		error = measure_set(bench, module, &(struct measurement){&sets[i], sm, &plain});
	bench->kernels += (unsigned)plain.count;
	bench->skipped += error == -ENODATA;
	gt_vec_free(&plain);
	return error == -ENODATA ? 0 : error;
}

/* ---- figures --------------------------------------------------------------------------- */

static int compare_instructions(const void *a, const void *b)
{
	return ((const struct addition *)a)->instructions -
	       ((const struct addition *)b)->instructions;
}

static void print_set(const struct patch_set *set, additions *added, unsigned sm)
{
	const char *unit = set->per_site ? "SASS/site" : "SASS";
	unsigned few = 0, spilled = 0;
	int sites = 0, all = 0;

	if (!added->count)
		return;
	qsort(added->items, added->count, sizeof(*added->items), compare_instructions);
	gt_vec_each (addition, added) {
		few += addition->registers <= 4;
		spilled += addition->spills > 0;
		sites += addition->sites;
		all += addition->all;
	}
	printf("patch-%s-sm_%u-median %d %s\n", set->name, sm,
	       added->items[added->count / 2].instructions, unit);
	if (set->per_site)
		printf("patch-%s-sm_%u-mean %.1f %s\n", set->name, sm, (double)all / sites, unit);
	printf("patch-%s-sm_%u-p90 %d %s\n", set->name, sm,
	       added->items[added->count * 9 / 10].instructions, unit);
	printf("patch-%s-sm_%u-at-most-4-registers %.0f %%\n", set->name, sm,
	       100.0 * few / (double)added->count);
	printf("patch-%s-sm_%u-new-spills %u kernels\n", set->name, sm, spilled);
}

/* Folders whose .cu and .ptx files are measured. */
static const char *const folders[] = {
	"tests/data/ptx", "examples", "tests/programs", "tests/softgpu", "bench",
};

static int is_source(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".ptx"));
}

static int measure_folder(struct bench *bench, const char *folder, unsigned sm)
{
	gt_autofree char *path = NULL;
	struct dirent **entries = NULL;
	int count, error = 0;

	if (asprintf(&path, "%s/%s", SOURCE_ROOT, folder) < 0)
		return -ENOMEM;
	count = scandir(path, &entries, is_source, alphasort);
	for (int i = 0; i < count; i++) {
		gt_autofree char *source = NULL;

		if (!error && asprintf(&source, "%s/%s", path, entries[i]->d_name) >= 0)
			error = measure_source(bench, source, sm);
		free(entries[i]);
	}
	free(entries);
	return error;
}

static int measure_gpu(struct bench *bench, unsigned sm, bool quick)
{
	int error = 0;

	bench->kernels = bench->skipped = 0;
	if (quick)
		error = measure_source(bench, SOURCE_ROOT "/tests/data/ptx/kernels.cu", sm);
	for (size_t i = 0; i < gt_countof(folders) && !error && !quick; i++)
		error = measure_folder(bench, folders[i], sm);
	printf("patch-sm_%u-kernels %u kernels\n", sm, bench->kernels);
	printf("patch-sm_%u-sources-skipped %u files\n", sm, bench->skipped);
	for (size_t i = 0; i < gt_countof(sets); i++) {
		if (!error)
			print_set(&sets[i], &bench->added[i], sm);
		gt_vec_free(&bench->added[i]);
	}
	return error;
}

/* What follows `option` in the argument that begins with it; NULL: there is none. */
static const char *find_option(int argc, char *argv[], const char *option)
{
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], option, strlen(option)))
			return argv[i] + strlen(option);
	return NULL;
}

static bool is_set(const char *name)
{
	for (size_t i = 0; i < gt_countof(sets); i++)
		if (!strcmp(sets[i].name, name))
			return true;
	return false;
}

int main(int argc, char *argv[])
{
	bool quick = find_option(argc, argv, "--quick");
	struct bench bench = {.directory = "/dev/shm/gputap-patch-XXXXXX",
			      .prints_kernels = find_option(argc, argv, "--kernels"),
			      .only = find_option(argc, argv, "--set=")};
	char command[64];
	int error;

	if (bench.only && !is_set(bench.only)) {
		fprintf(stderr, "patch-code: there is no set '%s'\n", bench.only);
		return 2;
	}
	if (system(SASS_TOOLS "command -v ptxas >/dev/null && command -v nvcc >/dev/null")) {
		printf("patch-code skip nvcc and ptxas are not both installed\n");
		return 0;
	}
	if (!mkdtemp(bench.directory))
		return 1;
	error = gt_bpf_object_open(PROBES, false, &bench.object, &bench.diag);
	for (size_t i = 0; i < gt_countof(sets) && !error; i++)
		error = add_filters(bench.object, &sets[i], &bench.diag);
	for (size_t i = 0; i < (quick ? 1 : gt_countof(gpus)) && !error; i++)
		error = measure_gpu(&bench, gpus[i], quick);
	if (error)
		fprintf(stderr, "patch-code: %s: %s\n", bench.diag.place, bench.diag.text);
	gt_bpf_object_free(bench.object);
	snprintf(command, sizeof(command), "rm -r %s", bench.directory);
	return system(command) || error ? 1 : 0;
}
