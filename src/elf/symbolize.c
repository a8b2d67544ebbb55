/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/symbolize.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "elf/debugfile.h"
#include "elf/demangle.h"
#include "elf/lines.h"

#define DEFAULT_OPEN 64
#define MAX_ADDRESSES (1u << 20) /* cached addresses; later ones are returned without functions */
#define MAX_OFFSET (UINT64_C(1) << 62)

/* The result for an address of a file. */
struct known_file {
	uint64_t address; /* of the instruction in the ELF; 0: unknown */
	size_t count;
	struct gt_source_frame frames[];
};

struct symbol_module {
	const struct gt_space_file *file;
	struct gt_hash *known; /* offset << 1 | is_return -> struct known_file */
	bool open;
	struct gt_elf *elf;   /* NULL: it cannot be read */
	struct gt_elf *debug; /* its debug file or .gnu_debugdata; NULL: none */
	struct gt_file debug_bytes;
	struct gt_lines *lines; /* NULL: there are none */
	uint64_t spent;         /* ns on its DWARF */
	uint64_t used;          /* `clock` of the last use */
};

struct gt_symbolizer {
	const struct gt_space *space;
	char *debug_directory;
	bool no_lines;
	size_t max_open, open_count, known_count;
	uint64_t clock;          /* counts uses of modules */
	struct gt_hash *modules; /* number of the file -> struct symbol_module */
	struct gt_hash *strings; /* text -> char *, the same text */
};

static void close_module(struct gt_symbolizer *symbolizer, struct symbol_module *module)
{
	if (!module->open)
		return;
	gt_lines_free(gt_take(module->lines));
	gt_elf_free(gt_take(module->debug));
	gt_elf_free(gt_take(module->elf));
	gt_file_free(&module->debug_bytes);
	module->open = false;
	symbolizer->open_count--;
}

static void free_module(struct gt_symbolizer *symbolizer, struct symbol_module *module)
{
	close_module(symbolizer, module);
	gt_hash_free_with(module->known, free);
	free(module);
}

struct gt_symbolizer *gt_symbolizer_new(const struct gt_space *space,
					const struct gt_symbolizer_options *options)
{
	static const struct gt_symbolizer_options defaults;
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	if (!options)
		options = &defaults;
	symbolizer->space = space;
	symbolizer->no_lines = options->no_lines;
	symbolizer->max_open = options->max_open ? options->max_open : DEFAULT_OPEN;
	symbolizer->debug_directory =
		strdup(options->debug_directory ? options->debug_directory : "/usr/lib/debug");
	symbolizer->modules = gt_hash_new();
	symbolizer->strings = gt_hash_new();
	if (!symbolizer->debug_directory || !symbolizer->modules || !symbolizer->strings)
		return NULL;
	return gt_take(symbolizer);
}

void gt_symbolizer_free(struct gt_symbolizer *symbolizer)
{
	size_t cursor = 0;
	void *module;

	if (!symbolizer)
		return;
	while (symbolizer->modules &&
	       gt_hash_next(symbolizer->modules, &cursor, NULL, NULL, &module))
		free_module(symbolizer, module);
	gt_hash_free(symbolizer->modules);
	gt_hash_free_with(symbolizer->strings, free);
	free(symbolizer->debug_directory);
	free(symbolizer);
}

/* Interns a text; NULL for NULL. */
static const char *keep(struct gt_symbolizer *symbolizer, const char *text)
{
	char *kept = text ? gt_hash_get_str(symbolizer->strings, text) : NULL;

	if (kept || !text)
		return kept;
	kept = strdup(text);
	if (kept && gt_hash_set_str(symbolizer->strings, text, kept)) {
		free(kept);
		return NULL;
	}
	return kept;
}

static const char *keep_demangled(struct gt_symbolizer *symbolizer, const char *symbol)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!symbol)
		return NULL;
	gt_demangle(symbol, &text);
	return keep(symbolizer, gt_strbuf_string(&text));
}

static void open_debug(struct gt_symbolizer *symbolizer, struct symbol_module *module)
{
	const char *directory = symbolizer->debug_directory;

	if (!symbolizer->no_lines && gt_elf_find_section(module->elf, ".debug_info") &&
	    !gt_lines_open(module->elf, directory, &module->spent, &module->lines))
		return;
	if (!gt_debug_file_open(module->elf, directory, &module->debug)) {
		if (!symbolizer->no_lines)
			gt_lines_open(module->debug, directory, &module->spent, &module->lines);
	} else if (gt_elf_info(module->elf)->stripped) {
		gt_debug_data_open(module->elf, &module->debug_bytes, &module->debug);
	}
}

static void close_oldest(struct gt_symbolizer *symbolizer)
{
	struct symbol_module *oldest = NULL;
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(symbolizer->modules, &cursor, NULL, NULL, &value)) {
		struct symbol_module *module = value;

		if (module->open && (!oldest || module->used < oldest->used))
			oldest = module;
	}
	if (oldest)
		close_module(symbolizer, oldest);
}

static void open_module(struct gt_symbolizer *symbolizer, struct symbol_module *module)
{
	const struct gt_space_file *file = module->file;

	module->used = ++symbolizer->clock;
	if (module->open && module->lines && gt_lines_is_full(module->lines))
		close_module(symbolizer, module);
	if (module->open)
		return;
	while (symbolizer->open_count >= symbolizer->max_open)
		close_oldest(symbolizer);
	module->open = true;
	symbolizer->open_count++;
	if (!file->is_file || gt_elf_open(file->path, &module->elf, NULL))
		return;
	if (file->inode && gt_elf_info(module->elf)->inode != file->inode) {
		gt_elf_free(gt_take(module->elf));
		return;
	}
	open_debug(symbolizer, module);
}

