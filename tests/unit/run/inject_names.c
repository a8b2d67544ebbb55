/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names and globs that match no kernel, and the names that are near to them. */
#include "run/inject_names.h"
#include "collector.h"

#define MODULE(functions) ".version 7.8\n.target sm_75\n.address_size 64\n" functions
#define ENTRY(name) ".visible .entry " name "()\n{\n\tret;\n}\n"

enum {
	MAX_PROGRAMS = 4,
};

struct fixture {
	struct gt_patch_program programs[MAX_PROGRAMS];
	struct gt_inject_options options;
	struct gt_inject_names *names;
	size_t cursor;
	struct gt_inject_pattern pattern;
};

static void fixture_clear(struct fixture *fixture)
{
	gt_inject_names_free(fixture->names);
}
#define auto_fixture __attribute__((cleanup(fixture_clear))) struct fixture

/* Of the sections and the globs of --kernel, each ended by NULL. */
static void fixture_open(struct fixture *fixture, const char *const *sections,
			 const char *const *kernels)
{
	fixture->options.programs = fixture->programs;
	fixture->options.kernels = kernels;
	for (uint32_t i = 0; sections[i]; i++, fixture->options.program_count++)
		CHECK(!gt_section_read(sections[i], NULL, &fixture->programs[i].section, NULL));
	for (uint32_t i = 0; kernels && kernels[i]; i++)
		fixture->options.kernel_count++;
	CHECK(!gt_inject_names_new(&fixture->options, &fixture->names));
}

static void see(struct fixture *fixture, const char *mangled, const char *demangled)
{
	gt_inject_names_see(fixture->names, mangled, demangled, true);
}

/* Whether the next pattern that matched nothing is this one. */
static bool is_next(struct fixture *fixture, uint32_t program, const char *text)
{
	return gt_inject_names_unmatched(fixture->names, &fixture->cursor, &fixture->pattern) &&
	       fixture->pattern.program == program && !strcmp(fixture->pattern.text, text);
}

static bool is_end(struct fixture *fixture)
{
	return !gt_inject_names_unmatched(fixture->names, &fixture->cursor, &fixture->pattern);
}

TEST("without modules each pattern matches nothing, and has no near name")
{
	static const char *const sections[] = {"gpu/entry/add*", "kprobe/_Z1av,_Z1bv", NULL};
	static const char *const kernels[] = {"add", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, kernels);
	CHECK(is_next(&fixture, 0, "add*") && !fixture.pattern.nearest[0]);
	CHECK(is_next(&fixture, 1, "_Z1av") && is_next(&fixture, 1, "_Z1bv"));
	CHECK(is_next(&fixture, GT_INJECT_OPTION, "add") && is_end(&fixture));
}

TEST("one name of a list matches for itself alone")
{
	static const char *const sections[] = {"kprobe/_Z1av, cuda__Z1bv ,_Z1cv", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, NULL);
	see(&fixture, "_Z1bv", "b()");
	see(&fixture, "_Z1dv", "d()");
	CHECK(is_next(&fixture, 0, "_Z1av"));
	/* Mangled, as names of lists are. */
	CHECK_STR(fixture.pattern.nearest[0], "_Z1bv");
	CHECK_STR(fixture.pattern.nearest[1], "_Z1dv");
	CHECK(!fixture.pattern.nearest[2]);
	CHECK(is_next(&fixture, 0, "_Z1cv") && is_end(&fixture));
}

TEST("overloads of a kernel are one near name")
{
	static const char *const sections[] = {"gpu/entry/ad", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, NULL);
	see(&fixture, "_Z3addPf", "add(float*)");
	see(&fixture, "_Z4axpyPf", "axpy(float*)");
	see(&fixture, "_Z3addPfi", "add(float*, int)");
	CHECK(is_next(&fixture, 0, "ad"));
	CHECK_STR(fixture.pattern.nearest[0], "add");
	CHECK_STR(fixture.pattern.nearest[1], "axpy");
	CHECK(!fixture.pattern.nearest[2]);
}

TEST("a kernel matches where a section and --kernel select it, both")
{
	static const char *const sections[] = {"gpu/entry/add", "gpu/exit/mul", NULL};
	static const char *const kernels[] = {"add", "mul*", "sub", "div", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, kernels);
	see(&fixture, "add", "add");
	see(&fixture, "sub", "sub");
	CHECK(is_next(&fixture, 1, "mul") && is_next(&fixture, GT_INJECT_OPTION, "mul*"));
	CHECK(is_next(&fixture, GT_INJECT_OPTION, "sub"));
	CHECK(is_next(&fixture, GT_INJECT_OPTION, "div") && is_end(&fixture));
}

