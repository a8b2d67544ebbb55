/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "spirv/module.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.h>

enum {
	HEADER_WORDS = 5,
	SPIRV_1_0 = 0x10000,
	SPIRV_1_6 = 0x10600,
};

struct spirv_parser {
	struct gt_spirv_module *module;
	size_t word_count, at; /* words */
	enum gt_spirv_section section;
	bool in_function, in_block, has_memory_model, is_kernel;
	struct gt_diag *diag;
};

/* The header defines the function for C++; C99 needs one definition that is not inline. */
extern inline void SpvHasResultAndType(SpvOp opcode, bool *hasResult, bool *hasResultType);

void gt_spirv_results(unsigned opcode, bool *ret_has_type, bool *ret_has_result)
{
	SpvHasResultAndType((SpvOp)opcode, ret_has_result, ret_has_type);
}

static int malformed(const struct spirv_parser *parser, const char *format, ...) gt_printf(2, 3);
static int malformed(const struct spirv_parser *parser, const char *format, ...)
{
	char place[32], text[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "word %zu", parser->at);
	return gt_diag(parser->diag, -EINVAL, "SPIR-V", place, "%s", text);
}

/* ---- sections ---- */

/* The section of an opcode; GT_SPIRV_SECTIONS: it may be in several of the last ones. */
static enum gt_spirv_section section_of(unsigned opcode, bool after_globals)
{
	switch (opcode) {
	case SpvOpCapability:
		return GT_SPIRV_CAPABILITIES;
	case SpvOpExtension:
		return GT_SPIRV_EXTENSIONS;
	case SpvOpExtInstImport:
		return GT_SPIRV_IMPORTS;
	case SpvOpMemoryModel:
		return GT_SPIRV_MEMORY_MODEL;
	case SpvOpEntryPoint:
		return GT_SPIRV_ENTRY_POINTS;
	case SpvOpExecutionMode:
	case SpvOpExecutionModeId:
		return GT_SPIRV_MODES;
	case SpvOpString:
	case SpvOpSource:
	case SpvOpSourceContinued:
	case SpvOpSourceExtension:
	case SpvOpName:
	case SpvOpMemberName:
	case SpvOpModuleProcessed:
		return GT_SPIRV_DEBUG;
	case SpvOpDecorate:
	case SpvOpMemberDecorate:
	case SpvOpDecorationGroup:
	case SpvOpGroupDecorate:
	case SpvOpGroupMemberDecorate:
	case SpvOpDecorateId:
	case SpvOpDecorateString:
	case SpvOpMemberDecorateString:
		return GT_SPIRV_DECORATIONS;
	case SpvOpFunction:
		return GT_SPIRV_FUNCTIONS;
	default:
		return after_globals ? GT_SPIRV_FUNCTIONS : GT_SPIRV_GLOBALS;
	}
}

static int enter_section(struct spirv_parser *parser, unsigned opcode)
{
	struct gt_spirv_module *module = parser->module;
	enum gt_spirv_section section = section_of(opcode, parser->section == GT_SPIRV_FUNCTIONS);

	if (section < parser->section)
		return malformed(parser, "opcode %u is not allowed after section %d", opcode,
				 (int)parser->section);
	while (parser->section < section)
		module->sections[++parser->section] = module->instructions.count;
	return 0;
}

/* ---- instructions ---- */

static int define_result(struct spirv_parser *parser,
			 const struct gt_spirv_instruction *instruction)
{
	struct gt_spirv_module *module = parser->module;
	bool has_type, has_result;
	uint32_t id;

	gt_spirv_results(instruction->opcode, &has_type, &has_result);
	if (instruction->count < 1 + has_type + has_result)
		return malformed(parser, "opcode %u has no result", instruction->opcode);
	if (!has_result)
		return 0;
	id = instruction->words[1 + has_type];
	if (!id || id >= module->bound)
		return malformed(parser, "id %u is out of bounds", id);
	if (module->definitions[id])
		return malformed(parser, "id %u is defined twice", id);
	module->definitions[id] = (uint32_t)module->instructions.count;
	return 0;
}

static bool is_terminator(unsigned opcode)
{
	switch (opcode) {
	case SpvOpBranch:
	case SpvOpBranchConditional:
	case SpvOpSwitch:
	case SpvOpReturn:
	case SpvOpReturnValue:
	case SpvOpKill:
	case SpvOpUnreachable:
		return true;
	default:
		return false;
	}
}

static int begin_function(struct spirv_parser *parser,
			  const struct gt_spirv_instruction *instruction)
{
	struct gt_spirv_function function = {.begin = parser->module->instructions.count - 1};

	if (parser->in_function)
		return malformed(parser, "a function begins in another one");
	if (instruction->count != 5)
		return malformed(parser, "OpFunction has %u words, not 5", instruction->count);
	function.id = instruction->words[2];
	parser->in_function = true;
	return gt_vec_push(&parser->module->functions, function);
}

