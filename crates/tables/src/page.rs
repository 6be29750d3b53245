//! Pages of names.

use liteio_store::limits::LIST_TABLES_MAX;
use liteio_store::tables::NameRange;

use super::Call;
use super::error::{ApiResult, Exception};
use super::limits::NAMES_MAX;
use liteio_store::StoreError;

/// The names of an answer, and the token of the next page.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) token: Option<String>,
}

impl Call<'_> {
    /// The items that the request asks for: a page, or all of them if it asks for no pages, as the specification
    /// has it. `list` returns the items of a range, and the name after which the next one begins.
    pub(crate) fn page<T>(
        &self,
        list: impl Fn(&NameRange) -> Result<(Vec<T>, Option<String>), StoreError>,
    ) -> ApiResult<Page<T>> {
        let token = self.parameter("pageToken");
        let size = self.parameter("pageSize").map(str::parse::<usize>).transpose();
        let size = size.ok().filter(|size| *size != Some(0));
        let size =
            size.ok_or_else(|| Exception::bad_request("pageSize must be a number of 1 or more."))?;
        let after = match token {
            None | Some("") => None,
            Some(token) => Some(name_of(token)?),
        };
        let max = size.unwrap_or(LIST_TABLES_MAX).min(LIST_TABLES_MAX);
        let mut range = NameRange { after, max };
        let (mut items, mut next) = list(&range)?;
        // A client that asks for no pages does not know tokens.
        while token.is_none() && size.is_none() && items.len() < NAMES_MAX {
            let Some(after) = next.take() else { break };
            range.after = Some(after);
            let (more, behind) = list(&range)?;
            items.extend(more);
            next = behind;
        }
        let token = next.map(|name| base64_simd::URL_SAFE_NO_PAD.encode_to_string(name));
        Ok(Page { items, token })
    }
}

fn name_of(token: &str) -> ApiResult<String> {
    let name = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).ok();
    let name = name.and_then(|name| String::from_utf8(name).ok());
    name.ok_or_else(|| Exception::bad_request("pageToken is not a token of this server."))
}
