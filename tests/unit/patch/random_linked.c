/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs that are linked from several modules, with random eBPF programs at random kinds
 * of sites of all or some kernels, in side modules and in whole ones: they compute what C does, as
 * without them, and what was counted is what the walk in C executes but in rejected functions.
 */
#include "linked_probes.h"

enum {
	DEFAULT_PROGRAMS = 500,
	ON_A_DEVICE = 20, /* programs */
	WITH_PTXAS = 20,  /* programs whose modules ptxas and nvlink get */
};

/* How many programs were patched, by scope. */
static uint32_t scopes[GT_PATCH_WHOLE + 1];

/* ---- expected counts ------------------------------------------------------------------- */

static bool runs_for(uint32_t program, uint32_t kernel)
{
	bool is_named = test.kinds[program]->in == IN_FUNCTIONS ||
			test.names[program] == ANY_NAME || test.names[program] == kernel;

	return is_named && (test.selected == ANY_NAME || test.selected == kernel);
}

static bool is_counted(uint32_t program, uint32_t name)
{
	switch (test.kinds[program]->in) {
	case IN_FUNCTIONS:
		return !is_kernel(name) &&
		       (test.names[program] == ANY_NAME || test.names[program] == name);
	case IN_KERNELS:
		return is_kernel(name);
	default:
		return true;
	}
}

static bool is_rejected(uint32_t program, uint32_t name, uint32_t part)
{
	gt_vec_each (rejection, &test.parts[part].result.rejections)
		if (rejection->program == program &&
		    (!rejection->function || !strcmp(rejection->function, linked_name(name))))
			return true;
	return false;
}

/* Of the kernel that was walked last. */
static uint64_t expect_count(uint32_t program, uint32_t kernel)
{
	uint64_t count = 0;

	if (!runs_for(program, kernel))
		return 0;
	for (uint32_t name = 0; name < linked.names; name++)
		for (uint32_t part = 0; part < linked.parts; part++)
			if (linked.counts[name][part].runs && is_counted(program, name) &&
			    !is_rejected(program, name, part))
				count += test.kinds[program]->expected(&linked.counts[name][part]);
	return count;
}

static bool has_kernel(uint32_t kernel)
{
	for (uint32_t i = 0; i < linked.parts; i++)
		gt_vec_each (found, &test.parts[i].result.kernels)
			if (!strcmp(found->name, linked_name(kernel)))
				return true;
	return false;
}

/* Whether the text that is loaded has a kernel for which the program does not run. */
static bool may_be_rejected(uint32_t program, uint32_t name)
{
	for (uint32_t kernel = 0; kernel < linked.kernels; kernel++)
		if (!runs_for(program, kernel) && (reached_names(kernel) >> name & 1) &&
		    (test.scope != GT_PATCH_SIDE || has_kernel(kernel)))
			return true;
	return false;
}

/* Rejected are the sites in functions that other kernels call, too, and no others. */
static bool check_rejections(uint64_t seed)
{
	for (uint32_t part = 0; part < linked.parts; part++)
		gt_vec_each (rejection, &test.parts[part].result.rejections)
			for (uint32_t name = 0; name < linked.names; name++)
				if (rejection->function &&
				    !strcmp(rejection->function, linked_name(name)) &&
				    (is_kernel(name) ||
				     !may_be_rejected(rejection->program, name))) {
					TAP_FAIL("program %" PRIu64 ": %s of %s: %s", seed,
						 test.sections[rejection->program],
						 rejection->function, rejection->reason);
					return false;
				}
	return true;
}

/* ---- running --------------------------------------------------------------------------- */

static struct sg_module *link_parts(struct device *device, const struct gt_ptx_module *const *parts,
				    size_t count)
{
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};

	if (sg_module_load(device->machine, parts, count, NULL, &module, &diag))
		TAP_FAIL("the program does not load: %s %s", diag.place, diag.text);
	return module;
}

static struct sg_module *link_originals(struct device *device)
{
	const struct gt_ptx_module *parts[MAX_PARTS];

	list_originals(parts);
	return link_parts(device, parts, linked.parts);
}

static struct sg_module *link_patched(struct device *device)
{
	const struct gt_ptx_module *parts[MAX_PARTS];
	size_t count;

	return list_patched(parts, &count) ? link_parts(device, parts, count) : NULL;
}

/* Run a kernel. False: it does not compute what the walk did. */
static bool run_kernel(struct device *device, struct sg_module *module, uint32_t kernel,
		       uint64_t seed)
{
	memset(test.memory, 0, sizeof(*test.memory));
	set_up(test.memory->variables, seed);
	memset(test.array, 0, gt_bpf_map_bytes(&maps[0], 1));
	device_run(device, module, linked_name(kernel), 1, THREADS, address_of(test.memory));
	return !memcmp(test.memory, &linked.memory, sizeof(linked.memory));
}

static void set_symbols(struct sg_module *module)
{
	struct sg_variable_info info;
	char name[64];

	snprintf(name, sizeof(name), "%smap_0", test.parts[0].result.prefix);
	if (!sg_module_variable(module, name, &info))
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(test.array), 1},
		       16);
}

/* Run a kernel of the original, and as it was patched. patched: NULL: nothing was. */
static bool check_kernel(struct device *device, struct sg_module *original,
			 struct sg_module *patched, uint32_t kernel, uint64_t seed)
{
	bool is_replaced = patched && (test.scope == GT_PATCH_WHOLE || has_kernel(kernel)), same;

