"""Names and addresses that cannot be another machine's, in whatever spelling."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.checks import discover
from gpugen.hosts.addresses import leads_somewhere, not_a_hosts, target
from gpugen.validate import validate
from support.specs import changed, resolved

HERE = "localhost LOCALHOST localhost.localdomain localhost4 localhost6.localdomain6 a.localhost"
HERE += " ip6-localhost ip6-loopback 127.0.0.1 127.255.0.9 ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1"
NOWHERE = "0.0.0.0 :: 255.255.255.255 169.254.1.1 fe80::1 224.0.0.1 ff02::1 ::ffff:0.0.0.0"
NUMBERS = "127.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 127.0.0.01 0"
OTHERS = (
    "gpu-01 gpu-01.lab.example 10.0.0.1 2001:db8::1 192.168.1.127 local host localhosts.example"
)
OTHERS += " dead.beef face n1.localdomain 172.16.0.1 fd00::1 0xen"


@pytest.mark.parametrize("text", [*HERE.split(), *NOWHERE.split(), *NUMBERS.split()])
def test_what_is_no_other_machine(text: str) -> None:
    assert not_a_hosts(text)


@pytest.mark.parametrize("text", OTHERS.split())
def test_what_is_another_machine(text: str) -> None:
    assert leads_somewhere(text)
    assert not_a_hosts(text) == ""


@pytest.mark.parametrize("text", NUMBERS.split())
def test_numbers_that_only_a_resolver_understands_are_no_address(text: str) -> None:
    assert not leads_somewhere(text)


def test_one_address_in_two_spellings_is_one() -> None:
    assert target("2001:DB8:0::17") == target("2001:db8::17")
    assert target("::ffff:10.0.0.1") == target("10.0.0.1")
    assert target("GPU-01.lab.example.") == target("gpu-01.lab.example")


def refused(changes: dict[str, Any]) -> bool:
    """Tell whether the schema or a check refuses the minimal spec with these values."""
    if validate(changed(changes)):
        return True
    spec = resolved(changes)
    return any(list(check.run(spec)) for check in discover())


def found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    spec = resolved(changes)
    return [(f.id, f.at) for check in discover() for f in check.run(spec) if "hosts-" in f.id]


@pytest.mark.parametrize(
    "name", ["127.0.0.[1:9]", "GPU", "all", "Ungrouped", "LocalHost", "0x7f.1"]
)
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    line = {"name": name, "address": "" if "[" in name else "192.0.2.1"}
    line = {key: value for key, value in line.items() if value}
    assert ("hosts-name-not-free", "/pools/0/hosts/0/name") in found({"/pools/0/hosts/0": line})


def test_a_host_that_is_another_ones_address_is_found() -> None:
    lines = [{"name": "a.lab.example", "address": "B.lab.example"}, "b.lab.example"]
    assert found({"/pools/0/hosts": lines}) == [("hosts-same-address", "/pools/0/hosts/1")]
    jumps = [["one.example"], ["two.example"]]
    apart = [
        {"name": f"{name}.lab.example", "address": "10.0.0.1", "ssh": {"proxyJump": jump}}
        for name, jump in zip("ab", jumps, strict=True)
    ]
    assert found({"/pools/0/hosts": apart}) == []
    assert [at for _, at in found({"/pools/0/hosts": [*apart[:1], {**apart[0], "name": "c"}]})] == [
        "/pools/0/hosts/1/address"
    ]


@pytest.mark.parametrize(
    "jump",
    [
        *(
            "-oProxyCommand=x",
            "a b",
            "a,b",
            "'a'",
            '"a"',
            "a:0",
            "a:65536",
            "a:022",
            "a@b@c",
            "$(x)",
        ),
        *("::1", "[::1", "a;b", "ops@-x", "ssh://a", "a/b", "a\n", "%h", "[a]", "@a", "a:", "-a"),
    ],
)
def test_a_jump_is_a_host_and_nothing_else(jump: str) -> None:
    assert refused({"/access/ssh": {"proxyJump": [jump]}})


@pytest.mark.parametrize(
    "ssh",
    [
        *({"port": 0}, {"port": 65536}, {"port": "22"}, {"user": "-oX"}, {"user": "a b"}),
        *({"becomeMethod": "doas"}, {"interpreter": "python3"}, {"interpreter": "/usr/../x"}),
        *({"interpreter": "/usr//bin/x"}, {"interpreter": "/bin/sh -c x"}, {"interpreter": "/x/"}),
        *({"interpreter": "/a/./b"}, {"interpreter": "/a\n"}, {"args": "-A"}, {"key": "~/.ssh/x"}),
    ],
)
@pytest.mark.parametrize("at", ["/access/ssh", "/pools/0/ssh", "/pools/0/hosts/0/ssh"])
def test_settings_have_closed_grammars_at_every_level(ssh: dict[str, Any], at: str) -> None:
    line = {"name": "gpu-01.lab.example"}
    assert not refused({"/pools/0/hosts/0": line, at: {"port": 2222}})
    assert refused({"/pools/0/hosts/0": line, at: ssh})
