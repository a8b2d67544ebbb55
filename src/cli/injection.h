/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to the commands that insert GPU programs into the kernels of a command. */
#pragma once

#include "base/json.h"
#include "base/string_list.h"
#include "cli/terminal.h"
#include "gpubpf/object/object.h"
#include "run/host_group.h"
#include "run/inject_command.h"

/* The rows of reports on sites. */
enum gt_cli_injection_rows {
	GT_CLI_ROWS_BY_INSTRUCTION,
	GT_CLI_ROWS_BY_LINE,
	GT_CLI_ROWS_DEFAULT, /* of the tool */
};

/* As given on the command line. */
struct gt_cli_injection_options {
	bool json, verbose, allow_control, switchable, start_off, host_maps;
	bool each;             /* print each record of a report */
	bool no_host_programs; /* omit those of the object */
	bool null;             /* load matched modules in the same way, and insert nothing */
	int gpu;
	uint64_t interval, threads, max_insns;
	const char *when, *sample;
	struct gt_strings values;  /* of maps, before the run */
	struct gt_strings kernels; /* globs */
	struct gt_strings targets; /* of host programs: "NAME=FILE:FUNCTION" */
	struct gt_strings names;   /* of the programs to insert; none: all */
	uint64_t top;              /* rows of a report; 0: all */
	uint64_t line;             /* of the loops to count; 0: all */
	uint32_t event_bytes;      /* as in gt_inject_options */
	const char *save_in;       /* as in gt_inject_options */
	const char *output;        /* a file in place of standard output, or NULL */
	const char *own;           /* an object beside those of the user, or NULL; not shown */
	int by;                    /* of rows: enum gt_cli_injection_rows */
};

enum {
	GT_CLI_INJECTION_THREADS = 1 << 20, /* that maps with a value per thread have room for */
};

/* Which kernels programs are inserted into. */
#define GT_CLI_OPTION_KERNEL                                                                       \
	{                                                                                          \
		0, "kernel", "KERNEL",                                                             \
			"insert the programs only into kernels whose name, mangled or demangled, " \
			"matches the glob KERNEL; may be repeated",                                \
			GT_OPTION_WORDS, offsetof(struct gt_cli_injection_options, kernels), NULL  \
	}

/* Where maps are. */
#define GT_CLI_OPTION_HOST_MAPS                                                                    \
	{                                                                                          \
		0, "host-maps", NULL,                                                              \
			"keep the maps in host memory: slower, but no GPU memory is needed",       \
			GT_OPTION_FLAG, offsetof(struct gt_cli_injection_options, host_maps), NULL \
	}

#define GT_CLI_OPTION_SAVE_MODULES                                                                 \
	{                                                                                          \
		0, "save-modules", "DIR",                                                          \
			"write each module that programs are inserted into to DIR: module-N.ptx, " \
			"or of OpenCL module-N.spv",                                               \
			GT_OPTION_STRING, offsetof(struct gt_cli_injection_options, save_in), NULL \
	}

#define GT_CLI_OPTION_OUTPUT                                                                       \
	{                                                                                          \
		'o', "output", "FILE",                                                             \
			"write what is printed to FILE, apart from the output of CMD",             \
			GT_OPTION_STRING, offsetof(struct gt_cli_injection_options, output), NULL  \
	}

/* The options that change programs while they run, at offsets of gt_cli_injection_options. */
#define GT_CLI_INJECTION_CHANGES                                                                   \
	{0,                                                                                        \
	 "switchable",                                                                             \
	 NULL,                                                                                     \
	 "let 'gputap probe' switch the programs on and off",                                      \
	 GT_OPTION_FLAG,                                                                           \
	 offsetof(struct gt_cli_injection_options, switchable),                                    \
	 NULL},                                                                                    \
		{0,                                                                                \
		 "start-off",                                                                      \
		 NULL,                                                                             \
		 "the same, and start with the programs switched off",                             \
		 GT_OPTION_FLAG,                                                                   \
		 offsetof(struct gt_cli_injection_options, start_off),                             \
		 NULL},                                                                            \
		{0,                                                                                \
		 "when",                                                                           \
		 "CONDITION",                                                                      \
		 "run the programs only where CONDITION holds: 'blockIdx.x==0 && lane<4'",         \
		 GT_OPTION_STRING,                                                                 \
		 offsetof(struct gt_cli_injection_options, when),                                  \
		 NULL},                                                                            \
	{                                                                                          \
		0, "sample", "1/N", "let each thread run the programs every Nth time only",        \
			GT_OPTION_STRING, offsetof(struct gt_cli_injection_options, sample), NULL  \
	}

