/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internals of the object reader. */
#pragma once

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/file.h"
#include "base/vec.h"
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

/* The records of one kind in .BTF.ext: blocks, one per section of the object. */
struct gt_object_records {
	const uint8_t *data;
	uint32_t size, at, record_size;
};

struct gt_object_section_records {
	uint32_t name, count;
	const uint8_t *first;
};

struct gt_object_map_types {
	struct gt_bpf_type key, value;
	bool pinned;
};

/* A variable of the kernel's configuration whose value is not known. */
struct gt_object_extern {
	char *name, *problem; /* owned */
};

struct gt_object_externs {
	struct gt_strbuf configuration; /* lines NAME=VALUE for libbpf: variables without a value */
	GT_VEC(struct gt_object_extern) unresolved;
};

/* An object being read. */
struct gt_object_reader {
	const char *path;
	struct bpf_object *source;
	struct gt_bpf_object *object;
	const struct gt_file *file; /* the bytes of the object, checked */
	struct gt_file ext;         /* its .BTF.ext */
	struct gt_object_ext_header header;
	struct gt_object_map_types *types; /* by map; libbpf forgets some */
	struct gt_object_externs externs;
	bool all;     /* every program counts as a GPU program */
	bool in_text; /* and all of them are functions of .text */
	struct gt_diag *diag;
};

/* Set the diag and return -EINVAL or -ENOMEM. */
int gt_object_malformed(struct gt_object_reader *reader, const char *problem);
int gt_object_no_memory(struct gt_object_reader *reader);

/*
 * Check that every reference in the ELF and BTF tables is valid, so that libbpf may parse the
 * bytes. *ret_lacks_types: the object has maps, and no BTF that describes them.
 */
bool gt_object_is_valid(const struct gt_file *file, bool *ret_lacks_types);

/* Find a section of a valid object by name. *ret_bytes lies in the file's bytes; else false. */
bool gt_object_find_section(const struct gt_file *file, const char *name,
			    struct gt_file *ret_bytes);
/* Find a section of a valid object by name. *ret_data is a copy that the caller frees; else false.
 */
bool gt_object_copy_section(const struct gt_file *file, const char *name, struct gt_file *ret_data);

/* A byte of an object that was changed. */
struct gt_object_byte {
	uint8_t *at, before;
};

/* What was changed in the bytes of an object. */
struct gt_object_hidden {
	GT_VEC(struct gt_object_byte) bytes;
	bool text; /* .text is one of them */
};

/*
 * Rename sections of a valid object that libbpf would misread, by changing a character to '_':
 *
 *	.struct_ops…   libbpf 1.1 looks their types up in the kernel, which is not involved here
 *	.rel.maps      initial values of maps of programs and of maps, which it cannot set up then
 *	.text          with `all`, if it is the only section with code: libbpf takes functions in
 *	               it for subprograms
 *
 * 0 or -ENOMEM. The caller changes the bytes back by gt_object_restore, also after an error.
 */
int gt_object_hide(const struct gt_file *file, bool all, struct gt_object_hidden *ret_hidden);
void gt_object_restore(struct gt_object_hidden *hidden);
/* Change another byte until gt_object_restore. 0 or -ENOMEM. */
int gt_object_change_byte(struct gt_object_hidden *hidden, uint8_t *at, uint8_t value);

/*
 * Have libbpf open and relocate a valid object although this machine lacks some of what it declares
 * extern: changes bytes of it, until gt_object_restore, and returns what libbpf must be given in
 * *ret_externs, which the caller frees, also after an error. 0 or -ENOMEM.
 */
int gt_object_resolve_externs(const struct gt_file *file, struct gt_object_hidden *hidden,
			      struct gt_object_externs *ret_externs);
void gt_object_externs_free(struct gt_object_externs *externs);
/* Set the `problem` of a relocated program that uses an unresolved extern. 0 or -ENOMEM. */
int gt_object_check_externs(struct gt_object_reader *reader, struct gt_bpf_program *program);

/* Find the records at an offset of .BTF.ext. False if they exceed the section. */
bool gt_object_records(const struct gt_file *ext, uint32_t offset, uint32_t size,
		       struct gt_object_records *ret_records);
bool gt_object_next_section(struct gt_object_records *records,
			    struct gt_object_section_records *ret_section);

/*
 * Read the .BTF.ext records of a relocated program and its functions: source lines, and CO-RE
 * relocations, which become the program's `problem`. 0; -EINVAL: malformed; -ENOMEM.
 */
int gt_object_read_records(struct gt_object_reader *reader, struct gt_bpf_program *program);

/* Read the types that maps are declared with, before libbpf relocates. 0 or -ENOMEM. */
int gt_object_read_types(struct gt_object_reader *reader);
/* Set the types of a map of the object. */
void gt_object_take_types(const struct gt_object_reader *reader, uint32_t number);
/* Find the maps that a program passes to bpf_hist_add. */
void gt_object_find_histograms(struct gt_bpf_object *object, const struct gt_bpf_program *program);

/*
 * Replace the subtraction of x - x / c * c, unsigned, by the remainder that it is: the verifier
 * knows its bounds. Without memory the instructions stay as they are.
 */
void gt_object_find_remainders(struct bpf_insn *insns, uint32_t count);
