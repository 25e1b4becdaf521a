"""setuptools calls CMake: the package is what the target straggler_python_package builds."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools 70
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

SOURCE = pathlib.Path(__file__).resolve().parent.parent


class CMake(build_ext):
    def build_extension(self, extension):
        # STRAGGLER_BUILD: a build folder to use, and to leave as it is; else one beside pip's own.
        build = pathlib.Path(os.environ.get("STRAGGLER_BUILD", pathlib.Path(self.build_temp).resolve()))
        if not (build / "CMakeCache.txt").exists():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            # STRAGGLER_CARRIED: libraries for a wheel that runs elsewhere (tools/package/carried).
            subprocess.run(["cmake", "-S", SOURCE, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DSTRAGGLER_TESTS=OFF",
                            f"-DSTRAGGLER_PYTHON={sys.executable}", f"-DSTRAGGLER_CARRIED={os.environ.get('STRAGGLER_CARRIED', '')}"], check=True)
        jobs = ["--parallel", str(os.cpu_count() or 1)]
        subprocess.run(["cmake", "--build", build, "--target", "straggler_python", *jobs], check=True)
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / "python" / "straggler" / target.name, target)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)


def platform(extension):
    """The wheel's tag: the oldest glibc that has all versions of symbols which the extension asks for; no tag where it needs other libraries."""
    said = subprocess.run(["objdump", "-p", extension], check=True, capture_output=True, text=True).stdout
    libraries = set(re.findall(r"NEEDED +(\S+)", said)) - {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
    if libraries or sysconfig.get_platform() != "linux-x86_64":
        print(f"straggler: this wheel is for this machine alone: it needs {', '.join(sorted(libraries)) or 'another kind of processor'}")
        return None
    return "manylinux_2_%d_x86_64" % max(17, *map(int, re.findall(r"GLIBC_2\.(\d+)", said)))


class Wheel(bdist_wheel):
    def get_tag(self):
        python, abi, tag = super().get_tag()
        (extension,) = pathlib.Path(self.bdist_dir or ".").rglob("_straggler.*.so")
        return python, abi, platform(extension) or tag


def version():
    return re.search(r"project\(straggler VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


setup(version=version(), packages=["straggler"], package_data={"straggler": ["py.typed", "*.pyi"]},
      ext_modules=[Extension("straggler._straggler", [])], cmdclass={"build_ext": CMake, "bdist_wheel": Wheel})
