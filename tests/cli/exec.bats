# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# exec: standalone eBPF programs on the interpreter and on the software GPU. Needs no
# privileges and no GPU.

load helper

# object SOURCE: compiles eBPF, with the declarations that every program here needs.
object() {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#define SEC(name) __attribute__((section(name), used))
		static void *(*lookup)(void *, const void *) = (void *)1;
		static long (*printk)(const char *, unsigned, ...) = (void *)6;
		static unsigned long (*thread)(void) = (void *)527;
		struct { int (*type)[2]; int (*key_size)[4]; int (*value_size)[8];
			int (*max_entries)[4]; } counts SEC(".maps");
		$1
		char _license[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

counting='SEC("gpu/run") unsigned long run(unsigned char *memory, unsigned long size) {
	unsigned key = thread() & 3; unsigned long *c = lookup(&counts, &key);
	if (c) __sync_fetch_and_add(c, 1);
	if (size == 4) memory[thread() & 3] = thread();
	return thread() * 16; }'

# run_hex HEX ARGUMENTS…: passes the program to exec --raw.
run_hex() {
	local hex=$1
	shift
	printf '%s' "$hex" >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw "$@" <"$BATS_TEST_TMPDIR/hex"
}

# on_both ARGUMENTS…: runs exec on the interpreter, then on the software GPU; the results must be equal.
on_both() {
	gputap exec "$@"
	expect_status 0
	local first=$output
	gputap exec --on gpu --gpu soft "$@"
	expect_status 0
	[ "$output" = "$first" ]
}

@test "exec --raw --on gpu prints what the interpreter prints" {
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		run_hex '61100000000000009500000000000000' $engine aabbccdd
		expect_status 0
		expect_output ddccbbaa
	done
}

@test "exec --raw --on gpu rejects a program that the verifier rejects, before it opens a GPU" {
	run_hex '61100000000000009500000000000000' --on gpu --gpu nvidia aabbcc
	expect_status 1
	expect_output ''
	[ "$(head -1 <<<"$stderr")" = 'gputap: insn 0: invalid access to memory, mem_size=3 off=0 size=4; R1 min value is outside of the allowed memory range' ]
}

@test "exec without an NVIDIA driver reports that the software GPU runs the program" {
	[ ! -e /dev/nvidiactl ] || skip 'there is an NVIDIA driver'
	run_hex 'b7000000070000009500000000000000' --on gpu
	expect_status 0
	expect_output 7
	[ "$stderr" = 'gputap: no NVIDIA driver here: the software GPU runs the program' ]
}

@test "exec --gpu nvidia fails without a driver" {
	[ ! -e /dev/nvidiactl ] || skip 'there is an NVIDIA driver'
	run_hex 'b7000000070000009500000000000000' --on gpu --gpu nvidia
	expect_status 1
	[[ $stderr == 'gputap: cannot load the driver library: libcuda.so.1'*"; load the driver ('nvidia-smi' shows whether it works), or use --gpu soft" ]]
}

@test "exec runs the program of an object on a grid, with its memory and maps" {
	object "$counting"
	on_both --grid 2 --block 4 --mem 00000000 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^0: 0$'
	expect_output_line '^7: 70$'
	expect_output_line '^counts \(array, 4 entries at most\)$'
	expect_output_line '^  3: 2$'
}

@test "exec prints r0 of the first thread, and the memory with --show-memory" {
	object "$counting"
	on_both --block 4 --mem 09090909 --show-memory "$BATS_TEST_TMPDIR/program.o"
	expect_output $'0\nmemory: 00010203'
}

@test "exec --json has results, memory, output and maps" {
	object "$counting"
	gputap exec --on gpu --gpu soft --json --all --maps --show-memory --block 2 --mem 05060708 \
		"$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	[ "$(jq -c '[.program, .on, (.devices[] | .number, .name, .r0, .results, .memory, .output,
		.output_lost)]' <<<"$output")" = \
		'["run","gpu",0,"gputap software GPU","0x0",["0x0","0x10"],"00010708","",0]' ]
	[ "$(jq -c '[.devices[].maps[0].entries[].value]' <<<"$output")" = '[1,1]' ]
	[ "$(jq -c .shared <<<"$output")" = '[]' ]
}

