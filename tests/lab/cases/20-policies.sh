# shellcheck shell=bash disable=SC2317
# Node policies: the seed's as it stands, one per node, and ones that fail.

seed_policy() {
    kc apply -f "$EXAMPLES/seeds/000-networking/00-namespace.yaml" -f "$EXAMPLES/seeds/000-networking/50-nncp-osp.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/osp
    has "re:osp Available SuccessfullyConfigured" kc get nncp
    same "3/3 nodes successfully configured" kc get nncp osp -o 'jsonpath={.status.conditions[?(@.type=="Available")].message}'
    counts 3 "worker-[0-2].osp  *Available" kc get nnce
    for vlan in 20 21 22; do has "UP" on worker-1 ip -br link show "enp6s0.$vlan"; done
    has "192.168.122.10/24" on worker-2 ip -br addr show enp6s0
    lacks "inet6" on worker-2 ip addr show enp6s0.20
    # One address for all of them is what the seed says; it is said, too.
    eventually 30 duplicate_told
}
duplicate_told() { kc get events -A --field-selector involvedObject.name=osp -o json | grep -q '"reason": "DuplicateAddress"'; }
t "policy: the seed's makes VLANs and addresses on every worker, and the duplicate address is told" seed_policy

state_of_nodes() {
    eventually 90 shown_as_vlan
    has "192.168.122.10" kc get nns worker-0 -o yaml
}
shown_as_vlan() {
    [ "$(kc get nns worker-0 -o 'jsonpath={.status.currentState.interfaces[?(@.name=="enp6s0.20")].vlan.id}')" = 20 ]
}
t "policy: NodeNetworkState shows what is there" state_of_nodes

per_node() {
    kc apply -f "$EXAMPLES/nodes/nncp-per-node.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/osp nncp/ctlplane-worker-0 nncp/ctlplane-worker-1 nncp/ctlplane-worker-2
    has "192.168.122.11/24" on worker-1 ip -br addr show enp6s0
    lacks "192.168.122.10/24" on worker-1 ip -br addr show enp6s0
    same "1/1 nodes successfully configured" kc get nncp ctlplane-worker-1 -o 'jsonpath={.status.conditions[?(@.type=="Available")].message}'
    reaches worker-0 192.168.122.12
}
t "policy: one address for each node" per_node

failing() {
    file broken.yaml <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: broken}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-2}
  desiredState:
    interfaces:
    - {name: brx, type: linux-bridge, state: up, bridge: {port: [{name: enp7s0}]}}
    - {name: nothere.30, type: vlan, state: up, vlan: {base-iface: nothere, id: 30}}
YAML
    kc apply -f "$WORK/broken.yaml"
    kc wait --for=condition=Degraded --timeout=90s nncp/broken
    has "nothere" kc get nnce worker-2.broken -o 'jsonpath={.status.conditions[?(@.type=="Failing")].message}'
    lacks "brx" on worker-2 ip -br link
    lacks "master" on worker-2 ip link show enp7s0
    kc delete nncp broken
    eventually 20 no_enactment worker-2.broken
}
no_enactment() { ! kc get nnce "$1" >/dev/null 2>&1; }
t "policy: one that fails changes nothing and says why" failing

cut_off() {
    file cut.yaml <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: cut}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-2}
  desiredState:
    interfaces:
    - {name: enp1s0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}
YAML
    kc apply -f "$WORK/cut.yaml"
    kc wait --for=condition=Degraded --timeout=120s nncp/cut
    has "192.168.111.22/24" on worker-2 ip -br addr show enp1s0
    lacks "203.0.113.9" on worker-2 ip -br addr show enp1s0
    has "rolling back desired state configuration: probe failed: address: the node is known by 192.168.111.22" kc get nnce worker-2.cut -o 'jsonpath={.status.conditions[?(@.type=="Failing")].message}'
    kc delete nncp cut
}
t "policy: one that cuts the node off is rolled back" cut_off

nobody() {
    file nobody.yaml <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: nobody}
spec:
  nodeSelector: {not/there: "yes"}
  desiredState: {interfaces: []}
YAML
    kc apply -f "$WORK/nobody.yaml"
    kc wait --for=condition=Ignored --timeout=20s nncp/nobody
    same "NoMatchingNode" kc get nncp nobody -o 'jsonpath={.status.conditions[?(@.type=="Ignored")].reason}'
    kc delete nncp nobody
}
t "policy: no node matches" nobody

vlans_are_apart() {
    file apart.yaml <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: apart-0}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-0}
  desiredState:
    interfaces: [{name: storage0, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 120}, ipv4: {enabled: true, address: [{ip: 198.51.100.1, prefix-length: 24}]}}]
---
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: apart-1}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-1}
  desiredState:
    interfaces: [{name: storage0, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 121}, ipv4: {enabled: true, address: [{ip: 198.51.100.2, prefix-length: 24}]}}]
---
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: apart-2}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-2}
  desiredState:
    interfaces: [{name: other0, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 120}, ipv4: {enabled: true, address: [{ip: 198.51.100.3, prefix-length: 24}]}}]
YAML
    kc apply -f "$WORK/apart.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/apart-0 nncp/apart-1 nncp/apart-2
    reaches worker-0 198.51.100.3
    cannot_reach worker-0 198.51.100.2
    cannot_reach worker-2 198.51.100.2
    kc delete nncp apart-0 apart-1 apart-2
    # Deleting a policy leaves the node as it is.
    has storage0 on worker-0 ip -br link
}
t "policy: equal names do not connect different VLANs, different names do not part equal ones" vlans_are_apart
