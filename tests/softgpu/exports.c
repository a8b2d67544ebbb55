/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The exports of the libraries: every name of CUDA's, each a function of its own that begins with
 * the instruction that uprobes emulate. The paths are in LIBCUDA, LIBCUDART and LIBCUDART_STATIC.
 */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include "tap.h"

static const char *const driver_names[] = {
#define SG_FUNCTION(name, since, symbol) #symbol,
#define SG_PER_THREAD(name, since, symbol) #symbol,
#define SG_UNSUPPORTED(name, since, symbol) #symbol,
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) #symbol,
#include "driver/functions.def"
};

struct object {
	Elf *elf;
	Elf_Scn *symbols;
	GElf_Shdr header;
	size_t count;
};

static bool open_symbols(Elf *elf, Elf64_Word type, struct object *object)
{
	*object = (struct object){.elf = elf};
	while ((object->symbols = elf_nextscn(elf, object->symbols))) {
		if (gelf_getshdr(object->symbols, &object->header) &&
		    object->header.sh_type == type)
			break;
	}
	if (!object->symbols)
		return false;
	object->count = object->header.sh_size / object->header.sh_entsize;
	return true;
}

static bool is_cuda(const char *name)
{
	return name && (!strncmp(name, "cu", 2) || !strncmp(name, "__cuda", 6));
}

/* Symbol number `index` if it is a function of CUDA's, else NULL. */
static const char *cuda_function(const struct object *object, size_t index, GElf_Sym *ret_symbol)
{
	Elf_Data *data = elf_getdata(object->symbols, NULL);
	const char *name;

	if (!gelf_getsym(data, (int)index, ret_symbol) ||
	    GELF_ST_TYPE(ret_symbol->st_info) != STT_FUNC || ret_symbol->st_shndx == SHN_UNDEF ||
	    GELF_ST_BIND(ret_symbol->st_info) == STB_LOCAL)
		return NULL;
	name = elf_strptr(object->elf, object->header.sh_link, ret_symbol->st_name);
	return is_cuda(name) ? name : NULL;
}

/* The first byte of a symbol's code, -1 if it cannot be read. */
static int first_byte(const struct object *object, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(object->elf, symbol->st_shndx);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Ehdr header;
	GElf_Shdr section_header;
	uint64_t offset = symbol->st_value;

	if (!data || !gelf_getshdr(section, &section_header) || !gelf_getehdr(object->elf, &header))
		return -1;
	/* In object files values count from the section's start. */
	if (header.e_type != ET_REL)
		offset -= section_header.sh_addr;
	return offset < data->d_size ? ((unsigned char *)data->d_buf)[offset] : -1;
}

static int check_functions(const struct object *object)
{
	int found = 0;

	for (size_t i = 0; i < object->count; i++) {
		GElf_Sym symbol;
		const char *name = cuda_function(object, i, &symbol);

		if (!name)
			continue;
		found++;
		if (first_byte(object, &symbol) != 0x55)
			TAP_FAIL("%s begins with %#x, not with push %%rbp", name,
				 (unsigned int)first_byte(object, &symbol));
	}
	return found;
}

static Elf *open_elf(const char *variable, int *fd)
{
	const char *path = getenv(variable);

	elf_version(EV_CURRENT);
	*fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
}

static int check_library(const char *variable)
{
	struct object object;
	int fd, found = 0;
	Elf *elf = open_elf(variable, &fd);

	CHECK(elf && open_symbols(elf, SHT_DYNSYM, &object));
	if (elf && object.symbols)
		found = check_functions(&object);
	elf_end(elf);
	close(fd);
	return found;
}

static int check_archive(const char *variable)
{
	Elf_Cmd command = ELF_C_READ;
	int fd, found = 0;
	Elf *archive = open_elf(variable, &fd), *member;

	CHECK(archive != NULL);
	while (archive && (member = elf_begin(fd, command, archive))) {
		struct object object;

		if (elf_kind(member) == ELF_K_ELF && open_symbols(member, SHT_SYMTAB, &object))
			found += check_functions(&object);
		command = elf_next(member);
		elf_end(member);
	}
	elf_end(archive);
	close(fd);
	return found;
}

