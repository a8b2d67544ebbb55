/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Commands and their options, as tables: parsing, help, completion and the manual page's lists
 * all come from them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/string_list.h"
#include "base/vec.h"

/* Exit statuses. A command that was traced gives its own. */
enum gt_exit {
	GT_EXIT_OK = 0,
	GT_EXIT_FAILED = 1,
	GT_EXIT_USAGE = 2,
	GT_EXIT_NO_EXECUTION = 126, /* the command to be traced cannot be executed */
	GT_EXIT_NO_COMMAND = 127,   /* or is not there */
};

/* What an option's value is, and so what type stands at its offset in the command's options. */
enum gt_option_kind {
	GT_OPTION_FLAG,     /* bool: set to true */
	GT_OPTION_FLAG_OFF, /* bool: set to false */
	GT_OPTION_STRING,   /* const char * */
	GT_OPTION_LIST,     /* struct gt_strings: separated by commas, may be repeated */
	GT_OPTION_WORDS,    /* struct gt_strings: a word, may be repeated */
	GT_OPTION_NUMBER,   /* uint64_t */
	GT_OPTION_COUNT,    /* the same, from 1 on: 0 stands for what is not given */
	GT_OPTION_SIZE,     /* uint64_t, bytes */
	GT_OPTION_BYTES,    /* the same, more than 0: that stands for what is not given */
	GT_OPTION_DURATION, /* uint64_t, ns */
	GT_OPTION_PERIOD,   /* the same, more than 0: that stands for what is not given */
	GT_OPTION_CHOICE,   /* int: the index in `choices` */
};

/*
 * The word that stands for a value ("FILE") says what the value is: one word means the same in all
 * options and usages. What shells offer for it is in src/cli/completion.c.
 */
struct gt_option {
	char letter;          /* 0: none */
	const char *name;     /* "ring-size" */
	const char *argument; /* "SIZE"; NULL: it takes none */
	const char *help;     /* one sentence, no full stop */
	enum gt_option_kind kind;
	size_t offset;
	const char *const *choices; /* ended by NULL; STRING, LIST: suggestions of the completion */
};

struct gt_cli_command {
	const char *name;
	const char *summary;         /* one line */
	const char *usage;           /* what stands behind the name: "[options] [-- CMD ARGS]" */
	const char *description;     /* for --help and the manual page; '\n' ends a paragraph */
	const char *const *examples; /* command lines, ended by NULL */
	const struct gt_option *options;
	size_t option_count;
	/* Options may stand behind what is none, up to "--"; else the first such ends them. */
	bool options_anywhere;
	/*
	 * Runs with what stands behind the command's name; arguments[0] is that name.
	 * Returns the exit status.
	 */
	int (*run)(const struct gt_cli_command *command, int count, char **arguments);
};

/* All commands; *ret_count of them. */
const struct gt_cli_command *const *gt_cli_commands(size_t *ret_count);
const struct gt_cli_command *gt_cli_find(const char *name);

/* Whether a command runs a GPU program that ships in the kernels of a command. */
bool gt_cli_is_tool(const struct gt_cli_command *command);

#define GT_GO_ON (-1)

/*
 * Reads a command's options into the structure at `values`. *ret_rest is the first argument
 * that is no option; "--" ends them, too, and is skipped if it is the first. Of a command with
 * options anywhere, what is no option is moved behind the options. Returns GT_GO_ON, or the exit
 * status to end with: GT_EXIT_OK where --help was printed, GT_EXIT_USAGE where an error was.
 */
int gt_cli_parse(const struct gt_cli_command *command, int count, char **arguments, void *values,
		 int *ret_rest);

/*
 * Make stdout a stream that is written in whole lines, since a command that is traced may print to
 * the same file, and that keeps its first error. 0 or -ENOMEM.
 */
int gt_cli_begin_output(void);
/* Write what was printed, a line without an end, too; fflush(stdout) keeps that. Its first error is
 * the one that gt_cli_finish_output reports. */
void gt_cli_flush_output(void);
/*
 * Write what is printed to a file from now on, which is emptied; NULL or "-": nothing changes.
 * Processes that are started keep standard output. GT_GO_ON, or the status of an error that was
 * printed.
 */
int gt_cli_redirect_output(const char *path);
/* The exit status for `status`: failure if output was lost, except where a pipe has no reader. */
int gt_cli_finish_output(int status);

/* Prints "gputap: …" to stderr, after what was printed; with a diag, its place and text. */
void gt_cli_error(const char *format, ...) gt_printf(1, 2);
void gt_cli_diag(const struct gt_diag *diag);
/* The same, with "(try 'gputap COMMAND --help')". Returns GT_EXIT_USAGE. */
int gt_cli_usage_error(const struct gt_cli_command *command, const char *format, ...)
	gt_printf(2, 3);

/* Help of one command: what --help prints. */
void gt_cli_put_help(struct gt_strbuf *text, const struct gt_cli_command *command);
/* The manual page's sections COMMANDS and SOURCES, in the language of man(7). */
void gt_cli_put_manual(struct gt_strbuf *text);
/* A script by which a shell ("bash", "zsh", "fish") completes command lines. -EINVAL: no such. */
int gt_cli_put_completion(struct gt_strbuf *text, const char *shell);
/* The option --help, which every command has. */
extern const struct gt_option gt_option_help;

extern const struct gt_cli_command gt_command_trace;
extern const struct gt_cli_command gt_command_record;
extern const struct gt_cli_command gt_command_info;
extern const struct gt_cli_command gt_command_top;
extern const struct gt_cli_command gt_command_export;
extern const struct gt_cli_command gt_command_merge;
extern const struct gt_cli_command gt_command_diff;
extern const struct gt_cli_command gt_command_verify;
extern const struct gt_cli_command gt_command_compile;
extern const struct gt_cli_command gt_command_exec;
extern const struct gt_cli_command gt_command_gpurun;
extern const struct gt_cli_command gt_command_run;
extern const struct gt_cli_command gt_command_probe;
extern const struct gt_cli_command gt_command_blocktime;
extern const struct gt_cli_command gt_command_cudacounter;
extern const struct gt_cli_command gt_command_divergence;
extern const struct gt_cli_command gt_command_hotloop;
extern const struct gt_cli_command gt_command_memtrace;
extern const struct gt_cli_command gt_command_kernelretsnoop;
extern const struct gt_cli_command gt_command_launchlate;
extern const struct gt_cli_command gt_command_stall;
extern const struct gt_cli_command gt_command_threadhist;
extern const struct gt_cli_command gt_command_doctor;
extern const struct gt_cli_command gt_command_list;
extern const struct gt_cli_command gt_command_help;