/* Follow the structure of a function: parameters, then blocks. */
static int follow_function(struct spirv_parser *parser,
			   const struct gt_spirv_instruction *instruction)
{
	struct gt_spirv_module *module = parser->module;
	struct gt_spirv_function *function;
	unsigned opcode = instruction->opcode;

	if (opcode == SpvOpFunction)
		return begin_function(parser, instruction);
	if (!parser->in_function)
		return opcode == SpvOpLine || opcode == SpvOpNoLine || opcode == SpvOpExtInst
			       ? 0
			       : malformed(parser, "opcode %u is outside of a function", opcode);
	function = &module->functions.items[module->functions.count - 1];
	if (opcode == SpvOpFunctionEnd) {
		if (parser->in_block)
			return malformed(parser, "a function ends within a block");
		function->end = module->instructions.count;
		parser->in_function = false;
	} else if (opcode == SpvOpLabel) {
		if (parser->in_block)
			return malformed(parser, "a block begins in another one");
		parser->in_block = function->has_body = true;
	} else if (is_terminator(opcode)) {
		if (!parser->in_block)
			return malformed(parser, "opcode %u is outside of a block", opcode);
		parser->in_block = false;
	} else if (opcode == SpvOpFunctionParameter) {
		if (function->has_body)
			return malformed(parser, "a parameter follows a block");
	} else if (!parser->in_block && opcode != SpvOpLine && opcode != SpvOpNoLine) {
		return malformed(parser, "opcode %u is outside of a block", opcode);
	}
	return 0;
}

/* A string from a word of an instruction on. NULL: it does not end there. */
static const char *string_at(const struct gt_spirv_instruction *instruction, unsigned word)
{
	const char *text = (const char *)(instruction->words + word);
	size_t size = ((size_t)instruction->count - word) * sizeof(uint32_t);

	return word < instruction->count && memchr(text, 0, size) ? text : NULL;
}

static int add_entry(struct spirv_parser *parser, const struct gt_spirv_instruction *instruction)
{
	struct gt_spirv_entry entry = {.instruction = parser->module->instructions.count - 1};

	if (instruction->count < 4)
		return malformed(parser, "OpEntryPoint is too short");
	entry.function = instruction->words[2];
	entry.name = string_at(instruction, 3);
	if (!entry.name)
		return malformed(parser, "the name of an entry point does not end");
	if (instruction->words[1] != SpvExecutionModelKernel)
		return gt_diag(parser->diag, -EOPNOTSUPP, "SPIR-V", entry.name,
			       "the entry point is not a kernel of OpenCL");
	return gt_vec_push(&parser->module->entries, entry);
}

static int read_memory_model(struct spirv_parser *parser,
			     const struct gt_spirv_instruction *instruction)
{
	if (instruction->count != 3 || parser->has_memory_model)
		return malformed(parser, "there must be one memory model");
	parser->has_memory_model = true;
	if (instruction->words[2] != SpvMemoryModelOpenCL ||
	    (instruction->words[1] != SpvAddressingModelPhysical32 &&
	     instruction->words[1] != SpvAddressingModelPhysical64))
		return gt_diag(parser->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "the module is not one of OpenCL: memory model %u, addressing "
			       "model %u",
			       instruction->words[2], instruction->words[1]);
	parser->module->address_bits =
		instruction->words[1] == SpvAddressingModelPhysical32 ? 32 : 64;
	return 0;
}

static int read_instruction(struct spirv_parser *parser)
{
	struct gt_spirv_module *module = parser->module;
	const uint32_t *words = module->words + parser->at;
	struct gt_spirv_instruction instruction = {
		.words = words,
		.opcode = (uint16_t)(words[0] & SpvOpCodeMask),
		.count = (uint16_t)(words[0] >> SpvWordCountShift),
	};
	int error;

	if (!instruction.count || instruction.count > parser->word_count - parser->at)
		return malformed(parser, "an instruction of %u words does not fit",
				 instruction.count);
	error = enter_section(parser, instruction.opcode);
	if (!error)
		error = gt_vec_push(&module->instructions, instruction);
	if (!error)
		error = define_result(parser, &instruction);
	if (!error && parser->section == GT_SPIRV_FUNCTIONS)
		error = follow_function(parser, &instruction);
	if (!error && instruction.opcode == SpvOpEntryPoint)
		error = add_entry(parser, &instruction);
	if (!error && instruction.opcode == SpvOpMemoryModel)
		error = read_memory_model(parser, &instruction);
	parser->is_kernel |= instruction.opcode == SpvOpCapability && instruction.count == 2 &&
			     words[1] == SpvCapabilityKernel;
	parser->at += instruction.count;
	return error;
}

