# shellcheck shell=bash disable=SC2317
# Nodes of the default lab: there, Ready, wired.

nodes() {
    kc wait --for=condition=Ready --timeout=60s node/worker-0 node/worker-1 node/worker-2
    counts 3 "worker-[0-2]  *Ready  *worker" kc get nodes
    lacks edpm kc get nodes
    same "192.168.111.21 fd00:111::21" kc get node worker-1 -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}'
}
t "lab: three workers are Ready, compute nodes are no Kubernetes nodes" nodes

wired() {
    for nic in enp1s0 enp6s0 enp7s0; do has "$nic" on worker-0 ip -br link; done
    has "mtu 9000" on worker-0 ip link show enp7s0
    has "mtu 1500" on worker-0 ip link show enp6s0
    reaches worker-0 192.168.111.22
    reaches worker-0 fd00:111::22
    same worker-2 on worker-2 hostname
    same edpm-compute-1 on edpm-compute-1 hostname
}
t "lab: NICs, MTUs, names, and packets between nodes" wired

exec_is_a_shell() {
    local status=0
    on worker-0 sh -c 'exit 42' || status=$?
    [ "$status" = 42 ] || { echo "exit status $status"; return 1; }
    same "from the outside" on worker-1 cat <<<"from the outside"
    fails "worker-2" on worker-9 true
}
t "exec: exit status, stdin, and a list of nodes for whoever mistypes" exec_is_a_shell
