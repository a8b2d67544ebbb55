/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The domain of a PCI device's address. */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_core_read.h>

/* pci_domain_nr() */
static __always_inline __u32 pci_domain(struct pci_bus *bus)
{
	if (bpf_core_field_exists(bus->domain_nr))
		return BPF_CORE_READ(bus, domain_nr);
#ifdef __TARGET_ARCH_x86
	struct pci_sysdata *sysdata = BPF_CORE_READ(bus, sysdata);

	return BPF_CORE_READ(sysdata, domain);
#else
	return 0;
#endif
}
