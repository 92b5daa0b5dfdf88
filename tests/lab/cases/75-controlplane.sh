# shellcheck shell=bash disable=SC2317
# Control planes in the lab: the example, the seed's Glance and message buses, and upstream's sample, with pods on
# their networks and clients on compute nodes. Virtual addresses come from the other parts of the lab.

cpn() { kc -n "${CP_NAMESPACE:-controlplane}" "$@"; }
# cp_says TYPE: message of a condition of the control plane.
cp_says() { cpn get oscp -o "jsonpath={.items[0].status.conditions[?(@.type==\"$1\")].message}"; }
cp_is() { [ "$(cpn get oscp -o "jsonpath={.items[0].status.conditions[?(@.type==\"$1\")].status}")" = True ]; }
cp_all_ready() {
    local type types
    types=$(cpn get oscp -o 'jsonpath={.items[0].status.conditions[*].type}')
    [ -n "$types" ] || { echo "no conditions yet"; return 1; }
    for type in $types; do
        cp_is "$type" || { echo "$type: $(cp_says "$type")"; return 1; }
    done
}
# The networks of the example in another namespace.
cp_networks() {
    sed "s/controlplane/$1/" "$EXAMPLES/controlplane/00-networks.yaml" | kc apply -f -
}

cp_example() {
    kc apply -f "$EXAMPLES/nodes/nncp-per-node.yaml"
    kc apply -f "$EXAMPLES/controlplane"
    eventually 180 cp_all_ready
    has "re:^openstack True Setup complete" cpn get oscp
    # Pods on their networks, with the interface named after the attachment.
    has "172.18.0." cpn exec glance-default-internal-api-0 -- ip -br addr show storage
    has "172.17.0." cpn exec ovsdbserver-nb-0 -- ip -br addr show internalapi
    same "tcp:ovsdbserver-nb.controlplane.svc:6641" cpn get ovndbcluster ovndbcluster-nb -o 'jsonpath={.status.dbAddress}'
    has "ovsdbserver-nb.controlplane.svc" cpn get dnsdata ovsdbserver-nb -o 'jsonpath={.spec.hosts[0].hostnames}'
}
t "control planes: the example becomes ready, with pods on their networks" cp_example

cp_stable() {
    local before
    before=$(address_on controlplane ovsdbserver-nb-0 controlplane/internalapi)
    cpn delete pod ovsdbserver-nb-0
    cpn rollout status --timeout=90s statefulset/ovsdbserver-nb
    eventually 30 same "$before" address_on controlplane ovsdbserver-nb-0 controlplane/internalapi
    eventually 60 same "$before" cpn get dnsdata ovsdbserver-nb -o 'jsonpath={.spec.hosts[0].ip}'
}
t "control planes: a database of OVN keeps its address" cp_stable

cp_clients() {
    local seed=$EXAMPLES/seeds/000-networking
    ko apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml"
    ko wait --for=condition=Ready --timeout=30s ipset/edpm-compute-0
    eventually 30 has "172.17.0.150/24" on edpm-compute-0 ip -br addr show enp6s0.20
    # From a compute node, over the VLAN, the virtual address and a node, to a pod.
    # Keystone and Glance have the embedded cloud behind them.
    eventually 60 cp_answers edpm-compute-0 http://172.17.0.80:5000/ '"versions"'
    eventually 30 cp_answers edpm-compute-0 http://172.17.0.80:9292/ '"versions"'
    eventually 30 cp_answers edpm-compute-0 http://172.17.0.82:8778/ placement
    eventually 30 cp_answers edpm-compute-0 http://172.17.0.85:15672/ rabbitmq-server
    eventually 30 cp_answers edpm-compute-0 http://172.17.0.86:15672/ rabbitmq-cell1-server
}
cp_answers() { on "$1" curl -s --max-time 3 "$2" | grep -q "$3"; }
t "control planes: a compute node reaches the services at their virtual addresses" cp_clients

cp_example_goes() {
    cpn delete oscp openstack --timeout=120s
    cpn delete placementapi placement --timeout=60s
    same "" cpn get services,deployments,statefulsets,daemonsets,routes -o 'jsonpath={.items[*].metadata.name}'
}
t "control planes: the example goes again" cp_example_goes

cp_seed() {
    local seed=$EXAMPLES/seeds/000-networking
    kc apply -f "$seed/60-nad-internalapi.yaml" -f "$seed/61-nad-storage.yaml" -f "$seed/65-namespace-metallb-system.yaml" \
        -f "$seed/70-ipaddresspool-internalapi.yaml" -f "$seed/71-l2advertisement.yaml" -f "$seed/80-glance.yaml" -f "$seed/90-openstackcontrolplane-rabbitmq.yaml"
    ko wait --for=condition=Ready --timeout=180s glance/glance
    CP_NAMESPACE=openstack eventually 120 cp_all_ready
    same "http://glance-internal.openstack.svc:9292 http://glance-public-openstack.apps.lab.landbridge.test" ko get keystoneendpoint glance \
        -o 'jsonpath={.spec.endpoints.internal} {.spec.endpoints.public}'
    same "172.17.0.80 172.17.0.85 172.17.0.86" ko get service glance-internal rabbitmq rabbitmq-cell1 -o 'jsonpath={.items[*].status.loadBalancer.ingress[0].ip}'
    eventually 60 cp_answers edpm-compute-0 http://172.17.0.80:9292/ '"versions"'
    # The seed's `ip a` of a Glance pod; its other examples are beside it.
    has "172.18.0." ko exec deployment/glance-external-api -- ip -br addr show storage
    eventually 30 has '"versions"' curl -sS --max-time 3 -H "Host: $(ko get route glance-public -o "jsonpath={.spec.host}")" "$(ingress)/"
    ko delete --timeout=90s -f "$seed/80-glance.yaml" -f "$seed/90-openstackcontrolplane-rabbitmq.yaml"
}
t "control planes: the seed's Glance and its two message buses" cp_seed

cp_sample() {
    local shared=${LANDBRIDGE_SHARED:-$HERE/../../../shared}/samples/openstack-operator
    [ -d "$shared" ] || not_here "upstream's samples are not here ($shared)"
    cp_networks cp-sample
    kc -n cp-sample apply -f "$shared/network_isolation.yaml"
    CP_NAMESPACE=cp-sample eventually 300 cp_all_ready
    # Nine services on one address, told apart by their ports.
    counts 9 172.17.0.80 kc -n cp-sample get services --no-headers
    local port
    for port in 5000 8774 8775 8776 8778 9292 9311 9696 8080; do
        eventually 30 on edpm-compute-0 curl -s --max-time 3 -o /dev/null "http://172.17.0.80:$port/"
    done
    kc -n cp-sample delete --timeout=180s -f "$shared/network_isolation.yaml"
    kc delete ns cp-sample --timeout=120s
    ko delete ipset edpm-compute-0
}
t "control planes: upstream's sample as it is" cp_sample
