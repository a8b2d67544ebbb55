# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Debian's kernels for guests (tools/guest): downloaded with apt, unpacked, never installed.

A kernel is a directory of the cache:

    kernel          the uncompressed image
    modules         initramfs with the modules that the guest needs to see files
    release         its release, as uname -r prints it
    tree/           modules of /lib/modules/RELEASE, uncompressed, with modules.dep
    headers/        its packages for building modules
    built/DIGEST/   the modules of tests/guest/modules, by a digest of their sources
"""

import contextlib
import fcntl
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE_SOURCES = ROOT / "tests/guest/modules"

# The suite of Debian with each version.
SUITES = {"6.1": "bookworm", "6.12": "bookworm-backports", "7.2": "trixie-backports"}
# Modules that give the guest access to this machine's files; their dependencies are added.
FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
# Modules that the guest can load, besides their dependencies.
TREE = re.compile(r"drivers/(gpu|pci)/|drivers/block/(loop|brd|null_blk/null_blk)\.ko")

XZ_MAGIC = b"\xfd7zXZ"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Unavailable(Exception):
    """This machine cannot run a guest, or not build modules for it."""


def default_cache():
    """Where kernels are kept: outside of the tree, for all checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "gputap-guest"


# Downloading packages


def repositories():
    """(address, keyring) of each Debian repository that apt is configured for."""
    names = re.compile("bookworm|trixie|forky|sid|(old)*stable|testing|unstable")
    found = {}
    fields = "$(CREATED_BY)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)|$(SIGNED_BY)"
    listing = subprocess.run(["apt-get", "indextargets", "--format", fields],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in listing.splitlines():
        created_by, component, release, address, keyring = line.split("|")
        if (created_by, component) == ("Packages", "main") and names.fullmatch(release):
            found[address] = "" if "$" in keyring else keyring
    if not found:
        raise Unavailable("apt knows no repository of Debian here")
    return found


class PrivateApt:
    """apt with the machine's settings, but with the given suites and separate package lists."""

    def __init__(self, directory, *suites):
        self.directory = directory
        self.suites = suites
        for name in ("state/lists/partial", "cache/archives/partial", "parts"):
            (directory / name).mkdir(parents=True)
        lines = [f"deb [arch=amd64{' signed-by=' + keyring if keyring else ''}] "
                 f"{address} {suite} main\n"
                 for address, keyring in repositories().items() for suite in suites]
        (directory / "sources").write_text("".join(lines))
        self.settings = {
            "Dir::State": directory / "state", "Dir::State::status": directory / "status",
            "Dir::Cache": directory / "cache", "Dir::Etc::sourcelist": directory / "sources",
            "Dir::Etc::sourceparts": directory / "parts", "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": directory / "parts", "Acquire::Languages": "none",
            "Acquire::Retries": "2", "Acquire::http::Timeout": "20",
            "APT::Sandbox::User": "", "APT::Default-Release": "",
        }
        (directory / "status").touch()
        self.run("apt-get", "update")

    def run(self, program, *arguments):
        words = [program, "-q"]
        for name, value in self.settings.items():
            words += ["-o", f"{name}={value}"]
        done = subprocess.run([*words, *arguments], cwd=self.directory, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
            raise Unavailable(f"packages of {self.suites[0]} cannot be fetched: {program}: {last}")
        return done.stdout

    def newest_release(self, version):
        """The newest release of a version for which the suite has an image."""
        listing = self.run("apt-cache", "search", "--names-only", f"^linux-image-{version}")
        pattern = re.compile(rf"linux-image-({re.escape(version)}\.(\d+)(?:-(\d+))?\S*-amd64) ",
                             re.MULTILINE)
        releases = [(int(found[2]), int(found[3] or 0), found[1])
                    for found in pattern.finditer(listing)
                    if not re.search("cloud|-rt-|unsigned|dbg", found[1])]
        if not releases:
            raise Unavailable(f"{self.suites[0]} has no Linux {version}")
        return max(releases)[2]

    def depends(self, package, pattern):
        """The packages with names that match, among those that a package needs."""
        line = re.search(r"^Depends: (.*)$", self.run("apt-cache", "show", package), re.MULTILINE)
        names = re.findall(r"(?:^|, )([^ ,]+)", line[1]) if line else []
        return [name for name in names if re.fullmatch(pattern, name)]

    def download(self, *packages):
        """Download packages; their files."""
        self.run("apt-get", "download", *packages)
        return [next(self.directory.glob(f"{package}_*.deb")) for package in packages]


# Unpacking the kernel


def uncompressed(contents):
    """The contents of a file that may be compressed."""
    if contents.startswith(XZ_MAGIC):
        return lzma.LZMADecompressor().decompress(contents)
    if contents.startswith(ZSTD_MAGIC):
        if not shutil.which("zstd"):
            raise Unavailable("this kernel is compressed with zstd, and there is no zstd")
        return subprocess.run(["zstd", "-dcq"], input=contents, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout
    return contents


class Modules:
    """The modules of a kernel: path below kernel/ and contents, by name."""

    def __init__(self):
        self.files = {}

    def add(self, path, contents):
        name = re.sub(r"\.ko.*", "", path.rsplit("/", 1)[-1]).replace("-", "_")
        self.files[name] = (re.sub(r"\.ko.*", ".ko", path), contents)

    def needs(self, name):
        """The names of the modules that a module needs, as far as they are not built in."""
        found = re.search(rb"\0depends=([^\0]*)\0", self.files[name][1])
        names = [other.replace("-", "_") for other in found[1].decode().split(",")] if found else []
        return [other for other in names if other in self.files]

    def in_order(self, wanted):
        """The names of modules and of their dependencies, each after its dependencies."""
        order = {}

        def add(name):
            if name in order or name not in self.files:  # built in
                return
            path, contents = self.files[name]
            self.files[name] = (path, uncompressed(contents))
            for other in self.needs(name):
                add(other)
            order[name] = True

        for name in wanted:
            add(name)
        return list(order)


def unpack(packages):
    """The image of the kernel and its modules, from its packages."""
    image, modules = None, Modules()
    for package in packages:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                              stdout=subprocess.PIPE) as process:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    name = member.name.rsplit("/", 1)[-1]
                    if member.isfile() and re.match("vmlinuz(-|$)", name):
                        image = archive.extractfile(member).read()
                    elif member.isfile() and re.search(r"\.ko(\.xz|\.zst)?$", name):
                        path = member.name.partition("/kernel/")[2]
                        modules.add(path, archive.extractfile(member).read())
        if process.returncode:
            raise Unavailable(f"{package.name} cannot be unpacked")
    if not image:
        raise Unavailable(f"{packages[0].name} has no kernel that can be unpacked")
    return image, modules


def decompress_image(image):
    """The kernel in a bzImage, or the bzImage: decompression in the guest would take seconds."""
    # Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length.
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (image[0x1f1] + 1) * 512 + offset
    kernel = uncompressed(image[start:start + length])
    return kernel if kernel.startswith(b"\x7fELF") else image


def cpio(entries):
    """An initramfs (buffer-format.rst) with the (path, mode, contents) of each entry."""
    archive = bytearray()
    for number, (path, mode, contents) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        name = path.encode() + b"\0"
        device = (5, 1) if stat.S_ISCHR(mode) else (0, 0)
        fields = (number, mode, 0, 0, 1, 0, len(contents), 0, 0, *device, len(name), 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        archive += bytes(-len(archive) % 4) + contents
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def first_modules(modules):
    """The initramfs with the modules; their names sort in the order of loading."""
    return cpio([("modules", stat.S_IFDIR | 0o755, b"")] +
                [(f"modules/{number:02}-{name}.ko", stat.S_IFREG | 0o644, modules.files[name][1])
                 for number, name in enumerate(modules.in_order(FIRST_MODULES))])


SIGNATURE = b"~Module signature appended~\n"
SYMTAB, FUNCTION, RESERVED = 2, 2, 0xff00  # SHT_SYMTAB, STT_FUNC, SHN_LORESERVE of elf(5)


def without_signature(module):
    """Verifying it takes long in a guest. include/linux/module_signature.h: its length is the last
    of the 12 bytes before the marker."""
    if not module.endswith(SIGNATURE):
        return module
    end = len(module) - len(SIGNATURE)
    length, = struct.unpack_from(">I", module, end - 4)
    return module[:end - 12 - length]


def with_names_of_functions(module):
    """A module without the names of its variables and of the padding of functions. Where it loads
    one, the kernel searches all its names for each function that can be traced:
    test_for_valid_rec() in kernel/trace/ftrace.c."""
    table, = struct.unpack_from("<Q", module, 0x28)
    size, count = struct.unpack_from("<HH", module, 0x3a)
    sections = [struct.unpack_from("<IIQQQQI", module, table + i * size) for i in range(count)]
    changed = bytearray(module)
    for _, kind, _, _, start, length, strings in sections:
        if kind != SYMTAB:
            continue
        names = sections[strings][4]
        for symbol in range(start, start + length, 24):
            name, info, _, section = struct.unpack_from("<IBBH", module, symbol)
            is_function = info & 15 == FUNCTION and not module.startswith(b"__pfx_", names + name)
            if 0 < section < RESERVED and not is_function:
                struct.pack_into("<I", changed, symbol, 0)
    return bytes(changed)


def write_tree(modules, tree):
    """Write the modules that can be loaded in the guest, and modules.dep for them."""
    wanted = [name for name, (path, _) in modules.files.items() if TREE.match(path)]
    lines = []
    for name in modules.in_order(wanted):
        path, contents = modules.files[name]
        file = tree / "kernel" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(with_names_of_functions(without_signature(contents)))
        needs = [f"kernel/{modules.files[other][0]}"
                 for other in reversed(modules.in_order([name])[:-1])]
        lines.append(f"kernel/{path}: {' '.join(needs)}".rstrip() + "\n")
    (tree / "modules.dep").write_text("".join(lines))


@contextlib.contextmanager
def locked(keep, name):
    """Holds a lock of the cache: others may fetch the same at the same time."""
    keep.mkdir(parents=True, exist_ok=True)
    with open(keep / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_kernel(version, new, apt):
    release = apt.newest_release(version)
    image = f"linux-image-{release}"
    names = [image, *apt.depends(image, r"linux-(modules|binary)-.*")]
    image, modules = unpack(apt.download(*names))
    (new / "kernel").write_bytes(decompress_image(image))
    (new / "modules").write_bytes(first_modules(modules))
    (new / "release").write_text(release)
    write_tree(modules, new / "tree")


def need_apt():
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(program):
            raise Unavailable(f"kernels are fetched with {program}, and there is none")


def prepare(version, keep):
    """The directory of the kernel of this version, created if it does not exist."""
    place = keep / version
    with locked(keep, version):
        if place.exists():
            return place
        need_apt()
        print(f"guest: fetching Debian's Linux {version}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=keep) as directory:
            new = pathlib.Path(directory) / "new"
            new.mkdir()
            fetch_kernel(version, new, PrivateApt(pathlib.Path(directory) / "apt",
                                                  SUITES[version]))
            new.rename(place)
    return place


# Building modules


def fetch_headers(version, place):
    """Unpack what is needed to build modules; its absolute paths are replaced by its own."""
    release = (place / "release").read_text()
    headers = f"linux-headers-{release}"
    print(f"guest: fetching the headers of Debian's Linux {version}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=place) as directory:
        apt = PrivateApt(pathlib.Path(directory) / "apt", SUITES[version])
        names = [headers, *apt.depends(headers, r"linux-(headers-.*-common|kbuild-.*)")]
        new = pathlib.Path(directory) / "new"
        for package in apt.download(*names):
            subprocess.run(["dpkg-deb", "-x", package, new], check=True)
        sources = new / "usr/src" / headers
        makefile = sources / "Makefile"
        makefile.write_text(re.sub(r"(?<=[ =])/usr/", f"{place}/headers/usr/",
                                   makefile.read_text()))
        (sources / "vmlinux").unlink(missing_ok=True)  # add_btf() needs no program of kbuild
        new.rename(place / "headers")
    wrap_programs(version, place / "headers")


# What programs of headers for a newer Debian need, besides its C library.
LIBRARIES = ("libc6", "libelf1t64", "zlib1g", "libzstd1")


def wrap_programs(version, headers):
    """Make the programs of the headers run with the C library of their own suite, if they need
    one that is newer than this machine's."""
    programs = [file for file in (headers / "usr/lib").rglob("*")
                if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK)
                and file.read_bytes()[:4] == b"\x7fELF"]
    report = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False).stdout
    if "version `GLIBC_" not in report:
        return
    libraries = headers / "libraries"
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=headers) as directory:
        suite = SUITES[version].partition("-")[0]
        apt = PrivateApt(pathlib.Path(directory) / "apt", suite)
        for package in apt.download(*LIBRARIES):
            subprocess.run(["dpkg-deb", "-x", package, libraries], check=True)
    for file in programs:
        real = file.with_name(file.name + ".real")
        file.rename(real)
        file.write_text("#!/bin/sh\n"
                        f"exec {libraries}/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "
                        f"--library-path {libraries}/usr/lib/x86_64-linux-gnu "
                        f"--argv0 \"$0\" {real} \"$@\"\n")
        file.chmod(0o755)


def digest_of(directory):
    """A digest of the files in a directory."""
    total = hashlib.sha256()
    for file in sorted(directory.iterdir()):
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()[:16]


def build_modules(version, keep):
    """The directory with tests/guest/modules, built for the kernel of this version."""
    place = prepare(version, keep)
    built = place / "built" / digest_of(MODULE_SOURCES)
    with locked(keep, version):
        if built.exists():
            return built
        if not (place / "headers").exists():
            fetch_headers(version, place)
        built.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=place) as directory:
            new = pathlib.Path(directory) / "modules"
            shutil.copytree(MODULE_SOURCES, new)
            run_kbuild(version, place, new)
            add_btf(new, place / "kernel")
            write_dependencies(new, place / "tree/modules.dep")
            new.rename(built)
    return built


def add_btf(directory, kernel):
    """Add BTF to built modules if kbuild could not: the headers of some kernels have no vmlinux."""
    if not shutil.which("pahole"):
        return
    for file in directory.glob("*.ko"):
        sections = subprocess.run(["readelf", "-SW", file], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
        if " .BTF " not in sections:
            subprocess.run(["pahole", "-J", "--btf_base", kernel, file], check=True)


def write_dependencies(directory, known):
    """Write modules.dep of built modules, with the dependencies of those that they need."""
    paths, needs = {}, {}
    for line in known.read_text().splitlines():
        path, _, others = line.partition(":")
        paths[pathlib.Path(path).stem.replace("-", "_")] = path
        needs[path] = others.split()
    lines = []
    for file in sorted(directory.glob("*.ko")):
        found = re.search(rb"\0depends=([^\0]*)\0", file.read_bytes())
        names = [name.replace("-", "_") for name in found[1].decode().split(",") if name]
        direct = [paths[name] for name in names if name in paths]
        # modprobe loads from the last to the first.
        order = dict.fromkeys(path for other in direct for path in [*needs[other][::-1], other])
        lines.append(f"extra/{file.name}: {' '.join(reversed(order))}".rstrip() + "\n")
    (directory / "modules.dep").write_text("".join(lines))


# gcc, without the options that only newer ones know: those of the kernel's own compiler are given.
COMPILER = """#!/bin/bash
options=()
for option in "$@"; do
	case $option in
	-fmin-function-alignment=*) option=-falign-functions=${option#*=} ;;
	-fstrict-flex-arrays=* | -fdiagnostics-show-context*) continue ;;
	esac
	options+=("$option")
done
exec gcc "${options[@]}"
"""


def run_kbuild(version, place, directory):
    release = (place / "release").read_text()
    compiler = directory / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    command = ["make", "-s", "-C", place / f"headers/usr/src/linux-headers-{release}",
               f"M={directory}", f"CC={compiler}", "modules"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise Unavailable(f"the modules do not build for Linux {version}")
