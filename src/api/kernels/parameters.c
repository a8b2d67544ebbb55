/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/parameters.h"

#include <errno.h>
#include <string.h>

#include "api/kernels/container.h"
#include "api/kernels/shared.h"
#include "base/hash.h"
#include "base/vec.h"
#include "fatbin/cubin.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

#define PTX_LIMIT ((size_t)256 << 20) /* bytes of PTX that are parsed for one image */
#define TYPES_LIMIT ((size_t)8 << 20) /* where it adds nothing but the types of parameters */
#define MAX_PARAMETERS 4096           /* of one kernel */
#define MAX_USAGES 64                 /* of one kernel; there are 20 architectures */

struct named_kernel {
	struct gt_kernel known; /* what is given out; points to what follows */
	char *name;
	GT_VEC(struct gt_parameter) parameters;
	GT_VEC(struct gt_kernel_usage) usages;
	uint32_t ptx_shared_bytes;
};

struct gt_parameters {
	struct gt_hash *kernels; /* name -> struct named_kernel */
};

/* One image being added. */
struct image_addition {
	struct gt_parameters *parameters;
	const char *name; /* of the kernel for whose sake it is added; NULL: all matter */
	size_t added;     /* kernels that are new */
	size_t good;      /* cubins and PTX texts that were read */
	size_t ptx_left;  /* bytes of PTX that may still be parsed */
	int error;        /* the first one */
	struct gt_diag *diag;
};

static void free_kernel(void *value)
{
	struct named_kernel *kernel = value;

	gt_vec_each (parameter, &kernel->parameters)
		free((char *)parameter->type);
	gt_vec_free(&kernel->parameters);
	gt_vec_free(&kernel->usages);
	free(kernel->name);
	free(kernel);
}

struct gt_parameters *gt_parameters_new(void)
{
	struct gt_parameters *parameters = calloc(1, sizeof(*parameters));

	if (!parameters)
		return NULL;
	parameters->kernels = gt_hash_new();
	if (!parameters->kernels) {
		free(parameters);
		return NULL;
	}
	return parameters;
}

void gt_parameters_free(struct gt_parameters *parameters)
{
	if (!parameters)
		return;
	gt_hash_free_with(parameters->kernels, free_kernel);
	free(parameters);
}

/* What is given out of a kernel, after a change. */
static void publish_kernel(struct named_kernel *kernel)
{
	kernel->known = (struct gt_kernel){
		.name = kernel->name,
		.parameters = kernel->parameters.items,
		.parameter_count = kernel->parameters.count,
		.usages = kernel->usages.items,
		.usage_count = kernel->usages.count,
		.ptx_shared_bytes = kernel->ptx_shared_bytes,
	};
}

static int out_of_memory(struct image_addition *addition)
{
	return gt_diag(addition->diag, -ENOMEM, "kernels", NULL, "out of memory");
}

/* Puts a kernel into the collection; frees it on failure. */
static int put_kernel(struct image_addition *addition, struct named_kernel *kernel)
{
	publish_kernel(kernel);
	if (gt_hash_set_str(addition->parameters->kernels, kernel->name, kernel)) {
		free_kernel(kernel);
		return out_of_memory(addition);
	}
	addition->added++;
	return 0;
}

static struct named_kernel *new_kernel(const char *name)
{
	struct named_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->ptx_shared_bytes = GT_KERNEL_UNKNOWN;
	kernel->name = strdup(name);
	if (!kernel->name) {
		free(kernel);
		return NULL;
	}
	return kernel;
}

/* By architecture, the first one of each. */
static int add_usage(struct named_kernel *kernel, const struct gt_kernel_usage *usage)
{
	size_t place = 0;

	while (place < kernel->usages.count &&
	       kernel->usages.items[place].architecture < usage->architecture)
		place++;
	if (kernel->usages.count == MAX_USAGES ||
	    (place < kernel->usages.count &&
	     kernel->usages.items[place].architecture == usage->architecture))
		return 0;
	if (gt_vec_push(&kernel->usages, *usage))
		return -ENOMEM;
	memmove(&kernel->usages.items[place + 1], &kernel->usages.items[place],
		(kernel->usages.count - 1 - place) * sizeof(*usage));
	kernel->usages.items[place] = *usage;
	publish_kernel(kernel);
	return 0;
}

