/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Soundness of the verifier and agreement of the engines: programs with contexts of every section
 * and level, run by all threads, warps or blocks of a grid. Accepted programs run on the
 * interpreter, with every instruction checked against the facts (gpubpf_claims.h) and with their
 * memories at edge addresses (gpubpf_layout.h), and as PTX on the software device, with the same
 * results. PROGRAMS=N and SEED=N select other random programs; a failure says how many programs it
 * took to find it.
 */
#include <errno.h>

#include "amount.h"
#include "exec_fixture.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/map/map.h"
#include "gpubpf/translate.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_claims.h"
#include "gpubpf_layout.h"
#include "gpubpf_programs.h"
#include "gpubpf_shown.h"
#include "gpubpf_site.h"

enum {
	PROGRAMS = 6000,
	A_MODULE = 16, /* programs in one module */
	MAPS = RANDOM_MAPS + 1,
	MAX_RUNS = 256, /* of a program on a grid */
	LANES = 32,
	PAIR_LAYOUTS = 4,
};

static struct gt_bpf_map maps[MAPS];
static const struct gt_bpf_object object = {.maps = maps, .map_count = MAPS};

static void make_maps(void)
{
	memcpy(maps, random_maps, sizeof(random_maps));
	maps[MAP_OWN] = (struct gt_bpf_map){.name = "own",
					    .type = BPF_MAP_TYPE_ARRAY,
					    .key_size = 4,
					    .value_size = MEMORY,
					    .max_entries = MAX_RUNS};
}

/* An accepted program and the grid on which it runs. */
struct subject {
	struct bpf_insn insns[RANDOM_MAX_INSNS];
	struct gt_bpf_program program;
	struct gt_section section;
	struct gt_facts facts;
	uint32_t threads, blocks;
	bool compares; /* its results do not depend on addresses, or on the order of runs */
	char prefix[16];
};

struct outcome {
	uint64_t results[MAX_RUNS];
	void *maps[MAPS];
};

/* ---- the site in a kernel, the same for both engines ------------------------------------- */

#define LANE_VALUE 0x8000000700000000

static uint64_t lane_value(void *data, enum gt_context_source source,
			   const struct gt_interp_thread *thread)
{
	(void)data;
	if (source == GT_SOURCE_ADDRESS)
		return thread->thread[0];
	if (source == GT_SOURCE_VALUE)
		return LANE_VALUE;
	return source == GT_SOURCE_TAKEN;
}

static const struct gt_interp_site site = TEST_SITE(lane_value);

/* The address differs between lanes, so it is not in the parameter. */
static const struct gt_site_value values[] = {
	{GT_SOURCE_ADDRESS, 0, GT_SITE_OPERAND, 32, "%tid.x"},
};

static uint64_t field_value(enum gt_context_source source, uint32_t index)
{
	switch (source) {
	case GT_SOURCE_KERNEL:
		return site.kernel;
	case GT_SOURCE_SITE:
		return site.site;
	case GT_SOURCE_LINE:
		return site.line;
	case GT_SOURCE_ARGUMENT_COUNT:
		return site.argument_count;
	case GT_SOURCE_ARGUMENT_SIZE:
		return site.argument_sizes[index];
	case GT_SOURCE_ARGUMENT:
		return site.arguments[index];
	case GT_SOURCE_VALUE:
		return LANE_VALUE;
	case GT_SOURCE_TAKEN:
		return 1;
	case GT_SOURCE_TAKEN_MASK:
		return UINT32_MAX; /* grids of branches have whole warps */
	case GT_SOURCE_WIDTH:
		return site.width;
	case GT_SOURCE_SPACE:
		return site.space;
	default:
		return 0;
	}
}

static void make_context(enum gt_section_kind kind, uint8_t *context)
{
	for (const struct gt_context_field *field = gt_context_fields; field->name; field++)
		for (uint32_t i = 0; i < field->count && (field->kinds >> kind & 1); i++) {
			uint64_t value = field_value(field->source, i);

			memcpy(context + field->offset + i * field->size, &value, field->size);
		}
}

/* ---- the interpreter ---------------------------------------------------------------------- */

static uint32_t copies_of(const struct subject *subject, uint32_t map)
{
	switch (gt_bpf_map_kind(maps[map].type)->copies) {
	case GT_COPY_THREAD:
		return subject->threads * subject->blocks;
	case GT_COPY_WARP:
		return (subject->threads + LANES - 1) / LANES * subject->blocks;
	default:
		return 1;
	}
}

