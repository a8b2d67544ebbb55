/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "elf/private.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "gputap runs on x86-64 and aarch64"
#endif

/* More than any linker generates: a file with more is malformed. */
#define SEGMENT_LIMIT 65536
#define SECTION_LIMIT (1 << 20)

static const char *machine_name(unsigned int machine, char *buffer, size_t size)
{
	switch (machine) {
#define MACHINE(number, name)                                                                      \
	case number:                                                                               \
		return name;
#include "elf/machine.def"
#undef MACHINE
	}
	snprintf(buffer, size, "machine %u", machine);
	return buffer;
}

int gt_elf_read(const struct gt_elf *elf, uint64_t offset, void *data, size_t size)
{
	size_t done = 0;

	if (offset > elf->info.size || size > elf->info.size - offset)
		return -EBADMSG;
	if (elf->memory) {
		memcpy(data, elf->memory + offset, size);
		return 0;
	}
	while (done < size) {
		ssize_t got = pread(elf->fd, (char *)data + done, size - done, offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		done += got;
	}
	return 0;
}

int gt_elf_read_table(const struct gt_elf *elf, uint64_t offset, uint64_t size, uint64_t limit,
		      const char *what, void **ret_data, struct gt_diag *diag)
{
	gt_autofree char *data = NULL;
	const char *path = elf->info.path;
	uint64_t end;
	int error;

	if (!size)
		offset = 0;
	if (__builtin_add_overflow(offset, size, &end))
		return gt_diag(diag, -EBADMSG, "elf", path,
			       "malformed ELF: its %s end beyond the largest possible file", what);
	if (end > elf->info.size)
		return gt_diag(diag, -EBADMSG, "elf", path,
			       "truncated ELF: its %s end at byte %llu, the file has %llu", what,
			       (unsigned long long)end, (unsigned long long)elf->info.size);
	if (size > limit)
		return gt_diag(diag, -EFBIG, "elf", path,
			       "malformed ELF: %llu bytes of %s are more than any program has",
			       (unsigned long long)size, what);
	data = malloc(size + 1);
	if (!data)
		return gt_diag(diag, -ENOMEM, "elf", path, "out of memory");
	error = gt_elf_read(elf, offset, data, size);
	if (error == -EBADMSG)
		return gt_diag(diag, error, "elf", path,
			       "truncated ELF: it became shorter while it was read");
	if (error)
		return gt_diag_file(diag, error, "elf", path, GT_FILE_READ, "cannot be read");
	data[size] = 0;
	*ret_data = gt_take(data);
	return 0;
}

int gt_elf_read_string(const struct gt_elf *elf, uint64_t offset, size_t limit, char **ret_string)
{
	char chunk[256];
	gt_auto_strbuf string = GT_STRBUF_INIT;

	while (offset < elf->info.size) {
		uint64_t left = elf->info.size - offset;
		size_t size = left < sizeof(chunk) ? left : sizeof(chunk), length;
		int error = gt_elf_read(elf, offset, chunk, size);

		if (error)
			return error;
		length = strnlen(chunk, size);
		gt_strbuf_add(&string, chunk, length);
		if (string.failed)
			return -ENOMEM;
		if (string.length > limit)
			return -EBADMSG;
		if (length < size) {
			char *taken = string.data ? gt_strbuf_steal(&string) : strdup("");

			if (!taken)
				return -ENOMEM;
			*ret_string = taken;
			return 0;
		}
		offset += size;
	}
	return -EBADMSG;
}

/* "it starts with …": as text, or if it is not text, as bytes. */
static int reject_foreign(const struct gt_elf *elf, const uint8_t *start, size_t length,
			  struct gt_diag *diag)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	size_t shown = 0;

	while (shown < length && shown < 8 && isascii(start[shown]) && isprint(start[shown]))
		shown++;
	if (!length) {
		gt_strbuf_puts(&text, "is empty");
	} else if (shown >= 4 || shown == length || (shown && isspace(start[shown]))) {
		gt_strbuf_printf(&text, "starts with \"%.*s\"", (int)shown, start);
	} else {
		gt_strbuf_puts(&text, "starts with the bytes");
		for (size_t i = 0; i < length && i < 8; i++)
			gt_strbuf_printf(&text, " %02x", start[i]);
	}
	return gt_diag(diag, -ENOEXEC, "elf", elf->info.path, "not an ELF file (it %s)",
		       gt_strbuf_string(&text));
}

