/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/comparison.h"
#include "base/text.h"
#include "elf/demangle.h"

#define MAX_NODES 64
#define MAX_DEPTH 16  /* of parentheses */
#define MAX_ERROR 999 /* both APIs end at 999: "unknown error" */
#define EXAMPLE "duration>1ms"

/* A condition and what it is evaluated of. */
struct when_node {
	enum { WHEN_COMPARISON, WHEN_NOT, WHEN_AND, WHEN_OR } kind;
	struct when_node *left, *right;
	const struct when_field *field;
	enum gt_comparison_operator compare;
	uint64_t number;
	bool has_dimensions;
	uint32_t dimensions[3]; /* of a grid or a block */
	const char *glob;       /* of kernels */
};

struct gt_when {
	char *words; /* the comparisons, each with a NUL: globs point into them */
	size_t used;
	struct gt_demangler *demangler;
	struct when_node *root;
	struct when_node nodes[MAX_NODES];
	size_t count;
};

/* ---- fields ------------------------------------------------------------------------------- */

/* A call as comparisons see it. */
struct when_call {
	const struct gt_names *names;
	const struct gt_event_call *event;
	struct gt_call call;
};

struct when_field {
	const char *name;
	const char *example;
	int in_kernel; /* enum gt_condition_field; -1: it is tested here only */
	int (*parse)(const char *text, uint64_t *ret_value);
	/* False: the call has no such thing. */
	bool (*value)(const struct when_call *call, uint64_t *ret_value);
	/* Of a field that is also compared with "X", "XxY" or "XxYxZ"; NULL: it is a number only.
	 */
	bool (*dimensions)(const struct when_call *call, uint32_t ret_dimensions[3]);
};

static int parse_duration(const char *text, uint64_t *ret_value)
{
	/* A bare number is in ns, as the field is in every output. */
	return gt_parse_u64(text, ret_value) ? gt_parse_duration(text, ret_value) : 0;
}

/* The number of an error of either API, by its name or its short name; "Success" is 0. */
static int find_error(const char *name, uint64_t *ret_value)
{
	static const char *const functions[] = {"cudaMalloc", "cuMemAlloc_v2"};

	for (size_t i = 0; i < 2 * gt_countof(functions); i++) {
		const struct gt_api_function *function =
			gt_api_function((unsigned)gt_api_find(functions[i / 2]));

		for (uint64_t number = 0; number <= MAX_ERROR; number++) {
			gt_auto_strbuf text = GT_STRBUF_INIT;

			gt_api_format_result(&text, function, number, i % 2);
			if (strcmp(gt_strbuf_string(&text), name) != 0)
				continue;
			*ret_value = number;
			return 0;
		}
	}
	return -EINVAL;
}

/* A number, a name, or "error N", as a number without a name is printed. */
static int parse_result(const char *text, uint64_t *ret_value)
{
	static const char unnamed[] = "error ";

	if (!strncmp(text, unnamed, strlen(unnamed)))
		return gt_parse_u64(text + strlen(unnamed), ret_value);
	return gt_parse_u64(text, ret_value) ? find_error(text, ret_value) : 0;
}

/*
 * The default streams have the handles of CUDA's constants: cudaStreamLegacy, …PerThread. What is
 * printed as stream 0 is the legacy one.
 */
static int parse_stream(const char *text, uint64_t *ret_value)
{
	uint64_t value;

	if (!strcmp(text, "legacy"))
		value = 1;
	else if (!strcmp(text, "per-thread"))
		value = 2;
	else if (gt_parse_u64(text, &value))
		return -EINVAL;
	*ret_value = value ? value : 1;
	return 0;
}

/* "X", "XxY" or "XxYxZ", as lines print "1024x1x1"; a dimension that is not given is 1. */
static int parse_dimensions(const char *text, uint32_t ret_dimensions[3])
{
	uint32_t dimensions[3] = {1, 1, 1};

	for (unsigned i = 0; i < 3; i++) {
		unsigned long value;
		char *rest;

		if (!isdigit((unsigned char)text[0]))
			return -EINVAL;
		value = strtoul(text, &rest, 10);
		if (value > UINT32_MAX)
			return -EINVAL;
		dimensions[i] = (uint32_t)value;
		text = rest;
		if (!*text) {
			memcpy(ret_dimensions, dimensions, sizeof(dimensions));
			return 0;
		}
		if (*text++ != 'x')
			return -EINVAL;
	}
	return -EINVAL;
}

