#!/usr/bin/env python3
"""The official Python client against a Kubernetes API, case by case.

    KUBECONFIG=… python tests/python/flow.py [PART OF A CASE'S NAME…]

What is expected here is what kube-apiserver does, so the same cases pass against a real cluster.
Everything lives in a namespace and an API group of this run and is removed at the end.
"""

import datetime
import functools
import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

from harness import case, equal, eventually, is_gone, refused, run_all, widget_crd

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@case("version")
def version(stage):
    info = client.VersionApi().get_code()
    equal(info.major, "1")
    assert info.git_version.startswith("v1."), info.git_version


@case("discovery of groups and resources")
def discovery(stage):
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"apps", "apiextensions.k8s.io", "coordination.k8s.io", stage.group} <= groups, groups
    resources = {resource.name: resource for resource in stage.core.get_api_resources().resources}
    assert resources["configmaps"].namespaced
    assert "watch" in resources["configmaps"].verbs
    assert "namespaces/status" in resources


@case("namespaces")
def namespaces(stage):
    names = [item.metadata.name for item in stage.core.list_namespace().items]
    assert {"default", "kube-system", stage.namespace} <= set(names), names
    equal(stage.core.read_namespace(stage.namespace).status.phase, "Active")
    refused(409, "AlreadyExists", stage.core.create_namespace, {"metadata": {"name": stage.namespace}})


@case("ConfigMap: create, read, replace, delete")
def config_maps(stage):
    core, ns = stage.core, stage.namespace
    made = core.create_namespaced_config_map(ns, stage.config_map("crud", a="1"))
    assert made.metadata.uid and made.metadata.resource_version
    assert made.metadata.creation_timestamp.tzinfo is not None
    equal(core.read_namespaced_config_map("crud", ns).data, {"a": "1"})
    made.data = {"b": "2"}
    replaced = core.replace_namespaced_config_map("crud", ns, made)
    equal(replaced.data, {"b": "2"})
    assert replaced.metadata.resource_version != made.metadata.resource_version
    made.data = {"c": "3"}  # with the resourceVersion of before
    body = refused(409, "Conflict", core.replace_namespaced_config_map, "crud", ns, made)
    equal(body["details"]["name"], "crud")
    equal(body["details"]["kind"], "configmaps")
    status = core.delete_namespaced_config_map("crud", ns)
    equal(status["status"], "Success")
    body = refused(404, "NotFound", core.read_namespaced_config_map, "crud", ns)
    equal(body["message"], 'configmaps "crud" not found')


@case("ConfigMap: the three patch types")
def patches(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_config_map(ns, stage.config_map("patched", a="1", b="2"))
    # A dict goes out as a strategic or merge patch, a list as a JSON patch.
    equal(core.patch_namespaced_config_map("patched", ns, {"data": {"b": None, "c": "3"}}).data, {"a": "1", "c": "3"})
    patched = core.patch_namespaced_config_map("patched", ns, [{"op": "replace", "path": "/data/a", "value": "one"}])
    equal(patched.data["a"], "one")
    for kind in (MERGE, STRATEGIC):
        patched = core.patch_namespaced_config_map("patched", ns, {"data": {"c": kind}}, _content_type=kind)
        equal(patched.data["c"], kind)
    same = core.patch_namespaced_config_map("patched", ns, {"data": {"a": "one"}})
    equal(same.metadata.resource_version, patched.metadata.resource_version)


@case("Deployment: a strategic patch merges containers by name")
def deployments(stage):
    apps, ns = client.AppsV1Api(), stage.namespace
    labels = {"app": "d"}
    apps.create_namespaced_deployment(ns, {
        "metadata": {"name": "d"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]},
        }},
    })
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "y:2"}]}}}}
    got = apps.patch_namespaced_deployment("d", ns, patch, _content_type=STRATEGIC)
    equal({c.name: c.image for c in got.spec.template.spec.containers}, {"a": "x:1", "b": "y:2"})
    equal(got.metadata.generation, 2)
    apps.delete_namespaced_deployment("d", ns)


