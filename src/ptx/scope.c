/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scopes: declarations in a block hide those outside of it. */
#include <errno.h>
#include <string.h>

#include "ptx/parser.h"

int ptx_scope_enter(struct ptx_parser *parser)
{
	if (parser->depth + 1 >= MAX_SCOPES)
		return ptx_fail_at(parser, &parser->token.position, -E2BIG,
				   "more than %d blocks within each other", GT_PTX_MAX_NESTING);
	parser->scopes[++parser->depth] = NULL;
	return 0;
}

void ptx_scope_leave(struct ptx_parser *parser)
{
	struct ptx_binding *binding = parser->scopes[parser->depth--];

	for (; binding; binding = binding->in_scope)
		*binding->slot = binding->outer;
}

static int bind(struct ptx_parser *parser, struct ptx_binding **slot,
		struct gt_ptx_variable *variable, struct gt_ptx_function *function)
{
	struct ptx_binding *binding = ptx_take(parser, sizeof(*binding));

	if (!binding)
		return -ENOMEM;
	*binding = (struct ptx_binding){.variable = variable,
					.function = function,
					.depth = parser->depth,
					.outer = *slot,
					.slot = slot,
					.in_scope = parser->scopes[parser->depth]};
	*slot = binding;
	parser->scopes[parser->depth] = binding;
	return 0;
}

static int declared_twice(struct ptx_parser *parser, const struct gt_ptx_position *position,
			  const char *name, const struct ptx_binding *first)
{
	return ptx_fail_at(parser, position, -EINVAL,
			   "\"%.200s\" is declared twice: first in line %u", name,
			   first->variable ? first->variable->position.line
					   : first->function->name_position.line);
}

int ptx_bind_variable(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	struct ptx_name *name = name_of(variable->name);
	struct ptx_binding **slot = variable->is_range ? &name->range : &name->plain;
	const struct ptx_binding *first = *slot;
	bool is_extern = variable->linkage == GT_PTX_LINKAGE_EXTERN;

	if (first && first->depth == parser->depth) {
		/* At module scope .extern may precede and follow its definition. */
		if (parser->depth || !first->variable ||
		    (!is_extern && first->variable->linkage != GT_PTX_LINKAGE_EXTERN))
			return declared_twice(parser, &variable->position, variable->name, first);
	}
	if (!variable->is_range) {
		uint32_t index;
		const struct ptx_binding *range =
			ptx_lookup(parser, variable->name, strlen(variable->name), &index);

		if (range && range != first && range->depth == parser->depth)
			return declared_twice(parser, &variable->position, variable->name, range);
	}
	if (!variable->function && !is_extern)
		name->variable_definition = variable;
	return bind(parser, slot, variable, NULL);
}

int ptx_bind_function(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	struct ptx_binding **slot = &name_of(function->name)->plain;

	/* A parameter of the function may have its name, and hides it in the body. */
	while (*slot && (*slot)->depth > parser->depth)
		slot = &(*slot)->outer;
	if (*slot && !(*slot)->function)
		return declared_twice(parser, &function->name_position, function->name, *slot);
	return *slot ? 0 : bind(parser, slot, NULL, function);
}

/*
 * Returns the binding of prefix<N> with a member `index`. A range with fewer members does not hide
 * outer ones.
 */
static const struct ptx_binding *find_member(const struct ptx_parser *parser, const char *text,
					     size_t length, uint32_t index)
{
	const struct ptx_name *name = ptx_names_find(&parser->names, text, length);
	const struct ptx_binding *binding = name ? name->range : NULL;

	while (binding && index >= binding->variable->count)
		binding = binding->outer;
	return binding;
}

