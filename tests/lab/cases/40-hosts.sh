# shellcheck shell=bash disable=SC2317
# Compute nodes: no Kubernetes nodes, configured from the IPSet of their name.

compute() {
    local seed=$EXAMPLES/seeds/000-networking
    ko apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml"
    ko wait --for=condition=Ready --timeout=30s ipset/edpm-compute-0
    eventually 30 has "172.17.0.150/24" on edpm-compute-0 ip -br addr show enp6s0.20
    has "192.168.122.100/24" on edpm-compute-0 ip -br addr
    has "mtu 9000" on edpm-compute-0 ip link show enp6s0.50 || has "re:enp6s0.50" on edpm-compute-0 ip -br link
    has "re:default via 192.168.122.1" on edpm-compute-0 ip route
    # Pods and compute nodes meet on the isolated network.
    reaches edpm-compute-0 172.17.0.20
    reaches pod/openstack/ovsdbserver-nb-0 172.17.0.150
    lacks "172.17" on edpm-compute-1 ip -br addr
}
t "hosts: a compute node gets VLANs, addresses and routes from its IPSet" compute

moved() {
    ko get ipset edpm-compute-0 -o json | python3 -c 'import json, sys
it = json.load(sys.stdin)
it["spec"]["networks"] = [n for n in it["spec"]["networks"] if n["name"] != "Storage"]
print(json.dumps({k: it[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "edpm-compute-0", "namespace": "openstack"}}))' >"$WORK/less.json"
    ko replace -f "$WORK/less.json" || ko apply --server-side --force-conflicts -f "$WORK/less.json"
    eventually 30 lacks "enp6s0.30" on edpm-compute-0 ip -br link
    has "172.17.0.150/24" on edpm-compute-0 ip -br addr show enp6s0.20
}
t "hosts: what an IPSet no longer has is taken away, the rest stays" moved
