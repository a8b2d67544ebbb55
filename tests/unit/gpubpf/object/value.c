/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values of BTF types as text and JSON. */
#include "gpubpf/object/value.h"

#include <bpf/btf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

/* Types by name. */
struct type_set {
	struct btf *btf;
	int u8, u16, u32, u64, s32, s8, character, boolean, real;
};

static struct type_set new_types(void)
{
	struct btf *btf = btf__new_empty();

	return (struct type_set){
		.btf = btf,
		.u8 = btf__add_int(btf, "unsigned char", 1, 0),
		.u16 = btf__add_int(btf, "unsigned short", 2, 0),
		.u32 = btf__add_int(btf, "unsigned int", 4, 0),
		.u64 = btf__add_int(btf, "unsigned long long", 8, 0),
		.s32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED),
		.s8 = btf__add_int(btf, "signed char", 1, BTF_INT_SIGNED),
		.character = btf__add_int(btf, "char", 1, BTF_INT_SIGNED),
		.boolean = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL),
		.real = btf__add_float(btf, "double", 8),
	};
}

static void check_value(const struct type_set *types, int number, const void *data, size_t size,
			const char *text, const char *json)
{
	const struct gt_bpf_type type = {types->btf, (uint32_t)number};
	gt_auto_strbuf printed = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&object);

	gt_bpf_value_print(&type, data, size, NULL, &printed);
	gt_bpf_value_print_json(&type, data, size, NULL, &writer, NULL);
	CHECK_STR(gt_strbuf_string(&printed), text);
	CHECK_STR(gt_strbuf_string(&object), json);
}

static void check_scalar(const struct type_set *types, int number, uint64_t value, size_t size,
			 const char *text)
{
	check_value(types, number, &value, size, text, text);
}

TEST("integers, truth values and floating point numbers have their sign and size")
{
	struct type_set types = new_types();
	double real = 0.25;

	check_scalar(&types, types.u8, 200, 1, "200");
	check_scalar(&types, types.s8, 200, 1, "-56");
	check_scalar(&types, types.u16, 65535, 2, "65535");
	check_scalar(&types, types.s32, UINT32_MAX, 4, "-1");
	check_scalar(&types, types.u64, UINT64_MAX, 8, "18446744073709551615");
	check_scalar(&types, types.boolean, 1, 1, "true");
	check_value(&types, types.real, &real, 8, "0.25", "0.25");
	btf__free(types.btf);
}

TEST("enumerators are names, others numbers")
{
	struct type_set types = new_types();
	int kind = btf__add_enum(types.btf, "kind", 4), wide;

	btf__add_enum_value(types.btf, "LOAD", 1);
	btf__add_enum_value(types.btf, "NONE", -1);
	wide = btf__add_enum64(types.btf, "wide", 8, false);
	btf__add_enum64_value(types.btf, "HUGE_ONE", UINT64_C(1) << 40);
	check_value(&types, kind, &(int32_t){1}, 4, "LOAD", "\"LOAD\"");
	check_value(&types, kind, &(int32_t){-1}, 4, "NONE", "\"NONE\"");
	check_value(&types, kind, &(int32_t){7}, 4, "7", "7");
	check_value(&types, wide, &(uint64_t){UINT64_C(1) << 40}, 8, "HUGE_ONE", "\"HUGE_ONE\"");
	btf__free(types.btf);
}

struct printed_record {
	uint32_t count;
	char name[8];
	uint16_t place[2];
	uint64_t next;
	struct {
		int32_t low;
		uint32_t flag : 1, level : 7, rest : 24;
	} nested;
	union {
		uint32_t word;
		uint8_t bytes[4];
	};
};

