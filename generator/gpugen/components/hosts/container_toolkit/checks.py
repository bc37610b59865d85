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
    """With nvidia as default runtime, any pod gets GPUs by an environment variable.

    It needs no resource request: NVIDIA_VISIBLE_DEVICES=all suffices, and images set it. With
    volume-mounts the toolkit ignores the variable.
    """
    if "volume-mounts" in spec.device_list_strategy:
        return
    for pool in spec.pools:
        if pool.host.default_runtime:
            yield Problem(
                at=host_setting(spec, pool, SECTION, "defaultRuntime"),
                message=f"any pod on nodes of {POOL} can see every GPU without requesting one",
                hint="remove defaultRuntime, or add deviceListStrategy: volume-mounts",
                pool=pool.name,
            )


@check("container-toolkit-runtime-twice", component="container-toolkit")
def runtime_twice(spec: ClusterSpec) -> Iterator[Problem]:
    """The cluster's own runtime is always configured for the toolkit; listing it has no effect."""
    for pool in spec.pools:
        for number, runtime in enumerate(pool.host.further_runtimes):
            if runtime == spec.kubernetes.container_runtime:
                yield Problem(
                    at=host_setting(spec, pool, SECTION, "furtherRuntimes") / number,
                    message=f"{runtime!r} is the cluster's own runtime, which is always"
                    " configured for the toolkit",
                    hint="remove it here",
                    pool=pool.name,
                )


@check(
    "container-toolkit-next-minor",
    "DIST-06",
    component="container-toolkit",
    severity=Severity.WARNING,
)
def next_minor(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution's next minor version does not start with this version's drop-in.

    It merges containerd drop-ins itself, and only those of one configuration version. Source:
    k0sproject/k0s internal/pkg/sysinfo/probes/containerd.go.
    """
    kubernetes = spec.kubernetes
    runtime = kubernetes.distribution.runtime
    if not runtime.merged_file:
        return
    now, then = (
        merged_version(runtime, minor) for minor in (kubernetes.minor, kubernetes.minor + 1)
    )
    if now != then:
        yield Problem(
            at=kubernetes.at / "version",
            message=f"{kubernetes.distribution.id} 1.{kubernetes.minor + 1} needs containerd"
            f" drop-ins of version {then}: with gpugen's, of version {now}, its workers"
            " do not start",
            hint="before that upgrade delete the drop-in on every node, and run the play again"
            " after it",
        )


@check("container-toolkit-smoke-test-crio", "CTK-20", component="container-toolkit")
def smoke_test_by_crio(spec: ClusterSpec) -> Iterator[Problem]:
    """CRI-O has no client that can start a container without the kubelet.

    Only crictl talks to it, and the kubelet deletes pods that it did not create. Source: Kubernetes
    documentation, "Debugging Kubernetes nodes with crictl".
    """
    for pool in spec.pools:
        runtimes = (spec.kubernetes.container_runtime, *pool.host.further_runtimes)
        if pool.host.smoke_test_image and "crio" in runtimes:
            yield Problem(
                at=host_setting(spec, pool, SECTION, "smokeTestImage"),
                message=f"pool {POOL} runs CRI-O, which starts containers only for the kubelet",
                hint="remove smokeTestImage, and run a pod with runtimeClassName: nvidia",
                pool=pool.name,
            )


@check(
    "container-toolkit-newer-than-known", component="container-toolkit", severity=Severity.WARNING
)
def newer_than_known(spec: ClusterSpec) -> Iterator[Problem]:
    """The version is newer than any this gpugen knows: a typo, or an untested version.

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
