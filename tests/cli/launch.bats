# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What is recorded of launches beyond the call: the kernel's name, the callers, the device. On the
# examples and the software GPU.

load helper

setup() {
	need_probes
	need_file "$examples/vectoradd" "example vectoradd (it is built with clang)"
}

# launches COMMAND [ARGUMENT…]: the launches of a command as JSON objects, in $output.
launches() {
	gputap trace --gpu soft --json -o "$BATS_TEST_TMPDIR/out" -- "$@"
	output=$(grep 'Launch' "$BATS_TEST_TMPDIR/out")
}

@test "a launch has the kernel's name, as it was registered" {
	launches "$examples/vectoradd"
	expect_json 'length == 1 and all(.name == "cudaLaunchKernel" and
		.kernel == "add(float const*, float const*, float*, int)")'
}

@test "a launch by a handle, as in nvcc 13's code, has the kernel's name" {
	launches "$examples/newlaunch"
	expect_json 'length == 3 and all(.name == "__cudaLaunchKernel" and .kernel == "scale")'
}

@test "driver calls inside runtime functions that are not traced are not shown as the program's" {
	gputap trace --gpu soft -- "$examples/newlaunch"
	expect_status 0
	expect_error_line ' __cudaLaunchKernel +\[ENTER\]'
	expect_no_error_line ' cu[A-Z][A-Za-z0-9_]+ +\['
	# __cudaGetKernel is not traced; it looks the kernel up in the driver.
	gputap trace --gpu soft -v -- "$examples/newlaunch"
	expect_error_line ' cuLibraryGetKernel +\[ENTER\]'
	# Selected by name, they are shown wherever they are.
	gputap trace --gpu soft -f cuLibraryGetKernel -- "$examples/newlaunch"
	expect_error_line ' cuLibraryGetKernel +\[ENTER\]'
}

@test "driver calls inside runtime functions that -f excludes are not shown as the program's" {
	local via
	for via in kernel agent; do
		gputap trace --gpu soft --via $via -f '!cudaMem*' -- "$examples/vectoradd"
		expect_status 0
		expect_error_line ' cudaMalloc +\[ENTER\]'
		expect_no_error_line ' cudaMemcpy +\['
		expect_no_error_line ' cu[A-Z][A-Za-z0-9_]+ +\['
	done
	# With a function that is selected by name, driver calls are shown wherever they are.
	gputap trace --gpu soft -f 'cuMem*' -f '!cudaMem*' -- "$examples/vectoradd"
	expect_error_line ' cuMemcpyHtoD_v2 +\[ENTER\]'
}

@test "a launch of the driver API has the name by which the kernel was looked up" {
	launches "$examples/driver"
	expect_json 'length >= 1 and all(.name == "cuLaunchKernel" and .kernel == "scale")'
}

@test "a stripped static program's launches have the kernel's name" {
	launches "$examples/vectoradd-stripped"
	expect_json 'length == 1 and all(.kernel == "add(float const*, float const*, float*, int)")'
}

@test "a process that was attached to late has its kernels' names, too" {
	LD_LIBRARY_PATH=$softgpu "$examples/bench" 400000 >/dev/null 3>&- &
	process=$!
	sleep 0.3
	gputap trace -t -f cudaLaunchKernel --max-events 3 -d $process
	kill $process
	expect_output_line 'cudaLaunchKernel .*\[ENTER\] .* kernel=add_one$'
}

# expect_late_names KERNELS PROGRAM [ARGUMENT…]: a program that runs already launches these kernels,
# a JSON array in order, and no others.
expect_late_names() {
	local kernels=$1
	shift
	LD_LIBRARY_PATH=$softgpu "$@" >/dev/null 3>&- &
	process=$!
	sleep 0.5
	gputap trace --json -f __cudaLaunchKernel --max-events 30 -d $process -o "$BATS_TEST_TMPDIR/out"
	kill $process
	output=$(cat "$BATS_TEST_TMPDIR/out")
	expect_json "map(select(.name)) | map(.kernel) | unique == $kernels"
}

@test "string arguments are printed, in text, JSON and replay" {
	gputap trace --gpu soft -t -f 'cuGetProcAddress*' -- "$examples/finddriver"
	expect_error_line 'cuGetProcAddress_v2 +\[ENTER\] +symbol="cuInit" cudaVersion='
	gputap trace --gpu soft -f 'cuGetProcAddress*' -o "$BATS_TEST_TMPDIR/a.gtap" -- "$examples/finddriver"
	gputap trace --from "$BATS_TEST_TMPDIR/a.gtap" --json
	expect_json 'map(select(.name).args.symbol) | length > 3 and all(startswith("cu")) and .[0] == "cuInit"'
}

