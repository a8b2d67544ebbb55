/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An image of a process: from the file in its request to the reply. */
#include "api/kernels/parameters.h"
#include "run/inject_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/message.h"
#include "base/file.h"
#include "base/file_limit.h"
#include "elf/demangle.h"
#include "opencl/opencl.h"
#include "run/inject_names.h"
#include "spirv/module.h"

void gt_inject_bytes_clear(struct gt_inject_bytes *bytes)
{
	if (bytes->is_mapped)
		munmap(bytes->data, bytes->size);
	else
		free(bytes->data);
	*bytes = (struct gt_inject_bytes){0};
}
#define auto_image_bytes __attribute__((cleanup(gt_inject_bytes_clear))) struct gt_inject_bytes

static bool map_image(int fd, struct gt_inject_bytes *bytes)
{
	void *data = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	if (data == MAP_FAILED)
		return false;
	bytes->data = data;
	bytes->is_mapped = true;
	return true;
}

static bool copy_image(int fd, struct gt_inject_bytes *bytes)
{
	uint8_t *data = malloc(bytes->size);
	size_t copied = 0;

	bytes->data = data;
	while (data && copied < bytes->size) {
		ssize_t got = pread(fd, data + copied, bytes->size - copied, (off_t)copied);

		if (got <= 0)
			return false;
		copied += (size_t)got;
	}
	return data;
}

bool gt_inject_bytes_read(int fd, uint64_t size, struct gt_inject_bytes *bytes)
{
	const int fixed = F_SEAL_WRITE | F_SEAL_SHRINK;
	/* Files of other kinds may have a process behind them, which need not answer (FUSE). */
	int seals = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;
	struct stat status;

	if (seals < 0 || !size || size > GT_AGENT_MAX_IMAGE || fstat(fd, &status) ||
	    !S_ISREG(status.st_mode) || (uint64_t)status.st_size < size)
		return false;
	bytes->size = size;
	return (seals & fixed) == fixed ? map_image(fd, bytes) : copy_image(fd, bytes);
}

static void set_reason(struct gt_inject_connection *connection, const char *reason)
{
	snprintf(connection->reason, sizeof(connection->reason), "%s", reason);
	connection->module.reason = connection->reason;
}

/* ---- OpenCL programs ------------------------------------------------------------------- */

static bool is_program(const struct gt_inject_job *job)
{
	return job->request.operation == GT_AGENT_PROGRAM;
}

/* The programs that run once per warp where they see one work-item at a time. */
static uint64_t count_by_work_item(const struct gt_inject *inject, const struct gt_patch_site *site)
{
	uint64_t count = 0;

	for (uint32_t i = 0; site->opcode && i < inject->options.program_count; i++)
		count += site->programs >> i & 1 &&
			 inject->options.programs[i].section.level == GT_LEVEL_WARP;
	return count;
}

/* Its kernels, after it was parsed, whether any of them matches or not. */
static void see_program_names(struct gt_inject *inject, const struct gt_spirv_module *module)
{
	gt_vec_each (entry, &module->entries) {
		gt_auto_strbuf demangled = GT_STRBUF_INIT;

		gt_demangle(entry->name, &demangled);
		gt_inject_names_see(inject->names, entry->name, gt_strbuf_string(&demangled), true);
	}
}

/* Keep the sites of a program. */
static void put_program_sites(struct gt_inject *inject, const struct gt_patch_result *result)
{
	gt_vec_each (site, &result->sites) {
		const struct gt_inject_site kept = {
			.function = site->function,
			.is_kernel = true,
			.kinds = site->kinds,
			.line = site->line,
			.text = site->opcode ? site->opcode : "",
		};

		gt_inject_sites_put(inject->sites, &kept);
		if (result->by_work_item)
			inject->coverage.by_work_item += count_by_work_item(inject, site);
	}
}

/* ---- the numbers of kernels and sites -------------------------------------------------- */

/* The kernels of the image with what they use, where that is asked for; else NULL. */
static struct gt_parameters *read_usages(const struct gt_inject_job *job)
{
	struct gt_parameters *usages =
		job->inject->options.reads_registers ? gt_parameters_new() : NULL;

	/* Kernels that cannot be read have no registers here. */
	if (usages)
		gt_parameters_add_image(usages, job->bytes.data, job->bytes.size, NULL, NULL);
	return usages;
}

