"""Sets of images in every format: the same rows, whatever the file; damaged files in one sentence each."""

import gzip
import io
import os
import struct
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench.data import isolated_child
from workbench.data.images import archive_contents, image_set
from workbench.data.images.class_folders import is_loose, read_loose
from workbench.data.images.image_reader import ImageOptions, has_class_folders, is_image_set, read_images
from workbench.data.images.image_set import EXAMPLES, MOST_CLASSES, ImageSet, ImageShape, overview, thumbnail
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


@pytest.fixture
def here(monkeypatch):
    """Unpack in this process: the others show that it is done in one of its own, which takes a while to begin."""
    monkeypatch.setattr(archive_contents, "run_in_process", lambda work, *given: work(*given))
    monkeypatch.setattr(isolated_child, "restrict", lambda *_: None)


def archive(file: Path, images: np.ndarray, codes: np.ndarray, root: str = "") -> Path:
    with zipfile.ZipFile(file, "w") as out:
        for k, (image, code) in enumerate(zip(images, codes, strict=True)):
            out.writestr(f"{root}{code}/{k}.png", png(image))
    return file


def test_every_format_gives_the_same_rows_and_the_ledger_knows_them_again(tmp_path):
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


def test_a_set_with_most_images_in_common_is_a_version_of_it():
    images, names = pixels((400, 1, 8, 8)), tuple("0123456789")
    codes = np.arange(400) % 10
    one = identify(ImageSet.of(images, codes, names, "one"), KEY).sketches
    relabelled = identify(ImageSet.of(images[20:], (codes[20:] + 1) % 10, names, "two"), KEY).sketches
    assert one.shared(relabelled) > 0.9


def test_cifar_takes_the_published_names_and_joins_the_batches(tmp_path):
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


@pytest.mark.usefixtures("here")
def test_arrays_are_found_by_their_names_and_never_unpickled(tmp_path):
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
        "contains no images": {"x": images[..., :2], "y": labels()},
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


def test_damaged_idx_files_are_one_sentence(tmp_path):
    images, codes = pixels(), labels()
    file = mnist(tmp_path / "m", images, codes)
    beside = file.with_name("train-labels-idx1-ubyte")
    cases = {
        "30 labels": (idx(images), idx(codes[:30])),
        "the header declares": (idx(images)[:-1], idx(codes)),
        "not an IDX file of images": (b"\0\0\0\0", idx(codes)),
        "declares more data than can be read": (struct.pack(">IIII", 0x803, 2**31, 2**31, 8), idx(codes)),
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


def test_class_folders_are_read_and_what_does_not_belong_is_named(tmp_path):
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
    assert has_class_folders(root)
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
    with pytest.raises(InputError, match=r"loose\.png is not in a class folder"):
        read_images(root)
    (root / "loose.png").unlink()
    (root / "dog" / "link.png").symlink_to(root / "cat" / "0.png")
    with pytest.raises(InputError, match="a link or not a regular file"):
        read_images(root)


def test_hostile_archives_are_refused(tmp_path):
    file = tmp_path / "a.zip"
    for name in ("../cat/a.png", "/cat/a.png", "cat\\a.png"):
        with zipfile.ZipFile(file, "w") as out:
            info = zipfile.ZipInfo("x")
            info.filename = name
            out.writestr(info, png(pixels((8, 8, 3))))
        with pytest.raises(InputError, match="points outside the archive"):
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
    with pytest.raises(InputError, match=r"4,096 pixels per side|damaged"):
        read_images(file)
    file.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a zip archive"):
        read_images(file)


def test_the_real_sets_are_read(shared_data):
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
def test_a_reading_that_is_cancelled_ends_within_a_second(tmp_path, form):
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


# -- Images without classes, the overview of a set with classes, and what of a folder tells that it has changed


GREY, COLOUR = ImageShape(1, 8, 8), ImageShape(3, 8, 8)


def picture(file: Path, grey: int, size: tuple[int, int] = (10, 6)) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size[1], size[0], 3), grey, np.uint8)).save(file)
    return file


def test_files_of_several_folders_are_brought_to_one_shape(tmp_path):
    files = [picture(tmp_path / "a" / "one.png", 10), picture(tmp_path / "b" / "two.jpg", 200, (30, 40))]
    found = read_loose([str(file) for file in files], GREY)
    assert found.images.shape == (2, 1, 8, 8)
    assert found.files == (os.path.join("a", "one.png"), os.path.join("b", "two.jpg"))
    assert not found.labelled
    assert found.rows == 2
    assert abs(int(found.images[1].mean()) - 200) < 3
    assert read_loose([str(files[0])], COLOUR).images.shape == (1, 3, 8, 8)


