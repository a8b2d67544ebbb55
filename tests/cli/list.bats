# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# gputap list.

load helper

@test "gputap list shows the sources, the outputs and the calls that are traced by default" {
	gputap list
	expect_status 0
	expect_error ""
	expect_output_line '^Sources \(-e\):$'
	expect_output_line '^  cuda +calls of the CUDA runtime and driver APIs$'
	expect_output_line '^Outputs:$'
	expect_output_line '^  json +[a-z]'
	expect_output_line '^Functions traced by default \(library, category, name\):$'
}

@test "the tutorial's eleven functions are traced by default" {
	gputap list
	for function in 'alloc +cudaMalloc' 'free +cudaFree' 'copy +cudaMemcpy' 'launch +cudaLaunchKernel' \
		'stream +cudaStreamCreate' 'sync +cudaStreamSynchronize' 'event +cudaEventCreate' \
		'event +cudaEventRecord' 'sync +cudaEventSynchronize' 'device +cudaGetDevice' \
		'device +cudaSetDevice'; do
		expect_output_line "^  cudart   $function$"
	done
}

@test "a glob picks functions, also one without a category" {
	gputap list 'cudaGetDeviceC*'
	expect_status 0
	expect_output "  cudart   device      cudaGetDeviceCount"
	gputap list cudaGetErrorName
	expect_status 0
	expect_output "  cudart   -           cudaGetErrorName"
}

@test "a glob that matches no function is reported" {
	gputap list 'nvml*'
	expect_status 1
	expect_output ""
	expect_error "gputap: no function matches 'nvml*'"
}

@test "two globs are rejected" {
	gputap list 'cuda*' 'cu*'
	expect_status 2
	expect_error "gputap: unexpected argument 'cu*' (try 'gputap list --help')"
}

@test "all functions of both APIs can be listed, each once, in three columns" {
	gputap list --functions
	expect_status 0
	[ "${#lines[@]}" -gt 800 ]
	expect_no_output_line '^Sources'
	[ -z "$(awk 'NF != 3' <<<"$output")" ]
	[ -z "$(sort <<<"$output" | uniq -d)" ]
}

@test "sources, outputs and events are listed alone where that is asked for" {
	gputap list --sources
	[ "${lines[0]}" = "Sources (-e):" ]
	expect_no_output_line '^Outputs'
	gputap list --outputs
	[ "${lines[0]}" = "Outputs:" ]
	gputap list --events
	[[ ${lines[0]} == "1 call: "* ]]
}

@test "docs/events.md shows what gputap list --events prints" {
	gputap list --events
	# shellcheck disable=SC2016 # backquotes of Markdown
	[ "$output" = "$(sed -n '/^```$/,/^```$/{/^```$/d;p}' "$root/docs/events.md")" ] ||
		fail "docs/events.md shows another list: run tools/update-docs"
}
