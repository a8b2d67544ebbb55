/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Accesses to the configuration space of PCI devices by register and by process, their times by
 * device and function of the kernel, errors that devices reported, and the state of the links of
 * GPUs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"
#include "probe/pcie/functions.h"

struct gt_pci_register_row {
	struct gt_pci_register_key {
		uint32_t domain;
		uint16_t offset;
		uint8_t bus, device_function;
	} key;
	uint64_t reads, writes;
	uint64_t user;   /* of them for user space */
	uint64_t errors; /* accesses that failed */
};

/* Accesses to a device by a function of the kernel, as far as their durations are known. */
struct gt_pci_times {
	struct gt_pci_times_key {
		uint32_t domain;
		uint8_t bus, device_function;
		uint8_t bytes, is_write, is_user;
		uint8_t reserved[3]; /* 0 */
	} key;
	struct gt_histogram durations; /* ns */
};

struct gt_pci_process {
	uint32_t process; /* 0: unknown */
	uint64_t reads, writes, errors;
};

struct gt_pcie_error_row {
	struct gt_pcie_error_key {
		char address[GT_PCI_ADDRESS_SIZE];
		uint32_t severity;
		uint32_t bit; /* of the error status register */
	} key;
	uint64_t count;
	uint64_t first, last; /* times, ns */
};

struct gt_pcie_link_row {
	char address[GT_PCI_ADDRESS_SIZE];
	uint32_t speed, max_speed;     /* MT/s; 0: unknown */
	uint32_t width, max_width;     /* lanes */
	uint32_t min_speed, min_width; /* in the session */
	uint64_t changes;
	uint64_t since; /* time of the last change, ns */
	uint64_t first; /* time at which its state was known */
	uint64_t below; /* ns up to `since` in which it was below its maximum */
};

struct gt_pci_accesses {
	struct gt_keyed_rows registers; /* of struct gt_pci_register_row */
	struct gt_keyed_rows processes; /* of struct gt_pci_process */
	struct gt_keyed_rows times;     /* of struct gt_pci_times */
	struct gt_keyed_rows errors;    /* of struct gt_pcie_error_row */
	struct gt_keyed_rows links;     /* of struct gt_pcie_link_row */
};

struct gt_pci_accesses *gt_pci_accesses_new(void);
void gt_pci_accesses_free(struct gt_pci_accesses *accesses);
GT_DEFINE_AUTO(pci_accesses, struct gt_pci_accesses, gt_pci_accesses_free)

/* Take an event of the source "pcie". 0 or -ENOMEM. */
int gt_pci_accesses_take(struct gt_pci_accesses *accesses, const struct gt_event *event);
/* Sort registers and processes by the number of their accesses, times by their sum, the most first.
 */
void gt_pci_accesses_sort(struct gt_pci_accesses *accesses);
/* The function of the kernel: "pci_bus_read_config_dword"; NULL: none has such accesses. */
const char *gt_pci_times_function(const struct gt_pci_times *times);
/* Whether the link has fewer lanes, or a lower speed, than its device is capable of. */
bool gt_pcie_link_is_below(const struct gt_pcie_link_row *link);
/* For how long it was so, up to a time of the session (ns). */
uint64_t gt_pcie_link_below(const struct gt_pcie_link_row *link, uint64_t now);
