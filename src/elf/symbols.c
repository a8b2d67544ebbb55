/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The symbol tables. Programs with half a million symbols are common, so names are hashed
 * once, and sorted as (hash, index) pairs: strings are compared only where hashes are equal.
 */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "elf/private.h"

#define TABLE_LIMIT (512u << 20) /* bytes of a symbol or string table */
#define NAME_LIMIT 65535         /* bytes of a name; a longer one is ignored */

/* A symbol table and its names in the file. */
struct symbol_extent {
	uint64_t symbols, symbols_size, names, names_size;
};

struct symbol_builder {
	GT_VEC(struct gt_elf_symbol) symbols;
	GT_VEC(uint64_t) keys; /* hash of the name << 32 | index into symbols */
	uint64_t name_bytes;   /* bytes that may still be hashed: limits the time for overlapping
				  names */
};

static uint32_t hash_name(const char *name, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

/* Exported before global before local. */
static int rank(const struct gt_elf_symbol *symbol)
{
	return symbol->dynamic ? 0 : symbol->local ? 2 : 1;
}

static bool in_executable_segment(const struct gt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
			return true;
	}
	return false;
}

static bool kind_of(const Elf64_Sym *symbol, enum gt_elf_symbol_kind *ret_kind)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
		*ret_kind = GT_ELF_FUNCTION;
		return true;
	case STT_GNU_IFUNC:
		*ret_kind = GT_ELF_INDIRECT;
		return true;
	case STT_OBJECT:
		*ret_kind = GT_ELF_OBJECT;
		return true;
	default:
		return false;
	}
}

static int take_symbol(const struct gt_elf *elf, const Elf64_Sym *raw, char *names,
		       uint64_t names_size, bool dynamic, struct symbol_builder *builder)
{
	struct gt_elf_symbol symbol = {.value = raw->st_value, .size = raw->st_size};
	uint64_t key;
	size_t length;
	char *version;

	if (!kind_of(raw, &symbol.kind) || raw->st_name >= names_size)
		return 0;
	if (symbol.kind != GT_ELF_OBJECT && !in_executable_segment(elf, symbol.value))
		return 0;
	symbol.name = names + raw->st_name;
	length = strnlen(symbol.name, NAME_LIMIT + 1);
	if (length == 0 || length > NAME_LIMIT)
		return 0;
	if (length > builder->name_bytes)
		return -EBADMSG;
	builder->name_bytes -= length;
	version = memchr(names + raw->st_name + 1, '@', length - 1);
	if (version) {
		*version = 0;
		length = version - symbol.name;
	}
	symbol.offset = gt_elf_offset(elf, symbol.value);
	symbol.local = ELF64_ST_BIND(raw->st_info) == STB_LOCAL;
	symbol.dynamic = dynamic;
	key = (uint64_t)hash_name(symbol.name, length) << 32 | builder->symbols.count;
	if (builder->symbols.count == UINT32_MAX)
		return -EFBIG;
	if (gt_vec_push(&builder->symbols, symbol) || gt_vec_push(&builder->keys, key))
		return -ENOMEM;
	return 0;
}

static int read_extent(struct gt_elf *elf, const struct symbol_extent *extent, bool dynamic,
		       struct symbol_builder *builder, struct gt_diag *diag)
{
	const char *path = elf->info.path;
	gt_autofree Elf64_Sym *symbols = NULL;
	char **names = &elf->table.names[dynamic];
	int error =
		gt_elf_read_table(elf, extent->symbols, extent->symbols_size, TABLE_LIMIT,
				  dynamic ? "dynamic symbols" : "symbols", (void **)&symbols, diag);

	if (!error)
		error = gt_elf_read_table(elf, extent->names, extent->names_size, TABLE_LIMIT,
					  "symbol names", (void **)names, diag);
	if (error)
		return error;
	builder->name_bytes += extent->names_size * 16 + 65536;
	for (size_t i = 0; i < extent->symbols_size / sizeof(*symbols) && !error; i++)
		error = take_symbol(elf, &symbols[i], *names, extent->names_size, dynamic, builder);
	if (error == -ENOMEM)
		return gt_diag(diag, error, "elf", path, "out of memory");
	if (error)
		return gt_diag(diag, error, "elf", path,
			       "malformed ELF: its symbols' names overlap beyond all sense");
	return 0;
}

