# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs in the form of those written for bpftime, with its sections, map types and helper
# numbers, in the kernels of a CUDA program on the software GPU. Needs no GPU; privileges only where
# host programs take part.

load helper

programs=$build/tests/programs

setup() {
	need_file "$programs/vectors" "program of the tests (no clang that makes PTX)"
}

# compile NAME: compiles a program of tests/programs/bpftime to $object, as its Makefiles do.
compile() {
	object=$BATS_TEST_TMPDIR/$1.o
	clang -g -O2 -target bpf -I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$root/tests/programs/bpftime/$1.bpf.c" -o "$object"
}

# run_with NAME OPTIONS…: runs the CUDA program with a program of tests/programs/bpftime.
run_with() {
	compile "$1"
	gputap run --gpu soft --json "${@:2}" "$object" -- "$programs/vectors"
	expect_status 0
	json=$(grep '^{' <<<"$output")
	[ "$(jq 'select(.coverage).coverage | .found == .patched + .rejected' <<<"$json")" = true ]
	[ "$(jq 'select(.coverage).coverage.rejected' <<<"$json")" = 0 ]
}

# expect QUERY VALUE: the value of a query on the last JSON object.
expect() {
	local found
	found=$(jq -c "select(.coverage) | (.maps | map({key: .name, value: .entries}) |
		from_entries) as \$maps | $1" <<<"$json")
	[ "$found" = "$2" ] || fail "$1 is $found, not $2"
}

@test "every program written for bpftime is verified unchanged, and only control needs an option" {
	local name
	for name in block counter kernelretsnoop launches launchlate matrix memory record schedule \
		threadhist; do
		compile $name
		gputap verify "$object"
		expect_status 0
	done
	compile partition
	gputap verify "$object"
	expect_status 1
	expect_output_line ': exit#507 changes the execution of the kernel: it requires --allow-control$'
	gputap verify --allow-control "$object"
	expect_status 0
}

@test "hashes count the entries and exits of kernels in a list, per process, and lines are printed" {
	run_with counter
	expect_output_line '^vectors: 100 of 100 sums are right$'
	# 2 launches of 3 blocks of 40 threads; `plain` has 10 more.
	expect '$maps.entries | map(.value)' '[250]'
	expect '$maps.exits | map(.value)' '[240]'
	expect '$maps.entries[0].key == $maps.exits[0].key' true
	expect '$maps.started | map(.key) | sort' '[0,1,2]'
	for block in 0 1 2; do
		[ "$(grep -cx "block $block ended, started: 1" <<<"$stderr")" = 2 ]
	done
}

@test "the seed's kernelretsnoop gets a record of every thread that exits" {
	compile kernelretsnoop
	gputap run --gpu soft --json "$object" -- "$programs/vectors"
	expect_status 0
	json=$(grep '^{' <<<"$output")
	[ "$(jq -s 'map(select(.ring)) | length' <<<"$json")" = 240 ]
	jq -r 'select(.ring).record | "\(.block[0]) \(.thread[0])"' <<<"$json" | sort | uniq -c |
		awk '{print $1}' | sort | uniq -c >"$BATS_TEST_TMPDIR/counts"
	[ "$(awk '{$1 = $1; print}' "$BATS_TEST_TMPDIR/counts")" = '120 2' ]
	expect '$maps.exits' '[]'
	expect '.maps[0].lost' 0
}

@test "the seed's threadhist counts the executions of each thread, on the device and the host" {
	run_with threadhist
	expect '$maps.per_thread[0].sum' 240
	expect '$maps.per_thread[0].values | length' 120
	expect '[$maps.per_thread[0].values[].value] | unique' '[2]'
	expect '$maps.per_thread_on_host | map(select(.key == 0))[0].sum' 240
	# Key 2 has threadIdx.x: 0 to 39 in each of 3 blocks.
	expect '$maps.per_thread_on_host | map(select(.key == 2))[0].sum' 2340
	expect '$maps.all | map(.value)' '[60,60,60,60]'
	expect '$maps.all_on_host == $maps.all' true
}

