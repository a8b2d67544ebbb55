/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * images where FILE: loads an image from a copy that ends where readable memory ends, and that is
 * unmapped after the load; then from odd addresses, overwritten after the load.
 * images again FILE COUNT: loads the image, runs it and unloads it COUNT times, and reports if the
 * process or its parent has more descriptors, mappings or memory than after a tenth of these.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"

enum { PAGE = 4096, MAX_GROWTH = 256 /* pages */ };

static CUmodule load_module(const void *image)
{
	CUmodule module;

	CHECK(cuModuleLoadData(&module, image));
	return module;
}

static void run_module(CUmodule module)
{
	CUfunction function;

	CHECK(cuModuleGetFunction(&function, module, "add"));
	run_add(function);
	CHECK(cuModuleUnload(module));
}

/* Texts end with a NUL: the size includes it. */
static void load_before_guard(const void *image, size_t size)
{
	size_t whole = (size + PAGE - 1) / PAGE * PAGE;
	char *memory = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	CUmodule module;

	CHECK(memory == MAP_FAILED);
	CHECK(munmap(memory + whole, PAGE));
	memcpy(memory + whole - size, image, size);
	CHECK(mprotect(memory, whole, PROT_READ));
	module = load_module(memory + whole - size);
	CHECK(munmap(memory, whole));
	run_module(module);
}

static void load_at_odd_address(const void *image, size_t size, size_t offset)
{
	char *memory = malloc(size + offset);
	CUmodule module;

	CHECK(!memory);
	memcpy(memory + offset, image, size);
	module = load_module(memory + offset);
	memset(memory, 0xee, size + offset);
	run_module(module);
	free(memory);
}

struct usage {
	long pages, descriptors, mappings;
};

static struct usage measure(int process)
{
	struct usage usage = {0};
	char path[64];
	FILE *file;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/statm", process);
	file = fopen(path, "r");
	CHECK(!file || fscanf(file, "%*d %ld", &usage.pages) != 1);
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/fd", process);
	directory = opendir(path);
	CHECK(!directory);
	while (readdir(directory))
		usage.descriptors++;
	closedir(directory);
	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	file = fopen(path, "r");
	CHECK(!file);
	for (int c; (c = getc(file)) != EOF;)
		usage.mappings += c == '\n';
	fclose(file);
	return usage;
}

/* A few descriptors come and go in the parent, which serves the process meanwhile. */
static void report_growth(const char *who, struct usage before, struct usage after)
{
	if (after.pages > before.pages + MAX_GROWTH || after.descriptors > before.descriptors + 4 ||
	    after.mappings > before.mappings + 8)
		printf("%s grew: pages %ld to %ld, descriptors %ld to %ld, mappings %ld to %ld\n",
		       who, before.pages, after.pages, before.descriptors, after.descriptors,
		       before.mappings, after.mappings);
}

static void load_again(const void *image, int count)
{
	struct usage self = {0}, parent = {0};

	for (int i = 0; i < count; i++) {
		if (i == count / 10) {
			self = measure(getpid());
			parent = measure(getppid());
		}
		run_module(load_module(image));
	}
	report_growth("the process", self, measure(getpid()));
	report_growth("its parent", parent, measure(getppid()));
}

int main(int count, char **words)
{
	size_t size;
	char *image;

	if (count < 3)
		return 2;
	image = read_whole(words[2], &size);
	start_cuda();
	if (!strcmp(words[1], "again")) {
		load_again(image, atoi(words[3]));
		return 0;
	}
	load_before_guard(image, size + 1);
	for (size_t offset = 1; offset < 8; offset += 2)
		load_at_odd_address(image, size + 1, offset);
	return 0;
}
