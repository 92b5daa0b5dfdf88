# shellcheck shell=bash disable=SC2317
# What the server says about itself.

version() {
    has "re:Server Version: v1\.[0-9]+" kc version
    has '"serverVersion"' kc version -o json
    has '"gitVersion"' kc get --raw /version
}
t "version" version

health() {
    has ok kc get --raw /livez
    has "readyz check passed" kc get --raw '/readyz?verbose'
    has "[+]ping ok" kc get --raw '/readyz?verbose'
}
t "health: livez, readyz?verbose" health

api_resources() {
    has "configmaps cm v1 true ConfigMap" kc api-resources
    has "deployments deploy apps/v1 true Deployment" kc api-resources
    has "widgets wdg$RUN $GROUP/v1 true Widget" kc api-resources
    has "widgets.$GROUP" kc api-resources --api-group="$GROUP" -o name
    has "namespaces ns v1 false Namespace" kc api-resources --namespaced=false
    lacks configmaps kc api-resources --namespaced=false
    has "lbtest$RUN" kc api-resources --api-group="$GROUP" -o wide
}
t "api-resources: short names, scope, custom kinds, categories" api_resources

api_versions() {
    kc api-versions >"$WORK/versions"
    for version in v1 apps/v1 apiextensions.k8s.io/v1 coordination.k8s.io/v1 events.k8s.io/v1 \
        "$GROUP/v1" "$GROUP/v1beta1" "$GROUP/v1alpha1"; do
        grep -qx "$version" "$WORK/versions" || { echo "missing: $version"; return 1; }
    done
}
t "api-versions" api_versions

raw_paths() {
    has '"kind":"APIGroupList"' kc get --raw /apis
    has '"kind":"APIVersions"' kc get --raw /api
    has '"kind":"APIResourceList"' kc get --raw "/apis/$GROUP/v1"
    has '"preferredVersion":{"groupVersion":"'"$GROUP/v1"'"' kc get --raw "/apis/$GROUP"
    has '"apis/apiextensions.k8s.io/v1"' kc get --raw /openapi/v3
    has "\"apis/$GROUP/v1\"" kc get --raw /openapi/v3
    has '"fieldValidation"' kc get --raw "/openapi/v3/apis/$GROUP/v1"
    fails "NotFound" kc get --raw /apis/no.such.group/v1
    fails "NotFound" kc get --raw /nonsense
}
t "get --raw: /apis, /api, groups, OpenAPI v3, unknown paths" raw_paths

unknown_type() {
    fails "the server doesn't have a resource type \"nosuchthings\"" k get nosuchthings
}
t "get of an unknown type" unknown_type

explain_kind() {
    has "KIND: Widget" kc explain "$WIDGET"
    has "VERSION: v1" kc explain "$WIDGET"
    has "A Widget is what these cases are about." kc explain "$WIDGET"
    has "What it is made of." kc explain widget.spec.parts --api-version="$GROUP/v1"
    has "The part's name." kc explain widget.spec.parts.name --api-version="$GROUP/v1"
    has "re:size.*<integer>" kc explain widget.spec --api-version="$GROUP/v1"
    has "re:color.*<string> -required-" kc explain widget.spec --api-version="$GROUP/v1"
    fails 'field "nosuch" does not exist' kc explain widget.spec.nosuch --api-version="$GROUP/v1"
}
t "explain: custom kinds, nested fields, a field that is not there" explain_kind

explain_built_in() {
    has "re:image.*<string>" kc explain pod.spec.containers
    has "re:containers.*<\[\]Container> -required-" kc explain pod.spec
    has "re:containerPort.*<integer>" kc explain pod.spec.containers --recursive
    has "re:weight.*<integer>" kc explain "$WIDGET" --recursive
    has "re:replicas.*<integer>" kc explain deployment.spec
}
t "explain: built-in kinds, --recursive" explain_built_in
