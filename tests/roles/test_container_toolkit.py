"""What the container toolkit's role decides, by values: hosts in many states, without Ansible."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.lab.role_texts import ROLE, wanted

toolkit: Any = load(ROLE)
view: Any = load(f"{ROLE}.view")
engine: Any = load("engine")
ROOT, DROPIN = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"
CRIO_DROPIN, DAEMON = "/etc/crio/crio.conf.d/99-nvidia.toml", "/etc/docker/daemon.json"
FOLDER, GLOB = "/etc/containerd/conf.d", "/etc/containerd/conf.d/*.toml"
RECORD = "/var/lib/misc/gpugen-nvidia-container-toolkit.json"
HOOK = "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"
TOML = "/etc/nvidia-container-runtime/config.toml"
LOCKS = "/etc/dnf/plugins/versionlock.list"
EFFECTIVE, DEFAULT = "/var/lib/k/config.toml", "/etc/rancher/k/config.yaml.d/99-nvidia.yaml"
LOADED, LINK = "/proc/driver/nvidia/version", "/dev/char/195:255"
IMAGE = "registry.lab.example/cuda:13.0.1"
MERGE = {"mode": "merge", "effective": EFFECTIVE, "dropin_version": 3}
DETECT = {"mode": "detect", "effective": EFFECTIVE}
CRIO, DOCKER = {"runtimes": ["crio"]}, {"runtimes": ["docker"]}
ALL = {"runtimes": ["containerd", "crio", "docker"]}
FORMER = {"nvidia-docker2": {"version": "2.13-1", "held": False}}
NOW = 1.8e9
OLD_DUMP = """\
version = 2
  [plugins."io.containerd.grpc.v1.cri"]
    enable_cdi = false
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          x = 1
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "other"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            SystemdCgroup = true
  [plugins."io.containerd.internal.v1.opt"]
    path = "/opt/containerd"
"""
CRIO_CONFIG = """\
[crio.runtime]
# default_runtime = "crun"
[crio.runtime.runtimes.crun]
# runtime_path = "/usr/libexec/crio/crun"
monitor_path = "/usr/libexec/crio/conmon"
# allowed_annotations = [
# \t"io.kubernetes.cri-o.Devices",
# ]
"""


def file(text: str, mtime: float = 0.0) -> dict[str, Any]:
    return {"text": text, "mtime": mtime}


def said(out: str = "", rc: int = 0, err: str = "") -> dict[str, Any]:
    return {"rc": rc, "out": out, "err": err}


def seen_of(own: Mapping[str, Any], **parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is seen on a host that is as expected, but for some parts."""
    found: dict[str, Any] = copy.deepcopy(toolkit.described(wanted(own)))
    for kind, changes in parts.items():
        found.setdefault(kind, {}).update(changes)
        found[kind] = {name: value for name, value in found[kind].items() if value != "gone"}
    return found


def decide(own: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """Decide on such a host. own: variables; more: state and check_mode, apart from them."""
    more = {name: parts.pop(name) for name in ("state", "check_mode", "no_log") if name in parts}
    found: dict[str, Any] = toolkit.decide(seen_of(own, **parts), wanted(own, **more))
    json.dumps(found)
    return found


QUIET: list[dict[str, Any]] = [
    {},
    MERGE,
    DETECT,
    {**DETECT, "default_runtime": True, "default_file": DEFAULT},
    ALL,
    {**ALL, "default_runtime": True, "enable_cdi": True, "config": {"a": "b", "C": "d"}},
    CRIO,
    DOCKER,
    {"version": "1.17.8"},
]


@pytest.mark.parametrize("own", QUIET, ids=str)
def test_a_host_that_is_as_described_has_nothing_due(own: dict[str, Any]) -> None:
    found = decide(own)
    assert (found["faults"], found["shortfalls"], found["interrupts"]) == ([], [], [])
    assert (found["due"], found["reboot_due"]) == (False, False)
    assert decide(own, host={"pkg_mgr": "dnf"})["due"] is False
    assert decide(own, state="absent")["due"] is True


@pytest.mark.parametrize("own", QUIET, ids=str)
def test_of_a_host_of_which_nothing_is_known_all_is_due(own: dict[str, Any]) -> None:
    found = toolkit.decide({}, wanted(own))
    assert (found["due"], found["faults"]) == (True, [])
    assert toolkit.decide({}, wanted(own, state="absent"))["due"] is False


@pytest.mark.parametrize("own", QUIET, ids=str)
def test_an_unchanged_host_is_asked_once(own: dict[str, Any]) -> None:
    """What is described is all that is asked."""
    variables, described = wanted(own), toolkit.described(wanted(own))
    asked = toolkit.questions(variables, described)
    first = toolkit.questions(variables, {})
    assert engine._unanswered(asked, {**described, **first, "patterns": first["packages"]}) == {}


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ({}, {"version": "1.20.1"}, "packages"),
        ({"config": {"a": "b"}}, {"config": {"a": "c"}}, "config"),
        ({}, {"default_runtime": True}, "containerd"),
        (CRIO, {**CRIO, "default_runtime": True}, "crio"),
        (DOCKER, {**DOCKER, "enable_cdi": True}, "docker"),
        ({}, MERGE, "containerd"),
        (MERGE, {}, "containerd"),
        (DOCKER, {}, "containerd"),
        ({}, ALL, "docker"),
    ],
    ids=str,
)
def test_a_plan_sees_what_other_variables_change(
    old: dict[str, Any], new: dict[str, Any], part: str
) -> None:
    found = toolkit.decide(toolkit.described(wanted(old)), wanted(new))
    assert found[part]["due"] is True
    assert found["faults"] == []


