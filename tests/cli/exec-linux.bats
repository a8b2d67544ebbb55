# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# exec --linux: host programs beside GPU programs, sharing arrays of the kernel.

load helper

setup() {
	object=$BATS_TEST_TMPDIR/program.o
	app=$BATS_TEST_TMPDIR/app
	export object app
}

# application: a program that calls work() as often as its argument says, and ends with status $2.
application() {
	cat >"$app.c" <<-'END'
		#include <stdlib.h>
		__attribute__((noinline)) void work(int i) { __asm__ volatile("" : : "r"(i)); }
		int main(int count, char **arguments)
		{
			for (int i = 0; i < atoi(arguments[1]); i++)
				work(i);
			return count > 2 ? atoi(arguments[2]) : 0;
		}
	END
	clang -O1 "$app.c" -o "$app"
}

# program SOURCE: compiles eBPF for both sides; APP is the path of the application, ADD(map, key,
# number) adds to a map's value.
program() {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		#include <gputap/bpf.h>
		#define APP "$app"
		#define ADD(map, k, n) do { unsigned int key_ = k; \\
			unsigned long long *value_ = bpf_map_lookup_elem(&map, &key_); \\
			if (value_) __sync_fetch_and_add(value_, n); } while (0)
		$1
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I"$root/include" -I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$BATS_TEST_TMPDIR/program.c" -o "$object"
}

# A program for each side, which count in one array; the GPU program returns its old value.
counting='GPUTAP_SHARED_ARRAY(counts, unsigned long long, 4);
	SEC("uprobe/" APP ":work") int on_work(void *ctx) { ADD(counts, 0, 1); return 0; }
	SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) {
		char name[16];
		bpf_get_current_comm(name, sizeof(name));
		if (name[0] == 0x61 && name[1] == 0x70 && name[2] == 0x70 && !name[3])
			ADD(counts, 1, 1);
		return 0; }
	SEC("gpu/run") long run(void *memory) {
		unsigned int key = 0;
		unsigned long long *count = bpf_map_lookup_elem(&counts, &key);
		return count ? __sync_fetch_and_add(count, 1000) : 0; }'

on_soft() {
	gputap exec --on gpu --gpu soft --linux --maps "$@"
}

@test "Linux and the GPU count in the same shared array" {
	need_probes
	application
	program "$counting"
	on_soft "$object" -- "$app" 123
	expect_status 0
	expect_error ''
	expect_output $'7b\nshared:\ncounts (array, 4 entries at most)\n  0: 1123\n  1: 1\n  2 of 4 values are zero'
	gputap exec --on interp --linux --maps "$object" -- "$app" 123
	expect_status 0
	expect_output $'7b\nshared:\ncounts (array, 4 entries at most)\n  0: 1123\n  1: 1\n  2 of 4 values are zero'
}

