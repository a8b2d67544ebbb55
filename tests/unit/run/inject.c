/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector, and agents that do not keep to the protocol. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "base/file.h"
#include "cubin.h"
#include "failing_alloc.h"
#include "patch_probes.h"
#include "ptxas.h"
#include "run/control.h"
#include "run/inject.h"

#define KERNEL ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"

struct collector {
	struct patched_module programs;
	struct gt_inject *inject;
	struct gt_inject_module last; /* reported */
	char reason[256], whole_reason[256];
	bool switchable, stopped;
};

static void collector_clear(struct collector *collector)
{
	gt_inject_close(collector->inject);
	patched_clear(&collector->programs);
}
#define auto_collector __attribute__((cleanup(collector_clear))) struct collector

static void keep_report(void *context, const struct gt_inject_module *module)
{
	struct collector *collector = context;

	collector->last = *module;
	snprintf(collector->whole_reason, sizeof(collector->whole_reason), "%s",
		 module->whole_reason ? module->whole_reason : "");
	snprintf(collector->reason, sizeof(collector->reason), "%s",
		 module->reason ? module->reason : "");
}

static bool collector_open_with(struct collector *collector, const char *cache)
{
	struct gt_inject_options options = {
		.object = &object,
		.programs = collector->programs.programs,
		.threads = 1024,
		.switchable = collector->switchable,
		.cache = cache,
		.report = keep_report,
		.context = collector,
	};
	struct gt_diag diag = {0};

	add_probe(&collector->programs, "gpu/entry/k", NULL);
	add_probe(&collector->programs, "gpu/exit/k", NULL);
	options.program_count = collector->programs.count;
	if (!gt_inject_open(&options, &collector->inject, &diag))
		return true;
	TAP_FAIL("%s", diag.text);
	return false;
}

static bool collector_open(struct collector *collector)
{
	return collector_open_with(collector, NULL);
}

static void poll_collector(struct collector *collector)
{
	for (int i = 0; i < 4; i++)
		CHECK(!gt_inject_poll(collector->inject, NULL));
}

/* An agent's connection. */
/* Of the collector that was connected to last. */
static const char *token;

static int connect_to(const struct collector *collector)
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

static void send_bytes(int socket, const void *data, size_t size, const int *files, size_t count)
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

static void send_request(int socket, struct gt_agent_request request, int file)
{
	/* A test may have a token of its own. */
	if (!request.token[0])
		memcpy(request.token, token, sizeof(request.token));
	send_bytes(socket, &request, sizeof(request), &file, file >= 0);
}

/* The answer's verdict, or -1 where the connection was closed; the file is *ret_file or -1. */
static int receive_verdict(int socket, struct gt_agent_reply *reply, int *ret_file)
{
	bool is_received = gt_agent_receive(socket, reply, sizeof(*reply), ret_file);

	return is_received ? (int)reply->verdict : -1;
}

static int file_with(const char *text)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static int sealable_file_with(const char *text)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static struct gt_agent_request image_request(uint64_t size)
{
	return (struct gt_agent_request){.magic = GT_AGENT_MAGIC,
					 .version = GT_AGENT_VERSION,
					 .operation = GT_AGENT_IMAGE,
					 .size = size,
					 .capability = 90};
}

/* Ask once. The verdict; the connection is *ret_socket. */
static int ask(struct collector *collector, struct gt_agent_request request, int file,
	       struct gt_agent_reply *reply, int *ret_file, int *ret_socket)
{
	*ret_socket = connect_to(collector);
	send_request(*ret_socket, request, file);
	poll_collector(collector);
	return receive_verdict(*ret_socket, reply, ret_file);
}

TEST("an image with a matched kernel is answered with its patched form")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	struct gt_inject_coverage coverage;
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_WHOLE);
	CHECK(file >= 0 && reply.size > strlen(KERNEL));
	CHECK(send(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result));
	poll_collector(&collector);
	coverage = gt_inject_coverage(collector.inject);
	CHECK(coverage.modules == 1 && coverage.modules_patched == 1 && coverage.kernels == 1);
	CHECK(coverage.found == 2 && coverage.patched == 2 && !coverage.rejected);
	CHECK(collector.last.pid == getpid() && collector.last.patched == 2);
	close(socket);
	close(file);
	close(image);
}

