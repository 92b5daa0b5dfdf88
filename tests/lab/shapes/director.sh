# shellcheck shell=bash disable=SC2317
# The lab `director`: bridges over NICs, and addresses by DHCP.

bridges() {
    kc apply -f "$EXAMPLES/nodes/nncp-director.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/director
    has "master br-ex" on worker-1 ip link show enp6s0
    has "mtu 9000" on worker-1 ip link show br-osp
    local number addresses=
    for number in 0 1 2; do
        eventually 30 has "172.22.0." on "worker-$number" ip -br -4 addr show br-ctlplane
        addresses+=$(on "worker-$number" ip -br -4 addr show br-ctlplane | grep -o '172\.22\.0\.[0-9]*')$'\n'
    done
    [ "$(sort -u <<<"$addresses" | grep -c .)" = 3 ] || { printf 'not three addresses:\n%s' "$addresses"; return 1; }
    reaches worker-0 "$(sed -n 3p <<<"$addresses")"
    reaches worker-0 172.22.0.1
    # What the policy no longer wants is given back.
    sed 's/dhcp: true/dhcp: false/' "$EXAMPLES/nodes/nncp-director.yaml" | kc apply -f -
    eventually 30 lacks "172.22.0." on worker-0 ip -br -4 addr show br-ctlplane
}
t "director: bridges over NICs, an address by DHCP for each worker" bridges
