"""Checks of the bin-packing scheduler: its effect, and conflicts with the main scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.scheduling.scheduler import COMPONENT_NAME
from gpugen.components.scheduling.scheduler.packing import MAIN
from gpugen.kube.scheduling import IN_MAIN, completes, is_main, name
from gpugen.model.finding import ROOT, Severity
from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec

AT = ROOT / "components" / COMPONENT_NAME
KEEPS_PODS_AWAY = frozenset({"NoSchedule", "NoExecute"})
OF_SECOND = ("replicas", "resources", "annotations")  # options of its Deployment


@check("scheduler-double-booking", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME)
def double_booking(spec: ClusterSpec) -> Iterator[Problem]:
    """Two schedulers fill the same nodes and do not see each other's decisions.

    Both may assign the last GPU of a node; the kubelet then rejects the second pod with
    UnexpectedAdmissionError or OutOfnvidia.com/gpu. A taint keeps away pods that do not tolerate
    it; those that do should all use this scheduler.
    """
    if is_main(spec, spec.own(Scheduler)):
        return
    name = spec.own(Scheduler).scheduler_name
    for pool in spec.pools:
        if not any(taint.effect in KEEPS_PODS_AWAY for taint in pool.taints):
            yield Problem(
                at=pool.at / "taints",
                message=f"pool {POOL} has no taint that keeps pods away, so the main scheduler"
                f" places pods there as well as {name!r}: both can assign the same GPU",
                hint=f"give the pool a taint (effect NoSchedule) and set schedulerName: {name} in"
                " the pods that tolerate it; or, where the distribution allows it, list the"
                " control plane's hosts (controlPlane.hosts), so that the main scheduler"
                " does the bin packing",
                pool=pool.name,
            )


@check(
    "scheduler-without-bin-packing", "GG-22", severity=Severity.WARNING, component=COMPONENT_NAME
)
def without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Without bin packing, this scheduler places pods exactly as the main one does."""
    options = spec.own(Scheduler)
    if options.bin_packing:
        return
    yield Problem(
        at=AT / "binPacking",
        message=f"with binPacking: false scheduler {options.scheduler_name!r} has no effect:"
        " it places "
        "pods as the main scheduler does",
        hint="remove the component, or set binPacking: true",
    )


@check("scheduler-weights-without-bin-packing", "GG-05", component=COMPONENT_NAME, at_key=True)
def weights_without_bin_packing(spec: ClusterSpec) -> Iterator[Problem]:
    """Weights configure bin packing; with binPacking: false they have no effect."""
    if spec.own(Scheduler).bin_packing:
        return
    for key in ("scoreWeight", "weights"):
        if AT / key in spec.stated:
            yield Problem(
                at=AT / key,
                message=f"{key} has no effect with binPacking: false",
                hint=f"remove {key}, or set binPacking: true",
            )


@check("scheduler-name-of-main", component=COMPONENT_NAME)
def name_of_main(spec: ClusterSpec) -> Iterator[Problem]:
    """Two schedulers with one name both bind its pods, without seeing each other's decisions."""
    options = spec.own(Scheduler)
    if options.scheduler_name == MAIN and not is_main(spec, options):
        yield Problem(
            at=AT / "schedulerName",
            message=f"{MAIN!r} is the name of the main scheduler; a second one needs its own name",
            hint="choose another name, or list the control plane's hosts (controlPlane.hosts)",
        )


@check("scheduler-main-without-hosts", component=COMPONENT_NAME)
def main_without_hosts(spec: ClusterSpec) -> Iterator[Problem]:
    """The main scheduler is configured by a file on every host of the control plane."""
    if spec.own(Scheduler).mode == IN_MAIN and not spec.control_plane.hosts:
        yield Problem(
            at=AT / "mode",
            message="mode: main configures the main scheduler, but no control plane host is listed",
            hint="list all of them under controlPlane: {hosts: [...]}, or write mode: second",
        )


@check("scheduler-main-not-configurable", "DIST-12", component=COMPONENT_NAME)
def main_not_configurable(spec: ClusterSpec) -> Iterator[Problem]:
    """This distribution's main scheduler cannot be configured by a file on its hosts.

    Source: the distribution's row in the catalogue, and the vendors' documentation it names.
    """
    row = spec.kubernetes.distribution
    options = spec.own(Scheduler)
    if not is_main(spec, options) or row.main_scheduler:
        return
    instead = row.instead_of_main or "run a second scheduler"
    yield Problem(
        at=AT / "mode" if options.mode == IN_MAIN else spec.control_plane.at / "hosts",
        message=f"the main scheduler of {spec.kubernetes.distribution.id!r} cannot be configured"
        " by a file on its hosts",
        hint=f"{instead}; or remove controlPlane to use a second scheduler",
    )


@check("scheduler-option-of-second", component=COMPONENT_NAME, at_key=True)
def option_of_second(spec: ClusterSpec) -> Iterator[Problem]:
    """Replicas, resources and annotations apply only to a second scheduler's Deployment."""
    if not is_main(spec, spec.own(Scheduler)):
        return
    for key in OF_SECOND:
        if AT / key in spec.stated:
            yield Problem(
                at=AT / key,
                message=f"{key} has no effect: the main scheduler does the bin packing, and no"
                " second one is rendered",
                hint=f"remove {key}, or write mode: second",
            )


@check("scheduler-digest-of-second", component=COMPONENT_NAME, at_key=True)
def digest_of_second(spec: ClusterSpec) -> Iterator[Problem]:
    """A digest pins an image; where the main scheduler does the bin packing, none is used."""
    main = spec.kubernetes.distribution.main_scheduler
    is_used = not is_main(spec, spec.own(Scheduler)) or bool(main and main.in_process)
    if COMPONENT_NAME in spec.images.digests and not is_used:
        yield Problem(
            at=spec.images.at / "digests" / COMPONENT_NAME,
            message="the digest has no effect: the distribution's own main scheduler does the bin"
            " packing",
            hint="remove the digest, or write mode: second",
        )


@check("scheduler-name-without-context", severity=Severity.WARNING, component=COMPONENT_NAME)
def name_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """Pods get a profile's schedulerName only after a play has verified that it is served.

    The play records that in a ConfigMap, which the guardrails' policy reads; with an unserved name
    pods would stay Pending without condition or event. Without a context the play cannot write it,
    and pods use the default profile unless they state the other.
    """
    options = spec.own(Scheduler)
    is_told = bool(spec.access.kubeconfig_context)
    if not is_told and is_main(spec, options) and name(spec) and completes(spec):
        yield Problem(
            at=AT,
            message=f"no pod is given schedulerName {name(spec)!r}: without"
            " access.kubeconfigContext the play cannot record in the cluster that the"
            " main scheduler serves it",
            hint="write access: {kubeconfigContext: ...}, or set schedulerName in pods yourself",
        )
