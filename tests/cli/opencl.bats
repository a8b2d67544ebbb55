# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that use OpenCL, on a device of the CPU (PoCL), and HIP and Level Zero, of which there are
# stand-ins that succeed without hardware.

load helper

vendors=$build/tests/programs/vendors

setup() {
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR # a kernel is compiled once
}

# analyse COMMAND ARGUMENT...: its JSON becomes $output.
analyse() {
	gputap "$1" --json -o result.json "${@:2}"
	expect_status 0
	output=$(cat result.json)
}

# The calls that returned, by their names.
returned() {
	grep -F '[EXIT]' <<<"$stderr" | awk '{print $4}' | uniq -c | sed -E 's/^ *([0-9]+) /\1 /'
}

@test "a traced OpenCL program shows its calls with decoded arguments" {
	need_opencl
	gputap trace -e opencl -- "$examples/opencl/opencl-vectoradd"
	expect_status 0
	expect_error_line 'clGetDeviceIDs +\[ENTER\]  platform=0x[0-9a-f]+ device_type=CL_DEVICE_TYPE_ALL num_entries=1 '
	expect_error_line 'clCreateBuffer +\[ENTER\]  context=0x[0-9a-f]+ flags=CL_MEM_READ_WRITE size=1048576 bytes'
	expect_error_line 'clCreateBuffer +\[EXIT\]   returned=0x[0-9a-f]+ \('
	expect_error_line 'clSetKernelArg +\[ENTER\]  kernel=0x[0-9a-f]+ index=3 size=4 value=0x40000$'
	expect_error_line 'clEnqueueWriteBuffer +\[ENTER\]  kind=H2D queue=0x[0-9a-f]+ buffer=0x[0-9a-f]+ blocking=CL_TRUE size=1048576 bytes'
	expect_error_line 'clEnqueueNDRangeKernel +\[ENTER\]  queue=0x[0-9a-f]+ func=0x[0-9a-f]+ global=262144 local=256 kernel=add\((0x[0-9a-f]+, ){3}0x40000\)$'
	expect_error_line 'clEnqueueReadBuffer +\[ENTER\]  kind=D2H '
	[[ ${stderr_lines[-1]} =~ ^'gputap: '([0-9]+)' calls: '([0-9]+)' complete, 0 unfinished, 0 lost'$ ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

@test "a launch of OpenCL has the arguments that clSetKernelArg set, live and from a capture" {
	need_opencl
	gputap trace -e opencl --json -o calls.json -- "$examples/opencl/opencl-queues"
	expect_status 0
	output=$(cat calls.json)
	expect_json '[.[] | select(.name == "clEnqueueNDRangeKernel").kernel_args] | length == 4 and
		all(map([.type, .size]) == [[null, 8], [null, 4]] and .[1].value == "0x40000000")'
	# Both are of the buffer that was created.
	expect_json '[.[] | select(.name == "clCreateBuffer").result] as $buffers |
		[.[] | select(.name == "clEnqueueNDRangeKernel").kernel_args[0].value] | unique == $buffers'
	gputap record -e opencl -o cl.gputap -- "$examples/opencl/opencl-reduce"
	expect_status 0
	gputap trace --from cl.gputap
	expect_status 0
	expect_output_line 'clEnqueueNDRangeKernel .* kernel=reduce\(0x[0-9a-f]+, 0x[0-9a-f]+, local\[[0-9]+\]\)'
}

@test "a call of the ICD loader is one call, whatever implements it" {
	need_opencl
	gputap trace -e opencl -f 'clEnqueue*' -f clFinish -- "$examples/opencl/opencl-vectoradd"
	expect_status 0
	[ "$(returned)" = "2 clEnqueueWriteBuffer
1 clEnqueueNDRangeKernel
1 clEnqueueReadBuffer
1 clFinish" ]
}

@test "sizes in two dimensions and lists of events are shown as what they hold" {
	need_opencl
	gputap trace -e opencl --json -o calls.json -- "$examples/opencl/opencl-matmul"
	expect_status 0
	output=$(jq 'select(.name == "clEnqueueNDRangeKernel")' calls.json)
	expect_json 'length == 1 and .[0].args.global_work_size == [128, 128] and .[0].args.local_work_size == [16, 16]'
	expect_json '.[0].grid == [8, 8, 1] and .[0].block == [16, 16, 1]'
	gputap trace -e opencl --json -o calls.json -- "$examples/opencl/opencl-queues"
	output=$(cat calls.json)
	# Each kernel waits for the event of the write before it.
	expect_json '[.[] | select(.name == "clEnqueueWriteBuffer") | .args.event] as $written |
		[.[] | select(.name == "clEnqueueNDRangeKernel") | .args.event_wait_list[0]] == $written'
}

@test "kernels of OpenCL have names, groups and work-items" {
	need_opencl
	analyse kernels -- "$examples/opencl/opencl-queues"
	expect_json '.[0].kernels | length == 1 and .[0].kernel == "scale" and .[0].launches == 4'
	expect_json '.[0].kernels[0].configurations == [{launches: 4, grid: [256, 1, 1], block: [64, 1, 1], shared: 0}]'
	analyse kernels --by stream -- "$examples/opencl/opencl-queues"
	expect_json '.[0].kernels | length == 1'
}

@test "copies of OpenCL have directions and bytes, and wait where the call says so" {
	need_opencl
	analyse copies -- "$examples/opencl/opencl-vectoradd"
	expect_json '.[0].copies | map({direction, count, bytes, waited: .waited.count}) ==
		[{direction: "H2D", count: 2, bytes: 2097152, waited: 2}, {direction: "D2H", count: 1, bytes: 1048576, waited: 1}]'
	analyse copies -- "$examples/opencl/opencl-queues"
	expect_json '.[0].copies | all(.waited.count == 0 and .count == 4 and .bytes == 262144)'
}

@test "a buffer that is not released is a leak, one with a second reference is not freed before" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	analyse leaks -- "$build/tests/programs/opencl"
	expect_json '.[0].leaks | length == 1 and .[0].bytes == 4096 and .[0].count == 1'
}

@test "shared virtual memory that is freed, at once or in a queue, is no leak" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	analyse leaks -- "$build/tests/programs/opencl" svm
	expect_json '.[0].leaks | map([.bytes, .count, .memory, .function]) == [[512, 1, "managed", "clSVMAlloc"]]'
	expect_json '.[0].processes | length == 1 and (.[0].memory | map([.memory, .allocations, .frees])) == [["managed", 4, 3]]'
}

@test "the release of a sub-buffer frees no memory, and no unknown memory" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	analyse leaks -- "$build/tests/programs/opencl"
	expect_json '.[0].processes | length == 1 and
		(.[0] | .freed_foreign == 0 and .freed_unseen == 0 and .freed_twice == 0 and .replaced == 0)'
}

@test "a native kernel is named by its function, not as a graph" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	analyse kernels -- "$build/tests/programs/opencl_commands"
	expect_json '.[0].kernels | map(select(.kernel == "set_value") | {launches, graph}) == [{launches: 1, graph: false}]'
	expect_json '.[0].kernels | any(.graph) | not'
}