@test "exec shows the output of the program on standard error" {
	object 'SEC("gpu/run") int run(void *ctx) {
		char format[] = "thread %d says 0x%x\n";
		printk(format, sizeof(format), thread(), 0xbeef); return 0; }'
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec $engine "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
		expect_output 0
		[ "$stderr" = 'thread 0 says 0xbeef' ]
	done
}

@test "exec ends each printed text with a newline" {
	program 'SEC("gpu/run") long run(void *memory) {
		bpf_printk("block %d", (int)bpf_flat_block_id());
		bpf_puts("and on");
		bpf_printk("sum %d\n", 10); return 0; }'
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec $engine --grid 2 "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
		[ "$(sort <<<"$stderr")" = $'and on\nand on\nblock 0\nblock 1\nsum 10\nsum 10' ]
	done
}

@test "exec needs --prog if there are several programs" {
	object 'SEC("gpu/run") int one(void *ctx) { return 1; }
		SEC("gpu/run") int two(void *ctx) { return 2; }'
	gputap exec "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[[ $stderr == *'program.o: 2 GPU programs: choose one, such as --prog one' ]]
	gputap exec --prog two "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output 2
	gputap exec --prog three "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[[ $stderr == *"program.o: no GPU program 'three'" ]]
}

@test "exec runs programs with a context, whose fields describe the thread" {
	object 'struct context { unsigned thread_x; };
		SEC("gpu/entry/*") int where(struct context *ctx) { return ctx->thread_x; }'
	on_both --block 3 --all "$BATS_TEST_TMPDIR/program.o"
	expect_output $'0: 0\n1: 1\n2: 2'
	gputap exec --mem 00 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error 'gputap: only programs of gpu/run have memory, not those of gpu/entry/*'
}

@test "exec gives up on a GPU that takes too long" {
	object 'SEC("gpu/run") unsigned long run(void *ctx) {
		unsigned long sum = 0;
		for (unsigned i = 0; i < 40000; i++) sum = sum * 31 + (i ^ sum);
		return sum; }'
	gputap exec --on gpu --gpu soft --grid 1000 --block 1024 --time-limit 200ms \
		"$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output ''
	[ "$stderr" = 'gputap: the program did not end within 200 ms' ]
}

@test "exec rejects invalid grid and block sizes" {
	object "$counting"
	for size in 0 x 1x 4x0 1x2x3x4 -1; do
		gputap exec --grid="$size" "$BATS_TEST_TMPDIR/program.o"
		expect_status 2
		[[ $stderr == "gputap: invalid value '$size' for --grid (such as 4, 4x2 or 4x2x1)"* ]]
	done
	gputap exec --block 1025 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[ "$stderr" = 'gputap: a block of 1025x1x1 is too large: at most 1024 threads' ]
	gputap exec --grid 65536 --block 512 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[ "$stderr" = 'gputap: 33554432 threads are too many: at most 16777216' ]
}

@test "exec rejects grids and blocks that are too large for GPUs, on both engines" {
	object "$counting"
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		for size in 1x65536 1x1x65536; do
			gputap exec $engine --grid "$size" "$BATS_TEST_TMPDIR/program.o"
			expect_status 1
			[[ $stderr == 'gputap: a grid of 1x'*' is too large: at most 65535 blocks along '[yz] ]]
		done
		# shellcheck disable=SC2086
		gputap exec $engine --block 1x1x65 "$BATS_TEST_TMPDIR/program.o"
		expect_status 1
		[ "$stderr" = 'gputap: a block of 1x1x65 is too large: at most 64 threads along z' ]
		# shellcheck disable=SC2086
		gputap exec $engine --block 2x2x64 "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
	done
}

