"""Write a learner's predictions as an ONNX model or a program of torch.export."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import cast

import torch
from torch.export import Dim, ExportedProgram

from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError
from bison_ocl.files.durable import write_atomically
from bison_ocl.learner.export.answers import INPUTS, Answers, Input
from bison_ocl.learner.labels.names import encode
from bison_ocl.learner.predicting import check_answered
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.methods import name_of
from bison_ocl.version import installed

OUTPUTS = ["label", "scores", "probabilities"]
Facts = dict[str, str]
"""what a file says of its model, by name"""


def checked(path: str | Path, input: str) -> tuple[Path, Input]:
    """Where to write and for which images, refused before anything is computed."""
    path = Path(path)
    if input not in INPUTS:
        raise UserError(f"input={input!r}: expected 'uint8' or 'float32'")
    if path.suffix not in FORMATS:
        found = f"suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise UserError(f"cannot export to {path}: {found}; expected .onnx or .pt2")
    if not path.parent.is_dir():
        raise UserError(f"cannot export to {path}: no folder {path.parent}; create it")
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if path.suffix == ".onnx" and missing:
        advice = "pip install 'bison-ocl[export]', or export to .pt2"
        raise UserError(f"cannot export to {path}: {' and '.join(missing)} missing; {advice}")
    return path, input


def export(snapshot: Snapshot, rule: str | None, path: Path, input: Input) -> None:
    """Write one file with the model, its labels and its origin; any batch size."""
    facts = {
        "method": name_of(type(snapshot.engine.method)),
        "rule": rule or "own",
        "labels": json.dumps([encode(label) for label in snapshot.labels]),
        "input": input,
        "temperature": str(snapshot.temperature),
        "steps": str(snapshot.step),
        "version": installed() or "unknown",
    }
    with quiet(), torch.no_grad(), Execution("cpu").active():
        image = torch.zeros((1, *snapshot.me.memory.x.shape[1:]), dtype=torch.uint8)
        check_answered(snapshot.scores(image))
        answers = Answers(snapshot, input)
        batch = ({0: Dim("batch")},)
        program = torch.export.export(answers, (answers.example(),), dynamic_shapes=batch)
        data = FORMATS[path.suffix](program, facts)
    write_atomically(path, data)


def onnx_model(program: ExportedProgram, facts: Facts) -> bytes:
    """A serialised ONNX model, without traces of the code that made it."""
    from onnx.helper import set_model_props

    found = torch.onnx.export(
        program, dynamo=True, verbose=False, input_names=["images"], output_names=OUTPUTS
    )
    assert found is not None
    model = found.model_proto
    graph = model.graph
    for node in graph.node:
        del node.metadata_props[:]
    for value in (*graph.input, *graph.output, *graph.value_info):
        for side in value.type.tensor_type.shape.dim:
            if side.dim_param:  # of all sizes only the batch's is not a number
                side.dim_param = "batch"
    set_model_props(model, facts)
    return cast(bytes, model.SerializeToString(deterministic=True))


def torch_program(program: ExportedProgram, facts: Facts) -> bytes:
    """A serialised program of torch.export; each fact is one of its extra files."""
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    file = BytesIO()
    torch.export.save(program, file, extra_files=facts)
    return file.getvalue()


FORMATS: dict[str, Callable[[ExportedProgram, Facts], bytes]] = {
    ".onnx": onnx_model,
    ".pt2": torch_program,
}


@contextmanager
def quiet() -> Iterator[None]:
    """Hide what PyTorch's exporter says of itself: deprecations, packages that we do not use."""
    logger = logging.getLogger("torch.onnx._internal.exporter")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