@test "so does one that launches by handles that it fetched before" {
	need_file "$build/tests/programs/handles" "program handles"
	expect_late_names '["scale"]' "$build/tests/programs/handles" 100000
}

# needs_nvcc SOURCE [OPTION…]: compiles a program, and leaves the test if there is no compiler.
needs_nvcc() {
	PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
	command -v nvcc >/dev/null || skip "there is no nvcc"
	nvcc -o "$BATS_TEST_TMPDIR/program" -cudart shared -arch=compute_75 "${@:2}" "$root/tests/programs/$1"
}

@test "so does one of nvcc's, for kernels of each linkage" {
	for options in -g -O2; do
		needs_nvcc linkage.cu "$options"
		expect_late_names '["inner::scoped(int*)", "local(int*)", "mangled(int*)", "of<float>(float*)", "plain"]' \
			"$BATS_TEST_TMPDIR/program" 100000
	done
}

@test "--kernel-args prints the arguments of a kernel by its parameters' types" {
	gputap trace --gpu soft -t --kernel-args -- "$examples/vectoradd"
	expect_error_line 'kernel=add\(0x[0-9a-f]+, 0x[0-9a-f]+, 0x[0-9a-f]+, 262144\)$'
	gputap trace --gpu soft --kernel-args --json -o "$BATS_TEST_TMPDIR/out" -- "$examples/newlaunch"
	output=$(grep Launch "$BATS_TEST_TMPDIR/out")
	expect_json 'all(.kernel_args | map([.type, .size]) == [[".u64", 8], [".f32", 4], [".u32", 4]])'
	expect_json '.[0].kernel_args | .[1].value == 2 and .[2].value == 1000'
}

