# shellcheck shell=bash disable=SC2317
# Services: EndpointSlices, cluster addresses, node ports, virtual addresses on a VLAN without node addresses.

ks() { kc -n services "$@"; }
cluster_ip() { ks get svc "$1" -o "jsonpath={.spec.clusterIPs[${2:-0}]}"; }
# ask FROM URL: who answers.
ask() { on "$1" curl -sS --max-time 3 "$2"; }
# What curl says when it was told that nobody is there: at once, and not after its patience.
REFUSED='re:after [0-9]{1,3} ms: Could|reset'
# ask_udp FROM ADDRESS PORT: the same by a datagram.
ask_udp() {
    on "$1" python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.connect((sys.argv[1], int(sys.argv[2])))
s.send(b"?")
print(s.recv(2000).decode())' "$2" "$3"
}
# everybody FROM URL COUNT: so many pods answer in some tries.
everybody() {
    local met
    met=$(for _ in $(seq 30); do ask "$1" "$2" | head -n 1; done | sort -u | wc -l)
    [ "$met" -eq "$3" ] || { echo "$met answer $2 asked from $1" >&2; return 1; }
}

slices() {
    kc apply -f "$EXAMPLES/services/10-web.yaml"
    ks rollout status --timeout=90s deployment/web
    eventually 20 three_endpoints
    same "endpointslice-controller.k8s.io" ks get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[0].metadata.labels.endpointslice\.kubernetes\.io/managed-by}'
    same "IPv4 IPv6" slice_families
    same "8080 5353" ks get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[0].ports[?(@.name=="http")].port} {.items[0].ports[?(@.name=="dns")].port}'
    has "re:Endpoints:.*:8080" ks describe service web
    same "[]" ks get endpointslices -l kubernetes.io/service-name=empty -o 'jsonpath={.items[0].endpoints}'
}
three_endpoints() { [ "$(ks get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[0].endpoints[?(@.conditions.ready==true)].nodeName}' | wc -w)" -eq 3 ]; }
slice_families() { ks get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[*].addressType}' | tr ' ' '\n' | sort | xargs; }
t "services: EndpointSlices as upstream makes them" slices

