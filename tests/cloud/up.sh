#!/usr/bin/env bash
# `landbridge up` with somebody else's OpenStack: the controllers work there, first by a file, then by a Secret.
#
#   KUBECTL=… tests/cloud/up.sh LANDBRIDGE CLOUDS.YAML OPENSTACK
#
# CLOUDS.YAML has the cloud `admin` of a fresh Keystone and Neutron; OPENSTACK is the openstack command.
set -euo pipefail
landbridge=$1 clouds=$2 openstack=$3
: "${KUBECTL:?kubectl}"
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
export LANDBRIDGE_DIR=$work/state KUBECONFIG=$work/state/kubeconfig OS_CLIENT_CONFIG_FILE=$clouds OS_CLOUD=admin PYTHONWARNINGS=ignore
# shellcheck disable=SC2317 # called by the trap
cleanup() {
    "$landbridge" down --purge >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT
passed=0

# eventually SECONDS WHAT COMMAND…
eventually() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >"$work/said" 2>&1; do
        if [ "$SECONDS" -ge "$until" ]; then
            echo "FAILED  $what: $*" >&2
            cat "$work/said" >&2
            "$KUBECTL" get octavia -n openstack -o yaml >&2 || true
            echo "$passed passed, 1 failed"
            exit 1
        fi
        sleep 1
    done
    echo "ok      $what"
    passed=$((passed + 1))
}
condition() {
    "$KUBECTL" get octavia octavia -n openstack \
        -o 'jsonpath={.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].status} {.status.conditions[?(@.type=="OctaviaManagementNetworkReady")].message}' | grep "$1"
}
# The example, without its zone: this Neutron has none.
octavia() {
    "$KUBECTL" apply -f "$root/examples/octavia/10-attachment.yaml" >/dev/null
    sed '/lbMgmtNetwork:/,/edge-a:/d' "$root/examples/octavia/20-octavia.yaml" | "$KUBECTL" apply -f - >/dev/null
}
networks() { [ "$("$openstack" network list -f value -c Name | sort | tr '\n' ' ')" = "$1" ]; }

"$landbridge" up --detach --port 0 --lab none --cloud admin >/dev/null
[ ! -e "$LANDBRIDGE_DIR/clouds.yaml" ] || { echo "the embedded cloud is served, too" >&2; exit 1; }
octavia
eventually 60 "a cloud of a file: Octavia's networks are made in it" condition True
eventually 30 "a cloud of a file: and are there" networks "lb-mgmt-net octavia-provider-net "
"$KUBECTL" delete octavia octavia -n openstack --timeout=60s >/dev/null
eventually 30 "a cloud of a file: they go with the Octavia" networks ""
"$landbridge" down --purge >/dev/null

# Wrong at first: the condition says so, and nobody has to restart anything once it is right.
"$landbridge" up --detach --port 0 --lab none --cloud-secret openstack/cloud --cloud admin >/dev/null
octavia
eventually 60 "a cloud of a Secret: that there is no Secret is told" condition "openstack/cloud"
sed 's/password: .*/password: wrong/' "$clouds" >"$work/wrong.yaml"
"$KUBECTL" create secret generic cloud -n openstack --from-file=clouds.yaml="$work/wrong.yaml" >/dev/null
eventually 60 "a cloud of a Secret: a wrong password is told" condition "401"
"$KUBECTL" create secret generic cloud -n openstack --from-file=clouds.yaml="$clouds" --dry-run=client -o yaml | "$KUBECTL" replace -f - >/dev/null
eventually 90 "a cloud of a Secret: the right one is taken without a restart" condition True
"$KUBECTL" delete octavia octavia -n openstack --timeout=60s >/dev/null
eventually 30 "a cloud of a Secret: the networks go with the Octavia" networks ""
echo "$passed passed, 0 failed"