# variables, what differs from a host that is as expected, beginnings of the faults
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "former-at-work": (
        {},
        {"packages": FORMER, "commands": {"kubelet": said("x")}},
        ["CTK-04: nvidia-docker2 of a former toolkit must leave, the kubelet runs, and nothing"],
    ),
    "former-drained": (
        {"can_drain": True},
        {"packages": FORMER, "commands": {"kubelet": said("x")}},
        [],
    ),
    "rival-locks": (
        {},
        {
            "files": {
                LOCKS: file("# BEGIN gpugen other\nnvidia*\n# END gpugen other\n*nvidia*\nx\n")
            }
        },
        ["CTK-03: /etc/dnf/plugins/versionlock.list locks the toolkit too (*nvidia*); remove"],
    ),
    "block-without-end": (
        {},
        {
            "files": {
                LOCKS: file("# BEGIN gpugen nvidia_container_toolkit\nlibnvidia-container1*\n")
            }
        },
        ["CTK-03: "],
    ),
    "described-twice": (
        {},
        {"commands": {"rivals": said("/etc/cdi/a.yaml\n")}},
        ["CTK-18: /etc/cdi/a.yaml describes nvidia.com/gpu a second time, which makes all its"],
    ),
    "detect-leftover": (
        DETECT,
        {"globs": {"/usr/local/nvidia/toolkit": ["x"]}},
        ["DIST-04: /usr/local/nvidia/toolkit is left from a removed GPU Operator"],
    ),
    "detect-template": (
        DETECT,
        {"commands": {"templates": said("/a.tmpl\n/b.tmpl\n")}},
        ["DIST-03: /a.tmpl, /b.tmpl holds a table of runtime nvidia, which the distribution"],
    ),
    "detect-nameless": (
        {**DETECT, "default_runtime": True},
        {},
        ["CTK-12: the distribution takes a default runtime from a file of its own, which must"],
    ),
    "merge-version": (
        {**MERGE, "dropin_version": 0},
        {},
        ["DIST-06: merge needs the version that the distribution takes"],
    ),
    "merge-early": (
        MERGE,
        {"files": {EFFECTIVE: None}},
        [f"CTK-06: {EFFECTIVE} does not exist yet; start the distribution's worker first"],
    ),
    "no-containerd": (
        {"enable_cdi": True},
        {"commands": {"containerd": said(rc=127)}},
        ["CTK-06: containerd does not run here", "CTK-13: this containerd knows no CDI, which"],
    ),
    "version-1": (
        {},
        {"files": {ROOT: file("[plugins]\n")}},
        [f"CTK-08: {ROOT} has version 1; run 'containerd config migrate' and put its output"],
    ),
    "version-3-under-1": (
        {},
        {
            "files": {ROOT: file("version = 3\n")},
            "commands": {"containerd": said("containerd x v1.7.2")},
        },
        [
            f"CTK-07: {ROOT} has version 3, which containerd 1.x does not read; write it as version 2"
        ],
    ),
    "no-toml": ({}, {"files": {ROOT: file("x = [\n")}}, [f"CTK-10: {ROOT} is no valid TOML: "]),
    "relative": (
        {},
        {"files": {ROOT: file("version = 3\nimports = ['a.toml']\n")}},
        [f"CTK-10: {ROOT} imports a.toml by a relative path; write it absolute"],
    ),
    "unchangeable": (
        {},
        {"files": {ROOT: file("version = 3\nimports = []\nimports.a = 1\n")}},
        [f"CTK-10: {ROOT} is no valid TOML"],
    ),
    "refused": (
        {},
        {"commands": {"less_line": said(rc=1, err=" bad\n")}},
        [f"CTK-08: containerd refuses {ROOT}: bad"],
    ),
    "crio-is-missing": (
        CRIO,
        {"commands": {"crio": said(rc=127)}},
        ["CTK-06: crio does not run here; install CRI-O first"],
    ),
    "crio-refuses": (
        CRIO,
        {"commands": {"crio_config": said(rc=1, err="x" * 700)}},
        [f"CTK-14: CRI-O refuses its configuration: {'x' * 600}"],
    ),
    "docker-is-missing": (
        DOCKER,
        {"commands": {"dockerd": said(rc=127)}},
        ["CTK-06: dockerd does not run here; install docker first"],
    ),
    "docker-list": (DOCKER, {"files": {DAEMON: file("[1]")}}, ["CTK-15: /etc/docker/daemon.json"]),
    "docker-text": (DOCKER, {"files": {DAEMON: file("{x}")}}, ["CTK-15: /etc/docker/daemon.json"]),
}


