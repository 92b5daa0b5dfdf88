# shellcheck shell=bash disable=SC2317
# Name servers in the lab: DNSMasq of the seed on its virtual address, asked by compute nodes; the split horizon; changes, faults.
# shellcheck source=/dev/null
source "$HERE/faults.sh"

# ns_dig WHERE WORDS…: the answers and nothing else.
ns_dig() {
    local where=$1
    shift
    on "$where" dig +short +time=2 +tries=1 "$@" | sort
}
ns_has_dig() { "$HERE/../../scripts/ensure-dns-clients" >/dev/null 2>&1 || not_here "dig is not here (package bind9-dnsutils)"; }
ns_pods() { ko get pods -l service=dnsmasq --field-selector=status.phase=Running -o 'jsonpath={.items[*].metadata.name}'; }
ns_pod_ips() { ko get pods -l service=dnsmasq -o 'jsonpath={.items[*].status.podIP}'; }
# asked_all NAME ADDRESS: every server answers so, asked at its own address.
asked_all() {
    local ip
    for ip in $(ns_pod_ips); do
        same "$2" ns_dig worker-0 -p 53 "@$ip" "$1" || return 1
    done
}

ns_seed() {
    ns_has_dig
    local seed=$EXAMPLES/seeds/000-networking
    cp_networks openstack
    kc apply -f "$EXAMPLES/nodes/nncp-per-node.yaml"
    ko apply -f "$seed/10-netconfig.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml" -f "$seed/30-dnsmasq.yaml" -f "$seed/40-dnsdata.yaml"
    ko patch dnsmasq dnsmasq --type=merge -p '{"spec": {"replicas": 2}}'
    ko wait --for=condition=Ready --timeout=120s dnsmasq/dnsmasq
    same 192.168.122.80 ko get dnsmasq dnsmasq -o 'jsonpath={.status.dnsAddresses[0]}'
    # The compute node has its resolver from there, and asks the virtual address.
    eventually 60 same "nameserver 192.168.122.80" on edpm-compute-0 grep nameserver /etc/resolv.conf
    eventually 30 same 172.17.0.100 ns_dig edpm-compute-0 edpm-compute-0.internalapi
    same 172.17.0.100 ns_dig edpm-compute-0 +tcp edpm-compute-0.internalapi
    has "re:^172.17.0.100 " on edpm-compute-0 getent hosts edpm-compute-0.internalapi
    same edpm-compute-0.internalapi. ns_dig edpm-compute-0 -x 172.17.0.100
    # Its log is the container's.
    has "serving" ko logs "pod/$(ns_pods | cut -d' ' -f1)"
}
t "name servers: the seed's DNSMasq answers a compute node at its virtual address" ns_seed

ns_horizon() {
    ns_has_dig
    local seed=$EXAMPLES/seeds/000-networking cluster
    ko apply -f "$seed/60-nad-internalapi.yaml" -f "$seed/61-nad-storage.yaml" -f "$seed/80-glance.yaml"
    ko wait --for=condition=Ready --timeout=180s glance/glance
    cluster=$(ko get service glance-internal -o 'jsonpath={.spec.clusterIP}')
    eventually 30 same 172.17.0.80 ns_dig edpm-compute-0 glance-internal.openstack.svc
    has "re:^172.17.0.80 " on edpm-compute-0 getent hosts glance-internal.openstack.svc
    local pod
    pod=$(ko get pods -l service=dnsmasq -o 'jsonpath={.items[0].metadata.name}')
    has "re:^$cluster " on "pod/openstack/$pod" getent hosts glance-internal.openstack.svc
    has "re:^$cluster " ko exec "$pod" -- getent hosts glance-internal.openstack.svc
    # Name, virtual address, node, pod.
    eventually 60 has '"versions"' on edpm-compute-0 curl -sS --max-time 3 http://glance-internal.openstack.svc:9292
    has '"versions"' on "pod/openstack/$pod" curl -sS --max-time 3 http://glance-internal.openstack.svc:9292
}
t "name servers: pods see the cluster address of glance-internal.openstack.svc, compute nodes the virtual one" ns_horizon

