# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Side modules: of a module, the kernels that programs match are compiled again, and no others. On
# the software GPU; needs no privileges.

load helper

scenario=$build/tests/programs/side

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# counting SECTION: an object that counts the threads at a section's sites.
counting() {
	printf '%s\n' '#include <gputap/bpf.h>' 'GPUTAP_ARRAY(counts, unsigned long long, 1);' \
		"SEC(\"$1\") int count(void *ctx) {" \
		'	unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
}

# heavy SECTION: the same with a program that needs many registers.
heavy() {
	printf '%s\n' '#include <gputap/bpf.h>' 'GPUTAP_ARRAY(counts, unsigned long long, 1);' \
		"SEC(\"$1\") int count(void *ctx) {" \
		'	unsigned long long a = bpf_ktime_get_ns(), b = a * a, c = b + a, d = c * b;' \
		'	unsigned int key = 0;' \
		'	for (int i = 0; i < 8; i++) {' \
		'		a = a * b + d; b = b * c + a; c = c * d + b; d = d * a + c; }' \
		'	bpf_map_add(&counts, &key, (a ^ b ^ c ^ d) == 0x1234567 ? 2 : 1); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
}

# run_scenario NAME: with the object. Its checks hold.
run_scenario() {
	gputap run --gpu soft --json program.o -- "$scenario" "$1"
	expect_status 0
	expect_output_line "^$1: right\$"
}

# expect_json FILTER: it holds for the result.
expect_json() {
	jq -e "$1" <<<"$(grep '^{' <<<"$output")" >/dev/null || fail "not true: $1"
}

expect_count() {
	expect_json ".maps[0].entries == (if $1 == 0 then [] else [{key: 0, value: $1}] end)"
}

@test "of a module with 100 kernels the one that matches is compiled" {
	counting gpu/entry/k7
	run_scenario module
	expect_count 64
	expect_json '.coverage | .modules == 1 and .modules_patched == 1 and .modules_side == 1 and
		.kernels == 1 and .kernels_compiled == 1 and .found == 1 and .patched == 1'
	expect_error_line '^gputap: 1 module: 1 patched \(1 side, 0 whole\), 0 SASS only, 0 failed; 1 kernel, 1 compiled; 1 site: 1 patched, 0 rejected$'
	gputap run -v --gpu soft program.o -- "$scenario" module
	expect_error_line '^gputap: module 1 of process [0-9]+: side module with 1 of 100 kernels; 1 of 1 sites patched$'
}

@test "where every kernel matches, the whole module is compiled" {
	counting 'gpu/entry/*'
	run_scenario module
	expect_count 6400
	expect_json '.coverage | .modules_patched == 1 and .modules_side == 0 and
		.kernels == 100 and .kernels_compiled == 100'
	gputap run -v --gpu soft program.o -- "$scenario" module
	expect_error_line '^gputap: module 1 of process [0-9]+: whole module with 100 kernels, 100 matched \(every kernel matches\); 100 of 100 sites patched$'
}

@test "kernels of a library are found by every look-up, and have its handle" {
	for section in 'gpu/entry/k7' 'gpu/entry/k[0-9]' 'gpu/entry/*'; do
		counting "$section"
		run_scenario library
		case $section in
		*k7) expect_count 128 ;;
		*\]) expect_count 1280 ;;
		*) expect_count 12800 ;;
		esac
	done
}

@test "side modules are used wherever a program has the driver's functions from" {
	counting gpu/entry/k7
	run_scenario origins
	expect_count 256
	expect_json '.coverage | .modules_side == 8'
}

@test "handles of what was unloaded are unknown" {
	for section in 'gpu/entry/k7' 'gpu/entry/*'; do
		counting "$section"
		run_scenario unloaded
	done
}

@test "a library that is loaded without a context is patched for every device" {
	export SOFTGPU_DEVICES=2
	for section in 'gpu/entry/k7' 'gpu/entry/*'; do
		counting "$section"
		run_scenario devices
		expect_count 160
	done
}

# counting_by_device SECTION: programs count the threads of k7 by the number of their device: one
# that is in all kernels of a section, and one as for bpftime.
counting_by_device() {
	printf '%s\n' '#include <gputap/bpf.h>' \
		'static unsigned long long (*const device_ordinal)(void) = (void *)512;' \
		'GPUTAP_ARRAY(counts, unsigned long long, 4);' \
		'GPUTAP_ARRAY(ends, unsigned long long, 4);' \
		"SEC(\"$1\") int count(void *ctx) {" \
		'	unsigned int key = bpf_get_device(); bpf_map_add(&counts, &key, 1); return 0; }' \
		'SEC("kretprobe/k7") int count_end__cuda(void *ctx) {' \
		'	unsigned int key = device_ordinal(); bpf_map_add(&ends, &key, 1); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
}