const struct ptx_binding *ptx_lookup(const struct ptx_parser *parser, const char *text,
				     size_t length, uint32_t *ret_index)
{
	const struct ptx_name *name = ptx_names_find(&parser->names, text, length);
	const struct ptx_binding *best = name ? name->plain : NULL, *member;
	uint64_t index = 0, weight = 1;

	*ret_index = 0;
	/* Any of the last digits may belong to the prefix: %r12 of %r<20> or of %r1<5>. */
	for (size_t prefix = length; prefix > 1 && length - prefix < 7; weight *= 10) {
		char digit = text[--prefix];

		if (digit < '0' || digit > '9')
			break;
		index += weight * (uint64_t)(digit - '0');
		member = find_member(parser, text, prefix, (uint32_t)index);
		if (member && (!best || member->depth > best->depth)) {
			best = member;
			*ret_index = (uint32_t)index;
		}
	}
	return best;
}

/* Returns the range that is too small for a name, or NULL. */
static const struct gt_ptx_variable *range_of(const struct ptx_parser *parser,
					      const struct ptx_token *token)
{
	uint32_t length = token->length;
	const struct ptx_name *name;

	while (length > 1 && token->text[length - 1] >= '0' && token->text[length - 1] <= '9')
		length--;
	if (length == token->length)
		return NULL;
	name = ptx_names_find(&parser->names, token->text, length);
	return name && name->range ? name->range->variable : NULL;
}

int ptx_unknown_name(struct ptx_parser *parser, const struct ptx_token *token)
{
	const struct gt_ptx_variable *range = range_of(parser, token);
	int length = token->length > 200 ? 200 : (int)token->length;

	if (!parser->function)
		return ptx_fail_at(parser, &token->position, -EINVAL, "unknown name \"%.*s\"",
				   length, token->text);
	if (range)
		return ptx_fail_at(parser, &token->position, -EINVAL,
				   "unknown name \"%.*s\" in function \"%.200s\": the last "
				   "register of %.20s<%u> is %.20s%u",
				   length, token->text, parser->function->name, range->name,
				   range->count, range->name, range->count - 1);
	return ptx_fail_at(parser, &token->position, -EINVAL,
			   "unknown name \"%.*s\" in function \"%.200s\"", length, token->text,
			   parser->function->name);
}

int ptx_label_declare(struct ptx_parser *parser, struct ptx_name *name,
		      const struct gt_ptx_position *position, struct gt_ptx_label **ret_label)
{
	struct ptx_scoped_label *scoped;

	if (name->label && name->label->block == parser->block)
		return ptx_fail_at(parser, position, -EINVAL,
				   "the label \"%.200s\" is declared twice: first in line %u",
				   name->text, name->label->position.line);
	scoped = ptx_take(parser, sizeof(*scoped));
	if (!scoped)
		return -ENOMEM;
	scoped->label = (struct gt_ptx_label){.name = name->text,
					      .position = *position,
					      .block = parser->block,
					      .number = parser->function->label_count++};
	scoped->hidden = name->label;
	scoped->in_block = parser->block_labels;
	parser->block_labels = scoped;
	name->label = &scoped->label;
	*parser->last_label = &scoped->label;
	parser->last_label = &scoped->label.next;
	*ret_label = &scoped->label;
	return 0;
}

int ptx_labels_leave_block(struct ptx_parser *parser, struct gt_ptx_block *block,
			   size_t pending_mark)
{
	size_t kept = pending_mark;

	for (size_t i = pending_mark; i < parser->pending.count; i++) {
		struct ptx_pending_label *use = &parser->pending.items[i];
		struct gt_ptx_label *label = use->name->label;

		if (label && label->block == block) {
			use->operand->label = label;
			label->is_used = true;
		} else if (block->parent) {
			parser->pending.items[kept++] = *use;
		} else {
			return ptx_fail_at(parser, &use->position, -EINVAL,
					   "unknown label \"%.200s\" in function \"%.200s\"",
					   use->name->text, parser->function->name);
		}
	}
	parser->pending.count = kept;
	for (struct ptx_scoped_label *label = parser->block_labels; label; label = label->in_block)
		name_of(label->label.name)->label = label->hidden;
	return 0;
}
