# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The source "pcie", on accesses that this test makes through sysfs. Meant for a guest: this needs
# kprobes or fexit.

load ../cli/helper

device=/sys/bus/pci/devices/0000:00:00.0

setup_file() {
	"$build/gputap" doctor >"$BATS_FILE_TMPDIR/doctor" 2>/dev/null || :
}

setup() {
	need_root
	need_probes
	[ -w $device/config ] || skip "no PCI device 0000:00:00.0"
	! grep -q 'source pcie .*function' "$BATS_FILE_TMPDIR/doctor" || skip "no kprobes and no fexit"
	cd "$BATS_TEST_TMPDIR" || return
}

# accesses: of the trace in out.json, "NAME REGISTER OFFSET BYTES VALUE" each.
accesses() {
	jq -r 'select(.source == "pcie" and .process == "dd") |
		"\(.name) \(.register) \(.offset) \(.bytes) \(.value)"' out.json
}

@test "reads of each size have the register, the value and the process" {
	vendor=$(($(cat $device/vendor)))
	id=$(($(cat $device/device)))
	gputap trace -e pcie --json -o out.json -- sh -c "
		dd if=$device/config bs=4 count=1 of=bytes4 2>/dev/null
		dd if=$device/config bs=2 count=1 skip=1 of=bytes2 2>/dev/null
		dd if=$device/config bs=1 count=1 skip=1 of=bytes1 2>/dev/null"
	expect_status 0
	[ "$(accesses)" = "config_read VENDOR_ID 0 4 $((id << 16 | vendor))
config_read DEVICE_ID 2 2 $id
config_read VENDOR_ID+1 1 1 $((vendor >> 8))" ] || fail "$(accesses)"
	run -0 jq -s 'map(select(.source == "pcie" and .process == "dd")) |
		all(.address == "0000:00:00.0" and .is_user == 1 and .result == 0)' out.json
	[ "$output" = true ]
}

@test "writes have the value that was written" {
	before=$(dd if=$device/config bs=1 count=1 skip=60 2>/dev/null | od -An -tu1)
	gputap trace -e pcie --json -o out.json -- sh -c "
		printf '\\007' | dd of=$device/config bs=1 seek=60 conv=notrunc 2>/dev/null
		printf '\\$(printf %03o $before)' | dd of=$device/config bs=1 seek=60 conv=notrunc 2>/dev/null"
	expect_status 0
	[ "$(accesses)" = "config_write INTERRUPT_LINE 60 1 7
config_write INTERRUPT_LINE 60 1 $((before))" ] || fail "$(accesses)"
}

@test "every access is shown: as many as the reads of a loop" {
	gputap trace -e pcie --json -o out.json -- dd if=$device/config of=bytes bs=1 count=64
	[ "$(accesses | wc -l)" = 64 ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | [.source, .recorded, .lost]' out.json
	[ "$output" = '["pcie",64,0]' ]
	# The values are the bytes that the program read.
	[ "$(accesses | awk '{ printf "%02x", $5 }')" = "$(od -An -v -tx1 bytes | tr -d ' \n')" ]
}

@test "accesses of other processes are not shown" {
	gputap trace -e pcie --json -o out.json --comm dd -- sh -c "od -N4 $device/config; exec sleep 0.1"
	[ -z "$(accesses)" ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | .recorded' out.json
	[ "$output" = 0 ]
}

@test "stat counts accesses by register and by process" {
	gputap stat -e pcie -o table -- dd if=$device/config of=bytes bs=1 count=64
	grep -qE '^[0-9a-f:.]+ +0x04 +COMMAND +1 +0 +1$' table
	grep -qE '^[0-9a-f:.]+ +0x05 +COMMAND\+1 +1 +0 +1$' table
	grep -qE '^[0-9]+ dd +64 +0$' table
	gputap stat -e pcie --json -o stat.json -- dd if=$device/config of=bytes bs=1 count=64
	run -0 jq -c '.sources[0] | [(.registers | length), (.registers | map(.reads) | add),
		(.processes | map(.reads))]' stat.json
	[ "$output" = "[64,64,[64]]" ]
}
