/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Print maps as text and JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/bars.h"
#include "base/text.h"
#include "gpubpf/map/private.h"
#include "gpubpf/object/value.h"

enum {
	MAX_COPIES = 16, /* of one entry that are printed in text */
	MAX_POWERS = 64,
};

static bool is_number(uint32_t size)
{
	return size == 4 || size == 8;
}

/* Whether the values of copies are numbers that add up. */
static bool has_sum(const struct gt_bpf_map *map)
{
	return is_number(map->value_size) && gt_bpf_type_has_sum(&map->value);
}

/* The sum of copies that are signed; those of 4 bytes are extended before. */
static int64_t signed_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry)
{
	uint64_t sum = 0;

	if (view->map->value_size != sizeof(int32_t))
		return (int64_t)gt_bpf_map_sum(view, entry);
	for (uint32_t copy = 0; copy < view->copies; copy++)
		sum += (uint64_t)(int64_t)(int32_t)gt_bpf_map_number(
			view->map, gt_bpf_map_read_copy(view, entry, copy));
	return (int64_t)sum;
}

static void put_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
		    struct gt_strbuf *text)
{
	if (gt_bpf_type_is_signed(&view->map->value))
		gt_strbuf_i64(text, signed_sum(view, entry));
	else
		gt_strbuf_u64(text, gt_bpf_map_sum(view, entry));
}

static void json_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
		     struct gt_json *json)
{
	if (gt_bpf_type_is_signed(&view->map->value))
		gt_json_i64(json, "sum", signed_sum(view, entry));
	else
		gt_json_u64(json, "sum", gt_bpf_map_sum(view, entry));
}

static bool is_zero(const struct gt_bpf_map_view *view, const void *value)
{
	return !gt_sparse_find(view->sparse, value, (const uint8_t *)value + view->map->value_size);
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
		set += !is_zero(view, gt_bpf_map_read_copy(view, entry, copy));
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

/* The thread or warp of a copy: its coordinates where the grid is known, else its number. */
struct copy_place {
	bool has_grid;
	uint32_t block[3], thread[3]; /* of a warp: thread[0] is its number in the block */
};

static void split_number(uint64_t number, const uint32_t size[3], uint32_t ret_index[3])
{
	ret_index[0] = (uint32_t)(number % size[0]);
	ret_index[1] = (uint32_t)(number / size[0] % size[1]);
	ret_index[2] = (uint32_t)(number / size[0] / size[1]);
}

static struct copy_place place_of_copy(const struct gt_bpf_map_view *view, uint32_t copy)
{
	enum gt_bpf_map_copies kind = gt_bpf_map_kind(view->map->type)->copies;
	const struct gt_bpf_map_grid *grid = view->grid;
	struct copy_place place = {.has_grid = grid &&
					       (kind == GT_COPY_THREAD || kind == GT_COPY_WARP)};
	uint64_t threads;

	if (!place.has_grid)
		return place;
	threads = (uint64_t)grid->block[0] * grid->block[1] * grid->block[2];
	if (kind == GT_COPY_WARP)
		threads = (threads + 31) / 32;
	split_number(copy / threads, grid->grid, place.block);
	if (kind == GT_COPY_WARP)
		place.thread[0] = (uint32_t)(copy % threads);
	else
		split_number(copy % threads, grid->block, place.thread);
	return place;
}

static void put_copy_name(const struct gt_bpf_map_view *view, uint32_t copy, struct gt_strbuf *text)
{
	const struct copy_place place = place_of_copy(view, copy);
	const char *plural = copy_name(view);

	if (!place.has_grid) {
		gt_strbuf_printf(text, "%.*s %" PRIu32, (int)strlen(plural) - 1, plural, copy);
		return;
	}
	gt_strbuf_printf(text, "block(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") ", place.block[0],
			 place.block[1], place.block[2]);
	if (gt_bpf_map_kind(view->map->type)->copies == GT_COPY_WARP)
		gt_strbuf_printf(text, "warp %" PRIu32, place.thread[0]);
	else
		gt_strbuf_printf(text, "thread(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")",
				 place.thread[0], place.thread[1], place.thread[2]);
}

/* The values of the first copies that are not zero, a line each. */
static void put_each_copy(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
			  uint32_t set, struct gt_strbuf *text)
{
	uint32_t shown = 0;

	for (uint32_t copy = 0; copy < copies_of(view) && shown < MAX_COPIES; copy++) {
		const void *value = gt_bpf_map_read_copy(view, entry, copy);

		if (is_zero(view, value))
			continue;
		gt_strbuf_puts(text, "\n    ");
		put_copy_name(view, copy, text);
		gt_strbuf_puts(text, ": ");
		gt_bpf_value_print(&view->map->value, value, view->map->value_size, view->sparse,
				   text);
		shown++;
	}
	/* `set` may be of another time: who shares the map may be writing to it. */
	if (shown == MAX_COPIES && set > shown)
		gt_strbuf_printf(text, "\n    and %" PRIu32 " more (all of them: --json)",
				 set - shown);
}

