# shellcheck shell=bash disable=SC2317
# Octavia's management network: from the seed's attachment and patch to Neutron's objects, and back.

OCTAVIA_SEED=$HERE/../../examples/seeds/001-octavia
CLOUDS=$(dirname "$KUBECONFIG")/clouds.yaml
oct_server() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "Octavia is acted on by our own server only"
    [ -f "$CLOUDS" ] || not_here "this server has no cloud"
}
oc() { kc -n openstack "$@"; }
cloud() { timeout 60 python3 "$HERE/../cloud/octavia.py" "$CLOUDS" "$@"; }
# told STATUS TEXT: what the condition says.
told() {
    local status=$1 text=$2 have
    have=$(oc get octavia octavia -o 'jsonpath={.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].status} {.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].message}')
    [[ $have == "$status "*"$text"* ]] || { echo "$have"; return 1; }
}

oct_after() {
    oct_server
    # The patch first: what is missing is told, and OVN's own definition gives way to the seed's.
    kc create namespace openstack --dry-run=client -o yaml | kc apply -f -
    oc apply -f - <<'YAML'
apiVersion: core.openstack.org/v1beta1
kind: OpenStackControlPlane
metadata: {name: controlplane}
spec: {}
YAML
    oc patch openstackcontrolplane controlplane --type=merge --patch-file "$OCTAVIA_SEED/patches/controlplane.yaml"
    eventually 30 told False "NetworkAttachmentDefinition"
    oc apply -f "$OCTAVIA_SEED/20-nad-octavia.yaml"
    eventually 30 told True "Octavia Management Network setup completed"
    cloud check
    same "octbr" oct_bridge
    # What the attachment says stays, also when OVN looks again.
    oc annotate ovncontroller --all look=again
    sleep 2
    same "octbr" oct_bridge
    # As the seed lists the pods: two containers in those of the API.
    same "octavia-api octavia-image-upload" oc get deployments -l service=octavia -o 'jsonpath={.items[*].metadata.name}'
    same "octavia-healthmanager octavia-housekeeping octavia-worker" oc get daemonsets -l service=octavia -o 'jsonpath={.items[*].metadata.name}'
    has "re:octavia-api .*,.*" oc get deployment octavia-api -o wide
    same "172.24.0.0/16 172.23.0.150" oc get daemonset octavia-healthmanager \
        -o 'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="MGMT_CIDR")].value} {.spec.template.spec.containers[0].env[?(@.name=="MGMT_GATEWAY")].value}'
}
oct_bridge() { oc get net-attach-def octavia -o 'jsonpath={.spec.config}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["bridge"])'; }
t "octavia: the seed's patch before its attachment gives the seed's networks" oct_after

