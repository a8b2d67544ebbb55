/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What names keep, and what their parts (names*.c) share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/kernels/search.h"
#include "api/layout.h"
#include "base/hash.h"
#include "base/vec.h"
#include "elf/symbolize.h"
#include "names/container.h"
#include "names/devices.h"
#include "names/machine.h"
#include "names/names.h"
#include "names/perf_map.h"
#include "names/python.h"

struct known_name {
	__u32 parent; /* of processes */
	char text[];
};

/* A traced function. */
struct function_name {
	bool known; /* it is in the tables, and has a layout */
	struct gt_api_layout layout;
	char text[];
};

/* A string that a call was given. */
struct known_string {
	__u32 function;
	__u16 sequence;
	bool truncated;
	char text[];
};

struct known_rank {
	__u32 rank, ranks;
};

struct known_cgroup {
	char container[GT_CONTAINER_ID];
	char path[];
};

/* What the kernel of a thread's latest launch was given. */
struct launch_values {
	__u32 function;
	__u16 sequence;
	__u16 readable;
	size_t count;
	__u64 values[];
};

/* Of a kernel, from calls that read them from the driver. */
struct known_registers {
	__u32 count;
	bool differ; /* on several devices */
};

/* What the next launches of a kernel use. */
struct known_settings {
	struct gt_launch_arguments arguments;
	bool has_group;
	uint32_t group[3];
};

struct known_stack {
	bool truncated;
	size_t count;
	__u64 addresses[];
};

struct gt_known_gaps {
	GT_VEC(struct gt_known_gap) kept; /* with their texts */
	__u64 omitted;
};

/* 0 or -ENOMEM. */
int gt_known_gaps_take(struct gt_known_gaps *gaps, const struct gt_event *event);
void gt_known_gaps_free(struct gt_known_gaps *gaps);

typedef GT_VEC(struct gt_known_totals) gt_known_totals_list;

/* 0 or -ENOMEM. */
int gt_known_totals_take(gt_known_totals_list *totals, const struct gt_event *event);
void gt_known_totals_free(gt_known_totals_list *totals);

typedef GT_VEC(struct gt_event_machine *) gt_machine_list;

/* Keep a copy of a `machine` event, of each number the last one. 0 or -ENOMEM. */
int gt_machines_take(gt_machine_list *machines, const struct gt_event *event);
void gt_machines_free(gt_machine_list *machines);

#define CALLS_WITH_STRINGS 16 /* of a thread, whose strings are kept */

/* Keys of what is known by process and number. */
struct names_key {
	__u64 process;
	__u64 number;
};

struct gt_names {
	struct gt_hash *processes, *libraries; /* number -> struct known_name */
	struct gt_hash *functions;             /* number -> struct function_name */
	struct gt_hash *commands;              /* process -> struct known_name */
	struct gt_hash *cgroups;               /* process -> struct known_cgroup */
	struct gt_hash *ranks;                 /* process -> struct known_rank */
	GT_VEC(void *) retired;                /* earlier names of functions and kernels */
	struct gt_devices *devices;
	struct gt_hash *kernels;  /* struct names_key -> struct known_name */
	struct gt_hash *settings; /* struct names_key of a kernel -> struct known_settings */
	struct gt_hash *pixels;   /* struct names_key of an image -> bytes of a pixel */
	struct gt_hash *mapped; /* struct names_key of an address -> bytes that are mapped there */
	struct gt_hash *registers; /* mangled name of a kernel -> struct known_registers */
	struct gt_hash *stacks;    /* struct names_key -> struct known_stack */
	struct gt_hash *merged;    /* the same, with Python frames; made when they are asked for */
	struct gt_python_names *python;
	struct gt_perf_maps *perf_maps;
	struct gt_hash *kept;      /* struct names_key, of an address -> struct gt_kept_location */
	struct gt_hash *given;     /* of the latest calls: gt_given_key -> struct known_string */
	struct gt_hash *arguments; /* thread -> struct launch_values */
	struct gt_kernel_search *search; /* kernels in mapped files, by name */
	struct gt_hash *homes;           /* mangled name of a kernel -> struct gt_space_file */
	struct gt_space *space;
	struct gt_symbolizer *symbols; /* of host functions that stand for kernels */
	struct gt_symbolizer *lines;   /* of callers */
	uint64_t code_changes;
	struct gt_api_strings strings; /* finds those in `given` */
	__u64 start;
	__s64 wall; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	bool has_wall, has_start, has_account, has_overhead;
	struct gt_event_account account;
	__u32 via; /* of `via` events */
	struct gt_event_overhead overhead;
	struct gt_known_gaps gaps;
	gt_known_totals_list totals;
	gt_machine_list machines;
};

/* Learn what a call sets for the next launches of a kernel. 0 or -ENOMEM. */
int gt_names_learn_setting(struct gt_names *names, const struct gt_call *call);
/* Learn the sizes that a call defines for later ones (api/sizes.def). 0 or -ENOMEM. */
int gt_names_learn_size(struct gt_names *names, const struct gt_call *call);
/* The bytes of a call of which earlier ones define them; 0: unknown. */
uint64_t gt_names_sized_bytes(const struct gt_names *names, const struct gt_call *call);
/* A kernel is new: it has the settings of another, or none. 0 or -ENOMEM. */
int gt_names_renew_settings(struct gt_names *names, uint32_t process, uint64_t kernel,
			    uint64_t same_as);
/* Those of the kernel that a call launches; NULL: none, or no launch. */
const struct known_settings *gt_names_settings(const struct gt_names *names,
					       const struct gt_call *call);

/* The code of a kernel is where its host function is, if the handle is one. */
void gt_names_learn_home(const struct gt_names *names, uint32_t process, uint64_t handle,
			 const char *kernel);

/* A name of this text, which the caller frees; NULL: no memory. */
struct known_name *gt_name_new(const char *text, size_t length);

/*
 * Puts something allocated into a map in place of what is there; takes it over also on failure.
 * 0 or -ENOMEM, which a NULL value gives, too.
 */
int gt_names_replace(struct gt_hash *map, const void *key, size_t length, void *value);

/*
 * Where the string of a slot is kept. Calls stand inside of each other: the strings of some later
 * ones do not take an outer one's place.
 */
static inline struct names_key gt_given_key(__u32 thread, __u16 sequence, __u8 slot)
{
	return (struct names_key){thread, (__u64)(sequence % CALLS_WITH_STRINGS) << 8 | slot};
}
/* The name of a kernel that a call passed as a string; NULL: none, or unknown. */
const char *gt_names_given(const struct gt_names *names, const struct gt_call *call);
/* The string of a slot of a call, as struct gt_api_strings. */
const char *gt_names_string(const void *names, const struct gt_event_call *event, uint8_t slot,
			    bool *ret_truncated);
