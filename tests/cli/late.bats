# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Libraries that a command opens where nobody expects them: held, they are traced from their first
# call, and the totals are "incomplete" where a call may have been missed.

load helper
load tracing

# A runtime and a library that needs it, laid out as a wheel does: found by the library's RUNPATH
# alone. The library's constructor registers a module, as nvcc's code does.
setup() {
	use_standin
	need_root
	need_command cc
	unset LD_LIBRARY_PATH
	mkdir -p site/nvidia/cuda_runtime/lib site/torch/lib
	cat >runtime.c <<-'EOF'
		void *__cudaRegisterFatBinary(void *image) { static void *handle; return &handle; }
		void __cudaRegisterFatBinaryEnd(void *handle) {}
		int cudaGetDevice(int *device) { return *device = 0; }
		int cudaMalloc(void **pointer, unsigned long size) { *pointer = (void *)4096; return 0; }
		int cudaMemcpy(void *to, void *from, unsigned long size, int kind) { return 0; }
		int cudaLaunchKernel(void) { return 0; }
	EOF
	cat >torch.c <<-'EOF'
		void *__cudaRegisterFatBinary(void *image);
		void __cudaRegisterFatBinaryEnd(void *handle);
		int cudaGetDevice(int *device);
		__attribute__((constructor)) static void register_module(void)
		{
			static char image[64];
			__cudaRegisterFatBinaryEnd(__cudaRegisterFatBinary(image));
		}
		int train(void) { int device; return cudaGetDevice(&device); }
	EOF
	cat >program.c <<-'EOF'
		#include <dlfcn.h>
		int main(int count, char **paths)
		{
			void *library = dlopen(count > 1 ? paths[1] : "site/torch/lib/libtorch.so", RTLD_NOW);
			int (*train)(void) = library ? dlsym(library, "train") : 0;
			return train ? train() + 7 : 1;
		}
	EOF
	cc -shared -fPIC runtime.c -Wl,-soname,libcudart.so.13 -o runtime.so
	cc -shared -fPIC torch.c runtime.so -Wl,--enable-new-dtags \
		"-Wl,-rpath,\$ORIGIN/../../nvidia/cuda_runtime/lib" -o torch.so
	cc program.c -o program
	renew
}

# Files that no gputap has seen before.
renew() {
	cp runtime.so new && mv new site/nvidia/cuda_runtime/lib/libcudart.so.13
	cp torch.so new && mv new site/torch/lib/libtorch.so
}

# late OPTIONS… -- COMMAND: trace it, with its calls as JSON in calls.json.
late() {
	trace -f '__cudaRegisterFat*,cudaGetDevice' --json -o calls.json "$@"
}

names() {
	jq -r 'select(.name) | .name' calls.json | tr '\n' ' '
}

account() {
	jq -e "select(.schema == \"gputap.account.1\") | $1" calls.json >/dev/null ||
		fail "not true of the account: $1: $(tail -1 calls.json)"
}

whole='__cudaRegisterFatBinary __cudaRegisterFatBinaryEnd cudaGetDevice '

expect_whole() {
	[ "$(names)" = "$whole" ] || fail "the calls are: $(names)"
	account '.incomplete == false and .gaps == []'
	expect_no_error_line incomplete
}

# Waits until the processes of $1, a list of ids, have ended.
ended() {
	! kill -0 "$@" 2>/dev/null
}

@test "a runtime outside the loader's path is traced from its first registration, each time" {
	for _ in {1..20}; do
		renew
		late -- ./program
		expect_status 7
		expect_whole
	done
}

@test "the same holds for ctypes, children, threads of two runtimes, and a program that is executed" {
	need_command python3
	for _ in {1..5}; do
		renew
		late -- python3 -c 'import ctypes; ctypes.CDLL("site/torch/lib/libtorch.so").train()'
		expect_whole
	done
	cat >fork.py <<-'EOF'
		import ctypes, os, sys
		child = os.fork()
		if not child:
		    sys.exit(ctypes.CDLL("site/torch/lib/libtorch.so").train())
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	EOF
	renew
	late -- python3 fork.py
	expect_status 0
	expect_whole
	renew
	late -- sh -c './program; exit $?'
	expect_status 7
	expect_whole
}

