//! Links as wanted, whether they are there or not.

use super::{Link, LinkChange, Master, NewLink};
use crate::error::{Error, Result};
use crate::handle::{Ensured, Handle};

impl Handle {
    /// Has a link as wanted: makes it, or changes what differs, or leaves it alone. What the wish
    /// leaves open stays as it is; a link is switched on but never off.
    ///
    /// A link of that name with another kind, VLAN or parent is an error: it may be someone else's.
    pub fn ensure_link(&self, wanted: &NewLink) -> Result<(Link, Ensured)> {
        let Some(found) = self.link(&wanted.name)? else {
            return match self.create_link(wanted) {
                // Someone was faster; see what they made.
                Err(error) if error.is_present() => {
                    let found = self.expect_link(&wanted.name)?;
                    self.align(&found, wanted)
                }
                outcome => outcome.map(|link| (link, Ensured::Created)),
            };
        };
        self.align(&found, wanted)
    }

    fn align(&self, found: &Link, wanted: &NewLink) -> Result<(Link, Ensured)> {
        check(found, wanted)?;
        let options = found.kind.missing(&wanted.kind);
        let change = difference(found, wanted);
        if options.is_none() && change.is_empty() {
            return Ok((found.clone(), Ensured::Unchanged));
        }
        if let Some(options) = options {
            self.change_options(found, &options)?;
        }
        self.change_link(found, &change)?;
        Ok((self.expect_link(found)?, Ensured::Changed))
    }
}

fn check(found: &Link, wanted: &NewLink) -> Result<()> {
    let differs = |found: String, wanted_is: String| Error::Differs {
        name: wanted.name.to_string(),
        found,
        wanted: wanted_is,
    };
    if !found.kind.turns_into(&wanted.kind) {
        return Err(differs(format!("kind {}", found.kind), format!("kind {}", wanted.kind)));
    }
    match (wanted.parent, found.parent) {
        (Some(wanted), Some(here)) if here.index == wanted && here.namespace.is_none() => Ok(()),
        (None, _) => Ok(()),
        (Some(wanted), here) => {
            let here = here.map_or("no parent".to_owned(), |far| format!("parent {}", far.index));
            Err(differs(here, format!("parent {wanted}")))
        }
    }
}

fn difference(found: &Link, wanted: &NewLink) -> LinkChange {
    LinkChange {
        mtu: wanted.mtu.filter(|mtu| *mtu != found.mtu),
        mac: wanted.mac.filter(|mac| Some(*mac) != found.mac),
        up: (wanted.up && !found.up).then_some(true),
        alias: wanted.alias.clone().filter(|alias| Some(alias) != found.alias.as_ref()),
        master: wanted.master.filter(|master| Some(*master) != found.master).map(Master::Link),
        promiscuous: None,
    }
}
