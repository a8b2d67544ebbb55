/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the reader of objects. */
#pragma once

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/file.h"
#include "gpubpf/object/object.h"

/* The start of .BTF.ext (Documentation/bpf/btf.rst). */
struct gt_object_ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size;
	uint32_t functions, functions_size;
	uint32_t lines, lines_size;
	uint32_t relocations, relocations_size;
};

/* A kind of records in .BTF.ext, section by section. */
struct gt_object_records {
	const uint8_t *data;
	uint32_t size, at, record_size;
};

struct gt_object_section_records {
	uint32_t name, count;
	const uint8_t *first;
};

/* An object while it is read. */
struct gt_object_reader {
	const char *path;
	struct bpf_object *source;
	struct gt_bpf_object *object;
	struct gt_file file; /* the object's bytes */
	struct gt_file ext;  /* its .BTF.ext */
	struct gt_object_ext_header header;
	bool all;     /* programs are for the GPU wherever they stand … */
	bool in_text; /* … and they stand in .text alone */
	struct gt_diag *diag;
};

int gt_object_damaged(struct gt_object_reader *reader, const char *what);
int gt_object_no_memory(struct gt_object_reader *reader);

/*
 * Whether all that its tables refer to is there, so that libbpf may read it. *ret_lacks_types: it
 * has maps, and no BTF that says what they are.
 */
bool gt_object_is_sound(const struct gt_file *object, bool *ret_lacks_types);

/*
 * If nothing but .text is code in a sound object, calls it _text, since libbpf takes what stands in
 * .text for functions of other programs. Returns where the '_' stands, else NULL.
 */
uint8_t *gt_object_hide_text(struct gt_file *object);

/* The records at an offset of .BTF.ext; false if they are not all there. */
bool gt_object_records(const struct gt_file *ext, uint32_t offset, uint32_t size,
		       struct gt_object_records *ret_records);
bool gt_object_next_section(struct gt_object_records *records,
			    struct gt_object_section_records *ret_section);

/*
 * What .BTF.ext says of a program that was relocated, with its functions: the source lines, if the
 * object has any, and whether there are CO-RE records, which are a problem. 0, -EINVAL: damaged,
 * -ENOMEM.
 */
int gt_object_read_records(struct gt_object_reader *reader, struct gt_bpf_program *program);
