"""The rule about NVIDIA_VISIBLE_DEVICES, as exact as the way in which devices reach containers."""

from __future__ import annotations

from gpugen import kube
from gpugen.components.scheduling.guardrails import cel
from gpugen.components.scheduling.guardrails.facts import Facts
from gpugen.components.scheduling.guardrails.rule import Rule

_SETS = (
    "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && (has(e.valueFrom)"
    " || !(e.?value.orValue('') in ['', 'none', 'void'])))"
)
# What the toolkit takes for privileged. The runtime spells capabilities in capitals.
_IS_PRIVILEGED = (
    "(c.?securityContext.?privileged.orValue(false)"
    " || c.?securityContext.?capabilities.?add.orValue([])"
    ".exists(a, a.upperAscii() in ['ALL', 'SYS_ADMIN', 'CAP_SYS_ADMIN']))"
)
_ASKS = f"{cel.LIMITS}.exists(n, {cel.is_gpu('n')} && {cel.IS_SOME})"
# Classes of the NVIDIA runtime: nvidia, nvidia-cdi, nvidia-legacy.
_HAS_CLASS = f"variables.pod.?runtimeClassName.orValue('').startsWith('{kube.RUNTIME_CLASS}')"


def visible_devices(facts: Facts) -> Rule:
    """Refuse the variable where it takes GPUs, and not where it does nothing.

    Public charts set it beside a proper request. Handed out by the environment, GPUs are whatever
    the variable says; by CDI only the runtime of a class reads it; by mounts only privileged
    containers are listened to.
    """
    how, takes = "a container sets", _SETS
    if facts.variable.needs_privileges:
        how = "a privileged container sets"
        heard = _IS_PRIVILEGED
        if not facts.variable.is_refused:
            how = "a container that is privileged, or asks for no GPU, sets"
            heard = f"({_IS_PRIVILEGED} || !{_ASKS})"
        takes = f"{_SETS} && {heard}"
    holds, remedy = f"!variables.containers.exists(c, {takes})", "Remove it"
    if facts.variable.needs_class:
        holds = f"!{_HAS_CLASS} || {holds}"
        remedy = "Remove it, or the runtime class, which makes it count here,"
    return Rule(
        "visible-devices",
        holds,
        f"'{how} NVIDIA_VISIBLE_DEVICES, which takes GPUs that the scheduler may have given to"
        f" other pods. {remedy} and ask for GPUs under resources.limits'",
        f"{how} NVIDIA_VISIBLE_DEVICES",
    )
