/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sections, and the contexts of the programs in them. */
#include "gpubpf/section.h"

#include <errno.h>
#include <stddef.h>

#include "gpubpf/context.h"
#include "gpubpf/helpers.h"
#include "gputap/bpf.h"
#include "tap.h"

/* The structures of the header match the table. */
#define IN_ALL(name, at, size, count)                                                              \
	_Static_assert(offsetof(struct gputap_context, name) == (at), #name);                      \
	_Static_assert(sizeof(((struct gputap_context *)0)->name) == (size) * (count), #name);
#define IN_MEMORY(name, at, size, count)                                                           \
	_Static_assert(offsetof(struct gputap_memory, name) == (at), #name);                       \
	_Static_assert(sizeof(((struct gputap_memory *)0)->name) == (size) * (count), #name);
#define IN_BRANCH(name, at, size, count)                                                           \
	_Static_assert(offsetof(struct gputap_branch, name) == (at), #name);                       \
	_Static_assert(sizeof(((struct gputap_branch *)0)->name) == (size) * (count), #name);
#define IN_BARRIER(name, at, size, count)                                                          \
	_Static_assert(offsetof(struct gputap_barrier, name) == (at), #name);                      \
	_Static_assert(sizeof(((struct gputap_barrier *)0)->name) == (size) * (count), #name);
#define GT_IN_ALL IN_ALL
#define GT_IN_MEMORY IN_MEMORY
#define GT_IN_ACCESS IN_MEMORY
#define GT_IN_BRANCH IN_BRANCH
#define GT_IN_BARRIER IN_BARRIER
#define FIELD(name, at, size, count, source, lanes, kinds, levels, ...) kinds(name, at, size, count)
#include "gpubpf/context.def"
#undef FIELD
#undef GT_IN_ALL
#undef GT_IN_MEMORY
#undef GT_IN_ACCESS
#undef GT_IN_BRANCH
#undef GT_IN_BARRIER

_Static_assert((int)GPUTAP_ARGUMENTS == (int)GT_CONTEXT_ARGUMENTS, "arguments");
_Static_assert(sizeof(struct gputap_memory) <= GT_CONTEXT_SIZE, "contexts");
_Static_assert((int)GPUTAP_SPACE_PARAM == (int)GT_SPACE_PARAM, "spaces");
_Static_assert((int)GPUTAP_COPY == (int)GT_MEMORY_COPY, "accesses");
_Static_assert((int)GPUTAP_LANE_THREAD_Z == (int)GT_LANE_THREAD_Z, "lane fields");

#define ONE_BLOCK                                                                                  \
	"a basic block (__BB<n>) is one of a single kernel, and does not return: use it with "     \
	"kprobe/, and as the only name"
#define REGISTER_NAMES                                                                             \
	"names of up to 32 registers of PTX, without their '%', may follow the basic block: "      \
	"<kernel>__BB<n>__<register>__<register>"
#define REGISTERS_11 "__a__b__c__d__e__f__g__h__i__j__k"

/* Return a section as text. */
static const char *read_section(const char *section, const char *program)
{
	static char text[1024];
	struct gt_section read;
	struct gt_diag diag = {0};

	if (gt_section_read(section, program, &read, &diag))
		snprintf(text, sizeof(text), "%s: %s", diag.place, diag.text);
	else if (read.kind == GT_KIND_HOST)
		return "for Linux";
	else
		snprintf(text, sizeof(text), "%s %s %s%s", gt_section_row(read.kind)->name,
			 gt_level_name(read.level), read.list ? "list " : "", read.pattern);
	return text;
}

static bool matches(const char *name, const char *mangled, const char *demangled)
{
	struct gt_section section;

	return !gt_section_read(name, "p", &section, NULL) &&
	       gt_section_matches(&section, mangled, demangled);
}

TEST("a section specifies the kind, the level and the kernels of its program")
{
	CHECK_STR(read_section("gpu/entry/gemm*", "p"), "entry thread gemm*");
	CHECK_STR(read_section("gpu/exit.warp/*", "p"), "exit warp *");
	CHECK_STR(read_section("gpu/exit.block/ns::f<a/b>*", "p"), "exit block ns::f<a/b>*");
	CHECK_STR(read_section("gpu/load.warp/gemm*", "p"), "load warp gemm*");
	CHECK_STR(read_section("gpu/load", "p"), "load thread *");
	CHECK_STR(read_section("gpu/load.warp", "p"), "load warp *");
	CHECK_STR(read_section("gpu/block_begin", "p"), "block_begin block *");
	CHECK_STR(read_section("gpu/block_end.block/k", "p"), "block_end block k");
	CHECK_STR(read_section("gpu/call/device_function", "p"), "call thread device_function");
	CHECK_STR(read_section("gpu/run", "p"), "run thread *");
}

TEST("a section of bpftime can be a basic block of a kernel, and list registers of PTX")
{
	struct gt_section section;
	const char *name;
	size_t length;

	CHECK_STR(read_section("kprobe/add__BB4__r2__rd8", "cuda__add"),
		  "basic_block thread list add__BB4__r2__rd8");
	CHECK(!gt_section_read("kprobe/cuda__Z3addv__BB12__r2__my_reg", "p", &section, NULL));
	CHECK_INT(section.block, 13);
	CHECK(gt_section_matches(&section, "_Z3addv", NULL));
	CHECK(!gt_section_matches(&section, "_Z3addv__BB12__r2__my_reg", NULL));
	CHECK(gt_section_register(&section, 0, &name, &length) && length == 2 &&
	      !strncmp(name, "r2", 2));
	CHECK(gt_section_register(&section, 1, &name, &length) && length == 6 &&
	      !strncmp(name, "my_reg", 6));
	CHECK(!gt_section_register(&section, 2, &name, &length));
	CHECK(!gt_section_read("kprobe/_Z3addv__BB0", "p", &section, NULL));
	CHECK_INT(section.block, 1);
	CHECK(!section.registers);
	/* Not the number of a block. */
	CHECK(!gt_section_read("kprobe/_Z3addv__BBox", "p", &section, NULL));
	CHECK_INT(section.kind, GT_KIND_ENTRY);
	CHECK(gt_section_matches(&section, "_Z3addv__BBox", NULL));
}

TEST("an unknown GPU section is rejected with the known ones")
{
#define KNOWN                                                                                      \
	" (one of: gpu/entry, gpu/exit, gpu/finish, gpu/block_begin, gpu/block_end, "              \
	"gpu/load_begin, "                                                                         \
	"gpu/load, gpu/store, "                                                                    \
	"gpu/memory, gpu/atomic, gpu/copy, gpu/barrier, gpu/barrier_end, gpu/branch, gpu/loop, "   \
	"gpu/call, "                                                                               \
	"gpu/return, gpu/loop_end, gpu/line, gpu/basic_block, gpu/run)"
	CHECK_STR(read_section("gpu/entri/x", "p"),
		  "gpu/entri/x: unknown GPU section, did you mean gpu/entry?" KNOWN);
	CHECK_STR(read_section("gpu/laod", "p"),
		  "gpu/laod: unknown GPU section, did you mean gpu/load?" KNOWN);
	CHECK_STR(read_section("gpu/nothing", "p"), "gpu/nothing: unknown GPU section" KNOWN);
#undef KNOWN
	CHECK_STR(read_section("gpu/load.grid/x", "p"),
		  "gpu/load.grid/x: invalid level after the '.' (one of: thread, warp, block)");
	CHECK_STR(read_section("gpu/load./x", "p"),
		  "gpu/load./x: invalid level after the '.' (one of: thread, warp, block)");
	CHECK_STR(read_section("gpu/load.block", "p"),
		  "gpu/load.block: gpu/load cannot run once per block");
	CHECK_STR(read_section("gpu/block_end.warp", "p"),
		  "gpu/block_end.warp: gpu/block_end cannot run once per warp");
	CHECK_STR(read_section("gpu/entry", "p"),
		  "gpu/entry: the names of kernels must follow, as in gpu/entry/<glob>");
	CHECK_STR(read_section("gpu/return/", "p"),
		  "gpu/return/: the names of functions must follow, as in gpu/return/<glob>");
	CHECK_STR(read_section("gpu/run/x", "p"),
		  "gpu/run/x: gpu/run belongs to no kernel: nothing may follow");
}

TEST("kprobe and kretprobe are GPU sections with mangled names and with names with cuda__")
{
	CHECK_STR(read_section("kprobe/_Z9vectorAddPKfS0_Pf", "p"),
		  "entry thread list _Z9vectorAddPKfS0_Pf");
	CHECK_STR(read_section("kretprobe/_Z1av,_Z1bv", "p"), "exit thread list _Z1av,_Z1bv");
	CHECK_STR(read_section("kprobe/mine,_Z1bv", "p"), "entry thread list mine,_Z1bv");
	CHECK_STR(read_section("kprobe/__memcapture", "p"), "memory thread *");
	CHECK_STR(read_section("kprobe/add", "cuda__probe"), "entry thread list add");
	CHECK_STR(read_section("kretprobe/add", "ret__cuda"), "exit thread list add");
	CHECK_STR(read_section("kprobe/do_unlinkat", "p"), "for Linux");
	CHECK_STR(read_section("kretprobe/cuda__Z1av", "p"), "exit thread list cuda__Z1av");
	CHECK(matches("kretprobe/cuda__Z1av", "_Z1av", "a()"));
	CHECK(!matches("kretprobe/cuda__Z1av", "cuda__Z1av", NULL));
	CHECK_STR(read_section("kprobe/add", NULL), "entry thread list add");
	CHECK_STR(read_section("kprobe/__directly_run", "p"), "run thread *");
	CHECK_STR(read_section("kprobe/cuda_add", "p"), "for Linux");
	CHECK_STR(read_section("kprobe/not_Z1av", "p"), "for Linux");
	CHECK_STR(read_section("kretprobe/__memcaptured", "p"), "for Linux");
}

TEST("every name of a list of kprobe counts, and blanks around names do not")
{
	CHECK_STR(read_section("kprobe/vfs_read, _Z3addv", "p"),
		  "entry thread list vfs_read, _Z3addv");
	CHECK_STR(read_section("kprobe/ __memcapture ", "p"), "memory thread *");
	CHECK(matches("kprobe/vfs_read , _Z3addv ", "_Z3addv", NULL));
	CHECK(matches("kprobe/\tvfs_read , _Z3addv ", NULL, "vfs_read"));
	CHECK(!matches("kprobe/vfs_read , _Z3addv ", "_Z3addv ", NULL));
}

TEST("an invalid list of kprobe is rejected with the reason")
{
	CHECK_STR(read_section("kprobe/_Z3addv,__memcapture", "p"),
		  "kprobe/_Z3addv,__memcapture: __memcapture matches all accesses to memory in all "
		  "kernels: it must be the only name; use another section for programs at kernels' "
		  "entries");
	CHECK_STR(read_section("kprobe/__memcapture, _Z3addv", "p"),
		  "kprobe/__memcapture, _Z3addv: __memcapture matches all accesses to memory in "
		  "all kernels: it must be the only name; use another section for programs at "
		  "kernels' entries");
	CHECK_STR(read_section("kretprobe/__memcapture", "p"),
		  "kretprobe/__memcapture: accesses to memory do not return: use __memcapture with "
		  "kprobe/ only");
	CHECK_STR(read_section("kprobe/", "cuda__probe"),
		  "kprobe/: a name is empty: names of kernels, separated by commas, must follow "
		  "the '/'");
	CHECK_STR(read_section("kretprobe/_Z3addv, ,_Z3subv", "p"),
		  "kretprobe/_Z3addv, ,_Z3subv: a name is empty: names of kernels, separated by "
		  "commas, must follow the '/'");
	CHECK_STR(read_section("kprobe/_Z3addv__BB4,_Z3subv", "p"),
		  "kprobe/_Z3addv__BB4,_Z3subv: " ONE_BLOCK);
	CHECK_STR(read_section("kretprobe/_Z3addv__BB4", "p"),
		  "kretprobe/_Z3addv__BB4: " ONE_BLOCK);
	CHECK_STR(read_section("kprobe/_Z3addv__BB1234567890", "p"),
		  "kprobe/_Z3addv__BB1234567890: the number of the basic block is too large");
	CHECK_STR(read_section("kprobe/_Z3addv__BB4r2", "p"),
		  "kprobe/_Z3addv__BB4r2: " REGISTER_NAMES);
	CHECK_STR(read_section("kprobe/_Z3addv__BB4__", "p"),
		  "kprobe/_Z3addv__BB4__: " REGISTER_NAMES);
	CHECK_STR(read_section("kprobe/_Z3addv__BB4__r1____r2", "p"),
		  "kprobe/_Z3addv__BB4__r1____r2: " REGISTER_NAMES);
	CHECK_STR(read_section("kprobe/_Z3addv__BB4__%r1", "p"),
		  "kprobe/_Z3addv__BB4__%r1: " REGISTER_NAMES);
	CHECK_STR(read_section("kprobe/_Z3addv__BB4" REGISTERS_11 REGISTERS_11 REGISTERS_11, "p"),
		  "kprobe/_Z3addv__BB4" REGISTERS_11 REGISTERS_11 REGISTERS_11 ": " REGISTER_NAMES);
	CHECK_STR(read_section("kprobe/__directly_run,_Z3addv", "p"),
		  "kprobe/__directly_run,_Z3addv: __directly_run is a program without a kernel: "
		  "use it "
		  "with kprobe/, and as the only name");
	CHECK_STR(read_section("kretprobe/__directly_run", "p"),
		  "kretprobe/__directly_run: __directly_run is a program without a kernel: use it "
		  "with "
		  "kprobe/, and as the only name");
	CHECK_STR(read_section("kprobe/", "p"), "for Linux");
}

TEST("all other sections are of host programs, whatever the program's name")
{
	CHECK_STR(read_section("uprobe/app:cudaLaunchKernel", "cuda__probe"), "for Linux");
	CHECK_STR(read_section("tracepoint/sched/sched_switch", "p"), "for Linux");
	CHECK_STR(read_section("raw_tp/sys_enter", "p"), "for Linux");
	CHECK_STR(read_section("gpu", "p"), "for Linux");
}

TEST("a pattern matches mangled names, demangled names, and these without parameters")
{
	CHECK(matches("gpu/entry/_Z3add*", "_Z3addPf", "add(float*)"));
	CHECK(matches("gpu/entry/add", "_Z3addPf", "add(float*)"));
	CHECK(matches("gpu/entry/add(float[*])", "_Z3addPf", "add(float*)"));
	CHECK(matches("gpu/load", "_Z3addPf", NULL));
	CHECK(matches("gpu/load", "add", NULL));
	CHECK(!matches("gpu/entry/ad", "_Z3addPf", "add(float*)"));
	CHECK(!matches("gpu/entry/add", NULL, NULL));
	CHECK(matches("kprobe/_Z1av,_Z1bv", "_Z1bv", "b()"));
	CHECK(matches("kprobe/_Z3addv,sub", "_Z3subPf", "sub(float*)"));
	CHECK(!matches("kprobe/_Z3addv,su", "_Z3subPf", "sub(float*)"));
	CHECK(!matches("kprobe/_Z1av,_Z1bv", "_Z1b", NULL));
	CHECK(!matches("kprobe/_Z1av,_Z1bv", "_Z1av,_Z1bv", NULL));
}

static int find(const char *name, uint32_t offset, uint32_t size, struct gt_context_load *load)
{
	struct gt_section section;

	return gt_section_read(name, "p", &section, NULL)
		       ? -1
		       : gt_context_find(&section, offset, size, load);
}

TEST("a load from a context is a part of one field")
{
	struct gt_context_load load;

	CHECK(!find("gpu/entry/*", 4, 4, &load) && load.field->source == GT_SOURCE_THREAD_Y);
	CHECK(!find("gpu/entry/*", 208 + 8 * 31, 8, &load) && load.index == 31);
	CHECK(load.field->source == GT_SOURCE_ARGUMENT && !load.shift);
	CHECK(!find("gpu/entry/*", 208 + 8 + 4, 2, &load) && load.index == 1 && load.shift == 32);
	CHECK(!find("gpu/load", 472, 8, &load) && load.field->source == GT_SOURCE_ADDRESS);
	CHECK(!find("gpu/branch", 472, 4, &load) && load.field->source == GT_SOURCE_TAKEN);
	CHECK(find("gpu/entry/*", 0, 8, &load) == -ENOENT);
	CHECK(find("gpu/entry/*", 472, 8, &load) == -ENOENT);
	CHECK(find("gpu/load", 512, 1, &load) == -ENOENT);
	CHECK(find("gpu/run", 0, 4, &load) == -ENOENT);
}

TEST("contexts of groups have no fields that differ between lanes, and only they have masks")
{
	struct gt_context_load load;

	CHECK(find("gpu/load.warp", 472, 8, &load) == -EACCES);
	CHECK(find("gpu/load.warp", 0, 4, &load) == -EACCES);
	CHECK(find("gpu/load", 60, 4, &load) == -EACCES);
	CHECK(!find("gpu/load.warp", 60, 4, &load) && load.field->source == GT_SOURCE_MASK);
	CHECK(find("gpu/entry.block/*", 60, 4, &load) == -EACCES);
	CHECK(!find("gpu/entry.block/*", 64, 8, &load) && load.field->source == GT_SOURCE_LAUNCH);
}

TEST("fields of one kind do not overlap")
{
	for (unsigned kind = 0; kind < GT_KIND_COUNT; kind++) {
		uint32_t owner[GT_CONTEXT_SIZE] = {0}, number = 0;

		for (const struct gt_context_field *field = gt_context_fields; field->name;
		     field++) {
			number++;
			for (uint32_t at = 0; at < field->size * field->count; at++) {
				if (!(field->kinds >> kind & 1))
					continue;
				CHECK(!owner[field->offset + at]);
				owner[field->offset + at] = number;
			}
			CHECK(field->offset % field->size == 0);
		}
		CHECK(kind == GT_KIND_RUN ? !gt_context_size(kind) : gt_context_size(kind) >= 472);
	}
}

/* The id of a helper in the header. */
#define NUMBER(name) ((uint32_t)(uintptr_t)bpf_##name)

TEST("the header has every helper of the table by its number")
{
	unsigned count = 0;

#define HELPER(number, name, ...)                                                                  \
	CHECK(NUMBER(name) == (number));                                                           \
	count++;
#include "gpubpf/helpers.def"
#undef HELPER
	CHECK(count >= 30);
}

TEST_MAIN
