/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of the maps, as the agent gets it from a collector. */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "amount.h"
#include "scripted_collector.h"

/* What gt_agent_map_memory returns in a process of its own: 0: the maps; 1: none; else an error. */
static int map_in_child(void *(*work)(void *), void *context)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit((int)(intptr_t)work(context));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void *map_maps(void *context)
{
	void *memory;
	size_t size;

	(void)context;
	if (!gt_agent_map_memory(&memory, &size))
		return (void *)1;
	if (memory != (void *)(uintptr_t)MAPS_ADDRESS || size != PAGE)
		return (void *)2;
	return strcmp(memory, "maps") ? (void *)3 : NULL;
}

static void *map_in_threads(void *context)
{
	pthread_t threads[16];
	void *result, *worst = NULL;

	for (size_t i = 0; i < gt_countof(threads); i++)
		pthread_create(&threads[i], NULL, map_maps, context);
	for (size_t i = 0; i < gt_countof(threads); i++) {
		pthread_join(threads[i], &result);
		worst = result ? result : worst;
	}
	return worst;
}

TEST("threads that ask for the maps at the same time get the same memory")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	for (int i = 0; i < 20; i++)
		CHECK_INT(map_in_child(map_in_threads, NULL), 0);
}

TEST("memory for the maps that breaks the protocol is none")
{
	int file = file_with("maps", PAGE);
	static char used[2 * PAGE];
	const uint64_t used_page = ((uint64_t)(uintptr_t)used + PAGE) & ~(uint64_t)(PAGE - 1);
	const struct scripted_reply replies[] = {
		{"the address 0", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, 0}, .file_count = 1},
		{"no page",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS + 1},
		 .file_count = 1},
		{"the kernel's",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, (uint64_t)-PAGE},
		 .file_count = 1},
		{"in use", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, used_page}, .file_count = 1},
		{"too short",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, 2 * PAGE, MAPS_ADDRESS},
		 .file_count = 1},
		{"empty", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, 0, MAPS_ADDRESS}, .file_count = 1},
		{"no file", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS}},
		{"an image", {GT_AGENT_MAGIC, GT_AGENT_WHOLE, PAGE, MAPS_ADDRESS}, .file_count = 1},
	};

	memset(used, 'x', sizeof(used));
	for (size_t i = 0; i < gt_countof(replies); i++) {
		struct scripted_reply scripted = replies[i];
		auto_collector collector = {0};
		int status;

		scripted.bytes = sizeof(scripted.reply);
		scripted.files[0] = file;
		collector_start(&collector, NULL, &scripted);
		status = map_in_child(map_maps, NULL);
		if (status != 1)
			TAP_FAIL("%s: %d", scripted.what, status);
	}
	CHECK(used[0] == 'x' && used[sizeof(used) - 1] == 'x');
	close(file);
}

/* The reply with the memory of the maps and one with an array; what a process has then. */
static int map_with_array(struct gt_agent_reply memory, struct gt_agent_reply array, int array_file)
{
	int memory_file = file_with("none", memory.size);
	struct scripted_reply second = {.reply = array,
					.bytes = array.magic ? sizeof(array) : 0,
					.files = {array_file},
					.file_count = array.magic && array_file >= 0};
	struct scripted_reply first = {.reply = memory,
				       .bytes = sizeof(memory),
				       .files = {memory_file},
				       .file_count = 1,
				       .next = &second};
	auto_collector collector = {0};
	int status;

	collector_start(&collector, NULL, &first);
	status = map_in_child(map_maps, NULL);
	close(memory_file);
	return status;
}

/* An array of the kernel of one page, which begins with "maps"; or -1. */
static int new_array(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY,
				     .key_size = 4,
				     .value_size = PAGE,
				     .max_entries = 1,
				     .map_flags = BPF_F_MMAPABLE};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
	char *memory =
		fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -1;
	memcpy(memory, "maps", sizeof("maps"));
	munmap(memory, PAGE);
	return fd;
}

#define MEMORY_WITH(count)                                                                         \
	{                                                                                          \
		GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS, count                         \
	}
#define ARRAY_AT(address, size)                                                                    \
	{                                                                                          \
		GT_AGENT_MAGIC, GT_AGENT_ARRAY, size, address                                      \
	}

TEST("files that are no arrays of the kernel are not mapped as such")
{
	int file = file_with("maps", PAGE), empty = file_with("", 0);
	const struct gt_agent_reply memory = MEMORY_WITH(1), none = {0};
	const struct gt_agent_reply array = ARRAY_AT(MAPS_ADDRESS, PAGE);

	CHECK_INT(map_with_array(memory, array, file), 1);
	CHECK_INT(map_with_array(memory, array, empty), 1);
	CHECK_INT(map_with_array(memory, array, -1), 1);
	/* The collector ends before it. */
	CHECK_INT(map_with_array(memory, none, -1), 1);
	close(file);
	close(empty);
}

TEST("an array of the kernel replaces pages of the memory of the maps, and no others")
{
	const struct gt_agent_reply memory = MEMORY_WITH(1), many = MEMORY_WITH(65);
	int array = new_array();

	if (array < 0)
		SKIP("the kernel lets this user create no BPF arrays");
	CHECK_INT(
		map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, PAGE), array),
		0);
	CHECK_INT(map_with_array(many, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, PAGE), array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS + PAGE, PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS - PAGE, PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 2 * PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 0), array),
		  1);
	CHECK_INT(map_with_array(memory, memory, array), 1);
	/* Larger than the array, where the memory is large enough. */
	CHECK_INT(map_with_array((struct gt_agent_reply){GT_AGENT_MAGIC, GT_AGENT_MEMORY, 2 * PAGE,
							 MAPS_ADDRESS, 1},
				 (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 2 * PAGE), array),
		  1);
	close(array);
}

/* A child that is forked while another thread waits for the collector. */
static void *fork_while_waiting(void *context)
{
	struct scripted_collector *collector = context;
	pthread_t thread;

	pthread_create(&thread, NULL, map_maps, NULL);
	while (!collector->requests)
		usleep(1000);
	return (void *)(intptr_t)map_in_child(map_maps, NULL);
}

TEST("a child that is forked while another thread asks for the maps gets them itself")
{
	/* In shared memory: the child of the test waits for what the collector counts. */
	struct scripted_collector *collector =
		mmap(NULL, sizeof(*collector), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	struct scripted_reply slow = {0};

	if (IS_SANITIZED)
		SKIP("a child may inherit a lock of the sanitizer's allocator that nobody unlocks");
	collector_start(collector, NULL, &slow);
	slow = good_maps;
	slow.delay_ms = 200;
	CHECK_INT(map_in_child(fork_while_waiting, collector), 0);
	collector_stop(collector);
	munmap(collector, sizeof(*collector));
}

TEST_MAIN
