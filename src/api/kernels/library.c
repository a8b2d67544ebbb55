/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/library.h"

#include <errno.h>
#include <string.h>

#include "api/kernels/container.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/ptx_names.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "fatbin/cubin.h"
#include "fatbin/fatbin.h"

#define FILE_LIMIT ((size_t)1 << 30)      /* bytes of a file that is an image itself */
#define CONTAINER_LIMIT ((size_t)1 << 30) /* bytes of one container in a program */
#define CONTAINER_HEAD 16 /* u32 magic, u16 version, u16 its bytes, u64 that follow */
#define MAX_SKIPPED 4096  /* words between two containers */

/* Where a program has its containers. */
static const char *const section_names[] = {".nv_fatbin", "__nv_relfatbin"};

struct indexed_container {
	uint64_t at, size; /* in the file, bytes */
	bool is_complete;  /* all of its entries are in the index */
};

/* The kernels of one section, or of a file that is an image. */
struct code_section {
	const char *name;
	uint64_t at, end; /* offsets in the file; what is before `at` was visited */
	GT_VEC(struct indexed_container) containers;
	size_t completed;      /* containers before this one are complete */
	struct gt_hash *names; /* of a kernel -> the number of its container, from 1 */
};

struct gt_kernel_library {
	struct gt_elf *elf;   /* a program or a library; else NULL */
	struct gt_file image; /* the one container of another file */
	struct code_section sections[gt_countof(section_names)];
	uint64_t size;
	int error; /* the first malformed part */
	struct gt_diag why;
};

/* The bytes of a container while it is read. */
struct container_bytes {
	const uint8_t *data;
	size_t size;
	uint8_t *owned;
};

static void gt_cleanup_container_bytes(struct container_bytes *bytes)
{
	free(bytes->owned);
}
#define auto_container __attribute__((cleanup(gt_cleanup_container_bytes))) struct container_bytes

/* A malformed part is passed over; the first one is kept for who finds nothing. */
static int keep_error(struct gt_kernel_library *library, int error, const struct gt_diag *why)
{
	if (error == -ENOMEM)
		return error;
	if (error && !library->error) {
		library->error = error;
		library->why = *why;
	}
	return 0;
}

static int open_program(struct gt_kernel_library *library)
{
	for (size_t i = 0; i < gt_countof(section_names); i++) {
		struct code_section *section = &library->sections[i];
		uint64_t at, size;

		if (gt_elf_section(library->elf, section_names[i], &at, &size))
			continue;
		section->name = section_names[i];
		section->at = at;
		section->end = at + size;
		library->size += size;
	}
	return library->size ? 0 : -ENOENT;
}

static int open_image(struct gt_kernel_library *library, const char *path, struct gt_diag *diag)
{
	int error = gt_file_read(path, FILE_LIMIT, &library->image, diag);

	if (error)
		return error;
	if (gt_fatbin_classify(library->image.data, library->image.size) == GT_FATBIN_IMAGE_UNKNOWN)
		return gt_diag(diag, -ENOEXEC, "kernels", path,
			       "neither a fatbin nor a cubin nor PTX text");
	library->size = library->sections[0].end = library->image.size;
	return 0;
}

int gt_kernel_library_open(const char *path, struct gt_kernel_library **ret_library,
			   struct gt_diag *diag)
{
	gt_auto(kernel_library) struct gt_kernel_library *library = calloc(1, sizeof(*library));
	struct gt_diag why = {0};
	int error = library ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < gt_countof(section_names); i++) {
		library->sections[i].names = gt_hash_new();
		error = library->sections[i].names ? 0 : -ENOMEM;
	}
	if (error)
		return gt_diag(diag, error, "kernels", path, "out of memory");
	error = gt_elf_open(path, &library->elf, &why);
	if (!error)
		error = open_program(library);
	else if (error == -ENOEXEC)
		error = open_image(library, path, diag);
	else
		gt_diag(diag, error, why.stage, why.place, "%s", why.text);
	if (!error)
		*ret_library = gt_take(library);
	return error;
}

void gt_kernel_library_free(struct gt_kernel_library *library)
{
	if (!library)
		return;
	for (size_t i = 0; i < gt_countof(section_names); i++) {
		gt_vec_free(&library->sections[i].containers);
		gt_hash_free(library->sections[i].names);
	}
	gt_elf_free(library->elf);
	gt_file_free(&library->image);
	free(library);
}

uint64_t gt_kernel_library_size(const struct gt_kernel_library *library)
{
	return library->size;
}

