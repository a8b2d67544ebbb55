/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules that are linked with each other and with machine code: sites, and side modules. */
#include "base/hash.h"
#include "cubin.h"
#include "fixture.h"
#include "patch/objects.h"
#include "patch_probes.h"
#include "ptxas.h"
#include "toolkit.h"

#define MODULE(body) ".version 7.8\n.target sm_75\n.address_size 64\n" body
#define ENTRY(name, body) ".visible .entry " name "()\n{\n" body "\tret;\n}\n"
#define FUNCTION(name, body) ".visible .func " name "()\n{\n" body "\tret;\n}\n"
#define WEAK(name, body) ".weak .func " name "()\n{\n" body "\tret;\n}\n"
#define EXTERN(name) ".extern .func " name "();\n"
#define EXTERN_ENTRY(name) ".extern .entry " name "();\n"
#define CALL(name) "\tcall " name ";\n"
#define STORE "\t.reg .b64 %rd<2>;\n\tst.global.u32 [%rd1], 7;\n"
/* Something of the module is not matched, so that not every kernel is. */
#define OTHER ENTRY("other", "")

enum {
	MAX_PARTS = 3,
};

/* A program of some modules, patched. */
struct linked_case {
	struct counting_probe probes[2];
	struct gt_patch_program programs[2];
	struct gt_patch_part parts[MAX_PARTS];
	uint32_t count;
	struct gt_patch_code code;
};

static void linked_clear(struct linked_case *linked)
{
	for (uint32_t i = 0; i < linked->count; i++) {
		gt_patch_result_clear(&linked->parts[i].result);
		gt_ptx_free(linked->parts[i].module);
	}
	for (size_t i = 0; i < gt_countof(linked->probes); i++)
		probe_clear(&linked->probes[i]);
	gt_patch_code_clear(&linked->code);
}
#define auto_linked __attribute__((cleanup(linked_clear))) struct linked_case

/* Machine code with these symbols is linked with the modules. */
static void add_code(struct linked_case *linked, const struct made_kernel *symbols, size_t count)
{
	struct gt_patch_objects objects = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin(symbols, count, 0, &size);

	CHECK(!gt_vec_push(&objects.cubins,
			   (struct gt_fatbin_payload){.data = cubin, .size = size}));
	CHECK_INT(gt_patch_read_code(&objects, 75, &linked->code, NULL), 0);
	gt_vec_free(&objects.cubins);
}

/* Compile a text as part of a program. */
static bool compile_part(const char *text, uint32_t number)
{
	char path[32];

	snprintf(path, sizeof(path), "part%u.ptx", number);
	write_file(path, text, strlen(text));
	return !run(NULL, TOOLS "ptxas -arch=sm_75 -c -o part%u.cubin %s", number, path);
}

/* What would be loaded is accepted by ptxas and, without machine code, by the linker. */
static void check_with_linker(const struct linked_case *linked, const char *const *texts)
{
	bool is_whole = false;
	uint32_t count = 0;

	for (uint32_t i = 0; i < linked->count; i++)
		is_whole |= linked->parts[i].result.scope == GT_PATCH_WHOLE;
	for (uint32_t i = 0; i < linked->count; i++) {
		const struct gt_patch_result *result = &linked->parts[i].result;

		if (result->scope != GT_PATCH_NONE)
			CHECK(compile_part(gt_strbuf_string(&result->text), count++));
		else if (is_whole)
			CHECK(compile_part(texts[i], count++));
	}
	if (!count || linked->code.functions || !have_tool("nvlink"))
		return;
	for (uint32_t i = count; i < MAX_PARTS; i++) {
		char path[32];

		snprintf(path, sizeof(path), "part%u.cubin", i);
		unlink(path);
	}
	CHECK(!run(NULL, TOOLS "nvlink -arch=sm_75 -o linked.cubin part*.cubin"));
}

