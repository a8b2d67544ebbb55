/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "list": sources and functions. */
#include <stdio.h>

#include "api/api.h"
#include "base/text.h"
#include "cli/cli.h"
#include "event/kinds.h"
#include "output/output.h"
#include "probe/source.h"

struct list_options {
	bool sources, functions, outputs, events, tools;
};

#define AT(field) offsetof(struct list_options, field)

static const struct gt_option options[] = {
	{0, "sources", NULL, "list the sources only", GT_OPTION_FLAG, AT(sources), NULL},
	{0, "functions", NULL, "list all functions, including those not traced by default",
	 GT_OPTION_FLAG, AT(functions), NULL},
	{0, "outputs", NULL, "list the outputs only", GT_OPTION_FLAG, AT(outputs), NULL},
	{0, "tools", NULL, "list the commands that run a GPU program of gputap in kernels",
	 GT_OPTION_FLAG, AT(tools), NULL},
	{0, "events", NULL, "list the kinds of events in captures, with their fields",
	 GT_OPTION_FLAG, AT(events), NULL},
};

static const char *const examples[] = {
	"gputap list                          # sources, outputs, functions traced by default",
	"gputap list --functions 'cuMem*'     # functions by name",
	NULL,
};

static void list_sources(void)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);

	printf("Sources (-e):\n");
	for (size_t i = 0; i < count; i++)
		printf("  %-10s %s\n             needs %s\n", sources[i]->name, sources[i]->summary,
		       sources[i]->needs);
}

static void list_outputs(void)
{
	size_t count;
	const struct gt_output *const *outputs = gt_outputs(&count);

	printf("Outputs:\n");
	for (size_t i = 0; i < count; i++)
		printf("  %-10s %s\n", outputs[i]->name, outputs[i]->help);
}

static void list_tools(void)
{
	size_t count;
	const struct gt_cli_command *const *commands = gt_cli_commands(&count);

	printf("Tools (GPU programs in the kernels of a command):\n");
	for (size_t i = 0; i < count; i++)
		if (gt_cli_is_tool(commands[i]))
			printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
}

static void list_events(void)
{
	for (unsigned number = GT_EVENT_NONE + 1; number < GT_EVENT_KINDS; number++) {
		const struct gt_event_kind_info *kind = gt_event_kind(number);

		printf("%s%u %s: %s\n", number > GT_EVENT_NONE + 1 ? "\n" : "", number, kind->name,
		       kind->summary);
		for (unsigned i = 0; i < kind->field_count; i++) {
			const struct gt_event_field *field = &kind->fields[i];

			printf("    %-8s %-11s %-6s %s\n", field->type, field->name,
			       *field->unit ? field->unit : "-", field->summary);
		}
	}
}

/* Whether `gputap trace` shows it without being asked. */
static bool is_default(const struct gt_api_function *function)
{
	return function->category != GT_CATEGORY_NONE &&
	       gt_api_group_bit(function->library) & gt_api_default_groups();
}

/* Returns how many there were. */
static unsigned list_functions(const char *glob, bool all)
{
	unsigned shown = 0;

	for (unsigned row = 0; row < gt_api_count(); row++) {
		const struct gt_api_function *function = gt_api_function(row);

		if (!gt_glob(glob, function->name) || (!all && !is_default(function)))
			continue;
		printf("  %-8s %-11s %s\n", function->library,
		       function->category == GT_CATEGORY_NONE
			       ? "-"
			       : gt_api_category_name(function->category),
		       function->name);
		shown++;
	}
	return shown;
}

static int run_list(const struct gt_cli_command *self, int count, char **arguments)
{
	struct list_options given = {0};
	const char *glob = "*";
	bool everything;
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status != GT_GO_ON)
		return status;
	if (rest < count) {
		glob = arguments[rest];
		given.functions = true;
	}
	if (rest + 1 < count)
		return gt_cli_usage_error(self, "unexpected argument '%s'", arguments[rest + 1]);
	everything = !given.sources && !given.functions && !given.outputs && !given.events &&
		     !given.tools;
	if (given.sources || everything)
		list_sources();
	if (given.outputs || everything)
		list_outputs();
	if (given.tools || everything)
		list_tools();
	if (given.events)
		list_events();
	if (everything)
		printf("Functions traced by default (library, category, name):\n");
	if ((given.functions || everything) && !list_functions(glob, given.functions)) {
		gt_cli_error("no function matches '%s'", glob);
		return GT_EXIT_FAILED;
	}
	return GT_EXIT_OK;
}

const struct gt_cli_command gt_command_list = {
	.name = "list",
	.summary = "List sources, outputs, tools, event kinds and functions",
	.usage = "[options] [GLOB]",
	.description = "Without options, lists sources, outputs, tools and the functions traced by "
		       "default; with GLOB, the functions that match.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_list,
};
