/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an object declares extern: variables of the kernel's configuration (section .kconfig) and
 * symbols of the kernel (.ksyms). libbpf rejects the whole object if it cannot resolve one. So it
 * gets a value for each variable that this machine does not configure, and symbols without a type,
 * which it looks for in /proc/kallsyms, become typed, which it leaves to the kernel that loads
 * them.
 */
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "gpubpf/object/private.h"

enum {
	MAX_LINE = 4096, /* of a configuration, as in libbpf */
};

/* The types of variables that libbpf knows, and a value of each. */
enum extern_type { TYPE_UNKNOWN, TYPE_BOOL, TYPE_TRISTATE, TYPE_CHAR, TYPE_INT, TYPE_STRING };

static const char *const any_value[] = {
	[TYPE_UNKNOWN] = "0", [TYPE_BOOL] = "n", [TYPE_TRISTATE] = "n",
	[TYPE_CHAR] = "n",    [TYPE_INT] = "0",  [TYPE_STRING] = "\"\"",
};

/* A variable of the configuration. */
struct extern_variable {
	const char *name; /* in the types of the object */
	enum extern_type type;
	uint32_t size;
	bool is_signed, is_weak;
	char *value; /* in the configuration, or NULL */
};

struct extern_reader {
	const char *path; /* of the configuration, or NULL */
	struct btf *btf;
	struct gt_file bytes; /* .BTF in the object */
	struct gt_object_hidden *hidden;
	GT_VEC(struct extern_variable) variables; /* by name */
	struct gt_object_externs *externs;
};

/* ---- variables ------------------------------------------------------------------------- */

static const struct btf_type *skip_modifiers(const struct btf *btf, uint32_t number)
{
	const struct btf_type *type = btf__type_by_id(btf, number);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

static enum extern_type type_of_int(struct extern_variable *variable, const struct btf_type *type)
{
	unsigned encoding = btf_int_encoding(type);

	variable->is_signed = encoding & BTF_INT_SIGNED;
	if (encoding & BTF_INT_BOOL)
		return TYPE_BOOL;
	return type->size == 1 ? TYPE_CHAR : TYPE_INT;
}

static void read_type(const struct btf *btf, uint32_t number, struct extern_variable *variable)
{
	const struct btf_type *type = skip_modifiers(btf, number);
	const char *name = type ? btf__name_by_offset(btf, type->name_off) : NULL;

	if (!type)
		return;
	variable->size = type->size;
	if (btf_is_int(type))
		variable->type = type_of_int(variable, type);
	else if (btf_is_array(type))
		variable->type = TYPE_STRING;
	else if (btf_is_enum(type) && name && !strcmp(name, "libbpf_tristate"))
		variable->type = TYPE_TRISTATE;
}

static int compare_variables(const void *left, const void *right)
{
	const struct extern_variable *one = left, *other = right;

	return strcmp(one->name, other->name);
}

static struct extern_variable *find_variable(struct extern_reader *reader, const char *name)
{
	const struct extern_variable key = {.name = name};

	return reader->variables.count
		       ? bsearch(&key, reader->variables.items, reader->variables.count,
				 sizeof(key), compare_variables)
		       : NULL;
}

/* The variables and symbols of a section. NULL: it has none. */
static const struct btf_type *find_section_type(const struct btf *btf, const char *section)
{
	int number = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;

	return number > 0 ? btf__type_by_id(btf, (uint32_t)number) : NULL;
}

static int find_variables(struct extern_reader *reader)
{
	const struct btf_type *section = find_section_type(reader->btf, ".kconfig");

	for (unsigned i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *type =
			btf__type_by_id(reader->btf, btf_var_secinfos(section)[i].type);
		struct extern_variable variable = {0};

		if (!btf_is_var(type))
			continue;
		variable.name = btf__name_by_offset(reader->btf, type->name_off);
		read_type(reader->btf, type->type, &variable);
		if (gt_vec_push(&reader->variables, variable))
			return -ENOMEM;
	}
	if (reader->variables.count)
		qsort(reader->variables.items, reader->variables.count,
		      sizeof(*reader->variables.items), compare_variables);
	return 0;
}

/* ---- the configuration ----------------------------------------------------------------- */

static bool is_in_range(const struct extern_variable *variable, uint64_t number)
{
	unsigned bits = variable->size * 8;

	if (bits >= 64)
		return true;
	if (variable->is_signed)
		number += UINT64_C(1) << (bits - 1);
	return number < UINT64_C(1) << bits;
}

/* Whether libbpf accepts the value of a variable in the configuration. */
static bool is_accepted(const struct extern_variable *variable)
{
	const char *value = variable->value;
	enum extern_type type = variable->type;
	char *end;
	uint64_t number;

	if (!strcmp(value, "y") || !strcmp(value, "n"))
		return type == TYPE_BOOL || type == TYPE_TRISTATE || type == TYPE_CHAR;
	if (!strcmp(value, "m"))
		return type == TYPE_TRISTATE || type == TYPE_CHAR;
	if (value[0] == '"')
		return type == TYPE_STRING && strlen(value) > 1;
	errno = 0;
	number = strtoull(value, &end, 0);
	return (type == TYPE_INT || type == TYPE_CHAR) && !errno && end > value && !*end &&
	       is_in_range(variable, number);
}

static int read_line(struct extern_reader *reader, char *line)
{
	struct extern_variable *variable;
	char *equals = strchr(line, '=');

	if (line[0] == '#' || !equals)
		return 0;
	*equals = '\0';
	variable = find_variable(reader, line);
	if (!variable || variable->value)
		return 0;
	variable->value = strndup(equals + 1, strcspn(equals + 1, "\n"));
	return variable->value ? 0 : -ENOMEM;
}

/* Read the configuration that libbpf reads. */
static int read_configuration(struct extern_reader *reader)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	char line[MAX_LINE];
	struct utsname kernel;
	gzFile file;
	int error = 0;

	uname(&kernel);
	gt_strbuf_printf(&path, "/boot/config-%s", kernel.release);
	reader->path = "/boot/config-$(uname -r)";
	file = gzopen(gt_strbuf_string(&path), "re");
	if (!file) {
		reader->path = "/proc/config.gz";
		file = gzopen(reader->path, "re");
	}
	if (!file) {
		reader->path = NULL;
		return 0;
	}
	while (!error && gzgets(file, line, sizeof(line)))
		error = read_line(reader, line);
	gzclose(file);
	return error;
}

