/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening files for elfutils: without blocking on pipes, without mapping, and with size limits. */
#pragma once

#include <elfutils/libdw.h>

/* An Elf with the file that it reads; both are NULL and -1 when closed. */
struct elf_file {
	Elf *elf;
	int fd;
};

/* Takes ownership of fd. 0; -EBADMSG: not an ELF, or its debug sections are too large. */
int elf_file_begin(int fd, struct elf_file *ret_file);
void elf_file_end(struct elf_file *file);

/* Returns whether an Elf's debug sections are small enough to be read. */
bool elf_file_is_sane(Elf *elf);

/*
 * Opens the supplementary file with a part of a file's DWARF (.gnu_debugaltlink). path: of the file
 * itself. 0, with *ret_file closed if there is none; -ENOENT: not found.
 */
int elf_file_supplement(Dwarf *dwarf, const char *path, const char *debug_directory,
			struct elf_file *ret_file);