static void outcome_begin(const struct subject *subject, struct outcome *outcome)
{
	memset(outcome->results, 0, sizeof(outcome->results));
	for (uint32_t i = 0; i < MAPS; i++) {
		outcome->maps[i] = calloc(1, gt_bpf_map_bytes(&maps[i], copies_of(subject, i)));
		gt_bpf_map_initialise(&maps[i], copies_of(subject, i), outcome->maps[i]);
	}
	for (unsigned i = 0; i < MAX_RUNS * MEMORY; i++)
		((uint8_t *)outcome->maps[MAP_OWN])[i] = (uint8_t)(i * 37 >> (i & 3));
}

static void outcome_clear(struct outcome *outcome)
{
	for (uint32_t i = 0; i < MAPS; i++)
		free(outcome->maps[i]);
}
#define auto_outcome __attribute__((cleanup(outcome_clear))) struct outcome

/* The runs of a grid: each has its own calls and stacks. */
static struct claims all_claims[MAX_RUNS];

static void visit_run(void *data, uint64_t run, uint32_t insn,
		      const uint64_t registers[GT_BPF_REGISTERS])
{
	(void)data;
	claims_visit(&all_claims[run], run, insn, registers);
}

static struct gt_interp_grid grid_of(const struct subject *subject, struct outcome *outcome)
{
	return (struct gt_interp_grid){
		.block_size = {subject->threads, 1, 1},
		.grid_size = {subject->blocks, 1, 1},
		.launch = 9,
		.section = &subject->section,
		.site = &site,
		.results = outcome->results,
	};
}

/* "" or what is wrong. */
static const char *interpret(const struct subject *subject, bool at_edges, struct outcome *outcome)
{
	static char text[1024];
	uint32_t copies[MAPS];
	struct gt_interp_options options = {.object = &object,
					    .map_memory = outcome->maps,
					    .map_copies = copies,
					    .max_executed = subject->facts.bound,
					    .visit = visit_run};
	struct gt_interp_grid grid = grid_of(subject, outcome);
	struct gt_interp_result result;
	struct gt_diag diag = {0};
	struct layout layout;

	text[0] = '\0';
	for (uint32_t i = 0; i < MAPS; i++)
		copies[i] = copies_of(subject, i);
	layout_make(&layout, &options);
	if (at_edges)
		options.addresses = layout.addresses;
	for (uint64_t i = 0; i < gt_interp_grid_runs(&grid); i++)
		claims_begin(&all_claims[i], &options, &subject->program, &subject->facts);
	if (gt_interp_run_grid(&subject->program, &options, &grid, &result, &diag))
		snprintf(text, sizeof(text), "%s: %s", diag.place, diag.text);
	for (uint64_t i = 0; i < gt_interp_grid_runs(&grid) && !text[0]; i++)
		snprintf(text, sizeof(text), "%s", all_claims[i].wrong);
	return text;
}

/* ---- the software device ------------------------------------------------------------------ */