/* A copy of f, inlined into k; exits in two places. */
#define KERNEL_WITH_LINES                                                                          \
	".version 7.8\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n"                        \
	".func f();\n.visible .entry k()\n{\n\t.reg .pred %p<2>;\n\t.loc 1 7 1\n"                  \
	"\t.loc 1 3 9, function_name $name, inlined_at 1 7 1\n\t@%p1 exit;\n\t.loc 1 8 1\n"        \
	"\tret;\n}\n.func f()\n{\n\tret;\n}\n"                                                     \
	".section .debug_str\n{\n$name:\n.b8 102,0\n}\n"

TEST("each site has its function, its instruction and its source lines")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	struct gt_inject_site site = {.location_count = 0};
	int socket, file, image = file_with(KERNEL_WITH_LINES);
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	CHECK(!gt_inject_site(collector.inject, 0, &site));
	CHECK(ask(&collector, image_request(strlen(KERNEL_WITH_LINES)), image, &reply, &file,
		  &socket) == GT_AGENT_WHOLE);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 3);
	CHECK_INT(kept, 3);
	CHECK(gt_inject_site(collector.inject, 0, &site));
	CHECK_STR(site.function, "k");
	CHECK(site.is_kernel && site.kinds & 1u << GT_KIND_ENTRY && !*site.text);
	CHECK(site.location_count == 1 && site.locations[0].line == 7);
	CHECK(gt_inject_site(collector.inject, 1, &site));
	CHECK_STR(site.text, "@%p1 exit;");
	CHECK(site.line == 11 && site.kinds & 1u << GT_KIND_EXIT);
	CHECK_INT(site.location_count, 2);
	CHECK_STR(site.locations[0].file, "k.cu");
	CHECK_STR(site.locations[0].function, "f");
	CHECK(site.locations[0].line == 3 && site.locations[0].column == 9);
	CHECK(site.locations[1].line == 7 && !site.locations[1].function);
	CHECK(gt_inject_site(collector.inject, 2, &site) && site.locations[0].line == 8);
	CHECK(!gt_inject_site(collector.inject, 3, &site));
	close(socket);
	close(file);
	close(image);
}

TEST("what the driver rejects once patched counts as rejected, with its error")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	static const struct {
		int error;
		const char *reason;
	} cases[] = {
		{218, "the driver rejected the patched module (218)"},
		{GT_AGENT_NO_MEMORY, "the process has no memory for the patched module"},
		{GT_AGENT_NO_MAPS, "the GPU cannot access the memory of the maps"},
		{GT_AGENT_NO_ORIGINAL, "the driver rejected the original module"},
	};
	struct gt_inject_coverage coverage;
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	for (unsigned i = 0; i < gt_countof(cases); i++) {
		CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file,
			  &socket) == GT_AGENT_WHOLE);
		result.error = cases[i].error;
		CHECK(send(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result));
		poll_collector(&collector);
		coverage = gt_inject_coverage(collector.inject);
		CHECK(!coverage.modules_patched && coverage.modules_failed == i + 1);
		CHECK(coverage.found == 2 * i + 2 && !coverage.patched);
		CHECK(coverage.rejected == coverage.found);
		CHECK_STR(collector.reason, cases[i].reason);
		close(socket);
		close(file);
	}
	close(image);
}

