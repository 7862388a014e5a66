"""What can be said of deploy/ by itself: queries against the metrics, manifests against the API's models."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, values
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from taquin.metrics import Metrics, PrometheusMetrics, _Counted, _Surveyed
from taquin.pools import PoolCount
from taquin.settings import Settings
from taquin.survey import Queue, Survey

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").rglob("*.yaml"))
NAME = re.compile(r"\btaquin_[a-z_]+")


@pytest.fixture(scope="module")
def exported():
    """The names of everything that a worker serves, with the labels of each."""
    pool = PoolCount("4x4:hard", 1, 1, 1, 1, refills=True)
    survey = Survey(0.0, [Queue("bulk", 1, 1.0, 1, 1)], 0, 0, 0.0, 0, [pool], [], 1, 1)
    before, kind = os.environ.get("PROMETHEUS_MULTIPROC_DIR"), values.ValueClass
    values.ValueClass = values.MutexValue
    metrics = PrometheusMetrics(Settings(metrics_port=0), lambda: survey)
    try:
        metrics.event("task.done")
        registry = CollectorRegistry()
        registry.register(_Counted(metrics._folder, metrics.absorb))
        registry.register(_Surveyed(lambda: survey))
        text = generate_latest(registry).decode()
    finally:
        metrics.stop()
        values.ValueClass = kind
        os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
        if before is not None:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = before
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rules():
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard_queries():
    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "taquin.json").read_text("utf-8"))
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]


QUERIES = [*((rule["alert"], rule["expr"]) for rule in rules()), *dashboard_queries()]


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[f"{where}-{n}" for n, (where, _) in enumerate(QUERIES)])
def test_every_query_asks_for_what_is_there(exported, where, query):
    """Names that nobody exports make a dashboard of empty panels and alerts that never come."""
    del where
    for name, selector in re.findall(r"\b(taquin_[a-z_]+)(?:\{([^}]*)\})?", query):
        assert name in exported
        assert set(re.findall(r"(\w+)\s*(?:=|!=|=~)", selector)) <= exported[name]
    for labels in re.findall(r"\bby \(([^)]*)\)", query):
        wanted = {label.strip() for label in labels.split(",")}
        assert wanted <= set().union(*(exported[name] for name in NAME.findall(query)))


def test_every_metric_is_in_the_reference(exported):
    """And nothing else is."""
    reference = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(taquin_[a-z_]+)`", reference, re.MULTILINE))
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in exported}
    assert told == families


def test_a_worker_without_metrics_takes_the_same_calls():
    """The one that counts nothing stands wherever the other one does."""
    verbs = {name for name in vars(PrometheusMetrics) if not name.startswith("_")} - {"absorb"}
    assert verbs == {name for name in vars(Metrics) if not name.startswith("_")}


@pytest.mark.parametrize("file", ["rules.yml", "prometheus.yml"])
def test_promtool_agrees(file):
    """Prometheus's own check, where it is installed."""
    promtool = shutil.which("promtool") or pytest.skip("promtool is not installed")
    kind = "rules" if file == "rules.yml" else "config"
    done = subprocess.run(
        [promtool, "check", kind, file], cwd=DEPLOY / "prometheus", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_says_what_to_do():
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "action"}, rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}


def documents():
    return [(file, doc) for file in MANIFESTS for doc in yaml.safe_load_all(file.read_text("utf-8"))]


def deployments():
    return [doc for _, doc in documents() if doc["kind"] == "Deployment"]


def test_kustomize_names_every_file():
    for folder in (DEPLOY / "kubernetes", DEPLOY / "kubernetes" / "keda"):
        kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))
        here = {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert set(kustomization["resources"]) - {".."} == here
        for generator in kustomization.get("configMapGenerator", ()):
            assert all((folder / env).is_file() for env in generator["envs"])


def test_manifests_are_plain_yaml():
    """Anchors and merge keys are read by some versions of kustomize alone."""
    for file in MANIFESTS:
        assert not re.search(r"[:\s][&*]\w|<<:", file.read_text("utf-8")), file


def test_settings_in_the_manifests_are_settings_of_ours():
    lines = (DEPLOY / "kubernetes" / "settings.env").read_text("utf-8").splitlines()
    values = dict(line.split("=", 1) for line in lines)
    Settings(**{name.removeprefix("TAQUIN_").lower(): value for name, value in values.items()})


def test_what_refers_to_another_finds_it():
    """Selectors, secrets, targets: kubectl would apply these without a word."""
    names = {(doc["kind"], doc["metadata"]["name"]) for _, doc in documents() if "metadata" in doc}
    labels = [doc["spec"]["template"]["metadata"]["labels"] for doc in deployments()]
    for _, doc in documents():
        if doc["kind"] in {"Deployment", "PodDisruptionBudget"}:
            assert doc["spec"]["selector"]["matchLabels"] in labels
        if doc["kind"] == "ScaledObject":
            assert ("Deployment", doc["spec"]["scaleTargetRef"]["name"]) in names
            queue = doc["spec"]["triggers"][0]["metadata"]["listName"]
            (target,) = (
                found for found in deployments() if found["metadata"]["name"] == doc["spec"]["scaleTargetRef"]["name"]
            )
            assert queue in target["spec"]["template"]["spec"]["containers"][0]["args"]
            assert ("TriggerAuthentication", doc["spec"]["triggers"][0]["authenticationRef"]["name"]) in names


def test_pods_have_no_rights():
    for deployment in deployments():
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert pod["terminationGracePeriodSeconds"] >= 30
        assert container["livenessProbe"]["exec"]["command"] == ["python", "-m", "taquin.health"]
        assert container["readinessProbe"]["exec"]["command"] == ["taquin", "health", "--ready"]


def test_manifests_are_what_the_api_takes():
    """Every field, by name and type, against the models of the package `kubernetes`, where that is installed."""
    models = pytest.importorskip("kubernetes.client.models")
    kinds = {"Deployment": "V1Deployment", "PodDisruptionBudget": "V1PodDisruptionBudget", "Namespace": "V1Namespace"}
    checked = [fit(models, kinds[doc["kind"]], doc, doc["kind"]) for _, doc in documents() if doc["kind"] in kinds]
    assert len(checked) == 5


def fit(models, kind, value, where):
    """Fail unless a value is of a kind of the API, all the way down."""
    listed = re.fullmatch(r"[Ll]ist\[(.*)]", kind)
    mapped = re.fullmatch(r"(?:[Dd]ict\[|dict\()str, (.*)[\])]", kind)
    if listed:
        assert isinstance(value, list), where
        return [fit(models, listed[1], item, f"{where}[{n}]") for n, item in enumerate(value)]
    if mapped:
        assert isinstance(value, dict), where
        return {key: fit(models, mapped[1], item, f"{where}.{key}") for key, item in value.items()}
    plain = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": str}
    if kind in plain:
        assert isinstance(value, plain[kind]), where
        assert kind != "int" or not isinstance(value, bool), where
        return value
    model = getattr(models, kind)
    names = {json_name: attribute for attribute, json_name in model.attribute_map.items()}
    assert isinstance(value, dict), where
    assert set(value) <= set(names), f"{where}: no such field as {set(value) - set(names)}"
    fields = {
        names[name]: fit(models, model.openapi_types[names[name]], item, f"{where}.{name}")
        for name, item in value.items()
    }
    return model(**fields)  # which refuses to be made without a field that must be there
