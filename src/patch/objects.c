/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/objects.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "fatbin/archive.h"
#include "fatbin/cubin_symbols.h"
#include "patch/linked.h"
#include "patch/private.h"

void gt_patch_objects_clear(struct gt_patch_objects *objects)
{
	gt_vec_each (cubin, &objects->cubins)
		gt_fatbin_payload_free(cubin);
	gt_vec_free(&objects->cubins);
}

/* ---- objects --------------------------------------------------------------------------- */

bool gt_patch_is_object(const struct gt_fatbin_entry *entry)
{
	Elf64_Ehdr header;

	return gt_fatbin_extract_start(entry, &header, sizeof(header)) == sizeof(header) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_REL;
}

/* Whether the PTX of a cubin is among the texts: they are those that the linked cubin carries. */
static bool has_text(const struct gt_patch_source *source, const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin_ptx ptx = {0};

	return source->cubin && !gt_cubin_ptx_read(payload->data, payload->size, &ptx, NULL);
}

static int add_cubin(const struct gt_patch_source *source, const struct gt_fatbin_entry *entry,
		     struct gt_patch_objects *objects, struct gt_diag *diag)
{
	gt_auto_fatbin_payload payload = {0};
	int error = gt_fatbin_extract(entry, &payload, diag);

	if (error || has_text(source, &payload))
		return error;
	if (gt_vec_push(&objects->cubins, payload))
		return gt_patch_fail_memory(diag);
	payload = (struct gt_fatbin_payload){0};
	return 0;
}

static int add_cubins(const struct gt_patch_source *source, struct gt_patch_objects *objects,
		      struct gt_diag *diag)
{
	uint64_t budget = GT_FATBIN_MAX_PAYLOAD;
	int error = 0;

	for (size_t i = 0; i < source->object_count && !error; i++) {
		const struct gt_fatbin_entry *entry = source->objects[i];

		if (entry->size > budget)
			return gt_diag(diag, -E2BIG, "patch", NULL,
				       "the module is linked with more than %d MiB of machine code",
				       GT_FATBIN_MAX_PAYLOAD >> 20);
		budget -= entry->size;
		error = add_cubin(source, entry, objects, diag);
	}
	return error;
}

/* Note the functions and variables that a module has for others. */
static int add_definitions(const struct gt_ptx_module *module, struct gt_hash *names)
{
	int error = 0;

	for (const struct gt_ptx_function *function = module->functions; function && !error;
	     function = function->next)
		if (function->definition && function->definition->linkage != GT_PTX_LINKAGE_NONE)
			error = gt_hash_set_str(names, function->name, names);
	gt_ptx_each_variable (variable, module)
		if (!error && variable->definition &&
		    variable->definition->linkage != GT_PTX_LINKAGE_NONE)
			error = gt_hash_set_str(names, variable->name, names);
	return error;
}

/* The same for all modules of an image. */
static int add_all_definitions(const struct gt_patch_image *image, struct gt_hash *names)
{
	int error = names ? 0 : -ENOMEM;

	gt_vec_each (part, &image->parts)
		error = error ? error : add_definitions(part->module, names);
	return error;
}

/*
 * A variable that a module declares and no module has, or NULL. In shared memory it is what a
 * launch has of that.
 */
static const char *missing_variable(const struct gt_ptx_module *module, const struct gt_hash *names)
{
	gt_ptx_each_variable (variable, module)
		if (!variable->definition && variable->space != GT_PTX_SPACE_SHARED &&
		    !gt_hash_get_str(names, variable->name))
			return variable->name;
	return NULL;
}

/* Whether a module declares a function that no module has. */
static bool lacks_function(const struct gt_ptx_module *module, const struct gt_hash *names)
{
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		if (!function->is_prototype && !function->definition &&
		    !gt_patch_is_system_call(function->name) &&
		    !gt_hash_get_str(names, function->name))
			return true;
	return false;
}

/* Of archives the linker takes the members that are needed. */
static int add_archives(const struct gt_patch_source *source, const struct gt_patch_image *image,
			struct gt_patch_objects *objects)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	int error = add_all_definitions(image, names);
	bool lacks = false;

	gt_vec_each (part, &image->parts)
		lacks |= !error && (lacks_function(part->module, names) ||
				    missing_variable(part->module, names));
	if (lacks) {
		objects->archives = source->archives;
		objects->archive_count = source->archive_count;
	}
	return error;
}

int gt_patch_read_objects(const struct gt_patch_source *source, const struct gt_patch_image *image,
			  struct gt_patch_objects *ret_objects, struct gt_diag *diag)
{
	int error;

	*ret_objects = (struct gt_patch_objects){0};
	error = add_cubins(source, ret_objects, diag);
	if (!error && source->archive_count && add_archives(source, image, ret_objects))
		error = gt_patch_fail_memory(diag);
	return error;
}

/* ---- all objects ------------------------------------------------------------------------ */

typedef void object_visit(void *context, const struct gt_fatbin_payload *cubin);

