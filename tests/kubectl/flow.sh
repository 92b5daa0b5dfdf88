#!/usr/bin/env bash
# kubectl against a Kubernetes API, case by case. What is expected here is what kube-apiserver does,
# so the same cases pass against a real cluster:
#
#   KUBECONFIG=… [KUBECTL=kubectl] tests/kubectl/flow.sh [PART OF A CASE'S NAME]
#
# Every object lives in a namespace or an API group of this run and is removed at the end. The cases
# about Landbridge's own kinds run where LANDBRIDGE_OWN_SERVER is set.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh" "${1:-}"

cleanup() {
    local scrap
    # Finalizers that a failed case left would hold the namespace for ever.
    for scrap in $(k get "widgets.$GROUP,configmaps" -o name --request-timeout=10s 2>/dev/null); do
        k patch "$scrap" --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
    done
    # So would pods on a node that nothing runs on.
    k delete pods --all --force --grace-period=0 --wait=false --request-timeout=10s >/dev/null 2>&1
    kc delete ns -l "landbridge.test/run=$RUN" --wait=false --request-timeout=10s >/dev/null 2>&1
    kc delete crd -l "landbridge.test/run=$RUN" --wait=false --request-timeout=10s >/dev/null 2>&1
    kc delete node -l "landbridge.test/run=$RUN" --wait=false --request-timeout=10s >/dev/null 2>&1
    rm -rf "$WORK"
}
trap cleanup EXIT

# The stage every case stands on: a namespace and a bundle of CRDs.
"$HERE/fixtures/crds.sh" "$GROUP" "$RUN" >"$WORK/crds.yaml"
file ns.yaml <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $NS
  labels: {landbridge.test/run: $RUN}
YAML
if ! kc apply -f "$WORK/ns.yaml" >/dev/null; then
    echo "FAILED  setting the stage: not even a namespace can be made"
    FAILED=1
    finish
    exit 1
fi
# Looked at by the case about the bundle.
kc apply -f "$WORK/crds.yaml" >"$WORK/crds.out" 2>&1
kc wait --for=condition=Established crd -l "landbridge.test/run=$RUN" --timeout=30s >"$WORK/established.out" 2>&1

for part in "$HERE"/cases/*.sh; do
    # shellcheck source=/dev/null
    source "$part"
done
finish
