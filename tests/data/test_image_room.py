"""What a small file unfolds into is compared with the free memory before it is taken, and refused in a sentence."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from workbench.data.images import image_set, packed
from workbench.data.images.read import read_images
from workbench.params import InputError

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


def test_an_archive_that_does_not_fit_is_refused_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = zeros(tmp_path / "a.npz", (64, 512, 512))  # 16 MiB of pixels, twice while they are read
    assert file.stat().st_size < MIB
    free(monkeypatch, 40 * MIB)
    assert peak(file) < 4 * MIB
    free(monkeypatch, 4096 * MIB)
    assert read_images(file).images.shape == (64, 1, 512, 512)


def test_labels_that_do_not_belong_to_the_images_are_refused_before_they_are_read(tmp_path: Path) -> None:
    file = zeros(tmp_path / "a.npz", (4, 8, 8), np.zeros(32 * MIB, np.uint8))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="there are 4 images and labels of the shape"):
            read_images(file)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_a_packed_file_that_does_not_fit_is_refused_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "train-images-idx3-ubyte.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(struct.pack(">4I", 0x0803, 64, 1024, 1024) + bytes(64 * MIB))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x0801, 64) + bytes(64))
    monkeypatch.setattr(packed, "_AT_ONCE", MIB)
    free(monkeypatch, 8 * MIB)
    assert peak(file) < 24 * MIB


def test_a_table_of_too_many_images_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_list_of_an_archive_is_measured_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comment: bytes
) -> None:
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


def test_the_list_of_a_large_archive_is_measured_in_its_own_record(tmp_path: Path) -> None:
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    record = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 7, 7, 5_000_000_000, 0)
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, 0, 1)
    (tmp_path / "a.zip").write_bytes(record + locator + end)
    with (tmp_path / "a.zip").open("rb") as stream:
        assert image_set._size_of_list(stream) == 5_000_000_000


@pytest.mark.parametrize("kind", ["|V0", "<U0", "|i1"])
def test_odd_types_and_shapes_are_damaged_arrays(tmp_path: Path, kind: str) -> None:
    shape = (-2, -2) if kind == "|i1" else (4,)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        out.writestr("x.npy", header((4, 8, 8)) + bytes(256))
        out.writestr("y.npy", header(shape, kind) + (bytes(4) if kind == "|i1" else b""))
    with pytest.raises(InputError, match=r"y\.npy is damaged"):
        read_images(tmp_path / "a.npz")


def test_the_order_of_the_axes_and_the_checksum_are_kept(tmp_path: Path) -> None:
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
    """Write a packed IDX file whose header promises ``shape`` and that holds ``follow`` zeros, with its labels."""
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
        ((1, 28, 28), 64 * MIB, None, "the header promises 784 bytes and more follow"),
        ((80_000, 28, 28), 64 * MIB, 10, "80000 images and 10 labels"),
        ((300_000, 28, 28), 784, None, "promises more than the file can hold"),
        ((2, 28, 28), 784, None, "the header promises 1,568 bytes and 784 follow"),
    ],
)
def test_a_header_is_judged_before_what_follows_it_is_unpacked(
    tmp_path: Path, shape: tuple[int, int, int], follow: int, labels: int | None, said: str
) -> None:
    """A file of 6 MB unfolded into 4.35 GB before anybody looked at its header."""
    file = packed_idx(tmp_path, shape, follow, labels)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=said):
            read_images(file)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_packed_images_are_read_as_the_plain_ones_are(tmp_path: Path) -> None:
    file = packed_idx(tmp_path, (3, 512, 700), 3 * 512 * 700)
    assert read_images(file).images.shape == (3, 1, 512, 700)
    records = np.random.default_rng(1).integers(0, 10, (3, 3073), np.uint8)
    (tmp_path / "data_batch_1.bin").write_bytes(records.tobytes())
    with gzip.open(tmp_path / "data_batch_2.bin.gz", "wb") as out:
        out.write(records.tobytes())
    plain, unfolded = (read_images(tmp_path / f"data_batch_{name}").images for name in ("1.bin", "2.bin.gz"))
    assert np.array_equal(plain, unfolded)


def test_what_unpacks_can_die_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed_idx(tmp_path, (1, 28, 28), 784)
    monkeypatch.setattr(packed, "_pieces", killed)
    with pytest.raises(InputError, match="damaged or cut short"):
        read_images(file)


def killed(files: object, emit: object, cancel: object) -> None:
    """End this process as a fault of a library would."""
    os.kill(os.getpid(), 9)