# expect_forms PROGRAM: what it says that it launches is what is traced.
expect_forms() {
	gputap trace --gpu soft --kernel-args --json -o "$BATS_TEST_TMPDIR/out" -- "$1"
	expect_status 0
	expected=$(jq -cS . <<<"$output")
	# shellcheck disable=SC2016 # of jq
	found=$(jq -cS 'select(.operation == "launch" and (.name | test("^cuLaunch(Grid|$)") | not)) |
		{name, stream} + if .grid then {grid, block, shared,
			factor: .kernel_args[1].value, count: .kernel_args[2].value} else {} end' "$BATS_TEST_TMPDIR/out")
	[ "$(wc -l <<<"$expected")" = 10 ]
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	expect_json 'map(select(.grid)) | length == 8 and all(.kernel == "scale" and .kernel_args[0].type == ".u64")'
}

@test "each form of launch has kernel, grid, block, shared memory, stream and arguments" {
	need_file "$build/tests/programs/launches" "program launches"
	expect_forms "$build/tests/programs/launches"
	expect_json 'any(.per_thread) | not'
}

@test "so do the forms for which the default stream is the thread's own" {
	need_file "$build/tests/programs/launches-per-thread" "program launches-per-thread"
	expect_forms "$build/tests/programs/launches-per-thread"
	expect_json 'map(select(.operation == "launch" and (.name | test("^cuLaunch(Grid|$)") | not))) | all(.per_thread)'
}

@test "launches of the first driver API have the kernel and their other arguments" {
	need_file "$build/tests/programs/launches" "program launches"
	gputap trace --gpu soft --json -f 'cuLaunch,cuLaunchGrid*,cuModuleGetFunction' -o - -- "$build/tests/programs/launches"
	output=$(grep '^{"schema":"gputap.call' <<<"$output")
	expect_json 'map(select(.operation == "launch")) | map([.name, .kernel, .args.grid_width, .args.grid_height]) ==
		[["cuLaunch", "scale", null, null], ["cuLaunchGrid", "scale", 3, 5], ["cuLaunchGridAsync", "scale", 7, 9]]'
}

@test "the name by which a kernel is looked up is printed, and not its address" {
	need_file "$build/tests/programs/launches" "program launches"
	gputap trace --gpu soft --json -f cuModuleGetFunction -o - -- "$build/tests/programs/launches"
	output=$(grep '^{"schema":"gputap.call' <<<"$output")
	expect_json 'length > 0 and all(.kernel == "scale")'
	gputap trace --gpu soft -v -f cuModuleGetFunction -- "$build/tests/programs/launches"
	expect_error_line ' cuModuleGetFunction +\[ENTER\]  hmod=0x[0-9a-f]+ kernel=scale$'
}

@test "what docs/json.md says of launches, memory and copies is in the JSON of each" {
	gputap trace --gpu soft --kernel-args --stack fp --json -o "$BATS_TEST_TMPDIR/out" -- "$examples/vectoradd"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	keys=$(sed -nE 's/^\| (launch|alloc|free|copy) \| .* \| `([a-z_]+)`.*/\1 \2/p' "$root/docs/json.md")
	[ "$(wc -l <<<"$keys")" = 30 ]
	while read -r operation key; do
		expect_json "map(select(.operation == \"$operation\")) | length > 0 and all(.$key != null)"
	done <<<"$keys"
	expect_json 'map(select(.operation == "launch")) | all(.stack.frames | length > 0)'
}

@test "--stack fp prints the callers, with source lines if they are known" {
	gputap trace --gpu soft -t --stack fp -f cudaMalloc -- "$examples/leak"
	line=$(grep -n 'cudaMalloc(' "$root/examples/leak.cu" | head -n 1 | cut -d: -f1)
	expect_error_line "^ +at [a-z_]+\(unsigned long\) \(leak\.cu:$line\)$"
	expect_error_line '^ +at main \(leak\.cu:[0-9]+\)$'
}

@test "--stack dwarf prints the callers beyond code without frame pointers" {
	gputap trace --gpu soft -t --stack dwarf -f cudaMalloc -- "$examples/leak"
	line=$(grep -n 'cudaMalloc(' "$root/examples/leak.cu" | head -n 1 | cut -d: -f1)
	expect_error_line "^ +at [a-z_]+\(unsigned long\) \(leak\.cu:$line\)$"
	expect_error_line '^ +at main \(leak\.cu:[0-9]+\)$'
	expect_error_line '^ +at _start\+0x[0-9a-f]+ \(leak\)$'
	expect_error_line '^gputap: 10 calls: 10 complete, 0 unfinished, 0 lost$'
}

@test "a stack that is deeper than what is taken says so, by either way" {
	for way in fp mixed dwarf; do
		gputap trace --gpu soft -t --stack $way -f cudaMalloc --max-events 1 --stack-depth 1 -- "$examples/leak"
		expect_error_line '^ +… \(truncated\)$'
		gputap trace --gpu soft --stack $way -f cudaMalloc --max-events 1 --stack-depth 64 -- "$examples/leak"
		expect_no_error_line 'called from further out'
	done
	gputap trace --gpu soft --stack fp --stack-depth 1 -f cudaMalloc --json -o "$BATS_TEST_TMPDIR/out" -- "$examples/leak"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	expect_json 'map(select(.name)) | length == 10 and all(.stack.truncated and (.stack.frames | map(.address) | unique | length) == 1)'
}

@test "a call inside of another one that is probed has the callers of that one, too" {
	need_file "$build/tests/programs/handles" "program handles"
	for way in fp mixed dwarf; do
		# Of __cudaGetKernel, which is traced implicitly, for names.
		gputap trace --gpu soft -t --stack $way -v -f cuLibraryLoadData -- "$build/tests/programs/handles"
		expect_error_line '^ +at __cudaGetKernel'
		expect_error_line '^ +at __device_stub__Z5scalePffi\(float\*, float, int\)\+0x[0-9a-f]+ \(handles\)$'
		expect_error_line '^ +at main\+0x[0-9a-f]+ \(handles\)$'
		expect_no_error_line '^ +at (0x|\[uprobes\])'
		expect_no_error_line 'called from further out'
	done
}

@test "callers are those who wrote the launch: stubs and wrappers are shown by -v, and marked in JSON" {
	need_file "$build/tests/programs/handles" "program handles"
	gputap trace --stack dwarf -o "$BATS_TEST_TMPDIR/a.gtap" -- "$build/tests/programs/handles"
	gputap trace --from "$BATS_TEST_TMPDIR/a.gtap" -t -f __cudaLaunchKernel
	expect_no_output_line '__device_stub__|__cudaLaunchKernel_helper|at scale'
	expect_output_line '^ +at main\+0x[0-9a-f]+ \(handles\)$'
	gputap trace --from "$BATS_TEST_TMPDIR/a.gtap" -t -v -f __cudaLaunchKernel
	expect_output_line '^ +at __device_stub__Z5scalePffi'
	gputap trace --from "$BATS_TEST_TMPDIR/a.gtap" --json -f __cudaLaunchKernel
	expect_json 'map(select(.kernel) | .stack.frames | map(.wrapper // false)) | length > 0 and
		all(.[0] and (index(false) as $own | .[$own:] | any | not))'
	expect_json 'map(select(.kernel) | .stack.frames | map(select(.wrapper | not))[0].function) | unique == ["main"]'
}

@test "the callers are the same in the JSON of a capture as in that of the live trace" {
	frames='map(select(.schema == "gputap.call.1") | .stack.frames | map([.function, .file, .line]))'
	gputap trace --gpu soft --stack fp -f cudaMalloc -o "$BATS_TEST_TMPDIR/a.gtap" -- "$examples/leak"
	gputap trace --from "$BATS_TEST_TMPDIR/a.gtap" --json
	expect_json "$frames"' | length == 10 and all(any(.[]; .[0] == "main"))'
}

@test "calls have the device that their thread uses" {
	SOFTGPU_DEVICES=2 gputap trace --gpu soft --json -o - -- "$examples/vectoradd"
	output=$(grep '^{' <<<"$output")
	expect_json 'map(select(.schema == "gputap.call.1")) | length == 10 and all(.device == 0)'
}

# failing: a program whose module does not load, and that calls a function that the software GPU
# does not have, a number of times.
failing() {
	need_command gcc
	cat >"$BATS_TEST_TMPDIR/failing.c" <<-'END'
		#include <cuda.h>
		CUresult cuTensorMapEncodeTiled(void);
		int main(void) {
			CUdevice device; CUcontext context; CUmodule module; int wrong = cuInit(0);
			wrong |= cuDeviceGet(&device, 0);
			wrong |= cuDevicePrimaryCtxRetain(&context, device);
			wrong |= cuCtxSetCurrent(context);
			for (int i = 0; i < 3; i++) {
				wrong |= cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n"
					".entry step()\n{\n\twgmma.fence.sync.aligned;\n}\n") ^ 218;
				wrong |= cuTensorMapEncodeTiled() ^ 801;
			}
			return wrong;
		}
	END
	gcc -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/failing" "$BATS_TEST_TMPDIR/failing.c" \
		-L "$softgpu" -l:libcuda.so.1
}