/* The request's image, sealed against changes, as the agent's is. */
static void seal(int file)
{
	CHECK(!fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
}

TEST("a sealed image is answered like any other, and so is the answer")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = sealable_file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	seal(image);
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_WHOLE);
	CHECK(write(file, "x", 1) < 0 && errno == EPERM);
	CHECK(ftruncate(file, 0) && errno == EPERM);
	close(socket);
	close(file);
	CHECK(ask(&collector, image_request(strlen(KERNEL) + 1), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	close(socket);
	close(image);
}

TEST("whichever allocation of the collector fails, the agent is answered and the collector works "
     "on")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	struct gt_inject_coverage coverage;
	struct gt_agent_reply reply;
	int socket, file, verdict;
	unsigned which = 0, modules = 0;
	uint64_t failed;

	if (!collector_open(&collector))
		return;
	do {
		/* Another text each time: one that is known needs few allocations. */
		gt_auto_strbuf text = GT_STRBUF_INIT;
		gt_autoclose int image = -1;

		gt_strbuf_printf(&text, KERNEL "// %u", which);
		image = file_with(text.data);
		socket = connect_to(&collector);
		send_request(socket, image_request(text.length), image);
		fail_allocation(which++);
		poll_collector(&collector);
		failed = stop_failing();
		verdict = receive_verdict(socket, &reply, &file);
		if (verdict == GT_AGENT_WHOLE)
			send(socket, &result, sizeof(result), 0);
		CHECK(verdict == GT_AGENT_WHOLE || verdict == GT_AGENT_ORIGINAL ||
		      (verdict == -1 && !recv(socket, &reply, sizeof(reply), MSG_DONTWAIT)));
		poll_collector(&collector);
		modules += verdict != -1;
		if (file >= 0)
			close(file);
		close(socket);
		coverage = gt_inject_coverage(collector.inject);
		CHECK(coverage.found == coverage.patched + coverage.rejected);
		CHECK(coverage.modules == modules);
	} while (failed && which < 100000);
	CHECK(verdict == GT_AGENT_WHOLE && which > 20);
}

TEST("a patched image that exceeds the limit of file sizes is not handed over")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	struct rlimit before, limit;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector) || getrlimit(RLIMIT_FSIZE, &before))
		return;
	limit = (struct rlimit){.rlim_cur = 16, .rlim_max = before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_STR(collector.reason, "the patched module could not be handed over");
	CHECK(gt_inject_coverage(collector.inject).rejected == 2);
	close(socket);
	close(image);
}

enum {
	KERNELS = 100,
};

/* Of which the last one matches. */
static char *make_many_kernels(void)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, ".version 7.8\n.target sm_75\n.address_size 64\n");
	for (unsigned i = 0; i + 1 < KERNELS; i++)
		gt_strbuf_printf(&text, ".visible .entry other%u()\n{\n\tret;\n}\n", i);
	gt_strbuf_puts(&text, ".visible .entry k()\n{\n\tret;\n}\n");
	return gt_strbuf_steal(&text);
}

/* The PTX in a reply's file: an uncompressed fatbin, then names. */
static char *read_ptx(int file, const struct gt_agent_reply *reply)
{
	size_t size = reply->size + reply->names_size;
	char *bytes = malloc(size), *start, *text = NULL;

	if (pread(file, bytes, size, 0) == (ssize_t)size) {
		start = memmem(bytes, reply->size, ".version", strlen(".version"));
		text = start ? strndup(start, reply->size - (size_t)(start - bytes)) : NULL;
	}
	free(bytes);
	return text;
}

static unsigned count_texts(const char *bytes, size_t size, const char *text)
{
	const char *at = bytes;
	unsigned count = 0;

	while ((at = memmem(at, size - (size_t)(at - bytes), text, strlen(text)))) {
		count++;
		at += strlen(text);
	}
	return count;
}

/* The side module of the kernel "k" of many, or NULL. */
static char *make_side_module(struct collector *collector, struct gt_agent_reply *reply)
{
	gt_autofree char *text = make_many_kernels();
	gt_autoclose int image = file_with(text), file = -1, socket = -1;
	char *ptx = NULL;

	if (ask(collector, image_request(strlen(text)), image, reply, &file, &socket) ==
		    GT_AGENT_SIDE &&
	    file >= 0)
		ptx = read_ptx(file, reply);
	return ptx;
}

TEST("of a module with 100 kernels the matched one is returned, with its name")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply = {0};
	gt_autofree char *ptx = NULL;

	if (!collector_open(&collector))
		return;
	ptx = make_side_module(&collector, &reply);
	CHECK(ptx && count_texts(ptx, strlen(ptx), ".entry") == 1 && strstr(ptx, ".entry k("));
	CHECK(reply.kernels == 1 && reply.names_size == sizeof("k"));
}

