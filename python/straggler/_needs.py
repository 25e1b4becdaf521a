"""What the package cannot do without, looked for first, so that the error says what to install."""
import importlib.util

_needs = {
    "numpy": "numpy is missing for this Python; install it: apt install python3-numpy for Debian's python3, or pip install numpy",
    "straggler._straggler": "straggler was built for another Python than this one; run the one that it was built for (Debian's is "
                            "/usr/bin/python3), or build it for this one: pip install --no-build-isolation ./python",
}
for _name, _remedy in _needs.items():
    if importlib.util.find_spec(_name) is None:
        raise ModuleNotFoundError(_remedy, name=_name)
