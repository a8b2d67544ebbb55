/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The errors of map helpers: the same in the interpreter, as PTX, and on Linux. */
#include "gpubpf_kernel.h"
#include "gpubpf_maps_run.h"

/*
 * Map 0 is a hash with room for 2 keys, map 1 an array of 2; keys have 4 bytes, values 8. Map 2 is
 * a ring of a page.
 */
#define ALL_MAPS                                                                                   \
	{                                                                                          \
		HASH(4, 8, 2), ARRAY(8, 2), RING(BPF_MAP_TYPE_RINGBUF, 4096)                       \
	}
#define UPDATE(map, key, flags)                                                                    \
	"	stw [r10-8], " #key                                                                \
	"\n	stdw [r10-16], 7\n" KEY(map) "	mov r3, r10\n"                                      \
					     "	add r3, -16\n	lddw r4, " #flags "\n	call 2\n"
#define DELETE(map, key) "	stw [r10-8], " #key "\n" KEY(map) "	call 3\n"
#define LOOKUP(map, key)                                                                           \
	"	stw [r10-8], " #key "\n" KEY(map) "	call 1\n	jeq r0, 0, none\n"                    \
						  "	mov r0, 1\nnone:\n"
#define FULL UPDATE(0, 1, 0) UPDATE(0, 2, 0)
#define OUTPUT_OF(size)                                                                            \
	"	stdw [r10-8], 1\n	ldmap r1, 2\n	mov r2, r10\n	add r2, -8\n	mov "                         \
	"r3, " #size "\n"                                                                          \
	"	mov r4, 0\n	call 130\n"
/* Nobody reads: discarded records keep their memory. */
#define FILL                                                                                       \
	"	ldmap r1, 2\n	mov r2, 4080\n	mov r3, 0\n	call 131\n	jeq r0, 0, over\n"                   \
	"	mov r1, r0\n	mov r2, 0\n	call 133\nover:\n"
/* 1 if the record was reserved; it is discarded. */
#define RESERVE(size)                                                                              \
	"	ldmap r1, 2\n	mov r2, " #size "\n	mov r3, 0\n	call 131\n"                        \
	"	jeq r0, 0, none\n	mov r1, r0\n	mov r2, 0\n	call 133\n	mov r0, "                          \
	"1\nnone:\n"

static const struct {
	const char *what, *text;
	int64_t result;
} rows[] = {
	{"a new key with BPF_NOEXIST", UPDATE(0, 1, 1), 0},
	{"a key that is there with BPF_NOEXIST", FULL UPDATE(0, 1, 1), -EEXIST},
	{"a key that is there with BPF_EXIST", FULL UPDATE(0, 1, 2), 0},
	{"a key that is missing with BPF_EXIST", UPDATE(0, 1, 2), -ENOENT},
	{"a key that is missing with BPF_EXIST, in a full hash", FULL UPDATE(0, 3, 2), -ENOENT},
	{"a new key in a full hash", FULL UPDATE(0, 3, 0), -E2BIG},
	{"a new key in a full hash with BPF_NOEXIST", FULL UPDATE(0, 3, 1), -E2BIG},
	{"a key that is there, in a full hash", FULL UPDATE(0, 2, 0), 0},
	{"both flags, for a hash", UPDATE(0, 1, 3), -EINVAL},
	{"flags above 32 bits, for a hash", UPDATE(0, 1, 0x100000000), -EINVAL},
	{"unknown flags and a full hash", FULL UPDATE(0, 3, 8), -EINVAL},
	{"a delete of what is there", FULL DELETE(0, 1), 0},
	{"a delete of what is missing", FULL DELETE(0, 3), -ENOENT},
	{"a second delete", FULL DELETE(0, 1) DELETE(0, 1), -ENOENT},
	{"a new key after a delete in a full hash", FULL DELETE(0, 1) UPDATE(0, 3, 1), 0},
	{"a lookup after a delete", FULL DELETE(0, 2) LOOKUP(0, 2), 0},
	{"an element of an array", UPDATE(1, 1, 0), 0},
	{"an element of an array with BPF_EXIST", UPDATE(1, 1, 2), 0},
	{"an element of an array with BPF_NOEXIST", UPDATE(1, 1, 1), -EEXIST},
	{"an update beyond an array", UPDATE(1, 2, 0), -E2BIG},
	{"an update beyond an array with BPF_EXIST", UPDATE(1, 2, 2), -E2BIG},
	{"an update beyond an array with BPF_NOEXIST", UPDATE(1, 2, 1), -E2BIG},
	{"an update far beyond an array", UPDATE(1, -1, 0), -E2BIG},
	{"both flags, for an array", UPDATE(1, 1, 3), -EINVAL},
	{"flags above 32 bits, for an array", UPDATE(1, 1, 0x100000000), -EINVAL},
	{"unknown flags beyond an array", UPDATE(1, 2, 8), -EINVAL},
	{"a delete in an array", DELETE(1, 1), -EINVAL},
	{"a delete beyond an array", DELETE(1, 2), -EINVAL},
	{"a lookup beyond an array", LOOKUP(1, 2), 0},
	{"a lookup of an array's last element", LOOKUP(1, 1), 1},
	{"a record of 8 bytes into a ring", OUTPUT_OF(8), 0},
	{"a record of no bytes into a ring", OUTPUT_OF(0), 0},
	{"a reservation of a ring's room", RESERVE(4000), 1},
	{"a reservation of no bytes", RESERVE(0), 1},
	{"a reservation of more than a ring", RESERVE(5000), 0},
	{"a reservation of far more than a ring", RESERVE(100000000), 0},
	{"a record into a ring that is full", FILL OUTPUT_OF(8), -EAGAIN},
};

