//! Findings for a terminal, as a compiler shows them.
//!
//! ```text
//! error[LB806]: the key `vlan` stands here twice
//!   --> netconfig.yaml:14:7
//!    |
//! 12 |       vlan: 20
//!    |       ---- first here
//! ...
//! 14 |       vlan: 21
//!    |       ^^^^ again here; this one counts
//!    |
//!    = in: NetConfig openstack/netconfig, spec.networks[1].subnets[0].vlan
//!    = help: keep one of the two
//! ```

use std::fmt;

use super::{Sources, Summary, display, excerpt::Excerpt, in_order};
use crate::{Diagnostic, Label, Severity, Span};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Human {
    /// With colours. The caller knows whether there is a terminal.
    pub color: bool,
    /// Columns an excerpt may take; a longer line is cut around the caret.
    pub width: usize,
}

impl Default for Human {
    fn default() -> Self {
        Human { color: false, width: 100 }
    }
}

/// Prints findings with excerpts, and the summary as the last line.
pub fn human(
    out: &mut dyn fmt::Write,
    diagnostics: &[Diagnostic],
    sources: &Sources,
    summary: &Summary,
    how: Human,
) -> fmt::Result {
    let mut printer = Printer { out, sources, how };
    for diagnostic in in_order(diagnostics) {
        printer.diagnostic(diagnostic)?;
    }
    writeln!(printer.out, "{summary}")
}

#[derive(Clone, Copy)]
enum Paint {
    Severity(Severity),
    Bold,
    Frame,
}

struct Printer<'a> {
    out: &'a mut dyn fmt::Write,
    sources: &'a Sources,
    how: Human,
}

