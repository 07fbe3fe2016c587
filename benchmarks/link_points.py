"""Measure the link to the host alone, and put points that shipped ceilings lack beside those that they have.

usage: python benchmarks/link_points.py measure OUT                       (on a GPU, some seconds)
       python benchmarks/link_points.py add OUT/link.json CEILINGS.json   (anywhere)

``measure`` times every link of `ceilings` by events. ``add`` notes in the file when its new points were measured and
whether on the same GPU; everything else stays as it is.
"""

from __future__ import annotations

import secrets
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from record_archive import Speak

from ncu_assist import __version__
from ncu_assist.ceilings import Ceilings, Conditions, decode, encode
from ncu_assist.executors.local import Local
from ncu_assist.harness.ceilings import Probe, results
from ncu_assist.harness.results import read_facts
from ncu_assist.pipeline import ceilings_plan as plan
from ncu_assist.pipeline import ceilings_plan as points
from ncu_assist.pipeline.ceilings import CeilingsStages
from ncu_assist.project import find_project


def measure(out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    project = find_project(Path.cwd())
    folder = project.work / "measure" / f"link-{secrets.token_hex(4)}"
    shop = CeilingsStages(project, folder, Local(), Speak())
    probes = tuple(probe for probe in plan.event_probes(1 << 36, quick=False) if probe.kind == "link")
    ceilings = _timed(shop, probes)
    (out / "link.json").write_bytes(encode(ceilings))
    for point in ceilings.link:
        sys.stdout.write(f"{point.name:20}{point.bytes_per_second / 1e9:8.2f} GB/s\n")
    return 0


def _timed(shop: CeilingsStages, probes: tuple[Probe, ...]) -> Ceilings:
    request = shop.request("events", "events", probes)
    shop.time(request)
    found, facts = list(results(Path(request.out))), read_facts(Path(request.out))
    for result in found:
        if result.problem:
            sys.stderr.write(f"{result.probe.id}: {result.problem}\n")
    assert facts is not None
    assert facts.device is not None
    conditions = Conditions(facts.toolchain, flush="read", temperature_c=facts.temperature_c)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Ceilings(facts.device, created, __version__, conditions, link=points.timed_points(found, "link"))


def add(measured: Path, shipped: Path) -> int:
    new, base = decode(measured.read_bytes(), measured.name), decode(shipped.read_bytes(), shipped.name)
    if new.device.name != base.device.name:
        sys.stderr.write(f"{measured.name} is of {new.device.name}, {shipped.name} of {base.device.name}\n")
        return 1
    known = {point.name for point in base.link}
    more = tuple(point for point in new.link if point.name not in known)
    where = "the same" if new.device.uuid_sha256 == base.device.uuid_sha256 else "another"
    notes = tuple(f"{p.name} was measured on {where} {new.device.name}, {new.created[:10]}" for p in more)
    shipped.write_bytes(encode(replace(base, link=(*base.link, *more), notes=(*base.notes, *notes), digest="")))
    sys.stdout.write("".join(f"{note}\n" for note in notes))
    return 0


if __name__ == "__main__":
    asked, *paths = sys.argv[1:]
    sys.exit(measure(Path(paths[0])) if asked == "measure" else add(Path(paths[0]), Path(paths[1])))
