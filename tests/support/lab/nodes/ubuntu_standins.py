"""Stand-ins of the vendor's Ubuntu packages: a suffix in names up to 580, none from 590 on.

Parts demand each other exactly; packages of two branches bring the same files, so that they
exclude each other by virtual packages. Sources: install.sh of NVIDIA/gpu-driver-container
(ubuntu24.04, ubuntu26.04), lists of Ubuntu's archive, the catalogue. Which package from 590 on
brings nvidia-smi is not known; here it is libnvidia-compute.
"""

from __future__ import annotations

from collections.abc import Iterator

from support.lab.nodes.deb import Package
from support.lab.nodes.standins import DAEMONS, RELOAD, text

VERSIONS = (
    *("535.309.01", "550.163.01", "570.195.03", "570.211.01", "575.64.05"),
    *("580.105.08", "580.178.04", "590.48.01", "595.58.03", "595.91.07"),
)
UNSUFFIXED, METAS, FABRIC, PINNED = 590, 560, 580, 570  # branches from which names change
PLAIN_LIBRARIES = ("cfg1", "common", "decode", "encode", "extra", "fbc1")


def packages() -> Iterator[Package]:
    """Yield what the vendor's repository for Ubuntu offers beside what all of its have."""
    for name in ("xserver-xorg-core", "nvidia-prime", "screen-resolution-extra", "nvidia-settings"):
        yield Package(name, "1:1-1")
    for version in VERSIONS:
        yield from Driver(version).packages()
    for branch in sorted({int(version[:3]) for version in VERSIONS}):
        if branch >= PINNED:
            yield _pinning(branch)


