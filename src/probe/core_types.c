/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/core_types.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gelf.h>

#include "base/clean.h"
#include "base/hash.h"
#include "base/vec.h"

#define MODULES "/sys/kernel/btf"
#define MAX_NAME 512

/* Types of one BTF: of the kernel, or of a module, whose ids follow those of the kernel. */
struct core_source {
	struct btf *btf;
	__u32 first, count; /* ids */
	__u32 *new_ids;     /* in the result; 0: not there */
};

struct core_item {
	struct core_source *source;
	__u32 id;
};

struct core_builder {
	struct gt_hash *names; /* of the objects' types: &wanted, or &in_kernel */
	struct core_source kernel;
	GT_VEC(struct core_source *) modules;
	GT_VEC(struct core_item) items; /* of the result, in the order of their new ids */
	struct btf *result;
};

/* libbpf searches modules only for types that the kernel itself does not have. */
static char wanted, in_kernel;

int gt_core_modules_each(gt_core_module_sink *take, void *context)
{
	DIR *directory = opendir(MODULES);
	const struct dirent *entry;
	int error = directory ? 0 : -errno;

	while (!error && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0)
			error = take(context, entry->d_name, entry->d_ino);
	if (directory)
		closedir(directory);
	return error;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Kinds of types that relocations begin at; kinds with the same letter are interchangeable. */
static const char kind_letters[] = {
	[BTF_KIND_INT] = 'i',   [BTF_KIND_STRUCT] = 's', [BTF_KIND_UNION] = 'u',
	[BTF_KIND_ENUM] = 'e',  [BTF_KIND_ENUM64] = 'e', [BTF_KIND_TYPEDEF] = 't',
	[BTF_KIND_FLOAT] = 'f',
};

/* The length of a name without its flavor: "request___old" is a `request`. */
static size_t essential_length(const char *name, size_t length)
{
	for (size_t i = length; i-- > 1 && length > 4;)
		if (i + 4 <= length && name[i - 1] != '_' && !memcmp(name + i, "___", 3) &&
		    name[i + 3] != '_')
			return i;
	return length;
}

/* The key of a type in builder.names; its length, 0: no relocation begins at it. */
static size_t put_key(const struct btf *btf, const struct btf_type *type, char *key)
{
	unsigned kind = btf_kind(type);
	const char *name = btf__name_by_offset(btf, type->name_off);
	size_t length;

	if (kind >= gt_countof(kind_letters) || !kind_letters[kind] || !name || !*name)
		return 0;
	length = essential_length(name, strlen(name));
	if (length >= MAX_NAME)
		return 0;
	key[0] = kind_letters[kind];
	memcpy(key + 1, name, length);
	return length + 1;
}

static struct btf *read_object_types(const struct gt_core_object *object)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE
			   ? NULL
			   : elf_memory((char *)object->elf, object->size);
	struct btf *btf = NULL;
	Elf_Scn *section = NULL;
	size_t names;

	while (elf && !btf && !elf_getshdrstrndx(elf, &names) &&
	       (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		Elf_Data *data = name && !strcmp(name, ".BTF") ? elf_getdata(section, NULL) : NULL;

		if (data && data->d_buf)
			btf = btf__new(data->d_buf, (__u32)data->d_size);
	}
	elf_end(elf);
	return btf;
}

static int add_names(struct core_builder *builder, const struct gt_core_object *object)
{
	struct btf *btf = read_object_types(object);
	char key[MAX_NAME + 1];
	int error = btf ? 0 : -ENOEXEC;

	for (__u32 id = 1; !error && id < btf__type_cnt(btf); id++) {
		size_t length = put_key(btf, btf__type_by_id(btf, id), key);

		if (length)
			error = gt_hash_set(builder->names, key, length, &wanted);
	}
	btf__free(btf);
	return error;
}

/* ---- selecting types ---------------------------------------------------------------------- */

/*
 * Where a type refers to the n-th other one that is part of it; NULL: to no more. Pointers refer to
 * none.
 */
static __u32 *part_of(struct btf_type *type, unsigned n)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n < btf_vlen(type) ? &btf_members(type)[n].type : NULL;
	case BTF_KIND_ARRAY:
		return n == 0 ? &btf_array(type)->type
			      : (n == 1 ? &btf_array(type)->index_type : NULL);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return n == 0 ? &type->type : NULL;
	default:
		return NULL;
	}
}

/* Kinds that can be part of a type. A typedef of a function's type is one of void here. */
static bool can_copy(const struct btf_type *type)
{
	return type && !btf_is_func_proto(type) && !btf_is_func(type) && !btf_is_var(type) &&
	       !btf_is_datasec(type) && !btf_is_decl_tag(type);
}

/* The source of a type that another one of `source` refers to; NULL: there is no such type. */
static struct core_source *source_of(struct core_builder *builder, struct core_source *source,
				     __u32 id)
{
	struct core_source *found = id < source->first ? &builder->kernel : source;

	return id && id >= found->first && id - found->first < found->count ? found : NULL;
}

static int add_item(struct core_builder *builder, struct core_source *source, __u32 id)
{
	__u32 *new_id = &source->new_ids[id - source->first];

	if (*new_id || !can_copy(btf__type_by_id(source->btf, id)))
		return 0;
	*new_id = (__u32)builder->items.count + 1;
	return gt_vec_push(&builder->items, ((struct core_item){source, id}));
}

