# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# --via agent: calls that the agent in the traced process records, held against those of uprobes.

load helper
load rocm

setup() {
	need_command jq
	[ "$(uname -m)" = x86_64 ] || skip "the agent hooks calls on x86-64 only"
	cd "$BATS_TEST_TMPDIR" || return
}

programs=$build/tests/programs

# calls_via METHOD OPTION… -- COMMAND…: its calls are in METHOD.json, a line each, by thread, without
# times, ids and addresses that differ from run to run.
calls_via() {
	local via=$1
	shift
	gputap trace --via "$via" --gpu soft --json -o out.json "$@"
	expect_status 0
	jq -cS 'select(.schema == "gputap.call.1") | .tid as $tid | {$tid, call: del(.time, .duration, .pid,
		.tid, .parent)}' out.json | jq -cs 'group_by(.tid)[][] | .call' |
		sed -E 's/"0x[0-9a-f]+"/"address"/g; s/[0-9]{12,}/number/g; s/"ms":[0-9.e-]+/"ms":0/' >"$via.json"
}

# same_calls OPTION… -- COMMAND…
same_calls() {
	calls_via kernel "$@"
	calls_via agent "$@"
	[ -s kernel.json ] || fail "no calls"
	diff kernel.json agent.json >differences || fail "$(head -n 6 differences)"
}

@test "calls, arguments, results and their order are those that uprobes see" {
	need_probes
	for program in contexts default-stream default-stream-per-thread launches; do
		same_calls -f '*' -v -- "$programs/$program"
	done
	same_calls -f '*' -v -- "$examples/driver"
	same_calls -- "$examples/finddriver"
	for program in vectoradd streams failures newlaunch; do
		need_file "$examples/$program" "example (no clang that makes PTX)"
		same_calls -- "$examples/$program"
	done
}

# expect_note_of_daemon METHOD
expect_note_of_daemon() {
	mkfifo input
	exec 9<>input
	# shellcheck disable=SC2016 # expanded by the command
	gputap trace --via "$1" --gpu soft -- bash -c '"$1" <input >daemon 2>&1 3>&- 9>&- &
		until grep -q ^running daemon; do sleep 0.05; done' bash "$programs/persistent"
	exec 9>&-
	wait_for grep -q '^stopped' daemon
	expect_status 0
	expect_error_line '^gputap: 1 process of the command still runs: the tracing of it ends here$'
	# shellcheck disable=SC2016
	gputap trace --via "$1" --gpu soft -- bash -c '"$1" 2 & wait' bash "$programs/calls"
	expect_status 0
	expect_no_error_line 'still run'
}

@test "a process that still runs when the command has ended is noted via the agent" {
	expect_note_of_daemon agent
}

@test "a process that still runs when the command has ended is noted with uprobes" {
	need_probes
	expect_note_of_daemon kernel
}

@test "the first call has the name of its process, and leaks are those at the end of processes" {
	gputap trace --via agent --gpu soft -- "$programs/calls" 2
	expect_status 0
	[ "$(grep -cE '^[0-9:.]+ calls +[0-9]+ +cudaGetDevice ' <<<"$stderr")" = 4 ] || fail "$stderr"
	need_file "$examples/leak" "example (no clang that makes PTX)"
	gputap leaks --via agent --gpu soft -- sh -c "$examples/leak; exec $examples/leak"
	expect_status 0
	expect_error_line '^6 allocations of 627 KiB \(642000 bytes\): not freed before the process ended\.$'
	[ "$(grep -cE '^ +1 .* device  at exit ' <<<"$stderr")" = 6 ] || fail "$stderr"
	gputap trace -v --via agent --gpu soft -- "$examples/leak"
	expect_error_line '^[0-9:.]+ leak +[0-9]+ +process +ended$'
}

@test "the calls of each thread are those that uprobes see, in their order" {
	need_probes
	same_calls -f '*' -v -- "$programs/timed" threads
	[ "$(jq -s 'map(select(.schema == "gputap.call.1")) | group_by(.tid) | length' out.json)" = 9 ]
	jq -se 'map(select(.schema == "gputap.call.1" and .name == "cuLaunchKernel")) | length == 400' out.json
}