TEST("ptxas compiles one kernel of the side module of 100 kernels")
{
	char path[] = "/tmp/side-XXXXXX", command[256];
	auto_collector collector = {0};
	struct gt_agent_reply reply = {0};
	gt_autofree char *ptx = NULL;
	gt_auto_file cubin = {0};
	int fd;

	if (system(TOOLS "command -v ptxas >/dev/null"))
		SKIP("ptxas is not installed");
	if (!collector_open(&collector))
		return;
	ptx = make_side_module(&collector, &reply);
	fd = mkstemp(path);
	CHECK(ptx && fd >= 0 && write(fd, ptx, strlen(ptx)) == (ssize_t)strlen(ptx));
	close(fd);
	snprintf(command, sizeof(command), TOOLS "ptxas -arch=sm_75 -o %s.cubin %s", path, path);
	CHECK(!system(command));
	snprintf(command, sizeof(command), "%s.cubin", path);
	CHECK(!gt_file_read(command, 1 << 20, &cubin, NULL));
	CHECK(count_texts((const char *)cubin.data, cubin.size, ".text.k") >= 1);
	CHECK_INT(count_texts((const char *)cubin.data, cubin.size, "other"), 0);
	unlink(command);
	unlink(path);
}

/* The answer to a text: its file's bytes. */
static struct gt_file patch_text_once(struct collector *collector, const char *text,
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

static bool are_equal(const struct gt_file *one, const struct gt_file *other)
{
	return one->size == other->size && !memcmp(one->data, other->data, one->size);
}

TEST("an image that is loaded again has the same text and the same numbers")
{
	auto_collector collector = {0};
	gt_autofree char *many = make_many_kernels();
	gt_auto_file first = {0}, other = {0}, again = {0}, newer = {0};
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	first = patch_text_once(&collector, KERNEL, 90);
	CHECK(!collector.last.cached);
	other = patch_text_once(&collector, many, 90);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
	again = patch_text_once(&collector, KERNEL, 90);
	CHECK(are_equal(&first, &again) && collector.last.cached);
	CHECK(collector.last.found == 2 && collector.last.patched == 2);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
	CHECK(!gt_inject_kernel(collector.inject, 2));
	CHECK_INT(gt_inject_coverage(collector.inject).patched, 6);
	/* For another device it is another module. */
	newer = patch_text_once(&collector, KERNEL, 100);
	CHECK(!collector.last.cached);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 6);
	CHECK_INT(gt_inject_capability(collector.inject, 2), 100);
}

TEST("an image that is not kept in memory any more has the same text and the same numbers")
{
	auto_collector collector = {0};
	gt_auto_file first = {0}, again = {0};
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	first = patch_text_once(&collector, KERNEL "// first", 90);
	for (unsigned i = 0; i < 300; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		gt_auto_file file = {0};

		gt_strbuf_printf(&text, KERNEL "// %u", i);
		file = patch_text_once(&collector, text.data, 90);
	}
	again = patch_text_once(&collector, KERNEL "// first", 90);
	CHECK(are_equal(&first, &again) && !collector.last.cached);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 602);
	gt_file_free(&again);
	again = patch_text_once(&collector, KERNEL "// first", 90);
	CHECK(are_equal(&first, &again) && collector.last.cached);
}

/* ---- files of earlier runs ------------------------------------------------------------- */

struct cache_directory {
	char path[32];
};

static struct cache_directory make_directory(void)
{
	struct cache_directory directory = {"/tmp/cache-XXXXXX"};

	CHECK(mkdtemp(directory.path));
	return directory;
}

static void remove_directory(struct cache_directory *directory)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory->path);
	CHECK(!system(command));
}
#define auto_directory __attribute__((cleanup(remove_directory))) struct cache_directory

/* The only file in a directory. */
static bool find_only_file(const char *directory, char *path, size_t size)
{
	char patched[64];
	struct dirent *entry;
	unsigned count = 0;
	DIR *opened;

	snprintf(patched, sizeof(patched), "%s/patched", directory);
	opened = opendir(patched);
	while (opened && (entry = readdir(opened)))
		if (entry->d_name[0] != '.') {
			snprintf(path, size, "%s/%.80s", patched, entry->d_name);
			count++;
		}
	if (opened)
		closedir(opened);
	return count == 1;
}

