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

# nvcc_once FILE ARGUMENTS…: NVIDIA's compiler makes FILE, once for all tests with these arguments.
nvcc_once() {
	local made
	made=$BATS_FILE_TMPDIR/$(printf '%s\n' "${@:2}" | sha256sum | cut -d ' ' -f 1)
	[ -e "$made" ] || nvcc "${@:2}" -o "$made" || return
	cp "$made" "$1"
}

# cubin FILE OPTIONS…: compiles kernels.cu to a cubin with the toolkit.
cubin() {
	need_command nvcc
	nvcc -arch=$arch -cubin "${@:2}" -o "$1" "$programs/kernels.cu"
}

# compile_nvrtc NAME [ARGUMENTS…]: the same for nvrtc.c.
compile_nvrtc() {
	need_file "$cuda/include/nvrtc.h" "NVRTC (nvrtc.h)"
	gcc -g -O1 -I "$root/softgpu/include" -I "$programs" -I "$cuda/include" -o "$1" \
		"$programs/nvrtc.c" "${@:2}" -L "$softgpu" -l:libcuda.so.1 -L "$cuda/lib64" \
		-Wl,-rpath,"$cuda/lib64" -ldl
}

# inserted COMMAND…: runs it with the GPU programs; all of its 1024 threads are counted.
inserted() {
	gputap run --gpu soft --json program.o -- "$@"
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	[ "$(jq -c 'select(.maps) | [.maps[].entries[].value]' <<<"$(grep '^{' <<<"$output")")" = \
		'[1024,1024]' ] || fail "not all threads were counted"
}

# expect_side COUNT: so many of the patched modules of the last run were side modules.
expect_side() {
	grep '^{' <<<"$output" | jq -e --argjson count "$1" 'select(.coverage) | .coverage |
		.modules_patched == 1 and .modules_side == $count' || fail "not $1 side modules: $output"
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
	cubin debug.cubin -G
	inserted ./load data debug.cubin
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
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 1 SASS only, 0 failed'
	expect_error_line '^gputap: SASS only has no PTX for this device to insert programs into: build with -gencode .* or with -lineinfo, .*\(CUPY_CACHE_DIR, TRITON_CACHE_DIR\); the libraries of CUDA have none$'
}

@test "NVRTC's cubins are patched without line information: the PTX comes from NVRTC" {
	compile_nvrtc linked -lnvrtc
	for method in data data-ex fatbinary library; do
		inserted ./linked "$programs/kernels.cu" $method
	done
}

@test "NVRTC's cubins are patched with line information, and with a register limit" {
	compile_nvrtc linked -lnvrtc
	inserted ./linked "$programs/kernels.cu" data -lineinfo
	inserted ./linked "$programs/kernels.cu" data -maxrregcount=40 --ptxas-options=-O1
	untouched ./linked "$programs/kernels.cu" data -lineinfo
}

@test "the work of a program that compiles by NVRTC is timed, and its calls are the same" {
	need_probes
	compile_nvrtc linked -lnvrtc
	for method in data library; do
		gputap trace --gpu soft --json -o plain.json -- ./linked "$programs/kernels.cu" $method
		gputap trace --gpu soft --gpu-times all --json -o timed.json -- ./linked "$programs/kernels.cu" $method
		expect_status 0
		expect_output_line '^add: 1000 sums are right$'
		expect_error_line '^gputap: GPU times: 4 operations timed$'
		cmp <(jq -r 'select(.schema == "gputap.call.1").name' plain.json) \
			<(jq -r 'select(.schema == "gputap.call.1").name' timed.json) || fail "other calls"
	done
}

@test "NVRTC is found where the program opens it by dlopen" {
	compile_nvrtc opened -DDLOPEN
	inserted ./opened "$programs/kernels.cu" data
}

@test "a cubin that NVRTC made runs on the software GPU, whether or not a program matches" {
	compile_nvrtc linked -lnvrtc
	sed 's|gpu/entry/add|gpu/entry/nothing|; s|gpu/exit/add|gpu/exit/nothing|' program.c >other.c
	clang -g -O2 -target bpf -I "$root/include" -c other.c -o other.o
	gputap run --gpu soft other.o -- ./linked "$programs/kernels.cu" data
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 0 failed'
}