@test "calls of cuBLAS, cuDNN and NCCL are those that uprobes see, and calls of CUDA are inside them" {
	need_probes
	export LD_LIBRARY_PATH=$softgpu:$programs/libraries
	same_calls -e cuda,cublas,nccl -- "$programs/layers"
	[ "$(jq -r 'select(.nested == false).name' agent.json | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = \
		" 1 cublasCreate_v2; 1 cublasDestroy_v2; 2 cublasSgemm_v2; 2 cudaMalloc; 3 ncclAllReduce;" ]
	# Functions that a program finds by dlsym.
	same_calls -v -e cuda,cublas,cudnn -- "$programs/neural"
	jq -se 'any(.name == "cudnnConvolutionForward" and .args.algo == "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM"
		and .args.workSpaceSizeInBytes == 4096)' agent.json
	jq -se 'map(select(.name == "cublasLtMatmul").result) == ["CUBLAS_STATUS_SUCCESS", "CUBLAS_STATUS_NOT_INITIALIZED"]' agent.json
	jq -se 'any(.name == "cudaMemcpyAsync" and .nested)' agent.json
	# One library alone: what it calls is not recorded.
	same_calls -e cudnn -- "$programs/neural"
	jq -se 'map(.name) == ["cudnnCreate", "cudnnConvolutionForward", "cudnnDestroy"]' agent.json
}

@test "calls of OpenCL are those that uprobes see, also where a program looks them up" {
	need_probes
	need_opencl
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR # a kernel is compiled once
	same_calls -e opencl -f '*' -- "$programs/opencl"
	# A call that returned NULL has the error code that it wrote.
	jq -se 'any(.name == "clCreateBuffer" and .result == "CL_INVALID_BUFFER_SIZE")' agent.json
	same_calls -e opencl -f '*' -- "$programs/opencl_commands"
	same_calls -e opencl --stack fp -- "$examples/opencl/opencl-queues"
	same_calls -e opencl --failed -- "$programs/opencl"
	same_calls -e opencl,cuda -- "$programs/opencl" cuda
	jq -se '[.[].name[:2]] | unique == ["cl", "cu"]' agent.json
	cat >lookup.py <<-'END'
		import ctypes
		library = ctypes.CDLL("libOpenCL.so.1")
		count = ctypes.c_uint()
		library.clGetPlatformIDs(0, None, ctypes.byref(count))
		error = ctypes.c_int()
		library.clCreateContext(None, 0, None, None, None, ctypes.byref(error))
	END
	same_calls -e opencl -f '*' -- python3 lookup.py
	jq -se 'map([.name, .result]) == [["clGetPlatformIDs", "CL_SUCCESS"], ["clCreateContext", "CL_INVALID_VALUE"]]' agent.json
}

@test "calls of HIP, rocBLAS, MIOpen and Level Zero are those that uprobes see" {
	need_probes
	export LD_LIBRARY_PATH=$programs/vendors
	need_file "$programs/vendors/vendors" "test program of HIP and Level Zero"
	for use in hip hip-graphs ze ze-memory; do
		same_calls -e hip,level-zero -f '*' -- "$programs/vendors/vendors" "$use"
	done
	jq -se 'any(.name == "zeMemAllocHost" and .args.size == 10000)' agent.json
	make_rocm
	same_calls -e hip,rocblas,miopen -- ./calls
	jq -se 'map(.name) | contains(["rocblas_sgemm", "miopenActivationForward"])' agent.json
}

@test "callers by frame pointers are those that uprobes see" {
	need_probes
	same_calls --stack fp -- "$examples/driver"
	same_calls --stack fp -- "$programs/launches"
}

@test "threads of a process in another PID namespace have the ids that gputap sees" {
	need_probes
	need_command unshare
	unshare --pid --fork true || skip "there can be no other PID namespace"
	same_calls -- unshare --pid --fork "$programs/contexts"
	calls_via agent -- unshare --pid --fork "$programs/contexts"
	jq -se 'map(select(.schema == "gputap.call.1")) | length > 0 and all(.pid > 1 and .tid == .pid and .parent > 1)' out.json ||
		fail "$(head -n 2 out.json)"
}

