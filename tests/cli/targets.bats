# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What is attached to: commands and their children, running processes, paths, everything; libraries
# that are loaded later, and runtimes that are linked in statically.

load helper
load tracing

setup() {
	use_standin
}

# A program with the runtime inside, as `nvcc -cudart static` makes them.
build_static() {
	need_command cc
	cc -D_GNU_SOURCE -O0 -fno-omit-frame-pointer "-I$root/softgpu/include" -o "$1" \
		"$root/tests/programs/callback.c" "$root/tests/programs/standin/cudart.c"
}

@test "children of the command are traced, by fork, by exec and as threads" {
	trace -c -- "$calls" --forks 3 5
	expect_error_line '^ *15 +0 .*cudaGetDevice$'
	trace -c -- sh -c "$calls 2; sh -c '$calls 3; exec $calls 4'"
	expect_error_line '^ *9 +0 .*cudaGetDevice$'
	trace --json -o out.json -- "$calls" --threads 3 9
	[ "$(jq -s 'map(select(.name)) | [length, (map(.tid) | unique | length), (map(.pid) | unique | length)]' \
		-c out.json)" = "[9,3,1]" ]
}

# Build ./NAME, which makes a call, renames itself "worker:1", and makes another one.
build_rename() {
	need_command cc
	cat >rename.c <<-'EOF'
		#include <cuda_runtime.h>
		#include <sys/prctl.h>
		int main(void)
		{
			int device;
			cudaGetDevice(&device);
			prctl(PR_SET_NAME, "worker:1");
			cudaGetDevice(&device);
			return 0;
		}
	EOF
	cc -o "$1" rename.c "-I$root/softgpu/include" "-L$softgpu" -l:libcudart.so.13
}

@test "a process that renames itself has its new name from then on" {
	build_rename rename
	gputap trace --gpu soft --via kernel -- ./rename
	expect_status 0
	expect_error_line '^[0-9:.]+ rename +[0-9]+ +cudaGetDevice +\[EXIT\]'
	expect_error_line '^[0-9:.]+ worker:1 +[0-9]+ +cudaGetDevice +\[EXIT\]'
	[ "$(grep -c ' cudaGetDevice .*EXIT' <<<"$stderr")" = 2 ] || fail "$stderr"
}

@test "children that are spawned are traced, too" {
	need_command cc
	cat >spawn.c <<-'EOF'
		#include <spawn.h>
		#include <sys/wait.h>
		extern char **environ;
		int main(int count, char **arguments)
		{
			pid_t child;
			for (int i = 0; i < 3; i++)
				if (posix_spawn(&child, arguments[1], 0, 0, arguments + 1, environ) ||
				    waitpid(child, 0, 0) != child)
					return 1;
		}
	EOF
	cc spawn.c -o spawn
	trace -c -- ./spawn "$calls" 4
	expect_status 0
	expect_error_line '^ *12 +0 .*cudaGetDevice$'
}

@test "a process is printed once, however many threads it has" {
	trace -v -- "$calls" --threads 4 100
	expect_count "$stderr" '^[0-9:.]+ calls +[0-9]+ +process +parent=' 1
}

@test "processes are shown where their source is asked for by its name" {
	trace -e process -- "$calls" 1
	expect_count "$stderr" '^[0-9:.]+ calls +[0-9]+ +process +parent=' 1
	expect_no_error_line 'cudaGetDevice'
	trace -e cuda -- "$calls" 1
	expect_no_error_line ' process +parent='
}

@test "a child that is left behind by the command is traced until the command ends" {
	trace -c -- sh -c "{ $calls 3 >/dev/null; touch go; } & exec $calls --wait-for go 2"
	expect_status 0
	expect_error_line '^ *5 +0 .*cudaGetDevice$'
}

@test "other processes are not shown beside the command" {
	"$calls" --rate 2000 100000000 >/dev/null 3>&- &
	trace -- "$calls" --wait 300 2
	expect_count "$stderr" '\[EXIT\]' 2
	kill %1
}