ns_change() {
    ns_has_dig
    local pods
    pods=$(ko get pods -l service=dnsmasq -o 'jsonpath={.items[*].metadata.uid}')
    # Somebody asks all the time, every server, while names change: what goes wrong, and how long changes take.
    # shellcheck disable=SC2046 # one word for each
    ns_watch 14 $(ns_pod_ips) >"$WORK/watched" &
    local watcher=$!
    sleep 2
    : >"$WORK/changes"
    for n in 1 2 3 4 5 6 7; do
        ko patch dnsdata somehosts --type=json -p '[{"op": "replace", "path": "/spec/hosts/1/ip", "value": "172.17.9.'"$n"'"}]'
        echo "172.17.9.$n $(date +%s.%N)" >>"$WORK/changes"
        sleep 1
    done
    wait "$watcher"
    cat "$WORK/watched"
    python3 - "$WORK/watched" "$WORK/changes" <<'PY'
import json, statistics, sys
told = json.load(open(sys.argv[1]))
changes = dict(line.split() for line in open(sys.argv[2]))
assert told["failed"] == 0, told
assert told["asked"] > 1000, told
for server, first in told["first"].items():
    # kubectl ends some milliseconds after the API has answered, so this may be below nothing.
    late = [first[ip] - float(written) for ip, written in changes.items()]
    print(server, late)
    # What this machine does besides may make some of them late.
    assert statistics.median(late) < 0.1, (server, late)
PY
    same "$pods" ko get pods -l service=dnsmasq -o 'jsonpath={.items[*].metadata.uid}'
}
# ns_watch SECONDS SERVER…: asks each server all the time; how often that failed, and what was first seen when.
ns_watch() {
    on worker-0 python3 -c 'import json, random, socket, struct, sys, time
end = time.time() + float(sys.argv[1])
name = b"".join(bytes([len(l)]) + l for l in b"edpm-compute-0.internalapi".split(b".")) + b"\0"
asked = failed = 0
first = {server: {} for server in sys.argv[2:]}
sockets = {server: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for server in first}
while time.time() < end:
    for server, s in sockets.items():
        number = random.randrange(65536)
        s.settimeout(1)
        s.sendto(struct.pack(">6H", number, 0x100, 1, 0, 0, 0) + name + b"\0\1\0\1", (server, 53))
        asked += 1
        try:
            answer = s.recv(2000)
        except OSError:
            failed += 1
            continue
        if answer[:2] != struct.pack(">H", number) or answer[3] & 15 or answer[7] != 1:
            failed += 1
            continue
        first[server].setdefault(socket.inet_ntoa(answer[-4:]), time.time())
    time.sleep(0.002)
print(json.dumps({"asked": asked, "failed": failed, "first": first}))' "$@"
}
t "name servers: a change is answered within 100 ms on every server, with no failed query and no new pod" ns_change

ns_faults() {
    ns_has_dig
    local pod node ip
    pod=$(ns_pods | cut -d' ' -f1)
    node=$(ko get pod "$pod" -o 'jsonpath={.spec.nodeName}') ip=$(ko get pod "$pod" -o 'jsonpath={.status.podIP}')
    # The agent goes: the server stays.
    ns_watch 6 "$ip" >"$WORK/watched" &
    local watcher=$!
    sleep 1
    kill_agent "$node"
    wait "$watcher"
    has '"failed": 0' cat "$WORK/watched"
    # The next agent keeps its files.
    eventually 40 has_agent "$node"
    kc wait --for=condition=Ready --timeout=30s "node/$node"
    ko patch dnsdata somehosts --type=json -p '[{"op": "replace", "path": "/spec/hosts/1/ip", "value": "172.17.0.100"}]'
    eventually 20 asked_all edpm-compute-0.internalapi 172.17.0.100
    # The API is away: everybody answers.
    signal_api STOP
    sleep 1
    ns_watch 3 "$ip" >"$WORK/watched" || { signal_api CONT; return 1; }
    signal_api CONT
    has '"failed": 0' cat "$WORK/watched"
    # The server is killed: it comes back.
    on "$node" kill -9 "$(ns_process "$node" "$pod")"
    eventually 60 asked_all edpm-compute-0.internalapi 172.17.0.100
}
# ns_process NODE POD: of its containers, as the lab's processes see it.
ns_process() {
    python3 -c 'import glob, json, sys
records = [json.load(open(file)) for file in glob.glob(sys.argv[1])]
print(next(r["process"]["pid"] for r in records if r["identity"]["name"] == sys.argv[2]))' \
        "$LANDBRIDGE_DIR/lab/nodes/$1/pods/sandboxes/*.json" "$2"
}
t "name servers: agents may be killed and the API may be away, names are answered" ns_faults

ns_bad_option() {
    # Upstream's pods try their options first, in an init container.
    file bad.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: bad-options, namespace: openstack}
data: {config.cfg: "srv-host=_x._tcp.example.com,target,no-port\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: bad-options, namespace: openstack}
spec:
  volumes: [{name: config, configMap: {name: bad-options}}]
  initContainers:
  - name: init
    image: dnsmasq
    command: [/bin/bash]
    args: [-c, "dnsmasq --conf-dir=/etc/dnsmasq.d --port 5353 --test"]
    volumeMounts: [{name: config, mountPath: /etc/dnsmasq.d/config.cfg, subPath: config.cfg}]
  containers:
  - name: dnsmasq-dns
    image: dnsmasq
    command: [/bin/bash]
    args: [-c, "dnsmasq --conf-dir=/etc/dnsmasq.d --port 5353 --keep-in-foreground"]
    volumeMounts: [{name: config, mountPath: /etc/dnsmasq.d/config.cfg, subPath: config.cfg}]
YAML
    ko apply -f "$WORK/bad.yaml"
    eventually 30 has Init:CrashLoopBackOff ko get pod bad-options
    has "no-port" ko get pod bad-options -o 'jsonpath={.status.initContainerStatuses[0].lastState.terminated.message}'
    eventually 10 has "no-port" ko get events --field-selector involvedObject.name=bad-options,reason=Failed
    has "no-port" ko logs bad-options -c init
    ko delete --timeout=30s -f "$WORK/bad.yaml"
}
t "name servers: an option that is refused keeps a pod from starting, in its own words" ns_bad_option

ns_end() {
    local seed=$EXAMPLES/seeds/000-networking
    ko delete --timeout=120s -f "$seed/80-glance.yaml" -f "$seed/40-dnsdata.yaml" -f "$seed/30-dnsmasq.yaml" -f "$seed/20-ipset-edpm-compute-0.yaml"
    eventually 60 lacks nameserver on edpm-compute-0 cat /etc/resolv.conf
}
t "name servers: everything goes again" ns_end
