//! Commits of several tables at once.

use liteio_access::Action;
use liteio_iceberg::CommitTransaction;

use super::error::Exception;
use super::{Answer, Call, Output};

pub(crate) fn commit(call: &Call<'_>) -> Answer {
    let CommitTransaction { changes } = call.read(CommitTransaction::from_value)?;
    let Some((first, _)) = changes.first() else {
        return Err(Exception::bad_request("table-changes must name a table."));
    };
    let action = [call.route.operation.action];
    let granted = call.granted_on(&action, Some(first.namespace()), Some(first.name()))?;
    for (name, commit) in &changes {
        call.allows(&granted, &action, name)?;
        if commit.is_create() {
            call.allows(&granted, &[Action::CreateTable], name)?;
        }
    }
    let commits: Vec<_> = changes.iter().map(|(name, commit)| (name, commit)).collect();
    call.commit(&granted, &commits)?;
    Ok(Output::Empty)
}
