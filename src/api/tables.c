/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/tables.h"

/* clang-format off */

/* Enumerators and fields first, since the types point to them. */
#define ENUM_BEGIN(id, style) static const struct gt_api_enumerator enumerators_##id[] = {
#define ENUMERATOR(name, value) {#name, NULL, value},
#define NICKNAMED(name, value, short_name) {#name, short_name, value},
#define ENUM_END(id) };
#include "api/enums.def"
#undef ENUM_BEGIN
#undef ENUMERATOR
#undef NICKNAMED
#undef ENUM_END

enum type_number {
#define SCALAR(id, name, kind, size) TYPE_##id,
#define HANDLE(id, name, size) TYPE_##id,
#define POINTER(id, name, target) TYPE_##id,
#include "api/types.def"
#undef SCALAR
#undef HANDLE
#undef POINTER
#define ENUM_BEGIN(id, style) TYPE_##id,
#define ENUMERATOR(name, value)
#define NICKNAMED(name, value, short_name)
#define ENUM_END(id)
#include "api/enums.def"
#undef ENUM_BEGIN
#undef ENUMERATOR
#undef NICKNAMED
#undef ENUM_END
#define STRUCT_BEGIN(id, size, style) TYPE_##id,
#define FIELD(type, role, name, offset, count)
#define LABELLED_FIELD(type, role, name, offset, count, label)
#define STRUCT_END(id)
#include "api/structs.def"
#undef STRUCT_BEGIN
#undef FIELD
#undef LABELLED_FIELD
#undef STRUCT_END
};

#define TYPE(id) (&gt_api_types[TYPE_##id])

#define STRUCT_BEGIN(id, size, style) static const struct gt_api_field fields_##id[] = {
#define FIELD(type, role, name, offset, count) \
	{#name, NULL, TYPE(type), GT_ROLE_##role, offset, count},
#define LABELLED_FIELD(type, role, name, offset, count, label) \
	{#name, #label, TYPE(type), GT_ROLE_##role, offset, count},
#define STRUCT_END(id) };
#include "api/structs.def"
#undef STRUCT_BEGIN
#undef FIELD
#undef LABELLED_FIELD
#undef STRUCT_END

const struct gt_api_type gt_api_types[] = {
#define SCALAR(id, name, kind, size) {name, GT_KIND_##kind, size, NULL, NULL, NULL, 0},
#define HANDLE(id, name, size) {name, GT_KIND_HANDLE, size, NULL, NULL, NULL, 0},
#define POINTER(id, name, target) {name, GT_KIND_POINTER, 8, TYPE(target), NULL, NULL, 0},
#include "api/types.def"
#undef SCALAR
#undef HANDLE
#undef POINTER
#define ENUM_BEGIN(id, style) \
	{#id, GT_KIND_##style, 4, NULL, enumerators_##id, NULL, gt_countof(enumerators_##id)},
#define ENUMERATOR(name, value)
#define NICKNAMED(name, value, short_name)
#define ENUM_END(id)
#include "api/enums.def"
#undef ENUM_BEGIN
#undef ENUMERATOR
#undef NICKNAMED
#undef ENUM_END
#define STRUCT_BEGIN(id, size, style) \
	{#id, GT_KIND_##style, size, NULL, NULL, fields_##id, gt_countof(fields_##id)},
#define FIELD(type, role, name, offset, count)
#define LABELLED_FIELD(type, role, name, offset, count, label)
#define STRUCT_END(id)
#include "api/structs.def"
#undef STRUCT_BEGIN
#undef FIELD
#undef LABELLED_FIELD
#undef STRUCT_END
};

#define ARGUMENT(type, role, name) {#name, TYPE(type), GT_ROLE_##role, #name},
#define LABELLED(type, role, name, label) {#name, TYPE(type), GT_ROLE_##role, #label},
#define HIDDEN(type, role, name) {#name, TYPE(type), GT_ROLE_##role, NULL},
#define FUNCTION(name, result, meaning, ...) \
	static const struct gt_api_argument arguments_##name[] = { __VA_ARGS__ };
#include "api/cudart.def"
#include "api/cuda.def"
#include "api/cublas.def"
#include "api/cublasLt.def"
#include "api/cudnn.def"
#include "api/nccl.def"
#undef FUNCTION

#define FUNCTION(name, result, meaning, ...) \
	{#name, LIBRARY, GT_MEANS_##meaning, TYPE(result), arguments_##name, \
	 gt_countof(arguments_##name)},
#define LIBRARY "cudart"
static const struct gt_api_function cudart_functions[] = {
#include "api/cudart.def"
};
#undef LIBRARY
#define LIBRARY "cuda"
static const struct gt_api_function cuda_functions[] = {
#include "api/cuda.def"
};
#undef LIBRARY
#define LIBRARY "cublas"
static const struct gt_api_function cublas_functions[] = {
#include "api/cublas.def"
};
#undef LIBRARY
#define LIBRARY "cublasLt"
static const struct gt_api_function cublasLt_functions[] = {
#include "api/cublasLt.def"
};
#undef LIBRARY
#define LIBRARY "cudnn"
static const struct gt_api_function cudnn_functions[] = {
#include "api/cudnn.def"
};
#undef LIBRARY
#define LIBRARY "nccl"
static const struct gt_api_function nccl_functions[] = {
#include "api/nccl.def"
};
#undef LIBRARY
#undef FUNCTION

const struct gt_api_table gt_api_tables[GT_API_TABLES] = {
	{"cudart", "cuda", cudart_functions, gt_countof(cudart_functions)},
	{"cuda", "cuda", cuda_functions, gt_countof(cuda_functions)},
	{"cublas", "cublas", cublas_functions, gt_countof(cublas_functions)},
	{"cublasLt", "cublas", cublasLt_functions, gt_countof(cublasLt_functions)},
	{"cudnn", "cudnn", cudnn_functions, gt_countof(cudnn_functions)},
	{"nccl", "nccl", nccl_functions, gt_countof(nccl_functions)},
};
