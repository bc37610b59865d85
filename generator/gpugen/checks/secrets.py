"""The check that the spec contains no secrets."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.model.stated import Stated
from gpugen.text.credentials import names_secret, secret_in

HINT = "remove and revoke it; a spec refers to secrets by name only"
NAMES_OF_SECRETS = ("scrapeSecret", "secret")  # keys of the spec, outside of free mappings
BY_NAME = (
    "keep it in Ansible Vault, a Secret or the play's environment; if it is not a secret, rename it"
)


@check("secret-in-spec")
def secrets(spec: ClusterSpec) -> Iterator[Problem]:
    """The spec and the output are committed to git, so a credential in them is exposed.

    Detected are known kinds of credentials, long random text, and values in free mappings (host
    variables, labels, annotations) under the name of a password, key or token.
    """
    if not _is_suspect(spec.stated):
        return
    for at, key, value in spec.stated.scalars():
        if kind := secret_in(key):
            yield Problem(
                at=at,
                message=f"this key looks like {kind}, and the spec is committed to git",
                hint=HINT,
            )
        elif isinstance(value, str) and (kind := secret_in(f"{key}: {value}" if key else value)):
            yield Problem(
                at=at,
                message=f"this looks like {kind}, and the spec is committed to git",
                hint=HINT,
            )
        elif value not in ("", True, False) and _is_named(at):
            yield Problem(
                at=at,
                message=f"{key!r} is named like a secret, and the spec is committed to git",
                hint=BY_NAME,
            )


def _is_named(at: Pointer) -> bool:
    """Tell whether a key is named like a secret; the spec's own keys hold names of Secrets."""
    *above, key = at.parts
    if key in NAMES_OF_SECRETS and above[-1:] not in (["variables"], ["labels"], ["annotations"]):
        return False
    return names_secret(key)


def _is_suspect(stated: Stated) -> bool:
    """Tell whether a large spec contains anything worth a look at each text."""
    entries = list(stated.scalars())
    named = {key for key in {key for _, key, _ in entries} if names_secret(key)}
    if any(_is_named(place) for place, key, _ in entries if key in named):
        return True
    return bool(secret_in("\n".join(f"{key}: {value}" for _, key, value in entries)))
