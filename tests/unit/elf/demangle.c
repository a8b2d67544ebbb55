/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/demangle.h"

#include <errno.h>

#include "tap.h"

static void check_name(const char *name, const char *full, const char *brief)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK(gt_demangle(name, &text));
	CHECK_STR(gt_strbuf_string(&text), full);
	gt_strbuf_clear(&text);
	CHECK(gt_demangle_short(name, &text));
	CHECK_STR(gt_strbuf_string(&text), brief);
}

static void check_plain(const char *name)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK(!gt_demangle(name, &text));
	CHECK_STR(gt_strbuf_string(&text), name);
	gt_strbuf_clear(&text);
	CHECK(!gt_demangle_short(name, &text));
	CHECK_STR(gt_strbuf_string(&text), name);
}

/* A hostile name, too long to be shown. */
static void check_left(const char *name)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK(!gt_demangle(name, &text));
	CHECK(!strcmp(gt_strbuf_string(&text), name));
}

/* The types, joined by " | ". */
static void check_types(const char *name, const char *expected)
{
	gt_auto_type_names types = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK_INT(gt_demangle_parameters(name, &types), 0);
	for (size_t i = 0; i < types.count; i++)
		gt_strbuf_printf(&text, "%s%s", i ? " | " : "", types.items[i]);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

/* prefix, then `count` times `unit`, then suffix; the caller frees it. */
static char *repeated(const char *prefix, const char *unit, size_t count, const char *suffix)
{
	struct gt_strbuf name = GT_STRBUF_INIT;

	gt_strbuf_puts(&name, prefix);
	for (size_t i = 0; i < count; i++)
		gt_strbuf_puts(&name, unit);
	gt_strbuf_puts(&name, suffix);
	return gt_strbuf_steal(&name);
}

TEST("a C++ function is named with its parameters and without its return type")
{
	check_name("_Z3addIfEvPT_PKS0_S0_m",
		   "add<float>(float*, float const*, float, unsigned long)", "add<float>");
	check_name("_Z4nonev", "none()", "none");
	check_name("_ZNK3Foo3barEi", "Foo::bar(int) const", "Foo::bar");
	check_name("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
		   "main::{lambda(int)#1}::operator()");
	check_name("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()",
		   "(anonymous namespace)::foo");
}

TEST("a C++ variable is named")
{
	check_name("_ZN3Foo5countE", "Foo::count", "Foo::count");
	check_name("_ZTV3Foo", "vtable for Foo", "vtable for Foo");
}

TEST("a clone of a function keeps its suffix")
{
	check_name("_Z3addi.cold", "add(int) [clone .cold]", "add");
}

TEST("a Rust function is named without its hash")
{
	check_name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		   "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt");
	check_name("_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo");
}

TEST("a name that is not mangled stays as it is")
{
	check_plain("main");
	check_plain("");
	check_plain("_");
	check_plain("_Z");
	check_plain("_R");
	check_plain("_Zebra crossing");
	check_plain("cudaMalloc");
}

TEST("a demangled name is appended to the buffer")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, "kernel ");
	CHECK(gt_demangle("_Z4nonev", &text));
	CHECK_STR(gt_strbuf_string(&text), "kernel none()");
}

TEST("the types of parameters are returned one by one")
{
	check_types("_Z3addIfEvPT_PKS0_S0_m", "float* | float const* | float | unsigned long");
	check_types("_Z5large3BigiPi", "Big | int | int*");
	check_types("_Z4nonev", "");
	check_types("_Z1fiz", "int | ...");
	check_types("_ZNK3Foo3barEic.cold", "int | char");
}

TEST("a comma within brackets does not separate types")
{
	check_types("_Z1fSt4pairIiPFvicEES_IcdE",
		    "std::pair<int, void (*)(int, char)> | std::pair<char, double>");
	check_types("_Z1fPFvicERA4_A3_i", "void (*)(int, char) | int (&) [4][3]");
	check_types("_ZN7cutlass6KernelI1A1BEEvNT_6ParamsET0_", "A::Params | B");
}

