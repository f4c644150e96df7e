"""One image file, in every mode, whole or broken."""

from __future__ import annotations

import struct
import threading
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bison_ocl.data.reading import decode as module
from bison_ocl.data.reading.budget import SharedBudget
from bison_ocl.data.reading.decode import decode
from bison_ocl.data.sources.source import Images
from bison_ocl.errors import UserError
from tests.data.little_memory import little_memory
from tests.data.mutations import mutations, read_or_refused

RED = (255, 0, 0)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def photograph() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((64, 64), Image.Resampling.BICUBIC)


def first_pixel(content: bytes) -> tuple[int, ...]:
    return tuple(decode(content, 8, "a.png")[:, 0, 0].tolist())


def test_an_image_of_the_right_size_is_kept_byte_for_byte(tmp_path: Path) -> None:
    photograph().save(tmp_path / "a.png")
    got = decode((tmp_path / "a.png").read_bytes(), 64, "a.png")
    assert (got.dtype, got.shape, got.flags.c_contiguous) == (np.uint8, (3, 64, 64), True)
    assert (got.transpose(1, 2, 0) == np.asarray(photograph())).all()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"])
def test_every_usual_format_is_read(kind: str) -> None:
    assert (
        np.abs(np.subtract(first_pixel(encoded(Image.new("RGB", (8, 8), RED), kind)), RED)).max()
        < 3
    )


@pytest.mark.parametrize(
    ("image", "kind", "colour"),
    [
        (Image.new("L", (8, 8), 90), "PNG", (90, 90, 90)),
        (Image.new("1", (8, 8), 1), "PNG", (255, 255, 255)),
        (Image.new("RGB", (8, 8), RED).quantize(4), "PNG", RED),
        (Image.new("RGBA", (8, 8), (*RED, 255)), "PNG", RED),
        (Image.new("RGBA", (8, 8), (*RED, 0)), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (8, 8), (0, 0, 0, 51)), "PNG", (204, 204, 204)),
        (Image.new("LA", (8, 8), (10, 0)), "PNG", (255, 255, 255)),
        (Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "TIFF", RED),
        (Image.new("YCbCr", (8, 8), (90, 128, 128)), "TIFF", (90, 90, 90)),
        (Image.fromarray(np.full((8, 8), 90 * 257, np.uint16)), "PNG", (90, 90, 90)),
        (Image.fromarray(np.full((8, 8), 65535, np.uint16)), "TIFF", (255, 255, 255)),
        (Image.fromarray(np.full((8, 8), 90 * 257, np.uint16)), "PPM", (90, 90, 90)),
    ],
    ids=lambda value: value.mode if isinstance(value, Image.Image) else None,
)
def test_every_mode_becomes_colour(
    image: Image.Image, kind: str, colour: tuple[int, int, int]
) -> None:
    assert first_pixel(encoded(image, kind)) == colour


def test_cmyk_photographs_are_not_inverted() -> None:
    cmyk = encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=95)
    assert np.abs(np.subtract(first_pixel(cmyk), RED)).max() < 4


def test_transparency_of_palettes_and_colour_keys_lies_on_white() -> None:
    palette = Image.new("RGB", (8, 8), RED).quantize(4)
    assert first_pixel(encoded(palette, transparency=palette.getpixel((0, 0)))) == (255, 255, 255)
    keyed = encoded(Image.new("RGB", (8, 8), RED), transparency=RED)
    assert first_pixel(keyed) == (255, 255, 255)


def test_sixteen_bit_colour_is_scaled_like_sixteen_bit_grey() -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        ended = name + content
        return struct.pack(">I", len(content)) + ended + struct.pack(">I", zlib.crc32(ended))

    rows = (b"\0" + struct.pack(">3H", 90 * 257, 65535, 0) * 8) * 8
    header = struct.pack(">2I5B", 8, 8, 16, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    assert first_pixel(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)) == (
        90,
        255,
        0,
    )


def test_exif_orientation_is_applied() -> None:
    image = Image.new("RGB", (16, 16))
    image.paste(RED, (0, 0, 16, 8))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = decode(encoded(image, exif=exif.tobytes()), 16, "a.png")
    assert turned[0, :, 12].min() == 255
    assert turned[0, :, 4].max() == 0


def test_other_sizes_are_squeezed_with_antialiasing() -> None:
    stripes = np.zeros((64, 32, 3), np.uint8)
    stripes[::2] = 255
    got = decode(encoded(Image.fromarray(stripes)), 8, "a.png")
    assert got.shape == (3, 8, 8)
    assert np.abs(got[:, 1:-1].astype(int) - 127).max() < 8
    assert decode(encoded(Image.new("RGB", (3, 5), RED)), 8, "a.png")[0].min() == 255


