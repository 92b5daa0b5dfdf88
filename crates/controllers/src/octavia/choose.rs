//! Which of the objects that are there is the one that is meant.
//!
//! Names are not unique in Neutron. What carries our tag for this purpose comes first, then what was just made
//! here, then what has the name and is nobody's: that one is adopted. What was made here and is not chosen (an
//! answer came so late that it was made twice) is taken away; two of somebody else's are an error that people
//! have to resolve.

use super::marks::{Owner, Whose, is_role, role};
use super::seen::Thing;

/// What was found for one purpose.
#[derive(Debug, Default)]
pub struct Choice<'s> {
    /// The one.
    pub one: Option<&'s Thing>,
    /// Whether it was made here.
    pub is_made: bool,
    /// Whether nothing more has to be noted about it.
    pub is_marked: bool,
    /// Made here, and not needed.
    pub spares: Vec<&'s Thing>,
    /// Why none can be chosen, nor made.
    pub trouble: Option<String>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// For people: `network`.
    pub kind: &'a str,
    /// The name.
    pub name: &'a str,
    /// The project it has to be in; `None` where its place says enough.
    pub project: Option<&'a str>,
    /// What people read about it; may be empty.
    pub description: &'a str,
}

/// Chooses among things that carry tags.
pub fn tagged<'s>(
    owner: &Owner,
    sought: Sought<'_>,
    things: impl Iterator<Item = &'s Thing>,
) -> Choice<'s> {
    choose(owner, sought, things, |thing| {
        let is_ours = thing.tags().any(|tag| tag == owner.tag());
        if is_ours && role(thing).is_some() {
            // Whatever it is called: the tag says what it is for.
            return is_role(thing, sought.name)
                .then_some(role(thing).is_some_and(|(_, made)| made));
        }
        None
    })
}

/// Chooses among things that are noted elsewhere when they were made here.
pub fn noted<'s>(
    owner: &Owner,
    sought: Sought<'_>,
    things: impl Iterator<Item = &'s Thing>,
    is_noted: impl Fn(&Thing) -> bool,
) -> Choice<'s> {
    choose(owner, sought, things, |thing| is_noted(thing).then_some(true))
}

/// `marked` says of a thing that is fully marked for this purpose whether it was made here.
fn choose<'s>(
    owner: &Owner,
    sought: Sought<'_>,
    things: impl Iterator<Item = &'s Thing>,
    marked: impl Fn(&Thing) -> Option<bool>,
) -> Choice<'s> {
    let mut choice = Choice::default();
    let mut all: Vec<&Thing> = things.collect();
    all.sort_by_key(|thing| thing.age());
    let mut known: Vec<(&Thing, bool)> = Vec::new();
    let mut newborn: Vec<&Thing> = Vec::new();
    let mut nobodys: Vec<&Thing> = Vec::new();
    let mut others: Option<(&Thing, String)> = None;
    for thing in all {
        let is_named = (thing.name() == sought.name || is_described(owner, sought, thing))
            && sought.project.is_none_or(|project| thing.project() == project);
        if let Some(is_made) = marked(thing) {
            known.push((thing, is_made));
        } else if !is_named || is_for_another(owner, sought, thing) {
            // Of another purpose.
        } else if owner.is_newborn(thing) {
            newborn.push(thing);
        } else {
            match owner.whose(thing) {
                Whose::Others(name) => others = others.or(Some((thing, name))),
                Whose::Ours | Whose::Nobodys => nobodys.push(thing),
            }
        }
    }
    let spare = |choice: &mut Choice<'s>, known: &[(&'s Thing, bool)], newborn: &[&'s Thing]| {
        choice.spares.extend(known.iter().filter(|(_, made)| *made).map(|(thing, _)| *thing));
        choice.spares.extend(newborn);
    };
    if let Some(((one, is_made), rest)) = known.split_first() {
        choice.one = Some(one);
        choice.is_made = *is_made;
        choice.is_marked = true;
        spare(&mut choice, rest, &newborn);
        return choice;
    }
    match (nobodys.as_slice(), newborn.split_first()) {
        ([], Some((one, rest))) => {
            choice.one = Some(one);
            choice.is_made = true;
            spare(&mut choice, &[], rest);
        }
        ([], None) => {
            choice.trouble = others.map(|(thing, name)| {
                format!(
                    "{} {} ({}) belongs to Octavia {name}; two cannot share it",
                    sought.kind,
                    sought.name,
                    thing.id()
                )
            });
        }
        // Somebody was faster than we were: theirs stays, ours goes.
        ([one], _) => {
            choice.one = Some(one);
            spare(&mut choice, &[], &newborn);
        }
        (several, _) => {
            let ids: Vec<&str> = several.iter().take(5).map(|thing| thing.id()).collect();
            choice.trouble = Some(format!(
                "there are {} {}s with the name {} ({}), and nobody can say which is meant: delete or rename \
                 all but one",
                several.len(),
                sought.kind,
                sought.name,
                ids.join(", ")
            ));
        }
    }
    choice
}

/// Whether our tags say that it is for something else, although it has the name.
fn is_for_another(owner: &Owner, sought: Sought<'_>, thing: &Thing) -> bool {
    thing.tags().any(|tag| tag == owner.tag())
        && role(thing).is_some()
        && !is_role(thing, sought.name)
}

/// Whether it is ours, and what it is for stands only in its description any more.
fn is_described(owner: &Owner, sought: Sought<'_>, thing: &Thing) -> bool {
    !sought.description.is_empty()
        && thing.text("description") == sought.description
        && thing.tags().any(|tag| tag == owner.tag())
        && role(thing).is_none()
}