static int section_extent(const struct gt_elf *elf, uint32_t type, struct symbol_extent *ret_extent,
			  struct gt_diag *diag)
{
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *table = &elf->sections[i], *names;

		if (table->sh_type != type || !table->sh_size)
			continue;
		if (table->sh_link >= elf->section_count ||
		    elf->sections[table->sh_link].sh_type != SHT_STRTAB)
			return gt_diag(diag, -EBADMSG, "elf", elf->info.path,
				       "malformed ELF: the symbols of section %zu have no names",
				       i);
		names = &elf->sections[table->sh_link];
		*ret_extent = (struct symbol_extent){table->sh_offset, table->sh_size,
						     names->sh_offset, names->sh_size};
		return 0;
	}
	return -ENOENT;
}

/* Without section headers: the loader's pointers in the dynamic section. */
static int dynamic_extent(const struct gt_elf *elf, struct symbol_extent *ret_extent)
{
	uint64_t symbols = gt_elf_offset(elf, elf->dynamic_symbols);
	uint64_t names = gt_elf_offset(elf, elf->dynamic_strings);
	uint64_t count = gt_elf_hashed_symbols(elf), size;

	if (!elf->dynamic_symbols || !elf->dynamic_strings || symbols == GT_ELF_NO_OFFSET ||
	    names == GT_ELF_NO_OFFSET || !count ||
	    __builtin_mul_overflow(count, sizeof(Elf64_Sym), &size))
		return -ENOENT;
	*ret_extent = (struct symbol_extent){symbols, size, names, elf->dynamic_strings_size};
	return 0;
}

static int read_tables(struct gt_elf *elf, struct symbol_builder *builder, struct gt_diag *diag)
{
	struct symbol_extent extent;
	int error = section_extent(elf, SHT_DYNSYM, &extent, diag);

	if (error == -ENOENT)
		error = dynamic_extent(elf, &extent);
	if (!error)
		error = read_extent(elf, &extent, true, builder, diag);
	if (error && error != -ENOENT)
		return error;
	error = section_extent(elf, SHT_SYMTAB, &extent, diag);
	if (!error)
		error = read_extent(elf, &extent, false, builder, diag);
	return error == -ENOENT ? 0 : error;
}

