/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/recorder.h"

#include <string.h>

#include "base/text.h"
#include "event/kinds.h"

/* "slow=10ms": the part after NAME=; NULL: it is another text. */
static const char *value_after(const char *text, const char *name)
{
	size_t length = strlen(name);

	return strncmp(text, name, length) || text[length] != '=' ? NULL : text + length + 1;
}

static bool parse_trigger(const char *text, struct gt_triggers *triggers)
{
	const char *slow = value_after(text, "slow"), *error = value_after(text, "error");

	if (slow)
		return !gt_parse_duration(slow, &triggers->slow) && triggers->slow;
	if (error && *error) {
		triggers->error = true;
		triggers->error_name = error;
		return true;
	}
	triggers->xid |= !strcmp(text, "xid");
	triggers->error |= !strcmp(text, "error");
	triggers->signal |= !strcmp(text, "signal");
	triggers->exit |= !strcmp(text, "exit");
	return !strcmp(text, "xid") || !strcmp(text, "error") || !strcmp(text, "signal") ||
	       !strcmp(text, "exit");
}

int gt_triggers_parse(const struct gt_cli_command *self, const struct gt_strings *texts,
		      struct gt_triggers *ret_triggers)
{
	struct gt_triggers triggers = {.signal = !texts->words.count, .exit = !texts->words.count};

	gt_vec_each (text, &texts->words)
		if (!parse_trigger(*text, &triggers))
			return gt_cli_usage_error(self,
						  "invalid value '%s' for --trigger (one of: xid, "
						  "error, error=NAME, slow=TIME, signal, exit)",
						  *text);
	*ret_triggers = triggers;
	return GT_EXIT_OK;
}

static bool match_call(const struct gt_triggers *triggers, const struct gt_names *names,
		       const struct gt_event_call *call, struct gt_strbuf *why)
{
	const struct gt_api_function *function = gt_names_api(names, call->function);
	gt_auto_strbuf result = GT_STRBUF_INIT;

	if (triggers->slow && call->duration >= triggers->slow) {
		gt_strbuf_printf(why, "%s took ", gt_names_function(names, call->function));
		gt_format_duration(why, call->duration);
		return true;
	}
	if (!triggers->error || !function || (call->state & GT_CALL_UNFINISHED) ||
	    !gt_api_failed(function, call->result))
		return false;
	gt_api_format_result(&result, function, call->result, false);
	if (triggers->error_name && !gt_glob(triggers->error_name, gt_strbuf_string(&result)))
		return false;
	gt_strbuf_printf(why, "%s returned %s", gt_names_function(names, call->function),
			 gt_strbuf_string(&result));
	return true;
}

bool gt_triggers_match(const struct gt_triggers *triggers, const struct gt_names *names,
		       const struct gt_event *event, struct gt_strbuf *why)
{
	if (event->kind == GT_EVENT_call)
		return match_call(triggers, names, (const void *)event, why);
	if (event->kind != GT_EVENT_nvidia_xid || !triggers->xid)
		return false;
	gt_strbuf_printf(why, "Xid %u", ((const struct gt_event_nvidia_xid *)event)->code);
	return true;
}

void gt_put_numbered_path(struct gt_strbuf *path, const char *name, unsigned number)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');

	if (!dot || (slash && dot < slash) || dot == name || dot[-1] == '/')
		dot = name + strlen(name);
	gt_strbuf_add(path, name, (size_t)(dot - name));
	gt_strbuf_printf(path, ".%u%s", number, dot);
}
