/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs with contexts as PTX, once per thread, warp or block: their results on the software
 * device are those of the interpreter, with the instructions of new GPUs and of old ones; and
 * bodies that are inserted into a kernel.
 */
#include <ctype.h>

#include "assemble.h"
#include "exec_fixture.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/translate.h"
#include "gpubpf_site.h"

enum {
	RESULTS = 256,
	THREADS = 40,
	MAX_BLOCKS = 2,
};

/* Map 0: an array; map 1: a ring; map 2: an array that the host shares; map 3: a hash. */
static struct gt_bpf_map maps[] = {
	{.name = "array", .type = 2, .key_size = 4, .value_size = 16, .max_entries = 64},
	{.name = "ring", .type = 27, .max_entries = 4096},
	{.name = "shared", .type = 1513, .key_size = 4, .value_size = 16, .max_entries = 4},
	{.name = "hash", .type = 1, .key_size = 8, .value_size = 8, .max_entries = 8},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};

/* The results of a launch. */
struct outcome {
	uint64_t results[RESULTS];
	void *maps[gt_countof(maps)];
};

static uint32_t blocks; /* of the grid */

struct probe {
	struct gt_section section;
	struct gt_bpf_program program;
	struct gt_facts facts;
};

static void probe_clear(struct probe *probe)
{
	gt_facts_clear(&probe->facts);
	gt_bpf_program_clear(&probe->program);
}
#define auto_probe __attribute__((cleanup(probe_clear))) struct probe

static bool probe_read(const char *section, const char *text, struct probe *probe)
{
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT, .section = &probe->section};
	struct gt_diag diag = {0};

	if (gt_section_read(section, "p", &probe->section, &diag) ||
	    gt_bpf_assemble(text, &probe->program.insns, &probe->program.count, &diag) ||
	    gt_verify(&object, &probe->program, &options, &probe->facts, NULL, &diag)) {
		TAP_FAIL("%s: %s: %s", section, diag.place, diag.text);
		return false;
	}
	return true;
}

static void outcome_begin(struct outcome *outcome)
{
	memset(outcome->results, 0xee, sizeof(outcome->results));
	for (size_t i = 0; i < gt_countof(maps); i++) {
		outcome->maps[i] = calloc(1, gt_bpf_map_bytes(&maps[i], 1));
		gt_bpf_map_initialise(&maps[i], 1, outcome->maps[i]);
	}
}

static void outcome_clear(struct outcome *outcome)
{
	for (size_t i = 0; i < gt_countof(maps); i++)
		free(outcome->maps[i]);
}
#define auto_outcome __attribute__((cleanup(outcome_clear))) struct outcome

/* ---- the site in a kernel, the same for both ------------------------------------------- */

static uint64_t lane_value(void *data, enum gt_context_source source,
			   const struct gt_interp_thread *thread)
{
	(void)data;
	if (source == GT_SOURCE_ADDRESS)
		return thread->thread[0];
	if (source == GT_SOURCE_VALUE)
		return 0x700000000;
	return source == GT_SOURCE_TAKEN;
}

static const struct gt_interp_site site = TEST_SITE(lane_value);

/* The address differs between lanes, so it is not in the parameter. */
static const struct gt_site_value values[] = {
	{GT_SOURCE_ADDRESS, 0, GT_SITE_OPERAND, 32, "%tid.x"},
};

static void put(uint8_t *context, uint32_t offset, uint64_t value, unsigned size)
{
	memcpy(context + offset, &value, size);
}

static void make_context(uint8_t *context)
{
	put(context, 72, site.kernel, 4);
	put(context, 76, site.argument_count, 4);
	memcpy(context + 80, site.argument_sizes, sizeof(site.argument_sizes));
	memcpy(context + 208, site.arguments, sizeof(site.arguments));
	put(context, 464, site.site, 4);
	put(context, 468, site.line, 4);
	put(context, 472, 1, 4); /* taken; for other kinds the address, which they do not read */
	put(context, 480, 0x700000000, 8);
	put(context, 500, site.width, 4);
	put(context, 504, site.space, 4);
}

/* ---- running --------------------------------------------------------------------------- */

