# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that compile kernels at run time and load cubins: the PTX is found by each route, and the
# programs run with GPU programs inserted, on the software GPU. Needs no privileges and no GPU.

load helper

programs=$root/tests/programs/jit
cuda=${CUDA_HOME:-/usr/local/cuda}
arch=sm_75

setup_file() {
	export SOFTGPU_ARCH=75
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	need_command gcc
	PATH=$PATH:$cuda/bin
	printf '%s\n' '#include <gputap/bpf.h>' 'GPUTAP_ARRAY(counts, unsigned long long, 2);' \
		'SEC("gpu/entry/add") int entry(void *ctx) {' \
		'	unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }' \
		'SEC("gpu/exit/add") int end(void *ctx) {' \
		'	unsigned int key = 1; bpf_map_add(&counts, &key, 1); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
}

# compile NAME [ARGUMENTS…]: compiles a program of tests/programs/jit.
compile() {
	gcc -g -O1 -I "$root/softgpu/include" -I "$programs" -o "$1" "$programs/$1.c" "${@:2}" \
		-L "$softgpu" -l:libcuda.so.1 -ldl
}

# cubin FILE OPTIONS…: compiles kernels.cu to a cubin with the toolkit.
cubin() {
	need_command nvcc
	nvcc -arch=$arch -cubin "${@:2}" -o "$1" "$programs/kernels.cu"
}

# inserted COMMAND…: runs it with the GPU programs; all of its 1024 threads are counted.
inserted() {
	gputap run --gpu soft --json program.o -- "$@"
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	[ "$(jq -c 'select(.maps) | [.maps[].entries[].value]' <<<"$(grep '^{' <<<"$output")")" = \
		'[1024,1024]' ] || fail "not all threads were counted"
}

# untouched COMMAND…: it runs on the software GPU without gputap.
untouched() {
	on_softgpu "$@"
	expect_status 0
	expect_output 'add: 1000 sums are right'
}

@test "cubins with line information are patched, by each function that loads images" {
	cubin with.cubin -lineinfo
	compile load
	for method in file data data-ex fatbinary library library-file; do
		untouched ./load $method with.cubin
		inserted ./load $method with.cubin
	done
}

@test "fatbins whose cubins have line information are patched" {
	need_command nvcc
	nvcc -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -lineinfo -fatbin \
		-o with.fatbin "$programs/kernels.cu"
	compile load
	for method in data library file; do
		untouched ./load $method with.fatbin
		inserted ./load $method with.fatbin
	done
}

@test "a cubin without PTX stays as it is and counts as SASS only" {
	cubin without.cubin
	compile load
	on_softgpu ./load data without.cubin
	expect_status 1
	expect_error_line 'cuModuleLoadData\(&module, image\): 209$'
	gputap run -v --gpu soft program.o -- ./load data without.cubin
	expect_status 1
	expect_error_line '^gputap: module 1 of process [0-9]+: original; 0 of 0 sites patched; SASS only: the module has no PTX for sm_75$'
	expect_error_line '^gputap: 1 modules: 0 patched \(0 side, 0 whole\), 1 SASS only, 0 failed'
}
