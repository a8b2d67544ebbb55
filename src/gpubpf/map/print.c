/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Print maps as text and JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "gpubpf/map/private.h"

enum {
	MAX_HEX = 64, /* bytes of a key or value that are printed in text */
};

static bool is_number(uint32_t size)
{
	return size == 4 || size == 8;
}

static uint64_t number_of(const void *bytes, uint32_t size)
{
	uint64_t number = 0;

	memcpy(&number, bytes, size);
	return number;
}

static void put_hex(struct gt_strbuf *text, const uint8_t *bytes, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		gt_strbuf_printf(text, "%02x", bytes[i]);
}

static void put_bytes(struct gt_strbuf *text, const void *bytes, uint32_t size)
{
	if (is_number(size)) {
		gt_strbuf_printf(text, "%" PRIu64, number_of(bytes, size));
		return;
	}
	put_hex(text, bytes, size > MAX_HEX ? MAX_HEX : size);
	if (size > MAX_HEX)
		gt_strbuf_puts(text, "…");
}

static bool is_zero(const void *bytes, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (((const uint8_t *)bytes)[i])
			return false;
	return true;
}

static uint32_t copies_of(const struct gt_bpf_map_view *view)
{
	return gt_bpf_map_kind(view->map->type)->copies == GT_COPY_ONE ? 1 : view->copies;
}

/* Count the copies in which an entry is not zero. */
static uint32_t count_set(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry)
{
	uint32_t set = 0;

	for (uint32_t copy = 0; copy < copies_of(view); copy++)
		set += !is_zero(gt_bpf_map_read_copy(view, entry, copy), view->map->value_size);
	return set;
}

static const char *copy_name(const struct gt_bpf_map_view *view)
{
	static const char *const names[] = {
		[GT_COPY_ONE] = "copies",
		[GT_COPY_SM] = "SMs",
		[GT_COPY_WARP] = "warps",
		[GT_COPY_THREAD] = "threads",
	};

	return view->copies_are ? view->copies_are
				: names[gt_bpf_map_kind(view->map->type)->copies];
}

/* Values that cannot be summed: print the first copy that is not zero. */
static void put_copies(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
		       uint32_t set, struct gt_strbuf *text)
{
	uint32_t copy = 0;

	if (is_number(view->map->value_size)) {
		gt_strbuf_printf(text, "%" PRIu64, gt_bpf_map_sum(view, entry));
	} else {
		/* `set` may be of another time: who shares the map may be writing to it. */
		while (copy + 1 < copies_of(view) &&
		       is_zero(gt_bpf_map_read_copy(view, entry, copy), view->map->value_size))
			copy++;
		put_bytes(text, gt_bpf_map_read_copy(view, entry, copy), view->map->value_size);
		gt_strbuf_printf(text, " in the first");
	}
	gt_strbuf_printf(text, " (%" PRIu32 " of %" PRIu32 " %s)", set, view->copies,
			 copy_name(view));
}

static void put_losses(const struct gt_bpf_map_view *view, struct gt_strbuf *text)
{
	struct gt_bpf_map_losses losses = gt_bpf_map_losses(view);

	if (losses.rejected)
		gt_strbuf_printf(text, "  %" PRIu64 " inserts rejected (map full)\n",
				 losses.rejected);
	if (losses.lost)
		gt_strbuf_printf(text, "  %" PRIu64 " records dropped (buffer full)\n",
				 losses.lost);
	if (losses.outside)
		gt_strbuf_printf(text, "  %" PRIu64 " accesses beyond the last of the %s\n",
				 losses.outside, copy_name(view));
}

