/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/names.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "names/kept.h"
#include "names/private.h"

struct gt_names *gt_names_new(void)
{
	struct gt_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->processes = gt_hash_new();
	names->functions = gt_hash_new();
	names->libraries = gt_hash_new();
	names->commands = gt_hash_new();
	names->cgroups = gt_hash_new();
	names->ranks = gt_hash_new();
	names->devices = gt_devices_new();
	names->kernels = gt_hash_new();
	names->settings = gt_hash_new();
	names->pixels = gt_hash_new();
	names->mapped = gt_hash_new();
	names->registers = gt_hash_new();
	names->stacks = gt_hash_new();
	names->merged = gt_hash_new();
	names->python = gt_python_names_new();
	names->kept = gt_hash_new();
	names->given = gt_hash_new();
	names->arguments = gt_hash_new();
	names->search = gt_kernel_search_new(GT_KERNEL_SEARCH_LIMIT);
	names->homes = gt_hash_new();
	names->space = gt_space_new();
	if (names->space)
		names->lines = gt_symbolizer_new(names->space, NULL);
	if (names->space)
		names->symbols = gt_symbolizer_new(
			names->space, &(struct gt_symbolizer_options){.no_lines = true});
	if (!names->processes || !names->functions || !names->libraries || !names->commands ||
	    !names->cgroups || !names->ranks || !names->devices || !names->kernels ||
	    !names->settings || !names->pixels || !names->mapped || !names->registers ||
	    !names->stacks || !names->merged || !names->python || !names->kept || !names->given ||
	    !names->arguments || !names->symbols || !names->lines || !names->search ||
	    !names->homes) {
		gt_names_free(names);
		return NULL;
	}
	names->strings = (struct gt_api_strings){gt_names_string, names};
	return names;
}

void gt_names_free(struct gt_names *names)
{
	if (!names)
		return;
	gt_hash_free_with(names->processes, free);
	gt_known_gaps_free(&names->gaps);
	gt_known_totals_free(&names->totals);
	gt_machines_free(&names->machines);
	gt_hash_free_with(names->functions, free);
	gt_vec_each (name, &names->retired)
		free(*name);
	gt_vec_free(&names->retired);
	gt_hash_free_with(names->libraries, free);
	gt_hash_free_with(names->commands, free);
	gt_hash_free_with(names->cgroups, free);
	gt_hash_free_with(names->ranks, free);
	gt_devices_free(names->devices);
	gt_hash_free_with(names->kernels, free);
	gt_hash_free_with(names->settings, free);
	gt_hash_free_with(names->pixels, free);
	gt_hash_free_with(names->mapped, free);
	gt_hash_free_with(names->registers, free);
	gt_hash_free_with(names->stacks, free);
	gt_hash_free_with(names->merged, free);
	gt_python_names_free(names->python);
	gt_perf_maps_free(names->perf_maps);
	gt_hash_free_with(names->kept, gt_kept_location_free);
	gt_hash_free_with(names->given, free);
	gt_hash_free_with(names->arguments, free);
	gt_symbolizer_free(names->symbols);
	gt_symbolizer_free(names->lines);
	gt_space_free(names->space);
	gt_kernel_search_free(names->search);
	gt_hash_free(names->homes);
	free(names);
}

int gt_names_read_perf_maps(struct gt_names *names)
{
	names->perf_maps = gt_perf_maps_new();
	return names->perf_maps ? 0 : -ENOMEM;
}

static const char *text_of(const struct gt_hash *map, __u64 number)
{
	const struct known_name *name = gt_hash_get_u64(map, number);

	return name ? name->text : "?";
}

const char *gt_names_process(const struct gt_names *names, __u32 process)
{
	return text_of(names->processes, process);
}

const char *gt_names_function(const struct gt_names *names, __u32 function)
{
	const struct function_name *name = gt_hash_get_u64(names->functions, function);

	return name ? name->text : "?";
}

const struct gt_api_function *gt_names_api(const struct gt_names *names, __u32 function)
{
	const struct function_name *name = gt_hash_get_u64(names->functions, function);

	return name && name->known ? name->layout.function : NULL;
}

void gt_names_decode(const struct gt_names *names, const struct gt_event_call *event,
		     struct gt_call *ret_call)
{
	const struct function_name *name = gt_hash_get_u64(names->functions, event->function);
	const struct known_settings *settings;

	gt_call_decode(ret_call, name && name->known ? &name->layout : NULL, event);
	ret_call->strings = &names->strings;
	settings = ret_call->function ? gt_names_settings(names, ret_call) : NULL;
	if (settings && settings->has_group)
		ret_call->group = settings->group;
	if (ret_call->function && ret_call->layout->sized)
		ret_call->sized_bytes = gt_names_sized_bytes(names, ret_call);
}

__u32 gt_names_parent(const struct gt_names *names, __u32 process)
{
	const struct known_name *name = gt_hash_get_u64(names->processes, process);

	return name ? name->parent : 0;
}

bool gt_names_device(const struct gt_names *names, __u32 process, int ordinal,
		     struct gt_known_device *ret_device)
{
	return gt_devices_find(names->devices, process, ordinal, ret_device);
}

const struct gt_context *gt_names_context(const struct gt_names *names,
					  const struct gt_event_call *call)
{
	return gt_devices_context(names->devices, call->head.process, call->context);
}

const char *gt_names_command(const struct gt_names *names, __u32 process)
{
	const struct known_name *name = gt_hash_get_u64(names->commands, process);

	return name ? name->text : NULL;
}

