# shellcheck shell=bash disable=SC2317
# Pods with more than one interface: the seed's NADs, annotation and `ip a`.

TWO=app=two-networks
two() { ko get pods -l "$TWO" -o "jsonpath={.items[$1].metadata.name}"; }

seed_pods() {
    local seed=$EXAMPLES/seeds/000-networking
    ko apply -f "$seed/60-nad-internalapi.yaml" -f "$seed/61-nad-storage.yaml" -f "$seed/62-two-networks.yaml"
    ko rollout status --timeout=90s deployment/two-networks
    local one two
    one=$(two 0) two=$(two 1)
    [ "$(ko get pod "$one" -o 'jsonpath={.spec.nodeName}')" != "$(ko get pod "$two" -o 'jsonpath={.spec.nodeName}')" ]
    # What the seed shows: lo, eth0, net1, net2, each with its address.
    has "re:eth0@.*mtu 1500" on "pod/openstack/$one" ip link
    has "re:net1@.*mtu 1500.*state UP" on "pod/openstack/$one" ip link show net1
    has "re:inet 172\.17\.0\.(30|31)/24 brd 172\.17\.0\.255 scope global net1" on "pod/openstack/$one" ip addr show net1
    has "re:inet 172\.18\.0\.(30|31)/24 brd 172\.18\.0\.255 scope global net2" on "pod/openstack/$one" ip addr show net2
    # Across nodes, on each network.
    reaches "pod/openstack/$one" "$(address_on openstack "$two" openstack/internalapi)" -I net1
    reaches "pod/openstack/$one" "$(address_on openstack "$two" openstack/storage)" -I net2
    reaches "pod/openstack/$one" "$(ko get pod "$two" -o 'jsonpath={.status.podIP}')"
}
t "attachments: the seed's Deployment has the seed's interfaces and meets itself on other nodes" seed_pods

as_multus() {
    local one
    one=$(two 0)
    has "re:Add net1 \[172\.17\.0\.(30|31)/24\] from openstack/internalapi" ko get events --field-selector "involvedObject.name=$one,reason=AddedInterface"
    same "landbridge-cluster openstack/internalapi openstack/storage" networks_of "$one"
    same "openstack/$one net1" kc -n kube-system get ippool 172.17.0.0-24 -o "jsonpath={.spec.allocations.$(($(address_on openstack "$one" openstack/internalapi | cut -d. -f4)))['podref','ifname']}"
    has "$(address_on openstack "$one" openstack/internalapi)" kc -n kube-system get overlappingrangeipreservations
}
networks_of() {
    ko get pod "$1" -o 'jsonpath={.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}' |
        python3 -c 'import json, sys; print(*[n["name"] for n in json.load(sys.stdin)])'
}
t "attachments: status, events and records as Multus and whereabouts write them" as_multus

static_pod() {
    ko apply -f "$EXAMPLES/seeds/000-networking/63-static-pod.yaml"
    ko wait --for=condition=Ready --timeout=60s pod/static-address
    has "172.17.0.20/24" on pod/openstack/static-address ip -br addr show net1
    # On its own network and on no other: the second interface and the cluster network do not lead there.
    reaches "pod/openstack/$(two 0)" 172.17.0.20
    cannot_reach "pod/openstack/$(two 0)" 172.17.0.20 -I net2
    cannot_reach "pod/openstack/$(two 0)" 172.17.0.20 -I eth0
    cannot_reach pod/openstack/static-address "$(address_on openstack "$(two 0)" openstack/storage)"
    # The same address again is refused, and whoever holds it is named.
    sed 's/static-address/thief/' "$EXAMPLES/seeds/000-networking/63-static-pod.yaml" | ko apply -f -
    eventually 60 thief_told
    ko delete pod thief
}
thief_told() { ko get events --field-selector involvedObject.name=thief -o json | grep -q "openstack/static-address"; }
t "attachments: a static address, reached on its network only, and nobody gets it twice" static_pod