static int add_record(const struct type_set *types)
{
	struct btf *btf = types->btf;
	int name = btf__add_array(btf, types->u32, types->character, 8);
	int place = btf__add_array(btf, types->u32, types->u16, 2);
	int bytes = btf__add_array(btf, types->u32, types->u8, 4);
	int next = btf__add_ptr(btf, 0);
	int typedef_u32 = btf__add_typedef(btf, "word_t", btf__add_const(btf, types->u32));
	int nested = btf__add_struct(btf, NULL, 8), together;

	btf__add_field(btf, "low", types->s32, 0, 0);
	btf__add_field(btf, "flag", types->u32, 32, 1);
	btf__add_field(btf, "level", types->u32, 33, 7);
	btf__add_field(btf, "rest", types->u32, 40, 24);
	together = btf__add_union(btf, NULL, 4);
	btf__add_field(btf, "word", typedef_u32, 0, 0);
	btf__add_field(btf, "bytes", bytes, 0, 0);
	btf__add_struct(btf, "printed_record", sizeof(struct printed_record));
	btf__add_field(btf, "count", types->u32, 0, 0);
	btf__add_field(btf, "name", name, 32, 0);
	btf__add_field(btf, "place", place, 96, 0);
	btf__add_field(btf, "next", next, 8 * offsetof(struct printed_record, next), 0);
	btf__add_field(btf, "nested", nested, 8 * offsetof(struct printed_record, nested), 0);
	btf__add_field(btf, NULL, together, 8 * offsetof(struct printed_record, word), 0);
	return (int)btf__type_cnt(btf) - 1;
}

TEST("structures, arrays, strings, bit fields, pointers and unnamed unions are printed by name")
{
	struct type_set types = new_types();
	int record = add_record(&types);
	const struct printed_record value = {
		.count = 3,
		.name = "add\n\"x",
		.place = {1, 2},
		.next = 0x7f00,
		.nested = {.low = -5, .flag = 1, .level = 100, .rest = 9},
		.bytes = {1, 0, 0, 2},
	};

	check_value(&types, record, &value, sizeof(value),
		    "{ .count = 3, .name = \"add?\"x\", .place = [1, 2], .next = 0x7f00, .nested = "
		    "{ .low = -5, .flag = 1, .level = 100, .rest = 9 }, .word = 33554433, .bytes = "
		    "[1, 0, 0, 2] }",
		    "{\"count\":3,\"name\":\"add\\n\\\"x\",\"place\":[1,2],\"next\":\"0x7f00\","
		    "\"nested\":{\"low\":-5,\"flag\":1,\"level\":100,\"rest\":9},\"word\":33554433,"
		    "\"bytes\":[1,0,0,2]}");
	btf__free(types.btf);
}

TEST("elements of an array of structures are structures")
{
	struct type_set types = new_types();
	int pair = btf__add_struct(types.btf, NULL, 8);
	const uint32_t values[] = {1, 2, 3, 4};

	btf__add_field(types.btf, "a", types.u32, 0, 0);
	btf__add_field(types.btf, "b", types.u32, 32, 0);
	check_value(&types, btf__add_array(types.btf, types.u32, pair, 2), values, sizeof(values),
		    "[{ .a = 1, .b = 2 }, { .a = 3, .b = 4 }]",
		    "[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4}]");
	btf__free(types.btf);
}

TEST("a structure that ends with an array of no fixed size has the rest of the record")
{
	struct type_set types = new_types();
	int list = btf__add_array(types.btf, types.u32, types.u16, 0);
	int record = btf__add_struct(types.btf, "record", 4);
	const uint16_t values[] = {9, 0, 1, 2, 3};

	btf__add_field(types.btf, "count", types.u32, 0, 0);
	btf__add_field(types.btf, "list", list, 32, 0);
	check_value(&types, record, values, 10, "{ .count = 9, .list = [1, 2, 3] }",
		    "{\"count\":9,\"list\":[1,2,3]}");
	check_value(&types, record, values, 4, "{ .count = 9, .list = [] }",
		    "{\"count\":9,\"list\":[]}");
	/* Half an element: not this type. */
	check_value(&types, record, values, 9, "090000000100020003", "\"090000000100020003\"");
	btf__free(types.btf);
}

TEST("values without a type, or of another size, are numbers and hex digits")
{
	struct type_set types = new_types();
	const uint8_t bytes[80] = {1, 2, 3};
	gt_auto_strbuf long_text = GT_STRBUF_INIT, long_json = GT_STRBUF_INIT;

	check_value(&types, 0, bytes, 4, "197121", "197121");
	check_value(&types, 0, bytes, 3, "010203", "\"010203\"");
	check_value(&types, types.u32, bytes, 3, "010203", "\"010203\"");
	check_value(&types, 1000, bytes, 3, "010203", "\"010203\"");
	gt_strbuf_puts(&long_text, "010203");
	gt_strbuf_puts(&long_json, "\"010203");
	for (int i = 3; i < 80; i++) {
		gt_strbuf_puts(&long_text, i < 64 ? "00" : "");
		gt_strbuf_puts(&long_json, "00");
	}
	gt_strbuf_puts(&long_text, "…");
	gt_strbuf_puts(&long_json, "\"");
	check_value(&types, 0, bytes, 80, gt_strbuf_string(&long_text),
		    gt_strbuf_string(&long_json));
	btf__free(types.btf);
}

