/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/*
 * libiberty rejects C++ names of more than 1024 bytes unless a flag says that the stack is large.
 * Those are demangled in a thread with a large stack, of 8 KB per byte of the name.
 */
#define GUARDED_NAME 1024
#define LARGE_STACK ((size_t)64 << 20)
#define MAX_PARAMETERS 65536
#define MAX_BRACKETS 256

struct demangling {
	const char *name;
	int options;
	bool rust;
	struct gt_strbuf text;
	bool done;
	jmp_buf too_long;
};

static void take_text(const char *text, size_t length, void *context)
{
	struct demangling *demangling = context;

	gt_strbuf_add(&demangling->text, text, length);
	/* A few bytes can expand without limit: longjmp out of the writer at the limit. */
	if (demangling->text.length > GT_DEMANGLE_MAX_TEXT || demangling->text.failed)
		longjmp(demangling->too_long, 1);
}

static void *demangle(void *context)
{
	struct demangling *demangling = context;

	if (setjmp(demangling->too_long))
		return NULL;
	if (demangling->rust)
		demangling->done = rust_demangle_callback(demangling->name, demangling->options,
							  take_text, demangling);
	else
		demangling->done = cplus_demangle_v3_callback(demangling->name, demangling->options,
							      take_text, demangling);
	return NULL;
}

static void demangle_on_large_stack(struct demangling *demangling)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	demangling->options |= DMGL_NO_RECURSE_LIMIT;
	if (pthread_attr_init(&attributes))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_attr_setstacksize(&attributes, LARGE_STACK) &&
	    !pthread_create(&thread, &attributes, demangle, demangling))
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

static bool demangle_as(const char *name, int options, bool rust, struct gt_strbuf *ret_text)
{
	struct demangling demangling = {.name = name, .options = options, .rust = rust};
	bool good;

	if (rust || strlen(name) <= GUARDED_NAME)
		demangle(&demangling);
	else
		demangle_on_large_stack(&demangling);
	good = demangling.done && !demangling.text.failed && demangling.text.length;
	if (good)
		gt_strbuf_add(ret_text, demangling.text.data, demangling.text.length);
	gt_strbuf_free(&demangling.text);
	return good;
}

static bool demangle_name(const char *name, int options, struct gt_strbuf *buffer)
{
	size_t length = strnlen(name, GT_DEMANGLE_MAX_NAME + 1);

	if (length <= GT_DEMANGLE_MAX_NAME && name[0] == '_') {
		/* Rust's legacy names are C++ names that end in a hash. */
		if ((name[1] == 'R' || name[1] == 'Z') && demangle_as(name, 0, true, buffer))
			return true;
		if (name[1] == 'Z' && demangle_as(name, options, false, buffer))
			return true;
	}
	gt_strbuf_puts(buffer, name);
	return false;
}

bool gt_demangle(const char *name, struct gt_strbuf *buffer)
{
	return demangle_name(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, buffer);
}

/* Remove "[abi:…]" from what was added at `start`: Numba's tags are longer than its names. */
static void remove_tags(struct gt_strbuf *buffer, size_t start)
{
	size_t to = start;

	if (buffer->failed || buffer->length == start)
		return;
	for (size_t from = start; from < buffer->length;) {
		const char *end = NULL;

		if (!strncmp(buffer->data + from, "[abi:", strlen("[abi:")))
			end = memchr(buffer->data + from, ']', buffer->length - from);
		if (end)
			from = (size_t)(end + 1 - buffer->data);
		else
			buffer->data[to++] = buffer->data[from++];
	}
	buffer->length = to;
	buffer->data[to] = '\0';
}

bool gt_demangle_short(const char *name, struct gt_strbuf *buffer)
{
	size_t start = buffer->length;
	bool mangled = demangle_name(name, DMGL_ANSI, buffer);

	if (mangled)
		remove_tags(buffer, start);
	return mangled;
}

bool gt_demangle_untagged(const char *name, struct gt_strbuf *buffer)
{
	size_t start = buffer->length;
	bool mangled = gt_demangle(name, buffer);

	if (mangled)
		remove_tags(buffer, start);
	return mangled;
}

struct gt_demangler {
	struct gt_hash *full, *shortened; /* name -> text */
};

struct gt_demangler *gt_demangler_new(void)
{
	gt_auto(demangler) struct gt_demangler *demangler = calloc(1, sizeof(*demangler));

	if (!demangler)
		return NULL;
	demangler->full = gt_hash_new();
	demangler->shortened = gt_hash_new();
	return demangler->full && demangler->shortened ? gt_take(demangler) : NULL;
}

void gt_demangler_free(struct gt_demangler *demangler)
{
	if (!demangler)
		return;
	gt_hash_free_with(demangler->full, free);
	gt_hash_free_with(demangler->shortened, free);
	free(demangler);
}

static const char *demangle_once(struct gt_hash *texts, const char *name,
				 bool (*demangle_into)(const char *name, struct gt_strbuf *buffer))
{
	size_t length = strlen(name);
	char *text = gt_hash_get(texts, name, length);
	struct gt_strbuf buffer = GT_STRBUF_INIT;

	if (text)
		return text;
	demangle_into(name, &buffer);
	text = gt_strbuf_steal(&buffer);
	if (!text || gt_hash_set(texts, name, length, text)) {
		free(text);
		return name;
	}
	return text;
}

const char *gt_demangler_full(struct gt_demangler *demangler, const char *name)
{
	return demangle_once(demangler->full, name, gt_demangle);
}

