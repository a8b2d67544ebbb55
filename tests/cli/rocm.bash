# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A program that calls rocBLAS and MIOpen, with libraries of its own, which call HIP's.

# Make ./calls in a directory of the test, and let the loader find its libraries.
make_rocm() {
	need_command cc
	mkdir "$BATS_TEST_TMPDIR/rocm"
	cd "$BATS_TEST_TMPDIR/rocm" || return
	echo 'int hipSetDevice(int device) { return 0; }' |
		cc -shared -fPIC -Wl,-soname,libamdhip64.so.5 -x c - -o libamdhip64.so.5
	echo 'int hipSetDevice(int device);
		int rocblas_sgemm(void *handle, int a, int b, int m, int n, int k, const float *alpha, const float *A,
			int lda, const float *B, int ldb, const float *beta, float *C, int ldc)
			{ return hipSetDevice(0) || m < 0 ? 4 : 0; }' |
		cc -shared -fPIC -Wl,-soname,librocblas.so.4 -x c - -x none -o librocblas.so.4 libamdhip64.so.5
	echo 'int miopenActivationForward(void *handle, void *kind, const void *alpha, void *from, const void *x,
			const void *beta, void *to, void *y) { return y ? 0 : 3; }' |
		cc -shared -fPIC -Wl,-soname,libMIOpen.so.1 -x c - -o libMIOpen.so.1
	echo 'int rocblas_sgemm(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
			const float *, float *, int), miopenActivationForward(void *, void *, const void *, void *,
			const void *, const void *, void *, void *);
		int main(void) {
			float one = 1;
			rocblas_sgemm(0, 111, 112, 16, 8, 4, &one, 0, 1, 0, 1, &one, 0, 1);
			rocblas_sgemm(0, 111, 113, -1, 8, 4, &one, 0, 1, 0, 1, &one, 0, 1);
			miopenActivationForward(0, 0, &one, 0, 0, &one, 0, 0); return 0; }' |
		cc -x c - -x none -o calls librocblas.so.4 libMIOpen.so.1 libamdhip64.so.5
	export LD_LIBRARY_PATH=$PWD
}
