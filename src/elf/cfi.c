/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finding the entry (FDE) that covers an address, and its rules. */
#include "elf/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "elf/cfi_program.h"
#include "elf/private.h"

#define FRAMES_LIMIT (256u << 20) /* bytes of .eh_frame */
#define HEADER_LIMIT (128u << 20) /* bytes of .eh_frame_hdr */
#define MAX_ENTRIES (32u << 20)   /* FDEs of one file */
#define MAX_PROGRAM (1u << 20)    /* bytes of the instructions for one function */
#define MAX_SHARING 16            /* functions to each CIE, by bytes of instructions */
#define MAX_LETTERS 16            /* of an augmentation; there are six */
#define TABLE_ENCODING 0x3b       /* DW_EH_PE_datarel | DW_EH_PE_sdata4, the one linkers write */

/* The start of an FDE's code, and the FDE. */
struct cfi_section {
	uint64_t start;
	uint64_t entry; /* offset in frames */
};

struct gt_cfi {
	uint8_t *frames;
	size_t size;
	uint64_t address;                  /* of frames in the ELF */
	uint64_t data_base;                /* of .eh_frame_hdr */
	GT_VEC(struct cfi_section) places; /* by start */
};

/* The common part of a CIE and an FDE. */
struct cfi_entry {
	struct elf_cursor body; /* after the length and the id */
	const uint8_t *id_at;
	uint64_t id; /* 0: a CIE; else the distance of the CIE before id_at */
	size_t next; /* offset of the next entry */
};

struct cie {
	struct cfi_code code;
	struct elf_cursor instructions;
	uint64_t return_register;
	bool has_augmentation; /* FDEs have a length and augmentation data */
	bool is_signal;
};

/* Reads an entry. False: the end, or a malformed entry. */
static bool read_entry(const struct gt_cfi *cfi, uint64_t offset, struct cfi_entry *ret_entry)
{
	struct elf_cursor cursor = {cfi->frames + cfi->size, cfi->frames + cfi->size, false};
	uint64_t length;
	const uint8_t *start;

	if (offset >= cfi->size)
		return false;
	cursor.at = cfi->frames + offset;
	length = cursor_number(&cursor, 4);
	if (length == UINT32_MAX)
		length = cursor_number(&cursor, 8);
	start = cursor.at;
	if (!length || !cursor_skip(&cursor, length))
		return false;
	ret_entry->next = (size_t)(cursor.at - cfi->frames);
	ret_entry->body = (struct elf_cursor){start, cursor.at, false};
	ret_entry->id_at = start;
	/* In .eh_frame the id has 4 bytes even if the length has 8. */
	ret_entry->id = cursor_number(&ret_entry->body, 4);
	return !ret_entry->body.bad;
}