@test "exec creates and shows only the maps that the program uses" {
	object "$counting
		struct { int (*type)[2]; int (*key_size)[4]; int (*value_size)[1048576];
			int (*max_entries)[2147483647]; } huge SEC(\".maps\");
		SEC(\"gpu/run\") int other(void *memory) {
			unsigned key = 1; return !lookup(&huge, &key); }"
	on_both --prog run --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^counts \(array, 4 entries at most\)$'
	[[ $output != *huge* ]]
	gputap exec --prog other "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[[ $stderr == 'gputap: huge: cannot allocate 1 copy of this map: out of memory' ]]
}

@test "exec rejects a device that does not exist" {
	run_hex 'b7000000070000009500000000000000' --on gpu --gpu soft --device 7
	expect_status 1
	[ "$stderr" = 'gputap: no device 7: the driver has 1' ]
}

# program SOURCE: compiles eBPF that includes <gputap/bpf.h>.
program() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I"$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

@test "exec reports where a program is rejected, and the option that shows more" {
	program 'GPUTAP_SM_ARRAY(per, unsigned long long, 4);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			unsigned long long *value = bpf_map_lookup_elem(&per, &key);
			if (value)
				*value += 1;
			return 0; }'
	gputap exec "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error_line "program.c:7: R1 comes from map 'per' and is stored back to it"
	expect_error_line '^  ; \*value \+= 1;$'
	expect_error_line '^  [0-9]+: \(7b\) \*\(u64 \*\)\(r0 \+0\) = r1$'
	[ "$(tail -1 <<<"$stderr")" = "  'gputap verify --log' shows each step" ]
}

@test "exec shows the size of rings, their records as numbers, and no constants" {
	program 'GPUTAP_RING(ring, 1000);
		SEC("gpu/run") long run(void *memory) {
			unsigned long long number = 7;
			bpf_printk("a");
			bpf_ringbuf_output(&ring, &number, 8, 0);
			return 0; }'
	gputap exec --maps "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output $'0\nring (ringbuf, 4096 bytes)\n  7'
	gputap exec --maps --json "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	[ "$(jq -c '[.devices[].maps[] | [.name, .max_entries, .entries]]' <<<"$output")" = '[["ring",4096,[7]]]' ]
}

@test "exec runs programs once per warp or block by their level" {
	program 'GPUTAP_ARRAY(hits, unsigned long long, 4);
		SEC("gpu/entry.warp/*") long warp(struct gputap_context *ctx) {
			unsigned int key = ctx->warp;
			unsigned long long sum = 0, mask = ctx->mask;
			bpf_map_add(&hits, &key, 1);
			gputap_each_lane (lane, mask)
				sum += bpf_warp_lane_value(GPUTAP_LANE_THREAD_X, lane);
			return sum << 32 | mask; }
		SEC("gpu/exit.block/*") long block(struct gputap_context *ctx) {
			unsigned int key = 3;
			bpf_map_add(&hits, &key, ctx->block_size_x);
			return bpf_flat_block_id() + 0x10; }'
	on_both --prog warp --grid 2 --block 40 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^0: 1f0ffffffff$'
	expect_output_line '^3: 11c000000ff$'
	expect_output_line '^  1: 2$'
	expect_no_output_line '^4: '
	on_both --prog block --grid 2 --block 40 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^1: 11$'
	expect_output_line '^  3: 80$'
	expect_no_output_line '^2: '
}

@test "exec passes the launching process and thread to programs" {
	program 'SEC("gpu/run") long who(void *memory) { return bpf_get_current_pid_tgid(); }'
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec $engine "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
		printf -v low '%08x' "$((0x$output & 0xffffffff))"
		((0x$output >> 32 > 0))
		[ "$output" = "$(printf '%x' "$((0x$output >> 32))")$low" ]
		((0x$output >> 32 == (0x$output & 0xffffffff)))
	done
}

