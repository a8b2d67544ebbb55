# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Which unit tests a change affects.

The folders of tests/unit mirror those of src/: a changed file affects the tests of its own folder,
of folders above it and of folders below it. A changed header also affects the tests of other
layers that include it, unless these are many.
"""

import functools
import json
import os
import pathlib
import subprocess

# More tests of other layers than these are left to the whole suite.
MAX_OTHERS = 30
# What does not mirror src/: the beginning of a path, and its layer.
LAYERS = {
    "tests/unit/": "", "tests/softgpu/": "softgpu/", "tests/data/ptx/": "ptx/",
    "tests/data/ebpf/": "gpubpf/", "include/gputap/": "gpubpf/", "softgpu/": "softgpu/",
    "tools/api-": "api/", "tools/gen-api": "api/", "src/": "",
}


def run(root, *command):
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


GIT = ("git", "-c", "safe.directory=*")


def changed_files(root, revision=None):
    """The files that differ from a revision (the one before the last commit), with those that git
    does not know yet."""
    if not revision:
        parent = subprocess.run([*GIT, "rev-parse", "-q", "--verify", "HEAD^"], cwd=root,
                                stdout=subprocess.DEVNULL, check=False)
        revision = "HEAD" if parent.returncode else "HEAD^"
    changed = run(root, *GIT, "diff", "--name-only", "-z", revision, "--")
    new = run(root, *GIT, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({name for name in (changed + new).split("\0") if name})


def layer_of(path):
    """The folder below src/ that a file belongs to, or None: "gpubpf/verify", "softgpu"."""
    for start, layer in LAYERS.items():
        if path.startswith(start):
            return os.path.dirname(layer + path[len(start):]) or None
    return None


def is_within(folder, other):
    return folder == other or folder.startswith(other + "/")


class BuildDirectory:
    """What meson and ninja know of the tests."""

    def __init__(self, root, directory):
        self.root = root
        self.directory = root / directory
        self.targets = self.introspect("targets")
        self.tests = self.introspect("tests")

    def introspect(self, what):
        # What `meson introspect` prints, without the second that it takes.
        file = self.directory / "meson-info" / f"intro-{what}.json"
        return json.loads(file.read_text(encoding="utf-8"))

    @functools.cache
    def relative(self, path):
        return os.path.relpath(os.path.join(self.directory, path), self.root)

    def sources(self):
        """The sources of each test by its name: of its program, or the script that it runs."""
        of_program = {target["filename"][0]: [source for group in target["target_sources"]
                                              for source in group["sources"]]
                      for target in self.targets}
        return {test["name"]: sorted({self.relative(source) for word in test["cmd"]
                                      for source in of_program.get(word, [word])
                                      if pathlib.Path(source).is_file()})
                for test in self.tests}

    def included(self):
        """The files of the tree that each C file includes, as the last build saw them."""
        found, current = {}, set()
        for line in run(self.root, "ninja", "-C", str(self.directory), "-t", "deps").splitlines():
            if not line.startswith("    "):
                current = set()
                continue
            name = self.relative(line.strip())
            if not current:
                found[name] = current
            current.add(name)
        return found

    def built_for(self, names):
        """The ninja targets that these tests run."""
        files = {target["id"]: target["filename"] for target in self.targets}
        return sorted({os.path.relpath(file, self.directory) for test in self.tests
                       if test["name"] in names for target in test["depends"]
                       for file in files[target]})


def affected(build, changed):
    """The names of the tests of the changed layers, and of the tests of other layers that include
    a changed file. Slow tests are none of them."""
    layers = {layer_of(name) for name in changed} - {None}
    included = build.included()
    own, others = set(), set()
    for test, files in build.sources().items():
        folders = [layer for layer in map(layer_of, files) if layer]
        if any(is_within(folder, layer) or is_within(layer, folder)
               for folder in folders for layer in layers):
            own.add(test)
        elif any(not included.get(file, {file}).isdisjoint(changed) for file in files):
            others.add(test)
    slow = {test["name"] for test in build.tests
            if any(suite.endswith("slow") for suite in test["suite"])}
    return own - slow, others - slow
