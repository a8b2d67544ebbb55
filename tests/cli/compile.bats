# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# compile: translates eBPF programs to PTX. Needs no privileges and no GPU; uses ptxas if present.

load helper

# object SOURCE: compiles eBPF, with the declarations that every program here needs.
object() {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#define SEC(name) __attribute__((section(name), used))
		static void *(*lookup)(void *, const void *) = (void *)1;
		struct { int (*type)[2]; int (*key_size)[4]; int (*value_size)[8];
			int (*max_entries)[4]; } counts SEC(".maps");
		$1
		char _license[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

counter='SEC("gpu/exit/*") int count(void *ctx) {
		unsigned key = 1; unsigned long *c = lookup(&counts, &key);
		if (c) __sync_fetch_and_add(c, 1);
		return 0; }'
adder='SEC("gpu/run") int sum(unsigned long *memory) { return memory[0] + memory[1]; }'

ptxas() {
	PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin" command ptxas "$@"
}

@test "compile translates each GPU program to a kernel" {
	object "$counter $adder"
	gputap compile --target ptx --mem-size 16 -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^\.version 6\.2$'
	expect_output_line '^\.target sm_60$'
	expect_output_line '^\.weak \.const \.align 8 \.b64 gputap_map_0\[2\];$'
	expect_output_line '^\.visible \.entry gputap_count\($'
	expect_output_line '^\.visible \.entry gputap_sum\($'
}

@test "compile --prog translates only one program" {
	object "$counter $adder"
	gputap compile --prog count -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^\.visible \.entry gputap_count\($'
	[[ $output != *gputap_sum* ]]
	gputap compile --prog nothing -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	[[ $stderr == *"no GPU program 'nothing'" ]]
}

@test "compile translates for the given GPU and PTX version" {
	object "$counter"
	gputap compile --sm 90a --ptx-version 8.3 "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/program.ptx"
	expect_status 0
	expect_output ''
	[ "$(head -2 "$BATS_TEST_TMPDIR/program.ptx")" = $'.version 8.3\n.target sm_90a' ]
	gputap compile --sm 90 --ptx-version 7.0 "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 1
	[[ $stderr == *'sm_90 needs PTX 7.8 or later, not 7.0' ]]
	gputap compile --sm 50 "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 1
	[[ $stderr == *'invalid GPU sm_50 (one of: 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)' ]]
}

@test "compile prints the same text each time" {
	object "$counter $adder"
	gputap compile --mem-size 16 "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/one.ptx"
	expect_status 0
	gputap compile --mem-size 16 "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/other.ptx"
	expect_status 0
	cmp "$BATS_TEST_TMPDIR/one.ptx" "$BATS_TEST_TMPDIR/other.ptx"
}

@test "compile keeps the limits of --max-insns and --max-size" {
	object "$adder"
	gputap compile --mem-size 16 --max-insns 2 "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 1
	[[ $stderr == *'sum: the program may execute '*' instructions, the maximum is 2' ]]
	gputap compile --mem-size 16 --max-size 2 "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 1
	[[ $stderr == *'sum: the program has '*' instructions, the maximum is 2' ]]
}

@test "compile reports why a program is rejected, and writes nothing" {
	object "$adder"
	gputap compile --mem-size 8 "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/program.ptx"
	expect_status 1
	[[ $stderr == *'sum: '*'invalid access to memory, mem_size=8 off=8 size=8'* ]]
	[ ! -e "$BATS_TEST_TMPDIR/program.ptx" ]
}

@test "compile rejects a file that is not an object, with status 2" {
	printf 'no ELF' >"$BATS_TEST_TMPDIR/program.o"
	gputap compile "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 2
	[[ $stderr == *'not an eBPF object, or malformed'* ]]
}

@test "compile rejects a missing output and invalid targets" {
	object "$counter"
	gputap compile "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	[[ $stderr == *'-o FILE is needed'* ]]
	gputap compile --sm ninety "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 2
	[[ $stderr == *"invalid value 'ninety' for --sm (such as 90 or 90a)"* ]]
	gputap compile --ptx-version new "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 2
	[[ $stderr == *"invalid value 'new' for --ptx-version (such as 7.8)"* ]]
}

@test "ptxas accepts the output of compile" {
	ptxas --version >/dev/null 2>&1 || skip 'ptxas is not installed'
	object "$counter $adder"
	for sm in 75 90 120; do
		gputap compile --mem-size 16 --sm "$sm" "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/program.ptx"
		expect_status 0
		ptxas -arch="sm_$sm" -o /dev/null "$BATS_TEST_TMPDIR/program.ptx"
	done
}

@test "compile does not overwrite its input" {
	object "$counter"
	ln -s program.o "$BATS_TEST_TMPDIR/link.o"
	cp "$BATS_TEST_TMPDIR/program.o" "$BATS_TEST_TMPDIR/before"
	gputap compile "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/link.o"
	expect_status 2
	expect_error "gputap: $BATS_TEST_TMPDIR/link.o is the input: choose another FILE for -o (try 'gputap compile --help')"
	cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/program.o"
}

@test "compile --sm rejects a sign" {
	for sm in -5 +90 ' 90'; do
		gputap compile --sm="$sm" -o - "$BATS_TEST_TMPDIR/program.o"
		expect_status 2
		expect_error "gputap: invalid value '$sm' for --sm (such as 90 or 90a) (try 'gputap compile --help')"
	done
}
