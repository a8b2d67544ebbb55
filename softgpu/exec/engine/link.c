/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links parsed modules: resolves names, allocates and initialises variables, decodes functions. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"

/* A defined function. */
struct link_definition {
	struct sg_function *function;
	const struct gt_ptx_function *source;
	struct sg_unit *unit;
	bool is_weak;
};

/* A defined variable. */
struct link_storage {
	const struct gt_ptx_variable *source;
	struct sg_unit *unit;
	uint64_t offset; /* bytes into the module's memory, or the number of a shared variable */
	bool is_shared;
	bool is_managed;   /* in the memory that the program's modules share */
	bool is_reference; /* to a texture or surface; offset: its number among the module's */
	bool is_weak;
};

/* Memory for variables. */
struct link_segment {
	uint64_t size, alignment, address;
};

struct linker {
	struct sg_module *module;
	struct gt_diag *diag;
	struct sg_unit *units;
	size_t unit_count;
	GT_VEC(struct link_definition) definitions;
	GT_VEC(struct link_storage) storages;
	struct gt_hash *function_names; /* to index of definitions + 1 */
	struct gt_hash *sources;        /* the same, by struct gt_ptx_function */
	struct gt_hash *storage_names;  /* to index of storages + 1 */
	struct link_segment own, managed;
	struct sg_managed *shared; /* with other modules of the program; NULL: nothing is */
};

static void *as_value(size_t index)
{
	return (void *)(uintptr_t)(index + 1);
}

static size_t as_index(const void *value)
{
	return (size_t)(uintptr_t)value - 1;
}

/* ---- functions ------------------------------------------------------------------------- */

/* Reads the values of a directive with threads or blocks; missing ones are 1. */
static bool directive_values(const struct gt_ptx_function *source, enum gt_ptx_directive_id id,
			     uint32_t values[3])
{
	const struct gt_ptx_directive *directive = gt_ptx_function_directive(source, id);

	if (!directive)
		return false;
	/* Of several, ptxas takes the last one. */
	for (const struct gt_ptx_directive *next = directive; next; next = next->next)
		if (next->id == id)
			directive = next;
	for (uint32_t i = 0; i < 3; i++)
		values[i] = i < directive->value_count ? directive->values[i] : 1;
	return true;
}

static void read_directives(struct sg_function *function, const struct gt_ptx_function *source)
{
	uint32_t max[3] = {GT_MAX_BLOCK_THREADS, 1, 1};
	uint32_t registers[3] = {0};
	uint64_t threads;

	directive_values(source, GT_PTX_DIRECTIVE_MAXNREG, registers);
	function->register_limit = registers[0];
	directive_values(source, GT_PTX_DIRECTIVE_REQNCTAPERCLUSTER, function->required_cluster);
	if (directive_values(source, GT_PTX_DIRECTIVE_REQNTID, function->required_block))
		memcpy(max, function->required_block, sizeof(max));
	else
		directive_values(source, GT_PTX_DIRECTIVE_MAXNTID, max);
	threads = (uint64_t)max[0] * max[1];
	threads = threads > GT_MAX_BLOCK_THREADS ? GT_MAX_BLOCK_THREADS : threads * max[2];
	function->max_threads =
		threads > GT_MAX_BLOCK_THREADS ? GT_MAX_BLOCK_THREADS : (uint32_t)threads;
}

static struct sg_function *new_function(struct sg_module *module,
					const struct gt_ptx_function *source)
{
	struct sg_function *function = calloc(1, sizeof(*function));

	if (!function)
		return NULL;
	function->module = module;
	function->is_kernel = source->is_entry;
	function->is_weak = source->linkage == GT_PTX_LINKAGE_WEAK;
	function->is_global = source->is_entry || source->linkage != GT_PTX_LINKAGE_NONE;
	function->name = strdup(source->name);
	read_directives(function, source);
	if (!function->name) {
		sg_function_free(function);
		return NULL;
	}
	return function;
}

static int defined_twice(const struct linker *linker, const char *what, const char *name)
{
	return gt_diag(linker->diag, -EEXIST, "load", NULL, "%s '%s' is defined more than once",
		       what, name);
}

