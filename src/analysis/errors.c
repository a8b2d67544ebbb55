/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/errors.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/operation.h"
#include "base/hash.h"
#include "base/vec.h"

struct error_key {
	struct gt_group group;
	uint64_t result;
	uint64_t kernel; /* of a launch: its handle; else 0 */
	uint32_t function;
	uint32_t process;
};

struct gt_errors {
	enum gt_by by;
	struct gt_operations *operations;
	struct gt_hash *by_key; /* struct error_key -> struct gt_error */
	struct gt_hash *shown;  /* the rows as of now, whose texts belong to by_key's */
	GT_VEC(const struct gt_error *) rows;
};

bool gt_error_is_sticky(uint64_t result)
{
	switch ((uint32_t)result) {
#define STICKY(number) case number:
#include "analysis/sticky.def"
#undef STICKY
		return true;
	default:
		return false;
	}
}

struct gt_errors *gt_errors_new(enum gt_by by)
{
	gt_auto(errors) struct gt_errors *errors = calloc(1, sizeof(*errors));

	if (!errors)
		return NULL;
	errors->by = by;
	errors->operations = gt_operations_new();
	errors->by_key = gt_hash_new();
	return errors->operations && errors->by_key ? gt_take(errors) : NULL;
}

static void error_free(void *opaque)
{
	struct gt_error *error = opaque;

	free(error->result);
	free(error->kernel);
	free(error->kernel_name);
	free(error->process_name);
	free(error);
}

void gt_errors_free(struct gt_errors *errors)
{
	if (!errors)
		return;
	gt_operations_free(errors->operations);
	if (errors->by_key)
		gt_hash_free_with(errors->by_key, error_free);
	if (errors->shown)
		gt_hash_free_with(errors->shown, free);
	gt_vec_free(&errors->rows);
	free(errors);
}

static struct gt_error *new_error(const struct gt_names *names,
				  const struct gt_operation *operation, const struct error_key *key)
{
	gt_auto_strbuf result = GT_STRBUF_INIT, kernel = GT_STRBUF_INIT;
	const char *name = key->kernel ? gt_names_launched(names, &operation->call) : NULL;
	struct gt_error *error = calloc(1, sizeof(*error));

	if (!error)
		return NULL;
	gt_api_format_result(&result, operation->call.function, operation->event->result, false);
	error->function = operation->call.function->name;
	error->process = operation->event->head.process;
	error->process_name = strdup(gt_names_process(names, error->process));
	error->result = gt_strbuf_steal(&result);
	if (key->kernel)
		gt_label_kernel(&kernel, NULL, name, key->kernel);
	error->kernel = key->kernel ? gt_strbuf_steal(&kernel) : NULL;
	error->kernel_name = name ? strdup(name) : NULL;
	error->stack = operation->event->stack;
	error->group = gt_group_with_ordinal(key->group, operation->event->head.device);
	error->first = operation->end;
	error->sticky = gt_error_is_sticky(operation->event->result);
	if (error->process_name && error->result && (error->kernel || !key->kernel) &&
	    (error->kernel_name || !name))
		return error;
	error_free(error);
	return NULL;
}

/*
 * What the CUDA runtime does when a process ends, after main: the driver has shut down before, has
 * released all of it, and says so. No program can avoid that.
 */
static bool is_teardown(const struct gt_operation *operation)
{
	static const char *const functions[] = {"cuLibraryUnload", "cuModuleUnload",
						"cuDevicePrimaryCtxRelease",
						"cuDevicePrimaryCtxRelease_v2"};
	enum { DEINITIALIZED = 4 };
	const struct gt_api_function *function = operation->call.function;

	if (!function || (uint32_t)operation->event->result != DEINITIALIZED)
		return false;
	for (size_t i = 0; i < gt_countof(functions); i++)
		if (!strcmp(function->name, functions[i]))
			return true;
	return false;
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_errors *errors = opaque;
	struct gt_error *error;
	struct error_key key;

	if (!operation->failed || is_teardown(operation))
		return 0;
	key = (struct error_key){
		.group = gt_group_of(errors->by, names, operation->event,
				     operation->has_stream ? operation->stream : GT_STREAM_NONE),
		.result = (uint32_t)operation->event->result,
		.function = operation->event->function,
		.process = operation->event->head.process,
	};
	if (operation->kind == GT_OPERATION_LAUNCH)
		gt_call_kernel(&operation->call, &key.kernel);
	error = gt_hash_get(errors->by_key, &key, sizeof(key));
	if (!error) {
		error = new_error(names, operation, &key);
		if (!error || gt_hash_set(errors->by_key, &key, sizeof(key), error)) {
			if (error)
				error_free(error);
			return -ENOMEM;
		}
	}
	error->count++;
	error->last = operation->end;
	return 0;
}

