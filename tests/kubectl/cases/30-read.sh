# shellcheck shell=bash disable=SC2317
# Get, list, watch, describe, wait.

namespaces_table() {
    has "NAME STATUS AGE" kc get ns "$NS"
    has "re:^$NS Active [0-9]+[smhd]" kc get ns "$NS"
    has "re:^default Active" kc get ns
    has "re:^kube-system Active" kc get ns
}
t "get ns: a table" namespaces_table

formats() {
    k create -f <(cm formats a=1 b=2)
    has "NAME DATA AGE" k get cm formats
    has "re:^formats 2 " k get cm formats
    has "kind: ConfigMap" k get cm formats -o yaml
    has '"kind": "ConfigMap"' k get cm formats -o json
    same "1 2" k get cm formats -o 'jsonpath={.data.a} {.data.b}'
    same "configmap/formats" k get cm formats -o name
    has "re:^NAME B ?$" k get cm formats -o 'custom-columns=NAME:.metadata.name,B:.data.b'
    has "re:^formats 2 ?$" k get cm formats -o 'custom-columns=NAME:.metadata.name,B:.data.b'
    has "formats 2" k get cm formats -o go-template='{{.metadata.name}} {{.data.b}}'
    lacks managedFields k get cm formats -o yaml
    has '"kind": "List"' k get cm -o json
    has "re:^formats 2 .*<none>" k get cm formats --show-labels
}
t "get -o: table, yaml, json, jsonpath, name, custom-columns, go-template" formats

printer_columns() {
    k create -f <(widget columns 'color: blue' 'size: 7')
    k patch "$WIDGET" columns --subresource=status --type merge -p '{"status":{"phase":"Shiny"}}'
    has "re:^NAME SIZE COLOR AGE ?$" k get "$WIDGET" columns
    has "re:^columns 7 blue [0-9]+[smh]" k get "$WIDGET" columns
    has "re:^NAME SIZE COLOR PHASE AGE ?$" k get "$WIDGET" columns -o wide
    has "re:^columns 7 blue Shiny " k get "$WIDGET" columns -o wide
    has "columns" k get "wdg$RUN"
    has "widget.$GROUP/columns" k get "lbtest$RUN" -o name
    has "re:^NAMESPACE NAME SIZE" kc get "$WIDGET" -A
}
t "get: printer columns, -o wide, short name, category, -A" printer_columns

several_kinds() {
    k create -f <(cm several) -f <(widget several)
    has "configmap/several" k get cm/several "$WIDGET/several"
    has "widget.$GROUP/several" k get "cm,$WIDGET"
    has "configmap/several" k get -f <(cm several) -o name
}
t "get: several kinds at once" several_kinds

missing() {
    fails 'Error from server (NotFound): configmaps "missing" not found' k get cm missing
    fails "Error from server (NotFound): widgets.$GROUP \"missing\" not found" k get "$WIDGET" missing
    local status=0
    k get cm missing >/dev/null 2>&1 || status=$?
    [ "$status" -eq 1 ]
    same "" k get cm missing --ignore-not-found
    has "No resources found in $NS namespace." k get leases
    has "No resources found" k get cm -l nobody=has-this
}
t "get: NotFound text and exit code, empty lists" missing

selectors() {
    k create -f <(cm sel-a) -f <(cm sel-b) -f <(cm sel-c)
    k label cm sel-a set=x app=a
    k label cm sel-b set=x app=b
    k label cm sel-c set=x
    names() { k get cm -o 'jsonpath={.items[*].metadata.name}' "$@"; }
    same "sel-a" names -l set=x,app=a
    same "sel-a sel-b" names -l 'set==x,app in (a, b)'
    same "sel-b sel-c" names -l 'set=x,app!=a'
    same "sel-c" names -l 'set=x,!app'
    same "sel-a sel-b" names -l 'set=x,app'
    same "sel-c" names -l 'set=x,app notin (a,b)'
    same "sel-b" names --field-selector metadata.name=sel-b
    same "sel-a sel-c" names -l set=x --field-selector metadata.name!=sel-b
    fails "unable to parse requirement" k get cm -l 'app in ('
    fails "BadRequest" k get cm -l 'app in ('
    fails "is not a known field selector" k get cm --field-selector spec.nothing=x
    fails "field label not supported: spec.nothing" k get "$WIDGET" --field-selector spec.nothing=x
}
t "get -l and --field-selector, good and bad" selectors

paging() {
    for n in $(seq -w 30); do cm "page-$n" && echo ---; done | sed 's/^data:/  labels: {paged: "yes"}\ndata:/' | file pages.yaml
    k create -f "$WORK/pages.yaml"
    [ "$(k get cm -l paged=yes --chunk-size=7 -o name | sort -u | wc -l)" -eq 30 ]
    [ "$(k get cm -l paged=yes --chunk-size=7 --no-headers | wc -l)" -eq 30 ]
    has '"continue":"' kc get --raw "/api/v1/namespaces/$NS/configmaps?limit=7"
    has '"remainingItemCount":' kc get --raw "/api/v1/namespaces/$NS/configmaps?limit=7"
    lacks '"remainingItemCount":' kc get --raw "/api/v1/namespaces/$NS/configmaps?limit=7&labelSelector=paged%3Dyes"
    fails "re:continue|Bad" kc get --raw "/api/v1/namespaces/$NS/configmaps?limit=7&continue=rubbish"
    k delete cm -l paged=yes
}
t "get --chunk-size: thirty objects by sevens" paging

