/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Matrices of a warp: mma, wmma, ldmatrix, stmatrix, movmatrix. */
#include "exec_reference.h"

#define HEADER PTX_HEADER_90

enum {
	LANES = 32,
	MOST = 32 * 32,
};

/* ---- products, register by register ---------------------------------------------------- */

/* Where element i of a lane is, as the figures of PTX ISA 9.0, 9.7.14.5, say. */
struct place {
	int row, column;
};

static struct place a_f16_k16(int group, int member, int i)
{
	return (struct place){i < 2 || (i >= 4 && i < 6) ? group : group + 8,
			      member * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}

static struct place b_f16(int group, int member, int i)
{
	return (struct place){member * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
}

static struct place a_f16_k8(int group, int member, int i)
{
	return (struct place){i < 2 ? group : group + 8, member * 2 + (i & 1)};
}

static struct place a_tf32(int group, int member, int i)
{
	return (struct place){i == 0 || i == 2 ? group : group + 8, i < 2 ? member : member + 4};
}

static struct place b_tf32(int group, int member, int i)
{
	return (struct place){i ? member + 4 : member, group};
}

static struct place a_s8_k32(int group, int member, int i)
{
	return (struct place){i < 4 || (i >= 8 && i < 12) ? group : group + 8,
			      member * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}

static struct place b_s8_k32(int group, int member, int i)
{
	return (struct place){member * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
}

static struct place a_s8_k16(int group, int member, int i)
{
	return (struct place){group, member * 4 + i};
}

static struct place b_s8_k16(int group, int member, int i)
{
	return (struct place){member * 4 + i, group};
}

static struct place a_f64(int group, int member, int i)
{
	(void)i;
	return (struct place){group, member};
}

static struct place b_f64(int group, int member, int i)
{
	(void)i;
	return (struct place){member, group};
}

static struct place c_any(int group, int member, int i)
{
	return (struct place){i < 2 ? group : group + 8, member * 2 + (i & 1)};
}

enum kind {
	KIND_F16,
	KIND_BF16,
	KIND_F32,
	KIND_S8,
	KIND_S32,
	KIND_F64,
};

static const int kind_bytes[] = {2, 2, 4, 1, 4, 8};

static uint64_t encode(enum kind kind, double value)
{
	switch (kind) {
	case KIND_F16:
		return half_bits(F16, value);
	case KIND_BF16:
		return half_bits(BF16, value);
	case KIND_F32:
		return bits_of_float((float)value);
	case KIND_F64:
		return bits_of_double(value);
	default:
		return (uint64_t)(int64_t)value;
	}
}

struct part {
	struct place (*place)(int group, int member, int i);
	int elements; /* of a lane */
	enum kind kind;
};

struct product {
	const char *form;
	int m, n, k;
	struct part a, b, c, d;
};

static const struct product products[] = {
	{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
	 16,
	 8,
	 16,
	 {a_f16_k16, 8, KIND_F16},
	 {b_f16, 4, KIND_F16},
	 {c_any, 4, KIND_F32},
	 {c_any, 4, KIND_F32}},
	{"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
	 16,
	 8,
	 16,
	 {a_f16_k16, 8, KIND_F16},
	 {b_f16, 4, KIND_F16},
	 {c_any, 4, KIND_F16},
	 {c_any, 4, KIND_F16}},
	{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
	 16,
	 8,
	 8,
	 {a_f16_k8, 4, KIND_F16},
	 {b_f16, 2, KIND_F16},
	 {c_any, 4, KIND_F32},
	 {c_any, 4, KIND_F32}},
	{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
	 16,
	 8,
	 16,
	 {a_f16_k16, 8, KIND_BF16},
	 {b_f16, 4, KIND_BF16},
	 {c_any, 4, KIND_F32},
	 {c_any, 4, KIND_F32}},
	{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
	 16,
	 8,
	 8,
	 {a_tf32, 4, KIND_F32},
	 {b_tf32, 2, KIND_F32},
	 {c_any, 4, KIND_F32},
	 {c_any, 4, KIND_F32}},
	{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
	 16,
	 8,
	 32,
	 {a_s8_k32, 16, KIND_S8},
	 {b_s8_k32, 8, KIND_S8},
	 {c_any, 4, KIND_S32},
	 {c_any, 4, KIND_S32}},
	{"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
	 8,
	 8,
	 16,
	 {a_s8_k16, 4, KIND_S8},
	 {b_s8_k16, 4, KIND_S8},
	 {c_any, 2, KIND_S32},
	 {c_any, 2, KIND_S32}},
	{"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
	 8,
	 8,
	 4,
	 {a_f64, 1, KIND_F64},
	 {b_f64, 1, KIND_F64},
	 {c_any, 2, KIND_F64},
	 {c_any, 2, KIND_F64}},
};

static int register_bytes(const struct part *part)
{
	return part->kind == KIND_F64 ? 8 : 4;
}

static int register_count(const struct part *part)
{
	return part->elements * kind_bytes[part->kind] / register_bytes(part);
}

/* Registers `first` … of a part, in braces. */
static void add_registers(struct gt_strbuf *text, const struct part *part, int first)
{
	for (int i = 0; i < register_count(part); i++)
		gt_strbuf_printf(text, "%s%%%c%d", i ? ", " : "{",
				 register_bytes(part) == 8 ? 'l' : 'w', first + i);
	gt_strbuf_puts(text, "}");
}

/* Every register of a lane has 8 bytes of memory, whatever its size. */
static void add_loads(struct gt_strbuf *text, const struct part *part, int first)
{
	bool wide = register_bytes(part) == 8;

	for (int i = first; i < first + register_count(part); i++)
		gt_strbuf_printf(text, "	ld.global.%s %%%c%d, [%%l20+%d];\n",
				 wide ? "b64" : "b32", wide ? 'l' : 'w', i, 8 * i);
}

static void add_product(struct gt_strbuf *text, const struct product *product, int number)
{
	const struct part *parts[] = {&product->a, &product->b, &product->c};
	int first = 0, starts[3];

	gt_strbuf_printf(
		text,
		".visible .entry k%d(.param .u64 in, .param .u64 out)\n{\n"
		"	.reg .b32 %%w<32>;\n	.reg .b64 %%l<32>;\n"
		"	ld.param.u64 %%l20, [in];\n	ld.param.u64 %%l21, [out];\n"
		"	mov.u32 %%w31, %%tid.x;\n	mad.wide.u32 %%l20, %%w31, 128, %%l20;\n"
		"	mad.wide.u32 %%l21, %%w31, 128, %%l21;\n",
		number);
	for (int i = 0; i < 3; i++) {
		starts[i] = first;
		add_loads(text, parts[i], first);
		first += register_count(parts[i]);
	}
	gt_strbuf_printf(text, "	%s ", product->form);
	add_registers(text, &product->d, 0);
	for (int i = 0; i < 3; i++) {
		gt_strbuf_puts(text, ", ");
		add_registers(text, parts[i], starts[i]);
	}
	gt_strbuf_puts(text, ";\n");
	for (int i = 0; i < register_count(&product->d); i++)
		gt_strbuf_printf(text, "	st.global.%s [%%l21+%d], %%%c%d;\n",
				 register_bytes(&product->d) == 8 ? "b64" : "b32", 8 * i,
				 register_bytes(&product->d) == 8 ? 'l' : 'w', i);
	gt_strbuf_puts(text, "	ret;\n}\n");
}

/* The memory of a lane's registers: from `first` on element after element, without gaps in one. */
static void put_part(uint8_t *in, const struct part *part, int first, const double *matrix,
		     int columns)
{
	int bytes = kind_bytes[part->kind], each = register_bytes(part) / bytes;

	for (int lane = 0; lane < LANES; lane++)
		for (int i = 0; i < part->elements; i++) {
			struct place place = part->place(lane / 4, lane % 4, i);
			uint64_t bits =
				encode(part->kind, matrix[place.row * columns + place.column]);

			memcpy(in + 128 * lane + 8 * (first + i / each) + i % each * bytes, &bits,
			       (size_t)bytes);
		}
}

static int count_wrong(const uint8_t *out, const struct part *part, const double *matrix,
		       int columns)
{
	int bytes = kind_bytes[part->kind], each = register_bytes(part) / bytes, wrong = 0;

	for (int lane = 0; lane < LANES; lane++)
		for (int i = 0; i < part->elements; i++) {
			struct place place = part->place(lane / 4, lane % 4, i);
			uint64_t bits =
				encode(part->kind, matrix[place.row * columns + place.column]);

			wrong += memcmp(out + 128 * lane + 8 * (i / each) + i % each * bytes, &bits,
					(size_t)bytes) != 0;
		}
	return wrong;
}

static void fill_numbers(double *numbers, int count, int seed)
{
	for (int i = 0; i < count; i++)
		numbers[i] = (i * 37 + seed) % 23 - 11;
}

static void multiply(double *d, const double *a, const double *b, int m, int n, int k)
{
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++)
			for (int l = 0; l < k; l++)
				d[i * n + j] += a[i * k + l] * b[l * n + j];
}

TEST("mma multiplies matrices with PTX's layout of elements in lanes")
{
	enum { COUNT = sizeof(products) / sizeof(products[0]) };
	auto_device device;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint8_t *in, *out;
	static double a[MOST], b[MOST], c[MOST];

	device_open(&device);
	in = device_memory(&device, 128 * LANES);
	out = device_memory(&device, 128 * LANES);
	gt_strbuf_puts(&text, HEADER);
	for (int i = 0; i < COUNT; i++)
		add_product(&text, &products[i], i);
	module = device_load(&device, gt_strbuf_string(&text));
	for (int i = 0; module && i < COUNT; i++) {
		const struct product *p = &products[i];
		int first = register_count(&p->a);
		char name[16];

		fill_numbers(a, p->m * p->k, 3);
		fill_numbers(b, p->k * p->n, 8);
		fill_numbers(c, p->m * p->n, 5);
		put_part(in, &p->a, 0, a, p->k);
		put_part(in, &p->b, first, b, p->n);
		put_part(in, &p->c, first + register_count(&p->b), c, p->n);
		multiply(c, a, b, p->m, p->n, p->k);
		snprintf(name, sizeof(name), "k%d", i);
		device_run(&device, module, name, 1, LANES, address_of(in), address_of(out));
		if (count_wrong(out, &p->d, c, p->n))
			TAP_FAIL("%s: %d elements are wrong", p->form,
				 count_wrong(out, &p->d, c, p->n));
	}
}

/* ---- products through memory ----------------------------------------------------------- */

#define WMMA_KERNEL(name, shape, layout_a, layout_b, load, body, store)                            \
	".visible .entry " name "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"   \
	"{\n	.reg .b32 %a<8>, %b<8>;\n	.reg .f32 %c<8>;\n	.reg .b32 %i<8>;\n"                      \
	"	.reg .b64 %l<4>;\n"                                                                      \
	"	ld.param.u64 %l0, [a];\n	ld.param.u64 %l1, [b];\n	ld.param.u64 "                         \
	"%l2, [c];\n"                                                                              \
	"	ld.param.u64 %l3, [d];\n" load body store "	ret;\n}\n"

#define EIGHT(r) "{%" r "0, %" r "1, %" r "2, %" r "3, %" r "4, %" r "5, %" r "6, %" r "7}"

static const char through_memory[] = HEADER WMMA_KERNEL(
	"square", "m16n16k16", "row", "col",
	"	wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " EIGHT(
		"a") ", [%l0], 16;\n"
		     "	wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " EIGHT(
			     "b") ", [%l1];\n"
				  "	wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " EIGHT(
					  "c") ", [%l2], 16;\n",
	"	wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " EIGHT("c") ", " EIGHT(
		"a") ", " EIGHT("b") ", " EIGHT("c") ";\n",
	"	wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%l3], " EIGHT("c") ", 16;\n")
	WMMA_KERNEL("wide", "m8n32k16", "row", "col",
		    "	wmma.load.a.sync.aligned.row.m8n32k16.f16 " EIGHT(
			    "a") ", [%l0], 16;\n"
				 "	wmma.load.b.sync.aligned.col.m8n32k16.f16 " EIGHT(
					 "b") ", [%l1], 16;\n"
					      "	wmma.load.c.sync.aligned.row.m8n32k16.f32 " EIGHT(
						      "c") ", [%l2], 32;\n",
		    "	wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32 " EIGHT("c") ", " EIGHT(
			    "a") ", " EIGHT("b") ", " EIGHT("c") ";\n",
		    "	wmma.store.d.sync.aligned.row.m8n32k16.f32 [%l3], " EIGHT("c") ", 32;\n")
		WMMA_KERNEL("bytes", "m16n16k16", "row", "col",
			    "	wmma.load.a.sync.aligned.row.m16n16k16.s8 {%a0, %a1}, [%l0], 16;\n"
			    "	wmma.load.b.sync.aligned.col.m16n16k16.s8 {%b0, %b1}, [%l1], 16;\n"
			    "	wmma.load.c.sync.aligned.row.m16n16k16.s32 " EIGHT(
				    "i") ", [%l2], 16;\n",
			    "	wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 " EIGHT(
				    "i") ", {%a0, %a1}, {%b0, %b1}, " EIGHT("i") ";\n",
			    "	wmma.store.d.sync.aligned.row.m16n16k16.s32 [%l3], " EIGHT(
				    "i") ", 16;\n");

static void store_numbers(void *memory, enum kind kind, const double *numbers, int rows,
			  int columns, bool by_column)
{
	for (int i = 0; i < rows * columns; i++) {
		int place = by_column ? i % columns * rows + i / columns : i;
		uint64_t bits = encode(kind, numbers[i]);

		memcpy((char *)memory + place * kind_bytes[kind], &bits, (size_t)kind_bytes[kind]);
	}
}

static void check_wmma(struct device *device, struct sg_module *module, const char *name, int m,
		       int n, enum kind factor, enum kind sum)
{
	enum { K = 16 };
	static double a[MOST], b[MOST], c[MOST];
	char *memory = device_memory(device, 4 * 4096);
	char *expected = calloc(1, 4096);

	fill_numbers(a, m * K, 1);
	fill_numbers(b, K * n, 2);
	fill_numbers(c, m * n, 3);
	store_numbers(memory, factor, a, m, K, false);
	store_numbers(memory + 4096, factor, b, K, n, true);
	store_numbers(memory + 8192, sum, c, m, n, false);
	multiply(c, a, b, m, n, K);
	store_numbers(expected, sum, c, m, n, false);
	device_run(device, module, name, 1, LANES, address_of(memory), address_of(memory + 4096),
		   address_of(memory + 8192), address_of(memory + 12288));
	if (memcmp(memory + 12288, expected, (size_t)m * (size_t)n * 4) != 0)
		TAP_FAIL("%s: the product is wrong", name);
	free(expected);
}

TEST("wmma loads matrices of either order, multiplies them and stores the product")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;

