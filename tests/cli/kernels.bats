# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Launches by kernel, of programs that know how many they make.

load helper

mix=$build/tests/programs/mix

setup() {
	need_probes
	need_file "$examples/streams" "example (clang for PTX)"
	cd "$BATS_TEST_TMPDIR" || return
}

# The rows in $output, a JSON array.
kernels() {
	gputap kernels --json -o kernels.json "$@"
	expect_status 0
	output=$(cat kernels.json)
}

@test "a kernel's launches are counted under its name, with grid and block" {
	kernels -- "$examples/streams"
	expect_json '.[0].kernels | length == 1'
	expect_json '.[0].kernels[0] | .kernel == "steps(unsigned int*, int)" and .launches == 8 and .failed == 0'
	expect_json '.[0].kernels[0].configurations == [{launches: 8, grid: [256, 1, 1], block: [256, 1, 1], shared: 0}]'
	expect_json '.[0].kernels[0] | .duration.count == 8 and .since.count == 7 and .duration.p50 <= .duration.p99'
}

@test "launches of two streams are two rows by stream, of one place one row by stack" {
	kernels --by stream -- "$examples/streams"
	expect_json '.[0].kernels | length == 2 and all(.launches == 4)'
	kernels --by stack -- "$examples/streams"
	expect_json '.[0].kernels | length == 1 and (.[0].stack.frames | any(.function == "main"))'
}

@test "a launch that fails is counted as failed" {
	kernels -- "$examples/failures"
	expect_json '.[0].kernels | length == 1 and .[0].launches == 1 and .[0].failed == 1'
}

@test "launches of the driver API and of nvcc 13 are counted like others, in either layer" {
	for program in driver newlaunch finddriver; do
		kernels -- "$examples/$program"
		once=$(jq -c '.kernels | map(.launches)' kernels.json)
		[ "$once" != '[]' ] || fail "$program has no launches"
		kernels -v -- "$examples/$program"
		[ "$(jq -c '.kernels | map(.launches)' kernels.json)" = "$once" ]
	done
}

