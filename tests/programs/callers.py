# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""callers.py LIBCUDART: call cudaGetDevice from many kinds of Python callers.

Prints the stack of each call, as traceback has it, one line a call: "function:line …", the
innermost first.
"""

import asyncio
import ctypes
import os
import sys
import threading
import traceback

library = ctypes.CDLL(sys.argv[1])
device = ctypes.c_int()


def call():
    """The innermost caller: its line is that of the call."""
    frames = reversed(traceback.extract_stack()[:-1])
    line = call.__code__.co_firstlineno + 5
    print(f"call:{line}", *(f"{frame.name}:{frame.lineno}" for frame in frames), flush=True)
    library.cudaGetDevice(ctypes.byref(device))


def recurse(depth):
    return recurse(depth - 1) if depth else call()


class Worker:
    def method(self):
        call()

    @property
    def naïve_日本_𐐀(self):
        call()

    def __del__(self):
        call()


def generate():
    call()
    yield 1


async def coroutine():
    await asyncio.sleep(0)
    call()


def key(value):
    if value == 2:
        call()
    return value


def long_way(value):
    result = [
        value
        for value in range(value)
    ]
    try:
        raise ValueError(result)
    except ValueError:
        (
            call
        )()


def back(_):
    call()
    return 0


def in_thread():
    def run():
        call()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def in_child():
    sys.stdout.flush()
    child = os.fork()
    if not child:
        call()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)


call()
recurse(7)
Worker().method()
Worker().naïve_日本_𐐀
list(generate())
asyncio.run(coroutine())
sorted([3, 1, 2], key=key)
long_way(3)
ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(back)(0)
in_thread()
in_child()
exec("\n\n\ncall()")
list(map(lambda _: call(), [0]))