@test "programs know the number of the GPU in each context, in side and whole modules" {
	export SOFTGPU_DEVICES=3
	counting_by_device gpu/entry/k7
	# The second time the patched text is in a file.
	for ((i = 0; i < 2; i++)); do
		run_scenario numbers
		expect_json '.maps | map(.entries | map(.value)) == [[64, 160, 224], [64, 160, 224]]'
		expect_json '.coverage | .modules_side == 4'
	done
	counting_by_device 'gpu/entry/*'
	run_scenario numbers
	expect_json '.maps | map(.entries | map(.value)) == [[64, 160, 224], [64, 160, 224]]'
	expect_json '.coverage | .modules_patched == 4 and .modules_side == 0'
}

@test "programs know the number of the GPU where threads begin and end contexts" {
	export SOFTGPU_DEVICES=3
	for section in gpu/entry/k7 'gpu/entry/*'; do
		counting_by_device "$section"
		run_scenario changes
		expect_json '.maps[0].entries | map([.key, .value]) | .[0] == [0, 1600] and
			.[1][0] == 1 and .[2] == [2, 128]'
	done
}

@test "the number of the GPU is written to no library that a context does not use" {
	export SOFTGPU_DEVICES=2
	for section in gpu/entry/k7 'gpu/entry/*'; do
		counting_by_device "$section"
		run_scenario unused
		expect_json '.maps[0].entries | map([.key, .value]) == [[0, 32], [1, 1]]'
	done
}

@test "where the number of the GPU cannot be written, the original is loaded, and the reason is reported" {
	driver_in_front
	export SOFTGPU_DEVICES=3 FRONT_FAIL=cuMemcpyHtoDAsync_v2
	counting_by_device gpu/entry/k7
	behind_front numbers
	# Those that are loaded where there is a context of another device than the first.
	expect_json '.coverage | .modules == 4 and .modules_failed == 4 and .found == .rejected'
	expect_json '.coverage.reasons[0].reason ==
		"the number of the GPU could not be written to the patched module"'
	# In contexts of the first device nothing is written.
	counting_by_device gpu/entry/k7
	behind_front module
	expect_json '.coverage | .modules_side == 1 and .modules_failed == 0'
}

# behind_front ARGUMENTS…: the same as run_scenario, with the driver of driver_in_front.
behind_front() {
	gputap run --gpu soft --json "${@:2}" program.o -- \
		env LD_LIBRARY_PATH="$PWD/front:$softgpu" "$scenario" "$1"
	expect_status 0
	expect_output_line "^$1: right\$"
}

@test "where a side library cannot be used on a device, the original is" {
	driver_in_front
	export SOFTGPU_DEVICES=2
	counting gpu/entry/k7
	behind_front devices
	expect_count 160
	FRONT_REJECT=gputap_ behind_front devices
	expect_count 64
	behind_front second
	expect_count 64
	FRONT_REJECT=gputap_ behind_front second
	expect_count 32
}

@test "options of the JIT compiler are those of the original, logs excepted" {
	counting gpu/entry/k7
	run_scenario options
	expect_count 64
}

@test "patched kernels run in blocks as large as before, with fewer registers" {
	# 16 for each of 1024 threads.
	export SOFTGPU_REGISTERS=16384
	for section in 'gpu/entry/k7' 'gpu/entry/*'; do
		heavy "$section"
		run_scenario large
		expect_count 2048
		expect_json '.coverage | .modules_patched == 2 and .found == .patched and .rejected == 0'
	done
}

@test "where that is impossible, the original is loaded" {
	export SOFTGPU_REGISTERS=16384 SOFTGPU_REJECT=.maxnreg
	for section in 'gpu/entry/k7' 'gpu/entry/*'; do
		heavy "$section"
		run_scenario large
		expect_count 0
		expect_json '.coverage | .modules_failed == 2 and .patched == 0 and .found == .rejected'
	done
}

@test "a handle that the driver uses again belongs to the new module" {
	counting 'gpu/atomic/k1'
	run_scenario reused
	expect_json '.coverage | .modules == 300 and .modules_side == 150 and .patched == 150'
}

