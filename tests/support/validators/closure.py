"""Closures: what one file of a tree names, another file of it must bring.

Nothing upstream checks these: a missing label, account or key shows as a pod that never comes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import yaml

from gpugen.hosts import collection
from support.validators.tree import Json, Rendered, pod_of

WORKLOADS = ("DaemonSet", "Deployment")
# NFD's programs look there without being told, for a file of their own name.
READ_UNTOLD = {"/etc/kubernetes/node-feature-discovery": "nfd-{}.conf"}
BUILT_IN = {"system:kube-scheduler", "system:volume-scheduler"}
BUILT_IN_ROLES = {"extension-apiserver-authentication-reader"}
OFFICIAL = re.compile(
    r"(nvcr\.io/nvidia/(k8s-device-plugin|cloud-native/k8s-mig-manager|k8s/dcgm-exporter)"
    r"|registry\.k8s\.io/(nfd/node-feature-discovery|kube-scheduler)):[\w.-]+(@sha256:[0-9a-f]{64})?\Z"
)
# Fields of some architectures, of GPUs with links, without MIG instances, or with profiling
OF_SOME_GPUS = re.compile("FABRIC|NVLINK|OP_TEMP|PROF|REMAP|RETIRED|TEMP_LIMIT|UTIL|XID")


def _key(item: Json) -> tuple[str, str, str]:
    meta = item["metadata"]
    return item["kind"], meta.get("namespace", ""), meta["name"]


def _named(tree: Rendered) -> set[tuple[str, str, str]]:
    return {_key(item) for item in tree.objects.values()}


def selectors(tree: Rendered) -> Iterator[str]:
    """A workload's selector matches its own pods alone, and names the pool and the program."""
    seen: dict[str, str] = {}
    for path, item in tree.of_kind(*WORKLOADS).items():
        wanted = item["spec"]["selector"]["matchLabels"]
        labels = item["spec"]["template"]["metadata"]["labels"]
        if not wanted.items() <= labels.items():
            yield f"{path}: the selector does not match the pod's labels"
        if "app.kubernetes.io/name" not in wanted:
            yield f"{path}: the selector does not name the program"
        pool = path.split("/")[2]
        if pool != "cluster" and wanted.get("gpugen/pool") != pool:
            yield f"{path}: the selector does not name pool {pool}"
        text = f"{item['metadata'].get('namespace')} {json.dumps(wanted, sort_keys=True)}"
        if text in seen:
            yield f"{path}: selects the pods of {seen[text]} too"
        seen[text] = path


def nodes(tree: Rendered) -> Iterator[str]:
    """Node agents select labels that the host play sets, and tolerate every taint."""
    for path, item in tree.of_kind("DaemonSet").items():
        pod = pod_of(item)
        if {"operator": "Exists"} not in pod.get("tolerations", []):
            yield f"{path}: does not tolerate every taint"
        pool = path.split("/")[2]
        if pool == "cluster":
            if "gpugen/pool" not in json.dumps(pod.get("affinity", {})):
                yield f"{path}: runs on nodes of no pool"
            continue
        selected = pod.get("nodeSelector", {})
        if selected.get("gpugen/pool") != pool:
            yield f"{path}: does not select pool {pool}"
        variables = tree.group_vars.get(f"pool_{pool.replace('-', '_')}", {})
        offered = {
            **variables.get("gpu_node_labels", {}),
            **variables.get("gpu_node_initial_labels", {}),
        }
        for label, value in selected.items():
            if offered.get(label) != value:
                yield f"{path}: nobody sets the node label {label}={value}"


def references(tree: Rendered) -> Iterator[str]:
    """Accounts, ConfigMaps, roles and namespaces that are named exist."""
    named = _named(tree)
    for path, item in tree.objects.items():
        space = item["metadata"].get("namespace", "")
        outside = item["kind"] == "RoleBinding" and space == "kube-system"
        monitoring = item["kind"] in ("ConfigMap", "ServiceMonitor", "PrometheusRule")
        if space and ("Namespace", "", space) not in named and not outside and not monitoring:
            yield f"{path}: nobody makes the namespace {space}"
    for path, item in tree.of_kind(*WORKLOADS).items():
        space, pod = item["metadata"].get("namespace", ""), pod_of(item)
        account = pod.get("serviceAccountName")
        if account and ("ServiceAccount", space, account) not in named:
            yield f"{path}: nobody makes the account {account}"
        if bool(account) != bool(pod.get("automountServiceAccountToken")):
            yield f"{path}: a token is mounted where none is needed, or missing"
        for volume in pod.get("volumes", []):
            name = volume.get("configMap", {}).get("name")
            if name and ("ConfigMap", space, name) not in named:
                yield f"{path}: nobody makes the ConfigMap {name}"
        if pod.get("runtimeClassName", "nvidia") != "nvidia":
            yield f"{path}: runs with a class that nobody defines"
    for path, item in tree.of_kind("RoleBinding", "ClusterRoleBinding").items():
        yield from _binding(path, item, named)