TEST("a comparison in a template argument is not a bracket")
{
	check_types("_Z1kIXgtLi3ELi2EEEv3FooIXgtT_Li1EEEi", "Foo<((((3)>(2)))>(1))> | int");
}

TEST("a name that is not a C++ function has no types of parameters")
{
	gt_auto_type_names types = {0};

	CHECK_INT(gt_demangle_parameters("plain", &types), -ENOENT);
	CHECK_INT(gt_demangle_parameters("", &types), -ENOENT);
	CHECK_INT(gt_demangle_parameters("_ZN3Foo5countE", &types), -ENOENT);
	CHECK_INT(gt_demangle_parameters("_RNvCs1234_7mycrate3foo", &types), -ENOENT);
	CHECK_INT(types.count, 0);
}

TEST("a long template name is demangled")
{
	gt_autofree char *name = repeated("_Z1kI", "3Foo", 500, "Evi");
	gt_auto_type_names types = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK(gt_demangle(name, &text));
	CHECK(!strncmp(gt_strbuf_string(&text), "k<Foo, Foo, Foo, ", 17));
	CHECK_STR(gt_strbuf_string(&text) + text.length - 13, "oo, Foo>(int)");
	CHECK_INT(gt_demangle_parameters(name, &types), 0);
	CHECK_INT(types.count, 1);
}

TEST("a name beyond the limit stays as it is")
{
	gt_autofree char *name = repeated("_Z1kI", "3Foo", 2100, "Evi");

	check_left(name);
}

TEST("a name that would become too long stays as it is")
{
	/* Each type holds the one before twice: 2^36 in the end. */
	struct gt_strbuf name = GT_STRBUF_INIT;

	gt_strbuf_puts(&name, "_Z1f1APFS_S_E");
	for (int i = 0; i < 34; i++) {
		char last = (char)(i < 9 ? '1' + i : 'A' + i - 9);

		gt_strbuf_printf(&name, "PFS%c_S%c_E", last, last);
	}
	check_left(gt_strbuf_string(&name));
	gt_strbuf_free(&name);
}

TEST("a name with unlimited nesting stays as it is")
{
	static const char *const units[] = {"P", "F", "N", "Z", "XL_Z", "DT", "1AI", "M1A"};

	for (size_t i = 0; i < gt_countof(units); i++) {
		gt_autofree char *name = repeated("_Z1f", units[i], 8000 / strlen(units[i]), "i");

		check_left(name);
	}
}

TEST("a demangler returns the same text for a name each time, with parameters and without")
{
	gt_auto(demangler) struct gt_demangler *demangler = gt_demangler_new();
	const char *name = "_Z3addIfEvPT_PKS0_m";
	const char *full = gt_demangler_full(demangler, name);

	CHECK_STR(full, "add<float>(float*, float const*, unsigned long)");
	CHECK(gt_demangler_full(demangler, name) == full);
	CHECK_STR(gt_demangler_short(demangler, name), "add<float>");
	CHECK_STR(gt_demangler_full(demangler, "main"), "main");
	CHECK_STR(gt_demangler_full(demangler, ""), "");
}

