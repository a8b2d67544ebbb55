/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/tables.h"

/* clang-format off */

/* Enumerators and fields first, since the types point to them. */
#define ENUM_BEGIN(id, style) static const struct gt_api_enumerator enumerators_##id[] = {
#define ENUMERATOR(name, value) {#name, NULL, value},
#define NICKNAMED(name, value, short_name) {#name, short_name, value},
#define ENUM_END(id) };
#include "api/vendor_enums.def"
#include "api/enums.def"

enum type_number {
#define SCALAR(id, name, kind, size) TYPE_##id,
#define HANDLE(id, name, size) TYPE_##id,
#define POINTER(id, name, target) TYPE_##id,
#include "api/vendor_types.def"
#include "api/types.def"
#define ENUM_BEGIN(id, style) TYPE_##id,
#include "api/vendor_enums.def"
#include "api/enums.def"
#define STRUCT_BEGIN(id, size, style) TYPE_##id,
#include "api/vendor_structs.def"
#include "api/structs.def"
};

#define TYPE(id) (&gt_api_types[TYPE_##id])

#define STRUCT_BEGIN(id, size, style) static const struct gt_api_field fields_##id[] = {
#define FIELD(type, role, name, offset, count) \
	{#name, NULL, TYPE(type), GT_ROLE_##role, offset, count},
#define LABELLED_FIELD(type, role, name, offset, count, label) \
	{#name, #label, TYPE(type), GT_ROLE_##role, offset, count},
#define STRUCT_END(id) };
#include "api/vendor_structs.def"
#include "api/structs.def"

const struct gt_api_type gt_api_types[] = {
#define SCALAR(id, name, kind, size) {name, GT_KIND_##kind, size, NULL, NULL, NULL, 0},
#define HANDLE(id, name, size) {name, GT_KIND_HANDLE, size, NULL, NULL, NULL, 0},
#define POINTER(id, name, target) {name, GT_KIND_POINTER, 8, TYPE(target), NULL, NULL, 0},
#include "api/vendor_types.def"
#include "api/types.def"
#define ENUM_BEGIN(id, style) \
	{#id, GT_KIND_##style, 4, NULL, enumerators_##id, NULL, gt_countof(enumerators_##id)},
#include "api/vendor_enums.def"
#include "api/enums.def"
#define STRUCT_BEGIN(id, size, style) \
	{#id, GT_KIND_##style, size, NULL, NULL, fields_##id, gt_countof(fields_##id)},
#include "api/vendor_structs.def"
#include "api/structs.def"
};

#define ARGUMENT(type, role, name) {#name, TYPE(type), GT_ROLE_##role, #name},
#define LABELLED(type, role, name, label) {#name, TYPE(type), GT_ROLE_##role, #label},
#define HIDDEN(type, role, name) {#name, TYPE(type), GT_ROLE_##role, NULL},
#define FUNCTION(name, result, category, ...) \
	static const struct gt_api_argument arguments_##name[] = { __VA_ARGS__ };
#include "api/libraries.def"

#define LIBRARY_BEGIN(name, group) static const struct gt_api_function functions_of_##name[] = {
#define LIBRARY_END(name) };
#define FUNCTION(name, result, category, ...) \
	{#name, LIBRARY, GT_CATEGORY_##category, TYPE(result), arguments_##name, \
	 gt_countof(arguments_##name)},
#include "api/libraries.def"

const struct gt_api_table gt_api_tables[] = {
#define LIBRARY_BEGIN(name, group) \
	{#name, #group, functions_of_##name, gt_countof(functions_of_##name)},
#include "api/libraries.def"
};

const unsigned gt_api_table_count = gt_countof(gt_api_tables);
