/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library is built with debug information and loaded; it calls back from a place whose lines
 * are known, and the addresses that it would return to are looked up in the library and in
 * variants of it: stripped, with a debug file, malformed.
 */
#include "elf/symbolize.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "elf/elf.h"
#include "elf/proc_maps.h"
#include "fixture.h"

static const char library_source[] =
	"typedef void callback(void);\n"
	"static volatile int sink;\n"
	"#define INLINE static inline __attribute__((always_inline))\n"
	"#line 100 \"/source/inner.h\"\n"
	"INLINE void inner(callback *call)\n"
	"{\n"
	"	if (sink < 9) {\n"
	"		call();\n"
	"		sink += 1;\n"
	"	}\n"
	"}\n"
	"#line 200 \"/source/middle.h\"\n"
	"INLINE void middle(callback *call)\n"
	"{\n"
	"	inner(call);\n"
	"	sink += 2;\n"
	"}\n"
	"#line 300 \"/source/outer.c\"\n"
	"__attribute__((noinline)) static void hidden(callback *call)\n"
	"{\n"
	"	call();\n"
	"	sink += 3;\n"
	"}\n"
	"void outer(callback *call)\n"
	"{\n"
	"	sink = 0;\n"
	"	middle(call);\n"
	"	sink += 4;\n"
	"}\n"
	"void through_hidden(callback *call)\n"
	"{\n"
	"	hidden(call);\n"
	"	sink += 5;\n"
	"}\n"
	"void mangled(callback *call) __asm__(\"_ZN5space5classIiE3runEPFvvE\");\n"
	"void mangled(callback *call)\n"
	"{\n"
	"	call();\n"
	"	sink += 6;\n"
	"}\n"
	"__asm__(\".text\\n.globl by_hand\\n.type by_hand, @function\\nby_hand: "
	"nop\\nnop\\nnop\\n\");\n";

static void *caller;

static void call_back(void)
{
	caller = __builtin_return_address(0);
}

/* The library as built with these options, and where it was loaded. */
static void *load(const char *name, const char *options)
{
	char text[512];
	void *library;

	fixture();
	snprintf(text, sizeof(text), "-g -O2 -shared -fPIC %s -o %s", options, name);
	compile(library_source, text);
	snprintf(text, sizeof(text), "%s/%s", fixture(), name);
	library = dlopen(text, RTLD_NOW);
	if (!library) {
		TAP_FAIL("%s", dlerror());
		exit(99);
	}
	return library;
}

static void *usual_library(void)
{
	static void *library;

	if (!library)
		library = load("libusual.so", "-Wl,--build-id=0x0123456789abcdef");
	return library;
}

/* What the function returns to after its call back. */
static uint64_t return_address(void *library, const char *function)
{
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, function);

	caller = NULL;
	if (call)
		call(call_back);
	else
		TAP_FAIL("no function %s", function);
	return (uintptr_t)caller;
}

/* The process's space, in which `instead` (a path) stands for the library called `name`. */
static struct gt_space *own_space(const char *name, const char *instead)
{
	gt_auto_proc_maps maps = {0};
	struct gt_space *space = gt_space_new();
	char other[512];

	snprintf(other, sizeof(other), "%s%s%s", instead && instead[0] == '/' ? "" : fixture(),
		 instead && instead[0] == '/' ? "" : "/", instead ? instead : "");
	CHECK_INT(gt_proc_maps_read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];
		const char *end = strrchr(mapping->path, '/');
		bool is_it = instead && end && !strcmp(end + 1, name);
		const char *path = is_it ? other : mapping->path;

		if (mapping->executable)
			CHECK_INT(gt_space_map(space, 7,
					       &(struct gt_space_request){
						       .start = mapping->start,
						       .end = mapping->end,
						       .offset = mapping->offset,
						       .inode = is_it ? 0 : mapping->inode,
						       .path = path,
						       .length = strlen(path)}),
				  0);
	}
	return space;
}

