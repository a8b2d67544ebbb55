/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The macros of tracepoints have a layout of their own. */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvidia

#if !defined(NVIDIA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NVIDIA_TRACE_H

#include <linux/pci.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define ASSIGN_TEXT(field, text) __assign_str(field)
#else
#define ASSIGN_TEXT(field, text) __assign_str(field, text)
#endif

TRACE_EVENT(nvidia_dev_xid,
	TP_PROTO(const struct pci_dev *device, u32 error_code, const char *text),
	TP_ARGS(device, error_code, text),
	TP_STRUCT__entry(
		__string(dev, pci_name(device))
		__field(u32, error_code)
		__string(msg, text)
	),
	TP_fast_assign(
		ASSIGN_TEXT(dev, pci_name(device));
		ASSIGN_TEXT(msg, text);
		__entry->error_code = error_code;
	),
	TP_printk("Xid (PCI:%s): %u, %s", __get_str(dev), __entry->error_code, __get_str(msg))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE nvidia_trace
#include <trace/define_trace.h>
