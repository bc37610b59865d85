"""Every check finds its case at the right place, and lets the repaired spec through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import checks
from gpugen.catalog import Catalog
from gpugen.checks.file_names import unportable
from gpugen.model.finding import Pointer
from gpugen.resolve import resolve
from support import ROOT, TESTS
from support.specs import changed, findings_of, resolved

CASES = TESTS / "checks"
ALL = {check.id: check for check in checks.discover()}


def test_minimal_spec_is_clean() -> None:
    assert findings_of({}) == []


def test_one_place_is_one_finding_however_many_pools_it_concerns() -> None:
    pools = {
        f"/pools/{n}": {
            "name": f"p{n}",
            "gpu": {"model": "l4", "count": 1},
            "hosts": [f"p{n}.lab.example"],
        }
        for n in range(6)
    }
    (finding,) = findings_of(
        {**pools, "/hostDefaults/dcgm": {"mode": "masked", "version": "4.5.3"}}
    )
    assert finding.message == (
        "pool 'p0' masks DCGM's service, so version has no effect; likewise 'p1', 'p2',"
        " 'p3' and 2 more"
    )


@pytest.mark.parametrize("name", ["precompiled", "p1", "pool"])
def test_a_pool_called_like_another_word_of_the_message_is_grouped(name: str) -> None:
    pools = {
        f"/pools/{number}": {
            "name": pool,
            "gpu": {"model": "h200-sxm5", "count": 8},
            "hosts": [f"{pool}.lab.example"],
        }
        for number, pool in enumerate((name, "p10"))
    }
    method = {"/hostDefaults/os": "rocky-9", "/hostDefaults/driver/method": "precompiled"}
    (finding,) = findings_of({**pools, **method})
    assert finding.message.startswith(f"the driver of pool {name!r} cannot be installed by")
    assert finding.message.endswith("for rocky-9; likewise 'p10'")


def test_a_profile_is_missed_on_the_model_that_the_spec_names() -> None:
    """Not on its geometry, whose name no spec holds."""
    pool = {"/pools/0/gpu": {"model": "h200-sxm5", "count": 8}}
    layout = [{"gpus": "all", "profiles": {"1g.10gb": 7}}]
    found = findings_of({**pool, "/pools/0/mig": {"strategy": "mixed", "layout": layout}})
    assert [finding.message for finding in found] == ["h200-sxm5 has no MIG profile '1g.10gb'"]


def test_modules_that_nobody_builds_get_the_flavour_that_somebody_does() -> None:
    (finding,) = findings_of(
        {
            "/hostDefaults/os": "rocky-9",
            "/hostDefaults/driver/method": "precompiled",
            "/pools/0/gpu": {"model": "h200-sxm5", "count": 8},
        }
    )
    assert finding.message.endswith(
        "by method 'precompiled': there are no prebuilt open modules for rocky-9"
    )
    assert finding.hint.startswith("write kernelModules: proprietary, or use method: vendor")


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("10.20.0.317", "write four numbers from 0 to 255, such as 10.20.0.17"),
        (
            "10.20.0.17:22",
            "write address: 10.20.0.17, and the port as ssh: {port: 22}",
        ),
        ("2001:db8::17::1", "write a valid IPv6 address, such as 2001:db8::17"),
    ],
)
def test_the_hint_for_an_address_fits_the_slip(address: str, hint: str) -> None:
    (finding,) = findings_of(
        {"/pools/0/hosts/0": {"name": "gpu-01.lab.example", "address": address}}
    )
    assert finding.hint == hint


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "169.254.1.7", "localhost"])
def test_a_name_that_no_host_can_have_is_one_finding(host: str) -> None:
    assert [f.id for f in findings_of({"/pools/0/hosts": [host]})] == ["hosts-name-not-free"]


@pytest.mark.parametrize(
    ("pointer", "value", "message", "hint"),
    [
        (
            "/hostDefaults/os",
            "debian13",
            "no operating system 'debian13'",
            "did you mean debian-13? ",
        ),
        (
            "/hostDefaults/os",
            "debian-14",
            "Operating system 'debian-14' is newer",
            "upgrade gpugen",
        ),
        (
            "/kubernetes/version",
            "1.29",
            "no Kubernetes version",
            "did you mean one of 1.33, 1.34, ",
        ),
        ("/pools/0/gpu/model", "zzz", "no GPU model 'zzz'", "'gpugen catalog gpus' lists them"),
    ],
)
def test_unknown_names_get_those_that_are_of_use(
    pointer: str, value: str, message: str, hint: str
) -> None:
    data = changed({pointer: value})
    spec, (finding,) = resolve(data, Catalog(), "inventories/minimal/cluster.yaml")
    assert spec is None
    assert finding.message.startswith(message)
    assert finding.hint.startswith(hint)


@pytest.mark.parametrize("id", sorted(ALL))
def test_check(id: str, tmp_path: Path) -> None:
    path = CASES / f"{id}.yaml"
    assert path.is_file(), f"check {id} has no case: add tests/checks/{id}.yaml"
    case = yaml.safe_load(path.read_text())
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(case.get("catalog", {"gpus": {}})))
    catalog = Catalog(tmp_path)
    assert catalog.findings() == []
    found = [f for f in findings_of(case["bad"], catalog) if f.id == id]
    assert [f.at for f in found] == [case["at"]]
    assert found[0].message
    assert found[0].hint
    assert found[0].severity is ALL[id].severity
    assert [f for f in findings_of(case["good"], catalog) if f.id == id] == []


def test_every_case_has_a_check() -> None:
    stems = {path.stem for path in CASES.glob("*.yaml")} - {"minimal"}
    assert stems == set(ALL)


@pytest.mark.parametrize("check", ALL.values(), ids=ALL)
def test_check_is_explained(check: checks.Check) -> None:
    first = check.explanation.splitlines()[0]
    assert first.endswith("."), f"{check.id}: the docstring opens with one sentence"


def test_a_check_stops_where_nobody_reads_on() -> None:
    asked = 0

    def complain_everywhere(_: object) -> Iterator[checks.Problem]:
        nonlocal asked
        for asked in range(100_000):
            at = Pointer(f"/pools/0/hosts/{asked}")
            yield checks.Problem(at=at, message=f"host {asked}", hint="correct it")

    found = list(checks.check("x-y")(complain_everywhere).run(resolved()))
    assert asked == checks.MOST_SOUGHT
    assert len(found) == checks.MOST_SHOWN + 1
    assert found[-1].message == "and more than 900 more findings with this id"


def test_every_rendered_path_can_be_checked_out_on_windows() -> None:
    root = ROOT
    paths = [
        p.relative_to(root).as_posix()
        for o in ("out", "tests/golden/out")
        for p in (root / o).rglob("*")
    ]
    assert len(paths) > 500
    assert [path for path in paths if unportable(path) or set(path) & set('<>:"\\|?*')] == []
    assert len({path.lower() for path in paths}) == len(paths)


@pytest.mark.parametrize("name", ["con", "nul", "aux", "prn", "com1", "lpt9"])
def test_names_of_devices(name: str) -> None:
    assert [f.at for f in findings_of({"/name": name})] == ["/name"]
    assert unportable(f"keys/{name.upper()}.asc")


@pytest.mark.parametrize("path", ["keys/a.", "a./b", "keys/a ", "con .x/b"])
def test_endings_that_windows_drops(path: str) -> None:
    assert unportable(path)


def test_key_files_that_differ_in_case() -> None:
    own = {"baseURL": "https://p.example/x", "fingerprint": "A" * 40}
    changes = {
        "/hostDefaults/repositories": {**own, "keyFile": "keys/a.asc"},
        "/pools/1": {
            "name": "b",
            "gpu": {"model": "t4", "count": 1},
            "hosts": ["b1"],
            "host": {"repositories": {**own, "keyFile": "keys/A.asc"}},
        },
    }
    assert [f.at for f in findings_of(changes)] == ["/pools/1/host/repositories/keyFile"]


SHARED = {
    "name": "shared",
    "gpu": {"model": "t4", "count": 2},
    "hosts": ["t1"],
    "sharing": {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}},
}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({"/pools/1": SHARED}, True),
        ({"/pools/1": {**SHARED, "taints": [{"key": "a", "effect": "NoSchedule"}]}}, False),
        ({"/pools/1": {**SHARED, "taints": [{"key": "a", "effect": "PreferNoSchedule"}]}}, True),
        (
            {"/pools/1": {**SHARED, "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}},
            True,
        ),
        (
            {
                "/pools/1": {**SHARED, "taints": [{"key": "a", "effect": "NoSchedule"}]},
                "/pools/0/taints": [{"key": "a", "effect": "NoSchedule"}],
            },
            True,
        ),
        ({"/pools/1": SHARED, "/pools/0/taints": [{"key": "a", "effect": "NoSchedule"}]}, True),
        ({"/pools/1": SHARED, "/pools/0/gpu/count": 1}, False),  # nobody asks for several there
    ],
)
def test_one_name_for_whole_and_shared(changes: dict[str, Any], is_found: bool) -> None:
    found = [f.id for f in findings_of(changes)]
    assert ("sharing-same-name-as-whole" in found) is is_found
