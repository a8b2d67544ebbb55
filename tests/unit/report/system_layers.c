/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The summaries of the sources pcie, fault, block, cgroup and power. */
#include <errno.h>

#include "kernel/pci.h"
#include "summary.h"

#define MS 1000000ull

/* ---- pcie --------------------------------------------------------------------------------- */

static void take_access(unsigned process, unsigned offset, bool is_write, int result)
{
	struct gt_event_pci_config *event = (void *)gt_event_new(GT_EVENT_pci_config, NULL, 0);

	event->head.process = process;
	event->bus = 1;
	event->offset = offset;
	event->bytes = 4;
	event->is_write = is_write;
	event->is_user = process == 8;
	event->result = result;
	take(&event->head);
}

static void take_error(uint64_t time, unsigned severity, unsigned status)
{
	struct gt_event_pcie_error *event =
		(void *)gt_event_new(GT_EVENT_pcie_error, "0000:01:00.0", 12);

	event->head.time = time;
	event->severity = severity;
	event->status = status;
	take(&event->head);
}

static void take_link(uint64_t time, const char *address, unsigned speed, unsigned width)
{
	struct gt_event_pcie_link *event =
		(void *)gt_event_new(GT_EVENT_pcie_link, address, strlen(address));

	event->head.time = time;
	event->speed = speed;
	event->width = width;
	event->max_speed = 16000;
	event->max_width = 16;
	take(&event->head);
}

TEST("the summary of pcie has accesses by register and by process, failed ones included")
{
	open_report(&gt_report_pcie);
	take_access(7, 0x40, false, 0x87);
	take_access(7, 0x04, false, 0);
	take_access(7, 0x04, true, 0);
	take_access(8, 0x05, false, 0);
	expect_text("DEVICE        OFFSET  REGISTER   READS  WRITES  BY USERS  ERRORS\n"
		    "0000:01:00.0    0x04  COMMAND        1       1         0       0\n"
		    "0000:01:00.0    0x40                 1       0         0       1\n"
		    "0000:01:00.0    0x05  COMMAND+1      1       0         1       0\n"
		    "\n"
		    "PROCESS  READS  WRITES  ERRORS\n"
		    "7 ?          2       1       1\n"
		    "8 ?          1       0       0\n");
	close_report();
}

static void take_timed(unsigned function, unsigned bytes, bool is_write, uint64_t duration)
{
	struct gt_event_pci_access *event = (void *)gt_event_new(GT_EVENT_pci_access, NULL, 0);

	event->head.process = 7;
	event->bus = 1;
	event->device_function = function;
	event->offset = 0x04;
	event->bytes = bytes;
	event->is_write = is_write;
	event->duration = duration;
	take(&event->head);
}

TEST("the summary of pcie has the times of accesses by device and function of the kernel")
{
	open_report(&gt_report_pcie);
	take_timed(0, 2, false, 1000);
	take_timed(0, 2, false, 3000);
	take_timed(0, 2, true, 500);
	take_timed(1, 2, false, 9000);
	take_timed(1, 2, false, 0); /* it was not measured */
	take_timed(1, 3, false, 10);
	expect_text(
		"DEVICE        OFFSET  REGISTER  READS  WRITES  BY USERS\n"
		"0000:01:00.0    0x04  COMMAND       2       1         0\n"
		"0000:01:00.1    0x04  COMMAND       3       0         0\n"
		"\n"
		"PROCESS  READS  WRITES\n"
		"7 ?          5       1\n"
		"\n"
		"DEVICE        FUNCTION                   COUNT    TOTAL     MEAN      P50      "
		"P99      MAX\n"
		"0000:01:00.1  pci_bus_read_config_word       1  9.00 µs  9.00 µs  9.00 µs  9.00 "
		"µs  9.00 µs\n"
		"0000:01:00.0  pci_bus_read_config_word       2  4.00 µs  2.00 µs  1.00 µs  3.00 "
		"µs  3.00 µs\n"
		"0000:01:00.0  pci_bus_write_config_word      1   500 ns   500 ns   500 ns   500 "
		"ns   500 ns\n"
		"0000:01:00.1  -                              1    10 ns    10 ns    10 ns    10 "
		"ns    10 ns\n");
	expect_json_part("times",
			 "[{\"address\":\"0000:01:00.1\",\"function\":\"pci_bus_read_config_"
			 "word\",\"total\":9000,\"duration\":{\"count\":1,");
	close_report();
}