# expect_reasons COMMAND…: gputap reports once why the calls failed, and nothing else changes.
expect_reasons() {
	gputap "$@" -- "$BATS_TEST_TMPDIR/failing"
	expect_status 0
	[ "$(grep -c "^gputap: the software GPU: CUDA_ERROR_INVALID_PTX (218): .*line 6: opcode 'wgmma' in function 'step' is not supported by the software device" <<<"$stderr")" = 1 ] ||
		fail 'the reason of the rejected module is missing'
	[ "$(grep -c '^gputap: the software GPU: CUDA_ERROR_NOT_SUPPORTED (801): cuTensorMapEncodeTiled is not supported$' <<<"$stderr")" = 1 ] ||
		fail 'the unsupported function is missing'
}

@test "what the software GPU rejects is reported with its reason: function, opcode and line" {
	failing
	expect_reasons trace --gpu soft
	expect_reasons trace --gpu soft -c
	expect_reasons run --gpu soft "$build/programs/cudacounter.bpf.o"
	expect_reasons trace --gpu soft --inject "$build/programs/cudacounter.bpf.o"
	gputap trace --gpu soft --json -o "$BATS_TEST_TMPDIR/out.json" -- "$BATS_TEST_TMPDIR/failing"
	expect_error_line "^gputap: the software GPU: CUDA_ERROR_INVALID_PTX"
}

@test "a program that has machine code alone is reported with the options that help" {
	need_command nvcc
	cat >"$BATS_TEST_TMPDIR/sass.cu" <<-'END'
		__global__ void k(int *p) { *p = 1; }
		int main(void) { int *p; cudaMalloc(&p, 4); k<<<1, 1>>>(p); return cudaDeviceSynchronize(); }
	END
	nvcc -cudart shared -gencode arch=compute_90,code=sm_90 -o "$BATS_TEST_TMPDIR/sass" "$BATS_TEST_TMPDIR/sass.cu"
	gputap trace --gpu soft -- "$BATS_TEST_TMPDIR/sass"
	expect_error_line '^gputap: the software GPU: CUDA_ERROR_NO_BINARY_FOR_GPU \(209\): only SASS for sm_90, no PTX: build with -gencode arch=compute_90,code=compute_90, or with -lineinfo$'
	gputap run --gpu soft "$build/programs/cudacounter.bpf.o" -- "$BATS_TEST_TMPDIR/sass"
	expect_error_line '^gputap: the software GPU: CUDA_ERROR_NO_BINARY_FOR_GPU \(209\): only SASS for sm_90, '
}
