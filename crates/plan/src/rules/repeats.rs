//! Objects that are given twice, and values that could not be read.

use landbridge_api::foreign::{Place, nmstate};

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    for (source, note) in &view.facts.troubles {
        let object = &view.sources.list[*source].object;
        let place = note.place.inner.as_ref().filter(|inner| !inner.as_str().is_empty());
        let place = place.map_or_else(|| note.place.path.to_string(), ToString::to_string);
        let message = format!("{object}: {place}: {}", note.value);
        let mark = Mark::new(*source, &note.place);
        found.push(Finding::new(&codes::UNREADABLE, message).at(&mark, "cannot be understood"));
    }
    let mut replaced: Vec<_> = view.sources.replaced_by.iter().collect();
    replaced.sort_unstable();
    for (earlier, later) in replaced {
        let (first, second) = (&view.sources.list[*earlier], &view.sources.list[*later]);
        // What it means for a policy is told in more detail.
        if first.value == second.value || first.object.group() == nmstate::GROUP {
            continue;
        }
        let place = Place::new("metadata.name");
        let message = format!("{} is given twice, with different content", first.object);
        found.push(
            Finding::new(&codes::GIVEN_TWICE, message)
                .at(&Mark::new(*later, &place), "this one wins")
                .at(&Mark::new(*earlier, &place), "this one is lost")
                .help("remove one of them"),
        );
    }
}
