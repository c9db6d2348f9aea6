"""What `make show` draws of the numbers that the programs wrote, with matplotlib and without."""

import json
import sys

import pytest

import show

PICTURE = {"kind": "picture", "name": "a", "h": 2, "w": 2, "value": [0, 0.5, 1, 2]}
CURVE = {"kind": "curve", "loss": [2.0, 1.0, 0.5]}
POINTS = {"kind": "points", "edge": 1.2, "x": [0, 1], "y": [1, 0], "arm": [0, 1], "right": 2}
LINES = {
    1: [{"kind": "products", "n": n, "naive": 1e9, "yours": 2e9, "BLAS": 3e9} for n in (64, 128)],
    2: [PICTURE] * 6, 3: [CURVE], 4: [CURVE, PICTURE, POINTS], 5: [],
}  # fmt: skip
CONFUSION = [9, 1, *[0] * 8] + [0] * 90
PREDICTIONS = {"kind": "predictions", "dataset": "shapes10", "images": 10, "accuracy": 0.9,
               "confusion": CONFUSION, "wrong_index": [1.0], "wrong_label": [0], "wrong_guess": [1],
               "wrong_prob": [0.75], "filter_shape": [2, 3, 1, 1],
               "filters": [1, 0, 0, 0, 0, -1]}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """folder(lab): what the programs write for it, with a test set of two pictures."""
    monkeypatch.setenv("GRADLAB_DATA", str(tmp_path))
    (tmp_path / "shapes10").mkdir()
    image = bytes([0]) + bytes([255]) * 1536 + bytes(1536)
    (tmp_path / "shapes10/test_batch.bin").write_bytes(image * 2)

    def of(lab):
        lines = [{"kind": "show", "lab": lab}, *LINES[lab]]
        (tmp_path / "show.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
        (tmp_path / "predictions.jsonl").write_text(json.dumps(PREDICTIONS) + "\n")
        return tmp_path

    return of


@pytest.mark.parametrize("lab", LINES)
def test_each_lab_has_its_picture(folder, lab, capsys):
    assert show.main([str(folder(lab))]) == 0
    data = (folder(lab) / "show.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 2000
    assert f"picture  {folder(lab)}/show.png" in capsys.readouterr().out


def test_without_matplotlib_it_says_so_and_leaves_no_old_picture(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (folder(3) / "show.png").write_bytes(b"old")
    assert show.main([str(folder(3))]) == 0
    said = capsys.readouterr().out
    assert "no matplotlib" in said and "make setup show" in said
    assert not (folder(3) / "show.png").exists()


def test_lab_5_is_told_in_words(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    show.main([str(folder(5))])
    said = capsys.readouterr().out
    assert "of 10 test images of shapes10 90.0 % are told right" in said
    assert "disc         90 %  square (1 times)" in said
    assert "disc, said: square 75 %" in said
    rows = said.splitlines()
    at = rows.index(next(r for r in rows if r.startswith("disc, said")))
    assert rows[at + 1].strip() and len(rows[at + 1]) >= 32  # and its pixels


def test_pixels_become_characters():
    dark, bright = [(0, 0, 0)] * 2, [(1, 1, 1)] * 2
    assert show.characters([dark, dark, bright, bright]) == ["  ", "@@"]


def test_what_is_not_there_is_named(tmp_path, capsys):
    assert show.main([str(tmp_path)]) == 1
    assert "make show writes it" in capsys.readouterr().err
