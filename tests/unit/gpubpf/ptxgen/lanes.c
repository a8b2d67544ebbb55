// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Helpers that compare the addresses of lanes: the interpreter and translated programs return what
 * a plain count returns, for patterns of addresses and for lanes that are not active.
 */
#include "assemble.h"
#include "exec_fixture.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/translate.h"

enum {
	LANES = 32,
	RESULTS = 3, /* of the program */
};

static struct gt_bpf_map maps[] = {
	{.name = "array", .type = 2, .key_size = 4, .value_size = 24, .max_entries = 1},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = 1};

/* A group of lanes that accesses memory. */
struct access {
	uint32_t mask;
	uint32_t width, shift;
	uint64_t addresses[LANES];
};

/* ---- what the helpers must return -------------------------------------------------------- */

static bool is_active(const struct access *access, unsigned lane)
{
	return access->mask >> lane & 1;
}

static uint64_t count_distinct(const struct access *access)
{
	uint64_t seen[LANES] = {0}, count = 0;

	for (unsigned lane = 0; lane < LANES; lane++) {
		uint64_t value = access->shift < 64 ? access->addresses[lane] >> access->shift : 0;
		bool is_new = is_active(access, lane);

		for (unsigned i = 0; i < count; i++)
			is_new = is_new && seen[i] != value;
		if (is_new)
			seen[count++] = value;
	}
	return count;
}

static uint64_t find_stride(const struct access *access)
{
	uint64_t packed[LANES] = {0};
	unsigned count = 0;

	for (unsigned lane = 0; lane < LANES; lane++)
		if (is_active(access, lane))
			packed[count++] = access->addresses[lane];
	for (unsigned i = 2; i < count; i++)
		if (packed[i] - packed[i - 1] != packed[1] - packed[0])
			return UINT64_C(1) << 63;
	return count > 1 ? packed[1] - packed[0] : 0;
}

/* Byte by byte: each word of a part of the warp that is accessed counts once in its bank. */
static uint64_t count_passes(const struct access *access)
{
	unsigned together = access->width > 4 ? LANES * 4 / access->width : LANES;
	uint64_t passes = 0;

	for (unsigned first = 0; first < LANES; first += together) {
		uint64_t words[LANES * 32], most = 0;
		unsigned banks[LANES] = {0}, count = 0;

		for (unsigned lane = first; lane < first + together; lane++)
			for (unsigned byte = 0; is_active(access, lane) && byte < access->width;
			     byte++) {
				uint64_t word = (access->addresses[lane] + byte) / 4;
				bool is_new = true;

				for (unsigned i = 0; i < count; i++)
					is_new = is_new && words[i] != word;
				if (is_new)
					words[count++] = word;
			}
		for (unsigned i = 0; i < count; i++)
			if (++banks[words[i] % LANES] > most)
				most = banks[words[i] % LANES];
		passes += most;
	}
	return passes;
}

/* ---- the program ------------------------------------------------------------------------- */

static struct gt_section section;
static struct gt_bpf_program program;
static struct gt_facts facts;

static bool program_open(uint32_t shift)
{
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT, .section = &section};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	gt_strbuf_printf(&text,
			 "ldxw r9, [r1+500]\n"
			 "mov r1, 0\nmov r2, %u\ncall 540\nmov r6, r0\n"
			 "mov r1, 0\ncall 541\nmov r7, r0\n"
			 "mov r1, 0\nmov r2, r9\ncall 542\nmov r8, r0\n"
			 "stw [r10-4], 0\nldmap r1, 0\nmov r2, r10\nadd r2, -4\ncall 1\n"
			 "jeq r0, 0, out\n"
			 "stxdw [r0], r6\nstxdw [r0+8], r7\nstxdw [r0+16], r8\n"
			 "out:\nmov r0, 0\nexit",
			 shift);
	if (!gt_section_read("gpu/load.warp", "p", &section, &diag) &&
	    !gt_bpf_assemble(gt_strbuf_string(&text), &program.insns, &program.count, &diag) &&
	    !gt_verify(&object, &program, &options, &facts, NULL, &diag))
		return true;
	TAP_FAIL("%s: %s", diag.place, diag.text);
	return false;
}

static void program_close(void)
{
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
}

static void check_results(const char *engine, const struct access *access, const uint64_t *results)
{
	const uint64_t expected[RESULTS] = {count_distinct(access), find_stride(access),
					    count_passes(access)};
	static const char *const names[RESULTS] = {"distinct", "stride", "bank_passes"};

	for (unsigned i = 0; i < RESULTS; i++)
		if (results[i] != expected[i])
			TAP_FAIL("%s: %s of %08x, width %u, is %" PRIu64 ", not %" PRIu64, engine,
				 names[i], access->mask, access->width, results[i], expected[i]);
}

static uint64_t lane_value(void *data, enum gt_context_source source,
			   const struct gt_interp_thread *thread)
{
	const struct access *access = data;

	return source == GT_SOURCE_ADDRESS ? access->addresses[thread->thread[0]] : 0;
}

/* The interpreter runs full warps and the start of one. */
static void interpret(struct access access)
{
	struct gt_interp_site site = {.width = access.width, .lane = lane_value, .data = &access};
	unsigned threads = (unsigned)__builtin_popcount(access.mask);
	uint64_t memory[64] = {0};
	void *places[] = {memory};
	struct gt_interp_options options = {.object = &object, .map_memory = places};
	struct gt_interp_grid grid = {.block_size = {threads, 1, 1},
				      .grid_size = {1, 1, 1},
				      .section = &section,
				      .site = &site};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	access.mask = UINT32_MAX >> (LANES - threads);
	if (gt_interp_run_grid(&program, &options, &grid, &result, &diag))
		TAP_FAIL("interp: %s: %s", diag.place, diag.text);
	check_results("interp", &access, memory);
}