@test "a running process is traced from the middle on, until it ends" {
	"$calls" --wait-for go 4 >/dev/null 3>&- &
	target=$!
	start_trace -d $target
	touch go
	end_trace
	expect_status 0
	expect_count "$output" "calls +$target +cudaGetDevice .*\[EXIT\]" 4
	expect_error_line "^gputap: incomplete: 4 calls: 4 complete, 0 unfinished, 0 lost; calls may be missing from calls \($target\), which ran [0-9.]+ .?s before the probes in libcudart\.so\.13 were attached$"
}

@test "the children that a running process makes later are traced, too" {
	sh -c "while [ ! -e go ]; do sleep 0.05; done; $calls 2 >/dev/null; $calls --forks 2 3 >/dev/null" 3>&- &
	start_trace -d $!
	touch go
	end_trace
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 8
}

@test "the children that a running process has already are traced, too" {
	sh -c "$calls --wait-for go 3 >/dev/null; :" 3>&- &
	shell=$!
	wait_for pgrep -P $shell >/dev/null
	start_trace -d $shell
	touch go
	end_trace
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 3
}

@test "several processes are traced until the last one ends" {
	"$calls" --wait-for go 2 >/dev/null 3>&- &
	first=$!
	"$calls" --wait-for go-on 3 >/dev/null 3>&- &
	start_trace -d "$first,$!"
	touch go
	wait $first
	touch go-on
	end_trace
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 5
}

@test "a process that has ended is an error" {
	sh -c : 3>&- &
	gone=$!
	wait $gone
	trace -d $gone
	expect_status 1
	expect_output ""
	expect_error "gputap: no process $gone: it has ended, or is in another pid namespace"
}

@test "a thread that is not a process is an error" {
	"$calls" --threads 2 --rate 20 100000000 >/dev/null 3>&- &
	process=$!
	has_thread() {
		thread=$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 ! -name "$process" -printf '%f\n' | head -n 1)
		[ -n "$thread" ]
	}
	wait_for has_thread
	trace -d "$thread"
	kill $process
	expect_status 2
	expect_error "gputap: $thread is a thread: use its process (Tgid in /proc/$thread/status)"
}

@test "with -p LIBRARY every process that uses it is traced" {
	cp "$standin/libcudart.so.13" . # other tests may use the one that is built
	export LD_LIBRARY_PATH=$PWD
	start_trace -p ./libcudart.so.13
	"$calls" 2 >/dev/null
	"$callback" nested 1 >/dev/null
	kill -INT $tracer
	end_trace
	expect_status 0
	expect_count "$output" 'calls .*cudaGetDevice .*\[EXIT\]' 2
	expect_count "$output" 'callback .*\[EXIT\]' 2
}

@test "with -p PROGRAM the processes that execute it are traced, and no others" {
	cp "$calls" other
	start_trace -p ./other
	"$calls" 2 >/dev/null
	./other 3 >/dev/null
	kill -INT $tracer
	end_trace
	expect_count "$output" '\[EXIT\]' 3
	expect_count "$output" 'other .*\[EXIT\]' 3
}

# bats test_tags=alone
@test "without a target all processes are traced" {
	own=calls-$$ # other programs may run on this machine
	cp "$calls" "$own"
	start_trace
	"./$own" 2 >/dev/null
	kill -INT $tracer
	end_trace
	expect_status 0
	expect_count "$output" "^[0-9:.]+ $own +[0-9]+ +cudaGetDevice .*\[EXIT\]" 2
}

# bats test_tags=alone
@test "without a target, too, a process that renames itself has its new name from then on" {
	local own=rename-$$
	build_rename "$own"
	start_trace
	"./$own" >/dev/null
	"./$own" >/dev/null
	kill -INT $tracer
	end_trace
	expect_status 0
	expect_count "$output" "^[0-9:.]+ $own +[0-9]+ +cudaGetDevice .*\[EXIT\]" 2
	expect_count "$output" "^[0-9:.]+ worker:1 +[0-9]+ +cudaGetDevice .*\[EXIT\]" 2
}

@test "a library that is opened later is traced from its first call where it can be foreseen" {
	trace -- "$late" --wait 2000 5
	expect_status 0
	expect_count "$stderr" 'calls-late .*\[EXIT\]' 5
}

