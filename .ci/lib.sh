# shellcheck shell=bash
# How the checks build and run. Read by .ci/run, .ci/full, .ci/steps and .ci/static-build.

# Make a program static: glibc is linked in, so that it runs in an empty root.
static_flags=(
    -C target-feature=+crt-static
    # Random bytes come from the system call: an empty root has no /dev/urandom to fall back to.
    --cfg 'getrandom_backend="linux_getrandom"'
)

host_target() { rustc -vV | sed -n 's/^host: //p'; }

# Every build of the checks names its target, and is static: `cargo test` builds a debug server anyway, and so
# all suites run with it. Warnings are errors. The variables are used instead of RUSTFLAGS, which would build build scripts anew.
use_one_build() {
    CARGO_BUILD_TARGET=$(host_target)
    local variable=${CARGO_BUILD_TARGET^^}
    variable=CARGO_TARGET_${variable//-/_}
    export CARGO_BUILD_TARGET CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$PWD/target
    # A panic tells its line without them.
    export CARGO_PROFILE_DEV_DEBUG=none
    # At a fixed address: a start of the unoptimized server, of which tests make thousands, spends a third of its time on the
    # relocation of itself otherwise.
    local flags="${static_flags[*]} -C relocation-model=static"
    export "${variable}_RUSTFLAGS=$flags -D warnings" "${variable}_RUSTDOCFLAGS=$flags"
    export "${variable}_RUNNER=$PWD/.ci/test-runner"
    debug_server=$CARGO_TARGET_DIR/$CARGO_BUILD_TARGET/debug/liteio
    export debug_server
    # Compiled modules of Python are kept, beside the sources of nobody: a command of AWS would take twice the time without.
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX=$CARGO_TARGET_DIR/pycache
}

# A number from the commit: other commits run other seeds.
seed_rotation() {
    local commit
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit=0
    printf '%d\n' "$((16#${commit:0:12}))"
}

# Prepares the table of times. All that was started is stopped when the script ends.
start_checks() {
    logs=$(mktemp -d)
    export TEST_TIMES=$CARGO_TARGET_DIR/test-times
    rm -rf "$TEST_TIMES"
    mkdir -p "$TEST_TIMES"
    lanes=()
    trap end_checks EXIT
    trap 'exit 130' INT TERM
}

end_checks() {
    local status=$? lane
    trap - EXIT
    for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
    print_times
    [ "$status" -eq 0 ] || printf '\nFAILED: %s\n' "$(cat "$logs/failed" 2>/dev/null || echo "exit code $status")"
    rm -rf "$logs"
    exit "$status"
}

print_times() {
    [ -s "$logs/times" ] || return 0
    printf '\n== minutes of each step\n%7s %7s  step\n' wall CPU
    awk '{ printf "%7.1f %7.1f  %s\n", $1 / 60, ($2 + $3) / 60, $4 }' "$logs/times"
    printf '%7.1f          all\n' "$(awk "BEGIN { print $SECONDS / 60 }")"
}

# run_step NAME: a step of .ci/steps, with its output and its times.
run_step() {
    local status=0 TIMEFORMAT='%R %U %S' time
    # In a shell of its own: the time of this one's children would have that of the lanes which end meanwhile.
    ( time bash .ci/steps "$1" >&3 2>&4 ) 3>&1 4>&2 2>"$logs/time.$1" || status=$?
    time=$(tail -n 1 "$logs/time.$1")
    printf '%s %s\n' "$time" "$1" >>"$logs/times"
    return "$status"
}

# step NAME: runs it now; one that fails ends the checks.
step() {
    printf '\n== %s\n' "$1"
    run_step "$1" || { echo "$1" >>"$logs/failed"; exit 1; }
}

# start_lane NAME…: runs steps behind the script, one after the other. The output of each is printed whole when
# it ends. After a failure no lane starts another step.
start_lane() {
    # With job control, a lane is a process group of its own, which end_checks stops with all that is in it.
    set -m
    run_lane "$@" </dev/null &
    set +m
    lanes+=($!)
}

run_lane() {
    trap - EXIT
    local name status
    for name in "$@"; do
        [ ! -e "$logs/failed" ] || return 1
        status=0
        run_step "$name" >"$logs/$name" 2>&1 || status=$?
        [ "$status" -eq 0 ] || echo "$name" >>"$logs/failed"
        { printf '\n== %s\n' "$name"; cat "$logs/$name"; } >"$logs/$name.whole"
        flock "$logs" cat "$logs/$name.whole"
        [ "$status" -eq 0 ] || return 1
    done
}

# Waits for all lanes, so that each suite that has begun tells its result.
finish_lanes() {
    local lane status=0
    for lane in "${lanes[@]}"; do wait "$lane" || status=1; done
    lanes=()
    [ "$status" -eq 0 ] || exit 1
}