def test_an_empty_file_is_named() -> None:
    with pytest.raises(UserError, match=r"void\.jpg is empty \(0 bytes\)"):
        decode(b"", 8, "void.jpg")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("left", [0.02, 0.3, 0.7])
def test_a_cut_off_file_is_named(kind: str, left: float) -> None:
    content = encoded(photograph(), kind)
    with pytest.raises(UserError, match=r"^cats/7\.jpg cannot be decoded .*: replace or remove it"):
        decode(content[: int(len(content) * left)], 8, "cats/7.jpg")


def test_a_damaged_png_is_named() -> None:
    content = bytearray(encoded(photograph()))
    content[len(content) // 2] ^= 0xFF
    with pytest.raises(UserError, match=r"a\.png cannot be decoded"):
        decode(bytes(content), 8, "a.png")


@pytest.mark.parametrize(
    "content", [b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"]
)
def test_what_is_no_picture_is_refused(content: bytes) -> None:
    with pytest.raises(UserError, match=r"a\.jpg cannot be decoded \(not an image\)"):
        decode(content, 8, "a.jpg")


def test_decompression_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded(Image.new("1", (100, 100)))
    for limit in (9_999, 4_000):
        monkeypatch.setattr(module, "MOST_PIXELS", 9_999)
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(UserError, match=r"a\.png is refused: more than 9,999 pixels"):
            decode(content, 8, "a.png")


def test_a_line_of_pixels_is_refused() -> None:
    assert first_pixel(encoded(Image.new("1", (65_535, 1), 1))) == (255, 255, 255)
    with pytest.raises(UserError, match=r"a\.png is refused: a side of more than 65,535 pixels"):
        decode(encoded(Image.new("1", (1, 65_536))), 8, "a.png")


def modes() -> list[Image.Image]:
    """An image in every mode, transparent where the mode can be, and taller than a strip."""
    draw = np.random.default_rng(0)
    rgba = Image.fromarray(draw.integers(0, 256, (37, 20, 4), dtype=np.uint8))
    keyed = rgba.convert("RGB").quantize(16)
    keyed.info["transparency"] = 3
    wide = draw.integers(0, 1 << 16, (37, 20), dtype=np.uint16)
    signed = draw.integers(-(1 << 31), 1 << 31, (37, 20)).astype(np.int32)
    arrays = [Image.fromarray(wide), Image.fromarray(wide.astype(">u2")), Image.fromarray(signed)]
    names = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr")
    return [*(rgba.convert(name) for name in names), keyed, *arrays]


@pytest.mark.parametrize("image", modes(), ids=lambda image: image.mode)
def test_strips_give_what_the_whole_image_gives(
    image: Image.Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = np.asarray(module.rgb(image))
    monkeypatch.setattr(module, "STRIP", 130)
    assert (np.asarray(module.in_colour(image)) == whole).all()


def test_threads_decode_no_more_pixels_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    finished, content = module.finished, encoded(Image.new("RGB", (8, 8)))
    now, most, lock = 0, 0, threading.Lock()

    def counted(image: Image.Image, side: int) -> Images:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)  # long enough for the others to come
        with lock:
            now -= 1
        return finished(image, side)

    monkeypatch.setattr(module, "IN_WORK", SharedBudget(2 * 64))
    monkeypatch.setattr(module, "finished", counted)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: decode(content, 8, "a.png"), range(12)))
    assert most == 2


@pytest.mark.parametrize("mode", ["I;16", "RGBA"])
def test_large_images_side_by_side_take_no_more_than_they_may(mode: str) -> None:
    """Six of 16 million pixels took 2.6 GB."""
    grey = Image.fromarray(np.full((4000, 4000), 90 * 257, np.uint16))
    image = grey if mode == "I;16" else Image.new("RGBA", grey.size, (*RED, 0))
    content = encoded(image, compress_level=1)
    with little_memory(5 << 28), ThreadPoolExecutor(6) as pool:
        decoded = pool.map(lambda _: first_pixel(content), range(6))
        assert set(decoded) == {(90, 90, 90) if mode == "I;16" else (255, 255, 255)}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"])
def test_any_damage_ends_in_an_image_or_in_one_line(kind: str) -> None:
    with little_memory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for content in mutations(encoded(photograph(), kind), seed=0, count=100):
            image = read_or_refused(partial(decode, content, 8, "a.jpg"))
            assert image is None or image.shape == (3, 8, 8)


def test_floating_point_pixels_are_refused() -> None:
    content = encoded(Image.fromarray(np.zeros((8, 8), np.float32)), "TIFF")
    with pytest.raises(UserError, match=r"a\.tif is refused: floating-point"):
        decode(content, 8, "a.tif")


def test_broken_exif_does_not_spoil_a_good_image() -> None:
    content = encoded(Image.new("RGB", (8, 8), RED), "JPEG", exif=b"Exif\0\0II*\0\xff\xff")
    assert first_pixel(content)[0] > 250