class Driver:
    """The packages of one version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.branch = int(version[:3])
        self.full = f"{version}-{'1ubuntu1' if self.branch >= UNSUFFIXED else '0ubuntu1'}"

    def name(self, stem: str, flavour: str = "") -> str:
        """Return a package's name with this branch's suffix, if it has one."""
        suffix = "" if self.branch >= UNSUFFIXED else f"-{self.branch}"
        return f"{stem}{suffix}{flavour}"

    def packages(self) -> Iterator[Package]:
        """Yield all of them."""
        yield from self._desktop()
        yield from self._headless()
        yield from self._libraries()
        yield from self._fabric()

    def _package(
        self, name: str, *needs: str, alone: str = "", recommends: str = "", **more: object
    ) -> Package:
        """Return a package. needs: at this version; alone: what one branch alone may provide."""
        exact = ", ".join(f"{need} (= {self.full})" if " " not in need else need for need in needs)
        others = dict.fromkeys(("Conflicts", "Replaces", "Provides"), alone) if alone else {}
        weak = {"Recommends": recommends} if recommends else {}
        return Package(name, self.full, exact, fields={**others, **weak}, **more)  # type: ignore[arg-type]

    def _desktop(self) -> Iterator[Package]:
        for flavour, meta in (("-open", "nvidia-open"), ("", "cuda-drivers")):
            driver = self.name("nvidia-driver", flavour)
            if self.branch >= METAS or not flavour:
                yield self._package(self.name(meta), driver)
            yield self._package(
                driver,
                self.name("nvidia-dkms", flavour),
                *map(self.name, ("libnvidia-compute", "libnvidia-gl", "libnvidia-decode")),
                *map(self.name, ("libnvidia-encode", "libnvidia-extra", "libnvidia-fbc1")),
                *map(self.name, ("libnvidia-cfg1", "xserver-xorg-video-nvidia")),
                *self._tools(),
                recommends="nvidia-settings, nvidia-prime",
            )
        video = self.name("xserver-xorg-video-nvidia")
        yield self._package(
            video, "xserver-xorg-core (>= 1:1)", recommends="screen-resolution-extra"
        )

    def _tools(self) -> tuple[str, ...]:
        """Return what brings nvidia-smi and the persistence daemon."""
        if self.branch >= UNSUFFIXED:
            return ("nvidia-persistenced",)
        return (self.name("nvidia-utils"), self.name("nvidia-compute-utils"))

    def _headless(self) -> Iterator[Package]:
        for flavour in ("-open", ""):
            modules = self.name("nvidia-dkms", flavour)
            bare = self.name("nvidia-headless-no-dkms", flavour)
            yield self._package(self.name("nvidia-headless", flavour), bare, modules)
            needs = map(self.name, ("libnvidia-cfg1", "libnvidia-compute", "nvidia-kernel-common"))
            yield self._package(bare, *needs, self._tools()[-1])
            yield self._package(
                modules,
                "dkms (>= 3)",
                self._firmware(),
                self.name("nvidia-kernel-common"),
                alone="nvidia-dkms-kernel",
                files={
                    f"usr/src/nvidia-{self.version}/flavour": (
                        "open\n" if flavour else "proprietary\n"
                    ),
                    "usr/lib/fake-nvidia/load": text("load"),
                },
                scripts={"postinst": "dkms autoinstall", "prerm": f"dkms remove {self.version}"},
            )
        yield self._package(self._firmware())
        yield self._package(self.name("nvidia-kernel-common"), alone="nvidia-kernel-common-any")

    def _firmware(self) -> str:
        """Return the firmware's name, which holds the whole version up to 580."""
        if self.branch >= UNSUFFIXED:
            return "nvidia-firmware"
        return f"nvidia-firmware-{self.branch}-{self.version}"

    def _libraries(self) -> Iterator[Package]:
        smi = {"usr/bin/nvidia-smi": text("nvidia-smi", self.version)}
        daemon = {
            "usr/bin/nvidia-persistenced": text("nvidia-persistenced"),
            f"{DAEMONS}/nvidia-persistenced.service": text("nvidia-persistenced.service"),
        }
        for part in PLAIN_LIBRARIES:
            yield self._package(self.name(f"libnvidia-{part}"), alone=f"libnvidia-{part}-any")
        gl = self.name("libnvidia-gl")
        yield self._package(gl, self.name("libnvidia-common"), alone="libnvidia-gl-any")
        compute = self.name("libnvidia-compute")
        if self.branch >= UNSUFFIXED:
            yield self._package(compute, alone="libnvidia-compute-any", files=smi)
            yield self._package(
                "nvidia-persistenced",
                alone="nvidia-compute-utils-any",
                files=daemon,
                scripts=RELOAD,
            )
            return
        yield self._package(compute, alone="libnvidia-compute-any")
        yield self._package(self.name("nvidia-utils"), alone="nvidia-utils-any", files=smi)
        yield self._package(
            self.name("nvidia-compute-utils"),
            alone="nvidia-compute-utils-any",
            files=daemon,
            scripts=RELOAD,
        )

    def _fabric(self) -> Iterator[Package]:
        suffix = "" if self.branch >= FABRIC else f"-{self.branch}"
        yield Package(
            f"nvidia-fabricmanager{suffix}",
            f"{self.version}-1",
            files={
                "usr/bin/nv-fabricmanager": text("nvidia-fabricmanager", self.version),
                f"{DAEMONS}/nvidia-fabricmanager.service": text("nvidia-fabricmanager.service"),
            },
            scripts=RELOAD,
            fields=dict.fromkeys(("Conflicts", "Replaces", "Provides"), "nvidia-fabricmanager-any"),
        )
        for stem in ("libnvidia-nscq", "libnvsdm", "nvidia-imex"):
            alone = dict.fromkeys(("Conflicts", "Replaces", "Provides"), f"{stem}-any")
            yield Package(f"{stem}{suffix}", f"{self.version}-1", fields=alone)


def _pinning(branch: int) -> Package:
    name = f"nvidia-driver-pinning-{branch}"
    preference = f"Package: *nvidia*\nPin: version {branch}.*\nPin-Priority: 1000\n"
    others = dict.fromkeys(("Conflicts", "Provides"), "nvidia-driver-pinning")
    return Package(
        name, f"{branch}-1", files={f"etc/apt/preferences.d/{name}": preference}, fields=others
    )
