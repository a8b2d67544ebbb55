# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The agent in processes that could disturb it, or that it could disturb: each program of
# tests/programs/agent.c prints the same with it as without it. On the software GPU.

load helper

setup_file() {
	cat >"$BATS_FILE_TMPDIR/count.c" <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(counts, unsigned long long, 1);
		SEC("gpu/entry/count") int count(void *ctx) {
			unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$BATS_TEST_DIRNAME/../../include" \
		-c "$BATS_FILE_TMPDIR/count.c" -o "$BATS_FILE_TMPDIR/count.o"
}

# agent PROGRAM: runs a program of tests/programs/agent.c with the programs of an object.
agent() {
	gputap run --gpu soft --json "$BATS_FILE_TMPDIR/count.o" -- "$build/tests/programs/${2-agent}" "$1"
}

# The number of threads that were counted.
counted() {
	jq -r 'select(.maps) | [.maps[0].entries[].value][0] // 0' <<<"$(grep '^{' <<<"$output")"
}

# expect_runs PROGRAM LAUNCHES [EXECUTABLE]: the program is right, and the 64 threads of each of so
# many launches were counted.
expect_runs() {
	agent "$1" "${@:3}"
	expect_status 0
	expect_output_line '^right$'
	expect_no_output_line '^wrong$'
	[ "$(counted)" = $(($2 * 64)) ] || fail "$1: $(counted) threads were counted, not $(($2 * 64))"
	# gputap's own lines alone.
	expect_no_error_line '^[^g]'
}

@test "processes that a program forks, and programs that it executes, are patched like itself" {
	expect_runs plain 1
	expect_runs fork-before 2
	expect_runs fork-after 2
	expect_runs fork-exec 1
	expect_runs vfork-exec 2
	expect_runs exec 1
}

@test "a program that is executed with an empty environment, or another LD_PRELOAD, runs without the agent" {
	expect_runs exec-empty 0
	expect_runs exec-preload 0
}

@test "a program that clears its environment, or changes it meanwhile, is patched" {
	expect_runs clear-environment 1
	expect_runs change-environment 20
}

@test "threads that load modules at the same time get their own patched modules" {
	for _ in 1 2 3; do
		expect_runs threads 8
	done
}

@test "a thread with the smallest stack loads modules" {
	expect_runs small-stack 1
}

@test "a thread that is cancelled while it loads a module ends after the load" {
	expect_runs cancel 1
}

@test "handlers, masks and errno of a program are as it left them, and its signals arrive" {
	expect_runs signals 2
	expect_runs errno 1
}

@test "a program that closes its standard streams, or all descriptors, keeps them closed" {
	expect_runs close-standard 1
	expect_runs close-all 3
	agent close-meanwhile
	expect_status 0
	expect_output_line '^right$'
}

@test "a program that may open no more files runs on" {
	expect_runs no-more-files 0
}

@test "a program without memory for the maps runs on, and its module is counted as rejected" {
	printf '%s\n' '#include <gputap/bpf.h>' 'GPUTAP_RING(events, 1 << 28);' \
		'SEC("gpu/entry/count") int event(void *ctx) {' \
		'	int value = 1; bpf_ringbuf_output(&events, &value, 4, 0); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >"$BATS_TEST_TMPDIR/large.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/large.c" \
		-o "$BATS_TEST_TMPDIR/large.o"
	# Enough for the software GPU, and not for the ring.
	export SOFTGPU_MEMORY=16M SOFTGPU_WORKERS=1
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/large.o" -- \
		sh -c "ulimit -v 262144; exec '$build/tests/programs/agent' plain"
	expect_status 0
	expect_output_line '^right$'
	grep '^{' <<<"$output" | jq -se 'map(select(.coverage))[0].coverage |
		.modules_failed == 1 and .found == 1 and .rejected == 1 and
		.reasons[0].reason == "the GPU cannot access the memory of the maps"' ||
		fail "the module is not counted"
}

@test "a program that forbids itself sockets is not ended by the agent" {
	expect_runs no-sockets 0
	expect_runs deadly-sockets 0
	expect_runs deadly-sockets-exec 0
}

@test "a program that changes its root or its network runs on" {
	need_root
	expect_runs chroot 0
	agent network
	expect_status 0
	expect_output_line '^right$'
}

@test "a driver that is closed and opened again is patched again" {
	expect_runs reopen 3
}

@test "a program may have an allocator that calls the loader" {
	expect_runs plain 1 agent-allocator
	expect_runs threads 8 agent-allocator
	expect_runs fork-after 2 agent-allocator
}

# run_to_end PROGRAM: the program kills gputap; $output is what it printed, once it has ended.
run_to_end() {
	mkfifo "$BATS_TEST_TMPDIR/end"
	"$build/gputap" run --gpu soft "$BATS_FILE_TMPDIR/count.o" -- sh -c \
		"exec 9>'$BATS_TEST_TMPDIR/end'; exec '$build/tests/programs/agent' $1 >'$BATS_TEST_TMPDIR/printed' 2>&1" \
		>/dev/null 2>&1 3>&- &
	# Ends when the program has closed its end.
	cat "$BATS_TEST_TMPDIR/end" >/dev/null
	output=$(cat "$BATS_TEST_TMPDIR/printed")
}

@test "a program runs on when the collector is killed before it loads a module" {
	run_to_end kill-before
	expect_output right
}

@test "a program runs on when the collector is killed while it waits for a module" {
	run_to_end kill-during
	expect_output right
}

@test "a program runs on when the collector is killed while patched kernels run" {
	run_to_end kill-while-running
	expect_output right
}

@test "a program whose collector does not answer in time loads the original" {
	export GPUTAP_AGENT_DEADLINE=200
	agent slow
	expect_status 0
	expect_output_line '^right$'
	# What was patched too late counts as rejected.
	grep '^{' <<<"$output" | jq -se 'map(select(.coverage))[0].coverage |
		.modules_failed >= 1 and .found == .patched + .rejected' || fail "the late module is not counted"
}

@test "a module that the driver rejects once patched is loaded as it was" {
	need_command gcc
	cd "$BATS_TEST_TMPDIR"
	mkdir driver
	# A driver that loads anything but what the collector has patched.
	gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o driver/libcuda.so.1 -x c - <<-'END'
		#include <stdio.h>
		#include <string.h>
		static int is_patched(const void *image) {
			FILE *maps = fopen("/proc/self/maps", "r");
			char line[4096];
			int patched = 0;
			unsigned long from, to;
			while (fgets(line, sizeof(line), maps))
				if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (unsigned long)image >= from &&
				    (unsigned long)image < to)
					patched = !!strstr(line, "gputap-patched");
			fclose(maps);
			return patched;
		}
		int cuInit(unsigned flags) { return 0; }
		int cuCtxGetCurrent(void **context) { *context = (void *)1; return 0; }
		int cuDeviceGetAttribute(int *value, int attribute, int device) {
			*value = attribute == 75 ? 9 : 0; return 0; }
		int cuMemHostRegister_v2(void *memory, unsigned long size, unsigned flags) { return 0; }
		int cuMemHostGetDevicePointer_v2(void **address, void *memory, unsigned flags) {
			*address = memory; return 0; }
		int cuModuleLoadData(void **module, const void *image) {
			puts(is_patched(image) ? "rejected" : "loaded");
			return is_patched(image) ? 218 : 0;
		}
	END
	gcc -o loader -x c - -Ldriver -l:libcuda.so.1 <<-'END'
		#include <stdio.h>
		int cuInit(unsigned flags);
		int cuModuleLoadData(void **module, const void *image);
		int main(void) {
			void *module;
			cuInit(0);
			printf("%d\n", cuModuleLoadData(&module, ".version 7.8\n.target sm_75\n"
				".address_size 64\n.visible .entry count()\n{\n\tret;\n}\n"));
			return 0;
		}
	END
	LD_LIBRARY_PATH=$PWD/driver gputap run -v --gpu nvidia "$BATS_FILE_TMPDIR/count.o" -- ./loader
	expect_status 0
	expect_output_line '^rejected$'
	expect_output_line '^loaded$'
	expect_output_line '^0$'
	expect_error_line 'the driver rejected the patched module \(218\)$'
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 1 failed; 0 kernels, 0 compiled; 1 site: 0 patched, 1 rejected$'
}