@test "an array that both sides use is shared, with and without BPF_F_MMAPABLE" {
	need_probes
	for map in 'GPUTAP_ARRAY(both, unsigned long long, 4)' \
		'GPUTAP_MAP(both, GPUTAP_MAP_GPU_ARRAY, unsigned int, unsigned long long, 4)'; do
		program "$map;
			SEC(\"raw_tp/sched_process_exec\") int on_exec(void *ctx) { ADD(both, 0, 1); return 0; }
			SEC(\"gpu/run\") long run(void *memory) { ADD(both, 1, 1); return 0; }"
		on_soft --json --grid 3 --block 5 "$object" -- env true
		expect_status 0
		expect_json '.[0].shared[0].entries | map(select(.key == 1))[0].value == 15'
		expect_json '.[0].shared[0].entries | map(select(.key == 0))[0].value >= 2'
	done
}

# What was checked is what is loaded: a pipe can be read only once.
@test "an object is read once for the GPU programs, the host programs and their maps" {
	need_probes
	application
	program "$counting"
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	cat "$object" >"$BATS_TEST_TMPDIR/pipe" &
	observe timeout 60 "$build/gputap" exec --linux --maps "$BATS_TEST_TMPDIR/pipe" -- "$app" 123
	expect_status 0
	expect_error ''
	expect_output $'7b\nshared:\ncounts (array, 4 entries at most)\n  0: 1123\n  1: 1\n  2 of 4 values are zero'
}

@test "several devices and Linux share one array, and each device has its own other maps" {
	need_probes
	application
	program "GPUTAP_ARRAY(own, unsigned long long, 1);
		GPUTAP_HASH(of_linux, unsigned int, unsigned long long, 8);
		struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 1);
			__type(key, unsigned int); __type(value, unsigned long long); } percpu SEC(\".maps\");
		struct { __uint(type, BPF_MAP_TYPE_LRU_HASH); __uint(max_entries, 8);
			__type(key, unsigned int); __type(value, unsigned long long); } recent SEC(\".maps\");
		struct { __uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH); __uint(max_entries, 8);
			__type(key, unsigned int); __type(value, unsigned long long); } each SEC(\".maps\");
		GPUTAP_SHARED_ARRAY(counts, unsigned long long, 1);
		SEC(\"uprobe/\" APP \":work\") int on_work(void *ctx) {
			unsigned int key = 3;
			unsigned long long seven = 7;
			bpf_map_update_elem(&of_linux, &key, &seven, 0);
			bpf_map_update_elem(&recent, &key, &seven, 0);
			bpf_map_update_elem(&each, &key, &seven, 0);
			ADD(percpu, 0, 1);
			ADD(counts, 0, 1);
			return 0; }
		SEC(\"gpu/run\") long run(void *memory) { ADD(own, 0, 1); ADD(counts, 0, 1); return 0; }"
	SOFTGPU_DEVICES=2 on_soft --device all --grid 4 --block 32 --json "$object" -- "$app" 5
	expect_status 0
	expect_json '[.[0].devices[] | [.maps[] | [.name, .entries[].value]]] ==
		[[["own", 128]], [["own", 128]]]'
	expect_json '[.[0].shared[] | [.name, .entries[].value]] == [["counts", 261]]'
	expect_json '.[0].linux | map({(.name): .}) | add |
		.of_linux.entries == [{key: 3, value: 7}] and .percpu.entries[0].sum == 5 and
		.recent.entries == [{key: 3, value: 7}] and
		.each.problem == "maps of type 10 cannot be shown"'
	on_soft "$object" -- "$app" 5
	expect_output_line '^Linux:$'
	expect_output_line '^  0: 5 \([0-9]+ of [0-9]+ CPUs\)$'
	expect_output_line '^each: maps of type 10 cannot be shown$'
}

@test "bpftool reads from the kernel the values that the GPU wrote" {
	need_probes
	need_command bpftool
	application
	program 'GPUTAP_SHARED_ARRAY(seen_by_bpftool, unsigned long long, 1);
		SEC("uprobe/" APP ":work") int on_work(void *ctx) { ADD(seen_by_bpftool, 0, 3); return 0; }
		SEC("gpu/run") long run(void *memory) { ADD(seen_by_bpftool, 0, 40); return 0; }'
	# shellcheck disable=SC2016 # the shell that is run reads these
	on_soft --meanwhile "$object" -- sh -c '"$app" 1
		for i in $(seq 100); do
			bpftool -j map dump name seen_by_bpftool >"$object.dump"
			grep -q "\"value\":43" "$object.dump" && exit 0
			sleep 0.1
		done
		exit 1'
	expect_status 0
	expect_output_line '^  0: 43$'
}

@test "a pinned shared map keeps its counts for the next run" {
	need_probes
	need_command unshare
	application
	program 'struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1); __uint(pinning, LIBBPF_PIN_BY_NAME);
			__type(key, unsigned int); __type(value, unsigned long long); } kept SEC(".maps");
		SEC("uprobe/" APP ":work") int on_work(void *ctx) { ADD(kept, 0, 1); return 0; }
		SEC("gpu/run") long run(void *memory) { ADD(kept, 0, 100); return 0; }'
	unshare -m mount -t bpf bpf /sys/fs/bpf || skip 'there can be no /sys/fs/bpf'
	# shellcheck disable=SC2016 # the shell that is run reads these
	observe unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf && "$@" >&2 && exec "$@"' sh \
		"$build/gputap" exec --on gpu --gpu soft --linux --maps "$object" -- "$app" 2
	expect_status 0
	expect_error_line '^  0: 102$'
	expect_output_line '^  0: 204$'
	gputap exec --maps "$object"
	expect_status 0
	expect_output_line '^  0: 100$'
}

@test "a GPU program that polls sees the writes of Linux meanwhile" {
	need_probes
	need_command bpftool
	application
	program 'GPUTAP_SHARED_ARRAY(flag_and_start, unsigned long long, 2);
		SEC("uprobe/" APP ":work") int on_work(void *ctx) { ADD(flag_and_start, 0, 1); return 0; }
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			volatile unsigned long long *value = bpf_map_lookup_elem(&flag_and_start, &key);
			if (!value || (!bpf_flat_thread_id() && *value))
				return 0;
			if (!bpf_flat_thread_id())
				ADD(flag_and_start, 1, 77);
			for (unsigned int i = 0; i < 20000; i++)
				if (*value)
					return 1;
			return 2; }'
	# shellcheck disable=SC2016 # the shell that is run reads these
	on_soft --meanwhile --grid 4000 --all "$object" -- sh -c 'for i in $(seq 100); do
			bpftool -j map dump name flag_and_start >"$object.dump"
			grep -q "\"value\":77" "$object.dump" && exec "$app" 1
			sleep 0.1
		done
		exit 1'
	expect_status 0
	expect_output_line '^0: [12]$' # it was there before the flag
	expect_output_line '^3999: 1$'
}

@test "simultaneous additions of both sides to one value are not lost" {
	need_probes
	application
	program 'GPUTAP_SHARED_ARRAY(both, unsigned long long, 1);
		GPUTAP_SHARED_ARRAY(last, unsigned long long, 1);
		GPUTAP_ARRAY(gpu, unsigned long long, 1);
		unsigned long long calls;
		SEC("uprobe/" APP ":work") int on_work(void *ctx) {
			ADD(both, 0, 1);
			if (__sync_fetch_and_add(&calls, 1) == 19999)
				ADD(last, 0, 1);
			return 0; }
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			unsigned long long *value = bpf_map_lookup_elem(&both, &key);
			volatile unsigned long long *end = bpf_map_lookup_elem(&last, &key);
			unsigned long long added = 0;
			if (!value || !end)
				return 0;
			for (unsigned int i = 0; i < 5000 && !*end; i++, added++)
				__sync_fetch_and_add(value, 1);
			bpf_map_add(&gpu, &key, added);
			return 0; }'
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec $engine --linux --meanwhile --maps --grid 64 --block 64 --json "$object" \
			-- "$app" 20000
		expect_status 0
		expect_json '.[0] | (.linux[] | select(.name == "program.bss").entries[0].value.calls) == 20000'
		expect_json '.[0] | (.shared[] | select(.name == "both").entries[0].value) ==
			20000 + (.devices[0].maps[] | select(.name == "gpu").entries[0].value)'
		expect_json '.[0].devices[0].maps[] | select(.name == "gpu").entries[0].value > 4096'
	done
}