static uint32_t find_registers(const struct gt_parameters *usages, const char *name,
			       uint32_t capability)
{
	const struct gt_kernel *kernel = usages ? gt_parameters_find(usages, name) : NULL;
	struct gt_kernel_usage usage;

	if (!kernel || !capability)
		return 0;
	usage = gt_kernel_usage_on(kernel, capability);
	return usage.registers == GT_KERNEL_UNKNOWN ? 0 : usage.registers;
}

/* A name that finds no memory is "?": numbers stay as they are. */
static void keep_kernel(struct gt_inject *inject, const char *name,
			const struct gt_parameters *usages, uint32_t capability)
{
	struct gt_inject_kernel kernel = {.capability = capability};

	if (inject->kernels.count == GT_INJECT_MAX_KERNELS)
		return;
	kernel.name = strdup(name);
	kernel.registers = find_registers(usages, name, capability);
	if (gt_vec_push(&inject->kernels, kernel))
		free(kernel.name);
}

static void number_patched(const struct gt_inject_job *job)
{
	const struct gt_inject_query *query = &job->query;
	const struct gt_patch_image *image = &job->image;
	const struct gt_patch_result *result = &image->result;
	struct gt_inject *inject = query->inject;
	gt_auto(parameters) struct gt_parameters *usages = NULL;

	if (query->known)
		return;
	inject->next_site += (uint32_t)result->sites.count;
	inject->next_kernel += (uint32_t)result->kernels.count;
	if (image->module)
		gt_inject_sites_add(inject->sites, image->module, result);
	gt_vec_each (part, &image->parts)
		gt_inject_sites_add(inject->sites, part->module, &part->result);
	if (image->spirv)
		put_program_sites(inject, result);
	usages = read_usages(job);
	gt_vec_each (kernel, &result->kernels)
		keep_kernel(inject, kernel->name, usages, query->capability);
}

static void number_stored(const struct gt_inject_job *job)
{
	const struct gt_inject_query *query = &job->query;
	const struct gt_inject_stored *stored = &query->stored;
	struct gt_inject *inject = query->inject;
	gt_auto(parameters) struct gt_parameters *usages = NULL;

	if (query->known)
		return;
	inject->next_site += stored->record.site_count;
	inject->next_kernel += stored->record.kernel_count;
	gt_vec_each (site, &stored->sites)
		gt_inject_sites_put(inject->sites, site);
	usages = read_usages(job);
	gt_vec_each (name, &stored->kernels)
		keep_kernel(inject, *name, usages, query->capability);
}

/* ---- records --------------------------------------------------------------------------- */

/* The sites and kernels of each program. */
static void count_programs(const struct gt_patch_result *result, uint32_t programs,
			   struct gt_inject_record *record)
{
	for (uint32_t i = 0; i < programs; i++) {
		gt_vec_each (site, &result->sites)
			record->sites[i] += site->programs >> i & 1;
		gt_vec_each (kernel, &result->kernels)
			record->kernels[i] += kernel->programs >> i & 1;
	}
}

static void put_device_symbol(const struct gt_patch_result *result, char symbol[GT_AGENT_SYMBOL])
{
	if (result->reads_device)
		snprintf(symbol, GT_AGENT_SYMBOL, "%sdevice", result->prefix);
}

static void make_record(const struct gt_inject_query *query, const struct gt_patch_result *result,
			struct gt_inject_record *record)
{
	*record = (struct gt_inject_record){
		.scope = result->scope,
		.first_site = query->first_site,
		.site_count = (uint32_t)result->sites.count,
		.first_kernel = query->first_kernel,
		.kernel_count = (uint32_t)result->kernels.count,
		.module_kernels = result->module_kernels,
		.compiled = result->compiled,
		.found = result->found,
		.patched = result->patched,
		.rejected = result->rejected,
		.rejection_count = (uint32_t)result->rejections.count,
	};
	count_programs(result, query->inject->options.program_count, record);
	put_device_symbol(result, record->device_symbol);
	if (result->whole_reason)
		snprintf(record->whole_reason, sizeof(record->whole_reason), "%s",
			 result->whole_reason);
}

