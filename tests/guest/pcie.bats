# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The source "pcie", on accesses that this test makes through sysfs. Meant for a guest: this needs
# kprobes or fexit.

load ../cli/helper
load guest

device=/sys/bus/pci/devices/0000:00:00.0

setup_file() {
	"$build/gputap" trace -e pcie -o /dev/null -- true 2>"$BATS_FILE_TMPDIR/missing" || :
}

setup() {
	need_root
	need_probes
	[ -w $device/config ] || skip "no PCI device 0000:00:00.0"
	! grep -q 'not shown: function' "$BATS_FILE_TMPDIR/missing" || skip "no kprobes and no fexit"
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

@test "accesses have their beginning and duration, within the system calls that make them" {
	as_under_6_12
	gputap trace -e pcie,syscall --syscall read,write,pread64 --json -o out.json -- \
		dd if=$device/config of=bytes bs=4 count=16
	expect_status 0
	# Each access is within one read of its thread, and has the duration of a part of it.
	run -0 jq -sc 'map(select(.process == "dd")) |
		map(select(.source == "syscall" and .name == "read")) as $reads |
		map(select(.source == "pcie")) | [length, (map(. as $access |
			select(.duration > 0 and ($reads | any(.tid == $access.tid and .time <= $access.time and
				$access.time + $access.duration <= .time + .duration)))) | length)]' out.json
	[ "$output" = '[16,16]' ] || fail "$output: $(cat out.json)"
}

@test "writes have the value that was written" {
	as_under_6_12
	before=$(dd if=$device/config bs=1 count=1 skip=60 2>/dev/null | od -An -tu1)
	gputap trace -e pcie --json -o out.json -- sh -c "
		printf '\\007' | dd of=$device/config bs=1 seek=60 conv=notrunc 2>/dev/null
		printf '\\$(printf %03o $before)' | dd of=$device/config bs=1 seek=60 conv=notrunc 2>/dev/null"
	expect_status 0
	[ "$(accesses)" = "config_write INTERRUPT_LINE 60 1 7
config_write INTERRUPT_LINE 60 1 $((before))" ] || fail "$(accesses)"
}

@test "every access is shown: as many as the reads of a loop, and stat counts them by register and process" {
	as_under_6_12
	gputap trace -e pcie -o run.gtap -- dd if=$device/config of=bytes bs=1 count=64
	"$build/gputap" trace --from run.gtap --json >out.json
	[ "$(accesses | wc -l)" = 64 ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | [.source, .recorded, .lost]' out.json
	[ "$output" = '["pcie",64,0]' ]
	# The values are the bytes that the program read.
	[ "$(accesses | awk '{ printf "%02x", $5 }')" = "$(od -An -v -tx1 bytes | tr -d ' \n')" ]
	gputap stat --from run.gtap -o table
	grep -qE '^[0-9a-f:.]+ +0x04 +COMMAND +1 +0 +1$' table
	grep -qE '^[0-9a-f:.]+ +0x05 +COMMAND\+1 +1 +0 +1$' table
	grep -qE '^[0-9]+ dd +64 +0$' table
	gputap stat --from run.gtap --json -o stat.json
	run -0 jq -c '.sources[0] | [(.registers | length), (.registers | map(.reads) | add),
		(.processes | map(.reads)), (.times | map(.function, .duration.count))]' stat.json
	[ "$output" = '[64,64,[64],["pci_user_read_config_byte",64]]' ]
}

@test "where a function takes no more trampolines, its accesses are seen by kprobes" {
	as_under_6_12
	functions=(pci_user_read_config_byte pci_user_read_config_dword)
	run "$build/tests/guest/occupy" "${functions[@]}" -- "$build/gputap" trace -e pcie --json -o out.json -- \
		dd if=$device/config of=bytes bs=4 count=16
	[ "$status" != 77 ] || skip "this kernel has no trampolines: $output"
	[ "$status" = 0 ] || fail "$output"
	[ "$(accesses | awk '{ printf "%08x", $5 }')" = "$(od -An -v -tx4 bytes | tr -d ' \n')" ]
	run -0 jq -s 'map(select(.source == "pcie" and .process == "dd")) |
		all(.address == "0000:00:00.0" and .bytes == 4 and .result == 0 and .duration > 0)' out.json
	[ "$output" = true ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | [.source, .recorded, .lost]' out.json
	[ "$output" = '["pcie",16,0]' ]
}

@test "accesses of other processes are not shown" {
	as_under_6_12
	gputap trace -e pcie --json -o out.json --comm dd -- sh -c "od -N4 $device/config; exec sleep 0.1"
	[ -z "$(accesses)" ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | .recorded' out.json
	[ "$output" = 0 ]
}

# find_port: $port is the root port of the guest (tools/guest).
find_port() {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	port=$(grep -l ^0x0604 /sys/bus/pci/devices/*/class) || fail "the guest has no root port"
	port=$(basename "$(dirname "$port")")
}

# inject UNCORRECTABLE CORRECTABLE: make the port report errors, by their bits in octal escapes.
inject() {
	# struct aer_error_inj of drivers/pci/pcie/aer_inject.c: bus, device, function; 32 bits of each
	# status; four words of the packet's header; the domain.
	printf "\\0\\$(printf %03o $((16#${port:8:2})))\\0\\0$1$2%s" "HEADER_OF_PACKET" >error
	printf '\0\0\0\0' >>error
	cat error >/dev/aer_inject || fail "no error is injected: $(dmesg | tail -n 3)"
}

# wait_until COMMAND: until it succeeds; a limit for hangs only.
wait_until() {
	timeout 120 sh -c "until $1; do sleep 0.1; done" || fail "$1: $(cat out) $(dmesg | tail -n 5)"
}

@test "errors of a device are shown: severity, the names of their bits, and the packet's header" {
	find_port
	modprobe aer_inject || skip "this kernel has no aer_inject"
	"$build/gputap" trace -e pcie -o out 3>&- &
	tracer=$!
	# An access is shown: the programs are attached.
	wait_until "{ od -N4 $device/config >/dev/null; grep -qs config_read out; }"
	inject '\0\0\0\0' '\101\0\0\0'
	wait_until 'grep -q corrected out'
	inject '\0\020\0\0' '\0\0\0\0'
	wait_until 'grep -q nonfatal out'
	kill -INT $tracer
	wait $tracer || :
	grep -qE "^[0-9:.]+ - +- +error +\[PCIE\] +$port corrected RxErr\|BadTLP$" out || fail "$(grep -v config_ out)"
	grep -qF "$port nonfatal TLP tlp=44414548 4f5f5245 41505f46 54454b43" out || fail "$(grep -v config_ out)"
}

@test "a link that changes is shown: speed and width before and after" {
	as_under_6_12
	find_port
	# The port is a GPU, and its link changes, for this test's own mount namespace.
	echo 0x030000 >class
	echo '16.0 GT/s PCIe' >speed
	# shellcheck disable=SC2016 # expanded there
	unshare --mount sh -c 'mount --bind class "$2/class" && mount --bind speed "$2/current_link_speed" &&
		"$1" trace -e pcie --json -o out.json -- sh -c "echo 2.5 GT/s PCIe >speed"' \
		sh "$build/gputap" "/sys/bus/pci/devices/$port"
	run -0 jq -c 'select(.name == "link") | [.address, .speed]' out.json
	[ "$output" = "[\"$port\",16000]
[\"$port\",2500]" ] || fail "$(cat out.json)"
}
