/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/elf.h"

#include <errno.h>
#include <fcntl.h>

#include "elf/proc_maps.h"
#include "fixture.h"

static const char library_source[] =
	"int variable_in_bss[100]; int variable_in_data = 7;\n"
	"static __attribute__((noinline, used)) int hidden_one(int x) { return x * 3; }\n"
	"int exported(int x) { return hidden_one(x) + variable_in_data; }\n"
	"int alias(int x) __attribute__((alias(\"exported\")));\n"
	"static int one(void) { return 1; }\n"
	"static int (*choose(void))(void) { return one; }\n"
	"int indirect(void) __attribute__((ifunc(\"choose\")));\n"
	"int cudaMalloc(void **p, unsigned long n) { *p = 0; return (int)n; }\n"
	"extern int puts(const char *);\n"
	"int caller(void) { return puts(\"\"); }\n";

static void build_library(void)
{
	static bool built;

	if (built)
		return;
	built = true;
	fixture();
	write_text("versions", "libfake.so.13 { global: exported; alias; indirect; cudaMalloc; "
			       "caller; variable_in_bss; local: *; };\n");
	compile(library_source, "-shared -fPIC -o libfake.so -Wl,--version-script=versions "
				"-Wl,-soname,libfake.so.13 -Wl,--build-id=0x0123456789abcdef");
	run(NULL, "strip -o libstripped.so libfake.so");
}

static struct gt_elf *open_elf(const char *path)
{
	struct gt_diag diag = {0};
	struct gt_elf *elf = NULL;

