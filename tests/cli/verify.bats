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

@test "a remainder bounds an index, also where the compiler has written it as a difference" {
	object 'struct { int (*type)[2], (*max_entries)[1], *key; long (*value)[10]; } bins SEC(".maps");
		SEC("gpu/run") long count(unsigned long *memory, unsigned long size)
		{
			int key = 0;
			long *bin = lookup(&bins, &key);

			if (!bin)
				return 0;
			return bin[*memory % 10] + bin[(unsigned)*memory % 7] + bin[size % 9];
		}'
	gputap verify --as gpu/run --mem-size 8 "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^count \(gpu/run\): safe; '
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

@test "verify accepts GPU programs beside what only the kernel can set up" {
	local gpu='SEC("gpu/entry/*") int mine(void *context) { return 0; }'
	# A struct_ops map, whose types are those of the kernel.
	object "struct operations { int (*call)(void); };
		SEC(\"struct_ops/call\") int call(void *context) { return 0; }
		SEC(\".struct_ops\") struct operations one = { .call = (void *)call };
		SEC(\".struct_ops.link\") struct operations two = { .call = (void *)call };
		SEC(\"?.struct_ops\") struct operations three = { .call = (void *)call }; $gpu"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^mine \(gpu/entry/\*\): safe; '
	expect_output_line '^call \(struct_ops/call\): host program, verified by the kernel$'
	gputap exec --as gpu/run --prog mine "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output 0
	# Initial values of a map of programs; variables and functions of the kernel.
	object "SEC(\"socket\") int callee(void *context) { return 0; }
		struct { int (*type)[3]; int (*max_entries)[2]; int *key; int (*values[])(void *); }
		programs SEC(\".maps\") = { .values = { [1] = callee } };
		SEC(\"socket\") int caller(void *context)
		{ return ((int (*)(void *, void *, int))12)(context, &programs, 1); }
		extern const int variable SEC(\".ksyms\"); extern void function(void) SEC(\".ksyms\");
		SEC(\"raw_tp/sys_enter\") int reads(void *context) { function(); return variable; } $gpu"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^mine \(gpu/entry/\*\): safe; '
	gputap verify --as gpu/run "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^mine \(gpu/entry/\*\): safe; '
	expect_output_line '^callee \(socket\): safe; '
	expect_output_line "^caller \\(socket\\): rejected: .*map 'programs': GPUs have no maps of type 3"
	expect_output_line '^reads .*: rejected: .*functions of the kernel cannot be called'
}

# verify_configured LINE OPTIONS…: verify on a machine whose kernel's configuration is this line.
verify_configured() {
	local line=$1
	shift
	run --separate-stderr unshare -m sh -c 'mount -t tmpfs none /boot &&
		printf "%s\n" "$0" >"/boot/config-$(uname -r)" && exec "$@"' "$line" "$build/gputap" verify "$@"
}

@test "verify rejects only the programs that use an unknown variable of the kernel's configuration" {
	[ "$EUID" = 0 ] || skip "needs root to mount a configuration"
	local configured='extern int CONFIG_SET __attribute__((section(".kconfig")));
		SEC("gpu/run") int set(void *context) { return CONFIG_SET; }'
	object "extern int CONFIG_NOPE __attribute__((section(\".kconfig\")));
		extern _Bool CONFIG_WEAK __attribute__((section(\".kconfig\"), weak));
		extern _Bool CONFIG_NUMBER __attribute__((section(\".kconfig\")));
		extern int LINUX_NOPE __attribute__((section(\".kconfig\")));
		extern int LINUX_KERNEL_VERSION __attribute__((section(\".kconfig\")));
		extern const void nope __attribute__((section(\".ksyms\"))); $configured
		SEC(\"gpu/run\") int uses(void *context) { return CONFIG_NOPE; }
		SEC(\"gpu/run\") int weak(void *context) { return CONFIG_WEAK; }
		SEC(\"gpu/run\") int number(void *context) { return CONFIG_NUMBER; }
		SEC(\"gpu/run\") int virtual(void *context) { return LINUX_NOPE; }
		SEC(\"gpu/run\") int version(void *context) { return LINUX_KERNEL_VERSION != 0; }
		SEC(\"gpu/run\") int symbol(void *context) { return (long)&nope; }
		SEC(\"gpu/run\") int mine(void *context) { return 0; }"
	verify_configured $'CONFIG_SET=7\nCONFIG_NUMBER=8' "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "^uses .*: rejected: .*: 'CONFIG_NOPE': /boot/config-\\$\\(uname -r\\) does not set it: declare it __weak to read 0\$"
	expect_output_line "^number .*: rejected: .*: 'CONFIG_NUMBER': its value 8 in /boot/config-\\$\\(uname -r\\) has another type\$"
	expect_output_line "^virtual .*: rejected: .*: 'LINUX_NOPE': libbpf has no such variable\$"
	expect_output_line '^symbol .*: rejected: .*: variables of the kernel are not for the GPU'
	local name
	for name in set weak version mine; do
		expect_output_line "^$name \\(gpu/run\\): safe; "
	done
	gputap exec --prog version "$BATS_TEST_TMPDIR/program.o"
	expect_output 1
	gputap exec --prog weak "$BATS_TEST_TMPDIR/program.o"
	expect_output 0
	object "$configured"
	observe unshare -m sh -c 'mount -t tmpfs none /boot &&
		echo CONFIG_SET=7 >"/boot/config-$(uname -r)" && exec "$@"' sh "$build/gputap" exec "$BATS_TEST_TMPDIR/program.o"
	expect_output 7
	observe unshare -m sh -c 'mount -t tmpfs none /boot && mount -t tmpfs none /proc && exec "$@"' sh \
		"$build/gputap" verify "$BATS_TEST_TMPDIR/program.o"
	expect_output_line "^set .*: rejected: .*: 'CONFIG_SET': this machine has neither /boot/config-\\$\\(uname -r\\) nor /proc/config.gz: declare it __weak to read 0\$"
	object 'extern int SET __attribute__((section(".kconfig")));
		SEC("gpu/run") int set(void *context) { return SET; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	expect_error "gputap: $BATS_TEST_TMPDIR/program.o: 'SET': libbpf has no such variable"
}

@test "verify rejects only the programs that use an arena" {
	object 'struct { int (*type)[33]; int (*map_flags)[1024]; int (*max_entries)[10]; } arena SEC(".maps");
		SEC("gpu/entry/*") int uses(void *context)
		{ return ((long (*)(void *, void *, int, int, long))999)(&arena, 0, 1, 0, 0) != 0; }
		SEC("gpu/entry/*") __attribute__((naked)) int casts(void *context)
		{ asm volatile("r0 = 0; .byte 0xbf, 0x00, 1, 0, 1, 0, 0, 0; exit"); }
		SEC("gpu/entry/*") int mine(void *context) { return 0; }'
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "^uses .*: rejected: .*map 'arena': GPUs have no maps of type 33; they have "
	expect_output_line '^casts .*: rejected: .*addr_space_cast insn can only be used in a program that has an associated arena: GPUs have none'
	expect_output_line '^mine \(gpu/entry/\*\): safe; '
	gputap exec --as gpu/run --prog mine "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output 0
}

@test "verify accepts a GPU program beside programs and data of every section of libbpf" {
	local names='socket sk_reuseport sk_reuseport/migrate kprobe/f uprobe uprobe.s/a:f kretprobe/f
		uretprobe/a:f kprobe.multi/f kretprobe.multi/f uprobe.multi/f ksyscall/f kretsyscall/f
		usdt/a:b:c tc/ingress tcx/egress classifier action netkit/peer tracepoint/a/b tp/a/b
		raw_tracepoint/f raw_tp.w/f tp_btf/f fentry/f fmod_ret/f fexit.s/f freplace/f lsm/f
		lsm_cgroup/f iter/task iter.s/bpf_map syscall xdp xdp.frags/devmap xdp/cpumap perf_event
		lwt_in lwt_seg6local sockops sk_skb/stream_parser sk_msg lirc_mode2 flow_dissector
		cgroup_skb/ingress cgroup/dev cgroup/sysctl cgroup/getsockopt cgroup/connect4 sk_lookup
		netfilter struct_ops/f struct_ops.s/f ?tc ?kprobe/f'
	local data='.data .data.own .bss .bss.own .rodata .rodata.own .kconfig .ksyms version
		.struct_ops .struct_ops.link ?.struct_ops ?.struct_ops.link .arena.1 .addr_space.1 maps
		.maps .BTF.own .rel.own license.own' text='' name count=0

	for name in $names; do
		text+="SEC(\"$name\") int program$((++count))(void *context) { return 0; }"$'\n'
	done
	text+='SEC("gpu/entry/*") int mine(void *context) { return 0; }'
	object "$text"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^mine \(gpu/entry/\*\): safe; '
	# Data in sections for other uses makes an object malformed.
	for name in $data; do
		[[ $name == .bss* ]] || object "int value SEC(\"$name\") = 1;
			int *pointer SEC(\"$name\") = &value; $text"
		[[ $name != .bss* ]] || object "int value SEC(\"$name\"); $text"
		gputap verify "$BATS_TEST_TMPDIR/program.o"
		expect_status "$([[ $name == version || $name =~ ^\.?maps$ ]] && echo 2 || echo 0)"
	done
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

@test "verify knows the maps that programs may only read, or only write" {
	local map='struct { __attribute__((aligned(8))) int (*type)[2]; int *key; long *value;
		int (*max_entries)[1]; int (*map_flags)[FLAGS]; } m SEC(".maps");'
	local key='int key = 0; volatile long *value = lookup(&m, &key); if (!value) return 0;'
	object "${map/FLAGS/256}
		SEC(\"gpu/load\") int writes(void *context) { $key *value = 1; return 0; }
		SEC(\"gpu/load\") int reads(void *context) { $key return *value; }"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line '^writes \(gpu/load\): safe; '
	expect_output_line '^reads \(gpu/load\): rejected: .*: read from map forbidden, value_size=8 off=0 size=8$'
	object "${map/FLAGS/128}
		SEC(\"gpu/load\") int writes(void *context) { $key *value = 1; return 0; }
		SEC(\"gpu/load\") int reads(void *context) { $key return *value; }"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^writes \(gpu/load\): rejected: .*: write into map forbidden, value_size=8 off=0 size=8$'
	expect_output_line '^reads \(gpu/load\): safe; '
	object "${map/FLAGS/384}
		SEC(\"gpu/load\") int writes(void *context) { $key *value = 1; return 0; }"
	gputap verify "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line "map 'm': BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG exclude each other$"
}