@pytest.mark.parametrize("state", FAULTS)
def test_a_host_is_refused_for_the_right_reason(state: str) -> None:
    """CTK-03, 04, 06, 07, 08, 10, 12, 13, 14, 15, 18, DIST-03, 04, 06: all at once."""
    own, parts, expected = FAULTS[state]
    faults = decide(own, **parts)["faults"]
    assert len(faults) == len(expected), faults
    for fault, start in zip(faults, expected, strict=True):
        assert fault.startswith(start), fault


INSTALLED = {"libnvidia-container1": {"version": "1.19.0-1", "held": True}}
PATH_UNIT, ONCE_UNIT = "nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"
DOWN = {"ActiveState": "inactive", "LoadState": "loaded", "UnitFileState": "enabled"}
# variables, what differs from a host that is as expected, shortfalls
SHORTFALLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "version": (
        {},
        {"packages": INSTALLED},
        ["CTK-01: libnvidia-container1 not installed at 1.20.0", "CTK-03: the packages are not"],
    ),
    "unheld": (
        {},
        {"packages": {"libnvidia-container1": {"version": "1.20.0-1", "held": False}}},
        ["CTK-03: the packages are not pinned to 1.20.0; run the play"],
    ),
    "unlocked": ({}, {"host": {"pkg_mgr": "dnf"}, "files": {LOCKS: None}}, ["CTK-03: "]),
    "former": ({}, {"packages": FORMER}, ["CTK-04: nvidia-docker2 of a former toolkit is there;"]),
    "hook": ({}, {"files": {HOOK: file("{}")}}, [f"CTK-04: {HOOK} of a former toolkit is there"]),
    "config": (
        {"config": {"a": "b"}},
        {"files": {TOML: file("x")}},
        [f"CTK-16: {TOML} says something else (nvidia_container_toolkit_config)"],
    ),
    "mode": (
        {},
        {"files": {TOML: file('[nvidia-container-runtime]\nmode = "cdi"\n')}},
        ["CTK-16: "],
    ),
    "description": (
        {},
        {"globs": {LOADED: ["x"]}},
        ["CTK-17: /var/run/cdi/nvidia.yaml is missing, or older than the toolkit; see"],
    ),
    "links": (
        {},
        {"globs": {LOADED: ["x"], LINK: []}, "commands": {"described": said("x")}},
        ["DRV-20: links of the GPUs in /dev/char are missing; a daemon-reload would take GPUs"],
    ),
    "import": (
        {},
        {"files": {ROOT: file("version = 3\n")}},
        ["CTK-09: our drop-in says something"],
    ),
    "drop-in": (
        {},
        {"files": {DROPIN: file("x")}},
        ["CTK-09: our drop-in says something else; run"],
    ),
    "lost": (
        {},
        {"commands": {"less_line": said("version = 3\n[a]\nb = 1\n")}},
        ["CTK-09: 1 settings lost, such as a"],
    ),
    "unknown": (
        {},
        {"commands": {"dump": said("version = 3\n", err="warn")}},
        ["CTK-09: the runtime is not in the effective configuration warn"],
    ),
    "sick": (
        {},
        {"commands": {"plugins": said("io.containerd.cri.v1 runtime - error\n")}},
        ["CTK-09: containerd's CRI plugins are not all ok; see 'ctr plugins ls'"],
    ),
    "down": (
        {},
        {"units": {"containerd.service": DOWN}},
        ["CTK-09: containerd does not run, or is older than what it should have read (CTK-19)"],
    ),
    "older": (
        {},
        {"files": {ROOT: file(f'imports = ["{GLOB}"]\nversion = 3\n', NOW)}},
        ["CTK-09: containerd does not run, or is older"],
    ),
    "merge": (
        MERGE,
        {"files": {EFFECTIVE: file("version = 3\n")}},
        ["CTK-09: containerd does not run with our runtime as it is written; run the play"],
    ),
    "detect-older": (DETECT, {"commands": {"binary": said("1800000000\n")}}, ["CTK-09: "]),
    "crio-down": ({**CRIO}, {"units": {"crio.service": DOWN}}, ["CTK-14: CRI-O does not run with"]),
    "crio-unknown": (CRIO, {"commands": {"crio_config": said(CRIO_CONFIG)}}, ["CTK-16", "CTK-14"]),
    "docker-older": (
        DOCKER,
        {"files": {DAEMON: file(json.dumps({"default-runtime": "nvidia"}), NOW)}},
        ["CTK-15: docker does not run with the runtime nvidia as it is written; run the play"],
    ),
    "docker-unknown": (DOCKER, {"commands": {"docker_info": said("{}")}}, ["CTK-15: "]),
    "docker-silent": (DOCKER, {"commands": {"docker_info": said(rc=127)}}, []),
    "docker-refuses": (DOCKER, {"commands": {"docker_info": said(rc=1, err="no")}}, ["CTK-15: "]),
}


