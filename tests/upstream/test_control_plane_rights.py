"""RBAC: every service account may do what the table says, and nothing else.

That the table is what the programs call, test_control_plane_programs.py shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.account_rights import BUILT_IN, FEATURES, RIGHTS, without_workloads
from support.lab.cluster import containers
from support.lab.cluster.api import Api
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.rights import CLUSTER, Right, granted, of_rule, written
from support.lab.cluster.trees import edited, example, examples

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]

EVERYTHING = {
    "/components/scheduler": True,
    "/components/dcgm-exporter": {"perPodUsage": True},
}


def test_accounts_may_do_what_the_table_says(
    delivery: Delivery, plane: Plane, tmp_path: Path
) -> None:
    tree = edited("lab", EVERYTHING, tmp_path)
    delivery.deliver(without_workloads(tree))
    own = tree.spec.namespaces
    names = {"agents": own.agents, "controllers": own.controllers}
    accounts = {o["metadata"]["name"]: o["metadata"] for o in tree.of_kind("ServiceAccount")}
    assert set(accounts) == set(RIGHTS)
    for name, meta in accounts.items():
        expected = list(written(RIGHTS[name], names))
        built_in = set(_of_roles(plane.api, BUILT_IN.get(name, ())))
        for namespace in (own.agents, own.controllers, "kube-system", "default"):
            found = _own_rights(plane, meta["namespace"], name, namespace)
            wanted = {r for where, r in expected if where in (CLUSTER, namespace)} | built_in
            assert found == wanted, f"{name} in {namespace}"


@pytest.mark.parametrize("name", examples())
def test_examples_have_no_other_accounts(name: str) -> None:
    names = {o["metadata"]["name"] for o in example(name).of_kind("ServiceAccount")}
    assert names <= set(RIGHTS)


def test_extended_resources_are_a_right_of_their_own(
    delivery: Delivery, plane: Plane, tmp_path: Path
) -> None:
    options = {"/components/node-feature-discovery": {"extendedResources": True}}
    tree = edited("lab", options, tmp_path)
    delivery.deliver(without_workloads(tree))
    controllers = tree.spec.namespaces.controllers
    found = _own_rights(plane, controllers, "nfd-master", "default")
    plain = {right for where, right in written(RIGHTS["nfd-master"], {}) if where == CLUSTER}
    assert found == plain | {("patch", "nodes/status", "")}


def test_kubectl_shows_the_same(delivery: Delivery, plane: Plane) -> None:
    """The table is read through the API that is behind ``kubectl auth can-i --list``."""
    tree = example("lab")
    delivery.deliver(without_workloads(tree))
    agents = tree.spec.namespaces.agents
    user = f"--as=system:serviceaccount:{agents}:gpu-feature-discovery"
    listed = plane.kubectl("auth", "can-i", "--list", "--no-headers", "-n", agents, user)
    assert listed.returncode == 0, listed.stderr
    ours = [line.split() for line in listed.stdout.splitlines() if FEATURES in line]
    assert ours == [[FEATURES, "[]", "[]", "[get", "create", "update]"]]
    for verb, answer in (("create", "yes"), ("delete", "no"), ("list", "no")):
        said = plane.kubectl("auth", "can-i", verb, FEATURES, "-n", agents, user)
        assert said.stdout.strip() == answer


def _own_rights(plane: Plane, home: str, account: str, namespace: str) -> set[Right]:
    """Return an account's rights beyond those that any account has."""
    found = []
    for name in (account, "default"):
        api = plane.api.as_user(containers.token(plane, home, name))
        found.append(granted(api, namespace))
        api.close()
    return found[0] - found[1]


def _of_roles(api: Api, roles: tuple[str, ...]) -> Iterator[Right]:
    for role in roles:
        path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"
        for rule in api.get(path)["rules"]:
            yield from of_rule(rule)