static int take_cubin_kernel(struct image_addition *addition, const struct gt_cubin_kernel *found,
			     uint32_t architecture)
{
	struct gt_kernel_usage usage = {
		.architecture = architecture,
		.registers = found->registers,
		.shared_bytes = found->shared_bytes,
		.local_bytes = found->local_bytes,
	};
	struct named_kernel *kernel = gt_hash_get_str(addition->parameters->kernels, found->name);

	if (!kernel) {
		kernel = new_kernel(found->name);
		for (size_t i = 0; kernel && i < found->parameter_count; i++) {
			struct gt_parameter parameter = {found->parameters[i].offset,
							 found->parameters[i].size, NULL};

			if (gt_vec_push(&kernel->parameters, parameter)) {
				free_kernel(kernel);
				kernel = NULL;
			}
		}
		if (!kernel)
			return out_of_memory(addition);
		if (put_kernel(addition, kernel))
			return -ENOMEM;
	}
	return add_usage(kernel, &usage) ? out_of_memory(addition) : 0;
}

static int take_cubin(struct image_addition *addition, const struct gt_fatbin_payload *payload,
		      uint32_t architecture)
{
	gt_auto_cubin cubin = {0};
	int error = gt_cubin_read(payload->data, payload->size, &cubin, addition->diag);

	for (size_t i = 0; i < cubin.count && !error; i++)
		error = take_cubin_kernel(addition, &cubin.kernels[i], architecture);
	return error;
}

/* ".u64", ".b8[12]"; a pointer is marked, since its type is that of a number. */
static char *type_text(const struct gt_ptx_variable *variable)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, gt_ptx_type_info(variable->type)->name);
	for (uint32_t i = 0; i < variable->dimension_count; i++)
		gt_strbuf_printf(&text, "[%llu]", (unsigned long long)variable->dimensions[i]);
	if (variable->is_pointer)
		gt_strbuf_puts(&text, " .ptr");
	return gt_strbuf_steal(&text);
}

/* The parameters of a kernel in PTX, one after the other, each aligned. */
static int read_ptx_parameters(const struct gt_ptx_function *function, struct named_kernel *kernel)
{
	uint64_t offset = 0;

	for (const struct gt_ptx_variable *variable = function->parameters; variable;
	     variable = variable->next) {
		uint64_t alignment = gt_ptx_variable_alignment(variable);
		uint64_t size = gt_ptx_variable_size(variable);
		struct gt_parameter parameter = {0};

		if (alignment)
			offset = (offset + alignment - 1) / alignment * alignment;
		if (offset + size > UINT32_MAX || kernel->parameters.count == MAX_PARAMETERS)
			return -E2BIG;
		parameter.offset = (uint32_t)offset;
		parameter.size = (uint32_t)size;
		parameter.type = type_text(variable);
		if (!parameter.type || gt_vec_push(&kernel->parameters, parameter)) {
			free((char *)parameter.type);
			return -ENOMEM;
		}
		offset += size;
	}
	return 0;
}

/* Gives the types to a kernel whose layout is known from a cubin, if it is the same. */
static void take_types(struct named_kernel *kernel, struct named_kernel *typed)
{
	if (kernel->parameters.count != typed->parameters.count)
		return;
	for (size_t i = 0; i < kernel->parameters.count; i++)
		if (kernel->parameters.items[i].size != typed->parameters.items[i].size)
			return;
	for (size_t i = 0; i < kernel->parameters.count; i++)
		if (!kernel->parameters.items[i].type)
			kernel->parameters.items[i].type = gt_take(typed->parameters.items[i].type);
}

