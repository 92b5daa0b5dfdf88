use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::chance::Seeded;
use crate::config::Config;

static THING: Kind = Kind {
    name: "thing",
    index: |object, keys| {
        keys.add("colour", object.text("colour"));
        for tag in object.texts("tags") {
            keys.add("tag", tag);
        }
    },
    blanks: &[("colour", Blank::Text), ("tags", Blank::List), ("state", Blank::Is("DOWN"))],
};

fn thing(id: &str, project: &str, colour: &str, tags: &[&str]) -> Object {
    Object::from_value(json!({
        "id": id, "project_id": project, "colour": colour, "tags": tags, "state": "DOWN",
    }))
}

#[test]
fn a_row_is_as_small_as_it_says_and_comes_back_whole() {
    let object = thing("a", "p", "", &[]);
    let row = seal(&THING, object.clone());
    assert_eq!(row, r#"{"id":"a","project_id":"p"}"#);
    assert_eq!(unseal(&THING, &row), object);
}

#[test]
fn rows_are_found_by_what_the_kind_says_and_by_nothing_older() {
    let mut state = State::default();
    state.put_sealed(&THING, "a", seal(&THING, thing("a", "p", "red", &["x", "y"])));
    state.put_sealed(&THING, "b", seal(&THING, thing("b", "p", "red", &["x"])));
    state.put_sealed(&THING, "b", seal(&THING, thing("b", "q", "redder", &[])));
    let find = |index, value| state.find_ids(&THING, index, value).collect::<Vec<_>>();
    assert_eq!(find("colour", "red"), ["a"]);
    assert_eq!(find("colour", "redder"), ["b"]);
    assert_eq!(find("tag", "x"), ["a"]);
    assert_eq!(find("colour", ""), [] as [&str; 0]);
    assert_eq!((state.count(&THING, "p"), state.count(&THING, "q")), (1, 1));
    assert_eq!(state.ids_after(&THING, "a").collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_transaction_tells_what_came_of_it_and_leaves_the_old_state_alone() {
    let mut state = State::default();
    state.put_sealed(&THING, "old", seal(&THING, thing("old", "p", "red", &[])));
    let (config, mut chance, mut pools) = (Config::default(), Seeded(1), Pools::default());
    let mut tx = Tx::new(&state, &config, Timestamp::UNIX_EPOCH, &mut chance, &mut pools);
    tx.put(&THING, thing("new", "p", "blue", &[]));
    tx.put(&THING, thing("new", "p", "green", &[]));
    tx.put(&THING, thing("brief", "p", "", &[]));
    tx.delete(&THING, "brief");
    tx.put(&THING, thing("old", "p", "red", &[]));
    tx.delete(&THING, "never");
    let (after, changes) = tx.finish();
    let told: Vec<_> =
        changes.iter().map(|change| (&*change.id, change.old(), change.new())).collect();
    assert_eq!(told, [("new", None, Some(thing("new", "p", "green", &[])))]);
    assert_eq!((state.len(), after.len()), (1, 2));
}

proptest! {
    /// Whatever is put and taken away: index and counts are those of the rows that are there.
    #[test]
    fn index_and_counts_follow_the_rows(
        steps in prop::collection::vec((0..6usize, 0..3usize, 0..3usize, any::<bool>()), 0..60),
    ) {
        let (ids, projects, colours) =
            (["a", "ab", "b", "c", "d", "e"], ["p", "q", ""], ["red", "reddish", ""]);
        let mut state = State::default();
        let mut model = BTreeMap::new();
        for (id, project, colour, put) in steps {
            let id = ids[id];
            if put {
                let object = thing(id, projects[project], colours[colour], &[]);
                state.put_sealed(&THING, id, seal(&THING, object.clone()));
                model.insert(id, object);
            } else {
                prop_assert_eq!(state.remove(&THING, id).is_some(), model.remove(id).is_some());
            }
            for project in projects {
                let held = model.values().filter(|object| object.project() == project).count();
                prop_assert_eq!(state.count(&THING, project) as usize, held);
            }
            for colour in ["red", "reddish"] {
                let found: Vec<_> = state.find_ids(&THING, "colour", colour).collect();
                let held: Vec<_> = model.iter().filter(|(_, o)| o.text("colour") == colour)
                    .map(|(id, _)| *id).collect();
                prop_assert_eq!(found, held);
            }
            let all: Vec<_> = state.all(&THING).collect();
            prop_assert_eq!(all, model.values().cloned().collect::<Vec<_>>());
        }
    }
}