TEST("a later run has the text, the kernels and the sites from a file")
{
	auto_directory directory = make_directory();
	gt_auto_file first = {0}, again = {0};
	char path[256];

	for (unsigned run = 0; run < 2; run++) {
		auto_collector collector = {0};
		struct gt_inject_site site;
		uint32_t kept;

		if (!collector_open_with(&collector, directory.path))
			return;
		*(run ? &again : &first) = patch_text_once(&collector, KERNEL_WITH_LINES, 90);
		CHECK_INT(collector.last.cached, run);
		CHECK(collector.last.scope == GT_PATCH_WHOLE && collector.last.compiled == 1);
		CHECK_STR(collector.whole_reason, "every kernel matches");
		CHECK_STR(gt_inject_kernel(collector.inject, 0), "k");
		CHECK_INT(gt_inject_capability(collector.inject, 0), 90);
		CHECK_INT(gt_inject_site_count(collector.inject, &kept), 3);
		CHECK_INT(kept, 3);
		CHECK(gt_inject_site(collector.inject, 1, &site));
		CHECK_STR(site.text, "@%p1 exit;");
		CHECK_INT(site.location_count, 2);
		CHECK_STR(site.locations[0].file, "k.cu");
		CHECK_STR(site.locations[0].function, "f");
		CHECK(site.locations[1].line == 7 && !site.locations[1].function);
	}
	CHECK(are_equal(&first, &again));
	CHECK(find_only_file(directory.path, path, sizeof(path)));
}

TEST("a file that is corrupt is made again")
{
	auto_directory directory = make_directory();
	gt_auto_file first = {0};
	char path[256] = "";

	for (unsigned run = 0; run < 8; run++) {
		auto_collector collector = {0};
		gt_auto_file again = {0};
		int fd;

		if (!collector_open_with(&collector, directory.path))
			return;
		again = patch_text_once(&collector, KERNEL, 90);
		CHECK(!collector.last.cached);
		if (!first.data) {
			first = again;
			again = (struct gt_file){0};
		} else {
			CHECK(are_equal(&first, &again));
		}
		CHECK(find_only_file(directory.path, path, sizeof(path)));
		fd = open(path, O_RDWR | O_CLOEXEC);
		CHECK(run % 2 ? pwrite(fd, "damage", 6, 50 * run) == 6 : !ftruncate(fd, 40 * run));
		close(fd);
	}
}

TEST("images that are malformed, too short or no files are answered with the original")
{
	auto_collector collector = {0};
	int pipes[2], text = file_with("no image at all, and not PTX"), image = file_with(KERNEL);
	struct gt_agent_reply reply;
	int socket, file;

	if (!collector_open(&collector) || pipe(pipes))
		return;
	const struct {
		uint64_t size;
		int fd;
	} cases[] = {
		{strlen(KERNEL), -1},         {strlen(KERNEL) + 1, image}, {0, image},
		{UINT64_MAX, image},          {strlen(KERNEL), pipes[0]},  {20, text},
		{strlen(KERNEL) - 10, image},
	};
	for (size_t i = 0; i < gt_countof(cases); i++) {
		CHECK(ask(&collector, image_request(cases[i].size), cases[i].fd, &reply, &file,
			  &socket) == GT_AGENT_ORIGINAL);
		CHECK(file < 0 && *collector.reason);
		close(socket);
	}
	CHECK(gt_inject_coverage(collector.inject).modules_failed == gt_countof(cases));
	CHECK(!gt_inject_coverage(collector.inject).found);
	close(pipes[0]);
	close(pipes[1]);
	close(text);
	close(image);
}

TEST("requests of another protocol, version, token or operation are closed without an answer")
{
	auto_collector collector = {0};
	struct gt_agent_request wrong[4];
	struct gt_agent_reply reply;
	int socket, file;

	if (!collector_open(&collector))
		return;
	for (size_t i = 0; i < gt_countof(wrong); i++)
		wrong[i] = image_request(1);
	wrong[0].magic++;
	wrong[1].version++;
	wrong[2].operation = 77;
	wrong[3].operation = GT_AGENT_MAPS;
	memset(wrong[3].token, '0', sizeof(wrong[3].token));
	for (size_t i = 0; i < gt_countof(wrong); i++) {
		CHECK(ask(&collector, wrong[i], -1, &reply, &file, &socket) == -1);
		CHECK(recv(socket, &reply, sizeof(reply), MSG_DONTWAIT) <= 0);
		close(socket);
	}
	socket = connect_to(&collector);
	CHECK(send(socket, "x", 1, 0) == 1);
	poll_collector(&collector);
	CHECK(receive_verdict(socket, &reply, &file) == -1);
	close(socket);
	CHECK(!gt_inject_coverage(collector.inject).modules);
}

