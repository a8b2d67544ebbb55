/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "probe": list and change the GPU programs of running sessions. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "gpubpf/filter.h"
#include "report/table.h"
#include "run/control.h"

struct probe_options {
	uint64_t pid;
	bool all, json;
	const char *when, *sample;
};

#define AT(field) offsetof(struct probe_options, field)

static const struct gt_option option_table[] = {
	{'d', "pid", "PID", "the session of this gputap process only", GT_OPTION_COUNT, AT(pid),
	 NULL},
	{0, "all", NULL, "all programs", GT_OPTION_FLAG, AT(all), NULL},
	{0, "when", "CONDITION", "with 'set': the condition, such as 'blockIdx.x==0 && lane<4'",
	 GT_OPTION_STRING, AT(when), NULL},
	{0, "sample", "1/N", "with 'set': run every Nth time only; 1: always", GT_OPTION_STRING,
	 AT(sample), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
};

static const char *const examples[] = {
	"gputap probe list                # the programs of running sessions",
	"gputap probe off count_loads     # from now on, also in kernels that run",
	"gputap probe on --all --pid 4711 # all programs of one session",
	"gputap probe set count_loads --when 'blockIdx.x==7' --sample 1/100",
	NULL,
};

/* ---- printing -------------------------------------------------------------------------- */

static const struct gt_column columns[] = {
	{.title = "PID"},
	{.title = "STATE", .left = true},
	{.title = "SITES"},
	{.title = "KERNELS"},
	{.title = "SAMPLE", .left = true, .optional = true},
	{.title = "SKIPPED", .optional = true},
	{.title = "PROGRAM", .left = true},
	{.title = "SECTION", .left = true},
	{.title = "CONDITION", .left = true, .optional = true},
};

/* Programs as they are listed, in one of two forms. */
struct probe_list {
	struct gt_table table;
	struct gt_json json;
	struct gt_strbuf text;
	bool as_json;
	uint32_t count;
};

static const char *state_of(const struct gt_control_reply *reply)
{
	if (!(reply->flags & GT_CONTROL_SWITCHABLE))
		return "always";
	return reply->flags & GT_CONTROL_ON ? "on" : "off";
}

static void put_cell(struct gt_table *table, const char *text)
{
	gt_put_printable(gt_table_cell(table), text);
	gt_table_end_cell(table);
}

static void put_row(struct gt_table *table, pid_t pid, const struct gt_control_reply *reply)
{
	gt_table_number(table, (unsigned long long)pid);
	gt_table_text(table, state_of(reply));
	gt_table_number(table, reply->sites);
	gt_table_number(table, reply->kernels);
	if (reply->period)
		gt_strbuf_printf(gt_table_cell(table), "1/%u", reply->period);
	else
		gt_table_cell(table);
	gt_table_end_cell(table);
	gt_table_number(table, reply->skipped);
	put_cell(table, reply->name);
	put_cell(table, reply->section);
	put_cell(table, reply->text);
}

static void json_row(struct gt_json *json, pid_t pid, const struct gt_control_reply *reply)
{
	gt_json_object_begin(json, NULL);
	gt_json_u64(json, "pid", (uint64_t)pid);
	gt_json_string(json, "program", reply->name);
	gt_json_string(json, "section", reply->section);
	gt_json_string(json, "state", state_of(reply));
	gt_json_u64(json, "sites", reply->sites);
	gt_json_u64(json, "kernels", reply->kernels);
	if (*reply->text)
		gt_json_string(json, "when", reply->text);
	if (reply->period) {
		gt_json_u64(json, "sample", reply->period);
		gt_json_u64(json, "skipped", reply->skipped);
	}
	gt_json_object_end(json);
}

static void add_program(void *context, pid_t pid, const struct gt_control_reply *reply)
{
	struct probe_list *list = context;

	list->count++;
	if (list->as_json)
		json_row(&list->json, pid, reply);
	else
		put_row(&list->table, pid, reply);
}

static void print_failure(void *context, pid_t pid, const char *text)
{
	gt_auto_strbuf printable = GT_STRBUF_INIT;

	gt_put_printable(&printable, text);
	gt_cli_error("the session of process %d: %s", (int)pid, gt_strbuf_string(&printable));
}

static void begin_list(struct probe_list *list)
{
	list->json = GT_JSON_INIT(&list->text);
	if (list->as_json)
		gt_json_array_begin(&list->json, NULL);
	else
		gt_table_begin(&list->table, columns, gt_countof(columns));
}

static void print_list(struct probe_list *list)
{
	if (list->as_json) {
		gt_json_array_end(&list->json);
		gt_strbuf_putc(&list->text, '\n');
	} else {
		gt_table_put(&list->table, &list->text);
	}
	if (list->as_json || list->count)
		fputs(gt_strbuf_string(&list->text), stdout);
	gt_strbuf_free(&list->text);
}

/* ---- actions --------------------------------------------------------------------------- */

static const struct probe_action {
	const char *name;
	enum gt_control_operation operation;
	uint32_t on;
	bool changes; /* programs must be selected */
} actions[] = {
	{"list", GT_CONTROL_LIST, 0, false},
	{"on", GT_CONTROL_SWITCH, 1, true},
	{"off", GT_CONTROL_SWITCH, 0, true},
	{"set", GT_CONTROL_SET, 0, true},
};

static const struct probe_action *find_action(const char *name)
{
	for (size_t i = 0; i < gt_countof(actions); i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	return NULL;
}

static int report_nothing(const char *name, uint32_t sessions)
{
	if (!sessions)
		gt_cli_error("no session runs that you may control; start one with 'gputap run'");
	else
		gt_cli_error("no program matches '%s'; 'gputap probe list' lists them", name);
	return GT_EXIT_FAILED;
}

static int ask_sessions(const struct probe_options *given, const struct probe_action *action,
			const char *name)
{
	struct gt_control_request request = {.operation = (uint16_t)action->operation,
					     .on = action->on};
	struct probe_list list = {.as_json = given->json};
	struct gt_diag diag = {0};
	uint32_t sessions = 0;
	int error;

	snprintf(request.name, sizeof(request.name), "%s", name);
	if (given->when) {
		request.has_condition = 1;
		snprintf(request.condition, sizeof(request.condition), "%s", given->when);
	}
	if (given->sample)
		gt_bpf_filter_parse_period(given->sample, &request.period);
	begin_list(&list);
	error = gt_control_ask(&request, (pid_t)given->pid, add_program, print_failure, &list,
			       &sessions, &diag);
	print_list(&list);
	if (error) {
		if (gt_diag_is_set(&diag))
			gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (!list.count && (action->changes || strcmp(name, "*") != 0))
		return report_nothing(name, sessions);
	if (!list.count && !given->json)
		gt_cli_error("%s", sessions ? "no GPU programs: the sessions that run have none"
					    : "no session runs that you may control");
	return GT_EXIT_OK;
}

static int check_parameters(const struct gt_cli_command *command, const struct probe_action *action,
			    const struct probe_options *given)
{
	bool sets = action->operation == GT_CONTROL_SET;
	uint32_t period;

	if (given->pid > INT_MAX)
		return gt_cli_usage_error(command, "--pid is at most %d", INT_MAX);
	if (sets != (given->when || given->sample))
		return gt_cli_usage_error(command, sets ? "'set' needs --when or --sample"
							: "--when and --sample are for 'set'");
	if (given->when && strlen(given->when) >= GT_CONTROL_MAX_TEXT)
		return gt_cli_usage_error(command, "--when has at most %d characters",
					  GT_CONTROL_MAX_TEXT - 1);
	if (given->sample && gt_bpf_filter_parse_period(given->sample, &period))
		return gt_cli_usage_error(command,
					  "invalid value '%s' for --sample (1/N, such as 1/100)",
					  given->sample);
	return GT_GO_ON;
}

static int run_probe(const struct gt_cli_command *command, int count, char **arguments)
{
	struct probe_options given = {0};
	const struct probe_action *action;
	const char *name = "*";
	int rest, status = gt_cli_parse(command, count, arguments, &given, &rest);

	if (status != GT_GO_ON)
		return status;
	if (rest == count)
		return gt_cli_usage_error(command, "an action is needed: list, on, off or set");
	action = find_action(arguments[rest]);
	if (!action)
		return gt_cli_usage_error(command,
					  "invalid action '%s' (one of: list, on, off, set)",
					  arguments[rest]);
	status = check_parameters(command, action, &given);
	if (status != GT_GO_ON)
		return status;
	if (++rest < count)
		name = arguments[rest++];
	else if (action->changes && !given.all)
		return gt_cli_usage_error(command, "the name of a program is needed, or --all");
	if (rest < count)
		return gt_cli_usage_error(command, "unexpected argument '%s'", arguments[rest]);
	if (strlen(name) >= GT_CONTROL_MAX_NAME)
		return gt_cli_usage_error(command, "a name has at most %d characters",
					  GT_CONTROL_MAX_NAME - 1);
	return ask_sessions(&given, action, given.all ? "*" : name);
}

const struct gt_cli_command gt_command_probe = {
	.name = "probe",
	.summary = "List and change the GPU programs of running sessions",
	.usage = "[options] ACTION [GLOB]",
	.description =
		"Lists the programs that 'gputap run' and the tools like it have inserted into the "
		"kernels of running commands (list), or switches those whose names match on or off "
		"(on, off), or sets their condition and sampling (set). Changes take effect at "
		"once, also in kernels that run. To be switched, the session must have been "
		"started with --switchable; a condition can be set on the fields that it was "
		"started with by --when, sampling if it was started with --sample. Only your own "
		"sessions can be controlled; root controls all.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_probe,
};
