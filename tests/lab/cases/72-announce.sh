# shellcheck shell=bash disable=SC2317
# Announcing: one node answers for an address on its VLAN, tells so, and is replaced.

# The VLANs are on the workers only; so the question comes from a worker that does not announce.
ka() { kc -n announce "$@"; }
announcer() { kc -n metallb-system get servicel2statuses -l metallb.io/service-name=example -o 'jsonpath={.items[*].status.node}'; }
announced() { [ "$(announcer | wc -w)" = 1 ]; }
# asked NODE INTERFACE: Ethernet addresses that answer, one to a line.
asked() {
    on "$1" python3 - "$2" 198.18.20.80 <<'PY'
import select, socket, struct, sys, time
interface, target = sys.argv[1], socket.inet_aton(sys.argv[2])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
s.bind((interface, 0x0806))
own = s.getsockname()[4]
s.send(b"\xff" * 6 + own + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + own + socket.inet_aton("198.18.20.1") + bytes(6) + target)
found, end = set(), time.time() + 0.5
while time.time() < end:
    if select.select([s], [], [], 0.05)[0]:
        frame = s.recv(100)
        if frame[20:22] == b"\0\2" and frame[28:32] == target and frame[:6] == own:
            found.add(frame[22:28].hex(":"))
print("\n".join(sorted(found)))
PY
}
mac_of() { on "$1" ip -j link show enp6s0.60 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])'; }
# Any worker but the one that announces.
asker() { for node in worker-0 worker-1 worker-2; do [ "$node" = "$1" ] || { echo "$node"; return; }; done; }

announce_one() {
    local node from
    kc apply -f "$EXAMPLES/announce/10-pool.yaml" -f "$EXAMPLES/announce/20-service.yaml"
    kc wait --for=condition=Available --timeout=90s nncp/announce-example
    # Where a controller gives addresses this says nothing new.
    ka patch service example --subresource=status --type=merge -p '{"status": {"loadBalancer": {"ingress": [{"ip": "198.18.20.80"}]}}}'
    eventually 20 announced
    node=$(announcer)
    from=$(asker "$node")
    same "$(mac_of "$node")" asked "$from" enp6s0.60
    # On the other VLAN nobody answers, and the address is on no interface.
    same "" asked "$from" enp6s0.61
    for worker in worker-0 worker-1 worker-2; do lacks 198.18.20.80 on "$worker" ip addr; done
}
t "announce: one node answers for the address, on its VLAN only" announce_one

announce_told() {
    local node
    node=$(announcer)
    has "example announce" kc -n metallb-system get servicel2statuses
    same "enp6s0.60" kc -n metallb-system get servicel2statuses -l metallb.io/service-name=example -o 'jsonpath={.items[0].status.interfaces[*].name}'
    has "announcing from node \"$node\" with protocol \"layer2\"" ka get events --field-selector reason=nodeAssigned
    same "Valid Valid Valid" kc -n metallb-system get configurationstates speaker-worker-0 speaker-worker-1 speaker-worker-2 -o 'jsonpath={.items[*].status.result}'
    has "metallb_speaker_announced{ip=\"198.18.20.80\",node=\"$node\",protocol=\"layer2\",service=\"announce/example\"} 1" metrics "$node"
    has "landbridge_members_live 3" metrics "$node"
}
metrics() { on "$1" python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:7472/metrics", timeout=5).read().decode())'; }
t "announce: ServiceL2Status, events, ConfigurationState and metrics as MetalLB has them" announce_told

announce_moves() {
    local node other
    node=$(announcer)
    "$LANDBRIDGE_BIN" lab link "$node" enp6s0 down
    moved() { announced && [ "$(announcer)" != "$node" ]; }
    eventually 10 moved
    other=$(announcer)
    same "$(mac_of "$other")" asked "$(third "$node" "$other")" enp6s0.60
    "$LANDBRIDGE_BIN" lab link "$node" enp6s0 up
    back() { [ "$(announcer)" = "$node" ]; }
    eventually 20 back
}
third() { for node in worker-0 worker-1 worker-2; do [ "$node" = "$1" ] || [ "$node" = "$2" ] || echo "$node"; done; }
t "announce: a pulled cable moves the address, and it returns" announce_moves

announce_ends() {
    ka delete service example
    eventually 10 same "" announcer
    same "" asked worker-0 enp6s0.60
    same "" asked worker-1 enp6s0.60
    # As MetalLB's webhook refuses it.
    fails 'invalid label selector nodeSelectors[0]' kc -n metallb-system patch l2advertisement announce-example --type=merge -p '{"spec": {"nodeSelectors": [{"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x"]}]}]}}'
    kc -n metallb-system delete l2advertisement announce-example
    kc -n metallb-system delete ipaddresspool announce-example
}
t "announce: silence when the Service is gone, and what is wrong is told" announce_ends