/* What counts the modules that are loaded as they are because of an error. */
static uint32_t *count_of_failures(struct gt_inject_coverage *coverage, int error)
{
	switch (error) {
	case -ENODATA:
		return &coverage->modules_sass;
	case -ENOENT:
		return &coverage->modules_source;
	case -ENOEXEC:
		return &coverage->modules_binary;
	default:
		return &coverage->modules_failed;
	}
}

static void count_failure(struct gt_inject *inject, struct gt_inject_connection *connection,
			  int error, const char *reason)
{
	(*count_of_failures(&inject->coverage, error))++;
	set_reason(connection, reason);
	gt_inject_reason_add(inject, GT_INJECT_MODULE, reason, NULL, 0, 1);
}

static void count_rejections(struct gt_inject *inject, struct gt_inject_connection *connection,
			     const struct gt_patch_rejection *rejections, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		gt_inject_reason_add(inject, rejections[i].program, rejections[i].reason,
				     rejections[i].function, rejections[i].sites, 0);
	if (count)
		set_reason(connection, rejections[0].reason);
}

static void count_record(struct gt_inject *inject, struct gt_inject_connection *connection,
			 const struct gt_inject_record *record,
			 const struct gt_patch_rejection *rejections)
{
	struct gt_inject_module *module = &connection->module;

	module->scope = record->scope;
	module->whole_reason = connection->whole_reason;
	memcpy(connection->whole_reason, record->whole_reason, sizeof(record->whole_reason));
	connection->first_kernel = record->first_kernel;
	module->kernels = record->kernel_count;
	module->module_kernels = record->module_kernels;
	module->compiled = record->compiled;
	module->found = record->found;
	module->patched = record->patched;
	module->rejected = record->rejected;
	memcpy(connection->sites, record->sites, sizeof(connection->sites));
	memcpy(connection->kernels, record->kernels, sizeof(connection->kernels));
	count_rejections(inject, connection, rejections, record->rejection_count);
}

/* Keep what was patched for later runs. */
static void store_patched(const struct gt_inject_query *query, const struct gt_patch_image *image,
			  const struct gt_inject_record *record)
{
	struct gt_inject_stored stored = {
		.record = *record,
		.fatbin = image->fatbin.data,
		.fatbin_size = image->fatbin.length,
	};
	struct gt_inject_site site;
	int error = 0;

	gt_vec_each (kernel, &image->result.kernels)
		error |= gt_vec_push(&stored.kernels, kernel->name);
	gt_vec_each (rejection, &image->result.rejections)
		error |= gt_vec_push(&stored.rejections, *rejection);
	for (uint32_t i = 0; i < record->site_count && !error; i++) {
		if (!gt_inject_site(query->inject, record->first_site + i, &site))
			break;
		error = gt_vec_push(&stored.sites, site);
	}
	if (!error)
		gt_inject_reuse_store(query, &stored);
	gt_inject_stored_clear(&stored);
}

/* ---- replies --------------------------------------------------------------------------- */

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/*
 * Sort the names of the kernels that programs match, and print each once: static kernels of several
 * modules may have one name. *count becomes that of the names.
 */
static int put_names(const char **names, uint32_t *count, struct gt_strbuf *text)
{
	const uint32_t all = *count;

	if (all)
		qsort(names, all, sizeof(*names), compare_names);
	*count = 0;
	for (uint32_t i = 0; i < all; i++) {
		if (i && !strcmp(names[i - 1], names[i]))
			continue;
		gt_strbuf_add(text, names[i], strlen(names[i]) + 1);
		++*count;
	}
	if (text->failed)
		return -ENOMEM;
	return text->length > GT_AGENT_MAX_NAMES ? -E2BIG : 0;
}

/*
 * A file with a patched fatbin, or inputs of a link, and the names of its kernels that programs
 * match, which nobody can change, or -1. The names are sorted.
 */
static int make_reply_file(const void *content, size_t size, enum gt_patch_scope scope,
			   const char **names, uint32_t count, struct gt_agent_reply *reply)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int fd = -1;

	if (put_names(names, &count, &text))
		return -1;
	if (gt_may_write(size + text.length))
		fd = memfd_create("gputap-patched", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || gt_write_all(fd, content, size) || gt_write_all(fd, text.data, text.length) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		gt_cleanup_close(&fd);
		return -1;
	}
	reply->verdict = scope == GT_PATCH_SIDE ? GT_AGENT_SIDE : GT_AGENT_WHOLE;
	reply->size = size;
	reply->kernels = count;
	reply->names_size = (uint32_t)text.length;
	reply->flags |= scope == GT_PATCH_NONE ? GT_AGENT_UNPATCHED : 0;
	return fd;
}

