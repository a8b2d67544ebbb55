/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fatbin/cubin_ptx.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "fatbin/cubin_private.h"

enum {
	NOTE_TOOL = 2000,
	NOTE_STRINGS = 24, /* offset in a note */
	NOTE_TOOL_NAME = 8,
	NOTE_OPTIONS = 20,
	ATTRIBUTE_MAX_REGISTERS = 0x1b,
	NO_LIMIT = 255,
};

#define NOTE_NAME "NVIDIA Corp"

/* ---- options --------------------------------------------------------------------------- */

/* The options of ptxas that change the code, as it writes them into a cubin. */
static const struct {
	const char *name;
	bool has_value;
	bool is_joined; /* to its value, for ptxas to read it */
} kept_options[] = {
	{"-maxrregcount", true, false},
	{"-func-maxrregcount", true, false},
	{"-regUsageLevel", true, false},
	{"-maxntid", true, false},
	{"-minnctapersm", true, false},
	{"-override-directive-values", false, false},
	{"-O", true, true},
	{"-Ofc", true, false},
	{"-g", false, false},
	{"-fmad", true, false},
	{"-dlcm", true, false},
	{"-dscm", true, false},
	{"-flcm", true, false},
	{"-fscm", true, false},
	{"-allow-expensive-optimizations", true, false},
	{"-disable-optimizer-consts", false, false},
	{"-opt-fp-atomics", false, false},
	{"-no-bb-merge", false, false},
	{"-ret-end", false, false},
	{"-legacy-bar-warp-wide-behavior", false, false},
	{"-sp-bounds-check", false, false},
};

/* The next word of options; its length is 0 at the end. */
static const char *next_word(const char **text, size_t *ret_length)
{
	const char *word = *text + strspn(*text, " ");

	*ret_length = strcspn(word, " ");
	*text = word + *ret_length;
	return word;
}

/* Whether a word may be passed to a compiler. */
static bool is_plain(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("-_.,", word[i]))
			return false;
	return length > 0;
}

static void add_word(struct gt_strbuf *options, const char *word, size_t length, bool is_joined)
{
	if (options->length && !is_joined)
		gt_strbuf_putc(options, ' ');
	gt_strbuf_add(options, word, length);
}

/* Append the options of `text` that change the code. */
static void keep_options(const char *text, struct gt_strbuf *options)
{
	size_t length, value_length;
	const char *word, *value;

	while ((word = next_word(&text, &length)), length) {
		for (size_t i = 0; i < gt_countof(kept_options); i++) {
			const char *rest = text;

			if (strlen(kept_options[i].name) != length ||
			    memcmp(kept_options[i].name, word, length) != 0)
				continue;
			value = next_word(&rest, &value_length);
			if (kept_options[i].has_value && !is_plain(value, value_length))
				break;
			add_word(options, word, length, false);
			if (!kept_options[i].has_value)
				break;
			add_word(options, value, value_length, kept_options[i].is_joined);
			text = rest;
			break;
		}
	}
}

/* A string of a note, whose offset is at `field`; NULL: malformed. */
static const char *note_string(struct cubin_bytes note, size_t field)
{
	struct cubin_bytes strings = {note.data + NOTE_STRINGS, note.size - NOTE_STRINGS};
	uint32_t offset = fatbin_get32(note.data + field);

	if (offset >= strings.size || !memchr(strings.data + offset, 0, strings.size - offset))
		return NULL;
	return (const char *)strings.data + offset;
}

/* Read the options of ptxas from a note. Linked inputs have a note each: the first one counts. */
static void read_note(struct cubin_bytes note, struct gt_strbuf *options)
{
	const char *tool = note.size > NOTE_STRINGS ? note_string(note, NOTE_TOOL_NAME) : NULL;
	const char *text = tool && !strcmp(tool, "ptxas") ? note_string(note, NOTE_OPTIONS) : NULL;

	if (text && !options->length)
		keep_options(text, options);
}

/* Read the notes of the tools; false: there is none of ptxas, or they are malformed. */
static bool read_notes(struct cubin_bytes bytes, struct gt_strbuf *options)
{
	bool found = false;

	while (bytes.size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		uint64_t name, used;

		memcpy(&header, bytes.data, sizeof(header));
		name = ((uint64_t)header.n_namesz + 3) & ~UINT64_C(3);
		used = sizeof(header) + name + (((uint64_t)header.n_descsz + 3) & ~UINT64_C(3));
		if (used > bytes.size)
			return found;
		if (header.n_type == NOTE_TOOL && header.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(bytes.data + sizeof(header), NOTE_NAME, sizeof(NOTE_NAME))) {
			read_note((struct cubin_bytes){bytes.data + sizeof(header) + name,
						       header.n_descsz},
				  options);
			found = true;
		}
		bytes.data += used;
		bytes.size -= used;
	}
	return found;
}

/* ---- the register limit of older cubins ------------------------------------------------- */

/* The limit that all kernels without launch bounds have in common. */
struct register_limit {
	uint32_t value; /* 0: none seen */
	bool differs;
};

