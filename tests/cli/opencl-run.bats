# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GPU programs in the kernels of OpenCL programs: `gputap run`, through a layer of OpenCL's loader, on
# a device of the CPU (PoCL). Needs no privileges and no GPU.

load helper
load opencl-kernels

# accesses: compiles an object that counts at accesses of memory, branches, barriers and loops.
accesses() {
	cat >accesses.c <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(counts, unsigned long long, 11);
		static inline __attribute__((always_inline)) int add(unsigned int key, unsigned long long number) {
			unsigned long long *value = bpf_map_lookup_elem(&counts, &key);
			if (value) __sync_fetch_and_add(value, number);
			return 0; }
		SEC("gpu/load") int load(struct gputap_memory *ctx) {
			return add(0, 1) + add(1, ctx->width) + add(2, ctx->value); }
		SEC("gpu/store") int store(struct gputap_memory *ctx) {
			return add(3, 1) + add(4, ctx->width) + add(5, ctx->value); }
		SEC("gpu/memory") int memory(struct gputap_memory *ctx) { return add(6, 1); }
		SEC("gpu/branch") int branch(struct gputap_branch *ctx) { return add(7, 1); }
		SEC("gpu/barrier") int barrier(struct gputap_barrier *ctx) { return add(8, 1); }
		SEC("gpu/loop") int loop(struct gputap_context *ctx) { return add(9, 1); }
		SEC("gpu/load.warp") int lanes(struct gputap_memory *ctx) {
			return add(10, __builtin_popcount(ctx->mask)); }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c accesses.c -o accesses.o
}

@test "an object counts the same threads in the CUDA example and in the OpenCL example" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	need_file "$examples/opencl/opencl-vectoradd" "OpenCL example"
	counted "$count" "$examples/opencl/opencl-vectoradd"
	[ "$printed" = '262144 sums are right' ]
	expect_output 262144,262144,1024,8192
	counted "$count" "$examples/vectoradd"
	expect_output 262144,262144,1024,8192
}

@test "an object counts the same accesses in the CUDA example and in the OpenCL example" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	need_file "$examples/opencl/opencl-vectoradd" "OpenCL example"
	accesses
	counted accesses.o "$examples/opencl/opencl-vectoradd"
	[ "$printed" = '262144 sums are right' ]
	local opencl=$output
	counted accesses.o "$examples/vectoradd"
	expect_output "$opencl"
	# Loads, their bytes and the sum of what they load, the same of stores, both, branches, and the
	# threads that programs of warps see; no barriers and loops.
	expect_output 524288,2097152,631117417807872,262144,1048576,318472402484160,786432,262144,524288
}

@test "kernels count their accesses of local memory, barriers and passes of loops" {
	need_file "$examples/opencl/opencl-reduce" "OpenCL example"
	accesses
	counted accesses.o "$examples/opencl/opencl-reduce"
	[ "$printed" = 'the sum is right' ]
	# 512 groups of 128: each loads 128 numbers, and 254 and 1 parts.
	expect_output 196096,784384,2654100,131072,524288,2654100,327168,1048576,458752,458752,196096
}

@test "reports of accesses and branches have a row for each instruction of an OpenCL kernel" {
	need_file "$examples/opencl/opencl-reduce" "OpenCL example"
	gputap memtrace --gpu soft -- "$examples/opencl/opencl-reduce"
	expect_status 0
	[ "$(grep -c '  SPIR-V [0-9]* *reduce  Op\(Load\|Store\)$' <<<"$output")" = 7 ]
	gputap divergence --gpu soft -- "$examples/opencl/opencl-reduce"
	[ "$(grep -c '  SPIR-V [0-9]* *reduce  OpBranchConditional$' <<<"$output")" = 3 ]
	expect_error_line '^gputap: at 3 sites in SPIR-V kernels, programs that run once per warp run for each work-item alone: they see no coalescing and no divergence$'
	gputap threadhist --gpu soft -- "$examples/opencl/opencl-reduce"
	expect_no_error_line 'work-item'
}

