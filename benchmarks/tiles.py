"""Time other tilings of the kernels on this GPU than those of nets/kernels/tiles.py.

    PYTHONPATH=src python -m benchmarks.tiles [--out tiles.json] [--runs 10]

Every convolution of a BISON step with both its gradients, and its normalisation, as if all of them
added a shortcut; in bfloat16, each as a graph of twenty launches. Building takes some minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.gpu import driver
from benchmarks.roofline import Layer, layers, milliseconds
from bison_ocl.engine.capture import recorded
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.nets.kernels import convolution_kernels, normalisation_kernels, tiles
from bison_ocl.nets.norm import EPSILON
from bison_ocl.nets.resnet import ResNet18

DEVICE = "cuda"
IMAGES, PARTS = 40, 2
"""Images of a run in a step, in how many batches."""
LAUNCHES, BEST = 20, 3

Way = Mapping[str, Any]
"""What is set in place of what nets/tiles.py chooses, by name."""

PLACES = {
    "tile": (convolution_kernels, "tile"),
    "stages": (convolution_kernels, "stages"),
    "parts": (tiles, "parts_of_gradient"),
    "forward": (normalisation_kernels, "FORWARD"),
    "backward": (normalisation_kernels, "BACKWARD"),
    "width": (tiles, "WIDTH"),
}
ROWS: list[Way] = [
    {"tile": tile, "stages": stages}
    for *tile, stages in product((64, 128, 256), (32, 64, 128), (1, 3))
]
WAYS: dict[str, list[Way]] = {
    "convolve": ROWS,
    "image_gradient": ROWS,
    "weight_gradient": [
        {"parts": parts, "stages": stages}
        for parts, stages in product((1, 2, 4, 8, 16, 32, 64), (1, 3))
    ],
    "normalise": [
        {"forward": block, "width": width} for block, width in product((32, 64, 128, 256), (32, 64))
    ],
    "normalise_back": [
        {"backward": block, "width": width}
        for block, width in product((32, 64, 128, 256), (32, 64))
    ],
}


@contextmanager
def cut(way: Way) -> Iterator[None]:
    """In which kernels are cut that way."""
    with ExitStack() as changes:
        for name, value in way.items():
            place, known_as = PLACES[name]
            chosen = getattr(place, known_as)
            new = (lambda *_, value=value: value) if callable(chosen) else value
            changes.enter_context(patch.object(place, known_as, new))
        yield


def numbers(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(shape, device=DEVICE).to(dtype)


def pieces(layer: Layer, runs: int) -> dict[str, Callable[[], object]]:
    """What a layer's kernels do in a step, by the name of what launches them."""
    stride = -(-layer.before // layer.after)
    x = numbers(runs, IMAGES, layer.before, layer.before, layer.inputs)
    weight = numbers(runs, layer.outputs, layer.side, layer.side, layer.inputs)
    y = numbers(runs, IMAGES, layer.after, layer.after, layer.outputs)
    scale = numbers(runs, layer.outputs, dtype=torch.float32)
    moments = numbers(runs, PARTS, layer.outputs, dtype=torch.float32).abs()

    def weight_gradient() -> object:
        pixels, shape = IMAGES * layer.after**2, (layer.inputs, layer.outputs, layer.side)
        parts = tiles.parts_of_gradient(pixels, *shape, runs)
        return convolution_kernels.weight_gradient(x, y, layer.side, stride, parts, "tf32")

    found: dict[str, Callable[[], object]] = {
        "convolve": partial(convolution_kernels.convolve, x, weight, stride, "tf32"),
        "image_gradient": partial(
            convolution_kernels.image_gradient,
            *(y, weight, stride, layer.before, layer.before, "tf32"),
        ),
        "weight_gradient": weight_gradient,
        "normalise": partial(
            normalisation_kernels.normalise, y, scale, scale, y, True, PARTS, EPSILON
        ),
        "normalise_back": partial(
            normalisation_kernels.normalise_back,
            *(y, y, y, moments, moments, scale, scale, True, True, EPSILON),
        ),
    }
    if layer.inputs == 3:
        del found["image_gradient"]  # the stem's images need none
    return found


def microseconds(work: Callable[[], object]) -> float:
    """Of one call in a graph of many."""

    def all_launches() -> None:
        for _ in range(LAUNCHES):
            work()

    return 1e3 * milliseconds(recorded(all_launches, all_launches), 5) / LAUNCHES


def timed(work: Callable[[], object], way: Way) -> float | None:
    """None where the GPU has no room for such a program."""
    try:
        with cut(way):
            return microseconds(work)
    except Exception as error:
        if "out of resource" not in str(error):
            raise
        return None


def rows(runs: int) -> Iterator[dict[str, Any]]:
    """A kernel of a layer: as it is cut, and the best other ways."""
    for layer, times in Counter(layers(ResNet18(20, (3, 32, 32)))).items():
        for kernel, work in pieces(layer, runs).items():
            others = [(timed(work, way), way) for way in WAYS[kernel]]
            fitting = [(us, way) for us, way in others if us is not None]
            yield {
                "kernel": kernel,
                "layer": vars(layer),
                "in_a_step": times,
                "chosen_us": timed(work, {}),
                "best": sorted(fitting, key=lambda pair: pair[0])[:BEST],
                "ways": len(fitting),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("tiles.json"))
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch finds no GPU here")
    found: dict[str, Any] = {"commit": commit(), "runs": arguments.runs, "rows": []}
    found["environment"] = vars(environment(DEVICE)) | {"driver": driver()}
    for row in rows(arguments.runs):
        print(json.dumps(row), flush=True)
        found["rows"].append(row)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
