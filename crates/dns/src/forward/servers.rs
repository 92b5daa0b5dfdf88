//! Which server is asked, and what was learnt of each.
//!
//! As dnsmasq: the one that answered last is asked alone; every so often, and when it is silent, all
//! are asked at once and the fastest becomes the one to ask.

use std::collections::HashMap;
use std::time::Duration;

use crate::settings::{Settings, Upstream};

/// So many questions go to the same server before all are tried again,
const QUESTIONS: u32 = 50;
/// or so much time.
const TIME: Duration = Duration::from_secs(20);

/// What is known of one server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// It does not give names back letter by letter.
    pub loses_case: bool,
    pub no_edns: bool,
}

/// Who answered last among some servers.
#[derive(Debug)]
struct Best {
    index: usize,
    since: Duration,
    questions: u32,
}

#[derive(Debug, Default)]
pub struct Servers {
    known: HashMap<Upstream, Known>,
    best: HashMap<Vec<Upstream>, Best>,
}

impl Servers {
    pub fn known(&self, server: &Upstream) -> Known {
        self.known.get(server).copied().unwrap_or_default()
    }

    pub fn loses_case(&mut self, server: &Upstream) {
        self.known.entry(server.clone()).or_default().loses_case = true;
    }

    pub fn knows_no_edns(&mut self, server: &Upstream) {
        self.known.entry(server.clone()).or_default().no_edns = true;
    }

    /// Who is asked first.
    pub fn first(
        &mut self,
        servers: &[Upstream],
        settings: &Settings,
        now: Duration,
    ) -> Vec<usize> {
        if settings.strict_order && !settings.all_servers {
            return vec![0];
        }
        if !settings.all_servers
            && let Some(best) = self.best.get_mut(servers)
            && best.questions < QUESTIONS
            && now < best.since + TIME
        {
            best.questions += 1;
            return vec![best.index];
        }
        (0..servers.len()).collect()
    }

    pub fn answered(&mut self, servers: &[Upstream], index: usize, now: Duration) {
        match self.best.get_mut(servers) {
            // The same one goes on counting, so that the others get their chance.
            Some(best)
                if best.index == index && best.questions < QUESTIONS && now < best.since + TIME => {
            }
            Some(best) => *best = Best { index, since: now, questions: 0 },
            None => {
                self.best.insert(servers.to_vec(), Best { index, since: now, questions: 0 });
            }
        }
    }

    pub fn failed(&mut self, servers: &[Upstream], index: usize) {
        if self.best.get(servers).is_some_and(|best| best.index == index) {
            self.best.remove(servers);
        }
    }

    /// Whoever was asked first did not answer in time.
    pub fn silent(&mut self, servers: &[Upstream]) {
        self.best.remove(servers);
    }
}
