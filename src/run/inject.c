/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "base/file.h"

enum {
	MAX_CONNECTIONS = 512, /* fewer than files that a process may open */
	BACKLOG = 128,
	EVENTS = 16,
	MULTIPROCESSORS = 256, /* copies of maps that have one per multiprocessor */
	BLOCK = 1024,
	PAGE = 4096,
	MAX_KERNELS = 1 << 20, /* whose names are kept */
};

/* The address at which processes map the maps: far from programs, loaders and drivers. */
#define MAP_ADDRESS UINT64_C(0x2f0000000000)

/* One image of one process. */
struct gt_inject_connection {
	int fd;
	bool answered; /* the result is awaited */
	struct gt_inject_module module;
	char reason[512]; /* as long as a diag's text */
	struct gt_inject_connection *next;
};

/* The maps, one after the other in one file. */
struct gt_inject_memory {
	int fd;
	uint8_t *data; /* mapped */
	size_t size;
	size_t *offsets; /* by map; SIZE_MAX: not used; then that of the output ring */
	uint32_t *copies;
	uint64_t (*words)[2];
};

struct gt_inject {
	struct gt_inject_options options;
	struct gt_inject_memory memory;
	struct gt_ring_reader *readers; /* by map, then the output ring; of rings alone */
	uint32_t map_count;
	int listener, epoll;
	char socket[64];
	struct gt_inject_connection *connections;
	size_t connection_count;
	uint32_t next_site, next_kernel;
	GT_VEC(char *) kernels; /* names by number, of the first MAX_KERNELS */
	struct gt_inject_coverage coverage;
};

static const struct gt_bpf_map output_map = {
	.name = "output",
	.type = BPF_MAP_TYPE_RINGBUF,
	.max_entries = GT_OUTPUT_BYTES,
};

static const struct gt_bpf_map *map_of(const struct gt_inject *inject, uint32_t number)
{
	return number < inject->map_count ? &inject->options.object->maps[number] : &output_map;
}

/* ---- the memory of the maps ------------------------------------------------------------ */

