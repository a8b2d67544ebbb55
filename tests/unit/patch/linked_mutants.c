/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random linked programs whose texts were changed: lines and names are replaced by others, inserted
 * and deleted, and texts end early. What is PTX is patched or rejected, and what can be linked can
 * be linked when it is patched.
 */
#include <ctype.h>

#include "linked_probes.h"

enum {
	DEFAULT_MUTANTS = 2000,
	ON_A_DEVICE = 20, /* mutants */
	MAX_GROWTH = 200, /* a text with programs, by its own size */
};

/* How many mutants were PTX, and how many of them could be linked. */
static uint32_t parsed, loaded;

/* ---- mutants --------------------------------------------------------------------------- */

/* A line of a text; length: without its end. */
struct text_line {
	size_t at, length;
};

static struct text_line random_line(const struct gt_strbuf *text)
{
	const char *data = gt_strbuf_string(text), *start, *end;
	size_t at = text->length ? random_number((uint32_t)text->length) : 0;

	start = at ? memrchr(data, '\n', at) : NULL;
	start = start ? start + 1 : data;
	end = strchrnul(start, '\n');
	return (struct text_line){(size_t)(start - data), (size_t)(end - start)};
}

/* A name, a number or another token at or after a random place. */
static struct text_line random_token(const struct gt_strbuf *text)
{
	const char *data = gt_strbuf_string(text);
	size_t at = text->length ? random_number((uint32_t)text->length) : 0, length = 0;

	while (data[at] && !isalnum((unsigned char)data[at]))
		at++;
	while (at && (isalnum((unsigned char)data[at - 1]) || strchr("_$.%", data[at - 1])))
		at--;
	while (data[at + length] &&
	       (isalnum((unsigned char)data[at + length]) || strchr("_$.%", data[at + length])))
		length++;
	return (struct text_line){at, length};
}

/* Replace a part of a text by a part of another one, or the same one. */
static void replace(struct gt_strbuf *text, struct text_line old, const struct gt_strbuf *from,
		    struct text_line new)
{
	gt_auto_strbuf result = GT_STRBUF_INIT;
	struct gt_strbuf swapped;

	gt_strbuf_add(&result, text->data, old.at);
	gt_strbuf_add(&result, from->data + new.at, new.length);
	gt_strbuf_add(&result, text->data + old.at + old.length,
		      text->length - old.at - old.length);
	swapped = *text;
	*text = result;
	result = swapped;
}

static void mutate(void)
{
	struct gt_strbuf *text = &test.texts[random_number(linked.parts)];
	const struct gt_strbuf *from = &test.texts[random_number(linked.parts)];
	struct text_line line = random_line(text);

	if (!text->length || !from->length)
		return;
	switch (random_number(8)) {
	case 0:
		replace(text, line, from, random_line(from));
		break;
	case 1:
		replace(text, (struct text_line){line.at, 0}, from, random_line(from));
		break;
	case 2:
		replace(text, line, from, (struct text_line){0, 0});
		break;
	case 3:
		if (!random_number(8))
			replace(text, (struct text_line){line.at, text->length - line.at}, from,
				(struct text_line){0, 0});
		break;
	default:
		replace(text, random_token(text), from, random_token(from));
	}
}

/* Whether modules can be linked. */
static bool can_link(struct device *device, const struct gt_ptx_module *const *parts, size_t count)
{
	gt_auto(sg_module) struct sg_module *module = NULL;

	return !sg_module_load(device->machine, parts, count, NULL, &module, NULL);
}

static void check_sizes(uint64_t seed)
{
	for (uint32_t i = 0; i < linked.parts; i++)
		if (test.parts[i].result.text.length > MAX_GROWTH * (test.texts[i].length + 1))
			TAP_FAIL("mutant %" PRIu64 ": a text of %zu bytes has %zu", seed,
				 test.texts[i].length, test.parts[i].result.text.length);
}

static void check_mutant(struct device *device, uint64_t seed)
{
	const struct gt_ptx_module *originals[MAX_PARTS], *patched[MAX_PARTS];
	struct gt_diag diag = {0};
	size_t count;

	choose_programs();
	for (uint32_t i = 1 + random_number(3); i; i--)
		mutate();
	if (parse_parts(&diag))
		return;
	parsed++;
	if (patch_parts(&diag)) {
		CHECK(gt_diag_is_set(&diag));
		return;
	}
	check_results();
	check_sizes(seed);
	list_originals(originals);
	if (!list_patched(patched, &count)) {
		TAP_FAIL("mutant %" PRIu64, seed);
		return;
	}
	if (!can_link(device, originals, linked.parts))
		return;
	loaded++;
	if (count && !can_link(device, patched, count))
		TAP_FAIL("mutant %" PRIu64 " can be linked, but not when it is patched", seed);
}

TEST("linked programs whose texts were changed are patched or rejected, and linked as before")
{
	unsigned mutants = programs_wanted(DEFAULT_MUTANTS), made = 0;
	const char *from = getenv("SEED");
	uint64_t seed = from ? (uint64_t)atoll(from) : 0;

	while (made < mutants && !tap_failed) {
		auto_device device = {0};

		device_open(&device);
		for (int i = 0; i < ON_A_DEVICE && made < mutants; i++, made++, seed++) {
			if (make_program(seed))
				check_mutant(&device, seed);
			clear_test();
		}
	}
	printf("# %u mutants are PTX, %u can be linked\n", parsed, loaded);
	CHECK(made < DEFAULT_MUTANTS / 5 || loaded > made / 20);
}

TEST_MAIN
