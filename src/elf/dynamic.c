/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interpreter, dynamic section and notes. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "elf/private.h"

#define DYNAMIC_LIMIT (1 << 20) /* bytes of a dynamic section */
#define NOTES_LIMIT (1 << 20)   /* bytes of one segment of notes */
#define PATH_LIMIT 65535        /* bytes of a search path */
#define NAME_LIMIT 4095         /* bytes of a file's name, as the kernel's PATH_MAX */
#define NEEDED_LIMIT 4096

/* Strings of the dynamic section, which are read once DT_STRTAB is known. */
struct dynamic_strings {
	uint64_t soname, rpath, runpath;
	bool has_soname, has_rpath, has_runpath;
	GT_VEC(uint64_t) needed;
};

static int read_dynamic_string(const struct gt_elf *elf, uint64_t at, size_t limit,
			       const char *what, const char **ret_string, struct gt_diag *diag)
{
	uint64_t address, offset;
	char *string;
	int error = -EBADMSG;

	if (at < elf->dynamic_strings_size &&
	    !__builtin_add_overflow(elf->dynamic_strings, at, &address)) {
		offset = gt_elf_offset(elf, address);
		if (offset != GT_ELF_NO_OFFSET)
			error = gt_elf_read_string(elf, offset, limit, &string);
	}
	if (error)
		return gt_diag(diag, error, "elf", elf->info.path,
			       "malformed ELF: its %s is outside its dynamic strings", what);
	*ret_string = string;
	return 0;
}

static int take_entry(struct gt_elf *elf, const Elf64_Dyn *entry, struct dynamic_strings *strings)
{
	uint64_t value = entry->d_un.d_val;

	switch (entry->d_tag) {
	case DT_STRTAB:
		elf->dynamic_strings = value;
		break;
	case DT_STRSZ:
		elf->dynamic_strings_size = value;
		break;
	case DT_SYMTAB:
		elf->dynamic_symbols = value;
		break;
	case DT_HASH:
		elf->hash = value;
		break;
	case DT_GNU_HASH:
		elf->gnu_hash = value;
		break;
	case DT_SONAME:
		strings->soname = value;
		strings->has_soname = true;
		break;
	case DT_RPATH:
		strings->rpath = value;
		strings->has_rpath = true;
		break;
	case DT_RUNPATH:
		strings->runpath = value;
		strings->has_runpath = true;
		break;
	case DT_NEEDED:
		return gt_vec_push(&strings->needed, value);
	case DT_FLAGS_1:
		elf->info.no_default_directories |= !!(value & DF_1_NODEFLIB);
		elf->info.program |= !!(value & DF_1_PIE);
		break;
	}
	return 0;
}

static int read_needed(struct gt_elf *elf, const struct dynamic_strings *strings,
		       struct gt_diag *diag)
{
	size_t count = strings->needed.count;

	if (count > NEEDED_LIMIT)
		return gt_diag(diag, -EFBIG, "elf", elf->info.path,
			       "malformed ELF: %zu needed libraries are more than any program has",
			       count);
	elf->needed = calloc(count + 1, sizeof(*elf->needed));
	if (!elf->needed)
		return gt_diag(diag, -ENOMEM, "elf", elf->info.path, "out of memory");
	for (size_t i = 0; i < count; i++) {
		int error = read_dynamic_string(elf, strings->needed.items[i], NAME_LIMIT,
						"DT_NEEDED", (const char **)&elf->needed[i], diag);

		if (error)
			return error;
		elf->needed_count = i + 1;
	}
	elf->info.needed = (const char *const *)elf->needed;
	elf->info.needed_count = count;
	return 0;
}

static int read_strings(struct gt_elf *elf, const struct dynamic_strings *strings,
			struct gt_diag *diag)
{
	struct gt_elf_info *info = &elf->info;
	int error = read_needed(elf, strings, diag);

	if (!error && strings->has_soname)
		error = read_dynamic_string(elf, strings->soname, NAME_LIMIT, "DT_SONAME",
					    &info->soname, diag);
	if (!error && strings->has_runpath)
		error = read_dynamic_string(elf, strings->runpath, PATH_LIMIT, "DT_RUNPATH",
					    &info->runpath, diag);
	else if (!error && strings->has_rpath)
		error = read_dynamic_string(elf, strings->rpath, PATH_LIMIT, "DT_RPATH",
					    &info->rpath, diag);
	return error;
}

