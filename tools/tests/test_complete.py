"""What TAB offers behind make (tools/complete.sh): typed at a bash and a zsh in a terminal of their
own, whose `make` prints the words that it was given."""

import os
import re
import resource
import shutil
import subprocess

import pytest
import table
from completing import ASK, ROOT, SHELLS, Terminal, offered

@pytest.fixture(params=SHELLS)
def terminal(request, say):
    """Opens one; None where this machine lacks the shell, which is told."""
    opened = []

    def open_one(**where):
        if not shutil.which(request.param):
            say(f"completion in {request.param}: not tried, there is none here")
            return None
        opened.append(Terminal(request.param, **where))
        return opened[-1]
    yield open_one
    for one in opened:
        one.close()


LINE_AWAY = "\x15"  # Ctrl-U
TYPED = {
    "make gradc\t": ["gradcheck"],
    "make show LA\t=2": ["show", "LAB=2"],  # LAB= or LABS=: as far as both go
    "make grade LAN\tz\t": ["grade", "LANGUAGE=zh_CN"],
    "make grade LAB=2 T=im2\t": ["grade", "LAB=2", "T=im2col"],
    "make grade LAB=2 T=im2col/pad\t JSON=\t": [
        "grade", "LAB=2", "T=im2col/padding_becomes_zero", "JSON=1"],
    "make lab3 grade T=soft\t": ["lab3", "grade", "T=softmax_xent"],
    "make restore LAB=3 T=re\t": ["restore", "LAB=3", "T=relu"],
    "make train NET=m DATAS\tmni\t STEP_\t1": ["train", "NET=m", "DATASET=mnist", "STEP_LOG=1"],
    "make train RUNGS=conv2d:1,poo\t DEVICE=h\t": [
        "train", "RUNGS=conv2d:1,pool:1", "DEVICE=hostcuda"],
    "make grade DEVICES=cpu,h\t": ["grade", "DEVICES=cpu,hostcuda"],
    "make lab2 RE\td\t": ["lab2", "REAL=double"],
    "make data FROM=tools/compl\t": ["data", "FROM=tools/complete.sh"],  # a file
}


def test_words_are_completed_as_they_are_typed(terminal):
    if shell := terminal():
        assert {line: shell.make(line) for line in TYPED} == TYPED


def test_in_a_lab_its_tasks_are_offered(terminal):
    if shell := terminal(folder="labs/lab4"):
        assert shell.make("make grade T=ta\t") == ["grade", "T=tape"]
        assert shell.make("make grade LAB=1 T=ge\t") == ["grade", "LAB=1", "T=gemm"]


def test_nothing_that_was_typed_is_run(terminal, tmp_path):
    told = tmp_path / "told"
    if shell := terminal():
        for word in (f"$(shell touch {told})", f"T=$(shell touch {told})",
                     f"LAB=2$(shell touch {told})", f"`touch {told}`=", f"$(touch {told})="):
            shell.typed(f"make grade {word} T=i\t{LINE_AWAY}")
        assert not told.exists()


def test_a_strangers_folder_is_left_alone(terminal, tmp_path):
    """A copy of gradlab in which nobody has switched it on; files are completed there."""
    shutil.copytree(ROOT / "mk", tmp_path / "mk")
    (tmp_path / "mk/options.mk").write_text(f"$(shell touch {tmp_path}/told)\n")
    if shell := terminal():
        shell.typed(f"cd {tmp_path}")
        assert shell.make("make gradc\t") == ["gradc"]
        assert shell.make("make mk/opti\t") == ["mk/options.mk"]
        assert not (tmp_path / "told").exists()


# ---- bash: what a function of its own sees -------------------------------------------------------

def all_goals() -> list:
    return offered("make ")


def test_goals_are_those_that_make_lists():
    helped = subprocess.run(["awk", "-v", "names=1", "-f", "tools/help.awk", "Makefile"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    labs = [f"lab{n}" for n in table.numbers()]
    assert all_goals() == sorted({"help", "setup", *labs, *helped})


def test_tasks_and_claims_are_those_of_the_lab():
    for number in table.numbers():
        lab = table.load(number)
        assert offered(f"make grade LAB={number} T=") == [t.name for t in lab.tasks]
        task = lab.tasks[0]
        assert offered(f"make debug LAB={number} T={task.name}/") == [
            c.short_name for c in task.claims]


def test_options_of_goals_are_offered_once():
    known = offered("make claims ")
    assert known == ["LAB=", "T="]
    assert offered("make claims T=im2col ") == ["LAB="]
    assert "SAN=" in offered("make claims S")


def test_what_is_offered_for_is_an_option():
    """No list of complete.mk names an option that there is no more."""
    done = subprocess.run(
        ["make", "-rRs", "-f", "mk/complete.mk"], cwd=ROOT, text=True, capture_output=True,
        env=os.environ | {"ASKED": "any", "TYPED": " ".join(all_goals())}, check=True)
    options = set(done.stdout.split())
    text = (ROOT / "mk/complete.mk").read_text()
    named = set(re.findall(r"^VALUES_(\w+)", text, re.M))
    for line in re.findall(r"^(?:SWITCHES|LISTS) := ([A-Z_ ]+)", text, re.M):
        named |= set(line.split())
    assert len(named) > 20 and not {f"{name}=" for name in named} - options


def test_values_are_those_that_programs_take():
    sets = re.findall(r'^    \{"(\w+)",$', (ROOT / "tl/dataset.c").read_text(), re.M)
    assert offered("make train DATASET=") == ["auto", *sets] and len(sets) == 3
    nets = re.findall(r'\.name = "(\w+)"', (ROOT / "tl/nets.c").read_text())
    assert offered("make train NET=") == nets
    devices = list(table.SIDE_OF)
    assert sorted(offered("make grade DEVICES=")) == sorted(devices)
    assert sorted(offered("make train DEVICE=")) == sorted(["auto", *devices])
    assert offered("make train NESTEROV=") == ["0", "1"]
    assert offered("make train REAL=") == ["float", "double"]
    assert offered("make grade LABS=") == ["labs", "solution"]
    assert offered("make handout LABS=") == offered("make grade LAB=") == [
        str(n) for n in table.numbers()]
    assert "conv2d_bwd_weight" in offered("make bench OP=")
    assert "small" in offered("make bench SHAPE=")
    assert "im2col_padding_repeats_the_edge" in offered("make mutants LAB=2 T=")


def test_an_answer_takes_less_than_a_tenth_of_a_second():
    """Of the processor: what else the machine does is not its own."""
    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    taken = []
    for _ in range(5):
        before = spent()
        offered("make grade LAB=2 T=")
        taken.append(spent() - before)
    assert min(taken) < 0.1


@pytest.mark.parametrize("before", [
    "complete -F old make", "_completion_loader() { complete -F old $1; return 124; }"])
def test_elsewhere_make_is_completed_as_before(tmp_path, before):
    """By what somebody set, or by what bash-completion loads at the first TAB; switched on twice,
    it stays so."""
    on = f"source {ROOT}/tools/complete.sh\n" * 2
    done = subprocess.run(
        ["bash", "-c", f"old() {{ COMPREPLY=(as before); }}\n{before}\n{on}{ASK}complete -p make",
         "bash", "make a"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    *words, last = done.stdout.splitlines()
    assert words == ["as", "before"] and "-F _gradlab_bash make" in last, done.stderr