static int compare_keys(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int compare_names(const struct gt_elf_symbol *a, const struct gt_elf_symbol *b)
{
	return a->name == b->name ? 0 : strcmp(a->name, b->name);
}

/* Order of symbols with equal hashes: name, address, index. */
static int compare_same(const void *left, const void *right, void *context)
{
	const struct gt_elf_symbol *symbols = context;
	uint32_t left_index = *(const uint64_t *)left, right_index = *(const uint64_t *)right;
	const struct gt_elf_symbol *a = &symbols[left_index], *b = &symbols[right_index];
	int order = compare_names(a, b);

	if (order)
		return order;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return left_index < right_index ? -1 : left_index > right_index;
}

/* Order of symbols with equal hashes: name, preference. */
static int compare_ranked(const void *left, const void *right)
{
	const struct gt_elf_symbol *a = *(const struct gt_elf_symbol *const *)left;
	const struct gt_elf_symbol *b = *(const struct gt_elf_symbol *const *)right;
	int order = compare_names(a, b);

	if (order)
		return order;
	if (rank(a) != rank(b))
		return rank(a) - rank(b);
	return a < b ? -1 : a > b;
}

/* Returns the end of the run of equal hashes that starts at `start`. */
static size_t run_end(const uint64_t *keys, size_t count, size_t start)
{
	size_t end = start + 1;

	while (end < count && keys[end] >> 32 == keys[start] >> 32)
		end++;
	return end;
}

/* Merges symbols of the same name and address; the name of the others becomes NULL. */
static void merge_run(struct symbol_builder *builder, size_t start, size_t end)
{
	uint64_t *keys = builder->keys.items;
	struct gt_elf_symbol *symbols = builder->symbols.items, *kept;

	qsort_r(keys + start, end - start, sizeof(*keys), compare_same, symbols);
	kept = &symbols[(uint32_t)keys[start]];
	for (size_t i = start + 1; i < end; i++) {
		struct gt_elf_symbol *next = &symbols[(uint32_t)keys[i]];

		if (next->value != kept->value || compare_names(kept, next)) {
			kept = next;
			continue;
		}
		kept->dynamic |= next->dynamic;
		kept->local &= next->local;
		if (next->size > kept->size)
			kept->size = next->size;
		next->name = NULL;
	}
}

/* Removes merged symbols and builds by_name and hashes. */
static int index_names(struct gt_elf_symbol_table *table, struct symbol_builder *builder)
{
	size_t count = builder->symbols.count, used = 0;
	struct gt_elf_symbol *symbols = builder->symbols.items;
	gt_autofree uint32_t *moved = malloc((count + 1) * sizeof(*moved));

	table->by_name = malloc((count + 1) * sizeof(table->by_name[0]));
	table->hashes = malloc((count + 1) * sizeof(table->hashes[0]));
	if (!moved || !table->by_name || !table->hashes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		moved[i] = symbols[i].name ? used : UINT32_MAX;
		if (symbols[i].name)
			symbols[used++] = symbols[i];
	}
	table->symbols = gt_take(builder->symbols.items);
	table->count = used;
	used = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t key = builder->keys.items[i];

		if (moved[(uint32_t)key] == UINT32_MAX)
			continue;
		table->hashes[used] = key >> 32;
		table->by_name[used++] = &table->symbols[moved[(uint32_t)key]];
	}
	for (size_t i = 0, end; i < used; i = end) {
		for (end = i + 1; end < used && table->hashes[end] == table->hashes[i];)
			end++;
		if (end - i > 1)
			qsort(table->by_name + i, end - i, sizeof(table->by_name[0]),
			      compare_ranked);
	}
	return 0;
}

static int build_table(struct gt_elf *elf, struct symbol_builder *builder, struct gt_diag *diag)
{
	int error = read_tables(elf, builder, diag);

	if (error)
		return error;
	if (builder->keys.count)
		qsort(builder->keys.items, builder->keys.count, sizeof(uint64_t), compare_keys);
	for (size_t i = 0, end; i < builder->keys.count; i = end) {
		end = run_end(builder->keys.items, builder->keys.count, i);
		if (end - i > 1)
			merge_run(builder, i, end);
	}
	error = index_names(&elf->table, builder);
	if (error)
		return gt_diag(diag, error, "elf", elf->info.path, "out of memory");
	return 0;
}

static int load_symbols(struct gt_elf *elf, struct gt_diag *diag)
{
	struct gt_elf_symbol_table *table = &elf->table;
	struct symbol_builder builder = {0};

	if (!table->loaded) {
		table->loaded = true;
		table->error = build_table(elf, &builder, &table->diag);
		gt_vec_free(&builder.symbols);
		gt_vec_free(&builder.keys);
	}
	if (table->error)
		return gt_diag(diag, table->error, table->diag.stage, table->diag.place, "%s",
			       table->diag.text);
	return 0;
}

int gt_elf_symbols(struct gt_elf *elf, const struct gt_elf_symbol **ret_symbols, size_t *ret_count,
		   struct gt_diag *diag)
{
	int error = load_symbols(elf, diag);

	if (error)
		return error;
	*ret_symbols = elf->table.symbols;
	*ret_count = elf->table.count;
	return 0;
}

