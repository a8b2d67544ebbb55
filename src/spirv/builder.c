/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "spirv/builder.h"

#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <string.h>

enum {
	MAX_OPERANDS = 96, /* of types and constants */
};

enum {
	SPIRV_1_0 = 0x10000,
};

void gt_spirv_init(struct gt_spirv_builder *builder)
{
	static const uint32_t capabilities[] = {SpvCapabilityAddresses, SpvCapabilityKernel,
						SpvCapabilityInt64, SpvCapabilityInt16,
						SpvCapabilityInt8};

	*builder =
		(struct gt_spirv_builder){.version = SPIRV_1_0, .bound = 1, .known = gt_hash_new()};
	builder->failed = !builder->known;
	for (size_t i = 0; i < gt_countof(capabilities); i++)
		gt_spirv_require(builder, capabilities[i]);
	gt_spirv_emit(&builder->sections[GT_SPIRV_MEMORY_MODEL], SpvOpMemoryModel,
		      SpvAddressingModelPhysical64, SpvMemoryModelOpenCL);
}

void gt_spirv_words_clear(struct gt_spirv_words *words)
{
	gt_vec_free(&words->words);
}

void gt_spirv_clear(struct gt_spirv_builder *builder)
{
	for (unsigned i = 0; i < GT_SPIRV_SECTIONS; i++)
		gt_spirv_words_clear(&builder->sections[i]);
	gt_spirv_words_clear(&builder->processed);
	gt_spirv_words_clear(&builder->declarations);
	gt_hash_free(builder->known);
	builder->known = NULL;
}

uint32_t *gt_spirv_grow(struct gt_spirv_words *words, size_t count)
{
	size_t wanted = words->words.count + count, capacity = words->words.capacity;
	uint32_t *items;

	if (words->failed)
		return NULL;
	if (wanted > capacity) {
		capacity = wanted > 2 * capacity ? wanted + 64 : 2 * capacity;
		items = realloc(words->words.items, capacity * sizeof(*items));
		words->failed = !items;
		if (!items)
			return NULL;
		words->words.items = items;
		words->words.capacity = capacity;
	}
	items = words->words.items + words->words.count;
	words->words.count = wanted;
	return items;
}

void gt_spirv_add_more(struct gt_spirv_words *words, unsigned opcode, const uint32_t *operands,
		       size_t count, const uint32_t *more, size_t more_count)
{
	uint32_t *room = gt_spirv_begin(words, opcode, count + more_count);

	/* Loops: gcc's string instructions for a copy of unknown size are slow on a few words. */
	for (size_t i = 0; room && i < count; i++)
		room[i] = operands[i];
	for (size_t i = 0; room && i < more_count; i++)
		room[count + i] = more[i];
}

/* Strings are UTF-8 with a NUL, four bytes to a word, the first byte lowest. */
static void put_string(uint32_t *room, const char *string)
{
	size_t length = strlen(string);

	for (size_t at = 0; at <= length; at += 4) {
		uint32_t word = 0;

		for (size_t i = 0; i < 4 && at + i < length; i++)
			word |= (uint32_t)(unsigned char)string[at + i] << 8 * i;
		room[at / 4] = word;
	}
}

void gt_spirv_add_string(struct gt_spirv_words *words, unsigned opcode, const uint32_t *operands,
			 size_t count, const char *string, const uint32_t *more, size_t more_count)
{
	size_t length = strlen(string) / 4 + 1;
	uint32_t *room = gt_spirv_begin(words, opcode, count + length + more_count);

	if (!room)
		return;
	for (size_t i = 0; i < count; i++)
		room[i] = operands[i];
	put_string(room + count, string);
	for (size_t i = 0; i < more_count; i++)
		room[count + length + i] = more[i];
}

void gt_spirv_require(struct gt_spirv_builder *builder, unsigned capability)
{
	const struct gt_spirv_words *words = &builder->sections[GT_SPIRV_CAPABILITIES];

	for (size_t i = 0; i + 1 < words->words.count; i += 2)
		if (words->words.items[i + 1] == capability)
			return;
	gt_spirv_emit(&builder->sections[GT_SPIRV_CAPABILITIES], SpvOpCapability, capability);
}

/* Each instruction of the section is one OpExtension, whose operand is a name. */
void gt_spirv_require_extension(struct gt_spirv_builder *builder, const char *name)
{
	struct gt_spirv_words *words = &builder->sections[GT_SPIRV_EXTENSIONS];
	struct gt_spirv_words wanted = {0};
	size_t length;
	bool found = false;

	gt_spirv_add_string(&wanted, SpvOpExtension, NULL, 0, name, NULL, 0);
	length = wanted.words.count;
	for (size_t i = 0; i < words->words.count && !found;
	     i += words->words.items[i] >> GT_SPIRV_LENGTH_SHIFT)
		found = words->words.count - i >= length &&
			!memcmp(words->words.items + i, wanted.words.items,
				length * sizeof(*wanted.words.items));
	if (!found)
		gt_spirv_append(words, &wanted, 0, length);
	gt_spirv_words_clear(&wanted);
}

