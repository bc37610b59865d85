"""Checks of the packing scheduler: whether it does anything, and whom it gets in the way of."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.scheduling.scheduler import COMPONENT_NAME
from gpugen.components.scheduling.scheduler.main import row_of
from gpugen.components.scheduling.scheduler.packing import MAIN
from gpugen.kube.scheduling import IN_MAIN, completes, is_main, name
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec

AT = ROOT / "components" / COMPONENT_NAME
KEEPS_PODS_AWAY = frozenset({"NoSchedule", "NoExecute"})
OF_SECOND = ("replicas", "resources", "annotations")  # options of its Deployment


@check("scheduler-double-booking", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME)
def double_booking(spec: ClusterSpec) -> Iterator[Problem]:
    """Two schedulers fill the same nodes and do not see each other's decisions.

    Both may give the last GPU of a node away; the kubelet then refuses the second pod, which ends
    with UnexpectedAdmissionError or OutOfnvidia.com/gpu. A taint of the pool keeps the pods away
    that do not tolerate it; those that do should all name this scheduler.
    """
    if is_main(spec, spec.options[COMPONENT_NAME]):
        return
    name = spec.options[COMPONENT_NAME]["schedulerName"]
    for pool in spec.pools:
        if not any(taint.effect in KEEPS_PODS_AWAY for taint in pool.taints):
            yield Problem(
                at=pool.at / "taints",
                message=f"pool {POOL} has no taint that keeps pods away, so the main scheduler "
                f"fills its nodes beside {name!r}: they can give the same GPU to two pods",
                hint="give the pool a taint (effect NoSchedule) and let the pods that tolerate"
                " it name "
                f"schedulerName: {name}; where the distribution allows it, name the hosts of the "
                "control plane (controlPlane.hosts): the main scheduler then packs itself",
                pool=pool.name,
            )


@check(
    "scheduler-without-bin-packing", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME
)
def without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Without bin packing a profile of its own places pods exactly as the main one does."""
    options = spec.options[COMPONENT_NAME]
    if options["binPacking"]:
        return
    yield Problem(
        at=AT / "binPacking",
        message=f"with binPacking: false scheduler {options['schedulerName']!r} has no effect:"
        " it places "
        "pods as the main scheduler does",
        hint="remove the component, or set binPacking: true",
    )


@check("scheduler-weights-without-bin-packing", "GG-05", component=COMPONENT_NAME, at_key=True)
def weights_without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Weights say how nodes are packed; with bin packing off the scheduler's own defaults hold."""
    if spec.options[COMPONENT_NAME]["binPacking"]:
        return
    for key in ("scoreWeight", "weights"):
        if AT / key in spec.stated:
            yield Problem(
                at=AT / key,
                message=f"{key} has no effect with binPacking: false",
                hint=f"leave {key} out, or set binPacking: true",
            )


@check("scheduler-name-of-main", component=COMPONENT_NAME)
def name_of_main(spec: ClusterSpec) -> Iterator[Problem]:
    """Two schedulers that serve one name both bind its pods, without seeing each other."""
    options = spec.options[COMPONENT_NAME]
    if options["schedulerName"] == MAIN and not is_main(spec, options):
        yield Problem(
            at=AT / "schedulerName",
            message=f"{MAIN!r} is what the main scheduler serves; a second one needs a name of"
            " its own",
            hint="take another name, or name the hosts of the control plane (controlPlane.hosts)",
        )


@check("scheduler-main-without-hosts", component=COMPONENT_NAME)
def main_without_hosts(spec: ClusterSpec) -> Iterator[Problem]:
    """The main scheduler is configured by a file on every host of the control plane."""
    if spec.options[COMPONENT_NAME]["mode"] == IN_MAIN and not spec.control_plane.hosts:
        yield Problem(
            at=AT / "mode",
            message="mode: main configures the main scheduler, but no host of the control plane"
            " is named",
            hint="name all of them under controlPlane: {hosts: [...]}, or write mode: second",
        )


@check("scheduler-main-not-configurable", "DIST-12", component=COMPONENT_NAME)
def main_not_configurable(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution takes no configuration of the main scheduler from a file on its hosts.

    Source: the distribution's row in the catalogue, and the vendors' documentation it names.
    """
    row = row_of(spec)
    options = spec.options[COMPONENT_NAME]
    if not is_main(spec, options) or "main" in row:
        return
    instead = row.get("instead", "run a second scheduler")
    yield Problem(
        at=AT / "mode" if options["mode"] == IN_MAIN else spec.control_plane.at / "hosts",
        message=f"the main scheduler of {spec.kubernetes.distribution.id!r} takes no file from"
        " its hosts",
        hint=f"{instead}; or leave controlPlane out, and a second scheduler packs",
    )


@check("scheduler-option-of-second", component=COMPONENT_NAME, at_key=True)
def option_of_second(spec: ClusterSpec) -> Iterator[Problem]:
    """Replicas, resources and annotations are those of a second scheduler's Deployment."""
    if not is_main(spec, spec.options[COMPONENT_NAME]):
        return
    for key in OF_SECOND:
        if AT / key in spec.stated:
            yield Problem(
                at=AT / key,
                message=f"{key} has no effect: the main scheduler packs, and no second one is"
                " rendered",
                hint=f"leave {key} out, or write mode: second",
            )


@check("scheduler-digest-of-second", component=COMPONENT_NAME, at_key=True)
def digest_of_second(spec: ClusterSpec) -> Iterator[Problem]:
    """A digest pins an image; where the distribution's own scheduler packs, none is used."""
    main = row_of(spec).get("main", {})
    is_used = not is_main(spec, spec.options[COMPONENT_NAME]) or "inProcess" in main
    if COMPONENT_NAME in spec.images.digests and not is_used:
        yield Problem(
            at=spec.images.at / "digests" / COMPONENT_NAME,
            message="the digest has no effect: the main scheduler packs, by the image of the"
            " distribution",
            hint="leave the digest out, or write mode: second",
        )


@check("scheduler-name-without-context", severity=Severity.WARNING, component=COMPONENT_NAME)
def name_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """Pods get the name of a profile only where a play has proved that the schedulers serve it.

    The play says so by a ConfigMap in the cluster, which the policy of the guardrails reads; a
    name that nobody serves would leave pods Pending without condition or event. Without a context
    the play cannot write it, and pods go to the default profile unless they name the other.
    """
    options = spec.options[COMPONENT_NAME]
    is_told = bool(spec.access.kubeconfig_context)
    if not is_told and is_main(spec, options) and name(spec) and completes(spec):
        yield Problem(
            at=AT,
            message=f"no pod is given schedulerName {name(spec)!r}: the play proves that the"
            " main scheduler"
            " serves it, but has no access.kubeconfigContext to say so in the cluster",
            hint="write access: {kubeconfigContext: ...}, or let pods name the scheduler"
            " themselves",
        )
