/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Patched modules: programs that change the kernel, what becomes of modules and their symbols, and
 * bodies as functions.
 */
#include "base/register_limit.h"
#include "patch_running.h"

/* ---- programs that change the kernel --------------------------------------------------- */

/* Each thread of a block of 32 stores 7 at its index in the grid. */
#define FILL                                                                                       \
	KERNEL("\tmov.u32 %r2, %ctaid.x;\n\tmad.lo.u32 %r3, %r2, 32, %r1;\n"                       \
	       "\tmul.wide.u32 %rd2, %r3, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"                       \
	       "\tst.global.u32 [%rd3], 7;\n\tret;\n")

/* Run FILL on 4 blocks with the programs; bit n of the result: some thread of block n stored. */
static unsigned filled_blocks(struct patched_module *patched, unsigned *ret_stored)
{
	uint32_t memory[WORDS] = {0};
	unsigned blocks = 0;

	if (!patch_text(patched, FILL, (struct gt_patch_options){0}))
		return 0;
	run_kernel(gt_strbuf_string(&patched->result.text), patched->result.prefix,
		   (struct launch_shape){4, 32}, memory, patched->counts);
	*ret_stored = 0;
	for (unsigned i = 0; i < 4 * 32; i++)
		if (memory[i] == 7) {
			blocks |= 1u << i / 32;
			++*ret_stored;
		}
	return blocks;
}

TEST("a program that ends the threads of a block at entry skips the block")
{
	static const char *const sections[] = {"gpu/entry/k", "gpu/entry.warp/k"};

	for (size_t i = 0; i < gt_countof(sections); i++) {
		auto_patched patched = {0};
		unsigned stored;

		/* Block 2 */
		add_probe(&patched, sections[i],
			  "ldxw r6, [r1+16]\njne r6, 2, on\ncall 507\non:\nmov r6, 1");
		add_probe(&patched, "gpu/exit/k", NULL);
		CHECK(filled_blocks(&patched, &stored) == 0xb);
		CHECK(stored == 96);
		CHECK(patched.counts[0] == (i ? 3 : 96));
		CHECK(patched.counts[1] == 96);
	}
}

TEST("a program that ends some threads leaves the others alone")
{
	auto_patched patched = {0};
	unsigned stored;

	add_probe(&patched, "gpu/store/k",
		  "ldxw r6, [r1+12]\njlt r6, 5, on\ncall 507\non:\nmov r6, 1");
	CHECK(filled_blocks(&patched, &stored) == 0xf);
	CHECK(stored == 4 * 5);
	CHECK(patched.counts[0] == 4 * 5);
}

TEST("a block's last thread is not looked for where a program ends threads")
{
	auto_patched patched = {0};
	unsigned stored;

	add_probe(&patched, "gpu/entry/k",
		  "ldxw r6, [r1+12]\njne r6, 5, on\ncall 507\non:\nmov r6, 1");
	add_probe(&patched, "gpu/block_end", NULL);
	CHECK(filled_blocks(&patched, &stored) == 0xf);
	CHECK(stored == 4 * 31);
	CHECK(patched.counts[1] == 0);
	CHECK(patched.result.rejected == 1);
	if (patched.result.rejections.count == 1)
		CHECK_STR(
			patched.result.rejections.items[0].reason,
			"a program that runs in it ends threads (bpf_exit), which are not counted");
}

TEST("prefetches and hints on eviction change no result")
{
	static const char *const texts[] = {
		KERNEL("\tld.global.u32 %r2, [%rd3+4];\n\tst.global.u32 [%rd3], %r2;\n\tret;\n"),
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
		"\tld.param.u64 %rd1, [p];\n\tld.global.u32 %r2, [%rd1+4];\n"
		"\tst.global.u32 [%rd1], %r2;\n\tret;\n}\n",
	};
	static const char *const sections[] = {"gpu/load", "gpu/load.warp"};

	for (size_t i = 0; i < gt_countof(texts) * gt_countof(sections); i++) {
		auto_patched patched = {0};

		for (unsigned where = 0; where < 4; where++) {
			gt_auto_strbuf read = GT_STRBUF_INIT;

			gt_strbuf_printf(&read, "%s\nmov r2, %u\ncall 550\nmov r6, r0\nadd r6, 1",
					 i % 2 ? "ldxdw r1, [r1+208]" : "ldxdw r1, [r1+472]",
					 where);
			add_probe(&patched, sections[i % 2], gt_strbuf_string(&read));
		}
		CHECK(run_patched(&patched, texts[i / 2], (struct launch_shape){1, 32},
				  (struct gt_patch_options){0}));
		CHECK(patched.counts[3] == (i % 2 ? 1 : 32));
		CHECK(!!strstr(gt_strbuf_string(&patched.result.text),
			       "prefetch.global.L2::evict_last") == (i / 2 == 1));
	}
}