static int add_unresolved(struct extern_reader *reader, const struct extern_variable *variable,
			  const char *reason)
{
	gt_auto_strbuf problem = GT_STRBUF_INIT;
	struct gt_object_extern unresolved = {.name = strdup(variable->name)};

	gt_strbuf_printf(&problem, "'%s': %s", variable->name, reason);
	unresolved.problem = gt_strbuf_steal(&problem);
	if (unresolved.name && unresolved.problem &&
	    !gt_vec_push(&reader->externs->unresolved, unresolved))
		return 0;
	free(unresolved.name);
	free(unresolved.problem);
	return -ENOMEM;
}

/* Have libbpf accept a variable of the configuration. */
static int resolve_variable(struct extern_reader *reader, const struct extern_variable *variable)
{
	gt_auto_strbuf reason = GT_STRBUF_INIT;

	if (variable->value && is_accepted(variable))
		return 0;
	gt_strbuf_printf(&reader->externs->configuration, "%s=%s\n", variable->name,
			 any_value[variable->type]);
	if (variable->value)
		gt_strbuf_printf(&reason, "its value %s in %s has another type", variable->value,
				 reader->path);
	else if (variable->is_weak)
		return 0;
	else if (reader->path)
		gt_strbuf_printf(&reason, "%s does not set it: declare it __weak to read 0",
				 reader->path);
	else
		gt_strbuf_puts(&reason, "this machine has neither /boot/config-$(uname -r) nor "
					"/proc/config.gz: declare it __weak to read 0");
	return add_unresolved(reader, variable, gt_strbuf_string(&reason));
}

static bool is_known_to_libbpf(const char *name)
{
	return !strcmp(name, "LINUX_KERNEL_VERSION") || !strcmp(name, "LINUX_HAS_BPF_COOKIE") ||
	       !strcmp(name, "LINUX_HAS_SYSCALL_WRAPPER");
}

static int resolve_variables(struct extern_reader *reader)
{
	int error = reader->variables.count ? read_configuration(reader) : 0;

	gt_vec_each (variable, &reader->variables) {
		bool is_linux = !strncmp(variable->name, "LINUX_", strlen("LINUX_"));

		if (error)
			break;
		if (!strncmp(variable->name, "CONFIG_", strlen("CONFIG_")))
			error = resolve_variable(reader, variable);
		else if (!is_known_to_libbpf(variable->name) && !(variable->is_weak && is_linux))
			error = add_unresolved(reader, variable, "libbpf has no such variable");
	}
	return error || reader->externs->configuration.failed ? -ENOMEM : 0;
}

/* ---- the bytes of the object ----------------------------------------------------------- */

/* libbpf rejects strong LINUX_… variables that it does not know. */
static int read_symbol(struct extern_reader *reader, uint8_t *info, const char *name)
{
	struct extern_variable *variable = name ? find_variable(reader, name) : NULL;

	if (!variable)
		return 0;
	variable->is_weak = GELF_ST_BIND(*info) == STB_WEAK;
	if (variable->is_weak || strncmp(name, "LINUX_", strlen("LINUX_")) != 0 ||
	    is_known_to_libbpf(name))
		return 0;
	return gt_object_change_byte(reader->hidden, info,
				     GELF_ST_INFO(STB_WEAK, GELF_ST_TYPE(*info)));
}

