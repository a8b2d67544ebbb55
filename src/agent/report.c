/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/environment.h"

enum { FIRST_CAPACITY = 1 << 16 };

void *gt_agent_allocate(size_t size)
{
	void *memory =
		mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void gt_agent_release(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size + 1);
}

void gt_agent_report_begin(struct gt_agent_report *report)
{
	*report = (struct gt_agent_report){
		.capacity = FIRST_CAPACITY,
		.compiled = {.magic = GT_AGENT_MAGIC},
	};
	if (gt_agent_environment()->collector_size)
		report->data = gt_agent_allocate(report->capacity);
}

void gt_agent_report_end(struct gt_agent_report *report)
{
	gt_agent_release(report->data, report->capacity);
	report->data = NULL;
}

static bool grow_report(struct gt_agent_report *report, size_t more)
{
	size_t capacity = report->capacity;
	void *data;

	if (!report->data || more > GT_AGENT_MAX_COMPILED + sizeof(report->compiled) ||
	    report->size + more > GT_AGENT_MAX_COMPILED + sizeof(report->compiled))
		return false;
	while (report->size + more > capacity)
		capacity *= 2;
	if (capacity == report->capacity)
		return true;
	data = mremap(report->data, report->capacity + 1, capacity + 1, MREMAP_MAYMOVE);
	if (data == MAP_FAILED)
		return false;
	report->data = data;
	report->capacity = capacity;
	return true;
}

/* Append bytes; the report is over if that fails. */
static bool append_bytes(struct gt_agent_report *report, const void *data, size_t size)
{
	if (!grow_report(report, size)) {
		gt_agent_report_end(report);
		return false;
	}
	memcpy(report->data + report->size, data, size);
	report->size += size;
	return true;
}

void gt_agent_report_add(struct gt_agent_report *report, enum gt_agent_input_kind kind,
			 const void *data, size_t size)
{
	struct gt_agent_compiled *compiled = &report->compiled;
	const struct gt_agent_part part = {.offset = report->size, .size = size};

	if (compiled->input_count == GT_AGENT_MAX_INPUTS) {
		gt_agent_report_end(report);
		return;
	}
	if (!append_bytes(report, data, size))
		return;
	compiled->kinds[compiled->input_count] = kind;
	compiled->inputs[compiled->input_count++] = part;
}

void gt_agent_report_add_file(struct gt_agent_report *report, enum gt_agent_input_kind kind,
			      const char *path)
{
	struct gt_agent_file file = {0};

	if (report->data)
		file = gt_agent_read_file(path);
	if (file.data)
		gt_agent_report_add(report, kind, file.data, file.size - 1);
	else
		gt_agent_report_end(report);
	gt_agent_unmap_file(&file);
}

bool gt_agent_report_send(struct gt_agent_report *report, const void *cubin, size_t size)
{
	struct gt_agent_compiled compiled = report->compiled;
	size_t inputs = report->size;
	struct gt_agent_image image;
	bool is_wanted = false;

	compiled.cubin = (struct gt_agent_part){.offset = inputs, .size = size};
	if (append_bytes(report, cubin, size) &&
	    append_bytes(report, &compiled, sizeof(compiled))) {
		image = (struct gt_agent_image){.data = report->data, .size = report->size};
		is_wanted = gt_agent_send_compiled(&image);
	}
	report->size = inputs;
	return is_wanted;
}
