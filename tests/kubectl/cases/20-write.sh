# shellcheck shell=bash disable=SC2317
# Create, apply, replace, edit, label, annotate, diff.

create_yaml_and_json() {
    cm created a=1 | file created.yaml
    has "configmap/created created" k create -f "$WORK/created.yaml"
    fails 'Error from server (AlreadyExists): error when creating "'"$WORK/created.yaml"'": configmaps "created" already exists' \
        k create -f "$WORK/created.yaml"
    file created.json <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"created-json"},"data":{"a":"2"}}'
    has "configmap/created-json created" k create -f "$WORK/created.json"
    same 2 k get cm created-json -o 'jsonpath={.data.a}'
    { cm many-1 && echo --- && cm many-2 && echo --- && widget many-3; } | file many.yaml
    has "widget.$GROUP/many-3 created" k create -f "$WORK/many.yaml"
    has "configmap/many-2" k get cm many-1 many-2 -o name
}
t "create -f: YAML, JSON, several documents, AlreadyExists" create_yaml_and_json

create_list() {
    file list.json <<<'{"apiVersion":"v1","kind":"List","items":[
        {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"in-list-1"}},
        {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"in-list-2"}}]}'
    has "configmap/in-list-2 created" k create -f "$WORK/list.json"
}
t "create -f: a List" create_list

generate_name() {
    file generated.yaml <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {generateName: gen-, labels: {generated: "yes"}}
YAML
    has "re:^configmap/gen-[a-z0-9]{5} created$" k create -f "$WORK/generated.yaml"
    k create -f "$WORK/generated.yaml"
    [ "$(k get cm -l generated=yes -o name | sort -u | wc -l)" -eq 2 ]
    fails "cannot use generate name with apply" k apply -f "$WORK/generated.yaml"
}
t "create -f: generateName" generate_name

server_set_fields() {
    file fields.yaml <<YAML
apiVersion: $GROUP/v1
kind: Widget
metadata:
  name: fields
  uid: 11111111-1111-1111-1111-111111111111
  generation: 7
  creationTimestamp: "2001-01-01T00:00:00Z"
spec: {color: red}
status: {phase: Forged}
YAML
    k create -f "$WORK/fields.yaml"
    same 1 k get "$WIDGET" fields -o 'jsonpath={.metadata.generation}'
    same "" k get "$WIDGET" fields -o 'jsonpath={.status.phase}'
    lacks 11111111-1111 k get "$WIDGET" fields -o yaml
    lacks 2001-01-01 k get "$WIDGET" fields -o yaml
    same 3 k get "$WIDGET" fields -o 'jsonpath={.spec.size}'
}
t "create: the server sets uid, generation, time and defaults, and drops a status" server_set_fields

namespace_rules() {
    { cm elsewhere && echo; } | sed "s/name: elsewhere/name: elsewhere\n  namespace: other-$NS/" | file elsewhere.yaml
    fails "the namespace from the provided object \"other-$NS\" does not match the namespace \"$NS\"" k create -f "$WORK/elsewhere.yaml"
    fails "namespaces \"other-$NS\" not found" kc create -f "$WORK/elsewhere.yaml"
    fails "re:the namespace of the (provided object|object) .*does not match" \
        kc create --raw "/api/v1/namespaces/$NS/configmaps" -f <(echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}')
}
t "create: wrong and missing namespaces" namespace_rules

bad_names() {
    cm Bad_Name | file bad-name.yaml
    fails 'The ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of' \
        k create -f "$WORK/bad-name.yaml"
    file no-name.yaml <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}'
    fails "name or generateName is required" k create -f "$WORK/no-name.yaml"
}
t "create: bad and missing names" bad_names

apply_built_in() {
    cm applied a=1 b=2 | file applied.yaml
    has "configmap/applied created" k apply -f "$WORK/applied.yaml"
    has "configmap/applied unchanged" k apply -f "$WORK/applied.yaml"
    k patch cm applied --type merge -p '{"data":{"foreign":"stays"}}'
    cm applied a=one | file applied.yaml
    has "configmap/applied configured" k apply -f "$WORK/applied.yaml"
    same '{"a":"one","foreign":"stays"}' k get cm applied -o 'jsonpath={.data}'
}
t "apply: created, unchanged, configured; removes what it owned only" apply_built_in

