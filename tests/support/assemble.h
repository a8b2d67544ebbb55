/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The assembler of the tests: one instruction per line. Registers are r0 to r10; numbers are
 * decimal, or hexadecimal with 0x.
 *
 *	mov r0, 1        add32 r1, r2      sdiv r1, 3       neg r0        arithmetic; 64 bits
 *	movsx8 r1, r2    movsx16_32 r1, r2                                unless it ends in 32
 *	be16 r1          le32 r1           bswap64 r1
 *	lddw r1, 0x123456789                ldmap r1, 0      ldmapvalue r1, 0, 8
 *	ldxw r1, [r10-8] ldxsb r1, [r2]    stdw [r10-8], 1  stxb [r1+3], r2
 *	acquireb r1, [r2+3]            releasedw [r1], r2                 atomic load, store
 *	lock add [r1], r2                  lock fetch_or32 [r1+4], r2     lock cmpxchg [r1], r2
 *	jeq r1, 0, +2    jsgt32 r1, r2, label                ja label      gotol label
 *	may_goto label                                       ldfunc r2, label
 *	call 1           call local label  exit             label:         # a remark
 *	raw 0x95, 0, 0, 0, 0               opcode, target, source, offset, immediate
 */
#pragma once

#include "gpubpf/program.h"

/*
 * 0; -EINVAL with the line in diag's place ("line 3") and the reason; -ENOMEM. The caller frees
 * *ret_insns.
 */
int gt_bpf_assemble(const char *text, struct bpf_insn **ret_insns, uint32_t *ret_count,
		    struct gt_diag *diag);