/* ---- long arrays ------------------------------------------------------------------------ */

TEST("an array of more than 256 elements, in JSON 4,096, lists those that are not zero, by index")
{
	struct type_set types = new_types();
	int few = btf__add_array(types.btf, types.u32, types.u16, 256);
	int many = btf__add_array(types.btf, types.u32, types.u16, 4097);
	uint16_t values[4097] = {[3] = 7, [256] = 9};
	gt_auto_strbuf all = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&object);

	check_value(&types, many, values, sizeof(values),
		    "[[3] = 7, [256] = 9, 4095 of 4097 are zero]",
		    "{\"length\":4097,\"nonzero\":2,\"elements\":[{\"index\":3,\"value\":7},"
		    "{\"index\":256,\"value\":9}]}");
	memset(values, 0, sizeof(values));
	check_value(&types, many, values, sizeof(values), "[4097 of 4097 are zero]",
		    "{\"length\":4097,\"nonzero\":0,\"elements\":[]}");
	gt_bpf_value_print(&(struct gt_bpf_type){types.btf, (uint32_t)few}, values,
			   256 * sizeof(*values), NULL, &all);
	CHECK_INT(all.length, 3 * 256);
	few = btf__add_array(types.btf, types.u32, types.u16, 4096);
	gt_bpf_value_print_json(&(struct gt_bpf_type){types.btf, (uint32_t)few}, values,
				4096 * sizeof(*values), NULL, &writer, NULL);
	CHECK_INT(object.length, 2 * 4096 + 1);
	btf__free(types.btf);
}

TEST("of a long array text lists 64 elements and counts the others, and JSON lists all")
{
	struct type_set types = new_types();
	const struct gt_bpf_type type = {
		types.btf, (uint32_t)btf__add_array(types.btf, types.u32, types.u8, 5000)};
	gt_auto_strbuf text = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&object);
	uint8_t values[5000] = {0};

	memset(values, 1, 5000 - 1);
	gt_bpf_value_print(&type, values, sizeof(values), NULL, &text);
	gt_bpf_value_print_json(&type, values, sizeof(values), NULL, &writer, NULL);
	CHECK(strstr(gt_strbuf_string(&text), "[63] = 1, 4935 more, 1 of 5000 are zero]"));
	CHECK(strstr(gt_strbuf_string(&object), "{\"length\":5000,\"nonzero\":4999,"));
	CHECK(strstr(gt_strbuf_string(&object), "{\"index\":4998,\"value\":1}]}"));
	btf__free(types.btf);
}

TEST("elements of a long array that are structures are printed as such")
{
	struct type_set types = new_types();
	int pair = btf__add_struct(types.btf, NULL, 8);
	uint32_t values[2 * 5000] = {[2 * 4999 + 1] = 5};

	btf__add_field(types.btf, "a", types.u32, 0, 0);
	btf__add_field(types.btf, "b", types.u32, 32, 0);
	check_value(
		&types, btf__add_array(types.btf, types.u32, pair, 5000), values, sizeof(values),
		"[[4999] = { .a = 0, .b = 5 }, 4999 of 5000 are zero]",
		"{\"length\":5000,\"nonzero\":1,\"elements\":[{\"index\":4999,\"value\":{\"a\":0,"
		"\"b\":5}}]}");
	btf__free(types.btf);
}

