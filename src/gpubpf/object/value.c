/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/object/value.h"

#include <inttypes.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/text.h"

enum {
	MAX_CHAIN = 32,      /* typedefs and qualifiers in a row */
	MAX_DEPTH = 16,      /* structures in structures */
	MAX_PARTS = 1 << 14, /* of one value in text: members and elements */
	MAX_JSON_PARTS = 1 << 18,
	MAX_HEX = 64, /* bytes of a value without a type, in text */
	MAX_JSON_HEX = 1 << 16,
	MAX_STRING = 1 << 16,
	MAX_ELEMENTS = 256, /* of an array that lists all of them, in text */
	MAX_JSON_ELEMENTS = 4096,
	MAX_LISTED = 64, /* of the elements of others, in text */
	KIND_FLOAT = 16, /* newer than the headers may be */
	KIND_TYPE_TAG = 18,
	KIND_ENUM64 = 19,
};

/* Writes values in either format. */
struct value_printer {
	const struct btf *types;
	struct gt_strbuf *text;
	struct gt_json *json; /* NULL: text */
	struct gt_sparse *sparse;
	bool comma; /* text: something precedes */
	unsigned depth, parts;
};

static bool is_full(const struct value_printer *printer)
{
	return printer->parts >= (printer->json ? MAX_JSON_PARTS : MAX_PARTS);
}

/* ---- output ----------------------------------------------------------------------------- */

static void put_key(struct value_printer *printer, const char *key)
{
	if (printer->comma)
		gt_strbuf_puts(printer->text, ", ");
	printer->comma = true;
	if (!key)
		return;
	gt_strbuf_putc(printer->text, '.');
	gt_put_printable(printer->text, key);
	gt_strbuf_puts(printer->text, " = ");
}

static void put_u64(struct value_printer *printer, const char *key, uint64_t value)
{
	if (printer->json) {
		gt_json_u64(printer->json, key, value);
		return;
	}
	put_key(printer, key);
	gt_strbuf_printf(printer->text, "%" PRIu64, value);
}

static void put_i64(struct value_printer *printer, const char *key, int64_t value)
{
	if (printer->json) {
		gt_json_i64(printer->json, key, value);
		return;
	}
	put_key(printer, key);
	gt_strbuf_printf(printer->text, "%" PRId64, value);
}

static void put_address(struct value_printer *printer, const char *key, uint64_t value)
{
	if (printer->json) {
		gt_json_hex(printer->json, key, value);
		return;
	}
	put_key(printer, key);
	gt_strbuf_printf(printer->text, "0x%" PRIx64, value);
}

static void put_double(struct value_printer *printer, const char *key, double value)
{
	if (printer->json) {
		gt_json_double(printer->json, key, value);
		return;
	}
	put_key(printer, key);
	gt_strbuf_printf(printer->text, "%.9g", value);
}

static void put_bool(struct value_printer *printer, const char *key, bool value)
{
	if (printer->json) {
		gt_json_bool(printer->json, key, value);
		return;
	}
	put_key(printer, key);
	gt_strbuf_puts(printer->text, value ? "true" : "false");
}

/* An enumerator. */
static void put_name(struct value_printer *printer, const char *key, const char *name)
{
	if (printer->json) {
		gt_json_string(printer->json, key, name);
		return;
	}
	put_key(printer, key);
	gt_put_printable(printer->text, name);
}

static void put_string(struct value_printer *printer, const char *key, const char *bytes,
		       size_t length)
{
	gt_auto_strbuf copy = GT_STRBUF_INIT;

	if (printer->json) {
		gt_json_string_bytes(printer->json, key, bytes, length);
		return;
	}
	put_key(printer, key);
	gt_strbuf_add(&copy, bytes, length);
	gt_strbuf_putc(printer->text, '"');
	gt_put_printable(printer->text, gt_strbuf_string(&copy));
	gt_strbuf_putc(printer->text, '"');
	printer->text->failed |= copy.failed;
}

