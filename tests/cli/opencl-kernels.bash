# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What tests of GPU programs in kernels of OpenCL and Level Zero share: an object that counts, and
# compilers.
# shellcheck shell=bash disable=SC2034,SC2154 # what it sets, the tests use; what it uses, helper sets

kernels=$build/tests/programs/opencl_kernels
test_program=$kernels

setup_file() {
	cat >"$BATS_FILE_TMPDIR/count.c" <<-'END'
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(counts, unsigned long long, 4);
		static inline int count(unsigned int key) {
			unsigned long long *value = bpf_map_lookup_elem(&counts, &key);
			if (value) __sync_fetch_and_add(value, 1);
			return 0; }
		SEC("gpu/entry/*") int begin(struct gputap_context *ctx) { return count(0); }
		SEC("gpu/exit/*") int end(struct gputap_context *ctx) { return count(1); }
		SEC("gpu/block_begin") int block(struct gputap_context *ctx) { return count(2); }
		SEC("gpu/entry.warp/*") int warp(struct gputap_context *ctx) { return count(3); }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$BATS_TEST_DIRNAME/../../include" \
		-c "$BATS_FILE_TMPDIR/count.c" -o "$BATS_FILE_TMPDIR/count.o"
}

setup() {
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR # a kernel is compiled once
	count=$BATS_FILE_TMPDIR/count.o
	cd "$BATS_TEST_TMPDIR" || return
	need_file "$kernels" "test program for OpenCL (ocl-icd-opencl-dev, opencl-c-headers)"
	clinfo -l 2>/dev/null | grep -q Device || skip "no OpenCL device (pocl-opencl-icd, clinfo)"
	local version
	for version in -14 -15 -16 -17 -18 -19 ''; do
		command -v "clang$version" >/dev/null && command -v "llvm-spirv$version" >/dev/null && return
	done
	skip "clang and llvm-spirv of one version are not installed"
}

# As helper's. What commands insert programs into is saved in $modules, and valid by the SPIR-V tools.
gputap() {
	local module
	modules=$BATS_TEST_TMPDIR/modules
	case $1 in
	run | threadhist | cudacounter | kernelretsnoop | blocktime | memtrace | launchlate | hotloop | divergence | stall)
		observe "$build/gputap" "$1" --save-modules "$modules" "${@:2}"
		;;
	*) observe "$build/gputap" "$@" ;;
	esac
	command -v spirv-val >/dev/null || return 0
	for module in "$modules"/*.spv; do
		[ ! -e "$module" ] || spirv-val --target-env spv1.0 "$module" ||
			fail "the module is not valid: $module"
	done
}

# object SECTION BODY: compiles a program with an array `values` of one number, $value.
object() {
	cat >program.c <<-END
		#include <gputap/bpf.h>
		GPUTAP_ARRAY(values, unsigned long long, 1);
		SEC("$1") int program(struct gputap_context *ctx) {
			unsigned int key = 0;
			unsigned long long *value = bpf_map_lookup_elem(&values, &key);
			if (value) { $2; }
			return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
}

# counted OBJECT COMMAND…: the values of the first map become $output, with commas; a line before them
# is what the command printed.
counted() {
	gputap run --gpu soft --json "$1" -- "${@:2}"
	expect_status 0
	printed=$(grep -v '^{' <<<"$output" || true)
	coverage=$(grep '^{' <<<"$output" | jq -s '.[0].coverage')
	output=$(grep '^{' <<<"$output" | jq -rs '.[0].maps[0].entries | map(.value | tostring) | join(",")')
}

# expect_counts PROGRAM COUNTS: a part of the test program is right, and so are the counts of threads
# at the start and the end, of blocks and of warps.
expect_counts() {
	counted "$count" "$test_program" "$1"
	[ "$printed" = right ] || fail "$1: $printed"
	expect_output "$2"
}

# run_samples COMMAND…: a command on all samples of OpenCL, whose results are those that they
# have alone. The report is $output, and what the samples printed $printed.
run_samples() {
	local samples=$build/tests/programs/opencl_samples alone=$BATS_FILE_TMPDIR/alone
	gputap "$@" -- "$samples"
	expect_status 0
	printed=$(grep -v '^{' <<<"$output") output=$(grep '^{' <<<"$output" || true)
	[ -e "$alone" ] || "$samples" >"$alone"
	[ "$(grep -c ': right, ' "$alone")" = 11 ] || fail "the samples alone: $(cat "$alone")"
	diff "$alone" - <<<"$printed" || fail "other results"
}

# run_to_end COMMAND…: $output is what the command printed, which outlives gputap.
run_to_end() {
	mkfifo end
	"$build/gputap" run --gpu soft "$count" -- sh -c 'exec 9>end; exec "$@" >printed 2>&1' sh "$@" \
		>/dev/null 2>&1 3>&- &
	# Ends when the command has closed its end.
	cat end >/dev/null
	output=$(cat printed)
	rm end
}

# make_late SOURCE LIBRARY: ./late is the program of a source, which it opens, with the library, when
# it runs.
make_late() {
	need_command cc
	cc -shared -fPIC -o opened.so "$1" "$2"
	cat >late.c <<-'END'
		#include <dlfcn.h>
		int main(int count, char **words) {
			void *library = dlopen("./opened.so", RTLD_NOW);
			int (*run)(int count, char **words) = library ? dlsym(library, "main") : 0;
			return run ? run(count, words) : 1; }
	END
	cc late.c -o late
}

# fake TOOL COMMANDS: in front of the compilers of the host.
fake() {
	local version
	mkdir -p fake
	for version in -14 -15 -16 -17 -18 -19 ''; do
		printf '#!/bin/sh\n%s\n' "$2" >"fake/$1$version"
		chmod +x "fake/$1$version"
	done
	export PATH=$PWD/fake:$PATH
}

# need_oclgrind: from now on the only device is a simulator that calls itself a CPU, and writes what
# accesses memory that it does not have to ./reports.
need_oclgrind() {
	need_file /usr/lib/oclgrind/liboclgrind-rt-icd.so "Oclgrind (oclgrind)"
	export OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so OCLGRIND_LOG=$PWD/reports
}

# expect_no_reports: Oclgrind ran, and has reported nothing.
expect_no_reports() {
	[ -e reports ] || fail "no kernel was executed"
	[ ! -s reports ] || fail "$(head -n 20 reports)"
}