@test "the PTX of cubins that a ptxas process made is its input" {
	need_command nvcc
	nvcc_once kernels.ptx -arch=$arch -ptx "$programs/kernels.cu"
	compile ptxas
	for how in spawn spawnp execv execve pipe several options; do
		inserted ./ptxas $how "$(command -v ptxas)" kernels.ptx
	done
}

@test "a cubin that nvcc made in a child process is patched when it is loaded" {
	need_command nvcc
	compile load
	inserted sh -c "nvcc -arch=$arch -cubin -o made.cubin '$programs/kernels.cu' && ./load file made.cubin"
	inserted sh -c "nvcc -gencode arch=compute_75,code=sm_75 -fatbin -o made.fatbin '$programs/kernels.cu' &&
		./load data made.fatbin"
}

@test "a Python program that compiles and loads by ctypes is patched" {
	need_command python3
	need_file "$cuda/lib64/libnvrtc.so.13" "NVRTC (libnvrtc.so.13)"
	export LD_LIBRARY_PATH=$cuda/lib64
	inserted python3 "$programs/ctypes_client.py" "$programs/kernels.cu"
	inserted python3 "$programs/ctypes_client.py" "$programs/kernels.cu" -lineinfo
}

@test "a Python program that runs ptxas as a child process is patched" {
	need_command python3
	need_command nvcc
	nvcc_once kernels.ptx -arch=$arch -ptx "$programs/kernels.cu"
	inserted python3 "$programs/ctypes_client.py" kernels.ptx
	inserted python3 "$programs/ctypes_client.py" kernels.ptx -lineinfo
}

# images_of FORMAT: an image of kernels.cu.
images_of() {
	need_command nvcc
	case $1 in
	ptx) nvcc -arch=$arch -ptx -o image "$programs/kernels.cu" ;;
	cubin) cubin image -lineinfo ;;
	fatbin) nvcc -gencode arch=compute_75,code=compute_75 -fatbin -o image "$programs/kernels.cu" ;;
	esac
}

# counted NUMBER COMMAND…: runs it with the GPU programs, which count NUMBER launches of 1024 threads.
counted() {
	local threads=$(($1 * 1024))
	gputap run --gpu soft --json program.o -- "${@:2}"
	expect_status 0
	[ "$(grep -cx 'add: 1000 sums are right' <<<"$output")" = "$1" ]
	[ "$(jq -c 'select(.maps) | [.maps[].entries[].value]' <<<"$(grep '^{' <<<"$output")")" = \
		"[$threads,$threads]" ] || fail "not all threads were counted"
}

@test "images are patched from the end of readable memory and from odd addresses" {
	compile images
	for format in ptx cubin fatbin; do
		images_of $format
		counted 5 ./images where image
	done
}

@test "a module that is loaded and unloaded 200 times costs nothing that grows" {
	compile images
	for format in ptx cubin; do
		images_of $format
		counted 200 ./images again image 200
		expect_no_output_line ' grew: '
	done
}

@test "the agent leaves to dlsym what RTLD_NEXT and RTLD_DEFAULT mean to its caller" {
	mkdir -p one
	cat >first.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		int answer(void) { int (*next)(void) = dlsym(RTLD_NEXT, "answer"); return next ? 10 + next() : 1; }
		int own(void) { return 3; }
		int ask(void) { int (*found)(void) = dlsym(RTLD_DEFAULT, "own"); return found ? found() : 1; }
		void *nvrtc(void) { return dlsym(RTLD_DEFAULT, "nvrtcGetCUBIN"); }
	END
	echo 'int answer(void) { return 2; }' >second.c
	gcc -shared -fPIC -o libsecond.so second.c
	gcc -shared -fPIC -o libfirst.so first.c -L . -Wl,--no-as-needed -lsecond -Wl,-rpath,"$PWD"
	cat >main.c <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(void) {
			void *first = dlopen("./libfirst.so", RTLD_NOW | RTLD_LOCAL);
			int (*answer)(void) = dlsym(first, "answer"), (*ask)(void) = dlsym(first, "ask");
			void *(*nvrtc)(void) = dlsym(first, "nvrtc");
			const char *error;
			printf("%d %d", answer(), ask());
			dlerror();
			printf(" %d", nvrtc() != 0);
			error = dlerror();
			printf(" %d\n", error != 0);
			return 0;
		}
	END
	gcc -o main main.c -ldl
	observe env LD_PRELOAD="$build/src/agent/libgputap-agent.so" ./main
	expect_output '12 3 0 1'
}