@test "two threads open two runtimes at once, and no call is missed" {
	mkdir -p other
	cat >threads.c <<-'EOF'
		#include <dlfcn.h>
		#include <pthread.h>
		static void *open_one(void *path)
		{
			int device, (*get)(int *) = dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "cudaGetDevice");
			get(&device);
			return 0;
		}
		int main(void)
		{
			pthread_t threads[2];
			pthread_create(&threads[0], 0, open_one, "site/nvidia/cuda_runtime/lib/libcudart.so.13");
			pthread_create(&threads[1], 0, open_one, "other/libcudart.so.12");
			pthread_join(threads[0], 0);
			pthread_join(threads[1], 0);
			return 0;
		}
	EOF
	cc threads.c -pthread -o threads
	cc -shared -fPIC runtime.c -Wl,-soname,libcudart.so.12 -o other/libcudart.so.12
	for _ in {1..5}; do
		renew
		cp other/libcudart.so.12 new && mv new other/libcudart.so.12
		late -- ./threads
		[ "$(names)" = 'cudaGetDevice cudaGetDevice ' ]
		account '.incomplete == false'
	done
}

@test "a program with the runtime inside that a script executes has no gap" {
	cc -DSTATIC runtime.c torch.c -x c - -o inside <<-'EOF'
		int train(void);
		int main(void) { return train() + 7; }
	EOF
	for _ in {1..5}; do
		cp inside new && mv new inside
		late -- sh -c 'true; ./inside; exit $?'
		expect_status 7
		expect_whole
	done
}

@test "a runtime in the private mounts of a container is traced from its first call" {
	need_command unshare
	mkdir root mnt
	late -- unshare --mount --pid --fork sh -c \
		"mount -t tmpfs none mnt && cp -r site mnt && cp program mnt && cd mnt && ./program"
	[ "$status" = 7 ] || skip "mount namespaces are not permitted here"
	expect_whole
}

@test "a runtime without a name in any directory is traced from its first call" {
	cat >deleted.c <<-'EOF'
		#include <dlfcn.h>
		#include <fcntl.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			char path[64];
			int device;
			snprintf(path, sizeof(path), "/proc/self/fd/%d", open("libcudart.so.13", O_RDONLY));
			unlink("libcudart.so.13");
			return ((int (*)(int *))dlsym(dlopen(path, RTLD_NOW), "cudaGetDevice"))(&device) + 7;
		}
	EOF
	cc deleted.c -o deleted
	cp runtime.so libcudart.so.13
	late -- ./deleted
	expect_status 7
	[ "$(names)" = 'cudaGetDevice ' ]
	account '.incomplete == false'
}

@test "libraries of OpenCL, HIP and Level Zero that are opened late are traced from the first call" {
	local library function
	cat >vendor.c <<-'EOF'
		int CALLED(void *argument) { return 0; }
	EOF
	cat >vendor-program.c <<-'EOF'
		#include <dlfcn.h>
		int main(int count, char **words)
		{
			void *library = dlopen(words[1], RTLD_NOW);
			int (*call)(void *) = library ? dlsym(library, words[2]) : 0;
			return call ? call(0) + 7 : 1;
		}
	EOF
	cc vendor-program.c -o vendor-program
	while read -r library function; do
		cc -shared -fPIC "-DCALLED=$function" vendor.c "-Wl,-soname,$library" -o "site/$library"
		trace -f "$function" --json -o calls.json -- ./vendor-program "$PWD/site/$library" "$function"
		expect_status 7
		[ "$(names)" = "$function " ] || fail "the calls of $library are: $(names)"
		account '.incomplete == false and .gaps == []'
	done <<-'EOF'
		libOpenCL.so.1 clReleaseEvent
		libamdhip64.so.5 hipStreamDestroy
		libze_loader.so.1 zeEventDestroy
	EOF
}

