# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What readers of protobuf messages share: schemas, and a check for fields that they do not have."""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")


def load(schema):
    """The module that protoc makes of a schema."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--proto_path={os.path.dirname(schema)}",
                        f"--python_out={folder}", schema], check=True)
        sys.path.insert(0, folder)
        return __import__(os.path.basename(schema).replace(".proto", "_pb2"))


def check(holds, text, *about):
    """Exit with a text and the messages that it is about, which are formatted only then."""
    if not holds:
        sys.exit(": ".join([text, *map(str, about)]))


def check_known(message):
    """Fail if a message has fields that its schema does not have."""
    check(not list(message.UnknownFields()), "unknown fields", message)
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.label == field.LABEL_REPEATED else [value]:
                check_known(part)
