"""Where the clusters of a repository have the collection of the hosts' half."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Form(StrEnum):
    """Once beside the clusters, below each of them, or brought by whoever runs the plays."""

    SHARED = "shared"
    VENDORED = "vendored"
    EXTERNAL = "external"


class HostHalf(NamedTuple):
    """The form, and of an external collection its version."""

    form: Form = Form.SHARED
    version: str = ""


SHARED = HostHalf()