	device_open(&device);
	module = device_load(&device, through_memory);
	check_wmma(&device, module, "square", 16, 16, KIND_F16, KIND_F32);
	check_wmma(&device, module, "wide", 8, 32, KIND_F16, KIND_F32);
	check_wmma(&device, module, "bytes", 16, 16, KIND_S8, KIND_S32);
}

/* ---- tiles ----------------------------------------------------------------------------- */

/* Lane l has the address of row l of four matrices that lie one after the other. */
static const char tiles[] = HEADER
	".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
	"	.reg .b32 %r<20>;\n	.reg .b64 %l<8>;\n	.shared .align 16 .b8 tile[1024];\n"
	"	ld.param.u64 %l0, [in];\n	ld.param.u64 %l1, [out];\n	mov.u32 %r0, "
	"%tid.x;\n"
	"	mad.wide.u32 %l2, %r0, 16, %l0;\n	ld.global.v4.u32 {%r1, %r2, %r3, %r4}, "
	"[%l2];\n"
	"	mov.u32 %r5, tile;\n	mad.lo.u32 %r6, %r0, 16, %r5;\n"
	"	st.shared.v4.u32 [%r6], {%r1, %r2, %r3, %r4};\n	bar.sync 0;\n"
	"	mad.wide.u32 %l3, %r0, 64, %l1;\n"
	"	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r6];\n"
	"	st.global.v4.u32 [%l3], {%r1, %r2, %r3, %r4};\n"
	"	ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r7, %r8}, [%r6];\n"
	"	st.global.v2.u32 [%l3+16], {%r7, %r8};\n"
	"	movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r1;\n	st.global.u32 [%l3+24], "
	"%r9;\n"
	"	stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r6+512], {%r4, %r3, %r2, %r1};\n"
	"	bar.sync 0;\n	ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r6+512];\n"
	"	st.global.v4.u32 [%l3+32], {%r1, %r2, %r3, %r4};\n	ret;\n}\n";

TEST("ldmatrix, stmatrix and movmatrix move tiles between rows and lanes, also transposed")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint16_t(*in)[8][8];
	uint16_t(*out)[32];
	int wrong = 0;