/* The programs of objects, verified, and the collector. */
struct gt_cli_injection {
	const struct gt_cli_injection_options *given;
	struct gt_bpf_parts parts;     /* the objects that were given */
	struct gt_bpf_object *object;  /* made of them */
	const struct gt_bpf_part *own; /* one of the parts, or NULL */
	struct gt_patch_program programs[GT_PATCH_MAX_PROGRAMS];
	struct gt_facts facts[GT_PATCH_MAX_PROGRAMS];
	struct gt_bpf_filter filters[GT_PATCH_MAX_PROGRAMS];
	uint32_t count;
	bool host_programs_are_optional;     /* the command has an option --no-linux */
	bool reads_registers;                /* of kernels: gt_inject_registers */
	bool host_targets_are_optional;      /* a command has some of the functions of uprobes */
	struct gt_host_group *host_programs; /* loaded; NULL: none */
	struct gt_inject *inject;            /* while the command runs, and for `end` */
	struct gt_cli_progress progress;
	uint64_t lines_lost;
	char *cache; /* owned */
};

/* What a command does with what the programs collect; each may be NULL. */
struct gt_cli_injection_view {
	void (*idle)(struct gt_cli_injection *self);            /* records may have arrived */
	void (*tick)(struct gt_cli_injection *self);            /* an interval is over */
	void (*end)(struct gt_cli_injection *self, int status); /* the command has ended */
};

/*
 * Open objects, verify their GPU programs and load their host programs. GT_GO_ON, or the exit
 * status.
 */
int gt_cli_injection_read(struct gt_cli_injection *self, const char *const *paths, size_t count);
/* Open the collector, which the caller closes before `self` is freed. 0 or -Exxx. */
int gt_cli_injection_open(struct gt_cli_injection *self, struct gt_inject **ret_inject,
			  struct gt_diag *diag);
/* Run the command with the programs, then print the coverage. Its exit status. */
int gt_cli_injection_run(struct gt_cli_injection *self, char **words,
			 const struct gt_cli_injection_view *view);
void gt_cli_injection_free(struct gt_cli_injection *self);

/* The map of `own` of that name, in the whole; UINT32_MAX: there is none. */
uint32_t gt_cli_injection_own_map(const struct gt_cli_injection *self, const char *name);

/* injection_show.c */

/* Whether a map of the object is printed, as GPU programs left it. */
bool gt_cli_injection_shows(const struct gt_cli_injection *self, uint32_t map);
/* Whether it is a ring, whose records are printed as they come. */
bool gt_cli_injection_is_ring(const struct gt_cli_injection *self, uint32_t map);
/* Append all maps as text: those of GPU programs, then those of host programs alone. */
void gt_cli_injection_put_maps(const struct gt_cli_injection *self, struct gt_strbuf *text);
/* Add the arrays `maps` and, if there are host programs, `linux`. */
void gt_cli_injection_json_maps(const struct gt_cli_injection *self, struct gt_json *json);
/* Add all that is known at the end: the maps, the coverage and the losses. */
void gt_cli_injection_json_end(const struct gt_cli_injection *self, struct gt_json *json);
/* What became of the command: of its processes, and its status. */
void gt_cli_injection_json_command(const struct gt_cli_injection *self, int status,
				   struct gt_json *json);
/* Take what programs have printed, without control characters other than line breaks and tabs. */
void gt_cli_injection_take_lines(struct gt_cli_injection *self, struct gt_strbuf *lines);
