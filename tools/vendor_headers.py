# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Declarations of the public headers of OpenCL, HIP and Level Zero.

The headers are those that are installed (Debian: opencl-c-headers, libamdhip64-dev, libze-dev).
"""

import os
import re
import subprocess
import tempfile

import cuda_headers

HERE = os.path.dirname(os.path.abspath(__file__))


class Family:
    """APIs whose headers are read together, and the tables that they become."""

    def __init__(self, name, headers, defines, tables, prefix, version, extra=None):
        self.name, self.headers, self.defines, self.tables = name, headers, defines, tables
        self.prefix, self.version, self.extra = prefix, version, extra

    @property
    def annotations(self):
        return os.path.join(HERE, "api-annotations-" + self.name.replace("_", "-"))


# tables: the file, what its names look like, and what it has.
FAMILIES = {family.name: family for family in (
    Family("opencl", ["CL/cl.h", "CL/cl_ext.h", "CL/cl_gl.h", "CL/cl_egl.h"],
           ["CL_TARGET_OPENCL_VERSION=300", "CL_USE_DEPRECATED_OPENCL_1_0_APIS",
            "CL_USE_DEPRECATED_OPENCL_1_1_APIS", "CL_USE_DEPRECATED_OPENCL_1_2_APIS",
            "CL_USE_DEPRECATED_OPENCL_2_0_APIS", "CL_USE_DEPRECATED_OPENCL_2_1_APIS",
            "CL_USE_DEPRECATED_OPENCL_2_2_APIS"],
           [("functions.def", r"cl[A-Z]", "The functions of OpenCL and its extensions")],
           "cl", "OpenCL 3.0"),
    Family("hip", ["hip/hip_runtime_api.h", "hip/hiprtc.h"], ["__HIP_PLATFORM_AMD__"],
           [("functions.def", r"(__)?hip(?!rtc)[A-Z]", "The functions of HIP's runtime API"),
            ("hiprtc.def", r"hiprtc[A-Z]", "The functions of hipRTC")],
           "hip", "HIP 5.2", "api-extra-hip.h"),
    Family("level_zero", ["level_zero/ze_api.h"], [],
           [("functions.def", r"ze[A-Z]", "The functions of Level Zero's core API")],
           "ze", "Level Zero 1.8"),
)}


class NoHeaders(Exception):
    """The headers of a family are not installed."""


class VendorHeaders(cuda_headers.Headers):
    """As Headers, of the headers of a family."""

    def __init__(self, family, include):
        self.family, self.include = family, include
        for header in family.headers:
            if not os.path.exists(os.path.join(include, header)):
                raise NoHeaders("no %s in %s" % (header, include))
        extra = os.path.join(HERE, family.extra) if family.extra else None
        super().__init__(None, extra)
        self.sections = self.read_sections()

    def preprocess(self, toolkit, extra):
        names = self.family.headers + ([extra] if extra else [])
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "all.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write("#include <stdbool.h>\n")
                file.writelines('#include "%s"\n' % name for name in names)
            command = [cuda_headers.clang(), "-E", "-P", "-x", "c", "-std=gnu17", "-w",
                       "-I", self.include, *("-D" + define for define in self.family.defines),
                       source]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            command.insert(2, "-dM")
            macros = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
        return text, macros

    def declare_record(self, node):
        """Consecutive bit fields of one type become a field `bits` for each storage unit."""
        used = 0
        for child in node.get("inner", []):
            if child["kind"] != "FieldDecl" or not child.get("isBitfield"):
                used = 0
                continue
            width = int(next(inner["value"] for inner in child["inner"] if "value" in inner))
            bits = 8 * cuda_headers.BUILTIN[child["type"]["qualType"]][1]
            first = not used or used + width > bits
            used = width if first else used + width
            child["name"] = "bits" if first else ""
            child["isBitfield"] = False
            child["kind"] = "FieldDecl" if first else "BitFieldRest"
        super().declare_record(node)

    def resolve(self, spelling, shown=None):
        """Vectors and what only a compiler knows: types of which nothing is shown."""
        if "__attribute__" in spelling or spelling.startswith("__builtin"):
            return cuda_headers.Type("VOID", shown or "vector", 0)
        return super().resolve(spelling, shown)

    def evaluate(self, macros):
        for line in macros.splitlines():
            match = re.match(r"#define (\w+) (.+)$", line)
            if match:
                value = self.constant(match.group(2))
                if value is not None:
                    self.macros[match.group(1)] = value

    @staticmethod
    def constant(text):
        """The value of an integer constant expression without names, or None."""
        text = re.sub(r"\((cl_\w+|unsigned|int)\)", "", text)
        text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        if not re.search(r"\d", text) or re.search(r"[^-+|()<> \t0-9a-fA-FxX]", text) or \
                re.search(r"\b[a-zA-Z]", text):
            return None
        try:
            return int(eval(text, {"__builtins__": {}}))  # pylint: disable=eval-used
        except (SyntaxError, TypeError, ValueError):
            return None

    def read_sections(self):
        """{type: [macros]}: OpenCL's headers name the type of constants in a comment before."""
        sections, current = {}, []
        for header in self.family.headers:
            path = os.path.join(self.include, header)
            for line in open(path, encoding="utf-8"):
                comment = re.match(r"\s*/\*+ *(.*?) *\*/\s*$", line)
                if comment:
                    names = re.findall(r"\bcl_\w+", comment.group(1))
                    plain = re.fullmatch(r"(cl_\w+)( and cl_\w+)?( - bitfield)?",
                                         comment.group(1))
                    if plain:
                        current = names
                    elif comment.group(1) == "Error Codes":
                        current = ["cl_error"]
                    elif not comment.group(1).startswith("reserved"):
                        current = []
                macro = re.match(r"\s*#define (CL_\w+)\s+[-(0-9]", line)
                if macro and macro.group(1) in self.macros:
                    for name in current:
                        sections.setdefault(name, [])
                        if macro.group(1) not in sections[name]:
                            sections[name].append(macro.group(1))
                if re.match(r"(typedef|extern)\b", line):
                    current = []
        if sections:  # errors of extensions stand anywhere
            sections["cl_error"] += sorted(
                (name for name, value in self.macros.items()
                 if name.startswith("CL_") and -2000 < value <= -1000 and "_EXP" not in name),
                key=lambda name: -self.macros[name])
        return sections