# ./late calls cudaGetDevice twice, of a library that it opens by an unexpected path, once there is a file "go".
build_late() {
	need_command cc
	mkdir elsewhere
	cp "$standin/libcudart.so.13" elsewhere/
	cat >late.c <<-'EOF'
		#include <dlfcn.h>
		#include <unistd.h>
		int main(void)
		{
			void *library = dlopen("elsewhere/libcudart.so.13", RTLD_NOW);
			int device, (*get)(int *) = dlsym(library, "cudaGetDevice");
			while (access("go", F_OK))
				usleep(10000);
			return get(&device) + get(&device);
		}
	EOF
	cc late.c -o late
}

@test "with --late-libs watch, a library of an unexpected path is traced, and the gap is noted" {
	build_late
	start_trace --late-libs watch -- ./late
	wait_for grep -q 'was mapped by process' err
	touch go
	end_trace
	expect_status 0
	expect_error_line "^gputap: $PWD/elsewhere/libcudart\.so\.13 was mapped by process [1-9][0-9]* [0-9.]+ ms before its probes were attached: calls in between are missing$"
	expect_count "$stderr" 'late .*\[EXIT\]' 2
	expect_error_line '^gputap: incomplete: 2 calls: 2 complete, 0 unfinished, 0 lost; calls may be missing from late \([0-9]+\), in [0-9.]+ .?s before the probes in libcudart\.so\.13 were attached$'
}

# bats test_tags=alone
@test "a process outside of the PID namespace of gputap has no number, in notes and totals" {
	need_command unshare
	unshare --pid --fork --mount-proc true || skip "there can be no other PID namespace"
	build_late
	unshare --pid --fork --mount-proc "$build/gputap" trace --gpu nvidia -v >out 2>err 3>&- &
	tracer=$!
	wait_for grep -qE '^gputap: attached' err
	./late 3>&- &
	wait_for grep -q 'was mapped by' err
	touch go
	wait $!
	pkill -INT -P "$tracer"
	end_trace
	expect_status 0
	expect_error_line "^gputap: $PWD/elsewhere/libcudart\.so\.13 was mapped by a process outside of gputap's PID namespace [0-9.]+ ms before its probes were attached: calls in between are missing$"
	# Other programs may be traced, too.
	expect_error_line "^gputap: incomplete: [0-9]+ calls: .* 0 lost; calls may be missing from (.*; from )?a process outside of gputap's PID namespace, in [0-9.]+ .?s before the probes in libcudart\.so\.13 were attached"
}

@test "a runtime that is linked in statically is traced" {
	build_static static
	trace -t -- ./static nested 1
	expect_count "$stderr" 'static .*\[EXIT\]' 2
	expect_error_line 'cudaMalloc               \[ENTER\]  size=64 bytes$'
}

@test "--gpu nvidia without a driver says so, and what to do" {
	[ ! -e /dev/nvidiactl ] || skip "NVIDIA's driver is here"
	gputap trace --gpu nvidia -- "$calls" 1
	expect_error_line "^gputap: no NVIDIA driver found: the command has no GPU unless it brings a driver; load the driver \('nvidia-smi' shows whether it works\), or use --gpu soft$"
	gputap trace --gpu soft -- "$calls" 1
	expect_no_error_line 'though --gpu nvidia'
}

@test "where a static runtime would get the software GPU, relinking is advised" {
	[ ! -e /dev/nvidiactl ] && [ ! -e /proc/driver/nvidia/version ] || skip "an NVIDIA driver is here"
	build_static static
	gputap trace -- ./static nested 1
	expect_status 0
	expect_error_line "^gputap: NVIDIA's CUDA runtime is statically linked into the program and cannot use the software GPU: relink it with 'nvcc -cudart shared'$"
	expect_count "$stderr" 'static .*\[EXIT\]' 2
}

