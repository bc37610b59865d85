"""What the Kubernetes client does not know in an object, or takes for another type, is named."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.errors import GpugenError
from gpugen.kube.conform import difference

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "x"},
    "spec": {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": 1}]}]},
}


def with_container(**changes: Any) -> dict[str, Any]:
    return {**POD, "spec": {"containers": [{**POD["spec"]["containers"][0], **changes}]}}


def test_a_sound_object_does_not_differ() -> None:
    assert difference(POD) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"imagePolicy": "x"}, "/spec/containers/0/imagePolicy is not a field of the API"),
        ({"ports": [{"containerPort": "http"}]}, "containerPort"),
        ({"ports": [{"name": "x"}]}, "containerPort"),  # a field that must be there
        ({"resources": {"limit": {}}}, "/spec/containers/0/resources/limit is not a field"),
        ({"args": "--x"}, "args"),
    ],
)
def test_what_the_api_does_not_have_is_named(changes: dict[str, Any], said: str) -> None:
    assert said in difference(with_container(**changes))


def test_a_custom_resource_passes() -> None:
    rule = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "x": 1}
    assert difference(rule) == ""


def test_a_client_of_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models are another API's, so what it says of an object would be no bug of gpugen."""
    monkeypatch.setattr("kubernetes.__version__", "31.0.0")
    with pytest.raises(GpugenError, match="another Kubernetes client than 31"):
        difference(POD)
