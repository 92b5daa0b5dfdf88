# shellcheck shell=bash
# Sourced by the scripts beside it: where things are, how to speak, how to skip.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
# Used by the scripts that source this.
# shellcheck disable=SC2034
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
mkdir -p "$BUILD"

# Where skipped work is noted, one line each; scripts/test prints the file at its end.
export LANDBRIDGE_SKIP_FILE=${LANDBRIDGE_SKIP_FILE:-$BUILD/skipped.txt}

say() { printf '%s\n' "$*" >&2; }
die() {
    say "${0##*/}: $*"
    exit 1
}

# A helper script that cannot provide what it is for exits with this and says why on its last line.
readonly UNAVAILABLE=3
unavailable() {
    say "$*"
    exit "$UNAVAILABLE"
}

# skip WHAT WHY: notes it for the end of the run.
skip() {
    printf '%s: %s\n' "$1" "$2" >>"$LANDBRIDGE_SKIP_FILE"
    say "skipped: $1: $2"
}

# ensure VAR SCRIPT: runs a helper that prints a path and puts it into VAR. When the helper says
# unavailable, VAR is empty and REASON tells why; any other failure ends the script.
ensure() {
    local -n into=$1
    local errors status=0
    errors=$(mktemp)
    into=$("$ROOT/scripts/$2" 2>"$errors") || status=$?
    # Read by the callers.
    # shellcheck disable=SC2034
    REASON=$(tail -n 1 "$errors")
    [ "$status" -eq 0 ] || cat "$errors" >&2
    rm -f "$errors"
    [ "$status" -eq 0 ] && return 0
    # shellcheck disable=SC2034 # a reference to the caller's variable
    into=
    [ "$status" -eq "$UNAVAILABLE" ] || exit "$status"
}

# start_server BINARY DIR LOG: `landbridge up` as a child of this shell, until it answers.
# Sets SERVER_PID; the caller's trap calls stop_server.
SERVER_PID=
start_server() {
    local binary=$1 dir=$2 log=$3 deadline=$((SECONDS + 60))
    "$binary" up --lab none --dir "$dir" >"$log" 2>&1 &
    SERVER_PID=$!
    until "$binary" status --dir "$dir" >/dev/null 2>&1; do
        if ! kill -0 "$SERVER_PID" 2>/dev/null; then
            cat "$log" >&2
            die "landbridge up ended before it was ready"
        fi
        [ "$SECONDS" -lt "$deadline" ] || die "landbridge up was not ready within 60 s; its log: $log"
        sleep 0.1
    done
}

# Ends the server this shell started, politely first.
stop_server() {
    [ -n "$SERVER_PID" ] || return 0
    kill -TERM "$SERVER_PID" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$SERVER_PID" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$SERVER_PID" 2>/dev/null || true
    wait "$SERVER_PID" 2>/dev/null || true
    SERVER_PID=
}
