"""Operators behind a fork, and with any number of threads. What forks does so in a fresh process,
which sees no GPU: where there is one PyTorch's autograd keeps a thread for it, and then refuses to
differentiate in a forked child, whoever's operators they are."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import traceback

import torch

import gradlab
import gradlab.functional as F
import gradlab.nn as nn

LIMIT_S = 60  # a child that hangs is a failure, and must not outlive the test


def step():
    """One step of a small net: the sums of its gradients."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(8 * 15 * 15, 10))
    F.cross_entropy(model(torch.randn(16, 2, 32, 32)), torch.arange(16) % 10).backward()
    return [float(p.grad.double().abs().sum()) for p in model.parameters()]


def gets(wanted):
    """Whether a step with one thread has the same bits; says so where it has not."""
    found = step_of(0)
    if found != wanted:
        print(f"a child gets {found}, its parent {wanted}", file=sys.stderr, flush=True)
    return found == wanted


def step_of(_):
    torch.set_num_threads(1)  # as DataLoader does for its workers
    return step()


def test_threads_of_pytorch_are_ours():
    """The bits do not depend on them."""
    results = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        results.append(step())
    torch.set_num_threads(2)
    assert results[0] == results[1] == results[2]


def in_child(function) -> int:
    """Exit status of a forked child that runs function; 99 if it was still running."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        except BaseException:
            traceback.print_exc()
        os._exit(2)
    waiter = concurrent.futures.ThreadPoolExecutor(1)
    try:
        _, status = waiter.submit(os.waitpid, child, 0).result(LIMIT_S)
        return os.waitstatus_to_exitcode(status)
    except concurrent.futures.TimeoutError:
        os.kill(child, 9)
        return 99
    finally:
        waiter.shutdown()


def forked_child():
    """OpenMP's threads do not survive a fork: the parent has used two of them. PyTorch's own larger
    operations wait for them without end, unless they are told that there is one thread; ours take
    one by themselves."""
    wanted, x, w = step(), torch.randn(16, 2, 32, 32), torch.randn(8, 2, 3, 3)

    def ours():
        y = gradlab.ops().relu(gradlab.ops().conv2d(x, w, None, [1, 1], [0, 0], [1, 1]))
        return gradlab.ops().conv2d_backward_weight(y, x, [3, 3], [1, 1], [0, 0], [1, 1])
    alone = ours()
    assert torch.get_num_threads() == 2
    assert in_child(lambda: torch.equal(ours(), alone)) == 0
    assert in_child(lambda: gets(wanted)) == 0
    assert in_child(lambda: in_child(lambda: gets(wanted)) == 0) == 0  # a child's child
    assert step() == wanted


def pool_of_processes():
    wanted = step()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(step_of, range(4)).get(LIMIT_S) == [wanted] * 4


class Convolved(torch.utils.data.Dataset):
    """A data set whose items are computed by our operators."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return F.conv2d(torch.full((1, 6, 6), float(i)), torch.ones(2, 1, 3, 3))


def dataloader_workers():
    step()
    loader = torch.utils.data.DataLoader(Convolved(), batch_size=4, num_workers=2, timeout=LIMIT_S)
    found = torch.cat(list(loader))
    assert torch.equal(found[:, 0, 0, 0], 9 * torch.arange(8.0))


CHECKS = (forked_child, pool_of_processes, dataloader_workers)


def test_what_forks(way):
    env = os.environ | {"GRADLAB_WAY": way, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True,
                          timeout=10 * LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [check.__name__ for check in CHECKS]


if __name__ == "__main__":
    torch.set_num_threads(2)
    for check in CHECKS:
        check()
        print(check.__name__, flush=True)
