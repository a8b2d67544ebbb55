/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shape of the tables' types. Inside src/api only: others see struct gt_api_type as a name. */
#pragma once

#include "api/api.h"

#define GT_API_MAX_ARGUMENTS 40

enum gt_api_kind {
	GT_KIND_VOID, /* nothing is known of it */
	GT_KIND_SIGNED,
	GT_KIND_UNSIGNED,
	GT_KIND_FLOAT,
	GT_KIND_VALUES, /* an enumeration */
	GT_KIND_FLAGS,  /* an enumeration whose values are or-ed; those of most bits come first */
	GT_KIND_ERRORS, /* an enumeration that says how a call went; 0: well */
	GT_KIND_HANDLE, /* shown as a hexadecimal number */
	GT_KIND_POINTER,
	GT_KIND_PLAIN,      /* a structure */
	GT_KIND_DIMENSIONS, /* a structure of x, y and z */
	GT_KIND_EXTENT,     /* a structure of width, height and depth */
};

struct gt_api_enumerator {
	const char *name;
	const char *short_name; /* NULL: it has none */
	int64_t value;
};

struct gt_api_field {
	const char *name;
	const char *label; /* as in struct gt_api_argument */
	const struct gt_api_type *type;
	enum gt_api_role role;
	uint16_t offset; /* bytes */
	uint16_t count;  /* elements; 1: no array */
};

struct gt_api_type {
	const char *name;
	enum gt_api_kind kind;
	unsigned size;                               /* bytes */
	const struct gt_api_type *target;            /* of a pointer */
	const struct gt_api_enumerator *enumerators; /* of an enumeration */
	const struct gt_api_field *fields;           /* of a structure, those that are known */
	unsigned count;                              /* enumerators or fields */
};

static inline bool gt_api_is_struct(const struct gt_api_type *type)
{
	return type->kind >= GT_KIND_PLAIN;
}

/* Whether dimensions are an array of sizes (OpenCL's size_t[3]), which may have fewer than three.
 */
static inline bool gt_api_is_array(const struct gt_api_type *type)
{
	return type->kind == GT_KIND_DIMENSIONS && type->fields[0].type->size == 8;
}

/* A library's functions, sorted by name. */
struct gt_api_table {
	const char *library;
	const char *group; /* that switches it on */
	const struct gt_api_function *functions;
	unsigned count;
};

/* The libraries, in the order of their functions' numbers. */
extern const struct gt_api_table gt_api_tables[];
extern const unsigned gt_api_table_count;
extern const struct gt_api_type gt_api_types[];