void gt_spirv_require_version(struct gt_spirv_builder *builder, uint32_t version)
{
	if (builder->version < version)
		builder->version = version;
}

void gt_spirv_append(struct gt_spirv_words *words, const struct gt_spirv_words *others,
		     size_t begin, size_t end)
{
	uint32_t *room;

	words->failed |= others->failed;
	if (end > others->words.count)
		end = others->words.count;
	room = begin < end ? gt_spirv_reserve(words, end - begin) : NULL;
	if (room)
		memcpy(room, others->words.items + begin, (end - begin) * sizeof(*room));
}

/* ---- types and constants ---- */

uint32_t gt_spirv_global(struct gt_spirv_builder *builder, unsigned opcode, uint32_t type,
			 const uint32_t *operands, size_t count)
{
	uint32_t key[MAX_OPERANDS + 2], head[2], id;
	size_t size = (count + 2) * sizeof(*key), length = 0;

	if (builder->failed || count > MAX_OPERANDS) {
		builder->failed = true;
		return 0;
	}
	key[0] = opcode;
	key[1] = type;
	for (size_t i = 0; i < count; i++)
		key[i + 2] = operands[i];
	id = (uint32_t)(uintptr_t)gt_hash_get(builder->known, key, size);
	if (id)
		return id;
	id = gt_spirv_id(builder);
	if (type)
		head[length++] = type;
	head[length++] = id;
	gt_spirv_add_more(&builder->sections[GT_SPIRV_GLOBALS], opcode, head, length, operands,
			  count);
	builder->failed |= gt_hash_set(builder->known, key, size, (void *)(uintptr_t)id) != 0;
	return id;
}

uint32_t gt_spirv_type_void(struct gt_spirv_builder *builder)
{
	return gt_spirv_global(builder, SpvOpTypeVoid, 0, NULL, 0);
}

uint32_t gt_spirv_type_bool(struct gt_spirv_builder *builder)
{
	if (!builder->boolean)
		builder->boolean = gt_spirv_global(builder, SpvOpTypeBool, 0, NULL, 0);
	return builder->boolean;
}

uint32_t gt_spirv_type_int(struct gt_spirv_builder *builder, unsigned bits)
{
	uint32_t *known = &builder->integers[bits / 16 % 5];

	/* 8, 16, 32 and 64 bits are the elements 0, 1, 2 and 4. */
	if (!*known)
		*known = gt_spirv_global(builder, SpvOpTypeInt, 0, (uint32_t[]){bits, 0}, 2);
	return *known;
}

uint32_t gt_spirv_type_vector(struct gt_spirv_builder *builder, uint32_t element, unsigned count)
{
	return gt_spirv_global(builder, SpvOpTypeVector, 0, (uint32_t[]){element, count}, 2);
}

uint32_t gt_spirv_type_array(struct gt_spirv_builder *builder, uint32_t element, uint32_t count)
{
	uint32_t length = gt_spirv_constant(builder, 32, count);

	return gt_spirv_global(builder, SpvOpTypeArray, 0, (uint32_t[]){element, length}, 2);
}

uint32_t gt_spirv_type_pointer(struct gt_spirv_builder *builder, unsigned storage, uint32_t type)
{
	return gt_spirv_global(builder, SpvOpTypePointer, 0, (uint32_t[]){storage, type}, 2);
}

