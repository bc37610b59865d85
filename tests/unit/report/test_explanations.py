"""Every id that a finding can have is explained, by one place, with the weight that it has."""

from __future__ import annotations

import re

from gpugen import checks
from gpugen.report.explanations import findings, of_stages

SOURCE = re.compile(r'"((?:[a-z0-9]+-)+[a-z0-9]+)"')


def test_the_explanations_are_sentences_in_the_order_of_ids() -> None:
    found = findings()
    assert list(found) == sorted(found)
    for name, explanation in found.items():
        assert explanation.text[-1] in ".)", name
        assert explanation.severity in {"error", "warning"}


def test_a_stage_and_a_check_never_explain_the_same_id() -> None:
    assert not {check.id for check in checks.discover()} & set(of_stages())
