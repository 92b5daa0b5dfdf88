#!/usr/bin/env bash
# A lab under random faults, round by round; after each round everything must fit together again.
#
#   KUBECONFIG=… LANDBRIDGE_BIN=… LANDBRIDGE_DIR=… tests/lab/churn.sh [--rounds N] [--seed N]
#
# Called by scripts/churn-lab. The same seed gives the same faults; when they meet what is hidden from it.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
rounds=3 seed=
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seed) seed=$2 ;;
    *) echo "usage: churn.sh [--rounds N] [--seed N]" >&2 && exit 2 ;;
    esac
    shift 2
done
seed=${seed:-$RANDOM}
set --
# shellcheck source=../kubectl/lib.sh
source "$(dirname "$0")/../kubectl/lib.sh"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${LANDBRIDGE_BIN:?the landbridge binary}" "${LANDBRIDGE_DIR:?the state directory of the lab}"
export LANDBRIDGE_DIR LANDBRIDGE_BIN
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=common.sh
source "$HERE/common.sh"
# shellcheck source=faults.sh
source "$HERE/faults.sh"
set -e

# pick N: a number below N, in PICKED. Not printed: a subshell would draw the same again and again.
pick() { PICKED=$((RANDOM % $1)); }

fault() {
    local worker
    pick 3
    worker=worker-$PICKED
    pick 10
    case $PICKED in
    0 | 1)
        pick 40
        note "scale to $PICKED"
        scale "$PICKED"
        ;;
    2 | 3)
        note "kill the agent of $worker"
        kill_agent "$worker"
        ;;
    4)
        note "reboot $worker"
        "$LANDBRIDGE_BIN" lab reboot "$worker"
        ;;
    5)
        note "the API does not answer for 5 s"
        signal_api STOP
        sleep 5
        signal_api CONT
        ;;
    6)
        note "power cut"
        power_cut
        ;;
    7)
        note "delete pods of $worker"
        kf delete pods --field-selector "spec.nodeName=$worker" --wait=false
        ;;
    8)
        note "force stays-0 and stays-1 away"
        kf delete pod stays-0 stays-1 --force --grace-period=0 --ignore-not-found
        ;;
    9)
        pick 250
        note "a policy on $worker"
        policy_with hurt "198.18.9.$((PICKED + 1))" "$worker" >"$WORK/hurt.yaml"
        kc apply -f "$WORK/hurt.yaml"
        ;;
    esac
    pick 15
    sleep "$((PICKED / 10)).$((PICKED % 10))"
}
note() { echo "        round $round, ${SECONDS} s: $*"; }

one_round() {
    local faults
    pick 6
    for ((faults = PICKED + 2; faults > 0; faults--)); do fault; done
    kc wait --for=condition=Ready --timeout=90s node/worker-0 node/worker-1 node/worker-2
    rolled_out
    kf rollout status --timeout=120s statefulset/stays
    kc wait --for=condition=Available --timeout=120s nncp --all
    # Addresses that stayed, and whatever waits for its minute.
    SETTLE=180 settled
    for ((pod = 0; pod < 3; pod++)); do
        same "${stays[$pod]}" address_on faults "stays-$pod" faults/stays
    done
}

echo "seed $seed"
make_fault_networks >/dev/null
make_fault_workloads >/dev/null
kf scale statefulset stays --replicas=3
kf rollout status --timeout=60s statefulset/stays
stays=()
for pod in 0 1 2; do stays+=("$(address_on faults "stays-$pod" faults/stays)"); done

passed=0
for ((round = 1; round <= rounds; round++)); do
    # Not as a condition: there an error inside would be passed over.
    set +e
    (
        set -e
        # Here: a subshell does not go on with the numbers of its parent.
        RANDOM=$((seed + round))
        one_round
    ) >"$WORK/round.log" 2>&1
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        echo "FAILED  round $round of seed $seed"
        tail -n 60 "$WORK/round.log"
        echo "$passed passed, 1 failed"
        exit 1
    fi
    grep "^ *round" "$WORK/round.log" || true
    passed=$((passed + 1))
    echo "ok      round $round (${SECONDS} s)"
done
echo "$passed passed, 0 failed"
