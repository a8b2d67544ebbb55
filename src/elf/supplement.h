/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening files for elfutils: no pipe is waited for, nothing is mapped, and sizes have limits. */
#pragma once

#include <elfutils/libdw.h>

/* An Elf with the file that it reads; both are NULL and -1 when closed. */
struct elf_file {
	Elf *elf;
	int fd;
};

/* Takes the descriptor. 0; -EBADMSG: no ELF, or its debug sections are larger than any. */
int elf_file_begin(int fd, struct elf_file *ret_file);
void elf_file_end(struct elf_file *file);

/* Whether an Elf's debug sections are of a size that can be read. */
bool elf_file_is_sane(Elf *elf);

/*
 * If a file says that a part of its DWARF is in another one (.gnu_debugaltlink), opens that.
 * path is the file's own. 0, *ret_file closed if it says nothing; -ENOENT: not found.
 */
int elf_file_supplement(Dwarf *dwarf, const char *path, const char *debug_directory,
			struct elf_file *ret_file);