static bool duration_of(const struct when_call *call, uint64_t *ret_value)
{
	*ret_value = call->event->duration;
	return true;
}

static bool result_of(const struct when_call *call, uint64_t *ret_value)
{
	*ret_value = (__u32)call->event->result;
	return true;
}

static bool depth_of(const struct when_call *call, uint64_t *ret_value)
{
	*ret_value = call->event->depth;
	return true;
}

static bool thread_of(const struct when_call *call, uint64_t *ret_value)
{
	*ret_value = gt_id_number(call->event->head.thread);
	return true;
}

static bool size_of(const struct when_call *call, uint64_t *ret_value)
{
	return call->call.function && gt_call_bytes(&call->call, ret_value);
}

static bool stream_of(const struct when_call *call, uint64_t *ret_value)
{
	uint64_t stream;
	const char *label;

	if (!call->call.function || !gt_call_stream(&call->call, &stream))
		return false;
	label = gt_call_stream_label(&call->call, stream);
	if (!label || parse_stream(label, ret_value))
		*ret_value = stream ? stream : 1;
	return true;
}

static bool grid_of(const struct when_call *call, uint32_t ret_dimensions[3])
{
	struct gt_call_launch launch;

	if (!call->call.function || !gt_call_launch(&call->call, &launch))
		return false;
	memcpy(ret_dimensions, launch.grid, sizeof(launch.grid));
	return true;
}

static bool block_of(const struct when_call *call, uint32_t ret_dimensions[3])
{
	struct gt_call_launch launch;

	if (!call->call.function || !gt_call_launch(&call->call, &launch))
		return false;
	memcpy(ret_dimensions, launch.block, sizeof(launch.block));
	return true;
}

static const struct when_field fields[] = {
	{"duration", "1ms", GT_CONDITION_DURATION, parse_duration, duration_of, NULL},
	{"result", "2", GT_CONDITION_RESULT, parse_result, result_of, NULL},
	{"depth", "2", GT_CONDITION_DEPTH, gt_parse_u64, depth_of, NULL},
	{"tid", "2", GT_CONDITION_THREAD, gt_parse_u64, thread_of, NULL},
	{"size", "1MiB", -1, gt_parse_size, size_of, NULL},
	{"stream", "legacy", -1, parse_stream, stream_of, NULL},
	{"grid", "256", -1, gt_parse_u64, NULL, grid_of},
	{"block", "256", -1, gt_parse_u64, NULL, block_of},
	{"kernel", "gemm*", -1, NULL, NULL, NULL},
};

/* ---- parsing ------------------------------------------------------------------------------ */

struct when_parser {
	struct gt_when *when;
	const char *at;
	unsigned depth;
	struct gt_diag *diag;
	int error; /* the first one */
};

static struct when_node *parse_any(struct when_parser *parser);

static struct when_node *fail(struct when_parser *parser, int error)
{
	parser->error = parser->error ? parser->error : error;
	return NULL;
}

static struct when_node *new_node(struct when_parser *parser, int kind, struct when_node *left,
				  struct when_node *right)
{
	struct gt_when *when = parser->when;
	struct when_node *node = &when->nodes[when->count];

	if (when->count == MAX_NODES)
		return fail(parser, gt_diag(parser->diag, -E2BIG, "when", NULL,
					    "the condition is too long: more than %d comparisons "
					    "and operators",
					    MAX_NODES));
	when->count++;
	*node = (struct when_node){.kind = kind, .left = left, .right = right};
	return node;
}

