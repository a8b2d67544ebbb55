/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "elf/demangle.h"

enum kind { BYTES, BOOLEAN, SIGNED, UNSIGNED, FLOAT, BRAIN_FLOAT, POINTER };

struct parameter_type {
	const char *name;
	uint32_t size;
	enum kind kind;
};

/* An argument with all that is known of it. */
struct kernel_argument {
	const char *type; /* NULL: unknown */
	uint32_t size;    /* bytes; 0: unknown */
	enum kind kind;
	bool is_local; /* local memory, which has no value */
	bool valid;    /* the first 8 bytes, or all if they are fewer, are in word */
	uint64_t word;
};

/* The parameters of a kernel, from its name and its module. */
struct kernel_signature {
	struct gt_type_names names; /* none if they do not fit the module's */
	const struct gt_kernel *kernel;
	size_t count;
	bool known; /* count is */
};

static const struct parameter_type types[] = {
#define TYPE(name, bytes, kind) {name, bytes, kind},
#include "api/kernels/types.def"
#undef TYPE
};

/* int* const, float&, void (*)(int), int (&) [4] */
static bool is_pointer(const char *name, size_t length)
{
	char last = length ? name[length - 1] : 0;

	if (last == ')' || last == ']')
		return strstr(name, "(*)") || strstr(name, "(&)");
	return last == '*' || last == '&';
}

static struct parameter_type find_type(const char *name)
{
	static const char *const suffixes[] = {" const", " volatile", " restrict", " __restrict"};
	size_t length = strlen(name);

	for (size_t i = 0; i < gt_countof(suffixes); i++) {
		size_t suffix = strlen(suffixes[i]);

		if (length > suffix && !memcmp(name + length - suffix, suffixes[i], suffix)) {
			length -= suffix;
			i = (size_t)-1;
		}
	}
	if (name[0] != '.' && is_pointer(name, length))
		return (struct parameter_type){name, 8, POINTER};
	for (size_t i = 0; i < gt_countof(types); i++)
		if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
			return types[i];
	return (struct parameter_type){name, 0, BYTES};
}

static void read_signature(const char *name, const struct gt_kernel *kernel,
			   const struct gt_launch_arguments *arguments,
			   struct kernel_signature *signature)
{
	bool named = name && !gt_demangle_parameters(name, &signature->names);

	signature->kernel = kernel;
	signature->known = kernel || named || arguments->count;
	signature->count = kernel             ? kernel->parameter_count
			   : arguments->count ? arguments->count
					      : signature->names.count;
	if (named && signature->names.count != signature->count)
		gt_type_names_free(&signature->names);
}

/* The size is known, the type may be not: a number without a sign, or bytes. */
static void set_given_size(struct kernel_argument *argument,
			   const struct gt_launch_arguments *arguments, size_t index)
{
	argument->size = arguments->sizes[index];
	argument->kind = argument->size <= sizeof(argument->word) ? POINTER : BYTES;
	argument->is_local = arguments->local >> index & 1;
}

/* The module's size is the true one; a type of another size is not believed. */
static struct kernel_argument find_argument(const struct kernel_signature *signature,
					    const struct gt_launch_arguments *arguments,
					    size_t index)
{
	const struct gt_parameter *parameter =
		signature->kernel ? &signature->kernel->parameters[index] : NULL;
	struct kernel_argument argument = {.size = parameter ? parameter->size : 0};
	struct parameter_type type = {0};

	if (index < signature->names.count) {
		argument.type = signature->names.items[index];
		type = find_type(argument.type);
	}
	if (parameter && parameter->type) {
		if (!argument.type)
			argument.type = parameter->type;
		if (type.kind == BYTES)
			type = find_type(parameter->type);
	}
	if (index < arguments->count)
		set_given_size(&argument, arguments, index);
	if (!argument.size)
		argument.size = type.size;
	if (type.size == argument.size)
		argument.kind = type.kind;
	if (index < GT_ARGUMENT_WORDS && argument.size) {
		argument.valid = arguments->valid >> index & 1;
		argument.word = arguments->words[index];
		if (argument.size < 8)
			argument.word &= (UINT64_C(1) << argument.size * 8) - 1;
	}
	return argument;
}

static int64_t signed_value(const struct kernel_argument *argument)
{
	unsigned int unused = 64 - 8 * argument->size;

	return (int64_t)(argument->word << unused) >> unused;
}

/* IEEE 754 binary16. */
static double half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023, value;

	if (exponent == 31)
		value = fraction != 0 ? (double)NAN : (double)INFINITY;
	else
		value = ldexp(exponent ? fraction + 1024 : fraction,
			      (exponent ? exponent : 1) - 25);
	return bits >> 15 ? -value : value;
}

