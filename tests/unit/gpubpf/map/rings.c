/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings, printing and helpers as PTX on the software device: no record is lost without being
 * counted, and helpers have the results of the interpreter.
 */
#include "gpubpf_maps_run.h"

/* ---- rings ------------------------------------------------------------------------------ */

struct receiver {
	struct gt_ring_reader reader;
	uint8_t seen[ALL];
	uint64_t bad, good;
};

/* A record has the thread's number three times. */
static void take_record(struct receiver *receiver, const uint64_t *record, uint32_t size)
{
	bool bad = size < 24 || record[0] >= ALL || record[1] != record[0] ||
		   record[2] != record[0] + 7 || receiver->seen[record[0]]++ > 3;

	receiver->bad += bad;
	receiver->good += !bad;
}

static bool receive(void *data)
{
	struct receiver *receiver = data;
	const void *record;
	uint32_t size;
	int ready = gt_ring_reader_next(&receiver->reader, &record, &size);

	if (ready > 0)
		take_record(receiver, record, size);
	receiver->bad += ready < 0;
	return ready > 0;
}

#define RECORD                                                                                     \
	THREAD "	stxdw [r10-24], r6\n	stxdw [r10-16], r6\n"                                        \
	       "	mov r1, r6\n	add r1, 7\n	stxdw [r10-8], r1\n"

static const struct {
	const char *title;
	struct gt_bpf_map map;
	const char *text;
	uint32_t per_thread, discarded;
} ring_programs[] = {
	{"lanes together", RING(27, 1 << 14),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, 24\n	mov r4, 0\n"
		"	call 130\n	exit\n",
	 1, 0},
	{"a small ring: lanes alone", RING(1527, 1 << 9),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, 24\n	mov r4, 0\n"
		"	call 130\n	exit\n",
	 1, 0},
	{"sizes that differ", RING(27, 1 << 12),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, r6\n	and r3, 0\n"
		"	add r3, 24\n	jset r6, 1, odd\n	mov r3, 24\n"
		"odd:\n	mov r4, 0\n	call 130\n	exit\n",
	 1, 0},
	{"reserved and submitted, every fourth one discarded", RING(27, 1 << 14),
	 RECORD "	ldmap r1, 0\n	mov r2, 40\n	mov r3, 0\n	call 131\n"
		"	jne r0, 0, got\n	mov r0, -11\n	exit\n"
		"got:\n	stxdw [r0+0], r6\n	stxdw [r0+8], r6\n"
		"	mov r1, r6\n	add r1, 7\n	stxdw [r0+16], r1\n	mov r1, r0\n"
		"	mov r2, 0\n	mov r7, r6\n	and r7, 3\n	jeq r7, 0, away\n"
		"	call 132\n	mov r0, 0\n	exit\n"
		"away:\n	call 133\n	mov r0, 0\n	exit\n",
	 1, 1},
	{"reserved with two sizes", RING(27, 1 << 14),
	 RECORD "	mov r1, r6\n	jset r6, 1, odd\n"
		"	ldmap r1, 0\n	mov r2, 40\n	mov r3, 0\n	call 131\n"
		"	jeq r0, 0, full\n	mov r7, r0\n	call 5\n"
		"	stxdw [r7+0], r6\n	stxdw [r7+8], r6\n"
		"	mov r1, r6\n	add r1, 7\n	stxdw [r7+16], r1\n	mov r1, r7\n"
		"	mov r2, 0\n	call 132\n	mov r0, 0\n	exit\n"
		"odd:\n	ldmap r1, 0\n	mov r2, 24\n	mov r3, 0\n	call 131\n"
		"	jeq r0, 0, full\n"
		"	stxdw [r0+0], r6\n	stxdw [r0+8], r6\n"
		"	mov r1, r6\n	add r1, 7\n	stxdw [r0+16], r1\n	mov r1, r0\n"
		"	mov r2, 0\n	call 132\n	mov r0, 0\n	exit\n"
		"full:\n	mov r0, -11\n	exit\n",
	 1, 0},
	{"a ring whose size is no power of two", RING(27, (3 << 12) + 512),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, 24\n	mov r4, 0\n"
		"	call 130\n	exit\n",
	 1, 0},
};

/* How a program is translated, and how its ring is read. */
struct ring_run {
	unsigned sm;
	bool private_arrays;
	bool of_copy; /* the reader returns credit as if the ring were in the memory of a GPU */
};

