# shellcheck shell=bash disable=SC2317
# Deleting, finalizers, garbage collection, namespaces.

delete() {
    k create -f <(cm del-1) -f <(cm del-2) -f <(cm del-3) -f <(widget del-1)
    has 're:configmap "del-1" deleted' k delete cm del-1
    gone cm del-1
    fails 'configmaps "del-1" not found' k delete cm del-1
    has "" k delete cm del-1 --ignore-not-found
    cm del-2 | file del.yaml
    has 're:configmap "del-2" deleted' k delete -f "$WORK/del.yaml"
    k label cm del-3 bye=yes
    has 're:configmap "del-3" deleted' k delete cm -l bye=yes
    has 're:widget\.[a-z0-9.]+ "del-1" deleted' k delete "$WIDGET" del-1
    has "No resources found" k delete cm -l bye=yes
}
t "delete: by name, -f, -l, missing" delete

delete_all() {
    printf 'apiVersion: %s/v1\nkind: Gadget\nmetadata: {name: g1}\n---\napiVersion: %s/v1\nkind: Gadget\nmetadata: {name: g2}\n' "$GROUP" "$GROUP" | file gadgets.yaml
    k create -f "$WORK/gadgets.yaml"
    has '"g1" deleted' k delete "$GADGET" --all
    has "No resources found" k get "$GADGET"
}
t "delete --all" delete_all

finalizer() {
    k create -f <(widget held | sed 's|^spec:|  finalizers: [landbridge.test/hold]\nspec:|')
    fails "timed out waiting for the condition on widgets/held" k delete "$WIDGET" held --timeout=2s
    has "re:^20" k get "$WIDGET" held -o 'jsonpath={.metadata.deletionTimestamp}'
    has "re:\"held\" deleted" k delete "$WIDGET" held --wait=false
    fails "no new finalizers can be added if the object is being deleted" \
        k patch "$WIDGET" held --type merge -p '{"metadata":{"finalizers":["landbridge.test/hold","landbridge.test/more"]}}'
    # A waiting delete returns once the finalizer goes.
    k_exec delete "$WIDGET" held --timeout=30s >"$WORK/held.out" 2>&1 &
    local deleting=$!
    sleep 1
    kill -0 "$deleting"
    k patch "$WIDGET" held --type merge -p '{"metadata":{"finalizers":null}}'
    wait "$deleting"
    gone "$WIDGET" held
}
t "delete: a finalizer holds the object until it is taken off" finalizer

owned() { # NAME OWNER UID
    cat <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1
  ownerReferences: [{apiVersion: $GROUP/v1, kind: Widget, name: $2, uid: $3}]
YAML
}

garbage() {
    k create -f <(widget owner)
    local uid
    uid=$(k get "$WIDGET" owner -o 'jsonpath={.metadata.uid}')
    k create -f <(owned owned-1 owner "$uid") -f <(owned owned-2 owner "$uid")
    k delete "$WIDGET" owner --cascade=background
    k wait --for=delete cm/owned-1 cm/owned-2 --timeout=30s
    gone cm owned-1
    gone cm owned-2
}
t "garbage collection: what a deleted owner owned goes with it" garbage

namespace_deletion() {
    local other=$NS-b
    sed "s/name: $NS\$/name: $other/" "$WORK/ns.yaml" | file other.yaml
    kc create -f "$WORK/other.yaml"
    kc -n "$other" create -f <(cm inside) -f <(widget inside) \
        -f <(cm held | sed 's|^data:|  finalizers: [landbridge.test/hold]\ndata:|')
    kc delete ns "$other" --wait=false
    eventually 30 fails NotFound kc -n "$other" get "$WIDGET" inside
    same Terminating kc get ns "$other" -o 'jsonpath={.status.phase}'
    fails "because it is being terminated" kc -n "$other" create -f <(cm late)
    kc -n "$other" patch cm held --type merge -p '{"metadata":{"finalizers":null}}'
    kc wait --for=delete "ns/$other" --timeout=60s
    fails NotFound kc get ns "$other"
    # A new namespace of the old name is empty.
    kc create -f "$WORK/other.yaml"
    fails NotFound kc -n "$other" get cm inside
    kc delete ns "$other"
    fails NotFound kc get ns "$other"
}
t "delete ns: contents go first, finalizers are waited for" namespace_deletion

pods_first() {
    local other=$NS-c
    sed "s/name: $NS\$/name: $other/" "$WORK/ns.yaml" | file third.yaml
    kc create -f "$WORK/third.yaml"
    kc -n "$other" create -f <(cm needed)
    kc -n "$other" create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: held, finalizers: [landbridge.test/hold]}
spec: {containers: [{name: main, image: example.invalid/main:1}]}
YAML
    kc delete ns "$other" --wait=false
    eventually 30 has "pods. has 1 resource instances" kc describe ns "$other"
    has "landbridge.test/hold in 1 resource instances" kc describe ns "$other"
    has "NamespaceDeletionContentFailure False" kc describe ns "$other"
    same "" kc -n "$other" get cm needed -o 'jsonpath={.metadata.deletionTimestamp}'
    kc -n "$other" patch pod held --type merge -p '{"metadata":{"finalizers":null}}'
    kc wait --for=delete "ns/$other" --timeout=60s
    fails NotFound kc get ns "$other"
}
t "delete ns: pods go before what they may need, and conditions say what is left" pods_first

crd_deletion() {
    printf 'apiVersion: %s/v1\nkind: PlainEight\nmetadata: {name: last}\n' "$GROUP" | file eight.yaml
    k apply -f "$WORK/eight.yaml"
    kc delete crd "eights.$GROUP" --timeout=30s
    eventually 30 fails "the server doesn't have a resource type" k get "eights.$GROUP"
    # The same CRD again starts without the old objects.
    kc apply -f "$WORK/crds.yaml"
    kc wait --for=condition=Established "crd/eights.$GROUP" --timeout=30s
    eventually 30 has "No resources found" k get "eights.$GROUP"
}
t "delete crd: its objects and its discovery go, too" crd_deletion
