// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * occupy FUNCTION… -- COMMAND…: attach as many programs to the trampoline of each function of the
 * kernel as it takes, so that no more can be, and execute the command meanwhile. Exit status: the
 * command's; 77: functions have no trampolines here; 1: something else is wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#define MAX_LINKS 64 /* more than BPF_MAX_TRAMP_LINKS of any kernel */
#define UNSUPPORTED 77

/* A program that does nothing; the links keep it. Negative: -Exxx. */
static int load_program(int function)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = function);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "occupy", "Dual BSD/GPL", instructions, 2,
			     &options);
}

static int fail(const char *function, int error)
{
	fprintf(stderr, "occupy: %s: %s\n", function, strerror(error));
	return error == EOPNOTSUPP || error == 524 /* ENOTSUPP of the kernel */ ? UNSUPPORTED : 1;
}

/* 0, or the exit status. */
static int occupy(const struct btf *types, const char *function)
{
	int id = btf__find_by_name_kind(types, function, BTF_KIND_FUNC);

	if (id < 0)
		return fail(function, ENOENT);
	for (int i = 0; i < MAX_LINKS; i++) {
		int program = load_program(id);
		int link =
			program < 0 ? program : bpf_link_create(program, 0, BPF_TRACE_FENTRY, NULL);

		if (link < 0)
			return errno == E2BIG && i ? 0 : fail(function, errno);
		close(program); /* the link, which is open until the end, keeps it */
	}
	fprintf(stderr, "occupy: %s takes more than %d programs\n", function, MAX_LINKS);
	return 1;
}

static int execute(char **command)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		execvp(*command, command);
		perror(*command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror("occupy");
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char **arguments)
{
	struct btf *types = btf__load_vmlinux_btf();
	int status = types ? 0 : fail("types of the kernel", errno), i;

	for (i = 1; i < count && strcmp(arguments[i], "--") != 0 && !status; i++)
		status = occupy(types, arguments[i]);
	btf__free(types);
	if (status)
		return status;
	return i + 1 < count ? execute(arguments + i + 1) : 1;
}
