//! A node: shown, planned for, changed, and brought back.
//!
//! ```text
//!  apply ─► read ─► plan ─► checkpoint on disk ─► steps ─► look again ─► probe ─► keep
//!                                 │                 │          │           │
//!                                 └──── killed: recover()      └── failed: roll back, say why
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::{Handle, Link};
use serde_json::Value;

use crate::desired::Desired;
use crate::dhcp::{Dhcp, NoDhcp};
use crate::error::{Cause, Error, RolledBack, told};
use crate::execute::Hands;
use crate::files::{self, Files};
use crate::plan::{Abilities, Plan, difference};
use crate::read::{self, Foreign};
use crate::resolver::Resolver;
use crate::saved::{self, Before};
use crate::show;
use crate::state::State;
use crate::wires::{Kernel, Wires};

/// How long the kernel may take until it shows what it was told.
const SETTLE: Duration = Duration::from_secs(1);
/// How often it is asked meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// Steps that follow from what the kernel made of the first ones.
const ROUNDS: usize = 3;

/// The node whose network is in a namespace.
pub struct Node {
    net: Handle,
    files: Files,
    wires: Arc<dyn Wires>,
    dhcp: Arc<dyn Dhcp>,
    foreign: Box<Foreign>,
    /// One change at a time.
    changing: Mutex<()>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub plan: Plan,
}

/// What a change that was cut short had left, and how taking it back went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    pub rolled_back: RolledBack,
}

impl Node {
    /// A node with real VLANs and without DHCP.
    pub fn new(net: Handle, files: Files) -> Self {
        Self {
            net,
            files,
            wires: Arc::new(Kernel),
            dhcp: Arc::new(NoDhcp),
            foreign: Box::new(|name, link: &Link| read::is_of_a_pod(name, link)),
            changing: Mutex::new(()),
        }
    }

    /// Who makes VLAN links.
    #[must_use]
    pub fn with_wires(self, wires: Arc<dyn Wires>) -> Self {
        Self { wires, ..self }
    }

    /// Who runs DHCP clients.
    #[must_use]
    pub fn with_dhcp(self, dhcp: Arc<dyn Dhcp>) -> Self {
        Self { dhcp, ..self }
    }

    /// Which links are somebody else's: not shown, and not taken out of bridges.
    #[must_use]
    pub fn with_foreign(self, foreign: Box<Foreign>) -> Self {
        Self { foreign, ..self }
    }

    /// The node as it is.
    pub fn state(&self) -> Result<State, Error> {
        let mut state =
            read::network(&self.net, &*self.dhcp, &*self.foreign).map_err(Error::Read)?;
        let resolver = files::read(&self.files.resolver)?.unwrap_or_default();
        state.resolver = Resolver::parse(&resolver);
        state.hostname = read::hostname(files::read(&self.files.hostname)?);
        Ok(state)
    }

    /// The node as it is, in nmstate's words.
    pub fn show(&self) -> Result<Value, Error> {
        Ok(show::state(&self.state()?))
    }

    /// What it takes to have the desired state; nothing is changed. Asked again later, it is the
    /// drift.
    pub fn plan(&self, desired: &Value) -> Result<Plan, Error> {
        let desired = Desired::parse(desired)?;
        Ok(Plan::new(&desired, &self.state()?, abilities())?)
    }

