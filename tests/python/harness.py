"""One case is one function marked @case; each gets a Stage. All run, then a summary."""

import json
import time
import traceback
import uuid

from kubernetes import client
from kubernetes.client.exceptions import ApiException

CASES = []


def case(name):
    def mark(function):
        CASES.append((name, function))
        return function

    return mark


class Stage:
    """A namespace and an API group of this run's own, and the clients to reach them."""

    def __init__(self):
        self.run = "py" + uuid.uuid4().hex[:8]
        self.namespace = self.run
        self.group = f"{self.run}.landbridge.test"
        self.core = client.CoreV1Api()
        self.custom = client.CustomObjectsApi()
        self.extensions = client.ApiextensionsV1Api()

    def crd_name(self):
        return f"widgets.{self.group}"

    def set_up(self):
        labels = {"landbridge.test/run": self.run}
        self.core.create_namespace({"metadata": {"name": self.namespace, "labels": labels}})
        self.extensions.create_custom_resource_definition(widget_crd(self.group, labels))
        eventually(self.established, 30)

    def established(self):
        crd = self.extensions.read_custom_resource_definition(self.crd_name())
        conditions = {c.type: c.status for c in (crd.status and crd.status.conditions) or []}
        return conditions.get("Established") == "True" and conditions.get("NamesAccepted") == "True"

    def tear_down(self):
        for undo in (
            lambda: self.extensions.delete_custom_resource_definition(self.crd_name()),
            lambda: self.core.delete_namespace(self.namespace),
        ):
            try:
                undo()
            except ApiException:
                pass

    def widget(self, name, **spec):
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": {"color": "red", **spec},
        }

    def widgets(self):
        """The leading arguments of every CustomObjectsApi call."""
        return (self.group, "v1", self.namespace, "widgets")

    def config_map(self, name, labels=None, **data):
        return {"metadata": {"name": name, "labels": labels or {}}, "data": data}


def widget_crd(group, labels):
    string = {"type": "string"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}", "labels": labels},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["color"], "properties": {
                        "color": {"type": "string", "enum": ["red", "green", "blue"]},
                        "size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 3},
                        "replicas": {"type": "integer"},
                        "tags": {"type": "array", "items": string},
                    }},
                    "status": {"type": "object", "properties": {
                        "phase": string, "replicas": {"type": "integer"},
                    }},
                }}},
            }],
        },
    }


def equal(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def refused(status, reason, call, *arguments, **options):
    """The call must fail with this status; returns the parsed Status body."""
    try:
        got = call(*arguments, **options)
    except ApiException as error:
        assert error.status == status, f"status {error.status}, want {status}: {error.body}"
        body = json.loads(error.body)
        equal(body["kind"], "Status")
        equal(body["status"], "Failure")
        equal(body["code"], status)
        equal(body.get("reason"), reason)
        assert body.get("message"), "no message"
        return body
    raise AssertionError(f"expected {status} {reason}, but it succeeded: {got!r:.200}")


def eventually(check, seconds=15):
    deadline = time.monotonic() + seconds
    while True:
        if check():
            return
        assert time.monotonic() < deadline, f"did not happen within {seconds} s: {check}"
        time.sleep(0.1)


def is_gone(read, *arguments):
    try:
        read(*arguments)
    except ApiException as error:
        return error.status == 404
    return False


def run_all(words):
    stage = Stage()
    passed = failed = 0
    try:
        stage.set_up()
        for name, function in CASES:
            if words and not any(word in name for word in words):
                continue
            try:
                function(stage)
                passed += 1
                print(f"ok      {name}", flush=True)
            except Exception:  # one broken case must not hide the others
                failed += 1
                print(f"FAILED  {name}")
                print("        " + traceback.format_exc(limit=-3).replace("\n", "\n        "), flush=True)
    except Exception:
        failed += 1
        print("FAILED  setting the stage (a namespace and a CRD)")
        traceback.print_exc()
    finally:
        stage.tear_down()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
