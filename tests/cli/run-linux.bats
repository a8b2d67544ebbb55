# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# run: host programs beside the GPU programs in the kernels of a command. Needs BPF, and no GPU.

load helper

setup() {
	object=$BATS_TEST_TMPDIR/program.o
	export object
}

# program SOURCE: compiles eBPF for both sides; ADD(map, key, number) adds to a map's value.
program() {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		#include <gputap/bpf.h>
		#define ADD(map, k, n) do { unsigned int key_ = k; \\
			unsigned long long *value_ = bpf_map_lookup_elem(&map, &key_); \\
			if (value_) __sync_fetch_and_add(value_, n); } while (0)
		$1
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I"$root/include" -I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$BATS_TEST_TMPDIR/program.c" -o "$object"
}

# counting SECTION…: an object whose GPU program counts threads in counts[0], and blocks in total[0];
# host programs of the sections count in counts[1], counts[2] …, and each adds 1000 to total[0].
counting() {
	local slot=1 section source='GPUTAP_SHARED_ARRAY(counts, unsigned long long, 8);
		GPUTAP_SHARED_ARRAY(total, unsigned long long, 1);
		SEC("gpu/entry/*") int thread(void *ctx) { ADD(counts, 0, 1); return 0; }
		SEC("gpu/block_begin") int block(void *ctx) { ADD(total, 0, 1); return 0; }'
	for section; do
		source+="
		SEC(\"$section\") int host$slot(void *ctx) {
			ADD(counts, $slot, 1); ADD(total, 0, 1000); return 0; }"
		slot=$((slot + 1))
	done
	program "$source"
}

on_soft() {
	gputap run --gpu soft --json "$@"
}

# expect_values MAP VALUE…: the values of a map, from key 0 on.
expect_values() {
	local map=$1 n=0 value found
	shift
	for value; do
		found=$(grep '^{' <<<"$output" | jq -r --arg map "$map" --argjson n $n 'select(.maps) |
			.maps[] | select(.name == $map) | [.entries[] | select(.key == $n) | .value][0] // 0')
		[ "$found" = "$value" ] || fail "${map}[$n] is $found, not $value"
		n=$((n + 1))
	done
}

@test "a host program and a GPU program add to one array" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so:cudaLaunchKernel uretprobe/libcudart.so.13:cudaLaunchKernel \
		uprobe/libcuda.so.1:cuLaunchKernel
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 0
	# 1024 blocks of 256 threads in one launch.
	expect_values counts 262144 1 1
	expect_output_line '^vectoradd: 262144 sums are right$'
}

@test "host programs of two objects share a map with the GPU program of one of them" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	local map='struct { __uint(type, GPUTAP_MAP_ARRAY); __uint(max_entries, 4);
		__uint(pinning, LIBBPF_PIN_BY_NAME); __type(key, unsigned int);
		__type(value, unsigned long long); } sums SEC(".maps");'
	program "$map
		SEC(\"gpu/entry/*\") int thread(void *ctx) { ADD(sums, 0, 1); return 0; }
		SEC(\"uprobe/libcudart.so:cudaLaunchKernel\") int call(void *ctx) { ADD(sums, 1, 1); return 0; }"
	mv "$object" "$BATS_TEST_TMPDIR/a.o"
	program "$map
		SEC(\"uretprobe/libcudart.so:cudaLaunchKernel\") int call(void *ctx) {
			ADD(sums, 1, 10); ADD(sums, 2, 1); return 0; }
		SEC(\"uprobe\") int other(void *ctx) { ADD(sums, 3, 1); return 0; }"
	for first in "$BATS_TEST_TMPDIR/a.o" "$object"; do
		second=$object
		[ "$first" != "$object" ] || second=$BATS_TEST_TMPDIR/a.o
		on_soft "$first" "$second" --attach other=libcudart.so:cudaLaunchKernel -- "$examples/vectoradd"
		expect_status 0
		expect_values sums 262144 11 1 1
	done
	[ ! -e /sys/fs/bpf/sums ] || fail 'the map was pinned'
}

@test "a uprobe of the runtime library is also attached where the runtime is linked statically" {
	need_probes
	need_file "$examples/vectoradd-static" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so:cudaLaunchKernel uprobe/cudart:cudaLaunchKernel
	on_soft "$object" -- "$examples/vectoradd-static"
	expect_status 0
	expect_values counts 262144 1 1
}

@test "a uprobe of the command's program is attached by its name, in the program or what it loads" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/vectoradd:main uprobe/vectoradd:cudaLaunchKernel \
		uprobe/example/gpu/vectoradd:main "uprobe/$examples/vectoradd:main"
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 0
	expect_values counts 262144 1 1 1 1
}

@test "uprobes see the command's children, and the libraries that these load" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so:cudaLaunchKernel uprobe/vectoradd:cudaLaunchKernel
	on_soft "$object" -- sh -c '"$1"; (exec "$1")' sh "$examples/vectoradd"
	expect_status 0
	expect_values counts 524288 2 2
}

