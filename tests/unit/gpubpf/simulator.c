/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs on Oclgrind, which simulates an OpenCL device with memory of its own and reports every
 * access outside of it. The maps are copied to the device.
 */
#include <fcntl.h>
#include <unistd.h>

#include "gpubpf_spirv_run.h"
#include "temporary.h"

#define SIMULATOR "/usr/lib/oclgrind/liboclgrind-rt-icd.so"

enum {
	MAX_EXECUTED = 10000, /* instructions of a case: the simulator interprets them slowly */
};

/* The file that the simulator reports to, from the first context of the process on. */
static struct temporary reports;

static void remove_reports(void)
{
	unlink(reports.path);
}

/* NULL: there is none. */
static struct gt_cl_device *open_simulator(void)
{
	static struct gt_cl *cl;
	struct gt_cl_device *device = NULL;

	if (IS_SANITIZED || access(SIMULATOR, R_OK))
		return NULL;
	if (!cl) {
		CHECK(make_empty_file(&reports));
		atexit(remove_reports);
		read_cases();
		setenv("OCL_ICD_VENDORS", SIMULATOR, 1);
		setenv("OCLGRIND_LOG", reports.path, 1);
	}
	if ((!cl && gt_cl_open(&cl, NULL)) || gt_cl_device_open(cl, 0, &device, NULL))
		return NULL;
	CHECK(strstr(gt_cl_device_info(device)->name, "Oclgrind"));
	return device;
}

/* What was reported since the last call: the beginning, or NULL. */
static const char *read_reports(void)
{
	static char text[512];
	static off_t end;
	gt_autoclose int file = open(reports.path, O_RDONLY | O_CLOEXEC);
	ssize_t length = pread(file, text, sizeof(text) - 1, end);

	if (length <= 0)
		return NULL;
	text[length] = 0;
	end = lseek(file, 0, SEEK_END);
	return text;
}

/* Whether a case is executed on the simulator; its outcome on the interpreter. */
static bool is_short(const struct probe *probe, struct outcome *expected)
{
	return interpret(probe, probe->one->memory, expected) && expected->executed <= MAX_EXECUTED;
}

static bool is_right(struct gt_cl_program *program, const struct probe *probe,
		     struct outcome *outcome, const struct outcome *expected)
{
	const char *report;

	if (!execute_with_copies(program, probe, probe->one->memory, outcome, 0) ||
	    !is_same(probe, expected, outcome, "on the simulator"))
		return false;
	report = read_reports();
	if (report)
		TAP_FAIL("%s: the simulator reports: %s", probe_title(probe), report);
	return !report;
}

/* The programs of a module on the simulator. */
struct simulated {
	struct spirv_module module;
	struct gt_cl_program *program; /* NULL: it was rejected, which fails the test */
};

static struct simulated load_simulated(struct gt_cl_device *device, struct probe *const *probes,
				       size_t count)
{
	struct simulated simulated = {.module = {.for_spir = true, .relative = true}};
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	make_spirv_module(probes, count, &simulated.module);
	if (gt_cl_program_load(device, simulated.module.binary.data, simulated.module.binary.length,
			       &simulated.program, &log, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	return simulated;
}

static void unload_simulated(struct simulated *simulated)
{
	gt_cl_program_free(simulated->program);
	spirv_module_clear(&simulated->module);
}

static size_t count_in_module(size_t first)
{
	return all_cases.count - first < A_MODULE ? all_cases.count - first : A_MODULE;
}

static unsigned compare_cases(struct gt_cl_device *device, size_t first)
{
	struct probe *const *probes = all_cases.items + first;
	size_t count = count_in_module(first);
	struct simulated simulated = load_simulated(device, probes, count);
	unsigned compared = 0;

	for (size_t i = 0; i < count && simulated.program; i++) {
		struct outcome expected = {0};

		if (!gt_diag_is_set(&simulated.module.rejected[i]) &&
		    is_short(probes[i], &expected))
			compared += is_right(simulated.program, probes[i],
					     &simulated.module.outcomes[i], &expected);
		outcome_clear(&expected);
	}
	unload_simulated(&simulated);
	return compared;
}

TEST("short cases have one result on a device with copies of the maps, and access nothing outside")
{
	struct gt_cl_device *device = open_simulator();
	unsigned compared = 0;

	if (!device)
		SKIP("Oclgrind is not installed");
	for (size_t i = 0; i < all_cases.count; i += A_MODULE)
		compared += compare_cases(device, i);
	printf("# %u of %zu cases were compared on the simulator\n", compared, all_cases.count);
	CHECK(compared > all_cases.count * 9 / 10);
	gt_cl_device_close(device);
}

/* Run the cases of a module without the memory of their last maps: those that are reported. */
static unsigned count_reported(struct gt_cl_device *device, size_t first)
{
	struct probe *const *probes = all_cases.items + first;
	size_t count = count_in_module(first);
	struct simulated simulated = load_simulated(device, probes, count);
	unsigned reported = 0;

	for (size_t i = 0; i < count && simulated.program; i++) {
		struct outcome expected = {0}, *outcome = &simulated.module.outcomes[i];
		uint32_t maps = probes[i]->object.map_count;

		if (maps && !gt_diag_is_set(&simulated.module.rejected[i]) &&
		    is_short(probes[i], &expected)) {
			execute_with_copies(simulated.program, probes[i], probes[i]->one->memory,
					    outcome, outcome->map_sizes[maps - 1]);
			reported += read_reports() != NULL;
		}
		outcome_clear(&expected);
	}
	unload_simulated(&simulated);
	return reported;
}

TEST("the simulator reports cases whose maps are not in the memory that the device has")
{
	struct gt_cl_device *device = open_simulator();
	unsigned reported = 0;

	if (!device)
		SKIP("Oclgrind is not installed");
	for (size_t i = 0; i < all_cases.count && reported < A_MODULE; i += A_MODULE)
		reported += count_reported(device, i);
	printf("# %u cases were reported\n", reported);
	CHECK(reported);
	gt_cl_device_close(device);
}

TEST_MAIN
