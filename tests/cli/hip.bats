# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What `gputap run` says of the kernels of HIP programs, by offload bundles that are made up. Needs no
# privileges and no GPU.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >count.c <<-'END'
		#include <gputap/bpf.h>
		SEC("gpu/entry/*") int begin(struct gputap_context *ctx) { return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I "$root/include" -c count.c -o count.o
	echo 'int main(void) { return 0; }' >program.c
	"${CC:-cc}" program.c -o plain
}

# word NUMBER: 8 bytes, little-endian, of a number below 65536.
word() {
	printf "\\x$(printf %02x $(($1 % 256)))\\x$(printf %02x $(($1 / 256)))\\0\\0\\0\\0\\0\\0"
}

# bundle ID BYTES …: an offload bundle; BYTES as printf takes them, 4 each.
bundle() {
	local count=$(($# / 2)) offset id code=
	offset=$((32 + 24 * count))
	for ((i = 1; i < $#; i += 2)); do
		id=${!i}
		offset=$((offset + ${#id}))
	done
	printf '__CLANG_OFFLOAD_BUNDLE__'
	word "$count"
	while [ $# -gt 0 ]; do
		word "$offset"
		word 4
		word "${#1}"
		printf %s "$1"
		code+=$2
		offset=$((offset + 4))
		shift 2
	done
	printf %b "$code"
}

# run_with: `gputap run` on a program whose section .hip_fatbin is the file `bundles`.
run_with() {
	objcopy --add-section .hip_fatbin=bundles --set-section-flags .hip_fatbin=alloc,readonly plain program
	gputap run --gpu soft count.o -- ./program
	expect_status 0
}

@test "HIP kernels of an instruction set have no portable intermediate code" {
	bundle host-x86_64-unknown-linux-- '\0\0\0\0' hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+ '\177ELF' \
		hipv4-amdgcn-amd-amdhsa--gfx1030 '\177ELF' >bundles
	bundle hipv4-amdgcn-amd-amdhsa--gfx1030 '\177ELF' >>bundles
	run_with
	expect_error_line '^gputap: HIP kernels \(gfx90a:xnack\+, gfx1030\): no portable intermediate code, no program is inserted$'
}

@test "HIP kernels in SPIR-V are known by their code, beside those of an instruction set" {
	bundle hip-spirv64-amd-amdhsa--amdgcnspirv '\0003\0002\0043\0007' hip-amdgcn-amd-amdhsa--gfx900 '\177ELF' \
		hip-spirv64----generic 'none' >bundles
	run_with
	expect_error_line '^gputap: HIP kernels \(amdgcnspirv\): SPIR-V, into which programs are inserted where the HIP library builds it by OpenCL$'
	expect_error_line '^gputap: HIP kernels \(gfx900\): no portable intermediate code, no program is inserted$'
	expect_error_line '^gputap: HIP kernels \(generic\): unknown code, no program is inserted$'
}

# compressed VERSION METHOD: standard input as a compressed offload bundle, by Python's zlib.
compressed() {
	/usr/bin/python3 -c 'import struct, sys, zlib
bundle, version, method = sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2])
payload = zlib.compress(bundle)
sizes = [len(bundle)] if version == 1 else [len(payload) + (24, 32)[version - 2], len(bundle)]
head = b"CCOB" + struct.pack("<HH", version, method)
head += b"".join(struct.pack("<Q" if version == 3 else "<I", size) for size in sizes) + bytes(8)
sys.stdout.buffer.write(head + payload)' "$@"
}

@test "HIP kernels in compressed offload bundles are known, too" {
	: >bundles
	for version in 1 2 3; do
		bundle hip-amdgcn-amd-amdhsa--gfx90$version '\177ELF' | compressed $version 0 >>bundles
		printf '\0\0\0' >>bundles
	done
	run_with
	expect_error_line '^gputap: HIP kernels \(gfx901, gfx902, gfx903\): no portable intermediate code, no program is inserted$'
}

@test "offload bundles that cannot be read are reported, and the program runs" {
	printf 'CCOB\2\0' >bundles
	run_with
	expect_error_line '^gputap: HIP kernels: the compressed offload bundle at byte 0 is malformed$'
	bundle hip-amdgcn-amd-amdhsa--gfx900 '\177ELF' | compressed 2 7 >bundles
	run_with
	expect_error_line '^gputap: HIP kernels: the offload bundle is compressed by the unknown method 7$'
	bundle hip-amdgcn-amd-amdhsa--gfx900 '\177ELF' | head -c 70 >bundles
	run_with
	expect_error_line '^gputap: HIP kernels: the offload bundle at byte 0 is malformed$'
	cp plain program
	gputap run --gpu soft count.o -- ./program
	expect_no_error_line 'HIP'
}