exec_and_logs() {
    local one
    one=$(two 0)
    has "172.17.0." ko exec "$one" -- ip -br addr show net1
    fails "command terminated with exit code 3" ko exec "$one" -- sh -c 'exit 3'
    same "hello" ko exec -i "$one" -- cat <<<"hello"
    has "9292" ko logs "$one"
    fails "not valid for pod" ko logs "$one" -c nothere
    # The responder answers over the cluster network and over the attachment.
    has "$one" on "pod/openstack/$(two 1)" curl -s --max-time 5 "http://$(address_on openstack "$one" openstack/storage):9292/"
}
t "pods: kubectl exec and logs, and the responder answers on its ports" exec_and_logs

examples() {
    kc apply -f "$EXAMPLES/attachments"
    ke rollout status --timeout=90s statefulset/ovn-north
    ke rollout status --timeout=90s daemonset/ovn-controller
    ke wait --for=condition=Ready --timeout=60s pod/client
    has "172.28.0.105/24" on pod/attachments/client ip -br addr show storage
    same "172.28.0.105" ke get ipset -o 'jsonpath={.items[0].status.reservations[0].address}'
    local old_v4 old_v6
    old_v4=$(address_on attachments ovn-north-0 attachments/tenant) old_v6=$(address_on attachments ovn-north-0 attachments/tenant 1)
    [[ $old_v6 == fd00:172:19::* ]]
    reaches pod/attachments/ovn-north-1 "$old_v4"
    reaches pod/attachments/ovn-north-1 "$old_v6"
    # Deleted, and another pod wants an address meanwhile: it stays with its owner.
    local uid
    uid=$(ke get pod ovn-north-0 -o 'jsonpath={.metadata.uid}')
    ke delete pod ovn-north-0
    ke rollout status --timeout=60s statefulset/ovn-north
    [ "$(ke get pod ovn-north-0 -o 'jsonpath={.metadata.uid}')" != "$uid" ]
    same "$old_v4" address_on attachments ovn-north-0 attachments/tenant
    same "$old_v6" address_on attachments ovn-north-0 attachments/tenant 1
}
t "attachments: the examples: sticky, dual stack, and addresses of a NetConfig network" examples

sticky_daemon() {
    local before
    before=$(daemon_addresses)
    ke rollout restart daemonset/ovn-controller
    ke rollout status --timeout=120s daemonset/ovn-controller
    same "$before" daemon_addresses
}
daemon_addresses() {
    for pod in $(ke get pods -l app=ovn-controller --sort-by=.spec.nodeName -o 'jsonpath={.items[*].metadata.name}'); do
        address_on attachments "$pod" attachments/tenant
    done
}
t "attachments: a DaemonSet's pod gets the address of its node back" sticky_daemon

mistakes() {
    file bad.yaml <<YAML
apiVersion: v1
kind: Pod
metadata: {name: no-nad, namespace: attachments, annotations: {k8s.v1.cni.cncf.io/networks: nothere}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bad-json, namespace: attachments, annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": '}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: i}]}
YAML
    kc apply -f "$WORK/bad.yaml"
    eventually 60 event_of no-nad NoNetworkFound
    eventually 60 event_of bad-json FailedCreatePodSandBox
    same Pending ke get pod no-nad -o 'jsonpath={.status.phase}'
    # It heals when the network comes.
    sed 's/name: tenant$/name: nothere/' "$EXAMPLES/attachments/10-nads.yaml" | kc apply -f - >/dev/null
    ke wait --for=condition=Ready --timeout=90s pod/no-nad
    kc delete -f "$WORK/bad.yaml"
    ke delete net-attach-def nothere
}
event_of() { ke get events --field-selector "involvedObject.name=$1,reason=$2" -o name | grep -q .; }
t "attachments: what is wrong is told in events, and heals" mistakes