TEST("errors of devices are counted by severity and bit")
{
	open_report(&gt_report_pcie);
	take_error(1 * MS, GT_AER_CORRECTED, 1 << 0 | 1 << 6);
	take_error(4 * MS, GT_AER_CORRECTED, 1 << 0);
	take_error(5 * MS, GT_AER_NONFATAL, 1u << 31);
	expect_text("ERRORS OF     SEVERITY   ERROR   COUNT   WITHIN\n"
		    "0000:01:00.0  corrected  RxErr       2  3.00 ms\n"
		    "0000:01:00.0  corrected  BadTLP      1     0 ns\n"
		    "0000:01:00.0  nonfatal   bit 31      1     0 ns\n");
	close_report();
}

TEST("a link below its maximum is a finding, with how long it was; one at its maximum is not")
{
	open_report(&gt_report_pcie);
	report_time = 100 * MS;
	take_link(10 * MS, "0000:01:00.0", 2500, 16);
	take_link(30 * MS, "0000:01:00.0", 16000, 16);
	take_link(10 * MS, "0000:02:00.0", 16000, 8);
	take_link(10 * MS, "0000:03:00.0", 16000, 16);
	take_link(10 * MS, "0000:04:00.0", 0, 16);
	take_link(50 * MS, "0000:01:00.0", 0, 16); /* unknown is not lower */
	expect_text("LINK OF       NOW                LOWEST             MAXIMUM        CHANGES  "
		    "BELOW MAXIMUM\n"
		    "0000:01:00.0  unknown speed x16  2.5 GT/s x16       16.0 GT/s x16        2    "
		    "    20.0 ms\n"
		    "0000:02:00.0  16.0 GT/s x8       16.0 GT/s x8       16.0 GT/s x16        0    "
		    "    90.0 ms\n"
		    "0000:03:00.0  16.0 GT/s x16      16.0 GT/s x16      16.0 GT/s x16        0    "
		    "          -\n"
		    "0000:04:00.0  unknown speed x16  unknown speed x16  16.0 GT/s x16        0    "
		    "          -\n"
		    "\n"
		    "0000:01:00.0: the link was at 2.5 GT/s x16 at the lowest, of 16.0 GT/s x16; "
		    "below this for 20.0 ms of 90.0 ms.\n"
		    "  GPUs lower the speed while they are idle; if it stays low under load, check "
		    "the slot and the firmware settings.\n"
		    "\n"
		    "0000:02:00.0: the link was at 16.0 GT/s x8 at the lowest, of 16.0 GT/s x16; "
		    "below this for 90.0 ms of 90.0 ms.\n"
		    "  Fewer lanes than the device has: check its slot, riser and firmware "
		    "settings.\n");
	expect_json_part("findings",
			 "[{\"finding\":\"link_below_maximum\",\"address\":\"0000:01:00.0\",");
	close_report();
}

/* ---- fault -------------------------------------------------------------------------------- */

static void take_fault(unsigned process, unsigned flags, uint64_t duration, int error)
{
	struct gt_event_page_fault *event = (void *)gt_event_new(GT_EVENT_page_fault, NULL, 0);

	event->head.process = process;
	event->flags = flags;
	event->duration = duration;
	event->error = error;
	take(&event->head);
}