static int read_dynamic_segment(struct gt_elf *elf, const Elf64_Phdr *segment, struct gt_diag *diag)
{
	struct dynamic_strings strings = {0};
	gt_autofree Elf64_Dyn *entries = NULL;
	int error = gt_elf_read_table(elf, segment->p_offset, segment->p_filesz, DYNAMIC_LIMIT,
				      "dynamic entries", (void **)&entries, diag);

	for (size_t i = 0; !error && i < segment->p_filesz / sizeof(*entries); i++) {
		if (entries[i].d_tag == DT_NULL)
			break;
		error = take_entry(elf, &entries[i], &strings);
	}
	if (!error)
		error = read_strings(elf, &strings, diag);
	gt_vec_free(&strings.needed);
	return error;
}

static int read_interpreter(struct gt_elf *elf, const Elf64_Phdr *segment, struct gt_diag *diag)
{
	gt_autofree char *name = NULL;
	int error = gt_elf_read_table(elf, segment->p_offset, segment->p_filesz, NAME_LIMIT,
				      "interpreter's name", (void **)&name, diag);

	if (error)
		return error;
	if (strlen(name) + 1 != segment->p_filesz)
		return gt_diag(diag, -EBADMSG, "elf", elf->info.path,
			       "malformed ELF: its interpreter's name does not end");
	elf->info.interpreter = gt_take(name);
	return 0;
}

int gt_elf_read_dynamic(struct gt_elf *elf, struct gt_diag *diag)
{
	bool dynamic = false;
	int error = 0;

	for (size_t i = 0; !error && i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_DYNAMIC && !dynamic) {
			dynamic = true;
			error = read_dynamic_segment(elf, segment, diag);
		} else if (segment->p_type == PT_INTERP && !elf->info.interpreter) {
			error = read_interpreter(elf, segment, diag);
		}
	}
	return error;
}

/* Note headers: gABI ch. 5, "Note Section"; the GNU build id is type 3 of owner "GNU". */
static bool find_build_id(struct gt_elf *elf, const uint8_t *notes, uint64_t size,
			  uint64_t alignment)
{
	uint64_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name = at + sizeof(note), description, next;

		memcpy(&note, notes + at, sizeof(note));
		description = (name + note.n_namesz + alignment - 1) & ~(alignment - 1);
		next = (description + note.n_descsz + alignment - 1) & ~(alignment - 1);
		if (description > size || note.n_descsz > size - description)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note.n_descsz &&
		    note.n_descsz <= sizeof(elf->build_id)) {
			memcpy(elf->build_id, notes + description, note.n_descsz);
			elf->info.build_id = elf->build_id;
			elf->info.build_id_size = note.n_descsz;
			return true;
		}
		if (next > size)
			return false;
		at = next;
	}
	return false;
}

int gt_elf_read_notes(struct gt_elf *elf, struct gt_diag *diag)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		gt_autofree uint8_t *notes = NULL;
		int error;

		if (segment->p_type != PT_NOTE)
			continue;
		error = gt_elf_read_table(elf, segment->p_offset, segment->p_filesz, NOTES_LIMIT,
					  "notes", (void **)&notes, diag);
		if (error)
			return error;
		if (find_build_id(elf, notes, segment->p_filesz, segment->p_align == 8 ? 8 : 4))
			return 0;
	}
	return 0;
}

int gt_elf_read_section_notes(struct gt_elf *elf, struct gt_diag *diag)
{
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		gt_autofree uint8_t *notes = NULL;
		int error;

		if (section->sh_type != SHT_NOTE)
			continue;
		error = gt_elf_read_table(elf, section->sh_offset, section->sh_size, NOTES_LIMIT,
					  "notes", (void **)&notes, diag);
		if (error)
			return error;
		if (find_build_id(elf, notes, section->sh_size, section->sh_addralign == 8 ? 8 : 4))
			return 0;
	}
	return 0;
}
