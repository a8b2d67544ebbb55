# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# gpurun: GPU programs run standalone over a grid, on the software GPU and in the interpreter, with
# input from files and maps. Needs no privileges and no GPU.

load helper

# words NUMBER…: writes 32-bit words, little-endian.
words() {
	local number
	for number; do
		printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((number & 255)) \
			$((number >> 8 & 255)) $((number >> 16 & 255)) $((number >> 24 & 255)))"
	done
}

# on_both ARGUMENTS…: runs gpurun in the interpreter, then on the software GPU; the results must be
# equal.
on_both() {
	gputap gpurun --on interp "$@"
	expect_status 0
	local first=$output
	gputap gpurun --gpu soft "$@"
	expect_status 0
	expect_output "$first"
}

# object SOURCE: compiles a program with an array, a hash and an array with a value per thread.
object() {
	cat >"$BATS_TEST_TMPDIR/program.c" <<-END
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(numbers, unsigned int, 4);
		GPUTAP_HASH(names, unsigned long long, short, 2);
		GPUTAP_THREAD_ARRAY(starts, unsigned long long, 1);
		GPUTAP_RING(records, 4096);
		const volatile unsigned long long limit = 7;
		$1
		char _license[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

using_all='SEC("gpu/run") long run(void *memory) {
	unsigned int key = 3; unsigned long long name = 5; short *value;
	unsigned int *number = bpf_map_lookup_elem(&numbers, &key);
	unsigned long long *start;
	key = 0;
	start = bpf_map_lookup_elem(&starts, &key);
	value = bpf_map_lookup_elem(&names, &name);
	bpf_ringbuf_output(&records, &key, 4, 0);
	return (number ? *number : 0) + (value ? *value : 0) + (start ? *start : 0) + limit; }'

@test "gpurun adds the vectors of a file, each thread one element, and writes the sums" {
	local a=() b=() sums=() i
	for ((i = 0; i < 300; i++)); do
		a+=($((i * 3))) b+=($((0xffffffff - i))) sums+=($(((i * 2 - 1) & 0xffffffff)))
	done
	words "${a[@]}" "${b[@]}" >"$BATS_TEST_TMPDIR/vectors"
	{
		cat "$BATS_TEST_TMPDIR/vectors"
		words "${sums[@]}"
	} >"$BATS_TEST_TMPDIR/expected"
	truncate -s 3600 "$BATS_TEST_TMPDIR/vectors"
	for engine in '--on interp' '--gpu soft'; do
		# shellcheck disable=SC2086
		gputap gpurun $engine --grid 2 --block 150 \
			--mem-file "$BATS_TEST_TMPDIR/vectors" --mem-out "$BATS_TEST_TMPDIR/out" \
			"$examples/vectoradd.bpf.o"
		expect_status 0
		expect_output ''
		cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/expected"
		rm "$BATS_TEST_TMPDIR/out"
	done
	# Elements that have no thread keep their value.
	gputap gpurun --gpu soft --block 1 --mem-file "$BATS_TEST_TMPDIR/vectors" \
		--mem-out "$BATS_TEST_TMPDIR/out" "$examples/vectoradd.bpf.o"
	expect_status 0
	[ "$(cmp -l "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/vectors" | wc -l)" = 4 ]
}

@test "gpurun counts the bytes of a file in a histogram, on both engines" {
	for ((i = 0; i < 256; i++)); do
		printf "\\x$(printf %02x $i)%.0s" $(seq $((i % 5 + 1)))
	done >"$BATS_TEST_TMPDIR/bytes"
	gputap gpurun --gpu soft --grid 2 --block 32 --mem-file "$BATS_TEST_TMPDIR/bytes" --json \
		"$examples/histogram.bpf.o"
	expect_status 0
	expect_json '.[0].devices[0].maps | map(select(.name == "counts"))[0].entries |
		length == 256 and all(.value == .key % 5 + 1)'
	on_both --grid 2 --block 32 --mem-file "$BATS_TEST_TMPDIR/bytes" "$examples/histogram.bpf.o"
	expect_output_line '^  254: 5$'
	expect_output_line '^  1 of 1 values are zero$'
	# 16 of the 767 bytes for each of 8 threads: the others are counted as such.
	on_both --block 8 --mem-file "$BATS_TEST_TMPDIR/bytes" "$examples/histogram.bpf.o"
	expect_output_line "^  0: $(($(wc -c <"$BATS_TEST_TMPDIR/bytes") - 128))\$"
}

@test "gpurun --set gives maps of each shape their values before the run" {
	object "$using_all"
	on_both --block 2 --all --set 'numbers[3]=0x100,names[5]=-2' --set 'starts[0]=1000' \
		"$BATS_TEST_TMPDIR/program.o"
	# 256 - 2 + 1000 + 7
	expect_output_line '^0: 4ed$'
	expect_output_line '^1: 4ed$'
	on_both --all --set 'names[hex:0500000000000000]=hex:2a00' "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^0: 31$'
}

@test "gpurun --set fills an array from a file, and the rest of it is zero" {
	object "$using_all"
	words 1 2 3 >"$BATS_TEST_TMPDIR/words"
	printf '\x09' >>"$BATS_TEST_TMPDIR/words"
	on_both --set "numbers=@$BATS_TEST_TMPDIR/words" "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^  2: 3$'
	expect_output_line '^  3: 9$'
}

# rejects ASSIGNMENT TEXT: --set of the assignment fails with the text.
rejects() {
	gputap gpurun --gpu soft --set "$1" "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	expect_error "gputap: $2"
}

@test "gpurun --set reports what is wrong with a value" {
	object "$using_all"
	head -c 17 /dev/zero >"$BATS_TEST_TMPDIR/17"
	local form='expected MAP[KEY]=VALUE or MAP=@FILE'
	rejects numbers "numbers: $form"
	rejects numbers=3 "numbers=3: $form"
	rejects 'numbers[3' "numbers: $form"
	rejects 'number[3]=1' "$BATS_TEST_TMPDIR/program.o: there is no map 'number'"
	rejects 'numbers[4]=1' 'numbers: the key 4 is not 0 to 3'
	rejects 'numbers[x]=1' "numbers: invalid key 'x' (an integer of 4 bytes, or hex: and 8 digits)"
	rejects 'names[1]=65536' "names: invalid value '65536' (an integer of 2 bytes, or hex: and 4 digits)"
	rejects 'names[1]=-32769' "names: invalid value '-32769' (an integer of 2 bytes, or hex: and 4 digits)"
	rejects 'names[1]=hex:00' "names: invalid value 'hex:00' (an integer of 2 bytes, or hex: and 4 digits)"
	rejects 'names[1]=1,names[2]=1,names[3]=1' 'names: more values than the 2 entries of the map'
	rejects 'records[1]=1' 'records: cannot be set: a ring has no values'
	rejects 'program.rodata[0]=1' \
		'program.rodata: cannot be set: it is read-only, and its programs were verified with its values'
	rejects "numbers=@$BATS_TEST_TMPDIR/17" \
		"numbers: $BATS_TEST_TMPDIR/17 has 17 bytes, and the map 4 values of 4 bytes"
	rejects "names=@$BATS_TEST_TMPDIR/17" 'names: only arrays can be set from a file'
	rejects "numbers=@/nonexistent" '/nonexistent: No such file or directory: check the path'
}

@test "gpurun runs programs of kprobe/__directly_run, chosen by name" {
	object 'SEC("kprobe/__directly_run") int cuda__first(void *ctx) { return 1; }
		SEC("kprobe/__directly_run") int cuda__second(void *ctx) {
			unsigned long long x, y, z; unsigned int key, sum;
			unsigned int *number;
			bpf_get_thread_idx(&x, &y, &z);
			key = x;
			number = bpf_map_lookup_elem(&numbers, &key);
			if (!number) return 0;
			sum = *number * 2;
			bpf_map_update_elem(&numbers, &key, &sum, 0);
			return 0; }'
	gputap directly_run_on_gpu --gpu soft --block 4 "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error_line ': 2 GPU programs: choose one, such as --prog cuda__first$'
	on_both --block 64 --prog cuda__second --set 'numbers[0]=1,numbers[1]=20,numbers[3]=300' \
		"$BATS_TEST_TMPDIR/program.o"
	expect_output "numbers (array, 4 entries at most)
  0: 2
  1: 40
  3: 600
  1 of 4 values are zero"
}

@test "gpurun rejects memory that is given twice, too large, or for several devices" {
	gputap gpurun --mem 00 --mem-size 8 "$examples/vectoradd.bpf.o"
	expect_status 2
	expect_error "gputap: --mem, --mem-file and --mem-size exclude each other (try 'gputap gpurun --help')"
	gputap gpurun --mem-size 257M "$examples/vectoradd.bpf.o"
	expect_status 2
	expect_error "gputap: --mem-size is at most 256M (try 'gputap gpurun --help')"
	gputap gpurun --device 0,1 --mem-size 8 --mem-out out "$examples/vectoradd.bpf.o"
	expect_status 2
	expect_error "gputap: --mem-out needs a single device (try 'gputap gpurun --help')"
	gputap gpurun --mem-file /nonexistent "$examples/vectoradd.bpf.o"
	expect_status 2
	expect_error 'gputap: /nonexistent: No such file or directory: check the path'
	gputap gpurun --gpu soft --mem-size 12 --mem-out /nonexistent/out "$examples/vectoradd.bpf.o"
	expect_status 1
	expect_error_line '^gputap: cannot write the memory to /nonexistent/out: No such file or directory: create its folder, or choose another file$'
}

@test "exec --raw rejects --set and memory that is given twice" {
	gputap exec --raw --set 'a[0]=1' </dev/null
	expect_status 2
	expect_error "gputap: --raw reads one program: --set needs FILE (try 'gputap exec --help')"
	gputap exec --raw --mem-size 8 aabb </dev/null
	expect_status 2
	expect_error "gputap: the memory is given twice: --mem-size and 'aabb' (try 'gputap exec --help')"
}