@test "the agent records calls without privilege, which the default chooses" {
	need_command setpriv
	mkdir -m 777 nobody
	observe setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$build/gputap" trace --gpu soft --json -o nobody/out.json -- "$examples/driver"
	grep -q 'Permission denied' <<<"$stderr" && skip "another user cannot read the build"
	expect_status 0
	expect_error_line "^gputap: no privilege for uprobes: the agent in the processes of the command records"
	jq -es 'map(select(.name == "cuLaunchKernel" or .name == "cuMemAlloc_v2")) | length > 1' nobody/out.json
}

@test "commands that show callers choose the agent, too" {
	need_command setpriv
	mkdir -m 777 nobody
	cd nobody
	for command in record errors leaks copies kernels "trace --stack fp"; do
		observe setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$build/gputap" $command --gpu soft -- "$examples/streams"
		grep -q 'Permission denied' <<<"$stderr" && skip "another user cannot read the build"
		expect_status 0
		expect_error_line "^gputap: no privilege for uprobes: the agent in the processes of the command records"
	done
	observe "$build/gputap" trace --json --from gputap.gtap
	jq -se '[.[] | select(.schema == "gputap.call.1") | .stack | length] | length == 50 and all(. > 0)' <<<"$output"
}

# account_of CAPTURE: the value of `via` in its account, and its line at the end.
account_of() {
	"$build/gputap" trace --json -o account.json --from "$1" 2>totals
	jq -r 'select(.schema == "gputap.account.1") | .via' account.json
	grep -oE '[0-9]+ calls.*: [0-9]+ complete' totals | sed -E 's/[0-9]+/N/g'
}

@test "the totals and the account name the agent, or the kernel, live and of a capture" {
	need_probes
	for via in kernel agent; do
		gputap trace --via "$via" --gpu soft --json -o out.json -- "$programs/contexts"
		jq -se "[.[] | select(.schema == \"gputap.account.1\").via] == [\"$via\"]" out.json
		gputap trace --via "$via" --gpu soft -o "$via.gtap" -- "$programs/contexts"
	done
	expect_error_line '^gputap: [0-9]+ calls via agent: [0-9]+ complete, 0 unfinished, 0 lost'
	[ "$(account_of kernel.gtap)" = $'kernel\nN calls: N complete' ] || fail "$(account_of kernel.gtap)"
	[ "$(account_of agent.gtap)" = $'agent\nN calls via agent: N complete' ] || fail "$(account_of agent.gtap)"
	gputap merge -o both.gtap kernel.gtap agent.gtap
	[ "$(account_of both.gtap)" = $'both\nN calls via kernel and agent: N complete' ] || fail "$(account_of both.gtap)"
}

@test "where no call is recorded, the account names no method" {
	need_probes
	gputap trace --via agent --gpu soft -e sched --json -o out.json -- true
	expect_status 0
	jq -se '[.[] | select(.schema == "gputap.account.1").via] == [null]' out.json
}

@test "calls of threads and of forked processes are complete" {
	need_file "$programs/mix" "program (no clang that makes PTX)"
	gputap trace --via agent --gpu soft --json -o out.json -- "$programs/mix" 100 4 2
	expect_status 0
	expect_error_line '^gputap: [0-9]+ calls via agent: [0-9]+ complete, 0 unfinished, 0 lost$'
}

@test "a program with a runtime of its own is reported as incomplete" {
	need_file "$examples/vectoradd-static" "example (no clang that makes PTX)"
	gputap trace --via agent --gpu soft -- "$examples/vectoradd-static"
	expect_status 0
	expect_error_line "vectoradd-static: its CUDA runtime is linked statically, so that the agent sees"
	expect_error_line "^gputap: incomplete: "
}

@test "a library with a runtime of its own, opened late, is reported as incomplete, once" {
	gputap trace --via agent --gpu soft --json -o out.json -- sh -c '"$0" "$1" && "$0" "$1"' \
		"$programs/plugin" "$programs/libraries/libownruntime.so"
	expect_status 0
	[ "$(grep -c 'libownruntime.so: its CUDA runtime is linked statically, so that the agent sees' <<<"$stderr")" = 1 ] ||
		fail "not one note"
	[[ ${stderr_lines[-1]} == *'incomplete: '*'libownruntime.so, which has no probes' ]] || fail "${stderr_lines[-1]}"
	# Its calls of the driver are there.
	jq -se 'any(.name == "cuMemAlloc_v2") and (any(.name == "cudaMalloc") | not)' out.json
	# Libraries of the runtime use the driver, too.
	gputap trace --via agent --gpu soft -o out.txt -- "$programs/default-stream"
	expect_no_error_line 'linked statically|incomplete'
}