static int make_patched_file(const struct gt_patch_image *image, struct gt_agent_reply *reply)
{
	const struct gt_patch_result *result = &image->result;
	const struct gt_strbuf *content = image->fatbin.length ? &image->fatbin : &image->inputs;
	uint32_t count = (uint32_t)result->kernels.count;
	gt_autofree const char **names = calloc(count + 1, sizeof(*names));

	for (uint32_t i = 0; names && i < count; i++)
		names[i] = result->kernels.items[i].name;
	if (content == &image->inputs)
		reply->flags |= GT_AGENT_LINKED;
	put_device_symbol(result, reply->device_symbol);
	return names ? make_reply_file(content->data, content->length, result->scope, names, count,
				       reply)
		     : -1;
}

/* The file of a stored image; its names are no longer in the order of their numbers. */
static int make_stored_file(struct gt_inject_stored *stored, struct gt_agent_reply *reply)
{
	memcpy(reply->device_symbol, stored->record.device_symbol, sizeof(reply->device_symbol));
	return make_reply_file(stored->fatbin, stored->fatbin_size, stored->record.scope,
			       stored->kernels.items, stored->kernels.count, reply);
}

/* The process loads the original although there is a patched image. */
void gt_inject_image_reject(struct gt_inject *inject, struct gt_inject_connection *connection,
			    const char *reason)
{
	struct gt_inject_module *module = &connection->module;

	if (!module->patched)
		return;
	inject->coverage.modules_failed++;
	gt_inject_reason_add(inject, GT_INJECT_MODULE, reason, NULL, module->patched, 1);
	module->rejected += module->patched;
	module->patched = 0;
	module->scope = GT_PATCH_NONE;
	set_reason(connection, reason);
}

static void describe_opencl(int code, char *reason, size_t size)
{
	const char *name = gt_cl_error_name(code);

	if (name)
		snprintf(reason, size, "the OpenCL library rejected the patched program (%s)",
			 name);
	else
		snprintf(reason, size, "the OpenCL library rejected the patched program (%d)",
			 code);
}

enum {
	MIN_LEVEL_ZERO_ERROR = 0x70000000, /* of ze_result_t; those of CUDA are less */
};

static const struct agent_reason {
	enum gt_agent_error error;
	const char *text;
} agent_reasons[] = {
	{GT_AGENT_NO_MEMORY, "the process has no memory for the patched module"},
	{GT_AGENT_NO_MAPS, "the GPU cannot access the memory of the maps"},
	{GT_AGENT_NO_ORIGINAL, "the driver rejected the original module"},
	{GT_AGENT_MAPS_ON_GPU,
	 "the maps are in memory of the GPU since the process executes patched "
	 "CUDA kernels: use --host-maps"},
	{GT_AGENT_COPIED_ELSEWHERE,
	 "the maps are copied to the devices of another OpenCL context of the process"},
	{GT_AGENT_DEVICES_DIFFER,
	 "the library is for GPUs of several compute capabilities, the patched one would be for "
	 "one of them"},
	{GT_AGENT_NO_NUMBER, "the number of the GPU could not be written to the patched module"},
	{GT_AGENT_SMALLER_BLOCKS,
	 "the blocks of a patched kernel would have fewer threads than those of the original"},
	{GT_AGENT_BAD_REPLY, "the agent of the process rejected the answer of gputap"},
};

/* Why a process loaded the original although it received a patched image. */
static void describe_error(int error, char *reason, size_t size)
{
	for (size_t i = 0; i < gt_countof(agent_reasons); i++)
		if (error == agent_reasons[i].error) {
			snprintf(reason, size, "%s", agent_reasons[i].text);
			return;
		}
	if (error <= GT_AGENT_OPENCL && error > 2 * GT_AGENT_OPENCL)
		describe_opencl(error - GT_AGENT_OPENCL, reason, size);
	else if (error >= MIN_LEVEL_ZERO_ERROR)
		snprintf(reason, size, "the Level Zero driver rejected the patched module (0x%x)",
			 (unsigned)error);
	else
		snprintf(reason, size, "the driver rejected the patched module (%d)", error);
}