# compile_nvjitlink NAME [ARGUMENTS…]: compiles nvjitlink.c.
compile_nvjitlink() {
	need_file "$cuda/include/nvJitLink.h" "nvJitLink (nvJitLink.h)"
	gcc -g -O1 -I "$root/softgpu/include" -I "$programs" -I "$cuda/include" -o "$1" \
		"$programs/nvjitlink.c" "${@:2}" -L "$softgpu" -l:libcuda.so.1 -L "$cuda/lib64" \
		-Wl,-rpath,"$cuda/lib64" -ldl
}

@test "PTX that nvJitLink compiles is patched when its cubin is loaded" {
	compile_nvjitlink linked -lnvJitLink
	compile_nvjitlink opened -DDLOPEN
	nvcc_once kernels.ptx -arch=$arch -ptx "$programs/kernels.cu"
	for program in linked opened; do
		inserted ./$program data kernels.ptx
		inserted ./$program library kernels.ptx -- -lineinfo -maxrregcount=40
	done
	untouched ./linked data kernels.ptx -- -lineinfo
}

@test "cubins that nvJitLink links from several PTX modules are patched and linked again" {
	compile_nvjitlink linked -lnvJitLink
	nvcc_once caller.ptx -arch=$arch -rdc=true -ptx "$programs/caller.cu"
	nvcc_once callee.ptx -arch=$arch -rdc=true -ptx "$programs/callee.cu"
	for method in data library; do
		inserted ./linked $method caller.ptx callee.ptx
		inserted ./linked $method callee.ptx caller.ptx -- -lineinfo
		gputap cudacounter --gpu soft -v -- ./linked $method caller.ptx callee.ptx
		expect_status 0
		expect_error_line "whole module with 2 kernels, 2 matched \\(the original cannot be loaded beside it\\)"
	done
	untouched ./linked data callee.ptx caller.ptx -- -lineinfo
}

@test "LTO-IR that nvJitLink compiles is patched when its cubin is loaded" {
	compile_nvjitlink linked -lnvJitLink
	compile_nvrtc nvrtc -lnvrtc
	on_softgpu ./nvrtc "$programs/caller.cu" ltoir:caller.ltoir -dlto -rdc=true
	on_softgpu ./nvrtc "$programs/callee.cu" ltoir:callee.ltoir -dlto -rdc=true -lineinfo
	inserted ./linked data caller.ltoir callee.ltoir -- -lto
	inserted ./linked data callee.ltoir caller.ltoir -- -lto -lineinfo
	cp callee.ltoir callee.any
	inserted ./linked data caller.ltoir callee.any -- -lto
	nvcc -gencode arch=compute_75,code=lto_75 -dc -fatbin -o caller.fatbin "$programs/caller.cu"
	inserted ./linked data caller.fatbin callee.ltoir -- -lto
}

@test "modules that the driver links are patched when the result is loaded" {
	need_command nvcc
	compile culink
	nvcc_once caller.ptx -arch=$arch -rdc=true -ptx "$programs/caller.cu"
	nvcc_once callee.ptx -arch=$arch -rdc=true -ptx "$programs/callee.cu"
	for method in data library; do
		untouched ./culink $method caller.ptx callee.ptx
		inserted ./culink $method caller.ptx callee.ptx
	done
}

@test "relocatable cubins of NVRTC are known where they are linked" {
	compile_nvrtc nvrtc -lnvrtc
	compile_nvjitlink linked -lnvJitLink
	compile culink
	inserted sh -c "./nvrtc '$programs/caller.cu' save:caller.cubin -rdc=true &&
		./nvrtc '$programs/callee.cu' save:callee.cubin -rdc=true &&
		./linked data caller.cubin callee.cubin"
	on_softgpu ./nvrtc "$programs/caller.cu" save:caller.cubin -rdc=true -lineinfo
	on_softgpu ./nvrtc "$programs/callee.cu" save:callee.cubin -rdc=true -lineinfo
	inserted ./linked library caller.cubin callee.cubin
	inserted ./culink data caller.cubin callee.cubin
	untouched ./culink data caller.cubin callee.cubin
}

