# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The current context and device of calls, default streams; layers that are filtered.

load helper
load tracing

contexts=$programs/contexts

setup() {
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
}

soft() {
	gputap trace --gpu soft "$@"
}

# The allocations in the file out.json, as the program prints them: SIZE CONTEXT.
allocations() {
	jq -r 'select(.name == "cuMemAlloc_v2" and .result == "CUDA_SUCCESS") |
		"\(.args.bytesize) \(.context)"' out.json
}

@test "calls have the current context of their thread, however it became current" {
	soft --json -o out.json -- "$contexts"
	expect_status 0
	[ "$(wc -l <<<"$output")" = 8 ]
	expect_output "$(allocations)"
	# Without a current context, there is none, and no device.
	[ "$(jq -c 'select(.args.bytesize == 9000) | [.context, .device]' out.json)" = "[null,null]" ]
	[ "$(jq -r 'select(.args.bytesize == 2000) | .device' out.json)" = 0 ]
}

@test "contexts are known although their calls are not traced, and no call is counted for that" {
	soft -f cuMemAlloc_v2 --json -o out.json -- "$contexts"
	expect_output "$(allocations)"
	expect_error_line '^gputap: 9 calls: 9 complete, 0 unfinished, 0 lost$'
	soft --when 'result!=0' -o out.gtap -- "$contexts"
	gputap trace --from out.gtap --json
	output=$(grep '^{' <<<"$output")
	expect_json 'map(select(.name)) | length == 1 and .[0].args.bytesize == 9000'
}

@test "in a process that was attached to late, a context is known once the program asks for it" {
	LD_LIBRARY_PATH=$softgpu "$contexts" wait >expected 3>&- &
	gputap trace -d $! --json -o out.json
	[ "$(jq -c 'select(.args.bytesize == 1000) | .context' out.json)" = null ]
	[ "2000 $(jq -r 'select(.args.bytesize == 2000) | .context' out.json)" = "$(tail -n 1 expected)" ]
}

@test "contexts and devices are the same in a capture as in the live trace" {
	soft -o out.gtap -- "$contexts" uuid
	expected=$(tail -n +2 <<<"$output")
	uuid=$(sed -n 's/^uuid \([^ ]*\).*/\1/p' <<<"$output")
	gputap trace --from out.gtap --json
	grep '^{' <<<"$output" >out.json
	[ "$(allocations)" = "$expected" ]
	[ "$(jq -r 'select(.device == 0) | .device_uuid' out.json | sort -u)" = "$uuid" ]
}

@test "a device's UUID is printed once the program has asked for it, never before" {
	[ ! -e /proc/driver/nvidia/gpus ] || skip "NVIDIA's driver may show it"
	soft --json -o out.json -- "$contexts" uuid
	uuid=$(sed -n 's/^uuid \([^ ]*\).*/\1/p' <<<"$output")
	[[ $uuid =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]]
	[ "$(jq -r 'select(.device == 0) | .device_uuid' out.json | sort -u)" = "$uuid" ]
	soft --json -o out.json -- "$contexts"
	[ "$(jq -c 'select(has("device_uuid"))' out.json)" = "" ]
}

@test "the runtime's device properties contain the device's UUID, too" {
	need_command cc
	cat >properties.c <<-'EOF'
		#include <cuda_runtime_api.h>
		#include <stdio.h>
		int main(void)
		{
			struct cudaDeviceProp properties;
			void *pointer;

			if (cudaGetDeviceProperties(&properties, 0) || cudaMalloc(&pointer, 16))
				return 1;
			for (int i = 0; i < 16; i++)
				printf("%02x", (unsigned char)properties.uuid.bytes[i]);
		}
	EOF
	cc "-I$root/softgpu/include" properties.c -o properties "$softgpu/libcudart.so.13"
	soft -f cudaMalloc --json -o out.json -- ./properties
	expect_status 0
	[ "$(jq -r 'select(.name == "cudaMalloc") | .device_uuid | gsub("-"; "")' out.json)" = "$output" ]
}

@test "the runtime's calls have the context that the runtime created" {
	soft --json -o out.json -- "$examples/vectoradd"
	expect_status 0
	[ "$(jq -r 'select(.name) | .context' out.json | sort -u | wc -l)" = 1 ]
	[[ $(jq -r 'select(.name == "cudaMalloc") | .context' out.json | sort -u) =~ ^0x[0-9a-f]+$ ]]
}

