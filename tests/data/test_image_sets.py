"""Sets of images in every format: the same rows, whatever the file; damaged files in one sentence each."""

from __future__ import annotations

import gzip
import io
import struct
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.data.images.image_set import ImageSet
from workbench.data.images.read import ImageOptions, is_image_set, of_class_folders, read_images
from workbench.params import CancelledError, InputError
from workbench.release.ledger.identity import identify
from workbench.signals.cancel import CancelToken

ROWS = 40
KEY = bytes(32)


def pixels(shape: tuple[int, ...] = (ROWS, 8, 8)) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


def labels(classes: int = 10) -> np.ndarray:
    return (np.arange(ROWS) % classes).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def mnist(folder: Path, images: np.ndarray, codes: np.ndarray, packed: str = "") -> Path:
    pack: Callable[[bytes], bytes] = gzip.compress if packed else bytes
    folder.mkdir(exist_ok=True)
    (folder / f"train-labels-idx1-ubyte{packed}").write_bytes(pack(idx(codes)))
    file = folder / f"train-images-idx3-ubyte{packed}"
    file.write_bytes(pack(idx(images)))
    return file


def png(image: np.ndarray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


def archive(file: Path, images: np.ndarray, codes: np.ndarray, root: str = "") -> Path:
    with zipfile.ZipFile(file, "w") as out:
        for k, (image, code) in enumerate(zip(images, codes, strict=True)):
            out.writestr(f"{root}{code}/{k}.png", png(image))
    return file


def test_every_format_gives_the_same_rows_and_the_ledger_knows_them_again(tmp_path: Path) -> None:
    images, codes = pixels(), labels()
    plain = read_images(mnist(tmp_path / "plain", images, codes))
    order = np.random.default_rng(0).permutation(ROWS)
    np.savez(tmp_path / "a.npz", x=images[order], y=codes[order])
    others = [
        read_images(mnist(tmp_path / "packed", images, codes, ".gz")),
        read_images(tmp_path / "packed"),
        read_images(tmp_path / "a.npz"),
        read_images(archive(tmp_path / "a.zip", images, codes)),
        read_images(archive(tmp_path / "b.zip", images, codes, "all/train/"), ImageOptions(grey=True)),
        read_images(archive(tmp_path / "c.zip", images, codes), ImageOptions(image_size=4)),
    ]
    assert np.array_equal(plain.images[:, 0], images)
    assert plain.frame["class"].to_list() == [str(code) for code in codes]
    known = identify(plain, KEY).content
    assert {identify(other, KEY).content for other in others} == {known}
    assert np.array_equal(others[2].images[:, 0], images[order])
    assert others[5].images.shape == (ROWS, 3, 4, 4)
    assert [other.taken != "" for other in others] == [False, False, False, True, True, True]
    changed = images.copy()
    changed[0, 0, 0] ^= 1
    near = read_images(mnist(tmp_path / "near", changed, codes))
    assert identify(near, KEY).content != known


def test_a_set_with_most_images_in_common_is_a_version_of_it() -> None:
    images, names = pixels((400, 1, 8, 8)), tuple("0123456789")
    codes = np.arange(400) % 10
    one = identify(ImageSet.of(images, codes, names, "one"), KEY).sketches
    relabelled = identify(ImageSet.of(images[20:], (codes[20:] + 1) % 10, names, "two"), KEY).sketches
    assert one.shared(relabelled) > 0.9


def test_cifar_takes_the_published_names_and_joins_the_batches(tmp_path: Path) -> None:
    images = pixels((ROWS, 3, 32, 32))
    records = np.concatenate([labels()[:, None], images.reshape(ROWS, -1)], axis=1).tobytes()
    (tmp_path / "data_batch_1.bin").write_bytes(records)
    (tmp_path / "data_batch_2.bin.gz").write_bytes(gzip.compress(records))
    (tmp_path / "test_batch.bin").write_bytes(records[:3073])
    (tmp_path / "batches.meta.txt").write_text("\n".join(f"kind{k}" for k in range(10)) + "\n\n")
    whole = read_images(tmp_path)
    assert (whole.rows, whole.classes[:2]) == (2 * ROWS, ("kind0", "kind1"))
    assert np.array_equal(whole.images[:ROWS], images)
    assert read_images(tmp_path, part="test").rows == 1
    (tmp_path / "data_batch_1.bin").write_bytes(records[:-1])
    with pytest.raises(InputError, match="not a whole number of CIFAR-10's records"):
        read_images(tmp_path / "data_batch_1.bin")


def test_arrays_are_found_by_their_names_and_never_unpickled(tmp_path: Path) -> None:
    file, images, names = tmp_path / "a.npz", pixels((ROWS, 8, 8, 3)), np.array(["dog", "cat"])[labels(2)]
    np.savez_compressed(file, x_train=images, y_train=labels(2), x_test=images[:3], y_test=labels(2)[:3])
    assert read_images(file).images.shape == (ROWS, 3, 8, 8)
    assert read_images(file, part="test").rows == 3
    np.savez(file, images=images, labels=names)
    found = read_images(file, ImageOptions(classes=("cat", "dog")))
    assert found.frame["class"].to_list() == names.tolist()
    with pytest.raises(InputError, match="is not declared"):
        read_images(file)
    wrong = {
        "Python objects": {"x": images, "y": np.array([object()] * ROWS)},
        "not bytes from 0 to 255": {"x": images.astype(float), "y": labels()},
        "no arrays x and y": {"a": images},
        "40 images and labels": {"x": images, "y": labels()[:-1]},
        "none of the 10 classes": {"x": images, "y": labels() + 5},
        "holds no images": {"x": images[..., :2], "y": labels()},
    }
    for said, arrays in wrong.items():
        np.savez(file, **arrays)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=said):
            read_images(file)
    with zipfile.ZipFile(file, "w") as out:  # a header that promises a terabyte
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 1000, 1000), }\n"
        out.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        out.writestr("y.npy", b"")
    with pytest.raises(InputError, match=r"x\.npy is damaged"):
        read_images(file)


