# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Declarations of the CUDA toolkit's public headers, and exports of its libraries.

The headers are read by clang (its syntax tree as JSON), so that no C is parsed here. Headers of
other projects that some of them include (OpenGL, EGL, VDPAU) are replaced by the few typedefs
that are needed.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

FOREIGN = {
    "GL/gl.h": "typedef unsigned int GLenum; typedef unsigned int GLuint; typedef int GLint;",
    "EGL/egl.h": "typedef int EGLint; typedef unsigned int EGLBoolean;",
    "EGL/eglext.h": "typedef void *EGLStreamKHR; typedef void *EGLImageKHR;"
                    " typedef void *EGLSyncKHR;",
    "vdpau/vdpau.h": "typedef unsigned int VdpDevice; typedef unsigned int VdpVideoSurface;"
                     " typedef unsigned int VdpOutputSurface; typedef int VdpStatus;"
                     " typedef VdpStatus VdpGetProcAddress(VdpDevice, unsigned int, void **);",
}
# A toolkit may lack the last ones.
HEADERS = ["cuda.h", "cuda_runtime_api.h", "cudaProfiler.h", "cuda_profiler_api.h", "cudaGL.h",
           "cuda_gl_interop.h", "cudaEGL.h", "cuda_egl_interop.h", "cudaVDPAU.h",
           "cuda_vdpau_interop.h", "cublas_v2.h", "cublasLt.h", "cudnn.h", "nccl.h"]

BUILTIN = {  # name: (kind, size); both ABIs are LP64
    "void": ("VOID", 0),
    "_Bool": ("UNSIGNED", 1),
    "char": ("SIGNED", 1), "signed char": ("SIGNED", 1), "unsigned char": ("UNSIGNED", 1),
    "short": ("SIGNED", 2), "unsigned short": ("UNSIGNED", 2),
    "int": ("SIGNED", 4), "unsigned int": ("UNSIGNED", 4),
    "long": ("SIGNED", 8), "unsigned long": ("UNSIGNED", 8),
    "long long": ("SIGNED", 8), "unsigned long long": ("UNSIGNED", 8),
    "__int128": ("SIGNED", 16), "unsigned __int128": ("UNSIGNED", 16),
    "float": ("FLOAT", 4), "double": ("FLOAT", 8), "long double": ("FLOAT", 16),
}


class NoToolkit(Exception):
    """There is no CUDA toolkit, or a program that reads it is missing."""


def find_toolkit(path=None):
    """The folder that has include/cuda.h: the given one, nvcc's, or /usr/local/cuda."""
    candidates = [path] if path else []
    if not path:
        nvcc = shutil.which("nvcc")
        if nvcc:
            candidates.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
        candidates.append("/usr/local/cuda")
    for candidate in candidates:
        if os.path.exists(os.path.join(candidate, "include", "cuda.h")):
            return candidate
    raise NoToolkit("no CUDA toolkit: no include/cuda.h in " + " or ".join(candidates))


def missing_headers(toolkit):
    """The HEADERS that a toolkit lacks."""
    return [name for name in HEADERS
            if not os.path.exists(os.path.join(toolkit, "include", name))]


def find_library(toolkit, name):
    """The path of a library of the toolkit, or None."""
    for folder in ("lib64", "lib", "lib64/stubs", "lib/stubs"):
        path = os.path.join(toolkit, folder, name)
        if os.path.exists(path):
            return path
    return None


def exported_names(path):
    """Names of the functions that a 64-bit little-endian ELF library exports."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(path + " is not a 64-bit little-endian ELF file")
    offset, = struct.unpack_from("<Q", data, 40)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_size)
                for i in range(count)]
    names = set()
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", data, at)
            if index and info & 15 == 2:  # defined, STT_FUNC
                end = data.index(b"\0", strings + name)
                names.add(data[strings + name:end].decode())
    return names


def without_variant(name):
    """The name of a function without the suffix of its per-thread-stream variant."""
    return re.sub(r"_(ptsz|ptds)$", "", name)


def clang():
    """The name of an installed clang."""
    for name in ("clang", "clang-14", "clang-15", "clang-16", "clang-19"):
        if shutil.which(name):
            return name
    raise NoToolkit("no clang to read the headers with")


def write_source(folder, toolkit, more=()):
    """Writes a source file into a folder that includes all headers, and `more`; returns the
    compiler's arguments for it."""
    include = os.path.join(toolkit, "include")
    for name, text in FOREIGN.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#pragma once\n" + text + "\n")
    source = os.path.join(folder, "all.c")
    names = list(FOREIGN) + [header for header in HEADERS
                             if os.path.exists(os.path.join(include, header))]
    names += [os.path.abspath(path) for path in more]
    with open(source, "w", encoding="utf-8") as file:
        file.writelines('#include "%s"\n' % name for name in names)
    # The first macro makes the headers declare all versions of a function, the second keeps ends
    # of enumerations out.
    return ["-D__CUDA_API_VERSION_INTERNAL", "-D__CUDA_API_VERSION_INTERNAL_ODR",
            "-I", folder, "-I", include, source]