TEST("patterns of device functions match functions, those of kernels kernels")
{
	static const char *const sections[] = {"gpu/call/f", "gpu/entry/k", "gpu/call/k",
					       "gpu/entry/f", NULL};
	static const char *const kernels[] = {"k", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, kernels);
	gt_inject_names_see(fixture.names, "f", "f", false);
	see(&fixture, "k", "k");
	CHECK(is_next(&fixture, 2, "k") && fixture.pattern.of_functions);
	CHECK_STR(fixture.pattern.nearest[0], "f");
	CHECK(is_next(&fixture, 3, "f") && !fixture.pattern.of_functions);
	CHECK_STR(fixture.pattern.nearest[0], "k");
	CHECK(is_end(&fixture));
}

TEST("the three nearest names are those that have the text, then those with the fewest edits")
{
	static const char *const sections[] = {"gpu/entry/*add_[0-9]", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, NULL);
	for (unsigned i = 0; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof(name), "other_kernel_%u", i);
		see(&fixture, name, name);
	}
	see(&fixture, "_Z6ad_0-9i", "ad_0-9(int)");
	see(&fixture, "_Z1av", "a()");
	see(&fixture, "_Z19long_named_add_0-9_v", "long_named_add_0-9_()");
	CHECK(is_next(&fixture, 0, "*add_[0-9]"));
	CHECK_STR(fixture.pattern.nearest[0], "a");
	CHECK_STR(fixture.pattern.nearest[1], "long_named_add_0-9_");
	CHECK_STR(fixture.pattern.nearest[2], "ad_0-9");
	CHECK(is_end(&fixture));
}

TEST("a name of several modules is listed once")
{
	static const char *const sections[] = {"gpu/entry/x", NULL};
	auto_fixture fixture = {0};

	fixture_open(&fixture, sections, NULL);
	see(&fixture, "k", "k");
	see(&fixture, "k", "k");
	CHECK(is_next(&fixture, 0, "x"));
	CHECK_STR(fixture.pattern.nearest[0], "k");
	CHECK(!fixture.pattern.nearest[1]);
}

/* Send an image, and take the answer. */
static int load(struct collector *collector, const char *text)
{
	gt_autoclose int image = file_with(text), file = -1, socket = -1;
	struct gt_agent_reply reply;

	return ask(collector, image_request(strlen(text)), image, &reply, &file, &socket);
}

TEST("the collector compares all names of the modules that it examines")
{
	auto_collector collector = {0};
	struct gt_inject_pattern pattern;
	size_t cursor = 0;

	if (!collector_open(&collector))
		return;
	CHECK(load(&collector, MODULE(ENTRY("kk") ENTRY("other"))) == GT_AGENT_ORIGINAL);
	for (uint32_t program = 0; program < 2; program++) {
		CHECK(gt_inject_unmatched_pattern(collector.inject, &cursor, &pattern));
		CHECK(pattern.program == program);
		CHECK_STR(pattern.text, "k");
		CHECK_STR(pattern.nearest[0], "kk");
		CHECK_STR(pattern.nearest[1], "other");
	}
	CHECK(!gt_inject_unmatched_pattern(collector.inject, &cursor, &pattern));
	CHECK(load(&collector, MODULE(ENTRY("a") ENTRY("k"))) == GT_AGENT_SIDE);
	cursor = 0;
	CHECK(!gt_inject_unmatched_pattern(collector.inject, &cursor, &pattern));
}

TEST("names after the first that matches are compared, too")
{
	static const char *const kernels[] = {"first", "last", "none"};
	auto_collector collector = {
		.at_block_end = true,
		.kernels = kernels,
		.kernel_count = gt_countof(kernels),
	};
	struct gt_inject_pattern pattern;
	size_t cursor = 0;

	if (!collector_open(&collector))
		return;
	CHECK(load(&collector, MODULE(ENTRY("first") ENTRY("last"))) == GT_AGENT_WHOLE);
	CHECK(gt_inject_unmatched_pattern(collector.inject, &cursor, &pattern));
	CHECK(pattern.program == GT_INJECT_OPTION);
	CHECK_STR(pattern.text, "none");
	CHECK(!gt_inject_unmatched_pattern(collector.inject, &cursor, &pattern));
}

TEST_MAIN