	if (gt_elf_open(path, &elf, &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		exit(99);
	}
	return elf;
}

static void check_rejected(const char *path, int error, const char *text)
{
	struct gt_diag diag = {0};
	struct gt_elf *elf = NULL;

	CHECK_INT(gt_elf_open(path, &elf, &diag), error);
	CHECK(elf == NULL);
	CHECK_STR(diag.stage, "elf");
	CHECK_STR(diag.place, path);
	CHECK_STR(diag.text, text);
	gt_elf_free(elf);
}

/* The library with some bytes changed, as "changed.so". */
static void change_bytes(size_t offset, const void *bytes, size_t size)
{
	gt_auto_file file = {0};

	build_library();
	CHECK_INT(gt_file_read("libfake.so", 1 << 20, &file, NULL), 0);
	memcpy(file.data + offset, bytes, size);
	write_file("changed.so", file.data, file.size);
}

TEST("a file that is not an ELF is rejected with its first bytes")
{
	fixture();
	write_text("script", "#!/bin/sh\necho\n");
	write_text("empty", "");
	write_file("gzip", "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
	mkdir("directory", 0755);
	mkfifo("pipe", 0644);
	check_rejected("script", -ENOEXEC, "not an ELF file (it starts with \"#!/bin/s\")");
	check_rejected("empty", -ENOEXEC, "not an ELF file (it is empty)");
	check_rejected("gzip", -ENOEXEC,
		       "not an ELF file (it starts with the bytes 1f 8b 08 00 00 00 00 00)");
	check_rejected("directory", -EISDIR, "not an ELF file (it is a directory)");
	check_rejected("pipe", -ENOEXEC, "not an ELF file (it is no regular file)");
	check_rejected("missing", -ENOENT,
		       "cannot be opened: No such file or directory: check the path");
}

TEST("an ELF for another machine is rejected with the machine's name")
{
	change_bytes(4, "\x01", 1);
	check_rejected("changed.so", -ENOEXEC, "32-bit ELF, only 64-bit is supported");
	change_bytes(4, "\x07", 1);
	check_rejected("changed.so", -ENOEXEC,
		       "malformed ELF: its class is 7, neither 32-bit nor 64-bit");
	change_bytes(5, "\x02", 1);
	check_rejected("changed.so", -ENOEXEC, "big-endian ELF, only little-endian is supported");
	change_bytes(5, "\0", 1);
	check_rejected("changed.so", -ENOEXEC,
		       "malformed ELF: its byte order is 0, neither little- nor big-endian");
	change_bytes(16, "\x01", 1);
	check_rejected("changed.so", -ENOEXEC,
		       "an object file (.o), not a program or a shared library");
	change_bytes(16, "\x04", 1);
	check_rejected("changed.so", -ENOEXEC, "a core dump, not a program or a shared library");
	change_bytes(16, "\x09", 1);
	check_rejected("changed.so", -ENOEXEC,
		       "an ELF of type 9, not a program or a shared library");
#ifdef __x86_64__
	change_bytes(18, "\xb7\0", 2);
	check_rejected("changed.so", -ENOEXEC, "an ELF for aarch64, gputap here runs on x86-64");
	change_bytes(18, "\xbe\0", 2);
	check_rejected("changed.so", -ENOEXEC,
		       "an ELF for NVIDIA GPUs, gputap here runs on x86-64");
	change_bytes(18, "\x34\x12", 2);
	check_rejected("changed.so", -ENOEXEC,
		       "an ELF for machine 4660, gputap here runs on x86-64");
#endif
}

TEST("a truncated ELF is rejected with the missing part")
{
	gt_auto_file file = {0};
	struct gt_diag diag = {0};
	struct gt_elf *elf = NULL;
	char expected[512];

	build_library();
	CHECK_INT(gt_file_read("libfake.so", 1 << 20, &file, NULL), 0);
	write_file("cut.so", file.data, 20);
	check_rejected("cut.so", -EBADMSG,
		       "truncated ELF: its header takes 64 bytes, the file has 20");
	write_file("cut.so", file.data, 100);
	CHECK_INT(gt_elf_open("cut.so", &elf, &diag), -EBADMSG);
	CHECK(!strncmp(diag.text, "truncated ELF: its program headers end at byte ", 47));
	write_file("cut.so", file.data, file.size - 1);
	snprintf(expected, sizeof(expected),
		 "truncated ELF: its section headers end at byte %zu, the file has %zu", file.size,
		 file.size - 1);
	check_rejected("cut.so", -EBADMSG, expected);
}

TEST("an ELF truncated anywhere, or with any byte of its headers changed, does no harm")
{
	gt_auto_file file = {0};

	build_library();
	CHECK_INT(gt_file_read("libfake.so", 1 << 20, &file, NULL), 0);
	for (size_t size = 0; size < file.size; size += 64) {
		gt_autofree uint8_t *copy = malloc(size + 1);
		struct gt_elf *elf = NULL;

		memcpy(copy, file.data, size);
		CHECK(gt_elf_open_memory(copy, size, &elf, NULL) < 0);
		CHECK(elf == NULL);
	}
	for (size_t at = 0; at < file.size; at += at < 1024 ? 1 : 16) {
		uint8_t kept = file.data[at];
		const struct gt_elf_symbol *symbols;
		struct gt_elf *elf = NULL;
		size_t count;

		file.data[at] = 0xff;
		if (!gt_elf_open_memory(file.data, file.size, &elf, NULL) &&
		    !gt_elf_symbols(elf, &symbols, &count, NULL))
			CHECK(count < 1000);
		gt_elf_free(elf);
		file.data[at] = kept;
	}
}

TEST("headers of a wrong size or number are rejected")
{
	uint64_t none = 0, huge = 1ULL << 40;
	gt_auto_file file = {0};
	struct gt_diag diag = {0};
	struct gt_elf *elf = NULL;
	uint64_t sections;

	change_bytes(54, "\x10", 1);
	check_rejected("changed.so", -EBADMSG,
		       "malformed ELF: its program headers are 16 bytes each, not 56");
	change_bytes(58, "\x10", 1);
	check_rejected("changed.so", -EBADMSG,
		       "malformed ELF: its section headers are 16 bytes each, not 64");
	CHECK_INT(gt_file_read("libfake.so", 1 << 20, &file, NULL), 0);
	memcpy(&sections, file.data + 40, sizeof(sections));
	memcpy(file.data + 60, &none, 2);
	memcpy(file.data + sections + 32, &huge, sizeof(huge));
	CHECK_INT(gt_elf_open_memory(file.data, file.size, &elf, &diag), -EFBIG);
	CHECK_STR(diag.text, "malformed ELF: 1099511627776 sections are more than any program has");
}

TEST("a file that shrinks after it was opened is an error and not a signal")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *symbols;
	struct gt_diag diag = {0};
	size_t count;

	change_bytes(0, "\x7f", 1);
	elf = open_elf("changed.so");
	CHECK_INT(truncate("changed.so", 100), 0);
	CHECK_INT(gt_elf_symbols(elf, &symbols, &count, &diag), -EBADMSG);
	CHECK_STR(diag.text, "truncated ELF: it became shorter while it was read");
	CHECK_INT(gt_elf_lookup(elf, "exported", (const struct gt_elf_symbol *const **)&symbols),
		  0);
}

TEST("a library is described by its headers and dynamic section")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	gt_auto_strbuf build_id = GT_STRBUF_INIT;
	const struct gt_elf_info *info;
	struct stat status;

