//! Manifests, and a world in which everything goes well.

use std::path::{Path, PathBuf};
use std::{env, fs};

use jiff::{SignedDuration, Timestamp};
use landbridge_controllers::dns::{self, domain::Names};
use landbridge_controllers::endpoints::domain::Endpoints;
use landbridge_controllers::making::kinds::Kind;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::operator::Operator;
use crate::server::Server;

/// A world with one controller.
pub struct Scene {
    pub server: Server,
    pub operator: Operator,
    /// Whoever serves names.
    names: Operator,
    pub now: Timestamp,
    chance: Chance,
}

impl Scene {
    pub fn new() -> Self {
        let server = Server::default();
        let operator = Operator::start(&server, Endpoints::default());
        let names = Operator::start(&server, Names::new(dns::Settings::default()));
        Self { server, operator, names, now: Timestamp::UNIX_EPOCH, chance: Chance::new(1) }
    }

    /// Puts an object there, as a user would. The schema's defaults and the alias are applied, as
    /// the API does.
    pub fn apply(&mut self, mut object: Value) -> &mut Self {
        let kind = Kind::find(object["kind"].as_str().unwrap()).expect("a known kind");
        object["metadata"]["namespace"] = "openstack".into();
        default(kind, &mut object);
        let spot = (kind, crate::server::key_of(&object));
        if self.server.objects.contains_key(&spot) {
            let spec = object["spec"].clone();
            let mut live = self.server.objects[&spot].clone();
            live["spec"] = spec;
            self.server.update(kind, &live, "user").unwrap();
        } else {
            self.server.create(kind, object, "user").unwrap();
        }
        self
    }

    pub fn nad(&mut self, name: &str, gateway: Option<&str>) -> &mut Self {
        let mut config = json!({"cniVersion": "0.3.1", "name": name, "type": "macvlan",
            "ipam": {"type": "whereabouts"}});
        if let Some(gateway) = gateway {
            config["ipam"]["gateway"] = gateway.into();
        }
        self.apply(json!({"kind": "NetworkAttachmentDefinition", "metadata": {"name": name},
            "spec": {"config": config.to_string()}}))
    }

    pub fn delete(&mut self, kind: Kind, name: &str) -> &mut Self {
        let spot = (kind, landbridge_controllers::mirror::Key::new("openstack", name));
        self.server.delete(&spot, None).unwrap();
        self
    }

    /// Lets everybody work until nothing changes any more. `others`: beside the controller.
    pub fn settle(&mut self, others: bool) -> &mut Self {
        self.rounds(others, SignedDuration::from_secs(60));
        self
    }

    /// As [`settle`](Self::settle), while time stands still: whoever waits for a clock waits for ever.
    /// Returns how often everybody had to be asked.
    pub fn settle_at_once(&mut self) -> usize {
        self.rounds(true, SignedDuration::ZERO)
    }

    fn rounds(&mut self, others: bool, step: SignedDuration) -> usize {
        for round in 0.. {
            assert!(round < 500, "it never gets quiet");
            let before = self.server.revision;
            self.now = self.now.checked_add(step).unwrap();
            for operator in [&mut self.operator, &mut self.names] {
                for kind in Kind::ALL {
                    operator.hear(&self.server, *kind, usize::MAX);
                }
                operator.decide(self.now, usize::MAX);
                while operator.is_busy() {
                    operator.write(&mut self.server, &mut self.chance, self.now, false);
                }
            }
            if others {
                self.server.others();
            } else {
                self.server.collect();
            }
            if self.server.revision == before
                && self.operator.engine.is_idle()
                && self.names.engine.is_idle()
            {
                return round;
            }
        }
        unreachable!("rounds do not end by themselves")
    }

    /// Only the controller works.
    pub fn alone(&mut self) -> &mut Self {
        self.settle(false)
    }

    pub fn get(&self, kind: Kind, name: &str) -> &Value {
        let found = self.server.get(kind, name);
        found.unwrap_or_else(|| panic!("no {} {name}", kind.name()))
    }

    pub fn names(&self, kind: Kind) -> Vec<&str> {
        let all = self.server.objects.keys().filter(|(other, _)| *other == kind);
        all.map(|(_, key)| &*key.name).collect()
    }

    /// A condition: status, severity, reason and message.
    pub fn condition(&self, kind: Kind, name: &str, type_: &str) -> String {
        let object = self.get(kind, name);
        let list = object["status"]["conditions"].as_array();
        let found = list.into_iter().flatten().find(|condition| condition["type"] == type_);
        found.map_or_else(
            || format!("no {type_}"),
            |found| {
                let part = |field: &str| found[field].as_str().unwrap_or("-");
                format!(
                    "{} {} {}: {}",
                    part("status"),
                    part("severity"),
                    part("reason"),
                    part("message")
                )
            },
        )
    }
}

/// What the API makes of an object: defaults of the schema and the alias.
fn default(kind: Kind, object: &mut Value) {
    use landbridge_machinery::field::FieldPath;
    use landbridge_machinery::schema::Schema;
    let (group, _, _) = kind.resource();
    let crds = landbridge_api::all_crds();
    let Some(crd) =
        crds.iter().find(|crd| crd.spec.group == group && crd.spec.names.kind == kind.name())
    else {
        return;
    };
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let schema = serde_json::to_value(schema).unwrap();
    let schema = Schema::structural(&schema, &FieldPath::root()).unwrap();
    let text = object.to_string().replace("networkAttachents", "networkAttachments");
    *object = serde_json::from_str(&text).unwrap();
    schema.apply_defaults(object);
    assert_eq!(schema.validate(object, None).len(), 0, "{:?}", schema.validate(object, None));
}

pub fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_saphyr::from_multiple(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A sample of upstream's, where this machine has them.
pub fn sample(name: &str) -> Option<Vec<Value>> {
    let folder = env::var_os("LANDBRIDGE_SHARED").map_or_else(|| file("../shared"), PathBuf::from);
    let path = folder.join("samples").join(name);
    if path.is_file() {
        return Some(read(&path));
    }
    let why = format!("upstream's sample {name}: not here ({})", path.display());
    println!("skipped: {why}");
    if let Some(notes) = env::var_os("LANDBRIDGE_SKIP_FILE") {
        use std::io::Write as _;
        let mut notes = fs::OpenOptions::new().append(true).create(true).open(notes).unwrap();
        writeln!(notes, "{why}").unwrap();
    }
    None
}

/// Compares with a file; `LANDBRIDGE_BLESS=1` writes it.
pub fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    if env::var_os("LANDBRIDGE_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    if stored != text {
        let (old, new): (Vec<_>, Vec<_>) = (stored.lines().collect(), text.lines().collect());
        let at = old.iter().zip(&new).position(|(a, b)| a != b).unwrap_or(old.len().min(new.len()));
        panic!(
            "{} differs at line {}: {:?} is now {:?}; LANDBRIDGE_BLESS=1 if that is meant",
            path.display(),
            at + 1,
            old.get(at),
            new.get(at)
        );
    }
}
