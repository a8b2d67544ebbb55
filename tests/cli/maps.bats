# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Where the maps of run are: in memory of the GPUs, or of the host. On the software GPU, whose
# memory that processes share is a file.

load helper

setup() {
	persistent=$build/tests/programs/persistent
	vectors=$build/tests/programs/vectors
	need_file "$persistent" "program (no clang that makes PTX)"
	mkfifo "$BATS_TEST_TMPDIR/input"
}

teardown() {
	exec 9>&-
	[ -z "${session:-}" ] || wait "$session" || true
}

# object SOURCE: compiles eBPF programs to program.o.
object() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

counting_entries='GPUTAP_ARRAY(counts, unsigned long long, 1);
SEC("gpu/entry/*") int count(void *ctx) {
	unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }'

# start OPTIONS…: a session whose command is in a kernel until the end of its input; $command is it.
start() {
	exec 9<>"$BATS_TEST_TMPDIR/input"
	# shellcheck disable=SC2016 # of the command
	"$build/gputap" run --gpu soft --json "$@" "$BATS_TEST_TMPDIR/program.o" -- \
		sh -c 'echo $$ >"$1"; exec "$2"' sh "$BATS_TEST_TMPDIR/pid" "$persistent" \
		<"$BATS_TEST_TMPDIR/input" >"$BATS_TEST_TMPDIR/output" \
		2>"$BATS_TEST_TMPDIR/error" 9>&- 3>&- &
	session=$!
	until grep -q '^running' "$BATS_TEST_TMPDIR/output"; do sleep 0.02; done
	command=$(cat "$BATS_TEST_TMPDIR/pid")
}

finish() {
	exec 9>&-
	wait "$session" || true
	session=
	output=$(grep '^{' "$BATS_TEST_TMPDIR/output")
}

# The value that was printed last; 0: none.
count() {
	grep '^{' "$BATS_TEST_TMPDIR/output" | tail -n 1 | jq '.maps[0].entries[0].value // 0'
}

# The file that the process has at the address of the device area.
device_area() {
	sed -nE 's|^2d0000000000-.* (/memfd:[^ ]*).*|\1|p' "/proc/$command/maps"
}

@test "maps are in memory of the GPU, or with --host-maps in that of the host" {
	object "$counting_entries"
	start
	[ "$(device_area)" = /memfd:softgpu-physical ] || fail "it is $(device_area)"
	finish
	expect_json '.[-1].maps[0].entries == [{"key": 0, "value": 64}]'
	start --host-maps
	[ "$(device_area)" = /memfd:gputap-maps ] || fail "it is $(device_area)"
	finish
	expect_json '.[-1].maps[0].entries == [{"key": 0, "value": 64}]'
	run ! grep -q 'host memory' "$BATS_TEST_TMPDIR/error"
}