	build_library();
	elf = open_elf("libfake.so");
	info = gt_elf_info(elf);
	stat("libfake.so", &status);
	gt_elf_build_id(elf, &build_id);
	CHECK_STR(info->path, "libfake.so");
	CHECK_INT(info->inode, status.st_ino);
	CHECK_INT(info->device, status.st_dev);
	CHECK_INT(info->size, status.st_size);
	CHECK_STR(info->soname, "libfake.so.13");
	CHECK_STR(gt_strbuf_string(&build_id), "0123456789abcdef");
	CHECK_INT(info->needed_count, 1);
	CHECK_STR(info->needed[0], "libc.so.6");
	CHECK(info->interpreter == NULL && info->rpath == NULL && info->runpath == NULL);
	CHECK(info->position_independent && !info->program && !info->is_static && !info->stripped);
}

/* One row: how a program is linked, and what is to be seen of it. */
static const struct {
	const char *options;
	bool position_independent, is_static, stripped;
	const char *rpath, *runpath;
} programs[] = {
	{"-no-pie -o program", false, false, false, NULL, NULL},
	{"-pie -fPIE -s -o program", true, false, true, NULL, NULL},
	{"-static -o program", false, true, false, NULL, NULL},
	{"-static -s -o program", false, true, true, NULL, NULL},
	{"-static-pie -fPIE -o program", true, true, false, NULL, NULL},
	{"-o program -pie -fPIE -Wl,--enable-new-dtags,-rpath,/a:/b", true, false, false, NULL,
	 "/a:/b"},
	{"-o program -pie -fPIE -Wl,--disable-new-dtags,-rpath,/c", true, false, false, "/c", NULL},
};

TEST("a program's kind, its search paths, and whether it is static or stripped are seen")
{
	for (size_t i = 0; i < gt_countof(programs); i++) {
		gt_auto(elf) struct gt_elf *elf = NULL;
		const struct gt_elf_info *info;

		compile("int main(void) { return 0; }", programs[i].options);
		elf = open_elf("program");
		info = gt_elf_info(elf);
		CHECK(info->program);
		CHECK_INT(info->position_independent, programs[i].position_independent);
		CHECK_INT(info->is_static, programs[i].is_static);
		CHECK_INT(info->stripped, programs[i].stripped);
		CHECK_INT(!info->interpreter, programs[i].is_static);
		CHECK_STR(info->rpath ? info->rpath : "",
			  programs[i].rpath ? programs[i].rpath : "");
		CHECK_STR(info->runpath ? info->runpath : "",
			  programs[i].runpath ? programs[i].runpath : "");
		CHECK(info->entry != 0);
	}
}

TEST("a library that can be executed, such as libc, is not a program")
{
	gt_autofree char *path = NULL;
	gt_auto(elf) struct gt_elf *elf = NULL;

	run(&path, "ldd /bin/sh | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p' | tr -d '\\n'");
	if (!path[0])
		SKIP("ldd does not name a libc here");
	elf = open_elf(path);
	CHECK(gt_elf_info(elf)->interpreter != NULL);
	CHECK(!gt_elf_info(elf)->program);
}

static const struct gt_elf_symbol *find(struct gt_elf *elf, const char *name)
{
	const struct gt_elf_symbol *const *found;

	return gt_elf_lookup(elf, name, &found) ? found[0] : NULL;
}