@test "errors of OpenCL have their names, also of calls that return a handle" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	analyse errors -- "$build/tests/programs/opencl"
	expect_json '.[0].errors | map({function, error, count}) | sort_by(.error) == [
		{function: "clCreateBuffer", error: "CL_INVALID_BUFFER_SIZE", count: 1},
		{function: "clReleaseMemObject", error: "CL_INVALID_MEM_OBJECT", count: 1},
		{function: "clCreateBuffer", error: "NULL", count: 1}]'
}

@test "a program that uses CUDA and OpenCL gives one stream of calls" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	gputap trace -f cudaMalloc -f cudaFree -f clCreateBuffer -f clReleaseMemObject -- "$build/tests/programs/opencl" cuda
	expect_status 0
	[ "$(returned)" = "1 cudaMalloc
1 clCreateBuffer
1 clReleaseMemObject
1 cudaFree" ]
}

@test "a capture of an OpenCL program has what a live trace has" {
	need_opencl
	gputap record -o cl.gputap -- "$examples/opencl/opencl-queues"
	expect_status 0
	gputap kernels --json -o kernels.json --from cl.gputap
	expect_status 0
	output=$(cat kernels.json)
	expect_json '.[0].kernels | length == 1 and .[0].kernel == "scale" and .[0].launches == 4'
	gputap report cl.gputap
	expect_status 0
	expect_output_line 'scale'
}

