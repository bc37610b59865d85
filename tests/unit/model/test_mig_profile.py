"""Names of MIG profiles: what is one, its parts, and the resources that it becomes."""

from __future__ import annotations

import pytest

from gpugen.catalog import Catalog
from gpugen.model import mig_profile

CATALOG = Catalog()
PROFILES = sorted(
    {name for row in CATALOG.ids("migGeometries") for name in CATALOG.geometry(row).profiles}
)


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_of_the_catalogue_parses_to_itself(name: str) -> None:
    parsed = mig_profile.parse_profile(name)
    assert str(parsed) == name
    assert parsed.compute == parsed.slices


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1c.3g.20gb", (1, 3, 20, (), "")),
        ("1g.5gb+me", (1, 1, 5, ("me",), "+")),
        ("2g.48gb+me.all", (2, 2, 48, ("me.all",), "+")),
        ("1g.24gb-me", (1, 1, 24, ("me",), "-")),
        ("1g.24gb+gfx,me", (1, 1, 24, ("gfx", "me"), "+")),
    ],
)
def test_a_name_has_parts(text: str, parts: tuple[object, ...]) -> None:
    name = mig_profile.parse_profile(text)
    assert (name.compute, name.slices, name.gb, name.attributes, name.sign) == parts
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "1g", "1g.5", "g.5gb", "1g.5gb ", " 1g.5gb", "1g.5GB", "1g.5gb\n", "01g.5gb"),
        *("1g.5gb+", "1g.5gb+me+me", "1g.5gb+me,me", "1g.5gb+1me", "1g.5gb+.me", "1g.5gb+me."),
        *("1g.5gb+me-me", "1g.5gb+me,", "2c.1g.5gb", "1c.1c.1g.5gb", "1g.5gb.me", "all-1g.5gb"),
    ],
)
def test_what_mig_parted_refuses_is_no_profile(text: str) -> None:
    with pytest.raises(ValueError, match=r"profile|duplicate|compute slices"):
        mig_profile.parse_profile(text)


def test_the_dotted_form_is_explained() -> None:
    with pytest.raises(ValueError, match=r"the profile is '1g\.5gb\+me'"):
        mig_profile.parse_profile("1g.5gb.me")


@pytest.mark.parametrize(
    ("profile", "resource"),
    [
        ("1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("1g.5gb+me", "nvidia.com/mig-1g.5gb.me"),
        ("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
        ("2g.48gb-me", "nvidia.com/mig-2g.48gb-me"),
    ],
)
def test_a_profile_becomes_a_resource(profile: str, resource: str) -> None:
    assert mig_profile.resource_name(profile) == resource


@pytest.mark.parametrize(
    ("profile", "version", "registered", "own"),
    [
        ("1g.5gb", "v0.19.3", "nvidia.com/mig-1g.5gb", True),
        ("1g.5gb+me", "v0.19.3", "nvidia.com/mig-1g.5gb", False),
        ("1g.24gb-me", "0.19.3", "nvidia.com/mig-1g.24gb", False),
        ("1c.3g.20gb", "0.19.3", "nvidia.com/mig-3g.20gb", False),
        ("1g.5gb+me", "0.20.0", "nvidia.com/mig-1g.5gb.me", True),
        ("1c.3g.20gb", "0.20.0", "", False),
    ],
)
def test_what_a_plugin_registers(profile: str, version: str, registered: str, own: bool) -> None:
    assert mig_profile.advertised_name(profile, version) == registered
    assert mig_profile.is_advertised(profile, version) is own


def test_a_plugin_version_must_be_one() -> None:
    with pytest.raises(ValueError, match="'latest' is not a version"):
        mig_profile.is_advertised("1g.5gb", "latest")


@pytest.mark.parametrize(
    ("instance", "total", "gb"),
    [(4864, 40960, 5), (16384, 143771, 18), (11008, 95830, 12), (47488, 95830, 47), (1, 1024, 0)],
)
def test_the_gb_of_a_name_follow_from_the_total(instance: int, total: int, gb: int) -> None:
    assert mig_profile.memory_gb(instance, total) == gb
