# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The compiler driver for CUDA programs.
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >kernel.cu <<'END'
__global__ void store(int *out)
{
	*out = VALUE;
}

int main()
{
	int *device, value = 0;

	cudaMalloc(&device, sizeof(int));
	store<<<1, 1>>>(device);
	cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost);
	return value;
}
END
}

softcc() {
	observe "$root/tools/softcc" --build "$build" "$@"
}

@test "softcc --help lists every option" {
	softcc --help
	expect_status 0
	for option in -o -c --ptx --fatbin --arch --compress --shared-runtime --static-runtime -g \
		--depfile --build --verbose; do
		grep -qE -- "(^|[ ,])$option( |,|\$)" <<<"$output" || fail "nothing about $option"
	done
}

@test "a program of one file runs" {
	softcc -DVALUE=42 kernel.cu
	expect_status 0
	expect_error ""
	on_softgpu ./a.out
	expect_status 42
}

@test "what a macro holds reaches both halves unharmed" {
	cat >quoted.cu <<'END'
__global__ void nothing()
{
}
int main()
{
	return sizeof(TEXT) == sizeof("it's \"so\"") ? 0 : 1;
}
END
	softcc -DTEXT="\"it's \\\"so\\\"\"" -o quoted quoted.cu
	expect_status 0
	on_softgpu ./quoted
	expect_status 0
}

@test "several files become one program" {
	cat >other.cu <<'END'
__global__ void add(int *value)
{
	*value += 3;
}

extern "C" int three(void)
{
	int *device, value = 0;

	cudaMalloc(&device, sizeof(int));
	cudaMemset(device, 0, sizeof(int));
	add<<<1, 1>>>(device);
	cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost);
	return value;
}
END
	printf 'int three(void);\nint four(void)\n{\n\treturn three() + 1;\n}\n' >four.c
	sed 's/return value;/return value + four();/; 1iextern "C" int four(void);' kernel.cu >main.cu
	clang -c four.c
	softcc -DVALUE=38 -o program main.cu other.cu four.o
	expect_status 0
	on_softgpu ./program
	expect_status 42
}

@test "a fatbin is compressed in either way, and runs" {
	for how in none lz4 zstd; do
		softcc -DVALUE=7 --compress $how -o "program-$how" kernel.cu
		expect_status 0
		on_softgpu "./program-$how"
		expect_status 7
	done
}

@test "the static runtime leaves no libcudart to be found" {
	softcc -DVALUE=9 --static-runtime -o program kernel.cu
	expect_status 0
	observe readelf -d program
	expect_no_output_line 'NEEDED.*libcudart'
	on_softgpu ./program
	expect_status 9
}

@test "the depfile names the program, its source and the headers" {
	echo '#define VALUE 1' >value.h
	softcc -include value.h --depfile program.d -o program kernel.cu
	expect_status 0
	grep -q '^program:' program.d
	grep -q 'kernel\.cu' program.d
	grep -q 'value\.h' program.d
	grep -q 'cuda_runtime\.h' program.d
}

@test "the depfile of several sources names them all" {
	echo 'int main() {}' >main.cu
	sed 's/main/other/' kernel.cu >other.cu
	softcc -DVALUE=1 --depfile program.d -o program main.cu other.cu
	expect_status 0
	grep -q 'main\.cu' program.d
	grep -q 'other\.cu' program.d
}

@test "the depfile of PTX names that and no temporary file" {
	softcc -DVALUE=1 --ptx --depfile kernel.d kernel.cu
	expect_status 0
	grep -q '^kernel\.ptx: ' kernel.d
	grep -q 'cuda_runtime\.h' kernel.d
}

@test "--ptx writes PTX for the architecture asked for" {
	softcc -DVALUE=1 --ptx --arch sm_80 kernel.cu
	expect_status 0
	grep -q '^\.target sm_80' kernel.ptx
	grep -q '^\.version 7\.0' kernel.ptx
}