@test "commands of OpenCL depend on those whose events they wait for, in exports, too" {
	need_opencl
	gputap record -o cl.gputap -- "$examples/opencl/opencl-queues"
	expect_status 0
	gputap export --format jsonl -o cl.jsonl cl.gputap
	expect_status 0
	output=$(jq 'select(.schema == "gputap.gpu_operation.1") | {number, operation, dependencies}' cl.jsonl)
	# Each round: a write in one queue, a kernel in the other that waits for it, a read that waits for that.
	expect_json 'map(select(.operation == "kernel")) | length == 4 and all(.dependencies == [.number - 1])'
	expect_json 'map(select(.operation == "D2H")) | length == 4 and all(.dependencies == [.number - 1])'
	expect_json 'map(select(.operation == "H2D")) | length == 4 and all(.dependencies == [])'
}

# trace_times OPTION… -- COMMAND…: the operations with their times are $output.
trace_times() {
	gputap trace --json -o out.json "$@"
	expect_status 0
	printed=$output
	output=$(jq 'select(.source == "gpu")' out.json)
}

@test "each command in a queue with profiling has its times, in the order of the queue" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	trace_times --gpu-times all -- "$build/tests/programs/opencl_commands"
	[ "$printed" = right ] || fail "the results: $printed"
	expect_error_line '^gputap: GPU times: 23 operations timed$'
	expect_json 'group_by(.name) | map({(.[0].name): length}) | add == {gpu_kernel: 4, gpu_memset: 3, gpu_copy: 1,
		gpu_copy_to_device: 5, gpu_copy_to_host: 5, gpu_copy_on_device: 5}'
	expect_json 'map(.bytes) == [4096, 4096, 1024, 64, 64, 64, 2048, 256, 0, 2048, 2048, 512, 512, 512, 512, 512, 0,
		0, 0, 0, 0, 1024, 1024]'
	expect_json 'map(.stream) | unique | length == 1'
	expect_json 'all(.submitted <= .returned and .submitted <= .start and .start <= .time)'
	expect_json '[.[:-1], .[1:]] | transpose | all(.[0].time <= .[1].start + .[0].error)'
}

@test "the times of kernels are those that the program reads from their events" {
	need_opencl
	trace_times --gpu-times all -- "$examples/opencl/opencl-queues"
	expect_error_line '^gputap: GPU times: 4 operations timed; 8 not timed: their OpenCL queue has no profiling$'
	[[ $printed =~ ^4\ kernels,\ ([0-9]+)\ ns,\ right$ ]]
	expect_json "map(.name) == [\"gpu_kernel\", \"gpu_kernel\", \"gpu_kernel\", \"gpu_kernel\"] and
		((map(.duration) | add) - ${BASH_REMATCH[1]} | fabs) < 100"
	# They are within the wait for the copy after each.
	jq -es 'map(select(.name == "clWaitForEvents") | .time + .duration) as $waited |
		map(select(.source == "gpu")) | to_entries | all(.value.time <= $waited[.key] + .value.error)' out.json
	gputap report --gpu-times all -- "$examples/opencl/opencl-queues"
	expect_status 0
	expect_error_line '^scale +4 .* measured$'
	expect_error_line '^Times of operations: 0 exact, 4 measured, 8 estimated from calls'
}

