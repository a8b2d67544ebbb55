/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every opcode of the device is in a test, and every other is one that its README names. */
#include <ctype.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "ptx/ptx.h"
#include "tap.h"

static const char *const sources[] = {
	"exec.c",        "exec_bulk.c",   "exec_cluster.c", "exec_control.c", "exec_convert.c",
	"exec_fault.c",  "exec_float.c",  "exec_float.def", "exec_integer.c", "exec_integer.def",
	"exec_matrix.c", "exec_memory.c", "exec_mixed.c",   "exec_mixed.def", "exec_module.c",
};

static bool is_in_table(enum gt_ptx_opcode opcode)
{
	static const enum gt_ptx_opcode table[] = {
#define SG_OPCODE(opcode, decoder) GT_PTX_OP_##opcode,
#include "exec/decode/opcodes.def"
#undef SG_OPCODE
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i] == opcode)
			return true;
	return false;
}

static void add_source(struct gt_strbuf *text, const char *folder, const char *name)
{
	const char *root = getenv("SOURCE_ROOT");
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_auto_file file = {0};

	gt_strbuf_printf(&path, "%s/%s%s", root ? root : ".", folder, name);
	if (gt_file_read(gt_strbuf_string(&path), 1 << 20, &file, NULL)) {
		TAP_FAIL("cannot read %s", gt_strbuf_string(&path));
		return;
	}
	gt_strbuf_add(text, (const char *)file.data, file.size);
}

/* Whether an opcode stands there as an instruction: a word, then its modifiers or its end. */
static bool has_instruction(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p++) {
		char before = p == text ? ' ' : p[-1], after = p[length];

		/* In a C string a tab may be written as \t. */
		if (before == 't' && p - text >= 2 && p[-2] == '\\')
			before = ' ';
		if (!isalnum((unsigned char)before) && !strchr("_.%$", before) &&
		    strchr(".;", after))
			return true;
		if (before == '\t' && after == ' ')
			return true;
	}
	return false;
}

TEST("every opcode that the device has is executed by a test")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		add_source(&text, "tests/unit/softgpu/", sources[i]);
	for (int op = 0; op < GT_PTX_OP_COUNT; op++) {
		const char *name = gt_ptx_opcode_name((enum gt_ptx_opcode)op);

		if (is_in_table((enum gt_ptx_opcode)op) &&
		    !has_instruction(gt_strbuf_string(&text), name))
			TAP_FAIL("there is no test with '%s'", name);
	}
}

TEST("the opcodes that the device does not have are those that its README names")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const char *section, *end;

	add_source(&text, "softgpu/", "README.md");
	section = strstr(gt_strbuf_string(&text), "## PTX that it does not have");
	CHECK(section != NULL);
	if (!section)
		return;
	end = strstr(section, "Forms of opcodes");
	CHECK(end != NULL);
	for (int op = 0; op < GT_PTX_OP_COUNT; op++) {
		const char *name = gt_ptx_opcode_name((enum gt_ptx_opcode)op);
		gt_auto_strbuf word = GT_STRBUF_INIT;
		const char *place;
		bool is_named;

		gt_strbuf_printf(&word, "`%s`", name);
		place = strstr(section, gt_strbuf_string(&word));
		is_named = place && place < end;
		if (is_named == is_in_table((enum gt_ptx_opcode)op))
			TAP_FAIL("'%s' is %s", name,
				 is_named ? "named as missing and is there"
					  : "missing and not named");
	}
}

TEST_MAIN
