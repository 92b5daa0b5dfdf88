# shellcheck shell=bash disable=SC2317
# The kinds of network.openstack.org. On a cluster their CRDs come from `landbridge crds`; the rules
# across fields and objects are tested on our own server only (a cluster needs the webhooks for them).

network_crds() {
    kc get crd netconfigs.network.openstack.org >/dev/null 2>&1 && return 0
    [ -n "$LANDBRIDGE_BIN" ] || not_here "the CRDs of network.openstack.org are not installed and LANDBRIDGE_BIN is not set"
    "$LANDBRIDGE_BIN" crds | kc apply -f -
    kc wait --for=condition=Established --timeout=30s crd/{netconfigs,ipsets,reservations,dnsmasqs,dnsdata}.network.openstack.org
}

net_config() { # NAME
    cat <<YAML
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: $1}
spec:
  networks:
  - name: ctlplane
    dnsDomain: ctlplane.example.com
    subnets:
    - name: subnet1
      cidr: 192.168.122.0/24
      gateway: 192.168.122.1
      allocationRanges: [{start: 192.168.122.100, end: 192.168.122.120}]
  - name: internalapi
    dnsDomain: internalapi.example.com
    subnets:
    - name: subnet1
      cidr: 172.17.0.0/24
      vlan: 20
      allocationRanges: [{start: 172.17.0.100, end: 172.17.0.250}]
      excludeAddresses: [172.17.0.110]
YAML
}

five_kinds() {
    network_crds
    has "netconfig.network.openstack.org/net created" k apply -f <(net_config net)
    same 1500 k get netcfg net -o 'jsonpath={.spec.networks[0].mtu}'
    file rest.yaml <<YAML
apiVersion: network.openstack.org/v1beta1
kind: IPSet
metadata: {name: edpm-0}
spec:
  networks:
  - {name: ctlplane, subnetName: subnet1, defaultRoute: true}
  - {name: internalapi, subnetName: subnet1}
---
apiVersion: network.openstack.org/v1beta1
kind: Reservation
metadata: {name: by-hand}
spec:
  ipSetRef: {name: by-hand, namespace: $NS}
  reservation:
    ctlplane: {network: ctlplane, subnet: subnet1, address: 192.168.122.119}
---
apiVersion: network.openstack.org/v1beta1
kind: DNSMasq
metadata: {name: dns}
spec:
  options: [{key: server, values: [192.168.122.1]}]
---
apiVersion: network.openstack.org/v1beta1
kind: DNSData
metadata: {name: hosts}
spec:
  hosts: [{ip: 192.168.122.100, hostnames: [edpm-0.ctlplane]}]
YAML
    counts 4 created k apply -f "$WORK/rest.yaml"
    # "configured" for the DNSMasq: admission adds an option to its list.
    counts 0 created k apply -f "$WORK/rest.yaml"
    has "re:^NAME READY MESSAGE" k get ipset
    has edpm-0 k get ipset
    same "1 dnsdata" k get dnsmasq dns -o 'jsonpath={.spec.replicas} {.spec.dnsDataLabelSelectorValue}'
    same dnsdata k get dnsdata hosts -o 'jsonpath={.spec.dnsDataLabelSelectorValue}'
    has "re:allocationRanges.*-required-" kc explain netconfig.spec.networks.subnets
    k delete -f "$WORK/rest.yaml"
    k delete netconfig net
}
t "network.openstack.org: the five kinds" five_kinds

schema_rules() {
    network_crds
    fails "spec.networks[0].name" k apply -f <(net_config bad | sed 's/- name: ctlplane/- name: -bad-/')
    fails "re:vlan.*should be less than or equal to 4094" k apply -f <(net_config bad | sed 's/vlan: 20/vlan: 5000/')
    fails "allocationRanges: Required value" k apply -f <(net_config bad | sed '/allocationRanges/d')
    fails "re:options\[0\]\.key: Unsupported value" \
        k apply -f <(printf 'apiVersion: network.openstack.org/v1beta1\nkind: DNSMasq\nmetadata: {name: bad}\nspec:\n  options: [{key: nonsense, values: []}]\n')
}
t "network.openstack.org: rules of the schemas" schema_rules

own_rules() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "rules beyond the schema need our own server"
    k delete ipsets,netconfigs --all
    fails "spec.networks[0].subnets[0].cidr" k apply -f <(net_config bad | sed 's|192.168.122.0/24|192.168.122.0/99|')
    fails "spec.networks[0].subnets[0].gateway" k apply -f <(net_config bad | sed 's/gateway: .*/gateway: 10.9.9.9/')
    k apply -f <(net_config net)
    fails "there can only be one" k apply -f <(net_config second)
    fails "not in NetConfig" \
        k apply -f <(printf 'apiVersion: network.openstack.org/v1beta1\nkind: IPSet\nmetadata: {name: bad}\nspec:\n  networks: [{name: nowhere, subnetName: subnet1}]\n')
    k apply -f <(printf 'apiVersion: network.openstack.org/v1beta1\nkind: IPSet\nmetadata: {name: good}\nspec:\n  networks: [{name: ctlplane, subnetName: subnet1}]\n')
    fails "unable to delete NetConfig while there are still 1 IPSets in the namespace" k delete netconfig net
    k delete ipset good
    k delete netconfig net
}
t "network.openstack.org: rules across fields and objects" own_rules

seeds() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "the seeds' manifests name namespaces of their own"
    local folder=$HERE/../../examples/seeds/000-networking
    [ -d "$folder" ] || not_here "examples/seeds/000-networking does not exist"
    lacks "re:[Ee]rror" kc apply -f "$folder"
    kc wait -n openstack --for=condition=Ready --timeout=20s ipset/edpm-compute-0
    # The seed shows these in its status, in this order.
    same "192.168.122.100 10.0.0.10 172.17.0.150 172.18.0.10 172.20.0.10" \
        kc get -n openstack ipset edpm-compute-0 -o 'jsonpath={.status.reservations[*].address}'
    # kubectl says "configured" where items of a list have defaults; the objects must be the same.
    versions() { kc get -f "$folder" -o 'jsonpath={range .items[*]}{.metadata.uid}@{.metadata.resourceVersion} {end}'; }
    # Controllers still write what they found: that has to come to rest first.
    local before
    at_rest() {
        before=$(versions)
        sleep 2
        same "$before" versions
    }
    eventually 30 at_rest
    before=$(versions)
    lacks "re: created|[Ee]rror" kc apply -f "$folder"
    same "$before" versions
    # Backwards: a NetConfig does not go before its IPSets.
    local manifest
    for manifest in $(printf '%s\n' "$folder"/*.yaml | sort -r); do
        lacks "re:[Ee]rror" kc delete -f "$manifest" --ignore-not-found
    done
}
t "examples/seeds/000-networking: applied, unchanged, deleted" seeds
