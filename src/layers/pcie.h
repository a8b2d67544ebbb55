/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of PCI that the events of the source "pcie" and their summary share. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

/* "0000:01:00.0" */
void gt_put_pci_address(struct gt_strbuf *text, uint32_t domain, unsigned bus,
			unsigned device_function);
/* The name of the register at an offset, "COMMAND" or "COMMAND+1"; nothing if it has none. */
void gt_put_pci_register(struct gt_strbuf *text, unsigned offset);
/* "nonfatal", "fatal", "corrected" */
const char *gt_aer_severity_name(unsigned severity);
/* "16.0 GT/s x8": the speed in MT/s (0: unknown), the width in lanes. */
void gt_put_pcie_speed(struct gt_strbuf *text, uint32_t speed, uint32_t width);
