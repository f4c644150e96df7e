# %% [markdown]
"""
# Your own folder with Learner

`Learner` learns from labelled images as they arrive: new classes at any time, one pass, a memory of
fixed size. This page writes a small folder of images, one folder per class, and learns from it as
if the images came one by one. Point `FOLDER` at your own images to use them instead.
"""

# %%
from pathlib import Path

import numpy as np
from PIL import Image

from bison_ocl import Learner
from bison_ocl.data import load

FOLDER = Path("pictures")
IMAGES = 40
"""of each class"""

# %% [markdown]
"""
## A folder of images

The example takes handwritten digits, 8x8 pixels each, and saves them as PNG files:
`pictures/zero/00.png` and so on.
"""

# %%
NAMES = ("zero", "one", "two", "three")
digits = load("split-digits")
for label, name in enumerate(NAMES):
    (FOLDER / name).mkdir(parents=True, exist_ok=True)
    chosen = digits.train.x[digits.train.y == label][:IMAGES]
    for number, image in enumerate(chosen):
        pixels = image.movedim(0, -1).numpy()
        Image.fromarray(pixels).save(FOLDER / name / f"{number:02}.png")

# %% [markdown]
"""
## Learn as images arrive

Images here are arrays of bytes, height x width x channels, all of one size; with `image_size=` a
`Learner` also takes paths of files, and [resizes them](../LEARNER.md#a-folder-that-fills). Labels
are yours: here the folders' names. `test_then_train` predicts an image before it learns from it, so
`metrics` measures accuracy on images that the model has never seen (prequential accuracy).
`observe` learns without predicting first.
"""


# %%
def read(path: Path) -> np.ndarray:
    """An image as bytes [height, width, 3]."""
    return np.asarray(Image.open(path).convert("RGB"))


learner = Learner("bison", memory=60, seed=0)
for name in NAMES:  # one class after the other, the hard case
    for path in sorted((FOLDER / name).glob("*.png")):
        learner.test_then_train(read(path)[None], [name])
learner.flush()  # learns from images that wait for a full batch
print(f"prequential accuracy {learner.metrics.accuracy:.2f}")

# %% [markdown]
"""
The first image of each class cannot be predicted right, and the first ones after it seldom are.

## Predict

`predict` never trains and never waits for learning. It answers with your labels. `predict_proba`
has one column per entry of `learner.labels`. These probabilities rank the classes;
[`calibration=`](../LEARNER.md#confidence) fits them to the accuracy.
"""

# %%
paths = sorted(FOLDER.glob("*/*.png"))
images = np.stack([read(path) for path in paths])
truth = [path.parent.name for path in paths]
predicted = learner.predict(images)
right = sum(one == other for one, other in zip(predicted, truth, strict=True))
print(f"{right} of {len(truth)} training images are right after one pass")
print(learner.labels, learner.predict_proba(images[:1]).round(2))

# %% [markdown]
"""
## Save, load, continue

The file is safetensors: loading it runs no code. A loaded learner predicts the same and continues
to learn; a new class makes its heads grow.
"""

# %%
learner.save("pictures.safetensors")
loaded = Learner.load("pictures.safetensors")
assert loaded.predict(images) == predicted

loaded.observe(255 - images[:10], ["inverted"] * 10)
print(loaded.labels)
