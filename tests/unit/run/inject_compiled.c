/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cubins whose compilation was reported to the collector. */
#include "collector.h"
#include "cubin.h"

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

TEST("PTX that was reported is loaded again and again where programs match and have no site")
{
	auto_collector collector = {0};
	gt_auto_strbuf report = GT_STRBUF_INIT;
	struct gt_agent_reply reply;
	size_t size;
	gt_autofree char *cubin = make_reported(KERNEL, &report, &size);
	int socket, file, image = file_of(cubin, size);

	if (!collector_open(&collector))
		return;
	/* The kernel has no atomic operation. */
	for (uint32_t i = 0; i < collector.programs.count; i++)
		collector.programs.programs[i].section.kind = GT_KIND_ATOMIC;
	CHECK(send_report(&collector, &report, report.length) == GT_AGENT_ORIGINAL);
	gt_inject_recover_always(collector.inject, true);
	for (int cached = 0; cached < 3; cached++) {
		CHECK(ask(&collector, image_request(size), image, &reply, &file, &socket) ==
		      GT_AGENT_WHOLE);
		CHECK(file >= 0 && reply.flags & GT_AGENT_UNPATCHED);
		CHECK(collector.last.cached == !!cached && !collector.last.found);
		close(socket);
		close(file);
	}
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

TEST_MAIN
