"""Ranges expand as Ansible expands them."""

from __future__ import annotations

import pytest
from ansible.plugins.inventory import expand_hostname_range

from gpugen.hosts import ranges
from gpugen.hosts.ranges import RangeError


@pytest.mark.parametrize(
    "pattern",
    ["n[1:12].x", "n[01:12].x", "n[a:c]", "n[0:9:3]-[x:z].y", "[001:003]", "r[1:2]n[08:11]"],
)
def test_as_ansible(pattern: str) -> None:
    hosts = expand_hostname_range(pattern)
    assert list(ranges.expand(pattern)) == hosts
    assert ranges.count(pattern) == len(hosts)


def test_plain_name() -> None:
    assert list(ranges.expand("gpu-01.lab")) == ["gpu-01.lab"]
    assert ranges.count("gpu-01.lab") == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "n[4:1]",
        "n[01:012]",
        "n[1:c]",
        "n[c:a]",
        "n[1:999999]",
        "n[1:200][1:200]",
        "n" + "[0:9]" * 60,
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(RangeError):
        ranges.count(pattern)


def test_hosts_of_all_patterns_together_are_bounded() -> None:
    most = ranges.MOST
    assert sum(map(len, ranges.listed([f"a[1:{most - 1}]", "b"]).values())) == most
    assert set(ranges.listed([f"a[1:{most}]", "b"]).values()) == {()}
    assert set(ranges.listed(["a[1:150]"] * 150).values()) == {()}  # one pattern, many lines


def test_a_wrong_pattern_has_no_hosts_and_the_others_have_theirs() -> None:
    assert ranges.listed(["a[2:1]", "b[1:2]", "c[1:999][1:999][1:999]"]) == {
        "a[2:1]": (),
        "b[1:2]": ("b1", "b2"),
        "c[1:999][1:999][1:999]": (),
    }
