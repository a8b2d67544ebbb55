/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the source "sched" and its BPF programs share. */
#pragma once

/* The sections of the kernel's text that have handlers of interrupts: hardware and soft ones. */
#define GT_INTERRUPT_SECTIONS 2