@case("custom objects: create, read, replace, patch, delete")
def custom_objects(stage):
    custom, where = stage.custom, stage.widgets()
    made = custom.create_namespaced_custom_object(*where, stage.widget("crud"))
    equal(made["spec"], {"color": "red", "size": 3})
    equal(made["metadata"]["generation"], 1)
    made["spec"]["color"] = "green"
    equal(custom.replace_namespaced_custom_object(*where, "crud", made)["metadata"]["generation"], 2)
    refused(409, "Conflict", custom.replace_namespaced_custom_object, *where, "crud", made)
    got = custom.patch_namespaced_custom_object(*where, "crud", {"spec": {"size": 9}}, _content_type=MERGE)
    equal(got["spec"], {"color": "green", "size": 9})
    got = custom.patch_namespaced_custom_object(
        *where, "crud", [{"op": "add", "path": "/spec/tags", "value": ["t"]}], _content_type=JSON)
    equal(got["spec"]["tags"], ["t"])
    refused(415, "UnsupportedMediaType", custom.patch_namespaced_custom_object,
            *where, "crud", {"spec": {"size": 1}}, _content_type=STRATEGIC)
    equal(custom.delete_namespaced_custom_object(*where, "crud")["status"], "Success")
    assert is_gone(custom.get_namespaced_custom_object, *where, "crud")


@case("custom objects: status and scale")
def subresources(stage):
    custom, where = stage.custom, stage.widgets()
    custom.create_namespaced_custom_object(*where, {**stage.widget("sub", replicas=1), "status": {"phase": "Forged"}})
    assert "phase" not in custom.get_namespaced_custom_object(*where, "sub").get("status", {})
    got = custom.patch_namespaced_custom_object_status(
        *where, "sub", {"spec": {"size": 50}, "status": {"phase": "Ready"}}, _content_type=MERGE)
    equal((got["spec"]["size"], got["status"]["phase"]), (3, "Ready"))
    equal(got["metadata"]["generation"], 1)
    got["status"]["phase"] = "Replaced"
    equal(custom.replace_namespaced_custom_object_status(*where, "sub", got)["status"]["phase"], "Replaced")
    equal(custom.get_namespaced_custom_object_scale(*where, "sub")["spec"]["replicas"], 1)
    custom.patch_namespaced_custom_object_scale(*where, "sub", {"spec": {"replicas": 4}}, _content_type=MERGE)
    equal(custom.get_namespaced_custom_object(*where, "sub")["spec"]["replicas"], 4)


@case("apply to a scale: a conflict, then by force")
def apply_scale(stage):
    custom, where = stage.custom, stage.widgets()
    custom.create_namespaced_custom_object(*where, stage.widget("applied-scale", replicas=1), field_manager="ann")
    wanted = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "applied-scale"}, "spec": {"replicas": 6}}
    call = functools.partial(
        custom.patch_namespaced_custom_object_scale, *where, "applied-scale", wanted,
        field_manager="bob", _content_type=APPLY)
    body = refused(409, "Conflict", call)
    equal([(cause["reason"], cause["field"]) for cause in body["details"]["causes"]],
          [("FieldManagerConflict", ".spec.replicas")])
    equal(call(force=True)["spec"]["replicas"], 6)
    fields = custom.get_namespaced_custom_object(*where, "applied-scale")["metadata"]["managedFields"]
    equal([(f["manager"], f["operation"]) for f in fields if f.get("subresource") == "scale"], [("bob", "Apply")])


@case("errors: bodies that can be parsed")
def errors(stage):
    custom, where = stage.custom, stage.widgets()
    body = refused(422, "Invalid", custom.create_namespaced_custom_object, *where, stage.widget("bad", color="pink", size=500))
    causes = {cause["field"]: cause["reason"] for cause in body["details"]["causes"]}
    equal(causes["spec.size"], "FieldValueInvalid")
    equal(causes["spec.color"], "FieldValueNotSupported")
    equal(body["details"]["group"], stage.group)
    equal(body["details"]["kind"], "Widget")
    body = refused(404, "NotFound", custom.get_namespaced_custom_object, *where, "nothing")
    equal(body["details"], {"name": "nothing", "group": stage.group, "kind": "widgets"})
    refused(404, "NotFound", stage.core.create_namespaced_config_map, "no-such-namespace", stage.config_map("x"))
    refused(400, "BadRequest", stage.core.list_namespaced_config_map, stage.namespace, label_selector="a in (")
    refused(400, "BadRequest", stage.core.list_namespaced_config_map, stage.namespace, field_selector="spec.x=1")
    body = refused(400, "BadRequest", custom.create_namespaced_custom_object,
                   *where, stage.widget("bad", colour="red"), field_validation="Strict")
    assert 'unknown field "spec.colour"' in body["message"], body["message"]
    try:
        custom.get_namespaced_custom_object(stage.group, "v1", stage.namespace, "gizmos", "x")
        raise AssertionError("an unknown resource was served")
    except ApiException as error:
        equal(error.status, 404)