/* Whether the driver rejects the same text each time. */
static bool is_lasting(int error)
{
	static const int lasting[] = {
		200, /* CUDA_ERROR_INVALID_IMAGE */
		209, /* CUDA_ERROR_NO_BINARY_FOR_GPU */
		218, /* CUDA_ERROR_INVALID_PTX */
		222, /* CUDA_ERROR_UNSUPPORTED_PTX_VERSION */
	};

	for (size_t i = 0; i < gt_countof(lasting); i++)
		if (lasting[i] == error)
			return true;
	return false;
}

void gt_inject_image_fail(struct gt_inject *inject, struct gt_inject_connection *connection,
			  int error)
{
	char reason[128];

	describe_error(error, reason, sizeof(reason));
	gt_inject_image_reject(inject, connection, reason);
	if (connection->known && is_lasting(error))
		connection->known->error = error;
}

/* ---- selecting ------------------------------------------------------------------------- */

/* What selecting depends on; patching, too. */
static struct gt_patch_options make_options(const struct gt_inject *inject)
{
	return (struct gt_patch_options){
		.object = inject->options.object,
		.programs = inject->options.programs,
		.program_count = inject->options.program_count,
		.kernels = inject->options.kernels,
		.kernel_count = inject->options.kernel_count,
		.switchable = inject->options.switchable,
		.switches = gt_inject_address(inject, inject->memory.switches),
		.shapes = gt_inject_address(inject, inject->memory.shapes),
	};
}

static int select_source(struct gt_inject_job *job)
{
	struct gt_inject *inject = job->inject;
	struct gt_recovered_search search = {
		.recovered = inject->recovered,
		.user = job->connection->user,
	};
	const struct gt_patch_recovery recovery = {
		.find = gt_recovered_find,
		.context = &search,
		.always = inject->recover_always,
	};
	const struct gt_patch_observer observer = {gt_inject_names_see, inject->names};
	struct gt_patch_options options = make_options(inject);

	options.recovery = &recovery;
	options.observer = &observer;
	return gt_patch_select(job->bytes.data, job->bytes.size, job->request.capability, &options,
			       &job->selection, &job->diag);
}

bool gt_inject_image_select(struct gt_inject_job *job)
{
	struct gt_inject *inject = job->inject;

	gt_inject_image_deselect(job);
	job->reply = (struct gt_agent_reply){.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_ORIGINAL};
	job->query = (struct gt_inject_query){
		.inject = inject,
		.capability = job->request.capability,
		.user = job->connection->user,
		.pid_tgid = (uint64_t)job->connection->module.pid << 32 | job->request.thread,
		.first_site = inject->next_site,
		.first_kernel = inject->next_kernel,
	};
	if (!gt_inject_bytes_read(job->file, job->request.size, &job->bytes))
		job->error =
			gt_diag(&job->diag, -EINVAL, "run", NULL, "the image could not be read");
	else if (!is_program(job))
		job->error = select_source(job);
	job->connection->module.copied =
		is_program(job) && job->request.form & GT_AGENT_FORM_COPIED;
	if (!job->error && (is_program(job) || job->selection.matches))
		job->error = gt_inject_memory_take(inject, &job->connection->module, &job->diag);
	if (job->error)
		return false;
	if (is_program(job))
		return true;
	job->is_known =
		job->selection.matches && gt_inject_reuse_find(&job->query, &job->selection.source);
	return !job->is_known && (job->selection.matches || job->selection.keep);
}

void gt_inject_image_deselect(struct gt_inject_job *job)
{
	gt_patch_selection_clear(&job->selection);
	gt_inject_query_clear(&job->query);
	job->query = (struct gt_inject_query){0};
	job->is_known = false;
	gt_inject_bytes_clear(&job->bytes);
	job->error = 0;
	job->diag = (struct gt_diag){0};
}

/* ---- patching -------------------------------------------------------------------------- */

static bool has_image(const struct gt_patch_image *image)
{
	return image->fatbin.length || image->inputs.length;
}

