"""README's table of speeds is that of the committed results."""

import speed_table


def test_readme_says_what_was_measured():
    page = speed_table.PAGE.read_text()
    assert page == speed_table.filled(page)
    assert "x (" in speed_table.table()


def test_each_side_is_compared_in_its_precision():
    line = {"ratio": 1.5, "ours_peak_bytes": 50, "ours_run": {"precision": "bf16"},
            "rival_peak_bytes": {"graph": 40, "bf16 graph": 100, "bf16 compile": 200},
            "precision": {"graph": "fp32", "bf16 graph": "bf16",
                          "bf16 compile": "bf16"}}  # fmt: skip
    assert speed_table.on_gpu(line) == (1.5, 0.5)
    assert speed_table.cell((1.5, 0.5)) == "1.50x (0.50)"
    assert speed_table.cell(None) == speed_table.NOT_MEASURED
    assert speed_table.on_cpu({"ratio_of_medians": 0.5, "ours_peak_bytes": 1,
                               "twin_peak_bytes": 4}) == (2.0, 0.25)  # fmt: skip
