# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Libraries above CUDA are switched on by -e. The program calls stand-ins for cuBLAS and NCCL.

load helper
load rocm
load tracing

setup() {
	use_standin
	export LD_LIBRARY_PATH=$softgpu:$programs/libraries
}

# The calls that returned, by their names, the nested ones moved to the right.
returned() {
	grep -F '[EXIT]' <<<"$stderr" | cut -c 42-65 | sed 's/ *$//' | uniq -c | sed -E 's/^ *([0-9]+) /\1 /'
}

@test "without being asked for, no call of a library above CUDA is traced" {
	gputap trace -- "$programs/layers"
	expect_status 0
	expect_output "layers: 1 calls failed"
	[ "$(returned)" = "2 cudaMalloc
2 cudaMemset
2 cudaMemcpyAsync" ]
}

@test "calls of CUDA stand inside the library's call that makes them" {
	gputap trace -e cuda,cublas,nccl -- "$programs/layers"
	expect_status 0
	[ "$(returned)" = "2 cudaMalloc
1 cublasCreate_v2
1   cudaMemset
1 cublasSgemm_v2
1   cudaMemset
1 cublasSgemm_v2
1   cudaMemcpyAsync
1 ncclAllReduce
1   cudaMemcpyAsync
2 ncclAllReduce
1 cublasDestroy_v2" ]
	[ "${stderr_lines[-1]}" = "gputap: 13 calls: 13 complete, 0 unfinished, 0 lost" ]
}

@test "a library can be traced alone" {
	gputap trace -e nccl -- "$programs/layers"
	[ "$(returned)" = "3 ncclAllReduce" ]
	expect_error_line 'ncclAllReduce +\[ENTER\]  count=100 datatype=ncclFloat32 op=ncclSum comm=0x0 stream=0x0$'
	expect_error_line 'ncclAllReduce +\[EXIT\]   returned=InvalidArgument \('
}

@test "RCCL is traced with the functions of NCCL" {
	need_command cc
	mkdir "$BATS_TEST_TMPDIR/rccl"
	cd "$BATS_TEST_TMPDIR/rccl"
	echo 'int ncclAllReduce(const void *from, void *to, unsigned long count, int type, int op, void *comm,
			void *stream) { return count ? 0 : 4; }' |
		cc -shared -fPIC -Wl,-soname,librccl.so.1 -x c - -o librccl.so.1
	echo 'int ncclAllReduce(const void *, void *, unsigned long, int, int, void *, void *);
		int main(void) {
			return ncclAllReduce(0, 0, 100, 7, 0, 0, 0) || ncclAllReduce(0, 0, 0, 7, 2, 0, 0) != 4; }' |
		cc -x c - -x none -o calls librccl.so.1
	export LD_LIBRARY_PATH=$PWD
	gputap trace -e nccl -- ./calls
	expect_status 0
	[ "$(returned)" = "2 ncclAllReduce" ]
	expect_error_line 'ncclAllReduce +\[ENTER\]  count=100 datatype=ncclFloat32 op=ncclSum comm=0x0 stream=0x0$'
	expect_error_line 'ncclAllReduce +\[EXIT\]   returned=Success \('
	expect_error_line 'ncclAllReduce +\[EXIT\]   returned=InvalidArgument \('
	gputap record -e nccl -o calls.gputap -- ./calls
	gputap errors --json --from calls.gputap
	expect_json '.[0].errors | map([.function, .error, .count]) == [["ncclAllReduce", "ncclInvalidArgument", 1]]'
}

@test "calls of rocBLAS and MIOpen are shown with calls of HIP inside" {
	make_rocm
	gputap trace -e hip,rocblas,miopen -- ./calls
	expect_status 0
	[ "$(returned)" = "1   hipSetDevice
1 rocblas_sgemm
1   hipSetDevice
1 rocblas_sgemm
1 miopenActivationForward" ]
	expect_error_line 'rocblas_sgemm +\[ENTER\]  transA=none transB=transpose m=16 n=8 k=4 A='
	expect_error_line 'rocblas_sgemm +\[EXIT\]   returned=invalid_size \('
	expect_error_line 'miopenActivationForward +\[EXIT\]   returned=BadParm \('
	gputap record -e rocblas,miopen -o calls.gputap -- ./calls
	gputap errors --json --from calls.gputap
	expect_json '.[0].errors | map([.function, .error, .count]) | sort ==
		[["miopenActivationForward", "miopenStatusBadParm", 1], ["rocblas_sgemm", "rocblas_status_invalid_size", 1]]'
}

@test "enumerations of libraries are shown by their names, and all numbers of a product are taken" {
	gputap trace -e cublas -- "$programs/layers"
	expect_error_line 'cublasSgemm_v2 +\[ENTER\]  transa=N transb=T m=16 n=8 k=4 '
}

@test "with the driver's calls shown, they stand inside the runtime's" {
	gputap trace -v -e cuda,nccl -- "$programs/layers"
	expect_error_line '       cuMemcpyDtoDAsync_v2 +\[ENTER\]'
}

@test "a function of a library that is not enabled is rejected with a hint" {
	gputap trace -f 'ncclAll*' -- "$programs/layers"
	expect_status 2
	expect_error "gputap: 'ncclAll*' is of nccl, which is not enabled: add -e nccl"
}

@test "functions of libraries are in the list, but not among those that are traced by default" {
	gputap list --functions 'ncclAllReduce'
	expect_output "  nccl     communicate ncclAllReduce"
	gputap list
	expect_no_output_line 'ncclAllReduce|cublasSgemm'
	expect_output_line '^  nccl +main calls of NCCL'
}