apply_custom() {
    widget applied 'color: red' 'note: first' | file widget.yaml
    has "widget.$GROUP/applied created" k apply -f "$WORK/widget.yaml"
    has "widget.$GROUP/applied unchanged" k apply -f "$WORK/widget.yaml"
    widget applied 'color: blue' | file widget.yaml
    has "widget.$GROUP/applied configured" k apply -f "$WORK/widget.yaml"
    same "blue " k get "$WIDGET" applied -o 'jsonpath={.spec.color} {.spec.note}'
}
t "apply: a custom resource" apply_custom

no_op_keeps_revision() {
    k create -f <(cm still a=1)
    local before after
    before=$(k get cm still -o 'jsonpath={.metadata.resourceVersion}')
    k patch cm still --type merge -p '{"data":{"a":"1"}}'
    k replace -f <(k get cm still -o yaml)
    after=$(k get cm still -o 'jsonpath={.metadata.resourceVersion}')
    [ "$before" = "$after" ] || { echo "resourceVersion went from $before to $after"; return 1; }
}
t "a write that changes nothing keeps the resourceVersion" no_op_keeps_revision

apply_bundle() {
    # The stage applied twelve CRDs at once; again, nothing changes.
    [ "$(grep -c "customresourcedefinition.apiextensions.k8s.io/.* created" "$WORK/crds.out")" -eq 12 ] || { cat "$WORK/crds.out"; return 1; }
    counts 12 unchanged kc apply -f "$WORK/crds.yaml"
    [ "$(grep -c "condition met" "$WORK/established.out")" -eq 12 ] || { cat "$WORK/established.out"; return 1; }
    {
        for n in one two three four five six seven eight; do
            printf -- '---\napiVersion: %s/v1\nkind: Plain%s\nmetadata: {name: it}\nspec: {interval: 5m}\n' "$GROUP" "${n^}"
        done
        printf -- '---\napiVersion: %s/v1\nkind: Gauge\nmetadata: {name: %s}\nspec: {value: 1.5}\n' "$GROUP" "$RUN"
        printf -- '---\napiVersion: %s/v1\nkind: Blob\nmetadata: {name: it}\nanything: {goes: [1, "two"]}\n' "$GROUP"
    } | file plain.yaml
    counts 10 created k apply -f "$WORK/plain.yaml"
    same true k get "fives.$GROUP" it -o 'jsonpath={.spec.enabled}'
    same two k get "blobs.$GROUP" it -o 'jsonpath={.anything.goes[1]}'
    same 1.5 kc get "gauges.$GROUP" "$RUN" -o 'jsonpath={.spec.value}'
    counts 10 unchanged k apply -f "$WORK/plain.yaml"
}
t "apply: a bundle of twelve CRDs, Established, then their objects" apply_bundle

versions_of_one_kind() {
    printf 'apiVersion: %s/v1alpha1\nkind: Gadget\nmetadata: {name: multi}\nspec: {mode: fast}\n' "$GROUP" | file gadget.yaml
    k create -f "$WORK/gadget.yaml"
    same "$GROUP/v1" k get "$GADGET" multi -o 'jsonpath={.apiVersion}'
    same "$GROUP/v1beta1 fast" k get "gadgets.v1beta1.$GROUP" multi -o 'jsonpath={.apiVersion} {.spec.mode}'
    same "$GROUP/v1alpha1" k get "gadgets.v1alpha1.$GROUP" multi -o 'jsonpath={.apiVersion}'
    same v1beta1 kc get crd "gadgets.$GROUP" -o 'jsonpath={.status.storedVersions[0]}'
}
t "one kind in three versions" versions_of_one_kind

dry_run() {
    cm dry | file dry.yaml
    has "configmap/dry created (server dry run)" k create --dry-run=server -f "$WORK/dry.yaml"
    has "configmap/dry created (dry run)" k create --dry-run=client -f "$WORK/dry.yaml"
    has "uid:" k create --dry-run=server -o yaml -f "$WORK/dry.yaml"
    gone cm dry
    k create -f "$WORK/dry.yaml"
    has "configmap/dry configured (server dry run)" k apply --dry-run=server -f <(cm dry k=other)
    has 're:configmap "dry" deleted.*\(server dry run\)' k delete --dry-run=server cm dry
    same v k get cm dry -o 'jsonpath={.data.k}'
}
t "--dry-run=server and client" dry_run