/* ---- translated -------------------------------------------------------------------------- */

/* A kernel(addresses, mask): the body runs in the lanes of the mask. */
static char *make_kernel(struct gt_translate_options options, uint32_t width)
{
	char width_text[16];
	const struct gt_site_value at_site[] = {
		{GT_SOURCE_ADDRESS, 0, GT_SITE_OPERAND, 64, "%address"},
		{GT_SOURCE_WIDTH, 0, GT_SITE_OPERAND, 32, width_text},
	};
	struct gt_translate_job job = {.program = &program,
				       .facts = &facts,
				       .section = &section,
				       .values = at_site,
				       .value_count = gt_countof(at_site)};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	snprintf(width_text, sizeof(width_text), "%u", width);
	options.form = GT_FORM_SPLICE;
	if (gt_target_ptx.translate(&options, &object, &job, &translation, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	gt_strbuf_printf(&text,
			 ".version %s\n.target sm_%u\n.address_size 64\n%s"
			 ".visible .entry kernel(.param .u64 addresses, .param .u64 mask)\n{\n"
			 "\t.reg .b64 %%address, %%offset;\n\t.reg .b32 %%lane, %%mask;\n"
			 "\t.reg .pred %%off;\n"
			 "\tld.param.u64 %%address, [addresses];\n\tmov.u32 %%lane, %%tid.x;\n"
			 "\tmul.wide.u32 %%offset, %%lane, 8;\n"
			 "\tadd.s64 %%address, %%address, %%offset;\n"
			 "\tld.global.u64 %%address, [%%address];\n"
			 "\tld.param.u32 %%mask, [mask];\n\tshr.u32 %%mask, %%mask, %%lane;\n"
			 "\tand.b32 %%mask, %%mask, 1;\n\tsetp.eq.u32 %%off, %%mask, 0;\n"
			 "@%%off bra done;\n%sdone:\n\tret;\n}\n",
			 options.version == 50 ? "5.0" : "7.8", options.sm,
			 gt_strbuf_string(&translation.declarations),
			 gt_strbuf_string(&translation.text));
	gt_translation_clear(&translation);
	return gt_strbuf_steal(&text);
}

static void execute(struct gt_translate_options options, const struct access *accesses,
		    unsigned count)
{
	gt_autofree char *text = make_kernel(options, accesses->width);
	auto_device device = {0};
	struct sg_variable_info info = {0};
	struct sg_module *module;
	uint64_t *addresses, *array;
	char engine[32];

	device_open(&device);
	module = device_load(&device, text);
	addresses = device_memory(&device, sizeof(accesses->addresses));
	array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	if (!module || sg_module_variable(module, "gputap_map_0", &info))
		return;
	memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(array), 1}, 16);
	snprintf(engine, sizeof(engine), "sm_%u, PTX %u", options.sm, options.version);
	for (unsigned i = 0; i < count; i++) {
		memcpy(addresses, accesses[i].addresses, sizeof(accesses->addresses));
		device_run(&device, module, "kernel", 1, LANES, address_of(addresses),
			   (uint64_t)accesses[i].mask);
		check_results(engine, &accesses[i], array);
	}
	sg_module_free(module);
}

/* ---- patterns ---------------------------------------------------------------------------- */

enum {
	PATTERNS = 48,
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_pattern(struct access *access, unsigned number, uint64_t *random)
{
	static const uint32_t masks[] = {UINT32_MAX, 1, 0xffff0000, 0x55555555, 0x80000001, 0xff};
	uint64_t base = (next_random(random) & 0xffffff) * 256;
	uint64_t stride = next_random(random) % 40, range = 1 + next_random(random) % 200;

	access->mask = number < PATTERNS / 2 ? UINT32_MAX : masks[number % gt_countof(masks)];
	for (unsigned lane = 0; lane < LANES; lane++) {
		uint64_t index = number % 4 == 0   ? lane
				 : number % 4 == 1 ? lane * stride
				 : number % 4 == 2 ? next_random(random) % range
						   : 1000 - lane;

		access->addresses[lane] = base + index * access->width;
	}
}

TEST("sectors, strides and bank conflicts are those of the lanes that are active")
{
	static const uint32_t widths[] = {1, 2, 4, 8, 16, 32}, shifts[] = {5, 0, 64, 7, 2, 63};
	static const struct gt_translate_options targets[] = {
		{.sm = 75}, {.sm = 60}, {.sm = 60, .version = 50}};
	struct access accesses[PATTERNS];
	uint64_t random = 88172645463325252;

	for (unsigned i = 0; i < gt_countof(widths); i++) {
		if (!program_open(shifts[i]))
			return;
		for (unsigned j = 0; j < PATTERNS; j++) {
			accesses[j] = (struct access){.width = widths[i], .shift = shifts[i]};
			make_pattern(&accesses[j], j, &random);
			interpret(accesses[j]);
		}
		for (unsigned j = 0; j < gt_countof(targets); j++)
			execute(targets[j], accesses, PATTERNS);
		program_close();
	}
}

TEST("ptxas accepts the texts that were loaded")
{
	check_with_ptxas();
}

TEST_MAIN