def test_damaged_idx_files_are_one_sentence(tmp_path: Path) -> None:
    images, codes = pixels(), labels()
    file = mnist(tmp_path / "m", images, codes)
    beside = file.with_name("train-labels-idx1-ubyte")
    cases = {
        "30 labels": (idx(images), idx(codes[:30])),
        "the header promises": (idx(images)[:-1], idx(codes)),
        "not an IDX file of images": (b"\0\0\0\0", idx(codes)),
        "promises more than can be read": (struct.pack(">IIII", 0x803, 2**31, 2**31, 8), idx(codes)),
        "not an IDX file of labels": (idx(images), idx(images)),
    }
    for said, (first, second) in cases.items():
        file.write_bytes(first)
        beside.write_bytes(second)
        with pytest.raises(InputError, match=said):
            read_images(file)
    with pytest.raises(InputError, match="this is the file of labels"):
        read_images(beside)
    beside.unlink()
    with pytest.raises(InputError, match="are not beside the images"):
        read_images(file)
    packed = file.with_name("other-images-idx3-ubyte.gz")
    packed.write_bytes(gzip.compress(idx(images))[:-20])
    packed.with_name("other-labels-idx1-ubyte").write_bytes(idx(codes))
    with pytest.raises(InputError, match="damaged or cut short"):
        read_images(packed)