validation() {
    widget strict 'color: red' 'colour: red' 'parts: [{name: a, wait: 3}]' | file strict.yaml
    fails 'strict decoding error: unknown field "spec.colour", unknown field "spec.parts[0].wait"' k create -f "$WORK/strict.yaml"
    fails 'Widget in version "v1" cannot be handled as a Widget: strict decoding error' k create --validate=strict -f "$WORK/strict.yaml"
    has 'Warning: unknown field "spec.colour"' k create --validate=warn -f "$WORK/strict.yaml"
    same "" k get "$WIDGET" strict -o 'jsonpath={.spec.colour}'
    k delete "$WIDGET" strict
    lacks Warning k create --validate=ignore -f "$WORK/strict.yaml"
    cm strict | sed 's/^data:/datum: {}\ndata:/' | file strict-cm.yaml
    fails 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "datum"' \
        k create -f "$WORK/strict-cm.yaml"
}
t "--validate: strict, warn, ignore" validation

duplicates() {
    # kubectl itself drops duplicates from files; what is tested is the server.
    file dup.json <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dup"},"data":{"a":"1","a":"2"}}'
    fails 'strict decoding error: duplicate field "data.a"' \
        kc create --raw "/api/v1/namespaces/$NS/configmaps?fieldValidation=Strict" -f "$WORK/dup.json"
    gone cm dup
}
t "duplicate fields on the wire" duplicates

invalid_custom() {
    widget invalid 'color: pink' 'size: 500' | file invalid.yaml
    fails 'The Widget "invalid" is invalid:' k create -f "$WORK/invalid.yaml"
    fails 'spec.size: Invalid value: 500: spec.size in body should be less than or equal to 100' k create -f "$WORK/invalid.yaml"
    fails 'spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"' k create -f "$WORK/invalid.yaml"
    fails 'spec.color: Required value' k create -f <(widget invalid 'size: 3')
    fails 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"' k create -f <(widget invalid 'color: red' 'size: "3"')
    fails 're:spec\.parts\[1\]: Duplicate value: .*"name": ?"a"' k create -f <(widget invalid 'color: red' 'parts: [{name: a}, {name: a}]')
    fails "spec.parts[0].name: Invalid value: \"A1\": spec.parts[0].name in body should match '^[a-z]+\$'" k create -f <(widget invalid 'color: red' 'parts: [{name: A1}]')
    fails 're:spec.note: Too long: may not be (longer than 20|more than 20 (bytes|characters))' k create -f <(widget invalid 'color: red' 'note: abcdefghijklmnopqrstuvwxyz')
    gone "$WIDGET" invalid
}
t "an invalid custom resource is refused, field by field" invalid_custom

schema_features() {
    k create -f <(widget features 'color: red' 'port: http' 'note: null' 'free: {deep: {er: 1}}' 'options: {a: b}' 'parts: [{name: a}]')
    same http k get "$WIDGET" features -o 'jsonpath={.spec.port}'
    same 1 k get "$WIDGET" features -o 'jsonpath={.spec.free.deep.er}'
    same 1 k get "$WIDGET" features -o 'jsonpath={.spec.parts[0].weight}'
    k patch "$WIDGET" features --type merge -p '{"spec":{"port":8080}}'
    same 8080 k get "$WIDGET" features -o 'jsonpath={.spec.port}'
}
t "schemas: int-or-string, nullable, free form, defaults in lists" schema_features

replace() {
    cm replaced a=1 | file replaced.yaml
    fails 'error when replacing "'"$WORK/replaced.yaml"'": configmaps "replaced" not found' k replace -f "$WORK/replaced.yaml"
    k create -f "$WORK/replaced.yaml"
    k get cm replaced -o yaml | file stale.yaml
    cm replaced b=2 | file replaced.yaml
    has "configmap/replaced replaced" k replace -f "$WORK/replaced.yaml"
    same '{"b":"2"}' k get cm replaced -o 'jsonpath={.data}'
    fails 'Operation cannot be fulfilled on configmaps "replaced": the object has been modified; please apply your changes to the latest version and try again' \
        k replace -f "$WORK/stale.yaml"
    fails "Error from server (Conflict)" k replace -f "$WORK/stale.yaml"
    widget replaced 'color: green' | file widget.yaml
    k create -f "$WORK/widget.yaml"
    has "widget.$GROUP/replaced replaced" k replace -f <(widget replaced 'color: blue')
    local uid
    uid=$(k get cm replaced -o 'jsonpath={.metadata.uid}')
    has "configmap/replaced replaced" k replace --force -f "$WORK/replaced.yaml"
    [ "$uid" != "$(k get cm replaced -o 'jsonpath={.metadata.uid}')" ]
}
t "replace: whole object, stale resourceVersion, --force" replace