/* Adds a function with a body; of equal names a strong one wins, otherwise the first. */
static int define_function(struct linker *linker, struct sg_unit *unit,
			   const struct gt_ptx_function *source)
{
	struct link_definition definition = {
		.source = source, .unit = unit, .is_weak = source->linkage == GT_PTX_LINKAGE_WEAK};
	bool is_global = source->is_entry || source->linkage != GT_PTX_LINKAGE_NONE;
	void *known = is_global ? gt_hash_get_str(linker->function_names, source->name) : NULL;
	struct link_definition *other = known ? &linker->definitions.items[as_index(known)] : NULL;

	if (other && !other->is_weak && !definition.is_weak)
		return defined_twice(linker, source->is_entry ? "kernel" : "function",
				     source->name);
	if (other && definition.is_weak)
		return 0;
	definition.function = new_function(linker->module, source);
	if (!definition.function)
		return -ENOMEM;
	if (other) {
		sg_function_free(other->function);
		*other = definition;
		return 0;
	}
	if (gt_vec_push(&linker->definitions, definition)) {
		sg_function_free(definition.function);
		return -ENOMEM;
	}
	if (gt_hash_set_u64(linker->sources, (uintptr_t)source,
			    as_value(linker->definitions.count - 1)))
		return -ENOMEM;
	return is_global ? gt_hash_set_str(linker->function_names, source->name,
					   as_value(linker->definitions.count - 1))
			 : 0;
}

static int define_functions(struct linker *linker)
{
	int error = 0;

	for (size_t u = 0; u < linker->unit_count && !error; u++) {
		struct sg_unit *unit = &linker->units[u];
		const struct gt_ptx_function *source = unit->parsed->functions;

		for (; source && !error; source = source->next)
			if (source->body)
				error = define_function(linker, unit, source);
	}
	return error;
}

/* The function with the body of a declaration. */
static const struct gt_ptx_function *body_of(const struct gt_ptx_function *source)
{
	return source->definition ? source->definition : source;
}

/* Whether only its own unit can name a function. Kernels have names for the host. */
static bool is_static(const struct gt_ptx_function *body)
{
	return body->body && !body->is_entry && body->linkage == GT_PTX_LINKAGE_NONE;
}

/* Returns the function that a declaration of a unit refers to, or NULL. */
static struct sg_function *resolve_function(const struct linker *linker,
					    const struct gt_ptx_function *source)
{
	const struct gt_ptx_function *body = body_of(source);
	void *known = is_static(body) ? gt_hash_get_u64(linker->sources, (uintptr_t)body)
				      : gt_hash_get_str(linker->function_names, body->name);

	return known ? linker->definitions.items[as_index(known)].function : NULL;
}

/* Gives a function another name, by which the other units find it. */
static int define_alias(struct linker *linker, const struct gt_ptx_alias *alias)
{
	const struct gt_ptx_function *target = body_of(alias->target);
	const char *name = alias->alias->name;
	void *known = gt_hash_get_str(linker->function_names, name);
	void *found = gt_hash_get_str(linker->function_names, target->name);

	if (!found || is_static(target) || alias->alias->linkage == GT_PTX_LINKAGE_NONE ||
	    (known && alias->alias->linkage == GT_PTX_LINKAGE_WEAK))
		return 0;
	if (known && !linker->definitions.items[as_index(known)].is_weak)
		return defined_twice(linker, "function", name);
	return gt_hash_set_str(linker->function_names, name, found);
}

static int define_aliases(struct linker *linker)
{
	int error = 0;

	for (size_t u = 0; u < linker->unit_count; u++)
		for (const struct gt_ptx_item *item = linker->units[u].parsed->items;
		     item && !error; item = item->next)
			if (item->kind == GT_PTX_ITEM_ALIAS)
				error = define_alias(linker, item->alias);
	return error;
}

