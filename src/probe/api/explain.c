/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/explain.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "probe/target.h"

int gt_explain_nothing(const struct gt_host *host, const struct gt_traced_files *files,
		       struct gt_diag *diag)
{
	const char *skipped = gt_strbuf_string(&files->skipped);

	if (host->options->path)
		/* The file itself was examined first; the files that it loads have nothing either.
		 */
		return gt_diag(diag, -ENOENT, "find", NULL,
			       "%.*s; name a library such as libcudart.so.13 or libcuda.so.1, or "
			       "a program that uses one",
			       (int)strcspn(skipped, "\n"), skipped);
	if (host->command && !host->options->verbose)
		return 0; /* it has not run yet */
	gt_event_queue_note(
		host->events,
		"nothing to attach to so far: no libcudart, no libcuda, no runtime inside the "
		"program; waiting for one to be loaded%s%s",
		host->options->verbose && *skipped ? "; examined:\n" : "",
		host->options->verbose ? skipped : "");
	return 0;
}

static const struct gt_traced_file *find_driver(const struct gt_traced_files *files)
{
	gt_vec_each (file, &files->found)
		if (gt_traced_file_is_driver(file))
			return file;
	return NULL;
}

/* Whether calls may be those of OpenCL, HIP or Level Zero. */
static bool has_portable(const struct gt_traced_files *files)
{
	gt_vec_each (file, &files->found)
		if (gt_api_is_portable(file->library))
			return true;
	return false;
}

void gt_explain_fallback(const struct gt_host *host, const struct gt_traced_files *files)
{
	const struct gt_traced_file *driver = find_driver(files);

	if (!driver || has_portable(files) || host->options->path ||
	    host->options->functions.words.count)
		return;
	gt_event_queue_note(host->events,
			    "no call of the CUDA runtime was seen%s: the calls are those of the "
			    "driver API in %s",
			    files->stripped ? " (one inside a stripped program cannot be found)"
					    : "",
			    driver->path);
}

void gt_explain_silence(const struct gt_host *host, const struct gt_traced_files *files)
{
	const char *skipped = gt_strbuf_string(&files->skipped);
	const char *nothing = host->options->functions.words.count
				      ? "none of the traced functions was called"
				      : "no calls were traced";
	gt_auto_strbuf probed = GT_STRBUF_INIT;

	gt_vec_each (file, &files->found)
		gt_strbuf_printf(&probed, "%s%s", probed.length ? ", " : "", file->path);
	if (!files->found.count)
		gt_event_queue_note(host->events,
				    "no calls were traced: no libcudart, no libcuda, no runtime "
				    "inside a program was loaded%s%.*s",
				    *skipped ? "; " : "", (int)strcspn(skipped, "\n"), skipped);
	else if (!*skipped || (gt_target_is_all(host->target) && !host->options->path))
		gt_event_queue_note(host->events, "%s; probes were in %s", nothing,
				    gt_strbuf_string(&probed));
	else
		gt_event_queue_note(host->events, "%s; probes were in %s, and none in %.*s",
				    nothing, gt_strbuf_string(&probed), (int)strcspn(skipped, "\n"),
				    skipped);
}
