"""The unit tests of the reference library 2.0.1, run with `instep.compat.resync` in the place of `resync`.

They are not part of its distribution. `RESYNC_SOURCES` names a checkout of the tag v2.0.1 of
https://github.com/resync/resync, which `cargo xtask python` makes; without one nothing is counted.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import types
import unittest

import pytest

ALL = 286
PASSING = 277

#: Each test that fails, and the reason; `docs/how-to/python.md` has them in a sentence.
FAILING = {
    "tests.test_client.TestClient.test48_write_dump_if_requested": "expects a placeholder for Change Dumps",
    "tests.test_resource.TestResource.test02_equal": "expects +01:00 to be added to a time",
    "tests.test_w3c_datetime.TestW3cDatetime.test03_same": "expects +01:00 to be added to a time",
    "tests.test_w3c_datetime.TestW3cDatetime.test05_roundtrips": "expects +01:00 to be added to a time",
}


class Substitute(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `resync` and what is below it in `instep.compat`."""

    def find_spec(
        self, fullname: str, path: object = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] != "resync":
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return importlib.import_module(f"instep.compat.{spec.name}")

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def run_tests() -> dict[str, object]:
    """Runs the tests of the current folder that can be imported; returns their number and the names of those that fail."""
    sys.meta_path.insert(0, Substitute())
    sys.path.insert(0, os.getcwd())
    suite = unittest.TestLoader().discover("tests", top_level_dir=".")
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    failed = [test.id() for test, _ in result.failures + result.errors]
    return {"run": result.testsRun, "skipped": len(result.skipped), "failed": sorted(set(failed))}


def written_tests(folder: pathlib.Path) -> int:
    """Counts the tests in the files of a folder, also in those whose names cannot be imported."""
    trees = [ast.parse(file.read_text()) for file in sorted(folder.glob("*.py"))]
    classes = [item for tree in trees for item in ast.walk(tree) if isinstance(item, ast.ClassDef)]
    # A name that a class has twice is one test.
    names = [{item.name for item in test.body if isinstance(item, ast.FunctionDef)} for test in classes]
    return sum(name.startswith("test") for names_of_class in names for name in names_of_class)


def test_so_many_tests_of_the_reference_library_pass_as_the_documentation_says() -> None:
    sources = os.environ.get("RESYNC_SOURCES")
    if not sources:
        pytest.skip("RESYNC_SOURCES names no checkout of the reference library")
    assert written_tests(pathlib.Path(sources, "tests")) == ALL
    ran = subprocess.run([sys.executable, __file__], cwd=sources, stdout=subprocess.PIPE, check=True, text=True)
    counted = json.loads(ran.stdout.splitlines()[-1])
    assert counted["failed"] == sorted(FAILING)
    assert counted["skipped"] == 0
    assert counted["run"] - len(counted["failed"]) == PASSING
    guide = pathlib.Path(__file__).parents[2] / "docs/how-to/python.md"
    assert f"Of the {ALL} unit tests of the reference library, {PASSING} pass with it." in guide.read_text()


if __name__ == "__main__":
    print(json.dumps(run_tests()))