oct_kept() {
    oct_server
    # Somebody changes Neutron: it comes back.
    local router subnet
    router=$(cloud GET network '/routers?name=octavia-link-router' | python3 -c 'import json, sys; print(json.load(sys.stdin)["routers"][0]["id"])')
    subnet=$(cloud GET network '/subnets?name=lb-mgmt-subnet' | python3 -c 'import json, sys; print(json.load(sys.stdin)["subnets"][0]["id"])')
    cloud PUT network "/routers/$router" '{"router": {"external_gateway_info": {}}}'
    cloud PUT network "/subnets/$subnet" '{"subnet": {"host_routes": [], "name": "x"}}'
    eventually 10 cloud check
    # A wrong attachment is told with its field, and nothing is torn down; a right one is followed.
    has "LB701" oct_gateway 172.23.0.40
    eventually 15 told False "spec.config (ipam.routes[0].gw): the router's address 172.23.0.40 lies in 172.23.0.30-172.23.0.70"
    cloud check
    oct_gateway 172.23.0.160
    eventually 15 told True completed
    has '"172.23.0.160"' cloud GET network "/routers/$router"
    oct_gateway 172.23.0.150
    eventually 15 cloud check
    # What Neutron cannot change is told with what to do.
    oct_zones '["nowhere"]'
    eventually 15 told False "availability_zone_hints"
    oct_zones '[]'
    eventually 15 told True completed
    # Addresses for nodes that come, and none for nodes that go.
    kc create -f - <<YAML
apiVersion: v1
kind: Node
metadata: {name: hm-$RUN, labels: {landbridge.test/run: $RUN}}
YAML
    eventually 15 oct_addresses "hm-$RUN"
    kc delete node "hm-$RUN"
    eventually 15 oct_no_addresses "hm-$RUN"
}
oct_gateway() {
    sed "s/172.23.0.150/$1/" "$OCTAVIA_SEED/20-nad-octavia.yaml" | oc apply -f - 2>&1
}
oct_zones() {
    oc patch openstackcontrolplane controlplane --type merge -p "{\"spec\":{\"octavia\":{\"template\":{\"lbMgmtNetwork\":{\"availabilityZones\":$1}}}}}"
}
oct_addresses() { [[ $(oc get configmap octavia-hmport-map -o "jsonpath={.data.hm_$1} {.data.rsyslog_$1}") == 172.23.0.*\ 172.23.0.* ]]; }
oct_no_addresses() { [ -z "$(oc get configmap octavia-hmport-map -o "jsonpath={.data.hm_$1}")" ]; }
t "octavia: what others change comes back, and what cannot be is told" oct_kept

oct_goes() {
    oct_server
    oc patch openstackcontrolplane controlplane --type merge -p '{"spec":{"octavia":{"enabled":false}}}'
    eventually 30 fails NotFound oc get octavia octavia
    cloud gone
    # The attachment is the user's, and stays when OVN goes.
    oc delete openstackcontrolplane controlplane --timeout=60s
    same "octbr" oct_bridge
}
t "octavia: what was made goes with it, and nothing else" oct_goes

oct_alone() {
    oct_server
    # The attachment is there already; an Octavia by itself, with a zone and rsyslog.
    lacks "re:[Ee]rror|LB701|unknown field" kc apply -f "$HERE/../../examples/octavia"
    eventually 30 told True completed
    has '"172.25.0.0/24"' cloud GET network '/subnets?name=lb-mgmt-edge-a-subnet'
    eventually 15 oc get daemonset octavia-rsyslog
    same "172.25.0.0/24" oc get daemonset octavia-rsyslog -o 'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="MGMT_CIDR0")].value}'
    oc annotate octavia octavia landbridge.dev/on-delete=detach
    oc delete octavia octavia --timeout=60s
    has '"lb-mgmt-net"' cloud GET network '/networks?name=lb-mgmt-net'
    lacks "landbridge:" cloud GET network /networks
    # Whoever comes next adopts it, and leaves it when told to go: by hand then.
    oct_clear
    kc delete --ignore-not-found -f "$HERE/../../examples/octavia/10-attachment.yaml" --timeout=60s
}
oct_clear() {
    local one
    oct_each routers | while read -r one; do
        oct_ports "$one" | while read -r port; do cloud PUT network "/routers/$one/remove_router_interface" "{\"port_id\": \"$port\"}"; done
        cloud DELETE network "/routers/$one"
    done
    oct_each networks | while read -r one; do cloud DELETE network "/networks/$one"; done
    oct_each security-groups | while read -r one; do cloud DELETE network "/security-groups/$one"; done
    cloud gone
}
oct_each() { cloud GET network "/$1" | python3 -c 'import json, re, sys
for one in next(iter(json.load(sys.stdin).values())):
    if re.match(r"lb-(mgmt|health|prov)|octavia-", one["name"]): print(one["id"])'; }
oct_ports() { cloud GET network "/ports?device_id=$1&device_owner=network:router_interface" | python3 -c 'import json, sys
for one in json.load(sys.stdin)["ports"]: print(one["id"])'; }
t "octavia: by itself, with a zone and rsyslog; detached it leaves everything" oct_alone
