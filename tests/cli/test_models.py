"""A saved model maps as the fitted one does, and a file can make nothing else happen."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from patchfold import GaussianPatch, Patches
from patchfold.cli.models import ModelError, Origin, dump_model, load_model
from patchfold.embedding.methods import METHODS
from patchfold.patches.sample import Sample
from patchfold.tables import TablePreparation, preprocessor
from patchfold.tables.decoding import Limit

DATA = load_iris()
X, y = DATA.data, DATA.target


def fitted(method="isomap", **parameters):
    if method == "lle" and "supervision" in parameters:
        parameters |= {"weights": "entropic"}  # labels change lengths, which the others do not use
    if method == "eigenmaps" and "supervision" in parameters:
        parameters |= {"bandwidth": "median"}
    if method == "tsne":
        parameters |= {"n_iter": 50, "perplexity": 5.0}
    estimator = METHODS[method](random_state=0, **parameters)
    return Pipeline([("scale", StandardScaler()), ("embedding", estimator)]).fit(X, y)


@pytest.mark.some_cases(9)
@pytest.mark.filterwarnings("ignore:bandwidth=1:UserWarning", "ignore:the neighbourhood graph")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"divergence": "euclidean"},
        {"supervision": "dissimilarity"},
        {"supervision": "cut", "out_of_sample": "grnn", "divergence": "hellinger"},
        {"supervision": "min-sum", "patch": GaussianPatch(size=20)},
        {"radius": 2.0},
        {"knn": "approximate"},
        {"n_neighbors": "auto"},
    ],
    ids=str,
)
def test_a_loaded_model_maps_new_rows_to_the_same_bits(method, parameters):
    model = fitted(method, **parameters)
    loaded, found = load_model(dump_model(model))
    assert found == Origin()
    new = X[:10] + 0.01
    assert np.array_equal(loaded.transform(new), model.transform(new))
    assert np.array_equal(loaded.transform(X), model.transform(X))


@pytest.mark.filterwarnings("ignore:bandwidth=1:UserWarning")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("isomap", {}),
        ("isomap", {"landmarks": 40, "scaling": "classical"}),
        ("isomap", {"knn": "approximate", "lengths": "divergence"}),
        ("lle", {"patch": GaussianPatch(size=8, covariance="ridge")}),
        ("eigenmaps", {"radius": 2.0}),
    ],
    ids=str,
)
def test_patches_and_geodesics_are_not_in_a_file_and_are_found_again_to_the_bit(method, parameters):
    model = fitted(method, **parameters)
    data = dump_model(model)
    file = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert isinstance(file[-1].patch_graph_.patches, Sample)
    before, after = model[-1], load_model(data)[0][-1]
    assert before.patches_ is not None
    for name in (*Patches.FIELDS, "dimension", "log_density"):
        old, new = getattr(before.patches_, name), getattr(after.patches_, name)
        old, new = (old(), new()) if callable(old) else (old, new)
        assert np.array_equal(old, new), name
    if before.patch_graph_.denoised is not None:
        old, new = before.patch_graph_.denoised, after.patch_graph_.denoised
        assert np.array_equal(old.points, new.points)
    if method == "isomap":
        assert file[-1]._placing.paths is None
        assert np.array_equal(before._placing.paths, after._placing.paths)
        assert before._placing.paths.dtype == after._placing.paths.dtype


def test_a_file_of_many_columns_is_hardly_larger_than_its_data():
    data = np.random.default_rng(0).normal(size=(60, 500))
    steps = [("scale", StandardScaler()), ("embedding", METHODS["isomap"]())]
    model = Pipeline(steps).fit(data)
    assert len(dump_model(model)) < 1.5 * data.nbytes
    assert model[-1].patches_.directions.nbytes >= 5 * data.nbytes


def test_what_is_found_again_must_be_possible(monkeypatch):
    model = fitted()
    estimator, graph, placing = model[-1], model[-1].patch_graph_, model[-1]._placing
    cut = graph.matrix.copy()
    cut = csr_array((cut.data[:0], cut.indices[:0], np.zeros_like(cut.indptr)), cut.shape)
    estimator.patch_graph_ = replace(graph, matrix=cut)
    with pytest.raises(ModelError, match=r"is damaged \(.*without a path"):
        load_model(dump_model(model))
    estimator.patch_graph_ = replace(graph, setting=replace(graph.setting, patch="none"))
    with pytest.raises(ModelError, match=r"is damaged \("):
        load_model(dump_model(model))
    estimator.patch_graph_ = graph
    few = {name: getattr(placing, name)[:9] for name in ("squared_means", "axes", "places")}
    estimator._placing = replace(placing, **few)
    with pytest.raises(ModelError, match=r"is damaged \(.*placed by 149 others"):
        load_model(dump_model(model))
    estimator._placing = placing
    data = dump_model(model)
    monkeypatch.setattr("patchfold.base.memory.available_memory", lambda: 1000)
    with pytest.raises(ModelError, match=r"not fit into memory: patches of 149 points needs"):
        load_model(data)


def test_the_file_is_a_pipeline_of_skops_and_compressed():
    data = dump_model(fitted())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert len(data) < 0.7 * sum(member.file_size for member in archive.infolist())
    loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert isinstance(loaded, Pipeline)


class Evil:
    def __reduce__(self):
        return (print, ("harm",))


@pytest.mark.parametrize(
    "data",
    [b"", b"no model", pickle.dumps({}), pickle.dumps(Evil())],
    ids=["empty", "text", "pickle", "evil"],
)
def test_what_skops_did_not_write_is_refused_and_not_run(data, capsys):
    with pytest.raises(ModelError, match="pickles are not loaded"):
        load_model(data)
    assert not capsys.readouterr().out


def test_types_that_are_not_trusted_are_named_and_not_loaded():
    model = fitted()
    model.extra = subprocess.run
    with pytest.raises(ModelError, match=r"not trusted, and is not loaded: subprocess.run"):
        load_model(dump_model(model))


def test_a_class_of_the_package_that_starts_processes_is_not_trusted():
    data = dump_model(fitted())
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                content = content.replace(b'"RowTable"', b'"_Worker"').replace(
                    b'"patchfold.neighbors.fitted_rows"', b'"patchfold.papers.reproduction.workers"'
                )
            new.writestr(name, content)
    with pytest.raises(ModelError, match=r"not trusted.*workers\._Worker"):
        load_model(changed.getvalue())


def test_other_models_and_damaged_ones_are_refused():
    other = LinearRegression().fit(X, y)
    with pytest.raises(ModelError, match="holds a LinearRegression"):
        load_model(skops.io.dumps(other))
    with pytest.raises(ModelError, match="holds a Pipeline that"):
        load_model(skops.io.dumps(Pipeline([("scale", StandardScaler())]).fit(X)))
    whole = dump_model(fitted())
    with pytest.raises(ModelError, match="damaged"):
        load_model(whole[: len(whole) // 2])


def test_a_file_without_its_arrays_is_refused():
    whole = dump_model(fitted())
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(changed, "w") as new:
        new.writestr("schema.json", old.read("schema.json"))
        json.loads(old.read("schema.json"))
    with pytest.raises(ModelError, match=r"damaged|cannot be loaded"):
        load_model(changed.getvalue())


@pytest.mark.parametrize(
    "origin",
    ['{"colour": 1}', "[]", "no json", "[" * 100_000, '{"version": 3}'],
    ids=["key", "list", "text", "deep", "number"],
)
def test_what_wrote_a_model_must_be_known(origin):
    model = fitted()
    model.patchfold_origin_ = origin
    with pytest.raises(ModelError, match="what wrote the model"):
        load_model(skops.io.dumps(model))


@pytest.mark.parametrize(
    "told",
    ["{}", '{"format": 3, "version": "0.1.0"}', '{"format": 99, "version": "9.0"}'],
    ids=["none", "earlier", "later"],
)
def test_a_model_of_another_format_is_refused(told):
    model = fitted()
    model.patchfold_origin_ = told
    with pytest.raises(ModelError, match=r"another version .* reads format 4; fit it"):
        load_model(skops.io.dumps(model))


def test_a_pipeline_without_an_embedding_is_refused():
    model = Pipeline([("a", StandardScaler()), ("b", StandardScaler())]).fit(X)
    model.patchfold_origin_ = "{}"
    with pytest.raises(ModelError, match="holds a Pipeline that"):
        load_model(skops.io.dumps(model))


def test_archives_that_cannot_be_read_are_refused():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("schema.json", "[" * 100_000)
    with pytest.raises(ModelError, match="damaged"):
        load_model(packed.getvalue())
    whole = bytearray(dump_model(fitted()))
    place = whole.rindex(b"PK\x01\x02")
    while place >= 0:  # the flag of patched data, in the list of what is in the archive
        whole[place + 8] |= 0x20
        place = whole.rfind(b"PK\x01\x02", 0, place)
    with pytest.raises(ModelError, match="damaged"):
        load_model(bytes(whole))


def altered(data, changed, number):
    """Return the model with another array in the place of one of its own, and how many it has.

    Without single numbers and the empty arrays that stand for a type.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        contents = {name: old.read(name) for name in old.namelist()}
        loaded = {k: np.load(io.BytesIO(c)) for k, c in contents.items() if k.endswith(".npy")}
        arrays = [name for name, array in loaded.items() if array.ndim and array.size]
        saved = io.BytesIO()
        np.save(saved, changed(loaded[arrays[number]]))
        for name, content in {**contents, arrays[number]: saved.getvalue()}.items():
            new.writestr(name, content)
    return buffer.getvalue(), len(arrays)