static char *translate(struct subject *const *subjects, unsigned count)
{
	struct gt_translate_options options = {.sm = 90};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	for (unsigned i = 0; i < count; i++) {
		struct gt_translate_job job = {.program = &subjects[i]->program,
					       .facts = &subjects[i]->facts,
					       .section = &subjects[i]->section,
					       .values = values,
					       .value_count = gt_countof(values)};

		options.prefix = subjects[i]->prefix;
		if (gt_target_ptx.translate(&options, &object, &job, &translation, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
	}
	CHECK(!gt_target_ptx.finish(&options, &translation, &text, NULL));
	gt_translation_clear(&translation);
	return gt_strbuf_steal(&text);
}

/* Copy the maps to the device. A map that the program does not use has no symbol. */
static void place_maps(struct device *device, struct sg_module *module,
		       const struct subject *subject, const struct outcome *outcome,
		       void *ret_places[MAPS])
{
	struct sg_variable_info info;
	char name[64];

	for (uint32_t i = 0; i < MAPS; i++) {
		uint32_t copies = copies_of(subject, i);
		size_t size = gt_bpf_map_bytes(&maps[i], copies);

		snprintf(name, sizeof(name), "%smap_%u", subject->prefix, i);
		ret_places[i] = NULL;
		if (sg_module_variable(module, name, &info))
			continue;
		ret_places[i] = device_memory(device, size);
		memcpy(ret_places[i], outcome->maps[i], size);
		memcpy((void *)(uintptr_t)info.address,
		       (uint64_t[]){address_of(ret_places[i]), copies}, 16);
	}
}

static const char *execute(struct device *device, struct sg_module *module,
			   const struct subject *subject, struct outcome *outcome)
{
	static char text[1024];
	uint64_t used = device->used, parameters[3 + GT_CONTEXT_SIZE / 8] = {0}, *results;
	struct sg_grid_result ran;
	void *places[MAPS];
	char name[64];

	text[0] = '\0';
	place_maps(device, module, subject, outcome, places);
	results = device_memory(device, sizeof(outcome->results));
	parameters[2] = address_of(results);
	make_context(subject->section.kind, (uint8_t *)&parameters[3]);
	snprintf(name, sizeof(name), "%sprogram", subject->prefix);
	if (device_run_with(device, module, name,
			    (struct sg_launch){.shape.grid = {subject->blocks, 1, 1},
					       .shape.block = {subject->threads, 1, 1},
					       .id = 9},
			    parameters, gt_countof(parameters), &ran))
		snprintf(text, sizeof(text), "as PTX: %s", ran.fault.text);
	memcpy(outcome->results, results, sizeof(outcome->results));
	for (uint32_t i = 0; i < MAPS; i++)
		if (places[i])
			memcpy(outcome->maps[i], places[i],
			       gt_bpf_map_bytes(&maps[i], copies_of(subject, i)));
	device->used = used;
	return text;
}

/* "" or the first difference. */
static const char *compare(const struct subject *subject, const struct outcome *one,
			   const struct outcome *other, const char *engine)
{
	static char text[256];

	text[0] = '\0';
	for (unsigned i = 0; i < MAX_RUNS && !text[0]; i++)
		if (one->results[i] != other->results[i])
			snprintf(text, sizeof(text), "r0 of run %u is 0x%" PRIx64 ", %s 0x%" PRIx64,
				 i, one->results[i], engine, other->results[i]);
	for (uint32_t i = 0; i < MAPS && !text[0]; i++)
		if (memcmp(one->maps[i], other->maps[i],
			   gt_bpf_map_bytes(&maps[i], copies_of(subject, i))))
			snprintf(text, sizeof(text), "map %u differs %s", i, engine);
	return text;
}

/* ---- random programs ---------------------------------------------------------------------- */

static bool is_single(const struct subject *subject)
{
	struct outcome outcome;
	struct gt_interp_grid grid = grid_of(subject, &outcome);

	return gt_interp_grid_runs(&grid) == 1;
}

/* Choose a section, its level and a grid; false: no such level. */
static bool choose_grid(struct subject *subject)
{
	static const uint32_t threads[] = {1, 8, 32, 40, 64};

	memset(&subject->section, 0, sizeof(subject->section));
	subject->section.kind = below(GT_KIND_RUN);
	subject->section.level = below(3);
	subject->threads = threads[below(gt_countof(threads))];
	subject->blocks = 1 + below(3);
	if (subject->section.kind == GT_KIND_BRANCH)
		subject->threads = LANES << below(2);
	return gt_section_row(subject->section.kind)->levels >> subject->section.level & 1;
}

/* Whether results depend on which lanes wait for each other where lanes diverge. */
static bool depends_on_groups(const struct subject *subject)
{
	for (uint32_t at = 0; at < subject->program.count; at++) {
		const struct bpf_insn *insn = &subject->program.insns[at];
		const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg || !helper)
			continue;
		if (subject->facts.insns[at].divergent &&
		    (helper->traits & GT_TRAIT_COLLECTIVE ||
		     helper->number == GT_HELPER_warp_active_mask))
			return true;
	}
	return false;
}

/* Write a random program. Whether the verifier accepts it. */
static bool make_subject(struct subject *subject, unsigned number)
{
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
					    .section = &subject->section,
					    .max_visited = 20000,
					    .widens = number / 2 % 2,
					    .lazy_precision = number % 2};
	bool is_alone;

	while (!choose_grid(subject))
		;
	random_section = &subject->section;
	is_alone = is_single(subject);
	random_private = !is_alone && below(4);
	subject->program = (struct gt_bpf_program){.insns = subject->insns,
						   .count = make_program(subject->insns)};
	subject->compares = is_alone || random_private;
	random_private = false;
	random_section = NULL;
	snprintf(subject->prefix, sizeof(subject->prefix), "p%u_", number);
	if (gt_verify(&object, &subject->program, &options, &subject->facts, NULL, NULL))
		return false;
	subject->compares = subject->compares && !depends_on_groups(subject) &&
			    !shows_addresses(&subject->program, &subject->facts);
	return true;
}

