"""Record files: what is written comes back, and no damage goes unnoticed."""

import numpy as np
import pytest

import records


@pytest.fixture
def small(tmp_path):
    """A file with two sections, one of which needs padding."""
    path = tmp_path / "small.tl"
    records.write(path, {"lr": np.array([0.5, 0.25]), "flip": np.arange(5, dtype=np.uint8)})
    return path


def test_all_types_and_shapes_come_back(tmp_path):
    rng = np.random.default_rng(1)
    sections = {
        f"{dtype}-{len(shape)}": (100 * rng.standard_normal(shape)).astype(dtype)
        for dtype in ("u1", "<i4", "<u4", "<u8", "<f4", "<f8")
        for shape in ((3,), (2, 3), (1, 2, 3), (2, 1, 3, 5))
    }
    path = tmp_path / "all.tl"
    records.write(path, sections)
    back = records.read(path)
    assert list(back) == list(sections)
    for name, array in sections.items():
        assert back[name].dtype == array.dtype and np.array_equal(back[name], array)
    assert [p.name for p in tmp_path.iterdir()] == ["all.tl"]


def test_layout_is_the_one_of_the_header(small):
    content = small.read_bytes()
    assert content[:16] == b"TLRECORD" + bytes([1, 0, 0, 0, 2, 0, 0, 0])
    assert content[16:20] == b"lr\0\0" and content[64:72] == bytes([6, 0, 0, 0, 1, 0, 0, 0])
    assert content[72:80] == (2).to_bytes(8, "little")
    assert content[104:112] == (16).to_bytes(8, "little")
    assert np.frombuffer(content, "<f8", 2, 16 + 104).tolist() == [0.5, 0.25]
    assert len(content) == 16 + 104 + 16 + 104 + 8


def test_every_flipped_byte_is_noticed(small):
    content = bytearray(small.read_bytes())
    for i in range(len(content)):
        content[i] ^= 0x10
        small.write_bytes(content)
        with pytest.raises(records.RecordError):
            records.read(small)
        content[i] ^= 0x10
    small.write_bytes(content)
    assert records.read(small)["lr"][1] == 0.25


def test_every_other_length_is_noticed(small):
    content = small.read_bytes()
    for length in range(len(content)):
        small.write_bytes(content[:length])
        with pytest.raises(records.RecordError):
            records.read(small)
    small.write_bytes(content + bytes(8))
    with pytest.raises(records.RecordError, match="after the last section"):
        records.read(small)


def test_missing_file_and_section_are_named(small, tmp_path):
    with pytest.raises(records.RecordError, match="none.tl: No such file"):
        records.read(tmp_path / "none.tl")
    sections = records.read(small)
    with pytest.raises(records.RecordError, match="no section 'crop'"):
        records.find(sections, small, "crop", "u1")
    with pytest.raises(records.RecordError, match="holds uint8"):
        records.find(sections, small, "flip", "<f4")
    with pytest.raises(records.RecordError, match="5 elements, wanted 6"):
        records.find(sections, small, "flip", "u1", 6)
