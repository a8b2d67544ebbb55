/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of kernels, what they were launched with, and which parameters they have. */
#include <string.h>

#include "base/strbuf.h"
#include "names/private.h"

#define MAX_ANCESTORS 16 /* searched for kernels that a process inherited */

const char *gt_names_string(const void *context, const struct gt_event_call *event, uint8_t slot,
			    bool *ret_truncated)
{
	const struct gt_names *names = context;
	struct names_key key = gt_given_key(event->head.thread, event->sequence, slot);
	const struct known_string *given = gt_hash_get(names->given, &key, sizeof(key));

	if (!given || given->function != event->function || given->sequence != event->sequence)
		return NULL;
	*ret_truncated = given->truncated;
	return given->text;
}

const char *gt_names_given(const struct gt_names *names, const struct gt_call *call)
{
	int slot = call->function ? gt_layout_kernel_name_slot(call->layout) : -1;
	bool truncated;

	return slot < 0 ? NULL : gt_names_string(names, call->event, (uint8_t)slot, &truncated);
}

#define STUB_MARK "__device_stub__"

/*
 * The kernel's name out of its host function's: nvcc gives both one name, and calls a function
 * "__device_stub_" and that; clang puts the mark into the last part of the name itself, whose
 * length stands before it.
 */
static struct known_name *name_of_stub(const char *symbol)
{
	const char *mark = strstr(symbol, STUB_MARK), *digits = mark;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	unsigned long length;

	if (mark == symbol && !strncmp(symbol, "__device_stub__Z", 16))
		return gt_name_new(symbol + 14, strlen(symbol) - 14);
	while (digits && digits > symbol && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	length = digits ? strtoul(digits, NULL, 10) : 0;
	if (length <= strlen(STUB_MARK))
		return gt_name_new(symbol, strlen(symbol));
	gt_strbuf_printf(&text, "%.*s%lu%s", (int)(digits - symbol), symbol,
			 length - strlen(STUB_MARK), mark + strlen(STUB_MARK));
	return gt_name_new(gt_strbuf_string(&text), text.length);
}

/* A process that was attached to late registered its kernels before: try the symbol. */
static const char *name_by_symbol(const struct gt_names *names, __u32 process, __u64 handle)
{
	struct names_key key = {process, handle};
	struct gt_location location;
	const struct gt_source_frame *function;
	struct known_name *name;

	gt_symbolize(names->symbols, process, handle, false, &location);
	if (!location.frame_count)
		return NULL;
	function = &location.frames[location.frame_count - 1];
	if (!function->symbol || function->offset)
		return NULL;
	name = name_of_stub(function->symbol);
	if (name)
		gt_names_learn_home(names, process, handle, name->text);
	return gt_names_replace(names->kernels, &key, sizeof(key), name) ? NULL : name->text;
}

const char *gt_names_kernel(const struct gt_names *names, __u32 process, __u64 handle)
{
	__u32 ancestor = process;

	for (int i = 0; i < MAX_ANCESTORS && ancestor; i++) {
		struct names_key key = {ancestor, handle};
		const struct known_name *name = gt_hash_get(names->kernels, &key, sizeof(key));

		if (name)
			return name->text;
		ancestor = gt_names_parent(names, ancestor);
	}
	return name_by_symbol(names, process, handle);
}

const char *gt_names_launched(const struct gt_names *names, const struct gt_call *call)
{
	uint64_t handle;

	return call->function && gt_call_kernel(call, &handle)
		       ? gt_names_kernel(names, call->event->head.process, handle)
		       : NULL;
}

const char *gt_names_call_kernel(const struct gt_names *names, const struct gt_call *call)
{
	const char *launched = gt_names_launched(names, call);

	return launched ? launched : gt_names_given(names, call);
}

/* Those that were set before, one by one. */
static bool find_set_arguments(const struct gt_names *names, const struct gt_call *call,
			       struct gt_launch_arguments *ret_arguments)
{
	const struct known_settings *settings = gt_names_settings(names, call);

	if (!settings || !settings->arguments.count)
		return false;
	*ret_arguments = settings->arguments;
	return true;
}

bool gt_names_launch_arguments(const struct gt_names *names, const struct gt_call *call,
			       struct gt_launch_arguments *ret_arguments)
{
	const struct gt_event_call *event = call->event;
	const struct launch_values *arguments =
		gt_hash_get_u64(names->arguments, event->head.thread);

	if (!arguments || arguments->function != event->function ||
	    arguments->sequence != event->sequence)
		return call->function && find_set_arguments(names, call, ret_arguments);
	*ret_arguments = (struct gt_launch_arguments){.valid = arguments->readable};
	for (size_t i = 0; i < arguments->count && i < GT_ARGUMENT_WORDS; i++)
		ret_arguments->words[i] = arguments->values[i];
	return true;
}

/* Without memory the kernel is sought in every file. */
void gt_names_learn_home(const struct gt_names *names, uint32_t process, uint64_t handle,
			 const char *kernel)
{
	const struct gt_space_mapping *mapping = gt_space_at(names->space, process, handle);

	if (mapping && mapping->file->is_file && !gt_hash_get_str(names->homes, kernel))
		gt_hash_set_str(names->homes, kernel, (void *)mapping->file);
}

const struct gt_kernel *gt_names_parameters(const struct gt_names *names, const char *kernel)
{
	const struct gt_space_file *home = gt_hash_get_str(names->homes, kernel);

	return gt_kernel_search_find(names->search, kernel, home ? home->path : NULL);
}

bool gt_names_search_is_limited(const struct gt_names *names)
{
	return gt_kernel_search_is_limited(names->search);
}

uint32_t gt_names_registers(const struct gt_names *names, const char *kernel)
{
	const struct known_registers *known = gt_hash_get_str(names->registers, kernel);

	return known && !known->differ ? known->count : GT_KERNEL_UNKNOWN;
}