static void print_subject(const struct subject *subject)
{
	printf("# gpu/%s.%s, %u blocks of %u threads\n",
	       gt_section_row(subject->section.kind)->name, gt_level_name(subject->section.level),
	       subject->blocks, subject->threads);
	for (unsigned i = 0; i < subject->program.count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, subject->program.insns, subject->program.count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
		i += gt_bpf_is_wide(&subject->program.insns[i]);
	}
}

static bool check_subject(struct device *device, struct sg_module *module,
			  const struct subject *subject)
{
	auto_outcome plain = {0}, edges = {0}, ptx = {0};
	const char *wrong;

	outcome_begin(subject, &plain);
	outcome_begin(subject, &edges);
	outcome_begin(subject, &ptx);
	wrong = interpret(subject, false, &plain);
	if (!wrong[0])
		wrong = interpret(subject, true, &edges);
	if (!wrong[0])
		wrong = execute(device, module, subject, &ptx);
	if (!wrong[0] && subject->compares)
		wrong = compare(subject, &plain, &edges, "at edge addresses");
	if (!wrong[0] && subject->compares)
		wrong = compare(subject, &plain, &ptx, "as PTX");
	if (!wrong[0])
		return true;
	TAP_FAIL("%s: %s", subject->prefix, wrong);
	print_subject(subject);
	return false;
}

static bool check_module(struct device *device, struct subject *const *subjects, unsigned count,
			 unsigned *compared)
{
	gt_autofree char *text = translate(subjects, count);
	gt_auto(sg_module) struct sg_module *module = device_load(device, text);
	bool fine = module;

	for (unsigned i = 0; i < count && fine; i++) {
		fine = check_subject(device, module, subjects[i]);
		*compared += subjects[i]->compares;
	}
	return fine;
}

/* Open a device whose memory is around 2^32: the first map crosses it. */
static void open_edge(struct device *device)
{
	uint64_t border = UINT64_C(1) << 32;

	device_open_at(device, (void *)(uintptr_t)(border - ARENA_SIZE / 2),
		       (struct sg_machine_options){.timeout_ns = HANG_NS});
	device->used = ARENA_SIZE / 2 - (4 << 10);
	if (address_of(device->arena) + ARENA_SIZE / 2 != border)
		printf("# the addresses around 2^32 are in use\n");
}

TEST("random programs with contexts agree with their facts, wherever memory is, and with their PTX")
{
	unsigned programs = programs_wanted(PROGRAMS);
	unsigned accepted = 0, compared = 0, count = 0, by_level[3] = {0}, i;
	struct subject *subjects[A_MODULE];
	auto_device usual = {0}, edge = {0};
	bool fine = true;

	make_maps();
	device_open(&usual);
	open_edge(&edge);
	random_seed();
	for (i = 0; i < gt_countof(subjects); i++)
		subjects[i] = calloc(1, sizeof(*subjects[i]));
	for (i = 0; i < programs && fine; i++) {
		if (make_subject(subjects[count], i)) {
			by_level[subjects[count]->section.level]++;
			accepted++;
			count++;
		}
		if (count < A_MODULE && i + 1 < programs)
			continue;
		fine = check_module(below(2) ? &usual : &edge, subjects, count, &compared);
		while (count)
			gt_facts_clear(&subjects[--count]->facts);
	}
	for (unsigned j = 0; j < gt_countof(subjects); j++)
		free(subjects[j]);
	printf("# %u of %u programs were accepted, %u once per warp, %u per block; of %u the "
	       "results were compared\n",
	       accepted, i, by_level[GT_LEVEL_WARP], by_level[GT_LEVEL_BLOCK], compared);
	CHECK(accepted > programs / 4);
	CHECK(compared > accepted / 4);
}

/* ---- pairs of pointers ---------------------------------------------------------------------- */

