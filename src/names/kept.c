/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "event/kinds.h"

#define MAX_KEPT_FRAMES 256 /* inlined at one address */

static void put_text(struct gt_strbuf *text, const char *value)
{
	gt_strbuf_puts(text, value ? value : "");
	gt_strbuf_putc(text, '\0');
}

static void put_number(struct gt_strbuf *text, uint64_t value)
{
	gt_strbuf_printf(text, "%" PRIu64, value);
	gt_strbuf_putc(text, '\0');
}

struct gt_event *gt_kept_location_event(uint32_t process, uint64_t address,
					const struct gt_location *location)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_event_location *event;

	put_text(&text, location->path);
	for (size_t i = 0; i < location->frame_count && i < MAX_KEPT_FRAMES; i++) {
		const struct gt_source_frame *frame = &location->frames[i];

		put_text(&text, frame->function);
		put_text(&text, frame->symbol);
		put_text(&text, frame->file);
		put_number(&text, frame->line);
		put_number(&text, frame->column);
		put_number(&text, frame->offset);
		put_number(&text, frame->inlined);
	}
	if (text.failed)
		return NULL;
	event = (void *)gt_event_new(GT_EVENT_location, gt_strbuf_string(&text), text.length);
	if (!event)
		return NULL;
	event->head.process = process;
	event->address = address;
	event->offset = location->offset;
	event->elf_address = location->address;
	return &event->head;
}

/* Texts that follow each other, each with its NUL. */
struct text_reader {
	char *at, *end;
};

/* The next text; NULL: there is none. An empty one is NULL, too, in `*ret_text`. */
static bool next_text(struct text_reader *reader, const char **ret_text)
{
	char *text = reader->at;
	char *nul = text < reader->end ? memchr(text, '\0', (size_t)(reader->end - text)) : NULL;

	if (!nul)
		return false;
	reader->at = nul + 1;
	*ret_text = nul > text ? text : NULL;
	return true;
}

static bool next_number(struct text_reader *reader, uint64_t *ret_number)
{
	const char *text;

	/* Numbers are never empty: that is the padding of the event. */
	if (!next_text(reader, &text) || !text)
		return false;
	*ret_number = strtoull(text, NULL, 10);
	return true;
}

static bool next_frame(struct text_reader *reader, struct gt_source_frame *frame)
{
	uint64_t line, column, offset, inlined;

	if (!next_text(reader, &frame->function) || !next_text(reader, &frame->symbol) ||
	    !next_text(reader, &frame->file) || !next_number(reader, &line) ||
	    !next_number(reader, &column) || !next_number(reader, &offset) ||
	    !next_number(reader, &inlined))
		return false;
	frame->line = (uint32_t)line;
	frame->column = (uint32_t)column;
	frame->offset = offset;
	frame->inlined = inlined;
	return true;
}

void gt_kept_location_free(void *opaque)
{
	struct gt_kept_location *kept = opaque;

	if (!kept)
		return;
	free(kept->frames);
	free(kept->text);
	free(kept);
}

struct gt_kept_location *gt_kept_location_new(const struct gt_event_location *event)
{
	size_t size = gt_event_tail_size(&event->head), count = 0;
	struct gt_source_frame frames[MAX_KEPT_FRAMES];
	struct gt_kept_location *kept = calloc(1, sizeof(*kept));
	struct text_reader reader;

	if (kept)
		kept->text = malloc(size + 1);
	if (!kept || !kept->text) {
		gt_kept_location_free(kept);
		return NULL;
	}
	memcpy(kept->text, event->text, size);
	reader = (struct text_reader){kept->text, kept->text + size};
	kept->location.offset = event->offset;
	kept->location.address = event->elf_address;
	if (next_text(&reader, &kept->location.path))
		while (count < MAX_KEPT_FRAMES && next_frame(&reader, &frames[count]))
			count++;
	kept->frames = malloc((count + 1) * sizeof(*frames));
	if (!kept->frames) {
		gt_kept_location_free(kept);
		return NULL;
	}
	memcpy(kept->frames, frames, count * sizeof(*frames));
	kept->location.frames = kept->frames;
	kept->location.frame_count = count;
	return kept;
}

struct gt_event *gt_kept_resources_event(const struct gt_kernel *kernel)
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_event_resources *event;

	for (size_t i = 0; i < kernel->usage_count; i++)
		gt_strbuf_add(&bytes, (const char *)&kernel->usages[i], sizeof(*kernel->usages));
	for (size_t i = 0; i < kernel->parameter_count; i++) {
		const uint32_t parameter[] = {kernel->parameters[i].offset,
					      kernel->parameters[i].size};

		gt_strbuf_add(&bytes, (const char *)parameter, sizeof(parameter));
	}
	put_text(&bytes, kernel->name);
	for (size_t i = 0; i < kernel->parameter_count; i++)
		put_text(&bytes, kernel->parameters[i].type);
	if (bytes.failed)
		return NULL;
	event = (void *)gt_event_new(GT_EVENT_resources, gt_strbuf_string(&bytes), bytes.length);
	if (!event)
		return NULL;
	event->parameters = (uint32_t)kernel->parameter_count;
	event->usages = (uint32_t)kernel->usage_count;
	event->ptx_shared = kernel->ptx_shared_bytes;
	return &event->head;
}

/* Read the texts of an event's tail, and add the kernel. */
static int add_resources(const struct gt_event_resources *event, uint8_t *bytes, size_t size,
			 struct gt_parameter *parameters, struct gt_parameters *collection)
{
	size_t usages = event->usages * sizeof(struct gt_kernel_usage);
	const uint32_t *pairs = (const uint32_t *)(bytes + usages);
	struct text_reader reader = {(char *)(pairs + 2 * event->parameters), (char *)bytes + size};
	struct gt_kernel kernel = {
		.parameters = parameters,
		.parameter_count = event->parameters,
		.usages = (const struct gt_kernel_usage *)bytes,
		.usage_count = event->usages,
		.ptx_shared_bytes = event->ptx_shared,
	};

	if (!next_text(&reader, &kernel.name) || !kernel.name)
		return 0;
	for (size_t i = 0; i < event->parameters; i++) {
		parameters[i] = (struct gt_parameter){pairs[2 * i], pairs[2 * i + 1], NULL};
		if (!next_text(&reader, &parameters[i].type))
			return 0;
	}
	return gt_parameters_add(collection, &kernel);
}

int gt_kept_resources_add(const struct gt_event_resources *event, struct gt_parameters *collection)
{
	size_t size = gt_event_tail_size(&event->head);
	gt_autofree struct gt_parameter *parameters = NULL;
	gt_autofree uint8_t *bytes = NULL;

	if (event->usages > size / sizeof(struct gt_kernel_usage) ||
	    event->parameters > (size - event->usages * sizeof(struct gt_kernel_usage)) /
					(2 * sizeof(uint32_t)))
		return 0;
	bytes = malloc(size + 1);
	parameters = calloc((size_t)event->parameters + 1, sizeof(*parameters));
	if (!bytes || !parameters)
		return -ENOMEM;
	memcpy(bytes, event->bytes, size);
	return add_resources(event, bytes, size, parameters, collection);
}
