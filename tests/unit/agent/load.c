/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loads of patched images whose kernels need more registers than the original's, with a driver in
 * this file. An image is text: each kernel is its name, the registers that it needs, and possibly
 * the comment where they can be limited (base/register_limit.h).
 */
#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/functions.h"
#include "agent/protocol.h"
#include "base/clean.h"
#include "base/link_input.h"
#include "base/register_limit.h"
#include "tap.h"

enum {
	MAX_CALLS = 8,
	MAX_LINKED = 8,
	BLOCK_REGISTERS = 65536,
	CANNOT_LOAD = 222,
	NO_RESULT = 12345,
	LOG_OPTION = 5,
};

#define COMMENT(name) GT_REGISTER_COMMENT name GT_REGISTER_COMMENT_END
#define ORIGINAL "k1 64\nk2 168\nk3 200\n"
#define PATCHED "k1 70 " COMMENT("k1") "\nk2 176 " COMMENT("k2") "\nk3 200 " COMMENT("k3") "\n"
/* 64 registers for 1024 threads, 168 for 384. */
#define LIMITED                                                                                    \
	"k1 70 .maxnreg  64   /*k1*/\nk2 176 .maxnreg 168   /*k2*/\nk3 200 " COMMENT("k3") "\n"

struct gt_agent_functions gt_driver;

/* A module or library that is loaded. */
struct loaded {
	char text[512];
	unsigned limit; /* CU_JIT_MAX_REGISTERS */
	bool is_library, is_there;
};

static struct {
	struct loaded loaded[MAX_CALLS];
	unsigned loads, retained;
	int reject_load; /* the number of the load that fails, from 1 on; 0: none */
	bool has_context;
	bool ignores_limits;         /* kernels need their registers all the same */
	unsigned contexts;           /* that were pushed */
	unsigned questions;          /* about kernels of the original */
	char linked[MAX_LINKED][64]; /* the options of a link, and of each input */
	unsigned inputs, links;
	char cubin[512];
} driver;

static struct {
	const char *patched; /* what the collector returns */
	bool is_side, is_linked;
	int result;
	void *side, *numbered;
	char text[1024]; /* of the mapping */
	size_t linked_size;
} agent;

/* ---- the other parts of the agent -------------------------------------------------------- */

void gt_agent_find_driver(void)
{
}

bool gt_agent_measure(const void *image, struct gt_agent_image *ret_image)
{
	*ret_image = (struct gt_agent_image){.data = image, .size = strlen(image)};
	return true;
}

void gt_agent_release_image(struct gt_agent_image *image)
{
}

struct gt_agent_target gt_agent_target_of(const void *fatbin, size_t size)
{
	return (struct gt_agent_target){0};
}

bool gt_agent_maps_ready(void)
{
	return true;
}

bool gt_agent_misses_memory(void)
{
	return false;
}

bool gt_agent_map_memory(void **ret_memory, size_t *ret_size)
{
	return true;
}

void gt_agent_ask(const struct gt_agent_image *image, uint32_t capability,
		  struct gt_agent_exchange *exchange)
{
	static const char names[] = "k1\0k2\0k3";
	size_t size = strlen(agent.patched);

	if (!agent.is_linked)
		memcpy(agent.text, agent.patched, size + 1);
	*exchange = (struct gt_agent_exchange){
		.socket = -1,
		.patched = agent.text,
		.is_side = agent.is_side,
		.is_linked = agent.is_linked,
		.image_size = agent.is_linked ? agent.linked_size : size,
		.device_symbol = "number",
		.kernels = {.data = names, .size = sizeof(names), .count = 3},
	};
}

void gt_agent_finish(struct gt_agent_exchange *exchange, int error, bool keep)
{
	if (exchange->patched)
		agent.result = error;
}

bool gt_agent_add_side(enum gt_agent_container kind, void *original, void *side,
		       const struct gt_agent_names *kernels)
{
	agent.side = side;
	return true;
}

bool gt_agent_number_device(enum gt_agent_container kind, void *handle, const char *symbol)
{
	agent.numbered = handle;
	return true;
}

void gt_agent_forget_number(const void *library)
{
	if (agent.numbered == library)
		agent.numbered = NULL;
}