/* Begin a program of gpu/load that one thread runs, with r6 to r8 as in random programs. */
static void begin_pair(struct subject *subject, struct writer *writer)
{
	*subject = (struct subject){.section = {.kind = GT_KIND_LOAD}, .threads = 1, .blocks = 1};
	*writer = (struct writer){.insns = subject->insns, .limit = RANDOM_MAX_INSNS};
	random_section = &subject->section;
	begin_context(writer, MAP_OWN);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 7, 6, 0));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 8, 6, 8));
}

/* End it; returns whether it is accepted. */
static bool end_pair(struct subject *subject, struct writer *writer)
{
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
					    .section = &subject->section};

	random_section = NULL;
	emit(writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
	subject->program = (struct gt_bpf_program){.insns = subject->insns, .count = writer->count};
	return !gt_verify(&object, &subject->program, &options, &subject->facts, NULL, NULL);
}

/* Whether a comparison may prove that a pointer that equals one of this type is not NULL. */
static bool is_never_null(enum pointer_kind kind)
{
	return kind == POINTER_MAP || kind == POINTER_VALUE || kind == POINTER_ELEMENT ||
	       kind == POINTER_MEMORY || kind == POINTER_MOVED;
}

static bool may_be_null(enum pointer_kind kind)
{
	return kind == POINTER_LOOKUP || kind == POINTER_RECORD;
}

/* Whether the verifier may know which branch is taken. */
static bool may_be_decided(const struct pointer_comparison *comparison)
{
	bool left = comparison->left == POINTER_NULL;
	bool right = comparison->with_zero || comparison->right == POINTER_NULL;

	return (left && right) || (right && is_never_null(comparison->left)) ||
	       (left && is_never_null(comparison->right));
}

/* Whether a pointer that may be NULL may be used in a branch. */
static bool is_proven(const struct pointer_comparison *comparison, unsigned branch)
{
	bool left = comparison->uses[branch] == USE_LEFT;
	bool equal = (comparison->code == (BPF_JMP | BPF_JEQ)) == branch;

	if (comparison->code != (BPF_JMP | BPF_JEQ) && comparison->code != (BPF_JMP | BPF_JNE))
		return false;
	if (comparison->with_zero)
		return left && !equal;
	return equal && is_never_null(left ? comparison->right : comparison->left);
}

/* Whether the verifier may accept it. */
static bool may_be_accepted(const struct pointer_comparison *comparison)
{
	for (unsigned branch = 0; branch < 2 && !may_be_decided(comparison); branch++) {
		enum pointer_use use = comparison->uses[branch];
		enum pointer_kind used = use == USE_LEFT ? comparison->left : comparison->right;

		if (use == USE_SCALAR ||
		    (use != USE_NEITHER && may_be_null(used) && !is_proven(comparison, branch)))
			return false;
	}
	return true;
}

static bool run_pair(const struct subject *subject)
{
	for (unsigned i = 0; i < PAIR_LAYOUTS; i++) {
		auto_outcome outcome = {0};
		const char *wrong;

		outcome_begin(subject, &outcome);
		wrong = interpret(subject, true, &outcome);
		if (!wrong[0])
			continue;
		TAP_FAIL("%s", wrong);
		print_subject(subject);
		return false;
	}
	return true;
}

/* False: the verdict or a run is wrong. */
static bool check_pair(const struct pointer_comparison *comparison, unsigned *accepted)
{
	struct subject subject;
	struct writer writer;
	bool fine = true;

	begin_pair(&subject, &writer);
	compare_pointers(&writer, comparison);
	if (end_pair(&subject, &writer)) {
		++*accepted;
		fine = run_pair(&subject);
		if (fine && !may_be_accepted(comparison)) {
			TAP_FAIL("it must be rejected");
			print_subject(&subject);
			fine = false;
		}
	}
	gt_facts_clear(&subject.facts);
	return fine;
}

