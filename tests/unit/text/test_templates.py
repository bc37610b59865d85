"""Templates decide nothing, know only their record, and take text of a spec as text."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from jinja2 import UndefinedError, nodes

from gpugen.model.spec import ClusterSpec
from gpugen.render.hosts_readme import readme
from gpugen.text import templates
from support.component_specs import cluster, pool

NAMES = sorted(
    path.relative_to(templates.PACKAGE).as_posix() for path in templates.PACKAGE.rglob("*.j2")
)
ALLOWED = (  # what a template may be made of
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr),
    *(nodes.For, nodes.If, nodes.Include, nodes.Const, nodes.Not),
)
MARKS = "{{ 7 * 7 }}{% raw %}{# x #}"


class Line(NamedTuple):
    """A record of a test."""

    source: str
    collections: str
    ssh_options: tuple[str, ...]


def _walk(node: nodes.Node) -> list[nodes.Node]:
    return [node, *(each for child in node.iter_child_nodes() for each in _walk(child))]


@pytest.mark.parametrize("name", NAMES)
def test_a_template_decides_nothing(name: str) -> None:
    """It has loops, and conditions on what is there or not; no filter, call or comparison."""
    source = (templates.PACKAGE / name).read_text(encoding="utf-8")
    found = _walk(templates.environment().parse(source))
    assert {type(node) for node in found} <= set(ALLOWED)
    for node in found:
        if isinstance(node, nodes.If):
            assert isinstance(node.test, nodes.Name | nodes.Getattr | nodes.Not)


def test_a_field_that_the_record_has_not_is_an_error() -> None:
    class Short(NamedTuple):
        source: str
        collections: str

    with pytest.raises(UndefinedError, match="ssh_options"):
        templates.render("render/ansible.cfg.j2", Short("x", ""))


def test_text_of_a_spec_is_text() -> None:
    text = templates.render("render/ansible.cfg.j2", Line(MARKS, MARKS, (MARKS,)))
    assert text.count(MARKS) == 3
    assert "49" not in text


def test_what_there_is_not_leaves_no_line() -> None:
    def of(**more: object) -> str:
        spec: ClusterSpec = cluster(pool("a"), **more)
        return readme(spec, ["gpu_prerequisites", "nvidia_driver"])

    text = of()
    assert "\n\n\n" not in text
    assert text.endswith(" |\n")
    assert "kubectl" not in text.partition("1. ")[0]


def test_the_environment_is_one() -> None:
    assert templates.environment() is templates.environment()
