# shellcheck shell=bash
# Sourced by the cases of faults and by churn.sh: what is hurt, and how.

: "${HERE:?the directory of this file}" "${WORK:?}"
# In the namespace of the faults.
kf() { kc -n faults "$@"; }

# The records fit what is there, soon.
# What is recorded for nobody is collected when it has been so for a minute, and is looked for twice a minute.
settled() { eventually "${SETTLE:-120}" "$HERE/check-records" "$@"; }
nothing_left() { settled --empty faults; }
no_address_twice() { "$HERE/check-records" --addresses; }

# agent_pid NODE: as the lab's processes see it; nothing while it waits for its next start.
agent_pid() {
    python3 -c 'import json, sys
lab = json.load(open(sys.argv[1]))
print(next(n["agent"].get("pid") or "" for n in lab["nodes"] if n["name"] == sys.argv[2]))' \
        "$LANDBRIDGE_DIR/lab/lab.json" "$1"
}
has_agent() { [ -n "$(agent_pid "$1")" ]; }
kill_agent() {
    eventually 40 has_agent "$1"
    on "$1" kill -9 "$(agent_pid "$1")"
}
# signal_api SIGNAL: to `landbridge up` itself.
signal_api() {
    local pid
    pid=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pid"])' "$LANDBRIDGE_DIR/run.json")
    kill "-$1" "$pid"
}
# As a power cut: nobody is told, and the nodes go with it.
power_cut() {
    signal_api KILL
    eventually 10 up_again
    kc wait --for=condition=Ready --timeout=60s node/worker-0 node/worker-1 node/worker-2
}
up_again() { "$LANDBRIDGE_BIN" up --detach --port "$(cat "$LANDBRIDGE_DIR/port")"; }

scale() { kf scale deployment many --replicas="$1"; }
rolled_out() { kf rollout status --timeout=120s deployment/many; }
no_pod() { ! kf get pods -l "$1" -o name | grep -q .; }
sandbox_ids() { # NODE
    cat "$LANDBRIDGE_DIR/lab/nodes/$1"/pods/sandboxes/*.json 2>/dev/null | grep -o '"sandbox":"[0-9a-f]*"' | sort
}

# policy_with NAME ADDRESS WORKER: a policy that gives a worker an address on a VLAN of its own.
policy_with() {
    cat <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: $1}
spec:
  nodeSelector: {kubernetes.io/hostname: $3}
  desiredState:
    interfaces:
    - {name: $1, type: linux-bridge, state: up, bridge: {port: [{name: enp6s0.44}]}, ipv4: {enabled: true, address: [{ip: $2, prefix-length: 24}]}}
    - {name: enp6s0.44, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 44}}
YAML
}

# Networks on VLANs of their own, with addresses of whereabouts and of a NetConfig.
fault_networks() {
    cat <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: faults}
---
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: faults}
spec:
  desiredState:
    interfaces:
    - {name: enp6s0.40, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 40}}
    - {name: enp6s0.41, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 41}}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: one, namespace: faults}
spec:
  config: '{"cniVersion": "0.3.1", "name": "one", "type": "macvlan", "master": "enp6s0.40", "ipam": {"type": "whereabouts", "range": "198.18.0.0/24"}}'
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: two, namespace: faults}
spec:
  config: '{"cniVersion": "0.3.1", "name": "two", "type": "macvlan", "master": "enp6s0.41", "ipam": {"type": "landbridge", "network": "planned", "subnet": "subnet1"}}'
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: stays, namespace: faults, annotations: {landbridge.dev/sticky: "true"}}
spec:
  config: '{"cniVersion": "0.3.1", "name": "stays", "type": "macvlan", "master": "enp6s0.40", "ipam": {"type": "whereabouts", "range": "198.18.2.0/24"}}'
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: narrow, namespace: faults}
spec:
  config: '{"cniVersion": "0.3.1", "name": "narrow", "type": "macvlan", "master": "enp6s0.40", "ipam": {"type": "whereabouts", "range": "198.18.3.0/24", "range_start": "198.18.3.1", "range_end": "198.18.3.2"}}'
---
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: netconfig, namespace: faults}
spec:
  networks:
  - name: planned
    dnsDomain: planned.example.com
    subnets:
    - {name: subnet1, cidr: 198.18.1.0/24, vlan: 41, allocationRanges: [{start: 198.18.1.10, end: 198.18.1.250}]}
YAML
}
fault_workloads() {
    cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: many, namespace: faults}
spec:
  replicas: 0
  selector: {matchLabels: {app: many}}
  template:
    metadata: {labels: {app: many}, annotations: {k8s.v1.cni.cncf.io/networks: "one,two"}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: i, ports: [{containerPort: 80}]}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: stays, namespace: faults}
spec:
  replicas: 0
  serviceName: stays
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: stays}}
  template:
    metadata: {labels: {app: stays}, annotations: {k8s.v1.cni.cncf.io/networks: stays}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: i}]
YAML
}
make_fault_networks() {
    fault_networks >"$WORK/fault-networks.yaml"
    kc apply -f "$WORK/fault-networks.yaml"
    kc wait --for=condition=Available --timeout=60s nncp/faults
}
make_fault_workloads() {
    fault_workloads >"$WORK/fault-workloads.yaml"
    kc apply -f "$WORK/fault-workloads.yaml"
}

# pod_on NAME NETWORKS: a pod of its own.
pod_on() {
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: faults, annotations: {k8s.v1.cni.cncf.io/networks: "$2"}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: i}]}
YAML
}