/* Numbers the functions, kernels last, and resolves the names of every unit. */
static int number_functions(struct linker *linker)
{
	struct sg_module *module = linker->module;

	for (int kernels = 0; kernels < 2; kernels++) {
		for (size_t i = 0; i < linker->definitions.count; i++) {
			struct sg_function *function = linker->definitions.items[i].function;

			if (function->is_kernel != kernels)
				continue;
			function->number = (uint32_t)module->functions.count;
			if (gt_vec_push(&module->functions, function))
				return -ENOMEM;
		}
		if (!kernels)
			module->first_kernel = module->functions.count;
	}
	module->first_address_number =
		__atomic_fetch_add(&module->machine->next_address_number,
				   (uint32_t)module->functions.count, __ATOMIC_RELAXED);
	for (size_t i = 0; i < module->functions.count; i++) {
		struct sg_function *function = module->functions.items[i];

		function->address_number = module->first_address_number + function->number;
		if (function->is_kernel &&
		    gt_hash_set_str(module->kernel_names, function->name, function))
			return -ENOMEM;
	}
	for (size_t u = 0; u < linker->unit_count; u++) {
		struct sg_unit *unit = &linker->units[u];
		const struct gt_ptx_function *source = unit->parsed->functions;

		for (; source; source = source->next)
			unit->functions[source->number] = resolve_function(linker, source);
	}
	return 0;
}

/* ---- variables ------------------------------------------------------------------------- */

static bool has_memory(const struct gt_ptx_variable *variable)
{
	return variable->space == GT_PTX_SPACE_GLOBAL || variable->space == GT_PTX_SPACE_CONST;
}

/*
 * The alignment of a variable. Programs read arrays as vectors larger than their elements, which
 * works on hardware.
 */
static uint32_t aligned_for(const struct gt_ptx_variable *variable)
{
	uint32_t alignment = gt_ptx_variable_alignment(variable);

	return alignment < 16 && gt_ptx_variable_size(variable) >= 16 ? 16 : alignment;
}

static int define_memory(struct linker *linker, struct link_storage *storage)
{
	uint64_t alignment = aligned_for(storage->source);
	struct link_segment *segment = &linker->own;

	storage->is_managed = linker->shared && storage->source->is_managed;
	if (storage->is_managed)
		segment = &linker->managed;
	segment->alignment = alignment > segment->alignment ? alignment : segment->alignment;
	storage->offset = (segment->size + alignment - 1) & ~(alignment - 1);
	segment->size = storage->offset + gt_ptx_variable_size(storage->source);
	if (segment->size > 1ull << 40)
		return gt_diag(linker->diag, -E2BIG, "load", NULL,
			       "the module's variables are too big");
	return 0;
}

static int define_shared(struct linker *linker, struct link_storage *storage)
{
	struct sg_shared_variable shared = {.size = gt_ptx_variable_size(storage->source),
					    .alignment = aligned_for(storage->source)};

	storage->is_shared = true;
	storage->offset = linker->module->shared.count;
	return gt_vec_push(&linker->module->shared, shared);
}

static bool is_reference(const struct gt_ptx_variable *variable)
{
	return gt_ptx_type_info(variable->type)->class == GT_PTX_CLASS_OPAQUE;
}

/* Gives a .texref or .surfref a handle, to which the host assigns an image. */
static int define_reference(struct linker *linker, struct link_storage *storage)
{
	struct sg_module *module = linker->module;
	struct sg_texture texture = {.is_surface = storage->source->type == GT_PTX_TYPE_SURFREF};
	struct sg_reference reference = {.is_surface = texture.is_surface};
	int error;

	if (storage->source->type == GT_PTX_TYPE_SAMPLERREF)
		return gt_diag(linker->diag, -EINVAL, "load", NULL,
			       "line %u: samplers ('%s') are not supported by the software device "
			       "(.texmode_independent)",
			       storage->source->position.line, storage->source->name);
	storage->is_reference = true;
	storage->offset = module->references.count;
	reference.name = strdup(storage->source->name);
	error = reference.name ? sg_texture_add(module->machine, &texture, &reference.handle)
			       : -ENOMEM;
	if (!error && gt_vec_push(&module->references, reference)) {
		sg_texture_remove(module->machine, reference.handle);
		error = -ENOMEM;
	}
	if (error)
		free(reference.name);
	return error;
}

/* Whether a declaration refers to a variable that is defined elsewhere. */
static bool is_external(const struct gt_ptx_variable *variable)
{
	if (variable->linkage != GT_PTX_LINKAGE_EXTERN)
		return false;
	/* extern .shared x[]: the launch's dynamic shared memory. */
	return variable->space != GT_PTX_SPACE_SHARED || gt_ptx_variable_size(variable);
}