static void check_ring(struct device *device, size_t number, struct ring_run how)
{
	static struct receiver receiver;
	struct setup setup = {.maps = {ring_programs[number].map},
			      .text = ring_programs[number].text,
			      .sm = how.sm,
			      .private_arrays = how.private_arrays,
			      .beside = receive,
			      .data = &receiver,
			      MANY};
	struct outcome outcome = {0};
	struct gt_ring_header *header;
	uint64_t lost, given;

	memset(&receiver, 0, sizeof(receiver));
	outcome.memory[0] = device_memory(device, gt_bpf_map_bytes(&setup.maps[0], 1));
	gt_bpf_map_initialise(&setup.maps[0], 1, outcome.memory[0]);
	CHECK(!gt_ring_reader_open(&setup.maps[0], outcome.memory[0], &receiver.reader));
	receiver.reader.of_copy = how.of_copy;
	header = outcome.memory[0];
	for (int round = 0; round < 3; round++)
		run(device, &setup, &outcome);
	while (receive(&receiver))
		;
	lost = gt_ring_reader_lost(&receiver.reader);
	given = receiver.good + receiver.reader.discarded;
	CHECK_INT(receiver.bad, 0);
	CHECK_INT(given + lost, 3 * ALL);
	CHECK(given >= setup.maps[0].max_entries / 64);
	CHECK_INT(gt_ring_reader_pending(&receiver.reader), 0);
	CHECK_INT(header->credit + (int64_t)(header->returned - header->taken),
		  setup.maps[0].max_entries);
	CHECK(!header->taken || how.of_copy);
	CHECK(header->taken || !how.of_copy || header->head <= setup.maps[0].max_entries);
	CHECK(receiver.reader.discarded <= 3 * ALL / 4);
	CHECK(!receiver.reader.discarded == !ring_programs[number].discarded);
	gt_ring_reader_close(&receiver.reader);
}

TEST("every record is read whole or counted as lost, with a concurrent reader")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(ring_programs); i++)
		for (size_t j = 0; j < gt_countof(forms); j++)
			check_ring(&device, i, (struct ring_run){.sm = forms[j]});
}

TEST("credit that the reader of a copy returns is taken by writers that need it")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(ring_programs); i++)
		for (size_t j = 0; j < gt_countof(forms); j++)
			check_ring(&device, i, (struct ring_run){.sm = forms[j], .of_copy = true});
}

TEST("records that lanes find through constant memory are at the same offsets")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(ring_programs); i++)
		for (size_t j = 0; j < gt_countof(forms); j++)
			check_ring(&device, i,
				   (struct ring_run){.sm = forms[j], .private_arrays = true});
}

TEST("a ring without a reader keeps records until it is full, and counts the rest")
{
	auto_device device = {0};
	struct setup setup = {.maps = {RING(4, 0)}, .text = NULL, .section = "gpu/entry/*", MANY};
	char text[512];

	device_open(&device);
	snprintf(text, sizeof(text),
		 "	mov r9, r1\n" RECORD "	mov r1, r9\n	ldmap r2, 0\n	mov r3, 0\n"
		 "	mov r4, r10\n	add r4, -24\n	mov r5, 24\n	call 25\n	exit\n");
	setup.text = text;
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_ring_reader reader;
		struct receiver receiver = {0};

		/* Offsets of 17 bits: two parts. */
		setup.private_arrays = setup.sm == 70;

		for (int round = 0; round < 9; round++)
			run(&device, &setup, &outcome);
		CHECK(!gt_ring_reader_open(&setup.maps[0], outcome.memory[0], &reader));
		receiver.reader = reader;
		while (receive(&receiver))
			receiver.seen[0] = 0;
		CHECK_INT(receiver.reader.records + gt_ring_reader_lost(&receiver.reader), 9 * ALL);
		CHECK_INT(receiver.reader.records, (1 << 20) / 32);
		CHECK_INT(count_results(&outcome, -EAGAIN), ALL);
		gt_ring_reader_close(&receiver.reader);
		device.used = 0;
	}
}

TEST("a record that is longer than its ring is rejected and counted")
{
	auto_device device = {0};
	struct setup setup = {.maps = {RING(27, 64)},
			      .text = "	stdw [r10-64], 0\n	stdw [r10-56], 0\n"
				      "	stdw [r10-48], 0\n	stdw [r10-40], 0\n"
				      "	stdw [r10-32], 0\n	stdw [r10-24], 0\n"
				      "	stdw [r10-16], 0\n	stdw [r10-8], 0\n"
				      "	ldmap r1, 0\n	mov r2, r10\n	add r2, -64\n"
				      "	mov r3, 64\n	mov r4, 0\n	call 130\n	exit\n"};
	struct outcome outcome = {0};

	device_open(&device);
	run(&device, &setup, &outcome);
	CHECK_INT(outcome.results[0], -E2BIG);
	CHECK_INT(((struct gt_ring_header *)outcome.memory[0])->lost, 1);
}

/* ---- output ----------------------------------------------------------------------------- */

static uint8_t greeting[32] = "100% of it\n";

