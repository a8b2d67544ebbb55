/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ELF programs and shared libraries. Every file is untrusted. It is read with pread(2), never
 * mapped, so that a file that shrinks meanwhile is an error and not a signal. Format: System V
 * gABI, ch. 4 and 5, and elf(5).
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

/* The headers and the dynamic section. The gt_elf owns all members. */
struct gt_elf_info {
	const char *path;          /* as given to gt_elf_open, or "(memory)" */
	uint64_t device, inode;    /* identity of the file (st_dev, st_ino); 0 from memory */
	uint64_t size;             /* bytes of the file */
	uint64_t entry;            /* address of the entry point, 0 if none */
	const char *interpreter;   /* PT_INTERP; NULL if none */
	const char *soname;        /* DT_SONAME; NULL if none */
	const char *rpath;         /* DT_RPATH; NULL if none, or ignored because of DT_RUNPATH */
	const char *runpath;       /* DT_RUNPATH; NULL if none */
	const char *const *needed; /* DT_NEEDED, in order */
	size_t needed_count;
	const uint8_t *build_id;   /* NT_GNU_BUILD_ID; NULL if none */
	size_t build_id_size;      /* bytes, usually 20 */
	bool position_independent; /* ET_DYN: a library or a PIE; else ET_EXEC */
	bool program;   /* executable: ET_EXEC or a PIE, but not a library with an interpreter */
	bool is_static; /* a program without interpreter and without DT_NEEDED */
	bool stripped;  /* has no .symtab: local functions have no names */
	bool no_default_directories; /* DF_1_NODEFLIB */
};

/*
 * Opens an ELF of this machine: 64 bits, this byte order, this architecture, a program or a shared
 * library. Headers and dynamic section are read and checked at once, symbols on first use; the file
 * stays open until gt_elf_close or gt_elf_free.
 * -ENOEXEC: not such an ELF; -EBADMSG: truncated or malformed; -EFBIG: a table is too large; errors
 * of open(2) and pread(2). The diag's stage is "elf", its place the path.
 */
int gt_elf_open(const char *path, struct gt_elf **ret_elf, struct gt_diag *diag);
/* The same for bytes in memory, which must not change until gt_elf_free. */
int gt_elf_open_memory(const void *data, size_t size, struct gt_elf **ret_elf,
		       struct gt_diag *diag);
/*
 * Closes the file, for callers that open many: everything that was read is kept, including symbols
 * (if they were not read before, gt_elf_symbols fails with -EBADF).
 */
void gt_elf_close(struct gt_elf *elf);
void gt_elf_free(struct gt_elf *elf);
GT_DEFINE_AUTO(elf, struct gt_elf, gt_elf_free)

const struct gt_elf_info *gt_elf_info(const struct gt_elf *elf);
/* Adds the build id in lower-case hexadecimal; nothing if there is none. */
void gt_elf_build_id(const struct gt_elf *elf, struct gt_strbuf *buffer);

#define GT_ELF_NO_OFFSET UINT64_MAX

/*
 * Returns the file offset of an address of the ELF, by its PT_LOAD headers, as uprobes need it.
 * GT_ELF_NO_OFFSET: no byte of the file is loaded there (.bss, unmapped).
 */
uint64_t gt_elf_offset(const struct gt_elf *elf, uint64_t address);
/* Returns the address of a file offset; GT_ELF_NO_OFFSET: that part of the file is not loaded. */
uint64_t gt_elf_address(const struct gt_elf *elf, uint64_t offset);

/* Reads `size` bytes of the file. -EBADMSG: it ends before. */
int gt_elf_read(const struct gt_elf *elf, uint64_t offset, void *data, size_t size);

/* Finds the first section of a name in the file. -ENOENT: none, or without bytes in the file. */
int gt_elf_section(struct gt_elf *elf, const char *name, uint64_t *ret_offset, uint64_t *ret_size);
/*
 * Reads a section; the caller frees *ret_bytes (gt_file_free). -ENOENT: none of that name with
 * bytes in the file; -EFBIG: more than `limit` bytes; -EBADF: after gt_elf_close.
 */
int gt_elf_read_section(struct gt_elf *elf, const char *name, size_t limit,
			struct gt_file *ret_bytes, struct gt_diag *diag);

enum gt_elf_symbol_kind {
	GT_ELF_FUNCTION,
	GT_ELF_INDIRECT, /* STT_GNU_IFUNC: the address is that of a resolver, not of the function */
	GT_ELF_OBJECT,   /* a variable */
};

/*
 * A defined symbol. The name is mangled and without its version ("cudaMalloc@@libcudart.so.13" is
 * "cudaMalloc"); the gt_elf owns it.
 */
struct gt_elf_symbol {
	const char *name;
	uint64_t value;  /* address as in the ELF */
	uint64_t size;   /* bytes; 0: unknown */
	uint64_t offset; /* in the file; GT_ELF_NO_OFFSET for variables in .bss */
	enum gt_elf_symbol_kind kind;
	bool local;   /* STB_LOCAL in every table that contains it */
	bool dynamic; /* exported: in .dynsym */
};

/*
 * Returns all functions and variables of .dynsym and .symtab, those of .dynsym first, each name and
 * address once. Functions outside of the loaded executable parts cannot be probed and are omitted.
 * The gt_elf owns *ret_symbols. 0 with a count of 0 if there are none.
 */
int gt_elf_symbols(struct gt_elf *elf, const struct gt_elf_symbol **ret_symbols, size_t *ret_count,
		   struct gt_diag *diag);

/*
 * Looks up the symbols of a name: several if local functions of several source files share it;
 * exported ones first, then global, then local ones. Returns their number; *ret_symbols is an array
 * of as many pointers, owned by the gt_elf. Returns 0 also if symbols cannot be read: call
 * gt_elf_symbols first to see that error.
 */
size_t gt_elf_lookup(struct gt_elf *elf, const char *name,
		     const struct gt_elf_symbol *const **ret_symbols);

/*
 * Returns the symbol that covers an address of the ELF (value ≤ address < value + size; a symbol
 * without a size covers only its first byte), or NULL. An exported name is preferred.
 */
const struct gt_elf_symbol *gt_elf_symbol_at(struct gt_elf *elf, uint64_t address);

/*
 * The same; if no symbol covers the address, returns the nearest function before it in the same
 * section, if its size is unknown (hand-written assembly) and the file is not stripped.
 */
const struct gt_elf_symbol *gt_elf_symbol_near(struct gt_elf *elf, uint64_t address);
