/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of PCI: registers, error bits, results of accesses. Checked against <linux/pci_regs.h>. */
#include "kernel/pci.h"

#include <linux/pci_regs.h>

#include "tap.h"

static void expect_register(unsigned offset, const char *name, unsigned inside)
{
	struct gt_pci_register found = gt_pci_register(offset);

	CHECK_STR(found.name, name);
	CHECK_INT(found.offset, inside);
}

TEST("registers that all devices have are found by any of their bytes")
{
	expect_register(PCI_VENDOR_ID, "VENDOR_ID", 0);
	expect_register(PCI_VENDOR_ID + 1, "VENDOR_ID", 1);
	expect_register(PCI_DEVICE_ID, "DEVICE_ID", 0);
	expect_register(PCI_COMMAND, "COMMAND", 0);
	expect_register(PCI_STATUS, "STATUS", 0);
	expect_register(PCI_REVISION_ID, "REVISION_ID", 0);
	expect_register(PCI_CLASS_DEVICE, "CLASS_PROG", 1);
	expect_register(PCI_CACHE_LINE_SIZE, "CACHE_LINE_SIZE", 0);
	expect_register(PCI_LATENCY_TIMER, "LATENCY_TIMER", 0);
	expect_register(PCI_HEADER_TYPE, "HEADER_TYPE", 0);
	expect_register(PCI_BASE_ADDRESS_0 + 3, "BASE_ADDRESS_0", 3);
	expect_register(PCI_BASE_ADDRESS_1, "BASE_ADDRESS_1", 0);
	expect_register(PCI_CAPABILITY_LIST, "CAPABILITY_LIST", 0);
	expect_register(PCI_INTERRUPT_LINE, "INTERRUPT_LINE", 0);
	expect_register(PCI_INTERRUPT_PIN, "INTERRUPT_PIN", 0);
	expect_register(PCI_CFG_SPACE_SIZE, "EXT_CAPABILITY", 0);
}

TEST("registers that devices and bridges have for different purposes have no name")
{
	CHECK(!gt_pci_register(PCI_BASE_ADDRESS_2).name); /* of a bridge: its bus numbers */
	CHECK(!gt_pci_register(PCI_ROM_ADDRESS).name);
	CHECK(!gt_pci_register(0x40).name);
	CHECK(!gt_pci_register(PCI_CFG_SPACE_EXP_SIZE).name);
	CHECK(!gt_pci_register(0xffffffff).name);
}

static unsigned bit_of(unsigned mask)
{
	return (unsigned)__builtin_ctz(mask);
}

TEST("bits of error status registers have the names of the kernel's messages, by severity")
{
	CHECK_STR(gt_aer_error_name(GT_AER_CORRECTED, bit_of(PCI_ERR_COR_RCVR)), "RxErr");
	CHECK_STR(gt_aer_error_name(GT_AER_CORRECTED, bit_of(PCI_ERR_COR_BAD_TLP)), "BadTLP");
	CHECK_STR(gt_aer_error_name(GT_AER_CORRECTED, bit_of(PCI_ERR_COR_BAD_DLLP)), "BadDLLP");
	CHECK_STR(gt_aer_error_name(GT_AER_CORRECTED, bit_of(PCI_ERR_COR_REP_ROLL)), "Rollover");
	CHECK_STR(gt_aer_error_name(GT_AER_CORRECTED, bit_of(PCI_ERR_COR_REP_TIMER)), "Timeout");
	CHECK_STR(gt_aer_error_name(GT_AER_FATAL, bit_of(PCI_ERR_UNC_DLP)), "DLP");
	CHECK_STR(gt_aer_error_name(GT_AER_FATAL, bit_of(PCI_ERR_UNC_SURPDN)), "SDES");
	CHECK_STR(gt_aer_error_name(GT_AER_NONFATAL, bit_of(PCI_ERR_UNC_COMP_TIME)), "CmpltTO");
	CHECK_STR(gt_aer_error_name(GT_AER_FATAL, bit_of(PCI_ERR_UNC_MALF_TLP)), "MalfTLP");
	CHECK_STR(gt_aer_error_name(GT_AER_NONFATAL, bit_of(PCI_ERR_UNC_UNSUP)), "UnsupReq");
	CHECK_STR(gt_aer_error_name(GT_AER_NONFATAL, bit_of(PCI_ERR_UNC_ACSV)), "ACSViol");
	CHECK(!gt_aer_error_name(GT_AER_CORRECTED, 1));
	CHECK(!gt_aer_error_name(GT_AER_FATAL, 31));
	CHECK(!gt_aer_error_name(GT_AER_FATAL, 32));
}

TEST("results of accesses are named; success and errno values are not")
{
	CHECK_STR(gt_pcibios_error_name(0x87), "BAD_REGISTER_NUMBER");
	CHECK_STR(gt_pcibios_error_name(0x86), "DEVICE_NOT_FOUND");
	CHECK(!gt_pcibios_error_name(0));
	CHECK(!gt_pcibios_error_name(-5));
	CHECK(!gt_pcibios_error_name(0x82));
}

TEST_MAIN
