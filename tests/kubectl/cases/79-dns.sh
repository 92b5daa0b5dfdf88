# shellcheck shell=bash disable=SC2317
# DNSMasq and DNSData: what is made of them, in upstream's form. The story of examples/names, told with kubectl.

NAMES=$HERE/../../examples/names

kn() { kc -n names "$@"; }
only_where_names_are_served() {
    [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "nothing acts on DNSMasq there; start landbridge operator and set LANDBRIDGE_OWN_SERVER"
}
# hosts_file NAME: the lines of a ConfigMap, under its own name.
hosts_file() { kn get configmap "$1" -o "go-template={{index .data \"$1\"}}"; }
hosts_are() { [ "$(hosts_file "$1")" = "$2" ]; }
# said KIND NAME TYPE: a condition.
said() { kn get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"$3\")].status} {.status.conditions[?(@.type==\"$3\")].severity}: {.status.conditions[?(@.type==\"$3\")].message}"; }
says() { [[ "$(said "$1" "$2" "$3")" == *"$4"* ]]; }
dns_told() { kn get events --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.type} {.reason}: {.message}{"\n"}{end}'; }
dns_told_of() { [[ "$(dns_told "$1")" == *"$2"* ]]; }
revision() { kn get "$1" "$2" -o 'jsonpath={.metadata.resourceVersion}'; }

dns_made() {
    only_where_names_are_served
    kc get ns metallb-system || kc create ns metallb-system
    lacks "re:[Ee]rror|unknown field" kc apply -f "$NAMES"
    # Names, wherever they come from.
    eventually 30 hosts_are machines $'172.29.0.1 gateway.names.example.com\n172.29.0.10 switch-a.names.example.com switch.names.example.com\n172.29.0.11 switch-b.names.example.com'
    eventually 30 hosts_are dns-svc "172.29.0.80 dnsmasq-dns.names.svc glance-internal.names.svc"
    eventually 30 hosts_are dns-ipsets $'172.29.0.100 compute-0.ctlplane.names.example.com\n172.29.1.100 compute-0.internalapi.names.example.com'
    same "dnsdata machines DNSData true" kn get configmap machines \
        -o 'jsonpath={.metadata.labels.dnsmasqhosts} {.metadata.labels.dnsmasq\.openstack\.org/name} {.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].controller}'
    eventually 30 says dnsdata machines Ready "True : Setup complete"
    has "re:^machines True Setup complete" kn get dnsdata
    has "re:^NAME READY MESSAGE" kn get dnsmasq
    # Options, as a file.
    same $'server=172.29.0.1\ncname=images.names.example.com,glance-internal.names.svc\nlocal=/names.svc/' hosts_file dns
    # The Service with its address, and what the status says of it.
    eventually 30 dns_has_address
    same "LoadBalancer false dnsmasq-dns.names.svc" kn get service dnsmasq-dns \
        -o 'jsonpath={.spec.type} {.metadata.annotations.core\.openstack\.org/ingress_create} {.metadata.annotations.dnsmasq\.network\.openstack\.org/hostname}'
    same "dnsmasq UDP 53 5353, dnsmasq-tcp TCP 53 5353, " kn get service dnsmasq-dns \
        -o 'jsonpath={range .spec.ports[*]}{.name} {.protocol} {.port} {.targetPort}, {end}'
    same "$(kn get service dnsmasq-dns -o 'jsonpath={.spec.clusterIP}')" kn get dnsmasq dns -o 'jsonpath={.status.dnsClusterAddresses[0]}'
    eventually 30 says dnsmasq dns CreateServiceReady "True : Create service completed"
    eventually 30 says dnsmasq dns RoleBindingReady "True : RoleBinding created"
    # The Deployment upstream would make.
    same "init dnsmasq-dns dnsmasq-dns 10" kn get deployment dnsmasq-dns \
        -o 'jsonpath={.spec.template.spec.initContainers[*].name} {.spec.template.spec.containers[*].name} {.spec.template.spec.serviceAccountName} {.spec.template.spec.terminationGracePeriodSeconds}'
    has "dnsmasq --interface=* --conf-dir=/etc/dnsmasq.d --hostsdir=/etc/dnsmasq.d/hosts" kn get deployment dnsmasq-dns -o 'jsonpath={.spec.template.spec.containers[0].args[1]}'
    eventually 30 dns_mounts "config by-hand dns-ipsets dns-svc machines"
    dns_is_quiet
}
dns_has_address() { [ "$(kn get dnsmasq dns -o 'jsonpath={.status.dnsAddresses[*]}')" = 172.29.0.80 ]; }
dns_mounts() { [ "$(kn get deployment dnsmasq-dns -o 'jsonpath={.spec.template.spec.volumes[*].name}')" = "$1" ]; }
# Nobody writes what is there already.
dns_is_quiet() {
    local before
    eventually 30 hash_is_run
    before=$(dns_revisions)
    sleep 2
    same "$before" dns_revisions
}
hash_is_run() { [ "$(kn get dnsmasq dns -o 'jsonpath={.status.hash.input}')" = "$(kn get deployment dnsmasq-dns -o 'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="CONFIG_HASH")].value}')" ]; }
dns_revisions() { kn get dnsmasqs,dnsdata,configmaps,deployments,services,serviceaccounts,roles,rolebindings -o 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}'; }
t "names: DNSMasq and DNSData become what upstream makes of them" dns_made

dns_follows() {
    only_where_names_are_served
    local hash
    hash=$(kn get dnsmasq dns -o 'jsonpath={.status.hash.input}')
    kn patch dnsdata machines --type json -p '[{"op": "replace", "path": "/spec/hosts/0/ip", "value": "172.29.0.2"}]'
    eventually 10 has "re:^172.29.0.2 gateway.names.example.com" hosts_file machines
    eventually 10 fails "" test "$hash" = "$(kn get dnsmasq dns -o 'jsonpath={.status.hash.input}')"
    # A node set's own names are not published a second time.
    kn apply -f - <<'YAML'
apiVersion: network.openstack.org/v1beta1
kind: DNSData
metadata: {name: edpm}
spec:
  hosts: [{ip: 172.29.0.100, hostnames: [compute-0.ctlplane.names.example.com]}]
YAML
    eventually 10 hosts_are dns-ipsets "172.29.1.100 compute-0.internalapi.names.example.com"
    kn delete dnsdata edpm
    eventually 10 gone -n names configmap edpm
    eventually 10 has compute-0.ctlplane hosts_file dns-ipsets
    # Addresses go, and come back as others'.
    kn delete ipset compute-0
    eventually 10 hosts_are dns-ipsets ""
    kn delete service glance-internal
    eventually 10 hosts_are dns-svc "172.29.0.80 dnsmasq-dns.names.svc"
    kn annotate dnsmasq dns landbridge.dev/publish-ipsets-
    eventually 10 gone -n names dnsdata dns-ipsets
    # What is taken away comes back.
    kn delete configmap machines
    eventually 10 has switch-a hosts_file machines
}
t "names: changes and deletions are followed" dns_follows

dns_bad_input() {
    only_where_names_are_served
    has "Warning: spec.hosts[1].ip" kn apply -f - <<'YAML'
apiVersion: network.openstack.org/v1beta1
kind: DNSData
metadata: {name: machines}
spec:
  hosts:
  - {ip: 172.29.0.10, hostnames: [good.names.example.com]}
  - {ip: 172.29.0.300, hostnames: [bad.names.example.com]}
  - {ip: 172.29.0.11, hostnames: ["no name", good.names.example.com]}
YAML
    eventually 10 says dnsdata machines EntriesReady 'False Warning: Not everything is answered as written: spec.hosts[1]: "172.29.0.300" is not an IP address, so bad.names.example.com is not answered; spec.hosts[2]: "no name" is not a host name and is not answered; spec.hosts[2]: good.names.example.com is 172.29.0.11 here and 172.29.0.10 in spec.hosts[0]: both are answered'
    says dnsdata machines Ready "True : Setup complete"
    eventually 10 dns_told_of machines 'Warning BadEntry: Not everything is answered as written: spec.hosts[1]'
    eventually 10 has "re:^172.29.0.10 good.names.example.com" hosts_file machines
    # Two sources that contradict each other, and one that cannot be read.
    kn patch configmap by-hand --type merge -p '{"data":{"by-hand":"172.29.0.99 good.names.example.com\n"}}'
    eventually 10 says dnsmasq dns EntriesReady "good.names.example.com is 172.29.0.99 in ConfigMap by-hand and 172.29.0.10, 172.29.0.11 in ConfigMap machines: all are answered"
    eventually 10 dns_told_of dns "Warning BadEntry: "
    kn patch configmap by-hand --type json -p '[{"op": "replace", "path": "/data", "value": {"other": "x"}}]'
    eventually 10 says dnsmasq dns EntriesReady "ConfigMap by-hand has no key by-hand"
    # An option that dnsmasq does not start with.
    kn patch dnsmasq dns --type json -p '[{"op": "add", "path": "/spec/options/-", "value": {"key": "host-record", "values": ["x.names.example.com", "172.29.0.300"]}}]'
    eventually 10 says dnsmasq dns OptionsReady 'False Warning: dnsmasq will not start: spec.options[3]: "host-record=x.names.example.com,172.29.0.300"'
    eventually 10 says dnsmasq dns Ready "dnsmasq will not start"
    eventually 10 dns_told_of dns "Warning BadOption: "
    fails "must not contain line breaks" kn patch dnsdata machines --type json -p '[{"op": "replace", "path": "/spec/hosts/0/hostnames/0", "value": "x\n172.29.0.66 evil"}]'
}
t "names: bad entries and options are named, the others are served" dns_bad_input

dns_own_image() {
    only_where_names_are_served
    kn patch dnsmasq dns --type json -p '[{"op": "remove", "path": "/spec/options/3"}, {"op": "replace", "path": "/spec/containerImage", "value": "registry.example:5000/site/landbridge:1.0"}]'
    eventually 10 dns_mounts "config hosts"
    same '["landbridge","dns"]' kn get deployment dnsmasq-dns -o 'jsonpath={.spec.template.spec.containers[0].command}'
    eventually 10 has good.names.example.com kn get configmap dnsmasq-dns-hosts-0 -o 'jsonpath={.data.machines}'
    local generation
    generation=$(kn get deployment dnsmasq-dns -o 'jsonpath={.metadata.generation}')
    kn patch dnsdata machines --type merge -p '{"spec":{"hosts":[{"ip":"172.29.0.10","hostnames":["changed.names.example.com"]}]}}'
    eventually 10 has changed.names.example.com kn get configmap dnsmasq-dns-hosts-0 -o 'jsonpath={.data.machines}'
    same "$generation" kn get deployment dnsmasq-dns -o 'jsonpath={.metadata.generation}'
}
t "names: with Landbridge's image a change restarts nothing" dns_own_image

dns_goes() {
    only_where_names_are_served
    kn create configmap theirs
    kn delete dnsmasq dns --timeout=30s
    kn delete dnsdata machines --timeout=30s
    same "" kn get dnsdata,deployments,services,roles,rolebindings -o 'jsonpath={.items[*].metadata.name}'
    lacks "re:dns|machines" kn get configmaps,serviceaccounts -o name
    has configmap/theirs kn get configmaps -o name
    kc delete --ignore-not-found -f "$NAMES"
}
t "names: what was made goes, and nothing else" dns_goes

# The seed's and upstream's examples as they are, in the first generation and in today's.
dns_examples() {
    only_where_names_are_served
    local file shared=${LANDBRIDGE_SHARED:-$HERE/../../../shared}/samples/infra-operator seed=$HERE/../../examples/seeds/000-networking
    for file in 00-namespace 30-dnsmasq 40-dnsdata; do
        lacks "re:[Ee]rror|Warning" kc apply -f "$seed/$file.yaml"
    done
    eventually 30 kc -n openstack wait dnsdata/somehosts --for=condition=Ready --timeout=5s
    has "re:^172.17.0.101 edpm-compute-1.internalapi" kc -n openstack get configmap somehosts -o 'jsonpath={.data.somehosts}'
    eventually 30 kc -n openstack get deployment dnsmasq-dnsmasq
    # As the seed exposes it.
    lacks "re:[Ee]rror|unknown field" kc -n openstack apply -f - <<'YAML'
apiVersion: network.openstack.org/v1beta1
kind: DNSMasq
metadata: {name: first}
spec:
  externalEndpoints:
  - ipAddressPool: ctlplane
    loadBalancerIPs: [192.168.122.80]
  options: [{key: server, values: [192.168.122.1]}]
YAML
    eventually 30 kc -n openstack get service dnsmasq-first-ctlplane
    same "ctlplane ctlplane 192.168.122.80 true 53" kc -n openstack get service dnsmasq-first-ctlplane \
        -o 'jsonpath={.metadata.annotations.metallb\.universe\.tf/address-pool} {.metadata.annotations.metallb\.universe\.tf/allow-shared-ip} {.metadata.annotations.metallb\.universe\.tf/loadBalancerIPs} {.metadata.labels.first-ctlplane} {.spec.ports[0].targetPort}'
    eventually 30 has "dnsmasq-first-ctlplane LoadBalancer IP still pending" kc -n openstack get dnsmasq first
    same '{"runAsUser":0}' kc -n openstack get deployment dnsmasq-first -o 'jsonpath={.spec.template.spec.containers[0].securityContext}'
    same anyuid kc -n openstack get role dnsmasq-first-role -o 'jsonpath={.rules[0].resourceNames[0]}'
    kc -n openstack delete dnsmasqs,dnsdata --all --timeout=30s
    for file in 40-dnsdata 30-dnsmasq 00-namespace; do
        kc delete -f "$seed/$file.yaml" --ignore-not-found
    done
    [ -d "$shared" ] || not_here "upstream's samples are not here ($shared)"
    for file in dnsmasq dnsdata; do
        lacks "re:[Ee]rror|unknown field" k apply -f "$shared/$file.yaml"
    done
    eventually 30 k wait dnsdata/allhosts --for=condition=Ready --timeout=5s
    same "server=192.168.122.1 local=/example.com/" dns_words
    has "re:^172.17.0.86 rabbitmq-cell1.openstack.svc" k get configmap allhosts -o 'jsonpath={.data.allhosts}'
    k delete -f "$shared/dnsdata.yaml" -f "$shared/dnsmasq.yaml" --timeout=30s
}
dns_words() { k get configmap dnsmasq -o 'jsonpath={.data.dnsmasq}' | tr '\n' ' ' | sed 's/ $//'; }
t "names: the seed's and upstream's examples as they are" dns_examples
