/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel/pci.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	unsigned offset, size;
	const char *name;
} registers[] = {
	{0x00, 2, "VENDOR_ID"},       {0x02, 2, "DEVICE_ID"},
	{0x04, 2, "COMMAND"},         {0x06, 2, "STATUS"},
	{0x08, 1, "REVISION_ID"},     {0x09, 3, "CLASS_PROG"},
	{0x0c, 1, "CACHE_LINE_SIZE"}, {0x0d, 1, "LATENCY_TIMER"},
	{0x0e, 1, "HEADER_TYPE"},     {0x0f, 1, "BIST"},
	{0x10, 4, "BASE_ADDRESS_0"},  {0x14, 4, "BASE_ADDRESS_1"},
	{0x34, 1, "CAPABILITY_LIST"}, {0x3c, 1, "INTERRUPT_LINE"},
	{0x3d, 1, "INTERRUPT_PIN"},   {0x100, 4, "EXT_CAPABILITY"},
};

struct gt_pci_register gt_pci_register(unsigned offset)
{
	for (size_t i = 0; i < COUNT(registers); i++)
		if (offset - registers[i].offset < registers[i].size)
			return (struct gt_pci_register){registers[i].name,
							offset - registers[i].offset};
	return (struct gt_pci_register){0};
}

/* drivers/pci/pcie/aer.c */
static const char *const corrected[32] = {
	[0] = "RxErr",    [6] = "BadTLP",       [7] = "BadDLLP",     [8] = "Rollover",
	[12] = "Timeout", [13] = "NonFatalErr", [14] = "CorrIntErr", [15] = "HeaderOF",
};
static const char *const uncorrected[32] = {
	[0] = "Undefined",      [4] = "DLP",
	[5] = "SDES",           [12] = "TLP",
	[13] = "FCP",           [14] = "CmpltTO",
	[15] = "CmpltAbrt",     [16] = "UnxCmplt",
	[17] = "RxOF",          [18] = "MalfTLP",
	[19] = "ECRC",          [20] = "UnsupReq",
	[21] = "ACSViol",       [22] = "UncorrIntErr",
	[23] = "BlockedTLP",    [24] = "AtomicOpBlocked",
	[25] = "TLPBlockedErr", [26] = "PoisonTLPBlocked",
};

const char *gt_aer_error_name(unsigned severity, unsigned bit)
{
	if (bit >= 32)
		return NULL;
	return severity == GT_AER_CORRECTED ? corrected[bit] : uncorrected[bit];
}

const char *gt_pcibios_error_name(int result)
{
	switch (result) {
	case 0x81:
		return "FUNC_NOT_SUPPORTED";
	case 0x83:
		return "BAD_VENDOR_ID";
	case 0x86:
		return "DEVICE_NOT_FOUND";
	case 0x87:
		return "BAD_REGISTER_NUMBER";
	case 0x88:
		return "SET_FAILED";
	case 0x89:
		return "BUFFER_TOO_SMALL";
	}
	return NULL;
}