@test "a command without calls is reported as not seen" {
	gputap trace --via agent --gpu soft -- true
	expect_status 0
	expect_error_line "^gputap: the agent saw no call: the command made none, or could not load it"
}

@test "a set-user-ID program runs without the agent, and is reported as not traced" {
	need_root
	need_command setpriv
	chmod 755 "$BATS_TEST_TMPDIR"
	install -m 4755 "$(command -v cat)" show
	observe setpriv --reuid 65534 --regid 65534 --clear-groups ./show /proc/self/status
	[ "$status" = 0 ] || skip "another user cannot execute the program"
	grep -qP '^Uid:\t65534\t0\t' <<<"$output" || skip "files are not executed with another user's id here"
	observe setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$build/gputap" trace --via agent --gpu soft -- ./show /proc/self/status /proc/self/maps
	grep -q 'Permission denied' <<<"$stderr" && skip "another user cannot read the build"
	expect_status 0
	expect_output_line '^Uid:.65534.0.'
	expect_output_line '/show$'
	expect_no_output_line 'gputap'
	expect_error_line '^gputap: \./show: a set-user-ID program does not load the agent: its calls are not traced; use --via kernel$'
	expect_no_error_line 'the agent saw no call'
	[[ ${stderr_lines[-1]} == 'gputap: incomplete: 0 calls via agent: '*'./show'* ]] || fail "${stderr_lines[-1]}"
	# It has the privileges of its owner anyway: the agent is in it.
	gputap trace --via agent --gpu soft -- ./show /proc/self/maps
	expect_output_line 'libgputap-calls\.so$'
	expect_no_error_line 'incomplete|does not load'
}

@test "a static program runs without the agent, and is reported as not traced" {
	need_command cc
	cc -nostdlib -static -x c -o static - <<<'void _start(void) { __asm__("mov $60, %eax\n mov $7, %edi\n syscall"); }'
	gputap trace --via agent --gpu soft -- ./static
	expect_status 7
	expect_error_line '^gputap: \./static: a static program does not load the agent: its calls are not traced; use --via kernel$'
	[[ ${stderr_lines[-1]} == 'gputap: incomplete: 0 calls via agent: '*'./static'* ]] || fail "${stderr_lines[-1]}"
}

@test "--via agent rejects what only the kernel can do" {
	gputap trace --via agent -d 1
	expect_status 2
	expect_error_line '^gputap: --via agent needs a command: -- CMD'
	gputap trace --via agent --comm x -- true
	expect_status 2
	expect_error_line '^gputap: --via agent excludes --comm: use --via kernel'
}

@test "a thread whose ring is full drops records instead of waiting with --full-ring drop" {
	callback_via agent --ring-size 64K --full-ring drop -- "$programs/callback" stop 5000
	expect_status 0
	expect_output_line '^callback: 15000 calls$'
	[[ $stderr =~ incomplete:\ 15000\ calls\ via\ agent:\ ([0-9]+)\ complete,\ 0\ unfinished,\ ([0-9]+)\ lost ]] || fail 'no account'
	[ $((BASH_REMATCH[1] + BASH_REMATCH[2])) = 15000 ]
	gputap trace --via kernel --full-ring drop -- true
	expect_status 2
	expect_error "gputap: --full-ring is for --via agent: the ring of the kernel always drops (try 'gputap trace --help')"
	gputap trace --via agent --full-ring never -- true
	expect_status 2
	expect_error "gputap: invalid value 'never' for --full-ring (one of: wait, drop) (try 'gputap trace --help')"
}

