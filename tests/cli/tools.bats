# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The GPU programs that ship, each a command with a report, on the software GPU. Needs no
# privileges and no GPU.

load helper

tool() {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	gputap "$1" --gpu soft "${@:2}"
	expect_status 0
}

@test "threadhist finds the thread that has less work than the others" {
	tool threadhist -- "$examples/uneven"
	expect_output "$(
		cat <<-'END'
			uneven: 1000000 products are right
			5 threads, 5 entries, 999995 loop iterations
			imbalance: thread 4 has 157891 loop iterations, 75 % of the 210526 of thread 0; the median is 210526
			     ITERATIONS                THREADS
			      131072 .. 262143              5  ########################################
		END
	)"
}

@test "threadhist --json has the counts of every thread" {
	tool threadhist --json -- "$examples/uneven"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].threads | map(.loops) == [210526, 210526, 210526, 210526, 157891]'
	expect_json '.[0].threads | map(.entries) == [1, 1, 1, 1, 1]'
}

@test "threadhist reports a kernel without loops" {
	tool threadhist -- "$examples/vectoradd"
	expect_output_line '^262144 threads, 262144 entries, 0 loop iterations$'
	expect_output_line '^no thread went back to the start of a loop$'
}

@test "cudacounter counts threads, blocks and cycles by kernel" {
	tool cudacounter -- "$examples/vectoradd"
	expect_output_line '^ENTRIES +EXITS +BLOCKS +CYCLES/WARP +KERNEL$'
	expect_output_line '^ +262144 +262144 +1024 +[1-9][0-9]* +add\(float const\*, float const\*, float\*, int\)$'
}

@test "cudacounter --json has a warp's cycles as a sum, and cuda-counter is its other name" {
	tool cuda-counter --json -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels | length == 1'
	expect_json '.[0].kernels[0] | .entries == 16384 and .exits == 16384 and .blocks == 64 and
		.warps == 512 and .cycles > 512'
}

@test "the counts are those of all launches and kernels of a program" {
	tool cudacounter --json -- "$examples/newlaunch"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels | map(.entries) == [3072]'
}

@test "threadhist reports what it has no room for" {
	tool threadhist --threads 262000 -- "$examples/vectoradd"
	expect_output_line '^262144 threads, 262144 entries, 0 loop iterations$'
	expect_no_output_line '^not counted'
	tool threadhist --threads 1024 -- "$examples/vectoradd"
	expect_output_line '^1024 threads, 1024 entries, 0 loop iterations$'
	expect_output_line '^not counted: 261120 entries and loop iterations of threads beyond --threads$'
	tool threadhist --json --threads 1024 -- "$examples/vectoradd"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].not_counted == 261120'
}

@test "cudacounter reports kernels that it has no counters for" {
	need_command gcc
	gcc -x c -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/many" - -L "$softgpu" \
		-l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		int main(void) {
			static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
				".visible .entry k()\n{\n\tret;\n}\n";
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			for (int i = 0; i < 4100; i++) {
				if (cuModuleLoadData(&module, text))
					return 1;
				cuModuleUnload(module);
			}
			return 0;
		}
	END
	gputap cudacounter --gpu soft -- "$BATS_TEST_TMPDIR/many"
	expect_status 0
	expect_output_line '^not counted: 4 kernels that were loaded after the first 4096$'
	gputap cudacounter --gpu soft --json -- "$BATS_TEST_TMPDIR/many"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels_not_counted == 4'
}

@test "a tool needs a command, and gives its exit status" {
	gputap threadhist
	expect_status 2
	expect_error "gputap: a command is needed: -- CMD (try 'gputap threadhist --help')"
	gputap cudacounter -- sh -c 'exit 9'
	expect_status 9
}