/* Constants of fewer than 32 bits are a word, whose upper bits are 0. */
uint32_t gt_spirv_constant(struct gt_spirv_builder *builder, unsigned bits, uint64_t value)
{
	struct gt_spirv_recent *recent;

	if (bits < 64)
		value &= (UINT64_C(1) << bits) - 1;
	recent = &builder->recent[(value ^ bits / 8) % GT_SPIRV_RECENT];
	if (recent->bits != bits || recent->value != value) {
		uint32_t words[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
		uint32_t id =
			gt_spirv_global(builder, SpvOpConstant, gt_spirv_type_int(builder, bits),
					words, bits == 64 ? 2 : 1);

		*recent = (struct gt_spirv_recent){value, bits, id};
	}
	return recent->id;
}

uint32_t gt_spirv_bool(struct gt_spirv_builder *builder, bool value)
{
	return gt_spirv_global(builder, value ? SpvOpConstantTrue : SpvOpConstantFalse,
			       gt_spirv_type_bool(builder), NULL, 0);
}

/*
 * The id of what the module has once for each number of a kind; *ret_added says whether it is new
 * and has to be added.
 */
static uint32_t numbered(struct gt_spirv_builder *builder, uint32_t kind, uint32_t number,
			 bool *ret_added)
{
	uint32_t key[3] = {kind, number, UINT32_MAX}, id;

	*ret_added = false;
	if (builder->failed)
		return 0;
	id = (uint32_t)(uintptr_t)gt_hash_get(builder->known, key, sizeof(key));
	if (id)
		return id;
	id = gt_spirv_id(builder);
	*ret_added = true;
	builder->failed |=
		gt_hash_set(builder->known, key, sizeof(key), (void *)(uintptr_t)id) != 0;
	return id;
}

uint32_t gt_spirv_spec_constant(struct gt_spirv_builder *builder, uint32_t spec_id, uint64_t value)
{
	uint32_t type = gt_spirv_type_int(builder, 64), id;
	bool is_new;

	id = numbered(builder, SpvOpSpecConstant, spec_id, &is_new);
	if (!is_new)
		return id;
	gt_spirv_emit(&builder->sections[GT_SPIRV_DECORATIONS], SpvOpDecorate, id,
		      SpvDecorationSpecId, spec_id);
	gt_spirv_emit(&builder->sections[GT_SPIRV_GLOBALS], SpvOpSpecConstant, type, id,
		      (uint32_t)value, (uint32_t)(value >> 32));
	return id;
}

static uint32_t add_builtin(struct gt_spirv_builder *builder, unsigned builtin, uint32_t value)
{
	uint32_t id, type;
	bool is_new;

	id = numbered(builder, SpvOpVariable, builtin, &is_new);
	if (!is_new)
		return id;
	type = gt_spirv_type_pointer(builder, SpvStorageClassInput, value);
	gt_spirv_emit(&builder->sections[GT_SPIRV_DECORATIONS], SpvOpDecorate, id,
		      SpvDecorationBuiltIn, builtin);
	gt_spirv_emit(&builder->sections[GT_SPIRV_DECORATIONS], SpvOpDecorate, id,
		      SpvDecorationConstant);
	gt_spirv_emit(&builder->sections[GT_SPIRV_GLOBALS], SpvOpVariable, type, id,
		      SpvStorageClassInput);
	return id;
}

uint32_t gt_spirv_builtin(struct gt_spirv_builder *builder, unsigned builtin)
{
	uint32_t wide = gt_spirv_type_int(builder, 64);

	return add_builtin(builder, builtin, gt_spirv_type_vector(builder, wide, 3));
}

uint32_t gt_spirv_builtin_word(struct gt_spirv_builder *builder, unsigned builtin)
{
	return add_builtin(builder, builtin, gt_spirv_type_int(builder, 32));
}

uint32_t gt_spirv_extended(struct gt_spirv_builder *builder)
{
	if (builder->extended)
		return builder->extended;
	builder->extended = gt_spirv_id(builder);
	gt_spirv_add_string(&builder->sections[GT_SPIRV_IMPORTS], SpvOpExtInstImport,
			    &builder->extended, 1, "OpenCL.std", NULL, 0);
	return builder->extended;
}

/* ---- functions ---- */

uint32_t gt_spirv_import(struct gt_spirv_builder *builder, const char *name, uint32_t result,
			 unsigned parameters)
{
	uint32_t word = gt_spirv_type_int(builder, 32);
	uint32_t types[MAX_OPERANDS] = {result}, type, id;

	id = (uint32_t)(uintptr_t)(builder->failed ? NULL : gt_hash_get_str(builder->known, name));
	if (id || parameters >= MAX_OPERANDS)
		return id;
	for (unsigned i = 0; i < parameters; i++)
		types[i + 1] = word;
	type = gt_spirv_global(builder, SpvOpTypeFunction, 0, types, parameters + 1);
	id = gt_spirv_id(builder);
	builder->failed |= gt_hash_set_str(builder->known, name, (void *)(uintptr_t)id) != 0;
	gt_spirv_require(builder, SpvCapabilityLinkage);
	gt_spirv_add_string(&builder->sections[GT_SPIRV_DECORATIONS], SpvOpDecorate,
			    (uint32_t[]){id, SpvDecorationLinkageAttributes}, 2, name,
			    (uint32_t[]){SpvLinkageTypeImport}, 1);
	gt_spirv_emit(&builder->declarations, SpvOpFunction, result, id, SpvFunctionControlMaskNone,
		      type);
	for (unsigned i = 0; i < parameters; i++)
		gt_spirv_emit(&builder->declarations, SpvOpFunctionParameter, word,
			      gt_spirv_id(builder));
	gt_spirv_add(&builder->declarations, SpvOpFunctionEnd, NULL, 0);
	return id;
}

/* ---- the module ---- */

void gt_spirv_add_entry_point(struct gt_spirv_builder *builder, uint32_t function, const char *name,
			      const uint32_t *interface, size_t count)
{
	gt_spirv_add_string(&builder->sections[GT_SPIRV_ENTRY_POINTS], SpvOpEntryPoint,
			    (uint32_t[]){SpvExecutionModelKernel, function}, 2, name, interface,
			    count);
	gt_spirv_add_string(&builder->sections[GT_SPIRV_DEBUG], SpvOpName, &function, 1, name, NULL,
			    0);
}

static void add_words(struct gt_strbuf *binary, const uint32_t *words, size_t count)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
		gt_strbuf_add(binary, (const char *)words, count * sizeof(*words));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t word = __builtin_bswap32(words[i]);

		gt_strbuf_add(binary, (const char *)&word, sizeof(word));
	}
}

