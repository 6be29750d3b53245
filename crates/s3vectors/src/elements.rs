//! Streams the elements of a vector in a request.

use liteio_store::invalid_field::pointer;
use liteio_store::limits::DIMENSION_MAX;

use super::error::{ApiResult, Exception};
use super::reader::Reader;

/// Appends the elements of the list `float32` in an object; `false` if it has no such field. `path`
/// is the path of the object.
///
/// Accepts numbers of any size. The store checks that elements are finite and that their count is
/// the dimension.
pub(super) fn read(
    reader: &mut Reader<'_>,
    path: impl Fn() -> String,
    elements: &mut Vec<f32>,
) -> ApiResult<bool> {
    let mut has_elements = false;
    let list_path = || pointer(&path(), "float32");
    reader.object(&path, |reader, name| {
        if name != "float32" {
            return reader.pass_over(|| pointer(&path(), name));
        }
        if reader.value()? != b'[' {
            return Err(Exception::field(list_path(), "it is not a list"));
        }
        has_elements = true;
        reader.list(|reader, element| {
            let Some(value) = reader.float() else {
                let path = pointer(&list_path(), element);
                return Err(Exception::field(path, "it is not a number"));
            };
            if element >= DIMENSION_MAX as usize {
                let message = format!("a vector has at most {DIMENSION_MAX} elements");
                return Err(Exception::field(list_path(), message));
            }
            elements.push(value);
            Ok(())
        })
    })?;
    Ok(has_elements)
}
