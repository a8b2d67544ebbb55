/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values that maps have before the first program runs: what the loader of an object writes into
 * them elsewhere, such as a configuration or the input of a computation. gt_bpf_map_initialise
 * stores them.
 */
#pragma once

#include "gpubpf/program.h"

/*
 * Add the values of an assignment to a map of the object: "MAP[KEY]=VALUE", or "MAP=@FILE", whose
 * bytes become the values of an array from the first on. KEY and VALUE are integers, of which a
 * value of more than 8 bytes gets the first 8, or "hex:" and the digits of all bytes. 0; -EINVAL
 * with the reason; -ENOENT: there is no such map; errors of gt_file_read; -ENOMEM.
 */
int gt_bpf_object_preset(struct gt_bpf_object *object, const char *assignment,
			 struct gt_diag *diag);
