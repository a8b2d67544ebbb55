/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/preset.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "gpubpf/map/map.h"

enum {
	MAX_FILE = 256 << 20,
};

#define FORM "expected MAP[KEY]=VALUE or MAP=@FILE"

static int no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "map", NULL, "out of memory");
}

/* Parse an integer, which may be negative. */
static int parse_integer(const char *text, uint64_t *ret_value)
{
	bool negative = *text == '-';
	int error = gt_parse_u64(text + negative, ret_value);

	if (!error && negative)
		*ret_value = -*ret_value;
	return error;
}

static bool fits(const char *text, uint64_t value, uint32_t size)
{
	unsigned bits = size * 8;
	int64_t extended;

	if (size >= 8)
		return true;
	if (*text != '-')
		return !(value >> bits);
	extended = (int64_t)(value << (64 - bits)) >> (64 - bits);
	return (uint64_t)extended == value;
}

/* Parse `size` bytes: an integer, little-endian, or "hex:" and digits. */
static int parse_bytes(const char *text, uint8_t *bytes, uint32_t size)
{
	gt_autofree uint8_t *parsed = NULL;
	size_t count, wrong;
	uint64_t value;
	int error;

	memset(bytes, 0, size);
	if (strncmp(text, "hex:", 4) != 0) {
		if (parse_integer(text, &value) || !fits(text, value, size))
			return -EINVAL;
		memcpy(bytes, &value, size < sizeof(value) ? size : sizeof(value));
		return 0;
	}
	error = gt_parse_hex(text + 4, &parsed, &count, &wrong);
	if (error || count != size)
		return error == -ENOMEM ? error : -EINVAL;
	memcpy(bytes, parsed, size);
	return 0;
}

/* Append room for `count` presets. The first, or NULL. */
static uint8_t *add_presets(struct gt_bpf_map *map, uint64_t count)
{
	size_t each = (size_t)map->key_size + map->value_size, bytes;
	uint8_t *presets;

	if (__builtin_mul_overflow(map->preset_count + count, each, &bytes))
		return NULL;
	presets = realloc(map->presets, bytes);
	if (!presets)
		return NULL;
	map->presets = presets;
	presets += map->preset_count * each;
	map->preset_count += count;
	return presets;
}

/* "KEY]=VALUE" */
static int preset_value(struct gt_bpf_map *map, char *text, struct gt_diag *diag)
{
	enum gt_bpf_map_shape shape = gt_bpf_map_kind(map->type)->shape;
	char *end = strstr(text, "]=");
	uint32_t index;
	uint8_t *preset;
	int error;

	if (!end)
		return gt_diag(diag, -EINVAL, "map", map->name, FORM);
	*end = '\0';
	if (map->preset_count >= map->max_entries && gt_bpf_map_is_hashed(shape))
		return gt_diag(diag, -EINVAL, "map", map->name,
			       "more values than the %u entries of the map", map->max_entries);
	preset = add_presets(map, 1);
	if (!preset)
		return no_memory(diag);
	error = parse_bytes(text, preset, map->key_size);
	if (error)
		return gt_diag(diag, error, "map", map->name,
			       "invalid key '%s' (an integer of %u bytes, or hex: and %u digits)",
			       text, map->key_size, 2 * map->key_size);
	memcpy(&index, preset, sizeof(index));
	if (shape == GT_BPF_MAP_ARRAY && index >= map->max_entries)
		return gt_diag(diag, -EINVAL, "map", map->name, "the key %u is not 0 to %u", index,
			       map->max_entries - 1);
	error = parse_bytes(end + 2, preset + map->key_size, map->value_size);
	return error ? gt_diag(diag, error, "map", map->name,
			       "invalid value '%s' (an integer of %u bytes, or hex: and %u digits)",
			       end + 2, map->value_size, 2 * map->value_size)
		     : 0;
}

static int preset_file(struct gt_bpf_map *map, const char *path, struct gt_diag *diag)
{
	gt_auto_file file = {0};
	uint64_t count;
	uint8_t *preset;
	int error;

	if (gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_ARRAY)
		return gt_diag(diag, -EINVAL, "map", map->name,
			       "only arrays can be set from a file");
	error = gt_file_read(path, MAX_FILE, &file, diag);
	if (error)
		return error;
	count = (file.size + map->value_size - 1) / map->value_size;
	if (count > map->max_entries)
		return gt_diag(diag, -EINVAL, "map", map->name,
			       "%s has %zu bytes, and the map %u values of %u bytes", path,
			       file.size, map->max_entries, map->value_size);
	preset = add_presets(map, count);
	if (!preset)
		return no_memory(diag);
	for (uint32_t i = 0; i < count; i++) {
		size_t at = (size_t)i * map->value_size, rest = file.size - at;

		memcpy(preset, &i, sizeof(i));
		preset += map->key_size;
		memset(preset, 0, map->value_size);
		memcpy(preset, file.data + at, rest < map->value_size ? rest : map->value_size);
		preset += map->value_size;
	}
	return 0;
}

/* Find a map that values can be assigned to. */
static int find_target(struct gt_bpf_object *object, const char *name, size_t length,
		       struct gt_bpf_map **ret_map, struct gt_diag *diag)
{
	const char *reason = NULL;
	struct gt_bpf_map *map = NULL;

	for (uint32_t i = 0; !map && i < object->map_count; i++)
		if (strlen(object->maps[i].name) == length &&
		    !strncmp(object->maps[i].name, name, length))
			map = &object->maps[i];
	if (!map)
		return gt_diag(diag, -ENOENT, "map", object->path, "there is no map '%.*s'",
			       (int)length, name);
	if (map->host_only)
		reason = "no GPU program uses it";
	else if (gt_bpf_map_kind(map->type)->shape == GT_BPF_MAP_RING)
		reason = "a ring has no values";
	else if (map->read_only)
		reason = "it is read-only, and its programs were verified with its values";
	if (reason)
		return gt_diag(diag, -EINVAL, "map", map->name, "cannot be set: %s", reason);
	*ret_map = map;
	return 0;
}

int gt_bpf_object_preset(struct gt_bpf_object *object, const char *assignment, struct gt_diag *diag)
{
	size_t length = strcspn(assignment, "[=");
	gt_autofree char *text = strdup(assignment);
	struct gt_bpf_map *map = NULL;
	int error;

	if (!text)
		return no_memory(diag);
	if (!length || !text[length])
		return gt_diag(diag, -EINVAL, "map", assignment, FORM);
	error = find_target(object, text, length, &map, diag);
	if (error)
		return error;
	if (text[length] == '[')
		return preset_value(map, text + length + 1, diag);
	if (text[length + 1] != '@')
		return gt_diag(diag, -EINVAL, "map", assignment, FORM);
	return preset_file(map, text + length + 2, diag);
}