TEST("the summary of fault distinguishes minor, major and UVM faults, and their accesses")
{
	open_report(&gt_report_fault);
	take_fault(7, GT_FAULT_USER, 1000, 0);
	take_fault(7, GT_FAULT_USER | GT_FAULT_WRITE, 3000, 0);
	take_fault(7, GT_FAULT_USER | GT_FAULT_FETCH | GT_FAULT_MAJOR, 5 * MS, 0);
	take_fault(7, GT_FAULT_UVM | GT_FAULT_WRITE, 40000, 0);
	take_fault(8, 0, 0, EFAULT); /* of the kernel, without a duration */
	take_fault(0, GT_FAULT_UVM | GT_FAULT_GPU, 0, 0);
	expect_text("PROCESS  MINOR  MAJOR  UVM  GPU  READS  WRITES  FETCHES  KERNEL  ERRORS\n"
		    "7 ?          2      1    1    0      1       2        1       0       0\n"
		    "8 ?          1      0    0    0      1       0        0       1       1\n"
		    "-            0      0    0    1      0       0        0       0       0\n"
		    "\n"
		    "PROCESS  FAULTS  COUNT    TOTAL     MEAN      P50      P99      MAX\n"
		    "7 ?      minor       2  4.00 µs  2.00 µs  1.00 µs  3.00 µs  3.00 µs\n"
		    "7 ?      major       1  5.00 ms  5.00 ms  5.00 ms  5.00 ms  5.00 ms\n"
		    "7 ?      UVM         1  40.0 µs  40.0 µs  40.0 µs  40.0 µs  40.0 µs\n");
	expect_json(
		"{\"processes\":[{\"pid\":7,\"process\":\"?\",\"minor\":2,\"major\":1,\"uvm\":1,"
		"\"gpu\":0,"
		"\"reads\":1,\"writes\":2,\"fetches\":1,\"kernel\":0,\"errors\":0,\"minor_"
		"duration\":{\"count\":2,\"mean\":2000,\"p50\":1000,\"p99\":3000,\"max\":3000},"
		"\"major_duration\":{\"count\":1,\"mean\":5000000,\"p50\":5000000,\"p99\":5000000,"
		"\"max\":5000000},\"uvm_duration\":{\"count\":1,\"mean\":40000,\"p50\":40000,"
		"\"p99\":40000,\"max\":40000}},{\"pid\":8,\"process\":\"?\",\"minor\":1,\"major\":"
		"0,\"uvm\":0,\"gpu\":0,\"reads\":1,\"writes\":0,\"fetches\":0,\"kernel\":1,"
		"\"errors\":1,"
		"\"minor_duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0},\"major_"
		"duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0},\"uvm_"
		"duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0}},"
		"{\"pid\":0,\"process\":\"?\",\"minor\":0,\"major\":0,\"uvm\":0,\"gpu\":1,"
		"\"reads\":0,\"writes\":0,\"fetches\":0,\"kernel\":0,\"errors\":0,"
		"\"minor_duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0},"
		"\"major_duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0},"
		"\"uvm_duration\":{\"count\":0,\"mean\":0,\"p50\":0,\"p99\":0,\"max\":0}}]}");
	close_report();
}

/* ---- block -------------------------------------------------------------------------------- */

static void take_io(unsigned process, unsigned flags, uint64_t bytes, uint64_t queued,
		    uint64_t duration, unsigned error)
{
	struct gt_event_block_io *event = new_named(GT_EVENT_block_io, "nvme0n1", "");

	event->head.process = process;
	event->flags = flags | 0x800;
	event->bytes = bytes;
	event->queued = queued;
	event->duration = duration;
	event->error = error;
	take(&event->head);
}

TEST("the summary of block has requests and latencies by disk and operation, and by process")
{
	open_report(&gt_report_block);
	report_time = 2000 * MS;
	take_io(7, 0, 4096, 0, 100000, 0);
	take_io(7, 0, 12288, 5000, 300000, 0);
	take_io(8, 1, 4096, 7000, 900000, 10);
	take_io(8, 2, 0, 0, 1000, 0);
	expect_text("DISK     OPERATION  REQUESTS   RATE     BYTES  MEAN SIZE  ERRORS\n"
		    "nvme0n1  read              2  1.0/s  16.0 KiB   8.00 KiB       0\n"
		    "nvme0n1  write             1  0.5/s  4.00 KiB   4.00 KiB       1\n"
		    "nvme0n1  flush             1  0.5/s       0 B        0 B       0\n"
		    "\n"
		    "DISK     OPERATION  TIME           COUNT    TOTAL     MEAN      P50      P99  "
		    "    MAX\n"
		    "nvme0n1  read       queued             1  5.00 µs  5.00 µs  5.00 µs  5.00 µs  "
		    "5.00 µs\n"
		    "nvme0n1  read       on the device      2   400 µs   200 µs   100 µs   300 µs  "
		    " 300 µs\n"
		    "nvme0n1  write      queued             1  7.00 µs  7.00 µs  7.00 µs  7.00 µs  "
		    "7.00 µs\n"
		    "nvme0n1  write      on the device      1   900 µs   900 µs   900 µs   900 µs  "
		    " 900 µs\n"
		    "nvme0n1  flush      on the device      1  1.00 µs  1.00 µs  1.00 µs  1.00 µs  "
		    "1.00 µs\n"
		    "\n"
		    "PROCESS  DISK     READS     BYTES  WRITES     BYTES  ERRORS  COUNT   TOTAL    "
		    "MEAN      P50     P99     MAX\n"
		    "8 ?      nvme0n1      0       0 B       1  4.00 KiB       1      2  901 µs  "
		    "450 µs  1.00 µs  900 µs  900 µs\n"
		    "7 ?      nvme0n1      2  16.0 KiB       0       0 B       0      2  400 µs  "
		    "200 µs   100 µs  300 µs  300 µs\n");
	close_report();
}

