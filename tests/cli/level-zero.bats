# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that use Level Zero, on a driver for tests that executes kernels by OpenCL (PoCL).

load helper
load opencl-kernels

example=$build/examples/level-zero/level-zero-vectoradd
test_program=$build/tests/programs/level_zero/level_zero

setup() {
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR # a kernel is compiled once
	export ZE_ENABLE_ALT_DRIVERS=$build/tests/programs/level_zero/libze_standin.so
	cd "$BATS_TEST_TMPDIR" || return
	need_file "$ZE_ENABLE_ALT_DRIVERS" "driver of Level Zero for tests (libze-dev, ocl-icd-opencl-dev)"
	need_file "$example" "Level Zero example (libze-dev, clang-14, llvm-spirv-14)"
	clinfo -l 2>/dev/null | grep -q Device || skip "no OpenCL device (pocl-opencl-icd, clinfo)"
	count=$BATS_FILE_TMPDIR/count.o
	make_module
}

# A file number.spv with the kernel that the test programs launch.
make_module() {
	printf '%s\n' '__kernel void number(__global int *numbers, int first) {' \
		'numbers[get_global_id(0)] = first + (int)get_global_id(0); }' |
		clang-14 -c -x cl -cl-std=CL1.2 -O0 -Xclang -disable-O0-optnone -target spir64 \
			-emit-llvm -Xclang -finclude-default-header -o number.bc -
	llvm-spirv-14 --spirv-max-version=1.0 number.bc -o number.spv
}

# expect_original PATTERN PROGRAM: the test program is right, nothing is counted, and a line of the
# errors matches.
expect_original() {
	gputap run --gpu soft "$count" -- "$test_program" "$2"
	expect_status 0
	expect_output_line '^right$'
	expect_output_line '^  4 of 4 values are zero$'
	expect_error_line "$1"
}

@test "a program of Level Zero that executes a kernel is traced: its module, kernel and launch" {
	need_probes
	gputap trace -e level-zero -- "$example"
	expect_status 0
	expect_output_line '^262144 sums are right$'
	expect_error_line ' zeModuleCreate .* returned=Success phModule=0x'
	expect_error_line ' zeCommandListAppendLaunchKernel .* grid=1024x1x1 .*block=256x1x1 kernel=add\(0x[0-9a-f]+, 0x[0-9a-f]+, 0x[0-9a-f]+, 0x40000\)'
	expect_error_line '^gputap: 28 calls: 28 complete, 0 unfinished, 0 lost$'
}

@test "a launch of several kernels of Level Zero has the handles of all and the first one's name" {
	need_probes
	gputap trace -e level-zero -- "$test_program" kinds
	expect_status 0
	expect_error_line ' zeCommandListAppendLaunchMultipleKernelsIndirect .* numKernels=2 func=\[(0x[0-9a-f]+), \1\] .*kernel=number\('
}

@test "--gpu-times prints how many operations of Level Zero it does not time" {
	need_probes
	gputap trace --gpu-times all -- "$test_program" copies
	expect_status 0
	expect_output_line '^right$'
	expect_error_line '^gputap: GPU times: 0 operations timed; 2 not timed: of Level Zero$'
	gputap trace -- "$test_program" copies
	expect_no_error_line 'GPU times'
}

@test "an object counts the same threads in the CUDA example and in the Level Zero example" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counted "$count" "$example"
	[ "$printed" = '262144 sums are right' ]
	expect_output 262144,262144,1024,8192
	counted "$count" "$examples/vectoradd"
	expect_output 262144,262144,1024,8192
}

@test "launches by every function of Level Zero are counted, of lists that execute at once and again" {
	# By four functions, one of which launches one group more.
	expect_counts kinds 272,272,17,17
	expect_counts immediate 64,64,4,4
	expect_counts again 128,128,8,8
	expect_counts copies 64,64,4,4
}

@test "kernels that are created several times, of several modules and by threads are counted" {
	expect_counts several 320,320,20,20
	jq -e '.modules == 2 and .modules_side == 2 and .patched == 8' <<<"$coverage"
	expect_counts threads 4096,4096,256,256
}