def _binding(path: str, item: Json, named: set[tuple[str, str, str]]) -> Iterator[str]:
    role, space = item["roleRef"], item["metadata"].get("namespace", "")
    known = BUILT_IN if role["kind"] == "ClusterRole" else BUILT_IN_ROLES
    where = "" if role["kind"] == "ClusterRole" else space
    if role["name"] not in known and (role["kind"], where, role["name"]) not in named:
        yield f"{path}: nobody makes the role {role['name']}"
    for subject in item["subjects"]:
        if ("ServiceAccount", subject["namespace"], subject["name"]) not in named:
            yield f"{path}: nobody makes the account {subject['name']}"


def accounts(tree: Rendered) -> Iterator[str]:
    """Every account is used by a workload and bound to a role, and every role to an account."""
    used = {
        (item["metadata"].get("namespace"), pod_of(item).get("serviceAccountName"))
        for item in tree.of_kind(*WORKLOADS).values()
    }
    bindings = tree.of_kind("RoleBinding", "ClusterRoleBinding").values()
    bound = {(s["namespace"], s["name"]) for item in bindings for s in item["subjects"]}
    granted = {(item["roleRef"]["kind"], item["roleRef"]["name"]) for item in bindings}
    for path, item in tree.of_kind("ServiceAccount").items():
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        if key not in used:
            yield f"{path}: no workload uses the account"
        if key not in bound:
            yield f"{path}: the account has no role"
    for path, item in tree.of_kind("Role", "ClusterRole").items():
        if (item["kind"], item["metadata"]["name"]) not in granted:
            yield f"{path}: the role is bound to nobody"


def volumes(tree: Rendered) -> Iterator[str]:
    """Mounts and volumes go together, and the files that a program is told of are there."""
    for path, item in tree.of_kind(*WORKLOADS).items():
        pod = pod_of(item)
        there = {volume["name"]: volume for volume in pod.get("volumes", [])}
        mounted = set()
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            mounts = container.get("volumeMounts", [])
            mounted |= {mount["name"] for mount in mounts}
            yield from _told(tree, path, item, container, there)
        if mounted != set(there):
            yield f"{path}: volumes and mounts differ in {sorted(mounted ^ set(there))}"


def _told(
    tree: Rendered, path: str, item: Json, container: Json, there: dict[str, Json]
) -> Iterator[str]:
    """Follow file names in environment and arguments to a key of a mounted ConfigMap."""
    values = [entry.get("value", "") for entry in container.get("env", [])]
    values += [part.partition("=")[2] or part for part in container.get("args", [])]
    values += [part.partition("=")[2] for part in container.get("command", [])]
    for mount in container.get("volumeMounts", []):
        source = there.get(mount["name"], {}).get("configMap")
        if source is None:
            continue
        wanted = ("ConfigMap", item["metadata"]["namespace"], source["name"])
        maps = [o for o in tree.of_kind("ConfigMap").values() if _key(o) == wanted]
        keys = {key for o in maps for key in o.get("data", {})}
        keys = {i["path"] for i in source["items"]} if "items" in source else keys
        told = [v for v in values if v.startswith(mount["mountPath"] + "/")]
        own = READ_UNTOLD.get(mount["mountPath"], "").format(container["name"])
        if own and own not in keys:
            yield f"{path}: {container['name']} looks for {own}, which no ConfigMap holds"
        if not told and not own:
            yield f"{path}: {container['name']} is not told of any file in {mount['mountPath']}"
        for value in told:
            if value.removeprefix(mount["mountPath"] + "/") not in keys:
                yield f"{path}: {container['name']} is told of {value}, which no ConfigMap holds"


