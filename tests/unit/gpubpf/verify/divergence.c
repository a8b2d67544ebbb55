/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Divergence analysis, warnings about it, and accesses of contexts. */
#include <errno.h>

#include "assemble.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/verify/verify.h"
#include "tap.h"

static struct gt_bpf_map maps[] = {
	{.name = "array", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "per_sm", .type = 6, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "per_warp", .type = 1540, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "per_thread", .type = 1502, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "hash", .type = 1, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "constants",
	 .type = 2,
	 .key_size = 4,
	 .value_size = 8,
	 .max_entries = 1,
	 .read_only = true,
	 .constant = true},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};

/* Return a verdict as text: why a program is rejected, or the facts about its lanes. */
static const char *verdict(const char *section_name, const char *text)
{
	static char said[1024];
	struct gt_section section = {.kind = GT_KIND_HOST};
	struct gt_verify_options options = {
		.input = GT_INPUT_CONTEXT, .section = &section, .allow_control = true};
	struct gt_bpf_program program = {0};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	gt_auto_strbuf result = GT_STRBUF_INIT;

	if (gt_section_read(section_name, "p", &section, &diag) ||
	    gt_bpf_assemble(text, &program.insns, &program.count, &diag) ||
	    gt_verify(&object, &program, &options, &facts, NULL, &diag)) {
		snprintf(said, sizeof(said), "%s: %s", diag.place, diag.text);
		gt_bpf_program_clear(&program);
		return said;
	}
	for (uint32_t i = 0; i < facts.insn_count; i++) {
		if (facts.insns[i].diverges)
			gt_strbuf_printf(&result, "parts %u; ", i);
		if (facts.insns[i].many_keys)
			gt_strbuf_printf(&result, "keys %u; ", i);
		if (facts.insns[i].divergent)
			gt_strbuf_printf(&result, "some %u; ", i);
		if (gt_bpf_is_wide(&program.insns[i]))
			i++;
		else if (program.insns[i].code == (BPF_JMP | BPF_EXIT))
			gt_strbuf_printf(&result, "r0 %s; ",
					 facts.insns[i].registers[0].varying ? "varies" : "same");
	}
	for (uint32_t i = 0; i < facts.warning_count; i++)
		gt_strbuf_printf(&result, "warning %u: %s; ", facts.warnings[i].insn,
				 facts.warnings[i].text);
	snprintf(said, sizeof(said), "%s", gt_strbuf_string(&result));
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
	return said;
}

#define LOOKUP(map, key)                                                                           \
	"stw [r10-8], " key "\nldmap r1, " map "\nmov r2, r10\nadd r2, -8\ncall 1\n"

TEST("fields of contexts vary or do not, and so do values computed from them")
{
	CHECK_STR(verdict("gpu/load", "ldxw r0, [r1+12]\nexit"), "r0 varies; ");
	CHECK_STR(verdict("gpu/load", "ldxw r0, [r1+16]\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/load", "ldxdw r0, [r1+472]\nrsh r0, 5\nexit"), "r0 varies; ");
	CHECK_STR(verdict("gpu/load", "ldxw r0, [r1+12]\nxor r0, r0\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+16]\nldxw r0, [r1+0]\nmov r3, r2\nadd r3, r0\nmov r0, r3\n"
			  "exit"),
		  "r0 varies; ");
	CHECK_STR(verdict("gpu/load.warp", "ldxw r0, [r1+60]\nexit"), "r0 same; ");
}

TEST("results of helpers vary or do not")
{
	CHECK_STR(verdict("gpu/load", "call 511\nexit"), "r0 varies; ");
	CHECK_STR(verdict("gpu/load", "call 509\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/load", "call 511\nmov r1, r0\ncall 523\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/load",
			  "mov r1, r10\nadd r1, -8\nmov r2, r10\nadd r2, -16\nmov r3, r10\n"
			  "add r3, -24\ncall 505\nldxdw r0, [r10-16]\nexit"),
		  "r0 varies; ");
	CHECK_STR(verdict("gpu/load",
			  "mov r1, r10\nadd r1, -8\nmov r2, r10\nadd r2, -16\nmov r3, r10\n"
			  "add r3, -24\ncall 503\nldxdw r0, [r10-16]\nexit"),
		  "r0 same; ");
}

