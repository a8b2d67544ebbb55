/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/ops/video.h"

#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"

/* The part of a word that a scalar instruction reads or writes. */
enum video_part {
	PART_WORD,
	PART_H0,
	PART_H1,
	PART_B0,
	PART_B1,
	PART_B2,
	PART_B3,
};

static int64_t extend(uint64_t value, uint32_t bits, bool is_signed)
{
	value &= bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	if (is_signed && bits < 64 && (value >> (bits - 1) & 1))
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

static uint32_t part_bits(enum video_part part)
{
	return part == PART_WORD ? 32 : part <= PART_H1 ? 16 : 8;
}

static uint32_t part_shift(enum video_part part)
{
	if (part == PART_WORD)
		return 0;
	return part <= PART_H1 ? (part - PART_H0) * 16u : (part - PART_B0) * 8u;
}

static int64_t read_part(uint32_t word, enum video_part part, bool is_signed)
{
	return extend(word >> part_shift(part), part_bits(part), is_signed);
}

static int64_t clamp(int64_t value, uint32_t bits, bool is_signed)
{
	int64_t max = (int64_t)((1ull << (bits - is_signed)) - 1);
	int64_t min = is_signed ? -max - 1 : 0;

	return value > max ? max : value < min ? min : value;
}

static bool compare(uint32_t comparison, int64_t a, int64_t b)
{
	switch (comparison) {
	case SG_VIDEO_EQ:
		return a == b;
	case SG_VIDEO_NE:
		return a != b;
	case SG_VIDEO_LT:
		return a < b;
	case SG_VIDEO_LE:
		return a <= b;
	case SG_VIDEO_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static int64_t operate(union sg_video video, int64_t a, int64_t b)
{
	/* Shifts: .clamp stops at 32, .wrap takes the low five bits. */
	uint64_t shift = video.wraps ? (uint64_t)b & 31 : (uint64_t)b > 32 ? 32 : (uint64_t)b;

	switch (video.operation) {
	case SG_VIDEO_ADD:
		return a + b;
	case SG_VIDEO_SUB:
		return a - b;
	case SG_VIDEO_ABSDIFF:
		return a > b ? a - b : b - a;
	case SG_VIDEO_MIN:
		return a < b ? a : b;
	case SG_VIDEO_MAX:
		return a > b ? a : b;
	case SG_VIDEO_SHL:
		return (int64_t)((uint64_t)a << shift);
	case SG_VIDEO_SHR:
		return a >> shift;
	case SG_VIDEO_AVERAGE:
		/* Rounded up, or away from zero if negative. */
		return a + b < 0 ? (a + b) >> 1 : (a + b + 1) >> 1;
	default:
		return compare(video.comparison, a, b);
	}
}

/* A scalar instruction: an operation on parts, then a second one with c. */
static uint32_t compute_scalar(union sg_video video, uint32_t a, uint32_t b, uint32_t c)
{
	enum video_part to = (enum video_part)video.select_d;
	bool is_set = video.operation == SG_VIDEO_SET, is_signed = video.signed_d;
	int64_t value =
		operate(video, read_part(a, (enum video_part)(video.select_a & 7), video.signed_a),
			read_part(b, (enum video_part)(video.select_b & 7), video.signed_b));
	uint32_t bits = video.second == SG_VIDEO_SECOND_MERGE ? part_bits(to) : 32, mask;
	int64_t other = extend(c, 32, is_signed);

	if (is_set)
		is_signed = false;
	if (video.saturate)
		value = clamp(value, bits, is_signed);
	value = extend((uint64_t)value, bits, is_signed);
	switch (video.second) {
	case SG_VIDEO_SECOND_ADD:
		return (uint32_t)(value + other);
	case SG_VIDEO_SECOND_MIN:
		return (uint32_t)(value < other ? value : other);
	case SG_VIDEO_SECOND_MAX:
		return (uint32_t)(value > other ? value : other);
	case SG_VIDEO_SECOND_MERGE:
		mask = (uint32_t)((1ull << bits) - 1) << part_shift(to);
		return (c & ~mask) | ((uint32_t)value << part_shift(to) & mask);
	default:
		return (uint32_t)value;
	}
}

/* Two or four parts at once; selectors number the parts of a first, then those of b. */
static uint32_t compute_parts(union sg_video video, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t bits = 32 / video.lanes, sum = c, result = c;
	uint64_t both = (uint64_t)b << 32 | a, mask = (1ull << bits) - 1;

	for (uint32_t i = 0; i < video.lanes; i++) {
		uint32_t from_a = video.select_a >> (4 * i) & 15;
		uint32_t from_b = video.select_b >> (4 * i) & 15;
		int64_t value =
			operate(video, extend(both >> (from_a * bits), bits, video.signed_a),
				extend(both >> (from_b * bits), bits, video.signed_b));

		if (!(video.select_d >> i & 1))
			continue;
		if (video.saturate)
			value = clamp(value, bits, video.signed_d);
		/* The sum is not limited to the part's bits. */
		sum += (uint32_t)value;
		result = (uint32_t)((result & ~(mask << (i * bits))) |
				    (((uint64_t)value & mask) << (i * bits)));
	}
	return video.second == SG_VIDEO_SECOND_ADD ? sum : result;
}

/* vmad: a × b + c, with negation, .po and scaling. */
static uint32_t compute_mad(union sg_video video, uint32_t a, uint32_t b, uint32_t c)
{
	__int128 product =
		(__int128)read_part(a, (enum video_part)(video.select_a & 7), video.signed_a) *
		read_part(b, (enum video_part)(video.select_b & 7), video.signed_b);
	__int128 addend = extend(c, 32, video.signed_c), sum;
	bool is_signed = video.signed_d;

	if (video.negate_product)
		product = -product;
	if (video.negate_c)
		addend = -addend;
	sum = product + addend + video.plus_one;
	sum >>= video.shift_right;
	if (video.saturate) {
		__int128 max = is_signed ? INT32_MAX : UINT32_MAX, min = is_signed ? INT32_MIN : 0;

		sum = sum > max ? max : sum < min ? min : sum;
	}
	return (uint32_t)sum;
}

uint32_t sg_video_compute(uint64_t bits, uint32_t a, uint32_t b, uint32_t c)
{
	union sg_video video = {.bits = bits};

	if (video.operation == SG_VIDEO_MAD)
		return compute_mad(video, a, b, c);
	return video.lanes == 1 ? compute_scalar(video, a, b, c) : compute_parts(video, a, b, c);
}

/* ---- decoding -------------------------------------------------------------------------- */

static const struct {
	enum gt_ptx_opcode opcode;
	enum sg_video_operation operation;
	uint8_t lanes;
} video_opcodes[] = {
	{GT_PTX_OP_VADD, SG_VIDEO_ADD, 1},          {GT_PTX_OP_VADD2, SG_VIDEO_ADD, 2},
	{GT_PTX_OP_VADD4, SG_VIDEO_ADD, 4},         {GT_PTX_OP_VSUB, SG_VIDEO_SUB, 1},
	{GT_PTX_OP_VSUB2, SG_VIDEO_SUB, 2},         {GT_PTX_OP_VSUB4, SG_VIDEO_SUB, 4},
	{GT_PTX_OP_VABSDIFF, SG_VIDEO_ABSDIFF, 1},  {GT_PTX_OP_VABSDIFF2, SG_VIDEO_ABSDIFF, 2},
	{GT_PTX_OP_VABSDIFF4, SG_VIDEO_ABSDIFF, 4}, {GT_PTX_OP_VMIN, SG_VIDEO_MIN, 1},
	{GT_PTX_OP_VMIN2, SG_VIDEO_MIN, 2},         {GT_PTX_OP_VMIN4, SG_VIDEO_MIN, 4},
	{GT_PTX_OP_VMAX, SG_VIDEO_MAX, 1},          {GT_PTX_OP_VMAX2, SG_VIDEO_MAX, 2},
	{GT_PTX_OP_VMAX4, SG_VIDEO_MAX, 4},         {GT_PTX_OP_VSHL, SG_VIDEO_SHL, 1},
	{GT_PTX_OP_VSHR, SG_VIDEO_SHR, 1},          {GT_PTX_OP_VMAD, SG_VIDEO_MAD, 1},
	{GT_PTX_OP_VSET, SG_VIDEO_SET, 1},          {GT_PTX_OP_VSET2, SG_VIDEO_SET, 2},
	{GT_PTX_OP_VSET4, SG_VIDEO_SET, 4},         {GT_PTX_OP_VAVRG2, SG_VIDEO_AVERAGE, 2},
	{GT_PTX_OP_VAVRG4, SG_VIDEO_AVERAGE, 4},
};

static const enum gt_ptx_modifier_id comparisons[] = {
	GT_PTX_MOD_EQ, GT_PTX_MOD_NE, GT_PTX_MOD_LT, GT_PTX_MOD_LE, GT_PTX_MOD_GT, GT_PTX_MOD_GE,
};

static bool read_video_modifier(enum gt_ptx_modifier_id id, union sg_video *video)
{
	for (uint32_t i = 0; i < gt_countof(comparisons); i++)
		if (id == comparisons[i]) {
			video->comparison = i;
			return true;
		}
	switch (id) {
	case GT_PTX_MOD_SAT:
		video->saturate = 1;
		return true;
	case GT_PTX_MOD_ADD:
		video->second = SG_VIDEO_SECOND_ADD;
		return true;
	case GT_PTX_MOD_MIN:
		video->second = SG_VIDEO_SECOND_MIN;
		return true;
	case GT_PTX_MOD_MAX:
		video->second = SG_VIDEO_SECOND_MAX;
		return true;
	case GT_PTX_MOD_WRAP:
		video->wraps = 1;
		return true;
	case GT_PTX_MOD_CLAMP:
		return true;
	case GT_PTX_MOD_PO:
		video->plus_one = 1;
		return true;
	default:
		return gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE;
	}
}

static bool is_signed_type(const struct gt_ptx_form *form, uint32_t index)
{
	return index < form->type_count &&
	       gt_ptx_type_info(form->types[index])->class == GT_PTX_CLASS_SIGNED;
}

static bool read_video_form(const struct gt_ptx_form *form, union sg_video *video)
{
	uint32_t row = 0;
	bool is_set;

	while (row < gt_countof(video_opcodes) && video_opcodes[row].opcode != form->opcode)
		row++;
	if (row == gt_countof(video_opcodes))
		return false;
	video->operation = video_opcodes[row].operation;
	video->lanes = video_opcodes[row].lanes;
	is_set = video->operation == SG_VIDEO_SET;
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		const char *text = form->modifiers[i].text;

		if (!strcmp(text, ".shr7"))
			video->shift_right = 7;
		else if (!strcmp(text, ".shr15"))
			video->shift_right = 15;
		else if (!read_video_modifier(form->modifiers[i].id, video))
			return false;
	}
	/* vset has the types of a and b only; its result is unsigned. */
	if (form->type_count != (is_set ? 2u : 3u))
		return false;
	video->signed_d = !is_set && is_signed_type(form, 0);
	video->signed_a = is_signed_type(form, is_set ? 0 : 1);
	video->signed_b = is_signed_type(form, is_set ? 1 : 2);
	return true;
}

/* ".b0" or ".h1" of a scalar operand. */
static bool read_part_selector(const struct gt_ptx_operand *operand, uint32_t *ret_part)
{
	switch (operand->selector) {
	case GT_PTX_SELECT_NONE:
		*ret_part = PART_WORD;
		return true;
	case GT_PTX_SELECT_H0:
	case GT_PTX_SELECT_H1:
		*ret_part = PART_H0 + (uint32_t)operand->selector - GT_PTX_SELECT_H0;
		return true;
	case GT_PTX_SELECT_B0:
	case GT_PTX_SELECT_B1:
	case GT_PTX_SELECT_B2:
	case GT_PTX_SELECT_B3:
		*ret_part = PART_B0 + (uint32_t)operand->selector - GT_PTX_SELECT_B0;
		return true;
	default:
		return false;
	}
}

/* ".b7632" or ".h32": a part of a or b for each part; the highest part comes first. */
static bool read_parts(const struct gt_ptx_operand *operand, uint32_t lanes, bool is_a,
		       uint32_t *ret_parts)
{
	const char *text = operand->selector_text;

	*ret_parts = 0;
	if (operand->selector == GT_PTX_SELECT_NONE) {
		for (uint32_t i = 0; i < lanes; i++)
			*ret_parts |= (i + (is_a ? 0 : lanes)) << (4 * i);
		return true;
	}
	if (operand->selector != GT_PTX_SELECT_OTHER || strlen(text) != lanes + 1)
		return false;
	for (uint32_t i = 0; i < lanes; i++) {
		char digit = text[lanes - i];

		if (digit < '0' || (uint32_t)(digit - '0') >= 2 * lanes)
			return false;
		*ret_parts |= (uint32_t)(digit - '0') << (4 * i);
	}
	return true;
}

/* The mask on a destination: ".b310" or ".h0". */
static bool read_mask(const struct gt_ptx_operand *operand, uint32_t lanes, uint32_t *ret_mask)
{
	static const char *const halves[] = {"h0", "h1"};
	static const char *const bytes[] = {"b0", "b1", "b2", "b3"};
	const char *text = NULL;

	*ret_mask = (1u << lanes) - 1;
	if (operand->selector == GT_PTX_SELECT_NONE)
		return true;
	if (operand->selector >= GT_PTX_SELECT_H0 && operand->selector <= GT_PTX_SELECT_H1)
		text = halves[operand->selector - GT_PTX_SELECT_H0];
	else if (operand->selector >= GT_PTX_SELECT_B0 && operand->selector <= GT_PTX_SELECT_B3)
		text = bytes[operand->selector - GT_PTX_SELECT_B0];
	else if (operand->selector == GT_PTX_SELECT_OTHER)
		text = operand->selector_text;
	if (!text || (text[0] != 'b' && text[0] != 'h'))
		return false;
	*ret_mask = 0;
	for (text++; *text; text++) {
		if (*text < '0' || (uint32_t)(*text - '0') >= lanes)
			return false;
		*ret_mask |= 1u << (*text - '0');
	}
	return true;
}

static bool read_selectors(const struct gt_ptx_instruction *instruction, union sg_video *video)
{
	const struct gt_ptx_operand *operands = instruction->operands;
	uint32_t d, a, b;
	bool good;

	if (video->lanes == 1)
		good = read_part_selector(&operands[0], &d) &&
		       read_part_selector(&operands[1], &a) && read_part_selector(&operands[2], &b);
	else
		good = read_mask(&operands[0], video->lanes, &d) &&
		       read_parts(&operands[1], video->lanes, true, &a) &&
		       read_parts(&operands[2], video->lanes, false, &b);
	if (!good)
		return false;
	video->select_d = d;
	video->select_a = a;
	video->select_b = b;
	if (video->lanes == 1 && d != PART_WORD)
		video->second = SG_VIDEO_SECOND_MERGE;
	return true;
}

/* Returns an operand without its selector and sign, which are read separately. */
static struct gt_ptx_operand without_selector(const struct gt_ptx_operand *operand)
{
	struct gt_ptx_operand copy = *operand;

	copy.selector = GT_PTX_SELECT_NONE;
	copy.offset = 0; /* instead of the text of the selector */
	copy.negated = false;
	return copy;
}

int sg_decode_video(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct sg_instruction step = {0};
	uint32_t *slots[] = {&step.d, &step.a, &step.b, &step.c}, width;
	uint32_t count = instruction->operand_count;
	union sg_video video = {.bits = 0};
	int error = 0;

	if (!read_video_form(instruction->form, &video))
		return sg_decode_bad_form(decoder);
	if (count < 3 || count > 4 || !read_selectors(instruction, &video))
		return sg_decode_bad_operand(decoder, count < 3 ? count : 0);
	if (video.operation == SG_VIDEO_MAD && count == 4) {
		video.negate_product =
			instruction->operands[1].negated != instruction->operands[2].negated;
		video.negate_c = instruction->operands[3].negated;
		video.signed_c = video.signed_a || video.signed_b || video.negate_c;
	}
	for (uint32_t i = 0; i < count && !error; i++) {
		struct gt_ptx_operand operand = without_selector(&instruction->operands[i]);

		error = i ? sg_decode_source_operand(decoder, &operand, i, GT_PTX_TYPE_B32, false,
						     slots[i], &width)
			  : sg_decode_destination_operand(decoder, &operand, i, GT_PTX_TYPE_B32,
							  false, slots[i], &width);
	}
	/* A missing c is 0. */
	if (!error && count == 3)
		error = sg_decode_constant(decoder, 4, 0, &step.c);
	step.immediate = video.bits;
	return error ? error : sg_decode_emit_lanes(decoder, SG_LANE_video, &step);
}
