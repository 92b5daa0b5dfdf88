# shellcheck shell=bash disable=SC2317
# The patch types and the subresources.

merge_patch() {
    k create -f <(cm merged a=1 b=2)
    has "configmap/merged patched" k patch cm merged --type merge -p '{"data":{"a":"one","b":null,"c":"3"}}'
    same '{"a":"one","c":"3"}' k get cm merged -o 'jsonpath={.data}'
    has "configmap/merged patched (no change)" k patch cm merged --type merge -p '{"data":{"a":"one"}}'
    fails 'configmaps "nothing" not found' k patch cm nothing --type merge -p '{"data":{"a":"one"}}'
}
t "patch --type merge" merge_patch

json_patch() {
    k create -f <(cm jsoned a=1)
    k patch cm jsoned --type json -p '[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"2"},{"op":"add","path":"/data/b","value":"3"}]'
    same '{"a":"2","b":"3"}' k get cm jsoned -o 'jsonpath={.data}'
    fails "the server rejected our request due to an error in our request" \
        k patch cm jsoned --type json -p '[{"op":"test","path":"/data/a","value":"9"},{"op":"remove","path":"/data/a"}]'
    same 2 k get cm jsoned -o 'jsonpath={.data.a}'
    fails "re:Invalid|invalid|rejected" k patch cm jsoned --type json -p '[{"op":"remove","path":"/data/none"}]'
}
t "patch --type json: all or nothing" json_patch

deployment() { # NAME: with two containers and no pods
    cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  replicas: 0
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
      - {name: main, image: example.invalid/main:1}
      - name: side
        image: example.invalid/side:1
        env: [{name: A, value: "1"}]
        ports: [{containerPort: 80}]
YAML
}

strategic_patch() {
    k create -f <(deployment strategic)
    images() { k get deploy strategic -o 'jsonpath={range .spec.template.spec.containers[*]}{.name}={.image} {end}'; }
    k patch deploy strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.invalid/side:2"}]}}}}'
    has "side=example.invalid/side:2" images
    has "main=example.invalid/main:1" images
    k patch deploy strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","env":[{"name":"B","value":"2"}]}]}}}}'
    has "A" k get deploy strategic -o 'jsonpath={.spec.template.spec.containers[?(@.name=="side")].env[*].name}'
    has "B" k get deploy strategic -o 'jsonpath={.spec.template.spec.containers[?(@.name=="side")].env[*].name}'
    # shellcheck disable=SC2016 # $patch is a word of the patch
    k patch deploy strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"}]}}}}'
    lacks "main=" images
    # A merge patch has no keys: the list is replaced.
    k patch deploy strategic --type merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"example.invalid/only:1"}]}}}}'
    same "only=example.invalid/only:1 " images
}
t "patch --type strategic: lists merge by key, \$patch: delete" strategic_patch

apply_deployment() {
    k apply -f <(deployment applied)
    k apply -f <(deployment applied | sed 's/main:1/main:2/; /name: A/d')
    same "example.invalid/main:2" k get deploy applied -o 'jsonpath={.spec.template.spec.containers[0].image}'
    same "" k get deploy applied -o 'jsonpath={.spec.template.spec.containers[1].env}'
    fails "field is immutable" k patch deploy applied -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'
}
t "apply: a Deployment, by strategic merge; its selector is immutable" apply_deployment

strategic_on_custom() {
    k create -f <(widget strategic)
    fails "accepted media types include" k patch "$WIDGET" strategic --type strategic -p '{"spec":{"color":"blue"}}'
    fails "application/merge-patch+json" k patch "$WIDGET" strategic -p '{"spec":{"color":"blue"}}'
    has "widget.$GROUP/strategic patched" k patch "$WIDGET" strategic --type merge -p '{"spec":{"color":"blue"}}'
}
t "patch --type strategic on a custom resource is refused with 415" strategic_on_custom

status_subresource() {
    k create -f <(widget status)
    k patch "$WIDGET" status --type merge -p '{"spec":{"size":9},"status":{"phase":"Ignored"}}'
    same "9 " k get "$WIDGET" status -o 'jsonpath={.spec.size} {.status.phase}'
    k patch "$WIDGET" status --subresource=status --type merge -p '{"spec":{"size":50},"status":{"phase":"Kept"}}'
    same "9 Kept" k get "$WIDGET" status -o 'jsonpath={.spec.size} {.status.phase}'
    has Kept k get "$WIDGET" status --subresource=status -o yaml
    fails "status.phase: Invalid value" k patch "$WIDGET" status --subresource=status --type merge -p '{"status":{"phase":3}}'
}
t "patch --subresource=status: each side keeps to itself" status_subresource

scale() {
    k create -f <(widget scaled 'color: red' 'replicas: 1')
    has "widget.$GROUP/scaled scaled" k scale "$WIDGET/scaled" --replicas=5
    same 5 k get "$WIDGET" scaled -o 'jsonpath={.spec.replicas}'
    has '"kind":"Scale"' kc get --raw "/apis/$GROUP/v1/namespaces/$NS/widgets/scaled/scale"
    has "deployment.apps/scaled created" k create -f <(deployment scaled)
    has "deployment.apps/scaled scaled" k scale deploy/scaled --replicas=0 --current-replicas=0
}
t "scale: a custom resource and a Deployment" scale

invalid_patches() {
    k create -f <(widget patched)
    fails "spec.size in body should be less than or equal to 100" k patch "$WIDGET" patched --type merge -p '{"spec":{"size":1000}}'
    fails "re:Invalid|BadRequest|cannot|unable" k patch "$WIDGET" patched --type merge -p '{"spec":"red"}'
    fails "re:metadata.name|name of the object|does not match" k patch "$WIDGET" patched --type merge -p '{"metadata":{"name":"other"}}'
    local version
    version=$(k get "$WIDGET" patched -o 'jsonpath={.metadata.resourceVersion}')
    k patch "$WIDGET" patched --type merge -p '{"spec":{"size":5}}'
    fails "the object has been modified" k patch "$WIDGET" patched --type merge -p '{"metadata":{"resourceVersion":"'"$version"'"},"spec":{"size":6}}'
    same 5 k get "$WIDGET" patched -o 'jsonpath={.spec.size}'
}
t "patch: what it must not do, and a stale resourceVersion" invalid_patches