unconditional_update() {
    widget bare | file bare.yaml
    k create -f "$WORK/bare.yaml"
    fails "re:metadata.resourceVersion: Invalid value: (0x0|0): must be specified for an update" \
        kc replace --raw "/apis/$GROUP/v1/namespaces/$NS/widgets/bare" \
        -f <(printf '{"apiVersion":"%s/v1","kind":"Widget","metadata":{"name":"bare"},"spec":{"color":"blue"}}' "$GROUP")
}
t "replace: a custom resource without resourceVersion is refused" unconditional_update

generation() {
    k create -f <(widget generation)
    k label "$WIDGET" generation touched=yes
    same 1 k get "$WIDGET" generation -o 'jsonpath={.metadata.generation}'
    k patch "$WIDGET" generation --type merge -p '{"spec":{"size":4}}'
    same 2 k get "$WIDGET" generation -o 'jsonpath={.metadata.generation}'
    k patch "$WIDGET" generation --subresource=status --type merge -p '{"status":{"phase":"Seen"}}'
    same 2 k get "$WIDGET" generation -o 'jsonpath={.metadata.generation}'
}
t "generation counts changes of spec only" generation

edit_with() { # EDITOR KIND NAME
    KUBE_EDITOR=$1 k edit "$2" "$3"
}

edit() {
    k create -f <(cm edited word=before)
    has "configmap/edited edited" edit_with "sed -i s/before/after/" cm edited
    same after k get cm edited -o 'jsonpath={.data.word}'
    k create -f <(widget edited 'color: red')
    has "widget.$GROUP/edited edited" edit_with "sed -i s/red/green/" "$WIDGET" edited
    same green k get "$WIDGET" edited -o 'jsonpath={.spec.color}'
    has "no changes made" edit_with true cm edited
}
t "edit: a ConfigMap, a custom resource, no change" edit

label_and_annotate() {
    k create -f <(cm labelled)
    has "configmap/labelled labeled" k label cm labelled tier=a
    has "configmap/labelled not labeled" k label cm labelled tier=a
    fails "'tier' already has a value (a), and --overwrite is false" k label cm labelled tier=b
    has "configmap/labelled labeled" k label --overwrite cm labelled tier=b
    same b k get cm labelled -o 'jsonpath={.metadata.labels.tier}'
    has "configmap/labelled unlabeled" k label cm labelled tier-
    fails "re:invalid|Invalid" k label cm labelled 'tier=not valid'
    has "configmap/labelled annotated" k annotate cm labelled note=x
    fails "already has a value (x)" k annotate cm labelled note=y
    has "configmap/labelled annotated" k annotate --overwrite cm labelled note=y
    same y k get cm labelled -o 'jsonpath={.metadata.annotations.note}'
    k create -f <(widget labelled)
    has "widget.$GROUP/labelled labeled" k label "$WIDGET" labelled tier=a
    has "widget.$GROUP/labelled annotated" k annotate "$WIDGET" labelled note=x
}
t "label and annotate, with and without --overwrite" label_and_annotate

diff_() {
    cm diffed word=old | file diffed.yaml
    k apply -f "$WORK/diffed.yaml"
    same "" k diff -f "$WORK/diffed.yaml"
    local status=0
    k diff -f <(cm diffed word=new) >"$WORK/diff.out" || status=$?
    [ "$status" -eq 1 ] || { echo "exit $status"; return 1; }
    grep '^- *word: old' "$WORK/diff.out"
    grep '^+ *word: new' "$WORK/diff.out"
    status=0
    k diff -f <(widget diffed) >"$WORK/diff.out" || status=$?
    [ "$status" -eq 1 ]
    grep '^+ *color: red' "$WORK/diff.out"
    gone "$WIDGET" diffed
}
t "diff: exit 0 without, 1 with a difference, also for a new object" diff_
