//! What one file may cost.

/// Budgets for one file. Past any of them the reader stops and says so; it never guesses on.
///
/// The defaults are far above what people write and far below what hurts: a manifest directory of
/// a large deployment is some megabytes and nests about fifteen levels deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file. Offsets are 32 bits wide, so 4 GiB is a ceiling in any case.
    pub bytes: usize,
    /// Nesting of mappings and sequences. Both trees are dropped recursively, so this also
    /// protects the stack.
    pub depth: usize,
    /// Values in the file, after aliases are resolved.
    pub nodes: usize,
    /// Values that exist only because an alias or a merge key repeats an anchor, and the copies
    /// kept for that. A small file can ask for billions.
    pub alias_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 64 << 20, depth: 100, nodes: 4_000_000, alias_nodes: 250_000 }
    }
}
