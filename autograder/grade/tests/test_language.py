"""LANGUAGE=: texts for a person in another language, and nothing else; and where there are none."""

import os
import shutil
import subprocess

import failure_kinds
import language
import languages
import pytest
import text
from conftest import ROOT, fail

CATALOGUE = """msgid ""
msgstr "Language: zh_CN\\nX-Reviewed: no\\nContent-Type: text/plain; charset=UTF-8\\n"

msgid "look at the second"
msgstr "看第二项"

msgid "an index left its row"
msgstr "下标离开了它的行"
"""


@pytest.fixture(name="chinese")
def fixture_chinese(stage, monkeypatch):
    """Catalogues as make lays them: of the grader's words the real ones, of lab 9 two texts."""
    monkeypatch.setattr(languages, "CATALOGUES", ROOT / "locale")
    words_po = languages.catalogue("zh_CN", "grade/words")
    for domain, po in {"words": words_po, "lab9": stage.write("lab9.po", CATALOGUE)}.items():
        made = stage.folder / f"build/locale/zh_CN/LC_MESSAGES/grade/{domain}.mo"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["msgfmt", "-o", made, po], check=True)
    return stage


def shown(stage, capsys, *arguments: str) -> str:
    stage.says["lab9_one/second"] = fail()
    stage.grade(*arguments)
    return capsys.readouterr().out


def test_a_failure_is_told_in_chinese_and_its_evidence_in_english(chinese, capsys):
    out = shown(chinese, capsys, "T=one/second", "LANGUAGE=zh_CN")
    assert "one/second (C): 数值错误 on cpu, 10 points" in out
    assert "wrong    12 of 120: 只在最后两维的边界上" in out and "hint     看第二项" in out
    assert "got 1.5, expected 0.25" in out
    *_, notice, last = out.splitlines()
    assert notice == failure_kinds.told(language.UNREVIEWED) and "LANGUAGE=en" in notice
    assert last == "lab9: 0/10 of what T=one/second asked for"


def test_what_is_kept_is_english(chinese, capsys):
    shown(chinese, capsys)
    english = chinese.result()
    shown(chinese, capsys, "LANGUAGE=zh_CN")
    of_claims = ["score", "tasks", "next", "claims", "gate"]
    assert [chinese.result()[k] for k in of_claims] == [english[k] for k in of_claims]


def test_the_page_and_other_forms_are_chinese_too(chinese, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(chinese.folder / "summary.md"))
    chinese.says["lab9_one/first@cpu"] = fail(patterns=["borders"])
    shown(chinese, capsys, "LANGUAGE=zh_CN", "HTML=1", "JUNIT=junit.xml")
    page = (chinese.folder / "build/grade/lab9/grade.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page and "看第二项" in page and failure_kinds.told(
        language.UNREVIEWED) in page
    assert '数值错误' in (chinese.folder / "junit.xml").read_text(encoding="utf-8")
    summary = (chinese.folder / "summary.md").read_text(encoding="utf-8")
    assert "下标离开了它的行" in summary and "LANGUAGE\\=en" in summary


@pytest.mark.parametrize("asked", ["zh_CN.UTF-8", "zh", "zh_CN:zh", "fr:zh_CN", "zh_CN@x"])
def test_the_environment_says_it_too_in_any_usual_form(chinese, capsys, monkeypatch, asked):
    monkeypatch.setenv("LANGUAGE", asked)
    assert "看第二项" in shown(chinese, capsys)
    assert "LANGUAGE" not in os.environ  # what is asked of a compiler is answered in English


@pytest.mark.parametrize("asked", ["", "en", "en_US:zh_CN", "C", "fr:en"])
def test_english_needs_no_word(chinese, capsys, asked):
    assert "look at the second" in shown(chinese, capsys, f"LANGUAGE={asked}")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("asked", ["fr", "zh_TW", "zh_TW:fr", "../x"])
def test_a_language_that_there_is_none_of_is_said_once(chinese, capsys, asked):
    chinese.says["lab9_one/second"] = fail()
    chinese.grade(f"LANGUAGE={asked}")
    out, err = capsys.readouterr()
    assert "look at the second" in out and language.UNREVIEWED not in out
    assert err == (f"grade: LANGUAGE={asked}: there is no translation, so texts are English; "
                   "there are zh_CN, en\n")


def test_what_msgfmt_has_not_made_is_said(chinese, capsys):
    shutil.rmtree(chinese.folder / "build/locale")
    chinese.grade("LANGUAGE=zh_CN")
    err = capsys.readouterr().err
    assert "is not there, so texts are English" in err and "apt-get install gettext" in err
    assert err.count("\n") == 1


def test_a_terminal_without_its_characters_is_said(chinese):
    domains = ("grade/words", "grade/lab9")
    assert "writes iso8859-1" in language.choose("zh_CN", domains, "iso8859-1")
    assert language.told("look at the second") == "look at the second"
    assert language.choose("zh_CN", domains, "utf-8") == ""
    assert language.told("look at the second") == "看第二项"


def test_the_hint_that_names_a_race_is_put_together_anew(chinese):
    language.choose("zh_CN", ("grade/words", "grade/lab9"), "utf-8")
    english = failure_kinds.NAMED_ELSEWHERE.format(claim="one/x", lines=" (a.cu:47 and 51)")
    told = failure_kinds.hint_told(english)
    assert told.startswith("T=one/x ") and " (a.cu:47 and 51)" in told and "begin" not in told
    assert failure_kinds.hint_told("look at the second") == "看第二项"


def test_chinese_is_wrapped_without_spaces():
    said = ("如果只有末几位不同，说明“顺序”依赖了线程数（见 `n + 1`）。"
            "调用 tl_im2col(x, g->n) 之后，检查 part.n*P*Q。") * 3
    for width in (24, 40, 77):
        lines = text.wrap(said, width, "  hint     ")
        assert all(text.columns(line) <= width for line in lines)
        assert len(lines) == 1 or text.columns(lines[0]) > width - 12
        assert not any(line.strip()[0] in text.CLOSING or line[-1] in text.OPENING
                       for line in lines)
        assert "".join(lines).count("`n + 1`") == 3
        assert "".join("".join(lines).split()) == "hint" + "".join(said.split())
