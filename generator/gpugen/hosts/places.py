"""Where the spec states a setting of a pool's hosts: in the pool, in hostDefaults or nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpugen.model.finding import ROOT, Finding, Pointer

if TYPE_CHECKING:
    from gpugen.model.spec import ClusterSpec, NodePool

DEFAULTS = ROOT / "hostDefaults"
_NEEDED = {
    "os": ("operating system", "os: ubuntu-24.04"),
    "driver-version": ("driver version", 'driver: {version: "580.178.04"}'),
    "container-toolkit-version": (
        "version of the container toolkit",
        'containerToolkit: {version: "1.20.0"}',
    ),
}


def host_setting(spec: ClusterSpec, pool: NodePool, *path: str) -> Pointer:
    """Return where a setting stands, by its keys below ``host``; the pool's own comes first."""
    own: Any = spec.stated["pools"][int(pool.at.parts[1])].get("host", {})
    defaults: Any = spec.stated.get("hostDefaults", {})
    is_own = _has(own, path) or not _has(defaults, path)
    return below(pool.at / "host" if is_own else DEFAULTS, path)


def below(pointer: Pointer, path: tuple[str, ...]) -> Pointer:
    """Extend a pointer by several keys."""
    for part in path:
        pointer = pointer / part
    return pointer


def _has(value: Any, path: tuple[str, ...]) -> bool:
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def missing_host_settings(
    missing: Mapping[str, list[int]], stated: Mapping[str, Any]
) -> Iterator[Finding]:
    """Word what no host settings state, in one finding where everything is missing.

    missing: the part of a finding's id -> the indices of the pools that lack it.
    """
    if set(missing) == set(_NEEDED) and len({tuple(pools) for pools in missing.values()}) == 1:
        examples = ", ".join(example for _, example in _NEEDED.values())
        what = "operating system, driver version or version of the container toolkit"
        yield _missing("settings", missing["os"], stated, what, f"{{{examples}}}")
        return
    for what, pools in missing.items():
        words, example = _NEEDED[what]
        yield _missing(what, pools, stated, words, f"{{{example}}}")


def _missing(
    what: str, pools: list[int], stated: Mapping[str, Any], words: str, example: str
) -> Finding:
    names = ", ".join(repr(stated["pools"][i]["name"]) for i in pools[:5])
    many = f"pools {names}{', …' if len(pools) > 5 else ''} have"
    who = many if len(pools) > 1 else f"pool {names} has"
    at = ROOT / "pools" / pools[0]
    if len(pools) == len(stated["pools"]) and "hostDefaults" in stated:
        at = DEFAULTS
    return Finding(
        f"host-missing-{what}",
        f"{who} no {words}, and hostDefaults states none",
        f"write hostDefaults: {example}, or the same under host: in the pool",
        at,
        at_key=True,
    )
