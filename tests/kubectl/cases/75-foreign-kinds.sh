# shellcheck shell=bash disable=SC2317
# Kinds of others (CNI, nmstate, MetalLB, OpenStack) that the embedded API serves, and warnings about
# what does not fit together. On a cluster they belong to their owners, so these cases need our server.

own_server() { [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "kinds of others are served by our own server only"; }

foreign_kinds() {
    own_server
    local name
    for name in net-attach-def nncp nnce nns ipaddresspools l2advertisements oscp glances octavias ippools.whereabouts.cni.cncf.io; do
        lacks "re:[Ee]rror" kc get "$name" -A
    done
    has "re:desiredState" kc explain nncp.spec
    has "re:nodenetworkconfigurationpolicies +nncp +nmstate.io/v1 +false" kc api-resources --api-group nmstate.io
    has "is deprecated" kc get nodenetworkconfigurationpolicies.v1beta1.nmstate.io
}
t "kinds of others: served under upstream's names" foreign_kinds

columns() {
    own_server
    k delete ipsets,netconfigs --all
    k apply -f <(net_config net)
    has "re:^NAME AGE$" k get netconfig
    has "re:^NAME AGE NETWORKS PREFIXES VLANS" k get netconfig -o wide
    has "ctlplane,internalapi 192.168.122.0/24,172.17.0.0/24 20" k get netconfig -o wide
    k apply -f <(printf 'apiVersion: network.openstack.org/v1beta1\nkind: IPSet\nmetadata: {name: two}\nspec:\n  networks: [{name: ctlplane, subnetName: subnet1}, {name: internalapi, subnetName: subnet1}]\n')
    k wait --for=condition=Ready ipset/two --timeout=30s
    has "re:^two True Setup complete 192.168.122.[0-9]+,172.17.0.[0-9]+$" k get ipset
    has "re: ctlplane,internalapi$" k get ipset -o wide
    k delete ipset two
    k delete netconfig net
}
t "columns: all networks and all addresses" columns

# The warnings of applying one file of the seed.
seed() { kc apply -f "$HERE/../../examples/seeds/000-networking/$1"; }

seed_warnings() {
    own_server
    local file
    for file in 00-namespace 10-netconfig 20-ipset-edpm-compute-0 30-dnsmasq 40-dnsdata; do
        lacks "re:[Ee]rror|LB[0-9]" seed "$file.yaml"
    done
    has "Warning: LB501: spec.desiredState.interfaces[3].ipv4.address[0].ip: every node that policy osp selects gets 192.168.122.10" seed 50-nncp-osp.yaml
    has "re:^Warning: LB101: .*NetConfig openstack/netconfig, network InternalApi.*\(41 addresses\); landbridge explain LB101$" seed 60-nad-internalapi.yaml
    has "re:^Warning: LB201: network Storage is VLAN 30 .* attachment storage is VLAN 21" seed 61-nad-storage.yaml
    seed 65-namespace-metallb-system.yaml
    has "re:^Warning: LB101: .*IPAddressPool metallb-system/internalapi.*\(11 addresses\)" seed 70-ipaddresspool-internalapi.yaml
    lacks Warning seed 71-l2advertisement.yaml
    has "Warning: spec.glanceAPIInternal.networkAttachents: taken as networkAttachments" seed 80-glance.yaml
    same '["storage"]["storage"]' kc get glance glance -n openstack \
        -o 'jsonpath={.spec.glanceAPIInternal.networkAttachments}{.spec.glanceAPIExternal.networkAttachments}'
    same "" kc get glance glance -n openstack -o 'jsonpath={.spec.glanceAPIInternal.networkAttachents}'
    lacks "re:[Ee]rror" seed 90-openstackcontrolplane-rabbitmq.yaml
    # What does not touch the spec is not judged.
    lacks Warning kc label nncp osp landbridge.test/seen=yes
    # The way the Octavia document patches a policy takes the other interfaces away.
    has "Warning: LB503: policy osp is given again without enp6s0.20, enp6s0.21, enp6s0.22, enp6s0; landbridge explain LB503" \
        kc patch nncp osp --type merge -p '{"spec":{"desiredState":{"interfaces":[{"name":"octbr","type":"linux-bridge"}]}}}'
    for file in $(printf '%s\n' "$HERE"/../../examples/seeds/000-networking/*.yaml | sort -r); do
        lacks "re:[Ee]rror|Warning" kc delete -f "$file" --ignore-not-found
    done
}
t "the seed's contradictions are warnings, and nothing is refused" seed_warnings

samples() {
    own_server
    local shared=${LANDBRIDGE_SHARED:-$HERE/../../../shared}/samples file
    [ -d "$shared" ] || not_here "upstream's samples are not here ($shared)"
    k delete ipsets,netconfigs --all
    # The seed's files, deleted before, had the namespace among them.
    kc get ns metallb-system || kc create ns metallb-system
    for file in infra-operator/{netconfig,ipset,dnsmasq,dnsdata}.yaml octavia-operator/octavia{-nad,}.yaml; do
        lacks "re:[Ee]rror|unknown field" k apply -f "$shared/$file"
    done
    # One control plane per namespace: one after the other (78-controlplane.sh looks at what is made of them).
    for file in openstack-operator/network_isolation{,_2023,_ceph}.yaml; do
        lacks "re:[Ee]rror|unknown field" k apply -f "$shared/$file"
        k delete -f "$shared/$file"
    done
    for file in metallb/{ipaddresspool_simple,l2adv_selects_pools_by_list}.yaml; do
        lacks "re:[Ee]rror|unknown field" kc apply -f "$shared/$file"
    done
    for file in metallb/{ipaddresspool_simple,l2adv_selects_pools_by_list}.yaml; do
        kc delete -f "$shared/$file"
    done
    for file in octavia-operator/octavia{,-nad}.yaml infra-operator/{dnsdata,dnsmasq,ipset,netconfig}.yaml; do
        k delete -f "$shared/$file"
    done
}
t "upstream's samples apply unchanged" samples