const char *gt_names_cgroup(const struct gt_names *names, __u32 process)
{
	const struct known_cgroup *cgroup = gt_hash_get_u64(names->cgroups, process);

	return cgroup ? cgroup->path : NULL;
}

const char *gt_names_container(const struct gt_names *names, __u32 process)
{
	const struct known_cgroup *cgroup = gt_hash_get_u64(names->cgroups, process);

	return cgroup && cgroup->container[0] ? cgroup->container : NULL;
}

bool gt_names_rank(const struct gt_names *names, __u32 process, __u32 *ret_rank)
{
	const struct known_rank *known = gt_hash_get_u64(names->ranks, process);

	if (known)
		*ret_rank = known->rank;
	return known;
}

/* "node1", or "machine 1" where the capture does not have its name. */
static void put_machine_name(struct gt_strbuf *text, const struct gt_names *names, __u32 number)
{
	const char *name;
	size_t length;

	gt_vec_each (machine, &names->machines) {
		if ((*machine)->number != number)
			continue;
		name = gt_machine_text(*machine, GT_MACHINE_LABEL, &length);
		if (!length)
			name = gt_machine_text(*machine, GT_MACHINE_HOST, &length);
		if (length) {
			gt_autofree char *copy = strndup(name, length);

			gt_put_printable(text, copy ? copy : "?");
			return;
		}
	}
	gt_strbuf_printf(text, "machine %u", number);
}

void gt_put_rank(struct gt_strbuf *text, const struct gt_names *names, __u32 process)
{
	__u32 rank;

	if (gt_names_rank(names, process, &rank))
		gt_strbuf_printf(text, ", rank %u", rank);
	if (!gt_id_machine(process) && names->machines.count < 2)
		return;
	gt_strbuf_puts(text, " on ");
	put_machine_name(text, names, gt_id_machine(process));
}

void gt_json_rank(struct gt_json *json, const struct gt_names *names, __u32 process)
{
	__u32 rank;

	if (gt_id_machine(process))
		gt_json_u64(json, "machine", gt_id_machine(process));
	if (gt_names_rank(names, process, &rank))
		gt_json_u64(json, "rank", rank);
}

/* A stack with its Python frames, NULL: it has none, or there is no memory. */
static const struct known_stack *merge_python(const struct gt_names *names,
					      const struct names_key *key,
					      const struct known_stack *native)
{
	gt_autofree enum gt_python_relation *relations =
		calloc(native->count + 1, sizeof(*relations));
	gt_autofree uint64_t *addresses = NULL;
	struct known_stack *merged;
	size_t count;

	if (!relations || !gt_python_has_frames(names->python, key->process, key->number))
		return NULL;
	for (size_t i = 0; i < native->count; i++) {
		struct gt_location location;

		gt_names_location(names, (__u32)key->process, native->addresses[i], true,
				  &location);
		relations[i] = gt_python_relation_of(&location);
	}
	addresses = gt_python_merge(names->python, key->process, key->number, native->addresses,
				    relations, native->count, &count);
	merged = addresses ? malloc(sizeof(*merged) + count * sizeof(*addresses)) : NULL;
	if (!merged)
		return NULL;
	merged->truncated = native->truncated;
	merged->count = count;
	memcpy(merged->addresses, addresses, count * sizeof(*addresses));
	if (gt_names_replace(names->merged, key, sizeof(*key), merged))
		return NULL;
	return merged;
}

static const struct known_stack *stack_of(const struct gt_names *names, __u32 process, __u64 stack)
{
	struct names_key key = {process, stack};
	const struct known_stack *native = gt_hash_get(names->stacks, &key, sizeof(key));
	const struct known_stack *merged = gt_hash_get(names->merged, &key, sizeof(key));

	if (native && !merged)
		merged = merge_python(names, &key, native);
	return merged ? merged : native;
}

const __u64 *gt_names_stack(const struct gt_names *names, __u32 process, __u64 stack,
			    size_t *ret_count)
{
	const struct known_stack *known = stack_of(names, process, stack);

	if (!known)
		return NULL;
	*ret_count = known->count;
	return known->addresses;
}

bool gt_names_stack_is_truncated(const struct gt_names *names, __u32 process, __u64 stack)
{
	struct names_key key = {process, stack};
	const struct known_stack *known = gt_hash_get(names->stacks, &key, sizeof(key));

	return known && known->truncated;
}

void gt_names_location(const struct gt_names *names, __u32 process, __u64 address, bool is_return,
		       struct gt_location *ret_location)
{
	const struct names_key key = {process, address};
	const struct gt_kept_location *kept =
		is_return ? gt_hash_get(names->kept, &key, sizeof(key)) : NULL;

	if (kept)
		*ret_location = kept->location;
	else if (gt_python_is_frame(address))
		gt_python_location(names->python, address, ret_location);
	else
		gt_symbolize(names->lines, process, address, is_return, ret_location);
	if (!ret_location->path && names->perf_maps)
		gt_perf_maps_find(names->perf_maps, process, address, is_return, ret_location);
}

const char *gt_names_library(const struct gt_names *names, __u32 library)
{
	return text_of(names->libraries, library);
}

__u64 gt_names_wall_time(const struct gt_names *names, __u64 time)
{
	return names->has_wall ? time + names->wall : 0;
}

__u64 gt_names_start_time(const struct gt_names *names)
{
	return names->start;
}

const struct gt_event_account *gt_names_account(const struct gt_names *names)
{
	return names->has_account ? &names->account : NULL;
}