TEST("comparisons of every pair of pointer types prove only what holds at every address")
{
	static const unsigned codes[] = {BPF_JMP | BPF_JEQ, BPF_JMP | BPF_JNE, BPF_JMP32 | BPF_JEQ,
					 BPF_JMP | BPF_JSLT};
	enum { CODES = 4, USES = POINTER_USES * POINTER_USES };
	unsigned count = POINTER_KINDS * POINTER_KINDS * 2 * CODES * USES, accepted = 0;

	make_maps();
	for (unsigned i = 0; i < count; i++) {
		struct pointer_comparison comparison = {
			.left = i % POINTER_KINDS,
			.right = i / POINTER_KINDS % POINTER_KINDS,
			.with_zero = i / POINTER_KINDS / POINTER_KINDS % 2,
			.code = codes[i / POINTER_KINDS / POINTER_KINDS / 2 % CODES],
			.uses = {i / POINTER_KINDS / POINTER_KINDS / 2 / CODES % POINTER_USES,
				 i / POINTER_KINDS / POINTER_KINDS / 2 / CODES / POINTER_USES},
		};

		if (!check_pair(&comparison, &accepted))
			return;
	}
	printf("# %u of %u comparisons were accepted\n", accepted, count);
	CHECK(accepted > count / 8);
}

TEST("a comparison that proves a pointer not to be NULL makes the scalars of the other precise")
{
	for (unsigned lazy = 0; lazy < 2; lazy++) {
		struct subject subject;
		struct writer writer;
		struct gt_verify_options options = {.input = GT_INPUT_CONTEXT,
						    .section = &subject.section,
						    .lazy_precision = lazy};
		struct gt_diag diag = {0};
		unsigned other, end;

		begin_pair(&subject, &writer);
		make_pointer(&writer, POINTER_LOOKUP, SPILL);
		/* On one path, the other pointer may be far out of its value. */
		other = jump(&writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 7, 5));
		set(&writer, 8, 0);
		for (unsigned i = 0; i < 8; i++)
			emit(&writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
		end = jump(&writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
		land(&writer, other);
		emit(&writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 8, (1 << 28) - 1));
		land(&writer, end);
		load_map(&writer, 2, MAP_ONE, 0);
		emit(&writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 2, 8, 0));
		emit(&writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, SPILL));
		emit(&writer, insn_x(BPF_JMP | BPF_JNE | BPF_X, 1, 2, 1));
		emit(&writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 1, 1, 0));
		set(&writer, 0, 0);
		CHECK(!end_pair(&subject, &writer));
		gt_facts_clear(&subject.facts);
		CHECK(gt_verify(&object, &subject.program, &options, &subject.facts, NULL, &diag) ==
		      -EACCES);
		CHECK_STR(diag.text, "R1 invalid mem access 'map_value_or_null'");
		gt_facts_clear(&subject.facts);
	}
}

TEST("no handle of a map, and no address of a value, a record or memory, is 0 on any engine")
{
	static const enum pointer_kind kinds[] = {POINTER_MAP, POINTER_VALUE, POINTER_ELEMENT,
						  POINTER_RECORD, POINTER_MEMORY};
	auto_device device = {0};

	make_maps();
	device_open(&device);
	for (unsigned i = 0; i < gt_countof(kinds) * 8; i++) {
		auto_outcome interp = {0}, ptx = {0};
		struct subject subject, *only = &subject;
		struct writer writer;

		begin_pair(&subject, &writer);
		make_pointer(&writer, kinds[i / 8], SPILL);
		emit(&writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 9, 10, SPILL));
		if (kinds[i / 8] == POINTER_RECORD)
			release_record(&writer, SPILL);
		move(&writer, 0, 9);
		CHECK(end_pair(&subject, &writer));
		snprintf(subject.prefix, sizeof(subject.prefix), "p%u_", i);
		outcome_begin(&subject, &interp);
		outcome_begin(&subject, &ptx);

		gt_autofree char *text = translate(&only, 1);
		gt_auto(sg_module) struct sg_module *module = device_load(&device, text);

		CHECK_STR(interpret(&subject, i % 2, &interp), "");
		CHECK_STR(execute(&device, module, &subject, &ptx), "");
		CHECK(interp.results[0] && ptx.results[0]);
		gt_facts_clear(&subject.facts);
	}
}

/* ---- addresses --------------------------------------------------------------------------------
 */

enum {
	LEAKS = 30000,    /* programs that try to store an address; PROGRAMS=N for others */
	LEAK_SCALARS = 3, /* r1 to r3; r7 and r8 do not depend on addresses */
	LEAK_BYTES = 32,  /* of the stack */
};

static unsigned leak_register(void)
{
	return 1 + below(LEAK_SCALARS);
}

/* An offset on the stack that is a multiple of the size. */
static int leak_slot(unsigned bytes)
{
	return -LEAK_BYTES + (int)(below(LEAK_BYTES / bytes) * bytes);
}