/* ---- cgroup ------------------------------------------------------------------------------- */

static void take_state(uint64_t time, const char *path, unsigned operation, uint64_t count,
		       uint64_t duration)
{
	struct gt_event_cgroup_state *event =
		(void *)gt_event_new(GT_EVENT_cgroup_state, path, strlen(path));

	event->head.time = time;
	event->operation = operation;
	event->count = count;
	event->duration = duration;
	take(&event->head);
}

TEST("the summary of cgroup has throttled time, memory events, stalls, and the time frozen")
{
	open_report(&gt_report_cgroup);
	report_time = 50 * MS;
	take_state(1 * MS, "/a", GT_CGROUP_THROTTLED, 3, 20 * MS);
	take_state(2 * MS, "/a", GT_CGROUP_THROTTLED, 1, 5 * MS);
	take_state(2 * MS, "/a", GT_CGROUP_MEMORY_HIGH, 2, 0);
	take_state(3 * MS, "/a", GT_CGROUP_OOM_KILL, 1, 0);
	take_state(3 * MS, "/a", GT_CGROUP_IO_STALL, 0, 7 * MS);
	take_state(10 * MS, "/b", GT_CGROUP_FREEZE, 1, 0);
	take_state(11 * MS, "/b", GT_CGROUP_FROZEN, 1, 0);
	take_state(14 * MS, "/b", GT_CGROUP_THAWED, 1, 0);
	take_state(40 * MS, "/b", GT_CGROUP_FROZEN, 1, 0); /* and it is still */
	expect_text(
		"CGROUP  PERIODS  THROTTLED  MEMORY HIGH  OOM KILLS  IO STALL  FREEZES   FROZEN\n"
		"/a            4    25.0 ms            2          1   7.00 ms        0        0\n"
		"/b            0          0            0          0         0        2  13.0 ms\n");
	expect_json("{\"cgroups\":[{\"cgroup\":\"/"
		    "a\",\"throttled_periods\":4,\"throttled\":25000000,\"memory_high\":2,\"memory_"
		    "max\":0,\"oom_kills\":1,\"cpu_stall\":0,\"memory_stall\":0,\"io_stall\":"
		    "7000000,\"freezes\":0,\"frozen\":0},{\"cgroup\":\"/"
		    "b\",\"throttled_periods\":0,\"throttled\":0,\"memory_high\":0,\"memory_max\":"
		    "0,\"oom_kills\":0,\"cpu_stall\":0,\"memory_stall\":0,\"io_stall\":0,"
		    "\"freezes\":2,\"frozen\":13000000}]}");
	close_report();
}

/* ---- power -------------------------------------------------------------------------------- */

static void take_power(uint64_t time, unsigned operation, const char *name, uint64_t value,
		       int error)
{
	struct gt_event_power_state *event = new_named(GT_EVENT_power_state, name, "");

	event->head.time = time;
	event->operation = operation;
	event->value = value;
	event->error = error;
	event->unit = operation == GT_POWER_CPU_FREQUENCY ? 3 : 0;
	event->skipped = operation == GT_POWER_CPU_FREQUENCY ? 2 : 0;
	event->duration = operation == GT_POWER_DEVICE_CALLBACK ? 3 * MS : 0;
	take(&event->head);
}

TEST("the summary of power has the time at each frequency, from the first change on")
{
	open_report(&gt_report_power);
	report_time = 100 * MS;
	take_power(10 * MS, GT_POWER_CPU_FREQUENCY, "", 1234000, 0);
	take_power(40 * MS, GT_POWER_CPU_FREQUENCY, "", 3000000, 0);
	take_power(50 * MS, GT_POWER_CPU_FREQUENCY, "", 1250000, 0);
	take_power(90 * MS, GT_POWER_GPU_FREQUENCY, "", 700, 0);
	expect_text("FREQUENCY OF  CHANGES       MIN      MEAN       MAX  KNOWN FOR\n"
		    "CPU 3               9  1234 MHz  1439 MHz  3000 MHz    90.0 ms\n"
		    "GPU 0               1       700       700       700    10.0 ms\n"
		    "\n"
		    "TIME AT  FREQUENCY     TIME    SHARE\n"
		    "CPUs      1200 MHz  80.0 ms   88.9 %\n"
		    "CPUs      3000 MHz  10.0 ms   11.1 %\n"
		    "GPUs           700  10.0 ms  100.0 %\n");
	/* A later report counts no time twice. */
	report_time = 110 * MS;
	expect_json_part("frequencies",
			 "[{\"unit\":\"cpu\",\"frequency\":1200000,\"time\":90000000},"
			 "{\"unit\":\"cpu\",\"frequency\":3000000,\"time\":10000000},"
			 "{\"unit\":\"gpu\",\"frequency\":700,\"time\":20000000}]");
	close_report();
}

