/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The types of maps' keys and values, and which maps are histograms. */
#include <errno.h>

#include "gpubpf/object/private.h"

enum {
	HELPER_HIST_ADD = 530,
};

/* A typedef of bpf.h; such an array is a histogram for host programs, too. */
#define HISTOGRAM_TYPE "gputap_histogram"

/* libbpf has completed the types: the sizes of sections, and the offsets of variables. */
static int copy_types(struct gt_object_reader *reader)
{
	const struct btf *source = bpf_object__btf(reader->source);
	const void *data;
	uint32_t size;

	data = source ? btf__raw_data(source, &size) : NULL;
	if (!data)
		return 0;
	reader->object->types = btf__new(data, size);
	if (!libbpf_get_error(reader->object->types))
		return 0;
	reader->object->types = NULL;
	return errno == ENOMEM ? gt_object_no_memory(reader) : 0;
}

int gt_object_read_types(struct gt_object_reader *reader)
{
	const struct bpf_map *map;
	uint32_t count = 0;
	int error = copy_types(reader);

	if (error)
		return error;
	bpf_object__for_each_map (map, reader->source) {
		count++;
	}
	reader->types = calloc(count + 1u, sizeof(*reader->types));
	if (!reader->types)
		return gt_object_no_memory(reader);
	count = 0;
	bpf_object__for_each_map (map, reader->source) {
		reader->types[count++] = (struct gt_object_map_types){
			.key = {reader->object->types, bpf_map__btf_key_type_id(map)},
			.value = {reader->object->types, bpf_map__btf_value_type_id(map)},
			.pinned = bpf_map__pin_path(map),
		};
	}
	return 0;
}

void gt_object_take_types(const struct gt_object_reader *reader, uint32_t number)
{
	struct gt_bpf_map *map = &reader->object->maps[number];

	map->key = reader->types[number].key;
	map->value = reader->types[number].value;
	map->pinned = reader->types[number].pinned;
	map->histogram = gt_bpf_type_is_named(&map->value, HISTOGRAM_TYPE);
}

/* Compilers load the map into r1 right before the call; other code is not understood. */
void gt_object_find_histograms(struct gt_bpf_object *object, const struct gt_bpf_program *program)
{
	uint32_t map = UINT32_MAX;

	for (uint32_t at = 0; at < program->count; at++) {
		const struct bpf_insn *insn = &program->insns[at];

		if (gt_bpf_is_wide(insn)) {
			if (insn->dst_reg == BPF_REG_1)
				map = insn->src_reg == GT_BPF_IMM_MAP_INDEX ? (uint32_t)insn->imm
									    : UINT32_MAX;
			at++;
		} else if (BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32) {
			if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
			    insn->imm == HELPER_HIST_ADD && map < object->map_count)
				object->maps[map].histogram = true;
			map = UINT32_MAX;
		} else if (insn->dst_reg == BPF_REG_1 && BPF_CLASS(insn->code) != BPF_ST &&
			   BPF_CLASS(insn->code) != BPF_STX) {
			map = UINT32_MAX;
		}
	}
}