/* Read the limit of a kernel from its records, as fatbin/cubin.h describes them. */
static void read_limit(struct cubin_bytes bytes, struct register_limit *limit)
{
	while (bytes.size >= 4) {
		uint16_t value = fatbin_get16(bytes.data + 2);
		size_t size = bytes.data[0] == 4 ? 4 + (size_t)value : 4;

		if (size > bytes.size)
			return;
		if (bytes.data[0] == 3 && bytes.data[1] == ATTRIBUTE_MAX_REGISTERS &&
		    (value & 0xff) != NO_LIMIT) {
			limit->differs |= limit->value && limit->value != (value & 0xff);
			limit->value = value & 0xff;
		}
		bytes.data += size;
		bytes.size -= size;
	}
}

/* ---- sections -------------------------------------------------------------------------- */

static bool is_text_section(const char *name)
{
	static const char section[] = ".nv_debug_ptx_txt";
	const char *number = name + sizeof(section) - 1;

	if (strncmp(name, section, sizeof(section) - 1) != 0)
		return false;
	return !*number ||
	       (*number == '.' && number[1] && !number[1 + strspn(number + 1, "0123456789")]);
}

/* A copy of the section's lines, each with a newline in place of its NUL. */
static int add_text(struct cubin_reader *reader, struct cubin_bytes bytes, struct gt_cubin_ptx *ptx)
{
	struct gt_cubin_text text = {.length = bytes.size};

	while (text.length && !bytes.data[text.length - 1])
		text.length--;
	if (!text.length)
		return 0;
	if (ptx->texts.count == GT_CUBIN_MAX_TEXTS)
		return cubin_fail(reader, -E2BIG, "more PTX sections than any cubin has");
	if (text.length > GT_FATBIN_MAX_PAYLOAD)
		return cubin_fail(reader, -E2BIG, "a PTX section of more than 256 MiB");
	text.text = malloc(text.length + 2);
	if (!text.text || gt_vec_push(&ptx->texts, text)) {
		free(text.text);
		return cubin_fail(reader, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < text.length; i++)
		text.text[i] = bytes.data[i] ? (char)bytes.data[i] : '\n';
	text.text[text.length] = '\n';
	text.text[text.length + 1] = 0;
	ptx->texts.items[ptx->texts.count - 1].length++;
	return 0;
}

static int read_sections(struct cubin_reader *reader, struct gt_cubin_ptx *ptx)
{
	struct register_limit limit = {0};
	bool has_notes = false;
	int error = 0;

	for (size_t i = 0; i < reader->section_count && !error; i++) {
		Elf64_Shdr section = cubin_section_at(reader, i);
		const char *name = cubin_section_name(reader, &section);

		if (!name)
			continue;
		if (is_text_section(name))
			error = add_text(reader, cubin_info_bytes(reader, &section), ptx);
		else if (!strcmp(name, ".note.nv.tkinfo"))
			has_notes |= read_notes(cubin_info_bytes(reader, &section), &ptx->options);
		else if (!strncmp(name, ".nv.info.", 9))
			read_limit(cubin_info_bytes(reader, &section), &limit);
	}
	if (!has_notes && limit.value && !limit.differs)
		gt_strbuf_printf(&ptx->options, "-maxrregcount %u", limit.value);
	if (!error && ptx->options.failed)
		error = cubin_fail(reader, -ENOMEM, "out of memory");
	return error;
}

int gt_cubin_ptx_read(const void *data, size_t size, struct gt_cubin_ptx *ret_ptx,
		      struct gt_diag *diag)
{
	struct cubin_reader reader = {.file = {data, size}, .diag = diag};
	int error;

	*ret_ptx = (struct gt_cubin_ptx){0};
	error = cubin_read_header(&reader);
	if (!error)
		error = read_sections(&reader, ret_ptx);
	if (!error && !ret_ptx->texts.count)
		error = cubin_fail(&reader, -ENODATA, "the cubin carries no PTX");
	return error;
}

int gt_cubin_texts_add(struct gt_cubin_texts *texts, const char *text, size_t length)
{
	struct gt_cubin_text copy = {.text = malloc(length + 1), .length = length};

	if (!copy.text || gt_vec_push(texts, copy)) {
		free(copy.text);
		return -ENOMEM;
	}
	memcpy(copy.text, text, length);
	copy.text[length] = 0;
	return 0;
}

void gt_cubin_texts_clear(struct gt_cubin_texts *texts)
{
	gt_vec_each (text, texts)
		free(text->text);
	gt_vec_free(texts);
}

void gt_cubin_ptx_clear(struct gt_cubin_ptx *ptx)
{
	gt_cubin_texts_clear(&ptx->texts);
	gt_cubin_texts_clear(&ptx->archives);
	gt_strbuf_free(&ptx->options);
}

size_t gt_cubin_size(const void *data, size_t size)
{
	struct cubin_reader reader = {.file = {data, size}};
	size_t end;

	if (cubin_read_header(&reader))
		return 0;
	end = (size_t)(reader.sections - reader.file.data) +
	      reader.section_count * sizeof(Elf64_Shdr);
	for (size_t i = 0; i < reader.section_count; i++) {
		Elf64_Shdr section = cubin_section_at(&reader, i);

		if (section.sh_type == SHT_NOBITS || section.sh_offset > size ||
		    section.sh_size > size - section.sh_offset)
			continue;
		if (section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	return end;
}
