# shellcheck shell=bash disable=SC2317
# The second seed: bridge octbr over a VLAN, and pods on it.

octavia() {
    kc apply -f "$EXAMPLES/seeds/000-networking/50-nncp-osp.yaml"
    kc patch nncp osp --type=merge --patch-file "$EXAMPLES/seeds/001-octavia/patches/nncp.yaml"
    kc wait --for=condition=Available --timeout=90s nncp/osp
    eventually 30 has "re:octbr.*mtu 1500" on worker-0 ip link show octbr
    has "master octbr" on worker-0 ip link show enp6s0.24
    # The VLANs of the policy before stay on the nodes.
    has "enp6s0.20" on worker-0 ip -br link
    ko apply -f "$EXAMPLES/seeds/001-octavia/20-nad-octavia.yaml"
    file health.yaml <<YAML
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: octavia-healthmanager, namespace: openstack}
spec:
  selector: {matchLabels: {app: healthmanager}}
  template:
    metadata:
      labels: {app: healthmanager}
      annotations: {k8s.v1.cni.cncf.io/networks: octavia}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: hm, image: octavia, ports: [{containerPort: 5555, protocol: UDP}]}]
YAML
    kc apply -f "$WORK/health.yaml"
    ko rollout status --timeout=90s daemonset/octavia-healthmanager
    local pods
    read -ra pods <<<"$(ko get pods -l app=healthmanager -o 'jsonpath={.items[*].metadata.name}')"
    reaches "pod/openstack/${pods[0]}" "$(address_on openstack "${pods[1]}" openstack/octavia)"
    has "172.24.0.0/16 via 172.23.0.150 dev net1" on "pod/openstack/${pods[0]}" ip route
    kc delete -f "$WORK/health.yaml"
}
t "octavia: the seed's patch makes octbr, and pods on all nodes meet there" octavia