static void interpret(struct probe *probe, struct outcome *outcome)
{
	struct gt_interp_options options = {.object = &object, .map_memory = outcome->maps};
	struct gt_interp_grid grid = {.block_size = {THREADS, 1, 1},
				      .grid_size = {blocks, 1, 1},
				      .launch = 9,
				      .section = &probe->section,
				      .site = &site,
				      .results = outcome->results};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	outcome_begin(outcome);
	if (gt_interp_run_grid(&probe->program, &options, &grid, &result, &diag))
		TAP_FAIL("interp: %s: %s", diag.place, diag.text);
}

static char *translate(const struct probe *probe, struct gt_translate_options options)
{
	struct gt_translate_job job = {.program = &probe->program,
				       .facts = &probe->facts,
				       .section = &probe->section,
				       .values = values,
				       .value_count = gt_countof(values)};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (gt_target_ptx.translate(&options, &object, &job, &translation, &diag) ||
	    gt_target_ptx.finish(&options, &translation, &text, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	gt_translation_clear(&translation);
	return gt_strbuf_steal(&text);
}

static void execute(const char *text, struct outcome *outcome)
{
	auto_device device = {0};
	struct sg_module *module;
	struct sg_grid_result result;
	struct sg_variable_info info;
	void *places[gt_countof(maps)] = {0};
	uint64_t parameters[3 + GT_CONTEXT_SIZE / 8] = {0};
	uint64_t *results;
	char name[32];

	outcome_begin(outcome);
	device_open(&device);
	module = device_load(&device, text);
	results = device_memory(&device, sizeof(outcome->results));
	memcpy(results, outcome->results, sizeof(outcome->results));
	for (size_t i = 0; module && i < gt_countof(maps); i++) {
		size_t size = gt_bpf_map_bytes(&maps[i], 1);

		snprintf(name, sizeof(name), "gputap_map_%zu", i);
		if (sg_module_variable(module, name, &info))
			continue;
		places[i] = device_memory(&device, size);
		memcpy(places[i], outcome->maps[i], size);
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(places[i]), 1}, 16);
	}
	parameters[2] = address_of(results);
	make_context((uint8_t *)&parameters[3]);
	if (device_run_with(&device, module, "gputap_program",
			    (struct sg_launch){.shape.grid = {blocks, 1, 1},
					       .shape.block = {THREADS, 1, 1},
					       .id = 9},
			    parameters, gt_countof(parameters), &result))
		TAP_FAIL("%s", result.fault.text);
	memcpy(outcome->results, results, sizeof(outcome->results));
	for (size_t i = 0; i < gt_countof(maps); i++)
		if (places[i])
			memcpy(outcome->maps[i], places[i], gt_bpf_map_bytes(&maps[i], 1));
	sg_module_free(module);
}

static int compare_records(const void *one, const void *other, void *size)
{
	return memcmp(one, other, *(size_t *)size);
}

/* Sort the records of map 1, which all have one size: blocks write theirs in any order. */
static void sort_records(struct outcome *outcome)
{
	struct gt_ring_header *header = outcome->maps[1];
	struct gt_ring_record *records = (struct gt_ring_record *)(header + 1);
	size_t size = sizeof(*records) + gt_bpf_map_stride(records->size);

	if (header->head)
		qsort_r(records, header->head / size, size, compare_records, &size);
}

static void check_same(const char *title, const struct outcome *one, const struct outcome *other)
{
	for (unsigned i = 0; i < RESULTS; i++)
		if (one->results[i] != other->results[i]) {
			TAP_FAIL("%s: result %u is 0x%" PRIx64 ", but 0x%" PRIx64 " as PTX", title,
				 i, one->results[i], other->results[i]);
			break;
		}
	for (size_t i = 0; i < gt_countof(maps); i++)
		if (memcmp(one->maps[i], other->maps[i], gt_bpf_map_bytes(&maps[i], 1)))
			TAP_FAIL("%s: map %zu differs", title, i);
}

/* Check that a program has the same results on the interpreter and as PTX, for both GPUs. */
static void compare(const char *section, const char *text)
{
	static const struct gt_translate_options targets[] = {
		{.sm = 90}, {.sm = 60}, {.sm = 60, .version = 50}};
	auto_probe probe = {0};
	auto_outcome one = {0};

	if (!probe_read(section, text, &probe))
		return;
	interpret(&probe, &one);
	if (blocks > 1)
		sort_records(&one);
	for (size_t i = 0; i < gt_countof(targets); i++) {
		gt_autofree char *ptx = translate(&probe, targets[i]);
		auto_outcome other = {0};
		char title[128];

		if (!ptx)
			return;
		snprintf(title, sizeof(title), "%s, sm_%u, PTX %u", section, targets[i].sm,
			 targets[i].version);
		execute(ptx, &other);
		if (blocks > 1)
			sort_records(&other);
		check_same(title, &one, &other);
	}
}

