"""The Helm chart: linted, rendered, and compared with the published schemas of Kubernetes.

No cluster runs here. The ServiceMonitor has no published schema among these.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from longwire import __version__
from longwire.settings import Settings

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "longwire"
HELM = shutil.which("helm", path=f"{os.environ['PATH']}:{ROOT / '.brokers' / 'bin'}")
KEY = "0123456789abcdef" * 4
REQUIRED = {
    "publicUrl": "https://longwire.example.com",
    "secrets.database": "postgresql://longwire:secret@db/longwire",
    "secrets.secretKey": KEY,
    "secrets.metricsToken": "token",
}
EVERYTHING = {
    **REQUIRED,
    "autoscaling.enabled": "true",
    "ingress.enabled": "true",
    "ingress.tlsSecret": "tls",
    "trustedProxies[0]": "10.244.1.0/24",
    "serviceMonitor.enabled": "true",
    "networkPolicy.egress[0].to[0].ipBlock.cidr": "0.0.0.0/0",
}
EXISTING = {"publicUrl": "https://longwire.example.com", "existingSecret": "mine"}

needs_helm = pytest.mark.skipif(HELM is None, reason="helm is not installed; `make deploy-tools`")


def helm(command: str, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    sets = [part for name, value in values.items() for part in ("--set-string", f"{name}={value}")]
    booleans = {name for name, value in values.items() if value == "true"}
    sets = [
        "--set"
        if part == "--set-string" and sets[index + 1].partition("=")[0] in booleans
        else part
        for index, part in enumerate(sets)
    ]
    name = ["demo"] if command == "template" else []
    return subprocess.run(
        [str(HELM), command, *name, str(CHART), "--kube-version", "1.31.0", *sets],
        capture_output=True,
        text=True,
        check=False,
    )


def render(values: dict[str, str]) -> list[dict[str, Any]]:
    rendered = helm("template", values)
    assert rendered.returncode == 0, rendered.stderr
    return [each for each in yaml.safe_load_all(rendered.stdout) if each]


def pods(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in manifests:
        if each["kind"] in ("Deployment", "Job"):
            yield each["spec"]["template"]["spec"]


def test_the_chart_has_the_version_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__


@pytest.mark.slow
@needs_helm
def test_the_chart_is_linted_and_renders_what_kubernetes_accepts() -> None:
    linted = helm("lint", EVERYTHING)
    assert linted.returncode == 0, linted.stdout
    validate = importlib.util.find_spec("kubernetes_validate")
    for values in (REQUIRED, EVERYTHING, EXISTING):
        manifests = render(values)
        kinds = [each["kind"] for each in manifests]
        assert {"Deployment", "Service", "Job", "PodDisruptionBudget", "NetworkPolicy"} <= set(
            kinds
        )
        assert ("Secret" in kinds) == (values is not EXISTING)
        if values is EVERYTHING:
            assert {"HorizontalPodAutoscaler", "Ingress", "ServiceMonitor"} <= set(kinds)
        if validate is not None:
            for each in manifests:
                check_schema(each)
    if validate is None:
        pytest.skip("rendered, but not compared with schemas: kubernetes-validate is not installed")


def check_schema(manifest: dict[str, Any]) -> None:
    kubernetes_validate: Any = importlib.import_module("kubernetes_validate")
    if manifest["kind"] != "ServiceMonitor":
        kubernetes_validate.validate(manifest, "1.31", strict=True)


@needs_helm
def test_pods_are_confined_and_get_their_secrets_as_files() -> None:
    for pod in pods(render(EVERYTHING)):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        variables = {each["name"]: each["value"] for each in container["env"]}
        known = {f"LONGWIRE_{name.upper()}" for name in Settings.__dataclass_fields__}
        assert {name.removesuffix("_FILE") for name in variables} <= known
        assert KEY not in str(pod) and "secret@db" not in str(pod)
        mounted = {each["mountPath"] for each in container["volumeMounts"]}
        assert all(
            os.path.dirname(value) in mounted
            for name, value in variables.items()
            if name.endswith("_FILE")
        )


@needs_helm
@pytest.mark.parametrize("missing", REQUIRED)
def test_a_value_that_is_missing_is_named(missing: str) -> None:
    failed = helm("template", {name: REQUIRED[name] for name in REQUIRED if name != missing})
    assert failed.returncode != 0
    assert missing in failed.stderr


def list_variables(values: dict[str, str]) -> dict[str, str]:
    (pod,) = [each for each in pods(render(values)) if each["containers"][0]["args"] == ["serve"]]
    return {each["name"]: each["value"] for each in pod["containers"][0]["env"]}


@needs_helm
def test_no_proxy_is_trusted_that_nobody_has_named() -> None:
    assert "LONGWIRE_TRUSTED_PROXIES" not in list_variables(REQUIRED)
    assert list_variables(EVERYTHING)["LONGWIRE_TRUSTED_PROXIES"] == "10.244.1.0/24"
    failed = helm("template", {**REQUIRED, "ingress.enabled": "true"})
    assert failed.returncode != 0 and "trustedProxies is required" in failed.stderr
