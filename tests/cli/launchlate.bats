# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# launchlate: launching calls, their grids on the GPU, and the clock that both are on. Needs BPF, and
# no GPU. Which times pass depends on the machine: tests ask for what holds on every one.

load helper

setup() {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
}

# The report as JSON in $output.
launchlate() {
	gputap launchlate --json --gpu soft -- "$@"
	expect_status 0
	printed=$(grep -v '^{' <<<"$output") output=$(grep '^{' <<<"$output")
}

# program SOURCE: compiles a CUDA program.
program() {
	printf '#include <cuda_runtime.h>\n#include <cuda.h>\n%s\n' "$1" >"$BATS_TEST_TMPDIR/program.cu"
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/program" "$BATS_TEST_TMPDIR/program.cu" \
		-L"$softgpu" -l:libcuda.so.1
}

nothing_is_unmatched='.[0] | .violations == 0 and .ambiguous == 0 and .failed == 0 and .captured == 0 and
	.not_patched == 0 and .several == 0 and .calls_unmatched == 0 and .grids_unmatched == 0 and
	.records_lost == 0 and .not_counted == 0 and .records_malformed == 0 and .clock.violations == 0'

@test "launchlate matches pipelined launches one by one, in their order" {
	launchlate "$examples/pipeline"
	expect_json "$nothing_is_unmatched"
	[ "$printed" = 'pipeline: 16 launches are right' ]
	expect_json '.[0].launches | length == 16 and map(.launch) == [range(1; 17)] and
		map(.call) == (map(.call) | sort) and map(.first) == (map(.first) | sort) and
		(map(.call) | unique | length) == 16 and all(.kernel == "_Z4stepPji")'
}

@test "launchlate reports latencies within the error bound of its clock" {
	launchlate "$examples/pipeline"
	# The clock of the software GPU is CLOCK_MONOTONIC.
	expect_json '.[0] | .clock as $clock | ($clock.offset | fabs) <= $clock.error and
		($clock.drift | fabs) <= $clock.drift_error and .clock.error > 0 and
		all(.launches[]; (.latency - (.first - .call) | fabs) <= $clock.error and .first > .call)'
}

@test "launchlate finds the offset of a clock that differs from the host's" {
	SOFTGPU_CLOCK_OFFSET=-86400s launchlate "$examples/streams"
	expect_json "$nothing_is_unmatched"
	expect_json '.[0].clock | (.offset + 86400e9 | fabs) <= .error'
	SOFTGPU_CLOCK_OFFSET=3ms SOFTGPU_CLOCK_DRIFT=250 launchlate "$examples/streams"
	expect_json '.[0].violations == 0'
	expect_json '.[0].clock | .violations == 0 and (.drift - 250 | fabs) <= .drift_error'
}

@test "launchlate prints latencies by kernel, a histogram and the error bound" {
	gputap launchlate --gpu soft -- "$examples/pipeline"
	expect_status 0
	expect_output_line '^LAUNCHES +MIN +MEDIAN +P99 +MAX +KERNEL$'
	expect_output_line '^ +16 .* [nµm]?s  step$'
	expect_output_line '^LATENCY FROM \.\. BELOW        LAUNCHES$'
	expect_output_line '^ +[0-9.]+ [nµm]?s \.\. [0-9.]+ [nµm]?s +[0-9]+  #+$'
	expect_output_line '^GPU clock = CLOCK_MONOTONIC [+-] [0-9.]+ [nµm]?s ± [0-9.]+ [nµm]?s.*; the same error bound holds for latencies$'
	expect_no_error_line 'was not attached'
}

@test "launchlate sees launches of the runtime, shared or static, and of the driver" {
	for example in vectoradd vectoradd-static vectoradd-stripped driver finddriver newlaunch matmul reduce; do
		launchlate "$examples/$example"
		expect_json "$nothing_is_unmatched"
		expect_json '.[0].launches | length > 0'
	done
}

@test "launchlate sees cooperative and extended launches" {
	program '__global__ void step(int *p) { atomicAdd(p, 1); }
		int main() {
			int *p, value; void *arguments[] = {&p};
			cudaLaunchConfig_t config = {};
			config.gridDim = dim3(2); config.blockDim = dim3(32);
			cudaMalloc(&p, 4); cudaMemset(p, 0, 4);
			cudaLaunchCooperativeKernel((void *)step, dim3(2), dim3(32), arguments, 0, 0);
			cudaLaunchKernelExC(&config, (void *)step, arguments);
			step<<<2, 32>>>(p);
			cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
			return value != 192;
		}'
	launchlate "$BATS_TEST_TMPDIR/program"
	expect_json "$nothing_is_unmatched"
	expect_json '.[0].launches | map(.launch) == [1, 2, 3]'
}