@test "exec --raw accepts hex digits in the usual forms" {
	local forms=(
		'61100000000000009500000000000000'
		'61 10 00 00 00 00 00 00 95 00 00 00 00 00 00 00'
		$'61100000\n00000000\r\n\t9500000000000000\n\n'
		'0x6110000000000000 0x9500000000000000'
		'0x61,0x10,0x00,0x00,0x00,0x00,0x00,0x00, 0X95, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00'
	)
	for form in "${forms[@]}"; do
		run_hex "$form" aabbccdd
		expect_status 0
		expect_output ddccbbaa
	done
	for memory in AABBCCDD 0xaabbccdd 'aa bb cc dd' ' 0xaa,0xbb,0xcc,0xdd '; do
		run_hex "${forms[0]}" "$memory"
		expect_status 0
		expect_output ddccbbaa
	done
	run_hex "${forms[0]}" aa bb ccdd
	expect_output ddccbbaa
	run_hex "${forms[0]}" --mem aabbccdd
	expect_output ddccbbaa
}

@test "exec --raw accepts the memory before or after its options, or none" {
	run_hex 'bf200000000000009500000000000000' ''
	expect_status 0
	expect_output 0
	printf 'bf200000000000009500000000000000' >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw aabb --on interp cc --grid 1 <"$BATS_TEST_TMPDIR/hex"
	expect_status 0
	expect_output 3
	gputap exec --raw aabb --none <"$BATS_TEST_TMPDIR/hex"
	expect_status 2
	[[ $stderr == "gputap: unknown option '--none'"* ]]
	gputap exec --raw '' --on gpu --gpu soft <"$BATS_TEST_TMPDIR/hex"
	expect_status 0
	expect_output 0
}

@test "exec --raw reports an invalid program or memory" {
	run_hex ''
	expect_status 2
	[ "$stderr" = 'gputap: no hex digits' ]
	run_hex $' \n'
	expect_status 2
	[ "$stderr" = 'gputap: no hex digits' ]
	run_hex 950
	expect_status 2
	[ "$stderr" = 'gputap: odd number of hex digits: two are a byte' ]
	run_hex 950000
	expect_status 2
	[ "$stderr" = 'gputap: 6 hex digits are not whole instructions of 16' ]
	run_hex '95 0g'
	expect_status 2
	[ "$stderr" = 'gputap: invalid character at byte 4: expected hex digits, white space, commas or 0x' ]
	run_hex '0x9 0x5'
	expect_status 2
	[ "$stderr" = 'gputap: invalid character at byte 5: expected hex digits, white space, commas or 0x' ]
	for memory in a 0x abc 'aa zz'; do
		[ "$memory" = 0x ] && continue
		run_hex b70000002a0000009500000000000000 "$memory"
		expect_status 2
		[[ $stderr == "gputap: invalid memory '$memory': two hex digits a byte (try "* ]]
	done
	run_hex b70000002a0000009500000000000000 --mem 00 01
	expect_status 2
	[[ $stderr == "gputap: the memory is given twice: --mem and '01' (try "* ]]
}

@test "exec --raw runs a program of a megabyte, on a megabyte of memory" {
	local sum=0700000001000000
	{
		printf b700000000000000
		for ((i = 0; i < 17; i++)); do sum+=$sum; done
		printf '%s%s' "$sum" bf20000000000000 9500000000000000
	} >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw 00 <"$BATS_TEST_TMPDIR/hex"
	expect_status 0
	expect_output 1
	gputap exec --raw --on gpu --gpu soft <"$BATS_TEST_TMPDIR/hex"
	expect_status 1
	[[ $stderr == *'more than 65536 instructions, those of functions counted at each of their calls' ]]
	# An argument of the kernel's is at most 128 KiB.
	local memory=00
	for ((i = 0; i < 15; i++)); do memory+=$memory; done
	printf 'bf200000000000009500000000000000' >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw "$memory" "$memory" "$memory" "$memory" <"$BATS_TEST_TMPDIR/hex"
	expect_status 0
	expect_output 20000
}