/* Make a scalar that depends on an address, or store a pointer. */
static void add_address(struct writer *writer)
{
	static const uint8_t pointers[] = {6, 10};
	unsigned target = leak_register(), pointer = pointers[below(2)];

	switch (below(7)) {
	case 0: /* the distance of two objects */
		move(writer, target, 6);
		emit(writer, insn_x(BPF_ALU64 | BPF_SUB | BPF_X, target, 10, 0));
		break;
	case 1:
		emit(writer, insn_x(BPF_ALU | BPF_MOV | BPF_X, target, pointer, 0));
		break;
	case 2:
		emit(writer, insn_x(BPF_ALU64 | BPF_MOV | BPF_X, target, pointer, 8 << below(3)));
		break;
	case 3:
		move(writer, target, pointer);
		emit(writer, insn_k(BPF_ALU64 | BPF_NEG, target, 0));
		break;
	case 4:
		move(writer, target, pointer);
		emit(writer, insn_k(BPF_ALU64 | BPF_END, target, 16 << below(3)));
		break;
	case 5:
		move(writer, target, pointer);
		emit(writer, insn_x(BPF_ALU | BPF_SUB | BPF_X, target, 7 + below(2), 0));
		break;
	default:
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, pointer, leak_slot(8)));
	}
}

static void add_leak_alu(struct writer *writer)
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
					     BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH};
	unsigned operation = operations[below(gt_countof(operations))];
	struct bpf_insn insn = insn_k((below(2) ? BPF_ALU64 : BPF_ALU) | operation, leak_register(),
				      (int32_t)(1 + below(31)));

	if (below(2)) {
		insn.code |= BPF_X;
		insn.src_reg = leak_register() & 15;
		insn.imm = 0;
		if (operation == BPF_MOV && below(2))
			insn.off = (int16_t)(8 << below(2));
	}
	emit(writer, insn);
}

/* Write a part of the stack: a register, a constant, or the results of a helper. */
static void add_leak_store(struct writer *writer)
{
	unsigned size = some_size();

	if (below(3)) {
		emit(writer, insn_x(BPF_STX | BPF_MEM | size, 10, leak_register(),
				    leak_slot(bytes_of(size))));
	} else if (below(3)) {
		emit(writer, insn_x(BPF_ST | BPF_MEM | size, 10, 0, leak_slot(bytes_of(size))));
		writer->insns[writer->count - 1].imm = (int32_t)below(3);
	} else {
		for (unsigned i = 1; i <= 3; i++) {
			move(writer, i, 10);
			emit(writer, insn_k(BPF_ALU64 | BPF_ADD, i, leak_slot(8)));
		}
		call(writer, GT_HELPER_get_thread_idx);
		for (unsigned i = 1; i <= LEAK_SCALARS; i++)
			set(writer, i, (int32_t)i);
	}
}

static void add_leak_load(struct writer *writer)
{
	unsigned size = some_size(), mode = size != BPF_DW && !below(3) ? BPF_MEMSX : BPF_MEM;

	emit(writer, insn_x(BPF_LDX | mode | size, leak_register(), 10, leak_slot(bytes_of(size))));
}

/* An access at an unknown offset, perhaps an address: of the stack, or of a constant. */
static void add_leak_variable(struct writer *writer)
{
	move(writer, 0, below(2) ? 7 + below(2) : leak_register());
	if (!below(3)) {
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 0, MAP_VALUE - 1));
		load_map(writer, 5, MAP_CONSTANT, 0);
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 0, 5, 0));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, leak_register(), 0, 0));
		return;
	}
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 0, below(2) ? 24 : 8));
	emit(writer, insn_k(BPF_ALU64 | BPF_SUB | BPF_K, 0, LEAK_BYTES));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 0, 10, 0));
	emit(writer, below(2) ? insn_x(BPF_STX | BPF_MEM | BPF_DW, 0, leak_register(), 0)
			      : insn_x(BPF_LDX | BPF_MEM | BPF_DW, leak_register(), 0, 0));
}

static void add_leak_atomic(struct writer *writer)
{
	static const int32_t operations[] = {BPF_ADD | BPF_FETCH, BPF_XCHG, BPF_AND, BPF_CMPXCHG};
	unsigned size = below(2) ? BPF_DW : BPF_W;

	emit(writer,
	     insn_x(BPF_STX | BPF_ATOMIC | size, 10, leak_register(), leak_slot(bytes_of(size))));
	writer->insns[writer->count - 1].imm = operations[below(gt_countof(operations))];
}

