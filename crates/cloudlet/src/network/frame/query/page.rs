//! Pages of a list: `limit`, `marker`, `page_reverse`, and the links to the next and the last one.

use serde_json::{Value, json};

use crate::config::Config;
use crate::network::fault::Fault;
use crate::request::{Request, encode};

/// Which part of a list is asked for.
pub struct Page {
    limit: Option<usize>,
    marker: Option<String>,
    reverse: bool,
}

impl Page {
    pub fn read(config: &Config, request: &Request) -> Result<Self, Fault> {
        let given = request.query_one("limit").unwrap_or("0");
        let Some(limit) = given.trim().parse::<i64>().ok().filter(|limit| *limit >= 0) else {
            let message = format!("Limit must be an integer 0 or greater and not '{given}'");
            return Err(Fault::bad_resource("limit", message));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let most = config.network.page_limit;
        let limit = match (limit, most) {
            (0, most) => most,
            (limit, 0) => limit,
            (limit, most) => limit.min(most),
        };
        let reverse =
            request.query_one("page_reverse").is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let limit = (limit > 0).then_some(limit);
        let marker = limit.and(request.query_one("marker")).map(str::to_owned);
        Ok(Self { limit, marker, reverse })
    }

    /// The object after which the page begins.
    pub fn marker(&self) -> Option<&str> {
        self.marker.as_deref()
    }

    /// The part of the sorted list that is asked for. A marker that the filters leave
    /// out is passed over: the page begins at the list's beginning.
    pub fn cut(&self, mut found: Vec<String>) -> Vec<String> {
        let Some(limit) = self.limit else { return found };
        let at = self.marker.as_deref().and_then(|id| found.iter().position(|one| one == id));
        if self.reverse {
            found.truncate(at.unwrap_or(found.len()));
            let first = found.len().saturating_sub(limit);
            return found.split_off(first);
        }
        let mut rest = found.split_off(at.map_or(0, |at| at + 1));
        rest.truncate(limit);
        rest
    }

    /// Where to go on; `None` where nothing was asked for by pages.
    pub fn links(&self, request: &Request, shown: &[String]) -> Option<Value> {
        let limit = self.limit?;
        let short = shown.len() < limit;
        let mut links = Vec::new();
        if !short || self.reverse {
            links.push(json!({"rel": "next", "href": link(request, shown.last(), false)}));
        }
        if !short || !self.reverse {
            links.push(json!({"rel": "previous", "href": link(request, shown.first(), true)}));
        }
        (!links.is_empty()).then(|| links.into())
    }
}

fn link(request: &Request, at: Option<&String>, reverse: bool) -> String {
    let kept = |name: &str| name != "marker" && name != "page_reverse";
    let mut query: Vec<(&str, &str)> = request
        .query
        .iter()
        .filter(|(name, _)| kept(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    query.extend(at.map(|id| ("marker", id.as_str())));
    if reverse {
        query.push(("page_reverse", "True"));
    }
    let pairs: Vec<_> = query
        .into_iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    format!("{}/{}?{}", request.base, request.path.join("/"), pairs.join("&"))
}