@pytest.mark.parametrize("state", SHORTFALLS)
def test_what_differs_is_due_and_told(state: str) -> None:
    """CTK-01, 03, 04, 09, 14 to 17, 19, DRV-20."""
    own, parts, expected = SHORTFALLS[state]
    found = decide(own, **parts)
    assert len(found["shortfalls"]) == len(expected), found["shortfalls"]
    for text, start in zip(found["shortfalls"], expected, strict=True):
        assert text.startswith(start), text
    assert found["due"] is bool(expected)


@pytest.mark.parametrize(
    "units",
    [{PATH_UNIT: DOWN}, {ONCE_UNIT: {**DOWN, "UnitFileState": "disabled"}}, {PATH_UNIT: {}}],
    ids=str,
)
def test_units_that_describe_the_gpus_are_enabled_and_run(units: dict[str, Any]) -> None:
    """CTK-17."""
    found = decide({}, units=units)["devices"]
    assert found["due"] is True
    assert [unit["name"] for unit in found["units"]] == [PATH_UNIT, ONCE_UNIT]
    assert found["links"] == []
    assert decide({"version": "1.17.8"}, units=units)["devices"]["due"] is False
    links = decide({}, globs={LOADED: ["x"], LINK: []})["devices"]["links"]
    assert links[:3] == ["nvidia-ctk", "system", "create-dev-char-symlinks"]


def test_files_say_who_wrote_them() -> None:
    """GEN-12."""
    found = decide({**ALL, **DETECT, "default_runtime": True, "default_file": DEFAULT})
    texts = [found["texts"]["default"], found["crio"]["text"], found["devices"]["rule"]]
    texts += [found["packages"]["pin"], decide({})["texts"]["dropin"]]
    for text in texts:
        assert "Ansible managed, generated by gpugen" in text.splitlines()[0]


def test_what_interrupts_a_host_is_told() -> None:
    """CTK-04, CTK-19."""
    written = decide(DOCKER)["texts"]["daemon"]
    parts: dict[str, Any] = {"files": {DAEMON: file(written, NOW)}, "packages": FORMER}
    words = ["docker is restarted, which ends its containers (CTK-19)"]
    leaving = ["nvidia-docker2 of a former toolkit leaves (CTK-04)"]
    assert decide(DOCKER, **parts)["interrupts"] == words + leaving
    live = {DAEMON: file(json.dumps({**json.loads(written), "live-restore": True}), NOW)}
    assert decide(DOCKER, files=live)["interrupts"] == []


def test_texts_are_told_only_where_the_result_is_hidden() -> None:
    """Files may hold logins of registries."""
    login = "version = 3\n[x]\npassword = 'open-sesame'\n"
    for state in ("present", "absent"):
        open_ = decide({}, files={ROOT: file(login)}, state=state, no_log=False)
        assert open_["texts"] == {}
        assert "open-sesame" not in json.dumps(open_)
        assert "open-sesame" in json.dumps(decide({}, files={ROOT: file(login)}, state=state))


OFFER = " {} | 1.20.0-1 | x\n"
OFFERS = "".join(map(OFFER.format, view.PACKAGES))
NONE: dict[str, Any] = {name: "gone" for name in view.PACKAGES}


