"""Every benchmark says what it measures, and can be imported: the names it uses still exist."""

from importlib import import_module

import pytest

programs = pytest.importorskip(
    "benchmarks.__main__", reason="benchmarks are part of the checkout only"
)


@pytest.mark.parametrize("name", programs.described())
def test_a_benchmark_says_what_it_measures_and_can_be_imported(name):
    assert programs.described()[name]
    try:
        module = import_module(f"benchmarks.{name}")
        if hasattr(module, "__path__"):
            module = import_module(f"benchmarks.{name}.__main__")
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] in {"patchfold", "benchmarks"}:
            raise
        return  # a package of an extra is not installed here, such as torch
    assert callable(module.main)