    /// Has the desired state, or leaves everything as it was and says why.
    ///
    /// The probe runs when all is in place and says whether the node can live with it.
    pub fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<Applied, Error> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = Desired::parse(desired)?;
        let now = self.state()?;
        let plan = Plan::new(&parsed, &now, abilities())?;
        if !plan.is_empty() {
            let before =
                Before::new(self.net.checkpoint().map_err(Error::Read)?, now, &self.files)?;
            before.write(&self.files)?;
            let change = || self.change(&plan, &parsed).and_then(|()| probed(probe));
            if let Err(cause) = caught(change) {
                let rolled_back = self.roll_back(&before);
                files::remove(&self.files.checkpoint())?;
                return Err(Error::RolledBack { cause, rolled_back });
            }
            files::remove(&self.files.checkpoint())?;
        }
        saved::Applied::remember(&self.files, desired)?;
        Ok(Applied { plan })
    }

    /// Does again what has been applied so far: for a boot without the API.
    pub fn reapply(&self) -> Result<Option<Applied>, Error> {
        match saved::Applied::read(&self.files)? {
            Some(applied) => self.apply(&applied.desired, &|| Ok(())).map(Some),
            None => Ok(None),
        }
    }

    /// Takes back a change in whose middle this program was killed. To be called before anything
    /// else is changed.
    pub fn recover(&self) -> Result<Option<Recovered>, Error> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = Before::read(&self.files)? else { return Ok(None) };
        let rolled_back = self.roll_back(&before);
        files::remove(&self.files.checkpoint())?;
        Ok(Some(Recovered { rolled_back }))
    }

    fn hands(&self) -> Hands<'_> {
        Hands { net: &self.net, wires: &*self.wires, dhcp: &*self.dhcp, files: &self.files }
    }

    /// The steps, and then what the kernel made of them until it is as wanted.
    fn change(&self, plan: &Plan, desired: &Desired) -> Result<(), Cause> {
        let mut left = plan.clone();
        for _ in 0..ROUNDS {
            self.perform(&left)?;
            left = self.settled(desired)?;
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(Cause::Verification { left: left.steps.iter().map(ToString::to_string).collect() })
    }

    fn perform(&self, plan: &Plan) -> Result<(), Cause> {
        let hands = self.hands();
        for step in &plan.steps {
            tracing::debug!(%step, "node state");
            let failed = |why| Cause::Step { step: step.to_string(), why };
            hands.perform(step).map_err(failed)?;
        }
        Ok(())
    }

    /// What is still to do when the kernel has had its time.
    fn settled(&self, desired: &Desired) -> Result<Plan, Cause> {
        let until = Instant::now() + SETTLE;
        loop {
            let unreadable = |why: String| Cause::Verification { left: vec![why] };
            let now = self.state().map_err(|error| unreadable(told(&error)))?;
            let left = Plan::new(desired, &now, abilities())
                .map_err(|fault| unreadable(fault.to_string()))?;
            if left.is_empty() || Instant::now() >= until {
                return Ok(left);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// First our own way, which knows wires, settings and files; then the checkpoint's, to the letter.
    fn roll_back(&self, before: &Before) -> RolledBack {
        let mut left = Vec::new();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.steps_back(before);
            self.restore(before, &mut left);
        }));
        if let Err(panic) = outcome {
            left.push(format!("internal error: {}", panic_text(&*panic)));
        }
        for (path, text) in
            [(&self.files.resolver, &before.resolver), (&self.files.hostname, &before.hostname)]
        {
            if let Err(error) = put_back(path, text.as_deref()) {
                left.push(error.to_string());
            }
        }
        RolledBack { left }
    }

    /// As much as possible; what fails may succeed when something else is back.
    fn steps_back(&self, before: &Before) {
        let hands = self.hands();
        for _ in 0..ROUNDS {
            let Ok(now) = self.state() else { return };
            let steps = difference(&now, &before.state);
            if steps.is_empty() {
                return;
            }
            for step in &steps {
                if let Err(why) = hands.perform(step) {
                    tracing::warn!(%step, why, "rolling back");
                }
            }
        }
    }

    fn restore(&self, before: &Before, left: &mut Vec<String>) {
        match self.net.restore(&before.checkpoint) {
            Ok(report) => {
                left.extend(report.left.iter().map(|left| format!("{}: {}", left.step, left.why)));
            }
            Err(error) => left.push(told(&error)),
        }
        // What the checkpoint does not hold: settings, ports, files, DHCP.
        match self.state() {
            Ok(now) => {
                let hands = self.hands();
                for step in difference(&now, &before.state) {
                    if let Err(why) = hands.perform(&step) {
                        left.push(format!("{step}: {why}"));
                    }
                }
            }
            Err(error) => left.push(told(&error)),
        }
    }
}

/// What this kernel can do; where that cannot be tried, it is left to the kernel to refuse.
fn abilities() -> Abilities {
    let vlan_filtering =
        Capabilities::probe().map_or(true, |can| can.has(Feature::BridgeVlanFiltering));
    Abilities { vlan_filtering }
}

pub(crate) fn probed(probe: &dyn Fn() -> Result<(), String>) -> Result<(), Cause> {
    probe().map_err(|why| Cause::Probe { why })
}

/// A panic is a failure like others: the node must not stay half changed.
pub(crate) fn caught(work: impl FnOnce() -> Result<(), Cause>) -> Result<(), Cause> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Cause::Panic { why: panic_text(&*panic) }))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

fn put_back(path: &std::path::Path, text: Option<&str>) -> Result<(), Error> {
    if files::read(path)?.as_deref() == text {
        return Ok(());
    }
    match text {
        Some(text) => files::replace(path, text, 0o644),
        None => files::remove(path),
    }
}
