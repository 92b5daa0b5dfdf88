# shellcheck shell=bash disable=SC2317
# Services of type LoadBalancer get virtual addresses. The story of examples/vips, told with kubectl.

VIPS=$HERE/../../examples/vips

kv() { kc -n vips "$@"; }
vips_of() { kv get service "$1" -o 'jsonpath={.status.loadBalancer.ingress[*].ip}'; }
from_pool() { kv get service "$1" -o 'jsonpath={.metadata.annotations.metallb\.io/ip-allocated-from-pool}'; }
vip_is() { [ "$(vips_of "$1")" = "$2" ]; }
pool_is() { [ "$(from_pool "$1")" = "$2" ]; }
vip_told() { kv get events --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.type} {.reason}: {.message}{"\n"}{end}'; }
told_of() { [[ "$(vip_told "$1")" == *"$2"* ]]; }
no_vip_held() { ! kc get addressblocks -o json | grep -q '"namespace": "vips"'; }
pool_addresses() { # POOL ADDRESSES
    kc -n metallb-system patch ipaddresspool "$1" --type merge -p "{\"spec\": {\"addresses\": [$2]}}"
}

balanced() { # NAME PORT [ANNOTATION=VALUE...]
    local name=$1 port=$2 annotation
    shift 2
    printf 'apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: vips\n' "$name"
    [ $# = 0 ] || printf '  annotations:\n'
    for annotation in "$@"; do printf '    metallb.io/%s: "%s"\n' "${annotation%%=*}" "${annotation#*=}"; done
    printf 'spec:\n  type: LoadBalancer\n  ports: [{port: %s}]\n' "$port"
}

only_where_vips_are_served() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "nothing serves virtual addresses there; start landbridge operator and set LANDBRIDGE_OWN_SERVER"
}

vips_given() {
    only_where_vips_are_served
    # Landbridge brings the namespace along. Whoever deletes it, and makes it anew later than a write
    # is tried again, finds everything there again.
    kc delete ns metallb-system --ignore-not-found
    sleep 2
    kc create ns metallb-system
    lacks "re:[Ee]rror" kc apply -f "$VIPS"
    eventually 20 vip_is keystone-internal 172.28.0.80
    eventually 20 vip_is glance-internal 172.28.0.80
    eventually 20 vip_is web "172.28.1.80 fd00:28::80"
    same example-internalapi from_pool glance-internal
    same example-dual from_pool web
    # What others see of it.
    has "172.28.0.80" kv get service keystone-internal
    same VIP kv get service web -o 'jsonpath={.status.loadBalancer.ingress[0].ipMode}'
    eventually 20 told_of web 'Normal IPAllocated: Assigned IP ["172.28.1.80" "fd00:28::80"]'
    eventually 20 told_of keystone-internal "Warning deprecatedAnnotation: Service uses deprecated annotation metallb.universe.tf/address-pool"
    lacks deprecatedAnnotation vip_told glance-internal
    # The ledger says who shares it.
    has "vips" kc get addressblocks vips.172.28.0.64
    same "glance-internal keystone-internal" kc get addressblocks vips.172.28.0.64 -o 'jsonpath={.spec.claims.172\.28\.0\.80.shared.users[*].name}'
    eventually 20 counted example-internalapi "1 0 10 0"
    eventually 20 counted example-dual "1 1 1 1"
    eventually 20 same Valid kc -n metallb-system get configurationstate controller -o 'jsonpath={.status.result}'
    eventually 20 has 'metallb_allocator_addresses_in_use_total{pool="example-dual"} 2' kc get --raw /metrics
}
counted() { # POOL FIGURES
    [ "$(kc -n metallb-system get ipaddresspool "$1" -o 'jsonpath={.status.assignedIPv4} {.status.assignedIPv6} {.status.availableIPv4} {.status.availableIPv6}')" = "$2" ]
}
t "vips: by annotation in both prefixes, shared, dual stack; status, events, figures" vips_given

fourteen() {
    only_where_vips_are_served
    local n
    for n in $(seq 1 12); do
        balanced "api-$n" $((8000 + n)) address-pool=example-internalapi allow-shared-ip=example-internalapi loadBalancerIPs=172.28.0.80
        echo "---"
    done | kc apply -f -
    for n in $(seq 1 12); do eventually 20 vip_is "api-$n" 172.28.0.80; done
    # The fifteenth has the port of another one.
    balanced late 8003 allow-shared-ip=example-internalapi loadBalancerIPs=172.28.0.80 | kc apply -f -
    eventually 20 told_of late 'Warning AllocationFailed: Failed to allocate IP for "vips/late": port TCP/8003 is already in use on "172.28.0.80"'
    same "" vips_of late
    # Its port is corrected, and it gets the address without being asked for again.
    kv patch service late --type merge -p '{"spec": {"ports": [{"port": 8099}]}}'
    eventually 20 vip_is late 172.28.0.80
}
t "vips: 14 services on one address with ports of their own, a clash told and healed" fourteen

rabbits() {
    only_where_vips_are_served
    balanced rabbitmq 5671 loadBalancerIPs=172.28.0.85 | kc apply -f -
    eventually 20 vip_is rabbitmq 172.28.0.85
    balanced rabbitmq-cell1 5671 loadBalancerIPs=172.28.0.85 | kc apply -f -
    eventually 20 told_of rabbitmq-cell1 "can't change sharing key for \"vips/rabbitmq-cell1\", address also in use by vips/rabbitmq"
    kv annotate --overwrite service rabbitmq-cell1 metallb.io/loadBalancerIPs=172.28.0.86
    eventually 20 vip_is rabbitmq-cell1 172.28.0.86
}
t "vips: two RabbitMQ on one address are refused with the reason" rabbits