TEST("output on the device is that of the interpreter")
{
	auto_device device = {0};
	struct setup setup = {
		.maps = {{.type = BPF_MAP_TYPE_ARRAY,
			  .key_size = 4,
			  .value_size = 32,
			  .max_entries = 1,
			  .read_only = true,
			  .constant = true,
			  .initial = greeting}},
		/* "%d %08x %llu\n" */
		.text = "	lddw r1, 0x2578383025206425\n	stxdw [r10-16], r1\n"
			"	lddw r1, 0x000a756c6c2520\n	stxdw [r10-8], r1\n"
			"	ldmapvalue r1, 0, 0\n	call 501\n"
			"	mov r1, r10\n	add r1, -16\n	mov r2, 16\n	mov r3, -5\n"
			"	mov r4, 48879\n	lddw r5, 0xffffffffffffffff\n	call 6\n	"
			"exit\n",
	};

	device_open(&device);
	EACH_FORM(setup)
	{
		gt_auto_strbuf here = GT_STRBUF_INIT, there = GT_STRBUF_INIT;
		struct outcome outcome = {0}, host = {0};
		struct gt_ring_reader reader;

		run(&device, &setup, &outcome);
		interpret(&setup, &host, &here);
		CHECK(!gt_ring_reader_open(&output_map, outcome.output, &reader));
		CHECK_INT(gt_ring_reader_print(&reader, &there), 0);
		CHECK_INT(reader.corruptions, 0);
		gt_ring_reader_close(&reader);
		CHECK_STR(gt_strbuf_string(&here), gt_strbuf_string(&there));
		CHECK_INT(outcome.results[0], host.results[0]);
		free_maps(&host);
	}
}

#define FORMAT                                                                                     \
	"	lddw r1, 0x786c6c2520786c25\n	stxdw [r10-16], r1\n"                                      \
	"	lddw r1, 0x786c6c2520\n	stxdw [r10-8], r1\n	mov r1, r10\n	add r1, -16\n"                 \
	"	mov r2, 16\n"

/* The output of a program: the same as PTX and in the interpreter. */
static void check_prints(struct device *device, const char *text, const char *expected)
{
	struct setup setup = {.maps = {ARRAY(8, 4)}, .text = text};
	gt_auto_strbuf here = GT_STRBUF_INIT, there = GT_STRBUF_INIT;
	static struct outcome outcome, host;
	struct gt_ring_reader reader;

	memset(&outcome, 0, sizeof(outcome));
	memset(&host, 0, sizeof(host));
	run(device, &setup, &outcome);
	interpret(&setup, &host, &here);
	CHECK(!gt_ring_reader_open(&output_map, outcome.output, &reader));
	CHECK_INT(gt_ring_reader_print(&reader, &there), 0);
	gt_ring_reader_close(&reader);
	CHECK_STR(gt_strbuf_string(&there), expected);
	CHECK_STR(gt_strbuf_string(&here), expected);
	free_maps(&host);
}

TEST("arguments of trace_printk that are not set are 0, whatever their registers contained")
{
	auto_device device = {0};

	device_open(&device);
	/* At the start. */
	check_prints(&device, FORMAT "	call 6\n	exit\n", "0 0 0\n");
	/* Behind a helper that was given addresses there. */
	check_prints(&device,
		     "	stw [r10-24], 1\n	stdw [r10-32], 7\n	ldmap r1, 0\n	mov r2, "
		     "r10\n"
		     "	add r2, -24\n	mov r3, r10\n	add r3, -32\n	mov r4, 2\n	call "
		     "2\n" FORMAT "	call 6\n	exit\n",
		     "0 0 0\n");
	/* Behind a lookup, where it found something and where it did not. */
	for (const char *key = "14"; *key; key++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_strbuf_printf(
			&text,
			"	stw [r10-24], %c\n	mov r3, r10\n	mov r4, r10\n	ldmap r1, "
			"0\n"
			"	mov r2, r10\n	add r2, -24\n	call 1\n	jeq r0, 0, none\n"
			"	mov r5, 9\nnone:\n" FORMAT "	call 6\n	exit\n",
			*key);
		check_prints(&device, gt_strbuf_string(&text), *key == '1' ? "0 0 9\n" : "0 0 0\n");
	}
	/* Behind a function that left addresses there, and in one. */
	check_prints(
		&device,
		"	call local f\n" FORMAT "	call 6\n	exit\n"
		"f:\n	mov r3, r10\n	mov r4, r10\n	mov r5, r10\n	mov r0, 0\n	exit\n",
		"0 0 0\n");
	check_prints(&device, "	call local f\n	exit\nf:\n" FORMAT "	call 6\n	exit\n",
		     "0 0 0\n");
}

/* ---- helpers ---------------------------------------------------------------------------- */

