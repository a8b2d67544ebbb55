# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GPU programs in OpenCL kernels on a device that does not access the memory of the process: it gets
# copies of the maps. The device is Oclgrind, which reports accesses outside of its memory.

load helper
load opencl-kernels

launches=$build/tests/programs/opencl_launches

# simulated MODULES COMMAND…: on all samples; so many modules have programs. The report is $output.
simulated() {
	need_oclgrind
	run_samples "${@:2}" --gpu soft --json
	expect_error_line "^gputap: 11 modules: $1 patched \($1 side, 0 whole\), 0 SASS only, 1 failed; "
	expect_error_line '^gputap: 1 module loaded as it is: images of integers lose their sign in SPIR-V 1.0$'
	expect_no_reports
}

@test "samples of OpenCL on a device with copies of the maps have the same results, exact counts and no wrong access" {
	simulated 10 run "$count"
	# All but those of the sample with images of integers.
	expect_json '.[0].maps[0].entries | map(.value) == [13312, 13312, 176, 416]'
	expect_json '.[0].coverage | .modules_copied == 10 and .found == 44 and .patched == 44'
	expect_error_line '^gputap: 10 modules for devices that do not access the memory of the process: the maps are copied to them before each launch, and what they change is merged after it$'
}

@test "samples of OpenCL have the same results in threadhist on a device with copies of the maps" {
	simulated 10 threadhist
	expect_json '.[0].threads | map(.entries) | add == 13312'
}

@test "kernelretsnoop and blocktime are rejected by name before the command starts on a device with copies of the maps" {
	simulated 0 kernelretsnoop
	expect_error_line '^gputap: OpenCL kernels: record_exit is not inserted: the target spirv does not have a clock of the device$'
	simulated 0 blocktime
	expect_error_line '^gputap: OpenCL kernels: begin_block is not inserted: the target spirv does not have a clock of the device$'
}

@test "memtrace sees the accesses of a kernel on a device with copies of the maps" {
	need_oclgrind
	gputap memtrace --gpu soft --json -- "$kernels" plain
	expect_status 0
	expect_output_line '^right$'
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].accesses | map([.function, .ptx, .requests, .bytes]) == [["number", "OpStore", 64, 256]]'
	expect_no_reports
}

@test "kernels are counted exactly, however they are built, on a device with copies of the maps" {
	need_oclgrind
	expect_counts options 128,128,8,8
	expect_counts callback 64,64,4,4
	expect_counts many 128,128,8,8
	expect_counts local 64,64,4,4
	expect_counts information 64,64,4,4
	expect_counts references 64,64,4,4
	test_program=$launches
	expect_counts arguments 64,64,4,4
	expect_no_reports
}

@test "launches before an event of the program, many launches and two contexts are counted exactly on copies of the maps" {
	cat >program.c <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(launches, unsigned long long, 256);
		GPUTAP_MAP(seen, GPUTAP_MAP_HASH, unsigned int, unsigned long long, 64);
		GPUTAP_RING(records, 65536);
		SEC("gpu/entry/*") int begin(struct gputap_context *ctx) {
			unsigned int launch = ctx->launch & 255, thread = ctx->thread_x;
			unsigned long long *record = bpf_ringbuf_reserve(&records, 8, 0);
			if (record) { *record = ctx->launch; bpf_ringbuf_submit(record, 0); }
			bpf_map_add(&launches, &launch, 1);
			bpf_map_add(&seen, &thread, 1);
			return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
	need_oclgrind
	gputap run --gpu soft --json program.o -- "$launches" queued
	expect_status 0
	expect_output_line '^right$'
	local records
	records=$(grep -c '^{"ring":' <<<"$output")
	output=$(grep '^{"maps":' <<<"$output")
	expect_json '.[0].maps | map({(.name): .}) | add | (.launches.entries | map(.value) == [range(200) | 64]) and
		(.seen.entries | map(.value) == [range(16) | 800])'
	# A record of each work-item, or the ring was full.
	[ "$(jq '.maps[] | select(.name == "records").lost' <<<"$output")" = $((200 * 64 - records)) ]
	((records > 4000))
	expect_no_reports
}

@test "maps on the host are rejected by name on a device with copies of the maps" {
	cat >program.c <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_MAP(seen, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
		SEC("gpu/entry/*") int begin(struct gputap_context *ctx) {
			unsigned int key = 1;
			return bpf_map_lookup_elem(&seen, &key) != 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
	need_oclgrind
	gputap run --gpu soft program.o -- "$kernels" plain
	expect_status 0
	expect_output_line '^right$'
	expect_error_line '^gputap: 1 site of begin rejected: a map on the host needs a device that accesses the memory of the process$'
}

@test "a device with copies of the maps needs them alone" {
	local program=$build/tests/programs/cuda_opencl
	need_file "$program" "test program (no clang that makes PTX)"
	need_oclgrind
	gputap run --gpu soft --host-maps "$count" -- "$program" cuda opencl
	expect_status 0
	expect_error_line '^gputap: 1 module loaded as it is: the device needs copies of the maps, and others access them$'
	gputap run --gpu soft --host-maps "$count" -- "$program" opencl cuda
	expect_status 0
	expect_error_line '^gputap: 1 module loaded as it is: the maps are copied to an OpenCL device, which needs them alone$'
	expect_no_reports
}
