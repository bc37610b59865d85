"""Checks of the container toolkit."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.catalog import reading
from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.container_toolkit import merged_version
from gpugen.hosts.places import host_setting
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec
from gpugen.text.versions import UPGRADE, is_older, newer_words

SECTION = "containerToolkit"


@check(
    "container-toolkit-default-runtime",
    "CTK-12",
    component="container-toolkit",
    severity=Severity.WARNING,
)
def default_runtime(spec: ClusterSpec) -> Iterator[Problem]:
    """As default runtime, nvidia hands GPUs to every pod that asks by an environment variable.

    No resource has to be requested for that: NVIDIA_VISIBLE_DEVICES=all suffices, and images set
    it. With volume mounts the toolkit is told not to listen to it.
    """
    if "volume-mounts" in spec.device_list_strategy:
        return
    for pool in spec.pools:
        if pool.host.default_runtime:
            yield Problem(
                at=host_setting(spec, pool, SECTION, "defaultRuntime"),
                message=f"any pod on {POOL} can see every GPU without asking for one",
                hint="leave defaultRuntime out, or add deviceListStrategy: volume-mounts",
                pool=pool.name,
            )


@check("container-toolkit-runtime-twice", component="container-toolkit")
def runtime_twice(spec: ClusterSpec) -> Iterator[Problem]:
    """The cluster's own runtime learns of the toolkit always; naming it again changes nothing."""
    for pool in spec.pools:
        for number, runtime in enumerate(pool.host.further_runtimes):
            if runtime == spec.kubernetes.container_runtime:
                yield Problem(
                    at=host_setting(spec, pool, SECTION, "furtherRuntimes") / number,
                    message=f"{runtime!r} is the cluster's own runtime, which learns of the"
                    " toolkit anyway",
                    hint="leave it out here",
                    pool=pool.name,
                )


@check(
    "container-toolkit-next-minor",
    "DIST-06",
    component="container-toolkit",
    severity=Severity.WARNING,
)
def next_minor(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution's next minor version does not start with the drop-in of this one.

    It merges drop-ins itself and takes one version of them only. Source: k0sproject/k0s
    internal/pkg/sysinfo/probes/containerd.go.
    """
    kubernetes = spec.kubernetes
    runtime = kubernetes.distribution.row["runtime"]
    if "mergedFile" not in runtime:
        return
    now, then = (
        merged_version(runtime["rootVersion"], minor)
        for minor in (kubernetes.minor, kubernetes.minor + 1)
    )
    if now != then:
        yield Problem(
            at=kubernetes.at / "version",
            message=f"{kubernetes.distribution.id} 1.{kubernetes.minor + 1} takes drop-ins of"
            " version "
            f"{then} only: with ours, of version {now}, its workers do not start",
            hint="before that upgrade delete the drop-in on every node; after it run the play"
            " again",
        )


@check("container-toolkit-smoke-test-crio", "CTK-20", component="container-toolkit")
def smoke_test_by_crio(spec: ClusterSpec) -> Iterator[Problem]:
    """CRI-O has no client that may start a container beside the kubelet.

    crictl alone speaks to it, and the kubelet deletes pods that it did not ask for. Source:
    Kubernetes documentation, "Debugging Kubernetes nodes with crictl".
    """
    for pool in spec.pools:
        runtimes = (spec.kubernetes.container_runtime, *pool.host.further_runtimes)
        if pool.host.smoke_test_image and "crio" in runtimes:
            yield Problem(
                at=host_setting(spec, pool, SECTION, "smokeTestImage"),
                message=f"pool {POOL} runs CRI-O, which starts containers for the kubelet alone",
                hint="leave smokeTestImage out, and run a pod with runtimeClassName: nvidia",
                pool=pool.name,
            )


@check(
    "container-toolkit-newer-than-known", component="container-toolkit", severity=Severity.WARNING
)
def newer_than_known(spec: ClusterSpec) -> Iterator[Problem]:
    """No such version was out when this gpugen was: a slip, or a version that nobody here judged.

    Source: the catalogue's table of the container toolkit.
    """
    newest = str(reading.table("container-toolkit")["latest"])
    for pool in spec.pools:
        version = pool.host.container_toolkit_version
        if is_older(newest, version):
            yield Problem(
                at=host_setting(spec, pool, SECTION, "version"),
                message=newer_words(f"container toolkit {version!r}", newest),
                hint=f"compare it with what the vendor has released; {UPGRADE}",
                pool=pool.name,
            )