@test "global variables that both sides use are shared, with their initial values; others are not" {
	need_probes
	application
	program 'unsigned long long both = 50;
		unsigned int padding = 0xabcd;
		unsigned long long alone SEC(".data.gpu") = 7;
		const volatile unsigned long long step = 10;
		SEC("uprobe/" APP ":work") int on_work(void *ctx) {
			__sync_fetch_and_add(&both, step + (padding == 0xabcd)); return 0; }
		SEC("gpu/run") long run(void *memory) {
			__sync_fetch_and_add(&alone, 1);
			return __sync_fetch_and_add(&both, step * 10) * 2 + (padding == 0xabcd); }'
	on_soft --json "$object" -- "$app" 3
	expect_status 0
	expect_json '.[0].devices[0].r0 == "0xa7"' # 2 * (50 + 33) + 1
	expect_json '[.[0].devices[0].maps[] | [.name, .entries[0].value]] == [[".data.gpu", {alone: 8}]]'
	expect_json '[.[0].shared[] | [.name, .entries[0].value]] ==
		[["program.data", {both: 183, padding: 43981}]]'
	expect_json '.[0].linux == []'
}

@test "map types of bpftime become the kernel's types where these exist" {
	need_probes
	application
	program 'GPUTAP_MAP(shared, GPUTAP_MAP_HOST_ARRAY, unsigned int, unsigned long long, 2);
		GPUTAP_MAP(pinned, GPUTAP_MAP_HOST_GPU_ARRAY, unsigned int, unsigned long long, 2);
		GPUTAP_MAP(hash, GPUTAP_MAP_GPU_HASH, unsigned int, unsigned long long, 2);
		SEC("uprobe/" APP ":work") int on_work(void *ctx) {
			unsigned int key = 9;
			unsigned long long one = 1;
			ADD(shared, 0, 1); ADD(pinned, 1, 1);
			bpf_map_update_elem(&hash, &key, &one, 0);
			return 0; }
		SEC("gpu/run") long run(void *memory) { ADD(shared, 0, 4); ADD(pinned, 1, 5); return 0; }'
	on_soft --json "$object" -- "$app" 2
	expect_status 0
	expect_json '[.[0].shared[] | [.name, .entries[]]] ==
		[["shared", {key: 0, value: 6}], ["pinned", {key: 1, value: 7}]]'
	expect_json '.[0].linux[0].entries == [{key: 9, value: 1}]'
}

