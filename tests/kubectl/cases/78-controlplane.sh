# shellcheck shell=bash disable=SC2317
# Control planes and services without nodes: what is made of them, what is refused, and that it goes again.

cp_server() { [ -n "$LANDBRIDGE_OWN_SERVER" ] || not_here "control planes are acted on by our own server only"; }
# In the namespace of the examples.
plane() { kc -n controlplane "$@"; }

cp_made() {
    cp_server
    lacks "re:[Ee]rror|LB601|LB606|unknown field" kc apply -f "$HERE/../../examples/controlplane"
    eventually 30 plane get service keystone-internal glance-default-internal rabbitmq rabbitmq-cell1 ovsdbserver-nb ovsdbserver-sb
    same "LoadBalancer 172.17.0.80 keystone-internal.controlplane.svc" plane get service keystone-internal \
        -o 'jsonpath={.spec.type} {.metadata.annotations.metallb\.universe\.tf/loadBalancerIPs} {.metadata.annotations.dnsmasq\.network\.openstack\.org/hostname}'
    eventually 30 plane get keystoneendpoint glance
    same "http://glance-default-internal.controlplane.svc:9292 https://glance-default-public-controlplane.apps.lab.landbridge.test" plane get keystoneendpoint glance \
        -o 'jsonpath={.spec.endpoints.internal} {.spec.endpoints.public}'
    same "edge" plane get route glance-default-public -o 'jsonpath={.spec.tls.termination}'
    same '[{"name":"storage","namespace":"controlplane","interface":"storage"}]' plane get statefulset glance-default-internal-api \
        -o 'jsonpath={.spec.template.metadata.annotations.k8s\.v1\.cni\.cncf\.io/networks}'
    # First generation, by itself: a public virtual address, and no Route.
    eventually 30 plane get service placement-public
    same "internalapi 172.17.0.82" plane get service placement-public \
        -o 'jsonpath={.metadata.annotations.metallb\.universe\.tf/allow-shared-ip} {.metadata.annotations.metallb\.universe\.tf/loadBalancerIPs}'
    gone -n controlplane route placement-public
    has "re:^openstack (False|Unknown)" plane get oscp
    has "re:STATUS MESSAGE" plane get oscp
}
t "control planes: the examples become Services, Routes, workloads and records" cp_made

cp_follows() {
    cp_server
    # A changed address takes effect; a label of somebody else stays.
    plane label service keystone-internal theirs=yes
    plane patch oscp openstack --type merge -p '{"spec":{"keystone":{"template":{"override":{"service":{"internal":{"metadata":{"annotations":{"metallb.universe.tf/loadBalancerIPs":"172.17.0.81"}}}}}}}}}'
    eventually 30 cp_address 172.17.0.81
    same yes plane get service keystone-internal -o 'jsonpath={.metadata.labels.theirs}'
    # What is deleted comes back; what is switched off goes.
    plane delete service keystone-internal
    eventually 30 plane get service keystone-internal
    plane patch oscp openstack --type merge -p '{"spec":{"glance":{"enabled":false}}}'
    eventually 30 gone -n controlplane glance glance
    eventually 30 gone -n controlplane service glance-default-internal
    eventually 30 gone -n controlplane keystoneendpoint glance
    # The reason why something waits.
    has "NetworkAttachment resources missing: nothere" cp_waits
}
cp_address() { [ "$(plane get service keystone-internal -o 'jsonpath={.metadata.annotations.metallb\.universe\.tf/loadBalancerIPs}')" = "$1" ]; }
cp_waits() {
    plane patch oscp openstack --type merge -p '{"spec":{"keystone":{"template":{"networkAttachments":["nothere"]}}}}' >/dev/null
    plane wait oscp/openstack --for 'jsonpath={.status.conditions[?(@.type=="OpenStackControlPlaneKeystoneAPIReady")].reason}=Error' --timeout=30s >/dev/null
    plane get oscp openstack -o 'jsonpath={.status.conditions[?(@.type=="OpenStackControlPlaneKeystoneAPIReady")].message}'
}
t "control planes: changes are followed, and conditions say what is missing" cp_follows

cp_refused() {
    cp_server
    fails "Only one OpenStackControlPlane instance per namespace is supported at this time." plane apply -f - <<'YAML'
apiVersion: core.openstack.org/v1beta1
kind: OpenStackControlPlane
metadata: {name: second}
spec: {}
YAML
    fails "invalid endpoint type: admin" plane patch oscp openstack --type merge -p '{"spec":{"keystone":{"template":{"override":{"service":{"admin":{"spec":{"type":"LoadBalancer"}}}}}}}}'
    fails "RabbitMQ rabbitmq has this address already" plane patch oscp openstack --type merge \
        -p '{"spec":{"rabbitmq":{"templates":{"rabbitmq-cell1":{"override":{"service":{"metadata":{"annotations":{"metallb.universe.tf/loadBalancerIPs":"172.17.0.85"}}}}}}}}}'
    fails 'Unsupported value: "admin": supported values: "internal", "public"' plane patch placementapi placement --type merge \
        -p '{"spec":{"externalEndpoints":[{"endpoint":"admin","ipAddressPool":"internalapi"}]}}'
    has "did you mean networkAttachments?" plane patch placementapi placement --type merge -p '{"spec":{"networkAttachmnts":["storage"]}}'
    has "re:LB606: .*nothing reads networkAttachments here" plane patch oscp openstack --type merge -p '{"spec":{"keystone":{"networkAttachments":["storage"]}}}'
}
t "control planes: what cannot work is refused with the reason, what is misspelt is found" cp_refused

cp_goes() {
    cp_server
    plane create service clusterip theirs --tcp=80
    plane delete oscp openstack --timeout=60s
    plane delete placementapi placement --timeout=60s
    same "theirs" plane get services -o 'jsonpath={.items[*].metadata.name}'
    same "" plane get routes,keystoneendpoints,keystoneservices,deployments,statefulsets,daemonsets,keystoneapis,rabbitmqs,ovndbclusters -o 'jsonpath={.items[*].metadata.name}'
    same "internalapi storage tenant" plane get net-attach-def -o 'jsonpath={.items[*].metadata.name}'
    kc delete --ignore-not-found -f "$HERE/../../examples/controlplane/00-networks.yaml"
}
t "control planes: what was made goes, and nothing else" cp_goes

cp_samples() {
    cp_server
    local shared=${LANDBRIDGE_SHARED:-$HERE/../../../shared}/samples/openstack-operator name
    [ -d "$shared" ] || not_here "upstream's samples are not here ($shared)"
    for name in network_isolation network_isolation_ceph network_isolation_2023; do
        kc create ns "cp-$RUN"
        lacks "re:[Ee]rror|unknown field|LB601|LB606" kc -n "cp-$RUN" apply -f "$shared/$name.yaml"
        eventually 60 kc -n "cp-$RUN" get service keystone-internal nova-internal nova-metadata-internal rabbitmq-cell1
        eventually 60 kc -n "cp-$RUN" get keystoneendpoint nova cinderv3 placement
        # It goes with its namespace, too.
        kc delete ns "cp-$RUN" --timeout=90s
    done
}
t "control planes: upstream's samples as they are" cp_samples