static void check_frame(const struct gt_location *location, size_t index, const char *function,
			const char *file, uint32_t line)
{
	const struct gt_source_frame *frame;

	if (index >= location->frame_count) {
		TAP_FAIL("there is no frame %zu for %s", index, function);
		return;
	}
	frame = &location->frames[index];
	CHECK_STR(frame->function, function);
	if (file)
		CHECK_STR(frame->file, file);
	else
		CHECK(frame->file == NULL);
	CHECK_INT(frame->line, line);
	CHECK_INT(frame->inlined, index + 1 < location->frame_count);
}

/* What is inlined into outer, in a file that stands for the usual library. */
static void check_inlined(const char *file, const char *debug_directory)
{
	uint64_t address = return_address(usual_library(), "outer");
	struct gt_symbolizer_options options = {.debug_directory = debug_directory};
	gt_auto(space) struct gt_space *space = own_space("libusual.so", file);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, &options);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_INT(location.frame_count, 3);
	check_frame(&location, 0, "inner", "/source/inner.h", 103);
	check_frame(&location, 1, "middle", "/source/middle.h", 202);
	check_frame(&location, 2, "outer", "/source/outer.c", 308);
}

/* Only functions are known, no lines. */
static void check_symbol(const char *file, const char *debug_directory, const char *through,
			 const char *expected)
{
	uint64_t address = return_address(usual_library(), through);
	struct gt_symbolizer_options options = {.debug_directory = debug_directory};
	gt_auto(space) struct gt_space *space = own_space("libusual.so", file);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, &options);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_INT(location.frame_count, expected ? 1 : 0);
	if (expected)
		check_frame(&location, 0, expected, NULL, 0);
	CHECK(location.address != 0);
}

TEST("a call is symbolized with the functions that were inlined there, and their lines")
{
	check_inlined("libusual.so", "");
}

TEST("a function's offset and the file's are returned")
{
	uint64_t address = return_address(usual_library(), "outer");
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location, again;
	struct link_map *loaded;
	char path[512];

	snprintf(path, sizeof(path), "%s/libusual.so", fixture());
	CHECK_INT(dlinfo(usual_library(), RTLD_DI_LINKMAP, &loaded), 0);
	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_STR(location.path, path);
	CHECK_INT(location.address, address - loaded->l_addr);
	CHECK_INT(location.frames[2].offset, address - (uintptr_t)dlsym(usual_library(), "outer"));
	CHECK_STR(location.frames[2].symbol, "outer");
	gt_symbolize(symbolizer, 7, address, true, &again);
	CHECK(again.frames == location.frames);
}

TEST("an executed address is symbolized itself, a return address by its call")
{
	uint64_t start = (uintptr_t)dlsym(usual_library(), "outer");
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, start, false, &location);
	CHECK_INT(location.frame_count, 1);
	check_frame(&location, 0, "outer", "/source/outer.c", 306);
	CHECK_INT(location.frames[0].offset, 0);
	gt_symbolize(symbolizer, 7, start, true, &location);
	CHECK(!location.frame_count || !location.frames[0].function ||
	      strcmp(location.frames[0].function, "outer") != 0);
}

TEST("a static function is found by name and line")
{
	uint64_t address = return_address(usual_library(), "through_hidden");
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_INT(location.frame_count, 1);
	check_frame(&location, 0, "hidden", "/source/outer.c", 302);
}

TEST("a mangled name is demangled, and kept as it was, too")
{
	uint64_t address = return_address(usual_library(), "_ZN5space5classIiE3runEPFvvE");
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_INT(location.frame_count, 1);
	check_frame(&location, 0, "space::class<int>::run(void (*)())", "/source/outer.c", 319);
	CHECK_STR(location.frames[0].symbol, "_ZN5space5classIiE3runEPFvvE");
}

TEST("assembly without a size is found by the symbol before")
{
	uint64_t address = (uintptr_t)dlsym(usual_library(), "by_hand") + 1;
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, false, &location);
	CHECK_INT(location.frame_count, 1);
	CHECK_STR(location.frames[0].function, "by_hand");
	CHECK_INT(location.frames[0].offset, 1);
}

