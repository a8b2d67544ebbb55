/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The collector, and agents that speak to it: in one thread, or in processes of their own. Requests
 * are answered by polling.
 */
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "base/file.h"
#include "patch_probes.h"
#include "run/inject.h"
#include "temporary.h"

#define KERNEL ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"

/* A copy of f, inlined into k; exits in two places. */
#define KERNEL_WITH_LINES                                                                          \
	".version 7.8\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n"                        \
	".func f();\n.visible .entry k()\n{\n\t.reg .pred %p<2>;\n\t.loc 1 7 1\n"                  \
	"\t.loc 1 3 9, function_name $name, inlined_at 1 7 1\n\t@%p1 exit;\n\t.loc 1 8 1\n"        \
	"\tret;\n}\n.func f()\n{\n\tret;\n}\n"                                                     \
	".section .debug_str\n{\n$name:\n.b8 102,0\n}\n"

struct collector {
	struct patched_module programs;
	struct gt_inject *inject;
	struct gt_inject_module last; /* reported */
	char reason[256], whole_reason[256];
	bool switchable, stopped;
	bool at_block_end;          /* the only program is one at the end of blocks */
	const char *const *kernels; /* as in the options */
	uint32_t kernel_count;
};

static inline void collector_clear(struct collector *collector)
{
	gt_inject_close(collector->inject);
	patched_clear(&collector->programs);
}
#define auto_collector __attribute__((cleanup(collector_clear))) struct collector

static inline void keep_report(void *context, const struct gt_inject_module *module)
{
	struct collector *collector = context;

	collector->last = *module;
	snprintf(collector->whole_reason, sizeof(collector->whole_reason), "%s",
		 module->whole_reason ? module->whole_reason : "");
	snprintf(collector->reason, sizeof(collector->reason), "%s",
		 module->reason ? module->reason : "");
}

static inline bool collector_open_with(struct collector *collector, const char *cache)
{
	struct gt_inject_options options = {
		.object = &object,
		.programs = collector->programs.programs,
		.threads = 1024,
		.kernels = collector->kernels,
		.kernel_count = collector->kernel_count,
		.switchable = collector->switchable,
		.cache = cache,
		.report = keep_report,
		.context = collector,
	};
	struct gt_diag diag = {0};

	if (collector->at_block_end) {
		add_probe(&collector->programs, "gpu/block_end", NULL);
	} else {
		add_probe(&collector->programs, "gpu/entry/k", NULL);
		add_probe(&collector->programs, "gpu/exit/k", NULL);
	}
	options.program_count = collector->programs.count;
	if (!gt_inject_open(&options, &collector->inject, &diag))
		return true;
	TAP_FAIL("%s", diag.text);
	return false;
}

static inline bool collector_open(struct collector *collector)
{
	return collector_open_with(collector, NULL);
}

static inline void poll_collector(struct collector *collector)
{
	for (int i = 0; i < 4; i++)
		CHECK(!gt_inject_finish(collector->inject, NULL));
}

/* Of the collector that was connected to last. */
static const char *token;

/* An agent's connection. */
static inline int connect_to(const struct collector *collector)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = gt_inject_socket(collector->inject);
	size_t length = strcspn(name, "/");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	token = name + length + 1;
	memcpy(address.sun_path + 1, name, length);
	CHECK(!connect(fd, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)));
	return fd;
}

enum {
	MAX_FILES = 2,
};

static inline void send_bytes(int socket, const void *data, size_t size, const int *files,
			      size_t count)
{
	struct iovec part = {.iov_base = (void *)data, .iov_len = size};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MAX_FILES * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(count * sizeof(int))}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (count) {
		memcpy(CMSG_DATA(&control.header), files, count * sizeof(int));
		message.msg_control = control.space;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	CHECK(sendmsg(socket, &message, 0) == (ssize_t)size);
}

static inline void send_request(int socket, struct gt_agent_request request, int file)
{
	/* A test may have a token of its own. */
	if (!request.token[0])
		memcpy(request.token, token, sizeof(request.token));
	send_bytes(socket, &request, sizeof(request), &file, file >= 0);
}

/* The answer's verdict, or -1 where the connection was closed; the file is *ret_file or -1. */
static inline int receive_verdict(int socket, struct gt_agent_reply *reply, int *ret_file)
{
	bool is_received = gt_agent_receive(socket, reply, sizeof(*reply), ret_file);

	return is_received ? (int)reply->verdict : -1;
}

static inline int file_with(const char *text)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static inline int sealable_file_with(const char *text)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static inline struct gt_agent_request image_request(uint64_t size)
{
	return (struct gt_agent_request){.magic = GT_AGENT_MAGIC,
					 .version = GT_AGENT_VERSION,
					 .operation = GT_AGENT_IMAGE,
					 .size = size,
					 .capability = 90};
}

/* Ask once. The verdict; the connection is *ret_socket. */
static inline int ask(struct collector *collector, struct gt_agent_request request, int file,
		      struct gt_agent_reply *reply, int *ret_file, int *ret_socket)
{
	*ret_socket = connect_to(collector);
	send_request(*ret_socket, request, file);
	poll_collector(collector);
	return receive_verdict(*ret_socket, reply, ret_file);
}

/* The answer to a text: its file's bytes. */
static inline struct gt_file patch_text_once(struct collector *collector, const char *text,
					     uint32_t capability)
{
	const struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	struct gt_agent_request request = image_request(strlen(text));
	gt_autoclose int image = file_with(text), file = -1, socket = -1;
	struct gt_agent_reply reply = {0};
	struct gt_file bytes = {0};

	request.capability = capability;
	ask(collector, request, image, &reply, &file, &socket);
	bytes.size = reply.size + reply.names_size;
	bytes.data = malloc(bytes.size + 1);
	CHECK(file >= 0 && pread(file, bytes.data, bytes.size, 0) == (ssize_t)bytes.size);
	CHECK(send(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result));
	poll_collector(collector);
	return bytes;
}

static inline bool are_equal(const struct gt_file *one, const struct gt_file *other)
{
	return one->size == other->size && !memcmp(one->data, other->data, one->size);
}

enum {
	KERNELS = 100,
};

/* Of which the last one matches. */
static inline char *make_many_kernels(void)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, ".version 7.8\n.target sm_75\n.address_size 64\n");
	for (unsigned i = 0; i + 1 < KERNELS; i++)
		gt_strbuf_printf(&text, ".visible .entry other%u()\n{\n\tret;\n}\n", i);
	gt_strbuf_puts(&text, ".visible .entry k()\n{\n\tret;\n}\n");
	return gt_strbuf_steal(&text);
}

/* For files of earlier runs. */
static inline struct temporary make_directory(void)
{
	struct temporary directory;

	CHECK(make_temporary_directory(&directory));
	return directory;
}

static inline void remove_directory(struct temporary *directory)
{
	CHECK(remove_temporary_directory(directory));
}
#define auto_directory __attribute__((cleanup(remove_directory))) struct temporary