static void put_hex(struct value_printer *printer, const char *key, const uint8_t *bytes,
		    size_t size)
{
	gt_auto_strbuf digits = GT_STRBUF_INIT;
	size_t max = printer->json ? MAX_JSON_HEX : MAX_HEX, shown = size < max ? size : max;

	for (size_t i = 0; i < shown; i++)
		gt_strbuf_printf(&digits, "%02x", bytes[i]);
	if (shown < size)
		gt_strbuf_puts(&digits, "…");
	if (printer->json) {
		gt_json_string(printer->json, key, gt_strbuf_string(&digits));
	} else {
		put_key(printer, key);
		gt_strbuf_puts(printer->text, gt_strbuf_string(&digits));
	}
	printer->text->failed |= digits.failed;
}

/* What cannot be shown: bounds are exceeded, or the type has no values. */
static void put_nothing(struct value_printer *printer, const char *key)
{
	if (printer->json) {
		gt_json_null(printer->json, key);
		return;
	}
	put_key(printer, key);
	gt_strbuf_puts(printer->text, "…");
}

static void begin_list(struct value_printer *printer, const char *key, bool is_object)
{
	if (printer->json) {
		(is_object ? gt_json_object_begin : gt_json_array_begin)(printer->json, key);
		return;
	}
	put_key(printer, key);
	gt_strbuf_puts(printer->text, is_object ? "{ " : "[");
	printer->comma = false;
}

static void end_list(struct value_printer *printer, bool is_object)
{
	if (printer->json) {
		(is_object ? gt_json_object_end : gt_json_array_end)(printer->json);
		return;
	}
	gt_strbuf_puts(printer->text, is_object ? " }" : "]");
	printer->comma = true;
}

/* ---- types ------------------------------------------------------------------------------ */

/* The type behind typedefs and qualifiers, or NULL: void, or malformed. */
static const struct btf_type *resolve_type(const struct btf *types, uint32_t number)
{
	for (unsigned i = 0; i < MAX_CHAIN; i++) {
		const struct btf_type *type = number ? btf__type_by_id(types, number) : NULL;

		if (!type)
			return NULL;
		switch (btf_kind(type)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_VAR:
		case KIND_TYPE_TAG:
			number = type->type;
			break;
		default:
			return type;
		}
	}
	return NULL;
}

static size_t size_of_type(const struct btf *types, uint32_t number)
{
	int64_t size = number ? btf__resolve_size(types, number) : 0;

	return size > 0 ? (size_t)size : 0;
}

static const char *name_at(const struct btf *types, uint32_t offset)
{
	const char *name = btf__name_by_offset(types, offset);

	return name ? name : "";
}

static bool is_char(const struct btf *types, const struct btf_type *type)
{
	return type && btf_kind(type) == BTF_KIND_INT && type->size == 1 &&
	       (btf_int_encoding(type) & BTF_INT_CHAR ||
		!strcmp(name_at(types, type->name_off), "char"));
}

/* Whether a structure ends with an array of no fixed size; *ret_element: the size of its elements.
 */
static bool is_flexible(const struct btf *types, const struct btf_type *type, size_t *ret_element)
{
	const struct btf_type *last;

	if (btf_kind(type) != BTF_KIND_STRUCT || !btf_vlen(type))
		return false;
	last = resolve_type(types, btf_members(type)[btf_vlen(type) - 1].type);
	if (!last || btf_kind(last) != BTF_KIND_ARRAY || btf_array(last)->nelems)
		return false;
	*ret_element = size_of_type(types, btf_array(last)->type);
	return *ret_element;
}

bool gt_bpf_type_is_signed(const struct gt_bpf_type *type)
{
	const struct btf_type *resolved =
		type->types ? resolve_type(type->types, type->number) : NULL;

	return resolved && btf_kind(resolved) == BTF_KIND_INT &&
	       btf_int_encoding(resolved) & BTF_INT_SIGNED;
}