static char *text_of(size_t row)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "%s	exit\n", rows[row].text);
	return gt_strbuf_steal(&text);
}

TEST("map helpers return the same errors in PTX and in the interpreter")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(rows); i++) {
		gt_autofree char *text = text_of(i);
		struct setup setup = {.maps = ALL_MAPS, .text = text};
		static struct outcome there, here;

		memset(&there, 0, sizeof(there));
		memset(&here, 0, sizeof(here));
		run(&device, &setup, &there);
		interpret(&setup, &here, NULL);
		if ((int64_t)there.results[0] != rows[i].result ||
		    (int64_t)here.results[0] != rows[i].result)
			TAP_FAIL("%s: %" PRId64 " as PTX and %" PRId64
				 " on the interpreter, not %" PRId64,
				 rows[i].what, (int64_t)there.results[0], (int64_t)here.results[0],
				 rows[i].result);
		free_maps(&here);
	}
}

/* The result of a program on Linux; INT32_MIN: it does not run there. */
static int32_t linux_result(const struct gt_bpf_program *program)
{
	const struct gt_bpf_map maps[] = ALL_MAPS;
	int fds[] = {kernel_map(&maps[0]), kernel_map(&maps[1]), kernel_map(&maps[2])};
	int fd = kernel_load(program->insns, program->count, fds, NULL, 0, 0);
	uint8_t packet[64] = {0};
	union bpf_attr request = {.test = {.prog_fd = (uint32_t)fd,
					   .data_size_in = sizeof(packet),
					   .data_in = (uintptr_t)packet}};
	int32_t result = INT32_MIN;

	if (fd >= 0 && !kernel_call(BPF_PROG_TEST_RUN, &request))
		result = (int32_t)request.test.retval;
	for (size_t i = 0; i < gt_countof(fds); i++)
		close(fds[i]);
	close(fd);
	return result;
}

TEST("Linux returns the same errors")
{
	if (!kernel_answers())
		SKIP("this kernel loads no programs for us");
	for (size_t i = 0; i < gt_countof(rows); i++) {
		gt_autofree char *text = text_of(i);
		struct gt_bpf_program program = {0};
		int32_t result;

		CHECK(!gt_bpf_assemble(text, &program.insns, &program.count, NULL));
		result = linux_result(&program);
		if (result != rows[i].result)
			TAP_FAIL("%s: %d on Linux, not %" PRId64, rows[i].what, result,
				 rows[i].result);
		gt_bpf_program_clear(&program);
	}
}

TEST_MAIN
