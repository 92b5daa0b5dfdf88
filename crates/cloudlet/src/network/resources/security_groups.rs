//! Security groups.

use crate::caller::Caller;
use crate::state::Tx;

/// The id of the project's group `default`, which is made where there is none yet; `None` without
/// security groups.
pub fn default_of(_tx: &mut Tx<'_>, _who: &Caller, _project: &str) -> Option<String> {
    None
}
