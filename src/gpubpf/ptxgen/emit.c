/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text of PTX: instructions, names, declarations. */
#include <errno.h>
#include <string.h>

#include "gpubpf/ptxgen/private.h"

void gt_ptxgen_emit(struct gt_ptxgen *gen, const char *format, ...)
{
	va_list arguments;

	gt_strbuf_putc(&gen->body, '\t');
	va_start(arguments, format);
	gt_strbuf_vprintf(&gen->body, format, arguments);
	va_end(arguments);
	gt_strbuf_add(&gen->body, ";\n", 2);
}

static struct gt_ptxgen_name numbered(const struct gt_ptxgen *gen, const char *kind,
				      unsigned number)
{
	struct gt_ptxgen_name name;

	snprintf(name.text, sizeof(name.text), "%s%s%u", gen->prefix, kind, number);
	return name;
}

struct gt_ptxgen_name gt_ptxgen_temporary(struct gt_ptxgen *gen, enum gt_ptxgen_class class)
{
	static const char *const kinds[GT_PTXGEN_CLASSES] = {"q", "w", "h", "p"};

	return numbered(gen, kinds[class], gen->temporaries[class]++);
}

struct gt_ptxgen_name gt_ptxgen_label(struct gt_ptxgen *gen)
{
	return numbered(gen, "B", gen->labels++);
}

void gt_ptxgen_put_label(struct gt_ptxgen *gen, const struct gt_ptxgen_name *label)
{
	gt_strbuf_puts(&gen->body, label->text);
	gt_strbuf_add(&gen->body, ":\n", 2);
}

struct gt_ptxgen_name gt_ptxgen_insn_label(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name name;

	snprintf(name.text, sizeof(name.text), "%sL%u_%u", gen->prefix, gen->frame->number, insn);
	return name;
}

struct gt_ptxgen_name gt_ptxgen_register(const struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_name name;

	if (number <= 5)
		return numbered(gen, "r", number);
	snprintf(name.text, sizeof(name.text), "%sf%u_r%u", gen->prefix, gen->frame->number,
		 number);
	return name;
}

struct gt_strbuf *gt_ptxgen_declare(struct gt_ptxgen *gen, const char *name)
{
	struct gt_translation *translation = gen->translation;
	gt_auto_strbuf whole = GT_STRBUF_INIT;
	char *kept;

	gt_strbuf_printf(&whole, "%s%s", gen->prefix, name);
	gt_vec_each (declared, &translation->declared)
		if (!strcmp(*declared, gt_strbuf_string(&whole)))
			return NULL;
	kept = gt_strbuf_steal(&whole);
	if (!kept || gt_vec_push(&translation->declared, kept)) {
		free(kept);
		translation->declarations.failed = true;
	}
	return &translation->declarations;
}

int gt_ptxgen_fail(struct gt_ptxgen *gen, int error, const char *format, ...)
{
	char place[32], text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "insn %u", gen->at);
	if (!gen->error)
		gen->error = error;
	return gt_diag(gen->diag, error, "translate", place, "%s", text);
}
