/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of kernels and functions in PTX text that is not parsed. */
#include "base/ptx_names.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "tap.h"

/* The names as "e:name f:name", then "?" in doubt. */
static void list_text(const char *text, size_t length, struct gt_strbuf *list)
{
	const char *at = text, *end = text + length;
	enum gt_ptx_names_state state;
	struct gt_ptx_name name;

	while ((state = gt_ptx_next_name(&at, end, &name)) == GT_PTX_NAMES_FOUND)
		gt_strbuf_printf(list, "%s%c:%.*s", list->length ? " " : "",
				 name.is_entry ? 'e' : 'f', (int)name.length, name.text);
	if (state == GT_PTX_NAMES_DOUBT)
		gt_strbuf_puts(list, list->length ? " ?" : "?");
}

TEST("names are found after .entry and .func, whatever stands between")
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{"", ""},
		{".visible .entry k(", "e:k"},
		{".entry\n\t$a_1%(", "e:$a_1%"},
		{".weak .func (.param .b32 r) f (", "f:f"},
		{".func(.reg .u32 r)_Z1fv;.entry k", "f:_Z1fv e:k"},
		{".entry /* k */ k(", "?"},
		{".func .attribute(.unified) f(", "?"},
		{".entry a() .func .x", "e:a ?"},
		{".entry", "?"},
		{".func (", "?"},
		{".entr", ""},
		{".fun .function .en .param .u32 .unified", "f:tion"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_auto_strbuf list = GT_STRBUF_INIT;

		list_text(cases[i].text, strlen(cases[i].text), &list);
		CHECK_STR(gt_strbuf_string(&list), cases[i].names);
	}
}

TEST("a name is found at each position of a text, and nothing after the text is read")
{
	static const char directive[] = ".entry k(";
	enum { LENGTH = 300 };

	for (size_t length = sizeof(directive) - 1; length < LENGTH; length++) {
		/* Of this length, so that the sanitizer sees what is read after it. */
		char *text = malloc(length);

		for (size_t at = 0; at + sizeof(directive) - 1 <= length; at++) {
			gt_auto_strbuf list = GT_STRBUF_INIT;

			/* Many places where the search stops. */
			for (size_t i = 0; i < length; i++)
				text[i] = ".un"[i % 3];
			memcpy(text + at, directive, sizeof(directive) - 1);
			list_text(text, length, &list);
			CHECK_STR(gt_strbuf_string(&list), "e:k");
			memset(text, ' ', at);
			memset(text + at + sizeof(directive) - 1, 'x',
			       length - at - (sizeof(directive) - 1));
			gt_strbuf_clear(&list);
			list_text(text, length, &list);
			CHECK_STR(gt_strbuf_string(&list), "e:k");
		}
		free(text);
	}
}

TEST_MAIN