TEST("values in maps vary unless the map is constant")
{
	CHECK_STR(verdict("gpu/load", LOOKUP("0", "1") "ldxdw r0, [r0]\nexit"), "r0 varies; ");
	CHECK_STR(verdict("gpu/load", "ldmapvalue r1, 5, 0\nldxdw r0, [r1]\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("3", "1") "jeq r0, 0, out\nout:\nmov r0, 0\nexit"),
		  "parts 6; r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("1", "1") "jeq r0, 0, out\nout:\nmov r0, 0\nexit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("4", "1") "jeq r0, 0, out\nout:\nmov r0, 0\nexit"),
		  "parts 6; r0 same; ");
}

TEST("lanes that diverged reconverge where paths join, and values written on them vary afterwards")
{
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nmov r0, 1\njeq r2, 0, out\nmov r0, 2\nmov r3, 1\n"
			  "out:\nexit"),
		  "parts 2; some 3; some 4; r0 varies; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nmov r0, 1\njeq r2, 0, out\nmov r3, 2\nout:\nexit"),
		  "parts 2; some 3; r0 same; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+16]\nmov r0, 1\njeq r2, 0, out\nmov r0, 2\nout:\nexit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nstdw [r10-8], 1\njeq r2, 0, out\nstdw [r10-8], 2\n"
			  "out:\nldxdw r0, [r10-8]\nexit"),
		  "parts 2; some 3; r0 varies; ");
	/* Two exits: the result varies, and lanes do not reconverge. */
	CHECK_STR(
		verdict("gpu/load",
			"ldxw r2, [r1+12]\nmov r0, 1\njeq r2, 0, out\nexit\nout:\nmov r0, 2\nexit"),
		"parts 2; some 3; r0 same; some 4; some 5; r0 same; ");
}

TEST("a loop that lanes exit in different iterations is divergent, and its counter varies "
     "afterwards")
{
	CHECK_STR(
		verdict("gpu/load",
			"ldxw r2, [r1+12]\nand r2, 7\nmov r0, 0\nmore:\nadd r0, 1\njgt r0, 8, out\n"
			"jlt r0, r2, more\nout:\nexit"),
		"some 3; some 4; parts 5; some 5; r0 varies; ");
	CHECK_STR(
		verdict("gpu/load",
			"ldxw r2, [r1+16]\nand r2, 7\nmov r0, 0\nmore:\nadd r0, 1\njgt r0, 8, out\n"
			"jlt r0, r2, more\nout:\nexit"),
		"r0 same; ");
}

TEST("a function that some lanes call is divergent, and its result varies")
{
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nmov r0, 0\njeq r2, 0, out\ncall local f\nout:\n"
			  "mov r0, 0\nexit\nf:\nmov r0, 1\nexit"),
		  "parts 2; some 3; r0 same; some 6; some 7; r0 same; ");
	CHECK_STR(verdict("gpu/load", "ldxw r1, [r1+12]\ncall local f\nexit\nf:\nmov r0, 1\n"
				      "jeq r1, 0, out\nmov r0, 2\nout:\nexit"),
		  "r0 varies; parts 4; some 5; r0 varies; ");
	/* Through a pointer into the caller's stack. */
	CHECK_STR(
		verdict("gpu/load",
			"mov r2, r1\nmov r1, r10\nadd r1, -8\nstdw [r10-8], 0\ncall local f\n"
			"ldxdw r0, [r10-8]\nexit\nf:\nldxw r0, [r2+12]\nstxdw [r1], r0\nmov r0, 0\n"
			"exit"),
		"r0 varies; r0 same; ");
}

TEST("helpers of a warp are rejected where its lanes may have diverged")
{
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nmov r0, 0\njeq r2, 0, out\nmov r1, 1\ncall 521\n"
			  "out:\nexit"),
		  "insn 4: warp_ballot#521 requires the lanes of the warp to be converged: they "
		  "may diverge at insn 2");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nmov r0, 0\njeq r2, 0, out\ncall local f\nout:\nexit\n"
			  "f:\nmov r1, 1\nmov r2, 2\ncall 522\nexit"),
		  "insn 7: warp_shuffle#522 requires the lanes of the warp to be converged: they "
		  "may diverge at insn 2");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\njeq r2, 0, out\nmov r3, 0\nout:\nmov r1, 1\ncall 523\n"
			  "exit"),
		  "parts 1; some 2; r0 same; ");
}