int gt_errors_take(struct gt_errors *errors, const struct gt_names *names,
		   const struct gt_event *event)
{
	return gt_operations_take(errors->operations, names, event, take_operation, errors);
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_error *left = *(const struct gt_error *const *)a;
	const struct gt_error *right = *(const struct gt_error *const *)b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return left->first < right->first ? -1 : left->first > right->first;
}

/* The rows that a person takes for one have one key. */
static void put_row_key(struct gt_strbuf *text, enum gt_by by, const struct gt_names *names,
			const struct error_key *key, const struct gt_error *row)
{
	struct gt_group group = gt_group_now(by, names, NULL, &key->group);

	if (by == GT_BY_STACK)
		group.number = 0;
	gt_strbuf_printf(text, "%" PRIu32 " %" PRIu64 " %" PRIu32 " %s\n", key->function,
			 key->result, key->process, row->kernel ? row->kernel : "");
	gt_strbuf_add(text, (const char *)&group, sizeof(group));
	if (by == GT_BY_STACK)
		gt_label_stack(text, names, row->process, row->stack);
}

static int show_row(struct gt_errors *errors, const struct gt_names *names,
		    const struct error_key *key, const struct gt_error *row)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_group group = gt_group_now(errors->by, names, NULL, &key->group);
	struct gt_error *shown;

	put_row_key(&text, errors->by, names, key, row);
	if (text.failed)
		return -ENOMEM;
	shown = gt_hash_get(errors->shown, text.data, text.length);
	if (shown) {
		shown->count += row->count;
		shown->first = row->first < shown->first ? row->first : shown->first;
		shown->last = row->last > shown->last ? row->last : shown->last;
		return 0;
	}
	shown = malloc(sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	*shown = *row;
	shown->group = gt_group_with_ordinal(group, (int)row->group.device);
	if (!gt_hash_set(errors->shown, text.data, text.length, shown))
		return 0;
	free(shown);
	return -ENOMEM;
}

/* Merge rows of a call site, and of a device whose UUID became known later. */
static int gather_rows(struct gt_errors *errors, const struct gt_names *names)
{
	size_t cursor = 0;
	const void *key;
	void *value;
	int error = 0;

	if (errors->shown)
		gt_hash_free_with(errors->shown, free);
	errors->shown = gt_hash_new();
	if (!errors->shown)
		return -ENOMEM;
	while (!error && gt_hash_next(errors->by_key, &cursor, &key, NULL, &value)) {
		struct error_key copy; /* keys are not aligned */

		memcpy(&copy, key, sizeof(copy));
		error = show_row(errors, names, &copy, value);
	}
	return error;
}

int gt_errors_rows(struct gt_errors *errors, const struct gt_names *names,
		   const struct gt_error *const **ret_rows, size_t *ret_count)
{
	size_t cursor = 0;
	void *value;

	errors->rows.count = 0;
	if (gather_rows(errors, names))
		return -ENOMEM;
	while (gt_hash_next(errors->shown, &cursor, NULL, NULL, &value))
		if (gt_vec_push(&errors->rows, value))
			return -ENOMEM;
	if (errors->rows.count)
		qsort(errors->rows.items, errors->rows.count, sizeof(*errors->rows.items),
		      compare_rows);
	*ret_rows = errors->rows.items;
	*ret_count = errors->rows.count;
	return 0;
}