static void check(const char *section, const char *text)
{
	blocks = MAX_BLOCKS;
	compare(section, text);
}

/* The same for programs whose results depend on the order of threads: one block has one order. */
static void check_in_order(const char *section, const char *text)
{
	blocks = 1;
	compare(section, text);
}

/* ---- tests ----------------------------------------------------------------------------- */

TEST("each field of a context has the value of the thread, the kernel or the site")
{
	static const struct {
		const char *section, *load;
		unsigned offset;
	} fields[] = {
		{"gpu/entry/*", "ldxw", 0},    {"gpu/entry/*", "ldxw", 4},
		{"gpu/entry/*", "ldxw", 12},   {"gpu/entry/*", "ldxw", 16},
		{"gpu/entry/*", "ldxw", 28},   {"gpu/entry/*", "ldxw", 32},
		{"gpu/entry/*", "ldxw", 48},   {"gpu/entry/*", "ldxdw", 64},
		{"gpu/entry/*", "ldxw", 72},   {"gpu/entry/*", "ldxw", 76},
		{"gpu/entry/*", "ldxw", 84},   {"gpu/entry/*", "ldxdw", 208},
		{"gpu/entry/*", "ldxw", 212},  {"gpu/entry/*", "ldxh", 214},
		{"gpu/entry/*", "ldxsb", 215}, {"gpu/entry/*", "ldxw", 464},
		{"gpu/entry/*", "ldxw", 468},  {"gpu/load", "ldxdw", 472},
		{"gpu/load", "ldxdw", 480},    {"gpu/store", "ldxw", 500},
		{"gpu/load", "ldxb", 504},     {"gpu/load.warp", "ldxw", 60},
		{"gpu/load.warp", "ldxw", 28}, {"gpu/block_begin", "ldxw", 16},
	};

	for (size_t i = 0; i < gt_countof(fields); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s r0, [r1+%u]\nexit", fields[i].load,
			 fields[i].offset);
		check(fields[i].section, text);
	}
}

static const char count[] = "stw [r10-4], 5\n"
			    "ldmap r1, 0\n"
			    "mov r2, r10\n"
			    "add r2, -4\n"
			    "call 1\n"
			    "jeq r0, 0, out\n"
			    "mov r1, 1\n"
			    "lock add [r0], r1\n"
			    "out:\n"
			    "mov r0, 7\n"
			    "exit";

TEST("a program runs once per thread, warp or block, as its section says")
{
	check("gpu/entry/*", count);
	check("gpu/entry.warp/*", count);
	check("gpu/entry.block/*", count);
	check("gpu/exit.warp/*", count);
	check("gpu/block_begin", "call 527\nexit");
	check("gpu/exit.block/*", "call 527\nexit");
	check("gpu/entry.warp/*", "call 520\nexit");
}

TEST("a program that runs once per warp reads the values of all lanes of its group")
{
	/* The sum of the addresses of the active lanes; each is added to the array, too. */
	check_in_order("gpu/load.warp", "mov r6, 0\n"
					"mov r7, 0\n"
					"again:\n"
					"mov r1, 0\n"
					"mov r2, r6\n"
					"call 524\n"
					"add r7, r0\n"
					"add r6, 1\n"
					"jlt r6, 34, again\n"
					"stw [r10-4], 9\n"
					"ldmap r1, 0\n"
					"mov r2, r10\n"
					"add r2, -4\n"
					"call 1\n"
					"jeq r0, 0, out\n"
					"mov r8, r0\n"
					"mov r1, r7\n"
					"lock fetch_add [r8], r1\n"
					"ldxdw r2, [r8+8]\n"
					"add r2, 1\n"
					"stxdw [r8+8], r2\n"
					"ldxdw r0, [r8+8]\n"
					"lsh r0, 32\n"
					"or r0, r1\n"
					"exit\n"
					"out:\n"
					"mov r0, 0\n"
					"exit");
	check("gpu/branch.warp", "mov r1, 3\nmov r2, 1\ncall 524\nexit");
	check("gpu/entry.warp/*", "mov r1, 4\nmov r2, 7\ncall 524\nexit");
	check("gpu/entry.warp/*", "mov r1, 3\nmov r2, 31\ncall 524\nexit");
}

