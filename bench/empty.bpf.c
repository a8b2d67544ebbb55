/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lower bound of every tracer of calls: a pair of probes that do nothing. */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe")
int empty_entry(struct pt_regs *regs)
{
	return 0;
}

SEC("uretprobe")
int empty_return(struct pt_regs *regs)
{
	return 0;
}