@test "uprobes do not see other processes" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so.13:cudaLaunchKernel
	LD_LIBRARY_PATH=$softgpu "$build/gputap" run --gpu soft --json "$object" -- sh -c \
		'touch "$1.waits"; while [ ! -e "$1.go" ]; do sleep 0.05; done; exec "$2"' \
		sh "$BATS_TEST_TMPDIR/command" "$examples/vectoradd" >"$BATS_TEST_TMPDIR/printed" 3>&- &
	local tracer=$!
	wait_for test -e "$BATS_TEST_TMPDIR/command.waits"
	LD_LIBRARY_PATH=$softgpu "$examples/vectoradd"
	touch "$BATS_TEST_TMPDIR/command.go"
	wait $tracer
	output=$(cat "$BATS_TEST_TMPDIR/printed")
	expect_values counts 262144 1
}

@test "maps that only host programs use are shown, too" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	program 'GPUTAP_HASH(of_linux, unsigned int, unsigned long long, 8);
		SEC("gpu/entry/*") int thread(void *ctx) { return 0; }
		SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) {
			unsigned int key = 3; unsigned long long seven = 7;
			bpf_map_update_elem(&of_linux, &key, &seven, 0); return 0; }'
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 0
	jq -se 'map(select(.linux))[0].linux[0] | .name == "of_linux" and
		.entries == [{key: 3, value: 7}]' <<<"$(grep '^{' <<<"$output")"
	gputap run --gpu soft "$object" -- "$examples/vectoradd"
	expect_output_line '^  3: 7$'
}