@test "relinking is advised for a static runtime without symbols, too, where it is NVIDIA's" {
	[ ! -e /dev/nvidiactl ] && [ ! -e /proc/driver/nvidia/version ] || skip "an NVIDIA driver is here"
	need_command cc
	advice="^gputap: NVIDIA's CUDA runtime is statically linked into the program and cannot use the software GPU: relink it with 'nvcc -cudart shared'$"
	cat >nameless.c <<-'EOF'
		#include <dlfcn.h>
		#ifdef KERNELS
		__attribute__((section(".nv_fatbin"), used)) static const char kernels[] = "kernels";
		#endif
		int main(void)
		{
			dlsym(dlopen("libcuda.so.1", RTLD_NOW), FUNCTION);
			return 0;
		}
	EOF
	for case in 'KERNELS "cuGetExportTable" advised' 'KERNELS "cuInit" left' 'NONE "cuGetExportTable" left'; do
		read -r kernels function outcome <<<"$case"
		cc -s "-D$kernels" "-DFUNCTION=$function" nameless.c -o nameless
		gputap trace -- ./nameless
		expect_status 0
		if [ "$outcome" = advised ]; then
			expect_error_line "$advice"
		else
			expect_no_error_line "$advice"
			expect_error_line 'CUDA calls go to the software GPU'
		fi
	done
	gputap trace -- "$examples/vectoradd-stripped"
	expect_status 0
	expect_no_error_line "$advice"
}

@test "a static program without symbols is traced by its calls of the driver" {
	need_command cc
	mkdir driver
	printf 'int cuInit(int f) { return f; }\nint cuMemAlloc_v2(long *p, long s) { return *p = 4096, s > 999 ? 2 : 0; }\n' |
		cc -O0 -fno-omit-frame-pointer -shared -fPIC -x c - -o driver/libcuda.so.1
	cat >stripped.c <<-'EOF'
		#include <dlfcn.h>
		static int cudaMalloc(long *pointer, long size)
		{
			return ((int (*)(long *, long))dlsym(dlopen("libcuda.so.1", 2), "cuMemAlloc_v2"))(pointer, size);
		}
		int main(void)
		{
			long p;
			return cudaMalloc(&p, 64) + cudaMalloc(&p, 1000) - 2;
		}
	EOF
	cc -s stripped.c -o stripped
	export LD_LIBRARY_PATH=$PWD/driver
	trace -t -- ./stripped
	expect_status 0
	expect_error_line '^stripped +[0-9]+ +cuMemAlloc_v2 +\[ENTER\]  size=64 bytes$'
	expect_error_line '^stripped +[0-9]+ +cuMemAlloc_v2 +\[EXIT\]   returned=OUT_OF_MEMORY '
	expect_error_line "^gputap: no call of the CUDA runtime was seen \(one inside a stripped program cannot be found\): the calls are those of the driver API in .*libcuda\.so\.1$"
}

@test "a stripped interpreter whose children use the runtime is no reason for a message" {
	need_command cc
	mkdir driver
	printf 'int cuInit(int f) { return f; }\n' | cc -O0 -shared -fPIC -x c - -o driver/libcuda.so.1
	cp "$(command -v bash)" interpreter
	strip interpreter
	export LD_LIBRARY_PATH=$PWD/driver:$LD_LIBRARY_PATH
	trace -- ./interpreter -c "$calls 2; :"
	expect_count "$stderr" 'cudaGetDevice .*\[EXIT\]' 2
	expect_no_error_line 'CUDA runtime|nothing to attach'
}

@test "where nothing could be attached, this is said at the end" {
	trace -- true
	expect_no_error_line 'nothing to attach to'
	expect_error_line '^gputap: no calls were traced'
}

@test "where nothing is seen, it says where it looked and why" {
	build_static static
	strip -o stripped static
	trace -- ./stripped nested 1
	expect_status 0
	expect_error_line '^gputap: no calls were traced; probes were in .*libcudart\.so\.13.*, and none in \./stripped: no CUDA functions \(it is stripped: a statically linked runtime cannot be found\)$'
}

# A directory with "$calls" and all that it loads.
make_jail() {
	mkdir -p jail
	cp "$calls" jail/
	while read -r library; do
		mkdir -p "jail${library%/*}"
		cp "$library" "jail$library"
	done < <(ldd "$calls" | grep -oE '/[^ ]+' | grep -v standin)
	cp "$standin/libcudart.so.13" jail/
}