TEST("a program that reads values of other lanes writes one record per warp")
{
	check_in_order("gpu/load.warp", "mov r1, 0\n"
					"mov r2, 3\n"
					"call 524\n"
					"stxdw [r10-8], r0\n"
					"ldmap r1, 1\n"
					"mov r2, r10\n"
					"add r2, -8\n"
					"mov r3, 8\n"
					"mov r4, 0\n"
					"call 130\n"
					"exit");
	check("gpu/load.warp", "mov r1, 0\n"
			       "mov r2, 2\n"
			       "call 524\n"
			       "mov r6, r0\n"
			       "ldmap r1, 1\n"
			       "mov r2, 16\n"
			       "mov r3, 0\n"
			       "call 131\n"
			       "jeq r0, 0, out\n"
			       "stxdw [r0], r6\n"
			       "stdw [r0+8], 1\n"
			       "mov r1, r0\n"
			       "mov r2, 0\n"
			       "call 132\n"
			       "out:\n"
			       "mov r0, r6\n"
			       "exit");
}

TEST("the thread index is that of the leader where all lanes of a group run a program")
{
	check("gpu/load.warp", "mov r1, 0\n"
			       "mov r2, 3\n"
			       "call 524\n"
			       "mov r6, r0\n"
			       "mov r1, r10\n"
			       "add r1, -8\n"
			       "mov r2, r10\n"
			       "add r2, -16\n"
			       "mov r3, r10\n"
			       "add r3, -24\n"
			       "call 505\n"
			       "ldxdw r0, [r10-8]\n"
			       "lsh r0, 8\n"
			       "or r0, r6\n"
			       "exit");
}

/* r6 is the thread index, r7 the address of a record of 16 bytes. */
#define STORE_INDEX(between)                                                                       \
	"ldxw r6, [r1+0]\nldxw r8, [r1+12]\nldmap r1, 1\nmov r2, 16\nmov r3, 0\ncall 131\n"        \
	"jeq r0, 0, out\nmov r7, r0\n" between                                                     \
	"\nstxw [r7+0], r6\nstxw [r7+4], r8\nstxdw [r7+8], r6\nldxw r6, [r7+0]\n"                  \
	"ldxdw r8, [r7+8]\nlsh r8, 32\nor r6, r8\nmov r1, r7\nmov r2, 0\ncall 132\n"               \
	"mov r0, r6\nexit\nout:\nmov r0, 1\nexit"

TEST("an index that is stored is the register's, whatever was calculated since it was loaded")
{
	static const char *const programs[] = {
		STORE_INDEX(""),
		STORE_INDEX("mov r9, r6\nadd r6, 1\nmov r6, r9"),
		STORE_INDEX("add r6, 1"),
		STORE_INDEX("mov32 r6, r8"),
		STORE_INDEX("mov r9, r8\nmov r8, r6\nmov r6, r9"),
		STORE_INDEX("mov r6, 0x55"),
		STORE_INDEX("lddw r6, 0x5500000033"),
		STORE_INDEX("movsx8 r6, r6"),
		STORE_INDEX("jgt r6, 7, go\nmov r6, 3\ngo:"),
		STORE_INDEX(
			"jgt r6, 7, go\nmov r6, 3\nmov r9, 1\nmul r9, 5\nmul r9, 7\nadd r6, r9\n"
			"add r6, r9\ngo:"),
		STORE_INDEX("stxdw [r10-8], r6\nlock add [r10-8], r6\nldxw r6, [r10-8]"),
		STORE_INDEX("stxdw [r10-8], r8\nlock fetch_add [r10-8], r6"),
	};

	for (size_t i = 0; i < gt_countof(programs); i++)
		check("gpu/exit/*", programs[i]);
}

TEST("distinct values of lanes are counted without the bits of any shift")
{
	static const char *const shifts[] = {
		"mov r2, 0",
		"mov r2, 3",
		"mov r2, 63",
		"mov r2, 64",
		"mov r2, -1",
		"lddw r3, 0x500000001\nmov32 r2, r3",
		"mov r3, 2\nmov r2, r3\nadd r2, 1",
		"mov r2, 1\nldxw r3, [r1+24]\njgt r3, 0, go\nmov r2, 4\nmul r2, 1\nadd r2, 1\ngo:",
	};

	for (size_t i = 0; i < gt_countof(shifts); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "%s\nmov r1, 0\ncall 540\nmov r6, r0\nstxw [r10-4], r0\nldmap r1, 0\n"
			 "mov r2, r10\nadd r2, -4\nmov r3, 1\ncall 531\nmov r0, r6\nexit",
			 shifts[i]);
		check("gpu/load.warp", text);
	}
}