static int check_kind(const struct gt_elf *elf, struct gt_diag *diag)
{
	static const char *const types[] = {
		[ET_REL] = "an object file (.o), not a program or a shared library",
		[ET_CORE] = "a core dump, not a program or a shared library",
	};
	const Elf64_Ehdr *header = &elf->header;
	unsigned int type = header->e_type;
	char theirs[24], ours[24];

	if (header->e_machine != OWN_MACHINE)
		return gt_diag(diag, -ENOEXEC, "elf", elf->info.path,
			       "an ELF for %s, gputap here runs on %s",
			       machine_name(header->e_machine, theirs, sizeof(theirs)),
			       machine_name(OWN_MACHINE, ours, sizeof(ours)));
	if (type == ET_EXEC || type == ET_DYN)
		return 0;
	if (type < gt_countof(types) && types[type])
		return gt_diag(diag, -ENOEXEC, "elf", elf->info.path, "%s", types[type]);
	return gt_diag(diag, -ENOEXEC, "elf", elf->info.path,
		       "an ELF of type %u, not a program or a shared library", type);
}

static int read_header(struct gt_elf *elf, struct gt_diag *diag)
{
	const uint8_t *ident = elf->header.e_ident;
	const char *path = elf->info.path;
	size_t size = elf->info.size < sizeof(elf->header) ? elf->info.size : sizeof(elf->header);
	int error = gt_elf_read(elf, 0, &elf->header, size);

	if (error)
		return gt_diag_file(diag, error, "elf", path, GT_FILE_READ, "cannot be read");
	if (size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG))
		return reject_foreign(elf, ident, size, diag);
	if (size >= EI_NIDENT && ident[EI_CLASS] == ELFCLASS32)
		return gt_diag(diag, -ENOEXEC, "elf", path, "32-bit ELF, only 64-bit is supported");
	if (size < sizeof(elf->header))
		return gt_diag(diag, -EBADMSG, "elf", path,
			       "truncated ELF: its header takes %zu bytes, the file has %zu",
			       sizeof(elf->header), size);
	if (ident[EI_CLASS] != ELFCLASS64)
		return gt_diag(diag, -ENOEXEC, "elf", path,
			       "malformed ELF: its class is %u, neither 32-bit nor 64-bit",
			       ident[EI_CLASS]);
	if (ident[EI_DATA] == ELFDATA2MSB)
		return gt_diag(diag, -ENOEXEC, "elf", path,
			       "big-endian ELF, only little-endian is supported");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return gt_diag(
			diag, -ENOEXEC, "elf", path,
			"malformed ELF: its byte order is %u, neither little- nor big-endian",
			ident[EI_DATA]);
	return check_kind(elf, diag);
}

/* The counts of many sections or segments are in section 0 (gABI, ch. 4, "ELF Header"). */
static int read_counts(struct gt_elf *elf, struct gt_diag *diag)
{
	const Elf64_Ehdr *header = &elf->header;
	const char *path = elf->info.path;
	uint64_t segments = header->e_phnum, sections = header->e_shnum;
	gt_autofree Elf64_Shdr *first = NULL;
	int error;

	if (header->e_shoff && (sections == 0 || segments == PN_XNUM)) {
		error = gt_elf_read_table(elf, header->e_shoff, sizeof(*first), sizeof(*first),
					  "section headers", (void **)&first, diag);
		if (error)
			return error;
		if (sections == 0)
			sections = first->sh_size;
		if (segments == PN_XNUM)
			segments = first->sh_info;
	}
	if (!header->e_shoff)
		sections = 0;
	if (sections && header->e_shentsize != sizeof(Elf64_Shdr))
		return gt_diag(diag, -EBADMSG, "elf", path,
			       "malformed ELF: its section headers are %u bytes each, not %zu",
			       header->e_shentsize, sizeof(Elf64_Shdr));
	if (segments && header->e_phentsize != sizeof(Elf64_Phdr))
		return gt_diag(diag, -EBADMSG, "elf", path,
			       "malformed ELF: its program headers are %u bytes each, not %zu",
			       header->e_phentsize, sizeof(Elf64_Phdr));
	if (sections > SECTION_LIMIT || segments > SEGMENT_LIMIT)
		return gt_diag(diag, -EFBIG, "elf", path,
			       "malformed ELF: %llu %s are more than any program has",
			       (unsigned long long)(sections > SECTION_LIMIT ? sections : segments),
			       sections > SECTION_LIMIT ? "sections" : "segments");
	elf->section_count = sections;
	elf->segment_count = segments;
	return 0;
}