struct object_walk {
	object_visit *visit;
	void *context;
	uint32_t device;
	uint64_t budget;    /* bytes of archives to be read; their parts may overlap */
	bool is_incomplete; /* a member has no machine code for the device, or none that can be read
			     */
};

/* False: the budget is used up. */
static bool spend(struct object_walk *walk, uint64_t bytes)
{
	if (bytes > walk->budget)
		return false;
	walk->budget -= bytes;
	return true;
}

static int visit_entry(struct object_walk *walk, const struct gt_fatbin_entry *entry)
{
	gt_auto_fatbin_payload payload = {0};
	int error;

	if (!spend(walk, entry->size))
		return -E2BIG;
	error = gt_fatbin_extract(entry, &payload, NULL);
	if (!error)
		walk->visit(walk->context, &payload);
	walk->is_incomplete |= error != 0;
	return error == -ENOMEM ? error : 0;
}

/* Of each container the cubins that are linked. */
static int visit_container(struct object_walk *walk, const struct gt_fatbin *container)
{
	const struct gt_fatbin_entry *best = gt_fatbin_best_cubin(container, walk->device);
	int error = 0;

	walk->is_incomplete |= !best;
	for (size_t i = 0; best && i < container->entry_count && !error; i++)
		if (gt_fatbin_is_part(&container->entries[i], best))
			error = visit_entry(walk, &container->entries[i]);
	return error;
}

static int visit_member(void *context, const char *name, const void *code, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct object_walk *walk = context;
	struct gt_fatbin container;
	size_t cursor = 0;
	int error;

	if (!spend(walk, size))
		return -E2BIG;
	error = gt_fatbin_open(code, size, &fatbin, NULL);
	walk->is_incomplete |= error != 0;
	if (error)
		return error == -ENOMEM ? error : 0;
	while (!error && gt_fatbin_next_container(fatbin, &cursor, &container))
		error = visit_container(walk, &container);
	return error;
}

/* Visit all objects. 0, also where some cannot be read; -ENOMEM. */
static int visit_objects(const struct gt_patch_objects *objects, uint32_t device,
			 object_visit *visit, void *context, bool *ret_incomplete)
{
	struct object_walk walk = {
		.visit = visit,
		.context = context,
		.device = device,
		.budget = GT_FATBIN_MAX_PAYLOAD,
	};
	int error = 0;

	gt_vec_each (cubin, &objects->cubins)
		visit(context, cubin);
	for (size_t i = 0; i < objects->archive_count && !error; i++) {
		const struct gt_cubin_text *archive = &objects->archives[i];
		bool unknown;

		error = gt_archive_each(archive->text, archive->length, visit_member, &walk,
					&unknown, NULL);
		walk.is_incomplete |= unknown;
	}
	*ret_incomplete = walk.is_incomplete || error;
	return error == -ENOMEM ? error : 0;
}

/* ---- kernels --------------------------------------------------------------------------- */

/* The kernels that modules and objects have. */
struct linked_kernels {
	struct gt_hash *names;
	bool failed; /* no memory */
};

static void add_kernel(struct linked_kernels *kernels, const char *name)
{
	kernels->failed |= gt_hash_set_str(kernels->names, name, kernels) != 0;
}

/* What is no cubin has none. */
static void add_cubin_kernels(void *context, const struct gt_fatbin_payload *payload)
{
	struct linked_kernels *kernels = context;
	gt_auto_cubin cubin = {0};

	kernels->failed |= gt_cubin_read(payload->data, payload->size, &cubin, NULL) == -ENOMEM;
	for (size_t i = 0; i < cubin.count; i++)
		add_kernel(kernels, cubin.kernels[i].name);
}

static void add_module_kernels(struct linked_kernels *kernels, const struct gt_ptx_module *module)
{
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		if (function->is_entry && function->body)
			add_kernel(kernels, function->name);
}

int gt_patch_check_kernels(const struct gt_cubin *cubin, const struct gt_patch_image *image,
			   const struct gt_patch_objects *objects, uint32_t device,
			   struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	struct linked_kernels kernels = {.names = names};
	bool is_incomplete;

	if (!names)
		return gt_patch_fail_memory(diag);
	gt_vec_each (part, &image->parts)
		add_module_kernels(&kernels, part->module);
	if (visit_objects(objects, device, add_cubin_kernels, &kernels, &is_incomplete) ||
	    kernels.failed)
		return gt_patch_fail_memory(diag);
	for (size_t i = 0; i < cubin->count; i++)
		if (!gt_hash_get_str(names, cubin->kernels[i].name))
			return gt_diag(diag, -ENODATA, "patch", NULL,
				       "SASS only: the PTX of kernel %s is missing",
				       cubin->kernels[i].name);
	return 0;
}