@test "the seed's launchlate shares arrays between a uprobe and a GPU program" {
	need_probes
	run_with launchlate
	# 3 launches; 240 threads came after one, and none before it.
	expect '$maps.counts | map([.key, .value])' '[[0,3],[2,240]]'
	expect '[$maps.histogram[].value] | add' 240
	expect_error_line '^gputap: the host program attached_by_its_loader was not attached: its section \(uprobe\) names no target; use --attach attached_by_its_loader=FILE:FUNCTION$'
}

@test "uprobes at nvcc 12's template for launches see those of programs that lack it" {
	need_probes
	run_with launches --attach "launch_ends=$programs/vectors:$(sed -n 's/^#define LAUNCH "\(.*\)"/\1/p' \
		"$root/tests/programs/bpftime/launches.bpf.c")"
	expect '$maps.counts | map(.value)' '[3,3,240]'
}

@test "without its host program the GPU program of launchlate runs on" {
	run_with launchlate --no-linux
	expect '$maps.counts | map([.key, .value])' '[[1,240]]'
}

@test "__memcapture counts loads and stores of all kernels" {
	run_with memory
	# 100 threads of 240 add: two loads and a store, twice; 10 threads of `plain` load and store.
	expect '$maps.accesses | map(.value)' '[620]'
}

@test "a basic block counts its executions and reads registers, and one that is not there is rejected" {
	compile block
	gputap run --gpu soft --json "$object" -- "$programs/vectors"
	expect_status 0
	expect_output_line '^vectors: 100 of 100 sums are right$'
	json=$(grep '^{' <<<"$output")
	# 240 threads come to the end of vectorAdd; a branch led 40 of them there.
	expect '$maps.counts[0].value' '{"executions":240,"branches":40}'
	expect '.coverage | [.found, .patched, .rejected]' '[2,1,1]'
	expect '.coverage.reasons | map([.reason, .sites, .program, .function])' \
		'[["the kernel has no basic block 9 (it has 1)",1,"cuda__at_no_block","plain"]]'
}

# run_recorder OPTIONS…: the same, with record; $peak: the most memory of a process, KiB.
run_recorder() {
	compile record
	run --separate-stderr python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$build/gputap" run --gpu soft "$@" "$object" -- "$programs/vectors"
	expect_status 0
	peak=${lines[-1]}
	expect_output_line '^vectors: 100 of 100 sums are right$'
}

@test "a value of 300 MiB is filled and printed, and takes the memory of what was written" {
	need_command python3
	local options
	for options in '' --host-maps; do
		run_recorder --json $options
		json=$(grep '^{' <<<"$output")
		expect '$maps.recorded | map(.key)' '[1]'
		expect '$maps.recorded[0].value | [.missed, .counts.length, .counts.nonzero]' '[0,32768,120]'
		expect '[$maps.recorded[0].value.counts.elements[].value] | unique' '[2]'
		# The records of the first launch of kernels are the last of 299, those of the second before.
		expect '$maps.recorded[0].value.runs | [length, (map(.nonzero > 0) | indices(true))]' \
			'[299,[297,298]]'
		expect '[$maps.recorded[0].value.runs[297, 298] | .nonzero,
			([.elements[].value.number] | add)]' '[120,7260,120,7260]'
		expect '[$maps.recorded[0].value.runs[298].elements[119].value |
			.block, .thread]' '[2,39]'
		expect '$maps.recorded[0].value.last | . >= 1 and . <= 120' true
		[ "$peak" -lt 150000 ] || fail "a process had $peak KiB"
	done
}

@test "of a value of 300 MiB text has the first elements, and numbers of the others, at intervals too" {
	need_command python3
	run_recorder --interval 0.05
	[ "$(awk '{ if (length > longest) longest = length } END { print longest }' <<<"$output")" -lt 20000 ]
	expect_output_line '^  1: \{ \.missed = 0, \.counts = \[\[0\] = 2, .*, \[63\] = 2, 56 more, 32648 of 32768 are zero\], \.runs = \[\[297\] = \[\[0\] = \{ \.block = 0, .*, 297 of 299 are zero\], \.last = [0-9]+ \}$'
	expect_output_line '^  1 of 2 values are zero$'
	[ "$peak" -lt 150000 ] || fail "a process had $peak KiB"
}

