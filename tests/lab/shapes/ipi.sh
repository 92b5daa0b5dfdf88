# shellcheck shell=bash disable=SC2317
# The lab `ipi`: masters and workers on one network.

installed() {
    counts 3 "master-[0-2]  *Ready" kc get nodes
    counts 2 "worker-[0-1]  *Ready" kc get nodes
    reaches worker-0 "$(kc get node master-1 -o 'jsonpath={.status.addresses[0].address}')"
    kc create deployment web --image=web --replicas=2 --port=8080
    kc rollout status --timeout=60s deployment/web
    # Masters keep workloads away.
    lacks "master" kc get pods -o wide
}
t "ipi: masters, workers, and where pods go" installed
