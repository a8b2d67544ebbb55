# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The source "nvml", with a stand-in for NVIDIA's library.

load helper

setup() {
	need_probes
	export LD_LIBRARY_PATH=$build/tests/programs/nvml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "the state of each GPU is sampled once a second, with its units" {
	gputap trace -e nvml --json -o out.json --duration 2.5
	expect_status 0
	run -0 jq -s 'map(select(.name == "gpu_sample" and .gpu == 0)) | length >= 2 and
		(map(.time) | . == sort) and
		all(.model == "Large GPU" and .utilization == 87 and .memory_utilization == 34 and
			.memory_used == 20 * 1073741824 and .memory_total == 80 * 1073741824 and
			.power == 312500 and .temperature == 61 and .sm_clock == 1410 and
			.memory_clock == 1593 and .throttle == "power cap|hardware thermal" and
			.ecc_corrected == 5 and .ecc_uncorrected == 0 and
			.pcie_sent == 3000000 and .pcie_received == 7000000)' out.json
	[ "$output" = true ]
	run -0 jq -s '(map(select(.source == "nvml" and .name)) | length) as $count |
		map(select(.schema == "gputap.totals.1" and .source == "nvml"))[0].recorded == $count' out.json
	[ "$output" = true ]
}

@test "what a GPU does not report is null, and missing in text" {
	gputap trace -e nvml --json -o out.json --duration 0.5
	run -0 jq -s 'map(select(.gpu == 1)) | length >= 1 and
		all(.model == "Small GPU" and .temperature == 61 and .power == null and
			.utilization == null and .sm_clock == null and .ecc_corrected == null and
			.pcie_sent == null and .pcie_replays == null and .throttle == null)' out.json
	[ "$output" = true ]
	gputap trace -e nvml --duration 0.5
	grep -qE 'gpu_sample +\[NVML\] +memory_used=20\.0 GiB memory_total=80\.0 GiB gpu=1 temperature=61 model=Small GPU$' <<<"$output"
	grep -q 'throttle=power cap|hardware thermal .* power=312500 temperature=61' <<<"$output"
}

@test "NVLink traffic is what was sent and received since the sample before, errors are totals" {
	gputap trace -e nvml --json -o out.json --duration 2.5
	expect_status 0
	run -0 jq -s 'map(select(.name == "nvlink_sample")) | length >= 2 and
		all(.gpu == 0 and .links == 18 and .crc_flit_errors == 3 and .crc_data_errors == null and
			.replays == 5000000000 and .recoveries == 0 and .model == "Large GPU") and
		(.[0] | .sent == null and .received == null and .duration == 0) and
		(.[1:] | all(.sent == 1048576 and .received == 2097152 and .duration > 0)) and
		([range(1; length) as $i | .[$i].time - (.[$i - 1] | .time + .duration)] | all(. == 0))' out.json
	[ "$output" = true ]
	run -0 jq -s 'map(select(.source == "nvml" and .name)) | length as $count |
		map(select(.name == "nvlink_sample")) | length as $links | $count > $links' out.json
	[ "$output" = true ]
	gputap trace -e nvml --duration 0.5
	grep -qE 'nvlink_sample +\[NVML\] +crc_flit_errors=3 replays=5000000000 recoveries=0 gpu=0 links=18 model=Large GPU$' <<<"$output"
}

@test "stat shows events, their rates and the processes of a source without a summary of its own" {
	gputap stat -e nvml --json -o stat.json --duration 0.5
	expect_status 0
	run -0 jq -e '.totals[0].recorded as $recorded | .sources[0] |
		(.events | map(.name) | sort) == ["gpu_sample", "nvlink_sample"] and
		(.events | map(.count) | add) == $recorded and
		(.events | map(select(.name == "gpu_sample"))[0].count) == $recorded / 3 * 2 and
		(.processes | map(.count)) == [$recorded]' stat.json
}

@test "without the library, and where it does not work, the reason is an error of the source alone" {
	NVML_BROKEN=1 gputap trace -e nvml -- true
	expect_status 1
	expect_error_line '^gputap: NVML cannot be initialized \(nvmlReturn_t 9\): .nvidia-smi. shows whether the driver works$'
	NVML_BROKEN=1 gputap doctor --json
	run -0 jq -e '.examinations[] | select(.name == "source nvml") | .verdict == "missing"' <<<"$output"
	NVML_BROKEN=1 gputap trace -e all -- true
	expect_status 0
}
