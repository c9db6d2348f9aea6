"""Digits, units and spreads: one rule, and no number that says more or less than it should."""

import math

import pytest
import units


@pytest.mark.parametrize("x, text", [
    (0.0269412, "0.0269"), (5.911372, "5.91"), (59.96, "60.0"), (9.996, "10.0"), (591.4, "591"),
    (5912.7, "5910"), (999.6, "1000"), (1e-7, "0.000000100"), (0, "0"), (-2.3456, "-2.35"),
])  # fmt: skip
def test_three_significant_digits(x, text):
    assert units.significant(x) == text


@pytest.mark.parametrize("x", [None, math.nan, math.inf])
def test_what_is_no_number_is_a_dash(x):
    assert units.significant(x) == units.fixed(x, 2) == units.DASH


def test_a_spread_ends_where_its_median_does():
    figures = {"median": 0.0591137, "quartiles": [0.0559763, 0.0592439]}
    assert units.spread(figures, 1e-3).text == "59.1 (56.0\u201359.2)"
    assert units.spread({"median": 5912, "quartiles": [5598, 6024]}).text == "5910 (5600\u20136020)"


def test_seeds_show_mean_smallest_and_largest_and_one_seed_itself():
    assert units.over_seeds([0.6444, 0.6566, 0.6566], "percent").text == "65.25 (64.44\u201365.66)"
    assert units.over_seeds([0.6607], "percent").text == "66.07"
    assert units.over_seeds([0.6607, None], "percent").text == units.DASH


def test_one_unit_for_a_column_by_its_smallest_number():
    assert units.time_unit([3e-5, 2.0]) == (1e-6, "us")
    assert units.time_unit([2.0, 3.0]) == (1.0, "s")


def test_a_missing_timing_is_a_dash():
    assert units.spread({"median": None, "quartiles": [None, None]}).text == units.DASH
    assert units.spread(None).text == units.DASH
