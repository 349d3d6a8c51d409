"""Builds with scikit-build-core; on Linux without a C++ compiler, with clang from PyPI's ziglang.

As a program it says what a build would do, before anything is downloaded: `python tools/build_backend.py`.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

#: The version that was tried: clang 22.
ZIGLANG = "ziglang==0.17.1"
TAKEN = f"no C++ compiler found: pip compiles the core with clang from PyPI ({ZIGLANG}, 101 MB)"
MISSING = """schemagen cannot be built: {missing} is missing. Run one of these lines, then the same command again:
  Debian, Ubuntu:  sudo apt install g++ python3-dev python3-venv
  Fedora, RHEL:    sudo dnf install gcc-c++ python3-devel"""


def needs_ziglang() -> bool:
    """Return whether the core is to be built and there is no compiler; stop if the headers of Python are missing."""
    if "SCHEMAGEN_CORE_IN_PLACE" in os.environ or sys.platform != "linux":
        return False
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(MISSING.format(missing="Python.h"))
    return "CXX" not in os.environ and not any(map(shutil.which, ("c++", "g++", "clang++")))


def use_ziglang() -> None:
    """Have CMake compile and archive with ziglang, for every processor of this kind."""
    try:
        import ziglang
    except ImportError:
        sys.exit(MISSING.format(missing="a C++ compiler"))
    zig = Path(ziglang.__file__).with_name("zig")
    print(TAKEN, flush=True)
    # -O3 for CMake's own checks, too: ziglang compiles the C++ library anew for each level.
    os.environ["CXX"] = f"{zig} c++ -mcpu=baseline -O3"
    os.environ["SKBUILD_CMAKE_DEFINE"] = (
        f"CMAKE_CXX_ARCHIVE_CREATE={zig} ar qc <TARGET> <OBJECTS>;CMAKE_CXX_ARCHIVE_FINISH="
    )
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(Path("build", "ziglang").resolve()))


def __getattr__(name: str) -> Any:
    """Return a hook of scikit-build-core, where this module has none of its own."""
    from scikit_build_core import build

    return getattr(build, name)


def get_requires_for_build_wheel(*arguments: Any) -> list[str]:
    """Return what scikit-build-core needs, and ziglang if it is to compile."""
    from scikit_build_core import build

    return build.get_requires_for_build_wheel(*arguments) + [ZIGLANG] * needs_ziglang()


def build_wheel(*arguments: Any) -> str:
    """Build a wheel with scikit-build-core."""
    from scikit_build_core import build

    if needs_ziglang():
        use_ziglang()
    return build.build_wheel(*arguments)


if __name__ == "__main__" and needs_ziglang():
    print(TAKEN)