@test "after a reset there is no context until there is a new one" {
	need_command cc
	cat >reset.c <<-'EOF'
		#include <cuda_runtime_api.h>
		int main(void)
		{
			int device;
			void *pointer;

			return cudaMalloc(&pointer, 16) || cudaGetDevice(&device) || cudaDeviceReset() ||
			       cudaGetDevice(&device) || cudaMalloc(&pointer, 32);
		}
	EOF
	cc "-I$root/softgpu/include" reset.c -o reset "$softgpu/libcudart.so.13"
	soft --json -o out.json -- ./reset
	expect_status 0
	[ "$(jq -r 'select(.name) | "\(.name) \(.context != null)"' out.json)" = "cudaMalloc true
cudaGetDevice true
cudaDeviceReset true
cudaGetDevice false
cudaMalloc true" ]
}

@test "default streams are distinguished: the legacy one, and the thread's own" {
	soft -t -r -- "$programs/default-stream"
	[ "$(sed -n 's/.* \(cu[a-z]*Memcpy[^ ]*\) .* kind=H2D/\1/p' <<<"$stderr" | sed 's/ dst=[^ ]*//; s/ src=[^ ]*//; s/0x[0-9a-f]\{4,\}/HANDLE/')" = \
		"cudaMemcpyAsync stream=0x0
cudaMemcpyAsync stream=HANDLE
cudaMemcpyAsync stream=legacy
cudaMemcpy
cuMemcpyHtoD_v2
cuMemcpyHtoDAsync_v2 stream=0x0" ]
	soft -t -r -- "$programs/default-stream-per-thread"
	[ "$(sed -n 's/.* \(cu[a-z]*Memcpy[^ ]*\) .* kind=H2D/\1/p' <<<"$stderr" | sed 's/ dst=[^ ]*//; s/ src=[^ ]*//; s/0x[0-9a-f]\{4,\}/HANDLE/')" = \
		"cudaMemcpyAsync stream=per-thread
cudaMemcpyAsync stream=HANDLE
cudaMemcpyAsync stream=legacy
cudaMemcpy stream=per-thread
cuMemcpyHtoD_v2 stream=per-thread
cuMemcpyHtoDAsync_v2 stream=per-thread" ]
}

@test "JSON marks the functions whose default stream is the thread's own" {
	soft -f 'cu*Memcpy*' --json -o out.json -- "$programs/default-stream-per-thread"
	[ "$(jq -s -c 'map(select(.name)) | [length, all(.per_thread)]' out.json)" = "[6,true]" ]
	[ "$(jq -s -c 'map(.args.stream // .args.hStream // empty)' out.json | sed 's/"0x[0-9a-f]*"/HANDLE/')" = \
		'["per-thread",HANDLE,"legacy","per-thread"]' ]
	soft -f 'cu*Memcpy*' --json -o out.json -- "$programs/default-stream"
	[ "$(jq -s -c 'map(select(has("per_thread"))) | length' out.json)" = 0 ]
}

@test "driver calls inside runtime calls are filtered, also with -f, unless -v is given" {
	soft -f 'cudaMalloc,cuMemAlloc*' --json -o out.json -- "$examples/vectoradd"
	[ "$(jq -r 'select(.name) | .name' out.json | sort | uniq -c | xargs)" = "3 cudaMalloc" ]
	expect_error_line '^gputap: 3 calls: 3 complete'
	soft -v -f 'cudaMalloc,cuMemAlloc*' --json -o out.json -- "$examples/vectoradd"
	[ "$(jq -r 'select(.name) | "\(.name) \(.nested)"' out.json | sort | uniq -c | xargs)" = \
		"3 cuMemAlloc_v2 true 3 cudaMalloc false" ]
}

@test "the driver's calls are shown where those of the runtime around them were not asked for" {
	soft -f 'cuMemAlloc*,cuCtxSetCurrent' --json -o out.json -- "$examples/vectoradd"
	[ "$(jq -r 'select(.name == "cuMemAlloc_v2") | .nested' out.json | sort | uniq -c | xargs)" = "3 false" ]
	[ "$(jq -r 'select(.name == "cuCtxSetCurrent") | .nested' out.json | sort -u)" = false ]
}