TEST("a device is suspended from its last suspend to a resume that did anything")
{
	const char *gpu = "0000:01:00.0";

	open_report(&gt_report_power);
	report_time = 500 * MS;
	/* The suspend is scheduled, then done; in the end the device is idle, in the resume. */
	take_power(10 * MS, GT_POWER_DEVICE_SUSPEND, gpu, 8, 0);
	take_power(11 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, 0);
	take_power(100 * MS, GT_POWER_DEVICE_SUSPEND, gpu, 0, 0);
	take_power(110 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, 0);
	take_power(210 * MS, GT_POWER_DEVICE_RESUME, gpu, 0, 0);
	take_power(230 * MS, GT_POWER_DEVICE_IDLE, gpu, 1, 0);
	take_power(231 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, 0);
	take_power(240 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, 0);
	take_power(250 * MS, GT_POWER_DEVICE_RESUME, gpu, 0, 0); /* it is resumed already */
	take_power(250 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, 1);
	take_power(260 * MS, GT_POWER_DEVICE_SUSPEND, gpu, 0, 0);
	take_power(261 * MS, GT_POWER_DEVICE_RESULT, gpu, 0, -EAGAIN);
	take_power(300 * MS, GT_POWER_SYSTEM_BEGIN, "suspend_enter", 3, 0);
	take_power(310 * MS, GT_POWER_DEVICE_CALLBACK, gpu, 0, 0);
	take_power(340 * MS, GT_POWER_SYSTEM_END, "suspend_enter", 3, 0);
	expect_text("DEVICE        IDLES  SUSPENDS  RESUMES  SUSPENDED  ERRORS\n"
		    "0000:01:00.0      1         2        1     100 ms       1\n"
		    "\n"
		    "OF            TIME                              COUNT    TOTAL     MEAN      "
		    "P50      P99      MAX\n"
		    "0000:01:00.0  suspend                               2  11.0 ms  5.50 ms  1.00 "
		    "ms  10.0 ms  10.0 ms\n"
		    "0000:01:00.0  resume                                1  30.0 ms  30.0 ms  30.0 "
		    "ms  30.0 ms  30.0 ms\n"
		    "0000:01:00.0  callback of the system's suspend      1  3.00 ms  3.00 ms  3.00 "
		    "ms  3.00 ms  3.00 ms\n"
		    "system        suspend_enter                         1  40.0 ms  40.0 ms  40.0 "
		    "ms  40.0 ms  40.0 ms\n");
	close_report();
}

TEST("without durations, there is no table of times")
{
	open_report(&gt_report_fault);
	take_fault(7, GT_FAULT_USER | GT_FAULT_WRITE, 0, 0);
	expect_text("PROCESS  MINOR  MAJOR  UVM  GPU  READS  WRITES  FETCHES  KERNEL\n"
		    "7 ?          1      0    0    0      0       1        0       0\n");
	close_report();
}

TEST("with --top, processes are those that have the most")
{
	open_report(&gt_report_fault);
	shown.options.top = 1;
	take_fault(7, GT_FAULT_USER, 1000, 0);
	take_fault(8, GT_FAULT_USER, 1000, 0);
	take_fault(8, GT_FAULT_USER, 1000, 0);
	expect_text("PROCESS  MINOR  MAJOR  UVM  GPU  READS  WRITES  FETCHES  KERNEL\n"
		    "8 ?          2      0    0    0      2       0        0       0\n"
		    "… and 1 more (--top)\n"
		    "\n"
		    "PROCESS  FAULTS  COUNT    TOTAL     MEAN      P50      P99      MAX\n"
		    "8 ?      minor       2  2.00 µs  1.00 µs  1.00 µs  1.00 µs  1.00 µs\n");
	shown.options.top = 0;
	close_report();
}

TEST("summaries of no events have no rows")
{
	open_report(&gt_report_pcie);
	expect_json("{\"registers\":[],\"processes\":[],\"times\":[],\"errors\":[],\"links\":[],"
		    "\"findings\":[]}");
	close_report();
	open_report(&gt_report_power);
	expect_json("{\"units\":[],\"frequencies\":[],\"devices\":[],\"steps\":[]}");
	close_report();
	open_report(&gt_report_cgroup);
	expect_json("{\"cgroups\":[]}");
	close_report();
}

TEST_MAIN