@test "a program that runs as another user runs without the agent" {
	need_root
	need_command gcc
	cd "$BATS_TEST_TMPDIR"
	gcc -o other-user -x c - <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/auxv.h>
		int main(void) {
			printf("%d %s\n", !!getauxval(AT_SECURE), getenv("LD_PRELOAD") ? "agent" : "alone");
			return 0;
		}
	END
	chmod 755 "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
	chown nobody other-user
	chmod u+s other-user
	observe ./other-user
	[ "$output" = '1 alone' ] || skip "set-user-id programs do not change the user here"
	gputap run "$BATS_FILE_TMPDIR/count.o" -- ./other-user
	expect_status 0
	expect_output_line '^1 alone$'
	expect_no_error_line 'ERROR'
}

@test "records that find a full ring are dropped, and their number is printed" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	cat >"$BATS_TEST_TMPDIR/full.c" <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_RING(small, 4096);
		SEC("gpu/entry/*") int full(struct gputap_context *ctx) {
			unsigned int value = ctx->thread_x; bpf_ringbuf_output(&small, &value, 4, 0); return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/full.c" \
		-o "$BATS_TEST_TMPDIR/full.o"
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/full.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '^vectoradd: 262144 sums are right$'
	grep '^{' <<<"$output" | jq -se '(map(select(.ring)) | length) as $read |
		map(select(.maps))[0].maps[0].lost as $lost | $lost > 0 and $read + $lost == 262144' ||
		fail "records are neither read nor counted as lost"
	gputap run --gpu soft "$BATS_TEST_TMPDIR/full.o" -- "$examples/vectoradd"
	expect_output_line '^  [0-9]+ records dropped \(buffer full\)$'
}

