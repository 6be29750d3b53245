//! `admin info`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{get, service};
use crate::error::Error;
use crate::session::Session;
use crate::text::{count, human, in_words};
use crate::verbs::note::tell;

pub(super) async fn run(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let info = service(session, target)?.admin_json(get("info")).await?;
    let mut lines = Vec::new();
    for server in info["servers"].as_array().into_iter().flatten() {
        let text = |name: &str| server[name].as_str().unwrap_or_default();
        let uptime = Duration::from_secs(server["uptime"].as_u64().unwrap_or_default());
        lines.push(format!("●  {}", text("endpoint")));
        lines.push(format!("   Uptime: {}", in_words(uptime)));
        lines.push(format!("   Version: {}", text("version")));
        lines.push(String::new());
    }
    let number = |name: &str| info[name]["count"].as_u64().unwrap_or_default();
    let used = human(info["usage"]["size"].as_u64().unwrap_or_default());
    let mut sums = vec![
        format!("{used} Used"),
        count(number("buckets"), "Bucket"),
        count(number("objects"), "Object"),
        count(number("versions"), "Version"),
    ];
    if number("deletemarkers") > 0 {
        sums.push(count(number("deletemarkers"), "Delete Marker"));
    }
    lines.push(sums.join(", "));
    tell(session, lines.join("\n"), json!({ "info": info }))
}
