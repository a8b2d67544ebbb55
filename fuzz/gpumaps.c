/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A map's memory as a traced process may leave it, read back and printed; and a ring that is read
 * while it is like that. The first bytes choose the map.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/map/ring_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD = 4,
	MAX_COPIES = 4,
};

static void read_ring(const struct gt_bpf_map *map, void *memory)
{
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct gt_ring_reader reader;
	const void *record;
	uint32_t bytes;

	if (gt_ring_reader_open(map, memory, &reader))
		return;
	for (int i = 0; i < 1000; i++) {
		int ready = gt_ring_reader_next(&reader, &record, &bytes);

		if (ready > 0 && bytes > map->max_entries)
			abort();
		if (ready > 0)
			gt_print_record(&text, record, bytes);
	}
	/* Whatever it was, it works again: emptied, or a record that is never finished. */
	if (reader.corruptions && reader.tail % 8)
		abort();
	gt_strbuf_free(&text);
	gt_ring_reader_close(&reader);
}

static void read_map(const struct gt_bpf_map_view *view)
{
	struct gt_strbuf text = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&object);
	struct gt_bpf_map_entry entry = {0};
	uint32_t entries = 0;

	while (gt_bpf_map_read(view, &entry))
		entries++;
	if (entries > view->map->max_entries)
		abort();
	gt_bpf_map_print(view, &text);
	gt_bpf_map_print_json(view, &json, NULL);
	gt_strbuf_free(&text);
	gt_strbuf_free(&object);
}

static void change_map(const struct gt_bpf_map *map, void *memory)
{
	uint8_t key[8] = {1}, value[64] = {0};

	gt_bpf_map_update(map, memory, 0, key, value, BPF_ANY);
	gt_bpf_map_lookup(map, memory, 0, key);
	gt_bpf_map_add(map, memory, 0, key, 3);
	gt_bpf_map_delete(map, memory, key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t types[] = {1, 2, 6, 27, 1502, 1540};
	struct gt_bpf_map map = {.name = "map", .key_size = 4};
	struct gt_bpf_map_view view = {.map = &map};
	uint64_t *memory;
	size_t bytes;

	if (size < HEAD)
		return 0;
	map.type = types[data[0] % gt_countof(types)];
	map.value_size = data[1] % 64 + 1;
	map.max_entries = map.type == 27 ? 64u << data[2] % 4 : data[2] % 16 + 1;
	if (map.type == 1)
		map.key_size = data[2] % 8 + 1;
	view.copies = data[3] % (MAX_COPIES + 1);
	bytes = gt_bpf_map_bytes(&map, view.copies);
	memory = calloc(1, bytes);
	if (!memory)
		return 0;
	memcpy(memory, data + HEAD, size - HEAD < bytes ? size - HEAD : bytes);
	view.memory = memory;
	read_map(&view);
	if (gt_bpf_map_kind(map.type)->shape == GT_BPF_MAP_RING)
		read_ring(&map, memory);
	else if (view.copies)
		change_map(&map, memory);
	free(memory);
	return 0;
}