/* Three u64s at -24, put together. */
#define INDICES(helper)                                                                            \
	"	mov r1, r10\n	add r1, -24\n	mov r2, r10\n	add r2, -16\n	mov r3, r10\n"                   \
	"	add r3, -8\n	call " #helper "\n	ldxdw r0, [r10-24]\n	mul r0, 1000\n"            \
	"	ldxdw r1, [r10-16]\n	add r0, r1\n	mul r0, 1000\n	ldxdw r1, [r10-8]\n"                    \
	"	add r0, r1\n	exit\n"

static const char *const number_programs[] = {
	INDICES(503),
	INDICES(504),
	INDICES(505),
	INDICES(508),
	"	call 8\n	exit\n",
	"	call 509\n	exit\n",
	"	call 510\n	exit\n",
	"	call 511\n	exit\n",
	"	call 506\n	exit\n",
	"	call 527\n	exit\n",
	"	call 528\n	exit\n",
	"	call 529\n	exit\n",
	"	call 520\n	exit\n",
	THREAD "	mov r1, r6\n	and r1, 3\n	call 521\n	exit\n",
	THREAD "	mov r1, r6\n	lsh r1, 40\n	or r1, r6\n	mov r2, r6\n	mul r2, "
	       "5\n	and r2, 63\n"
	       "	call 522\n	exit\n",
	THREAD "	lddw r1, 0x123456789abcdef1\n	mul r1, r6\n	call 523\n	exit\n",
};

TEST("helpers that return a number have the same results on the device as in the interpreter")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(number_programs); i++) {
		struct setup setup = {
			.text = number_programs[i], .grid = {3, 2, 2}, .block = {7, 5, 2}};

		EACH_FORM(setup)
		{
			struct outcome outcome = {0}, host = {0};

			run(&device, &setup, &outcome);
			interpret(&setup, &host, NULL);
			for (uint32_t j = 0; j < threads_of(&setup); j++)
				if (outcome.results[j] != host.results[j]) {
					TAP_FAIL("program %zu, sm_%u, thread %u: 0x%" PRIx64
						 ", not 0x%" PRIx64,
						 i, setup.sm, j, outcome.results[j],
						 host.results[j]);
					break;
				}
		}
	}
}

TEST("clocks advance, the process is the given one, random numbers differ")
{
	auto_device device = {0};
	struct setup setup = {.pid_tgid = 0x1234500006789, MANY};
	struct outcome outcome = {0};

	device_open(&device);
	setup.text = "	call 14\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK_INT(count_results(&outcome, 0x1234500006789), ALL);
	setup.text = "	call 5\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK(outcome.results[0] > 1000000000);
	setup.text = "	call 525\n	mov r6, r0\n	call 525\n	jge r0, r6, fine\n"
		     "	mov r0, 0\n	exit\nfine:\n	mov r0, 1\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK_INT(count_results(&outcome, 1), ALL);
	setup.text = "	call 7\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK(count_results(&outcome, (int64_t)outcome.results[0]) < 3);
	CHECK(outcome.results[0] <= UINT32_MAX);
}

TEST("exit ends the thread: nothing after it is executed")
{
	auto_device device = {0};
	struct setup setup = {.maps = {ARRAY(8, 1)},
			      .text = THREAD "	stw [r10-8], 0\n" KEY(0) "	mov r3, 1\n"
									 "	call 531\n"
									 "	jset r6, 1, on\n"
									 "	call 507\n"
									 "on:\n"
									 "	mov r0, 3\n"
									 "	exit\n",
			      MANY};
	struct outcome outcome = {0};

	device_open(&device);
	run(&device, &setup, &outcome);
	CHECK_INT(value_at(&setup, &outcome, 0, 0), ALL);
	CHECK_INT(count_results(&outcome, 3), ALL / 2);
}

TEST("a program that PTX cannot express is rejected with the reason")
{
	struct setup setup = {.maps = {HASH(264, 8, 4)}};
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct translated translated;
	struct gt_diag diag = {0};

	for (int i = 0; i < 33; i++)
		gt_strbuf_printf(&text, "	stdw [r10-%d], 0\n", 8 * (i + 1));
	gt_strbuf_puts(
		&text,
		"	ldmap r1, 0\n	mov r2, r10\n	add r2, -264\n	call 3\n	exit\n");
	setup.text = gt_strbuf_string(&text);
	CHECK(verify_setup(&setup, &translated));
	CHECK_INT(translate(&setup, &translated, &diag), -EOPNOTSUPP);
	CHECK_STR(diag.text, "map 'map0': keys of hash maps have at most 256 bytes on a GPU");
	translated_clear(&translated);
	gt_strbuf_free(&text);
}

TEST("ptxas accepts all translated programs, for old and new devices")
{
	static const unsigned devices[] = {75, 90, 120};

	NEED_TEXTS(31);
	for (size_t i = 0; i < loaded_count; i++)
		check_text_for(loaded_texts[i], devices[i / 3 % gt_countof(devices)]);
}

TEST_MAIN
