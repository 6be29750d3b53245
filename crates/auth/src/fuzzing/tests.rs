//! Runs every target over its corpus and variations of it.

use self::run::run;

#[path = "../../../../fuzz/run.rs"]
mod run;

#[test]
fn signatures_hold_for_any_request() {
    run("sigv4", super::sigv4);
}

#[test]
fn chunked_bodies_hold_for_any_bytes() {
    run("aws_chunked", super::aws_chunked);
}

#[test]
fn forms_hold_for_any_bytes() {
    run("post_form", super::post_form);
}

#[test]
fn policies_hold_for_any_text() {
    run("post_policy", super::post_policy);
}

#[test]
fn session_tokens_hold_for_any_bytes() {
    run("session_token", super::session_token);
}