class Type:
    """A resolved type. kind: VOID SIGNED UNSIGNED FLOAT ENUM STRUCT UNION POINTER HANDLE
    FUNCTION ARRAY; name: as a reader knows it; tag: the declaration of an enum or record."""

    def __init__(self, kind, name, size=0, target=None, tag=None, const=False, count=0):
        self.kind, self.name, self.known_size = kind, name, size
        self.target, self.tag, self.const, self.count = target, tag, const, count

    @property
    def size(self):
        """Bytes; found late, because a structure may point to itself."""
        return self.known_size() if callable(self.known_size) else self.known_size


class Record:
    """A struct or union: fields are (name, spelling of its type, bit width or None)."""

    def __init__(self, union):
        self.union, self.fields, self.complete, self.names = union, [], False, []


class Enum:
    def __init__(self):
        self.values, self.names = [], []


class Headers:
    """Declarations of the toolkit's headers and of an additional file."""

    def __init__(self, toolkit, extra=None):
        self.functions = {}  # name: (spelling of the result, [(name, spelling)])
        self.typedefs = {}   # name: spelling
        self.tags = {}       # "struct x" or node id: Record or Enum
        self.macros = {}     # name: integer
        self.by_id = {}
        text, macros = self.preprocess(toolkit, extra)
        for node in self.tree(text)["inner"]:
            self.declare(node)
        self.evaluate(macros)

    def preprocess(self, toolkit, extra):
        with tempfile.TemporaryDirectory() as folder:
            command = [clang(), "-E", "-P", "-x", "c", "-std=gnu17", "-w",
                       *write_source(folder, toolkit, [extra] if extra else [])]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            command.insert(2, "-dM")
            macros = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
        return text, macros

    def tree(self, text):
        command = [clang(), "-x", "c", "-std=gnu17", "-w", "-fsyntax-only", "-Xclang",
                   "-ast-dump=json", "-"]
        done = subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def declare(self, node):
        kind = node.get("kind")
        if kind == "FunctionDecl" and node.get("storageClass") != "static":
            parameters = [(child.get("name", ""), child["type"]["qualType"])
                          for child in node.get("inner", []) if child["kind"] == "ParmVarDecl"]
            result = node["type"]["qualType"].split("(")[0].strip()
            self.functions.setdefault(node["name"], (result, parameters))
        elif kind == "TypedefDecl":
            owned = next((child["ownedTagDecl"]["id"] for child in node.get("inner", [])
                          if "ownedTagDecl" in child), None)
            spelling = node["type"]["qualType"]
            if owned in self.by_id and "(*" not in spelling and not spelling.endswith("*"):
                spelling = "tag " + owned
                self.by_id[owned].names.append(node["name"])
            self.typedefs.setdefault(node["name"], spelling)
        elif kind == "RecordDecl":
            self.declare_record(node)
        elif kind == "EnumDecl":
            self.declare_enum(node)

    def declare_record(self, node):
        record = Record(node["tagUsed"] == "union")
        key = "%s %s" % (node["tagUsed"], node.get("name", "(anonymous)"))
        if node.get("name"):
            known = self.tags.setdefault(key, record)
            if known.complete:
                self.by_id[node["id"]] = known
                return
            record = known
        self.by_id[node["id"]] = record
        if not node.get("completeDefinition"):
            return
        record.complete = True
        nested = None
        for child in node.get("inner", []):
            if child["kind"] in ("RecordDecl", "EnumDecl"):
                self.declare(child)
                nested = child["id"]
            elif child["kind"] == "FieldDecl":
                spelling = child["type"]["qualType"]
                array = re.search(r"\[\d+\]$", spelling)
                if nested and re.search(r"(anonymous|unnamed)", spelling):
                    spelling = "tag " + nested + (array.group(0) if array else "")
                if child.get("isBitfield"):
                    raise ValueError("a bit field in " + key)
                record.fields.append((child.get("name", ""), spelling))

    def declare_enum(self, node):
        enum = Enum()
        self.by_id[node["id"]] = enum
        if node.get("name"):
            self.tags["enum " + node["name"]] = enum
        value = -1
        for child in node.get("inner", []):
            if child["kind"] != "EnumConstantDecl":
                continue
            given = next((inner["value"] for inner in child.get("inner", [])
                          if "value" in inner), None)
            value = int(given) if given is not None else value + 1
            enum.values.append((child["name"], value))

    def evaluate(self, macros):
        for line in macros.splitlines():
            match = re.match(r"#define (\w+) \(?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?$", line)
            if match:
                self.macros[match.group(1)] = int(match.group(2), 0)

    # -- types ------------------------------------------------------------------------------

    def resolve(self, spelling, shown=None):
        """The type of a spelling such as "const struct cudaExtent *"."""
        text = spelling.strip()
        array = re.match(r"(.*?)((?:\[\d+\])+)$", text)
        if array and "(*" not in text:
            count = 1
            for part in re.findall(r"\d+", array.group(2)):
                count *= int(part)
            target = self.resolve(array.group(1))
            return Type("ARRAY", spelling, lambda: target.size * count, target, count=count)
        if "(*" in text or re.search(r"\)$", text):
            return Type("FUNCTION", shown or "function", 8)
        pointer = re.match(r"(.*)\*\s*(const|restrict|volatile|__restrict)?$", text, re.S)
        if pointer:
            inner = pointer.group(1).strip()
            target = self.resolve(inner)
            if target.kind == "FUNCTION":
                return Type("FUNCTION", shown or text, 8)
            const = bool(re.match(r"const\b", inner) or re.search(r"\bconst$", inner))
            name = shown or text
            if shown and target.kind == "STRUCT" and not target.tag.complete:
                return Type("HANDLE", shown, 8)
            return Type("POINTER", name, 8, target, const=const)
        text = re.sub(r"\b(const|volatile)\b", "", text).strip()
        if text in BUILTIN:
            kind, size = BUILTIN[text]
            return Type(kind, shown or text, size)
        if text.startswith("tag "):
            return self.tag_type(self.by_id[text[4:]], text, shown)
        if re.match(r"(struct|union|enum) ", text):
            tag = self.tags.get(text)
            if tag is None:
                tag = Record(text.startswith("union"))
            return self.tag_type(tag, text, shown)
        if text in self.typedefs:
            inner = self.typedefs[text]
            return self.resolve(inner, shown or text)
        raise ValueError("unknown type: " + spelling)

    def tag_type(self, tag, text, shown):
        name = shown or re.sub(r"^(struct|union|enum|tag) ", "", text)
        if isinstance(tag, Enum):
            return Type("ENUM", name, 4, tag=tag)

        def size():
            return self.layout(tag)[0] if tag.complete else 0

        return Type("UNION" if tag.union else "STRUCT", name, size, tag=tag)

    def alignment(self, kind):
        if kind.kind == "ARRAY":
            return self.alignment(kind.target)
        if kind.kind in ("STRUCT", "UNION"):
            return self.layout(kind.tag)[1]
        return kind.size or 1

    def layout(self, record):
        """(size, alignment, [(name, offset, type)]) of a record, by the rules of both ABIs."""
        if hasattr(record, "laid_out"):
            return record.laid_out
        size, alignment, fields = 0, 1, []
        for name, spelling in record.fields:
            kind = self.resolve(spelling)
            wanted = self.alignment(kind)
            alignment = max(alignment, wanted)
            offset = 0 if record.union else (size + wanted - 1) // wanted * wanted
            fields.append((name, offset, kind))
            size = max(size, kind.size) if record.union else offset + kind.size
        size = (size + alignment - 1) // alignment * alignment
        record.laid_out = (size, alignment, fields)
        return record.laid_out
