#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads a capture as docs/captures.md describes it, and prints its calls as JSON lines.

    read-capture.py FILE

It shares no code with gputap: it is there to find differences between the document and the program.
"""
import ctypes
import ctypes.util
import json
import struct
import sys
import zlib

ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

TYPES = {"__u8": "B", "__s8": "b", "__u16": "H", "__s16": "h", "__u32": "I", "__s32": "i",
         "__u64": "Q", "__s64": "q", "char": "c"}


def fail(text):
    sys.exit("read-capture: " + text)


def decompress(data, size):
    target = ctypes.create_string_buffer(size + 1)
    if ZSTD.ZSTD_decompress(target, size, data, len(data)) != size:
        fail("a frame has another size than its block says")
    return target.raw[:size]


class Schema:
    """The fields of the head of an event, and those of each kind."""

    def __init__(self, text):
        self.kinds = {}
        for line in text.split("\0")[0].splitlines():
            words = line.split()
            if words[0] == "head":
                self.head = list(zip(words[1::2], words[2::2]))
            else:
                self.kinds[int(words[0])] = (words[1], list(zip(words[2::2], words[3::2])))
        self.head_format = "<" + "".join(TYPES[kind] for kind, _ in self.head)
        self.head_size = struct.calcsize(self.head_format)

    def decode(self, data, offset):
        """An event at an offset: its name, its fields, and its size."""
        values = struct.unpack_from(self.head_format, data, offset)
        event = dict(zip((name for _, name in self.head), values))
        name, fields = self.kinds.get(event["kind"], (None, []))
        end, at = offset + event["size"], offset + self.head_size
        for kind, field in fields:
            if kind.endswith("[]"):
                event[field] = data[at:end]
                at = end
                continue
            (event[field],) = struct.unpack_from("<" + TYPES[kind], data, at)
            at += struct.calcsize("<" + TYPES[kind])
        return name, event, event["size"]


def read_block(data, at):
    """A block: its kind, its data, what its head says, and the offset after it."""
    magic, kind, stored, size, count, checksum, start, end, names, reserved = struct.unpack_from(
        "<IIIIIIQQII", data, at)
    if magic != 0x4B4C4247:
        fail(f"no block at byte {at}")
    head = data[at:at + 20] + bytes(4) + data[at + 24:at + 48]
    frame = data[at + 48:at + 48 + stored]
    if zlib.crc32(frame, zlib.crc32(head)) != checksum:
        fail(f"the checksum of the block at byte {at} is wrong")
    return kind, decompress(frame, size), (count, start, end, names), at + 48 + stored


def read_capture(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"GPUTAP\r\n":
        fail("wrong magic number")
    version, head, schema_size, _ = struct.unpack_from("<IIII", data, 8)
    if version != 3:
        fail(f"version {version}")
    schema = Schema(data[head:head + schema_size].decode())
    at, blocks, events = head + schema_size, [], []
    while True:
        begin = at
        kind, content, said, at = read_block(data, at)
        if kind == 2:
            break
        if kind != 1:
            continue
        blocks.append((begin,) + said)
        offset, count = 0, 0
        while offset < len(content):
            name, event, size = schema.decode(content, offset)
            events.append((name, event))
            offset += size
            count += 1
        if count != said[0]:
            fail(f"the block at byte {begin} has {count} events, not {said[0]}")
    entries = list(struct.iter_unpack("<QQQII", content))
    expected = [(begin, start, end, count, names) for begin, count, start, end, names in blocks]
    if entries != expected:
        fail("the index differs from the blocks")
    if data[at:] != struct.pack("<Q", begin) + b"GPUTAPIX":
        fail("the trailer is wrong")
    return events


def main():
    functions, processes = {}, {}
    for name, event in read_capture(sys.argv[1]):
        if name == "function":
            functions[event["number"]] = event["name"].rstrip(b"\0").decode()
        elif name == "process":
            processes[event["process"]] = event["name"].rstrip(b"\0").decode()
        elif name == "call":
            print(json.dumps({
                "time": event["time"] - event["duration"],
                "duration": event["duration"],
                "pid": event["process"],
                "tid": event["thread"],
                "process": processes.get(event["process"]),
                "name": functions.get(event["function"]),
                "nested": bool(event["state"] & 2),
            }))


main()