static int define_variable(struct linker *linker, struct sg_unit *unit,
			   const struct gt_ptx_variable *source)
{
	struct link_storage storage = {.source = source,
				       .unit = unit,
				       .is_weak = source->linkage == GT_PTX_LINKAGE_WEAK ||
						  source->linkage == GT_PTX_LINKAGE_COMMON};
	bool is_global = !source->function && source->linkage != GT_PTX_LINKAGE_NONE &&
			 source->linkage != GT_PTX_LINKAGE_EXTERN;
	void *known = is_global ? gt_hash_get_str(linker->storage_names, source->name) : NULL;
	struct link_storage *other = known ? &linker->storages.items[as_index(known)] : NULL;
	int error;

	unit->locations[source->number] = SG_UNRESOLVED;
	if (is_external(source))
		return 0;
	if (other && !other->is_weak && !storage.is_weak)
		return defined_twice(linker, "variable", source->name);
	if (other && (storage.is_weak || other->is_shared))
		return 0;
	error = is_reference(source) ? define_reference(linker, &storage)
		: has_memory(source) ? define_memory(linker, &storage)
				     : define_shared(linker, &storage);
	if (error)
		return error;
	if (other) {
		*other = storage;
		return 0;
	}
	error = gt_vec_push(&linker->storages, storage);
	if (!error && is_global)
		error = gt_hash_set_str(linker->storage_names, source->name,
					as_value(linker->storages.count - 1));
	return error;
}

static int define_list(struct linker *linker, struct sg_unit *unit,
		       const struct gt_ptx_variable *list)
{
	int error = 0;

	for (; list && !error; list = list->next)
		if (has_memory(list) || list->space == GT_PTX_SPACE_SHARED)
			error = define_variable(linker, unit, list);
	return error;
}

static int define_inner(struct linker *linker, struct sg_unit *unit,
			const struct gt_ptx_function *function)
{
	const struct gt_ptx_statement *statement = function->body ? function->body->first : NULL;
	int error = 0;

	for (; statement && !error; statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_VARIABLES)
			error = define_list(linker, unit, statement->variables);
	return error;
}

static int define_variables(struct linker *linker)
{
	int error = 0;

	for (size_t u = 0; u < linker->unit_count && !error; u++) {
		struct sg_unit *unit = &linker->units[u];
		const struct gt_ptx_item *item = unit->parsed->items;

		for (; item && !error; item = item->next) {
			if (item->kind == GT_PTX_ITEM_VARIABLES)
				error = define_list(linker, unit, item->variables);
			else if (item->kind == GT_PTX_ITEM_FUNCTION)
				error = define_inner(linker, unit, item->function);
		}
	}
	return error;
}

static int allocate_segment(struct linker *linker, struct link_segment *segment,
			    int (*allocate)(void *user, uint64_t size, uint64_t alignment,
					    uint64_t *ret_address))
{
	int error = -ENOMEM;

	if (!segment->size)
		return 0;
	if (!allocate)
		return gt_diag(linker->diag, error, "load", NULL,
			       "no device memory for the module's variables");
	error = allocate(linker->module->machine->host.user, segment->size,
			 segment->alignment > SG_GRANULE ? segment->alignment : SG_GRANULE,
			 &segment->address);
	if (error)
		return gt_diag(linker->diag, error, "load", NULL,
			       "no device memory for the module's variables (%llu bytes)",
			       (unsigned long long)segment->size);
	memset((void *)(uintptr_t)segment->address, 0, segment->size);
	return 0;
}

static int allocate_variables(struct linker *linker)
{
	struct sg_module *module = linker->module;
	const struct sg_host *host = &module->machine->host;
	int error = allocate_segment(linker, &linker->own, host->allocate);

	if (error)
		return error;
	module->memory_address = linker->own.address;
	module->memory_size = linker->own.size;
	if (!linker->shared || !linker->shared->size)
		return allocate_segment(linker, &linker->managed, host->allocate_managed);
	linker->managed.address = linker->shared->address;
	return 0;
}

/* Managed memory that this module was the first to need: kept if the module is complete. */
static void keep_managed(struct linker *linker, int error)
{
	const struct sg_host *host = &linker->module->machine->host;
	struct link_segment *managed = &linker->managed;

	if (!linker->shared || linker->shared->size || !managed->address)
		return;
	if (!error)
		*linker->shared = (struct sg_managed){managed->address, managed->size};
	else if (host->release)
		host->release(host->user, managed->address, managed->size);
}