TEST("all threads can add to a map that the host shares")
{
	check_in_order("gpu/entry/*", "stw [r10-4], 3\n"
				      "ldmap r1, 2\n"
				      "mov r2, r10\n"
				      "add r2, -4\n"
				      "call 1\n"
				      "jeq r0, 0, out\n"
				      "mov r1, 3\n"
				      "lock add [r0], r1\n"
				      "lock add32 [r0+8], r1\n"
				      "mov r1, 0x55\n"
				      "lock or32 [r0+12], r1\n"
				      "out:\n"
				      "mov r0, 7\n"
				      "exit");
}

TEST("one pointer can point to the stack or a map, or be NULL, on different paths")
{
	/* Even threads use the stack, odd ones the element of their number. */
	check_in_order("gpu/entry/*", "mov r6, r1\n"
				      "ldxw r7, [r6+0]\n"
				      "stxw [r10-4], r7\n"
				      "stdw [r10-16], 5\n"
				      "stdw [r10-24], 6\n"
				      "ldmap r1, 0\n"
				      "mov r2, r10\n"
				      "add r2, -4\n"
				      "call 1\n"
				      "jeq r0, 0, none\n"
				      "jset r7, 1, use\n"
				      "mov r0, r10\n"
				      "add r0, -24\n"
				      "use:\n"
				      "mov r1, 9\n"
				      "lock fetch_add [r0], r1\n"
				      "ldxdw r2, [r0]\n"
				      "add r1, r2\n"
				      "stxdw [r0+8], r1\n"
				      "lock fetch_xor32 [r0+8], r7\n"
				      "mov r3, r0\n"
				      "mov r0, r2\n"
				      "lock cmpxchg [r3], r7\n"
				      "ldxw r0, [r3+8]\n"
				      "exit\n"
				      "none:\n"
				      "mov r0, 1\n"
				      "exit");
}

TEST("one call can access several maps")
{
	check_in_order("gpu/entry/*", "ldxw r7, [r1+0]\n"
				      "mov r8, r7\n"
				      "and r8, 3\n"
				      "stxw [r10-4], r8\n"
				      "ldmap r1, 0\n"
				      "jset r7, 1, look\n"
				      "ldmap r1, 2\n"
				      "look:\n"
				      "mov r2, r10\n"
				      "add r2, -4\n"
				      "call 1\n"
				      "jeq r0, 0, out\n"
				      "lock add [r0+8], r7\n"
				      "mov r0, 2\n"
				      "out:\n"
				      "exit");
}

TEST("arithmetic between a lookup in several maps and the test of its result is done once")
{
	check_in_order("gpu/entry/*", "ldxw r7, [r1+0]\n"
				      "mov r8, r7\n"
				      "and r8, 3\n"
				      "stxw [r10-4], r8\n"
				      "ldmap r1, 0\n"
				      "jset r7, 1, look\n"
				      "ldmap r1, 2\n"
				      "look:\n"
				      "mov r2, r10\n"
				      "add r2, -4\n"
				      "call 1\n"
				      "add32 r7, 5\n"
				      "mul32 r7, 3\n"
				      "jeq r0, 0, out\n"
				      "lock add [r0+8], r7\n"
				      "mov r0, r7\n"
				      "out:\n"
				      "exit");
}