void gt_agent_forget_side(enum gt_agent_container kind, void *original)
{
}

struct gt_agent_file gt_agent_read_file(const char *path)
{
	return (struct gt_agent_file){0};
}

void gt_agent_unmap_file(struct gt_agent_file *file)
{
}

const struct gt_agent_environment *gt_agent_environment(void)
{
	static const struct gt_agent_environment none;

	return &none;
}

bool gt_agent_send_compiled(const struct gt_agent_image *report)
{
	return false;
}

/* ---- the driver -------------------------------------------------------------------------- */

static unsigned limit_of(unsigned count, const int *options, void *const *values)
{
	for (unsigned i = 0; i < count; i++)
		if (options[i] == CU_JIT_MAX_REGISTERS)
			return (unsigned)(uintptr_t)values[i];
	return 0;
}

static CUresult load_image(const char *image, bool is_library, unsigned limit, void **handle)
{
	struct loaded *loaded = &driver.loaded[driver.loads++];

	if (driver.loads == (unsigned)driver.reject_load)
		return CANNOT_LOAD;
	*loaded = (struct loaded){.limit = limit, .is_library = is_library, .is_there = true};
	snprintf(loaded->text, sizeof(loaded->text), "%s", image);
	*handle = loaded;
	return 0;
}

static CUresult load_module(void **handle, const void *image)
{
	return load_image(image, false, 0, handle);
}

static CUresult load_module_with_options(void **handle, const void *image, unsigned count,
					 int *options, void **values)
{
	for (unsigned i = 0; i < count; i++)
		if (options[i] == LOG_OPTION) {
			CHECK(values[i] == (void *)100);
			values[i] = (void *)1;
		}
	return load_image(image, false, limit_of(count, options, values), handle);
}

static CUresult load_library(void **handle, const void *image, int *jit_options, void **jit_values,
			     unsigned jit_count, int *options, void **values, unsigned count)
{
	return load_image(image, true, limit_of(jit_count, jit_options, jit_values), handle);
}

static CUresult unload_image(void *handle)
{
	struct loaded *loaded = handle;

	CHECK(loaded->is_there);
	loaded->is_there = false;
	return 0;
}

static CUresult get_module(void **module, void *library)
{
	CHECK(driver.has_context && ((struct loaded *)library)->is_library);
	*module = library;
	return 0;
}

/* A function is its place in the text. */
static CUresult get_function(void **function, void *module, const char *name)
{
	struct loaded *loaded = module;
	char line[32];

	CHECK(driver.has_context);
	snprintf(line, sizeof(line), "%s ", name);
	*function = strstr(loaded->text, line);
	return *function && *name ? 0 : CUDA_ERROR_NOT_FOUND;
}

static const struct loaded *owner_of(const void *function)
{
	for (unsigned i = 0; i < driver.loads; i++)
		if ((const char *)function >= driver.loaded[i].text &&
		    (const char *)function < driver.loaded[i].text + sizeof(driver.loaded[i].text))
			return &driver.loaded[i];
	return NULL;
}

/* What the compiler gives a kernel. */
static unsigned registers_of(const char *function)
{
	unsigned registers = 0, limit = 0, all = owner_of(function)->limit;

	sscanf(function, "%*s %u .maxnreg %u", &registers, &limit);
	if (driver.ignores_limits)
		return registers;
	limit = limit ? limit : all;
	return limit && registers > limit ? limit : registers;
}

/* Each of the four parts of a multiprocessor has a quarter of the registers. */
static CUresult get_attribute(int *value, int attribute, void *function)
{
	unsigned units = (registers_of(function) + 7) / 8;
	unsigned threads = BLOCK_REGISTERS / 4 / (units * 8 * 32) * 4 * 32;

	CHECK_INT(attribute, 0);
	driver.questions += !strncmp(owner_of(function)->text, ORIGINAL, strlen(ORIGINAL));
	*value = threads > 1024 ? 1024 : (int)threads;
	return 0;
}

static CUresult get_device_attribute(int *value, int attribute, int device)
{
	*value = attribute == 12 ? BLOCK_REGISTERS : 9;
	return 0;
}

static CUresult get_count(int *count)
{
	*count = 1;
	return 0;
}