@test "exec --raw runs instructions that RFC 9669 defines and Linux rejects, on both engines" {
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# mov r0, 9; div r0, 0; exit
		# shellcheck disable=SC2086
		run_hex 'b700000009000000 3700000000000000 9500000000000000' $engine
		expect_output 0
		# mov r0, 9; mod r0, 0; lsh r0, 65; exit
		# shellcheck disable=SC2086
		run_hex 'b700000009000000 9700000000000000 6700000041000000 9500000000000000' $engine
		expect_output 12
		# mov r0, 3; exit; mov r0, 4; exit
		# shellcheck disable=SC2086
		run_hex 'b700000003000000 9500000000000000 b700000004000000 9500000000000000' $engine
		expect_output 3
	done
}

@test "exec: a thread that a helper ends returns 0, also from a function, on both engines" {
	program 'static __attribute__((noinline)) int leave_above_3(int lane)
		{
			if (lane > 3)
				bpf_exit();
			return lane;
		}
		SEC("gpu/run") int gpu(void *memory) { return leave_above_3(bpf_get_lane_id()) + 5; }'
	for engine in '--on interp' '--on gpu --gpu soft'; do
		# shellcheck disable=SC2086
		gputap exec --block 6 --all $engine "$BATS_TEST_TMPDIR/program.o"
		expect_status 1
		expect_error_line 'exit#507 changes the execution of the kernel: it requires --allow-control$'
		# shellcheck disable=SC2086
		gputap exec --allow-control --block 6 --all $engine "$BATS_TEST_TMPDIR/program.o"
		expect_status 0
		expect_output $'0: 5\n1: 6\n2: 7\n3: 8\n4: 0\n5: 0'
	done
}

@test "exec rejects options without an effect" {
	local hex=b70000002a0000009500000000000000
	for option in --device=0 --time-limit=1s; do
		run_hex $hex "$option"
		expect_status 2
		expect_error "gputap: ${option%=*} needs --on gpu or --on opencl (try 'gputap exec --help')"
	done
	run_hex $hex --gpu soft
	expect_status 2
	expect_error "gputap: --gpu needs --on gpu or a command (try 'gputap exec --help')"
	run_hex $hex --prog main
	expect_status 2
	expect_error "gputap: --raw reads one program: --prog needs FILE (try 'gputap exec --help')"
	run_hex $hex --on gpu --gpu soft --device 0 --time-limit 10s
	expect_status 0
	expect_output 2a
}

@test "verify, compile and exec reject an unknown section with the same text" {
	for command in verify compile exec; do
		gputap $command --as gpu/loads -o - program.o
		[ $command = compile ] || gputap $command --as gpu/loads program.o
		expect_status 2
		expect_error_line "^gputap: --as gpu/loads: .* \\(try 'gputap $command --help'\\)\$"
	done
}

@test "exec --json reports a rejection as verify --json does" {
	local hex
	for hex in 61100000000000009500000000000000 bf300000000000009500000000000000 95; do
		run_hex $hex --json
		jq 'del(.[0]?.instructions, .[0]?.level, .[0]?.pattern, .[0]?.kind)' \
			<<<"[$output]" >"$BATS_TEST_TMPDIR/exec.json"
		gputap verify --raw --json <"$BATS_TEST_TMPDIR/hex"
		jq 'flatten | map(del(.instructions, .level, .pattern, .kind))' <<<"[$output]" >"$BATS_TEST_TMPDIR/verify.json"
		cmp "$BATS_TEST_TMPDIR/exec.json" "$BATS_TEST_TMPDIR/verify.json"
		jq -e '.[0] | .safe == false and .reason != ""' "$BATS_TEST_TMPDIR/exec.json"
	done
	gputap exec --json "$BATS_TEST_TMPDIR/none.o"
	expect_status 2
	expect_json '.[0] | .safe == false and (.file | endswith("none.o"))'
}

