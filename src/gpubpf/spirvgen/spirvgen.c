/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target "spirv": options, jobs, the module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/spirvgen/private.h"

static struct gt_spirv_builder *builder_of(struct gt_translation *translation)
{
	if (!translation->spirv) {
		translation->spirv = malloc(sizeof(*translation->spirv));
		if (translation->spirv)
			gt_spirv_init(translation->spirv);
	}
	return translation->spirv;
}

void gt_spirvgen_clear(struct gt_spirvgen *gen)
{
	gt_spirvgen_close_tables(gen);
	gt_spirv_words_clear(&gen->variables);
	gt_spirv_words_clear(&gen->code);
	gt_vec_free(&gen->blocks);
	gt_vec_free(&gen->interface);
}

/* Lower what was selected, and remove the function again where that fails. */
static int lower(struct gt_spirvgen *gen)
{
	size_t words = gen->builder->sections[GT_SPIRV_FUNCTIONS].words.count;
	int error = gt_spirvgen_open_tables(gen);

	if (error)
		gt_diag(gen->diag, error, "translate", NULL, "out of memory");
	else
		error = gt_spirvgen_function(gen);
	if (error)
		gen->builder->sections[GT_SPIRV_FUNCTIONS].words.count = words;
	gt_spirvgen_clear(gen);
	return error;
}

static int translate_job(const struct gt_translate_options *options,
			 const struct gt_bpf_object *object, const struct gt_translate_job *job,
			 struct gt_translation *translation, struct gt_diag *diag)
{
	struct gt_ptxgen_selection selection = {0};
	struct gt_spirvgen gen = {
		.builder = builder_of(translation),
		.options = options,
		.object = object,
		.job = job,
		.selection = &selection,
		.diag = diag,
	};
	int error;

	if (options->form != GT_FORM_KERNEL)
		return gt_diag(diag, -EOPNOTSUPP, "translate", NULL,
			       "the target spirv translates whole kernels only");
	if (!gen.builder)
		return gt_diag(diag, -ENOMEM, "translate", NULL, "out of memory");
	error = gt_ptxgen_select(options, object, job, &selection, diag);
	if (!error)
		error = lower(&gen);
	gt_ptxgen_selection_clear(&selection);
	return error;
}

static int finish(const struct gt_translate_options *options,
		  const struct gt_translation *translation, struct gt_strbuf *module,
		  struct gt_diag *diag)
{
	if (!translation->spirv)
		return 0;
	if (gt_spirv_finish(translation->spirv, module))
		return gt_diag(diag, -ENOMEM, "translate", NULL, "out of memory");
	return 0;
}

const struct gt_code_target gt_target_spirv = {
	.name = "spirv",
	.translate = translate_job,
	.finish = finish,
};
