/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* --sample NAME=RATE: layer sources record only a part of frequent events, and count the rest. */
#pragma once

#include <stddef.h>

#include "base/diag.h"
#include "base/string_list.h"

/* Events of a layer source that can be sampled. */
struct gt_sampled {
	const char *name;    /* "ioctl" */
	double default_rate; /* 0 to 1: the part that is recorded without the option */
};

/* Check that each word is NAME=RATE of events of some source. 0, or -EINVAL with the reason. */
int gt_sample_check(const struct gt_strings *words, struct gt_diag *diag);

/* The rate of some events, by the option or by default. The words are checked. */
double gt_sample_rate(const struct gt_strings *words, const struct gt_sampled *sampled);