@case("lists: selectors")
def selectors(stage):
    core, ns = stage.core, stage.namespace
    for name, labels in (("s-a", {"set": "s", "app": "a"}), ("s-b", {"set": "s", "app": "b"}), ("s-c", {"set": "s"})):
        core.create_namespaced_config_map(ns, stage.config_map(name, labels))

    def names(**options):
        return [item.metadata.name for item in core.list_namespaced_config_map(ns, **options).items]

    equal(names(label_selector="set=s"), ["s-a", "s-b", "s-c"])
    equal(names(label_selector="set=s,app in (a,c)"), ["s-a"])
    equal(names(label_selector="set=s,!app"), ["s-c"])
    equal(names(label_selector="set=s", field_selector="metadata.name!=s-b"), ["s-a", "s-c"])
    everywhere = core.list_config_map_for_all_namespaces(field_selector=f"metadata.namespace={ns},metadata.name=s-a")
    equal(len(everywhere.items), 1)
    gone = core.delete_collection_namespaced_config_map(ns, label_selector="set=s")
    assert gone.kind in ("Status", "ConfigMapList"), gone.kind
    equal(names(label_selector="set=s"), [])


@case("lists: limit and continue see one moment")
def paging(stage):
    custom, where = stage.custom, stage.widgets()
    for n in range(25):
        custom.create_namespaced_custom_object(*where, {**stage.widget(f"page-{n:02}")})
    first = custom.list_namespaced_custom_object(*where, limit=10)
    equal(len(first["items"]), 10)
    assert first["metadata"]["remainingItemCount"] >= 15, first["metadata"]
    # What happens between the pages is not seen by them.
    custom.create_namespaced_custom_object(*where, stage.widget("page-zz"))
    seen, token = first["items"], first["metadata"]["continue"]
    while token:
        page = custom.list_namespaced_custom_object(*where, limit=10, _continue=token)
        equal(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"])
        seen += page["items"]
        token = page["metadata"].get("continue")
    names = [item["metadata"]["name"] for item in seen if item["metadata"]["name"].startswith("page-")]
    equal(names, [f"page-{n:02}" for n in range(25)])
    refused(400, "BadRequest", custom.list_namespaced_custom_object, *where, limit=10, _continue="rubbish")


@case("lists: resourceVersion 0, exact, and from the future")
def list_versions(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_config_map(ns, stage.config_map("rv-1", {"rv": "y"}))
    before = core.list_namespaced_config_map(ns, label_selector="rv=y")
    core.create_namespaced_config_map(ns, stage.config_map("rv-2", {"rv": "y"}))
    assert core.list_namespaced_config_map(ns, resource_version="0").metadata.resource_version
    exact = core.list_namespaced_config_map(
        ns, label_selector="rv=y", resource_version=before.metadata.resource_version, resource_version_match="Exact")
    equal([item.metadata.name for item in exact.items], ["rv-1"])
    newer = core.list_namespaced_config_map(
        ns, label_selector="rv=y", resource_version=before.metadata.resource_version, resource_version_match="NotOlderThan")
    equal(len(newer.items), 2)


class Watching:
    """A watch in a thread; events are collected as (type, name)."""

    def __init__(self, call, *arguments, **options):
        self.watch = watch.Watch()
        self.events, self.error = [], None
        self.thread = threading.Thread(target=self._run, args=(call, arguments, options), daemon=True)
        self.thread.start()

    def _run(self, call, arguments, options):
        try:
            for event in self.watch.stream(call, *arguments, **options):
                item = event["object"]
                name = item["metadata"]["name"] if isinstance(item, dict) else item.metadata.name
                self.events.append((event["type"], name))
        except Exception as error:  # looked at by the case
            self.error = error

    def wait_for(self, *wanted):
        eventually(lambda: all(event in self.events for event in wanted) or self._raise())

    def _raise(self):
        if self.error:
            raise self.error
        return False


@case("watch: from a list's resourceVersion, all event types")
def watching(stage):
    core, ns = stage.core, stage.namespace
    start = core.list_namespaced_config_map(ns).metadata.resource_version
    watching = Watching(core.list_namespaced_config_map, ns, resource_version=start, timeout_seconds=20)
    core.create_namespaced_config_map(ns, stage.config_map("watched"))
    core.patch_namespaced_config_map("watched", ns, {"data": {"a": "1"}})
    core.delete_namespaced_config_map("watched", ns)
    watching.wait_for(("ADDED", "watched"), ("MODIFIED", "watched"), ("DELETED", "watched"))
    watching.watch.stop()
    mine = [event for event in watching.events if event[1] == "watched"]
    equal([kind for kind, _ in mine], ["ADDED", "MODIFIED", "DELETED"])


@case("watch: resume after the time-out loses nothing")
def resuming(stage):
    custom, where = stage.custom, stage.widgets()
    start = custom.list_namespaced_custom_object(*where)["metadata"]["resourceVersion"]
    custom.create_namespaced_custom_object(*where, stage.widget("resume-1"))
    first = watch.Watch()
    seen = [e["object"]["metadata"]["name"]
            for e in first.stream(custom.list_namespaced_custom_object, *where, resource_version=start, timeout_seconds=1)]
    assert "resume-1" in seen, seen
    custom.create_namespaced_custom_object(*where, stage.widget("resume-2"))
    again = watch.Watch()
    seen = [e["object"]["metadata"]["name"]
            for e in again.stream(custom.list_namespaced_custom_object, *where,
                                  resource_version=first.resource_version, timeout_seconds=1)]
    equal([name for name in seen if name.startswith("resume-")], ["resume-2"])


@case("watch: a label selector turns changes into ADDED and DELETED")
def watch_selector(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_config_map(ns, stage.config_map("moving"))
    watching = Watching(core.list_namespaced_config_map, ns, label_selector="in=yes", timeout_seconds=20)
    time.sleep(0.5)
    core.patch_namespaced_config_map("moving", ns, {"metadata": {"labels": {"in": "yes"}}})
    watching.wait_for(("ADDED", "moving"))
    core.patch_namespaced_config_map("moving", ns, {"metadata": {"labels": {"in": None}}})
    watching.wait_for(("DELETED", "moving"))
    watching.watch.stop()


@case("watch: without resourceVersion begins with what is there")
def watch_initial(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_config_map(ns, stage.config_map("initial"))
    events = [(e["type"], e["object"].metadata.name)
              for e in watch.Watch().stream(core.list_namespaced_config_map, ns, timeout_seconds=1)]
    assert ("ADDED", "initial") in events, events


@case("dynamic client: discovery, CRUD, server-side errors")
def dynamic_client(stage):
    dyn = dynamic.DynamicClient(client.ApiClient())
    widgets = dyn.resources.get(api_version=f"{stage.group}/v1", kind="Widget")
    assert widgets.namespaced
    made = widgets.create(body=stage.widget("dyn"), namespace=stage.namespace)
    equal(made.spec.size, 3)
    got = widgets.patch(name="dyn", namespace=stage.namespace, body={"spec": {"size": 8}}, content_type=MERGE)
    equal(got.spec.size, 8)
    assert any(item.metadata.name == "dyn" for item in widgets.get(namespace=stage.namespace).items)
    got = widgets.status.patch(
        name="dyn", namespace=stage.namespace, body={"status": {"phase": "Ok"}}, content_type=MERGE)
    equal(got.status.phase, "Ok")
    widgets.delete(name="dyn", namespace=stage.namespace)
    try:
        widgets.get(name="dyn", namespace=stage.namespace)
        raise AssertionError("still there")
    except dynamic.exceptions.NotFoundError as error:
        equal(error.status, 404)


@case("finalizers hold a deletion")
def finalizers(stage):
    custom, where = stage.custom, stage.widgets()
    held = stage.widget("held")
    held["metadata"]["finalizers"] = ["landbridge.test/hold"]
    custom.create_namespaced_custom_object(*where, held)
    deleted = custom.delete_namespaced_custom_object(*where, "held")
    assert deleted["metadata"]["deletionTimestamp"], deleted
    first = custom.get_namespaced_custom_object(*where, "held")["metadata"]["deletionTimestamp"]
    custom.delete_namespaced_custom_object(*where, "held")
    equal(custom.get_namespaced_custom_object(*where, "held")["metadata"]["deletionTimestamp"], first)
    custom.patch_namespaced_custom_object(*where, "held", {"metadata": {"finalizers": None}}, _content_type=MERGE)
    assert is_gone(custom.get_namespaced_custom_object, *where, "held")


@case("delete: preconditions, dry run, background propagation")
def deletion(stage):
    core, custom, ns, where = stage.core, stage.custom, stage.namespace, stage.widgets()
    owner = custom.create_namespaced_custom_object(*where, stage.widget("owner"))
    reference = {"apiVersion": owner["apiVersion"], "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = stage.config_map("child")
    child["metadata"]["ownerReferences"] = [reference]
    core.create_namespaced_config_map(ns, child)
    other = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
    refused(409, "Conflict", core.delete_namespaced_config_map, "child", ns, body=other)
    core.delete_namespaced_config_map("child", ns, dry_run="All")
    core.read_namespaced_config_map("child", ns)
    custom.delete_namespaced_custom_object(*where, "owner", body=client.V1DeleteOptions(propagation_policy="Background"))
    eventually(lambda: is_gone(core.read_namespaced_config_map, "child", ns), 30)


@case("dry run stores nothing")
def dry_run(stage):
    core, ns = stage.core, stage.namespace
    made = core.create_namespaced_config_map(ns, stage.config_map("dry"), dry_run="All")
    assert made.metadata.uid
    assert is_gone(core.read_namespaced_config_map, "dry", ns)


@case("generateName")
def generate_name(stage):
    core, ns = stage.core, stage.namespace
    made = [core.create_namespaced_config_map(ns, {"metadata": {"generateName": "gen-"}}) for _ in range(3)]
    names = {item.metadata.name for item in made}
    equal(len(names), 3)
    assert all(name.startswith("gen-") and len(name) == 9 for name in names), names


@case("Lease: acquire, renew, lose a race")
def leases(stage):
    coordination, ns = client.CoordinationV1Api(), stage.namespace
    now = datetime.datetime.now(datetime.timezone.utc)
    lease = coordination.create_namespaced_lease(ns, client.V1Lease(
        metadata=client.V1ObjectMeta(name="leader"),
        spec=client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15, acquire_time=now, renew_time=now)))
    equal(lease.spec.renew_time, now)  # microseconds survive
    stale = coordination.read_namespaced_lease("leader", ns)
    lease.spec.holder_identity = "b"
    coordination.replace_namespaced_lease("leader", ns, lease)
    stale.spec.holder_identity = "c"
    refused(409, "Conflict", coordination.replace_namespaced_lease, "leader", ns, stale)
    equal(coordination.read_namespaced_lease("leader", ns).spec.holder_identity, "b")


@case("Events in both API groups are one")
def events(stage):
    core, ns = stage.core, stage.namespace
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    target = core.create_namespaced_config_map(ns, stage.config_map("eventful"))
    core.create_namespaced_event(ns, client.CoreV1Event(
        metadata=client.V1ObjectMeta(generate_name="eventful-"),
        involved_object=client.V1ObjectReference(
            api_version="v1", kind="ConfigMap", name="eventful", namespace=ns, uid=target.metadata.uid),
        reason="Tested", message="by Python", type="Normal", first_timestamp=now, last_timestamp=now, count=1,
        source=client.V1EventSource(component="flow")))
    chosen = core.list_namespaced_event(ns, field_selector=f"involvedObject.uid={target.metadata.uid}")
    equal([event.message for event in chosen.items], ["by Python"])
    # Untyped: the client's model refuses events without eventTime, which old-style events do not have.
    modern = stage.custom.list_namespaced_custom_object("events.k8s.io", "v1", ns, "events", field_selector="reason=Tested")
    equal([(event["note"], event["regarding"]["name"]) for event in modern["items"]], [("by Python", "eventful")])


@case("Secret and Service: what the server fills in")
def filled_in(stage):
    core, ns = stage.core, stage.namespace
    secret = core.create_namespaced_secret(ns, {"metadata": {"name": "s"}, "stringData": {"k": "v"}})
    equal((secret.data, secret.type), ({"k": "dg=="}, "Opaque"))
    service = core.create_namespaced_service(ns, {"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 80}]}})
    assert service.spec.cluster_ip and service.spec.cluster_ip != "None"
    equal(service.spec.ports[0].protocol, "TCP")


@case("CRDs: a new one is served once Established, and gone once deleted")
def crd_life(stage):
    group = "life." + stage.group
    stage.extensions.create_custom_resource_definition(widget_crd(group, {"landbridge.test/run": stage.run}))

    def established():
        found = stage.extensions.read_custom_resource_definition(f"widgets.{group}")
        return any(c.type == "Established" and c.status == "True" for c in (found.status and found.status.conditions) or [])

    eventually(established, 30)
    where = (group, "v1", stage.namespace, "widgets")
    body = {**stage.widget("alive"), "apiVersion": f"{group}/v1"}
    stage.custom.create_namespaced_custom_object(*where, body)
    stage.extensions.delete_custom_resource_definition(f"widgets.{group}")
    eventually(lambda: is_gone(stage.extensions.read_custom_resource_definition, f"widgets.{group}"), 30)
    eventually(lambda: is_gone(stage.custom.list_namespaced_custom_object, *where), 30)


@case("sixteen threads, one counter: optimistic locking loses no increment")
def contention(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_config_map(ns, stage.config_map("counter", n="0"))
    problems = []

    def increment():
        mine = client.CoreV1Api(client.ApiClient())
        try:
            for _ in range(5):
                while True:
                    current = mine.read_namespaced_config_map("counter", ns)
                    current.data["n"] = str(int(current.data["n"]) + 1)
                    try:
                        mine.replace_namespaced_config_map("counter", ns, current)
                        break
                    except ApiException as error:
                        if error.status != 409:
                            raise
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=increment) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    equal(problems, [])
    equal(core.read_namespaced_config_map("counter", ns).data["n"], "80")


@case("server-side apply: two managers, a conflict, force")
def server_side_apply(stage):
    def apply(manager, force=None, **data):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sided"}, "data": data}
        return stage.core.patch_namespaced_config_map(
            "sided", stage.namespace, body, field_manager=manager, force=force, _content_type=APPLY
        )

    made = apply("ann", a="1")
    equal([(entry.manager, entry.operation) for entry in made.metadata.managed_fields], [("ann", "Apply")])
    equal(apply("bob", b="2").data, {"a": "1", "b": "2"})
    body = refused(409, "Conflict", apply, "bob", a="9")
    equal(body["details"]["causes"][0]["field"], ".data.a")
    equal(apply("bob", force=True, a="9").data, {"a": "9"})


@case("a service account's token, and what it may do")
def tokens(stage):
    core, ns = stage.core, stage.namespace
    core.create_namespaced_service_account(ns, {"metadata": {"name": "reader"}})
    rbac = client.RbacAuthorizationV1Api()
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    rbac.create_namespaced_role(ns, {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": ns}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    rbac.create_namespaced_role_binding(ns, {"metadata": {"name": "reader"}, "roleRef": role, "subjects": [subject]})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = core.create_namespaced_service_account_token("reader", ns, request).status.token

    admin = client.Configuration.get_default_copy()
    mine = client.Configuration(host=admin.host)
    mine.ssl_ca_cert = admin.ssl_ca_cert
    mine.api_key = {"authorization": f"Bearer {token}"}
    reader = client.ApiClient(mine)
    api = client.CoreV1Api(reader)
    api.list_namespaced_config_map(ns)
    body = refused(403, "Forbidden", api.list_namespaced_secret, ns)
    assert f'User "system:serviceaccount:{ns}:reader" cannot list resource "secrets"' in body["message"], body
    refused(403, "Forbidden", api.create_namespaced_config_map, ns, stage.config_map("no"))
    wanted = {"namespace": ns, "verb": "list", "resource": "configmaps"}
    review = {"spec": {"resourceAttributes": wanted}}
    access = client.AuthorizationV1Api(reader)
    assert access.create_self_subject_access_review(review).status.allowed
    review["spec"]["resourceAttributes"]["verb"] = "delete"
    assert not access.create_self_subject_access_review(review).status.allowed
    mine.api_key = {"authorization": f"Bearer {token}x"}
    refused(401, "Unauthorized", client.CoreV1Api(client.ApiClient(mine)).list_namespaced_config_map, ns)


if __name__ == "__main__":
    config.load_kube_config()
    sys.exit(run_all(sys.argv[1:]))