static int file_of(const char *data, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	CHECK(write(fd, data, size) == (ssize_t)size);
	return fd;
}

/* A cubin of the kernel k, and a report that it was compiled from `text`. */
static char *make_reported(const char *text, struct gt_strbuf *report, size_t *ret_size)
{
	static const struct made_kernel kernel = {.name = "k"};
	struct gt_agent_compiled compiled = {.magic = GT_AGENT_MAGIC, .input_count = 1};
	char *cubin = make_cubin(&kernel, 1, 0, ret_size);

	cubin[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	gt_strbuf_puts(report, text);
	compiled.kinds[0] = GT_AGENT_INPUT_PTX;
	compiled.inputs[0].size = report->length;
	compiled.cubin.offset = report->length;
	compiled.cubin.size = *ret_size;
	gt_strbuf_add(report, cubin, *ret_size);
	gt_strbuf_add(report, (const char *)&compiled, sizeof(compiled));
	return cubin;
}

/* Send a report of which `size` bytes are stated; its verdict. */
static int send_report(struct collector *collector, const struct gt_strbuf *report, size_t size)
{
	struct gt_agent_request request = image_request(size);
	struct gt_agent_reply reply;
	int socket, file, bytes = file_of(report->data, report->length), verdict;

	request.operation = GT_AGENT_COMPILED;
	verdict = ask(collector, request, bytes, &reply, &file, &socket);
	CHECK(file == -1);
	close(bytes);
	close(socket);
	return verdict;
}

TEST("a cubin is answered with its patched PTX once its compilation was reported")
{
	auto_collector collector = {0};
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_agent_reply reply;
	size_t size;
	gt_autofree char *cubin = make_reported(KERNEL, &report, &size);
	int socket, file, image = file_of(cubin, size);

	if (!collector_open(&collector))
		return;
	CHECK(ask(&collector, image_request(size), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	close(socket);
	CHECK(gt_inject_coverage(collector.inject).modules_sass == 1);
	CHECK(send_report(&collector, &report, report.length) == GT_AGENT_ORIGINAL);
	CHECK(gt_inject_coverage(collector.inject).modules == 1);
	CHECK(ask(&collector, image_request(size), image, &reply, &file, &socket) ==
	      GT_AGENT_WHOLE);
	CHECK(file >= 0 && !(reply.flags & (GT_AGENT_UNPATCHED | GT_AGENT_LINKED)));
	close(socket);
	close(file);
	close(image);
}

TEST("without a match, PTX that was reported is loaded where the device executes PTX alone")
{
	auto_collector collector = {0};
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_agent_reply reply;
	size_t size;
	gt_autofree char *cubin = make_reported(".version 7.8\n.target sm_75\n.address_size "
						"64\n.visible .entry k()\n{\n\tret;\n}\n",
						&report, &size);
	int socket, file, image = file_of(cubin, size);

	if (!collector_open(&collector))
		return;
	for (uint32_t i = 0; i < collector.programs.count; i++)
		collector.programs.programs[i].section.pattern = "other";
	CHECK(send_report(&collector, &report, report.length) == GT_AGENT_ORIGINAL);
	for (int always = 0; always < 2; always++) {
		gt_inject_recover_always(collector.inject, always);
		CHECK(ask(&collector, image_request(size), image, &reply, &file, &socket) ==
		      (always ? GT_AGENT_WHOLE : GT_AGENT_ORIGINAL));
		CHECK(!always || reply.flags & GT_AGENT_UNPATCHED);
		close(socket);
		if (file >= 0)
			close(file);
	}
	CHECK(!gt_inject_coverage(collector.inject).modules_patched);
	close(image);
}

TEST("malformed reports about cubins are answered and forgotten")
{
	auto_collector collector = {0};
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_agent_reply reply;
	size_t size;
	gt_autofree char *cubin = make_reported(KERNEL, &report, &size);
	int socket, file, image = file_of(cubin, size);

	if (!collector_open(&collector))
		return;
	CHECK(send_report(&collector, &report, report.length - 1) == GT_AGENT_ORIGINAL);
	CHECK(send_report(&collector, &report, report.length + 1) == GT_AGENT_ORIGINAL);
	CHECK(send_report(&collector, &report, SIZE_MAX) == GT_AGENT_ORIGINAL);
	CHECK(send_report(&collector, &report, 0) == GT_AGENT_ORIGINAL);
	CHECK(ask(&collector, image_request(size), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	close(socket);
	close(image);
}

TEST("an agent that disconnects before its answer harms nobody")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	for (int i = 0; i < 50; i++) {
		socket = connect_to(&collector);
		send_request(socket, image_request(strlen(KERNEL)), image);
		close(socket);
		poll_collector(&collector);
	}
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_WHOLE);
	close(socket);
	close(file);
	close(image);
}

TEST("sites of a patched image that the agent does not load count as rejected")
{
	auto_collector collector = {0};
	struct gt_inject_coverage coverage;
	int socket, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	/* One agent is gone before the answer, one leaves it unread. */
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	close(socket);
	poll_collector(&collector);
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	poll_collector(&collector);
	close(socket);
	poll_collector(&collector);
	coverage = gt_inject_coverage(collector.inject);
	CHECK(coverage.modules == 2 && !coverage.modules_patched && coverage.modules_failed == 2);
	CHECK(coverage.found == 4 && !coverage.patched && coverage.rejected == 4);
	CHECK(!collector.last.patched && collector.last.rejected == 2);
	CHECK_STR(collector.reason, "the process did not wait for the patched module");
	close(image);
}

TEST("all that agents have sent is read at once, however many they are")
{
	auto_collector collector = {0};
	int sockets[100];

	if (!collector_open(&collector))
		return;
	for (size_t i = 0; i < gt_countof(sockets); i++) {
		sockets[i] = connect_to(&collector);
		send_request(sockets[i], image_request(1), -1);
	}
	CHECK(!gt_inject_poll(collector.inject, NULL));
	CHECK(gt_inject_coverage(collector.inject).modules == gt_countof(sockets));
	for (size_t i = 0; i < gt_countof(sockets); i++)
		close(sockets[i]);
}

TEST("a connection has ended although a child of the collector's process keeps it open")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL), gate[2];
	pid_t child;
	char byte;

	if (!collector_open(&collector) || pipe(gate))
		return;
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	poll_collector(&collector);
	child = fork();
	if (!child) {
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	CHECK(receive_verdict(socket, &reply, &file) == GT_AGENT_WHOLE);
	close(file);
	for (int i = 0; i < 3; i++) {
		CHECK(send(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result));
		poll_collector(&collector);
	}
	CHECK(gt_inject_coverage(collector.inject).modules_patched == 1);
	close(socket);
	close(gate[1]);
	waitpid(child, NULL, 0);
	close(gate[0]);
	close(image);
}

TEST("a connection that is not accepted for lack of memory is counted")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	fail_allocation(0);
	poll_collector(&collector);
	CHECK(stop_failing() == 1);
	CHECK(receive_verdict(socket, &reply, &file) == -1);
	CHECK(gt_inject_coverage(collector.inject).connections_dropped == 1);
	close(socket);
	close(image);
}

static int count_open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST("descriptors that the protocol does not have are not kept")
{
	auto_collector collector = {0};
	struct gt_agent_request request = image_request(strlen(KERNEL));
	int socket, before, file, image = file_with(KERNEL);
	const int files[MAX_FILES] = {image, image};
	struct gt_agent_reply reply;

	if (!collector_open(&collector))
		return;
	/* The collector keeps the answer. */
	ask(&collector, request, image, &reply, &file, &socket);
	close(socket);
	close(file);
	poll_collector(&collector);
	before = count_open_files();
	socket = connect_to(&collector);
	memcpy(request.token, token, sizeof(request.token));
	send_bytes(socket, &request, sizeof(request), files, 2);
	poll_collector(&collector);
	close(socket);
	socket = connect_to(&collector);
	send_bytes(socket, NULL, 0, files, 1);
	poll_collector(&collector);
	close(socket);
	poll_collector(&collector);
	CHECK(count_open_files() == before);
	close(image);
}

TEST("an image is read from a memfd and from no other file")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!collector_open(&collector))
		return;
	CHECK(ask(&collector, image_request(64), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	CHECK_STR(collector.reason, "the image could not be read");
	close(socket);
	close(image);
}

TEST("the memory of the maps cannot be resized by a process that has it")
{
	auto_collector collector = {0};
	struct gt_agent_request request = image_request(0);
	struct gt_agent_reply reply;
	int socket, file;
	uint64_t *counts;

	if (!collector_open(&collector))
		return;
	request.operation = GT_AGENT_MAPS;
	CHECK(ask(&collector, request, -1, &reply, &file, &socket) == GT_AGENT_MEMORY);
	CHECK(ftruncate(file, 0) && errno == EPERM);
	CHECK(reply.address && reply.size);
	counts = mmap(NULL, reply.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(counts != MAP_FAILED);
	/* The collector sees what the process writes. The first page has the switches. */
	if (counts != MAP_FAILED) {
		counts[4096 / sizeof(*counts) + 3] = 77;
		CHECK(((const uint64_t *)gt_inject_view(collector.inject, 0).memory)[3] == 77);
		munmap(counts, reply.size);
	}
	close(socket);
	close(file);
}

/* ---- 'gputap probe' ---------------------------------------------------------------------- */

enum {
	MANY = 40, /* more than the session keeps */
};

/* A connection of the control socket, found as gt_control_ask finds it. */
static int connect_control(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	gt_auto_file sockets = {0};
	char prefix[64], name[80] = "";
	const char *at;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(prefix, sizeof(prefix), "@" GT_CONTROL_PREFIX "%d-", (int)getpid());
	CHECK(!gt_file_read("/proc/net/unix", 64 << 20, &sockets, NULL));
	at = sockets.data ? strstr((const char *)sockets.data, prefix) : NULL;
	CHECK(at && sscanf(at, "@%79s", name) == 1);
	memcpy(address.sun_path + 1, name, strlen(name));
	CHECK(!connect(fd, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))));
	return fd;
}

