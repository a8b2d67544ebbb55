# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The examples without gputap: on the software GPU, and assembled by ptxas where there is
# one.
load helper

softcc=$root/tools/softcc
programs=$build/tests/programs
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null || true)

setup_file() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	local build=${BUILD:-$root/build} targets names='vectoradd|matmul|reduce|streams|bench|leak|failures'
	targets=$(ninja -C "$build" -t targets all | sed -nE "s/^(examples\/nvcc-($names)):.*/\1/p")
	# shellcheck disable=SC2086 # one word a target
	[ -z "$targets" ] || flock "$build" ninja -C "$build" --quiet $targets
}

need_nvcc_built() {
	[ -x "$examples/nvcc-$1" ] || skip "there is no nvcc"
}

# example NAME [ARGUMENT…]: runs it on the software device.
example() {
	on_softgpu "$examples/$1" "${@:2}"
}

@test "vectoradd adds on the software device" {
	example vectoradd
	expect_status 0
	expect_output "vectoradd: 262144 sums are right"
	expect_error ""
}

@test "vectoradd with the static runtime finds the software device's driver" {
	example vectoradd-static
	expect_status 0
	expect_output "vectoradd: 262144 sums are right"
}

@test "vectoradd with the static runtime runs stripped, too" {
	observe nm "$examples/vectoradd-stripped"
	expect_error "nm: $examples/vectoradd-stripped: no symbols"
	example vectoradd-stripped
	expect_status 0
	expect_output "vectoradd: 262144 sums are right"
}

@test "matmul multiplies matrices that fill no whole tiles" {
	example matmul 50
	expect_status 0
	expect_output "matmul: the product of two 50 x 50 matrices is right"
}

@test "matmul multiplies matrices of its default size" {
	example matmul
	expect_status 0
	expect_output "matmul: the product of two 128 x 128 matrices is right"
}

@test "matmul rejects an invalid size" {
	example matmul -3
	expect_status 2
	expect_error "usage: matmul [N], N from 1 to 4096"
}

@test "reduce finds sum and maximum" {
	example reduce
	expect_status 0
	expect_output "reduce: sum 3499992 and maximum 11 of 1000003 numbers are right"
}

@test "streams works in two streams" {
	example streams
	expect_status 0
	expect_output_line '^streams: stream 0 was busy for [0-9]+\.[0-9]{3} ms$'
	expect_output_line '^streams: stream 1 was busy for [0-9]+\.[0-9]{3} ms$'
	expect_output_line '^streams: 8 pieces in 2 streams are right$'
}

@test "leak leaks what it says" {
	example leak
	expect_status 0
	expect_output "leak: 10 allocations: 6 freed, 3 leaked (321000 bytes), 1 failed"
}

@test "failures gets the right error for each failure" {
	example failures
	expect_status 0
	expect_output "failures: 2048 threads in a block: cudaErrorInvalidConfiguration
failures: memory freed twice: cudaErrorInvalidValue
failures: a pointer from nowhere freed: cudaErrorInvalidValue
failures: 1 PiB of memory: cudaErrorMemoryAllocation
failures: device 1000: cudaErrorInvalidDevice
failures: a store to address 16: cudaErrorIllegalAddress
failures: a call after that: cudaErrorIllegalAddress
failures: 7 errors are right"
}

@test "bench prints a line for each of the five operations" {
	example bench 20
	expect_status 0
	[ "${lines[0]}" = "Data size: 1048576 bytes (1024 KB)" ]
	[ "${lines[1]}" = "Iterations: 20" ]
	[ "${lines[2]}" = "Summary (average time per operation):" ]
	[ "${#lines[@]}" = 9 ]
	for name in cudaMalloc cudaMemcpyH2D cudaLaunchKernel cudaMemcpyD2H cudaFree; do
		expect_output_line "^$name: +[0-9]+\.[0-9]{2} µs\$"
	done
}

@test "bench rejects an invalid number of iterations" {
	example bench nothing
	expect_status 2
	expect_error "usage: bench [ITERATIONS]"
}

@test "driver runs a kernel by the driver API alone" {
	example driver
	expect_status 0
	expect_output_line "^driver: 1000 products from '.+' are right\$"
}

@test "finddriver names no CUDA library and yet runs a kernel" {
	observe readelf -d "$examples/finddriver"
	expect_no_output_line 'NEEDED.*libcud'
	example finddriver
	expect_status 0
	expect_output "finddriver: 1000 products are right"
}

@test "newlaunch launches by handle, as programs of nvcc 13" {
	example newlaunch
	expect_status 0
	expect_output "newlaunch: 1000 products after 3 launches are right"
}

@test "no example says where its CUDA runtime lies" {
	for program in "$examples"/{vectoradd,matmul,reduce,streams,leak,failures,bench,newlaunch}; do
		observe readelf -d "$program"
		expect_output_line 'NEEDED.*\[libcudart\.so\.13\]'
		expect_no_output_line 'RPATH|RUNPATH'
	done
}

@test "the lines of the leaks are in the debug information" {
	local lines_of_leaks
	lines_of_leaks=$(sed -n '/\/\* leaked/=' "$root/examples/leak.cu")
	[ "$(wc -w <<<"$lines_of_leaks")" = 3 ]
	observe objdump --dwarf=decodedline "$examples/leak"
	for line in $lines_of_leaks; do
		expect_output_line "leak\.cu +$line +0x"
	done
}

@test "the device's functions give what the host's give" {
	on_softgpu "$programs/device"
	expect_status 0
	expect_output_line '^device: printed by thread 1: 42 text 2\.50 x 1099511627776$'
	expect_output_line '^device: [0-9]+ checks are right, 0 wrong$'
}

@test "ptxas accepts the PTX of every example" {
	[ -n "$ptxas" ] || skip "there is no ptxas"
	for source in "$root"/examples/*.cu "$programs/../../../tests/programs/device.cu"; do
		observe "$softcc" --build "$build" --ptx -o "$BATS_TEST_TMPDIR/example.ptx" "$source"
		expect_status 0
		observe "$ptxas" -arch=sm_75 -o "$BATS_TEST_TMPDIR/cubin" "$BATS_TEST_TMPDIR/example.ptx"
		[ "$status" = 0 ] || fail "ptxas rejects $source"
	done
}

@test "vectoradd, matmul and reduce built by nvcc run on the software device" {
	need_nvcc_built vectoradd
	for name in vectoradd matmul reduce; do
		example "nvcc-$name"
		expect_status 0
		expect_output_line "^$name: .* right\$"
	done
}

@test "streams and bench built by nvcc run on the software device" {
	need_nvcc_built streams
	example nvcc-streams
	expect_status 0
	expect_output_line '^streams: 8 pieces in 2 streams are right$'
	example nvcc-bench 5
	expect_status 0
}

@test "leak and failures built by nvcc say the same as built by clang" {
	need_nvcc_built leak
	for name in leak failures; do
		example "$name"
		local expected=$output
		example "nvcc-$name"
		expect_status 0
		expect_output "$expected"
	done
}
