# Copyright: the gpugen authors. Apache-2.0.
"""What the package managers are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# Not by the apt module, which cannot be told to stop at a bad signature and goes on with old lists.
APT_REFRESH = ["apt-get", "-qq", "update", "-o", "APT::Update::Error-Mode=any"]  # (PRE-07)
DNF_REFRESH = ["dnf", "-q", "-y", "makecache", "--refresh"]
APT_OFFERS = ["apt-cache", "madison"]
FORMAT = "%{name} | %{epoch}:%{version}-%{release}"
DNF_OFFERS = ["dnf", "-q", "-y", "repoquery", "--queryformat", FORMAT]
APT_CHANGE = [  # without a question, and files of the host's own stay
    *("apt-get", "-qq", "--yes", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0"),
    *("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"),
]


def refresh(manager: str) -> list[str]:
    """Return the command that reads the lists of all repositories anew."""
    return list(APT_REFRESH if manager == "apt" else DNF_REFRESH)


def offers_of(manager: str, names: Sequence[str]) -> list[str]:
    """Return the command that lists the versions that the repositories offer."""
    return [*(APT_OFFERS if manager == "apt" else DNF_OFFERS), *names]


def offered(answer: str) -> list[tuple[str, str]]:
    """Return names and versions that repositories offer, each pair once, in their order."""
    rows = ([cell.split() for cell in line.split("|")] for line in answer.splitlines())
    pairs = (tuple(row[0][:1] + row[1][:1]) for row in rows if len(row) > 1)
    return list(dict.fromkeys((pair[0], pair[1]) for pair in pairs if len(pair) == 2))


def candidates(policy: str) -> dict[str, str]:
    """Return the version that apt would install of each package of ``apt-cache policy``."""
    found, name = {}, ""
    for line in policy.splitlines():
        if line[:1].strip():
            name = line.rstrip().removesuffix(":")
        elif line.startswith("  Candidate: ") and not line.startswith("  Candidate: ("):
            found[name] = line.split()[1]
    return found


def apt_new(simulation: str) -> dict[str, str]:
    """Return what ``apt-get --simulate`` installs that is not there, with versions."""
    lines = (line.split() for line in simulation.splitlines() if line.startswith("Inst "))
    return {
        words[1]: words[2].strip("()")
        for words in lines
        if len(words) > 2 and words[2].startswith("(")
    }


def apt_changed(simulation: str) -> list[str]:
    """Return what ``apt-get --simulate`` installs that is there in another version."""
    lines = (line.split() for line in simulation.splitlines() if line.startswith("Inst "))
    return [words[1] for words in lines if len(words) > 2 and words[2].startswith("[")]


def apt_removed(simulation: str) -> list[str]:
    """Return what ``apt-get --simulate`` removes or purges."""
    lines = (line.split() for line in simulation.splitlines())
    return [words[1] for words in lines if len(words) > 1 and words[0] in {"Remv", "Purg"}]


def dnf_installed(results: Iterable[str]) -> dict[str, str]:
    """Return names and versions of the lines "Installed: " that the module dnf gives as results."""
    return _named(results, "Installed: ")


def dnf_new(results: Sequence[str]) -> dict[str, str]:
    """Return what a transaction of the module dnf brings; an update removes the same name."""
    gone = _named(results, "Removed: ")
    return {name: own for name, own in _named(results, "Installed: ").items() if name not in gone}


def dnf_removed(results: Sequence[str]) -> list[str]:
    """Return what a transaction of the module dnf removes for good."""
    come = _named(results, "Installed: ")
    return [name for name in _named(results, "Removed: ") if name not in come]


def dnf_gone(results: Iterable[str]) -> list[str]:
    """Return names of the lines "Removed: ", those that come in another version too."""
    return list(_named(results, "Removed: "))


def _named(results: Iterable[str], word: str) -> dict[str, str]:
    """Return names and versions of "Installed: cuda-nvcc-13-0-13.0.48-1.x86_64"."""
    own = (line.removeprefix(word).rsplit("-", 2) for line in results if line.startswith(word))
    return {parts[0]: f"{parts[1]}-{parts[2]}" for parts in own if len(parts) == 3}


def without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the names that are not among the others, each once, in their order."""
    known = set(others)
    return [name for name in dict.fromkeys(names) if name not in known]