@test "a host program that cannot be attached is an error, before the command starts" {
	need_probes
	counting uprobe//nonexistent/app:work
	gputap run "$object" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line "^gputap: host1: cannot attach this host program: there is no /nonexistent/app, and the command is not 'app'; change its section, or run the command where this path leads to the file$"
	expect_error_line "^gputap: the command was not run; --no-linux runs it without the object's host programs$"
	counting uprobe//bin/sh:no_such_function
	gputap run "$object" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line "^gputap: host1: cannot attach this host program: /bin/sh has no function 'no_such_function' \('nm -D' and 'nm' list them\)$"
	program 'GPUTAP_SM_ARRAY(both, unsigned long long, 8);
		SEC("gpu/entry/*") int thread(void *ctx) { ADD(both, 0, 1); return 0; }
		SEC("uprobe/sh:main") int host(void *ctx) { ADD(both, 0, 1); return 0; }'
	gputap run "$object" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line '^gputap: both: GPU programs and host programs use this map, and in Linux it has a value for each CPU: '
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a host program and a GPU program share a hash, which the GPU program accesses by calls" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	for type in GPUTAP_MAP_HASH GPUTAP_MAP_LRU_HASH; do
		program "GPUTAP_MAP(both, $type, unsigned int, unsigned long long, 64);
			SEC(\"uprobe/libcudart.so.13:cudaLaunchKernel\") int launch(void *ctx) {
				unsigned int key = 5; unsigned long long value = 70;
				bpf_map_update_elem(&both, &key, &value, 0); return 0; }
			SEC(\"gpu/entry.block/*\") int block(struct gputap_context *ctx) {
				unsigned int key = 5; unsigned long long *value, next;
				if (ctx->block_x > 1) return 0;
				value = bpf_map_lookup_elem(&both, &key);
				if (!value) return 0;
				next = *value + ctx->block_x; key = 6 + ctx->block_x;
				bpf_map_update_elem(&both, &key, &next, 0); return 0; }"
		on_soft "$object" -- "$examples/vectoradd"
		expect_status 0
		jq -se '[.[] | select(.linux)][0] | .calls_lost == 0 and (.linux[0] | .name == "both" and
			(.entries | map([.key, .value]) | sort) == [[5, 70], [6, 70], [7, 71]])' \
			<<<"$(grep '^{' <<<"$output")" || fail "the hash has other values"
	done
	program 'GPUTAP_HASH(both, unsigned int, unsigned long long, 64);
		SEC("raw_tp/sched_process_exec") int host(void *ctx) { ADD(both, 0, 1); return 0; }
		SEC("gpu/entry.block/*") int block(void *ctx) {
			unsigned int key = 0; return bpf_map_add(&both, &key, 1); }'
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 1
	expect_error_line "rejected: map_add#531 on map 'both' would not be atomic: it is the kernel's; use bpf_map_update_elem$"
}

@test "a uprobe whose library was never loaded is reported" {
	need_probes
	counting uprobe/libnosuch.so:work uprobe/libc.so.6:no_such_function
	gputap run "$object" -- true
	expect_status 0
	expect_error_line '^gputap: the host program host1 was not attached: no process of the command loaded a file of this name with this function$'
	expect_error_line '^gputap: the host program host2 was not attached: '
}

@test "without privileges the host programs are an error, and --no-linux runs without them" {
	need_probes
	need_command setpriv
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so:cudaLaunchKernel
	observe setpriv --inh-caps=-all --bounding-set=-all "$build/gputap" run --gpu soft "$object" -- \
		touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error $'gputap: no privilege to load BPF programs: run as root (sudo), or give gputap CAP_BPF and CAP_PERFMON\ngputap: the command was not run; --no-linux runs it without the object\'s host programs'
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	observe setpriv --inh-caps=-all --bounding-set=-all "$build/gputap" run --gpu soft --json --no-linux \
		"$object" -- "$examples/vectoradd"
	expect_status 0
	expect_values counts 262144 0
	expect_values total 1024
}

@test "--attach gives a host program its target" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe uretprobe uprobe//nonexistent/app:work
	on_soft --attach host1=libcudart.so:cudaLaunchKernel --attach host2=vectoradd:main \
		--attach host3=cudart:cudaLaunchKernel "$object" -- "$examples/vectoradd"
	expect_status 0
	expect_values counts 262144 1 1 1
	expect_no_error_line 'not attached'
	counting uprobe
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 0
	expect_error_line '^gputap: the host program host1 was not attached: its section \(uprobe\) names no target; use --attach host1=FILE:FUNCTION$'
	gputap run --attach 'nobody=cudart:f' "$object" -- true
	expect_status 1
	expect_error_line "no host program 'nobody' to attach \('gputap verify' lists the programs\)$"
	gputap run --attach 'host1=cudart' "$object" -- true
	expect_status 1
	expect_error_line "^gputap: host1: cannot attach a program of section uprobe to 'cudart' \(only uprobe and uretprobe, to FILE:FUNCTION\)$"
}

