"""Interrupt, end and kill every command that writes, at random moments, and look at what is left.

    python tools/kill_commands.py --kills 50 --seed 0

Each run is a process and a folder of its own, half of them over an older output with
``--force``. At a random moment it gets SIGINT, SIGTERM or SIGKILL in turn. Then every output must
be the older one or a whole new one, or not be there; and unless it was killed, no temporary file
may be left. What was found goes to ``results/trust/kill-commands.json`` and ``.md``.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import stablepred
from stablepred.__main__ import main as main_of_stablepred

TRUST = Path(__file__).parent.parent / "results" / "trust"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TARGET = ("--target", "y")
COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": ("fit", "table.csv", *TARGET, "--method", "gbr", "--cv", "0", "-o", "out"),
    "predict": ("predict", "model", "table.csv", "-o", "out.csv"),
    "evaluate": ("evaluate", "model", "table.csv", "--by", "g", "-o", "out.csv"),
    "stress": ("stress", "model", "table.csv", "-o", "out.csv"),
    "weights": ("weights", "table.csv", *TARGET, "-o", "out.csv"),
    "report": ("report", "model", "table.csv", "--by", "g", "-o", "out.html"),
    "compare": ("compare", "table.csv", "other.csv", *TARGET, "--methods", "lr,gbr", "-o", "out"),
    "demo": ("demo", "--rows", "200", "--test-rows", "200", "--output", "out"),
}
OLD = "an older output\n"


class Run:
    """A command in a folder, as a fork of this process, which has imported all that it needs."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.pid = folder, os.fork()
        if self.pid == 0:
            os._exit(self._work(arguments))

    def _work(self, arguments: tuple[str, ...]) -> int:
        os.chdir(self.folder)
        with open(".said", "w") as said:
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["stablepred", *arguments]
            try:
                main_of_stablepred()
            except SystemExit as end:
                return int(end.code or 0)
            except BaseException:
                traceback.print_exc()
                return 1
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
        return 0

    def wait(self) -> int:
        """The exit code; of a signal its number below zero."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def said(self) -> str:
        """What was printed; the file goes."""
        content = (self.folder / ".said").read_text() if (self.folder / ".said").exists() else ""
        (self.folder / ".said").unlink(missing_ok=True)
        return content


def prepare(folder: Path) -> None:
    """Two tables and a model, in a folder to copy."""
    rng = np.random.default_rng(0)
    for name, n in (("table.csv", 3000), ("other.csv", 200)):
        x = rng.normal(size=(n, 4))
        y = (x[:, 0] + rng.normal(size=n) > 0).astype(int)
        frame = pd.DataFrame(x, columns=list("abcd"))
        frame.assign(g=rng.choice(["n", "s"], n), y=y).to_csv(folder / name, index=False)
    fit = ("fit", "table.csv", *TARGET, "--drop", "g", "--method", "lr", "--cv", "0", "-o", "model")
    done = Run(folder, *fit)
    assert done.wait() == 0, done.said()
    done.said()


def write_old(name: str, folder: Path) -> None:
    """An output of an earlier run."""
    output = folder / COMMANDS[name][-1]
    if name == "fit":
        shutil.copytree(folder / "model", output)
    elif not output.suffix:
        output.mkdir()
        for part in ("errors.csv", "comparison.csv", "report.html", "errors.png"):
            (output / part).write_text(OLD)
    else:
        output.write_text(OLD)


def is_whole(path: Path) -> bool:
    """Whether a file is an older one, or comes to its end."""
    content = path.read_bytes()
    if content == OLD.encode():
        return True
    if path.suffix == ".html":
        return content.rstrip().endswith(b"</html>")
    if path.suffix == ".png":
        return b"IEND" in content[-12:]
    if path.suffix in (".json", ".jsonl"):
        lines = [content] if path.suffix == ".json" else content.splitlines()
        return all(isinstance(json.loads(line), dict) for line in lines)
    return content.endswith(b"\n") and len(set(map(len, pd.read_csv(path).to_numpy()))) == 1


def judge(name: str, folder: Path, how: signal.Signals, files: dict[str, int]) -> str:
    """What is wrong with what is left, or nothing."""
    output = folder / COMMANDS[name][-1]
    if name == "fit" and output.exists():
        stablepred.load(output)
    found = [p for p in [output, *output.glob("*")] if p.is_file() and p.suffix != ".safetensors"]
    for path in found:
        if not is_whole(path):
            return f"{path.name} is not whole"
        if path.suffix == ".csv" and path.read_text() != OLD:
            lines = path.read_text().count("\n")
            if files.setdefault(f"{name} {path.name}", lines) != lines:
                return f"{path.name} has {lines} lines"
    left = [p.name for p in folder.rglob(".stablepred-*")]
    return f"left behind: {left}" if left and how != signal.SIGKILL else ""


def kill(name: str, sound: Path, number: int, seed: int, seconds: float) -> dict[str, Any]:
    """Run a command in a copy of a folder until it gets a signal; what was seen then."""
    rng = np.random.default_rng([seed, list(COMMANDS).index(name), number])
    how, older = SIGNALS[number % 3], bool(rng.random() < 0.5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "run")
        shutil.copytree(sound, folder)
        options = ("--force",) if older and name != "demo" else ()
        if older:
            write_old(name, folder)
        process = Run(folder, *COMMANDS[name], *options)
        moment = rng.uniform(0.0, 1.0) * seconds
        time.sleep(moment)
        os.kill(process.pid, how)
        code, said = process.wait(), process.said()
        lines: dict[str, int] = {}
        try:
            wrong = judge(name, folder, how, lines)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        left = len(list(folder.rglob(".stablepred-*")))
        return {
            "signal": how.name,
            "older": older,
            "code": code,
            "written": bool(lines) or (folder / COMMANDS[name][-1]).exists(),
            "left": left,
            "moment": round(moment / seconds, 3),
            "last_line": (said.splitlines() or [""])[-1][:200],
            "lines": lines,
            "wrong": wrong,
        }


def as_markdown(kept: dict[str, Any]) -> str:
    """The record as a page."""
    rows = []
    for name, runs in kept["commands"].items():
        codes = Counter("by the signal" if one["code"] < 0 else one["code"] for one in runs)
        shown = ", ".join(f"{code}: {times}" for code, times in sorted(codes.items(), key=str))
        left = sum(one["left"] > 0 for one in runs)
        wrong = sum(bool(one["wrong"]) for one in runs)
        rows.append(f"| {name} | {len(runs)} | {shown} | {left} | {wrong} |")
    return "\n".join(
        [
            "# Commands that were killed",
            "",
            f"Commands of stablepred {kept['stablepred']} that write, ended at random moments:",
            "",
            f"    {kept['command']}",
            "",
            "SIGINT, SIGTERM and SIGKILL in turn; about half of the runs replace an older output.",
            "Wrong is an output that is neither the older one nor a whole new one, or a temporary",
            "file that is left though the process was not killed (SIGKILL may leave one).",
            "",
            "| command | runs | exit codes | SIGKILL left a temporary file | wrong |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> None:
    """Run, and write the record; exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Kill commands at random moments.")
    parser.add_argument("--kills", type=int, default=50, help="of every command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--output", type=Path, default=TRUST)
    options = parser.parse_args()
    for name in ("torch", "sklearn.ensemble", "matplotlib.figure", "jinja2", "rich.progress"):
        import_module(name)
    for name in (*COMMANDS, "tables"):
        import_module(f"stablepred.cli.{name}")
    for name in stablepred.__all__:
        getattr(stablepred, name)
    kept: dict[str, Any] = {
        "command": f"python tools/kill_commands.py --kills {options.kills} --seed {options.seed}",
        "stablepred": stablepred.__version__,
        "commands": {},
    }
    options.output.mkdir(parents=True, exist_ok=True)
    before = options.output / "kill-commands.json"
    if options.only != list(COMMANDS) and before.exists():  # the others stay as they are
        kept["commands"] = json.loads(before.read_text())["commands"]
    with tempfile.TemporaryDirectory() as temporary:
        sound = Path(temporary, "sound")
        sound.mkdir()
        prepare(sound)
        for name in options.only:
            lines: dict[str, int] = {}
            runs = kept["commands"][name] = []
            seconds = measure(name, sound)
            for number in range(options.kills):
                runs.append(one := kill(name, sound, number, options.seed, seconds))
                for part, found in one.pop("lines").items():
                    if lines.setdefault(part, found) != found:
                        one["wrong"] = f"{part} has {found} lines, elsewhere {lines[part]}"
            print(name, Counter(one["wrong"] for one in runs), flush=True)
            (options.output / "kill-commands.json").write_text(json.dumps(kept, indent=1) + "\n")
            (options.output / "kill-commands.md").write_text(as_markdown(kept))
    sys.exit(any(one["wrong"] for runs in kept["commands"].values() for one in runs))


def measure(name: str, sound: Path) -> float:
    """Seconds that a command takes when it is left in peace."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "run")
        shutil.copytree(sound, folder)
        started = time.perf_counter()
        process = Run(folder, *COMMANDS[name])
        assert process.wait() == 0, process.said()
        return time.perf_counter() - started


if __name__ == "__main__":
    main()
