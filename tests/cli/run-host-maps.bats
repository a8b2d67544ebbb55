# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# run: programs in kernels that access maps on the host. Needs no privileges and no GPU.

load helper

@test "programs in kernels access maps on the host, and nothing waits when gputap is killed" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' \
		'GPUTAP_MAP(blocks, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 2048);
		SEC("gpu/entry.block/*") int block(struct gputap_context *ctx) {
			unsigned int key = ctx->block_x; return bpf_map_add(&blocks, &key, key + 1); }
		SEC("gpu/load.warp/spin*") int load(struct gputap_memory *ctx) {
			unsigned int key = 5000; return bpf_map_add(&blocks, &key, 1); }' \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	output=$(grep '^{' <<<"$output")
	expect_json '[.[] | select(.coverage)][0] | .calls_lost == 0 and (.maps[0] |
		.type == "lru_hash" and (.entries | length) == 1024 and
		([.entries[].value] | add) == 524800)'
	mkfifo "$BATS_TEST_TMPDIR/input"
	exec 9<>"$BATS_TEST_TMPDIR/input"
	"$build/gputap" run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- \
		"$build/tests/programs/persistent" <"$BATS_TEST_TMPDIR/input" \
		>"$BATS_TEST_TMPDIR/output" 2>/dev/null 9>&- 3>&- &
	session=$!
	until grep -q '^running' "$BATS_TEST_TMPDIR/output"; do sleep 0.05; done
	kill -KILL "$session"
	wait "$session" || true
	exec 9>&-
	until grep -q '^stopped' "$BATS_TEST_TMPDIR/output"; do sleep 0.05; done
}

@test "the lanes of a warp continue together after a program that waits for the host" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	cd "$BATS_TEST_TMPDIR"
	cat >lanes.cu <<-'EOF'
		#include <cuda_runtime.h>
		#include <stdio.h>
		__global__ void count_partial(unsigned *partial)
		{
			unsigned lanes;

			asm volatile("activemask.b32 %0;" : "=r"(lanes));
			if (lanes != ~0u)
				atomicAdd(partial, 1);
		}
		int main(void)
		{
			unsigned *partial, count;

			cudaMalloc((void **)&partial, sizeof(count));
			cudaMemset(partial, 0, sizeof(count));
			count_partial<<<100, 32>>>(partial);
			cudaMemcpy(&count, partial, sizeof(count), cudaMemcpyDeviceToHost);
			printf("%u lanes in parts of warps\n", count);
			return 0;
		}
	EOF
	"$root/tools/softcc" --build "$build" -o lanes lanes.cu
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' \
		'GPUTAP_MAP(blocks, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 2048);
		SEC("gpu/block_begin") int block(struct gputap_context *ctx) {
			unsigned int key = ctx->block_x; return bpf_map_add(&blocks, &key, key + 1); }' >program.c
	clang -g -O2 -target bpf -I "$root/include" -c program.c -o program.o
	gputap run --gpu soft program.o -- ./lanes
	expect_status 0
	expect_output_line '^0 lanes in parts of warps$'
	grep -qE ' 1 site: 1 patched, 0 rejected$' <<<"$stderr"
}
