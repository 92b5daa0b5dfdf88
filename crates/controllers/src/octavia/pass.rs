//! One pass over one Octavia: look, decide, do; look again, until nothing is left to do.

use std::fmt::Write as _;

use landbridge_openstack::{Client, Error, Method, Reaction};
use landbridge_plan::octavia::Design;

use super::compute;
use super::look::{look, look_for_marks, users};
use super::marks::Owner;
use super::seen::Seen;
use super::steps::{Decision, Found, Options, Step, decide, let_go, remove};
use super::unmanaged;

/// More rounds than the longest chain of things that need each other.
const ROUNDS: usize = 24;
/// So much of a message people read.
const MOST_TEXT: usize = 1500;

/// What a pass is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Everything as designed.
    Keep(Box<Design>, Options),
    /// Nothing of what was made is left.
    Remove,
    /// Everything stays, without our marks.
    LetGo,
}

/// How a pass ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// Everything is as it should be.
    Done(Found),
    /// Something is not, and why. It is tried again.
    Short {
        /// For people.
        why: String,
        /// Whether trying again soon may help: nobody has to do anything.
        is_passing: bool,
        /// What is there all the same.
        found: Found,
    },
}

/// Makes one pass.
pub async fn pass(client: &Client, owner: &Owner, task: &Task) -> Ended {
    let mut found = Found::default();
    for _ in 0..ROUNDS {
        let decision = match decision(client, owner, task).await {
            Ok(decision) => decision,
            Err(error) => {
                let is_passing = error.reaction().heals();
                return Ended::Short { why: words(&error), is_passing, found };
            }
        };
        found = decision.found;
        let mut failed = Vec::new();
        for step in &decision.steps {
            if let Err(error) = carry_out(client, step).await {
                failed.push((&step.title, error));
            }
        }
        let troubles = decision.troubles;
        if !failed.is_empty() {
            let is_passing =
                troubles.is_empty() && failed.iter().all(|(_, error)| error.reaction().heals());
            let texts =
                failed.iter().map(|(title, error)| format!("cannot {title}: {}", words(error)));
            let why = told(texts.chain(troubles));
            return Ended::Short { why, is_passing, found };
        }
        if decision.steps.is_empty() {
            return finish(client, decision.project.as_deref(), troubles, found).await;
        }
    }
    let why = format!(
        "not settled after {ROUNDS} rounds: somebody else may be changing the same objects"
    );
    Ended::Short { why, is_passing: true, found }
}

/// Nothing is left to do in Neutron. What Nova says does not hold that up.
async fn finish(
    client: &Client,
    project: Option<&str>,
    mut troubles: Vec<String>,
    mut found: Found,
) -> Ended {
    let mut is_passing = false;
    if let Some(project) = project {
        match compute::lift(client, project).await {
            Ok(note) => found.note = note,
            Err(error) => {
                is_passing = troubles.is_empty() && error.reaction().heals();
                troubles.push(format!(
                    "cannot lift Nova's quotas of project {project}: {}",
                    words(&error)
                ));
            }
        }
    }
    if troubles.is_empty() {
        return Ended::Done(found);
    }
    Ended::Short { why: told(troubles.into_iter()), is_passing, found }
}

/// An error as it stands in a condition: the same trouble reads the same every time, or it would be told, and heard,
/// for ever.
fn words(error: &Error) -> String {
    error.steady().to_string()
}

async fn decision(client: &Client, owner: &Owner, task: &Task) -> Result<Decision, Error> {
    let (mut seen, missing) = match task {
        Task::Keep(design, _) if !design.is_managed => {
            return unmanaged::look(client, design).await;
        }
        Task::Keep(design, options) => look(client, owner, design, options.is_careful).await?,
        Task::Remove | Task::LetGo => (look_for_marks(client, owner).await?, Vec::new()),
    };
    let decided = |seen: &Seen| match task {
        Task::Keep(design, options) => decide(design, owner, seen, *options),
        Task::Remove => remove(owner, seen),
        Task::LetGo => let_go(owner, seen),
    };
    let mut decision = decided(&seen);
    if !decision.asks.is_empty() {
        for network in &decision.asks {
            seen.users.insert(network.clone(), users(client, network).await?);
        }
        decision = decided(&seen);
    }
    decision.troubles.extend(missing);
    Ok(decision)
}

/// Whether a call did what it is for. What was to go and is gone is as good, and what is there already is looked at in the
/// next round. What lacks something it needs says so: a zone that Neutron does not know is a 404, too.
async fn carry_out(client: &Client, step: &Step) -> Result<(), Error> {
    match client.call(step.call.clone()).await {
        Ok(_) => {
            tracing::info!(step = step.title, "done in Neutron");
            Ok(())
        }
        Err(error) => {
            let takes_away = step.call.method == Method::DELETE
                || step.call.path.ends_with("/remove_router_interface");
            match error.reaction() {
                Reaction::Exists => Ok(()),
                Reaction::Gone if takes_away => Ok(()),
                _ => Err(error),
            }
        }
    }
}

fn told(texts: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for text in texts {
        let separator = if all.is_empty() { "" } else { "; " };
        if all.len() + text.len() > MOST_TEXT && !all.is_empty() {
            all.push_str("; and more");
            break;
        }
        let _ = write!(all, "{separator}{text}");
    }
    if all.len() > 2 * MOST_TEXT {
        let end = (0..=2 * MOST_TEXT).rev().find(|end| all.is_char_boundary(*end)).unwrap_or(0);
        all.truncate(end);
    }
    all
}
