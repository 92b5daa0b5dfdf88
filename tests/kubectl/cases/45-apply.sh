# shellcheck shell=bash disable=SC2317
# Server-side apply: who owns a field, and what happens when two want it.

owners() { k get "$1" -o yaml --show-managed-fields | grep -o 'manager: .*' | sort | tr '\n' ' '; }

two_managers() {
    has "configmap/shared serverside-applied" k apply --server-side --field-manager=ann -f <(cm shared a=1 b=2)
    local before
    before=$(k get cm shared -o 'jsonpath={.metadata.resourceVersion}')
    k apply --server-side --field-manager=ann -f <(cm shared a=1 b=2)
    same "$before" k get cm shared -o 'jsonpath={.metadata.resourceVersion}'
    # Another opinion about another field is welcome, the same value as well.
    k apply --server-side --field-manager=bob -f <(cm shared b=2 c=3)
    same '{"a":"1","b":"2","c":"3"}' k get cm shared -o 'jsonpath={.data}'
    fails 'conflict with "ann": .data.a' k apply --server-side --field-manager=bob -f <(cm shared a=9)
    k apply --server-side --field-manager=bob --force-conflicts -f <(cm shared a=9 b=2)
    # bob no longer speaks of c, and nobody else did.
    same '{"a":"9","b":"2"}' k get cm shared -o 'jsonpath={.data}'
    # ann drops b, which bob still wants.
    k apply --server-side --field-manager=ann -f <(cm shared d=4)
    same '{"a":"9","b":"2","d":"4"}' k get cm shared -o 'jsonpath={.data}'
}
t "apply --server-side: two managers, conflicts, force" two_managers

lists_by_key() {
    k apply --server-side -f <(deployment sided)
    k set image deploy/sided side=example.invalid/side:9
    fails 'conflict with "kubectl-set" using apps/v1: .spec.template.spec.containers[name="side"].image' \
        k apply --server-side -f <(deployment sided)
    k apply --server-side --force-conflicts -f <(deployment sided)
    has "side:1" k get deploy sided -o 'jsonpath={.spec.template.spec.containers[*].image}'
}
t "apply --server-side: lists by key" lists_by_key

custom() {
    widget_config() { printf 'apiVersion: %s/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {color: red, size: %s}\n' "$GROUP" "$1" "$2"; }
    k apply --server-side -f <(widget_config sided 1)
    same 1 k get "$WIDGET" sided -o 'jsonpath={.spec.size}'
    k patch "$WIDGET" sided --subresource=status --type merge -p '{"status":{"phase":"Ready"}}' --field-manager=status
    k apply --server-side -f <(widget_config sided 2)
    same "2 Ready" k get "$WIDGET" sided -o 'jsonpath={.spec.size} {.status.phase}'
    has "manager: status" owners "$WIDGET/sided"
}
t "apply --server-side: a custom resource and its status" custom

scaled() {
    k apply --server-side -f <(deployment scaled-sided)
    k scale deploy/scaled-sided --replicas=3
    has "subresource: scale" k get deploy scaled-sided -o yaml --show-managed-fields
    # Who scales owns the count, and who applied it before learns so.
    fails 'with subresource "scale" using apps/v1: .spec.replicas' \
        k apply --server-side -f <(deployment scaled-sided)
    k apply --server-side --force-conflicts -f <(deployment scaled-sided)
    lacks "subresource: scale" k get deploy scaled-sided -o yaml --show-managed-fields
    kc apply --help | grep -q -- --subresource || return 0
    # kubectl finds the object by its own manifest, which is no Scale.
    fails "expected: autoscaling/v1" k apply --server-side --subresource=scale -f <(deployment scaled-sided)
}
t "apply --server-side: who scales owns the replicas" scaled

migration() {
    k apply -f <(cm moved a=1 b=2)
    k apply --server-side -f <(cm moved a=1)
    same '{"a":"1"}' k get cm moved -o 'jsonpath={.data}'
}
t "from client-side to server-side apply" migration
