// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * load OBJECT…: load each BPF program of each object alone, so that the running kernel verifies
 * it, and print the results as TAP. A program is skipped if this kernel lacks what it is attached
 * to, or programs of its type. One for which the kernel examines too many instructions fails, too:
 * users wait for that.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe/api/count_program.h"
#include "probe/api/multi_link.h"

#define LOG_SIZE (1 << 20)
#define LOG_SHOWN 1500
#define RING_SIZE 65536
#define MAX_EXAMINED 200000 /* the kernel permits 1,000,000 */
#define ENOTSUPP 524        /* of the kernel: linux/errno.h has it for itself only */

static int result_number;

/* Maps whose size gputap sets. */
static void set_map_sizes(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			bpf_map__set_max_entries(map, RING_SIZE);
		else if (!bpf_map__max_entries(map) &&
			 bpf_map__type(map) != BPF_MAP_TYPE_TASK_STORAGE)
			bpf_map__set_max_entries(map, 1);
}

/* Why a program that did not load is no failure here; NULL: the verifier rejects it. */
static const char *reason_to_skip(struct bpf_program *program, int error, const char *log)
{
	enum bpf_prog_type type = bpf_program__type(program);

	if (error == -EOPNOTSUPP)
		return "the kernel lacks what it calls";
	if (error == -ESRCH || error == -ENOENT)
		return "the kernel lacks the point where it is attached";
	if (type == BPF_PROG_TYPE_TRACING && (error == -EPERM || error == -ENOTSUPP) && !*log)
		return "the kernel does not allow programs of this type";
	if (strstr(log, "invalid CO-RE relocation"))
		return "the kernel lacks types that it reads: their module is not loaded";
	return libbpf_probe_bpf_prog_type(type, NULL) == 0 ? "the kernel has no such programs"
							   : NULL;
}

/* How many instructions the verifier examined, those of loops and branches several times. */
static unsigned examined_instructions(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	unsigned size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ? 0
									      : info.verified_insns;
}

static void print_result(const char *object, struct bpf_program *program, int error,
			 const char *log)
{
	const char *reason = error ? reason_to_skip(program, error, log) : NULL;
	unsigned examined = error ? 0 : examined_instructions(program);
	bool fails = (error && !reason) || examined > MAX_EXAMINED;
	size_t length = strlen(log);

	printf("%sok %d - %s: %s (%s)", fails ? "not " : "", ++result_number, object,
	       bpf_program__name(program), bpf_program__section_name(program));
	if (reason)
		printf(" # SKIP %s", reason);
	putchar('\n');
	if (examined > MAX_EXAMINED)
		printf("# the verifier examines %u instructions, more than %d\n", examined,
		       MAX_EXAMINED);
	if (!error || reason)
		return;
	log += length > LOG_SHOWN ? length - LOG_SHOWN : 0;
	printf("# %s\n", strerror(-error));
	for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n')
		printf("# %.*s\n", (int)strcspn(line, "\n"), line);
}

static struct bpf_object *open_object(const char *path)
{
	struct bpf_object *object = bpf_object__open(path);

	if (!object) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(1);
	}
	set_map_sizes(object);
	return object;
}

/* As calls.c prepares it. -Exxx: the kernel lacks a function that it calls. */
static int prepare_program(struct bpf_program *program)
{
	int error;

	if (strcmp(bpf_program__name(program), "count_session") != 0)
		return 0;
	error = gt_count_program_prepare(program);
	if (!error)
		gt_multi_link_prepare(program, GT_MULTI_SESSION);
	return error;
}

/* Load only the program with this index; false: there is none. */
static bool load_program(const char *path, int index, char *log)
{
	struct bpf_object *object = open_object(path);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct bpf_program *program, *chosen = NULL;
	int i = 0, error;

	bpf_object__for_each_program (program, object) {
		bpf_program__set_autoload(program, i == index);
		if (i++ == index)
			chosen = program;
	}
	if (chosen) {
		*log = '\0';
		error = prepare_program(chosen);
		bpf_program__set_log_buf(chosen, log, LOG_SIZE);
		print_result(name, chosen, error ? error : bpf_object__load(object), log);
	}
	bpf_object__close(object);
	return chosen != NULL;
}

/* Load all programs of an object at once, which is faster; false: it does not load. */
static bool load_object(const char *path)
{
	struct bpf_object *object = open_object(path);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct bpf_program *program;
	bool loads;

	bpf_object__for_each_program (program, object) {
		bpf_program__set_autoload(program, true);
	}
	loads = !bpf_object__load(object);
	if (loads) {
		bpf_object__for_each_program (program, object) {
			print_result(name, program, 0, "");
		}
	}
	bpf_object__close(object);
	return loads;
}

int main(int argc, char **argv)
{
	char *log = calloc(1, LOG_SIZE);

	if (!log)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	libbpf_set_print(NULL);
	for (int i = 1; i < argc; i++)
		for (int k = 0; (k || !load_object(argv[i])) && load_program(argv[i], k, log); k++)
			;
	printf("1..%d\n", result_number);
	free(log);
	return 0;
}
