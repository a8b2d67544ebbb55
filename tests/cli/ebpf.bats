# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# verify and exec: eBPF programs, and why they are rejected. Needs no privileges and no GPU.

load helper

# object SOURCE FLAGS…: compiles eBPF, with the declarations that every program here needs.
object() {
	local source=$1
	shift
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#define SEC(name) __attribute__((section(name), used))
		static void *(*lookup)(void *, const void *) = (void *)1;
		struct { int (*type)[2]; int (*key_size)[4]; int (*value_size)[8];
			int (*max_entries)[4]; } counts SEC(".maps");
		$source
		char _license[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf "$@" -c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

# program SOURCE: compiles eBPF that includes <gputap/bpf.h>.
program() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -Wall -Werror -target bpf -I"$root/include" \
		-c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

# run_hex HEX ARGUMENTS…: passes the program to exec --raw.
run_hex() {
	local hex=$1
	shift
	printf '%s' "$hex" >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw "$@" <"$BATS_TEST_TMPDIR/hex"
}

@test "exec --raw prints the final r0" {
	run_hex 'b7000000 2a000000 95000000 00000000'
	expect_status 0
	expect_output 2a
	run_hex b700000ffffffff9500000000000000
	expect_status 2
	run_hex b7000000ffffffff9500000000000000
	expect_output ffffffffffffffff
}

@test "exec --raw passes the memory of its command line to the program" {
	run_hex '61100000000000009500000000000000' --on interp aabbccdd
	expect_status 0
	expect_output ddccbbaa
}

@test "exec --raw reports why a program is rejected, with the registers" {
	run_hex '61100000000000009500000000000000' aabbcc
	expect_status 1
	expect_output ''
	[ "$(head -1 <<<"$stderr")" = 'gputap: insn 0: invalid access to memory, mem_size=3 off=0 size=4; R1 min value is outside of the allowed memory range' ]
	[ "$(tail -1 <<<"$stderr")" = '  R1=mem R2=3 R10=fp0' ]
}

@test "verify accepts an object whose program is safe" {
	object 'SEC("gpu/exit/*") int count(void *ctx) {
		unsigned key = 1; unsigned long *c = lookup(&counts, &key);
		if (c) __sync_fetch_and_add(c, 1);
		return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^count \(gpu/exit/\*\): safe; '
}

@test "verify reports the line, the instruction and the registers of an unsafe access" {
	object 'SEC("gpu/exit/*") int count(void *ctx) {
		unsigned key = 1; unsigned long *c = lookup(&counts, &key);
		*c = 5;
		return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "program.c:7: R0 invalid mem access 'map_value_or_null'$"
	expect_output_line '^  ; \*c = 5;$'
	expect_output_line '^  R0=map_value_or_null '
}

@test "verify rejects CO-RE in a GPU program" {
	object 'struct task { int pid; } __attribute__((preserve_access_index));
		SEC("gpu/exit/*") int count(struct task *ctx) { return ctx->pid; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'program.c:6: it has CO-RE relocations, which describe types of the Linux kernel: '
	expect_output_line '^  [0-9]+: \(61\) r0 = \*\(u32 \*\)\(r1 \+0\)$'
}

# A pipe can be read once: a second reader would find nothing in it, or wait forever.
@test "verify reads an object once, with its source lines" {
	local expected
	object 'SEC("gpu/exit/*") int count(void *ctx) {
		unsigned key = 1; unsigned long *c = lookup(&counts, &key);
		*c = 5;
		return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_output_line "program.c:7: R0 invalid mem access 'map_value_or_null'$"
	expected=$output
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	cat "$BATS_TEST_TMPDIR/program.o" >"$BATS_TEST_TMPDIR/pipe" &
	observe timeout 60 "$build/gputap" verify "$BATS_TEST_TMPDIR/pipe"
	expect_status 1
	expect_output "$expected"
}

@test "verify rejects a file that is not an object, with status 2" {
	printf 'no ELF' >"$BATS_TEST_TMPDIR/program.o"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	[[ $stderr == *'not an eBPF object, or malformed'* ]]
}

@test "every example program compiles without a warning and is safe" {
	local source

	for source in "$root"/tests/data/ebpf/programs/*.bpf.c; do
		clang -g -O2 -Wall -Wextra -Wno-unused-parameter -Werror -target bpf \
			-I"$root/include" -c "$source" -o "$BATS_TEST_TMPDIR/program.o"
		gputap verify "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
	done
}

@test "the header works after bpf_helpers.h of libbpf" {
	[ -e /usr/include/bpf/bpf_helpers.h ] || skip "no <bpf/bpf_helpers.h> here"
	cat >"$BATS_TEST_TMPDIR/program.c" <<-'END'
		typedef unsigned char __u8; typedef unsigned short __u16; typedef short __s16;
		typedef unsigned int __u32; typedef int __s32;
		typedef unsigned long long __u64; typedef long long __s64;
		typedef __u16 __be16; typedef __u32 __be32; typedef __u32 __wsum;
		#include <bpf/bpf_helpers.h>
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(sizes, __u64, 64);
		SEC("gpu/load") int count(struct gputap_memory *ctx)
		{ __u32 key = ctx->width & 63; bpf_map_add(&sizes, &key, 1);
		  __u64 *v = bpf_map_lookup_elem(&sizes, &key); return v && *v; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -Wall -target bpf -I"$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
}

@test "verify reports section, level, maps, divergence and serialised operations" {
	program 'GPUTAP_ARRAY(sizes, unsigned long long, 64);
		SEC("gpu/load/gemm*") int count(struct gputap_memory *ctx) {
			unsigned int key = ctx->lane;
			unsigned long long *v = bpf_map_lookup_elem(&sizes, &key);
			if (v) __sync_fetch_and_add(v, 1);
			return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^count \(gpu/load/gemm\*\): safe; [0-9]+ instructions, at most [0-9]+ executed, [0-9]+ visited$'
	expect_output_line '^  gpu/load, once per thread; maps: sizes$'
	expect_output_line '^  lanes may have different keys at .*program.c:5 \(insn 6\)$'
	expect_output_line '^  lanes may diverge at .*program.c:6 \(insn 7\)$'
	expect_output_line "^  warning: .*program.c:6 \(insn 9\): the lanes of a warp do this atomic operation on different values of map 'sizes': lanes with the same value are serialized$"
}

@test "verify --json has the contents of the text for each program" {
	program 'GPUTAP_HASH(seen, unsigned int, unsigned long long, 64);
		SEC("gpu/load.warp/gemm*") int count(struct gputap_memory *ctx) {
			unsigned int key = ctx->site;
			return bpf_map_add(&seen, &key, 1); }
		SEC("gpu/exit/*") int wait(void *ctx) { return bpf_warp_sum(1); }
		SEC("tracepoint/sched/sched_switch") int host(void *ctx) { return 0; }'
	gputap verify --json "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	jq -e '.[0] | .program == "count" and .section == "gpu/load.warp/gemm*" and
		.kind == "load" and .level == "warp" and .pattern == "gemm*" and .safe and
		.bound > 5 and .bound < 12 and .maps == ["seen"] and .warnings == [] and
		.divergent_branches == [] and .varying_keys == []' <<<"$output"
	jq -e '.[1] | .program == "wait" and (.safe | not) and .line == 6 and .reason ==
		"warp_sum#523 waits for other lanes: not allowed at gpu/exit, where some have exited"' <<<"$output"
	jq -e '.[2] == {"program": "host", "section": "tracepoint/sched/sched_switch",
		"kind": "linux"}' <<<"$output"
}

@test "verify reports lines in functions, and in programs that share a section" {
	program 'GPUTAP_HASH(seen, unsigned int, unsigned long long, 64);
		static __attribute__((noinline)) long get(unsigned int key) {
			unsigned long long *v = bpf_map_lookup_elem(&seen, &key);
			return *v; }
		SEC("gpu/load") int one(struct gputap_memory *ctx) { return 0; }
		SEC("gpu/load") int two(struct gputap_memory *ctx) { return get(ctx->width); }
		SEC("gpu/load") int three(struct gputap_memory *ctx) {
			return *(volatile int *)((char *)ctx + 2); }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^one \(gpu/load\): safe; '
	expect_output_line "^two \(gpu/load\): rejected: .*/program.c:5: R0 invalid mem access 'map_value_or_null'\$"
	expect_output_line '^  ; return \*v; }$'
	expect_output_line "^three \(gpu/load\): rejected: .*/program.c:9: invalid bpf_context access off=2 size=4: it is not within one field: it overlaps 'thread_x', 'thread_y'\$"
}

@test "verify lists host programs, and does not check their maps" {
	program 'GPUTAP_MAP(stacks, 7, unsigned int, unsigned long long, 64);
		GPUTAP_ARRAY(both, unsigned long long, 1);
		SEC("uprobe/libcudart.so:cudaMalloc") int host(void *ctx) {
			unsigned int key = 0;
			return (long)bpf_map_lookup_elem(&stacks, &key) &&
			       bpf_map_lookup_elem(&both, &key); }
		SEC("kprobe/do_unlinkat") int other(void *ctx) { return 0; }
		SEC("kprobe/_Z1av") int gpu(void *ctx) {
			unsigned int key = 0; bpf_map_add(&both, &key, 1); return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^host \(uprobe/libcudart.so:cudaMalloc\): host program, verified by the kernel$'
	expect_output_line '^other \(kprobe/do_unlinkat\): host program, verified by the kernel$'
	expect_output_line '^gpu \(kprobe/_Z1av\): safe; '
	gputap exec --maps "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^both '
	! grep -q stacks <<<"$output"
}

@test "verify rejects GPU programs that use map types which GPUs do not have" {
	program 'GPUTAP_MAP(stacks, 7, unsigned int, unsigned long long, 64);
		SEC("gpu/load") int gpu(void *ctx) {
			unsigned int key = 0; return (long)bpf_map_lookup_elem(&stacks, &key); }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "program.c:4: map 'stacks': GPUs have no maps of type 7; they have 1 2 4 5 6 9 10 11 27 1501 1502 1503 1504 1512 1513 1527 1540 \(enum gputap_map_type\)$"
}

@test "verify rejects GPU sections that do not exist" {
	program 'SEC("gpu/entri/x") int gpu(void *ctx) { return 0; }
		SEC("gpu/load.block") int block(void *ctx) { return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^gpu \(gpu/entri/x\): rejected: unknown GPU section, did you mean gpu/entry\? \(one of: gpu/entry, '
	expect_output_line '^block \(gpu/load.block\): rejected: gpu/load cannot run once per block$'
}

@test "verify keeps the limits of --max-insns, --max-size and --mem-size" {
	program 'SEC("gpu/run") long sum(unsigned char *memory, unsigned long size) {
			long sum = 0;
			for (int i = 0; i < 8; i++) sum += ((volatile unsigned char *)memory)[i];
			return sum; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	gputap verify --mem-size 7 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'invalid access to memory, mem_size=7 off=7 size=1; R1 min value is outside of the allowed memory range$'
	gputap verify --mem-size 8 "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line ': safe; '
	gputap verify --mem-size 8 --max-insns 9 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^sum \(gpu/run\): rejected: the program may execute [0-9]+ instructions, the maximum is 9$'
	gputap verify --mem-size 8 --max-size 9 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^sum \(gpu/run\): rejected: the program has [0-9]+ instructions, the maximum is 9$'
}

@test "verify suggests what to do about unsupported, too large and indirectly called code" {
	program 'static long (*probe_read)(void *, unsigned int, const void *) = (void *)4;
		SEC("gpu/run") long helper(void *m) { long x; return probe_read(&x, 8, 0); }
		SEC("gpu/run") long loop(void *m) {
			for (unsigned long long i = 0; i < 1ull << 40; i++)
				if (bpf_get_prandom_u32() == 7) return 1;
			return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^helper \(gpu/run\): rejected: .*program.c:3: program of this type cannot use helper bpf_probe_read#4: it is not available on the GPU \(see gputap/bpf.h\)$'
	expect_output_line '^loop \(gpu/run\): rejected: .*program.c:[56]: BPF program is too large. Processed 1000001 insn$'
	# callx r1; exit
	run_hex '8d010000000000009500000000000000'
	expect_status 1
	expect_error_line '^gputap: insn 0: unknown opcode 8d: a call through a pointer, which -O2 makes a direct one$'
}

@test "verify reports line and instruction of a rejection that holds on all paths" {
	program 'SEC("gpu/run") long run(void *memory) {
			if (bpf_flat_thread_id() == 3)
				return bpf_warp_ballot(1);
			return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'program.c:4: warp_ballot#521 requires the lanes of the warp to be converged: they may diverge at insn [0-9]+ '
	expect_output_line '^  ; return bpf_warp_ballot\(1\);$'
	expect_output_line '^  [0-9]+: \(85\) call '
	gputap verify --json "$BATS_TEST_TMPDIR/program.o"
	jq -e '.[0] | .line == 4 and (.instruction | type == "number") and (has("registers") | not)' <<<"$output"
	gputap compile -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error_line '^  ; return bpf_warp_ballot\(1\);$'
	expect_error_line "^  'gputap verify --log' shows each step$"
}

@test "verify rejects helpers that change a kernel without --allow-control" {
	program 'SEC("gpu/load") int gpu(void *ctx) { return bpf_exit(); }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'exit#507 changes the execution of the kernel: it requires --allow-control$'
	gputap verify --allow-control "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
}

@test "no thread is ended while it holds a record" {
	program 'GPUTAP_RING(ring, 4096);
		SEC("gpu/run") int gpu(void *memory)
		{
			unsigned long long *record = bpf_ringbuf_reserve(&ring, 8, 0);

			if (!record)
				return 1;
			*record = 3;
			if (bpf_get_lane_id() > 3)
				bpf_exit();
			bpf_ringbuf_submit(record, 0);
			return 2;
		}'
	gputap verify --allow-control "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'Unreleased reference id=[0-9]+ alloc_insn=[0-9]+; exit#507 would lead to reference leak$'
}

@test "verify rejects CO-RE in functions that GPU programs call" {
	object 'struct task { int pid; } __attribute__((preserve_access_index));
		static __attribute__((noinline)) int get(struct task *t) { return t->pid; }
		SEC("uprobe/a:b") int host(struct task *ctx) { return get(ctx); }
		SEC("gpu/exit/*") int count(struct task *ctx) { return get(ctx); }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'program.c:6: it has CO-RE relocations, which describe types of the Linux kernel: '
}

@test "verify of an object with only host programs lists them, with status 1" {
	program 'SEC("uprobe/a:b") int host(void *ctx) { return 0; }
		SEC("gqu/load") int misspelt(void *ctx) { return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output $'host (uprobe/a:b): host program, verified by the kernel\nmisspelt (gqu/load): host program, verified by the kernel'
	[[ $stderr == *"program.o: no GPU programs: their sections begin with 'gpu/', or name kernels by kprobe/_Z…; --as verifies other programs as such" ]]
	gputap verify --json "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	jq -e 'length == 2 and all(.kind == "linux")' <<<"$output"
}

@test "verify of maps without BTF suggests -g" {
	printf '#include <gputap/bpf.h>\nGPUTAP_ARRAY(one, int, 1);' >"$BATS_TEST_TMPDIR/program.c"
	clang -O2 -target bpf -I"$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	[[ $stderr == *'program.o: its maps have no BTF: compile it with -g' ]]
}

@test "a checksum with a branch for each bit is accepted by lazy precision tracking" {
	program 'SEC("gpu/run") int gpu(unsigned char *memory)
		{
			unsigned int sum = ~0u;

			for (int i = 0; i < 64; i++) {
				sum ^= memory[i];
				for (int bit = 0; bit < 8; bit++)
					sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
			}
			return ~sum;
		}'
	gputap verify --mem-size 64 "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	# The log has more than a million lines: Bash does not read them.
	"$build/gputap" verify --mem-size 64 --log "$BATS_TEST_TMPDIR/program.o" |
		grep -qx '; too many paths: again with lazy precision'
	memory=$(printf '%02x' {1..64})
	sum=$(printf '%b' "$(printf '\\x%02x' {1..64})" | gzip -c | tail -c 8 | od -An -tx4 -N4 | tr -d ' 0' )
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec $engine --mem "$memory" "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
		[ "${output//0/}" = "$sum" ]
	done
}
