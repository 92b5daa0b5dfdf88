//! Which wires NetConfigs, policies and attachments have in common, as last read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landbridge_addr::net::Range;
use landbridge_plan::{Site, Source, all_sites, sites};
use serde_json::Value;

use crate::objects::{ObjectError, Objects};

/// How old what was read may be. Many pods start at once; they ask once.
const AGE_MAX: Duration = Duration::from_millis(500);

/// The sites an attachment has addresses of. Pure; each value is an object as it is written.
pub fn segments_of(definition: &Value, policies: &[Value], netconfigs: &[Value]) -> Vec<Site> {
    let text = |key: &str| definition["metadata"][key].as_str().unwrap_or_default().to_owned();
    let all = netconfigs.iter().chain(policies).chain([definition]);
    let sources: Vec<Source<'_>> =
        all.enumerate().map(|(id, value)| Source::new(id, value)).collect();
    sites(&sources).of_attachment(&text("namespace"), &text("name")).to_vec()
}

/// What was read, and when.
#[derive(Clone)]
struct Read {
    at: Instant,
    netconfigs: Arc<Vec<Value>>,
    all: Arc<Vec<Site>>,
    /// Read only when somebody has to know.
    policies: Option<Arc<Vec<Value>>>,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Wiring(Mutex<Option<Read>>);

impl Wiring {
    /// The subnets of all NetConfigs.
    pub fn all_sites(&self, objects: &dyn Objects) -> Result<Arc<Vec<Site>>, ObjectError> {
        self.read(objects).map(|read| read.all)
    }

    /// The sites of a definition's range. Policies are read only if a NetConfig has addresses of it.
    pub fn sites(
        &self,
        objects: &dyn Objects,
        definition: &Value,
        range: Range,
    ) -> Result<Vec<Site>, ObjectError> {
        let read = self.read(objects)?;
        let meets = |site: &&Site| site.prefix.intersect(&range).is_some();
        if !read.all.iter().any(|site| meets(&site)) {
            return Ok(Vec::new());
        }
        let policies = if let Some(policies) = read.policies {
            policies
        } else {
            let policies = Arc::new(objects.policies()?);
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.as_mut().filter(|known| known.at == read.at) {
                known.policies = Some(Arc::clone(&policies));
            }
            policies
        };
        let mut found = segments_of(definition, &policies, &read.netconfigs);
        found.retain(|site| meets(&site));
        Ok(found)
    }

    fn read(&self, objects: &dyn Objects) -> Result<Read, ObjectError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.at.elapsed() < AGE_MAX) {
            return Ok(known);
        }
        let at = Instant::now();
        let netconfigs = Arc::new(objects.netconfigs()?);
        let sources: Vec<Source<'_>> =
            netconfigs.iter().enumerate().map(|(id, value)| Source::new(id, value)).collect();
        let all = Arc::new(all_sites(&sources));
        let read = Read { at, netconfigs, all, policies: None };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(read.clone());
        Ok(read)
    }
}
