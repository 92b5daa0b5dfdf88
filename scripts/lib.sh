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

# venv_of_lock NAME LOCK IMPORTS: prints the directory of a virtual environment that holds exactly the packages of
# the file LOCK; it is made under build/ when absent, and found again by the hash of that file. IMPORTS is the Python
# that must run in it.
venv_of_lock() {
    local name=$1 lock=$2 imports=$3 venv making log=$BUILD/$1.log
    venv=$BUILD/$name-$(sha256sum "$lock" | cut -c -12)
    if [ ! -e "$venv/complete" ]; then
        command -v python3 >/dev/null || unavailable "python3 is missing"
        python3 -c 'import venv, ensurepip' 2>/dev/null ||
            unavailable "python3 cannot make virtual environments (Debian: apt-get install python3-venv)"
        # Two scripts at once: the second waits for the first, which may need minutes.
        exec {making}>"$BUILD/$name.lock"
        flock -w 900 "$making" || die "another script makes $venv since 15 minutes"
    fi
    if [ ! -e "$venv/complete" ]; then
        say "installing $(basename "$lock") (${name}); this takes some minutes"
        rm -rf "$venv"
        python3 -m venv "$venv"
        timeout 1200 nice -n 10 "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$lock" >"$log" 2>&1 ||
            unavailable "pip could not install $(basename "$lock"): $(tail -n 1 "$log")"
        PYTHONWARNINGS=ignore "$venv/bin/python" -c "$imports" >>"$log" 2>&1 ||
            unavailable "the packages of $(basename "$lock") were installed but do not load: $(tail -n 1 "$log")"
        : >"$venv/complete"
    fi
    echo "$venv"
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