/* Patch the modules with a program. kernels: the options'; NULL: all. */
static void patch_linked(struct linked_case *linked, const char *section, const char *kernel,
			 const char *const *texts)
{
	struct gt_patch_options options = {
		.object = &object,
		.programs = linked->programs,
		.program_count = 1,
		.kernels = &kernel,
		.kernel_count = kernel != NULL,
	};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	counter(&text, 0, "mov r6, 1");
	CHECK(probe_read(section, gt_strbuf_string(&text), &linked->probes[0]));
	linked->programs[0] = (struct gt_patch_program){.program = &linked->probes[0].program,
							.facts = &linked->probes[0].facts,
							.section = linked->probes[0].section};
	for (; linked->count < MAX_PARTS && texts[linked->count]; linked->count++) {
		const char *at = texts[linked->count];

		if (gt_ptx_parse(at, strlen(at), &linked->parts[linked->count].module, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
	}
	if (gt_patch_modules(linked->parts, linked->count, &linked->code, &options, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	for (uint32_t i = 0; i < linked->count; i++)
		CHECK(linked->parts[i].result.found ==
		      linked->parts[i].result.patched + linked->parts[i].result.rejected);
	if (have_tool("ptxas"))
		check_with_linker(linked, texts);
}

/* Whether the text of a module has this. */
static bool has(const struct linked_case *linked, uint32_t part, const char *what)
{
	return strstr(gt_strbuf_string(&linked->parts[part].result.text), what);
}

static void check_scopes(const struct linked_case *linked, enum gt_patch_scope first,
			 enum gt_patch_scope second)
{
	CHECK_INT(linked->parts[0].result.scope, first);
	CHECK_INT(linked->parts[1].result.scope, second);
}

/* Whole modules for this reason. */
static void check_whole(const struct linked_case *linked, const char *reason)
{
	const struct gt_patch_result *result = &linked->parts[0].result;

	CHECK_INT(result->scope, GT_PATCH_WHOLE);
	CHECK_STR(result->whole_reason ? result->whole_reason : "", reason);
}

/* ---- modules ---------------------------------------------------------------------------- */

TEST("a side module has what the kernel calls in other modules, and no more")
{
	static const char *const texts[] = {
		MODULE(EXTERN("f") ENTRY("k", CALL("f")) OTHER),
		MODULE(EXTERN("g") FUNCTION("unused", "") FUNCTION("f", CALL("g"))),
		MODULE(FUNCTION("g", "") ENTRY("third", "")),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK_INT(linked.parts[2].result.scope, GT_PATCH_SIDE);
	CHECK(has(&linked, 0, ".entry k") && !has(&linked, 0, ".entry other"));
	CHECK(has(&linked, 1, ".func f") && !has(&linked, 1, ".func unused"));
	CHECK(has(&linked, 2, ".func g") && !has(&linked, 2, ".entry third"));
	CHECK_INT(linked.parts[0].result.compiled, 1);
	CHECK_INT(linked.parts[2].result.compiled, 0);
	CHECK_INT(linked.parts[0].result.patched, 1);
	CHECK(!linked.parts[0].result.calls_code);
}

TEST("a module of which a side module needs nothing is no part of it")
{
	static const char *const texts[] = {
		MODULE(ENTRY("other", "")),
		MODULE(ENTRY("k", "")),
		NULL,
	};
	auto_linked linked = {0}, none = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_NONE, GT_PATCH_SIDE);
	CHECK_INT(linked.parts[0].result.compiled, 0);
	CHECK_INT(linked.parts[0].result.module_kernels, 1);
	patch_linked(&none, "gpu/entry/missing", NULL, texts);
	check_scopes(&none, GT_PATCH_NONE, GT_PATCH_NONE);
}

TEST("a variable that a function of another module uses keeps the kernel in its program")
{
	static const char *const texts[] = {
		MODULE(EXTERN("f") ENTRY("k", CALL("f")) OTHER),
		MODULE(".global .u32 state;\n" FUNCTION("f", "\tst.global.u32 [state], 1;\n")),
		NULL,
	};
	static const char *const declared[] = {
		MODULE(".extern .global .u32 state;\n" ENTRY("k", "\tst.global.u32 [state], 1;\n")
			       OTHER),
		MODULE(".visible .global .u32 state;\n"),
		NULL,
	};
	auto_linked linked = {0}, far = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	check_whole(&linked, "it uses a variable of the module");
	CHECK_INT(linked.parts[1].result.scope, GT_PATCH_NONE);
	patch_linked(&far, "gpu/entry/k", NULL, declared);
	check_whole(&far, "it uses a variable of the module");
}

TEST("a kernel that another module launches stays in its program, with what it launches")
{
	static const char *const launched[] = {
		MODULE(ENTRY("k", "")),
		MODULE(EXTERN_ENTRY("k")
			       ENTRY("parent", "\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, k;\n")),
		NULL,
	};
	static const char *const launches[] = {
		MODULE(EXTERN_ENTRY("child")
			       ENTRY("k", "\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, child;\n")),
		MODULE(ENTRY("child", "") OTHER),
		NULL,
	};
	auto_linked shared = {0}, own = {0};

	patch_linked(&shared, "gpu/entry/k", NULL, launched);
	check_whole(&shared, "another function of the module launches it");
	patch_linked(&own, "gpu/entry/k", NULL, launches);
	check_scopes(&own, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK(has(&own, 1, ".entry child") && !has(&own, 1, ".entry other"));
}

TEST("a call by an address may lead to other modules")
{
	static const char *const texts[] = {
		MODULE(ENTRY("k", "\t.reg .b64 %rd<2>;\n\tld.global.u64 %rd1, [%rd1];\n"
				  "p: .callprototype ()_();\n\tcall %rd1, (), p;\n")),
		MODULE(FUNCTION("f", "") FUNCTION("g", "")
			       ENTRY("other", "\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, f;\n")),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK(has(&linked, 1, ".func f") && !has(&linked, 1, ".func g"));
}

TEST("a call by an address does not lead to a kernel that others launch")
{
	static const char *const texts[] = {
		MODULE(".global .u32 state;\n" ENTRY("child", "\tst.global.u32 [state], 1;\n")
			       ENTRY("parent", "\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, child;\n")
				       ENTRY("k", "\t.reg .b64 %rd<2>;\n"
						  "\tld.global.u64 %rd1, [%rd1];\n"
						  "p: .callprototype ()_();\n"
						  "\tcall %rd1, (), p;\n")),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	CHECK_INT(linked.parts[0].result.scope, GT_PATCH_SIDE);
	CHECK(!has(&linked, 0, "child"));
}

TEST("an alias in another module leads to what it is of")
{
	static const char *const texts[] = {
		MODULE(EXTERN("g") ENTRY("k", CALL("g")) OTHER),
		MODULE(FUNCTION("f", STORE) ".visible .func g();\n.alias g, f;\n"),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/store/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK_INT(linked.parts[1].result.patched, 1);
	CHECK(has(&linked, 1, ".alias g, f"));
}

TEST("an alias to which nothing refers is no part of a side module, one that is called is")
{
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ".visible .func g();\n.alias g, f;\n"
					    ".visible .func h();\n.alias h, f;\n" ENTRY(
						    "k", CALL("f") CALL("h")) OTHER),
		NULL,
	};
	static const char *const foreign[] = {
		MODULE(EXTERN("h") ENTRY("k", CALL("h")) OTHER),
		MODULE(FUNCTION("f", STORE) ".visible .func g();\n.alias g, f;\n"
					    ".visible .func h();\n.alias h, f;\n"),
		NULL,
	};
	auto_linked here = {0}, there = {0};

	patch_linked(&here, "gpu/store/k", NULL, texts);
	CHECK(has(&here, 0, ".alias h, f") && !has(&here, 0, ".alias g, f"));
	CHECK_INT(here.parts[0].result.patched, 1);
	patch_linked(&there, "gpu/store/k", NULL, foreign);
	CHECK(has(&there, 1, ".alias h, f") && !has(&there, 1, ".alias g, f"));
	CHECK_INT(there.parts[1].result.patched, 1);
}

TEST("shared memory that another module defines keeps the kernel in its program")
{
	static const char *const texts[] = {
		MODULE(".extern .shared .align 4 .b8 s[64];\n" ENTRY(
			"k", "\t.reg .b32 %r<2>;\n\tld.shared.u32 %r1, [s];\n") OTHER),
		MODULE(".visible .shared .align 4 .b8 s[64];\n"),
		NULL,
	};
	static const char *const dynamic[] = {
		MODULE(".extern .shared .align 4 .b8 s[];\n" ENTRY(
			"k", "\t.reg .b32 %r<2>;\n\tld.shared.u32 %r1, [s];\n") OTHER),
		MODULE(".extern .shared .align 4 .b8 s[];\n" ENTRY(
			"l", "\t.reg .b32 %r<2>;\n\tld.shared.u32 %r1, [s];\n")),
		NULL,
	};
	auto_linked linked = {0}, launched = {0};

	patch_linked(&linked, "gpu/load/k", NULL, texts);
	check_whole(&linked, "it uses shared memory of another module");
	patch_linked(&launched, "gpu/load/k", NULL, dynamic);
	check_scopes(&launched, GT_PATCH_SIDE, GT_PATCH_NONE);
}

TEST("modules of one program have one prefix, which no text and no machine code has")
{
	static const struct made_kernel symbols[] = {{.name = "gputap1_f", .is_device = 1}};
	static const char *const texts[] = {
		MODULE(ENTRY("k", "") OTHER),
		MODULE(".visible .const .align 8 .b64 gputap_map_0[2];\n" ENTRY("l", "")),
		NULL,
	};
	auto_linked linked = {0}, with_code = {0};

	patch_linked(&linked, "gpu/entry/*", NULL, texts);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_STR(linked.parts[i].result.prefix, "gputap1_");
	add_code(&with_code, symbols, 1);
	patch_linked(&with_code, "gpu/entry/*", NULL, texts);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_STR(with_code.parts[i].result.prefix, "gputap2_");
}

TEST("of weak functions the linker takes one, for all kernels that call them")
{
	static const char *const texts[] = {
		MODULE(WEAK("f", STORE) ".global .u32 state;\n" ENTRY(
			"k", CALL("f") "\tst.global.u32 [state], 1;\n")),
		MODULE(WEAK("f", STORE) ENTRY("other", CALL("f"))),
		NULL,
	};
	static const char *const overridden[] = {
		MODULE(WEAK("f", "") ENTRY("k", CALL("f")) OTHER),
		MODULE(".global .u32 state;\n" FUNCTION("f", "\tst.global.u32 [state], 1;\n")),
		NULL,
	};
	auto_linked linked = {0}, selected = {0}, strong = {0};

	patch_linked(&linked, "gpu/store/k", NULL, texts);
	CHECK_INT(linked.parts[0].result.patched, 1);
	CHECK_INT(linked.parts[0].result.rejected, 1);
	CHECK_INT(linked.parts[1].result.patched, 0);
	patch_linked(&selected, "gpu/call/f", "k", texts);
	CHECK_INT(selected.parts[0].result.patched, 0);
	CHECK_INT(selected.parts[0].result.rejected, 1);
	patch_linked(&strong, "gpu/entry/k", NULL, overridden);
	check_whole(&strong, "it uses a variable of the module");
}

#define WEAK_ENTRY(name) ".weak .entry " name "()\n{\n\tret;\n}\n"

TEST("a kernel that several modules have, as of a template, is one kernel")
{
	static const char *const texts[] = {
		MODULE(ENTRY("first", "") WEAK_ENTRY("k")),
		MODULE(WEAK_ENTRY("k") ENTRY("last", "")),
		MODULE(WEAK_ENTRY("k")),
		NULL,
	};
	auto_linked all = {0}, one = {0};
	const struct gt_patch_result *results[3];

	patch_linked(&all, "gpu/entry/*", NULL, texts);
	for (size_t i = 0; i < 3; i++)
		results[i] = &all.parts[i].result;
	CHECK_INT(results[0]->kernels.count, 2);
	CHECK_INT(results[1]->kernels.count, 1);
	CHECK_INT(results[2]->kernels.count, 0);
	CHECK_STR(results[1]->kernels.items[0].name, "last");
	CHECK_INT(results[1]->kernels.items[0].number, 2);
	CHECK_INT(results[0]->module_kernels + results[1]->module_kernels +
			  results[2]->module_kernels,
		  3);
	CHECK_INT(results[0]->compiled + results[1]->compiled + results[2]->compiled, 3);
	/* The linker may take any of the copies. */
	for (size_t i = 0; i < 3; i++)
		CHECK(results[i]->patched);

	patch_linked(&one, "gpu/entry/k", NULL, texts);
	check_scopes(&one, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK_INT(one.parts[2].result.scope, GT_PATCH_SIDE);
	CHECK_INT(one.parts[2].result.kernels.count, 0);
}

TEST("three weak functions of one name lead to what any of them uses")
{
	static const char *const texts[] = {
		MODULE(WEAK("f", "") ENTRY("k", CALL("f")) OTHER),
		MODULE(WEAK("f", "")),
		MODULE(".global .u32 state;\n" WEAK("f", "\tst.global.u32 [state], 1;\n")),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/entry/k", NULL, texts);
	check_whole(&linked, "it uses a variable of the module");
}

TEST("programs of a kernel run in the functions that it calls in other modules")
{
	static const char *const texts[] = {
		MODULE(EXTERN("f") EXTERN("g") ENTRY("k", CALL("f") CALL("g"))),
		MODULE(FUNCTION("f", STORE) FUNCTION("g", STORE) FUNCTION("h", STORE)
			       ENTRY("other", CALL("g"))),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/store/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK_INT(linked.parts[1].result.found, 2);
	CHECK(!has(&linked, 1, ".func h"));
}

TEST("functions that kernels of other modules call, too, have no sites in whole modules")
{
	static const char *const texts[] = {
		MODULE(EXTERN("f") EXTERN("g") ".global .u32 state;\n" ENTRY(
			"k", CALL("f") CALL("g") "\tst.global.u32 [state], 1;\n")),
		MODULE(FUNCTION("f", STORE) FUNCTION("g", STORE) ENTRY("other", CALL("g"))),
		NULL,
	};
	auto_linked linked = {0};

	patch_linked(&linked, "gpu/store/k", NULL, texts);
	check_whole(&linked, "it uses a variable of the module");
	CHECK_INT(linked.parts[0].result.patched, 1);
	CHECK_INT(linked.parts[1].result.patched, 1);
	CHECK_INT(linked.parts[1].result.rejected, 1);
	CHECK_INT(linked.parts[1].result.rejections.count, 1);
	if (linked.parts[1].result.rejections.count)
		CHECK_STR(linked.parts[1].result.rejections.items[0].reason,
			  "kernels that the program does not match call the function, too");
	/* The numbers of all sites are different. */
	CHECK_INT(linked.parts[1].result.sites.items[0].number, 1);
}

TEST("a program of a device function makes kernels of other modules part of a side module")
{
	static const char *const texts[] = {
		MODULE(EXTERN("f") ENTRY("k", CALL("f")) OTHER),
		MODULE(FUNCTION("f", "")),
		NULL,
	};
	auto_linked linked = {0}, excluded = {0};

	patch_linked(&linked, "gpu/call/f", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK_INT(linked.parts[0].result.kernels.count, 1);
	CHECK_INT(linked.parts[1].result.patched, 1);
	/* `other` does not call it. */
	patch_linked(&excluded, "gpu/call/f", "other", texts);
	CHECK_INT(excluded.parts[1].result.found, 0);
}

/* ---- machine code ----------------------------------------------------------------------- */

/* A kernel that calls machine code, and what that may call. */
static const char *const calling[] = {
	MODULE(EXTERN("sass") ENTRY("k", CALL("sass")) OTHER),
	MODULE(FUNCTION("callback", STORE) FUNCTION("unused", "")),
	NULL,
};

static void patch_with_code(struct linked_case *linked, const char *section,
			    const struct made_kernel *symbols, size_t count)
{
	add_code(linked, symbols, count);
	patch_linked(linked, section, NULL, calling);
}

TEST("a side module has the machine code that its kernels call, and what that calls")
{
	static const struct made_kernel symbols[] = {
		{.name = "sass", .is_device = 1},
		{.name = "callback", .is_device = 1, .is_undefined = 1},
		{.name = "vprintf", .is_device = 1, .is_undefined = 1},
	};
	auto_linked linked = {0}, without = {0}, stores = {0};

	patch_with_code(&linked, "gpu/entry/k", symbols, 3);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_SIDE);
	CHECK(linked.parts[0].result.calls_code);
	CHECK(has(&linked, 1, ".func callback") && !has(&linked, 1, ".func unused"));

	patch_with_code(&without, "gpu/entry/k", NULL, 0);
	CHECK_INT(without.parts[1].result.scope, GT_PATCH_NONE);

	/* It is not known for which kernel the machine code calls it. */
	patch_with_code(&stores, "gpu/store/*", symbols, 3);
	CHECK_INT(stores.parts[1].result.found, 1);
	CHECK_INT(stores.parts[1].result.rejected, 1);
}

TEST("machine code that is not called is no part of a side module")
{
	static const struct made_kernel symbols[] = {
		{.name = "state", .is_variable = 1},
		{.name = "sass", .is_device = 1},
		{.name = "f", .is_device = 1, .is_undefined = 1},
	};
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ENTRY("k", CALL("f"))),
		MODULE(EXTERN("sass") ENTRY("other", CALL("sass"))),
		NULL,
	};
	auto_linked linked = {0};

	add_code(&linked, symbols, 3);
	patch_linked(&linked, "gpu/store/k", NULL, texts);
	check_scopes(&linked, GT_PATCH_SIDE, GT_PATCH_NONE);
	CHECK(!linked.parts[1].result.calls_code);
	/* Nor does it call the function there. */
	CHECK_INT(linked.parts[0].result.patched, 1);
}

TEST("machine code with variables keeps the kernel in its program; the device runtime does not")
{
	static const struct made_kernel own[] = {{.name = "state", .is_variable = 1}};
	static const struct made_kernel far[] = {
		{.name = "state", .is_variable = 1, .is_undefined = 1}};
	static const struct made_kernel literal[] = {
		{.name = "$str$1", .is_variable = 1, .is_local = 1}};
	static const struct made_kernel similar[] = {{.name = "_strength", .is_variable = 1}};
	static const struct made_kernel runtime[] = {
		{.name = "cudartErrorTable", .is_variable = 1},
		{.name = "__CNPRT_VERSION_NUMBER__", .is_variable = 1},
	};
	auto_linked keeps = {0}, needs = {0}, has_text = {0}, has_runtime = {0}, named = {0};

	patch_with_code(&keeps, "gpu/entry/k", own, 1);
	check_whole(&keeps, "it calls machine code, which has variables");
	patch_with_code(&needs, "gpu/entry/k", far, 1);
	check_whole(&needs, "it calls machine code, which has variables");
	patch_with_code(&has_text, "gpu/entry/k", literal, 1);
	CHECK_INT(has_text.parts[0].result.scope, GT_PATCH_SIDE);
	patch_with_code(&named, "gpu/entry/k", similar, 1);
	check_whole(&named, "it calls machine code, which has variables");
	patch_with_code(&has_runtime, "gpu/entry/k", runtime, 2);
	CHECK_INT(has_runtime.parts[0].result.scope, GT_PATCH_SIDE);
}

TEST("a kernel that machine code launches stays in its program")
{
	static const struct made_kernel symbols[] = {{.name = "k", .is_undefined = 1}};
	auto_linked linked = {0};

	patch_with_code(&linked, "gpu/entry/k", symbols, 1);
	check_whole(&linked, "machine code that it is linked with launches it");
}

TEST("functions that machine code calls have no sites for some kernels alone")
{
	static const struct made_kernel symbols[] = {
		{.name = "f", .is_device = 1, .is_undefined = 1}};
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ".global .u32 state;\n" ENTRY(
			"k", CALL("f") "\tst.global.u32 [state], 1;\n")),
		MODULE(EXTERN("f") ENTRY("other", CALL("f"))),
		NULL,
	};
	auto_linked linked = {0}, selected = {0};

	add_code(&linked, symbols, 1);
	patch_linked(&linked, "gpu/store/*", NULL, texts);
	CHECK_INT(linked.parts[0].result.patched, 1);
	CHECK_INT(linked.parts[0].result.rejected, 1);
	if (linked.parts[0].result.rejections.count)
		CHECK_STR(linked.parts[0].result.rejections.items[0].reason,
			  "machine code that the module is linked with calls the function, too");

	/* Kernels that are not selected may do so by way of the machine code. */
	add_code(&selected, symbols, 1);
	patch_linked(&selected, "gpu/call/f", "k", texts);
	CHECK_INT(selected.parts[0].result.found, 1);
	CHECK_INT(selected.parts[0].result.rejected, 1);
}

TEST("a function of the machine code overrides a weak one")
{
	static const struct made_kernel symbols[] = {
		{.name = "f", .is_device = 1},
		{.name = "state", .is_variable = 1},
	};
	static const char *const texts[] = {
		MODULE(WEAK("f", "") ENTRY("k", CALL("f")) OTHER),
		NULL,
	};
	auto_linked stateless = {0}, state = {0};

	add_code(&stateless, symbols, 1);
	patch_linked(&stateless, "gpu/entry/k", NULL, texts);
	CHECK_INT(stateless.parts[0].result.scope, GT_PATCH_SIDE);
	CHECK(stateless.parts[0].result.calls_code);
	add_code(&state, symbols, 2);
	patch_linked(&state, "gpu/entry/k", NULL, texts);
	check_whole(&state, "it calls machine code, which has variables");
}

TEST("what cannot be read may call anything")
{
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ENTRY("k", CALL("f")) OTHER),
		NULL,
	};
	auto_linked linked = {0};

	add_code(&linked, NULL, 0);
	linked.code.is_incomplete = true;
	patch_linked(&linked, "gpu/store/k", NULL, texts);
	CHECK_INT(linked.parts[0].result.rejected, 1);
	CHECK_INT(linked.parts[0].result.patched, 0);
}

/* The code of an object, or of an archive. */
static void read_code(struct linked_case *linked, const char *data, size_t size, bool is_archive)
{
	const struct gt_cubin_text archive = {.text = (char *)data, .length = size};
	struct gt_patch_objects objects = {
		.archives = &archive,
		.archive_count = is_archive,
	};
	struct gt_fatbin_payload payload = {.data = (char *)data, .size = size};

	if (!is_archive)
		CHECK(!gt_vec_push(&objects.cubins, payload));
	CHECK_INT(gt_patch_read_code(&objects, 75, &linked->code, NULL), 0);
	gt_vec_free(&objects.cubins);
}

TEST("a function that machine code alone calls has no sites without a kernel that matches")
{
	static const struct made_kernel symbols[] = {
		{.name = "f", .is_device = 1, .is_undefined = 1}};
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ENTRY("k", "")),
		NULL,
	};
	auto_linked linked = {0};

	add_code(&linked, symbols, 1);
	patch_linked(&linked, "gpu/call/f", NULL, texts);
	CHECK_INT(linked.parts[0].result.scope, GT_PATCH_NONE);
	CHECK_INT(linked.parts[0].result.rejected, 1);
	if (linked.parts[0].result.rejections.count)
		CHECK_STR(linked.parts[0].result.rejections.items[0].reason,
			  "no kernel with PTX calls the function");
}

TEST("functions that a function of the machine code calls may have no body")
{
	static const struct made_kernel symbols[] = {
		{.name = "g", .is_device = 1, .is_undefined = 1}, {.name = "h", .is_device = 1}};
	static const char *const texts[] = {
		MODULE(EXTERN("h") FUNCTION("g", CALL("h")) FUNCTION("lonely", STORE)
			       ENTRY("k", "")),
		NULL,
	};
	auto_linked linked = {0};

	add_code(&linked, symbols, 2);
	patch_linked(&linked, "gpu/call/lonely", NULL, texts);
	CHECK_INT(linked.parts[0].result.scope, GT_PATCH_NONE);
	CHECK_INT(linked.parts[0].result.found, 0);
}

TEST("a function that unselected kernels and machine code call has no sites, with this reason")
{
	static const struct made_kernel symbols[] = {
		{.name = "f", .is_device = 1, .is_undefined = 1}};
	static const char *const texts[] = {
		MODULE(FUNCTION("f", STORE) ENTRY("k", CALL("f")) OTHER),
		NULL,
	};
	auto_linked linked = {0};

	add_code(&linked, symbols, 1);
	patch_linked(&linked, "gpu/call/f", "other", texts);
	CHECK_INT(linked.parts[0].result.rejected, 1);
	if (linked.parts[0].result.rejections.count)
		CHECK_STR(linked.parts[0].result.rejections.items[0].reason,
			  "no selected kernel with PTX calls the function");
}

TEST("code of the program that is merged with the device runtime is not the device runtime's")
{
	static const struct made_kernel symbols[] = {
		{.name = "__CNPRT_VERSION_NUMBER__", .is_variable = 1},
		{.name = "cudartErrorTable", .is_variable = 1},
		{.name = "__cudaCDP2LaunchDeviceV2", .is_device = 1},
		{.name = "state", .is_variable = 1},
		{.name = "helper", .is_device = 1},
	};
	static const struct {
		size_t first, count;
		bool has_variables, has_others;
	} cases[] = {{0, 3, false, false}, {0, 4, true, true}, {1, 2, true, true}};
	struct made_kernel functions[4];

	for (size_t i = 0; i < gt_countof(cases); i++) {
		auto_linked linked = {0};

		add_code(&linked, symbols + cases[i].first, cases[i].count);
		CHECK_INT(linked.code.has_variables, cases[i].has_variables);
		CHECK_INT(linked.code.has_others, cases[i].has_others);
	}
	auto_linked linked = {0};

	memcpy(functions, symbols, 3 * sizeof(*symbols));
	functions[3] = symbols[4];
	add_code(&linked, functions, 4);
	CHECK(!linked.code.has_variables && linked.code.has_others);
}

TEST("addresses of functions lead into machine code, and out of it")
{
	static const struct made_kernel symbols[] = {
		{.name = "sass", .is_device = 1},
		{.name = "state", .is_variable = 1},
	};
	static const char *const calls[] = {
		MODULE(ENTRY("k", "\t.reg .b64 %rd<2>;\n\tld.global.u64 %rd1, [%rd1];\n"
				  "p: .callprototype ()_();\n\tcall %rd1, (), p;\n") OTHER),
		NULL,
	};
	static const char *const taken[] = {
		MODULE(".func f()\n{\n" STORE "\tret;\n}\n.global .u32 own;\n" ENTRY(
			"k", "\t.reg .b64 %a;\n\tst.global.u32 [own], 1;\n\tmov.u64 %a, f;\n"
			     "\tst.global.u64 [%a], %a;\n\tcall f;\n")),
		NULL,
	};
	auto_linked in = {0}, out = {0};

	add_code(&in, symbols, 2);
	patch_linked(&in, "gpu/entry/k", NULL, calls);
	check_whole(&in, "it calls machine code, which has variables");
	add_code(&out, symbols, 1);
	patch_linked(&out, "gpu/store/k", NULL, taken);
	CHECK_INT(out.parts[0].result.patched, 2);
	CHECK_INT(out.parts[0].result.rejected, 1);
}

TEST("objects and archives that cannot be read are noticed")
{
	static const char text[] = MODULE("");
	gt_auto_strbuf ptx = GT_STRBUF_INIT;
	auto_linked object_case = {0}, archive = {0}, member = {0}, unknown = {0};

	read_code(&object_case, "text", 4, false);
	CHECK(object_case.code.is_incomplete);
	read_code(&archive, "!<arch>\ntruncated", 17, true);
	CHECK(archive.code.is_incomplete);
	/* PTX that the linker would compile. */
	gt_strbuf_printf(&ptx, "!<arch>\n%-16s%-12d%-6d%-6d%-8s%-10zu`\n%s", "a.ptx/", 0, 0, 0,
			 "644", sizeof(text) - 1, text);
	read_code(&member, ptx.data, ptx.length, true);
	CHECK(member.code.is_incomplete);
	/* LTO bitcode, or anything else. */
	ptx.data[ptx.length - (sizeof(text) - 1)] = 'B';
	read_code(&unknown, ptx.data, ptx.length, true);
	CHECK(unknown.code.is_incomplete);
}

TEST("each container of a member of an archive is read")
{
	static const struct made_kernel first = {.name = "first", .is_device = 1};
	static const struct made_kernel second = {.name = "state", .is_variable = 1};
	gt_auto_strbuf data = GT_STRBUF_INIT, archive = GT_STRBUF_INIT;
	auto_linked linked = {0};
	size_t sizes[2];
	gt_autofree char *one = make_cubin(&first, 1, 0, &sizes[0]);
	gt_autofree char *other = make_cubin(&second, 1, 0, &sizes[1]);

	for (size_t i = 0; i < 2; i++) {
		const struct gt_fatbin_source source = {.kind = GT_FATBIN_KIND_ELF,
							.architecture = 75,
							.data = i ? other : one,
							.size = sizes[i]};

		CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, &data, NULL), 0);
	}
	gt_strbuf_printf(&archive, "!<arch>\n%-16s%-12d%-6d%-6d%-8s%-10zu`\n", "both/", 0, 0, 0,
			 "644", data.length);
	gt_strbuf_add(&archive, data.data, data.length);
	read_code(&linked, archive.data, archive.length, true);
	CHECK(!linked.code.is_incomplete);
	CHECK(gt_hash_get_str(linked.code.functions, "first"));
	CHECK(linked.code.has_variables);
}

TEST("the constants of all machine code are counted")
{
	static const struct made_kernel symbols[] = {
		{.name = "first", .is_variable = 1, .constant_bytes = 24},
		{.name = "second", .is_variable = 1, .is_local = 1, .constant_bytes = 8},
		{.name = "state", .is_variable = 1},
	};
	auto_linked linked = {0};

	add_code(&linked, symbols, gt_countof(symbols));
	CHECK_INT(linked.code.constant_bytes, 32);
}

TEST_MAIN