@test "side modules are safe with threads that load and unload, and with fork" {
	counting gpu/entry/k7
	run_scenario threads
	expect_count 12800
}

@test "a side module that the driver rejects leaves the original alone" {
	counting gpu/entry/k7
	export SOFTGPU_REJECT=gputap_
	for kind in module library; do
		run_scenario $kind
		expect_count 0
		expect_json '.coverage | .modules_patched == 0 and .modules_failed == 1 and
			.found == 1 and .rejected == 1 and .kernels_compiled == 0'
		gputap run -v --gpu soft program.o -- "$scenario" $kind
		expect_error_line '^gputap: module 1 of process [0-9]+: original; 0 of 1 sites patched; the driver rejected the patched module \(218\)$'
	done
}

@test "a patched library that is rejected at its first use is replaced by the original" {
	counting 'gpu/entry/*'
	export SOFTGPU_REJECT=gputap_
	for kind in module library; do
		run_scenario $kind
		expect_count 0
		expect_json '.coverage | .modules_failed == 1 and .found == 100 and .rejected == 100'
	done
}

@test "what the driver rejects of the program itself is its own error" {
	counting gpu/entry/k7
	export SOFTGPU_REJECT=k99
	gputap run -v --gpu soft --json program.o -- "$scenario" module
	expect_status 1
	expect_output_line '^line [0-9]+: cuModuleLoadData.*: 218$'
	expect_error_line 'the driver rejected the original module$'
}

# patched_module: what run -v printed of the first module.
patched_module() {
	sed -n 's/^gputap: module 1 of process [0-9]*: //p' <<<"$stderr"
}

@test "a module that is loaded again has the same kernel and the same sites" {
	counting gpu/entry/k7
	gputap run -v --gpu soft program.o -- "$scenario" options
	expect_status 0
	[ "$(patched_module)" = 'side module with 1 of 100 kernels; 1 of 1 sites patched' ]
	expect_error_line '^gputap: module 2 of process [0-9]+: side module with 1 of 100 kernels \(cached\); 1 of 1 sites patched$'
	gputap cudacounter --gpu soft --json -- "$scenario" threads
	expect_status 0
	expect_json '.kernels | length == 1 and .[0].entries == 12800'
}

@test "a later run takes patched modules from the cache" {
	counting gpu/entry/k7
	for place in cache xdg/gputap home/.cache/gputap; do
		unset GPUTAP_CACHE XDG_CACHE_HOME
		case $place in
		cache) export GPUTAP_CACHE=$PWD/cache ;;
		xdg*) export XDG_CACHE_HOME=$PWD/xdg ;;
		home*) export XDG_CACHE_HOME='' HOME=$PWD/home ;;
		esac
		for module in 'side module with 1 of 100 kernels; 1 of 1 sites patched' \
			'side module with 1 of 100 kernels (cached); 1 of 1 sites patched'; do
			gputap run -v --gpu soft --json program.o -- "$scenario" module
			expect_status 0
			expect_count 64
			[ "$(patched_module)" = "$module" ] || fail "the module is: $(patched_module)"
		done
		[ "$(ls $place/patched | wc -l)" = 1 ]
		[ "$(stat -c %a $place/patched)" = 700 ]
	done
}

@test "without a cache that can be used, modules are patched each time" {
	counting gpu/entry/k7
	mkdir -p open/patched
	chmod 777 open/patched
	for cache in '' /proc/none "$PWD/open" "$PWD/program.o"; do
		for _ in 1 2; do
			GPUTAP_CACHE=$cache gputap run -v --gpu soft --json program.o -- "$scenario" module
			expect_status 0
			expect_count 64
			[ "$(patched_module)" = 'side module with 1 of 100 kernels; 1 of 1 sites patched' ]
		done
	done
	[ -z "$(ls open/patched)" ]
}

@test "another program, option or build has other modules in the cache" {
	export GPUTAP_CACHE=$PWD/cache
	counting gpu/entry/k7
	run_scenario module
	counting gpu/exit/k7
	gputap run -v --gpu soft program.o -- "$scenario" module
	expect_no_error_line cached
	gputap run -v --gpu soft --switchable program.o -- "$scenario" module
	expect_no_error_line cached
	gputap run -v --gpu soft --threads 2048 program.o -- "$scenario" module
	expect_error_line cached
	[ "$(find cache/patched -type f | wc -l)" = 3 ]
}
