//! Who to be and where: clouds.yaml, secure.yaml, the environment, a Secret.
//!
//! ```text
//!  files (found as openstacksdk finds them)   Secret        environment
//!        │ clouds.yaml + secure.yaml + profile   │              │
//!        └──────────────┬────────────────────────┘              │
//!                       ▼                                       ▼
//!                  one entry: keys and values, each with where it stands
//!                       ▼
//!                  Settings, or what is wrong: file, cloud, key
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`find`] | which files there are |
//! | [`files`] | what stands in them, put together |
//! | [`entry`] | the keys of one cloud, whatever they are called |
//! | [`settings`] | what they mean |

pub mod entry;
pub mod files;
pub mod find;
pub mod settings;

pub use self::files::Texts;
pub use self::find::{Environment, load};
pub use self::settings::{Authentication, Domain, Interface, Scope, Settings, Trust, User};

/// Something a person wrote that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// A file that was named is not there, or may not be read.
    #[error("cannot read {file}: {why}")]
    Unreadable { file: String, why: String },
    /// A file is not what it should be.
    #[error("{file}: {why}")]
    Malformed { file: String, why: String },
    /// Nowhere is a cloud.
    #[error("no cloud is known: there is no clouds.yaml in {looked}, and OS_AUTH_URL is not set")]
    Nothing { looked: String },
    /// There are several, and none was chosen.
    #[error("{file} has several clouds ({have}): choose one with OS_CLOUD")]
    NoChoice { file: String, have: String },
    /// The chosen one is not there.
    #[error("{file} has no cloud {cloud}; it has {have}")]
    NoCloud { file: String, cloud: String, have: String },
    /// A profile that is not there.
    #[error("{file}: cloud {cloud}: profile {profile} is in no clouds-public.yaml")]
    NoProfile { file: String, cloud: String, profile: String },
    /// A key that must be there.
    #[error("{file}: cloud {cloud}: {key} is missing{}", if why.is_empty() { String::new() } else { format!(" ({why})") })]
    Missing { file: String, cloud: String, key: String, why: String },
    /// A key with a value that cannot be.
    #[error("{file}: cloud {cloud}: {key}: {why}")]
    Wrong { file: String, cloud: String, key: String, why: String },
}

impl From<Mistake> for crate::Error {
    fn from(mistake: Mistake) -> Self {
        match mistake {
            Mistake::Nothing { .. } => Self::Nowhere(mistake.to_string()),
            _ => Self::Settings(mistake.to_string()),
        }
    }
}