TEST("every version and packing of DWARF is read")
{
	static const char *const options[] = {"-gdwarf-4", "-gdwarf-5", "-gz=zlib",
					      "-gdwarf-4 -fno-dwarf2-cfi-asm -g1"};

	for (size_t i = 0; i < 3; i++) {
		char name[32];
		void *library;
		struct gt_location location;

		snprintf(name, sizeof(name), "libversion%zu.so", i);
		library = load(name, options[i]);
		gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
		gt_auto(symbolizer) struct gt_symbolizer *symbolizer =
			gt_symbolizer_new(space, NULL);

		gt_symbolize(symbolizer, 7, return_address(library, "outer"), true, &location);
		CHECK_INT(location.frame_count, 3);
		check_frame(&location, 0, "inner", "/source/inner.h", 103);
		check_frame(&location, 2, "outer", "/source/outer.c", 308);
	}
}

static void strip_library(void)
{
	static bool done;

	usual_library();
	if (!done)
		CHECK_INT(run(NULL,
			      "objcopy --only-keep-debug libusual.so libusual.debug && "
			      "strip -o libstripped.so libusual.so && "
			      "strip -g -o libsymbols.so libusual.so && "
			      "mkdir -p debug/.build-id/01 linked/.debug && "
			      "cp libusual.debug debug/.build-id/01/23456789abcdef.debug && "
			      "cp libstripped.so linked/ && cp libusual.debug linked/.debug/"),
			  0);
	done = true;
}

TEST("without debug information functions are found by the symbols")
{
	strip_library();
	check_symbol("libsymbols.so", "", "through_hidden", "hidden");
	check_symbol("libsymbols.so", "", "outer", "outer");
}

TEST("in a stripped library only exported functions are found")
{
	strip_library();
	check_symbol("libstripped.so", "", "outer", "outer");
	check_symbol("libstripped.so", "", "through_hidden", NULL);
}

TEST("a debug file is found by the build id")
{
	char directory[512];

	strip_library();
	snprintf(directory, sizeof(directory), "%s/debug", fixture());
	check_inlined("libstripped.so", directory);
}

TEST("a debug file is found by its link, next to the file, in .debug and in the directory")
{
	char directory[512];

	strip_library();
	CHECK_INT(run(NULL, "objcopy --add-gnu-debuglink=libusual.debug libstripped.so "
			    "liblinked.so && cp liblinked.so linked/libstripped.so"),
		  0);
	check_inlined("liblinked.so", "");
	check_inlined("linked/libstripped.so", "");
	CHECK_INT(run(NULL, "mkdir -p third elsewhere$PWD/third && cp liblinked.so third/ && "
			    "cp libusual.debug elsewhere$PWD/third/"),
		  0);
	snprintf(directory, sizeof(directory), "%s/elsewhere", fixture());
	check_inlined("third/liblinked.so", directory);
}

TEST("a debug file of another build is skipped")
{
	strip_library();
	compile("int x;\n", "-g -shared -o libforeign.so -Wl,--build-id=0xfedcba9876543210");
	CHECK_INT(run(NULL, "mkdir -p wrong wrongs/.build-id/01 && cp liblinked.so wrong/ && "
			    "cp libforeign.so wrong/libusual.debug && "
			    "cp libforeign.so wrongs/.build-id/01/23456789abcdef.debug"),
		  0);
	check_symbol("wrong/liblinked.so", "wrongs", "through_hidden", NULL);
}

TEST("without a build id the checksum decides")
{
	load("libwithout.so", "-Wl,--build-id=none");
	CHECK_INT(run(NULL, "mkdir -p without && objcopy --only-keep-debug libwithout.so "
			    "without/libwithout.debug && cd without && strip -o libwithout.so "
			    "../libwithout.so && objcopy --add-gnu-debuglink=libwithout.debug "
			    "libwithout.so"),
		  0);
	for (int malformed = 0; malformed < 2; malformed++) {
		uint64_t address;
		void *library = dlopen("./libwithout.so", RTLD_NOW);
		gt_auto(space) struct gt_space *space =
			own_space("libwithout.so", "without/libwithout.so");
		gt_auto(symbolizer) struct gt_symbolizer *symbolizer =
			gt_symbolizer_new(space, NULL);
		struct gt_location location;

		address = return_address(library, "through_hidden");
		gt_symbolize(symbolizer, 7, address, true, &location);
		CHECK_INT(location.frame_count, malformed ? 0 : 1);
		CHECK_INT(run(NULL, "echo >>without/libwithout.debug"), 0);
	}
}

