# shellcheck shell=bash disable=SC2317
# Virtual addresses are claims on the wire: pods, compute nodes and Services never have one address.

kvip() { kc -n lab-vips "$@"; }
vip_of() { kvip get service "$1" -o 'jsonpath={.status.loadBalancer.ingress[*].ip}'; }
has_vip() { [ "$(vip_of "$1")" = "$2" ]; }
vip_events() { kvip get events --field-selector "involvedObject.name=$1" -o 'jsonpath={.items[*].message}'; }
told_vip() { [[ "$(vip_events "$1")" == *"$2"* ]]; }

vip_service() { # NAME [ADDRESS]
    printf '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "%s", "namespace": "lab-vips", "annotations":
        {"metallb.io/address-pool": "lab-vips", "metallb.io/loadBalancerIPs": "%s"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}' "$1" "${2:-}"
}
vip_ipset() { # NAME [ADDRESS]
    local fixed=""
    [ -z "${2:-}" ] || fixed=", \"fixedIP\": \"$2\""
    printf '{"apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet", "metadata": {"name": "%s", "namespace":
        "lab-vips"}, "spec": {"networks": [{"name": "Vips", "subnetName": "subnet1"%s}]}}' "$1" "$fixed"
}

one_wire() {
    file lab-vips.yaml <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: lab-vips}
---
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: netconfig, namespace: lab-vips}
spec:
  networks:
  - name: Vips
    subnets:
    - {name: subnet1, cidr: 172.29.0.0/24, vlan: 29, allocationRanges: [{start: 172.29.0.80, end: 172.29.0.84}]}
---
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: lab-vips, namespace: metallb-system}
spec: {addresses: [172.29.0.80-172.29.0.84], autoAssign: false}
YAML
    kc apply -f "$WORK/lab-vips.yaml"
    vip_ipset first | kc apply -f -
    kvip wait --for=condition=Ready --timeout=30s ipset/first
    same 172.29.0.80 kvip get ipset first -o 'jsonpath={.status.reservations[0].address}'
    # The Service passes the compute node's address over, and the next compute node the Service's.
    vip_service web | kc apply -f -
    eventually 30 has_vip web 172.29.0.81
    vip_ipset second | kc apply -f -
    kvip wait --for=condition=Ready --timeout=30s ipset/second
    same 172.29.0.82 kvip get ipset second -o 'jsonpath={.status.reservations[0].address}'
    has "Service" kc get ab vlan-29.172.29.0.64 -o 'jsonpath={.spec.claims.172\.29\.0\.81.kind}'
}
t "vips: Services and compute nodes share a wire and never an address" one_wire

vip_thief() {
    vip_service thief 172.29.0.80 | kc apply -f -
    eventually 30 told_vip thief "172.29.0.80 is held by IPSet lab-vips/first on the same network"
    same "" vip_of thief
    kvip delete ipset first
    eventually 30 has_vip thief 172.29.0.80
    vip_ipset third 172.29.0.81 | kc apply -f -
    eventually 30 has "172.29.0.81 already reserved for Service lab-vips/web" kvip get ipset third -o 'jsonpath={.status.conditions[*].message}'
}
t "vips: who asks for another's address is told whose it is, and served when it is free" vip_thief

vips_left() {
    kvip delete service --all
    kvip delete ipset --all
    eventually 30 no_vips_left
    kc delete -f "$WORK/lab-vips.yaml"
}
no_vips_left() { fails NotFound kc get ab vlan-29.172.29.0.64 && fails NotFound kc get ab vips.172.29.0.64; }
t "vips: nothing stays claimed" vips_left