TEST("collective helpers are rejected where threads exit")
{
	static const char *const sections[] = {"gpu/exit/*", "gpu/finish/*", "gpu/return/*",
					       "gpu/exit.warp/*", "gpu/block_end"};
	char expected[256];

	for (unsigned i = 0; i < gt_countof(sections); i++) {
		struct gt_section section;

		gt_section_read(sections[i], "p", &section, NULL);
		snprintf(expected, sizeof(expected),
			 "insn 1: warp_sum#523 waits for other lanes: not allowed at gpu/%s, where "
			 "some have exited",
			 gt_section_row(section.kind)->name);
		CHECK_STR(verdict(sections[i], "mov r1, 1\ncall 523\nexit"), expected);
	}
	CHECK_STR(verdict("gpu/exit/*", "call 506\nmov r0, 0\nexit"), "r0 same; ");
	CHECK_STR(verdict("gpu/exit/*", "call 520\nexit"), "r0 same; ");
}

TEST("helpers of groups are rejected in programs of other levels")
{
	CHECK_STR(verdict("gpu/load.warp", "mov r1, 1\ncall 521\nexit"),
		  "insn 1: warp_ballot#521 is for programs that run once per thread: this one runs "
		  "once per warp");
	CHECK_STR(verdict("gpu/load", "mov r1, 0\nmov r2, 1\ncall 524\nexit"),
		  "insn 2: warp_lane_value#524 is for programs that run once per warp: this one "
		  "runs once per thread");
	CHECK_STR(verdict("gpu/block_begin", "mov r1, 0\nmov r2, 1\ncall 524\nexit"),
		  "insn 2: warp_lane_value#524 is for programs that run once per warp: this one "
		  "runs once per block");
	CHECK_STR(verdict("gpu/load.warp", "mov r1, 0\nmov r2, 1\ncall 524\nexit"), "r0 same; ");
}

TEST("a lane field is a constant and part of the context")
{
	CHECK_STR(verdict("gpu/load.warp", "ldxw r1, [r1+60]\nmov r2, 1\ncall 524\nexit"),
		  "insn 2: R1 is not a known constant");
	CHECK_STR(verdict("gpu/load.warp", "mov r1, 7\nmov r2, 1\ncall 524\nexit"),
		  "insn 2: R1 is not a lane field: 7");
	CHECK_STR(verdict("gpu/branch.warp", "mov r1, 0\nmov r2, 1\ncall 524\nexit"),
		  "insn 2: a context of gpu/branch has no field 'address'");
	CHECK_STR(verdict("gpu/load.warp", "mov r2, 1\ncall 524\nexit"),
		  "insn 1: R1 type=ctx expected=scalar");
}

#define SOME_END "ldxw r2, [r1+12]\njne r2, 3, on\ncall 507\non:\n"

TEST("a warp whose lanes may have ended does not reconverge")
{
	CHECK_STR(verdict("gpu/load", SOME_END "mov r1, 1\ncall 523\nexit"),
		  "insn 4: warp_sum#523 requires the lanes of the warp to be converged: they may "
		  "diverge at insn 1");
	CHECK_STR(verdict("gpu/load", "call local f\nmov r1, 1\ncall 523\nexit\n"
				      "f:\n" SOME_END "mov r0, 0\nexit"),
		  "insn 2: warp_sum#523 requires the lanes of the warp to be converged: they may "
		  "diverge at insn 0");
	/* In a callee of a callee. */
	CHECK_STR(verdict("gpu/load", "call local g\nmov r1, 1\ncall 523\nexit\n"
				      "g:\ncall local f\nmov r0, 0\nexit\n"
				      "f:\n" SOME_END "mov r0, 0\nexit"),
		  "insn 2: warp_sum#523 requires the lanes of the warp to be converged: they may "
		  "diverge at insn 0");
	/* All lanes end, or none. */
	CHECK_STR(verdict("gpu/load", "ldxw r2, [r1+16]\njne r2, 3, on\ncall 507\non:\nmov r1, 1\n"
				      "call 523\nexit"),
		  "r0 same; ");
}

TEST("a histogram of varying values is serialized by lane")
{
	CHECK_STR(verdict("gpu/load", "ldxw r2, [r1+12]\nldmap r1, 0\ncall 530\nmov r0, 0\nexit"),
		  "keys 3; r0 same; warning 3: the lanes of a warp do this atomic operation on "
		  "different values of map 'array': lanes with the same value are serialized; ");
	CHECK_STR(verdict("gpu/load", "ldxw r2, [r1+16]\nldmap r1, 0\ncall 530\nmov r0, 0\nexit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load", "ldxw r2, [r1+12]\nldmap r1, 3\ncall 530\nmov r0, 0\nexit"),
		  "keys 3; r0 same; ");
}