	walk_kernel(kernel, seed);
	same = run_kernel(device, original, kernel, seed);
	if (!same)
		TAP_FAIL("program %" PRIu64 ": %s differs from the walk", seed,
			 linked_name(kernel));
	if (same && is_replaced && !run_kernel(device, patched, kernel, seed)) {
		TAP_FAIL("program %" PRIu64 ": %s differs when it is patched", seed,
			 linked_name(kernel));
		same = false;
	}
	for (uint32_t i = 0; same && i < test.probes.count; i++)
		if (test.array[i] != expect_count(i, kernel)) {
			TAP_FAIL("program %" PRIu64 ": %s: %s counts %" PRIu64 ", not %" PRIu64,
				 seed, linked_name(kernel), test.sections[i], test.array[i],
				 expect_count(i, kernel));
			same = false;
		}
	return same;
}

static bool check_program(struct device *device, uint64_t seed)
{
	gt_auto(sg_module) struct sg_module *original = NULL, *patched = NULL;
	struct gt_diag diag = {0};
	bool same;

	choose_programs();
	if (parse_parts(&diag) || patch_parts(&diag)) {
		TAP_FAIL("program %" PRIu64 ": %s: %s", seed, diag.place, diag.text);
		return false;
	}
	check_results();
	scopes[test.scope]++;
	same = check_rejections(seed);
	original = link_originals(device);
	if (test.scope != GT_PATCH_NONE)
		patched = link_patched(device);
	if (!original || (test.scope != GT_PATCH_NONE && !patched)) {
		TAP_FAIL("program %" PRIu64, seed);
		return false;
	}
	if (patched)
		set_symbols(patched);
	for (uint32_t kernel = 0; kernel < linked.kernels; kernel++)
		same = same && check_kernel(device, original, patched, kernel, seed);
	return same;
}

static void show_texts(void)
{
	for (uint32_t part = 0; part < linked.parts; part++)
		printf("---- module %u\n%s\n---- patched\n%s\n", part,
		       gt_strbuf_string(&test.texts[part]),
		       gt_strbuf_string(&test.parts[part].result.text));
}

/* Some programs from this seed on, which moves. Returns how many are wrong. */
static unsigned check_some(unsigned count, uint64_t *seed)
{
	auto_device device = {0};
	unsigned wrong = 0;

	device_open(&device);
	test.memory = device_memory(&device, sizeof(*test.memory));
	test.array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	for (unsigned i = 0; i < count; ++*seed) {
		if (make_program(*seed)) {
			wrong += !check_program(&device, *seed);
			if (getenv("SHOW"))
				show_texts();
			i++;
		}
		clear_test();
	}
	return wrong;
}

TEST("random linked programs with programs at their sites compute and count what C does")
{
	unsigned programs = programs_wanted(DEFAULT_PROGRAMS), wrong = 0, made = 0, count;
	const char *from = getenv("SEED");
	uint64_t seed = from ? (uint64_t)atoll(from) : 0;

	for (; made < programs && !wrong; made += count) {
		count = programs - made < ON_A_DEVICE ? programs - made : ON_A_DEVICE;
		wrong = check_some(count, &seed);
	}
	CHECK(!wrong);
	/* All scopes are among them. */
	CHECK(made < DEFAULT_PROGRAMS / 5 ||
	      (scopes[GT_PATCH_SIDE] > made / 5 && scopes[GT_PATCH_WHOLE] > made / 5));
}

/* ---- ptxas and nvlink ------------------------------------------------------------------- */

/* The text of a module as it is loaded; NULL: it is no part of it. */
static const struct gt_strbuf *loaded_text(uint32_t part)
{
	if (test.parts[part].result.scope != GT_PATCH_NONE)
		return &test.parts[part].result.text;
	return test.scope == GT_PATCH_WHOLE ? &test.texts[part] : NULL;
}

static bool write_text(const char *path, const struct gt_strbuf *text)
{
	FILE *file = fopen(path, "w");
	bool is_written = file && fwrite(text->data, text->length, 1, file) == 1;

	return file && !fclose(file) && is_written;
}

/* Compile what is loaded, and link it. */
static bool link_with_nvlink(const struct temporary *directory)
{
	char command[4 * TEMPORARY_PATH];

	for (uint32_t part = 0; part < linked.parts; part++) {
		const struct gt_strbuf *text = loaded_text(part);
		char path[TEMPORARY_PATH + 16];

		snprintf(path, sizeof(path), "%s/%u.ptx", directory->path, part);
		if (text && !write_text(path, text))
			return false;
	}
	snprintf(command, sizeof(command),
		 TOOLS "; cd '%s' && for i in *.ptx; do ptxas -c -arch=sm_80 \"$i\" -o "
		       "\"${i%%ptx}cubin\" || exit; done && nvlink -arch=sm_80 *.cubin -o out "
		       "2>log && rm *.ptx *.cubin out",
		 directory->path);
	return !system(command);
}

TEST("ptxas and nvlink accept random linked programs with programs at their sites")
{
	struct temporary directory;
	struct gt_diag diag = {0};
	int checked = 0;

	NEED_TOOL("ptxas");
	NEED_TOOL("nvlink");
	if (!make_temporary_directory(&directory)) {
		TAP_FAIL("no temporary directory");
		return;
	}
	/* nvlink 13 ends with an internal error where aliases and overridden functions meet. */
	linked.no_aliases = true;
	for (uint64_t seed = 0; checked < WITH_PTXAS && !tap_failed; seed++) {
		if (make_program(seed)) {
			choose_programs();
			CHECK(!parse_parts(&diag) && !patch_parts(&diag));
			check_results();
			if (test.scope != GT_PATCH_NONE) {
				if (!link_with_nvlink(&directory))
					TAP_FAIL("program %" PRIu64 " is in %s", seed,
						 directory.path);
				checked++;
			}
		}
		clear_test();
	}
	linked.no_aliases = false;
	CHECK(tap_failed || remove_temporary_directory(&directory));
}

TEST_MAIN