@test "a late runtime's calls of the driver are not shown as the program's" {
	need_file "$softgpu/libcudart.so.13" "software GPU"
	cat >allocate.c <<-'EOF'
		#include <dlfcn.h>
		int main(void)
		{
			void *library = dlopen("site/nvidia/cuda_runtime/lib/libcudart.so.13", RTLD_NOW), *memory;
			int (*allocate)(void **, unsigned long) = dlsym(library, "cudaMalloc");
			int (*release)(void *) = dlsym(library, "cudaFree");
			return allocate(&memory, 100) || release(memory);
		}
	EOF
	cc allocate.c -o allocate
	for _ in {1..5}; do
		cp "$softgpu/libcudart.so.13" new && mv new site/nvidia/cuda_runtime/lib/libcudart.so.13
		gputap trace --gpu soft --json -o calls.json -- ./allocate
		expect_status 0
		[ "$(names)" = 'cudaMalloc cudaFree ' ] || fail "the calls are: $(names)"
		account '.incomplete == false'
	done
}

@test "a command keeps its privileges, and is not filtered with --late-libs watch" {
	late -- grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
	expect_output $'NoNewPrivs:\t0\nSeccomp:\t2'
	late --late-libs watch -- grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
	expect_output $'NoNewPrivs:\t0\nSeccomp:\t0'
}

@test "a program with a seccomp filter of its own is traced from the first call" {
	cat >filtered.c <<-'EOF'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		int main(int count, char **words)
		{
			struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
			struct sock_fprog program = {1, allow};
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
				return 99;
			execvp(words[1], words + 1);
			return 98;
		}
	EOF
	cc filtered.c -o filtered
	late -- ./filtered ./program
	expect_status 7
	expect_whole
}

@test "under strace the command runs, and is traced from the first call" {
	need_command strace
	late -- strace -f -o strace.txt ./program
	expect_status 7
	expect_whole
}

@test "a 32-bit program maps files for execution unhindered" {
	need_command as
	cat >small.s <<-'EOF'
		.globl _start
		_start:
			mov $5, %eax
			mov $path, %ebx
			xor %ecx, %ecx
			int $0x80
			mov %eax, %edi
			mov $192, %eax
			xor %ebx, %ebx
			mov $4096, %ecx
			mov $5, %edx
			mov $2, %esi
			xor %ebp, %ebp
			int $0x80
			cmp $-4096, %eax
			seta %bl
			movzx %bl, %ebx
			mov $1, %eax
			int $0x80
		path:	.asciz "small"
	EOF
	as --32 small.s -o small.o && ld -m elf_i386 small.o -o small || skip "no 32-bit assembler"
	./small || skip "the kernel runs no 32-bit programs"
	late -- sh -c './small'
	expect_status 0
}

@test "where another process listens already, the command runs, and the gap is reported" {
	gputap trace -f cudaMalloc -- "$build/gputap" trace --gpu nvidia -f '__cudaRegisterFat*,cudaGetDevice' \
		--json -o calls.json -- ./program
	expect_status 7
	expect_error_line "^gputap: the first calls into libraries that the command opens later may be missed: another process already receives seccomp notifications of gputap's processes \(a container runtime, or an outer gputap\)$"
	[ "$(names)" = "$whole" ] || account '.incomplete and .gaps[0].process == "program" and .gaps[0].duration > 0'
	gputap trace -f cudaMalloc -- "$build/gputap" trace --late-libs hold -- ./program
	expect_status 1
	expect_error_line "^gputap: --late-libs hold: another process already receives"
}

@test "without CAP_SYS_ADMIN the command runs and is watched" {
	need_command setpriv
	observe setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$build/gputap" trace -v --gpu nvidia \
		-- grep '^Seccomp:' /proc/self/status
	expect_status 0
	expect_output $'Seccomp:\t0'
	expect_error_line '^gputap: the first calls into libraries that the command opens later may be missed: a seccomp filter requires CAP_SYS_ADMIN \(run gputap as root\)$'
}

@test "only a command can be held" {
	gputap trace --late-libs hold -d $$
	expect_status 2
	expect_error "gputap: --late-libs hold requires a command: other processes cannot be held (try 'gputap trace --help')"
}

