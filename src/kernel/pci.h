/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of PCI: registers of the configuration space, bits of error status registers. */
#pragma once

#include <linux/types.h>

struct gt_pci_register {
	const char *name; /* as in include/uapi/linux/pci_regs.h, without "PCI_"; NULL: unknown */
	unsigned offset;  /* in it */
};

/*
 * The register at an offset, if it is the same for all devices: not those of 0x18 to 0x33, which
 * devices and bridges have for different purposes, nor those of capabilities.
 */
struct gt_pci_register gt_pci_register(unsigned offset);

/*
 * The name of bit `bit` of the correctable (severity GT_AER_CORRECTED) or uncorrectable error
 * status register, as the kernel's messages have it; NULL: reserved.
 */
const char *gt_aer_error_name(unsigned severity, unsigned bit);

/* Severities of Advanced Error Reporting: include/linux/aer.h. */
#define GT_AER_NONFATAL 0
#define GT_AER_FATAL 1
#define GT_AER_CORRECTED 2

/* The name of a positive result of an access (PCIBIOS_*, include/linux/pci.h); NULL: unknown. */
const char *gt_pcibios_error_name(int result);