@test "line information names the source's lines" {
	softcc -DVALUE=1 --ptx --line-info kernel.cu
	expect_status 0
	grep -qE '^[[:blank:]]*\.loc[[:blank:]]+1 3 ' kernel.ptx
	grep -qE '^[[:blank:]]*\.file[[:blank:]]+1 .*kernel\.cu' kernel.ptx
}

@test "an error of the compiler is softcc's, and leaves no program" {
	echo 'int main() { return x; }' >broken.cu
	softcc -o broken broken.cu
	expect_status 1
	expect_error_line "broken\.cu:1:21: error: use of undeclared identifier 'x'"
	[ ! -e broken ]
}

@test "a kernel that calls an undefined function is rejected by name" {
	cat >bessel.cu <<'END'
__device__ int elsewhere(int);
__global__ void call(double *x)
{
	x[0] = j0(x[0]) + elsewhere(1);
}
END
	softcc -c bessel.cu
	expect_status 1
	expect_error "softcc: bessel.cu: undefined functions called by kernels: _Z9elsewherei __nv_j0"
}

@test "a managed variable is rejected with an alternative" {
	echo '__managed__ int shared; int main() { return shared; }' >managed.cu
	softcc managed.cu
	expect_status 1
	expect_error_line 'error: clang builds no __managed__ variable: use cudaMallocManaged'
}

@test "wrong usage is rejected with status 2" {
	softcc
	expect_status 2
	expect_error "softcc: no FILE.cu is given; see softcc --help"
	softcc --colour kernel.cu
	expect_status 2
	expect_error "softcc: unknown option '--colour'; see softcc --help"
	softcc --arch sm_20 kernel.cu
	expect_status 2
	expect_error "softcc: invalid value 'sm_20' for --arch (sm_60 to sm_86); see softcc --help"
	softcc --compress gzip kernel.cu
	expect_status 2
	expect_error "softcc: invalid value 'gzip' for --compress (one of: none, lz4, zstd); see softcc --help"
	softcc -o
	expect_status 2
	expect_error "softcc: -o needs a value; see softcc --help"
	softcc -c kernel.cu kernel.cu
	expect_status 2
	expect_error "softcc: several FILE.cu need a program to link: without -c, --ptx and --fatbin; see softcc --help"
}

@test "what cannot be read is named" {
	softcc missing.cu
	expect_status 1
	expect_error "softcc: cannot read missing.cu"
	CLANG=no-such-clang softcc kernel.cu
	expect_status 1
	expect_error "softcc: cannot find no-such-clang: install clang, or set CLANG to its path"
}

@test "installed, softcc finds its parts below its prefix" {
	mkdir -p usr/bin usr/libexec/gputap usr/include usr/lib/x86_64-linux-gnu/gputap/softgpu
	cp "$root/tools/softcc" usr/bin
	cp "$build/src/fatbin/mkfatbin" usr/libexec/gputap
	cp -r "$root/softgpu/include" usr/include/softgpu
	cp -L "$softgpu"/libcudart.so.13 usr/lib/x86_64-linux-gnu/gputap/softgpu
	observe usr/bin/softcc -DVALUE=5 -o program kernel.cu
	expect_status 0
	on_softgpu ./program
	expect_status 5
}

@test "softcc without its parts says what it looked for" {
	mkdir -p usr/bin
	cp "$root/tools/softcc" usr/bin
	observe usr/bin/softcc kernel.cu
	expect_status 1
	expect_error "softcc: no headers: neither $PWD/usr/softgpu/include nor $PWD/usr/include/softgpu exists"
	mkdir -p usr/include
	cp -r "$root/softgpu/include" usr/include/softgpu
	observe usr/bin/softcc kernel.cu
	expect_status 1
	expect_error "softcc: no mkfatbin at $PWD/usr/libexec/gputap/mkfatbin: build gputap first, or give its build directory with --build"
}