static float float_value(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double real_value(const struct kernel_argument *argument)
{
	double value;

	if (argument->kind == BRAIN_FLOAT)
		return (double)float_value((uint32_t)argument->word << 16);
	if (argument->size == 2)
		return half_value((uint16_t)argument->word);
	if (argument->size == 4)
		return (double)float_value((uint32_t)argument->word);
	memcpy(&value, &argument->word, sizeof(value));
	return value;
}

/* With the fewest digits that identify the value among all of its type. */
static void add_real(struct gt_strbuf *buffer, const struct kernel_argument *argument)
{
	double value = real_value(argument);
	int most = argument->size == 8 ? 17 : 9;
	char text[32];

	for (int digits = 1; digits <= most; digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, value);
		back = strtod(text, NULL);
		if (argument->size == 8 ? back == value : (float)back == (float)value)
			break;
	}
	gt_strbuf_puts(buffer, text);
}

static void add_bytes(struct gt_strbuf *buffer, const struct kernel_argument *argument,
		      const char *separator)
{
	for (uint32_t i = 0; i < argument->size && i < 8; i++)
		gt_strbuf_printf(buffer, "%s%02x", i ? separator : "",
				 (unsigned int)(argument->word >> 8 * i & 0xff));
}

static void add_text(struct gt_strbuf *buffer, const struct kernel_argument *argument)
{
	if (argument->is_local) {
		gt_strbuf_printf(buffer, "local[%" PRIu32 "]", argument->size);
		return;
	}
	if (!argument->valid) {
		gt_strbuf_putc(buffer, '?');
		return;
	}
	switch (argument->kind) {
	case BOOLEAN:
		gt_strbuf_puts(buffer, argument->word ? "true" : "false");
		return;
	case SIGNED:
		gt_strbuf_printf(buffer, "%" PRId64, signed_value(argument));
		return;
	case UNSIGNED:
		gt_strbuf_printf(buffer, "%" PRIu64, argument->word);
		return;
	case FLOAT:
	case BRAIN_FLOAT:
		add_real(buffer, argument);
		return;
	case POINTER:
		gt_strbuf_printf(buffer, "0x%" PRIx64, argument->word);
		return;
	case BYTES:
		break;
	}
	gt_strbuf_putc(buffer, '{');
	add_bytes(buffer, argument, " ");
	gt_strbuf_puts(buffer, argument->size > 8 ? " ...}" : "}");
}

void gt_kernel_format_arguments(struct gt_strbuf *buffer, const char *name,
				const struct gt_kernel *kernel,
				const struct gt_launch_arguments *arguments)
{
	struct kernel_signature signature = {0};

	read_signature(name, kernel, arguments, &signature);
	if (!signature.known)
		gt_strbuf_puts(buffer, "...");
	for (size_t i = 0; i < signature.count; i++) {
		struct kernel_argument argument = find_argument(&signature, arguments, i);

		if (i)
			gt_strbuf_puts(buffer, ", ");
		add_text(buffer, &argument);
	}
	gt_type_names_free(&signature.names);
}

static void add_json(struct gt_json *json, const struct kernel_argument *argument)
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;

	if (!argument->valid) {
		gt_json_null(json, "value");
		return;
	}
	switch (argument->kind) {
	case BOOLEAN:
		gt_json_bool(json, "value", argument->word != 0);
		return;
	case SIGNED:
		gt_json_i64(json, "value", signed_value(argument));
		return;
	case UNSIGNED:
		gt_json_u64(json, "value", argument->word);
		return;
	case FLOAT:
	case BRAIN_FLOAT:
		gt_json_double(json, "value", real_value(argument));
		return;
	case POINTER:
		gt_json_hex(json, "value", argument->word);
		return;
	case BYTES:
		break;
	}
	add_bytes(&bytes, argument, "");
	gt_json_string(json, "value", gt_strbuf_string(&bytes));
}

void gt_kernel_json_arguments(struct gt_json *json, const char *key, const char *name,
			      const struct gt_kernel *kernel,
			      const struct gt_launch_arguments *arguments)
{
	struct kernel_signature signature = {0};

	read_signature(name, kernel, arguments, &signature);
	gt_json_array_begin(json, key);
	for (size_t i = 0; i < signature.count; i++) {
		struct kernel_argument argument = find_argument(&signature, arguments, i);

		gt_json_object_begin(json, NULL);
		if (argument.is_local)
			gt_json_string(json, "type", "local");
		else if (argument.type)
			gt_json_string(json, "type", argument.type);
		else
			gt_json_null(json, "type");
		if (argument.size)
			gt_json_u64(json, "size", argument.size);
		else
			gt_json_null(json, "size");
		add_json(json, &argument);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_type_names_free(&signature.names);
}
