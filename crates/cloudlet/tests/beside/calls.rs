//! The table of calls: files of YAML under tests/cloud/calls, each a story on a fresh cloud.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// Addresses that the services find by themselves and that are the same every time, such as a gateway. All
    /// others that no call names are taken for chosen, and not compared.
    #[serde(default)]
    pub certain: Vec<String>,
    /// The calls in their order.
    pub calls: Vec<Call>,
}

/// One call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// What it tries; unique in its file.
    pub name: String,
    /// Which user makes it; `nobody` sends no token, `forged` one that nobody issued.
    #[serde(rename = "as", default = "admin")]
    pub user: String,
    /// Method and path, below `/v2.0/` or `/v3/` unless it begins with a slash: `GET networks?name=x`.
    #[serde(rename = "do")]
    pub line: String,
    /// The JSON body.
    pub body: Option<Value>,
    /// A body as it stands, JSON or not.
    pub text: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What later calls use as `${name}`: a path into the answer (`network.id`, `ports.0.id`), or `header NAME`.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Which service is called: `identity` or `network`.
    #[serde(default = "network")]
    pub at: String,
    /// Whether the order of the answer's list is part of it.
    #[serde(default)]
    pub ordered: bool,
}

fn admin() -> String {
    "admin".to_owned()
}

fn network() -> String {
    "network".to_owned()
}

/// Where the tables and the recorded answers are.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cloud")
}

/// All files, by name.
pub fn stories() -> Vec<Story> {
    let dir = home().join("calls");
    let files = std::fs::read_dir(&dir).expect("tests/cloud/calls is there");
    let mut files: Vec<PathBuf> =
        files.map(|file| file.expect("a readable entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    files.iter().map(|file| story(file)).collect()
}

fn story(file: &Path) -> Story {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let mut story: Story = match serde_saphyr::from_str(&text) {
        Ok(story) => story,
        Err(error) => panic!("{}: {error}", file.display()),
    };
    story.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = std::collections::BTreeSet::new();
    for call in &story.calls {
        assert!(names.insert(&call.name), "{}: two calls are named {}", story.name, call.name);
    }
    story
}

/// What was kept from answers, by name.
pub type Kept = BTreeMap<String, Value>;

/// The text with every `${name}` replaced.
pub fn fill(text: &str, kept: &Kept) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').expect("${ has its }");
        out.push_str(before);
        match kept.get(name) {
            Some(Value::String(value)) => out.push_str(value),
            Some(value) => out.push_str(&value.to_string()),
            // What was to be kept did not come: the call goes out all the same, and differs.
            None => out.extend(["no-", name]),
        }
        rest = tail;
    }
    out + rest
}

/// The body with every `${name}` replaced; a text that is nothing else takes the value's own type.
pub fn fill_value(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let whole = whole.filter(|name| !name.contains('$')).and_then(|name| kept.get(name));
            whole.cloned().unwrap_or_else(|| fill(text, kept).into())
        }
        Value::Array(items) => items.iter().map(|item| fill_value(item, kept)).collect(),
        Value::Object(map) => {
            let filled = map.iter().map(|(key, value)| (fill(key, kept), fill_value(value, kept)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// The value at a path such as `ports.0.id`.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}