static int read_ptx_shared(const struct gt_ptx_module *module,
			   const struct gt_ptx_function *function, struct named_kernel *kernel)
{
	uint64_t bytes;
	int error = gt_ptx_shared_bytes(module, function, &bytes);

	if (!error && bytes < GT_KERNEL_UNKNOWN)
		kernel->ptx_shared_bytes = (uint32_t)bytes;
	return error == -ENOMEM ? error : 0;
}

static int take_ptx_kernel(struct image_addition *addition, const struct gt_ptx_module *module,
			   const struct gt_ptx_function *function)
{
	struct named_kernel *kernel =
		gt_hash_get_str(addition->parameters->kernels, function->name);
	struct named_kernel *read = new_kernel(function->name);
	int error = read ? read_ptx_parameters(function, read) : -ENOMEM;

	if (!error)
		error = read_ptx_shared(module, function, read);
	if (!error && !kernel)
		return put_kernel(addition, read);
	if (!error) {
		take_types(kernel, read);
		if (kernel->ptx_shared_bytes == GT_KERNEL_UNKNOWN)
			kernel->ptx_shared_bytes = read->ptx_shared_bytes;
		publish_kernel(kernel);
	}
	if (read)
		free_kernel(read);
	/* One with parameters beyond the limits is omitted. */
	return error == -ENOMEM ? out_of_memory(addition) : 0;
}

static int take_ptx(struct image_addition *addition, const struct gt_fatbin_payload *payload)
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	int error;

	if (payload->size > addition->ptx_left)
		return 0;
	addition->ptx_left -= payload->size;
	error = gt_ptx_parse(payload->data, payload->size, &module, addition->diag);
	if (error)
		return error;
	for (const struct gt_ptx_function *function = module->functions; function && !error;
	     function = function->next)
		if (function->is_entry)
			error = take_ptx_kernel(addition, module, function);
	return error;
}

/* Adds the entries of one kind. Malformed ones are skipped; only -ENOMEM is an error. */
static int take_entries(struct image_addition *addition, const struct gt_fatbin *fatbin,
			uint16_t kind)
{
	for (size_t i = 0; i < fatbin->entry_count; i++) {
		const struct gt_fatbin_entry *entry = &fatbin->entries[i];
		gt_auto_fatbin_payload payload = {0};
		int error;

		if (entry->kind != kind)
			continue;
		error = gt_fatbin_extract(entry, &payload, addition->diag);
		if (!error && kind == GT_FATBIN_KIND_ELF)
			error = take_cubin(addition, &payload, entry->architecture);
		else if (!error)
			error = take_ptx(addition, &payload);
		if (error == -ENOMEM)
			return error;
		if (error && !addition->error)
			addition->error = error;
		addition->good += !error;
	}
	return 0;
}

static int take_image(struct image_addition *addition, const void *data, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	int error = gt_fatbin_open(data, size, &fatbin, addition->diag);

	if (!error)
		error = take_entries(addition, fatbin, GT_FATBIN_KIND_ELF);
	if (addition->name && gt_hash_get_str(addition->parameters->kernels, addition->name))
		addition->ptx_left = TYPES_LIMIT;
	if (!error)
		error = take_entries(addition, fatbin, GT_FATBIN_KIND_PTX);
	return error;
}

/* Errors of parsers as reported to the caller: malformed. */
static int error_of(int error)
{
	switch (error) {
	case -EINVAL:
	case -ENOEXEC:
		return -EBADMSG;
	case -ENOTSUP:
		return -ENOEXEC;
	}
	return error;
}

static int finish_addition(struct image_addition *addition, int error, size_t *ret_added)
{
	if (!error && !addition->good)
		error = addition->error;
	if (error)
		return error_of(error);
	if (ret_added)
		*ret_added = addition->added;
	return 0;
}

static struct image_addition begin_addition(struct gt_parameters *parameters, struct gt_diag *diag)
{
	return (struct image_addition){
		.parameters = parameters, .ptx_left = PTX_LIMIT, .diag = diag};
}