/* ---- modules --------------------------------------------------------------------------- */

#define PLAIN_KERNEL(name)                                                                         \
	".visible .entry " name "(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"                        \
	"\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 1;\n\tret;\n}\n"

TEST("a module that nothing matches has no text")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/entry/other", NULL);
	CHECK(patch_text(&patched, HEADER PLAIN_KERNEL("k"), (struct gt_patch_options){0}));
	CHECK(patched.result.scope == GT_PATCH_NONE && !patched.result.text.length);
	CHECK(!patched.result.found && !patched.result.kernels.count);
}

TEST("the end of a body is a site where a branch goes there, not after labels of its lines")
{
	static const struct {
		const char *text;
		uint32_t sites;
	} cases[] = {
		{HEADER ".visible .entry k()\n{\n\tret;\nLtmp0:\nLfunc_end0:\n}\n", 1},
		{HEADER ".visible .entry k()\n{\n\t.reg .pred %p;\n\t@%p bra DONE;\n\tret;\n"
			"Ltmp0:\nDONE:\n}\n",
		 2},
		{HEADER ".visible .entry k()\n{\nLtmp0:\n}\n", 1},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		auto_patched patched = {0};

		add_probe(&patched, "gpu/exit/k", NULL);
		CHECK(patch_text(&patched, cases[i].text, (struct gt_patch_options){0}));
		CHECK_INT(patched.result.found, cases[i].sites);
		remember_text(patched.result.text.data);
	}
}

TEST("matched kernels that share nothing become a side module of their own")
{
	static const char text[] =
		HEADER ".global .align 1 .b8 $str[3] = {104, 105, 0};\n"
		       ".visible .global .align 4 .u32 state;\n"
		       ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
		       ".func unused()\n{\n\tret;\n}\n" PLAIN_KERNEL("k") PLAIN_KERNEL("other");
	auto_patched patched = {0};
	struct gt_ptx_module *side = NULL;

	add_probe(&patched, "gpu/entry/k", NULL);
	CHECK(patch_text(&patched, text, (struct gt_patch_options){0}));
	CHECK(patched.result.scope == GT_PATCH_SIDE && !patched.result.whole_reason);
	CHECK(patched.result.kernels.count == 1);
	CHECK(patched.result.module_kernels == 2 && patched.result.compiled == 1);
	CHECK(!gt_ptx_parse(patched.result.text.data, patched.result.text.length, &side, NULL));
	if (!side)
		return;
	CHECK(gt_ptx_find_function(side, "k"));
	CHECK(!gt_ptx_find_function(side, "other") && !gt_ptx_find_function(side, "unused"));
	CHECK(!gt_ptx_find_variable(side, "state") && !gt_ptx_find_variable(side, "$str"));
	gt_ptx_free(side);
	remember_text(patched.result.text.data);
}

TEST("a kernel that uses a variable of its module takes the whole module with it")
{
	static const char text[] =
		HEADER ".visible .global .align 4 .u32 state;\n"
		       ".visible .entry k()\n{\n"
		       "\tst.global.u32 [state], 1;\n\tret;\n}\n" PLAIN_KERNEL("other");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/entry/k", NULL);
	CHECK(patch_text(&patched, text, (struct gt_patch_options){0}));
	CHECK(patched.result.scope == GT_PATCH_WHOLE);
	CHECK_STR(patched.result.whole_reason, "it uses a variable of the module");
	CHECK(strstr(gt_strbuf_string(&patched.result.text), "other"));
}

