"""Credentials are found by their look and their names, and never printed whole."""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.checks import discover
from gpugen.checks.secrets import NAMES_OF_SECRETS
from gpugen.text.credentials import HIDDEN, KINDS, masked, names_secret, secret_in
from gpugen.validate.combined import combined_schema
from gpugen.validate.keys import places
from support import ROOT
from support.commands import gpugen
from support.specs import MINIMAL, changed, resolved

LETTERS = string.ascii_letters + string.digits


def drawn(alphabet: str, length: int, seed: int = 7) -> str:
    """Return a text as random as a credential, the same in every run."""
    chance = random.Random(f"{alphabet}{length}{seed}")
    return "".join(chance.choice(alphabet) for _ in range(length))


KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{drawn(LETTERS, 70)}"
PEM = base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\nMIIE").decode()
SEEDED = {  # begun with what their makers begin them with, the rest drawn
    "aws id": "AKIA" + drawn(string.ascii_uppercase + string.digits, 16),
    "aws secret": drawn(LETTERS + "/+", 40),
    "aws secret as documented": "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    "github": "gh" + "p_" + drawn(LETTERS, 36),
    "github, fine": "github" + "_pat_" + drawn(LETTERS, 60),
    "gitlab": "glp" + "at-" + drawn(LETTERS, 20),
    "gitlab runner": "GR" + "1348941" + drawn(LETTERS, 20),
    "gitlab deploy": "gld" + "t-" + drawn(LETTERS, 20),
    "slack": "xox" + "b-" + drawn(string.digits, 12) + "-" + drawn(LETTERS, 24),
    "slack hook": "https://hooks.slack.com/services/" + "T0001/B0001/" + drawn(LETTERS, 24),
    "google": "AI" + "za" + drawn(LETTERS + "_-", 35),
    "google oauth": "ya" + "29." + drawn(LETTERS + "_-", 40),
    "google client": "GOC" + "SPX-" + drawn(LETTERS + "_-", 28),
    "pypi": "pyp" + "i-AgEI" + drawn(LETTERS + "_-", 60),
    "npm": "np" + "m_" + drawn(LETTERS, 36),
    "docker": "dck" + "r_pat_" + drawn(LETTERS, 27),
    "openai": "s" + "k-" + drawn(LETTERS, 48),
    "openai project": "s" + "k-proj-" + drawn(LETTERS + "_-", 60),
    "anthropic": "s" + "k-ant-api03-" + drawn(LETTERS + "_-", 60),
    "stripe": "sk" + "_live_" + drawn(LETTERS, 24),
    "vault": "hv" + "s." + drawn(LETTERS, 24),
    "azure client": drawn(LETTERS, 3) + "8" + "Q~" + drawn(LETTERS, 34),
    "azure storage": "AccountName=x;AccountKey=" + drawn(LETTERS + "/+", 86) + "==",
    "azure signature": "https://x.blob.example/y?sv=1&sig=" + drawn(LETTERS, 40) + "%3D",
    "sendgrid": "S" + "G." + drawn(LETTERS, 22) + "." + drawn(LETTERS, 43),
    "bootstrap": "abcdef." + "0123456789abcdef",
    "kubeconfig": PEM,
    "openssh, base64": base64.b64encode(b"openssh-key-v1\0\0\0\0").decode(),
    "private key": KEY,
    "password": "connect with password=hunter2",
    "basic": "Authorization: Basic " + base64.b64encode(b"ops:Hunter2").decode(),
    "bearer": "Authorization: Bearer " + drawn(LETTERS, 24),
    "user in address": "https://ops:hunter2@git.example/x",
    "token in address": "https://" + drawn(LETTERS, 12) + "@git.example/x",
    "token in query": "https://git.example/x?access_token=" + drawn(LETTERS, 12),
    "age": "AGE-SECRET" + "-KEY-1" + drawn("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "databricks": "dap" + "i" + drawn("0123456789abcdef", 32),
    "hugging face": "h" + "f_" + drawn(LETTERS, 34),
    "nvidia": "nva" + "pi-" + drawn(LETTERS + "_-", 64),
    "jwt": f"ey{'J'}{drawn(LETTERS, 20)}.ey{'J'}{drawn(LETTERS, 30)}.{drawn(LETTERS, 30)}",
    "tailscale": "tsk" + "ey-auth-" + drawn(LETTERS, 30),
    "hex": drawn("0123456789abcdef", 32),
    "base64": drawn(LETTERS + "/+", 44),
    "base64 of addresses": drawn(LETTERS + "_-", 43),
}
HARMLESS = [
    *("sha256:" + "ab" * 32, "sha256: " + "9f" * 32, "EB693B3035CD5710E231E123A4B469963BF863CC"),
    *("08c6903cd8c0fde910a37f88322edcfb5dd907a8", "5f1c3f0e-8a1b-4c55-9d2e-0d6f6f0b7a11"),
    *("GPU-5f1c3f0e-8a1b-4c55-9d2e-0d6f6f0b7a11", "worker-1.averylongsubdomainofsomebody"),
    "gpu-train-0001.datacenter-frankfurt-am-main-2.internal.departmentofphysics.example.com",
    "registry.lab.example:5000/mirror/nvidia/k8s-device-plugin:v0.19.3-ubuntu24.04",
    "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-MIG-1g.24gb.shared",
    *("git@git.example:team/gpu.git", "ssh://git@git.example:22/gpu.git", "basic training for all"),
    *("the password is in the vault", "tokens: 4096 per second", "a token of the team: see wiki"),
    *("nvidia.com/mig-1g.5gb.shared", "NvidiaDriverKernelModulesOpen580Version1", "risk-averse"),
    *("/var/lib/kubelet/device-plugins/nvidia-gpu.sock", "gpudev.berlin-datacenter", "a" * 63),
    *("node01.examplecompanyxy", "worker.datacenterberl01", "12345678901234567890123456789012"),
]


@pytest.mark.parametrize("secret", SEEDED.values(), ids=SEEDED)
def test_known_kinds_are_found_and_masked(secret: str) -> None:
    for text in (secret, f"take {secret} for it", f"'{secret}'"):
        assert secret_in(text)
        assert HIDDEN in masked(text)
        assert secret not in masked(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_credential_is_left_alone(text: str) -> None:
    assert secret_in(text) == ""
    assert masked(text) == text


def test_every_kind_names_a_sign_of_it() -> None:
    for secret in SEEDED.values():
        kind = secret_in(secret)
        assert kind not in KINDS or any(sign in secret for sign in KINDS[kind][0])


@pytest.mark.parametrize("alphabet", [LETTERS + "/+", LETTERS + "_-", "0123456789abcdef"])
@pytest.mark.parametrize("length", [32, 43, 64, 88])
def test_random_texts_are_found(length: int, alphabet: str) -> None:
    texts = [drawn(alphabet, length, seed) for seed in range(500)]
    assert sum(not secret_in(text) for text in texts) <= 20


@pytest.mark.parametrize(
    "path",
    [
        *sorted(ROOT.glob("inventories/**/*.yaml")),
        *sorted(ROOT.glob("tests/golden/*/cluster.yaml")),
        *sorted((ROOT / "generator/gpugen/catalog").rglob("*.yaml")),
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_nothing_that_is_shipped_looks_like_a_credential(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        assert masked(line) == line


@pytest.mark.parametrize(
    "name",
    [
        *("db_pwd", "api_key", "apikey", "credential", "bind_pw", "license_key", "userPassword"),
        *("rootpw", "dbPass", "token", "hf_token", "passphrase", "pgpassword", "ssh_key", "APIKey"),
        *("auth_token", "example.com/pass", "secretKey", "x.example/cred"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("tokenizer", "compass", "bypass", "secret_name", "token_file", "keyboard", "rack", "key"),
        *("gpu_key", "primary_key", "keyFile", "sort_key", "spin", "partition", "monkey"),
        *("passive", "example.com/team", "storage_class"),
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not names_secret(name)


def test_no_key_of_the_spec_that_holds_text_is_named_like_a_secret() -> None:
    found = {
        key
        for _, key, schema in places(combined_schema())
        if names_secret(key) and schema.get("type") not in ("array", "object", "boolean")
    }
    assert found <= set(NAMES_OF_SECRETS)


def told(changes: dict[str, Any]) -> list[tuple[str, str]]:
    spec = resolved(changes)
    (check,) = (check for check in discover() if check.id == "secret-in-spec")
    return [(finding.at, finding.message) for finding in check.run(spec)]


def test_names_are_found_in_free_maps_and_values_anywhere() -> None:
    host = {"name": "x.lab.example", "variables": {"db_pwd": "hunter2", "rack": "b7"}}
    ((at, message),) = told({"/pools/0/hosts/0": host})
    assert at == "/pools/0/hosts/0/variables/db_pwd"
    assert "hunter2" not in message
    ((at, _),) = told({"/pools/0/labels": {"example.com/api-key": "abc"}})
    assert at == "/pools/0/labels/example.com~1api-key"
    ((at, _),) = told({"/pools/0/labels": {"example.com/" + SEEDED["hex"]: "abc"}})
    assert at.startswith("/pools/0/labels/")
    runfile = {"url": "https://x.example/a.run", "sha256": "9f" * 32}
    assert told({"/hostDefaults/driver/runfile": runfile}) == []


WRONG: dict[str, dict[str, Any]] = {  # what prints a value or a key of the user's
    "/{0}": {"at": 1},
    "/pools/0/{0}": {"at": 1},
    "/access/ssh": {"user": "{0}"},
    "/pools/0/gpu": {"model": "{0}", "count": 4},
    "/pools/0/name": {"value": "{0}"},
    "/kubernetes/distribution": {"value": "{0}"},
    "/pools/0/hosts/0": {"name": "x.lab.example", "address": "{0}"},
    "/pools/0/labels": {"{0}": "{0}"},
    "/components": {"{0}": True},
    "/extends": {"value": ["{0}"]},
    "/pools/0/hosts/1": {"name": "y.lab.example", "variables": {"api_token": "hunter2 {0}"}},
}


def filled(value: Any, secret: str) -> Any:
    if isinstance(value, dict):
        return {key.replace("{0}", secret): filled(item, secret) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, secret) for item in value]
    return value.replace("{0}", secret) if isinstance(value, str) else value


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
@pytest.mark.parametrize("kind", ["github", "aws secret", "hex", "databricks", "token in address"])
def test_no_message_prints_a_credential(kind: str, form: str, tmp_path: Path) -> None:
    secret = SEEDED[kind]
    for number, (pointer, wrong) in enumerate(WRONG.items()):
        value = wrong.get("value", wrong)
        where = pointer.replace("{0}", secret.replace("/", "~1"))
        folder = tmp_path / "inventories" / f"c{number}"
        folder.mkdir(parents=True)
        content = changed({where: filled(value, secret), "/name": f"c{number}"})
        (folder / "cluster.yaml").write_text(json.dumps(content), "utf-8")
    answer = gpugen("validate", "-o", form, cwd=tmp_path)
    assert answer.code == 1
    said = answer.out + answer.err
    assert HIDDEN in said
    for part in {secret, secret.replace("/", "~1"), secret[8:24], "hunter2"}:
        assert part not in said


@pytest.mark.parametrize("line", ["{0}", "a: {0}: b", "\t{0}: x", "- {0} [", "a: '{0}", "{0} = x"])
def test_nor_does_a_message_about_what_is_no_yaml(line: str, tmp_path: Path) -> None:
    secret = SEEDED["github"]
    spec = tmp_path / "inventories" / "lab" / "cluster.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(f"{MINIMAL.read_text('utf-8')}{line.format(secret)}\n", "utf-8")
    for arguments in (("validate",), ("explain", "lab"), ("render",)):
        answer = gpugen(*arguments, cwd=tmp_path)
        assert secret[4:20] not in answer.out + answer.err


def described(text: str) -> dict[str, Any]:
    return changed({"/name": "lab", "/hostDefaults/repositories": None, "/description": text})


def test_nor_do_explain_an_unknown_argument_and_a_diff(tmp_path: Path) -> None:
    secret = SEEDED["github"]
    spec = tmp_path / "inventories" / "lab" / "cluster.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(yaml.safe_dump(described("quiet")), "utf-8")
    assert gpugen("render", cwd=tmp_path).code == 0
    old = tmp_path / "out/lab/ansible/README.md"
    old.write_text(f"{old.read_text('utf-8')}{secret}\n", "utf-8")
    spec.write_text(yaml.safe_dump(described(secret)), "utf-8")
    answers = [
        gpugen("explain", "lab", cwd=tmp_path),
        gpugen("explain", "lab", "description", cwd=tmp_path),
        gpugen("explain", secret, cwd=tmp_path),
        gpugen("render", secret, cwd=tmp_path),
        gpugen("render", "--bad" + secret, cwd=tmp_path),
    ]
    spec.write_text(yaml.safe_dump(described("loud")), "utf-8")
    answers.append(gpugen("render", "--diff", cwd=tmp_path))
    assert "-" in answers[-1].out
    for answer in answers:
        assert secret[4:20] not in answer.out + answer.err
