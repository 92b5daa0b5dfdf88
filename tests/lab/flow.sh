#!/usr/bin/env bash
# The lab from outside: kubectl and `landbridge exec` against `landbridge up`, case by case.
#
#   KUBECONFIG=… LANDBRIDGE_BIN=… LANDBRIDGE_DIR=… tests/lab/flow.sh [PART OF A CASE'S NAME]
#
# The cases stand on each other, in the order of the files: nodes, policies, attachments, faults.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/../kubectl/lib.sh" "${1:-}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # used by the cases
EXAMPLES=$HERE/../../examples
: "${LANDBRIDGE_BIN:?the landbridge binary}" "${LANDBRIDGE_DIR:?the state directory of the lab}"
export LANDBRIDGE_DIR
trap 'rm -rf "$WORK"' EXIT

# shellcheck source=common.sh
source "$HERE/common.sh"

for part in "$HERE"/cases/*.sh; do
    # shellcheck source=/dev/null
    source "$part"
done
finish