static struct symbol_module *find_module(struct gt_symbolizer *symbolizer,
					 const struct gt_space_file *file)
{
	struct symbol_module *module = gt_hash_get_u64(symbolizer->modules, file->number);

	if (module)
		return module;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->file = file;
	module->known = gt_hash_new();
	if (!module->known || gt_hash_set_u64(symbolizer->modules, file->number, module)) {
		gt_hash_free(module->known);
		free(module);
		return NULL;
	}
	return module;
}

static const struct gt_elf_symbol *find_symbol(struct symbol_module *module, uint64_t address)
{
	const struct gt_elf_symbol *symbol =
		module->debug ? gt_elf_symbol_near(module->debug, address) : NULL;

	if (!symbol)
		symbol = gt_elf_symbol_near(module->elf, address);
	return symbol && symbol->kind != GT_ELF_OBJECT ? symbol : NULL;
}

/*
 * Uses the symbol's name if DWARF has none with scopes: the plain name of a static function in a
 * namespace would be ambiguous.
 */
static void take_frame(struct gt_symbolizer *symbolizer, const struct gt_line_frame *found,
		       const struct gt_elf_symbol *symbol, uint64_t address,
		       struct gt_source_frame *frame)
{
	const char *name = found->linkage;

	if (!name && symbol && !found->inlined)
		name = symbol->name;
	if (!name)
		name = found->name;
	*frame = (struct gt_source_frame){
		.function = keep_demangled(symbolizer, name),
		.symbol = keep(symbolizer, name),
		.file = keep(symbolizer, found->file),
		.line = found->line,
		.column = found->column,
		.inlined = found->inlined,
	};
	if (symbol && !found->inlined)
		frame->offset = address - symbol->value;
	else if (found->start)
		frame->offset = address - found->start;
}

/* Looks up an address of the ELF; the caller frees the result. NULL: out of memory. */
static struct known_file *look_up(struct gt_symbolizer *symbolizer, struct symbol_module *module,
				  uint64_t address, bool is_return)
{
	struct gt_line_frame frames[GT_LINES_MAX_FRAMES];
	const struct gt_elf_symbol *symbol = find_symbol(module, address);
	size_t count = module->lines ? gt_lines_find(module->lines, address, frames) : 0;
	struct known_file *known;

	if (!count && symbol) {
		frames[0] = (struct gt_line_frame){0};
		count = 1;
	}
	known = calloc(1, sizeof(*known) + count * sizeof(known->frames[0]));
	if (!known)
		return NULL;
	known->address = address;
	known->count = count;
	for (size_t i = 0; i < count; i++) {
		take_frame(symbolizer, &frames[i], symbol, address, &known->frames[i]);
		if (is_return && !frames[i].inlined && known->frames[i].function)
			known->frames[i].offset++;
	}
	return known;
}

static const struct known_file *find_known(struct gt_symbolizer *symbolizer,
					   struct symbol_module *module, uint64_t offset,
					   bool is_return)
{
	uint64_t key = offset << 1 | is_return, address;
	struct known_file *known = gt_hash_get_u64(module->known, key);

	if (known || offset >= MAX_OFFSET || symbolizer->known_count >= MAX_ADDRESSES)
		return known;
	open_module(symbolizer, module);
	address = module->elf ? gt_elf_address(module->elf, offset) : GT_ELF_NO_OFFSET;
	if (address == GT_ELF_NO_OFFSET)
		known = calloc(1, sizeof(*known));
	else
		known = look_up(symbolizer, module, address, is_return);
	if (known && gt_hash_set_u64(module->known, key, known)) {
		free(known);
		return NULL;
	}
	symbolizer->known_count += known != NULL;
	return known;
}

/* The path as the process sees it: without "/proc/PID/root", by which files of a chroot are
 * reached.
 */
static const char *path_in_process(const char *path)
{
	static const char before[] = "/proc/", behind[] = "/root/";
	size_t digits;

	if (strncmp(path, before, strlen(before)) != 0)
		return path;
	digits = strspn(path + strlen(before), "0123456789");
	if (!digits || strncmp(path + strlen(before) + digits, behind, strlen(behind)) != 0)
		return path;
	return path + strlen(before) + digits + strlen(behind) - 1;
}

void gt_symbolize(struct gt_symbolizer *symbolizer, uint32_t process, uint64_t address,
		  bool is_return, struct gt_location *ret_location)
{
	uint64_t at = address - (is_return && address ? 1 : 0), offset;
	const struct gt_space_mapping *mapping = gt_space_at(symbolizer->space, process, at);
	const struct known_file *known;
	struct symbol_module *module;

	*ret_location = (struct gt_location){0};
	if (!mapping)
		return;
	offset = at - mapping->start + mapping->offset;
	ret_location->path = path_in_process(mapping->file->path);
	ret_location->offset = offset + (address - at);
	module = find_module(symbolizer, mapping->file);
	known = module ? find_known(symbolizer, module, offset, is_return) : NULL;
	if (!known)
		return;
	ret_location->address = known->address ? known->address + (address - at) : 0;
	ret_location->frames = known->frames;
	ret_location->frame_count = known->count;
}