const char *gt_demangler_short(struct gt_demangler *demangler, const char *name)
{
	return demangle_once(demangler->shortened, name, gt_demangle_short);
}

struct gt_short_names {
	struct gt_hash *seen;     /* mangled names */
	struct gt_hash *by_short; /* short text -> the mangled name, or `ambiguous` */
	GT_VEC(char *) copies;
};

static char ambiguous[] = "";

struct gt_short_names *gt_short_names_new(void)
{
	gt_auto(short_names) struct gt_short_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->seen = gt_hash_new();
	names->by_short = gt_hash_new();
	return names->seen && names->by_short ? gt_take(names) : NULL;
}

void gt_short_names_free(struct gt_short_names *names)
{
	if (!names)
		return;
	gt_hash_free(names->seen);
	gt_hash_free(names->by_short);
	gt_vec_each (copy, &names->copies)
		free(*copy);
	gt_vec_free(&names->copies);
	free(names);
}

/* Whether the texts of two names, with parameters, are the same: of ABI tags, nothing is shown. */
static bool is_same_text(const char *name, const char *other)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, other_text = GT_STRBUF_INIT;

	gt_demangle_untagged(name, &text);
	gt_demangle_untagged(other, &other_text);
	return !strcmp(gt_strbuf_string(&text), gt_strbuf_string(&other_text));
}

/* Return a copy that lives as long as the set, and is known as seen; NULL: out of memory. */
static char *see_name(struct gt_short_names *names, const char *name)
{
	char *copy = strdup(name);

	if (!copy || gt_vec_push(&names->copies, copy)) {
		free(copy);
		return NULL;
	}
	return gt_hash_set_str(names->seen, name, copy) ? NULL : copy;
}

void gt_short_names_add(struct gt_short_names *names, const char *name)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	char *copy = gt_hash_get_str(names->seen, name) ? NULL : see_name(names, name);
	const char *other;

	if (!copy)
		return;
	gt_demangle_short(name, &text);
	other = gt_hash_get_str(names->by_short, gt_strbuf_string(&text));
	if (!other)
		gt_hash_set_str(names->by_short, gt_strbuf_string(&text), copy);
	else if (other != ambiguous && !is_same_text(name, other))
		gt_hash_set_str(names->by_short, gt_strbuf_string(&text), ambiguous);
}

void gt_short_names_put(const struct gt_short_names *names, const char *name,
			struct gt_strbuf *buffer)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_demangle_short(name, &text);
	if (gt_hash_get_str(names->by_short, gt_strbuf_string(&text)) == ambiguous)
		gt_demangle_untagged(name, buffer);
	else
		gt_strbuf_puts(buffer, gt_strbuf_string(&text));
}

/* Finds the parameters of a demangled function, without the parentheses; false: none. */
static bool find_list(const char *text, const char **ret_start, const char **ret_end)
{
	const char *end = strrchr(text, ')');
	size_t depth = 0;

	if (!end)
		return false;
	for (const char *at = end; at >= text; at--) {
		depth += *at == ')';
		depth -= *at == '(';
		if (depth)
			continue;
		*ret_start = at + 1;
		*ret_end = end;
		return true;
	}
	return false;
}

static int add_type(struct gt_type_names *types, size_t *capacity, const char *start,
		    const char *end)
{
	char *text;

	while (start < end && *start == ' ')
		start++;
	if (types->count == MAX_PARAMETERS)
		return -ENOENT;
	if (types->count == *capacity &&
	    gt_vec_grow((void **)&types->items, capacity, types->count, sizeof(*types->items)))
		return -ENOMEM;
	text = strndup(start, end - start);
	if (!text)
		return -ENOMEM;
	types->items[types->count++] = text;
	return 0;
}

/*
 * Splits at commas outside of brackets. '<' is a bracket unless it is within parentheses that were
 * opened after it: "(a)>(b)" is in parentheses of its own.
 */
static int split_list(const char *start, const char *end, struct gt_type_names *types)
{
	static const char opening[] = "(<[{", closing[] = ")>]}";
	char brackets[MAX_BRACKETS];
	size_t depth = 0, capacity = 0;
	const char *type = start;
	int error;

	for (const char *at = start; at < end; at++) {
		const char *bracket = strchr(opening, *at);

		if (*at == ',' && !depth) {
			error = add_type(types, &capacity, type, at);
			if (error)
				return error;
			type = at + 1;
		} else if (bracket) {
			if (depth == sizeof(brackets))
				return -ENOENT;
			brackets[depth++] = closing[bracket - opening];
		} else if (depth && *at == brackets[depth - 1]) {
			depth--;
		}
	}
	return depth ? -ENOENT : add_type(types, &capacity, type, end);
}

int gt_demangle_parameters(const char *name, struct gt_type_names *ret_types)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_type_names types = {0};
	const char *start, *end;
	int error = 0;

	if (name[0] != '_' || name[1] != 'Z' || !gt_demangle(name, &text) ||
	    !find_list(gt_strbuf_string(&text), &start, &end))
		return text.failed ? -ENOMEM : -ENOENT;
	if (start < end)
		error = split_list(start, end, &types);
	if (error) {
		gt_type_names_free(&types);
		return error;
	}
	*ret_types = types;
	return 0;
}

void gt_type_names_free(struct gt_type_names *types)
{
	for (size_t i = 0; i < types->count; i++)
		free(types->items[i]);
	free(types->items);
	*types = (struct gt_type_names){0};
}
