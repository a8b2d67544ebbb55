# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# verify and exec: eBPF programs, and why they are refused. Needs no privileges and no GPU.

load helper

# object SOURCE FLAGS…: compiles eBPF, with what every program here needs before it.
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

# run_hex HEX ARGUMENTS…: gives the program to exec --raw.
run_hex() {
	local hex=$1
	shift
	printf '%s' "$hex" >"$BATS_TEST_TMPDIR/hex"
	gputap exec --raw "$@" <"$BATS_TEST_TMPDIR/hex"
}

@test "exec --raw prints what r0 is at the end" {
	run_hex 'b7000000 2a000000 95000000 00000000'
	expect_status 0
	expect_output 2a
	run_hex b700000ffffffff9500000000000000
	expect_status 1
	run_hex b7000000ffffffff9500000000000000
	expect_output ffffffffffffffff
}

@test "exec --raw gives a program the memory of its command line" {
	run_hex '61100000000000009500000000000000' --on interp aabbccdd
	expect_status 0
	expect_output ddccbbaa
}

@test "exec --raw tells why a program is refused, with the registers" {
	run_hex '61100000000000009500000000000000' aabbcc
	expect_status 1
	expect_output ''
	[ "$(head -1 <<<"$stderr")" = 'gputap: insn 0: invalid access to memory, mem_size=3 off=0 size=4' ]
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

@test "verify tells the line, the instruction and the registers of what is not safe" {
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

@test "verify refuses CO-RE in a program for the GPU" {
	object 'struct task { int pid; } __attribute__((preserve_access_index));
		SEC("gpu/exit/*") int count(struct task *ctx) { return ctx->pid; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[[ $stderr == *'section gpu/exit/* has CO-RE records'* ]]
}

@test "verify calls what is no object damaged, with status 2" {
	printf 'no ELF' >"$BATS_TEST_TMPDIR/program.o"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	[[ $stderr == *'this is no object for eBPF, or damaged'* ]]
}