bool gt_bpf_type_member_u64(const struct gt_bpf_type *type, const char *name, const void *data,
			    size_t size, uint64_t *ret_value)
{
	const struct btf_type *resolved =
		type->types ? resolve_type(type->types, type->number) : NULL;
	const struct btf_type *member;
	uint32_t offset;

	if (!resolved || btf_kind(resolved) != BTF_KIND_STRUCT)
		return false;
	for (uint32_t i = 0; i < btf_vlen(resolved); i++) {
		if (strcmp(name_at(type->types, btf_members(resolved)[i].name_off), name) != 0)
			continue;
		member = resolve_type(type->types, btf_members(resolved)[i].type);
		offset = btf_member_bit_offset(resolved, i);
		if (!member || btf_kind(member) != BTF_KIND_INT ||
		    member->size != sizeof(*ret_value) || btf_member_bitfield_size(resolved, i) ||
		    offset % 8 || size < sizeof(*ret_value) ||
		    offset / 8 > size - sizeof(*ret_value))
			return false;
		memcpy(ret_value, (const char *)data + offset / 8, sizeof(*ret_value));
		return true;
	}
	return false;
}

bool gt_bpf_type_fits(const struct gt_bpf_type *type, size_t size)
{
	const struct btf_type *resolved =
		type->types ? resolve_type(type->types, type->number) : NULL;
	size_t own, element;

	if (!resolved)
		return false;
	own = btf_kind(resolved) == BTF_KIND_DATASEC ? resolved->size
						     : size_of_type(type->types, type->number);
	if (own == size)
		return size;
	return is_flexible(type->types, resolved, &element) && size > own &&
	       (size - own) % element == 0;
}

bool gt_bpf_type_has_sum(const struct gt_bpf_type *type)
{
	const struct btf_type *resolved =
		type->types ? resolve_type(type->types, type->number) : NULL;

	return !resolved || btf_kind(resolved) == BTF_KIND_INT;
}

bool gt_bpf_type_is_named(const struct gt_bpf_type *type, const char *name)
{
	const struct btf_type *found =
		type->types && type->number ? btf__type_by_id(type->types, type->number) : NULL;

	return found && btf_kind(found) == BTF_KIND_TYPEDEF &&
	       !strcmp(name_at(type->types, found->name_off), name);
}

/* ---- values ----------------------------------------------------------------------------- */

static void put_value(struct value_printer *printer, const char *key, uint32_t number,
		      const uint8_t *data, size_t size);

/* A little-endian integer of up to 8 bytes. */
static uint64_t read_bytes(const uint8_t *data, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, data, size < sizeof(value) ? size : sizeof(value));
	return value;
}

static int64_t extend_sign(uint64_t value, unsigned bits)
{
	unsigned shift = 64 - bits;

	return (int64_t)(value << shift) >> shift;
}

/* An integer of 1 to 64 bits. */
static void put_integer(struct value_printer *printer, const char *key, const struct btf_type *type,
			uint64_t value, unsigned bits)
{
	unsigned encoding = btf_int_encoding(type);

	if (encoding & BTF_INT_BOOL)
		put_bool(printer, key, value);
	else if (encoding & BTF_INT_SIGNED)
		put_i64(printer, key, extend_sign(value, bits));
	else
		put_u64(printer, key, value);
}

static void put_enumerator(struct value_printer *printer, const char *key,
			   const struct btf_type *type, uint64_t value, unsigned bits)
{
	bool is_wide = btf_kind(type) == KIND_ENUM64, is_signed = btf_kflag(type);
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
	const uint32_t *words = (const uint32_t *)(type + 1);

	for (uint32_t i = 0; i < btf_vlen(type); i++, words += is_wide ? 3 : 2) {
		uint64_t named = is_wide ? words[1] | (uint64_t)words[2] << 32
					 : (uint64_t)(int64_t)(int32_t)words[1];

		if (((named ^ value) & mask) == 0) {
			put_name(printer, key, name_at(printer->types, words[0]));
			return;
		}
	}
	if (is_signed)
		put_i64(printer, key, extend_sign(value, bits));
	else
		put_u64(printer, key, value);
}

