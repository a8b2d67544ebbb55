# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tests for a machine with a GPU (tests/gpu): the bundle, and its script on the software GPU. Needs
# no privileges and no GPU.

load helper

bundle=$BATS_FILE_TMPDIR/bundle

setup_file() {
	local root
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	[ -e "${BUILD:-$root/build}/examples/vectoradd" ] || return 0
	"$root/tools/gpu-bundle" --directory "${BUILD:-$root/build}" "$BATS_FILE_TMPDIR/bundle"
}

setup() {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
}

# in_bundle ARGUMENTS…: runs the script where nothing but the system's commands is found.
in_bundle() {
	observe env -i PATH=/usr/bin:/bin "$bundle/run" "$@"
}

@test "the bundle's program needs no library but libc, and none of this year's" {
	observe ldd "$bundle/bin/gputap"
	expect_no_output_line 'libbpf|libelf|libdw|liblz|libz|libzstd|libbz2|libnettle'
	for file in bin/gputap lib/gputap/libgputap-{agent,calls}.so prebuilt/vectoradd; do
		newest=$(objdump -T "$bundle/$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
		[ "$(printf '%s\n' "$newest" GLIBC_2.34 | sort -V | tail -n 1)" = GLIBC_2.34 ] ||
			fail "$file needs $newest"
	done
}

@test "all checks of the bundle pass on the software GPU, and it prints its tables" {
	in_bundle --gpu soft --rounds 1
	expect_status 0
	expect_output_line '^[0-9]+ passed, 0 failed, [0-9]+ skipped$'
	expect_no_output_line '^FAIL'
	expect_output_line '^ok +trace: calls seen by the agent +3 cudaFree 1 cudaLaunchKernel 3 cudaMalloc 3 cudaMemcpy$'
	expect_output_line '^ok +kernels: launches seen by the agent +8 launches of steps$'
	expect_output_line "^ok +Python's ctypes: same results +1 module: 1 patched "
	for client in cupy triton torch jax; do
		expect_output_line "^skip +Python's $client: same results +needs an NVIDIA GPU\$"
	done
	expect_output_line '^(ok|skip) +instructions on OpenCL devices'
	for check in 'trace: calls seen by the kernel' 'kernels: launches seen by the kernel' 'record and report: times of the GPU'; do
		if "$build/gputap" trace --via kernel -o /dev/null -- true 2>&1 | grep -q 'no privilege'; then
			expect_output_line "^skip +$check +needs root"
		else
			expect_output_line "^ok +$check"
		fi
	done
	for check in 'launchlate: 16 pipelined launches' 'launchlate: 8 launches in streams'; do
		expect_output_line "^(skip +$check +needs root|ok +$check +[0-9]+ launches; clocks ± [0-9.]+ µs\$)"
	done
	expect_output_line '^ok +of 100 kernels the one that matches is compiled 4 scenarios; .* 2 patched \(2 side, 0 whole\)'
	expect_output_line '^ok +a module that the driver rejects stays as it was 1 module loaded as it is: the driver rejected the patched module \(218\)$'
	expect_output_line '^ok +blocks are as large as before +2 modules: 2 patched '
	expect_output_line '^ok +host calls: none is lost +200 updates and 200 lines; an update takes [0-9.]+ µs \(median\)$'
	expect_output_line '^ok +programs of a running kernel are switched +[0-9]+ intervals; [0-9]+ loads$'
	expect_output_line '^ok +the same, with maps in host memory +[0-9]+ intervals; [0-9]+ loads$'
	expect_output_line '^ok +--when and --sample change while a kernel runs +[0-9]+ runs of programs were skipped$'
	expect_output_line '^ok +the agent, where no program matches +vectoradd: [0-9.]+ ms, [0-9.]+ ms; a module of 2000 lines: [0-9.]+ ms, [0-9.]+ ms \(with, without\)$'
	for check in 'calls seen by the agent' 'calls seen by the kernel' 'results of vectoradd' 'results of reduce'; do
		expect_output_line "^(ok|skip) +OpenCL: $check"
	done
	expect_output_line '^ok +counts of threads are exact'
	for tool in $("$build/gputap" list --tools | awk 'NR > 1 { print $1 }'); do
		expect_output_line "^(ok|skip) +$tool: same results"
	done
	for row in original null empty counter ring switchable host-maps threadhist memtrace; do
		expect_output_line "^$row( +[0-9]+\\.[0-9]+){6}\$"
		expect_output_line "^\| $row( \| [0-9]+\\.[0-9]+){6} \|\$"
	done
}

@test "the bundle's script reports wrong results, with status 1" {
	cp "$bundle/objects/counter.bpf.o" "$BATS_TEST_TMPDIR/counter.bpf.o"
	cp "$bundle/prebuilt/matmul" "$BATS_TEST_TMPDIR/matmul"
	cp "$bundle/objects/empty.bpf.o" "$bundle/objects/counter.bpf.o"
	printf '#!/bin/sh\necho $$\n' >"$bundle/prebuilt/matmul"
	cp "$bundle/shared/vectoradd" "$BATS_TEST_TMPDIR/vectoradd"
	cp "$bundle/shared/streams" "$bundle/shared/vectoradd"
	cp "$bundle/sources/python/driver_calls.py" "$BATS_TEST_TMPDIR/"
	sed -i "s/^print.*/import os; print(os.getpid())/" "$bundle/sources/python/driver_calls.py"
	in_bundle --gpu soft --no-speed \
		--only '^(matmul|vectoradd): same results, every|^counts of|^trace: calls seen by the agent|ctypes|^speed'
	cp "$BATS_TEST_TMPDIR/vectoradd" "$bundle/shared/vectoradd"
	cp "$BATS_TEST_TMPDIR/driver_calls.py" "$bundle/sources/python/"
	cp "$BATS_TEST_TMPDIR/counter.bpf.o" "$bundle/objects/counter.bpf.o"
	cp "$BATS_TEST_TMPDIR/matmul" "$bundle/prebuilt/matmul"
	expect_status 1
	expect_output_line '^FAIL +counts of threads are exact +counts: , not 250 250$'
	expect_output_line '^FAIL +matmul: same results, every kind of site +it prints something else$'
	expect_output_line '^FAIL +trace: calls seen by the agent +2 cudaFree 8 cudaLaunchKernel 2 cudaMalloc$'
	expect_output_line "^FAIL +Python's ctypes: same results +it prints something else\$"
	expect_output_line '^ok +vectoradd: same results'
	expect_output_line '^\| FAIL \| counts of threads are exact \| counts: , not 250 250 \|$'
	expect_output_line '^4 passed, 4 failed, 0 skipped$'
	expect_no_output_line 'vectorAdd|speed'
	in_bundle --gpu soft --only '^no check$'
	expect_status 1
	expect_output_line '^3 passed, 0 failed, 0 skipped$'
	expect_error "run: no check matches '^no check\$'"
}

@test "the bundle's script fails without an NVIDIA driver, and rejects unknown options" {
	[ ! -e /dev/nvidiactl ] || skip "there is an NVIDIA GPU"
	in_bundle
	expect_status 1
	expect_output_line '^FAIL +there is a GPU'
	in_bundle --gpu amd
	expect_status 2
	expect_error 'usage: run [--gpu nvidia|soft] [--rounds N] [--only REGEX] [--no-speed] [--toolkit] [--keep DIRECTORY]'
	in_bundle --only '('
	expect_status 2
}
