"""The pages in labs/: their links and pictures are there, also where a student reads them, every
picture says in words what is to be seen, and the handouts of all labs have one build.
"""

import re
import tomllib
from pathlib import Path

import handout
import pytest
import table
from test_rooms import ROOT, tracked

PAGES = [ROOT / name for name in tracked(ROOT, ".md") if name.startswith("labs/")]
PICTURES = [ROOT / name for name in tracked(ROOT, ".svg") if name.startswith("labs/")]
LABS = {number: table.load(number, ROOT) for number in table.numbers(ROOT)}

BEFORE = ["What you will see at the end", "Recap", "What you write", "How to work"]
AFTER = ["What you may use", "How to debug", "When something is wrong", "Questions", "Next"]
LEADS = ["Predict.", "The mathematics.", "Numbers.", "Write.", "Grade."]


def prose(path: Path) -> str:
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def links(path: Path) -> list:
    """(target, anchor) of each relative link and picture."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    return [(target, anchor) for target, _, anchor in (t.partition("#") for t in targets)
            if not re.match(r"\w+:", target)]


def anchor_of(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def lab_of(path: Path) -> int:
    """The lab that a page belongs to; what lies beside the labs goes along with the first."""
    named = re.fullmatch(r"lab(\d)", path.parent.name)
    return int(named[1]) if named else min(LABS)


def given_with(lab: int) -> set:
    """What a handout of this lab and those before it holds."""
    rules = tomllib.loads((ROOT / handout.LIST).read_text(encoding="utf-8"))
    return set(handout.chosen(tracked(ROOT, ""), rules, [n for n in LABS if n <= lab]))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_link_leads_somewhere(page):
    """Where the page is handed out, to what is handed out with it."""
    given, wrong = given_with(lab_of(page)), []
    for target, anchor in links(page):
        path = (page.parent / target).resolve() if target else page
        name = str(path.relative_to(ROOT))
        if not path.exists():
            wrong.append(f"{target} is not there")
        elif anchor and anchor not in map(anchor_of, re.findall(r"^#+ (.*)", prose(path), re.M)):
            wrong.append(f"{target} has no heading #{anchor}")
        elif str(page.relative_to(ROOT)) in given and name not in given:
            wrong.append(f"{target} is not in the handout")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_picture_is_told_in_words(page):
    silent = [target for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(page))
              if len(words.split()) < 5]
    assert not silent and "<img" not in prose(page)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_picture_is_used_and_has_a_title(picture):
    text = picture.read_text(encoding="utf-8")
    assert re.search(r"<title[^>]*>\S", text) and re.search(r"<desc[^>]*>\S", text)
    shown = {(page.parent / target).resolve() for page in PAGES for target, _ in links(page)}
    assert picture.resolve() in shown


def sections(page: Path) -> dict:
    """heading -> text, in the order of the page"""
    parts = re.split(r"^## (.*)\n", prose(page), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("number", LABS)
def test_a_handout_has_its_headings(number):
    page = ROOT / f"labs/lab{number}/README.md"
    names, found = {task.name for task in LABS[number].tasks}, sections(page)
    heads = list(found)
    assert heads[:len(BEFORE)] == BEFORE and heads[-len(AFTER):] == AFTER
    tasks = heads[len(BEFORE):-len(AFTER)]
    assert len(tasks) == len(names) and set(tasks) == {f"Task: {name}" for name in names}
    for task in tasks:
        parts = steps(page, task.removeprefix("Task: "), found[task])
        assert list(parts) == LEADS, f"{task}: {list(parts)}"
        assert f"make grade T={task.removeprefix('Task: ')}`" in parts["Grade."], task
        assert "<summary>Check your prediction</summary>" in parts["Predict."], task


def steps(page: Path, task: str, told: str) -> dict:
    """lead -> text. A task that is long has a page of its own beside the handout, with a heading
    for each lead; what the handout tells of it leads there."""
    own = page.parent / f"{task}.md"
    if own.exists():
        assert f"]({own.name})" in told, f"{page.parent.name}: nothing leads to {own.name}"
        return {f"{head}.": text for head, text in list(sections(own).items())[:len(LEADS)]}
    parts = re.split(r"^\*\*([^*]+)\*\*", told, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


NOT_COUNTED = [r"(?s)<details>.*?</details>", r"(?s)```.*?```", r"(?m)^\|.*$", r"(?s)<!--.*?-->",
               r"(?s)\$\$.*?\$\$|\$[^$\n]*\$"]  # fmt: skip


def words_to_read(text: str) -> int:
    for pattern in NOT_COUNTED:
        text = re.sub(pattern, "", text)
    return len(text.split())


def test_words_to_read_are_prose_and_inline_code():
    text = ("# Two words\n\nsay `make grade`\n```\nno\n```\n| no | no |\n<!-- no -->\n"
            "$no x$ and\n```math\nno\n```\n<details><summary>no</summary>\nno\n</details>\n")
    assert words_to_read(text) == len("# Two words say `make grade` and".split())


@pytest.mark.parametrize("number", LABS)
def test_a_handout_can_be_read_in_one_sitting(number):
    """1,200 to 1,800 words of prose; code, tables, formulas and folds not counted. Lab 0 is short,
    and a task's own page or derivations.md can hold what would be too much."""
    words = words_to_read((ROOT / f"labs/lab{number}/README.md").read_text(encoding="utf-8"))
    assert (1200 if number else 0) <= words <= 1800, f"{words} words"


@pytest.mark.parametrize("number", [n for n in LABS if not LABS[n].steps])
def test_questions_are_worth_ten_points_and_each_has_a_rubric(number):
    asked = sections(ROOT / f"labs/lab{number}/README.md")["Questions"]
    points = [int(p) for p in re.findall(r"^\d+\. .*?\((\d+)(?: points?)?\)", asked, re.M)]
    rubric = prose(ROOT / f"autograder/lab{number}/questions.md")
    given = [int(p) for p in re.findall(r"^\d+\. .*?\((\d+)(?: points?)?\)", rubric, re.M)]
    assert 4 <= len(points) <= 6 and sum(points) == 10 and given == points