TEST("a value of 300 MiB is printed without a page for what was never written")
{
	struct type_set types = new_types();
	const size_t count = 300 << 17, size = count * sizeof(uint64_t);
	const struct gt_bpf_type type = {
		types.btf,
		(uint32_t)btf__add_array(types.btf, types.u32, types.u64, (uint32_t)count)};
	gt_autoclose int fd = memfd_create("value", MFD_CLOEXEC);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_sparse sparse = {.size = size, .fd = fd};
	uint64_t *values;
	struct stat status;

	CHECK(!ftruncate(fd, (off_t)size));
	values = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sparse.memory = (uint8_t *)values;
	values[count / 2] = 3;
	values[count - 1] = 4;
	gt_bpf_value_print(&type, values, size, &sparse, &text);
	CHECK_STR(gt_strbuf_string(&text),
		  "[[19660800] = 3, [39321599] = 4, 39321598 of 39321600 are zero]");
	/* Huge pages, if the system uses them, are 2 MiB. */
	CHECK(!fstat(fd, &status) && status.st_blocks * 512 <= 8 << 20);
	munmap(values, size);
	btf__free(types.btf);
}

TEST("strings and hex digits of large values are bounded")
{
	struct type_set types = new_types();
	const size_t size = 1 << 20;
	int string = btf__add_array(types.btf, types.u32, types.character, (uint32_t)size);
	char *bytes = malloc(size);

	memset(bytes, 'x', size);
	for (int typed = 0; typed < 2; typed++) {
		const struct gt_bpf_type type = {typed ? types.btf : NULL, (uint32_t)string};
		gt_auto_strbuf text = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
		struct gt_json writer = GT_JSON_INIT(&object);

		gt_bpf_value_print(&type, bytes, size, NULL, &text);
		gt_bpf_value_print_json(&type, bytes, size, NULL, &writer, NULL);
		CHECK(text.length <= (1 << 16) + 2);
		CHECK_INT(object.length, typed ? (1 << 16) + 2 : (1 << 17) + 5);
	}
	free(bytes);
	btf__free(types.btf);
}

/* ---- hostile types ---------------------------------------------------------------------- */

/* A value is read within its bytes, which valgrind and AddressSanitizer observe. */
static size_t print_hostile(const struct type_set *types, int number, size_t size)
{
	const struct gt_bpf_type type = {types->btf, (uint32_t)number};
	gt_auto_strbuf printed = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&object);
	void *data = calloc(1, size);

	gt_bpf_value_print(&type, data, size, NULL, &printed);
	gt_bpf_value_print_json(&type, data, size, NULL, &writer, NULL);
	free(data);
	return printed.length + object.length;
}

TEST("a structure that contains itself is printed to a bounded depth")
{
	struct type_set types = new_types();
	int loop = btf__add_struct(types.btf, "loop", 16);

	btf__add_field(types.btf, "a", loop, 0, 0);
	btf__add_field(types.btf, "b", loop, 0, 0);
	CHECK(print_hostile(&types, loop, 16) < 4 << 20);
	btf__free(types.btf);
}

TEST("members outside of their structure are not read")
{
	struct type_set types = new_types();
	int record = btf__add_struct(types.btf, "record", 8);

	btf__add_field(types.btf, "inside", types.u32, 0, 0);
	btf__add_field(types.btf, "partly", types.u64, 32, 0);
	btf__add_field(types.btf, "behind", types.u32, 64, 0);
	btf__add_field(types.btf, "far", types.u32, 0x7ffffff0, 0);
	btf__add_field(types.btf, "bits", types.u32, 60, 7);
	check_value(&types, record, &(uint64_t){5}, 8,
		    "{ .inside = 5, .partly = …, .behind = …, .far = …, .bits = … }",
		    "{\"inside\":5,\"partly\":null,\"behind\":null,\"far\":null,\"bits\":null}");
	btf__free(types.btf);
}

TEST("arrays of immense and of empty elements end")
{
	struct type_set types = new_types();
	int empty = btf__add_struct(types.btf, "empty", 0), array = types.u8;
	int many = btf__add_array(types.btf, types.u32, empty, UINT32_MAX);
	int record = btf__add_struct(types.btf, "record", 8);

	btf__add_field(types.btf, "many", many, 0, 0);
	for (int i = 0; i < 40; i++)
		array = btf__add_array(types.btf, types.u32, array, 1);
	CHECK(print_hostile(&types, record, 8) < 100);
	CHECK(print_hostile(&types, many, 8) < 100);
	CHECK(print_hostile(&types, array, 1) < 1000);
	CHECK(print_hostile(&types, btf__add_array(types.btf, types.u32, types.u8, 1 << 20),
			    1 << 20) < 1 << 20);
	btf__free(types.btf);
}

TEST_MAIN
