/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values as large as the verifier's offsets: an access is accepted if and only if each offset on
 * the path is below 2^29 and all bytes are in the value, and then has the same effect on the
 * interpreter, the software device (PTX) and an OpenCL device (SPIR-V; the first ones, since PoCL
 * takes long to compile them). PROGRAMS=N and SEED=N select other programs.
 */
#include <sys/mman.h>

#include "gpubpf_ptx_run.h"
#include "gpubpf_spirv_run.h"

enum {
	PROGRAMS = 512,
	PER_ROUND = 16, /* programs in one module */
	LARGEST = 1 << 29,
	ENTRIES = 12,
	PATTERN = 0x5a6b7c8d,
};

/* A program that accesses a value at first + second + index + offset. */
struct large_access {
	uint32_t value_size;
	uint32_t entry; /* the key, if `looks_up`; then first is 0 */
	bool looks_up;
	int64_t first, second, offset;
	uint32_t index, max_index;
	bool index_is_last; /* it is added after the others */
	unsigned size;
};

static int64_t at(const struct large_access *access)
{
	return access->first + access->second + access->index + access->offset;
}

/* Whether the verifier must accept it. */
static bool is_safe(const struct large_access *access)
{
	int64_t fixed = access->first + access->second, min = fixed + access->offset;

	return access->first < access->value_size && llabs(access->second) < LARGEST &&
	       llabs(fixed) < LARGEST && access->max_index < LARGEST && min >= 0 &&
	       min + access->max_index + access->size <= access->value_size;
}

static const char *suffix(unsigned size)
{
	return size == 1 ? "b" : size == 2 ? "h" : size == 4 ? "w" : "dw";
}

/* The program: r0 is what it read after it wrote PATTERN. */
static void write_program(const struct large_access *access, struct gt_strbuf *text)
{
	const char *add_index = "\tadd r4, r6\n";

	gt_strbuf_printf(text, "\tldxdw r6, [r1]\n\tjgt r6, %u, out\n", access->max_index);
	if (access->looks_up)
		gt_strbuf_printf(text,
				 "\tstw [r10-4], %u\n\tldmap r1, 0\n\tmov r2, r10\n\tadd r2, -4\n"
				 "\tcall 1\n\tjeq r0, 0, out\n\tmov r4, r0\n",
				 access->entry);
	else
		gt_strbuf_printf(text, "\tldmapvalue r4, 0, %" PRId64 "\n", access->first);
	gt_strbuf_puts(text, access->index_is_last ? "" : add_index);
	gt_strbuf_printf(text, "\tadd r4, %" PRId64 "\n", access->second);
	gt_strbuf_puts(text, access->index_is_last ? add_index : "");
	gt_strbuf_printf(text,
			 "\tmov r5, 0x%x\n\tstx%s [r4%+" PRId64 "], r5\n\tldx%s r0, [r4%+" PRId64
			 "]\n\texit\nout:\n\tmov r0, 7\n\texit\n",
			 PATTERN, suffix(access->size), access->offset, suffix(access->size),
			 access->offset);
}

/* ---- random accesses -------------------------------------------------------------------- */

/* A number near an edge. */
static int64_t near(int64_t edge)
{
	return edge + (int64_t)below(19) - 9;
}

static struct large_access random_access(void)
{
	static const uint32_t sizes[] = {LARGEST, LARGEST, LARGEST - 3, (320 << 20) + 131088,
					 1 << 25};
	static const int64_t edges[] = {0, 0, 1 << 15, 1 << 28, LARGEST};
	static const int64_t offsets[] = {0, 0, 0, INT16_MAX - 9, INT16_MIN + 9};
	struct large_access access = {
		.value_size = sizes[below(gt_countof(sizes))],
		.looks_up = below(2),
		.entry = below(ENTRIES),
		.second = near(edges[below(gt_countof(edges))]) * (below(3) ? 1 : -1),
		.offset = near(offsets[below(gt_countof(offsets))]),
		.index_is_last = below(2),
		.size = 1u << below(4),
	};
	int64_t room;

