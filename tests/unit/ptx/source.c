// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Source positions of code and of the calls that were inlined. */
#include "ptx/source.h"
#include "ptx_text.h"
#include "tap.h"

static struct gt_ptx_module *parse(const char *text)
{
	struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};

	if (gt_ptx_parse(text, strlen(text), &module, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	return module;
}

static struct gt_ptx_sources *open_sources(const struct gt_ptx_module *module)
{
	struct gt_ptx_sources *sources = NULL;

	if (module && gt_ptx_sources_new(module, &sources))
		TAP_FAIL("out of memory");
	return sources;
}

/* "file:line:column(function) …" of the .loc before the nth mov of a function. */
static void put_source(struct gt_ptx_sources *sources, const struct gt_ptx_function *function,
		       unsigned which, struct gt_strbuf *text)
{
	const struct gt_ptx_loc *loc = NULL;
	struct gt_ptx_source positions[GT_PTX_MAX_INLINED];
	uint32_t count = 0;

	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement)) {
		if (statement->kind == GT_PTX_STATEMENT_LOC)
			loc = statement->loc;
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION && !which--)
			break;
	}
	CHECK(loc && !gt_ptx_sources_find(sources, function, loc, positions, &count));
	gt_strbuf_clear(text);
	for (uint32_t i = 0; i < count; i++)
		gt_strbuf_printf(text, "%s%s:%u:%u(%s)", i ? " " : "",
				 positions[i].file ? positions[i].file : "?", positions[i].line,
				 positions[i].column,
				 positions[i].function ? positions[i].function : "");
}

#define NAMES                                                                                      \
	".file 1 \"a.cu\"\n.file 2 \"b.h\"\n"                                                      \
	".section .debug_str { $f: .b8 102 .b8 103,0 $h: .b8 104,0 }\n"

TEST("calls that were inlined into inlined functions are followed to the kernel")
{
	/* nvcc 13: each call's position has a .loc of its own before the code of its callee. */
	gt_auto(ptx) struct gt_ptx_module *module = parse(
		KERNEL(".loc 1 5 3\nmov.u32 %r1, 0;\n"
		       ".loc 1 2 31, function_name $f, inlined_at 1 5 3\n"
		       ".loc 2 1 9, function_name $h, inlined_at 1 2 31\nmov.u32 %r1, 1;\n"
		       ".loc 1 6 3\n"
		       ".loc 1 2 31, function_name $f, inlined_at 1 6 3\n"
		       ".loc 2 1 9, function_name $h, inlined_at 1 2 31\nmov.u32 %r1, 2;\n") NAMES);
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = open_sources(module);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!sources)
		return;
	put_source(sources, module->functions, 0, &text);
	CHECK_STR(gt_strbuf_string(&text), "a.cu:5:3()");
	put_source(sources, module->functions, 1, &text);
	CHECK_STR(gt_strbuf_string(&text), "b.h:1:9(h) a.cu:2:31(fg) a.cu:5:3()");
	put_source(sources, module->functions, 2, &text);
	CHECK_STR(gt_strbuf_string(&text), "b.h:1:9(h) a.cu:2:31(fg) a.cu:6:3()");
}

TEST("a call without a .loc of its own ends the chain, and names may begin within a string")
{
	gt_auto(ptx) struct gt_ptx_module *module = parse(KERNEL(
		".loc 7 2 3, function_name $f+1, inlined_at 1 5 3\nmov.u32 %r1, 0;\n"
		".loc 1 2 3, function_name $none, inlined_at 1 2 3\nmov.u32 %r1, 0;\n") NAMES);
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = open_sources(module);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!sources)
		return;
	put_source(sources, module->functions, 0, &text);
	CHECK_STR(gt_strbuf_string(&text), "?:2:3(g) a.cu:5:3()");
	put_source(sources, module->functions, 1, &text);
	CHECK_STR(gt_strbuf_string(&text), "a.cu:2:3() a.cu:2:3()");
}

TEST("a chain of inlined calls has a bound")
{
	gt_auto_strbuf body = GT_STRBUF_INIT;
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = NULL;
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	struct gt_ptx_source positions[GT_PTX_MAX_INLINED];
	const struct gt_ptx_statement *statement;
	uint32_t count = 0;

	gt_strbuf_puts(&body, HEAD ".visible .entry k()\n{\n");
	for (unsigned i = 1; i <= 100; i++)
		gt_strbuf_printf(&body, ".loc 1 %u 1, function_name $f, inlined_at 1 %u 1\n", i,
				 i - 1);
	gt_strbuf_puts(&body, "ret;\n}\n" NAMES);
	module = parse(gt_strbuf_string(&body));
	sources = open_sources(module);
	if (!sources)
		return;
	statement = module->functions->body->first;
	for (unsigned i = 1; i < 100; i++)
		statement = statement->next;
	CHECK(!gt_ptx_sources_find(sources, module->functions, statement->loc, positions, &count));
	CHECK_INT(count, GT_PTX_MAX_INLINED);
	CHECK_INT(positions[0].line, 100);
	CHECK_INT(positions[GT_PTX_MAX_INLINED - 1].line, 101 - GT_PTX_MAX_INLINED);
}

TEST_MAIN
