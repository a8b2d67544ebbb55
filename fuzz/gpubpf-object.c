/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Input: an eBPF object with BTF. Read it, verify and translate its programs. */
#include <sys/mman.h>

#include "base/file.h"
#include "gpubpf/object/object.h"
#include "gpubpf/translate.h"
#include "gpubpf/verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct gt_bpf_object *object, const struct gt_bpf_program *program)
{
	struct gt_section section;
	struct gt_verify_options options = {.section = &section, .max_visited = 5000};
	struct gt_translate_options target = {.sm = 75};
	struct gt_translate_job job = {.program = program, .section = &section, .memory_size = 64};
	struct gt_translation translation = {0};
	struct gt_facts facts;

	if (gt_section_read(program->section, program->name, &section, NULL) ||
	    section.kind == GT_KIND_HOST)
		return;
	if (section.kind == GT_KIND_RUN) {
		options.input = GT_INPUT_MEMORY;
		options.memory_size = 64;
	}
	if (gt_verify(object, program, &options, &facts, NULL, NULL))
		return;
	job.memory_size = options.memory_size;
	job.facts = &facts;
	gt_target_ptx.translate(&target, object, &job, &translation, NULL);
	gt_translation_clear(&translation);
	gt_facts_clear(&facts);
}

/* Any bytes are a value of any type. */
static void print_value(const struct gt_bpf_type *type, uint32_t size, const uint8_t *data,
			size_t available)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&object);
	gt_autofree uint8_t *value = size && size <= 4096 ? malloc(size) : NULL;

	for (uint32_t i = 0; value && i < size; i++)
		value[i] = data[i % available];
	if (!value)
		return;
	gt_bpf_value_print(type, value, size, NULL, &text);
	gt_bpf_value_print_json(type, value, size, NULL, &json, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autoclose int fd = memfd_create("object", MFD_CLOEXEC);
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	char path[32];

	if (fd < 0 || gt_write_all(fd, data, size))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (gt_bpf_object_open(path, false, &object, NULL))
		return 0;
	for (uint32_t i = 0; i < object->program_count; i++)
		look_at(object, &object->programs[i]);
	for (uint32_t i = 0; i < object->map_count; i++) {
		print_value(&object->maps[i].key, object->maps[i].key_size, data, size);
		print_value(&object->maps[i].value, object->maps[i].value_size, data, size);
	}
	return 0;
}