TEST("data of compilers that no program can name keep no kernel in its module")
{
	static const char *const names[] = {
		"$str$1",          "__unnamed_2",        "_$_str",
		"__const_$_k_$_w", "switch_$_table_$_k", "__cudart_i2opi_f"};

	for (size_t i = 0; i < 2 * gt_countof(names); i++) {
		/* The same names of variables that others can define or write are nothing special.
		 */
		bool is_private = i < gt_countof(names);
		gt_auto_strbuf text = GT_STRBUF_INIT;
		auto_patched patched = {0};

		gt_strbuf_printf(&text,
				 HEADER "%s.global .align 4 .u32 %s[2] = {1, 2};\n"
					".visible .entry k()\n{\n\t.reg .b32 %%r<2>;\n"
					"\tld.global.u32 %%r1, [%s];\n\tret;\n}\n",
				 is_private ? "" : ".visible ", names[i % gt_countof(names)],
				 names[i % gt_countof(names)]);
		gt_strbuf_puts(&text, PLAIN_KERNEL("other"));
		add_probe(&patched, "gpu/entry/k", NULL);
		CHECK(patch_text(&patched, gt_strbuf_string(&text), (struct gt_patch_options){0}));
		CHECK_INT(patched.result.scope, is_private ? GT_PATCH_SIDE : GT_PATCH_WHOLE);
		remember_text(patched.result.text.data);
	}
}

/* A static variable of k, which `use` may write or pass on; a function f of another kernel too. */
static void check_static(const char *name, const char *use, enum gt_patch_scope scope)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	auto_patched patched = {0};

	gt_strbuf_printf(&text,
			 HEADER ".func f(.param .b64 p)\n{\n\tret;\n}\n"
				".global .align 8 .b8 %s[16] = {1, 2, 3};\n"
				".visible .entry k(.param .u64 out)\n{\n\t.reg .b32 %%r<4>;\n"
				"\t.reg .b64 %%rd<6>;\n\t.reg .pred %%p<2>;\n"
				"\t.param .b64 a;\n\tld.param.u64 %%rd5, [out];\n"
				"\tmov.u64 %%rd1, %s;\n\tadd.s64 %%rd2, %%rd1, 4;\n"
				"\tld.global.nc.u32 %%r1, [%%rd2];\n"
				"\tld.global.u32 %%r2, [%s+8];\n%s\tret;\n}\n",
			 name, name, name, use);
	gt_strbuf_puts(&text, PLAIN_KERNEL("other"));
	add_probe(&patched, "gpu/entry/k", NULL);
	CHECK(patch_text(&patched, gt_strbuf_string(&text), (struct gt_patch_options){0}));
	CHECK_INT(patched.result.scope, scope);
	if (patched.result.scope != scope)
		TAP_FAIL("%s: %s", name, use);
	remember_text(patched.result.text.data);
}

TEST("a static array of a function that is only loaded from keeps no kernel in its module")
{
	static const char selected[] =
		"\tsetp.eq.u64 %p1, %rd2, %rd5;\n\tselp.b64 %rd3, %rd2, %rd1, %p1;\n"
		"\tcvta.global.u64 %rd3, %rd3;\n\tld.u32 %r3, [%rd3];\n";
	static const char *const loads[] = {
		"",
		"\tst.global.u32 [%rd5], %r1;\n",
		selected,
	};
	/* Before and after its definition. */
	static const char in_loop[] =
		"L:\n\tst.global.u32 [%rd4], 1;\n\tmov.u64 %rd4, %rd3;\n"
		"\tcvta.global.u64 %rd3, %rd2;\n\tsetp.eq.u64 %p1, %rd3, 0;\n\t@%p1 bra L;\n";
	static const char *const writes[] = {
		"\tst.global.u32 [_ZZ1kE1t+4], 1;\n",
		"\tst.global.u32 [%rd2], 1;\n",
		in_loop,
		"\tatom.global.add.u32 %r3, [%rd2], 1;\n",
		"\tred.global.add.u32 [%rd2], 1;\n",
		"\tst.global.u64 [%rd5], %rd2;\n",
		"\tshr.u64 %rd3, %rd2, 4;\n\tst.global.u64 [%rd5], %rd3;\n",
		"\tmov.b64 {%r3, %r1}, %rd2;\n\tst.global.u32 [%rd5], %r3;\n",
		"\tst.param.b64 [a], %rd2;\n\tcall f, (a);\n",
		"\tcall f, (%rd2);\n",
		"\tcvt.u32.u64 %r3, %rd1;\n\tshfl.sync.idx.b32 %r3, %r3, 0, 31, -1;\n",
	};

	for (size_t i = 0; i < gt_countof(loads); i++)
		check_static("_ZZ1kE1t", loads[i], GT_PATCH_SIDE);
	for (size_t i = 0; i < gt_countof(writes); i++)
		check_static("_ZZ1kE1t", writes[i], GT_PATCH_WHOLE);
	/* One of the file, which the host can write. */
	check_static("_ZL1t", "", GT_PATCH_WHOLE);
}

