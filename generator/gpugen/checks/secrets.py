"""The check that nothing secret stands in the spec."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.model.stated import Stated
from gpugen.text.credentials import names_secret, secret_in

HINT = "take it out and revoke it; the spec holds names of secrets only"
NAMES_OF_SECRETS = ("scrapeSecret", "secret")  # keys of the spec, outside of free mappings
BY_NAME = "keep it in Ansible Vault, a Secret or the play's environment; or give it another name"


@check("secret-in-spec")
def secrets(spec: ClusterSpec) -> Iterator[Problem]:
    """The spec and what follows from it are committed; a credential in them is known to everybody.

    Found is what has the look of a known kind of credential, long random text, and what stands in
    a free mapping (host variables, labels, annotations) under the name of a password, key or token.
    """
    if not _is_suspect(spec.stated):
        return
    for at, key, value in spec.stated.scalars():
        if kind := secret_in(key):
            yield Problem(
                at=at, message=f"this key looks like {kind}, and the spec is committed", hint=HINT
            )
        elif isinstance(value, str) and (kind := secret_in(f"{key}: {value}" if key else value)):
            yield Problem(
                at=at, message=f"this looks like {kind}, and the spec is committed", hint=HINT
            )
        elif value not in ("", True, False) and _is_named(at):
            yield Problem(
                at=at,
                message=f"{key!r} is named like a secret, and the spec is committed",
                hint=BY_NAME,
            )


def _is_named(at: Pointer) -> bool:
    """Tell whether a key is named like a secret; those of the spec hold the name of a Secret."""
    *above, key = at.parts
    if key in NAMES_OF_SECRETS and above[-1:] not in (["variables"], ["labels"], ["annotations"]):
        return False
    return names_secret(key)


def _is_suspect(stated: Stated) -> bool:
    """Tell at one go whether it is worth to look at every text of a large spec."""
    entries = list(stated.scalars())
    named = {key for key in {key for _, key, _ in entries} if names_secret(key)}
    if any(_is_named(place) for place, key, _ in entries if key in named):
        return True
    return bool(secret_in("\n".join(f"{key}: {value}" for _, key, value in entries)))