@test "a tracepoint program counts for the GPU, or reports that tracefs is not mounted" {
	need_probes
	need_command unshare
	application
	program 'GPUTAP_SHARED_ARRAY(counts, unsigned long long, 1);
		SEC("tracepoint/sched/sched_process_exec") int on_exec(void *ctx) {
			char name[16];
			bpf_get_current_comm(name, sizeof(name));
			if (name[0] == 0x61 && name[1] == 0x70 && name[2] == 0x70 && !name[3])
				ADD(counts, 0, 1);
			return 0; }
		SEC("gpu/run") long run(void *memory) { ADD(counts, 0, 10); return 0; }'
	local mounted=$(ls -d /sys/kernel/tracing/events /sys/kernel/debug/tracing/events 2>/dev/null)
	if [ -z "$mounted" ]; then
		on_soft "$object" -- "$app" 1
		expect_status 1
		expect_error_line 'on_exec: cannot attach this host program \(tracepoint/sched/sched_process_exec\): .*; tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing, or use raw_tp/NAME$'
		unshare -m mount -t tracefs tracefs /sys/kernel/tracing || skip 'tracefs cannot be mounted'
	fi
	# shellcheck disable=SC2016 # the shell that is run reads these
	MOUNTED=$mounted observe unshare -m sh -c '[ "$MOUNTED" ] || mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"' sh \
		"$build/gputap" exec --on gpu --gpu soft --linux --maps "$object" -- "$app" 1
	expect_status 0
	expect_output_line '^  0: 11$'
}

@test "maps that Linux and GPUs cannot share are rejected, with an alternative" {
	local rows=(
		"GPUTAP_SM_ARRAY(map, unsigned long long, 4)|in Linux it has a value for each CPU"
		"GPUTAP_THREAD_ARRAY(map, unsigned long long, 4)|Linux has no threads of a grid"
	)
	for row in "${rows[@]}"; do
		program "${row%%|*};
			SEC(\"raw_tp/sched_process_exec\") int on_exec(void *ctx) { ADD(map, 0, 1); return 0; }
			SEC(\"gpu/run\") long run(void *memory) { ADD(map, 0, 1); return 0; }"
		on_soft "$object"
		expect_status 1
		expect_output ''
		expect_error "gputap: map: GPU programs and host programs use this map, and ${row#*|}: make it an array, or use one map for each side"
		gputap exec "$object"
		expect_status 0
	done
	program 'GPUTAP_RING(ring, 4096);
		static void write(void) { unsigned long long one = 1; bpf_ringbuf_output(&ring, &one, 8, 0); }
		SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) { write(); return 0; }
		SEC("gpu/run") long run(void *memory) { write(); return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error_line 'use this map, and a ring takes records from one side only: make it'
	program 'GPUTAP_MAP(map, GPUTAP_MAP_HOST_HASH, unsigned int, unsigned long long, 4);
		static void find(void) { unsigned int key = 0; bpf_map_lookup_elem(&map, &key); }
		SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) { find(); return 0; }
		SEC("gpu/run") long run(void *memory) { find(); return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error_line 'use this map, and in Linux it has a value for each CPU: make it'
}

@test "a hash that Linux and a GPU program use is the kernel's, on the interpreter and on GPUs" {
	need_probes
	application
	program 'GPUTAP_HASH(both, unsigned int, unsigned long long, 64);
		SEC("uprobe/" APP ":work") int on_work(void *ctx) {
			unsigned int key = 5; unsigned long long value = 70;
			bpf_map_update_elem(&both, &key, &value, 0); return 0; }
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 5; unsigned long long *value = bpf_map_lookup_elem(&both, &key);
			unsigned long long next = value ? *value + 1 : 0;
			key = 6; bpf_map_update_elem(&both, &key, &next, 0);
			key = 7; return bpf_map_delete_elem(&both, &key); }'
	for on in interp gpu; do
		gputap exec --on "$on" --gpu soft --linux --maps --json "$object" -- "$app" 1
		expect_status 0
		expect_json '.[0] | .devices[0].r0 == "0xfffffffffffffffe" and .devices[0].maps == [] and (.linux[0] |
			.name == "both" and (.entries | map([.key, .value]) | sort) == [[5, 70], [6, 71]])'
	done
}

