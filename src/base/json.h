/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The project's JSON writer: appends to a string buffer and adds the commas.
 * `key` is NULL in arrays and at the top level. Bytes that are not UTF-8 are
 * written as U+FFFD. Integers above 2^53 are exact (RFC 8259 allows them).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct gt_json {
	struct gt_strbuf *buffer;
	bool comma; /* the current object or array has a value already */
};

#define GT_JSON_INIT(target) ((struct gt_json){.buffer = (target)})

void gt_json_object_begin(struct gt_json *json, const char *key);
void gt_json_object_end(struct gt_json *json);
void gt_json_array_begin(struct gt_json *json, const char *key);
void gt_json_array_end(struct gt_json *json);
void gt_json_string(struct gt_json *json, const char *key, const char *value);
void gt_json_string_bytes(struct gt_json *json, const char *key, const char *value, size_t length);
void gt_json_u64(struct gt_json *json, const char *key, uint64_t value);
void gt_json_i64(struct gt_json *json, const char *key, int64_t value);
/* NaN and infinity are written as null. */
void gt_json_double(struct gt_json *json, const char *key, double value);
void gt_json_bool(struct gt_json *json, const char *key, bool value);
void gt_json_null(struct gt_json *json, const char *key);
/* A pointer or handle, as a string "0x…", since JSON readers round large integers. */
void gt_json_hex(struct gt_json *json, const char *key, uint64_t value);
/* Whether text is one JSON value, without a line break. UTF-8 is not checked. */
bool gt_json_is_value(const char *text, size_t length);
/* A value that is JSON already, possibly from a file that is not trusted; a string if it is not. */
void gt_json_value(struct gt_json *json, const char *key, const char *value, size_t length);
