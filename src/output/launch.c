/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/launch.h"

#include "base/text.h"

void gt_put_launched_kernel(struct gt_strbuf *text, struct gt_demangler *demangler,
			    const struct gt_names *names, const struct gt_call *call,
			    const char *kernel)
{
	struct gt_launch_arguments arguments;
	gt_auto_strbuf list = GT_STRBUF_INIT;

	gt_strbuf_puts(text, "kernel=");
	gt_put_printable(text, gt_demangler_short(demangler, kernel));
	if (!gt_names_launch_arguments(names, call, &arguments))
		return;
	gt_kernel_format_arguments(&list, kernel, gt_names_parameters(names, kernel), &arguments);
	gt_strbuf_putc(text, '(');
	gt_put_printable(text, gt_strbuf_string(&list));
	gt_strbuf_putc(text, ')');
}
