"""Install the project and the extras named on the command line into `.venv`, doing only what has not been done.

Usage: python tools/install.py [EXTRA ...]          pip's own options: in the environment variable PIP_ARGS

Each step leaves a stamp in `.venv` with a digest of what it was made from, so a second run does nothing. One process
installs at a time. An environment in which an install was cut short is made anew, for nobody knows what it lacks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
CUT_SHORT = VENV / ".installing"
PROJECT = ROOT / "pyproject.toml"
CONSTRAINTS = ROOT / "constraints.txt"


def main(extras: list[str]) -> None:
    """Bring `.venv` to the state that the extras ask for."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    with one_at_a_time() as lock_fd:
        make_environment()
        # torch comes first and alone: it is the one package of which users choose the build.
        install("torch", ["torch"], project, lock_fd)
        install("package", ["--editable", f"{ROOT}[offline-model]"], project, lock_fd)
        for extra in extras:
            # Only what the extra asks for: the package itself may be running under another target.
            install(extra, project["optional-dependencies"][extra], project, lock_fd)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[int]:
    """Hold the lock on installing; pip inherits the descriptor, so that a pip whose parent was killed still counts."""
    with PROJECT.open("r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another install into .venv to end ...", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def make_environment() -> None:
    """Make `.venv`, unless a whole one is there; one that somebody else made is completed, not replaced."""
    if CUT_SHORT.exists():
        print("The last install into .venv was cut short: it is made anew.", file=sys.stderr)
        shutil.rmtree(VENV)
    if is_usable():
        return
    VENV.mkdir(exist_ok=True)
    CUT_SHORT.touch()
    show_and_run([sys.executable, "-m", "venv", str(VENV)])
    CUT_SHORT.unlink()
    if not is_usable():
        sys.exit("The environment in .venv has no pip, or a Python older than 3.11. Remove it and try again.")


def is_usable() -> bool:
    """Whether `.venv` holds a Python that is new enough, with pip."""
    question = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    if not VENV_PYTHON.exists():
        return False
    return subprocess.run([VENV_PYTHON, "-c", question], stderr=subprocess.DEVNULL).returncode == 0


def install(step: str, what: list[str], project: dict[str, object], lock_fd: int) -> None:
    """Run pip for one step, unless its stamp says that it was done with the same project and constraints."""
    stamp = VENV / f".installed-{step}"
    made_from = json.dumps([what, project, CONSTRAINTS.read_text("utf-8")], sort_keys=True)
    digest = hashlib.sha256(made_from.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    pip_args = shlex.split(os.environ.get("PIP_ARGS", ""))
    CUT_SHORT.touch()
    try:
        show_and_run([str(VENV_PYTHON), "-m", "pip", "install", *pip_args, "-c", str(CONSTRAINTS), *what], lock_fd)
    except subprocess.CalledProcessError as failure:
        if failure.returncode > 0:  # pip gave up in good order, which leaves whole packages behind
            CUT_SHORT.unlink()
        raise
    stamp.write_text(digest)
    CUT_SHORT.unlink()


def show_and_run(command: list[str], *inherited: int) -> None:
    """Print a command and run it."""
    print(shlex.join(command), flush=True)
    subprocess.run(command, check=True, pass_fds=inherited)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as failure:
        sys.exit(f"The install failed (exit status {failure.returncode}); what went wrong stands above.")
    except KeyboardInterrupt:
        sys.exit(130)