/* ---- the module ---- */

static int check_end(struct spirv_parser *parser)
{
	struct gt_spirv_module *module = parser->module;

	while (parser->section < GT_SPIRV_SECTIONS)
		module->sections[++parser->section] = module->instructions.count;
	if (parser->in_function)
		return malformed(parser, "the last function does not end");
	if (!parser->has_memory_model)
		return malformed(parser, "there is no memory model");
	if (!parser->is_kernel)
		return gt_diag(parser->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "the module is not one of OpenCL: it lacks the capability Kernel");
	gt_vec_each (entry, &module->entries) {
		const struct gt_spirv_function *function =
			gt_spirv_function(module, entry->function);

		if (!function || !function->has_body)
			return malformed(parser, "the entry point '%.64s' has no function",
					 entry->name);
	}
	return 0;
}

static int read_header(struct spirv_parser *parser)
{
	struct gt_spirv_module *module = parser->module;
	const uint32_t *words = module->words;

	module->version = words[1];
	module->generator = words[2];
	module->bound = words[3];
	if (module->version < SPIRV_1_0 || module->version > SPIRV_1_6)
		return gt_diag(parser->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "version %u.%u is not supported (1.0 to 1.6 are)",
			       module->version >> 16, module->version >> 8 & 0xff);
	if (!module->bound || module->bound > GT_SPIRV_MAX_BOUND)
		return malformed(parser, "the bound of ids is %u, not 1 to %d", module->bound,
				 GT_SPIRV_MAX_BOUND);
	if (words[4])
		return malformed(parser, "the instruction schema is %u, not 0", words[4]);
	parser->at = HEADER_WORDS;
	module->definitions = calloc(module->bound, sizeof(*module->definitions));
	return module->definitions ? 0 : -ENOMEM;
}

/* Copy the words, in this machine's order. 0, -EINVAL or -ENOMEM. */
static int copy_words(struct spirv_parser *parser, const void *bytes)
{
	uint32_t *words = malloc(parser->word_count * sizeof(*words));

	parser->module->words = words;
	if (!words)
		return -ENOMEM;
	memcpy(words, bytes, parser->word_count * sizeof(*words));
	if (words[0] == __builtin_bswap32(SpvMagicNumber))
		for (size_t i = 0; i < parser->word_count; i++)
			words[i] = __builtin_bswap32(words[i]);
	return words[0] == SpvMagicNumber ? 0 : malformed(parser, "this is no SPIR-V");
}

int gt_spirv_parse(const void *bytes, size_t size, struct gt_spirv_module **ret_module,
		   struct gt_diag *diag)
{
	gt_auto(spirv_module) struct gt_spirv_module *module = calloc(1, sizeof(*module));
	struct spirv_parser parser = {
		.module = module, .word_count = size / sizeof(uint32_t), .diag = diag};
	int error;

	if (!module)
		return gt_diag(diag, -ENOMEM, "SPIR-V", NULL, "out of memory");
	if (size > GT_SPIRV_MAX_SIZE)
		return gt_diag(diag, -E2BIG, "SPIR-V", NULL, "the module is larger than %d MiB",
			       GT_SPIRV_MAX_SIZE >> 20);
	if (size % sizeof(uint32_t) || parser.word_count < HEADER_WORDS)
		return malformed(&parser, "%zu bytes are no SPIR-V", size);
	error = copy_words(&parser, bytes);
	if (!error)
		error = read_header(&parser);
	while (!error && parser.at < parser.word_count)
		error = read_instruction(&parser);
	if (!error)
		error = check_end(&parser);
	if (error == -ENOMEM)
		gt_diag(diag, error, "SPIR-V", NULL, "out of memory");
	if (!error)
		*ret_module = gt_take(module);
	return error;
}

void gt_spirv_module_free(struct gt_spirv_module *module)
{
	if (!module)
		return;
	gt_vec_free(&module->instructions);
	gt_vec_free(&module->functions);
	gt_vec_free(&module->entries);
	free(module->definitions);
	free(module->words);
	free(module);
}

const struct gt_spirv_instruction *gt_spirv_definition(const struct gt_spirv_module *module,
						       uint32_t id)
{
	uint32_t number = id < module->bound ? module->definitions[id] : 0;

	return number ? &module->instructions.items[number - 1] : NULL;
}

const struct gt_spirv_function *gt_spirv_function(const struct gt_spirv_module *module, uint32_t id)
{
	const struct gt_spirv_function *functions = module->functions.items;
	size_t low = 0, high = module->functions.count, middle, begin;
	uint32_t number = id < module->bound ? module->definitions[id] : 0;

	if (!number)
		return NULL;
	begin = number - 1;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (functions[middle].begin == begin)
			return &functions[middle];
		if (functions[middle].begin < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