/* An integer or enumeration of some bits. */
static void put_bits(struct value_printer *printer, const char *key, const struct btf_type *type,
		     uint64_t value, unsigned bits)
{
	if (btf_kind(type) == BTF_KIND_INT)
		put_integer(printer, key, type, value, bits);
	else
		put_enumerator(printer, key, type, value, bits);
}

static bool has_bits(const struct btf_type *type)
{
	return type && (btf_kind(type) == BTF_KIND_INT || btf_kind(type) == BTF_KIND_ENUM ||
			btf_kind(type) == KIND_ENUM64);
}

static void put_bit_field(struct value_printer *printer, const char *key, uint32_t number,
			  const uint8_t *data, size_t size, uint32_t offset, unsigned bits)
{
	const struct btf_type *type = resolve_type(printer->types, number);
	uint64_t value = 0;

	if (!has_bits(type) || bits > 64 || ((uint64_t)offset + bits + 7) / 8 > size) {
		put_nothing(printer, key);
		return;
	}
	for (unsigned i = 0; i < bits; i++)
		value |= (uint64_t)(data[(offset + i) / 8] >> (offset + i) % 8 & 1) << i;
	put_bits(printer, key, type, value, bits);
}

static bool is_structure(const struct btf_type *type)
{
	return type && (btf_kind(type) == BTF_KIND_STRUCT || btf_kind(type) == BTF_KIND_UNION);
}

static void put_members(struct value_printer *printer, const struct btf_type *type,
			const uint8_t *data, size_t size);

/* The members of an unnamed structure or union are among those around it. */
static void put_unnamed(struct value_printer *printer, uint32_t number, const uint8_t *data,
			size_t size)
{
	if (printer->depth == MAX_DEPTH)
		return;
	printer->depth++;
	put_members(printer, resolve_type(printer->types, number), data, size);
	printer->depth--;
}

static void put_member(struct value_printer *printer, const struct btf_type *type, uint32_t number,
		       const uint8_t *data, size_t size)
{
	const struct btf_member *member = &btf_members(type)[number];
	const char *name = name_at(printer->types, member->name_off);
	uint32_t offset = btf_member_bit_offset(type, number);
	uint32_t bits = btf_member_bitfield_size(type, number);

	if (bits)
		put_bit_field(printer, name, member->type, data, size, offset, bits);
	else if (offset / 8 > size)
		put_nothing(printer, name);
	else if (!*name && is_structure(resolve_type(printer->types, member->type)))
		put_unnamed(printer, member->type, data + offset / 8, size - offset / 8);
	else
		put_value(printer, name, member->type, data + offset / 8, size - offset / 8);
}

static void put_members(struct value_printer *printer, const struct btf_type *type,
			const uint8_t *data, size_t size)
{
	for (uint32_t i = 0; i < btf_vlen(type) && !is_full(printer); i++)
		put_member(printer, type, i, data, size);
}

static void put_structure(struct value_printer *printer, const char *key,
			  const struct btf_type *type, const uint8_t *data, size_t size)
{
	begin_list(printer, key, true);
	put_members(printer, type, data, size);
	end_list(printer, true);
}

static void put_elements(struct value_printer *printer, const char *key, uint32_t element,
			 const uint8_t *data, size_t count, size_t size)
{
	begin_list(printer, key, false);
	for (size_t i = 0; i < count && !is_full(printer); i++)
		put_value(printer, NULL, element, data + i * size, size);
	if (is_full(printer))
		put_nothing(printer, NULL);
	end_list(printer, false);
}

/* ---- long arrays ---- */

struct long_array {
	uint32_t element; /* its type */
	const uint8_t *data;
	size_t count, size; /* elements, and bytes of one */
};

