# shellcheck shell=bash disable=SC2317
# IPSets get addresses. The story of examples/addresses, told with kubectl.

ADDRESSES=$HERE/../../examples/addresses

ka() { kc -n addresses "$@"; }
addresses_of() { ka get ipset "$1" -o 'jsonpath={.status.reservations[*].address}'; }
message_of() { ka get ipset "$1" -o 'jsonpath={.status.conditions[0].message}'; }
# What the ledger holds on this story's wires.
held() { kc get addressblocks -o json | grep -c '"namespace": "addresses"' || true; }
nothing_held() { [ "$(held)" = 0 ]; }

only_where_they_are_served() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "nothing serves IPSets there; start landbridge operator and set LANDBRIDGE_OWN_SERVER"
}

given() {
    only_where_they_are_served
    lacks "re:[Ee]rror" kc apply -f "$ADDRESSES"
    ka wait --for=condition=Ready --timeout=20s ipset/compute-0 ipset/compute-1
    same "192.168.122.100 172.18.0.100" addresses_of compute-0
    same "192.168.122.10 172.18.0.101" addresses_of compute-1
    same "0.0.0.0/0 192.168.122.1" ka get ipset compute-0 -o 'jsonpath={.status.reservations[0].routes[0].destination} {.status.reservations[0].routes[0].nexthop}'
    same "9000 21 storage.example.com storage" ka get ipset compute-0 -o 'jsonpath={.status.reservations[1].mtu} {.status.reservations[1].vlan} {.status.reservations[1].dnsDomain} {.status.reservations[1].serviceNetwork}'
    has "re:compute-0 True Setup complete" ka get ipset
    # The record, in the form the OpenStack operators know.
    same "172.18.0.100 compute-0 subnet1" ka get reservation compute-0 -o 'jsonpath={.spec.reservation.storage.address} {.spec.ipSetRef.name} {.metadata.labels.ipam\.network\.openstack\.org/storage}'
    # The ledger.
    has "re:example-vlan-21\.172\.18\.0\.64 example-vlan-21 172\.18\.0\.64/26" kc get addressblocks
}
t "addresses: given in order, recorded, in the ledger" given

waits() {
    only_where_they_are_served
    eventually 20 message_says "no ip address could be created for compute-2 in subnet subnet1; 0 of 2 addresses of its ranges on example-vlan-21 are left"
    same "192.168.122.101" addresses_of compute-2
    has AddressesMissing ka get events --field-selector involvedObject.name=compute-2
    # Nobody fixes an address that another one has fixed.
    fails "is the fixedIP of IPSet addresses/compute-1 already" \
        ka apply -f <(printf 'apiVersion: network.openstack.org/v1beta1\nkind: IPSet\nmetadata: {name: thief}\nspec:\n  networks: [{name: ctlplane, subnetName: subnet1, fixedIP: 192.168.122.10}]\n')
    ka delete ipset compute-0
    ka wait --for=condition=Ready --timeout=20s ipset/compute-2
    same "192.168.122.101 172.18.0.100" addresses_of compute-2
    same "192.168.122.10 172.18.0.101" addresses_of compute-1
    has AddressesGiven ka get events --field-selector involvedObject.name=compute-2
}
message_says() { [[ "$(message_of compute-2)" == *"$1" ]]; }
t "addresses: who waits is served when one frees up, and nobody moves" waits

restored() {
    only_where_they_are_served
    ka get reservation compute-1 -o json >"$WORK/reservation.json"
    ka delete ipset compute-1
    eventually 20 gone reservation compute-1
    # As a backup tool restores it: without what belongs to the old object.
    python3 - "$WORK/reservation.json" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    old = json.load(file)
old["metadata"] = {"name": old["metadata"]["name"], "labels": old["metadata"]["labels"]}
with open(sys.argv[1], "w") as file:
    json.dump(old, file)
PYTHON
    ka create -f "$WORK/reservation.json"
    eventually 20 held_is 4
    # compute-0 is back and would be given the lowest: 172.18.0.100 is compute-2's, .101 is reserved.
    lacks "re:[Ee]rror" kc apply -f "$ADDRESSES"
    ka wait --for=condition=Ready --timeout=20s ipset/compute-1
    same "192.168.122.10 172.18.0.101" addresses_of compute-1
}
held_is() { [ "$(held)" = "$1" ]; }
gone() { ! ka get "$@" >/dev/null 2>&1; }
t "addresses: a restored Reservation keeps them for its IPSet" restored

freed() {
    only_where_they_are_served
    kc delete -f "$ADDRESSES/20-ipsets.yaml"
    eventually 20 nothing_held
    same "" ka get reservations -o name
    kc delete -f "$ADDRESSES/10-netconfig.yaml" -f "$ADDRESSES/00-namespace.yaml"
}
t "addresses: freed when the IPSets go, nothing stays behind" freed
