# shellcheck shell=bash disable=SC2317
# Packets of the embedded cloud: instances on compute nodes, the router on a worker, pods on octbr; who reaches whom, and who
# does not. Uses the steps and calls of 81-octavia-cloud.sh.

# fab_call METHOD SERVICE PATH BODY WAY…: one call; of the answer, what lies along the way.
fab_call() {
    local method=$1 service=$2 path=$3 body=$4
    shift 4
    oct_cloud "$method" "$service" "$path" ${body:+"$body"} | python3 -c '
import json, sys
found = json.load(sys.stdin)
for step in sys.argv[1:]:
    found = found[int(step) if step.isdigit() else step]
print(found)' "$@"
}
fab_id() { fab_call GET network "/$1?name=$2" "" "${1//-/_}" 0 id; }
fab_server() { fab_call GET compute "/servers?name=$1" "" servers 0 id; }
# fab_boot NAME NETWORK GROUP: starts a server.
fab_boot() {
    local network group image flavor body
    network=$(fab_id networks "$2")
    group=$(fab_id security-groups "$3")
    flavor=$(fab_call GET compute /flavors "" flavors 0 id)
    image=$(fab_call GET image /v2/images "" images 0 id)
    body='{"server": {"name": "'$1'", "flavorRef": "'$flavor'", "imageRef": "'$image'",
        "networks": [{"uuid": "'$network'"}], "security_groups": [{"name": "'$group'"}]}}'
    fab_call POST compute /servers "$body" server id
}
# The first address of a server, as Nova shows it.
fab_address() {
    oct_cloud GET compute "/servers/$(fab_server "$1")" | python3 -c '
import json, sys
nets = json.load(sys.stdin)["server"]["addresses"]
print(next(a["addr"] for net in nets.values() for a in net))'
}
fab_host() { fab_call GET compute "/servers/$(fab_server "$1")" "" server OS-EXT-SRV-ATTR:host; }
# fab_answers FROM ADDRESS PORT: somebody takes the connection.
fab_answers() { on "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/$3 && head -c 1 <&3 >/dev/null"; }
fab_silent() { ! fab_answers "$@" 2>/dev/null; }

fab_begin() {
    oct_seed
    fab_call POST compute /flavors '{"flavor": {"name": "fab", "ram": 512, "vcpus": 1, "disk": 1}}'
    fab_call POST image /v2/images '{"name": "fab", "disk_format": "raw", "container_format": "bare"}'
    fab_boot amphora-1 lb-mgmt-net lb-mgmt-sec-grp
    fab_boot amphora-2 lb-mgmt-net lb-mgmt-sec-grp
    # One on each compute node.
    [ "$(fab_host amphora-1)" != "$(fab_host amphora-2)" ]
    # By DHCP: the address, and the way to the pods.
    eventually 30 has "$(fab_address amphora-1)/16" on instance/amphora-1 ip -4 addr show eth0
    eventually 30 has "$(fab_address amphora-2)/16" on instance/amphora-2 ip -4 addr show eth0
    has "172.23.0.0/24 via " on instance/amphora-1 ip route
    has "mtu 1442" on instance/amphora-1 ip link show eth0
}
t "cloud packets: instances start on compute nodes with the addresses that Nova shows" fab_begin

fab_meet() {
    local pod node one two own
    one=$(fab_address amphora-1) two=$(fab_address amphora-2)
    while read -r pod node; do
        eventually 20 fab_answers "pod/openstack/$pod" "$one" 9443
        fab_answers "pod/openstack/$pod" "$two" 9443
        own=$(ko get configmap octavia-hmport-map -o "jsonpath={.data.hm_$node}")
        reaches instance/amphora-1 "$own"
    done < <(oct_pods healthmanager)
    # Nothing is translated: the router has no rule for it.
    has "172.23.0.150" on router/octavia-link-router ip -4 addr
    same "" on router/octavia-link-router nft list ruleset
    # What no group lets in does not come in.
    fab_silent "pod/openstack/$pod" "$one" 80
    fab_silent instance/amphora-2 "$one" 8080
}
t "cloud packets: health managers on every node and instances meet through the router, untranslated" fab_meet

fab_nobody_else() {
    local one network subnet node
    one=$(fab_address amphora-1)
    network=$(fab_call POST network /networks '{"network": {"name": "elsewhere"}}' network id)
    subnet='{"subnet": {"network_id": "'$network'", "cidr": "172.24.0.0/16", "ip_version": 4}}'
    fab_call POST network /subnets "$subnet" subnet id
    fab_boot stranger elsewhere lb-mgmt-sec-grp
    eventually 30 has "172.24." on instance/stranger ip -4 addr show eth0
    fab_silent instance/stranger "$one" 9443
    for node in worker-0 worker-1 edpm-compute-0 edpm-compute-1; do
        fab_silent "$node" "$one" 9443
        # Nor has any a link there.
        has "re:^0$" fab_count "$node"
    done
    kc apply -f - <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: bystander, namespace: openstack}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: any}]}