static uint64_t location_of(const struct linker *linker, const struct link_storage *storage)
{
	if (storage->is_reference)
		return linker->module->references.items[storage->offset].handle;
	if (storage->is_shared)
		return storage->offset;
	return storage->offset +
	       (storage->is_managed ? linker->managed.address : linker->own.address);
}

static int list_variable(struct linker *linker, const struct link_storage *storage)
{
	const struct gt_ptx_variable *source = storage->source;
	struct sg_module *module = linker->module;
	struct sg_module_variable_entry entry = {.address = location_of(linker, storage),
						 .size = gt_ptx_variable_size(source),
						 .is_const = source->space == GT_PTX_SPACE_CONST,
						 .is_managed = source->is_managed};

	if (entry.is_const)
		module->const_size += (uint32_t)entry.size;
	entry.name = strdup(source->name);
	if (!entry.name || gt_vec_push(&module->variables, entry)) {
		free(entry.name);
		return -ENOMEM;
	}
	if (source->function)
		return 0;
	return gt_hash_set_str(module->variable_names, source->name,
			       as_value(module->variables.count - 1));
}

/* Sets the locations of every unit's variables. */
static int resolve_variables(struct linker *linker)
{
	for (size_t i = 0; i < linker->storages.count; i++) {
		const struct link_storage *storage = &linker->storages.items[i];

		storage->unit->locations[storage->source->number] = location_of(linker, storage);
		if (!storage->is_shared && !storage->is_reference && list_variable(linker, storage))
			return -ENOMEM;
	}
	for (size_t u = 0; u < linker->unit_count; u++) {
		struct sg_unit *unit = &linker->units[u];
		const struct gt_ptx_item *item = unit->parsed->items;

		for (; item; item = item->next) {
			const struct gt_ptx_variable *list =
				item->kind == GT_PTX_ITEM_VARIABLES ? item->variables : NULL;

			for (; list; list = list->next) {
				uint64_t *offset = &unit->locations[list->number];
				void *known = NULL;

				if (*offset != SG_UNRESOLVED)
					continue;
				if (list->definition)
					*offset = unit->locations[list->definition->number];
				if (*offset == SG_UNRESOLVED)
					known = gt_hash_get_str(linker->storage_names, list->name);
				if (known)
					*offset = location_of(
						linker, &linker->storages.items[as_index(known)]);
			}
		}
	}
	return 0;
}

/* ---- initial values -------------------------------------------------------------------- */

struct initializer {
	struct linker *linker;
	const struct link_storage *storage;
	char *memory;
};

static int write_value(void *context, uint64_t offset, enum gt_ptx_type type,
		       const struct gt_ptx_initializer *value)
{
	struct initializer *work = context;
	struct linker *linker = work->linker;
	uint64_t bits = value->bits, size = gt_ptx_type_info(type)->bits / 8;

	if (value->kind == GT_PTX_INITIALIZER_FLOAT64 &&
	    (type == GT_PTX_TYPE_F32 || type == GT_PTX_TYPE_B32)) {
		double wide;
		float narrow;
		uint32_t word;

		memcpy(&wide, &bits, sizeof(wide));
		narrow = (float)wide;
		memcpy(&word, &narrow, sizeof(word));
		bits = word;
	}
	if (value->kind == GT_PTX_INITIALIZER_ADDRESS) {
		const struct gt_ptx_address *address = value->address;
		struct sg_unit *unit = work->storage->unit;

		if (address->function) {
			struct sg_function *function = unit->functions[address->function->number];

			if (!function)
				return gt_diag(linker->diag, -ENOENT, "load", NULL,
					       "function '%s', the value of variable '%s', is "
					       "not defined",
					       address->function->name,
					       work->storage->source->name);
			function->is_address_taken = true;
			bits = linker->module->machine->windows.code +
			       (uint64_t)function->address_number * SG_CODE_STRIDE;
		} else {
			bits = unit->locations[address->variable->number];
			if (bits == SG_UNRESOLVED)
				return gt_diag(linker->diag, -ENOENT, "load", NULL,
					       "variable '%s', the value of variable '%s', is "
					       "not defined",
					       address->variable->name,
					       work->storage->source->name);
		}
		bits += (uint64_t)address->offset;
		if (address->mask)
			bits = (bits & address->mask) >> __builtin_ctzll(address->mask);
	}
	memcpy(work->memory + offset, &bits, size < 8 ? size : 8);
	return 0;
}