inside() {
    local pod four six
    pod=pod/services/$(ks get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')
    four=$(cluster_ip web) six=$(cluster_ip web 1)
    everybody "$pod" "http://$four/" 3
    everybody "$pod" "http://[$six]/" 3
    everybody worker-1 "http://$four/" 3
    has "pod services/web-" ask_udp "$pod" "$four" 53
    has "pod services/web-" ask_udp "$pod" "$six" 53
    fails "$REFUSED" ask "$pod" "http://$(cluster_ip empty)/"
    fails "$REFUSED" ask "$pod" "http://$four:81/"
    # The ingress has this port at the node's addresses, and at no other.
    fails "re:after [0-9]{1,3} ms: Could|reset|SSL_ERROR_SYSCALL|unexpected eof" ask "$pod" "https://$four/"
}
t "services: cluster addresses of both families, from pods and nodes, TCP and UDP; nobody there is told at once" inside

node_ports() {
    local address
    address=$(kc get node worker-0 -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}' | cut -d' ' -f1)
    # With affinity one client meets one pod.
    everybody worker-2 "http://$address:30080/" 1
    ks patch service web-node --type merge -p '{"spec":{"sessionAffinity":"None"}}'
    eventually 10 everybody worker-2 "http://$address:30080/" 3
    ks patch service web-node --type merge -p '{"spec":{"externalTrafficPolicy":"Local"}}'
    eventually 10 only_from worker-0 worker-2 "http://$address:30080/"
}
# only_from NODE CLIENT URL: the pods of one node answer, and see the client itself; not where the agent stands between.
only_from() {
    local answer client=192.168.111.22
    [ "${LANDBRIDGE_SERVICES:-}" != relay ] || client=
    for _ in 1 2 3 4 5; do
        answer=$(ask "$2" "$3")
        [[ $answer == *"on $1"* && $answer == *"you are "*$client* ]] || return 1
    done
}
t "services: node ports, affinity, and policy Local that keeps the client's address" node_ports

health() {
    local pod node port other
    pod=$(ks get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')
    node=$(ks get pod "$pod" -o 'jsonpath={.spec.nodeName}')
    other=$(kc get nodes -o name | cut -d/ -f2 | grep worker | grep -vx "$node" | head -n 1)
    ks label pod "$pod" chosen=yes
    file local.yaml <<YAML
apiVersion: v1
kind: Service
metadata: {name: local, namespace: services}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {chosen: "yes"}
  ports: [{port: 80, targetPort: http}]
YAML
    kc apply -f "$WORK/local.yaml"
    port=$(ks get service local -o 'jsonpath={.spec.healthCheckNodePort}')
    eventually 10 same "200 services/local 1" health_of "$node" "$port"
    eventually 10 same "503 services/local 0" health_of "$other" "$port"
    ks label pod "$pod" chosen-
    eventually 10 same "503 services/local 0" health_of "$node" "$port"
    ks delete service local
    eventually 10 fails "$REFUSED" health_of "$node" "$port"
}
# health_of NODE PORT: status, Service and count, asked from elsewhere.
health_of() {
    local address
    address=$(kc get node "$1" -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}' | cut -d' ' -f1)
    on worker-2 curl -sS --max-time 3 -w ' %{http_code}' "http://$address:$2/any/path" >"$WORK/health" || return 1
    python3 -c 'import json, sys
body, status = open(sys.argv[1]).read().rsplit(" ", 1)
said = json.loads(body)
print(status, said["service"]["namespace"] + "/" + said["service"]["name"], said["localEndpoints"])' "$WORK/health"
}
t "services: healthCheckNodePort says which nodes have endpoints" health

# Whoever announces virtual addresses is another part: here a neighbour entry on the compute node stands for it.
announce_by() {
    local mac
    mac=$(on "$1" cat "/sys/class/net/enp6s0.20/address")
    for vip in 172.17.0.88 172.17.0.89; do
        on edpm-compute-0 ip neigh replace "$vip" lladdr "$mac" dev enp6s0.20 nud permanent
    done
}

virtual() {
    local seed=$EXAMPLES/seeds/000-networking
    kc apply -f "$seed/00-namespace.yaml" -f "$seed/50-nncp-osp.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/osp
    ko apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml"
    ko wait --for=condition=Ready --timeout=30s ipset/edpm-compute-0
    eventually 30 has "172.17.0." on edpm-compute-0 ip -br addr show enp6s0.20
    same "" on worker-0 ip -4 -br addr show enp6s0.20 scope global up to 172.17.0.0/24
    on edpm-compute-0 sysctl -qw net.ipv4.conf.all.rp_filter=1 || true
    for node in worker-0 worker-1; do
        announce_by "$node"
        everybody edpm-compute-0 http://172.17.0.88/ 3
        has "pod services/web-" ask_udp edpm-compute-0 172.17.0.88 53
        fails "$REFUSED" ask edpm-compute-0 http://172.17.0.89/
        fails "re:timed out|Timeout" ask edpm-compute-0 http://172.17.0.88:81/
        cannot_reach edpm-compute-0 172.17.0.88
    done
    everybody worker-2 http://172.17.0.88/ 3
}
t "services: a compute node reaches pods by a virtual address on a VLAN where nodes have none" virtual

leaving() {
    # A pod that goes is asked no more, while the others answer on.
    local gone
    announce_by worker-0
    gone=$(ks get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')
    ks delete pod "$gone" --wait=false
    sleep 1
    for _ in $(seq 20); do
        ask edpm-compute-0 http://172.17.0.88/ >"$WORK/answer"
        ! grep -q "$gone" "$WORK/answer"
    done
    ks scale deployment/web --replicas=0
    eventually 20 nobody_left
    # A packet that was on its way to the last pod may be lost with it.
    eventually 5 fails "$REFUSED" ask edpm-compute-0 http://172.17.0.88/
    ks scale deployment/web --replicas=3
    ks rollout status --timeout=60s deployment/web
    eventually 10 everybody edpm-compute-0 http://172.17.0.88/ 3
    ko delete ipset edpm-compute-0
}
nobody_left() { [ -z "$(ks get endpointslices -l kubernetes.io/service-name=web-vip -o 'jsonpath={.items[*].endpoints[*].addresses[0]}')" ]; }
t "services: who leaves is asked no more, and nobody left is told at once" leaving
