"""Alerts on how the cluster's MIG manager cuts the nodes of a pool.

A new layout is merged before the play labels the nodes with its name. The manager restarts at once,
finds the old name in no file, says "failed" and cuts nothing: that is the node waiting for its
play, not a fault. So a state counts only beside the name that the spec expects; beside no name it
counts too, because kube-state-metrics may not pass the name on, and silence would hide a failure.
Source: NVIDIA/mig-parted v0.14.5, pkg/mig/reconfigure, Run and validateMigConfig.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.components.monitoring.prometheus.alert import ALLOW_LIST, Alert, Level
from gpugen.model.spec import NodePool

_NODE = "{{ $labels.node }}"
_LAYOUT = "label_nvidia_com_mig_config"
_STATE = "label_nvidia_com_mig_config_state"
_FAILED = f'{_STATE}="failed"'
_UNFINISHED = f'{_STATE}=~"pending|rebooting"'
_NO_STATE = f'{_STATE}=""'
_NO_LAYOUT = f'{_LAYOUT}=""'
_AGAIN = (
    "remove the label nvidia.com/mig.config and run the host play again: it sets the label anew."
)


def waiting(pool: NodePool) -> str:
    """Return PromQL for the nodes that carry another layout than the spec's: the play is due."""
    return _nodes(pool, f'{_LAYOUT}!~"|{pool.prediction.mig_config_name}"')


def alerts(pool: NodePool) -> Iterator[Alert]:
    """Yield the alerts of a pool that the cluster's manager cuts."""
    of = (("pool", pool.name),)
    expected = f'{_LAYOUT}=~"|{pool.prediction.mig_config_name}"'
    yield Alert(
        "GpuMigFailed",
        Level.CRITICAL,
        f"{_nodes(pool, _FAILED, expected)} == 1",
        "1m",
        f"{_NODE} could not be cut as the spec says",
        "The MIG manager gave up; the node has fewer instances than predicted, or none.",
        f"Look at the mig-manager's log on {_NODE}; drain the node, {_AGAIN}",
        of,
    )
    yield Alert(
        "GpuMigPending",
        Level.WARNING,
        f"{_nodes(pool, _UNFINISHED)} == 1",
        "30m",
        f"{_NODE} is being cut for more than half an hour",
        "The MIG manager hangs, mostly because something still uses a GPU. Its agents are paused "
        "until then, and nothing retries by itself.",
        f"Drain {_NODE}, {_AGAIN}",
        of,
    )
    yield Alert(
        "GpuMigStateUnknown",
        Level.WARNING,
        f"{_nodes(pool, _NO_STATE)} == 1\nor {_nodes(pool, _NO_LAYOUT)} == 1",
        "1h",
        f"{_NODE} does not say how it is cut",
        "The MIG manager or the host play has not run there, or kube-state-metrics may not show "
        "their labels.",
        f"Look for the mig-manager on {_NODE}; allow its labels with '{ALLOW_LIST}'.",
        of,
    )
    yield Alert(
        "GpuMigLayoutOutdated",
        Level.WARNING,
        f"{waiting(pool)} == 1",
        "24h",
        f"{_NODE} has the layout of a former spec for a day",
        "The cluster's half has the new MIG layout, and the host play that empties the node and "
        "cuts it has not run there. Until then nothing is compared with the spec on this node.",
        f"Run the host play for {_NODE}: ansible-playbook site.yml --limit pool_"
        f"{pool.name.replace('-', '_')}",
        of,
    )


def _nodes(pool: NodePool, *matchers: str) -> str:
    """Return PromQL for nodes of the pool whose labels match; labels not passed on are empty."""
    every = ",".join((f'label_gpugen_pool="{pool.name}"', *matchers))
    return f"max by (node) (kube_node_labels{{{every}}})"