@test "kernels with local memory and barriers, and several queues, are counted" {
	need_file "$examples/opencl/opencl-matmul" "OpenCL example"
	counted "$count" "$examples/opencl/opencl-matmul"
	[ "$printed" = '0 elements are wrong' ]
	expect_output 16384,16384,64,512
	counted "$count" "$examples/opencl/opencl-reduce"
	[ "$printed" = 'the sum is right' ]
	expect_output 65536,65536,512,2048
	counted "$count" "$examples/opencl/opencl-queues"
	expect_output 65536,65536,1024,2048
}

@test "build options, included files, inline functions, callbacks, threads and many kernels keep their meaning" {
	printf '%s\n' '__kernel void number(__global int *numbers, int first) {' \
		'numbers[get_global_id(0)] = first + (int)get_global_id(0); }' >opencl_number.h
	expect_counts plain 64,64,4,4
	expect_counts options 128,128,8,8
	expect_counts include 64,64,4,4
	expect_counts inline 64,64,4,4
	expect_counts callback 64,64,4,4
	expect_counts threads 256,256,16,16
	expect_counts many 128,128,8,8
	jq -e '.kernels == 200 and .found == 800 and .patched == 800' <<<"$coverage"
}

@test "programs are inserted into the kernels of a process that opens OpenCL late" {
	need_command cc
	make_late "$root/tests/programs/opencl_kernels.c" -lOpenCL
	counted "$count" ./late plain
	[ "$printed" = right ]
	expect_output 64,64,4,4
}

@test "a program is compiled with the version and the extensions of its device" {
	expect_counts defined 64,64,4,4
}

@test "functions of the device's library, and options for its compiler alone, do not matter" {
	expect_counts library 64,64,4,4
	jq -e '.kernels == 3 and .modules_failed == 0' <<<"$coverage"
}

@test "kernels with fences are counted" {
	expect_counts fences 64,64,4,4
	jq -e '.modules_failed == 0' <<<"$coverage"
}

@test "what OpenCL says of programs and kernels is what it says without gputap" {
	expect_counts information 64,64,4,4
	expect_counts references 64,64,4,4
}

# expect_same_results PROGRAM: a part of the test program prints the same number with a program in its kernel.
expect_same_results() {
	observe "$kernels" "$1"
	[[ $output =~ ^[0-9a-f]{8}$'\n'right$ ]] || fail "$1 without gputap: $output"
	local plain=$output
	object 'gpu/entry/*' '__sync_fetch_and_add(value, 1)'
	counted program.o "$kernels" "$1"
	[ "$printed" = "$plain" ] || fail "without gputap: $plain; with it: $printed"
	expect_output 64
}

@test "an instrumented kernel rounds as without gputap" {
	expect_same_results rounding
}

@test "an instrumented kernel has the sizes and numbers of dimensions that it has without gputap" {
	expect_same_results dimensions
}

@test "an instrumented kernel prints numbers, strings and vectors as without gputap" {
	observe "$kernels" printf
	expect_output_line '^5    5\|5   \|0005 \+5 ff 0XFF 10 7 c %$'
	expect_output_line '^5,1 5,1,2 5,1,2,3 5,-1 5,1,2,-3 5,1,2,3,4,5,6,7$'
	local plain=$output
	object 'gpu/entry/*' '__sync_fetch_and_add(value, 1)'
	counted program.o "$kernels" printf
	[ "$printed" = "$plain" ] || fail "without gputap: $plain; with it: $printed"
	expect_output 64
}

@test "functions of OpenCL C 2.0 take pointers on a device without generic ones" {
	expect_same_results pointers
	# PoCL ends the process when it launches such a kernel of SPIR.
	observe "$kernels" generic
	local plain=$output
	gputap run --gpu soft "$count" -- "$kernels" generic
	expect_status 0
	[[ $output == "$plain"* ]] || fail "without gputap: $plain; with it: $output"
	expect_error_line '^gputap: 1 module loaded as it is: wait_group_events with generic pointers is not supported$'
}