YAML
    ko wait --for=condition=Ready --timeout=60s pod/bystander
    fab_silent pod/openstack/bystander "$one" 9443
    ko delete pod bystander --timeout=60s
    oct_cloud DELETE compute "/servers/$(fab_server stranger)"
    oct_cloud DELETE network "/networks/$network"
}
fab_count() { on "$1" ip -br link | grep -c "^\(brq\|tap\|up\)" || true; }
t "cloud packets: nodes, other networks and other pods do not reach the network" fab_nobody_else

fab_guard() {
    local one group rule gateway
    one=$(fab_address amphora-1)
    fab_silent instance/amphora-2 "$one" 8080
    # Who sends from an address that is not its own is not heard.
    gateway=$(on instance/amphora-2 ip route | sed -n 's/^172.23.0.0\/24 via \([0-9.]*\).*/\1/p')
    reaches instance/amphora-2 "$gateway"
    on instance/amphora-2 ip addr add 172.24.200.200/16 dev eth0
    cannot_reach instance/amphora-2 "$gateway" -I 172.24.200.200
    on instance/amphora-2 ip addr del 172.24.200.200/16 dev eth0
    # A new rule holds within seconds.
    cannot_reach instance/amphora-2 "$one"
    # In a group of its own: in Octavia's, rules that are not Octavia's go again by themselves.
    group=$(fab_call POST network /security-groups '{"security_group": {"name": "guard"}}' security_group id)
    oct_cloud POST compute "/servers/$(fab_server amphora-1)/action" '{"addSecurityGroup": {"name": "guard"}}'
    rule='{"security_group_rule": {"security_group_id": "'$group'", "direction": "ingress", "protocol": "icmp"}}'
    rule=$(fab_call POST network /security-group-rules "$rule" security_group_rule id)
    eventually 20 reaches instance/amphora-2 "$one"
    oct_cloud DELETE network "/security-group-rules/$rule"
    eventually 20 cannot_reach instance/amphora-2 "$one"
    oct_cloud POST compute "/servers/$(fab_server amphora-1)/action" '{"removeSecurityGroup": {"name": "guard"}}'
    oct_cloud DELETE network "/security-groups/$group"
}
t "cloud packets: ports are guarded by their addresses and groups" fab_guard

fab_survives() {
    local one hm host pid server
    one=$(fab_address amphora-1)
    host=$(fab_host amphora-1)
    hm=pod/openstack/$(oct_first healthmanager)
    fab_answers "$hm" "$one" 9443
    # An agent that is killed leaves instances alone; a host that is switched off brings them back.
    pid=$(python3 -c 'import json, sys; print(next(n["agent"]["pid"] for n in json.load(open(sys.argv[1]))["nodes"] if n["name"] == sys.argv[2]))' \
        "$LANDBRIDGE_DIR/lab/lab.json" "$host")
    on "$host" kill -9 "$pid"
    has "$one/16" on instance/amphora-1 ip -4 addr show eth0
    eventually 30 fab_answers "$hm" "$one" 9443
    "$LANDBRIDGE_BIN" lab reboot "$host"
    eventually 60 fab_answers "$hm" "$one" 9443
    # Stopped, started, deleted.
    server=$(fab_server amphora-1)
    oct_cloud POST compute "/servers/$server/action" '{"os-stop": null}'
    eventually 20 fab_silent "$hm" "$one" 9443
    oct_cloud POST compute "/servers/$server/action" '{"os-start": null}'
    eventually 30 fab_answers "$hm" "$one" 9443
    for server in amphora-1 amphora-2; do
        oct_cloud DELETE compute "/servers/$(fab_server "$server")"
    done
    eventually 30 fab_empty "$host"
}
# Nothing of the cloud is left on a host.
fab_empty() { [ -z "$(on "$1" ip netns list)" ]; }
t "cloud packets: instances outlive agents, come back with their host, and leave nothing" fab_survives

fab_ends() {
    oct_ends
    # The router goes, and with it the last of the cloud on a worker.
    eventually 30 fab_no_router
}
fab_no_router() { ! on worker-0 ip netns list | grep -q "^\(qrouter\|cloud\)"; }
t "cloud packets: the router and its networks leave nothing on the workers" fab_ends