/* The next container of a section. -ENOENT: none follows. */
static int find_next_container(struct gt_kernel_library *library, struct code_section *section,
			       struct indexed_container *ret_container)
{
	uint8_t head[CONTAINER_HEAD];
	struct gt_diag why = {0};
	uint16_t head_size;
	uint64_t body;

	for (size_t skipped = 0; section->end - section->at >= sizeof(head); section->at += 8) {
		int error = gt_elf_read(library->elf, section->at, head, sizeof(head));

		/* Zeros that align, at most; nobody leaves pages of them. */
		if (error || skipped++ > MAX_SKIPPED)
			break;
		if (gt_fatbin_classify(head, sizeof(head)) != GT_FATBIN_IMAGE_FATBIN)
			continue;
		memcpy(&head_size, head + 6, sizeof(head_size));
		memcpy(&body, head + 8, sizeof(body));
		if (body > CONTAINER_LIMIT || head_size + body > section->end - section->at) {
			gt_diag(&why, -EBADMSG, "kernels", NULL,
				"malformed %s: a container is longer than the section",
				section->name);
			keep_error(library, -EBADMSG, &why);
			break;
		}
		ret_container->at = section->at;
		ret_container->size = head_size + body;
		section->at += (ret_container->size + 7) & ~UINT64_C(7);
		if (section->at > section->end)
			section->at = section->end;
		return 0;
	}
	section->at = section->end;
	return -ENOENT;
}

/* Adds the next container to the list. -ENOENT: there are no more. */
static int list_next_container(struct gt_kernel_library *library, struct code_section *section)
{
	struct indexed_container container = {.size = section->end};
	int error;

	if (library->elf)
		error = find_next_container(library, section, &container);
	else
		error = section->containers.count || !section->end ? -ENOENT : 0;
	return error ? error : gt_vec_push(&section->containers, container);
}

static int read_container(struct gt_kernel_library *library, const struct code_section *section,
			  size_t index, struct container_bytes *ret_bytes, struct gt_diag *diag)
{
	const struct indexed_container *container = &section->containers.items[index];

	ret_bytes->size = container->size;
	ret_bytes->data = library->image.data;
	if (!library->elf)
		return 0;
	ret_bytes->owned = malloc(container->size);
	if (!ret_bytes->owned)
		return gt_diag(diag, -ENOMEM, "kernels", NULL, "out of memory");
	ret_bytes->data = ret_bytes->owned;
	return gt_elf_read(library->elf, container->at, ret_bytes->owned, container->size);
}

/* The first container with a kernel of a name keeps it. */
static int index_name(struct code_section *section, const char *name, size_t length, size_t index)
{
	if (!length || gt_hash_get(section->names, name, length))
		return 0;
	return gt_hash_set(section->names, name, length, (void *)(index + 1));
}

static int index_cubin(struct code_section *section, size_t index,
		       const struct gt_fatbin_payload *payload, struct gt_diag *diag)
{
	gt_auto_cubin cubin = {0};
	int error = gt_cubin_read(payload->data, payload->size, &cubin, diag);

	for (size_t i = 0; i < cubin.count && !error; i++)
		error = index_name(section, cubin.kernels[i].name, strlen(cubin.kernels[i].name),
				   index);
	return error;
}

static int index_ptx(struct code_section *section, size_t index,
		     const struct gt_fatbin_payload *payload)
{
	const char *at = payload->data, *end = payload->data + payload->size;
	struct gt_ptx_name name;
	int error = 0;

	while (!error && gt_ptx_next_name(&at, end, &name) == GT_PTX_NAMES_FOUND)
		if (name.is_entry)
			error = index_name(section, name.text, name.length, index);
	return error;
}

/* -E2BIG: more than the budget. */
static int index_entry(struct gt_kernel_library *library, struct code_section *section,
		       size_t index, const struct gt_fatbin_entry *entry, uint64_t *budget)
{
	gt_auto_fatbin_payload payload = {0};
	struct gt_diag why = {0};
	int error;

	if (entry->kind != GT_FATBIN_KIND_ELF && entry->kind != GT_FATBIN_KIND_PTX)
		return 0;
	if (entry->size > *budget) {
		*budget = 0;
		return -E2BIG;
	}
	*budget -= entry->size;
	error = gt_fatbin_extract(entry, &payload, &why);
	if (!error && entry->kind == GT_FATBIN_KIND_ELF)
		error = index_cubin(section, index, &payload, &why);
	else if (!error)
		error = index_ptx(section, index, &payload);
	return keep_error(library, error, &why);
}