impl Printer<'_> {
    fn paint(&mut self, paint: Paint, text: &str) -> fmt::Result {
        let code = match paint {
            _ if !self.how.color => return self.out.write_str(text),
            Paint::Severity(Severity::Error) => "1;31",
            Paint::Severity(Severity::Warning) => "1;33",
            Paint::Severity(Severity::Note) => "1;36",
            Paint::Bold => "1",
            Paint::Frame => "1;34",
        };
        write!(self.out, "\x1b[{code}m{text}\x1b[0m")
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) -> fmt::Result {
        self.paint(
            Paint::Severity(diagnostic.severity),
            &format!("{}[{}]", diagnostic.severity, diagnostic.code),
        )?;
        self.paint(Paint::Bold, &format!(": {}", display::safe(&diagnostic.message)))?;
        self.out.write_char('\n')?;

        let last =
            diagnostic.labels.iter().filter_map(|label| label.span).map(|span| span.line).max();
        let gutter = last.unwrap_or(1).to_string().len().max(2);
        for (index, group) in groups(diagnostic).iter().enumerate() {
            self.group(diagnostic.severity, group, index == 0, gutter)?;
        }
        self.remarks(diagnostic, gutter)?;
        self.out.write_char('\n')
    }

    /// The labels of one file.
    fn group(
        &mut self,
        severity: Severity,
        labels: &[&Label],
        first: bool,
        gutter: usize,
    ) -> fmt::Result {
        let Some(head) = labels.iter().find(|label| label.primary).or(labels.first()) else {
            return Ok(());
        };
        let arrow = if first { "-->" } else { ":::" };
        self.paint(Paint::Frame, &format!("{:gutter$}{arrow} ", ""))?;
        match head.span {
            Some(span) => {
                writeln!(self.out, "{}:{}:{}", display::safe(&head.file), span.line, span.column)?;
            }
            None => writeln!(self.out, "{}", display::safe(&head.file))?,
        }
        let Some(source) = self.sources.get(&head.file) else { return Ok(()) };
        let mut placed: Vec<(Span, &Label)> =
            labels.iter().filter_map(|label| Some((label.span?, *label))).collect();
        placed.sort_by_key(|(span, label)| (span.line, span.column, !label.primary));
        if placed.is_empty() {
            return Ok(());
        }
        self.paint(Paint::Frame, &format!("{:gutter$} |", ""))?;
        self.out.write_char('\n')?;
        let mut before: Option<u32> = None;
        for (span, label) in placed {
            let excerpt = Excerpt::of(source, span, self.how.width);
            match before {
                Some(line) if line + 2 == span.line => {
                    let between = Excerpt::start_of(source, line + 1, self.how.width);
                    self.line(&between, line + 1, gutter)?;
                }
                Some(line) if line + 2 < span.line => writeln!(self.out, "...")?,
                _ => {}
            }
            if before != Some(span.line) || excerpt.is_cut() {
                self.line(&excerpt, span.line, gutter)?;
            }
            self.mark(&excerpt, label, severity, gutter)?;
            before = Some(span.line);
        }
        Ok(())
    }

    /// A line of the file, or a part of it.
    fn line(&mut self, excerpt: &Excerpt, number: u32, gutter: usize) -> fmt::Result {
        self.paint(Paint::Frame, &format!("{number:>gutter$} |"))?;
        let text = excerpt.text();
        match text.trim_end() {
            "" => self.out.write_char('\n'),
            text => writeln!(self.out, " {text}"),
        }
    }

    /// A mark under a part of a line, and what there is to say about it.
    fn mark(
        &mut self,
        excerpt: &Excerpt,
        label: &Label,
        severity: Severity,
        gutter: usize,
    ) -> fmt::Result {
        let (indentation, width) = excerpt.mark();
        let mark = if label.primary { "^" } else { "-" }.repeat(width);
        self.paint(Paint::Frame, &format!("{:gutter$} |", ""))?;
        write!(self.out, " {:indentation$}", "")?;
        let text = display::safe(&label.text);
        let mark = if text.is_empty() { mark } else { format!("{mark} {text}") };
        self.paint(if label.primary { Paint::Severity(severity) } else { Paint::Frame }, &mark)?;
        self.out.write_char('\n')
    }

    fn remarks(&mut self, diagnostic: &Diagnostic, gutter: usize) -> fmt::Result {
        let mut remarks = Vec::new();
        for label in &diagnostic.labels {
            let place: Vec<&str> =
                [&label.object, &label.field].into_iter().flatten().map(String::as_str).collect();
            if !place.is_empty() {
                remarks.push((if label.primary { "in" } else { "and" }, place.join(", ")));
            }
        }
        remarks.sort_by_key(|(word, _)| *word != "in");
        remarks.dedup();
        remarks.extend(diagnostic.help.iter().map(|help| ("help", help.clone())));
        remarks.extend(diagnostic.url.iter().map(|url| ("see", url.clone())));
        if remarks.is_empty() {
            return Ok(());
        }
        let excerpt = diagnostic
            .labels
            .iter()
            .any(|label| label.span.is_some() && self.sources.get(&label.file).is_some());
        if excerpt {
            self.paint(Paint::Frame, &format!("{:gutter$} |", ""))?;
            self.out.write_char('\n')?;
        }
        for (word, text) in remarks {
            self.paint(Paint::Frame, &format!("{:gutter$} = ", ""))?;
            self.paint(Paint::Bold, word)?;
            writeln!(self.out, ": {}", display::safe(&text))?;
        }
        Ok(())
    }
}

/// The labels by file, the file of the finding's place first, the others in order of appearance.
fn groups(diagnostic: &Diagnostic) -> Vec<Vec<&Label>> {
    let mut groups: Vec<Vec<&Label>> = Vec::new();
    for label in diagnostic.place().into_iter().chain(&diagnostic.labels) {
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|first| first.file == label.file))
        {
            Some(group) if group.iter().any(|known| std::ptr::eq(*known, label)) => {}
            Some(group) => group.push(label),
            None => groups.push(vec![label]),
        }
    }
    groups
}
