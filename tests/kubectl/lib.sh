# shellcheck shell=bash
# The harness of flow.sh: one case is one function, run in a subshell with errexit; its output is
# shown only when it fails.
#
#   t NAME FUNCTION       runs a case
#   has TEXT CMD…         CMD succeeds and prints TEXT (runs of blanks count as one)
#   lacks TEXT CMD…       CMD succeeds and does not print TEXT
#   fails TEXT CMD…       CMD fails and prints TEXT on either stream
#   same EXPECTED CMD…    CMD succeeds and prints exactly EXPECTED
#   counts N TEXT CMD…    CMD succeeds and N of its lines have TEXT
#   eventually N CMD…     CMD succeeds within N seconds
#   not_here REASON       the case cannot run against this server: skipped, and said

set -uo pipefail

# shellcheck disable=SC2034 # used by flow.sh and the cases
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${KUBECTL:=kubectl}" "${LANDBRIDGE_OWN_SERVER:=}" "${LANDBRIDGE_BIN:=}"
: "${KUBECONFIG:?the kubeconfig of the server under test}"
export KUBECONFIG

# Everything this run makes carries the run's own word, so it can share a cluster with others.
RUN=$(printf 'lb%04x%04x' $((RANDOM)) $((RANDOM)))
NS=$RUN
GROUP=$RUN.landbridge.test
# By their full names: other groups may have kinds of these names, too.
# shellcheck disable=SC2034 # used by the cases
WIDGET=widgets.$GROUP GADGET=gadgets.$GROUP
WORK=$(mktemp -d)
PASSED=0 FAILED=0 SKIPPED=0
FILTER=${1:-}
readonly NOT_HERE=77

# No kubectl runs for longer than this: a hanging server must fail a case, not the run.
readonly LIMIT=90
k() { timeout "$LIMIT" "$KUBECTL" --cache-dir "$WORK/cache" -n "$NS" "$@"; }
# The same for the background: killing $! after `k_exec … &` ends kubectl.
k_exec() { exec timeout "$LIMIT" "$KUBECTL" --cache-dir "$WORK/cache" -n "$NS" "$@"; }
# Against every namespace or none.
kc() { timeout "$LIMIT" "$KUBECTL" --cache-dir "$WORK/cache" "$@"; }

squeeze() { tr -s ' \t' ' '; }

_contains() { # TEXT OUTPUT: a fixed string, or an extended regex when TEXT starts with "re:"
    if [[ $1 == re:* ]]; then grep -Eq -- "${1#re:}" <<<"$2"; else grep -Fq -- "$1" <<<"$2"; fi
}

has() {
    local want=$1 out status=0
    shift
    out=$("$@" 2>&1 | squeeze) || status=$?
    [ "$status" -eq 0 ] || { printf 'exit %d from: %s\n%s\n' "$status" "$*" "$out"; return 1; }
    _contains "$want" "$out" || { printf 'expected to see: %s\nfrom: %s\ngot:\n%s\n' "$want" "$*" "$out"; return 1; }
}

lacks() {
    local unwanted=$1 out status=0
    shift
    out=$("$@" 2>&1 | squeeze) || status=$?
    [ "$status" -eq 0 ] || { printf 'exit %d from: %s\n%s\n' "$status" "$*" "$out"; return 1; }
    ! _contains "$unwanted" "$out" || { printf 'expected not to see: %s\nfrom: %s\ngot:\n%s\n' "$unwanted" "$*" "$out"; return 1; }
}

fails() {
    local want=$1 out status=0
    shift
    out=$("$@" 2>&1 | squeeze) || status=$?
    [ "$status" -ne 0 ] || { printf 'expected to fail: %s\ngot:\n%s\n' "$*" "$out"; return 1; }
    _contains "$want" "$out" || { printf 'expected to see: %s\nfrom: %s\ngot (exit %d):\n%s\n' "$want" "$*" "$status" "$out"; return 1; }
}

same() {
    local want=$1 out
    shift
    out=$("$@") || { printf 'failed: %s\n' "$*"; return 1; }
    [ "$out" = "$want" ] || { printf 'expected: %s\nfrom: %s\ngot: %s\n' "$want" "$*" "$out"; return 1; }
}

counts() {
    local want=$1 text=$2 out
    shift 2
    out=$("$@" 2>&1) || { printf 'failed: %s\n%s\n' "$*" "$out"; return 1; }
    [ "$(grep -c -- "$text" <<<"$out")" -eq "$want" ] ||
        { printf 'expected %d lines with: %s\nfrom: %s\ngot:\n%s\n' "$want" "$text" "$*" "$out"; return 1; }
}

eventually() {
    local deadline=$((SECONDS + $1)) out=
    shift
    until out=$("$@" 2>&1); do
        [ "$SECONDS" -lt "$deadline" ] || { printf 'did not happen in time: %s\n%s\n' "$*" "$out"; return 1; }
        sleep 0.2
    done
}

gone() { fails NotFound k get "$@"; }

not_here() {
    echo "$*" >&2
    exit "$NOT_HERE"
}

t() {
    local name=$1 body=$2 out=$WORK/case.log status began=$SECONDS
    [[ $name == *"$FILTER"* ]] || return 0
    (
        set -euo pipefail
        "$body"
    ) >"$out" 2>&1 </dev/null
    status=$?
    case $status in
    0)
        PASSED=$((PASSED + 1))
        printf 'ok      %s' "$name"
        [ $((SECONDS - began)) -lt 5 ] || printf ' (%d s)' $((SECONDS - began))
        echo
        ;;
    "$NOT_HERE")
        SKIPPED=$((SKIPPED + 1))
        printf 'skipped %s: %s\n' "$name" "$(tail -n 1 "$out")"
        [ -z "${LANDBRIDGE_SKIP_FILE:-}" ] || printf 'kubectl, %s: %s\n' "$name" "$(tail -n 1 "$out")" >>"$LANDBRIDGE_SKIP_FILE"
        ;;
    *)
        FAILED=$((FAILED + 1))
        printf 'FAILED  %s\n' "$name"
        sed 's/^/        /' "$out" | tail -n 40
        ;;
    esac
}

# file NAME: standard input into a file; prints nothing. The path is $WORK/NAME.
file() { cat >"$WORK/$1"; }

# cm NAME [KEY=VALUE…]: a ConfigMap manifest.
cm() {
    local name=$1 pair
    shift
    printf -- 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n' "$name"
    for pair in "${@:-k=v}"; do printf '  %s: "%s"\n' "${pair%%=*}" "${pair#*=}"; done
}

# widget NAME [SPEC LINE…]: a Widget manifest; without lines, a valid small one.
widget() {
    local name=$1 line
    shift
    printf -- 'apiVersion: %s/v1\nkind: Widget\nmetadata:\n  name: %s\nspec:\n' "$GROUP" "$name"
    [ $# -gt 0 ] || set -- 'color: red'
    for line in "$@"; do printf '  %s\n' "$line"; done
}

finish() {
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" -eq 0 ]
}