CHANGES = {
    "flat": lambda a: a.reshape(1, -1),
    "short": lambda a: a[:-1],
    "long": lambda a: np.concatenate([a, a[-1:]]),
    "deep": lambda a: a[..., None],
    "other bytes": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "complex": lambda a: a.astype(complex),
    "text": lambda a: a.astype(str),
}


@pytest.mark.slow
@pytest.mark.some_cases(5)
@pytest.mark.filterwarnings("ignore:bandwidth=1:UserWarning")
@pytest.mark.parametrize(
    ("change", "method", "parameters"),
    [
        *((change, "isomap", {}) for change in CHANGES),
        ("flat", "isomap", {"landmarks": 40, "supervision": "cut", "out_of_sample": "krr"}),
        ("short", "isomap", {"landmarks": 40, "supervision": "cut", "out_of_sample": "krr"}),
        ("other bytes", "eigenmaps", {"knn": "approximate", "out_of_sample": "grnn"}),
        ("short", "lle", {"radius": 2.0, "patch": GaussianPatch(size=5, covariance="ridge")}),
        ("long", "tsne", {}),
    ],
    ids=str,
)
def test_every_array_of_another_shape_or_type_is_refused(change, method, parameters):
    data = dump_model(fitted(method, **parameters))
    number, n_arrays = 0, 1
    while number < n_arrays:
        damaged, n_arrays = altered(data, CHANGES[change], number)
        with pytest.raises(ModelError, match=r"is damaged \(.*\); fit it anew"):
            load_model(damaged)
        number += 1
    assert n_arrays > 10


