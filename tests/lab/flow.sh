#!/usr/bin/env bash
# The lab from outside: kubectl and `landbridge exec` against `landbridge up`, case by case.
#
#   KUBECONFIG=… LANDBRIDGE_BIN=… LANDBRIDGE_DIR=… tests/lab/flow.sh [PART OF A CASE'S NAME]
#
# The cases of the default lab stand on each other, in the order of the files: nodes, policies, attachments. LANDBRIDGE_LAB_CASES=NAME runs those for another lab instead (tests/lab/shapes).
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

parts=("$HERE"/cases/*.sh)
[ "${LANDBRIDGE_LAB_CASES:-default}" = default ] || parts=("$HERE/shapes/$LANDBRIDGE_LAB_CASES.sh")
for part in "${parts[@]}"; do
    # shellcheck source=/dev/null
    source "$part"
done
finish
