/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An image of a process: from the file in its request to the reply. */
#include "run/inject_private.h"

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

/* The bytes of an image: mapped from a file that nobody can change, or copied. */
struct image_bytes {
	void *data;
	size_t size;
	bool is_mapped;
};

static void image_bytes_clear(struct image_bytes *bytes)
{
	if (bytes->is_mapped)
		munmap(bytes->data, bytes->size);
	else
		free(bytes->data);
}
#define auto_image_bytes __attribute__((cleanup(image_bytes_clear))) struct image_bytes

static bool map_image(int fd, struct image_bytes *bytes)
{
	void *data = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	if (data == MAP_FAILED)
		return false;
	bytes->data = data;
	bytes->is_mapped = true;
	return true;
}

static bool copy_image(int fd, struct image_bytes *bytes)
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

static bool read_image(int fd, uint64_t size, struct image_bytes *bytes)
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

static int patch_image(struct gt_inject *inject, struct gt_inject_connection *connection,
		       const struct gt_agent_request *request, const void *data,
		       struct gt_patch_image *image, struct gt_diag *diag)
{
	const struct gt_symbol_values symbols = {
		.maps = inject->memory.words,
		.output = {inject->memory.words[inject->map_count][0],
			   inject->memory.words[inject->map_count][1]},
		.pid_tgid = (uint64_t)connection->module.pid << 32 | request->thread,
	};
	struct gt_recovered_search search = {
		.recovered = inject->recovered,
		.user = connection->user,
	};
	const struct gt_patch_recovery recovery = {
		.find = gt_recovered_find,
		.context = &search,
		.always = inject->recover_always,
	};
	const struct gt_patch_options options = {
		.object = inject->options.object,
		.programs = inject->options.programs,
		.program_count = inject->options.program_count,
		.kernels = inject->options.kernels,
		.kernel_count = inject->options.kernel_count,
		.first_site = inject->next_site,
		.first_kernel = inject->next_kernel,
		.symbols = &symbols,
		.switchable = inject->options.switchable,
		.switches = GT_INJECT_MAP_ADDRESS,
		.recovery = &recovery,
	};

	int error;

	inject->patching = request->size;
	if (inject->options.progress)
		inject->options.progress(inject->options.context);
	error = gt_patch_image(data, request->size, request->capability, &options, image, diag);
	inject->patching = 0;
	return error;
}

/* A name that finds no memory is "?": numbers stay as they are. */
static void keep_kernel(struct gt_inject *inject, const char *name, uint32_t capability)
{
	struct gt_inject_kernel kernel = {.capability = capability};

	if (inject->kernels.count == GT_INJECT_MAX_KERNELS)
		return;
	kernel.name = strdup(name);
	if (gt_vec_push(&inject->kernels, kernel))
		free(kernel.name);
}

/* The sites and kernels of each program. */
static void count_programs(struct gt_inject_connection *connection,
			   const struct gt_patch_result *result, uint32_t programs)
{
	for (uint32_t i = 0; i < programs; i++) {
		gt_vec_each (site, &result->sites)
			connection->sites[i] += site->programs >> i & 1;
		gt_vec_each (kernel, &result->kernels)
			connection->kernels[i] += kernel->programs >> i & 1;
	}
}