static int read_section_headers(struct gt_elf *elf, struct gt_diag *diag)
{
	return gt_elf_read_table(elf, elf->header.e_shoff, elf->section_count * sizeof(Elf64_Shdr),
				 UINT64_MAX, "section headers", (void **)&elf->sections, diag);
}

static int read_headers(struct gt_elf *elf, struct gt_diag *diag)
{
	int error = read_counts(elf, diag);

	if (error)
		return error;
	error = gt_elf_read_table(elf, elf->header.e_phoff, elf->segment_count * sizeof(Elf64_Phdr),
				  UINT64_MAX, "program headers", (void **)&elf->segments, diag);
	if (error)
		return error;
	error = read_section_headers(elf, diag);
	if (error)
		return error;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t end;

		if (segment->p_type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(segment->p_offset, segment->p_filesz, &end) ||
		    segment->p_vaddr + segment->p_filesz < segment->p_vaddr)
			return gt_diag(
				diag, -EBADMSG, "elf", elf->info.path,
				"malformed ELF: segment %zu lies beyond what a file can hold", i);
		if (end > elf->info.size)
			return gt_diag(diag, -EBADMSG, "elf", elf->info.path,
				       "truncated ELF: segment %zu ends at byte %llu, the file "
				       "has %llu",
				       i, (unsigned long long)end,
				       (unsigned long long)elf->info.size);
	}
	return 0;
}

static bool has_symbols(const struct gt_elf *elf)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == SHT_SYMTAB && elf->sections[i].sh_size)
			return true;
	return false;
}

static int read_all(struct gt_elf *elf, struct gt_diag *diag)
{
	struct gt_elf_info *info = &elf->info;
	int error = read_header(elf, diag);

	if (!error)
		error = read_headers(elf, diag);
	if (!error)
		error = gt_elf_read_dynamic(elf, diag);
	if (!error)
		error = gt_elf_read_notes(elf, diag);
	if (error)
		return error;
	info->entry = elf->header.e_entry;
	info->position_independent = elf->header.e_type == ET_DYN;
	info->program |= elf->header.e_type == ET_EXEC || (info->interpreter && !info->soname);
	info->is_static = info->program && !info->interpreter && !info->needed_count;
	info->stripped = !has_symbols(elf);
	return 0;
}

static struct gt_elf *new_elf(const char *path)
{
	struct gt_elf *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return NULL;
	elf->fd = -1;
	elf->path = strdup(path);
	elf->info.path = elf->path;
	if (!elf->path) {
		gt_elf_free(elf);
		return NULL;
	}
	return elf;
}