TEST("loads from contexts are within one existing field, and contexts are read-only")
{
	CHECK_STR(verdict("gpu/load", "ldxdw r0, [r1+0]\nexit"),
		  "insn 0: invalid bpf_context access off=0 size=8: it is not within one field: it "
		  "overlaps 'thread_x', 'thread_y'");
	CHECK_STR(
		verdict("gpu/entry/*", "ldxdw r0, [r1+472]\nexit"),
		"insn 0: invalid bpf_context access off=472 size=8: a context of gpu/entry has no "
		"field 'address'");
	CHECK_STR(verdict("gpu/load", "ldxdw r0, [r1+512]\nexit"),
		  "insn 0: invalid bpf_context access off=512 size=8: the context of gpu/load has "
		  "512 bytes");
	CHECK_STR(verdict("gpu/load", "ldxdw r0, [r1-8]\nexit"),
		  "insn 0: invalid bpf_context access off=-8 size=8: the context of gpu/load has "
		  "512 bytes");
	CHECK_STR(verdict("gpu/load", "stw [r1+4], 1\nmov r0, 0\nexit"),
		  "insn 0: invalid bpf_context access off=4 size=4: contexts are read-only");
	CHECK_STR(verdict("gpu/load.warp", "ldxdw r0, [r1+472]\nexit"),
		  "insn 0: field 'address' differs between the lanes of a warp: a program that "
		  "runs once per warp reads it by warp_lane_value#524");
	CHECK_STR(verdict("gpu/block_begin", "ldxw r0, [r1+28]\nexit"),
		  "insn 0: field 'warp' is not available in programs that run once per block");
	CHECK_STR(verdict("gpu/load", "ldxw r0, [r1+60]\nexit"),
		  "insn 0: field 'mask' is not available in programs that run once per thread");
}

#define ONE_OF_TWO "ldxw r2, [r1+0]\njgt r2, 3, other\n"

TEST("one load reads the same field on all paths, and only the context")
{
	CHECK_STR(verdict("gpu/load", ONE_OF_TWO "add r1, 4\nother:\nldxw r0, [r1+16]\nexit"),
		  "insn 3: dereference of modified ctx ptr R1 off=4 disallowed: read fields into "
		  "variables before the branch or loop that selects one");
	CHECK_STR(verdict("gpu/load", "stdw [r10-8], 5\nmov r3, r10\nadd r3, -24\n" ONE_OF_TWO
				      "mov r1, r3\nother:\nldxw r0, [r1+16]\nexit"),
		  "insn 6: same insn cannot be used with different pointers");
	CHECK_STR(verdict("gpu/load", "stdw [r10-8], 5\nmov r3, r1\nldxw r2, [r1+0]\n"
				      "mov r1, r10\nadd r1, -24\njgt r2, 3, other\nmov r1, r3\n"
				      "other:\nldxw r0, [r1+16]\nexit"),
		  "insn 7: same insn cannot be used with different pointers");
	CHECK_STR(verdict("gpu/load", "mov r3, r1\nstxdw [r10-8], r1\n" ONE_OF_TWO
				      "ldxdw r3, [r10-8]\nother:\nldxw r0, [r3+16]\nexit"),
		  "parts 3; some 4; r0 varies; ");
}

TEST("an address of the kernel is a scalar that cannot be dereferenced")
{
	CHECK_STR(verdict("gpu/load", "ldxdw r2, [r1+472]\nldxdw r0, [r2]\nexit"),
		  "insn 1: R2 invalid mem access 'scalar'");
	CHECK_STR(verdict("gpu/load", "ldxdw r6, [r1+472]\n" LOOKUP("0", "1") //
			  "stxdw [r0], r6\nmov r0, 0\nexit"),
		  "r0 same; ");
}