@test "a program that nvcc -rdc=true links is patched and linked again" {
	need_command nvcc
	nvcc_once linked -rdc=true -cudart shared -gencode arch=compute_75,code=[sm_75,compute_75] \
		"$programs/linked.cu" "$programs/callee.cu" 2>/dev/null || skip "nvcc cannot link here"
	untouched ./linked
	inserted ./linked
	expect_side 1
	gputap cudacounter --gpu soft -- ./linked
	expect_status 0
	expect_output_line '^ +1024 +1024 +4 .* add'
	expect_error_line '^gputap: 1 module: 1 patched \(0 side, 1 whole\), 0 SASS only, 0 failed; 2 kernels, 2 compiled'
}

# compile_linked [OPTION…]: the program load, and linked.fatbin with the PTX of two modules.
compile_linked() {
	compile load
	nvcc_once caller.ptx -arch=$arch -rdc=true -ptx "$programs/caller.cu"
	nvcc_once callee.ptx -arch=$arch -rdc=true -ptx "$programs/callee.cu"
	fatbinary -64 --create=linked.fatbin "$@" --image3=kind=ptx,sm=75,file=caller.ptx \
		--image3=kind=ptx,sm=75,file=callee.ptx
}

@test "side modules of fatbins with several modules are linked, by each function that loads images" {
	need_command nvcc
	compile_linked
	for method in file data data-ex fatbinary library library-file; do
		untouched ./load $method linked.fatbin
		inserted ./load $method linked.fatbin
		expect_side 1
	done
	# The driver rejects what is linked.
	export SOFTGPU_REJECT=gputap_
	for method in data library; do
		gputap run --gpu soft program.o -- ./load $method linked.fatbin
		expect_status 0
		expect_output_line '^add: 1000 sums are right$'
		expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 failed'
	done
}

# expect_links LINES: these are the options of the links of the last run, and of their inputs.
expect_links() {
	[ "$(cat links)" = "$1" ] || fail "the links: $(cat links)"
	rm links
}

@test "patched modules are linked with the options of each of them" {
	need_command nvcc
	driver_in_front
	nvcc -dc -arch=compute_75 -maxrregcount=32 -o callee.o "$programs/callee.cu"
	nvcc -dc -arch=compute_75 -o linked.o "$programs/linked.cu"
	nvcc -arch=compute_75 -cudart shared -o linked linked.o callee.o 2>/dev/null || skip "nvcc cannot link here"
	inserted env LD_LIBRARY_PATH="$PWD/front:$softgpu" FRONT_LINKS="$PWD/links" ./linked
	expect_links $'create\nadd\nadd 0=32'
}

@test "patched modules are linked with the JIT options of the program, which precede their own" {
	need_command nvcc
	driver_in_front
	compile_linked --cmdline=-maxrregcount=24
	for section in 'gpu/entry/add' 'gpu/entry/*'; do # a side module, a whole one
		sed "s,gpu/[a-z]*/add,$section," program.c >both.c
		clang -g -O2 -target bpf -I "$root/include" -c both.c -o both.o
		for method in data options; do
			gputap run --gpu soft both.o -- env LD_LIBRARY_PATH="$PWD/front:$softgpu" \
				FRONT_LINKS="$PWD/links" ./load $method linked.fatbin
			expect_status 0
			expect_output_line '^add: 1000 sums are right$'
			case $method in
			data) expect_links $'create\nadd 0=24\nadd 0=24' ;;
			options) expect_links $'create 0=40 7=2\nadd\nadd' ;;
			esac
		done
	done
}

