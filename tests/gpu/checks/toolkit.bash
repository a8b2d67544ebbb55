# shellcheck shell=bash disable=SC2034,SC2154 # what tests/gpu/run sets and uses
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Programs that only nvcc compiles, with the headers of the toolkit. Each compares what its kernels
# compute with what the host does, or prints it.

# Name, architecture, other options, what it is.
toolkit_table() {
	cat <<-'END'
		program 75 - variables in constant, global and managed memory
		nested 75 -rdc=true,-lcudadevrt kernels that launch kernels, loops of graphs
		device_runtime 75 -rdc=true,-lcudadevrt the device runtime, a barrier of the grid
		kernels_groups 90 - cooperative groups, barriers and pipelines of libcu++
		kernels_cluster 90 - clusters of blocks
		kernels_matrix 90 - wmma
		kernels_textures 80 - textures and surfaces
		kernels_cub 75 - Thrust and CUB
		library 75 - radix sort, reduce_by_key, scan and select of Thrust and CUB
		hopper 90a - wgmma, TMA, mbarrier and cp.async
	END
}

# The compute capability, as 90.
capability() {
	if [ "$gpu" = soft ]; then
		echo 90
	else
		nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .
	fi
}

# compile_toolkit_program NAME ARCHITECTURE OPTIONS
compile_toolkit_program() {
	local options=()
	[ "$3" = - ] || IFS=, read -ra options <<<"$3"
	architecture=$2 with_nvcc -std=c++17 "${options[@]}" -o "$programs/$1" \
		"$sources/toolkit/$1.cu" >"$work/nvcc-$1" 2>&1
}

# Several at once, since some take minutes.
compile_toolkit() {
	local name architecture options
	while read -r name architecture options _; do
		compile_toolkit_program "$name" "$architecture" "$options" &
	done < <(toolkit_table)
	wait
}

# accounts_for_all FILE: found = patched + rejected.
accounts_for_all() {
	local summary found patched rejected
	summary=$(grep -oE '[0-9]+ modules?: .* rejected$' "$1" | tail -n 1)
	read -r found patched rejected <<<"$(grep -oE '[0-9]+ sites?: .*' <<<"$summary" | tr -cs '0-9\n' ' ')"
	echo "${summary:-no coverage was printed}"
	[ -n "$found" ] && [ "$found" = $((patched + rejected)) ]
}

# same_in_toolkit NAME COMMAND OPTIONS…: with the command of gputap before it, NAME prints the same.
same_in_toolkit() {
	local with_gputap=("${@:2}")
	[ -e "$programs/$1" ] || {
		echo "nvcc cannot compile it: $(grep -m 1 -i error "$work/nvcc-$1")"
		return 1
	}
	prints_the_same "$programs/$1" && accounts_for_all "$work/with-error"
}

# Tools whose patched modules NVIDIA's driver may reject, so that they stay as they were: with
# CUB's radix sort (docs/ebpf.md, Limitations of `run`).
rejected_by_nvidia=(memtrace stall)

# patched_in_toolkit NAME COMMAND OPTIONS…: the same, and no module failed.
patched_in_toolkit() {
	same_in_toolkit "$@" || return
	[ "$gpu" = soft ] || [[ " ${rejected_by_nvidia[*]} " != *" $2 "* ]] || return 0
	grep -q ', 0 failed; ' "$work/with-error"
}

# The kernel that launches itself, without the other one of its program.
side_module_is_linked() {
	patched_in_toolkit nested cudacounter --gpu "$gpu" --kernel 'sort*' || return
	grep -q '1 patched (1 side, 0 whole)' "$work/with-error"
}

check_toolkit() {
	local name architecture what capability
	if ! command -v nvcc >/dev/null || { [ "$gpu" = soft ] && ! $toolkit; }; then
		skip "programs of CUDA's headers" 'needs nvcc and an NVIDIA GPU, or --toolkit'
		return
	fi
	compile_toolkit
	capability=$(capability)
	while read -r name architecture _ what; do
		architecture=${architecture//[!0-9]/}
		if [ "$architecture" -gt "$capability" ]; then
			skip "$what" "needs compute capability $architecture"
		elif [ "$name $gpu" = 'hopper soft' ]; then
			skip "$what" 'needs an NVIDIA GPU'
		else
			check "$what" patched_in_toolkit "$name" run --gpu "$gpu" "$objects/sites.bpf.o"
		fi
	done < <(toolkit_table)
	check 'a side module that is linked with the device runtime' side_module_is_linked
	for tool in $("$gputap" list --tools | awk 'NR > 1 { print $1 }'); do
		[ "$tool" != launchlate ] || ! grep -q 'no privilege' "$work/privileges" || continue
		check "$tool: Thrust and CUB" patched_in_toolkit library "$tool" --gpu "$gpu"
	done
}
