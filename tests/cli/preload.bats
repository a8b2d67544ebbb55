# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Commands that have preloaded libraries of their own, or the runtime of a sanitizer. On the software
# GPU; needs no privileges.

load helper

setup() {
	need_command gcc
	cd "$BATS_TEST_TMPDIR"
}

# build_program NAME [OPTIONS…]: a program that is linked with the driver and executes a kernel.
build_program() {
	cat >"$1.c" <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry store(.param .u64 to)\n{\n\t.reg .b64 %to;\n"
			"\tld.param.u64 %to, [to];\n\tst.global.u32 [%to], 7;\n\tret;\n}\n";
		int main(void) {
			CUcontext context;
			CUmodule module;
			CUfunction kernel;
			CUdeviceptr to;
			unsigned stored = 0;
			void *arguments[] = {&to};
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			cuMemAlloc(&to, sizeof(stored));
			cuModuleLoadData(&module, text);
			cuModuleGetFunction(&kernel, module, "store");
			cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
			cuMemcpyDtoH(&stored, to, sizeof(stored));
			return printf("stored %u\n", stored) < 0;
		}
	END
	gcc "${@:2}" -I "$root/softgpu/include" -o "$1" "$1.c" -L "$softgpu" -l:libcuda.so.1
}

# The program ran with its result; the coverage matches an extended regular expression.
expect_run() {
	expect_status 0
	expect_output_line '^stored 7$'
	expect_error_line "$1"
}

@test "libraries that a command preloads keep their place before the agent" {
	LD_PRELOAD=libm.so.6:libc.so.6 gputap cudacounter --gpu soft -- sh -c 'echo "$LD_PRELOAD"'
	expect_status 0
	expect_output_line "^libm\\.so\\.6:libc\\.so\\.6:$build/src/agent/libgputap-agent\\.so$"
}

@test "functions of the driver that a preloaded library wraps are called as without gputap" {
	build_program main
	cat >wrap.c <<-'END'
		#include <dlfcn.h>
		#include <unistd.h>
		int cuModuleLoadData(void **module, const void *image) {
			int (*next)(void **, const void *) = dlsym(RTLD_NEXT, "cuModuleLoadData");
			return write(1, "wrapped\n", 8) == 8 ? next(module, image) : 1;
		}
	END
	gcc -D_GNU_SOURCE -shared -fPIC -o wrap.so wrap.c
	LD_PRELOAD=$PWD/wrap.so gputap cudacounter --gpu soft -- ./main
	expect_run '1 module: 1 patched'
	expect_output_line '^wrapped$'
	LD_PRELOAD=$PWD/wrap.so gputap trace --via agent --gpu soft -- ./main
	expect_status 0
	expect_output_line '^wrapped$'
	expect_error_line 'cuModuleLoadData .*returned=Success'
}

@test "modules are patched where a command preloads the driver" {
	build_program main
	LD_PRELOAD=libm.so.6:$softgpu/libcuda.so.1 gputap cudacounter --gpu soft -- ./main
	expect_run '1 module: 1 patched'
}

@test "a program with AddressSanitizer is patched, and its options stay" {
	build_program main -fsanitize=address
	ASAN_OPTIONS=detect_leaks=0 gputap cudacounter --gpu soft -- ./main
	expect_run '1 module: 1 patched'
	ASAN_OPTIONS=detect_leaks=0 gputap trace --gpu soft --via agent -- ./main
	expect_run 'calls via agent'
	ASAN_OPTIONS=detect_leaks=0 gputap cudacounter --gpu soft -- sh -c 'echo "$ASAN_OPTIONS"'
	expect_output_line '^verify_asan_link_order=0:detect_leaks=0$'
	ASAN_OPTIONS=verify_asan_link_order=1 gputap cudacounter --gpu soft -- \
		sh -c 'echo "$ASAN_OPTIONS"'
	expect_output_line '^verify_asan_link_order=1$'
}

# Its runtime has no memory at the address of the maps.
@test "a program with ThreadSanitizer runs, and its module is loaded as it is" {
	build_program main -fsanitize=thread
	export TSAN_OPTIONS=report_bugs=0
	on_softgpu ./main
	[ "$status" = 0 ] || skip "ThreadSanitizer does not run here: ${stderr_lines[0]:-}"
	gputap cudacounter --gpu soft -- ./main
	expect_run '1 module: (1 patched|0 patched .* 1 failed)'
}