static void read_augmentation(struct elf_cursor *cursor, const char *letters, struct cie *cie)
{
	uint64_t size = cursor_uleb(cursor);
	const uint8_t *bytes = cursor_skip(cursor, size);
	struct elf_cursor data = {bytes, bytes ? bytes + size : NULL, !bytes};

	for (; *letters && !data.bad; letters++) {
		switch (*letters) {
		case 'R':
			cie->code.encoding = (uint8_t)cursor_number(&data, 1);
			break;
		case 'P':
			cfi_pointer(&data, &cie->code, cursor_number(&data, 1) & 0x7f);
			break;
		case 'L':
			cursor_number(&data, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* AArch64: signed with the other key */
		case 'G': /* AArch64: with memory tags */
			break;
		default:
			/* Unknown letters may have any number of bytes. */
			letters += strlen(letters) - 1;
			break;
		}
	}
	cursor->bad |= data.bad;
}

static int read_cie(const struct gt_cfi *cfi, uint64_t offset, struct cie *ret_cie)
{
	struct cfi_entry entry;
	struct elf_cursor *cursor = &entry.body;
	const char *letters;
	uint8_t version;

	if (!read_entry(cfi, offset, &entry) || entry.id != 0)
		return -EBADMSG;
	*ret_cie = (struct cie){.code = {.encoding = DW_EH_PE_absptr,
					 .bytes = cfi->frames,
					 .address = cfi->address,
					 .data_base = cfi->data_base}};
	version = (uint8_t)cursor_number(cursor, 1);
	letters = cursor_string(cursor, MAX_LETTERS);
	if (!letters || (version != 1 && version != 3) || (*letters && *letters != 'z'))
		return -EBADMSG;
	ret_cie->code.code_align = cursor_uleb(cursor);
	ret_cie->code.data_align = cursor_sleb(cursor);
	ret_cie->return_register = version == 1 ? cursor_number(cursor, 1) : cursor_uleb(cursor);
	if (*letters == 'z') {
		ret_cie->has_augmentation = true;
		read_augmentation(cursor, letters + 1, ret_cie);
	}
	ret_cie->instructions = *cursor;
	if (cursor->bad || ret_cie->return_register >= GT_CFI_REGISTERS)
		return -EBADMSG;
	return cursor->end - cursor->at > MAX_PROGRAM ? -EBADMSG : 0;
}

/* Reads the CIE of an FDE and the range of its code; *entry ends at its instructions. */
static int read_fde(const struct gt_cfi *cfi, struct cfi_entry *entry, struct cie *ret_cie,
		    uint64_t *ret_start, uint64_t *ret_size)
{
	uint64_t before = (uint64_t)(entry->id_at - cfi->frames);
	struct elf_cursor *cursor = &entry->body;
	int error;

	if (!entry->id || entry->id > before)
		return -EBADMSG;
	error = read_cie(cfi, before - entry->id, ret_cie);
	if (error)
		return error;
	*ret_start = cfi_pointer(cursor, &ret_cie->code, ret_cie->code.encoding);
	*ret_size = cfi_pointer(cursor, &ret_cie->code, ret_cie->code.encoding & 0x0f);
	if (ret_cie->has_augmentation)
		cursor_skip(cursor, cursor_uleb(cursor));
	return cursor->bad || cursor->end - cursor->at > MAX_PROGRAM ? -EBADMSG : 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct cfi_section *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Reads all entries, if there is no usable table. */
static int scan(struct gt_cfi *cfi)
{
	uint64_t offset = 0, start, size;
	struct cfi_entry entry;
	struct cie cie;

	for (; read_entry(cfi, offset, &entry); offset = entry.next) {
		if (!entry.id || read_fde(cfi, &entry, &cie, &start, &size))
			continue;
		if (cfi->places.count == MAX_ENTRIES)
			return -EFBIG;
		if (gt_vec_push(&cfi->places, (struct cfi_section){start, offset}))
			return -ENOMEM;
	}
	if (cfi->places.count)
		qsort(cfi->places.items, cfi->places.count, sizeof(struct cfi_section),
		      compare_places);
	return 0;
}

/* Reads the linker's table. -ENOENT: it cannot be used. */
static int take_table(struct gt_cfi *cfi, struct elf_cursor table, uint64_t count)
{
	uint64_t last = 0;

	if (!count || count > MAX_ENTRIES || count > (uint64_t)(table.end - table.at) / 8)
		return -ENOENT;
	cfi->places.items = malloc(count * sizeof(struct cfi_section));
	if (!cfi->places.items)
		return -ENOMEM;
	cfi->places.capacity = count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = cfi->data_base + (uint64_t)cursor_signed(&table, 4);
		uint64_t entry = cfi->data_base + (uint64_t)cursor_signed(&table, 4) - cfi->address;

		if (start < last || entry >= cfi->size) {
			cfi->places.count = 0;
			return -ENOENT;
		}
		last = start;
		cfi->places.items[cfi->places.count++] = (struct cfi_section){start, entry};
	}
	return 0;
}

/* Reads .eh_frame; its end is that of its section, or without one that of its segment. */
static int read_frames(struct gt_elf *elf, struct gt_cfi *cfi, struct gt_diag *diag)
{
	const Elf64_Shdr *section = gt_elf_find_section(elf, ".eh_frame");
	uint64_t offset, size = 0;
	int error;

	if (section && !cfi->address)
		cfi->address = section->sh_addr;
	if (!cfi->address)
		return -ENOENT;
	offset = gt_elf_offset(elf, cfi->address);
	for (size_t i = 0; i < elf->segment_count && offset != GT_ELF_NO_OFFSET; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && cfi->address >= segment->p_vaddr &&
		    cfi->address - segment->p_vaddr < segment->p_filesz && !size)
			size = segment->p_filesz - (cfi->address - segment->p_vaddr);
	}
	if (section && section->sh_addr == cfi->address && section->sh_size < size)
		size = section->sh_size;
	if (!size)
		return -ENOENT;
	error = gt_elf_read_table(elf, offset, size, FRAMES_LIMIT, "unwinding rules",
				  (void **)&cfi->frames, diag);
	if (!error)
		cfi->size = size;
	return error;
}

static int read_header(struct gt_elf *elf, uint8_t **ret_header, size_t *ret_size,
		       uint64_t *ret_address, struct gt_diag *diag)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		int error;

		if (segment->p_type != PT_GNU_EH_FRAME || !segment->p_filesz)
			continue;
		error = gt_elf_read_table(elf, segment->p_offset, segment->p_filesz, HEADER_LIMIT,
					  "table of unwinding rules", (void **)ret_header, diag);
		if (!error) {
			*ret_size = segment->p_filesz;
			*ret_address = segment->p_vaddr;
		}
		return error;
	}
	return 0;
}

