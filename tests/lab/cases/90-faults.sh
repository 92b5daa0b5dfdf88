# shellcheck shell=bash disable=SC2317
# Faults: whatever is killed, cut or taken away, the lab comes to rest with nothing lost and nothing given twice.
# shellcheck source=/dev/null
source "$HERE/faults.sh"

prepared() {
    make_fault_networks
    make_fault_workloads
    settled
}
t "faults: networks to be hurt" prepared

killed_in_apply() {
    # Caught in the act: the address is there, and the probe that will find the node cut off still runs.
    file cut-off.yaml <<YAML
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: cut-off}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-2}
  desiredState:
    interfaces:
    - {name: enp1s0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}
YAML
    kc apply -f "$WORK/cut-off.yaml"
    eventually 20 has 203.0.113.9 on worker-2 ip -br addr show enp1s0
    kill_agent worker-2
    has 203.0.113.9 on worker-2 ip -br addr show enp1s0
    kc delete nncp cut-off
    eventually 20 has "192.168.111.22/24" on worker-2 ip -br addr show enp1s0
    lacks 203.0.113.9 on worker-2 ip -br addr show enp1s0
    has "cut short" cat "$LANDBRIDGE_DIR/lab/nodes/worker-2/agent.log"
    kc wait --for=condition=Ready --timeout=30s node/worker-2
}
t "faults: an agent that is killed while it applies takes the half-made change back" killed_in_apply

killed_and_applied() {
    local hundredths
    for hundredths in 2 10 30; do
        policy_with hurt "198.18.9.$hundredths" worker-1 >"$WORK/hurt.yaml"
        kc apply -f "$WORK/hurt.yaml"
        sleep "$(printf '0.%02d' "$hundredths")"
        kill_agent worker-1
        eventually 60 applied "198.18.9.$hundredths"
    done
    # Only the last address is left: what the killed ones made is known to be theirs.
    same 1 addresses_of_hurt
    sed 's/state: up/state: absent/' "$WORK/hurt.yaml" | kc apply -f -
    eventually 30 lacks "enp6s0.44" on worker-1 ip -br link
    kc delete nncp hurt
}
applied() {
    [ "$(kc get nncp hurt -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}')" = True ] &&
        has "re: $1/24" on worker-1 ip -br addr show hurt &&
        has "master hurt" on worker-1 ip link show enp6s0.44
}
addresses_of_hurt() { on worker-1 ip -4 -o addr show hurt | wc -l; }
t "faults: a policy whose agent is killed at any moment becomes Available" killed_and_applied

killed_in_add() {
    scale 12
    sleep 0.4
    kill_agent worker-0
    sleep 0.2
    kill_agent worker-2
    rolled_out
    settled
}
t "faults: agents killed while they attach pods" killed_in_add

killed_in_del() {
    scale 0
    sleep 0.5
    kill_agent worker-1
    sleep 0.2
    kill_agent worker-2
    eventually 60 no_pod app=many
    nothing_left
}
t "faults: agents killed while they detach pods" killed_in_del

api_away() {
    scale 12
    rolled_out
    scale 0
    sleep 0.6
    signal_api STOP
    # Longer than a release waits.
    sleep 6
    signal_api CONT
    eventually 60 no_pod app=many
    nothing_left
}
t "faults: the API does not answer while pods are detached" api_away

power() {
    local before
    scale 9
    kf scale statefulset stays --replicas=2
    rolled_out
    kf rollout status --timeout=60s statefulset/stays
    before=$(address_on faults stays-0 faults/stays) old=$(sandbox_ids worker-0)
    # Some are just being detached, others attached.
    scale 5
    kf delete pod stays-1 --wait=false
    power_cut
    rolled_out
    kf rollout status --timeout=60s statefulset/stays
    settled
    same "$before" address_on faults stays-0 faults/stays
    same "" comm -12 <(echo "$old") <(sandbox_ids worker-0)
    kc wait --for=condition=Available --timeout=60s nncp/faults
    reaches pod/faults/stays-0 "$(address_on faults stays-1 faults/stays)"
}
t "faults: a power cut: everything comes back in new sandboxes, sticky addresses stay" power