# build_loader NAME: a program that loads the image in the file that is its argument, and prints the
# driver's result.
build_loader() {
	need_command gcc
	gcc -x c -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/$1" - -L "$softgpu" -l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		#include <stdlib.h>
		int main(int count, char **words) {
			FILE *file = fopen(words[1], "r");
			char *image = calloc(1, 1 << 20);
			CUcontext context;
			CUmodule module;
			fread(image, 1, (1 << 20) - 1, file);
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			printf("%d\n", cuModuleLoadData(&module, image));
			return 0;
		}
	END
}

@test "images that are malformed have the driver's own result" {
	build_loader loader
	cd "$BATS_TEST_TMPDIR"
	local header='.version 7.8
		.target sm_75
		.address_size 64
		'
	printf '%s.visible .entry count()\n{\n\tret;\n' "$header" >unfinished
	printf '%s.visible .entry count()\n{\n\tnonsense.u32 %%r1, %%r2;\n\tret;\n}\n' "$header" >unknown
	printf '.version 99.9\n' >version
	printf '\177ELF\002\001\001 no cubin' >elf
	printf '\120\355\125\272\001\000\020\000\377\000\000\000\000\000\000\000' >fatbin
	printf 'words' >words
	: >empty
	for image in unfinished unknown version elf fatbin words empty; do
		on_softgpu ./loader "$image"
		[ "$status" = 0 ] || fail "$image: the loader fails without gputap"
		local alone=$output
		gputap run --gpu soft "$BATS_FILE_TMPDIR/count.o" -- ./loader "$image"
		expect_status 0
		[ "$(head -n 1 <<<"$output")" = "$alone" ] || fail "$image: $alone without gputap"
	done
}

# plain_with_cache DIRECTORY
plain_with_cache() {
	GPUTAP_CACHE=$1 gputap run --gpu soft --json "$BATS_FILE_TMPDIR/count.o" -- \
		"$build/tests/programs/agent" plain
	expect_status 0
	expect_output_line '^right$'
	[ "$(counted)" = 64 ] || fail "$(counted) threads were counted"
}