static int initialize_variables(struct linker *linker)
{
	int error = 0;

	for (size_t i = 0; i < linker->storages.count && !error; i++) {
		const struct link_storage *storage = &linker->storages.items[i];
		bool is_initialized = storage->is_managed && linker->shared->size;
		struct initializer work = {.linker = linker,
					   .storage = storage,
					   .memory =
						   (char *)(uintptr_t)location_of(linker, storage)};

		if (!storage->is_shared && !storage->is_reference && !is_initialized &&
		    storage->source->initializer)
			error = gt_ptx_variable_walk(storage->source, write_value, &work);
	}
	return error;
}

/* ---- linking --------------------------------------------------------------------------- */

static int open_units(struct linker *linker, const struct gt_ptx_module *const *parsed)
{
	for (size_t i = 0; i < linker->unit_count; i++) {
		struct sg_unit *unit = &linker->units[i];

		if (parsed[i]->address_size == 32)
			return gt_diag(linker->diag, -EINVAL, "load", NULL,
				       "addresses of 32 bits are not supported by the software "
				       "device (.address_size 32)");
		unit->parsed = parsed[i];
		unit->locations = calloc(parsed[i]->variable_count + 1, sizeof(uint64_t));
		unit->functions =
			calloc(parsed[i]->function_count + 1, sizeof(struct sg_function *));
		if (!unit->locations || !unit->functions)
			return -ENOMEM;
		linker->module->ptx_version =
			parsed[i]->version_major * 10 + parsed[i]->version_minor;
		linker->module->target = parsed[i]->sm;
	}
	return 0;
}

static int decode_functions(struct linker *linker)
{
	int error = 0;

	for (size_t i = 0; i < linker->definitions.count && !error; i++) {
		struct link_definition *definition = &linker->definitions.items[i];

		error = sg_decode_function(linker->module, definition->unit, definition->source,
					   definition->function, linker->diag);
	}
	return error;
}

static int link_units(struct linker *linker, const struct gt_ptx_module *const *parsed)
{
	int error = open_units(linker, parsed);

	if (!error)
		error = define_functions(linker);
	if (!error)
		error = define_aliases(linker);
	if (!error)
		error = number_functions(linker);
	if (!error)
		error = define_variables(linker);
	if (!error)
		error = allocate_variables(linker);
	if (!error)
		error = resolve_variables(linker);
	if (!error)
		error = decode_functions(linker);
	if (!error)
		error = initialize_variables(linker);
	return error ? error : sg_module_find_calls(linker->module, linker->diag);
}

static void close_linker(struct linker *linker)
{
	/* Functions that are not in the module yet. */
	if (!linker->module->functions.count)
		gt_vec_each (definition, &linker->definitions)
			sg_function_free(definition->function);
	for (size_t i = 0; linker->units && i < linker->unit_count; i++) {
		free(linker->units[i].locations);
		free(linker->units[i].functions);
	}
	free(linker->units);
	gt_vec_free(&linker->definitions);
	gt_vec_free(&linker->storages);
	gt_hash_free(linker->function_names);
	gt_hash_free(linker->storage_names);
	gt_hash_free(linker->sources);
}

int sg_module_link(struct sg_module *module, const struct gt_ptx_module *const *parsed,
		   size_t count, struct sg_managed *managed, struct gt_diag *diag)
{
	struct linker linker = {
		.module = module, .diag = diag, .unit_count = count, .shared = managed};
	int error = -ENOMEM;

	linker.units = calloc(count + 1, sizeof(*linker.units));
	linker.function_names = gt_hash_new();
	linker.storage_names = gt_hash_new();
	linker.sources = gt_hash_new();
	if (linker.units && linker.function_names && linker.storage_names && linker.sources)
		error = link_units(&linker, parsed);
	keep_managed(&linker, error);
	close_linker(&linker);
	return error;
}
