"""Runs Passenger's own loader. Older ones import `imp`, which Python 3.12 dropped: this gives what they use of it."""

import importlib.util
import runpy
import sys
import types


def load_source(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if sys.version_info >= (3, 12):
    shim = types.ModuleType("imp")
    shim.load_source = load_source
    sys.modules.setdefault("imp", shim)

del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