static CUresult get_device(int *device)
{
	*device = 0;
	return driver.has_context ? 0 : CUDA_ERROR_NOT_FOUND;
}

static CUresult get_context(void **context)
{
	*context = driver.has_context ? &driver : NULL;
	return 0;
}

static CUresult retain_context(void **context, int device)
{
	*context = &driver;
	driver.retained++;
	return 0;
}

static CUresult release_context(int device)
{
	driver.retained--;
	return 0;
}

static CUresult push_context(void *context)
{
	driver.contexts++;
	driver.has_context = true;
	return 0;
}

static CUresult pop_context(void **context)
{
	driver.contexts--;
	driver.has_context = false;
	return 0;
}

/* "0=64 7=3", in the order of the options */
static void keep_options(unsigned count, const int *options, void *const *values)
{
	char *at = driver.linked[driver.inputs++];

	for (unsigned i = 0; i < count; i++)
		at += sprintf(at, "%s%d=%u", i ? " " : "", options[i],
			      (unsigned)(uintptr_t)values[i]);
}

static CUresult create_link(unsigned count, int *options, void **values, void **state)
{
	driver.inputs = 0;
	driver.links++;
	driver.cubin[0] = '\0';
	keep_options(count, options, values);
	*state = &driver.links;
	return 0;
}

static CUresult add_data(void *state, int type, void *data, size_t size, const char *name,
			 unsigned count, int *options, void **values)
{
	keep_options(count, options, values);
	if (type == 1)
		strncat(driver.cubin, data, sizeof(driver.cubin) - strlen(driver.cubin) - 1);
	return 0;
}

static CUresult complete_link(void *state, void **cubin, size_t *size)
{
	*cubin = driver.cubin;
	return 0;
}

static CUresult destroy_link(void *state)
{
	driver.links--;
	return 0;
}

static void start(const char *patched, bool is_side)
{
	memset(&driver, 0, sizeof(driver));
	memset(&agent, 0, sizeof(agent));
	driver.has_context = true;
	agent.patched = patched;
	agent.is_side = is_side;
	agent.result = NO_RESULT;
	gt_driver = (struct gt_agent_functions){
		.cuModuleLoadData = load_module,
		.cuModuleLoadFatBinary = load_module,
		.cuModuleLoadDataEx = load_module_with_options,
		.cuLibraryLoadData = load_library,
		.cuModuleUnload = unload_image,
		.cuLibraryUnload = unload_image,
		.cuLibraryGetModule = get_module,
		.cuModuleGetFunction = get_function,
		.cuFuncGetAttribute = get_attribute,
		.cuDeviceGetAttribute = get_device_attribute,
		.cuDeviceGetCount = get_count,
		.cuCtxGetDevice = get_device,
		.cuCtxGetCurrent = get_context,
		.cuCtxPushCurrent_v2 = push_context,
		.cuCtxPopCurrent_v2 = pop_context,
		.cuDevicePrimaryCtxRetain = retain_context,
		.cuDevicePrimaryCtxRelease_v2 = release_context,
		.cuLinkCreate_v2 = create_link,
		.cuLinkAddData_v2 = add_data,
		.cuLinkComplete = complete_link,
		.cuLinkDestroy = destroy_link,
	};
}

/* ---- tests ------------------------------------------------------------------------------- */

