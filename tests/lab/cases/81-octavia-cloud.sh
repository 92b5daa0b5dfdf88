# shellcheck shell=bash disable=SC2317
# The second seed's steps as written, up to Neutron: policies, attachment, control plane; then the pods, their addresses
# and routes, and every object that the seed shows.

OCT_SEED=$EXAMPLES/seeds/001-octavia
oct_cloud() { timeout 60 python3 "$HERE/../cloud/octavia.py" "$LANDBRIDGE_DIR/clouds.yaml" "$@"; }
oct_told() {
    local have
    have=$(ko get octavia octavia -o 'jsonpath={.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].status} {.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].message}')
    [[ $have == "$1 "* ]] || { echo "$have"; return 1; }
}
oct_pods() { ko get pods -l "service=octavia,component=octavia-$1" -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}'; }
# Every health manager has the address of its node, and only that one.
oct_aliases() {
    local line pod node want have all
    mapfile -t all < <(oct_pods healthmanager)
    [ "${#all[@]}" -ge 2 ] || return 1
    for line in "${all[@]}"; do
        read -r pod node <<<"$line"
        want=$(ko get configmap octavia-hmport-map -o "jsonpath={.data.hm_$node}")
        have=$(on "pod/openstack/$pod" ip -4 -o addr show octavia | grep -o 'inet [0-9.]*/32')
        [ "$have" = "inet $want/32" ] || { echo "$pod has $have, not $want"; return 1; }
        [ "$(ko get pod "$pod" -o 'jsonpath={.metadata.labels.predictableip}')" = "$want" ] || return 1
    done
}

oct_seed() {
    local part ready
    kc apply -f "$EXAMPLES/seeds/000-networking/00-namespace.yaml"
    kc apply -f "$EXAMPLES/seeds/000-networking/50-nncp-osp.yaml"
    kc patch nncp osp --type=merge --patch-file "$OCT_SEED/patches/nncp.yaml"
    kc wait --for=condition=Available --timeout=90s nncp/osp
    ko apply -f - <<'YAML'
apiVersion: core.openstack.org/v1beta1
kind: OpenStackControlPlane
metadata: {name: controlplane}
spec: {}
YAML
    ko apply -f "$OCT_SEED/20-nad-octavia.yaml"
    ko patch openstackcontrolplane controlplane --type=merge --patch-file "$OCT_SEED/patches/controlplane.yaml"
    eventually 60 oct_told True
    oct_cloud check
    # kubectl get pods, as the seed prints it.
    for part in api-.* healthmanager-.* housekeeping-.* image-upload-.* worker-.*; do
        ready=1/1
        [ "$part" != "api-.*" ] || ready=2/2
        eventually 90 has "re:^octavia-$part $ready Running" ko get pods -l service=octavia
    done
    ko rollout status --timeout=90s daemonset/octavia-healthmanager daemonset/octavia-worker
}
t "octavia: the seed's steps give the seed's pods and the seed's networks" oct_seed

oct_printed() {
    OS_CLIENT_CONFIG_FILE=$LANDBRIDGE_DIR/clouds.yaml OS_CLOUD=landbridge PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1 \
        "$OPENSTACK_PYTHON" "$HERE/../cloud/cli/seed.py" "$OPENSTACK" --kept
}
if [ -n "${OPENSTACK_PYTHON:-}" ]; then
    t "octavia: the openstack command prints what the seed shows" oct_printed
fi

oct_addresses() {
    eventually 30 oct_aliases
    local hm node other to
    read -r hm node < <(oct_pods healthmanager)
    has "172.24.0.0/16 via 172.23.0.150 dev octavia" on "pod/openstack/$hm" ip route
    # Another node reaches it there.
    read -r other _ < <(oct_pods worker | grep -v " $node\$")
    to=$(ko get configmap octavia-hmport-map -o "jsonpath={.data.hm_$node}")
    eventually 20 reaches "pod/openstack/$other" "$to"
    # The attachment's range moves: so do the addresses, in the same pods.
    sed 's/172.23.0.70/172.23.0.96/' "$OCT_SEED/20-nad-octavia.yaml" | ko apply -f -
    eventually 30 oct_moved 172.23.0.123
    eventually 30 oct_aliases
    same "$hm" oct_first healthmanager
    ko apply -f "$OCT_SEED/20-nad-octavia.yaml"
    eventually 30 oct_moved 172.23.0.97
    eventually 30 oct_aliases
    oct_cloud check
}
oct_moved() { [[ " $(ko get configmap octavia-hmport-map -o 'jsonpath={.data.*}') " == *" $1 "* ]]; }
oct_first() { local name; read -r name _ < <(oct_pods "$1"); echo "$name"; }
t "octavia: health managers have the addresses of their nodes, also when these move" oct_addresses

oct_zone() {
    ko patch openstackcontrolplane controlplane --type=merge \
        -p '{"spec":{"octavia":{"template":{"lbMgmtNetwork":{"availabilityZoneCIDRs":{"edge-a":"172.25.0.0/24"}}}}}}'
    eventually 30 has '"172.25.0.0/24"' oct_cloud GET network '/subnets?name=lb-mgmt-edge-a-subnet'
    ko rollout status --timeout=120s daemonset/octavia-healthmanager
    eventually 30 oct_leads 172.25.0.0/24
    eventually 30 oct_aliases
    ko patch openstackcontrolplane controlplane --type=merge -p '{"spec":{"octavia":{"template":{"lbMgmtNetwork":null}}}}'
    eventually 60 has '"networks": []' oct_cloud GET network '/networks?name=lb-mgmt-edge-a-net'
}
oct_leads() { on "pod/openstack/$(oct_first healthmanager)" ip route | grep -q "$1 via 172.23.0.150"; }
t "octavia: a zone has its network, and pods the way to it" oct_zone

oct_boot() {
    local node other
    ko rollout status --timeout=120s daemonset/octavia-healthmanager
    read -r _ node < <(oct_pods healthmanager)
    read -r other _ < <(oct_pods healthmanager | grep -v " $node\$")
    "$LANDBRIDGE_BIN" lab reboot "$node"
    # The bridge is the policy's, with its VLAN, and not one that a pod's plugin has made; and the pods are on it.
    eventually 60 has "master octbr" on "$node" ip link show enp6s0.24
    eventually 60 oct_aliases
    eventually 30 reaches "pod/openstack/$other" "$(ko get configmap octavia-hmport-map -o "jsonpath={.data.hm_$node}")"
    eventually 30 has "re:cni0.*UP" on "$node" ip -br link
}
t "octavia: a node that was booted has its bridge back before its pods" oct_boot

oct_ends() {
    ko patch openstackcontrolplane controlplane --type=merge -p '{"spec":{"octavia":{"enabled":false}}}'
    eventually 60 fails NotFound ko get octavia octavia
    oct_cloud gone
    ko delete openstackcontrolplane controlplane --timeout=90s
    ko delete --ignore-not-found -f "$OCT_SEED/20-nad-octavia.yaml"
}
t "octavia: what was made goes with it" oct_ends
