/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/explain.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "probe/target.h"

int gt_explain_nothing(const struct gt_host *host, const struct gt_places *places,
		       struct gt_diag *diag)
{
	const char *refusals = gt_strbuf_string(&places->refusals);

	if (host->options->path)
		/* It was looked at first, and of what it loads nothing was found, either. */
		return gt_diag(diag, -ENOENT, "find", NULL,
			       "%.*s; name a library such as libcudart.so.13 or libcuda.so.1, or "
			       "a program that uses one",
			       (int)strcspn(refusals, "\n"), refusals);
	gt_event_queue_note(
		host->events,
		"nothing to attach to so far: no libcudart, no libcuda, no runtime inside the "
		"program; waiting for one to be loaded%s%s",
		host->options->verbose && *refusals ? "; looked at:\n" : "",
		host->options->verbose ? refusals : "");
	return 0;
}

static const struct gt_place *find_driver(const struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		if (gt_place_is_driver(place))
			return place;
	return NULL;
}

static bool have_guessed_runtime(const struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		if (gt_place_is_runtime(place) && place->guessed)
			return true;
	return false;
}

void gt_explain_fallback(const struct gt_host *host, const struct gt_places *places)
{
	const struct gt_place *driver = find_driver(places);

	if (!driver || gt_places_have_runtime(places) || host->options->path ||
	    host->options->functions.words.count ||
	    (have_guessed_runtime(places) && !places->stripped))
		return;
	gt_event_queue_note(
		host->events,
		"no CUDA runtime was found in the program or what it loads (%s); tracing "
		"the driver API in %s instead",
		places->stripped ? "it is stripped: one inside would not be seen"
				 : "no libcudart, and none inside",
		driver->path);
}

void gt_explain_silence(const struct gt_host *host, const struct gt_places *places)
{
	const char *refusals = gt_strbuf_string(&places->refusals);
	gt_auto_strbuf probed = GT_STRBUF_INIT;

	gt_vec_each (place, &places->found)
		gt_strbuf_printf(&probed, "%s%s", probed.length ? ", " : "", place->path);
	if (!*refusals || (gt_target_is_all(host->target) && !host->options->path))
		gt_event_queue_note(host->events, "no call was seen; the probes were in %s",
				    gt_strbuf_string(&probed));
	else
		gt_event_queue_note(
			host->events, "no call was seen; the probes were in %s, and none in %.*s",
			gt_strbuf_string(&probed), (int)strcspn(refusals, "\n"), refusals);
}
