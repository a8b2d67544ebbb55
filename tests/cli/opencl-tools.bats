# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools that insert GPU programs, on the kernels of OpenCL programs (PoCL), and the launches that
# the programs see. launchlate needs BPF; nothing needs a GPU.

load helper
load opencl-kernels

launches=$build/tests/programs/opencl_launches

# tool NAME EXAMPLE: its report as JSON is $output, and what the example printed $printed.
tool() {
	need_cycle_counter
	need_file "$examples/opencl/opencl-$2" "OpenCL example"
	gputap "$1" --gpu soft --json -- "$examples/opencl/opencl-$2"
	expect_status 0
	printed=$(grep -v '^{' <<<"$output") output=$(grep '^{' <<<"$output")
}

@test "threadhist counts the loop iterations of each work-item of an OpenCL kernel" {
	tool threadhist reduce
	[ "$printed" = 'the sum is right' ]
	expect_json '.[0].threads | length == 65536 and all(.entries == 1 and .loops == 7)'
}

@test "cudacounter counts the work-items and work-groups of OpenCL kernels" {
	tool cudacounter queues
	expect_json '.[0].kernels | length == 1 and (.[0] | .kernel == "scale" and .entries == 65536 and
		.exits == 65536 and .blocks == 1024 and .time > 0 and .cycles > 0)'
}

@test "each of several OpenCL programs gets the programs of a tool that reads clocks" {
	need_cycle_counter
	gputap cudacounter --gpu soft -- sh -c '"$1" plain; "$1" plain; "$1" plain' sh "$kernels"
	expect_status 0
	expect_output_line '^right$'
	expect_error_line '^gputap: 3 modules: 3 patched \(3 side, 0 whole\), 0 SASS only, 0 failed'
}

@test "kernelretsnoop sees the work-items of each launch of an OpenCL kernel exit" {
	tool kernelretsnoop queues
	expect_json '.[0].launches | length == 4 and map(.launch) == [1, 2, 3, 4] and
		all(.kernel == "scale" and .threads == 16384 and .blocks == 256 and .blocks_open == 0 and
			.block_size == [64, 1, 1] and .first <= .last)'
	# Each waits for the one before.
	expect_json '.[0].launches | [range(3) as $i | .[$i].last <= .[$i + 1].first] | all'
}

@test "blocktime has the times of each work-group, its local memory, and no compute units" {
	tool blocktime queues
	expect_json '.[0].launches | length == 4 and map(.launch) == [1, 2, 3, 4] and
		all(.kernel == "scale" and .blocks == 256 and .block_threads == 64 and .block_shared == 0)'
	tool blocktime reduce
	expect_json '.[0].launches | length == 1 and (.[0] | .blocks == 512 and .block_threads == 128 and
		.block_shared == 512 and .balance == null and .occupancy == null and .busy > 0 and
		(.sms | map([.sm, .blocks])) == [[null, 512]])'
	gputap blocktime --gpu soft -- "$examples/opencl/opencl-reduce"
	expect_output_line '^ +1 +512 +128 +512 B .* -  [0-9.]+ % +-  +-  +-  reduce$'
	expect_output_line '^SMS -: it is unknown where blocks run\. BUSY is the share of TIME in which the device has blocks\.$'
	expect_output_line '^the blocks of launch 1, reduce, that run at once; a column is '
	expect_output_line '^      \|'
	expect_no_output_line 'on SM|1023'
	output=$("$build/gputap" blocktime --gpu soft --each -- "$examples/opencl/opencl-reduce" 2>/dev/null |
		grep -cE '^[0-9]+ to [0-9]+ ns: launch 1, block \([0-9]+,0,0\), reduce$')
	expect_output 512
}

@test "memtrace has the requests and bytes of each access of an OpenCL kernel" {
	tool memtrace reduce
	[ "$printed" = 'the sum is right' ]
	expect_json '.[0].accesses | map([.ptx, .requests, .bytes]) == [
		["OpLoad", 65536, 262144], ["OpStore", 65536, 262144], ["OpLoad", 65024, 260096],
		["OpLoad", 65024, 260096], ["OpStore", 65024, 260096], ["OpLoad", 512, 2048],
		["OpStore", 512, 2048]]'
}

