# shellcheck shell=bash
# Sourced by flow.sh and churn.sh: looking into a lab.

# on NODE|pod/NAME CMD…: in the namespaces of a node or a pod.
on() {
    local where=$1
    shift
    timeout 60 "$LANDBRIDGE_BIN" exec "$where" -- "$@"
}
# In the namespace of the seeds, and in that of the examples.
ko() { kc -n openstack "$@"; }
ke() { kc -n attachments "$@"; }
# reaches FROM ADDRESS [MORE PING WORDS]: three packets, at least one answer.
reaches() {
    local from=$1 to=$2
    shift 2
    on "$from" ping -c 3 -i 0.2 -W 1 "$@" "$to" >/dev/null
}
cannot_reach() { ! reaches "$@"; }
# The address of a pod on a network, as its status tells: NAMESPACE POD NETWORK [place of the address]
address_on() {
    kc -n "$1" get pod "$2" -o 'jsonpath={.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}' |
        python3 -c 'import json, sys
name, place = sys.argv[1], int(sys.argv[2])
print(next(n["ips"][place] for n in json.load(sys.stdin) if n["name"] == name))' "$3" "${4:-0}"
}