@test "commands in a queue without profiling are as without gputap, and so are calls and results" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	for argument in plain profiled; do
		gputap trace --gpu-times off --json -o plain.json -- "$build/tests/programs/opencl_commands" $argument
		expect_status 0
		trace_times --gpu-times all -- "$build/tests/programs/opencl_commands" $argument
		[ "$printed" = right ] || fail "the results: $printed"
		for file in plain out; do
			jq -c 'select(.schema == "gputap.call.1") | [.name, .result_name // (.result | type)]' $file.json >$file.calls
		done
		grep -q clEnqueueCopyImage plain.calls || fail "no calls"
		cmp plain.calls out.calls || fail "other calls: $argument"
	done
	trace_times --gpu-times all -- "$build/tests/programs/opencl_commands" plain
	expect_json '. == []'
	expect_error_line '^gputap: GPU times: 0 operations timed; 23 not timed: their OpenCL queue has no profiling$'
	trace_times --gpu-times sampled=5 -- "$build/tests/programs/opencl_commands"
	# The command that fails is the 10th.
	expect_error_line '^gputap: GPU times: 5 operations timed; 18 not sampled$'
	expect_json 'all(.flags == "0x2")'
}

@test "unmaps have the bytes that were mapped, and copies of images those of their pixels" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	analyse copies -- "$build/tests/programs/opencl_commands"
	# H2D: 4096 + 64, an unmap of 256, an image of 16x8 pixels of 16 bytes, an unmap of 8x4 pixels.
	expect_json '.[0].copies | map({direction, count, bytes, unknown}) == [
		{direction: "H2D", count: 5, bytes: 6976, unknown: 0}, {direction: "D2H", count: 6, bytes: 4416, unknown: 0},
		{direction: "D2D", count: 5, bytes: 2624, unknown: 0}]'
	gputap leaks -- "$build/tests/programs/opencl_commands"
	expect_status 0
	# Two buffers and two images.
	expect_error_line 'opencl_commands +device +0 B +12.0 KiB +4 +4 '
	gputap record -o sizes.gputap -- "$build/tests/programs/opencl_commands"
	expect_status 0
	analyse copies --from sizes.gputap
	expect_json '.[0].copies | map(.bytes) == [6976, 4416, 2624]'
}

@test "kernels of clCreateKernelsInProgram have names where GPU times are asked for" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	analyse kernels --gpu-times all -- "$build/tests/programs/opencl_commands"
	expect_json '.[0].kernels | map(select(.kernel == "add" or .kernel == "negate") | {(.kernel): .launches}) | add ==
		{add: 2, negate: 1}'
}

@test "a kernel of clCreateKernelsInProgram that is launched at once has its name" {
	need_opencl
	need_file "$build/tests/programs/opencl_commands" "test program for OpenCL"
	analyse kernels --gpu-times all -- "$build/tests/programs/opencl_commands" names
	expect_json '.[0].kernels | map({(.kernel): .launches}) | add == {add: 300, negate: 300}'
}

@test "a recorded program that uses CUDA and OpenCL has the work of both in one report" {
	need_opencl
	need_file "$build/tests/programs/opencl" "test program for OpenCL"
	gputap record -o both.gputap -- "$build/tests/programs/opencl" cuda
	expect_status 0
	gputap trace --from both.gputap --json -o both.json
	expect_status 0
	output=$(jq 'select(.name | IN("cudaMalloc", "cudaFree", "clCreateBuffer", "clReleaseMemObject")?)' both.json)
	expect_json 'map(.name) == ["cudaMalloc", "clCreateBuffer", "clReleaseMemObject", "cudaFree"] and
		(map(.pid) | unique | length == 1)'
	analyse leaks --from both.gputap
	expect_json '.[0].leaks == []'
	gputap report both.gputap
	expect_status 0
	expect_output_line '^[0-9]+ opencl: .* 1 host thread with calls$'
}