TEST("the symbols in .gnu_debugdata are read")
{
	strip_library();
	if (run(NULL, "command -v xz >/dev/null"))
		SKIP("there is no xz");
	CHECK_INT(run(NULL, "strip -g -o mini libusual.debug && xz -k mini && objcopy "
			    "--add-section .gnu_debugdata=mini.xz libstripped.so libmini.so"),
		  0);
	check_symbol("libmini.so", "", "through_hidden", "hidden");
	CHECK_INT(run(NULL, "head -c 200 mini.xz >short.xz && objcopy --add-section "
			    ".gnu_debugdata=short.xz libstripped.so libshort.so"),
		  0);
	check_symbol("libshort.so", "", "through_hidden", NULL);
}

TEST("a file that was removed is reported by path and offset")
{
	uint64_t address = return_address(usual_library(), "outer");
	gt_auto(space) struct gt_space *space = own_space("libusual.so", "/nowhere/lib.so");
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, address, true, &location);
	CHECK_STR(location.path, "/nowhere/lib.so");
	CHECK(location.offset > 0);
	CHECK_INT(location.address, 0);
	CHECK_INT(location.frame_count, 0);
}

TEST("a file of another inode is not read")
{
	uint64_t address = (uintptr_t)dlsym(usual_library(), "outer");
	gt_auto(space) struct gt_space *space = gt_space_new();
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = NULL;
	struct gt_location location;
	struct stat status;
	char path[512];

	snprintf(path, sizeof(path), "%s/libusual.so", fixture());
	CHECK_INT(stat(path, &status), 0);
	for (unsigned int process = 0; process < 2; process++)
		CHECK_INT(gt_space_map(space, process,
				       &(struct gt_space_request){
					       .start = address & ~UINT64_C(4095),
					       .end = (address & ~UINT64_C(4095)) + 4096,
					       .offset = 4096,
					       .inode = status.st_ino + process,
					       .path = path,
					       .length = strlen(path)}),
			  0);
	symbolizer = gt_symbolizer_new(space, NULL);
	gt_symbolize(symbolizer, 0, address, false, &location);
	CHECK(location.frame_count > 0);
	gt_symbolize(symbolizer, 1, address, false, &location);
	CHECK_INT(location.frame_count, 0);
	CHECK_STR(location.path, path);
}

TEST("a special mapping is reported by its name, an unmapped address by nothing")
{
	gt_auto(space) struct gt_space *space = gt_space_new();
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	CHECK_INT(gt_space_map(space, 7,
			       &(struct gt_space_request){.start = 0x1000,
							  .end = 0x2000,
							  .offset = 0,
							  .inode = 0,
							  .path = "[vdso]",
							  .length = 6}),
		  0);
	gt_symbolize(symbolizer, 7, 0x1234, false, &location);
	CHECK_STR(location.path, "[vdso]");
	CHECK_INT(location.offset, 0x234);
	CHECK_INT(location.frame_count, 0);
	gt_symbolize(symbolizer, 7, 0x2000, false, &location);
	CHECK(location.path == NULL);
	/* It returns behind the last instruction of the mapping. */
	gt_symbolize(symbolizer, 7, 0x2000, true, &location);
	CHECK_STR(location.path, "[vdso]");
	gt_symbolize(symbolizer, 8, 0x1234, false, &location);
	CHECK(location.path == NULL);
	gt_symbolize(symbolizer, 7, 0, true, &location);
	CHECK(location.path == NULL);
}