def test_a_folder_gives_what_lies_in_it_alone(tmp_path):
    for name in ("b.png", "a.png", ".hidden.png", "below/c.png"):
        picture(tmp_path / name, 50)
    (tmp_path / "notes.txt").write_text("no image")
    assert is_loose(tmp_path)
    assert read_loose([str(tmp_path)], GREY).files == ("a.png", "b.png")
    assert not is_loose(tmp_path / "notes.txt")
    assert is_loose(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: [], "there are no images"),
        (lambda folder: [folder / "none.png"], "no such file"),
        (lambda folder: [folder / "notes.txt"], "is not a PNG or JPEG image"),
        (lambda folder: [folder / "bad.png"], "is not a PNG or JPEG image"),
        (lambda folder: [folder / "link.png"], "is a link"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, make, words):
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "link.png").symlink_to(picture(tmp_path / "real" / "one.png", 3))
    with pytest.raises(InputError, match=words):
        read_loose([str(path) for path in make(tmp_path)], GREY)


def test_every_class_is_counted_and_a_few_of_its_images_are_kept_small():
    labels = np.array([0] * 100 + [2] * 3, np.int64)
    images = ImageSet.of(np.zeros((103, 1, 200, 130), np.uint8), labels, ("a", "b", "c"), "made")
    seen = overview(images)
    assert [(one.name, one.images, len(one.examples)) for one in seen] == [
        ("a", 100, EXAMPLES),
        ("b", 0, 0),
        ("c", 3, 3),
    ]
    assert max(seen[0].examples[0].shape[1:]) <= 128
    many = ImageSet.of(np.zeros((60, 1, 4, 4), np.uint8), np.arange(60), [str(k) for k in range(60)], "made")
    assert [len(one.examples) for one in overview(many)] == [1] * MOST_CLASSES + [0] * (60 - MOST_CLASSES)


def test_a_small_image_stays_as_it_is():
    image = np.arange(3 * 8 * 8, dtype=np.uint8).reshape(3, 8, 8)
    assert np.array_equal(thumbnail(image), image)


# -- What a small file unfolds into is compared with the free memory before it is taken, and refused in a sentence


MIB = 1 << 20