@test "a program that does not compile has its own error, and no module is counted" {
	gputap run --gpu soft "$count" -- "$kernels" malformed
	expect_status 0
	expect_output_line '^right$'
	expect_error_line '^gputap: 0 modules: '
	expect_error_line '^gputap: the agent saw no module of CUDA or Level Zero, and no program of OpenCL: the command created none, could not load the agent \(a static or set-user-ID program\) or could not connect to gputap \(seccomp, another network namespace\)$'
}

@test "--kernel selects kernels by their names, --when and --switchable work" {
	gputap run --gpu soft --kernel number7 "$count" -- "$kernels" many
	expect_output_line '^right$'
	expect_error_line '1 kernel, 200 compiled; 4 sites: 4 patched'
	object 'gpu/entry/*' '__sync_fetch_and_add(value, 1)'
	gputap run --gpu soft --when 'block_x == 1' program.o -- "$kernels" plain
	expect_output_line '^  0: 16$'
	gputap run --gpu soft --switchable program.o -- "$kernels" plain
	expect_output_line '^  0: 64$'
	gputap run --gpu soft --switchable --start-off program.o -- "$kernels" plain
	expect_output_line '^right$'
	expect_output_line '1 of 1 values are zero'
}

@test "a program sees the numbers of its kernel, its site and its thread" {
	object 'gpu/exit/*' '__sync_fetch_and_add(value, 1000 * ctx->argument_count + 100 * ctx->site + 10 * ctx->kernel + (ctx->thread_x == 15))'
	# The entry has no program, so that its exit is site 0; 4 of 64 threads are the 16th.
	gputap run --gpu soft program.o -- "$kernels" plain
	expect_output_line '^  0: 128004$'
	# The second kernel of the second program.
	gputap run --gpu soft program.o -- "$kernels" options
	expect_output_line '^  0: 263048$'
}

# expect_original REASON COMMAND…: the program runs as it is, and the reason is named.
expect_original() {
	gputap run --gpu soft program.o -- "${@:2}"
	expect_status 0
	expect_output_line '^right$'
	expect_error_line "$1"
}

@test "--save-modules writes the SPIR-V of OpenCL programs that is built in place of them" {
	need_command spirv-dis
	object 'gpu/entry/*' '*value = 1'
	gputap run --gpu soft program.o -- "$kernels" plain
	expect_status 0
	expect_output_line '^right$'
	[ "$(ls "$modules")" = module-1.spv ] || fail "$(ls "$modules")"
	output=$(spirv-dis "$modules/module-1.spv")
	expect_output_line 'OpEntryPoint Kernel'
	# That of the map.
	expect_output_line 'OpConvertUToPtr'
}

@test "an OpenCL program of a process that executes patched CUDA kernels is rejected, and inserted with --host-maps" {
	local program=$build/tests/programs/cuda_opencl
	need_file "$program" "test program (no clang that makes PTX)"
	counted "$count" "$program" opencl cuda opencl
	expect_output 192,192,5,6
	gputap run --gpu soft "$count" -- "$program" cuda opencl cuda
	expect_output_line '^opencl 189$'
	expect_output_line '^  0: 128$'
	expect_error_line '^gputap: 2 modules: 1 patched .* 1 failed; 1 kernel, .* 8 sites: 4 patched, 4 rejected$'
	expect_error_line '^gputap: 1 module loaded as it is: the maps are in memory of the GPU since the process executes patched CUDA kernels: use --host-maps$'
	gputap run --gpu soft --host-maps "$count" -- "$program" cuda opencl cuda
	expect_output_line '^opencl 189$'
	expect_output_line '^  0: 192$'
	expect_error_line '^gputap: 2 modules: 2 patched '
}

