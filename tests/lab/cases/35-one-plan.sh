# shellcheck shell=bash disable=SC2317
# One plan for pods, nodes and IPSets: the range of a NAD is that of a NetConfig on the same wire.

kp() { kc -n one-plan "$@"; }

one_plan() {
    file one-plan.yaml <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: one-plan}
---
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: netconfig, namespace: one-plan}
spec:
  networks:
  - name: Shared
    subnets:
    - {name: subnet1, cidr: 172.27.0.0/24, vlan: 20, allocationRanges: [{start: 172.27.0.30, end: 172.27.0.33}]}
  - name: CtlPlane
    subnets:
    - {name: subnet1, cidr: 192.168.122.0/24, allocationRanges: [{start: 192.168.122.10, end: 192.168.122.13}]}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: shared, namespace: one-plan}
spec:
  config: |
    {"cniVersion": "0.3.1", "name": "shared", "type": "macvlan", "master": "enp6s0.20",
     "ipam": {"type": "whereabouts", "range": "172.27.0.0/24", "range_start": "172.27.0.30", "range_end": "172.27.0.33"}}
YAML
    kc apply -f "$WORK/one-plan.yaml"
    pod one | kc apply -f -
    ipset a Shared | kc apply -f -
    pod two | kc apply -f -
    ipset b Shared | kc apply -f -
    kp wait --for=condition=Ready --timeout=60s pod/one pod/two ipset/a ipset/b
    same "172.27.0.30 172.27.0.31 172.27.0.32 172.27.0.33" all_held
    # And the ledger says whose each is.
    has "Pod/one/net1/NetworkAttachmentDefinition one-plan/shared" ledger
    has "IPSet/a/Shared/NetConfig one-plan/netconfig" ledger
    counts 4 / ledger
}
pod() { # NAME [ADDRESS]
    local networks='[{"name": "shared"}]'
    [ -z "${2:-}" ] || networks='[{"name": "shared", "ips": ["'$2'/24"]}]'
    printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "one-plan", "annotations":
        {"k8s.v1.cni.cncf.io/networks": %s}}, "spec": {"terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "i"}]}}' "$1" "$(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$networks")"
}
ipset() { # NAME NETWORK
    printf '{"apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet", "metadata": {"name": "%s", "namespace":
        "one-plan"}, "spec": {"networks": [{"name": "%s", "subnetName": "subnet1"}]}}' "$1" "$2"
}
of_ipset() { kp get ipset "$1" -o 'jsonpath={.status.reservations[0].address}'; }
of_pod() { address_on one-plan "$1" one-plan/shared; }
all_held() { { of_ipset a && echo && of_ipset b && echo && of_pod one && of_pod two; } | sort | xargs; }
ledger() {
    kc get ab vlan-20.172.27.0.0 -o json | python3 -c 'import json, sys
for claim in json.load(sys.stdin)["spec"]["claims"].values():
    print("/".join(claim.get(key, "") for key in ("kind", "name", "attachment", "source")))'
}
t "one plan: pods and IPSets share a range and never an address" one_plan

waiting() {
    local was
    was=$(of_pod one)
    ipset c Shared | kc apply -f -
    eventually 20 has "0 of 4 addresses of its ranges on vlan-20 are left" kp get ipset c -o 'jsonpath={.status.conditions[?(@.type=="Ready")].message}'
    kp delete pod one
    kp wait --for=condition=Ready --timeout=30s ipset/c
    same "$was" of_ipset c
}
t "one plan: an IPSet waits while pods hold all there is, and gets what a pod leaves" waiting

thief() {
    local wanted
    wanted=$(of_ipset a)
    pod thief "$wanted" | kc apply -f -
    eventually 60 has "$wanted is held by IPSet one-plan/a" kp get events --field-selector involvedObject.name=thief -o 'jsonpath={.items[*].message}'
    same "Pending" kp get pod thief -o 'jsonpath={.status.phase}'
    # It heals when the IPSet goes.
    kp delete ipset a
    kp wait --for=condition=Ready --timeout=90s pod/thief
    same "$wanted" of_pod thief
    has "$wanted/24" on pod/one-plan/thief ip -br addr show net1
}
t "one plan: a pod that asks for an IPSet's address is told whose it is" thief

nodes_hold() {
    # The policies gave .10, .11 and .12 to the workers.
    eventually 60 has "Node worker-1" node_claims
    ipset d CtlPlane | kc apply -f -
    kp wait --for=condition=Ready --timeout=30s ipset/d
    same "192.168.122.13" of_ipset d
}
node_claims() {
    kc get ab net-ctlplane.192.168.122.0 -o json | python3 -c 'import json, sys
for address, claim in json.load(sys.stdin)["spec"]["claims"].items(): print(address, claim["kind"], claim["name"])'
}
t "one plan: what a policy gave to a node no IPSet gets" nodes_hold

left() {
    kp delete ipset --all
    kp delete pod --all
    eventually 30 no_claims
    kc delete -f "$WORK/one-plan.yaml"
}
no_claims() { fails NotFound kc get ab vlan-20.172.27.0.0; }
t "one plan: nothing stays claimed" left
