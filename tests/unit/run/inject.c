/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector's answers to the images that agents hand over. */
#include <errno.h>
#include <sys/resource.h>

#include "collector.h"
#include "failing_alloc.h"
#include "ptxas.h"

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

TEST("static kernels of one name in several modules are one name in the answer")
{
	static const char text[] =
		".version 7.8\n.target sm_75\n.address_size 64\n.entry k()\n{\n\tret;\n}\n";
	const struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX, .architecture = 75, .data = text, .size = sizeof(text)};
	gt_auto_strbuf image = GT_STRBUF_INIT;
	gt_autoclose int file = memfd_create("image", MFD_CLOEXEC), patched = -1, socket = -1;
	auto_collector collector = {0};
	struct gt_agent_reply reply = {0};

	if (!collector_open(&collector))
		return;
	for (int i = 0; i < 2; i++)
		CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, &image, NULL), 0);
	CHECK(write(file, image.data, image.length) == (ssize_t)image.length);
	CHECK_INT(ask(&collector, image_request(image.length), file, &reply, &patched, &socket),
		  GT_AGENT_WHOLE);
	CHECK_INT(reply.kernels, 1);
	CHECK_INT(reply.names_size, 2);
}

TEST("what the driver rejects once patched counts as rejected, with its error")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	static const struct {
		int error;
		const char *reason;
	} cases[] = {
		{2, "the driver rejected the patched module (2)"},
		{GT_AGENT_NO_MEMORY, "the process has no memory for the patched module"},
		{GT_AGENT_NO_MAPS, "the GPU cannot access the memory of the maps"},
		{GT_AGENT_MAPS_ON_GPU,
		 "the maps are in memory of the GPU since the process executes patched CUDA "
		 "kernels: use --host-maps"},
		{GT_AGENT_NO_ORIGINAL, "the driver rejected the original module"},
		{GT_AGENT_COPIED_ELSEWHERE,
		 "the maps are copied to the devices of another OpenCL context of "
		 "the process"},
		{GT_AGENT_SMALLER_BLOCKS,
		 "the blocks of a patched kernel would have fewer threads than those of the "
		 "original"},
		{GT_AGENT_BAD_REPLY, "the agent of the process rejected the answer of gputap"},
		{218, "the driver rejected the patched module (218)"},
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
	/* It would reject that text again. */
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	coverage = gt_inject_coverage(collector.inject);
	CHECK(coverage.modules_failed == gt_countof(cases) + 1 && !coverage.patched);
	CHECK(coverage.found == 2 * coverage.modules_failed && file < 0);
	CHECK(coverage.rejected == coverage.found);
	CHECK_STR(collector.reason, "the driver rejected the patched module (218)");
	close(socket);
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
	char command[2 * TEMPORARY_PATH + 128];
	struct temporary input;
	auto_collector collector = {0};
	struct gt_agent_reply reply = {0};
	gt_autofree char *ptx = NULL;
	gt_auto_file cubin = {0};
	int fd;

	NEED_TOOL("ptxas");
	if (!collector_open(&collector))
		return;
	ptx = make_side_module(&collector, &reply);
	fd = make_temporary_file(&input);
	CHECK(ptx && fd >= 0 && write(fd, ptx, strlen(ptx)) == (ssize_t)strlen(ptx));
	close(fd);
	snprintf(command, sizeof(command), TOOLS "ptxas -arch=sm_75 -o %s.cubin %s", input.path,
		 input.path);
	CHECK(!system(command));
	snprintf(command, sizeof(command), "%s.cubin", input.path);
	CHECK(!gt_file_read(command, 1 << 20, &cubin, NULL));
	CHECK(count_texts((const char *)cubin.data, cubin.size, ".text.k") >= 1);
	CHECK_INT(count_texts((const char *)cubin.data, cubin.size, "other"), 0);
	unlink(command);
	unlink(input.path);
}

/* The answer to a list of names. */
static int ask_about_names(struct collector *collector, const char *list, size_t size)
{
	struct gt_agent_request request = image_request(size);
	gt_autoclose int names = memfd_create("names", MFD_CLOEXEC), socket = -1;
	struct gt_agent_reply reply;
	int file;

	request.operation = GT_AGENT_NAMES;
	CHECK(write(names, list, size) == (ssize_t)size);
	return ask(collector, request, names, &reply, &file, &socket);
}

TEST("an image is wanted if a program may match one of its names, and counted if none does")
{
	auto_collector collector = {0};

	if (!collector_open(&collector))
		return;
	CHECK_INT(ask_about_names(&collector, "eother\0fh\0ek", 13), GT_AGENT_WANTED);
	CHECK_INT(ask_about_names(&collector, "ek", 3), GT_AGENT_WANTED);
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 0);
	CHECK_INT(ask_about_names(&collector, "eother\0fk2\0ekk", 15), GT_AGENT_ORIGINAL);
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 1);
	CHECK(collector.last.number == 1 && collector.last.pid == getpid());
	/* Not a list: the image shows what it is. */
	CHECK_INT(ask_about_names(&collector, "", 0), GT_AGENT_WANTED);
	CHECK_INT(ask_about_names(&collector, "\0", 1), GT_AGENT_WANTED);
	CHECK_INT(ask_about_names(&collector, "eother", 6), GT_AGENT_WANTED);
	CHECK_INT(ask_about_names(&collector, "e\0eother", 9), GT_AGENT_WANTED);
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 1);
}

TEST_MAIN