	if (!access.looks_up)
		access.first = llabs(near(edges[below(gt_countof(edges))]));
	/* Mostly the index goes to the end of the value, or a little further. */
	room = access.value_size - access.first - access.second - access.offset - access.size;
	room = below(4) ? near(room - 8) : near(edges[below(gt_countof(edges))]);
	access.max_index = (uint32_t)(room < 0 ? 0 : room > INT32_MAX ? INT32_MAX : room);
	access.index = below(2) ? access.max_index : access.max_index / 2;
	return access;
}

/* ---- engines ---------------------------------------------------------------------------- */

/* Programs that were accepted, and the memory that all of them have. */
struct round {
	struct large_access accesses[PER_ROUND];
	struct gt_bpf_map maps[PER_ROUND];
	struct probe *probes[PER_ROUND];
	unsigned count;
	uint8_t *memory;
};

static size_t memory_size(void)
{
	return (size_t)LARGEST * ENTRIES;
}

/* NULL where the system does not promise so much memory. */
static uint8_t *open_memory(void)
{
	void *memory = mmap(NULL, memory_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Add a program if it is accepted; false: the verdict is wrong. */
static bool try_access(struct round *round, const struct large_access *access)
{
	const struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .memory_size = 8};
	struct probe *probe = calloc(1, sizeof(*probe));
	struct gt_bpf_map *map = &round->maps[round->count];
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	bool is_accepted;

	*map = (struct gt_bpf_map){.name = "large",
				   .type = BPF_MAP_TYPE_ARRAY,
				   .key_size = 4,
				   .value_size = access->value_size,
				   .max_entries = access->looks_up ? ENTRIES : 1};
	CHECK_INT(gt_bpf_map_check(map, NULL), 0);
	write_program(access, &text);
	probe->object = (struct gt_bpf_object){.maps = map, .map_count = 1};
	probe->memory_size = 8;
	snprintf(probe->prefix, sizeof(probe->prefix), "l%u_", round->count);
	CHECK_INT(gt_bpf_assemble(gt_strbuf_string(&text), &probe->program.insns,
				  &probe->program.count, &diag),
		  0);
	is_accepted =
		!gt_verify(&probe->object, &probe->program, &options, &probe->facts, NULL, &diag);
	if (is_accepted != is_safe(access))
		TAP_FAIL("%s: %s: %s", is_accepted ? "accepted" : "rejected", diag.text,
			 gt_strbuf_string(&text));
	if (is_accepted) {
		round->accesses[round->count] = *access;
		round->probes[round->count++] = probe;
	} else {
		probe_free(probe);
	}
	return is_accepted == is_safe(access);
}

/* What a program left in the memory, which is cleared again. */
static bool check_memory(const struct round *round, unsigned number, uint64_t r0, const char *how)
{
	const struct large_access *access = &round->accesses[number];
	uint64_t expected = PATTERN & (UINT64_MAX >> (64 - 8 * access->size)), found = 0;
	uint64_t place = access->entry * (uint64_t)gt_bpf_map_stride(access->value_size);
	uint8_t *bytes = round->memory + (access->looks_up ? place : 0) + at(access);
	bool is_right;

	memcpy(&found, bytes, access->size);
	is_right = found == expected && r0 == expected;
	if (!is_right)
		TAP_FAIL("%s: at %" PRId64 " of entry %u: 0x%" PRIx64 ", r0 is 0x%" PRIx64, how,
			 at(access), access->entry, found, r0);
	memset(bytes, 0, access->size);
	return is_right;
}

static bool interpret_all(const struct round *round)
{
	void *memories[1] = {round->memory};
	bool is_right = true;

	for (unsigned i = 0; i < round->count && is_right; i++) {
		uint64_t index = round->accesses[i].index;
		struct gt_interp_options options = {.object = &round->probes[i]->object,
						    .map_memory = memories,
						    .memory = (uint8_t *)&index,
						    .memory_size = sizeof(index)};
		struct gt_interp_result result = {0};
		struct gt_diag diag = {0};

		if (gt_interp_run(&round->probes[i]->program, &options, &result, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
		is_right = check_memory(round, i, result.r0, "on the interpreter");
	}
	return is_right;
}

static bool run_as_ptx(struct device *device, const struct round *round)
{
	gt_autofree char *text = make_ptx_module(round->probes, round->count, 90);
	gt_auto(sg_module) struct sg_module *module = device_load(device, text);
	uint64_t *words = device_memory(device, 2 * sizeof(*words));
	bool is_right = module;

	for (unsigned i = 0; i < round->count && is_right; i++) {
		uint64_t parameters[3] = {address_of(words), 8, address_of(words + 1)};
		struct sg_variable_info info;
		struct sg_grid_result ran;
		char name[64];

		words[0] = round->accesses[i].index;
		snprintf(name, sizeof(name), "%smap_0", round->probes[i]->prefix);
		CHECK_INT(sg_module_variable(module, name, &info), 0);
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(round->memory), 1},
		       16);
		snprintf(name, sizeof(name), "%sprogram", round->probes[i]->prefix);
		if (device_run_with(device, module, name, (struct sg_launch){0}, parameters, 3,
				    &ran))
			TAP_FAIL("%s", ran.fault.text);
		is_right = check_memory(round, i, words[1], "as PTX");
	}
	device->used = 0;
	return is_right;
}

/* The kernels of a module for an OpenCL device. */
static void write_spirv(const struct round *round, bool for_spir, struct gt_strbuf *binary)
{
	struct gt_translate_options options = {0};
	struct gt_translation translation = {0};
	struct spirv_module module = {.for_spir = for_spir};
	struct outcome outcome = {.maps = {round->memory}};

	for (unsigned i = 0; i < round->count; i++)
		CHECK_INT(add_spirv_probe(round->probes[i], &outcome, &module, &translation, NULL),
			  0);
	CHECK_INT(gt_target_spirv.finish(&options, &translation, binary, NULL), 0);
	gt_translation_clear(&translation);
}

static bool run_as_spirv(struct gt_cl_device *device, const struct round *round)
{
	gt_auto_strbuf binary = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	struct gt_cl_program *program = NULL;
	struct gt_diag diag = {0};
	bool is_right;

	write_spirv(round, !gt_cl_device_info(device)->takes_spirv, &binary);
	is_right = !gt_cl_program_load(device, binary.data, binary.length, &program, &log, &diag);
	if (!is_right)
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	for (unsigned i = 0; i < round->count && is_right; i++) {
		uint64_t index = round->accesses[i].index;
		struct outcome outcome = {0};

		is_right = execute_spirv(program, round->probes[i], (uint8_t *)&index, &outcome) &&
			   check_memory(round, i, outcome.r0, "as SPIR-V");
	}
	gt_cl_program_free(program);
	return is_right;
}

/* ---- tests ------------------------------------------------------------------------------ */

static bool fill_round(struct round *round, unsigned *made, unsigned wanted)
{
	bool is_right = true;

	for (round->count = 0; is_right && round->count < PER_ROUND && *made < wanted; ++*made) {
		const struct large_access access = random_access();

		is_right = try_access(round, &access);
	}
	return is_right;
}

static void free_round(struct round *round)
{
	for (unsigned i = 0; i < round->count; i++)
		probe_free(round->probes[i]);
}

TEST("accesses of large values are accepted exactly within them, and are right on every engine")
{
	unsigned wanted = programs_wanted(PROGRAMS), accepted = 0, made = 0;
	struct gt_cl_device *opencl = open_cl_device();
	struct round round = {.memory = open_memory()};
	bool is_right = round.memory;
	auto_device device = {0};

	if (!round.memory)
		SKIP("the system does not promise 6 GiB of memory");
	random_seed();
	device_open(&device);
	CHECK_INT(sg_memory_allow(device.machine, address_of(round.memory), memory_size()), 0);
	while (is_right && made < wanted) {
		is_right = fill_round(&round, &made, wanted) && interpret_all(&round) &&
			   run_as_ptx(&device, &round) &&
			   (!opencl || accepted || run_as_spirv(opencl, &round));
		accepted += round.count;
		free_round(&round);
	}
	printf("# %u of %u programs were accepted\n", accepted, made);
	CHECK(accepted > made / 8 && accepted < made);
	gt_cl_device_close(opencl);
	munmap(round.memory, memory_size());
}

/* The verdict on an access, as the verifier's message. */
static const struct {
	struct large_access access;
	const char *message; /* NULL: accepted */
} verdicts[] = {
	{{.value_size = LARGEST, .first = LARGEST - 1, .size = 1}, NULL},
	{{.value_size = LARGEST, .first = LARGEST - 8, .size = 8}, NULL},
	{{.value_size = LARGEST, .max_index = LARGEST - 1, .size = 1}, NULL},
	{{.value_size = LARGEST, .first = 1 << 28, .max_index = (1 << 28) - 1, .size = 1}, NULL},
	{{.value_size = LARGEST, .first = LARGEST - 7, .size = 8},
	 "invalid access to map value, value_size=536870912 off=536870905 size=8; R4 min value is "
	 "outside of the allowed memory range"},
	{{.value_size = LARGEST, .first = LARGEST - 1, .offset = 1, .size = 1},
	 "invalid access to map value, value_size=536870912 off=536870912 size=1; R4 min value is "
	 "outside of the allowed memory range"},
	{{.value_size = LARGEST, .first = LARGEST - 1, .max_index = LARGEST - 1, .size = 1},
	 "invalid access to map value, value_size=536870912 off=1073741822 size=1; R4 max value is "
	 "outside of the allowed memory range"},
	{{.value_size = LARGEST, .max_index = LARGEST, .size = 1},
	 "R4 unbounded memory access, make sure to bounds check any such access"},
	{{.value_size = LARGEST, .max_index = INT32_MAX, .size = 1},
	 "R4 unbounded memory access, make sure to bounds check any such access"},
	{{.value_size = LARGEST, .second = LARGEST, .size = 1},
	 "math between map_value pointer and 536870912 is not allowed"},
	{{.value_size = LARGEST, .first = LARGEST - 1, .second = 1, .size = 1},
	 "map_value pointer offset 536870912 is not allowed"},
	{{.value_size = LARGEST, .first = LARGEST, .size = 1},
	 "invalid access to map value pointer, value_size=536870912 off=536870912"},
	{{.value_size = LARGEST, .second = -1, .max_index = LARGEST - 1, .size = 1},
	 "invalid access to map value, value_size=536870912 off=-1 size=1; R4 min value is outside "
	 "of the allowed memory range"},
	{{.value_size = LARGEST, .offset = -1, .max_index = LARGEST - 1, .size = 1},
	 "invalid access to map value, value_size=536870912 off=-1 size=1; R4 min value is outside "
	 "of the allowed memory range"},
};

TEST("an access outside of a large value is rejected with the reason, one at its end is not")
{
	for (size_t i = 0; i < gt_countof(verdicts); i++) {
		const struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
							  .memory_size = 8};
		struct gt_bpf_map map = {.type = BPF_MAP_TYPE_ARRAY,
					 .key_size = 4,
					 .value_size = verdicts[i].access.value_size,
					 .max_entries = 1};
		const struct gt_bpf_object object = {.maps = &map, .map_count = 1};
		gt_auto_strbuf text = GT_STRBUF_INIT;
		struct gt_bpf_program program = {0};
		struct gt_facts facts = {0};
		struct gt_diag diag = {0};

		CHECK_INT(is_safe(&verdicts[i].access), !verdicts[i].message);
		write_program(&verdicts[i].access, &text);
		CHECK_INT(gt_bpf_assemble(gt_strbuf_string(&text), &program.insns, &program.count,
					  &diag),
			  0);
		gt_verify(&object, &program, &options, &facts, NULL, &diag);
		CHECK_STR(diag.text, verdicts[i].message ? verdicts[i].message : "");
		gt_facts_clear(&facts);
		gt_bpf_program_clear(&program);
	}
}

TEST_MAIN
