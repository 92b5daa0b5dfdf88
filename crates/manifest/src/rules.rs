//! The codes of this crate, explained.
//!
//! `LB8xx` is about text: what could not be read, and why. Callers bring their own rules under other
//! numbers and hand both lists to the renderers.

/// A code and what it means at length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `LB801`
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// Why it matters, and after `Remedy:` what to do.
    pub explanation: &'static str,
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $title:literal, $explanation:literal;)*) => {
        $($(#[$doc])* #[doc = concat!("\n\n", $title)] pub const $name: &str = $code;)*

        /// All rules of this crate, by code.
        pub const RULES: &[Rule] =
            &[$(Rule { code: $name, title: $title, explanation: $explanation }),*];
    };
}

rules! {
    /// Past [`Limits::bytes`](crate::Limits::bytes).
    TOO_LARGE = "LB801", "file too large",
        "The file is larger than the limit for one file. Manifests are small; a file of this size is usually an image, an archive or a dump.\n\nRemedy: split the file, or leave it out.";
    /// Binary, UTF-16 or another encoding.
    NOT_TEXT = "LB802", "file is not UTF-8 text",
        "Manifests are UTF-8 text. This file is binary, or text in another encoding.\n\nRemedy: save the file as UTF-8; from UTF-16, `iconv -f UTF-16 -t UTF-8` does it. Unpack archives first.";
    /// Nothing but space and comments.
    EMPTY = "LB803", "nothing in the file",
        "The file has no document: it is empty or holds only comments. Often a generator failed or a redirect went wrong.\n\nRemedy: find out what should have written it, or leave the file out.";
    /// YAML syntax.
    YAML = "LB804", "not valid YAML",
        "The document cannot be parsed, so nothing in it was checked. The other documents of the file were.\n\nRemedy: look at the marked place and the line above it: indentation, a missing colon or quote.";
    /// JSON syntax.
    JSON = "LB805", "not valid JSON",
        "The document cannot be parsed, so nothing in it was checked.\n\nRemedy: look at the marked place: a comma too many or too few, a missing quote or bracket.";
    /// A key twice in a mapping.
    REPEATED_KEY = "LB806", "a key stands twice in one mapping",
        "YAML forbids it; parsers take the last one, the first is lost without a word, and API servers with strict field validation refuse the object.\n\nRemedy: keep one of the two, or make a list of them if both are meant.";
    /// Aliases to nothing, to themselves, merges of non-mappings.
    ALIAS = "LB807", "an alias or merge key that cannot be resolved",
        "An alias (`*name`) repeats the value of an anchor (`&name`) before it in the same document; a merge key (`<<`) takes a mapping or a list of mappings.\n\nRemedy: write the value out, or quote a text that starts with `*` or `&`.";
    /// Depth, number of values, alias expansion.
    LIMIT = "LB808", "a document costs too much to read",
        "The document nests too deep, has too many values, or asks for too many copies by alias. Reading it would cost far more than its size suggests, so it was not read.\n\nRemedy: split the document, or write out what aliases repeat.";
    /// Mapping or list as a key.
    KEY = "LB809", "a key is not a text",
        "Objects have text keys. A mapping or list in the place of a key is mostly an unrendered template (`{{ … }}`) or a missing quote.\n\nRemedy: render the template first, or quote the value.";
    /// Scalar or list where an object is expected.
    NOT_OBJECT = "LB810", "a document is not an object",
        "Every document of a manifest is one object: a mapping with apiVersion, kind and metadata.\n\nRemedy: put several objects behind each other with `---` between them, or under `items:` of a `kind: List`.";
    /// No apiVersion or kind.
    NO_KIND = "LB811", "apiVersion or kind is missing",
        "Without apiVersion and kind nobody can tell what the document is, and no API server accepts it.\n\nRemedy: add the missing field; if the file is no Kubernetes manifest, leave it out.";
    /// The apiVersion was inferred from the kind.
    INFERRED = "LB812", "apiVersion is missing and was inferred from the kind",
        "The kind is known in one API group only, so the document was read as that. An API server would refuse it.\n\nRemedy: write the apiVersion into the file.";
    /// `kind: List` without a list of objects.
    LIST = "LB813", "a list whose items cannot be read",
        "An object of kind List (or SomethingList) holds objects under `items`.\n\nRemedy: make `items` a list of mappings, each with apiVersion and kind.";
    /// Problems past the number that is reported for one file.
    MORE = "LB814", "more problems than are shown",
        "Only the first thousand problems of a file are shown. They usually have one cause.\n\nRemedy: mend the first and look again.";
    /// `metadata.name: 7`
    NAME = "LB815", "a name is not a text",
        "YAML takes some words for something else than text: `n`, `no`, `on` and `off` are yes or no, `1e3` and `007` are numbers. API servers refuse a name that is no text.\n\nRemedy: put the name in quotes.";
    /// A text without manifests.
    PROSE = "LB820", "a text, not a manifest",
        "The file reads like prose.\n\nRemedy: give the manifests themselves (YAML or JSON), or a Markdown file that holds them in fenced blocks.";
    /// A block without apiVersion and kind.
    FRAGMENT = "LB821", "a fragment of a manifest",
        "The block shows a part of an object. It cannot be checked on its own; near misses in its field names still are.\n\nRemedy: to have it checked, put it into a whole object.";
    /// `...`
    ELISION = "LB822", "something is left out with `...`",
        "`...` tells a human reader that something was left out. To YAML it ends the document or is a text. The rest of the document was read without it, and nothing in it is called missing.\n\nRemedy: fill in what is left out.";
    /// Output of a command.
    OUTPUT = "LB823", "output of a command, not a manifest",
        "The block shows what a command printed. There is nothing in it to apply.\n\nRemedy: none needed; to check what a command prints, let it print YAML and give that as a file or on standard input.";
    /// Part of a CRD.
    SCHEMA = "LB824", "a fragment of a CRD schema, not a manifest",
        "The block describes fields (type, description, properties) and gives no values to them.\n\nRemedy: none needed.";
    /// Shell commands.
    COMMANDS = "LB825", "shell commands, not a manifest",
        "The block holds commands. Manifests in here-documents are read; patches on a command line are not, because what they change is not in the file.\n\nRemedy: none needed; to check what a patch makes, apply it and check the result.";
    /// A block in another language.
    OTHER_BLOCK = "LB826", "a block that is not a manifest",
        "The block is in another language, or in none that could be recognised.\n\nRemedy: none needed, unless the language after the fence is wrong.";
    /// No complete manifest in a text with blocks.
    NO_MANIFEST = "LB827", "no complete manifest in a text",
        "The text has fenced blocks, but none of them is a complete manifest, so there is nothing to check or plan.\n\nRemedy: give whole objects: apiVersion, kind and metadata; the notes say for each block what it is.";
    /// A file for another program.
    OTHER_FILE = "LB828", "a file that is not a Kubernetes manifest",
        "The file is meant for another program (os-net-config, Heat, Kustomize, Helm, Compose) and has no apiVersion and kind, so it was left alone.\n\nRemedy: none needed.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_explained() {
        assert!(RULES.windows(2).all(|pair| pair[0].code < pair[1].code));
        for rule in RULES {
            assert!(rule.code.starts_with("LB8") && rule.code.len() == 5, "{}", rule.code);
            assert!(!rule.title.ends_with('.') && rule.explanation.ends_with('.'), "{}", rule.code);
            assert!(rule.explanation.contains("\n\nRemedy: "), "{}", rule.code);
        }
    }
}