TEST("a static array whose address is in memory or returned, or that another kernel writes, is "
     "shared")
{
	static const char head[] = HEADER ".global .align 8 .b8 _ZZ1kE1t[16] = {1, 2, 3};\n"
					  ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n"
					  "\tld.global.u32 %r1, [_ZZ1kE1t];\n\tret;\n}\n";
	/* In a register. */
	static const char returned[] =
		".func (.reg .u64 %a) f()\n{\n\tmov.u64 %a, _ZZ1kE1t;\n\tret;\n}\n"
		".visible .entry writer()\n{\n\t.reg .u64 %rd<2>;\n\tcall (%rd1), f, ();\n"
		"\tst.global.u32 [%rd1], 1;\n\tret;\n}\n";
	static const char *const tails[] = {
		".visible .global .u64 pointers[2] = {0, _ZZ1kE1t};\n",
		".visible .entry writer()\n{\n\tst.global.u32 [_ZZ1kE1t], 1;\n\tret;\n}\n",
		returned,
	};

	for (size_t i = 0; i < gt_countof(tails); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		auto_patched patched = {0};

		gt_strbuf_printf(&text, "%s%s%s", head, tails[i], PLAIN_KERNEL("other"));
		add_probe(&patched, "gpu/entry/k", NULL);
		CHECK(patch_text(&patched, gt_strbuf_string(&text), (struct gt_patch_options){0}));
		CHECK_INT(patched.result.scope, GT_PATCH_WHOLE);
		CHECK_STR(patched.result.whole_reason, "it uses a variable of the module");
	}
}

TEST("a kernel that another one launches takes the whole module with it")
{
	static const char text[] = HEADER PLAIN_KERNEL(
		"k") ".visible .entry other()\n{\n\t.reg .b64 %rd<2>;\n"
		     "\tmov.u64 %rd1, k;\n\tst.global.u64 [%rd1], %rd1;\n\tret;\n}\n";
	static const char table[] =
		HEADER PLAIN_KERNEL("k") PLAIN_KERNEL("other") ".global .u64 table[1] = {k};\n";
	const char *const texts[] = {text, table};

	for (size_t i = 0; i < gt_countof(texts); i++) {
		auto_patched patched = {0};

		add_probe(&patched, "gpu/entry/k", NULL);
		CHECK(patch_text(&patched, texts[i], (struct gt_patch_options){0}));
		CHECK(patched.result.scope == GT_PATCH_WHOLE);
		CHECK_STR(patched.result.whole_reason,
			  "another function of the module launches it");
		CHECK(patched.result.module_kernels == 2 && patched.result.compiled == 2);
	}
}

TEST("a module that uses our prefix gets another one")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/entry/k", NULL);
	CHECK(run_patched(&patched, HEADER ".global .u32 gputap_map_0;\n" PLAIN_KERNEL("k"),
			  (struct launch_shape){1, 3}, (struct gt_patch_options){0}));
	CHECK_STR(patched.result.prefix, "gputap1_");
	CHECK(patched.counts[0] == 3);
}