@test "a library that is linked from several modules stays as it is where GPUs differ" {
	need_command nvcc
	driver_in_front
	compile_linked
	export SOFTGPU_DEVICES=2
	inserted env LD_LIBRARY_PATH="$PWD/front:$softgpu" ./load library linked.fatbin
	export FRONT_SECOND=80
	gputap run --gpu soft -v program.o -- env LD_LIBRARY_PATH="$PWD/front:$softgpu" ./load library linked.fatbin
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	expect_error_line '^gputap: module 1 .*: original; 0 of 2 sites patched; the library is for GPUs of several compute capabilities, the patched one would be for one of them$'
	# A module is for one device, and a library of one PTX for all of them.
	inserted env LD_LIBRARY_PATH="$PWD/front:$softgpu" ./load data linked.fatbin
	nvcc_once kernels.ptx -arch=$arch -ptx "$programs/kernels.cu"
	inserted env LD_LIBRARY_PATH="$PWD/front:$softgpu" ./load library kernels.ptx
}

@test "a template kernel that several linked files have is patched" {
	need_command nvcc
	echo 'template<class T> __global__ void fill(T *p, T value) { p[threadIdx.x] = value; }' >fill.h
	printf '%s\n' '#include "fill.h"' 'void second(int *p) { fill<int><<<1, 32>>>(p, 5); }' >second.cu
	printf '%s\n' '#include <cstdio>' '#include "fill.h"' 'void second(int *p);' \
		'__global__ void other(int *p) {}' \
		'int main() { int *p; cudaMallocManaged(&p, 128); fill<int><<<1, 32>>>(p, 3);' \
		'	cudaDeviceSynchronize(); int first = p[4]; second(p);' \
		'	int error = cudaDeviceSynchronize(); printf("%d %d %d\n", first, p[4], error); }' >first.cu
	nvcc -rdc=true -cudart shared -arch=compute_75 -o both first.cu second.cu 2>/dev/null || skip "nvcc cannot link here"
	for kernels in 'fill*' '*'; do
		gputap cudacounter --gpu soft --kernel "$kernels" -- ./both
		expect_status 0
		expect_output_line '^3 5 0$'
		expect_output_line '^ +64 +64 +2 .* fill<int>$'
		expect_error_line '^gputap: 1 module: 1 patched .* 0 failed'
	done
}

@test "a variable that a linked function writes keeps the kernel in its program" {
	need_command nvcc
	sed 's/return a + b;/static __device__ int calls; atomicAdd(\&calls, 1); &/' "$programs/callee.cu" >state.cu
	grep -q atomicAdd state.cu
	nvcc -rdc=true -cudart shared -gencode arch=compute_75,code=[sm_75,compute_75] \
		"$programs/linked.cu" state.cu -o stateful 2>/dev/null || skip "nvcc cannot link here"
	inserted ./stateful
	expect_side 0
	gputap run --gpu soft -v program.o -- ./stateful
	expect_error_line 'whole module with 2 kernels, 1 matched \(it uses a variable of the module\)'
}

# expect_linkable DIRECTORY: nvlink links what was saved there, and not without the machine code.
expect_linkable() {
	ptxas -c -arch=$arch -o part.cubin "$1/module-1-1.ptx"
	nvlink -arch=$arch -o linked.cubin part.cubin "$1/module-1-2.cubin"
	run nvlink -arch=$arch -o linked.cubin part.cubin
	[ "$status" -ne 0 ]
	[[ $output == *"Undefined reference to '__cudaCDP2LaunchDeviceV2'"* ]]
}

# compile_nested: a program with the device runtime, which the software GPU has itself; NVIDIA's
# driver has not.
compile_nested() {
	need_command nvcc
	nvcc_once nested -rdc=true -cudart shared -arch=compute_75 "$root/tests/softgpu/nested.cu" \
		-lcudadevrt 2>/dev/null || skip "nvcc cannot link here"
}