@test "maps on the host have the same values on the interpreter and on a GPU" {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#include <gputap/bpf.h>
		GPUTAP_MAP(seen, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
		GPUTAP_MAP(per, GPUTAP_MAP_HOST_HASH, unsigned int, unsigned long long, 256);
		struct route { unsigned int length; unsigned char bits[4]; };
		struct hops { unsigned long long first, second, many[20]; };
		GPUTAP_MAP(routes, GPUTAP_MAP_LPM_TRIE, struct route, struct hops, 8);
		GPUTAP_ARRAY(sums, unsigned long long, 4);
		static void add(unsigned int key, unsigned long long value) { bpf_map_add(&sums, &key, value); }
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = bpf_get_lane_id();
			unsigned long long value = 7 + key, *first, *second;
			struct route net = {8, {10, 1}}, host = {32, {10, 9, 9, 9}};
			static const struct hops hops = {.first = 1, .second = 2, .many = {[19] = 5}};
			struct hops *found;

			bpf_map_update_elem(&seen, &key, &value, 0);
			first = bpf_map_lookup_elem(&seen, &key);
			second = bpf_map_lookup_elem(&seen, &key);
			if (first && second && first != second)
				add(0, *first + *second);
			bpf_map_add(&per, &key, 2);
			bpf_map_update_elem(&routes, &net, &hops, 0);
			found = bpf_map_lookup_elem(&routes, &host);
			if (found)
				add(1, found->second + found->many[19]);
			key += 1000;
			if (!bpf_map_lookup_elem(&seen, &key))
				add(2, 1);
			return bpf_map_delete_elem(&per, &key);
		}
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	# Entries are listed in the order in which they were added.
	gputap exec --grid 2 --block 40 --maps "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	local first
	first=$(sort <<<"$output")
	gputap exec --on gpu --gpu soft --grid 2 --block 40 --maps "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	[ "$(sort <<<"$output")" = "$first" ] || fail "the interpreter has other values: $first"
	gputap exec --on gpu --gpu soft --grid 2 --block 40 --maps --json "$BATS_TEST_TMPDIR/program.o"
	expect_json '.[0].devices[0] | .r0 == "0xfffffffffffffffe" and .calls_lost == 0 and
		(.maps | map({(.name): .}) | add | (.sums.entries | map(.value)) == [3216, 560, 80] and
		.seen.type == "lru_hash" and (.seen.entries | length) == 32)'
	gputap exec --on gpu --gpu soft --grid 2 --block 40 --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^seen \(lru_hash, 64 entries at most\)$'
}

@test "the value of a map on the host is a copy, which a program cannot change" {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#include <gputap/bpf.h>
		GPUTAP_MAP(seen, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			unsigned long long *value = bpf_map_lookup_elem(&seen, &key);
			if (value) __sync_fetch_and_add(value, 1);
			return 0;
		}
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "write into map forbidden: map 'seen' is on the host, and a lookup returns a copy; use bpf_map_update_elem or bpf_map_add$"
}

@test "exec prints the values of threads and warps with their coordinates" {
	program 'struct visit { unsigned int lane; char name[4]; };
		GPUTAP_THREAD_ARRAY(visits, struct visit, 1);
		GPUTAP_WARP_ARRAY(warps, unsigned long long, 1);
		SEC("gpu/run") long run(unsigned char *memory, unsigned long size) {
			unsigned int key = 0;
			unsigned long long thread = bpf_flat_thread_id();
			struct visit *visit = bpf_map_lookup_elem(&visits, &key);
			if (visit && thread == 1 * 80 + 43) {
				visit->lane = 11;
				visit->name[0] = 65;
				bpf_map_add(&warps, &key, 5);
			}
			return 0; }'
	on_both --grid 2 --block 40x2 --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^  0: 1 of 160 threads$'
	expect_output_line '^    block\(1,0,0\) thread\(3,1,0\): \{ \.lane = 11, \.name = "A" \}$'
	expect_output_line '^    block\(1,0,0\) warp 1: 5$'
	gputap exec --grid 2 --block 40x2 --maps --json "$BATS_TEST_TMPDIR/program.o"
	expect_json '.[0].devices[0].maps | map({(.name): .entries}) | add |
		.visits == [{key: 0, values: [{copy: 123, block: [1, 0, 0], thread: [3, 1, 0],
			value: {lane: 11, name: "A"}}]}] and
		.warps[0].values == [{copy: 4, block: [1, 0, 0], warp: 1, value: 5}]'
}