static int read_symbols(struct extern_reader *reader, const struct gt_file *file, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	int error = 0;

	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header))
		if (header.sh_type == SHT_SYMTAB)
			break;
	for (int i = 0; section && !error && gelf_getsym(elf_getdata(section, NULL), i, &symbol);
	     i++)
		if (symbol.st_shndx == SHN_UNDEF)
			error = read_symbol(reader,
					    file->data + header.sh_offset +
						    (size_t)i * sizeof(Elf64_Sym) +
						    offsetof(Elf64_Sym, st_info),
					    elf_strptr(elf, header.sh_link, symbol.st_name));
	return error;
}

/* Make the variables without a type ones of a type: which one it is, libbpf does not ask. */
static int type_symbols(struct extern_reader *reader)
{
	const struct btf_type *section = find_section_type(reader->btf, ".ksyms");
	uint32_t size;
	const uint8_t *start = btf__raw_data(reader->btf, &size);
	int error = 0;

	for (unsigned i = 0; section && !error && i < btf_vlen(section); i++) {
		uint32_t number = btf_var_secinfos(section)[i].type;
		const struct btf_type *type = btf__type_by_id(reader->btf, number);
		size_t at = (size_t)((const uint8_t *)&type->type - start);

		if (!btf_is_var(type) || !btf_is_void(skip_modifiers(reader->btf, type->type)))
			continue;
		for (size_t k = 0; !error && k < sizeof(number); k++)
			error = gt_object_change_byte(reader->hidden, reader->bytes.data + at + k,
						      (uint8_t)(number >> 8 * k));
	}
	return error;
}

static int resolve_all(struct extern_reader *reader, const struct gt_file *file)
{
	Elf *elf = elf_memory((char *)file->data, file->size);
	int error = find_variables(reader);

	if (!error && elf)
		error = read_symbols(reader, file, elf);
	elf_end(elf);
	if (!error)
		error = resolve_variables(reader);
	return error ? error : type_symbols(reader);
}

int gt_object_resolve_externs(const struct gt_file *file, struct gt_object_hidden *hidden,
			      struct gt_object_externs *ret_externs)
{
	struct extern_reader reader = {.hidden = hidden, .externs = ret_externs};
	int error;

	if (!gt_object_find_section(file, ".BTF", &reader.bytes))
		return 0;
	reader.btf = btf__new(reader.bytes.data, (uint32_t)reader.bytes.size);
	if (libbpf_get_error(reader.btf))
		return errno == ENOMEM ? -ENOMEM : 0; /* libbpf rejects the object */
	error = resolve_all(&reader, file);
	gt_vec_each (variable, &reader.variables)
		free(variable->value);
	gt_vec_free(&reader.variables);
	btf__free(reader.btf);
	return error;
}

void gt_object_externs_free(struct gt_object_externs *externs)
{
	gt_vec_each (unresolved, &externs->unresolved) {
		free(unresolved->name);
		free(unresolved->problem);
	}
	gt_vec_free(&externs->unresolved);
	gt_strbuf_free(&externs->configuration);
}

/* ---- the programs that use them -------------------------------------------------------- */

/* The variable at an offset of the map that libbpf made of them. NULL: there is none. */
static const char *find_name_at(const struct btf *btf, uint32_t offset)
{
	const struct btf_type *section = find_section_type(btf, ".kconfig");

	for (unsigned i = 0; section && i < btf_vlen(section); i++)
		if (btf_var_secinfos(section)[i].offset == offset)
			return btf__name_by_offset(
				btf,
				btf__type_by_id(btf, btf_var_secinfos(section)[i].type)->name_off);
	return NULL;
}

static bool is_configuration(const struct gt_bpf_object *object, uint32_t number)
{
	const char *dot =
		number < object->map_count ? strrchr(object->maps[number].name, '.') : NULL;

	return dot && !strcmp(dot, ".kconfig");
}

static const struct gt_object_extern *find_unresolved(const struct gt_object_reader *reader,
						      const struct bpf_insn *insn)
{
	const char *name;

	if (insn->src_reg != GT_BPF_IMM_MAP_INDEX_VALUE ||
	    !is_configuration(reader->object, (uint32_t)insn->imm))
		return NULL;
	name = find_name_at(bpf_object__btf(reader->source), (uint32_t)insn[1].imm);
	gt_vec_each (unresolved, &reader->externs.unresolved)
		if (name && !strcmp(unresolved->name, name))
			return unresolved;
	return NULL;
}

int gt_object_check_externs(struct gt_object_reader *reader, struct gt_bpf_program *program)
{
	const struct gt_object_extern *unresolved = NULL;

	for (uint32_t at = 0; at < program->count && !program->problem; at++) {
		if (!gt_bpf_is_wide(&program->insns[at]))
			continue;
		unresolved = reader->externs.unresolved.count
				     ? find_unresolved(reader, &program->insns[at])
				     : NULL;
		if (unresolved) {
			program->problem_insn = at;
			program->problem = strdup(unresolved->problem);
			if (!program->problem)
				return gt_object_no_memory(reader);
		}
		at++;
	}
	return 0;
}