/* Find the next element that is not zero, from one on; `count`: there is none. */
static size_t find_nonzero(const struct value_printer *printer, const struct long_array *array,
			   size_t from)
{
	const uint8_t *found = gt_sparse_find(printer->sparse, array->data + from * array->size,
					      array->data + array->count * array->size);

	return found ? (size_t)(found - array->data) / array->size : array->count;
}

static size_t count_nonzero(const struct value_printer *printer, const struct long_array *array)
{
	size_t count = 0;

	for (size_t at = find_nonzero(printer, array, 0); at < array->count;
	     at = find_nonzero(printer, array, at + 1))
		count++;
	return count;
}

static void list_nonzero(struct value_printer *printer, const struct long_array *array)
{
	size_t listed = 0, nonzero = count_nonzero(printer, array), max = MAX_LISTED, at;

	for (at = find_nonzero(printer, array, 0);
	     at < array->count && listed < max && !is_full(printer);
	     at = find_nonzero(printer, array, at + 1), listed++) {
		put_key(printer, NULL);
		gt_strbuf_printf(printer->text, "[%zu] = ", at);
		printer->comma = false;
		put_value(printer, NULL, array->element, array->data + at * array->size,
			  array->size);
	}
	/* Others may write to the array meanwhile. */
	if (nonzero > listed && at < array->count) {
		put_key(printer, NULL);
		gt_strbuf_printf(printer->text, "%zu more", nonzero - listed);
	}
	if (nonzero < array->count) {
		put_key(printer, NULL);
		gt_strbuf_printf(printer->text, "%zu of %zu are zero", array->count - nonzero,
				 array->count);
	}
}

static void list_nonzero_json(struct value_printer *printer, const struct long_array *array)
{
	gt_json_u64(printer->json, "length", array->count);
	gt_json_u64(printer->json, "nonzero", count_nonzero(printer, array));
	gt_json_array_begin(printer->json, "elements");
	for (size_t at = find_nonzero(printer, array, 0); at < array->count && !is_full(printer);
	     at = find_nonzero(printer, array, at + 1)) {
		gt_json_object_begin(printer->json, NULL);
		gt_json_u64(printer->json, "index", at);
		put_value(printer, "value", array->element, array->data + at * array->size,
			  array->size);
		gt_json_object_end(printer->json);
	}
	gt_json_array_end(printer->json);
}

static void put_long_array(struct value_printer *printer, const char *key,
			   const struct long_array *array)
{
	bool is_object = printer->json;

	begin_list(printer, key, is_object);
	if (is_object)
		list_nonzero_json(printer, array);
	else
		list_nonzero(printer, array);
	end_list(printer, is_object);
}

static size_t string_length(const uint8_t *data, size_t count)
{
	return strnlen((const char *)data, count < MAX_STRING ? count : MAX_STRING);
}

/* An array; one of no fixed size has the rest of the value. */
static void put_array(struct value_printer *printer, const char *key, const struct btf_type *type,
		      const uint8_t *data, size_t size)
{
	const struct btf_array *array = btf_array(type);
	size_t element = size_of_type(printer->types, array->type);
	size_t count = element ? size / element : 0;

	if (array->nelems && count > array->nelems)
		count = array->nelems;
	if (array->nelems && count < array->nelems)
		put_nothing(printer, key);
	else if (is_char(printer->types, resolve_type(printer->types, array->type)))
		put_string(printer, key, (const char *)data, string_length(data, count));
	else if (count > (printer->json ? MAX_JSON_ELEMENTS : MAX_ELEMENTS))
		put_long_array(printer, key,
			       &(struct long_array){array->type, data, count, element});
	else
		put_elements(printer, key, array->type, data, count, element);
}