static void *poll_until_stopped(void *context)
{
	struct collector *collector = context;

	while (!__atomic_load_n(&collector->stopped, __ATOMIC_RELAXED)) {
		gt_inject_poll(collector->inject, NULL);
		usleep(1000);
	}
	return NULL;
}

static void count_program(void *context, pid_t pid, const struct gt_control_reply *reply)
{
	*(unsigned *)context += pid == getpid() && reply->flags & GT_CONTROL_ON;
}

TEST("silent and malformed peers do not keep 'gputap probe' from a session")
{
	auto_collector collector = {.switchable = true};
	struct gt_control_request request = {.operation = GT_CONTROL_LIST, .name = "*"};
	int peers[MANY];
	uint32_t sessions = 0;
	unsigned programs = 0;
	struct gt_diag diag = {0};
	int before;
	pthread_t thread;

	if (!collector_open(&collector))
		return;
	before = count_open_files();
	for (unsigned i = 0; i < MANY; i++) {
		peers[i] = connect_control();
		if (i % 2)
			send_bytes(peers[i], "no request", 10, NULL, 0);
		poll_collector(&collector);
	}
	CHECK(!pthread_create(&thread, NULL, poll_until_stopped, &collector));
	CHECK(!gt_control_ask(&request, getpid(), count_program, &programs, &sessions, &diag));
	CHECK_STR(diag.text, "");
	CHECK(sessions == 1);
	CHECK(programs == 2);
	request = (struct gt_control_request){.operation = 77, .name = "*"};
	CHECK(gt_control_ask(&request, getpid(), count_program, &programs, &sessions, NULL) ==
	      -EINVAL);
	__atomic_store_n(&collector.stopped, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < MANY; i++)
		close(peers[i]);
	poll_collector(&collector);
	CHECK(count_open_files() == before);
}

TEST_MAIN