@test "a kernel of a linked part without PTX is found, and rejected as SASS only" {
	need_command nvcc
	printf '%s\n' '__global__ void code(float *a) { a[threadIdx.x] *= 2; }' \
		'void launch(float *a) { code<<<1, 32>>>(a); }' >code.cu
	printf '%s\n' '#include <stdio.h>' 'void launch(float *a);' \
		'__global__ void with_ptx(float *a) { a[threadIdx.x] = 1; }' \
		'int main(int count, char **) {' \
		'	float *a; cudaMalloc(&a, 128); if (count > 1) launch(a);' \
		'	with_ptx<<<1, 32>>>(a); puts(cudaDeviceSynchronize() ? "bad" : "good"); }' >main.cu
	nvcc -rdc=true -gencode arch=compute_75,code=[sm_75,compute_75] -c -o main.o main.cu
	nvcc -rdc=true -gencode arch=compute_75,code=sm_75 -c -o code.o code.cu
	nvcc -cudart shared -arch=$arch -o parts main.o code.o 2>/dev/null || skip "nvcc cannot link here"
	sed -i 's,/add,/*,' program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
	# The software GPU does not link machine code of kernels: the original is loaded in the end.
	while read -r kernels sites; do
		gputap run --gpu soft --kernel "$kernels" program.o -- ./parts
		expect_status 0
		expect_output_line '^good$'
		expect_error_line "^gputap: 1 module: .* $sites sites: 0 patched, $sites rejected\$"
		for name in entry end; do
			expect_error_line "^gputap: 1 site of $name rejected, the first in _Z4codePf: SASS only: the linked part has no PTX for sm_75\$"
		done
	done <<-'END'
		* 4
		code* 2
	END
	gputap run --gpu soft --kernel 'with_ptx*' program.o -- ./parts
	expect_no_error_line 'SASS only: the linked part'
}

@test "a module with a kernel that was rejected is known in a later run" {
	need_command nvcc
	printf '%s\n' '__global__ void part_code(float *a) { a[threadIdx.x] *= 2; }' \
		'void launch(float *a) { part_code<<<1, 32>>>(a); }' >code.cu
	printf '%s\n' 'void launch(float *a);' '__global__ void idle(float *a) {}' \
		'__global__ void part_ptx(float *a) { a[threadIdx.x] = 1; }' \
		'int main(int count, char **) {' '	float *a; cudaMalloc(&a, 128); if (count > 1) launch(a);' \
		'	part_ptx<<<1, 32>>>(a); return cudaDeviceSynchronize(); }' >main.cu
	nvcc -rdc=true -gencode arch=compute_75,code=[sm_75,compute_75] -c -o main.o main.cu
	nvcc -rdc=true -gencode arch=compute_75,code=sm_75 -c -o code.o code.cu
	nvcc -cudart shared -arch=$arch -o parts main.o code.o 2>/dev/null || skip "nvcc cannot link here"
	printf '%s\n' '#include <gputap/bpf.h>' 'SEC("gpu/entry/*part*") int entry(void *ctx) { return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
	export GPUTAP_CACHE=$PWD/cache
	for cached in '' ' \(cached\)'; do
		gputap run -v --gpu soft program.o -- ./parts
		expect_status 0
		expect_error_line "side module with 1 of 2 kernels$cached; 1 of 2 sites patched; SASS only"
	done
}

@test "the device runtime is linked with patched kernels that launch kernels" {
	compile_nested
	gputap cudacounter --gpu soft --save-modules saved -- ./nested
	expect_status 0
	expect_error_line '^gputap: 1 module: 1 patched \(0 side, 1 whole\), 0 SASS only, 0 failed'
	expect_linkable saved
}

@test "a side module of a kernel that launches itself is linked with the device runtime" {
	compile_nested
	gputap cudacounter --gpu soft --kernel 'sort*' --save-modules saved -- ./nested
	expect_status 0
	expect_output_line '^ +442 +442 +442 .* sort$'
	expect_error_line '^gputap: 1 module: 1 patched \(1 side, 0 whole\), 0 SASS only, 0 failed; 1 kernel, 1 compiled'
	run grep -c count_down saved/module-1-1.ptx
	[ "$output" = 0 ]
	expect_linkable saved
}

@test "a side module is linked with no more than its kernels call" {
	compile_nested
	printf '%s\n' '#define main nested' "#include \"$root/tests/softgpu/nested.cu\"" >nested.cu
	nvcc -rdc=true -cudart shared -arch=compute_75 -o both nested.cu "$programs/linked.cu" \
		"$programs/callee.cu" -lcudadevrt
	gputap run --gpu soft --json --save-modules saved program.o -- ./both
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	expect_side 1
	[ "$(echo saved/*)" = 'saved/module-1-1.ptx saved/module-1-2.ptx' ]
	run cat saved/module-1-?.ptx
	[[ $output != *sort* ]]
}