# Starts the trace of a shell that waits for the file go, then runs the program; its process is
# $tracer, its keeper $keeper, and the program's status will be in the file status.
start_waiting() {
	start_trace -f '__cudaRegisterFat*,cudaGetDevice' --json -o calls.json -- \
		sh -c 'trap "" INT; while [ ! -e go ]; do sleep 0.05; done; ./program; echo $? >new; mv new status'
	wait_for pgrep -P "$tracer" -x mmap-keeper >/dev/null
	keeper=$(pgrep -P "$tracer" -x mmap-keeper)
}

@test "gputap killed: the program runs to its end, and the keeper ends with it" {
	start_waiting
	kill -KILL "$tracer"
	wait "$tracer" || true
	kill -0 "$keeper"
	touch go
	wait_for test -e status
	[ "$(cat status)" = 7 ]
	wait_for ended "$keeper"
}

@test "gputap ended before the command: the command runs on, and the keeper ends with it" {
	start_trace -f cudaGetDevice -- sh -c '(trap "" INT HUP; while [ ! -e go ]; do sleep 0.05; done
		./program; echo $? >new; mv new status) >/dev/null 2>&1 3>&- &'
	end_trace
	expect_status 0
	touch go
	wait_for test -e status
	[ "$(cat status)" = 7 ]
}

@test "gputap stopped: the program runs on after some seconds, and the gap is reported" {
	start_waiting
	kill -STOP "$tracer"
	touch go
	wait_for test -e status
	[ "$(cat status)" = 7 ]
	[ -z "$(names)" ]
	kill -CONT "$tracer"
	end_trace
	account .incomplete
	expect_error_line '^gputap: incomplete: '
}

@test "a run in which the kernel has dropped mappings is incomplete" {
	need_command cc
	# More records than the buffers of a CPU have room for: 4 MiB.
	cc -xc -o map-often - <<-'END'
		#include <fcntl.h>
		#include <sys/mman.h>
		int main(void)
		{
			int fd = open("/proc/self/exe", O_RDONLY);
			for (int i = 0; i < 100000; i++)
				munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), 4096);
			return 0;
		}
	END
	start_trace --late-libs watch --json -o calls.json -- \
		sh -c 'while [ ! -e go ]; do sleep 0.05; done; ./map-often; touch done'
	kill -STOP "$tracer"
	touch go
	wait_for test -e done
	kill -CONT "$tracer"
	end_trace
	account '.incomplete and .others_lost > 0'
	expect_error_line '^gputap: incomplete: .*other events? lost'
}

@test "the keeper killed: gputap takes its place, and no call is missed" {
	start_waiting
	kill -KILL "$keeper"
	touch go
	end_trace
	[ "$(cat status)" = 7 ]
	[ "$(names)" = "$whole" ]
}

@test "pkill gputap does not kill the keeper" {
	start_waiting
	! pgrep -f gputap | grep -qx "$keeper" || fail "the keeper is found by the name gputap"
	touch go
	end_trace
}

# A program with the runtime inside that waits for the file go. $missing is what each view says of it.
make_inside() {
	cc -DSTATIC runtime.c torch.c -x c - -o inside <<-'EOF'
		#include <unistd.h>
		int train(void);
		int main(void)
		{
			while (access("go", F_OK))
				usleep(10000);
			return train();
		}
	EOF
	missing='alls may be missing from inside \([0-9]+\), which ran [0-9.]+ .?s before the probes in inside were attached'
}

# observe_inside VIEW…: of a process that runs already; its output is in the files out and err.
observe_inside() {
	rm -f go err
	./inside 3>&- &
	target=$!
	"$build/gputap" "$@" -v -d $target >out 2>err 3>&- &
	tracer=$!
	wait_for grep -q '^gputap: attached' err
	touch go
	end_trace
}

@test "a process that ran before gputap makes every view incomplete" {
	make_inside
	for view in trace 'trace -c' kernels leaks copies errors stat report; do
		# shellcheck disable=SC2086 # a view may be two words
		observe_inside $view
		[ "$(cat err out | grep -ciE '^(gputap: )?incomplete: [01] call')" = 1 ] || fail "$view: $output $stderr"
		[ "$(cat err out | grep -cE "$missing")" = 1 ] || fail "$view: $output $stderr"
	done
	observe_inside top --batch --interval 50ms
	expect_error_line '^gputap: incomplete: '
	expect_output_line "^C$missing"
	observe_inside top --json --interval 50ms
	jq -es '.[-1] | .incomplete and .gaps[0].process == "inside" and .gaps[0].duration > 0' out
}

