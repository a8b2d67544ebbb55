/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests execute every opcode of the device, and its README names every opcode that it lacks. */
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "ptx/ptx.h"
#include "tap.h"

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

static void add_file(struct gt_strbuf *text, const char *path)
{
	gt_auto_file file = {0};

	if (gt_file_read(path, 1 << 20, &file, NULL))
		TAP_FAIL("cannot read %s", path);
	else
		gt_strbuf_add(text, (const char *)file.data, file.size);
}

/* The opcodes of the kernels that the test programs launch, a name a line with a newline before. */
static void run_programs(struct gt_strbuf *executed)
{
	char path[] = P_tmpdir "/opcodes-XXXXXX";
	char *programs = strdup(getenv("EXEC_TESTS"));
	int file = mkstemp(path);

	CHECK(file >= 0 && programs);
	for (char *program = strtok(programs, ":"); program; program = strtok(NULL, ":")) {
		gt_auto_strbuf command = GT_STRBUF_INIT;

		gt_strbuf_printf(&command, "OPCODE_RECORD='%s' '%s' >/dev/null 2>&1", path,
				 program);
		if (system(gt_strbuf_string(&command)))
			TAP_FAIL("%s fails", program);
	}
	gt_strbuf_add(executed, "\n", 1);
	add_file(executed, path);
	close(file);
	unlink(path);
	free(programs);
}

TEST("every opcode that the device has is in a kernel that a test launches")
{
	gt_auto_strbuf executed = GT_STRBUF_INIT;

	if (!getenv("EXEC_TESTS"))
		SKIP("EXEC_TESTS does not name the test programs");
	run_programs(&executed);
	for (int op = 0; op < GT_PTX_OP_COUNT; op++) {
		const char *name = gt_ptx_opcode_name((enum gt_ptx_opcode)op);
		gt_auto_strbuf line = GT_STRBUF_INIT;

		gt_strbuf_printf(&line, "\n%s\n", name);
		if (is_in_table((enum gt_ptx_opcode)op) &&
		    !strstr(gt_strbuf_string(&executed), gt_strbuf_string(&line)))
			TAP_FAIL("no test launches a kernel with '%s'", name);
	}
}

TEST("the opcodes that the device does not have are those that its README names")
{
	const char *root = getenv("SOURCE_ROOT");
	gt_auto_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
	const char *section, *end;

	gt_strbuf_printf(&path, "%s/softgpu/README.md", root ? root : ".");
	add_file(&text, gt_strbuf_string(&path));
	section = strstr(gt_strbuf_string(&text), "## Unsupported PTX");
	CHECK(section != NULL);
	if (!section)
		return;
	end = strstr(section, "Unsupported forms");
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