@test "an archive that nvJitLink linked is linked with the patched PTX" {
	need_command nvcc
	need_file "$cuda/lib64/libcudadevrt.a" libcudadevrt.a
	compile_nvjitlink linked -lnvJitLink
	nvcc_once runtime.ptx -arch=$arch -rdc=true -ptx "$programs/runtime.cu"
	gputap run --gpu soft --save-modules saved program.o -- \
		./linked data runtime.ptx "$cuda/lib64/libcudadevrt.a"
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	cmp saved/module-1-2.a "$cuda/lib64/libcudadevrt.a"
	ptxas -c -arch=$arch -o part.cubin saved/module-1-1.ptx
	nvlink -arch=$arch -o linked.cubin part.cubin saved/module-1-2.a
	inserted ./linked data runtime.ptx "$cuda/lib64/libcudadevrt.a"
}

@test "of two libraries that imitate NVRTC, each call reaches its own" {
	for which in a b; do
		cat >$which.c <<-END
			#include <stddef.h>
			int nvrtcGetCUBIN(void *program, char *cubin) { *cubin = '$which'; return 0; }
			int nvrtcGetCUBINSize(void *program, size_t *size) { *size = 1; return 0; }
			int nvrtcGetPTXSize(void *program, size_t *size) { *size = 4; return 0; }
			int nvrtcGetPTX(void *program, char *text) { text[0] = '$which'; return 0; }
		END
		cat >user-$which.c <<-END
			int nvrtcGetCUBIN(void *program, char *cubin);
			int call_nvrtc(void *program, char *cubin) { return nvrtcGetCUBIN(program, cubin); }
		END
		gcc -shared -fPIC -o libnvrtc-$which.so $which.c
		gcc -shared -fPIC -o libuser-$which.so user-$which.c -L . -lnvrtc-$which -Wl,-rpath,"$PWD"
	done
	gcc -o two "$programs/two.c" -ldl
	for agent in '' "$build/src/agent/libgputap-agent.so"; do
		observe env LD_PRELOAD="$agent" ./two ./libnvrtc-a.so ./libnvrtc-b.so ./libuser-b.so \
			./libuser-a.so ./libnvrtc-a.so
		expect_output ' a b b a a'
	done
	gputap run --gpu soft program.o -- ./two ./libnvrtc-a.so ./libnvrtc-b.so ./libuser-b.so ./libuser-a.so
	expect_output_line '^ a b b a$'
}

@test "programs that compile run as without gputap when nobody listens to the agent" {
	need_command nvcc
	compile_nvrtc nvrtc -lnvrtc
	compile_nvjitlink linked -lnvJitLink
	compile ptxas
	nvcc -arch=$arch -ptx -lineinfo -o kernels.ptx "$programs/kernels.cu"
	for socket in '' gputap-nobody-listens; do
		for command in "./nvrtc $programs/kernels.cu data -lineinfo" \
			"./linked data kernels.ptx -- -lineinfo" \
			"./ptxas pipe $(command -v ptxas) kernels.ptx"; do
			# shellcheck disable=SC2086 # words
			observe env LD_LIBRARY_PATH="$softgpu" GPUTAP_AGENT_SOCKET="$socket" \
				LD_PRELOAD="$build/src/agent/libgputap-agent.so" $command
			expect_status 0
			expect_output 'add: 1000 sums are right'
			expect_error ''
		done
	done
}

@test "the original of a linked program is loaded where the driver rejects the patched modules" {
	need_command nvcc
	nvcc_once linked -rdc=true -cudart shared -gencode arch=compute_75,code=[sm_75,compute_75] \
		"$programs/linked.cu" "$programs/callee.cu" 2>/dev/null || skip "nvcc cannot link here"
	export SOFTGPU_REJECT=gputap_
	gputap run --gpu soft program.o -- ./linked
	expect_status 0
	expect_output_line '^add: 1000 sums are right$'
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 failed'
}