TEST("without a program the module is printed as it was, and its sites are counted")
{
	static const char comment[] = "\n" GT_REGISTER_COMMENT "k" GT_REGISTER_COMMENT_END;
	auto_patched patched = {0};
	struct gt_strbuf plain = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	char *at;

	CHECK(!gt_section_read("gpu/memory", "p", &patched.programs[0].section, &diag));
	patched.count = 1;
	CHECK(patch_text(&patched, HEADER PLAIN_KERNEL("k"), (struct gt_patch_options){0}));
	CHECK(patched.result.scope == GT_PATCH_WHOLE && patched.result.patched == 1);
	gt_ptx_print(patched.module, &plain);
	at = strstr(gt_strbuf_string(&patched.result.text), comment);
	CHECK(at);
	if (at)
		memmove(at, at + sizeof(comment) - 1, strlen(at + sizeof(comment) - 1) + 1);
	CHECK_STR(gt_strbuf_string(&patched.result.text), gt_strbuf_string(&plain));
	gt_strbuf_free(&plain);
}

/* Launch 6 threads of the switchable programs of `sections`, with these switches. */
static void run_switched(const char *const sections[2], const uint32_t switches[2],
			 uint64_t counts[2])
{
	auto_patched patched = {0};
	auto_device device = {0};
	uint64_t words[1][2] = {{0, 1}};
	const struct gt_symbol_values symbols = {.maps = words};
	struct sg_module *module;
	uint64_t *array;
	uint32_t *memory, *words_on;

	device_open(&device);
	array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	memory = device_memory(&device, WORDS * sizeof(*memory));
	words_on = device_memory(&device, 2 * sizeof(*words_on));
	memcpy(words_on, switches, 2 * sizeof(*words_on));
	words[0][0] = address_of(array);
	add_probe(&patched, sections[0], NULL);
	add_probe(&patched, sections[1], NULL);
	CHECK(patch_text(&patched, HEADER PLAIN_KERNEL("k"),
			 (struct gt_patch_options){.symbols = &symbols,
						   .switchable = true,
						   .switches = address_of(words_on)}));
	module = device_load(&device, gt_strbuf_string(&patched.result.text));
	device_run(&device, module, "k", 1, 6, address_of(memory));
	memcpy(counts, array, 2 * sizeof(*counts));
	sg_module_free(module);
}

TEST("a program whose switch is off does not run")
{
	static const char *const sections[] = {"gpu/entry/k", "gpu/store"};
	static const char *const warps[] = {"gpu/entry.warp/k", "gpu/store.warp"};
	uint64_t counts[2];

	run_switched(sections, (const uint32_t[]){1, 1}, counts);
	CHECK(counts[0] == 6 && counts[1] == 6);
	run_switched(sections, (const uint32_t[]){1, 0}, counts);
	CHECK(counts[0] == 6 && counts[1] == 0);
	run_switched(warps, (const uint32_t[]){0, 1}, counts);
	CHECK(counts[0] == 0 && counts[1] == 1);
}

TEST("symbols have the initial values that were given, and nobody has to set them")
{
	auto_patched patched = {0};
	auto_device device = {0};
	uint64_t words[1][2] = {{0, 1}};
	const struct gt_symbol_values symbols = {.maps = words};
	struct sg_module *module;
	uint64_t *array;
	uint32_t *memory;

	device_open(&device);
	array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	memory = device_memory(&device, WORDS * sizeof(*memory));
	words[0][0] = address_of(array);
	add_probe(&patched, "gpu/entry/k", NULL);
	CHECK(patch_text(&patched, HEADER PLAIN_KERNEL("k"),
			 (struct gt_patch_options){.symbols = &symbols}));
	module = device_load(&device, gt_strbuf_string(&patched.result.text));
	device_run(&device, module, "k", 2, 3, address_of(memory));
	CHECK(array[0] == 6);
	sg_module_free(module);
}

TEST("options that make no sense are rejected")
{
	auto_patched patched = {0};
	struct gt_patch_program many[GT_PATCH_MAX_PROGRAMS + 1] = {0};
	struct gt_patch_options options = {.programs = many, .program_count = gt_countof(many)};
	struct gt_diag diag = {0};

	CHECK(!gt_ptx_parse(HEADER, strlen(HEADER), &patched.module, NULL));
	CHECK(gt_patch_module(patched.module, &options, &patched.result, &diag) == -E2BIG);
	CHECK_STR(diag.text, "65 programs; at most 64 can be inserted into one module");
	CHECK(!gt_section_read("gpu/run", "p", &many[0].section, NULL));
	options.program_count = 1;
	diag = (struct gt_diag){0};
	CHECK(gt_patch_module(patched.module, &options, &patched.result, &diag) == -EINVAL);
	CHECK_STR(diag.text, "programs of this section run in no kernel");
}