# The KiB that the memfds of a process have.
memory_of() {
	local blocks
	blocks=$(find "/proc/$1/fd" -lname '/memfd:*' -exec stat -Lc %b {} +)
	echo $(((${blocks//$'\n'/ + }) / 2))
}

@test "maps take memory for the pages that programs have written, though gputap reads all" {
	object 'struct large { char bytes[256]; };
		GPUTAP_HASH(large, unsigned int, struct large, 1 << 17);
		GPUTAP_ARRAY(counts, unsigned long long, 1 << 16);
		SEC("gpu/entry/*") int count(void *ctx) {
			unsigned int key = 7; struct large value = {"x"};
			bpf_map_add(&counts, &key, 1);
			bpf_map_update_elem(&large, &key, &value, 0); return 0; }'
	start --interval 20ms
	until grep -q '"value":64' "$BATS_TEST_TMPDIR/output"; do sleep 0.02; done
	memory=$(memory_of "$session")
	[ "$memory" -gt 16 ] && [ "$memory" -lt 4096 ] || fail "they have $memory KiB"
	finish
	expect_json '.[-1].maps | (.[] | select(.name == "counts") | .entries) == [{"key": 7, "value": 64}] and
		(.[] | select(.name == "large") | .entries | length) == 1'
}

@test "what a map has is complete although its process was killed in a kernel" {
	object "$counting_entries"
	start --interval 20ms
	# A block may not have started yet.
	until seen=$(count) && [ "$seen" -ge 32 ]; do sleep 0.02; done
	kill -KILL "$command"
	finish
	[ "$(count)" -ge "$seen" ] || fail "$(count) after $seen"
}

@test "processes on one GPU have a map in common, those on several are added up" {
	object "$counting_entries
GPUTAP_THREAD_ARRAY(sums, unsigned long long, 1);
SEC(\"gpu/exit/*\") int add(void *ctx) {
	unsigned int key = 0; unsigned long long *sum = bpf_map_lookup_elem(&sums, &key);
	if (sum) *sum += 2; return 0; }
GPUTAP_HASH(places, unsigned int, unsigned long long, 16);
SEC(\"gpu/store/*\") int place(void *ctx) {
	unsigned int key = 7; bpf_map_add(&places, &key, 1); return 0; }"
	for devices in '0 0' '0 1'; do
		# shellcheck disable=SC2016,SC2086 # of the command; words
		SOFTGPU_DEVICES=2 gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- \
			sh -c 'program=$1; shift
				for device; do "$program" "$device" || exit; done' \
			sh "$vectors" $devices
		expect_status 0
		output=$(grep '^{' <<<"$output")
		expect_json '.[-1].maps | (map(select(.name == "counts"))[0].entries == [{"key": 0, "value": 500}]) and
			(map(select(.name == "sums"))[0].entries[0].sum == 1000) and
			(map(select(.name == "places"))[0].entries | map(.value) == [420])'
	done
}

@test "a command that cannot share memory of the GPU has its maps in that of the host" {
	object "$counting_entries"
	# The command brings its own driver, which gputap does not find.
	gputap run --gpu nvidia --json "$BATS_TEST_TMPDIR/program.o" -- \
		env LD_LIBRARY_PATH="$build/softgpu" "$vectors"
	expect_status 0
	expect_error_line 'maps are in host memory, which is slow'
	output=$(grep '^{' <<<"$output")
	expect_json '.[-1] | .maps[0].entries == [{"key": 0, "value": 250}] and
		(.map_remark | startswith("maps are in host memory"))'
}

@test "of a large map the pages are read that have data, and those that a program cleared" {
	object 'struct table { unsigned char bytes[1 << 20]; };
	GPUTAP_ARRAY(table, struct table, 8);
	SEC("gpu/entry.block/plain") int clear(struct gputap_context *ctx) {
		unsigned int key = 1;
		struct table *found = bpf_map_lookup_elem(&table, &key);
		if (found) { found->bytes[44 << 12] = 0; found->bytes[99 << 12] = 0; }
		return 0; }'
	# Bytes of 1, but for a page that has one 1: all of them are more than one read.
	head -c $((8 << 20)) /dev/zero | tr '\0' '\1' >"$BATS_TEST_TMPDIR/table"
	head -c 4095 /dev/zero | dd of="$BATS_TEST_TMPDIR/table" bs=1 seek=$((300 * 4096 + 1)) \
		conv=notrunc status=none
	gputap run --gpu soft --set "table=@$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/program.o" \
		-- "$vectors"
	expect_status 0
	expect_output_line '^  1: \{ \.bytes = \[\[0\] = 1, .*, \[63\] = 1, 1044415 more, 4097 of 1048576 are zero\] \}$'
	for key in 0 2 3 4 5 6 7; do
		expect_output_line "^  $key: .* \\[63\\] = 1, 1048512 more\\] \\}$"
	done
}

@test "maps that are too large together, or have too many copies, are rejected with the reason" {
	object 'struct table { unsigned char bytes[(1 << 29) - 8]; };
	GPUTAP_ARRAY(small, unsigned long long, 1);
	GPUTAP_ARRAY(table, struct table, 33);
	SEC("gpu/entry/*") int set(void *ctx) {
		unsigned int key = 0; struct table *found = bpf_map_lookup_elem(&table, &key);
		bpf_map_add(&small, &key, 1);
		if (found) found->bytes[5] = 1;
		return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$vectors"
	expect_status 1
	expect_error_line '^gputap: table: the map needs more than 16 GiB with the other maps$'
	object 'struct table { unsigned char bytes[4096]; };
	GPUTAP_THREAD_ARRAY(table, struct table, 1);
	SEC("gpu/entry/*") int set(void *ctx) {
		unsigned int key = 0; struct table *found = bpf_map_lookup_elem(&table, &key);
		if (found) found->bytes[5] = 1;
		return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$vectors"
	expect_status 1
	expect_error_line '^gputap: table: the map has 1048576 copies, which need more than 1 GiB: lower --threads$'
	gputap run --gpu soft --threads 1024 "$BATS_TEST_TMPDIR/program.o" -- "$vectors"
	expect_status 0
}
