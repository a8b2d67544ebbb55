/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values of BTF types as text and JSON. Types come from an object that was checked, values from
 * anywhere: nothing outside of a value is read, and the depth and the length of the output are
 * bounded.
 *
 *	text: { .count = 3, .kind = STORE, .name = "add", .place = [1, 2], .next = 0x7f00 }
 *	JSON: {"count": 3, "kind": "STORE", "name": "add", "place": [1, 2], "next": "0x7f00"}
 *
 * Members of unnamed structures and unions are those of the structure around them. An enumerator
 * without a name is a number, an array of char a string that ends at the first NUL.
 *
 * Of an array of more than 256 elements, in JSON 4,096, those are listed that are not zero, in text
 * the first 64:
 *
 *	text: [[3] = 7, [900] = 1, 5 more, 9993 of 10000 are zero]
 *	JSON: {"length": 10000, "nonzero": 7, "elements": [{"index": 3, "value": 7}, …]}
 *
 * Members and elements beyond 16,384 of a value in text, 262,144 in JSON, are omitted, as are bytes
 * of a string, and in JSON of hex digits, beyond 65,536.
 */
#pragma once

#include "base/json.h"
#include "base/sparse.h"

struct btf;

/* A type of an object; without `types`, or with number 0, it is not known. */
struct gt_bpf_type {
	const struct btf *types;
	uint32_t number;
};

/*
 * Whether `size` bytes are a value of the type: its size, or longer if it is a structure that ends
 * with an array of no fixed size.
 */
bool gt_bpf_type_fits(const struct gt_bpf_type *type, size_t size);
/* Whether values can be added: they are integers, or the type is not known. */
bool gt_bpf_type_has_sum(const struct gt_bpf_type *type);
/* Whether values are signed integers. */
bool gt_bpf_type_is_signed(const struct gt_bpf_type *type);
/* Whether the type is a typedef of this name. */
bool gt_bpf_type_is_named(const struct gt_bpf_type *type, const char *name);
/*
 * Read the member of this name, an integer of 8 bytes, from a value of `size` bytes. False: the
 * type is no structure with such a member, or the value is shorter.
 */
bool gt_bpf_type_member_u64(const struct gt_bpf_type *type, const char *name, const void *data,
			    size_t size, uint64_t *ret_value);

/*
 * Append a value. A type that does not fit: 4 and 8 bytes are a number, others hex digits. sparse:
 * the memory that the value is in, or NULL.
 */
void gt_bpf_value_print(const struct gt_bpf_type *type, const void *data, size_t size,
			struct gt_sparse *sparse, struct gt_strbuf *text);
void gt_bpf_value_print_json(const struct gt_bpf_type *type, const void *data, size_t size,
			     struct gt_sparse *sparse, struct gt_json *json, const char *key);