int gt_parameters_add_image(struct gt_parameters *parameters, const void *data, size_t size,
			    size_t *ret_added, struct gt_diag *diag)
{
	/* What is passed over leaves no message, so they are only kept for a failure. */
	struct gt_diag first = {0};
	struct image_addition addition = begin_addition(parameters, &first);
	int error;

	if (gt_fatbin_classify(data, size) == GT_FATBIN_IMAGE_UNKNOWN)
		return gt_diag(diag, -ENOEXEC, "kernels", NULL,
			       "neither a fatbin nor a cubin nor PTX text");
	error = finish_addition(&addition, take_image(&addition, data, size), ret_added);
	return error ? gt_diag(diag, error, first.stage, first.place, "%s", first.text) : 0;
}

int gt_parameters_add_container(struct gt_parameters *parameters, const void *data, size_t size,
				const char *name, struct gt_diag *diag)
{
	struct image_addition addition = begin_addition(parameters, diag);

	addition.name = name;
	return finish_addition(&addition, take_image(&addition, data, size), NULL);
}

static int copy_parameters(struct named_kernel *copy, const struct gt_kernel *kernel)
{
	for (size_t i = 0; i < kernel->parameter_count; i++) {
		struct gt_parameter parameter = kernel->parameters[i];

		if (parameter.type) {
			parameter.type = strdup(parameter.type);
			if (!parameter.type)
				return -ENOMEM;
		}
		if (gt_vec_push(&copy->parameters, parameter)) {
			free((char *)parameter.type);
			return -ENOMEM;
		}
	}
	return 0;
}

int gt_parameters_add(struct gt_parameters *parameters, const struct gt_kernel *kernel)
{
	struct named_kernel *copy;
	int error;

	if (gt_hash_get_str(parameters->kernels, kernel->name))
		return 0;
	copy = new_kernel(kernel->name);
	if (!copy)
		return -ENOMEM;
	copy->ptx_shared_bytes = kernel->ptx_shared_bytes;
	error = copy_parameters(copy, kernel);
	for (size_t i = 0; i < kernel->usage_count && !error; i++)
		error = add_usage(copy, &kernel->usages[i]);
	publish_kernel(copy);
	if (!error)
		error = gt_hash_set_str(parameters->kernels, copy->name, copy);
	if (error)
		free_kernel(copy);
	return error;
}

size_t gt_parameters_count(const struct gt_parameters *parameters)
{
	return gt_hash_count(parameters->kernels);
}

const struct gt_kernel *gt_parameters_find(const struct gt_parameters *parameters, const char *name)
{
	const struct named_kernel *kernel = gt_hash_get_str(parameters->kernels, name);

	return kernel ? &kernel->known : NULL;
}

static uint32_t agreed(uint32_t a, uint32_t b)
{
	return a == b ? a : GT_KERNEL_UNKNOWN;
}

static struct gt_kernel_usage usage_anywhere(const struct gt_kernel *kernel)
{
	struct gt_kernel_usage usage = kernel->usages[0];

	for (size_t i = 1; i < kernel->usage_count; i++) {
		const struct gt_kernel_usage *other = &kernel->usages[i];

		usage.architecture = 0;
		usage.registers = agreed(usage.registers, other->registers);
		usage.shared_bytes = agreed(usage.shared_bytes, other->shared_bytes);
		usage.local_bytes = agreed(usage.local_bytes, other->local_bytes);
	}
	return usage;
}

struct gt_kernel_usage gt_kernel_usage_on(const struct gt_kernel *kernel, uint32_t device)
{
	struct gt_kernel_usage usage = {
		.registers = GT_KERNEL_UNKNOWN,
		.shared_bytes = kernel->ptx_shared_bytes,
		.local_bytes = GT_KERNEL_UNKNOWN,
	};

	if (!device && kernel->usage_count)
		return usage_anywhere(kernel);
	for (size_t i = 0; i < kernel->usage_count; i++) {
		uint32_t architecture = kernel->usages[i].architecture;

		if (architecture / 10 == device / 10 && architecture <= device)
			usage = kernel->usages[i];
	}
	return usage;
}