static int open_file(struct gt_elf *elf, struct gt_diag *diag)
{
	const char *path = elf->info.path;
	struct stat status;
	int error;

	/* O_NONBLOCK: opening a pipe must not block before fstat shows that it is one. */
	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (elf->fd < 0 || fstat(elf->fd, &status) < 0) {
		error = -errno;
		return gt_diag_file(diag, error, "elf", path, GT_FILE_READ, "cannot be opened");
	}
	if (!S_ISREG(status.st_mode))
		return gt_diag(diag, S_ISDIR(status.st_mode) ? -EISDIR : -ENOEXEC, "elf", path,
			       "not an ELF file (it is %s)",
			       S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
	elf->info.device = status.st_dev;
	elf->info.inode = status.st_ino;
	elf->info.size = status.st_size;
	return 0;
}

int gt_elf_open(const char *path, struct gt_elf **ret_elf, struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = new_elf(path);
	int error;

	if (!elf)
		return gt_diag(diag, -ENOMEM, "elf", path, "out of memory");
	error = open_file(elf, diag);
	if (!error)
		error = read_all(elf, diag);
	if (error)
		return error;
	*ret_elf = gt_take(elf);
	return 0;
}

int gt_elf_open_memory(const void *data, size_t size, struct gt_elf **ret_elf, struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = new_elf("(memory)");
	int error;

	if (!elf)
		return gt_diag(diag, -ENOMEM, "elf", "(memory)", "out of memory");
	elf->memory = size ? data : (const uint8_t *)"";
	elf->info.size = size;
	error = read_all(elf, diag);
	if (error)
		return error;
	*ret_elf = gt_take(elf);
	return 0;
}

/* The segments of a debug file refer to missing bytes: use those of the program. */
static int read_debug(struct gt_elf *elf, const struct gt_elf *program, struct gt_diag *diag)
{
	int error = read_header(elf, diag);

	if (!error)
		error = read_counts(elf, diag);
	if (!error)
		error = read_section_headers(elf, diag);
	if (!error)
		error = gt_elf_read_section_notes(elf, diag);
	if (error)
		return error;
	elf->segments = malloc((program->segment_count + 1) * sizeof(Elf64_Phdr));
	if (!elf->segments)
		return gt_diag(diag, -ENOMEM, "elf", elf->info.path, "out of memory");
	elf->info.stripped = !has_symbols(elf);
	elf->segment_count = program->segment_count;
	if (program->segment_count)
		memcpy(elf->segments, program->segments,
		       program->segment_count * sizeof(Elf64_Phdr));
	return 0;
}

int gt_elf_open_debug(const struct gt_elf *program, const char *path, struct gt_elf **ret_elf,
		      struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = new_elf(path);
	int error;

	if (!elf)
		return gt_diag(diag, -ENOMEM, "elf", path, "out of memory");
	error = open_file(elf, diag);
	if (!error)
		error = read_debug(elf, program, diag);
	if (error)
		return error;
	*ret_elf = gt_take(elf);
	return 0;
}

int gt_elf_open_debug_memory(const struct gt_elf *program, const void *data, size_t size,
			     struct gt_elf **ret_elf, struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = new_elf("(memory)");
	int error;

	if (!elf)
		return gt_diag(diag, -ENOMEM, "elf", "(memory)", "out of memory");
	elf->memory = data;
	elf->info.size = size;
	error = read_debug(elf, program, diag);
	if (error)
		return error;
	*ret_elf = gt_take(elf);
	return 0;
}

void gt_elf_close(struct gt_elf *elf)
{
	if (elf->fd >= 0)
		close(gt_take_fd(&elf->fd));
}

void gt_elf_free(struct gt_elf *elf)
{
	if (!elf)
		return;
	gt_elf_close(elf);
	gt_elf_symbols_free(&elf->table);
	for (size_t i = 0; i < elf->needed_count; i++)
		free(elf->needed[i]);
	free(elf->needed);
	free((char *)elf->info.interpreter);
	free((char *)elf->info.soname);
	free((char *)elf->info.rpath);
	free((char *)elf->info.runpath);
	free(elf->segments);
	free(elf->sections);
	free(elf->section_names);
	free(elf->path);
	free(elf);
}

const struct gt_elf_info *gt_elf_info(const struct gt_elf *elf)
{
	return &elf->info;
}

void gt_elf_build_id(const struct gt_elf *elf, struct gt_strbuf *buffer)
{
	for (size_t i = 0; i < elf->info.build_id_size; i++)
		gt_strbuf_printf(buffer, "%02x", elf->build_id[i]);
}

uint64_t gt_elf_offset(const struct gt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_filesz)
			return segment->p_offset + (address - segment->p_vaddr);
	}
	return GT_ELF_NO_OFFSET;
}

uint64_t gt_elf_address(const struct gt_elf *elf, uint64_t offset)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
		    offset - segment->p_offset < segment->p_filesz)
			return segment->p_vaddr + (offset - segment->p_offset);
	}
	return GT_ELF_NO_OFFSET;
}