# Traces the calls of a stand-in.
use_vendors() {
	need_file "$vendors/vendors" "stand-in for HIP and Level Zero"
	export LD_LIBRARY_PATH=$vendors
}

@test "HIP: kernels, copies, leaks and errors of a program whose calls succeed" {
	use_vendors
	analyse kernels -- "$vendors/vendors" hip
	expect_json '.[0].kernels | length == 1 and .[0].kernel == "add(float*)"'
	expect_json '.[0].kernels[0].configurations == [{launches: 1, grid: [4, 2, 1], block: [64, 1, 1], shared: 0}]'
	analyse copies -- "$vendors/vendors" hip
	expect_json '.[0].copies | map({direction, count, bytes}) == [{direction: "H2D", count: 1, bytes: 256}, {direction: "D2H", count: 1, bytes: 256}]'
	analyse leaks -- "$vendors/vendors" hip
	expect_json '.[0].leaks | length == 1 and .[0].bytes == 1024'
	analyse errors -- "$vendors/vendors" hip
	expect_json '.[0].errors | length == 1 and .[0].function == "hipMalloc" and .[0].error == "hipErrorOutOfMemory"'
}

@test "HIP: copies and kernels of graphs are counted at their launches, captured ones not before" {
	use_vendors
	analyse copies -- "$vendors/vendors" hip-graphs
	expect_json '.[0].copies | map([.direction, .count, .by_graphs.count, .by_graphs.bytes]) ==
		[["H2D", 0, 2, 512], ["D2H", 0, 3, 384]]'
	expect_json '.[0].unknown_graphs == 0'
	analyse kernels -- "$vendors/vendors" hip-graphs
	expect_json '.[0].kernels | map(select(.kernel == "add(float*)") | [.launches, .captured, .by_graphs]) == [[0, 2, 5]]'
	expect_json '.[0].kernels | map(select(.graph).launches) | sort == [2, 3]'
}

@test "HIP: launches in threads, and on several devices, have kernels and blocks" {
	use_vendors
	gputap trace -e hip -- "$vendors/vendors" hip-launches
	expect_status 0
	expect_error_line 'hipExtModuleLaunchKernel +\[ENTER\]  func=0x[0-9a-f]+ global=1000x2x1 local=256x1x1 shared=64 hStream=0x0 .*kernel=gemm$'
	analyse kernels -- "$vendors/vendors" hip-launches
	expect_json '.[0].kernels | sort_by(.kernel) | map([.kernel, .graph, .configurations[0].grid, .configurations[0].block]) ==
		[["add(float*)", false, [2, 1, 1], [32, 1, 1]], ["gemm", false, [4, 2, 1], [256, 1, 1]]]'
}

@test "Level Zero: a kernel has its name where that is on a page that nothing has read" {
	use_vendors
	printf cold >name
	"$build/gputap" trace -e level-zero -- "$vendors/vendors" ze-name name 2>trace.err 3>&- &
	wait_for grep -q 'zeKernelCreate.*EXIT' trace.err
	touch go
	wait $!
	stderr=$(cat trace.err)
	expect_error_line ' zeCommandListAppendLaunchKernel .* kernel=cold$'
}

@test "Level Zero: kernels, copies, leaks and errors of a program whose calls succeed" {
	use_vendors
	analyse kernels -- "$vendors/vendors" ze
	expect_json '.[0].kernels | length == 1 and .[0].kernel == "scale"'
	expect_json '.[0].kernels[0].configurations == [{launches: 1, grid: [8, 2, 1], block: [32, 2, 1], shared: 0}]'
	analyse copies -- "$vendors/vendors" ze
	expect_json '.[0].copies | length == 1 and .[0].count == 1 and .[0].bytes == 256'
	analyse leaks -- "$vendors/vendors" ze
	expect_json '.[0].leaks == []'
	analyse errors -- "$vendors/vendors" ze
	expect_json '.[0].errors | length == 1 and .[0].error == "ZE_RESULT_ERROR_UNINITIALIZED"'
}

