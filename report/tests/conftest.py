"""A small repository with results of every kind, in which the report is built."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

REPORT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPORT))
sys.dont_write_bytecode = True

CODE, BUILD = "0123abcd", "89ef4567"  # of our programs: files, and compiler with flags


def pytest_configure(config):
    config.addinivalue_line("markers", "twin: imports what is in baseline/, which needs PyTorch")


def figures(middle):
    return {"median": middle, "quartiles": [middle * 0.97, middle * 1.04],
            "samples": [middle * 0.97, middle, middle * 1.04]}  # fmt: skip


class Lab:
    """The repository: `write` adds a file of lines, `build` makes the report."""

    def __init__(self, root):
        self.root = root
        (root / "mk").mkdir()
        (root / "mk/compare.mk").write_text("")
        (root / "baseline").mkdir()
        (root / "baseline/lines.py").write_text("# a program\n")
        self.built("build/float", CODE + BUILD)
        code = hashlib.sha256(b"lines.py\0# a program\n\0").hexdigest()[:8]
        self.twin = code + "77777777"

    def built(self, folder, sources):
        """Programs of these sources lie in the folder."""
        (self.root / folder).mkdir(parents=True)
        (self.root / folder / "build_info.c").write_text(
            f'const char build_commit[] = "feed";\nconst char build_sources[] = "{sources}";\n'
        )

    def common(self, ours, device="cpu", /, **fields):
        line = {"commit": "feed", "dirty": 0, "time": "2026-11-21T12:00:00Z", "dataset": "cifar10",
                "device": device, "machine": "Test_CPU & Co", "threads": 2, "seed": 1}  # fmt: skip
        line |= {"gpu": "Test GPU"} if device == "cuda" else {}
        line |= {"program": "train", "sources": CODE + BUILD} if ours else {
            "program": "baseline/train.py", "sources": self.twin, "framework": "pytorch",
            "torch": "2.13.0"}  # fmt: skip
        return line | fields

    def compared(self, program, device="cpu", /, **fields):
        ours = {"program": "bench", "sources": CODE + BUILD, "real": "float"}
        return self.common(
            False, device, program=program, busy=0.01, ours_run=ours, rungs="all", **fields
        )

    def training(self, net="a", seeds=(1, 2), epochs=3, device="cpu"):
        lines = []
        for ours in (True, False):
            for seed in seeds:
                options = {"net": net, "batch": 64, "epochs": epochs, "opt": "sgd", "lr": 0.05,
                           "momentum": 0, "nesterov": 0, "wd": 0, "sched": "cosine", "aug": "none",
                           "limit": 0}  # fmt: skip
                own = options if ours else {"options": options}
                run = self.common(ours, device, kind="run", **{"net": net, **own})
                lines.append(run | {"seed": seed})
                for i in range(epochs):
                    shift = 0.001 * seed + 0.0007 * ours + 0.01 * i
                    seconds = 4.837 + 3 * shift + 5 * (not ours)
                    epoch = self.common(
                        ours, device, kind="epoch", net=net, epoch=i + 1, train_s=seconds,
                        train_loss=1.6213 - 9 * shift, train_acc=0.41 + shift,
                        test_loss=1.4731 - 7 * shift, test_acc=0.5137 + shift, eval_s=0.3,
                        images_per_s=50000 / seconds,
                    )  # fmt: skip
                    lines.append(epoch | {"seed": seed})
        return lines

    def operations(self, device="cpu"):
        modes = ("eager", "graph") if device == "cuda" else ("eager",)
        cases = [("batch", n, 3, 8, 32) for n in (1, 4, 8)]
        cases += [("size", 8, 3, 8, h) for h in (8, 16)]
        cases += [("channels", 8, 3, 8, 32), ("channels", 8, 8, 16, 32), ("long", 8, 3, 8, 32)]
        lines = []
        for i, (series, n, c, k, h) in enumerate(cases):
            for mode in modes:
                t = 1e-5 * (3 + i) / (1 + (mode == "graph"))
                lines.append(self.compared(
                    "baseline/bench_ops.py", device, kind="bench_op", op="conv2d", series=series,
                    mode=mode, n=n, c=c, k=k, h=h, repeats=50, ours=figures(t),
                    twin=figures(2.13 * t), ratio=figures(0.4694836), **{"pass": "fwd+bwd"},
                ))  # fmt: skip
        lines.append(self.compared("baseline/bench_ops.py", device, kind="peak", dataset="random",
                                   flops_per_s=2.3e11, bytes_per_s=4.1e10))  # fmt: skip
        return lines

    def bridge(self, device="cpu"):
        """Our operators inside PyTorch: one case over many runs and one over few, a net, a step."""
        lines, program = [], "baseline/bench_bridge.py"
        ways = {"pytorch": 1.0, "python": 1.7321, "cpp": 0.8764}
        cases = ("long", 32, "fwd"), ("long", 32, "fwd+bwd"), ("size", 16, "fwd+bwd")
        for series, h, both in cases:
            t = 1e-5 * h * (1 + (both == "fwd+bwd"))
            lines.append(self.compared(
                program, device, kind="bridge_op", op="conv2d", series=series, n=8, c=3, k=8, h=h,
                repeats=5000 if series == "long" else 50, **{"pass": both},
                times={way: figures(t * factor) for way, factor in ways.items()},
                ratios={way: figures(factor) for way, factor in ways.items()},
            ))  # fmt: skip
        for way, factor in ways.items():
            common = {"net": "m", "way": way, "batch": 64, "dataset": "mnist"}
            for epoch in (1, 2):
                lines.append(self.compared(
                    program, device, kind="bridge_epoch", epoch=epoch, epochs=2,
                    train_s=31.27 * factor, total_s=31.27 * factor * epoch,
                    test_acc=0.9803 + 0.004 * epoch, **common,
                ))  # fmt: skip
            for op, calls, seconds in (("conv2d", 100, 0.2345), ("aten::add", 50, 0.0123)):
                lines.append(self.compared(
                    program, device, kind="bridge_profile", op=f"{way}::{op}", calls=calls,
                    seconds=seconds * factor, steps=50, **common,
                ))  # fmt: skip
        return lines

    def ladder(self, device="cpu"):
        """Two rungs of one operation at two shapes, of which conv2d:5 computes in bfloat16, and an
        operation that has one rung alone."""
        lines = []
        for op, shape, rung, seconds in (("conv2d_fwd", "c2", "0", 3e-3),
                                         ("conv2d_fwd", "c2", "conv2d:5", 2e-4),
                                         ("conv2d_fwd", "small", "0", 3e-6),
                                         ("conv2d_fwd", "small", "conv2d:3", 2e-6),
                                         ("sgd_step", "a", "0", 1e-5)):  # fmt: skip
            for cache, slower in (("warm", 1), ("cold", 1.25)):
                flops = 4.7e9 if shape == "c2" else 3e4
                rounded = rung == "conv2d:5"
                lines.append(self.common(
                    True, device, kind="ladder_rounded" if rounded else "ladder",
                    precision="bf16" if rounded else "fp32", program="bench", dataset="random",
                    op=op, shape=shape, rung=rung, rungs=rung, cache=cache, flops=flops,
                    bytes=3.3e7,
                    **figures(seconds * slower), of_rung_0=3e-3 / seconds, of_ceiling=0.4567,
                    peak_flops_per_s=2.3e11, peak_bytes_per_s=4.1e10,
                    command=f"make bench OP={op} SHAPE={shape} DEVICE={device}",
                ))  # fmt: skip
        return lines

    def rest(self, device="cpu"):
        """Profiles, predictions, and steps on this device."""
        common = {"kind": "profile", "net": "a", "within": "", "batch": 64, "steps": 100}
        lines = [
            self.common(True, device, op=op, calls=200, seconds=s, bytes=1e9, flops=3e9, **common)
            for op, s in (("conv2d_fwd", 0.123), ("relu_fwd", 0.0456))
        ]
        twin = {"op": "aten::mm", "calls": 400, "seconds": 0.2}
        twin["program"] = "baseline/profile_step.py"
        lines.append(self.common(False, device, **twin, **common))
        lines.append(self.common(
            True, device, kind="predictions", program="predict", net="a", accuracy=0.6437,
            images=10000, confusion=[60 + i for i in range(100)], wrong_index=[3], wrong_label=[1],
            wrong_guess=[2], wrong_prob=[0.9], filter_shape=[8, 3, 3, 3],
            filters=[0.01 * i - 1 for i in range(216)],
        ))  # fmt: skip
        return lines + (self.cpu_steps() if device == "cpu" else [self.gpu_steps()])

    def cpu_steps(self):
        return [self.compared(
            "baseline/bench_step.py", kind="bench_step", net="a", batch=batch, images=6400,
            ours=figures(0.4567), twin=figures(0.9876), ratio=figures(0.46243), twin_threads=2,
            twin_layout="nchw", ours_peak_bytes=30199808, twin_peak_bytes=12163481,
        ) for batch in (64, 512)]  # fmt: skip

    def gpu_steps(self):
        times = {
            "ours": figures(89.914),
            "eager, nchw": figures(1133.98),
            "graph, nchw": figures(186.24),
            "tf32 compile+graph, nchw": figures(171.3),
        }
        return self.compared(
            "baseline/bench_gpu.py", "cuda", kind="bench_gpu", net="a", batch=64, ratio=2.0713,
            best_rival="graph, nchw", times=times, ours_peak_bytes=17039360,
            rival_peak_bytes={"graph, nchw": 73400320},
        )  # fmt: skip

    def tensor_cores(self):
        """A whole training over three seeds, and a convolution beside cuDNN's."""
        passes = {"forward": 63.36, "dx": 85.61, "dw": 58.02}
        sides = {"ours": {"seconds": [3.43, 3.42, 3.45], "test_acc": [81.2, 82.4, 80.9]},
                 "torch": {"seconds": [4.35, 4.37, 4.36], "test_acc": [81.3, 80.9, 82.3]}}
        return [
            self.compared("baseline/bench_train.py", "cuda", kind="bench_train", net="c", batch=64,
                          precision="bf16", epochs=10, seeds=3, ratio=1.2711, sides=sides),
            self.compared("baseline/bench_conv2d.py", "cuda", kind="bench_conv2d", batch=256,
                          layer="64 to 64 at 32x32", precision="bf16", ours_us=passes,
                          cudnn_us={name: 1.5 * us for name, us in passes.items()},
                          ratio=dict.fromkeys((*passes, "mean"), 1.5)),
        ]  # fmt: skip

    def write(self, lines, name="results/local/all.jsonl", end="\n"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + end)
        return path

    def everything(self, device="cpu"):
        return [*self.training(device=device), *self.operations(device), *self.rest(device),
                *self.bridge(device), *self.ladder(device),
                *(self.tensor_cores() if device == "cuda" else [])]  # fmt: skip

    def build(self, *arguments, folder="out"):
        """Runs build.py in this process; the path of the PDF."""
        import build

        pdf = self.root / folder / "report.pdf"
        build.main([*arguments, f"BUILD={self.root / folder / 'tex'}", f"OUT={pdf}"])
        return pdf


@pytest.fixture
def lab(tmp_path, monkeypatch):
    import build

    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setenv("GRADLAB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("MINE", raising=False)
    return Lab(tmp_path)
