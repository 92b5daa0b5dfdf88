# shellcheck shell=bash
# A lab without the program nft, as far as Services go: the agents forward by themselves (LANDBRIDGE_SERVICES=relay).

by_agents() {
    local node
    for node in worker-0 worker-1 worker-2; do
        has "Through" grep "Services are forwarded" "$LANDBRIDGE_DIR/lab/nodes/$node/agent.log"
        lacks "landbridge_services" on "$node" nft list tables
    done
}
t "relay: the agents forward, the kernel has no rules" by_agents

# shellcheck source=tests/lab/cases/65-services.sh
source "$HERE/cases/65-services.sh"
# shellcheck source=tests/lab/cases/66-names.sh
source "$HERE/cases/66-names.sh"
# shellcheck source=tests/lab/cases/67-ingress.sh
source "$HERE/cases/67-ingress.sh"