/* An entry of several copies: their sum, if they are numbers, and each of them. */
static void put_copies(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
		       uint32_t set, struct gt_strbuf *text)
{
	enum gt_bpf_map_copies kind = gt_bpf_map_kind(view->map->type)->copies;
	bool is_sum = has_sum(view->map);

	if (is_sum) {
		put_sum(view, entry, text);
		gt_strbuf_puts(text, " (");
	}
	gt_strbuf_printf(text, "%" PRIu32 " of %" PRIu32 " %s%s", set, view->copies,
			 copy_name(view), is_sum ? ")" : "");
	if (!is_sum || kind == GT_COPY_THREAD || kind == GT_COPY_WARP)
		put_each_copy(view, entry, set, text);
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
			gt_bpf_value_print(&view->map->key, entry.key, view->map->key_size, NULL,
					   text);
			gt_strbuf_puts(text, ": ");
		}
		if (gt_bpf_map_kind(view->map->type)->copies == GT_COPY_ONE)
			gt_bpf_value_print(&view->map->value, entry.value, entry.size, view->sparse,
					   text);
		else
			put_copies(view, &entry, set, text);
		gt_strbuf_putc(text, '\n');
	}
	if (zero_count)
		gt_strbuf_printf(text, "  %" PRIu32 " of %" PRIu32 " values are zero\n", zero_count,
				 view->map->max_entries);
}

/* ---- histograms ------------------------------------------------------------------------ */

/* Whether the map counts powers of two. *ret_counts: how often each occurred. */
static bool read_histogram(const struct gt_bpf_map_view *view, uint64_t ret_counts[MAX_POWERS])
{
	const struct gt_bpf_map *map = view->map;
	struct gt_bpf_map_entry entry = {0};

	if (!map->histogram || gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_ARRAY ||
	    !is_number(map->value_size) || map->max_entries > MAX_POWERS)
		return false;
	while (gt_bpf_map_read(view, &entry))
		ret_counts[entry.index] = gt_bpf_map_sum(view, &entry);
	return true;
}

static void put_histogram(const struct gt_bpf_map_view *view, const uint64_t counts[MAX_POWERS],
			  struct gt_strbuf *text)
{
	gt_put_bars(text, counts, view->map->max_entries, view->map->max_entries < MAX_POWERS);
}

void gt_bpf_map_print(const struct gt_bpf_map_view *view, struct gt_strbuf *text)
{
	const struct gt_bpf_map *map = view->map;
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint64_t counts[MAX_POWERS] = {0};

	gt_put_printable(text, map->name);
	gt_strbuf_printf(text, " (%s", kind->name);
	if (kind->shape == GT_BPF_MAP_RING)
		gt_strbuf_printf(text, ", %" PRIu32 " bytes)\n", gt_bpf_map_ring_bytes(map));
	else if (kind->copies == GT_COPY_ONE)
		gt_strbuf_printf(text, ", %" PRIu32 " entries at most)\n", map->max_entries);
	else
		gt_strbuf_printf(text, ", %" PRIu32 " entries, %" PRIu32 " %s)\n", map->max_entries,
				 view->copies, copy_name(view));
	if (view->shapes_differ)
		gt_strbuf_printf(text,
				 "  launches of different shapes used this map: %s are numbered, "
				 "without coordinates\n",
				 copy_name(view));
	if (read_histogram(view, counts))
		put_histogram(view, counts, text);
	else
		put_entries(view, text);
	put_losses(view, text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_index(struct gt_json *json, const char *key, const uint32_t index[3])
{
	gt_json_array_begin(json, key);
	for (int i = 0; i < 3; i++)
		gt_json_u64(json, NULL, index[i]);
	gt_json_array_end(json);
}

static void json_place(const struct gt_bpf_map_view *view, uint32_t copy, struct gt_json *json)
{
	const struct copy_place place = place_of_copy(view, copy);

	if (!place.has_grid)
		return;
	json_index(json, "block", place.block);
	if (gt_bpf_map_kind(view->map->type)->copies == GT_COPY_WARP)
		gt_json_u64(json, "warp", place.thread[0]);
	else
		json_index(json, "thread", place.thread);
}

static void json_copies(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry,
			struct gt_json *json)
{
	if (has_sum(view->map))
		json_sum(view, entry, json);
	gt_json_array_begin(json, "values");
	for (uint32_t copy = 0; copy < view->copies; copy++) {
		const void *value = gt_bpf_map_read_copy(view, entry, copy);

		if (is_zero(view, value))
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "copy", copy);
		json_place(view, copy, json);
		gt_bpf_value_print_json(&view->map->value, value, view->map->value_size,
					view->sparse, json, "value");
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
			gt_bpf_value_print_json(&view->map->value, entry.value, entry.size,
						view->sparse, json, NULL);
			continue;
		}
		gt_json_object_begin(json, NULL);
		gt_bpf_value_print_json(&view->map->key, entry.key, view->map->key_size, NULL, json,
					"key");
		if (kind->copies == GT_COPY_ONE)
			gt_bpf_value_print_json(&view->map->value, entry.value,
						view->map->value_size, view->sparse, json, "value");
		else
			json_copies(view, &entry, json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

/* The ranges that occurred. */
static void json_histogram(const struct gt_bpf_map_view *view, struct gt_json *json)
{
	uint64_t counts[MAX_POWERS] = {0};
	uint32_t size = view->map->max_entries;

	if (!read_histogram(view, counts))
		return;
	gt_json_array_begin(json, "histogram");
	for (uint32_t power = 0; power < size; power++) {
		if (!counts[power])
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "min", power ? UINT64_C(1) << power : 0);
		gt_json_u64(json, "max",
			    power + 1 < size ? (UINT64_C(2) << power) - 1 : UINT64_MAX);
		gt_json_u64(json, "count", counts[power]);
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
	if (view->shapes_differ)
		gt_json_bool(json, "shapes_differ", true);
	json_entries(view, json);
	json_histogram(view, json);
	if (gt_bpf_map_is_hashed(kind->shape))
		gt_json_u64(json, "rejected", losses.rejected);
	if (kind->shape == GT_BPF_MAP_RING)
		gt_json_u64(json, "lost", losses.lost);
	if (kind->copies != GT_COPY_ONE)
		gt_json_u64(json, "outside", losses.outside);
	gt_json_object_end(json);
}
