/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libstdc++ 12 and later write __attribute__((__noinline__)) in this header, where CUDA's word
 * __noinline__ is a macro: the macro is undefined while the real header is read.
 */
#pragma GCC system_header
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