TEST("functions are found by name, without versions, with their kind and visibility")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *symbol;

	build_library();
	elf = open_elf("libfake.so");
	symbol = find(elf, "cudaMalloc");
	CHECK(symbol && symbol->kind == GT_ELF_FUNCTION && symbol->dynamic && !symbol->local);
	symbol = find(elf, "hidden_one");
	CHECK(symbol && symbol->kind == GT_ELF_FUNCTION && !symbol->dynamic && symbol->local);
	symbol = find(elf, "indirect");
	CHECK(symbol && symbol->kind == GT_ELF_INDIRECT && symbol->dynamic);
	symbol = find(elf, "variable_in_bss");
	CHECK(symbol && symbol->kind == GT_ELF_OBJECT && symbol->size == 400 &&
	      symbol->offset == GT_ELF_NO_OFFSET);
	symbol = find(elf, "variable_in_data");
	CHECK(symbol && symbol->kind == GT_ELF_OBJECT && symbol->offset != GT_ELF_NO_OFFSET);
	CHECK(find(elf, "puts") == NULL);
	CHECK(find(elf, "cudaMalloc@@libfake.so.13") == NULL);
	CHECK(find(elf, "") == NULL);
}

TEST("a stripped library keeps its exported functions and loses the others")
{
	gt_auto(elf) struct gt_elf *elf = NULL;

	build_library();
	elf = open_elf("libstripped.so");
	CHECK(gt_elf_info(elf)->stripped);
	CHECK(find(elf, "cudaMalloc") != NULL);
	CHECK(find(elf, "hidden_one") == NULL);
}

TEST("a library without section headers still shows its exported functions")
{
	gt_auto(elf) struct gt_elf *elf = NULL, *whole = NULL;
	gt_auto_file file = {0};

	build_library();
	CHECK_INT(gt_file_read("libstripped.so", 1 << 20, &file, NULL), 0);
	memset(file.data + 40, 0, 8); /* e_shoff */
	memset(file.data + 58, 0, 6); /* e_shentsize, e_shnum, e_shstrndx */
	write_file("sectionless.so", file.data, file.size);
	elf = open_elf("sectionless.so");
	whole = open_elf("libstripped.so");
	CHECK(find(elf, "cudaMalloc") && find(elf, "caller") && find(elf, "alias"));
	if (find(elf, "cudaMalloc"))
		CHECK_INT(find(elf, "cudaMalloc")->value, find(whole, "cudaMalloc")->value);
}

TEST("local functions of the same name in two files are both found, the exported one first")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *const *found;

	fixture();
	write_text("other.c", "static __attribute__((noinline, used)) int same(int x) "
			      "{ return x + 5; }\nint other(void) { return same(1); }\n");
	write_text("third.c", "int same(int x) { return x - 1; }\n");
	compile("static __attribute__((noinline, used)) int same(int x) { return x * 7; }\n"
		"int mine(void) { return same(2); }\n",
		"other.c third.c -shared -fPIC -o libsame.so");
	elf = open_elf("libsame.so");
	CHECK_INT(gt_elf_lookup(elf, "same", &found), 3);
	CHECK(found[0]->dynamic && !found[0]->local);
	CHECK(found[1]->local && found[2]->local && found[1]->value != found[2]->value);
}

TEST("a symbol is found by an address inside it, by its exported name where there are two")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *hidden, *variable;

	build_library();
	elf = open_elf("libfake.so");
	hidden = find(elf, "hidden_one");
	variable = find(elf, "variable_in_bss");
	CHECK(gt_elf_symbol_at(elf, hidden->value) == hidden);
	CHECK(gt_elf_symbol_at(elf, hidden->value + hidden->size - 1) == hidden);
	CHECK(gt_elf_symbol_at(elf, hidden->value + hidden->size) != hidden);
	CHECK(gt_elf_symbol_at(elf, hidden->value - 1) != hidden);
	CHECK(gt_elf_symbol_at(elf, variable->value + 399) == variable);
	CHECK(gt_elf_symbol_at(elf, 3) == NULL);
	CHECK(gt_elf_symbol_at(elf, UINT64_MAX) == NULL);
	CHECK(gt_elf_symbol_at(elf, find(elf, "indirect")->value) == find(elf, "indirect"));
}

__attribute__((noinline, used)) static int probed_function(int x)
{
	return x * 41 + 1;
}