static void count_image(struct gt_inject *inject, struct gt_inject_connection *connection,
			const struct gt_patch_image *image, int error, const struct gt_diag *diag)
{
	const struct gt_patch_result *result = &image->result;
	struct gt_inject_module *module = &connection->module;

	inject->coverage.modules_sass += error == -ENODATA;
	inject->coverage.modules_failed += error && error != -ENODATA;
	if (error) {
		set_reason(connection, diag->text);
		gt_inject_reason_add(inject, GT_INJECT_MODULE, diag->text, NULL, 0, 1);
		return;
	}
	module->scope = result->scope;
	module->whole_reason = connection->whole_reason;
	snprintf(connection->whole_reason, sizeof(connection->whole_reason), "%s",
		 result->whole_reason ? result->whole_reason : "");
	module->kernels = (uint32_t)result->kernels.count;
	module->module_kernels = result->module_kernels;
	module->compiled = result->compiled;
	module->found = result->found;
	module->patched = result->patched;
	module->rejected = result->rejected;
	count_programs(connection, result, inject->options.program_count);
	inject->next_site += (uint32_t)result->sites.count;
	if (image->module)
		gt_inject_sites_add(inject->sites, image->module, result);
	gt_vec_each (part, &image->parts)
		gt_inject_sites_add(inject->sites, part->module, &part->result);
	connection->first_kernel = inject->next_kernel;
	inject->next_kernel += (uint32_t)result->kernels.count;
	gt_vec_each (kernel, &result->kernels)
		keep_kernel(inject, kernel->name, connection->capability);
	gt_vec_each (rejection, &result->rejections)
		gt_inject_reason_add(inject, rejection->program, rejection->reason,
				     rejection->function, rejection->sites, 0);
	if (result->rejections.count)
		set_reason(connection, result->rejections.items[0].reason);
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The names of the kernels that programs match, sorted. */
static int put_names(const struct gt_patch_result *result, struct gt_strbuf *names)
{
	size_t count = result->kernels.count;
	gt_autofree const char **sorted = calloc(count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = result->kernels.items[i].name;
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < count; i++)
		gt_strbuf_add(names, sorted[i], strlen(sorted[i]) + 1);
	if (names->failed)
		return -ENOMEM;
	return names->length > GT_AGENT_MAX_NAMES ? -E2BIG : 0;
}

/*
 * A file with the patched fatbin and the names of its kernels that programs match, which nobody can
 * change, or -1.
 */
static int make_reply_file(const struct gt_patch_image *image, struct gt_agent_reply *reply)
{
	const struct gt_strbuf *content = image->fatbin.length ? &image->fatbin : &image->texts;
	gt_auto_strbuf names = GT_STRBUF_INIT;
	int fd = -1;

	if (put_names(&image->result, &names))
		return -1;
	if (gt_may_write(content->length + names.length))
		fd = memfd_create("gputap-patched", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || gt_write_all(fd, content->data, content->length) ||
	    gt_write_all(fd, names.data, names.length) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		gt_cleanup_close(&fd);
		return -1;
	}
	reply->verdict = image->result.scope == GT_PATCH_SIDE ? GT_AGENT_SIDE : GT_AGENT_WHOLE;
	reply->size = content->length;
	reply->kernels = (uint32_t)image->result.kernels.count;
	reply->names_size = (uint32_t)names.length;
	reply->flags = (image->result.scope == GT_PATCH_NONE ? GT_AGENT_UNPATCHED : 0) |
		       (content == &image->texts ? GT_AGENT_LINKED : 0);
	reply->max_registers = image->max_registers;
	return fd;
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

/* Answer with the patched image or, if there is none, with the verdict to load the original. */
bool gt_inject_image_answer(struct gt_inject *inject, struct gt_inject_connection *connection,
			    const struct gt_agent_request *request, int file)
{
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_ORIGINAL};
	struct gt_patch_image image = {0};
	auto_image_bytes bytes = {0};
	struct gt_diag diag = {0};
	gt_autoclose int fd = -1;
	int error = read_image(file, request->size, &bytes)
			    ? patch_image(inject, connection, request, bytes.data, &image, &diag)
			    : gt_diag(&diag, -EINVAL, "run", NULL, "the image could not be read");

	connection->capability = request->capability;
	connection->module.number = ++inject->coverage.modules;
	count_image(inject, connection, &image, error, &diag);
	if (!error && (image.fatbin.length || image.texts.length))
		fd = make_reply_file(&image, &reply);
	if (!gt_agent_send(connection->fd, &reply, sizeof(reply), fd, MSG_DONTWAIT) ||
	    (fd < 0 && (image.fatbin.length || image.texts.length)))
		gt_inject_image_reject(inject, connection,
				       "the patched module could not be handed over");
	gt_patch_image_clear(&image);
	return connection->module.patched;
}

void gt_inject_image_compiled(struct gt_inject *inject, struct gt_inject_connection *connection,
			      const struct gt_agent_request *request, int file)
{
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_ORIGINAL};
	auto_image_bytes bytes = {0};

	if (request->size <= GT_AGENT_MAX_COMPILED + sizeof(struct gt_agent_compiled) &&
	    read_image(file, request->size, &bytes) &&
	    gt_recovered_take(inject->recovered, connection->user, bytes.data, bytes.size) ==
		    -EAGAIN)
		reply.verdict = GT_AGENT_WANTED;
	gt_agent_send(connection->fd, &reply, sizeof(reply), -1, MSG_DONTWAIT);
}