@test "records of rings of host programs are printed as those of GPU programs" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	program 'struct event { unsigned int number; char name[8]; };
		GPUTAP_RING_OF(calls, struct event, 4096);
		GPUTAP_RING_OF(blocks, struct event, 4096);
		SEC("gpu/block_begin") int block(struct gputap_context *ctx) {
			struct event event = {ctx->block_x, "gpu"};
			if (ctx->block_x == 9)
				bpf_ringbuf_output(&blocks, &event, sizeof(event), 0);
			return 0; }
		SEC("uprobe/cudart:cudaLaunchKernel") int on_launch(void *ctx) {
			struct event event = {7, "host"};
			bpf_ringbuf_output(&calls, &event, sizeof(event), 0);
			return 0; }'
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 0
	jq -se 'map(select(.ring)) | sort_by(.ring) == [
		{ring: "blocks", record: {number: 9, name: "gpu"}},
		{ring: "calls", record: {number: 7, name: "host"}}]' <<<"$(grep '^{' <<<"$output")"
	gputap run --gpu soft "$object" -- "$examples/vectoradd"
	expect_output_line '^calls: \{ \.number = 7, \.name = "host" \}$'
}

# links: a library that records the type of each link that gputap creates, in the file $LINKS;
# with DENY_MULTI the kernel appears to have no uprobe_multi links (48), as before Linux 6.6.
links() {
	cat >"$BATS_TEST_TMPDIR/links.c" <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <linux/bpf.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		long syscall(long number, ...) {
			long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
			__builtin_va_list list;
			long a[6];
			__builtin_va_start(list, number);
			for (int i = 0; i < 6; i++)
				a[i] = __builtin_va_arg(list, long);
			__builtin_va_end(list);
			if (number == SYS_bpf && a[0] == BPF_LINK_CREATE) {
				const union bpf_attr *attr = (void *)a[1];
				if (attr->link_create.attach_type == 48 && getenv("DENY_MULTI")) {
					errno = EINVAL;
					return -1;
				}
				FILE *file = fopen(getenv("LINKS"), "a");
				fprintf(file, "%u\n", attr->link_create.attach_type);
				fclose(file);
			}
			return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
		}
	END
	cc -shared -fPIC -o "$BATS_TEST_TMPDIR/links.so" "$BATS_TEST_TMPDIR/links.c"
	export LINKS=$BATS_TEST_TMPDIR/links
	rm -f "$LINKS"
}

# on_soft with the library of links().
on_soft_with_links() {
	observe env LD_PRELOAD="$BATS_TEST_TMPDIR/links.so" \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$@" \
		"$build/gputap" run --gpu soft --json "$object" -- "$examples/vectoradd"
}

# Two programs at one function, and entries and returns of others.
several() {
	counting uprobe/libcudart.so:cudaLaunchKernel uprobe/libcudart.so:cudaLaunchKernel \
		uretprobe/libcudart.so:cudaLaunchKernel uprobe/libcudart.so:__cudaRegisterFunction \
		uretprobe/libcudart.so:__cudaRegisterFunction uprobe/libcuda.so.1:cuLaunchKernel
}

@test "uprobes of one file share a link for entries and one for returns" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	several
	links
	on_soft_with_links
	expect_status 0
	expect_values counts 262144 1 1 1 1 1 1
	# gputap's own try is the first one.
	grep -q '^48$' "$LINKS" || skip "the kernel has no uprobe_multi links"
	[ "$(grep -c '^48$' "$LINKS")" = 4 ] || fail "the links: $(tr '\n' ' ' <"$LINKS")"
}

@test "uprobes are attached one by one where the kernel has no links for many" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	several
	links
	on_soft_with_links DENY_MULTI=1
	expect_status 0
	expect_values counts 262144 1 1 1 1 1 1
	! grep -q '^48$' "$LINKS"
}

@test "a uprobe that the kernel rejects is reported, whatever else its link would have" {
	need_probes
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting uprobe/libcudart.so:cudaLaunchKernel uprobe/libcudart.so:cudaLaunchKernel+0x7fffffff0000
	on_soft "$object" -- "$examples/vectoradd"
	expect_status 1
	expect_error_line '^gputap: host2: cannot attach this host program to cudaLaunchKernel in .*/libcudart.so.13: '
}