TEST("a function's file offset is where its code is, as the process has it mapped")
{
	gt_auto(elf) struct gt_elf *elf = open_elf("/proc/self/exe");
	gt_auto_proc_maps maps = {0};
	const struct gt_elf_symbol *symbol = find(elf, "probed_function");
	uint64_t address = (uintptr_t)probed_function;
	const struct gt_proc_mapping *mapping;
	gt_autoclose int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t code[8];

	if (!symbol)
		SKIP("this test program was stripped");
	CHECK_INT(gt_proc_maps_read(getpid(), &maps, NULL), 0);
	mapping = gt_proc_maps_at(&maps, address);
	CHECK(mapping && mapping->executable);
	CHECK_INT(address - mapping->start + mapping->offset, symbol->offset);
	CHECK_INT(gt_elf_address(elf, symbol->offset), symbol->value);
	CHECK_INT(pread(fd, code, sizeof(code), symbol->offset), sizeof(code));
	CHECK(!memcmp(code, (const void *)(uintptr_t)address, sizeof(code)));
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* "name value size" of readelf's functions and variables, sorted, each once. */
static size_t readelf_symbols(const char *path, char **lines, size_t limit, char **ret_text)
{
	size_t count = 0, kept = 0;

	run(ret_text,
	    "readelf -sW '%s' | awk '$4 ~ /^(FUNC|IFUNC|OBJECT)$/ && $7 ~ /^[0-9]+$/ && NF >= 8 "
	    "{ sub(/@.*/, \"\", $8); print $8, $2 }'",
	    path);
	for (char *save, *line = strtok_r(*ret_text, "\n", &save); line && count < limit;
	     line = strtok_r(NULL, "\n", &save))
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(lines[kept - 1], lines[i]))
			lines[kept++] = lines[i];
	return kept;
}

static void compare_with_readelf(const char *path)
{
	static char *lines[200000];
	gt_autofree char *text = NULL;
	gt_auto(elf) struct gt_elf *elf = open_elf(path);
	const struct gt_elf_symbol *symbols;
	size_t count, expected = readelf_symbols(path, lines, gt_countof(lines), &text);

	CHECK_INT(gt_elf_symbols(elf, &symbols, &count, NULL), 0);
	CHECK_INT(count, expected);
	CHECK(expected > 10);
	for (size_t i = 0; i < expected; i++) {
		const struct gt_elf_symbol *const *found;
		char *space = strchr(lines[i], ' ');
		uint64_t value = strtoull(space + 1, NULL, 16);
		bool seen = false;
		size_t same;

		*space = 0;
		same = gt_elf_lookup(elf, lines[i], &found);
		for (size_t j = 0; j < same; j++)
			seen |= found[j]->value == value;
		if (!seen)
			TAP_FAIL("%s: %s at %llx is missing", path, lines[i],
				 (unsigned long long)value);
	}
}

TEST("symbols are the same as readelf's: of a library, of this program, of libc")
{
	gt_autofree char *libc = NULL, *self = realpath("/proc/self/exe", NULL);

	if (run(NULL, "command -v readelf >/dev/null"))
		SKIP("readelf is not installed");
	build_library();
	compare_with_readelf("libfake.so");
	compare_with_readelf(self);
	run(&libc, "ldd /bin/sh | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p' | tr -d '\\n'");
	if (libc[0])
		compare_with_readelf(libc);
}

TEST("a build id is the same as readelf's")
{
	gt_auto_strbuf build_id = GT_STRBUF_INIT;
	gt_autofree char *expected = NULL;
	gt_auto(elf) struct gt_elf *elf = open_elf("/bin/sh");

	if (run(&expected, "readelf -n /bin/sh | sed -n 's/.*Build ID: //p' | tr -d '\\n'") ||
	    !expected[0])
		SKIP("readelf shows no build id of /bin/sh here");
	gt_elf_build_id(elf, &build_id);
	CHECK_STR(gt_strbuf_string(&build_id), expected);
}

TEST("120000 functions are read and found")
{
	gt_auto_strbuf source = GT_STRBUF_INIT;
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *symbols;
	size_t count = 0;

	gt_strbuf_puts(&source, "__asm__(\".text\\n\"\n");
	for (int i = 0; i < 120000; i++)
		gt_strbuf_printf(&source, "\".type f%d,@function\\nf%d: nop\\n\"\n", i, i);
	gt_strbuf_puts(&source, ");\n");
	compile(gt_strbuf_string(&source), "-shared -fPIC -o libmany.so");
	elf = open_elf("libmany.so");
	CHECK_INT(gt_elf_symbols(elf, &symbols, &count, NULL), 0);
	for (int i = 0; i < 120000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		if (!find(elf, name))
			TAP_FAIL("%s is missing", name);
	}
	CHECK(count >= 120000);
}

TEST_MAIN