@test "a map type that Linux does not have is rejected in host programs" {
	program 'GPUTAP_THREAD_ARRAY(map, unsigned long long, 4);
		SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) { ADD(map, 0, 1); return 0; }
		SEC("gpu/run") long run(void *memory) { return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error 'gputap: map: a host program uses this map, and Linux has no maps of type 1502 gpu_thread_array'
}

@test "--linux is rejected for an object without host programs" {
	program 'SEC("?uprobe/" APP ":work") int left_out(void *ctx) { return 0; }
		SEC("gpu/run") long run(void *memory) { return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error "gputap: $object: no host programs, such as of uprobe/… or tracepoint/…"
}

@test "missing privileges for host programs are reported" {
	need_root
	need_command setpriv
	program "$counting"
	observe setpriv --bounding-set=-all --inh-caps=-all "$build/gputap" exec --linux "$object"
	expect_status 1
	expect_error 'gputap: no privilege to load BPF programs: run as root (sudo), or give gputap CAP_BPF and CAP_PERFMON'
}

@test "the reason of the kernel's verifier for rejecting a host program is printed" {
	need_probes
	program 'GPUTAP_SHARED_ARRAY(map, unsigned long long, 4);
		SEC("raw_tp/sched_process_exec") int on_exec(void *ctx) {
			unsigned int key = bpf_get_prandom_u32();
			return *(volatile unsigned long long *)bpf_map_lookup_elem(&map, &key); }
		SEC("gpu/run") long run(void *memory) { return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error "gputap: $object: the kernel rejects its host programs: R0 invalid mem access 'map_value_or_null'"
}

@test "nothing runs if a host program cannot be attached, and the reason is printed" {
	need_probes
	program 'SEC("uprobe//nowhere/app:work") int on_work(void *ctx) { return 0; }
		SEC("gpu/run") long run(void *memory) { bpf_printk("ran"); return 0; }'
	on_soft "$object" -- sh -c 'echo ran'
	expect_status 1
	expect_output ''
	expect_error 'gputap: on_work: cannot attach this host program (uprobe//nowhere/app:work): No such file or directory'
	program 'SEC("uprobe") int on_work(void *ctx) { return 0; }
		SEC("gpu/run") long run(void *memory) { return 0; }'
	on_soft "$object"
	expect_status 1
	expect_error_line '^gputap: on_work: cannot attach this host program \(uprobe\): .*; name the target in its section, as uprobe/PATH:FUNCTION or raw_tp/NAME, or exclude the program with SEC\("\?…"\)$'
}

@test "the status is that of a command that fails, and the results are shown" {
	need_probes
	application
	program "$counting"
	on_soft "$object" -- "$app" 2 5
	expect_status 5
	expect_output_line '^  0: 1002$'
	expect_error "gputap: $app ended with status 5"
	on_soft "$object" -- "$BATS_TEST_TMPDIR/nowhere"
	expect_status 127
	expect_output ''
	# shellcheck disable=SC2016 # the shell that is run reads these
	on_soft "$object" -- sh -c 'trap : INT; kill -INT $PPID; "$app" 4'
	expect_status 0
	expect_output_line '^  0: 1004$'
}

@test "options that exclude --linux are rejected" {
	program "$counting"
	gputap exec "$object" -- ls
	expect_status 2
	expect_error "gputap: a command needs --linux (try 'gputap exec --help')"
	gputap exec --linux "$object" --
	expect_error "gputap: no command after -- (try 'gputap exec --help')"
	gputap exec --linux --meanwhile "$object"
	expect_error "gputap: --meanwhile needs a command: -- CMD (try 'gputap exec --help')"
	gputap exec --linux --as gpu/run "$object"
	expect_error "gputap: --linux and --as exclude each other: with --as there are no host programs (try 'gputap exec --help')"
	gputap exec --linux --raw
	expect_error "gputap: --raw reads one program: --linux needs FILE (try 'gputap exec --help')"
	gputap exec "$object" other
	expect_error "gputap: only one FILE can be given, not also 'other' (try 'gputap exec --help')"
}
