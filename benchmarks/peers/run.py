"""Print each speed bar as a ratio to other libraries, measured in one run: python run.py --data DIR."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from _case import Case, Measured, Scene, Skip, Verdict, seconds_text

MODULES = (
    "gram_products",
    "gram_blocks",
    "threads",
    "gram_fusion",
    "prototypes",
    "startup",
    "svm",
    "ridge",
    "ridge_path",
    "tuning",
    "machines",
    "clusters",
    "metric",
    "distances",
)
PACKAGES = ("mercer", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "pykeops", "torch")
HERE = Path(__file__).parent
TOUCHED = 6  # GiB of memory that are written to and freed before timing
TABLE = ("   :header-rows: 1", "   :widths: 34 12 34 10 10", "")
COLUMNS = "{:<38} {:>10}  {:<52} {:>14}  {:>9}  {}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE / "../../../shared/data", help="folder of datasets")
    parser.add_argument("--prototypes", type=Path, default=HERE / "../../../shared/prototypes", help="their folder")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases whose name holds one of these")
    parser.add_argument("--quick", action="store_true", help="half the rows, three repeats")
    parser.add_argument("--tiny", action="store_true", help="check that everything runs; figures mean nothing")
    parser.add_argument("--threads", type=int, default=2, help="on every side (default 2)")
    parser.add_argument("--repeats", type=int, help="rounds a case (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--rst", type=Path, metavar="FILE", help="write the table there, for docs/performance.inc")
    parser.add_argument("--join", type=Path, nargs="+", metavar="FILE", help="measure nothing: join what --json wrote")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)  # before any library is loaded: KeOps reads it only then
    if options.join:
        return join(options)
    cases = list(chosen(options.only))
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    shrink = 20 if options.tiny else 2 if options.quick else 1
    repeats = options.repeats or (2 if options.tiny else 3 if options.quick else 5)
    scene = Scene(options.data.resolve(), options.prototypes.resolve(), options.threads, repeats, shrink)
    return show(cases, scene, options)


def chosen(only: list[str]) -> Iterator[Case]:
    """Yield the cases of all modules, or those whose name holds one of the given words."""
    for module in MODULES:
        for case in importlib.import_module(module).CASES:
            if not only or any(word in case.name for word in only):
                yield case


def show(cases: list[Case], scene: Scene, options: argparse.Namespace) -> int:
    from _timing import HOW, REST, touch

    facts = machine(scene)
    print("\n".join(facts.values()))
    if scene.shrink > 1:
        print(f"NOTE: rows are divided by {scene.shrink}; the bars are about full sizes.")
    if not options.tiny:
        touch(TOUCHED)
    print("\n" + COLUMNS.format("case", "ours", "fastest peer", "ratio", "bar", "met"), flush=True)
    records, missed, judged, start = [], [], 0, time.perf_counter()
    for case in cases:
        record, verdicts = measured(case, scene, judging=not options.tiny)
        records.append(record)
        keep(options.json, facts, scene.shrink, records)  # after each case: a run may be cut short
        judged += sum(v.met is not None for v in verdicts)
        missed += [f"{case.name}: {v.ratio} against {v.bar} ({v.peer})" for v in verdicts if v.met is False]
    minutes = (time.perf_counter() - start) / 60
    touched = 0 if options.tiny else TOUCHED
    print("\n" + HOW.format(repeats=scene.repeats, threads=scene.threads, touched=touched, rest=REST))
    print(f"\n{judged - len(missed)} of {judged} bars met, in {minutes:.1f} minutes.")
    print("\n".join(f"  missed: {line}" for line in missed), end="\n" if missed else "")
    unreported = [r["case"] for r in records if "skipped" in r or not r["agrees"]]
    print(f"  not measured: {', '.join(unreported)}\n" if unreported else "", end="")
    if options.rst:
        options.rst.write_text(as_rst(facts, records, scene.shrink) + "\n")
    return 0


def keep(path: Path | None, facts: dict[str, str], shrink: int, records: list[dict]) -> None:
    """Write all figures so far to a file, if one is wanted."""
    if path:
        path.write_text(json.dumps({"facts": facts, "shrink": shrink, "cases": records}, indent=1) + "\n")


def join(options: argparse.Namespace) -> int:
    """Join the figures of runs in pieces, later files over earlier ones, in the order of the cases."""
    found = [json.loads(path.read_text()) for path in options.join]
    by_case = {record["case"]: record for run in found for record in run["cases"]}
    records = [by_case[case.name] for case in chosen(options.only) if case.name in by_case]
    facts, shrink = found[-1]["facts"], max(run["shrink"] for run in found)
    keep(options.json, facts, shrink, records)
    if options.rst:
        options.rst.write_text(as_rst(facts, records, shrink) + "\n")
    print("\n".join(COLUMNS.format(*row, "") for row in rows_of(records)))
    return 0


def as_rst(facts: dict[str, str], records: list[dict], shrink: int) -> str:
    """Return the figures as reStructuredText, a table a subject, with the machine and the day."""
    reduced = "" if shrink == 1 else f" Rows were divided by {shrink}."
    lines = [f"{facts['machine']}.", f"{facts['versions']}.", f"Measured {time.strftime('%Y-%m-%d')}.{reduced}"]
    for module in map(importlib.import_module, MODULES):
        names = {case.name for case in module.CASES}
        rows = list(rows_of([record for record in records if record["case"] in names]))
        if rows:
            lines += ["", f".. list-table:: {module.__doc__.splitlines()[0].rstrip('.')}", *TABLE]
        for row in [("case", "Mercer", "fastest peer", "ratio", "bar")] * bool(rows) + rows:
            lines += [f"   {'*' if k == 0 else ' '} - {cell}" for k, cell in enumerate(row)]
    return "\n".join(line.rstrip() for line in lines)


def rows_of(records: list[dict]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each line of the table."""
    for record in records:
        for k, bar in enumerate(record.get("bars", [])):
            mark = " (missed)" if bar["met"] is False else ""
            yield (record["case"] if k == 0 else "", bar["ours"], bar["peer"], bar["text"], bar["bar"] + mark)