@test "launchlate matches each launch of an OpenCL kernel with its call" {
	need_probes
	tool launchlate queues
	expect_json '.[0] | .violations == 0 and .ambiguous == 0 and .failed == 0 and .not_patched == 0 and
		.several == 0 and .calls_unmatched == 0 and .grids_unmatched == 0 and .records_lost == 0'
	# Kernels read the time stamp counter, as Linux does for CLOCK_MONOTONIC.
	expect_json '.[0] | .clock.error as $error | .launches | map(.launch) == [1, 2, 3, 4] and
		map(.call) == (map(.call) | sort) and
		all(.kernel == "scale" and (.latency - (.first - .call) | fabs) <= 2 * $error)'
}

@test "launchlate knows a kernel of OpenCL by its clone, and a task as a launch" {
	need_probes
	need_cycle_counter
	gputap launchlate --gpu soft --json -- "$launches" clones
	expect_output_line '^right$'
	output=$(grep '^{' <<<"$output")
	expect_json '.[0] | .calls_unmatched == 0 and .grids_unmatched == 0 and
		(.launches | map([.kernel, .launch])) == [range(1; 5) | ["number", .]]'
}

# expect_launches PROGRAM KEYS-AND-VALUES: how often a function that kernels call stored a number, by
# the number of the launch.
expect_launches() {
	cat >launches.c <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(stores, unsigned long long, 64);
		SEC("gpu/store/number") int count(struct gputap_memory *ctx) {
			unsigned int key = ctx->launch;
			unsigned long long *value = bpf_map_lookup_elem(&stores, &key);
			if (value) __sync_fetch_and_add(value, 1);
			return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c launches.c -o launches.o
	gputap run --gpu soft --json launches.o -- "$launches" "$1"
	expect_output_line '^right$'
	output=$(grep '^{' <<<"$output" | jq -rsc '.[0].maps[0].entries | map([.key, .value])')
	expect_output "$2"
}

@test "each launch of an OpenCL kernel has its own number, also where threads launch one kernel" {
	expect_launches threads "$(jq -nc '[range(1; 33) | [., 64]]')"
	expect_launches part '[[1,64],[2,64]]'
}

@test "a clone of an OpenCL kernel and a task are launches, with their own arguments" {
	expect_launches clones '[[1,64],[2,64],[3,1],[4,64]]'
}

@test "an OpenCL kernel whose programs read the launch has the arguments of the original" {
	expect_launches arguments '[[2,64]]'
}

@test "--gpu-times exact finds the first and last instruction of OpenCL kernels" {
	need_cycle_counter
	need_file "$examples/opencl/opencl-queues" "OpenCL example"
	gputap trace --gpu-times exact --gpu soft -- "$examples/opencl/opencl-queues"
	expect_error_line '^gputap: GPU times: exact for [1-4] of 4 kernels$'
}

@test "the local memory of a work-group is that of the kernel's variables and arguments" {
	object 'gpu/block_begin' '*value = bpf_shared_size()'
	gputap run --gpu soft program.o -- "$launches" local
	expect_output_line '^right$'
	expect_output_line '^  0: 272$'
	object 'gpu/block_begin' '*value = ctx->sm'
	gputap run --gpu soft program.o -- "$launches" local
	expect_output_line '^  0: 1023$'
}

@test "what tools cannot have in OpenCL kernels is reported before the command starts" {
	need_file "$examples/opencl/opencl-reduce" "OpenCL example"
	local reason='the target spirv does not have the cycles of an instruction'
	# The order of the lines is that in which they were written.
	observe sh -c '"$1" stall --gpu soft -- "$2" 2>&1 | sed -n "1,/^the sum/p"' sh "$build/gputap" \
		"$examples/opencl/opencl-reduce"
	expect_output "gputap: CUDA calls go to the software GPU, whose times say nothing about real GPUs
gputap: OpenCL kernels: after_load is not inserted: $reason
gputap: OpenCL kernels: after_atomic is not inserted: $reason
gputap: OpenCL kernels: after_barrier is not inserted: $reason
the sum is right"
	gputap hotloop --gpu soft -- "$examples/opencl/opencl-reduce"
	expect_error_line '^gputap: OpenCL kernels: end_loop is not inserted: gpu/loop_end is for CUDA kernels alone$'
	expect_output_line '^ +458752 +458752 +1\.0  SPIR-V [0-9]+ +reduce  OpBranch$'
}