#ifdef __x86_64__
TEST("every exported function begins with push %rbp")
{
	CHECK_INT(check_library("LIBCUDA"), 637);
	CHECK_INT(check_library("LIBCUDART"), 422);
	CHECK_INT(check_archive("LIBCUDART_STATIC"), 422);
}
#else
TEST("every exported function begins with push %rbp")
{
	SKIP("only of x86-64 is known what uprobes emulate");
}
#endif

static int compare_addresses(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static void check_distinct(const char *variable)
{
	static uint64_t addresses[2000];
	struct object object;
	size_t count = 0;
	int fd;
	Elf *elf = open_elf(variable, &fd);

	CHECK(elf && open_symbols(elf, SHT_DYNSYM, &object));
	for (size_t i = 0; elf && object.symbols && i < object.count && count < 2000; i++) {
		GElf_Sym symbol;

		if (cuda_function(&object, i, &symbol))
			addresses[count++] = symbol.st_value;
	}
	qsort(addresses, count, sizeof(addresses[0]), compare_addresses);
	for (size_t i = 1; i < count; i++)
		CHECK(addresses[i] != addresses[i - 1]);
	elf_end(elf);
	close(fd);
}

TEST("no two exported functions share their code")
{
	check_distinct("LIBCUDA");
	check_distinct("LIBCUDART");
}

static bool has_symbol(const struct object *object, const char *wanted)
{
	for (size_t i = 0; i < object->count; i++) {
		GElf_Sym symbol;
		const char *name = cuda_function(object, i, &symbol);

		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

TEST("the driver library exports every function of the table")
{
	struct object object;
	int fd;
	Elf *elf = open_elf("LIBCUDA", &fd);

	CHECK(elf && open_symbols(elf, SHT_DYNSYM, &object));
	for (size_t i = 0; elf && i < sizeof(driver_names) / sizeof(driver_names[0]); i++) {
		if (!has_symbol(&object, driver_names[i]))
			TAP_FAIL("%s is missing", driver_names[i]);
	}
	elf_end(elf);
	close(fd);
}

enum {
	DRIVER_UNSUPPORTED = 0
#define SG_UNSUPPORTED(name, since, symbol) +1
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) +1
#include "driver/functions.def"
	,
	RUNTIME_UNSUPPORTED = 0
#define SG_UNSUPPORTED(symbol) +1
#include "runtime/unsupported.def"
#undef SG_UNSUPPORTED
};

TEST("the README has the numbers of unsupported functions")
{
	static char text[64 << 10];
	char driver[32], runtime[32];
	FILE *file = fopen(getenv("README"), "r");

	CHECK(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	snprintf(driver, sizeof(driver), "(%d of 637:", DRIVER_UNSUPPORTED);
	snprintf(runtime, sizeof(runtime), "(%d of 422:", RUNTIME_UNSUPPORTED);
	if (!strstr(text, driver) || !strstr(text, runtime))
		TAP_FAIL("it should say %s and %s", driver, runtime);
	if (file)
		fclose(file);
}

/* Compare the exports with those of NVIDIA's library, where it is installed. */
static void compare_with(const char *path, const char *variable)
{
	struct object theirs, ours;
	int fd, our_fd;
	Elf *elf, *our_elf;

	if (access(path, R_OK))
		SKIP("there is no CUDA toolkit to compare with");
	setenv("NVIDIA_LIBRARY", path, 1);
	elf = open_elf("NVIDIA_LIBRARY", &fd);
	our_elf = open_elf(variable, &our_fd);
	CHECK(elf && our_elf && open_symbols(elf, SHT_DYNSYM, &theirs) &&
	      open_symbols(our_elf, SHT_DYNSYM, &ours));
	for (size_t i = 0; i < theirs.count; i++) {
		GElf_Sym symbol;
		const char *name = cuda_function(&theirs, i, &symbol);

		if (name && !has_symbol(&ours, name))
			TAP_FAIL("%s is missing", name);
	}
	elf_end(elf);
	elf_end(our_elf);
	close(fd);
	close(our_fd);
}

TEST("the runtime library exports every name of NVIDIA's")
{
	compare_with("/usr/local/cuda/lib64/libcudart.so.13", "LIBCUDART");
}

TEST("the driver library exports every name of NVIDIA's")
{
	compare_with("/usr/local/cuda/lib64/stubs/libcuda.so", "LIBCUDA");
}

TEST_MAIN
