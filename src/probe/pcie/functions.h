/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's functions that access the configuration space of PCI devices (drivers/pci/access.c),
 * for BPF and user space: FUNCTION(name, bytes, is_write, is_user).
 */
#pragma once

#define GT_PCI_ADDRESS_SIZE 32 /* bytes of "0000:65:00.0" in an event, with its NUL */

/* clang-format off */
#define CONFIG_FUNCTIONS(FUNCTION) \
	FUNCTION(pci_bus_read_config_byte, 1, false, false) \
	FUNCTION(pci_bus_read_config_word, 2, false, false) \
	FUNCTION(pci_bus_read_config_dword, 4, false, false) \
	FUNCTION(pci_bus_write_config_byte, 1, true, false) \
	FUNCTION(pci_bus_write_config_word, 2, true, false) \
	FUNCTION(pci_bus_write_config_dword, 4, true, false) \
	FUNCTION(pci_user_read_config_byte, 1, false, true) \
	FUNCTION(pci_user_read_config_word, 2, false, true) \
	FUNCTION(pci_user_read_config_dword, 4, false, true) \
	FUNCTION(pci_user_write_config_byte, 1, true, true) \
	FUNCTION(pci_user_write_config_word, 2, true, true) \
	FUNCTION(pci_user_write_config_dword, 4, true, true)
/* clang-format on */