void gt_inject_image_patch(struct gt_inject_job *job)
{
	const struct gt_inject *inject = job->inject;
	const struct gt_symbol_values symbols = {
		.maps = inject->memory.words,
		.output = {inject->memory.words[inject->map_count][0],
			   inject->memory.words[inject->map_count][1]},
		.calls = {gt_inject_address(inject, inject->host_calls.offset), 1},
		.pid_tgid = job->query.pid_tgid,
	};
	struct gt_patch_options options = make_options(inject);

	options.first_site = job->query.first_site;
	options.first_kernel = job->query.first_kernel;
	options.symbols = &symbols;
	if (is_program(job))
		gt_inject_program_patch(job, &options);
	else
		job->error = gt_patch_selected(&job->selection, job->request.capability, &options,
					       &job->image, &job->diag);
	if (!job->error && has_image(&job->image))
		job->patched = make_patched_file(&job->image, &job->reply);
}

/* ---- answering ------------------------------------------------------------------------- */

static void count_patched(struct gt_inject_job *job)
{
	const struct gt_patch_result *result = &job->image.result;
	struct gt_inject_query *query = &job->query;
	struct gt_inject_record record;

	make_record(query, result, &record);
	number_patched(job);
	count_record(job->inject, job->connection, &record, result->rejections.items);
	if (is_program(job) || (!record.kernel_count && !record.found) ||
	    (has_image(&job->image) && job->patched < 0))
		return;
	job->connection->known = gt_inject_reuse_keep(query, &record, result->rejections.items,
						      &job->reply, job->patched);
	if (record.scope == GT_PATCH_NONE ? !has_image(&job->image) : job->image.fatbin.length)
		store_patched(query, &job->image, &record);
}

static void answer_stored(struct gt_inject_job *job)
{
	struct gt_inject_query *query = &job->query;
	const struct gt_inject_record *record = &query->stored.record;

	number_stored(job);
	count_record(job->inject, job->connection, record, query->stored.rejections.items);
	if (query->stored.fatbin_size)
		job->patched = make_stored_file(&query->stored, &job->reply);
	if (job->patched >= 0 || !query->stored.fatbin_size)
		job->connection->known = gt_inject_reuse_keep(
			query, record, query->stored.rejections.items, &job->reply, job->patched);
}

