/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links by nvJitLink. PTX inputs are reported with the cubin. Of LTO-IR, nvJitLink makes PTX where
 * the link has the option -ptx, but then it makes no cubin: so there is a second link of the same
 * inputs.
 */
#include <string.h>

#include "agent/caller.h"
#include "agent/compilers.h"
#include "agent/link.h"

enum {
	INPUT_PTX = 2,
	INPUT_LTOIR = 3,
	INPUT_LIBRARY = 6,
	INPUT_ANY = 10,
	LTOIR_MAGIC = 0x7f4e43ed,
};

static bool is_ltoir(const void *data, size_t size)
{
	uint32_t magic = 0;

	if (size >= sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	return magic == LTOIR_MAGIC;
}

/* Of other types, the collector examines the bytes. */
static enum gt_agent_input_kind kind_of(int type, const void *data, size_t size)
{
	switch (type) {
	case INPUT_PTX:
		return GT_AGENT_INPUT_PTX;
	case INPUT_LTOIR:
		return GT_AGENT_INPUT_LTOIR;
	case INPUT_LIBRARY:
		return GT_AGENT_INPUT_LIBRARY;
	case INPUT_ANY:
		return is_ltoir(data, size) ? GT_AGENT_INPUT_LTOIR : GT_AGENT_INPUT_CODE;
	default:
		return GT_AGENT_INPUT_CODE;
	}
}

/* Keep the options of a link, for a second one. */
static void keep_options(struct gt_agent_program_link *link, uint32_t count, const char **options)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t size = strlen(options[i]) + 1;

		if (link->option_count == GT_AGENT_MAX_LINK_OPTIONS ||
		    size > sizeof(link->options) - link->options_size) {
			gt_agent_report_end(&link->report);
			return;
		}
		memcpy(link->options + link->options_size, options[i], size);
		link->options_size += size;
		link->option_count++;
	}
}

int gt_hook_nvJitLinkCreate(const struct gt_compiler *compiler, void **link, uint32_t count,
			    const char **options)
{
	int error = compiler->nvJitLinkCreate(link, count, options);

	if (!error && link && *link) {
		const struct gt_agent_caller caller = gt_agent_save_caller();
		struct gt_agent_program_link *known = gt_agent_open_link(*link);

		if (known)
			keep_options(known, count, options);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

int gt_hook_nvJitLinkDestroy(const struct gt_compiler *compiler, void **link)
{
	if (link)
		gt_agent_close_link(*link);
	return compiler->nvJitLinkDestroy(link);
}

/* Keep the type of the next input, for a second link. */
static void note_type(struct gt_agent_program_link *link, int type)
{
	uint32_t number = link->report.compiled.input_count;

	if (number < GT_AGENT_MAX_INPUTS)
		link->types[number] = type;
}

int gt_hook_nvJitLinkAddData(const struct gt_compiler *compiler, void *link, int type,
			     const void *data, size_t size, const char *name)
{
	int error = compiler->nvJitLinkAddData(link, type, data, size, name);
	struct gt_agent_program_link *known = error ? NULL : gt_agent_find_link(link);

	if (known) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		note_type(known, type);
		/* The size of PTX is ignored. */
		gt_agent_report_add(&known->report, kind_of(type, data, size), data,
				    type == INPUT_PTX ? strlen(data) : size);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

int gt_hook_nvJitLinkAddFile(const struct gt_compiler *compiler, void *link, int type,
			     const char *path)
{
	int error = compiler->nvJitLinkAddFile(link, type, path);
	struct gt_agent_program_link *known = error ? NULL : gt_agent_find_link(link);

	if (known) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		note_type(known, type);
		gt_agent_report_add_file(&known->report, kind_of(type, NULL, 0), path);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

/* ---- the PTX of LTO-IR ------------------------------------------------------------------ */

/* Whether the link has the option -lto. */
static bool has_lto(const struct gt_agent_program_link *known)
{
	const char *option = known->options;

	for (unsigned i = 0; i < known->option_count; i++, option += strlen(option) + 1)
		if (!strcmp(option, "-lto") || !strcmp(option, "--link-time-opt"))
			return true;
	return false;
}

/*
 * Create a link of the same inputs, which yields PTX. NULL: it failed, as it does where an input is
 * PTX or machine code.
 */
static void *link_again(const struct gt_compiler *compiler,
			const struct gt_agent_program_link *known)
{
	const struct gt_agent_compiled *compiled = &known->report.compiled;
	const char *options[GT_AGENT_MAX_LINK_OPTIONS + 1], *option = known->options;
	unsigned count = 0;
	void *link = NULL;
	int error;

	for (; count < known->option_count; option += strlen(option) + 1)
		options[count++] = option;
	options[count++] = "-ptx";
	if (compiler->nvJitLinkCreate(&link, count, options))
		return NULL;
	error = 0;
	for (uint32_t i = 0; i < compiled->input_count && !error; i++)
		error = compiled->kinds[i] == GT_AGENT_INPUT_PTX ||
			compiler->nvJitLinkAddData(link, known->types[i],
						   known->report.data + compiled->inputs[i].offset,
						   compiled->inputs[i].size, "gputap");
	if (!error)
		error = compiler->nvJitLinkComplete(link);
	if (error)
		compiler->nvJitLinkDestroy(&link);
	return error ? NULL : link;
}

static void report_text(const struct gt_compiler *compiler, void *link, const void *cubin,
			size_t cubin_size)
{
	struct gt_agent_report report;
	size_t size = 0;
	char *text;

	if (compiler->nvJitLinkGetLinkedPtxSize(link, &size) || !size ||
	    size > GT_AGENT_MAX_COMPILED)
		return;
	text = gt_agent_allocate(size);
	gt_agent_report_begin(&report);
	if (text && !compiler->nvJitLinkGetLinkedPtx(link, text)) {
		gt_agent_report_add(&report, GT_AGENT_INPUT_PTX, text, strlen(text));
		gt_agent_report_send(&report, cubin, cubin_size);
	}
	gt_agent_report_end(&report);
	gt_agent_release(text, size);
}

static void report_cubin(const struct gt_compiler *compiler, void *link,
			 struct gt_agent_program_link *known, const void *cubin)
{
	size_t size = 0;
	void *again;

	if (!known->report.data || !compiler->nvJitLinkGetLinkedCubinSize ||
	    compiler->nvJitLinkGetLinkedCubinSize(link, &size) || !size ||
	    size > GT_AGENT_MAX_COMPILED || !gt_agent_report_send(&known->report, cubin, size) ||
	    !has_lto(known))
		return;
	if (!compiler->nvJitLinkCreate || !compiler->nvJitLinkAddData ||
	    !compiler->nvJitLinkComplete || !compiler->nvJitLinkDestroy ||
	    !compiler->nvJitLinkGetLinkedPtxSize || !compiler->nvJitLinkGetLinkedPtx)
		return;
	again = link_again(compiler, known);
	if (!again)
		return;
	report_text(compiler, again, cubin, size);
	compiler->nvJitLinkDestroy(&again);
}

int gt_hook_nvJitLinkGetLinkedCubin(const struct gt_compiler *compiler, void *link, void *cubin)
{
	int error = compiler->nvJitLinkGetLinkedCubin(link, cubin);
	struct gt_agent_program_link *known = error ? NULL : gt_agent_find_link(link);

	if (known && cubin) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		report_cubin(compiler, link, known, cubin);
		gt_agent_restore_caller(&caller);
	}
	return error;
}