	device_open(&device);
	module = device_load(&device, tiles);
	in = device_memory(&device, 512);
	out = device_memory(&device, 64 * LANES);
	for (int i = 0; i < 256; i++)
		in[i / 64][i / 8 % 8][i % 8] = (uint16_t)(1000 + i);
	device_run(&device, module, "k", 1, LANES, address_of(in), address_of(out));
	for (int lane = 0; lane < LANES; lane++)
		for (int half = 0; half < 2; half++) {
			int row = lane / 4, column = lane % 4 * 2 + half;

			for (int m = 0; m < 4; m++)
				wrong += out[lane][2 * m + half] != in[m][row][column];
			for (int m = 0; m < 2; m++)
				wrong += out[lane][8 + 2 * m + half] != in[m][column][row];
			wrong += out[lane][12 + half] != in[0][column][row];
		}
	/* Row l of what was stored: matrices in reverse, each transposed. */
	for (int lane = 0; lane < LANES; lane++)
		for (int i = 0; i < 8; i++)
			wrong += out[lane][16 + i] != in[3 - lane / 8][i][lane % 8];
	CHECK_INT(wrong, 0);
}

TEST("a matrix instruction waits for the lanes of its warp that still compute")
{
	static const char text[] = HEADER
		".visible .entry late(.param .u64 out)\n{\n"
		"	.reg .b32 %r<8>;\n	.reg .b64 %l<4>;\n	.reg .pred %p<3>;\n"
		"	ld.param.u64 %l0, [out];\n	mov.u32 %r0, %tid.x;\n	mov.u32 %r4, 0;\n"
		"	mov.u32 %r5, %r0;\n	mov.u32 %r6, 0;\n"
		"OUTER:	and.b32 %r1, %r0, 3;\n	setp.ne.u32 %p0, %r1, 1;\n	@%p0 bra JOIN;\n"
		"	mul.lo.u32 %r2, %r0, %r4;\n	rem.u32 %r2, %r2, 61;\n	mov.u32 %r3, 0;\n"
		"INNER:	setp.ge.u32 %p1, %r3, %r2;\n	@%p1 bra JOIN;\n"
		"	add.u32 %r3, %r3, 1;\n	bra INNER;\n"
		"JOIN:	add.u32 %r6, %r6, 1;\n	movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r5;\n"
		"	add.u32 %r4, %r4, 1;\n	setp.lt.u32 %p1, %r4, 2000;\n	@%p1 bra OUTER;\n"
		"	mad.wide.u32 %l1, %r0, 4, %l0;\n	st.global.u32 [%l1], %r5;\n	"
		"ret;\n}\n";
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint32_t *out;

	device_open(&device);
	module = device_load(&device, text);
	out = device_memory(&device, 4 * LANES);
	device_run(&device, module, "late", 1, LANES, address_of(out), 0);
	for (uint32_t lane = 0; lane < LANES; lane++)
		CHECK_INT(out[lane], lane); /* transposed twice, each time */
}

TEST("a matrix instruction with inactive lanes or a misaligned row is a fault")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	struct sg_grid_result result;
	uint64_t parameters[4] = {0};

	device_open(&device);
	module = device_load(&device, through_memory);
	for (int i = 0; i < 4; i++)
		parameters[i] = address_of(device_memory(&device, 4096));
	CHECK_INT(device_run_with(&device, module, "square",
				  (struct sg_launch){.shape.block = {16}}, parameters, 4, &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ILLEGAL_INSTRUCTION);
	CHECK(strstr(result.fault.text, "a matrix instruction needs all 32 lanes of the warp"));
	parameters[0]++;
	CHECK_INT(device_run_with(&device, module, "square",
				  (struct sg_launch){.shape.block = {32}}, parameters, 4, &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_MISALIGNED);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