def test_class_folders_are_read_and_what_does_not_belong_is_named(tmp_path: Path) -> None:
    root = tmp_path / "set"
    for k in range(6):
        folder = root / ("cat", "dog")[k % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{k}.png").write_bytes(png(pixels((8, 8, 3))))
    (root / ".hidden").write_text("")
    (root / "empty").mkdir()
    found = read_images(root)
    assert found.classes == ("cat", "dog", "empty")  # of the folders, not of the rows
    assert found.taken == "names of the classes and size of the images"
    assert read_images(root, ImageOptions(classes=("dog", "cat", "empty"), image_size=4)).taken == ""
    assert is_image_set(root)
    assert of_class_folders(root)
    with pytest.raises(InputError, match="the folder cat is not a declared class"):
        read_images(root, ImageOptions(classes=("dog", "bird")))
    (root / "cat" / "other.png").write_bytes(png(pixels((9, 8, 3))))
    with pytest.raises(InputError, match=r"8 × 9 pixels and others 8 × 8.*--image-size"):
        read_images(root)
    (root / "cat" / "other.png").write_bytes(png(pixels((9, 8, 3)))[:60])
    with pytest.raises(InputError, match=r"cat/other\.png is not a PNG or JPEG image, or it is damaged"):
        read_images(root, ImageOptions(image_size=8))
    (root / "cat" / "other.png").unlink()
    (root / "cat" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"cat/notes\.txt is not a PNG or JPEG image"):
        read_images(root)
    (root / "cat" / "notes.txt").unlink()
    (root / "loose.png").write_bytes(png(pixels((8, 8, 3))))
    with pytest.raises(InputError, match=r"loose\.png is in no folder of a class"):
        read_images(root)
    (root / "loose.png").unlink()
    (root / "dog" / "link.png").symlink_to(root / "cat" / "0.png")
    with pytest.raises(InputError, match="a link or not a regular file"):
        read_images(root)


def test_hostile_archives_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    for name in ("../cat/a.png", "/cat/a.png", "cat\\a.png"):
        with zipfile.ZipFile(file, "w") as out:
            info = zipfile.ZipInfo("x")
            info.filename = name
            out.writestr(info, png(pixels((8, 8, 3))))
        with pytest.raises(InputError, match="leads out of it"):
            read_images(file)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("cat/a.png", bytes(65 * 2**20))
    with pytest.raises(InputError, match="larger than 64 MiB"):
        read_images(file)
    with zipfile.ZipFile(file, "w") as out:
        # A picture of 100,000 × 100,000 pixels, as its header says.
        bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 100_000, 100_000) + b"\x08\x02\0\0\0" + bytes(4)
        for name in ("cat/a.png", "dog/a.png"):
            out.writestr(name, bomb)
    with pytest.raises(InputError, match=r"4,096 pixels a side|damaged"):
        read_images(file)
    file.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a zip archive"):
        read_images(file)


def test_the_real_sets_are_read(shared_data: Path) -> None:
    digits = read_images(shared_data / "mnist", part="test")
    assert (digits.rows, str(digits.shape)) == (10_000, "28 × 28 grey")
    objects = read_images(shared_data / "cifar10" / "test_batch_first1000.bin.gz")
    assert objects.frame["class"].to_list()[:4] == ["cat", "ship", "ship", "airplane"]
    flowers = read_images(shared_data / "flowers12" / "flowers12_jpg.zip", ImageOptions(image_size=16), part="test")
    assert (flowers.rows, len(flowers.classes), flowers.shape.height) == (240, 12, 16)


def large(folder: Path, form: str) -> Path:
    """Write a set whose reading takes several seconds, unless it is stopped."""
    images, codes = np.zeros((800_000, 16, 16), np.uint8), np.zeros(800_000, np.uint8)
    if form == "npz":
        np.savez_compressed(folder / "x.npz", x=images, y=codes)
        return folder / "x.npz"
    if form == "bin.gz":
        (folder / "data_batch_1.bin.gz").write_bytes(gzip.compress(bytes(3073 * 100_000), 1))
        return folder / "data_batch_1.bin.gz"
    for kind, array in (("labels-idx1", codes), ("images-idx3", images)):
        data = idx(array)
        (folder / f"train-{kind}-{form}").write_bytes(gzip.compress(data, 1) if form.endswith(".gz") else data)
    return folder / f"train-images-idx3-{form}"


@pytest.mark.parametrize("form", ["ubyte", "ubyte.gz", "bin.gz", "npz"])
def test_a_reading_that_is_cancelled_ends_within_a_second(tmp_path: Path, form: str) -> None:
    """It is stopped as it begins, and twice later, while it unpacks or while the images are marked."""
    file = large(tmp_path, form)
    for wait in (0.05, 0.3, 0.9):
        cancel = CancelToken()
        timer = threading.Timer(wait, cancel.cancel)
        began = time.monotonic()
        timer.start()
        with pytest.raises(CancelledError):
            read_images(file, cancel=cancel)
        took = time.monotonic() - began - wait
        timer.join()
        assert took < 1, f"{wait} s"
