"""Whatever is in the file of a model, loading it gives a model or one clear error."""

from __future__ import annotations

import io
import re
import zipfile
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap
from patchfold.cli.models import ModelError, dump_model, load_model

X = load_iris().data[::5]
# A test run tries few, since each is a whole model; "make fuzz" a third of its usual number.
FEWER = settings(max_examples=max(30, settings().max_examples // 3))


@cache
def members():
    """Return the files in the archive of a model."""
    steps = [("scale", StandardScaler()), ("embedding", PatchIsomap(n_neighbors=10))]
    data = dump_model(Pipeline(steps).fit(X))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def check(data):
    """Load a model; one that is loaded maps new rows, or says why it does not."""
    try:
        model, _ = load_model(data)
    except ModelError as error:
        assert str(error).endswith(".")  # noqa: PT017 - either is right
        return
    try:
        places = model.transform(X[:5] + 0.01)
    except (TypeError, ValueError, AttributeError) as error:
        assert str(error)  # noqa: PT017 - either is right
        return
    assert len(places) == 5


@st.composite
def changed_bytes(draw, data):
    data = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            data[place] = draw(st.integers(0, 255))
        else:
            del data[place : place + draw(st.integers(1, 40))]
    return bytes(data)


@pytest.mark.slow
@FEWER
@given(st.data())
def test_a_model_of_which_some_bytes_are_others_is_refused_or_maps(data):
    check(data.draw(changed_bytes(archived(members()))))


@pytest.mark.slow
@FEWER
@given(st.data())
def test_a_model_with_another_array_is_refused_or_maps(data):
    contents = members()
    name = data.draw(st.sampled_from(sorted(name for name in contents if name.endswith(".npy"))))
    array = np.load(io.BytesIO(contents[name]))
    change = data.draw(st.sampled_from(["bytes", "reverse", "one", "other", "large", "integers"]))
    if change == "bytes":
        content = data.draw(changed_bytes(contents[name]))
    else:
        others = {
            "reverse": lambda: array[..., ::-1] if array.ndim else array,
            "one": lambda: array.ravel()[:1],
            "other": lambda: np.load(io.BytesIO(contents[data.draw(other_arrays())])),
            "large": lambda: array * 10**6,
            "integers": lambda: array.astype(int),
        }
        saved = io.BytesIO()
        with np.errstate(over="ignore"):
            np.save(saved, others[change]())
        content = saved.getvalue()
    check(archived(contents | {name: content}))


def other_arrays():
    return st.sampled_from(sorted(name for name in members() if name.endswith(".npy")))


@pytest.mark.slow
@FEWER
@given(st.data())
def test_a_model_that_is_described_otherwise_is_refused_or_maps(data):
    schema = members()["schema.json"].decode()
    words = sorted(set(re.findall(r'"[^"]*"|-?\d+\.?\d*|null|true|false', schema)))
    for _ in range(data.draw(st.integers(1, 2))):
        old, new = (data.draw(st.sampled_from(words)) for _ in range(2))
        places = [found.start() for found in re.finditer(re.escape(old), schema)]
        place = data.draw(st.sampled_from(places)) if places else 0
        schema = schema[:place] + new + schema[place + len(old) :]
    check(archived(members() | {"schema.json": schema.encode()}))