keys_change() {
    only_where_vips_are_served
    # Its only user changes the key in place.
    kv annotate service rabbitmq metallb.io/allow-shared-ip=mine
    eventually 20 ledger_key 172.28.0.85 mine
    same 172.28.0.85 vips_of rabbitmq
    # One of many cannot take the others along.
    kv annotate --overwrite service api-1 metallb.io/allow-shared-ip=other
    eventually 20 told_of api-1 "can't change sharing key for \"vips/api-1\", address also in use by"
    eventually 20 vip_is api-1 ""
    kv annotate --overwrite service api-1 metallb.io/allow-shared-ip=example-internalapi
    eventually 20 vip_is api-1 172.28.0.80
}
ledger_key() { [ "$(kc get addressblocks vips.172.28.0.64 -o "jsonpath={.spec.claims.${1//./\\.}.shared.key}")" = "$2" ]; }
t "vips: sharing keys change in place for one, and move nobody else" keys_change

wishes_corrected() {
    only_where_vips_are_served
    balanced wrong-pool 80 address-pool=exmaple-internalapi | kc apply -f -
    eventually 20 told_of wrong-pool 'unknown pool "exmaple-internalapi"'
    balanced outside 80 loadBalancerIPs=172.28.0.99 | kc apply -f -
    eventually 20 told_of outside '["172.28.0.99"] is not allowed in config'
    balanced no-address 80 loadBalancerIPs=172.28.0.x | kc apply -f -
    eventually 20 told_of no-address 'Warning LoadBalancerFailed: invalid metallb.io/loadBalancerIPs: "172.28.0.x"'
    balanced two-families 80 "loadBalancerIPs=172.28.0.87,172.28.0.88" | kc apply -f -
    eventually 20 told_of two-families "one of each family"
    kv annotate --overwrite service wrong-pool metallb.io/address-pool=example-internalapi
    eventually 20 vip_is wrong-pool 172.28.0.81
    kv annotate --overwrite service no-address metallb.io/loadBalancerIPs=172.28.0.87
    eventually 20 vip_is no-address 172.28.0.87
    # Widening the pool helps who waits for it.
    pool_addresses example-internalapi '"172.28.0.80-172.28.0.99"'
    eventually 20 vip_is outside 172.28.0.99
    kv delete service wrong-pool outside no-address two-families
}
t "vips: bad wishes stay pending with the reason and are picked up when corrected" wishes_corrected

bad_pools() {
    only_where_vips_are_served
    pool() { printf 'apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: example-bad, namespace: %s}\nspec: {addresses: [%s]}\n' "$2" "$1"; }
    fails 'CIDR "172.28.0.80/28" in pool "example-internalapi" overlaps with already defined CIDR "172.28.0.85/32"' kc apply -f <(pool '"172.28.0.85-172.28.0.85"' metallb-system)
    fails 'invalid CIDR "172.28.9.1" in pool "example-bad": invalid CIDR "172.28.9.1"' kc apply -f <(pool '"172.28.9.1"' metallb-system)
    fails "pool has no prefixes defined" kc apply -f <(pool '' metallb-system)
    fails "resource must be created in metallb-system namespace" kc apply -f <(pool '"172.28.9.0/24"' vips)
    fails "duplicate definition of ipAddressPools" kc apply -f <(printf 'apiVersion: metallb.io/v1beta1\nkind: L2Advertisement\nmetadata: {name: example-bad, namespace: metallb-system}\nspec: {ipAddressPools: [a, a]}\n')
    # Nobody has lost anything by that.
    same 172.28.0.80 vips_of keystone-internal
}
t "vips: malformed and overlapping pools are refused in MetalLB's words" bad_pools

pool_changes() {
    only_where_vips_are_served
    # Shrunk: who is outside moves, the others stay.
    pool_addresses example-internalapi '"172.28.0.80-172.28.0.85"'
    eventually 20 vip_is rabbitmq-cell1 ""
    eventually 20 told_of rabbitmq-cell1 "Normal ClearAssignment"
    same 172.28.0.85 vips_of rabbitmq
    # Renamed: addresses stay, the annotation follows.
    kc -n metallb-system get ipaddresspool example-internalapi -o json | sed 's/"example-internalapi"/"example-renamed"/' >"$WORK/pool.json"
    kc -n metallb-system delete ipaddresspool example-internalapi
    eventually 20 vip_is rabbitmq ""
    kc apply -f "$WORK/pool.json"
    eventually 20 vip_is rabbitmq 172.28.0.85
    eventually 20 pool_is rabbitmq example-renamed
    eventually 20 vip_is keystone-internal ""
    eventually 20 told_of keystone-internal "Warning AllocationFailed"
    kv annotate --overwrite service keystone-internal metallb.universe.tf/address-pool=example-renamed
    eventually 20 vip_is keystone-internal 172.28.0.80
}
t "vips: pools shrink and are renamed" pool_changes

vips_freed() {
    only_where_vips_are_served
    kv patch service web --type merge -p '{"spec": {"type": "ClusterIP", "externalTrafficPolicy": null, "ports": [{"name": "http", "port": 80, "nodePort": null}]}}'
    eventually 20 vip_is web ""
    same "" from_pool web
    kc delete -f "$VIPS/00-namespace.yaml"
    eventually 20 no_vip_held
    kc -n metallb-system delete ipaddresspool example-dual example-renamed
}
t "vips: given back with the type, and with the services" vips_freed