TEST("keys that vary between lanes are reported")
{
	CHECK_STR(verdict("gpu/load", "ldxw r2, [r1+12]\nand r2, 3\nstxw [r10-4], r2\nldmap r1, 0\n"
				      "mov r2, r10\nadd r2, -4\ncall 1\nmov r0, 0\nexit"),
		  "keys 7; r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("0", "1") "mov r0, 0\nexit"), "r0 same; ");
}

#define COUNT(map, operation)                                                                      \
	LOOKUP(map, "1") "jeq r0, 0, out\nmov r1, 1\n" operation "\nout:\nmov r0, 0\nexit"

TEST("operations that serialize lanes are warned of")
{
	CHECK_STR(verdict("gpu/load", LOOKUP("0", "1") "mov r1, 1\nlock add [r0], r1\nmov r0, 0\n"
						       "exit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("0", "1") "mov r1, 1\nlock fetch_add [r0], r1\n"
						       "mov r0, 0\nexit"),
		  "r0 same; warning 7: all lanes of a warp do this atomic operation on the same "
		  "value of map 'array' and use its result: they are serialized; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nstxw [r10-4], r2\nldmap r1, 0\nmov r2, r10\n"
			  "add r2, -4\ncall 1\njeq r0, 0, out\nmov r1, 1\nlock add [r0], r1\nout:\n"
			  "mov r0, 0\nexit"),
		  "keys 6; parts 7; some 8; some 9; r0 same; warning 9: the lanes of a warp do "
		  "this atomic operation on different values of map 'array': lanes with the same "
		  "value are serialized; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nstxw [r10-4], r2\nldmap r1, 0\nmov r2, r10\n"
			  "add r2, -4\nmov r3, 1\ncall 531\nmov r0, 0\nexit"),
		  "keys 7; r0 same; warning 7: the lanes of a warp do this atomic operation on "
		  "different values of map 'array': lanes with the same value are serialized; ");
	CHECK_STR(verdict("gpu/load", COUNT("3", "lock fetch_add [r0], r1")),
		  "parts 6; some 7; some 8; r0 same; ");
	CHECK_STR(verdict("gpu/load", "stw [r10-4], 1\nstdw [r10-16], 1\nldmap r1, 4\nmov r2, r10\n"
				      "add r2, -4\nmov r3, r10\nadd r3, -16\nmov r4, 0\ncall 2\n"
				      "mov r0, 0\nexit"),
		  "r0 same; warning 9: all lanes of a warp have the same key: map_update_elem#2 on "
		  "map 'hash' is serialized by lane; a section with .warp runs it once; ");
	CHECK_STR(verdict("gpu/run", "stw [r10-4], 1\nstdw [r10-16], 1\nldmap r1, 4\nmov r2, r10\n"
				     "add r2, -4\nmov r3, r10\nadd r3, -16\nmov r4, 0\ncall 2\n"
				     "mov r0, 0\nexit"),
		  "r0 same; warning 9: all lanes of a warp have the same key: map_update_elem#2 on "
		  "map 'hash' is serialized by lane; ");
	CHECK_STR(verdict("gpu/load.warp", LOOKUP("0", "1") "mov r1, 1\nlock fetch_add [r0], r1\n"
							    "mov r0, 0\nexit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load", "stw [r10-4], 0\nmov r1, r10\nadd r1, -4\nmov r2, 4\ncall 6\n"
				      "exit"),
		  "r0 varies; warning 4: trace_printk#6 is serialized by lane; ");
}

TEST("non-atomic updates of values that warps share are rejected")
{
	CHECK_STR(verdict("gpu/load", COUNT("1", "ldxdw r1, [r0]\nadd r1, 1\nstxdw [r0], r1")),
		  "insn 10: R1 comes from map 'per_sm' and is stored back to it, but its copy is "
		  "shared by the warps of an SM: use an atomic operation (__sync_fetch_and_add)");
	CHECK_STR(verdict("gpu/load.warp", COUNT("1", "ldxdw r1, [r0]\nadd r1, 1\nstxdw [r0], r1")),
		  "insn 10: R1 comes from map 'per_sm' and is stored back to it, but its copy is "
		  "shared by the warps of an SM: use an atomic operation (__sync_fetch_and_add)");
	CHECK_STR(verdict("gpu/load", COUNT("2", "ldxdw r1, [r0]\nadd r1, 1\nstxdw [r0], r1")),
		  "insn 10: R1 comes from map 'per_warp' and is stored back to it, but its copy is "
		  "shared by the lanes of a warp: use an atomic operation (__sync_fetch_and_add)");
	CHECK_STR(verdict("gpu/load.warp", COUNT("2", "ldxdw r1, [r0]\nadd r1, 1\nstxdw [r0], r1")),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load", COUNT("3", "ldxdw r1, [r0]\nadd r1, 1\nstxdw [r0], r1")),
		  "parts 6; some 7; some 8; some 9; some 10; r0 same; ");
	CHECK_STR(verdict("gpu/load", COUNT("1", "lock add [r0], r1")), "r0 same; ");
	CHECK_STR(verdict("gpu/load", COUNT("1", "stxdw [r0], r1")), "r0 same; ");
	CHECK_STR(verdict("gpu/load", LOOKUP("0", "1") "ldxdw r1, [r0]\nadd r1, 1\n"
						       "stxdw [r0], r1\nmov r0, 0\nexit"),
		  "r0 same; warning 8: R1 comes from map 'array' and is stored back to it: "
		  "concurrent stores of other threads are lost; use an atomic operation; ");
}