static int plan_map(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = map_of(inject, number);
	struct gt_inject_memory *memory = &inject->memory;
	const struct gt_bpf_map_grid grid = {
		.multiprocessors = MULTIPROCESSORS,
		.grid = {(inject->options.threads + BLOCK - 1) / BLOCK, 1, 1},
		.block = {BLOCK, 1, 1},
	};
	size_t bytes;
	int error;

	memory->offsets[number] = SIZE_MAX;
	if (map->host_only)
		return 0;
	error = gt_bpf_map_check(map, diag);
	if (error)
		return error;
	memory->copies[number] = gt_bpf_map_copies_for(map, &grid);
	bytes = memory->copies[number] ? gt_bpf_map_bytes(map, memory->copies[number]) : 0;
	if (!bytes || bytes > GT_AGENT_MAX_IMAGE - memory->size)
		return gt_diag(diag, -ENOMEM, "run", map->name,
			       "the map has %u copies, which need more than 1 GiB with the other "
			       "maps: lower --threads",
			       memory->copies[number]);
	memory->offsets[number] = memory->size;
	memory->words[number][0] = MAP_ADDRESS + memory->size;
	memory->words[number][1] = memory->copies[number];
	memory->size += (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	return 0;
}

static int map_memory(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;
	void *data = MAP_FAILED;

	memory->fd = memfd_create("gputap-maps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory->fd >= 0 && !ftruncate(memory->fd, (off_t)memory->size) &&
	    !fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		data = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
	if (data == MAP_FAILED)
		return gt_diag(diag, -errno, "run", NULL, "cannot allocate the maps: %s",
			       strerror(errno));
	memory->data = data;
	return 0;
}

static int open_map(struct gt_inject *inject, uint32_t number)
{
	const struct gt_bpf_map *map = map_of(inject, number);
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint8_t *data = inject->memory.data + inject->memory.offsets[number];

	if (inject->memory.offsets[number] == SIZE_MAX)
		return 0;
	gt_bpf_map_initialise(map, inject->memory.copies[number], data);
	return kind->shape == GT_BPF_MAP_RING
		       ? gt_ring_reader_open(map, data, &inject->readers[number])
		       : 0;
}

static int open_memory(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;
	uint32_t count = inject->map_count + 1;
	int error = 0;

	memory->offsets = calloc(count, sizeof(*memory->offsets));
	memory->copies = calloc(count, sizeof(*memory->copies));
	memory->words = calloc(count, sizeof(*memory->words));
	inject->readers = calloc(count, sizeof(*inject->readers));
	if (!memory->offsets || !memory->copies || !memory->words || !inject->readers)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; i < count && !error; i++)
		error = plan_map(inject, i, diag);
	if (!error)
		error = map_memory(inject, diag);
	for (uint32_t i = 0; i < count && !error; i++)
		error = open_map(inject, i);
	return error;
}

/* ---- the socket ------------------------------------------------------------------------ */

static int watch(struct gt_inject *inject, int fd, void *data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

	return epoll_ctl(inject->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int listen_for_agents(struct gt_inject *inject, struct gt_diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number[2];
	size_t length;

	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return gt_diag(diag, -EIO, "run", NULL, "no random numbers");
	snprintf(inject->socket, sizeof(inject->socket), "gputap-%016llx%016llx",
		 (unsigned long long)number[0], (unsigned long long)number[1]);
	length = strlen(inject->socket);
	memcpy(address.sun_path + 1, inject->socket, length);
	inject->epoll = epoll_create1(EPOLL_CLOEXEC);
	inject->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (inject->epoll < 0 || inject->listener < 0 ||
	    bind(inject->listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
	    listen(inject->listener, BACKLOG) || watch(inject, inject->listener, NULL))
		return gt_diag(diag, -errno, "run", NULL, "cannot listen for agents: %s",
			       strerror(errno));
	return 0;
}

/* ---- messages -------------------------------------------------------------------------- */

/* A request and its file, or -1. False: nothing that the protocol has. */
static bool receive_request(int socket, struct gt_agent_request *request, int *ret_fd)
{
	struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		/* CMSG_SPACE has room for two descriptors; the second one would stay open. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header = size >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return size == (ssize_t)sizeof(*request) && request->magic == GT_AGENT_MAGIC &&
	       request->version == GT_AGENT_VERSION;
}

static bool send_reply(int socket, const struct gt_agent_reply *reply, int fd)
{
	return gt_agent_send(socket, reply, sizeof(*reply), fd, MSG_DONTWAIT);
}

/* ---- images ---------------------------------------------------------------------------- */

/* Files of other kinds may have a process behind them, which need not answer (FUSE). */
static bool is_memfd(int fd)
{
	return fd >= 0 && fcntl(fd, F_GET_SEALS) >= 0;
}

/* The bytes of an image, copied: the process may still write to its file. The caller frees. */
static void *copy_image(int fd, uint64_t size)
{
	struct stat status;
	uint8_t *data;
	size_t copied = 0;

	if (!is_memfd(fd) || !size || size > GT_AGENT_MAX_IMAGE || fstat(fd, &status) ||
	    !S_ISREG(status.st_mode) || (uint64_t)status.st_size < size)
		return NULL;
	data = malloc(size);
	while (data && copied < size) {
		ssize_t got = pread(fd, data + copied, size - copied, (off_t)copied);

		if (got <= 0) {
			free(data);
			return NULL;
		}
		copied += (size_t)got;
	}
	return data;
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
	const struct gt_patch_options options = {
		.object = inject->options.object,
		.programs = inject->options.programs,
		.program_count = inject->options.program_count,
		.first_site = inject->next_site,
		.first_kernel = inject->next_kernel,
		.symbols = &symbols,
		.whole = true,
	};

	return gt_patch_image(data, request->size, request->capability, &options, image, diag);
}

/* A name that finds no memory is "?": numbers stay as they are. */
static void keep_kernel(struct gt_inject *inject, const char *name)
{
	char *copy;

	if (inject->kernels.count == MAX_KERNELS)
		return;
	copy = strdup(name);
	if (gt_vec_push(&inject->kernels, copy))
		free(copy);
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
		return;
	}
	module->scope = result->scope;
	module->kernels = (uint32_t)result->kernels.count;
	module->found = result->found;
	module->patched = result->patched;
	module->rejected = result->rejected;
	inject->next_site += (uint32_t)result->sites.count;
	inject->next_kernel += (uint32_t)result->kernels.count;
	gt_vec_each (kernel, &result->kernels)
		keep_kernel(inject, kernel->name);
	if (result->rejections.count)
		set_reason(connection, result->rejections.items[0].reason);
}

/* A file with the patched fatbin, or -1. */
static int make_reply_file(const struct gt_strbuf *fatbin)
{
	int fd = memfd_create("gputap-patched", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t written = 0;

	while (fd >= 0 && written < fatbin->length) {
		ssize_t count = write(fd, fatbin->data + written, fatbin->length - written);

		if (count <= 0) {
			close(fd);
			return -1;
		}
		written += (size_t)count;
	}
	return fd;
}

/* The process loads the original although there is a patched image. */
static void reject_image(struct gt_inject *inject, struct gt_inject_connection *connection,
			 const char *reason)
{
	struct gt_inject_module *module = &connection->module;

	if (!module->patched)
		return;
	inject->coverage.modules_failed++;
	module->rejected += module->patched;
	module->patched = 0;
	module->scope = GT_PATCH_NONE;
	set_reason(connection, reason);
}

/* Answer with the patched image or, if there is none, with the verdict to load the original. */
static bool answer_image(struct gt_inject *inject, struct gt_inject_connection *connection,
			 const struct gt_agent_request *request, int file)
{
	struct gt_agent_reply reply = {.magic = GT_AGENT_MAGIC, .verdict = GT_AGENT_ORIGINAL};
	struct gt_patch_image image = {0};
	gt_autofree void *data = copy_image(file, request->size);
	struct gt_diag diag = {0};
	gt_autoclose int fd = -1;
	int error = data ? patch_image(inject, connection, request, data, &image, &diag)
			 : gt_diag(&diag, -EINVAL, "run", NULL, "the image could not be read");

	connection->module.number = ++inject->coverage.modules;
	count_image(inject, connection, &image, error, &diag);
	if (!error && image.fatbin.length)
		fd = make_reply_file(&image.fatbin);
	if (fd >= 0) {
		reply.verdict = GT_AGENT_PATCHED;
		reply.size = image.fatbin.length;
	}
	if (!send_reply(connection->fd, &reply, fd) || (fd < 0 && image.fatbin.length))
		reject_image(inject, connection, "the patched module could not be handed over");
	gt_patch_image_clear(&image);
	return connection->module.patched;
}

static void answer_maps(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	const struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = GT_AGENT_MEMORY,
		.size = inject->memory.size,
		.address = MAP_ADDRESS,
	};

	send_reply(connection->fd, &reply, inject->memory.fd);
}

/* ---- connections ----------------------------------------------------------------------- */

static void report_module(struct gt_inject *inject, const struct gt_inject_connection *connection)
{
	if (connection->module.number && inject->options.report)
		inject->options.report(inject->options.context, &connection->module);
}

/* The outcome for a connection's image is known: it counts, so found = patched + rejected. */
static void count_outcome(struct gt_inject *inject, const struct gt_inject_connection *connection)
{
	const struct gt_inject_module *module = &connection->module;
	struct gt_inject_coverage *coverage = &inject->coverage;

	coverage->found += module->found;
	coverage->patched += module->patched;
	coverage->rejected += module->rejected;
	if (module->patched) {
		coverage->modules_patched++;
		coverage->kernels += module->kernels;
	}
	report_module(inject, connection);
}

static void close_connection(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_inject_connection **link = &inject->connections;

	while (*link != connection)
		link = &(*link)->next;
	*link = connection->next;
	inject->connection_count--;
	close(connection->fd);
	free(connection);
}

static pid_t peer_of(int fd)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
}

static void accept_agent(struct gt_inject *inject)
{
	int fd = accept4(inject->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct gt_inject_connection *connection;

	if (fd < 0)
		return;
	connection =
		inject->connection_count < MAX_CONNECTIONS ? calloc(1, sizeof(*connection)) : NULL;
	if (!connection || watch(inject, fd, connection)) {
		free(connection);
		close(fd);
		return;
	}
	connection->fd = fd;
	connection->module.pid = peer_of(fd);
	connection->next = inject->connections;
	inject->connections = connection;
	inject->connection_count++;
}

/*
 * The driver's verdict on the patched image. A process that ends without one has loaded it, unless
 * it has not read the answer.
 */
static void take_result(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_agent_result result = {0};
	ssize_t size = recv(connection->fd, &result, sizeof(result), MSG_DONTWAIT);
	char reason[64];

	if (size == (ssize_t)sizeof(result) && result.magic == GT_AGENT_MAGIC && result.error) {
		snprintf(reason, sizeof(reason), "the driver rejected the patched module (%d)",
			 result.error);
		reject_image(inject, connection, reason);
	} else if (size < 0 && errno == ECONNRESET) {
		reject_image(inject, connection, "the process did not wait for the patched module");
	}
	count_outcome(inject, connection);
	close_connection(inject, connection);
}

static void take_request(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_agent_request request = {0};
	gt_autoclose int file = -1;

	if (receive_request(connection->fd, &request, &file)) {
		if (request.operation == GT_AGENT_IMAGE)
			connection->answered = answer_image(inject, connection, &request, file);
		else if (request.operation == GT_AGENT_MAPS)
			answer_maps(inject, connection);
	}
	if (connection->answered)
		return;
	count_outcome(inject, connection);
	close_connection(inject, connection);
}

/* Some of what there is to do. *ret_count: how much it was. */
static int poll_agents(struct gt_inject *inject, int *ret_count, struct gt_diag *diag)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(inject->epoll, events, EVENTS, 0);

	*ret_count = count;
	if (count < 0 && errno != EINTR)
		return gt_diag(diag, -errno, "run", NULL, "cannot wait for agents: %s",
			       strerror(errno));
	for (int i = 0; i < count; i++) {
		struct gt_inject_connection *connection = events[i].data.ptr;

		if (!connection)
			accept_agent(inject);
		else if (connection->answered)
			take_result(inject, connection);
		else
			take_request(inject, connection);
	}
	return 0;
}

int gt_inject_poll(struct gt_inject *inject, struct gt_diag *diag)
{
	int error = 0, count = 1;

	/* A bound: agents that connect all the time must not keep the caller here. */
	for (int i = 0; i < MAX_CONNECTIONS && count > 0 && !error; i++)
		error = poll_agents(inject, &count, diag);
	return error;
}

/* ---- the whole ------------------------------------------------------------------------- */

int gt_inject_open(const struct gt_inject_options *options, struct gt_inject **ret_inject,
		   struct gt_diag *diag)
{
	gt_auto(inject) struct gt_inject *inject = calloc(1, sizeof(*inject));
	int error;

	if (!inject)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	inject->options = *options;
	inject->map_count = options->object ? options->object->map_count : 0;
	inject->listener = inject->epoll = inject->memory.fd = -1;
	error = open_memory(inject, diag);
	if (!error)
		error = listen_for_agents(inject, diag);
	if (!error)
		*ret_inject = gt_take(inject);
	return error;
}

void gt_inject_close(struct gt_inject *inject)
{
	if (!inject)
		return;
	while (inject->connections)
		close_connection(inject, inject->connections);
	for (uint32_t i = 0; inject->readers && i <= inject->map_count; i++)
		gt_ring_reader_close(&inject->readers[i]);
	if (inject->memory.data)
		munmap(inject->memory.data, inject->memory.size);
	gt_cleanup_close(&inject->memory.fd);
	gt_cleanup_close(&inject->listener);
	gt_cleanup_close(&inject->epoll);
	gt_vec_each (name, &inject->kernels)
		free(*name);
	gt_vec_free(&inject->kernels);
	free(inject->memory.offsets);
	free(inject->memory.copies);
	free(inject->memory.words);
	free(inject->readers);
	free(inject);
}

const char *gt_inject_socket(const struct gt_inject *inject)
{
	return inject->socket;
}

int gt_inject_fd(const struct gt_inject *inject)
{
	return inject->epoll;
}

struct gt_inject_coverage gt_inject_coverage(const struct gt_inject *inject)
{
	return inject->coverage;
}

const char *gt_inject_kernel(const struct gt_inject *inject, uint32_t number)
{
	if (number >= inject->kernels.count)
		return NULL;
	return inject->kernels.items[number] ? inject->kernels.items[number] : "?";
}

bool gt_inject_has_map(const struct gt_inject *inject, uint32_t map)
{
	return inject->memory.offsets[map] != SIZE_MAX;
}

struct gt_bpf_map_view gt_inject_view(const struct gt_inject *inject, uint32_t map)
{
	return (struct gt_bpf_map_view){
		.map = map_of(inject, map),
		.memory = inject->memory.data + inject->memory.offsets[map],
		.copies = inject->memory.copies[map],
	};
}

int gt_inject_next_record(struct gt_inject *inject, uint32_t map, const void **ret_record,
			  uint32_t *ret_size)
{
	return gt_ring_reader_next(&inject->readers[map], ret_record, ret_size);
}

int gt_inject_print(struct gt_inject *inject, struct gt_strbuf *text, uint64_t *ret_lost)
{
	struct gt_ring_reader *reader = &inject->readers[inject->map_count];
	int error = gt_ring_reader_print(reader, text);

	*ret_lost = gt_ring_reader_lost(reader);
	return error;
}

/* ---- files ----------------------------------------------------------------------------- */

static int try_file(const char *self, size_t length, const char *between, const char *directory,
		    const char *name, char **ret_path)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	char resolved[PATH_MAX];

	gt_strbuf_printf(&path, "%.*s/%s%s/%s", (int)length, self, between, directory, name);
	if (!realpath(gt_strbuf_string(&path), resolved))
		return -ENOENT;
	*ret_path = strdup(resolved);
	return *ret_path ? 0 : -ENOMEM;
}

int gt_inject_find_file(const char *build_directory, const char *directory, const char *name,
			char **ret_path, struct gt_diag *diag)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;
	size_t folder;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	folder = slash ? (size_t)(slash - self) : 0;
	if (!try_file(self, folder, "", build_directory, name, ret_path) ||
	    !try_file(self, folder, "../lib/gputap", directory, name, ret_path) ||
	    !try_file(self, folder, "../" GT_LIBDIR "/gputap", directory, name, ret_path))
		return 0;
	return gt_diag(diag, -ENOENT, "run", NULL,
		       "%s is not there; build it with 'make', or install gputap", name);
}