static void check_short_name(const struct gt_short_names *names, const char *name,
			     const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_short_names_put(names, name, &text);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

struct shown_name {
	const char *name, *expected;
};

/* Names that are shown together: each has its expected text. */
static void check_short_names(const struct shown_name *shown, size_t count)
{
	gt_auto(short_names) struct gt_short_names *names = gt_short_names_new();

	for (size_t i = 0; names && i < count; i++)
		gt_short_names_add(names, shown[i].name);
	for (size_t i = 0; names && i < count; i++)
		check_short_name(names, shown[i].name, shown[i].expected);
}

TEST("names that are shown together are short, but for those that differ in parameters alone")
{
	static const struct shown_name shown[] = {
		{"_Z5scalePf", "scale(float*)"},
		{"_Z5scalePd", "scale(double*)"},
		{"_Z5scalePf", "scale(float*)"},
		{"_Z5scalePi", "scale(int*)"},
		{"_Z3addPf", "add"},
		{"_Z3addPf", "add"},
		{"plain", "plain"},
		/* Template arguments are shown: these do not differ in parameters alone. */
		{"_Z2ofIfEvPT_", "of<float>"},
		{"_Z2ofIdEvPT_", "of<double>"},
		/* A class that is called like a template's function type. */
		{"_ZN5scaleclEPf", "scale::operator()(float*)"},
		{"_ZN5scaleclEPd", "scale::operator()(double*)"},
		{"_ZN12_GLOBAL__N_15scaleEPf", "(anonymous namespace)::scale"},
		{"_Z5applyIFvifEEvPT_", "apply<void (int, float)>"},
		{"_Z5applyIFvidEEvPT_", "apply<void (int, double)>"},
		{"_Z3runIZ4mainEUlPfE_EvT_", "run<main::{lambda(float*)#1}>"},
	};

	check_short_names(shown, gt_countof(shown));
}

TEST("names whose ABI tags differ are shown with parameters where these differ, without the tags")
{
	static const struct shown_name shown[] = {
		{"_Z3addB2v1Pf", "add(float*)"},
		{"_Z3addB2v2Pd", "add(double*)"},
		{"_Z3subB2v1Pf", "sub"},
		{"_Z3subB2v2Pf", "sub"},
	};

	check_short_names(shown, gt_countof(shown));
}

TEST("a hostile name is shown as it is, beside others whose names it begins with")
{
	static const struct shown_name shown[] = {
		{"scale(float*)", "scale(float*)"},
		{"scale(((", "scale((("},
		{"scale)<(", "scale)<("},
		{"_Z", "_Z"},
		{"_Z5scale(", "_Z5scale("},
		{"_Z99999scalePf", "_Z99999scalePf"},
		{"", ""},
		{"scale", "scale"},
		/* The last is the C name of the text that this one has when it is short. */
		{"_Z5scalePf", "scale(float*)"},
	};
	char name[65537];

	check_short_names(shown, gt_countof(shown));
	memset(name, '(', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check_short_names(&(struct shown_name){name, name}, 1);
	name[0] = '_';
	name[1] = 'Z';
	check_short_names(&(struct shown_name){name, name}, 1);
	memset(name + 2, 'P', sizeof(name) - 3);
	check_short_names(&(struct shown_name){name, name}, 1);
}

TEST("ABI tags are omitted from names for tables, and of short ones")
{
	const char *name = "_ZN6cudapy8__main__3addB2v1B6cw51cXE5ArrayIfLi1E1C7mutable7alignedE";
	gt_auto_strbuf whole = GT_STRBUF_INIT, table = GT_STRBUF_INIT, brief = GT_STRBUF_INIT;

	gt_strbuf_puts(&table, "[abi:kept]");
	CHECK(gt_demangle(name, &whole));
	CHECK_STR(gt_strbuf_string(&whole),
		  "cudapy::__main__::add[abi:v1][abi:cw51cX](Array<float, "
		  "1, C, mutable, aligned>)");
	CHECK(gt_demangle_untagged(name, &table));
	CHECK_STR(gt_strbuf_string(&table), "[abi:kept]cudapy::__main__::add(Array<float, 1, C, "
					    "mutable, aligned>)");
	CHECK(gt_demangle_short(name, &brief));
	CHECK_STR(gt_strbuf_string(&brief), "cudapy::__main__::add");
	gt_strbuf_clear(&brief);
	CHECK(!gt_demangle_short("plain[abi:v1]", &brief));
	CHECK_STR(gt_strbuf_string(&brief), "plain[abi:v1]");
}

TEST_MAIN