TEST("a part of a spilled scalar keeps its value")
{
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nand r2, 7\nstxw [r10-8], r2\n"
			  "ldxw r3, [r10-8]\nmov r1, r10\nadd r1, -16\nstdw [r10-16], 0\n"
			  "add r1, r3\nldxb r0, [r1]\nmov r0, 0\nexit"),
		  "r0 same; ");
	CHECK_STR(verdict("gpu/load",
			  "ldxw r2, [r1+12]\nand r2, 7\nstxw [r10-8], r2\n"
			  "stb [r10-8], 200\nldxw r3, [r10-8]\nmov r1, r10\nadd r1, -16\n"
			  "stdw [r10-16], 0\nadd r1, r3\nldxb r0, [r1]\nexit"),
		  "insn 9: invalid unbounded variable-offset read from stack R1");
}

/* Whether the verifier knows that a field is not beyond a bound: then a bad load is unreachable. */
static bool is_bounded(const struct gt_context_field *field, const char *jump, uint64_t bound)
{
	char text[256];
	gt_auto_strbuf name = GT_STRBUF_INIT;
	unsigned kind = 0;

	while (!(field->kinds >> kind & 1))
		kind++;
	gt_strbuf_printf(&name, "gpu/%s%s/*", gt_section_row(kind)->name,
			 field->levels >> GT_LEVEL_THREAD & 1 ? "" : ".warp");
	snprintf(text, sizeof(text),
		 "ldx%s r1, [r1+%u]\nmov r0, 0\n%s r1, %llu, bad\nexit\nbad:\n"
		 "ldxb r0, [r0+0]\nexit",
		 field->size == 8 ? "dw" : "w", field->offset, jump, (unsigned long long)bound);
	return !strstr(verdict(gt_strbuf_string(&name), text), "invalid mem access");
}

TEST("the verifier knows the bounds of each field of a context, and no narrower ones")
{
	unsigned bounded = 0;

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (field->max > INT32_MAX) /* not an immediate */
			continue;
		bounded++;
		if (!is_bounded(field, "jgt", field->max) ||
		    is_bounded(field, "jgt", field->max - 1) ||
		    (field->min && !is_bounded(field, "jlt", field->min)) ||
		    is_bounded(field, "jlt", field->min + 1))
			TAP_FAIL("%s: %s", field->name, verdict("gpu/load", "exit"));
	}
	CHECK(bounded >= 20);
}

TEST("parts of a field have the bounds of the field, and so do helpers that return it")
{
	static const char index[] = "ldmapvalue r2, 5, 0\nadd r2, r0\nldxb r0, [r2+0]\nexit";
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK_STR(verdict("gpu/load", "ldxh r0, [r1+14]\njeq r0, 0, +1\nldxb r0, [r0+0]\nexit"),
		  "r0 varies; ");
	gt_strbuf_printf(&text, "call 511\nrsh r0, 2\n%s", index);
	CHECK_STR(verdict("gpu/load", gt_strbuf_string(&text)), "r0 varies; ");
	gt_strbuf_clear(&text);
	gt_strbuf_printf(&text, "call 511\nrsh r0, 1\n%s", index);
	CHECK(strstr(verdict("gpu/load", gt_strbuf_string(&text)), "outside of the allowed"));
	gt_strbuf_clear(&text);
	gt_strbuf_printf(&text, "ldxsb r0, [r1+12]\nrsh r0, 2\n%s", index);
	CHECK_STR(verdict("gpu/load", gt_strbuf_string(&text)), "r0 varies; ");
}

TEST_MAIN