static void put_entries(const struct gt_bpf_map_view *view, struct gt_strbuf *text)
{
	bool is_array = gt_bpf_map_kind(view->map->type)->shape == GT_BPF_MAP_ARRAY;
	struct gt_bpf_map_entry entry = {0};
	uint32_t zero_count = 0;

	while (gt_bpf_map_read(view, &entry)) {
		uint32_t set = is_array ? count_set(view, &entry) : 1;

		if (!set) {
			zero_count++;
			continue;
		}
		gt_strbuf_puts(text, "  ");
		if (entry.key) {
			put_bytes(text, entry.key, view->map->key_size);
			gt_strbuf_puts(text, ": ");
		}
		if (gt_bpf_map_kind(view->map->type)->copies == GT_COPY_ONE)
			put_bytes(text, entry.value, entry.size);
		else
			put_copies(view, &entry, set, text);
		gt_strbuf_putc(text, '\n');
	}
	if (zero_count)
		gt_strbuf_printf(text, "  %" PRIu32 " of %" PRIu32 " values are zero\n", zero_count,
				 view->map->max_entries);
}

void gt_bpf_map_print(const struct gt_bpf_map_view *view, struct gt_strbuf *text)
{
	const struct gt_bpf_map *map = view->map;
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	gt_put_printable(text, map->name);
	gt_strbuf_printf(text, " (%s", kind->name);
	if (kind->shape == GT_BPF_MAP_RING)
		gt_strbuf_printf(text, ", %" PRIu32 " bytes)\n", gt_bpf_map_ring_bytes(map));
	else if (kind->copies == GT_COPY_ONE)
		gt_strbuf_printf(text, ", %" PRIu32 " entries at most)\n", map->max_entries);
	else
		gt_strbuf_printf(text, ", %" PRIu32 " entries, %" PRIu32 " %s)\n", map->max_entries,
				 view->copies, copy_name(view));
	put_entries(view, text);
	put_losses(view, text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_hex(struct gt_json *json, const char *key, const void *bytes, uint32_t size)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_hex(&text, bytes, size);
	gt_json_string(json, key, gt_strbuf_string(&text));
	json->buffer->failed |= text.failed;
}

static void json_bytes(struct gt_json *json, const char *key, const void *bytes, uint32_t size)
{
	if (is_number(size))
		gt_json_u64(json, key, number_of(bytes, size));
	else
		json_hex(json, key, bytes, size);
}

static void json_copies(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
			struct gt_json *json)
{
	uint32_t size = view->map->value_size;

	if (is_number(size))
		gt_json_u64(json, "sum", gt_bpf_map_sum(view, entry));
	gt_json_array_begin(json, "values");
	for (uint32_t copy = 0; copy < view->copies; copy++) {
		const void *value = gt_bpf_map_read_copy(view, entry, copy);

		if (is_zero(value, size))
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "copy", copy);
		json_bytes(json, "value", value, size);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_entries(const struct gt_bpf_map_view *view, struct gt_json *json)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(view->map->type);
	struct gt_bpf_map_entry entry = {0};

	gt_json_array_begin(json, "entries");
	while (gt_bpf_map_read(view, &entry)) {
		if (kind->shape == GT_BPF_MAP_ARRAY && !count_set(view, &entry))
			continue;
		if (!entry.key) {
			json_bytes(json, NULL, entry.value, entry.size);
			continue;
		}
		gt_json_object_begin(json, NULL);
		json_bytes(json, "key", entry.key, view->map->key_size);
		if (kind->copies == GT_COPY_ONE)
			json_bytes(json, "value", entry.value, view->map->value_size);
		else
			json_copies(view, &entry, json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

void gt_bpf_map_print_json(const struct gt_bpf_map_view *view, struct gt_json *json,
			   const char *key)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(view->map->type);
	struct gt_bpf_map_losses losses = gt_bpf_map_losses(view);

	gt_json_object_begin(json, key);
	gt_json_string(json, "name", view->map->name);
	gt_json_string(json, "type", kind->name);
	gt_json_u64(json, "key_size", view->map->key_size);
	gt_json_u64(json, "value_size", view->map->value_size);
	gt_json_u64(json, "max_entries", view->map->max_entries);
	gt_json_u64(json, "copies", copies_of(view));
	json_entries(view, json);
	if (kind->shape == GT_BPF_MAP_HASH)
		gt_json_u64(json, "rejected", losses.rejected);
	if (kind->shape == GT_BPF_MAP_RING)
		gt_json_u64(json, "lost", losses.lost);
	if (kind->copies != GT_COPY_ONE)
		gt_json_u64(json, "outside", losses.outside);
	gt_json_object_end(json);
}