/* The functions of the program's that load, without options. */
static CUresult load_by_library(void **handle, const void *image)
{
	return cuLibraryLoadData(handle, image, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult load_by_options(void **handle, const void *image)
{
	return cuModuleLoadDataEx(handle, image, 0, NULL, NULL);
}

static CUresult (*const functions[])(void **handle, const void *image) = {
	cuModuleLoadData,
	cuModuleLoadFatBinary,
	load_by_options,
	load_by_library,
};

static unsigned count_loaded(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < driver.loads; i++)
		count += driver.loaded[i].is_there;
	return count;
}

/* What the program gets, and what is beside it. */
static void expect_loaded(const void *handle, const char *text, const char *side)
{
	CHECK_STR(((const struct loaded *)handle)->text, text);
	CHECK(((const struct loaded *)handle)->is_there);
	CHECK(!side == !agent.side);
	if (side && agent.side) {
		CHECK_STR(((struct loaded *)agent.side)->text, side);
		CHECK(((struct loaded *)agent.side)->is_there);
	}
	CHECK_INT(count_loaded(), side ? 2 : 1);
	/* It knows its device. */
	if (!agent.result)
		CHECK(agent.numbered == (side ? agent.side : handle));
}

TEST("a patched kernel that needs no more registers is loaded once, and the original not asked")
{
	for (size_t i = 0; i < gt_countof(functions); i++)
		for (int is_side = 0; is_side < 2; is_side++) {
			static const char patched[] = "k1 64 " COMMENT("k1") "\nk2 40\nk3 32\n";
			void *handle = NULL;

			start(patched, is_side);
			CHECK_INT(functions[i](&handle, ORIGINAL), 0);
			CHECK_INT(agent.result, 0);
			CHECK_INT(driver.loads, 1 + is_side);
			CHECK_INT(driver.questions, 0);
			expect_loaded(handle, is_side ? ORIGINAL : patched,
				      is_side ? patched : NULL);
		}
}

TEST("kernels whose blocks would be smaller are loaded again with as many registers as fit")
{
	for (size_t i = 0; i < gt_countof(functions); i++)
		for (int is_side = 0; is_side < 2; is_side++) {
			void *handle = NULL;

			start(PATCHED, is_side);
			CHECK_INT(functions[i](&handle, ORIGINAL), 0);
			CHECK_INT(agent.result, 0);
			/* The original, for a comparison or to stay. */
			CHECK_INT(driver.loads, 3);
			expect_loaded(handle, is_side ? ORIGINAL : LIMITED,
				      is_side ? LIMITED : NULL);
		}
}

TEST("kernels with a block size of their own are not compared")
{
	for (int is_side = 0; is_side < 2; is_side++) {
		static const char patched[] = "k1 64 " COMMENT("k1") "\nk2 176\nk3 255\n";
		void *handle = NULL;

		start(patched, is_side);
		CHECK_INT(cuModuleLoadData(&handle, ORIGINAL), 0);
		CHECK_INT(agent.result, 0);
		CHECK_INT(driver.loads, 1 + is_side);
		CHECK_INT(driver.questions, 0);
	}
}

TEST("a kernel that needs more registers for blocks of the same size keeps them")
{
	static const char original[] = "k1 33\nk2 130\nk3 200\n";
	static const char patched[] = "k1 64 " COMMENT("k1") "\nk2 136 " COMMENT("k2") "\nk3 201\n";
	void *handle = NULL;

	start(patched, false);
	CHECK_INT(cuModuleLoadData(&handle, original), 0);
	CHECK_INT(agent.result, 0);
	expect_loaded(handle, patched, NULL);
}

TEST("where the second load fails, the original is loaded")
{
	for (size_t i = 0; i < gt_countof(functions); i++)
		for (int is_side = 0; is_side < 2; is_side++) {
			void *handle = NULL;

			start(PATCHED, is_side);
			driver.reject_load = 3;
			CHECK_INT(functions[i](&handle, ORIGINAL), 0);
			CHECK_INT(agent.result, CANNOT_LOAD);
			expect_loaded(handle, ORIGINAL, NULL);
		}
}

TEST("where the limits have no effect, the original is loaded")
{
	for (size_t i = 0; i < gt_countof(functions); i++)
		for (int is_side = 0; is_side < 2; is_side++) {
			void *handle = NULL;

			start(PATCHED, is_side);
			driver.ignores_limits = true;
			CHECK_INT(functions[i](&handle, ORIGINAL), 0);
			CHECK_INT(agent.result, GT_AGENT_SMALLER_BLOCKS);
			expect_loaded(handle, ORIGINAL, NULL);
		}
}

TEST("where the original cannot be loaded for a comparison, the patched module stays")
{
	void *handle = NULL;

	start(PATCHED, false);
	driver.reject_load = 2;
	CHECK_INT(cuModuleLoadData(&handle, ORIGINAL), 0);
	CHECK_INT(agent.result, 0);
	expect_loaded(handle, PATCHED, NULL);
}

TEST("each load of a patched module has the program's options and values")
{
	int options[] = {CU_JIT_MAX_REGISTERS, LOG_OPTION};
	void *values[] = {(void *)200, (void *)100}, *handle = NULL;

	start(PATCHED, false);
	CHECK_INT(cuModuleLoadDataEx(&handle, ORIGINAL, 2, options, values), 0);
	expect_loaded(handle, LIMITED, NULL);
	for (unsigned i = 0; i < driver.loads; i++)
		CHECK_INT(driver.loaded[i].limit, 200);
	CHECK(values[0] == (void *)200 && values[1] == (void *)1);
	/* With so few registers no kernel has smaller blocks. */
	start(PATCHED, false);
	values[0] = (void *)56;
	values[1] = (void *)100;
	CHECK_INT(cuModuleLoadDataEx(&handle, ORIGINAL, 2, options, values), 0);
	CHECK_INT(driver.loads, 1);
	expect_loaded(handle, PATCHED, NULL);
}

TEST("a library that is loaded without a context is compared in the first device's")
{
	void *handle = NULL;

	start(PATCHED, false);
	driver.has_context = false;
	CHECK_INT(load_by_library(&handle, ORIGINAL), 0);
	CHECK_INT(agent.result, 0);
	expect_loaded(handle, LIMITED, NULL);
	CHECK(!driver.has_context);
	CHECK_INT(driver.contexts, 0);
	CHECK_INT(driver.retained, 0);
}

TEST("truncated comments and those with another name are not written to")
{
	static const char *const patched[] = {
		"k1 72 " GT_REGISTER_COMMENT,
		"k1 72 " GT_REGISTER_COMMENT "k1",
		"k1 72 " GT_REGISTER_COMMENT "k1*",
		"k1 72 " GT_REGISTER_COMMENT "*/",
		"k1 72 " GT_REGISTER_COMMENT "k11*/",
		"k1 72 " GT_REGISTER_COMMENT "a name that is longer than all that there are*/",
	};

	for (size_t i = 0; i < gt_countof(patched); i++) {
		char text[128];
		void *handle = NULL;

		snprintf(text, sizeof(text), "k2 10\nk3 10\n%s", patched[i]);
		start(text, false);
		CHECK_INT(cuModuleLoadData(&handle, ORIGINAL), 0);
		CHECK_STR(agent.text, text);
	}
}

/* The inputs of a link: these texts, with these limits. */
static void put_inputs(const char *const *texts, const uint16_t *limits, size_t count)
{
	char *at = agent.text;

	for (size_t i = 0; i < count; i++) {
		const struct gt_link_header header = {
			.kind = GT_LINK_PTX,
			.max_registers = limits[i],
			.size = strlen(texts[i]) + 1,
		};

		memcpy(at, &header, sizeof(header));
		strcpy(at + sizeof(header), texts[i]);
		at += sizeof(header) + header.size + gt_link_padding(header.size);
	}
	agent.is_linked = true;
	agent.linked_size = (size_t)(at - agent.text);
}

TEST("in what is linked, the functions that kernels call have no more registers than these")
{
	static const char *const texts[] = {"k1 70 " COMMENT("k1") "\n", "k2 20\n", "k3 20\n"};
	static const uint16_t limits[] = {0, 32, 255};
	int options[] = {CU_JIT_MAX_REGISTERS};
	void *values[] = {(void *)128}, *handle = NULL;

	start("", true);
	put_inputs(texts, limits, gt_countof(texts));
	CHECK_INT(cuModuleLoadData(&handle, ORIGINAL), 0);
	CHECK_INT(agent.result, 0);
	expect_loaded(handle, ORIGINAL, "k1 70 .maxnreg  64   /*k1*/\nk2 20\nk3 20\n");
	CHECK_STR(driver.linked[0], "");
	CHECK_STR(driver.linked[1], "0=64");
	CHECK_STR(driver.linked[2], "0=32");
	CHECK_STR(driver.linked[3], "0=64");
	CHECK_INT(driver.links, 0);
	/* A limit of the program is for all inputs. */
	start("", true);
	put_inputs(texts, limits, gt_countof(texts));
	CHECK_INT(cuModuleLoadDataEx(&handle, ORIGINAL, 1, options, values), 0);
	CHECK_STR(driver.linked[0], "0=64");
	CHECK_STR(driver.linked[1], "");
	CHECK(values[0] == (void *)128);
	CHECK_INT(driver.links, 0);
}
TEST_MAIN