int gt_patch_check_variables(const struct gt_patch_image *image,
			     const struct gt_patch_objects *objects, struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	const char *name = NULL;

	if (objects->cubins.count || objects->archive_count)
		return 0;
	if (add_all_definitions(image, names))
		return gt_patch_fail_memory(diag);
	gt_vec_each (part, &image->parts)
		name = name ? name : missing_variable(part->module, names);
	return name ? gt_diag(diag, -ENODATA, "patch", NULL,
			      "SASS only: the definition of variable %s is missing", name)
		    : 0;
}

/* ---- what concerns the modules ---------------------------------------------------------- */

/* What one object has. The device runtime's variables are tables that nothing writes. */
struct object_facts {
	struct gt_patch_code *code;
	bool has_variables, has_others; /* than the device runtime's */
	bool has_runtime_variables;     /* by their names */
	bool has_version;               /* of the device runtime: they are its own */
};

static bool starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

bool gt_patch_is_of_device_runtime(const char *name)
{
	return starts_with(name, "__nv_static_") && strstr(name, "_cuda_device_runtime_cu_");
}

/* The functions that libcudadevrt of CUDA 13.0 has for others. */
static bool is_runtime_function(const char *name)
{
	return starts_with(name, "__cuda") || starts_with(name, "cuda") ||
	       starts_with(name, "cnp") || gt_patch_is_of_device_runtime(name);
}

static bool is_runtime_variable(const char *name)
{
	return starts_with(name, "cudart") || starts_with(name, "__CNPRT_") ||
	       gt_patch_is_of_device_runtime(name);
}

static int see_function(struct gt_patch_code *code, const struct gt_cubin_symbol *symbol)
{
	uintptr_t kind = symbol->is_defined ? GT_PATCH_CODE_DEFINES : GT_PATCH_CODE_CALLS;

	if (symbol->is_local || (uintptr_t)gt_hash_get_str(code->functions, symbol->name) > kind)
		return 0;
	return gt_hash_set_str(code->functions, symbol->name, (void *)kind);
}

/* The size is hostile: no sum of them overflows. */
static void count_constant(struct gt_patch_code *code, const struct gt_cubin_symbol *symbol)
{
	const uint64_t max = UINT32_MAX;

	code->constant_bytes += symbol->constant_bytes < max ? symbol->constant_bytes : max;
}

/* Names that those that the patcher adds could be. */
static void see_name(struct gt_patch_code *code, const char *name)
{
	if (!strstr(name, "gputap"))
		return;
	gt_strbuf_puts(&code->names, name);
	gt_strbuf_putc(&code->names, '\n');
	code->failed |= code->names.failed;
}

static void see_variable(struct object_facts *facts, const struct gt_cubin_symbol *symbol)
{
	bool is_literal =
		symbol->is_local && symbol->is_defined && gt_patch_is_literal(symbol->name);
	bool is_runtime = symbol->is_defined && is_runtime_variable(symbol->name);

	facts->has_version |= is_runtime && !strcmp(symbol->name, "__CNPRT_VERSION_NUMBER__");
	facts->has_runtime_variables |= is_runtime;
	facts->has_variables |= !is_literal && !is_runtime;
	count_constant(facts->code, symbol);
}

static int see_symbol(void *context, const struct gt_cubin_symbol *symbol)
{
	struct object_facts *facts = context;
	struct gt_patch_code *code = facts->code;

	if (!symbol->name) {
		code->is_incomplete = true;
		return 0;
	}
	see_name(code, symbol->name);
	if (!symbol->is_function) {
		see_variable(facts, symbol);
		return 0;
	}
	/* Static functions are those of others that are seen. */
	facts->has_others |=
		symbol->is_defined && !symbol->is_local && !is_runtime_function(symbol->name);
	return see_function(code, symbol);
}

static void see_object(void *context, const struct gt_fatbin_payload *cubin)
{
	struct object_facts facts = {.code = context};
	int error = gt_cubin_each_symbol(cubin->data, cubin->size, see_symbol, &facts, NULL);

	facts.code->failed |= error == -ENOMEM;
	facts.code->is_incomplete |= error != 0;
	facts.code->has_variables |=
		facts.has_variables || (facts.has_runtime_variables && !facts.has_version);
	facts.code->has_others |= facts.has_others || facts.has_variables || !facts.has_version;
}

void gt_patch_code_clear(struct gt_patch_code *code)
{
	gt_hash_free(code->functions);
	gt_strbuf_free(&code->names);
	*code = (struct gt_patch_code){0};
}

int gt_patch_read_code(const struct gt_patch_objects *objects, uint32_t device,
		       struct gt_patch_code *ret_code, struct gt_diag *diag)
{
	bool is_incomplete;
	int error;

	*ret_code = (struct gt_patch_code){0};
	if (!objects->cubins.count && !objects->archive_count)
		return 0;
	ret_code->functions = gt_hash_new();
	if (!ret_code->functions)
		return gt_patch_fail_memory(diag);
	error = visit_objects(objects, device, see_object, ret_code, &is_incomplete);
	ret_code->is_incomplete |= is_incomplete;
	return error || ret_code->failed ? gt_patch_fail_memory(diag) : 0;
}