def environment(tree: Rendered) -> Iterator[str]:
    """No variable is there twice; images are those that their makers publish, or a mirror's."""
    for path, item in tree.of_kind(*WORKLOADS).items():
        pod = pod_of(item)
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            names = [entry["name"] for entry in container.get("env", [])]
            if len(names) != len(set(names)):
                yield f"{path}: a variable is there twice"
            image = container["image"]
            mirrored = image.partition("/")[2]
            if not OFFICIAL.match(image) and not any(
                OFFICIAL.match(f"{host}/{mirrored}") for host in ("nvcr.io", "registry.k8s.io")
            ):
                yield f"{path}: {image} is no image of a component"


def checksums(tree: Rendered) -> Iterator[str]:
    """A pod that mounts a ConfigMap carries a checksum; agents of one content carry one."""
    for path, item in tree.of_kind(*WORKLOADS).items():
        pod = pod_of(item)
        mounts = [v["configMap"]["name"] for v in pod.get("volumes", []) if "configMap" in v]
        template = item["spec"]["template"]["metadata"]
        note = template.get("annotations", {}).get("gpugen/config-checksum", "")
        if bool(mounts) != bool(note):
            yield f"{path}: a checksum without a ConfigMap, or the other way round"
        space = item["metadata"]["namespace"]
        texts = [
            text
            for name in mounts
            for o in tree.of_kind("ConfigMap").values()
            if _key(o) == ("ConfigMap", space, name)
            for text in o.get("data", {}).values()
        ]
        sums = {hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts}
        sums.add(hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16])
        if note and note not in sums:
            yield f"{path}: the checksum is not that of what the pod mounts"