TEST("a pipe in place of a library or its debug file does not block")
{
	strip_library();
	CHECK_INT(run(NULL, "mkfifo pipe.so && mkdir -p piped && cp liblinked.so piped/ && "
			    "mkfifo piped/libusual.debug"),
		  0);
	check_symbol("piped/liblinked.so", "", "outer", "outer");

	gt_auto(space) struct gt_space *space = own_space("libusual.so", "pipe.so");
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, return_address(usual_library(), "outer"), true, &location);
	CHECK_INT(location.frame_count, 0);
}

TEST("more files than may be open are closed and opened again")
{
	struct gt_symbolizer_options options = {.max_open = 1};
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, &options);
	uint64_t first = (uintptr_t)dlsym(usual_library(), "outer");
	uint64_t second = (uintptr_t)dlsym(RTLD_DEFAULT, "mkfifo");
	struct gt_location kept, location;

	gt_symbolize(symbolizer, 7, first, false, &kept);
	for (uint64_t i = 1; i < 4; i++) {
		gt_symbolize(symbolizer, 7, second + i, false, &location);
		CHECK_INT(location.frame_count, 1);
		CHECK_STR(location.frames[0].function, "mkfifo");
		gt_symbolize(symbolizer, 7, first + i, false, &location);
		CHECK(location.frame_count > 0);
		CHECK_STR(location.frames[location.frame_count - 1].function, "outer");
	}
	CHECK_STR(kept.frames[0].function, "outer");
}

TEST("without the option for lines only symbols are used")
{
	struct gt_symbolizer_options options = {.no_lines = true};
	gt_auto(space) struct gt_space *space = own_space(NULL, NULL);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, &options);
	struct gt_location location;

	gt_symbolize(symbolizer, 7, return_address(usual_library(), "outer"), true, &location);
	CHECK_INT(location.frame_count, 1);
	check_frame(&location, 0, "outer", NULL, 0);
}

/* All addresses of the functions in a file that stands for the library; no more than survived. */
static size_t look_at_all(const char *file)
{
	uint64_t start = (uintptr_t)dlsym(usual_library(), "outer");
	gt_auto(space) struct gt_space *space = own_space("libusual.so", file);
	gt_auto(symbolizer) struct gt_symbolizer *symbolizer = gt_symbolizer_new(space, NULL);
	struct gt_location location;
	size_t known = 0;

	for (uint64_t at = start; at < start + 64; at += 3) {
		gt_symbolize(symbolizer, 7, at, false, &location);
		for (size_t i = 0; i < location.frame_count; i++)
			known += location.frames[i].file && strlen(location.frames[i].file) > 0;
	}
	return known;
}

TEST("malformed debug information means less detail")
{
	gt_auto_file file = {0};
	unsigned int seed = 1;
	size_t whole = look_at_all("libusual.so"), less = 0;
	uint8_t *last;

	CHECK(whole > 10);
	CHECK_INT(gt_file_read("libusual.so", 1 << 20, &file, NULL), 0);
	/* Debug information stands behind what is loaded. */
	last = memmem(file.data, file.size, "GCC: (", 6);
	for (int i = 0; i < 300; i++) {
		gt_autofree uint8_t *copy = malloc(file.size);
		size_t from = last ? (size_t)(last - file.data) : file.size / 2;

		memcpy(copy, file.data, file.size);
		for (int change = 0; change < 1 + i % 40; change++) {
			seed = seed * 1103515245 + 12345;
			copy[from + (seed >> 8) % (file.size - from)] ^=
				(uint8_t)(1u << (seed >> 4 & 7));
		}
		write_file("malformed.so", copy, file.size);
		less += look_at_all("malformed.so") < whole;
	}
	CHECK(less > 20);
}

TEST("a truncated file means less detail")
{
	gt_auto_file file = {0};

	usual_library();
	CHECK_INT(gt_file_read("libusual.so", 1 << 20, &file, NULL), 0);
	for (size_t size = 0; size < file.size; size += 1 + file.size / 100) {
		write_file("short.so", file.data, size);
		CHECK_INT(look_at_all("short.so"), 0);
	}
}

TEST_MAIN
