/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "probe/layer.h"
#include "probe/source.h"

/* "1%" or "0.1%". 0 or -EINVAL. */
static int parse_rate(const char *text, double *ret_rate)
{
	char *end;
	double percent;

	if (!strchr("0123456789.", *text))
		return -EINVAL;
	percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") || !isfinite(percent) || percent < 0 || percent > 100)
		return -EINVAL;
	*ret_rate = percent / 100;
	return 0;
}

static bool is_known(const char *name, size_t length, struct gt_strbuf *names)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);

	for (size_t i = 0; i < count; i++) {
		const struct gt_layer *layer = sources[i]->layer;

		for (size_t row = 0; layer && row < layer->sampled_count; row++) {
			const char *known = layer->sampled[row].name;

			if (strlen(known) == length && !memcmp(known, name, length))
				return true;
			gt_strbuf_printf(names, "%s%s", names->length ? ", " : "", known);
		}
	}
	return false;
}

int gt_sample_check(const struct gt_strings *words, struct gt_diag *diag)
{
	gt_vec_each (word, &words->words) {
		gt_auto_strbuf names = GT_STRBUF_INIT;
		const char *equals = strchr(*word, '=');
		size_t length = equals ? (size_t)(equals - *word) : strlen(*word);
		double rate;

		if (!is_known(*word, length, &names))
			return gt_diag(diag, -EINVAL, "session", NULL,
				       "invalid name '%.*s' for --sample (one of: %s)", (int)length,
				       *word, gt_strbuf_string(&names));
		if (!equals || parse_rate(equals + 1, &rate))
			return gt_diag(diag, -EINVAL, "session", NULL,
				       "invalid rate '%s' for --sample %.*s (a percentage such as "
				       "1%% or 0.1%%)",
				       equals ? equals + 1 : "", (int)length, *word);
	}
	return 0;
}

double gt_sample_rate(const struct gt_strings *words, const struct gt_sampled *sampled)
{
	size_t length = strlen(sampled->name);
	double rate = sampled->default_rate;

	gt_vec_each (word, &words->words)
		if (!strncmp(*word, sampled->name, length) && (*word)[length] == '=')
			parse_rate(*word + length + 1, &rate);
	return rate;
}