@test "what cannot be inserted into OpenCL kernels is rejected by name" {
	object 'gpu/store' '*value = bpf_instruction_cycles()'
	expect_original '^gputap: 1 site of program rejected: the target spirv does not have the cycles of an instruction$' "$kernels" plain
	object 'gpu/entry.warp/*' '*value = bpf_warp_lane_value(GPUTAP_LANE_THREAD_X, 3)'
	expect_original '^gputap: 1 site of program rejected: the target spirv does not support warp_lane_value, which needs values of other lanes$' "$kernels" plain
}

@test "what cannot be inserted into OpenCL kernels is reported before a program that is linked with OpenCL starts" {
	cat >programs.c <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(values, unsigned long long, 1);
		#define PROGRAM(section, name, expression) \
			SEC(section) int name(struct gputap_context *ctx) { \
				unsigned int key = 0; \
				unsigned long long *value = bpf_map_lookup_elem(&values, &key); \
				if (value) __sync_fetch_and_add(value, expression); \
				return 0; }
		PROGRAM("gpu/load", cycles, bpf_instruction_cycles())
		PROGRAM("gpu/entry/*", fine, 1)
		PROGRAM("gpu/line", lines, 1)
		PROGRAM("gpu/loop_end", passes, 1)
		PROGRAM("gpu/call/*", calls, 1)
		PROGRAM("gpu/copy", copies, 1)
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c programs.c -o program.o
	# In the order in which they were written: the command's output is the last line.
	observe sh -c '"$1" run --gpu soft program.o -- "$2" plain 2>&1 | sed "/^right/q"' sh "$build/gputap" "$kernels"
	expect_output 'gputap: CUDA calls go to the software GPU, whose times say nothing about real GPUs
gputap: OpenCL kernels: cycles is not inserted: the target spirv does not have the cycles of an instruction
gputap: OpenCL kernels: lines is not inserted: gpu/line is for CUDA kernels alone
gputap: OpenCL kernels: passes is not inserted: gpu/loop_end is for CUDA kernels alone
gputap: OpenCL kernels: calls is not inserted: gpu/call/* is for CUDA kernels alone
gputap: OpenCL kernels: copies is not inserted: gpu/copy is for CUDA kernels alone
right'
	gputap run --gpu soft program.o -- true
	expect_no_error_line 'OpenCL kernels'
}

# now: CLOCK_MONOTONIC in ns, as the interpreter reads it.
now() {
	printf '%d' "0x$("$build/gputap" exec now.o)"
}

# clock_objects: compiles now.o, and program.o, which reads a clock in kernels.
clock_objects() {
	need_cycle_counter
	cat >now.c <<-'END'
		#include <gputap/bpf.h>
		SEC("gpu/run") long run(void *memory) { return bpf_get_globaltimer(); }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c now.c -o now.o
	object 'gpu/store' '*value = bpf_get_globaltimer()'
}

@test "programs in OpenCL kernels read clocks" {
	clock_objects
	local before after
	before=$(now)
	counted program.o "$kernels" plain
	after=$(now)
	[ "$printed" = right ]
	((before < output && output < after)) || fail "$before, $output, $after"
	gputap cudacounter --gpu soft --json -- "$kernels" plain
	expect_status 0
	grep '^{' <<<"$output" | jq -se '.[0].kernels[0].cycles > 0'
}

@test "the module of an unchanged program with a clock is that of the run before, which PoCL compiled" {
	clock_objects
	local first
	counted program.o "$kernels" plain
	[ "$printed" = right ]
	first=$(cd "$POCL_CACHE_DIR" && find . -name '*.so' | sort)
	[ -n "$first" ] || skip "PoCL keeps nothing here"
	mv "$modules" first
	counted program.o "$kernels" plain
	[ "$printed" = right ]
	[ -n "$(ls first)" ]
	diff -r first "$modules"
	diff <(echo "$first") <(cd "$POCL_CACHE_DIR" && find . -name '*.so' | sort)
}

@test "a device whose kernels were not seen to read the counter has no clock" {
	clock_objects
	# The first conversion from SPIR-V is that of the kernel that shows whether they do.
	local tool
	tool=$(command -v llvm-spirv-14 || command -v llvm-spirv)
	fake llvm-spirv "[ \"\$1\" = -r ] && mkdir '$PWD/checked' && exit 1; exec '$tool' \"\$@\""
	expect_original '^gputap: 1 site of program rejected: the target spirv does not have a clock of the device$' "$kernels" plain
	expect_error_line '^gputap: OpenCL kernels: program is not inserted: the target spirv does not have a clock of the device$'
	[ -d checked ]
}

@test "without a compiler a program is source only" {
	object 'gpu/entry/*' '*value = 1'
	mkdir bin
	# PoCL links its kernels.
	ln -s "$(command -v ld)" bin/ld
	observe env PATH="$PWD/bin" "$build/gputap" run --gpu soft program.o -- "$kernels" plain
	expect_status 0
	expect_output_line '^right$'
	expect_error_line '^gputap: 1 module loaded as it is: source only: clang and llvm-spirv of one version, 14 or newer, compile it$'
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 source only, 0 failed'
}

@test "a compiler that fails is named with its message, and the program is built as it is" {
	object 'gpu/entry/*' '*value = 1'
	fake clang 'echo no luck today >&2; exit 3'
	expect_original '^gputap: 1 module loaded as it is: clang-14 failed \(status 3\): no luck today$' "$kernels" plain
}

@test "a program that the device rejects once patched is built as it was" {
	object 'gpu/entry/*' '*value = 1'
	# Only the conversion from SPIR-V (-r), of what was patched, is wrong.
	local tool
	tool=$(command -v llvm-spirv-14 || command -v llvm-spirv)
	fake llvm-spirv "[ \"\$1\" = -r ] || exec '$tool' \"\$@\"; echo this is no bitcode"
	expect_original '^gputap: 1 module loaded as it is: the OpenCL library rejected the patched program \(CL_[A-Z_]+\)$' "$kernels" plain
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 failed; 0 kernels, 0 compiled; 1 site: 0 patched, 1 rejected$'
}

@test "a program that needs too much local memory once patched is built as it was" {
	object 'gpu/entry/*' '*value = 1'
	expect_original '^gputap: 1 module loaded as it is: the OpenCL library rejected the patched program \(CL_OUT_OF_RESOURCES\)$' "$kernels" local
}

@test "a program that is patched too late is built as it is" {
	object 'gpu/entry/*' '*value = 1'
	# It compiles until the program has ended. The deadline is long, since it holds for earlier requests, too.
	fake clang "while [ ! -e '$PWD/ended' ]; do sleep 0.1; done; exit 1"
	GPUTAP_AGENT_DEADLINE=3000 expect_original '^gputap: 1 module: 0 patched' \
		sh -c '"$1" plain; : >ended' sh "$kernels"
}

@test "an OpenCL program runs on when the collector is killed: before, while and after it patches" {
	run_to_end "$kernels" orphaned
	expect_output right
	run_to_end "$kernels" orphaned-later
	expect_output right
	fake clang 'kill -KILL $PPID; exit 1'
	run_to_end "$kernels" plain
	expect_output right
}

@test "the layer changes nothing without the agent, and without a collector" {
	local layer=$build/src/agent/libgputap-opencl.so
	observe env OPENCL_LAYERS="$layer" "$kernels" information
	expect_output right
	expect_error ''
	observe env OPENCL_LAYERS="$layer" GPUTAP_AGENT_SOCKET=gputap-nobody-listens "$kernels" information
	expect_output right
	observe env OPENCL_LAYERS="$layer" GPUTAP_AGENT_SOCKET=gputap-nobody-listens \
		LD_PRELOAD="$build/src/agent/libgputap-agent.so" "$kernels" information
	expect_output right
	expect_error ''
}
