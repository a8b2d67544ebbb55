/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Recognizes the calls that the agent makes (base/own_call.h). */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "base/own_call.h"
#include "probe/api/shared.bpf.h"

/* Whether a call that returns to this address is one of the agent, and not of the program. */
static __always_inline bool is_own_call(__u64 address)
{
	__u64 bytes = 0;

	if (!settings.has_agent)
		return false;
	bpf_probe_read_user(&bytes, sizeof(bytes), (void *)address);
	return (bytes & GT_OWN_CALL_MASK) == GT_OWN_CALL_BYTES;
}