static void put_section(struct value_printer *printer, const char *key, const struct btf_type *type,
			const uint8_t *data, size_t size)
{
	const struct btf_var_secinfo *variable = btf_var_secinfos(type);

	begin_list(printer, key, true);
	for (uint32_t i = 0; i < btf_vlen(type) && !is_full(printer); i++, variable++) {
		const struct btf_type *named = btf__type_by_id(printer->types, variable->type);
		const char *name = named ? name_at(printer->types, named->name_off) : "";

		if (variable->offset <= size)
			put_value(printer, name, variable->type, data + variable->offset,
				  size - variable->offset);
	}
	end_list(printer, true);
}

static void put_float(struct value_printer *printer, const char *key, const uint8_t *data,
		      size_t size)
{
	double value;
	float narrow;

	if (size == sizeof(narrow)) {
		memcpy(&narrow, data, sizeof(narrow));
		put_double(printer, key, (double)narrow);
	} else if (size == sizeof(value)) {
		memcpy(&value, data, sizeof(value));
		put_double(printer, key, value);
	} else {
		put_hex(printer, key, data, size);
	}
}

/* A value that is no list. */
static void put_scalar(struct value_printer *printer, const char *key, const struct btf_type *type,
		       const uint8_t *data)
{
	size_t size = btf_kind(type) == BTF_KIND_PTR ? sizeof(uint64_t) : type->size;

	if (btf_kind(type) == BTF_KIND_PTR)
		put_address(printer, key, read_bytes(data, size));
	else if (btf_kind(type) == KIND_FLOAT)
		put_float(printer, key, data, size);
	else if (has_bits(type) && size && size <= sizeof(uint64_t))
		put_bits(printer, key, type, read_bytes(data, size), (unsigned)size * 8);
	else
		put_hex(printer, key, data, size);
}

static void put_resolved(struct value_printer *printer, const char *key,
			 const struct btf_type *type, const uint8_t *data, size_t size)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		put_structure(printer, key, type, data, size);
		break;
	case BTF_KIND_ARRAY:
		put_array(printer, key, type, data, size);
		break;
	case BTF_KIND_DATASEC:
		put_section(printer, key, type, data, size);
		break;
	default:
		put_scalar(printer, key, type, data);
		break;
	}
}

/* `size` bytes are there; the value may be shorter, and longer only if it has no fixed size. */
static void put_value(struct value_printer *printer, const char *key, uint32_t number,
		      const uint8_t *data, size_t size)
{
	const struct btf_type *type = resolve_type(printer->types, number);
	size_t own = size_of_type(printer->types, number);
	bool is_list = type && (btf_kind(type) == BTF_KIND_ARRAY ||
				btf_kind(type) == BTF_KIND_DATASEC || is_structure(type));

	printer->parts++;
	if (!type || (!is_list && !own) || own > size || printer->depth == MAX_DEPTH) {
		put_nothing(printer, key);
		return;
	}
	printer->depth++;
	put_resolved(printer, key, type, data, size);
	printer->depth--;
}

/* ---- the interface ---------------------------------------------------------------------- */

static void put_untyped(struct value_printer *printer, const char *key, const uint8_t *data,
			size_t size)
{
	if (size == 4 || size == 8)
		put_u64(printer, key, read_bytes(data, size));
	else
		put_hex(printer, key, data, size);
}

static void print_value(struct value_printer *printer, const struct gt_bpf_type *type,
			const char *key, const void *data, size_t size)
{
	if (gt_bpf_type_fits(type, size))
		put_value(printer, key, type->number, data, size);
	else
		put_untyped(printer, key, data, size);
}

void gt_bpf_value_print(const struct gt_bpf_type *type, const void *data, size_t size,
			struct gt_sparse *sparse, struct gt_strbuf *text)
{
	struct value_printer printer = {.types = type->types, .text = text, .sparse = sparse};

	print_value(&printer, type, NULL, data, size);
}

void gt_bpf_value_print_json(const struct gt_bpf_type *type, const void *data, size_t size,
			     struct gt_sparse *sparse, struct gt_json *json, const char *key)
{
	struct value_printer printer = {
		.types = type->types, .text = json->buffer, .json = json, .sparse = sparse};

	print_value(&printer, type, key, data, size);
}
