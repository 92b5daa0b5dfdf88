# shellcheck shell=bash disable=SC2317
# Pods on a node: deleting, evicting, draining. Nothing runs on the node; the cases act as its kubelet.

POD_NODE=$RUN-node

pod_node() {
    kc apply -f - <<YAML
apiVersion: v1
kind: Node
metadata: {name: $POD_NODE, labels: {landbridge.test/run: $RUN}}
YAML
    # A pod needs its account, which a controller makes in its own time.
    eventually 30 k get serviceaccount default
}

node_pod() { # NAME [GRACE]
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  nodeName: $POD_NODE
  terminationGracePeriodSeconds: ${2:-30}
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: example.invalid/main:1}]
YAML
}

# What a kubelet does: pods that are to end, and have, go for good.
confirm_ended() {
    local name
    for name in $(k get pods --field-selector "spec.nodeName=$POD_NODE" \
        -o 'jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{"\n"}{end}'); do
        k delete pod "$name" --grace-period=0 --force --wait=false
    done
}

graceful_deletion() {
    pod_node
    k create -f <(node_pod slow)
    has 're:pod "slow" deleted' k delete pod slow --wait=false
    has "re:^20" k get pod slow -o 'jsonpath={.metadata.deletionTimestamp}'
    same 30 k get pod slow -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    has "Terminating" k get pod slow
    has 're:pod "slow" deleted' k delete pod slow --grace-period=20 --wait=false
    same 20 k get pod slow -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    k delete pod slow --grace-period=25 --wait=false
    same 20 k get pod slow -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    # A waiting delete returns once the node is done.
    k_exec delete pod slow --timeout=60s >"$WORK/slow.out" 2>&1 &
    local deleting=$!
    sleep 1
    kill -0 "$deleting"
    confirm_ended
    wait "$deleting"
    gone pod slow
}
t "delete pod: it stays until its node is done" graceful_deletion

forced_deletion() {
    pod_node
    k create -f <(node_pod forced)
    has 're:pod "forced" force deleted' k delete pod forced --force --grace-period=0
    gone pod forced
    k create -f <(node_pod ended)
    k patch pod ended --subresource=status --type merge -p '{"status":{"phase":"Succeeded"}}'
    has 're:pod "ended" deleted' k delete pod ended --timeout=20s
    gone pod ended
}
t "delete pod: forced, or ended already, it goes at once" forced_deletion

cordon() {
    pod_node
    has "node/$POD_NODE cordoned" kc cordon "$POD_NODE"
    has "SchedulingDisabled" kc get node "$POD_NODE"
    has "already cordoned" kc cordon "$POD_NODE"
    has "node/$POD_NODE uncordoned" kc uncordon "$POD_NODE"
    lacks "SchedulingDisabled" kc get node "$POD_NODE"
}
t "cordon, uncordon" cordon

drain() {
    pod_node
    k create -f <(node_pod drained-1 5) -f <(node_pod drained-2 7)
    fails "cannot delete" kc drain "$POD_NODE" --timeout=5s
    has "re:evicting pod $NS/drained-1 \\(.*dry run\\)" \
        kc drain "$POD_NODE" --force --ignore-daemonsets --dry-run=server --timeout=20s
    same "" k get pod drained-1 -o 'jsonpath={.metadata.deletionTimestamp}'
    kc drain "$POD_NODE" --force --ignore-daemonsets --timeout=60s >"$WORK/drain.out" 2>&1 &
    local draining=$!
    eventually 30 has 7 k get pod drained-2 -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    eventually 30 has 5 k get pod drained-1 -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    has EvictionByEvictionAPI k get pod drained-1 \
        -o 'jsonpath={.status.conditions[?(@.type=="DisruptionTarget")].reason}'
    kill -0 "$draining"
    confirm_ended
    wait "$draining" || { cat "$WORK/drain.out"; return 1; }
    has "evicting pod $NS/drained-1" cat "$WORK/drain.out"
    has "node/$POD_NODE drained" cat "$WORK/drain.out"
    gone pod drained-1
    has "SchedulingDisabled" kc get node "$POD_NODE"
    kc uncordon "$POD_NODE"
}
t "drain: pods are evicted, and it waits for them" drain

nothing_runs() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "a cluster has nodes of its own"
    pod_node
    k create -f <(node_pod idle)
    fails "attached to this API server" k logs idle
    fails "attached to this API server" k exec idle -- ls
    fails "container nobody is not valid for pod idle" k logs idle -c nobody
    k delete pod idle --force --grace-period=0
}
t "logs, exec: without its node the refusal says so" nothing_runs