def ask(seen: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the commands that are asked in front of a transaction."""
    found = toolkit.questions(wanted({"__asks_repositories": True}, **more), seen)
    own: dict[str, Any] = found["commands"]
    return {name: own[name] for name in ("offers", "fresh", "exchange") if name in own}


def test_repositories_are_asked_when_a_transaction_is_due() -> None:
    """CTK-02: not at preflight, where there may be no repositories yet."""
    fresh = seen_of({}, packages=NONE)
    assert ask({}) == {}
    assert ask(seen_of({})) == {}
    assert "offers" not in toolkit.questions(wanted({}), fresh)["commands"]
    assert list(ask(fresh)) == ["offers"]
    assert ask(fresh)["offers"]["argv"][:2] == ["apt-cache", "madison"]
    assert list(ask(seen_of({}, packages={**NONE, **FORMER}))) == ["offers"]
    offered = {"offers": said(OFFERS)}
    former = seen_of({}, packages={**NONE, **FORMER}, commands=offered)
    assert list(ask(former)) == ["offers", "exchange"]
    assert ask(former)["exchange"]["argv"][-1] == "nvidia-docker2-"
    assert list(ask(seen_of({}, packages=FORMER))) == ["exchange"]


def test_dnf_is_asked_again_with_fresh_lists() -> None:
    """CTK-02."""
    dnf = {"pkg_mgr": "dnf"}
    bare = seen_of({}, packages=NONE, host=dnf, commands={"offers": said()})
    assert ask(bare)["fresh"]["argv"][-1] == "--refresh"
    assert list(ask(bare, check_mode=True)) == ["offers"]
    answer = said("".join(f"{name} | 0:1.20.0-1\n" for name in view.PACKAGES))
    assert list(ask(seen_of({}, packages=NONE, host=dnf, commands={"offers": answer}))) == [
        "offers"
    ]
    former = seen_of({}, packages=FORMER, host=dnf)
    assert ask(former)["exchange"]["argv"][-2:] == ["--whatrequires", "nvidia-docker2"]
    again = {"offers": said(), "fresh": answer}
    part = decide({}, packages=NONE, host=dnf, commands=again)["packages"]
    assert (part["refusal"], part["refresh"]) == ("", [])
    assert part["transaction"][:4] == ["dnf", "-q", "-y", "install"]


# answers -> how the refusal begins
REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "offered": (NONE, {"offers": said(OFFERS)}, ""),
    "older": (
        NONE,
        {"offers": said(OFFERS.replace("1.20.0", "1.19.0"))},
        "CTK-02: the configured repositories do not offer 1.20.0 of nvidia-container-toolkit, nvidi",
    ),
    "nothing": (NONE, {"offers": said()}, "CTK-02: the configured repositories do not offer"),
    "broken": (NONE, {"offers": said(rc=1, err="no network\n")}, "CTK-02: no network"),
    "former": (FORMER, {"exchange": said("Remv nvidia-docker2 [1]\nInst x (1)\n")}, ""),
    "others": (
        FORMER,
        {"exchange": said("Remv nvidia-docker2 [1]\nRemv kata [2]\n")},
        "CTK-04: nvidia-docker2 would take kata along; remove what needs it first",
    ),
    "held": (FORMER, {"exchange": said("held", rc=100)}, "CTK-04: held"),
}


@pytest.mark.parametrize("state", REFUSALS)
def test_a_transaction_is_refused_before_anything_is_written(state: str) -> None:
    """CTK-02, CTK-04."""
    installed, answers, start = REFUSALS[state]
    found = decide({}, packages=installed, commands=answers)["packages"]
    assert found["refusal"].startswith(start)
    assert bool(found["refusal"]) is bool(start)
    assert bool(found["refresh"]) is (state in {"older", "nothing", "broken"})
    checked = decide({}, packages=installed, commands=answers, check_mode=True)["packages"]
    assert bool(checked["refusal"]) is (state in {"others", "held"})
    assert checked["is_announced"] is (installed == NONE)


def test_one_transaction_installs_or_exchanges() -> None:
    """CTK-01, CTK-04."""
    plain = decide({}, packages=NONE)["packages"]
    assert plain["transaction"][-4:] == [f"{name}=1.20.0-*" for name in view.PACKAGES]
    assert (plain["replacement"], plain["exchange"]) == ([], "")
    former = decide({}, packages=FORMER)["packages"]
    assert (former["transaction"], former["exchange"]) == ([], "")
    assert former["replacement"][-5:-1] == [f"{name}=1.20.0-*" for name in view.PACKAGES]
    dnf = decide({}, packages=FORMER, host={"pkg_mgr": "dnf"})["packages"]
    assert (dnf["transaction"], dnf["replacement"]) == ([], [])
    assert dnf["exchange"].startswith(
        "remove nvidia-docker2\ninstall nvidia-container-toolkit-0:1."
    )
    for stated, is_lean in ((False, True), (None, False), (True, False)):
        own = {**wanted({}), "gpu_prerequisites_install_recommends": stated}
        part = toolkit.decide(seen_of({}, packages=NONE), own)["packages"]
        assert ("--no-install-recommends" in part["transaction"]) is is_lean
    unheld = {"libnvidia-container1": {"version": "1.20.0-1", "held": False}}
    assert decide({}, packages=unheld)["packages"]["unheld"] == ["libnvidia-container1"]


def test_what_leaves_is_recorded() -> None:
    """CTK-04, CTK-21."""
    found = decide({}, packages=FORMER, files={HOOK: file("{}"), RECORD: None})
    assert found["record"]["due"] is True
    kept = json.loads(found["texts"]["record_with_former"])
    assert kept["removed"] == {"packages": FORMER, "hooks": {HOOK: file("{}")}}
    assert {**json.loads(found["texts"]["record"]), "removed": kept["removed"]} == kept
    earlier = {**kept, "removed": {"packages": {"x": 1}, "hooks": {}}}
    again = decide({}, packages=FORMER, files={RECORD: file(json.dumps(earlier))})
    assert json.loads(again["texts"]["record_with_former"])["removed"]["packages"] == {
        **FORMER,
        "x": 1,
    }


def test_the_drop_in_of_containerd_1_is_the_whole_section() -> None:
    """CTK-08, CTK-11, CTK-13: the node's own, less a runtime of our name."""
    commands = {"containerd": said("containerd github.com/x 1.6.20 y"), "less_line": said(OLD_DUMP)}
    files = {ROOT: file("version = 2\n")}
    own = {"enable_cdi": True, "default_runtime": True}
    found = decide(own, commands=commands, files=files)
    text = found["texts"]["dropin"]
    assert "    enable_cdi = true\n" in text
    assert '      default_runtime_name = "nvidia"\n' in text
    assert "x = 1" not in text
    assert '"other"' not in text
    assert "internal.v1.opt" not in text
    assert text.endswith("  SystemdCgroup = true\n")
    assert found["containerd"]["dropin_mode"] == "0600"
    assert found["containerd"]["is_diff_shown"] is False
    plain = decide({}, commands=commands, files=files)["texts"]["dropin"]
    assert "    enable_cdi = false\n" in plain
    assert '      default_runtime_name = "runc"\n' in plain


def test_containerd_is_asked_again_where_our_import_is_no_line_of_its_own() -> None:
    """CTK-08: files of others beside ours stand in for the glob."""
    beside = {GLOB: [f"{FOLDER}/10-other.toml", DROPIN]}
    seen = seen_of({}, globs=beside)
    asked = toolkit.questions(wanted({}), seen)["commands"]["bare"]
    assert asked["stdin"].startswith(f'imports = ["{FOLDER}/10-other.toml"]\n')
    told = decide({}, globs=beside, commands={"bare": said("version = 3\n[a]\nb = 1\n")})
    assert told["containerd"]["loss"] == "1 settings lost, such as a"
    assert "bare" not in toolkit.questions(wanted({}), seen_of({}))["commands"]
    assert "bare" in toolkit.questions(wanted({}), seen_of({}, files={ROOT: None}))["commands"]


def test_a_new_main_file_declares_the_version_that_containerd_reads() -> None:
    """CTK-07."""
    files = {ROOT: None}
    assert decide({}, files=files)["texts"]["root"].endswith("version = 3\n")
    commands = {"containerd": said("containerd x v1.7.2")}
    assert decide({}, files=files, commands=commands)["texts"]["root"].endswith("version = 2\n")


def test_check_mode_says_nothing_about_what_follows_a_change() -> None:
    """GEN-05."""
    assert decide({}, files={DROPIN: None}, check_mode=True)["containerd"]["is_ahead"] is True
    assert decide({}, check_mode=True)["containerd"]["is_ahead"] is False
    ahead = decide({"config": {"a": "b"}}, packages=NONE, files={TOML: None}, check_mode=True)
    assert (ahead["config"]["due"], ahead["devices"]["due"]) == (False, False)
    assert ahead["packages"]["unheld"] == []


def test_a_distribution_that_detects_the_toolkit_is_restarted() -> None:
    """CTK-12, CTK-19, DIST-04."""
    own = {**DETECT, "default_file": DEFAULT}
    gone = decide(own, files={EFFECTIVE: file(""), DEFAULT: file("x")})["containerd"]
    assert (gone["is_restart_due"], gone["is_default_due"], gone["is_awaited"]) == (True,) * 3
    down = decide(own, files={EFFECTIVE: file("")}, units={"containerd.service": DOWN})
    assert (down["containerd"]["due"], down["containerd"]["service"]) == (False, "")
    assert down["containerd"]["unit"] == "containerd.service"
    assert (
        decide({"services": []}, units={"containerd.service": "gone"})["containerd"]["unit"] == ""
    )


def test_cri_o_runs_ours_like_its_default_runtime() -> None:
    """CTK-12, CTK-14, CTK-16."""
    found = decide(CRIO, commands={"crio_config": said(CRIO_CONFIG)})
    text = found["crio"]["text"]
    assert 'monitor_path = "/usr/libexec/crio/conmon"\n' in text
    assert text.endswith('allowed_annotations = ["io.kubernetes.cri-o.Devices"]\n')
    assert "default_runtime" not in text
    assert found["crio"]["complaint"].startswith("CTK-14: our runtime is not in CRI-O's merged")
    runtimes = "--set=nvidia-container-runtime.runtimes=/usr/libexec/crio/crun:runc:crun"
    assert runtimes in found["config"]["argv"]
    known = {TOML: file('[nvidia-container-runtime]\nruntimes = ["/usr/libexec/crio/crun"]\n')}
    answer = {"crio_config": said(CRIO_CONFIG)}
    assert runtimes not in decide(CRIO, commands=answer, files=known)["config"]["argv"]
    ours = CRIO_CONFIG.replace('# default_runtime = "crun"', 'default_runtime = "nvidia"')
    default = decide({**CRIO, "default_runtime": True}, commands={"crio_config": said(ours)})
    assert '[crio.runtime]\ndefault_runtime = "nvidia"\n' in default["crio"]["text"]
    assert "conmon" in default["crio"]["text"]
    number = said("[crio.runtime.runtimes]\nnvidia = 1\n")
    assert decide(CRIO, commands={"crio_config": number})["crio"]["complaint"] != ""
    odd = decide(CRIO, commands={"crio_config": said("crio = 1\n")})
    assert odd["crio"]["due"] is True
    empty = decide(CRIO, commands={"crio_config": said('[crio.runtime]\nruntimes = "x"\n')})
    assert empty["crio"]["due"] is True


@pytest.mark.parametrize(
    ("version", "command"),
    [
        ("Docker version 20.10.24+dfsg1, build 2", "/py -m json.tool %s"),
        ("Docker version 27.1.0, build 2", "dockerd --validate --config-file=%s"),
        ("", "/py -m json.tool %s"),
        ("Docker version", "/py -m json.tool %s"),
    ],
)
def test_daemon_json_is_validated_by_what_can(version: str, command: str) -> None:
    """CTK-15."""
    found = decide(DOCKER, commands={"dockerd": said(version)}, host={"python": "/py"})
    assert found["docker"]["validation"] == command


def test_a_file_can_be_given_a_form_that_its_runtime_refuses() -> None:
    """GEN-11: so that booted hosts show what is taken back."""
    assert decide({**DOCKER, "__docker_new": "x"})["texts"]["daemon"] == "x"
    assert "\n[a]\n" in decide({**CRIO, "__crio_table": "[a]"})["crio"]["text"]
    own = {"__version_declared": 4, "__is_full": True}
    assert "version = 4\n" in decide(own)["texts"]["dropin"]


def test_docker_that_does_not_name_our_runtime_is_complained_about() -> None:
    """CTK-15."""
    found = decide(DOCKER, commands={"docker_info": said(rc=1, err="refused")})["docker"]
    assert found["complaint"] == "CTK-15: docker does not name our runtime refused"
    assert (found["is_restart_due"], found["is_written"], found["due"]) == (True, True, True)


SMOKE = {"smoke_test": IMAGE, "runtimes": ["containerd", "docker"]}


def test_a_container_is_started_where_the_image_is() -> None:
    """CTK-20."""
    assert decide({})["smoke"] == {}
    asked = toolkit.questions(wanted({**SMOKE, "__smokes": True}), {})["commands"]
    assert f'name=="{IMAGE}"' in asked["image of containerd"]["argv"]
    assert asked["image of docker"]["argv"][-1] == IMAGE
    only = toolkit.questions(wanted({"smoke_test": IMAGE, "__smokes": True}), {})["commands"]
    assert "image of docker" not in only
    docker = toolkit.questions(wanted({**DOCKER, "smoke_test": IMAGE, "__smokes": True}), {})
    assert "image of containerd" not in docker["commands"]
    unpinned = wanted({"smoke_test": "cuda", "__smokes": True})
    assert "image of containerd" not in toolkit.questions(unpinned, {})["commands"]
    assert (
        "image of containerd" not in toolkit.questions(wanted({"__smokes": True}), {})["commands"]
    )
    here = decide(SMOKE, commands={"image of containerd": said("x")})["smoke"]
    ctr, docker_test = here["tests"]
    assert (here["refusal"], ctr["by"], ctr["is_there"]) == ("", "containerd", True)
    assert "k8s.io" in ctr["run"]
    assert "gpugen" in decide(SMOKE)["smoke"]["tests"][0]["run"]
    assert (docker_test["by"], docker_test["is_there"]) == ("docker", False)
    mounts = {**SMOKE, "config": {"accept-nvidia-visible-devices-as-volume-mounts": "true"}}
    by_mounts = decide(mounts)["smoke"]["tests"]
    assert "--mount" in by_mounts[0]["run"]
    assert "--volume" in by_mounts[1]["run"]


@pytest.mark.parametrize(
    ("own", "commands", "words"),
    [
        (
            {"smoke_test": "nvidia/cuda:13"},
            {},
            "CTK-20: nvidia/cuda:13 names no registry, or neither",
        ),
        (
            {**CRIO, "smoke_test": IMAGE},
            {},
            "CTK-20: CRI-O starts containers for the kubelet alone",
        ),
        (
            {"smoke_test": IMAGE},
            {"image of containerd": said(rc=1, err="no socket")},
            "CTK-20: containerd does not list its images (1): no socket",
        ),
    ],
)
def test_a_container_that_cannot_be_started_is_refused(
    own: dict[str, Any], commands: dict[str, Any], words: str
) -> None:
    """CTK-20."""
    assert decide(own, commands=commands)["smoke"]["refusal"].startswith(words)


DONE = {"rc": 0, "stdout": "GPU 0: A100\nGPU 1: A100\n", "stderr": ""}


@pytest.mark.parametrize(
    ("pull", "run", "expected", "words"),
    [
        ({"skipped": True}, DONE, 0, ""),
        ({"rc": 0}, DONE, 2, ""),
        ({"rc": 0}, DONE, 4, "shows 2 GPUs, expected 4 (nvidia_container_toolkit_expected_gpus)"),
        ({}, {**DONE, "stdout": "none"}, 0, "shows 0 GPUs, expected any"),
        ({}, {"rc": 124}, 0, "ran longer than 900 s. It said: nothing"),
        ({}, {"rc": 1, "stdout": "a ", "stderr": "b"}, 0, "did not run (1). It said: a b"),
        (
            {"rc": 1, "stderr": "x"},
            {"skipped": True},
            0,
            "cannot be had: the image was not pulled (1)",
        ),
    ],
)
def test_all_gpus_are_required_in_the_container(
    pull: dict[str, Any], run: dict[str, Any], expected: int, words: str
) -> None:
    """CTK-20."""
    result = {"by": "containerd", "pull": pull, "run": run}
    own = {"smoke_test": IMAGE, "expected_gpus": expected, "__smoke_said": result}
    found = "; ".join(decide(own)["shortfalls"])
    assert words in found
    assert found.startswith(f"CTK-20: a container of {IMAGE}, started by containerd, ") or not words


def removal(own: Mapping[str, Any], recorded: Any = None, **parts: Any) -> dict[str, Any]:
    """Decide the removal from a host. recorded: changes of the record of a fresh host."""
    fresh = {"packages": {}, "folder": False, "root": {}, "imported": False, "docker": {}}
    text = f'imports = ["{GLOB}"]\nversion = 3\n'
    record = {**fresh, "root_written": text, **(recorded or {})}
    files = {RECORD: file(json.dumps(record)), **parts.pop("files", {})}
    return decide(own, files=files, state="absent", **parts)


def test_what_is_ours_leaves_and_nothing_else() -> None:
    """CTK-21."""
    held = {"libnvidia-container1": {"version": "1.19-1", "held": False}}
    found = removal({}, {"packages": held})["removal"]
    assert found["packages"] == [name for name in view.PACKAGES if name not in held]
    assert found["release"] == ["apt-mark", "unhold", "libnvidia-container1"]
    assert found["containerd"] == {
        "files": [DROPIN],
        "folder": FOLDER,
        "is_root_leaving": True,
        "is_root_restored": False,
        "is_restart_due": True,
        "is_detection_due": False,
    }
    assert found["devices"]["units"] == [PATH_UNIT, ONCE_UNIT]
    assert len(found["devices"]["files"]) == 2
    forgotten = decide({}, files={RECORD: None}, state="absent")["removal"]
    assert (forgotten["packages"], forgotten["record"]) == ([], "")
    assert forgotten["devices"]["units"] == []
    dnf = removal({}, host={"pkg_mgr": "dnf"})["removal"]
    assert len(dnf["locks"]) == 4
    assert dnf["pin"] == []


def test_the_main_file_comes_back_byte_by_byte() -> None:
    """CTK-21: as it was where nobody edited it, else less our import."""
    before = {"root": file("# mine\nversion = 3\n"), "folder": True}
    found = removal({}, before)
    assert found["removal"]["containerd"]["is_root_restored"] is True
    assert found["texts"]["root"] == "# mine\nversion = 3\n"
    assert found["removal"]["containerd"]["folder"] == ""
    edited = removal({}, before, files={ROOT: file(f'imports = ["{GLOB}"]\nversion = 3\nx = 1\n')})
    assert edited["texts"]["root"] == "version = 3\nx = 1\n"
    kept = removal({}, {"imported": True})["removal"]["containerd"]
    assert (kept["is_root_leaving"], kept["is_root_restored"]) == (False, False)
    others = {GLOB: [f"{FOLDER}/10-other.toml"], f"{FOLDER}/*": [f"{FOLDER}/10-other.toml", DROPIN]}
    beside = removal({}, globs=others)["removal"]["containerd"]
    assert (beside["folder"], beside["is_root_restored"], beside["is_root_leaving"]) == (
        "",
        False,
        False,
    )
    alone = file(f'imports = ["{DROPIN}"]\nversion = 3\n')
    ours = removal({}, files={ROOT: alone}, globs=others)["removal"]["containerd"]
    assert ours["is_root_restored"] is True


def test_distributions_drop_the_runtime() -> None:
    """CTK-21, DIST-04."""
    own = {**DETECT, "default_file": DEFAULT, "default_runtime": True}
    found = removal(own)["removal"]["containerd"]
    assert (found["files"], found["is_detection_due"]) == ([DEFAULT], True)
    assert found["is_restart_due"] is False
    down = removal(own, units={"containerd.service": DOWN})["removal"]["containerd"]
    assert down["is_detection_due"] is False
    assert removal(MERGE)["removal"]["containerd"]["files"] == [DROPIN]
    assert removal(CRIO)["removal"]["crio"] is True
    assert removal(CRIO)["removal"]["containerd"]["files"] == []


def test_daemon_json_comes_back() -> None:
    """CTK-15, CTK-21."""
    found = removal(DOCKER)
    assert (found["removal"]["docker"], found["removal"]["is_daemon_leaving"]) == (True, True)
    text = '{"features": {"cdi": false}, "default-runtime": "nvidia"}'
    own = {**DOCKER, "default_runtime": True}
    recorded = {"docker": file('{ "x": 1 }')}
    written = json.dumps({"x": 1, **json.loads(decide(own)["texts"]["daemon"])})
    back = removal(own, recorded, files={DAEMON: file(written)})
    assert back["texts"]["daemon"] == '{ "x": 1 }'
    foreign = removal(own, {"docker": file(text)}, files={DAEMON: file(written)})
    assert json.loads(foreign["texts"]["daemon"]) == {"x": 1}
    kept = file('{"features": {"cdi": true}, "runtimes": {"nvidia": 1}}')
    odd = removal(DOCKER, {"docker": file('{"features": {"cdi": true}}')}, files={DAEMON: kept})
    assert odd["removal"]["docker"] is False
    assert odd["texts"]["daemon"] == '{"features": {"cdi": true}}'
    none = removal(DOCKER, files={DAEMON: file('{"runtimes": [], "default-runtime": "kata"}')})
    assert none["removal"]["docker"] is False
    assert json.loads(none["texts"]["daemon"]) == {"default-runtime": "kata"}


@pytest.mark.parametrize(
    ("version", "found"), [("1.20.0", (1, 20, 0)), ("1.18.0~rc.1", (1, 18, 0)), ("x", ())]
)
def test_numbers_of_a_version(version: str, found: tuple[int, ...]) -> None:
    assert view.numbers(version) == found