static void add_leak_step(struct writer *writer)
{
	unsigned other, end;

	switch (below(9)) {
	case 0:
		add_address(writer);
		break;
	case 1:
	case 2:
		add_leak_alu(writer);
		break;
	case 3:
	case 4:
		add_leak_store(writer);
		break;
	case 5:
	case 6:
		add_leak_load(writer);
		break;
	case 7:
		add_leak_variable(writer);
		break;
	default: /* on one of two paths */
		other = jump(writer,
			     insn_k(BPF_JMP | BPF_JSET | BPF_K, 7 + below(2), 1 << below(31)));
		add_leak_alu(writer);
		for (unsigned i = 0; i < 8; i++) /* a state is kept */
			emit(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
		end = jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
		land(writer, other);
		add_address(writer);
		add_leak_store(writer);
		land(writer, end);
	}
	if (!below(8))
		add_leak_atomic(writer);
}

/* Copy what the program computed to memory that others read. */
static void add_sink(struct writer *writer)
{
	unsigned size = some_size();

	switch (below(4)) {
	case 0:
		load_map(writer, 1, MAP_RING, -1);
		move(writer, 2, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, leak_slot(8)));
		set(writer, 3, (int32_t)(1 + below(8)));
		set(writer, 4, 0);
		call(writer, GT_HELPER_ringbuf_output);
		break;
	case 1:
		emit(writer, insn_x(BPF_ST | BPF_MEM | BPF_DW, 10, 0, KEY));
		load_map(writer, 1, MAP_HASH, -1);
		move(writer, 2, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, KEY));
		move(writer, 3, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, -LEAK_BYTES + 8 * (int32_t)below(3)));
		set(writer, 4, 0);
		call(writer, GT_HELPER_map_update_elem);
		break;
	case 2:
		emit(writer, insn_x(BPF_STX | BPF_ATOMIC | BPF_DW, 6, leak_register(), 16));
		writer->insns[writer->count - 1].imm = below(2) ? BPF_ADD : BPF_XCHG;
		break;
	default:
		emit(writer,
		     insn_x(BPF_STX | BPF_MEM | size, 6, leak_register(), (int)below(MEMORY - 8)));
	}
}

/* Returns whether it is accepted. */
static bool make_leak(struct subject *subject)
{
	struct writer writer;

	begin_pair(subject, &writer);
	for (unsigned i = 0; i <= LEAK_SCALARS; i++)
		set(&writer, i, (int32_t)i);
	for (int slot = -LEAK_BYTES; slot < 0; slot += 8)
		emit(&writer,
		     insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 1 + below(LEAK_SCALARS), slot));
	writer.scalars = 0x3f | 1 << 7 | 1 << 8;
	add_address(&writer);
	for (unsigned i = 1 + below(14); i; i--)
		add_leak_step(&writer);
	add_sink(&writer);
	set(&writer, 0, 0);
	return end_pair(subject, &writer);
}

/* Run it at different addresses. False: what it stored differs. */
static bool check_leak(const struct subject *subject)
{
	auto_outcome plain = {0}, edges = {0};
	const char *wrong;

	outcome_begin(subject, &plain);
	outcome_begin(subject, &edges);
	wrong = interpret(subject, false, &plain);
	if (!wrong[0])
		wrong = interpret(subject, true, &edges);
	if (!wrong[0])
		wrong = compare(subject, &plain, &edges, "at edge addresses");
	if (!wrong[0])
		return true;
	TAP_FAIL("%s", wrong);
	print_subject(subject);
	return false;
}

TEST("no bit of an address reaches a map or a ring, but by comparisons")
{
	unsigned programs = programs_wanted(LEAKS), accepted = 0, i;
	bool fine = true;

	make_maps();
	random_seed();
	for (i = 0; i < programs && fine; i++) {
		struct subject subject;

		if (make_leak(&subject)) {
			accepted++;
			fine = check_leak(&subject);
		}
		gt_facts_clear(&subject.facts);
	}
	printf("# %u of %u programs were accepted\n", accepted, i);
	CHECK(accepted > programs / 50 && accepted < programs / 10 * 9);
}

TEST_MAIN
