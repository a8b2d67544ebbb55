/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/comparison.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

static const struct {
	const char *text;
	enum gt_comparison_operator compare;
} operators[] = {
	/* Longer ones first: "<=" begins as "<" does. */
	{"<=", GT_LESS_OR_EQUAL}, {">=", GT_GREATER_OR_EQUAL},
	{"==", GT_EQUAL},         {"!=", GT_NOT_EQUAL},
	{"<", GT_LESS},           {">", GT_GREATER},
	{"=", GT_EQUAL},
};

/* Remove the spaces at both ends, in place. */
static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

int gt_comparison_split(char *text, const char *example, struct gt_comparison *ret_comparison,
			struct gt_diag *diag)
{
	size_t at = strcspn(text, "<>=!");

	for (size_t i = 0; i < gt_countof(operators); i++) {
		size_t length = strlen(operators[i].text);

		if (strncmp(text + at, operators[i].text, length) != 0)
			continue;
		ret_comparison->value = trim(text + at + length);
		ret_comparison->compare = operators[i].compare;
		text[at] = '\0';
		ret_comparison->field = trim(text);
		return 0;
	}
	return gt_diag(diag, -EINVAL, "when", NULL,
		       "no comparison in '%s', use one such as '%s' (operators: < <= == != >= >)",
		       text, example);
}

int gt_comparisons_parse(const char *text, uint32_t max, const char *example,
			 struct gt_comparisons *ret_comparisons, struct gt_diag *diag)
{
	gt_auto_comparisons found = {.text = strdup(text)};

	if (!found.text)
		return gt_diag(diag, -ENOMEM, "when", NULL, "out of memory");
	for (char *part = found.text, *next; part; part = next) {
		next = strstr(part, "&&");
		if (next) {
			*next = '\0';
			next += 2;
		}
		if (found.count == max)
			return gt_diag(diag, -E2BIG, "when", NULL, "more than %u comparisons", max);
		if (gt_comparison_split(part, example, &found.items[found.count++], diag))
			return -EINVAL;
	}
	*ret_comparisons = found;
	found.text = NULL;
	return 0;
}

void gt_comparisons_clear(struct gt_comparisons *comparisons)
{
	free(comparisons->text);
	comparisons->text = NULL;
}
