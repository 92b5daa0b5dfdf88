# shellcheck shell=bash disable=SC2317
# Compute nodes: no Kubernetes nodes, configured from the IPSet of their name.

event_of_ipset() { ko get events --field-selector "involvedObject.name=edpm-compute-0,reason=$1" -o name | grep -q .; }

compute() {
    local seed=$EXAMPLES/seeds/000-networking
    ko apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml"
    ko wait --for=condition=Ready --timeout=30s ipset/edpm-compute-0
    eventually 30 has "172.17.0.150/24" on edpm-compute-0 ip -br addr show enp6s0.20
    has "192.168.122.100/24" on edpm-compute-0 ip -br addr
    has "mtu 9000" on edpm-compute-0 ip link show enp6s0.50
    eventually 20 event_of_ipset HostConfigured
    has "re:default via 192.168.122.1" on edpm-compute-0 ip route
    # Pods and compute nodes meet on the isolated network.
    reaches edpm-compute-0 172.17.0.20
    reaches pod/openstack/static-address 172.17.0.150
    lacks "172.17" on edpm-compute-1 ip -br addr
}
t "hosts: a compute node gets VLANs, addresses and routes from its IPSet" compute

gone() {
    ko delete ipset edpm-compute-0
    eventually 40 lacks "172.17.0.150" on edpm-compute-0 ip -br addr
    eventually 10 lacks "enp6s0.50" on edpm-compute-0 ip -br link
    lacks "default" on edpm-compute-0 ip route
}
t "hosts: what a deleted IPSet gave is taken away again" gone
