# shellcheck shell=bash disable=SC2317
# The embedded cloud behind the control plane's own Services: from compute nodes through virtual addresses, from the pod
# openstackclient, and from this machine. Needs the openstack command; without it these are left out, and scripts/test-lab
# says why.

cloud_wanted() { [ -n "${OPENSTACK:-}" ]; }
# here WORDS…: openstack on this machine.
here() { OS_CLIENT_CONFIG_FILE=$LANDBRIDGE_DIR/clouds.yaml OS_CLOUD=landbridge timeout 60 "$OPENSTACK" "$@"; }
# on_compute WORDS…: openstack on a compute node, with the catalogue's own URLs.
on_compute() {
    on edpm-compute-0 env "OS_CLIENT_CONFIG_FILE=$LANDBRIDGE_DIR/clouds.yaml" OS_CLOUD=lab "$OPENSTACK" "$@"
}
in_client() { ko exec openstackclient -- openstack "$@"; }

cloud_alone() {
    same 600 stat -c %a "$LANDBRIDGE_DIR/clouds.yaml"
    here network create alone -f value -c name
    has alone here network list -f value -c Name
    here network delete alone
    has "regionOne keystone identity True public" here endpoint list -f value -c Region -c "Service Name" -c "Service Type" -c Enabled -c Interface
    has "re:is not there|404|No Network found" fails_with here network show alone
}
fails_with() { if "$@" 2>&1; then return 1; fi; }

cloud_control_plane() {
    local seed=$EXAMPLES/seeds/000-networking
    kc apply -f "$seed/00-namespace.yaml"
    kc apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml" -f "$seed/60-nad-internalapi.yaml" -f "$seed/61-nad-storage.yaml" \
        -f "$seed/65-namespace-metallb-system.yaml" -f "$seed/70-ipaddresspool-internalapi.yaml" -f "$seed/71-l2advertisement.yaml" \
        -f "$seed/72-ctlplane.yaml" -f "$seed/30-dnsmasq.yaml" -f "$seed/80-glance.yaml"
    kc apply -f "$seed/50-nncp-osp.yaml"
    kc wait --for=condition=Available --timeout=90s nncp/osp
    kc apply -f "$EXAMPLES/cloud/controlplane.yaml"
    CP_NAMESPACE=openstack eventually 180 cp_all_ready
    eventually 60 same "Running" ko get pod openstackclient -o 'jsonpath={.status.phase}'
    eventually 30 has "re:keystone-internal" on edpm-compute-0 getent hosts keystone-internal.openstack.svc
}

cloud_through_the_vip() {
    local project
    project=$(here project show admin -f value -c id)
    same "$project" on_compute token issue -f value -c project_id
    # Neutron's and Nova's URLs are those that the control plane has registered.
    has "http://neutron-internal.openstack.svc:9696" on_compute endpoint list --service neutron -f value -c URL
    on_compute network create from-compute -f value -c name
    has from-compute here network list -f value -c Name
    same "" on_compute server list -f value
    here network delete from-compute
}

cloud_client_pod() {
    has "regionOne" in_client region list -f value
    same "" in_client network list -f value
    # The table of the seed.
    file table <<TABLE
glance internal http://glance-internal.openstack.svc:9292
glance public http://glance-public-openstack.apps.lab.landbridge.test
TABLE
    eventually 60 same "$(cat "$WORK/table")" cloud_table
    # It is made again.
    local before
    before=$(ko get pod openstackclient -o 'jsonpath={.metadata.uid}')
    ko delete pod openstackclient --timeout=60s
    eventually 60 cloud_another_pod "$before"
}
# Keystone has no order of endpoints.
cloud_table() { in_client endpoint list -c "Service Name" -c Interface -c URL --service glance -f value | sort; }
cloud_another_pod() {
    local uid
    uid=$(ko get pod openstackclient -o 'jsonpath={.metadata.uid}') && [ "$uid" != "$1" ] && in_client token issue -f value -c project_id
}

cloud_endpoints_follow() {
    # Changed behind the controller's back, and by declaration.
    local id
    id=$(here endpoint list --service neutron --interface internal -f value -c ID)
    here endpoint set "$id" --url http://wrong.example:1
    eventually 30 same "http://neutron-internal.openstack.svc:9696" here endpoint show "$id" -f value -c url
    ko patch openstackcontrolplane openstack --type=merge -p '{"spec":{"nova":{"enabled":false}}}'
    eventually 60 has "re:No service|not exist" fails_with here endpoint list --service nova
}

cloud_goes() {
    ko delete openstackcontrolplane openstack --timeout=120s
    eventually 60 same "" ko get pods -l app=openstackclient -o name
    ko delete --timeout=90s -f "$EXAMPLES/seeds/000-networking/80-glance.yaml"
    # What programs on this machine are told does not depend on the catalogue.
    here network list -f value
}

if cloud_wanted; then
    t "cloud: the openstack command works with what up has written" cloud_alone
    t "cloud: a control plane with Keystone, Neutron and Nova becomes ready" cloud_control_plane
    t "cloud: a compute node reaches Keystone, Neutron and Nova through virtual addresses" cloud_through_the_vip
    t "cloud: openstackclient answers, and prints the seed's table of endpoints" cloud_client_pod
    t "cloud: endpoints are corrected, and taken out with their service" cloud_endpoints_follow
    t "cloud: it goes with its control plane, and this machine's clients keep working" cloud_goes
fi
