# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# exec --device: one program on several devices at once. Needs no privileges and no GPU.

load helper

setup() {
	export SOFTGPU_DEVICES=2
	object=$BATS_TEST_TMPDIR/program.o
}

# program SOURCE: compiles eBPF that includes <gputap/bpf.h>.
program() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I"$root/include" -c "$BATS_TEST_TMPDIR/program.c" -o "$object"
}

# Each thread counts in a map of every kind; the first of each device also prints.
counting='GPUTAP_ARRAY(own, unsigned long long, 2);
	GPUTAP_HASH(hash, unsigned int, unsigned long long, 4);
	GPUTAP_SM_ARRAY(sm, unsigned long long, 1);
	GPUTAP_MAP(copies, GPUTAP_MAP_HOST_THREAD_ARRAY, unsigned int, unsigned long long, 1);
	GPUTAP_SHARED_ARRAY(both, unsigned long long, 2);
	GPUTAP_RING(ring, 4096);
	unsigned long long variable = 100;
	SEC("gpu/run") long run(unsigned char *memory, unsigned long size)
	{
		unsigned int zero = 0, one = 1;
		unsigned long long thread = bpf_flat_thread_id(), *value;

		bpf_map_add(&own, &zero, 1);
		bpf_map_add(&hash, &one, 1);
		bpf_map_add(&sm, &zero, 1);
		value = bpf_map_lookup_elem(&copies, &zero);
		if (value)
			*value += 1;
		bpf_map_add(&both, &one, 1);
		__sync_fetch_and_add(&variable, 1);
		if (!thread) {
			bpf_ringbuf_output(&ring, &variable, 0 + 8, 0);
			bpf_printk("hello");
			if (size == 1)
				memory[0]++;
		}
		return thread + 7;
	}'

on_soft() {
	gputap exec --on gpu --gpu soft "$@" "$object"
}

@test "each device has its own maps, rings and variables, and shared maps exist once" {
	program "$counting"
	on_soft --device 0,1 --grid 2 --block 32 --maps --json
	expect_status 0
	expect_json '[.[0].devices[] | .number] == [0, 1]'
	expect_json '[.[0].devices[] | .name] == ["gputap software GPU", "gputap software GPU"]'
	expect_json '[.[0].devices[] | [.maps[].name]] | unique ==
		[["own", "hash", "sm", "copies", "ring", "program.data"]]'
	for device in 0 1; do
		expect_json ".[0].devices[$device].maps | map({(.name): .}) | add |
			.own.entries == [{key: 0, value: 64}] and
			.hash.entries == [{key: 1, value: 64}] and
			.sm.entries[0].sum == 64 and
			.copies.entries[0].sum == 64 and (.copies.entries[0].values | length) == 64 and
			(.ring.entries | length) == 1 and
			.\"program.data\".entries == [{key: 0, value: {variable: 164}}]"
	done
	expect_json '.[0].shared | [.[] | [.name, .entries]] == [["both", [{key: 1, value: 128}]]]'
}

@test "each device has its own results and memory" {
	program "$counting"
	on_soft --device all --block 2 --all --mem 05 --show-memory --json
	expect_status 0
	expect_json '[.[0].devices[] | [.r0, .results, .memory]] | unique ==
		[["0x7", ["0x7", "0x8"], "06"]]'
}

@test "a program knows the number of its device" {
	program 'SEC("gpu/run") long run(void *memory) { return bpf_get_device() + 7; }'
	on_soft --device all --json
	expect_status 0
	expect_json '[.[0].devices[] | [.number, .r0]] == [[0, "0x7"], [1, "0x8"]]'
	gputap exec --on interp "$object"
	expect_status 0
	[ "$output" = 7 ] || fail "the result is not 7"
}

@test "text output names each of several devices, and shows shared maps after them" {
	program 'GPUTAP_ARRAY(own, unsigned int, 1);
		GPUTAP_SHARED_ARRAY(both, unsigned int, 1);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			bpf_map_add(&own, &key, 1);
			bpf_map_add(&both, &key, 1);
			bpf_printk("hello");
			return 3; }'
	on_soft --device 1,0 --maps
	expect_status 0
	expect_output 'device 1 (gputap software GPU):
3
own (array, 1 entries at most)
  0: 1
device 0 (gputap software GPU):
3
own (array, 1 entries at most)
  0: 1
shared:
both (array, 1 entries at most)
  0: 2'
	expect_error $'device 1: hello\ndevice 0: hello'
	on_soft --device 1 --maps
	expect_output $'3\nown (array, 1 entries at most)\n  0: 1\nboth (array, 1 entries at most)\n  0: 1'
	expect_error hello
}

@test "devices run at once, and see each other's writes to shared memory" {
	program 'GPUTAP_SHARED_ARRAY(arrived, unsigned long long, 1);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 0;
			unsigned long long *count = bpf_map_lookup_elem(&arrived, &key);
			if (!count)
				return 0;
			if (!bpf_flat_thread_id())
				__sync_fetch_and_add(count, 1);
			for (unsigned int i = 0; i < 50000; i++)
				if (*(volatile unsigned long long *)count == 2)
					return 1;
			return 2; }'
	on_soft --device all --grid 1000 --all
	expect_status 0
	[ "$(grep -c '^999: 1$' <<<"$output")" = 2 ]
}

@test "an invalid list of devices is rejected" {
	program "$counting"
	for wrong in x 1x all,0 0,all; do
		on_soft --device "$wrong"
		expect_status 2
		expect_error_line "^gputap: invalid value '(x|1x|all)' for --device \(numbers separated by commas, or all\)"
	done
	for wrong in 0,0 1,0,0x1; do
		on_soft --device "$wrong"
		expect_status 2
		expect_error_line '^gputap: --device names device (0|0x1) twice'
	done
	on_soft --device 0,
	expect_status 2
	on_soft --device 0,2
	expect_status 1
	expect_error 'gputap: no device 2: the driver has 2'
}
