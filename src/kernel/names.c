/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of flags and values: names.def. */
#include "base/clean.h"
#include "kernel/private.h"

#define NAMED(value, name) {value, #name},
#define NAME_SET(identifier, unknown, values)                                                      \
	static const struct gt_named_value identifier##_values[] = {values};
#include "kernel/names.def"
#undef NAME_SET

static const struct gt_name_set name_sets[GT_NAME_SETS] = {
#define NAME_SET(identifier, text, values)                                                         \
	[GT_NAMES_##identifier] = {text, identifier##_values, gt_countof(identifier##_values)},
#include "kernel/names.def"
#undef NAME_SET
#undef NAMED
};

static void put_unknown(struct gt_strbuf *text, const struct gt_name_set *set, __u64 value)
{
	gt_strbuf_printf(text, "%#llx", (unsigned long long)value);
	if (set->unknown)
		gt_strbuf_printf(text, " /* %s */", set->unknown);
}

const char *gt_names_find(enum gt_name_set_number number, __u64 value)
{
	const struct gt_name_set *set = &name_sets[number];

	for (size_t i = 0; i < set->count; i++)
		if (set->values[i].value == value)
			return set->values[i].name;
	return NULL;
}

void gt_names_put_value(struct gt_strbuf *text, enum gt_name_set_number number, __u64 value)
{
	const char *name = gt_names_find(number, value);

	if (name)
		gt_strbuf_puts(text, name);
	else
		put_unknown(text, &name_sets[number], value);
}

/* Add the names of the bits, with '|' between them; return those without a name. */
static __u64 put_bits(struct gt_strbuf *text, const struct gt_name_set *set, __u64 flags,
		      bool *begun)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct gt_named_value *flag = &set->values[i];

		if (!flag->value || (flags & flag->value) != flag->value)
			continue;
		gt_strbuf_puts(text, *begun ? "|" : "");
		gt_strbuf_puts(text, flag->name);
		flags &= ~flag->value;
		*begun = true;
	}
	return flags;
}

void gt_names_put_flags(struct gt_strbuf *text, enum gt_name_set_number number, __u64 flags)
{
	const struct gt_name_set *set = &name_sets[number];
	const char *zero = flags ? NULL : gt_names_find(number, 0);
	bool begun = false;
	__u64 rest = put_bits(text, set, flags, &begun);

	if (!flags)
		gt_strbuf_puts(text, zero ? zero : "0");
	else if (!begun)
		put_unknown(text, set, rest);
	else if (rest)
		gt_strbuf_printf(text, "|%#llx", (unsigned long long)rest);
}

void gt_names_put_more_flags(struct gt_strbuf *text, enum gt_name_set_number number, __u64 flags)
{
	bool begun = true;
	__u64 rest = put_bits(text, &name_sets[number], flags, &begun);

	if (rest)
		gt_strbuf_printf(text, "|%#llx", (unsigned long long)rest);
}