@test "a process in another root directory is traced" {
	need_root
	need_command chroot
	make_jail
	LD_LIBRARY_PATH=/ chroot jail /calls --wait-for go 3 >/dev/null 3>&- &
	target=$!
	is_in_jail() {
		[[ $(readlink "/proc/$target/exe") == */calls ]]
	}
	wait_for is_in_jail
	unset LD_LIBRARY_PATH
	start_trace -d $target
	touch jail/go
	end_trace
	expect_count "$output" 'calls .*\[EXIT\]' 3
}

@test "modules of a process in another root directory have their paths" {
	need_root
	need_command chroot
	make_jail
	LD_LIBRARY_PATH=/ chroot jail /calls --rate 50 1000000 >/dev/null 3>&- &
	target=$!
	wait_for grep -q libcudart /proc/$target/maps
	unset LD_LIBRARY_PATH
	gputap trace --gpu nvidia --json --stack fp --max-events 5 -d $target
	kill $target
	modules=$(jq -r 'select(.name) | .stack.frames[0].module' <<<"$output" | sort -u)
	[ "$modules" = "$(realpath jail/calls)" ] || fail "the module is '$modules'"
}

@test "process ids are those that gputap itself sees" {
	need_root
	need_command unshare
	unshare -fp true 2>/dev/null || skip "no pid namespace can be made"
	trace --json -o outside.json -- unshare -fp --kill-child "$calls" 1
	[ "$(jq 'select(.name) | .pid' outside.json)" -gt 1 ]
	[ "$(jq -r 'select(.name) | .process' outside.json)" = calls ]
	observe unshare -fp --mount-proc "$build/gputap" trace --gpu nvidia --json -o inside.json -- "$calls" 1
	expect_status 0
	[ "$(jq 'select(.name) | .pid' inside.json)" -lt 20 ]
}

@test "two sessions at once see the same calls" {
	start_trace -d $$ --json
	first=$tracer
	mv err first.err
	trace --json -o second.json -- "$calls" 100
	kill -INT "$first"
	tracer=$first
	status=0
	wait "$tracer" || status=$?
	values() { jq -sc 'map(select(.name) | [.tid, .args, .result]) | length' "$1"; }
	[ "$(values second.json)" = 100 ]
	[ "$(values out)" = 100 ]
}

@test "four sessions that count calls at once hide the driver calls inside runtime calls alike" {
	need_file "$examples/vectoradd" "example (clang for PTX)"
	local session=("$build/gputap" trace -c --gpu soft --)
	observe "${session[@]}" "${session[@]}" "${session[@]}" "${session[@]}" "$examples/vectoradd"
	expect_status 0
	expect_count "$stderr" '^gputap: 10 calls: 10 complete, 0 unfinished, 0 lost$' 4
}

@test "CAP_BPF and CAP_PERFMON are enough, without root, where uprobe_multi exists" {
	need_root
	need_command setpriv
	gputap doctor
	expect_output_line '^(ok|missing) +uprobe_multi'
	grep -q '^ok *uprobe_multi' <<<"$output" || skip "this kernel has no uprobe_multi"
	cp "$calls" "$standin/libcudart.so.13" "$build/gputap" .
	# Open files, since the other user may not be let into the directory.
	run --separate-stderr env LD_LIBRARY_PATH=/proc/self/cwd setpriv --reuid 65534 --regid 65534 \
		--clear-groups --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon \
		./gputap trace --gpu nvidia -- ./calls 2
	expect_status 0
	expect_count "$stderr" '\[EXIT\]' 2
}

@test "a message says that the command continues after the time limit, and its status is awaited" {
	start_trace --duration 300ms -- sh -c 'while [ ! -e go ]; do sleep 0.05; done; exit 3'
	wait_for grep -q 'tracing has ended' err
	touch go
	end_trace
	expect_status 3
	expect_error_line '^gputap: tracing has ended; waiting for PID [0-9]+ \(.*\), which continues \(Ctrl-C is passed on to it\)$'
	trace --max-events 1 -- "$calls" 5
	expect_status 0
	expect_no_error_line 'is waited for'
	trace -- "$calls" 1
	expect_no_error_line 'is waited for'
}