TEST("ptxas accepts the patched modules")
{
	check_with_ptxas();
}

static unsigned count_texts(const struct patched_module *patched, const char *text)
{
	unsigned count = 0;

	for (const char *at = gt_strbuf_string(&patched->result.text); (at = strstr(at, text));
	     at++)
		count++;
	return count;
}

TEST("a program with many sites is a function for each set of constants, which they call")
{
	static const char text[] = KERNEL("\tst.global.u32 [%rd3], %r1;\n"
					  "\tst.global.u32 [%rd3], %r1;\n"
					  "\tst.global.u8 [%rd3+256], 1;\n"
					  "\tst.global.u16 [%rd3+256], 0;\n"
					  "\tst.global.u32 [%rd3+256], 0;\n"
					  "\tret;\n");
	struct gt_patch_options options = {.call_sites = 5, .call_instructions = 1};
	auto_patched widths = {0}, lines = {0}, few = {0};

	add_probe(&widths, "gpu/store", "ldxw r6, [r1+500]");
	CHECK(run_patched(&widths, text, (struct launch_shape){1, 8}, options));
	CHECK_INT(count_texts(&widths, ".func gputap_call_"), 3);
	CHECK_INT(count_texts(&widths, "\tcall gputap_call_"), 5);
	CHECK_INT(widths.counts[0], 8 * 15);
	add_probe(&lines, "gpu/store", "ldxw r6, [r1+464]");
	CHECK(run_patched(&lines, text, (struct launch_shape){1, 8}, options));
	CHECK_INT(count_texts(&lines, ".func gputap_call_"), 1);
	CHECK_INT(lines.counts[0], 8 * (0 + 1 + 2 + 3 + 4));
	options.call_sites = 6;
	add_probe(&few, "gpu/store", "ldxw r6, [r1+500]");
	CHECK(run_patched(&few, text, (struct launch_shape){1, 8}, options));
	CHECK_INT(count_texts(&few, "gputap_call_"), 0);
}

TEST("kernels that run programs have a place for a limit of registers, unless they limit blocks")
{
#define PLACE(name) GT_REGISTER_COMMENT name GT_REGISTER_COMMENT_END
	static const char text[] =
		HEADER ".visible .global .align 4 .u32 state;\n"
		       ".func called()\n{\n\tst.global.u32 [state], 1;\n\tret;\n}\n"
		       ".visible .entry k_calls()\n{\n\tcall called;\n\tret;\n}\n"
		       ".visible .entry k_own() .maxnreg 128\n{\n\tret;\n}\n"
		       ".visible .entry k_max() .maxntid 256, 1, 1\n{\n\tret;\n}\n"
		       ".visible .entry k_size() .reqntid 256\n{\n\tret;\n}\n"
		       ".visible .entry other()\n{\n\tret;\n}\n";
	auto_patched patched = {0}, function = {0};

	add_probe(&function, "gpu/call/called", NULL);
	CHECK(patch_text(&function, text, (struct gt_patch_options){0}));
	CHECK_INT(count_texts(&function, GT_REGISTER_COMMENT), 1);
	CHECK_INT(count_texts(&function, PLACE("k_calls")), 1);
	add_probe(&patched, "gpu/entry/k_*", NULL);
	CHECK(patch_text(&patched, text, (struct gt_patch_options){0}));
	CHECK(patched.result.scope == GT_PATCH_WHOLE && patched.result.kernels.count == 4);
	CHECK_INT(count_texts(&patched, GT_REGISTER_COMMENT), 2);
	CHECK_INT(count_texts(&patched, ".entry k_calls()\n" PLACE("k_calls") "\n{"), 1);
	/* Of two limits the last one counts. */
	CHECK_INT(count_texts(&patched, "\n.maxnreg 128\n" PLACE("k_own") "\n{"), 1);
}

TEST_MAIN