@test "Level Zero: memory of devices, of the host and shared memory are leaks where they are not freed" {
	use_vendors
	analyse leaks -- "$vendors/vendors" ze-memory
	expect_json '.[0].leaks | map([.bytes, .count, .memory, .function]) == [
		[200000, 1, "managed", "zeMemAllocShared"], [20000, 1, "host", "zeMemAllocHost"],
		[2000, 1, "device", "zeMemAllocDevice"]]'
	expect_json '.[0].processes | length == 1 and
		(.[0].memory | map([.allocations, .frees]) | unique) == [[2, 1]]'
}

@test "Level Zero: a launch has the arguments and the group size that were set for its kernel" {
	use_vendors
	gputap trace -e level-zero -- "$vendors/vendors" ze
	expect_status 0
	expect_error_line 'zeCommandListAppendLaunchKernel +\[ENTER\]  .*grid=8x2x1 hSignalEvent=0x0 block=32x2x1 kernel=scale\(0x[0-9a-f]+, 0x8\)$'
}

@test "calls of Level Zero that OpenCL makes are not counted beside its own" {
	use_vendors
	export LD_LIBRARY_PATH=$vendors/layered:$vendors
	analyse kernels -- "$vendors/layered/layered"
	expect_json '.[0].kernels | map([.kernel, .launches]) == [["scale", 1]]'
	analyse leaks -- "$vendors/layered/layered"
	expect_json '.[0].leaks | map(.bytes) == [4096]'
	gputap trace -f 'cl*' -f 'ze*' -- "$vendors/layered/layered"
	expect_status 0
	expect_error_line ' clEnqueueNDRangeKernel '
	expect_no_error_line ' ze[A-Z]'
	gputap trace -v -f 'cl*' -f 'ze*' -- "$vendors/layered/layered"
	expect_error_line ' zeCommandListAppendLaunchKernel '
}

@test "calls of Level Zero that HIP makes are not counted beside its own" {
	use_vendors
	export LD_LIBRARY_PATH=$vendors/layered:$vendors
	analyse kernels -- "$vendors/vendors" hip
	expect_json '.[0].kernels | map([.kernel, .launches]) == [["add(float*)", 1]]'
	analyse copies -- "$vendors/vendors" hip
	expect_json '.[0].copies | map([.direction, .count, .bytes]) == [["H2D", 1, 256], ["D2H", 1, 256]]'
	analyse leaks -- "$vendors/vendors" hip
	expect_json '.[0].leaks | map(.bytes) == [1024]'
	gputap trace -v -- "$vendors/vendors" hip
	expect_error_line ' zeMemAllocDevice '
}

@test "the packaged runtime of HIP reports that there is no device" {
	command -v python3 >/dev/null || skip "python3 is not installed"
	python3 -c 'import ctypes; ctypes.CDLL("libamdhip64.so.5")' 2>/dev/null || skip "libamdhip64-5 is not installed"
	[ ! -e /dev/kfd ] || skip "there is an AMD GPU"
	gputap trace -e hip -- python3 -c 'import ctypes
hip = ctypes.CDLL("libamdhip64.so.5")
count = ctypes.c_int()
hip.hipGetDeviceCount(ctypes.byref(count))'
	expect_error_line 'hipGetDeviceCount +\[EXIT\]   returned=NoDevice \('
}

@test "the packaged loader of Level Zero reports that there is no driver" {
	command -v python3 >/dev/null || skip "python3 is not installed"
	python3 -c 'import ctypes; ctypes.CDLL("libze_loader.so.1")' 2>/dev/null || skip "libze1 is not installed"
	python3 -c 'import ctypes, sys
sys.exit(not ctypes.CDLL("libze_loader.so.1").zeInit(0))' || skip "there is a driver for Level Zero"
	gputap trace -e level-zero -- python3 -c 'import ctypes
ctypes.CDLL("libze_loader.so.1").zeInit(0)'
	expect_error_line 'zeInit +\[EXIT\]   returned=UNINITIALIZED \('
}