@pytest.mark.slow
def test_indices_beyond_the_points_and_numbers_that_are_none_are_refused():
    data = dump_model(fitted())
    refused = []

    def spoilt(array):
        array[len(array) // 2] = np.nan if array.dtype.kind == "f" else 10**6
        return array

    number, n_arrays = 0, 1
    while number < n_arrays:
        damaged, n_arrays = altered(data, spoilt, number)
        try:
            load_model(damaged)
        except ModelError as error:
            refused.append(str(error))
        number += 1
    assert len(refused) == n_arrays - 1  # eigenvalues of Isomap may be infinite
    assert any("reach beyond the 150 points" in words for words in refused)


def test_the_parts_of_a_step_that_prepares_features_are_checked():
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": y.astype(str)})
    prepare = preprocessor(frame, impute=True)
    steps = [("prepare", prepare), ("embedding", METHODS["isomap"](n_neighbors=10))]
    model = Pipeline(steps).fit(frame)
    load_model(dump_model(model))
    scaler = prepare.named_transformers_["numbers"].named_steps["scale"]
    encoder = prepare.named_transformers_["categories"].named_steps["encode"]
    imputer = prepare.named_transformers_["numbers"].named_steps["impute"]
    model = model if model[0] is prepare else None
    for part, name, value in (
        (scaler, "mean_", np.zeros(1)),
        (scaler, "scale_", np.full(2, np.nan)),
        (imputer, "statistics_", np.zeros(1)),
        (encoder, "categories_", []),
        (encoder, "_n_features_outs", [1]),
        (prepare, "transformers_", [("numbers", LinearRegression().fit(X, y), ["x"])]),
    ):
        right = getattr(part, name)
        setattr(part, name, value)
        with pytest.raises(ModelError, match=r"is damaged \(.*\); fit it anew"):
            load_model(dump_model(model))
        setattr(part, name, right)


def test_the_parts_of_a_preparation_are_checked():
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": y.astype(str)})
    prepare = TablePreparation(target="kind")
    model = Pipeline([("columns", prepare), ("embedding", METHODS["isomap"]())]).fit(frame)
    loaded, _ = load_model(dump_model(model))
    assert np.array_equal(loaded.transform(frame), model.transform(frame))
    assert loaded[0].columns_ == prepare.columns_
    for name, value in (
        ("target_", 3),
        ("beside_", [["x"]]),
        ("dates_", {"x": 1}),
        ("coder_", StandardScaler().fit(X)),
    ):
        right = getattr(prepare, name)
        setattr(prepare, name, value)
        with pytest.raises(ModelError, match=r"is damaged \(.*\); fit it anew"):
            load_model(dump_model(model))
        setattr(prepare, name, right)


def test_a_pipeline_without_its_steps_is_refused():
    model = fitted()
    data = dump_model(model)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = archive.read("schema.json")
    with pytest.raises(ModelError, match=r"is damaged \(.*steps.*\); fit it anew"):
        load_model(repacked(data, **{"schema.json": schema.replace(b'"steps"', b'""')}))


def test_a_map_of_another_kind_is_refused():
    model = fitted()
    model[-1].map_ = LinearRegression().fit(X, X[:, :2])
    with pytest.raises(ModelError, match=r"is damaged .*; fit it anew"):
        load_model(dump_model(model))


def repacked(data, **changes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        contents = {name: old.read(name) for name in old.namelist()} | changes
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in contents.items():
            new.writestr(name, content)
    return buffer.getvalue()


def test_a_model_that_unpacks_to_far_more_than_its_size_is_refused(monkeypatch):
    data = dump_model(fitted())
    load_model(repacked(data))
    small = Limit(free=2**21, ratio=10)
    monkeypatch.setattr(skops.io, "get_untrusted_types", None)  # is not reached
    with pytest.raises(ModelError, match=r"unpacks to more than .* which is refused"):
        load_model(repacked(data, **{"bomb.npy": bytes(2**24)}), small)
    # One array that is named again and again is unpacked as often.
    schema = b"[" + b",".join([b'{"file": "zeros.npy"}'] * 1000) + b"]"
    with pytest.raises(ModelError, match=r"unpacks to more than .* which is refused"):
        load_model(repacked(data, **{"zeros.npy": bytes(2**16), "schema.json": schema}), small)


def test_without_skops_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[cli\]'"):
        dump_model(fitted())
