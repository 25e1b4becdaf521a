"""setuptools calls CMake: the package is what the target straggler_python_package builds."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = pathlib.Path(__file__).resolve().parent.parent


class CMake(build_ext):
    def build_extension(self, extension):
        # STRAGGLER_BUILD: a build folder to use, and to leave as it is; else one beside pip's own.
        build = pathlib.Path(os.environ.get("STRAGGLER_BUILD", pathlib.Path(self.build_temp).resolve()))
        if not (build / "CMakeCache.txt").exists():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            subprocess.run(["cmake", "-S", SOURCE, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DSTRAGGLER_TESTS=OFF",
                            f"-DSTRAGGLER_PYTHON={sys.executable}"], check=True)
        jobs = ["--parallel", str(os.cpu_count() or 1)]
        subprocess.run(["cmake", "--build", build, "--target", "straggler_python", *jobs], check=True)
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / "python" / "straggler" / target.name, target)


def version():
    return re.search(r"project\(straggler VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


setup(version=version(), packages=["straggler"], package_data={"straggler": ["py.typed", "*.pyi"]},
      ext_modules=[Extension("straggler._straggler", [])], cmdclass={"build_ext": CMake})