@test "helper 512 at a basic block is rejected unless the section lists registers" {
	printf '%s\n' '#include "bpftime.h"' 'static const u64 (*read)(u64) = (void *)512;' \
		'SEC("kprobe/plain__BB1") int at_block__cuda() { return read(0); }' \
		>"$BATS_TEST_TMPDIR/block.c"
	clang -g -O2 -target bpf -I"/usr/include/$(uname -m)-linux-gnu" \
		-I"$root/tests/programs/bpftime" -c "$BATS_TEST_TMPDIR/block.c" -o "$BATS_TEST_TMPDIR/block.o"
	gputap verify "$BATS_TEST_TMPDIR/block.o"
	expect_status 1
	expect_output_line 'get_register#512: the section lists no register of PTX \(kprobe/<kernel>__BB<n>__<register>\)$'
}

@test "a kprobe that calls a helper of GPUs is a GPU program, whatever its names" {
	run_with schedule --no-linux
	expect '$maps.places | length' 10
	expect '$maps.places | map(.key) | sort' '[0,1,2,3,4,5,6,7,8,9]'
}

@test "a program that ends threads runs with --allow-control, configured by --set" {
	compile partition
	gputap run --gpu soft "$object" -- "$programs/vectors"
	expect_status 1
	expect_error_line '^gputap: cuda__probe: rejected: exit#507 changes the execution of the kernel: it requires --allow-control$'
	gputap run --gpu soft --json --allow-control --set 'partitions[0]=3' "$object" -- \
		"$programs/vectors"
	expect_status 0
	# The first of three blocks ran: 40 sums, and the one whose sum is 0.
	expect_output_line '^vectors: 40 of 100 sums are right$'
	json=$(grep '^{' <<<"$output")
	expect '$maps.ended | map(.value)' '[160]'
}

# A product of 3 rows of 4 numbers and 4 rows of 2.
multiply() {
	gputap gpurun "$@" --json --grid 2x2 --block 2x2 \
		--set 'sizes[0]=3,sizes[1]=2,sizes[2]=4' \
		--set "left=@$BATS_TEST_TMPDIR/left" --set "right=@$BATS_TEST_TMPDIR/right" "$object"
	expect_status 0
	product=$(jq -c '.devices[0].maps[] | select(.name == "product") | .entries | map(.value)' \
		<<<"$output")
}

@test "a program of its own may loop as often as a number of 32 bits from a map says" {
	compile matrix
	printf '%b' '\x1\0\0\0\x2\0\0\0\x3\0\0\0\x4\0\0\0' \
		'\x5\0\0\0\x6\0\0\0\x7\0\0\0\x8\0\0\0' \
		'\x1\0\0\0\x1\0\0\0\x1\0\0\0\xff\xff\xff\xff' >"$BATS_TEST_TMPDIR/left"
	printf '%b' '\x1\0\0\0\x2\0\0\0\x3\0\0\0\x4\0\0\0' \
		'\x5\0\0\0\x6\0\0\0\x7\0\0\0\x8\0\0\0' >"$BATS_TEST_TMPDIR/right"
	multiply --on gpu --gpu soft
	[ "$product" = '[50,60,114,140,2,4]' ] || fail "the product is $product"
	multiply --on interp
	[ "$product" = '[50,60,114,140,2,4]' ] || fail "the product is $product"
	gputap verify --max-insns 1000000 "$object"
	expect_status 1
	expect_output_line ': rejected: .* 1000000'
}

@test "a program in a kernel may not loop as often as a number of 32 bits says" {
	compile matrix
	gputap verify --as "gpu/entry/*" "$object"
	expect_status 1
	expect_output_line ': rejected: The sequence of 8193 jumps is too complex.$'
}