@test "libraries that LD_PRELOAD names are between the one that records calls and the agent" {
	LD_PRELOAD=libm.so.6 gputap trace --via agent --gpu soft -o out -- sh -c 'echo "$LD_PRELOAD"'
	expect_status 0
	expect_output_line 'libgputap-calls\.so:libm\.so\.6:.*libgputap-agent\.so$'
}

# With the stand-in runtime, which calls back; without a GPU.
callback_via() {
	LD_LIBRARY_PATH=$programs/standin gputap trace --gpu nvidia --via "$1" -o out.txt "${@:2}"
}

@test "calls that do not return normally are counted as by uprobes" {
	need_probes
	for what in 'longjmp 5' 'nested 5' 'exit 5' 'thread 5' 'exec 5' 'launch 5'; do
		for via in kernel agent; do
			# shellcheck disable=SC2086 # two words
			callback_via "$via" -- "$programs/callback" $what
			expect_status 0
			grep -E 'calls.*: .* complete' <<<"$stderr" | sed 's/ via agent//' >"$via"
			printf '%s\n' "$output" >>"$via"
		done
		diff kernel agent || fail "$what"
	done
	expect_error_line '^gputap: 10 calls via agent: 10 complete, 0 unfinished, 0 lost$'
}

@test "at full speed a ring that is smaller than the calls loses none" {
	LD_LIBRARY_PATH=$programs/standin gputap trace --gpu nvidia --via agent --ring-size 1M -c -- "$programs/calls" 200000
	expect_status 0
	expect_error_line '^gputap: 200000 calls via agent: 200000 complete, 0 unfinished, 0 lost$'
}

@test "while gputap is stopped the program continues, and what the ring has no room for is counted as lost" {
	callback_via agent --ring-size 64K -- "$programs/callback" stop 5000
	expect_status 0
	expect_output_line '^callback: 15000 calls$'
	[[ $stderr =~ incomplete:\ 15000\ calls\ via\ agent:\ ([0-9]+)\ complete,\ 0\ unfinished,\ ([0-9]+)\ lost ]] || fail 'no account'
	[ $((BASH_REMATCH[1] + BASH_REMATCH[2])) = 15000 ]
	# Those before it are complete.
	[ "${BASH_REMATCH[2]}" -gt 1000 ] && [ "${BASH_REMATCH[1]}" -ge 5000 ]
}

@test "a program continues when gputap is killed while its calls are recorded" {
	"$build/gputap" trace --gpu soft --via agent -o out.txt -- "$programs/timed" kill >output 2>/dev/null || true
	wait_for grep -q '^counted: 5050$' output
}

@test "a function that no library has fails with an error of its API" {
	need_command gcc
	gcc -fPIE -pie -Wl,-z,dynamic-undefined-weak -x c -o missing - <<-'END'
		#include <stdio.h>
		#pragma weak cudaDeviceSynchronize
		#pragma weak hipDeviceSynchronize
		#pragma weak hiprtcVersion
		#pragma weak clFinish
		#pragma weak zeInit
		#pragma weak rocblas_destroy_handle
		#pragma weak miopenDestroy
		#pragma weak clCreateBuffer
		int cudaDeviceSynchronize(void), hipDeviceSynchronize(void), hiprtcVersion(int *, int *),
			clFinish(void *), zeInit(int), rocblas_destroy_handle(void *), miopenDestroy(void *);
		void *clCreateBuffer(void *, unsigned long, unsigned long, void *, int *);
		int main(void)
		{
			int error = 0;

			printf("cuda %d\n", cudaDeviceSynchronize());
			printf("hip %d\n", hipDeviceSynchronize());
			printf("hiprtc %d\n", hiprtcVersion(&error, &error));
			printf("opencl %d\n", clFinish(NULL));
			printf("level zero %#x\n", zeInit(0));
			printf("rocblas %d\n", rocblas_destroy_handle(NULL));
			printf("miopen %d\n", miopenDestroy(NULL));
			printf("buffer %p\n", clCreateBuffer(NULL, 0, 0, NULL, &error));
			return 0;
		}
	END
	gputap trace --via agent --gpu nvidia -o trace -- ./missing
	expect_status 0
	expect_output "cuda 500
hip 500
hiprtc 11
opencl -59
level zero 0x78000003
rocblas 2
miopen 6
buffer (nil)"
}
