/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a kernel of a patched module can get a limit of registers after it was printed: a comment
 * with its name after its directives. The agent, which depends on libc alone, writes a directive
 * over the start of it, of the same length. Of several, ptxas takes the last one (seen with 13.0),
 * and prefers it to the limit of the module.
 */
#pragma once

/* The kernel's mangled name follows, then the end of the comment. */
#define GT_REGISTER_COMMENT "/*gputap:maxnreg "
#define GT_REGISTER_COMMENT_END "*/"
/* printf(3). The name is in a comment still. */
#define GT_REGISTER_LIMIT ".maxnreg %3hhu   /*"

enum {
	GT_REGISTER_COMMENT_LENGTH = sizeof(GT_REGISTER_COMMENT) - 1,
	GT_MAX_THREAD_REGISTERS = 255, /* of a thread */
};