static void answer_known(struct gt_inject_job *job)
{
	struct gt_inject_known *known = job->query.known;

	count_record(job->inject, job->connection, &known->record, known->rejections.items);
	job->connection->known = known;
	if (known->error) {
		gt_inject_image_fail(job->inject, job->connection, known->error);
		return;
	}
	job->reply = known->reply;
	job->patched = known->file >= 0 ? fcntl(known->file, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Whether the reply should have a file. */
static bool needs_file(const struct gt_inject_job *job)
{
	if (job->error)
		return false;
	if (!job->is_known)
		return has_image(&job->image);
	return job->query.stored.fatbin ? job->query.stored.fatbin_size
					: job->query.known->file >= 0 && !job->query.known->error;
}

/* It grows whenever the PTX of a cubin is found. */
static uint64_t count_recovered(const struct gt_inject *inject)
{
	return gt_recovered_count(inject->recovered) + gt_recovered_dropped(inject->recovered);
}

/*
 * Keep that nothing is inserted into an image, so that agents do not send it again: no program
 * matches its own PTX, or it has none. What a cubin was made from may be found later.
 */
static void keep_unmatched(const struct gt_inject_job *job)
{
	struct gt_inject_unmatched *unmatched = gt_inject_reuse_unmatched(job->inject->reuse);
	const struct gt_patch_selection *selection = &job->selection;
	struct gt_inject_unmatched_key key = {
		.size = job->bytes.size,
		.capability = job->request.capability,
	};
	bool is_sass = job->error == -ENODATA;

	if (is_program(job) || job->bytes.size < GT_AGENT_LARGE || (job->error && !is_sass) ||
	    (!is_sass && (selection->matches || selection->source.cubin)))
		return;
	key.fingerprint = gt_fingerprint(job->bytes.data, job->bytes.size);
	key.user = is_sass ? job->connection->user : 0;
	if (is_sass)
		gt_inject_unmatched_add_sass(unmatched, &key, count_recovered(job->inject),
					     job->diag.text);
	else
		gt_inject_unmatched_add(unmatched, &key);
}

bool gt_inject_image_answer(struct gt_inject_job *job)
{
	struct gt_inject_connection *connection = job->connection;
	struct gt_inject *inject = job->inject;

	if (job->image.spirv)
		see_program_names(inject, job->image.spirv);
	connection->module.cached = job->is_known;
	if (job->error)
		count_failure(inject, connection, job->error, job->diag.text);
	else if (!job->is_known)
		count_patched(job);
	else if (job->query.stored.fatbin)
		answer_stored(job);
	else
		answer_known(job);
	connection->module.number = ++inject->coverage.modules;
	if (!gt_agent_send(connection->fd, &job->reply, sizeof(job->reply), job->patched,
			   MSG_DONTWAIT) ||
	    (job->patched < 0 && needs_file(job)))
		gt_inject_image_reject(inject, connection,
				       "the patched module could not be handed over");
	/* The process does not wait for that. */
	keep_unmatched(job);
	gt_inject_save(job);
	return connection->module.patched;
}

void gt_inject_image_clear(struct gt_inject_job *job)
{
	gt_inject_image_deselect(job);
	gt_patch_image_clear(&job->image);
	gt_strbuf_free(&job->spirv);
	gt_cleanup_close(&job->patched);
}

/* ---- names ----------------------------------------------------------------------------- */

/* Whether a program may match one of the names, each with its kind and a NUL; also in doubt. */
static bool may_match_list(const char *list, size_t size, const struct gt_patch_options *options)
{
	for (const char *at = list, *end = list + size; at < end;) {
		const char *name = at + 1;
		size_t length = strnlen(at, (size_t)(end - at));

		if (length < 2 || length == (size_t)(end - at) ||
		    gt_patch_name_may_match(name, *at == 'e', options))
			return true;
		at += length + 1;
	}
	return !size;
}

void gt_inject_image_names(struct gt_inject *inject, struct gt_inject_connection *connection,
			   const struct gt_agent_request *request, int file)
{
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_WANTED};
	const struct gt_patch_observer observer = {gt_inject_names_see, inject->names};
	struct gt_patch_options options = make_options(inject);
	auto_image_bytes bytes = {0};

	options.observer = &observer;
	if (request->size <= GT_AGENT_MAX_LIST &&
	    gt_inject_bytes_read(file, request->size, &bytes) &&
	    !may_match_list(bytes.data, bytes.size, &options)) {
		reply.verdict = GT_AGENT_ORIGINAL;
		connection->module.number = ++inject->coverage.modules;
	}
	gt_agent_send(connection->fd, &reply, sizeof(reply), -1, MSG_DONTWAIT);
}

void gt_inject_image_fingerprint(struct gt_inject *inject, struct gt_inject_connection *connection,
				 const struct gt_agent_request *request)
{
	const struct gt_inject_unmatched *unmatched = gt_inject_reuse_unmatched(inject->reuse);
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_WANTED};
	struct gt_inject_unmatched_key key = {
		.fingerprint = {{request->fingerprint[0], request->fingerprint[1]}},
		.size = request->size,
		.capability = request->capability,
	};
	bool is_unmatched = gt_inject_unmatched_has(unmatched, &key);
	const char *reason;

	key.user = connection->user;
	reason = gt_inject_unmatched_sass(unmatched, &key, count_recovered(inject));
	if (is_unmatched || reason) {
		reply.verdict = GT_AGENT_ORIGINAL;
		connection->module.number = ++inject->coverage.modules;
		connection->module.cached = true;
	}
	if (reason)
		count_failure(inject, connection, -ENODATA, reason);
	gt_agent_send(connection->fd, &reply, sizeof(reply), -1, MSG_DONTWAIT);
}

/* ---- reports of compilers -------------------------------------------------------------- */

void gt_inject_image_compiled(struct gt_inject *inject, struct gt_inject_connection *connection,
			      const struct gt_agent_request *request, int file)
{
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_ORIGINAL};
	auto_image_bytes bytes = {0};

	if (request->size <= GT_AGENT_MAX_COMPILED + sizeof(struct gt_agent_compiled) &&
	    gt_inject_bytes_read(file, request->size, &bytes) &&
	    gt_recovered_take(inject->recovered, connection->user, bytes.data, bytes.size) ==
		    -EAGAIN)
		reply.verdict = GT_AGENT_WANTED;
	gt_agent_send(connection->fd, &reply, sizeof(reply), -1, MSG_DONTWAIT);
}