@test "the patched form of a module has its build flags and constants, and the program gets its log" {
	STANDIN_LOG=1 gputap run --gpu soft "$count" -- "$test_program" constants
	expect_output_line '^right$'
	[ "$(grep -c '^module spirv flags=-ze-opt-level=2 constants=7:42$' <<<"$stderr")" = 2 ]
}

@test "a program sees neither the arguments nor the flags that its patched kernels have more" {
	object 'gpu/entry/*' '__sync_fetch_and_add(value, ctx->launch * 1000 + bpf_shared_size())'
	counted program.o "$test_program" arguments
	[ "$printed" = right ]
	expect_output 64000
	STANDIN_MEMORY=import counted program.o "$test_program" arguments
	[ "$printed" = right ]
	expect_output 64000
}

@test "each launch that is appended to a list of Level Zero has its own number" {
	object 'gpu/entry/*' '__sync_fetch_and_add(value, 1ull << 8 * (ctx->launch & 7))'
	counted program.o "$test_program" kinds
	[ "$printed" = right ]
	# Three of 64 threads, and two by one call.
	expect_output "$((64 << 8 | 64 << 16 | 64 << 24 | 80 << 32))"
}

@test "variables of a patched module are those of its kernels, and its native form is the original's" {
	STANDIN_LOG=1 gputap run --gpu soft "$count" -- "$test_program" variable
	expect_output_line '^right$'
	# The original is the first one.
	[ "$(grep -c '^variable of module 2$' <<<"$stderr")" = 2 ]
	expect_counts native ''
	jq -e '.modules == 2 and .modules_side == 1 and .modules_binary_only == 1' <<<"$coverage"
	gputap run --gpu soft "$count" -- "$test_program" native
	expect_error_line '^gputap: 1 module loaded as it is: no portable intermediate code: it was created from a binary$'
}

@test "modules that are linked later are loaded as they are" {
	expect_original '^gputap: 2 modules loaded as they are: it needs other modules, which zeModuleDynamicLink links$' link
}

@test "a module that one call creates of several is loaded as it is" {
	expect_original '^gputap: 1 module loaded as it is: it is created of several modules by one call$' program
}

@test "errors of Level Zero are the program's where modules are patched" {
	expect_counts wrong ''
}

@test "a patched module that the driver rejects is loaded as it was" {
	STANDIN_REJECT=2 expect_original \
		'^gputap: 1 module loaded as it is: the Level Zero driver rejected the patched module \(0x70000004\)$' plain
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 failed; 0 kernels, 0 compiled; 4 sites: 0 patched, 4 rejected$'
}

@test "the memory of the maps is mapped in contexts of devices without access to all memory" {
	STANDIN_MEMORY=import STANDIN_LOG=1 gputap run --gpu soft "$count" -- "$test_program" arguments
	expect_output_line '^right$'
	expect_output_line '^  0: 64$'
	# ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST, and the program's own.
	expect_error_line '^launch number indirect=3$'
	# Both areas, in the context of two modules.
	STANDIN_MEMORY=import STANDIN_LOG=1 gputap run --gpu soft "$count" -- "$test_program" several
	expect_output_line '^  0: 320$'
	[ "$(grep -c '^mapped memory$' <<<"$stderr")" = 2 ]
	[ "$(grep -c '^unmapped memory$' <<<"$stderr")" = 2 ]
	STANDIN_MEMORY=separate expect_original \
		'^gputap: 1 module loaded as it is: the GPU cannot access the memory of the maps$' arguments
}

@test "modules in which nothing matches are not patched" {
	object 'gpu/entry/other' '*value = 1'
	STANDIN_LOG=1 gputap run --gpu soft program.o -- "$test_program" plain
	expect_output_line '^right$'
	[ "$(grep -c '^module ' <<<"$stderr")" = 1 ]
}

@test "a program of Level Zero runs on without a collector, and after one that is killed" {
	observe env LD_PRELOAD="$build/src/agent/libgputap-agent.so" GPUTAP_AGENT_SOCKET=gputap-nobody-listens \
		"$test_program" arguments
	expect_output right
	expect_error ''
	observe env LD_PRELOAD="$build/src/agent/libgputap-agent.so" "$test_program" kinds
	expect_output right
	run_to_end sh -c 'kill -KILL $PPID; exec "$1" several' sh "$test_program"
	expect_output right
}

