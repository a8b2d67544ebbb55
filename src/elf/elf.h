/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ELF programs and shared libraries: what a tracer must know of one. Every file is untrusted.
 * It is read with pread(2), never mapped, so that a file that shrinks meanwhile is an error and
 * no signal. Facts about the format: the System V gABI, ch. 4 and 5, and elf(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/strbuf.h"

struct gt_elf;

/* What the headers and the dynamic section say. All of it belongs to the gt_elf. */
struct gt_elf_info {
	const char *path;          /* as given to gt_elf_open, or "(memory)" */
	uint64_t device, inode;    /* identity of the file (st_dev, st_ino); 0 from memory */
	uint64_t size;             /* bytes of the file */
	uint64_t entry;            /* address of the entry point, 0 if none */
	const char *interpreter;   /* PT_INTERP; NULL if none */
	const char *soname;        /* DT_SONAME; NULL if none */
	const char *rpath;         /* DT_RPATH; NULL if none, or void because DT_RUNPATH is there */
	const char *runpath;       /* DT_RUNPATH; NULL if none */
	const char *const *needed; /* DT_NEEDED in their order */
	size_t needed_count;
	const uint8_t *build_id;   /* NT_GNU_BUILD_ID; NULL if none */
	size_t build_id_size;      /* bytes, usually 20 */
	bool position_independent; /* ET_DYN: a library or a PIE; else ET_EXEC */
	bool program;   /* can be executed: ET_EXEC, a PIE; a library with an interpreter is none */
	bool is_static; /* a program without interpreter and without DT_NEEDED */
	bool stripped;  /* has no .symtab: local functions have no names */
	bool no_default_directories; /* DF_1_NODEFLIB */
};

/*
 * Opens an ELF of this machine: 64 bits, this byte order, this architecture, a program or a
 * shared library. Headers and dynamic section are checked and read at once, symbols when they
 * are first asked for; a file descriptor is held until gt_elf_free.
 * -ENOEXEC: no such ELF; -EBADMSG: truncated or damaged; -EFBIG: a table beyond all sense;
 * what open(2) and pread(2) say. The diag's stage is "elf", its place the path.
 */
int gt_elf_open(const char *path, struct gt_elf **ret_elf, struct gt_diag *diag);
/* The same for bytes that must stay as they are until gt_elf_free. */
int gt_elf_open_memory(const void *data, size_t size, struct gt_elf **ret_elf,
		       struct gt_diag *diag);
/*
 * Closes the file, for those who open many: what was read stays, and symbols stay if they were
 * asked for before (after it, gt_elf_symbols fails with -EBADF).
 */
void gt_elf_close(struct gt_elf *elf);
void gt_elf_free(struct gt_elf *elf);
GT_DEFINE_AUTO(elf, struct gt_elf, gt_elf_free)

const struct gt_elf_info *gt_elf_info(const struct gt_elf *elf);
/* The build id in lower-case hexadecimal; nothing if there is none. */
void gt_elf_build_id(const struct gt_elf *elf, struct gt_strbuf *buffer);

#define GT_ELF_NO_OFFSET UINT64_MAX

/*
 * The place in the file of what is loaded at an address of the ELF, through its PT_LOAD headers:
 * what a uprobe wants. GT_ELF_NO_OFFSET if no byte of the file is there (.bss, unmapped).
 */
uint64_t gt_elf_offset(const struct gt_elf *elf, uint64_t address);
/* The other way; GT_ELF_NO_OFFSET if that part of the file is not loaded. */
uint64_t gt_elf_address(const struct gt_elf *elf, uint64_t offset);

/* Reads exactly that part of the file. -EBADMSG if it is not all there. */
int gt_elf_read(const struct gt_elf *elf, uint64_t offset, void *data, size_t size);

/* Where the first section of a name is in the file. -ENOENT: there is none with bytes in it. */
int gt_elf_section(struct gt_elf *elf, const char *name, uint64_t *ret_offset, uint64_t *ret_size);
/*
 * The bytes of a section, which the caller frees (gt_file_free). -ENOENT: there is none of that
 * name with bytes in the file; -EFBIG: it has more than `limit`; -EBADF after gt_elf_close.
 */
int gt_elf_read_section(struct gt_elf *elf, const char *name, size_t limit,
			struct gt_file *ret_bytes, struct gt_diag *diag);

enum gt_elf_symbol_kind {
	GT_ELF_FUNCTION,
	GT_ELF_INDIRECT, /* STT_GNU_IFUNC: the address is a resolver's, not the function's */
	GT_ELF_OBJECT,   /* a variable */
};

/*
 * A defined symbol. The name is without its version ("cudaMalloc@@libcudart.so.13" is
 * "cudaMalloc"), still mangled, and belongs to the gt_elf.
 */
struct gt_elf_symbol {
	const char *name;
	uint64_t value;  /* address as in the ELF */
	uint64_t size;   /* bytes; 0 where the compiler did not say */
	uint64_t offset; /* in the file; GT_ELF_NO_OFFSET for variables in .bss */
	enum gt_elf_symbol_kind kind;
	bool local;   /* STB_LOCAL in every table that has it */
	bool dynamic; /* exported: in .dynsym */
};

/*
 * All functions and variables of .dynsym and .symtab, those of .dynsym first, each name and
 * address once. A function outside the loaded executable parts cannot be probed and is left out.
 * *ret_symbols belongs to the gt_elf. 0 with a count of 0 if it has none.
 */
int gt_elf_symbols(struct gt_elf *elf, const struct gt_elf_symbol **ret_symbols, size_t *ret_count,
		   struct gt_diag *diag);

/*
 * The symbols of a name, quickly: several if local functions of several source files share it;
 * exported ones first, then global, then local ones. Returns how many; *ret_symbols, if there
 * are any, is an array of that many pointers and belongs to the gt_elf. What gt_elf_symbols
 * would fail with is 0 here: call it first where the difference matters.
 */
size_t gt_elf_lookup(struct gt_elf *elf, const char *name,
		     const struct gt_elf_symbol *const **ret_symbols);

/*
 * The symbol whose bytes cover an address of the ELF (value ≤ address < value + size; one
 * without a size covers only its first byte), or NULL. The name that is exported wins.
 */
const struct gt_elf_symbol *gt_elf_symbol_at(struct gt_elf *elf, uint64_t address);

/*
 * The same, and where no symbol covers the address: the nearest function before it in the same
 * section, if the compiler did not say how long that is (hand-written assembly) and the file is
 * not stripped.
 */
const struct gt_elf_symbol *gt_elf_symbol_near(struct gt_elf *elf, uint64_t address);