@test "cudacounter counts kernels that are compiled at run time" {
	compile_nvrtc nvrtc -lnvrtc
	gputap cudacounter --gpu soft -- ./nvrtc "$programs/kernels.cu" data
	expect_status 0
	expect_output_line '^ +1024 +1024 +4 .* add$'
}

@test "a cubin that an earlier run compiled is patched, as programs with caches load it" {
	compile_nvrtc nvrtc -lnvrtc
	compile load
	export GPUTAP_CACHE=$PWD/cache
	gputap run --gpu soft program.o -- ./nvrtc "$programs/kernels.cu" save:kept.cubin
	expect_status 0
	inserted ./load file kept.cubin
	inserted ./load library kept.cubin
	rm -r cache
	gputap run --gpu soft program.o -- ./load file kept.cubin
	expect_status 1
	expect_error_line '1 SASS only'
}

@test "a linked program is patched again in a later run" {
	need_command nvcc
	nvcc_once linked -rdc=true -cudart shared -gencode arch=compute_75,code=[sm_75,compute_75] \
		"$programs/linked.cu" "$programs/callee.cu" 2>/dev/null || skip "nvcc cannot link here"
	export GPUTAP_CACHE=$PWD/cache
	inserted ./linked
	inserted ./linked
}

@test "functions of a compiler in another namespace are called" {
	echo 'int nvrtcGetCUBIN(void *program, char *cubin) { *cubin = 42; return 0; }' |
		gcc -shared -fPIC -x c -o libalone.so -
	cat >main.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		int main(void) {
			void *library = dlmopen(LM_ID_NEWLM, "./libalone.so", RTLD_NOW);
			int (*get)(void *, char *) = library ? dlsym(library, "nvrtcGetCUBIN") : 0;
			char cubin = 0;
			return !get || get(0, &cubin) ? 1 : cubin;
		}
	END
	gcc -o main main.c -ldl
	gputap run --gpu soft program.o -- ./main
	expect_status 42
}

@test "reports have the source lines of what NVRTC compiles with line information" {
	compile_nvrtc nvrtc -lnvrtc
	gputap memtrace --by line --gpu soft -- ./nvrtc "$programs/kernels.cu" data -lineinfo
	expect_status 0
	expect_output_line ' kernels\.cu:8 +add +ld\.global'
}

# traced COMMAND…: it runs on the software GPU when gputap traces it.
traced() {
	need_probes
	gputap trace --gpu soft -o traced.gtap "$@"
	expect_status 0
	expect_output 'add: 1000 sums are right'
}

@test "programs that NVRTC compiles cubins for run on the software GPU when they are traced" {
	compile_nvrtc linked -lnvrtc
	compile_nvrtc opened -DDLOPEN
	traced ./linked "$programs/kernels.cu" data
	traced ./linked "$programs/kernels.cu" library -lineinfo
	traced ./opened "$programs/kernels.cu" data -maxrregcount=40
	# What the program keeps on disk runs without gputap.
	gputap trace --gpu soft -o kept.gtap ./linked "$programs/kernels.cu" save:kept.cubin
	expect_status 0
	compile load
	untouched ./load data kept.cubin
}

@test "programs that link by nvJitLink run on the software GPU when they are traced" {
	need_command nvcc
	compile_nvjitlink linked -lnvJitLink
	compile_nvrtc nvrtc -lnvrtc
	nvcc_once caller.ptx -arch=$arch -rdc=true -ptx "$programs/caller.cu"
	nvcc_once callee.ptx -arch=$arch -rdc=true -ptx "$programs/callee.cu"
	traced ./linked data caller.ptx callee.ptx
	for file in caller callee; do
		gputap trace --gpu soft -o compiled.gtap ./nvrtc "$programs/$file.cu" \
			ltoir:$file.ltoir -dlto -rdc=true
		expect_status 0
	done
	traced ./linked data caller.ltoir callee.ltoir -- -lto
}

@test "programs that run ptxas run on the software GPU when they are traced" {
	need_command nvcc
	nvcc_once kernels.ptx -arch=$arch -ptx "$programs/kernels.cu"
	compile ptxas
	for how in spawn execv pipe options; do
		traced ./ptxas $how "$(command -v ptxas)" kernels.ptx
	done
}