@test "a program that finds the functions of Level Zero by dlsym gets those of the agent" {
	cat >find.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		static const char *owner(void *handle, const char *name) {
			Dl_info found;
			void *function = dlsym(handle, name);
			if (!function || !dladdr(function, &found)) return "none";
			return strrchr(found.dli_fname, '/') + 1; }
		int main(void) {
			puts(owner(RTLD_NEXT, "zeModuleCreate"));
			void *library = dlopen("libze_loader.so.1", RTLD_NOW);
			puts(owner(library, "zeModuleCreate"));
			puts(owner(library, "zeCommandListAppendLaunchKernel"));
			puts(owner(library, "zeInit"));
			puts(owner(library, "zeModuleGetNothing"));
			return 0; }
	END
	cc find.c -o find
	observe env LD_PRELOAD="$build/src/agent/libgputap-agent.so" ./find
	expect_output "none
libgputap-agent.so
libgputap-agent.so
libze_loader.so.1
none"
}

@test "programs are inserted into the kernels of a process that opens Level Zero late" {
	make_late "$root/tests/programs/level_zero/level_zero.c" -lze_loader
	counted "$count" ./late several
	[ "$printed" = right ]
	expect_output 320,320,20,20
}

@test "programs that cannot be inserted into kernels of Level Zero are named before the command starts" {
	object 'gpu/line' '*value = 1'
	gputap run --gpu soft program.o -- "$test_program" plain
	expect_output_line '^right$'
	expect_error_line '^gputap: Level Zero kernels: program is not inserted: gpu/line is for CUDA kernels alone$'
}

# tool NAME: its report on the example as JSON is $output.
tool() {
	need_cycle_counter
	gputap "$1" --gpu soft --json -- "${@:2}"
	expect_status 0
	printed=$(grep -v '^{' <<<"$output") output=$(grep '^{' <<<"$output")
}

@test "threadhist, cudacounter and memtrace count in the kernel of the Level Zero example" {
	tool threadhist "$example"
	[ "$printed" = '262144 sums are right' ]
	expect_json '.[0].threads | length == 262144 and all(.entries == 1 and .loops == 0)'
	tool cudacounter "$example"
	expect_json '.[0].kernels | length == 1 and (.[0] | .kernel == "add" and .entries == 262144 and
		.exits == 262144 and .blocks == 1024 and .time > 0 and .cycles > 0)'
	tool memtrace "$example"
	expect_json '.[0].accesses | map([.ptx, .requests, .bytes]) ==
		[["OpLoad", 262144, 1048576], ["OpLoad", 262144, 1048576], ["OpStore", 262144, 1048576]]'
}

@test "kernelretsnoop and blocktime see the blocks of each launch of a Level Zero kernel" {
	tool kernelretsnoop "$test_program" several
	[ "$printed" = right ]
	expect_json '.[0].launches | map(.launch) == [1, 2, 3, 4, 5] and
		all(.kernel == "number" and .threads == 64 and .blocks == 4 and .blocks_open == 0 and
			.block_size == [16, 1, 1])'
	tool blocktime "$test_program" several
	expect_json '.[0].launches | map(.launch) == [1, 2, 3, 4, 5] and
		all(.kernel == "number" and .blocks == 4 and .block_threads == 16 and .block_shared == 0)'
}

@test "launchlate matches each launch that is appended to a list of Level Zero with its call" {
	need_probes
	tool launchlate "$test_program" several
	[ "$printed" = right ]
	expect_json '.[0] | .violations == 0 and .ambiguous == 0 and .failed == 0 and .not_patched == 0 and
		.several == 0 and .calls_unmatched == 0 and .grids_unmatched == 0 and .records_lost == 0'
	expect_json '.[0] | .clock.error as $error | .launches | map(.launch) == [1, 2, 3, 4, 5] and
		map(.call) == (map(.call) | sort) and
		all(.kernel == "number" and (.latency - (.first - .call) | fabs) <= 2 * $error)'
}