def header(shape: tuple[int, ...], kind: str = "|u1", columns_first: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": columns_first, "shape": shape})
    return out.getvalue()


def zeros(file: Path, shape: tuple[int, ...], labels: np.ndarray | None = None) -> Path:
    """Write an archive with an array of zeros and labels, a mebibyte at a time."""
    count = int(np.prod(shape))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        with out.open("x.npy", "w", force_zip64=True) as stream:
            stream.write(header(shape))
            for at in range(0, count, MIB):
                stream.write(bytes(min(MIB, count - at)))
        with out.open("y.npy", "w") as stream:
            np.save(stream, np.zeros(shape[0], np.uint8) if labels is None else labels)
    return file


def free(monkeypatch: pytest.MonkeyPatch, amount: int) -> None:
    monkeypatch.setattr(image_set, "free_memory", lambda: amount)


def peak(path: Path) -> int:
    """Return the most memory that a refused reading takes."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"of memory, and only .* is available"):
            read_images(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_archive_that_does_not_fit_is_refused_before_memory_is_taken(tmp_path, monkeypatch):
    file = zeros(tmp_path / "a.npz", (64, 512, 512))  # 16 MiB of pixels, twice while they are read
    assert file.stat().st_size < MIB
    free(monkeypatch, 40 * MIB)
    assert peak(file) < 4 * MIB
    free(monkeypatch, 4096 * MIB)
    assert read_images(file).images.shape == (64, 1, 512, 512)


def test_labels_that_do_not_belong_to_the_images_are_refused_before_they_are_read(tmp_path):
    file = zeros(tmp_path / "a.npz", (4, 8, 8), np.zeros(32 * MIB, np.uint8))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="there are 4 images and labels of shape"):
            read_images(file)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_a_packed_file_that_does_not_fit_is_refused_on_the_way(tmp_path, monkeypatch):
    file = tmp_path / "train-images-idx3-ubyte.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(struct.pack(">4I", 0x0803, 64, 1024, 1024) + bytes(64 * MIB))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x0801, 64) + bytes(64))
    monkeypatch.setattr(archive_contents, "_AT_ONCE", MIB)
    free(monkeypatch, 8 * MIB)
    assert peak(file) < 24 * MIB


def test_a_table_of_too_many_images_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(image_set, "_MANY", 100)
    file = zeros(tmp_path / "a.npz", (2_000, 1, 1))
    free(monkeypatch, MIB)
    with pytest.raises(InputError, match="the 2,000 images of the archive would take"):
        read_images(file)
    free(monkeypatch, 1000)
    pixels, codes = np.zeros((101, 1, 2, 2), np.uint8), np.zeros(101, np.int64)
    with pytest.raises(InputError, match="the table of 101 images would take"):
        image_set.ImageSet.of(pixels, codes, ("a",), "made")


@pytest.mark.parametrize("comment", [b"", b"packed by hand"])
def test_the_list_of_an_archive_is_measured_before_it_is_read(tmp_path, monkeypatch, comment):
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as out:
        out.comment = comment
        for at in range(2_000):
            out.writestr(f"class {at % 2}/{at}.png", b"")
    with zipfile.ZipFile(file) as archive:
        listed = file.stat().st_size - archive.start_dir - 22 - len(comment)
    with file.open("rb") as stream:
        assert image_set._size_of_list(stream) == listed
    free(monkeypatch, MIB)
    opened = []
    monkeypatch.setattr(zipfile, "ZipFile", lambda *given: opened.append(given))
    with pytest.raises(InputError, match="the list of the files in the archive would take"):
        read_images(file)
    assert not opened
    file.write_bytes(b"PK\x05\x06")
    with file.open("rb") as stream:
        assert image_set._size_of_list(stream) == 0


def test_the_list_of_a_large_archive_is_measured_in_its_own_record(tmp_path):
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    record = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 7, 7, 5_000_000_000, 0)
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, 0, 1)
    (tmp_path / "a.zip").write_bytes(record + locator + end)
    with (tmp_path / "a.zip").open("rb") as stream:
        assert image_set._size_of_list(stream) == 5_000_000_000


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["|V0", "<U0", "|i1"])
def test_odd_types_and_shapes_are_damaged_arrays(tmp_path, kind):
    shape = (-2, -2) if kind == "|i1" else (4,)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        out.writestr("x.npy", header((4, 8, 8)) + bytes(256))
        out.writestr("y.npy", header(shape, kind) + (bytes(4) if kind == "|i1" else b""))
    with pytest.raises(InputError, match=r"y\.npy is damaged"):
        read_images(tmp_path / "a.npz")


@pytest.mark.usefixtures("here")
def test_the_order_of_the_axes_and_the_checksum_are_kept(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (20, 3, 6, 5)).astype(np.uint8)
    np.savez(tmp_path / "a.npz", x=np.asfortranarray(pixels), y=np.arange(20) % 10)
    assert np.array_equal(read_images(tmp_path / "a.npz").images, pixels)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    place = data.index(np.asfortranarray(pixels).tobytes("F")[:64])
    data[place] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        read_images(tmp_path / "a.npz")


def packed_idx(folder: Path, shape: tuple[int, int, int], follow: int, labels: int | None = None) -> Path:
    """Write a packed IDX file whose header declares ``shape`` and that holds ``follow`` zeros, with its labels."""
    file = folder / "train-images-idx3-ubyte.gz"
    with gzip.open(file, "wb", compresslevel=6) as out:
        out.write(struct.pack(">4I", 0x0803, *shape))
        for _ in range(follow // MIB):
            out.write(bytes(MIB))
        out.write(bytes(follow % MIB))
    count = shape[0] if labels is None else labels
    (folder / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x0801, count) + bytes(count))
    return file


@pytest.mark.parametrize(
    ("shape", "follow", "labels", "said"),
    [
        ((1, 28, 28), 64 * MIB, None, "the header declares 784 bytes and more follow"),
        ((80_000, 28, 28), 64 * MIB, 10, "80000 images and 10 labels"),
        ((300_000, 28, 28), 784, None, "declares more data than the file can contain"),
        ((2, 28, 28), 784, None, "the header declares 1,568 bytes and 784 follow"),
    ],
)
def test_a_header_is_judged_before_what_follows_it_is_unpacked(tmp_path, shape, follow, labels, said):
    """A file of 6 MB unfolded into 4.35 GB before anybody looked at its header."""
    file = packed_idx(tmp_path, shape, follow, labels)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=said):
            read_images(file)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_packed_images_are_read_as_the_plain_ones_are(tmp_path):
    file = packed_idx(tmp_path, (3, 512, 700), 3 * 512 * 700)
    assert read_images(file).images.shape == (3, 1, 512, 700)
    records = np.random.default_rng(1).integers(0, 10, (3, 3073), np.uint8)
    (tmp_path / "data_batch_1.bin").write_bytes(records.tobytes())
    with gzip.open(tmp_path / "data_batch_2.bin.gz", "wb") as out:
        out.write(records.tobytes())
    plain, unfolded = (read_images(tmp_path / f"data_batch_{name}").images for name in ("1.bin", "2.bin.gz"))
    assert np.array_equal(plain, unfolded)


def test_what_unpacks_can_die_alone(tmp_path, monkeypatch):
    file = packed_idx(tmp_path, (1, 28, 28), 784)
    monkeypatch.setattr(archive_contents, "_pieces", killed)
    with pytest.raises(InputError, match="damaged or cut short"):
        read_images(file)


def killed(files: object, emit: object, cancel: object) -> None:
    """End this process as a fault of a library would."""
    os.kill(os.getpid(), 9)
