"""The twin: updates follow tl/optim.h, both layouts agree, wrong plans stop it, lines come out."""

import json

import numpy as np
import pytest
import torch
from conftest import make_plan

import lines
import plans
import records
import train
import twin

CPU = torch.device("cpu")


def reference_update(options, w, g, state, t):
    """One optimiser step by the formulas of tl/include/tl/optim.h, in numpy."""
    lr, g = options["lr"], g + options["wd"] * w
    if options["opt"] == "sgd":
        v = state["v"] = options["momentum"] * state.get("v", 0) + g
        return w - lr * (g + options["momentum"] * v if options["nesterov"] else v)
    m = state["m"] = 0.9 * state.get("m", 0) + (1 - 0.9) * g
    v = state["v"] = 0.999 * state.get("v", 0) + (1 - 0.999) * g * g
    return w - lr / (1 - 0.9**t) * m / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


@pytest.mark.parametrize(
    "changes",
    [
        {"wd": 0.01},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": 1, "wd": 0.01},
        {"opt": "adam", "lr": 1e-3, "wd": 0.01},
    ],
)
def test_updates_follow_the_formulas(tmp_path, data_root, changes):
    plan = plans.Plan(make_plan(tmp_path, data_root, "b", **changes))
    model = twin.Twin(plan, CPU, torch.float64)
    own = [p.detach().numpy().copy() for _, p in model.parameters]
    states = [{} for _ in own]
    for step in model.first_steps(5):  # 5 steps reach into the second epoch
        model.gradients(step)
        for i, (_, parameter) in enumerate(model.parameters):
            gradient = parameter.grad.numpy()
            own[i] = reference_update(plan.options, own[i], gradient, states[i], step.number + 1)
        model.update(step)
    for mine, (name, parameter) in zip(own, model.parameters):
        np.testing.assert_allclose(parameter.detach().numpy(), mine, 1e-12, 1e-15, err_msg=name)


@pytest.mark.parametrize("net, changes", [("a", {"aug": "crop+flip", "pad": 4}), ("m", {})])
def test_layouts_agree(tmp_path, data_root, net, changes):
    plan = plans.Plan(make_plan(tmp_path, data_root, net, **changes))
    results = []
    for layout in twin.LAYOUTS:
        model = twin.Twin(plan, CPU, torch.float64, layout)
        loss, accuracy, _, losses = model.train_epoch(0)
        assert losses.isfinite().all() and 0 <= accuracy <= 1
        results.append([loss, *losses.tolist(), *model.evaluate()[:2]])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-11)


def test_reset_starts_again_with_equal_losses(tmp_path, data_root):
    model = twin.Twin(plans.Plan(make_plan(tmp_path, data_root, "b", momentum=0.9)), CPU)
    first = [model.train_epoch(n)[3].tolist() for n in range(2)]
    model.reset()
    assert first == [model.train_epoch(n)[3].tolist() for n in range(2)]
    # 20 images in batches of 8: the mean over the epoch weighs the partial batch by its 4 images
    model.reset()
    loss, _, _, losses = model.train_epoch(0)
    mean = (8 * losses[0] + 8 * losses[1] + 4 * losses[2]).item() / 20
    assert loss == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    "section, value, says",
    [
        ("order", np.zeros(20, "<u4"), "stands twice"),
        ("order", np.arange(1, 21, dtype="<u4"), "image 20 is planned"),
        ("order", np.arange(16, dtype="<u4"), "learning rates"),
        ("lr", np.array([0.05, 0.05, 0.04]), "learning rate of step 2"),
        ("crop", np.zeros((20, 2), np.uint8), "'flip'"),
        ("keep0", np.zeros((3, 4), np.uint8), "1 masks for 0 dropouts"),
    ],
)
def test_wrong_plans_are_refused(tmp_path, data_root, section, value, says):
    folder = make_plan(tmp_path, data_root, "b")
    path = tmp_path / "plan-0000.tl"
    records.write(path, records.read(path) | {section: value})
    model = twin.Twin(plans.Plan(folder), CPU)
    with pytest.raises((plans.PlanError, records.RecordError), match=says):
        model.train_epoch(0)


def test_other_data_are_noticed(tmp_path, data_root):
    folder = make_plan(tmp_path, data_root, "b")
    options = json.loads((tmp_path / "options.json").read_text())
    options["mean"][1] *= 1 + 1e-9
    (tmp_path / "options.json").write_text(json.dumps(options))
    with pytest.raises(plans.PlanError, match="mean"):
        twin.Twin(plans.Plan(folder), CPU)


@pytest.mark.parametrize("text", ["", "{}", '{"net": 1}'])
def test_bad_options_files_are_named(tmp_path, data_root, text):
    folder = make_plan(tmp_path, data_root, "b")
    (tmp_path / "options.json").write_text(text)
    with pytest.raises(plans.PlanError, match="options.json"):
        plans.Plan(folder)


def test_training_writes_the_common_lines(tmp_path, data_root, capsys):
    folder = make_plan(tmp_path / "plan", data_root, "a")
    words = ["THREADS=1", "NET=a", "STEP_LOG=1", "LR=5e-2"]
    train.main([f"PLAN={folder}", f"OUT={tmp_path}/out", *words])
    got = lines.read_lines(tmp_path / "out" / "train.jsonl")
    assert [line["kind"] for line in got] == ["run", *(3 * ["step"] + ["epoch"]) * 2]
    assert [line["step"] for line in got if line["kind"] == "step"] == list(range(6))
    names = "commit dirty sources dataset device threads seed time program framework torch"
    for line in got:
        assert set(names.split()) <= set(line)
    names = "epoch train_loss train_acc test_loss test_acc train_s eval_s images_per_s"
    assert set(names.split()) <= set(got[-1]) and got[-1]["epoch"] == 2
    assert "epoch  2/2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "word, says",
    [
        ("NET=b", "plan was written with a"),
        ("LR=fast", "LR=fast"),
        ("THREADS=-1", "THREADS=-1"),
        ("LAYOUT=nhwc", "LAYOUT=nhwc"),
        ("RUNGS=none", "RUNGS is not an option"),
        ("threads=1", "'threads=1'"),
    ],
)
def test_wrong_options_are_refused(tmp_path, data_root, word, says):
    folder = make_plan(tmp_path, data_root, "a")
    with pytest.raises(lines.UsageError, match=says):
        train.main([f"PLAN={folder}", f"OUT={tmp_path}/out", word])
