"""What the package cannot do without, looked for first, so that the error says what to install or to build."""
import importlib.util
import os
import subprocess
import sys


def _another() -> str:
    """"run /usr/bin/python3, which has it, or ", if Debian's Python has numpy and is of this version, for which the module is built."""
    other, says = "/usr/bin/python3", "import numpy, sys; print(sys.version_info[:2])"
    try:
        done = subprocess.run([other, "-c", says], capture_output=True, text=True, timeout=20, check=False, env={"PATH": os.defpath})
    except (OSError, subprocess.SubprocessError):
        return ""
    works = done.returncode == 0 and done.stdout.strip() == str(sys.version_info[:2])
    return f"run {other}, which has it, or " if works else ""


if importlib.util.find_spec("straggler._straggler") is None:
    if any(_name.startswith("_straggler.") and not _name.endswith(".pyi") for _name in os.listdir(os.path.dirname(__file__))):
        raise ModuleNotFoundError(
            "straggler was built for another Python than this one; run the one that it was built for (Debian's is /usr/bin/python3), or "
            "build it for this one: pip install --no-build-isolation ./python", name="straggler._straggler")
    raise ModuleNotFoundError(
        "straggler's extension is not built; in Straggler's folder: apt install pybind11-dev python3-dev python3-numpy, then cmake "
        "--preset release && cmake --build --preset release --target straggler_python_package", name="straggler._straggler")
if importlib.util.find_spec("numpy") is None:
    raise ModuleNotFoundError(
        f"numpy is missing for this Python, {sys.executable}; {_another()}install it: apt install python3-numpy for Debian's python3, or "
        "pip install numpy", name="numpy")