TEST("an index that can be too large is tested, however it was calculated")
{
	/* r7 is a multiple of 6, up to 234; the array has 64 values. */
	static const char *const methods[] = {
		"and r7, 255\nrsh r7, 1",
		"and r7, 15\nadd r7, 55",
		"and r7, 15\nor r7, 70",
		"and r7, 15\nmul r7, 6",
		"mod r7, 80",
		"and r7, 255\ndiv r7, 3",
		"and r7, 63\nlsh r7, 1",
		"and r7, 127\nxor r7, 5",
		"mov32 r7, r7\nrsh32 r7, 1",
		"le16 r7\nrsh r7, 1",
		"movsx8 r7, r7\nadd r7, 1",
		"mov r8, 70\nand r7, 7\nadd r8, r7\nmov r7, r8",
		"jgt r7, 70, out",
		"jge r7, 65, out",
		"jge r7, 64, out",
		"jgt32 r7, 70, out",
		"jlt r7, 64, out",
		"jne r7, 66, out",
		"stxw [r10-8], r7\nldxb r7, [r10-8]",
		"stw [r10-8], 3\nstxb [r10-7], r7\nldxw r7, [r10-8]",
		"stw [r10-8], 3\nmov r1, r7\nlock add32 [r10-8], r1\nldxw r7, [r10-8]",
		"and r7, 63\njgt r7, 30, go\nadd r7, 30\nadd r7, 30\ngo:",
	};

	for (size_t i = 0; i < gt_countof(methods); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "ldxw r7, [r1+0]\nmul r7, 6\n%s\n"
			 "stxw [r10-4], r7\nldmap r1, 0\nmov r2, r10\nadd r2, -4\ncall 1\n"
			 "jeq r0, 0, out\nmov r1, 1\nlock add [r0+8], r1\nmov r0, 2\nexit\n"
			 "out:\nmov r0, 1\nexit",
			 methods[i]);
		check("gpu/entry/*", text);
	}
}

TEST("keys of hashes are whole numbers of 8 bytes")
{
	check_in_order("gpu/entry.block/*", "lddw r6, 0x1234567890abcdef\n"
					    "stxdw [r10-8], r6\n"
					    "stdw [r10-16], 77\n"
					    "ldmap r1, 3\n"
					    "mov r2, r10\n"
					    "add r2, -8\n"
					    "mov r3, r10\n"
					    "add r3, -16\n"
					    "mov r4, 0\n"
					    "call 2\n"
					    "mov r7, r0\n"
					    "ldmap r1, 3\n"
					    "mov r2, r10\n"
					    "add r2, -8\n"
					    "call 1\n"
					    "jeq r0, 0, out\n"
					    "ldxdw r0, [r0]\n"
					    "add r0, r7\n"
					    "out:\n"
					    "exit");
}

TEST("functions that call others too often are rejected")
{
	auto_probe probe = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_translation translation = {0};
	struct gt_translate_options options = {0};
	struct gt_translate_job job = {
		.program = &probe.program, .facts = &probe.facts, .section = &probe.section};
	struct gt_diag diag = {0};

	for (unsigned i = 0; i < 6; i++) {
		gt_strbuf_printf(&text, "f%u:\n", i);
		for (unsigned j = 0; j < 8; j++)
			gt_strbuf_printf(&text, "call local f%u\n", i + 1);
		gt_strbuf_puts(&text, "mov r0, 1\nexit\n");
	}
	gt_strbuf_puts(&text, "f6:\nmov r0, 1\nexit\n");
	CHECK(probe_read("gpu/entry/*", gt_strbuf_string(&text), &probe));
	if (!probe.facts.insns)
		return;
	CHECK(gt_target_ptx.translate(&options, &object, &job, &translation, &diag) == -E2BIG);
	CHECK_STR(
		diag.text,
		"more than 65536 instructions, those of functions counted at each of their calls");
	gt_translation_clear(&translation);
}

/* ---- bodies in kernels ----------------------------------------------------------------- */

/* The body of a program for a site with the prefix. */
static bool splice(const struct probe *probe, const char *prefix,
		   struct gt_translation *translation)
{
	static const struct gt_site_value at_site[] = {
		{GT_SOURCE_ADDRESS, 0, GT_SITE_OPERAND, 64, "%address"},
		{GT_SOURCE_WIDTH, 0, GT_SITE_OPERAND, 32, "4"},
		{GT_SOURCE_ARGUMENT, 0, GT_SITE_PARAMETER, 64, "kernel_param_0"},
	};
	struct gt_translate_options options = {.form = GT_FORM_SPLICE, .sm = 75, .prefix = prefix};
	struct gt_translate_job job = {.program = &probe->program,
				       .facts = &probe->facts,
				       .section = &probe->section,
				       .values = at_site,
				       .value_count = gt_countof(at_site)};
	struct gt_diag diag = {0};

	if (!gt_target_ptx.translate(&options, &object, &job, translation, &diag))
		return true;
	TAP_FAIL("%s: %s", diag.place, diag.text);
	return false;
}

