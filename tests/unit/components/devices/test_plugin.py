"""What the agents of the plugin's image share."""

from __future__ import annotations

from gpugen.components.devices import plugin
from support.specs import resolved


def test_one_version_holds_for_plugin_feature_discovery_and_mps() -> None:
    own = resolved({"/components": {"device-plugin": {"version": "0.20.0"}}})
    agents = ("device-plugin", "gpu-feature-discovery", "mps-control-daemon")
    assert {plugin.image(own, name).partition(":")[2][:7] for name in agents} == {"v0.20.0"}
