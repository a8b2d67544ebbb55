/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* trace_printk and puts in PTX: the format and its arguments go into the output ring. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/map/printk.h"
#include "gpubpf/ptxgen/map.h"

enum {
	BYTES = sizeof(struct gt_ring_record), /* offset of the bytes of a record */
	FORMAT = BYTES + sizeof(struct gt_print_record),
};

static struct gt_ptxgen_ring output_ring(struct gt_ptxgen *gen)
{
	return (struct gt_ptxgen_ring){gt_ptxgen_output_address(gen), gt_ptxgen_output_bytes(gen)};
}

static void emit_store(struct gt_ptxgen *gen, struct gt_ptxgen_value record, int64_t offset,
		       struct gt_ptxgen_value value)
{
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'u', 64),
		       gt_ptxgen_at(record, offset), value);
}

/* The start of a print record. size is a .b64; NULL: no arguments. */
static void emit_record_start(struct gt_ptxgen *gen, struct gt_ptxgen_value record,
			      struct gt_ptxgen_value size, const struct gt_ptxgen_value *arguments)
{
	emit_store(gen, record, BYTES, size);
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		emit_store(gen, record,
			   BYTES + (int64_t)offsetof(struct gt_print_record, arguments) + 8 * i,
			   arguments ? arguments[i] : gt_ptxgen_signed(0));
}

/* Ends a record whose format is `size` bytes long: r0 = 0. */
static void emit_record_end(struct gt_ptxgen *gen, struct gt_ptxgen_value record,
			    struct gt_ptxgen_value size)
{
	struct gt_ptxgen_value bytes = gt_ptxgen_low_half(gen, size);

	gt_ptxgen_emit(gen, "add.u32", bytes, bytes, sizeof(struct gt_print_record));
	gt_ptxgen_emit_record_head(gen, record, bytes, GT_RING_READY);
	gt_ptxgen_result(gen, 0);
}

static int fail_too_long(struct gt_ptxgen *gen, uint32_t max)
{
	return gt_ptxgen_fail(gen, -EOPNOTSUPP, "the format may be longer than %" PRIu32 " bytes",
			      max);
}

/* The longest format. Two records must fit the output ring. */
static uint32_t max_format(const struct gt_ptxgen_ring *ring)
{
	return ring->bytes / 2 - FORMAT;
}

int gt_ptxgen_trace_printk(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, 2);
	struct gt_ptxgen_value size = gt_ptxgen_reg64(gen, 2), over = gt_ptxgen_label(gen);
	struct gt_ptxgen_value arguments[GT_PRINT_ARGUMENTS], record, failed,
		format = gt_ptxgen_b64(gen);
	struct gt_ptxgen_ring ring = output_ring(gen);

	if (fact->max < 0 || (uint64_t)fact->max > max_format(&ring))
		return fail_too_long(gen, max_format(&ring));
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		arguments[i] = gt_ptxgen_reg64(gen, 3 + i);
	if (fact->min == fact->max) {
		gt_ptxgen_emit_reservation(gen, &ring,
					   (uint32_t)fact->min + sizeof(struct gt_print_record),
					   &record, &failed);
	} else {
		struct gt_ptxgen_value bytes = gt_ptxgen_b64(gen);

		gt_ptxgen_emit(gen, "add.s64", bytes, size, sizeof(struct gt_print_record));
		gt_ptxgen_emit_sized_reservation(gen, &ring, bytes, &record, &failed);
	}
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_branch_if(gen, failed, over);
	emit_record_start(gen, record, size, arguments);
	gt_ptxgen_emit(gen, "add.s64", format, record, FORMAT);
	if (fact->min == fact->max)
		gt_ptxgen_copy_in(gen, 1, (uint32_t)fact->min, format);
	else
		gt_ptxgen_copy_in_sized(gen, 1, size, format);
	emit_record_end(gen, record, size);
	gt_ptxgen_emit_label(gen, over);
	return 0;
}

/* The string that r1 points to in a constant map, or NULL. */
static const char *find_string(const struct gt_ptxgen *gen, uint32_t *ret_size)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, 1);
	const struct gt_bpf_map *map;

	if (fact->type != GT_REG_MAP_VALUE || fact->map < 0 || fact->min != fact->max)
		return NULL;
	map = &gen->object->maps[fact->map];
	*ret_size = 1;
	if (!map->initial)
		return "";
	*ret_size += (uint32_t)strnlen((const char *)map->initial + fact->min,
				       map->value_size - (size_t)fact->min);
	return (const char *)map->initial + fact->min;
}

/* Double each '%', so that it is printed as it is. */
static uint32_t double_percent(const char *text, uint32_t size, uint8_t *doubled)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i + 1 < size; i++) {
		if (text[i] == '%')
			doubled[length++] = '%';
		doubled[length++] = (uint8_t)text[i];
	}
	doubled[length++] = 0;
	return length;
}

/* A record with a constant string, whose bytes are immediate operands. */
static void emit_string(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
			const uint8_t *bytes, uint32_t size)
{
	struct gt_ptxgen_value length = gt_ptxgen_b64(gen), over = gt_ptxgen_label(gen), record,
			       failed;

	gt_ptxgen_emit_reservation(gen, ring, size + sizeof(struct gt_print_record), &record,
				   &failed);
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_branch_if(gen, failed, over);
	gt_ptxgen_emit(gen, "mov.u64", length, size);
	emit_record_start(gen, record, length, NULL);
	for (uint32_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
		emit_store(gen, record, FORMAT + at, gt_ptxgen_hex(word));
	}
	emit_record_end(gen, record, length);
	gt_ptxgen_emit_label(gen, over);
}

int gt_ptxgen_puts(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_ring ring = output_ring(gen);
	gt_autofree uint8_t *doubled = NULL;
	const char *text;
	uint32_t size;

	text = find_string(gen, &size);
	if (!text)
		return gt_ptxgen_fail(gen, -EOPNOTSUPP,
				      "puts of a string that differs between paths");
	if (size > (max_format(&ring) - 8) / 2)
		return fail_too_long(gen, (max_format(&ring) - 8) / 2);
	doubled = malloc(2 * (size_t)size);
	if (!doubled)
		return gt_ptxgen_fail(gen, -ENOMEM, "out of memory");
	size = double_percent(text, size, doubled);
	emit_string(gen, &ring, doubled, size);
	return 0;
}
