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

static struct gt_ptx_ring output_ring(struct gt_ptxgen *gen)
{
	return (struct gt_ptx_ring){gt_ptx_output_address(gen), gt_ptx_output_bytes(gen)};
}

/* The head of what is printed; its size is a .b64. */
static void put_head(struct gt_ptxgen *gen, const struct gt_ptx_name *record, const char *size,
		     const struct gt_ptx_name *arguments)
{
	const char *space = gt_ptx_global(gen);

	gt_ptx(gen, "st%s.u64 [%s+%d], %s", space, record->text, BYTES, size);
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		gt_ptx(gen, "st%s.u64 [%s+%zu], %s", space, record->text,
		       BYTES + offsetof(struct gt_print_record, arguments) + 8 * i,
		       arguments ? arguments[i].text : "0");
}

/* Ends a record whose format is `size` bytes long: r0 = 0. */
static void put_end(struct gt_ptxgen *gen, const struct gt_ptx_name *record,
		    const struct gt_ptx_name *size)
{
	struct gt_ptx_name bytes = gt_ptx_low(gen, size->text);

	gt_ptx(gen, "add.u32 %s, %s, %zu", bytes.text, bytes.text, sizeof(struct gt_print_record));
	gt_ptx_ring_give(gen, record->text, bytes.text, GT_RING_READY);
	gt_ptx_result(gen, 0);
}

static int too_long(struct gt_ptxgen *gen, uint32_t most)
{
	return gt_ptx_fail(gen, -EOPNOTSUPP, "a format that may be longer than %" PRIu32 " bytes",
			   most);
}

/* The longest format: records of the output ring leave room for each other. */
static uint32_t most_of(const struct gt_ptx_ring *ring)
{
	return ring->bytes / 2 - FORMAT;
}

int gt_ptx_trace_printk(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_register_fact *fact = gt_ptx_fact(gen, 2);
	struct gt_ptx_name size = gt_ptx_register(gen, 2), over = gt_ptx_label(gen);
	struct gt_ptx_name arguments[GT_PRINT_ARGUMENTS], record, failed, format = gt_ptx_b64(gen);
	struct gt_ptx_ring ring = output_ring(gen);

	if (fact->greatest < 0 || (uint64_t)fact->greatest > most_of(&ring))
		return too_long(gen, most_of(&ring));
	for (unsigned i = 0; i < GT_PRINT_ARGUMENTS; i++)
		arguments[i] = gt_ptx_register(gen, 3 + i);
	if (fact->least == fact->greatest) {
		gt_ptx_ring_take(gen, &ring, (uint32_t)fact->least + sizeof(struct gt_print_record),
				 &record, &failed);
	} else {
		struct gt_ptx_name bytes = gt_ptx_b64(gen);

		gt_ptx(gen, "add.s64 %s, %s, %zu", bytes.text, size.text,
		       sizeof(struct gt_print_record));
		gt_ptx_ring_take_sized(gen, &ring, bytes.text, &record, &failed);
	}
	gt_ptx_result(gen, -EAGAIN);
	gt_ptx(gen, "@%s bra %s", failed.text, over.text);
	put_head(gen, &record, size.text, arguments);
	gt_ptx(gen, "add.s64 %s, %s, %d", format.text, record.text, FORMAT);
	if (fact->least == fact->greatest)
		gt_ptx_copy_in(gen, 1, (uint32_t)fact->least, format.text);
	else
		gt_ptx_copy_in_sized(gen, 1, size.text, format.text);
	put_end(gen, &record, &size);
	gt_ptx_put_label(gen, &over);
	return 0;
}

/* The string that r1 points to in a constant map, or NULL. */
static const char *find_string(const struct gt_ptxgen *gen, uint32_t *ret_size)
{
	const struct gt_register_fact *fact = gt_ptx_fact(gen, 1);
	const struct gt_bpf_map *map;

	if (fact->place != GT_PLACE_MAP_VALUE || fact->map < 0 || fact->least != fact->greatest)
		return NULL;
	map = &gen->object->maps[fact->map];
	*ret_size = 1;
	if (!map->initial)
		return "";
	*ret_size += (uint32_t)strnlen((const char *)map->initial + fact->least,
				       map->value_size - (size_t)fact->least);
	return (const char *)map->initial + fact->least;
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
static void put_string(struct gt_ptxgen *gen, const struct gt_ptx_ring *ring, const uint8_t *bytes,
		       uint32_t size)
{
	struct gt_ptx_name length = gt_ptx_b64(gen), over = gt_ptx_label(gen), record, failed;

	gt_ptx_ring_take(gen, ring, size + sizeof(struct gt_print_record), &record, &failed);
	gt_ptx_result(gen, -EAGAIN);
	gt_ptx(gen, "@%s bra %s", failed.text, over.text);
	gt_ptx(gen, "mov.u64 %s, %" PRIu32, length.text, size);
	put_head(gen, &record, length.text, NULL);
	for (uint32_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
		gt_ptx(gen, "st%s.u64 [%s+%" PRIu32 "], 0x%" PRIx64, gt_ptx_global(gen),
		       record.text, FORMAT + at, word);
	}
	put_end(gen, &record, &length);
	gt_ptx_put_label(gen, &over);
}

int gt_ptx_puts(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_ring ring = output_ring(gen);
	gt_autofree uint8_t *doubled = NULL;
	const char *text;
	uint32_t size;

	text = find_string(gen, &size);
	if (!text)
		return gt_ptx_fail(gen, -EOPNOTSUPP,
				   "puts of a string that differs between ways to here");
	if (size > (most_of(&ring) - 8) / 2)
		return too_long(gen, (most_of(&ring) - 8) / 2);
	doubled = malloc(2 * (size_t)size);
	if (!doubled)
		return gt_ptx_fail(gen, -ENOMEM, "out of memory");
	size = double_percent(text, size, doubled);
	put_string(gen, &ring, doubled, size);
	return 0;
}