@test "launchlate counts calls that failed and those of kernels without programs, and matches the others" {
	program '__global__ void step(int *p) { atomicAdd(p, 1); }
		static const char ptx[] = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry other()\n{\n\tbroken;\n}\n";
		int main() {
			int *p, value;
			cudaMalloc(&p, 4); cudaMemset(p, 0, 4);
			step<<<1, 32>>>(p);
			step<<<1, 2048>>>(p);
			step<<<1, 32>>>(p);
			cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
			return value != 64;
		}'
	launchlate "$BATS_TEST_TMPDIR/program"
	expect_json '.[0] | .failed == 1 and .calls_unmatched == 0 and .grids_unmatched == 0 and
		(.launches | length) == 2 and .violations == 0'
}

@test "launchlate counts grids that kernels launch, which no call did, and matches the others" {
	need_command nvcc
	echo '#include <cstdio>
		__global__ void child(int *p) { atomicAdd(p, 1); }
		__global__ void parent(int *p) { if (threadIdx.x < 3) child<<<1, 16>>>(p); }
		int main() {
			int *p, value;
			cudaMalloc(&p, 4); cudaMemset(p, 0, 4);
			parent<<<1, 32>>>(p); parent<<<1, 2>>>(p);
			cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
			return value != 80; }' >"$BATS_TEST_TMPDIR/nested.cu"
	nvcc -rdc=true -arch=compute_75 -code=compute_75 -cudart shared -o "$BATS_TEST_TMPDIR/nested" \
		"$BATS_TEST_TMPDIR/nested.cu"
	launchlate "$BATS_TEST_TMPDIR/nested"
	expect_json '.[0] | .calls_unmatched == 0 and .grids_unmatched == 5 and
		(.launches | length == 2 and .[0].launch == 1 and .[1].launch > 1)'
	gputap kernelretsnoop --gpu soft --json -- "$BATS_TEST_TMPDIR/nested"
	expect_status 0
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].launches | map(.threads) | sort == [2, 16, 16, 16, 16, 16, 32]'
}

@test "launchlate matches the grids of a graph with its launches" {
	program '__global__ void direct(int *p) { atomicAdd(p, 1); }
		__global__ void first(int *p) { atomicAdd(p, 100); }
		__global__ void second(int *p) { atomicAdd(p, 10000); }
		int main() {
			int *p, value;
			cudaStream_t stream; cudaGraph_t graph; cudaGraphExec_t exec;
			cudaMalloc(&p, 4); cudaMemset(p, 0, 4);
			cudaStreamCreate(&stream);
			direct<<<1, 1, 0, stream>>>(p);
			cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
			first<<<1, 1, 0, stream>>>(p);
			second<<<1, 1, 0, stream>>>(p);
			second<<<1, 1, 0, stream>>>(p);
			cudaStreamEndCapture(stream, &graph);
			cudaGraphInstantiate(&exec, graph, 0);
			for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, stream);
			direct<<<1, 1, 0, stream>>>(p);
			cudaStreamSynchronize(stream);
			cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
			return value != 60302;
		}'
	launchlate "$BATS_TEST_TMPDIR/program"
	expect_json '.[0] | .captured == 3 and .failed == 0 and .calls_unmatched == 0 and
		.grids_unmatched == 0 and .violations == 0'
	expect_json '.[0].launches | map(select(.graph)) | length == 9 and
		(group_by(.call) | length == 3 and all(map(.kernel) | sort ==
			["_Z5firstPi", "_Z6secondPi", "_Z6secondPi"]))'
	expect_json '.[0].launches | map(select(.graph | not)) | length == 2 and
		all(.kernel == "_Z6directPi")'
}

@test "launchlate does not guess where a kernel is launched by calls and by graphs" {
	program '__global__ void step(int *p) { atomicAdd(p, 1); }
		int main() {
			int *p;
			cudaStream_t stream; cudaGraph_t graph; cudaGraphExec_t exec;
			cudaMalloc(&p, 4);
			cudaStreamCreate(&stream);
			cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
			step<<<1, 1, 0, stream>>>(p);
			cudaStreamEndCapture(stream, &graph);
			cudaGraphInstantiate(&exec, graph, 0);
			step<<<1, 1, 0, stream>>>(p);
			cudaGraphLaunch(exec, stream);
			return cudaStreamSynchronize(stream);
		}'
	launchlate "$BATS_TEST_TMPDIR/program"
	expect_json '.[0] | .captured == 1 and .calls_unmatched == 1 and .grids_unmatched == 2 and
		.launches == []'
	gputap launchlate --gpu soft -- "$BATS_TEST_TMPDIR/program"
	expect_status 0
	expect_output_line '^no launch was matched$'
	expect_output_line '^2 grids are not matched: there are more or fewer calls for their kernel, or another kernel launched them$'
}

@test "launchlate follows the children of its command" {
	launchlate sh -c "'$examples/vectoradd'; '$examples/vectoradd'"
	expect_json "$nothing_is_unmatched"
	expect_json '.[0].launches | length == 2 and (map(.pid) | unique | length) == 2'
}

@test "launchlate without privileges is an error that says what is needed" {
	need_command setpriv
	observe setpriv --inh-caps=-all --bounding-set=-all "$build/gputap" launchlate --gpu soft -- \
		touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line '^gputap: no privilege to load BPF programs: run as root \(sudo\), or give gputap CAP_BPF and CAP_PERFMON$'
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}