def services(tree: Rendered) -> Iterator[str]:
    """A Service finds pods and a port of theirs by name; a ServiceMonitor finds a Service."""
    pods = [
        (item["metadata"]["namespace"], item["spec"]["template"])
        for item in tree.of_kind(*WORKLOADS).values()
    ]
    found = tree.of_kind("Service")
    for path, item in found.items():
        hits = [
            template
            for space, template in pods
            if space == item["metadata"]["namespace"]
            and item["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        ]
        ports = {
            port["name"]
            for template in hits
            for container in template["spec"]["containers"]
            for port in container.get("ports", [])
        }
        wanted = {port["targetPort"] for port in item["spec"]["ports"]}
        if not hits or not wanted <= ports:
            yield f"{path}: no pod has the labels and the port that the Service wants"
    for path, item in tree.of_kind("ServiceMonitor").items():
        spec = item["spec"]
        for service in found.values():
            spaces = spec.get("namespaceSelector", {}).get("matchNames", [])
            names = {port["name"] for port in service["spec"]["ports"]}
            if (
                spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
                and service["metadata"]["namespace"] in spaces
                and {endpoint["port"] for endpoint in spec["endpoints"]} <= names
            ):
                break
        else:
            yield f"{path}: no Service has the labels, namespace and port that it wants"


def _of_all(held: Mapping[str, set[str]], fields: set[str]) -> set[str]:
    """Return what every pool's exporter has, and the fields that only some GPUs have."""
    some = {field for field in fields if OF_SOME_GPUS.search(field)}
    return set.intersection(*held.values()) | some if held else set()


def metrics(tree: Rendered, fields: set[str]) -> Iterator[str]:
    """Each row of an exporter's CSV is a field; rules of a pool read what its own exporter has.

    Rules and dashboards of the cluster do not depend on its pools: what they read, every exporter
    has, but for fields that only some GPUs have.
    """
    held: dict[str, set[str]] = defaultdict(set)
    for path, item in tree.of_kind("ConfigMap").items():
        for key, text in tree.payload(item, ".csv").items():
            rows = [r for r in csv.reader(io.StringIO(text)) if r and not r[0].startswith("#")]
            names = [row[0].strip() for row in rows]
            if any(len(row) != 3 for row in rows) or len(names) != len(set(names)):
                yield f"{path} {key}: a row has not three columns, or is there twice"
            if unknown := set(names) - fields:
                yield f"{path} {key}: no field of DCGM: {sorted(unknown)[0]}"
            held[PurePath(path).parent.name] |= set(names)
    texts = {path: json.dumps(i["spec"]) for path, i in tree.of_kind("PrometheusRule").items()}
    texts |= {p: c.decode() for p, c in tree.files.items() if p.startswith("prometheus/rules")}
    for path, item in tree.of_kind("ConfigMap").items():
        dashboard = "grafana_dashboard" in item["metadata"].get("labels", {})
        if dashboard and len(tree.payload(item, ".json")) != len(item["data"]):
            yield f"{path}: Grafana loads files that end in .json only"
        for key, text in tree.payload(item, ".json").items():
            try:
                json.loads(text)
            except ValueError as error:
                yield f"{path} {key}: {error}"
            texts[path] = text
    for path, text in texts.items():
        read = set(re.findall(r"\bDCGM_(?:FI|EXP)_\w+", text))
        own = {PurePath(path).stem, PurePath(path).parent.name} & set(held)
        there = set().union(*(held[pool] for pool in own)) if own else _of_all(held, fields)
        if missing := read - there:
            yield f"{path}: reads {sorted(missing)[0]}, which no exporter exports"


def predictions(tree: Rendered) -> Iterator[str]:
    """The number of units per node is one: in the play's wait, the rules and the sharing itself."""
    for group, variables in tree.group_vars.items():
        if group == "all":
            continue
        pool = group.removeprefix("pool_").replace("_", "-")
        wanted: dict[str, int] = variables.get("gpu_node_resources", {})
        config = _config(tree, f"kustomize/10-devices/{pool}/configmap-device-plugin.yaml")
        if config is None:
            yield f"{group}: no plugin configuration for the pool"
            continue
        for resource in _shared(config):
            suffix = ".shared" if _sharing(config).get("renameByDefault") else ""
            name = f"{resource['name']}{suffix}"
            if wanted.get(name, 0) % resource["replicas"] or name not in wanted:
                yield f"{group}: {name} is not a multiple of its {resource['replicas']} replicas"
        feature = _config(tree, f"kustomize/10-devices/{pool}/configmap-gpu-feature-discovery.yaml")
        if feature != config:
            yield f"{group}: feature discovery reads another configuration than the plugin"
        yield from _by_layout(tree, pool, variables, config)


def _by_layout(tree: Rendered, pool: str, variables: Json, config: Json) -> Iterator[str]:
    """Count the instances of the MIG layout and compare them with the play's wait."""
    layout = _config(tree, f"kustomize/10-devices/{pool}/configmap-mig-config.yaml")
    gpus = variables["gpu_prerequisites_gpu_count"]
    if layout is None:
        if config["flags"]["migStrategy"] == "none":
            yield from _compared(pool, {"nvidia.com/gpu": gpus}, variables, config)
        return
    name = variables["gpu_node_labels"].get("nvidia.com/mig.config", "")
    entries = layout["mig-configs"].get(name)
    if entries is None:
        yield f"pool {pool}: the label selects a layout that is not there"
        return
    counted: dict[str, int] = {}
    for entry in entries:
        count_of = gpus if entry["devices"] == "all" else len(entry["devices"])
        if not entry["mig-enabled"]:
            counted["nvidia.com/gpu"] = counted.get("nvidia.com/gpu", 0) + count_of
        for profile, count in entry.get("mig-devices", {}).items():
            resource = f"nvidia.com/mig-{profile.replace('+', '.')}"
            if config["flags"]["migStrategy"] == "single":
                resource = "nvidia.com/gpu"
            counted[resource] = counted.get(resource, 0) + count_of * count
    yield from _compared(pool, counted, variables, config)


def _compared(pool: str, counted: dict[str, int], variables: Json, config: Json) -> Iterator[str]:
    """Share what was counted, and compare it with what the play waits for."""
    suffix = ".shared" if _sharing(config).get("renameByDefault") else ""
    for resource in _shared(config):
        base = resource["name"]
        counted[f"{base}{suffix}"] = counted.pop(base, 0) * resource["replicas"]
    if counted != variables["gpu_node_resources"]:
        yield f"pool {pool}: there are {counted}, and the play waits for something else"


def _config(tree: Rendered, path: str) -> Any:
    item = tree.objects.get(path)
    return yaml.safe_load(item["data"]["config.yaml"]) if item else None


def _sharing(config: Json) -> Json:
    return next(iter(config.get("sharing", {}).values()), {})


def _shared(config: Json) -> list[Json]:
    return list(_sharing(config).get("resources", []))


def _listens_on_the_node_alone(pod: Json) -> bool:
    """Tell whether a pod in the host's network takes the node's address, not every interface."""
    variables = [e for c in pod["containers"] for e in c.get("env", ())]
    addresses = [e.get("value", "") for e in variables if e["name"].endswith("_LISTEN")]
    return bool(addresses) and all(text.startswith("[$(HOST_IP)]:") for text in addresses)


def privileges(tree: Rendered) -> Iterator[str]:
    """Only those programs are privileged, or see the host, that cannot work without."""
    allowed = {"mig-manager", "mps-control-daemon"}
    for path, item in tree.of_kind(*WORKLOADS).items():
        pod = pod_of(item)
        name = item["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"]
        in_network = pod.get("hostNetwork") and not _listens_on_the_node_alone(pod)
        if (pod.get("hostPID") or pod.get("hostIPC") or in_network) and name not in allowed:
            yield f"{path}: sees the processes or the network of the host"
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            security = container.get("securityContext", {})
            if security.get("privileged") and name not in allowed:
                yield f"{path}: {container['name']} is privileged"
            if not security.get("privileged") and "ALL" not in security.get("capabilities", {}).get(
                "drop", []
            ):
                yield f"{path}: {container['name']} keeps capabilities"
    for path, item in tree.of_kind("Role", "ClusterRole").items():
        for rule in item["rules"]:
            if "*" in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]:
                yield f"{path}: a wildcard"
            if {"secrets"} & set(rule["resources"]) or {"bind", "escalate", "impersonate"} & set(
                rule["verbs"]
            ):
                yield f"{path}: reads secrets or raises itself"


def ownership(tree: Rendered) -> Iterator[str]:
    """Every object says whose it is; no node and no secret is among them."""
    for path, item in tree.objects.items():
        labels = item["metadata"].get("labels", {})
        if labels.get("app.kubernetes.io/managed-by") != "gpugen":
            yield f"{path}: does not say that gpugen owns it"
        if item["kind"] in ("Node", "Secret"):
            yield f"{path}: a {item['kind']} does not belong into git"
    for path, content in tree.files.items():
        is_ours = path.endswith((".yaml", ".yml")) and collection.NAMESPACE not in path
        if is_ours and not content.startswith(b"# Generated by gpugen from "):
            yield f"{path}: does not say where it comes from"


def delivery(tree: Rendered) -> Iterator[str]:
    """Namespaces and CRDs are never pruned; Flux waits for them, Argo gives them earlier waves."""
    sync = {p: tree.parsed(p) for p in tree.files if p.startswith("sync/") and p.endswith(".yaml")}
    argo = any(item["kind"] == "Application" for item in sync.values())
    flux = any(item["kind"] == "Kustomization" for item in sync.values())
    for path, item in tree.objects.items():
        notes = item["metadata"].get("annotations", {})
        kept = item["kind"] in ("Namespace", "CustomResourceDefinition")
        if argo and kept and "Prune=false" not in notes.get("argocd.argoproj.io/sync-options", ""):
            yield f"{path}: Argo CD may prune it"
        if flux and kept and notes.get("kustomize.toolkit.fluxcd.io/prune") != "disabled":
            yield f"{path}: Flux may prune it"
        wave = notes.get("argocd.argoproj.io/sync-wave")
        # A second scheduler is there before the policy that sends pods to it.
        last = "-1" if path.startswith("kustomize/30-scheduling/") else "0"
        if argo and (wave is None or (item["kind"] in WORKLOADS and wave != last)):
            yield f"{path}: no sync wave, or not the last one for a workload"
        if argo and path.startswith("kustomize/40-scheduler/") and wave != "0":
            yield f"{path}: not behind the scheduler that it names"
    waves = sorted({path.split("/")[1] for path in tree.objects})
    chain = [i for _, i in sorted(sync.items()) if i["kind"] == "Kustomization"]
    for wave, item in zip(waves, chain, strict=False):
        # Monitoring may have no CRDs: nothing builds on it.
        earlier = [w for w in waves if w < wave and not w.endswith("-monitoring")][-1:]
        names = [entry["name"] for entry in item["spec"].get("dependsOn", [])]
        got = [w for name in names for w in waves if name.endswith(f"-{w}")]
        if not item["spec"]["path"].endswith(f"/{wave}") or got != earlier:
            yield f"sync/{wave}: is not applied after what it builds on"
        if wave.startswith("0") and (not item["spec"].get("wait") or item["spec"]["prune"]):
            yield f"sync/{wave}: is not waited for, or pruned"
    if flux and len(chain) != len(waves):
        yield "sync/: a wave is applied by nobody"
