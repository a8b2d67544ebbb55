# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# verify: which programs it verifies, and as what. Needs no privileges and no GPU.

load helper

# object SOURCE: compiles eBPF, with the declarations that every program here needs.
object() {
	printf '%s\n' '#define SEC(name) __attribute__((section(name), used))' \
		'static void *(*lookup)(void *, const void *) = (void *)1;' "$1" \
		'char _license[] SEC("license") = "GPL";' >"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

# verify_hex HEX OPTIONS…: passes the program to verify --raw.
verify_hex() {
	local hex=$1
	shift
	printf '%s' "$hex" >"$BATS_TEST_TMPDIR/hex"
	gputap verify --raw "$@" <"$BATS_TEST_TMPDIR/hex"
}

@test "verify --as verifies programs of every section, each with its own verdict" {
	object 'SEC("socket") int fine(void *m) { return 0; }
		SEC("tc") int reads(volatile int *m) { return *m; }
		SEC("xdp") __attribute__((naked)) int unset(void *m) { asm volatile("r0 = r2; exit"); }'
	gputap verify --as gpu/run --mem-size 4 "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^fine \(socket\): safe; '
	expect_output_line '^reads \(tc\): safe; '
	expect_output_line '^unset \(xdp\): safe; '
	gputap verify --as gpu/run --mem-size 3 --json "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	jq -e 'map({(.program): [.section, .kind, .safe]}) | add == {"fine": ["socket", "run", true],
		"reads": ["tc", "run", false], "unset": ["xdp", "run", true]}' <<<"$output"
	gputap verify --as gpu/load "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^reads \(tc\): safe; '
	expect_output_line '^unset \(xdp\): rejected: .*: R2 !read_ok$'
}

@test "verify --as linux passes a context and nothing else" {
	object 'SEC("socket") int fine(void *m) { return m != 0; }
		SEC("tc") int reads(volatile int *m) { return m[1]; }
		SEC("tc") int writes(volatile int *m) { return m[1] = 0; }
		SEC("xdp") __attribute__((naked)) int unset(void *m) { asm volatile("r0 = r2; exit"); }'
	gputap verify --as linux "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^fine \(socket\): safe; '
	expect_output_line '^reads \(tc\): rejected: .*: invalid bpf_context access off=4 size=4$'
	expect_output_line '^unset \(xdp\): rejected: .*: R2 !read_ok$'
	gputap verify --as linux --mem-size 8 "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^reads \(tc\): safe; '
	expect_output_line '^writes \(tc\): rejected: .*: invalid bpf_context access off=4 size=4$'
	gputap verify --as linux --json "$BATS_TEST_TMPDIR/program.o"
	jq -e 'map(.kind) | unique == ["linux"]' <<<"$output"
}

@test "verify --as verifies functions if there are no programs" {
	object 'int one(int *m) { return 0; } int two(int *m) { return *m; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output ''
	gputap verify --as gpu/run "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^one \(.text\): safe; '
	expect_output_line "^two \\(.text\\): rejected: .*program.c:3: R1 invalid mem access 'scalar'\$"
}

@test "a map or CO-RE relocation that GPUs do not support rejects only the programs that use it" {
	object 'struct { int (*type)[7]; int (*key_size)[4]; int (*value_size)[8];
			int (*max_entries)[4]; } odd SEC(".maps");
		struct task { int pid; } __attribute__((preserve_access_index));
		SEC("socket") int map(void *c) { int key = 0; return lookup(&odd, &key) != 0; }
		SEC("socket") int record(struct task *task) { return task->pid; }
		SEC("socket") int fine(void *c) { return 7; }'
	gputap verify --as gpu/run --mem-size 8 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "^map \\(socket\\): rejected: .*: map 'odd': GPUs have no maps of type 7; "
	expect_output_line '^record \(socket\): rejected: .*: it has CO-RE relocations, '
	expect_output_line '^fine \(socket\): safe; '
	gputap exec --as gpu/run --prog fine "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output 7
	gputap compile --as gpu/run --prog fine -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line 'gputap_fine'
	gputap compile --as linux --prog map -o - "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
}

@test "exec --as linux runs a program whose r1 is 0" {
	object 'SEC("socket") long run(long c) { return c + 5; }'
	gputap exec --as linux "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output 5
	gputap exec --as linux --mem 00 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error 'gputap: only programs of gpu/run have memory, not those of linux'
}

@test "verify --as rejects unknown sections, and lists the known ones" {
	gputap verify --as socket program.o
	expect_status 2
	expect_error "gputap: --as socket: invalid section (a GPU section such as gpu/run, or linux) (try 'gputap verify --help')"
	gputap verify --as gpu/entri/x program.o
	expect_status 2
	expect_error_line '^gputap: --as gpu/entri/x: unknown GPU section, did you mean gpu/entry\?'
	gputap verify --raw program.o
	expect_status 2
}

@test "verify --raw reads a program of gpu/run, or of another section, as hex digits" {
	verify_hex '61100000 00000000 95000000 00000000' --mem-size 4
	expect_status 0
	expect_output_line '^raw \(gpu/run\): safe; 2 instructions, '
	verify_hex '6110000000000000 9500000000000000'
	expect_status 1
	expect_output_line "^raw \\(gpu/run\\): rejected: insn 0: R1 invalid mem access 'scalar'\$"
	verify_hex 'bf20000000000000 9500000000000000' --as linux --json
	expect_status 1
	jq -e '.[0] | .program == "raw" and .kind == "linux" and .reason == "R2 !read_ok" and
		.instruction == 0' <<<"$output"
	verify_hex 'b700000001000000 3700000000000000 9500000000000000'
	expect_status 1
	expect_output_line '1: \(37\) r0 /= 0$'
}

@test "verify --json of an unreadable file is one object with the reason" {
	printf 'no ELF' >"$BATS_TEST_TMPDIR/program.o"
	gputap verify --json "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	jq -e --arg file "$BATS_TEST_TMPDIR/program.o" '. == {"file": $file, "safe": false,
		"reason": "not an eBPF object, or malformed"}' <<<"$output"
	verify_hex '7' --json
	expect_status 2
	jq -e '.file == "-" and (.safe | not) and (.reason | startswith("odd number of hex digits"))' <<<"$output"
}

@test "verify reports what a file is that is not an eBPF object" {
	local program=$BATS_TEST_TMPDIR/program.o
	: >"$program"
	gputap verify "$program"
	expect_status 2
	expect_error "gputap: $program: the file is empty"
	printf 'int f(void) { return 0; }' >"$BATS_TEST_TMPDIR/program.c"
	clang -c "$BATS_TEST_TMPDIR/program.c" -o "$program"
	gputap verify "$program"
	expect_status 2
	expect_error "gputap: $program: this object is for a CPU, not for eBPF: compile it with 'clang -target bpf'"
	clang -target bpfeb -c "$BATS_TEST_TMPDIR/program.c" -o "$program"
	gputap verify "$program"
	expect_status 2
	expect_error "gputap: $program: this object is for big-endian eBPF: compile it with 'clang -target bpfel'"
}