reboot() {
    local before old
    before=$(address_on faults stays-0 faults/stays)
    old=$(sandbox_ids worker-1)
    [ -n "$old" ]
    policy_with former 198.18.10.1 worker-1 | sed 's/enp6s0.44/enp6s0.43/g; s/id: 44/id: 43/' >"$WORK/former.yaml"
    kc apply -f "$WORK/former.yaml"
    kc wait --for=condition=Available --timeout=30s nncp/former
    kc delete nncp former
    "$LANDBRIDGE_BIN" lab reboot worker-1
    # Everybody else goes on.
    scale 8
    kc wait --for=condition=Ready --timeout=60s node/worker-1
    rolled_out
    settled
    same "" comm -12 <(echo "$old") <(sandbox_ids worker-1)
    has UP on worker-1 ip -br link show enp6s0.40
    # Also what a policy said that is gone.
    has UP on worker-1 ip -br link show enp6s0.43
    same "$before" address_on faults stays-0 faults/stays
    has SandboxChanged kf get events
    scale 0
    eventually 60 no_pod app=many
}
t "faults: a node is rebooted: policies and pods are there again" reboot

exhausted() {
    for pod in first second; do pod_on "$pod" narrow >>"$WORK/narrow.yaml" && echo --- >>"$WORK/narrow.yaml"; done
    kc apply -f "$WORK/narrow.yaml"
    kf wait --for=condition=Ready --timeout=30s pod/first pod/second
    pod_on third narrow | kc apply -f -
    eventually 30 told third "198.18.3.1 faults/"
    eventually 30 told third "faults/second net1"
    same Pending kf get pod third -o 'jsonpath={.status.phase}'
    kf delete pod first
    kf wait --for=condition=Ready --timeout=40s pod/third
    settled
    kf delete pod second third
    settled
}
told() { kf get events --field-selector "involvedObject.name=$1" -o json | grep -qF "$2"; }
t "faults: an exhausted pool says who holds it, and who waits gets what is freed" exhausted

no_definition() {
    pod_on orphan "one,two" | kc apply -f -
    kf wait --for=condition=Ready --timeout=30s pod/orphan
    kf delete net-attach-def one two
    kf delete pod orphan
    settled
    # One that cannot be attached any more, and its event.
    pod_on late one | kc apply -f -
    eventually 30 told late 'cannot find a network-attachment-definition (one)'
    kf delete pod late
    make_fault_networks
    settled
}
t "faults: a definition deleted under a pod: its addresses are released all the same" no_definition

one_name() {
    local round stays
    stays=$(address_on faults stays-0 faults/stays)
    for round in 1 2 3; do
        pod_on twin "one,two" | kc apply -f -
        kf wait --for=condition=Ready --timeout=30s pod/twin
        # Gone from the API at once; its sandbox is taken down while the next one comes up.
        kf delete pod twin stays-0 --force --grace-period=0
        pod_on twin "one,two" | kc apply -f -
        no_address_twice
        kf wait --for=condition=Ready --timeout=30s pod/twin
        kf rollout status --timeout=60s statefulset/stays
        settled
        same "$stays" address_on faults stays-0 faults/stays
        [ "$round" = 3 ] || kf delete pod twin --force --grace-period=0
    done
    kf delete pod twin
    # What stays is given back a minute after its owner is gone: a later case looks.
    kf delete statefulset stays
    eventually 30 no_pod app=stays
}
t "faults: two pods of one name: the late release of the old one takes nothing from the new one" one_name

hundreds() {
    local count began=$SECONDS
    for count in 100 0 50 0; do
        scale "$count"
        until has_pods "$count"; do
            no_address_twice
            [ "$SECONDS" -lt "$((began + 240))" ] || { kf get pods; return 1; }
        done
        [ "$count" = 0 ] || SETTLE=120 settled_but_stays
    done
    settled_but_stays
}
has_pods() {
    [ "$(kf get pods -l app=many -o name | wc -l)" = "$1" ] &&
        { [ "$1" = 0 ] || [ "$(kf get deployment many -o 'jsonpath={.status.readyReplicas}')" = "$1" ]; }
}
# All fits but for addresses of a StatefulSet that is gone, which wait for their minute.
settled_but_stays() { eventually "${SETTLE:-60}" only_stays_left; }
only_stays_left() {
    local left
    left=$("$HERE/check-records" | grep -v '^198\.18\.2\..* faults/stays-') || return 0
    echo "$left"
    return 1
}
t "faults: pods churned by the hundred" hundreds

cleaned_up() {
    kf delete deployment many
    kc delete nncp faults
    # The look that finds it, and the one a minute later.
    SETTLE=150 nothing_left
    kc delete namespace faults
}
t "faults: nothing is left" cleaned_up
