/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* trace_printk and puts in PTX: the format and its arguments go into the output ring. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/map/printk.h"
#include "gpubpf/ptxgen/map.h"

enum {
	BYTES = sizeof(struct gt_ring_record), /* where a record's bytes begin */
	FORMAT = BYTES + sizeof(struct gt_print_record),
};

static struct gt_ptxgen_ring output_ring(struct gt_ptxgen *gen)
{
	return (struct gt_ptxgen_ring){gt_ptxgen_output_address(gen), gt_ptxgen_output_bytes(gen)};
}

/* The head of what is printed; its size is a .b64. */
static void put_head(struct gt_ptxgen *gen, const struct gt_ptxgen_name *record, const char *size,
		     const struct gt_ptxgen_name *arguments)
{
	const char *space = gt_ptxgen_global(gen);

	gt_ptxgen_emit(gen, "st%s.u64 [%s+%d], %s", space, record->text, BYTES, size);
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		gt_ptxgen_emit(gen, "st%s.u64 [%s+%zu], %s", space, record->text,
			       BYTES + offsetof(struct gt_print_record, arguments) + 8 * i,
			       arguments ? arguments[i].text : "0");
}

/* Ends a record whose format is `size` bytes long: r0 = 0. */
static void put_end(struct gt_ptxgen *gen, const struct gt_ptxgen_name *record,
		    const struct gt_ptxgen_name *size)
{
	struct gt_ptxgen_name bytes = gt_ptxgen_low(gen, size->text);

	gt_ptxgen_emit(gen, "add.u32 %s, %s, %zu", bytes.text, bytes.text,
		       sizeof(struct gt_print_record));
	gt_ptxgen_ring_give(gen, record->text, bytes.text, GT_RING_READY);
	gt_ptxgen_result(gen, 0);
}

static int too_long(struct gt_ptxgen *gen, uint32_t most)
{
	return gt_ptxgen_fail(gen, -EOPNOTSUPP,
			      "a format that may be longer than %" PRIu32 " bytes", most);
}

/* The longest format: records of the output ring leave room for each other. */
static uint32_t most_of(const struct gt_ptxgen_ring *ring)
{
	return ring->bytes / 2 - FORMAT;
}

int gt_ptxgen_trace_printk(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, 2);
	struct gt_ptxgen_name size = gt_ptxgen_register(gen, 2), over = gt_ptxgen_label(gen);
	struct gt_ptxgen_name arguments[GT_PRINT_ARGUMENTS], record, failed,
		format = gt_ptxgen_b64(gen);
	struct gt_ptxgen_ring ring = output_ring(gen);

	if (fact->max < 0 || (uint64_t)fact->max > most_of(&ring))
		return too_long(gen, most_of(&ring));
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		arguments[i] = gt_ptxgen_register(gen, 3 + i);
	if (fact->min == fact->max) {
		gt_ptxgen_ring_take(gen, &ring,
				    (uint32_t)fact->min + sizeof(struct gt_print_record), &record,
				    &failed);
	} else {
		struct gt_ptxgen_name bytes = gt_ptxgen_b64(gen);

		gt_ptxgen_emit(gen, "add.s64 %s, %s, %zu", bytes.text, size.text,
			       sizeof(struct gt_print_record));
		gt_ptxgen_ring_take_sized(gen, &ring, bytes.text, &record, &failed);
	}
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_emit(gen, "@%s bra %s", failed.text, over.text);
	put_head(gen, &record, size.text, arguments);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %d", format.text, record.text, FORMAT);
	if (fact->min == fact->max)
		gt_ptxgen_copy_in(gen, 1, (uint32_t)fact->min, format.text);
	else
		gt_ptxgen_copy_in_sized(gen, 1, size.text, format.text);
	put_end(gen, &record, &size);
	gt_ptxgen_put_label(gen, &over);
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

/* A '%' is printed as it is: so it is doubled. */
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

/* The string is known, so it stands in the code. */
static void put_string(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
		       const uint8_t *bytes, uint32_t size)
{
	struct gt_ptxgen_name length = gt_ptxgen_b64(gen), over = gt_ptxgen_label(gen), record,
			      failed;

	gt_ptxgen_ring_take(gen, ring, size + sizeof(struct gt_print_record), &record, &failed);
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_emit(gen, "@%s bra %s", failed.text, over.text);
	gt_ptxgen_emit(gen, "mov.u64 %s, %" PRIu32, length.text, size);
	put_head(gen, &record, length.text, NULL);
	for (uint32_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
		gt_ptxgen_emit(gen, "st%s.u64 [%s+%" PRIu32 "], 0x%" PRIx64, gt_ptxgen_global(gen),
			       record.text, FORMAT + at, word);
	}
	put_end(gen, &record, &length);
	gt_ptxgen_put_label(gen, &over);
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
				      "puts of a string that differs between ways to here");
	if (size > (most_of(&ring) - 8) / 2)
		return too_long(gen, (most_of(&ring) - 8) / 2);
	doubled = malloc(2 * (size_t)size);
	if (!doubled)
		return gt_ptxgen_fail(gen, -ENOMEM, "out of memory");
	size = double_percent(text, size, doubled);
	put_string(gen, &ring, doubled, size);
	return 0;
}