watching() {
    k_exec get cm -l seen=yes --watch --output-watch-events >"$WORK/watch.out" 2>&1 &
    local watcher=$!
    # shellcheck disable=SC2064
    trap "kill $watcher 2>/dev/null" EXIT
    sleep 1
    k create -f <(cm watched | sed 's/^data:/  labels: {seen: "yes"}\ndata:/')
    eventually 10 grep -Eq '^ADDED +watched' "$WORK/watch.out"
    k patch cm watched --type merge -p '{"data":{"more":"1"}}'
    eventually 10 grep -Eq '^MODIFIED +watched +2' "$WORK/watch.out"
    # An object that no longer matches is, to this watch, deleted.
    k label cm watched seen-
    eventually 10 grep -Eq '^DELETED +watched' "$WORK/watch.out"
    k_exec get "$WIDGET" --watch-only -o name >"$WORK/watch-only.out" 2>&1 &
    local second=$!
    # shellcheck disable=SC2064
    trap "kill $watcher $second 2>/dev/null" EXIT
    sleep 1
    k create -f <(widget watched)
    eventually 10 grep -Fq "widget.$GROUP/watched" "$WORK/watch-only.out"
}
t "get --watch: added, modified, and no longer matching" watching

event_for() { # KIND NAME API-VERSION: an event about the object
    local uid
    uid=$(k get "$1" "$2" -o 'jsonpath={.metadata.uid}')
    cat <<YAML
apiVersion: v1
kind: Event
metadata: {name: about-$2-${1,,}}
involvedObject: {apiVersion: $3, kind: $1, name: $2, namespace: $NS, uid: $uid}
reason: Tested
message: something happened to $2
type: Normal
source: {component: landbridge-test}
firstTimestamp: "$(date -u +%FT%TZ)"
lastTimestamp: "$(date -u +%FT%TZ)"
count: 1
YAML
}

describe() {
    k create -f <(widget described 'color: blue' 'note: hello') -f <(cm described word=hello)
    k create -f <(event_for Widget described "$GROUP/v1")
    has "Name: described" k describe "$WIDGET" described
    has "Kind: Widget" k describe "$WIDGET" described
    has "Color: blue" k describe "$WIDGET" described
    has "re:Normal Tested .*landbridge-test something happened to described" k describe "$WIDGET" described
    has "word:" k describe cm described
    has "hello" k describe cm described
    has "Events: <none>" k describe cm described
    fails "NotFound" k describe cm nothing-here
}
t "describe: a custom resource with events, a ConfigMap" describe

describe_service() {
    file service.yaml <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: described}
spec:
  selector: {app: none}
  ports: [{name: http, port: 80, targetPort: 8080}]
YAML
    k create -f "$WORK/service.yaml"
    has "Name: described" k describe svc described
    has "Type: ClusterIP" k describe svc described
    has "Port: http 80/TCP" k describe svc described
    has "TargetPort: 8080/TCP" k describe svc described
    has "Selector: app=none" k describe svc described
    has "re:^described ClusterIP [0-9a-f.:]+ <none> 80/TCP" k get svc described
}
t "describe and get: a Service" describe_service

describe_node() {
    file node.yaml <<YAML
apiVersion: v1
kind: Node
metadata:
  name: $RUN
  labels: {landbridge.test/run: $RUN, kubernetes.io/hostname: $RUN}
spec: {unschedulable: true}
YAML
    kc create -f "$WORK/node.yaml"
    has "Name: $RUN" kc describe node "$RUN"
    has "Unschedulable: true" kc describe node "$RUN"
    has "re:^$RUN .*SchedulingDisabled" kc get node "$RUN"
    kc delete node "$RUN"
}
t "describe and get: a Node" describe_node

events() {
    k create -f <(cm eventful)
    k create -f <(event_for ConfigMap eventful v1)
    has "something happened to eventful" k get events
    has "re:^LAST SEEN TYPE REASON OBJECT MESSAGE" k get events
    has "Tested" k get events --field-selector involvedObject.name=eventful,involvedObject.kind=ConfigMap
    lacks "eventful" k get events --field-selector involvedObject.name=nobody
    has "something happened to eventful" k events
    has "something happened to eventful" k events --for configmap/eventful
    has "something happened to eventful" kc get --raw "/apis/events.k8s.io/v1/namespaces/$NS/events"
    has '"note"' kc get --raw "/apis/events.k8s.io/v1/namespaces/$NS/events"
}
t "events: get, kubectl events, field selectors, both API groups" events

ready_soon() { # NAME: the status turns Ready in a second
    (
        sleep 1
        k patch "$WIDGET" "$1" --subresource=status --type merge \
            -p '{"status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True"}]}}'
    ) &
}

wait_() {
    k create -f <(widget waited)
    fails "timed out waiting for the condition on widgets/waited" k wait --for=condition=Ready "$WIDGET/waited" --timeout=1s
    ready_soon waited
    has "widget.$GROUP/waited condition met" k wait --for=condition=Ready "$WIDGET/waited" --timeout=20s
    has "condition met" k wait --for=jsonpath='{.status.phase}'=Ready "$WIDGET/waited" --timeout=20s
    (
        sleep 1
        k delete "$WIDGET" waited --wait=false
    ) &
    has "condition met" k wait --for=delete "$WIDGET/waited" --timeout=20s
    fails "no matching resources found" k wait --for=condition=Ready "$WIDGET" -l nobody=has-this --timeout=1s
    wait
}
t "wait: condition, jsonpath, delete, time-out" wait_

wait_create() {
    k wait --help 2>&1 | grep -q 'for=create' || not_here "this kubectl has no wait --for=create (1.31)"
    (
        sleep 1
        k create -f <(cm late)
    ) &
    has "configmap/late condition met" k wait --for=create cm/late --timeout=20s
    wait
}
t "wait: create" wait_create
