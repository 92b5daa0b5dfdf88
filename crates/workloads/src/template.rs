//! From templates to pods: names, hashes, owners.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use serde::Serialize;

use crate::action::Kind;
use crate::labels::Labels;
use crate::pods::Owner;

/// Letters and digits that make no words.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Upstream cuts the beginning of a generated name so that the whole fits a label.
const LONGEST_BASE: usize = 57;

/// FNV-1a.
#[derive(Clone, Copy)]
pub struct Hash(u32);

impl Default for Hash {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Hash {
    /// Takes a text, and where it ends.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        self
    }

    /// As letters that fit a name: up to ten of them.
    pub fn word(self) -> String {
        let digits = self.0.to_string();
        digits.bytes().map(|b| char::from(ALPHABET[usize::from(b) % ALPHABET.len()])).collect()
    }

    /// Five letters, as behind a generated name.
    pub fn suffix(self) -> String {
        let mut rest = usize::try_from(self.0).unwrap_or_default();
        let mut letter = || {
            let letter = char::from(ALPHABET[rest % ALPHABET.len()]);
            rest /= ALPHABET.len();
            letter
        };
        (0..5).map(|_| letter()).collect()
    }
}

/// The hash of a template. Objects of one type are always written in one order, so it stays.
pub fn hash<T: Serialize>(template: &T, collisions: Option<i32>) -> String {
    let text = serde_json::to_string(template).unwrap_or_default();
    let hash = Hash::default().with(&text);
    match collisions {
        None | Some(0) => hash.word(),
        Some(count) => hash.with(&count.to_string()).word(),
    }
}

/// A name that begins with a given one and differs with every `why`.
pub fn generated_name(base: &str, why: Hash) -> String {
    let end = (0..=base.len().min(LONGEST_BASE)).rev().find(|end| base.is_char_boundary(*end));
    format!("{}-{}", &base[..end.unwrap_or(0)], why.suffix())
}

/// A pod from a template.
pub fn pod(owner: &Owner<'_>, template: &PodTemplateSpec, name: &str) -> Pod {
    let mut pod = Pod { spec: template.spec.clone(), ..Pod::default() };
    if let Some(meta) = &template.metadata {
        pod.metadata.labels.clone_from(&meta.labels);
        pod.metadata.annotations.clone_from(&meta.annotations);
        pod.metadata.finalizers.clone_from(&meta.finalizers);
    }
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.namespace.clone_from(&owner.meta.namespace);
    if matches!(owner.kind, Kind::ReplicaSet | Kind::DaemonSet) {
        pod.metadata.generate_name = owner.meta.name.as_ref().map(|name| format!("{name}-"));
    }
    pod.metadata.owner_references = Some(vec![owner.reference()]);
    pod
}

/// Sets a label.
pub fn label(labels: &mut Option<Labels>, key: &str, value: &str) {
    labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_a_word_and_stays() {
        assert_eq!(Hash::default().with("a").word(), Hash::default().with("a").word());
        assert_ne!(Hash::default().with("a").word(), Hash::default().with("b").word());
        assert_ne!(Hash::default().with("a").with("b").word(), Hash::default().with("ab").word());
        let word = hash(&PodTemplateSpec::default(), None);
        assert!(word.len() <= 10 && word.bytes().all(|b| ALPHABET.contains(&b)), "{word}");
        assert_ne!(word, hash(&PodTemplateSpec::default(), Some(1)));
    }

    #[test]
    fn a_generated_name_fits_a_label() {
        let name = generated_name(&"x".repeat(200), Hash::default());
        assert_eq!(name.len(), LONGEST_BASE + 6);
        assert_eq!(name.len(), 63);
    }
}