/* A kernel that stores its thread number at param_0, with bodies before and after that. */
static char *make_kernel(const struct gt_translation *translation)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text,
			 ".version 6.3\n.target sm_75\n.address_size 64\n%s"
			 ".visible .entry kernel(.param .u64 kernel_param_0)\n{\n"
			 "\t.reg .b64 %%address, %%offset;\n\t.reg .b32 %%r0;\n"
			 "\tld.param.u64 %%address, [kernel_param_0];\n"
			 "\tmov.u32 %%r0, %%tid.x;\n"
			 "\tmul.wide.u32 %%offset, %%r0, 4;\n"
			 "\tadd.s64 %%address, %%address, %%offset;\n"
			 "%s"
			 "\tst.global.u32 [%%address], %%r0;\n"
			 "\tret;\n}\n",
			 gt_strbuf_string(&translation->declarations),
			 gt_strbuf_string(&translation->text));
	return gt_strbuf_steal(&text);
}

TEST("bodies in a kernel leave its results as they were")
{
	auto_probe sum = {0}, early = {0};
	auto_device device = {0};
	struct gt_translation translation = {0};
	gt_autofree char *text = NULL;
	struct sg_variable_info info = {0};
	struct sg_module *module;
	uint32_t *stored;
	uint64_t *array;

	/* Adds (address - argument 0) * width to the array's first value; and one that leaves. */
	CHECK(probe_read("gpu/store",
			 "ldxdw r6, [r1+472]\n"
			 "ldxdw r7, [r1+208]\n"
			 "sub r6, r7\n"
			 "ldxw r7, [r1+500]\n"
			 "mul r6, r7\n"
			 "stw [r10-4], 0\n"
			 "ldmap r1, 0\n"
			 "mov r2, r10\n"
			 "add r2, -4\n"
			 "call 1\n"
			 "jeq r0, 0, out\n"
			 "lock add [r0], r6\n"
			 "out:\n"
			 "mov r0, 0\n"
			 "exit",
			 &sum));
	CHECK(probe_read("gpu/store",
			 "ldxw r0, [r1+0]\njgt r0, 3, over\nexit\nover:\nmov r0, 1\nexit", &early));
	CHECK(splice(&sum, "one_", &translation) && splice(&early, "two_", &translation) &&
	      splice(&sum, "one_", &translation));
	text = make_kernel(&translation);
	gt_translation_clear(&translation);
	device_open(&device);
	module = device_load(&device, text);
	stored = device_memory(&device, 32 * sizeof(*stored));
	array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	CHECK(module && !sg_module_variable(module, "one_map_0", &info));
	if (info.address)
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(array), 1}, 16);
	device_run(&device, module, "kernel", 1, 32, address_of(stored));
	CHECK(array[0] == 2 * 16 * (31 * 32 / 2));
	for (unsigned i = 0; i < 32; i++)
		CHECK(stored[i] == i);
	sg_module_free(module);
}

TEST("a prefix that cannot begin a name is rejected, and nothing is added")
{
	auto_probe probe = {0};
	struct gt_translate_options options = {.prefix = "9_"};
	struct gt_translation translation = {0};
	struct gt_translate_job job = {.program = &probe.program, .facts = &probe.facts};
	struct gt_diag diag = {0};

	CHECK(probe_read("gpu/entry/*", "mov r0, 0\nexit", &probe));
	CHECK(gt_target_ptx.translate(&options, &object, &job, &translation, &diag) == -EINVAL);
	CHECK_STR(diag.text,
		  "invalid prefix '9_' (a letter, _ or $, then letters, digits, _ and $; "
		  "at most 24)");
	CHECK(!translation.text.length && !translation.declarations.length);
}

TEST("a text that is longer than the limit is rejected, and nothing is added")
{
	auto_probe probe = {0};
	struct gt_translate_options options = {.max_text = 100};
	struct gt_translation translation = {0};
	struct gt_translate_job job = {
		.program = &probe.program, .facts = &probe.facts, .section = &probe.section};
	struct gt_diag diag = {0};

	CHECK(probe_read("gpu/entry/*", count, &probe));
	CHECK(gt_target_ptx.translate(&options, &object, &job, &translation, &diag) == -E2BIG);
	CHECK_STR(diag.text, "the program's text is longer than 100 bytes");
	CHECK(!translation.text.length && !translation.declarations.length &&
	      !translation.declared.count);
	gt_translation_clear(&translation);
}

TEST("ptxas accepts the texts that were loaded")
{
	check_with_ptxas();
}

TEST_MAIN