def measured(case: Case, scene: Scene, *, judging: bool) -> tuple[dict, list[Verdict]]:
    """Measure one case and print its lines."""
    try:
        found = case.measure(scene)
    except Skip as reason:
        print(COLUMNS.format(case.name, "", f"skipped: {reason}", "", "", ""), flush=True)
        return {"case": case.name, "skipped": str(reason)}, []
    verdicts = [bar.judge(found) for bar in case.bars] if found.agrees else []
    if not judging:
        verdicts = [replace(v, met=None) for v in verdicts]
    for k, v in enumerate(verdicts):
        met = {True: "yes", False: "NO", None: "-"}[v.met]
        print(COLUMNS.format(case.name if k == 0 else "", v.ours, v.peer, v.ratio, v.bar, met))
    print(details(case, found), flush=True)
    lines = [
        {"ours": v.ours, "peer": v.peer, "ratio": v.value, "text": v.ratio, "bar": v.bar, "met": v.met}
        for v in verdicts
    ]
    return {"case": case.name, "agrees": found.agrees, **asdict(found), "bars": lines}, verdicts


def details(case: Case, found: Measured) -> str:
    """Return the line below a case: every contender, and how far apart the answers were."""
    note = f"; {found.note}" if found.note else ""
    if not found.agrees:
        return (
            f"{case.name}: answers differ by {found.disagreement:.1e} > {found.allowed:g}: no ratio is reported{note}"
        )
    apart = "" if found.disagreement is None else f"; answers within {found.disagreement:.0e}"
    times = (f"{name} {seconds_text(s)}" for name, s in found.seconds.items())
    return f"    {', '.join(times)}{apart}{note}"


def machine(scene: Scene) -> dict[str, str]:
    """Return the lines that say where this ran; no names of hosts or folders."""
    import numpy  # noqa: F401  # so that its BLAS is loaded and can be named
    from threadpoolctl import threadpool_info

    blas = sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info() if i["user_api"] == "blas"})
    found = [f"{name} {_version(name)}" for name in PACKAGES]
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; {scene.threads} threads on each side",
        "versions": f"Python {platform.python_version()}, {', '.join(found)}, {', '.join(blas)}",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(absent)"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