@test "what eight threads of four processes launch is counted as they count it" {
	need_file "$mix" "program of CUDA (clang for PTX)"
	gputap kernels --by process --json -o kernels.json -- "$mix" 500 8 4
	expected=$(jq -cS --slurp '[.[] | {pid, launches, failed: .failed_launches}] | sort_by(.pid)' <<<"$output")
	found=$(jq -cS '[.kernels[] | {pid, launches, failed}] | sort_by(.pid)' kernels.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
}

@test "static shared memory is known from PTX, and registers without a cubin are unknown" {
	kernels -- "$examples/reduce"
	expect_json '.[0].kernels | length == 1 and (.[0] | .static_shared == 128 and .registers == null and .registers_unknown == "ptx" and .compiled == [])'
	gputap kernels -o kernels.txt -- "$examples/reduce"
	grep -qE '^ +1 +0 .* +32 +256 +- +128 B +0 B  reduce$' kernels.txt || fail "$(cat kernels.txt)"
	grep -qxF 'TOTAL to SINCE are times of the launching calls on the host, not of the kernels.' kernels.txt
	grep -qxF 'REGS of 1 row: unknown, since the kernel exists only as PTX, which the driver compiles.' kernels.txt
}

@test "registers and shared memory of a program of nvcc are what ptxas said" {
	PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
	command -v nvcc >/dev/null || skip "there is no nvcc"
	nvcc -o reduce -cudart shared -gencode arch=compute_75,code='[sm_75,compute_75]' -Xptxas -v \
		-I "$root/examples" "$root/examples/reduce.cu" 2>ptxas.log
	registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' ptxas.log | head -n 1)
	shared=$(sed -n 's/.* \([0-9]*\) bytes smem.*/\1/p' ptxas.log | head -n 1)
	kernels -- ./reduce
	expect_json ".[0].kernels[0] | .registers == $registers and .registers_unknown == null and .static_shared == $shared"
	expect_json '.[0].kernels[0].compiled | length == 1 and .[0].architecture == 75'
}

@test "launches by graphs are counted as theirs, and captured ones not before" {
	need_file "$build/tests/programs/graphs" "program of CUDA (clang for PTX)"
	for layers in '' -v; do
		# shellcheck disable=SC2086
		kernels $layers -- "$build/tests/programs/graphs" 5
		expect_json '.[0].kernels | map(select(.graph)) | length == 2 and all(.launches == 5 and .unknown == 0)'
		expect_json '.[0].kernels | map(select(.kernel == "twice(int*)")) | length == 1 and
			(.[0] | .launches == 0 and .captured == 2 and .by_graphs == 10 and .duration.count == 0)'
		expect_json '.[0].kernels[] | select(.kernel == "twice(int*)") | .configurations | map([.launches, .grid, .block]) | sort ==
			[[5, [1, 1, 1], [32, 1, 1]], [5, [1, 1, 1], [64, 1, 1]]]'
	done
}

@test "each form of launch is counted once, nodes at the launches of their graph" {
	need_file "$build/tests/programs/launches" "program launches"
	for layers in '' -v; do
		# shellcheck disable=SC2086
		kernels $layers -- "$build/tests/programs/launches"
		expect_json '.[0].kernels[] | select(.kernel == "scale") |
			.launches == 7 and .failed == 3 and .captured == 2 and .by_graphs == 4'
		expect_json '.[0].kernels[] | select(.kernel == "scale") | .configurations | length == 9 and
			any(. == {launches: 2, grid: [5, 1, 1], block: [96, 1, 1], shared: 0})'
		expect_json '.[0].kernels | map(select(.graph)) | all(.launches == 2 and .unknown == 0)'
	done
}

# expect_callers CALLERS: the column CALLED BY of kernels.txt, sorted and by function
# and line alone.
expect_callers() {
	local found
	found=$(sed -nE 's/^ .* B  ([^ (+]+)[^ ]* \(([^)]*)\)  .*/\1 \2/p' kernels.txt | sort)
	[ "$found" = "$1" ] || fail "found $found in $(cat kernels.txt)"
}

@test "by stack, launches are those of who wrote them, not of launch stubs" {
	need_file "$build/tests/programs/handles" "program handles"
	gputap kernels --by stack --stack dwarf -o kernels.txt -- "$build/tests/programs/handles" 3
	expect_callers 'main handles'
}

@test "by stack, launches of nvcc's code are those of who wrote them" {
	PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
	command -v nvcc >/dev/null || skip "there is no nvcc"
	for options in -g '-O2 -Xcompiler -g'; do
		# shellcheck disable=SC2086
		nvcc -o linkage $options -cudart shared -arch=compute_75 "$root/tests/programs/linkage.cu"
		gputap kernels --by stack --stack dwarf -o kernels.txt -- ./linkage 2
		! grep -q 'Some callers' kernels.txt || fail "$(cat kernels.txt)"
		expect_callers "$(grep -n '<<<' "$root/tests/programs/linkage.cu" | sed 's/\([0-9]*\).*/launch_all linkage.cu:\1/')"
	done
	gputap kernels --by stack --stack fp -o kernels.txt -- ./linkage 2
	grep -qxF 'Some stacks end at stubs without frame pointers: --stack dwarf shows their callers.' kernels.txt ||
		fail "$(cat kernels.txt)"
}

@test "kernels has the registers that the program reads from the driver" {
	need_command gcc
	cat >"$BATS_TEST_TMPDIR/attributes.c" <<-'END'
		#include <cuda.h>
		#include <stdlib.h>
		#define KERNEL(name) ".entry " name "()\n{\n\tret;\n}\n"
		int main(int count, char *arguments[]) {
			CUdevice device; CUcontext context; CUmodule module; CUfunction read, unread;
			int value, error = cuInit(0) || cuDeviceGet(&device, 0) ||
				cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
				cuModuleLoadData(&module, ".version 8.0\n.target sm_75\n.address_size 64\n"
					KERNEL("known") KERNEL("other")) ||
				cuModuleGetFunction(&read, module, "known") ||
				cuModuleGetFunction(&unread, module, "other") ||
				cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, read) ||
				cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, unread) ||
				cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) ||
				cuLaunchKernel(unread, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) || cuCtxSynchronize();
			return error;
		}
	END
	gcc -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/attributes" "$BATS_TEST_TMPDIR/attributes.c" \
		-L "$softgpu" -l:libcuda.so.1
	gputap kernels --gpu soft --json -o - -- "$BATS_TEST_TMPDIR/attributes"
	expect_status 0
	expect_json '.[0].kernels | map({(.kernel): [.registers, .registers_unknown]}) | add |
		(.known[0] | . > 0 and . < 256) and .known[1] == null and .other == [null, "file"]'
	# A capture has the same.
	gputap trace --gpu soft -o "$BATS_TEST_TMPDIR/a.gtap" -- "$BATS_TEST_TMPDIR/attributes"
	gputap kernels --from "$BATS_TEST_TMPDIR/a.gtap" --json
	expect_json '.[0].kernels | map({(.kernel): [.registers, .registers_unknown]}) | add |
		(.known[0] | . > 0 and . < 256) and .other == [null, "file"]'
	gputap kernels --from "$BATS_TEST_TMPDIR/a.gtap"
	expect_output_line "^REGS of 1 row: unknown, since no file with the kernel's code was found\.$"
}