/* The smallest cubin, or PTX if there is none. NULL: the container is empty. */
static const struct gt_fatbin_entry *first_entry(const struct gt_fatbin *fatbin)
{
	const struct gt_fatbin_entry *best = NULL;

	for (size_t i = 0; i < fatbin->entry_count; i++) {
		const struct gt_fatbin_entry *entry = &fatbin->entries[i];
		bool is_cubin = entry->kind == GT_FATBIN_KIND_ELF;
		bool best_is = best && best->kind == GT_FATBIN_KIND_ELF;

		if (!best || (is_cubin && !best_is) ||
		    (is_cubin == best_is && entry->size < best->size))
			best = entry;
	}
	return best;
}

static int index_entries(struct gt_kernel_library *library, struct code_section *section,
			 size_t index, const struct gt_fatbin *fatbin,
			 enum gt_kernel_entries entries, uint64_t *budget)
{
	const struct gt_fatbin_entry *first = first_entry(fatbin);
	int error = 0;

	if (first && entries == GT_KERNEL_FIRST_ENTRIES)
		error = index_entry(library, section, index, first, budget);
	for (size_t i = 0; i < fatbin->entry_count && entries == GT_KERNEL_ALL_ENTRIES && !error;
	     i++)
		if (&fatbin->entries[i] != first)
			error = index_entry(library, section, index, &fatbin->entries[i], budget);
	if (!error && (entries == GT_KERNEL_ALL_ENTRIES || fatbin->entry_count < 2))
		section->containers.items[index].is_complete = true;
	return error;
}

static int index_container(struct gt_kernel_library *library, struct code_section *section,
			   size_t index, enum gt_kernel_entries entries, uint64_t *budget)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	auto_container bytes = {0};
	struct gt_diag why = {0};
	int error = read_container(library, section, index, &bytes, &why);

	if (!error)
		error = gt_fatbin_open(bytes.data, bytes.size, &fatbin, &why);
	if (error) {
		section->containers.items[index].is_complete = true;
		return keep_error(library, error, &why);
	}
	return index_entries(library, section, index, fatbin, entries, budget);
}

/* Adds a container, or the other entries of one, to the index. -ENOENT: there are no more. */
static int index_more(struct gt_kernel_library *library, struct code_section *section,
		      enum gt_kernel_entries entries, uint64_t *budget)
{
	size_t index = section->containers.count;
	int error;

	if (!*budget)
		return -E2BIG;
	if (entries == GT_KERNEL_FIRST_ENTRIES) {
		error = list_next_container(library, section);
		return error ? error : index_container(library, section, index, entries, budget);
	}
	while (section->completed < section->containers.count &&
	       section->containers.items[section->completed].is_complete)
		section->completed++;
	return section->completed < section->containers.count
		       ? index_container(library, section, section->completed, entries, budget)
		       : -ENOENT;
}

/* Reads the container that the index states. -EAGAIN: it does not have the kernel. */
static int take_container(struct gt_kernel_library *library, struct code_section *section,
			  size_t index, const char *name, struct gt_parameters *parameters)
{
	auto_container bytes = {0};
	struct gt_diag why = {0};
	int error = read_container(library, section, index, &bytes, &why);

	if (!error)
		error = gt_parameters_add_container(parameters, bytes.data, bytes.size, name, &why);
	error = keep_error(library, error, &why);
	if (error || gt_parameters_find(parameters, name))
		return error;
	gt_hash_remove_str(section->names, name);
	return -EAGAIN;
}

static int find_in_section(struct gt_kernel_library *library, struct code_section *section,
			   const char *name, enum gt_kernel_entries entries, uint64_t *budget,
			   struct gt_parameters *parameters)
{
	for (;;) {
		uintptr_t number = (uintptr_t)gt_hash_get_str(section->names, name);
		int error = number ? take_container(library, section, number - 1, name, parameters)
				   : index_more(library, section, entries, budget);

		if (number ? error != -EAGAIN : error)
			return error;
	}
}

int gt_kernel_library_find(struct gt_kernel_library *library, const char *name,
			   enum gt_kernel_entries entries, uint64_t *budget,
			   struct gt_parameters *parameters, struct gt_diag *diag)
{
	int result = -ENOENT;

	/* What is linked on the device is in both: there the registers, here the types. */
	for (size_t i = 0; i < gt_countof(section_names); i++) {
		int error = find_in_section(library, &library->sections[i], name, entries, budget,
					    parameters);

		if (error == -ENOMEM)
			return gt_diag(diag, error, "kernels", NULL, "out of memory");
		if (result && error != -ENOENT)
			result = error;
	}
	if (result == -ENOENT && library->error)
		return gt_diag(diag, -EBADMSG, library->why.stage, library->why.place, "%s",
			       library->why.text);
	return result;
}
