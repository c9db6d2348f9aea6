"""A submission that is a .zip or a .tar.gz: read as a folder would be, and believed nothing of."""

import contextlib
import gzip
import io
import os
import tarfile
import warnings
import zipfile
import zlib

import intake
import pytest
import skeletons
import submission
import submit

NAMES = skeletons.own_files(submission.ROOT, 2)


@pytest.fixture
def given(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    return folder


def zipped(tmp_path, *entries, data=None):
    """ada.zip of (name or ZipInfo, content)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
            for entry, content in entries:
                archive.writestr(entry, content)
    if data:
        (tmp_path / "ada.zip").write_bytes(data((tmp_path / "ada.zip").read_bytes()))
    return tmp_path / "ada.zip"


def entry(name: str, mode: int = 0o100644, method: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.compress_type = mode << 16, method
    return info


def test_an_archive_of_make_submit_is_taken_as_the_folder_would_be(tmp_path, given):
    files = {name: f"/* {name} */\n".encode() for name in NAMES}
    (tmp_path / "ada.ZIP").write_bytes(submit.packed({f"lab2/{n}": d for n, d in files.items()}))
    assert submission.collect(tmp_path / "ada.ZIP", 2) == (files, [])
    for name, data in files.items():
        (given / name).write_bytes(data)
    assert submission.folder_of(tmp_path / "ada.ZIP", files, 2) == \
        submission.folder_of(tmp_path / "ada", submission.collect(given, 2)[0], 2)


@pytest.mark.parametrize("place", ["labs/lab2/", "lab2/", ""])
def test_its_files_may_lie_in_the_usual_places_and_be_compressed(tmp_path, place):
    path = zipped(tmp_path, (entry(f"{place}im2col.c", method=zipfile.ZIP_DEFLATED), "x" * 5000),
                  ("notes/", ""), ("notes/a b.txt", "y"))
    assert submission.collect(path, 2) == ({"im2col.c": b"x" * 5000}, [])


@pytest.mark.parametrize("name", ["/im2col.c", "../im2col.c", "a/../im2col.c", "./im2col.c",
                                  "lab2\\im2col.c", "C:im2col.c", "lab2//x", "a\x1b[2J", "a\u202e"])
def test_a_name_that_leads_elsewhere_refuses_all_of_it(tmp_path, name):
    with pytest.raises(submission.Refused, match="has an entry called"):
        submission.collect(zipped(tmp_path, ("im2col.c", "x"), (name, "y")), 2)


def test_a_name_that_ends_early_refuses_all_of_it(tmp_path):
    """zipfile reads up to the null byte, others read on."""
    path = zipped(tmp_path, ("im2col.c_and", "x"), data=lambda d: d.replace(b"c_and", b"c\0and"))
    with pytest.raises(submission.Refused, match="has an entry called"):
        submission.collect(path, 2)


def test_names_that_come_twice_and_entries_without_end_refuse_all_of_it(tmp_path, monkeypatch):
    with pytest.raises(submission.Refused, match="two entries called im2col.c"):
        submission.collect(zipped(tmp_path, ("im2col.c", "x"), ("im2col.c", "y")), 2)
    many = [(f"{n}.c", "") for n in range(intake.MOST_ENTRIES + 1)]
    with pytest.raises(submission.Refused, match="more than 1000 entries"):
        submission.collect(zipped(tmp_path, *many), 2)
    monkeypatch.setattr(intake, "LARGEST_ARCHIVE", 1000)
    with pytest.raises(submission.Refused, match="larger than"):
        submission.collect(zipped(tmp_path, ("im2col.c", "x" * 1000)), 2)


@pytest.mark.parametrize("info, content, why", [
    (entry("im2col.c", 0o120777), "/etc/passwd", "a link"),
    (entry("im2col.c", 0o010644), "", "a named pipe"),
    (entry("im2col.c", method=zipfile.ZIP_LZMA), "x", "packed in an unusual way"),
    (entry("im2col.c", method=zipfile.ZIP_DEFLATED), b"\0" * (1 << 26), "larger than 256 KiB")],
    ids=["link", "pipe", "lzma", "bomb"])
def test_what_is_no_plain_file_in_it_is_not_taken(tmp_path, info, content, why):
    path = zipped(tmp_path, (info, content), ("col2im.c", "y"))
    files, said = submission.collect(path, 2)
    assert files == {"col2im.c": b"y"} and why in said[0], said


def test_a_size_that_lies_gives_a_damaged_file_or_none(tmp_path):
    """The header says 2 bytes; 300 KiB are packed."""
    def lie(data: bytes) -> bytes:
        size = (300 << 10).to_bytes(4, "little")
        return data.replace(size, (2).to_bytes(4, "little"))

    path = zipped(tmp_path, (entry("im2col.c", method=zipfile.ZIP_DEFLATED), b"z" * (300 << 10)),
                  data=lie)
    files, said = submission.collect(path, 2)
    assert files == {} and "im2col.c: damaged, not taken" in said[0]


def test_damage_anywhere_is_said_and_never_raised(tmp_path):
    whole = submit.packed({"lab2/im2col.c": b"int x;\n" * 9, "lab2/col2im.c": b"y\n"})
    path, outcomes = tmp_path / "ada.zip", set()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        try:
            files, said = submission.collect(path, 2)
            outcomes |= {"taken", *(s.split(": ")[1] for s in said if ": " in s)}
            assert set(files.values()) <= {b"int x;\n" * 9, b"y\n"}
        except submission.Refused as error:
            outcomes.add(str(error).split(": ")[1].split(" ")[0])
    assert {"taken", "damaged, not taken", "this"} <= outcomes


def tarred(tmp_path, *entries, name="ada.tar.gz"):
    """An archive of (name or TarInfo, content)."""
    with tarfile.open(tmp_path / name, "w:gz" if name.endswith("gz") else "w") as archive:
        for info, content in entries:
            info = tarfile.TarInfo(info) if isinstance(info, str) else info
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return tmp_path / name


def member(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize("name", ["ada.tar", "ada.tgz", "Ada.TAR.GZ"])
@pytest.mark.parametrize("place", ["", "./", "labs/lab2/", "./mine/lab2/"])
def test_a_tar_is_taken_as_a_folder_would_be(tmp_path, name, place):
    path = tarred(tmp_path, (f"{place}im2col.c", b"x\n"), ("notes.txt", b"y"), name=name)
    assert submission.collect(path, 2) == ({"im2col.c": b"x\n"}, [])
    assert submission.name_of(path).lower() == "ada"


def test_links_and_devices_in_a_tar_are_not_taken(tmp_path):
    kinds = {"im2col.c": tarfile.SYMTYPE, "im2col.cu": tarfile.LNKTYPE, "col2im.c": tarfile.DIRTYPE,
             "col2im.cu": tarfile.FIFOTYPE, "conv2d_fwd.c": tarfile.CHRTYPE}
    path = tarred(tmp_path, *((member(name, kind), b"") for name, kind in kinds.items()),
                  ("conv2d_bwd.c", b" " * (intake.LARGEST + 1)))
    files, said = submission.collect(path, 2)
    assert files == {} and sorted(s.removeprefix(f"{path}/") for s in said) == [
        "col2im.c: a folder, not taken", "col2im.cu: a named pipe, not taken",
        "conv2d_bwd.c: larger than 256 KiB, not taken", "conv2d_fwd.c: a device, not taken",
        "im2col.c: a link, not taken", "im2col.cu: a hard link, not taken"]


@pytest.mark.parametrize("name", ["/im2col.c", "../im2col.c", "a/../im2col.c", "lab2\\im2col.c",
                                  "C:im2col.c", "a\x1b[2J", "a\u202e"])
def test_so_is_a_tar_whose_names_lead_elsewhere(tmp_path, name):
    with pytest.raises(submission.Refused, match="has an entry called"):
        submission.collect(tarred(tmp_path, ("im2col.c", b"x"), (name, b"y")), 2)


def test_a_tar_with_a_name_twice_or_entries_without_end_is_refused(tmp_path, monkeypatch):
    with pytest.raises(submission.Refused, match="two entries called im2col.c"):
        submission.collect(tarred(tmp_path, ("im2col.c", b"x"), ("./im2col.c", b"y")), 2)
    monkeypatch.setattr(intake, "MOST_ENTRIES", 3)
    with pytest.raises(submission.Refused, match="more than 3 entries"):
        submission.collect(tarred(tmp_path, *((f"{n}.c", b"") for n in range(4))), 2)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_bomb_is_not_unpacked(tmp_path, parts):
    """200 MiB of zeros in 200 KiB, at once or in joined parts."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200 // parts)) + packer.flush()
    (tmp_path / "ada.tgz").write_bytes(bomb * parts)
    with pytest.raises(submission.Refused, match="ada.tgz: unpacks to more than 32 MiB"):
        submission.collect(tmp_path / "ada.tgz", 2)


def test_damage_in_a_tar_is_said_and_never_raised(tmp_path):
    whole = tarred(tmp_path, ("lab2/im2col.c", b"int x;\n" * 9)).read_bytes()
    plain = gzip.decompress(whole)
    for data, name in ((whole, "ada.tar.gz"), (plain, "ada.tar")):
        for at in range(0, min(len(data), 1600), 9):
            (tmp_path / name).write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
            try:
                submission.collect(tmp_path / name, 2)
            except submission.Refused:
                pass
            (tmp_path / name).write_bytes(data[:at])
            with pytest.raises(submission.Refused) if data is whole else contextlib.suppress(
                    submission.Refused):
                submission.collect(tmp_path / name, 2)


def test_what_is_called_zip_and_is_none(tmp_path):
    (tmp_path / "ada.zip").write_bytes(b"PK\3\4 no")
    with pytest.raises(submission.Refused, match="no .zip, or a damaged one"):
        submission.collect(tmp_path / "ada.zip", 2)
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(submission.Refused, match="a named pipe"):
        submission.collect(tmp_path / "pipe.zip", 2)
    with pytest.raises(submission.Refused, match="no such file"):
        submission.collect(tmp_path / "none.zip", 2)
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "folder.zip/im2col.c").write_text("x\n")
    assert submission.collect(tmp_path / "folder.zip", 2)[0] == {"im2col.c": b"x\n"}
