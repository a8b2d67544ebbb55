/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that do nothing: the price of the traps that lead to them (cost.h). */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

SEC("uprobe")
int at_entry(void *context)
{
	return 0;
}

SEC("uretprobe")
int at_return(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
