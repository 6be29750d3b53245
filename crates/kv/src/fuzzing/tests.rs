//! The target over its corpus, and over variations of it.

use self::run::run;

#[path = "../../../../fuzz/run.rs"]
mod run;

#[test]
fn the_log_holds_for_any_bytes() {
    run("kv_log", super::log);
}
