//! Who is in which group.

use serde_json::json;

use crate::object::Object;
use crate::state::{Kind, State, Tx};

/// Rows `{id, user, group}`.
pub static MEMBERSHIP: Kind = Kind {
    name: "membership",
    index: |row, keys| {
        keys.add("user", row.text("user"));
        keys.add("group", row.text("group"));
    },
    blanks: &[],
};

fn key(user: &str, group: &str) -> String {
    format!("{user}|{group}")
}

/// The groups of a user.
pub fn groups_of(state: &State, user: &str) -> impl Iterator<Item = String> {
    state.find(&MEMBERSHIP, "user", user).map(|row| row.text("group").to_owned())
}

/// The users of a group.
pub fn users_of(state: &State, group: &str) -> impl Iterator<Item = String> {
    state.find(&MEMBERSHIP, "group", group).map(|row| row.text("user").to_owned())
}

/// Whether the user is in the group.
pub fn is_in(state: &State, user: &str, group: &str) -> bool {
    state.exists(&MEMBERSHIP, &key(user, group))
}

/// Puts a user into a group.
pub fn join(tx: &mut Tx<'_>, user: &str, group: &str) {
    let row = json!({"id": key(user, group), "user": user, "group": group});
    tx.put(&MEMBERSHIP, Object::from_value(row));
}

/// Takes a user out of a group.
pub fn leave(tx: &mut Tx<'_>, user: &str, group: &str) {
    tx.delete(&MEMBERSHIP, &key(user, group));
}

/// Forgets all of a user or of a group.
pub fn forget(tx: &mut Tx<'_>, index: &str, id: &str) {
    let rows: Vec<Object> = tx.find(&MEMBERSHIP, index, id).collect();
    for row in rows {
        tx.delete(&MEMBERSHIP, row.id());
    }
}