static void skip_spaces(struct when_parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Whether a text of punctuation follows, which is read over then. */
static bool accept(struct when_parser *parser, const char *text)
{
	skip_spaces(parser);
	if (strncmp(parser->at, text, strlen(text)) != 0)
		return false;
	parser->at += strlen(text);
	return true;
}

/* The end of a comparison: "&&", "||" or ')' outside of quotes. */
static const char *find_end(const char *text)
{
	char quote = '\0';

	for (; *text; text++) {
		if (quote) {
			quote = *text == quote ? '\0' : quote;
			continue;
		}
		if (*text == '"' || *text == '\'')
			quote = *text;
		else if (*text == ')' || !strncmp(text, "&&", 2) || !strncmp(text, "||", 2))
			break;
	}
	return text;
}

/* The value without its quotes, in place. */
static const char *unquote(char *value)
{
	size_t length = strlen(value);

	if (length < 2 || (value[0] != '"' && value[0] != '\'') || value[length - 1] != value[0])
		return value;
	value[length - 1] = '\0';
	return value + 1;
}

static const struct when_field *find_field(const char *name)
{
	for (size_t i = 0; i < gt_countof(fields); i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int unknown_field(const char *name, struct gt_diag *diag)
{
	gt_auto_strbuf names = GT_STRBUF_INIT;

	for (size_t i = 0; i < gt_countof(fields); i++)
		gt_strbuf_printf(&names, "%s%s", i ? ", " : "", fields[i].name);
	return gt_diag(diag, -EINVAL, "when", NULL, "unknown field '%s' (one of: %s)", name,
		       gt_strbuf_string(&names));
}

static int read_value(struct when_node *node, const char *value, struct gt_diag *diag)
{
	const struct when_field *field = node->field;
	bool equality = node->compare == GT_EQUAL || node->compare == GT_NOT_EQUAL;

	if (!field->parse) {
		node->glob = value;
		if (!equality)
			return gt_diag(diag, -EINVAL, "when", NULL,
				       "%s is compared by == or !=, with a glob such as '%s'",
				       field->name, field->example);
		return *value ? 0
			      : gt_diag(diag, -EINVAL, "when", NULL,
					"invalid value '' for %s, use one such as '%s'",
					field->name, field->example);
	}
	if (!field->parse(value, &node->number))
		return 0;
	if (field->dimensions && !parse_dimensions(value, node->dimensions)) {
		node->has_dimensions = true;
		return equality ? 0
				: gt_diag(diag, -EINVAL, "when", NULL,
					  "the dimensions of a %s are compared by == or !=, their "
					  "product, such as '%s', by every operator",
					  field->name, field->example);
	}
	return gt_diag(diag, -EINVAL, "when", NULL,
		       "invalid value '%s' for %s, use one such as '%s'", value, field->name,
		       field->example);
}

/* A copy of a part of the condition. `words` has room for each part and its NUL. */
static char *copy_word(struct gt_when *when, const char *start, size_t length)
{
	char *word = when->words + when->used;

	memcpy(word, start, length);
	word[length] = '\0';
	when->used += length + 1;
	return word;
}

static struct when_node *parse_comparison(struct when_parser *parser)
{
	const char *start = parser->at, *end = find_end(start);
	struct when_node *node = new_node(parser, WHEN_COMPARISON, NULL, NULL);
	struct gt_comparison comparison;
	int error;

	if (!node)
		return NULL;
	parser->at = end;
	error = gt_comparison_split(copy_word(parser->when, start, (size_t)(end - start)), EXAMPLE,
				    &comparison, parser->diag);
	if (error)
		return fail(parser, error);
	node->compare = comparison.compare;
	node->field = find_field(comparison.field);
	error = node->field ? read_value(node, unquote((char *)comparison.value), parser->diag)
			    : unknown_field(comparison.field, parser->diag);
	return error ? fail(parser, error) : node;
}

/* "(…)", "!(…)" or a comparison */
static struct when_node *parse_term(struct when_parser *parser)
{
	bool negated = false;
	struct when_node *node;

	skip_spaces(parser);
	while (parser->at[0] == '!' && parser->at[1] != '=') {
		parser->at++;
		negated = !negated;
		skip_spaces(parser);
		if (*parser->at != '(' && *parser->at != '!')
			return fail(parser, gt_diag(parser->diag, -EINVAL, "when", NULL,
						    "'!' must be followed by '('"));
	}
	if (!accept(parser, "("))
		return parse_comparison(parser);
	if (++parser->depth > MAX_DEPTH)
		return fail(parser, gt_diag(parser->diag, -E2BIG, "when", NULL,
					    "more than %d nested parentheses", MAX_DEPTH));
	node = parse_any(parser);
	parser->depth--;
	if (node && !accept(parser, ")"))
		return fail(parser,
			    gt_diag(parser->diag, -EINVAL, "when", NULL, "a '(' has no ')'"));
	return node && negated ? new_node(parser, WHEN_NOT, node, NULL) : node;
}

static struct when_node *parse_all(struct when_parser *parser)
{
	struct when_node *left = parse_term(parser);

	while (left && accept(parser, "&&")) {
		struct when_node *right = parse_term(parser);

		left = right ? new_node(parser, WHEN_AND, left, right) : NULL;
	}
	return left;
}

static struct when_node *parse_any(struct when_parser *parser)
{
	struct when_node *left = parse_all(parser);

	while (left && accept(parser, "||")) {
		struct when_node *right = parse_all(parser);

		left = right ? new_node(parser, WHEN_OR, left, right) : NULL;
	}
	return left;
}

int gt_when_parse(const char *text, struct gt_when **ret_when, struct gt_diag *diag)
{
	gt_auto(when) struct gt_when *when = calloc(1, sizeof(*when));
	struct when_parser parser = {.when = when, .diag = diag};

	if (when) {
		when->words = malloc(strlen(text) + MAX_NODES + 1);
		when->demangler = gt_demangler_new();
	}
	if (!when || !when->words || !when->demangler)
		return gt_diag(diag, -ENOMEM, "when", NULL, "out of memory");
	parser.at = text;
	when->root = parse_any(&parser);
	if (parser.error)
		return parser.error;
	skip_spaces(&parser);
	if (*parser.at)
		return gt_diag(diag, -EINVAL, "when", NULL, "a ')' has no '('");
	*ret_when = gt_take(when);
	return 0;
}

void gt_when_free(struct gt_when *when)
{
	if (!when)
		return;
	gt_demangler_free(when->demangler);
	free(when->words);
	free(when);
}

/* ---- evaluation --------------------------------------------------------------------------- */

static bool kernel_matches(const struct gt_when *when, const char *glob,
			   const struct when_call *call, bool *ret_known)
{
	const char *kernel =
		call->call.function ? gt_names_call_kernel(call->names, &call->call) : NULL;

	*ret_known = kernel;
	return kernel && (gt_glob(glob, kernel) ||
			  gt_glob(glob, gt_demangler_full(when->demangler, kernel)) ||
			  gt_glob(glob, gt_demangler_short(when->demangler, kernel)));
}

static bool dimensions_hold(const struct when_node *node, const struct when_call *call)
{
	uint32_t is[3];

	if (!node->field->dimensions(call, is))
		return false;
	if (!node->has_dimensions)
		return gt_condition_holds(node->compare, (uint64_t)is[0] * is[1] * is[2],
					  node->number);
	return !memcmp(is, node->dimensions, sizeof(is)) == (node->compare == GT_EQUAL);
}

static bool comparison_holds(const struct gt_when *when, const struct when_node *node,
			     const struct when_call *call)
{
	uint64_t value;
	bool known, matches;

	if (node->field->dimensions)
		return dimensions_hold(node, call);
	if (!node->glob)
		return node->field->value(call, &value) &&
		       gt_condition_holds(node->compare, value, node->number);
	matches = kernel_matches(when, node->glob, call, &known);
	return known && matches == (node->compare == GT_EQUAL);
}

static bool node_holds(const struct gt_when *when, const struct when_node *node,
		       const struct when_call *call)
{
	switch (node->kind) {
	case WHEN_NOT:
		return !node_holds(when, node->left, call);
	case WHEN_AND:
		return node_holds(when, node->left, call) && node_holds(when, node->right, call);
	case WHEN_OR:
		return node_holds(when, node->left, call) || node_holds(when, node->right, call);
	default:
		return comparison_holds(when, node, call);
	}
}

bool gt_when_holds(const struct gt_when *when, const struct gt_names *names,
		   const struct gt_event_call *event)
{
	struct when_call call = {.names = names, .event = event};

	if (!when)
		return true;
	gt_names_decode(names, event, &call.call);
	return node_holds(when, when->root, &call);
}

static bool add_kernel_part(const struct when_node *node, struct gt_condition *conditions,
			    __u32 *count)
{
	if (node->kind == WHEN_AND) {
		bool left = add_kernel_part(node->left, conditions, count);

		return add_kernel_part(node->right, conditions, count) && left;
	}
	if (node->kind != WHEN_COMPARISON || node->field->in_kernel < 0 ||
	    *count == GT_MAX_CONDITIONS)
		return false;
	conditions[(*count)++] = (struct gt_condition){
		.value = node->number,
		.field = node->field->in_kernel,
		.compare = node->compare,
	};
	return true;
}

bool gt_when_kernel_part(const struct gt_when *when,
			 struct gt_condition ret_conditions[GT_MAX_CONDITIONS], __u32 *ret_count)
{
	*ret_count = 0;
	return !when || add_kernel_part(when->root, ret_conditions, ret_count);
}

bool gt_when_is_for_kernel(const char *text)
{
	struct gt_condition conditions[GT_MAX_CONDITIONS];
	gt_auto(when) struct gt_when *when = NULL;
	__u32 count;

	return !text || gt_when_parse(text, &when, NULL) ||
	       gt_when_kernel_part(when, conditions, &count);
}