/* LSB 5.0 Core, 10.6.2: u8 version, 3 encodings, the address of .eh_frame, the count, the table */
static int open_tables(struct gt_elf *elf, struct gt_cfi *cfi, struct gt_diag *diag)
{
	gt_autofree uint8_t *header = NULL;
	size_t header_size = 0;
	struct elf_cursor cursor;
	struct cfi_code code = {0};
	uint64_t count = 0, encodings = 0;
	int error = read_header(elf, &header, &header_size, &code.address, diag);

	if (error)
		return error;
	cursor = (struct elf_cursor){header, header ? header + header_size : NULL, !header};
	code.bytes = header;
	code.data_base = cfi->data_base = code.address;
	encodings = cursor_number(&cursor, 4);
	if (!cursor.bad && (encodings & 0xff) == 1) {
		cfi->address = cfi_pointer(&cursor, &code, encodings >> 8 & 0xff);
		count = cfi_pointer(&cursor, &code, encodings >> 16 & 0xff);
	}
	if (cursor.bad)
		cfi->address = 0;
	error = read_frames(elf, cfi, diag);
	if (error)
		return error;
	error = -ENOENT;
	if (!cursor.bad && encodings >> 24 == TABLE_ENCODING)
		error = take_table(cfi, cursor, count);
	return error == -ENOENT ? scan(cfi) : error;
}

int gt_cfi_open(struct gt_elf *elf, struct gt_cfi **ret_cfi, struct gt_diag *diag)
{
	gt_auto(cfi) struct gt_cfi *cfi = calloc(1, sizeof(*cfi));
	int error;

	if (!cfi)
		return gt_diag(diag, -ENOMEM, "elf", elf->info.path, "out of memory");
	error = open_tables(elf, cfi, diag);
	if (!error && !cfi->places.count)
		error = -ENOENT;
	if (error)
		return gt_diag(diag, error, "elf", elf->info.path, "no rules for unwinding (%s)",
			       error == -ENOENT ? "there is no .eh_frame" : strerror(-error));
	*ret_cfi = gt_take(cfi);
	return 0;
}

void gt_cfi_free(struct gt_cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->frames);
	gt_vec_free(&cfi->places);
	free(cfi);
}

/* Visits the rows of one function; false: no more are wanted, or *work is used up. */
static bool visit_function(const struct gt_cfi *cfi, uint64_t offset, gt_cfi_visitor *visit,
			   void *context, uint64_t *work)
{
	struct gt_cfi_row row = {0};
	struct cfi_entry entry;
	struct cie cie;
	uint64_t start, size, bytes;

	if (!read_entry(cfi, offset, &entry) || read_fde(cfi, &entry, &cie, &start, &size) ||
	    !size || size > UINT64_MAX - start)
		return true;
	bytes = (uint64_t)(cie.instructions.end - cie.instructions.at) +
		(uint64_t)(entry.body.end - entry.body.at);
	if (bytes > *work)
		return false;
	*work -= bytes;
	row.return_register = (uint8_t)cie.return_register;
	row.is_signal = cie.is_signal;
	return cfi_visit(&cie.code, cie.instructions, entry.body,
			 &(struct cfi_visit){start, start + size, visit, context}, &row);
}

void gt_cfi_each_row(const struct gt_cfi *cfi, gt_cfi_visitor *visit, void *context)
{
	/* In a hostile file many functions share their instructions. */
	uint64_t work = cfi->size * MAX_SHARING;

	gt_vec_each (place, &cfi->places)
		if (!visit_function(cfi, place->entry, visit, context, &work))
			return;
}

int gt_cfi_find(const struct gt_cfi *cfi, uint64_t address, struct gt_cfi_row *ret_row)
{
	struct gt_cfi_row row = {0};
	size_t low = 0, high = cfi->places.count;
	uint64_t start, size;
	struct cfi_entry entry;
	struct cie cie;
	int error;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cfi->places.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	if (!read_entry(cfi, cfi->places.items[low - 1].entry, &entry))
		return -EBADMSG;
	error = read_fde(cfi, &entry, &cie, &start, &size);
	if (error)
		return error;
	if (address < start || address - start >= size)
		return -ENOENT;
	row.return_register = (uint8_t)cie.return_register;
	row.is_signal = cie.is_signal;
	error = cfi_run(&cie.code, cie.instructions, entry.body, start, address, &row);
	if (!error)
		*ret_row = row;
	return error;
}
