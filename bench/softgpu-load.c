/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The CPU time of the software GPU for loading a module of PTX, by its number of lines. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "exec/exec.h"
#include "large_ptx.h"

enum {
	ARENA = 64 << 20,
	KERNELS = 101, /* of about 1,000 lines each */
};

static double cpu_seconds(void)
{
	return (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

static uint64_t arena_used;

static int allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address)
{
	*ret_address = (uint64_t)(uintptr_t)user + arena_used;
	arena_used += (size + alignment - 1) / alignment * alignment;
	return arena_used > ARENA ? -1 : 0;
}

static void release(void *user, uint64_t address, uint64_t size)
{
	(void)user;
	(void)address;
	(void)size;
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		lines++;
	}
	return lines;
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct sg_machine_options options = {
		.arena_size = ARENA,
		.host = {.allocate = allocate, .release = release},
	};
	struct sg_machine *machine = NULL;
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};
	double start, seconds;
	void *arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena == MAP_FAILED)
		return 1;
	options.arena_address = (uint64_t)(uintptr_t)arena;
	options.host.user = arena;
	write_kernels(&text, quick ? KERNELS / 10 : KERNELS);
	if (sg_machine_new(&options, &machine, &diag)) {
		fprintf(stderr, "softgpu-load: %s\n", diag.text);
		return 1;
	}
	start = cpu_seconds();
	if (sg_module_load_text(machine, gt_strbuf_string(&text), text.length, &module, &diag)) {
		fprintf(stderr, "softgpu-load: %s: %s\n", diag.place, diag.text);
		return 1;
	}
	seconds = cpu_seconds() - start;
	printf("softgpu_load %.0f ns/line\n",
	       seconds * 1e9 / (double)count_lines(gt_strbuf_string(&text)));
	sg_module_free(module);
	sg_machine_free(machine);
	munmap(arena, ARENA);
	return 0;
}