@test "the ring is bigger by default where whole stacks go through it" {
	"$calls" --wait-for never 1 >/dev/null 3>&- &
	target=$!
	has_ring() {
		grep -qs "^max_entries:[[:space:]]*$1$" /proc/"$tracer"/fdinfo/*
	}
	for case in "16777216" "67108864 --stack dwarf" "1048576 --stack dwarf --ring-size 1M"; do
		read -r size options <<<"$case"
		# shellcheck disable=SC2086 # several options
		start_trace $options -d $target
		has_ring "$size" || fail "the ring has not $size bytes with: $options"
		kill -INT "$tracer"
		end_trace
	done
	kill $target
}

@test "a process without the privilege to read it is an error that says what is missing" {
	need_probes
	[ "$(id -u)" = 0 ] && [ -d /proc/1 ] || skip "no process 1 that root might not look into"
	! head -c 1 /proc/1/maps >/dev/null 2>&1 || skip "root may look into every process here"
	trace -d 1
	expect_status 1
	expect_error "gputap: /proc/1/maps: the mappings of process 1 cannot be read: it has another user or more privileges; run gputap as root or give it CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)"
}

# As a user without CAP_SYS_PTRACE. The capability to read all files is for directories that others
# may not enter; it does not open /proc/PID/root.
as_user_without_ptrace() {
	local capabilities=+bpf,+perfmon,+dac_read_search
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set="-all,$capabilities" \
		--inh-caps="-all,$capabilities" --ambient-caps="-all,$capabilities" "$@"
}

# has_mapped PID REGEX
has_mapped() {
	grep -q "$2" /proc/"$1"/maps
}

@test "without CAP_SYS_PTRACE, a process of another user is traced where its files are at the same paths" {
	need_root
	need_command setpriv
	"$build/gputap" doctor | grep -q '^ok *uprobe_multi' || skip "this kernel has no uprobe_multi"
	"$calls" --wait-for go 3 >/dev/null 3>&- &
	target=$!
	wait_for has_mapped $target "$standin/libcudart"
	as_user_without_ptrace head -c 1 /proc/$target/maps >/dev/null || {
		kill $target
		skip "this kernel does not let CAP_PERFMON read mappings (Linux 6.14)"
	}
	as_user_without_ptrace "$build/gputap" trace -v -c --gpu nvidia -d $target >out 2>err 3>&- &
	tracer=$!
	wait_for grep -qE '^gputap: (attached|nothing to attach)' err
	touch go
	end_trace
	expect_status 0
	expect_output_line '^ *3 +0 .*cudaGetDevice$'
}

@test "without CAP_SYS_PTRACE, a process with files that cannot be reached is an error" {
	need_root
	need_command setpriv
	need_command unshare
	mkdir private
	unshare --mount sh -c 'mount -t tmpfs none private && cp "$1"/*.so.13 private &&
		LD_LIBRARY_PATH=$PWD/private exec "$2" --wait-for never 1' sh "$standin" "$calls" >/dev/null 3>&- &
	target=$!
	wait_for has_mapped $target private/libcudart
	observe as_user_without_ptrace "$build/gputap" trace -c -d $target --duration 100ms
	expect_status 1
	expect_error_line "^gputap: .*: .* CAP_SYS_PTRACE \(in a container: --cap-add SYS_PTRACE\)$"
	observe as_user_without_ptrace "$build/gputap" trace -c --duration 100ms
	expect_status 1
	expect_error_line "^gputap: .*: .* CAP_SYS_PTRACE .*; or name the library to trace \(-p\) or processes \(-d, --uid\)$"
	observe as_user_without_ptrace "$build/gputap" trace -c --gpu nvidia -p "$standin/libcudart.so.13" --duration 100ms
	expect_status 0
	# With the capability the library is reached through /proc/PID/root.
	trace -c -v -d $target --duration 100ms
	expect_status 0
	expect_error_line '^gputap: attached [1-9]'
	kill $target
}
