/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Printing maps that only host programs use. */
#pragma once

#include "base/json.h"
#include "run/host_programs.h"

/*
 * Append map `number` of the programs' object as text, or as JSON if `json` is not NULL. A map that
 * cannot be read is shown with the problem. `map`: its declaration.
 */
void gt_cli_put_host_map(const struct gt_host_programs *programs, uint32_t number,
			 const struct gt_bpf_map *map, struct gt_strbuf *text,
			 struct gt_json *json);
