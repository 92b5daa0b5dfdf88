# shellcheck shell=bash disable=SC2317
# Names of the cluster: Services, endpoints and pods by name, from pods and nodes, with what programs use: getent, dig, curl.
# shellcheck source=/dev/null
source "$HERE/faults.sh"

kn() { kc -n cluster-names "$@"; }
# dig_on WHERE WORDS…: the answers and nothing else.
dig_on() {
    local where=$1
    shift
    on "$where" dig +short +time=2 +tries=1 "$@" | sort
}
# The code of an answer.
dig_status() {
    local where=$1
    shift
    on "$where" dig +time=2 +tries=1 "$@" | sed -n 's/.*status: \([A-Z]*\),.*/\1/p'
}
has_dig() { "$HERE/../../scripts/ensure-dns-clients" >/dev/null 2>&1 || not_here "dig is not here (package bind9-dnsutils)"; }
pod_ip() { kn get pod "$1" -o 'jsonpath={.status.podIP}'; }
# The name server itself, as on other clusters.
server() { kc -n kube-system get service kube-dns -o 'jsonpath={.spec.clusterIP}'; }

names_service() {
    kc apply -f "$EXAMPLES/cluster-names"
    kn rollout status --timeout=90s statefulset/db
    kn wait --for=condition=Ready --timeout=30s pod/particular
    same 10.96.0.10 server
    has "53/UDP,53/TCP" kc -n kube-system get service kube-dns
    same "worker-0 worker-1 worker-2" slices_of_nodes
    same "true true true" kc -n kube-system get endpointslices -l kubernetes.io/service-name=kube-dns -o 'jsonpath={.items[*].endpoints[*].conditions.ready}'
}
slices_of_nodes() { kc -n kube-system get endpointslices -l kubernetes.io/service-name=kube-dns -o 'jsonpath={.items[*].endpoints[*].nodeName}' | tr ' ' '\n' | sort | xargs; }
t "names: the Service kube-dns has a server on every node" names_service

names_resolver() {
    same "search cluster-names.svc.cluster.local svc.cluster.local cluster.local
nameserver 10.96.0.10
options ndots:5" on pod/cluster-names/db-0 cat /etc/resolv.conf
    same "search cluster-names.svc.cluster.local svc.cluster.local cluster.local db.cluster-names.svc.cluster.local
nameserver 10.96.0.10
options ndots:2" kn exec particular -- cat /etc/resolv.conf
    same db-0 on pod/cluster-names/db-0 hostname
    same box on pod/cluster-names/particular hostname
    same box kn exec particular -- cat /etc/hostname
    has "re:^$(pod_ip particular) box.db.cluster-names.svc.cluster.local box" on pod/cluster-names/particular cat /etc/hosts
    has "re:^$(pod_ip particular) .*box.db.cluster-names" kn exec particular -- getent ahostsv4 box
    has "re:^192.0.2.7 seven" kn exec particular -- getent hosts seven.example.com
    # The node and the other pods see nothing of it.
    fails "" on worker-0 getent hosts seven
    fails "" on pod/cluster-names/db-0 getent hosts seven
    same "nameserver 10.96.0.10" on worker-1 grep nameserver /etc/resolv.conf
}
t "names: every pod has a resolver, hosts and a host name of its own, and workers resolve too" names_resolver

names_getent() {
    local four six where
    four=$(kn get service api -o 'jsonpath={.spec.clusterIPs[0]}') six=$(kn get service api -o 'jsonpath={.spec.clusterIPs[1]}')
    for where in pod/cluster-names/db-0 pod/cluster-names/particular worker-2; do
        has "re:^$four " on "$where" getent ahostsv4 api.cluster-names.svc
        has "re:^$six " on "$where" getent ahostsv6 api.cluster-names.svc
        has "re:^$four " on "$where" getent ahostsv4 api.cluster-names
    done
    has "re:^$four " on pod/cluster-names/db-0 getent ahostsv4 api
    has "re:^$(pod_ip db-1) " on pod/cluster-names/db-0 getent ahostsv4 db-1.db
    has "re:^$four .*api.cluster-names.svc.cluster.local" on pod/cluster-names/db-0 getent ahostsv4 elsewhere
    fails "" on pod/cluster-names/db-0 getent hosts nobody
    has "pod cluster-names/db-1" on pod/cluster-names/db-0 curl -sS --max-time 3 http://db-1.db:8080/
    has "pod cluster-names/db-" on pod/cluster-names/particular curl -sS --max-time 3 http://api.cluster-names/
    has "pod cluster-names/db-" on worker-1 curl -sS --max-time 3 http://api.cluster-names.svc/
}
t "names: getent and curl find Services, pods of StatefulSets and other names" names_getent