size_t gt_elf_lookup(struct gt_elf *elf, const char *name,
		     const struct gt_elf_symbol *const **ret_symbols)
{
	struct gt_elf_symbol_table *table = &elf->table;
	uint32_t hash = hash_name(name, strlen(name));
	size_t low = 0, high, found = 0;

	if (load_symbols(elf, NULL))
		return 0;
	high = table->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < table->count && table->hashes[low] == hash &&
	       strcmp(table->by_name[low]->name, name))
		low++;
	while (low + found < table->count && table->hashes[low + found] == hash &&
	       !strcmp(table->by_name[low + found]->name, name))
		found++;
	if (found)
		*ret_symbols = &table->by_name[low];
	return found;
}

/* Order by address; the preferred name comes last, since searches go backwards. */
static int compare_addresses(const void *left, const void *right)
{
	const struct gt_elf_symbol *a = *(const struct gt_elf_symbol *const *)left;
	const struct gt_elf_symbol *b = *(const struct gt_elf_symbol *const *)right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (rank(a) != rank(b))
		return rank(b) - rank(a);
	return a < b ? 1 : a > b ? -1 : 0;
}

static uint64_t symbol_end(const struct gt_elf_symbol *symbol)
{
	uint64_t end;

	if (__builtin_add_overflow(symbol->value, symbol->size ? symbol->size : 1, &end))
		return UINT64_MAX;
	return end;
}

static int index_addresses(struct gt_elf_symbol_table *table)
{
	gt_autofree const struct gt_elf_symbol **sorted = NULL;
	gt_autofree uint64_t *reach = NULL;
	uint64_t farthest = 0;

	sorted = malloc((table->count + 1) * sizeof(*sorted));
	reach = malloc((table->count + 1) * sizeof(*reach));
	if (!sorted || !reach)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++)
		sorted[i] = &table->symbols[i];
	qsort(sorted, table->count, sizeof(*sorted), compare_addresses);
	for (size_t i = 0; i < table->count; i++) {
		if (symbol_end(sorted[i]) > farthest)
			farthest = symbol_end(sorted[i]);
		reach[i] = farthest;
	}
	table->by_address = gt_take(sorted);
	table->max_ends = gt_take(reach);
	return 0;
}

/* Returns the number of symbols that start at an address or before it. */
static size_t count_before(const struct gt_elf_symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->by_address[middle]->value <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct gt_elf_symbol *gt_elf_symbol_at(struct gt_elf *elf, uint64_t address)
{
	struct gt_elf_symbol_table *table = &elf->table;
	size_t low;

	if (load_symbols(elf, NULL) || (!table->by_address && index_addresses(table)))
		return NULL;
	low = count_before(table, address);
	while (low > 0 && table->max_ends[low - 1] > address) {
		low--;
		if (address < symbol_end(table->by_address[low]))
			return table->by_address[low];
	}
	return NULL;
}

static bool in_one_section(const struct gt_elf *elf, uint64_t first, uint64_t second)
{
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_flags & SHF_ALLOC && !(section->sh_flags & SHF_TLS) &&
		    first - section->sh_addr < section->sh_size)
			return second - section->sh_addr < section->sh_size;
	}
	return false;
}

const struct gt_elf_symbol *gt_elf_symbol_near(struct gt_elf *elf, uint64_t address)
{
	const struct gt_elf_symbol *symbol = gt_elf_symbol_at(elf, address);
	struct gt_elf_symbol_table *table = &elf->table;
	size_t before;

	/* In a stripped file the function may have no symbol. */
	if (symbol || !table->by_address || elf->info.stripped)
		return symbol;
	before = count_before(table, address);
	if (!before)
		return NULL;
	symbol = table->by_address[before - 1];
	if (symbol->size || symbol->kind == GT_ELF_OBJECT ||
	    !in_one_section(elf, symbol->value, address))
		return NULL;
	return symbol;
}

void gt_elf_symbols_free(struct gt_elf_symbol_table *table)
{
	free(table->names[0]);
	free(table->names[1]);
	free(table->symbols);
	free(table->by_name);
	free(table->hashes);
	free(table->by_address);
	free(table->max_ends);
}
