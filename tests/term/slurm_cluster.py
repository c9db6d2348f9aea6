"""slurm_cluster.py: a Slurm cluster on this host, in a folder: munged, slurmctld and a slurmd for
each node, on free ports, with keys and configuration of its own. Nothing of the host's Slurm is
used or touched, and root is not needed.

    with slurm_cluster.Cluster(folder, nodes=3) as cluster:
        subprocess.run(["sbatch", …], env=cluster.env)
        cluster.lose("n2")
"""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

# (who is lost is missed after this, and its jobs start again when their credentials are void)
TIMEOUT_S = 10
CONFIGURATION = """ClusterName=gradlab
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout={timeout}
KillWait=60
SchedulerParameters=sched_interval=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=8192 State=UNKNOWN"


def program(name: str) -> str:
    """Debian has the daemons in sbin, which is not on everybody's path."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"there is no {name} here: make setup test-all installs Slurm and munge"
    return found


def free_ports(number: int) -> list:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait(until, seconds: float, what: str):
    """What `until` says, as soon as it says anything."""
    end = time.monotonic() + seconds
    while not (said := until()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)
    return said


class Cluster:
    def __init__(self, folder: Path, nodes: int):
        self.folder, self.daemons = folder, {}
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        ports = free_ports(1 + nodes)
        for name in ("munge", "state"):
            (folder / name).mkdir(parents=True, mode=0o755)
        lines = [NODE.format(name=n, port=p) for n, p in zip(self.nodes, ports[1:])]
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname(), user=getpass.getuser(), ports=ports, folder=folder,
            timeout=TIMEOUT_S, nodes="\n".join(lines)))
        (folder / "cgroup.conf").write_text("")
        (folder / "munge/key").write_bytes(secrets.token_bytes(1024))
        (folder / "munge/key").chmod(0o600)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH"))}
        self.mark = f"SLURM_CONF={folder}/slurm.conf"
        self.env = kept | {"SLURM_CONF": f"{folder}/slurm.conf"}

    def start(self, name: str, *words: str) -> None:
        with open(self.folder / f"{name}.out", "w") as out:
            self.daemons[name] = subprocess.Popen(
                [program(words[0]), *words[1:]], env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        munge = self.folder / "munge"
        try:
            self.start("munged", "munged", "--foreground", "--force", f"--key-file={munge}/key",
                       f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                       f"--log-file={munge}/log", f"--seed-file={munge}/seed")
            wait((munge / "socket").exists, 10, "munged")
            self.start("slurmctld", "slurmctld", "-D")
            for node in self.nodes:
                self.start(node, "slurmd", "-D", "-N", node)
            wait(lambda: self.said("sinfo", "-h", "-N", "-o", "%t").split() ==
                 ["idle"] * len(self.nodes), 60, "idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()

    def said(self, *words: str) -> str:
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def processes(self, *marks: str) -> list:
        """Of this cluster, with all these words in their environment."""
        found, wanted = [], {word.encode() for word in (self.mark, *marks)}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted <= set((path / "environ").read_bytes().split(b"\0")):
                    found.append(int(path.name))
        return [pid for pid in found if pid != os.getpid()]

    def lose(self, node: str) -> None:
        """The node's power fails: its slurmd, and whatever it has started."""
        daemon = self.daemons.pop(node)
        daemon.kill()
        daemon.wait()
        jobs = self.processes(f"SLURMD_NODENAME={node}")
        assert jobs, f"nothing runs on {node}"
        # (a job's keeper, slurmstepd, has no such word: it is the parent of the first of them)
        keepers = {parent(pid) for pid in jobs} - {*jobs, 1, os.getpid()}
        for pid in (*keepers, *jobs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait(lambda: not self.kill(f"SLURMD_NODENAME={node}"), 10, f"the end of {node}")

    def kill(self, *marks: str) -> list:
        """Those that were left."""
        left = self.processes(*marks)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left


def parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 1