# The capture gap.gtap, with a gap.
record_inside() {
	make_inside
	observe_inside trace -o gap.gtap
	expect_error_line "$missing"
}

# show_capture COMMAND [OPTION…]
show_capture() {
	case $1 in
	report | why | info) gputap "$@" gap.gtap ;;
	*) gputap "$@" --from gap.gtap ;;
	esac
}

@test "every view of a capture reports the gaps of the recording" {
	record_inside
	show_capture trace -c
	expect_error_line "^gputap: incomplete: 1 call: .*c$missing"
	show_capture trace --json
	expect_json 'last | .incomplete and .gaps[0].process == "inside" and .gaps[0].duration > 0'
	show_capture info
	expect_output_line "^gaps: +c$missing"
	show_capture info --json
	expect_json '.[0] | .incomplete and .gaps[0].process == "inside" and .gaps[0].duration > 0'
	for view in report why stat kernels leaks copies errors; do
		show_capture $view
		expect_output_line '^Incomplete: 1 call'
		expect_output_line "^C$missing"
		show_capture $view --json
		expect_json '.[0].losses | .incomplete and .gaps[0].process == "inside" and .gaps[0].duration > 0'
	done
}

@test "a comparison names the capture that has gaps" {
	record_inside
	cp /dev/null go
	gputap trace --gpu nvidia -f cudaGetDevice -o whole.gtap -- ./inside
	gputap diff whole.gtap gap.gtap
	expect_output_line "^gap.gtap: Incomplete: 1 call, none lost\\.$"
	expect_output_line "^C$missing"
	expect_no_output_line '^whole.gtap: Incomplete'
	gputap diff --json whole.gtap gap.gtap
	expect_json '.[0] | .incomplete_after and (.incomplete_before | not)'
}

@test "every export of a capture reports the gaps of the recording" {
	record_inside
	for format in csv chrome folded html jsonl perfetto pprof speedscope svg sqlite; do
		gputap export --format $format -o out.$format gap.gtap
		[[ $stderr == *'was built without'* ]] && continue
		expect_status 0
		expect_error_line "^gputap: incomplete: 1 call: .*c$missing"
	done
	jq -e '.otherData | .incomplete and .gaps[0].process == "inside"' out.chrome
	jq -es 'last | .incomplete and .gaps[0].process == "inside"' out.jsonl
	grep -qaE "c$missing" out.perfetto
	jq -e '.name' out.speedscope | grep -qE "^\"gap\.gtap \(incomplete: 1 call, none lost\. C$missing"
	zcat out.pprof | grep -qaE "incomplete: 1 call, none lost\. C$missing"
	grep -qE "^<title>incomplete: 1 call, none lost\. C$missing" out.svg
	for format in csv folded; do
		gputap export --format $format --comments -o commented.$format gap.gtap
		tail -n 1 commented.$format | grep -qE "^# incomplete: 1 call, none lost\. C$missing"
		sed '$d' commented.$format | cmp - out.$format
	done
	if [ -e out.sqlite ] && command -v python3 >/dev/null; then
		observe python3 - <<-'EOF'
			import sqlite3
			base = sqlite3.connect("out.sqlite")
			print(*base.execute("SELECT value FROM metadata WHERE key = 'incomplete'").fetchone())
			print(*base.execute("SELECT process, end > start FROM gaps").fetchone())
		EOF
		expect_output $'1\ninside 1'
	fi
	command -v chromium >/dev/null || skip "chromium is not installed"
	export HOME=$BATS_TEST_TMPDIR
	run -0 --separate-stderr "$root/tests/support/browser" out.html 'document.getElementById("losses").innerText'
	expect_output_line "^\"Incomplete: 1 call, none lost\\..*C$missing"
}