static void add_section(struct gt_strbuf *binary, const struct gt_spirv_words *section)
{
	binary->failed |= section->failed;
	add_words(binary, section->words.items, section->words.count);
}

int gt_spirv_finish(const struct gt_spirv_builder *builder, struct gt_strbuf *binary)
{
	uint32_t head[] = {SpvMagicNumber, builder->version, builder->generator, builder->bound, 0};
	size_t count = builder->processed.words.count + builder->declarations.words.count;

	for (unsigned i = 0; i < GT_SPIRV_SECTIONS; i++)
		count += builder->sections[i].words.count;
	gt_strbuf_reserve(binary, sizeof(head) + count * sizeof(*head));
	add_words(binary, head, gt_countof(head));
	for (unsigned i = 0; i < GT_SPIRV_SECTIONS; i++) {
		if (i == GT_SPIRV_FUNCTIONS)
			add_section(binary, &builder->declarations);
		add_section(binary, &builder->sections[i]);
		if (i == GT_SPIRV_DEBUG)
			add_section(binary, &builder->processed);
	}
	return builder->failed || binary->failed ? -ENOMEM : 0;
}

/* ---- from a module ---- */

/* Remember a type or constant, so that it is used again. */
static void remember(struct gt_spirv_builder *builder,
		     const struct gt_spirv_instruction *instruction)
{
	uint32_t key[MAX_OPERANDS + 2];
	bool has_type, has_result;
	unsigned operands;

	gt_spirv_results(instruction->opcode, &has_type, &has_result);
	if (!has_result || instruction->count - 2u - has_type > MAX_OPERANDS)
		return;
	operands = instruction->count - 2u - has_type;
	key[0] = instruction->opcode;
	key[1] = has_type ? instruction->words[1] : 0;
	memcpy(key + 2, instruction->words + 2 + has_type, operands * sizeof(*key));
	builder->failed |= gt_hash_set(builder->known, key, (operands + 2) * sizeof(*key),
				       (void *)(uintptr_t)instruction->words[1 + has_type]) != 0;
}

/* Remember the variable of a built-in value: OpDecorate id BuiltIn number. */
static void remember_builtin(struct gt_spirv_builder *builder,
			     const struct gt_spirv_instruction *instruction)
{
	uint32_t key[3] = {SpvOpVariable, 0, UINT32_MAX};

	if (instruction->opcode != SpvOpDecorate || instruction->count != 4 ||
	    instruction->words[2] != SpvDecorationBuiltIn || !instruction->words[1])
		return;
	key[1] = instruction->words[3];
	builder->failed |= gt_hash_set(builder->known, key, sizeof(key),
				       (void *)(uintptr_t)instruction->words[1]) != 0;
}

static bool is_opencl_std(const struct gt_spirv_instruction *instruction)
{
	return instruction->opcode == SpvOpExtInstImport && instruction->count == 5 &&
	       !memcmp(instruction->words + 2, "OpenCL.std", sizeof("OpenCL.std"));
}

void gt_spirv_init_from(struct gt_spirv_builder *builder, const struct gt_spirv_module *module)
{
	*builder = (struct gt_spirv_builder){
		.version = module->version,
		.generator = module->generator,
		.bound = module->bound,
		.known = gt_hash_new(),
	};
	builder->failed = !builder->known;
	for (unsigned section = 0; section < GT_SPIRV_SECTIONS && !builder->failed; section++)
		for (size_t i = module->sections[section]; i < module->sections[section + 1]; i++) {
			const struct gt_spirv_instruction *one = &module->instructions.items[i];
			bool is_processed = one->opcode == SpvOpModuleProcessed;

			gt_spirv_add(is_processed ? &builder->processed
						  : &builder->sections[section],
				     one->opcode, one->words + 1, one->count - 1u);
			if (section == GT_SPIRV_GLOBALS && one->opcode != SpvOpVariable &&
			    one->opcode != SpvOpTypeStruct)
				remember(builder, one);
			remember_builtin(builder, one);
			if (is_opencl_std(one))
				builder->extended = one->words[1];
		}
}
