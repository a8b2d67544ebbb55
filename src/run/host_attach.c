/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching host programs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run/host_private.h"

/* What to do about a program that cannot be attached. */
static const char *attach_advice(const char *section, int error)
{
	bool traces = !strncmp(section, "tracepoint/", 11) || !strncmp(section, "tp/", 3);

	if (error == -EOPNOTSUPP || error == -ESRCH)
		return "; name the target in its section, as uprobe/PATH:FUNCTION or "
		       "raw_tp/NAME, or exclude the program with SEC(\"?…\")";
	if (traces && access("/sys/kernel/tracing/events", F_OK) &&
	    access("/sys/kernel/debug/tracing/events", F_OK))
		return "; tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing, or "
		       "use raw_tp/NAME";
	return "";
}

static int attach_program(struct gt_host_programs *programs, struct bpf_program *program,
			  struct gt_diag *diag)
{
	struct bpf_link *link = bpf_program__attach(program);
	int error = link ? 0 : -errno;

	if (error)
		return gt_diag(diag, error, "linux", bpf_program__name(program),
			       "cannot attach this host program (%s): %s%s",
			       bpf_program__section_name(program), strerror(-error),
			       attach_advice(bpf_program__section_name(program), error));
	if (!gt_vec_push(&programs->links, link))
		return 0;
	bpf_link__destroy(link);
	return gt_host_no_memory(diag);
}

int gt_host_programs_attach(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, programs->source)
		if (!error && gt_host_is_wanted(program))
			error = attach_program(programs, program, diag);
	if (error)
		gt_host_programs_detach(programs);
	return error;
}

/* The target that the command line gives a program, or NULL. */
static const char *given_target(const struct gt_host_command *command,
				const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);
	size_t length = strlen(name);

	for (size_t i = 0; i < command->target_count; i++)
		if (!strncmp(command->targets[i], name, length) &&
		    command->targets[i][length] == '=')
			return command->targets[i] + length + 1;
	return NULL;
}

/* Whether a program is attached to a function of a file. */
static bool read_uprobe(const struct gt_host_command *command, const struct bpf_program *program,
			struct gt_uprobe_section *ret_section)
{
	const char *section = bpf_program__section_name(program);
	const char *target = given_target(command, program);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!target)
		return gt_uprobe_section_read(section, ret_section);
	gt_strbuf_printf(&text, "%.*s/%s", (int)strcspn(section, "/"), section, target);
	return gt_uprobe_section_read(gt_strbuf_string(&text), ret_section);
}

/* Check what the command line says of programs. */
static int check_targets(const struct gt_host_programs *programs,
			 const struct gt_host_command *command, struct gt_diag *diag)
{
	for (size_t i = 0; i < command->target_count; i++) {
		const char *target = command->targets[i];
		gt_autofree char *name = strndup(target, strcspn(target, "="));
		struct gt_uprobe_section section;
		struct bpf_program *program;

		if (!name)
			return gt_host_no_memory(diag);
		program = bpf_object__find_program_by_name(programs->source, name);
		if (!program || !gt_host_is_wanted(program))
			return gt_diag(diag, -ENOENT, "linux", programs->object->path,
				       "no host program '%s' to attach ('gputap verify' lists the "
				       "programs)",
				       name);
		if (!read_uprobe(command, program, &section))
			return gt_diag(diag, -EINVAL, "linux", name,
				       "cannot attach a program of section %s to '%s' (only uprobe "
				       "and uretprobe, to FILE:FUNCTION)",
				       bpf_program__section_name(program),
				       target + strlen(name) + (target[strlen(name)] == '='));
	}
	return 0;
}

static int open_uprobes(struct gt_host_programs *programs, const struct gt_host_command *command,
			struct gt_diag *diag)
{
	GT_VEC(struct gt_uprobe_program) uprobes = {0};
	struct gt_uprobe_program uprobe;
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, programs->source) {
		uprobe.program = program;
		if (!error && gt_host_is_wanted(program) &&
		    read_uprobe(command, program, &uprobe.section))
			error = gt_vec_push(&uprobes, uprobe);
	}
	if (error)
		error = gt_host_no_memory(diag);
	else if (uprobes.count)
		error = gt_host_uprobes_open(uprobes.items, uprobes.count, programs->multi,
					     &programs->uprobes, diag);
	gt_vec_free(&uprobes);
	return error;
}

/* Whether the section names a target; a loader that knows it attaches programs that have none. */
static bool has_target(const struct bpf_program *program)
{
	static const char *const bare[] = {"uprobe",      "uretprobe",  "uprobe.s",
					   "uretprobe.s", "kprobe",     "kretprobe",
					   "usdt",        "tracepoint", "tp"};

	for (size_t i = 0; i < gt_countof(bare); i++)
		if (!strcmp(bpf_program__section_name(program), bare[i]))
			return false;
	return true;
}

static void put_programs_without_target(const struct gt_host_programs *programs,
					struct gt_strbuf *text)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, programs->source)
		if (gt_host_is_wanted(program) && !has_target(program) &&
		    !(programs->uprobes && gt_host_uprobes_have(programs->uprobes, program)))
			gt_strbuf_printf(text,
					 "the host program %s was not attached: its section (%s) "
					 "names no target; use --attach %s=FILE:FUNCTION\n",
					 bpf_program__name(program),
					 bpf_program__section_name(program),
					 bpf_program__name(program));
}

int gt_host_programs_attach_command(struct gt_host_programs *programs,
				    const struct gt_host_command *command, struct gt_diag *diag)
{
	struct bpf_program *program;
	struct gt_uprobe_section section;
	int error = check_targets(programs, command, diag);

	if (!error)
		error = open_uprobes(programs, command, diag);
	if (!error && programs->uprobes)
		error = gt_host_uprobes_attach(programs->uprobes, command, diag);
	bpf_object__for_each_program (program, programs->source)
		if (!error && gt_host_is_wanted(program) && has_target(program) &&
		    !read_uprobe(command, program, &section))
			error = attach_program(programs, program, diag);
	if (error)
		gt_host_programs_detach(programs);
	return error;
}

void gt_host_programs_attach_process(struct gt_host_programs *programs, pid_t pid)
{
	struct gt_diag diag = {0};

	if (programs->uprobes && gt_host_uprobes_attach_process(programs->uprobes, pid, &diag) &&
	    !programs->late.text[0])
		programs->late = diag;
}

void gt_host_programs_account(const struct gt_host_programs *programs, bool targets_are_optional,
			      struct gt_strbuf *text)
{
	const char *name;
	uint64_t lost;

	if (programs->late.text[0])
		gt_strbuf_printf(text, "%s: %s\n", programs->late.place, programs->late.text);
	put_programs_without_target(programs, text);
	if (!programs->uprobes)
		return;
	for (size_t i = 0;
	     !targets_are_optional && (name = gt_host_uprobes_unattached(programs->uprobes, i));
	     i++)
		gt_strbuf_printf(text,
				 "the host program %s was not attached: no process of the command "
				 "loaded a file of this name with this function\n",
				 name);
	lost = gt_host_uprobes_lost(programs->uprobes);
	if (lost)
		gt_strbuf_printf(text,
				 "%llu threads were not followed by uprobes (out of memory)\n",
				 (unsigned long long)lost);
}

void gt_host_programs_detach(struct gt_host_programs *programs)
{
	if (programs->uprobes)
		gt_host_uprobes_detach(programs->uprobes);
	gt_vec_each (link, &programs->links)
		bpf_link__destroy(*link);
	gt_vec_free(&programs->links);
}
