"""The policy over the agents' namespace: only agents of this release, with no more than they need.

Their namespace is at the Pod Security level ``privileged``, so whoever may make a pod there is root
on the nodes. The policy knows pods by their name label and then holds them to that agent's rights:
image, command, account, paths of the host, privileges. Ephemeral containers are for none of them.
Source: kubernetes v1.36.3, admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugen import kube
from gpugen.components.scheduling.guardrails import agent_rights, cel
from gpugen.components.scheduling.guardrails.agent_rights import AgentRights
from gpugen.model.assembly import KubeObject
from gpugen.model.spec import ClusterSpec

NAME = "gpugen-agent-pods"
VERSION = "admissionregistration.k8s.io/v1"
_CONTAINERS = cel.containers("object.spec")
_PROBES = ("liveness", "readiness", "startup")
_SECURITY = "c.?securityContext"
_MINE = "[variables.agent]"


def agent_policy(spec: ClusterSpec, *, refuses: bool) -> list[KubeObject]:
    """Return the policy and its binding to the agents' namespace."""
    rights = agent_rights.agents(spec)
    policy = {
        "failurePolicy": "Fail" if refuses else "Ignore",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "resourceRules": [
                _rule(["CREATE", "UPDATE"], "pods"),
                _rule(["UPDATE"], "pods/ephemeralcontainers"),
            ],
        },
        # Labels and finalisers of pods that were there before may change.
        "matchConditions": [
            {
                "name": "new-or-changed",
                "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec",
            }
        ],
        "variables": _variables(spec, rights),
        "validations": [
            {"expression": expression, "messageExpression": words, "message": plain}
            for expression, words, plain in _rules(spec)
        ],
    }
    binding = {
        "policyName": NAME,
        "validationActions": ["Deny"] if refuses else ["Warn", "Audit"],
        "matchResources": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {
                "matchLabels": {"kubernetes.io/metadata.name": spec.namespaces.agents}
            },
        },
    }
    kind = "ValidatingAdmissionPolicy"
    return [
        {"apiVersion": VERSION, "kind": kind, "metadata": kube.metadata(NAME), "spec": policy},
        {
            "apiVersion": VERSION,
            "kind": f"{kind}Binding",
            "metadata": kube.metadata(NAME),
            "spec": binding,
        },
    ]


def _rule(operations: list[str], resource: str) -> dict[str, Any]:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": operations,
        "resources": [resource],
    }


def _variables(spec: ClusterSpec, rights: tuple[AgentRights, ...]) -> list[dict[str, str]]:
    """Return the pod's agent, and the tables that say what each may be."""

    def table(field: Callable[[AgentRights], cel.Data]) -> str:
        rows: Mapping[str, cel.Data] = {each.name: field(each) for each in rights}
        return cel.table(rows)

    label = f"object.metadata.?labels.orValue({{}})[?{cel.literal(kube.NAME_LABEL)}].orValue('')"
    texts = {
        "label": label,
        "images": table(lambda a: agent_rights.images(spec, a.image)),
        "commands": table(lambda a: a.commands),
        "environment": table(lambda a: a.environment),
        "accounts": table(lambda a: (a.account, "default") if a.account else ("default",)),
        "paths": table(lambda a: (*a.paths, *a.seen)),
        "seen": table(lambda a: a.seen),
        "kinds": table(_volumes),
        "privileged": cel.literal([each.name for each in rights if each.is_privileged]),
        "capabilities": table(lambda a: a.capabilities),
        "spaces": table(lambda a: a.spaces),
        "agent": f"variables.label in {cel.literal([a.name for a in rights])}"
        " ? variables.label : ''",
        "containers": _CONTAINERS,
        "volumes": "object.spec.?volumes.orValue([])",
    }
    return [{"name": name, "expression": text} for name, text in texts.items()]


def _volumes(agent: AgentRights) -> tuple[str, ...]:
    usual = ("configMap", "emptyDir", "hostPath", "projected")
    return (*usual, "secret") if agent.may_read_secrets else usual


def _rules(spec: ClusterSpec) -> list[tuple[str, str, str]]:
    """Return each rule: what must hold, its message as an expression, and a plain one."""
    told = f"namespace {spec.namespaces.agents} is for the agents of gpugen"
    # Each rule but the first holds where there is no agent, so that one fault has one message.
    known = "variables.agent == '' || "
    everyone = f"{known}variables.containers.all(c, {{}})"
    tests = {
        "image": everyone.format(
            f"variables.images{_MINE}.exists(p, c.?image.orValue('').matches(p))"
        ),
        "command": everyone.format(
            f"(c.?command.orValue([]) + c.?args.orValue([])).join(' ') in variables.commands{_MINE}"
            " && !has(c.lifecycle)"
            + "".join(f" && !c.?{kind}Probe.?exec.hasValue()" for kind in _PROBES)
        ),
        "environment": everyone.format(
            "c.?envFrom.orValue([]).size() == 0 && c.?env.orValue([]).all(e, e.name in"
            f" variables.environment{_MINE})"
        ),
        "service account": f"{known}object.spec.?serviceAccountName.orValue('default') in"
        f" variables.accounts{_MINE}",
        "volume": f"{known}variables.volumes.all(v,"
        f" has(v.hostPath) ? v.hostPath.path in variables.paths{_MINE}"
        " : "
        + " || ".join(
            f"(has(v.{kind}) && '{kind}' in variables.kinds{_MINE})"
            for kind in ("configMap", "emptyDir", "projected", "secret")
        )
        + ")",
        "writable path of the host": f"{known}variables.volumes.all(v, !has(v.hostPath)"
        f" || !(v.hostPath.path in variables.seen{_MINE}) || variables.containers.all(c,"
        " c.?volumeMounts.orValue([]).all(m, m.name != v.name || m.?readOnly.orValue(false))))",
        "privileged container": everyone.format(
            f"!{_SECURITY}.?privileged.orValue(false) || variables.agent in variables.privileged"
        ),
        "capability": everyone.format(
            f"{_SECURITY}.?capabilities.?add.orValue([]).all(a, a in variables.capabilities{_MINE})"
        ),
        "namespace of the host": f"{known}"
        + " && ".join(
            f"(!object.spec.?{space}.orValue(false) || '{space}' in variables.spaces{_MINE})"
            for space in ("hostIPC", "hostNetwork", "hostPID")
        ),
        "ephemeral container": "object.spec.?ephemeralContainers.orValue([]).size() == 0",
    }
    first = (
        "variables.agent != ''",
        f"{cel.literal(f'{told}; this pod is none, by its label {kube.NAME_LABEL}: ')}"
        " + (variables.label == '' ? 'it has no such label' : variables.label)",
        f"{told}; this pod is none",
    )
    return [
        first,
        *(
            (
                test,
                f"{cel.literal(f'{told}; this pod has another {what} than release ')}"
                f" + {cel.literal(spec.release.id)} + ' gives ' + variables.label",
                f"{told}; this pod has another {what} than theirs",
            )
            for what, test in tests.items()
        ),
    ]