/* What is inside of the types from the item `next` on. */
static int add_parts(struct core_builder *builder, size_t next)
{
	int error = 0;

	for (; !error && next < builder->items.count; next++) {
		struct core_item item = builder->items.items[next];
		struct btf_type *type =
			(struct btf_type *)btf__type_by_id(item.source->btf, item.id);
		const __u32 *part;

		for (unsigned n = 0; !error && (part = part_of(type, n)); n++) {
			struct core_source *source = source_of(builder, item.source, *part);

			if (source)
				error = add_item(builder, source, *part);
			else if (*part)
				error = -EINVAL;
		}
	}
	return error;
}

/* Types of a source that have the name of a type of the objects. */
static int add_source(struct core_builder *builder, struct core_source *source)
{
	const size_t next = builder->items.count;
	char key[MAX_NAME + 1];
	int error = 0;

	for (__u32 id = source->first; !error && id - source->first < source->count; id++) {
		const struct btf_type *type = btf__type_by_id(source->btf, id);
		size_t length = type ? put_key(source->btf, type, key) : 0;
		void *state = length ? gt_hash_get(builder->names, key, length) : NULL;

		if (!state || (source != &builder->kernel && state == &in_kernel))
			continue;
		error = add_item(builder, source, id);
		if (!error && source == &builder->kernel)
			error = gt_hash_set(builder->names, key, length, &in_kernel);
	}
	return error ? error : add_parts(builder, next);
}

static int open_source(struct core_source *source, struct btf *btf, __u32 first)
{
	source->btf = btf;
	source->first = first;
	source->count = btf__type_cnt(btf) - first;
	source->new_ids = calloc(source->count + 1, sizeof(*source->new_ids));
	return source->new_ids ? 0 : -ENOMEM;
}

static int add_module(void *opaque, const char *name, uint64_t unused)
{
	struct core_builder *builder = opaque;
	struct core_source *source = calloc(1, sizeof(*source));
	char path[sizeof(MODULES) + MAX_NAME];
	struct btf *btf;

	if (!source || gt_vec_push(&builder->modules, source)) {
		free(source);
		return -ENOMEM;
	}
	snprintf(path, sizeof(path), MODULES "/%s", name);
	btf = btf__parse_split(path, builder->kernel.btf);
	if (!btf)
		return -errno;
	source->btf = btf;
	return open_source(source, btf, btf__type_cnt(builder->kernel.btf));
}

static int add_modules(struct core_builder *builder)
{
	int error = gt_core_modules_each(add_module, builder);

	gt_vec_each (module, &builder->modules)
		if (!error)
			error = add_source(builder, *module);
	return error;
}

/* ---- writing ------------------------------------------------------------------------------ */

static int copy_item(struct core_builder *builder, const struct core_item *item)
{
	int id = btf__add_type(builder->result, item->source->btf,
			       btf__type_by_id(item->source->btf, item->id));
	struct btf_type *type;
	__u32 *part;

	if (id < 0)
		return id;
	type = (struct btf_type *)btf__type_by_id(builder->result, (__u32)id);
	if (btf_is_ptr(type))
		type->type = 0;
	for (unsigned n = 0; (part = part_of(type, n)); n++) {
		struct core_source *source = source_of(builder, item->source, *part);

		*part = source ? source->new_ids[*part - source->first] : 0;
	}
	return (__u32)id == item->source->new_ids[item->id - item->source->first] ? 0 : -EINVAL;
}

static int write_result(struct core_builder *builder, int *ret_fd)
{
	gt_autoclose int fd = memfd_create("gputap-types", MFD_CLOEXEC);
	const void *data;
	__u32 size;

	for (size_t i = 0; i < builder->items.count; i++) {
		int error = copy_item(builder, &builder->items.items[i]);

		if (error)
			return error;
	}
	data = btf__raw_data(builder->result, &size);
	if (!data || fd < 0)
		return -ENOMEM;
	if (write(fd, data, size) != (ssize_t)size)
		return -EIO;
	*ret_fd = gt_take_fd(&fd);
	return 0;
}

static void free_builder(struct core_builder *builder)
{
	gt_vec_each (module, &builder->modules) {
		btf__free((*module)->btf);
		free((*module)->new_ids);
		free(*module);
	}
	gt_vec_free(&builder->modules);
	gt_vec_free(&builder->items);
	free(builder->kernel.new_ids);
	btf__free(builder->result);
	gt_hash_free(builder->names);
}

int gt_core_types_write(struct btf *kernel, const struct gt_core_object *objects, size_t count,
			int *ret_fd)
{
	struct core_builder builder = {.names = gt_hash_new(), .result = btf__new_empty()};
	int error =
		builder.names && builder.result ? open_source(&builder.kernel, kernel, 1) : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++)
		error = add_names(&builder, &objects[i]);
	if (!error)
		error = add_source(&builder, &builder.kernel);
	if (!error && !builder.items.count)
		error = -ENOENT;
	if (!error)
		error = add_modules(&builder);
	if (!error)
		error = write_result(&builder, ret_fd);
	free_builder(&builder);
	return error;
}
