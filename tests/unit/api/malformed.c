/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Malformed records: truncated ones, and ones with wrong counts. */
#include <sys/mman.h>
#include <unistd.h>

#include "api_record.h"

TEST("a size that overflows is not known")
{
	struct built call = begin("cudaMemcpy2D");
	uint64_t bytes = 7;

	pass(&call, "width", UINT64_MAX);
	pass(&call, "height", 2);
	CHECK(!gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 7);
}

TEST("slots that a record lacks are unknown, not read")
{
	struct built call = begin("cudaMemcpyAsync");

	pass(&call, "dst", 1);
	pass(&call, "src", 2);
	pass(&call, "count", 3);
	call.call.slots = 2;
	CHECK_STR(details(&call), "size=? bytes kind=? stream=? dst=0x1 src=0x2");
	CHECK_STR(json(&call), "{\"dst\":\"0x1\",\"src\":\"0x2\",\"count\":null,\"kind\":null,"
			       "\"stream\":null}");
	CHECK_INT(gt_call_direction(decoded(&call)), -1);
}

TEST("a slot that a record lacks is not taken from the copies behind the slots")
{
	struct built call = begin("cudaLaunchKernelExC");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	point(&call, "config", &config, sizeof(config));
	call.call.slots = 0;
	CHECK_STR(details(&call), "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=?");
}

TEST("a record that claims more slots than it has words is truncated at its end")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	finish(&call);
	call.call.slots = 255;
	call.call.head.size = (__u16)(sizeof(call.call) + 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_call truncated;
		uint64_t number;

		gt_call_decode(&truncated, &call.layout, &call.call);
		gt_call_format_arguments(&buffer, &truncated);
		CHECK_STR(gt_strbuf_string(&buffer), "size=?");
		CHECK(!gt_call_number(&truncated, 1, &number));
		CHECK(!gt_call_number(&truncated, 0, &number));
		CHECK(!gt_call_number(&truncated, 99, &number));
	}
}

TEST("copies that a record claims and does not have are unknown")
{
	struct built call = begin("cudaLaunchKernelExC");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	pass(&call, "config", 0x7ffc00004000);
	pass(&call, "func", 0x401136);
	call.call.copied = 0xff;
	memcpy(call.copies[0], &config, sizeof(config));
	finish(&call);
	call.call.head.size = (__u16)(sizeof(call.call) + (call.call.slots + 2u) * 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_call truncated;

		gt_call_decode(&truncated, &call.layout, &call.call);
		gt_call_format_entry(&buffer, &truncated);
		CHECK_STR(gt_strbuf_string(&buffer),
			  "grid=4x2x1 block=256x?x? shared=? stream=? func=0x401136");
	}
}

TEST("a truncated structure by value shows its captured part")
{
	struct built call = begin("cudaLaunchKernel");

	pass(&call, "func", 0x401136);
	pass_launch(&call);
	call.call.slots = 2;
	CHECK_STR(details(&call), "func=0x401136 grid=4x1x? block=?x?x? shared=? stream=?");
	CHECK_STR(json(&call), "{\"func\":\"0x401136\",\"gridDim\":[4,1,null],\"blockDim\":null,"
			       "\"args\":null,\"sharedMem\":null,\"stream\":null}");
}

TEST("the live view omits absent inputs, and the address of a kernel's name")
{
	struct built load = begin("cuLibraryLoadData");
	struct built look = begin("cuLibraryGetKernel");
	gt_auto_strbuf nothing = GT_STRBUF_INIT, named = GT_STRBUF_INIT;

	for (unsigned i = 1; i < load.function->argument_count; i++)
		pass(&load, load.function->arguments[i].name, i == 1 ? 0x7000 : 0);
	gt_call_format_entry(&nothing, decoded(&load));
	CHECK_STR(gt_strbuf_string(&nothing), "code=0x7000 numJitOptions=0 numLibraryOptions=0");
	pass(&look, "library", 0x5000);
	pass(&look, "name", 0x6000);
	gt_call_format_entry(&named, decoded(&look));
	CHECK_STR(gt_strbuf_string(&named), "library=0x5000");
}

static void decode_everything(const struct gt_call *call)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&buffer);
	uint64_t number, sizes[GT_API_MAX_SIZES];
	struct gt_call_naming naming;
	struct gt_call_launch launch;
	struct gt_copy_ends ends;

	gt_call_format_arguments(&buffer, call);
	gt_call_format_entry(&buffer, call);
	gt_call_format_return(&buffer, call);
	gt_call_json_arguments(&writer, NULL, call);
	gt_call_json_operation(&writer, call);
	gt_call_bytes(call, &number);
	gt_call_list_sizes(call, sizes);
	gt_call_direction(call);
	gt_call_kernel(call, &number);
	gt_call_naming(call, &naming);
	gt_call_launch(call, &launch);
	gt_call_copy_ends(call, &ends);
	gt_call_stream(call, &number);
	gt_call_allocated(call, &number);
	gt_call_allocated_bytes(call, &number);
	CHECK(!buffer.failed);
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		struct gt_api_value value = gt_call_argument_value(call, i);
		struct gt_api_value pointed = gt_call_pointed_value(call, i);

		gt_call_number(call, i, &number);
		CHECK(value.size <= value.type->size);
		CHECK(!pointed.size || pointed.size <= pointed.type->size);
	}
}

/* Decodes one record as every row would, on both machines. */
static void decode_as_all(const struct gt_event_call *event)
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_layout layout;
			struct gt_call call;

			gt_api_lay_out(gt_api_function(i), (enum gt_machine)machine, &layout);
			gt_call_decode(&call, &layout, event);
			decode_everything(&call);
		}
	}
}

/* A record of `size` bytes that ends where a page begins that cannot be read. */
static struct gt_event_call *record_before_guard(void *pages, size_t page, size_t size)
{
	return (struct gt_event_call *)((char *)pages + page - size);
}

TEST("records of every size and every claim are decoded as every row without a read past the end")
{
	static const uint8_t slots[] = {0, 1, 7, 16, 64, 255};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t state = 88172645463325252;
	void *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && !mprotect((char *)pages + page, page, PROT_NONE));
	for (unsigned words = 0; words <= 48; words += words < 4 ? 1 : 11) {
		size_t size = sizeof(struct gt_event_call) + (size_t)words * 8;
		struct gt_event_call *call = record_before_guard(pages, page, size);

		for (size_t i = 0; i < gt_countof(slots); i++) {
			for (size_t j = 0; j < size / 8; j++) {
				state ^= state << 13, state ^= state >> 7, state ^= state << 17;
				((uint64_t *)call)[j] = state;
			}
			call->head.size = (__u16)size;
			call->head.kind = i % 2 ? GT_EVENT_call : GT_EVENT_entry;
			call->slots = slots[i];
			call->copied = i % 3 ? 0xff : 0x5;
			call->result = i % 2 ? 0 : call->result;
			call->state = 0;
			decode_as_all(call);
		}
	}
	munmap(pages, 2 * page);
}

TEST("a record shorter than its head has no words")
{
	struct built built = begin("cudaMalloc");
	struct gt_call call;

	finish(&built);
	built.call.head.size = 8;
	gt_call_decode(&call, &built.layout, &built.call);
	CHECK_INT(call.words, 0);
}

TEST_MAIN