@test "modules are patched where the directory for patched modules cannot be used" {
	plain_with_cache /dev/null/cache
	plain_with_cache "$BATS_TEST_TMPDIR/$(printf '%0300d' 0)"
	touch "$BATS_TEST_TMPDIR/file"
	plain_with_cache "$BATS_TEST_TMPDIR/file"
}

@test "modules are patched where the disk for patched modules is full" {
	need_root
	mkdir "$BATS_TEST_TMPDIR/disk"
	unshare -m sh -c "mount -t tmpfs -o size=4k none '$BATS_TEST_TMPDIR/disk'" ||
		skip "tmpfs cannot be mounted"
	observe unshare -m sh -c "mount -t tmpfs -o size=8k none '$BATS_TEST_TMPDIR/disk'
		mkdir -m 700 '$BATS_TEST_TMPDIR/disk/cache'
		cat /dev/zero >'$BATS_TEST_TMPDIR/disk/rest' 2>/dev/null
		GPUTAP_CACHE='$BATS_TEST_TMPDIR/disk/cache' '$build/gputap' run --gpu soft --json \
			'$BATS_FILE_TMPDIR/count.o' -- '$build/tests/programs/agent' plain"
	expect_status 0
	expect_output_line '^right$'
	[ "$(counted)" = 64 ] || fail "$(counted) threads were counted"
}

# under_limit KIB: runs the plain program under gputap with a limit of file sizes for both.
under_limit() {
	observe bash -c "ulimit -f $1; exec '$build/gputap' run -v --gpu soft '$BATS_FILE_TMPDIR/count.o' -- \
		'$build/tests/programs/agent' plain"
}

@test "a limit of file sizes that the maps exceed is an error" {
	under_limit 1
	expect_status 1
	expect_error_line "^gputap: the maps need a file of [0-9]+ bytes, more than the limit of file sizes; raise it with 'ulimit -f'$"
	expect_output ''
}

@test "a statically linked program runs as without the agent" {
	need_command gcc
	echo '#include <stdio.h>
		int main(void) { puts("static"); return 0; }' |
		gcc -static -o "$BATS_TEST_TMPDIR/static" -x c - || skip "there is no static libc"
	gputap run "$BATS_FILE_TMPDIR/count.o" -- "$BATS_TEST_TMPDIR/static"
	expect_status 0
	expect_output_line '^static$'
	expect_error_line '^gputap: the agent saw no module of CUDA or Level Zero, and no program of OpenCL: the command created none, could not load the agent \(a static or set-user-ID program\) or could not connect to gputap \(seccomp, another network namespace\)$'
	expect_no_error_line '^[^g]'
}

@test "the agent needs libc alone and exports its hooks alone" {
	need_command readelf
	agent=$build/src/agent/libgputap-agent.so
	while read -r library; do
		case $library in
		libc.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux*) ;;
		*) fail "the agent needs $library" ;;
		esac
	done < <(readelf -d "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	# The hooks are functions of the driver, of compilers, of Level Zero and of the C library's loader;
	# the library that records calls finds the agent by gt_agent_services.
	while read -r name; do
		case $name in
		gt_agent_services) ;;
		cu[A-Z]* | nvrtc* | nvJitLink* | __nvJitLink* | ze[A-Z]* | dlopen | dlsym) ;;
		*) fail "the agent exports $name" ;;
		esac
	done < <(readelf --dyn-syms -W "$agent" | awk '$7 != "UND" && $5 == "GLOBAL" { print $8 }')
	# Code and data.
	local bytes
	bytes=$(size "$agent" | awk 'NR == 2 { print $1 + $2 }')
	[ "$bytes" -lt 220000 ] || fail "the agent has $bytes bytes"
	# No allocation: the program's allocator is none of its business. What is kept beside modules and
	# kernels of Level Zero, whose drivers allocate as well, is the exception.
	for object in "$agent".p/*.o; do
		case ${object##*/} in
		level_zero_* | pairs.c.o | units.c.o) continue ;;
		esac
		observe nm -u "$object"
		expect_no_output_line ' (malloc|calloc|realloc|free)$'
	done
}