names_dig() {
    has_dig
    local at=pod/cluster-names/db-0 zone=cluster-names.svc.cluster.local both
    both=$(printf '%s\n' "$(pod_ip db-0)" "$(pod_ip db-1)" | sort)
    same "$both" dig_on "$at" "db.$zone"
    same "$both" dig_on "$at" +tcp "db.$zone"
    same "$(pod_ip db-0)" dig_on worker-1 "db-0.db.$zone"
    same "0 100 80 api.$zone." dig_on "$at" "_http._tcp.api.$zone" SRV
    same "0 50 8080 db-0.db.$zone.
0 50 8080 db-1.db.$zone." dig_on "$at" "_http._tcp.db.$zone" SRV
    same "api.$zone." dig_on "$at" -x "$(kn get service api -o 'jsonpath={.spec.clusterIP}')"
    has "db-1.db.$zone." dig_on "$at" -x "$(pod_ip db-1)"
    same "$(pod_ip db-1)" dig_on "$at" "$(pod_ip db-1 | tr . -).cluster-names.pod.cluster.local"
    same '"1.1.0"' dig_on "$at" dns-version.cluster.local TXT
    same NXDOMAIN dig_status "$at" "nobody.$zone"
    # Nobody else is asked, and that is told at once.
    same REFUSED dig_status "$at" www.example.com
    same NXDOMAIN dig_status "$at" plain
    # Who is not of this cluster is not served.
    fails "" on edpm-compute-1 dig +time=1 +tries=1 -p 1053 "@$(kc get node worker-0 -o 'jsonpath={.status.addresses[0].address}')" "api.$zone"
}
t "names: dig sees the records of the specification" names_dig

names_follow() {
    has_dig
    local zone=cluster-names.svc.cluster.local
    kn scale statefulset db --replicas=3
    kn rollout status --timeout=60s statefulset/db
    eventually 3 same "$(pod_ip db-2)" dig_on pod/cluster-names/db-0 "db-2.db.$zone"
    # A pod that is not ready is no answer, except for whoever asks for all.
    kn patch statefulset db --type=json -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe/httpGet/port", "value": 1}]'
    eventually 30 same "" dig_on pod/cluster-names/db-0 "db-2.db.$zone"
    eventually 30 names_unready
    kn patch statefulset db --type=json -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe/httpGet/port", "value": "http"}]'
    kn delete pod db-2 --wait=false --ignore-not-found
    kn scale statefulset db --replicas=2
    eventually 60 same NXDOMAIN dig_status pod/cluster-names/db-0 "db-2.db.$zone"
    kn create service clusterip fresh --tcp=80
    eventually 3 same "$(kn get service fresh -o 'jsonpath={.spec.clusterIP}')" dig_on worker-0 "fresh.$zone"
    kn delete service fresh
    eventually 3 same NXDOMAIN dig_status worker-0 "fresh.$zone"
}
names_unready() {
    local ip
    ip=$(pod_ip db-2)
    [ -n "$ip" ] && dig_on pod/cluster-names/db-0 db-all.cluster-names.svc.cluster.local | grep -qx "$ip" &&
        ! dig_on pod/cluster-names/db-0 db.cluster-names.svc.cluster.local | grep -qx "$ip"
}
t "names: names follow what is there, and only what is ready" names_follow

names_upstream() {
    has_dig
    # The name server of another node stands for one outside.
    local outside
    outside=$(kn get pod db-0 -o 'jsonpath={.status.podIP}')
    kc -n kube-system create configmap kube-dns --from-literal='stubDomains={"example.com": ["'"$outside"':9"], "bad..name": ["192.0.2.1"]}'
    eventually 5 same SERVFAIL dig_status pod/cluster-names/db-1 www.example.com
    same REFUSED dig_status pod/cluster-names/db-1 www.example.org
    eventually 10 has "nobody outside answers" kc -n kube-system get events --field-selector involvedObject.name=kube-dns,reason=UpstreamNotAnswering
    has "bad..name" kc -n kube-system get events --field-selector involvedObject.name=kube-dns,reason=BadNameServer
    kc -n kube-system delete configmap kube-dns
    eventually 5 same REFUSED dig_status pod/cluster-names/db-1 www.example.com
}
t "names: who is configured for other names is asked, and what is wrong is told" names_upstream

names_faults() {
    has_dig
    local zone=cluster-names.svc.cluster.local node four
    node=$(kn get pod db-0 -o 'jsonpath={.spec.nodeName}')
    four=$(kn get service api -o 'jsonpath={.spec.clusterIP}')
    # The API does not answer: names do, from what it said last.
    signal_api STOP
    sleep 2
    same "$four" dig_on pod/cluster-names/db-0 "api.$zone" || { signal_api CONT; return 1; }
    signal_api CONT
    kill_agent "$node"
    eventually 20 same "$four" dig_on pod/cluster-names/db-0 "api.$zone"
}
t "names: while the API is away names are answered, and soon after an agent was killed" names_faults

names_end() {
    kc delete --timeout=90s namespace cluster-names
}
t "names: the example goes again" names_end
